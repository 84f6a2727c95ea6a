/* SPDX-License-Identifier: BSD-2-Clause */
/* The terms and the Markov chain of odds.h, enumerated once for each number of flows in a cell. */
#include "kinds/sums/odds.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "kinds/sums/multiset.h"

enum {
	MOST = INK_MULTISET_STATES + 1,
	MOST_COUNTS = INK_MULTISET_MAX_COUNT + 1,
	BLOCK = 256, /* terms processed together: they stay in the first-level cache */

	/*
	 * The time of a plan grows with the terms: with this many it takes up to 0.2 ms
	 * for each load that it tries. For up to 11 states all terms are summed; for 15,
	 * sets of up to 3 for a stored flow and of up to 6 for a stranger.
	 */
	MOST_TERMS = 12000,
	MOST_IN_SETS = 16, /* states; with more, the subsets are too many to enumerate, */
	MOST_BEYOND = 2    /* and the chain covers sets of more than two */
};

/* leaves[n][j]: the probability that a cell leaves j of n possible symbols. */
struct step {
	double leaves[MOST][MOST];
};

/*
 * A flow that is looked up: a stranger, or a stored one. It has as many views of the
 * cells as there are classes (a stranger), or symbols that can be its own (stored).
 */
struct query {
	unsigned symbols; /* that the cells should exclude */
	unsigned own;     /* 1: the flow itself is in its cells */
	unsigned views;
	unsigned counts;    /* cells with 0 to counts - 1 others have masks */
	unsigned t;         /* size of the largest sets; with sets of all symbols no chain is needed */
	size_t sets, terms; /* terms = views * sets */
	size_t stride;      /* terms, rounded up to whole blocks */
	uint64_t *set;
	double *numbers; /* all A and B */
	struct step many[MOST_COUNTS];
};

struct ink_odds {
	struct ink_multiset_shape multisets;
	unsigned states;
	unsigned char *masks;
	struct query stranger, stored;
	double log_factorial[MOST];
	double *by_set[2]; /* for each set of states: the share of all cells, and of those that admit many */
};

/* A of all terms, in cells with `others` other flows. */
static double *admitted(const struct query *a, unsigned others)
{
	return a->numbers + others * a->stride;
}

/* B of all terms. */
static double *among_many(const struct query *a, unsigned others)
{
	return a->numbers + (a->counts + others) * a->stride;
}

static unsigned chain_needed(const struct query *a)
{
	return a->t < a->symbols;
}

static int by_sets(const struct ink_odds *o)
{
	return o->states <= MOST_IN_SETS;
}

/* --------------------------------------------------------------------- the sets */

static double log_choose(const struct ink_odds *o, unsigned n, unsigned k)
{
	return o->log_factorial[n] - o->log_factorial[k] - o->log_factorial[n - k];
}

/* The sets of 1 to t symbols. */
static double sets_up_to(const struct ink_odds *o, unsigned symbols, unsigned t)
{
	double sets = 0;

	for (unsigned size = 1; size <= t; size++)
		sets += round(exp(log_choose(o, symbols, size)));
	return sets;
}

static unsigned largest_sets(const struct ink_odds *o, const struct query *a)
{
	unsigned t = 1;

	while (t < (by_sets(o) ? a->symbols : MOST_BEYOND) &&
	       a->views * sets_up_to(o, a->symbols, t + 1) <= MOST_TERMS)
		t++;
	return t;
}

static void list_small_sets(struct query *a)
{
	size_t n = 0;

	for (uint64_t set = 1; set >> a->symbols == 0; set++)
		if ((unsigned)__builtin_popcountll(set) <= a->t)
			a->set[n++] = set;
}

/* The single symbols, then the pairs in the order of number_of_pair. */
static void list_pairs(struct query *a)
{
	size_t n = 0;

	for (unsigned y = 0; y < a->symbols; y++)
		a->set[n++] = 1ull << y;
	for (unsigned y = 0; a->t == MOST_BEYOND && y < a->symbols; y++)
		for (unsigned z = 0; z < y; z++)
			a->set[n++] = 1ull << y | 1ull << z;
}

