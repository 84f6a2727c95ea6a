/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Counting sets: is the d-left counting Bloom filter smaller and faster than
 * the standard one, as its paper says, and what would an exact map take?
 *
 * Both are the paper's: d = 3, h = 6, b = n/12, f = 11 and 2-bit counters; ten
 * counters of 4 bits an item and the best k, 7. The exact map is boost's, with
 * a byte for the count. Ids are given. All rows alternate on the same slices. A
 * sample of add and remove is a whole fill and a quarter of it. For the others the
 * first quarter of a slice is not timed: it warms the caches.
 *
 * Expected: a d-left item has 3 buckets, often in two lines of the cache,
 * a standard one 7 counters in 7 lines; for strangers it stops at the first 0,
 * after 2 on the average, but a batch has fetched all 7 by then.
 *
 * Result (1,000,000 items, batches, a busy machine): half the bits; hits
 * and misses as fast as in the standard filter, some 23 M/s; removes 1.5 times
 * as fast, adds two thirds as fast, since a new item is first looked for and
 * then placed. The exact map takes 20 times the bits.
 */
#include "bench/sections.h"

#include <cerrno>
#include <inkling/count.h>

namespace bench
{

namespace
{

constexpr size_t BURST = 128;

struct ink_count_options options_for(enum ink_count_kind kind, size_t n)
{
	struct ink_count_options o = {};

	o.size = sizeof o;
	o.kind = kind;
	o.items = n;
	if (kind == INK_COUNT_DLEFT)
		o.geometry.f = 11;
	else
		o.geometry.m = 10 * n;
	return o;
}

/* A counting set as a competitor: it ignores states. */
class counting final : public table
{
public:
	counting(enum ink_count_kind kind, size_t n, bool batched)
	    : options(options_for(kind, n)), batched(batched), c(nullptr)
	{
		renew();
	}

	~counting() override
	{
		ink_count_free(c);
	}

	counting(const counting &) = delete;
	counting &operator=(const counting &) = delete;

	/* A sixteenth of the items come and go, and have touched every page. */
	void renew() override
	{
		flows visitors(options.items / 16 + 1, uint64_t(1) << 40);
		const slice &all = visitors.fill(0, visitors.size());
		struct ink_why why;

		ink_count_free(c);
		c = ink_count_create(&options, &why);
		if (!c)
			die("%s", why.text);
		if (insert(all) || erase(all))
			die("an empty set refuses items");
	}

	bool can(op o) const override
	{
		return o != MODIFY;
	}

	uint64_t insert(const slice &s) override
	{
		if (batched)
			return bursts(s, [&](const struct ink_count_batch &b) {
				return !!ink_count_add_batch(c, &b);
			});
		return each(s, [&](uint64_t id) { return !!ink_count_add(c, id); });
	}

	uint64_t hit(const slice &s) override
	{
		return s.n - miss(s);
	}

	uint64_t miss(const slice &s) override
	{
		if (batched)
			return bursts(s, [&](const struct ink_count_batch &b) { return found(b); });
		return each(s, [&](uint64_t id) { return ink_count_contains(c, id); });
	}

	/* A stuck counter is no failure: one in some 10,000 removes meets one. */
	uint64_t erase(const slice &s) override
	{
		if (batched)
			return bursts(s, [&](const struct ink_count_batch &b) {
				return ink_count_remove_batch(c, &b) == -ENOENT;
			});
		return each(s, [&](uint64_t id) { return ink_count_remove(c, id) == -ENOENT; });
	}

	uint64_t modify(const slice &) override
	{
		return 0;
	}

	uint64_t churn(const slice &gone, const slice &born) override
	{
		size_t size = batched ? BURST : 1;
		uint64_t bad = 0;

		for (size_t i = 0; i < gone.n; i += size) {
			size_t n = gone.n - i < size ? gone.n - i : size;

			bad += erase(part(gone, i, n)) + insert(part(born, i, n));
		}
		return bad;
	}

	uint64_t bytes() const override
	{
		struct ink_count_stats stats = {};

		stats.size = sizeof stats;
		ink_count_stats(c, &stats);
		return stats.bytes;
	}

private:
	template <class Work> static uint64_t each(const slice &s, Work work)
	{
		uint64_t sum = 0;

		for (size_t i = 0; i < s.n; i++)
			sum += uint64_t(work(s.ids[i]));
		return sum;
	}

	template <class Work> static uint64_t bursts(const slice &s, Work work)
	{
		return in_bursts(s, BURST, [&](const slice &burst) {
			struct ink_count_batch b = {};
			uint8_t found[BURST];

			b.n = burst.n;
			b.ids = burst.ids;
			b.found = found;
			return uint64_t(work(b));
		});
	}

	uint64_t found(const struct ink_count_batch &b) const
	{
		uint64_t sum = 0;

		ink_count_contains_batch(c, &b);
		for (size_t i = 0; i < b.n; i++)
			sum += b.found[i];
		return sum;
	}

