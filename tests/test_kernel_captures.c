/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Real captures through the programs in the kernel, beside a tracker (kernel_beside.h, captures.h): all bundled
 * machines, in three sets, at XDP and at tc.
 *
 * The captures follow each other as if they were one, each an hour after the last packet of the one before, so that
 * the programs are loaded once for each set and hook and time always goes on.
 *
 * A frame that was cut when it was captured, or that BPF_PROG_TEST_RUN does not take, is given to neither; the
 * captures with such frames are named. With INK_TEST_SCALE below 1 only the small captures take part.
 */
#include <linux/if_ether.h>
#include <sys/stat.h>

#include "tests/captures.h"
#include "tests/kernel_beside.h"

enum { NAMES_MOST = 8, LARGE = 500000 };

#define HOUR 3600000000000ull

/* In each at most 16 machines. */
static const char *const sets[][NAMES_MOST] = {
	{"tcp", "teardown", "flags", "conn", "scan", "sweep", "flood", "brute"},
	{"unanswered", "p2p", "p2p-endpoints", "video-b", "video-combined", "video-h264", "video-itail",
	 "video-random"},
	{"aqm-b", "aqm-combined", "aqm-h264", "aqm-itail", "aqm-random"}, /* at tc alone, egress */
};

static unsigned files, packets, left_out;
static uint64_t clock_now; /* of the latest packet, in the order of the captures */

static int is_whole(const struct ink_packet *p)
{
	return p->captured == p->wire && p->captured >= ETH_HLEN;
}

static void pass_packet(const char *name, struct ink_packet *p, unsigned *left)
{
	clock_now = p->clock;
	if (!is_whole(p) || give_packet(p)) {
		++*left;
		return;
	}
	compare_moves(name, p);
	packets++;
}

static void pass_capture(struct ink_capture *c, const char *name)
{
	struct ink_packet room[64];
	struct ink_packets batch = {.at = room, .room = 64};
	uint64_t begins = clock_now + HOUR, first = 0;
	unsigned left = 0, all = 0;

	while (!ink_capture_read(c, &batch, NULL) && !batch.end)
		for (size_t i = 0; i < batch.n; i++, all++) {
			first = all ? first : room[i].clock;
			room[i].clock += begins - first;
			pass_packet(name, &room[i], &left);
		}
	if (left)
		print_message("  %s: %u of %u frames are cut, or none that a test run takes\n", name, left,
			      all);
	left_out += left;
}

static int takes_part(const char *path, const struct ink_capture *c)
{
	const char *scale = getenv("INK_TEST_SCALE");
	struct stat file;

	if (!c || ink_capture_link(c) != INK_LINK_ETHERNET || stat(path, &file))
		return 0;
	return !scale || atof(scale) >= 1 || (double)file.st_size < atof(scale) * LARGE;
}

static void compare_capture(const char *path, const char *name)
{
	struct ink_capture_options o = {.size = sizeof o, .file = path};
	struct ink_capture *c = ink_capture_open(&o, NULL);

	if (takes_part(path, c)) {
		pass_capture(c, name);
		compare_counters(name);
		compare_stats(name);
		compare_queue(name);
		compare_tables(name);
		files++;
	}
	ink_capture_close(c);
}

static unsigned names_of(const char *const *names)
{
	unsigned n = 0;

	while (n < NAMES_MOST && names[n])
		n++;
	return n;
}

static void compare_all(enum ink_kernel_hook at)
{
	hook = at;
	for (unsigned i = 0; i < COUNT(sets) - (at == INK_KERNEL_XDP); i++) {
		packets = left_out = files = 0;
		clock_now = steps = 0;
		begin_both(sets[i], names_of(sets[i]), 0);
		for_each_capture(compare_capture);
		end_both(NULL);
		print_message("%s and others: %u captures, %u packets, %lu steps, %u frames left out\n",
			      sets[i][0], files, packets, steps, left_out);
	}
}

TEST_THAT(at_xdp_every_packet_of_every_capture_does_what_it_does_in_a_tracker)
{
	compare_all(INK_KERNEL_XDP);
}

TEST_THAT(at_tc_too)
{
	compare_all(INK_KERNEL_INGRESS);
}

int main(void)
{
	if (!find_folder()) {
		printf("skipped: there are no captures in %s\n", folder);
		return 77;
	}
	return run_suite(&(struct suite){.after_each = end_both});
}
