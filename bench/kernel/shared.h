/* SPDX-License-Identifier: BSD-2-Clause */
/* What the benchmark's programs and the benchmark share. */
#ifndef BENCH_KERNEL_SHARED_H
#define BENCH_KERNEL_SHARED_H

#include <stdint.h>

/* Which flow the next frame is of. */
struct bench_plan {
	uint32_t flows;
	uint32_t in_order; /* non-zero: by the counter; else pseudo-randomly chosen by it */
	uint32_t back;     /* non-zero: from the other end */
	uint32_t zero;
};

/* Of each processor. */
struct bench_cursor {
	uint64_t next;
	uint64_t missing; /* flows that a peer had not, although they are live */
};

/* What a peer keeps of a flow. */
struct bench_value {
	uint64_t time; /* jiffies */
	uint32_t state, zero;
};

/* Bytes of a frame; its addresses and ports stand in bytes 26 to 37, which is in two whole words. */
enum { BENCH_FRAME = 64, BENCH_PLACES = 24 };

#endif
