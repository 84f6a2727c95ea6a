/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How much do two threads gain in one `line` table for many writers? Each half of
 * the flows has its own input. One thread does both halves one after the other, or
 * two threads do one each; the two ways alternate. Each thread has a core of its
 * own: the scheduler might start both on one. Wall time counts from the moment when
 * both run (creating a thread takes up to .2 ms, a tenth of a slice) until both are
 * done. Between the slices there is no second thread: one that spins would slow
 * down the other if they share a core. Two controls show what the machine allows at
 * that moment: threads that only read, and threads that only write, the same random
 * lines.
 *
 * Two cores of a virtual machine may be two threads of one real core for some
 * seconds, and two threads gain little there. So both threads run pure arithmetic
 * before each slice, and after those of two threads. A slice starts once that
 * gains 1.7x, and is repeated if it gains less at the end. The output says how often
 * that happened, and whether waiting for it failed.
 *
 * Result (C of docs/benchmarks.md): hits 1.9 to 2.0 times as fast, modifies and churn 1.8 to 1.9
 * times, on two cores of one die; on two dies modifies and churn are slower than with one thread.
 */
#include "bench/sections.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <thread>

namespace bench
{

namespace
{

/* Yields: the other thread may still be on the same core. */
void wait_for(const std::atomic<bool> &flag)
{
	while (!flag)
		std::this_thread::yield();
}

/* Less than a millisecond of arithmetic, of which a core can do several at once. */
void compute()
{
	uint64_t x[8] = { 1, 2, 3, 4, 5, 6, 7, 8 };

	for (unsigned i = 0; i < 200000; i++)
		for (uint64_t &one : x) {
			one += one << 1 ^ i;
			__asm__ volatile("" : "+r"(one));
		}
}

/*
 * Two threads on a core each. Says whether they really have one, and waits for
 * that; not longer than a minute in all, after which turns are measured as they are.
 */
class two_cores
{
public:
	/* Seconds in which the first is done here and the second on the other core, from when both threads are there. */
	double together(const std::function<void()> &here, const std::function<void()> &there) const;

	bool are_there() const
	{
		double start = wall_seconds();

		compute();
		compute();
		return (wall_seconds() - start) / together(compute, compute) >= 1.7;
	}

	void wait()
	{
		double start = wall_seconds();

		while (insist() && !are_there()) {
			std::this_thread::sleep_for(std::chrono::milliseconds(5));
			waited += wall_seconds() - start;
			start = wall_seconds();
		}
	}

	/* As good as waited: a turn that has to be done again. */
	void lost(double seconds)
	{
		waited += seconds;
	}

	bool insist() const
	{
		return waited < 60;
	}

private:
	own_core core;
	double waited = 0;
};

double two_cores::together(const std::function<void()> &here, const std::function<void()> &there) const
{
	std::atomic<bool> sent(false), ready(false), off(false), done(false);
	std::thread other([&] {
		wait_for(sent);
		ready = true;
		wait_for(off);
		there();
		done = true;
	});

	core.send(other.native_handle(), 1);
	sent = true;
	wait_for(ready);
	double start = wall_seconds();
	off = true;
	here();
	wait_for(done);
	double end = wall_seconds();
	other.join();
	return end - start;
}

/* One round's work of each half. */
struct work {
	op o;
	slice half[2], born[2];
};

class race
{
public:
	race(const settings &s, size_t n, table_ptr table, two_cores &cores)
	    : n(n), rounds(s.quick ? 7 : 21),
	      slice_size(std::min(n / 2, size_t(500000))), halves{ flows(n / 2),
								   flows(n / 2, uint64_t(1) << 40) },
	      t(std::move(table)), cores(cores)
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
	bool round(op, samples &one, samples &two);

	size_t n;
	unsigned rounds;
	size_t slice_size;
	flows halves[2];
	table_ptr t;
	two_cores &cores;
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
	return cores.together([&] { half(w, 0); }, [&] { half(w, 1); });
}

/* Returns whether it counts: it ran on two cores all the time, or the attempts are used up. */
bool race::round(op o, samples &one, samples &two)
{
	double start = wall_seconds();
	work first = prepare(o);
	cores.wait();
	double alone = one_thread(first);
	work second = prepare(o);
	cores.wait();
	double both = two_threads(second);

	if (cores.insist() && !cores.are_there()) {
		cores.lost(wall_seconds() - start);
		return false;
	}
	one.add(alone / double(2 * slice_size) * 1e9);
	two.add(both / double(2 * slice_size) * 1e9);
	return true;
}

double race::measure(op o, const char *name, report &out)
{
	samples one, two;
	unsigned done = 0, again = 0;

	while (done < rounds)
		++(round(o, one, two) ? done : again);
	samples faster = one.over(two);

	printf("%-21s %18s %18s %22s", name, rate_cell(one, 1e3).c_str(), rate_cell(two, 1e3).c_str(),
	       cell(faster, "%.2fx (%.2f-%.2f)").c_str());
	printf(again ? "   %u again" : "", again);
	printf("%s\n", cores.insist() ? "" : "   on whatever cores there were");
	out.record({ "writers", n, "one thread" }, name, "ns", one);
	out.record({ "writers", n, "two threads" }, name, "ns", two);
	return faster.median();
}

} /* namespace */

void compare_threads(const settings &s, report &out, size_t n)
{
	table_ptr line = make_inkling(options_of(variety::line_writers, n), hashing::given, BATCHED);
	two_cores cores;
	race control(s, n, make_gather(line->bytes(), 1), cores), r(s, n, std::move(line), cores);

	out.section("writers: two threads compared with one, `line` for many writers, %s flows, batched, M/s of "
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
