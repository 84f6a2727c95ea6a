/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The limit that memory sets: read, or read and write, a word of one or two
 * random 64-byte lines for each id, fetched ahead, and do nothing else.
 *
 * The prefetch distance and target were chosen with tables of 3 to 790 MB. Up to
 * 4 MB the prefetch goes to L1. Beyond, L1 allows too few outstanding misses: in
 * 45 MB a line takes 7.5 ns with 16 to 64 items ahead into L1, 3.9 with 24 and 3.0
 * with 64 into L2 (Zen 4). Lines that other threads also write are prefetched for
 * writing, which leads to L1, unless the table is so large that the others seldom
 * hold them.
 */
#include "bench/peers.h"

namespace bench
{

namespace
{

struct alignas(64) line {
	uint64_t word[8];
};

template <unsigned LINES> class gather : public table
{
public:
	explicit gather(size_t bytes)
	    : n(bytes / sizeof(line)), lines(static_cast<line *>(huge_alloc(n * sizeof(line)))),
	      is_far(bytes > FAR_BYTES)
	{
	}

	~gather() override
	{
		huge_free(lines, n * sizeof(line));
	}

	gather(const gather &) = delete;
	gather &operator=(const gather &) = delete;

	/* The memory is zero, and so is the sum of what was read. */
	uint64_t hit(const slice &s) override
	{
		uint64_t sum = 0;

		each_word(s, fetch_to_read, [&](uint64_t *word) { sum += *word; });
		return sum;
	}

	bool can(op o) const override
	{
		return o == HIT;
	}

	void renew() override
	{
	}

	uint64_t insert(const slice &) override
	{
		return 0;
	}

	uint64_t miss(const slice &) override
	{
		return 0;
	}

	/* For threads that write to the same memory; they write back what they read. */
	uint64_t modify(const slice &s) override
	{
		each_word(s, fetch_to_write, write_again);
		return 0;
	}

	uint64_t erase(const slice &) override
	{
		return 0;
	}

	uint64_t churn(const slice &, const slice &) override
	{
		return 0;
	}

	uint64_t bytes() const override
	{
		return n * sizeof(line);
	}

private:
	static constexpr size_t AHEAD = 64, FAR_BYTES = 4 << 20;

	static void fetch_far(const line *l)
	{
		__builtin_prefetch(l, 0, 2);
	}

	static void fetch_to_read(const line *l)
	{
		__builtin_prefetch(l);
	}

	static void fetch_to_write(const line *l)
	{
		__builtin_prefetch(l, 1);
	}

	static void write_again(uint64_t *word)
	{
		uint64_t seen = __atomic_load_n(word, __ATOMIC_RELAXED);

		__atomic_store_n(word, seen, __ATOMIC_RELAXED);
	}

	/* `near`: the prefetch for memory that is not far. */
	template <class Fetch, class Work> void each_word(const slice &s, Fetch near, Work work)
	{
		if (is_far)
			walk(s, fetch_far, work);
		else
			walk(s, near, work);
	}

	template <class Fetch, class Work> void walk(const slice &s, Fetch fetch, Work work)
	{
		for (size_t i = 0; i < s.n; i++) {
			if (i + AHEAD < s.n)
				for (unsigned j = 0; j < LINES; j++)
					fetch(at(s.ids[i + AHEAD], j));
			for (unsigned j = 0; j < LINES; j++)
				work(&at(s.ids[i], j)->word[0]);
		}
	}

	/* The first line by the upper, the second by the lower half of the id. */
	line *at(uint64_t id, unsigned which)
	{
		uint64_t half = which ? uint32_t(id) : id >> 32;

		return &lines[half * n >> 32];
	}

	size_t n;
	line *lines;
	bool is_far;
};

} /* namespace */

table_ptr make_gather(size_t bytes, unsigned lines)
{
	if (lines == 1)
		return std::make_unique<gather<1>>(bytes);
	return std::make_unique<gather<2>>(bytes);
}

} /* namespace bench */
