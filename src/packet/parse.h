/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * [F] The parser: from a frame to addresses, ports and flags.
 *
 * It walks from header to header (walk.h). link.h has the headers before IP, tunnel.h
 * has packets in packets, and this file has IP and what it carries. It is one loop of
 * at most INK_MAX_LAYERS steps, each of which reads one header:
 *
 *     Ethernet -> type -> IPv4 -> UDP -> VXLAN -> Ethernet -> type -> IPv6 -> TCP -> end
 *                                       depth 1
 *
 * The innermost IP packet counts. The packet quoted in an ICMP error is not
 * traffic and is not parsed. Nothing is guessed: a packet has a flow, or one of the
 * reasons of enum ink_skip.
 *
 * The parser includes only headers like <stdint.h> and keeps no state, so programs in the
 * kernel use it, too. They call the steps from a loop of their own, over a copy (walk.h).
 */
#ifndef INKLING_PACKET_PARSE_H
#define INKLING_PACKET_PARSE_H

#include "packet/tunnel.h"

/*
 * struct ink_packet, two cache lines: what the caller gives, then what is found.
 *
 *     0     8     16        20    24     32
 *     |frame|time |captured |wire |clock |payload ...
 */
#define INK_PACKET_GIVEN 32

_Static_assert(sizeof(struct ink_packet) == INK_PACKET_GIVEN + 3 * 32, "two cache lines");
_Static_assert(__builtin_offsetof(struct ink_packet, payload) == INK_PACKET_GIVEN, "as drawn");

/* ----------------------------------------------------------------------- IPv4 */

/*
 *  0                8                16               24             31
 *  |version | words |type of service | length                        |
 *  |identification                   |0|DF|MF| offset / 8            |
 *  |time to live    |protocol        |checksum                       |
 *  |source                                                           |
 *  |destination                                                      |
 *  |options, words - 5                                               |
 */
#define INK_IPV4_MORE 0x2000u
#define INK_IPV4_OFFSET 0x1fffu

static inline void ink_read_ipv4(const struct ink_walk *w, struct ink_packet *p)
{
	const uint8_t *ip = ink_here(w);
	uint32_t part = ink_be16(ip + 6);

	p->network = w->at;
	p->version = 4;
	p->tos = ip[1];
	p->ttl = ip[8];
	p->protocol = ip[9];
	__builtin_memcpy(p->source, ink_words(ip + 12), 4);
	__builtin_memcpy(p->destination, ink_words(ip + 16), 4);
	if (part & INK_IPV4_OFFSET)
		p->fragment = INK_FRAGMENT_LATER;
	else
		p->fragment = part & INK_IPV4_MORE ? INK_FRAGMENT_FIRST : INK_WHOLE;
}

/* A length of 0 is a packet before the network card segments it (TSO): all captured bytes belong to it. */
static inline enum ink_layer ink_step_ipv4(struct ink_walk *w, struct ink_packet *p)
{
	uint32_t header, length;

	if (!ink_has(w, 20))
		return ink_ends(w, INK_SKIP_TRUNCATED);
	if (ink_here(w)[0] >> 4 != 4)
		return ink_ends(w, INK_SKIP_BAD_VERSION);
	header = 4 * (ink_here(w)[0] & 0x0fu);
	length = ink_be16(ink_here(w) + 2);
	if (header < 20 || (length && length < header))
		return ink_ends(w, INK_SKIP_BAD_LENGTH);
	if (length)
		ink_clip(w, length);
	ink_read_ipv4(w, p);
	if (!ink_has(w, header))
		return ink_ends(w, INK_SKIP_TRUNCATED);
	return ink_goes_on(w, header, INK_LAYER_TRANSPORT);
}

/* ----------------------------------------------------------------------- IPv6 */

#define INK_EXTENSION_HOPS 0
#define INK_EXTENSION_ROUTING 43
#define INK_EXTENSION_FRAGMENT 44
#define INK_EXTENSION_AUTHENTICATION 51
#define INK_EXTENSION_DESTINATION 60
#define INK_EXTENSION_MOBILITY 135
#define INK_EXTENSION_HIP 139
#define INK_EXTENSION_SHIM6 140

