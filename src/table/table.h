/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What every table has: its kind, its plan, its body, its side table, its time.
 *
 *     struct ink_table --> body   [ cells ][ side table ]       pages, zeroed at first
 *                      --> rules  (program)
 *                      --> kind   what the shared code knows of the kind: kind.h
 *
 * The body is one block of memory without pointers, so its bytes are all that a
 * snapshot has to carry. The cells come first, so that lines are aligned.
 */
#ifndef INKLING_TABLE_TABLE_H
#define INKLING_TABLE_TABLE_H

#include <stddef.h>

#include <inkling/inkling.h>

#include "table/coding.h"
#include "table/kind.h"
#include "table/rules.h"
#include "table/side.h"

/* ------------------------------------------------------------------- time */

#define INK_EXPIRES 0x8000u /* in aging.after: its time is over; below: the code after the move */
#define INK_GONE 0x7fffu    /* ... or this: it is deleted */

/* What the tick that is under way does to an entry with a given code. */
struct ink_aging {
	uint64_t now;      /* the table has arrived there */
	uint64_t target;   /* > now while a tick is under way */
	uint64_t cursor;   /* units (lines, buckets, slots) below it have been visited */
	int idle;          /* no code changes; only overflow flags are to be cleared */
	int single;        /* one age bit, and at most one look at any state: see ink_looks_at */
	int all_due;       /* ... one look at every state: the paper's phase */
	int flags_due;     /* overflow flags were set before this tick began */
	int flagged;       /* overflow flags were set since */
	int ever_flagged;  /* ... or before, or may be in the snapshot that was loaded */
	uint32_t busy;     /* held by the thread that ticks */
	uint64_t *expired; /* by state code, since the caller was told */
	uint16_t *after;   /* by code; this and the last stand behind the stripes */
	uint64_t view;     /* of kinds with epochs, as the next: see epoch.h */
	uint16_t fresh[2][INK_STATE_CODES]; /* by state, the stored code of an entry just touched */
};

/*
 * A single tick: an entry of a state that is looked at loses its mark or, if it has
 * none, expires. So a kind only has to know which states are due, and can process
 * many entries at once.
 */
static inline int ink_looks_at(const struct ink_aging *a, unsigned state)
{
	return a->after[state << 1 | 1] != (state << 1 | 1);
}

/* --------------------------------------------------------------- counters */

struct ink_counters {
	uint64_t collisions, displaced, overflowed, refused, replaced, marked, expired;
};

/* --------------------------------------------------------------- the table */

#define INK_CACHE_LINE 64

#define INK_MOST_BUCKETS (1u << 28) /* lines, buckets of a subtable */

/* Sequence counters for peeks, by the number of a line modulo this: seqlock.h. */
#define INK_STRIPES 1024u

/* What all cells of a table have in common: the kind's own struct, made by ops->shape. */
#define INK_SHAPE_BYTES 192
#define INK_SHAPE(type) _Static_assert(sizeof(type) <= INK_SHAPE_BYTES, "the shape fits")

struct ink_table {
	const struct ink_ops *ops;
	const struct ink_kind_def *kind;
	struct ink_plan plan;
	struct ink_coding coding;
	enum ink_full full;
	unsigned states;
	unsigned writers;
	uint8_t rules_expected; /* loaded from a snapshot that had rules */
	uint8_t is_far;         /* ink_is_far, for batches */
	uint8_t has_windows;    /* as its program */
	uint32_t locks;         /* with many writers: ink_locks */
	int body_is_mapped;     /* from a file */
	uint64_t secret[2];
	void *body;
	uint8_t *groups; /* of kinds of lines: groups.h */
	uint64_t body_bytes;
	struct ink_program *program; /* NULL without rules */
	struct ink_allocator allocator;
	uint64_t shape[INK_SHAPE_BYTES / sizeof(uint64_t)];
	struct ink_side side;
	struct ink_counters counters;
	struct ink_aging aging;
	uint32_t stripes[];
};

/*
 * Are its lines too many for the L2 cache, so that most come from further away?
 * Batches then prefetch in another way (engine/batch.h), which is faster from about
 * 4 MB on: at 1M flows, 2.8 MB, inserts and misses take 10 % longer, at 1.5M
 * modifies and deletes take a quarter less time, at 3M half (make bench).
 */
