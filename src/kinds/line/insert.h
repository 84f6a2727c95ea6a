/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Batches of inserts into `line`, with one writer.
 *
 * At full load one insert in seven finds both candidate lines full and must displace
 * an entry; in parts of lines, two or three in seven. Done inline, a displacement takes
 * five times as long as a plain insert. It is a chain of dependent loads: the victim, its
 * other line, the free slot there. While the chain is outstanding, the reorder buffer
 * fills and later inserts stall. So inserts without room are deferred, and each step is
 * taken for dozens of them together:
 *
 *     a block:   look for room ---> room: store
 *                              |
 *                              +--> none: defer ---> read words ---> displace, and store
 *
 * Deferred inserts complete after later ones. They keep their order among inserts of
 * the same flow, and of flows that the lines cannot tell from it: those have the same
 * two parts, and full parts stay full while the batch runs, because an insert that
 * makes room takes it.
 */
#ifndef INKLING_KINDS_LINE_INSERT_H
#define INKLING_KINDS_LINE_INSERT_H

#include "kinds/line/check.h"
#include "kinds/line/store.h"
#include "kinds/line/sweep.h"

#include "engine/engine.h"

_Static_assert(!IS_SHARED, "nothing here takes a lock");

/* Deferred inserts: room for a block more than may remain after a block. */
struct pending {
	size_t n;
	size_t items[INK_PENDING + BLOCK]; /* their numbers in the batch */
	struct place places[INK_PENDING + BLOCK];
};

/* The result of a batch: the first item that has an error, and the deferred inserts. */
struct inserts {
	size_t item;
	int error;
	struct pending pending;
};

static void note_error(const struct ink_batch *b, size_t item, int error, struct inserts *into)
{
	if (b->errors)
		b->errors[item] = error;
	if (item < into->item) {
		into->item = item;
		into->error = error;
	}
}

/* --------------------------------------------------------------- with room */

/* Defers an insert. In far tables, the lines for its displacement are prefetched now. */
INK_HOT void defer(const struct ink_table *t, struct pending *w, size_t item, const struct place *p)
{
	struct candidates a;

	w->items[w->n] = item;
	w->places[w->n++] = *p;
	if (t->is_far) {
		candidates_read(t, p, 0, &a);
		others_fetch(t, &a, FETCH_FAR);
	}
}

/* The flow certainly matches no entry, neither in its lines nor in the side table. */
INK_HOT int is_plain(struct ink_table *t, const struct place *p, uint64_t id, unsigned state)
{
	return state < t->states && !needs_side_probe(t, p, id) && !cell_may_match(t, p);
}

/* An insert that is not plain, or whose slot is taken by now. */
SELDOM void insert_carefully(struct ink_table *t, const struct ink_batch *b, size_t item,
			     const struct place *p, struct inserts *into)
{
	int error;

	if (!is_room(find_room(t, p))) {
		defer(t, &into->pending, item, p);
		return;
	}
	error = insert_at(t, p, b->ids[item], b->states[item]);
	if (error)
		note_error(b, item, error, into);
}

/* Keeps the compiler from recomputing an address at each use. */
#define IN_A_REGISTER(address) __asm__("" : "+r"(address))

INK_HOT void store_roomy(struct ink_table *t, const struct ink_batch *b, const struct block *x,
			 struct inserts *into)
{
	const uint64_t *ids = b->ids + x->from;
	const uint8_t *states = b->states + x->from;
	const struct place *p = x->places;
	size_t n = x->n;

	IN_A_REGISTER(ids);
	IN_A_REGISTER(states);
	for (size_t i = 0; i < n; i++, p++) {
		IN_A_REGISTER(p);
		if (!is_room(p->at.room))
			defer(t, &into->pending, x->from + i, p);
		else if (__builtin_expect(!is_plain(t, p, ids[i], states[i]) ||
						  !room_fill(t, p, p->at.room, states[i]),
					  0))
			insert_carefully(t, b, x->from + i, p, into);
	}
}

/* ------------------------------------------------------------------- deferred */

/* The words of a flow's parts that are read for it at once: in parts of one word, both. */
INK_HOT unsigned words_at_once(const struct ink_table *t)
{
	return shape_of(t)->words == 1 ? 2 : 1;
}

