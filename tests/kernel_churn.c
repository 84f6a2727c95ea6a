/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * kernel_churn PACKETS [FLOWS]: flows begin, live and end in the table in the kernel. `make churn-kernel` has a thousand
 * million packets of 2^17 flows.
 *
 * Question: does the table say of each packet's flow in which state it is, however many came before? And does it hold as
 * many flows at the end as in the beginning?
 *
 * Each packet says itself in which state its flow is (kernel_traffic.h): in the type of service, so that the machine
 * below counts where the table says otherwise. In each state is an eighth of the flows. One of sixteen does not close: it is
 * left to its time-out. A round takes a second of the test clock.
 *
 *     wrong      the table had the flow in another state       must be 0
 *     missing    it did not have it                            must be 0
 *     unsure     it did not know                               must be 0
 *     expired    it was deleted, though it was used            must be 0
 *
 * Ten times meanwhile the flows in the table are counted by state. Those that live are as many as there must be, exactly;
 * those that were left are between as many as the shortest and the longest time-out allow. Nothing is held against that in
 * the first 24 rounds: flows begin one after the other.
 */
#include <inttypes.h>
#include <time.h>

#include "tests/kernel_drive.h"

static const char text[] =
	"machine churn\n"
	"key connection\n"
	"start event begins = tcp and tos 0\n"
	"event in1 = tcp and tos 1\n"
	"event in2 = tcp and tos 2\n"
	"event in3 = tcp and tos 3\n"
	"event in4 = tcp and tos 4\n"
	"event in5 = tcp and tos 5\n"
	"event in6 = tcp and tos 6\n"
	"event closes = tcp and tos 7\n"
	"event leaves = tcp and tos 8\n"
	"absent : begins -> s1 | in1, in2, in3, in4, in5, in6, closes, leaves / count missing\n"
	"s1 : in1 -> s2 | in2, in3, in4, in5, in6, closes, leaves / count wrong | timeout 20s -> absent / count expired\n"
	"s2 : in2 -> s3 | in1, in3, in4, in5, in6, closes, leaves / count wrong | timeout 20s -> absent / count expired\n"
	"s3 : in3 -> s4 | in1, in2, in4, in5, in6, closes, leaves / count wrong | timeout 20s -> absent / count expired\n"
	"s4 : in4 -> s5 | in1, in2, in3, in5, in6, closes, leaves / count wrong | timeout 20s -> absent / count expired\n"
	"s5 : in5 -> s6 | in1, in2, in3, in4, in6, closes, leaves / count wrong | timeout 20s -> absent / count expired\n"
	"s6 : in6 -> s7 | in1, in2, in3, in4, in5, closes, leaves / count wrong | timeout 20s -> absent / count expired\n"
	"s7 : closes -> absent | leaves -> gone | in1, in2, in3, in4, in5, in6 / count wrong"
	" | timeout 20s -> absent / count expired\n"
	"gone : in1, in2, in3, in4, in5, in6, closes, leaves / count wrong | timeout 4s -> absent / count over\n"
	"unsure : * / count unsure\n";

enum { LOOKS = 10, FIRST = 24, GONE = TRAFFIC_STATES, COUNTS = GONE + 1 };

static const uint64_t second = 1000000000;
static uint64_t flows, rounds;
static unsigned failed;

/* --------------------------------------------------------------- what there must be */

/* Behind a round the flows are in the state behind the one that their packet said. */
static void expect_living(uint64_t round, uint64_t expected[COUNTS])
{
	memset(expected, 0, COUNTS * sizeof *expected);
	for (uint64_t flow = 0; flow < flows; flow++)
		expected[(round + flow % TRAFFIC_STATES) % TRAFFIC_STATES]++;
}

/* Of a state: how many ticks behind its last packet a flow is deleted. */
static struct ink_expiry expiry_of(const struct ink_machine_view *v, unsigned state)
{
	struct ink_expiry range = {0, 0};

	if (ink_expiry(INK_LINE, 2, v->rules->timings[state].period, &range))
		exit(1);
	return range;
}

/* ------------------------------------------------------------------------ looking */

struct look {
	uint64_t counts[COUNTS], total, counters[INK_KERNEL_COUNTERS], given_up;
	struct ink_stats stats;
	struct ink_expiry gone; /* ns */
};

static struct look look_at(struct ink_kernel *k)
{
	const struct ink_machine_view *v = ink_machine_view(ink_machines_at(ink_kernel_machines(k), 0));
	struct look l = {.stats = {.size = sizeof l.stats}};
	struct ink_table *copy = ink_kernel_copy(k, 0, NULL);
	struct ink_kernel_counts counts;
	struct ink_counts census;

