/* SPDX-License-Identifier: BSD-2-Clause */
/* The Markov chain of odds.h: one matrix for each number of flows in a cell, made once. */
#include "odds.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../table/bag.h"

enum { MOST = INK_BAG_STATES + 1 };

/* leaves[n][j]: of n symbols that are possible, a cell leaves j, with this probability. */
struct step {
	double leaves[MOST][MOST];
};

/* What cells do that hold 0, 1 ... flows besides the one that asks; from `most` + 1 on they tell nothing. */
struct side_of {
	unsigned begin; /* symbols that are possible at first */
	struct step by_others[INK_BAG_MOST + 1];
};

struct ink_odds {
	struct ink_bag_shape bags;
	struct side_of stranger, stored;
	double log_factorial[MOST];
};

/* -------------------------------------------------------------- the matrices */

static double log_choose(const struct ink_odds *o, unsigned n, unsigned k)
{
	return o->log_factorial[n] - o->log_factorial[k] - o->log_factorial[n - k];
}

/* Of `n` that count among `all`, j are in a random choice of r. */
static double hypergeometric(const struct ink_odds *o, unsigned all, unsigned n, unsigned r, unsigned j)
{
	if (j > n || j > r || r - j > all - n)
		return 0;
	return exp(log_choose(o, n, j) + log_choose(o, all - n, r - j) - log_choose(o, all, r));
}

/* A cell that admits r of `all`, with the share `weight` of such cells. */
static void add_choice(const struct ink_odds *o, unsigned all, unsigned r, double weight, unsigned begin,
		       struct step *to)
{
	for (unsigned n = 0; n <= begin && weight > 0; n++)
		for (unsigned j = 0; j <= n; j++)
			to->leaves[n][j] += weight * hypergeometric(o, all, n, r, j);
}

/* What a bag of `count` does to a stranger's symbols, and to the others of one whose own is in it. */
static void make_steps(struct ink_odds *o, unsigned count)
{
	unsigned symbols = o->bags.states;
	double sizes[MOST];

	ink_bag_sizes(&o->bags, count, sizes);
	for (unsigned r = 1; r <= symbols; r++) {
		add_choice(o, symbols, r, sizes[r], o->stranger.begin, &o->stranger.by_others[count]);
		add_choice(o, symbols - 1, r - 1, sizes[r], o->stored.begin, &o->stored.by_others[count - 1]);
	}
}

struct ink_odds *ink_odds_make(unsigned states, unsigned classes)
{
	struct ink_odds *o = calloc(1, sizeof *o);

	if (!o)
		return NULL;
	o->bags = ink_bag_shape(states * classes);
	o->stranger.begin = states;
	o->stored.begin = states - 1;
	for (unsigned i = 1; i < MOST; i++)
		o->log_factorial[i] = o->log_factorial[i - 1] + log(i);
	for (unsigned n = 0; n <= states; n++)
		o->stranger.by_others[0].leaves[n][0] = 1;
	for (unsigned count = 1; count <= o->bags.most; count++)
		make_steps(o, count);
	return o;
}

/* -------------------------------------------------------------------- the chain */

/* The cell of a random number of others: those that tell nothing leave all as it is. */
static void mix(const struct side_of *side, unsigned telling, double load, struct step *to)
{
	double share = exp(-load), rest = 1;

	memset(to, 0, sizeof *to);
	for (unsigned others = 0; others < telling; others++) {
		for (unsigned n = 0; n <= side->begin; n++)
			for (unsigned j = 0; j <= n; j++)
				to->leaves[n][j] += share * side->by_others[others].leaves[n][j];
		rest -= share;
		share *= load / (others + 1);
	}
	for (unsigned n = 0; n <= side->begin; n++)
		to->leaves[n][n] += rest;
}

static void one_cell_more(const struct step *by, unsigned begin, double *possible)
{
	double after[MOST] = {0};

	for (unsigned n = 0; n <= begin; n++)
		for (unsigned j = 0; j <= n; j++)
			after[j] += possible[n] * by->leaves[n][j];
	memcpy(possible, after, sizeof after);
}

/* The probability that anything is left after k cells; added up from small to large, not taken from 1. */
static double left_after(const struct side_of *side, unsigned telling, unsigned k, double load)
{
	double possible[MOST] = {0}, left = 0;
	struct step by;

	mix(side, telling, load, &by);
	possible[side->begin] = 1;
	for (unsigned i = 0; i < k; i++)
		one_cell_more(&by, side->begin, possible);
	for (unsigned n = side->begin; n >= 1; n--)
		left += possible[n];
	return left;
}

/* A stranger meets bags of 0 to `most`; beside a stored flow there are 0 to `most` - 1. */
void ink_odds_of(const struct ink_odds *o, unsigned k, double load, double *error, double *unsure)
{
	*error = left_after(&o->stranger, o->bags.most + 1, k, load);
	*unsure = left_after(&o->stored, o->bags.most, k, load);
}
