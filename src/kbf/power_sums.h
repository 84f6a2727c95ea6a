/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Power sums: a cell that adds up, and can be taken apart again.
 *
 * A symbol is an element x of the field of p numbers, p an odd prime. A cell
 * keeps two sums over all symbols that were put into it, and how many they are:
 *
 *     s1 = x + y + ...        s2 = x^2 + y^2 + ...        both modulo p
 *
 * One symbol is read at once: x = s1. Two are the roots of a quadratic:
 *
 *     2 s2 - s1^2 = (x - y)^2 = d        x, y = (s1 +- sqrt d) / 2
 *
 * So all pairs have different sums, equal ones too: {x, x} gives d = 0. (With
 * exclusive or, the sum of the kBF paper, x and x cancel and every x is
 * possible.) That holds for every odd p: it needs only that 2 has an inverse.
 * Three symbols are not determined, but one that is guessed can be checked:
 * what is left when it is taken out must be a pair. Of all p^2 values of s1 and
 * s2, about half belong to a pair at all (d must be a square), and if only v of
 * the p elements are in use, v (v + 1) / 2 of them.
 *
 * Sums are linear: the cell of a union is the sum of the cells, and taking a
 * symbol out is subtraction, whatever was done in between.
 *
 * No divisions. A product is reduced by a multiplication with 2^64 / p, and
 * halves are shifts. Square roots of a small field come from a table; in a
 * large one p must be 3 mod 4, and then a root of d is d^((p + 1) / 4), if it
 * has one.
 */
#ifndef INKLING_KBF_POWER_SUMS_H
#define INKLING_KBF_POWER_SUMS_H

#include <stddef.h>
#include <stdint.h>

#define INK_GF_MOST (1u << 31)       /* primes below this: two elements add up to 32 bits */
#define INK_GF_MOST_TABLE (1u << 16) /* primes below this may have a table: roots fit 16 bits */

__extension__ typedef unsigned __int128 ink_gf_product;

struct ink_gf {
	uint32_t p;
	uint64_t inverse;      /* 2^64 / p, rounded down */
	const uint16_t *roots; /* p of them: a root, or INK_GF_NO_ROOT; NULL: computed */
};

struct ink_power_sums {
	uint32_t s1, s2;
};

/* Not an element of any field with a table, for such p are odd and below 2^16. */
#define INK_GF_NO_ROOT UINT16_MAX

/* --------------------------------------------------------------- elements */

/*
 * x mod p, for any x. `inverse` is less than 1 below 2^64 / p, so x times it is
 * less than 1 below x / p in the upper word: the quotient is right or one too
 * small, and one subtraction puts that right.
 */
static inline uint32_t ink_gf_reduce(const struct ink_gf *f, uint64_t x)
{
	uint64_t quotient = (uint64_t)(((ink_gf_product)x * f->inverse) >> 64);
	uint64_t rest = x - quotient * f->p;

	return (uint32_t)(rest >= f->p ? rest - f->p : rest);
}

/*
 * Sums of elements are as good as random, so a branch on whether they exceed p
 * would be mispredicted half of the time. Primes are below 2^31, so the upper
 * bit of a difference says whether it is below 0; then p is added.
 */
static inline uint32_t ink_gf_lift(const struct ink_gf *f, uint32_t difference)
{
	return difference + (f->p & (0u - (difference >> 31)));
}

static inline uint32_t ink_gf_add(const struct ink_gf *f, uint32_t a, uint32_t b)
{
	return ink_gf_lift(f, a + b - f->p);
}

static inline uint32_t ink_gf_subtract(const struct ink_gf *f, uint32_t a, uint32_t b)
{
	return ink_gf_lift(f, a - b);
}

static inline uint32_t ink_gf_multiply(const struct ink_gf *f, uint32_t a, uint32_t b)
{
	return ink_gf_reduce(f, (uint64_t)a * b);
}

/* a / 2: of a and a + p one is even. */
static inline uint32_t ink_gf_half(const struct ink_gf *f, uint32_t a)
{
	return (a + (f->p & (0u - (a & 1)))) >> 1;
}

static inline uint32_t ink_gf_power(const struct ink_gf *f, uint32_t a, uint32_t exponent)
{
	uint32_t result = 1;

	for (; exponent; exponent >>= 1, a = ink_gf_multiply(f, a, a))
		if (exponent & 1)
			result = ink_gf_multiply(f, result, a);
	return result;
}

/* 1 and one of the two roots, or 0: there is none. */
static inline int ink_gf_root(const struct ink_gf *f, uint32_t a, uint32_t *root)
{
	if (f->roots) {
		*root = f->roots[a];
		return *root != INK_GF_NO_ROOT;
	}
	*root = ink_gf_power(f, a, (f->p + 1) / 4);
	return ink_gf_multiply(f, *root, *root) == a;
}

/*
 * The field of p elements. `roots` is memory for p of them, which stays with
 * the caller, or NULL if p is 3 mod 4 and roots shall be computed.
 */
static inline struct ink_gf ink_gf_make(uint32_t p, uint16_t *roots)
{
	struct ink_gf f = {.p = p, .inverse = UINT64_MAX / p, .roots = roots};

	for (uint32_t a = 0; roots && a < p; a++)
		roots[a] = INK_GF_NO_ROOT;
	for (uint32_t a = 0; roots && a <= p / 2; a++)
		roots[ink_gf_multiply(&f, a, a)] = (uint16_t)a;
	return f;
}

/* ------------------------------------------------------------------- sums */

static inline struct ink_power_sums ink_power_sums_of(const struct ink_gf *f, uint32_t x)
{
	return (struct ink_power_sums){x, ink_gf_multiply(f, x, x)};
}

static inline struct ink_power_sums ink_power_sums_add(const struct ink_gf *f, struct ink_power_sums a,
						       struct ink_power_sums b)
{
	return (struct ink_power_sums){ink_gf_add(f, a.s1, b.s1), ink_gf_add(f, a.s2, b.s2)};
}

static inline struct ink_power_sums ink_power_sums_subtract(const struct ink_gf *f, struct ink_power_sums a,
							    struct ink_power_sums b)
{
	return (struct ink_power_sums){ink_gf_subtract(f, a.s1, b.s1), ink_gf_subtract(f, a.s2, b.s2)};
}

/* 1 and the two elements with these sums, or 0: no two have them. */
static inline int ink_power_sums_pair(const struct ink_gf *f, struct ink_power_sums s, uint32_t pair[2])
{
	uint32_t square = ink_gf_multiply(f, s.s1, s.s1), root;
	uint32_t d = ink_gf_subtract(f, ink_gf_add(f, s.s2, s.s2), square);

	if (!ink_gf_root(f, d, &root))
		return 0;
	pair[0] = ink_gf_half(f, ink_gf_add(f, s.s1, root));
	pair[1] = ink_gf_subtract(f, s.s1, pair[0]);
	return 1;
}

#endif
