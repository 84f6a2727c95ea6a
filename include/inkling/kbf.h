/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The key-value Bloom filter (kBF): a map that adds.
 *
 * A filter maps keys to values, both of them strings of any bytes, and keeps
 * no keys. A value is stored once, in a dictionary, which gives it a small symbol;
 * a key adds its value's symbol to k cells. Cells are sums, and that is what a
 * kBF is for: filters of several nodes merge by addition, a filter can be
 * subtracted again, the order of changes does not matter, an insert is never
 * refused for lack of cells, and an overloaded filter heals as keys are deleted.
 * Where none of that is needed, a table of inkling.h takes a sixth of the bits.
 *
 *     struct ink_kbf_dict *d = ink_kbf_dict_create(NULL, NULL);
 *     struct ink_kbf_options o = { .size = sizeof o, .dict = d, .keys = 1000000 };
 *     struct ink_kbf *f = ink_kbf_create(&o, NULL);
 *     ink_kbf_insert(f, key, value);
 *     ink_kbf_query(f, key, &value);              -> INK_KBF_VALUE
 *     ink_kbf_free(f);
 *     ink_kbf_dict_free(d);
 *
 * Guarantees. A key that was inserted, and not refused, is answered with its
 * value or INK_KBF_UNKNOWN; never with another value, never absent. A stranger
 * is answered with some value, or INK_KBF_UNKNOWN, with the small probabilities
 * of the plan. Proper use means: insert new keys, update and delete inserted
 * ones. An update or delete of a stranger finds nothing (-ENOENT). With the
 * false positive probability it finds something, and damages other keys. docs/kbf.md has the proofs, the memory, the
 * formulas, and a table of what each call does in each situation.
 *
 * Returns, structs and `struct ink_why` are as in inkling.h.
 *
 * Thread rules.
 *  1. A dictionary changes when a filter stores a value that the dictionary does
 *     not have yet, by ink_kbf_dict_add, and by ink_kbf_merge from a longer one.
 *     A call that may change it needs the dictionary and all its filters alone.
 *  2. Otherwise different filters are independent, also those of one dictionary.
 *  3. A call that takes a non-const filter needs the filter alone. Calls with
 *     const filters may run at the same time.
 *  4. The last ink_kbf_free or ink_kbf_dict_free of those that share a dictionary
 *     frees it; they may run in different threads.
 */
#ifndef INKLING_KBF_H
#define INKLING_KBF_H

#include <inkling/inkling.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A string of bytes. `bytes` may be NULL if length is 0. The empty string is a key, or value, like others. */
struct ink_bytes {
	const void *bytes;
	size_t length;
};

/* --------------------------------------------------------- the dictionary */

/*
 * Gives values their symbols: the n-th new value gets symbol n, for ever.
 * Filters can be added to one another only if a symbol means the same value in
 * both. Nodes that will merge therefore begin with copies of one dictionary, and
 * each value is added to it before it is shared; or one node adds all new values.
 * The dictionary also holds the secret by which keys find their cells.
 */
struct ink_kbf_dict;

/* How symbols become sums. */
enum ink_kbf_encoding {
	INK_KBF_ENCODING_DEFAULT = 0, /* INK_KBF_POWER_SUMS */
	INK_KBF_POWER_SUMS = 1,       /* sums of x and x^2 mod 16381: cells of 32 bits, 16,381 values */
	INK_KBF_POWER_SUMS_WIDE = 2,  /* the same mod 1073741783: cells of 64 bits, 2^24 values */
	INK_KBF_GREEDY = 3 /* the paper's codes, by exclusive or: 32 bits, 3,294 values; see docs/kbf.md */
};

struct ink_kbf_dict_options {
	size_t size;
	enum ink_kbf_encoding encoding;
	uint32_t values;       /* most that it takes; default: as many as the encoding has (GREEDY: 3,000) */
	uint32_t value_length; /* bytes of the longest value; default 65,536, at most 2^30 */
	uint64_t seed;         /* 0 = the secret is random */
	const struct ink_allocator *allocator; /* NULL = the library's own */
};

/*
 * Makes an empty dictionary; `options` may be NULL. It is shared by the caller
 * and the filters made with it, and freed with the last of them. GREEDY searches
 * all its codes now: 3,000 take less than a second. NULL
 * with errno: EINVAL (size, an unknown encoding), ERANGE (more values than the
 * encoding has), ENOMEM, or what the system said about random numbers.
 */
