/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A clock that follows the packets and never goes back.
 *
 * Packets can be slightly out of order, from several queues of one card or
 * several cards in one file. The clock then stands still until time has caught
 * up. If time steps back by more than a minute (concatenated files, a clock that
 * was set, one damaged packet from the far future), standing still would take
 * too long: an offset is added to the times that follow, and the clock goes on.
 *
 *     time   100  105  103  106  |  20   21   25
 *     clock  100  105  105  106  | 106  107  111        moved by 86
 */
#ifndef INKLING_PACKET_CLOCK_H
#define INKLING_PACKET_CLOCK_H

#include <stdint.h>

#define INK_CLOCK_STEP 60000000000ull /* a minute; out of order means milliseconds */

struct ink_clock {
	uint64_t last;      /* time of the packet before */
	uint64_t now;       /* the clock */
	uint64_t moved;     /* added to the times, modulo 2^64 */
	uint64_t backwards; /* packets with an earlier time than the packet before */
	int running;
};

static inline uint64_t ink_clock_set(struct ink_clock *c, uint64_t time)
{
	uint64_t moved = time + c->moved;

	if (!c->running || time < c->last)
		c->backwards += (uint64_t)c->running;
	c->running = 1;
	c->last = time;
	if (moved < c->now && c->now - moved > INK_CLOCK_STEP) {
		c->moved = c->now - time;
		moved = c->now;
	}
	if (moved > c->now)
		c->now = moved;
	return c->now;
}

#endif
