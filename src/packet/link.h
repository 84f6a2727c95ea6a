/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * [F] The headers before IP: links, tags, labels.
 *
 * Each function reads one header and returns what follows it. A packet that is
 * not IP ends with INK_SKIP_NOT_IP; one whose captured bytes end within a header
 * ends with INK_SKIP_TRUNCATED.
 */
#ifndef INKLING_PACKET_LINK_H
#define INKLING_PACKET_LINK_H

#include "packet/walk.h"

/* Ethertypes of IEEE and of Cisco. Values below the first are lengths. */
#define INK_TYPE_LEAST 0x0600
#define INK_TYPE_IPV4 0x0800
#define INK_TYPE_ERSPAN3 0x22eb
#define INK_TYPE_BRIDGED 0x6558 /* a whole Ethernet frame, in GRE and Geneve */
#define INK_TYPE_VLAN 0x8100
#define INK_TYPE_IPV6 0x86dd
#define INK_TYPE_PPP 0x880b
#define INK_TYPE_MPLS 0x8847
#define INK_TYPE_MPLS_MULTICAST 0x8848
#define INK_TYPE_PPPOE 0x8864
#define INK_TYPE_QINQ 0x88a8
#define INK_TYPE_ERSPAN 0x88be
#define INK_TYPE_FABRICPATH 0x8903
#define INK_TYPE_QINQ_OLD1 0x9100 /* before 802.1ad gave it a number */
#define INK_TYPE_QINQ_OLD2 0x9200
#define INK_TYPE_QINQ_OLD3 0x9300

/* PPP protocols, RFC 1661 and those it refers to. */
#define INK_PPP_IPV4 0x0021
#define INK_PPP_IPV6 0x0057
#define INK_PPP_MPLS 0x0281
#define INK_PPP_MPLS_MULTICAST 0x0283

/* ------------------------------------------------------------------- Ethernet */

/*
 *  0            6            12     14
 *  |destination |source      |type  |
 */
static inline enum ink_layer ink_step_ethernet(struct ink_walk *w)
{
	if (!ink_has(w, 14))
		return ink_ends(w, INK_SKIP_TRUNCATED);
	return ink_goes_on_type(w, 14, ink_be16(ink_here(w) + 12));
}

/* 802.1Q: priority and id, 2 bytes, then the type of what is tagged. */
static inline enum ink_layer ink_step_vlan(struct ink_walk *w, struct ink_packet *p)
{
	if (!ink_has(w, 4))
		return ink_ends(w, INK_SKIP_TRUNCATED);
	p->vlan = ink_be16(ink_here(w)) & 0xfff;
	return ink_goes_on_type(w, 4, ink_be16(ink_here(w) + 2));
}

/* 802.3: a length in place of the type. Bytes beyond that length are padding. */
static inline enum ink_layer ink_step_length(struct ink_walk *w)
{
	ink_clip(w, w->type);
	return INK_LAYER_LLC;
}

static inline enum ink_layer ink_step_type(struct ink_walk *w, struct ink_packet *p)
{
	switch (w->type) {
	case INK_TYPE_IPV4:
		return INK_LAYER_IPV4;
	case INK_TYPE_IPV6:
		return INK_LAYER_IPV6;
	case INK_TYPE_VLAN:
	case INK_TYPE_QINQ:
	case INK_TYPE_QINQ_OLD1:
	case INK_TYPE_QINQ_OLD2:
	case INK_TYPE_QINQ_OLD3:
		return ink_step_vlan(w, p);
	case INK_TYPE_MPLS:
	case INK_TYPE_MPLS_MULTICAST:
		return INK_LAYER_MPLS;
	case INK_TYPE_PPPOE:
		return INK_LAYER_PPPOE;
	case INK_TYPE_PPP:
		return INK_LAYER_PPP;
	case INK_TYPE_FABRICPATH: /* a tag of 2 bytes before a whole frame */
		if (!ink_has(w, 2))
			return ink_ends(w, INK_SKIP_TRUNCATED);
		return ink_goes_on(w, 2, INK_LAYER_ETHERNET);
	default:
		return w->type < INK_TYPE_LEAST ? ink_step_length(w) : ink_ends(w, INK_SKIP_NOT_IP);
	}
}

/*
 * 802.2. SNAP gives an ethertype:   | aa aa 03 | 00 00 00 | type |
 * and IP has a number of its own:   | 06 06 03 |
 * 0000f8 is the organization of bridged frames (802.1H).
 */
