/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Inkling: a few bits of state for every flow.
 *
 * A table maps flows to small states (0 .. states-1) without keeping the
 * flows themselves. The options bound its error about strangers, which are flows
 * that were never inserted. About flows that were properly inserted it is right, or
 * answers "don't know".
 *
 *     struct ink_options o = { .size = sizeof o, .states = 4, .flows = 1000000 };
 *     struct ink_table *t = ink_create(&o, NULL);
 *     uint64_t id = ink_id(t, key, key_length);
 *     ink_insert(t, id, 2);
 *     ink_answer a = ink_lookup(t, id);          -> 2
 *     ink_free(t);
 *
 * docs/semantics.md describes what each call does in each situation.
 *
 * Returns. Calls that can fail return 0 or a negative errno value; calls that
 * make a table return NULL and set errno. An answer is not an error: lookups
 * cannot fail. A `struct ink_why *` may be NULL. If a call fails, it receives one
 * line of text: what is wrong, and where.
 *
 * Structs. Those that begin with `size` may grow in later versions: set it to
 * sizeof the struct. A field left 0 takes its default. A caller compiled for an
 * older version passes a smaller size: fields that it lacks are 0, and only its
 * fields are written. One compiled for a newer version passes a larger size, which
 * is accepted if all bytes that this version does not know are 0. Other sizes, 0
 * included, are -EINVAL.
 *
 * Thread rules.
 *  1. Different tables are independent.
 *  2. `writers` = 1: one thread at a time may call what takes a non-const
 *     table (ink_lookup does: it touches). In `line` and `compact`, any number
 *     of other threads may call ink_peek, ink_census, ink_stats, ink_id meanwhile.
 *     In every kind they may call ink_fetch.
 *  3. `writers` > 1 (kind `line` only): any thread may call anything except
 *     ink_set_rules, ink_check, ink_copy, saving and ink_free at any time.
 *  4. ink_set_rules, ink_check, ink_copy, saving and ink_free need
 *     exclusive access: no other thread may use the table meanwhile.
 *  5. In the other kinds no thread may write during a peek, a census or stats.
 *  6. A call sees every change that another thread completed before the call began.
 *  7. fork: a child may use its copy of a table only if no other thread was writing
 *     to it when the process forked. Otherwise the child may only exec or _exit,
 *     because locks and seqlocks stay taken in its copy.
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
#define INK_DONT_KNOW ((ink_answer)-2) /* the stored bits do not determine the answer */

#define INK_MAX_STATES 255 /* one of the 256 codes of 8 bits is "don't know" */
#define INK_MAX_EVENTS 4096

struct ink_table;

enum ink_kind {
	INK_KIND_DEFAULT = 0, /* INK_LINE */
	INK_LINE = 1,         /* 64-byte lines of fingerprints; fast, and many writers */
	INK_COMPACT = 2,      /* quotiented 64-byte lines; fewest bits */
	INK_DLEFT = 3,        /* the fingerprint-compressed filter of the ACSM paper */
	INK_EXACT = 4,        /* whole ids and true times: exact, for comparison */
	INK_STATEFUL = 5,     /* the stateful Bloom filter of the ACSM paper: cells of states */
	INK_DIRECT = 6,       /* the direct Bloom filter of the same paper: (flow, state) pairs */
	INK_KBF = 7           /* sums of states, after the key-value Bloom filter; never full */
};

/* What a kind can do: bits of ink_kind_info.can. */
#define INK_CAN_BE_EXACT 0x001u     /* exact: whole ids and true times; it grows */
#define INK_CAN_MANY_WRITERS 0x002u /* options.writers > 1 */
#define INK_CAN_PEEK 0x004u         /* ink_peek and ink_census while another thread writes */
#define INK_CAN_CENSUS 0x008u       /* flows are counted by state: ink_census, `end` rows */
#define INK_CAN_TIME_OUT 0x010u     /* flows expire: options.age_bits, or true times */
#define INK_CAN_TIME_OUT_TO 0x020u  /* ... into another state */
#define INK_CAN_DIFFER 0x040u       /* ... after a period that depends on the state */
#define INK_CAN_BE_FULL 0x080u      /* an insert can be refused for lack of room */
#define INK_CAN_REPLACE 0x100u      /* INK_REPLACE */
#define INK_CAN_PLAN_UNSURE 0x200u  /* ink_plan computes `unsure` */
#define INK_CAN_WINDOW 0x400u       /* ink_rules.windows: a time since the flow entered a group of states */
#define INK_CAN_PARTS 0x800u        /* options.part */

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
 * What happens to a flow for which there is no room. If a flow collides with the
 * entry of another while the side table is full, INK_UNSURE and INK_REFUSE turn
 * that entry into don't-know for both. Under INK_REPLACE the entry stays, and the
 * refused flow reads the state of the other.
 */
