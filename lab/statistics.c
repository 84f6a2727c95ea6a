/* SPDX-License-Identifier: BSD-2-Clause */
#include "lab/statistics.h"

#include <math.h>

struct spread spread_of(const double *numbers, size_t count)
{
	struct spread s = {0, INFINITY, -INFINITY};

	for (size_t i = 0; i < count; i++) {
		s.middle += numbers[i] / (double)count;
		s.low = fmin(s.low, numbers[i]);
		s.high = fmax(s.high, numbers[i]);
	}
	return s;
}

struct spread spread_times(struct spread spread, double factor)
{
	return (struct spread){spread.middle * factor, spread.low * factor, spread.high * factor};
}

double percent_of(double part, double whole)
{
	return whole > 0 ? 100 * part / whole : 0;
}

#define Z 2.5758293035489 /* of the normal distribution, half a percent lies beyond it */

struct spread interval_99(double hits, double trials)
{
	const double z = Z;
	double share = hits / trials;
	double middle = (share + z * z / (2 * trials)) / (1 + z * z / trials);
	double reach =
		z / (1 + z * z / trials) * sqrt(share * (1 - share) / trials + z * z / (4 * trials * trials));

	/* For none and for all the interval ends at 0 and 1, but for rounding. */
	return (struct spread){share, hits > 0 ? middle - reach : 0, hits < trials ? middle + reach : 1};
}

double student(double z, size_t count)
{
	double v = (double)count - 1, z2 = z * z;

	return z + z * (z2 + 1) / (4 * v) + z * ((5 * z2 + 16) * z2 + 3) / (96 * v * v) +
	       z * (((3 * z2 + 19) * z2 + 17) * z2 - 15) / (384 * v * v * v);
}

struct spread mean_99(const double *numbers, size_t count)
{
	double mean = spread_of(numbers, count).middle, squares = 0, reach;

	for (size_t i = 0; i < count; i++)
		squares += (numbers[i] - mean) * (numbers[i] - mean);
	reach = student(Z, count) * sqrt(squares / (double)(count - 1) / (double)count);
	return (struct spread){mean, mean - reach, mean + reach};
}
