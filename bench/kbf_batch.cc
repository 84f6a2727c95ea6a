/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What do batches save in a key-value Bloom filter that does not fit the cache?
 * A key has k cells in as many lines. A single call waits for them, and for
 * those of the waiting key that it retries; a batch has them fetched while other
 * items are carried out. The rest, hashing and decoding, is the same.
 *
 * One filter as planned for n keys of 16 bytes and 3,000 values. In turns,
 * slices of its keys are updated singly, in batches of 32 and of 256, with
 * values that it has; then deleted in the same way. Deleted keys are stored
 * again while the clock stands, so the load stays.
 *
 * Result (16,000,000 keys, C of docs/benchmarks.md), ns: updates 529 singly, 337 in
 * batches of 32 and 330 of 256; deletes 477, 312 and 303. So 1.58 and 1.59 times as
 * fast; the bar is 1.5. Batches hide all waiting for memory: they take as long
 * at 200,000 keys. What is left is decoding, of which a third is trying all values.
 */
#include "bench/sections.h"

#include <algorithm>
#include <inkling/kbf.h>
#include <unordered_set>
#include <vector>

namespace bench
{

namespace
{

constexpr unsigned VALUES = 3000;
constexpr size_t MOST_BURST = 256;

enum way { SINGLE, BURSTS_32, BURSTS_256, WAYS };

const char *const way_names[WAYS] = { "single calls", "batches of 32", "batches of 256" };
const size_t burst_of[WAYS] = { 1, 32, 256 };

class batches
{
public:
	batches(const settings &s, report &out, size_t n)
	    : out(out), n(n), rounds(s.quick ? 3 : 9), some(std::min(n / 10, size_t(100000))), f(n)
	{
		for (unsigned i = 0; i < VALUES; i++)
			texts.push_back("value " + std::to_string(i));
		make();
	}

	~batches()
	{
		ink_kbf_free(filter);
		ink_kbf_dict_free(dict);
	}

	batches(const batches &) = delete;
	batches &operator=(const batches &) = delete;

	void run()
	{
		for (size_t from = 0; from < n; from += some)
			store(f.fill(from, std::min(some, n - from)));
		for (unsigned round = 0; round < rounds; round++)
			for (unsigned i = 0; i < WAYS; i++)
				timed(MODIFY, way((i + round) % WAYS), stored(f.changed(some)));
		for (unsigned round = 0; round < rounds; round++)
			for (unsigned i = 0; i < WAYS; i++) {
				const slice &s = f.next(some);

				timed(DELETE, way((i + round) % WAYS), stored(s));
				store(s);
			}
		print();
	}

private:
	using batch_call = int (*)(struct ink_kbf *, const struct ink_kbf_batch *);

	void make()
	{
		struct ink_kbf_dict_options d = {};
		struct ink_kbf_options o = {};
		struct ink_why why;

		d.size = sizeof d;
		d.seed = 1;
		dict = ink_kbf_dict_create(&d, &why);
		o.size = sizeof o;
		o.dict = dict;
		o.keys = n;
		o.values = VALUES;
		filter = dict ? ink_kbf_create(&o, &why) : nullptr;
		if (!filter)
			die("kbf: %s", why.text);
	}

	struct ink_bytes key_of(const slice &s, size_t i) const
	{
		return { &s.keys[i], sizeof(key) };
	}

	/* A flow has 15 states in the slices; with some bits of its key that makes 3,000 values. */
	struct ink_bytes value_of(const slice &s, size_t i) const
	{
		const std::string &text =
			texts[s.states[i] + STATES * unsigned(s.keys[i].word[1] % (VALUES / STATES))];

		return { text.data(), text.size() };
	}

	/* The values of deletes are not prepared: nobody would. */
	uint64_t in_batches(const slice &s, size_t burst, batch_call call)
	{
		bool stores = call != ink_kbf_delete_batch;

		return in_bursts(s, burst, [&](const slice &b) {
			struct ink_bytes keys[MOST_BURST], values[MOST_BURST];
			int errors[MOST_BURST];
			struct ink_kbf_batch batch = { b.n, keys, values, nullptr, errors };

			for (size_t i = 0; i < b.n; i++) {
				keys[i] = key_of(b, i);
				if (stores)
					values[i] = value_of(b, i);
			}
			call(filter, &batch);
			for (size_t i = 0; i < b.n; i++)
				if (errors[i])
					failed.push_back(b.keys[i].word[0]);
			return uint64_t(b.n - size_t(std::count(errors, errors + b.n, 0)));
		});
	}

