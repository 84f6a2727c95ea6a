/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Batches of inserts into `line`, with one writer. Part of calls.h.
 *
 * At full load one flow in seven finds both its lines full, and an entry has to
 * move. Done when it is the flow's turn, that takes five times as long as another
 * insert: it is one long chain, from an entry to its other line, to the room there
 * and back, and fills the processor's queues with what waits for it. So flows that
 * have no room wait for each other, and each step is taken for dozens of them:
 *
 *     a block:   look for room ---> store who has it
 *                                        |
 *                                        +---> waiting: ask words ---> move, and store
 *
 * Who waits is overtaken by others, but never by the same flow, or by one that the
 * lines cannot tell from it: these have the same two lines, and full lines stay full
 * as long as the batch goes on, for whoever makes room takes it.
 */
#ifndef INKLING_KINDS_LINE_INSERT_H
#define INKLING_KINDS_LINE_INSERT_H

#include "kinds/line/check.h"
#include "kinds/line/store.h"
#include "kinds/line/sweep.h"

#include "engine/engine.h"

_Static_assert(!IS_SHARED, "nothing here takes a lock");

/* Those who wait; a block more than may be left of them when one has been worked on. */
struct waiting {
	size_t n;
	size_t items[INK_WAITING + BLOCK]; /* their numbers in the batch */
	struct place places[INK_WAITING + BLOCK];
};

/* What comes of a batch: the first item that has an error, and who waits. */
struct inserts {
	size_t item;
	int error;
	struct waiting waiting;
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

/* --------------------------------------------------------------- who has room */

/* In tables that are far, the lines for making room are asked for at once. */
INK_HOT void join(const struct ink_table *t, struct waiting *w, size_t item, const struct place *p)
{
	struct asked a;

	w->items[w->n] = item;
	w->places[w->n++] = *p;
	if (t->is_far) {
		ask_word(t, p, 0, &a);
		others_fetch(t, &a, FETCH_FAR);
	}
}

/* Nothing looks like it, neither in its lines nor in the side table. */
INK_HOT int is_plain(struct ink_table *t, const struct place *p, uint64_t id, unsigned state)
{
	return state < t->states && !is_sent_aside(t, p, id) && !cell_may_match(t, p);
}

/* One that is not plain, or whose room is taken. */
SELDOM void insert_carefully(struct ink_table *t, const struct ink_batch *b, size_t item,
			     const struct place *p, struct inserts *into)
{
	int error;

	if (!is_room(find_room(t, p))) {
		join(t, &into->waiting, item, p);
		return;
	}
	error = insert_at(t, p, b->ids[item], b->states[item]);
	if (error)
		note_error(b, item, error, into);
}

/* Keeps the compiler from reckoning an address anew wherever it is used. */
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
			join(t, &into->waiting, x->from + i, p);
		else if (__builtin_expect(!is_plain(t, p, ids[i], states[i]) ||
						  !room_fill(t, p, p->at.room, states[i]),
					  0))
			insert_carefully(t, b, x->from + i, p, into);
	}
}

/* ------------------------------------------------------------------- who waits */

/* What was asked is not as it was, or nobody can move, or it is not for want of room alone that it waits. */
SELDOM int insert_at_last(struct ink_table *t, struct place *p, uint64_t id, unsigned state)
{
	p->at.room = LINE_NO_ROOM;
	return insert_at(t, p, id, state);
}

INK_HOT int insert_waiting(struct ink_table *t, struct place *p, const struct asked *a, uint64_t id,
			   unsigned state)
{
	if (__builtin_expect(!is_plain(t, p, id, state) || word_read(a->word) != a->seen ||
				     !displace_one(t, a, p->at.fingerprint, state),
			     0))
		return insert_at_last(t, p, id, state);
	return 0;
}

SELDOM void insert_all_waiting(struct ink_table *t, const struct ink_batch *b, struct inserts *into)
{
	struct waiting *w = &into->waiting;
	struct asked asked[INK_WAITING + BLOCK];
	size_t n = w->n;

	for (size_t i = 0; i < n; i++) {
		ask_word(t, &w->places[i], 0, &asked[i]);
		others_fetch(t, &asked[i], FETCH_TO_READ);
	}
	for (size_t i = 0; i < n; i++) {
		size_t item = w->items[i];
		int error = insert_waiting(t, &w->places[i], &asked[i], b->ids[item], b->states[item]);

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

	(void)later; /* asked for while room was looked for */
	store_roomy(t, b, x, inserts);
	if (inserts->waiting.n > INK_WAITING)
		insert_all_waiting(t, b, inserts);
}

INK_HOT int insert_many(struct ink_table *t, const struct ink_batch *given, enum reach reach)
{
	const struct ink_batch b = *given;
	struct inserts into;

	into.item = SIZE_MAX;
	into.error = 0;
	into.waiting.n = 0;
	if (b.errors)
		memset(b.errors, 0, b.n * sizeof b.errors[0]);
	each_block(t, &b, STATES_BESIDES, (struct batch_way){AHEAD_STORE, reach}, insert_block, &into);
	insert_all_waiting(t, &b, &into);
	return into.error;
}

static int insert_batch_deferred(struct ink_table *t, const struct ink_batch *b)
{
	return t->is_far ? insert_many(t, b, FAR) : insert_many(t, b, NEAR);
}

#endif