static unsigned number_of_pair(const struct query *a, unsigned y, unsigned z)
{
	return a->symbols + y * (y - 1) / 2 + z;
}

/* ------------------------------------------------------------------ the steps */

/* The probability that j of n marked items are in a random choice of r out of `all`. */
static double hypergeometric(const struct ink_odds *o, unsigned all, unsigned n, unsigned r, unsigned j)
{
	if (j > n || j > r || r - j > all - n)
		return 0;
	return exp(log_choose(o, n, j) + log_choose(o, all - n, r - j) - log_choose(o, all, r));
}

/* Adds cells that admit r symbols; their share of all cells is `weight`. */
static void add_choice(const struct ink_odds *o, unsigned all, unsigned r, double weight, struct step *to)
{
	for (unsigned n = 0; n <= all && weight > 0; n++)
		for (unsigned j = 0; j <= n; j++)
			to->leaves[n][j] += weight * hypergeometric(o, all, n, r, j);
}

/* ---------------------------------------------------------------- enumeration */

/* A view of the cells that have this many other flows. */
struct view {
	unsigned number, others;
	double *to[2]; /* its A and its B */
	double *sizes; /* shares of the cells that admit 0, 1, ... symbols */
};

/* The admitted symbols of the class, without the flow's own, if the others have this sum. */
static uint64_t seen(const struct ink_odds *o, const struct query *a, const struct view *v, unsigned sum)
{
	unsigned own = v->number % o->states, first = a->own ? v->number - own : v->number * o->states;
	ink_multiset cell = ink_multiset_of(v->others, sum);
	uint64_t mask;

	if (a->own)
		cell = ink_multiset_add(&o->multisets, cell, v->number);
	mask = ink_multiset_admits(&o->multisets, o->masks, cell) >> first & ((2ull << (o->states - 1)) - 1);
	return a->own ? (mask & ((1ull << own) - 1)) | mask >> own >> 1 << own : mask;
}

/* Replaces the count of each set by the sum over its supersets (a zeta transform). */
static void add_supersets(double *by_set, unsigned symbols)
{
	for (size_t bit = 1; bit >> symbols == 0; bit *= 2)
		for (size_t base = 0; base >> symbols == 0; base += 2 * bit)
			for (size_t i = base; i < base + bit; i++)
				by_set[i] += by_set[i + bit];
}

static void gather(const struct query *a, double *by_set, double *to)
{
	add_supersets(by_set, a->symbols);
	for (size_t i = 0; i < a->sets; i++)
		to[i] = by_set[a->set[i]];
}

static unsigned highest_of(uint64_t mask)
{
	return 63 - (unsigned)__builtin_clzll(mask);
}

static void count_pairs(const struct query *a, uint64_t mask, double share, double *to)
{
	while (mask) {
		unsigned y = highest_of(mask);

		to[y] += share;
		mask ^= 1ull << y;
		for (uint64_t rest = a->t == MOST_BEYOND ? mask : 0; rest; rest &= rest - 1)
			to[number_of_pair(a, y, (unsigned)__builtin_ctzll(rest))] += share;
	}
}

static void count_cell(struct ink_odds *o, const struct query *a, struct view *v, uint64_t mask, double share)
{
	unsigned size = (unsigned)__builtin_popcountll(mask);

	v->sizes[size] += share;
	for (unsigned which = 0; which < 1u + (size > a->t); which++) {
		if (by_sets(o))
			o->by_set[which][mask] += share;
		else
			count_pairs(a, mask, share, v->to[which]);
	}
}

