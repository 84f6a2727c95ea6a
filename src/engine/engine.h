/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The verbs at a place (lookup, peek, insert, set, modify, delete, step), written once
 * for all kinds of cells.
 *
 * A kind's file defines its cells (contract.h), and then includes this file,
 * which makes of them a struct ink_ops named `verbs`.
 *
 * Everything here is written for many writers: look, decide, swap, and look
 * again if the swap failed. With one writer the swap is a store that cannot
 * fail, and the compiler drops the loops.
 */
#if defined KIND_DEFINED && !defined INKLING_ENGINE_ENGINE_H
#define INKLING_ENGINE_ENGINE_H

#include <errno.h>
#include <stddef.h>

#include "engine/side_entries.h"
#include "table/epoch.h"

/* Rare paths stay out of line, so that they take no registers from the common one. */
#define SELDOM __attribute__((noinline)) static

/* ------------------------------------------------------------ lookup, peek */

INK_HOT int cell_find(struct ink_table *t, const struct place *p, struct spot *spot)
{
	struct hint h = cell_look(t, p);

	return cell_found(t, p, &h, spot);
}

/* In most tables no place was ever flagged, so the flags need not be read. */
INK_HOT ink_answer missing(const struct ink_table *t, const struct place *p)
{
	if (__builtin_expect(__atomic_load_n(&t->aging.ever_flagged, __ATOMIC_RELAXED) == 0, 1))
		return INK_ABSENT;
	return overflowed(t, p) ? INK_DONT_KNOW : INK_ABSENT;
}

static ink_answer side_answer(struct ink_table *t, uint32_t e)
{
	unsigned code = ink_side_code(&t->side, e);

	side_recode(t, e, side_moved(t, code, ink_code_state(coding_of(t), code)));
	return ink_code_answer(coding_of(t), code);
}

/* The code of an entry that is in the state now, with the age it has; see ink_keeps_age. */
SELDOM unsigned aged_code(const struct ink_table *t, const struct spot *s, unsigned state)
{
	const struct ink_coding *c = coding_of(t);
	unsigned before = cell_code(t, s, ink_code_state(c, s->code)), fresh = cell_code(t, s, state);
	unsigned age;

	if (before == INK_GONE || fresh == INK_GONE)
		return INK_GONE; /* the epoch changed: the caller retries */
	age = ink_code_decode(c, before, s->code) & c->age_top;
	return ink_code_encode(c, fresh, state << c->age_bits | age);
}

/* The code of an entry that is touched and moves to that state. */
INK_HOT unsigned moved_code(const struct ink_table *t, const struct spot *s, unsigned state)
{
	if (ink_keeps_age(t, ink_code_state(coding_of(t), s->code), state))
		return aged_code(t, s, state);
	return cell_code(t, s, state);
}

INK_HOT ink_answer lookup_cells(struct ink_table *t, const struct place *p, const struct hint *h)
{
	struct spot s;
	int matches;

	s.code = 0; /* for compilers that do not see that a match sets it */
	for (matches = cell_found(t, p, h, &s);; matches = cell_find(t, p, &s)) {
		unsigned state, touched;

		if (matches == 0)
			return missing(t, p);
		if (matches > 1)
			return cell_touch_all(t, p), INK_DONT_KNOW;
		state = ink_code_state(coding_of(t), s.code);
		if (state == coding_of(t)->unsure)
			return INK_DONT_KNOW;
		touched = moved_code(t, &s, state);
		if (s.code == touched || cell_recode(t, &s, touched))
			return (ink_answer)state;
	}
}

SELDOM ink_answer lookup_flagged(struct ink_table *t, const struct place *p, uint64_t id)
{
	uint32_t e = side_open(t, place_home(p), id);
	struct hint h = cell_look(t, p);

	return e ? side_answer(t, e) : lookup_cells(t, p, &h);
}

