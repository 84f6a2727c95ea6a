/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Another flow for each packet: BPF_PROG_TEST_RUN repeats one frame, so a program in front of that under test writes
 * addresses and ports into it, then jumps (a tail call) to the program of `variants`. What precedes is thus the same for
 * all of them, and the program of `inkling attach` is measured as it is loaded.
 *
 *     byte  24       26           30            34     36     38        40
 *           |checksum|source      |destination  |port  |port  |sequence |
 *           |<-------- a word -------->|<-------- a word -------->|
 *
 * Both words are written whole: a parser that reads words need not wait for parts of them.
 */
#ifndef BENCH_KERNEL_FLOW_BPF_H
#define BENCH_KERNEL_FLOW_BPF_H

#include <linux/bpf.h>

#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#include "bench/kernel/shared.h"

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__uint(map_flags, BPF_F_MMAPABLE);
	__type(key, uint32_t);
	__type(value, struct bench_plan);
} plans SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, uint32_t);
	__type(value, struct bench_cursor);
} cursors SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PROG_ARRAY);
	__uint(max_entries, 1);
	__type(key, uint32_t);
	__type(value, uint32_t);
} variants SEC(".maps");

/* splitmix64: neighbours go far apart. */
static __always_inline uint32_t bench_mix(uint64_t x)
{
	x *= 0x9e3779b97f4a7c15ull;
	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
	return (uint32_t)(x >> 32);
}

static __always_inline uint32_t bench_number(const struct bench_plan *p, struct bench_cursor *c)
{
	uint64_t next = c->next++;

	return p->in_order ? (uint32_t)next : (uint32_t)((uint64_t)bench_mix(next) * p->flows >> 32);
}

/* 10.0.0.0 + number: its port : 192.0.2.1 : 443; from the other end if `back`. */
static __always_inline void bench_write(uint64_t *at, uint32_t number, uint32_t back)
{
	uint64_t here = bpf_htonl(0x0a000000 + number), there = bpf_htonl(0xc0000201);
	uint64_t port = bpf_htons((uint16_t)(1024 + (number * 40503u >> 17))), other = bpf_htons(443);
	uint64_t source = back ? there : here, destination = back ? here : there;
	uint64_t ports = back ? other | port << 16 : port | other << 16;

	at[0] = source << 16 | destination << 48;
	at[1] = destination >> 16 | ports << 16;
}

SEC("xdp.frags")
int bench_prepare(struct xdp_md *ctx)
{
	uint8_t *frame = (uint8_t *)(uint64_t)ctx->data;
	uint32_t key = 0;
	const struct bench_plan *p = bpf_map_lookup_elem(&plans, &key);
	struct bench_cursor *c = bpf_map_lookup_elem(&cursors, &key);

	if (!p || !c || frame + BENCH_FRAME > (uint8_t *)(uint64_t)ctx->data_end)
		return XDP_ABORTED;
	bench_write((uint64_t *)(frame + BENCH_PLACES), bench_number(p, c), p->back);
	bpf_tail_call(ctx, &variants, 0);
	return XDP_ABORTED;
}

SEC("xdp.frags")
int bench_nothing(struct xdp_md *ctx)
{
	return XDP_PASS;
}

#endif
