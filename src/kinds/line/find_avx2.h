/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Searching lines with AVX2: half a line at a time, all columns at once; of smaller
 * parts, both parts of a flow at once.
 *
 * Threads: C has no atomic loads of vectors, so the loads are instructions of their
 * own, about which the compiler takes nothing for granted. Processors with AVX2
 * never tear an aligned 8-byte word, and a word is all that an entry needs.
 */
#ifndef INKLING_KINDS_LINE_FIND_AVX2_H
#define INKLING_KINDS_LINE_FIND_AVX2_H

#include "engine/variant.h"

#if INK_AVX2

#include <immintrin.h>
#include <stddef.h>

#include "kinds/line/known.h"
#include "kinds/line/slots.h"
#include "table/table.h"

/* Four words: half a line. */
INK_HOT __m256i half_at(const uint64_t *words)
{
	const __m256i *half = (const __m256i *)(const void *)words;
	__m256i four;

	__asm__("vmovdqa %1, %0" : "=x"(four) : "m"(*half));
	return four;
}

/* Two words: a quarter. */
INK_HOT __m128i quarter_at(const uint64_t *words)
{
	const __m128i *quarter = (const __m128i *)(const void *)words;
	__m128i two;

	__asm__("vmovdqa %1, %0" : "=x"(two) : "m"(*quarter));
	return two;
}

/* Two words that may stand anywhere. */
INK_HOT __m128i two_words(const uint64_t *first, const uint64_t *second)
{
	__m128i one, two;

	__asm__("vmovq %1, %0" : "=x"(one) : "m"(*first));
	__asm__("vpinsrq $1, %2, %1, %0" : "=x"(two) : "x"(one), "m"(*second));
	return two;
}

INK_HOT __m256i every_word(uint64_t bits)
{
	return _mm256_set1_epi64x((long long)bits);
}

/* --------------------------------------------------------------------- places */

/* The upper halves of 32 x 32 bit products, in four 64-bit lanes. */
INK_HOT __m256i scaled(__m256i bits, uint32_t factor)
{
	return _mm256_srli_epi64(_mm256_mul_epu32(bits, every_word(factor)), 32);
}

INK_HOT __m256i four_fingerprints(const struct ink_line_shape *s, __m256i ids)
{
	__m256i product = _mm256_mul_epu32(ids, every_word(s->tag_mask));
	__m256i tags = _mm256_add_epi64(_mm256_srli_epi64(product, 32), every_word(1));
	__m256i left = _mm256_and_si256(product, every_word(0xffffffff));
	__m256i above = _mm256_srl_epi64(left, _mm_cvtsi32_si128((int)s->above_shift));

	if (s->fp_bits == s->tag_bits)
		return tags;
	return _mm256_add_epi64(tags, _mm256_sll_epi64(above, _mm_cvtsi32_si128((int)s->tag_bits)));
}

INK_HOT __m256i four_others(const struct ink_line_shape *s, __m256i parts, __m256i fingerprints)
{
	__m256i sums = scaled(_mm256_mul_epu32(fingerprints, every_word(INK_LINE_MIX)), s->parts);
	__m256i wraps = _mm256_and_si256(_mm256_cmpgt_epi64(parts, sums), every_word(s->parts));

	return _mm256_add_epi64(_mm256_sub_epi64(sums, parts), wraps);
}

/* The other parts of the entries of a word, if they stood in that part; of a lane that is not there, any part. */
INK_HOT void word_others(const struct ink_line_shape *s, uint32_t part, uint64_t word, uint64_t others[4])
{
	__m256i columns = _mm256_cvtepu16_epi64(_mm_cvtsi64_si128((long long)word));

	if (s->column_bits == 16 && s->fp_bits == 16)
		_mm256_storeu_si256((__m256i *)(void *)others, four_others(s, every_word(part), columns));
	else
		word_others_one_by_one(s, part, word, others);
}

