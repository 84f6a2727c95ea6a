/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * DPDK's rte_hash (exact) and rte_member HT (approximate).
 *
 * The environment layer is started without huge page files. Its own memory
 * would then be a memfd, which gets no huge pages; so each table has a heap of
 * its own that we give to DPDK (rte_malloc_heap_*) in transparent huge pages.
 * That also gives the memory of a table.
 */
#include "bench/peers.h"

#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_hash.h>
#include <rte_malloc.h>
#include <rte_member.h>
#include <rte_version.h>
#include <sched.h>

namespace bench
{

namespace
{

constexpr size_t BULK = 64; /* the most that DPDK takes; 32 is 5 % slower */

/* Starts DPDK once. It binds the thread to a core, which we undo. */
void start()
{
	static bool started;
	static const char *arguments[] = { "ink-bench", "--no-huge",      "-m",          "32",
					   "--no-pci",  "--no-telemetry", "--no-shconf", "-l",
					   "0",         "--log-level",    "*:error" };
	cpu_set_t cores;

	if (started)
		return;
	started = true;
	sched_getaffinity(0, sizeof cores, &cores);
	if (rte_eal_init(sizeof arguments / sizeof *arguments, const_cast<char **>(arguments)) < 0)
		die("DPDK does not start: %s", rte_strerror(rte_errno));
	sched_setaffinity(0, sizeof cores, &cores);
}

class heap
{
public:
	explicit heap(size_t bytes) : bytes((bytes + HUGE_PAGE - 1) & ~(HUGE_PAGE - 1)), name(next_name())
	{
		start();
		memory = huge_alloc(this->bytes);
		if (rte_malloc_heap_create(name.c_str()) ||
		    rte_malloc_heap_memory_add(name.c_str(), memory, this->bytes, nullptr, 0, HUGE_PAGE))
			die("DPDK takes no memory: %s", rte_strerror(rte_errno));
	}

	~heap()
	{
		rte_malloc_heap_memory_remove(name.c_str(), memory, bytes);
		rte_malloc_heap_destroy(name.c_str());
		huge_free(memory, bytes);
	}

	heap(const heap &) = delete;
	heap &operator=(const heap &) = delete;

	int socket() const
	{
		return rte_malloc_heap_get_socket(name.c_str());
	}

	uint64_t used() const
	{
		struct rte_malloc_socket_stats stats;

		return rte_malloc_get_socket_stats(socket(), &stats) ? 0 : stats.heap_allocsz_bytes;
	}

	const char *id() const
	{
		return name.c_str();
	}

private:
	static std::string next_name()
	{
		static unsigned number;

		return "bench" + std::to_string(number++);
	}

	size_t bytes;
	std::string name;
	void *memory;
};

/* Pointers to the keys of a burst, as DPDK's bulk calls want them. */
struct pointers {
	explicit pointers(const slice &s)
	{
		for (size_t i = 0; i < s.n; i++)
			at[i] = &s.keys[i];
	}

	const void *at[BULK];
};

/* -------------------------------------------------------------- rte_hash */

/* The hash that is given. */
hash_sig_t signature(const slice &s, size_t i)
{
	return hash_sig_t(s.ids[i]);
}

struct signatures {
	explicit signatures(const slice &s)
	{
		for (size_t i = 0; i < s.n; i++)
			at[i] = signature(s, i);
	}

