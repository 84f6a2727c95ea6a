/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Compact lines with AVX2 and BMI2.
 *
 * A bit is selected by depositing one. Remainders of 8 and of 16 bits are
 * compared all at once and moved by shifting the whole line in registers. Lines
 * are changed in place: a peek that reads one meanwhile notices by the sequence
 * counters.
 */
#ifndef INKLING_COMPACT_AVX2_H
#define INKLING_COMPACT_AVX2_H

#include <immintrin.h>

#include "compact.h"

#define CELLS_SIMD "avx2"

static inline uint64_t *line_open(struct compact_line *line, struct compact_line *copy)
{
	(void)copy;
	return line->word;
}

static inline void line_close(struct compact_line *line, const uint64_t *w)
{
	(void)line;
	(void)w;
}

static inline unsigned select_bit(uint64_t bits, unsigned k)
{
	return (unsigned)_tzcnt_u64(_pdep_u64(1ull << k, bits));
}

static inline __m256i half_of(const uint64_t *w, unsigned half)
{
	return _mm256_load_si256((const __m256i *)(const void *)w + half);
}

static inline void half_put(uint64_t *w, unsigned half, __m256i bytes)
{
	_mm256_store_si256((__m256i *)(void *)w + half, bytes);
}

/* Bytes in a remainder that the vector code knows, or 0. */
static inline unsigned vector_bytes(const struct ink_compact_shape *s)
{
	return s->remainder_bits == 8 ? 1 : s->remainder_bits == 16 ? 2 : 0;
}

static inline uint32_t remainder_get(const struct ink_compact_shape *s, const uint64_t *w, unsigned slot)
{
	return any_remainder_get(s, w, slot);
}

static inline int remainders_are_vectors(const struct ink_compact_shape *s)
{
	return vector_bytes(s) != 0;
}

/* Half a line is enough for up to 32 slots. */
static inline uint64_t match_bytes(const struct ink_compact_shape *s, const uint64_t *w, uint32_t remainder)
{
	__m256i wanted = _mm256_set1_epi8((char)remainder);
	uint64_t slots = (uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(half_of(w, 0), wanted));

	if (s->slots > 32)
		slots |= (uint64_t)(uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(half_of(w, 1), wanted))
			 << 32;
	return slots & low_bits(s->slots);
}

/* One bit of each pair of bytes. */
static inline uint64_t match_pairs(const struct ink_compact_shape *s, const uint64_t *w, uint32_t remainder)
{
	__m256i wanted = _mm256_set1_epi16((short)remainder);
	__m256i low = _mm256_cmpeq_epi16(half_of(w, 0), wanted),
		high = _mm256_cmpeq_epi16(half_of(w, 1), wanted);
	__m256i packed = _mm256_permute4x64_epi64(_mm256_packs_epi16(low, high), 0xd8);

	return (uint32_t)_mm256_movemask_epi8(packed) & low_bits(s->slots);
}

/* The slots that hold the remainder; free ones may be among them. */
static inline uint64_t remainder_slots(const struct ink_compact_shape *s, const uint64_t *w,
				       uint32_t remainder)
{
	return vector_bytes(s) == 1 ? match_bytes(s, w, remainder) : match_pairs(s, w, remainder);
}

/* ------------------------------------------------------------ moving remainders */

/* The numbers of the bytes of a half. */
static inline __m256i byte_numbers(unsigned half)
{
	__m256i first = _mm256_set_epi8(31, 30, 29, 28, 27, 26, 25, 24, 23, 22, 21, 20, 19, 18, 17, 16, 15,
					14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);

	return _mm256_add_epi8(first, _mm256_set1_epi8((char)(half * 32)));
}

/* All ones in the bytes from .. to-1. */
static inline __m256i bytes_between(unsigned half, unsigned from, unsigned to)
{
	__m256i numbers = byte_numbers(half);

	return _mm256_andnot_si256(_mm256_cmpgt_epi8(_mm256_set1_epi8((char)from), numbers),
				   _mm256_cmpgt_epi8(_mm256_set1_epi8((char)to), numbers));
}

/* The line's bytes moved up by one slot, in that half; zeros come in at the bottom. */
static inline __m256i half_up(__m256i low, __m256i high, unsigned half, unsigned bytes)
{
	__m256i own = half ? high : low;
	__m256i before =
		half ? _mm256_permute2x128_si256(low, high, 0x21) : _mm256_permute2x128_si256(low, low, 0x08);

	return bytes == 1 ? _mm256_alignr_epi8(own, before, 15) : _mm256_alignr_epi8(own, before, 14);
}

static inline __m256i half_down(__m256i low, __m256i high, unsigned half, unsigned bytes)
{
	__m256i own = half ? high : low;
	__m256i after = half ? _mm256_permute2x128_si256(high, high, 0x81)
			     : _mm256_permute2x128_si256(low, high, 0x21);

	return bytes == 1 ? _mm256_alignr_epi8(after, own, 1) : _mm256_alignr_epi8(after, own, 2);
}

