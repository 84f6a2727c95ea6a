/* SPDX-License-Identifier: BSD-2-Clause */
/* Means, spreads and confidence intervals. */
#ifndef INKLING_LAB_STATISTICS_H
#define INKLING_LAB_STATISTICS_H

#include <stddef.h>

struct spread {
	double middle, low, high;
};

/* Mean, minimum and maximum of some numbers. */
struct spread spread_of(const double *numbers, size_t count);

/* The same times a factor: shares to percents. */
struct spread spread_times(struct spread spread, double factor);

/* A part of a whole in percent; 0 of nothing. */
double percent_of(double part, double whole);

/*
 * A share that was measured as `hits` of `trials`, with the interval that holds the
 * true one in 99 of 100 measurements (Wilson's; right for few hits too).
 */
struct spread interval_99(double hits, double trials);

/*
 * How many standard deviations of a mean of `count` numbers are as far out as z of
 * the normal distribution: the expansion of Student's t about it (Abramowitz and
 * Stegun, 26.7.5). From ten numbers on it is good to three digits.
 */
double student(double z, size_t count);

/*
 * The mean of numbers that were measured independently, at least two, with the interval that holds the true
 * one in 99 of 100 measurements (Student's). It is right where the counts within one measurement are
 * correlated, as the errors of one table are.
 */
struct spread mean_99(const double *numbers, size_t count);

#endif
