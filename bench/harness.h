/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What all competitors share.
 *
 * A competitor is a `table`: it does *slices* of one operation, some 100,000
 * operations in one virtual call, which hides the cost of the call. The
 * input of a slice lies in contiguous arrays, the same for all. A slice
 * returns the number of wrong answers: that checks the work, and keeps the compiler
 * from removing it.
 */
#ifndef BENCH_HARNESS_H
#define BENCH_HARNESS_H

#include <cstddef>
#include <cstdint>
#include <pthread.h>
#include <sched.h>
#include <string>
#include <vector>

namespace bench
{

/* ----------------------------------------------------------- competitors */

/*
 * 16 random bytes. As two words: in boost and absl an entry then takes 24
 * bytes instead of 17, and hits are 10-15 % faster (1M flows, this machine).
 */
struct key {
	uint64_t word[2];
};

inline bool operator==(const key &a, const key &b)
{
	return a.word[0] == b.word[0] && a.word[1] == b.word[1];
}

/* Whether the id or hash is given, or each competitor hashes in its own way. */
enum class hashing { given, own };

enum op { INSERT, HIT, MISS, MODIFY, DELETE, CHURN, OPS };

extern const char *const op_names[OPS];

struct slice {
	size_t n;
	const key *keys;
	const uint64_t *ids;   /* ids[i] = keys[i].word[0], the hash that is given */
	const uint8_t *states; /* to be stored, or what the answer must be */
};

/*
 * How a table is called: in bursts of so many items, 1 being single calls. `fetched`:
 * the memory of later items is prefetched beyond the burst, that of the next burst or
 * of the single call FETCH_AHEAD items later.
 */
struct calls {
	size_t burst;
	bool fetched;
};

constexpr size_t BURST_MOST = 256; /* a vector of VPP; with half as many, hits take some 4 % longer */
constexpr size_t FETCH_AHEAD = 16; /* single calls */
constexpr calls SINGLE = { 1, false }, BATCHED = { BURST_MOST, false };

class table
{
public:
	virtual ~table() = default;

	/* From now on it is called so; tables that can be called in one way only take no notice. */
	virtual void call_by(const calls &)
	{
	}

	/* Empties the table and makes sure that its memory is there: insert must not measure page faults. */
	virtual void renew() = 0;

	/* Whether this row has a way of its own to do that; else the column stays blank. */
	virtual bool can(op) const
	{
		return true;
	}

	/* Each returns the number of items that failed or were answered wrongly. */
	virtual uint64_t insert(const slice &) = 0;
	virtual uint64_t hit(const slice &) = 0;
	virtual uint64_t miss(const slice &) = 0; /* false positives */
	virtual uint64_t modify(const slice &) = 0;
	virtual uint64_t erase(const slice &) = 0;
	virtual uint64_t churn(const slice &gone, const slice &born) = 0;

	/* All bytes that are allocated for it. */
	virtual uint64_t bytes() const = 0;
};

/* Does one slice of `o`; `born` is for churn only. */
uint64_t run(table &, op o, const slice &, const slice &born);

/* The items [from, from + n) of a slice. */
inline slice part(const slice &s, size_t from, size_t n)
{
	return { n, s.keys + from, s.ids + from, s.states + from };
}

/* Cuts a slice into bursts of at most `size` items, and sums up what `work` returns. */
template <class Work> uint64_t in_bursts(const slice &s, size_t size, Work work)
{
	uint64_t bad = 0;

	for (size_t i = 0; i < s.n; i += size)
		bad += work(part(s, i, s.n - i < size ? s.n - i : size));
	return bad;
}

/* ----------------------------------------------------------------- flows */

constexpr unsigned STATES = 15; /* 4 bits with the don't-know code */

/*
 * n live flows in n slots, and the states that they ought to have. Flow i has
 * a key that follows from i alone; a slot holds the number of a flow. Slices
 * walk over the slots in shuffled order, unrelated to the order of insertion,
 * or in order, where that is no matter and preparing them would take long.
 * Every call below overwrites what the one before it returned.
 */
class flows
{
public:
	enum class walk { shuffled, in_order };

	explicit flows(size_t n, uint64_t first_flow = 0, walk = walk::shuffled, unsigned states = STATES);

	size_t size() const
	{
		return live.size();
	}

	const slice &fill(size_t from, size_t n); /* slots from.., in order of insertion */
	const slice &next(size_t n);              /* live flows, shuffled: hit, delete */
	const slice &strangers(size_t n);         /* flows that never were in a table */
	const slice &changed(size_t n);           /* live flows with new states: modify */

	/* n live flows leave, n new ones take their slots. */
	struct change {
		const slice &gone, &born;
	};
	change churned(size_t n);

	/* Passes over n slots. */
	void skip(size_t n);

private:
	struct buffer {
		std::vector<key> keys;
		std::vector<uint64_t> ids;
		std::vector<uint8_t> states;
		slice view;

		void resize(size_t n);
		void put(size_t i, uint64_t flow, uint8_t state);
		const slice &done(size_t n);
	};

	size_t step();
	uint8_t any_state();

	std::vector<uint64_t> live;
	std::vector<uint8_t> states;
	std::vector<uint32_t> order;
	size_t cursor = 0;
	uint64_t next_flow, next_stranger, random;
	unsigned n_states;
	buffer a, b;
};

/* ------------------------------------------------------ time and samples */

double cpu_seconds(); /* of this thread */
double wall_seconds();

class samples
{
public:
	void add(double value)
	{
		values.push_back(value);
	}

	bool empty() const
	{
		return values.empty();
	}

	double quantile(double q) const;

	double median() const
	{
		return quantile(.5);
	}

	/* Round by round, these divided by those: a change of the machine's pace between rounds changes both. */
	samples over(const samples &those) const;

private:
	std::vector<double> values;
};

/* ----------------------------------------------------------------- cores */

/* While it lives, its thread stays on the first core that it may use; others can be sent to the next ones. */
class own_core
{
public:
	own_core();
	~own_core();
	own_core(const own_core &) = delete;
	own_core &operator=(const own_core &) = delete;

	/* The cores are counted from 0, ours; a thread stays where it is if there are not so many. */
	void send(pthread_t, unsigned number) const;

private:
	cpu_set_t before;
};

/* ---------------------------------------------------------------- memory */

constexpr size_t HUGE_PAGE = size_t(2) << 20;

/* Zeroed memory in whole huge pages, if the system gives them; touched. Never NULL. */
void *huge_alloc(size_t bytes);
void huge_free(void *memory, size_t bytes);

/* Of this process, now. */
uint64_t bytes_in_huge_pages();

/* ------------------------------------------------------- temporary files */

/*
 * A folder below $TMPDIR, or below /tmp where that is not set. It goes, with
 * all that is in it, when the object does, and where die() ends the program.
 */
class scratch
{
public:
	scratch();
	~scratch();
	scratch(const scratch &) = delete;
	scratch &operator=(const scratch &) = delete;

	std::string path(const char *name) const
	{
		return folder + "/" + name;
	}

private:
	std::string folder;
};

/* --------------------------------------------------------------- the end */

/* Says what is wrong, and exits with 1. */
[[noreturn]] void die(const char *format, ...) __attribute__((format(printf, 1, 2)));

} /* namespace bench */

#endif
