/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The dictionary: values, their symbols, and what a symbol adds to a cell.
 *
 *     value --hash--> symbol 0, 1, 2 ... --> code = two sums --> symbol --> value
 *
 * A symbol is the number of its value, in the order in which they came. A code
 * is what a cell adds up (struct ink_power_sums; for GREEDY, s1 alone):
 *
 *     POWER_SUMS         x, x^2 mod 16381          symbols by a table of all elements
 *     POWER_SUMS_WIDE    x, x^2 mod 1073741783     symbols by a hash table
 *     GREEDY             the paper's code, 0       symbols by greedy.h
 *
 * Elements x are drawn at random, by the secret. With neighbours 0, 1, 2 ... far
 * more triples would have equal sums, and a cell of three would be a poor check. A
 * draw that is already in use is skipped. So the element of a symbol depends on
 * the secret and the symbol alone, and every copy of a dictionary has the same.
 *
 * `chain` says what a dictionary begins with: number i is a hash of all values
 * up to i. Two dictionaries with the same secret and the same chain at n - 1
 * have the same first n values, which adding filters requires.
 *
 * The bytes of values lie in chunks that are never moved, because callers hold
 * pointers into them.
 */
#ifndef INKLING_KBF_DICT_H
#define INKLING_KBF_DICT_H

#include <inkling/kbf.h>

#include "kbf/greedy.h"
#include "kbf/power_sums.h"

enum {
	INK_DICT_SMALL_FIELD = 16381, /* the largest prime of 14 bits: two sums and a counter of 4 fill 32 */
	INK_DICT_LARGE_FIELD = 1073741783 /* the largest of 30 bits that is 3 mod 4: its roots are powers */
};

#define INK_DICT_MOST_WIDE (1u << 24)
#define INK_DICT_VALUE_LENGTH (1u << 16)
#define INK_DICT_MOST_LENGTH (1u << 30)

struct ink_dict_chunk;

struct ink_kbf_dict {
	struct ink_allocator allocator;
	uint32_t references;
	enum ink_kbf_encoding encoding;
	uint32_t most, value_length;
	uint64_t secret[2];
	uint64_t of_keys[2], of_values[2], of_symbols[2]; /* secrets made of it */

	uint32_t count, room; /* symbols in use, and those that the next three have room for */
	struct ink_bytes *values;
	struct ink_power_sums *codes;
	uint64_t *chain;
	uint32_t *slots; /* by hash of the value: symbol + 1; twice as many as room */
	struct ink_dict_chunk *chunks;
	uint64_t bytes; /* allocated */

	struct ink_gf field;
	uint16_t *roots;
	uint16_t *of_element; /* POWER_SUMS: by element, symbol + 1 */
	uint32_t *by_element; /* POWER_SUMS_WIDE: by hash of the element, symbol + 1; as many as slots */
	uint64_t draws;       /* of elements so far */
	uint32_t *greedy;     /* GREEDY: the codes of all symbols to come */
	struct ink_greedy_index index;
};

/* A dictionary of that allocator, all else 0, without references; NULL: no memory. */
struct ink_kbf_dict *ink_dict_alloc(const struct ink_allocator *a);

/* All that follows from encoding, most and secret, which are given; -ENOMEM: free it. */
int ink_dict_prepare(struct ink_kbf_dict *dict);

/* One more reference. */
struct ink_kbf_dict *ink_dict_share(struct ink_kbf_dict *dict);

/* 1 if the first values of both, as many as the shorter has, are the same, with the same symbols and places. */
int ink_dict_fits(const struct ink_kbf_dict *a, const struct ink_kbf_dict *b);

/* Its chain behind the first n values; any number for n = 0. */
uint64_t ink_dict_chain(const struct ink_kbf_dict *dict, uint32_t n);

/* Adds the values that only `longer` has. */
int ink_dict_extend(struct ink_kbf_dict *dict, const struct ink_kbf_dict *longer);

/* How many symbols fit into sums of that many bits in all: most, or fewer. */
uint32_t ink_dict_fitting(const struct ink_kbf_dict *dict, unsigned bits);

/* The most values that an encoding has. */
uint32_t ink_encoding_values(enum ink_kbf_encoding encoding);

/* -------------------------------------------------------------- from sums to symbols */