/* line_place for four ids. */
INK_HOT void four_places(const struct ink_line_shape *s, const uint64_t *ids, struct line_place *places)
{
	__m256i four = _mm256_loadu_si256((const __m256i *)(const void *)ids);
	__m256i fingerprints = four_fingerprints(s, four),
		first = scaled(_mm256_srli_epi64(four, 32), s->parts);
	__m256i both = _mm256_or_si256(first, _mm256_slli_epi64(four_others(s, first, fingerprints), 32));
	__m256i words = _mm256_mullo_epi32(both, _mm256_set1_epi32((int)s->words));
	__m256i rest = _mm256_or_si256(fingerprints, every_word((uint64_t)LINE_NOT_SEEN << 32));
	__m256i even = _mm256_unpacklo_epi64(words, rest), odd = _mm256_unpackhi_epi64(words, rest);
	__m256i *to = (__m256i *)(void *)places;

	_mm256_storeu_si256(to, _mm256_permute2x128_si256(even, odd, 0x20));
	_mm256_storeu_si256(to + 1, _mm256_permute2x128_si256(even, odd, 0x31));
}

INK_HOT void line_places(const struct ink_line_shape *s, const uint64_t *ids, size_t n,
			 struct line_place *places)
{
	size_t i = 0;

	for (; i + 4 <= n; i += 4)
		four_places(s, ids + i, places + i);
	for (; i < n; i++)
		places[i] = line_place(s, ids[i]);
}

/* ------------------------------------------------------------------- searching */

/* All ones in the columns with the tag of that fingerprint, of 0: the empty ones; and, for 0, the fourth of three. */
INK_HOT __m256i equal_columns(const struct ink_line_shape *s, __m256i words, uint32_t fingerprint)
{
	__m256i tags = s->tag_bits < s->column_bits ? _mm256_and_si256(words, every_word(s->tags)) : words;

	if (s->column_bits == 32)
		return _mm256_cmpeq_epi32(tags, _mm256_set1_epi32((int)fingerprint));
	return _mm256_cmpeq_epi16(tags, _mm256_set1_epi16((short)fingerprint));
}

/* The same in two words. */
INK_HOT __m128i equal_in_two(const struct ink_line_shape *s, __m128i words, uint32_t fingerprint)
{
	__m128i tags = words;

	if (s->tag_bits < s->column_bits)
		tags = _mm_and_si128(words, _mm_set1_epi64x((long long)s->tags));
	if (s->column_bits == 32)
		return _mm_cmpeq_epi32(tags, _mm_set1_epi32((int)fingerprint));
	return _mm_cmpeq_epi16(tags, _mm_set1_epi16((short)fingerprint));
}

/* The first of some slots of two parts, or LINE_NO_ROOM. */
INK_HOT uint32_t first_slot(uint64_t slots)
{
	return (uint32_t)_tzcnt_u64(slots);
}

/* Slots, and bits between them. Packing takes the words in the order of slots.h. */
INK_HOT uint32_t line_matches(const struct ink_line_shape *s, const struct ink_line *line,
			      uint32_t fingerprint)
{
	__m256i low = equal_columns(s, half_at(line->word), fingerprint);
	__m256i high = equal_columns(s, half_at(line->word + 4), fingerprint);

	return (uint32_t)_mm256_movemask_epi8(_mm256_packs_epi16(low, high));
}

INK_HOT uint32_t line_slots(const struct ink_line_shape *s, const struct ink_line *line, uint32_t fingerprint)
{
	return line_matches(s, line, fingerprint) & (uint32_t)s->slots;
}

/* ----------------------------------------------------------- searching two parts */

INK_HOT const struct ink_line *as_line(const uint64_t *words)
{
	return (const struct ink_line *)(const void *)words;
}

INK_HOT uint64_t pair_of_lines(const struct ink_line_shape *s, const uint64_t *first, const uint64_t *second,
			       uint32_t fingerprint)
{
	uint64_t above = line_matches(s, as_line(second), fingerprint);

	return line_matches(s, as_line(first), fingerprint) | above << 32;
}