static void enumerate_view(struct ink_odds *o, struct query *a, struct view *v,
			   const struct ink_multiset_sums *sums)
{
	for (unsigned which = 0; by_sets(o) && which < 2; which++)
		memset(o->by_set[which], 0, sizeof(double) << a->symbols);
	for (unsigned sum = 0; sum < INK_MULTISET_GROUP; sum++)
		if (sums->share[sum] > 0)
			count_cell(o, a, v, seen(o, a, v, sum), sums->share[sum]);
	for (unsigned which = 0; by_sets(o) && which < 1 + chain_needed(a); which++)
		gather(a, o->by_set[which], v->to[which]);
}

static void enumerate_query(struct ink_odds *o, struct query *a, unsigned others,
			    const struct ink_multiset_sums *sums)
{
	double sizes[MOST] = {0};

	for (unsigned number = 0; number < a->views; number++) {
		size_t at = number * a->sets;
		struct view v = {
			number, others, {admitted(a, others) + at, among_many(a, others) + at}, sizes};

		enumerate_view(o, a, &v, sums);
	}
	for (unsigned r = a->t + 1; r <= a->symbols; r++)
		add_choice(o, a->symbols, r, sizes[r] / a->views, &a->many[others]);
}

static void enumerate(struct ink_odds *o)
{
	struct ink_multiset_sums sums;

	ink_multiset_sums_of_none(&sums);
	for (unsigned others = 0; others < o->stranger.counts; others++) {
		enumerate_query(o, &o->stranger, others, &sums);
		if (others < o->stored.counts)
			enumerate_query(o, &o->stored, others, &sums);
		ink_multiset_sums_add_state(&o->multisets, &sums);
	}
}

/* ------------------------------------------------------------------ make and free */

static int make_query(struct ink_odds *o, struct query *a)
{
	a->t = largest_sets(o, a);
	a->sets = (size_t)sets_up_to(o, a->symbols, a->t < a->symbols ? a->t : a->symbols);
	a->terms = a->views * a->sets;
	a->stride = (a->terms + BLOCK - 1) / BLOCK * BLOCK;
	a->set = malloc((a->sets + 1) * sizeof *a->set);
	a->numbers = calloc(2 * a->counts * a->stride + 1, sizeof *a->numbers);
	if (!a->set || !a->numbers)
		return 0;
	by_sets(o) ? list_small_sets(a) : list_pairs(a);
	return 1;
}

static int make_room(struct ink_odds *o)
{
	size_t sets = by_sets(o) ? (size_t)1 << o->states : 1;

	o->masks = calloc(1, ink_multiset_masks_bytes(o->multisets.max_count, o->multisets.mask_bytes));
	o->by_set[0] = malloc(sets * sizeof(double));
	o->by_set[1] = malloc(sets * sizeof(double));
	return o->masks && o->by_set[0] && o->by_set[1] && make_query(o, &o->stranger) &&
	       make_query(o, &o->stored);
}

/* Masks exist for up to max_count flows: for a stranger all are others, for a stored flow one is itself. */
struct ink_odds *ink_odds_make(unsigned states, unsigned classes)
{
	struct ink_odds *o = calloc(1, sizeof *o);

	if (!o)
		return NULL;
	o->states = states;
	o->multisets = ink_multiset_shape(states * classes);
	for (unsigned i = 1; i < MOST; i++)
		o->log_factorial[i] = o->log_factorial[i - 1] + log(i);
	o->stranger =
		(struct query){.symbols = states, .views = classes, .counts = o->multisets.max_count + 1};
	o->stored = (struct query){
		.symbols = states - 1, .own = 1, .views = states * classes, .counts = o->multisets.max_count};
	if (!make_room(o)) {
		ink_odds_free(o);
		return NULL;
	}
	ink_multiset_fill_masks(&o->multisets, o->masks);
	enumerate(o);
	return o;
}

static void free_query(struct query *a)
{
	free(a->set);
	free(a->numbers);
}

void ink_odds_free(struct ink_odds *o)
{
	if (!o)
		return;
	free_query(&o->stranger);
	free_query(&o->stored);
	free(o->masks);
	free(o->by_set[0]);
	free(o->by_set[1]);
	free(o);
}

/* ------------------------------------------------------------------- the cells */

