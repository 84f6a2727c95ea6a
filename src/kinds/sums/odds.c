/* SPDX-License-Identifier: BSD-2-Clause */
/* The terms and the Markov chain of odds.h, counted out once for each number of flows in a cell. */
#include "kinds/sums/odds.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "kinds/sums/multiset.h"

enum {
	MOST = INK_MULTISET_STATES + 1,
	MOST_COUNTS = INK_MULTISET_MAX_COUNT + 1,
	BLOCK = 256, /* terms that are worked on at a time: they stay in the nearest cache */

	/*
	 * The more terms, the longer a plan takes: with so many, up to 0.2 ms for each
	 * load that is tried. Of up to 11 states all terms are summed up; of 15, those
	 * of sets of 3 for a stored flow and of 6 for a stranger.
	 */
	MOST_TERMS = 12000,
	MOST_IN_SETS = 16, /* states; all sets of more are too many to count, */
	MOST_BEYOND = 2    /* and sets of more than two are left to the chain */
};

/* leaves[n][j]: of n symbols that are possible, a cell leaves j, with this probability. */
struct step {
	double leaves[MOST][MOST];
};

/*
 * One who asks: a stranger, or a flow that is there. It sees the cells from as
 * many points of view as there are classes, or symbols that may be its own.
 */
struct asker {
	unsigned symbols; /* that are to go */
	unsigned own;     /* 1: it is in its cells itself */
	unsigned views;
	unsigned counts;    /* cells with 0 to counts - 1 others tell something */
	unsigned t;         /* the largest sets; sets of all symbols: nothing is left for the chain */
	size_t sets, terms; /* terms = views * sets */
	size_t stride;      /* terms in whole blocks */
	uint64_t *set;
	double *numbers; /* all A and B */
	struct step many[MOST_COUNTS];
};

struct ink_odds {
	struct ink_multiset_shape multisets;
	unsigned states;
	unsigned char *masks;
	struct asker stranger, stored;
	double log_factorial[MOST];
	double *by_set[2]; /* a number for each set of states: of all cells, and of those that admit many */
};

/* A of all terms, in cells with so many others. */
static double *admitted(const struct asker *a, unsigned others)
{
	return a->numbers + others * a->stride;
}

/* B of all terms. */
static double *among_many(const struct asker *a, unsigned others)
{
	return a->numbers + (a->counts + others) * a->stride;
}

static unsigned chain_needed(const struct asker *a)
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

static unsigned largest_sets(const struct ink_odds *o, const struct asker *a)
{
	unsigned t = 1;

	while (t < (by_sets(o) ? a->symbols : MOST_BEYOND) &&
	       a->views * sets_up_to(o, a->symbols, t + 1) <= MOST_TERMS)
		t++;
	return t;
}

static void list_small_sets(struct asker *a)
{
	size_t n = 0;

	for (uint64_t set = 1; set >> a->symbols == 0; set++)
		if ((unsigned)__builtin_popcountll(set) <= a->t)
			a->set[n++] = set;
}

/* The single symbols, and after them the pairs: in the order of number_of_pair. */
static void list_pairs(struct asker *a)
{
	size_t n = 0;

	for (unsigned y = 0; y < a->symbols; y++)
		a->set[n++] = 1ull << y;
	for (unsigned y = 0; a->t == MOST_BEYOND && y < a->symbols; y++)
		for (unsigned z = 0; z < y; z++)
			a->set[n++] = 1ull << y | 1ull << z;
}

static unsigned number_of_pair(const struct asker *a, unsigned y, unsigned z)
{
	return a->symbols + y * (y - 1) / 2 + z;
}

/* ------------------------------------------------------------------ the steps */

/* Of `n` that count among `all`, j are in a random choice of r. */
static double hypergeometric(const struct ink_odds *o, unsigned all, unsigned n, unsigned r, unsigned j)
{
	if (j > n || j > r || r - j > all - n)
		return 0;
	return exp(log_choose(o, n, j) + log_choose(o, all - n, r - j) - log_choose(o, all, r));
}

/* Cells that admit r, with the share `weight` of all cells. */
static void add_choice(const struct ink_odds *o, unsigned all, unsigned r, double weight, struct step *to)
{
	for (unsigned n = 0; n <= all && weight > 0; n++)
		for (unsigned j = 0; j <= n; j++)
			to->leaves[n][j] += weight * hypergeometric(o, all, n, r, j);
}

/* ---------------------------------------------------------------- counting out */

/* A point of view on cells with so many others. */
struct view {
	unsigned number, others;
	double *to[2]; /* its A and its B */
	double *sizes; /* shares of the cells that admit 0, 1 ... */
};

/* What is seen of others that add up to this: the symbols of the class, without the own. */
static uint64_t seen(const struct ink_odds *o, const struct asker *a, const struct view *v, unsigned sum)
{
	unsigned own = v->number % o->states, first = a->own ? v->number - own : v->number * o->states;
	ink_multiset bag = ink_multiset_of(v->others, sum);
	uint64_t mask;

	if (a->own)
		bag = ink_multiset_add(&o->multisets, bag, v->number);
	mask = ink_multiset_admits(&o->multisets, o->masks, bag) >> first & ((2ull << (o->states - 1)) - 1);
	return a->own ? (mask & ((1ull << own) - 1)) | mask >> own >> 1 << own : mask;
}

/* For each set, what was counted for it and for all sets that contain it. */
static void add_supersets(double *by_set, unsigned symbols)
{
	for (size_t bit = 1; bit >> symbols == 0; bit *= 2)
		for (size_t base = 0; base >> symbols == 0; base += 2 * bit)
			for (size_t i = base; i < base + bit; i++)
				by_set[i] += by_set[i + bit];
}

