/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The bundled machines over real captures, compared with independent truth: with
 * an exact table and without time-outs, every counter is the number that tshark
 * and a script found (see captures.h). The same holds for captures that
 * `inkling generate` makes, which are always there; $INKLING is the program.
 */
#include <inkling/track.h>

#include "tests/captures.h"
#include "tests/scratch.h"
#include "tests/test.h"

/* -------------------------------------------------------------- the machine */

static struct ink_machine *machine;
static uint64_t counters[64];
static void (*on_move)(const struct ink_moved *moved, void *user); /* or NULL */

static void complain(const struct ink_complaint *complaint, void *user)
{
	char text[600];

	ink_complaint_show(complaint, text, sizeof text);
	print_error("%s\n", text);
}

static int free_machine(void **state)
{
	ink_machine_free(machine);
	machine = NULL;
	on_move = NULL;
	return 0;
}

static void load_machine(const char *name)
{
	struct ink_machine_options o = {.size = sizeof o, .complain = complain, .strict = 1};

	ink_machine_free(machine);
	machine = ink_machine_load(name, &o, NULL);
	assert_non_null(machine);
}

static struct ink_table *make_table(enum ink_kind kind)
{
	const struct ink_machine_view *v = ink_machine_view(machine);
	struct ink_options o = {.size = sizeof o,
				.kind = kind,
				.states = v->rules->states,
				.rules = v->rules,
				.flows = 20000,
				.age_bits = 1,
				.seed = 7};
	struct ink_table *t = ink_create(&o, NULL);

	assert_non_null(t);
	return t;
}

/* Runs the machine over a file; the counters are in `counters` then. */
static void run(const char *path, int no_timeouts)
{
	struct ink_capture_options c = {.size = sizeof c, .file = path};
	struct ink_capture *capture = ink_capture_open(&c, NULL);
	struct ink_packet packets[512];
	struct ink_packets batch = {.at = packets, .room = 512};
	struct ink_table *table = make_table(INK_EXACT);
	struct ink_track_options o = {
		.size = sizeof o, .machine = machine, .table = table, .seed = 1, .moved = on_move};
	struct ink_track *track;

	assert_non_null(capture);
	o.link = ink_capture_link(capture);
	o.no_timeouts = no_timeouts;
	track = ink_track_open(&o, NULL);
	assert_non_null(track);
	while (!ink_capture_read(capture, &batch, NULL) && !batch.end)
		assert_int_equal(ink_track_packets(track, &batch), 0);
	assert_int_equal(ink_track_end(track), 0);
	memcpy(counters, ink_track_counters(track), ink_machine_view(machine)->counters * sizeof *counters);
	ink_track_close(track);
	ink_free(table);
	ink_capture_close(capture);
}

static uint64_t counted(const char *name)
{
	const struct ink_machine_view *v = ink_machine_view(machine);

	for (unsigned i = 0; i < v->counters; i++)
		if (!strcmp(v->counter_names[i], name))
			return counters[i];
	fail_msg("machine %s has no counter %s", v->name, name);
	return 0;
}

/* ------------------------------------------------------------ the comparison */

struct pair {
	const char *counter, *truth;
};

static const struct pair *pairs; /* of the machine; the last one has no counter */
static int failures;

static void compare(const char *file, const char *what, uint64_t is, uint64_t should_be)
{
	if (is == should_be)
		return;
	print_error("%s: %s: %u, and the truth is %u\n", file, what, (unsigned)is, (unsigned)should_be);
	failures++;
}

static void compare_counters(const char *name)
{
	for (const struct pair *p = pairs; p->counter; p++)
		compare(name, p->counter, counted(p->counter), true_number(p->truth));
}

static void compare_file(const char *path, const char *name)
{
	load_truth("tcp_udp", name);
	run(path, 1);
	compare_counters(name);
}

static void need_captures(void)
{
	if (find_folder())
		return;
	print_message("skipped: no captures in %s (INK_CAPTURES names another folder)\n", folder);
	skip();
}

static void over_captures(const char *name, void (*look)(const char *path, const char *name))
{
	need_captures();
	load_machine(name);
	failures = 0;
	print_message("%s: %d captures\n", name, for_each_capture(look));
	assert_int_equal(failures, 0);
}

