/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What does a step cost beside a modify? Both find a flow and store a state; a step also looks up
 * the rules and reports the move. The rules have an event for each state that leads there from
 * any other, so that a step does what the modify does. The two take turns on one table, by single
 * calls and in bursts; the first quarter of a slice warms the caches.
 *
 * Result (C of docs/benchmarks.md, bursts of 256): at 1M flows a step takes 1.50 times as long as a modify in
 * line, 1.29 times with many writers and 1.34 times in compact; at 16M flows 1.29, 1.20 and 1.45 times.
 */
#include "bench/sections.h"
#include "bench/turns.h"

#include <algorithm>

namespace bench
{

namespace
{

class rules
{
public:
	rules()
	{
		for (unsigned i = 0; i < STATES * STATES; i++)
			rows[i].next = int16_t(i % STATES);
		for (unsigned i = STATES * STATES; i < (STATES + 2) * STATES; i++)
			rows[i].next = INK_NO_ROW;
		all.size = sizeof all;
		all.states = all.events = STATES;
		all.rows = rows;
	}

	const struct ink_rules *get() const
	{
		return &all;
	}

private:
	struct ink_row rows[(STATES + 2) * STATES] = {};
	struct ink_rules all = {};
};

/* One table, and one way to call it. */
class contest
{
public:
	contest(const char *name, variety v, size_t n, size_t burst)
	    : name(name), burst(burst), f(n), slice_size(std::min(n, size_t(500000))), t(make(v, n))
	{
		fill();
	}

	~contest()
	{
		ink_free(t);
	}

	contest(const contest &) = delete;
	contest &operator=(const contest &) = delete;

	void round();
	void print(report &) const;

private:
	using work = uint64_t (contest::*)(const slice &, const uint16_t *events);

	static struct ink_table *make(variety v, size_t n);
	void fill();
	double timed(work, const slice &);
	uint64_t modify(const slice &, const uint16_t *);
	uint64_t step(const slice &, const uint16_t *);

	const char *name;
	size_t burst;
	flows f;
	size_t slice_size;
	struct ink_table *t;
	std::vector<uint16_t> events;
	samples modifies, steps;
};

struct ink_table *contest::make(variety v, size_t n)
{
	struct ink_options o = options_of(v, n);
	rules r;

	o.rules = r.get();
	return create(o);
}

void contest::fill()
{
	for (size_t from = 0; from < f.size(); from += slice_size) {
		const slice &s = f.fill(from, std::min(slice_size, f.size() - from));
		struct ink_batch b = { s.n, s.ids, s.states, nullptr, nullptr, nullptr, nullptr };

		if (ink_insert_batch(t, &b))
			die("%s: refuses flows", name);
	}
}

/* Both return the number of failures. */
uint64_t contest::modify(const slice &s, const uint16_t *)
{
	if (burst == 1) {
		uint64_t bad = 0;

		for (size_t i = 0; i < s.n; i++)
			bad += ink_modify(t, s.ids[i], s.states[i]) != 0;
		return bad;
	}
	return in_bursts(s, burst, [&](const slice &b) {
		struct ink_batch batch = { b.n, b.ids, b.states, nullptr, nullptr, nullptr, nullptr };

		return uint64_t(!!ink_modify_batch(t, &batch));
	});
}

uint64_t contest::step(const slice &s, const uint16_t *e)
{
	struct ink_move moves[BURST_MOST];
	uint64_t bad = 0;

	if (burst == 1) {
		for (size_t i = 0; i < s.n; i++)
			bad += ink_step(t, s.ids[i], e[i], moves) != 0 || moves[0].to != s.states[i];
		return bad;
	}
	return in_bursts(s, burst, [&](const slice &b) {
		const uint16_t *here = e + (b.ids - s.ids);
		struct ink_batch batch = { b.n, b.ids, nullptr, here, nullptr, moves, nullptr };
		uint64_t wrong = !!ink_step_batch(t, &batch);

		for (size_t i = 0; i < b.n; i++)
			wrong += moves[i].to != b.states[i];
		return wrong;
	});
}

double contest::timed(work w, const slice &s)
{
	size_t cold = s.n / 4, rest = s.n - cold;

	events.assign(s.states, s.states + s.n);
	uint64_t bad = (this->*w)(part(s, 0, cold), events.data());
	double start = cpu_seconds();

	bad += (this->*w)(part(s, cold, rest), events.data() + cold);
	double took = cpu_seconds() - start;

	if (bad)
		die("%s: %lu steps or modifies were wrong", name, bad);
	return took / double(rest) * 1e9;
}

void contest::round()
{
	modifies.add(timed(&contest::modify, f.changed(slice_size)));
	steps.add(timed(&contest::step, f.changed(slice_size)));
}

void contest::print(report &out) const
{
	samples ratio = steps.over(modifies);
	std::string way = burst == 1 ? "single" : "bursts of " + std::to_string(burst);
	where w = { "step", f.size(), std::string(name) + ", " + way };

	printf("%-21s %-14s %18s %18s %20s\n", name, way.c_str(), cell(modifies, "%.1f (%.1f-%.1f)").c_str(),
	       cell(steps, "%.1f (%.1f-%.1f)").c_str(), cell(ratio, "%.2fx (%.2f-%.2f)").c_str());
	out.record(w, "modify", "ns", modifies);
	out.record(w, "step", "ns", steps);
	out.record(w, "step beside modify", "x", ratio);
	if (burst == BURST_MOST)
		out.add({ with_commas(f.size()) + ": " + name + ", batched, time of a step beside a modify",
			  ratio.median(), 1.3, report::bar::at_most, "x" });
}

struct entry {
	const char *name;
	variety what;
};

constexpr entry ENTRIES[] = {
	{ "line", variety::line },
	{ "line, many writers", variety::line_writers },
	{ "compact", variety::compact },
};

} /* namespace */

void measure_steps(const settings &s, report &out, size_t n)
{
	unsigned rounds = s.quick ? 5 : is_large(n) ? 7 : 15;

	out.section("step: what does it cost beside a modify? %s flows, ns, median (quartiles) of %u rounds",
		    with_commas(n).c_str(), rounds);
	printf("%-21s %-14s %18s %18s %20s\n", "", "", "modify", "step", "step beside modify");
	for (const entry &e : ENTRIES)
		for (size_t burst : { size_t(1), size_t(32), BURST_MOST }) {
			contest c(e.name, e.what, n, burst);

			for (unsigned i = 0; i < rounds; i++)
				c.round();
			c.print(out);
			fflush(stdout);
		}
}

} /* namespace bench */