#define INK_IPV6_MORE 0x0001u
#define INK_IPV6_OFFSET 0xfff8u

/* Bytes of an extension header with this length field; 0: it is not an extension header. */
static inline uint32_t ink_extension_length(uint32_t protocol, uint32_t field)
{
	switch (protocol) {
	case INK_EXTENSION_HOPS:
	case INK_EXTENSION_ROUTING:
	case INK_EXTENSION_DESTINATION:
	case INK_EXTENSION_MOBILITY:
	case INK_EXTENSION_HIP:
	case INK_EXTENSION_SHIM6:
		return 8 * (field + 1);
	case INK_EXTENSION_AUTHENTICATION:
		return 4 * (field + 2);
	case INK_EXTENSION_FRAGMENT:
		return 8;
	default:
		return 0;
	}
}

/* | next | 0 | offset, 0, more | identification | */
static inline void ink_read_fragment(const struct ink_walk *w, struct ink_packet *p)
{
	uint32_t part = ink_be16(ink_here(w) + 2);

	if (part & INK_IPV6_OFFSET)
		p->fragment = INK_FRAGMENT_LATER;
	else if (part & INK_IPV6_MORE)
		p->fragment = INK_FRAGMENT_FIRST;
}

/* From extension to extension. After the header of a later fragment no further header follows. */
static inline enum ink_layer ink_step_extensions(struct ink_walk *w, struct ink_packet *p)
{
	for (int i = 0; i < INK_MAX_EXTENSIONS; i++) {
		uint32_t length;

		if (!ink_extension_length(p->protocol, 0) || p->fragment == INK_FRAGMENT_LATER)
			return INK_LAYER_TRANSPORT;
		if (!ink_has(w, 8))
			return ink_ends(w, INK_SKIP_TRUNCATED);
		length = ink_extension_length(p->protocol, ink_here(w)[1]);
		if (p->protocol == INK_EXTENSION_FRAGMENT)
			ink_read_fragment(w, p);
		p->protocol = ink_here(w)[0];
		if (!ink_has(w, length))
			return ink_ends(w, INK_SKIP_TRUNCATED);
		ink_pass(w, length);
	}
	return ink_ends(w, INK_SKIP_TOO_DEEP);
}

/*
 *  0                                                                 31
 *  |version | traffic class | flow label                             |
 *  |payload length                  |next header     |hop limit      |
 *  |source 16, destination 16                                        |
 *
 * A length of 0 is a jumbogram or, as in IPv4, TSO: all captured bytes belong to it.
 */
static inline enum ink_layer ink_step_ipv6(struct ink_walk *w, struct ink_packet *p)
{
	const uint8_t *ip = ink_here(w);
	uint32_t length;

	if (!ink_has(w, 40))
		return ink_ends(w, INK_SKIP_TRUNCATED);
	if (ip[0] >> 4 != 6)
		return ink_ends(w, INK_SKIP_BAD_VERSION);
	p->network = w->at;
	p->version = 6;
	p->tos = (uint8_t)(ink_be16(ip) >> 4);
	p->protocol = ip[6];
	p->ttl = ip[7];
	__builtin_memcpy(p->source, ink_words(ip + 8), 16);
	__builtin_memcpy(p->destination, ink_words(ip + 24), 16);
	length = ink_be16(ip + 4);
	if (length)
		ink_clip(w, 40 + length);
	ink_pass(w, 40);
	return ink_step_extensions(w, p);
}

static inline enum ink_layer ink_step_ip(struct ink_walk *w)
{
	if (!ink_has(w, 1))
		return ink_ends(w, INK_SKIP_TRUNCATED);
	switch (ink_here(w)[0] >> 4) {
	case 4:
		return INK_LAYER_IPV4;
	case 6:
		return INK_LAYER_IPV6;
	default:
		return ink_ends(w, INK_SKIP_BAD_VERSION);
	}
}

/* ------------------------------------------------------------------ transports */

#define INK_PROTOCOL_ESP 50

