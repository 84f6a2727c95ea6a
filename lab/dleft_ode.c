/* SPDX-License-Identifier: BSD-2-Clause */
#include "lab/dleft_ode.h"

#include <stdlib.h>
#include <string.h>

#include "lab/runner.h"

/* Items a step: with half of it nothing changes in the first four digits (test_paper_analysis.c). */
#define STEP .01

/* The probability that an item arrives at a bucket of subtable i with load j, in a unit of time. */
static double rate(const struct dleft_ode *f, unsigned i, unsigned j)
{
	double product = 1;

	for (unsigned l = 0; l < f->d; l++)
		if (l != i)
			product *= f->x[l][l < i ? j + 1 : j];
	return product;
}

static void slopes(const struct dleft_ode *f, struct dleft_ode *slope)
{
	for (unsigned i = 0; i < f->d; i++)
		for (unsigned j = 1; j <= f->h; j++)
			slope->x[i][j] = (f->x[i][j - 1] - f->x[i][j]) * rate(f, i, j - 1);
}

/* f + factor x slope */
static struct dleft_ode moved(const struct dleft_ode *f, const struct dleft_ode *slope, double factor)
{
	struct dleft_ode to = *f;

	for (unsigned i = 0; i < f->d; i++)
		for (unsigned j = 1; j <= f->h; j++)
			to.x[i][j] += factor * slope->x[i][j];
	return to;
}

static void step(struct dleft_ode *f, double dt)
{
	struct dleft_ode a, b, c, d, at;

	slopes(f, &a);
	at = moved(f, &a, dt / 2);
	slopes(&at, &b);
	at = moved(f, &b, dt / 2);
	slopes(&at, &c);
	at = moved(f, &c, dt);
	slopes(&at, &d);
	*f = moved(f, &a, dt / 6);
	*f = moved(f, &b, dt / 3);
	*f = moved(f, &c, dt / 3);
	*f = moved(f, &d, dt / 6);
}

static unsigned steps_for(double items)
{
	return (unsigned)(items / STEP) + 1;
}

void dleft_ode_begin(struct dleft_ode *f, unsigned d, unsigned h)
{
	memset(f, 0, sizeof *f);
	f->d = d;
	f->h = h;
	for (unsigned i = 0; i < d; i++)
		f->x[i][0] = 1;
}

void dleft_ode_fill(struct dleft_ode *f, double items)
{
	unsigned steps = steps_for(items);

	for (unsigned i = 0; i < steps; i++)
		step(f, items / steps);
}

double dleft_ode_share(const struct dleft_ode *f, unsigned load)
{
	double sum = 0;

	for (unsigned i = 0; i < f->d; i++)
		sum += f->x[i][load];
	return sum / f->d;
}

double dleft_ode_items(const struct dleft_ode *f)
{
	double sum = 0;

	for (unsigned j = 1; j <= f->h; j++)
		sum += dleft_ode_share(f, j) * f->d;
	return sum;
}

/* ------------------------------------------------------- an item that is stored */

/*
 * Let V(i, j) be the load that a bucket of subtable i will have at the end if it
 * holds j now. It is known at the end, and backwards from there
 *
 *     V(i, j) before = V(i, j) + dt rate(i, j) (V(i, j+1) - V(i, j)).
 *
 * An item that arrives now makes one j a j + 1: at the end its buckets hold
 * V(i, j+1) - V(i, j) more, itself included. That is less than 1, as it keeps others away.
 */
static double gained_now(const struct dleft_ode *f, double v[DLEFT_ODE_SUBTABLES][DLEFT_ODE_LEVELS + 1])
{
	struct dleft_ode slope;
	double gained = 0, stored = 0;

	slopes(f, &slope);
	for (unsigned i = 0; i < f->d; i++)
		for (unsigned j = 1; j <= f->h; j++) {
			gained += slope.x[i][j] * (v[i][j] - v[i][j - 1]);
			stored += slope.x[i][j];
		}
	return gained / stored;
}

static void before(const struct dleft_ode *f, double dt, double v[DLEFT_ODE_SUBTABLES][DLEFT_ODE_LEVELS + 1])
{
	for (unsigned i = 0; i < f->d; i++)
		for (unsigned j = 0; j < f->h; j++)
			v[i][j] += dt * rate(f, i, j) * (v[i][j + 1] - v[i][j]);
}

double dleft_ode_others(unsigned d, unsigned h, double items)
{
	unsigned steps = steps_for(items);
	struct dleft_ode *at = lab_alloc(steps + 1, sizeof *at);
	double v[DLEFT_ODE_SUBTABLES][DLEFT_ODE_LEVELS + 1], gained = 0, all;

	dleft_ode_begin(&at[0], d, h);
	for (unsigned i = 0; i < steps; i++) {
		at[i + 1] = at[i];
		step(&at[i + 1], items / steps);
	}
	for (unsigned i = 0; i < d; i++)
		for (unsigned j = 0; j <= h; j++)
			v[i][j] = j;
	for (unsigned i = steps; i-- > 0; before(&at[i], items / steps, v))
		gained += gained_now(&at[i], v) / steps;
	all = dleft_ode_items(&at[steps]);
	free(at);
	return all + gained - 1;
}
