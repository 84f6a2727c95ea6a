/* SPDX-License-Identifier: BSD-2-Clause */
/* Frames of every encapsulation, in the words of frames.h, and what the parser finds in them. */
#ifndef INKLING_TESTS_GOLDENS_H
#define INKLING_TESTS_GOLDENS_H

#include <inkling/packet.h>

#include "packet/walk.h"
#include "tests/frames.h"

/* 802.11 to a distribution system, QoS, SNAP */
#define WIRELESS "88010000 010101010101 020202020202 030303030303 0000 0000 aaaa030000000800 "
#define ETHER INK_LINK_ETHERNET
#define THREE_DEEP "three deep"
#define SHORT_UDP "short udp length"

/* clang-format off */
static const struct golden {
	const char *name;
	enum ink_link link;
	const char *frame;
	unsigned version, protocol;
	enum ink_skip skip;
	unsigned depth, vlan, fragment;
} goldens[] = {
	{"plain", ETHER, "eth4 " TCP4, 4, .protocol = 6},
	{"padded", ETHER, "[16]=002c eth4 ip4:6 tcp 9*00", 4, .protocol = 6},
	{"udp", ETHER, "eth4 ip4:17 udp:80 hello", 4, .protocol = 17},
	{"sctp", ETHER, "eth4 ip4:132 sctp hello", 4, .protocol = 132},
	{"icmp", ETHER, "eth4 ip4:1 icmp hello", 4, .protocol = 1},
	{"icmpv6", ETHER, "eth6 ip6:58 icmp hello", 6, .protocol = 58},
	{"ipv6", ETHER, "eth6 " TCP6, 6, .protocol = 6},
	{"ipv4 options", ETHER, "[14]=47 eth4 ip4:6 0707040000000000 tcp hello", 4, .protocol = 6},
	{"first fragment", ETHER, "[20]=20 eth4 " TCP4, 4, .protocol = 6, .fragment = 1},
	{"later fragment", ETHER, "[20]=0010 eth4 " TCP4, 4, .protocol = 6, .skip = INK_SKIP_FRAGMENT, .fragment = 2},
	{"authentication, ipv4", ETHER, "eth4 ip4:51 06040000 01020304 00000001 12*09 tcp hello", 4, .protocol = 6},
	{"esp", ETHER, "eth4 ip4:50 hello", 4, .protocol = 50, .skip = INK_SKIP_ENCRYPTED},
	{"large send", ETHER, "[16]=0000 eth4 " TCP4, 4, .protocol = 6},
	{"vlan", ETHER, "eth:0x8100 20640800 " TCP4, 4, .protocol = 6, .vlan = 100},
	{"qinq", ETHER, "eth:0x88a8 20078100 206486dd " TCP6, 6, .protocol = 6, .vlan = 100},
	{"mpls", ETHER, "eth:0x8847 00010040 00010140 " TCP4, 4, .protocol = 6},
	{"pppoe", ETHER, "eth:0x8864 11000007llll 0021 " TCP4, 4, .protocol = 6},
	{"snap", ETHER, "802.3 aaaa030000000800 " TCP4, 4, .protocol = 6},
	{"llc", ETHER, "802.3 060603 " TCP4, 4, .protocol = 6},
	{"fabricpath", ETHER, "eth:0x8903 0040 eth4 " TCP4, 4, .protocol = 6},
	{"arp", ETHER, "eth:0x0806 arp", .skip = INK_SKIP_NOT_IP},
	{"raw", INK_LINK_RAW, TCP4, 4, .protocol = 6},
	{"raw, version 0", INK_LINK_RAW, "00 hello", .skip = INK_SKIP_BAD_VERSION},
	{"raw ipv4", INK_LINK_IPV4, TCP4, 4, .protocol = 6},
	{"raw ipv6", INK_LINK_IPV6, TCP6, 6, .protocol = 6},
	{"sll", INK_LINK_SLL, "0000 0001 0006 0200000000010000 0800 " TCP4, 4, .protocol = 6},
	{"sll2", INK_LINK_SLL2, "86dd 0000 00000001 0001 00 06 0200000000010000 " TCP6, 6, .protocol = 6},
	{"null, little", INK_LINK_NULL, "02000000 " TCP4, 4, .protocol = 6},
	{"null, big", INK_LINK_NULL, "0000001e " TCP6, 6, .protocol = 6},
	{"loop", INK_LINK_LOOP, "00000018 " TCP6, 6, .protocol = 6},
	{"ppp", INK_LINK_PPP, "ff03 0021 " TCP4, 4, .protocol = 6},
	{"ppp, compressed", INK_LINK_PPP, "57 " TCP6, 6, .protocol = 6},
	{"ppp mpls", INK_LINK_PPP_HDLC, "ff03 0281 00010140 " TCP6, 6, .protocol = 6},
	{"chdlc in ppp", INK_LINK_PPP_HDLC, "0f000800 " TCP4, 4, .protocol = 6},
	{"pppoe link", INK_LINK_PPPOE, "11000007llll 0021 " TCP4, 4, .protocol = 6},
	{"chdlc", INK_LINK_CHDLC, "0f000800 " TCP4, 4, .protocol = 6},
	{"mpls link", INK_LINK_MPLS, "00010140 " TCP6, 6, .protocol = 6},
	{"802.11", INK_LINK_80211, WIRELESS TCP4, 4, .protocol = 6},
	{"802.11, protected", INK_LINK_80211, "[1]=41 " WIRELESS TCP4, .skip = INK_SKIP_ENCRYPTED},
	{"radiotap", INK_LINK_RADIOTAP, "00000c000400000002000000 " WIRELESS TCP4, 4, .protocol = 6},
	{"nflog, little", INK_LINK_NFLOG, "02000005 0c0001000800010000000000 05000a0078000000 LL000900 " TCP4, 4,
	 .protocol = 6},
	{"nflog, big", INK_LINK_NFLOG, "0a000005 000c00010800010000000000 LLLL0009 " TCP6, 6, .protocol = 6},
	{"another link", (enum ink_link)147, "eth4 " TCP4, .skip = INK_SKIP_LINK},
	/* hop by hop, routing, authentication, destination */
	{"extensions", ETHER,
	 "eth6 ip6:0 2b00050200000100 33020001000000002001000000000000 0000000000000003 "
	 "3c04000000000001 00000001 12*09 0600010400000000 tcp hello",
	 6, .protocol = 6},
	{"first fragment, ipv6", ETHER, "eth6 ip6:44 0600000100000009 tcp hello", 6, .protocol = 6, .fragment = 1},
	/* what follows only looks like an extension */
	{"later fragment, ipv6", ETHER, "eth6 ip6:44 3c00000800000009 tcp hello", 6, .protocol = 60,
	 .skip = INK_SKIP_FRAGMENT, .fragment = 2},
	{"atomic fragment", ETHER, "eth6 ip6:44 0600000000000009 tcp hello", 6, .protocol = 6},
	{"no next header", ETHER, "eth6 ip6:59", 6, .protocol = 59, .skip = INK_SKIP_PROTOCOL},
	{"endless extensions", ETHER, "eth6 ip6:60 16*3c00010400000000 tcp hello", 6, .protocol = 60,
	 .skip = INK_SKIP_TOO_DEEP},
	{"4in4", ETHER, "eth4 outer4:4 " TCP4, 4, .protocol = 6, .depth = 1},
	{"6in4", ETHER, "eth4 outer4:41 " TCP6, 6, .protocol = 6, .depth = 1},
	{"4in6", ETHER, "eth6 outer6:4 " TCP4, 4, .protocol = 6, .depth = 1},
	{"6in6", ETHER, "eth6 outer6:41 " TCP6, 6, .protocol = 6, .depth = 1},
	{"gre", ETHER, "eth4 outer4:47 00000800 " TCP4, 4, .protocol = 6, .depth = 1},
	{"gre, all fields", ETHER, "eth6 outer6:47 b0006558010100000000000700000001 eth6 " TCP6, 6, .protocol = 6,
	 .depth = 1},
	{"pptp", ETHER, "eth4 outer4:47 3081880b002800010000000100000002 ff03 0021 " TCP4, 4, .protocol = 6, .depth = 1},
	{"gre with arp", ETHER, "eth4 outer4:47 00006558 eth:0x0806 arp", 4, .protocol = 47, .skip = INK_SKIP_PROTOCOL},
	{"gre with routing", ETHER, "eth4 outer4:47 4000080000000000 " TCP4, 4, .protocol = 47, .skip = INK_SKIP_PROTOCOL},
	{"erspan 1", ETHER, "eth4 outer4:47 000088be eth4 " TCP4, 4, .protocol = 6, .depth = 1},
	{"erspan 2", ETHER, "eth4 outer4:47 100088be00000001 1001000100000000 eth4 " TCP4, 4, .protocol = 6, .depth = 1},
	{"erspan 3", ETHER, "eth4 outer4:47 100022eb00000001 200100010000000000000001 8*00 eth4 " TCP4, 4, .protocol = 6,
	 .depth = 1},
	{"vxlan", ETHER, "eth4 outer4:17 udp:4789 0800000000000700 eth4 " TCP4, 4, .protocol = 6, .depth = 1},
	{"vxlan with arp", ETHER, "eth4 outer4:17 udp:4789 0800000000000700 eth:0x0806 arp", 4, .protocol = 17},
	{"vxlan's port", ETHER, "eth4 outer4:17 udp:4789 0000000000000700 eth4 " TCP4, 4, .protocol = 17},
	{"geneve", ETHER, "eth6 outer6:17 udp:6081 0200655800000700 0001000109090909 eth6 " TCP6, 6, .protocol = 6,
	 .depth = 1},
	{"geneve, ip", ETHER, "eth4 outer4:17 udp:6081 0000080000000700 " TCP4, 4, .protocol = 6, .depth = 1},
	{"teredo", ETHER, "eth4 outer4:17 udp:3544 " TCP6, 6, .protocol = 6, .depth = 1},
	/* authentication with an id of 2 and a value of 3 bytes, then an origin */
	{"teredo, all headers", ETHER,
	 "eth4 outer4:17 udp:3544 00010203 6964 617574 0102030405060708 00 0000fb2d01020304 " TCP6, 6, .protocol = 6,
	 .depth = 1},
	/* data of another protocol that begins like IPv6 */
	{"teredo's port", ETHER, "eth4 outer4:17 udp:3544 60736f6d65626f6479 44*20", 4, .protocol = 17},
	/* VXLAN in GRE in IPv6 */
	{THREE_DEEP, ETHER, "eth6 outer6:47 00006558 eth4 outer4:17 udp:4789 0800000000000700 eth4 " TCP4, 4, .protocol = 6,
	 .depth = 2},
	{"endless tunnels", ETHER, "eth4 32*ip4:4 " TCP4, 4, .protocol = 4, .skip = INK_SKIP_TOO_DEEP, .depth = 14},
	{"endless labels", ETHER, "eth:0x8847 17*00010040 " TCP4, .skip = INK_SKIP_TOO_DEEP},
	{"short ipv4 header", ETHER, "[14]=44 eth4 " TCP4, .skip = INK_SKIP_BAD_LENGTH},
	{"length below the header", ETHER, "[16]=0013 eth4 " TCP4, .skip = INK_SKIP_BAD_LENGTH},
	{"version 5", ETHER, "[14]=55 eth4 " TCP4, .skip = INK_SKIP_BAD_VERSION},
	{"ipv4 in a frame for ipv6", ETHER, "[14]=40 eth6 " TCP6, .skip = INK_SKIP_BAD_VERSION},
	{"short tcp header", ETHER, "[46]=40 eth4 " TCP4, 4, .protocol = 6, .skip = INK_SKIP_BAD_LENGTH},
	{SHORT_UDP, ETHER, "[38]=0007 eth4 ip4:17 udp:80 hello", 4, .protocol = 17, .skip = INK_SKIP_BAD_LENGTH},
	{"igmp", ETHER, "eth4 ip4:2 hello", 4, .protocol = 2, .skip = INK_SKIP_PROTOCOL},
};
/* clang-format on */

/* "endless" above is one more than the parser follows. */
_Static_assert(INK_MAX_EXTENSIONS == 16 && INK_MAX_LABELS == 16 && INK_MAX_LAYERS == 32,
	       "as many as in the table");

#endif
