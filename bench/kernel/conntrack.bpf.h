/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A look-up in the kernel's connection tracking instead of a step. It is behind the same parser and the same machine,
 * in a program of its own, since the call needs the frame's context, and the table's place in the program has none.
 */
#ifndef BENCH_KERNEL_CONNTRACK_BPF_H
#define BENCH_KERNEL_CONNTRACK_BPF_H

/* The kernel's; nothing in them is looked at, but libbpf compares what kinds of types they are. */
struct nf_conn {
	unsigned long status;
};
struct nf_conn___init { /* not inserted yet */
	struct nf_conn ct;
};

/* The kernel's, as far as all that have the calls know it: 12 bytes. */
struct bpf_ct_opts {
	int32_t netns_id, error;
	uint8_t l4proto, dir, reserved[2];
};

extern struct nf_conn *bpf_xdp_ct_lookup(struct xdp_md *ctx, struct bpf_sock_tuple *tuple,
					 uint32_t tuple_size, struct bpf_ct_opts *opts,
					 uint32_t opts_size) __ksym __weak;
extern struct nf_conn___init *bpf_xdp_ct_alloc(struct xdp_md *ctx, struct bpf_sock_tuple *tuple,
					       uint32_t tuple_size, struct bpf_ct_opts *opts,
					       uint32_t opts_size) __ksym __weak;
extern struct nf_conn *bpf_ct_insert_entry(struct nf_conn___init *made) __ksym __weak;
extern void bpf_ct_set_timeout(struct nf_conn___init *made, uint32_t ms) __ksym __weak;
extern void bpf_ct_release(struct nf_conn *found) __ksym __weak;

enum { AN_HOUR = 3600000 }; /* ms */

static __always_inline struct bpf_sock_tuple bench_tuple(const struct ink_packet *p)
{
	struct bpf_sock_tuple t = {0};

	t.ipv4.saddr = *(const uint32_t *)p->source;
	t.ipv4.daddr = *(const uint32_t *)p->destination;
	t.ipv4.sport = bpf_htons(p->sport);
	t.ipv4.dport = bpf_htons(p->dport);
	return t;
}

static __always_inline struct ink_work *bench_decided(struct xdp_md *ctx)
{
	struct ink_work *w = bench_parsed(ctx);

	return w && ink_prepare(w) == INK_TURN_STEP ? w : NULL;
}

SEC("xdp.frags")
int bench_conntrack(struct xdp_md *ctx)
{
	struct bpf_ct_opts o = {.netns_id = BPF_F_CURRENT_NETNS, .l4proto = INK_PROTOCOL_TCP};
	struct ink_work *w = bench_decided(ctx);
	struct bpf_sock_tuple t;
	struct nf_conn *found;

	if (!w)
		return XDP_ABORTED;
	t = bench_tuple(&w->packet);
	found = bpf_xdp_ct_lookup(ctx, &t, sizeof t.ipv4, &o, sizeof o);
	if (!found) {
		bench_miss();
		return XDP_PASS;
	}
	bpf_ct_release(found);
	return XDP_PASS;
}

/* Dropped: there is no room. */
SEC("xdp.frags")
int bench_conntrack_fill(struct xdp_md *ctx)
{
	struct bpf_ct_opts o = {.netns_id = BPF_F_CURRENT_NETNS, .l4proto = INK_PROTOCOL_TCP};
	struct ink_work *w = bench_decided(ctx);
	struct nf_conn___init *made;
	struct nf_conn *there;
	struct bpf_sock_tuple t;

	if (!w)
		return XDP_ABORTED;
	t = bench_tuple(&w->packet);
	made = bpf_xdp_ct_alloc(ctx, &t, sizeof t.ipv4, &o, sizeof o);
	if (!made)
		return XDP_DROP;
	bpf_ct_set_timeout(made, AN_HOUR);
	there = bpf_ct_insert_entry(made);
	if (!there)
		return XDP_DROP;
	bpf_ct_release(there);
	return XDP_PASS;
}

#endif