	hash_sig_t at[BULK];
};

/*
 * Buckets 8 to 16, keys with their data 32, free list 4 to 8 bytes a flow,
 * depending on how far n is from the next power of two.
 */
constexpr size_t HASH_BYTES = 56, HEAP_RESERVE = size_t(8) << 20;

/* It makes a power of two of cells; above 96 % not all flows find room without the chains of EXT_TABLE. */
bool nearly_full(size_t n)
{
	return n > .96 * rte_align32pow2(uint32_t(n));
}

/*
 * The state is the data pointer, which lies next to the key: in an array by
 * position it would cost one more line. `Given` = the hash is given.
 */
template <bool Given> class hash_table : public table
{
public:
	explicit hash_table(size_t n) : memory(n * HASH_BYTES + HEAP_RESERVE)
	{
		struct rte_hash_parameters p = {};

		p.name = memory.id();
		p.entries = uint32_t(n);
		p.key_len = sizeof(key);
		p.socket_id = memory.socket();
		p.extra_flag = nearly_full(n) ? RTE_HASH_EXTRA_FLAGS_EXT_TABLE : 0;
		hash = rte_hash_create(&p);
		if (!hash)
			die("rte_hash_create: %s", rte_strerror(rte_errno));
	}

	~hash_table() override
	{
		rte_hash_free(hash);
	}

	hash_table(const hash_table &) = delete;
	hash_table &operator=(const hash_table &) = delete;

	void renew() override
	{
		rte_hash_reset(hash);
	}

	uint64_t insert(const slice &s) override
	{
		uint64_t bad = 0;

		for (size_t i = 0; i < s.n; i++)
			bad += !add(s, i);
		return bad;
	}

	uint64_t hit(const slice &s) override
	{
		uint64_t bad = 0;

		for (size_t i = 0; i < s.n; i++) {
			void *data;

			bad += !find(s, i, &data) || data != pack(s.states[i]);
		}
		return bad;
	}

	uint64_t miss(const slice &s) override
	{
		uint64_t bad = 0;

		for (size_t i = 0; i < s.n; i++) {
			void *data;

			bad += find(s, i, &data);
		}
		return bad;
	}

	uint64_t modify(const slice &s) override
	{
		return insert(s); /* adding a key that is there changes its data */
	}

	uint64_t erase(const slice &s) override
	{
		uint64_t bad = 0;

		for (size_t i = 0; i < s.n; i++)
			bad += !remove(s, i);
		return bad;
	}

	uint64_t churn(const slice &gone, const slice &born) override
	{
		uint64_t bad = 0;

		for (size_t i = 0; i < gone.n; i++)
			bad += !remove(gone, i) + !add(born, i);
		return bad;
	}

	uint64_t bytes() const override
	{
		return memory.used();
	}

protected:
	static void *pack(uint8_t state)
	{
		return (void *)uintptr_t(state);
	}

	bool add(const slice &s, size_t i)
	{
		if (Given)
			return !rte_hash_add_key_with_hash_data(hash, &s.keys[i], signature(s, i),
								pack(s.states[i]));
		return !rte_hash_add_key_data(hash, &s.keys[i], pack(s.states[i]));
	}

	bool find(const slice &s, size_t i, void **data)
	{
		if (Given)
			return rte_hash_lookup_with_hash_data(hash, &s.keys[i], signature(s, i), data) >= 0;
		return rte_hash_lookup_data(hash, &s.keys[i], data) >= 0;
	}

	bool remove(const slice &s, size_t i)
	{
		if (Given)
			return rte_hash_del_key_with_hash(hash, &s.keys[i], signature(s, i)) >= 0;
		return rte_hash_del_key(hash, &s.keys[i]) >= 0;
	}

	heap memory;
	struct rte_hash *hash;
};

/* Only lookups have a bulk form. */
template <bool Given> class hash_table_bulk : public hash_table<Given>
{
public:
	using hash_table<Given>::hash_table;

	bool can(op o) const override
	{
		return o == HIT || o == MISS;
	}

	uint64_t hit(const slice &s) override
	{
		return in_bursts(s, BULK, [&](const slice &b) {
			void *data[BULK];
			uint64_t found = find_all(b, data), bad = b.n - size_t(__builtin_popcountll(found));

			for (size_t i = 0; i < b.n; i++)
				bad += data[i] != this->pack(b.states[i]);
			return bad;
		});
	}

	uint64_t miss(const slice &s) override
	{
		return in_bursts(s, BULK, [&](const slice &b) {
			void *data[BULK];

			return size_t(__builtin_popcountll(find_all(b, data)));
		});
	}

private:
	/* Returns which were found. */
	uint64_t find_all(const slice &b, void **data)
	{
		pointers keys(b);
		uint64_t found = 0;

		if (Given)
			rte_hash_lookup_with_hash_bulk_data(this->hash, keys.at, signatures(b).at,
							    uint32_t(b.n), &found, data);
		else
			rte_hash_lookup_bulk_data(this->hash, keys.at, uint32_t(b.n), &found, data);
		return found;
	}
};

/*
 * The state in an array, at the position that rte_hash gives to a key. Hits
 * are up to 10 % slower so, but this way a modify is a bulk lookup too.
 */
template <bool Given> class hash_table_array : public hash_table<Given>
{
public:
	explicit hash_table_array(size_t n)
	    : hash_table<Given>(n), n(n + 1), states(static_cast<uint8_t *>(huge_alloc(n + 1)))
	{
	}

	~hash_table_array() override
	{
		huge_free(states, n);
	}

	bool can(op o) const override
	{
		return o == HIT || o == MISS || o == MODIFY;
	}

	uint64_t insert(const slice &s) override
	{
		uint64_t bad = 0;

		for (size_t i = 0; i < s.n; i++) {
			int32_t at =
				Given ? rte_hash_add_key_with_hash(this->hash, &s.keys[i], signature(s, i))
				      : rte_hash_add_key(this->hash, &s.keys[i]);

			if (at >= 0)
				states[at] = s.states[i];
			bad += at < 0;
		}
		return bad;
	}

	uint64_t hit(const slice &s) override
	{
		return each(s, [&](int32_t at, uint8_t state) { return at < 0 || states[at] != state; });
	}

	uint64_t miss(const slice &s) override
	{
		return each(s, [&](int32_t at, uint8_t) { return at >= 0; });
	}

	uint64_t modify(const slice &s) override
	{
		return each(s, [&](int32_t at, uint8_t state) {
			if (at < 0)
				return true;
			states[at] = state;
			return false;
		});
	}

	uint64_t bytes() const override
	{
		return hash_table<Given>::bytes() + n;
	}

private:
	/* Counts the items for which `work` is true of position (negative: not found) and state. */
	template <class Work> uint64_t each(const slice &s, Work work)
	{
		return in_bursts(s, BULK, [&](const slice &b) {
			pointers keys(b);
			int32_t at[BULK];
			uint64_t bad = 0;

			if (Given)
				rte_hash_lookup_with_hash_bulk(this->hash, keys.at, signatures(b).at,
							       uint32_t(b.n), at);
			else
				rte_hash_lookup_bulk(this->hash, keys.at, uint32_t(b.n), at);
			for (size_t i = 0; i < b.n; i++)
				bad += work(at[i], b.states[i]);
			return bad;
		});
	}

	size_t n;
	uint8_t *states;
};

/* ------------------------------------------------------------ rte_member */

/* 16 entries of 4 bytes in a bucket, the number of buckets a power of two. */
constexpr size_t MEMBER_BYTES = 8;

/* A set number is the state + 1, since 0 means no match. It cannot change one. */
class member_table : public table
{
public:
	explicit member_table(size_t n) : memory(n * MEMBER_BYTES + HEAP_RESERVE)
	{
		struct rte_member_parameters p = {};

		p.name = memory.id();
		p.type = RTE_MEMBER_TYPE_HT;
		p.num_keys = uint32_t(n);
		p.key_len = sizeof(key);
		p.prim_hash_seed = 1;
		p.sec_hash_seed = 2;
		p.socket_id = memory.socket();
		set = rte_member_create(&p);
		if (!set)
			die("rte_member_create: %s", rte_strerror(rte_errno));
	}

