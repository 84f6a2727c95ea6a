/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Inkling: a few bits of state for every flow.
 *
 * A table maps flows to small states (0 .. states-1) without keeping the
 * flows themselves. It is told how often it may be mistaken about strangers;
 * about flows that were properly inserted it is right, or says "don't know".
 *
 *     struct ink_options o = { .size = sizeof o, .states = 4, .flows = 1000000 };
 *     struct ink_table *t = ink_create(&o, NULL);
 *     uint64_t id = ink_id(t, key, key_length);
 *     ink_insert(t, id, 2);
 *     ink_answer a = ink_lookup(t, id);          -> 2
 *     ink_free(t);
 *
 * What each call does in each situation stands in docs/semantics.md.
 *
 * Returns. Calls that can fail return 0 or a negative errno value; calls that
 * make a table return NULL and set errno. An answer is not an error: lookups
 * cannot fail. Where a call takes a `struct ink_why *`, it may be NULL; on
 * failure it receives one line of text that says what is wrong and where.
 *
 * Structs. One that begins with `size` may grow: set it to sizeof the struct.
 * A field left 0 takes its default.
 *
 * Thread rules.
 *  1. Different tables are independent.
 *  2. `writers` = 1: one thread at a time may call what takes a non-const
 *     table (ink_lookup does: it touches). In `line` and `compact`, any number
 *     of other threads may ink_peek, ink_census, ink_stats, ink_id meanwhile.
 *  3. `writers` > 1 (kind `line` only): any thread may call anything except
 *     ink_set_rules, ink_check, ink_copy, saving and ink_free at any time.
 *  4. ink_set_rules, ink_check, ink_copy, saving and ink_free need the table alone.
 *  5. In the other kinds a peek also needs that nobody changes the table.
 *  6. A change that one thread finished before another thread's call began is
 *     seen by that call.
 *  7. fork: the child has a copy of a table only as it was between calls. If
 *     another thread was changing the table when the process forked, the child
 *     may only exec or _exit: locks stay taken there and counters odd for ever.
 *
 * Inkling needs a 64-bit machine; it does not compile for others.
 */
#ifndef INKLING_INKLING_H
#define INKLING_INKLING_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define INK_VERSION "0.1.0"

/* The version of the library that is linked, as text. */
const char *ink_version(void);

/* ------------------------------------------------------------- the words */

/* The state (>= 0), or one of the two below. */
typedef int16_t ink_answer;

#define INK_ABSENT ((ink_answer)-1)    /* the table holds no such flow */
#define INK_DONT_KNOW ((ink_answer)-2) /* it cannot tell */

#define INK_MAX_STATES 255 /* one of the 256 codes of 8 bits is "don't know" */
#define INK_MAX_EVENTS 4096

struct ink_table;

enum ink_kind {
	INK_KIND_DEFAULT = 0, /* INK_LINE */
	INK_LINE = 1,         /* 64-byte lines of fingerprints; fast, and many writers */
	INK_COMPACT = 2,      /* quotiented 64-byte lines; fewest bits */
	INK_DLEFT = 3,        /* the fingerprint-compressed filter of the ACSM paper */
	INK_EXACT = 4,        /* whole ids and true times; the yardstick */
	INK_STATEFUL = 5,     /* the stateful Bloom filter of the ACSM paper: cells of states */
	INK_DIRECT = 6,       /* its direct Bloom filter: a filter of (flow, state) pairs */
	INK_KBF = 7           /* sums of states, after the key-value Bloom filter; never full, never drifts */
};

/* What a kind can do: bits of ink_kind_info.can. */
#define INK_CAN_BE_EXACT 0x001u      /* it is never mistaken: it keeps whole ids and true times, and grows */
#define INK_CAN_MANY_WRITERS 0x002u  /* options.writers > 1 */
#define INK_CAN_PEEK 0x004u          /* ink_peek and ink_census while another thread writes */
#define INK_CAN_CENSUS 0x008u        /* flows are counted by state: ink_census, `end` rows */
#define INK_CAN_TIME_OUT 0x010u      /* flows expire: options.age_bits, or true times */
#define INK_CAN_TIME_OUT_TO 0x020u   /* ... into another state */
#define INK_CAN_DIFFER 0x040u        /* ... after a period that depends on the state */
#define INK_CAN_BE_FULL 0x080u       /* an insert can be refused for lack of room */
#define INK_CAN_REPLACE 0x100u       /* INK_REPLACE */
#define INK_CAN_PLAN_UNSURE 0x200u   /* ink_plan works out `unsure` */