static inline enum ink_layer ink_step_llc(struct ink_walk *w)
{
	uint32_t saps, organization;

	if (!ink_has(w, 3))
		return ink_ends(w, INK_SKIP_TRUNCATED);
	saps = ink_be16(ink_here(w));
	if (ink_here(w)[2] != 0x03)
		return ink_ends(w, INK_SKIP_NOT_IP);
	if (saps == 0x0606)
		return ink_goes_on(w, 3, INK_LAYER_IPV4);
	if (saps != 0xaaaa)
		return ink_ends(w, INK_SKIP_NOT_IP);
	if (!ink_has(w, 8))
		return ink_ends(w, INK_SKIP_TRUNCATED);
	organization = ink_be32(ink_here(w) + 2) & 0xffffff;
	if ((organization != 0 && organization != 0xf8) || ink_be16(ink_here(w) + 6) < INK_TYPE_LEAST)
		return ink_ends(w, INK_SKIP_NOT_IP);
	return ink_goes_on_type(w, 8, ink_be16(ink_here(w) + 6));
}

/* ----------------------------------------------------------------------- MPLS */

/* Labels of 4 bytes; bit 8 marks the last. The first four bits after it are the IP version. */
static inline enum ink_layer ink_step_mpls(struct ink_walk *w)
{
	for (int i = 0; i < INK_MAX_LABELS; i++) {
		uint32_t last;

		if (!ink_has(w, 4))
			return ink_ends(w, INK_SKIP_TRUNCATED);
		last = ink_here(w)[2] & 1;
		ink_pass(w, 4);
		if (!last)
			continue;
		if (!ink_has(w, 1))
			return ink_ends(w, INK_SKIP_TRUNCATED);
		if (ink_here(w)[0] >> 4 == 4)
			return INK_LAYER_IPV4;
		if (ink_here(w)[0] >> 4 == 6)
			return INK_LAYER_IPV6;
		return ink_ends(w, INK_SKIP_NOT_IP);
	}
	return ink_ends(w, INK_SKIP_TOO_DEEP);
}

/* ------------------------------------------------------------------------ PPP */

/*
 * Optionally ff 03; then a protocol of 2 bytes, or of 1 if that is odd. The two ends
 * of a link negotiate both, so a capture can have either.
 */
static inline enum ink_layer ink_step_ppp(struct ink_walk *w)
{
	uint32_t protocol;

	if (ink_has(w, 2) && ink_be16(ink_here(w)) == 0xff03)
		ink_pass(w, 2);
	if (!ink_has(w, 1) || (!ink_has(w, 2) && ink_here(w)[0] == 0xff))
		return ink_ends(w, INK_SKIP_TRUNCATED);
	protocol = ink_here(w)[0];
	if (!(protocol & 1)) {
		if (!ink_has(w, 2))
			return ink_ends(w, INK_SKIP_TRUNCATED);
		protocol = ink_be16(ink_here(w));
		ink_pass(w, 1);
	}
	ink_pass(w, 1);
	switch (protocol) {
	case INK_PPP_IPV4:
		return INK_LAYER_IPV4;
	case INK_PPP_IPV6:
		return INK_LAYER_IPV6;
	case INK_PPP_MPLS:
	case INK_PPP_MPLS_MULTICAST:
		return INK_LAYER_MPLS;
	default:
		return ink_ends(w, INK_SKIP_NOT_IP);
	}
}

/*
 * RFC 2516:  | 11 | code | session | length | PPP; code 0 is data.
 */
static inline enum ink_layer ink_step_pppoe(struct ink_walk *w)
{
	if (!ink_has(w, 6))
		return ink_ends(w, INK_SKIP_TRUNCATED);
	if (ink_here(w)[0] != 0x11 || ink_here(w)[1] != 0)
		return ink_ends(w, INK_SKIP_NOT_IP);
	ink_clip(w, 6u + ink_be16(ink_here(w) + 4));
	return ink_goes_on(w, 6, INK_LAYER_PPP);
}

/* Cisco HDLC: | address | 0 | ethertype | */
static inline enum ink_layer ink_step_chdlc(struct ink_walk *w)
{
	if (!ink_has(w, 4))
		return ink_ends(w, INK_SKIP_TRUNCATED);
	return ink_goes_on_type(w, 4, ink_be16(ink_here(w) + 2));
}

