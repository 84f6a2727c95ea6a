/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Epochs: a tick writes only the entries that expire.
 *
 * A look lowers the age of every entry of a state by one. Kinds with epochs
 * (`line`) do not store the age, but
 *
 *     (age + epoch of the state) mod 2^age bits
 *
 * where the epoch counts the looks at that state. A look starts a new epoch, and
 * an entry that survives it is not written: the same bits now mean an age that is
 * lower by one.
 *
 *     one age bit            look        look        look
 *     epoch             0     |     1     |     0     |
 *     touched here:  1, age 1 |  1, age 0 | expires   |
 *     touched here:           |  0, age 1 |  0, age 0 | expires
 *
 * An entry is written when it is touched, and then its age is the highest. The
 * table therefore keeps each epoch as the code of such an entry: fresh[state]. The
 * distance of a stored age from that, modulo 2^age bits, is the number of looks
 * that the entry has survived.
 *
 * While a tick is under way, the lines that it has passed are one epoch ahead of
 * the others. Hence there are two tables of fresh codes, and one word, the view,
 * that says which line uses which:
 *
 *      63            32 31                      0
 *     +----------------+-------------------------+
 *     | ticks so far   | lines passed            |    of the tick under way; none: 0
 *     +----------------+-------------------------+
 *
 *     line >= passed   fresh[ticks mod 2]
 *     line <  passed   fresh[(ticks + 1) mod 2]    written before the first line is passed
 *
 * The last line is never published as passed. Instead the tick ends: the count of
 * ticks rises and no line is passed, which means the same for every line. One
 * store thus changes the meaning of all ages at once. With one writer the tables
 * do not alternate: the count stays 0, and the second table is copied.
 *
 * Threads. One thread ticks, others read. A reader loads the view, then an entry,
 * then fresh codes. If the view is still the same, all three belong together: the
 * codes of a view are overwritten only after it was replaced, and the new codes
 * are released after it.
 */
#ifndef INKLING_TABLE_EPOCH_H
#define INKLING_TABLE_EPOCH_H

#include <string.h>

#include "table/table.h"

static inline int ink_has_epochs(const struct ink_table *t)
{
	return (t->kind->traits & INK_TRAIT_EPOCHS) != 0;
}

/* --------------------------------------------------------------------- reading */

static inline uint64_t ink_view(const struct ink_table *t)
{
	return __atomic_load_n(&t->aging.view, __ATOMIC_ACQUIRE);
}

static inline unsigned ink_view_table(uint64_t view)
{
	return (unsigned)(view >> 32) & 1;
}

/* In that view, the stored code of an entry of the line that has just been touched. */
INK_HOT unsigned ink_fresh(const struct ink_table *t, uint64_t view, uint64_t line, unsigned state)
{
	unsigned table = ink_view_table(view);

	if (__builtin_expect((uint32_t)view != 0, 0))
		table ^= line < (uint32_t)view;
	return __atomic_load_n(&t->aging.fresh[table][state], __ATOMIC_ACQUIRE);
}

/*
 * The same with one writer: no other thread ticks, so plain loads suffice. Nearly
 * always no tick is under way, and all lines use one table.
 */
__attribute__((noinline, unused)) static unsigned ink_fresh_under_way(const struct ink_table *t,
								      uint64_t line, unsigned state)
{
	return t->aging.fresh[line < t->aging.view][state];
}

INK_HOT unsigned ink_fresh_one_writer(const struct ink_table *t, uint64_t line, unsigned state)
{
	if (__builtin_expect(t->aging.view != 0, 0))
		return ink_fresh_under_way(t, line, state);
	return t->aging.fresh[0][state];
}

/* From stored codes to codes and back, by the fresh one of that state. */
static inline unsigned ink_code_decode(const struct ink_coding *c, unsigned fresh, unsigned stored)
{
	return (stored | c->age_top) - ((fresh - stored) & c->age_top);
}

static inline unsigned ink_code_encode(const struct ink_coding *c, unsigned fresh, unsigned code)
{
	return (code & ~c->age_top) | ((fresh - (c->age_top - (code & c->age_top))) & c->age_top);
}

/* -------------------------------------------------------------------- the ticks */

/* Between ticks: the epoch of a state, modulo 2^age bits. */
static inline unsigned ink_epoch_of(const struct ink_table *t, unsigned state)
{
	const struct ink_coding *c = &t->coding;

	return ink_age_read(t->aging.fresh[ink_view_table(t->aging.view)][state], c->age_top, c->age_bits);
}

static inline void ink_epoch_set(struct ink_table *t, unsigned table, unsigned state, unsigned epoch)
{
	const struct ink_coding *c = &t->coding;
	unsigned fresh = state << c->age_bits | ink_age_stored(c->age_top, epoch, c->age_bits);

	__atomic_store_n(&t->aging.fresh[table][state], (uint16_t)fresh, __ATOMIC_RELEASE);
}

/* When a tick begins: the epoch of the lines that it has passed, so many looks later. */
static inline void ink_epoch_advance(struct ink_table *t, unsigned state, unsigned looks)
{
	ink_epoch_set(t, !ink_view_table(t->aging.view), state, ink_epoch_of(t, state) + looks);
}

static inline void ink_epoch_publish_passed(struct ink_table *t, uint64_t lines)
{
	if (ink_has_epochs(t))
		__atomic_store_n(&t->aging.view, t->aging.view >> 32 << 32 | lines, __ATOMIC_RELEASE);
}

/* With one writer no other thread reads fresh codes, and the first table stays the current one. */
static inline void ink_epoch_publish(struct ink_table *t)
{
	if (t->writers == 1) {
		memcpy(t->aging.fresh[0], t->aging.fresh[1], sizeof t->aging.fresh[0]);
		t->aging.view = 0;
		return;
	}
	__atomic_store_n(&t->aging.view, ((t->aging.view >> 32) + 1) << 32, __ATOMIC_RELEASE);
}

#endif
