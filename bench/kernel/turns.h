/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Programs that take turns on the same flows: a round gives each of them as many packets, and another one begins each
 * round. The first packets of a turn warm the caches and are not timed. The time is the thread's,
 * which leaves out what it waits for a processor.
 */
#ifndef BENCH_KERNEL_TURNS_H
#define BENCH_KERNEL_TURNS_H

#include <stdint.h>

#include "bench/kernel/report.h"
#include "bench/kernel/set.h"

enum { BENCH_MORE = 8 };

/* A program that takes turns. */
struct variant {
	const char *name;
	int fd;
	int bare; /* nothing is written into the frame before; repeated BENCH_MORE times as often */
	int ours;       /* the machine's counts say whether its answers are right */
	int exact;      /* no flow may be missing */
	uint32_t flows; /* 0: all; else the first so many */
	uint64_t packets, missing;
	struct samples ns;
};

struct bench_turns {
	struct bench_set *set;
	uint32_t warm, packets; /* of a turn */
	unsigned rounds;
};

void turns_take(const struct bench_turns *how, struct variant *v, unsigned n);

/* How many times as much both processors do as the first alone, for each variant. */
void turns_together(const struct bench_turns *how, const struct variant *v, unsigned n,
		    struct samples *gains);

#endif