	uint64_t singly(op o, const slice &s)
	{
		uint64_t bad = 0;

		for (size_t i = 0; i < s.n; i++)
			bad += (o == MODIFY ? ink_kbf_update(filter, key_of(s, i), value_of(s, i))
					    : ink_kbf_delete(filter, key_of(s, i))) != 0;
		return bad;
	}

	/* A new key that reads a value is refused: a false positive. */
	void store(const slice &s)
	{
		for (size_t i = 0; i < s.n && !refused.empty(); i++)
			refused.erase(s.keys[i].word[0]);
		failed.clear();
		in_batches(s, MOST_BURST, ink_kbf_insert_batch);
		refused.insert(failed.begin(), failed.end());
	}

	/* The slice without refused keys. To update one would take out a value that belongs to other keys. */
	const slice &stored(const slice &s)
	{
		kept.keys.clear();
		kept.states.clear();
		for (size_t i = 0; i < s.n; i++)
			if (!refused.count(s.keys[i].word[0])) {
				kept.keys.push_back(s.keys[i]);
				kept.states.push_back(s.states[i]);
			}
		kept.view = { kept.keys.size(), kept.keys.data(), nullptr, kept.states.data() };
		return kept.view;
	}

	void timed(op o, way w, const slice &s)
	{
		double start = cpu_seconds();
		uint64_t bad =
			w == SINGLE ? singly(o, s)
				    : in_batches(s, burst_of[w],
						 o == MODIFY ? ink_kbf_update_batch : ink_kbf_delete_batch);

		ns[o][w].add((cpu_seconds() - start) / double(s.n) * 1e9);
		if (bad)
			die("kbf, %s, %s: %lu of %zu live keys failed", op_names[o], way_names[w], bad, s.n);
	}

	void print()
	{
		static const op shown[] = { MODIFY, DELETE };
		struct ink_kbf_stats s = {};

		s.size = sizeof s;
		ink_kbf_stats(filter, &s);
		out.section(
			"kbf batch, %s keys: what do batches save? k = %u, load %.2f, %.0f MB, %lu waiting; "
			"ns, median (quartiles), times as fast as single calls",
			with_commas(n).c_str(), s.k, s.load, double(s.bytes) * 1e-6, s.pending);
		printf("%-16s %24s %24s\n", "", "update", "delete");
		for (unsigned w = 0; w < WAYS; w++) {
			printf("%-16s", way_names[w]);
			for (op o : shown) {
				printf(" %16s %6.2fx", cell(ns[o][w], "%.0f (%.0f-%.0f)").c_str(),
				       ns[o][SINGLE].over(ns[o][w]).median());
				out.record({ "kbf batch", n, way_names[w] },
					   o == MODIFY ? "update" : "delete", "ns", ns[o][w]);
			}
			printf("\n");
		}
		for (op o : shown)
			out.add({ with_commas(n) + ": kbf " + (o == MODIFY ? "update" : "delete") +
					  ", batches of 256 over single calls",
				  ns[o][SINGLE].over(ns[o][BURSTS_256]).median(), n < 10000000 ? 1.0 : 1.5,
				  report::bar::at_least, "x" });
		fflush(stdout);
	}

	report &out;
	size_t n;
	unsigned rounds;
	size_t some;
	flows f;
	std::vector<std::string> texts;
	struct ink_kbf_dict *dict = nullptr;
	struct ink_kbf *filter = nullptr;
	std::vector<uint64_t> failed;         /* keys of batches, by their first words */
	std::unordered_set<uint64_t> refused; /* keys of slices that are not in the filter */
	struct {
		std::vector<key> keys;
		std::vector<uint8_t> states;
		slice view;
	} kept;
	samples ns[OPS][WAYS];
};

} /* namespace */

void measure_kbf_batches(const settings &s, report &out, size_t n)
{
	batches(s, out, n).run();
}

} /* namespace bench */