	~member_table() override
	{
		rte_member_free(set);
	}

	member_table(const member_table &) = delete;
	member_table &operator=(const member_table &) = delete;

	bool can(op o) const override
	{
		return o != MODIFY;
	}

	void renew() override
	{
		rte_member_reset(set);
	}

	uint64_t insert(const slice &s) override
	{
		uint64_t bad = 0;

		for (size_t i = 0; i < s.n; i++)
			bad += !add(s, i);
		return bad;
	}

	uint64_t hit(const slice &s) override
	{
		uint64_t bad = 0;

		for (size_t i = 0; i < s.n; i++)
			bad += find(s, i) != number(s, i);
		return bad;
	}

	uint64_t miss(const slice &s) override
	{
		uint64_t bad = 0;

		for (size_t i = 0; i < s.n; i++)
			bad += find(s, i) != RTE_MEMBER_NO_MATCH;
		return bad;
	}

	uint64_t modify(const slice &) override
	{
		return 0;
	}

	uint64_t erase(const slice &s) override
	{
		uint64_t bad = 0;

		for (size_t i = 0; i < s.n; i++)
			bad += !remove(s, i);
		return bad;
	}

	uint64_t churn(const slice &gone, const slice &born) override
	{
		uint64_t bad = 0;

		for (size_t i = 0; i < gone.n; i++)
			bad += !remove(gone, i) + !add(born, i);
		return bad;
	}

	uint64_t bytes() const override
	{
		return memory.used();
	}

protected:
	static member_set_t number(const slice &s, size_t i)
	{
		return member_set_t(s.states[i] + 1);
	}

	member_set_t find(const slice &s, size_t i) const
	{
		member_set_t found = RTE_MEMBER_NO_MATCH;

		rte_member_lookup(set, &s.keys[i], &found);
		return found;
	}

	bool add(const slice &s, size_t i)
	{
		return rte_member_add(set, &s.keys[i], number(s, i)) >= 0;
	}

	bool remove(const slice &s, size_t i)
	{
		return rte_member_delete(set, &s.keys[i], number(s, i)) >= 0;
	}

	heap memory;
	struct rte_member_setsum *set;
};

/* Only lookups have a bulk form. */
class member_table_bulk : public member_table
{
public:
	using member_table::member_table;

	bool can(op o) const override
	{
		return o == HIT || o == MISS;
	}

	uint64_t hit(const slice &s) override
	{
		return in_bursts(s, BULK, [&](const slice &b) {
			member_set_t found[BULK];
			uint64_t bad = 0;

			rte_member_lookup_bulk(set, pointers(b).at, uint32_t(b.n), found);
			for (size_t i = 0; i < b.n; i++)
				bad += found[i] != number(b, i);
			return bad;
		});
	}

	uint64_t miss(const slice &s) override
	{
		return in_bursts(s, BULK, [&](const slice &b) {
			member_set_t found[BULK];

			return uint64_t(rte_member_lookup_bulk(set, pointers(b).at, uint32_t(b.n), found));
		});
	}
};

template <bool Given> table_ptr make(size_t n, rte_way way)
{
	if (way == rte_way::single)
		return std::make_unique<hash_table<Given>>(n);
	if (way == rte_way::bulk)
		return std::make_unique<hash_table_bulk<Given>>(n);
	return std::make_unique<hash_table_array<Given>>(n);
}

} /* namespace */

std::string dpdk_version()
{
	start();
	return rte_version();
}

table_ptr make_rte_hash(size_t n, hashing h, rte_way way)
{
	return h == hashing::given ? make<true>(n, way) : make<false>(n, way);
}

table_ptr make_rte_member(size_t n, rte_way way)
{
	if (way == rte_way::single)
		return std::make_unique<member_table>(n);
	return std::make_unique<member_table_bulk>(n);
}

} /* namespace bench */