INK_HOT void pending_read(const struct ink_table *t, const struct place *p, struct candidates a[2])
{
	for (unsigned i = 0; i < words_at_once(t); i++) {
		candidates_read(t, p, i, &a[i]);
		others_fetch(t, &a[i], FETCH_TO_READ);
	}
}

/*
 * In whole lines 94 of 100 displacements succeed with the first word, in halves 78 of 100,
 * and with both parts of one word each 77. Where a look says that they will not, the
 * memory that comes next in the search is prefetched, too.
 */
INK_HOT void pending_fetch_further(const struct ink_table *t, const struct place *p,
				   const struct candidates a[2])
{
	struct candidates next;

	if (choose_victim(t, &a[0]).room || (words_at_once(t) == 2 && choose_victim(t, &a[1]).room))
		return;
	if (words_at_once(t) == 2) {
		chain_fetch(t, p);
	} else {
		candidates_read(t, p, 1, &next);
		others_fetch(t, &next, FETCH_TO_READ);
	}
}

/* Moves a candidate, and puts the flow in its slot; 0 if none can move, or a word has changed since it was read. */
INK_HOT int displace_pending(struct ink_table *t, const struct place *p, const struct candidates a[2],
			     unsigned state)
{
	uint32_t fingerprint = p->at.fingerprint;
	struct candidates next;

	if (word_read(a[0].word) != a[0].seen)
		return 0;
	if (words_at_once(t) == 2)
		return word_read(a[1].word) == a[1].seen && displace_better(t, a, fingerprint, state);
	if (displace_one(t, &a[0], fingerprint, state))
		return 1;
	if (parts_are_lines(t))
		return 0;
	candidates_read(t, p, 1, &next);
	return displace_one(t, &next, fingerprint, state);
}

/* If it cannot be done that way, or if the flow matches an entry. */
SELDOM int insert_slowly(struct ink_table *t, struct place *p, uint64_t id, unsigned state)
{
	p->at.room = LINE_NO_ROOM;
	return insert_at(t, p, id, state);
}

INK_HOT int insert_pending(struct ink_table *t, struct place *p, const struct candidates a[2], uint64_t id,
			   unsigned state)
{
	if (__builtin_expect(!is_plain(t, p, id, state) || !displace_pending(t, p, a, state), 0))
		return insert_slowly(t, p, id, state);
	return 0;
}

SELDOM void insert_all_pending(struct ink_table *t, const struct ink_batch *b, struct inserts *into)
{
	struct pending *w = &into->pending;
	struct candidates candidates[INK_PENDING + BLOCK][2];
	size_t n = w->n;

	for (size_t i = 0; i < n; i++)
		pending_read(t, &w->places[i], candidates[i]);
	for (size_t i = 0; !parts_are_lines(t) && i < n; i++)
		pending_fetch_further(t, &w->places[i], candidates[i]);
	for (size_t i = 0; i < n; i++) {
		size_t item = w->items[i];
		int error = insert_pending(t, &w->places[i], candidates[i], b->ids[item], b->states[item]);

		if (__builtin_expect(error != 0, 0))
			note_error(b, item, error, into);
	}
	w->n = 0;
}

/* ------------------------------------------------------------------- the batch */

INK_HOT void insert_block(struct ink_table *t, const struct ink_batch *b, struct block *x,
			  const struct block *later, void *into)
{
	struct inserts *inserts = into;

	(void)later; /* prefetched by the look for room */
	store_roomy(t, b, x, inserts);
	if (inserts->pending.n > INK_PENDING)
		insert_all_pending(t, b, inserts);
}

INK_HOT int insert_many(struct ink_table *t, const struct ink_batch *given, enum reach reach)
{
	const struct ink_batch b = *given;
	struct inserts into;

	into.item = SIZE_MAX;
	into.error = 0;
	into.pending.n = 0;
	if (b.errors)
		memset(b.errors, 0, b.n * sizeof b.errors[0]);
	each_block(t, &b, IDS_AND_STATES, (struct batch_way){AHEAD_STORE, reach}, insert_block, &into);
	insert_all_pending(t, &b, &into);
	return into.error;
}

static int verb_insert_batch(struct ink_table *t, const struct ink_batch *b)
{
	return reach_of(t, b) == FAR ? insert_many(t, b, FAR) : insert_many(t, b, NEAR);
}

#endif