static void gather(const struct asker *a, double *by_set, double *to)
{
	add_supersets(by_set, a->symbols);
	for (size_t i = 0; i < a->sets; i++)
		to[i] = by_set[a->set[i]];
}

static unsigned highest_of(uint64_t mask)
{
	return 63 - (unsigned)__builtin_clzll(mask);
}

static void count_pairs(const struct asker *a, uint64_t mask, double share, double *to)
{
	while (mask) {
		unsigned y = highest_of(mask);

		to[y] += share;
		mask ^= 1ull << y;
		for (uint64_t rest = a->t == MOST_BEYOND ? mask : 0; rest; rest &= rest - 1)
			to[number_of_pair(a, y, (unsigned)__builtin_ctzll(rest))] += share;
	}
}

static void count_cell(struct ink_odds *o, const struct asker *a, struct view *v, uint64_t mask, double share)
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

static void count_view(struct ink_odds *o, struct asker *a, struct view *v, const struct ink_multiset_sums *ways)
{
	for (unsigned which = 0; by_sets(o) && which < 2; which++)
		memset(o->by_set[which], 0, sizeof(double) << a->symbols);
	for (unsigned sum = 0; sum < INK_MULTISET_GROUP; sum++)
		if (ways->share[sum] > 0)
			count_cell(o, a, v, seen(o, a, v, sum), ways->share[sum]);
	for (unsigned which = 0; by_sets(o) && which < 1 + chain_needed(a); which++)
		gather(a, o->by_set[which], v->to[which]);
}

static void count_asker(struct ink_odds *o, struct asker *a, unsigned others, const struct ink_multiset_sums *ways)
{
	double sizes[MOST] = {0};

	for (unsigned number = 0; number < a->views; number++) {
		size_t at = number * a->sets;
		struct view v = {
			number, others, {admitted(a, others) + at, among_many(a, others) + at}, sizes};

		count_view(o, a, &v, ways);
	}
	for (unsigned r = a->t + 1; r <= a->symbols; r++)
		add_choice(o, a->symbols, r, sizes[r] / a->views, &a->many[others]);
}

static void count_out(struct ink_odds *o)
{
	struct ink_multiset_sums ways;

	ink_multiset_sums_of_none(&ways);
	for (unsigned others = 0; others < o->stranger.counts; others++) {
		count_asker(o, &o->stranger, others, &ways);
		if (others < o->stored.counts)
			count_asker(o, &o->stored, others, &ways);
		ink_multiset_sums_add_state(&o->multisets, &ways);
	}
}

/* ------------------------------------------------------------------ make and free */

static int make_asker(struct ink_odds *o, struct asker *a)
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
	return o->masks && o->by_set[0] && o->by_set[1] && make_asker(o, &o->stranger) &&
	       make_asker(o, &o->stored);
}

/* A stranger meets bags of 0 to `most`; beside a stored flow there are 0 to `most` - 1. */
struct ink_odds *ink_odds_make(unsigned states, unsigned classes)
{
	struct ink_odds *o = calloc(1, sizeof *o);

	if (!o)
		return NULL;
	o->states = states;
	o->multisets = ink_multiset_shape(states * classes);
	for (unsigned i = 1; i < MOST; i++)
		o->log_factorial[i] = o->log_factorial[i - 1] + log(i);
	o->stranger = (struct asker){.symbols = states, .views = classes, .counts = o->multisets.max_count + 1};
	o->stored = (struct asker){
		.symbols = states - 1, .own = 1, .views = states * classes, .counts = o->multisets.max_count};
	if (!make_room(o)) {
		ink_odds_free(o);
		return NULL;
	}
	ink_multiset_fill_masks(&o->multisets, o->masks);
	count_out(o);
	return o;
}

static void free_asker(struct asker *a)
{
	free(a->set);
	free(a->numbers);
}

void ink_odds_free(struct ink_odds *o)
{
	if (!o)
		return;
	free_asker(&o->stranger);
	free_asker(&o->stored);
	free(o->masks);
	free(o->by_set[0]);
	free(o->by_set[1]);
	free(o);
}

/* ------------------------------------------------------------------- the cells */

/* How many others a cell has, and what is left for those that tell nothing. */
struct cells {
	unsigned k;
	double share[MOST_COUNTS];
	double silent;
};

static struct cells cells_at(const struct asker *a, unsigned k, double load)
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

/* The k-th powers of a block of chances: those in cells with so many others, mixed. */
static void powers(const struct asker *a, const struct cells *c, const double *numbers, double *to)
{
	for (unsigned i = 0; i < BLOCK; i++)
		to[i] = c->silent;
	for (unsigned others = 0; others < a->counts; others++)
		for (size_t i = 0; i < BLOCK; i++)
			to[i] += c->share[others] * numbers[others * a->stride + i];
	raise_all(to, c->k);
}

static double sum_of_terms(const struct asker *a, const struct cells *c)
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

/* The cell that admits many: those that tell nothing leave all as it is. */
static void mix(const struct asker *a, const struct cells *c, struct step *to)
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

/* The probability that anything is left after k cells; added up from small to large, not taken from 1. */
static double left_by_many(const struct asker *a, const struct cells *c)
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

static double left_after(const struct asker *a, unsigned k, double load)
{
	struct cells c = cells_at(a, k, load);

	return sum_of_terms(a, &c) + (chain_needed(a) ? left_by_many(a, &c) : 0);
}

void ink_odds_of(const struct ink_odds *o, unsigned k, double load, double *error, double *unsure)
{
	*error = left_after(&o->stranger, k, load);
	*unsure = left_after(&o->stored, k, load);
}
