/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How long do the slowest inserts take? A flow leaves a full table, a new one
 * is inserted, and each insert is timed by itself with the time stamp counter.
 * That is wall time: interrupts in between count, too.
 *
 * Result (C of docs/benchmarks.md, 1M flows): 99.99 % take less than 13 us in line, 12 in compact
 * and 14 in boost, which are interrupts; the medians are 60, 70 and 80 ns.
 */
#include "bench/sections.h"

#include <x86intrin.h>

namespace bench
{

namespace
{

constexpr size_t SLICE = 100000;

struct entrant {
	const char *name;
	table_ptr table;
	samples ticks;
};

/* The fences keep the insert between the two readings. */
uint64_t stamp()
{
	_mm_lfence();
	uint64_t now = __rdtsc();

	_mm_lfence();
	return now;
}

double nanoseconds_per_tick()
{
	double start = wall_seconds();
	uint64_t first = stamp();

	while (wall_seconds() - start < .05)
		;
	uint64_t last = stamp();

	return (wall_seconds() - start) * 1e9 / double(last - first);
}

void churn(entrant &e, const flows::change &c)
{
	for (size_t i = 0; i < c.gone.n; i++) {
		uint64_t bad = e.table->erase(part(c.gone, i, 1));
		uint64_t start = stamp();

		bad += e.table->insert(part(c.born, i, 1));
		e.ticks.add(double(stamp() - start));
		if (bad)
			die("%s: churn fails at full load", e.name);
	}
}

std::vector<entrant> enter(size_t n)
{
	std::vector<entrant> all;
	auto inkling = [&](variety v) { return make_inkling(options_of(v, n), hashing::given, SINGLE); };

	all.push_back({ "line", inkling(variety::line), {} });
	all.push_back({ "line, many writers", inkling(variety::line_writers), {} });
	all.push_back({ "compact", inkling(variety::compact), {} });
	all.push_back({ "boost", make_boost(n, hashing::given), {} });
	return all;
}

} /* namespace */

void measure_latency(const settings &s, report &out, size_t n)
{
	std::vector<entrant> all = enter(n);
	flows f(n);
	const slice &everybody = f.fill(0, n);

	for (entrant &e : all)
		if (e.table->insert(everybody))
			die("%s: cannot be filled", e.name);
	for (unsigned i = 0; i < (s.quick ? 5u : 20u); i++) {
		flows::change change = f.churned(SLICE);

		for (entrant &e : all)
			churn(e, change);
	}
	double scale = nanoseconds_per_tick();

	out.section("latency: one insert in churn at full load, %s flows, ns of wall time",
		    with_commas(n).c_str());
	printf("%-21s %10s %10s %10s %10s\n", "", "median", "p99", "p99.99", "longest");
	for (const entrant &e : all) {
		printf("%-21s %10.0f %10.0f %10.0f %10.0f\n", e.name, e.ticks.median() * scale,
		       e.ticks.quantile(.99) * scale, e.ticks.quantile(.9999) * scale,
		       e.ticks.quantile(1) * scale);
		out.record({ "latency", n, e.name }, "p99.99 of an insert", "ns",
			   e.ticks.quantile(.9999) * scale);
		out.record({ "latency", n, e.name }, "longest insert", "ns", e.ticks.quantile(1) * scale);
	}
}

} /* namespace bench */
