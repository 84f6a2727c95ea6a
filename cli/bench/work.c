/* SPDX-License-Identifier: BSD-2-Clause */
/* inkling bench: flows, operations, rounds: what is timed. */
#include <time.h>

#include "cli/bench/bench.h"
#include "sim/seeded.h"

/* --------------------------------------------------------------------------- flows */

/* Never the same twice: the mixer is a bijection. */
static uint64_t fresh_id(struct bench *b)
{
	return sim_mix(sim_mix(b->seed) + b->born++);
}

static uint8_t any_state(uint64_t id)
{
	return (uint8_t)sim_below(sim_mix(id), STATES);
}

static void make_flows(struct bench *b)
{
	b->born = b->cursor = 0;
	for (uint64_t i = 0; i < b->n; i++) {
		b->ids[i] = fresh_id(b);
		b->states[i] = any_state(b->ids[i]);
		b->order[i] = (uint32_t)i;
	}
	for (uint64_t i = b->n - 1; i > 0; i--) {
		uint64_t k = sim_below(sim_mix(b->ids[i]), i + 1);
		uint32_t slot = b->order[i];

		b->order[i] = b->order[k];
		b->order[k] = slot;
	}
}

static void put_flow(struct bench *b, size_t i, uint32_t slot)
{
	struct slice *s = &b->slice;

	s->slots[i] = slot;
	s->ids[i] = b->ids[slot];
	s->states[i] = b->states[slot];
}

/* Flows in the order of their slots. */
static void next_in_order(struct bench *b, uint64_t from)
{
	b->slice.n = b->n - from < b->slice_size ? b->n - from : b->slice_size;
	for (size_t i = 0; i < b->slice.n; i++)
		put_flow(b, i, (uint32_t)(from + i));
}

/* Live flows for an operation: with their new states for modify and step, replaced by strangers for miss. */
static void next_slice(struct bench *b, enum op op)
{
	struct slice *s = &b->slice;

	s->n = b->slice_size;
	for (size_t i = 0; i < s->n; i++) {
		put_flow(b, i, b->order[b->cursor]);
		b->cursor = (b->cursor + 1) % b->n;
		if (op == MISS)
			s->ids[i] = fresh_id(b);
		else if (op == CHURN)
			s->born_states[i] = any_state(s->born[i] = fresh_id(b));
		else if (op == MODIFY || op == STEP)
			s->states[i] = (uint8_t)((s->states[i] + 1) % STATES);
	}
}

/* Brings the truth up to date. */
static void update_truth(struct bench *b, enum op op)
{
	const struct slice *s = &b->slice;

	for (size_t i = 0; i < s->n && (op == MODIFY || op == STEP); i++)
		b->states[s->slots[i]] = s->states[i];
	for (size_t i = 0; i < s->n && op == CHURN; i++) {
		b->ids[s->slots[i]] = s->born[i];
		b->states[s->slots[i]] = s->born_states[i];
	}
}

/* ---------------------------------------------------------------------- operations */

/* One item by a single call; non-zero: a wrong result. */
static inline int do_one(struct ink_table *t, enum op op, const struct slice *s, size_t i)
{
	struct ink_move move;
	int bad;

	switch (op) {
	case INSERT:
		return ink_insert(t, s->ids[i], s->states[i]) != 0;
	case HIT:
		return ink_lookup(t, s->ids[i]) != s->states[i];
	case MISS:
		return ink_lookup(t, s->ids[i]) != INK_ABSENT;
	case MODIFY:
		return ink_modify(t, s->ids[i], s->states[i]) != 0;
	case STEP:
		return ink_step(t, s->ids[i], 0, &move) != 0 || move.to != s->states[i];
	case DELETE:
		return ink_delete(t, s->ids[i]) != 0;
	default: /* CHURN */
		bad = ink_delete(t, s->ids[i]) != 0;
		return bad | (ink_insert(t, s->born[i], s->born_states[i]) != 0);
	}
}

static uint64_t one_by_one(struct ink_table *t, enum op op, const struct slice *s)
{
	uint64_t bad = 0;

	for (size_t i = 0; i < s->n; i++)
		bad += (uint64_t)do_one(t, op, s, i);
	return bad;
}

/* The items from `from` on, so many at most. */
static struct ink_batch burst_of(struct slice *s, size_t from, size_t most)
{
	return (struct ink_batch){.n = s->n - from < most ? s->n - from : most,
				  .ids = s->ids + from,
				  .states = s->states + from,
				  .events = s->events + from,
				  .answers = s->answers + from,
				  .moves = s->moves + from,
				  .errors = s->errors + from};
}

static uint64_t failed(const struct ink_batch *b)
{
	uint64_t bad = 0;

	for (size_t i = 0; i < b->n; i++)
		bad += b->errors[i] != 0;
	return bad;
}

static uint64_t look_up(struct ink_table *t, const struct ink_batch *b, int strangers)
{
	uint64_t bad = 0;

	ink_lookup_batch(t, b);
	for (size_t i = 0; i < b->n; i++)
		bad += b->answers[i] != (strangers ? INK_ABSENT : b->states[i]);
	return bad;
}

