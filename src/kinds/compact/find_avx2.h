/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Compact lines with AVX2 and BMI2.
 *
 * A bit is selected by depositing one. Remainders of 8 and of 16 bits are
 * compared all at once and moved by shifting the whole line in registers. The
 * writer changes lines in place; other threads read copies (line_copy).
 */
#ifndef INKLING_KINDS_COMPACT_FIND_AVX2_H
#define INKLING_KINDS_COMPACT_FIND_AVX2_H

#include "engine/variant.h"

#if INK_AVX2

#include <immintrin.h>
#include <stddef.h>
#include <string.h>

#include "kinds/compact/compact.h"

/*
 * A word, and a line, that another thread may be changing. The writer changes
 * lines in place with vectors, for which C has no atomic accesses. An aligned word
 * of 8 bytes is never torn, and x86 does not reorder loads with one another; the
 * seqlock discards what was read while the line changed. ThreadSanitizer knows
 * nothing of that and would report the word's load beside the vector's store, so
 * under it the load is an instruction that it does not see. (As such an instruction
 * in all builds, single deletes and inserts took a fifth longer.)
 */
INK_HOT uint64_t word_glance(const uint64_t *word)
{
#ifdef __SANITIZE_THREAD__
	uint64_t seen;

	__asm__ volatile("movq %1, %0" : "=r"(seen) : "m"(*word));
	return seen;
#else
	return __atomic_load_n(word, __ATOMIC_ACQUIRE);
#endif
}

INK_HOT void line_copy(const struct compact_line *line, struct compact_line *copy)
{
	const __m256i *halves = (const __m256i *)(const void *)line;
	__m256i low, high;

	__asm__ volatile("vmovdqa %1, %0" : "=x"(low) : "m"(halves[0]));
	__asm__ volatile("vmovdqa %1, %0" : "=x"(high) : "m"(halves[1]));
	_mm256_store_si256((__m256i *)(void *)copy, low);
	_mm256_store_si256((__m256i *)(void *)copy + 1, high);
}

INK_HOT uint64_t *line_open(struct compact_line *line, struct compact_line *copy)
{
	(void)copy;
	return line->word;
}

INK_HOT void line_close(struct compact_line *line, const uint64_t *w)
{
	(void)line;
	(void)w;
}

INK_HOT unsigned select_bit(uint64_t bits, unsigned k)
{
	return (unsigned)_tzcnt_u64(_pdep_u64(1ull << k, bits));
}

/*
 * The bits of the window from a bit on, as many as there can be slots. The
 * address skips the whole bytes below it, at most eight: without a branch. (A
 * peek that finds the line half changed may ask for the bit behind the last.)
 */
INK_HOT uint64_t window_from(const uint64_t *w, unsigned at)
{
	unsigned bytes = (at / 8) & (7 + at / 64);
	uint64_t bits;

	memcpy(&bits, (const unsigned char *)(w + COMPACT_META_WORD) + bytes, sizeof bits);
	return bits >> (at - 8 * bytes) % 64;
}

/*
 * In the common shape the metadata begin with half a word. They are read from
 * there on, not by words: then no bits of others are among them but the flags,
 * which are last.
 */
INK_HOT int meta_is_halves(const struct ink_compact_shape *s)
{
	return s->slots == 32 && s->meta_start == 32;
}

/* 64 bits of them from a half on. */
INK_HOT uint64_t halves_from(const uint64_t *w, unsigned half)
{
	uint64_t bits;

	memcpy(&bits, (const unsigned char *)(w + COMPACT_META_WORD) + 4 * (1 + half), sizeof bits);
	return bits;
}

/* The metadata from that bit of theirs on, as many as there can be slots. */
INK_HOT uint64_t bits_from(const struct ink_compact_shape *s, const uint64_t *w, unsigned at)
{
	return meta_is_halves(s) ? halves_from(w, at / 32) >> at % 32 : window_from(w, s->meta_start + at);
}

INK_HOT unsigned ones_below_in_halves(const uint64_t *w, unsigned at)
{
	uint32_t last = (uint32_t)(w[COMPACT_META_WORD + 1] >> 32);
	unsigned below = at > 64 ? at - 64 : 0; /* in the last half */

	return (unsigned)(_mm_popcnt_u64(_bzhi_u64(halves_from(w, 0), at)) +
			  _mm_popcnt_u32(_bzhi_u32(last, below)));
}

