/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What do the paper's structures cost, in time and in bits, compared with `line`?
 *
 * 15 states, one age bit, errors below 1/1024 for all, and the same input in
 * alternation, as in compare.cc. `stateful` as in the paper's Table 1 (timers, no
 * counters), in one line of 64 bytes, and with counters; `direct` with counters of
 * 2 bits, queried over all states and for a given one. Unsure: live flows that
 * read don't-know, or could not be changed because of that, as a share of all
 * operations on live flows; of batched changes a batch counts.
 *
 * Result (C of docs/benchmarks.md, 1M flows, batched): line does 6 times the hits and 9 times the churn
 * of the fastest of them, kbf, in .45 of its bits. The smallest, dleft, takes 28.8 bits beside 22.5.
 *
 * A tick has one period, and all flows have been touched since the last one; every
 * cell of the table counts, empty or not.
 */
#include "bench/sections.h"

#include <algorithm>

namespace bench
{

namespace
{

struct ink_options filter(enum ink_kind kind, size_t n, uint32_t counter_bits, uint32_t flags)
{
	struct ink_options o = options_of(variety::line, n);

	o.kind = kind;
	o.geometry.counter_bits = counter_bits;
	o.geometry.bloom_flags = flags;
	return o;
}

/* Sums have no ages. */
struct ink_options sums(size_t n)
{
	struct ink_options o = filter(INK_KBF, n, 0, 0);

	o.age_bits = 0;
	return o;
}

/* `direct`, queried for a known state. A modify would need the old state, too, which slices do not have. */
class given_state final : public table
{
public:
	explicit given_state(const struct ink_options &options) : options(options), t(create(options))
	{
	}

	~given_state() override
	{
		ink_free(t);
	}

	given_state(const given_state &) = delete;
	given_state &operator=(const given_state &) = delete;

	void renew() override
	{
		ink_free(t);
		t = create(options);
	}

	bool can(op o) const override
	{
		return o != MODIFY;
	}

	uint64_t insert(const slice &s) override
	{
		return each(s, [&](size_t i) { return !!ink_insert(t, s.ids[i], s.states[i]); });
	}

	uint64_t hit(const slice &s) override
	{
		return each(s, [&](size_t i) {
			return ink_lookup_in(t, s.ids[i], s.states[i]) != ink_answer(s.states[i]);
		});
	}

	uint64_t miss(const slice &s) override
	{
		return each(s, [&](size_t i) {
			return ink_lookup_in(t, s.ids[i], unsigned(i % STATES)) != INK_ABSENT;
		});
	}

	uint64_t modify(const slice &) override
	{
		die("a modify with a given state");
	}

	uint64_t erase(const slice &s) override
	{
		return each(s, [&](size_t i) { return !!ink_delete_in(t, s.ids[i], s.states[i]); });
	}

	uint64_t churn(const slice &gone, const slice &born) override
	{
		uint64_t bad = 0;

		for (size_t i = 0; i < gone.n; i++)
			bad += erase(part(gone, i, 1)) + insert(part(born, i, 1));
		return bad;
	}

	uint64_t bytes() const override
	{
		return stats_of(t).bytes;
	}

private:
	template <class Work> static uint64_t each(const slice &s, Work work)
	{
		uint64_t bad = 0;

		for (size_t i = 0; i < s.n; i++)
			bad += work(i);
		return bad;
	}

	struct ink_options options;
	struct ink_table *t;
};

struct entrant {
	std::string name;
	struct ink_options options;
	table_ptr table;
	samples ns[OPS];
	uint64_t done, bad, asked, found;
};

class filters
{
public:
	filters(const settings &s, size_t n)
	    : n(n), slice_size(std::min(n, size_t(500000))), rounds(s.quick ? 3 : 7), f(n)
	{
	}

	void enter();
	void measure();
	void print(report &) const;

private:
	void enter(const char *name, const struct ink_options &, bool batched);
	void turn(entrant &, op, const slice &, const slice &born);
	void fill();
	void round(op, unsigned number);

