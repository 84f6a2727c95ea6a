/* SPDX-License-Identifier: BSD-2-Clause */
/* The cost of reading alone: pcap_next_ex in a loop. */
#ifndef BENCH_BARE_H
#define BENCH_BARE_H

#include <cstdint>

namespace bench
{

/* Reads a capture to its end; the number of packets. */
uint64_t read_bare(const char *path);

} /* namespace bench */

#endif
