/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_kernel_chaos INKLING [TEST]: what the programs in the kernel promise, while packets come on all processors and the tool
 * does what it can, or is killed. On the scale of 1: 1,000 reloads, 1,000 snapshots, 1,000 tools killed, a million flows.
 */
#include "tests/chaos.h"

#include <linux/bpf.h>
#include <linux/tcp.h>
#include <math.h>
#include <sys/syscall.h>

#include <inkling/packet.h>

#include "kernel/kernel.h"
#include "tests/random.h"

/* ------------------------------------------------------------------ a set */

static struct ink_kernel *opened(const char *name)
{
	struct ink_why why = {""};
	struct ink_kernel *k = ink_kernel_open(name, &why);

	if (!k)
		fail_msg("%s", why.text);
	return k;
}

static struct ink_kernel_counts counts_of(const char *name)
{
	struct ink_kernel *k = opened(name);
	struct ink_kernel_counts c;

	assert_int_equal(ink_kernel_counts(k, 0, &c), 0);
	ink_kernel_close(k);
	return c;
}

static const struct ink_machine_view *view_of(struct ink_kernel *k)
{
	return ink_machine_view(ink_machines_at(ink_kernel_machines(k), 0));
}

/* By name; 0: the machine has no such counter. */
static uint64_t counter_of(const char *set, const char *name)
{
	struct ink_kernel *k = opened(set);
	uint64_t counters[INK_KERNEL_COUNTERS], value = 0;

	assert_int_equal(ink_kernel_counters(k, 0, counters), 0);
	for (unsigned i = 0; i < view_of(k)->counters; i++)
		if (!strcmp(view_of(k)->counter_names[i], name))
			value = counters[i];
	ink_kernel_close(k);
	return value;
}

/* Nothing is attached, and no program is left at the interface. */
static void assert_nothing_left(void)
{
	char names[4][INK_KERNEL_PATH + 1];

	assert_int_equal(ink_kernel_list(names, 4, NULL), 0);
	assert_int_equal(shell("! ip -d link show | grep -q prog/xdp"), 0);
	assert_int_equal(shell("! bpftool net show 2>/dev/null | grep -q ink_"), 0);
}

static void detach(const char *set)
{
	char words[100];

	snprintf(words, sizeof words, "detach %s", set);
	tool(words);
	assert_nothing_left();
}

/* A round of so many; on a smaller scale not for longer than half a minute, since an emulated kernel is slow. */
static int goes_on(unsigned round, unsigned rounds, double since)
{
	return round < scaled(rounds) && (test_scale() >= 1 || seconds_now() < since + 30);
}

/* ----------------------------------------------------------- known flows */

/*
 * A flow is opened, used or closed, by its number modulo 3, and each further packet of it leaves it so. The machines
 * have other states in another order, ticks of another length, and `packets` is counted by all processors together in
 * the second, which has a condition that reads it. A sender visits all flows within a second or so.
 */
#define EVENTS                                                                                                \
	"event syn = tcp and syn and not ack\nevent ack = tcp and ack and not fin\nevent fin = tcp and fin\n" \
	"absent : syn -> opened / count packets, count begun | ack, fin / count packets, count strays\n"

#define OPENED(beside)                                                                                       \
	"opened : syn / count packets" beside                                                                \
	" | ack -> used / count packets | fin -> closed / count packets\n"
#define USED "used : syn, ack / count packets | fin -> closed / count packets\n"
#define CLOSED "closed : syn, ack, fin / count packets\n"
#define UNSURE "unsure : * / count packets\n"
#define LATER(states, time) states " : timeout " time " -> absent / count lost\n"

static const char first_machine[] = "machine chaos\nkey flow\n" EVENTS OPENED("") USED CLOSED
	"spare : syn -> more\nmore : syn -> opened\n" LATER("opened, used, closed, spare, more", "20s")
		UNSURE;
static const char second_machine[] =
	"machine chaos\nkey flow\nevent never = tcp and urg and packets > 1000000000000\n" EVENTS
	"           | never -> more\n" CLOSED USED "more : syn -> opened\n" OPENED(
		", count seen") "spare : syn\n" LATER("closed, used, more, opened, spare", "16s") UNSURE;

static const char *const state_names[] = {"opened", "used", "closed"};
static const uint8_t keeps[] = {INK_TCP_SYN, INK_TCP_ACK, INK_TCP_FIN | INK_TCP_ACK};

enum { FLOWS_MOST = 20000 };

static uint32_t flows;
static uint8_t keys[FLOWS_MOST][INK_KEY_IPV4];

