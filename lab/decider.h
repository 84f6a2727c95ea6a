/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One run of a drop policy over many streams of video at once, with the state of the streams in two tables
 * that receive the same packets, and the truth beside them.
 *
 * The random choices are the machine's: which packet or frame is unlucky is an event, the same for the tables
 * and the truth. They differ only in what they remember of the stream. The truth is an array with an element
 * for each active stream (truth_drops() in decider.c) and shares no code with tables and machines.
 */
#ifndef INKLING_LAB_DECIDER_H
#define INKLING_LAB_DECIDER_H

#include <stdint.h>

#include <inkling/inkling.h>

#include "lab/runner.h"
#include "lab/policy.h"

/* What the paper leaves open about the use of its table. */
enum {
	DECIDER_UNSURE_DROPS =
		1,          /* a packet of a stream that the table does not know is dropped, else passed */
	DECIDER_BEGINS = 2, /* the router learns that a stream begins, and inserts it */
	DECIDER_ENDS = 4,   /* ... and that it ends, and deletes it; else its time runs out */
};

struct decider {
	enum policy policy;
	unsigned flags;
	uint32_t streams;   /* active at once */
	uint32_t groups;    /* of pictures that a stream has, on average */
	uint32_t rounds;    /* groups that each place sends while decisions are counted */
	const char *chance; /* "0.5%": of packets of I tails; NULL: the machine's own */
	double haste; /* how much faster the clock of the time-outs runs than that of the streams; 0 = 1 */
	uint64_t seed;
	/*
	 * States, rules, flows and age follow from the above. The second table is optional: kind 0 means
	 * none.
	 */
	struct ink_options table[2];
};

struct decided {
	double bits[2];         /* that a stream takes */
	double utilization;     /* of the first: cells that are taken in the end */
	uint64_t passes, drops; /* packets that should be passed, and dropped */
	uint64_t wrong[2];      /* of the first dropped all the same */
	uint64_t missed[2];     /* of the second passed all the same */
	uint64_t unsure[2];     /* packets whose stream the table did not know */
	uint64_t seen;          /* streams that were counted */
	uint64_t touched[2];    /* of these, those with a wrong or missed decision */
	uint64_t bytes, lost;   /* in all, and what the truth dropped of them */
};

/* 0, or -errno after lab_fail(). */
int decide(struct lab *lab, const struct decider *decider, struct decided *decided);

/*
 * Flows for which a table needs room: active streams, and those that have ended and wait for their time-out.
 */
uint64_t decider_flows(const struct decider *decider);

#endif