INK_HOT uint64_t pair_of_halves(const struct ink_line_shape *s, const uint64_t *first, const uint64_t *second,
				uint32_t fingerprint)
{
	__m256i in_first = equal_columns(s, half_at(first), fingerprint);
	__m256i in_second = equal_columns(s, half_at(second), fingerprint);

	return (uint32_t)_mm256_movemask_epi8(_mm256_packs_epi16(in_first, in_second));
}

INK_HOT uint64_t pair_of_quarters(const struct ink_line_shape *s, const uint64_t *first,
				  const uint64_t *second, uint32_t fingerprint)
{
	__m128i in_first = equal_in_two(s, quarter_at(first), fingerprint);
	__m128i in_second = equal_in_two(s, quarter_at(second), fingerprint);

	return (uint32_t)_mm_movemask_epi8(_mm_packs_epi16(in_first, in_second));
}

INK_HOT uint64_t pair_of_words(const struct ink_line_shape *s, const uint64_t *first, const uint64_t *second,
			       uint32_t fingerprint)
{
	__m128i in_both = equal_in_two(s, two_words(first, second), fingerprint);

	return (uint32_t)_mm_movemask_epi8(_mm_packs_epi16(in_both, _mm_setzero_si128()));
}

/* The slots of both parts with the tag of that fingerprint; of 0: the free ones. */
INK_HOT uint64_t pair_slots(const struct ink_line_shape *s, const uint64_t *first, const uint64_t *second,
			    uint32_t fingerprint)
{
	if (s->words == 8)
		return pair_of_lines(s, first, second, fingerprint) & s->slots;
	if (s->words == 4)
		return pair_of_halves(s, first, second, fingerprint) & s->slots;
	if (s->words == 2)
		return pair_of_quarters(s, first, second, fingerprint) & s->slots;
	return pair_of_words(s, first, second, fingerprint) & s->slots;
}

/* Those of one part, as if it were the first of two. */
INK_HOT uint32_t part_slots(const struct ink_line_shape *s, const uint64_t *part, uint32_t fingerprint)
{
	if (s->words == 8)
		return line_slots(s, as_line(part), fingerprint);
	return (uint32_t)(pair_slots(s, part, part, fingerprint) & first_slots(s));
}

INK_HOT int pair_of_lines_may_have(const struct ink_line_shape *s, const uint64_t *first,
				   const uint64_t *second, uint32_t fingerprint)
{
	__m256i in_first = _mm256_or_si256(equal_columns(s, half_at(first), fingerprint),
					   equal_columns(s, half_at(first + 4), fingerprint));
	__m256i in_second = _mm256_or_si256(equal_columns(s, half_at(second), fingerprint),
					    equal_columns(s, half_at(second + 4), fingerprint));
	__m256i in_any = _mm256_or_si256(in_first, in_second);

	return !_mm256_testz_si256(in_any, in_any);
}

INK_HOT int pair_of_halves_may_have(const struct ink_line_shape *s, const uint64_t *first,
				    const uint64_t *second, uint32_t fingerprint)
{
	__m256i in_any = _mm256_or_si256(equal_columns(s, half_at(first), fingerprint),
					 equal_columns(s, half_at(second), fingerprint));

	return !_mm256_testz_si256(in_any, in_any);
}

/* Of quarters and of words. */
INK_HOT int pair_of_small_may_have(const struct ink_line_shape *s, const uint64_t *first,
				   const uint64_t *second, uint32_t fingerprint)
{
	__m128i in_any;

	if (s->words == 1)
		in_any = equal_in_two(s, two_words(first, second), fingerprint);
	else
		in_any = _mm_or_si128(equal_in_two(s, quarter_at(first), fingerprint),
				      equal_in_two(s, quarter_at(second), fingerprint));
	return !_mm_testz_si128(in_any, in_any);
}

