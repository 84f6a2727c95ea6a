/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Programs that make the traffic of kernel_traffic.h, a packet a run, for BPF_PROG_TEST_RUN with `repeat`:
 *
 *     drive        writes the packet into the frame, sets the test clock, and calls the program that `attach` loads
 *                  (a tail call): all of it runs, from the parser to the table
 *     drive_lru    the same packets at an LRU_HASH: a SYN is stored, other packets are looked up
 *     ask_lru      how many connections from before the flood the LRU_HASH still has
 *     drive_live   hands the packet to the network (BPF_F_TEST_XDP_LIVE_FRAMES), as if it had been received
 */
#include "kernel/maps.bpf.h"
#include "tests/kernel_traffic.h"

char traffic_license[] SEC("license") = "Dual BSD/GPL";

INK_ARRAY(traffic, 1, struct traffic);

struct {
	__uint(type, BPF_MAP_TYPE_PROG_ARRAY);
	__uint(max_entries, 1);
	__type(key, uint32_t);
	__type(value, uint32_t);
} programs SEC(".maps");

/* ------------------------------------------------------------------- a packet */

struct ipv4_tcp {
	uint8_t ethernet[14], version, tos;
	uint16_t length, id, fragment;
	uint8_t ttl, protocol;
	uint16_t checksum;
	uint32_t source, destination;
	uint16_t sport, dport;
	uint32_t seq, ack;
	uint8_t offset, flags;
} __attribute__((packed));

static __always_inline void write_packet(struct ipv4_tcp *to, const struct traffic_packet *p)
{
	uint32_t client = __builtin_bswap32(p->client), server = __builtin_bswap32(0xc0000201);
	uint16_t port = __builtin_bswap16(p->port), http = __builtin_bswap16(TRAFFIC_SERVER);

	to->source = p->answers ? server : client;
	to->destination = p->answers ? client : server;
	to->sport = p->answers ? http : port;
	to->dport = p->answers ? port : http;
	to->flags = p->flags;
	to->tos = p->tos;
}

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

SEC("xdp.frags")
int drive(struct xdp_md *ctx)
{
	struct ipv4_tcp *to = (struct ipv4_tcp *)(uint64_t)ctx->data;
	struct ink_kernel_control *o = INK_AT(control, 0);
	struct traffic_packet p;
	uint64_t clock;

	if (!o || (uint8_t *)(to + 1) > (uint8_t *)(uint64_t)ctx->data_end || !next_packet(&p, &clock))
		return XDP_ABORTED;
	write_packet(to, &p);
	o->test_clock = clock;
	bpf_tail_call(ctx, &programs, 0);
	return XDP_ABORTED;
}

/* ----------------------------------------------------------------- an LRU_HASH */

struct connection {
	uint32_t client, server;
	uint16_t port, served;
	uint32_t protocol;
};

enum { OPENING = 1, ANSWERED, ESTABLISHED };

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 1);
	__type(key, struct connection);
	__type(value, uint64_t);
} lru SEC(".maps");

static __always_inline void store(const struct connection *c, uint64_t state)
{
	bpf_map_update_elem(&lru, c, &state, BPF_ANY);
}

static __always_inline void look_up(struct traffic *t, const struct connection *c,
				    const struct traffic_packet *p)
{
	uint64_t *state = bpf_map_lookup_elem(&lru, c);
	int complete = state && *state == ANSWERED && !p->answers;

	if (state && p->answers && *state == OPENING)
		*state = ANSWERED;
	if (complete)
		*state = ESTABLISHED;
	if (p->client >> 24 == TRAFFIC_HONEST >> 24)
		t->tracked += complete;
}

static __always_inline struct connection connection_of(const struct traffic_packet *p)
{
	return (struct connection){
		.client = p->client, .server = 0xc0000201, .port = p->port, .served = 80, .protocol = 6};
}

SEC("xdp.frags")
int drive_lru(struct xdp_md *ctx)
{
	struct traffic_packet p;
	struct connection c;
	struct traffic *t;
	uint64_t clock;

	t = next_packet(&p, &clock);
	if (!t)
		return XDP_ABORTED;
	c = connection_of(&p);
	if (p.flags == TRAFFIC_SYN)
		store(&c, t->inserted ? ESTABLISHED : OPENING);
	else if (!t->inserted)
		look_up(t, &c, &p);
	return XDP_PASS;
}

SEC("xdp.frags")
int ask_lru(struct xdp_md *ctx)
{
	struct traffic_packet p;
	struct connection c;
	struct traffic *t;
	uint64_t clock, *state;

	t = next_packet(&p, &clock);
	if (!t)
		return XDP_ABORTED;
	c = connection_of(&p);
	state = bpf_map_lookup_elem(&lru, &c);
	t->tracked += state && *state == ESTABLISHED;
	return XDP_PASS;
}

/* ------------------------------------------------------------------ the network */

static __always_inline uint16_t ip_checksum(const struct ipv4_tcp *p)
{
	const uint16_t *word = (const uint16_t *)&p->version;
	uint32_t sum = 0;

	for (unsigned i = 0; i < 10; i++)
		sum += word[i];
	sum = (sum & 0xffff) + (sum >> 16);
	return (uint16_t)~(sum + (sum >> 16));
}

/*
 * The kernel's own connection tracking believes no wrong number: those of a handshake are 0 and 1. Frames come again when
 * the network has done with them, so what a router writes is written anew: addresses of Ethernet (0 is that of `lo`), and
 * the time to live. Nobody routes what comes from 224.0.0.0/3.
 */
SEC("xdp.frags")
int drive_live(struct xdp_md *ctx)
{
	struct ipv4_tcp *to = (struct ipv4_tcp *)(uint64_t)ctx->data;
	struct traffic_packet p;
	uint64_t clock;

	if ((uint8_t *)(to + 1) > (uint8_t *)(uint64_t)ctx->data_end || !next_packet(&p, &clock))
		return XDP_ABORTED;
	if (p.client >> 29 == 7)
		p.client ^= 0x40000000;
	write_packet(to, &p);
	to->seq = __builtin_bswap32(p.flags == TRAFFIC_ACK);
	to->ack = __builtin_bswap32(p.flags != TRAFFIC_SYN);
	__builtin_memset(to->ethernet, 0, 12);
	to->ttl = 64;
	to->checksum = 0;
	to->checksum = ip_checksum(to);
	return XDP_PASS;
}
