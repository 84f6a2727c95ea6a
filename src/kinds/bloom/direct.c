/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The kind `direct`: the direct Bloom filter of the ACSM paper (3.1, 3.2).
 *
 * A Bloom filter of pairs (flow, state). That a flow is in a state is written
 * into k cells that both of them choose:
 *
 *     (X, 0) -> cells 7, 12, 31      (X, 1) -> cells 2, 18, 25      ...
 *
 * A caller that knows the state to expect tests one pair (ink_lookup_in), with the
 * error of a Bloom filter. Without it (ink_lookup), the pairs with all states are
 * tested, and if more than one seems to be stored, the answer is "don't know". A
 * change of state removes one pair and inserts another.
 *
 * The cell, from its lowest bit:
 *
 *     [ age a | count c ]      count 0: empty, and then all bits are 0
 *
 * Without counters c is 1: the bit says that some pair was inserted here, and only a
 * time-out clears it. So after a change of state the old pair remains until it times
 * out, and until then the flow seems to be in two states.
 *
 * A counter that reaches its top stays there, because the true count is no longer
 * known; the cell is in use until it times out. Counting it down nevertheless is an
 * option: fewer cells stay in use, but a cell may become empty while stored pairs
 * need it, and their flows then read absent.
 *
 * Time: a cell does not know its flow, so all states have one period.
 */
#include <errno.h>
#include <stddef.h>

#include "kinds/bloom/bloom.h"

/* Every pair has cells of its own, so there is not one place for a flow. */
struct place {
	uint64_t id;
};

#define KIND_DEFINED 1
#include "engine/contract.h"

/* Of one pair: the first bit of each cell. */
struct pair {
	uint64_t at[INK_BLOOM_MOST_K];
};

/* -------------------------------------------------------------------- the place */

static inline struct place place_of(const struct ink_table *t, uint64_t id)
{
	(void)t;
	return (struct place){id};
}

/* Each state has draws of its own, as many as k can be. */
static inline uint32_t first_draw(unsigned state)
{
	return state * INK_BLOOM_MOST_K;
}

static inline struct pair pair_of(const struct ink_table *t, uint64_t id, unsigned state)
{
	struct pair p;

	bloom_all(bloom_of(t), id, first_draw(state), p.at);
	return p;
}

static inline void fetch(const struct ink_table *t, uint64_t at)
{
	__builtin_prefetch((const char *)t->body + at / 8, 1);
}

static inline void pair_fetch(const struct ink_table *t, uint64_t id, unsigned state)
{
	struct pair p = pair_of(t, id, state);

	for (uint32_t i = 0; i < bloom_of(t)->k; i++)
		fetch(t, p.at[i]);
}

/* The first two cells of every pair: for most pairs that are not stored, one of them is empty. */
static inline void pairs_fetch(const struct ink_table *t, uint64_t id)
{
	for (unsigned state = 0; state < t->states; state++) {
		uint64_t at[2];

		bloom_two(bloom_of(t), id, first_draw(state), 0, at);
		fetch(t, at[0]);
		fetch(t, at[1]);
	}
}

static inline void place_fetch(const struct ink_table *t, const struct place *p, int state)
{
	if (state < 0)
		pairs_fetch(t, p->id);
	else
		pair_fetch(t, p->id, (unsigned)state);
}

/* --------------------------------------------------------------------- one pair */

static inline int is_plain(const struct ink_table *t)
{
	return bloom_of(t)->count_top == 0;
}

/* Most pairs are not stored, which the first or second cell shows. */
static inline int pair_there(const struct ink_table *t, uint64_t id, unsigned state)
{
	const struct ink_bloom_shape *s = bloom_of(t);

	for (uint32_t i = 0; i < s->k; i += 2) {
		uint64_t at[2];

		bloom_two(s, id, first_draw(state), i, at);
		if (!cell_read(t, at[0]) || (i + 1 < s->k && !cell_read(t, at[1])))
			return 0;
	}
	return 1;
}

static void pair_touch(struct ink_table *t, uint64_t id, unsigned state)
{
	struct pair p = pair_of(t, id, state);

	for (uint32_t i = 0; i < bloom_of(t)->k; i++)
		cell_touch(t, p.at[i], cell_read(t, p.at[i]));
}

