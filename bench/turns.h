/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tables that take turns on the same flows: a round gives each of them the same slice of one
 * operation, and the one that begins changes from round to round. The beginning of a slice
 * warms the caches and is not timed. A wrong answer about a live flow ends the benchmark.
 */
#ifndef BENCH_TURNS_H
#define BENCH_TURNS_H

#include "bench/peers.h"

namespace bench
{

struct entrant {
	std::string name;
	bool is_exact;
	table_ptr table;
	unsigned states;               /* of its flows: it stores what remains of the flow's state */
	uint64_t asked = 0, found = 0; /* found: of `asked` strangers */

	double bits(size_t n) const
	{
		return double(table->bytes()) * 8 / double(n);
	}
};

class turns
{
public:
	using rows = std::vector<entrant *>;

	/* `slice`: the items of a turn. */
	turns(size_t n, size_t slice);

	size_t size() const
	{
		return f.size();
	}

	/* Gives every row all flows; nanoseconds a flow, for each row. */
	std::vector<double> fill(const rows &);

	/* One round, in which row number `first` begins; nanoseconds an item, for each row. */
	std::vector<double> round(op, const rows &, const calls &, size_t first);

private:
	struct input {
		slice s, born;
	};

	input next(op);
	slice as_states(const slice &, unsigned states, std::vector<uint8_t> &into) const;
	double timed(entrant &, op, const input &);
	double turn(entrant &, op, const input &);

	size_t slice_size, cold;
	flows f;
	std::vector<uint8_t> reduced, reduced_born;
};

/* Far beyond the caches: a fill takes long, and there are fewer rounds. */
inline bool is_large(size_t n)
{
	return n > 4000000;
}

} /* namespace bench */

#endif
