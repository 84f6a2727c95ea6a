/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What every kind of table has: its plan, its body, its side table, its time.
 *
 * The body is one block of memory, zeroed at birth, and all that a snapshot
 * has to carry: the cells (lines first, so that they are aligned), behind them
 * the side table.
 *
 * A kind is a file that fills one struct ink_ops; `line` and `compact` fill
 * one for each instruction set, and ink_kind_ops picks at creation.
 */
#ifndef INKLING_TABLE_TABLE_H
#define INKLING_TABLE_TABLE_H

#include <inkling/inkling.h>
#include <stddef.h>

/* For what a batch does to each item: a call would cost as much as the work. */
#define INK_HOT __attribute__((always_inline)) static inline

#include "table/age.h"
#include "kinds/sums/multiset.h"
#include "kinds/line/line.h"
#include "table/rules.h"
#include "table/side.h"

/* ------------------------------------------------------------------ codes */

/* state << age bits | age; the top state code is "don't know". */
struct ink_coding {
	unsigned state_bits;
	unsigned age_bits;
	unsigned age_top;
	unsigned unsure; /* the state code */
};

static inline struct ink_coding ink_coding(unsigned states, unsigned age_bits)
{
	struct ink_coding c = {.age_bits = age_bits, .age_top = ink_age_top(age_bits)};

	while ((1u << c.state_bits) < states + 1)
		c.state_bits++;
	c.unsure = (1u << c.state_bits) - 1;
	return c;
}

/* The codes of tables of the common shape, with 8 to 15 states and a timer: see engine/variant.h. */
static const struct ink_coding ink_coding_common = {.state_bits = 4, .age_bits = 1, .age_top = 1, .unsure = 15};

static inline int ink_codes_are_common(const struct ink_plan *plan)
{
	return plan->state_bits == ink_coding_common.state_bits && plan->age_bits == ink_coding_common.age_bits;
}

/*
 * The bits that a cell has for the state. `direct` keeps no states in its cells,
 * and `stateful` without counters needs one more value: nobody is here.
 */
static inline unsigned ink_state_bits(enum ink_kind kind, unsigned states, unsigned counter_bits)
{
	if (kind == INK_DIRECT)
		return 0;
	return ink_coding(kind == INK_STATEFUL && !counter_bits ? states + 1 : states, 0).state_bits;
}

static inline unsigned ink_code(const struct ink_coding *c, unsigned state)
{
	return state << c->age_bits | c->age_top;
}

static inline unsigned ink_code_state(const struct ink_coding *c, unsigned code)
{
	return code >> c->age_bits;
}

static inline int ink_code_unsure(const struct ink_coding *c, unsigned code)
{
	return code >> c->age_bits == c->unsure;
}

/* The code after a touch; a don't-know entry is not touched. */
static inline unsigned ink_code_touched(const struct ink_coding *c, unsigned code)
{
	return ink_code_unsure(c, code) ? code : code | c->age_top;
}

static inline ink_answer ink_code_answer(const struct ink_coding *c, unsigned code)
{
	if (ink_code_unsure(c, code))
		return INK_DONT_KNOW;
	return (ink_answer)(code >> c->age_bits);
}

/* ------------------------------------------------------------------- time */

#define INK_STATE_CODES 256 /* 8 state bits */
#define INK_CODES 1024      /* and 2 age bits */
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
	uint64_t view;     /* of kinds that turn their marks, as the next: see turn.h */
	uint16_t fresh[2][INK_STATE_CODES]; /* by state, the stored code of an entry just touched */
};

/*
 * A single tick: an entry of a state that is looked at loses its mark, or, if
 * it has none, expires. All that must be known of an entry is whether its
 * state is due, so that kinds can treat many entries at once.
 */
static inline int ink_looks_at(const struct ink_aging *a, unsigned state)
{
	return a->after[state << 1 | 1] != (state << 1 | 1);
}

/* --------------------------------------------------------------- counters */

struct ink_counters {
	uint64_t collisions, displaced, overflowed, refused, replaced, marked, expired;
};

/* ------------------------------------------------------------------ shapes */

