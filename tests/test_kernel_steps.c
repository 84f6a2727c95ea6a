/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The programs in the kernel make the steps that a tracker makes: for every bundled machine, packet by packet, the
 * same records in the same order. Labelled scenes and streams of video are the traffic; every step is reported.
 */
#include "sim/scenes.h"
#include "tests/kernel_beside.h"
#include "tests/scratch.h"

enum { TRAFFIC = 20000 }; /* packets */

/* ------------------------------------------------------------------------- traffic */

static void play_scenes(const char *file)
{
	struct sim_scenes_options o = {.seed = 3, .hosts = 3, .contacts = 100, .rtt = 50000000,
				       .failures = .05, .success = .1, .ipv6 = .3};
	struct ink_dump *dump = ink_dump_open(file, INK_LINK_ETHERNET, NULL);
	struct sim_scenes_result made = {0};

	for (unsigned i = 0; sim_scene_info(i); i++)
		o.scenes |= 1u << i;
	assert_non_null(dump);
	assert_int_equal(sim_scenes(&o, dump, &made, NULL), 0);
	assert_int_equal(ink_dump_close(dump, NULL), 0);
	sim_labels_free(&made.labels);
}

static void compare_file(const char *name, const char *file, uint64_t most)
{
	struct ink_capture_options o = {.size = sizeof o, .file = file};
	struct ink_capture *c = ink_capture_open(&o, NULL);
	struct ink_packet packet[64];
	struct ink_packets p = {.at = packet, .room = 64};

	assert_non_null(c);
	while (most && ink_capture_read(c, &p, NULL) == 0 && !p.end)
		for (size_t i = 0; i < p.n && most; i++, most--)
			compare_packet(name, &packet[i]);
	ink_capture_close(c);
}

/* Bytes of which start codes of pictures are made, so that many are, also across packets. */
static void fill_with_codes(uint8_t *at, size_t n)
{
	static const uint8_t codes[] = {0, 0, 0, 0, 1, 8, 16, 24, 0x47, 0xb3};

	for (size_t i = 0; i < n; i++)
		at[i] = codes[random_below(sizeof codes)];
}

/* MPEG-TS: packets of 188 bytes of two video PIDs and of another. */
static void make_ts(uint8_t *at, size_t n)
{
	for (; n >= 188; n -= 188, at += 188) {
		at[0] = 0x47;
		at[1] = (uint8_t)(random_below(4) ? 1 : 0x41);
		at[2] = (uint8_t)random_below(3);
		at[3] = (uint8_t)(0x10 | random_below(4) << 4);
		if (at[3] & 0x20)
			at[4] = (uint8_t)random_below(190);
		else if (at[1] & 0x40)
			memcpy(at + 4, (const uint8_t[]){0, 0, 1, 0xe0, 0, 0, 0x80, 0, (uint8_t)random_below(9)}, 9);
	}
}

/* Bare or behind RTP: MPEG video, MPEG-TS, or H.264. */
static size_t make_video(uint8_t payload[SIM_PAYLOAD_MOST])
{
	static const uint8_t types[] = {32, 33, 96, 33 | 0x80};
	size_t rtp = random_below(2) ? 12 : 0, n = rtp + 188 * (size_t)random_below(6) + (random_below(3) ? 0 : random_below(99));

	fill_with_codes(payload, n);
	if (rtp) {
		payload[0] = (uint8_t)(0x80 | (random_below(9) ? 0 : random_below(64)));
		payload[1] = types[random_below(sizeof types)];
	}
	if (random_below(2))
		make_ts(payload + rtp, n - rtp);
	else if (random_below(2) && n > rtp)
		payload[rtp] = (uint8_t)random_word();
	return n;
}

/* Few flows, in both directions, so that a packet continues what the one before it began. */
static void compare_video(const char *name, uint64_t n)
{
	static uint8_t frame[SIM_FRAME_MOST], payload[SIM_PAYLOAD_MOST];

	for (uint64_t i = 1; i <= n; i++) {
		const struct sim_ends ends = {.address = {1, 2},
					      .port = {(uint16_t)(1000 + random_below(4)), 5004},
					      .version = 4,
					      .protocol = random_below(50) ? INK_PROTOCOL_UDP : INK_PROTOCOL_TCP};
		const struct sim_segment s = {
			.from = random_below(8) == 0, .payload = payload, .length = make_video(payload)};
		struct ink_packet p = {.frame = frame, .clock = i * 1000000};

		p.captured = p.wire = (uint32_t)sim_frame(frame, &ends, &s);
		ink_packet_parse(&p, INK_LINK_ETHERNET, 0);
		compare_packet(name, &p);
	}
}

static void compare_all(int no_timeouts)
{
	char file[SCRATCH_PATH];

	scratch_path(file, "scenes.pcap");
	play_scenes(file);
	steps = 0;
	for (unsigned i = 0; ink_bundled(i); i++) {
		const char *name = ink_bundled(i)->name;

		begin_both(&name, 1, no_timeouts);
		if (strncmp(name, "video", 5) && strncmp(name, "aqm", 3))
			compare_file(name, file, scaled(TRAFFIC));
		else
			compare_video(name, scaled(TRAFFIC / 2));
		compare_counters(name);
		compare_stats(name);
		compare_queue(name);
		compare_tables(name);
		end_both(NULL);
	}
	print_message("%lu steps compared\n", steps);
}

TEST_THAT(every_bundled_machine_makes_the_same_steps_without_time)
{
	compare_all(1);
}

TEST_THAT(time_passes_for_both_alike)
{
	compare_all(0);
}

int main(void)
{
	return run_suite(&(struct suite){.begin = scratch_make, .after_each = end_both, .end = scratch_remove});
}
