/* SPDX-License-Identifier: BSD-2-Clause */
/* The elements of the states, and the states that a sum of them can contain. See multiset.h. */
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

/* Does y lie in the subfield of q elements? That is: y^q = y. */
static int in_subfield(const uint16_t log[FIELD], unsigned y, unsigned q)
{
	return y == 0 || (unsigned)log[y] * (q - 1) % INK_MULTISET_GROUP == 0;
}

/* All a for which g^a - g is in the subfield; subtraction is addition, which is exclusive or. */
static void make_elements(unsigned states, uint16_t *element)
{
	unsigned q = states <= 16 ? 16 : 64, found = 0;
	uint16_t log[FIELD];

	make_logarithms(log);
	for (unsigned y = 0; found < states && y < FIELD; y++)
		if (in_subfield(log, y, q))
			element[found++] = log[GENERATOR ^ y];
}

/* ------------------------------------------------------- sums of larger multisets */

static unsigned sum_with(unsigned sum, unsigned element)
{
	return sum + element >= INK_MULTISET_GROUP ? sum + element - INK_MULTISET_GROUP : sum + element;
}

void ink_multiset_sums_of_none(struct ink_multiset_sums *d)
{
	*d = (struct ink_multiset_sums){{1}};
}

void ink_multiset_sums_add_state(const struct ink_multiset_shape *s, struct ink_multiset_sums *d)
{
	struct ink_multiset_sums more = {{0}};

	for (unsigned i = 0; i < s->states; i++)
		for (unsigned sum = 0; sum < INK_MULTISET_GROUP; sum++)
			more.share[sum_with(sum, s->element[i])] += d->share[sum] / s->states;
	*d = more;
}

/* The states that can be removed from a multiset with this sum, where `rest` are the possible remainders. */
static uint64_t admitted(const struct ink_multiset_shape *s, const struct ink_multiset_sums *rest,
			 unsigned sum)
{
	uint64_t mask = 0;

	for (unsigned i = 0; i < s->states; i++)
		if (rest->share[sum_with(sum, INK_MULTISET_GROUP - s->element[i])] > 0)
			mask |= 1ull << i;
	return mask;
}

/* ------------------------------------------------------------------ the shape */

static unsigned mask_bytes(unsigned states)
{
	return states <= 8 ? 1 : states <= 16 ? 2 : states <= 32 ? 4 : 8;
}

/* The mean share of the states that a multiset admits which has one state more than `rest`. */
static double share_admitted(const struct ink_multiset_shape *s, const struct ink_multiset_sums *rest)
{
	struct ink_multiset_sums all = *rest;
	double sum = 0;

	ink_multiset_sums_add_state(s, &all);
	for (unsigned i = 0; i < INK_MULTISET_GROUP; i++)
		sum += all.share[i] * __builtin_popcountll(admitted(s, rest, i));
	return sum / s->states;
}

#define WORTHWHILE .9 /* multisets that admit more than this share of the states are not worth their masks */

static unsigned largest_worthwhile(const struct ink_multiset_shape *s)
{
	struct ink_multiset_sums rest;
	unsigned count = 1;

	ink_multiset_sums_of_none(&rest);
	for (; count < INK_MULTISET_MAX_COUNT; count++) {
		ink_multiset_sums_add_state(s, &rest);
		if (share_admitted(s, &rest) > WORTHWHILE)
			break;
	}
	return count;
}

struct ink_multiset_shape ink_multiset_shape(unsigned states)
{
	struct ink_multiset_shape s = {.states = states, .mask_bytes = mask_bytes(states)};

	s.all = states < 64 ? (1ull << states) - 1 : ~0ull;
	make_elements(states, s.element);
	s.max_count = largest_worthwhile(&s);
	return s;
}

/* ------------------------------------------------------------------ the masks */

/* The masks of one count; `rest` are the sums of multisets of one state less. */
static void fill_count(const struct ink_multiset_shape *s, const struct ink_multiset_sums *rest,
		       unsigned char *masks)
{
	for (unsigned sum = 0; sum < INK_MULTISET_GROUP; sum++) {
		uint64_t mask = htole64(admitted(s, rest, sum));

		memcpy(masks + (size_t)sum * s->mask_bytes, &mask, s->mask_bytes);
	}
}

void ink_multiset_fill_masks(const struct ink_multiset_shape *s, unsigned char *masks)
{
	struct ink_multiset_sums rest;

	ink_multiset_sums_of_none(&rest);
	for (unsigned count = 1; count <= s->max_count; count++) {
		fill_count(s, &rest, masks);
		masks += INK_MULTISET_SUMS * s->mask_bytes;
		ink_multiset_sums_add_state(s, &rest);
	}
}

int ink_multiset_masks_valid(const struct ink_multiset_shape *s, const unsigned char *masks)
{
	unsigned char expected[INK_MULTISET_SUMS * sizeof(uint64_t)] = {0};
	static const unsigned char behind[sizeof(uint64_t)];
	size_t bytes = INK_MULTISET_SUMS * s->mask_bytes;
	struct ink_multiset_sums rest;

	ink_multiset_sums_of_none(&rest);
	for (unsigned count = 1; count <= s->max_count; count++) {
		fill_count(s, &rest, expected);
		if (memcmp(masks, expected, bytes) != 0)
			return 0;
		masks += bytes;
		ink_multiset_sums_add_state(s, &rest);
	}
	return !memcmp(masks, behind, sizeof behind);
}
