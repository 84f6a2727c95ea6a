/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Compact lines, portably: implementation 0, for any remainder width.
 *
 * It works on a copy of the line, read and written word by word with atomic
 * accesses, so that peeks of other threads are clean in the eyes of the C
 * standard (and of ThreadSanitizer).
 */
#ifndef INKLING_COMPACT_PORTABLE_H
#define INKLING_COMPACT_PORTABLE_H

#include "compact.h"

#define CELLS_SIMD "portable"

static inline uint64_t *line_open(struct compact_line *line, struct compact_line *copy)
{
	for (unsigned i = 0; i < COMPACT_WORDS; i++)
		copy->word[i] = __atomic_load_n(&line->word[i], __ATOMIC_ACQUIRE);
	return copy->word;
}

static inline void line_close(struct compact_line *line, const uint64_t *w)
{
	for (unsigned i = 0; i < COMPACT_WORDS; i++)
		__atomic_store_n(&line->word[i], w[i], __ATOMIC_RELEASE);
}

/* The number of the k-th set bit, by halves: six counts. */
static inline unsigned select_bit(uint64_t bits, unsigned k)
{
	unsigned at = 0;

	for (unsigned half = 32; half; half /= 2) {
		unsigned below = (unsigned)__builtin_popcountll(bits >> at & low_bits(half));

		if (k >= below) {
			k -= below;
			at += half;
		}
	}
	return at;
}

static inline uint32_t remainder_get(const struct ink_compact_shape *s, const uint64_t *w, unsigned slot)
{
	return any_remainder_get(s, w, slot);
}

/* Without vectors it is quicker to look only at the entries of the bucket. */
static inline int remainders_are_vectors(const struct ink_compact_shape *s)
{
	(void)s;
	return 0;
}

static inline uint64_t remainder_slots(const struct ink_compact_shape *s, const uint64_t *w,
				       uint32_t remainder)
{
	return any_remainder_match(s, w, remainder, low_bits(s->slots));
}

static inline void remainder_open(const struct ink_compact_shape *s, uint64_t *w, unsigned slot,
				  unsigned count, uint32_t remainder)
{
	any_remainder_open(s, w, slot, count, remainder);
}

static inline void remainder_close(const struct ink_compact_shape *s, uint64_t *w, unsigned slot,
				   unsigned count)
{
	any_remainder_close(s, w, slot, count);
}

static inline unsigned code_get(const struct ink_compact_shape *s, const uint64_t *w, unsigned slot)
{
	return any_code_get(s, w, slot);
}

static inline void code_put(const struct ink_compact_shape *s, uint64_t *w, unsigned slot, unsigned code)
{
	any_code_put(s, w, slot, code);
}

static inline void planes_open(const struct ink_compact_shape *s, uint64_t *w, unsigned slot, unsigned code)
{
	any_planes_open(s, w, slot, code);
}

static inline void planes_close(const struct ink_compact_shape *s, uint64_t *w, unsigned slot)
{
	any_planes_close(s, w, slot);
}

#endif
