/* SPDX-License-Identifier: BSD-2-Clause */
/* The parts of the benchmark, each in the file of its name. */
#ifndef BENCH_SECTIONS_H
#define BENCH_SECTIONS_H

#include "bench/peers.h"
#include "bench/report.h"

namespace bench
{

struct settings {
	bool quick = false;
};

/* compare.cc: every operation, everybody, in turns. */
void compare(const settings &, report &, size_t n, hashing);

/* filters.cc: the paper's structures beside `line`. */
void compare_filters(const settings &, report &, size_t n);

/* bits.cc: bits a flow and false positives of Inkling's tables. */
void count_bits(report &);

/* writers.cc: two threads beside one. */
void compare_threads(const settings &, report &, size_t n);

/* tick.cc: what a tick costs, whole and in portions. */
void measure_ticks(const settings &, report &, size_t n);

/* machines.cc: what a packet costs, for every bundled machine. */
void measure_machines(const settings &, report &);

/* latency.cc: how long the slowest inserts take. */
void measure_latency(const settings &, report &, size_t n);

/* count.cc: counting sets. */
void measure_counts(const settings &, report &, size_t n);

/* kbf.cc: the key-value Bloom filter, and what decoding a pair costs. */
void measure_kbf(const settings &, report &, size_t n);

/* whole.cc: merging, subtracting, saving and loading whole structures. */
void measure_whole(const settings &, report &, size_t n);

/* ids.cc: what an id costs. */
void measure_ids(const settings &, report &);

/* packets.cc: what a packet costs before a table is asked. */
void measure_packets(const settings &, report &);

} /* namespace bench */

#endif
