/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What do bursts and fetches gain? Data planes have bursts of 32 packets or so; many programs
 * have one packet at a time.
 *
 * Each table is called in five ways, in turns with the others: by single calls; by single calls
 * with the memory of the item 16 calls later fetched; in bursts of 32; the same with the next
 * burst fetched; and in bursts of 256. Inkling's tables do that by ink_fetch and, for the same
 * half of the next burst before each half of this one, by ink_fetch_batch; the others by
 * prefetches of their own. A blank: the table has no such way.
 *
 * Boost's calls take one item each. With two passes (peer_boost.cc) it is as fast as anything
 * that is built on its structure could be.
 *
 * Result (C of docs/benchmarks.md, 16M flows): a single hit takes line 69 ns, boost by ids 33 and the one-line
 * table 28; fetched, line takes 17 and the one-line table 14. A hit in bursts of 32 takes line 16 ns, fetched
 * 13, and 8.5 in bursts of 256, where line and the one-line table are about equally fast. Two passes gain boost
 * nothing for hits and a quarter of the churn. At 1M flows fetches gain single calls little, and bursts of 32
 * take 1.4 times as long with them.
 */
#include "bench/sections.h"
#include "bench/turns.h"

#include <cmath>

namespace bench
{

namespace
{

struct way {
	const char *name;
	calls how;
};

enum { ONE, ONE_FETCHED, SMALL, SMALL_FETCHED, LARGE, WAYS };

constexpr way WAY[WAYS] = {
	{ "single", { 1, false } },      { "single, fetched", { 1, true } }, { "32", { 32, false } },
	{ "32, fetched", { 32, true } }, { "256", { 256, false } },
};

constexpr op SHOWN[] = { HIT, MODIFY, CHURN };

/* The ways that a table has. */
enum class has { all, single_calls, prefetches };

struct row {
	entrant e;
	has ways;
	samples ns[WAYS][OPS];

	bool can(unsigned w) const
	{
		bool plain = !WAY[w].how.fetched && WAY[w].how.burst == 1;

		return ways == has::all || (ways == has::single_calls) == plain;
	}
};

class bursts
{
public:
	bursts(const settings &s, report &out, size_t n)
	    : out(out), rounds(s.quick       ? 5
			       : is_large(n) ? 7
					     : 11),
	      t(n, is_large(n) ? 1000000 : 500000)
	{
	}

	void enter();
	void measure();
	void print();
	void add_bars();

private:
	void enter(const char *name, table_ptr, bool is_exact, has);
	void round(op, unsigned number);
	void print(op) const;
	void record() const;
	double ratio(const samples &, const samples &) const;
	const row &find(const std::string &name) const;
	void add_bars(const std::string &name);