static void write_keys(void)
{
	uint8_t frame[FRAME_BYTES], key[INK_KEY_MOST];

	for (uint32_t i = 0; i < flows; i++) {
		struct ink_packet p = {.frame = frame, .captured = FRAME_BYTES, .wire = FRAME_BYTES};

		write_frame(frame, i, INK_TCP_SYN);
		assert_int_equal(ink_packet_parse(&p, INK_LINK_ETHERNET, 0), INK_NOT_SKIPPED);
		assert_int_equal(ink_packet_key(&p, INK_KEY_FLOW, key), INK_KEY_IPV4);
		memcpy(keys[i], key, INK_KEY_IPV4);
	}
}

/* A sender's own half of the flows, once. */
static int make_syns(unsigned sender, uint64_t n, uint8_t frame[FRAME_BYTES])
{
	uint64_t flow = n * SENDERS + sender;

	if (flow >= flows)
		return 0;
	write_frame(frame, (uint32_t)flow, INK_TCP_SYN);
	return 1;
}

static int make_moves(unsigned sender, uint64_t n, uint8_t frame[FRAME_BYTES])
{
	uint64_t flow = n * SENDERS + sender;

	if (flow >= flows)
		return 0;
	write_frame(frame, (uint32_t)flow, keeps[flow % 3]);
	return 1;
}

/* All flows, again and again; both senders come to the same flows. */
static int make_all(unsigned sender, uint64_t n, uint8_t frame[FRAME_BYTES])
{
	uint32_t flow = (uint32_t)(n % flows);

	if (sender)
		flow = flows - 1 - flow;
	write_frame(frame, flow, keeps[flow % 3]);
	return 1;
}

/* All that the programs at ink0 should have counted so far, and what they gave up of it. */
static uint64_t all_sent, given_up;

static void send_once(frame_maker make)
{
	start_traffic(make, 0);
	join_traffic();
	all_sent += frames_sent();
	assert_all_arrived();
}

/*
 * Every flow begins. Where a hypervisor stops a processor while it holds a claim (table.bpf.h), the other one gives up
 * inserts that need that claim; it counts them, and the flows begin with their next packet. Nothing is inserted later.
 */
static void open_flows(void)
{
	struct ink_kernel_counts c;
	unsigned tries = 0;

	all_sent = 0;
	do {
		send_once(make_syns);
		c = counts_of("ink0");
	} while (c.begun < flows && c.given_up >= flows - c.begun && ++tries < 5);
	given_up = c.given_up;
	assert_true(given_up <= flows / 100);
}

static void attach_known(void)
{
	char words[200];

	flows = (uint32_t)scaled(FLOWS_MOST);
	write_keys();
	write_text("first.fsm", first_machine);
	write_text("second.fsm", second_machine);
	snprintf(words, sizeof words, "attach ./first.fsm -i ink0 --flows %u --seed 5 --error 1e-6",
		 flows + flows / 8);
	tool(words);
	open_flows();
	send_once(make_moves);
}

/* The number of each state in that machine. */
static void number_states(const struct ink_machine_view *v, int number[3])
{
	for (unsigned i = 0; i < v->rules->states; i++)
		for (unsigned j = 0; j < 3; j++)
			if (!strcmp(v->state_names[v->state_of[i]], state_names[j]))
				number[j] = (int)i;
}

/* Every flow is there once, in its state, and nothing else. */
static void assert_known(const struct ink_table *t, const int number[3])
{
	struct ink_counts census;
	struct ink_why why = {""};

	if (ink_check(t, &why))
		fail_msg("%s", why.text);
	assert_int_equal(ink_census(t, &census), 0);
	assert_int_equal(census.total, flows);
	for (unsigned j = 0; j < 3; j++)
		assert_int_equal(census.state[number[j]], (flows + 2 - j) / 3);
	for (uint32_t i = 0; i < flows; i++)
		if (ink_peek(t, ink_id(t, keys[i], INK_KEY_IPV4)) != number[i % 3])
			fail_msg("flow %u, %s, is %d", i, state_names[i % 3],
				 (int)ink_peek(t, ink_id(t, keys[i], INK_KEY_IPV4)));
}

static void assert_snapshot(const int number[3])
{
	char path[SCRATCH_PATH];
	struct ink_why why = {""};
	struct ink_table *t = ink_load(scratch_path(path, "set.ink"), INK_LOAD_READ, &why);

	if (!t)
		fail_msg("%s", why.text);
	assert_known(t, number);
	ink_free(t);
}

static void snapshot(void)
{
	struct ink_kernel *k;
	int number[3] = {-9, -9, -9};

	tool("snapshot ink0 -w set.ink");
	k = opened("ink0");
	number_states(view_of(k), number);
	ink_kernel_close(k);
	assert_snapshot(number);
}

/* Packets counted are packets sent. */
static void assert_counted(void)
{
	struct ink_kernel_counts c = counts_of("ink0");

	assert_int_equal(c.packets, all_sent);
	assert_int_equal(c.begun, flows);
	assert_int_equal(c.given_up, given_up);
	assert_int_equal(c.unsure, 0);
	assert_int_equal(c.steps + c.given_up, all_sent);
	assert_int_equal(counter_of("ink0", "packets"), c.steps);
	assert_int_equal(counter_of("ink0", "begun"), flows);
	assert_int_equal(counter_of("ink0", "strays"), 0);
	assert_int_equal(counter_of("ink0", "lost"), 0);
}

