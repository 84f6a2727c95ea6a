/* SPDX-License-Identifier: BSD-2-Clause */
/* The segments of one TCP connection: see connection.c. */
#ifndef INKLING_SIM_CONNECTION_H
#define INKLING_SIM_CONNECTION_H

#include <stdint.h>

#include "sim/frame.h"
#include "sim/truth.h"

/* Nanoseconds that a host takes to answer. */
#define SIM_MOMENT 20000ull

enum sim_course {
	SIM_WHOLE,
	SIM_STRANGER,   /* its first two segments were sent before the capture began */
	SIM_RESET,      /* opened, ended by RST */
	SIM_CUT,        /* opened, FIN answered by RST */
	SIM_UNFINISHED, /* opened, without an end */
	SIM_HALF_OPEN,  /* SYN, SYN+ACK */
	SIM_UNANSWERED, /* SYN, SYN again after a second */
	SIM_SILENT,     /* SYN */
	SIM_REFUSED,    /* SYN, RST */
	SIM_PROBED,     /* SYN, SYN+ACK, RST */
	SIM_BLIND,      /* SYN, and an ACK of a SYN+ACK that its sender did not see and there was not */
	SIM_EXPOSED,    /* the same with a SYN+ACK; the ACK guesses its number, and RST is the answer */
	SIM_STRANGE     /* one segment with any flags */
};

struct sim_connection {
	struct sim_ends ends; /* end 0 begins */
	enum sim_course course;
	unsigned odd; /* SIM_STRANGE: the flags */
	uint64_t data, payload, rtt, life;
	int again;         /* once more after the end */
	uint32_t first[2]; /* sequence numbers */
};

/* A segment and when it is sent, after the connection's start. It has a length and no payload. */
struct sim_turn {
	uint64_t when;
	struct sim_segment segment;
};

/* Segment number `step`, those of the second time included; 0: there are no more. */
int sim_connection_turn(const struct sim_connection *connection, unsigned step, struct sim_turn *turn);

/* Adds the truth about it: its segments in their order. */
void sim_connection_truth(const struct sim_connection *connection, struct sim_truth *truth);

#endif
