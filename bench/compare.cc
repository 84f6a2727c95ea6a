/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How fast is every operation, for all competitors, in alternation?
 *
 * Result (C of docs/benchmarks.md, 1M flows, batched, beside the best exact peer, boost by ids):
 * line does 3.4 times the hits and 3.1 times the churn in a twelfth of the bits, compact 1.7
 * times both. Single calls do .7 to 1.5 times. The one-line table is the nearest: line does 1.25
 * times its hits at 1M flows, and as many at 16M.
 *
 * A round gives each row one slice of the same input; the row that begins
 * changes from round to round. A row starts with caches full of another row's
 * lines, so the beginning of its slice is not timed, except for insert, where a
 * sample is a whole fill, and delete.
 *
 *     fill 0: insert, then rounds of hit, of miss, of modify
 *     fill 1: insert, then rounds of churn, then delete
 *     fill 2: insert, then delete; and so on
 *
 * All rows but rte_member answer exactly about live flows: a wrong answer ends the
 * benchmark.
 */
#include "bench/sections.h"
#include "bench/turns.h"

#include <algorithm>

namespace bench
{

namespace
{

struct row {
	enum kind { inkling, exact, bound, approximate, gather }; /* bound: exact, but ours and no peer */

	std::string name;
	kind what;
	table_ptr table;
	uint64_t bytes, huge; /* huge: of them in huge pages */
	samples ns[OPS];
	uint64_t wrong, asked, found; /* found: of `asked` strangers */
};

struct plan {
	unsigned fills, rounds;
	size_t slice, cold; /* cold: of the slice, not timed */
};

/*
 * Of the 700,000 lines of a table of 45 MB, 250,000 items would touch only half, too
 * few to warm the cache. Twice as many touch three quarters, and in churn nearly
 * all.
 */
plan plan_for(const settings &s, size_t n)
{
	bool large = is_large(n);
	size_t slice = std::min(n, size_t(1000000)), cold = large ? slice / 2 : slice / 4;

	if (s.quick)
		return { 3, 5, slice, cold };
	return large ? plan{ 2, 7, slice, cold } : plan{ 6, 11, slice, cold };
}

class comparison
{
public:
	comparison(const settings &s, report &r, size_t n, hashing h)
	    : how(s), p(plan_for(s, n)), out(r), n(n), h(h), f(n),
	      section(h == hashing::given ? "ids given" : "from keys")
	{
	}

	void enter();
	void measure();
	void print();
	void add_bars();

private:
	template <class Make> void enter(const char *name, row::kind, Make);
	void enter_inkling();
	void enter_exact();
	void enter_others();

	double timed(row &, op, const slice &, const slice &born);
	void fill(unsigned number);
	void drain();
	void rounds(op);
	void round(op, unsigned number);

	void print_rates() const;
	template <class Other> void print_ratios(const char *title, Other) const;
	void print_memory() const;
	void record();

	const row &find(const std::string &name) const;
	const row *best_exact(op) const;
	samples speed(const row &, op) const;
	void add_bar(const row &, op, double limit);

