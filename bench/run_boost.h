/* SPDX-License-Identifier: BSD-2-Clause */
/* The machine tcp over a capture, with the flows in maps of boost: see run_boost.cc. */
#ifndef BENCH_RUN_BOOST_H
#define BENCH_RUN_BOOST_H

namespace bench
{

/* Prints what it counted, as `inkling run -o -` has it. */
void run_boost(const char *path);

} /* namespace bench */

#endif