/* Such a link can also carry Cisco HDLC, whose addresses are 0f and 8f. */
static inline enum ink_layer ink_begin_ppp_hdlc(struct ink_walk *w)
{
	if (!ink_has(w, 1))
		return ink_ends(w, INK_SKIP_TRUNCATED);
	return (ink_here(w)[0] & 0x7f) == 0x0f ? INK_LAYER_CHDLC : INK_LAYER_PPP;
}

/* ------------------------------------------------------------------- loopback */

/* Address families: 2 is IPv4 everywhere, IPv6 is 10 in Linux, 24, 28 or 30 in the BSDs. */
static inline enum ink_layer ink_loopback(struct ink_walk *w, uint32_t family)
{
	switch (family) {
	case 2:
		return ink_goes_on(w, 4, INK_LAYER_IPV4);
	case 10:
	case 24:
	case 28:
	case 30:
		return ink_goes_on(w, 4, INK_LAYER_IPV6);
	default:
		return ink_ends(w, INK_SKIP_NOT_IP);
	}
}

/* In the byte order of the capturing machine. Families are small, so a large one is swapped. */
static inline enum ink_layer ink_begin_null(struct ink_walk *w)
{
	uint32_t family;

	if (!ink_has(w, 4))
		return ink_ends(w, INK_SKIP_TRUNCATED);
	family = ink_be32(ink_here(w));
	if (family > 0xffff)
		family = family >> 24 | (family >> 8 & 0xff00);
	return ink_loopback(w, family);
}

static inline enum ink_layer ink_begin_loop(struct ink_walk *w)
{
	if (!ink_has(w, 4))
		return ink_ends(w, INK_SKIP_TRUNCATED);
	return ink_loopback(w, ink_be32(ink_here(w)));
}

/* -------------------------------------------------------- Linux "any", SLL */

#define INK_SLL_LLC 0x0004      /* in place of an ethertype */
#define INK_ARPHRD_NETLINK 824  /* on such devices it is no ethertype */
#define INK_ARPHRD_RADIOTAP 803 /* nor there */

static inline enum ink_layer ink_begin_cooked(struct ink_walk *w, uint32_t header, uint32_t type_at,
					      uint32_t device_at)
{
	uint16_t type, device;

	if (!ink_has(w, header))
		return ink_ends(w, INK_SKIP_TRUNCATED);
	type = ink_be16(ink_here(w) + type_at);
	device = ink_be16(ink_here(w) + device_at);
	if (device == INK_ARPHRD_NETLINK || device == INK_ARPHRD_RADIOTAP)
		return ink_ends(w, INK_SKIP_NOT_IP);
	if (type == INK_SLL_LLC)
		return ink_goes_on(w, header, INK_LAYER_LLC);
	if (type < INK_TYPE_LEAST)
		return ink_ends(w, INK_SKIP_NOT_IP);
	return ink_goes_on_type(w, header, type);
}

/* --------------------------------------------------------------------- 802.11 */

#define INK_80211_DATA 0x08 /* first byte: version 00, type 10, and in the upper half the subtype */
#define INK_80211_TYPE 0x0f
#define INK_80211_QOS 0x80     /* subtype: 2 more bytes */
#define INK_80211_NO_DATA 0x40 /* subtype */
#define INK_80211_TO_FROM 0x03 /* second byte: relayed, so a fourth address */
#define INK_80211_PROTECTED 0x40
#define INK_80211_ORDER 0x80 /* with QoS: 4 more bytes */
#define INK_80211_AMSDU 0x80 /* in the QoS field: several frames, each with a header of its own */

/* | control 2 | duration 2 | address 6 x 3 | sequence 2 | fourth address, QoS, HT | LLC */
static inline enum ink_layer ink_step_80211(struct ink_walk *w)
{
	uint32_t kind, how, header = 24;

	if (!ink_has(w, 2))
		return ink_ends(w, INK_SKIP_TRUNCATED);
	kind = ink_here(w)[0];
	how = ink_here(w)[1];
	if ((kind & INK_80211_TYPE) != INK_80211_DATA || kind & INK_80211_NO_DATA)
		return ink_ends(w, INK_SKIP_NOT_IP);
	if (how & INK_80211_PROTECTED)
		return ink_ends(w, INK_SKIP_ENCRYPTED);
	if ((how & INK_80211_TO_FROM) == INK_80211_TO_FROM)
		header += 6;
	if (kind & INK_80211_QOS) {
		if (!ink_has(w, header + 2))
			return ink_ends(w, INK_SKIP_TRUNCATED);
		if (ink_here(w)[header] & INK_80211_AMSDU)
			return ink_ends(w, INK_SKIP_NOT_IP);
		header += how & INK_80211_ORDER ? 6 : 2;
	}
	if (!ink_has(w, header))
		return ink_ends(w, INK_SKIP_TRUNCATED);
	return ink_goes_on(w, header, INK_LAYER_LLC);
}

