/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * d-left hashing in the fluid limit: the loads of the buckets when there are very many of them, as the
 * solution of a differential equation (Mitzenmacher's method).
 *
 * Let x(i, j) be the share of the buckets of subtable i that hold j items or more, and let time be the number
 * of items that arrived, for each bucket of a subtable. An item goes to a bucket of subtable i with load j -
 * 1 if its buckets further left hold more and those further right no fewer:
 *
 *     d x(i, j) / dt = (x(i, j-1) - x(i, j))  prod_{l < i} x(l, j)  prod_{l > i} x(l, j-1)
 *
 * The paper's 5.6 x 10^-31 comes from it. Solved by the fourth-order Runge-Kutta method.
 */
#ifndef INKLING_LAB_DLEFT_ODE_H
#define INKLING_LAB_DLEFT_ODE_H

enum { DLEFT_ODE_SUBTABLES = 8, DLEFT_ODE_LEVELS = 64 };

struct dleft_ode {
	unsigned d,
		h; /* subtables, 1 .. 8; cells in a bucket, 1 .. 63: an item that finds d full ones is lost */
	double x[DLEFT_ODE_SUBTABLES][DLEFT_ODE_LEVELS + 1]; /* x[i][0] = 1 */
};

/* Empty buckets. */
void dleft_ode_begin(struct dleft_ode *ode, unsigned d, unsigned h);

/* Adds this many items for each bucket of a subtable. */
void dleft_ode_fill(struct dleft_ode *ode, double items);

/* The share of all buckets that hold `load` items or more. */
double dleft_ode_share(const struct dleft_ode *ode, unsigned load);

/* The items in the d buckets of a queried item: all that arrived, except those that were lost. */
double dleft_ode_items(const struct dleft_ode *ode);

/*
 * After `items` have come to d x h: how many others stand, on the average, in the
 * d buckets of an item that is stored. A stranger meets `items`; a stored item
 * takes a cell itself, and keeps others away by it.
 */
double dleft_ode_others(unsigned d, unsigned h, double items);

#endif
