/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What boost's and absl's maps have in common: the standard's interface, and
 * an allocator that gives them huge pages and counts their bytes.
 */
#ifndef BENCH_PEER_MAP_H
#define BENCH_PEER_MAP_H

#include "bench/harness.h"

#include <functional>
#include <utility>

namespace bench
{

/* Counts into `*bytes`. */
template <class T> class counting_allocator
{
public:
	using value_type = T;

	explicit counting_allocator(uint64_t *bytes) : bytes(bytes)
	{
	}

	template <class U> counting_allocator(const counting_allocator<U> &other) : bytes(other.bytes)
	{
	}

	T *allocate(size_t n)
	{
		*bytes += n * sizeof(T);
		return static_cast<T *>(huge_alloc(n * sizeof(T)));
	}

	void deallocate(T *memory, size_t n)
	{
		*bytes -= n * sizeof(T);
		huge_free(memory, n * sizeof(T));
	}

	template <class U> bool operator==(const counting_allocator<U> &other) const
	{
		return bytes == other.bytes;
	}

	template <class U> bool operator!=(const counting_allocator<U> &other) const
	{
		return bytes != other.bytes;
	}

	uint64_t *bytes;
};

/* What an entry is, for the allocator. */
using map_entry = std::pair<const key, uint8_t>;

/*
 * `Fetch` is called with the map and the key that comes AHEAD items later; a
 * map that cannot fetch ahead gets no_fetch.
 */
struct no_fetch {
	template <class Map> void operator()(const Map &, const key &) const
	{
	}
};

template <class Map, class Fetch> class map_table : public table
{
public:
	explicit map_table(size_t n) : n(n), map(empty_map())
	{
		renew();
	}

	void renew() override
	{
		map = empty_map();
		map.reserve(n);
	}

	uint64_t insert(const slice &s) override
	{
		return each(s, [&](size_t i) { return !map.emplace(s.keys[i], s.states[i]).second; });
	}

	uint64_t hit(const slice &s) override
	{
		return each(s, [&](size_t i) {
			auto found = map.find(s.keys[i]);

			return found == map.end() || found->second != s.states[i];
		});
	}

	uint64_t miss(const slice &s) override
	{
		return each(s, [&](size_t i) { return map.find(s.keys[i]) != map.end(); });
	}

	uint64_t modify(const slice &s) override
	{
		return each(s, [&](size_t i) {
			auto found = map.find(s.keys[i]);

			if (found == map.end())
				return true;
			found->second = s.states[i];
			return false;
		});
	}

	uint64_t erase(const slice &s) override
	{
		return each(s, [&](size_t i) { return map.erase(s.keys[i]) != 1; });
	}

	uint64_t churn(const slice &gone, const slice &born) override
	{
		return each(gone, [&](size_t i) {
			if (i + AHEAD < born.n)
				fetch(map, born.keys[i + AHEAD]);
			bool lost = map.erase(gone.keys[i]) != 1;

			return !map.emplace(born.keys[i], born.states[i]).second || lost;
		});
	}

	uint64_t bytes() const override
	{
		return allocated;
	}

private:
	/* 16 and 32 are equally fast at 16M flows, 16 is better at 1M; batches of 16 or 32 lose at misses. */
	static constexpr size_t AHEAD = 16;

	Map empty_map()
	{
		return Map(typename Map::allocator_type(&allocated));
	}

	/* Counts for how many items `work` is true. */
	template <class Work> uint64_t each(const slice &s, Work work)
	{
		uint64_t bad = 0;

		for (size_t i = 0; i < s.n; i++) {
			if (i + AHEAD < s.n)
				fetch(map, s.keys[i + AHEAD]);
			bad += work(i);
		}
		return bad;
	}

	size_t n;
	uint64_t allocated = 0;
	Map map;
	Fetch fetch;
};

} /* namespace bench */

#endif
