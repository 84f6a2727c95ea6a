/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The limit that memory sets: read, or read and write, a word of one or two
 * random 64-byte lines for each id, fetched ahead, and do nothing else.
 */
#include "peers.h"

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
	    : n(bytes / sizeof(line)), lines(static_cast<line *>(huge_alloc(n * sizeof(line))))
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

		each_word<false>(s, [&](uint64_t *word) { sum += *word; });
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

	/* For threads that write into the same memory; what is written is what was there. */
	uint64_t modify(const slice &s) override
	{
		each_word<true>(s, [](uint64_t *word) {
			uint64_t seen = __atomic_load_n(word, __ATOMIC_RELAXED);

			__atomic_store_n(word, seen, __ATOMIC_RELAXED);
		});
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
	static constexpr size_t AHEAD = 24; /* 16, 24 and 32 are equally fast */

	template <bool WRITES, class Work> void each_word(const slice &s, Work work)
	{
		for (size_t i = 0; i < s.n; i++) {
			if (i + AHEAD < s.n)
				for (unsigned j = 0; j < LINES; j++)
					__builtin_prefetch(at(s.ids[i + AHEAD], j), WRITES);
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
};

} /* namespace */

table_ptr make_gather(size_t bytes, unsigned lines)
{
	if (lines == 1)
		return std::make_unique<gather<1>>(bytes);
	return std::make_unique<gather<2>>(bytes);
}

} /* namespace bench */
