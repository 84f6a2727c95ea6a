/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Turned marks: looks that write nothing.
 *
 * A look takes one off the age of every entry of a state. The kinds that turn
 * (`line`) do not store the age, but
 *
 *     (age + turn of the state) mod 2^age bits
 *
 * where the turn counts the looks at that state. A look is one more turn, and
 * an entry that survives it stays as it is: the same bits now mean an age that
 * is less by one. Only what expires is written.
 *
 *     one age bit            look        look        look
 *     turn              0     |     1     |     0     |
 *     touched here:  1, age 1 |  1, age 0 | expires   |
 *     touched here:           |  0, age 1 |  0, age 0 | expires
 *
 * Entries are written when they are touched, and then their age is the top one.
 * So what is kept of the turns is what such an entry looks like: fresh[state],
 * the whole code. How far the stored age of another one is behind that, modulo
 * 2^age bits, is how many looks it has outlived.
 *
 * While a tick is under way, lines that it has passed have one turn more than
 * the others. Hence two tables of fresh codes, and one word that says which of
 * them is whose, the view:
 *
 *      63            32 31                      0
 *     +----------------+-------------------------+
 *     | ticks so far   | lines passed            |    of the tick under way; none: 0
 *     +----------------+-------------------------+
 *
 *     line >= passed   fresh[ticks mod 2]
 *     line <  passed   fresh[(ticks + 1) mod 2]    written before the first line is passed
 *
 * The last line is never published as passed: then the tick is over, there is
 * one tick more and nothing is passed, which says the same of every line. So
 * one store changes the meaning of all marks at once. With one writer the
 * tables need not change places: the ticks stay 0, and the second is copied.
 *
 * Threads. One thread ticks, others read. Who reads the view, then an entry,
 * then fresh codes, and finds the view as it was, has three things of one
 * moment: the codes of a view are written again only when it is gone, and what
 * they become is released behind it.
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

/* In that view, how an entry of the line is stored that was touched just now. */
INK_HOT unsigned ink_fresh(const struct ink_table *t, uint64_t view, uint64_t line, unsigned state)
{
	unsigned table = ink_view_table(view);

	if (__builtin_expect((uint32_t)view != 0, 0))
		table ^= line < (uint32_t)view;
	return __atomic_load_n(&t->aging.fresh[table][state], __ATOMIC_ACQUIRE);
}

/*
 * The same with one writer, for whom nobody else ticks, so that the compiler
 * need not be careful. Nearly always no tick is under way, and the lines need
 * not be told apart.
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

/* Between ticks: how far a state has been turned, modulo 2^age bits. */
static inline unsigned ink_epoch_of(const struct ink_table *t, unsigned state)
{
	const struct ink_coding *c = &t->coding;

	return ink_age_read(t->aging.fresh[ink_view_table(t->aging.view)][state], c->age_top, c->age_bits);
}

static inline void ink_epoch_set(struct ink_table *t, unsigned table, unsigned state, unsigned turn)
{
	const struct ink_coding *c = &t->coding;
	unsigned fresh = state << c->age_bits | ink_age_stored(c->age_top, turn, c->age_bits);

	__atomic_store_n(&t->aging.fresh[table][state], (uint16_t)fresh, __ATOMIC_RELEASE);
}

/* When a tick begins: so many looks at that state, where it has passed. */
static inline void ink_epoch_advance(struct ink_table *t, unsigned state, unsigned looks)
{
	ink_epoch_set(t, !ink_view_table(t->aging.view), state, ink_epoch_of(t, state) + looks);
}

static inline void ink_epoch_publish_passed(struct ink_table *t, uint64_t lines)
{
	if (ink_has_epochs(t))
		__atomic_store_n(&t->aging.view, t->aging.view >> 32 << 32 | lines, __ATOMIC_RELEASE);
}

/* With one writer nobody reads meanwhile, and the first table can stay the one that is read. */
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
