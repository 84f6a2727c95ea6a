/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Is every shape of a table fast? The shape follows from the error, the number of states and
 * the age bits that a user asks for; the code for each is another.
 *
 * For each kind and error, the shapes of all numbers of states take turns with a reference and
 * with the exact peers: insert from empty to full, hits, and churn (a delete and an insert in
 * the full table), in bursts. Times are medians of rounds, ratios medians of each round's. The
 * references are the shapes that the benchmark has always run:
 *
 *     line      .1 %, 15 states, one age bit, whole lines; many writers have their own
 *     compact   remainders of 8 bits, 15 states, one age bit
 *
 * Result (C of docs/benchmarks.md): beside its reference compact does .7 to 1.2 times the hits and .6 to 1.15
 * times the churn, least at 5 %. Tables of line with few states take up to 1.35 times as long for a hit as
 * those of 15; in words, churn does .38 times that of whole lines.
 *
 * The exact peers are boost by 64-bit ids, the same with two passes, and the one-line table. A
 * wrong answer about a live flow ends the benchmark; without --quick, each flow is replaced 8.5
 * times at 1M flows.
 */
#include "bench/sections.h"
#include "bench/turns.h"

#include <algorithm>
#include <cmath>

namespace bench
{

namespace
{

constexpr op SHOWN[] = { INSERT, HIT, CHURN };

struct shape {
	unsigned states, age_bits;
};

struct row {
	entrant e;
	double error; /* planned */
	samples ns[OPS];
};

/* The tables of one kind and error. */
struct panel {
	variety kind;
	double error;
	row reference;
	std::vector<shape> shapes;
	std::vector<row> rows; /* as many; without a table where the kind has none */
};

const char *name_of(variety v)
{
	return v == variety::line ? "line" : v == variety::compact ? "compact" : "line, many writers";
}

struct ink_options options_for(variety v, size_t n, double error, shape s)
{
	struct ink_options o = options_of(v, n);

	o.geometry = {};
	o.error = error;
	o.states = s.states;
	o.age_bits = s.age_bits;
	return o;
}

/* NaN: the kind has no such shape. */
double planned_error(const struct ink_options &o)
{
	struct ink_plan plan = {};

	plan.size = sizeof plan;
	return ink_plan(&o, &plan, nullptr) ? NAN : plan.error;
}

std::string percent(double share)
{
	char text[32];

	snprintf(text, sizeof text, share < 1e-3 ? "%g" : "%g %%", share < 1e-3 ? share : share * 100);
	return text;
}

size_t slice_of(size_t n)
{
	return std::min(n, size_t(is_large(n) ? 1000000 : 500000));
}

class grid
{
public:
	grid(const settings &s, report &out, size_t n)
	    : how(s), out(out), rounds(s.quick       ? 5
				       : is_large(n) ? 7
						     : 17),
	      t(n, slice_of(n))
	{
	}

	void run();

private:
	void enter_peers();
	std::vector<shape> shapes() const;
	panel enter(variety, double error);

	void measure(panel &);
	void add(panel &, op, const std::vector<double> &ns);
	turns::rows all_of(panel &);

	const row &best_peer(op) const;
	void show(const panel &);
	void print_head(const panel &) const;
	void print(const panel &, const shape &, const row &);
	void record(const panel &, const shape &, const row &);
	void add_bars(const panel &, const shape &, const row &);
	void add_speed_bar(const panel &, const shape &, const row &, op, double limit);
	void compare_states(const panel &);

