/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * New entries of `line`: a free slot in the emptier of the two parts, else a
 * displacement, else, if the policy is INK_REPLACE, the slot of an expendable entry.
 */
#ifndef INKLING_KINDS_LINE_STORE_H
#define INKLING_KINDS_LINE_STORE_H

#include "kinds/line/displace.h"

INK_HOT int is_free(const struct ink_line_shape *s, const struct ink_line_spot *at)
{
	return !((uint32_t)(at->seen >> at->column) & s->tag_mask);
}

/*
 * The slot for a new entry, as in struct line_place: in the emptier part, or in the
 * first if they are equal. Arithmetic chooses it, because a branch would be
 * mispredicted half the time.
 */
INK_HOT uint32_t find_room(const struct ink_table *t, const struct place *p)
{
	const struct ink_line_shape *s = shape_of(t);
	uint64_t both, first, second;

	if (parts_are_lines(t)) { /* two searches fill two registers: nothing is gained by one word */
		first = part_slots(s, place_part(t, p, 0), 0);
		second = (uint64_t)part_slots(s, place_part(t, p, 1), 0) << 32;
	} else {
		both = pair_slots(s, place_part(t, p, 0), place_part(t, p, 1), 0);
		first = both & first_slots(s);
		second = both & ~first_slots(s);
	}
	return first_slot(__builtin_popcountll(second) > __builtin_popcountll(first) ? second : first);
}

INK_HOT int is_room(uint32_t room)
{
	return !(room & LINE_NO_ROOM);
}

INK_HOT int spot_fill(struct ink_table *t, struct ink_line_spot at, uint32_t fingerprint, unsigned fresh)
{
	const struct ink_line_shape *s = shape_of(t);

	if (__builtin_expect(!is_free(s, &at), 0) ||
	    !word_swap(at.word, at.seen, at.seen | ink_line_lay(s, at.column, fingerprint, fresh)))
		return 0;
	ink_groups_note(t, word_line(t, at.word));
	return 1;
}

INK_HOT int room_fill_anytime(struct ink_table *t, const struct place *p, uint32_t room, unsigned state)
{
	struct ink_line_spot at = place_spot(t, p, room);

	return spot_fill(t, at, p->at.fingerprint, fresh_code(t, word_line(t, at.word), state));
}

__attribute__((noinline, unused)) static int room_fill_in_tick(struct ink_table *t, const struct place *p,
							       uint32_t room, unsigned state)
{
	return room_fill_anytime(t, p, room, state);
}

/* 0 if the slot is taken. With one writer, the shorter path is for when no tick is under way. */
INK_HOT int room_fill(struct ink_table *t, const struct place *p, uint32_t room, unsigned state)
{
	if (IS_SHARED)
		return room_fill_anytime(t, p, room, state);
	if (__builtin_expect(t->aging.view != 0, 0))
		return room_fill_in_tick(t, p, room, state);
	return spot_fill(t, place_spot(t, p, room), p->at.fingerprint, t->aging.fresh[0][state]);
}

/*
 * For inserts that saw no room ahead, or whose slot is taken by now. With one writer,
 * parts that were full still are: inserts do not change that. If both parts are full,
 * an entry is displaced.
 */
__attribute__((noinline)) static int put_slowly(struct ink_table *t, const struct place *p, unsigned state)
{
	uint32_t room = !IS_SHARED && p->at.room == LINE_NO_ROOM ? LINE_NO_ROOM : find_room(t, p);

	for (; is_room(room); room = find_room(t, p))
		if (room_fill(t, p, room, state))
			return 0;
	return IS_SHARED ? -ENOSPC : displace(t, p, state);
}

INK_HOT int cell_put(struct ink_table *t, const struct place *p, unsigned state)
{
	uint32_t room = p->at.room;

	if (__builtin_expect(is_room(room) && room_fill(t, p, room, state), 1))
		return 0;
	return put_slowly(t, p, state);
}

/*
 * Looks for room some items before the insert, which checks that the slot is still
 * free. With many writers, it also prefetches the lock, which another core may hold in
 * its cache.
 */
INK_HOT void place_prepare(const struct ink_table *t, struct place *p)
{
	p->at.room = find_room(t, p);
	if (IS_SHARED)
		__builtin_prefetch(insert_lock(t, p), 1);
}

/* ------------------------------------------------------------------ the policy */

/* The expendable entry of a part that was touched the longest ago; 0 if there is none. */
static int part_expendable(struct ink_table *t, uint64_t *part, struct spot *oldest)
{
	const struct ink_line_shape *s = shape_of(t);
	uint32_t used = (uint32_t)(s->slots & first_slots(s)) & ~part_slots(s, part, 0);
	uint32_t line = word_line(t, part);
	struct ink_victim victim = {0, 0};

	for (; used; used &= used - 1) {
		struct spot here = {.at = part_spot(t, part, (unsigned)__builtin_ctz(used))};

		spot_read(s, &here);
		if (ink_is_expendable(t, here.code) &&
		    ink_chosen(t, &victim, code_in(t, line, here.code) & coding_of(t)->age_top))
			*oldest = here;
	}
	return victim.equals != 0;
}

static int cell_drop_expendable(struct ink_table *t, const struct place *p)
{
	struct spot s;

	while (part_expendable(t, place_part(t, p, 0), &s) || part_expendable(t, place_part(t, p, 1), &s))
		if (cell_clear(t, &s))
			return 1;
	return 0;
}

#endif
