/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * [F] The line: 64 bytes, eight words, two to four entries in a word.
 *
 * An entry is fingerprint and code, 31, 21 or 15 bits for 2, 3 or 4 lanes:
 *
 *      20    17 16 15                     0
 *     +--------+--+------------------------+
 *     | state  |ag|      fingerprint       |     3 lanes, 15 states, 1 age bit
 *     +--------+--+------------------------+
 *
 * Each word is divided into columns of 16 bits (of 32 for two lanes), one for
 * each lane, so that vector instructions can compare all of them at once. What
 * does not fit a column, the upper 5 of 21 bits, stands in the fourth one:
 *
 *      63 62   58 57   53 52   48 47        32 31        16 15         0
 *     +--+-------+-------+-------+------------+------------+------------+
 *     |F | rest 2| rest 1| rest 0|  column 2  |  column 1  |  column 0  |   3 lanes
 *     +--+-------+-------+-------+------------+------------+------------+
 *     |F |         column 1       | 0|          column 0            |       2 lanes
 *     |F | column 3  | 0| column 2  | 0| column 1  | 0| column 0   |       4 lanes
 *
 * The part of the fingerprint that stands in the column is its tag. Tag 0 means
 * that the lane is empty, and then all its bits are 0: zeroed memory is an
 * empty table. No entry crosses a word, so one compare-and-swap changes it, in
 * user space as in the kernel.
 *
 * A flow has two candidate parts. A part is a whole line, or a half, a quarter
 * or an eighth of one: 8, 4, 2 or 1 words. The id chooses the first. The second
 * follows from the first and the fingerprint, and the first from the second in
 * the same way:
 *
 *     first + second = g(fingerprint)   (mod the number of parts)
 *
 * so an entry can be moved without knowing whose it is, and two flows can be
 * confused only if fingerprint and both parts agree. That is seen when the
 * second of them is inserted; hence no flow ever matches two entries. The
 * smaller the parts, the fewer entries a stranger is compared with, and the less
 * often it is taken for one of them; and the more often both parts are full.
 *
 * Bit 63 is spare in every word and holds a flag. Flags belong to the line, in
 * whatever part of it the flow is, so that they are in a cache line that is read
 * anyway, and a part of one word needs no more than its one spare bit:
 *
 *     word      0 .. 3                          4          5          6          7
 *             +--------------------------------+----------+----------+----------+----------+
 *     whole   | the side table holds flows     | overflow | 0        | 0        | 0        |
 *     half    | whose first part is in this    | of half 0| of half 1| 0        | 0        |
 *     quarter | line, and whose id modulo 4 is | of part 0| of part 1| of part 2| of part 3|
 *     word    | the word's number              | 0 and 4  | 1 and 5  | 2 and 6  | 3 and 7  |
 *             +--------------------------------+----------+----------+----------+----------+
 *
 * Overflow means: an insert found no room in this part since the last tick.
 *
 * This header needs <stdint.h> alone and compiles for BPF: no 128-bit
 * products, no population counts, bounded loops.
 */
#ifndef INKLING_KINDS_LINE_LINE_H
#define INKLING_KINDS_LINE_LINE_H

#include <stdint.h>

#define INK_LINE_WORDS 8
#define INK_LINE_FLAG (1ull << 63)
#define INK_LINE_REST_AT 48 /* the fourth column of three lanes */
#define INK_LINE_MIX                                                                                         \
	0x9e3779b1u /* an odd number near 2^32 over the golden ratio: spreads fingerprints evenly */

enum ink_line_flag_word {
	INK_LINE_SIDE = 0,     /* the first of four words whose flags say: look into the side table */
	INK_LINE_OVERFLOW = 4, /* the first of up to four: a miss here may be a flow that found no room */
	INK_LINE_OVERFLOWS = 4
};

struct ink_line {
	uint64_t word[INK_LINE_WORDS];
} __attribute__((aligned(64)));

_Static_assert(sizeof(struct ink_line) == 64, "a line is one cache line");

