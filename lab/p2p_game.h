/* SPDX-License-Identifier: BSD-2-Clause */
/* One game of p2p.c: several tables see one stream of packets, each with its own rules. */
#ifndef INKLING_LAB_P2P_GAME_H
#define INKLING_LAB_P2P_GAME_H

#include <inkling/inkling.h>

#include "lab/runner.h"
#include "sim/p2p.h"

/* The table of the paper: 2^11 x 4 x 9 cells, 14 bits of fingerprint; and its active flows. */
enum { P2P_F = 14, BITS = 2048 * 4 * 9 * (P2P_F + 2), ACTIVE = 65536 };

/* What the paper leaves open, as differences from: every packet looks, a SYN that meets a match stores a copy. */
enum reading {
	ADOPT = 1,    /* a SYN that meets a match adopts it */
	RETRY = 2,    /* each packet retries a flow that found no room */
	REINSERT = 4, /* a change of state re-inserts the entry */
	FORGET = 8,   /* a flow found to be P2P is deleted */
	SPARING =
		16, /* packets of TCP between SYN and FIN do not look, and the timer has four times the period */
	UDP_ASKS = 32,   /* only the UDP packet's "don't know" counts, in % of the P2P flows */
	SLOW_TIMER = 64, /* twice the period */
	SAID = 128,      /* P2P is reported and not kept: one state, so the 2 bits are state and timer */
	APART = 256      /* don't-knows are not counted as false negatives */
};

struct contender {
	const char *name;
	enum ink_kind kind;
	unsigned reading, age_bits;
};

/* A kind of traffic, and the tables that see it. */
struct contest {
	const char *name;
	struct sim_p2p_options traffic; /* seed and flows are set for each run */
	const struct contender *contenders;
	unsigned count;
	bool both_ways; /* the machine in which UDP may come first */
};

struct errors {
	double fp, fn, dk; /* % */
	double flows;      /* that the table holds at the end */
};

enum { P2P_MOST_CONTENDERS = 16 };

struct game {
	struct contest contest;
	uint64_t seed;
	uint32_t shrink;      /* all sizes are divided by this */
	uint32_t flows, warm; /* the first ones do not count: the table fills up */
	struct errors errors[P2P_MOST_CONTENDERS];
};

/* A job of lab_each() over an array of games: plays one, and fills in its errors. */
lab_job p2p_game;

#endif
