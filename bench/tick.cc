/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What does a tick cost? Before each tick all flows but some victims are looked up, and
 * 1 % of the cells expire. As many new flows replace them.
 *
 * One period: every tick examines every state. Per-state periods: every tick
 * examines the even states, every second one the odd ones, too. A cycle is as many
 * ticks as the longest period; a victim is idle for a whole cycle, so it expires
 * at the first tick that examines it. Ticks that examine some states and ticks
 * that examine all of them are reported separately.
 *
 * For comparison there is the gather of one line over as many bytes: a tick reads
 * every line once, and in order, so it should be faster.
 *
 * Result (C of docs/benchmarks.md, 1M flows): .27 ns a cell with one period in line and .51 in compact;
 * with half of the states due .30 in line and 2.1 in compact.
 */
#include "bench/sections.h"

#include <algorithm>

namespace bench
{

namespace
{

constexpr uint64_t PORTION = 4096; /* cells; some microseconds */
constexpr size_t SLICE = 500000;

/* A machine of one event that changes nothing, for its timings. */
class rules
{
public:
	explicit rules(unsigned longest)
	{
		for (unsigned s = 0; s < STATES; s++)
			timings[s].period = 1 + s % longest;
		timings[STATES].period = 1;
		for (struct ink_timing &t : timings)
			t.timeout = INK_ABSENT;
		for (struct ink_row &r : rows)
			r.next = INK_NO_ROW;
		all.size = sizeof all;
		all.states = STATES;
		all.events = 1;
		all.rows = rows;
		all.timings = timings;
	}

	const struct ink_rules *get() const
	{
		return &all;
	}

private:
	struct ink_timing timings[STATES + 1] = {};
	struct ink_row rows[STATES + 2] = {};
	struct ink_rules all = {};
};

class ticking
{
public:
	ticking(const char *name, variety v, unsigned longest_period, size_t n);
	~ticking();

	ticking(const ticking &) = delete;
	ticking &operator=(const ticking &) = delete;

	void cycle(bool portions);
	void gather_round();
	void print() const;
	void record(report &) const;
	void add_bars(report &) const;

private:
	struct ink_table *make_table(variety, size_t n) const;
	void fill();
	void touch(size_t n);
	double tick();
	void tick_in_portions();
	void replace(const slice &born);

	std::string name_of(unsigned tick) const;

	std::string name;
	unsigned longest;
	flows f;
	struct ink_table *t;
	uint64_t cells, now = 0, expired = 0;
	double cells_per_line;
	table_ptr memory;
	std::vector<samples> ns; /* by tick of the cycle */
	samples pauses, gather_ns;
};

struct ink_table *ticking::make_table(variety v, size_t n) const
{
	struct ink_options o = options_of(v, n);
	rules r(longest);

	if (longest > 1)
		o.rules = r.get();
	return create(o);
}

ticking::ticking(const char *name, variety v, unsigned longest_period, size_t n)
    : name(name), longest(longest_period), f(n, 0, flows::walk::in_order), t(make_table(v, n)),
      ns(longest_period)
{
	struct ink_stats stats = stats_of(t);
	struct ink_options o = options_of(v, n);
	struct ink_plan plan = {};

	plan.size = sizeof plan;
	if (ink_plan(&o, &plan, nullptr))
		die("%s: no plan", name);
	cells = stats.cells;
	cells_per_line = double(cells) / double(plan.geometry.b);
	memory = make_gather(stats.bytes, 1);
	fill();
}

ticking::~ticking()
{
	ink_free(t);
}

static struct ink_batch batch_of(const slice &s, ink_answer *answers)
{
	struct ink_batch b = {};