struct ink_kbf_dict *ink_kbf_dict_create(const struct ink_kbf_dict_options *options, struct ink_why *why);

/* Ends the caller's share of it; NULL is allowed. */
void ink_kbf_dict_free(struct ink_kbf_dict *dict);

/*
 * The symbol of a value, which is added if it is new. `symbol` may be NULL.
 * -EMSGSIZE: longer than allowed; -ENOSPC: the dictionary is full; -ENOMEM.
 * The dictionary then is as it was.
 */
int ink_kbf_dict_add(struct ink_kbf_dict *dict, struct ink_bytes value, uint32_t *symbol);

/* The symbol of a value; -ENOENT: it has none. */
int ink_kbf_dict_find(const struct ink_kbf_dict *dict, struct ink_bytes value, uint32_t *symbol);

/* The value of a symbol, in memory of the dictionary that never moves; -ENOENT: there is none. */
int ink_kbf_dict_value(const struct ink_kbf_dict *dict, uint32_t symbol, struct ink_bytes *value);

/* All that the dictionary has allocated. */
uint64_t ink_kbf_dict_bytes(const struct ink_kbf_dict *dict);

struct ink_kbf_dict_stats {
	size_t size;
	enum ink_kbf_encoding encoding;
	uint32_t values;       /* that have a symbol: 0 .. values-1 */
	uint32_t most;         /* that it takes */
	uint32_t value_length; /* most bytes of a value */
	uint64_t bytes;        /* allocated */
};

/* `stats->size` must be set: 0, or -EINVAL. */
int ink_kbf_dict_stats(const struct ink_kbf_dict *dict, struct ink_kbf_dict_stats *stats);

/* As ink_save and its variants: mode 0600, for the secret is in the file. */
int ink_kbf_dict_save(const struct ink_kbf_dict *dict, const char *path, struct ink_why *why);
int ink_kbf_dict_save_with(const struct ink_kbf_dict *dict, const char *path,
			   const struct ink_save_options *options, struct ink_why *why);
int ink_kbf_dict_save_to(const struct ink_kbf_dict *dict, const struct ink_sink *sink,
			 const struct ink_save_options *options, struct ink_why *why);
int ink_kbf_dict_save_buffer(const struct ink_kbf_dict *dict, struct ink_buffer *buffer,
			     const struct ink_save_options *options, struct ink_why *why);
int ink_kbf_dict_save_bytes(const struct ink_kbf_dict *dict, const struct ink_save_options *options,
			    uint64_t *bytes, struct ink_why *why);

/*
 * Makes a dictionary from such a snapshot; ink_kbf_dict_free it. NULL with errno
 * as ink_load and its variants. Its values are added one by one, so `trust` makes
 * no difference.
 */
struct ink_kbf_dict *ink_kbf_dict_load(const char *path, struct ink_why *why);
struct ink_kbf_dict *ink_kbf_dict_load_with(const char *path, const struct ink_load_options *options,
					    struct ink_why *why);
struct ink_kbf_dict *ink_kbf_dict_load_from(const struct ink_source *source,
					    const struct ink_load_options *options, struct ink_why *why);
struct ink_kbf_dict *ink_kbf_dict_load_buffer(struct ink_bytes snapshot,
					      const struct ink_load_options *options, struct ink_why *why);

/*
 * A second dictionary with the same secret and the same values, which grows on
 * its own; ink_kbf_dict_free it. NULL with errno: ENOMEM, EINVAL (the allocator).
 */
struct ink_kbf_dict *ink_kbf_dict_copy(const struct ink_kbf_dict *dict, const struct ink_allocator *allocator,
				       struct ink_why *why);

/* --------------------------------------------------------------- the plan */

/* How a key's cells are read. */
enum ink_kbf_decoding {
	INK_KBF_DECODING_DEFAULT = 0, /* INK_KBF_JOINT */
	INK_KBF_JOINT = 1,        /* a value must be possible in all cells; cells of three serve as a check */
	INK_KBF_PAPER = 2,        /* a cell of one decides, else the value common to all cells of two */
	INK_KBF_PAPER_TRIPLES = 3 /* the same, and if that leaves several, the cells of three */
};

