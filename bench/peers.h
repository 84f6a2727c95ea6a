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

std::string boost_version();
table_ptr make_boost(size_t n, hashing);

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
table_ptr make_inkling(const struct ink_options &, hashing, bool batched);

/* ink_create, or the end. */
struct ink_table *create(const struct ink_options &);
struct ink_stats stats_of(const struct ink_table *);

} /* namespace bench */

#endif
