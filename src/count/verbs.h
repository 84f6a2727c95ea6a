/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The verbs of a kind of counting set, one by one and in batches, made of what
 * its file defines before it includes this one:
 *
 *     struct place                              where an id looks
 *     void place_of(set, id, place)
 *     void place_fetch(set, place)              asks for its memory
 *     int place_add(set, place), place_remove(set, place)
 *     uint32_t place_count(set, place)
 *
 * A batch finds out the places of some items and asks for their memory, and
 * does the work when it has arrived.
 */
enum { AT_ONCE = 32 };

static int add(struct ink_count *c, uint64_t id)
{
	struct place p;

	place_of(c, id, &p);
	return place_add(c, &p);
}

static int remove_one(struct ink_count *c, uint64_t id)
{
	struct place p;

	place_of(c, id, &p);
	return place_remove(c, &p);
}

static uint32_t count(const struct ink_count *c, uint64_t id)
{
	struct place p;

	place_of(c, id, &p);
	return place_count(c, &p);
}

/* The places of the items from `from` on; returns how many, AT_ONCE but at the end. */
COUNT_HOT size_t fetch(const struct ink_count *c, const struct ink_count_batch *b, size_t from,
		       struct place *places)
{
	size_t n = b->n - from < AT_ONCE ? b->n - from : AT_ONCE;

	for (size_t i = 0; i < n; i++) {
		place_of(c, b->ids[from + i], &places[i]);
		place_fetch(c, &places[i]);
	}
	return n;
}

COUNT_HOT int change(struct ink_count *c, const struct ink_count_batch *b,
		     int (*verb)(struct ink_count *c, const struct place *p))
{
	struct place places[AT_ONCE];
	int first = 0;

	for (size_t from = 0; from < b->n; from += AT_ONCE) {
		size_t n = fetch(c, b, from, places);

		for (size_t i = 0; i < n; i++) {
			int error = verb(c, &places[i]);

			first = first ? first : error;
			if (b->errors)
				b->errors[from + i] = error;
		}
	}
	return first;
}

static int add_batch(struct ink_count *c, const struct ink_count_batch *b)
{
	return change(c, b, place_add);
}

static int remove_batch(struct ink_count *c, const struct ink_count_batch *b)
{
	return change(c, b, place_remove);
}

static void contains_batch(const struct ink_count *c, const struct ink_count_batch *b)
{
	struct place places[AT_ONCE];

	for (size_t from = 0; from < b->n; from += AT_ONCE) {
		size_t n = fetch(c, b, from, places);

		for (size_t i = 0; i < n; i++)
			b->found[from + i] = place_count(c, &places[i]) != 0;
	}
}
