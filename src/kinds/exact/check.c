/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Is a loaded table of the kind `exact` sound? Every flow must be found in its slot:
 * no slot between its home and it is empty, and no slot before it has the same id.
 *
 * A search for every flow would show both, and in a table of random ids it is
 * short. But a forged file may give n flows one home, and the searches then take
 * n^2 / 2 steps. So the slots are checked run by run, where a run is a longest
 * sequence of taken slots:
 *
 *     slot   .  #  #  #  #  #  .        a flow is reached if its home lies in its run,
 *               |<-- run --->|          at or before its slot
 *
 * Flows at most NEAR slots behind their homes are searched for. If a run has others,
 * its ids are sorted, and equal ones become neighbours. That bounds the work by
 * NEAR steps for a slot, and the sort.
 */
#include "kinds/exact/exact.h"

#include "base/allocator.h"

enum { NEAR = 64 }; /* at 7/8 of the slots taken, a flow is 4 slots behind its home in the mean */

/* Taken slots from `first` on, round the end of the table if need be. */
struct run {
	uint64_t first, slots;
	int has_far; /* flows more than NEAR slots behind their homes */
};

/* -------------------------------------------------------------------- sorting */

/* Restores the heap below `top`, where only the id at `top` may be smaller than those below it. */
static void sift_down(uint64_t *ids, uint64_t top, uint64_t n)
{
	uint64_t id = ids[top], child;

	for (; (child = 2 * top + 1) < n; top = child) {
		child += child + 1 < n && ids[child + 1] > ids[child];
		if (ids[child] <= id)
			break;
		ids[top] = ids[child];
	}
	ids[top] = id;
}

/* Heapsort: no order of the ids makes it slow, and it takes no memory of its own. */
static void sort(uint64_t *ids, uint64_t n)
{
	for (uint64_t i = n / 2; i-- > 0;)
		sift_down(ids, i, n);
	for (uint64_t end = n; end-- > 1;) {
		uint64_t largest = ids[0];

		ids[0] = ids[end];
		ids[end] = largest;
		sift_down(ids, 0, end);
	}
}

/* ----------------------------------------------------------------------- runs */

static const struct slot *run_slot(const struct ink_table *t, const struct run *r, uint64_t i)
{
	return slot_at(t, (r->first + i) & ink_exact_shape_of(t)->mask);
}

static int has_equal(uint64_t *ids, uint64_t n)
{
	sort(ids, n);
	for (uint64_t i = 1; i < n; i++)
		if (ids[i] == ids[i - 1])
			return 1;
	return 0;
}

/* The slow way, if there is no memory for the ids. */
static int run_is_found(const struct ink_table *t, const struct run *r)
{
	for (uint64_t i = 0; i < r->slots; i++)
		if (probe(t, run_slot(t, r, i)->id) != run_slot(t, r, i))
			return 0;
	return 1;
}

static int run_is_distinct(const struct ink_table *t, const struct run *r)
{
	size_t bytes = r->slots * sizeof(uint64_t);
	uint64_t *ids = ink_alloc_unset(&t->allocator, bytes);
	int distinct;

	if (!ids)
		return run_is_found(t, r);
	for (uint64_t i = 0; i < r->slots; i++)
		ids[i] = run_slot(t, r, i)->id;
	distinct = !has_equal(ids, r->slots);
	ink_release(&t->allocator, ids, bytes);
	return distinct;
}

/* --------------------------------------------------------------------- slots */

static const char *const not_found = "a flow cannot be found where it stands";

/* Slot i, which is taken, becomes the last one of the run. */
static const char *check_taken(const struct ink_table *t, struct run *r, uint64_t i)
{
	const struct slot *s = slot_at(t, i);
	uint64_t distance = (i - home_of(t, s->id)) & ink_exact_shape_of(t)->mask;

	if (state_in(s) >= t->states)
		return "a flow has a state that the table has not";
	if (distance > r->slots++)
		return not_found;
	if (distance <= NEAR)
		return probe(t, s->id) == s ? NULL : not_found;
	r->has_far = 1;
	return NULL;
}

/* Slot i, which is empty, ends the run. */
static const char *check_empty(const struct ink_table *t, struct run *r, uint64_t i)
{
	if (slot_at(t, i)->id)
		return "an empty slot has an id";
	if (r->has_far && !run_is_distinct(t, r))
		return not_found;
	*r = (struct run){.first = i + 1};
	return NULL;
}

/* Once round the table, from an empty slot to the same one again. */
static const char *check_slots(const struct ink_table *t, uint64_t empty)
{
	struct run r = {.first = empty + 1};
	const char *wrong = NULL;

	for (uint64_t n = 1; n <= slots_of(t) && !wrong; n++) {
		uint64_t i = (empty + n) & ink_exact_shape_of(t)->mask;

		wrong = slot_at(t, i)->stamp ? check_taken(t, &r, i) : check_empty(t, &r, i);
	}
	return wrong;
}

const char *ink_exact_check(const struct ink_table *t)
{
	const struct ink_exact_shape *x = ink_exact_shape_of(t);
	uint64_t empty = 0;

	if (flows_of(t) != x->count)
		return "the number of flows is wrong";
	if (x->count > x->mask)
		return "no slot is empty";
	while (slot_at(t, empty)->stamp)
		empty++;
	return check_slots(t, empty);
}