static inline void remainder_open(const struct ink_compact_shape *s, uint64_t *w, unsigned slot,
				  unsigned count, uint32_t remainder)
{
	unsigned bytes = vector_bytes(s), from = (slot + 1) * bytes, to = (count + 1) * bytes;
	__m256i low = half_of(w, 0), high = half_of(w, 1);

	if (!bytes) {
		any_remainder_open(s, w, slot, count, remainder);
		return;
	}
	half_put(w, 0, _mm256_blendv_epi8(low, half_up(low, high, 0, bytes), bytes_between(0, from, to)));
	if (to > 32)
		half_put(w, 1,
			 _mm256_blendv_epi8(high, half_up(low, high, 1, bytes), bytes_between(1, from, to)));
	bits_put(w, slot * s->remainder_bits, s->remainder_bits, remainder);
}

static inline void remainder_close(const struct ink_compact_shape *s, uint64_t *w, unsigned slot,
				   unsigned count)
{
	unsigned bytes = vector_bytes(s), from = slot * bytes, to = (count - 1) * bytes;
	__m256i low = half_of(w, 0), high = half_of(w, 1);

	if (!bytes) {
		any_remainder_close(s, w, slot, count);
		return;
	}
	half_put(w, 0, _mm256_blendv_epi8(low, half_down(low, high, 0, bytes), bytes_between(0, from, to)));
	if (to > 32)
		half_put(
			w, 1,
			_mm256_blendv_epi8(high, half_down(low, high, 1, bytes), bytes_between(1, from, to)));
	bits_put(w, (count - 1) * s->remainder_bits, s->remainder_bits, 0);
}

/* ----------------------------------------------------------------------- planes */

/*
 * With 32 slots and remainders of 8 bits the planes are the first 32-bit lanes
 * of the second half, and the lanes behind them (metadata) must stay.
 */
static inline int planes_are_lanes(const struct ink_compact_shape *s)
{
	return s->slots == 32 && s->remainder_bits == 8;
}

static inline __m256i lane_numbers(void)
{
	return _mm256_set_epi32(7, 6, 5, 4, 3, 2, 1, 0);
}

/* All ones in the lanes that are planes. */
static inline __m256i plane_lanes(const struct ink_compact_shape *s)
{
	return _mm256_cmpgt_epi32(_mm256_set1_epi32((int)s->planes), lane_numbers());
}

/* Bit j of the code as bit 0 of lane j. */
static inline __m256i spread_code(unsigned code)
{
	return _mm256_and_si256(_mm256_srlv_epi32(_mm256_set1_epi32((int)code), lane_numbers()),
				_mm256_set1_epi32(1));
}

/* The slot's bit of every lane becomes the sign, and the signs make the code. */
static inline unsigned code_get(const struct ink_compact_shape *s, const uint64_t *w, unsigned slot)
{
	__m256i signs;

	if (!planes_are_lanes(s))
		return any_code_get(s, w, slot);
	signs = _mm256_sll_epi32(half_of(w, 1), _mm_cvtsi32_si128((int)(31 - slot)));
	return (unsigned)_mm256_movemask_ps(_mm256_castsi256_ps(signs)) & ((1u << s->planes) - 1);
}

static inline void code_put(const struct ink_compact_shape *s, uint64_t *w, unsigned slot, unsigned code)
{
	__m128i shift = _mm_cvtsi32_si128((int)slot);
	__m256i at, bits;

	if (!planes_are_lanes(s)) {
		any_code_put(s, w, slot, code);
		return;
	}
	at = _mm256_and_si256(plane_lanes(s), _mm256_set1_epi32((int)(1u << slot)));
	bits = _mm256_and_si256(plane_lanes(s), _mm256_sll_epi32(spread_code(code), shift));
	half_put(w, 1, _mm256_or_si256(_mm256_andnot_si256(at, half_of(w, 1)), bits));
}

static inline void planes_open(const struct ink_compact_shape *s, uint64_t *w, unsigned slot, unsigned code)
{
	__m256i lanes = half_of(w, 1), below = _mm256_set1_epi32((int)low_bits(slot)), opened;

	if (!planes_are_lanes(s)) {
		any_planes_open(s, w, slot, code);
		return;
	}
	opened = _mm256_or_si256(_mm256_and_si256(lanes, below),
				 _mm256_slli_epi32(_mm256_andnot_si256(below, lanes), 1));
	opened = _mm256_or_si256(opened, _mm256_sll_epi32(spread_code(code), _mm_cvtsi32_si128((int)slot)));
	half_put(w, 1, _mm256_blendv_epi8(lanes, opened, plane_lanes(s)));
}

static inline void planes_close(const struct ink_compact_shape *s, uint64_t *w, unsigned slot)
{
	__m256i lanes = half_of(w, 1), below = _mm256_set1_epi32((int)low_bits(slot)), closed;

	if (!planes_are_lanes(s)) {
		any_planes_close(s, w, slot);
		return;
	}
	closed = _mm256_or_si256(_mm256_and_si256(lanes, below),
				 _mm256_andnot_si256(below, _mm256_srli_epi32(lanes, 1)));
	half_put(w, 1, _mm256_blendv_epi8(lanes, closed, plane_lanes(s)));
}

#endif