/* The 1s of the metadata below a bit of the window. Is it in the second word, bzhi takes all of the first. */
INK_HOT unsigned ones_below(const struct ink_compact_shape *s, const uint64_t *w, unsigned at)
{
	uint64_t in_high = 0 - (uint64_t)(at >> 6), low, high;

	if (meta_is_halves(s))
		return ones_below_in_halves(w, at - s->meta_start);
	low = _bzhi_u64(w[COMPACT_META_WORD], at);
	high = _bzhi_u64(w[COMPACT_META_WORD + 1], at - 64) & in_high;
	return (unsigned)(_mm_popcnt_u64(low & s->meta[0]) +
			  _mm_popcnt_u64(high & (s->meta[1] | COMPACT_FLAGS))); /* flags are never below */
}

INK_HOT __m256i half_of(const uint64_t *w, unsigned half)
{
	return _mm256_load_si256((const __m256i *)(const void *)w + half);
}

INK_HOT void half_put(uint64_t *w, unsigned half, __m256i bytes)
{
	_mm256_store_si256((__m256i *)(void *)w + half, bytes);
}

/* --------------------------------------------------------------------- places */

INK_HOT __m256i in_each(uint64_t bits)
{
	return _mm256_set1_epi64x((long long)bits);
}

/* The upper 64 bits of 96: high and low, of which the lower halves count, times a factor. */
INK_HOT __m256i product(__m256i high, __m256i low, __m256i factor)
{
	return _mm256_add_epi64(_mm256_mul_epu32(high, factor),
				_mm256_srli_epi64(_mm256_mul_epu32(low, factor), 32));
}

INK_HOT __m256i others_of_four(uint32_t lines, __m256i first, __m256i stored)
{
	__m256i mixed = _mm256_add_epi64(
		_mm256_mul_epu32(stored, in_each(COMPACT_MIX >> 32)),
		_mm256_srli_epi64(_mm256_mul_epu32(stored, in_each((uint32_t)COMPACT_MIX)), 32));
	__m256i sums = _mm256_srli_epi64(_mm256_mul_epu32(mixed, in_each(lines)), 32);
	__m256i wraps = _mm256_and_si256(_mm256_cmpgt_epi64(first, sums), in_each(lines));

	return _mm256_add_epi64(_mm256_sub_epi64(sums, first), wraps);
}

/* compact_place for four ids. */
INK_HOT void places_of_four(const struct ink_compact_shape *s, uint32_t lines, const uint64_t *ids,
			    struct place *places)
{
	unsigned r = s->remainder_bits;
	__m256i four = _mm256_loadu_si256((const __m256i *)(const void *)ids);
	__m256i low = _mm256_mul_epu32(four, in_each(lines));
	__m256i digits = product(_mm256_srli_epi64(four, 32), four, in_each(lines));
	__m256i first = _mm256_srli_epi64(digits, 32), rest = product(digits, low, in_each(s->buckets));
	__m256i stored = _mm256_srl_epi64(rest, _mm_cvtsi32_si128((int)(32 - r)));
	__m256i remainders = _mm256_and_si256(stored, in_each(low_bits(r)));
	__m256i lines_of_each =
		_mm256_or_si256(first, _mm256_slli_epi64(others_of_four(lines, first, stored), 32));
	__m256i words = _mm256_slli_epi32(lines_of_each, COMPACT_WORD_BITS);
	__m256i in_them = _mm256_or_si256(_mm256_srli_epi64(rest, 32), _mm256_slli_epi64(remainders, 32));
	__m256i even = _mm256_unpacklo_epi64(words, in_them), odd = _mm256_unpackhi_epi64(words, in_them);
	__m256i *to = (__m256i *)(void *)places;

	_mm256_storeu_si256(to, _mm256_permute2x128_si256(even, odd, 0x20));
	_mm256_storeu_si256(to + 1, _mm256_permute2x128_si256(even, odd, 0x31));
}