struct ink_kbf_options {
	size_t size;
	struct ink_kbf_dict *dict;      /* must be given; for ink_kbf_plan it may be NULL */
	enum ink_kbf_encoding encoding; /* for ink_kbf_plan without dict */
	enum ink_kbf_decoding decoding;
	uint64_t keys;          /* this, bytes, or k and cells must be given */
	uint64_t bytes;         /* upper limit for the cells of a link */
	double unknown;         /* ceiling for live keys that read unknown; default 1e-3 */
	double false_positives; /* ceiling for strangers that read a value; default 2e-5 */
	uint32_t values;        /* different ones to expect; default 3,000, or all that dict takes */
	unsigned counter_bits;  /* of a cell: 4, or 3 as in the paper; default 4 */
	uint32_t k;             /* cells of a key, 2 .. 32; 0 = planned */
	uint64_t cells;         /* of a link, a multiple of k is taken; 0 = planned */
	uint32_t links;         /* for ink_kbf_plan: errors of a chain of that many full links; default 1 */
	double grow_at;         /* a link is added beyond this share of the planned keys; 0 = never */
	uint32_t pending;       /* most keys in the side table; default 1,024 + a sixteenth of the keys */
	const struct ink_allocator *allocator; /* NULL = the library's own; the dictionary has its own */
};

struct ink_kbf_plan {
	size_t size;
	uint64_t keys;  /* that a link holds with the errors below */
	uint64_t cells; /* of a link */
	uint32_t k;
	unsigned cell_bits;
	uint64_t bytes; /* of a link's cells */
	double bits_per_key;
	double load;              /* keys k / cells */
	double unknown;           /* share of live keys that read unknown */
	double false_positives;   /* share of strangers that read a value */
	double strangers_unknown; /* share of strangers that read unknown */
};

/*
 * Plans a filter: keys and the two ceilings give the fewest bytes; bytes and
 * the ceilings give the most keys; keys and bytes give the least `unknown`
 * below the ceiling of false positives; k and cells are taken as they are, and
 * then the ceilings only if they are given. -EINVAL: the options contradict
 * themselves; -ERANGE: that is not reached. Thread-safe.
 */
int ink_kbf_plan(const struct ink_kbf_options *options, struct ink_kbf_plan *plan, struct ink_why *why);

/* ------------------------------------------------------------- the filter */

struct ink_kbf;

/*
 * Makes an empty filter that shares the dictionary. ink_kbf_free it. NULL with
 * errno as for ink_kbf_plan, EINVAL without dict, or ENOMEM.
 */
struct ink_kbf *ink_kbf_create(const struct ink_kbf_options *options, struct ink_why *why);

/* Frees a filter and lets its dictionary go; NULL is allowed. */
void ink_kbf_free(struct ink_kbf *filter);

/* The filter's dictionary, which the filter keeps. */
struct ink_kbf_dict *ink_kbf_dict_of(const struct ink_kbf *filter);

enum ink_kbf_answer {
	INK_KBF_ABSENT = 0, /* the key is not there */
	INK_KBF_VALUE = 1,  /* this is its value */
	INK_KBF_UNKNOWN = 2 /* it may be there, with a value that cannot be read */
};

/*
 * The answer for a key. INK_KBF_VALUE: `value`, if not NULL,
 * receives the value, in memory of the dictionary; else it receives an empty
 * string. Never fails.
 */
enum ink_kbf_answer ink_kbf_query(const struct ink_kbf *filter, struct ink_bytes key,
				  struct ink_bytes *value);

/*
 * Stores a new key. One that reads absent goes to the cells. One that reads
 * unknown is kept by its bytes in the side table, until it reads absent. One
 * that reads a value is refused: -EEXIST. So is a new key, with the false
 * positive probability; the caller then knows that it is not there (`exists`
 * counts both). -EMSGSIZE: the value is longer than the dictionary
 * takes, or the key than 2^32 - 1; -ENOSPC: the dictionary has no symbol for a
 * new value, or the side table is full; -ENOMEM. All failures leave the filter
 * as it was.
 */
int ink_kbf_insert(struct ink_kbf *filter, struct ink_bytes key, struct ink_bytes value);