/* What a compact line allows: 512 bits less five flags; entries and buckets in the last two words. */
enum {
	COMPACT_BITS = 507,
	COMPACT_META_BITS = 122, /* h + q at the most; one bit before them */
	COMPACT_MIN_SLOTS = 4,
	COMPACT_MAX_SLOTS = 56, /* so that a plane is got with one shift */
	COMPACT_MIN_R = 4,
	COMPACT_MAX_R = 24,
};

/*
 * `compact`: h entries with r remainder bits, q small buckets; see compact.h.
 * All offsets are bits in the 512 of a line.
 */
struct ink_compact_shape {
	uint32_t slots;          /* h */
	uint32_t buckets;        /* q */
	uint32_t remainder_bits; /* r */
	uint32_t planes;         /* state and age bits */
	uint32_t planes_at;      /* the first plane */
	uint32_t meta_at;        /* the unary metadata, in the last two words */
	uint32_t meta_start;     /* the same, in bits from word 6 */
	uint64_t meta[2];        /* its mask in words 6 and 7 */
	uint64_t before[2];      /* the bit before it */
};

struct ink_dleft_shape {
	uint32_t d, b, h, f;
	uint32_t cell_bits;
	uint32_t flags;       /* INK_DLEFT_... */
	uint64_t bucket_bits; /* h cells */
	uint64_t *overflow;   /* a bit for each bucket; NULL if the policy is to refuse */
};

/* `stateful` and `direct`: m cells, of which each of k hashes has its own share; see bloom.h. */
enum { INK_BLOOM_MOST_K = 32, INK_BLOOM_MOST_COUNTER_BITS = 8 };

struct ink_bloom_shape {
	uint32_t k, m;
	uint32_t cell_bits;
	uint32_t value_bits; /* stateful: of the state */
	uint32_t count_top;  /* the highest count; 0: there are no counters */
	uint32_t threshold;
	uint32_t lines;      /* blocked: of 64 bytes; else 0 */
	uint32_t line_cells; /* blocked: in each */
	uint32_t share;      /* cells that each hash draws from, */
	uint32_t larger;     /* and one more for as many of the first of them */
	int sticky;          /* a counter at its top stays there */
};

/* `kbf`: k shares of multisets; see kinds/sums/. */
enum { INK_SUMS_MAX_K = 16 };

struct ink_kbf_shape {
	uint32_t k;
	uint32_t share; /* cells in each */
	uint32_t classes;
	uint64_t state_mask; /* a bit for each state */
	ink_multiset *cells;
	unsigned char *masks;
	struct ink_multiset_shape multisets;
};

struct ink_exact_shape {
	uint64_t mask; /* slots - 1 */
	uint64_t count;
};

/* --------------------------------------------------------------- the table */

/*
 * By the number of a line modulo this: in `compact` sequence counters for
 * peeks. In `line` with one writer only an entry that moves can be missed, and its
 * fingerprint has the counter; so few that they stay in the nearest cache of who
 * moves entries. In `compact`, where every insert and delete steps one, peeks
 * beside them would take a third longer with so few. In `line` with many writers
 * locks for inserts are in their place (ink_lock).
 */
#define INK_STRIPES 1024u
#define INK_MOVING_STRIPES 64u

_Static_assert(INK_STRIPES % INK_MOVING_STRIPES == 0, "a number modulo these is the same modulo those");

#define INK_MOST_BUCKETS (1u << 28) /* lines, buckets of a subtable */

_Static_assert((uint64_t)INK_MOST_BUCKETS *INK_LINE_WORDS <= UINT32_MAX,
	       "line_place has word numbers of 32 bits");

struct ink_table {
	const struct ink_ops *ops;
	struct ink_plan plan;
	struct ink_coding coding;
	enum ink_full full;
	unsigned states;
	unsigned writers;
	uint8_t rules_expected; /* loaded from a snapshot that had rules */
	uint8_t is_far;         /* ink_is_far, for batches */
	uint32_t locks;         /* with many writers: ink_locks */
	uint64_t secret[2];
	void *body;
	uint64_t body_bytes;
	int body_is_mapped;          /* from a file */
	struct ink_program *program; /* NULL without rules */
	struct ink_allocator allocator;
	union {
		struct ink_line_shape line;
		struct ink_compact_shape compact;
		struct ink_dleft_shape dleft;
		struct ink_exact_shape exact;
		struct ink_bloom_shape bloom;
		struct ink_kbf_shape kbf;
	} shape;
	struct ink_side side;
	struct ink_counters counters;
	struct ink_aging aging;
	uint32_t stripes[];
};

