/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * d-left hashing as a flow: what the loads of the buckets come to when there are
 * very many of them.
 *
 * Let x(i, j) be the share of the buckets of subtable i that hold j items or
 * more, and let time be the items that have come, for each bucket of a subtable.
 * An item goes to a bucket of subtable i that held j - 1 if the bucket it has there holds
 * so many, those further left hold more, and those further right no fewer:
 *
 *     d x(i, j) / dt = (x(i, j-1) - x(i, j))  prod_{l < i} x(l, j)  prod_{l > i} x(l, j-1)
 *
 * This is Mitzenmacher's way to reckon with it, and where the paper's
 * 5.6 x 10^-31 comes from. Solved step by step (Runge and Kutta's fourth order).
 */
#ifndef INKLING_LAB_DLEFT_ODE_H
#define INKLING_LAB_DLEFT_ODE_H

enum { FLUID_SUBTABLES = 8, FLUID_LEVELS = 64 };

struct fluid {
	unsigned d,
		h; /* subtables, 1 .. 8; cells in a bucket, 1 .. 63: an item that finds d full ones is lost */
	double x[FLUID_SUBTABLES][FLUID_LEVELS + 1]; /* x[i][0] = 1 */
};

/* Empty buckets. */
void fluid_begin(struct fluid *fluid, unsigned d, unsigned h);

/* So many items come for each bucket of a subtable. */
void fluid_fill(struct fluid *fluid, double items);

/* The share of all buckets that hold `load` items or more. */
double fluid_share(const struct fluid *fluid, unsigned load);

/* The items in the d buckets of one that is asked for: all that have come, less those that were lost. */
double fluid_items(const struct fluid *fluid);

/*
 * After `items` have come to d x h: how many others stand, on the average, in the
 * d buckets of an item that is stored. A stranger meets `items`; a stored item
 * takes a cell itself, and keeps others away by it.
 */
double fluid_others(unsigned d, unsigned h, double items);

#endif