enum ink_full {
	INK_FULL_DEFAULT = 0, /* INK_UNSURE */
	INK_UNSURE = 1,       /* refused; its lines answer "don't know" for misses until the next tick */
	INK_REFUSE = 2,       /* refused; it reads as absent */
	INK_REPLACE = 3       /* replaces an expendable entry; if there is none, as INK_UNSURE */
};

/* The instructions that a table uses, except for ids; the answers are the same. */
enum ink_simd {
	INK_SIMD_BEST = 0, /* the fastest that this processor has */
	INK_SIMD_NONE = 1, /* portable code */
	INK_SIMD_AVX2 = 2  /* AVX2 and BMI2; ENOTSUP if the processor lacks them */
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
 * with any contents, or NULL; memory that is not aligned is freed at once and
 * counts as NULL. free: what alloc returned, with the same `bytes`.
 * The thread that calls the library calls both, possibly with locks held: they must
 * not call the library for the same object. NULL instead of a struct selects the
 * library's own allocator, which uses huge pages for large objects.
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
 * 0 at the end, or a negative errno. Nothing after the snapshot is read, so more
 * data may follow in the same stream.
 */
struct ink_source {
	ptrdiff_t (*read)(void *into, size_t n, void *user);
	void *user;
};

/* A snapshot in memory. */
struct ink_buffer {
	void *bytes;
	size_t room; /* at `bytes` */
	size_t used; /* receives the length of the snapshot, also if `room` is too small */
};

#define INK_MAX_EXTRA (1u << 20)

struct ink_save_options {
	size_t size;
	const void *extra;  /* the caller's own bytes, stored in the snapshot: an offset, a sequence number */
	size_t extra_bytes; /* 0 .. INK_MAX_EXTRA */
};

enum ink_load {
	INK_LOAD_READ = 0, /* copied into memory */
	INK_LOAD_MAP = 1   /* mapped privately: pages are shared until changed; the file must not change */
};

/*
 * What loading checks besides the length, both checksums and every number of the
 * header, which are always checked.
 */
enum ink_trust {
	INK_TRUST_NOTHING = 0, /* every cell is checked: what is loaded is sound */
	/*
	 * A body with the right checksum is not checked further. A forged one can then
	 * cause wrong answers, even states that the table does not have, but no access
	 * outside the object's memory.
	 */
	INK_TRUST_CHECKSUM = 1
};

struct ink_load_options {
	size_t size;
	enum ink_load how; /* INK_LOAD_MAP: only by path, with the library's own allocator */
	enum ink_trust trust;
	enum ink_simd simd; /* of tables */
	uint64_t bytes;     /* upper limit for what is allocated, extra bytes too, else -EFBIG; 0 = none */
	const struct ink_allocator *allocator;
	void *extra; /* receives the caller's own bytes, at most extra_room of them; or NULL */
	size_t extra_room;
	size_t *extra_bytes; /* receives their number, 0 if there are none; or NULL */
};

/* ------------------------------------------------------------- the rules */

#define INK_NO_ROW ((int16_t)-3) /* as `next`: there is no row, the flow stays */

/* One row of a machine: on this event, go there and do that. */
struct ink_row {
	int16_t next;    /* a state, INK_ABSENT, or INK_NO_ROW */
	uint16_t action; /* returned to the caller of ink_step, which gives it a meaning */
};

/* How long a flow may be idle in a state, and what happens then. */
struct ink_timing {
	uint32_t period;    /* ticks; 0 = never expires */
	int16_t timeout;    /* the state it moves to, or INK_ABSENT: it is deleted */
	uint8_t expendable; /* non-zero: may be removed under INK_REPLACE */
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
	/*
	 * states: 0, and the period of the state is an idle time; or the number of a group, 1 to 255,
	 * and the period is a window: it begins when a flow enters the group, and neither touches nor
	 * moves inside the group renew it. All states of a group have the same period, not 0. A
	 * time-out begins the window of the state that it leads to, even in the same group. NULL = all 0.
	 */
	const uint8_t *windows;
};

/* The result of a step. from == to: the flow stayed. */
struct ink_move {
	ink_answer from, to;
	uint16_t action;
};

/* ----------------------------------------------------------- the options */

/*
 * The papers' parameters. A field left 0 is planned; ink_kind_info tells which fields
 * a kind has. `line` and `compact` have d = 2 candidate lines out of b, `dleft` has d
 * subtables of b buckets. `stateful` and `direct` have m cells, k of them for a flow.
 * In `kbf` h and f follow from the others. `exact` has none: it grows as it needs, and
 * the geometry in its plan is what it begins with. With side_id, the side table treats
 * flows of one first line that agree in these bits as one.
 */
struct ink_geometry {
	uint32_t d; /* candidate buckets of a flow (dleft: 1 .. 8) */
	uint32_t b; /* lines; dleft: buckets in each subtable */
	uint32_t h; /* entries in a line or bucket (line: 16, 24 or 32); kbf: bytes of a mask */
	uint32_t
		f; /* stored fingerprint bits (compact: remainder bits, 4 .. 24); kbf: flows that a cell can distinguish */
	uint32_t q;    /* compact: small buckets in a line; kbf: classes of flows */
	uint32_t side; /* entries of the side table, at most 2^30; INK_NO_SIDE = none */
	uint32_t dleft_flags;
	uint32_t k;            /* cells of a flow (1 .. 32), never the same twice */
	uint32_t m;            /* cells */
	uint32_t counter_bits; /* of a cell: INK_NO_COUNTERS, or stateful: 2 .. 8, direct: 1 .. 8 */
	uint32_t threshold;    /* stateful: cells that must have the state for an answer; default 1 */
	uint32_t bloom_flags;
	uint32_t side_id; /* line, compact: id bits of a side entry (4 .. 24); 0 = 25 or more */
};

#define INK_NO_SIDE UINT32_MAX

/*
 * As counter_bits: no counters. Then only time-outs empty the cells, so age bits are
 * needed. The default is 2 in `direct`; in `stateful` 4, or none with age bits (the
 * paper has one or the other; a number gives both).
 */
#define INK_NO_COUNTERS UINT32_MAX

/* bloom_flags */
#define INK_BLOOM_BLOCKED 1u   /* stateful: all cells of a flow in one line of 64 bytes; more errors */
#define INK_BLOOM_DECREMENT 2u /* direct: saturated counters count down again (else they stay) */

/* dleft_flags: where the paper leaves a choice. */
#define INK_DLEFT_COPY 1u     /* a colliding insert stores a second copy (else it is detected) */
#define INK_DLEFT_REINSERT 2u /* a state change deletes and inserts (else changes in place) */
#define INK_DLEFT_KEEP 4u     /* modify at two matches changes nothing (else both become don't-know) */

struct ink_options {
	size_t size;
	enum ink_kind kind;
	unsigned states; /* 1 .. INK_MAX_STATES; must be given */
	uint64_t flows;  /* this or bytes must be given */
	uint64_t bytes;  /* upper limit for all that the table allocates (exact: initially, since it grows) */
	double error;    /* upper bound of false positives; default 1/1024 */
	unsigned age_bits; /* 0 = no time-outs, 1 or 2 */
	unsigned writers;  /* threads that write to the table; default 1 */
	enum ink_full full;
	enum ink_simd simd;
	uint64_t seed; /* 0 = the secret is random */
	const struct ink_rules *rules;
	struct ink_geometry geometry;
	const struct ink_allocator *allocator; /* NULL = the library's own */
	/*
	 * `line`: bytes of a line that a flow's entry can be in, 64 (all), 32, 16 or 8. Smaller
	 * parts err less and hold fewer flows. 0 = the plan chooses; 64 if geometry has b, h or f.
	 */
	unsigned part;
	unsigned smallest; /* `compact`: 1 = the fewest bits; 0 = the fastest of those with up to 2 % more */
};

/* The table that these options give. */
struct ink_plan {
	size_t size;
	enum ink_kind kind;
	uint64_t flows;       /* that it holds with the error below */
	uint64_t bytes;       /* all that ink_create will allocate, except for the rules */
	double bits_per_flow; /* 8 bytes / flows */
	double error;         /* expected share of strangers that get an answer other than absent */
	double unsure;        /* expected share of live flows that read don't-know; see ink_plan */
	double load;          /* flows / cells */
	unsigned state_bits;  /* in a cell, the don't-know code included */
	unsigned age_bits;
	struct ink_geometry geometry;
	unsigned part; /* as in the options; 0 = whole lines, and in kinds that have no parts */
	double time; /* of an operation at the highest load of the geometry, the kind's fastest being 1; 0: not known */
};

/*
 * Plans a table. Flows and error give the fewest bytes; bytes and error give the most
 * flows; flows and bytes give the smallest error. In `compact`, up to 2 % more bytes or
 * fewer flows are accepted if the table is faster then, unless `smallest` is set; `time`
 * estimates a lookup, a delete and an insert with AVX2. `unsure` is computed for `stateful`
 * and `direct`, for flows that were only inserted, and for `kbf`, also under churn. It
 * assumes that states are equally frequent, and `error` bounds it, too. In `dleft` it
 * is not computed; in the other kinds it is 0. `plan->size` must be set. -EINVAL: the
 * options contradict themselves; -ERANGE: the kind cannot reach them; -ENOTSUP: the
 * kind lacks a feature. Thread-safe.
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
 * Exchanges the rules; NULL removes them. Flows keep their states. -EINVAL (the
 * rules contradict themselves or name a state that the table does not have),
 * -ENOTSUP (the kind lacks a feature: time-out moves in `stateful` and `direct`,
 * states with different periods in `direct`), -ENOMEM: the old rules stay.
 */
int ink_set_rules(struct ink_table *table, const struct ink_rules *rules, struct ink_why *why);

/*
 * The rules as the table holds them, with rows for all its states and with defaults
 * where the caller passed NULL. The arrays are valid until the next ink_set_rules.
 * `rules->size` must be set. -ENOENT: the table has no rules; -EINVAL: wrong size.
 */
int ink_rules(const struct ink_table *table, struct ink_rules *rules);

/*
 * The id of a flow: SipHash-1-3 of its key under the table's secret. `length`
 * may be 0. Two tables have the same ids only if both were given the same
 * seed, or one is a copy of the other or was loaded from its snapshot. Any other
 * well-mixed 64-bit hash can serve as an id; it must be keyed if an attacker can
 * choose the keys.
 */
uint64_t ink_id(const struct ink_table *table, const void *key, size_t length);

/* Keys of one length, contiguous in memory. */
struct ink_keys {
	const void *bytes; /* n x length */
	size_t length;
	size_t n;
};

/* ids[i] = ink_id of key i, several at a time. */
void ink_id_batch(const struct ink_table *table, const struct ink_keys *keys, uint64_t *ids);

/* ------------------------------------------------------------- the verbs */

/*
 * This describes `line`, `compact`, `dleft` and `exact`. In `stateful`, `direct` and
 * `kbf` an insert always succeeds and changes the cells, even if the table already
 * has an answer for the id. In `kbf` a modify or delete in doubt returns 0 and is
 * deferred in the side table (-EBUSY: that is full), and ink_modify_from and
 * ink_delete_in trust the caller if the given state is one of several.
 */

/* The flow's state. Touches the flow: its time-out starts again. Never fails. */
ink_answer ink_lookup(struct ink_table *table, uint64_t id);

/* As ink_lookup, but does not touch. Safe to call while another thread writes (thread rules 2 and 5). */
ink_answer ink_peek(const struct ink_table *table, uint64_t id);

/*
 * Stores a flow that the caller knows to be new. If the table already has an answer
 * for this id, that is a collision, and the flow goes to the side table.
 * -EEXIST: the side table (or `exact`) already holds this flow; -ENOSPC: no room,
 * the full policy was applied; -EINVAL: no such state.
 */
int ink_insert(struct ink_table *table, uint64_t id, unsigned state);

/* Changes the flow's state, or stores it. -ENOSPC, -EINVAL as ink_insert; -EBUSY: don't-know. */
int ink_set(struct ink_table *table, uint64_t id, unsigned state);

/* Changes the flow's state. -ENOENT: absent; -EBUSY: don't-know; -EINVAL. */
int ink_modify(struct ink_table *table, uint64_t id, unsigned state);

/*
 * Removes the flow. -ENOENT: absent; -EBUSY: don't-know, which only a tick removes.
 * Deleting a stranger hits another flow with the planned error probability.
 */
int ink_delete(struct ink_table *table, uint64_t id);

/*
 * The same for callers that know the expected state of the flow, as the transitions
 * of many machines do. In `direct` these calls are cheaper and have fewer errors. In
 * `line` with many writers, comparison and change are atomic. For a state that the
 * table does not have they return absent, or -EINVAL.
 *
 * ink_lookup_in: the state if the flow is in it, absent if it is absent or in
 * another; don't-know as ink_lookup. Touches the entry that it finds.
 * ink_modify_from: as ink_modify, and -ENOENT if the flow is in another state.
 * ink_delete_in: as ink_delete, and -ENOENT if the flow is in another state.
 */
ink_answer ink_lookup_in(struct ink_table *table, uint64_t id, unsigned state);
int ink_modify_from(struct ink_table *table, uint64_t id, unsigned from, unsigned to);
int ink_delete_in(struct ink_table *table, uint64_t id, unsigned state);

/*
 * Looks the flow up, applies the rules, writes back. `move` receives the result,
 * also on failure. -EINVAL: no rules, or no such event (move: don't-know, no
 * action); -ENOSPC: the flow should have been stored and there was no room
 * (move->to = move->from, the row's action is given).
 */
int ink_step(struct ink_table *table, uint64_t id, unsigned event, struct ink_move *move);

/*
 * Many operations in one call, with prefetched memory; any n. The effect is that of
 * the single calls in order, with one exception: inserts into `line` with one writer
 * that need a displacement are deferred and complete after later ones. Inserts of one
 * flow keep their order. For flows that are inserted once, within the planned number,
 * this makes no difference. In a fuller table it can decide which flow is refused,
 * replaced or in doubt, and whether any is; for flows inserted twice it can decide
 * which copy is in the side table. Returns 0, or the error of the first item that has
 * one; all items are tried.
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

/*
 * Prefetch the memory of flows that will be used soon: for callers that have few ids at
 * a time, or use single calls. They change nothing, have no answer, and may be called
 * from any thread at any time between ink_create and ink_free, in every kind. They pay
 * for tables beyond the L2 cache. Single calls: fetch the id 16 calls ahead. Bursts of
 * 32: for each half of a burst, first fetch that half of the next burst; a whole burst
 * at once waits for memory before the work can overlap with it.
 */
void ink_fetch(const struct ink_table *table, uint64_t id);
void ink_fetch_batch(const struct ink_table *table, const uint64_t *ids, size_t n);

/* -------------------------------------------------------------- the time */

/* Numbers of entries, by state; in `stateful` and `direct`, which store no flows, of cells. */
struct ink_counts {
	uint64_t total; /* all below */
	uint64_t unsure;
	uint64_t state[INK_MAX_STATES];
};

/*
 * Sets the time to `now` ticks (any unit; a new table is at 0). Expired entries are
 * deleted or make their time-out move; overflow flags are cleared. `expired`, if
 * not NULL, receives the number of expired entries by the state they left. -EINVAL:
 * now is in the past, or the table was loaded from a snapshot with rules and has
 * none yet; -EBUSY: another thread is ticking.
 */
int ink_tick(struct ink_table *table, uint64_t now, struct ink_counts *expired);

/*
 * The same in portions of about `cells` cells, which bounds the time of a call.
 * Returns 1 until the tick is complete: call again, with the same or a later `now`;
 * 0 when the table is at `now`. All other calls are allowed in between. The last
 * portion visits the whole side table (n x error entries). `expired` receives the
 * expiries since the last portion.
 */
int ink_tick_portion(struct ink_table *table, uint64_t now, uint64_t cells, struct ink_counts *expired);

/*
 * When an entry expires: more than `earliest` and at most `latest` ticks after its last
 * touch, or in a window after it entered the group. A touch may be made at any moment
 * between two ticks. Both ends are as close as the kind allows.
 */
struct ink_expiry {
	uint64_t earliest, latest; /* INK_NO_EXPIRY, both: it does not expire */
};

#define INK_NO_EXPIRY UINT64_MAX

/*
 * That range for an ink_timing.period in a table of that kind and age bits, if the table
 * is ticked once a tick, at once; a table that is ticked later expires entries with that
 * tick, and one ticked in portions as each of them comes to it. In `stateful` and
 * `direct` it is the range of a cell, which the flows that share it touch. -ENOENT: there
 * is no such kind; -ENOTSUP: it has no time-outs; -EINVAL: more than 2 age bits.
 */
int ink_expiry(unsigned kind, unsigned age_bits, uint32_t period, struct ink_expiry *range);

/*
 * Counts the entries by state. While other threads write, the counts are not of one
 * moment. 0, or -ENOTSUP and all counts 0 in `stateful`, `direct` and `kbf`, which
 * store no entries.
 */
int ink_census(const struct ink_table *table, struct ink_counts *counts);

/* --------------------------------------------------------------- looking */

/* All that the table has allocated, except for the rules. Does not walk the table. Thread-safe, except in `exact`. */
uint64_t ink_bytes(const struct ink_table *table);

/* The present tick: that of the last completed ink_tick. Does not walk the table. Thread-safe. */
uint64_t ink_now(const struct ink_table *table);

struct ink_stats {
	size_t size;
	uint64_t bytes;      /* allocated, except for the rules */
	uint64_t cells;      /* capacity in entries, without the side table */
	uint64_t flows;      /* entries held, of all kinds; stateful, direct, kbf: an estimate */
	uint64_t side_flows; /* of these, in the side table */
	uint64_t side_cells; /* capacity of the side table */
	uint64_t now;        /* the tick number */
	uint64_t collisions; /* inserts that matched an entry */
	uint64_t displaced;  /* entries displaced to make room */
	uint64_t overflowed; /* inserts stored in the side table for lack of room; kbf: deferred changes */
	uint64_t refused;    /* inserts that failed with -ENOSPC */
	uint64_t replaced;   /* expendable entries replaced */
	uint64_t marked;     /* entries that became don't-know */
	uint64_t expired;    /* entries that timed out */
	const char *simd;    /* "portable", "avx2" */
	uint64_t occupied;   /* cells that are not empty */
};

/* `stats->size` must be set. Walks the table. 0, or -EINVAL: wrong size. */
int ink_stats(const struct ink_table *table, struct ink_stats *stats);

/*
 * Checks every byte of the table. 0, or -EUCLEAN with the reason: memory was damaged.
 * A table that was used according to this header always passes.
 */
int ink_check(const struct ink_table *table, struct ink_why *why);

/* ------------------------------------------------------------- snapshots */

/*
 * Writes the table to a file of mode 0600, because it contains the secret: a temporary
 * file in the same directory, fsync, rename, fsync of the directory. Rules are not
 * saved; a tick in portions that is under way is. Returns the error of the system.
 * The old file then stays as it was, unless only the fsync of the directory failed,
 * which `why` states. A save removes the temporary files that killed saves to the
 * same path left.
 */
int ink_save(const struct ink_table *table, const char *path, struct ink_why *why);

/* The same with options; NULL = defaults, as in all calls below. -EINVAL: wrong options. */
int ink_save_with(const struct ink_table *table, const char *path, const struct ink_save_options *options,
		  struct ink_why *why);

/* Writes the same bytes to a sink; returns its error if it has one. */
int ink_save_to(const struct ink_table *table, const struct ink_sink *sink,
		const struct ink_save_options *options, struct ink_why *why);

/* Writes the same bytes to memory. -ENOSPC: the buffer is too small; buffer->used receives the required size. */
int ink_save_buffer(const struct ink_table *table, struct ink_buffer *buffer,
		    const struct ink_save_options *options, struct ink_why *why);

/* `bytes` receives the number of bytes that these calls write. */
int ink_save_bytes(const struct ink_table *table, const struct ink_save_options *options, uint64_t *bytes,
		   struct ink_why *why);

/*
 * Makes a table from a snapshot; ink_free it. If it was saved with rules, ink_step and
 * ink_tick return -EINVAL until ink_set_rules. If a tick in portions was under way,
 * it still is. NULL with errno: EBADMSG (not a snapshot, damaged,
 * or unsound), ENOTSUP (a version or kind that this library does not know),
 * ENOMEM, EINVAL (wrong options), or the error of the system or the source.
 */
struct ink_table *ink_load(const char *path, enum ink_load how, struct ink_why *why);
struct ink_table *ink_load_with(const char *path, const struct ink_load_options *options,
				struct ink_why *why);

/*
 * From a source. The head of a snapshot contains its length, and memory for it is
 * allocated before the rest is read; `bytes` in the options bounds it.
 */
struct ink_table *ink_load_from(const struct ink_source *source, const struct ink_load_options *options,
				struct ink_why *why);

/* From memory that contains the snapshot and nothing else. */
struct ink_table *ink_load_buffer(const void *bytes, size_t n, const struct ink_load_options *options,
				  struct ink_why *why);

/*
 * An identical copy, including rules, secret and a tick under way; ink_free it. Needs
 * exclusive access, as ink_save does. NULL with errno: ENOMEM, EINVAL.
 */
struct ink_table *ink_copy(const struct ink_table *table, const struct ink_allocator *allocator,
			   struct ink_why *why);

/* ---------------------------------------------- snapshots of several tables */

#define INK_MAX_SET 256
#define INK_SET_NAME 64 /* room for a name of at most 63 bytes: UTF-8 without control characters */

struct ink_set_entry {
	const char *name; /* unique in its set */
	const struct ink_table *table;
};

/* Tables that belong together, such as those of linked machines. */
struct ink_table_set {
	const struct ink_set_entry *entries;
	size_t n; /* 1 .. INK_MAX_SET */
};

/*
 * Write all tables of a set to one file, as ink_save_with, ink_save_to, ink_save_buffer
 * and ink_save_bytes write one. The extra bytes of the options belong to the set. The
 * tables may be of different kinds. No other thread may use any of them meanwhile. The
 * headers take memory of the first table's allocator: 4 KiB a table. -EINVAL: a name is
 * missing, too long or not unique, or as said there; -ENOMEM.
 */
int ink_save_set(const struct ink_table_set *set, const char *path, const struct ink_save_options *options,
		 struct ink_why *why);
int ink_save_set_to(const struct ink_table_set *set, const struct ink_sink *sink,
		    const struct ink_save_options *options, struct ink_why *why);
int ink_save_set_buffer(const struct ink_table_set *set, struct ink_buffer *buffer,
			const struct ink_save_options *options, struct ink_why *why);
int ink_save_set_bytes(const struct ink_table_set *set, const struct ink_save_options *options,
		       uint64_t *bytes, struct ink_why *why);

struct ink_loaded_set;

/*
 * Load such a file, all tables or none; ink_loaded_set_free the result. The options are
 * those of ink_load_with and hold for all tables; `bytes` limits their memory together.
 * NULL with errno as ink_load_with; ENOTSUP also for a snapshot that is not a set.
 */
struct ink_loaded_set *ink_load_set(const char *path, const struct ink_load_options *options,
				    struct ink_why *why);
struct ink_loaded_set *ink_load_set_from(const struct ink_source *source,
					 const struct ink_load_options *options, struct ink_why *why);
struct ink_loaded_set *ink_load_set_buffer(const void *bytes, size_t n,
					   const struct ink_load_options *options, struct ink_why *why);

/* How many tables the file has, and their names in the order of the file; NULL behind the last. */
size_t ink_loaded_set_count(const struct ink_loaded_set *set);
const char *ink_loaded_set_name(const struct ink_loaded_set *set, size_t i);

/*
 * Takes a table out of the set: it belongs to the caller then. ink_free it, before
 * or after the set. NULL: there is no table of that name, or it was taken before.
 */
struct ink_table *ink_loaded_set_take(struct ink_loaded_set *set, const char *name);

/* Frees the set with all tables that were not taken; NULL is allowed. */
void ink_loaded_set_free(struct ink_loaded_set *set);

#ifdef __cplusplus
}
#endif

#endif
