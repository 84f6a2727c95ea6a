/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/rate.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <strings.h>

double ink_decimal(const char *text, const char **rest)
{
	double value = 0, place = 1;

	for (; *text >= '0' && *text <= '9'; text++)
		value = value * 10 + (*text - '0');
	if (*text == '.')
		for (text++; *text >= '0' && *text <= '9'; text++)
			value += (*text - '0') * (place /= 10);
	*rest = text;
	return value;
}

static const struct {
	const char *name;
	uint64_t worth;
} units[] = {{"tbit", 1000000000000ull}, {"gbit", 1000000000}, {"mbit", 1000000}, {"kbit", 1000}, {"bit", 1}};

enum { UNITS = sizeof units / sizeof units[0] };

/* 0: it is none. */
static uint64_t unit_of(const char *text)
{
	unsigned i = 0;

	while (i < UNITS && strcasecmp(text, units[i].name))
		i++;
	return i < UNITS ? units[i].worth : 0;
}

int ink_rate_read(const char *text, uint64_t *rate)
{
	const char *rest;
	double value = ink_decimal(text, &rest);
	uint64_t unit = unit_of(rest);

	if (!unit || *text < '0' || *text > '9')
		return -EINVAL;
	value = round(value * (double)unit);
	if (value < 1e3 || value > 1e12)
		return -ERANGE;
	*rate = (uint64_t)value;
	return 0;
}

void ink_rate_show(uint64_t rate, char text[INK_RATE_TEXT])
{
	unsigned i = 0;

	while (rate % units[i].worth)
		i++;
	snprintf(text, INK_RATE_TEXT, "%llu%s", (unsigned long long)(rate / units[i].worth), units[i].name);
}
