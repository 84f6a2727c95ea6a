/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The kind `exact`: whole ids and true times. It is never mistaken and never
 * in doubt, and so it is what the others are measured by.
 *
 * A hash table with open addressing and linear probing. The high bits of a flow's
 * id select its home. The flow is stored there or, if that slot is taken, in the
 * first free slot after it; the table is a ring:
 *
 *     slot     0   1   2   3   4   5   6   7
 *            [ c |   |   | a | b |   | d | e ]     homes: a 3, b 3, d 6, e 6, c 7
 *
 * No slot between a flow's home and the flow is ever empty, so a search ends at the
 * first empty slot. Backward-shift deletion keeps it so: a removal moves later flows
 * of the run back into the hole. There are no tombstones, and a table does not degrade
 * with use.
 *
 *     slot   [ id 64 ][ stamp 64 = last touch, in ticks, 56 | state + 1, 8 ]
 *
 * A stamp of 0 is an empty slot, so zeroed memory is an empty table. The time since
 * the last touch is computed modulo 2^56: a flow that was idle for longer may expire
 * late, never early.
 *
 * A flow expires at the first tick >= its last touch + the period of its state. While
 * a tick is under way, touches count as made at its target, because the caller has
 * said that it is that late. So a tick may visit a flow twice. A tick in portions must
 * not miss a flow, and flows move in two ways between its portions:
 *
 *   - Back into a hole, past the cursor: the tick visits the flow at once.
 *   - Into a larger table, when it grows: the cursor starts again at 0.
 *
 * At least one slot stays empty, or searches would not end. The table doubles when 7/8
 * of the slots are taken. If there is no memory for that, it fills up until one slot
 * is left, and then refuses.
 */
#include <errno.h>
#include <stddef.h>

#include "base/file.h"
#include "base/shift.h"
#include "kinds/exact/exact.h"
#include "table/plan.h"

#define NOWHERE UINT64_MAX
#define LEAST_SLOTS 256
#define MOST_SLOTS (1u << 31) /* the largest power of two that geometry.b can hold */

/* In that state, and touched. */
static inline void slot_write(const struct ink_table *t, struct slot *s, unsigned state)
{
	s->stamp = t->aging.target << TICK_AT | (state + 1);
}

/* Touched, and moved to that state. */
static inline void slot_change(const struct ink_table *t, struct slot *s, unsigned state)
{
	unsigned before = state_in(s);

	if (ink_keeps_age(t, before, state))
		s->stamp += (uint64_t)state - before;
	else
		slot_write(t, s, state);
}

/* ------------------------------------------------------------------ storing */

/* Moves all flows to twice the slots; 0 if there is no memory for them. */
static int grow(struct ink_table *t)
{
	uint64_t slots = slots_of(t), bytes = ink_body_round(2 * slots * sizeof(struct slot));
	struct ink_body before = {t->body, t->body_bytes, t->body_is_mapped};
	struct slot *old = t->body, *body = 2 * slots <= MOST_SLOTS ? ink_alloc(&t->allocator, bytes) : NULL;

	if (!body)
		return 0;
	__atomic_store_n(&t->body, body, __ATOMIC_RELAXED); /* place_fetch may read it in another thread */
	t->body_bytes = bytes;
	t->body_is_mapped = 0;
	t->plan.bytes = ink_table_bytes(&t->plan, t->writers) + bytes;
	t->plan.geometry.b = (uint32_t)(2 * slots);
	__atomic_store_n(&ink_exact_shape_of(t)->mask, 2 * slots - 1, __ATOMIC_RELAXED);
	t->aging.cursor = 0;
	for (uint64_t i = 0; i < slots; i++)
		if (old[i].stamp)
			*probe(t, old[i].id) = old[i];
	ink_file_release(&t->allocator, &before);
	return 1;
}

/* The flow is not there. */
static int put(struct ink_table *t, uint64_t id, unsigned state)
{
	struct ink_exact_shape *x = ink_exact_shape_of(t);
	int crowded = (x->count + 1) * 8 > slots_of(t) * 7;
	struct slot *s;

	if (crowded && !grow(t) && x->count == x->mask) {
		ink_bump(&t->counters.refused);
		return -ENOSPC;
	}
	s = probe(t, id);
	s->id = id;
	slot_write(t, s, state);
	x->count++;
	return 0;
}

/* ----------------------------------------------------------- expiring, removing */

static struct ink_timing timing_of(const struct ink_table *t, unsigned state)
{
	struct ink_timing each_tick = {.period = 1, .timeout = INK_ABSENT};

	return t->program ? t->program->timings[state] : each_tick;
}

static int is_over(const struct ink_table *t, const struct slot *s, uint32_t period)
{
	uint64_t rested = (t->aging.target - (s->stamp >> TICK_AT)) & TICKS;

	return t->coding.age_bits && period && rested >= period;
}

