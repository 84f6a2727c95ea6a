/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Traffic that a BPF program makes: tests/kernel_traffic.bpf.c writes the packets, and user space knows them as well. A
 * packet is computed from its number, so a run of any length needs no memory, and what a table says can be checked.
 */
#ifndef INKLING_TESTS_KERNEL_TRAFFIC_H
#define INKLING_TESTS_KERNEL_TRAFFIC_H

#include <stdint.h>

enum traffic_scene {
	TRAFFIC_OPENS, /* connections open, one after the other: three packets each */
	TRAFFIC_TALKS, /* each of them sends an ACK */
	TRAFFIC_FLOOD, /* spoofed SYNs, and honest handshakes among them */
	TRAFFIC_CHURN  /* flows begin, walk through states, and end: kernel_churn.c */
};

enum {
	TRAFFIC_FRAME = 60,   /* Ethernet, IPv4 and TCP without options, padded */
	TRAFFIC_STATES = 8,   /* steps in the life of a flow of TRAFFIC_CHURN */
	TRAFFIC_LEAVERS = 16, /* one of so many of these never closes */
	TRAFFIC_EARLY = 255,  /* type of service: not begun */
	TRAFFIC_SERVER = 80
};

/* The one entry of the map `traffic`. */
struct traffic {
	uint64_t next;  /* number of the next packet */
	uint64_t begin; /* the test clock at packet 0, ns */
	uint64_t pace;  /* from packet to packet, in 1/256 ns */
	uint32_t scene; /* enum traffic_scene */
	uint32_t seed;
	uint32_t flows; /* of TRAFFIC_CHURN */
	uint32_t every; /* TRAFFIC_FLOOD: one packet of so many begins an honest handshake, */
	uint32_t lag;   /* which is answered so many packets later, and complete with the next */
	uint32_t inserted; /* TRAFFIC_OPENS at an LRU_HASH: connections are stored, and not looked up */
	uint64_t tracked;  /* by a peer: honest handshakes that it saw complete; connections that it knows */
};

#define TRAFFIC_INLINE static inline __attribute__((always_inline))

/* A packet, from its client's view: `answers` comes from the server. */
struct traffic_packet {
	uint32_t client;
	uint16_t port;
	uint8_t flags, answers, tos;
};

enum { TRAFFIC_SYN = 2, TRAFFIC_ACK = 16 };

/* The finalizer of splitmix64. */
TRAFFIC_INLINE uint64_t traffic_mix(uint64_t x)
{
	x = (x + 1) * 0x9e3779b97f4a7c15;
	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
	x = (x ^ x >> 27) * 0x94d049bb133111eb;
	return x ^ x >> 31;
}

/* Step 0, 1 or 2 of the handshake of a connection; those that are open before the flood are in 10.0.0.0/8. */
TRAFFIC_INLINE struct traffic_packet traffic_handshake(uint32_t net, uint32_t number, uint32_t step)
{
	return (struct traffic_packet){.client = net + number,
				       .port = 40000,
				       .flags = (step < 2 ? TRAFFIC_SYN : 0) | (step > 0 ? TRAFFIC_ACK : 0),
				       .answers = step == 1};
}

enum { TRAFFIC_STANDING = 0x0a000000, TRAFFIC_HONEST = 0x14000000 };

/* A source of the upper half of all addresses, and any port. */
TRAFFIC_INLINE struct traffic_packet traffic_spoofed(const struct traffic *t, uint64_t i)
{
	uint64_t draw = traffic_mix(i ^ (uint64_t)t->seed << 40);

	return (struct traffic_packet){.client = (uint32_t)draw | 0x80000000,
				       .port = (uint16_t)(draw >> 32),
				       .flags = TRAFFIC_SYN};
}

TRAFFIC_INLINE struct traffic_packet traffic_flood(const struct traffic *t, uint64_t i)
{
	uint64_t answer = i - t->lag, ack = answer - 1;

	if (i % t->every == 0)
		return traffic_handshake(TRAFFIC_HONEST, (uint32_t)(i / t->every), 0);
	if (i >= t->lag && answer % t->every == 0)
		return traffic_handshake(TRAFFIC_HONEST, (uint32_t)(answer / t->every), 1);
	if (i > t->lag && ack % t->every == 0)
		return traffic_handshake(TRAFFIC_HONEST, (uint32_t)(ack / t->every), 2);
	return traffic_spoofed(t, i);
}

/* Does this flow of TRAFFIC_CHURN leave at its end, in place of closing? */
TRAFFIC_INLINE int traffic_leaves(uint64_t flow)
{
	return flow / TRAFFIC_STATES % TRAFFIC_LEAVERS == 0;
}

/*
 * Each of `flows` makes a step in each round. The packet says in which state its flow is: 0, it begins; 7, it closes, or 8,
 * it leaves and no packet will end it. In a round some are in each state. Behind its end a flow begins as another one.
 * Until its first beginning, it sends what has no event.
 */
TRAFFIC_INLINE struct traffic_packet traffic_churn(const struct traffic *t, uint64_t i)
{
	uint64_t flow = i % t->flows, turn = i / t->flows + flow % TRAFFIC_STATES;
	uint64_t life = turn / TRAFFIC_STATES, number = flow + t->flows * life;
	uint32_t state = turn % TRAFFIC_STATES;

	if (state == TRAFFIC_STATES - 1 && traffic_leaves(flow))
		state = TRAFFIC_STATES;
	if (!life && flow % TRAFFIC_STATES)
		state = TRAFFIC_EARLY;
	return (struct traffic_packet){.client = (uint32_t)number,
				       .port = (uint16_t)(1024 + (number >> 32)),
				       .flags = TRAFFIC_ACK,
				       .tos = (uint8_t)state};
}

TRAFFIC_INLINE struct traffic_packet traffic_packet(const struct traffic *t, uint64_t i)
{
	switch (t->scene) {
	case TRAFFIC_OPENS:
		return traffic_handshake(TRAFFIC_STANDING, (uint32_t)(i / 3), (uint32_t)(i % 3));
	case TRAFFIC_TALKS:
		return traffic_handshake(TRAFFIC_STANDING, (uint32_t)i, 2);
	case TRAFFIC_FLOOD:
		return traffic_flood(t, i);
	default:
		return traffic_churn(t, i);
	}
}

#endif