static void end_load(void)
{
	stop_traffic();
	all_sent += frames_sent();
	assert_all_arrived();
	assert_counted();
	snapshot();
}

TEST_THAT(reloads_and_snapshots_under_load_lose_nothing)
{
	unsigned rounds = 0;
	double since;

	attach_known();
	start_traffic(make_all, 0);
	since = seconds_now();
	for (; goes_on(rounds, 1000, since); rounds++) {
		tool(rounds % 2 ? "reload ink0 ./first.fsm" : "reload ink0 ./second.fsm");
		snapshot();
	}
	since = seconds_now() - since;
	end_load();
	assert_int_equal(counts_of("ink0").packets, all_sent);
	print_message(
		"%u reloads and %u snapshots in %.1f s, %llu packets meanwhile (%.0f a second), none lost; %u flows\n",
		rounds, rounds, since, (unsigned long long)frames_sent(), (double)frames_sent() / since,
		flows);
	detach("ink0");
}

/* What only one of them may do at a time, the others wait for. */
TEST_THAT(tools_at_the_same_time_wait_for_each_other)
{
	static const char *const words[] = {
		"status ink0",        "reload ink0 ./second.fsm", "snapshot ink0 -w set.ink",
		"status ink0 --json", "reload ink0 ./first.fsm",  "snapshot ink0 -w other.ink"};
	pid_t child[COUNT(words)];

	attach_known();
	start_traffic(make_all, 0);
	for (unsigned round = 0; round < 5; round++) {
		for (unsigned i = 0; i < COUNT(words); i++)
			child[i] = start_tool(words[i]);
		for (unsigned i = 0; i < COUNT(words); i++)
			if (end_of(child[i]))
				fail_msg("inkling %s: %s", words[i], said);
	}
	end_load();
	detach("ink0");
}

/* ------------------------------------------------------------ killed tools */

static const char *const victims[] = {
	"reload ink0 ./second.fsm", "snapshot ink0 -w killed.ink", "status ink0 --json",
	"reload ink0 ./first.fsm",  "reports ink0 -o /dev/null",   "status ink0",
};

/* How long each takes, or at least what it does before it waits. */
static unsigned microseconds_of(const char *words)
{
	double since = seconds_now();

	if (strstr(words, "reports"))
		return 30000;
	tool(words);
	return (unsigned)((seconds_now() - since) * 1e6);
}

static int ignore(const struct ink_kernel_report *report, const uint8_t *frame, void *user)
{
	return 0;
}

/* Whatever was killed: commands work, and machines are the one or the other. */
static void assert_works(unsigned i)
{
	struct ink_kernel *k;

	snapshot();
	tool(i % 2 ? "reload ink0 ./first.fsm" : "reload ink0 ./second.fsm");
	tool("status ink0 --json");
	assert_non_null(strstr(said, "\"reader\":null"));
	k = opened("ink0");
	assert_int_equal(ink_kernel_listen(k, ignore, NULL, NULL), 0);
	assert_int_equal(view_of(k)->events, i % 2 ? 3 : 4);
	ink_kernel_close(k);
}

TEST_THAT(killed_tools_leave_nothing_that_a_command_does_not_cope_with)
{
	unsigned rounds = 0, killed = 0, longest[COUNT(victims)];
	double since;

	attach_known();
	start_traffic(make_all, 0);
	for (unsigned i = 0; i < COUNT(victims); i++)
		longest[i] = microseconds_of(victims[i]);
	since = seconds_now();
	for (; goes_on(rounds, 1000, since); rounds++) {
		unsigned which = drawn_below(COUNT(victims));

		killed +=
			(unsigned)kill_tool(victims[which], drawn_below(longest[which] + longest[which] / 8));
		if (rounds % 10 == 9)
			assert_works(rounds / 10);
	}
	print_message("%u of %u tools killed in %.1f s\n", killed, rounds, seconds_now() - since);
	end_load();
	detach("ink0");
}

static void kill_attaches(const char *attach)
{
	unsigned rounds = 0, killed = 0, left = 0, longest = microseconds_of(attach);
	double since = seconds_now();
	char names[4][INK_KERNEL_PATH + 1];

	detach("ink0");
	for (; goes_on(rounds, 200, since); rounds++) {
		killed += (unsigned)kill_tool(attach, drawn_below(longest));
		left += ink_kernel_list(names, 4, NULL) > 0;
		tool_exits("status");
		if (rounds % 2) /* another takes its place */
			tool_exits(attach);
		if (ink_kernel_list(names, 4, NULL) > 0)
			tool("detach ink0");
		assert_nothing_left();
	}
	print_message("%u of %u attaches killed, %u left something\n", killed, rounds, left);
}

