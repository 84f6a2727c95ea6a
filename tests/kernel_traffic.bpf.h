/* SPDX-License-Identifier: BSD-2-Clause */
/* The map with the traffic, and its packets one by one. */
#ifndef INKLING_TESTS_KERNEL_TRAFFIC_BPF_H
#define INKLING_TESTS_KERNEL_TRAFFIC_BPF_H

#include "kernel/maps.bpf.h"
#include "tests/kernel_traffic.h"

INK_ARRAY(traffic, 1, struct traffic);

/* The next packet, and when it comes; NULL: there is no such map. */
static __always_inline struct traffic *next_packet(struct traffic_packet *p, uint64_t *clock)
{
	struct traffic *t = INK_AT(traffic, 0);
	uint64_t i;

	if (!t)
		return NULL;
	i = t->next++;
	*clock = t->begin + (i * t->pace >> 8);
	*p = traffic_packet(t, i);
	return t;
}

#endif
