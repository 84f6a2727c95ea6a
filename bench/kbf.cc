/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What does the key-value Bloom filter cost, compared with `line`? Keys of 16 bytes
 * and 3,000 values; both hash. A key touches k random cache lines where
 * `line` touches two, so it cannot be faster; the question is how much slower,
 * and whether decoding matters compared with the memory.
 *
 * Rows: the filter as planned for the fewest bytes (k = 6, load 1.41: one key in
 * 200 has no cell below count 3, and tries all values), with k = 5 at load 1.1,
 * where that is one in 400, and with the paper's greedy codes; the wide field
 * is for more values than the others have. `line` keeps 15 states.
 *
 * Result (C of docs/benchmarks.md, 1,000,000 keys, batches): a pair decodes in 7
 * ns, in the wide field in 133; inserts take 137 ns, hits 182 (of which trying all
 * values is a third; 142 at k = 5), misses 70, since they stop at the first empty
 * cell; updates, one by one, 540 and deletes 370. `line` is six to thirty times as
 * fast.
 *
 * Side results: a key in the side table must not be decoded again at every
 * call (src/kbf/filter.c, try), and a triple is checked without branches
 * (src/kbf/dict.h, ink_symbol_is_pair).
 */
#include "bench/kbf_pairs.h"
#include "bench/sections.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace bench
{

namespace
{

constexpr unsigned VALUES = 3000;
constexpr size_t BURST = 128;

const std::vector<std::string> &value_texts()
{
	static std::vector<std::string> texts;

	for (unsigned i = (unsigned)texts.size(); i < VALUES; i++)
		texts.push_back("value " + std::to_string(i));
	return texts;
}

struct ink_bytes bytes_of(const std::string &s)
{
	return { s.data(), s.size() };
}

/* A flow has 15 states in the slices; with some bits of its key that makes 3,000 values. */
unsigned value_of(const slice &s, size_t i)
{
	return s.states[i] + STATES * unsigned(s.keys[i].word[1] % (VALUES / STATES));
}

class kbf final : public table
{
public:
	kbf(const struct ink_kbf_options &o, enum ink_kbf_encoding encoding, bool batched)
	    : options(o), batched(batched)
	{
		struct ink_kbf_dict_options d = {};

		d.size = sizeof d;
		d.encoding = encoding;
		d.seed = 1;
		options.dict = ink_kbf_dict_create(&d, nullptr);
		for (const std::string &text : value_texts())
			if (!options.dict || ink_kbf_dict_add(options.dict, bytes_of(text), nullptr))
				die("no dictionary of %u values", VALUES);
		renew();
	}

	~kbf() override
	{
		ink_kbf_free(f);
		ink_kbf_dict_free(options.dict);
	}

	kbf(const kbf &) = delete;
	kbf &operator=(const kbf &) = delete;

	/* A sixteenth of the keys come and go, and have touched every page. */
	void renew() override
	{
		struct ink_why why;
		flows visitors(options.keys / 16 + 1, uint64_t(1) << 40);
		const slice &all = visitors.fill(0, visitors.size());

		ink_kbf_free(f);
		f = ink_kbf_create(&options, &why);
		if (!f)
			die("kbf: %s", why.text);
		insert(all);
		erase(all);
		refused = 0;
	}

	uint64_t insert(const slice &s) override
	{
		if (!batched)
			return each(s, [&](size_t i) {
				return judged(ink_kbf_insert(f, key_of(s, i), value(s, i)));
			});
		return in_bursts(s, BURST, [&](const slice &b) {
			struct ink_bytes keys[BURST], values[BURST];
			int errors[BURST];
			struct ink_kbf_batch batch = { b.n, keys, values, nullptr, errors };

			for (size_t i = 0; i < b.n; i++) {
				keys[i] = key_of(b, i);
				values[i] = value(b, i);
			}
			ink_kbf_insert_batch(f, &batch);
			return each(b, [&](size_t i) { return judged(errors[i]); });
		});
	}

	/* Unsure keys are counted separately; refused ones are strangers and may read anything. */
	uint64_t hit(const slice &s) override
	{
		uint64_t wrong = 0;

		look(s, [&](const slice &b, size_t i, enum ink_kbf_answer a, const struct ink_bytes &found) {
			struct ink_bytes right = value(b, i);

			doubts += a == INK_KBF_UNKNOWN;
			asked++;
			wrong += a == INK_KBF_ABSENT ||
				 (a == INK_KBF_VALUE && (found.length != right.length ||
							 memcmp(found.bytes, right.bytes, right.length)));
		});
		return wrong > refused ? wrong : 0;
	}

	uint64_t miss(const slice &s) override
	{
		uint64_t found = 0;

		look(s, [&](const slice &, size_t, enum ink_kbf_answer a, const struct ink_bytes &) {
			found += a == INK_KBF_VALUE;
		});
		return found;
	}

	uint64_t modify(const slice &s) override
	{
		return each(s, [&](size_t i) { return gone(ink_kbf_update(f, key_of(s, i), value(s, i))); });
	}

	uint64_t erase(const slice &s) override
	{
		return each(s, [&](size_t i) { return gone(ink_kbf_delete(f, key_of(s, i))); });
	}

	uint64_t churn(const slice &dead, const slice &born) override
	{
		return erase(dead) + insert(born);
	}

	uint64_t bytes() const override
	{
		struct ink_kbf_stats s = {};

		s.size = sizeof s;
		ink_kbf_stats(f, &s);
		return s.bytes;
	}

	double in_doubt() const
	{
		return asked ? double(doubts) / double(asked) : 0;
	}

private:
	static struct ink_bytes key_of(const slice &s, size_t i)
	{
		return { &s.keys[i], sizeof(key) };
	}

	static struct ink_bytes value(const slice &s, size_t i)
	{
		return bytes_of(value_texts()[value_of(s, i)]);
	}

	template <class Work> static uint64_t each(const slice &s, Work work)
	{
		uint64_t bad = 0;

		for (size_t i = 0; i < s.n; i++)
			bad += work(i);
		return bad;
	}

	/* A new key that reads a value is refused: a false positive, not a failure. */
	bool judged(int error)
	{
		refused += error == -EEXIST;
		return error && error != -EEXIST;
	}

	/* Only refused keys are absent. */
	bool gone(int error) const
	{
		return error && !(error == -ENOENT && refused);
	}

	template <class Tell> void look(const slice &s, Tell tell)
	{
		if (!batched) {
			for (size_t i = 0; i < s.n; i++) {
				struct ink_bytes found;
				enum ink_kbf_answer a = ink_kbf_query(f, key_of(s, i), &found);

				tell(s, i, a, found);
			}
			return;
		}
		in_bursts(s, BURST, [&](const slice &b) {
			struct ink_bytes keys[BURST], found[BURST];
			enum ink_kbf_answer answers[BURST];
			struct ink_kbf_batch batch = { b.n, keys, found, answers, nullptr };

			for (size_t i = 0; i < b.n; i++)
				keys[i] = key_of(b, i);
			ink_kbf_query_batch(f, &batch);
			for (size_t i = 0; i < b.n; i++)
				tell(b, i, answers[i], found[i]);
			return uint64_t(0);
		});
	}

	struct ink_kbf_options options;
	bool batched;
	struct ink_kbf *f = nullptr;
	uint64_t refused = 0, doubts = 0, asked = 0;
};

/* ----------------------------------------------------------------- measuring */

struct row {
	std::string name;
	table_ptr table;
	kbf *filter; /* the same, or NULL */
	samples ns[OPS];
	uint64_t strangers = 0, found = 0;
};

class comparison
{
public:
	comparison(const settings &s, report &out, size_t n) : out(out), n(n), rounds(s.quick ? 3 : 7), f(n)
	{
	}

	void run()
	{
		enter();
		measure();
		print();
	}

private:
	void enter_kbf(const char *name, enum ink_kbf_encoding encoding, uint32_t k, bool batched)
	{
		struct ink_kbf_options o = {};

		o.size = sizeof o;
		o.keys = n;
		o.values = VALUES;
		o.k = k;
		o.cells = k ? uint64_t(double(n) / 1.1) * k : 0;
		kbf *made = new kbf(o, encoding, batched);

		rows.push_back({ name, table_ptr(made), made, {} });
	}

	void enter()
	{
		enter_kbf("kbf", INK_KBF_POWER_SUMS, 0, false);
		enter_kbf("kbf, batched", INK_KBF_POWER_SUMS, 0, true);
		enter_kbf("kbf, k = 5, batched", INK_KBF_POWER_SUMS, 5, true);
		enter_kbf("kbf, wide, batched", INK_KBF_POWER_SUMS_WIDE, 0, true);
		enter_kbf("kbf, greedy, batched", INK_KBF_GREEDY, 5, true);
		rows.push_back({ "line, batched",
				 make_inkling(options_of(variety::line, n), hashing::own, BATCHED),
				 nullptr,
				 {} });
	}

	void timed(row &r, op o, const slice &s)
	{
		double start = cpu_seconds();
		uint64_t bad = bench::run(*r.table, o, s, s);

		r.ns[o].add((cpu_seconds() - start) / double(s.n) * 1e9);
		if (o == MISS) {
			r.strangers += s.n;
			r.found += bad;
		} else if (bad) {
			die("%s, %s: %lu wrong answers about live keys", r.name.c_str(), op_names[o], bad);
		}
	}

	void turn(op o, const slice &s, unsigned first)
	{
		for (size_t i = 0; i < rows.size(); i++)
			timed(rows[(i + first) % rows.size()], o, s);
	}

	void measure()
	{
		size_t some = std::min(n, size_t(200000));

		for (size_t from = 0; from < n; from += some)
			turn(INSERT, f.fill(from, std::min(some, n - from)), unsigned(from / some));
		for (unsigned i = 0; i < rounds; i++)
			turn(HIT, f.next(some), i);
		for (unsigned i = 0; i < rounds; i++)
			turn(MISS, f.strangers(some), i);
		for (unsigned i = 0; i < rounds; i++)
			turn(MODIFY, f.changed(some), i);
		for (unsigned i = 0; i < 2; i++)
			turn(DELETE, f.next(some), i);
	}

	void print()
	{
		static const op shown[] = { INSERT, HIT, MISS, MODIFY, DELETE };

		out.section("kbf, %s keys of 16 bytes, %u values: ns, median (quartiles)",
			    with_commas(n).c_str(), VALUES);
		printf("%-22s", "");
		for (op o : shown)
			printf(" %16s", op_names[o]);
		printf(" %10s %9s %9s\n", "bits a key", "unknown", "false p.");
		for (const row &r : rows) {
			where w = { "kbf", n, r.name };
			double bits = double(r.table->bytes()) * 8 / double(n);

			printf("%-22s", r.name.c_str());
			for (op o : shown) {
				printf(" %16s", cell(r.ns[o], "%.0f (%.0f-%.0f)").c_str());
				out.record(w, op_names[o], "ns", r.ns[o]);
			}
			printf(" %10.1f %9.1e %9.1e\n", bits, r.filter ? r.filter->in_doubt() : 0,
			       double(r.found) / double(r.strangers));
			out.record(w, "memory", "bits a key", bits);
		}
		out.add({ with_commas(n) + ": kbf as planned, all bytes but the dictionary",
			  double(rows[0].table->bytes()) * 8 / double(n), 150, report::bar::at_most,
			  "bits" });
		fflush(stdout);
	}

	report &out;
	size_t n;
	unsigned rounds;
	flows f;
	std::vector<row> rows;
};

/* Pairs of symbols at random, decoded one after the other. */
void measure_pairs(const settings &s, report &out)
{
	static const struct {
		const char *name;
		enum ink_kbf_encoding encoding;
	} encodings[] = { { "power sums", INK_KBF_POWER_SUMS },
			  { "wide", INK_KBF_POWER_SUMS_WIDE },
			  { "greedy", INK_KBF_GREEDY } };
	struct bench_pairs *pairs[3];
	samples ns[3];

	for (unsigned e = 0; e < 3; e++)
		if (!(pairs[e] = bench_pairs_make(encodings[e].encoding, VALUES)))
			die("no memory for pairs");
	for (unsigned i = 0; i < (s.quick ? 5u : 15u); i++)
		for (unsigned e = 0; e < 3; e++) {
			double start = cpu_seconds();

			if (bench_pairs_decode(pairs[e]))
				die("a pair is decoded wrongly");
			ns[e].add((cpu_seconds() - start) / BENCH_PAIRS * 1e9);
		}
	out.section("kbf pairs: what does it cost to find the two symbols of a cell? %u values; ns, median "
		    "(quartiles)",
		    VALUES);
	for (unsigned e = 0; e < 3; e++) {
		printf("%-12s %s\n", encodings[e].name, cell(ns[e], "%6.1f (%.1f-%.1f)").c_str());
		out.record({ "kbf pairs", VALUES, encodings[e].name }, "pair", "ns", ns[e]);
		bench_pairs_free(pairs[e]);
	}
	out.add({ "kbf: pair decoding, power sums, 3,000 values", ns[0].median(), 30, report::bar::at_most,
		  "ns" });
}

} /* namespace */

void measure_kbf(const settings &s, report &out, size_t n)
{
	measure_pairs(s, out);
	comparison(s, out, n).run();
}

} /* namespace bench */