static inline uint32_t one_more(const struct ink_table *t, uint32_t cell)
{
	uint32_t count = cell >> t->coding.age_bits, top = is_plain(t) ? 1 : bloom_of(t)->count_top;

	return (count + (count < top)) << t->coding.age_bits | t->coding.age_top;
}

static inline uint32_t one_less(const struct ink_table *t, uint32_t cell)
{
	const struct ink_bloom_shape *s = bloom_of(t);
	uint32_t count = cell >> t->coding.age_bits;

	if (is_plain(t) || (count == s->count_top && s->sticky))
		return cell;
	return count == 1 ? 0 : cell - (1u << t->coding.age_bits);
}

static void pair_add(struct ink_table *t, uint64_t id, unsigned state)
{
	struct pair p = pair_of(t, id, state);

	for (uint32_t i = 0; i < bloom_of(t)->k; i++)
		cell_write(t, p.at[i], one_more(t, cell_read(t, p.at[i])));
}

/* The pair is stored. */
static void pair_remove(struct ink_table *t, uint64_t id, unsigned state)
{
	struct pair p = pair_of(t, id, state);

	for (uint32_t i = 0; i < bloom_of(t)->k; i++)
		cell_write(t, p.at[i], one_less(t, cell_read(t, p.at[i])));
}

/* -------------------------------------------------------------------- the answer */

INK_HOT ink_answer peek_at(const struct ink_table *t, const struct place *p, uint64_t id)
{
	ink_answer answer = INK_ABSENT;

	(void)p;
	for (unsigned state = 0; state < t->states; state++)
		if (pair_there(t, id, state))
			answer = answer == INK_ABSENT ? (ink_answer)state : INK_DONT_KNOW;
	return answer;
}

/* One of the pairs found is the flow's, so all are touched. */
INK_HOT ink_answer lookup_at(struct ink_table *t, const struct place *p, const struct hint *h, uint64_t id)
{
	ink_answer answer = INK_ABSENT;

	(void)p;
	(void)h;
	for (unsigned state = 0; state < t->states; state++)
		if (pair_there(t, id, state)) {
			pair_touch(t, id, state);
			answer = answer == INK_ABSENT ? (ink_answer)state : INK_DONT_KNOW;
		}
	return answer;
}

static ink_answer direct_lookup_in(struct ink_table *t, uint64_t id, unsigned state)
{
	if (!pair_there(t, id, state))
		return INK_ABSENT;
	pair_touch(t, id, state);
	return (ink_answer)state;
}

/* The state to leave: the given one, if that pair is found, or the only one found; or a negative errno. */
INK_HOT int state_to_leave(const struct ink_table *t, const struct place *p, int only)
{
	ink_answer answer;

	if (only != INK_ANY_STATE)
		return pair_there(t, p->id, (unsigned)only) ? only : -ENOENT;
	answer = peek_at(t, p, p->id);
	return answer == INK_ABSENT ? -ENOENT : answer == INK_DONT_KNOW ? -EBUSY : answer;
}

/* --------------------------------------------------------------------- changes */

INK_HOT int insert_at(struct ink_table *t, const struct place *p, uint64_t id, unsigned state)
{
	(void)p;
	if (state >= t->states)
		return -EINVAL;
	if (pair_there(t, id, state))
		ink_bump(&t->counters.collisions);
	pair_add(t, id, state);
	return 0;
}

INK_HOT int modify_at(struct ink_table *t, const struct place *p, const struct hint *h, uint64_t id,
		      struct ink_change c)
{
	int from;

	(void)h;
	if (c.to >= t->states)
		return -EINVAL;
	from = state_to_leave(t, p, c.from);
	if (from < 0)
		return from;
	if ((unsigned)from == c.to)
		return pair_touch(t, id, c.to), 0;
	pair_remove(t, id, (unsigned)from);
	pair_add(t, id, c.to);
	return 0;
}

/* Without counters a pair cannot be removed: -EBUSY, and a tick will remove it. */
INK_HOT int delete_at(struct ink_table *t, const struct place *p, const struct hint *h, uint64_t id, int only)
{
	int from = state_to_leave(t, p, only);

	(void)h;
	if (from < 0)
		return from;
	if (is_plain(t))
		return -EBUSY;
	pair_remove(t, id, (unsigned)from);
	return 0;
}

