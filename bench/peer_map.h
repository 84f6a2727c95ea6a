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

/* ------------------------------------------------------- keys and fetches */

/* What a map has for its key, and an entry for its allocator. */
struct whole_keys {
	using type = key;

	static const key &of(const slice &s, size_t i)
	{
		return s.keys[i];
	}
};

struct ids_alone {
	using type = uint64_t;

	static uint64_t of(const slice &s, size_t i)
	{
		return s.ids[i];
	}
};

template <class Keys> using entry_of = std::pair<const typename Keys::type, uint8_t>;

/*
 * Prefetches come in two passes: `first` for the key that comes 2 AHEAD items later,
 * `second`, which may read what the first has fetched, for the one that comes AHEAD items
 * later. A map that cannot prefetch has NONE.
 */
struct no_fetch {
	static constexpr bool NONE = true;

	template <class Map, class Key> static void first(const Map &, const Key &)
	{
	}

	template <class Map, class Key> static void second(const Map &, const Key &)
	{
	}
};

/* -------------------------------------------------------------- the table */

template <class Map, class Keys, class Fetch> class map_table : public table
{
public:
	explicit map_table(size_t n) : n(n), map(empty_map())
	{
		renew();
	}

	void call_by(const calls &c) override
	{
		how = c;
	}

	void renew() override
	{
		map = empty_map();
		map.reserve(n);
	}

	uint64_t insert(const slice &s) override
	{
		return each(s, s, [&](size_t i) { return !map.emplace(Keys::of(s, i), s.states[i]).second; });
	}

	uint64_t hit(const slice &s) override
	{
		return each(s, s, [&](size_t i) {
			auto found = map.find(Keys::of(s, i));

			return found == map.end() || found->second != s.states[i];
		});
	}

	uint64_t miss(const slice &s) override
	{
		return each(s, s, [&](size_t i) { return map.find(Keys::of(s, i)) != map.end(); });
	}

	uint64_t modify(const slice &s) override
	{
		return each(s, s, [&](size_t i) {
			auto found = map.find(Keys::of(s, i));

			if (found == map.end())
				return true;
			found->second = s.states[i];
			return false;
		});
	}

	uint64_t erase(const slice &s) override
	{
		return each(s, s, [&](size_t i) { return map.erase(Keys::of(s, i)) != 1; });
	}

	uint64_t churn(const slice &gone, const slice &born) override
	{
		return each(gone, born, [&](size_t i) {
			bool lost = map.erase(Keys::of(gone, i)) != 1;

			return !map.emplace(Keys::of(born, i), born.states[i]).second || lost;
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

	/* Counts for how many items `work` is true. `born` is `s` itself, or in churn what takes its place. */
	template <class Work> uint64_t each(const slice &s, const slice &born, Work work)
	{
		size_t size = how.fetched ? s.n : how.burst;
		uint64_t bad = 0;

		if (Fetch::NONE || size == 1)
			size = s.n;
		for (size_t from = 0; from < s.n; from += size)
			bad += burst(s, born, { from, s.n - from < size ? s.n : from + size }, work);
		return bad;
	}

	struct range {
		size_t from, end;
	};

	template <class Work> uint64_t burst(const slice &s, const slice &born, range r, Work work)
	{
		uint64_t bad = 0;

		if (fetches()) {
			for (size_t i = r.from; i < r.from + 2 * AHEAD && i < r.end; i++)
				first(s, born, i);
			for (size_t i = r.from; i < r.from + AHEAD && i < r.end; i++)
				second(s, born, i);
		}
		for (size_t i = r.from; i < r.end; i++) {
			if (fetches() && i + 2 * AHEAD < r.end)
				first(s, born, i + 2 * AHEAD);
			if (fetches() && i + AHEAD < r.end)
				second(s, born, i + AHEAD);
			bad += work(i);
		}
		return bad;
	}

	bool fetches() const
	{
		return !Fetch::NONE && (how.fetched || how.burst > 1);
	}

	void first(const slice &s, const slice &born, size_t i) const
	{
		Fetch::first(map, Keys::of(s, i));
		if (&born != &s)
			Fetch::first(map, Keys::of(born, i));
	}

	void second(const slice &s, const slice &born, size_t i) const
	{
		Fetch::second(map, Keys::of(s, i));
		if (&born != &s)
			Fetch::second(map, Keys::of(born, i));
	}

	size_t n;
	calls how = { 1, true };
	uint64_t allocated = 0;
	Map map;
};

} /* namespace bench */

#endif
