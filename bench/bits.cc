/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How many bits does a flow take, and how many strangers get a state? All allocated bytes,
 * for numbers of flows that are not a power of two.
 *
 * Result: line 22.5 bits and .07 %, for many writers 25.8 and .06 %; compact 17.6 and .39 %.
 */
#include "bench/sections.h"

namespace bench
{

namespace
{

struct promise {
	variety what;
	const char *name;
	size_t n;
	double bits, error;
};

constexpr promise PROMISES[] = {
	{ variety::line, "line, one writer", 1000000, 22.5, .001 },
	{ variety::line, "line, one writer", 1300000, 22.5, .001 },
	{ variety::line_writers, "line, many writers", 1000000, 26, .001 },
	{ variety::compact, "compact, r = 8", 1000000, 17.8, .0042 },
};

constexpr size_t SLICE = 1000000, STRANGERS = 8 * SLICE; /* at 0.07 %: 5,600 +- 75 false positives */

double false_positives(table &t, flows &f)
{
	uint64_t found = 0;

	for (size_t asked = 0; asked < STRANGERS; asked += SLICE)
		found += t.miss(f.strangers(SLICE));
	return double(found) / double(STRANGERS);
}

void keep(const promise &p, report &out)
{
	table_ptr t = make_inkling(options_of(p.what, p.n), hashing::given, BATCHED);
	flows f(p.n);
	uint64_t bad = t->insert(f.fill(0, p.n)) + t->hit(f.next(p.n));

	if (bad)
		die("%s: %lu wrong answers about live flows", p.name, bad);
	double bits = double(t->bytes()) * 8 / double(p.n), error = false_positives(*t, f);
	std::string text = with_commas(p.n) + ": " + p.name;

	printf("%-21s %12s flows %8.2f bits a flow %9.4f %% false positives\n", p.name,
	       with_commas(p.n).c_str(), bits, error * 100);
	out.record({ "bits", p.n, p.name }, "memory", "bits a flow", bits);
	out.record({ "bits", p.n, p.name }, "false positives", "share", error);
	out.add({ text + ", all bytes", bits, p.bits, report::bar::at_most, "bits" });
	out.add({ text + ", false positives", error * 100, p.error * 100, report::bar::at_most, "%" });
}

} /* namespace */

void count_bits(report &out)
{
	out.section("bits: how much memory does a flow take, and how often does a stranger get an answer?");
	for (const promise &p : PROMISES)
		keep(p, out);
}

} /* namespace bench */
