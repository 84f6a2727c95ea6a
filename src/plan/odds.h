/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How often the cells of the kind `kbf` mislead.
 *
 * A flow's k cells each admit some of the S states of its class (see
 * table/bag.h), and what all of them admit is the answer. Seen from a flow, a
 * cell holds a Poisson number of others, nk/m = L on the average; a bag of that
 * many admits r of all T symbols, r with known shares (ink_bag_sizes), and which
 * ones is as good as drawn at random. So the number of symbols of the class that
 * are still possible is a Markov chain: of N that were, a cell leaves
 *
 *     N' = hypergeometric: how many of r drawn out of T are among the N
 *
 *   a stranger      begins with N = S; an empty cell leaves none. It gets an
 *                   answer other than absent if N > 0 after k cells.
 *   a stored flow   its own symbol stays; of the S - 1 others, drawn out of T - 1,
 *                   none may be left, or it reads "don't know".
 *
 * That the symbols are drawn at random is an approximation, good to a few percent:
 * docs/structures.md. States are taken to be equally frequent.
 */
#ifndef INKLING_ODDS_H
#define INKLING_ODDS_H

struct ink_odds;

/* For that many states in so many classes. NULL: no memory. Free it with free(). */
struct ink_odds *ink_odds_make(unsigned states, unsigned classes);

/* The shares that are misled, of k cells with `load` flows each on the average. */
void ink_odds_of(const struct ink_odds *odds, unsigned k, double load, double *error, double *unsure);

#endif
