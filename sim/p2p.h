/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Pairs of hosts that talk TCP, some of which talk UDP meanwhile: the traffic of
 * section 5.2.2 of the ACSM paper, packet by packet, with the truth about each
 * pair. There are no bytes: a packet is the id of its flow, and what it is.
 *
 * There are `slots` flows at all times: when one is over, another takes its
 * place, as in the generator of section 5.1. Turns are drawn among them, one flow has its
 * turn every `gap` seconds on the average, and sends a packet (or a few: see `zipf`)
 * in it; so one slot in sixteen has a flow that has not sent its SYN yet.
 *
 * A flow has 15 packets on the average: SYN, TCP ... FIN. A P2P flow has one UDP
 * packet more, behind any of these but the last. What the paper leaves out can be
 * added, each for a share of the flows:
 *
 *     udp_first   of the P2P flows: the UDP packet comes before the SYN
 *     udp_only    of all: two UDP packets and nothing else; not P2P
 *     silent      of the TCP flows: the flow breaks off, without FIN. If it is to be P2P its UDP packet
 *                 comes 1 to 192 seconds later, and it is P2P if these are fewer than SIM_P2P_TIMEOUT
 *     zipf        sizes from 2 to 10,000, with probabilities that fall by a power law and a mean of 15.
 *                 A flow of s packets sends s / 15 of them in a turn, so that large flows are fast and
 *                 not endless
 */
#ifndef INKLING_SIM_P2P_H
#define INKLING_SIM_P2P_H

#include <stdbool.h>
#include <stdint.h>

enum { SIM_P2P_MEAN = 15, SIM_P2P_LARGEST = 10000, SIM_P2P_TIMEOUT = 64, SIM_P2P_LATEST = 192 };

enum sim_p2p_event { SIM_P2P_SYN, SIM_P2P_TCP, SIM_P2P_UDP, SIM_P2P_FIN, SIM_P2P_EVENTS };

struct sim_p2p_options {
	uint64_t seed;
	uint32_t slots; /* flows at once; at least 1, and more than `gap` */
	uint32_t flows; /* to begin in all; the traffic ends before the next would begin */
	double gap;     /* seconds between two turns of a flow, on the average */
	double p2p;     /* share of the TCP flows */
	double udp_first, udp_only, silent;
	bool zipf;
};

struct sim_p2p_packet {
	uint64_t id;   /* of the pair: a well-mixed number, never used again */
	uint32_t flow; /* its number, from 0 */
	enum sim_p2p_event event;
	uint32_t second; /* when */
	bool over;       /* no packet of this flow will follow */
	bool p2p;        /* if it is over: the truth */
};

struct sim_p2p;

/* NULL: no memory. */
struct sim_p2p *sim_p2p_new(const struct sim_p2p_options *options);
void sim_p2p_free(struct sim_p2p *traffic);

/* The next packet; false: that was all. */
bool sim_p2p_next(struct sim_p2p *traffic, struct sim_p2p_packet *packet);

#endif
