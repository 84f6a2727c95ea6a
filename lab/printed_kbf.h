/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The kBF as its paper prints it (III.C to III.F), for experiments on the printed algorithms. The library's
 * kBF differs: see docs/kbf.md.
 *
 *     cell    [ counter 3 | exclusive or of codes 29 ]
 *
 *   insert   adds to k cells, without a query
 *   query    a cell with counter 1 decides alone; otherwise the values common to all cells with counter 2
 *   delete   \ remove the value that the caller names from every cell with a counter;
 *   update   / a key that cannot be decoded is not recorded anywhere
 *
 * Three things had to be chosen. Algorithm 2 as it stands counts 2 in a cell that was empty, and leaves 0 in
 * it, so that nothing can be decoded: here an empty cell counts 1. The paper does not say what a counter at 7
 * does: it goes on to 0, as 3 bits do, or `sticks`. And "null" is split: an empty cell proves that the key is
 * absent, cells that are too full do not.
 */
#ifndef INKLING_LAB_PRINTED_KBF_H
#define INKLING_LAB_PRINTED_KBF_H

#include <stdbool.h>
#include <stdint.h>

#include "kbf/greedy.h"

/* The codes of Algorithm 1 and the way back from sums; shared by filters, which only read it. */
struct printed_codes {
	uint32_t *codes;
	uint32_t count;
	struct ink_greedy_index index;
};

/* 0, or -ENOMEM, -ERANGE. Free it in any case. */
int printed_codes_make(struct printed_codes *codes, uint32_t count);
void printed_codes_free(struct printed_codes *codes);

struct printed_kbf {
	const struct printed_codes *codes;
	uint32_t *cells;
	uint64_t m;
	uint32_t k;
	bool sticks;
};

/* k and m of a Bloom filter for so many keys: m = n ln(1/p) / (ln 2)^2, k = log2(1/p), rounded. */
uint32_t printed_k(double p);
uint64_t printed_cells(double p, uint64_t keys);

/*
 * The share of stored keys that cannot be decoded, at load n k / m: all cells have two
 * other keys or more, or all but one, which has one other. (Not the paper's formula,
 * which takes cells at random; see kbf_decodability.c.)
 */
double printed_lost(double load, uint32_t k);

/* Empty, of `m` cells and k; free(filter.cells). */
struct printed_kbf printed_make(const struct printed_codes *codes, uint32_t k, uint64_t m);

#define PRINTED_ABSENT (-1) /* a cell is empty, or holds no valid code */
#define PRINTED_NULL (-2)   /* it cannot be decoded */

/* Keys come as well-mixed ids. A query answers with a symbol, the number of a code, or one of the above. */
int32_t printed_query(const struct printed_kbf *f, uint64_t id);
void printed_insert(struct printed_kbf *f, uint64_t id, uint32_t symbol);
void printed_update(struct printed_kbf *f, uint64_t id, uint32_t from, uint32_t to);

/* How many of the cells had nothing to take from: the paper's "report error". */
unsigned printed_delete(struct printed_kbf *f, uint64_t id, uint32_t symbol);

#endif
