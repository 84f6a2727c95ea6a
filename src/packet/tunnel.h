/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * [F] Tunnels: packets in packets.
 *
 * walk.outer keeps the outer packet. If the tunnel turns out to carry no IP (ARP
 * in VXLAN, for example), the outer packet is the result: see ink_parse_finish.
 *
 * A tunnel over UDP is recognized by its port and by the fixed fields of its
 * header. A packet that fails these checks is an ordinary UDP packet.
 */
#ifndef INKLING_PACKET_TUNNEL_H
#define INKLING_PACKET_TUNNEL_H

#include "packet/link.h"

#define INK_PROTOCOL_IPV4 4
#define INK_PROTOCOL_IPV6 41
#define INK_PROTOCOL_GRE 47

/* UDP ports, by IANA. */
#define INK_PORT_TEREDO 3544
#define INK_PORT_VXLAN 4789
#define INK_PORT_GENEVE 6081

/* Enters the inner packet. `skip` is the reason of the outer one if the tunnel carries no IP. */
static inline enum ink_layer ink_enter(struct ink_walk *w, struct ink_packet *p, enum ink_skip skip,
				       enum ink_layer next)
{
	w->outer = *p;
	w->outer.skip = (uint8_t)skip;
	w->tunnels++;
	*p = (struct ink_packet){.frame = w->outer.frame,
				 .time = w->outer.time,
				 .captured = w->outer.captured,
				 .wire = w->outer.wire,
				 .clock = w->outer.clock,
				 .vlan = w->outer.vlan,
				 .depth = (uint8_t)(w->outer.depth + 1)};
	return next;
}

/* ------------------------------------------------------------------------ GRE */

#define INK_GRE_CHECKSUM 0x8000u
#define INK_GRE_ROUTING 0x4000u
#define INK_GRE_KEY 0x2000u
#define INK_GRE_SEQUENCE 0x1000u
#define INK_GRE_ACKNOWLEDGE 0x0080u /* version 1 */
#define INK_GRE_VERSION 0x0007u

/* Bytes of the header, RFC 2890 and, for version 1, RFC 2637 (PPTP); 0: it cannot be read. */
static inline uint32_t ink_gre_length(uint32_t flags, uint32_t type)
{
	uint32_t words = 1u + !!(flags & INK_GRE_KEY) + !!(flags & INK_GRE_SEQUENCE);
	uint32_t version = flags & INK_GRE_VERSION;

	if (flags & INK_GRE_ROUTING || version > 1)
		return 0;
	if (version == 0)
		return 4 * (words + !!(flags & INK_GRE_CHECKSUM));
	return type == INK_TYPE_PPP && flags & INK_GRE_KEY ? 4 * (words + !!(flags & INK_GRE_ACKNOWLEDGE))
							   : 0;
}

/*
 * A mirrored frame after a header of ERSPAN:
 *     type I    none: GRE without a sequence number
 *     type II   8 bytes that begin with 1
 *     type III  12 bytes that begin with 2; 8 more if the last bit is set; bits 81 .. 85 say what is mirrored
 */
static inline enum ink_layer ink_step_erspan2(struct ink_walk *w, uint32_t gre_flags)
{
	if (!(gre_flags & INK_GRE_SEQUENCE))
		return INK_LAYER_ETHERNET;
	if (!ink_has(w, 8))
		return ink_ends(w, INK_SKIP_TRUNCATED);
	if (ink_here(w)[0] >> 4 != 1)
		return ink_ends(w, INK_SKIP_NOT_IP);
	return ink_goes_on(w, 8, INK_LAYER_ETHERNET);
}

static inline enum ink_layer ink_step_erspan3(struct ink_walk *w)
{
	uint32_t what, header;

	if (!ink_has(w, 12))
		return ink_ends(w, INK_SKIP_TRUNCATED);
	what = ink_here(w)[10] >> 2 & 0x1f;
	header = ink_here(w)[11] & 1 ? 20 : 12;
	if (ink_here(w)[0] >> 4 != 2 || (what != 0 && what != 2))
		return ink_ends(w, INK_SKIP_NOT_IP);
	if (!ink_has(w, header))
		return ink_ends(w, INK_SKIP_TRUNCATED);
	return ink_goes_on(w, header, what == 2 ? INK_LAYER_IP : INK_LAYER_ETHERNET);
}

