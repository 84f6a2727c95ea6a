/* SPDX-License-Identifier: BSD-2-Clause */
/* The parts of the benchmark, each in the file of its name. */
#ifndef BENCH_SECTIONS_H
#define BENCH_SECTIONS_H

#include "bench/peers.h"
#include "bench/report.h"

namespace bench
{

/* Which shapes shapes.cc measures. */
struct shape_choice {
	std::vector<variety> kinds = { variety::compact, variety::line, variety::line_writers };
	std::vector<double> errors = { .05, .01, .004, .001, 1e-4, 1e-6 };
	std::vector<unsigned> states = { 2, 4, 7, 15, 31 };
	std::vector<unsigned> age_bits = { 1, 2 }; /* all but the first: with 15 states */
};

struct settings {
	bool quick = false;
	size_t burst = BURST_MOST; /* of what is called "batched" */
	shape_choice shapes;
};

/*
 * The load of the one-line table where none is given. At .75 a hit takes 1.4 times as long and
 * churn 3 to 4 times: more flows are outside their own lines (section 'full').
 */
constexpr double ONE_LINE_LOAD = .5;

/* compare.cc: every operation, for all competitors. */
void compare(const settings &, report &, size_t n, hashing);

/* shapes.cc: line and compact at any error and number of states. */
void measure_shapes(const settings &, report &, size_t n);

/* bursts.cc: single calls and bursts, with later items fetched or not. */
void measure_bursts(const settings &, report &, size_t n);

/* step.cc: a step compared with a modify. */
void measure_steps(const settings &, report &, size_t n);

/* full.cc: exact tables that are more or less full. */
void measure_fullness(const settings &, report &, size_t n);

/* filters.cc: the paper's structures and `line`. */
void compare_filters(const settings &, report &, size_t n);

/* bits.cc: bits per flow and false positives of Inkling's tables. */
void count_bits(report &);

/* writers.cc: two threads compared with one. */
void compare_threads(const settings &, report &, size_t n);

/* tick.cc: the cost of a tick, whole and in portions. */
void measure_ticks(const settings &, report &, size_t n);

/* machines.cc: the cost of a packet, for every bundled machine. */
void measure_machines(const settings &, report &);

/* latency.cc: how long the slowest inserts take. */
void measure_latency(const settings &, report &, size_t n);

/* count.cc: counting sets. */
void measure_counts(const settings &, report &, size_t n);

/* kbf.cc: the key-value Bloom filter, and the cost of decoding a pair. */
void measure_kbf(const settings &, report &, size_t n);

/* kbf_batch.cc: its updates and deletes, singly and in batches. */
void measure_kbf_batches(const settings &, report &, size_t n);

/* whole.cc: merging, subtracting, saving and loading whole structures. */
void measure_whole(const settings &, report &, size_t n);

/* ids.cc: the cost of an id. */
void measure_ids(const settings &, report &);

/* packets.cc: the cost of a packet before it reaches a table. */
void measure_packets(const settings &, report &);

} /* namespace bench */

#endif