	struct ink_count_options options;
	bool batched;
	struct ink_count *c;
};

struct row {
	std::string name;
	table_ptr table;
	samples ns[OPS];
	uint64_t asked, found;
};

constexpr op SHOWN[] = { INSERT, HIT, MISS, DELETE, CHURN };
const char *const NAMES[] = { "add", "hit", "miss", "remove", "churn" };

class contest
{
public:
	contest(const settings &s, report &r, size_t n)
	    : fills(s.quick ? 3 : 5), rounds(s.quick ? 5 : 11), slice_size(n < 500000 ? n : 500000), n(n),
	      f(n), out(r)
	{
		enter("d-left", std::make_unique<counting>(INK_COUNT_DLEFT, n, false));
		enter("d-left, batched", std::make_unique<counting>(INK_COUNT_DLEFT, n, true));
		enter("standard", std::make_unique<counting>(INK_COUNT_STANDARD, n, false));
		enter("standard, batched", std::make_unique<counting>(INK_COUNT_STANDARD, n, true));
		enter("boost (exact)", make_boost(n, hashing::given));
	}

	void measure()
	{
		for (unsigned i = 0; i < fills; i++) {
			fill(i);
			if (i == 0)
				for (op o : { HIT, MISS, CHURN })
					for (unsigned k = 0; k < rounds; k++)
						round(o, k);
			drain();
		}
	}

	void print();

private:
	void enter(const char *name, table_ptr t)
	{
		rows.push_back({ name, std::move(t), {}, 0, 0 });
	}

	double timed(row &, op, const slice &, const slice &born);
	void fill(unsigned number);
	void drain();
	void round(op, unsigned number);

	unsigned fills, rounds;
	size_t slice_size, n;
	flows f;
	report &out;
	std::vector<row> rows;
};

double contest::timed(row &r, op o, const slice &s, const slice &born)
{
	double start = cpu_seconds();
	uint64_t bad = run(*r.table, o, s, born);
	double took = cpu_seconds() - start;

	if (o == MISS) {
		r.asked += s.n;
		r.found += bad;
	} else if (bad) {
		die("%s, %s: %lu failures", r.name.c_str(), op_names[o], bad);
	}
	return took;
}

void contest::fill(unsigned number)
{
	std::vector<double> took(rows.size());

	for (row &r : rows)
		if (number)
			r.table->renew();
	for (size_t from = 0; from < n; from += slice_size) {
		const slice &s = f.fill(from, n - from < slice_size ? n - from : slice_size);

		for (size_t i = 0; i < rows.size(); i++)
			took[i] += timed(rows[i], INSERT, s, s);
	}
	for (size_t i = 0; i < rows.size(); i++)
		rows[i].ns[INSERT].add(took[i] / double(n) * 1e9);
}

/* A quarter of the items leave. */
void contest::drain()
{
	const slice &s = f.next(n / 4 < slice_size ? n / 4 : slice_size);

	for (row &r : rows)
		r.ns[DELETE].add(timed(r, DELETE, s, s) / double(s.n) * 1e9);
}

void contest::round(op o, unsigned number)
{
	const slice *s = nullptr, *born = nullptr;

	if (o == CHURN) {
		flows::change change = f.churned(slice_size);

		s = &change.gone;
		born = &change.born;
	} else {
		s = born = o == MISS ? &f.strangers(slice_size) : &f.next(slice_size);
	}
	size_t cold = s->n / 4, rest = s->n - cold;

	for (size_t i = 0; i < rows.size(); i++) {
		row &r = rows[(i + number) % rows.size()];

		timed(r, o, part(*s, 0, cold), part(*born, 0, cold));
		r.ns[o].add(timed(r, o, part(*s, cold, rest), part(*born, cold, rest)) / double(rest) * 1e9);
	}
}

void contest::print()
{
	out.section("count: the d-left counting Bloom filter beside the standard one, %s items: M/s, median "
		    "(quartiles)",
		    with_commas(n).c_str());
	printf("%-20s", "");
	for (const char *name : NAMES)
		printf(" %14s", name);
	printf(" %12s %16s\n", "bits an item", "false positives");
	for (const row &r : rows) {
		double bits = double(r.table->bytes()) * 8 / double(n),
		       wrong = double(r.found) / double(r.asked);
		where w = { "count", n, r.name };

		printf("%-20s", r.name.c_str());
		for (op o : SHOWN)
			printf(" %14s", rate_cell(r.ns[o], 1e3).c_str());
		printf(" %12.2f %15.3f%%\n", bits, wrong * 100);
		for (size_t i = 0; i < sizeof SHOWN / sizeof *SHOWN; i++)
			out.record(w, NAMES[i], "ns", r.ns[SHOWN[i]]);
		out.record(w, "memory", "bits an item", bits);
		out.record(w, "false positives", "share", wrong);
	}
	fflush(stdout);
}

} /* namespace */

void measure_counts(const settings &s, report &out, size_t n)
{
	contest c(s, out, n);

	c.measure();
	c.print();
}

} /* namespace bench */
