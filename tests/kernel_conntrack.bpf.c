/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The traffic of kernel_traffic.h at the kernel's own connection tracking (nf_conntrack): a SYN makes an entry, an answer and
 * the ACK behind it set the bits that the kernel sets for TCP. Entries that are assured are spared when others have to go.
 * Its time-outs, of 120 s and five days, are those of the real clock.
 */
#include <linux/netfilter/nf_conntrack_common.h>

#include "tests/kernel_traffic.bpf.h"

char conntrack_license[] SEC("license") = "Dual BSD/GPL";

struct nf_conn {
	unsigned long status;
} __attribute__((preserve_access_index));

struct nf_conn___init {
	struct nf_conn ct;
} __attribute__((preserve_access_index));

/* As the first kernels had it: 12 bytes, which later ones take, too. */
struct bpf_ct_opts___first {
	int32_t netns_id, error;
	uint8_t l4proto, dir, reserved[2];
};

enum { THIS_NAMESPACE = -1, TCP = 6, OPENING_MS = 120000, ESTABLISHED_MS = 432000000 };

extern struct nf_conn___init *bpf_xdp_ct_alloc(struct xdp_md *, struct bpf_sock_tuple *, uint32_t,
					       struct bpf_ct_opts___first *, uint32_t) __ksym;
extern struct nf_conn *bpf_xdp_ct_lookup(struct xdp_md *, struct bpf_sock_tuple *, uint32_t,
					 struct bpf_ct_opts___first *, uint32_t) __ksym;
extern struct nf_conn *bpf_ct_insert_entry(struct nf_conn___init *) __ksym;
extern void bpf_ct_release(struct nf_conn *) __ksym;
extern void bpf_ct_set_timeout(struct nf_conn___init *, uint32_t) __ksym;
extern int bpf_ct_change_timeout(struct nf_conn *, uint32_t) __ksym;
extern int bpf_ct_change_status(struct nf_conn *, uint32_t) __ksym;

static __always_inline struct bpf_sock_tuple tuple_of(const struct traffic_packet *p)
{
	uint32_t client = __builtin_bswap32(p->client), server = __builtin_bswap32(0xc0000201);
	uint16_t port = __builtin_bswap16(p->port), http = __builtin_bswap16(TRAFFIC_SERVER);
	struct bpf_sock_tuple t = {};

	t.ipv4.saddr = p->answers ? server : client;
	t.ipv4.daddr = p->answers ? client : server;
	t.ipv4.sport = p->answers ? http : port;
	t.ipv4.dport = p->answers ? port : http;
	return t;
}

static __always_inline struct bpf_ct_opts___first here(void)
{
	return (struct bpf_ct_opts___first){.netns_id = THIS_NAMESPACE, .l4proto = TCP};
}

static __always_inline void store(struct xdp_md *ctx, const struct traffic_packet *p)
{
	struct bpf_sock_tuple tuple = tuple_of(p);
	struct bpf_ct_opts___first o = here();
	struct nf_conn___init *made = bpf_xdp_ct_alloc(ctx, &tuple, sizeof tuple.ipv4, &o, sizeof o);
	struct nf_conn *ct;

	if (!made)
		return;
	bpf_ct_set_timeout(made, OPENING_MS);
	ct = bpf_ct_insert_entry(made);
	if (ct)
		bpf_ct_release(ct);
}

static __always_inline void look_up(struct xdp_md *ctx, struct traffic *t, const struct traffic_packet *p)
{
	struct bpf_sock_tuple tuple = tuple_of(p);
	struct bpf_ct_opts___first o = here();
	struct nf_conn *ct = bpf_xdp_ct_lookup(ctx, &tuple, sizeof tuple.ipv4, &o, sizeof o);

	if (!ct)
		return;
	if (p->answers) {
		bpf_ct_change_status(ct, (uint32_t)ct->status | IPS_SEEN_REPLY);
	} else if (ct->status & IPS_SEEN_REPLY && !(ct->status & IPS_ASSURED)) {
		bpf_ct_change_status(ct, (uint32_t)ct->status | IPS_ASSURED);
		bpf_ct_change_timeout(ct, ESTABLISHED_MS);
		if (p->client >> 24 == TRAFFIC_HONEST >> 24)
			t->tracked++;
	}
	bpf_ct_release(ct);
}

SEC("xdp.frags")
int drive_conntrack(struct xdp_md *ctx)
{
	struct traffic_packet p;
	struct traffic *t;
	uint64_t clock;

	t = next_packet(&p, &clock);
	if (!t)
		return XDP_ABORTED;
	if (p.flags == TRAFFIC_SYN)
		store(ctx, &p);
	else
		look_up(ctx, t, &p);
	return XDP_PASS;
}

SEC("xdp.frags")
int ask_conntrack(struct xdp_md *ctx)
{
	struct bpf_ct_opts___first o = here();
	struct bpf_sock_tuple tuple;
	struct traffic_packet p;
	struct traffic *t;
	struct nf_conn *ct;
	uint64_t clock;

	t = next_packet(&p, &clock);
	if (!t)
		return XDP_ABORTED;
	tuple = tuple_of(&p);
	ct = bpf_xdp_ct_lookup(ctx, &tuple, sizeof tuple.ipv4, &o, sizeof o);
	if (!ct)
		return XDP_PASS;
	t->tracked += (ct->status & IPS_ASSURED) != 0;
	bpf_ct_release(ct);
	return XDP_PASS;
}
