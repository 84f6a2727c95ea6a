/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The simple machine of the ACSM paper (5.1), 1 -> 2 -> ... -> 10, kept in a table while the packets of
 * sim/triggers.h pass.
 *
 * The paper leaves open how a flow enters the table. Two interpretations:
 *
 *     A   A flow with triggers is inserted in state 1 by its first packet. A change of state in the FCF deletes and inserts
 *         again. If there was no room, the trigger 1 -> 2 retries. Counters of the DBF stick at their maximum.
 *     B   The trigger 1 -> 2 inserts, in state 2; interesting flows have it on their first packet. The FCF changes states in
 *         place. Counters of the DBF count down from their maximum.
 *
 * In both: a new flow with a fingerprint that is present is stored as a second copy; only triggers look up;
 * the last packet checks whether the flow is in state 10 (for random flows too, which could not be false
 * positives otherwise), and deletes the flow. The DBF is given the states, of the trigger and at the end.
 *
 * A third, PROPER, is A without the retry: only beginnings insert. It is for ill-behaved traffic, in which a
 * trigger need not belong to a flow that exists.
 */
#ifndef INKLING_LAB_SIMPLE_H
#define INKLING_LAB_SIMPLE_H

#include <inkling/inkling.h>

#include "lab/runner.h"
#include "lab/statistics.h"
#include "sim/triggers.h"

enum reading { READING_A, READING_B, READING_PROPER };

/* How a flow of the DBF is deleted at its last packet. */
enum farewell {
	FAREWELL_GIVEN = 0, /* in its true state, as in the paper's analysis */
	FAREWELL_ASKED,     /* in the state it is found in; if in several, the timer ends it */
	FAREWELL_COMPLETE   /* only if it is found in state 10; the timer ends the others */
};

struct simple_table {
	enum ink_kind kind;
	struct ink_geometry geometry; /* flags that a reading chooses are added */
	enum ink_full full;           /* left 0: INK_REFUSE */
	enum farewell farewell;
	bool as_given;  /* the flags of `geometry` are all there are, whatever the reading */
	bool slow_path; /* a flow that is in doubt is looked after by an exact table from then on */
};

/* Of one table. Flows are counted at their end. */
struct simple_result {
	double flows[SIM_KINDS];
	double false_positive, false_negative,
		dont_know; /* flows; in that order of precedence, from the right */

	/* Answers to triggers, of flows that are there and of others, and the wrong ones, as section 3 has it. */
	double asked, asked_strangers;
	double stranger_found, flow_missed, wrong_state, in_doubt;

	double refused;              /* inserts that found no room */
	double slow_most, slow_mean; /* flows on the slow path at once, from the first tick on */
	double bits;    /* cells, timers and side table; not the few hundred bytes that every table has */
	double seconds; /* of thread time that the table took; the packets apart */
};

struct simple_run {
	enum reading reading;
	struct sim_triggers_options traffic; /* the interpretation decides what starts flows */
	const struct simple_table *tables;   /* all see the same packets */
	size_t count;

	/*
	 * Smaller, and the same in all that matters: a part of the flows, active and in
	 * all, in a part of the cells, with as many lifetimes from tick to tick. 0: all.
	 */
	uint32_t divisor;
};

/* An eighth in quick runs. */
uint32_t simple_divisor(const struct lab *lab);

/* 0, or -errno after lab_fail(). `results`: one for each table. `seconds`, or NULL: what the packets took. */
int simple_run(struct lab *lab, const struct simple_run *run, struct simple_result *results, double *seconds);

/* The paper's percentages: of flows that are not interesting, of those that are, of all. */
double simple_false_positives(const struct simple_result *result);
double simple_false_negatives(const struct simple_result *result);
double simple_dont_knows(const struct simple_result *result);

/* Flows with any error, as a share of all flows. */
double simple_errors(const struct simple_result *result);

/* A number over repetitions; their results are `stride` apart. */
typedef double simple_number(const struct simple_result *result);
struct spread simple_spread(const struct simple_result *first, size_t stride, unsigned seeds,
			    simple_number *number);

#endif
