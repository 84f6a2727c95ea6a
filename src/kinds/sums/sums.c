/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The kind `kbf`: the key-value Bloom filter as a table of states (kBF paper,
 * section VI), with cells that add up and never drift (bag.h).
 *
 *     body    [ k shares of equal size, of 16-bit bags ][ 0 to a word ][ masks ][ side table ]
 *
 * A flow has one cell in each share, so never the same twice, and puts the
 * element of its symbol into all k of them. Few states leave most of the 12
 * bits unused, so they are made more: each flow has a class, drawn from its id,
 * and the symbol is the state in that class. Flows of other classes are then as
 * good as told apart by a fingerprint.
 *
 *     symbol = class * states + state
 *
 * What all k cells admit of a flow's class are the states that it may have:
 * none, it is absent; one, that is it; several, "don't know". As long as nobody
 * takes out what was not put in, the true state is among them.
 *
 *   insert   Always stored, and never refused: sums have room for everything. The
 *            cells are not even read. More flows than planned make more "don't
 *            know", and as they leave that heals.
 *   modify   Needs to know what is taken out. Where the cells do not tell, the
 *   delete   side table remembers by full id what the flow is to become, and it
 *            is asked first from then on. With every change of the table one of
 *            those that wait is tried again; a tick tries them all.
 *
 * There are no ages: a cell that were emptied would take the flows of other
 * cells with it.
 */
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "kinds/sums/multiset.h"
#include "base/mix.h"
#include "table/table.h"

struct place {
	uint32_t cell[INK_SUMS_MAX_K];
	uint32_t first_symbol; /* of its class */
	uint32_t home;         /* in the side table */
};

enum { DRAW_OF_CLASS = INK_SUMS_MAX_K }; /* the draws before it are for the cells */

/* ------------------------------------------------------------------ the place */

static inline const struct ink_kbf_shape *kbf_of(const struct ink_table *t)
{
	return &t->shape.kbf;
}

static inline struct place place_of(const struct ink_table *t, uint64_t id)
{
	const struct ink_kbf_shape *s = kbf_of(t);
	struct place p = {.home = (uint32_t)id};

	for (uint32_t i = 0; i < s->k; i += 2) {
		uint64_t pair = ink_draw_pair(id, i);

		p.cell[i] = i * s->share + (uint32_t)ink_draw_low(pair, s->share);
		p.cell[i + 1] = (i + 1) * s->share + (uint32_t)ink_draw_high(pair, s->share);
	}
	if (s->classes > 1)
		p.first_symbol = (uint32_t)ink_draw(id, DRAW_OF_CLASS, s->classes) * t->states;
	return p;
}

static inline void place_fetch(const struct ink_table *t, const struct place *p, int state)
{
	const struct ink_kbf_shape *s = kbf_of(t);

	(void)state;
	for (uint32_t j = 0; j < s->k; j++)
		__builtin_prefetch(&s->cells[p->cell[j]], 1);
}

#include "engine/no_lookahead.h"

/* ------------------------------------------------------------------ the cells */

/* The states that a flow may have, a bit for each. */
static inline uint64_t candidates(const struct ink_table *t, const struct place *p)
{
	const struct ink_kbf_shape *s = kbf_of(t);
	uint64_t mask = s->state_mask << p->first_symbol;

	for (uint32_t i = 0; i < s->k && mask; i++)
		mask &= ink_multiset_admits(&s->bags, s->masks, s->cells[p->cell[i]]);
	return mask >> p->first_symbol;
}

static inline int is_single(uint64_t mask)
{
	return mask && !(mask & (mask - 1));
}

static inline void put_in(struct ink_table *t, const struct place *p, unsigned state)
{
	const struct ink_kbf_shape *s = kbf_of(t);

	for (uint32_t i = 0; i < s->k; i++) {
		ink_multiset *bag = &s->cells[p->cell[i]];

		*bag = ink_multiset_add(&s->bags, *bag, p->first_symbol + state);
	}
}

static inline void take_out(struct ink_table *t, const struct place *p, unsigned state)
{
	const struct ink_kbf_shape *s = kbf_of(t);

	for (uint32_t i = 0; i < s->k; i++) {
		ink_multiset *bag = &s->cells[p->cell[i]];

		*bag = ink_multiset_remove(&s->bags, *bag, p->first_symbol + state);
	}
}

/* Out before in, so that a count one below the top does not stick. */
static inline void exchange(struct ink_table *t, const struct place *p, unsigned from, unsigned to)
{
	if (from == to)
		return;
	take_out(t, p, from);
	put_in(t, p, to);
}

/* ------------------------------------------------------------- those that wait */

/* In the side table: the state that the flow is to have, or this: none. */
static inline unsigned leaving(const struct ink_table *t)
{
	return t->coding.unsure;
}

