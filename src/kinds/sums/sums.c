/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The kind `kbf`: the key-value Bloom filter as a table of states (kBF paper,
 * section VI), with cells that add up and do not degrade (multiset.h).
 *
 *     body    [ k shares of equal size, of 16-bit multisets ][ 0 to a word ][ masks ][ side table ]
 *
 * A flow has one cell in each share, so k different ones, and adds the element of
 * its symbol to each. With few states most of the 12 bits of a sum would be unused.
 * Therefore the states are multiplied: a hash of the id selects a class, and the
 * symbol of a flow is its state within that class. The class then acts as a
 * fingerprint: flows of other classes are not mistaken for this one.
 *
 *     symbol = class * states + state
 *
 * The states that all k cells admit for the flow's class are its candidates. None
 * means absent, one is the answer, several mean "don't know". The true state is among
 * them as long as no flow is deleted that was not inserted.
 *
 *   insert   Always succeeds, without reading the cells. Flows beyond the plan cause
 *            more "don't know"; the table recovers as flows are deleted.
 *   modify   Must know which state to remove. Where the cells are ambiguous, the
 *   delete   change is deferred: the side table keeps the full id and the intended
 *            state, and answers for the flow from then on. Every change of the table
 *            retries one deferred change; a tick retries all.
 *
 * There are no ages: clearing a cell would also remove the other flows in it.
 */
#include <errno.h>
#include <stddef.h>

#include "base/mix.h"
#include "kinds/sums/sums.h"

struct place {
	uint32_t cell[INK_SUMS_MAX_K];
	uint32_t first_symbol; /* of its class */
	uint32_t home;         /* in the side table */
};

#define KIND_DEFINED 1
#include "engine/contract.h"

enum { DRAW_OF_CLASS = INK_SUMS_MAX_K }; /* the draws before it select the cells */

/* ------------------------------------------------------------------ the place */

static inline const struct ink_sums_shape *kbf_of(const struct ink_table *t)
{
	return ink_sums_shape_of(t);
}

static inline struct place place_of(const struct ink_table *t, uint64_t id)
{
	const struct ink_sums_shape *s = kbf_of(t);
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
	const struct ink_sums_shape *s = kbf_of(t);

	(void)state;
	for (uint32_t j = 0; j < s->k; j++)
		__builtin_prefetch(&s->cells[p->cell[j]], 1);
}

/* ------------------------------------------------------------------ the cells */

/* The states that the flow can have, one bit each. */
static inline uint64_t candidates(const struct ink_table *t, const struct place *p)
{
	const struct ink_sums_shape *s = kbf_of(t);
	uint64_t mask = s->state_mask << p->first_symbol;

	for (uint32_t i = 0; i < s->k && mask; i++)
		mask &= ink_multiset_admits(&s->multisets, s->masks, s->cells[p->cell[i]]);
	return mask >> p->first_symbol;
}

static inline int is_single(uint64_t mask)
{
	return mask && !(mask & (mask - 1));
}

static inline void add_flow(struct ink_table *t, const struct place *p, unsigned state)
{
	const struct ink_sums_shape *s = kbf_of(t);

	for (uint32_t i = 0; i < s->k; i++) {
		ink_multiset *cell = &s->cells[p->cell[i]];

		*cell = ink_multiset_add(&s->multisets, *cell, p->first_symbol + state);
	}
}

static inline void remove_flow(struct ink_table *t, const struct place *p, unsigned state)
{
	const struct ink_sums_shape *s = kbf_of(t);

	for (uint32_t i = 0; i < s->k; i++) {
		ink_multiset *cell = &s->cells[p->cell[i]];

		*cell = ink_multiset_remove(&s->multisets, *cell, p->first_symbol + state);
	}
}

/* Removes before it adds: the other order could saturate a count. */
static inline void exchange(struct ink_table *t, const struct place *p, unsigned from, unsigned to)
{
	if (from == to)
		return;
	remove_flow(t, p, from);
	add_flow(t, p, to);
}

/* ------------------------------------------------------------ deferred changes */

/* The code of a deferred delete in the side table; a deferred modify has the new state. */
static inline unsigned deletion(const struct ink_table *t)
{
	return t->coding.unsure;
}

static inline uint32_t deferred(const struct ink_table *t, const struct place *p, uint64_t id)
{
	if (__builtin_expect(ink_side_count(&t->side) == 0, 1))
		return 0;
	return ink_side_find(&t->side, p->home, id);
}

static int defer(struct ink_table *t, const struct place *p, uint64_t id, unsigned state)
{
	if (!ink_side_add(&t->side, p->home, id, state))
		return -EBUSY;
	ink_bump(&t->counters.overflowed);
	return 0;
}