static inline enum ink_layer ink_step_gre(struct ink_walk *w, struct ink_packet *p)
{
	uint32_t flags, header;
	uint16_t type;

	if (!ink_has(w, 4))
		return ink_ends(w, INK_SKIP_TRUNCATED);
	flags = ink_be16(ink_here(w));
	type = ink_be16(ink_here(w) + 2);
	header = ink_gre_length(flags, type);
	if (!header)
		return ink_ends(w, INK_SKIP_PROTOCOL);
	if (!ink_has(w, header))
		return ink_ends(w, INK_SKIP_TRUNCATED);
	ink_pass(w, header);
	ink_enter(w, p, INK_SKIP_PROTOCOL, INK_LAYER_END);
	if (type == INK_TYPE_BRIDGED)
		return INK_LAYER_ETHERNET;
	if (type == INK_TYPE_ERSPAN)
		return ink_step_erspan2(w, flags);
	if (type == INK_TYPE_ERSPAN3)
		return ink_step_erspan3(w);
	return type < INK_TYPE_LEAST ? ink_ends(w, INK_SKIP_NOT_IP) : ink_goes_on_type(w, 0, type);
}

/* ------------------------------------------------------------------- over UDP */

/* Each returns whether the packet is such a tunnel; if so, the walk is at the inner packet. */

/* RFC 7348: | 08 | 0 x 3 | network 3 | 0 |, then an Ethernet frame. The bits beside 08 are to be ignored. */
static inline int ink_is_vxlan(struct ink_walk *w)
{
	if (!ink_has(w, 8) || !(ink_here(w)[0] & 0x08))
		return 0;
	ink_pass(w, 8);
	return 1;
}

/* RFC 8926: | version 2 bits, words of options 6 | flags | type 2 | network 3 | 0 | options | */
static inline int ink_is_geneve(struct ink_walk *w)
{
	uint32_t header;

	if (!ink_has(w, 8) || ink_here(w)[0] >> 6 != 0)
		return 0;
	header = 8 + 4 * (ink_here(w)[0] & 0x3fu);
	w->type = ink_be16(ink_here(w) + 2);
	if (!ink_has(w, header) || w->type < INK_TYPE_LEAST)
		return 0;
	ink_pass(w, header);
	return 1;
}

/* RFC 4380, 5.1.1: before the IPv6 header an authentication (00 01), an origin (00 00), both or none. */
static inline int ink_is_teredo(struct ink_walk *w)
{
	if (ink_has(w, 4) && ink_be16(ink_here(w)) == 1)
		ink_pass(w, 13u + ink_here(w)[2] + ink_here(w)[3]);
	if (ink_has(w, 8) && ink_be16(ink_here(w)) == 0)
		ink_pass(w, 8);
	/* The length must be that of the datagram, which other users of the port would hardly match. */
	return ink_has(w, 40) && ink_here(w)[0] >> 4 == 6 &&
	       ink_be16(ink_here(w) + 4) + 40u == w->wire - w->at;
}

/* After a UDP header: what is in it, or INK_LAYER_END if it is no tunnel. */
static inline enum ink_layer ink_udp_tunnel(struct ink_walk *w, const struct ink_packet *p)
{
	uint32_t before = w->at;

	if (p->dport == INK_PORT_VXLAN && ink_is_vxlan(w))
		return INK_LAYER_ETHERNET;
	if (p->dport == INK_PORT_GENEVE && ink_is_geneve(w))
		return w->type == INK_TYPE_BRIDGED ? INK_LAYER_ETHERNET : INK_LAYER_TYPE;
	if ((p->dport == INK_PORT_TEREDO || p->sport == INK_PORT_TEREDO) && ink_is_teredo(w))
		return INK_LAYER_IPV6;
	w->at = before;
	return INK_LAYER_END;
}

#endif