/*
 * Are its lines too many for the second cache, so that most come from further
 * away? Batches are then worked on in another way (calls.h), which is quicker from
 * some 4 MB on: at 1M flows, 2.8 MB, inserts and misses take 10 % longer, at 1.5M
 * modifies and deletes take a quarter less time, at 3M half (make bench).
 */
#define INK_FAR_BYTES (4u << 20)

static inline int ink_is_far(const struct ink_plan *plan)
{
	return (plan->kind == INK_LINE || plan->kind == INK_COMPACT) &&
	       (uint64_t)plan->geometry.b * sizeof(struct ink_line) > INK_FAR_BYTES;
}

/*
 * Batches of kinds whose places are two lines (calls.h): items in a block, and how
 * many inserts into `line` may wait for room after one (line_insert.h). The more of
 * them, the better what they do overlaps; of so many the lines, five each, stay in
 * the nearest cache.
 */
enum { INK_BLOCK = 16, INK_WAITING = 48 };

/* What a line is fetched for; a far one, into the second cache, and not into the first. */
enum ink_fetch { FETCH_TO_READ, FETCH_TO_CHANGE, FETCH_FAR };

INK_HOT void ink_fetch_line(const void *line, enum ink_fetch how)
{
	if (how == FETCH_FAR)
		__builtin_prefetch(line, 0, 2);
	else if (how == FETCH_TO_CHANGE)
		__builtin_prefetch(line, 1);
	else
		__builtin_prefetch(line);
}

/*
 * The locks of many writers, a power of two. Each has a cache line of its own:
 * close together, one that was fetched ahead is lost again to another thread that
 * takes its neighbour (docs/tables.md). So they are held to a hundredth of the
 * table, if it is not so small that 16 are more, and to what leaves room in the
 * nearest cache.
 */
enum { INK_LOCK_WORDS = 16, INK_LINES_FOR_A_LOCK = 96, INK_FEWEST_LOCKS = 16, INK_MOST_LOCKS = 512 };

_Static_assert(INK_LOCK_WORDS * sizeof(uint32_t) == sizeof(struct ink_line), "a cache line");

static inline uint32_t ink_locks(const struct ink_plan *plan)
{
	uint32_t locks = INK_FEWEST_LOCKS;

	while (locks < INK_MOST_LOCKS && plan->geometry.b / INK_LINES_FOR_A_LOCK >= 2 * locks)
		locks *= 2;
	return locks;
}

static inline size_t ink_stripes(const struct ink_plan *plan, unsigned writers)
{
	if (writers > 1)
		return ink_locks(plan) * INK_LOCK_WORDS;
	return plan->kind == INK_COMPACT ? INK_STRIPES : plan->kind == INK_LINE ? INK_MOVING_STRIPES : 0;
}

/* `direct` has no states in its cells, and does not say how many there are. */
static inline size_t ink_state_codes(const struct ink_plan *plan)
{
	return plan->kind == INK_DIRECT ? INK_STATE_CODES : (size_t)1 << plan->state_bits;
}

static inline size_t ink_codes(const struct ink_plan *plan)
{
	return ink_state_codes(plan) << plan->age_bits;
}

/*
 * What a table takes besides its body:
 *
 *     struct ink_table | stripes, 4 bytes each | expired, 8 | after, 2
 */
static inline size_t ink_table_bytes(const struct ink_plan *plan, unsigned writers)
{
	return sizeof(struct ink_table) + ink_stripes(plan, writers) * sizeof(uint32_t) +
	       ink_state_codes(plan) * sizeof(uint64_t) + ink_codes(plan) * sizeof(uint16_t);
}

_Static_assert(offsetof(struct ink_table, stripes) % sizeof(uint64_t) == 0 && INK_MOVING_STRIPES % 2 == 0 &&
		       INK_LOCK_WORDS % 2 == 0,
	       "what stands behind the stripes is aligned");

/* ----------------------------------------------------------------- a kind */

/* In place of a state: whichever it is; and for place_fetch, that no state will change. */
#define INK_ANY_STATE (-1)
#define INK_UNCHANGED (-2)