/* What all lines of a table have in common; masks are kept because each search needs them. */
struct ink_line_shape {
	uint64_t tags;      /* the tag bits of every column */
	uint64_t units;     /* the lowest bit of every column; times x = x in every column */
	uint64_t slots;     /* all slots of two lines; see slots.h */
	uint32_t low_mask;  /* of an entry, what stands in its column */
	uint32_t rest_mask; /* of an entry, what stands in the fourth one, shifted down */
	uint32_t tag_mask;  /* of a fingerprint, what stands in the column */
	uint32_t fp_mask;   /* of an entry, the fingerprint */
	uint32_t lines;
	uint32_t parts;       /* of all lines */
	uint32_t words;       /* in a part: 8, 4, 2 or 1 */
	uint32_t lanes;       /* in a word */
	uint32_t column_bits; /* 16 or 32 */
	uint32_t low_bits;
	uint32_t rest_bits;
	uint32_t tag_bits;
	uint32_t fp_bits;     /* tag bits, and more if they do not all fit the column */
	uint32_t above_shift; /* leaves of 32 bits those that are more, */
	uint32_t above_bits;  /* which are so many, */
	uint32_t above_mask;  /* these, shifted down */
	uint32_t code_bits;   /* state << age bits | age */
	uint32_t code_at;     /* where lane 0's code stands, */
	uint32_t
		code_step; /* and how much further for each 16 bits of a column's shift; 0: codes are split */
};

/* Where a flow may stand: the numbers of its parts. */
struct ink_line_place {
	uint32_t first, second;
	uint32_t fingerprint;
};

/* An entry that was found, in the word as it was then. */
struct ink_line_spot {
	uint64_t *word;
	uint64_t seen;
	uint32_t column; /* the shift of its lane's column */
};

/* -------------------------------------------------------------------- shape */

static inline uint32_t ink_line_entry_bits(uint32_t lanes)
{
	return lanes == 2 ? 31 : lanes == 3 ? 21 : 15;
}

/* `part` is in bytes: 32, 16 or 8; 0 or 64 if parts are whole lines. */
static inline struct ink_line_shape ink_line_shape(uint32_t lanes, uint32_t code_bits, uint32_t lines,
						   uint32_t part)
{
	struct ink_line_shape s = {.lines = lines, .lanes = lanes, .code_bits = code_bits};
	uint32_t lane;

	s.words = part ? part / sizeof(uint64_t) : INK_LINE_WORDS;
	s.parts = lines * (INK_LINE_WORDS / s.words);

	s.column_bits = lanes == 2 ? 32 : 16;
	s.rest_bits = lanes == 3 ? 5 : 0;
	s.low_bits = ink_line_entry_bits(lanes) - s.rest_bits;
	s.fp_bits = ink_line_entry_bits(lanes) - code_bits;
	s.tag_bits = s.fp_bits < s.low_bits ? s.fp_bits : s.low_bits;
	s.above_bits = s.fp_bits - s.tag_bits;
	s.above_shift = 32 - s.above_bits;
	s.above_mask = (1u << s.above_bits) - 1;
	for (lane = 0; lane < 4; lane++)
		if (lane < lanes)
			s.units |= 1ull << (lane * s.column_bits);
	s.low_mask = (1u << s.low_bits) - 1;
	s.rest_mask = (1u << s.rest_bits) - 1;
	s.tag_mask = (1u << s.tag_bits) - 1;
	s.fp_mask = (1u << s.fp_bits) - 1;
	s.tags = s.units * s.tag_mask;
	s.slots = 0x1111111111111111ull * (lanes == 2 ? 0x5 : lanes == 3 ? 0x7 : 0xf);
	s.code_at = s.fp_bits < s.low_bits ? s.fp_bits : INK_LINE_REST_AT + s.fp_bits - s.low_bits;
	s.code_step = s.rest_bits == 0 ? 16 : s.fp_bits < s.low_bits ? 0 : s.rest_bits;
	return s;
}