INK_HOT ink_answer lookup_at(struct ink_table *t, const struct place *p, const struct hint *h, uint64_t id)
{
	return needs_side_probe(t, p, id) ? lookup_flagged(t, p, id) : lookup_cells(t, p, h);
}

INK_HOT ink_answer peek_cells(const struct ink_table *t, const struct place *p)
{
	struct spot s;
	int matches = cell_peek(t, p, &s);

	if (matches == 0)
		return missing(t, p);
	return matches > 1 ? INK_DONT_KNOW : ink_code_answer(coding_of(t), s.code);
}

INK_HOT ink_answer peek_at(const struct ink_table *t, const struct place *p, uint64_t id)
{
	for (;;) {
		uint64_t before = place_seq_read(t, p);
		int code = needs_side_probe(t, p, id) ? ink_side_peek(&t->side, place_home(p), id) : -1;
		ink_answer a = code < 0 ? peek_cells(t, p) : ink_code_answer(coding_of(t), (unsigned)code);

		if (place_seq_unchanged(t, p, before))
			return a;
	}
}

/* ------------------------------------------------------------------ insert */

static int refuse(struct ink_table *t)
{
	ink_bump(&t->counters.refused);
	return -ENOSPC;
}

/* Both lines and the side table are full, and no entry could be displaced. */
static int no_room(struct ink_table *t, const struct place *p, uint64_t id, unsigned state)
{
	if (t->full == INK_REPLACE) {
		struct place again = place_of(t, id); /* without what a look ahead noted in the place */

		if ((cell_drop_expendable(t, p) && cell_put(t, &again, state) == 0) ||
		    (side_drop_expendable(t) && side_put(t, p, id, state) == 0)) {
			ink_bump(&t->counters.replaced);
			return 0;
		}
	}
	if (t->full != INK_REFUSE) {
		__atomic_store_n(&t->aging.ever_flagged, 1, __ATOMIC_RELAXED);
		flag_overflow(t, p);
	}
	return refuse(t);
}

INK_HOT int put_new(struct ink_table *t, const struct place *p, uint64_t id, unsigned state)
{
	int error;

	if (__builtin_expect(cell_put(t, p, state) == 0, 1))
		return 0;
	error = side_put(t, p, id, state);
	if (error)
		return error == -EEXIST ? error : no_room(t, p, id, state);
	ink_bump(&t->counters.overflowed);
	return 0;
}

/* Another flow's entry matches. The new flow goes to the side table; if that is full, the policy decides. */
static int put_collision(struct ink_table *t, const struct place *p, uint64_t id, unsigned state)
{
	int error = side_put(t, p, id, state);

	if (error == -EEXIST)
		return error;
	ink_bump(&t->counters.collisions);
	if (!error)
		return 0;
	if (t->full != INK_REPLACE) {
		cell_mark_all(t, p);
		return refuse(t);
	}
	if (!side_drop_expendable(t) || side_put(t, p, id, state) != 0)
		return refuse(t);
	ink_bump(&t->counters.replaced);
	return 0;
}

SELDOM int insert_checked(struct ink_table *t, const struct place *p, uint64_t id, unsigned state)
{
	struct spot s;

	return cell_find(t, p, &s) ? put_collision(t, p, id, state) : put_new(t, p, id, state);
}

INK_HOT int insert_cells(struct ink_table *t, const struct place *p, uint64_t id, unsigned state)
{
	if (!cells_copy(t) && __builtin_expect(cell_may_match(t, p), 0))
		return insert_checked(t, p, id, state);
	return put_new(t, p, id, state);
}

SELDOM int insert_flagged(struct ink_table *t, const struct place *p, uint64_t id, unsigned state)
{
	uint32_t e = side_open(t, place_home(p), id);

	if (e)
		return ink_side_leave(&t->side), -EEXIST;
	return insert_cells(t, p, id, state);
}