	if (!copy || ink_census(copy, &census) || ink_stats(copy, &l.stats) ||
	    ink_kernel_counters(k, 0, l.counters) || ink_kernel_counts(k, 0, &counts))
		drive_fail("a copy of the table");
	for (unsigned i = 0; i < v->rules->states && v->state_of[i] < GONE; i++)
		l.counts[v->state_of[i] + 1] += census.state[i];
	l.gone = expiry_of(v, v->rules->states - 1);
	l.gone = (struct ink_expiry){l.gone.earliest * v->tick, l.gone.latest * v->tick};
	l.total = census.total;
	l.given_up = counts.given_up + counts.refused;
	ink_free(copy);
	return l;
}

static void must(int holds, const char *what, uint64_t round)
{
	if (holds)
		return;
	fprintf(stderr, "behind round %" PRIu64 ": %s\n", round, what);
	failed = 1;
}

/* In each round one of 16 x 8 flows is left. */
static void hold_gone(const struct look *l, uint64_t round)
{
	uint64_t rate = flows / TRAFFIC_LEAVERS / TRAFFIC_STATES, seen = l->counts[GONE];

	must(seen >= rate * (l->gone.earliest / second - 1), "flows that were left are deleted too early",
	     round);
	must(seen <= rate * (l->gone.latest / second + 2), "flows that were left are still there", round);
}

static void hold(struct ink_kernel *k, const struct look *l, uint64_t round)
{
	static const char *const zero[] = {"missing", "wrong", "expired", "unsure"};
	const struct ink_machine_view *v = ink_machine_view(ink_machines_at(ink_kernel_machines(k), 0));
	uint64_t expected[COUNTS];

	expect_living(round, expected);
	for (unsigned i = 1; i < GONE; i++)
		must(l->counts[i] == expected[i], "not as many flows in each state as there are", round);
	for (unsigned c = 0; c < v->counters; c++)
		for (unsigned i = 0; i < sizeof zero / sizeof *zero; i++)
			must(strcmp(v->counter_names[c], zero[i]) || !l->counters[c], zero[i], round);
	must(!l->given_up, "steps were given up, or flows refused", round);
	must(!l->stats.marked, "entries became don't-know", round);
	hold_gone(l, round);
}

static uint64_t sum_of(const struct look *l)
{
	uint64_t sum = 0;

	for (unsigned i = 1; i < GONE; i++)
		sum += l->counts[i];
	return sum;
}

static void print_look(const struct look *l, uint64_t packets, uint64_t ns)
{
	printf("%11" PRIu64 " packets: %" PRIu64 " flows live, %" PRIu64 " are left, %" PRIu64
	       " in the side table, load %.4f, %" PRIu64 " ns a packet\n",
	       packets, sum_of(l), l->counts[GONE], l->stats.side_flows,
	       (double)l->total / (double)(l->stats.cells + l->stats.side_cells), ns);
	fflush(stdout);
}

/* ------------------------------------------------------------------------- running */

static struct ink_kernel *make_kernel(struct ink_machines *machines)
{
	const struct ink_options plan = {.size = sizeof plan, .flows = flows, .age_bits = 2, .seed = 1};

	return drive_kernel(machines, &plan);
}

static void run_rounds(struct drive *d, struct ink_kernel *k)
{
	struct traffic *t = d->traffic;

	t->scene = TRAFFIC_CHURN;
	t->flows = (uint32_t)flows;
	t->begin = second;
	t->pace = (second << 8) / flows;
	for (unsigned i = 1; i <= LOOKS; i++) {
		uint64_t until = rounds * i / LOOKS;
		struct look l;

		drive_packets(d, "drive", until * flows - t->next);
		l = look_at(k);
		print_look(&l, t->next, d->ns);
		if (until >= FIRST)
			hold(k, &l, until);
	}
}

int main(int argc, char **argv)
{
	struct ink_machine_options o = {.size = sizeof o, .file = "churn.fsm"};
	struct ink_machines *machines = ink_machines_make(text, sizeof text - 1, &o);
	struct ink_kernel *k;
	struct drive d;

	if (argc < 2 || !machines)
		return 2;
	flows = argc > 2 ? strtoull(argv[2], NULL, 10) : 32768;
	rounds = strtoull(argv[1], NULL, 10) / flows;
	libbpf_set_print(ink_kernel_hear);
	k = make_kernel(machines);
	d = drive_to(k);
	run_rounds(&d, k);
	drive_close(&d);
	ink_kernel_close(k);
	ink_machines_free(machines);
	return (int)failed;
}
