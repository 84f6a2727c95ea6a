/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One run of a drop policy over many streams of video at once, with the state of the streams in two tables
 * that get the same packets, and a truth beside them.
 *
 * The dice are the machine's: which packet or frame is unlucky is an event, the same for the tables and for
 * the truth. What differs is only what they remember of the stream. The truth is an array with a place for
 * each stream on the air (truth_drops() in decider.c), and shares no code with tables and machines.
 */
#ifndef INKLING_LAB_DECIDER_H
#define INKLING_LAB_DECIDER_H

#include <stdint.h>

#include <inkling/inkling.h>

#include "lab/runner.h"
#include "lab/policy.h"

/* Where the paper leaves open how its table was used. */
enum {
	DECIDER_UNSURE_DROPS =
		1,          /* a packet of a stream that the table does not know is dropped, else passed */
	DECIDER_BEGINS = 2, /* the router is told that a stream begins, and inserts it */
	DECIDER_ENDS = 4,   /* ... and that it ends, and deletes it; else its time runs out */
};

struct decider {
	enum policy policy;
	unsigned flags;
	uint32_t streams;   /* on the air at once */
	uint32_t groups;    /* of pictures that a stream has, on average */
	uint32_t rounds;    /* groups that each place sends while decisions are counted */
	const char *chance; /* "0.5%": of packets of I tails; NULL: the machine's own */
	double haste;       /* how much faster time goes for the time-outs than for the streams; 0 = 1 */
	uint64_t seed;
	/*
	 * Their states, rules, flows and age follow from the above, and need not be said. The second: none
	 * if its kind is 0.
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
 * Flows that a table has to have room for: streams on the air, and those that are gone and wait for their
 * time.
 */
uint64_t decider_flows(const struct decider *decider);

#endif