/* Makes the deferred change if the cells are unambiguous by now. */
static void retry(struct ink_table *t, uint32_t e)
{
	struct place p = place_of(t, ink_side_id(&t->side, e));
	uint64_t mask = candidates(t, &p);
	unsigned state = ink_side_code(&t->side, e);

	if (mask && !is_single(mask))
		return;
	if (mask)
		remove_flow(t, &p, (unsigned)__builtin_ctzll(mask));
	if (state != deletion(t))
		add_flow(t, &p, state);
	ink_side_remove(&t->side, p.home, e);
}

/* After each change: the next entry of the side table, round robin. */
static void retry_next(struct ink_table *t)
{
	struct ink_side *s = &t->side;

	if (__builtin_expect(ink_side_count(s) == 0, 1))
		return;
	s->clock_hand = s->clock_hand + 1 < s->head->fresh ? s->clock_hand + 1 : 0;
	if (ink_side_used(s, s->clock_hand + 1))
		retry(t, s->clock_hand + 1);
}

static void retry_all(struct ink_table *t)
{
	for (uint32_t e = 1; e <= ink_side_last(&t->side); e++)
		if (ink_side_used(&t->side, e))
			retry(t, e);
}

/* ------------------------------------------------------------------ the verbs */

static inline ink_answer deferred_answer(const struct ink_table *t, uint32_t e)
{
	unsigned state = ink_side_code(&t->side, e);

	return state == deletion(t) ? INK_ABSENT : (ink_answer)state;
}