/* The fields of struct ink_geometry, in their order: bits of ink_kind_info.geometry. */
#define INK_GEOMETRY_D 0x0001u
#define INK_GEOMETRY_B 0x0002u
#define INK_GEOMETRY_H 0x0004u
#define INK_GEOMETRY_F 0x0008u
#define INK_GEOMETRY_Q 0x0010u
#define INK_GEOMETRY_SIDE 0x0020u
#define INK_GEOMETRY_DLEFT_FLAGS 0x0040u
#define INK_GEOMETRY_K 0x0080u
#define INK_GEOMETRY_M 0x0100u
#define INK_GEOMETRY_COUNTER_BITS 0x0200u
#define INK_GEOMETRY_THRESHOLD 0x0400u
#define INK_GEOMETRY_BLOOM_FLAGS 0x0800u
#define INK_GEOMETRY_SIDE_ID 0x1000u

struct ink_kind_info {
	size_t size;
	enum ink_kind kind;  /* never INK_KIND_DEFAULT */
	const char *name;    /* "line" */
	const char *purpose; /* one sentence: when to choose it */
	unsigned can;        /* INK_CAN_... */
	unsigned geometry;   /* INK_GEOMETRY_...: the fields that it takes */
};

/*
 * What a kind is and what it can do; `info->size` must be set. Kinds are numbered
 * from 1 without gaps: call it with 1, 2, ... until -ENOENT to list them. 0 is the
 * default kind. -ENOENT: there is no such kind; -EINVAL: the size. Thread-safe.
 */
int ink_kind_info(unsigned kind, struct ink_kind_info *info);

/*
 * What becomes of a flow for which there is no room. A flow that collides with
 * another one's entry while the side table is full: under INK_UNSURE and
 * INK_REFUSE that entry becomes don't-know, for both; under INK_REPLACE it
 * stays, and the refused flow reads as the other.
 */
enum ink_full {
	INK_FULL_DEFAULT = 0, /* INK_UNSURE */
	INK_UNSURE = 1,       /* refused; its lines answer "don't know" for misses until the next tick */
	INK_REFUSE = 2,       /* refused; it reads as absent */
	INK_REPLACE = 3       /* an expendable entry makes room; none there: as INK_UNSURE */
};

/* Which instructions a table uses, ids apart; the answers are the same. */
enum ink_simd {
	INK_SIMD_BEST = 0, /* the fastest that this processor has */
	INK_SIMD_NONE = 1, /* portable code */
	INK_SIMD_AVX2 = 2  /* AVX2 and BMI2; ENOTSUP where the processor has none */
};

/* One line of text: what is wrong, and where. */
struct ink_why {
	char text[200];
};

/* -------------------------------------------------------------- embedding */

/*
 * Where an object gets its memory. Everything that a table, counting set or kBF
 * allocates goes through it, from creating or loading to freeing. Objects copy the
 * struct: `user` must outlive them, the struct itself need not.
 *
 * alloc: `bytes` (> 0) at a multiple of `alignment` (a power of two, at most 64),
 * with any contents, or NULL. free: what alloc returned, with the same `bytes`.
 * Both are called by the thread that calls the library, with its locks held: they
 * must not call it back for the same object. NULL instead of a struct: the
 * library's own, which has huge pages for large objects.
 */
struct ink_allocator {
	void *(*alloc)(size_t bytes, size_t alignment, void *user);
	void (*free)(void *at, size_t bytes, void *user);
	void *user;
};

/* Receives a snapshot in order. `write` takes all n bytes and returns 0, or a negative errno to stop. */
struct ink_sink {
	int (*write)(const void *bytes, size_t n, void *user);
	void *user;
};

