/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * After which time a period ends, for a kind and its age bits (age.h).
 *
 * Let T be the period, and let a touch happen while the table is at tick x, at any
 * moment before tick x + 1. `exact` keeps x and ends the entry at tick x + T. The
 * others end it at a look, looks + 1 strides after the multiple of the stride at or
 * before x:
 *
 *     one age bit, T = 3         touch                           end
 *     tick   0     1     2     3   :  4     5     6     7     8     9
 *     look   |                 |                  |                 |
 *
 * So the time from touch to end is more than looks x stride, and at most
 * (looks + 1) x stride.
 */
#include <errno.h>

#include "table/age.h"
#include "table/kind.h"

static struct ink_expiry after_looks(uint32_t period, unsigned age_bits)
{
	uint64_t stride = ink_age_stride(period, age_bits), looks = ink_age_top(age_bits);

	return (struct ink_expiry){looks * stride, (looks + 1) * stride};
}

int ink_expiry(unsigned kind, unsigned age_bits, uint32_t period, struct ink_expiry *range)
{
	struct ink_kind_info info = {.size = sizeof info};
	int error = ink_kind_info(kind, &info);

	if (error)
		return error;
	if (age_bits > INK_AGE_MAX_BITS)
		return -EINVAL;
	if (!(info.can & INK_CAN_TIME_OUT))
		return -ENOTSUP;
	if (!age_bits || !period)
		*range = (struct ink_expiry){INK_NO_EXPIRY, INK_NO_EXPIRY};
	else if (info.can & INK_CAN_BE_EXACT)
		*range = (struct ink_expiry){period - 1, period};
	else
		*range = after_looks(period, age_bits);
	return 0;
}
