/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Where packets leave: the queue that conditions look at, and what becomes of each packet of a block.
 *
 *     begin     the clock of each packet; what waits before the first
 *     stages    look at what waits; their steps drop packets
 *     end       what was not dropped joins, in order
 *
 * All machines see the same queue for a packet. So a tracker with machines that look at it makes blocks of one packet.
 * The lane of the tables decides what joins. The lane beside sees that queue, too: there is one device.
 */
#ifndef INKLING_PACKET_OUTLET_H
#define INKLING_PACKET_OUTLET_H

#include <inkling/track.h>

#include "packet/classify.h"

enum { INK_PACKET_BLOCK = 256 }; /* packets: 32 KiB of them, and about as much for the steps of a lane */

struct ink_outlet {
	int watched;    /* machines have limits, or there is a queue; else nobody looks at the rest */
	uint64_t pace;  /* ns for a byte, as ink_pace; 0: there is no queue */
	uint64_t now;   /* the clock of the latest packet */
	uint64_t empty; /* when all that joined will have been sent */
	uint32_t mean;  /* length of those that joined, as ink_queue_mean */
	struct ink_waiting waiting; /* before the first packet of the block */
	struct ink_queue_stats stats;
	/* Of each packet of the block: its time, which stands still where it goes back; bit i: a step of lane i drops it. */
	uint64_t clock[INK_PACKET_BLOCK];
	uint8_t dropped[INK_PACKET_BLOCK];
};

/* `rate` is bits a second; 0: no queue. */
void ink_outlet_open(struct ink_outlet *outlet, uint64_t rate);

/* The machines have limits, or not. */
void ink_outlet_use(struct ink_outlet *outlet, int limits);

void ink_outlet_begin(struct ink_outlet *outlet, const struct ink_packets *block);
void ink_outlet_end(struct ink_outlet *outlet, const struct ink_packets *block);

#endif