/* The bytes after the transport header; the captured bytes may end within that header. */
static inline enum ink_layer ink_ends_well(struct ink_walk *w, struct ink_packet *p, uint32_t header)
{
	uint32_t sent = w->wire - w->at;

	p->transport = w->at;
	p->payload_wire = sent > header ? sent - header : 0;
	ink_pass(w, header);
	p->payload = ink_place_here(w);
	p->payload_captured = w->end - w->at;
	return ink_ends(w, INK_NOT_SKIPPED);
}

/*
 *  0                8                16               24             31
 *  |source port                      |destination port               |
 *  |sequence number                                                  |
 *  |acknowledged                                                     |
 *  |words |0 | flags                 |window                         |
 *
 * The flags end after 14 bytes; nothing after them is needed.
 */
static inline enum ink_layer ink_step_tcp(struct ink_walk *w, struct ink_packet *p)
{
	const uint8_t *tcp = ink_here(w);
	uint32_t header;

	if (!ink_has(w, 14))
		return ink_ends(w, INK_SKIP_TRUNCATED);
	header = 4u * (tcp[12] >> 4);
	p->sport = ink_be16(tcp);
	p->dport = ink_be16(tcp + 2);
	if (header < 20)
		return ink_ends(w, INK_SKIP_BAD_LENGTH);
	p->tcp_seq = ink_be32(tcp + 4);
	p->tcp_ack = ink_be32(tcp + 8);
	p->tcp_flags = ink_be16(tcp + 12) & 0xfff;
	return ink_ends_well(w, p, header);
}

/*
 * | source port | destination port | length, its 8 included | checksum |
 * If the length is 0 or was not captured, all captured bytes belong to it.
 */
static inline enum ink_layer ink_step_udp(struct ink_walk *w, struct ink_packet *p)
{
	const uint8_t *udp = ink_here(w);
	enum ink_layer inside;
	uint32_t length;

	if (!ink_has(w, 4))
		return ink_ends(w, INK_SKIP_TRUNCATED);
	p->sport = ink_be16(udp);
	p->dport = ink_be16(udp + 2);
	length = ink_has(w, 6) ? ink_be16(udp + 4) : 0;
	if (length && length < 8)
		return ink_ends(w, INK_SKIP_BAD_LENGTH);
	if (length)
		ink_clip(w, length);
	ink_ends_well(w, p, 8);
	if (w->options & INK_OUTERMOST)
		return INK_LAYER_END;
	inside = ink_udp_tunnel(w, p);
	return inside == INK_LAYER_END ? INK_LAYER_END : ink_enter(w, p, INK_NOT_SKIPPED, inside);
}

static inline enum ink_layer ink_step_sctp(struct ink_walk *w, struct ink_packet *p)
{
	if (!ink_has(w, 4))
		return ink_ends(w, INK_SKIP_TRUNCATED);
	p->sport = ink_be16(ink_here(w));
	p->dport = ink_be16(ink_here(w) + 2);
	return ink_ends_well(w, p, 12);
}

static inline enum ink_layer ink_step_icmp(struct ink_walk *w, struct ink_packet *p)
{
	if (!ink_has(w, 2))
		return ink_ends(w, INK_SKIP_TRUNCATED);
	p->icmp_type = ink_here(w)[0];
	p->icmp_code = ink_here(w)[1];
	return ink_ends_well(w, p, 8);
}

/* An authentication header does not encrypt: what it protects follows. In IPv6 it is an extension. */
static inline enum ink_layer ink_step_authentication(struct ink_walk *w, struct ink_packet *p)
{
	uint32_t length;

	if (!ink_has(w, 12))
		return ink_ends(w, INK_SKIP_TRUNCATED);
	length = ink_extension_length(INK_EXTENSION_AUTHENTICATION, ink_here(w)[1]);
	p->protocol = ink_here(w)[0];
	if (!ink_has(w, length))
		return ink_ends(w, INK_SKIP_TRUNCATED);
	return ink_goes_on(w, length, INK_LAYER_TRANSPORT);
}

