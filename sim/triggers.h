/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The packets of the ACSM paper's simulation (5.1): flows that walk through a
 * machine of states 1 -> 2 -> ... -> 10, one trigger for each step.
 *
 * There are always `active` flows. Every packet is of one of them, chosen at
 * random; a flow has 100 +- 40 packets (all lengths from 60 to 140 are equally
 * frequent), and when it has sent them, a new one takes its place. Flows are
 *
 *     interesting   all triggers, in order, on packets chosen at random
 *     noise         all but the last, in random order: it cannot reach the end
 *     random        no trigger at all; they only take time
 *
 * Packets without a trigger say nothing to anyone, so what comes out is the rest:
 * begins, triggers, ends (of random flows too), and a tick after every `period`
 * packets. No packet is skipped over by reckoning: each is drawn, and counts a
 * byte down; so the order of things is that of the paper's generator exactly.
 *
 * The generator knows the truth, and each thing says it: the state in which a
 * machine without errors would have the flow.
 */
#ifndef INKLING_SIM_TRIGGERS_H
#define INKLING_SIM_TRIGGERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SIM_STATES_MOST = 16, SIM_PACKETS_MOST = 192, SIM_ACTIVE_MOST = 1 << 24 };
enum { SIM_AT_ONCE = 8 }; /* one packet brings no more things than that */

enum sim_flow_kind { SIM_INTERESTING, SIM_NOISE, SIM_RANDOM, SIM_KINDS };

/* Fields left 0 are as in the paper, shares of bad traffic apart. */
struct sim_triggers_options {
	uint64_t seed;
	uint64_t flows;           /* that end before it is over: 1,000,000 */
	uint32_t active;          /* at once: 60,000 */
	uint32_t packets, spread; /* of a flow: 100, 40 */
	uint32_t states;          /* 10 */
	uint64_t period;          /* packets from tick to tick: 6,000,000 */
	double interesting;       /* .3 of the flows */
	double noise;             /* .3; the rest is random */
	bool starts_by_trigger;   /* there are no begins: trigger 1 begins a flow, and stands on the first
				     packet of interesting ones. Else each begins, in state 1, with its first
				     packet, whatever trigger that has */

	/* Ill-behaved traffic (section 3); each a share of what there is without it. */
	double strangers; /* triggers of flows that do not exist, as many for each trigger */
	double invalid;   /* triggers that do not fit the flow's state, likewise */
	double endless;   /* of flows with triggers: they end, and no packet says so */
};

/* What happens. SIM_STEP + s is the trigger s -> s+1, for s from 1 on. */
enum sim_what { SIM_STEP = 0, SIM_BEGIN = SIM_STATES_MOST, SIM_END, SIM_TICK };

struct sim_trigger {
	uint64_t id;   /* of the flow: well mixed, no two alike */
	uint32_t slot; /* 0 .. active-1: its place among the active; strangers have `active` here */
	uint8_t what;
	uint8_t kind;  /* enum sim_flow_kind */
	uint8_t state; /* the true one before this; 0: the machine does not know the flow */
	uint8_t after; /* the true one after it */
};

struct sim_triggers;

/* NULL where there is no memory, or the options are out of range. */
struct sim_triggers *sim_triggers_new(const struct sim_triggers_options *options);
void sim_triggers_free(struct sim_triggers *source);

/*
 * The next things that happen, at most `most` (SIM_AT_ONCE or more; with just that, it is what one packet
 * brings); 0: it is over.
 */
size_t sim_triggers_next(struct sim_triggers *source, struct sim_trigger *things, size_t most);

/* So far: packets sent, flows that ended, by kind. */
uint64_t sim_triggers_packets(const struct sim_triggers *source);
uint64_t sim_triggers_ended(const struct sim_triggers *source, enum sim_flow_kind kind);

#endif