/*
 * Gives a stored key another value. If it reads unknown, the change is deferred:
 * it waits in the side table until the key can be read, and the key is answered
 * from there.
 * -ENOENT: it reads absent; -EMSGSIZE, -ENOSPC, -ENOMEM as ink_kbf_insert.
 */
int ink_kbf_update(struct ink_kbf *filter, struct ink_bytes key, struct ink_bytes value);

/*
 * Update if the key reads a value, else insert. A new key reads a value with the
 * false positive probability; the update then damages other keys. Where the key
 * is known to be new, insert it.
 */
int ink_kbf_set(struct ink_kbf *filter, struct ink_bytes key, struct ink_bytes value);

/*
 * Removes a stored key. If it reads unknown, the removal is deferred in the side
 * table, and the key is answered absent from now on. -ENOENT, -ENOSPC, -ENOMEM, -EMSGSIZE.
 */
int ink_kbf_delete(struct ink_kbf *filter, struct ink_bytes key);

/*
 * Retries all deferred changes, until none of them can be carried out. Each call
 * that changes the filter retries one, so this is only needed to empty the side
 * table at once.
 */
void ink_kbf_settle(struct ink_kbf *filter);

/*
 * Many keys in one call, with memory prefetched; any n. The same as single calls
 * in the order of the items, one after the other: answers, errors, what is
 * stored, deferred and retried. A key may be there several times, and a later
 * item finds what an earlier one did. The arrays have n items each and must
 * not change during the call; those that a call does not use are ignored.
 */
struct ink_kbf_batch {
	size_t n;
	const struct ink_bytes *keys;
	struct ink_bytes *values;     /* insert, update: to be stored; query: receives them, or NULL */
	enum ink_kbf_answer *answers; /* query: receives the answers */
	int *errors;                  /* insert, update, delete: receives each result; or NULL */
};

void ink_kbf_query_batch(const struct ink_kbf *filter, const struct ink_kbf_batch *batch);

/*
 * All items are tried. Returns 0, or the first error. An item that fails leaves
 * the filter as it was before that item; those before and after it are carried
 * out. Without `errors` the caller does not learn which ones failed.
 */
int ink_kbf_insert_batch(struct ink_kbf *filter, const struct ink_kbf_batch *batch);
int ink_kbf_update_batch(struct ink_kbf *filter, const struct ink_kbf_batch *batch);
int ink_kbf_delete_batch(struct ink_kbf *filter, const struct ink_kbf_batch *batch);

/* ------------------------------------------------------- growing, adding */

#define INK_KBF_MOST_LINKS 64

/*
 * Adds an empty link of the same geometry, into which new keys go from now on.
 * A query reads all links; a key that is not absent in more than one of them
 * reads unknown. ink_kbf_plan with `links` has the errors of a chain. -ENOSPC:
 * INK_KBF_MOST_LINKS; -ENOMEM.
 */
int ink_kbf_grow(struct ink_kbf *filter);

/*
 * Adds up links as long as two of them hold no more keys than planned for one
 * (times grow_at, if that is given). Nothing is lost but what a counter at its
 * limit loses.
 */
void ink_kbf_compact(struct ink_kbf *filter);

/*
 * filter += other, cell by cell: the same as if all keys of both had been
 * inserted into one. No key may be in both: it would be there twice, and read
 * unknown, or twice the same value. Both must have the same k, cells and
 * counter bits, and one dictionary must begin with all of the other; if the
 * other's is longer, its further values are added to this one's. Keys that wait
 * in the other's side table wait in this one's as well. -EINVAL: they do not fit
 * together, or are one and the same; -EEXIST: a key waits in both side tables;
 * -ENOSPC: too many links or waiting keys, or the dictionary is full; -ENOMEM.
 * All failures leave both as they were (values may have been added).
 */
int ink_kbf_merge(struct ink_kbf *filter, const struct ink_kbf *other, struct ink_why *why);

/* What to do about counters at their limit, which cannot be counted down. */
enum ink_kbf_stuck {
	INK_KBF_STUCK_REFUSE = 0, /* -EOVERFLOW: the subtraction would not be exact */
	INK_KBF_STUCK_STAY = 1    /* these cells stay without information; all others are exact */
};