INK_HOT void compact_places(const struct ink_compact_shape *s, uint32_t lines, const uint64_t *ids, size_t n,
			    struct place *places)
{
	size_t i = 0;

	for (; i + 4 <= n; i += 4)
		places_of_four(s, lines, ids + i, places + i);
	for (; i < n; i++)
		places[i] = compact_place(s, lines, ids[i]);
}

/* ---------------------------------------------------------------------- slots */

/* Bytes in a remainder that the vector code knows, or 0. */
INK_HOT unsigned vector_bytes(const struct ink_compact_shape *s)
{
	return s->remainder_bits == 8 ? 1 : s->remainder_bits == 16 ? 2 : 0;
}

INK_HOT uint32_t remainder_get(const struct ink_compact_shape *s, const uint64_t *w, unsigned slot)
{
	return any_remainder_get(s, w, slot);
}

INK_HOT int remainders_are_vectors(const struct ink_compact_shape *s)
{
	return vector_bytes(s) != 0;
}

/* Half a line is enough for up to 32 slots. */
INK_HOT uint64_t match_bytes(const struct ink_compact_shape *s, const uint64_t *w, uint32_t remainder)
{
	__m256i wanted = _mm256_set1_epi8((char)remainder);
	uint64_t slots = (uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(half_of(w, 0), wanted));

	if (s->slots > 32)
		slots |= (uint64_t)(uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(half_of(w, 1), wanted))
			 << 32;
	return slots & low_bits(s->slots);
}

/* One bit of each pair of bytes. */
INK_HOT uint64_t match_pairs(const struct ink_compact_shape *s, const uint64_t *w, uint32_t remainder)
{
	__m256i wanted = _mm256_set1_epi16((short)remainder);
	__m256i low = _mm256_cmpeq_epi16(half_of(w, 0), wanted),
		high = _mm256_cmpeq_epi16(half_of(w, 1), wanted);
	__m256i packed = _mm256_permute4x64_epi64(_mm256_packs_epi16(low, high), 0xd8);

	return (uint32_t)_mm256_movemask_epi8(packed) & low_bits(s->slots);
}

/* The slots that hold the remainder; free ones may be among them. */
INK_HOT uint64_t remainder_slots(const struct ink_compact_shape *s, const uint64_t *w, uint32_t remainder)
{
	return vector_bytes(s) == 1 ? match_bytes(s, w, remainder) : match_pairs(s, w, remainder);
}

/* ------------------------------------------------------------ moving remainders */

/* The numbers of the bytes of a half. */
INK_HOT __m256i byte_numbers(unsigned half)
{
	__m256i first = _mm256_set_epi8(31, 30, 29, 28, 27, 26, 25, 24, 23, 22, 21, 20, 19, 18, 17, 16, 15,
					14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);

	return _mm256_add_epi8(first, _mm256_set1_epi8((char)(half * 32)));
}

/* All ones in the bytes from .. to-1. */
INK_HOT __m256i bytes_between(unsigned half, unsigned from, unsigned to)
{
	__m256i numbers = byte_numbers(half);

	return _mm256_andnot_si256(_mm256_cmpgt_epi8(_mm256_set1_epi8((char)from), numbers),
				   _mm256_cmpgt_epi8(_mm256_set1_epi8((char)to), numbers));
}

/* The line's bytes moved up by one slot, in that half; zeros come in at the bottom. */
INK_HOT __m256i half_up(__m256i low, __m256i high, unsigned half, unsigned bytes)
{
	__m256i own = half ? high : low;
	__m256i before =
		half ? _mm256_permute2x128_si256(low, high, 0x21) : _mm256_permute2x128_si256(low, low, 0x08);

	return bytes == 1 ? _mm256_alignr_epi8(own, before, 15) : _mm256_alignr_epi8(own, before, 14);
}

INK_HOT __m256i half_down(__m256i low, __m256i high, unsigned half, unsigned bytes)
{
	__m256i own = half ? high : low;
	__m256i after = half ? _mm256_permute2x128_si256(high, high, 0x81)
			     : _mm256_permute2x128_si256(low, high, 0x21);

	return bytes == 1 ? _mm256_alignr_epi8(after, own, 1) : _mm256_alignr_epi8(after, own, 2);
}