/* The free slots of parts of one word, one for each lane, by their numbers: four for each. */
INK_HOT uint32_t words_free(const struct ink_line_shape *s, const uint64_t *all, const uint64_t parts[4])
{
	__m128i low = equal_in_two(s, two_words(all + parts[0], all + parts[1]), 0);
	uint32_t third = s->lanes > 2 ? 2 : 0, fourth = s->lanes > 3 ? 3 : 0; /* or any */
	__m128i high = equal_in_two(s, two_words(all + parts[third], all + parts[fourth]), 0);
	uint32_t free = (uint32_t)_mm_movemask_epi8(_mm_packs_epi16(low, high));

	return free & (s->lanes == 4 ? 0xffff : s->lanes == 3 ? 0x777 : 0x55);
}

/* Could the fingerprint be in either part? For most that are not, what decides is one test. */
INK_HOT int pair_may_have(const struct ink_line_shape *s, const uint64_t *first, const uint64_t *second,
			  uint32_t fingerprint)
{
	if (s->words == 8)
		return pair_of_lines_may_have(s, first, second, fingerprint);
	if (s->words == 4)
		return pair_of_halves_may_have(s, first, second, fingerprint);
	return pair_of_small_may_have(s, first, second, fingerprint);
}

/* --------------------------------------------------------------------- codes */

/* The bits of the code in a lane, if it has 6 of them. */
static const uint64_t six_codes[] = {0x001f000000008000, 0x03e0000080000000, 0x7c00800000000000};

/*
 * As ink_line_code and ink_line_recode. What takes a split code of 6 bits many shifts is
 * one instruction; a code of few bits is the upper end of the rest, of which the lower
 * end is compared with the fingerprint.
 */
INK_HOT uint32_t word_code(const struct ink_line_shape *s, uint64_t word, uint32_t column)
{
	if (INK_SIX)
		return (uint32_t)_pext_u64(word, six_codes[column / 16]);
	if (INK_FEW)
		return ((uint32_t)(word >> ink_line_rest_at(s, column)) & s->rest_mask) >> s->above_bits;
	return ink_line_code(s, word, column);
}

INK_HOT uint64_t word_recode(const struct ink_line_shape *s, uint64_t word, uint32_t column, uint32_t change)
{
	return INK_SIX ? word ^ _pdep_u64(change, six_codes[column / 16])
		       : ink_line_recode(s, word, column, change);
}

/* --------------------------------------------------------------------- marks */

/*
 * What is needed to look at line after line. The codes of all lanes are brought
 * to the low ends of their columns:
 *
 *     the 16 bits of a word in which a code ends    a shuffle: the upper half of the column,
 *                                                   the column, or the fourth one
 *     their upper bits, up to the code's last       a product with a power of two, and a shift
 *     where a code begins in the column and ends    the part that is in the column, and then
 *     in the fourth one                             the other one goes up by as much
 */
struct line_looker {
	const struct ink_line_shape *s;
	const struct ink_line_looks *l;
	__m256i bring, raise, in_column;
	__m128i drop, up, fp_bits;
	__m256i ages, last, dead[INK_LOOKS_CODES / 16];
};

/* The last bit of a lane's code, in the word. */
static inline uint32_t code_end(const struct ink_line_shape *s, uint32_t lane)
{
	return s->rest_bits ? INK_LINE_REST_AT + (lane + 1) * s->rest_bits - 1
			    : lane * s->column_bits + s->low_bits - 1;
}

/* The shuffle of a word; where no code goes, nothing. The bytes of the second word of two are 8 behind. */
static inline __m256i bring_codes(const struct ink_line_shape *s)
{
	uint64_t bring = 0x8080808080808080, eights = 0x0808080808080808;

	for (uint32_t lane = 0; lane < s->lanes; lane++) {
		uint64_t byte = code_end(s, lane) / 16 * 2;

		bring ^= (0x8080 ^ (byte | (byte + 1) << 8)) << lane * s->column_bits;
	}
	return _mm256_set_epi64x((long long)(bring + eights), (long long)bring, (long long)(bring + eights),
				 (long long)bring);
}