/* The distribution of the number of others in a cell; `silent` is the share of cells that have no masks. */
struct cells {
	unsigned k;
	double share[MOST_COUNTS];
	double silent;
};

static struct cells cells_at(const struct query *a, unsigned k, double load)
{
	struct cells c = {.k = k, .silent = 1};
	double share = exp(-load);

	for (unsigned others = 0; others < a->counts; others++) {
		c.share[others] = share;
		c.silent -= share;
		share *= load / (others + 1);
	}
	return c;
}

/* ------------------------------------------------------------------- the terms */

static void raise_all(double *x, unsigned k)
{
	double base[BLOCK];

	memcpy(base, x, sizeof base);
	for (unsigned i = 0; i < BLOCK; i++)
		x[i] = 1;
	for (; k; k /= 2) {
		for (unsigned i = 0; k % 2 && i < BLOCK; i++)
			x[i] *= base[i];
		for (unsigned i = 0; i < BLOCK; i++)
			base[i] *= base[i];
	}
}

/* The k-th powers of a block of probabilities, averaged over the number of others. */
static void powers(const struct query *a, const struct cells *c, const double *numbers, double *to)
{
	for (unsigned i = 0; i < BLOCK; i++)
		to[i] = c->silent;
	for (unsigned others = 0; others < a->counts; others++)
		for (size_t i = 0; i < BLOCK; i++)
			to[i] += c->share[others] * numbers[others * a->stride + i];
	raise_all(to, c->k);
}

static double sum_of_terms(const struct query *a, const struct cells *c)
{
	double sum = 0, all[BLOCK], many[BLOCK] = {0};

	for (size_t at = 0; at < a->terms; at += BLOCK) {
		size_t n = a->terms - at < BLOCK ? a->terms - at : BLOCK;

		powers(a, c, admitted(a, 0) + at, all);
		if (chain_needed(a))
			powers(a, c, among_many(a, 0) + at, many);
		for (size_t i = 0; i < n; i++) {
			int odd = __builtin_popcountll(a->set[(at + i) % a->sets]) % 2;

			sum += odd ? all[i] - many[i] : many[i] - all[i];
		}
	}
	return sum / a->views;
}

/* ------------------------------------------------------------------- the chain */

/* The step for cells that admit many symbols; silent cells exclude none. */
static void mix(const struct query *a, const struct cells *c, struct step *to)
{
	memset(to, 0, sizeof *to);
	for (unsigned n = 0; n <= a->symbols; n++) {
		for (unsigned others = 0; others < a->counts; others++)
			for (unsigned j = 0; j <= n; j++)
				to->leaves[n][j] += c->share[others] * a->many[others].leaves[n][j];
		to->leaves[n][n] += c->silent;
	}
}

static void one_cell_more(const struct step *by, unsigned begin, double *possible)
{
	double after[MOST] = {0};

	for (unsigned n = 0; n <= begin; n++)
		for (unsigned j = 0; j <= n; j++)
			after[j] += possible[n] * by->leaves[n][j];
	memcpy(possible, after, sizeof after);
}

/* The probability that a symbol remains after k cells; summed from small to large, for precision. */
static double left_by_many(const struct query *a, const struct cells *c)
{
	double possible[MOST] = {0}, left = 0;
	struct step by;

	mix(a, c, &by);
	possible[a->symbols] = 1;
	for (unsigned i = 0; i < c->k; i++)
		one_cell_more(&by, a->symbols, possible);
	for (unsigned n = a->symbols; n >= 1; n--)
		left += possible[n];
	return left;
}

static double left_after(const struct query *a, unsigned k, double load)
{
	struct cells c = cells_at(a, k, load);

	return sum_of_terms(a, &c) + (chain_needed(a) ? left_by_many(a, &c) : 0);
}

void ink_odds_of(const struct ink_odds *o, unsigned k, double load, double *error, double *unsure)
{
	*error = left_after(&o->stranger, k, load);
	*unsure = left_after(&o->stored, k, load);
}