INK_HOT int insert_at(struct ink_table *t, const struct place *p, uint64_t id, unsigned state)
{
	uint32_t *lock;
	int result;

	if (state >= t->states)
		return -EINVAL;
	lock = insert_enter(t, p);
	result = needs_side_probe(t, p, id) ? insert_flagged(t, p, id, state) : insert_cells(t, p, id, state);
	insert_leave(lock);
	return result;
}

/* ------------------------------------------------------ set, modify, delete */

/* The flow was not found; with many writers another thread may have stored it since: -EAGAIN. */
static inline int put_if_absent(struct ink_table *t, const struct place *p, uint64_t id, unsigned state)
{
	uint32_t e = 0, *lock = insert_enter(t, p);
	struct spot s;
	int result;

	if (IS_SHARED)
		e = side_entry(t, p, id);
	if (e)
		ink_side_leave(&t->side);
	if (IS_SHARED && (e || cell_find(t, p, &s)))
		result = -EAGAIN;
	else
		result = put_new(t, p, id, state);
	insert_leave(lock);
	return IS_SHARED && result == -EEXIST ? -EAGAIN : result;
}

/* Is that the state in question? */
INK_HOT int state_matches(const struct ink_table *t, unsigned code, int only)
{
	return only == INK_ANY_STATE || (int)ink_code_state(coding_of(t), code) == only;
}

INK_HOT int change_cell(struct ink_table *t, struct spot *s, struct ink_change c)
{
	unsigned code;

	if (ink_code_unsure(coding_of(t), s->code))
		return -EBUSY;
	if (!state_matches(t, s->code, c.from))
		return -ENOENT;
	code = moved_code(t, s, c.to);
	if (s->code == code && !cells_reinsert(t))
		return 0;
	return cell_recode(t, s, code) ? 0 : -EAGAIN;
}

/* -ENOENT: absent; -EMLINK: two matches; -EAGAIN: another thread has changed the entry, retry. */
INK_HOT int modify_cells(struct ink_table *t, const struct place *p, const struct hint *h,
			 struct ink_change c)
{
	struct spot s;
	int matches = cell_found(t, p, h, &s);

	if (matches == 0)
		return -ENOENT;
	return matches > 1 ? -EMLINK : change_cell(t, &s, c);
}

static int modify_side(struct ink_table *t, uint32_t e, struct ink_change c)
{
	if (!state_matches(t, ink_side_code(&t->side, e), c.from))
		return ink_side_leave(&t->side), -ENOENT;
	side_recode(t, e, side_moved(t, ink_side_code(&t->side, e), c.to));
	return 0;
}

INK_HOT int modify_once(struct ink_table *t, const struct place *p, const struct hint *h, uint64_t id,
			struct ink_change c)
{
	uint32_t e = side_entry(t, p, id);

	return e ? modify_side(t, e, c) : modify_cells(t, p, h, c);
}

/* Two entries match, and either may be the flow's. */
static int ambiguous(struct ink_table *t, const struct place *p, int mark)
{
	if (mark)
		cell_mark_all(t, p);
	return -EBUSY;
}

/*
 * For flows that need a side probe, and for those that one look did not settle: two
 * entries match; or, with many writers, the entry has changed since, or the flow was
 * absent when a batch looked ahead. (The cells may be searched before the side table:
 * nothing moves from one to the other, so a flow that is missed in both was absent at
 * some moment.) The change is passed as two numbers, because a struct would be built
 * for every flow, not only for those that need this function.
 */
SELDOM int modify_slowly(struct ink_table *t, uint64_t id, int from, unsigned to)
{
	struct place p = place_of(t, id);
	int result;

	do {
		struct hint h = cell_look(t, &p);

		result = modify_once(t, &p, &h, id, (struct ink_change){from, to});
	} while (IS_SHARED && result == -EAGAIN);
	return result == -EMLINK ? ambiguous(t, &p, !cells_keep(t)) : result;
}

INK_HOT int modify_at(struct ink_table *t, const struct place *p, const struct hint *h, uint64_t id,
		      struct ink_change c)
{
	int result;