TEST_THAT(an_attach_that_is_killed_leaves_what_detach_removes)
{
	flows = 300;
	write_text("first.fsm", first_machine);
	start_traffic(make_all, 1);
	kill_attaches("attach ./first.fsm -i ink0 --at xdp,ingress,egress --flows 1000");
	stop_traffic();
}

/* Filters of a clsact qdisc, which stay when a process ends. */
TEST_THAT(an_attach_that_is_killed_leaves_no_filter)
{
	flows = 300;
	write_text("first.fsm", first_machine);
	start_traffic(make_all, 1);
	is_old = 1;
	kill_attaches("attach ./first.fsm -i ink0 --at ingress,egress --flows 1000");
	stop_traffic();
}

/* ---------------------------------------------------------------- time-outs */

#define ONCE(name, time)                                                                                     \
	"machine " name "\nkey flow\nevent e = tcp\nabsent : e -> seen\nseen : e | " time " -> absent\n"

static const char *const times[] = {"timeout 1s", "timeout 2s", "timeout 3s", "within 2s"};
static const double written[] = {1, 2, 3, 2};

enum { SPREAD = 2 /* seconds in which flows begin */ };

static struct {
	double *began;
	uint32_t n;
} timed;

static int make_spread(unsigned sender, uint64_t n, uint8_t frame[FRAME_BYTES])
{
	static double since;
	double now = seconds_now();

	if (sender || n >= timed.n)
		return 0;
	if (!n)
		since = now;
	while (n % BATCH == 0 && seconds_now() < since + SPREAD * (double)n / timed.n)
		usleep(200);
	timed.began[n] = seconds_now();
	write_frame(frame, (uint32_t)n, INK_TCP_SYN);
	return 1;
}

/* How many flows began before that. */
static uint64_t begun_by(double when)
{
	uint64_t n = 0;

	while (n < timed.n && timed.began[n] && timed.began[n] <= when)
		n++;
	return n;
}

struct range {
	double earliest, latest; /* seconds, as printed */
};

/* Seconds for a sweep and a busy machine; more, if the test itself was not let run for so long. */
static double slack;

/* A timer that is late takes new flows for older ones by as much: on a busy machine only what is written holds, nearly. */
static void assert_in_time(struct ink_kernel *k, unsigned machine, const struct range *r)
{
	const struct ink_kernel_table *t = ink_kernel_table(k, machine);
	double before = seconds_now();
	uint64_t expired = __atomic_load_n(&t->expired, __ATOMIC_ACQUIRE);
	uint64_t most = begun_by(seconds_now() - written[machine] + .01 * slowness()),
		 least = begun_by(before - r->latest - slack);

	if (expired > most || expired < least)
		fail_msg("%s: %llu flows have ended, and it should be %llu to %llu", times[machine],
			 (unsigned long long)expired, (unsigned long long)least, (unsigned long long)most);
}

static void read_ranges(struct range *r)
{
	const char *rest;

	tool("status ink0 --json");
	rest = said;
	for (unsigned i = 0; i < COUNT(times); i++) {
		rest = strstr(rest, "\"earliest\":");
		assert_non_null(rest);
		assert_int_equal(
			sscanf(rest, "\"earliest\":%lf,\"latest\":%lf", &r[i].earliest, &r[i].latest), 2);
		rest++;
	}
}

static void attach_timed(unsigned age_bits)
{
	char text[2000] = "", words[200], name[20];

	for (unsigned i = 0; i < COUNT(times); i++) {
		char one[300];

		snprintf(name, sizeof name, "time%u", i);
		snprintf(one, sizeof one, ONCE("%s", "%s"), name, times[i]);
		strcat(text, one);
	}
	write_text("times.fsm", text);
	snprintf(words, sizeof words,
		 "attach ./times.fsm -i ink0 --flows %u --seed 3 --error 1e-6 --age-bits %u",
		 timed.n + timed.n / 8, age_bits);
	tool(words);
}

static int all_ended(struct ink_kernel *k)
{
	unsigned n = 0;

	for (unsigned i = 0; i < COUNT(times); i++)
		n += ink_kernel_table(k, i)->expired == timed.n;
	return n == COUNT(times);
}

static void watch(struct ink_kernel *k, const struct range *r)
{
	double now = seconds_now(), last = now, until = now + SPREAD + 8 * slowness();

	for (slack = .3 * slowness(); now < until && !all_ended(k); last = now) {
		now = seconds_now();
		slack = now - last > slack ? now - last : slack;
		for (unsigned i = 0; i < COUNT(times); i++)
			assert_in_time(k, i, &r[i]);
		usleep(2000);
	}
	assert_true(all_ended(k));
}