INK_HOT void remainder_open(const struct ink_compact_shape *s, uint64_t *w, unsigned slot, unsigned count,
			    uint32_t remainder)
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

INK_HOT void remainder_close(const struct ink_compact_shape *s, uint64_t *w, unsigned slot, unsigned count)
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
INK_HOT int planes_are_lanes(const struct ink_compact_shape *s)
{
	return s->slots == 32 && s->remainder_bits == 8;
}

INK_HOT __m256i lane_numbers(void)
{
	return _mm256_set_epi32(7, 6, 5, 4, 3, 2, 1, 0);
}

/* All ones in the lanes that are planes. */
INK_HOT __m256i plane_lanes(const struct ink_compact_shape *s)
{
	return _mm256_cmpgt_epi32(_mm256_set1_epi32((int)s->planes), lane_numbers());
}

/* All ones in lane j for bit j of the code. */
INK_HOT __m256i spread_code(unsigned code)
{
	__m256i bits = _mm256_set_epi32(128, 64, 32, 16, 8, 4, 2, 1);

	return _mm256_cmpeq_epi32(_mm256_and_si256(_mm256_set1_epi32((int)code), bits), bits);
}

/* The slot's bit of every lane becomes the sign, and the signs make the code. */
INK_HOT unsigned code_get(const struct ink_compact_shape *s, const uint64_t *w, unsigned slot)
{
	__m256i signs;

	if (!planes_are_lanes(s))
		return any_code_get(s, w, slot);
	signs = _mm256_sll_epi32(half_of(w, 1), _mm_cvtsi32_si128((int)(31 ^ slot)));
	return (unsigned)_mm256_movemask_ps(_mm256_castsi256_ps(signs)) & ((1u << s->planes) - 1);
}

INK_HOT void code_put(const struct ink_compact_shape *s, uint64_t *w, unsigned slot, unsigned code)
{
	__m256i at = _mm256_and_si256(plane_lanes(s), _mm256_set1_epi32((int)(1u << slot % 32)));
	__m256i lanes = half_of(w, 1), flips = _mm256_xor_si256(lanes, spread_code(code));

	if (planes_are_lanes(s))
		half_put(w, 1, _mm256_xor_si256(lanes, _mm256_and_si256(flips, at)));
	else
		any_code_put(s, w, slot, code);
}

/* ---------------------------------------------------------------------- entries */

/*
 * In the common shape the second half of a line is eight lanes of 32 bits: the
 * planes, then the metadata with the flags on top. So to put an entry in or to
 * take one out is to move bits in all lanes from a place on, which is the slot
 * in a plane and slot + bucket in the metadata, where a bit that leaves one
 * lane enters the next.
 */
INK_HOT int half_is_lanes(const struct ink_compact_shape *s)
{
	return planes_are_lanes(s) && s->meta_start == (s->planes - 4) * 32;
}

INK_HOT __m256i flag_bits(void)
{
	return _mm256_set_epi32((int)(uint32_t)(COMPACT_FLAGS >> 32), 0, 0, 0, 0, 0, 0, 0);
}

/* The place in every lane, counted from the beginning of the plane or of the metadata. */
INK_HOT __m256i lane_places(const struct ink_compact_shape *s, unsigned slot, uint32_t bucket)
{
	__m256i buckets = _mm256_andnot_si256(plane_lanes(s), _mm256_set1_epi32((int)bucket));

	return _mm256_add_epi32(_mm256_set1_epi32((int)slot), buckets);
}

/* Where the lanes begin, counted so. */
INK_HOT __m256i lane_starts(const struct ink_compact_shape *s)
{
	__m256i metadata = _mm256_sub_epi32(lane_numbers(), _mm256_set1_epi32((int)s->planes));

	return _mm256_andnot_si256(plane_lanes(s), _mm256_slli_epi32(metadata, 5));
}

/* The bits of the lanes below the places. A lane that is wholly below has all, and one wholly above none. */
INK_HOT __m256i lanes_below(const struct ink_compact_shape *s, __m256i places)
{
	__m256i ends = _mm256_add_epi32(lane_starts(s), _mm256_set1_epi32(32));
	__m256i above = _mm256_max_epi32(_mm256_sub_epi32(ends, places), _mm256_setzero_si256());

	return _mm256_srlv_epi32(_mm256_set1_epi32(-1), above);
}

