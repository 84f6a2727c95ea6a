/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The programs in the kernel make the steps that a tracker makes: for every bundled machine, packet by packet, the
 * same records in the same order. Labelled scenes and streams of video are the traffic; every step is reported.
 *
 * What is left to chance is decided beforehand, for both: every other chance holds, and the others do not.
 */
#include <inttypes.h>
#include <unistd.h>

#include "kernel/inside.h"
#include "sim/frame.h"
#include "sim/scenes.h"
#include "tests/machine_help.h"
#include "tests/scratch.h"

enum { TRAFFIC = 20000 }; /* packets */
enum { MOVES = 128 }; /* of a packet */

static struct ink_kernel *kernel;
static struct ink_machines *machines;
static struct ink_table *tables_here[INK_KERNEL_MACHINES];
static struct ink_track *tracker;

/* What the latest packet did, here and there. */
static struct moves {
	struct ink_moved at[MOVES];
	unsigned n;
} here, there;

static void note_move(const struct ink_moved *m, void *user)
{
	struct moves *to = user;

	assert_true(to->n < MOVES);
	to->at[to->n++] = *m;
}

static int note_record(const struct ink_kernel_report *r, const uint8_t *frame, void *user)
{
	struct ink_moved m;

	(void)frame;
	assert_int_equal(ink_kernel_moved(kernel, r, &m), 0);
	note_move(&m, user);
	return 0;
}

/* ------------------------------------------------------------------------- both sides */

static const struct ink_options usual = {.size = sizeof usual, .flows = 100000, .seed = 7};

static void track_here(int no_timeouts)
{
	struct ink_track_options o = {.size = sizeof o,
				      .machines = machines,
				      .tables = tables_here,
				      .link = INK_LINK_ETHERNET,
				      .no_timeouts = no_timeouts,
				      .every = 1,
				      .moved = note_move,
				      .user = &here};
	struct ink_why why = {""};

	for (unsigned i = 0; i < ink_machines_count(machines); i++)
		tables_here[i] = ink_kernel_plan(&usual, ink_machines_at(machines, i), no_timeouts, &why);
	tracker = ink_track_open(&o, &why);
	if (!tracker)
		fail_msg("%s", why.text);
}

static void track_there(int no_timeouts)
{
	struct ink_options plans[INK_KERNEL_MACHINES];
	struct ink_kernel_options o = {.machines = machines,
				       .tables = plans,
				       .test_clock = 1,
				       .unpinned = 1,
				       .no_timeouts = no_timeouts};
	struct ink_why why = {""};

	for (unsigned i = 0; i < INK_KERNEL_MACHINES; i++)
		plans[i] = usual;
	kernel = ink_kernel_make(&o, &why);
	if (!kernel && (errno == EPERM || errno == EACCES || errno == ENOSYS)) {
		print_message("%s\n", why.text);
		_exit(77);
	}
	if (!kernel)
		fail_msg("%s", why.text);
	ink_kernel_controls(kernel)->every = 1;
	assert_int_equal(ink_kernel_listen(kernel, note_record, &there, &why), 0);
}

static void begin_both(const char *name, int no_timeouts)
{
	struct ink_machine_options o = {.size = sizeof o};

	machines = ink_machines_load(&name, 1, &o, NULL);
	assert_non_null(machines);
	fix_chances(machines);
	track_here(no_timeouts);
	track_there(no_timeouts);
}

static int end_both(void **state)
{
	ink_kernel_close(kernel);
	ink_track_close(tracker);
	for (unsigned i = 0; i < INK_KERNEL_MACHINES; i++) {
		ink_free(tables_here[i]);
		tables_here[i] = NULL;
	}
	ink_machines_free(machines);
	kernel = NULL;
	tracker = NULL;
	machines = NULL;
	return 0;
}

/* ------------------------------------------------------------------------- comparing */

static int is_same_move(const struct ink_moved *a, const struct ink_moved *b)
{
	return a->number == b->number && a->id == b->id && a->event == b->event && a->move.from == b->move.from &&
	       a->move.to == b->move.to && a->move.action == b->move.action && a->error == b->error &&
	       a->machine == b->machine && a->teller == b->teller && a->reversed == b->reversed;
}

