/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Backward-shift deletion, for hash tables with linear probing and without
 * tombstones. An entry is in its home slot or behind it, round the end of the
 * table if need be, with no empty slot in between:
 *
 *     slot     0   1   2   3   4   5   6   7
 *            [ c |   |   | a | b | d |   | e ]     homes: a 3, b 3, d 5, e 7, c 7
 *
 * Deleting an entry leaves a hole, which would end a search too early. So each
 * entry of the run behind the hole moves into it if its home is not behind the
 * hole, and leaves a hole of its own. Deleting a moves b to slot 3; d stays, as
 * its home is 5; slot 4 becomes empty.
 */
#ifndef INKLING_BASE_SHIFT_H
#define INKLING_BASE_SHIFT_H

#include <stdint.h>

#define INK_SHIFT_EMPTY UINT64_MAX

struct ink_shift {
	uint64_t slots;
	uint64_t (*home)(const void *table, uint64_t slot); /* of its entry; INK_SHIFT_EMPTY: there is none */
	void (*move)(void *table, uint64_t from, uint64_t to);
};

/* The number of steps from one slot on to another. */
static inline uint64_t ink_shift_distance(uint64_t slots, uint64_t from, uint64_t to)
{
	return to >= from ? to - from : to + slots - from;
}

static inline uint64_t ink_shift_next(uint64_t slots, uint64_t slot)
{
	return slot + 1 < slots ? slot + 1 : 0;
}

/*
 * Closes the hole that a deleted entry leaves. Returns the slot that is the hole
 * in the end, which the caller empties. Always inlined, with the functions of
 * `s` constants of the caller.
 */
__attribute__((always_inline)) static inline uint64_t ink_shift_back(const struct ink_shift *s, void *table,
								     uint64_t hole)
{
	uint64_t slot = ink_shift_next(s->slots, hole), home;

	for (; (home = s->home(table, slot)) != INK_SHIFT_EMPTY; slot = ink_shift_next(s->slots, slot))
		if (ink_shift_distance(s->slots, home, slot) >= ink_shift_distance(s->slots, hole, slot)) {
			s->move(table, slot, hole);
			hole = slot;
		}
	return hole;
}

#endif
