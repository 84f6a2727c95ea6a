/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the benchmark runs beside the program of `inkling attach`: the beginnings of that program, and that very program
 * with a hash map of the kernel in place of our table, or with nothing.
 *
 *     bench_parse       as far as the packet is parsed
 *     bench_id          and the flow's id is computed
 *     bench_interpret   and the machine has said which event it is, instead (the id is computed, too)
 *     bench_conntrack   and the kernel's connection tracking was asked
 *     ink_xdp           all of it: `looks` of bench_how says whether a step looks anything up
 *
 * A hash map hashes its keys itself. With `hashes` 0 the program therefore makes the flow's key and no id. The
 * verifier removes what these constants exclude.
 */
#include "base/siphash.h"
#include "bench/kernel/flow.bpf.h"
#include "kernel/table.bpf.h"
#include "kernel/work.bpf.h"

/* Set before the object is loaded: set.c. */
const volatile struct {
	uint32_t hashes, looks;
} bench_how SEC(".rodata.bench") = {0, 0};

/* The tool sets type, flags and size. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__uint(key_size, INK_KEY_IPV4);
	__uint(value_size, sizeof(struct bench_value));
} peer SEC(".maps");

/* ------------------------------------------------------- in place of our table */

static __always_inline void bench_miss(void)
{
	struct bench_cursor *c = INK_AT(cursors, 0);

	if (c)
		c->missing++;
}

/* The row of a flow that is not there: as ink_step_new, and stored. */
static __always_inline uint64_t bench_begin(const struct ink_kernel_table *t,
					    const struct ink_kernel_machine *k, const uint64_t key[2],
					    uint32_t event)
{
	struct ink_kernel_row row = ink_row_of(k, t->states, event);
	struct bench_value v = {.time = bpf_jiffies64(), .state = (uint32_t)row.next};

	if (row.next < 0) {
		bench_miss();
		return ink_step_result(INK_ABSENT, INK_ABSENT, row.action, 0);
	}
	if (bpf_map_update_elem(&peer, key, &v, BPF_ANY))
		return ink_step_result(INK_ABSENT, INK_ABSENT, row.action, ENOSPC);
	return ink_step_result(INK_ABSENT, row.next, row.action, 0);
}

static __always_inline uint64_t bench_move(const struct ink_kernel_machine *k, struct bench_value *v,
					   const uint64_t key[2], uint32_t event)
{
	struct ink_kernel_row row = ink_row_of(k, v->state, event);
	int32_t from = (int32_t)v->state, to = row.next == INK_NO_ROW ? from : row.next;

	if (to < 0) {
		bpf_map_delete_elem(&peer, key);
	} else {
		v->state = (uint32_t)to;
		v->time = bpf_jiffies64();
	}
	return ink_step_result(from, to, row.action, 0);
}

__noinline uint64_t bench_step(struct ink_work *w, uint32_t machine, uint32_t event)
{
	const struct ink_kernel_machine *k = INK_AT(machines, machine);
	const struct ink_kernel_table *t = INK_AT(tables, machine % INK_KERNEL_MACHINES);
	struct bench_value *v;
	uint64_t key[2];

	if (!w || !k || !t)
		return ink_step_error(EINVAL);
	if (!bench_how.looks)
		return ink_step_result(0, 0, 0, 0);
	key[0] = w->key[0];
	key[1] = w->key[1];
	v = bpf_map_lookup_elem(&peer, key);
	return v ? bench_move(k, v, key, event) : bench_begin(t, k, key, event);
}

#define ink_table_step(machine, id, event) bench_step(w, machine, event)

/* The parentheses keep the functions from being taken for the macros. */
#define ink_sip_absorb(sip, word)                                                                            \
	do {                                                                                                 \
		if (bench_how.hashes)                                                                        \
			(ink_sip_absorb)(sip, word);                                                         \
	} while (0)
#define ink_sip_finish(sip) (bench_how.hashes ? (ink_sip_finish)(sip) : 0)

#include "kernel/inkling.bpf.c"

/* --------------------------------------------------------------- beginnings */

static __always_inline struct ink_work *bench_parsed(struct xdp_md *ctx)
{
	struct ink_kernel_control *o = INK_AT(control, 0);
	struct ink_work *w = INK_AT(works, 0);

	if (!o || !w)
		return NULL;
	ink_arrive(w, o, INK_KERNEL_XDP, ctx->ingress_ifindex);
	if (ink_parse_xdp(w, ctx))
		return NULL;
	ink_begin_packet(w, o);
	return w;
}

#include "bench/kernel/conntrack.bpf.h"

SEC("xdp.frags")
int bench_parse(struct xdp_md *ctx)
{
	return bench_parsed(ctx) ? XDP_PASS : XDP_ABORTED;
}

SEC("xdp.frags")
int bench_id(struct xdp_md *ctx)
{
	struct ink_work *w = bench_parsed(ctx);

	return w && ink_identify(w) ? XDP_PASS : XDP_ABORTED;
}

SEC("xdp.frags")
int bench_interpret(struct xdp_md *ctx)
{
	struct ink_work *w = bench_parsed(ctx);

	return w && ink_prepare(w) == INK_TURN_STEP ? XDP_PASS : XDP_ABORTED;
}
