/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What an entry holds besides its fingerprint: a code.
 *
 *     code = state << age bits | age          the top state code is "don't know"
 */
#ifndef INKLING_TABLE_CODING_H
#define INKLING_TABLE_CODING_H

#include <inkling/inkling.h>

#include "table/age.h"

/*
 * For what a batch does to each item: a call would cost as much as the work.
 * Under a sanitizer the compiler decides: all of it inlined, with a check for
 * each access, takes four times as long to compile.
 */
#ifdef INK_SANITIZED
#define INK_HOT static inline
#else
#define INK_HOT __attribute__((always_inline)) static inline
#endif

#define INK_STATE_CODES 256 /* 8 state bits */
#define INK_CODES 1024      /* and 2 age bits */

struct ink_coding {
	unsigned state_bits;
	unsigned age_bits;
	unsigned age_top;
	unsigned unsure; /* the state code of "don't know" */
};

static inline struct ink_coding ink_coding(unsigned states, unsigned age_bits)
{
	struct ink_coding c = {.age_bits = age_bits, .age_top = ink_age_top(age_bits)};

	while ((1u << c.state_bits) < states + 1)
		c.state_bits++;
	c.unsure = (1u << c.state_bits) - 1;
	return c;
}

/* The most common coding, 8 to 15 states and one age bit: variants are compiled for it (engine/variant.h). */
static const struct ink_coding ink_coding_common = {
	.state_bits = 4, .age_bits = 1, .age_top = 1, .unsure = 15};

static inline int ink_codes_are_common(const struct ink_plan *plan)
{
	return plan->state_bits == ink_coding_common.state_bits &&
	       plan->age_bits == ink_coding_common.age_bits;
}

static inline unsigned ink_code(const struct ink_coding *c, unsigned state)
{
	return state << c->age_bits | c->age_top;
}

static inline unsigned ink_code_state(const struct ink_coding *c, unsigned code)
{
	return code >> c->age_bits;
}

static inline int ink_code_unsure(const struct ink_coding *c, unsigned code)
{
	return code >> c->age_bits == c->unsure;
}

/* The code after a touch. A don't-know entry is not touched. */
static inline unsigned ink_code_touched(const struct ink_coding *c, unsigned code)
{
	return ink_code_unsure(c, code) ? code : code | c->age_top;
}

static inline ink_answer ink_code_answer(const struct ink_coding *c, unsigned code)
{
	if (ink_code_unsure(c, code))
		return INK_DONT_KNOW;
	return (ink_answer)(code >> c->age_bits);
}

#endif
