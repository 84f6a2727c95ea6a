/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What does an id cost: SipHash-1-3 of a 16-byte key, one by one and in batches?
 *
 * Result (B of docs/benchmarks.md): 10 ns one by one, 4.5 in batches.
 */
#include "bench/sections.h"

namespace bench
{

namespace
{

constexpr size_t KEYS = 1000000, BURST = 128;

/* Both return a sum, for the compiler. */
uint64_t one_by_one(const struct ink_table *t, const slice &s)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < s.n; i++)
		sum += ink_id(t, &s.keys[i], sizeof(key));
	return sum;
}

uint64_t batched(const struct ink_table *t, const slice &s)
{
	return in_bursts(s, BURST, [&](const slice &b) {
		struct ink_keys keys = { b.keys, sizeof(key), b.n };
		uint64_t ids[BURST], sum = 0;

		ink_id_batch(t, &keys, ids);
		for (size_t i = 0; i < b.n; i++)
			sum += ids[i];
		return sum;
	});
}

/* Nanoseconds per id; the sum goes to `sum`. */
template <class Work> double timed(Work work, uint64_t *sum)
{
	double start = cpu_seconds();

	*sum = work();
	return (cpu_seconds() - start) / double(KEYS) * 1e9;
}

} /* namespace */

void measure_ids(const settings &s, report &out)
{
	struct ink_table *t = create(options_of(variety::line, 1000));
	flows f(KEYS);
	const slice &keys = f.fill(0, KEYS);
	samples single, batch;
	uint64_t a, b;

	for (unsigned i = 0; i < (s.quick ? 5u : 15u); i++) {
		single.add(timed([&] { return one_by_one(t, keys); }, &a));
		batch.add(timed([&] { return batched(t, keys); }, &b));
		if (a != b)
			die("ink_id_batch and ink_id differ");
	}
	ink_free(t);
	out.section("ids: what does the id of a 16-byte key cost? ns, median (quartiles)");
	printf("ink_id       %s\n", cell(single, "%6.2f (%.2f-%.2f)").c_str());
	printf("ink_id_batch %s\n", cell(batch, "%6.2f (%.2f-%.2f)").c_str());
	out.record({ "ids", KEYS, "ink_id" }, "16-byte key", "ns", single);
	out.record({ "ids", KEYS, "ink_id_batch" }, "16-byte key", "ns", batch);
}

} /* namespace bench */
