/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a kind defines, so that the engine can make its operations.
 *
 * The engine is a template in C: a kind's file defines types and functions, and
 * includes the engine behind them, which gives each kind its own copy of every
 * verb and batch, with the kind's functions inlined.
 *
 *     struct place, struct spot, struct hint
 *     #define KIND_DEFINED 1              these types are defined
 *     #define KIND_... 1                  what it has beyond what is required
 *     #include "engine/contract.h"        prototypes, and defaults for what it has not
 *     ... its functions ...
 *     #include "engine/engine.h"          the verbs made of cells, and batches
 *
 * Types:
 *
 *     struct place    where a flow may stand; computed from its id alone
 *     struct spot     an entry that was found; has a member `code`            (KIND_CELLS)
 *     struct hint     what a look at a place's memory shows                   (KIND_LOOKS_AHEAD)
 *
 * The templates (this header, engine.h, batch.h, twins.h and others of this folder)
 * declare nothing before KIND_DEFINED.
 *
 * A function that is declared here and not defined is a compile error that names it;
 * meson.build passes the option that makes it one. A kind without cells (`exact`,
 * `stateful`, `direct`, `kbf`) defines its verbs at a place itself, and takes two of
 * them from composed_verbs.h.
 */
#if defined KIND_DEFINED && !defined INKLING_ENGINE_CONTRACT_H
#define INKLING_ENGINE_CONTRACT_H

#include <stddef.h>

#include "engine/prefetch.h"
#include "engine/variant.h"

/* ------------------------------------------------------------------- options */

#ifndef KIND_CELLS /* the engine makes the verbs of cells and a side table */
#define KIND_CELLS 0
#endif
#ifndef KIND_TWO_LINES /* a place is two cache lines, each prefetched while other items are worked on */
#define KIND_TWO_LINES 0
#endif
#ifndef KIND_LOOKS_AHEAD /* a batch searches a block before it changes its entries */
#define KIND_LOOKS_AHEAD 0
#endif
#ifndef KIND_ENTRIES_STAY /* a delete moves no other entry: hints stay valid */
#define KIND_ENTRIES_STAY 0
#endif
#ifndef KIND_FINDS_ROOM /* a batch of inserts looks for room ahead */
#define KIND_FINDS_ROOM 0
#endif
#ifndef KIND_DEFERS_INSERTS /* ... and runs inserts without room together, in a verb_insert_batch of its own */
#define KIND_DEFERS_INSERTS 0
#endif
#ifndef KIND_SEQLOCK /* peeks are safe while the writer writes */
#define KIND_SEQLOCK 0
#endif
#ifndef KIND_EPOCHS /* ages are stored relative to an epoch (table/epoch.h) */
#define KIND_EPOCHS 0
#endif
#ifndef KIND_QUICK_MISS /* to rule a match out is quicker than to find it */
#define KIND_QUICK_MISS 0
#endif
#ifndef KIND_QUICK_UNSURE /* to recognise "don't know" is quicker than to read the code */
#define KIND_QUICK_UNSURE 0
#endif
#ifndef KIND_LOCKS /* inserts take a lock, if there are many writers */
#define KIND_LOCKS 0
#endif
#ifndef KIND_DUPLICATES /* a flow may match several entries */
#define KIND_DUPLICATES 0
#endif

#if KIND_ENTRIES_STAY && !KIND_LOOKS_AHEAD
#error "KIND_ENTRIES_STAY is a promise about hints: it needs KIND_LOOKS_AHEAD"
#endif
#if KIND_DEFERS_INSERTS && !(KIND_FINDS_ROOM && KIND_TWO_LINES)
#error "KIND_DEFERS_INSERTS needs KIND_FINDS_ROOM and KIND_TWO_LINES"
#endif
#if INK_SHARED && !KIND_LOCKS
#error "INK_SHARED needs KIND_LOCKS: two threads could insert one flow twice"
#endif

enum {
	TWO_LINES = KIND_TWO_LINES,
	ENTRIES_STAY = KIND_ENTRIES_STAY,
	FINDS_ROOM = KIND_FINDS_ROOM,
	DEFERS_INSERTS = KIND_DEFERS_INSERTS
};

/* -------------------------------------------------------------------- places */

static inline struct place place_of(const struct ink_table *t, uint64_t id);

