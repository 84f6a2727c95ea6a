/* SPDX-License-Identifier: BSD-2-Clause */
/* The elements of states, and what a sum of them can be made of. See bag.h. */
#include "kinds/sums/multiset.h"

#include <stddef.h>

/* ------------------------------------------------------------- the elements */

enum {
	FIELD = INK_MULTISET_GROUP + 1,
	POLYNOMIAL = 0x1053, /* x^12 + x^6 + x^4 + x + 1, primitive: x generates the field of 4096 */
	GENERATOR = 2        /* x */
};

/* log[g^a] = a. */
static void make_logarithms(uint16_t log[FIELD])
{
	unsigned power = 1;

	log[0] = 0;
	for (unsigned a = 0; a < INK_MULTISET_GROUP; a++) {
		log[power] = (uint16_t)a;
		power <<= 1;
		if (power & FIELD)
			power ^= POLYNOMIAL;
	}
}

/* y^q = y, that is: y lies in the subfield of q. */
static int in_subfield(const uint16_t log[FIELD], unsigned y, unsigned q)
{
	return y == 0 || (unsigned)log[y] * (q - 1) % INK_MULTISET_GROUP == 0;
}

/* All g^a with g^a - g in the subfield; subtraction and addition are the same. */
static void make_elements(unsigned states, uint16_t *element)
{
	unsigned q = states <= 16 ? 16 : 64, found = 0;
	uint16_t log[FIELD];

	make_logarithms(log);
	for (unsigned y = 0; found < states && y < FIELD; y++)
		if (in_subfield(log, y, q))
			element[found++] = log[GENERATOR ^ y];
}

/* ------------------------------------------------------- the sums of larger bags */

static unsigned sum_with(unsigned sum, unsigned element)
{
	return sum + element >= INK_MULTISET_GROUP ? sum + element - INK_MULTISET_GROUP : sum + element;
}

void ink_multiset_no_states(struct ink_multiset_ways *w)
{
	*w = (struct ink_multiset_ways){{1}};
}

void ink_multiset_one_state_more(const struct ink_multiset_shape *s, struct ink_multiset_ways *w)
{
	struct ink_multiset_ways more = {{0}};

	for (unsigned i = 0; i < s->states; i++)
		for (unsigned sum = 0; sum < INK_MULTISET_GROUP; sum++)
			more.share[sum_with(sum, s->element[i])] += w->share[sum] / s->states;
	*w = more;
}

/* The states that can be taken out of a bag with that sum, so that one of these is left. */
static uint64_t admitted(const struct ink_multiset_shape *s, const struct ink_multiset_ways *left, unsigned sum)
{
	uint64_t mask = 0;

	for (unsigned i = 0; i < s->states; i++)
		if (left->share[sum_with(sum, INK_MULTISET_GROUP - s->element[i])] > 0)
			mask |= 1ull << i;
	return mask;
}

/* ---------------------------------------------------------------- the masks */

static unsigned mask_bytes(unsigned states)
{
	return states <= 8 ? 1 : states <= 16 ? 2 : states <= 32 ? 4 : 8;
}

/* Bags of `left` and one more: on the average, what share of the states do they admit? */
static double share_admitted(const struct ink_multiset_shape *s, const struct ink_multiset_ways *left)
{
	struct ink_multiset_ways all = *left;
	double sum = 0;

	ink_multiset_one_state_more(s, &all);
	for (unsigned i = 0; i < INK_MULTISET_GROUP; i++)
		sum += all.share[i] * __builtin_popcountll(admitted(s, left, i));
	return sum / s->states;
}

#define WORTH_ASKING .9 /* bags that admit more than this share of the states are not worth their masks */

static unsigned largest_telling(const struct ink_multiset_shape *s)
{
	struct ink_multiset_ways left;
	unsigned count = 1;

	ink_multiset_no_states(&left);
	for (; count < INK_MULTISET_MOST; count++) {
		ink_multiset_one_state_more(s, &left);
		if (share_admitted(s, &left) > WORTH_ASKING)
			break;
	}
	return count;
}

struct ink_multiset_shape ink_multiset_shape(unsigned states)
{
	struct ink_multiset_shape s = {.states = states, .mask_bytes = mask_bytes(states)};

	s.all = states < 64 ? (1ull << states) - 1 : ~0ull;
	make_elements(states, s.element);
	s.most = largest_telling(&s);
	return s;
}

void ink_multiset_fill_masks(const struct ink_multiset_shape *s, unsigned char *masks)
{
	struct ink_multiset_ways left;

	ink_multiset_no_states(&left);
	for (unsigned count = 1; count <= s->most; count++) {
		for (unsigned sum = 0; sum < INK_MULTISET_GROUP; sum++) {
			size_t at = ((size_t)(count - 1) << INK_MULTISET_SUM_BITS | sum) * s->mask_bytes;
			uint64_t mask = admitted(s, &left, sum);

			memcpy(masks + at, &mask, s->mask_bytes);
		}
		ink_multiset_one_state_more(s, &left);
	}
}