static inline enum ink_layer ink_step_transport(struct ink_walk *w, struct ink_packet *p)
{
	if (p->fragment == INK_FRAGMENT_LATER)
		return ink_ends(w, INK_SKIP_FRAGMENT);
	switch (p->protocol) {
	case INK_PROTOCOL_TCP:
		return ink_step_tcp(w, p);
	case INK_PROTOCOL_UDP:
		return ink_step_udp(w, p);
	case INK_PROTOCOL_SCTP:
		return ink_step_sctp(w, p);
	case INK_PROTOCOL_ICMP:
	case INK_PROTOCOL_ICMPV6:
		return ink_step_icmp(w, p);
	case INK_PROTOCOL_ESP:
		return ink_ends(w, INK_SKIP_ENCRYPTED);
	case INK_EXTENSION_AUTHENTICATION:
		return ink_step_authentication(w, p);
	default:
		break;
	}
	if (w->options & INK_OUTERMOST)
		return ink_ends(w, INK_SKIP_PROTOCOL);
	switch (p->protocol) {
	case INK_PROTOCOL_GRE:
		return INK_LAYER_GRE;
	case INK_PROTOCOL_IPV4:
		return ink_enter(w, p, INK_SKIP_PROTOCOL, INK_LAYER_IPV4);
	case INK_PROTOCOL_IPV6:
		return ink_enter(w, p, INK_SKIP_PROTOCOL, INK_LAYER_IPV6);
	default:
		return ink_ends(w, INK_SKIP_PROTOCOL);
	}
}

/* ------------------------------------------------------------------- the whole */

static inline enum ink_layer ink_step_layer(struct ink_walk *w, struct ink_packet *p, enum ink_layer layer)
{
	switch (layer) {
	case INK_LAYER_ETHERNET:
		return ink_step_ethernet(w);
	case INK_LAYER_TYPE:
		return ink_step_type(w, p);
	case INK_LAYER_IPV4:
		return ink_step_ipv4(w, p);
	case INK_LAYER_IPV6:
		return ink_step_ipv6(w, p);
	case INK_LAYER_IP:
		return ink_step_ip(w);
	case INK_LAYER_TRANSPORT:
		return ink_step_transport(w, p);
	case INK_LAYER_LLC:
		return ink_step_llc(w);
	case INK_LAYER_MPLS:
		return ink_step_mpls(w);
	case INK_LAYER_PPPOE:
		return ink_step_pppoe(w);
	case INK_LAYER_PPP:
		return ink_step_ppp(w);
#ifndef __bpf__ /* whose links are Ethernet */
	case INK_LAYER_CHDLC:
		return ink_step_chdlc(w);
	case INK_LAYER_80211:
		return ink_step_80211(w);
#endif
	case INK_LAYER_GRE:
		return ink_step_gre(w, p);
	default:
		return INK_LAYER_END;
	}
}

/* Is the source the higher end? By address, then by port. */
static inline int ink_from_high(const struct ink_packet *p)
{
	uint64_t source = p->version == 4 ? ink_be32(p->source) : ink_be64(p->source);
	uint64_t destination = p->version == 4 ? ink_be32(p->destination) : ink_be64(p->destination);

	if (source == destination && p->version == 6) {
		source = ink_be64(p->source + 8);
		destination = ink_be64(p->destination + 8);
	}
	return source == destination ? p->sport > p->dport : source > destination;
}

/* The tunnel carried no IP: the outer packet is the result. Over UDP it has a flow, otherwise a reason. */
static inline uint8_t ink_fall_back(const struct ink_walk *w, struct ink_packet *p)
{
	*p = w->outer;
	if (p->skip == INK_NOT_SKIPPED || w->skip == INK_SKIP_NOT_IP)
		return p->skip;
	return w->skip;
}

static inline enum ink_skip ink_parse_finish(struct ink_walk *w, struct ink_packet *p)
{
	uint8_t skip = w->skip;

	if (skip != INK_NOT_SKIPPED && !p->version && w->tunnels)
		skip = ink_fall_back(w, p);
	p->skip = skip;
	if (p->version && ink_from_high(p))
		p->flags |= INK_FROM_HIGH;
	return (enum ink_skip)skip;
}

/* All but the frame, its lengths and times. In thirds: gcc makes one memset a loop, which takes 10 ns. */
static inline void ink_parse_clear(struct ink_packet *p)
{
	uint8_t *at = (uint8_t *)p + INK_PACKET_GIVEN;

	__builtin_memset(at, 0, 32);
	__builtin_memset(at + 32, 0, 32);
	__builtin_memset(at + 64, 0, 32);
}

