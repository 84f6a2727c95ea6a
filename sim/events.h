/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What happens when: a heap of events with four branches, the earliest on top. Events of the same time come out
 * in an order that follows from that of the calls alone.
 */
#ifndef INKLING_SIM_EVENTS_H
#define INKLING_SIM_EVENTS_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

struct sim_event {
	uint64_t time;
	uint32_t actor;
	uint16_t step;
	uint16_t group;
};

_Static_assert(sizeof(struct sim_event) == 16, "four in a cache line");

struct sim_events {
	struct sim_event *at; /* [0] is the earliest; free() it in the end */
	size_t n, room;
};

static inline void sim_events_up(struct sim_event *heap, size_t at, struct sim_event e)
{
	for (; at && heap[(at - 1) / 4].time > e.time; at = (at - 1) / 4)
		heap[at] = heap[(at - 1) / 4];
	heap[at] = e;
}

static inline void sim_events_down(struct sim_event *heap, size_t n, struct sim_event e)
{
	size_t at = 0;

	for (;;) {
		size_t first = 4 * at + 1, last = first + 4 < n ? first + 4 : n, least = first;

		for (size_t i = first + 1; i < last; i++)
			if (heap[i].time < heap[least].time)
				least = i;
		if (first >= n || heap[least].time >= e.time)
			break;
		heap[at] = heap[least];
		at = least;
	}
	heap[at] = e;
}

/* 0, or -1: no memory, and nothing has changed. */
static inline int sim_events_add(struct sim_events *events, struct sim_event e)
{
	if (events->n == events->room) {
		size_t room = events->room ? 2 * events->room : 1024;
		struct sim_event *more = realloc(events->at, room * sizeof *more);

		if (!more)
			return -1;
		events->at = more;
		events->room = room;
	}
	sim_events_up(events->at, events->n++, e);
	return 0;
}

/* Another event takes the place of the earliest, of which there is one. */
static inline void sim_events_replace(struct sim_events *events, struct sim_event e)
{
	sim_events_down(events->at, events->n, e);
}

/* The earliest, of which there is one, goes. */
static inline void sim_events_drop(struct sim_events *events)
{
	struct sim_event last = events->at[--events->n];

	if (events->n)
		sim_events_down(events->at, events->n, last);
}

#endif
