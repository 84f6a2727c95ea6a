/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a variant knows of the shapes that it serves, as constants. The macros that Meson
 * passes (meson.build), besides those of engine/variant.h:
 *
 *     -DINK_FEW=1       21-bit entries with codes of up to 5 bits: tags fill their columns
 *     -DINK_SIX=1       21-bit entries with codes of 6 bits: 31 states, or two age bits
 *     -DINK_SHORT=1     15-bit entries, with codes of any size
 *     -DINK_HALF=1, -DINK_QUARTER=1, -DINK_EIGHTH=1      the part; without any: the whole line
 *
 * With none of them a variant serves every shape. -DINK_COMMON_SHAPE=1 is the shape of most
 * tables, 15 states and a timer in whole lines, of which everything is known.
 */
#ifndef INKLING_KINDS_LINE_KNOWN_H
#define INKLING_KINDS_LINE_KNOWN_H

#include "engine/variant.h"
#include "kinds/line/line.h"

#ifndef INK_FEW
#define INK_FEW 0
#endif
#ifndef INK_SIX
#define INK_SIX 0
#endif
#ifndef INK_SHORT
#define INK_SHORT 0
#endif
#ifndef INK_HALF
#define INK_HALF 0
#endif
#ifndef INK_QUARTER
#define INK_QUARTER 0
#endif
#ifndef INK_EIGHTH
#define INK_EIGHTH 0
#endif

#if INK_COMMON_SHAPE + INK_FEW + INK_SIX + INK_SHORT > 1 || INK_HALF + INK_QUARTER + INK_EIGHTH > 1
#error "a variant has one kind of entries and one part"
#endif
#if (INK_FEW || INK_SIX || INK_SHORT) && !INK_AVX2
#error "portable variants serve all shapes"
#endif
#if (INK_HALF || INK_QUARTER || INK_EIGHTH) && !(INK_FEW || INK_SIX || INK_SHORT)
#error "a variant that knows the part knows the entries, too"
#endif

enum {
	KNOWS_THREE_LANES = INK_COMMON_SHAPE || INK_FEW || INK_SIX,
	KNOWS_SHAPE = KNOWS_THREE_LANES || INK_SHORT,
	KNOWN_WORDS = INK_HALF      ? 4
		      : INK_QUARTER ? 2
		      : INK_EIGHTH  ? 1
				    : INK_LINE_WORDS
};

/* What does not depend on the code. */
#define LINE_THREE_LANES                                                                                     \
	.units = 0x0000000100010001, .slots = 0x7777777777777777, .low_mask = 0xffff, .rest_mask = 31,       \
	.words = KNOWN_WORDS, .lanes = 3, .column_bits = 16, .low_bits = 16, .rest_bits = 5
#define LINE_FOUR_LANES                                                                                      \
	.units = 0x0001000100010001, .slots = 0xffffffffffffffff, .low_mask = 0x7fff, .words = KNOWN_WORDS,  \
	.lanes = 4, .column_bits = 16, .low_bits = 15, .above_shift = 32, .code_step = 16

INK_HOT struct ink_line_shape common_shape(const struct ink_line_shape *s)
{
	return (struct ink_line_shape){LINE_COMMON, .lines = s->lines, .parts = s->parts};
}

INK_HOT struct ink_line_shape few_shape(const struct ink_line_shape *s)
{
	return (struct ink_line_shape){LINE_THREE_LANES,
				       .tags = 0x0000ffffffffffff,
				       .tag_mask = 0xffff,
				       .tag_bits = 16,
				       .code_step = 5,
				       .lines = s->lines,
				       .parts = s->parts,
				       .fp_mask = s->fp_mask,
				       .fp_bits = s->fp_bits,
				       .above_shift = s->above_shift,
				       .above_bits = s->above_bits,
				       .above_mask = s->above_mask,
				       .code_bits = s->code_bits,
				       .code_at = s->code_at};
}

INK_HOT struct ink_line_shape six_shape(const struct ink_line_shape *s)
{
	return (struct ink_line_shape){LINE_THREE_LANES,   .tags = 0x00007fff7fff7fff,
				       .tag_mask = 0x7fff, .fp_mask = 0x7fff,
				       .tag_bits = 15,     .fp_bits = 15,
				       .above_shift = 32,  .code_bits = 6,
				       .code_at = 15,      .lines = s->lines,
				       .parts = s->parts};
}

/* All of a fingerprint is its tag. */
INK_HOT struct ink_line_shape short_shape(const struct ink_line_shape *s)
{
	uint32_t mask = s->fp_mask, bits = s->fp_bits;

	return (struct ink_line_shape){LINE_FOUR_LANES,  .tags = s->tags,           .tag_mask = mask,
				       .fp_mask = mask,  .tag_bits = bits,          .fp_bits = bits,
				       .code_at = bits,  .code_bits = s->code_bits, .lines = s->lines,
				       .parts = s->parts};
}

INK_HOT struct ink_line_shape known_shape(const struct ink_line_shape *s)
{
	return INK_FEW ? few_shape(s) : INK_SIX ? six_shape(s) : INK_SHORT ? short_shape(s) : common_shape(s);
}

#endif