#define INK_FAR_BYTES (4u << 20)

static inline int ink_is_far(const struct ink_plan *plan)
{
	return ink_kind_has(plan, INK_TRAIT_LINES) &&
	       (uint64_t)plan->geometry.b * INK_CACHE_LINE > INK_FAR_BYTES;
}

/* The locks of many writers, a power of two: seqlock.h. */
enum { INK_LOCK_WORDS = 16, INK_LINES_FOR_A_LOCK = 96, INK_FEWEST_LOCKS = 16, INK_MOST_LOCKS = 512 };

_Static_assert(INK_LOCK_WORDS * sizeof(uint32_t) == INK_CACHE_LINE, "a cache line each");

static inline uint32_t ink_locks(const struct ink_plan *plan)
{
	uint32_t locks = INK_FEWEST_LOCKS;

	while (locks < INK_MOST_LOCKS && plan->geometry.b / INK_LINES_FOR_A_LOCK >= 2 * locks)
		locks *= 2;
	return locks;
}

static inline size_t ink_stripes(const struct ink_plan *plan, unsigned writers)
{
	return writers > 1 ? ink_locks(plan) * INK_LOCK_WORDS : ink_kind_of(plan)->stripes;
}

/* A kind without states in its cells does not say how many there are. */
static inline size_t ink_state_codes(const struct ink_plan *plan)
{
	return ink_kind_has(plan, INK_TRAIT_STATELESS) ? INK_STATE_CODES : (size_t)1 << plan->state_bits;
}

static inline size_t ink_codes(const struct ink_plan *plan)
{
	return ink_state_codes(plan) << plan->age_bits;
}

/*
 * The groups of lines that a tick may skip, a byte each: groups.h. So large that a plan
 * for a million flows keeps its 22.50 bits (with 64 lines it would have 22.502); the
 * lines of a group take a sweep 0.5 us.
 */
enum { INK_GROUP_LINES = 128 };

static inline size_t ink_groups(const struct ink_plan *plan)
{
	if (!ink_kind_has(plan, INK_TRAIT_LINES))
		return 0;
	return (plan->geometry.b + INK_GROUP_LINES - 1) / INK_GROUP_LINES;
}

/* Whole words of eight. */
static inline size_t ink_groups_bytes(const struct ink_plan *plan)
{
	return (ink_groups(plan) + 7) / 8 * 8;
}

/*
 * What a table takes besides its body:
 *
 *     struct ink_table | stripes, 4 bytes each | expired, 8 | groups, 1 | after, 2
 */
static inline size_t ink_table_bytes(const struct ink_plan *plan, unsigned writers)
{
	return sizeof(struct ink_table) + ink_stripes(plan, writers) * sizeof(uint32_t) +
	       ink_state_codes(plan) * sizeof(uint64_t) + ink_groups_bytes(plan) +
	       ink_codes(plan) * sizeof(uint16_t);
}

_Static_assert(offsetof(struct ink_table, stripes) % sizeof(uint64_t) == 0 && INK_LOCK_WORDS % 2 == 0,
	       "what stands behind the stripes is aligned, for any even number of them");

/* ---------------------------------------------------------- making a table */

/* The operations for a plan, or NULL where the processor lacks the requested instructions. */
const struct ink_ops *ink_kind_ops(const struct ink_plan *plan, unsigned writers, enum ink_simd simd);

/* A table with its plan and allocator; all the rest is zeros. Or NULL. */
struct ink_table *ink_table_alloc(const struct ink_plan *plan, unsigned writers,
				  const struct ink_allocator *a);

/* Gives a table whose plan, operations and body are set its coding, shape and side table. */
void ink_table_attach(struct ink_table *t);

/* Replaces the body; NULL takes it away. */
void ink_table_set_body(struct ink_table *t, void *body, uint64_t bytes);

/* Kinds of lines know the flows of their side table by words; the home of a flow is its first line. */
static inline struct ink_side_form ink_side_form(const struct ink_plan *p)
{
	struct ink_side_form f = {.capacity = p->geometry.side,
				  .id_bits = p->geometry.side_id,
				  .code_bits = p->state_bits + p->age_bits,
				  .homes = p->geometry.b};

	if (!f.id_bits && ink_kind_has(p, INK_TRAIT_LINES))
		f.id_bits = ink_side_id_bits(f.homes, f.code_bits);
	return f;
}

