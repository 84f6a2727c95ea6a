/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The filter: cells, where a key's are, and how they are read.
 *
 * A filter is a chain of links of equal geometry, usually one. A link is an
 * array of cells in k parts of the same size; a key has one cell in each part,
 * so its cells are different ones.
 *
 *     part 0            part 1                  part k-1
 *     [ | | |x| | | ]   [ | | | | |x| ]   ...   [x| | | | | | ]       x: the cells of a key
 *
 * A cell has the number of symbols in it and their sums. From its lowest bit
 * (c is 4, or 3):
 *
 *     POWER_SUMS        count c | s1 14 | s2 14 | 0        32 bits
 *     POWER_SUMS_WIDE   count c | s1 30 | s2 30 | 0        64 bits
 *     GREEDY            count c | sum 32-c                 32 bits
 *
 * A count that reaches 2^c - 1 stays there for ever: it then means "that many
 * or more", and the cell gives no information. Its sums are still kept.
 *
 * The invariant on which all answers rest: every cell holds the sum of the codes
 * of exactly the stored keys that have this cell, and their number (or is stuck).
 * Only a key that is being stored adds to its cells, and a symbol is taken out
 * only after reading the key has proved that it is there.
 */
#ifndef INKLING_KBF_FILTER_H
#define INKLING_KBF_FILTER_H

#include "base/file.h"
#include "base/mix.h"
#include "base/siphash.h"
#include "kbf/dict.h"
#include "kbf/pending.h"

enum { INK_KBF_MOST_K = 32 };

#define INK_KBF_MOST_CELLS UINT32_MAX /* of a link: their numbers have 32 bits */

struct ink_kbf_link {
	void *cells;
	uint64_t keys;
	int owned; /* its memory is its own, not part of `body` */
};

struct ink_kbf_counters {
	uint64_t exists, deferred, settled, strays;
};

struct ink_kbf {
	struct ink_allocator allocator;
	struct ink_kbf_dict *dict;
	enum ink_kbf_encoding encoding; /* the dictionary's */
	enum ink_kbf_decoding decoding;
	unsigned counter_bits;
	uint32_t stuck_at; /* 2^counter_bits - 1 */
	uint32_t k;
	uint64_t part;    /* cells of a part */
	uint32_t symbols; /* that a cell can hold: most of the dictionary, or fewer */
	uint64_t planned; /* keys of a link */
	double grow_at;
	uint32_t links;
	struct ink_kbf_link link[INK_KBF_MOST_LINKS]; /* the last is the newest */
	uint64_t stuck;                               /* cells, in all links */
	struct ink_pending pending;
	struct ink_kbf_counters counters;
	struct ink_body body; /* of a snapshot: cells that are not owned are in it */
};

static inline uint64_t ink_kbf_cells(const struct ink_kbf *f)
{
	return f->k * f->part;
}

static inline unsigned ink_encoding_cell_bytes(enum ink_kbf_encoding e)
{
	return e == INK_KBF_POWER_SUMS_WIDE ? 8 : 4;
}

/* Bytes of a link, whole pages. */
uint64_t ink_kbf_link_bytes(const struct ink_kbf *f);

/* An empty link; -ENOMEM. */
int ink_kbf_link_make(const struct ink_kbf *f, struct ink_kbf_link *link);
void ink_kbf_link_free(const struct ink_kbf *f, struct ink_kbf_link *link);

/* ------------------------------------------------------------------- a cell */

struct ink_kbf_cell {
	uint32_t count;
	struct ink_power_sums sums;
};

enum { INK_KBF_SMALL_BITS = 14, INK_KBF_LARGE_BITS = 30 };

_Static_assert(INK_DICT_SMALL_FIELD < 1 << INK_KBF_SMALL_BITS &&
		       INK_DICT_LARGE_FIELD < 1 << INK_KBF_LARGE_BITS,
	       "sums fit");
_Static_assert(4 + 2 * INK_KBF_SMALL_BITS == 32 && 4 + 2 * INK_KBF_LARGE_BITS == 64, "and so do cells");

/* All bits of a cell. Encodings with cells of 32 bits need not be told apart. */
INK_PER_ENCODING uint64_t ink_kbf_cell_word(enum ink_kbf_encoding e, const void *cells, uint64_t i)
{
	return e == INK_KBF_POWER_SUMS_WIDE ? ((const uint64_t *)cells)[i] : ((const uint32_t *)cells)[i];
}

INK_PER_ENCODING struct ink_kbf_cell ink_kbf_cell_get(const struct ink_kbf *f, enum ink_kbf_encoding e,
						      const void *cells, uint64_t i)
{
	unsigned bits = e == INK_KBF_POWER_SUMS_WIDE ? INK_KBF_LARGE_BITS : INK_KBF_SMALL_BITS;
	uint64_t word = ink_kbf_cell_word(e, cells, i), sums = word >> f->counter_bits;
	uint64_t mask = (1u << bits) - 1;
	uint32_t count = (uint32_t)word & f->stuck_at;

	if (e == INK_KBF_GREEDY)
		return (struct ink_kbf_cell){count, {(uint32_t)sums, 0}};
	return (struct ink_kbf_cell){count, {(uint32_t)(sums & mask), (uint32_t)(sums >> bits)}};
}

