/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The verbs of a kind of counting set, for one item and for batches, made of
 * the kind's steps. The steps are constants where these functions are used, so
 * the compiler inlines them.
 *
 * A batch works in groups. It computes the places of a group and prefetches
 * their memory, and only then touches it.
 */
#ifndef INKLING_COUNT_VERBS_H
#define INKLING_COUNT_VERBS_H

#include "count/set.h"

enum { INK_COUNT_GROUP = 32 }; /* items prefetched together; bench/count.cc */

typedef int ink_count_verb(struct ink_count *c, const struct ink_count_place *p);

struct ink_count_steps {
	void (*locate)(const struct ink_count *c, uint64_t id, struct ink_count_place *p);
	void (*prefetch)(const struct ink_count *c, const struct ink_count_place *p);
	uint32_t (*count)(const struct ink_count *c, const struct ink_count_place *p);
};

COUNT_HOT int ink_count_change(struct ink_count *c, uint64_t id, const struct ink_count_steps *s,
			       ink_count_verb *verb)
{
	struct ink_count_place p;

	s->locate(c, id, &p);
	return verb(c, &p);
}

COUNT_HOT uint32_t ink_count_ask(const struct ink_count *c, uint64_t id, const struct ink_count_steps *s)
{
	struct ink_count_place p;

	s->locate(c, id, &p);
	return s->count(c, &p);
}

/* Locates the items from `from` on; returns their number, INK_COUNT_GROUP but at the end. */
COUNT_HOT size_t ink_count_locate(const struct ink_count *c, const struct ink_count_batch *b, size_t from,
				  const struct ink_count_steps *s, struct ink_count_place *places)
{
	size_t n = b->n - from < INK_COUNT_GROUP ? b->n - from : INK_COUNT_GROUP;

	for (size_t i = 0; i < n; i++) {
		s->locate(c, b->ids[from + i], &places[i]);
		s->prefetch(c, &places[i]);
	}
	return n;
}

COUNT_HOT int ink_count_change_batch(struct ink_count *c, const struct ink_count_batch *b,
				     const struct ink_count_steps *s, ink_count_verb *verb)
{
	struct ink_count_place places[INK_COUNT_GROUP];
	int first = 0;

	for (size_t from = 0; from < b->n; from += INK_COUNT_GROUP) {
		size_t n = ink_count_locate(c, b, from, s, places);

		for (size_t i = 0; i < n; i++) {
			int error = verb(c, &places[i]);

			first = first ? first : error;
			if (b->errors)
				b->errors[from + i] = error;
		}
	}
	return first;
}

COUNT_HOT void ink_count_ask_batch(const struct ink_count *c, const struct ink_count_batch *b,
				   const struct ink_count_steps *s)
{
	struct ink_count_place places[INK_COUNT_GROUP];

	for (size_t from = 0; from < b->n; from += INK_COUNT_GROUP) {
		size_t n = ink_count_locate(c, b, from, s, places);

		for (size_t i = 0; i < n; i++)
			b->found[from + i] = s->count(c, &places[i]) != 0;
	}
}

#endif
