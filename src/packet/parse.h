/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * [F] The parser: from a frame to addresses, ports and flags.
 *
 * It walks from header to header (walk.h): what stands before IP is in link.h,
 * packets in packets in tunnel.h, and IP and what it carries here. One loop of
 * at most INK_MAX_LAYERS steps, each of which looks at one header:
 *
 *     Ethernet -> type -> IPv4 -> UDP -> VXLAN -> Ethernet -> type -> IPv6 -> TCP -> end
 *                                       depth 1
 *
 * The innermost IP packet counts. What IP carries in an ICMP error is no
 * traffic and is not looked at. Nothing is guessed: a packet has a flow, or one
 * of the reasons of enum ink_skip.
 *
 * It includes nothing but <stdint.h> and its like and keeps no state, so that a
 * program in the kernel can use it as it is.
 */
#ifndef INKLING_PACKET_PARSE_H
#define INKLING_PACKET_PARSE_H

#include "tunnel.h"

_Static_assert(sizeof(struct ink_packet) == 128, "two cache lines");

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
	__builtin_memcpy(p->source, ip + 12, 4);
	__builtin_memcpy(p->destination, ip + 16, 4);
	if (part & INK_IPV4_OFFSET)
		p->fragment = INK_FRAGMENT_LATER;
	else
		p->fragment = part & INK_IPV4_MORE ? INK_FRAGMENT_FIRST : INK_WHOLE;
}

/* A length of 0 is what a network card's driver sees of a packet that the card will cut (TSO): all there is. */
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

/* Bytes of an extension header with that in its length field; 0: it is none. */
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

/* From extension to extension. Behind a later fragment's header comes the middle of something. */
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
 * A length of 0 stands in jumbograms, and as in IPv4: all there is.
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
	__builtin_memcpy(p->source, ip + 8, 16);
	__builtin_memcpy(p->destination, ip + 24, 16);
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

/* What is behind the transport header, of which the bytes may have ended before its end. */
static inline enum ink_layer ink_ends_well(struct ink_walk *w, struct ink_packet *p, uint32_t header)
{
	uint32_t sent = w->wire - w->at;

	p->transport = w->at;
	p->payload_wire = sent > header ? sent - header : 0;
	ink_pass(w, header);
	p->payload = ink_here(w);
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
 * The flags end after 14 bytes; of what follows nothing is needed.
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
 * A length of 0, or none in the captured bytes: all there is.
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

/* An authentication header hides nothing: what it protects is behind it. IPv6 has passed it already. */
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
	case INK_LAYER_CHDLC:
		return ink_step_chdlc(w);
	case INK_LAYER_80211:
		return ink_step_80211(w);
	case INK_LAYER_GRE:
		return ink_step_gre(w, p);
	default:
		return INK_LAYER_END;
	}
}

/* Is the source the higher end? Address first, then port. */
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

/* The tunnel had no IP header in it: the packet around stands. Over UDP it has a flow; else the reason is told. */
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

/* As ink_packet_parse. */
static inline enum ink_skip ink_parse(struct ink_packet *p, enum ink_link link, uint32_t options)
{
	struct ink_walk w;
	enum ink_layer layer;

	w.frame = p->frame;
	w.at = 0;
	w.end = p->captured;
	w.wire = p->wire < p->captured ? p->captured : p->wire;
	w.options = options;
	w.tunnels = 0;
	*p = (struct ink_packet){
		.frame = w.frame, .time = p->time, .captured = w.end, .wire = w.wire, .clock = p->clock};
	layer = ink_begin(&w, link);
	for (int i = 0; i < INK_MAX_LAYERS && layer != INK_LAYER_END; i++)
		layer = ink_step_layer(&w, p, layer);
	if (layer != INK_LAYER_END)
		w.skip = INK_SKIP_TOO_DEEP;
	return ink_parse_finish(&w, p);
}

#endif