/* The shape of tables with 8 to 15 states, a timer and 24 entries in a line, but for the number of lines. */
#define LINE_COMMON                                                                                          \
	.tags = 0x0000ffffffffffff, .units = 0x0000000100010001, .slots = 0x7777777777777777,                \
	.low_mask = 0xffff, .rest_mask = 31, .tag_mask = 0xffff, .fp_mask = 0xffff, .words = 8, .lanes = 3,  \
	.column_bits = 16, .low_bits = 16, .rest_bits = 5, .tag_bits = 16, .fp_bits = 16, .above_shift = 32, \
	.code_bits = 5, .code_at = 48, .code_step = 5

/* The bits of its lanes (ink_line_lane); and those of them that are the state. */
#define LINE_COMMON_LANES 0x001f00000000ffff, 0x03e00000ffff0000, 0x7c00ffff00000000
#define LINE_COMMON_STATES 0x001e000000000000, 0x03c0000000000000, 0x7800000000000000

/* ------------------------------------------------------------------- places */

/* The other part of an entry, from either of them. */
static inline uint32_t ink_line_other(const struct ink_line_shape *s, uint32_t part, uint32_t fingerprint)
{
	uint32_t mixed = fingerprint * INK_LINE_MIX;
	uint32_t sum = (uint32_t)(((uint64_t)mixed * s->parts) >> 32);

	return sum >= part ? sum - part : sum + s->parts - part;
}

/*
 * Multiplications instead of remainders: any number of parts, and tags from 1
 * to 2^t - 1. Fingerprint bits above the tag come from what is left over.
 */
static inline uint32_t ink_line_fingerprint(const struct ink_line_shape *s, uint32_t bits)
{
	uint64_t product = (uint64_t)bits * s->tag_mask;
	uint64_t above = (product & 0xffffffff) >> s->above_shift;

	return (uint32_t)(1 + (product >> 32) + (above << s->tag_bits));
}

static inline struct ink_line_place ink_line_place(const struct ink_line_shape *s, uint64_t id)
{
	struct ink_line_place p;

	p.fingerprint = ink_line_fingerprint(s, (uint32_t)id);
	p.first = (uint32_t)(((id >> 32) * s->parts) >> 32);
	p.second = ink_line_other(s, p.first, p.fingerprint);
	return p;
}

/* ------------------------------------------------------------------ entries */

/* Where the rest of an entry stands, from its column's shift (16 times the lane). */
static inline uint32_t ink_line_rest_at(const struct ink_line_shape *s, uint32_t column)
{
	return INK_LINE_REST_AT + (column * s->rest_bits >> 4);
}

/* An entry, spread to the places of its lane. */
static inline uint64_t ink_line_spread(const struct ink_line_shape *s, uint32_t column, uint32_t entry)
{
	return (uint64_t)(entry & s->low_mask) << column | (uint64_t)(entry >> s->low_bits)
								   << ink_line_rest_at(s, column);
}

static inline uint32_t ink_line_entry(const struct ink_line_shape *s, uint64_t word, uint32_t column)
{
	uint32_t low = (uint32_t)(word >> column) & s->low_mask;
	uint32_t rest = (uint32_t)(word >> ink_line_rest_at(s, column)) & s->rest_mask;

	return low | rest << s->low_bits;
}

/* An entry of a word, spread to the places of another lane. */
static inline uint64_t ink_line_shifted(const struct ink_line_shape *s, uint64_t word, uint32_t from,
					uint32_t to)
{
	uint64_t low = (word >> from) & s->low_mask,
		 rest = (word >> ink_line_rest_at(s, from)) & s->rest_mask;

	return low << to | rest << ink_line_rest_at(s, to);
}

/* The word with another entry in that lane than the one that is there; 0 stands for none. */
static inline uint64_t ink_line_change(const struct ink_line_shape *s, uint64_t word, uint32_t column,
				       uint32_t was, uint32_t becomes)
{
	return word ^ ink_line_spread(s, column, was ^ becomes);
}

/* Where the code of a lane stands, if it stands in one piece (code_step). */
static inline uint32_t ink_line_code_at(const struct ink_line_shape *s, uint32_t column)
{
	return s->code_at + (column * s->code_step >> 4);
}