TEST_THAT(flows_end_in_the_printed_range_when_the_tool_has_ended)
{
	struct range r[COUNT(times)];
	struct ink_kernel *k;

	timed.n = 10000;
	for (unsigned age_bits = 1; age_bits <= 2; age_bits++) {
		timed.began = calloc(timed.n, sizeof *timed.began);
		attach_timed(age_bits);
		read_ranges(r);
		k = opened("ink0");
		start_traffic(make_spread, 0);
		watch(k, r);
		join_traffic();
		assert_all_arrived();
		ink_kernel_close(k);
		detach("ink0");
		free(timed.began);
		for (unsigned i = 0; i < COUNT(times); i++)
			print_message("%u age bit(s), %s: all of %u flows after %.2f to %.2f s\n", age_bits,
				      times[i], timed.n, r[i].earliest, r[i].latest);
	}
}

/* A tool that is killed while it copies holds ticks for five seconds at most. */
TEST_THAT(the_hold_of_a_killed_snapshot_ends_by_itself)
{
	struct ink_kernel *k;
	unsigned longest;
	uint64_t begun;
	double until;

	flows = 3000;
	write_text("one.fsm", ONCE("one", "timeout 1s"));
	tool("attach ./one.fsm -i ink0 --flows 2M --error 1e-6 --seed 5");
	longest = microseconds_of("snapshot ink0 -w killed.ink");
	start_traffic(make_syns, 0);
	join_traffic();
	k = opened("ink0");
	for (unsigned i = 0; i < 100 && ink_kernel_control(k)->hold_until < 1; i++)
		kill_tool("snapshot ink0 -w killed.ink", drawn_below(longest));
	assert_true(ink_kernel_control(k)->hold_until > 0);
	until = seconds_now() + 9;
	begun = counts_of("ink0").begun;
	while (ink_kernel_table(k, 0)->expired < begun && seconds_now() < until)
		usleep(10000);
	assert_int_equal(ink_kernel_table(k, 0)->expired, begun);
	assert_in_range(begun, flows - flows / 100, flows);
	ink_kernel_close(k);
	detach("ink0");
}

/* ---------------------------------------------------------- what is enforced */

static const char drops[] =
	"machine drops\nkey flow\nevent syn = tcp and syn and not ack\nevent fin = tcp and fin\n"
	"absent : syn -> seen / drop\nseen : syn / drop | timeout 1h -> absent\n";

/* Packets that IP has seen here. */
static uint64_t ip_received(void)
{
	char line[600];
	FILE *f = fopen("/proc/thread-self/net/snmp", "r");
	unsigned long long n = 0;

	assert_non_null(f);
	while (fgets(line, sizeof line, f) && sscanf(line, "Ip: %*u %*u %llu", &n) != 1)
		;
	fclose(f);
	return n;
}

static int make_mixed(unsigned sender, uint64_t n, uint8_t frame[FRAME_BYTES])
{
	if (n >= 3000)
		return 0;
	write_frame(frame, (uint32_t)n / 2, n % 2 ? INK_TCP_FIN | INK_TCP_ACK : INK_TCP_SYN);
	return 1;
}

/* A packet whose step was given up (open_flows) is neither dropped nor marked. */
static void assert_carried_out(uint64_t n, uint64_t expected)
{
	uint64_t passed = counts_of("ink0").given_up;

	assert_in_range(n, expected - passed, expected);
	assert_true(passed <= expected / 100);
}

/* Half of them are dropped; the tool has ended long ago. */
static void assert_drops(const char *hook)
{
	char words[200];
	uint64_t before;

	snprintf(words, sizeof words, "attach ./drops.fsm -i ink0 --enforce --flows 10000 --at %s", hook);
	tool(words);
	for (unsigned i = 0; i < 5; i++)
		kill_tool("reload ink0 ./drops.fsm", drawn_below(30000));
	before = ip_received();
	start_traffic(make_mixed, 1);
	join_traffic();
	usleep(100000);
	assert_int_equal(frames_sent(), 6000);
	assert_carried_out(counts_of("ink0").dropped, 3000);
	assert_int_equal(ip_received() - before + counts_of("ink0").dropped, 6000);
	detach("ink0");
}

TEST_THAT(verdicts_go_on_when_the_tool_has_ended)
{
	write_text("drops.fsm", drops);
	assert_drops("xdp");
	assert_drops("ingress");
	assert_drops("xdp,ingress");
}

/* -------------------------------------------------------- programs of others */

/*
 * A program that counts its packets, and at tc those with the mark 9, in an array of two; then the next one decides.
 * Written in the kernel's instructions, so that no compiler is needed.
 */
enum { XDP_PASSES = 2, TC_NEXT = -1, TCX_INGRESS = 46 };

#define CODE(c, d, s, o, i)                                                                                  \
	{                                                                                                    \
		.code = (c), .dst_reg = (d), .src_reg = (s), .off = (o), .imm = (i)                          \
	}

