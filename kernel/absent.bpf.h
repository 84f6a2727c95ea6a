/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Stands in for parts of the programs that are not in the tree: without them no flow has a state, no time passes, and
 * payloads are empty. Goes when they are.
 */
#ifndef INKLING_KERNEL_ABSENT_BPF_H
#define INKLING_KERNEL_ABSENT_BPF_H

#include "kernel/maps.bpf.h"

#if __has_include("kernel/payload.bpf.h")
#include "kernel/payload.bpf.h"
#else
enum { INK_PICTURE_I = 1 };
struct payload {
	struct {
		struct {
			uint32_t started[4];
			uint8_t last, tail;
		} pictures;
	} video;
};
INK_PER_CPU(payloads, 1, struct payload);
#define payload_load_xdp(ctx, packet, at) ((void)(ctx), (void)(packet))
#define payload_load_skb(ctx, packet, at) ((void)(ctx), (void)(packet))
#define payload_pictures(p, tail) ((void)(p))
#define payload_nals(p) ((void)(p), 0)
#define payload_rtp_type(p) ((void)(p), -1)
#define payload_is_ts(p) ((void)(p), 0)
#define payload_begins(p, at, n) ((void)(p), 0)
#endif

#if __has_include("kernel/table.bpf.h")
#include "kernel/table.bpf.h"
#else
#define ink_table_step(machine, id, event) EBUSY
#define ink_table_peek(machine, id) (-1)
#define ink_step_from(move) (-1)
#define ink_step_to(move) (-1)
#define ink_step_action(move) 0
#define ink_step_failed(move) (move)
#endif

#if __has_include("kernel/time.bpf.h")
#include "kernel/time.bpf.h"
#else
#define ink_time_pass(machine, clock)
#endif

#endif