/* The bytes of the cells, in front of the side table. */
static inline uint64_t ink_cells_bytes(const struct ink_plan *plan, enum ink_full full)
{
	return ink_kind_of(plan)->cells_bytes(plan, full);
}

/* All that a table of that plan allocates. */
uint64_t ink_plan_bytes(const struct ink_plan *plan, enum ink_full full, unsigned writers);

/* ------------------------------------------------------- for all the kinds */

static inline void ink_bump(uint64_t *counter)
{
	__atomic_fetch_add(counter, 1, __ATOMIC_RELAXED);
}

static inline int ink_is_expendable(const struct ink_table *t, unsigned code)
{
	unsigned state = ink_code_state(&t->coding, code);

	return t->program && state < t->states && t->program->timings[state].expendable;
}

/* The expendable entry that makes room: the one idle longest; ties are broken pseudo-randomly. */
struct ink_victim {
	unsigned age, equals; /* how many of that age were seen; 0: none yet */
};

/*
 * Is an entry of that age the victim, of those seen so far? The first of several with
 * the same age would be the entry stored last, because the last victim made room there:
 * a flood would drop the newest flows and keep its own. The random number follows from
 * the count of replacements, so a loaded table continues as the saved one.
 */
static inline int ink_chosen(const struct ink_table *t, struct ink_victim *v, unsigned age)
{
	uint64_t lot = __atomic_load_n(&t->counters.replaced, __ATOMIC_RELAXED);

	if (v->equals && age > v->age)
		return 0;
	if (age < v->age)
		v->equals = 0;
	v->age = age;
	lot = lot * 0x9e3779b97f4a7c15ull + ++v->equals * 0xbf58476d1ce4e5b9ull;
	lot = (lot ^ lot >> 31) * 0x94d049bb133111ebull;
	return (lot >> 32) * v->equals >> 32 == 0;
}

static inline void ink_counts_add(const struct ink_table *t, struct ink_counts *counts, unsigned code)
{
	unsigned state = ink_code_state(&t->coding, code);

	counts->total++;
	if (state == t->coding.unsure)
		counts->unsure++;
	else
		counts->state[state]++;
}

/* Are there rules with that event? If not, the move is don't-know. */
static inline int ink_can_step(const struct ink_table *t, unsigned event, struct ink_move *m)
{
	if (t->program && event < t->program->events)
		return 1;
	*m = (struct ink_move){.from = INK_DONT_KNOW, .to = INK_DONT_KNOW};
	return 0;
}

/* Does a move, or a touch, keep the age of its entry? Both states then have one window. */
static inline int ink_keeps_age(const struct ink_table *t, unsigned from, unsigned to)
{
	const uint8_t *windows;

	if (__builtin_expect(!t->has_windows, 1))
		return 0;
	windows = t->program->windows;
	return windows[from] && windows[from] == windows[to];
}

/* Notes expiries of the tick that is under way. */
static inline void ink_note_expiries(struct ink_table *t, unsigned code, unsigned n)
{
	t->aging.expired[ink_code_state(&t->coding, code)] += n;
}

static inline void ink_note_expiry(struct ink_table *t, unsigned code)
{
	ink_note_expiries(t, code, 1);
}

/* ---------------------------------------------------------- across the cursor */

/*
 * An entry is about to move from one line to another while a tick in portions
 * is under way (which takes at most one look). From ahead of the cursor to
 * behind it, the look is taken now: the result may be INK_EXPIRES | ... From
 * behind to ahead it would be looked at twice, so one age is given back.
 */
static inline unsigned ink_age_across(const struct ink_table *t, uint32_t from, uint32_t to, unsigned code)
{
	const struct ink_aging *a = &t->aging;
	unsigned top = t->coding.age_top;

	if (a->target == a->now || (from < a->cursor) == (to < a->cursor))
		return code;
	if (to < a->cursor)
		return a->after[code];
	if (a->after[code | top] == (code | top) || (code & top) == top)
		return code;
	return code + 1;
}

#endif