/*
 * Delivers a snapshot in order. `read` writes 1 to n bytes and returns how many,
 * 0 at the end, or a negative errno. Nothing behind the snapshot is requested, so
 * more may follow in the same stream.
 */
struct ink_source {
	ptrdiff_t (*read)(void *into, size_t n, void *user);
	void *user;
};

/* A snapshot in memory. */
struct ink_buffer {
	void *bytes;
	size_t room; /* at `bytes` */
	size_t used; /* receives the snapshot's bytes, also if there is no room for them */
};

#define INK_MAX_EXTRA (1u << 20)

struct ink_save_options {
	size_t size;
	const void *extra;  /* bytes of the caller's to be kept in the snapshot: an offset, a sequence number */
	size_t extra_bytes; /* 0 .. INK_MAX_EXTRA */
};

enum ink_load {
	INK_LOAD_READ = 0, /* copied into memory */
	INK_LOAD_MAP = 1   /* mapped privately: pages are shared until changed; the file must not change */
};

/*
 * What is checked when a snapshot is loaded. Its length, both checksums and every
 * number of the header always are.
 */
enum ink_trust {
	INK_TRUST_NOTHING = 0, /* every cell is checked: what is loaded is sound */
	/*
	 * A body with the right checksum is taken as it is. A forged one can then
	 * give wrong answers, even states that the table does not have, but no access
	 * outside the object's memory.
	 */
	INK_TRUST_CHECKSUM = 1
};

struct ink_load_options {
	size_t size;
	enum ink_load how;    /* INK_LOAD_MAP: of a path, with the library's own allocator */
	enum ink_trust trust;
	enum ink_simd simd;   /* of tables */
	uint64_t bytes;       /* upper limit for what is allocated, else -EFBIG; 0 = none */
	const struct ink_allocator *allocator;
	void *extra;          /* receives the caller's bytes, as far as there is room; or NULL */
	size_t extra_room;
	size_t *extra_bytes;  /* receives their number, 0 if there are none; or NULL */
};

/* ------------------------------------------------------------- the rules */

#define INK_NO_ROW ((int16_t)-3) /* as `next`: nothing is said, the flow stays */

/* One row of a machine: on this event, go there and do that. */
struct ink_row {
	int16_t next;    /* a state, INK_ABSENT, or INK_NO_ROW */
	uint16_t action; /* returned to the caller of ink_step, who knows what it means */
};

/* How long a flow may rest in a state, and what then. */
struct ink_timing {
	uint32_t period;    /* ticks; 0 = never expires */
	int16_t timeout;    /* the state it moves to, or INK_ABSENT: it is deleted */
	uint8_t expendable; /* non-zero: may be dropped under INK_REPLACE */
};

/*
 * A machine, compiled to plain tables. A table copies what it needs, so the
 * caller may free all of it after the call that took it.
 */
struct ink_rules {
	size_t size;
	unsigned states;                  /* 1 .. the table's states */
	unsigned events;                  /* 1 .. INK_MAX_EVENTS */
	const struct ink_row *rows;       /* (states + 2) x events: states, then absent, then unsure */
	const uint8_t *starts;            /* events: non-zero = only a first packet carries it; or NULL */
	const struct ink_timing *timings; /* states + 1, the last for unsure; NULL = { 1, INK_ABSENT, 0 } */
};

/* What a step did. from == to: the flow stayed. */
struct ink_move {
	ink_answer from, to;
	uint16_t action;
};

/* ----------------------------------------------------------- the options */

/*
 * The papers' parameters. A field left 0 is planned. `line` and `compact`
 * have d = 2 candidate lines out of b, `dleft` has d subtables of b buckets.
 * `stateful` and `direct` have m cells, k of them for a flow, and none of what
 * stands before k; `kbf` has q, side, k (1 .. 16) and m to choose, h and f follow;
 * the others have none of what stands from k on, but `line` and `compact` side_id:
 * with it, flows of one first line that agree in these bits are one to the side table.
 */
