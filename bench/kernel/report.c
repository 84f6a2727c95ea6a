/* SPDX-License-Identifier: BSD-2-Clause */
#include "bench/kernel/report.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

static FILE *ndjson;

static struct bar {
	char text[96];
	double value, limit;
	int at_least;
	const char *unit;
} bars[32];
static unsigned n_bars;

_Noreturn void die(const char *format, ...)
{
	va_list arguments;

	fflush(stdout);
	fputs("bench-kernel: ", stderr);
	va_start(arguments, format);
	vfprintf(stderr, format, arguments);
	va_end(arguments);
	fputc('\n', stderr);
	exit(1);
}

/* ------------------------------------------------------------------ samples */

void samples_add(struct samples *s, double value)
{
	if (s->n < BENCH_ROUNDS)
		s->at[s->n++] = value;
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

double samples_quantile(const struct samples *s, double q)
{
	struct samples sorted = *s;
	double at = q * (s->n ? s->n - 1 : 0);
	unsigned low = (unsigned)at, high = low + 1 < s->n ? low + 1 : low;

	if (!s->n)
		return NAN;
	qsort(sorted.at, sorted.n, sizeof *sorted.at, compare);
	return sorted.at[low] + (at - low) * (sorted.at[high] - sorted.at[low]);
}

struct samples samples_less(const struct samples *a, const struct samples *b)
{
	struct samples s = {.n = 0};

	for (unsigned i = 0; i < a->n && i < b->n; i++)
		samples_add(&s, a->at[i] - b->at[i]);
	return s;
}

struct samples samples_over(const struct samples *a, const struct samples *b)
{
	struct samples s = {.n = 0};

	for (unsigned i = 0; i < a->n && i < b->n; i++)
		samples_add(&s, a->at[i] / b->at[i]);
	return s;
}

struct cell cell_of(const struct samples *s, int decimals)
{
	struct cell c = {"-"};

	if (s->n)
		snprintf(c.text, sizeof c.text, "%.*f (%.*f-%.*f)", decimals, samples_median(s), decimals,
			 samples_quantile(s, .25), decimals, samples_quantile(s, .75));
	return c;
}

/* ------------------------------------------------------------------- output */

void report_begin(const char *path)
{
	ndjson = path ? fopen(path, "w") : NULL;
	if (path && !ndjson)
		die("%s: cannot write: %s", path, strerror(errno));
}

void report_section(const char *format, ...)
{
	va_list arguments;

	fputs("\n== ", stdout);
	va_start(arguments, format);
	vprintf(format, arguments);
	va_end(arguments);
	fputc('\n', stdout);
	fflush(stdout);
}

void report_record(const char *section, const char *row, const char *what, const char *unit,
		   const struct samples *s)
{
	if (!ndjson || !s->n)
		return;
	fprintf(ndjson,
		"{\"section\":\"%s\",\"row\":\"%s\",\"what\":\"%s\",\"unit\":\"%s\",\"median\":%.9g,\"q1\":%.9g,"
		"\"q3\":%.9g}\n",
		section, row, what, unit, samples_median(s), samples_quantile(s, .25),
		samples_quantile(s, .75));
}

void report_value(const char *section, const char *row, const char *what, const char *unit, double value)
{
	const struct samples s = {{value}, 1};

	report_record(section, row, what, unit, &s);
}

/* --------------------------------------------------------------------- bars */

static void add_bar(const char *text, double value, double limit, const char *unit, int at_least)
{
	struct bar *b = &bars[n_bars];

	if (n_bars == sizeof bars / sizeof *bars)
		die("too many bars");
	*b = (struct bar){.value = value, .limit = limit, .unit = unit, .at_least = at_least};
	snprintf(b->text, sizeof b->text, "%s", text);
	n_bars++;
}

void report_at_most(const char *text, double value, double limit, const char *unit)
{
	add_bar(text, value, limit, unit, 0);
}

void report_at_least(const char *text, double value, double limit, const char *unit)
{
	add_bar(text, value, limit, unit, 1);
}

enum verdict { MET, MISSED, NOT_MEASURED };

static enum verdict judge(const struct bar *b)
{
	if (isnan(b->value))
		return NOT_MEASURED;
	return (b->at_least ? b->value >= b->limit : b->value <= b->limit) ? MET : MISSED;
}

void report_end(void)
{
	static const char *const words[] = {"yes", "NO", "not measured"};
	unsigned counts[3] = {0};

	report_section("bars: what the project promises, and what was measured here");
	for (unsigned i = 0; i < n_bars; i++) {
		const struct bar *b = &bars[i];
		char value[32] = "-";

		if (judge(b) != NOT_MEASURED)
			snprintf(value, sizeof value, b->value >= 1000 ? "%.0f" : "%.3g", b->value);
		printf("%-74s %8s %-8s %s %-6.6g %s\n", b->text, value, b->unit,
		       b->at_least ? ">=" : "<=", b->limit, words[judge(b)]);
		counts[judge(b)]++;
	}
	printf("%u bars, %u missed", n_bars, counts[MISSED]);
	printf(counts[NOT_MEASURED] ? ", %u not measured\n" : "\n", counts[NOT_MEASURED]);
	if (ndjson)
		fclose(ndjson);
}