static int load_other(int map, int at_tc)
{
	struct bpf_insn code[] = {
		CODE(BPF_ALU64 | BPF_MOV | BPF_K, 7, 0, 0, 0),
		CODE(BPF_JMP | BPF_JA, 0, 0, (int16_t)(at_tc ? 0 : 3), 0),
		CODE(BPF_LDX | BPF_MEM | BPF_W, 8, 1, 8, 0), /* skb->mark */
		CODE(BPF_JMP | BPF_JNE | BPF_K, 8, 0, 1, 9),
		CODE(BPF_ALU64 | BPF_MOV | BPF_K, 7, 0, 0, 1),
		CODE(BPF_ST | BPF_MEM | BPF_W, 10, 0, -4, 0),
		CODE(BPF_ALU64 | BPF_MOV | BPF_X, 2, 10, 0, 0),
		CODE(BPF_ALU64 | BPF_ADD | BPF_K, 2, 0, 0, -4),
		CODE(BPF_LD | BPF_IMM | BPF_DW, 1, BPF_PSEUDO_MAP_FD, 0, map),
		CODE(0, 0, 0, 0, 0),
		CODE(BPF_JMP | BPF_CALL, 0, 0, 0, BPF_FUNC_map_lookup_elem),
		CODE(BPF_JMP | BPF_JEQ | BPF_K, 0, 0, 3, 0),
		CODE(BPF_ALU64 | BPF_MOV | BPF_K, 1, 0, 0, 1),
		CODE(BPF_STX | BPF_ATOMIC | BPF_DW, 0, 1, 0, BPF_ADD),
		CODE(BPF_STX | BPF_ATOMIC | BPF_DW, 0, 7, 8, BPF_ADD),
		CODE(BPF_ALU64 | BPF_MOV | BPF_K, 0, 0, 0, at_tc ? TC_NEXT : XDP_PASSES),
		CODE(BPF_JMP | BPF_EXIT, 0, 0, 0, 0),
	};
	union bpf_attr a = {.prog_type = at_tc ? BPF_PROG_TYPE_SCHED_CLS : BPF_PROG_TYPE_XDP,
			    .insns = (uintptr_t)code,
			    .insn_cnt = COUNT(code),
			    .license = (uintptr_t) "GPL"};

	if (!at_tc)
		memmove(&code[2], &code[5], sizeof code - 5 * sizeof *code), a.insn_cnt -= 3, code[1].off = 0;
	return (int)syscall(SYS_bpf, BPF_PROG_LOAD, &a, sizeof a);
}

static int make_counts(void)
{
	union bpf_attr a = {
		.map_type = BPF_MAP_TYPE_ARRAY, .key_size = 4, .value_size = 16, .max_entries = 1};
	int map = (int)syscall(SYS_bpf, BPF_MAP_CREATE, &a, sizeof a);

	assert_true(map >= 0);
	return map;
}

struct seen {
	uint64_t packets, marked;
};

static struct seen seen_by(int map)
{
	uint32_t zero = 0;
	struct seen s = {0};
	union bpf_attr a = {.map_fd = (uint32_t)map, .key = (uintptr_t)&zero, .value = (uintptr_t)&s};

	assert_int_equal(syscall(SYS_bpf, BPF_MAP_LOOKUP_ELEM, &a, sizeof a), 0);
	return s;
}

/* A link, which ends when it is closed; -1: the kernel has none of that kind. */
static int link_other(int program, unsigned type)
{
	union bpf_attr a = {.link_create = {.prog_fd = (uint32_t)program,
					    .target_ifindex = if_nametoindex("ink0"),
					    .attach_type = type}};

	assert_true(program >= 0);
	return (int)syscall(SYS_bpf, BPF_LINK_CREATE, &a, sizeof a);
}

static const char marks[] =
	"machine marks\nkey flow\nevent syn = tcp and syn and not ack\nevent fin = tcp and fin\n"
	"absent : syn -> seen / mark 9\nseen : syn / mark 9 | timeout 1h -> absent\n";

static void send_mixed(void)
{
	start_traffic(make_mixed, 0);
	join_traffic();
	assert_all_arrived();
}

TEST_THAT(a_program_of_others_at_tc_sees_all_packets_and_our_marks)
{
	int map = make_counts(), program = load_other(map, 1), before, behind;

	before = link_other(program, TCX_INGRESS);
	if (before < 0) {
		close(program);
		close(map);
		print_message("not tested: this kernel has no links at tc\n");
		return;
	}
	write_text("marks.fsm", marks);
	tool("attach ./marks.fsm -i ink0 --enforce --flows 10000 --at ingress");
	send_mixed();
	assert_int_equal(seen_by(map).packets, 6000);
	assert_int_equal(seen_by(map).marked, 0);
	behind = link_other(program, TCX_INGRESS);
	if (behind >= 0) { /* the same program twice is refused by some kernels */
		send_mixed();
		assert_int_equal(seen_by(map).packets, 6000 + 12000);
		assert_carried_out(seen_by(map).marked, 3000);
		close(behind);
	} else {
		close(before);
		before = link_other(program, TCX_INGRESS);
		send_mixed();
		assert_int_equal(seen_by(map).packets, 12000);
		assert_carried_out(seen_by(map).marked, 3000);
	}
	assert_carried_out(counts_of("ink0").marked, 6000);
	struct seen so_far = seen_by(map);
	tool("detach ink0");
	send_mixed();
	assert_int_equal(seen_by(map).packets, so_far.packets + 6000);
	assert_int_equal(seen_by(map).marked, so_far.marked);
	close(before);
	close(program);
	close(map);
}