	report &out;
	unsigned rounds;
	turns t;
	std::vector<row> rows;
};

/* --------------------------------------------------------------- entrants */

void bursts::enter(const char *name, table_ptr table, bool is_exact, has ways)
{
	rows.push_back({ { name, is_exact, std::move(table), STATES }, ways, {} });
}

void bursts::enter()
{
	size_t n = t.size();
	struct ink_options by_default = options_of(variety::compact, n);
	auto inkling = [](const struct ink_options &o) { return make_inkling(o, hashing::given, BATCHED); };

	by_default.error = 0;
	by_default.geometry = {};
	enter("line", inkling(options_of(variety::line, n)), false, has::all);
	enter("line, many writers", inkling(options_of(variety::line_writers, n)), false, has::all);
	enter("compact, r = 8", inkling(options_of(variety::compact, n)), false, has::all);
	enter("compact, default error", inkling(by_default), false, has::all);
	enter("one line", make_one_line(n, ONE_LINE_LOAD), true, has::all);
	enter("boost", make_boost(n, hashing::given), true, has::single_calls);
	enter("boost, ids", make_boost(n, hashing::given, boost_keys::ids), true, has::single_calls);
	if (boost_has_two_passes())
		enter("boost, two passes", make_boost(n, hashing::given, boost_keys::ids_two_passes), true,
		      has::prefetches);
	enter("absl prefetch", make_absl(n, hashing::given, true), true, has::prefetches);
}

/* -------------------------------------------------------------- measuring */

/* A slice for each way: churn cannot be repeated. All rows do it, so that they hold the same flows. */
void bursts::round(op o, unsigned number)
{
	turns::rows all;

	for (row &r : rows)
		all.push_back(&r.e);
	for (unsigned w = 0; w < WAYS; w++) {
		std::vector<double> ns = t.round(o, all, WAY[w].how, number);

		for (size_t i = 0; i < rows.size(); i++)
			if (rows[i].can(w))
				rows[i].ns[w][o].add(ns[i]);
	}
}

void bursts::measure()
{
	turns::rows all;

	for (row &r : rows)
		all.push_back(&r.e);
	t.fill(all);
	for (op o : SHOWN)
		for (unsigned i = 0; i < rounds; i++)
			round(o, i);
}

/* --------------------------------------------------------------- printing */

void bursts::print(op o) const
{
	printf("\n%-23s", op_names[o]);
	for (const way &w : WAY)
		printf(" %18s", w.name);
	putchar('\n');
	for (const row &r : rows) {
		printf("%-23s", r.e.name.c_str());
		for (unsigned w = 0; w < WAYS; w++)
			printf(" %18s", r.can(w) ? cell(r.ns[w][o], "%.1f (%.1f-%.1f)").c_str() : "");
		putchar('\n');
	}
}

void bursts::record() const
{
	for (const row &r : rows) {
		where at = { "bursts", t.size(), r.e.name };

		for (unsigned w = 0; w < WAYS; w++)
			for (op o : SHOWN)
				out.record(at, (std::string(op_names[o]) + ", " + WAY[w].name).c_str(), "ns",
					   r.ns[w][o]);
		out.record(at, "memory", "bits a flow", r.e.bits(t.size()));
	}
}

void bursts::print()
{
	out.section("bursts: what do bursts and fetches gain? %s flows, ns, median (quartiles) of %u rounds",
		    with_commas(t.size()).c_str(), rounds);
	for (op o : SHOWN)
		print(o);
	fflush(stdout);
	record();
}

/* ------------------------------------------------------------------- bars */

const row &bursts::find(const std::string &name) const
{
	for (const row &r : rows)
		if (r.e.name == name)
			return r;
	die("no row %s", name.c_str());
}

/* The median of a by b, round by round; NaN: one of them was not measured. */
double bursts::ratio(const samples &a, const samples &b) const
{
	return a.empty() || b.empty() ? NAN : a.over(b).median();
}

void bursts::add_bars(const std::string &name)
{
	const row &r = find(name), &one_line = find("one line"), &keys = find("boost"),
		  &ids = find("boost, ids");
	bool by_ids = ids.ns[ONE][HIT].median() < keys.ns[ONE][HIT].median();
	std::string text = with_commas(t.size()) + ": " + name;

	out.add({ text + ", hit, time of bursts of 32, fetched, beside 256",
		  ratio(r.ns[SMALL_FETCHED][HIT], r.ns[LARGE][HIT]), 1.25, report::bar::at_most, "x" });
	out.add({ text + ", hit, single, fetched, beside single calls of " + (by_ids ? ids : keys).e.name,
		  ratio((by_ids ? ids : keys).ns[ONE][HIT], r.ns[ONE_FETCHED][HIT]), 1.3,
		  report::bar::at_least, "x" });
	out.add({ text + ", hit, single, fetched, beside one line",
		  ratio(one_line.ns[ONE_FETCHED][HIT], r.ns[ONE_FETCHED][HIT]), 1, report::bar::at_least,
		  "x" });
}

void bursts::add_bars()
{
	if (is_large(t.size()))
		add_bars("line");
}

} /* namespace */

void measure_bursts(const settings &s, report &out, size_t n)
{
	bursts b(s, out, n);

	b.enter();
	b.measure();
	b.print();
	b.add_bars();
}

} /* namespace bench */
