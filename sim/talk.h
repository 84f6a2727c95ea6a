/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One contact of a client with a door (an address, a protocol and a port) and all packets of it: a TCP connection, an
 * exchange of datagrams, or a row of echoes. End 0 begins it.
 *
 *     SERVED      SYN, SYN+ACK, ACK, rounds of request, response and ACK, and an ending
 *     PROBED      SYN, SYN+ACK, and a RST by the client: it has seen that the door is open
 *     HALF_OPEN   SYN, SYN+ACK
 *     REFUSED     SYN, RST+ACK
 *     SILENT      SYN, and again after 1, 3, 7, 15, 31 s
 *
 * Datagrams and echoes are SERVED (rounds of request and response) or SILENT.
 *
 * The tap is at the client: an answer is seen a round trip after its request, and the client reacts to it at once.
 * Sequence numbers, acknowledgement numbers and checksums are those that the two ends would send.
 */
#ifndef INKLING_SIM_TALK_H
#define INKLING_SIM_TALK_H

#include <stdint.h>

#include "sim/frame.h"

enum sim_course { SIM_SERVED, SIM_PROBED, SIM_HALF_OPEN, SIM_REFUSED, SIM_SILENT };
enum sim_ending { SIM_CLIENT_CLOSES, SIM_SERVER_CLOSES, SIM_CLIENT_RESETS, SIM_STAYS_OPEN };

enum { SIM_RESENDS_MOST = 6, SIM_ROUNDS_MOST = 100 };

/* A plain value; step is 0 at the start. Another ending than SIM_STAYS_OPEN is for TCP. */
struct sim_talk {
	struct sim_ends ends;
	uint64_t rtt;               /* nanoseconds, at least 1 */
	uint64_t pause;             /* from a response to the next request, likewise */
	uint32_t next[2];           /* the sequence number that each end sends next */
	uint16_t request, response; /* bytes, at most SIM_PAYLOAD_MOST */
	uint16_t step;              /* packets sent so far */
	uint8_t course, ending;
	uint8_t rounds; /* at most SIM_ROUNDS_MOST */
	uint8_t resends; /* SILENT: of the first packet. SERVED, TCP: 1 = the first request gets lost behind the tap */
	uint8_t hidden; /* a bit for each end whose packets the tap does not see */
};

/* Non-zero: the door answers, and not with a refusal. */
static inline int sim_talk_is_answered(const struct sim_talk *talk)
{
	return talk->course <= SIM_HALF_OPEN;
}

/* The packets of a talk from its first to its last. */
unsigned sim_talk_packets(const struct sim_talk *talk);

/*
 * The packet that is due. Returns the nanoseconds until the next one, or 0: it was the last. The segment's payload
 * is not set.
 */
uint64_t sim_talk_next(struct sim_talk *talk, struct sim_segment *segment);

#endif
