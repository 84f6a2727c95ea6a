/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A clock that goes by the packets and never goes back.
 *
 * Packets come a little out of order: several queues of one card, several
 * cards in one file. Then the clock stands still until time has caught up. But
 * where time steps back by more than a minute (files put together, a clock that
 * was set, one damaged packet from the far future), it would stand still for
 * long: there the times that follow are moved, so that the clock goes on from
 * where it is.
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
	uint64_t backwards; /* how many packets had a time before the one ahead of them */
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