/* clang-format off */
static const struct pair handshakes[] = {
	{"handshake_complete", "handshake_complete"}, {"half_open", "half_open_syn_synack_no_ack"},
	{"syn_without_synack", "syn_without_synack"}, {NULL, NULL}};
static const struct pair ends[] = {
	{"fin_both", "fin_both_no_rst"}, {"rst_no_fin", "rst_no_fin"}, {"fin_and_rst", "fin_and_rst"}, {NULL, NULL}};
static const struct pair illegal[] = {
	{"null", "null"}, {"syn_fin", "syn_fin"}, {"syn_rst", "syn_rst"}, {"fin_rst", "fin_rst"},
	{"fin_without_ack", "fin_without_ack"}, {"xmas", "xmas"}, {"only_psh_urg", "only_psh_urg"},
	{"packets", "packets_with_any"}, {"flows", "flows_with_illegal_flags"}, {NULL, NULL}};
/* clang-format on */

TEST_THAT(tcp_counts_the_handshakes)
{
	pairs = handshakes;
	over_captures("tcp", compare_file);
}

TEST_THAT(teardown_counts_the_ends)
{
	pairs = ends;
	over_captures("teardown", compare_file);
}

TEST_THAT(flags_counts_illegal_combinations)
{
	pairs = illegal;
	over_captures("flags", compare_file);
}

/* ---------------------------------------------------------------- p2p */

enum { PAIRS_MOST = 1024, PAIR_SIZE = 2 * INK_ADDRESS_SIZE };

static char found[PAIRS_MOST][PAIR_SIZE];
static unsigned n_found;

/* As the truth writes them: the smaller text first. */
static void pair_text(const struct ink_packet *p, char text[PAIR_SIZE])
{
	char a[INK_ADDRESS_SIZE], b[INK_ADDRESS_SIZE];
	int turned;

	ink_address_text(p->source, p->version, a);
	ink_address_text(p->destination, p->version, b);
	turned = strcmp(a, b) > 0;
	snprintf(text, PAIR_SIZE, "%s|%s", turned ? b : a, turned ? a : b);
}

static void find_pair(const struct ink_moved *moved, void *user)
{
	char text[PAIR_SIZE];

	if (!moved->action->report)
		return;
	pair_text(moved->packet, text);
	for (unsigned i = 0; i < n_found; i++)
		if (!strcmp(found[i], text))
			return;
	assert_true(n_found < PAIRS_MOST);
	memcpy(found[n_found++], text, sizeof text);
}

static void compare_pairs(const char *path, const char *name)
{
	load_truth("tcp_udp", name);
	n_found = 0;
	run(path, 0);
	for (unsigned i = 0; i < n_found; i++)
		compare(name, found[i], strstr(truth, found[i]) != NULL, 1);
	compare(name, "pairs", n_found, true_number("ip_pairs_concurrent_after_port_exclusion"));
}

TEST_THAT(p2p_finds_the_concurrent_pairs)
{
	on_move = find_pair;
	over_captures("p2p", compare_pairs);
}

/* --------------------------------------------------------------- video */

static uint64_t dropped_bytes;

static void add_dropped(const struct ink_moved *moved, void *user)
{
	dropped_bytes += moved->action->verdict == INK_DROP ? moved->packet->payload_wire : 0;
}

/* Their pictures, their bytes, and that what is counted as lost is what was dropped. */
static void count_pictures(const char *capture)
{
	char path[1024];

	load_truth("media", capture);
	snprintf(path, sizeof path, "%s/media/%s", folder, capture);
	dropped_bytes = 0;
	run(path, 0);
	assert_int_equal(counted("pictures_i"), true_number("I"));
	assert_int_equal(counted("pictures_p"), true_number("P"));
	assert_int_equal(counted("pictures_b"), true_number("B"));
	assert_int_equal(counted("lost_bytes"), dropped_bytes);
}

static double loss(void)
{
	return (double)counted("lost_bytes") / (double)counted("bytes");
}

