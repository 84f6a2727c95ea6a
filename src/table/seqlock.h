/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Stripes: words behind the table that order threads, each standing for many lines.
 *
 * With one writer they are seqlocks, for peeks. The writer steps the counters of
 * the lines before (odd) and after (even) it moves entries. A peek answers only
 * if the counters of both its lines were even and did not change. The changes in
 * between are release stores and the peek's reads acquire loads (plain ones on
 * x86), which is all the ordering a peek needs.
 *
 *     `compact`   every insert and delete shifts entries, so each line has a stripe
 *                 by its number; with fewer of them peeks took a third longer
 *     `line`      only an entry that moves between lines can be missed, and its
 *                 fingerprint selects the stripe: few, so that they stay in the L1
 *                 cache of the writer
 *
 * With many writers (`line`) they are locks for inserts. Each has a cache line of
 * its own: side by side, a lock that was prefetched is lost again to a thread that
 * takes its neighbour. So they are limited to a hundredth of the table, unless
 * that is fewer than 16, and to what leaves room in the L1 cache.
 */
#ifndef INKLING_TABLE_SEQLOCK_H
#define INKLING_TABLE_SEQLOCK_H

#include "table/table.h"

static inline uint32_t *ink_stripe(const struct ink_table *t, uint32_t number)
{
	return (uint32_t *)&t->stripes[number % INK_STRIPES];
}

static inline uint32_t *ink_lock(const struct ink_table *t, uint32_t number)
{
	return (uint32_t *)&t->stripes[(number & (t->locks - 1)) * INK_LOCK_WORDS];
}

static inline void ink_seq_write_begin(struct ink_table *t, uint32_t line)
{
	uint32_t *s = ink_stripe(t, line);

	__atomic_store_n(s, *s + 1, __ATOMIC_RELAXED);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
}

static inline void ink_seq_write_end(struct ink_table *t, uint32_t line)
{
	uint32_t *s = ink_stripe(t, line);

	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	__atomic_store_n(s, *s + 1, __ATOMIC_RELEASE);
}

/* Two lines may share a counter. */
static inline void ink_seq_write_begin_both(struct ink_table *t, uint32_t a, uint32_t b)
{
	ink_seq_write_begin(t, a);
	if (ink_stripe(t, a) != ink_stripe(t, b))
		ink_seq_write_begin(t, b);
}

static inline void ink_seq_write_end_both(struct ink_table *t, uint32_t a, uint32_t b)
{
	ink_seq_write_end(t, a);
	if (ink_stripe(t, a) != ink_stripe(t, b))
		ink_seq_write_end(t, b);
}

static inline uint64_t ink_seq_read(const struct ink_table *t, uint32_t a, uint32_t b)
{
	return (uint64_t)__atomic_load_n(ink_stripe(t, a), __ATOMIC_ACQUIRE) << 32 |
	       __atomic_load_n(ink_stripe(t, b), __ATOMIC_ACQUIRE);
}

static inline int ink_seq_unchanged(const struct ink_table *t, uint32_t a, uint32_t b, uint64_t before)
{
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	return (before & 0x0000000100000001ull) == 0 && ink_seq_read(t, a, b) == before;
}

#endif
