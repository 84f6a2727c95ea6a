/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which variant of a kind this compilation makes.
 *
 * A kind that has variants has one variant.c, which Meson compiles several
 * times. What differs is passed as macros:
 *
 *     -DINK_VARIANT=ink_line_avx2   the name of the struct ink_ops that is made
 *     -DINK_AVX2=1                  with the vectors of AVX2 and BMI2, else portable
 *     -DINK_SHARED=1                for many writers, else for one
 *     -DINK_COMMON_SHAPE=1          for tables of the common shape alone
 *
 * Each is a constant below, so that algorithms choose with a plain `if` and the
 * compiler drops the branch that is not taken.
 */
#ifndef INKLING_ENGINE_VARIANT_H
#define INKLING_ENGINE_VARIANT_H

#include "table/table.h"

#ifndef INK_AVX2
#define INK_AVX2 0
#endif
#ifndef INK_SHARED
#define INK_SHARED 0
#endif
#ifndef INK_COMMON_SHAPE
#define INK_COMMON_SHAPE 0
#endif

#if INK_AVX2 && !(defined __AVX2__ && defined __BMI__ && defined __BMI2__ && defined __POPCNT__)
#error "INK_AVX2 needs -mavx2 -mbmi -mbmi2 -mpopcnt"
#endif
#if INK_COMMON_SHAPE && !INK_AVX2
#error "INK_COMMON_SHAPE needs INK_AVX2: there is no portable variant for the common shape"
#endif

enum { IS_AVX2 = INK_AVX2, IS_SHARED = INK_SHARED, IS_COMMON_SHAPE = INK_COMMON_SHAPE };

#define VARIANT_SIMD (IS_AVX2 ? "avx2" : "portable")

/*
 * How a table encodes state and age. In the common shape (8 to 15 states and a
 * timer) it is a constant, as the layout of its lines is: that saves a third of
 * the instructions, and leaves their registers to the rest.
 */
static inline const struct ink_coding *coding_of(const struct ink_table *t)
{
	return IS_COMMON_SHAPE ? &ink_coding_common : &t->coding;
}

#endif
