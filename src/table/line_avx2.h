/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Searching lines with AVX2: half a line at a time, all columns at once.
 *
 * Threads: a 32-byte load of a line is not one atomic access, but processors
 * with AVX2 never tear an aligned 8-byte word of it, and a word is all that an
 * entry needs.
 */
#ifndef INKLING_LINE_AVX2_H
#define INKLING_LINE_AVX2_H

#include <immintrin.h>
#include <stddef.h>

#include "line_marks.h"
#include "line_slots.h"
#include "table.h"

#define CELLS_SIMD "avx2"

static inline __m256i half_of(const struct ink_line *line, unsigned half)
{
	return _mm256_load_si256((const __m256i *)(const void *)line + half);
}

static inline __m256i every_word(uint64_t bits)
{
	return _mm256_set1_epi64x((long long)bits);
}

/* --------------------------------------------------------------------- places */

/* The upper halves of 32 x 32 bit products, in four 64-bit lanes. */
static inline __m256i scaled(__m256i bits, uint32_t factor)
{
	return _mm256_srli_epi64(_mm256_mul_epu32(bits, every_word(factor)), 32);
}

static inline __m256i four_fingerprints(const struct ink_line_shape *s, __m256i ids)
{
	__m256i product = _mm256_mul_epu32(ids, every_word(s->tag_mask));
	__m256i tags = _mm256_add_epi64(_mm256_srli_epi64(product, 32), every_word(1));
	__m256i left = _mm256_and_si256(product, every_word(0xffffffff));
	__m256i above = _mm256_srl_epi64(left, _mm_cvtsi32_si128((int)s->above_shift));

	return _mm256_add_epi64(tags, _mm256_sll_epi64(above, _mm_cvtsi32_si128((int)s->tag_bits)));
}

static inline __m256i four_others(const struct ink_line_shape *s, __m256i lines, __m256i fingerprints)
{
	__m256i sums = scaled(_mm256_mul_epu32(fingerprints, every_word(INK_LINE_MIX)), s->lines);
	__m256i wraps = _mm256_and_si256(_mm256_cmpgt_epi64(lines, sums), every_word(s->lines));

	return _mm256_add_epi64(_mm256_sub_epi64(sums, lines), wraps);
}

/* ink_line_place for four ids. */
static inline void four_places(const struct ink_line_shape *s, const uint64_t *ids,
			       struct ink_line_place *places)
{
	__m256i four = _mm256_loadu_si256((const __m256i *)(const void *)ids);
	__m256i fingerprints = four_fingerprints(s, four),
		first = scaled(_mm256_srli_epi64(four, 32), s->lines);
	__m256i both = _mm256_or_si256(first, _mm256_slli_epi64(four_others(s, first, fingerprints), 32));
	__m256i even = _mm256_unpacklo_epi64(both, fingerprints),
		odd = _mm256_unpackhi_epi64(both, fingerprints);
	__m256i *to = (__m256i *)(void *)places;

	_mm256_storeu_si256(to, _mm256_permute2x128_si256(even, odd, 0x20));
	_mm256_storeu_si256(to + 1, _mm256_permute2x128_si256(even, odd, 0x31));
}

static inline void line_places(const struct ink_line_shape *s, const uint64_t *ids, size_t n,
			       struct ink_line_place *places)
{
	size_t i = 0;

	for (; i + 4 <= n; i += 4)
		four_places(s, ids + i, places + i);
	for (; i < n; i++)
		places[i] = ink_line_place(s, ids[i]);
}

/* ------------------------------------------------------------------- searching */

/* All ones in the columns with the tag of that fingerprint, of 0: the empty ones; and, for 0, the fourth of three. */
static inline __m256i equal_columns(const struct ink_line_shape *s, __m256i words, uint32_t fingerprint)
{
	__m256i tags = _mm256_and_si256(words, every_word(s->tags));

	if (s->column_bits == 32)
		return _mm256_cmpeq_epi32(tags, _mm256_set1_epi32((int)fingerprint));
	return _mm256_cmpeq_epi16(tags, _mm256_set1_epi16((short)fingerprint));
}

