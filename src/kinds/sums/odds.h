/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How often the cells of the kind `kbf` mislead.
 *
 * A flow's k cells each admit some of the S states of its class (see
 * table/bag.h), and what all of them admit is the answer. Seen from a flow, a
 * cell holds a Poisson number of others, nk/m = L on the average, in states that
 * are taken to be equally frequent. Too many of them tell nothing. Of those that
 * tell, every sum is counted out, and so is the chance A(T) that a cell admits all
 * symbols of a set T, and perhaps others. Cells are independent: all k admit T with
 * the chance A(T)^k, and by inclusion and exclusion some symbol is left with
 *
 *     P = sum of A(y)^k - sum of A(y, z)^k + sum of A(x, y, z)^k - ...
 *
 *   a stranger      all S symbols of its class are to go; what is left is an
 *                   answer other than absent. P is the mean over the classes.
 *   a stored flow   its own symbol x stays; of the S - 1 others none may be left,
 *                   or it reads "don't know". P is the mean over x.
 *
 * That is exact, but of 2^S terms. Where these are too many, the sum ends with
 * sets of t symbols, and is exact all the same for all flows of which one cell or
 * more admits no more than t: more can not be left then, and with B(T) for the
 * cells that admit T and more than t in all, the terms are A(T)^k - B(T)^k. There
 * remain the flows all of whose cells admit many. Of these cells the numbers are
 * known that they admit, and which ones is as good as drawn at random: so the
 * number of symbols that are still possible is a Markov chain, in which of N a
 * cell that admits r of S leaves
 *
 *     N' = hypergeometric: how many of r drawn out of S are among the N
 */
#ifndef INKLING_KINDS_SUMS_ODDS_H
#define INKLING_KINDS_SUMS_ODDS_H

struct ink_odds;

/* For that many states in so many classes. NULL: no memory. */
struct ink_odds *ink_odds_make(unsigned states, unsigned classes);

void ink_odds_free(struct ink_odds *odds);

/* The shares that are misled, of k cells with `load` flows each on the average. */
void ink_odds_of(const struct ink_odds *odds, unsigned k, double load, double *error, double *unsure);

#endif
