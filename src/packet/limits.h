/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The token buckets of a machine's limits.
 *
 *     limit 1mbit              one bucket for all packets of the rows that say so
 *     limit 1mbit each flow    4,096 buckets, by the id of the flow that is stepped; flows that share one share its rate
 *
 * Where an exact table runs beside, the lane of the tables fills the buckets. For a packet the lane beside finds each
 * as it was when the packet came, and fills a copy that lasts as long as the packet. So what the two decide differs
 * where the tables do, and there alone. Buckets of its own would differ ever after one wrong state.
 */
#ifndef INKLING_PACKET_LIMITS_H
#define INKLING_PACKET_LIMITS_H

#include <inkling/track.h>

struct ink_limits;

/* A step whose row has a limit. */
struct ink_asker {
	uint64_t id;     /* of the flow */
	uint64_t now;    /* no earlier than that of any before */
	uint64_t packet; /* its number, from 1 */
	uint32_t bytes;  /* of the frame */
	int beside;      /* the step is one of the lane beside */
};

/* All buckets are full. NULL: there is no memory. */
struct ink_limits *ink_limits_make(const struct ink_machine_view *machine);
void ink_limits_free(struct ink_limits *limits);

/* Limits that both have keep the buckets that they had. */
void ink_limits_inherit(struct ink_limits *to, const struct ink_limits *from);

/* Does the limit of that number, from 0, let the packet pass? Then its bucket is filled. */
int ink_limits_pass(struct ink_limits *limits, unsigned limit, const struct ink_asker *asker);

#endif