/* Slots, and bits between them. Packing takes the words in the order of line_slots.h. */
static inline uint32_t line_matches(const struct ink_line_shape *s, const struct ink_line *line,
				    uint32_t fingerprint)
{
	__m256i low = equal_columns(s, half_of(line, 0), fingerprint);
	__m256i high = equal_columns(s, half_of(line, 1), fingerprint);

	return (uint32_t)_mm256_movemask_epi8(_mm256_packs_epi16(low, high));
}

static inline uint32_t line_slots(const struct ink_line_shape *s, const struct ink_line *line,
				  uint32_t fingerprint)
{
	return line_matches(s, line, fingerprint) & (uint32_t)s->slots;
}

static inline uint64_t pair_slots(const struct ink_line_shape *s, const struct ink_line *first,
				  const struct ink_line *second, uint32_t fingerprint)
{
	uint64_t above = line_matches(s, second, fingerprint);

	return (line_matches(s, first, fingerprint) | above << 32) & s->slots;
}

/* --------------------------------------------------------------------- marks */

/* word_marks, for four words. */
static inline __m256i four_marks(const struct ink_line_shape *s, __m256i columns)
{
	__m256i moved = _mm256_slli_epi64(columns, 48);

	if (s->fp_bits < s->low_bits)
		return _mm256_sll_epi64(columns, _mm_cvtsi32_si128((int)s->fp_bits));
	moved = _mm256_or_si256(moved, _mm256_slli_epi64(_mm256_and_si256(columns, every_word(1 << 16)), 37));
	moved = _mm256_or_si256(moved,
				_mm256_slli_epi64(_mm256_and_si256(columns, every_word(1ull << 32)), 26));
	return _mm256_sll_epi64(moved, _mm_cvtsi32_si128((int)(s->fp_bits - s->low_bits)));
}

/* word_due, for four words: the states side by side in bytes, and all looked up at once. */
static inline __m256i four_due(const struct ink_line_shape *s, const struct ink_line_looks *l, __m256i words)
{
	const __m256i due =
		_mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *)(const void *)l->due));
	const __m256i mask = every_word(l->state_mask), one = every_word(1);
	__m256i states = _mm256_setzero_si256(), found, result = states;

	if (l->all)
		return every_word(l->marks);
	for (uint32_t lane = 0; lane < s->lanes; lane++) {
		__m128i at = _mm_cvtsi32_si128((int)(l->first + lane * l->stride + 1));
		__m256i state = _mm256_and_si256(_mm256_srl_epi64(words, at), mask);

		states = _mm256_or_si256(states, _mm256_slli_epi64(state, (int)(8 * lane)));
	}
	found = _mm256_shuffle_epi8(due, states);
	for (uint32_t lane = 0; lane < s->lanes; lane++) {
		__m128i at = _mm_cvtsi32_si128((int)(l->first + lane * l->stride));
		__m256i mark = _mm256_and_si256(_mm256_srli_epi64(found, (int)(8 * lane)), one);

		result = _mm256_or_si256(result, _mm256_sll_epi64(mark, at));
	}
	return result;
}

/* line_look, for half a line; words that stay as they are get written all the same. */
static inline unsigned half_look(const struct ink_line_shape *s, const struct ink_line_looks *l,
				 struct ink_line *line, unsigned half)
{
	__m256i words = half_of(line, half), due = four_due(s, l, words);
	__m256i empty = four_marks(s, _mm256_and_si256(equal_columns(s, words, 0), every_word(s->units)));
	__m256i lacking = _mm256_andnot_si256(_mm256_or_si256(words, empty), due);
	__m256i none = _mm256_cmpeq_epi64(lacking, _mm256_setzero_si256());
	__m256i looked = _mm256_andnot_si256(_mm256_and_si256(due, none), words);

	_mm256_store_si256((__m256i *)(void *)line + half, looked);
	return (unsigned)_mm256_movemask_pd(_mm256_castsi256_pd(none)) ^ 0xf;
}

static inline unsigned line_look(const struct ink_line_shape *s, const struct ink_line_looks *l,
				 struct ink_line *line)
{
	return half_look(s, l, line, 0) | half_look(s, l, line, 1) << 4;
}

#endif
