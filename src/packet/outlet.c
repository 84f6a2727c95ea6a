/* SPDX-License-Identifier: BSD-2-Clause */
#include "packet/outlet.h"

#include <string.h>

#include "packet/queue.h"

enum { NS_OF_TIME = 1000 }; /* in a unit of INK_FIELD_QUEUE_TIME */

#define LATEST (1ull << 63) /* ns, in the year 2262: what a time and the waits behind it come to fits 64 bits */

static uint32_t saturated(uint64_t value)
{
	return value < UINT32_MAX ? (uint32_t)value : UINT32_MAX;
}

static struct ink_waiting look(const struct ink_outlet *o, uint64_t now)
{
	uint64_t wait = ink_queue_wait(o->empty, now), bytes = wait ? ink_pace_bytes(o->pace, wait) : 0;

	return (struct ink_waiting){.packets = saturated(ink_queue_packets(bytes, o->mean)),
				    .bytes = saturated(bytes),
				    .time = saturated(wait / NS_OF_TIME)};
}

void ink_outlet_open(struct ink_outlet *o, uint64_t rate)
{
	memset(o, 0, sizeof *o);
	o->pace = rate ? ink_pace(rate) : 0;
	o->stats.rate = rate;
	o->watched = rate != 0;
}

void ink_outlet_use(struct ink_outlet *o, int limits)
{
	o->watched = limits || o->pace;
}

/* Where the time of packets goes back, and behind the latest, the clock stands still. */
static uint64_t clock_at(struct ink_outlet *o, uint64_t time)
{
	if (time > o->now)
		o->now = time < LATEST ? time : LATEST;
	return o->now;
}

void ink_outlet_begin(struct ink_outlet *o, const struct ink_packets *block)
{
	if (!o->watched)
		return;
	for (size_t i = 0; i < block->n; i++)
		o->clock[i] = clock_at(o, block->at[i].clock);
	memset(o->dropped, 0, block->n);
	if (o->pace && block->n)
		o->waiting = look(o, o->clock[0]);
}

static void join(struct ink_outlet *o, uint64_t now, uint32_t bytes)
{
	uint64_t wait = ink_queue_wait(o->empty, now), cost = ink_pace_time(o->pace, bytes);

	if (ink_queue_is_full(o->empty, now, cost)) {
		o->stats.lost++;
		return;
	}
	o->empty = ink_queue_join(o->empty, now, cost);
	o->mean = ink_queue_mean(o->mean, bytes);
	o->stats.joined++;
	o->stats.bytes += bytes;
	o->stats.wait += wait;
	if (wait > o->stats.worst)
		o->stats.worst = wait;
}

void ink_outlet_end(struct ink_outlet *o, const struct ink_packets *block)
{
	for (size_t i = 0; o->pace && i < block->n; i++)
		if (!(o->dropped[i] & 1))
			join(o, o->clock[i], ink_queue_length(block->at[i].wire));
}