	b.n = s.n;
	b.ids = s.ids;
	b.states = s.states;
	b.answers = answers;
	return b;
}

/* The first cycle has no victims, and clears all marks. */
void ticking::fill()
{
	for (size_t from = 0; from < f.size(); from += SLICE)
		replace(f.fill(from, std::min(SLICE, f.size() - from)));
	for (unsigned i = 0; i < longest; i++) {
		touch(f.size());
		tick();
	}
	if (expired)
		die("%s: touched flows expire", name.c_str());
}

void ticking::replace(const slice &born)
{
	struct ink_batch b = batch_of(born, nullptr);

	if (ink_insert_batch(t, &b))
		die("%s: refuses flows", name.c_str());
}

/* Looks up the next n flows. */
void ticking::touch(size_t n)
{
	std::vector<ink_answer> answers(SLICE);

	while (n) {
		const slice &s = f.next(std::min(n, SLICE));
		struct ink_batch b = batch_of(s, answers.data());

		ink_lookup_batch(t, &b);
		for (size_t i = 0; i < s.n; i++)
			if (answers[i] != s.states[i])
				die("%s: a flow lost its state", name.c_str());
		n -= s.n;
	}
}

/* Returns the nanoseconds per cell. */
double ticking::tick()
{
	struct ink_counts counts;
	double start = cpu_seconds();
	int error = ink_tick(t, ++now, &counts);
	double took = cpu_seconds() - start;

	if (error)
		die("%s: ink_tick fails with %d", name.c_str(), error);
	expired += counts.total;
	return took / double(cells) * 1e9;
}

void ticking::tick_in_portions()
{
	int more;

	now++;
	do {
		struct ink_counts counts;
		double start = wall_seconds();

		more = ink_tick_portion(t, now, PORTION, &counts);
		pauses.add((wall_seconds() - start) * 1e6);
		expired += counts.total;
	} while (more > 0);
	if (more)
		die("%s: ink_tick_portion fails with %d", name.c_str(), more);
}

void ticking::cycle(bool portions)
{
	size_t victims = size_t(cells) / 100 * longest;
	flows::change change = f.churned(victims);
	std::vector<uint64_t> ids(change.born.ids, change.born.ids + victims);
	std::vector<uint8_t> states(change.born.states, change.born.states + victims);

	expired = 0;
	for (unsigned i = 0; i < longest; i++) {
		touch(f.size() - victims);
		f.skip(victims);
		if (portions)
			tick_in_portions();
		else
			ns[i].add(tick());
	}
	if (expired != victims)
		die("%s: %lu flows expired, and not %zu", name.c_str(), expired, victims);
	replace({ victims, nullptr, ids.data(), states.data() });
}

void ticking::gather_round()
{
	const slice &s = f.strangers(SLICE);
	uint64_t bad = memory->hit(s); /* as the table was, before its tick */
	double start = cpu_seconds();

	bad += memory->hit(s);
	gather_ns.add((cpu_seconds() - start) / double(SLICE) * 1e9);
	if (bad)
		die("zero is not zero");
}

std::string ticking::name_of(unsigned tick) const
{
	return longest == 1 ? name : name + (tick + 1 < longest ? ", half due" : ", all due");
}

/* The portions are those of the whole cycle. */
void ticking::print() const
{
	for (unsigned i = 0; i < longest; i++)
		printf("%-38s %20s %11.1f %12.2fx %11.1f %11.1f\n", name_of(i).c_str(),
		       cell(ns[i], "%.3f (%.2f-%.2f)").c_str(), gather_ns.median(),
		       ns[i].median() * cells_per_line / gather_ns.median(), pauses.median(),
		       pauses.quantile(1));
}

void ticking::record(report &out) const
{
	where w = { "tick", f.size(), name };

	for (unsigned i = 0; i < longest; i++)
		out.record({ "tick", f.size(), name_of(i) }, "tick", "ns a cell", ns[i]);
	out.record(w, "gather of one line", "ns a line", gather_ns);
	out.record(w, "portion", "us", pauses);
	out.record(w, "longest portion", "us", pauses.quantile(1));
}

void ticking::add_bars(report &out) const
{
	bool simple = longest == 1 && name.find("m. w.") == std::string::npos;

	for (unsigned i = 0; i < longest; i++)
		out.add({ with_commas(f.size()) + ": tick, " + name_of(i), ns[i].median(), simple ? .5 : 1.5,
			  report::bar::at_most, "ns/cell" });
}

} /* namespace */

void measure_ticks(const settings &s, report &out, size_t n)
{
	ticking all[] = {
		{ "line, one period", variety::line, 1, n },
		{ "line, by state", variety::line, 2, n },
		{ "line, m. w., one period", variety::line_writers, 1, n },
		{ "line, m. w., by state", variety::line_writers, 2, n },
		{ "compact, one period", variety::compact, 1, n },
		{ "compact, by state", variety::compact, 2, n },
	};
	unsigned rounds = s.quick || n > 4000000 ? 3 : 9;

	for (unsigned i = 0; i < rounds; i++)
		for (ticking &t : all) {
			t.cycle(false);
			t.gather_round();
		}
	for (ticking &t : all)
		t.cycle(true);
	out.section("tick: 1 %% of the cells expire, the others were touched, %s flows",
		    with_commas(n).c_str());
	printf("%-38s %20s %11s %13s %11s %11s\n", "", "ns a cell", "gather, ns", "line/gather",
	       "portion, us", "longest, us");
	for (const ticking &t : all) {
		t.print();
		t.record(out);
		t.add_bars(out);
	}
}

} /* namespace bench */
