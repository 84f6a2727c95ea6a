/* SPDX-License-Identifier: BSD-2-Clause */
/* One line that says what is wrong. */
#ifndef INKLING_BASE_ERROR_H
#define INKLING_BASE_ERROR_H

#include <inkling/inkling.h>

#include <stdarg.h>
#include <stdio.h>

/* For messages with a number: the ending of the noun, and the verb. */
static inline const char *ink_plural(unsigned long long n)
{
	return n == 1 ? "" : "s";
}

static inline const char *ink_are(unsigned long long n)
{
	return n == 1 ? "is" : "are";
}

/* Writes the reason, unless `why` is NULL, and passes the error on. */
__attribute__((format(printf, 3, 4))) static inline int ink_fail(struct ink_why *why, int error,
								    const char *format, ...)
{
	va_list args;

	if (!why)
		return error;
	va_start(args, format);
	vsnprintf(why->text, sizeof why->text, format, args);
	va_end(args);
	return error;
}

#endif