/* | version 1 | 0 | length 2, little endian | present 4 | ... */
static inline enum ink_layer ink_begin_radiotap(struct ink_walk *w)
{
	uint32_t length;

	if (!ink_has(w, 8))
		return ink_ends(w, INK_SKIP_TRUNCATED);
	length = ink_here(w)[2] | (uint32_t)ink_here(w)[3] << 8;
	if (ink_here(w)[0] != 0 || length < 8)
		return ink_ends(w, INK_SKIP_BAD_LENGTH);
	if (!ink_has(w, length))
		return ink_ends(w, INK_SKIP_TRUNCATED);
	return ink_goes_on(w, length, INK_LAYER_80211);
}

/* ---------------------------------------------------------------------- NFLOG */

#define INK_NFLOG_PAYLOAD 9

/*
 * | family | 0 | resource 2 | and attributes: | length 2 | type 2 | value, padded to 4 |
 * Lengths and types are in the byte order of the capturing machine.
 */
static inline uint32_t ink_nflog_number(const uint8_t *at, int big)
{
	return big ? ink_be16(at) : (uint32_t)(at[0] | at[1] << 8);
}

static inline enum ink_layer ink_nflog_payload(struct ink_walk *w, int big)
{
	for (int i = 0; i < INK_MAX_ATTRIBUTES; i++) {
		uint32_t length, type;

		if (!ink_has(w, 4))
			return ink_ends(w, INK_SKIP_TRUNCATED);
		length = ink_nflog_number(ink_here(w), big);
		type = ink_nflog_number(ink_here(w) + 2, big);
		if (length < 4)
			return ink_ends(w, INK_SKIP_BAD_LENGTH);
		if (type == INK_NFLOG_PAYLOAD) {
			ink_clip(w, length);
			return ink_goes_on(w, 4, INK_LAYER_IP);
		}
		ink_pass(w, (length + 3) & ~3u);
	}
	return ink_ends(w, INK_SKIP_TOO_DEEP);
}

/* The first attribute is the packet header, 8 bytes: 12 with its own. Its length shows the byte order. */
static inline enum ink_layer ink_begin_nflog(struct ink_walk *w)
{
	uint32_t family;

	if (!ink_has(w, 8))
		return ink_ends(w, INK_SKIP_TRUNCATED);
	family = ink_here(w)[0];
	if (ink_here(w)[1] != 0 || (family != 2 && family != 10))
		return ink_ends(w, INK_SKIP_NOT_IP);
	ink_pass(w, 4);
	return ink_nflog_payload(w, ink_here(w)[0] == 0);
}

/* ------------------------------------------------------------------ the first */

static inline enum ink_layer ink_begin(struct ink_walk *w, enum ink_link link)
{
	switch (link) {
	case INK_LINK_ETHERNET:
		return INK_LAYER_ETHERNET;
	case INK_LINK_RAW:
		return INK_LAYER_IP;
	case INK_LINK_IPV4:
		return INK_LAYER_IPV4;
	case INK_LINK_IPV6:
		return INK_LAYER_IPV6;
	case INK_LINK_SLL: /* | packet type 2 | device type 2 | length 2 | address 8 | protocol 2 | */
		return ink_begin_cooked(w, 16, 14, 2);
	case INK_LINK_SLL2: /* | protocol 2 | 0 2 | interface 4 | device type 2 | ... 10 | */
		return ink_begin_cooked(w, 20, 0, 8);
	case INK_LINK_NULL:
		return ink_begin_null(w);
	case INK_LINK_LOOP:
		return ink_begin_loop(w);
	case INK_LINK_PPP:
	case INK_LINK_PPP_HDLC:
		return ink_begin_ppp_hdlc(w);
	case INK_LINK_PPPOE:
		return INK_LAYER_PPPOE;
	case INK_LINK_CHDLC:
		return INK_LAYER_CHDLC;
	case INK_LINK_MPLS:
		return INK_LAYER_MPLS;
	case INK_LINK_80211:
		return INK_LAYER_80211;
	case INK_LINK_RADIOTAP:
		return ink_begin_radiotap(w);
	case INK_LINK_NFLOG:
		return ink_begin_nflog(w);
	default:
		return ink_ends(w, INK_SKIP_LINK);
	}
}

#endif
