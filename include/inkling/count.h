/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Counting sets: which items are there, and how often, in a few bits each.
 *
 * Items are added to a counting set and removed again, and it answers whether an
 * item is there. It keeps no items. For one that was added the answer is always
 * "there"; for a stranger it is so with a small, planned probability.
 *
 *     struct ink_count_options o = { .size = sizeof o, .items = 1000000, .error = .006 };
 *     struct ink_count *c = ink_count_create(&o, NULL);
 *     uint64_t id = ink_count_id(c, "an item", 7);
 *     ink_count_add(c, id);
 *     ink_count_contains(c, id);                   -> 1
 *     ink_count_remove(c, id);
 *     ink_count_free(c);
 *
 * Two kinds. INK_COUNT_DLEFT is the d-left counting Bloom filter of section 4
 * of the ACSM paper: fingerprints with small counters. INK_COUNT_STANDARD is the
 * classic counting Bloom filter, at twice the memory. docs/counting.md explains
 * how they work, and why the first never holds two entries for one item.
 *
 * Proper use: an item is removed only after it was added, and no more often.
 * Removing a stranger is refused if the set can tell that it is one. Otherwise,
 * with the planned error probability, another item loses a count.
 *
 * A counter that reaches its limit (2^counter_bits - 1) sticks there, since it no
 * longer says how often its items are in. It is never lowered, so the items that
 * share it stay for ever, and none of them is lost. ink_count_stats counts the
 * stuck counters, ink_count_plan predicts them.
 *
 * Returns, `struct ink_why` and structs that begin with `size` are as in
 * inkling.h.
 *
 * Thread rules.
 *  1. Different sets are independent.
 *  2. Calls that take a const set may run at the same time.
 *  3. A call that takes a non-const set needs the set alone.
 */
#ifndef INKLING_COUNT_H
#define INKLING_COUNT_H

#include <inkling/inkling.h>