/*
 * Always inlined, with the encoding as a constant: each reader of cells is
 * compiled once for each.
 */
#define INK_PER_ENCODING __attribute__((always_inline)) static inline

static inline uint32_t ink_dict_slot(uint32_t element, uint32_t room)
{
	return (element * 0x9e3779b1u) & (2 * room - 1);
}

/* The symbol of an element, or -1. */
INK_PER_ENCODING int32_t ink_symbol_of_element(const struct ink_kbf_dict *d, enum ink_kbf_encoding e,
					       uint32_t x)
{
	uint32_t slot;

	if (e == INK_KBF_POWER_SUMS)
		return (int32_t)d->of_element[x] - 1;
	for (slot = ink_dict_slot(x, d->room); d->by_element[slot]; slot = (slot + 1) & (2 * d->room - 1))
		if (d->codes[d->by_element[slot] - 1].s1 == x)
			return (int32_t)(d->by_element[slot] - 1);
	return -1;
}

/* The symbol with just this code, or -1. */
INK_PER_ENCODING int32_t ink_symbol_of(const struct ink_kbf_dict *d, enum ink_kbf_encoding e,
				       struct ink_power_sums s)
{
	int32_t symbol;

	if (e == INK_KBF_GREEDY)
		return ink_greedy_symbol(&d->index, s.s1);
	symbol = ink_symbol_of_element(d, e, s.s1);
	return symbol >= 0 && d->codes[symbol].s2 == s.s2 ? symbol : -1;
}

/* 1 and the two symbols with these sums, or 0. By GREEDY, different ones only. */
INK_PER_ENCODING int ink_symbol_pair(const struct ink_kbf_dict *d, enum ink_kbf_encoding e,
				     struct ink_power_sums s, uint32_t pair[2])
{
	uint32_t x[2];
	int32_t one, other;

	if (e == INK_KBF_GREEDY)
		return ink_greedy_pair(&d->index, s.s1, pair);
	if (!ink_power_sums_pair(&d->field, s, x))
		return 0;
	one = ink_symbol_of_element(d, e, x[0]);
	other = ink_symbol_of_element(d, e, x[1]);
	pair[0] = (uint32_t)one;
	pair[1] = (uint32_t)other;
	return one >= 0 && other >= 0;
}

/*
 * Whether there are two such symbols. The sums are as good as random: half of
 * them have no root, and few are symbols, so branches would be mispredicted. There
 * is none until the end: the product is 0 if one of the three factors is.
 */
INK_PER_ENCODING int ink_symbol_is_pair(const struct ink_kbf_dict *d, enum ink_kbf_encoding e,
					struct ink_power_sums s)
{
	uint32_t pair[2], twice, root, has_root, x;

	_Static_assert(INK_DICT_SMALL_FIELD < 1 << 16, "two symbols multiply to 32 bits");
	if (e != INK_KBF_POWER_SUMS)
		return ink_symbol_pair(d, e, s, pair);
	twice = ink_gf_add(&d->field, s.s2, s.s2);
	root = d->roots[ink_gf_subtract(&d->field, twice, ink_gf_multiply(&d->field, s.s1, s.s1))];
	has_root = root != INK_GF_NO_ROOT;
	x = ink_gf_half(&d->field, ink_gf_add(&d->field, s.s1, has_root ? root : 0));
	return has_root * d->of_element[x] * d->of_element[ink_gf_subtract(&d->field, s.s1, x)] != 0;
}

INK_PER_ENCODING struct ink_power_sums ink_encoded_add(const struct ink_kbf_dict *d, enum ink_kbf_encoding e,
						       struct ink_power_sums a, struct ink_power_sums b)
{
	return e == INK_KBF_GREEDY ? (struct ink_power_sums){a.s1 ^ b.s1, 0}
				   : ink_power_sums_add(&d->field, a, b);
}

INK_PER_ENCODING struct ink_power_sums ink_encoded_subtract(const struct ink_kbf_dict *d,
							    enum ink_kbf_encoding e, struct ink_power_sums a,
							    struct ink_power_sums b)
{
	return e == INK_KBF_GREEDY ? (struct ink_power_sums){a.s1 ^ b.s1, 0}
				   : ink_power_sums_subtract(&d->field, a, b);
}

#endif