#if KIND_TWO_LINES
/* The same for many ids; and the prefetch of one of the two lines, `which` being 0 or 1. */
static inline void places_of(const struct ink_table *t, const uint64_t *ids, size_t n, struct place *places);
static inline void place_fetch_line(const struct ink_table *t, const struct place *p, unsigned which,
				    enum ink_intent how);
static inline void place_fetch(const struct ink_table *t, const struct place *p, int state)
{
	(void)t;
	(void)p;
	(void)state;
}
#else
/* Prefetches; `state` is the one to be stored, INK_ANY_STATE, or INK_UNCHANGED if the place is only read. */
static inline void place_fetch(const struct ink_table *t, const struct place *p, int state);
static inline void places_of(const struct ink_table *t, const uint64_t *ids, size_t n, struct place *places)
{
	for (size_t i = 0; i < n; i++)
		places[i] = place_of(t, ids[i]);
}

static inline void place_fetch_line(const struct ink_table *t, const struct place *p, unsigned which,
				    enum ink_intent how)
{
	(void)t;
	(void)p;
	(void)which;
	(void)how;
}
#endif

#if KIND_LOOKS_AHEAD
static inline struct hint cell_look(const struct ink_table *t, const struct place *p);
#else
struct hint {
	char nothing;
};

static inline struct hint cell_look(const struct ink_table *t, const struct place *p)
{
	(void)t;
	(void)p;
	return (struct hint){0};
}
#endif

#if KIND_FINDS_ROOM
/* Some items before the insert: notes in the place where an entry could be stored. */
static inline void place_prepare(const struct ink_table *t, struct place *p);
#else
static inline void place_prepare(const struct ink_table *t, struct place *p)
{
	(void)t;
	(void)p;
}
#endif

#if KIND_DEFERS_INSERTS
/* In place of the batch of inserts in batch.h, and defined behind it: the first error, or 0. */
static int verb_insert_batch(struct ink_table *t, const struct ink_batch *b);
#endif

#if KIND_CELLS

/* ----------------------------------------------------------------- searching */

/* Matches: 0, 1, or 2 for several; the spot is the first. */
static inline int cell_found(struct ink_table *t, const struct place *p, const struct hint *h,
			     struct spot *spot);

/* The same while another thread may be changing the place; of the spot, only the code counts. */
static inline int cell_peek(const struct ink_table *t, const struct place *p, struct spot *spot);

#if KIND_ENTRIES_STAY
/* Does the spot, found by an older hint, still hold an entry of this place? */
static inline int cell_holds(const struct ink_table *t, const struct place *p, const struct spot *s);
#else
static inline int cell_holds(const struct ink_table *t, const struct place *p, const struct spot *s)
{
	(void)t;
	(void)p;
	(void)s;
	return 1;
}
#endif

#if KIND_QUICK_MISS
/* 0: cell_found would find nothing. It may say 1 where there is no match. */
static inline int cell_may_match(struct ink_table *t, const struct place *p);
#else
INK_HOT int cell_may_match(struct ink_table *t, const struct place *p)
{
	struct hint h = cell_look(t, p);
	struct spot s;

	return cell_found(t, p, &h, &s) != 0;
}
#endif

#if KIND_QUICK_UNSURE
static inline int cell_unsure(const struct ink_table *t, const struct spot *s);
#else
INK_HOT int cell_unsure(const struct ink_table *t, const struct spot *s)
{
	return ink_code_unsure(coding_of(t), s->code);
}
#endif

/* A peek answers if the sequence was even before it, and unchanged after it (table/seqlock.h). */
#if KIND_SEQLOCK
static inline uint64_t place_seq_read(const struct ink_table *t, const struct place *p);
static inline int place_seq_unchanged(const struct ink_table *t, const struct place *p, uint64_t before);
#else
static inline uint64_t place_seq_read(const struct ink_table *t, const struct place *p)
{
	(void)t;
	(void)p;
	return 0;
}

static inline int place_seq_unchanged(const struct ink_table *t, const struct place *p, uint64_t before)
{
	(void)t;
	(void)p;
	(void)before;
	return 1;
}
#endif

/* ------------------------------------------------------------------ changing */

/* The code that an entry at that spot has in that state when it is touched now. */
#if KIND_EPOCHS
static inline unsigned cell_code(const struct ink_table *t, const struct spot *s, unsigned state);
#else
static inline unsigned cell_code(const struct ink_table *t, const struct spot *s, unsigned state)
{
	(void)s;
	return ink_code(coding_of(t), state);
}
#endif