struct ink_geometry {
	uint32_t d; /* candidate buckets of a flow (dleft: 1 .. 8) */
	uint32_t b; /* lines; dleft: buckets in each subtable */
	uint32_t h; /* entries in a line or bucket (line: 16, 24 or 32); kbf: bytes of a mask */
	uint32_t
		f; /* stored fingerprint bits (compact: remainder bits, 4 .. 24); kbf: flows a cell can tell */
	uint32_t q;    /* compact: small buckets in a line; kbf: classes of flows */
	uint32_t side; /* entries of the side table, at most 2^30; INK_NO_SIDE = none */
	uint32_t dleft_flags;
	uint32_t k;            /* cells of a flow (1 .. 32), never the same twice */
	uint32_t m;            /* cells */
	uint32_t counter_bits; /* of a cell: INK_NO_COUNTERS, or stateful: 2 .. 8, direct: 1 .. 8 */
	uint32_t threshold;    /* stateful: cells that must know the state for an answer; default 1 */
	uint32_t bloom_flags;
	uint32_t side_id;      /* line, compact: bits of an id that a side entry keeps (4 .. 24); 0 = 25 or more */
};

#define INK_NO_SIDE UINT32_MAX

/*
 * As counter_bits: none, so that only time takes things out of the cells; needs
 * age bits. Left 0 it is 2 in `direct`; in `stateful` 4, or none if there are
 * age bits (the paper has one or the other; give a number to have both).
 */
#define INK_NO_COUNTERS UINT32_MAX

/* bloom_flags */
#define INK_BLOOM_BLOCKED 1u   /* stateful: all cells of a flow in one line of 64 bytes; more errors */
#define INK_BLOOM_DECREMENT 2u /* direct: a counter at its top counts down again (else it stays there) */

/* dleft_flags: where the paper leaves a choice. */
#define INK_DLEFT_COPY 1u     /* a colliding insert stores a second copy (else it is detected) */
#define INK_DLEFT_REINSERT 2u /* a state change deletes and inserts (else changes in place) */
#define INK_DLEFT_KEEP 4u     /* modify at two matches changes nothing (else both become don't-know) */

struct ink_options {
	size_t size;
	enum ink_kind kind;
	unsigned states;   /* 1 .. INK_MAX_STATES; must be given */
	uint64_t flows;    /* this or bytes must be given */
	uint64_t bytes;    /* upper limit for all that the table allocates (exact: at first, for it grows) */
	double error;      /* ceiling for false positives; default 1/1024 */
	unsigned age_bits; /* 0 = no time-outs, 1 or 2 */
	unsigned writers;  /* threads that change the table; default 1 */
	enum ink_full full;
	enum ink_simd simd;
	uint64_t seed; /* 0 = the secret is random */
	const struct ink_rules *rules;
	struct ink_geometry geometry;
	const struct ink_allocator *allocator; /* NULL = the library's own */
};

/* What a table with these options will be. */
struct ink_plan {
	size_t size;
	enum ink_kind kind;
	uint64_t flows;       /* that it holds with the error below */
	uint64_t bytes;       /* all that ink_create will allocate, rules apart */
	double bits_per_flow; /* 8 bytes / flows */
	double error;         /* expected share of strangers that get an answer other than absent */
	double unsure;        /* expected share of live flows that read don't-know; see ink_plan */
	double load;          /* flows / cells */
	unsigned state_bits;  /* in a cell, the don't-know code included */
	unsigned age_bits;
	struct ink_geometry geometry;
};

/*
 * Plans a table: flows and error give the fewest bytes; bytes and error give
 * the most flows; flows and bytes give the smallest error. `unsure` is worked
 * out for `stateful`, `direct` and `kbf`, for flows that were only inserted (in
 * `kbf`: also in churn), in states that are equally frequent; there the ceiling `error` holds for it too. In
 * `dleft` it is left 0; in the others it is 0. `plan->size` must be set. -EINVAL: the
 * options contradict themselves; -ERANGE: the kind does not reach that;
 * -ENOTSUP: the kind cannot do that. Thread-safe.
 */
int ink_plan(const struct ink_options *options, struct ink_plan *plan, struct ink_why *why);