/* Within what chance makes of 375 frames or 2857 packets. */
TEST_THAT(each_policy_counts_the_pictures_and_loses_its_share)
{
	static const struct {
		const char *machine;
		double least, most;
	} policies[] = {{"video-random", 0.01, 0.12},
			{"video-b", 0.03, 0.10},
			{"video-itail", 0.02, 0.40},
			{"video-combined", 0.05, 0.30}};

	need_captures();
	on_move = add_dropped;
	for (unsigned i = 0; i < COUNT(policies); i++) {
		load_machine(policies[i].machine);
		count_pictures("made_mpeg2_ts_udp_vtest_7s.pcap");
		count_pictures("made_mpeg2_rtp_mpv_vtest.pcap");
		print_message("%s: %.1f %% of the bytes\n", policies[i].machine, 100 * loss());
		assert_true(loss() > policies[i].least && loss() < policies[i].most);
	}
}

/* The paper's threshold; a frame that has begun is dropped to its end. */
TEST_THAT(combined_takes_six_percent_from_b_frames)
{
	double share;

	need_captures();
	load_machine("video-combined");
	on_move = add_dropped;
	count_pictures("made_mpeg2_rtp_mpv_vtest.pcap");
	share = (double)counted("lost_b") / (double)counted("bytes");
	assert_true(share > 0.055 && share < 0.07);
}

/* ---------------------------------------------------------------- scan */

/* Of the sources in the truth, those with more than 100 SYNs that were not answered. */
static unsigned true_scanners(void)
{
	unsigned n = 0;

	for (const char *at = truth; (at = strstr(at, "\"syn_packets\": ")); at++) {
		const char *behind = strstr(at, "\"flows_answered_synack\": "),
			   *object_ends = strchr(at, '}');

		if (behind && behind < object_ends)
			n += strtol(at + 15, NULL, 10) - strtol(behind + 25, NULL, 10) > 100;
	}
	return n;
}

static void compare_scanners(const char *path, const char *name)
{
	load_truth("tcp_udp", name);
	run(path, 1);
	compare(name, "scanners", counted("scanners"), true_scanners());
}

/* None of the captures has a source with 17 to 100, where chance would decide. */
TEST_THAT(scan_reports_sources_that_are_not_answered_and_no_others)
{
	over_captures("scan", compare_scanners);
}

/* ----------------------------------------------------------- made captures */

static int make_capture(void **state)
{
	char command[2000];

	if (scratch_make(state))
		return -1;
	if (!tool_command()[0])
		return 0;
	snprintf(command, sizeof command,
		 "%s generate -w '%s/x.pcap' -t '%s/x.json' --flows 5k --udp 300 --scans 3 --targets 300 "
		 "--flood 2k --p2p 20 --video 2 --duration 60s --seed 3 >'%s/said'",
		 tool_command(), scratch, scratch, scratch);
	return system(command);
}

static void compare_made(const char *name, int no_timeouts, const struct pair *wanted)
{
	char path[SCRATCH_PATH];

	if (!tool_command()[0])
		SKIP("INKLING does not name the tool");
	read_truth(scratch_path(path, "x.json"));
	load_machine(name);
	run(scratch_path(path, "x.pcap"), no_timeouts);
	pairs = wanted;
	failures = 0;
	compare_counters("made");
	assert_int_equal(failures, 0);
}

TEST_THAT(tcp_and_teardown_count_what_was_made)
{
	compare_made("tcp", 1, handshakes);
	compare_made("teardown", 1, ends);
	assert_true(true_number("handshake_complete") > 3000);
}

TEST_THAT(the_others_find_what_was_made)
{
	/* clang-format off */
	static const struct pair p2p[] = {{"pairs", "ip_pairs_concurrent_after_port_exclusion"}, {NULL, NULL}},
		video[] = {{"pictures_i", "I"}, {"pictures_p", "P"}, {"pictures_b", "B"}, {NULL, NULL}},
		flags[] = {{"packets", "packets_with_any"}, {NULL, NULL}}, none[] = {{NULL, NULL}};
	/* clang-format on */

	compare_made("p2p", 0, p2p);
	compare_made("video-random", 0, video);
	compare_made("video-combined", 0, video);
	compare_made("flags", 0, flags);
	compare_made("scan", 0, none);
	assert_int_equal(counted("scanners"), 3);
	assert_true(true_number("I") > 0);
	assert_int_equal(true_number("ip_pairs_concurrent_after_port_exclusion"), 20);
}

int main(void)
{
	return run_suite(
		&(struct suite){.begin = make_capture, .end = scratch_remove, .after_each = free_machine});
}
