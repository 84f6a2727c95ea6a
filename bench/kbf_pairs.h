/* SPDX-License-Identifier: BSD-2-Clause */
/* Decoding of pairs by itself, for kbf.cc: the library's inlined code is C, and is timed as such. */
#ifndef BENCH_KBF_PAIRS_H
#define BENCH_KBF_PAIRS_H

#include <inkling/kbf.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { BENCH_PAIRS = 1000000 };

struct bench_pairs;

/* A dictionary, and the sums of random pairs of its symbols; NULL: no memory. */
struct bench_pairs *bench_pairs_make(enum ink_kbf_encoding encoding, uint32_t values);
void bench_pairs_free(struct bench_pairs *pairs);

/* Decodes all of them; how many were wrong. */
uint64_t bench_pairs_decode(const struct bench_pairs *pairs);

#ifdef __cplusplus
}
#endif

#endif