#ifdef __cplusplus
extern "C" {
#endif

struct ink_count;

enum ink_count_kind {
	INK_COUNT_DEFAULT = 0, /* INK_COUNT_DLEFT */
	INK_COUNT_DLEFT = 1,   /* fingerprints and counters in d subtables */
	INK_COUNT_STANDARD = 2 /* k counters for each item */
};

/* ----------------------------------------------------------- the options */

/* The paper's parameters. A field left 0 is planned; those of the other kind must be 0. */
struct ink_count_geometry {
	uint32_t d;            /* dleft: subtables, 1 .. 8; default 3 */
	uint32_t b;            /* dleft: buckets in each subtable, 1 .. 2^28; any number */
	uint32_t h;            /* dleft: cells in a bucket, 1 .. 64; default 6 */
	uint32_t f;            /* dleft: fingerprint bits, 2 .. 32 */
	uint64_t m;            /* standard: counters in all, k .. k 2^28 */
	uint32_t k;            /* standard: counters of an item, 1 .. 32 */
	uint32_t counter_bits; /* 2 .. 16; default 2 (dleft), 4 (standard) */
};

struct ink_count_options {
	size_t size;
	enum ink_count_kind kind;
	uint64_t items; /* different items at once; this, bytes, or b or m must be given */
	uint64_t bytes; /* upper limit for all that the set allocates */
	double error; /* ceiling for false positives; default 1/1024, or none where items and f or m are given */
	uint64_t seed; /* 0 = the secret is random */
	struct ink_count_geometry geometry;
	const struct ink_allocator *allocator; /* NULL = the library's own */
};

/* What a set with these options will be, when it holds `items` different items, each of them once. */
struct ink_count_plan {
	size_t size;
	enum ink_count_kind kind;
	uint64_t items;
	uint64_t bytes;       /* all that ink_count_create will allocate */
	double bits_per_item; /* 8 bytes / items */
	double error;         /* expected share of strangers that are found */
	double load;          /* expected share of the cells or counters that are not 0 */
	double stuck;         /* expected share of the cells or counters at their limit */
	uint32_t limit;       /* 2^counter_bits - 1: counts below it are exact, there it sticks */
	struct ink_count_geometry geometry;
};

/*
 * Plans a set: items and error give the fewest bytes; bytes and error give the
 * most items; items and bytes give the smallest error; b or m alone give the
 * items for which it is good. `plan->size` must be set. -EINVAL: the options
 * contradict themselves; -ERANGE: the kind does not reach that. Thread-safe.
 */
int ink_count_plan(const struct ink_count_options *options, struct ink_count_plan *plan, struct ink_why *why);

/* ----------------------------------------------------------- life and id */

/*
 * Makes an empty set. The result belongs to the caller: ink_count_free it.
 * NULL with errno as for ink_count_plan, or ENOMEM. Thread-safe.
 */
struct ink_count *ink_count_create(const struct ink_count_options *options, struct ink_why *why);

/* Frees a set; NULL is allowed. */
void ink_count_free(struct ink_count *set);

/*
 * The id of an item: SipHash-1-3 of its bytes under the set's secret. `length`
 * may be 0. As ink_id: sets with the same seed, and sets that were loaded from
 * one file, have the same ids; any other well-mixed 64-bit hash serves too,
 * and must be keyed if an attacker can choose the items.
 */
uint64_t ink_count_id(const struct ink_count *set, const void *item, size_t length);

/* ids[i] = ink_count_id of key i, several at a time. */
void ink_count_id_batch(const struct ink_count *set, const struct ink_keys *keys, uint64_t *ids);

/* ------------------------------------------------------------- the verbs */

/*
 * Puts the item in, once more if it is there already. -ENOSPC (dleft only): all
 * its buckets are full; nothing has changed. A counter at its limit stays
 * there, and that is no error: the item is there, as it should be.
 */
int ink_count_add(struct ink_count *set, uint64_t id);

/*
 * Takes the item out, once. -ENOENT: it is not there; -EOVERFLOW: all its
 * counters are stuck at their limit, so it stays there for ever. In both cases
 * nothing has changed.
 */
int ink_count_remove(struct ink_count *set, uint64_t id);

/* 1 if the item is there, 0 if not. Never 0 for an item that was properly added. */
int ink_count_contains(const struct ink_count *set, uint64_t id);

/*
 * How often the item is there; never too few, and too many if other items
 * share its counters. `limit` of the plan means that number or any higher one.
 */
uint32_t ink_count_count(const struct ink_count *set, uint64_t id);

/*
 * Many operations in one call, with memory prefetched; any n. The effect is
 * that of the single calls in order. Add and remove return 0, or the first
 * error; all items are tried.
 */
struct ink_count_batch {
	size_t n;
	const uint64_t *ids;
	uint8_t *found; /* contains: receives 1 or 0 for each */
	int *errors;    /* add, remove: receives each result; or NULL */
};

int ink_count_add_batch(struct ink_count *set, const struct ink_count_batch *batch);
int ink_count_remove_batch(struct ink_count *set, const struct ink_count_batch *batch);
void ink_count_contains_batch(const struct ink_count *set, const struct ink_count_batch *batch);

/*
 * Adds all that is in `from` to `into`, as if every item of the one had been
 * added to the other. They must be of one kind, geometry and secret: -EINVAL.
 * -ENOSPC (dleft only): it would not fit; -ENOMEM: dleft needs a second body
 * while it merges. On failure `into` is as it was. `from` may be `into`: every
 * count doubles.
 */
int ink_count_merge(struct ink_count *into, const struct ink_count *from, struct ink_why *why);

/* --------------------------------------------------------------- looking */

/* All that the set has allocated. Does not walk it. */
uint64_t ink_count_bytes(const struct ink_count *set);

struct ink_count_stats {
	size_t size;
	uint64_t bytes;     /* allocated */
	uint64_t items;     /* adds less removes, those of stuck counters included */
	uint64_t cells;     /* cells or counters in all */
	uint64_t taken;     /* of these not 0 */
	uint64_t stuck;     /* of these at their limit */
	uint32_t limit;     /* 2^counter_bits - 1 */
	double error;       /* share of strangers that are found, as it is now */
	uint64_t refused;   /* adds that failed with -ENOSPC */
	uint64_t strangers; /* removes that failed with -ENOENT */
	uint64_t held;      /* removes that failed with -EOVERFLOW */
};

/* `stats->size` must be set: 0, or -EINVAL. Walks the set. */
int ink_count_stats(const struct ink_count *set, struct ink_count_stats *stats);

/*
 * Checks every byte of the set. 0, or -EUCLEAN with the reason: memory was
 * damaged. A set made by this library and used by its rules is always sound.
 */
int ink_count_check(const struct ink_count *set, struct ink_why *why);

/* ------------------------------------------------------------- snapshots */

/*
 * Writes the set to a file of mode 0600 (the secret is in it): a temporary
 * file beside it, fsync, rename, fsync of the directory. 0, or what the system
 * said; the old file then stays as it was, as for ink_save.
 */
int ink_count_save(const struct ink_count *set, const char *path, struct ink_why *why);

/* The same with options; NULL = defaults, as in all calls below. -EINVAL: the options are wrong. */
int ink_count_save_with(const struct ink_count *set, const char *path, const struct ink_save_options *options,
			struct ink_why *why);

/* Writes the same bytes to a sink; returns its error if it has one. */
int ink_count_save_to(const struct ink_count *set, const struct ink_sink *sink,
		      const struct ink_save_options *options, struct ink_why *why);

/* Writes the same bytes to memory. -ENOSPC: more room is needed; buffer->used says how much. */
int ink_count_save_buffer(const struct ink_count *set, struct ink_buffer *buffer,
			  const struct ink_save_options *options, struct ink_why *why);

/* How many bytes these calls write. */
int ink_count_save_bytes(const struct ink_count *set, const struct ink_save_options *options, uint64_t *bytes,
			 struct ink_why *why);

/*
 * Makes a set from a file; ink_count_free it. NULL with errno: EBADMSG (not
 * such a file, damaged, or unsound), ENOTSUP (a version or kind of file that
 * is no counting set, as far as this library knows), EINVAL (the options are
 * wrong), EFBIG (more than `bytes` of the options), ENOMEM, or what the system
 * or the source said.
 */
struct ink_count *ink_count_load(const char *path, enum ink_load how, struct ink_why *why);
struct ink_count *ink_count_load_with(const char *path, const struct ink_load_options *options,
				      struct ink_why *why);

/* From a source, which may have more bytes after the snapshot. */
struct ink_count *ink_count_load_from(const struct ink_source *source, const struct ink_load_options *options,
				      struct ink_why *why);

/* From memory, which holds the snapshot and no more. */
struct ink_count *ink_count_load_buffer(const void *bytes, size_t n, const struct ink_load_options *options,
					struct ink_why *why);

/*
 * A second set that is in all as the first, secret and counters of failures
 * included; ink_count_free it. NULL with errno: ENOMEM, EINVAL (the allocator).
 */
struct ink_count *ink_count_copy(const struct ink_count *set, const struct ink_allocator *allocator,
				 struct ink_why *why);

#ifdef __cplusplus
}
#endif

#endif