static inline ink_answer peek_at(const struct ink_table *t, const struct place *p, uint64_t id)
{
	uint32_t e = deferred(t, p, id);
	uint64_t mask;

	if (e)
		return deferred_answer(t, e);
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

/* After a deferred delete the flow may come back. The cells still hold its old state, so this is deferred too. */
static inline int insert_deferred(struct ink_table *t, uint32_t e, unsigned state)
{
	if (ink_side_code(&t->side, e) != deletion(t))
		return -EEXIST;
	ink_side_recode(&t->side, e, state);
	return 0;
}

INK_HOT int insert_at(struct ink_table *t, const struct place *p, uint64_t id, unsigned state)
{
	uint32_t e = deferred(t, p, id);

	if (state >= t->states)
		return -EINVAL;
	if (e)
		return insert_deferred(t, e, state);
	add_flow(t, p, state);
	retry_next(t);
	return 0;
}

/* The state to remove, -ENOENT, or -EAGAIN if the cells are ambiguous. */
static inline int known_state(uint64_t mask, int from)
{
	if (!mask || (from != INK_ANY_STATE && !(mask >> from & 1)))
		return -ENOENT;
	if (from != INK_ANY_STATE)
		return from;
	return is_single(mask) ? __builtin_ctzll(mask) : -EAGAIN;
}

static int change_deferred(struct ink_table *t, uint32_t e, int from, unsigned to)
{
	ink_answer now = deferred_answer(t, e);

	if (now == INK_ABSENT || (from != INK_ANY_STATE && now != from))
		return -ENOENT;
	ink_side_recode(&t->side, e, to);
	return 0;
}

INK_HOT int modify_at(struct ink_table *t, const struct place *p, const struct hint *h, uint64_t id,
		      struct ink_change c)
{
	uint32_t e = deferred(t, p, id);
	int known;

	(void)h;
	if (c.to >= t->states)
		return -EINVAL;
	if (e)
		return change_deferred(t, e, c.from, c.to);
	known = known_state(candidates(t, p), c.from);
	if (known == -EAGAIN)
		return defer(t, p, id, c.to);
	if (known < 0)
		return known;
	exchange(t, p, (unsigned)known, c.to);
	retry_next(t);
	return 0;
}

INK_HOT int delete_at(struct ink_table *t, const struct place *p, const struct hint *h, uint64_t id, int only)
{
	uint32_t e = deferred(t, p, id);
	int known;

	(void)h;
	if (e)
		return change_deferred(t, e, only, deletion(t));
	known = known_state(candidates(t, p), only);
	if (known == -EAGAIN)
		return defer(t, p, id, deletion(t));
	if (known < 0)
		return known;
	remove_flow(t, p, (unsigned)known);
	retry_next(t);
	return 0;
}

/* The lookup matched another flow: inserts this one. A flow with a deferred change is known by its id, and restarts. */
INK_HOT int begin_at(struct ink_table *t, const struct place *p, uint64_t id, ink_answer to)
{
	uint32_t e = deferred(t, p, id);

	if (e)
		return ink_side_recode(&t->side, e, to == INK_ABSENT ? deletion(t) : (unsigned)to), 0;
	return to == INK_ABSENT ? 0 : insert_at(t, p, id, (unsigned)to);
}

#include "engine/composed_verbs.h"

/* ------------------------------------------------------------- the whole table */

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
 * Flows have no ages, so none expires, but every tick retries the deferred changes.
 * The flag makes tick.c sweep even if no state has a timer.
 */
static void kbf_sweep(struct ink_table *t, uint64_t from, uint64_t to)
{
	(void)from;
	t->aging.flagged = 1;
	if (to == kbf_units(t))
		retry_all(t);
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

/* A count and sum that no multiset has are possible: callers may delete flows that were never inserted. */
static const char *check_cell(ink_multiset cell)
{
	if (ink_multiset_sum(cell) >= INK_MULTISET_GROUP)
		return "a cell has a sum outside the group";
	return cell && !ink_multiset_count(cell) ? "a cell without flows is not empty" : NULL;
}

static const char *check_deferred(const struct ink_table *t)
{
	const struct ink_side *s = &t->side;

	for (uint32_t e = 1; e <= ink_side_last(s); e++) {
		uint64_t id = ink_side_id(s, e);
		unsigned code = ink_side_code(s, e);

		if (ink_side_used(s, e) && ink_side_find(s, (uint32_t)id, id) != e)
			return "a flow of the side table cannot be found";
		if (ink_side_used(s, e) && code >= t->states && code != deletion(t))
			return "an entry of the side table has a state that the table does not have";
	}
	return NULL;
}

/* The masks and the zeros before them follow from the number of states. */
static const char *check_masks(const struct ink_table *t)
{
	const struct ink_sums_shape *s = kbf_of(t);
	const unsigned char *gap = (const unsigned char *)(s->cells + kbf_units(t));

	for (; gap < s->masks; gap++)
		if (*gap)
			return "the bytes between cells and masks are not 0";
	return ink_multiset_masks_valid(&s->multisets, s->masks) ? NULL
								  : "the masks are not those of its states";
}

static const char *kbf_check(const struct ink_table *t)
{
	const struct ink_sums_shape *s = kbf_of(t);
	const char *wrong = ink_side_check(&t->side);

	if (!wrong)
		wrong = check_masks(t);
	if (!wrong)
		wrong = check_deferred(t);
	for (uint64_t i = 0; i < kbf_units(t) && !wrong; i++)
		wrong = check_cell(s->cells[i]);
	return wrong;
}

static void kbf_shape(struct ink_table *t)
{
	const struct ink_geometry *g = &t->plan.geometry;
	struct ink_sums_shape *s = ink_sums_shape_of(t);

	*s = (struct ink_sums_shape){.k = g->k,
				    .share = g->m / g->k,
				    .classes = g->q,
				    .state_mask = (1ull << (t->states - 1)) * 2 - 1,
				    .multisets = ink_multiset_shape(t->states * g->q),
				    .cells = t->body};
	s->masks = (unsigned char *)t->body + ink_sums_masks_at(g);
	t->aging.flagged = 1;
}

static void kbf_fill(struct ink_table *t)
{
	ink_multiset_fill_masks(&kbf_of(t)->multisets, kbf_of(t)->masks);
}

/* ------------------------------------------------------------------ the kind */

static const struct ink_ops kbf = {
	.simd = "portable",
	.shape = kbf_shape,
	.fill = kbf_fill,
	VERB_CALLS,
	.units = kbf_units,
	.unit_cells = kbf_unit_cells,
	.sweep = kbf_sweep,
	.sweep_side = kbf_sweep_side,
	.occupied = kbf_occupied,
	.check = kbf_check,
};

static uint64_t sums_cells_bytes(const struct ink_plan *plan, enum ink_full full)
{
	(void)full;
	return ink_sums_masks_at(&plan->geometry) + ink_sums_masks_bytes(&plan->geometry);
}

/* The masks follow from the states, and so do their sizes. */
static int sums_fits(const struct ink_plan *plan, unsigned states)
{
	const struct ink_geometry *g = &plan->geometry;
	struct ink_multiset_shape multisets;

	if (states * g->q > INK_MULTISET_STATES || plan->age_bits || g->m % g->k)
		return 0;
	multisets = ink_multiset_shape(states * g->q);
	return g->h == multisets.mask_bytes && g->f == multisets.max_count;
}

const struct ink_kind_def ink_kind_sums = {
	.info = {.size = sizeof(struct ink_kind_info),
		 .kind = INK_KBF,
		 .name = "kbf",
		 .purpose = "if no flow may ever be refused and overload must heal; no time-outs",
		 .can = INK_CAN_PLAN_UNSURE,
		 .geometry = INK_GEOMETRY_Q | INK_GEOMETRY_SIDE | INK_GEOMETRY_K | INK_GEOMETRY_M},
	.plan = ink_sums_plan,
	.cells_bytes = sums_cells_bytes,
	.ranges = {.writers = {1, 1},
		   .full = {INK_UNSURE, INK_REFUSE},
		   .h = {1, 8},
		   .f = {1, 12},
		   .q = {1, 64},
		   .side = {0, INK_SIDE_MOST},
		   .k = {1, INK_SUMS_MAX_K},
		   .m = {1, UINT32_MAX}},
	.fits = sums_fits,
	.ops = &kbf,
};