/* ----------------------------------------------------------- life and id */

/*
 * Makes an empty table. The result belongs to the caller: ink_free it. NULL
 * with errno as for ink_plan, or ENOMEM. Thread-safe.
 */
struct ink_table *ink_create(const struct ink_options *options, struct ink_why *why);

/* Frees a table; NULL is allowed. */
void ink_free(struct ink_table *table);

/*
 * Exchanges the rules; NULL takes them away. Flows keep their states. -EINVAL
 * (the rules contradict themselves or name a state that the table has not),
 * -ENOTSUP (the kind cannot do that: time-out moves in `stateful` and `direct`,
 * states with different periods in `direct`), -ENOMEM: the old rules stay.
 */
int ink_set_rules(struct ink_table *table, const struct ink_rules *rules, struct ink_why *why);

/*
 * The rules as the table holds them: with lines for all its states, and with what
 * was NULL filled in. They live until the next ink_set_rules. `rules->size` must
 * be set. 0, -ENOENT: it has none; -EINVAL: it is no size of the struct.
 */
int ink_rules(const struct ink_table *table, struct ink_rules *rules);

/*
 * The id of a flow: SipHash-1-3 of its key under the table's secret. `length`
 * may be 0. Ids of one table mean nothing to another, unless both were given
 * the same seed or one was loaded from a snapshot of the other. Any other
 * well-mixed 64-bit hash serves as an id too; it must be keyed if keys can be
 * chosen by an enemy.
 */
uint64_t ink_id(const struct ink_table *table, const void *key, size_t length);

/* Keys of one length, one after the other. */
struct ink_keys {
	const void *bytes; /* n x length */
	size_t length;
	size_t n;
};

/* ids[i] = ink_id of key i, several at a time. */
void ink_id_batch(const struct ink_table *table, const struct ink_keys *keys, uint64_t *ids);

/* ------------------------------------------------------------- the verbs */

/*
 * Said for `line`, `compact`, `dleft` and `exact`. In `stateful`, `direct` and
 * `kbf` an insert always succeeds and goes into the cells, also if the table
 * answers for the id already. In `kbf` a modify or delete in doubt returns 0
 * and waits in the side table (-EBUSY: that is full), and ink_modify_from and
 * ink_delete_in take the caller's word for one of several states.
 */

/* The flow's state. Touches: the flow's time begins anew. Never fails. */
ink_answer ink_lookup(struct ink_table *table, uint64_t id);

/* As ink_lookup, but does not touch and may run beside one who changes. */
ink_answer ink_peek(const struct ink_table *table, uint64_t id);

/*
 * Stores a flow that the caller knows to be new. If the table already answers
 * for this id, that is a collision: the flow goes to the side table.
 * -EEXIST: the side table (or `exact`) holds this very flow; -ENOSPC: no room,
 * the full policy was applied; -EINVAL: no such state.
 */
int ink_insert(struct ink_table *table, uint64_t id, unsigned state);

/* Changes the flow's state, or stores it. -ENOSPC, -EINVAL as ink_insert; -EBUSY: don't-know. */
int ink_set(struct ink_table *table, uint64_t id, unsigned state);

/* Changes the flow's state. -ENOENT: absent; -EBUSY: don't-know; -EINVAL. */
int ink_modify(struct ink_table *table, uint64_t id, unsigned state);

/*
 * Removes the flow. -ENOENT: absent; -EBUSY: don't-know, left to the tick.
 * Deleting a stranger hits another flow with the planned error probability.
 */
int ink_delete(struct ink_table *table, uint64_t id);

/*
 * The same for callers who know the state that the flow should be in, as the
 * transitions of many machines do. In `direct` this is the cheap way, and the
 * surer one; in `line` with many writers it is a change that nobody comes
 * between. States that the table has not: absent, or -EINVAL.
 *
 * ink_lookup_in: the state if the flow is in it, absent if it is not or is in
 * another; don't-know as ink_lookup. Touches what it finds.
 * ink_modify_from: as ink_modify, and -ENOENT if the flow is in another state.
 * ink_delete_in: as ink_delete, and -ENOENT if the flow is in another state.
 */
