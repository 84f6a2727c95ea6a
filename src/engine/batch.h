/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The operations of struct ink_ops, single and in batches, made of the verbs at a
 * place. Written once for all kinds; contract.h declares what a kind defines.
 *
 * The call chain of a batch, say ink_step_batch:
 *
 *     verb_step_batch     in struct ink_ops
 *     batch               near or far: is the table larger than the L2 cache?
 *     each_block          prefetches blocks ahead of the one that is worked on
 *     block_work          item after item
 *     item_step           takes id, event and move from the caller's arrays
 *     step_at             the verb at a place (engine.h, or the kind's)
 *     cell_recode         the kind's store
 */
#if defined KIND_DEFINED && !defined INKLING_ENGINE_BATCH_H
#define INKLING_ENGINE_BATCH_H

#include <stddef.h>
#include <string.h>

#include "engine/prefetch.h"

/* ------------------------------------------------------------- single calls */

static ink_answer verb_lookup(struct ink_table *t, uint64_t id)
{
	struct place p = place_of(t, id);
	struct hint h = cell_look(t, &p);

	return lookup_at(t, &p, &h, id);
}

static ink_answer verb_peek(const struct ink_table *t, uint64_t id)
{
	struct place p = place_of(t, id);

	return peek_at(t, &p, id);
}

static int verb_insert(struct ink_table *t, uint64_t id, unsigned state)
{
	struct place p = place_of(t, id);

	return insert_at(t, &p, id, state);
}

static int verb_set(struct ink_table *t, uint64_t id, unsigned state)
{
	struct place p = place_of(t, id);

	return set_at(t, &p, id, state);
}

static int verb_modify(struct ink_table *t, uint64_t id, unsigned state)
{
	struct place p = place_of(t, id);
	struct hint h = cell_look(t, &p);

	return modify_at(t, &p, &h, id, (struct ink_change){INK_ANY_STATE, state});
}

static int verb_modify_from(struct ink_table *t, uint64_t id, unsigned from, unsigned to)
{
	struct place p = place_of(t, id);
	struct hint h = cell_look(t, &p);

	return modify_at(t, &p, &h, id, (struct ink_change){(int)from, to});
}

static int verb_delete(struct ink_table *t, uint64_t id)
{
	struct place p = place_of(t, id);
	struct hint h = cell_look(t, &p);

	return delete_at(t, &p, &h, id, INK_ANY_STATE);
}

static int verb_delete_in(struct ink_table *t, uint64_t id, unsigned state)
{
	struct place p = place_of(t, id);
	struct hint h = cell_look(t, &p);

	return delete_at(t, &p, &h, id, (int)state);
}

static int verb_step(struct ink_table *t, uint64_t id, unsigned event, struct ink_move *move)
{
	struct place p = place_of(t, id);

	return step_at(t, &p, NULL, id, event, move);
}

INK_HOT void fetch_at(const struct ink_table *t, const struct place *p, enum ink_intent how)
{
	if (!TWO_LINES) {
		place_fetch(t, p, INK_UNCHANGED);
		return;
	}
	place_fetch_line(t, p, 0, how);
	place_fetch_line(t, p, 1, how);
}

static void verb_fetch(const struct ink_table *t, uint64_t id)
{
	struct place p = place_of(t, id);

	fetch_at(t, &p, FETCH_TO_READ);
}

/* ------------------------------------------------------------------ batches */

/*
 * While one block of items is worked on, the memory of the next one is prefetched.
 * Kinds without lines prefetch a block in one burst: eight items are enough to hide a
 * cache miss behind the work on the others, and few enough that their lines are still
 * cached when they are needed. In kinds of two lines the work on an item is so short
 * that memory would be idle before the block is done. There prefetches alternate with
 * the work, and reach further ahead (make bench, at 1M and 16M flows).
 *
 * Far tables (ink_is_far) are prefetched three blocks ahead, and into L2 only: L1
 * has so few miss buffers that they, and not the memory, would be the limit.
 */
enum { BLOCK = TWO_LINES ? INK_BLOCK : 8 };

enum reach { NEAR = 1, FAR = 3 }; /* blocks that are prefetched ahead of the current one */

/*
 * The caller's arrays may be in memory, too, and the hardware prefetcher is too late
 * for them: without these prefetches, such batches spent a third of their time waiting
 * for ids (make bench; distances of 32 to 128 items perform alike).
 */
enum { INPUTS_AHEAD = 64, IDS_IN_A_LINE = 64 / sizeof(uint64_t) };

/* The items of a batch from number `from` on. */
struct block {
	size_t from, n;
	_Alignas(64) struct place places[BLOCK];
	struct hint hints[BLOCK];
};

/* One item of a batch, with its place, and the hint if the loop looked ahead. */
struct item {
	const struct ink_batch *b;
	size_t i;
	const struct place *p;
	const struct hint *h;
};

/* The function that is called for each item, and the caller's arrays that it reads. */
enum inputs { IDS_ALONE, IDS_AND_STATES, IDS_AND_EVENTS };

struct work {
	int (*item)(struct ink_table *t, const struct item *item);
	enum inputs inputs;
};

/*
 * What the loop does with a block before its items are worked on. Modifies and deletes
 * of entries that stay in their slots look at the whole block first: between the items,
 * each look would wait for the stores before it. Inserts look for room.
 */
enum ahead {
	AHEAD_READ,    /* nothing; the items do not change the table */
	AHEAD_NOTHING, /* nothing */
	AHEAD_LOOK,
	AHEAD_STORE
};

/* How a batch runs. Both are compile-time constants wherever they are used: each way has a loop of its own. */
struct batch_way {
	enum ahead ahead;
	enum reach reach;
};

/* Does the loop look at a block, or prepare it, before its items are worked on? */
INK_HOT int is_seen_ahead(struct batch_way way)
{
	return way.ahead == AHEAD_STORE ? FINDS_ROOM : way.ahead == AHEAD_LOOK;
}

/* The lines of an item of a later block that are prefetched, one bit each. */
enum lines { NO_LINE = 0, FIRST_LINE = 1, SECOND_LINE = 2, BOTH_LINES = 3 };

/*
 * Prefetches of a later block alternate with looking at the current block, and with
 * the work on it. Bursts of prefetches stall, so usually look and work prefetch one
 * line each. Measured with make bench:
 *
 *     modify, delete   at 1M flows one line each takes 3 % less time than both in the look
 *     insert           the same saves two threads 3 to 8 %, but costs a single one 5 %; so
 *                      with one writer, the look prefetches both
 *     far tables       the longer of look and work prefetches both: a sixth less time
 *                      for modifies and deletes at 16M flows
 */
INK_HOT enum lines look_fetches(struct batch_way way)
{
	if (!TWO_LINES || !is_seen_ahead(way))
		return NO_LINE;
	if (way.ahead == AHEAD_STORE)
		return DEFERS_INSERTS || way.reach == FAR ? BOTH_LINES : FIRST_LINE;
	return way.reach == FAR ? NO_LINE : FIRST_LINE;
}

INK_HOT enum lines work_fetches(struct batch_way way)
{
	return TWO_LINES ? BOTH_LINES & ~look_fetches(way) : NO_LINE;
}

INK_HOT void item_fetch(const struct ink_table *t, const struct place *p, struct batch_way way,
			enum lines lines)
{
	enum ink_intent near = way.ahead == AHEAD_READ ? FETCH_TO_READ : FETCH_TO_CHANGE;

	for (unsigned which = 0; which < 2; which++)
		if (TWO_LINES && (lines >> which & 1))
			place_fetch_line(t, p, which, way.reach == FAR ? FETCH_FAR : near);
}

/* The state is known if the caller gives it, and unknown if a row of the rules leads to it. */
INK_HOT void places_fetch(const struct ink_table *t, const struct ink_batch *b, struct block *x,
			  struct batch_way way)
{
	int unknown = way.ahead == AHEAD_READ ? INK_UNCHANGED : INK_ANY_STATE;

	for (size_t i = 0; i < x->n; i++) {
		x->places[i] = place_of(t, b->ids[x->from + i]);
		place_fetch(t, &x->places[i], way.ahead == AHEAD_STORE ? b->states[x->from + i] : unknown);
	}
}

/* The inputs of n items. Prefetching beyond the end of an array is harmless. */
INK_HOT void inputs_fetch(const struct ink_batch *b, size_t from, size_t n, enum inputs inputs)
{
	uintptr_t ids = (uintptr_t)b->ids;

	for (size_t i = from; i < from + n; i += IDS_IN_A_LINE)
		__builtin_prefetch((const void *)(ids + i * sizeof b->ids[0]));
	if (inputs == IDS_AND_STATES)
		__builtin_prefetch((const void *)((uintptr_t)b->states + from));
	if (inputs == IDS_AND_EVENTS)
		__builtin_prefetch((const void *)((uintptr_t)b->events + from * sizeof b->events[0]));
}

/* Computes the places of a block. Kinds without lines prefetch them here, in one burst. */
INK_HOT void block_begin(const struct ink_table *t, const struct ink_batch *b, struct block *x, size_t from,
			 struct batch_way way)
{
	x->from = from < b->n ? from : b->n;
	x->n = b->n - x->from < BLOCK ? b->n - x->from : BLOCK;
	if (!TWO_LINES)
		places_fetch(t, b, x, way);
	else if (x->n)
		places_of(t, b->ids + x->from, x->n, x->places);
}

INK_HOT void item_see(const struct ink_table *t, struct block *x, size_t i, struct place *p,
		      struct batch_way way)
{
	if (way.ahead == AHEAD_STORE)
		place_prepare(t, p);
	else
		x->hints[i] = cell_look(t, p);
}

/* Looks at a block, or prepares it, while a later one is prefetched. */
INK_HOT void see_ahead(const struct ink_table *t, struct block *x, const struct block *later,
		       struct batch_way way)
{
	size_t i = 0, n = x->n, fetched = look_fetches(way) ? later->n : 0;
	const struct place *q = later->places;
	struct place *p = x->places;

	if (!is_seen_ahead(way))
		return;
	for (; i < fetched; i++, p++, q++) {
		item_fetch(t, q, way, look_fetches(way));
		item_see(t, x, i, p, way);
	}
	for (; i < n; i++, p++)
		item_see(t, x, i, p, way);
}

/* The caller's arrays, from that item on. */
INK_HOT struct ink_batch batch_from(const struct ink_batch *b, size_t from)
{
	return (struct ink_batch){b->n - from,
				  b->ids + from,
				  b->states ? b->states + from : NULL,
				  b->events ? b->events + from : NULL,
				  b->answers ? b->answers + from : NULL,
				  b->moves ? b->moves + from : NULL,
				  b->errors ? b->errors + from : NULL};
}

INK_HOT int item_work(struct ink_table *t, const struct item *x, struct work w)
{
	int error = w.item(t, x);

	if (__builtin_expect(error != 0, 0) && x->b->errors)
		x->b->errors[x->i] = error;
	return error;
}

/* The first error, or 0. */
INK_HOT int block_work(struct ink_table *t, const struct ink_batch *b, const struct block *x,
		       const struct block *later, struct work w, struct batch_way way)
{
	struct ink_batch here = batch_from(b, x->from);
	const struct place *q = later->places, *fetched = q + (work_fetches(way) ? later->n : 0);
	struct item item = {&here, 0, x->places, x->hints};
	size_t n = x->n;
	int first_error = 0;

	if (way.ahead != AHEAD_READ && here.errors)
		memset(here.errors, 0, n * sizeof here.errors[0]);
	for (; item.i < n; item.i++, item.p++, item.h++, q++) {
		int error;

		if (__builtin_expect(q < fetched, 1))
			item_fetch(t, q, way, work_fetches(way));
		error = item_work(t, &item, w);
		if (__builtin_expect(error != 0, 0) && !first_error)
			first_error = error;
	}
	return first_error;
}

/* The blocks that are prefetched before the loop begins. */
INK_HOT void first_blocks(struct ink_table *t, const struct ink_batch *b, struct block *blocks,
			  struct batch_way way)
{
	for (size_t k = 0; k < (size_t)way.reach; k++) {
		block_begin(t, b, &blocks[k], k * BLOCK, way);
		for (size_t i = 0; i < blocks[k].n; i++)
			item_fetch(t, &blocks[k].places[i], way, BOTH_LINES);
	}
}

/* Works on a block, while a later one is prefetched; `into` receives the result. */
typedef void block_fn(struct ink_table *t, const struct ink_batch *b, struct block *x,
		      const struct block *later, void *into);

INK_HOT void each_block(struct ink_table *t, const struct ink_batch *b, enum inputs inputs,
			struct batch_way way, block_fn *work, void *into)
{
	struct block blocks[FAR + 1], *last = &blocks[way.reach], *now = blocks, *later = last;
	size_t from = (size_t)way.reach * BLOCK;

	inputs_fetch(b, 0, b->n < from + INPUTS_AHEAD ? b->n : from + INPUTS_AHEAD, inputs);
	first_blocks(t, b, blocks, way);
	for (; now->n; from += BLOCK) {
		block_begin(t, b, later, from, way);
		inputs_fetch(b, from + INPUTS_AHEAD, BLOCK, inputs);
		see_ahead(t, now, later, way);
		work(t, b, now, later, into);
		later = now;
		now = now == last ? blocks : now + 1;
	}
}

struct batch_work {
	struct work work;
	struct batch_way way;
	int first_error;
};

INK_HOT void work_on(struct ink_table *t, const struct ink_batch *b, struct block *x,
		     const struct block *later, void *into)
{
	struct batch_work *w = into;
	int error = block_work(t, b, x, later, w->work, w->way);

	w->first_error = w->first_error ? w->first_error : error;
}

INK_HOT int in_batch(struct ink_table *t, const struct ink_batch *given, struct work work,
		     struct batch_way way)
{
	const struct ink_batch b = *given;
	struct batch_work w = {work, way, 0};

	each_block(t, &b, work.inputs, way, work_on, &w);
	return w.first_error;
}

/*
 * A batch of one block is prefetched at once either way, so it goes to L1, even in far
 * tables: 16 hits at 16M flows take 20 instead of 23 ns each, and 14.5 instead of 17 if
 * ink_fetch_batch was called for them before.
 */
INK_HOT enum reach reach_of(const struct ink_table *t, const struct ink_batch *b)
{
	return TWO_LINES && t->is_far && b->n > BLOCK ? FAR : NEAR;
}

INK_HOT int batch(struct ink_table *t, const struct ink_batch *b, struct work w, enum ahead ahead)
{
	return reach_of(t, b) == FAR ? in_batch(t, b, w, (struct batch_way){ahead, FAR})
				     : in_batch(t, b, w, (struct batch_way){ahead, NEAR});
}

INK_HOT int item_lookup(struct ink_table *t, const struct item *x)
{
	struct hint h = cell_look(t, x->p);

	x->b->answers[x->i] = lookup_at(t, x->p, &h, x->b->ids[x->i]);
	return 0;
}

INK_HOT int item_peek(struct ink_table *t, const struct item *x)
{
	x->b->answers[x->i] = peek_at(t, x->p, x->b->ids[x->i]);
	return 0;
}

INK_HOT int item_insert(struct ink_table *t, const struct item *x)
{
	return insert_at(t, x->p, x->b->ids[x->i], x->b->states[x->i]);
}

INK_HOT int item_set(struct ink_table *t, const struct item *x)
{
	return set_at(t, x->p, x->b->ids[x->i], x->b->states[x->i]);
}

INK_HOT int item_modify(struct ink_table *t, const struct item *x)
{
	return modify_at(t, x->p, x->h, x->b->ids[x->i],
			 (struct ink_change){INK_ANY_STATE, x->b->states[x->i]});
}

INK_HOT int item_delete(struct ink_table *t, const struct item *x)
{
	struct hint fresh;

	if (!ENTRIES_STAY)
		fresh = cell_look(t, x->p);
	return delete_at(t, x->p, ENTRIES_STAY ? x->h : &fresh, x->b->ids[x->i], INK_ANY_STATE);
}

INK_HOT int item_step(struct ink_table *t, const struct item *x)
{
	return step_at(t, x->p, ENTRIES_STAY ? x->h : NULL, x->b->ids[x->i], x->b->events[x->i],
		       &x->b->moves[x->i]);
}

static const struct work lookup_work = {item_lookup, IDS_ALONE};
static const struct work peek_work = {item_peek, IDS_ALONE};
static const struct work insert_work = {item_insert, IDS_AND_STATES};
static const struct work set_work = {item_set, IDS_AND_STATES};
static const struct work modify_work = {item_modify, IDS_AND_STATES};
static const struct work delete_work = {item_delete, IDS_ALONE};
static const struct work step_work = {item_step, IDS_AND_EVENTS};

static void verb_lookup_batch(struct ink_table *t, const struct ink_batch *b)
{
	batch(t, b, lookup_work, AHEAD_READ);
}

static void verb_peek_batch(const struct ink_table *t, const struct ink_batch *b)
{
	batch((struct ink_table *)t, b, peek_work, AHEAD_READ);
}

#if !KIND_DEFERS_INSERTS
static int verb_insert_batch(struct ink_table *t, const struct ink_batch *b)
{
	return batch(t, b, insert_work, AHEAD_STORE);
}
#endif

static int verb_set_batch(struct ink_table *t, const struct ink_batch *b)
{
	return batch(t, b, set_work, AHEAD_NOTHING);
}

static int verb_modify_batch(struct ink_table *t, const struct ink_batch *b)
{
	return batch(t, b, modify_work, AHEAD_LOOK);
}

static int verb_delete_batch(struct ink_table *t, const struct ink_batch *b)
{
	return batch(t, b, delete_work, ENTRIES_STAY ? AHEAD_LOOK : AHEAD_NOTHING);
}

static int verb_step_batch(struct ink_table *t, const struct ink_batch *b)
{
	return batch(t, b, step_work, ENTRIES_STAY ? AHEAD_LOOK : AHEAD_NOTHING);
}

/* In far tables into L2 only, as batches do: L1 has few miss buffers. */
static void verb_fetch_batch(const struct ink_table *t, const uint64_t *ids, size_t n)
{
	struct place places[BLOCK];

	for (size_t from = 0; from < n; from += BLOCK) {
		size_t here = n - from < BLOCK ? n - from : BLOCK;

		places_of(t, ids + from, here, places);
		for (size_t i = 0; i < here; i++)
			fetch_at(t, &places[i], t->is_far ? FETCH_FAR : FETCH_TO_READ);
	}
}

/* ------------------------------------------------------------------ the kind */

/* The members of a kind's struct ink_ops that this file defines. */
#define VERB_CALLS                                                                                           \
	.lookup = verb_lookup, .peek = verb_peek, .insert = verb_insert, .set = verb_set,                    \
	.modify = verb_modify, .modify_from = verb_modify_from, .remove = verb_delete,                       \
	.remove_in = verb_delete_in, .step = verb_step, .lookup_batch = verb_lookup_batch,                   \
	.peek_batch = verb_peek_batch, .insert_batch = verb_insert_batch, .set_batch = verb_set_batch,       \
	.modify_batch = verb_modify_batch, .remove_batch = verb_delete_batch, .step_batch = verb_step_batch, \
	.fetch = verb_fetch, .fetch_batch = verb_fetch_batch

#endif
