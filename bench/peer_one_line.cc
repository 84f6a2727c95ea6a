/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The honest lower bound for exact tables: whole 64-bit ids, a state and an age for each,
 * and one line of the cache for nearly every lookup.
 *
 *     line   [ id 8 ] x 7  [ cell 1 ] x 7  [ passed 1 ]      64 bytes
 *     cell   used 1 | touched 1 | state 6                    bits; 0 = free
 *
 * An id belongs to one line. Where that is full, it goes to the next that is not, and
 * `passed` of each full line counts the entries that went by: a search ends at the first
 * line that none has passed. A delete counts them down again, unless the counter stands at
 * 255, where it stays. So nothing is ever moved, and any number of lines will do.
 *
 * At a load of .5 a flow takes 146 bits, and nearly all are in their own lines.
 */
#include "bench/peers.h"

#include <unordered_map>
#include <x86intrin.h>

namespace bench
{

namespace
{

constexpr unsigned SLOTS = 7, ALL_SLOTS = (1u << SLOTS) - 1;
constexpr uint8_t USED = 0x80, TOUCHED = 0x40, STATE = 0x3f, PASSED_MOST = 255;

struct alignas(64) line {
	uint64_t ids[SLOTS];
	uint8_t cells[SLOTS];
	uint8_t passed;
};

static_assert(sizeof(line) == 64, "a line of the cache");

/* The slots that have this id, used or not, one bit each. */
#ifdef __AVX512F__
unsigned matches(const line &l, uint64_t id)
{
	return _mm512_cmpeq_epi64_mask(_mm512_load_si512(&l), _mm512_set1_epi64((long long)id)) & ALL_SLOTS;
}
#else
unsigned matches(const line &l, uint64_t id)
{
	unsigned found = 0;

	for (unsigned i = 0; i < SLOTS; i++)
		found |= unsigned(l.ids[i] == id) << i;
	return found;
}
#endif

/* The last byte is `passed`. */
unsigned free_slots(const line &l)
{
	__m128i cells = _mm_loadl_epi64((const __m128i *)l.cells);

	return ~unsigned(_mm_movemask_epi8(cells)) & ALL_SLOTS;
}

/* ------------------------------------------------------------- the table */

class one_line final : public table
{
public:
	one_line(size_t n, double load)
	    : n(size_t(double(n) / load / SLOTS) + 1),
	      lines(static_cast<line *>(huge_alloc(this->n * sizeof(line)))),
	      is_far(this->n * sizeof(line) > FAR_BYTES)
	{
	}

	~one_line() override
	{
		huge_free(lines, n * sizeof(line));
	}

	one_line(const one_line &) = delete;
	one_line &operator=(const one_line &) = delete;

	void call_by(const calls &c) override
	{
		how = c;
	}

	void renew() override
	{
		std::fill(lines, lines + n, line());
	}

	uint64_t insert(const slice &s) override
	{
		return each(s, s, [&](size_t i) { return !put(s.ids[i], s.states[i]); });
	}

	uint64_t hit(const slice &s) override
	{
		return each(s, s, [&](size_t i) { return look_up(s.ids[i]) != s.states[i]; });
	}

	uint64_t miss(const slice &s) override
	{
		return each(s, s, [&](size_t i) { return look_up(s.ids[i]) >= 0; });
	}

	uint64_t modify(const slice &s) override
	{
		return each(s, s, [&](size_t i) { return !change(s.ids[i], s.states[i]); });
	}

	uint64_t erase(const slice &s) override
	{
		return each(s, s, [&](size_t i) { return !remove(s.ids[i]); });
	}

	uint64_t churn(const slice &gone, const slice &born) override
	{
		return each(gone, born, [&](size_t i) {
			bool lost = !remove(gone.ids[i]);

			return !put(born.ids[i], born.states[i]) || lost;
		});
	}

	uint64_t bytes() const override
	{
		return n * sizeof(line);
	}

private:
	/* As for the gather: what is far is prefetched into L2, L1 allows too few misses at once. */
	static constexpr size_t FAR_BYTES = size_t(4) << 20;

	/* ------------------------------------------------------ an entry */

	size_t home(uint64_t id) const
	{
		return (id >> 32) * n >> 32;
	}

	size_t after(size_t at) const
	{
		return at + 1 < n ? at + 1 : 0;
	}

	struct place {
		size_t at;
		int slot; /* -1: not there */
	};

	static int slot_of(const line &l, uint64_t id)
	{
		for (unsigned m = matches(l, id); m; m &= m - 1)
			if (l.cells[__builtin_ctz(m)] & USED)
				return __builtin_ctz(m);
		return -1;
	}

	place find(uint64_t id) const
	{
		place p = { home(id), -1 };

		for (size_t left = n; left; left--, p.at = after(p.at)) {
			p.slot = slot_of(lines[p.at], id);
			if (p.slot >= 0 || !lines[p.at].passed)
				break;
		}
		return p;
	}

