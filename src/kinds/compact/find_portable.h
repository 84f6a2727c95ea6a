/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Compact lines, portably: implementation 0, for any remainder width.
 *
 * It works on a copy of the line, read and written word by word with atomic
 * accesses, so that peeks of other threads are clean in the eyes of the C
 * standard (and of ThreadSanitizer).
 */
#ifndef INKLING_KINDS_COMPACT_FIND_PORTABLE_H
#define INKLING_KINDS_COMPACT_FIND_PORTABLE_H

#include "engine/variant.h"

#if !INK_AVX2

#include <stddef.h>

#include "kinds/compact/family.h"

/* A word, and a line, that another thread may be changing. */
static inline uint64_t word_glance(const uint64_t *word)
{
	return __atomic_load_n(word, __ATOMIC_ACQUIRE);
}

static inline void line_copy(const struct compact_line *line, struct compact_line *copy)
{
	for (unsigned i = 0; i < COMPACT_WORDS; i++)
		copy->word[i] = word_glance(&line->word[i]);
}

static inline uint64_t *line_open(struct compact_line *line, struct compact_line *copy)
{
	line_copy(line, copy);
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

/* The 64 bits of the window from a bit on. A peek may ask for the bit behind the last: see bucket_slots. */
static inline uint64_t window_from(const uint64_t *w, unsigned at)
{
	return (uint64_t)(window(w) >> at % 128);
}

/* The metadata from that bit of theirs on. */
static inline uint64_t bits_from(const struct ink_compact_shape *s, const uint64_t *w, unsigned at)
{
	return window_from(w, s->meta_start + at);
}

/* The 1s of the metadata below a bit of the window. */
static inline unsigned ones_below(const struct ink_compact_shape *s, const uint64_t *w, unsigned at)
{
	uint64_t below[2];

	window_below(at, below);
	return (unsigned)(__builtin_popcountll(w[COMPACT_META_WORD] & s->meta[0] & below[0]) +
			  __builtin_popcountll(w[COMPACT_META_WORD + 1] & s->meta[1] & below[1]));
}

INK_HOT void compact_places(const struct ink_compact_shape *s, uint32_t lines, const uint64_t *ids, size_t n,
			    struct place *places)
{
	for (size_t i = 0; i < n; i++)
		places[i] = compact_place(s, lines, ids[i]);
}

static inline uint64_t packed_get(const struct ink_compact_shape *s, const uint64_t *w, unsigned slot)
{
	return any_packed_get(s, w, slot);
}

static inline void packed_put(const struct ink_compact_shape *s, uint64_t *w, unsigned slot, uint64_t packed)
{
	any_packed_put(s, w, slot, packed);
}

/* Without vectors it is quicker to look only at the entries of the bucket. */
static inline enum search search_of(const struct ink_compact_shape *s)
{
	(void)s;
	return SEARCH_BUCKET;
}

static inline uint64_t remainder_slots(const struct ink_compact_shape *s, const uint64_t *w,
				       uint32_t remainder)
{
	return any_remainder_match(s, w, remainder, low_bits(s->slots));
}

/* Eight bits that are `stride` apart, side by side: their distances halve three times. */
static inline unsigned bits_gather(uint64_t bits, unsigned stride)
{
	unsigned apart = stride - 1;

	bits &= stride_bits[stride];
	bits = (bits | bits >> apart) & stride_pairs[stride];
	bits = (bits | bits >> 2 * apart) & stride_fours[stride];
	return (unsigned)(bits | bits >> 4 * apart) & 255;
}

/* And back. */
static inline uint64_t bits_scatter(unsigned byte, unsigned stride)
{
	uint64_t bits = byte;
	unsigned apart = stride - 1;

	bits = (bits | bits << 4 * apart) & stride_fours[stride];
	bits = (bits | bits << 2 * apart) & stride_pairs[stride];
	return (bits | bits << apart) & stride_bits[stride];
}

static inline void entry_open(const struct ink_compact_shape *s, uint64_t *w, unsigned slot, struct entry e)
{
	any_entry_open(s, w, slot, e);
}

static inline void entry_close(const struct ink_compact_shape *s, uint64_t *w, unsigned slot, uint32_t bucket)
{
	any_entry_close(s, w, slot, bucket);
}

#endif

#endif