static void fail_move(const char *name, const struct ink_moved *a, const struct ink_moved *b)
{
	fail_msg("%s, packet %" PRIu64 ", machine %u: here %u told, %" PRIx64 " event %u, %d to %d by %u; "
		 "there machine %u, %u told, %" PRIx64 " event %u, %d to %d by %u",
		 name, a->number, a->machine, a->teller, a->id, a->event, a->move.from, a->move.to, a->move.action,
		 b->machine, b->teller, b->id, b->event, b->move.from, b->move.to, b->move.action);
}

static unsigned long steps;

static void compare_packet(const char *name, struct ink_packet *p)
{
	struct ink_packets one = {.at = p, .room = 1, .n = 1};
	int verdict;

	here.n = there.n = 0;
	assert_int_equal(ink_track_packets(tracker, &one), 0);
	verdict = ink_kernel_try(kernel, INK_KERNEL_XDP, p->frame, p->captured, p->clock);
	if (verdict < 0)
		fail_msg("%u bytes: %s", p->captured, strerror(-verdict));
	assert_true(ink_kernel_poll(kernel, 0) >= 0);
	for (unsigned i = 0; i < here.n && i < there.n; i++, steps++)
		if (!is_same_move(&here.at[i], &there.at[i]))
			fail_move(name, &here.at[i], &there.at[i]);
	if (here.n != there.n)
		fail_msg("%s: %u steps here, %u there", name, here.n, there.n);
	assert_int_equal(ink_kernel_control(kernel)->skip, p->skip);
}

static void compare_counters(const char *name)
{
	for (unsigned i = 0; i < ink_machines_count(machines); i++) {
		const struct ink_machine_view *v = ink_machine_view(ink_machines_at(machines, i));
		const uint64_t *counters = ink_track_counters_of(tracker, i);
		uint64_t theirs[INK_KERNEL_COUNTERS];

		assert_int_equal(ink_kernel_counters(kernel, i, theirs), 0);
		for (unsigned c = 0; c < v->counters; c++)
			if (counters[c] != theirs[c])
				fail_msg("%s: %s is %" PRIu64 " here and %" PRIu64 " there", name,
					 v->counter_names[c], counters[c], theirs[c]);
	}
}

static void compare_stats(const char *name)
{
	for (unsigned i = 0; i < ink_machines_count(machines); i++) {
		struct ink_track_stats s = {.size = sizeof s};
		struct ink_kernel_counts c;

		assert_int_equal(ink_track_stats_of(tracker, i, &s), 0);
		assert_int_equal(ink_kernel_counts(kernel, i, &c), 0);
		for (unsigned k = 0; k < INK_SKIPS; k++)
			assert_int_equal(s.skipped[k], c.skipped[k]);
		if (s.packets != c.packets || s.eventless != c.eventless || s.steps != c.steps ||
		    s.begun != c.begun || s.unsure != c.unsure || s.refused != c.refused || s.told != c.told ||
		    c.given_up)
			fail_msg("%s: machine %u counts otherwise", name, i);
	}
}

/* The tables have the same flows in the same states. */
static void compare_census(const char *name)
{
	for (unsigned i = 0; i < ink_machines_count(machines); i++) {
		struct ink_table *copy = ink_kernel_copy(kernel, i, NULL);
		struct ink_counts a, b;

		assert_non_null(copy);
		assert_int_equal(ink_census(tables_here[i], &a), 0);
		assert_int_equal(ink_census(copy, &b), 0);
		for (unsigned s = 0; s < tables_here[i]->states; s++)
			if (a.state[s] != b.state[s])
				fail_msg("%s: machine %u has %" PRIu64 " flows in state %u here and %" PRIu64 " there",
					 name, i, a.state[s], s, b.state[s]);
		assert_int_equal(a.total, b.total);
		ink_free(copy);
	}
}

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

		begin_both(name, no_timeouts);
		if (strncmp(name, "video", 5))
			compare_file(name, file, scaled(TRAFFIC));
		else
			compare_video(name, scaled(TRAFFIC / 2));
		compare_counters(name);
		compare_stats(name);
		compare_census(name);
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