static inline uint32_t waiting(const struct ink_table *t, const struct place *p, uint64_t id)
{
	if (__builtin_expect(ink_side_count(&t->side) == 0, 1))
		return 0;
	return ink_side_find(&t->side, p->home, id);
}

static int wait_to_be(struct ink_table *t, const struct place *p, uint64_t id, unsigned state)
{
	if (!ink_side_add(&t->side, p->home, id, state))
		return -EBUSY;
	ink_bump(&t->counters.overflowed);
	return 0;
}

/* If the cells tell by now what is to be taken out, it is, and the flow becomes what it is to be. */
static void try_again(struct ink_table *t, uint32_t e)
{
	struct place p = place_of(t, ink_side_id(&t->side, e));
	uint64_t mask = candidates(t, &p);
	unsigned state = ink_side_code(&t->side, e);

	if (mask && !is_single(mask))
		return;
	if (mask)
		take_out(t, &p, (unsigned)__builtin_ctzll(mask));
	if (state != leaving(t))
		put_in(t, &p, state);
	ink_side_remove(&t->side, p.home, e);
}

/* After each change: the next of those that wait, like the hand of a clock. */
static void try_one(struct ink_table *t)
{
	struct ink_side *s = &t->side;

	if (__builtin_expect(ink_side_count(s) == 0, 1))
		return;
	s->hand = s->hand + 1 < s->head->fresh ? s->hand + 1 : 0;
	if (ink_side_used(s, s->hand + 1))
		try_again(t, s->hand + 1);
}

static void try_all(struct ink_table *t)
{
	for (uint32_t e = 1; e <= ink_side_last(&t->side); e++)
		if (ink_side_used(&t->side, e))
			try_again(t, e);
}

/* ------------------------------------------------------------------ the verbs */

static inline ink_answer waiting_answer(const struct ink_table *t, uint32_t e)
{
	unsigned state = ink_side_code(&t->side, e);

	return state == leaving(t) ? INK_ABSENT : (ink_answer)state;
}

static inline ink_answer peek_at(const struct ink_table *t, const struct place *p, uint64_t id)
{
	uint32_t e = waiting(t, p, id);
	uint64_t mask;

	if (e)
		return waiting_answer(t, e);
	mask = candidates(t, p);
	if (!mask)
		return INK_ABSENT;
	return is_single(mask) ? (ink_answer)__builtin_ctzll(mask) : INK_DONT_KNOW;
}

static inline ink_answer lookup_at(struct ink_table *t, const struct place *p, const struct hint *h,
				   uint64_t id)
{
	(void)h;
	return peek_at(t, p, id);
}

/* A flow that waits to leave is a new one from here on, but what it was is still in the cells. */
static inline int insert_waiting(struct ink_table *t, uint32_t e, unsigned state)
{
	if (ink_side_code(&t->side, e) != leaving(t))
		return -EEXIST;
	ink_side_recode(&t->side, e, state);
	return 0;
}

INK_HOT int insert_at(struct ink_table *t, const struct place *p, uint64_t id, unsigned state)
{
	uint32_t e = waiting(t, p, id);

	if (state >= t->states)
		return -EINVAL;
	if (e)
		return insert_waiting(t, e, state);
	put_in(t, p, state);
	try_one(t);
	return 0;
}

/* What is to be taken out: the state, -ENOENT, or -EAGAIN: the cells do not tell. */
static inline int known_state(uint64_t mask, int from)
{
	if (!mask || (from != INK_ANY_STATE && !(mask >> from & 1)))
		return -ENOENT;
	if (from != INK_ANY_STATE)
		return from;
	return is_single(mask) ? __builtin_ctzll(mask) : -EAGAIN;
}

static int change_waiting(struct ink_table *t, uint32_t e, int from, unsigned to)
{
	ink_answer now = waiting_answer(t, e);

	if (now == INK_ABSENT || (from != INK_ANY_STATE && now != from))
		return -ENOENT;
	ink_side_recode(&t->side, e, to);
	return 0;
}

INK_HOT int modify_at(struct ink_table *t, const struct place *p, const struct hint *h, uint64_t id,
		      struct ink_change c)
{
	uint32_t e = waiting(t, p, id);
	int known;

	(void)h;
	if (c.to >= t->states)
		return -EINVAL;
	if (e)
		return change_waiting(t, e, c.from, c.to);
	known = known_state(candidates(t, p), c.from);
	if (known == -EAGAIN)
		return wait_to_be(t, p, id, c.to);
	if (known < 0)
		return known;
	exchange(t, p, (unsigned)known, c.to);
	try_one(t);
	return 0;
}

INK_HOT int delete_at(struct ink_table *t, const struct place *p, const struct hint *h, uint64_t id, int only)
{
	uint32_t e = waiting(t, p, id);
	int known;

	(void)h;
	if (e)
		return change_waiting(t, e, only, leaving(t));
	known = known_state(candidates(t, p), only);
	if (known == -EAGAIN)
		return wait_to_be(t, p, id, leaving(t));
	if (known < 0)
		return known;
	take_out(t, p, (unsigned)known);
	try_one(t);
	return 0;
}

