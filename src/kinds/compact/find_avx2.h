/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Compact lines with AVX2 and BMI2.
 *
 * A bit is selected by depositing one. The first bytes of all entries are compared
 * at once. To put an entry in or to take one out, a line is loaded into two registers:
 * its columns move by a byte, its fields by their width, its metadata by a bit, and
 * what lies before the place stays, by masks that the place gives. Offsets of the shape
 * are all that differs, so one code serves every width. The writer changes lines in
 * place; other threads read copies (line_copy).
 */
#ifndef INKLING_KINDS_COMPACT_FIND_AVX2_H
#define INKLING_KINDS_COMPACT_FIND_AVX2_H

#include "engine/variant.h"

#if INK_AVX2

#include <immintrin.h>
#include <stddef.h>
#include <string.h>

#include "kinds/compact/family.h"

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

/* The metadata from that bit of theirs on, as many as there can be slots. */
INK_HOT uint64_t bits_from(const struct ink_compact_shape *s, const uint64_t *w, unsigned at)
{
	return window_from(w, s->meta_start + at);
}

/* The 1s of the metadata below a bit of the window. Is it in the second word, bzhi takes all of the first. */
INK_HOT unsigned ones_below(const struct ink_compact_shape *s, const uint64_t *w, unsigned at)
{
	uint64_t in_high = 0 - (uint64_t)(at >> 6), low, high;

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

/* -------------------------------------------------------------------- searching */

/*
 * Where one comparison covers the first bytes of all entries, the whole line is compared,
 * and then the buckets of the matches are checked. Remainders of 6 bits and less have so
 * many matches that checking them costs more, in mispredicted branches, than finding the
 * bucket first: hits at 6 bits take 20.4 ns instead of 21.6; at 7 bits they would take
 * 18.6 instead of 16.8.
 */
INK_HOT enum search search_of(const struct ink_compact_shape *s)
{
	if (!columns_of(s))
		return SEARCH_BUCKET;
	return s->remainder_bits < 7 ? SEARCH_BYTES_IN_BUCKET : SEARCH_BYTES;
}

/* The bytes of a half that agree with the remainder in as many bits as a byte has of it. */
INK_HOT uint32_t half_matches(const struct ink_compact_shape *s, const uint64_t *w, unsigned half,
			      uint32_t remainder)
{
	__m256i wanted = _mm256_set1_epi8((char)remainder), bytes = half_of(w, half);

	if (s->remainder_bits < 8)
		bytes = _mm256_and_si256(bytes, _mm256_set1_epi8((char)s->remainder_mask));
	return (uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(bytes, wanted));
}

/* The slots whose first byte agrees with the remainder; free ones may be among them. */
INK_HOT uint64_t remainder_slots(const struct ink_compact_shape *s, const uint64_t *w, uint32_t remainder)
{
	uint64_t slots = half_matches(s, w, 0, remainder);

	if (!has_few_slots(s)) /* half a line is enough for up to 32 */
		slots |= (uint64_t)half_matches(s, w, 1, remainder) << 32;
	return slots & s->all_slots;
}

/* ---------------------------------------------------------------------- entries */

/* A field and its first bit lie within two bytes. */
INK_HOT unsigned field_at(const struct ink_compact_shape *s, unsigned slot)
{
	return s->fields_at + slot * s->field_bits;
}

INK_HOT uint64_t field_get(const struct ink_compact_shape *s, const uint64_t *w, unsigned slot)
{
	unsigned at = field_at(s, slot);
	uint16_t two;

	memcpy(&two, (const unsigned char *)w + at / 8, sizeof two);
	return (uint64_t)two >> at % 8 & s->field_mask;
}

INK_HOT void field_put(const struct ink_compact_shape *s, uint64_t *w, unsigned slot, uint64_t field)
{
	unsigned at = field_at(s, slot);
	unsigned char *bytes = (unsigned char *)w + at / 8;
	uint16_t two;

	memcpy(&two, bytes, sizeof two);
	two = (uint16_t)((two & ~((uint64_t)s->field_mask << at % 8)) | field << at % 8);
	memcpy(bytes, &two, sizeof two);
}

INK_HOT unsigned char *column_byte(const struct ink_compact_shape *s, uint64_t *w, unsigned k, unsigned slot)
{
	return (unsigned char *)w + k * s->slots + slot;
}

INK_HOT uint64_t packed_get(const struct ink_compact_shape *s, const uint64_t *w, unsigned slot)
{
	uint64_t packed = field_get(s, w, slot);

	for (unsigned k = columns_of(s); k-- > 0;)
		packed = packed << 8 | *column_byte(s, (uint64_t *)w, k, slot);
	return packed;
}

INK_HOT void columns_put(const struct ink_compact_shape *s, uint64_t *w, unsigned slot, uint64_t packed)
{
	for (unsigned k = 0; k < columns_of(s); k++, packed >>= 8)
		*column_byte(s, w, k, slot) = (unsigned char)packed;
}

INK_HOT void packed_put(const struct ink_compact_shape *s, uint64_t *w, unsigned slot, uint64_t packed)
{
	columns_put(s, w, slot, packed);
	if (s->field_bits)
		field_put(s, w, slot, packed >> 8 * columns_of(s));
}

/* Eight bits that are `stride` apart, side by side; and back. */
INK_HOT unsigned bits_gather(uint64_t bits, unsigned stride)
{
	return (unsigned)_pext_u64(bits, stride_bits[stride]);
}

INK_HOT uint64_t bits_scatter(unsigned byte, unsigned stride)
{
	return _pdep_u64(byte, stride_bits[stride]);
}

/* ---------------------------------------------------------------- moving columns */

struct halves {
	__m256i low, high;
};

INK_HOT __m256i column_places(const struct ink_compact_shape *s, unsigned half)
{
	return _mm256_loadu_si256((const __m256i *)(const void *)s->places + half);
}

INK_HOT int columns_reach_high(const struct ink_compact_shape *s)
{
	return IS_COMMON_SHAPE ? s->columns * s->slots > 32 : columns_of(s) > 1 || !has_few_slots(s);
}

/* The line's bytes moved up by one, in that half; a zero comes in at the bottom. */
INK_HOT __m256i half_up(struct halves x, unsigned half)
{
	return half ? _mm256_alignr_epi8(x.high, _mm256_permute2x128_si256(x.low, x.high, 0x21), 15)
		    : _mm256_alignr_epi8(x.low, _mm256_permute2x128_si256(x.low, x.low, 0x08), 15);
}

INK_HOT __m256i half_down(struct halves x, unsigned half)
{
	return half ? _mm256_alignr_epi8(_mm256_permute2x128_si256(x.high, x.high, 0x81), x.high, 1)
		    : _mm256_alignr_epi8(_mm256_permute2x128_si256(x.low, x.high, 0x21), x.low, 1);
}

/* All ones in the bytes of columns from that slot on. */
INK_HOT __m256i column_bytes_from(const struct ink_compact_shape *s, unsigned half, unsigned slot)
{
	return _mm256_cmpgt_epi8(column_places(s, half), _mm256_set1_epi8((char)((int)slot - 1)));
}

/* From the slot on, which is written later, columns move up. */
INK_HOT struct halves columns_open(const struct ink_compact_shape *s, struct halves x, unsigned slot)
{
	struct halves moved = x;

	moved.low = _mm256_blendv_epi8(x.low, half_up(x, 0), column_bytes_from(s, 0, slot));
	if (columns_reach_high(s))
		moved.high = _mm256_blendv_epi8(x.high, half_up(x, 1), column_bytes_from(s, 1, slot));
	return moved;
}

/* Into the slot columns move down; their last byte is cleared later. */
INK_HOT struct halves columns_close(const struct ink_compact_shape *s, struct halves x, unsigned slot)
{
	struct halves moved = x;

	moved.low = _mm256_blendv_epi8(x.low, half_down(x, 0), column_bytes_from(s, 0, slot));
	if (columns_reach_high(s))
		moved.high = _mm256_blendv_epi8(x.high, half_down(x, 1), column_bytes_from(s, 1, slot));
	return moved;
}

/* ----------------------------------------------------------------- moving fields */

/* The bits of four words from a place on; `past` is the place, counted from the beginning of each word. */
INK_HOT __m256i bits_above(__m256i past)
{
	return _mm256_sllv_epi64(_mm256_set1_epi64x(-1), _mm256_max_epi32(past, _mm256_setzero_si256()));
}

/* The words moved by one. */
INK_HOT __m256i words_up(__m256i words)
{
	return _mm256_blend_epi32(_mm256_permute4x64_epi64(words, 0x90), _mm256_setzero_si256(), 0x03);
}

INK_HOT __m256i words_down(__m256i words)
{
	return _mm256_blend_epi32(_mm256_permute4x64_epi64(words, 0xf9), _mm256_setzero_si256(), 0xc0);
}

/* Where a field begins, counted from each of the four words. */
INK_HOT __m256i field_past(const struct ink_compact_shape *s, unsigned slot)
{
	unsigned at = field_at(s, slot) - 64 * compact_fields_word(s);

	return _mm256_sub_epi64(in_each(at), _mm256_set_epi64x(192, 128, 64, 0));
}

/* The bits of the four words that are fields and not below the place. */
INK_HOT __m256i field_bits_above(const struct ink_compact_shape *s, __m256i past)
{
	__m256i fields = _mm256_loadu_si256((const __m256i *)(const void *)s->fields);

	return _mm256_and_si256(fields, bits_above(past));
}

/* A field in the words where it is: in one, or in two, of which the second begins within it. */
INK_HOT __m256i field_in_words(__m256i past, uint64_t field)
{
	__m256i from = _mm256_sub_epi64(_mm256_setzero_si256(), past);

	return _mm256_or_si256(_mm256_sllv_epi64(in_each(field), past),
			       _mm256_srlv_epi64(in_each(field), from));
}

/* The line is not full: nothing leaves the last field. */
INK_HOT __m256i fields_open(const struct ink_compact_shape *s, __m256i words, unsigned slot, uint64_t field)
{
	__m128i n = _mm_cvtsi32_si128((int)s->field_bits),
		rest = _mm_cvtsi32_si128((int)(64 - s->field_bits));
	__m256i past = field_past(s, slot), moved = _mm256_and_si256(words, field_bits_above(s, past));
	__m256i up = _mm256_or_si256(_mm256_sll_epi64(moved, n), words_up(_mm256_srl_epi64(moved, rest)));

	/* The last field is that of a free slot, and 0; not in a forged table that is trusted. */
	up = _mm256_and_si256(up, _mm256_loadu_si256((const __m256i *)(const void *)s->fields));
	return _mm256_or_si256(_mm256_xor_si256(words, moved),
			       _mm256_or_si256(up, field_in_words(past, field)));
}

INK_HOT __m256i fields_close(const struct ink_compact_shape *s, __m256i words, unsigned slot)
{
	__m128i n = _mm_cvtsi32_si128((int)s->field_bits),
		rest = _mm_cvtsi32_si128((int)(64 - s->field_bits));
	__m256i above = field_bits_above(s, field_past(s, slot)), moved = _mm256_and_si256(words, above);
	__m256i down = _mm256_or_si256(_mm256_srl_epi64(moved, n), words_down(_mm256_sll_epi64(moved, rest)));

	return _mm256_or_si256(_mm256_xor_si256(words, moved), _mm256_and_si256(down, above));
}

/* Words 3 to 6, if the fields are there: these overlap with both halves. */
INK_HOT __m256i fields_load(const struct ink_compact_shape *s, const uint64_t *w, __m256i high)
{
	if (compact_fields_word(s) == 4)
		return high;
	return _mm256_loadu_si256((const __m256i *)(const void *)(w + 3));
}

/* Puts them into the halves: in the first, what is not a column. */
INK_HOT struct halves fields_merge(const struct ink_compact_shape *s, struct halves x, __m256i fields)
{
	__m256i turned = _mm256_permute4x64_epi64(fields, 0x39); /* words 4, 5, 6 and 3 */

	if (compact_fields_word(s) == 4)
		return (struct halves){x.low, fields};
	return (struct halves){_mm256_blendv_epi8(x.low, turned, column_places(s, 0)),
			       _mm256_blend_epi32(turned, x.high, 0xc0)};
}

/* --------------------------------------------------------------- moving metadata */

/* A place of the metadata, counted from words 6 and 7, which are the upper ones of this half. */
INK_HOT __m256i meta_past(const struct ink_compact_shape *s, unsigned slot, uint32_t bucket)
{
	return _mm256_sub_epi64(in_each(meta_of(s, slot, bucket)), _mm256_set_epi64x(64, 0, -256, -256));
}

INK_HOT __m256i meta_bits_above(const struct ink_compact_shape *s, __m256i past)
{
	__m128i meta = _mm_loadu_si128((const __m128i *)(const void *)s->meta);

	return _mm256_and_si256(bits_above(past), _mm256_inserti128_si256(_mm256_setzero_si256(), meta, 1));
}

INK_HOT __m256i meta_opened(const struct ink_compact_shape *s, __m256i high, unsigned slot, uint32_t bucket)
{
	__m256i past = meta_past(s, slot, bucket);
	__m256i moved = _mm256_and_si256(high, meta_bits_above(s, past));
	__m256i carried = _mm256_slli_si256(_mm256_srli_epi64(moved, 63), 8);
	__m256i entered = _mm256_or_si256(carried, _mm256_sllv_epi64(in_each(1), past));

	return _mm256_or_si256(_mm256_add_epi64(high, moved), entered);
}

INK_HOT __m256i meta_closed(const struct ink_compact_shape *s, __m256i high, unsigned slot, uint32_t bucket)
{
	__m256i above = meta_bits_above(s, meta_past(s, slot, bucket)), moved = _mm256_and_si256(high, above);
	__m256i carried = _mm256_srli_si256(_mm256_slli_epi64(moved, 63), 8);
	__m256i down = _mm256_or_si256(_mm256_srli_epi64(moved, 1), carried);

	return _mm256_or_si256(_mm256_xor_si256(high, moved), _mm256_and_si256(down, above));
}

/* ------------------------------------------------------------------ moving entries */

INK_HOT struct halves halves_of(const uint64_t *w)
{
	return (struct halves){half_of(w, 0), half_of(w, 1)};
}

INK_HOT void halves_put(uint64_t *w, struct halves x)
{
	half_put(w, 0, x.low);
	half_put(w, 1, x.high);
}

INK_HOT void entry_open(const struct ink_compact_shape *s, uint64_t *w, unsigned slot, struct entry e)
{
	uint64_t packed = entry_pack(s, e.remainder, e.code);
	struct halves x = halves_of(w), moved;

	if (!moves_by_vectors(s)) {
		any_entry_open(s, w, slot, e);
		return;
	}
	moved = columns_open(s, x, slot);
	if (s->field_bits)
		moved = fields_merge(
			s, moved,
			fields_open(s, fields_load(s, w, moved.high), slot, packed >> 8 * columns_of(s)));
	moved.high = meta_opened(s, moved.high, slot, e.bucket);
	halves_put(w, moved);
	columns_put(s, w, slot, packed);
}

INK_HOT void entry_close(const struct ink_compact_shape *s, uint64_t *w, unsigned slot, uint32_t bucket)
{
	struct halves x = halves_of(w), moved;

	if (!moves_by_vectors(s)) {
		any_entry_close(s, w, slot, bucket);
		return;
	}
	moved = columns_close(s, x, slot);
	if (s->field_bits)
		moved = fields_merge(s, moved, fields_close(s, fields_load(s, w, moved.high), slot));
	moved.high = meta_closed(s, moved.high, slot, bucket);
	halves_put(w, moved);
	columns_put(s, w, s->slots - 1, 0);
}

#endif

#endif