/*
 * Writes such a code, or removes the entry. 0: the entry has changed since it was
 * found, retry; also if it was found ahead and has been removed (ENTRIES_STAY).
 */
static inline int cell_recode(struct ink_table *t, struct spot *s, unsigned code);
static inline int cell_clear(struct ink_table *t, struct spot *s);

/* Stores a new entry; 0 or -ENOSPC. */
static inline int cell_put(struct ink_table *t, const struct place *p, unsigned state);

/* Makes room by removing an expendable entry; 1 if it did. */
static int cell_drop_expendable(struct ink_table *t, const struct place *p);

/* Makes every entry that matches "don't know". */
static void cell_mark_all(struct ink_table *t, const struct place *p);

/* Held around an insert; NULL with one writer. */
#if KIND_LOCKS
static inline uint32_t *insert_enter(struct ink_table *t, const struct place *p);
static inline void insert_leave(uint32_t *lock);
#else
static inline uint32_t *insert_enter(struct ink_table *t, const struct place *p)
{
	(void)t;
	(void)p;
	return NULL;
}

static inline void insert_leave(uint32_t *lock)
{
	(void)lock;
}
#endif

/* Touches every entry that matches; and the choices that INK_DLEFT_COPY, _REINSERT and _KEEP stand for. */
#if KIND_DUPLICATES
static void cell_touch_all(struct ink_table *t, const struct place *p);
static inline int cells_copy(const struct ink_table *t);
static inline int cells_reinsert(const struct ink_table *t);
static inline int cells_keep(const struct ink_table *t);
#else
static inline void cell_touch_all(struct ink_table *t, const struct place *p)
{
	(void)t;
	(void)p;
}

static inline int cells_copy(const struct ink_table *t)
{
	(void)t;
	return 0;
}

static inline int cells_reinsert(const struct ink_table *t)
{
	(void)t;
	return 0;
}

static inline int cells_keep(const struct ink_table *t)
{
	(void)t;
	return 0;
}
#endif

/* --------------------------------------------------------------------- flags */

/* The home of a flow in the side table. */
static inline uint32_t place_home(const struct place *p);

/* Must the side table be probed for a flow of that class? See table/side.h. */
static inline int side_flagged(const struct ink_table *t, const struct place *p, unsigned class);

/* Sets the flags of a home to the classes of its flows in the side table, one bit each; and compares them. */
static void flag_side(struct ink_table *t, uint32_t home, unsigned classes);
static int is_flagged_for(const struct ink_table *t, uint32_t home, unsigned classes);

/* Was a flow of this place refused since the last tick? */
static inline int overflowed(const struct ink_table *t, const struct place *p);
static void flag_overflow(struct ink_table *t, const struct place *p);

/* ------------------------------------------------------------ the whole table */

/* As in struct ink_ops; the two checks need not look at the side table. */
static void cells_shape(struct ink_table *t);
static uint64_t cells_units(const struct ink_table *t);
static uint32_t cells_in_unit(const struct ink_table *t);
static void cells_sweep(struct ink_table *t, uint64_t from, uint64_t to);
static void cells_count(const struct ink_table *t, struct ink_counts *counts);
static const char *cells_check(const struct ink_table *t);
static const char *cells_check_bounds(const struct ink_table *t);

#else

/* --------------------------------------------------- verbs of kinds without cells */

static inline ink_answer lookup_at(struct ink_table *t, const struct place *p, const struct hint *h,
				   uint64_t id);
static inline ink_answer peek_at(const struct ink_table *t, const struct place *p, uint64_t id);
static inline int insert_at(struct ink_table *t, const struct place *p, uint64_t id, unsigned state);
static inline int modify_at(struct ink_table *t, const struct place *p, const struct hint *h, uint64_t id,
			    struct ink_change c);

/* Deletes the flow if it is in state `only`, or in any with INK_ANY_STATE. */
static inline int delete_at(struct ink_table *t, const struct place *p, const struct hint *h, uint64_t id,
			    int only);

/* A start event for which the flow's state has no row: the flow begins again in `to`, or is removed. */
static inline int begin_at(struct ink_table *t, const struct place *p, uint64_t id, ink_answer to);

#endif

#endif