/* The tick under way meets a flow; 1 if it is to go. */
static int meet(struct ink_table *t, struct slot *s)
{
	struct ink_timing timing = timing_of(t, state_in(s));

	if (!is_over(t, s, timing.period))
		return 0;
	ink_note_expiry(t, ink_code(&t->coding, state_in(s)));
	if (timing.timeout == INK_ABSENT)
		return 1;
	slot_write(t, s, (unsigned)timing.timeout);
	return 0;
}

/* A slot is emptied. */
struct removal {
	struct ink_table *t;
	uint64_t missed; /* where the flow went that a tick in portions would now miss, or NOWHERE */
};

static uint64_t slot_home(const void *removal, uint64_t i)
{
	const struct ink_table *t = ((const struct removal *)removal)->t;

	return slot_at(t, i)->stamp ? home_of(t, slot_at(t, i)->id) : INK_SHIFT_EMPTY;
}

/* Between ticks the cursor stands at an end of the table, and no flow passes it. */
static void slot_move(void *removal, uint64_t from, uint64_t to)
{
	struct removal *r = removal;

	if (to < r->t->aging.cursor && r->t->aging.cursor <= from)
		r->missed = to;
	*slot_at(r->t, to) = *slot_at(r->t, from);
}

static uint64_t empty_slot(struct ink_table *t, uint64_t i)
{
	const struct ink_shift shift = {slots_of(t), slot_home, slot_move};
	struct removal r = {t, NOWHERE};

	*slot_at(t, ink_shift_back(&shift, &r, i)) = (struct slot){0};
	ink_exact_shape_of(t)->count--;
	return r.missed;
}

/* If the flow that passed the cursor has to go as well, another may pass it, and so on. */
static void clear(struct ink_table *t, uint64_t i)
{
	do
		i = empty_slot(t, i);
	while (i != NOWHERE && meet(t, slot_at(t, i)));
}

static void clear_slot(struct ink_table *t, const struct slot *s)
{
	clear(t, (uint64_t)(s - slot_at(t, 0)));
}

/* ------------------------------------------------------------------- the verbs */

/* The table may grow in the midst of a batch, so the slot is looked for when it is needed. */
struct place {
	uint64_t id;
};

#define KIND_DEFINED 1
#include "engine/contract.h"

static inline struct place place_of(const struct ink_table *t, uint64_t id)
{
	(void)t;
	return (struct place){id};
}

/* If the table grows meanwhile, this may prefetch an address that is no longer the table's: harmless. */
static inline void place_fetch(const struct ink_table *t, const struct place *p, int state)
{
	uint64_t slots = __atomic_load_n(&ink_exact_shape_of(t)->mask, __ATOMIC_RELAXED) + 1;
	uintptr_t body = (uintptr_t)__atomic_load_n(&t->body, __ATOMIC_RELAXED);

	(void)state;
	__builtin_prefetch((const void *)(body + ((p->id >> 32) * slots >> 32) * sizeof(struct slot)), 1);
}

INK_HOT ink_answer peek_at(const struct ink_table *t, const struct place *p, uint64_t id)
{
	const struct slot *s = find(t, id);

	(void)p;
	return s ? (ink_answer)state_in(s) : INK_ABSENT;
}

INK_HOT ink_answer lookup_at(struct ink_table *t, const struct place *p, const struct hint *h, uint64_t id)
{
	struct slot *s = find(t, id);

	(void)p;
	(void)h;
	if (!s)
		return INK_ABSENT;
	slot_change(t, s, state_in(s));
	return (ink_answer)state_in(s);
}

INK_HOT int insert_at(struct ink_table *t, const struct place *p, uint64_t id, unsigned state)
{
	(void)p;
	if (state >= t->states)
		return -EINVAL;
	return find(t, id) ? -EEXIST : put(t, id, state);
}

INK_HOT int is_asked(const struct slot *s, int only)
{
	return s && (only == INK_ANY_STATE || (int)state_in(s) == only);
}

INK_HOT int modify_at(struct ink_table *t, const struct place *p, const struct hint *h, uint64_t id,
		      struct ink_change c)
{
	struct slot *s = find(t, id);

	(void)p;
	(void)h;
	if (c.to >= t->states)
		return -EINVAL;
	if (!is_asked(s, c.from))
		return -ENOENT;
	slot_change(t, s, c.to);
	return 0;
}

INK_HOT int delete_at(struct ink_table *t, const struct place *p, const struct hint *h, uint64_t id, int only)
{
	struct slot *s = find(t, id);

	(void)h;
	(void)p;
	if (!is_asked(s, only))
		return -ENOENT;
	clear_slot(t, s);
	return 0;
}

/* The flow was found by its full id, so it restarts, in place. */
INK_HOT int begin_at(struct ink_table *t, const struct place *p, uint64_t id, ink_answer to)
{
	if (to == INK_ABSENT)
		return delete_at(t, p, NULL, id, INK_ANY_STATE);
	slot_write(t, find(t, id), (unsigned)to);
	return 0;
}

#include "engine/composed_verbs.h"

/* --------------------------------------------------------------------- the time */

static uint64_t exact_units(const struct ink_table *t)
{
	return slots_of(t);
}