static inline __m256i raise_codes(const struct ink_line_shape *s)
{
	uint64_t raise = 0;

	for (uint32_t lane = 0; lane < s->lanes; lane++)
		raise |= 1ull << (lane * s->column_bits + 15 - code_end(s, lane) % 16);
	return every_word(raise);
}

static inline __m256i every_column(const struct ink_line_shape *s, uint32_t bits)
{
	return every_word(s->units * bits);
}

static inline struct line_looker line_looker(const struct ink_line_shape *s, const struct ink_line_looks *l)
{
	uint32_t split = s->rest_bits && s->fp_bits < s->low_bits ? s->low_bits - s->fp_bits : 0;
	struct line_looker k = {.s = s, .l = l, .in_column = every_column(s, (1u << split) - 1)};

	k.bring = bring_codes(s);
	k.raise = raise_codes(s);
	k.drop = _mm_cvtsi32_si128((int)(16 - s->code_bits + split));
	k.up = _mm_cvtsi32_si128((int)split);
	k.fp_bits = _mm_cvtsi32_si128((int)s->fp_bits);
	k.ages = every_column(s, l->ages);
	k.last = every_column(s, l->last);
	for (unsigned i = 0; i < INK_LOOKS_CODES / 16; i++)
		k.dead[i] = _mm256_broadcastsi128_si256(
			_mm_loadu_si128((const __m128i *)(const void *)l->dead + i));
	return k;
}

static inline __m256i four_codes(const struct line_looker *k, __m256i words)
{
	__m256i raised = _mm256_mullo_epi16(_mm256_shuffle_epi8(words, k->bring), k->raise);
	__m256i ends = _mm256_srl_epi16(raised, k->drop), begins;

	if (!k->s->rest_bits || k->s->fp_bits >= k->s->low_bits)
		return ends;
	begins = _mm256_and_si256(_mm256_srl_epi64(words, k->fp_bits), k->in_column);
	return _mm256_or_si256(_mm256_sll_epi64(ends, k->up), begins);
}

/*
 * The top bit of the lowest 16 of each column is set if its code expires. Which
 * sixteen a code is of, its bits 4 and 5 say, brought to the top of the byte.
 */
static inline __m256i four_dead(const struct line_looker *k, __m256i codes)
{
	__m256i four = _mm256_slli_epi16(codes, 3), five = _mm256_slli_epi16(codes, 2), dead, above;

	if (k->l->alike)
		return _mm256_cmpeq_epi16(_mm256_and_si256(codes, k->ages), k->last);
	dead = _mm256_shuffle_epi8(k->dead[0], codes);
	if (k->l->codes > 16)
		dead = _mm256_blendv_epi8(dead, _mm256_shuffle_epi8(k->dead[1], codes), four);
	if (k->l->codes > 32) {
		above = _mm256_blendv_epi8(_mm256_shuffle_epi8(k->dead[2], codes),
					   _mm256_shuffle_epi8(k->dead[3], codes), four);
		dead = _mm256_blendv_epi8(dead, above, five);
	}
	return _mm256_slli_epi16(dead, 8);
}

static inline __m256i half_look(const struct line_looker *k, const struct ink_line *line, unsigned half)
{
	__m256i words = half_at(line->word + 4 * half);

	return _mm256_andnot_si256(equal_columns(k->s, words, 0), four_dead(k, four_codes(k, words)));
}

static inline uint32_t line_look(const struct line_looker *k, const struct ink_line *line)
{
	__m256i both = _mm256_packs_epi16(half_look(k, line, 0), half_look(k, line, 1));

	return (uint32_t)_mm256_movemask_epi8(both) & (uint32_t)k->s->slots;
}

#endif

#endif
