/* SPDX-License-Identifier: BSD-2-Clause */
/*
 *     0        14      34 or 54        54, 74, 42 or 62
 *     |Ethernet|IP     |TCP, UDP, ICMP |payload
 */
#include "sim/frame.h"

#include <string.h>

#include <inkling/packet.h>

enum { ETHERNET = 14, IPV4 = 20, IPV6 = 40, TCP = 20, UDP = 8, ICMP = 8 };

static void put16(uint8_t *at, size_t number)
{
	at[0] = (uint8_t)(number >> 8);
	at[1] = (uint8_t)number;
}

static void put32(uint8_t *at, uint32_t number)
{
	put16(at, number >> 16);
	put16(at + 2, number & 0xffff);
}

/* The sum of 16-bit words (RFC 1071), four of them at a time; it does not depend on the byte order. */
static uint64_t sum(const uint8_t *at, size_t n, uint64_t so_far)
{
	uint32_t word;
	uint16_t half;

	for (; n >= 4; n -= 4, at += 4) {
		memcpy(&word, at, 4);
		so_far += word;
	}
	for (; n; n -= n < 2 ? n : 2, at += 2) {
		half = 0;
		memcpy(&half, at, n < 2 ? n : 2);
		so_far += half;
	}
	return so_far;
}

static void put_sum(uint8_t *at, uint64_t total)
{
	uint16_t folded;

	while (total >> 16)
		total = (total & 0xffff) + (total >> 16);
	folded = (uint16_t)~total;
	memcpy(at, &folded, 2);
}

static void put_ethernet(uint8_t *at, const struct sim_ends *e, unsigned from)
{
	/* Locally administered addresses, one for each side. */
	memcpy(at, from ? "\2\0\0\0\0\1\2\0\0\0\0\2" : "\2\0\0\0\0\2\2\0\0\0\0\1", 12);
	put16(at + 12, e->version == 4 ? 0x0800 : 0x86dd);
}

static void put_ipv4(uint8_t *at, const struct sim_ends *e, unsigned from, size_t length)
{
	memset(at, 0, IPV4);
	at[0] = 0x45;
	put16(at + 2, IPV4 + length);
	at[6] = 0x40;
	at[8] = 64;
	at[9] = e->protocol;
	put32(at + 12, e->address[from]);
	put32(at + 16, e->address[!from]);
	put_sum(at + 10, sum(at, IPV4, 0));
}

static void put_address6(uint8_t *at, uint32_t number)
{
	memcpy(at, "\x20\x01\x0d\xb8\0\0\0\0\0\0\0\0", 12);
	put32(at + 12, number);
}

static void put_ipv6(uint8_t *at, const struct sim_ends *e, unsigned from, size_t length)
{
	memset(at, 0, IPV6);
	at[0] = 0x60;
	put16(at + 4, length);
	at[6] = e->protocol;
	at[7] = 64;
	put_address6(at + 8, e->address[from]);
	put_address6(at + 24, e->address[!from]);
}

/* The addresses, the protocol and the length are summed with the transport header. */
static uint64_t pseudo_sum(const uint8_t *ip, const struct sim_ends *e, size_t length)
{
	const uint8_t rest[4] = {0, e->protocol, (uint8_t)(length >> 8), (uint8_t)length};

	return sum(rest, 4, e->version == 4 ? sum(ip + 12, 8, 0) : sum(ip + 8, 32, 0));
}

static void put_tcp(uint8_t *at, const struct sim_ends *e, const struct sim_segment *s)
{
	put16(at, e->port[s->from]);
	put16(at + 2, e->port[!s->from]);
	put32(at + 4, s->seq);
	put32(at + 8, s->ack);
	put16(at + 12, 0x5000u | s->flags);
	put16(at + 14, 0xfaf0);
	put32(at + 16, 0);
}

static void put_udp(uint8_t *at, const struct sim_ends *e, const struct sim_segment *s)
{
	put16(at, e->port[s->from]);
	put16(at + 2, e->port[!s->from]);
	put16(at + 4, UDP + s->length);
	put16(at + 6, 0);
}

/* An echo request by end 0, a reply by end 1. */
static void put_icmp(uint8_t *at, const struct sim_ends *e, const struct sim_segment *s)
{
	at[0] = (uint8_t)(e->protocol == INK_PROTOCOL_ICMPV6 ? 128 + s->from : s->from ? 0 : 8);
	at[1] = 0;
	put16(at + 2, 0);
	put16(at + 4, e->port[0]);
	put16(at + 6, s->seq & 0xffff);
}

/* What is special about a protocol: its header, and where in it the checksum is. */
static const struct transport {
	size_t header, checksum;
	void (*put)(uint8_t *at, const struct sim_ends *e, const struct sim_segment *s);
} tcp = {TCP, 16, put_tcp}, udp = {UDP, 6, put_udp}, icmp = {ICMP, 2, put_icmp};

static const struct transport *transport_of(const struct sim_ends *e)
{
	if (e->protocol == INK_PROTOCOL_TCP)
		return &tcp;
	return e->protocol == INK_PROTOCOL_UDP ? &udp : &icmp;
}

/* A UDP checksum of 0 would say that there is none; its other name is 0xffff (RFC 768). */
static void avoid_zero(uint8_t *at)
{
	if (!at[0] && !at[1])
		memset(at, 0xff, 2);
}

size_t sim_frame(uint8_t frame[SIM_FRAME_MOST], const struct sim_ends *e, const struct sim_segment *s)
{
	const struct transport *kind = transport_of(e);
	size_t ip_header = e->version == 4 ? IPV4 : IPV6, length = kind->header + s->length;
	uint8_t *ip = frame + ETHERNET, *transport = ip + ip_header;

	put_ethernet(frame, e, s->from);
	if (e->version == 4)
		put_ipv4(ip, e, s->from, length);
	else
		put_ipv6(ip, e, s->from, length);
	kind->put(transport, e, s);
	if (s->length)
		memcpy(transport + kind->header, s->payload, s->length);
	put_sum(transport + kind->checksum,
		sum(transport, length, e->protocol == INK_PROTOCOL_ICMP ? 0 : pseudo_sum(ip, e, length)));
	if (kind == &udp)
		avoid_zero(transport + kind->checksum);
	return ETHERNET + ip_header + length;
}