static uint64_t step(struct ink_table *t, const struct ink_batch *b)
{
	uint64_t bad = 0;

	ink_step_batch(t, b);
	for (size_t i = 0; i < b->n; i++)
		bad += b->errors[i] != 0 || b->moves[i].to != b->states[i];
	return bad;
}

static uint64_t do_burst(struct ink_table *t, enum op op, struct ink_batch *b, struct slice *s)
{
	size_t from = (size_t)(b->ids - s->ids);
	uint64_t bad;

	switch (op) {
	case INSERT:
		ink_insert_batch(t, b);
		return failed(b);
	case HIT:
	case MISS:
		return look_up(t, b, op == MISS);
	case MODIFY:
		ink_modify_batch(t, b);
		return failed(b);
	case STEP:
		return step(t, b);
	default: /* DELETE, and the first half of CHURN */
		ink_delete_batch(t, b);
		bad = failed(b);
	}
	if (op == CHURN) {
		b->ids = s->born + from;
		b->states = s->born_states + from;
		bad += do_burst(t, INSERT, b, s);
	}
	return bad;
}

static uint64_t in_bursts(struct bench *b, enum op op)
{
	struct slice *s = &b->slice;
	uint64_t bad = 0;

	for (size_t i = 0; i < s->n; i += b->burst) {
		struct ink_batch burst = burst_of(s, i, b->burst);

		bad += do_burst(b->tables[BATCHED], op, &burst, s);
	}
	return bad;
}

/* ---------------------------------------------------------------------- the gather */

/* The first line by the upper, the second by the lower half of the id. */
static const uint64_t *line_of(const struct bench *b, uint64_t id, int second)
{
	uint64_t half = second ? id & UINT32_MAX : id >> 32;

	return b->memory + (half * b->lines >> 32) * (LINE / sizeof *b->memory);
}

/* The memory is zero, and so is its sum: the number of wrong words. */
static uint64_t gather(const struct bench *b)
{
	/* Prefetch into L2: 5 % slower than into L1 at 1M flows, but twice as fast at 16M. */
	enum { AHEAD = 64, INTO_L2 = 2 };
	const struct slice *s = &b->slice;
	uint64_t sum = 0;

	for (size_t i = 0; i < s->n; i++) {
		const uint64_t *first = line_of(b, s->ids[i], 0), *second = line_of(b, s->ids[i], 1);

		if (i + AHEAD < s->n) {
			__builtin_prefetch(line_of(b, s->ids[i + AHEAD], 0), 0, INTO_L2);
			__builtin_prefetch(line_of(b, s->ids[i + AHEAD], 1), 0, INTO_L2);
		}
		for (unsigned k = 0; k < LINE / sizeof *first; k++)
			sum += first[k] + second[k];
	}
	return sum;
}

/* --------------------------------------------------------------------------- rounds */

static double seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* Nanoseconds per item. */
static double timed(struct bench *b, enum way way, enum op op)
{
	double start = seconds();
	uint64_t bad;

	if (op == GATHER)
		bad = gather(b);
	else if (way == SINGLE)
		bad = one_by_one(b->tables[way], op, &b->slice);
	else
		bad = in_bursts(b, op);
	start = seconds() - start;
	*(op == MISS ? &b->answered : &b->wrong) += bad;
	if (op != GATHER) /* which uses no table */
		*(op == MISS ? &b->strangers : &b->known) += b->slice.n;
	return start / (double)b->slice.n * 1e9;
}

static void do_round(struct bench *b, enum op op, unsigned round)
{
	next_slice(b, op);
	for (unsigned way = 0; way < WAYS; way++)
		b->ns[way][op][round] = timed(b, (enum way)way, op);
	update_truth(b, op);
}

/* An insert costs more the fuller the table is: the mean over all of them counts. */
static void fill(struct bench *b)
{
	double ns[WAYS] = {0};

	for (uint64_t from = 0; from < b->n; from += b->slice_size) {
		next_in_order(b, from);
		for (unsigned way = 0; way < WAYS; way++)
			ns[way] += timed(b, (enum way)way, INSERT) * (double)b->slice.n / (double)b->n;
	}
	for (unsigned way = 0; way < WAYS; way++)
		for (unsigned r = 0; r < ROUNDS; r++)
			b->ns[way][INSERT][r] = ns[way];
}

void bench_measure(struct bench *b)
{
	static const enum op ops[] = {HIT, MISS, GATHER, MODIFY, STEP, CHURN};

	b->known = b->wrong = b->strangers = b->answered = 0;
	make_flows(b);
	fill(b);
	for (unsigned r = 0; r < ROUNDS; r++) {
		cli_progress(cli_kind(b->plan.kind).name, (double)(r + 1) / (ROUNDS + 1));
		for (unsigned i = 0; i < sizeof ops / sizeof ops[0]; i++)
			do_round(b, ops[i], r);
	}
	for (unsigned r = 0; r < ROUNDS; r++)
		do_round(b, DELETE, r);
	cli_progress_end();
}