/* All but the copy. */
static inline void ink_walk_start(struct ink_walk *w, const struct ink_packet *p, uint32_t options)
{
	w->at = 0;
	w->end = p->captured;
	w->wire = p->wire;
	w->options = options;
	w->type = 0;
	w->tunnels = 0;
}

#ifndef __bpf__ /* which has its own loop, kernel/packet.bpf.h */
/* Any packet, header by header. */
static inline enum ink_skip ink_parse_walk(struct ink_packet *p, enum ink_link link, uint32_t options)
{
	struct ink_walk w;
	enum ink_layer layer;

	w.frame = p->frame;
	ink_walk_start(&w, p, options);
	layer = ink_begin(&w, link);
	for (int i = 0; i < INK_MAX_LAYERS && layer != INK_LAYER_END; i++)
		layer = ink_step_layer(&w, p, layer);
	if (layer != INK_LAYER_END)
		w.skip = INK_SKIP_TOO_DEEP;
	return ink_parse_finish(&w, p);
}
#endif

/* ------------------------------------------------------------------ the plain one */

/*
 * Most packets are TCP in IPv4 without options, whole, behind 14 bytes of
 * Ethernet. Their fields stand in fixed places:
 *
 *     0        12     14        34     46           54
 *     |Ethernet|0800  |45 IPv4  |TCP   |words, flags|
 *
 * so one test for this shape replaces all the steps above. The result is that of the
 * walk; for any other packet it returns 0 and has written nothing. tests/test_packet.c
 * compares the two.
 */
#define INK_PLAIN 54u

/* `f` is the frame, or a copy of INK_PLAIN bytes of it. */
static inline int ink_is_plain(const struct ink_packet *p, const uint8_t *f)
{
	return p->captured >= INK_PLAIN && ink_be32(f + 12) >> 8 == (INK_TYPE_IPV4 << 8 | 0x45) &&
	       f[23] == INK_PROTOCOL_TCP && !(ink_be16(f + 20) & (INK_IPV4_MORE | INK_IPV4_OFFSET));
}

static inline uint32_t ink_least(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

static inline int ink_parse_plain(struct ink_packet *p, const uint8_t *f)
{
	uint32_t length = ink_be16(f + 16), header = 4u * (f[46] >> 4), skip = 34 + header;
	uint32_t end = ink_least(p->captured, 14 + length), wire = ink_least(p->wire, 14 + length);
	uint32_t source = ink_be32(f + 26), destination = ink_be32(f + 30);

	if (header < 20 || end < skip)
		return 0;
	ink_parse_clear(p);
	p->payload = ink_place_at(f, skip);
	p->payload_captured = end - skip;
	p->payload_wire = wire - skip;
	p->network = 14;
	p->transport = 34;
	__builtin_memcpy(p->source, ink_words(f + 26), 4);
	__builtin_memcpy(p->destination, ink_words(f + 30), 4);
	p->sport = ink_be16(f + 34);
	p->dport = ink_be16(f + 36);
	p->tcp_flags = ink_be16(f + 46) & 0xfff;
	p->tcp_seq = ink_be32(f + 38);
	p->tcp_ack = ink_be32(f + 42);
	p->version = 4;
	p->protocol = INK_PROTOCOL_TCP;
	p->ttl = f[22];
	p->tos = f[15];
	p->flags = source == destination ? p->sport > p->dport : source > destination;
	return 1;
}

_Static_assert(INK_FROM_HIGH == 1, "a comparison is the flag");

#ifndef __bpf__
/* As ink_packet_parse. */
static inline enum ink_skip ink_parse(struct ink_packet *p, enum ink_link link, uint32_t options)
{
	if (p->wire < p->captured)
		p->wire = p->captured;
	if (link == INK_LINK_ETHERNET && ink_is_plain(p, p->frame) && ink_parse_plain(p, p->frame))
		return INK_NOT_SKIPPED;
	ink_parse_clear(p);
	return ink_parse_walk(p, link, options);
}
#endif

#endif
