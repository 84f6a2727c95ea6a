/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Two threads beside one, in one `line` table for many writers. Each half of
 * the flows has its own input; one thread does both halves one after the
 * other, or two threads do one each, in turns. Each has a core of its own: left
 * to the scheduler, two may begin on one. Wall time; the second thread
 * starts and ends within it (some 50 us of 5 ms or more), for one that spins
 * between the rounds would slow down the other if they share a core. What the
 * machine allows at that moment, two controls tell: threads that read, and
 * threads that write into the same random lines and do nothing else.
 */
#include "sections.h"

#include <algorithm>
#include <thread>

namespace bench
{

namespace
{

/* One round's work of each half. */
struct work {
	op o;
	slice half[2], born[2];
};

class race
{
public:
	race(const settings &s, size_t n, table_ptr table, const own_core &core)
	    : n(n), rounds(s.quick ? 7 : 21),
	      slice_size(std::min(n / 2, size_t(500000))), halves{ flows(n / 2),
								   flows(n / 2, uint64_t(1) << 40) },
	      t(std::move(table)), core(core)
	{
		for (flows &f : halves)
			if (t->insert(f.fill(0, f.size())))
				die("line, many writers: cannot be filled");
	}

	/* Returns how many times as fast two threads are. */
	double measure(op, const char *name, report &);

private:
	work prepare(op);
	void half(const work &, int i);
	double one_thread(const work &);
	double two_threads(const work &);

	size_t n;
	unsigned rounds;
	size_t slice_size;
	flows halves[2];
	table_ptr t;
	const own_core &core;
};

work race::prepare(op o)
{
	work w = { o, {}, {} };

	for (int i = 0; i < 2; i++) {
		flows &f = halves[i];

		if (o == CHURN) {
			flows::change c = f.churned(slice_size);

			w.half[i] = c.gone;
			w.born[i] = c.born;
			continue;
		}
		w.half[i] = o == MODIFY ? f.changed(slice_size) : f.next(slice_size);
		w.born[i] = w.half[i];
	}
	return w;
}

void race::half(const work &w, int i)
{
	uint64_t bad = run(*t, w.o, w.half[i], w.born[i]);

	if (bad)
		die("line, many writers, %s: %lu wrong answers about live flows", op_names[w.o], bad);
}

double race::one_thread(const work &w)
{
	double start = wall_seconds();

	half(w, 0);
	half(w, 1);
	return wall_seconds() - start;
}

double race::two_threads(const work &w)
{
	double start = wall_seconds();
	std::thread other([&] { half(w, 1); });

	core.send(other.native_handle(), 1);
	half(w, 0);
	other.join();
	return wall_seconds() - start;
}

double race::measure(op o, const char *name, report &out)
{
	samples one, two, faster;

	for (unsigned i = 0; i < rounds; i++) {
		double a = one_thread(prepare(o)), b = two_threads(prepare(o));

		one.add(a / double(2 * slice_size) * 1e9);
		two.add(b / double(2 * slice_size) * 1e9);
		faster.add(a / b);
	}
	printf("%-21s %18s %18s %22s\n", name, rate_cell(one, 1e3).c_str(), rate_cell(two, 1e3).c_str(),
	       cell(faster, "%.2fx (%.2f-%.2f)").c_str());
	out.record({ "writers", n, "one thread" }, name, "ns", one);
	out.record({ "writers", n, "two threads" }, name, "ns", two);
	return faster.median();
}

} /* namespace */

void compare_threads(const settings &s, report &out, size_t n)
{
	table_ptr line = make_inkling(options_of(variety::line_writers, n), hashing::given, true);
	own_core core;
	race control(s, n, make_gather(line->bytes(), 1), core), r(s, n, std::move(line), core);

	out.section("writers: two threads beside one, `line` for many writers, %s flows, batched, M/s of "
		    "wall time",
		    with_commas(n).c_str());
	printf("%-21s %18s %18s %22s\n", "", "one thread", "two threads", "two beside one");
	control.measure(HIT, "gather of 1 line", out);
	control.measure(MODIFY, "write to 1 line", out);
	for (op o : { HIT, MODIFY, CHURN }) {
		double faster = r.measure(o, op_names[o], out);

		out.add({ with_commas(n) + ": line, many writers, two threads beside one, " + op_names[o],
			  faster, 1.7, report::bar::at_least, "x" });
	}
}

} /* namespace bench */
