/* SPDX-License-Identifier: BSD-2-Clause */
#include "bench/report.h"

#include <cerrno>
#include <cmath>
#include <cstdarg>
#include <cstring>

namespace bench
{

report::report(const char *path) : ndjson(path ? fopen(path, "w") : nullptr)
{
	if (path && !ndjson)
		die("%s: cannot write: %s", path, strerror(errno));
}

report::~report()
{
	if (ndjson)
		fclose(ndjson);
}

void report::section(const char *format, ...)
{
	va_list arguments;

	fputs("\n== ", stdout);
	va_start(arguments, format);
	vprintf(format, arguments);
	va_end(arguments);
	fputc('\n', stdout);
	fflush(stdout);
}

void report::record(const where &w, const char *what, const char *unit, const samples &s)
{
	if (!ndjson || s.empty())
		return;
	fprintf(ndjson,
		"{\"section\":\"%s\",\"flows\":%zu,\"row\":\"%s\",\"what\":\"%s\",\"unit\":\"%s\","
		"\"median\":%.6g,\"q1\":%.6g,\"q3\":%.6g}\n",
		w.section, w.flows, w.row.c_str(), what, unit, s.median(), s.quantile(.25), s.quantile(.75));
	fflush(ndjson);
}

void report::record(const where &w, const char *what, const char *unit, double value)
{
	samples one;

	one.add(value);
	record(w, what, unit, one);
}

void report::add(const bar &b)
{
	bars.push_back(b);
}

static std::string print(const char *format, ...)
{
	char text[64];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(text, sizeof text, format, arguments);
	va_end(arguments);
	return text;
}

enum class verdict { met, missed, not_measured };

static verdict judge(const report::bar &b)
{
	if (std::isnan(b.value))
		return verdict::not_measured;
	bool met = b.sense == report::bar::at_most ? b.value <= b.limit : b.value >= b.limit;

	return met ? verdict::met : verdict::missed;
}

void report::print_bars() const
{
	static const char *const words[] = { "yes", "NO", "not measured" };
	unsigned counts[3] = {};

	for (const bar &b : bars) {
		unsigned v = unsigned(judge(b));

		counts[v]++;
		printf("%-74s %8s %-8s %s %-6.4g %s\n", b.text.c_str(),
		       std::isnan(b.value) ? "-" : print("%.3g", b.value).c_str(), b.unit,
		       b.sense == bar::at_most ? "<=" : ">=", b.limit, words[v]);
	}
	printf("%zu bars, %u missed", bars.size(), counts[1]);
	printf(counts[2] ? ", %u not measured\n" : "\n", counts[2]);
}

std::string with_commas(uint64_t n)
{
	std::string digits = std::to_string(n);

	for (size_t i = digits.size(); i > 3; i -= 3)
		digits.insert(i - 3, ",");
	return digits;
}

std::string rate_cell(const samples &s, double scale)
{
	if (s.empty())
		return "-";
	return print("%.1f (%.0f-%.0f)", scale / s.median(), scale / s.quantile(.75),
		     scale / s.quantile(.25));
}

std::string cell(const samples &s, const char *format)
{
	if (s.empty())
		return "-";
	return print(format, s.median(), s.quantile(.25), s.quantile(.75));
}

} /* namespace bench */
