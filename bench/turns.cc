/* SPDX-License-Identifier: BSD-2-Clause */
#include "bench/turns.h"

#include <algorithm>

namespace bench
{

/* Divisible by most numbers of states that are measured: what remains is as frequent, or nearly. */
static constexpr unsigned ALL_STATES = 240;

turns::turns(size_t n, size_t slice)
    : slice_size(std::min(n, slice)), cold(is_large(n) ? slice_size / 2 : slice_size / 4),
      f(n, 0, flows::walk::shuffled, ALL_STATES)
{
}

turns::input turns::next(op o)
{
	if (o == CHURN) {
		flows::change c = f.churned(slice_size);

		return { c.gone, c.born };
	}
	const slice &s = o == MISS     ? f.strangers(slice_size)
			 : o == MODIFY ? f.changed(slice_size)
				       : f.next(slice_size);

	return { s, s };
}

/* The same slice for a table of so many states. */
slice turns::as_states(const slice &s, unsigned states, std::vector<uint8_t> &into) const
{
	into.resize(s.n);
	for (size_t i = 0; i < s.n; i++)
		into[i] = uint8_t(s.states[i] % states);
	return { s.n, s.keys, s.ids, into.data() };
}

double turns::timed(entrant &e, op o, const input &in)
{
	double start = cpu_seconds();
	uint64_t bad = run(*e.table, o, in.s, in.born);
	double took = cpu_seconds() - start;

	if (o == MISS) {
		e.asked += in.s.n;
		e.found += bad;
	}
	if (bad && (o != MISS || e.is_exact))
		die("%s, %s: %lu wrong answers", e.name.c_str(), op_names[o], bad);
	return took / double(in.s.n) * 1e9;
}

double turns::turn(entrant &e, op o, const input &in)
{
	slice s = as_states(in.s, e.states, reduced), born = as_states(in.born, e.states, reduced_born);
	size_t rest = s.n - cold;

	timed(e, o, { part(s, 0, cold), part(born, 0, cold) });
	return timed(e, o, { part(s, cold, rest), part(born, cold, rest) });
}

std::vector<double> turns::round(op o, const rows &all, const calls &how, size_t first)
{
	input in = next(o);
	std::vector<double> ns(all.size());

	for (size_t k = 0; k < all.size(); k++) {
		size_t i = (k + first) % all.size();

		all[i]->table->call_by(how);
		ns[i] = turn(*all[i], o, in);
	}
	return ns;
}

std::vector<double> turns::fill(const rows &all)
{
	std::vector<double> ns(all.size());
	size_t n = f.size();

	for (size_t from = 0; from < n; from += slice_size) {
		const slice &s = f.fill(from, std::min(slice_size, n - from));

		for (size_t i = 0; i < all.size(); i++) {
			slice own = as_states(s, all[i]->states, reduced);

			ns[i] += timed(*all[i], INSERT, { own, own }) * double(s.n) / double(n);
		}
	}
	return ns;
}

} /* namespace bench */
