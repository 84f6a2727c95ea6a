/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How often `stateful` and `direct` err, by their geometry.
 *
 * n flows, m cells, k of them for a flow, S states, all equally frequent; flows
 * are only inserted. A flow hits a given cell with the probability k/m, so the
 * chance that none of n does is
 *
 *     none(n) = (1 - k/m)^n, about exp(-k n / m)
 *
 * `direct`. A pair that is not stored is found if all its cells are taken:
 *
 *     f      = (1 - none(n))^k
 *     error  = 1 - (1 - f)^S           a stranger, over all states
 *     unsure = 1 - (1 - f)^(S-1)       a live flow, beside its own state
 *
 * `stateful`. A cell of a live flow knows its state unless it is shared with a flow
 * in another state (with counters), or with any other flow (without):
 *
 *     lost   = 1 - none((n-1) (S-1)/S)        or  1 - none(n-1)
 *     unsure = lost^k                          fewer than `threshold` of the k are left, in general
 *
 * A stranger is taken for a flow if none of its cells is empty and all that
 * know a state agree. A cell knows a given state if only flows in that state have
 * it (with counters), or just one flow, in that state (without):
 *
 *     knows  = none(n (S-1)/S) - none(n)      or  n k/(m S) none(n-1)
 *     doubt  = 1 - none(n) - S knows
 *     error  = S (knows + doubt)^k - (S-1) doubt^k
 *
 * Blocked, all this happens inside a line of c cells. The number j of flows in a
 * line is Poisson distributed with the mean n / lines. So the formulas hold for each
 * j, with c/k cells in a share in place of m/k, and the plan takes the mean over all
 * j. The mixture of the states of these few flows is random too, and is the same for
 * all cells of the line: see below.
 */
#include "kinds/bloom/odds.h"

#include <math.h>

#include "kinds/bloom/bloom.h"

/* ------------------------------------------------------------------ in one place */

/* The probability that none of n events occurs, if each does with probability p. */
static double none(double p, double n)
{
	return n > 0 ? exp(n * log1p(-p)) : 1;
}

/* The chance that fewer than `least` of the cells know, of which each is lost with its own probability. */
static double fewer_know(const double *lost, unsigned k, unsigned least)
{
	double exactly[INK_BLOOM_MOST_K + 1] = {1}, sum = 0;

	for (unsigned i = 0; i < k; i++)
		for (unsigned j = i + 2; j-- > 0;)
			exactly[j] = exactly[j] * lost[i] + (j ? exactly[j - 1] * (1 - lost[i]) : 0);
	for (unsigned j = 0; j < least && j <= k; j++)
		sum += exactly[j];
	return sum;
}

static double fewer_of_equal(double lost, unsigned k, unsigned least)
{
	double all[INK_BLOOM_MOST_K];

	if (least == 1)
		return pow(lost, k);
	for (unsigned i = 0; i < k; i++)
		all[i] = lost;
	return fewer_know(all, k, least);
}

static struct ink_bloom_odds direct_errors(const struct ink_plan *p, double n, double states)
{
	const struct ink_geometry *g = &p->geometry;
	double f = pow(1 - none((double)g->k / g->m, n), g->k);

	return (struct ink_bloom_odds){1 - pow(1 - f, states), 1 - pow(1 - f, states - 1)};
}

static struct ink_bloom_odds stateful_errors(const struct ink_plan *p, double n, double states)
{
	const struct ink_geometry *g = &p->geometry;
	double hit = (double)g->k / g->m, others = hit * (states - 1) / states;
	double lost = 1 - none(g->counter_bits ? others : hit, n - 1);
	double knows = g->counter_bits ? none(others, n) - none(hit, n) : n * hit / states * none(hit, n - 1);
	double doubt = fmax(0, 1 - none(hit, n) - states * knows);

	return (struct ink_bloom_odds){states * pow(knows + doubt, g->k) - (states - 1) * pow(doubt, g->k),
				       fewer_of_equal(lost, g->k, g->threshold)};
}

/* ------------------------------------------------------------------ in one line */

/*
 * A line of c cells with j flows, i of them in the state that a stranger is
 * taken for. The shares have c/k cells, some one more than others, and errors
 * are products over them.
 *
 * How the other j - i flows are divided among the other states is the same for
 * all cells of the line. Without counters it does not matter. With them, the
 * chance that a cell is in order is linear in T, the sum of (1 - 1/g)^-x over
 * these states with x flows each. T varies little, so the mean of a power is
 * taken to the second order, by the mean and the variance of T.
 */
enum { MOST_IN_LINE = 400 }; /* flows; see over_lines */

/* Powers, since they are needed so often. */
struct share {
	double hit;                /* the chance to hit a given cell: 1/g */
	double none[MOST_IN_LINE]; /* (1 - hit)^j */
	double one
		[MOST_IN_LINE]; /* the means of (1 - hit)^-x for one other state, when j flows are in others, */
	double two[MOST_IN_LINE];    /* of the product for two of them */
	double square[MOST_IN_LINE]; /* and of its square */
};

struct line {
	double states;
	int counters;
	unsigned k, threshold;
	unsigned large;     /* shares with one cell more; all the same otherwise */
	struct share of[2]; /* smaller and larger ones */
};

