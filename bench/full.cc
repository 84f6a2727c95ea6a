/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How much depends on how full an exact table is? Boost has 15 times a power of two of places and
 * grows above .875 of them: a million flows fill half. Here the number of flows is chosen so that
 * they fill .45 to .85 of boost's places; the one-line table has as many places for them. Inkling's
 * tables are made for the number of flows, and always as full.
 *
 * Hits, misses and churn, in bursts or with prefetches where a table has them, in turns.
 *
 * Result (C of docs/benchmarks.md, about 1M flows): from .45 to .85 boost's bits fall by half and its hits
 * take a sixth longer; its churn takes more than three times as long. The one-line table takes twice as
 * long for a hit, and nine times for churn.
 */
#include "bench/sections.h"
#include "bench/turns.h"

#include <algorithm>

namespace bench
{

namespace
{

constexpr double LOADS[] = { .45, .6, .75, .85 };
constexpr op SHOWN[] = { HIT, MISS, CHURN };
constexpr size_t GROUP = 15; /* boost's places in a group */

struct row {
	entrant e;
	samples ns[OPS];
};

/* The places of boost's map for n flows. */
size_t places_for(size_t n)
{
	size_t groups = 2;

	while (double(GROUP * groups) * .875 < double(n))
		groups *= 2;
	return GROUP * groups;
}

class fullness
{
public:
	fullness(const settings &s, report &out, size_t n, double load)
	    : out(out), load(load), rounds(s.quick ? 5 : 7), t(n, is_large(n) ? 1000000 : 500000)
	{
	}

	void run();

private:
	void enter();
	void enter(const char *name, table_ptr, bool is_exact);
	void measure();
	void print() const;
	const row &best_exact(op) const;

	report &out;
	double load;
	unsigned rounds;
	turns t;
	std::vector<row> rows;
};

void fullness::enter(const char *name, table_ptr table, bool is_exact)
{
	rows.push_back({ { name, is_exact, std::move(table), STATES }, {} });
}

void fullness::enter()
{
	size_t n = t.size();

	enter("line", make_inkling(options_of(variety::line, n), hashing::given, BATCHED), false);
	enter("compact", make_inkling(options_of(variety::compact, n), hashing::given, BATCHED), false);
	enter("boost", make_boost(n, hashing::given), true);
	enter("boost, ids", make_boost(n, hashing::given, boost_keys::ids), true);
	if (boost_has_two_passes())
		enter("boost, two passes", make_boost(n, hashing::given, boost_keys::ids_two_passes), true);
	enter("one line", make_one_line(n, load), true);
}

void fullness::measure()
{
	turns::rows all;

	for (row &r : rows)
		all.push_back(&r.e);
	t.fill(all);
	for (op o : SHOWN)
		for (unsigned i = 0; i < rounds; i++) {
			std::vector<double> ns = t.round(o, all, BATCHED, i);

			for (size_t k = 0; k < rows.size(); k++)
				rows[k].ns[o].add(ns[k]);
		}
}

const row &fullness::best_exact(op o) const
{
	const row *best = nullptr;

	for (const row &r : rows)
		if (r.e.is_exact && (!best || r.ns[o].median() < best->ns[o].median()))
			best = &r;
	return *best;
}

void fullness::print() const
{
	char at[32];

	snprintf(at, sizeof at, ", load %.2f", load);
	printf("\n%s flows%s\n%-18s %11s", with_commas(t.size()).c_str(), at, "", "bits a flow");
	for (op o : SHOWN)
		printf(" %16s", op_names[o]);
	printf("   beside the best exact, each\n");
	for (const row &r : rows) {
		where w = { "full", t.size(), r.e.name + at };

		printf("%-18s %11.1f", r.e.name.c_str(), r.e.bits(t.size()));
		for (op o : SHOWN) {
			printf(" %16s", cell(r.ns[o], "%.1f (%.1f-%.1f)").c_str());
			out.record(w, op_names[o], "ns", r.ns[o]);
		}
		out.record(w, "memory", "bits a flow", r.e.bits(t.size()));
		printf("  ");
		for (op o : SHOWN)
			printf(" %6.2fx", best_exact(o).ns[o].over(r.ns[o]).median());
		putchar('\n');
	}
}

void fullness::run()
{
	enter();
	measure();
	print();
	fflush(stdout);
}

} /* namespace */

void measure_fullness(const settings &s, report &out, size_t n)
{
	out.section("full: how much depends on how full an exact table is? ns, median (quartiles)");
	for (double load : LOADS)
		fullness(s, out, size_t(load * double(places_for(n))), load).run();
}

} /* namespace bench */