/* What was found is another flow's: this one comes into its cells. One that waits is known by its id and begins anew. */
INK_HOT int begin_at(struct ink_table *t, const struct place *p, uint64_t id, ink_answer to)
{
	uint32_t e = waiting(t, p, id);

	if (e)
		return ink_side_recode(&t->side, e, to == INK_ABSENT ? leaving(t) : (unsigned)to), 0;
	return to == INK_ABSENT ? 0 : insert_at(t, p, id, (unsigned)to);
}

#include "engine/no_lookahead_verbs.h"

/* ------------------------------------------------------------- looking at all */

static uint64_t kbf_units(const struct ink_table *t)
{
	return (uint64_t)kbf_of(t)->k * kbf_of(t)->share;
}

static uint32_t kbf_unit_cells(const struct ink_table *t)
{
	(void)t;
	return 1;
}

/*
 * Nothing rests here, and so nothing ends; but every tick tries those that
 * wait. The flag makes tick.c sweep also where no state is looked at.
 */
static void kbf_sweep(struct ink_table *t, uint64_t from, uint64_t to)
{
	(void)from;
	t->aging.flagged = 1;
	if (to == kbf_units(t))
		try_all(t);
}

static void kbf_sweep_side(struct ink_table *t)
{
	(void)t;
}

static uint64_t kbf_occupied(const struct ink_table *t)
{
	uint64_t occupied = 0;

	for (uint64_t i = 0; i < kbf_units(t); i++)
		occupied += kbf_of(t)->cells[i] != 0;
	return occupied;
}

/* A sum that no flows can have is possible: so many were taken out that were never put in. */
static const char *check_bag(ink_multiset bag)
{
	if (ink_multiset_sum(bag) >= INK_MULTISET_GROUP)
		return "a cell has a sum that no sum can be";
	return bag && !ink_multiset_count(bag) ? "a cell without flows is not empty" : NULL;
}

static const char *check_waiting(const struct ink_table *t)
{
	const struct ink_side *s = &t->side;

	for (uint32_t e = 1; e <= ink_side_last(s); e++) {
		uint64_t id = ink_side_id(s, e);
		unsigned code = ink_side_code(s, e);

		if (ink_side_used(s, e) && ink_side_find(s, (uint32_t)id, id) != e)
			return "a flow of the side table cannot be found";
		if (ink_side_used(s, e) && code >= t->states && code != leaving(t))
			return "an entry of the side table has a state that the table has not";
	}
	return NULL;
}

/* What follows from the number of states is made again and compared; where there is no memory for it, it is believed. */
static const char *check_masks(const struct ink_table *t)
{
	const struct ink_kbf_shape *s = kbf_of(t);
	uint64_t bytes = ink_kbf_masks_bytes(&t->plan.geometry);
	unsigned char *again = calloc(1, bytes);
	int same = 1;

	if (again) {
		ink_multiset_fill_masks(&s->bags, again);
		same = !memcmp(again, s->masks, bytes);
	}
	free(again);
	for (const unsigned char *gap = (const unsigned char *)(s->cells + kbf_units(t)); gap < s->masks;
	     gap++)
		same &= !*gap;
	return same ? NULL : "the masks are not those of so many states";
}

static const char *kbf_check(const struct ink_table *t)
{
	const struct ink_kbf_shape *s = kbf_of(t);
	const char *wrong = ink_side_check(&t->side);

	if (!wrong)
		wrong = check_masks(t);

	if (!wrong)
		wrong = check_waiting(t);
	for (uint64_t i = 0; i < kbf_units(t) && !wrong; i++)
		wrong = check_bag(s->cells[i]);
	return wrong;
}

static void kbf_shape(struct ink_table *t)
{
	const struct ink_geometry *g = &t->plan.geometry;
	struct ink_kbf_shape *s = &t->shape.kbf;

	*s = (struct ink_kbf_shape){.k = g->k,
				    .share = g->m / g->k,
				    .classes = g->q,
				    .state_mask = (1ull << (t->states - 1)) * 2 - 1,
				    .bags = ink_multiset_shape(t->states * g->q),
				    .cells = t->body};
	s->masks = (unsigned char *)t->body + ink_kbf_masks_at(g);
	ink_multiset_fill_masks(&s->bags, s->masks);
	t->aging.flagged = 1;
}

/* ------------------------------------------------------------------ the kind */

static const struct ink_ops kbf = {
	.simd = "portable",
	.shape = kbf_shape,
	VERB_CALLS,
	.units = kbf_units,
	.unit_cells = kbf_unit_cells,
	.sweep = kbf_sweep,
	.sweep_side = kbf_sweep_side,
	.occupied = kbf_occupied,
	.check = kbf_check,
};

const struct ink_ops *const ink_kbf = &kbf;
