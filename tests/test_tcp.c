/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What `tcp`, `teardown` and `flags` count, over made frames, with an exact table and the machines' own time-outs.
 *
 * A connection is a text: for each segment its second, the end that sends it (> the first one, < the other), and its
 * flags (FSRPAU; - for none). Expected is what is counted at the end of the input; every other counter is 0.
 *
 *     "0>S .1<SA .2>A"    "handshake_complete 1"
 *
 * Then random segments, beside the rules by which the truth about real captures is found (sim/truth.c).
 */
#include "sim/frame.h"
#include "sim/seeded.h"
#include "sim/truth.h"
#include "tests/tracked.h"

enum { SECOND = 1000000000, FLAGS = 6 };

static const char letters[FLAGS + 1] = "FSRPAU"; /* from bit 0 on */

static void send_segment(uint32_t connection, uint64_t time, struct sim_segment s)
{
	struct sim_ends ends = {
		{0x0a000001, 0x0a000002}, {(uint16_t)(1 + connection % 65535), 80}, 4, INK_PROTOCOL_TCP};
	uint8_t frame[SIM_FRAME_MOST];
	size_t n = sim_frame(frame, &ends, &s);
	struct ink_packet p = {
		.frame = frame, .captured = (uint32_t)n, .wire = (uint32_t)n, .time = time, .clock = time};
	struct ink_packets batch = {.at = &p, .n = 1};

	assert_int_equal(ink_packet_parse(&p, INK_LINK_ETHERNET, 0), INK_NOT_SKIPPED);
	assert_int_equal(ink_track_packets(run.track, &batch), 0);
}

/* ----------------------------------------------------------------------- one connection */

static unsigned flags_of(const char *text, size_t n)
{
	unsigned flags = 0;

	for (size_t i = 0; i < n; i++) {
		const char *letter = strchr(letters, text[i]);

		assert_true(letter || text[i] == '-');
		flags |= letter ? 1u << (letter - letters) : 0;
	}
	return flags;
}

/* From second 1000 on, since time 0 has no past. */
static void send_text(const char *text)
{
	while (*text) {
		char *end;
		double second = strtod(text, &end);
		size_t n = strcspn(end + 1, " ");
		struct sim_segment s = {.from = *end == '<', .flags = (uint16_t)flags_of(end + 1, n)};

		assert_true(*end == '<' || *end == '>');
		send_segment(0, (uint64_t)((1000 + second) * SECOND), s);
		text = end + 1 + n;
		text += strspn(text, " ");
	}
}

/* The counters that are not 0, in the machine's order: "name number, name number". */
static const char *all_counts(void)
{
	static char text[300];
	const struct ink_machine_view *v = ink_machine_view(run.machine);
	const char *comma = "";
	size_t n = 0;

	text[0] = '\0';
	for (unsigned i = 0; i < v->counters; i++)
		if (counted(v->counter_names[i]) > 0) {
			n += (size_t)snprintf(text + n, sizeof text - n, "%s%s %.0f", comma,
					      v->counter_names[i], counted(v->counter_names[i]));
			comma = ", ";
		}
	return text;
}

struct talk {
	const char *segments, *counts;
};

static void compare_talks(const char *machine, const struct talk *talks, size_t n)
{
	unsigned wrong = 0;

	for (size_t i = 0; i < n; i++) {
		begin_run(machine, (struct ink_track_options){.link = INK_LINK_ETHERNET, .seed = 1});
		send_text(talks[i].segments);
		assert_int_equal(ink_track_end(run.track), 0);
		if (!strcmp(all_counts(), talks[i].counts))
			continue;
		print_error("%s: %s: '%s' and not '%s'\n", machine, talks[i].segments, all_counts(),
			    talks[i].counts);
		wrong++;
	}
	assert_int_equal(wrong, 0);
}

/* A host sends a SYN again 1, 3, 7, 15, 31 and 63 s after the first, and does the same with a SYN+ACK. */
TEST_THAT(tcp_counts_a_call_that_is_repeated_once)
{
	static const struct talk talks[] = {
		{"0>S 1>S 3>S 7>S 15>S 31>S 63>S", "unanswered 1"},
		{"0>S 63>S 126>S", "unanswered 1"},
		{"0>S 1>S 3>S 7>S 15>S 31>S 63>S 94<SA 94.1>A", "handshake_complete 1"},
		{"0>S 1>S 3>S 7>S 15>S 31>S 63>S 94<RA", "refused 1"},
		{"0>S .1<SA 1.1<SA 3.1<SA 7.1<SA 15.1<SA 31.1<SA 63.1<SA", "half_open 1"},
		{"0>S .1<SA 1.1<SA 3.1<SA 7.1<SA 15.1<SA 31.1<SA 63.1<SA 63.2>A", "handshake_complete 1"},
		{"0>S .1<RA .6>S .7<RA 1.2>S 1.3<RA", "refused 1"},
		{"0>S 67>S", "unanswered 2"}, /* no host waits that long */
	};

	compare_talks("tcp", talks, COUNT(talks));
}

