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
 * about seventy times; these flows are always the same.
 *
 * The means of a few dozen events are not normally distributed. Points with
 * fewer events than FEWEST_EVENTS, which short runs have, are therefore judged
 * together, as one point more: their sums of planned and found events. A
 * formula for which even these are too few fails: it would be untested.
 */
#ifndef INKLING_TESTS_INTERVAL_H
#define INKLING_TESTS_INTERVAL_H

#include <math.h>

#include "tests/random.h"
#include "lab/statistics.h"
#include "tests/test.h"

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
	double rare, rare_found, rare_variance; /* events at points that are too rare to be judged alone */
};

enum { FEWEST_EVENTS = 100, FEWEST_POINTS = 20, MANY_TABLES = 1000 };

#define ROUNDING 1e-12 /* where all tables are the same, the interval has no width */

static inline void tally_judge(struct tally *all, const char *point, double off, double deviation,
			       unsigned tables)
{
	if (off > student(NORMAL_9999, tables) * deviation + ROUNDING)
		fail_msg("%s, %s: off by %g, standard deviation %g", all->formula, point, off, deviation);
	all->points++;
	all->outside += off > student(NORMAL_99, tables) * deviation + ROUNDING;
}

static inline void tally_add(struct tally *all, const struct sample *s, struct claim c)
{
	double asked = c.planned > 0 ? c.events / c.planned : 0, deviation = sample_deviation(s);

	if (c.events >= FEWEST_EVENTS) {
		tally_judge(all, c.point, fabs(sample_mean(s) - c.planned), deviation, s->n);
		return;
	}
	all->rare += c.events;
	all->rare_found += asked * sample_mean(s);
	all->rare_variance += asked * deviation * asked * deviation;
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

static inline void assert_tally(struct tally *all)
{
	if (all->rare >= FEWEST_EVENTS)
		tally_judge(all, "rare events", fabs(all->rare_found - all->rare),
			    sqrt(fmax(all->rare_variance, all->rare)), MANY_TABLES);
	print_message("%s: %u points, %u outside the 99 %% interval\n", all->formula, all->points,
		      all->outside);
	assert_true(all->points >= (test_scale() < 1 ? FEWEST_POINTS / 2 : FEWEST_POINTS));
	assert_true(all->outside <= most_outside(all->points));
}

#endif