	if (c.to >= t->states)
		return -EINVAL;
	if (needs_side_probe(t, p, id))
		return modify_slowly(t, id, c.from, c.to);
	result = modify_cells(t, p, h, c);
	if (result == -EMLINK || (IS_SHARED && (result == -EAGAIN || result == -ENOENT)))
		return modify_slowly(t, id, c.from, c.to);
	return result;
}

INK_HOT int set_at(struct ink_table *t, const struct place *p, uint64_t id, unsigned state)
{
	int result;

	if (state >= t->states)
		return -EINVAL;
	do {
		struct hint h = cell_look(t, p);

		result = modify_once(t, p, &h, id, (struct ink_change){INK_ANY_STATE, state});
		if (result == -ENOENT)
			result = put_if_absent(t, p, id, state);
	} while (IS_SHARED && result == -EAGAIN);
	return result == -EMLINK ? ambiguous(t, p, 1) : result;
}

static int delete_side(struct ink_table *t, uint32_t e)
{
	side_drop(t, e);
	ink_side_leave(&t->side);
	return 0;
}

/* -EAGAIN: the entry has changed since it was found, retry. */
INK_HOT int delete_once(struct ink_table *t, const struct place *p, const struct hint *h, int only)
{
	struct spot s;
	int matches = cell_found(t, p, h, &s);

	if (matches == 0)
		return -ENOENT;
	if (matches > 1)
		return -EBUSY;
	if (cell_unsure(t, &s))
		return -EBUSY;
	if (!state_matches(t, s.code, only))
		return -ENOENT;
	return cell_clear(t, &s) ? 0 : -EAGAIN;
}

SELDOM int delete_again(struct ink_table *t, const struct place *p, int only)
{
	struct hint h;
	int result;

	do {
		h = cell_look(t, p);
		result = delete_once(t, p, &h, only);
	} while (result == -EAGAIN);
	return result;
}

SELDOM int delete_flagged(struct ink_table *t, const struct place *p, uint64_t id, int only)
{
	uint32_t e = side_open(t, place_home(p), id);

	if (!e)
		return delete_again(t, p, only);
	if (!state_matches(t, ink_side_code(&t->side, e), only))
		return ink_side_leave(&t->side), -ENOENT;
	return delete_side(t, e);
}

INK_HOT int delete_at(struct ink_table *t, const struct place *p, const struct hint *h, uint64_t id, int only)
{
	int result;

	if (needs_side_probe(t, p, id))
		return delete_flagged(t, p, id, only);
	result = delete_once(t, p, h, only);
	if (IS_SHARED && result == -ENOENT)
		result = -EAGAIN; /* a look ahead may have missed a flow that was inserted since */
	return __builtin_expect(result == -EAGAIN, 0) ? delete_again(t, p, only) : result;
}

/* -------------------------------------------------------------------- step */

/* The side table knows the id, so a start event without a row restarts this very flow. */
static int step_side(struct ink_table *t, uint32_t e, unsigned event, struct ink_move *m)
{
	ink_answer from = ink_code_answer(coding_of(t), ink_side_code(&t->side, e));
	struct ink_row row = ink_program_row(t->program, (uint32_t)from, event);

	if (ink_program_begins(t->program, row, event)) {
		row = ink_program_absent(t->program, event);
		from = INK_ABSENT;
	}
	*m = ink_move_along(from, row);
	if (m->to == INK_ABSENT)
		return delete_side(t, e);
	side_recode(t, e,
		    from == INK_ABSENT ? ink_code(coding_of(t), (unsigned)m->to)
				       : side_moved(t, ink_side_code(&t->side, e), (unsigned)m->to));
	return 0;
}

/* Moves the entry along the row; -EAGAIN if another thread has changed it meanwhile. */
INK_HOT int step_cell(struct ink_table *t, struct spot *s, struct ink_row row, struct ink_move *m)
{
	unsigned after;

	*m = ink_move_along(ink_code_answer(coding_of(t), s->code), row);
	if (m->to == INK_ABSENT)
		return cell_clear(t, s) ? 0 : -EAGAIN;
	after = moved_code(t, s, (unsigned)m->to);
	return after == s->code || cell_recode(t, s, after) ? 0 : -EAGAIN;
}