ink_answer ink_lookup_in(struct ink_table *table, uint64_t id, unsigned state);
int ink_modify_from(struct ink_table *table, uint64_t id, unsigned from, unsigned to);
int ink_delete_in(struct ink_table *table, uint64_t id, unsigned state);

/*
 * Looks the flow up, asks the rules, writes back. `move` tells what happened,
 * also on failure. -EINVAL: no rules, or no such event (move: don't-know, no
 * action); -ENOSPC: the flow should have been stored and there was no room
 * (move->to = move->from, the row's action is given).
 */
int ink_step(struct ink_table *table, uint64_t id, unsigned event, struct ink_move *move);

/*
 * Many operations in one call, with memory fetched ahead; any n. The effect is
 * that of the single calls, in order but for one case: of inserts into `line` with one
 * writer, those for whom others have to move come some dozens later, after others who
 * have room; inserts of one flow keep their order. To flows that are inserted once,
 * within what the table was planned for, that makes no difference. In a fuller table it
 * can decide who is refused, replaced or in doubt, and whether somebody is; and for
 * flows inserted twice, which of two is in the side table. Returns 0, or the error of
 * the first item that has one; all items are tried.
 */
struct ink_batch {
	size_t n;
	const uint64_t *ids;
	const uint8_t *states;  /* insert, set, modify */
	const uint16_t *events; /* step */
	ink_answer *answers;    /* lookup, peek: receives the answers */
	struct ink_move *moves; /* step: receives the moves */
	int *errors;            /* all but lookup and peek: receives each result; or NULL */
};

void ink_lookup_batch(struct ink_table *table, const struct ink_batch *batch);
void ink_peek_batch(const struct ink_table *table, const struct ink_batch *batch);
int ink_insert_batch(struct ink_table *table, const struct ink_batch *batch);
int ink_set_batch(struct ink_table *table, const struct ink_batch *batch);
int ink_modify_batch(struct ink_table *table, const struct ink_batch *batch);
int ink_delete_batch(struct ink_table *table, const struct ink_batch *batch);
int ink_step_batch(struct ink_table *table, const struct ink_batch *batch);

/* -------------------------------------------------------------- the time */

/* Numbers of entries, by state; in `stateful` and `direct`, which know no flows, of cells. */
struct ink_counts {
	uint64_t total; /* all below */
	uint64_t unsure;
	uint64_t state[INK_MAX_STATES];
};

/*
 * Time is now `now` ticks (any unit; a new table is at 0). Entries whose time
 * is over are deleted, or make their time-out move; overflow flags are
 * cleared. `expired`, if not NULL, receives the expiries by the state they
 * left. -EINVAL: now lies in the past, or the table was loaded from a snapshot
 * that had rules and has none yet; -EBUSY: another thread is ticking.
 */
int ink_tick(struct ink_table *table, uint64_t now, struct ink_counts *expired);

/*
 * The same in portions of about `cells` cells, so that no call takes long.
 * Returns 1 while there is more to do: call again, with the same or a later
 * `now`; 0 when the table has arrived at `now`. All other calls are allowed
 * in between. The last portion visits the whole side table (n x error entries).
 * `expired` receives the expiries since the last portion.
 */
int ink_tick_portion(struct ink_table *table, uint64_t now, uint64_t cells, struct ink_counts *expired);

/*
 * Counts the entries by state. Beside writers the counts are of no one moment.
 * 0, or -ENOTSUP and all counts 0: `stateful`, `direct` and `kbf` cannot, for a flow
 * is in no one place there.
 */
int ink_census(const struct ink_table *table, struct ink_counts *counts);

/* --------------------------------------------------------------- looking */

/* All that the table has allocated, rules apart; `exact` grows. Thread-safe, but for a growing `exact`. */
uint64_t ink_bytes(const struct ink_table *table);

/* The tick at which the table has arrived. Thread-safe. */
uint64_t ink_now(const struct ink_table *table);

