/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * [F] Ages: time-outs for one or two bits an entry.
 *
 * Every entry has an age. A touch sets it to its maximum; a look lowers it by
 * one; a look at an entry of age 0 finds it expired. Looks come at fixed tick
 * numbers, so nothing else has to be stored:
 *
 *   one bit   a look whenever tick % T == 0           expires T .. 2T after the last touch
 *   two bits  a look whenever tick % ceil(T/3) == 0   expires T .. 4/3 T (in whole looks)
 *
 * With one period for all entries and one bit these are the phases of
 * section 3.2 of the ACSM paper. When time jumps over several looks, they are
 * taken together, so a jump of any length costs one visit to each entry.
 *
 * A kind may store ages relative to an epoch, so that a look writes only what
 * expires (epoch.h): it stores the age plus the number of looks at that state so
 * far, modulo 2^bits.
 */
#ifndef INKLING_TABLE_AGE_H
#define INKLING_TABLE_AGE_H

#include <stdint.h>

#define INK_AGE_MAX_BITS 2
#define INK_AGE_EXPIRED UINT32_MAX

/* The age of an entry that has just been touched. */
static inline uint32_t ink_age_top(uint32_t age_bits)
{
	return (1u << age_bits) - 1;
}

/* Ticks between two looks at an entry whose state has this period. */
static inline uint32_t ink_age_stride(uint32_t period, uint32_t age_bits)
{
	return age_bits == 2 ? period / 3 + (period % 3 != 0) : period;
}

/*
 * Looks that fall due when time goes from `last` to `now`. No entry outlives
 * more than four, so the count stops there. A period of 0 never ends.
 */
static inline uint32_t ink_age_looks(uint64_t last, uint64_t now, uint32_t period, uint32_t age_bits)
{
	uint64_t stride = ink_age_stride(period, age_bits);
	uint64_t looks;

	if (stride == 0)
		return 0;
	looks = now / stride - last / stride;
	return looks < 4 ? (uint32_t)looks : 4;
}

/* An age as it is stored in that epoch, and back. */
static inline uint32_t ink_age_stored(uint32_t age, uint32_t epoch, uint32_t age_bits)
{
	return (age + epoch) & ink_age_top(age_bits);
}

static inline uint32_t ink_age_read(uint32_t stored, uint32_t epoch, uint32_t age_bits)
{
	return (stored - epoch) & ink_age_top(age_bits);
}

/* The age after that many looks, or INK_AGE_EXPIRED. */
static inline uint32_t ink_age_after(uint32_t age, uint32_t looks)
{
	return age < looks ? INK_AGE_EXPIRED : age - looks;
}

#endif