static inline uint32_t ink_line_entry_fp(const struct ink_line_shape *s, uint32_t entry)
{
	return entry & s->fp_mask;
}

static inline uint32_t ink_line_entry_code(const struct ink_line_shape *s, uint32_t entry)
{
	return entry >> s->fp_bits;
}

static inline uint32_t ink_line_make_entry(const struct ink_line_shape *s, uint32_t fingerprint,
					   uint32_t code)
{
	return fingerprint | code << s->fp_bits;
}

/* An entry of that fingerprint and code, spread to the places of its lane. */
static inline uint64_t ink_line_lay(const struct ink_line_shape *s, uint32_t column, uint32_t fingerprint,
				    uint32_t code)
{
	if (!s->code_step || s->fp_bits > s->tag_bits)
		return ink_line_spread(s, column, ink_line_make_entry(s, fingerprint, code));
	return (uint64_t)fingerprint << column | (uint64_t)code << ink_line_code_at(s, column);
}

/* The code of a lane, and the word with that code changed: quicker than by way of the whole entry. */
static inline uint32_t ink_line_code(const struct ink_line_shape *s, uint64_t word, uint32_t column)
{
	if (!s->code_step)
		return ink_line_entry_code(s, ink_line_entry(s, word, column));
	return (uint32_t)(word >> ink_line_code_at(s, column)) & ((1u << s->code_bits) - 1);
}

static inline uint64_t ink_line_recode(const struct ink_line_shape *s, uint64_t word, uint32_t column,
				       uint32_t change)
{
	if (!s->code_step)
		return word ^ ink_line_spread(s, column, change << s->fp_bits);
	return word ^ (uint64_t)change << ink_line_code_at(s, column);
}

/* All bits of a lane. */
static inline uint64_t ink_line_lane(const struct ink_line_shape *s, uint32_t column)
{
	return (uint64_t)s->low_mask << column | (uint64_t)s->rest_mask << ink_line_rest_at(s, column);
}

/* ---------------------------------------------------------------- searching */

/* Reads a word that others may be changing. */
static inline uint64_t ink_line_read(const uint64_t *word)
{
#ifdef __bpf__
	return *(const volatile uint64_t *)word;
#else
	return __atomic_load_n(word, __ATOMIC_ACQUIRE);
#endif
}

/*
 * The columns whose tag is that of the fingerprint (of 0: the empty ones), each
 * as its lowest bit. A column less its top bit, plus all ones, carries into the
 * top bit exactly when it is not 0; so no column disturbs another.
 */
static inline uint64_t ink_line_columns(const struct ink_line_shape *s, uint64_t word, uint32_t fingerprint)
{
	uint64_t tops = s->units << (s->column_bits - 1), below = tops - s->units;
	uint64_t differs = (word ^ s->units * (fingerprint & s->tag_mask)) & s->tags;

	return (~(((differs & below) + below) | differs) & tops) >> (s->column_bits - 1);
}

/* Looks for a fingerprint in one part, of which these are the words. */
static inline int ink_line_find(const struct ink_line_shape *s, uint64_t *words, uint32_t fingerprint,
				struct ink_line_spot *spot)
{
	for (uint32_t i = 0; i < INK_LINE_WORDS && i < s->words; i++) {
		uint64_t word = ink_line_read(&words[i]);
		uint64_t columns = ink_line_columns(s, word, fingerprint);

		for (uint32_t column = 0; columns && column < 64; column += 16)
			if ((columns >> column & 1) &&
			    ink_line_entry_fp(s, ink_line_entry(s, word, column)) == fingerprint) {
				*spot = (struct ink_line_spot){&words[i], word, column};
				return 1;
			}
	}
	return 0;
}

/* Writes the word unless it has changed since it was seen. */
static inline int ink_line_swap(const struct ink_line_spot *spot, uint64_t word)
{
	return __sync_val_compare_and_swap(spot->word, spot->seen, word) == spot->seen;
}

#endif