	const settings &how;
	report &out;
	unsigned rounds;
	turns t;
	std::vector<row> peers;
};

/* --------------------------------------------------------------- entrants */

row make_row(const std::string &name, table_ptr table, bool is_exact, unsigned states)
{
	return { { name, is_exact, std::move(table), states }, 0, {} };
}

void grid::enter_peers()
{
	size_t n = t.size();

	peers.push_back(make_row("boost, ids", make_boost(n, hashing::given, boost_keys::ids), true, STATES));
	if (boost_has_two_passes())
		peers.push_back(make_row("boost, two passes",
					 make_boost(n, hashing::given, boost_keys::ids_two_passes), true,
					 STATES));
	peers.push_back(make_row("one line", make_one_line(n, ONE_LINE_LOAD), true, STATES));
}

/* Two age bits come with 15 states only, unless they were asked for. */
std::vector<shape> grid::shapes() const
{
	std::vector<shape> all;

	for (unsigned age_bits : how.shapes.age_bits)
		for (unsigned states : how.shapes.states)
			if (age_bits == how.shapes.age_bits[0] || states == STATES)
				all.push_back({ states, age_bits });
	return all;
}

panel grid::enter(variety v, double error)
{
	calls bursts = { how.burst, false };
	table_ptr usual = make_inkling(options_of(v, t.size()), hashing::given, bursts);
	panel p = { v, error, make_row("the reference", std::move(usual), false, STATES), shapes(), {} };

	for (const shape &s : p.shapes) {
		struct ink_options o = options_for(v, t.size(), error, s);
		double planned = planned_error(o);
		table_ptr table;

		if (!std::isnan(planned))
			table = make_inkling(o, hashing::given, bursts);
		p.rows.push_back(make_row(name_of(v), std::move(table), false, s.states));
		p.rows.back().error = planned;
	}
	return p;
}

/* -------------------------------------------------------------- measuring */

/* The shapes first, then the reference and the peers. */
turns::rows grid::all_of(panel &p)
{
	turns::rows all;

	for (row &r : p.rows)
		if (r.e.table)
			all.push_back(&r.e);
	all.push_back(&p.reference.e);
	for (row &r : peers)
		all.push_back(&r.e);
	return all;
}

void grid::add(panel &p, op o, const std::vector<double> &ns)
{
	size_t i = 0;

	for (row &r : p.rows)
		if (r.e.table)
			r.ns[o].add(ns[i++]);
	p.reference.ns[o].add(ns[i++]);
	for (row &r : peers)
		r.ns[o].add(ns[i++]);
}

/* The peers are filled again with the others, so that inserts take turns, too. */
void grid::measure(panel &p)
{
	unsigned fills = how.quick || is_large(t.size()) ? 1 : 3;
	calls bursts = { how.burst, false };

	for (row &r : peers)
		for (samples &s : r.ns)
			s = samples();
	for (unsigned i = 0; i < fills; i++) {
		for (entrant *e : all_of(p))
			e->table->renew();
		add(p, INSERT, t.fill(all_of(p)));
	}
	for (op o : { HIT, CHURN })
		for (unsigned i = 0; i < rounds; i++)
			add(p, o, t.round(o, all_of(p), bursts, i));
}

/* --------------------------------------------------------------- printing */

const row &grid::best_peer(op o) const
{
	return *std::min_element(peers.begin(), peers.end(), [o](const row &a, const row &b) {
		return a.ns[o].median() < b.ns[o].median();
	});
}

void grid::print_head(const panel &p) const
{
	printf("\n%s, error %s; beside them, ns: the reference", name_of(p.kind), percent(p.error).c_str());
	for (op o : SHOWN)
		printf(" %s %.1f", op_names[o], p.reference.ns[o].median());
	for (op o : { HIT, CHURN })
		printf("; best exact at %s %s %.1f", op_names[o], best_peer(o).e.name.c_str(),
		       best_peer(o).ns[o].median());
	printf("\n%7s %4s %8s %10s %8s %8s %8s   %-24s %s\n", "states", "age", "bits", "planned", "insert",
	       "hit", "churn", "beside the reference", "beside the best exact");
	printf("%7s %4s %8s %10s %8s %8s %8s   %7s %7s %7s  %7s %7s\n", "", "", "a flow", "error", "ns", "ns",
	       "ns", "insert", "hit", "churn", "hit", "churn");
}

void grid::print(const panel &p, const shape &s, const row &r)
{
	printf("%7u %4u", s.states, s.age_bits);
	if (!r.e.table) {
		printf("   the kind has no such shape\n");
		return;
	}
	printf(" %8.2f %10.2e", r.e.bits(t.size()), r.error);
	for (op o : SHOWN)
		printf(" %8.1f", r.ns[o].median());
	printf("  ");
	for (op o : SHOWN)
		printf(" %6.2fx", p.reference.ns[o].over(r.ns[o]).median());
	printf(" ");
	for (op o : { HIT, CHURN })
		printf(" %6.2fx", best_peer(o).ns[o].over(r.ns[o]).median());
	putchar('\n');
}

void grid::record(const panel &p, const shape &s, const row &r)
{
	std::string name = std::string(name_of(p.kind)) + ", " + percent(p.error) + ", " +
			   std::to_string(s.states) + " states, age " + std::to_string(s.age_bits);
	where w = { "shapes", t.size(), name };

	out.record(w, "memory", "bits a flow", r.e.bits(t.size()));
	out.record(w, "planned error", "share", r.error);
	for (op o : SHOWN) {
		std::string what = op_names[o];

		out.record(w, op_names[o], "ns", r.ns[o]);
		out.record(w, (what + " beside the reference").c_str(), "x", p.reference.ns[o].over(r.ns[o]));
		out.record(w, (what + " beside the best exact").c_str(), "x",
			   best_peer(o).ns[o].over(r.ns[o]));
	}
}

/* ------------------------------------------------------------------- bars */

std::string bar_name(const panel &p, const shape &s)
{
	return std::string(name_of(p.kind)) + ", " + percent(p.error) + ", " + std::to_string(s.states) +
	       " states" + (s.age_bits > 1 ? ", 2 age bits" : "");
}

void grid::add_speed_bar(const panel &p, const shape &s, const row &r, op o, double limit)
{
	out.add({ bar_name(p, s) + ": " + op_names[o] + " beside the reference",
		  p.reference.ns[o].over(r.ns[o]).median(), limit, report::bar::at_least, "x" });
}

/*
 * The bits of compact's shapes at 1M flows when only remainders of 8 bits were fast, for 3 to 6 bits of
 * state and age: 2, 4 to 7, 15 and 31 states with one age bit.
 */
constexpr struct {
	double error, bits[4];
} BEFORE[] = {
	{ .05, { 14.17, 15.25, 16.33, 17.42 } },  { .01, { 14.56, 15.68, 16.63, 17.94 } },
	{ .004, { 15.64, 16.59, 17.61, 18.76 } }, { .001, { 17.35, 18.50, 19.81, 20.99 } },
	{ 1e-4, { 21.25, 22.10, 23.21, 25.08 } }, { 1e-6, { 29.05, 30.59, 30.65, 32.46 } },
};

/* 0: not known. */
double bits_before(double error, const shape &s)
{
	unsigned stored = unsigned(32 - __builtin_clz(s.states)) + s.age_bits;

	for (const auto &b : BEFORE)
		if (b.error == error && stored >= 3 && stored <= 6)
			return b.bits[stored - 3];
	return 0;
}

/* The bits that are promised for shapes of `line`, or 0. */
double promised_bits(const panel &p, const shape &s)
{
	if (p.error == 1e-4)
		return s.states == 15 && s.age_bits == 1 ? 25 : 0;
	if (p.error == 1e-3)
		return (s.states == 31 && s.age_bits == 1) || (s.states == 15 && s.age_bits == 2) ? 23.5 : 0;
	return 0;
}

void grid::add_bars(const panel &p, const shape &s, const row &r)
{
	if (!r.e.table || is_large(t.size()))
		return;
	if (p.kind == variety::compact) {
		add_speed_bar(p, s, r, HIT, .8);
		add_speed_bar(p, s, r, CHURN, .75);
		if (double before = t.size() == 1000000 ? bits_before(p.error, s) : 0)
			out.add({ bar_name(p, s) + ": bits beside those before", r.e.bits(t.size()) / before,
				  1.02, report::bar::at_most, "x" });
	} else if (double bits = promised_bits(p, s)) {
		if (p.kind == variety::line)
			out.add({ bar_name(p, s) + ": all bytes", r.e.bits(t.size()), bits,
				  report::bar::at_most, "bits" });
		add_speed_bar(p, s, r, HIT, .95);
		add_speed_bar(p, s, r, INSERT, .7);
		add_speed_bar(p, s, r, CHURN, .7);
	}
}

/* Tables of few states are as fast as those of 15, of the same error. */
void grid::compare_states(const panel &p)
{
	const row *usual = nullptr;

	if (p.kind == variety::compact || is_large(t.size()))
		return;
	for (size_t i = 0; i < p.shapes.size(); i++)
		if (p.shapes[i].states == STATES && p.shapes[i].age_bits == 1)
			usual = &p.rows[i];
	for (size_t i = 0; i < p.shapes.size(); i++)
		if (usual && usual->e.table && p.rows[i].e.table && p.shapes[i].states <= 7)
			out.add({ bar_name(p, p.shapes[i]) + ": time of a hit beside 15 states",
				  p.rows[i].ns[HIT].over(usual->ns[HIT]).median(), 1.15, report::bar::at_most,
				  "x" });
}

/* -------------------------------------------------------------------- all */

void grid::show(const panel &p)
{
	print_head(p);
	for (size_t i = 0; i < p.shapes.size(); i++) {
		print(p, p.shapes[i], p.rows[i]);
		if (p.rows[i].e.table)
			record(p, p.shapes[i], p.rows[i]);
		add_bars(p, p.shapes[i], p.rows[i]);
	}
	compare_states(p);
	fflush(stdout);
}

void grid::run()
{
	out.section("shapes: is every shape fast? %s flows, bursts of %zu, ns, medians of %u rounds",
		    with_commas(t.size()).c_str(), how.burst, rounds);
	enter_peers();
	for (variety v : how.shapes.kinds)
		for (double error : how.shapes.errors) {
			panel p = enter(v, error);

			measure(p);
			show(p);
		}
	printf("\nEach flow of each shape was replaced %.1f times, without a wrong answer.\n",
	       double(rounds) * double(slice_of(t.size())) / double(t.size()));
}

} /* namespace */

void measure_shapes(const settings &s, report &out, size_t n)
{
	grid(s, out, n).run();
}

} /* namespace bench */
