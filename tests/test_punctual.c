/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Machines keep their times as docs/machine-language.md promises, from the text to the answers of a table:
 *
 *     exact           never early, and within a tick
 *     two age bits    never early; if all times are multiples of the shortest, at most 1.38 times as late as written where
 *                     that is 3.2 s or more, and 1.5 times from 800 ms; else 4 ceil((n + 1) / 3) / n times for n ticks
 *     one age bit     never early, and at most 2 (n + 1) / n times
 *
 * 100,000 flows send three packets each, at moments that have nothing to do with ticks. The state in which a packet
 * finds its flow tells whether it has expired.
 */
#include <inttypes.h>

#include "tests/kind.h"
#include "tests/machine_help.h"

enum { MANY = 100000, LIVING = 2000, PACKETS = 3 };

#define MILLISECOND 1000000u

/* The times of a machine: whether the longer is a multiple of the shorter decides what is promised. */
static const struct times {
	uint64_t ms[2];
} all_times[] = {{{800, 4000}}, {{3200, 9600}}, {{10000, 300000}},
		 {{800, 900}},  {{70, 1000}},   {{5000, 7001}}};

/* ---------------------------------------------------------------- the flows */

struct moment {
	uint64_t time;
	uint32_t flow;
};

static struct moment moments[MANY * PACKETS];

static struct flow {
	uint64_t since;    /* the last packet, or that with which it entered the group; 0: none has come */
	uint8_t longer;    /* it has the longer time */
	uint8_t has_ended; /* or was never stored */
} flows[MANY];

static int by_time(const void *a, const void *b)
{
	const struct moment *x = a, *y = b;

	return (x->time > y->time) - (x->time < y->time);
}

static uint64_t random_time(uint64_t end)
{
	return 1 + (uint64_t)((double)random_word() / 0x1p64 * (double)end);
}

/* Each flow begins at any moment, and its next packets come after up to twice its time, and a bit. */
static void plan_flows(const struct times *t, unsigned n)
{
	uint64_t longest = t->ms[1] * MILLISECOND, all = (longest * n / LIVING + longest) * 3;

	memset(flows, 0, sizeof flows);
	for (unsigned i = 0; i < n; i++) {
		uint64_t time = random_time(all);

		flows[i].longer = random_below(2) != 0;
		for (unsigned j = 0; j < PACKETS; j++) {
			moments[i * PACKETS + j] = (struct moment){time, i};
			time += random_time(t->ms[flows[i].longer] * MILLISECOND * 9 / 4);
		}
	}
	qsort(moments, (size_t)n * PACKETS, sizeof moments[0], by_time);
}

/* -------------------------------------------------------------- a machine's run */

static struct run {
	const char *kind;
	const struct times *times;
	int exact, windows;
	unsigned age_bits;
	const struct moment *now;
	double worst[2];         /* how late, as a multiple of each time */
	unsigned early, late[2]; /* flows that ended before their time, or later than promised */
} r;

/* The time of so many ticks, rounded up. */
static double ticks_of(uint64_t ms)
{
	return ceil((double)(ms * MILLISECOND) / (double)ink_machine_view(machine)->tick);
}

/* The longest time that is promised, in nanoseconds. */
static double promise(unsigned longer)
{
	uint64_t ms = r.times->ms[longer], shortest = r.times->ms[0];
	double n = ticks_of(ms), tick = (double)ink_machine_view(machine)->tick,
	       written = (double)(ms * MILLISECOND);

	if (r.exact)
		return (n + 1) * tick;
	if (r.age_bits == 1)
		return 2 * (n + 1) * tick;
	if (r.times->ms[1] % shortest == 0 && shortest >= 800)
		return written * (shortest >= 3200 ? 1.38 : 1.5);
	return 4 * ceil((n + 1) / 3) * tick;
}

static void see_end(struct flow *f, double took, double written)
{
	f->has_ended = 1;
	r.early += took <= written;
}

static void see_stay(struct flow *f, double took, double written)
{
	r.late[f->longer] += took > promise(f->longer);
	if (took <= promise(f->longer)) /* a false positive is no lateness */
		r.worst[f->longer] = fmax(r.worst[f->longer], took / written);
	if (!r.windows)
		f->since = r.now->time;
}

