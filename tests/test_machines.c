/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Bundled machines over real captures, beside independent truth (see captures.h): with an exact table, with time-outs
 * and without, every counter is the number that tshark and a script found. Each policy for video drops its share, and
 * counts what it drops. captures.sh asks that, and the other machines, of the tool; golden.sh has made captures.
 */
#include "tests/captures.h"
#include "tests/tracked.h"

static uint64_t dropped_bytes;

static void add_dropped(const struct ink_moved *moved, void *user)
{
	dropped_bytes += moved->action->verdict == INK_DROP ? moved->packet->payload_wire : 0;
}

static void run_over(const char *machine, int no_timeouts, const char *path)
{
	struct ink_capture_options o = {.size = sizeof o, .file = path};
	struct ink_capture *c = ink_capture_open(&o, NULL);
	struct ink_track_options k = {.no_timeouts = no_timeouts, .seed = 1, .moved = add_dropped};
	struct ink_packet packets[512];
	struct ink_packets batch = {.at = packets, .room = 512};

	assert_non_null(c);
	k.link = ink_capture_link(c);
	dropped_bytes = 0;
	begin_run(machine, k);
	while (!ink_capture_read(c, &batch, NULL) && !batch.end)
		assert_int_equal(ink_track_packets(run.track, &batch), 0);
	assert_int_equal(ink_track_end(run.track), 0);
	ink_capture_close(c);
}

/* --------------------------------------------------------------------- counters */

/* A machine's counters, and their names in the truth. */
/* clang-format off */
static const struct row {
	const char *machine;
	struct { const char *counter, *truth; } pairs[10];
} rows[] = {
	{"tcp", {{"handshake_complete", "handshake_complete"}, {"half_open", "half_open_syn_synack_no_ack"},
		 {"unanswered+refused", "syn_without_synack"}, {"refused", "syn_refused_by_rst"}}},
	{"teardown", {{"fin_both", "fin_both_no_rst"}, {"rst_no_fin", "rst_no_fin"}, {"fin_and_rst", "fin_and_rst"}}},
	{"flags", {{"null", "null"}, {"syn_fin", "syn_fin"}, {"syn_rst", "syn_rst"}, {"fin_rst", "fin_rst"},
		   {"fin_without_ack", "fin_without_ack"}, {"xmas", "xmas"}, {"only_psh_urg", "only_psh_urg"},
		   {"packets", "packets_with_any"}, {"flows", "flows_with_illegal_flags"}}},
};
/* clang-format on */

/*
 * One definition differs. For tcp, a SYN with FIN or RST is no part of a handshake; the truth counts such a SYN as one
 * without SYN+ACK. These are all captures that have a segment with SYN and one of both, and the flows that therefore
 * differ. docs/machines.md has the same list.
 */
static const struct {
	const char *capture;
	double flows;
} other_definition[] = {
	{"tcpdump_tcp_eight_lowest_weight_flags_set.pcap", 0}, /* its only segment has ACK, too */
};

/* The flows that differ, or -1: the capture is not in the list. */
static double other_flows(const char *capture)
{
	for (unsigned i = 0; i < COUNT(other_definition); i++)
		if (!strcmp(other_definition[i].capture, capture))
			return other_definition[i].flows;
	return -1;
}

static const struct row *row;
static int no_timeouts, failures;

static double expected(const char *capture, const char *number)
{
	double other = other_flows(capture);

	return true_number(number) - (!strcmp(number, "syn_without_synack") && other > 0 ? other : 0);
}

static void compare_file(const char *path, const char *name)
{
	load_truth("tcp_udp", name);
	run_over(row->machine, no_timeouts, path);
	for (unsigned i = 0; row->pairs[i].counter; i++) {
		double is = counted(row->pairs[i].counter), should_be = expected(name, row->pairs[i].truth);

		if (is != should_be)
			print_error("%s%s: %s: %.0f, and the truth is %.0f\n", name,
				    no_timeouts ? ", no time-outs" : "", row->pairs[i].counter, is,
				    should_be);
		failures += is != should_be;
	}
}

TEST_THAT(every_counter_is_the_truths)
{
	for (no_timeouts = 0; no_timeouts < 2; no_timeouts++)
		for (row = rows; row < rows + COUNT(rows); row++)
			print_message("%s: %d captures\n", row->machine, for_each_capture(compare_file));
	assert_int_equal(failures, 0);
}

static void look_for_other_definition(const char *path, const char *name)
{
	load_truth("tcp_udp", name);
	assert_int_equal(other_flows(name) >= 0, true_number("syn_fin") + true_number("syn_rst") > 0);
}

TEST_THAT(the_captures_with_another_definition_are_listed)
{
	for_each_capture(look_for_other_definition);
}

/* ------------------------------------------------------------------------- video */

/* With its pictures; what is counted as lost is what was dropped. */
static void run_over_video(const char *machine, const char *capture)
{
	char path[1024];

	snprintf(path, sizeof path, "%s/media/%s", folder, capture);
	load_truth("media", capture);
	run_over(machine, 0, path);
	assert_true(counted("pictures_i") == true_number("I") && counted("pictures_p") == true_number("P") &&
		    counted("pictures_b") == true_number("B"));
	assert_true(counted("lost_bytes") == (double)dropped_bytes);
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
	double loss;

	for (unsigned i = 0; i < COUNT(policies); i++) {
		run_over_video(policies[i].machine, "made_mpeg2_ts_udp_vtest_7s.pcap");
		run_over_video(policies[i].machine, "made_mpeg2_rtp_mpv_vtest.pcap");
		loss = counted("lost_bytes") / counted("bytes");
		print_message("%s: %.1f %% of the bytes\n", policies[i].machine, 100 * loss);
		assert_true(loss > policies[i].least && loss < policies[i].most);
	}
}

/* The paper's threshold; a frame that has begun is dropped to its end. */
TEST_THAT(combined_takes_six_percent_from_b_frames)
{
	double share;

	run_over_video("video-combined", "made_mpeg2_rtp_mpv_vtest.pcap");
	share = counted("lost_b") / counted("bytes");
	assert_true(share > 0.055 && share < 0.07);
}

int main(void)
{
	if (!find_folder()) {
		print_message("skipped: no captures in %s (INK_CAPTURES names another folder)\n", folder);
		return 77;
	}
	return run_suite(&(struct suite){.after_each = end_run});
}