	size_t n, slice_size;
	unsigned rounds;
	flows f;
	std::vector<entrant> all;
};

void filters::enter(const char *name, const struct ink_options &o, bool batched)
{
	all.push_back({ name, o, make_inkling(o, hashing::given, batched ? BATCHED : SINGLE), {}, 0, 0, 0, 0 });
}

void filters::enter()
{
	struct ink_options direct = filter(INK_DIRECT, n, 2, 0);

	enter("line, batched", options_of(variety::line, n), true);
	enter("dleft, batched", filter(INK_DLEFT, n, 0, 0), true);
	enter("stateful", filter(INK_STATEFUL, n, INK_NO_COUNTERS, 0), false);
	enter("stateful, batched", filter(INK_STATEFUL, n, INK_NO_COUNTERS, 0), true);
	enter("  in one line", filter(INK_STATEFUL, n, INK_NO_COUNTERS, INK_BLOOM_BLOCKED), true);
	enter("  with counters", filter(INK_STATEFUL, n, 4, 0), true);
	enter("kbf", sums(n), false);
	enter("kbf, batched", sums(n), true);
	enter("direct", direct, false);
	enter("direct, batched", direct, true);
	all.push_back({ "  state given", direct, std::make_unique<given_state>(direct), {}, 0, 0, 0, 0 });
}

/* As in count.cc, the first quarter of a turn warms up. */
void filters::turn(entrant &e, op o, const slice &s, const slice &born)
{
	size_t cold = o == INSERT || o == DELETE ? 0 : s.n / 4, rest = s.n - cold;
	uint64_t bad = run(*e.table, o, part(s, 0, cold), part(born, 0, cold));
	double start = cpu_seconds();

	bad += run(*e.table, o, part(s, cold, rest), part(born, cold, rest));
	e.ns[o].add((cpu_seconds() - start) / double(rest) * 1e9);
	(o == MISS ? e.found : e.bad) += bad;
	(o == MISS ? e.asked : e.done) += s.n;
}

void filters::fill()
{
	for (size_t from = 0; from < n; from += slice_size) {
		const slice &s = f.fill(from, std::min(slice_size, n - from));

		for (entrant &e : all)
			turn(e, INSERT, s, s);
	}
}

void filters::round(op o, unsigned number)
{
	const slice *s = nullptr, *born = nullptr;

	if (o == CHURN) {
		flows::change change = f.churned(slice_size);

		s = &change.gone;
		born = &change.born;
	} else {
		s = o == MISS     ? &f.strangers(slice_size)
		    : o == MODIFY ? &f.changed(slice_size)
				  : &f.next(slice_size);
		born = s;
	}
	for (size_t i = 0; i < all.size(); i++) {
		entrant &e = all[(i + number) % all.size()];

		if (e.table->can(o))
			turn(e, o, *s, *born);
	}
}

/* A row that cannot modify has other states afterwards: churn and delete come before. */
void filters::measure()
{
	fill();
	for (op o : { HIT, MISS, CHURN })
		for (unsigned i = 0; i < rounds; i++)
			round(o, i);
	for (entrant &e : all)
		e.table->renew();
	fill();
	round(DELETE, 0);
	for (entrant &e : all)
		e.table->renew();
	fill();
	for (unsigned i = 0; i < rounds; i++)
		round(MODIFY, i);
}

void filters::print(report &out) const
{
	printf("%-20s", "");
	for (const char *name : op_names)
		printf(" %14s", name);
	printf(" %12s %16s %10s\n", "bits a flow", "false positives", "in doubt");
	for (const entrant &e : all) {
		where w = { "filters", n, e.name };
		double bits = double(e.table->bytes()) * 8 / double(n);

		printf("%-20s", e.name.c_str());
		for (int o = 0; o < OPS; o++) {
			printf(" %14s", e.ns[o].empty() ? "" : rate_cell(e.ns[o], 1e3).c_str());
			if (!e.ns[o].empty())
				out.record(w, op_names[o], "ns", e.ns[o]);
		}
		printf(" %12.1f %15.4f%% %9.3f%%\n", bits, double(e.found) / double(e.asked) * 100,
		       double(e.bad) / double(e.done) * 100);
		out.record(w, "memory", "bits a flow", bits);
	}
}

/* Nanoseconds for a cell. */
samples tick_ns(const struct ink_options &o, flows &f, unsigned ticks)
{
	struct ink_table *t = create(o);
	double cells = double(stats_of(t).cells);
	const slice &s = f.fill(0, f.size());
	samples ns;

	for (size_t i = 0; i < s.n; i++)
		ink_insert(t, s.ids[i], s.states[i]);
	for (unsigned i = 1; i <= ticks; i++) {
		double start = cpu_seconds();

		if (ink_tick(t, i, nullptr))
			die("a tick failed");
		ns.add((cpu_seconds() - start) / cells * 1e9);
		for (size_t k = 0; k < s.n; k++)
			ink_lookup_in(t, s.ids[k], s.states[k]);
	}
	ink_free(t);
	return ns;
}

void measure_filter_ticks(report &out, size_t n, unsigned ticks)
{
	const struct {
		const char *name;
		struct ink_options options;
	} rows[] = { { "line", options_of(variety::line, n) },
		     { "stateful", filter(INK_STATEFUL, n, INK_NO_COUNTERS, 0) },
		     { "stateful, one line", filter(INK_STATEFUL, n, INK_NO_COUNTERS, INK_BLOOM_BLOCKED) },
		     { "direct", filter(INK_DIRECT, n, 2, 0) } };
	flows f(n);

	printf("\n%-20s %14s\n", "", "tick, ns a cell");
	for (const auto &row : rows) {
		samples ns = tick_ns(row.options, f, ticks);

		printf("%-20s %14.2f\n", row.name, ns.median());
		out.record({ "filters", n, row.name }, "tick", "ns a cell", ns);
	}
}

} /* namespace */

void compare_filters(const settings &s, report &r, size_t n)
{
	filters all(s, n);

	r.section("filters: the paper's structures and line, %s flows, ids given, M/s",
		  with_commas(n).c_str());
	all.enter();
	all.measure();
	all.print(r);
	measure_filter_ticks(r, n, s.quick ? 3 : 7);
	fflush(stdout);
}

} /* namespace bench */