struct ink_stats {
	size_t size;
	uint64_t bytes;      /* allocated, rules apart */
	uint64_t cells;      /* entries that fit, side table apart */
	uint64_t flows;      /* entries held, of all kinds; stateful, direct, kbf: an estimate */
	uint64_t side_flows; /* of these in the side table */
	uint64_t side_cells; /* entries that fit there */
	uint64_t now;        /* the tick number */
	uint64_t collisions; /* inserts that met a match */
	uint64_t displaced;  /* entries moved to make room */
	uint64_t
		overflowed; /* inserts that the side table took for lack of room; kbf: changes that had to wait */
	uint64_t refused;  /* inserts that failed with -ENOSPC */
	uint64_t replaced; /* expendable entries dropped to make room */
	uint64_t marked;   /* entries that became don't-know */
	uint64_t expired;  /* entries whose time was over */
	const char *simd;  /* "portable", "avx2" */
	uint64_t occupied; /* cells that are not empty */
};

/* `stats->size` must be set. Walks the table. 0, or -EINVAL: no size that a struct ink_stats has had. */
int ink_stats(const struct ink_table *table, struct ink_stats *stats);

/*
 * Looks at every byte of the table. 0, or -EUCLEAN with the reason: memory was
 * damaged. A table made by this library and used by its rules is always sound.
 */
int ink_check(const struct ink_table *table, struct ink_why *why);

/* ------------------------------------------------------------- snapshots */

/*
 * Writes the table to a file of mode 0600 (the secret is in it): a temporary
 * file beside it, fsync, rename, fsync of the directory. Rules are not saved; a
 * tick in portions that is under way is. On failure, which is what the system
 * said, the old file stays as it was, unless all that failed was to make the
 * rename durable; `why` says so then. What a save that was killed left beside the
 * path is removed by the next save to it.
 */
int ink_save(const struct ink_table *table, const char *path, struct ink_why *why);

/* The same with options; NULL = defaults, as in all calls below. -EINVAL: the options are wrong. */
int ink_save_with(const struct ink_table *table, const char *path, const struct ink_save_options *options,
		  struct ink_why *why);

/* Writes the same bytes to a sink; returns its error if it has one. */
int ink_save_to(const struct ink_table *table, const struct ink_sink *sink,
		const struct ink_save_options *options, struct ink_why *why);

/* Writes the same bytes to memory. -ENOSPC: more room is needed; buffer->used says how much. */
int ink_save_buffer(const struct ink_table *table, struct ink_buffer *buffer,
		    const struct ink_save_options *options, struct ink_why *why);

/* How many bytes these calls write. */
int ink_save_bytes(const struct ink_table *table, const struct ink_save_options *options, uint64_t *bytes,
		   struct ink_why *why);

/*
 * Makes a table from a snapshot; ink_free it. If it was saved with rules, it
 * refuses to step and tick (-EINVAL) until ink_set_rules. If a tick in portions
 * was under way, it still is. NULL with errno: EBADMSG (not a snapshot, damaged,
 * or unsound), ENOTSUP (a version or kind that this library does not know),
 * ENOMEM, EINVAL (the options are wrong), or what the system or the source said.
 */
struct ink_table *ink_load(const char *path, enum ink_load how, struct ink_why *why);
struct ink_table *ink_load_with(const char *path, const struct ink_load_options *options,
				struct ink_why *why);

/*
 * From a source. How long a snapshot is stands at its head, and memory for it is
 * allocated before the rest is read: `bytes` in the options bounds that.
 */
struct ink_table *ink_load_from(const struct ink_source *source, const struct ink_load_options *options,
				struct ink_why *why);

/* From memory, which holds the snapshot and no more. */
struct ink_table *ink_load_buffer(const void *bytes, size_t n, const struct ink_load_options *options,
				  struct ink_why *why);

/*
 * A second table that is in all as the first, rules, secret and a tick under way
 * included; ink_free it. Needs the table alone, as ink_save does. NULL with errno:
 * ENOMEM, EINVAL.
 */
struct ink_table *ink_copy(const struct ink_table *table, const struct ink_allocator *allocator,
			   struct ink_why *why);

#ifdef __cplusplus
}
#endif

#endif