/* A change of state, from a given one or from whichever it is. */
struct ink_change {
	int from;
	unsigned to;
};

struct ink_ops {
	const char *simd;
	void (*shape)(struct ink_table *t); /* from the plan; side table and body are there */
	void (*fill)(struct ink_table *t);  /* a new body with what is not 0; NULL: all is 0 */
	ink_answer (*lookup)(struct ink_table *t, uint64_t id);
	ink_answer (*lookup_in)(struct ink_table *t, uint64_t id, unsigned state); /* NULL: by lookup */
	ink_answer (*peek)(const struct ink_table *t, uint64_t id);
	int (*insert)(struct ink_table *t, uint64_t id, unsigned state);
	int (*set)(struct ink_table *t, uint64_t id, unsigned state);
	int (*modify)(struct ink_table *t, uint64_t id, unsigned state);
	int (*modify_from)(struct ink_table *t, uint64_t id, unsigned from, unsigned to);
	int (*remove)(struct ink_table *t, uint64_t id);
	int (*remove_in)(struct ink_table *t, uint64_t id, unsigned state);
	int (*step)(struct ink_table *t, uint64_t id, unsigned event, struct ink_move *move);
	void (*lookup_batch)(struct ink_table *t, const struct ink_batch *b);
	void (*peek_batch)(const struct ink_table *t, const struct ink_batch *b);
	int (*insert_batch)(struct ink_table *t, const struct ink_batch *b);
	int (*set_batch)(struct ink_table *t, const struct ink_batch *b);
	int (*modify_batch)(struct ink_table *t, const struct ink_batch *b);
	int (*remove_batch)(struct ink_table *t, const struct ink_batch *b);
	int (*step_batch)(struct ink_table *t, const struct ink_batch *b);
	uint64_t (*units)(const struct ink_table *t);      /* that a tick visits */
	uint32_t (*unit_cells)(const struct ink_table *t); /* cells in each */
	void (*sweep)(struct ink_table *t, uint64_t from, uint64_t to);
	void (*sweep_side)(struct ink_table *t);
	void (*count)(const struct ink_table *t, struct ink_counts *counts); /* NULL: it cannot */
	uint64_t (*occupied)(const struct ink_table *t); /* cells; where there is no count */
	/* Refuses rules that the kind cannot keep; may give unsure a longer period. NULL: it keeps all. */
	int (*adopt)(const struct ink_table *t, struct ink_program *p, struct ink_why *why);
	const char *(*check)(const struct ink_table *t); /* NULL, or what is wrong */
	/*
	 * What must hold so that no operation leaves the table's memory, whatever the
	 * other bits of the body are: all that is checked if the checksum is trusted.
	 * NULL: as check.
	 */
	const char *(*check_bounds)(const struct ink_table *t);
};

extern const struct ink_ops *const ink_line_portable, *const ink_line_avx2, *const ink_line_common_avx2;
extern const struct ink_ops *const ink_line_shared, *const ink_line_shared_avx2,
							    *const ink_line_shared_common_avx2;
extern const struct ink_ops *const ink_compact_portable, *const ink_compact_avx2,
								 *const ink_compact_common_avx2;
extern const struct ink_ops *const ink_dleft, *const ink_exact;
extern const struct ink_ops *const ink_stateful, *const ink_direct, *const ink_kbf;

/* The operations for a plan, or NULL where the processor lacks the instructions asked for. */
const struct ink_ops *ink_kind_ops(const struct ink_plan *plan, unsigned writers, enum ink_simd simd);

/* A table with its plan and allocator; all the rest is zeros. Or NULL. */
struct ink_table *ink_table_alloc(const struct ink_plan *plan, unsigned writers,
				  const struct ink_allocator *a);

/* Gives a table whose plan, operations and body are set its coding, shape and side table. */
void ink_table_attach(struct ink_table *t);

/* Replaces the body; NULL takes it away. */
void ink_table_set_body(struct ink_table *t, void *body, uint64_t bytes);

/* `line` and `compact` know the flows of their side table by words; a flow's home is its first line there. */
static inline struct ink_side_form ink_side_form(const struct ink_plan *p)
{
	struct ink_side_form f = {.capacity = p->geometry.side,
				  .id_bits = p->geometry.side_id,
				  .code_bits = p->state_bits + p->age_bits,
				  .homes = p->geometry.b};

	if (!f.id_bits && (p->kind == INK_LINE || p->kind == INK_COMPACT))
		f.id_bits = ink_side_id_bits(f.homes, f.code_bits);
	return f;
}