static uint32_t exact_unit_cells(const struct ink_table *t)
{
	(void)t;
	return 1;
}

/*
 * Here flows expire at any tick, not only at those where tick.c looks at a
 * state. The flag makes it sweep at every one.
 */
static void sweep_always(struct ink_table *t)
{
	t->aging.flagged = 1;
}

/* Where a flow goes, another may come to stand. */
static void exact_sweep(struct ink_table *t, uint64_t from, uint64_t to)
{
	sweep_always(t);
	for (uint64_t i = from; i < to; i++)
		while (slot_at(t, i)->stamp && meet(t, slot_at(t, i)))
			clear(t, i);
}

static void exact_sweep_side(struct ink_table *t)
{
	(void)t;
}

/* --------------------------------------------------------------- looking at all */

static void exact_count(const struct ink_table *t, struct ink_counts *counts)
{
	for (uint64_t i = 0; i < slots_of(t); i++)
		if (slot_at(t, i)->stamp)
			ink_counts_add(t, counts, ink_code(&t->coding, state_in(slot_at(t, i))));
}

/* The flows are counted, since the body may be that of a snapshot. */
static void exact_shape(struct ink_table *t)
{
	ink_exact_shape_of(t)->mask = (uint64_t)t->plan.geometry.b - 1;
	ink_exact_shape_of(t)->count = flows_of(t);
	sweep_always(t);
}

/* ------------------------------------------------------------------ the kind */

static const struct ink_ops exact = {
	.simd = "portable",
	.shape = exact_shape,
	VERB_CALLS,
	.units = exact_units,
	.unit_cells = exact_unit_cells,
	.sweep = exact_sweep,
	.sweep_side = exact_sweep_side,
	.count = exact_count,
	.check = ink_exact_check,
};

/* ------------------------------------------------------------------- planning */

/* Never mistaken, so there is little to choose: a power of two of slots, at most 7/8 of them taken. */
static struct ink_plan plan_for(const struct ink_request *req, uint64_t slots, uint64_t flows)
{
	struct ink_plan p = {.size = sizeof p,
			     .kind = INK_EXACT,
			     .flows = flows,
			     .load = (double)flows / (double)slots,
			     .state_bits = req->coding.state_bits,
			     .age_bits = req->coding.age_bits,
			     .geometry = {.d = 1, .b = (uint32_t)slots, .h = 1, .f = 64}};

	ink_plan_measure(&p, req);
	return p;
}

/* As many slots as are requested, or as there is room for. */
static uint64_t slots_for(const struct ink_request *req)
{
	uint64_t slots = LEAST_SLOTS;

	if (req->o->flows)
		while (slots < MOST_SLOTS && slots / 8 * 7 < req->o->flows)
			slots *= 2;
	else
		while (slots < MOST_SLOTS && plan_for(req, slots * 2, slots).bytes <= req->o->bytes)
			slots *= 2;
	return slots;
}

/* It grows, so slots say nothing about what it is for. */
static int exact_accept(const struct ink_options *o, struct ink_why *why)
{
	return o->flows || o->bytes ? 0
				    : ink_fail(why, -EINVAL, "options: neither flows nor bytes are given");
}

static int exact_plan(const struct ink_request *req, struct ink_plan *plan, struct ink_why *why)
{
	uint64_t slots = slots_for(req), flows = req->o->flows ? req->o->flows : slots / 8 * 7;

	if (slots / 8 * 7 < flows)
		return ink_fail(why, -ERANGE, "exact: %llu flows are more than its 2^31 slots hold",
				(unsigned long long)flows);
	*plan = plan_for(req, slots, flows);
	return 0;
}

static uint64_t exact_cells_bytes(const struct ink_plan *plan, enum ink_full full)
{
	(void)full;
	return (uint64_t)plan->geometry.b * sizeof(struct slot);
}

static int exact_fits(const struct ink_plan *plan, unsigned states)
{
	(void)states;
	return (plan->geometry.b & (plan->geometry.b - 1)) == 0;
}

const struct ink_kind_def ink_kind_exact = {
	.info = {.size = sizeof(struct ink_kind_info),
		 .kind = INK_EXACT,
		 .name = "exact",
		 .purpose = "never mistaken and grows; to compare with, or where memory does not matter",
		 .can = INK_CAN_BE_EXACT | INK_CAN_CENSUS | INK_CAN_TIME_OUT | INK_CAN_TIME_OUT_TO |
			INK_CAN_DIFFER | INK_CAN_WINDOW | INK_CAN_BE_FULL | INK_CAN_REPLACE |
			INK_CAN_PLAN_UNSURE},
	.accept = exact_accept,
	.plan = exact_plan,
	.cells_bytes = exact_cells_bytes,
	.ranges = {.writers = {1, 1},
		   .full = {INK_UNSURE, INK_REPLACE},
		   .d = {1, 1},
		   .b = {LEAST_SLOTS, MOST_SLOTS},
		   .h = {1, 1},
		   .f = {64, 64}},
	.fits = exact_fits,
	.ops = &exact,
};
