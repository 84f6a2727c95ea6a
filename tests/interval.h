/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Is what is measured what was planned?
 *
 * A point is a plan and several tables made by it. The answers of one table have
 * their luck in common, so it is the tables that are counted: their mean has a
 * standard deviation that follows from how they differ, and an interval by
 * Student's t. Every table has flows of its own, or points would be right or wrong
 * together.
 *
 * With a correct formula one point of a hundred lies outside its 99 % interval.
 * So a formula fails if at any point it is outside the 99.99 % interval, or
 * outside the 99 % interval at so many of its points that chance does that less
 * than once in a hundred times. With other flows a correct one would fail once in
 * about seventy times; these flows are always the same. Rare things are not
 * judged: the means of a few dozen events are not normally distributed.
 */
#ifndef INKLING_TESTS_INTERVAL_H
#define INKLING_TESTS_INTERVAL_H

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/random.h"
#include "lab/statistics.h"

/* What was measured in the tables of a point. */
struct sample {
	double sum, squares;
	unsigned n;
};

static inline void sample_add(struct sample *s, double value)
{
	s->sum += value;
	s->squares += value * value;
	s->n++;
}

static inline double sample_mean(const struct sample *s)
{
	return s->sum / s->n;
}

/* The standard deviation of the mean. */
static inline double sample_deviation(const struct sample *s)
{
	double variance = (s->squares - s->sum * s->sum / s->n) / (s->n - 1);

	return sqrt((variance > 0 ? variance : 0) / s->n);
}

#define NORMAL_99 2.5758 /* standard deviations: 99 % lie within */
#define NORMAL_9999 3.8906

/* What the plan says at a point, and how many events of all its tables that makes. */
struct claim {
	const char *point;
	double planned, events;
};

/* One formula at all its points. */
struct tally {
	const char *formula;
	unsigned points, outside;
};

enum { FEWEST_EVENTS = 100, FEWEST_POINTS = 20 };

#define ROUNDING 1e-12 /* where all tables are the same, the interval has no width */

static inline void tally_add(struct tally *all, const struct sample *s, struct claim c)
{
	double mean = sample_mean(s), off = fabs(mean - c.planned), deviation = sample_deviation(s);
	double half = student(NORMAL_99, s->n) * deviation + ROUNDING;

	if (c.events < FEWEST_EVENTS)
		return;
	if (off > student(NORMAL_9999, s->n) * deviation + ROUNDING)
		fail_msg("%s, %s: planned %g, measured %g +- %g", all->formula, c.point, c.planned, mean,
			 half);
	all->points++;
	all->outside += off > half;
}

/* The most points outside that chance brings about once in a hundred times or more often. */
static inline unsigned most_outside(unsigned points)
{
	double exactly = pow(.99, points), more = 1 - exactly;
	unsigned outside = 0;

	while (more >= .01) {
		exactly *= (double)(points - outside) / (outside + 1) * .01 / .99;
		more -= exactly;
		outside++;
	}
	return outside;
}

static inline void assert_tally(const struct tally *all)
{
	print_message("%s: %u points, %u outside the 99 %% interval\n", all->formula, all->points,
		      all->outside);
	assert_true(all->points >= FEWEST_POINTS || test_scale() < 1);
	assert_true(all->outside <= most_outside(all->points));
}

#endif