/* The bytes of the cells, in front of the side table. */
uint64_t ink_cells_bytes(const struct ink_plan *plan, enum ink_full full);

/* The bits of a cell of `stateful` or `direct`; the latter has one bit where it has no counter. */
static inline uint32_t ink_bloom_cell_bits(const struct ink_plan *plan)
{
	uint32_t count = plan->geometry.counter_bits;

	if (plan->kind == INK_DIRECT && !count)
		count = 1;
	return plan->age_bits + plan->state_bits + count;
}

/* Where the masks of `kbf` begin, behind the cells, and how many bytes they are. */
static inline uint64_t ink_kbf_masks_at(const struct ink_geometry *g)
{
	return ((uint64_t)g->m * sizeof(ink_multiset) + 7) / 8 * 8;
}

static inline uint64_t ink_kbf_masks_bytes(const struct ink_geometry *g)
{
	return ink_multiset_masks_bytes(g->f, g->h);
}

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

/* An expendable entry that is to make room: the one that has rested longest, and of equals one by lot. */
struct ink_victim {
	unsigned age, equals; /* so many were seen; 0: none yet */
};

/*
 * Is an entry of that age the victim, of those seen so far? The first of equals
 * would be the one that was stored last, for that is where room was made; a
 * flood would then drop the newest flows and keep its own. The lot is drawn from
 * how many were replaced already, so that a loaded table goes on as the saved one.
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

/* Are there rules, and have they that event? If not, the move says so. */
static inline int ink_can_step(const struct ink_table *t, unsigned event, struct ink_move *m)
{
	if (t->program && event < t->program->events)
		return 1;
	*m = (struct ink_move){.from = INK_DONT_KNOW, .to = INK_DONT_KNOW};
	return 0;
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

/* ---------------------------------------------- sequence counters for peeks */

/*
 * Whoever moves entries steps the counters of the lines before (odd) and after
 * (even). A peek answers only if the counters of both its lines were even and
 * stood still. The changes in between are release stores and the peek's reads
 * acquire loads (plain ones, on x86), which is all the ordering it needs.
 */
static inline uint32_t *ink_stripe(const struct ink_table *t, uint32_t number)
{
	return (uint32_t *)&t->stripes[number % INK_STRIPES];
}

static inline uint32_t *ink_lock(const struct ink_table *t, uint32_t number)
{
	return (uint32_t *)&t->stripes[(number & (t->locks - 1)) * INK_LOCK_WORDS];
}

static inline void ink_seq_write_begin(struct ink_table *t, uint32_t line)
{
	uint32_t *s = ink_stripe(t, line);

	__atomic_store_n(s, *s + 1, __ATOMIC_RELAXED);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
}

static inline void ink_seq_write_end(struct ink_table *t, uint32_t line)
{
	uint32_t *s = ink_stripe(t, line);

	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	__atomic_store_n(s, *s + 1, __ATOMIC_RELEASE);
}

/* Two lines may share a counter. */
static inline void ink_seq_write_begin_both(struct ink_table *t, uint32_t a, uint32_t b)
{
	ink_seq_write_begin(t, a);
	if (ink_stripe(t, a) != ink_stripe(t, b))
		ink_seq_write_begin(t, b);
}

static inline void ink_seq_write_end_both(struct ink_table *t, uint32_t a, uint32_t b)
{
	ink_seq_write_end(t, a);
	if (ink_stripe(t, a) != ink_stripe(t, b))
		ink_seq_write_end(t, b);
}

static inline uint64_t ink_seq_read(const struct ink_table *t, uint32_t a, uint32_t b)
{
	return (uint64_t)__atomic_load_n(ink_stripe(t, a), __ATOMIC_ACQUIRE) << 32 |
	       __atomic_load_n(ink_stripe(t, b), __ATOMIC_ACQUIRE);
}

static inline int ink_seq_unchanged(const struct ink_table *t, uint32_t a, uint32_t b, uint64_t before)
{
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	return (before & 0x0000000100000001ull) == 0 && ink_seq_read(t, a, b) == before;
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
