/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Multisets of states: the cells of the kind `kbf`.
 *
 * Several flows share a cell. It keeps their number and the sum of the elements of
 * their states, in the group of integers modulo 4095:
 *
 *      15    12 11                        0
 *     +--------+---------------------------+
 *     | count  |  sum of elements, 0..4094 |
 *     +--------+---------------------------+
 *
 * Addition commutes and has an inverse, so the order of inserts and deletes leaves
 * no trace: a table does not degrade with use, and two tables add up cell by cell.
 *
 * The elements are the B_h sequences of Bose and Chowla (1962). In the field of q^h
 * elements with generator g, they are the q exponents a for which g^a - g lies in
 * the subfield of q elements. No two multisets of h of them have the same sum modulo
 * q^h - 1. With q^h = 4096, up to 16 states have distinct sums for all multisets of
 * three (h = 3), and up to 64 states for all multisets of two (h = 2): the best that
 * 12 bits allow. Sums of larger multisets are ambiguous, but still informative. For
 * each count and sum, a table of masks names the states that occur in any multiset
 * with that count and sum. With four states, a multiset of seven still excludes most
 * of the others.
 *
 * A flow can have only a state that all its cells admit: the intersection of k
 * masks. Its true state is always in it.
 *
 * A count that reaches 15 saturates: it stays there, and the cell admits all states.
 */
#ifndef INKLING_KINDS_SUMS_MULTISET_H
#define INKLING_KINDS_SUMS_MULTISET_H

#include <endian.h>
#include <stdint.h>
#include <string.h>

enum {
	INK_MULTISET_GROUP = 4095,
	INK_MULTISET_STATES = 64, /* a mask of 64 bits has one bit for each */
	INK_MULTISET_SUM_BITS = 12,
	INK_MULTISET_SUMS = 1 << INK_MULTISET_SUM_BITS,
	INK_MULTISET_SATURATED = 15, /* the largest count that 4 bits hold: this many flows or more */
	INK_MULTISET_MAX_COUNT = 12  /* a bound: the largest count with masks is 10, for five or six states */
};

typedef uint16_t ink_multiset;

/* The constants for a number of states; small enough to be part of a table's shape. */
struct ink_multiset_shape {
	unsigned states;
	unsigned max_count;  /* the largest count that has masks */
	unsigned mask_bytes; /* 1, 2, 4 or 8 */
	uint64_t all;        /* a mask of all states */
	uint16_t element[INK_MULTISET_STATES];
};

/* Computes the elements and sizes, in some thousand steps for each state. */
struct ink_multiset_shape ink_multiset_shape(unsigned states);

/*
 * The masks: for each count from 1 on, 4096 of them, the last unused. They are little
 * endian on every machine, as in a snapshot. Readers load whole words, so 8 bytes of
 * zeros follow them.
 */
static inline uint64_t ink_multiset_masks_bytes(unsigned max_count, unsigned mask_bytes)
{
	return (uint64_t)max_count * INK_MULTISET_SUMS * mask_bytes + sizeof(uint64_t);
}

/* `masks` is zeroed memory. */
void ink_multiset_fill_masks(const struct ink_multiset_shape *s, unsigned char *masks);

/* Are these the masks that ink_multiset_fill_masks writes? */
int ink_multiset_masks_valid(const struct ink_multiset_shape *s, const unsigned char *masks);

/* The distribution of the sum of a number of states that are drawn uniformly. */
struct ink_multiset_sums {
	double share[INK_MULTISET_GROUP];
};

void ink_multiset_sums_of_none(struct ink_multiset_sums *d);
void ink_multiset_sums_add_state(const struct ink_multiset_shape *s, struct ink_multiset_sums *d);

/* --------------------------------------------------------------------- cells */

static inline unsigned ink_multiset_count(ink_multiset cell)
{
	return cell >> INK_MULTISET_SUM_BITS;
}

static inline unsigned ink_multiset_sum(ink_multiset cell)
{
	return cell & (INK_MULTISET_SUMS - 1);
}

static inline ink_multiset ink_multiset_of(unsigned count, unsigned sum)
{
	return (ink_multiset)(count << INK_MULTISET_SUM_BITS |
			      (sum >= INK_MULTISET_GROUP ? sum - INK_MULTISET_GROUP : sum));
}

static inline ink_multiset ink_multiset_add(const struct ink_multiset_shape *s, ink_multiset cell,
					    unsigned state)
{
	if (ink_multiset_count(cell) == INK_MULTISET_SATURATED)
		return cell;
	return ink_multiset_of(ink_multiset_count(cell) + 1, ink_multiset_sum(cell) + s->element[state]);
}

/* The state is in the multiset, or the count is saturated. */
static inline ink_multiset ink_multiset_remove(const struct ink_multiset_shape *s, ink_multiset cell,
					       unsigned state)
{
	if (ink_multiset_count(cell) == INK_MULTISET_SATURATED)
		return cell;
	return ink_multiset_of(ink_multiset_count(cell) - 1,
			       ink_multiset_sum(cell) + INK_MULTISET_GROUP - s->element[state]);
}

/* The states that a flow in this cell can have. */
static inline uint64_t ink_multiset_admits(const struct ink_multiset_shape *s, const unsigned char *masks,
					   ink_multiset cell)
{
	unsigned count = ink_multiset_count(cell);
	uint64_t mask;

	if (count - 1 >= s->max_count)
		return count ? s->all : 0;
	memcpy(&mask, masks + (size_t)(cell - INK_MULTISET_SUMS) * s->mask_bytes, sizeof mask);
	return le64toh(mask) & s->all;
}

#endif