/* The bit at the place, in lanes that have it. */
INK_HOT __m256i lane_bits(const struct ink_compact_shape *s, __m256i places)
{
	return _mm256_sllv_epi32(_mm256_set1_epi32(1), _mm256_sub_epi32(places, lane_starts(s)));
}

/* What is added to itself moves up. The line is not full: nothing leaves a plane, or the metadata. */
INK_HOT __m256i lanes_open(const struct ink_compact_shape *s, __m256i lanes, unsigned slot, struct entry e)
{
	__m256i places = lane_places(s, slot, e.bucket);
	__m256i still = _mm256_or_si256(lanes_below(s, places), flag_bits());
	__m256i moved = _mm256_andnot_si256(still, lanes);
	__m256i carried = _mm256_slli_si256(_mm256_srli_epi32(moved, 31), 4);
	__m256i ones =
		_mm256_or_si256(spread_code(e.code), _mm256_xor_si256(plane_lanes(s), _mm256_set1_epi32(-1)));
	__m256i entered = _mm256_or_si256(carried, _mm256_and_si256(ones, lane_bits(s, places)));

	return _mm256_add_epi32(_mm256_add_epi32(lanes, moved), entered);
}

INK_HOT __m256i lanes_close(const struct ink_compact_shape *s, __m256i lanes, unsigned slot, uint32_t bucket)
{
	__m256i bits = _mm256_andnot_si256(flag_bits(), lanes);
	__m256i carried = _mm256_slli_epi32(_mm256_srli_si256(bits, 4), 31);
	__m256i moved =
		_mm256_or_si256(_mm256_srli_epi32(bits, 1), _mm256_andnot_si256(plane_lanes(s), carried));
	__m256i below = lanes_below(s, lane_places(s, slot, bucket));

	return _mm256_xor_si256(lanes, _mm256_andnot_si256(below, _mm256_xor_si256(bits, moved)));
}

/*
 * The remainders are moved as they lie, from the slot on; that runs over into
 * the second half, which is written afterwards.
 */
INK_HOT void halves_open(const struct ink_compact_shape *s, uint64_t *w, unsigned slot, struct entry e)
{
	unsigned char *from = (unsigned char *)w + slot;
	__m256i bytes = _mm256_loadu_si256((const __m256i *)(const void *)from), lanes = half_of(w, 1);

	_mm256_storeu_si256((__m256i *)(void *)(from + 1), bytes);
	half_put(w, 1, lanes_open(s, lanes, slot, e));
	*from = (unsigned char)e.remainder;
}

INK_HOT void halves_close(const struct ink_compact_shape *s, uint64_t *w, unsigned slot, uint32_t bucket)
{
	unsigned char *to = (unsigned char *)w + slot;
	__m256i bytes = _mm256_loadu_si256((const __m256i *)(const void *)(to + 1)), lanes = half_of(w, 1);

	_mm256_storeu_si256((__m256i *)(void *)to, bytes);
	half_put(w, 1, lanes_close(s, lanes, slot, bucket));
	((unsigned char *)w)[31] = 0; /* the last slot is free now */
}

INK_HOT void entry_open(const struct ink_compact_shape *s, uint64_t *w, unsigned slot, struct entry e)
{
	if (half_is_lanes(s)) {
		halves_open(s, w, slot, e);
		return;
	}
	remainder_open(s, w, slot, line_count(s, w), e.remainder);
	any_planes_open(s, w, slot, e.code);
	meta_open(s, w, meta_of(s, slot, e.bucket));
}

INK_HOT void entry_close(const struct ink_compact_shape *s, uint64_t *w, unsigned slot, uint32_t bucket)
{
	if (half_is_lanes(s)) {
		halves_close(s, w, slot, bucket);
		return;
	}
	remainder_close(s, w, slot, line_count(s, w));
	any_planes_close(s, w, slot);
	meta_close(s, w, meta_of(s, slot, bucket));
}

#endif

#endif