static void fill_share(struct share *s, unsigned cells, double others)
{
	double hit = 1.0 / cells, grow = 1 / (1 - hit), each = others > 0 ? 1 / others : 0;

	s->hit = hit;
	s->none[0] = s->one[0] = s->two[0] = s->square[0] = 1;
	for (unsigned j = 1; j < MOST_IN_LINE; j++) {
		s->none[j] = s->none[j - 1] * (1 - hit);
		s->one[j] = s->one[j - 1] * (1 + (grow - 1) * each);
		s->two[j] = s->two[j - 1] * (1 + 2 * (grow - 1) * each);
		s->square[j] = s->square[j - 1] * (1 + (grow * grow - 1) * each);
	}
}

static void fill_line(struct line *l, const struct ink_geometry *g, uint32_t cells, double states)
{
	l->states = states;
	l->counters = g->counter_bits != 0;
	l->k = g->k;
	l->threshold = g->threshold;
	l->large = cells % g->k;
	fill_share(&l->of[0], cells / g->k, l->states - 1);
	fill_share(&l->of[1], cells / g->k + 1, l->states - 1);
}

/* j other flows that make a cell don't-know. */
static double line_unsure(const struct line *l, unsigned j)
{
	double lost[INK_BLOOM_MOST_K];

	for (unsigned i = 0; i < l->k; i++)
		lost[i] = 1 - l->of[i < l->large].none[j];
	return fewer_know(lost, l->k, l->threshold);
}

/* A cell: the chance that it knows the state, and that it is that or don't-know, which has a variance. */
struct met {
	double knows, either, variance;
};

static struct met met_without_counters(const struct share *s, unsigned j, unsigned i)
{
	double one = j ? s->hit * s->none[j - 1] : 0;

	return (struct met){i * one, 1 - s->none[j] - (j - i) * one, 0};
}

static struct met met_with_counters(const struct share *s, unsigned j, unsigned i, double others)
{
	double empty = s->none[j], one = s->one[j - i];
	double variance = others * (s->square[j - i] + (others - 1) * s->two[j - i] - others * one * one);

	return (struct met){s->none[j - i] - empty, 1 + (others - 1) * empty - others * one * empty,
			    fmax(0, variance) * empty * empty};
}

static struct met met(const struct line *l, int large, unsigned j, unsigned i)
{
	const struct share *s = &l->of[large];

	return l->counters ? met_with_counters(s, j, i, l->states - 1) : met_without_counters(s, j, i);
}

static double power(double x, unsigned n)
{
	double result = 1;

	for (; n; n >>= 1, x *= x)
		if (n & 1)
			result *= x;
	return result;
}

/* The mean of the product over all k cells, which are as they were met, less that. */
static double all_cells(const struct line *l, const struct met m[2], double less)
{
	double small = m[0].either - less * m[0].knows, large = m[1].either - less * m[1].knows;
	double pairs = l->k * (l->k - 1) / 2.0;

	if (small <= 0 || large <= 0)
		return 0;
	return fmin(1, power(small, l->k - l->large) * power(large, l->large) *
			       (1 + pairs * m[0].variance / (small * small)));
}

/* i of j flows are in the state that the stranger is taken for: cells know it or are in doubt, not all in doubt. */
static double error_with(const struct line *l, unsigned j, unsigned i)
{
	struct met m[2] = {met(l, 0, j, i), met(l, 1, j, i)};

	return l->states * all_cells(l, m, 0) - (l->states - 1) * all_cells(l, m, 1);
}

/* Terms that are too small to count are left out. */
#define NEGLIGIBLE 1e-13

static double line_error(const struct line *l, unsigned j)
{
	double p = 1 / l->states, weight = power(1 - p, j), error = 0;

	if (l->states < 2)
		return error_with(l, j, j);
	for (unsigned i = 0; i <= j; i++) {
		if (weight > NEGLIGIBLE)
			error += weight * error_with(l, j, i);
		weight *= (double)(j - i) / (i + 1) * p / (1 - p);
	}
	return fmin(1, fmax(0, error));
}

/* The mean of an error over lines whose numbers of flows are Poisson distributed. */
static double over_lines(const struct line *l, double mean, double (*error)(const struct line *l, unsigned j))
{
	double weight = exp(-mean), sum = 0;

	for (unsigned j = 0; j < MOST_IN_LINE; j++) {
		if (weight > NEGLIGIBLE)
			sum += weight * error(l, j);
		weight *= mean / (j + 1);
	}
	return fmin(1, sum);
}

/*
 * A line has at most 170 cells. With as many flows as cells, each cell has k of
 * them and the filter is useless; the formula without lines is good enough there.
 * Below that, MOST_IN_LINE is more than 17 standard deviations away.
 */
static struct ink_bloom_odds blocked_errors(const struct ink_plan *p, uint32_t cells, double n, double states)
{
	double flows = n / (p->geometry.m / cells);
	struct line l;
	double others;

	if (flows > cells)
		return stateful_errors(p, n, states);
	fill_line(&l, &p->geometry, cells, states);
	others = l.counters ? (l.states - 1) / l.states : 1;
	return (struct ink_bloom_odds){over_lines(&l, flows, line_error),
				       over_lines(&l, flows * others, line_unsure)};
}

/* ---------------------------------------------------------------------- the call */

struct ink_bloom_odds ink_bloom_odds(const struct ink_plan *p, uint32_t unit, double flows, double states)
{
	if (p->kind == INK_DIRECT)
		return direct_errors(p, flows, states);
	if (unit > 1)
		return blocked_errors(p, unit, flows, states);
	return stateful_errors(p, flows, states);
}
