/* SPDX-License-Identifier: BSD-2-Clause */
/* What the benchmark says: tables for people, NDJSON for programs, and the bars at the end. */
#ifndef BENCH_REPORT_H
#define BENCH_REPORT_H

#include "bench/harness.h"

#include <cstdio>

namespace bench
{

/* Which of several measurements a number belongs to. */
struct where {
	const char *section;
	size_t flows;
	std::string row;
};

class report
{
public:
	/* `path` of the NDJSON file, or NULL. */
	explicit report(const char *path);
	~report();

	report(const report &) = delete;
	report &operator=(const report &) = delete;

	/* Begins a section with its question. */
	void section(const char *format, ...) __attribute__((format(printf, 2, 3)));

	/* Puts the median and the quartiles of one measurement into the NDJSON file. */
	void record(const where &, const char *what, const char *unit, const samples &);
	void record(const where &, const char *what, const char *unit, double value);

	/* A promise of the project, and what was measured. `value` NaN: not measured. */
	struct bar {
		std::string text;
		double value, limit;
		enum { at_least, at_most } sense;
		const char *unit;
	};
	void add(const bar &);
	void print_bars() const;

private:
	FILE *ndjson;
	std::vector<bar> bars;
};

/* 1,000,000 */
std::string with_commas(uint64_t);

/* "12.3 (11-14)": `scale` / each of the median and the quartiles of a time, or blanks. */
std::string rate_cell(const samples &, double scale);

/* The same for a value itself. */
std::string cell(const samples &, const char *format);

} /* namespace bench */

#endif
