/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The error probabilities of the kind `kbf`.
 *
 * Each of a flow's k cells admits some of the S states of its class (multiset.h);
 * the states that all cells admit are the answer. From the flow's point of view a
 * cell holds a Poisson number of other flows, with mean L = nk/m, whose states are
 * assumed uniform. Cells with many flows admit every state. For the others all sums
 * are enumerated, which gives the probability A(T) that a cell admits at least the
 * states of a set T. Cells are independent, so all k admit T with probability
 * A(T)^k, and by inclusion-exclusion some state remains with probability
 *
 *     P = sum of A(y)^k - sum of A(y, z)^k + sum of A(x, y, z)^k - ...
 *
 *   a stranger      None of the S states of its class should remain; if one does, it
 *                   does not read absent. P is the mean over the classes.
 *   a stored flow   Its own state x always remains. If one of the S - 1 others does
 *                   too, it reads "don't know". P is the mean over x.
 *
 * This is exact but has 2^S terms. Where these are too many, the sum is cut off
 * after sets of t states. It is still exact for flows with at least one cell that
 * admits t states or fewer, because then no more than t can remain: with B(T) for the
 * cells that admit T and more than t states in all, the terms are A(T)^k - B(T)^k.
 * For the remaining flows every cell admits many states. The number that a cell
 * admits is known, and which ones is treated as random. The number of states that
 * remain is then a Markov chain. Of N states, a cell that admits r of S leaves
 *
 *     N' = hypergeometric: how many of r drawn out of S are among the N
 */
#ifndef INKLING_KINDS_SUMS_ODDS_H
#define INKLING_KINDS_SUMS_ODDS_H

struct ink_odds;

/* For `states` states in each of `classes` classes. NULL: no memory. */
struct ink_odds *ink_odds_make(unsigned states, unsigned classes);

void ink_odds_free(struct ink_odds *odds);

/*
 * The error probabilities with k cells of `load` flows each on average: of a stranger that reads a state, and of a
 * stored flow that reads "don't know".
 */
void ink_odds_of(const struct ink_odds *odds, unsigned k, double load, double *error, double *unsure);

#endif