TEST_THAT(tcp_tells_refused_from_unanswered)
{
	static const struct talk talks[] = {
		{"0>S", "unanswered 1"},
		{"0>S .1<RA", "refused 1"},
		{"0>S .1<R", "refused 1"},
		{"0>S .1>R", "unanswered 1"},   /* the caller gave up */
		{"0>S .1<RA 1>S", "refused 1"}, /* and called again, to no answer */
		{"0>S .1<RA 1>S 1.1<SA 1.2>A", "handshake_complete 1"},
		{"0>S .1<S", "unanswered 1"}, /* both call, and neither answers */
		{"0>S .1<S .2<RA", "refused 1"},
		{"0>S .1<S .2<SA .3>A", "handshake_complete 1"},
	};

	compare_talks("tcp", talks, COUNT(talks));
}

/* The ACK of a handshake follows a SYN+ACK, and is no RST. */
TEST_THAT(tcp_completes_no_handshake_by_a_reset_or_a_blind_ack)
{
	static const struct talk talks[] = {
		{"0>S .1<SA .2>R", "half_open 1"},
		{"0>S .1<SA .2>RA", "half_open 1"},
		{"0>S .1<SA .2<RA", "half_open 1"},
		{"0>S .1>A", "unanswered 1"},
		{"0>S .1>A .2<R", "refused 1"},
		{"0>A", ""},
		{"0<SA .1>A", ""},
		{"0>S .1<SA .2<A", "half_open 1"},
		{"0>S .1<SA .2>A .3>R", "handshake_complete 1"},
		{"0>S .1<SA .2>FA", "handshake_complete 1"},
	};

	compare_talks("tcp", talks, COUNT(talks));
}

TEST_THAT(tcp_counts_a_five_tuple_again_once_its_connection_is_forgotten)
{
	static const struct talk talks[] = {
		{"0>S .1<SA .2>A 1>FA 1.1<FA 1.2>A 60>S 60.1<SA 60.2>A", "handshake_complete 1"},
		{"0>S .1<SA .2>A 1>FA 1.1<FA 1.2>A 68>S 68.1<SA 68.2>A", "handshake_complete 2"},
		{"0>S .1<SA .2>A 3800>A 3801>FA", "handshake_complete 1"},
		{"0>S .1<SA .2>A 3900>A 3901>FA", "handshake_complete 1"},
		{"0>S .1<SA .2>A 3900>S 3900.1<SA 3900.2>A", "handshake_complete 2"},
	};

	compare_talks("tcp", talks, COUNT(talks));
}

/* Whatever spoofed packets alone can make. */
TEST_THAT(tcp_holds_only_established_connections_under_replace)
{
	const struct ink_machine_view *v;

	begin_run("tcp", (struct ink_track_options){.link = INK_LINK_ETHERNET, .seed = 1});
	v = ink_machine_view(run.machine);
	for (unsigned i = 0; i < v->rules->states; i++)
		assert_int_equal(v->rules->timings[i].expendable != 0,
				 strcmp(v->state_names[v->state_of[i]], "established") != 0);
}

/* A FIN is sent again after at most two minutes; the other end may send for long before its own. */
TEST_THAT(teardown_counts_an_end_once)
{
	static const struct talk talks[] = {
		{"0>FA .1<FA .2>A", "fin_both 1"},
		{"0>FA .1<A", ""},
		{"0>FA 1>FA 3>FA", ""},
		{"0>R", "rst_no_fin 1"},
		{"0>R .1<R .2>RA", "rst_no_fin 1"},
		{"0>R 290>R 580>R", "rst_no_fin 1"},
		{"0>FA .1<R", "fin_and_rst 1"},
		{"0>R .1<FA", "fin_and_rst 1"},
		{"0>FR", "fin_and_rst 1"},
		{"0>FA .1<FA .2<R", "fin_and_rst 1"},
		{"0>FA .1<R 290<R 580>FA", "fin_and_rst 1"},
		{"0>FA 120>FA 240>FA 360>FA 361<FA", "fin_both 1"},
		{"0>FA .1<FA 120<FA 240<FA 360<FA", "fin_both 1"},
		{"0>FA .1<A 100<A 200<A 300<A 400<PA 500<FA", "fin_both 1"},
		{"0>FA .1<A 100<A 200<A 300<A 400<PA 500>R", "fin_and_rst 1"},
	};

	compare_talks("teardown", talks, COUNT(talks));
}