INK_PER_ENCODING void ink_kbf_cell_put(const struct ink_kbf *f, enum ink_kbf_encoding e, void *cells,
				       uint64_t i, struct ink_kbf_cell c)
{
	unsigned bits = e == INK_KBF_POWER_SUMS_WIDE ? INK_KBF_LARGE_BITS : INK_KBF_SMALL_BITS;
	uint64_t sums = e == INK_KBF_GREEDY ? c.sums.s1 : (uint64_t)c.sums.s2 << bits | c.sums.s1;
	uint64_t word = sums << f->counter_bits | c.count;

	if (e == INK_KBF_POWER_SUMS_WIDE)
		((uint64_t *)cells)[i] = word;
	else
		((uint32_t *)cells)[i] = (uint32_t)word;
}

/* --------------------------------------------------------------- a key's cells */

struct ink_kbf_place {
	uint64_t id;
	uint32_t at[INK_KBF_MOST_K]; /* cells in a link, one in each part */
};

/* Each half of a step of the draws chooses a cell, from the second step on. */
static inline struct ink_kbf_place ink_kbf_place_of(const struct ink_kbf *f, uint64_t id)
{
	struct ink_kbf_place p;
	uint64_t part = 0;

	p.id = id;
	for (uint32_t i = 0; i < f->k; i += 2) {
		uint64_t pair = ink_draw_pair(id, i + 2);

		p.at[i] = (uint32_t)(part + ink_draw_low(pair, f->part));
		part += f->part;
		if (i + 1 < f->k)
			p.at[i + 1] = (uint32_t)(part + ink_draw_high(pair, f->part));
		part += f->part;
	}
	return p;
}

static inline uint64_t ink_kbf_id(const struct ink_kbf *f, struct ink_bytes key)
{
	return ink_siphash13(f->dict->of_keys, key.bytes, key.length);
}

/* ------------------------------------------------------------------- reading */

struct ink_kbf_reading {
	enum ink_kbf_answer answer;
	uint32_t symbol; /* of a value */
	uint32_t link;   /* where it was found */
};

/* What the cells say; decode.c. */
struct ink_kbf_reading ink_kbf_read(const struct ink_kbf *f, const struct ink_kbf_place *p);

/* The same for a key that shall be changed: a value that one of its cells rules out is none. */
struct ink_kbf_reading ink_kbf_read_to_change(const struct ink_kbf *f, const struct ink_kbf_place *p);

/* NULL, or what is wrong with a cell whose contents are given. */
const char *ink_kbf_check_cell(const struct ink_kbf *f, struct ink_kbf_cell c);

/* ----------------------------------------------------------------- changing */

/* cells.c */
void ink_kbf_put(struct ink_kbf *f, const struct ink_kbf_place *p, uint32_t link, uint32_t symbol);
void ink_kbf_take(struct ink_kbf *f, const struct ink_kbf_place *p, uint32_t link, uint32_t symbol);
void ink_kbf_exchange(struct ink_kbf *f, const struct ink_kbf_place *p, struct ink_kbf_reading old,
		      uint32_t symbol);

/* A number that changes when a cell of the key does; never 0. */
uint64_t ink_kbf_imprint(const struct ink_kbf *f, const struct ink_kbf_place *p);

/* All cells of a link: how many are stuck, and whether a sum is not below the prime. */
struct ink_kbf_scan {
	uint64_t stuck;
	int is_beyond;
};

struct ink_kbf_scan ink_kbf_link_scan(const struct ink_kbf *f, const struct ink_kbf_link *link);

/* to += from, or to -= from; the number of cells that became stuck. */
uint64_t ink_kbf_link_add(const struct ink_kbf *f, struct ink_kbf_link *to, const struct ink_kbf_link *from);
void ink_kbf_link_subtract(const struct ink_kbf *f, struct ink_kbf_link *to, const struct ink_kbf_link *from);

/* Any cell, whatever the encoding. */
struct ink_kbf_cell ink_kbf_cell_at(const struct ink_kbf *f, const struct ink_kbf_link *link, uint64_t i);
struct ink_kbf_cell ink_kbf_cell_difference(const struct ink_kbf *f, struct ink_kbf_cell a,
					    struct ink_kbf_cell b);

/* Copies the caller's options, which may be of another version; -EINVAL. plan.c */
int ink_kbf_read_options(struct ink_kbf_options *ours, const struct ink_kbf_options *theirs,
			 struct ink_why *why);

/* ink_kbf_plan for structs of this version. */
int ink_kbf_find_plan(const struct ink_kbf_options *options, struct ink_kbf_plan *plan, struct ink_why *why);

/* A filter of that allocator, all else 0; NULL: no memory. filter.c, as the next. */
struct ink_kbf *ink_kbf_alloc(const struct ink_allocator *a);

/* Gives the filter its shape, all but the cells. */
void ink_kbf_shape(struct ink_kbf *f, const struct ink_kbf_options *o, const struct ink_kbf_plan *plan);

#endif