TEST_THAT(a_program_of_others_at_xdp_is_there_before_and_after)
{
	int map = make_counts(), program = load_other(map, 0), link = link_other(program, BPF_XDP);

	assert_true(link >= 0);
	write_text("marks.fsm", marks);
	assert_int_equal(tool_exits("attach ./marks.fsm -i ink0 --flows 10000"), 1);
	tool("attach ./marks.fsm -i ink0 --flows 10000 --at ingress,egress");
	send_mixed();
	assert_int_equal(seen_by(map).packets, 6000);
	assert_int_equal(counts_of("ink0").packets, 6000);
	tool("detach ink0");
	send_mixed();
	assert_int_equal(seen_by(map).packets, 12000);
	close(link);
	close(program);
	close(map);
	assert_nothing_left();
}

/* -------------------------------------------------------------- combinations */

TEST_THAT(a_packet_of_two_hooks_is_stepped_once_on_all_processors)
{
	struct ink_kernel_counts c;

	flows = (uint32_t)scaled(FLOWS_MOST);
	write_text("first.fsm", first_machine);
	tool("attach ./first.fsm -i ink0 --at xdp,ingress --flows 30k --seed 5 --error 1e-6");
	open_flows();
	send_once(make_moves);
	send_once(make_moves);
	c = counts_of("ink0");
	assert_int_equal(c.packets, all_sent);
	assert_int_equal(c.again, all_sent);
	assert_counted();
	detach("ink0");
}

enum { STREAM_BYTES = 8 << 20 };

struct sender {
	uint32_t segments, again; /* that TCP sent, and sent again */
};

static void *send_stream(void *argument)
{
	struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(4000)};
	static char block[1 << 16];
	struct tcp_info info = {0};
	struct sender *s = argument;
	socklen_t length = sizeof info;
	int fd;

	go(there);
	inet_aton("10.8.0.1", &to.sin_addr);
	fd = socket(AF_INET, SOCK_STREAM, 0);
	for (int tries = 0; connect(fd, (struct sockaddr *)&to, sizeof to) && tries < 50; tries++)
		usleep(100000); /* the link has just been made */
	for (unsigned sent = 0; sent < STREAM_BYTES; sent += sizeof block)
		if (send(fd, block, sizeof block, 0) != sizeof block)
			return NULL;
	shutdown(fd, SHUT_WR);
	while (read(fd, block, sizeof block) > 0)
		;
	getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &length);
	s->segments = info.tcpi_data_segs_out;
	s->again = info.tcpi_total_retrans;
	close(fd);
	return NULL;
}

static uint64_t receive_stream(void)
{
	struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons(4000)};
	struct timeval wait = {.tv_sec = 20};
	static char block[1 << 16];
	int on = 1, door = socket(AF_INET, SOCK_STREAM, 0), fd;
	uint64_t all = 0;
	ssize_t n;

	setsockopt(door, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
	setsockopt(door, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof wait);
	assert_int_equal(bind(door, (struct sockaddr *)&at, sizeof at) || listen(door, 1), 0);
	fd = accept(door, NULL, NULL);
	while (fd >= 0 && (n = read(fd, block, sizeof block)) > 0)
		all += (uint64_t)n;
	close(fd);
	close(door);
	return all;
}

static uint64_t transfer(struct sender *s)
{
	pthread_t sender;
	uint64_t received;

	memset(s, 0, sizeof *s);
	assert_int_equal(pthread_create(&sender, NULL, send_stream, s), 0);
	received = receive_stream();
	pthread_join(sender, NULL);
	return received;
}

static const char segments[] =
	"machine segments\nkey flow\nevent data = tcp and dst port 4000 and length > 100\n"
	"absent, seen : data -> seen / count n, count bytes by payload\nseen : timeout 1h -> absent\n";

