/* SPDX-License-Identifier: BSD-2-Clause */
/* Who takes part. Each function makes one row of the tables, for n flows. */
#ifndef BENCH_PEERS_H
#define BENCH_PEERS_H

#include "bench/harness.h"

#include <inkling/inkling.h>
#include <memory>

namespace bench
{

using table_ptr = std::unique_ptr<table>;

/*
 * boost: by 16-byte keys, or by 64-bit ids, which are their own hash. With two passes: the
 * group of an item that comes later is prefetched, then its element. Boost 1.81 has no
 * calls for that (peer_boost.cc); where the version is another, it is not to be had.
 */
enum class boost_keys { whole, ids, ids_two_passes };

std::string boost_version();
bool boost_has_two_passes();
table_ptr make_boost(size_t n, hashing, boost_keys = boost_keys::whole);

/* A line of 64 bytes for 7 ids and their states, as full as `load` says: our own lower bound for exact tables. */
table_ptr make_one_line(size_t n, double load);
void check_one_line(); /* beside an exact map, or the end */

std::string absl_version();
table_ptr make_absl(size_t n, hashing, bool prefetch);

/* One by one; in bulk; in bulk, with the states in an array of ours. */
enum class rte_way { single, bulk, bulk_array };

std::string dpdk_version(); /* also starts it */
table_ptr make_rte_hash(size_t n, hashing, rte_way);
table_ptr make_rte_member(size_t n, rte_way); /* it can only hash itself; no array */

/* Reads `lines` (1 or 2) random 64-byte lines for each id, out of `bytes` bytes. Only hit() does it. */
table_ptr make_gather(size_t bytes, unsigned lines);

/* The tables that the bars are about: 15 states and one age bit. */
enum class variety { line, line_writers, compact };

struct ink_options options_of(variety, size_t n);
table_ptr make_inkling(const struct ink_options &, hashing, const calls &);

/* ink_create, or the end. */
struct ink_table *create(const struct ink_options &);
struct ink_stats stats_of(const struct ink_table *);

} /* namespace bench */

#endif
