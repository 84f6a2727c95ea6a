/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Twins: two entries that no search could tell apart. A sound table has none.
 *
 * Twins have the same two candidate lines (in `line`, parts of lines), so every entry
 * of a table has to be searched for in its other line, which is anywhere in memory. Taken
 * one by one, each search would wait for a cache miss. So an entry enters a ring
 * when its line is checked, which prefetches its other line, and is searched for
 * there when the ring comes round:
 *
 *     entry ---> prefetch ---> [ 64 entries ] ---> search in its other line
 *
 * A pair of twins would be met from both sides. It is enough to meet it from the
 * lower of the two lines. Twins in one line are found when that line is checked.
 */
#if defined KIND_DEFINED && !defined INKLING_ENGINE_TWINS_H
#define INKLING_ENGINE_TWINS_H

#include "engine/variant.h"

enum { TWINS_AHEAD = 64 }; /* enough to hide a cache miss behind the checks between */

struct twins {
	uint64_t seen;                     /* entries that entered the ring */
	struct place entries[TWINS_AHEAD]; /* each stands in its first line */
	int found;
};

/* Is its second line behind the first? */
static int place_ascends(const struct place *p);

/* Does the place's second line hold an entry that a search for the place would find? */
static int place_has_second(const struct ink_table *t, const struct place *p);

INK_HOT void twins_search(const struct ink_table *t, struct twins *w, const struct place *p)
{
	if (__builtin_expect(place_has_second(t, p), 0))
		w->found = 1;
}

/* An entry stands in the first line of that place; is there a twin in the second? */
INK_HOT void twins_look_for(const struct ink_table *t, struct twins *w, const struct place *p)
{
	struct place *slot = &w->entries[w->seen % TWINS_AHEAD];

	if (!place_ascends(p))
		return;
	if (w->seen++ >= TWINS_AHEAD)
		twins_search(t, w, slot);
	*slot = *p;
	place_fetch_line(t, p, 1, FETCH_TO_READ);
}

/* Empties the ring; 1 if there are twins. */
static int twins_found(const struct ink_table *t, struct twins *w)
{
	uint64_t n = w->seen < TWINS_AHEAD ? w->seen : TWINS_AHEAD;

	while (n-- > 0)
		twins_search(t, w, &w->entries[n]);
	return w->found;
}

#endif