/* A new flow takes the row of absent flows. `collides`: another flow's entry matches it. */
static int step_new(struct ink_table *t, const struct place *p, uint64_t id, unsigned event,
		    struct ink_move *m, int collides)
{
	struct ink_row row = ink_program_absent(t->program, event);
	int result;

	*m = ink_move_along(INK_ABSENT, row);
	if (m->to == INK_ABSENT)
		return 0;
	if (collides)
		result = insert_at(t, p, id, (unsigned)row.next);
	else
		result = put_if_absent(t, p, id, (unsigned)row.next);
	if (result == -ENOSPC)
		m->to = INK_ABSENT;
	return result == -EEXIST ? -EAGAIN : result;
}

/*
 * A batch looked at the place before earlier steps of its block, which may have stored,
 * moved or removed the entry since. A match that still holds is right, since a flow
 * matches one entry at most; after a miss the place is searched again.
 */
INK_HOT int find_hinted(struct ink_table *t, const struct place *p, const struct hint *h, struct spot *spot)
{
	if (h && cell_found(t, p, h, spot) && cell_holds(t, p, spot))
		return 1;
	return cell_find(t, p, spot);
}

/* `h` is NULL if no look was made ahead. */
INK_HOT int step_once(struct ink_table *t, const struct place *p, const struct hint *h, uint64_t id,
		      unsigned event, struct ink_move *m)
{
	uint32_t e = side_entry(t, p, id);
	struct ink_row row;
	struct spot s;
	int matches;

	if (e)
		return step_side(t, e, event, m);
	matches = find_hinted(t, p, h, &s);
	if (matches == 0 && missing(t, p) == INK_ABSENT)
		return step_new(t, p, id, event, m, 0);
	if (matches > 1)
		cell_touch_all(t, p);
	if (matches != 1 || ink_code_unsure(coding_of(t), s.code))
		return *m = ink_move_unsure(t->program, event), 0;
	row = ink_program_row(t->program, ink_code_state(coding_of(t), s.code), event);
	if (__builtin_expect(ink_program_begins(t->program, row, event), 0))
		return step_new(t, p, id, event, m, 1);
	return step_cell(t, &s, row, m);
}

INK_HOT int step_at(struct ink_table *t, const struct place *p, const struct hint *h, uint64_t id,
		    unsigned event, struct ink_move *m)
{
	int result;

	if (!ink_can_step(t, event, m))
		return -EINVAL;
	result = step_once(t, p, h, id, event, m);
	while (IS_SHARED && __builtin_expect(result == -EAGAIN, 0))
		result = step_once(t, p, NULL, id, event, m);
	return result;
}

#include "engine/batch.h"

/* ------------------------------------------------------------------- checking */

/*
 * The side table is checked whole: its links could lead outside, and it has few
 * entries. Without a side table, no flag may require a probe of it.
 */
static const char *verb_check_bounds(const struct ink_table *t)
{
	const char *wrong = check_side(t);

	if (!wrong && !t->side.capacity)
		wrong = check_flags(t);
	return wrong ? wrong : cells_check_bounds(t);
}

static const char *verb_check(const struct ink_table *t)
{
	const char *wrong = check_side(t);

	if (!wrong)
		wrong = check_flags(t);
	return wrong ? wrong : cells_check(t);
}

/* ------------------------------------------------------------------ the kind */

static const struct ink_ops verbs = {
	.simd = VARIANT_SIMD,
	.shape = cells_shape,
	VERB_CALLS,
	.units = cells_units,
	.unit_cells = cells_in_unit,
	.sweep = cells_sweep,
	.sweep_side = verb_sweep_side,
	.count = cells_count,
	.check = verb_check,
	.check_bounds = verb_check_bounds,
};

#endif
