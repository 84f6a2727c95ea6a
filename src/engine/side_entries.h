/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Entries in the side table, as the verbs of engine.h see them: the probe that
 * nearly every flow is spared, storing and removing, ticks, and the check of a
 * loaded table.
 *
 * A flow is in the side table only if a flag of its home says that flows of its class
 * may be there (table/side.h). The functions here keep those flags true.
 */
#if defined KIND_DEFINED && !defined INKLING_ENGINE_SIDE_ENTRIES_H
#define INKLING_ENGINE_SIDE_ENTRIES_H

#include <errno.h>
#include <stddef.h>

#include "engine/contract.h"

/* --------------------------------------------------------------- the probe */

INK_HOT int needs_side_probe(const struct ink_table *t, const struct place *p, uint64_t id)
{
	return side_flagged(t, p, ink_side_class(id));
}

/*
 * The flow's side entry, with the side table entered; 0, and not entered, if there is none. Usually there
 * is none, so the side table is probed before the lock is taken.
 */
static uint32_t side_open(struct ink_table *t, uint32_t home, uint64_t id)
{
	uint32_t e;

	if (IS_SHARED && ink_side_lacks(&t->side, home, id))
		return 0;
	ink_side_enter(&t->side);
	e = ink_side_find(&t->side, home, id);
	if (!e)
		ink_side_leave(&t->side);
	return e;
}

/* Nearly always the flow has no side entry, and a flag says so in a line that is read anyway. */
INK_HOT uint32_t side_entry(struct ink_table *t, const struct place *p, uint64_t id)
{
	return __builtin_expect(needs_side_probe(t, p, id), 0) ? side_open(t, place_home(p), id) : 0;
}

/* -------------------------------------------------------------- the entries */

static void side_recode(struct ink_table *t, uint32_t e, unsigned code)
{
	ink_side_recode(&t->side, e, code);
	ink_side_leave(&t->side);
}

/* The code of an entry that is touched and moves to that state, as moved_code for cells. */
static unsigned side_moved(const struct ink_table *t, unsigned code, unsigned state)
{
	const struct ink_coding *c = coding_of(t);

	if (ink_code_unsure(c, code))
		return code;
	if (ink_keeps_age(t, ink_code_state(c, code), state))
		return state << c->age_bits | (code & c->age_top);
	return ink_code(c, state);
}

static uint32_t side_home(const struct ink_table *t, uint32_t e)
{
	struct place p;

	if (t->side.width)
		return ink_side_word_home(&t->side, ink_side_word(&t->side, e));
	p = place_of(t, ink_side_id(&t->side, e));
	return place_home(&p);
}

/* The classes of the side table's flows of this home, one bit each. */
static unsigned side_classes(const struct ink_table *t, uint32_t home)
{
	uint32_t e = t->side.capacity ? ink_side_first(&t->side, home) : 0;
	unsigned classes = 0;

	for (; e; e = ink_side_next(&t->side, e))
		if (side_home(t, e) == home)
			classes |= 1u << ink_side_class(ink_side_id(&t->side, e));
	return classes;
}

/* Removes an entry; the side table stays entered. */
static void side_drop(struct ink_table *t, uint32_t e)
{
	uint32_t home = side_home(t, e);

	ink_side_remove(&t->side, home, e);
	flag_side(t, home, side_classes(t, home));
}

/*
 * -EEXIST, with many writers: another thread has stored a flow that the side table cannot tell from this
 * one. If it keeps few bits of an id, the two may have different second lines, and so different locks (law 2
 * in kinds/line/cells.h).
 */
static int side_put(struct ink_table *t, const struct place *p, uint64_t id, unsigned state)
{
	uint32_t home = place_home(p), e = 0;
	int exists;

	ink_side_enter(&t->side);
	exists = IS_SHARED && t->side.capacity && ink_side_find(&t->side, home, id);
	if (!exists)
		e = ink_side_add(&t->side, home, id, ink_code(coding_of(t), state));
	if (e)
		flag_side(t, home, side_classes(t, home));
	ink_side_leave(&t->side);
	return exists ? -EEXIST : e ? 0 : -ENOSPC;
}

/*
 * A clock hand: each search begins where the last one ended. In words, backward-shift
 * deletion may have filled the slot again, so the hand stays there.
 */
static int side_drop_expendable(struct ink_table *t)
{
	struct ink_side *s = &t->side;
	int dropped = 0;

	ink_side_enter(s);
	for (uint32_t i = 0, all = ink_side_positions(s->form); i < all && !dropped; i++) {
		uint32_t e = s->clock_hand + 1;

		s->clock_hand = e < all ? e : 0;
		if (e <= ink_side_last(s) && ink_side_used(s, e) &&
		    ink_is_expendable(t, ink_side_code(s, e))) {
			side_drop(t, e);
			dropped = 1;
			s->clock_hand = s->width ? e - 1 : s->clock_hand;
		}
	}
	ink_side_leave(s);
	return dropped;
}

/* --------------------------------------------------------------------- ticks */

static void sweep_side_entry(struct ink_table *t, uint32_t e)
{
	unsigned code = ink_side_code(&t->side, e), after = t->aging.after[code];

	if (after & INK_EXPIRES)
		ink_note_expiry(t, code);
	if (after == (INK_EXPIRES | INK_GONE))
		side_drop(t, e);
	else
		ink_side_recode(&t->side, e, after & ~INK_EXPIRES);
}

/*
 * Downward from a safe start: a removal moves only entries behind it, which have been
 * visited. Ends with the last entry, so an empty side table costs nothing.
 */
static void verb_sweep_side(struct ink_table *t)
{
	uint32_t last, e, left;

	ink_side_enter(&t->side);
	last = ink_side_last(&t->side);
	left = ink_side_count(&t->side);
	e = left ? ink_side_top(&t->side) : 0;
	for (uint32_t i = 0; i < last && left; i++) {
		if (ink_side_used(&t->side, e)) {
			sweep_side_entry(t, e);
			left--;
		}
		e = e > 1 ? e - 1 : last;
	}
	ink_side_leave(&t->side);
}

/* ------------------------------------------------------------------- checking */

static const char *check_side_entry(const struct ink_table *t, uint32_t e)
{
	uint64_t id = ink_side_id(&t->side, e);
	struct place p = place_of(t, id);
	unsigned code = ink_side_code(&t->side, e), state = ink_code_state(coding_of(t), code);

	if (ink_side_find(&t->side, place_home(&p), id) != e)
		return "a flow of the side table cannot be found";
	if (!needs_side_probe(t, &p, id))
		return "a flow of the side table has no flag";
	return state < t->states && code <= ink_code(coding_of(t), state)
		       ? NULL
		       : "an entry of the side table has a state that the table has not";
}

/*
 * Is a flag set for which there is no entry? check_side_entry has checked the opposite.
 * Most homes have no flag, and are spared a walk along a run that a forger may have
 * made long.
 */
static int has_idle_flag(const struct ink_table *t, uint32_t home)
{
	return !is_flagged_for(t, home, 0) && !is_flagged_for(t, home, side_classes(t, home));
}

static const char *check_side(const struct ink_table *t)
{
	const char *wrong = ink_side_check(&t->side);

	for (uint32_t e = 1; !wrong && e <= ink_side_last(&t->side); e++)
		if (ink_side_used(&t->side, e))
			wrong = check_side_entry(t, e);
	return wrong;
}

static const char *check_flags(const struct ink_table *t)
{
	for (uint64_t i = 0; i < cells_units(t); i++)
		if (has_idle_flag(t, (uint32_t)i))
			return "a flag leads to the side table, which has no flow there";
	return NULL;
}

#endif
