/* SPDX-License-Identifier: BSD-2-Clause */
#include "statistics.h"

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

struct spread interval_99(double hits, double trials)
{
	const double z = 2.5758293035489; /* of the normal distribution, half a percent lies beyond it */
	double share = hits / trials;
	double middle = (share + z * z / (2 * trials)) / (1 + z * z / trials);
	double reach =
		z / (1 + z * z / trials) * sqrt(share * (1 - share) / trials + z * z / (4 * trials * trials));

	return (struct spread){share, fmax(0, middle - reach), fmin(1, middle + reach)};
}
