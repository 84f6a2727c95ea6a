/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The paper's codes: numbers whose sums by exclusive or, of one and of two, are
 * all different (Algorithm 1), and the way back from a sum to its pair.
 *
 * Each code is the smallest number that keeps them different. A number does
 * exactly if it is no sum of one, two or three earlier codes. The n-th code is
 * about 0.0065 n^3 (measured; the paper says quadratic), so 28 bits hold 3,294
 * codes and 29 bits 4,213.
 *
 * How the search avoids trying every number against every code. Codes with the
 * same top bit 2^t form a block: c = 2^t + r. Let S be the sums below 2^t of at
 * most two codes (0 included), and R the r's found so far. Then another r is
 * forbidden exactly if
 *
 *     r = r' + s        for some r' of R and s of S
 *
 * where + is exclusive or: a sum of at most three codes with the top bit has
 * one code of this block, and two of S besides. That is the bitmap of S with its
 * indices changed by r': whole words move to other places, and within a word the
 * bits are permuted by the low six bits of r'. So for a window of numbers the
 * bitmaps of all r' are joined word by word, those with the same low bits
 * first, and permuted once.
 */
#ifndef INKLING_KBF_GREEDY_H
#define INKLING_KBF_GREEDY_H

#include <stdint.h>

#include "base/allocator.h"

enum {
	INK_GREEDY_BITS = 29,      /* of a code: the paper's cell */
	INK_GREEDY_VALUES = 4213,  /* that fit them; tests/test_kbf_codes.c */
	INK_GREEDY_DEFAULT = 3000, /* the paper's number of values */
};

/* As many of the first n codes as have at most `bits` bits, 1 .. 31; how many they are, or -ENOMEM. */
int32_t ink_greedy_search(uint32_t *codes, uint32_t n, unsigned bits, const struct ink_allocator *a);

/* Fills in the first n codes; -ENOMEM, or -ERANGE: they need more than INK_GREEDY_BITS. */
int ink_greedy_codes(uint32_t *codes, uint32_t n, const struct ink_allocator *a);

/*
 * From sums to codes. Both tables hold symbol numbers + 1, with open addressing
 * and linear probing. A sum's slot holds only one of its two symbols. The code of
 * the other one follows from it; if that is no code, the slot belongs to another
 * sum.
 *
 *     code -> symbol       sum of two different codes -> one of them
 */
struct ink_greedy_index {
	const struct ink_allocator *allocator; /* the caller's, as the codes are */
	const uint32_t *codes;                 /* of all symbols */
	uint16_t *of_code, *of_sum;
	uint32_t code_bits, sum_bits; /* log2 of the slots */
	uint32_t symbols;             /* that are in it */
};

_Static_assert(INK_GREEDY_VALUES < UINT16_MAX, "symbols fit the slots");

/* An empty index for `most` symbols. The caller has set allocator and codes, and frees it in any case. -ENOMEM. */
int ink_greedy_index_make(struct ink_greedy_index *x, uint32_t most);
void ink_greedy_index_free(struct ink_greedy_index *x);

/* Adds the next symbol; -ENOMEM: nothing has changed. */
int ink_greedy_index_add(struct ink_greedy_index *x);

uint64_t ink_greedy_index_bytes(const struct ink_greedy_index *x);

/* The symbol with this code, or -1. */
static inline int32_t ink_greedy_symbol(const struct ink_greedy_index *x, uint32_t code)
{
	uint32_t slot = (code * 0x9e3779b1u) >> (32 - x->code_bits), mask = (1u << x->code_bits) - 1;

	for (; x->of_code[slot]; slot = (slot + 1) & mask)
		if (x->codes[x->of_code[slot] - 1] == code)
			return x->of_code[slot] - 1;
	return -1;
}

/* 1 and the two different symbols whose codes have this sum, or 0. */
static inline int ink_greedy_pair(const struct ink_greedy_index *x, uint32_t sum, uint32_t pair[2])
{
	uint32_t slot = (sum * 0x9e3779b1u) >> (32 - x->sum_bits), mask = (1u << x->sum_bits) - 1;

	for (; x->of_sum[slot]; slot = (slot + 1) & mask) {
		uint32_t one = x->of_sum[slot] - 1u;
		int32_t other = ink_greedy_symbol(x, sum ^ x->codes[one]);

		if (other >= 0 && (uint32_t)other != one) {
			pair[0] = one;
			pair[1] = (uint32_t)other;
			return 1;
		}
	}
	return 0;
}

#endif
