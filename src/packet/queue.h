/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * [F] Queues and token buckets, each of them one number: the time at which all that it took will have been sent.
 *
 *          now                     empty
 *     ------+------- backlog -------+----------> time
 *
 * What joins a queue of rate r with n bytes moves `empty` by n / r, from now on at the earliest: the virtual scheduling of
 * ATM's generic cell rate algorithm. What waits is empty - now. The bytes that wait, and those that a bucket still lets
 * pass, follow from it by the rate; so one compare-and-swap changes either.
 *
 *     queue    joins always, up to INK_QUEUE_MOST of waiting; what comes then is lost, as at the tail of a real queue
 *     bucket   what fits into the burst passes and joins; what does not is dropped, and does not
 *
 * A time stands for nanoseconds of any clock that does not go back. Rates are 1 kbit/s to 1 Tbit/s, packets have less than
 * 1 MiB: products fit 64 bits.
 */
#ifndef INKLING_PACKET_QUEUE_H
#define INKLING_PACKET_QUEUE_H

#include <stdint.h>

#define INK_QUEUE_MOST 1000000000ull /* ns of waiting */
#define INK_QUEUE_LONGEST 0xfffffu   /* bytes of a packet */

enum {
	INK_PACE_SHIFT = 20,
	INK_QUEUE_MEAN_SHIFT = 4,
	INK_FLOW_BUCKETS_BITS = 12,
	INK_FLOW_BUCKETS = 1 << INK_FLOW_BUCKETS_BITS, /* of a limit for each flow: 32 KiB */
};

/* Of a packet that claims to have more, as damaged captures can, these. */
static inline uint32_t ink_queue_length(uint32_t bytes)
{
	return bytes < INK_QUEUE_LONGEST ? bytes : INK_QUEUE_LONGEST;
}

/* ns for a byte, in units of 2^-20: a shift and a product instead of a division for each packet. */
static inline uint64_t ink_pace(uint64_t bits_per_second)
{
	return (8000000000ull << INK_PACE_SHIFT) / bits_per_second;
}

static inline uint64_t ink_pace_time(uint64_t pace, uint64_t bytes)
{
	return (bytes * pace) >> INK_PACE_SHIFT;
}

static inline uint64_t ink_pace_bytes(uint64_t pace, uint64_t ns)
{
	return (ns << INK_PACE_SHIFT) / pace;
}

/* ns that a packet which comes now has to wait. */
static inline uint64_t ink_queue_wait(uint64_t empty, uint64_t now)
{
	return empty > now ? empty - now : 0;
}

/*
 * Does a packet that takes `cost` ns find no room? Where nothing waits there is some for any: else segments that are one
 * packet until the card cuts them would never join a queue of 500 kbit/s, and it would stay empty however full the link is.
 */
static inline int ink_queue_is_full(uint64_t empty, uint64_t now, uint64_t cost)
{
	uint64_t wait = ink_queue_wait(empty, now);

	return wait && wait + cost > INK_QUEUE_MOST;
}

/* `empty` after such a packet; as it was if the packet finds no room. */
static inline uint64_t ink_queue_join(uint64_t empty, uint64_t now, uint64_t cost)
{
	return ink_queue_is_full(empty, now, cost) ? empty : now + ink_queue_wait(empty, now) + cost;
}

/*
 * Does a bucket let a packet pass? `burst` and `cost` are ns. One that is larger than the burst passes when nothing
 * waits, and counts in full: else it never would (segments that are one packet until the card cuts them).
 */
static inline int ink_bucket_passes(uint64_t empty, uint64_t now, uint64_t cost, uint64_t burst)
{
	uint64_t need = cost < burst ? cost : burst;

	return ink_queue_wait(empty, now) + need <= burst;
}

/* `empty` after a packet that passes. Slow buckets hold more than INK_QUEUE_MOST: 16 KiB at 1 kbit/s are 131 s. */
static inline uint64_t ink_bucket_join(uint64_t empty, uint64_t now, uint64_t cost)
{
	return now + ink_queue_wait(empty, now) + cost;
}

/* Of a limit for each flow, the bucket of the flow with this id: the same here and in the kernel. */
static inline uint32_t ink_bucket_of(uint64_t id)
{
	return (uint32_t)(id >> (64 - INK_FLOW_BUCKETS_BITS));
}

/* The burst of a bucket in ns; up to 2^31 bytes. */
static inline uint64_t ink_bucket_burst(uint64_t bits_per_second, uint32_t bytes)
{
	return bytes * 8000000000ull / bits_per_second;
}

/* The mean length of the last packets, in units of 2^-4 bytes: a sixteenth of each. 0: there was none. */
static inline uint32_t ink_queue_mean(uint32_t mean, uint32_t bytes)
{
	uint32_t one = bytes << INK_QUEUE_MEAN_SHIFT;

	return mean ? mean - (mean >> 4) + (one >> 4) : one;
}

/* A virtual queue knows bytes; packets are those of the mean length, rounded up. */
static inline uint64_t ink_queue_packets(uint64_t bytes, uint32_t mean)
{
	uint64_t units = bytes << INK_QUEUE_MEAN_SHIFT;

	return mean ? (units + mean - 1) / mean : 0;
}

#endif