/* The pair found is a false positive, or remains from an earlier flow of this id. */
INK_HOT int begin_at(struct ink_table *t, const struct place *p, uint64_t id, ink_answer to)
{
	return to == INK_ABSENT ? 0 : insert_at(t, p, id, (unsigned)to);
}

#include "engine/composed_verbs.h"

/* --------------------------------------------------------------------- the time */

/* The cells do not tell the state. */
static void note_gone(struct ink_table *t, uint32_t cell)
{
	(void)cell;
	ink_note_expiry(t, t->coding.unsure << t->coding.age_bits);
}

/* All states have the same period, so state 0, whose codes are the ages, tells for all. */
static void direct_sweep(struct ink_table *t, uint64_t from, uint64_t to)
{
	struct bloom_aging g = {.low = t->coding.age_top, .note = note_gone};

	if (!t->coding.age_bits)
		return;
	for (uint32_t age = 0; age <= g.low; age++) {
		unsigned after = t->aging.after[age];

		g.after[age] = (uint16_t)(after & INK_EXPIRES ? BLOOM_GONE : after);
	}
	bloom_sweep(t, from, to, &g);
}

static int direct_adopt(const struct ink_table *t, struct ink_program *p, struct ink_why *why)
{
	for (unsigned i = 1; i < t->states && t->coding.age_bits; i++)
		if (p->timings[i].period != p->timings[0].period)
			return ink_fail(why, -ENOTSUP,
					"rules: state %u has period %u and state 0 has %u; in the kind "
					"direct cells know no states, and all have one period",
					i, p->timings[i].period, p->timings[0].period);
	return bloom_no_moves(t, p, why);
}

/* ---------------------------------------------------------------------- looking */

static const char *direct_check(const struct ink_table *t)
{
	const char *wrong = bloom_check_gaps(t);

	for (uint64_t i = 0; i < bloom_of(t)->m && !wrong; i++) {
		uint32_t cell = cell_read(t, bloom_cell_at(bloom_of(t), i));

		if (cell && !(cell >> t->coding.age_bits))
			wrong = "an empty cell is not all 0";
	}
	return wrong;
}

/* ------------------------------------------------------------------ the kind */

static const struct ink_ops direct = {
	.simd = "portable",
	.shape = bloom_shape,
	.lookup_in = direct_lookup_in,
	VERB_CALLS,
	.units = bloom_units,
	.unit_cells = bloom_unit_cells,
	.sweep = direct_sweep,
	.sweep_side = bloom_sweep_side,
	.occupied = bloom_occupied,
	.adopt = direct_adopt,
	.check = direct_check,
};

/* The state is part of what is hashed. */
static unsigned direct_state_bits(unsigned states, uint32_t counter_bits)
{
	(void)states;
	(void)counter_bits;
	return 0;
}

/* bloom_flags of a snapshot lie in a range, which cannot say "0 or 2". */
static int direct_fits(const struct ink_plan *plan, unsigned states)
{
	return !(plan->geometry.bloom_flags & INK_BLOOM_BLOCKED) && ink_bloom_fits(plan, states);
}

const struct ink_kind_def ink_kind_direct = {
	.info = {.size = sizeof(struct ink_kind_info),
		 .kind = INK_DIRECT,
		 .name = "direct",
		 .purpose = "to reproduce the ACSM paper; cheap where the caller knows the state",
		 .can = INK_CAN_TIME_OUT | INK_CAN_PLAN_UNSURE,
		 .geometry = INK_GEOMETRY_K | INK_GEOMETRY_M | INK_GEOMETRY_COUNTER_BITS |
			     INK_GEOMETRY_BLOOM_FLAGS},
	.traits = INK_TRAIT_STATELESS,
	.plan = ink_bloom_plan,
	.cells_bytes = ink_bloom_cells_bytes,
	.state_bits = direct_state_bits,
	.ranges = {.writers = {1, 1},
		   .full = {INK_UNSURE, INK_REFUSE},
		   .k = {1, INK_BLOOM_MOST_K},
		   .m = {2, UINT32_MAX},
		   .counter_bits = {0, INK_BLOOM_MOST_COUNTER_BITS},
		   .bloom_flags = {0, INK_BLOOM_DECREMENT}},
	.fits = direct_fits,
	.ops = &direct,
};