	/* The state, or -1. */
	int look_up(uint64_t id)
	{
		place p = find(id);

		if (p.slot < 0)
			return -1;
		uint8_t *cell = &lines[p.at].cells[p.slot];

		if (!(*cell & TOUCHED))
			*cell |= TOUCHED;
		return *cell & STATE;
	}

	bool change(uint64_t id, uint8_t state)
	{
		place p = find(id);

		if (p.slot >= 0)
			lines[p.at].cells[p.slot] = USED | TOUCHED | state;
		return p.slot >= 0;
	}

	bool put(uint64_t id, uint8_t state)
	{
		size_t at = home(id), left = n;

		if (find(id).slot >= 0)
			return false;
		for (; left && !free_slots(lines[at]); left--, at = after(at))
			lines[at].passed += lines[at].passed < PASSED_MOST;
		if (!left)
			return false;
		int slot = __builtin_ctz(free_slots(lines[at]));

		lines[at].ids[slot] = id;
		lines[at].cells[slot] = USED | TOUCHED | state;
		return true;
	}

	bool remove(uint64_t id)
	{
		place p = find(id);

		if (p.slot < 0)
			return false;
		lines[p.at].cells[p.slot] = 0;
		for (size_t at = home(id); at != p.at; at = after(at))
			lines[at].passed -= lines[at].passed < PASSED_MOST;
		return true;
	}

	/* --------------------------------------------------- many of them */

	void fetch(const slice &s, size_t i) const
	{
		const line *l = &lines[home(s.ids[i])];

		if (is_far && how.burst > 1)
			__builtin_prefetch(l, 0, 2);
		else
			__builtin_prefetch(l);
	}

	/* How many items the prefetch is ahead. Bursts: a whole burst, at most; 64 is enough (gather.cc). */
	size_t ahead() const
	{
		return how.burst == 1 ? FETCH_AHEAD : how.burst < 64 ? how.burst : 64;
	}

	/* Counts for how many items `work` is true. `born` is `s` itself, or in churn what takes its place. */
	template <class Work> uint64_t each(const slice &s, const slice &born, Work work)
	{
		bool fetches = how.burst > 1 || how.fetched;
		size_t size = how.fetched || !fetches ? s.n : how.burst, distance = ahead();
		uint64_t bad = 0;

		for (size_t from = 0; from < s.n; from += size) {
			size_t end = s.n - from < size ? s.n : from + size, fetched = from;

			for (size_t i = from; i < end; i++) {
				for (; fetches && fetched < end && fetched <= i + distance; fetched++) {
					fetch(s, fetched);
					if (&s != &born)
						fetch(born, fetched);
				}
				bad += work(i);
			}
		}
		return bad;
	}

	size_t n;
	line *lines;
	bool is_far;
	calls how = BATCHED;
};

} /* namespace */

table_ptr make_one_line(size_t n, double load)
{
	return std::make_unique<one_line>(n, load);
}

/* ------------------------------------------------------------- the check */

namespace
{

/* The one-line table and an exact map, both with what was put into them. */
class twins
{
public:
	explicit twins(size_t n) : most(n), t(make_one_line(n, .95))
	{
	}

	/* Whether both say the same of this id before and after a change, which `coin` chooses. */
	bool agree(uint64_t id, uint8_t state, bool coin)
	{
		auto known = truth.find(id);

		if (known == truth.end())
			return truth.size() < most ? begins(id, state) : is_unknown(id);
		return coin ? changes(id, known->second = state) : ends(id, known->second);
	}

private:
	static slice one(const uint64_t &id, const uint8_t &state)
	{
		return { 1, nullptr, &id, &state };
	}

	bool is_unknown(uint64_t id)
	{
		const uint8_t any = 0;
		slice s = one(id, any);

		return !t->miss(s) && t->erase(s) && t->modify(s);
	}

	bool begins(uint64_t id, uint8_t state)
	{
		truth[id] = state;
		return is_unknown(id) && !t->insert(one(id, state)) && !t->hit(one(id, state));
	}

	bool changes(uint64_t id, uint8_t state)
	{
		slice s = one(id, state);

		return !t->modify(s) && !t->hit(s) && t->insert(s);
	}

	bool ends(uint64_t id, uint8_t state)
	{
		bool good = !t->hit(one(id, state)) && !t->erase(one(id, state));

		truth.erase(id);
		return good && is_unknown(id);
	}

	size_t most;
	table_ptr t;
	std::unordered_map<uint64_t, uint8_t> truth;
};

} /* namespace */

/* A few lines, ten times as many ids as they hold, a load up to .95: many entries are far from their lines. */
void check_one_line()
{
	constexpr size_t IDS = 1000, HELD = 100, TURNS = 200000;
	flows f(IDS);
	const slice &all = f.fill(0, IDS);
	twins both(HELD);
	uint64_t random = 1;

	for (size_t turn = 0; turn < TURNS; turn++) {
		random = random * UINT64_C(6364136223846793005) + 1442695040888963407;
		if (!both.agree(all.ids[(random >> 33) % IDS], random >> 25 & 15, random >> 63))
			die("the one-line table differs from an exact map, at turn %zu", turn);
	}
}

} /* namespace bench */
