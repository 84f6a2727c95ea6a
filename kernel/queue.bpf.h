/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What waits where a packet leaves, and the buckets of limits: the arithmetic of packet/queue.h in maps.
 *
 *     look      when the first condition asks: the real queue, as device.bpf.c has read it, or the virtual one
 *     pass      a limit asks its bucket
 *     join      behind all machines: the virtual queue takes what is not dropped
 *
 * No lock is taken. Of the real queue two counters are read one after the other, while other processors may change
 * both. Virtual queues and buckets are one word each, which changes by compare-and-swap: what two processors add is
 * added, in one order or the other. A swap that others prevent 16 times is given up: then a packet passes, or joins,
 * without being counted. Only a virtual queue's mean length, which turns its bytes into packets, is written without a swap.
 */
#ifndef INKLING_KERNEL_QUEUE_BPF_H
#define INKLING_KERNEL_QUEUE_BPF_H

#include "kernel/table.bpf.h"
#include "kernel/work.bpf.h"
#include "machine/field.h"
#include "packet/queue.h"

enum { INK_QUEUE_TRIES = 16 }; /* as INK_TABLE_TRIES */

/* The packets' time, if that is behind, stands still. */
static inline uint64_t ink_test_clock(const struct ink_work *w)
{
	struct ink_kernel_control *o = INK_AT(control, 0);

	if (o && o->latest < w->clock)
		o->latest = w->clock;
	return o ? o->latest : 0;
}

/* One reading for all that the packet asks. */
static inline uint64_t ink_clock_of(struct ink_work *w)
{
	if (w->tested)
		return ink_test_clock(w);
	if (!w->now)
		w->now = bpf_ktime_get_boot_ns();
	return w->now;
}

static inline uint32_t ink_saturated(uint64_t number)
{
	return number < UINT32_MAX ? (uint32_t)number : UINT32_MAX;
}

/* ------------------------------------------------------------------ looking */

/* Which of the queues packets join that leave by the interface: 1 + its place. 0: none. */
INK_PART ink_queue_find(uint32_t interface)
{
	for (uint32_t i = 0; i < INK_KERNEL_QUEUES; i++) {
		const struct ink_kernel_queue *q = INK_AT(queues, i);

		if (q && q->interface == interface)
			return (int)i + 1;
	}
	return 0;
}

/* In ns; five hours at most, since waits are added up. */
static inline uint64_t ink_queue_sending(const struct ink_kernel_queue *q, uint64_t bytes)
{
	return bytes <= q->most ? ink_pace_time(q->sending, bytes) : UINT64_MAX >> INK_PACE_SHIFT;
}

static inline void ink_look_at_virtual(struct ink_work *w, const struct ink_kernel_queue *q)
{
	uint64_t wait, bytes;

	w->queue.packets = w->queue.bytes = w->queue.time = 0;
	if (!q->pace)
		return;
	wait = ink_queue_wait(INK_LOADED(q->empty), ink_clock_of(w));
	bytes = ink_pace_bytes(q->pace, wait);
	w->queue.time = ink_saturated(wait / 1000);
	w->queue.bytes = ink_saturated(bytes);
	w->queue.packets = ink_saturated(ink_queue_packets(bytes, INK_LOADED(q->mean)));
}

INK_PART ink_queue_look(struct ink_work *w)
{
	const struct ink_kernel_queue *q = w ? INK_AT(queues, w->queue.number - 1) : NULL;

	if (!q)
		return 0;
	w->queue.known = 1;
	if (w->queue.from == INK_WAIT_REAL)
		w->queue.time = ink_saturated(ink_queue_sending(q, w->queue.bytes) / 1000);
	else
		ink_look_at_virtual(w, q);
	return 1;
}

/* What the packet found, in the unit of the field: the same for all machines. */
static inline uint32_t ink_queued(struct ink_work *w, uint32_t field)
{
	if (!w->queue.number || (!w->queue.known && !ink_queue_look(w)))
		return 0;
	switch (field) {
	case INK_FIELD_QUEUE_PACKETS:
		return w->queue.packets;
	case INK_FIELD_QUEUE_BYTES:
		return w->queue.bytes;
	default:
		return w->queue.time;
	}
}

