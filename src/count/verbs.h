/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The verbs of a kind of counting set, for one item and for batches, made of the
 * kind's steps. A kind defines these, and COUNT_STEPS_DEFINED, and then includes
 * this file:
 *
 *     place_of       the place of an id
 *     place_fetch    prefetches its memory
 *     place_add, place_remove, place_count
 *
 * COUNT_VERBS are the verbs in a struct ink_count_ops.
 *
 * A batch works in groups. It computes the places of a group and prefetches
 * their memory, and only then touches it.
 */
#if defined COUNT_STEPS_DEFINED && !defined INKLING_COUNT_VERBS_H
#define INKLING_COUNT_VERBS_H

#include "count/set.h"

enum { GROUP = 32 }; /* items prefetched together; bench/count.cc */

typedef int place_verb(struct ink_count *c, const struct ink_count_place *p);

/* ------------------------------------------------------------------ one item */

COUNT_HOT int change(struct ink_count *c, uint64_t id, place_verb *verb)
{
	struct ink_count_place p;

	place_of(c, id, &p);
	return verb(c, &p);
}

static int verb_add(struct ink_count *c, uint64_t id)
{
	return change(c, id, place_add);
}

static int verb_remove(struct ink_count *c, uint64_t id)
{
	return change(c, id, place_remove);
}

static uint32_t verb_count(const struct ink_count *c, uint64_t id)
{
	struct ink_count_place p;

	place_of(c, id, &p);
	return place_count(c, &p);
}

/* ------------------------------------------------------------------- batches */

/* Finds the places of the items from `from` on; returns their number, GROUP but at the end. */
COUNT_HOT size_t group_places(const struct ink_count *c, const struct ink_count_batch *b, size_t from,
			      struct ink_count_place *places)
{
	size_t n = b->n - from < GROUP ? b->n - from : GROUP;

	for (size_t i = 0; i < n; i++) {
		place_of(c, b->ids[from + i], &places[i]);
		place_fetch(c, &places[i]);
	}
	return n;
}

COUNT_HOT int change_batch(struct ink_count *c, const struct ink_count_batch *b, place_verb *verb)
{
	struct ink_count_place places[GROUP];
	int first = 0;

	for (size_t from = 0; from < b->n; from += GROUP) {
		size_t n = group_places(c, b, from, places);

		for (size_t i = 0; i < n; i++) {
			int error = verb(c, &places[i]);

			first = first ? first : error;
			if (b->errors)
				b->errors[from + i] = error;
		}
	}
	return first;
}

static int verb_add_batch(struct ink_count *c, const struct ink_count_batch *b)
{
	return change_batch(c, b, place_add);
}

static int verb_remove_batch(struct ink_count *c, const struct ink_count_batch *b)
{
	return change_batch(c, b, place_remove);
}

static void verb_contains_batch(const struct ink_count *c, const struct ink_count_batch *b)
{
	struct ink_count_place places[GROUP];

	for (size_t from = 0; from < b->n; from += GROUP) {
		size_t n = group_places(c, b, from, places);

		for (size_t i = 0; i < n; i++)
			b->found[from + i] = place_count(c, &places[i]) != 0;
	}
}

#define COUNT_VERBS                                                                                          \
	.add = verb_add, .remove = verb_remove, .count = verb_count, .add_batch = verb_add_batch,            \
	.remove_batch = verb_remove_batch, .contains_batch = verb_contains_batch

#endif