/* At ingress the programs see what TCP handed over as one; `segments` of the sender are those on the wire. */
TEST_THAT(a_stream_whose_packets_are_joined_counts_as_its_segments)
{
	struct sender s;

	write_text("segments.fsm", segments);
	assert_int_equal(shell("ip addr add 10.8.0.1/24 dev ink0; ip link set ink0 arp on"), 0);
	assert_int_equal(shell_there("ip addr add 10.8.0.2/24 dev ink1; ip link set ink1 arp on"), 0);
	tool("attach ./segments.fsm -i ink0 --at ingress --flows 1000 --error 1e-6 --seed 2");
	assert_int_equal(transfer(&s), STREAM_BYTES);
	assert_int_equal(counter_of("ink0", "n"), s.segments);
	if (!s.again)
		assert_int_equal(counter_of("ink0", "bytes"), STREAM_BYTES);
	assert_true(counter_of("ink0", "bytes") >= STREAM_BYTES);
	assert_true(counts_of("ink0").segments > s.segments / 2);
	print_message("%u segments in %llu packets\n", s.segments,
		      (unsigned long long)(counts_of("ink0").steps));
	detach("ink0");
	shell("ip addr flush dev ink0; ip link set ink0 arp off");
	shell_there("ip addr flush dev ink1; ip link set ink1 arp off");
}

/* ------------------------------------------------------ what goes away itself */

TEST_THAT(an_interface_that_is_deleted_while_packets_come_leaves_a_set_to_detach)
{
	flows = 300;
	write_text("first.fsm", first_machine);
	for (unsigned i = 0; i < 3; i++) {
		tool("attach ./first.fsm -i ink0 --at xdp,ingress,egress --flows 1000");
		start_traffic(make_all, 1);
		usleep(20000);
		assert_int_equal(shell("ip link del ink0"), 0);
		stop_traffic();
		tool("status ink0 --json");
		assert_non_null(strstr(said, "\"packets\":"));
		tool("snapshot ink0 -w gone.ink");
		tool("reload ink0 ./first.fsm");
		detach("ink0");
		assert_int_equal(make_pair(), 0);
	}
}

/* In a network of its own, which ends with it: attaches, and says whether that worked. */
static int attach_and_vanish(void)
{
	int status, door[2];
	pid_t child;

	if (pipe(door))
		return -1;
	child = fork();
	if (!child) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (new_network() < 0 ||
		    shell("ip link add ink8 type veth peer name ink9 && ip link set ink8 up"))
			_exit(1);
		_exit(tool_exits("attach ./first.fsm -i ink8 --at xdp,ingress,egress --flows 1000"));
	}
	close(door[0]);
	close(door[1]);
	waitpid(child, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST_THAT(a_network_that_is_deleted_leaves_a_set_to_detach)
{
	write_text("first.fsm", first_machine);
	assert_int_equal(attach_and_vanish(), 0);
	usleep(300000); /* the kernel deletes it at leisure */
	tool("status");
	assert_non_null(strstr(said, "ink8"));
	tool("reload ink8 ./first.fsm");
	detach("ink8");
}

/* ------------------------------------------------------------------- sweeps */

TEST_THAT(a_million_flows_are_swept_in_short_portions)
{
	uint32_t many = (uint32_t)scaled(1000000);
	char words[200];

	flows = many;
	snprintf(words, sizeof words, "attach tcp -i ink0 --flows %u --seed 5", many + many / 20);
	tool(words);
	send_once(make_syns);
	sleep(many < 1000000 ? 3 : 95); /* the first end after 66 s, the last after 88 */
	tool("status ink0 --json");
	print_message(
		"%u flows, %.0f ended: %.0f portions of 256 lines, the longest %.0f us, %.1f on average; "
		"share of a processor %.3g\n",
		many, told_number("\"expired\":"), told_number("\"portions\":"),
		1e6 * told_number("\"longest\":"),
		1e6 * told_number("\"seconds\":") / told_number("\"portions\":"), told_number("\"share\":"));
	assert_true(told_number("\"portions\":") > 0);
	assert_true(told_number("\"share\":") < .1);
	detach("ink0");
}

/* --------------------------------------------------------------------- main */

/* What a failed test left would fail the next. */
static int clean(void **state)
{
	static const char *const sets[] = {"ink0", "ink8"};

	(void)state;
	is_old = 0;
	stop_traffic();
	for (unsigned i = 0; i < COUNT(sets); i++)
		ink_kernel_remove(sets[i], NULL);
	if (if_nametoindex("ink0"))
		shell("ip link del ink0");
	return make_pair();
}

int main(int argc, char **argv)
{
	char path[4096];

	tool_path = argc > 1 && realpath(argv[1], path) ? path : NULL;
	if (!tool_path)
		return fprintf(stderr, "test_kernel_chaos INKLING [TEST]\n"), 2;
	set_stage();
	if (scratch_make(NULL))
		return 1;
	if (tool_exits("attach tcp -i ink0 --flows 1000 --dry-run")) {
		printf("skipped: %s", said);
		return scratch_remove(NULL), 77;
	}
	if (argc > 2)
		cmocka_set_test_filter(argv[2]);
	return run_suite(&(struct suite){.end = scratch_remove, .after_each = clean});
}