	const settings &how;
	plan p;
	report &out;
	size_t n;
	hashing h;
	flows f;
	const char *section;
	std::vector<row> rows;
};

/* --------------------------------------------------------------- entrants */

/* Tables are created one at a time: huge pages that the process gains then are the table's. */
template <class Make> void comparison::enter(const char *name, row::kind what, Make make)
{
	uint64_t before = bytes_in_huge_pages();
	table_ptr t = make();
	uint64_t bytes = t->bytes(), huge = std::min(bytes, bytes_in_huge_pages() - before);

	rows.push_back({ name, what, std::move(t), bytes, huge, {}, 0, 0, 0 });
}

void comparison::enter_inkling()
{
	struct ink_options line = options_of(variety::line, n), compact = options_of(variety::compact, n);
	struct ink_options writers = options_of(variety::line_writers, n);
	struct ink_options by_default = compact;
	calls bursts = { how.burst, false };

	by_default.error = 0;
	by_default.geometry = {};
	enter("line", row::inkling, [&] { return make_inkling(line, h, SINGLE); });
	enter("line, batched", row::inkling, [&] { return make_inkling(line, h, bursts); });
	enter("line, many writers", row::inkling, [&] { return make_inkling(writers, h, SINGLE); });
	enter("line, m. w., batched", row::inkling, [&] { return make_inkling(writers, h, bursts); });
	enter("compact", row::inkling, [&] { return make_inkling(compact, h, SINGLE); });
	enter("compact, default err.", row::inkling, [&] { return make_inkling(by_default, h, bursts); });
	enter("compact, batched", row::inkling, [&] { return make_inkling(compact, h, bursts); });
}

void comparison::enter_exact()
{
	enter("boost", row::exact, [&] { return make_boost(n, h); });
	if (h == hashing::given)
		enter("boost, ids", row::exact, [&] { return make_boost(n, h, boost_keys::ids); });
	if (h == hashing::given && boost_has_two_passes())
		enter("boost, two passes", row::exact,
		      [&] { return make_boost(n, h, boost_keys::ids_two_passes); });
	enter("absl", row::exact, [&] { return make_absl(n, h, false); });
	enter("absl prefetch", row::exact, [&] { return make_absl(n, h, true); });
	enter("rte_hash", row::exact, [&] { return make_rte_hash(n, h, rte_way::single); });
	enter("rte_hash bulk", row::exact, [&] { return make_rte_hash(n, h, rte_way::bulk); });
	enter("rte_hash array", row::exact, [&] { return make_rte_hash(n, h, rte_way::bulk_array); });
}

void comparison::enter_others()
{
	uint64_t bytes = find("line").bytes;

	if (h == hashing::given)
		enter("one line", row::bound, [&] { return make_one_line(n, ONE_LINE_LOAD); });
	if (h == hashing::own) {
		enter("rte_member", row::approximate, [&] { return make_rte_member(n, rte_way::single); });
		enter("rte_member bulk", row::approximate, [&] { return make_rte_member(n, rte_way::bulk); });
	}
	enter("gather of 1 line", row::gather, [&] { return make_gather(bytes, 1); });
	enter("gather of 2 lines", row::gather, [&] { return make_gather(bytes, 2); });
}

void comparison::enter()
{
	enter_inkling();
	enter_exact();
	enter_others();
}

/* -------------------------------------------------------------- measuring */

/* Returns the seconds that it took. */
double comparison::timed(row &r, op o, const slice &s, const slice &born)
{
	double start = cpu_seconds();
	uint64_t bad = run(*r.table, o, s, born);
	double took = cpu_seconds() - start;

	if (o == MISS) {
		r.asked += s.n;
		r.found += bad;
	} else {
		r.wrong += bad;
	}
	if (r.what != row::approximate && r.wrong)
		die("%s, %s: %lu wrong answers about live flows", r.name.c_str(), op_names[o], r.wrong);
	if ((r.what == row::exact || r.what == row::bound) && r.found)
		die("%s claims to know %lu strangers", r.name.c_str(), r.found);
	return took;
}

/* Rows that only look up are filled once, and skip the other fills. */
void comparison::fill(unsigned number)
{
	std::vector<double> took(rows.size());
	auto plays = [&](const row &r) { return !number || r.table->can(INSERT); };

	for (row &r : rows)
		if (number && plays(r))
			r.table->renew();
	for (size_t from = 0; from < n; from += p.slice) {
		const slice &s = f.fill(from, std::min(p.slice, n - from));

		for (size_t i = 0; i < rows.size(); i++)
			if (plays(rows[i]))
				took[i] += timed(rows[i], INSERT, s, s);
	}
	for (size_t i = 0; i < rows.size(); i++)
		if (rows[i].table->can(INSERT))
			rows[i].ns[INSERT].add(took[i] / double(n) * 1e9);
}

/* A quarter of the flows leave. */
void comparison::drain()
{
	for (size_t gone = 0; gone < n / 4; gone += p.slice) {
		const slice &s = f.next(std::min(p.slice, n / 4 - gone));

		for (row &r : rows)
			if (r.table->can(DELETE))
				r.ns[DELETE].add(timed(r, DELETE, s, s) / double(s.n) * 1e9);
	}
}

void comparison::round(op o, unsigned number)
{
	const slice *s = nullptr, *born = nullptr;

	if (o == CHURN) {
		flows::change change = f.churned(p.slice);

		s = &change.gone;
		born = &change.born;
	} else {
		s = o == MISS ? &f.strangers(p.slice) : o == MODIFY ? &f.changed(p.slice) : &f.next(p.slice);
		born = s;
	}
	size_t rest = s->n - p.cold;

	for (size_t i = 0; i < rows.size(); i++) {
		row &r = rows[(i + number) % rows.size()];

		if (!r.table->can(o))
			continue;
		timed(r, o, part(*s, 0, p.cold), part(*born, 0, p.cold));
		r.ns[o].add(timed(r, o, part(*s, p.cold, rest), part(*born, p.cold, rest)) / double(rest) *
			    1e9);
	}
}

void comparison::rounds(op o)
{
	for (unsigned i = 0; i < p.rounds; i++)
		round(o, i);
}

void comparison::measure()
{
	fill(0);
	rounds(HIT);
	rounds(MISS);
	rounds(MODIFY);
	for (unsigned i = 1; i < p.fills; i++) {
		fill(i);
		if (i == 1)
			rounds(CHURN);
		drain();
	}
}

/* --------------------------------------------------------------- printing */

const row &comparison::find(const std::string &name) const
{
	for (const row &r : rows)
		if (r.name == name)
			return r;
	die("no row %s", name.c_str());
}

const row *comparison::best_exact(op o) const
{
	const row *best = nullptr;

	for (const row &r : rows)
		if (r.what == row::exact && !r.ns[o].empty())
			if (!best || r.ns[o].median() < best->ns[o].median())
				best = &r;
	return best;
}

/* How many times as fast as the best exact peer. */
samples comparison::speed(const row &r, op o) const
{
	return best_exact(o)->ns[o].over(r.ns[o]);
}

void comparison::print_rates() const
{
	printf("%-21s", "");
	for (const char *name : op_names)
		printf(" %14s", name);
	putchar('\n');
	for (const row &r : rows) {
		printf("%-21s", r.name.c_str());
		for (const samples &ns : r.ns)
			printf(" %14s", rate_cell(ns, 1e3).c_str());
		putchar('\n');
	}
}

/* How many times as fast Inkling's rows are as those of `other`. */
template <class Other> void comparison::print_ratios(const char *title, Other other) const
{
	printf("\n%-21s", title);
	for (int o = 0; o < OPS; o++)
		printf(" %14s", other(op(o)).name.c_str());
	putchar('\n');
	for (const row &r : rows) {
		if (r.what != row::inkling)
			continue;
		printf("%-21s", r.name.c_str());
		for (int o = 0; o < OPS; o++)
			printf(" %14s", cell(other(op(o)).ns[o].over(r.ns[o]), "%.2f (%.1f-%.1f)").c_str());
		putchar('\n');
	}
}

void comparison::print_memory() const
{
	const samples &one = find("gather of 1 line").ns[HIT], &two = find("gather of 2 lines").ns[HIT];

	printf("\n%-21s %12s %9s %11s %16s %17s %17s\n", "", "bits a flow", "MB", "huge pages",
	       "false positives", "hit/2-line gather", "hit/1-line gather");
	for (const row &r : rows) {
		printf("%-21s %12.2f %9.1f %10.0f%%", r.name.c_str(), double(r.bytes) * 8 / double(n),
		       double(r.bytes) / 1e6, double(r.huge) / double(r.bytes) * 100);
		printf(" %15.4f%% %16.0f%% %16.0f%%", r.asked ? double(r.found) / double(r.asked) * 100 : 0,
		       two.over(r.ns[HIT]).median() * 100, one.over(r.ns[HIT]).median() * 100);
		if (r.wrong)
			printf("\n%-21s (%lu states of live flows were wrong)", "", r.wrong);
		putchar('\n');
	}
}

void comparison::record()
{
	for (const row &r : rows) {
		where w = { section, n, r.name };

		for (int o = 0; o < OPS; o++)
			out.record(w, op_names[o], "ns", r.ns[o]);
		out.record(w, "memory", "bits a flow", double(r.bytes) * 8 / double(n));
		if (r.asked)
			out.record(w, "false positives", "share", double(r.found) / double(r.asked));
	}
}

void comparison::print()
{
	out.section("%s, %s flows, bursts of %zu: M/s, median (quartiles) of %u turns or %u fills",
		    h == hashing::given ? "(i) ids or hashes given"
					: "(ii) from 16-byte keys, each with its own hash",
		    with_commas(n).c_str(), how.burst, p.rounds, p.fills);
	print_rates();
	print_ratios("best exact peer", [this](op o) -> const row & { return *best_exact(o); });
	if (h == hashing::given)
		print_ratios("lower bound", [this](op) -> const row & { return find("one line"); });
	print_memory();
	fflush(stdout);
	record();
}

/* ------------------------------------------------------------------- bars */

void comparison::add_bar(const row &r, op o, double limit)
{
	std::string text = std::string(section) + ", " + with_commas(n) + ": " + r.name + ", " + op_names[o] +
			   " beside " + best_exact(o)->name;

	out.add({ text, speed(r, o).median(), limit, report::bar::at_least, "x" });
}

void comparison::add_bars()
{
	bool small = !is_large(n);
	const row &line = find("line, batched"), &compact = find("compact, batched");
	const row &writers = find("line, m. w., batched");

	if (h == hashing::own) {
		const row &member = find("rte_member bulk");
		double faster = member.ns[HIT].over(line.ns[HIT]).median();

		add_bar(line, HIT, 1.3);
		out.add({ with_commas(n) + ": line, bits as a share of rte_member HT's",
			  double(line.bytes) / double(member.bytes), 1, report::bar::at_most, "x" });
		out.add({ with_commas(n) + ": line, batched, from keys, hit beside rte_member bulk", faster,
			  1, report::bar::at_least, "x" });
		return;
	}
	add_bar(line, HIT, small ? 2.5 : 2);
	for (op o : { INSERT, MODIFY, DELETE })
		add_bar(line, o, 2);
	add_bar(line, MISS, 1);
	add_bar(line, CHURN, 3);
	if (!small)
		out.add({ with_commas(n) + ": line, batched, hit as a share of the gather of 2 lines",
			  find("gather of 2 lines").ns[HIT].over(line.ns[HIT]).median(), .4,
			  report::bar::at_least, "x" });
	if (small)
		add_bar(compact, HIT, 1.8);
	add_bar(compact, CHURN, 1.5);
	for (int o = 0; o < OPS; o++)
		out.add({ with_commas(n) + ": line, many writers, one thread, " + op_names[o] +
				  " beside one writer",
			  line.ns[o].over(writers.ns[o]).median(), .6, report::bar::at_least, "x" });
}

} /* namespace */

void compare(const settings &s, report &r, size_t n, hashing h)
{
	comparison c(s, r, n, h);

	c.enter();
	c.measure();
	c.print();
	c.add_bars();
}

} /* namespace bench */