/*
 * filter -= other: undoes ink_kbf_merge, or takes away an earlier state of the
 * same filter. -EINVAL: they do not fit together, or `other` is not contained
 * in the filter (seen by a count, or by sums that no symbols have); -EBUSY: a
 * key that waits in the other's side table does not wait in this one's; -EOVERFLOW:
 * as above. All failures leave the filter as it was.
 */
int ink_kbf_subtract(struct ink_kbf *filter, const struct ink_kbf *other, enum ink_kbf_stuck stuck,
		     struct ink_why *why);

/* ---------------------------------------------------------------- looking */

/* All that the filter has allocated, the dictionary apart. Does not walk it. */
uint64_t ink_kbf_bytes(const struct ink_kbf *filter);

struct ink_kbf_stats {
	size_t size;
	uint32_t links;
	uint32_t k;
	uint64_t cells;        /* of a link */
	uint64_t bytes;        /* allocated, the dictionary apart */
	uint64_t keys;         /* in the cells of all links */
	uint64_t planned_keys; /* of a link */
	double load;           /* keys k / cells of the newest link */
	double planned_load;
	uint64_t stuck;           /* cells whose counter is at its limit: they give no information */
	uint64_t pending;         /* keys in the side table, and of these ... */
	uint64_t pending_new;     /* ... not in the cells yet */
	uint64_t pending_deleted; /* ... still in the cells, but deleted */
	uint64_t exists;          /* inserts that met a value */
	uint64_t deferred;        /* changes that went to the side table */
	uint64_t settled;         /* of these, carried out since */
	uint64_t strays;          /* of these, updates and deletes of keys that turned out absent */
};

/* `stats->size` must be set: 0, or -EINVAL. */
int ink_kbf_stats(const struct ink_kbf *filter, struct ink_kbf_stats *stats);

/*
 * Checks every cell. 0, or -EUCLEAN with the reason: memory was damaged. A
 * filter used through these calls is always sound, properly or not.
 */
int ink_kbf_check(const struct ink_kbf *filter, struct ink_why *why);

/* -------------------------------------------------------------- snapshots */

/*
 * As ink_save and its variants: all or nothing, mode 0600. The side table is
 * saved, with the keys in it; the dictionary is not, it has a file of its own. A
 * filter with several links or waiting keys needs as much memory again.
 */
int ink_kbf_save(const struct ink_kbf *filter, const char *path, struct ink_why *why);
int ink_kbf_save_with(const struct ink_kbf *filter, const char *path, const struct ink_save_options *options,
		      struct ink_why *why);
int ink_kbf_save_to(const struct ink_kbf *filter, const struct ink_sink *sink,
		    const struct ink_save_options *options, struct ink_why *why);
int ink_kbf_save_buffer(const struct ink_kbf *filter, struct ink_buffer *buffer,
			const struct ink_save_options *options, struct ink_why *why);
int ink_kbf_save_bytes(const struct ink_kbf *filter, const struct ink_save_options *options, uint64_t *bytes,
		       struct ink_why *why);

/*
 * Makes a filter from a snapshot; ink_kbf_free it. `dict` is that of the filter,
 * or one that begins with all of it; the filter shares it. NULL with errno as
 * ink_load and its variants, or EINVAL: the dictionary is not the filter's.
 */
struct ink_kbf *ink_kbf_load(const char *path, struct ink_kbf_dict *dict, enum ink_load how,
			     struct ink_why *why);
struct ink_kbf *ink_kbf_load_with(const char *path, struct ink_kbf_dict *dict,
				  const struct ink_load_options *options, struct ink_why *why);
struct ink_kbf *ink_kbf_load_from(const struct ink_source *source, struct ink_kbf_dict *dict,
				  const struct ink_load_options *options, struct ink_why *why);
struct ink_kbf *ink_kbf_load_buffer(struct ink_bytes snapshot, struct ink_kbf_dict *dict,
				    const struct ink_load_options *options, struct ink_why *why);

/*
 * A second filter that is in all as the first, waiting keys included; it shares
 * the dictionary. ink_kbf_free it. NULL with errno: ENOMEM, EINVAL (the allocator).
 */
struct ink_kbf *ink_kbf_copy(const struct ink_kbf *filter, const struct ink_allocator *allocator,
			     struct ink_why *why);

#ifdef __cplusplus
}
#endif

#endif