TEST_THAT(flags_counts_every_packet_and_each_connection_once)
{
	static const struct talk talks[] = {
		{"0>S .1<SA .2>A .3>PA .4>FA .5<FA .6>R .7<RA .8>PAU", ""},
		{"0>-", "packets 1, flows 1, null 1"},
		{"0>SF 1>SR 2>FR 3>FPU 4>F 5>P 6>U 7>- 8>SFR",
		 "syn_fin 2, syn_rst 2, fin_rst 2, packets 9, flows 1, fin_without_ack 2, xmas 1, only_psh_urg 2, null 1"},
		{"0>- 590<- 1180>-", "packets 3, flows 1, null 3"},
		{"0>- 620>-", "packets 2, flows 2, null 2"},
	};

	compare_talks("flags", talks, COUNT(talks));
}

/* -------------------------------------------------------------------- random connections */

enum { CONNECTIONS = 50000, SEGMENTS_MOST = 9 };

/* Usual flags, and in one of eight segments any. SYN with FIN or RST is where the definitions of tcp and truth differ. */
static unsigned random_flags(uint64_t word)
{
	static const uint8_t usual[8] = {
		INK_TCP_SYN, INK_TCP_SYN | INK_TCP_ACK, INK_TCP_ACK,
		INK_TCP_ACK, INK_TCP_ACK | INK_TCP_FIN, INK_TCP_FIN | INK_TCP_RST,
		INK_TCP_RST, INK_TCP_RST | INK_TCP_ACK,
	};
	unsigned any = (unsigned)(word >> 8 & 0x3f);

	if (word % 8 || (any & INK_TCP_SYN && any & (INK_TCP_FIN | INK_TCP_RST)))
		return usual[word >> 3 & 7];
	return any;
}

/* The first segment is a SYN of one end, and the other end calls nobody. */
static struct sim_segment random_segment(uint64_t connection, unsigned i)
{
	uint64_t word = sim_mix(sim_mix(connection) + i);
	struct sim_segment s = {.from = word >> 20 & 1, .flags = (uint16_t)random_flags(word)};

	if (i == 0)
		return (struct sim_segment){.flags = INK_TCP_SYN};
	if ((s.flags & (INK_TCP_SYN | INK_TCP_ACK)) == INK_TCP_SYN)
		s.from = 0;
	return s;
}

/* One segment a microsecond, of connections one after another: no time-out is due before the end. */
static void send_random(struct sim_truth *truth)
{
	uint64_t time = SECOND;

	memset(truth, 0, sizeof *truth);
	for (uint32_t c = 0; c < CONNECTIONS; c++) {
		struct sim_flow flow = {.handshake = 0};

		for (unsigned i = 0; i < 1 + c % SEGMENTS_MOST; i++, time += 1000) {
			struct sim_segment s = random_segment(c, i);

			send_segment(c, time, s);
			sim_flow_segment(&flow, truth, s.from, s.flags);
		}
		sim_flow_end(&flow, truth);
	}
	assert_int_equal(ink_track_end(run.track), 0);
}

static void run_random(const char *machine, struct sim_truth *truth)
{
	begin_run(machine, (struct ink_track_options){.link = INK_LINK_ETHERNET, .seed = 1});
	send_random(truth);
	print_message("%s: %s\n", machine, all_counts());
}

TEST_THAT(random_connections_are_counted_as_the_truth_counts_them)
{
	struct sim_truth truth;

	run_random("tcp", &truth);
	assert_true(counted("handshake_complete") == (double)truth.tcp.handshake_complete);
	assert_true(counted("half_open") == (double)truth.tcp.half_open);
	assert_true(counted("unanswered+refused") == (double)truth.tcp.syn_without_synack);
	assert_true(counted("refused") == (double)truth.tcp.syn_refused_by_rst);
	run_random("teardown", &truth);
	assert_true(counted("fin_both") == (double)truth.tcp.fin_both_no_rst);
	assert_true(counted("rst_no_fin") == (double)truth.tcp.rst_no_fin);
	assert_true(counted("fin_and_rst") == (double)truth.tcp.fin_and_rst);
	run_random("flags", &truth);
	assert_true(counted("packets") == (double)truth.illegal.any);
	assert_true(counted("flows") == (double)truth.tcp.illegal);
	assert_true(counted("fin_rst") == (double)truth.illegal.fin_rst);
	assert_true(counted("null") == (double)truth.illegal.null);
}

int main(void)
{
	return run_suite(&(struct suite){.after_each = end_run});
}
