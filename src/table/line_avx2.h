/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Searching lines with AVX2: half a line at a time, all columns at once. For
 * the meaning of slots and marks see line_portable.h.
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

static inline uint64_t line_slots(const struct ink_line_shape *s, const struct ink_line *line,
				  uint32_t fingerprint)
{
	uint32_t low = (uint32_t)_mm256_movemask_epi8(equal_columns(s, half_of(line, 0), fingerprint));
	uint32_t high = (uint32_t)_mm256_movemask_epi8(equal_columns(s, half_of(line, 1), fingerprint));

	return ((uint64_t)high << 32 | low) & s->slots;
}

/* -------------------------------------------------------------------- phases */

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

/* The marks that entries of these words lack. */
static inline __m256i lacking(const struct ink_line_shape *s, __m256i words, __m256i marks)
{
	__m256i empty = _mm256_and_si256(equal_columns(s, words, 0), every_word(s->units));

	return _mm256_andnot_si256(_mm256_or_si256(words, four_marks(s, empty)), marks);
}

static inline int line_unmarked(const struct ink_line_shape *s, const struct ink_line *line, uint64_t marks)
{
	__m256i all = every_word(marks);
	__m256i unmarked =
		_mm256_or_si256(lacking(s, half_of(line, 0), all), lacking(s, half_of(line, 1), all));

	return !_mm256_testz_si256(unmarked, unmarked);
}

static inline void line_unmark(struct ink_line *line, uint64_t marks)
{
	__m256i all = every_word(marks);

	_mm256_store_si256((__m256i *)(void *)line, _mm256_andnot_si256(all, half_of(line, 0)));
	_mm256_store_si256((__m256i *)(void *)line + 1, _mm256_andnot_si256(all, half_of(line, 1)));
}

#endif
