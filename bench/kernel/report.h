/* SPDX-License-Identifier: BSD-2-Clause */
/* What the benchmark of the kernel says: cells of tables, NDJSON, and the bars at the end, as bench/report.h has them. */
#ifndef BENCH_KERNEL_REPORT_H
#define BENCH_KERNEL_REPORT_H

#include <stdio.h>

enum { BENCH_ROUNDS = 64 };

struct samples {
	double at[BENCH_ROUNDS];
	unsigned n;
};

void samples_add(struct samples *s, double value);
double samples_quantile(const struct samples *s, double q);

static inline double samples_median(const struct samples *s)
{
	return samples_quantile(s, .5);
}

/* a - b and (a - b) / (c - d), round by round. */
struct samples samples_less(const struct samples *a, const struct samples *b);
struct samples samples_over(const struct samples *a, const struct samples *b);

/* "12.3 (11-14)": median and quartiles. */
struct cell {
	char text[32];
};
struct cell cell_of(const struct samples *s, int decimals);

void report_begin(const char *ndjson); /* a path, or NULL */
void report_section(const char *format, ...) __attribute__((format(printf, 1, 2)));
void report_record(const char *section, const char *row, const char *what, const char *unit,
		   const struct samples *s);
void report_value(const char *section, const char *row, const char *what, const char *unit, double value);

/* A promise of the project, and what was measured; NaN: not measured. */
void report_at_most(const char *text, double value, double limit, const char *unit);
void report_at_least(const char *text, double value, double limit, const char *unit);
void report_end(void);

/* Prints and ends the process: the benchmark cannot go on, or an answer was wrong. */
_Noreturn void die(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