static void see(const struct ink_moved *m, void *user)
{
	struct flow *f = &flows[r.now->flow];
	double took = (double)(r.now->time - f->since),
	       written = (double)(r.times->ms[f->longer] * MILLISECOND);

	if (f->has_ended)
		return;
	if (f->since && m->move.from == INK_ABSENT)
		see_end(f, took, written);
	else if (f->since)
		see_stay(f, took, written);
	else if (m->error || m->move.from != INK_ABSENT)
		f->has_ended = 1; /* no room, or another flow's entry */
	else
		f->since = r.now->time;
}

/* The first packet goes to the state of its time, and the others to its twin and back. */
static struct ink_packet packet_of(const struct moment *m)
{
	struct ink_packet p = packet(INK_PROTOCOL_TCP, 0, 0);
	const struct flow *f = &flows[m->flow];

	for (unsigned i = 0; i < 4; i++)
		p.source[i] = (uint8_t)(m->flow >> 8 * i);
	p.payload_wire = f->since ? 0 : 1 + f->longer;
	p.time = p.clock = m->time;
	return p;
}

static void open_run(const struct ink_kind_info *kind)
{
	const char *word = r.windows ? "within" : "timeout";
	const uint64_t *ms = r.times->ms;

	begin("machine m\nkey src\nevent short = payload 1\nevent long = payload 2\nevent move = payload 0\n"
	      "absent: short -> a | long -> b\n");
	add("a, c: %s %" PRIu64 "ms -> absent\nb, d: %s %" PRIu64 "ms -> absent\n", word, ms[0], word, ms[1]);
	add("a: move -> c\nc: move -> a\nb: move -> d\nd: move -> b\n");
	track_in(draft.text,
		 (struct ink_options){
			 .kind = kind->kind, .flows = 4 * LIVING, .error = 1e-6, .age_bits = r.age_bits},
		 (struct ink_track_options){.every = 1, .moved = see});
}

/* False positives touch entries of others: of 300,000 packets, hardly one. */
static void assert_promises(unsigned n)
{
	for (unsigned i = 0; i < 2; i++) {
		double most = promise(i) / (double)(r.times->ms[i] * MILLISECOND);

		if (r.early || r.late[i] > (r.exact ? 0 : 1 + n / 25000))
			fail_msg("%s, %u age bits, %s of %" PRIu64 " ms: %u early, %u later than %.3f times",
				 r.kind, r.age_bits, r.windows ? "window" : "time-out", r.times->ms[i],
				 r.early, r.late[i], most);
		if (r.worst[i] < 1)
			fail_msg("%s: no flow was seen late", r.kind);
	}
}

static void run_flows(const struct ink_kind_info *kind, unsigned n)
{
	plan_flows(r.times, n);
	open_run(kind);
	for (unsigned i = 0; i < n * PACKETS; i++) {
		r.now = &moments[i];
		give(packet_of(r.now));
	}
	assert_promises(n);
	untrack(NULL);
}

static void run_kinds(unsigned can, int windows)
{
	struct ink_kind_info kind = {.size = sizeof kind};

	for (unsigned i = 1; ink_kind_info(i, &kind) == 0; i++) {
		int exact = (kind.can & INK_CAN_BE_EXACT) != 0;

		for (unsigned bits = 1; (kind.can & can) && bits <= (exact ? 1 : 2); bits++)
			for (unsigned t = 0; t < COUNT(all_times); t++) {
				r = (struct run){kind.name, &all_times[t], exact, windows, bits,
						 NULL,      {0},           0,     {0}};
				run_flows(&kind, (unsigned)scaled(MANY));
			}
	}
}

TEST_THAT(time_outs_are_as_late_as_the_language_promises)
{
	run_kinds(INK_CAN_WINDOW, 0); /* the kinds whose entries have their own times */
}

TEST_THAT(windows_are_as_late_as_the_language_promises)
{
	run_kinds(INK_CAN_WINDOW, 1);
}

int main(void)
{
	return run_suite(&(struct suite){.after_each = untrack});
}
