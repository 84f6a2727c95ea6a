/* SPDX-License-Identifier: BSD-2-Clause */
/* Frames from scratch: Ethernet, IPv4 or IPv6, TCP, UDP or ICMP echo, with right lengths and checksums. */
#ifndef INKLING_SIM_FRAME_H
#define INKLING_SIM_FRAME_H

#include <stddef.h>
#include <stdint.h>

enum { SIM_FRAME_MOST = 2048, SIM_PAYLOAD_MOST = 1400 };

/* Two ends. ICMP: end 0 sends the requests, port[0] is their identifier, port[1] is not used. IPv6 addresses are 2001:db8:: with the number in the last 4 bytes. */
struct sim_ends {
	uint32_t address[2];
	uint16_t port[2];
	uint8_t version; /* 4 or 6 */
	uint8_t protocol;
};

/* What one of them sends to the other. */
struct sim_segment {
	unsigned from;     /* 0 or 1 */
	uint16_t flags;    /* TCP: INK_TCP_* */
	uint32_t seq, ack; /* ICMP: seq is the number of the echo */
	const uint8_t *payload;
	size_t length; /* of it, at most SIM_PAYLOAD_MOST */
};

/* Writes the frame; returns its length. */
size_t sim_frame(uint8_t frame[SIM_FRAME_MOST], const struct sim_ends *ends,
		 const struct sim_segment *segment);

#endif