/* ------------------------------------------------------------------- limits */

/* A bucket lets the packet pass, or not: 0. */
INK_PART ink_bucket_pass(struct ink_work *w, uint32_t limit, uint64_t id)
{
	const struct ink_kernel_limit *l = INK_AT(limits, limit);
	struct ink_kernel_bucket *b =
		l ? INK_AT(buckets, l->buckets_at + (l->each_flow ? ink_bucket_of(id) : 0)) : NULL;
	uint64_t now, cost;

	if (!w || !l || !b)
		return 1;
	now = ink_clock_of(w);
	cost = ink_pace_time(l->pace, ink_queue_length((uint32_t)w->length));
	for (uint32_t i = 0; i < INK_QUEUE_TRIES; i++) {
		uint64_t seen = INK_LOADED(b->empty);

		if (!ink_bucket_passes(seen, now, cost, l->burst))
			return 0;
		if (__sync_val_compare_and_swap(&b->empty, seen, ink_bucket_join(seen, now, cost)) == seen)
			return 1;
	}
	return 1;
}

/* ------------------------------------------------------------------ joining */

static inline void ink_note_joined(struct ink_kernel_waits *n, uint32_t bytes)
{
	n->joined++;
	n->bytes += bytes;
}

static inline void ink_note_wait(struct ink_kernel_waits *n, uint64_t wait)
{
	n->timed++;
	n->wait += wait;
	if (wait > n->worst)
		n->worst = wait;
}

static inline void ink_join_virtual(struct ink_work *w, struct ink_kernel_queue *q,
				    struct ink_kernel_waits *n, uint32_t bytes)
{
	uint64_t now = ink_clock_of(w), cost = ink_pace_time(q->pace, bytes);

	for (uint32_t i = 0; i < INK_QUEUE_TRIES; i++) {
		uint64_t seen = INK_LOADED(q->empty);

		if (ink_queue_is_full(seen, now, cost)) {
			n->lost++;
			return;
		}
		if (__sync_val_compare_and_swap(&q->empty, seen, ink_queue_join(seen, now, cost)) == seen) {
			INK_STORE(q->mean, ink_queue_mean(INK_LOADED(q->mean), bytes));
			ink_note_joined(n, bytes);
			ink_note_wait(n, ink_queue_wait(seen, now));
			return;
		}
	}
	n->given_up++;
}

/* The kernel puts it there; here is counted what it found. */
static inline void ink_join_real(const struct ink_work *w, const struct ink_kernel_queue *q,
				 struct ink_kernel_waits *n, uint32_t bytes)
{
	ink_note_joined(n, bytes);
	if (w->queue.packets > n->most_packets)
		n->most_packets = w->queue.packets;
	if (w->queue.bytes > n->most_bytes)
		n->most_bytes = w->queue.bytes;
	if (q->sending)
		ink_note_wait(n, ink_queue_sending(q, w->queue.bytes));
}

/* Behind all machines: a packet of so many bytes, with all its segments, joins the queue, or was dropped. */
INK_PART ink_queue_leave(struct ink_work *w, uint32_t bytes, uint32_t dropped)
{
	uint32_t number = w ? w->queue.number - 1 : 0;
	struct ink_kernel_queue *q = INK_AT(queues, number);
	struct ink_kernel_waits *n = INK_AT(waits, number);

	if (!w || !q || !n)
		return 0;
	n->from[w->queue.from & (INK_KERNEL_WAITS - 1)]++;
	n->unknown += w->queue.from != INK_WAIT_REAL && !q->pace;
	if (dropped)
		return 0;
	bytes = ink_queue_length(bytes);
	if (w->queue.from == INK_WAIT_REAL)
		ink_join_real(w, q, n, bytes);
	else if (q->pace)
		ink_join_virtual(w, q, n, bytes);
	return 0;
}

#endif
