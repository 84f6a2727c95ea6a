/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The parser beside packets built by hand: each encapsulation, each of its
 * prefixes, damaged ones; then the keys, and the Community ID by its
 * published vectors.
 *
 * Every frame is parsed in a heap block of just its size, so that the address
 * sanitizer sees a read of one byte too many.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <arpa/inet.h>
#include <cmocka.h>

#include <inkling/packet.h>

#include "packet/clock.h"
#include "packet/parse.h"
#include "tests/random.h"

/* ------------------------------------------------------------- building a frame */

/* A frame grows from its end to its front, so a header knows how long what it carries is. */
enum { MOST = 2048 };

struct frame {
	uint8_t bytes[MOST];
	size_t n;
};

static uint8_t *front(struct frame *f)
{
	return f->bytes + MOST - f->n;
}

static uint8_t *before(struct frame *f, const void *bytes, size_t n)
{
	assert_true(f->n + n <= MOST);
	f->n += n;
	memcpy(front(f), bytes, n);
	return front(f);
}

#define BEFORE(f, ...) before(f, (const uint8_t[]){__VA_ARGS__}, sizeof(const uint8_t[]){__VA_ARGS__})

static void put16(uint8_t *at, size_t number)
{
	at[0] = (uint8_t)(number >> 8);
	at[1] = (uint8_t)number;
}

/* The flow that is inside of everything: 10.1.2.3 1234 -> 10.4.5.6 80, or the same in IPv6. */
enum { SPORT = 1234, DPORT = 80 };

static const uint8_t source4[4] = {10, 1, 2, 3}, destination4[4] = {10, 4, 5, 6};
static const uint8_t source6[16] = {0x20, 1, 0xd, 0xb8, [15] = 1},
		     destination6[16] = {0x20, 1, 0xd, 0xb8, [15] = 2};

static void payload(struct frame *f)
{
	before(f, "hello", 5);
}

static void tcp(struct frame *f)
{
	payload(f);
	BEFORE(f, 0x04, 0xd2, 0, 80, 1, 2, 3, 4, 5, 6, 7, 8, 0x60, 0x12, 0xff, 0xff, 0, 0, 0, 0, 2, 4, 5,
	       0xb4);
}

static void udp_to(struct frame *f, unsigned port)
{
	uint8_t *udp = BEFORE(f, 0x04, 0xd2, 0, 0, 0, 0, 0, 0);

	put16(udp + 2, port);
	put16(udp + 4, f->n);
}

static void udp(struct frame *f)
{
	payload(f);
	udp_to(f, DPORT);
}

static void sctp(struct frame *f)
{
	payload(f);
	BEFORE(f, 0x04, 0xd2, 0, 80, 1, 2, 3, 4, 0, 0, 0, 0);
}

static void icmp(struct frame *f)
{
	payload(f);
	BEFORE(f, 8, 0, 0, 0, 0, 1, 0, 1);
}

static uint8_t *ipv4(struct frame *f, unsigned protocol)
{
	uint8_t *ip = BEFORE(f, 0x45, 0x28, 0, 0, 0, 1, 0x40, 0, 64, 0, 0, 0, 10, 1, 2, 3, 10, 4, 5, 6);

	put16(ip + 2, f->n);
	ip[9] = (uint8_t)protocol;
	return ip;
}

static uint8_t *ipv6(struct frame *f, unsigned next)
{
	uint8_t *ip;

	before(f, destination6, 16);
	before(f, source6, 16);
	ip = BEFORE(f, 0x62, 0x80, 0, 0, 0, 0, 0, 64);
	put16(ip + 4, f->n - 40);
	ip[6] = (uint8_t)next;
	return ip;
}

static void ethernet(struct frame *f, unsigned type)
{
	put16(BEFORE(f, 2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 0, 0) + 12, type);
}

static void tcp4(struct frame *f)
{
	tcp(f);
	ipv4(f, 6);
}

static void tcp6(struct frame *f)
{
	tcp(f);
	ipv6(f, 6);
}

/* ------------------------------------------------------------------ the golden ones */

static void plain(struct frame *f)
{
	tcp4(f);
	ethernet(f, 0x0800);
}

static void padded(struct frame *f)
{
	before(f, "\0\0\0\0\0\0\0\0\0", 9);
	before(f, "\x04\xd2\0\x50\0\0\0\1\0\0\0\2\x50\x10\0\1\0\0\0\0", 20);
	BEFORE(f, 0x45, 0x28, 0, 40, 0, 1, 0x40, 0, 64, 6, 0, 0, 10, 1, 2, 3, 10, 4, 5, 6);
	ethernet(f, 0x0800);
}

static void plain_udp(struct frame *f)
{
	udp(f);
	ipv4(f, 17);
	ethernet(f, 0x0800);
}

static void plain_sctp(struct frame *f)
{
	sctp(f);
	ipv4(f, 132);
	ethernet(f, 0x0800);
}

static void plain_icmp(struct frame *f)
{
	icmp(f);
	ipv4(f, 1);
	ethernet(f, 0x0800);
}

static void plain_icmpv6(struct frame *f)
{
	icmp(f);
	ipv6(f, 58);
	ethernet(f, 0x86dd);
}

static void plain6(struct frame *f)
{
	tcp6(f);
	ethernet(f, 0x86dd);
}

static void options4(struct frame *f)
{
	uint8_t *ip;

	tcp(f);
	BEFORE(f, 7, 7, 4, 0, 0, 0, 0, 0);
	ip = ipv4(f, 6);
	/* The options were put before the transport header; now they are in the header. */
	ip[0] = 0x47;
	ethernet(f, 0x0800);
}

static void first_fragment(struct frame *f)
{
	tcp(f);
	ipv4(f, 6)[6] = 0x20;
	ethernet(f, 0x0800);
}

static void later_fragment(struct frame *f)
{
	tcp(f);
	put16(ipv4(f, 6) + 6, 0x0010);
	ethernet(f, 0x0800);
}

static void authentication4(struct frame *f)
{
	tcp(f);
	BEFORE(f, 6, 4, 0, 0, 1, 2, 3, 4, 0, 0, 0, 1, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9);
	ipv4(f, 51);
	ethernet(f, 0x0800);
}

static void encrypted(struct frame *f)
{
	payload(f);
	ipv4(f, 50);
	ethernet(f, 0x0800);
}

static void large_send(struct frame *f)
{
	tcp(f);
	put16(ipv4(f, 6) + 2, 0);
	ethernet(f, 0x0800);
}

static void vlan(struct frame *f)
{
	tcp4(f);
	BEFORE(f, 0x20, 0x64, 0x08, 0x00);
	ethernet(f, 0x8100);
}

static void qinq(struct frame *f)
{
	tcp6(f);
	BEFORE(f, 0x20, 0x64, 0x86, 0xdd);
	BEFORE(f, 0x20, 0x07, 0x81, 0x00);
	ethernet(f, 0x88a8);
}

static void mpls(struct frame *f)
{
	tcp4(f);
	BEFORE(f, 0, 0x01, 0x01, 64);
	BEFORE(f, 0, 0x01, 0x00, 64);
	ethernet(f, 0x8847);
}

static void pppoe_session(struct frame *f)
{
	size_t length = f->n;

	put16(BEFORE(f, 0x11, 0, 0, 7, 0, 0) + 4, length);
}

static void pppoe(struct frame *f)
{
	tcp4(f);
	BEFORE(f, 0, 0x21);
	pppoe_session(f);
	ethernet(f, 0x8864);
}

static void snap(struct frame *f)
{
	tcp4(f);
	BEFORE(f, 0xaa, 0xaa, 3, 0, 0, 0, 8, 0);
	ethernet(f, (unsigned)f->n);
}

static void llc_ip(struct frame *f)
{
	tcp4(f);
	BEFORE(f, 6, 6, 3);
	ethernet(f, (unsigned)f->n);
}

static void fabricpath(struct frame *f)
{
	plain(f);
	BEFORE(f, 0, 0x40);
	ethernet(f, 0x8903);
}

static void arp(struct frame *f)
{
	BEFORE(f, 0, 1, 8, 0, 6, 4, 0, 1, 2, 0, 0, 0, 0, 1, 10, 1, 2, 3, 0, 0, 0, 0, 0, 0, 10, 4, 5, 6);
	ethernet(f, 0x0806);
}

static void cooked(struct frame *f)
{
	tcp4(f);
	BEFORE(f, 0, 0, 0, 1, 0, 6, 2, 0, 0, 0, 0, 1, 0, 0, 8, 0);
}

static void cooked2(struct frame *f)
{
	tcp6(f);
	BEFORE(f, 0x86, 0xdd, 0, 0, 0, 0, 0, 1, 0, 1, 0, 6, 2, 0, 0, 0, 0, 1, 0, 0);
}

static void null_little(struct frame *f)
{
	tcp4(f);
	BEFORE(f, 2, 0, 0, 0);
}

static void null_big(struct frame *f)
{
	tcp6(f);
	BEFORE(f, 0, 0, 0, 30);
}

static void loop(struct frame *f)
{
	tcp6(f);
	BEFORE(f, 0, 0, 0, 24);
}

static void ppp(struct frame *f)
{
	tcp4(f);
	BEFORE(f, 0xff, 3, 0, 0x21);
}

static void ppp_compressed(struct frame *f)
{
	tcp6(f);
	BEFORE(f, 0x57);
}

static void ppp_mpls(struct frame *f)
{
	tcp6(f);
	BEFORE(f, 0, 0x01, 0x01, 64);
	BEFORE(f, 0xff, 3, 0x02, 0x81);
}

static void pppoe_link(struct frame *f)
{
	tcp4(f);
	BEFORE(f, 0, 0x21);
	pppoe_session(f);
}

static void chdlc(struct frame *f)
{
	tcp4(f);
	BEFORE(f, 0x0f, 0, 8, 0);
}

static void mpls_link(struct frame *f)
{
	tcp6(f);
	BEFORE(f, 0, 0x01, 0x01, 64);
}

static void wireless(struct frame *f)
{
	tcp4(f);
	BEFORE(f, 0xaa, 0xaa, 3, 0, 0, 0, 8, 0);
	BEFORE(f, 0, 0); /* QoS */
	BEFORE(f, 0x88, 1, 0, 0, 1, 1, 1, 1, 1, 1, 2, 2, 2, 2, 2, 2, 3, 3, 3, 3, 3, 3, 0, 0);
}

static void radiotap(struct frame *f)
{
	wireless(f);
	BEFORE(f, 0, 0, 12, 0, 4, 0, 0, 0, 2, 0, 0, 0);
}

static void protected_wireless(struct frame *f)
{
	wireless(f);
	front(f)[1] |= 0x40;
}

static void nflog(struct frame *f)
{
	tcp4(f);
	BEFORE(f, (uint8_t)(f->n + 4), 0, 9, 0);
	BEFORE(f, 5, 0, 10, 0, 'x', 0, 0, 0); /* a prefix, padded */
	BEFORE(f, 12, 0, 1, 0, 8, 0, 1, 0, 0, 0, 0, 0);
	BEFORE(f, 2, 0, 0, 5);
}

static void nflog_big(struct frame *f)
{
	tcp6(f);
	BEFORE(f, 0, (uint8_t)(f->n + 4), 0, 9);
	BEFORE(f, 0, 12, 0, 1, 8, 0, 1, 0, 0, 0, 0, 0);
	BEFORE(f, 10, 0, 0, 5);
}

/* ------------------------------------------------------------- IPv6 extensions */

static void extensions(struct frame *f)
{
	tcp(f);
	BEFORE(f, 6, 0, 1, 4, 0, 0, 0, 0); /* destination */
	BEFORE(f, 60, 4, 0, 0, 0, 0, 0, 1, 0, 0, 0, 1, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9,
	       9); /* authentication */
	BEFORE(f, 51, 2, 0, 1, 0, 0, 0, 0, 0x20, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 3); /* routing */
	BEFORE(f, 43, 0, 5, 2, 0, 0, 1, 0); /* hop by hop */
	ipv6(f, 0);
	ethernet(f, 0x86dd);
}

static void first_fragment6(struct frame *f)
{
	tcp(f);
	BEFORE(f, 6, 0, 0, 1, 0, 0, 0, 9);
	ipv6(f, 44);
	ethernet(f, 0x86dd);
}

static void later_fragment6(struct frame *f)
{
	tcp(f);
	BEFORE(f, 60, 0, 0, 8, 0, 0, 0, 9); /* what follows only looks like an extension */
	ipv6(f, 44);
	ethernet(f, 0x86dd);
}

static void atomic_fragment6(struct frame *f)
{
	tcp(f);
	BEFORE(f, 6, 0, 0, 0, 0, 0, 0, 9);
	ipv6(f, 44);
	ethernet(f, 0x86dd);
}

static void no_next_header(struct frame *f)
{
	ipv6(f, 59);
	ethernet(f, 0x86dd);
}

static void endless_extensions(struct frame *f)
{
	tcp(f);
	for (int i = 0; i < INK_MAX_EXTENSIONS; i++)
		BEFORE(f, 60, 0, 1, 4, 0, 0, 0, 0);
	ipv6(f, 60);
	ethernet(f, 0x86dd);
}

/* ------------------------------------------------------------------------- tunnels */

static void outer4(struct frame *f, unsigned protocol)
{
	memcpy(ipv4(f, protocol) + 12, "\xc0\xa8\0\1\xc0\xa8\0\2", 8);
	ethernet(f, 0x0800);
}

static void outer6(struct frame *f, unsigned protocol)
{
	ipv6(f, protocol)[8] = 0xfd;
	ethernet(f, 0x86dd);
}

static void in_4in4(struct frame *f)
{
	tcp4(f);
	outer4(f, 4);
}

static void in_6in4(struct frame *f)
{
	tcp6(f);
	outer4(f, 41);
}

static void in_4in6(struct frame *f)
{
	tcp4(f);
	outer6(f, 4);
}

static void in_6in6(struct frame *f)
{
	tcp6(f);
	outer6(f, 41);
}

static void gre(struct frame *f)
{
	tcp4(f);
	BEFORE(f, 0, 0, 8, 0);
	outer4(f, 47);
}

static void gre_full(struct frame *f)
{
	plain6(f);
	BEFORE(f, 0xb0, 0, 0x65, 0x58, 1, 1, 0, 0, 0, 0, 0, 7, 0, 0, 0, 1);
	outer6(f, 47);
}

static void pptp(struct frame *f)
{
	tcp4(f);
	BEFORE(f, 0xff, 3, 0, 0x21);
	BEFORE(f, 0x30, 0x81, 0x88, 0x0b, 0, 40, 0, 1, 0, 0, 0, 1, 0, 0, 0, 2);
	outer4(f, 47);
}

static void gre_arp(struct frame *f)
{
	arp(f);
	BEFORE(f, 0, 0, 0x65, 0x58);
	outer4(f, 47);
}

static void gre_routed(struct frame *f)
{
	tcp4(f);
	BEFORE(f, 0x40, 0, 8, 0, 0, 0, 0, 0);
	outer4(f, 47);
}

static void erspan1(struct frame *f)
{
	plain(f);
	BEFORE(f, 0, 0, 0x88, 0xbe);
	outer4(f, 47);
}

static void erspan2(struct frame *f)
{
	plain(f);
	BEFORE(f, 0x10, 1, 0, 1, 0, 0, 0, 0);
	BEFORE(f, 0x10, 0, 0x88, 0xbe, 0, 0, 0, 1);
	outer4(f, 47);
}

static void erspan3(struct frame *f)
{
	plain(f);
	BEFORE(f, 0, 0, 0, 0, 0, 0, 0, 0);
	BEFORE(f, 0x20, 1, 0, 1, 0, 0, 0, 0, 0, 0, 0, 1);
	BEFORE(f, 0x10, 0, 0x22, 0xeb, 0, 0, 0, 1);
	outer4(f, 47);
}

static void vxlan(struct frame *f)
{
	plain(f);
	BEFORE(f, 8, 0, 0, 0, 0, 0, 7, 0);
	udp_to(f, 4789);
	outer4(f, 17);
}

static void vxlan_arp(struct frame *f)
{
	arp(f);
	BEFORE(f, 8, 0, 0, 0, 0, 0, 7, 0);
	udp_to(f, 4789);
	outer4(f, 17);
}

static void not_vxlan(struct frame *f)
{
	plain(f);
	BEFORE(f, 0, 0, 0, 0, 0, 0, 7, 0);
	udp_to(f, 4789);
	outer4(f, 17);
}

static void geneve(struct frame *f)
{
	plain6(f);
	BEFORE(f, 0, 1, 0, 1, 9, 9, 9, 9);
	BEFORE(f, 2, 0, 0x65, 0x58, 0, 0, 7, 0);
	udp_to(f, 6081);
	outer6(f, 17);
}

static void geneve_ip(struct frame *f)
{
	tcp4(f);
	BEFORE(f, 0, 0, 8, 0, 0, 0, 7, 0);
	udp_to(f, 6081);
	outer4(f, 17);
}

static void teredo(struct frame *f)
{
	tcp6(f);
	udp_to(f, 3544);
	outer4(f, 17);
}

static void teredo_full(struct frame *f)
{
	tcp6(f);
	BEFORE(f, 0, 0, 0xfb, 0x2d, 1, 2, 3, 4);
	BEFORE(f, 0, 1, 2, 3, 'i', 'd', 'a', 'u', 't', 1, 2, 3, 4, 5, 6, 7, 8, 0);
	udp_to(f, 3544);
	outer4(f, 17);
}

static void not_teredo(struct frame *f)
{
	before(f, "`somebody else's 40 bytes, which begin as IPv6 would.", 53);
	udp_to(f, 3544);
	outer4(f, 17);
}

/* VXLAN in GRE in IPv6: tunnels in tunnels. */
static void three_deep(struct frame *f)
{
	vxlan(f);
	BEFORE(f, 0, 0, 0x65, 0x58);
	outer6(f, 47);
}

static void endless_tunnels(struct frame *f)
{
	tcp4(f);
	for (int i = 0; i < INK_MAX_LAYERS; i++)
		ipv4(f, 4);
	ethernet(f, 0x0800);
}

static void endless_labels(struct frame *f)
{
	tcp4(f);
	for (int i = 0; i <= INK_MAX_LABELS; i++)
		BEFORE(f, 0, 1, 0, 64);
	ethernet(f, 0x8847);
}

/* -------------------------------------------------------------------------- damaged */

static void short_header4(struct frame *f)
{
	plain(f);
	front(f)[14] = 0x44;
}

static void length_below_header(struct frame *f)
{
	plain(f);
	put16(front(f) + 16, 19);
}

static void version5(struct frame *f)
{
	plain(f);
	front(f)[14] = 0x55;
}

static void version_differs6(struct frame *f)
{
	plain6(f);
	front(f)[14] = 0x40;
}

static void short_tcp(struct frame *f)
{
	plain(f);
	front(f)[46] = 0x40;
}

static void short_udp(struct frame *f)
{
	plain_udp(f);
	put16(front(f) + 38, 7);
}

static void igmp(struct frame *f)
{
	payload(f);
	ipv4(f, 2);
	ethernet(f, 0x0800);
}

static void tcp4_raw(struct frame *f)
{
	tcp4(f);
}

static void version0_raw(struct frame *f)
{
	payload(f);
	BEFORE(f, 0);
}

struct golden {
	const char *name;
	void (*build)(struct frame *);
	enum ink_link link;
	enum ink_skip skip;
	unsigned version, protocol, depth, vlan, fragment;
};

#define ETHER INK_LINK_ETHERNET

static const struct golden goldens[] = {
	{"plain", plain, ETHER, 0, 4, 6, 0, 0, 0},
	{"padded", padded, ETHER, 0, 4, 6, 0, 0, 0},
	{"udp", plain_udp, ETHER, 0, 4, 17, 0, 0, 0},
	{"sctp", plain_sctp, ETHER, 0, 4, 132, 0, 0, 0},
	{"icmp", plain_icmp, ETHER, 0, 4, 1, 0, 0, 0},
	{"icmpv6", plain_icmpv6, ETHER, 0, 6, 58, 0, 0, 0},
	{"ipv6", plain6, ETHER, 0, 6, 6, 0, 0, 0},
	{"ipv4 options", options4, ETHER, 0, 4, 6, 0, 0, 0},
	{"first fragment", first_fragment, ETHER, 0, 4, 6, 0, 0, 1},
	{"later fragment", later_fragment, ETHER, INK_SKIP_FRAGMENT, 4, 6, 0, 0, 2},
	{"authentication, ipv4", authentication4, ETHER, 0, 4, 6, 0, 0, 0},
	{"esp", encrypted, ETHER, INK_SKIP_ENCRYPTED, 4, 50, 0, 0, 0},
	{"large send", large_send, ETHER, 0, 4, 6, 0, 0, 0},
	{"vlan", vlan, ETHER, 0, 4, 6, 0, 100, 0},
	{"qinq", qinq, ETHER, 0, 6, 6, 0, 100, 0},
	{"mpls", mpls, ETHER, 0, 4, 6, 0, 0, 0},
	{"pppoe", pppoe, ETHER, 0, 4, 6, 0, 0, 0},
	{"snap", snap, ETHER, 0, 4, 6, 0, 0, 0},
	{"llc", llc_ip, ETHER, 0, 4, 6, 0, 0, 0},
	{"fabricpath", fabricpath, ETHER, 0, 4, 6, 0, 0, 0},
	{"arp", arp, ETHER, INK_SKIP_NOT_IP, 0, 0, 0, 0, 0},
	{"raw", tcp4_raw, INK_LINK_RAW, 0, 4, 6, 0, 0, 0},
	{"raw, version 0", version0_raw, INK_LINK_RAW, INK_SKIP_BAD_VERSION, 0, 0, 0, 0, 0},
	{"raw ipv4", tcp4_raw, INK_LINK_IPV4, 0, 4, 6, 0, 0, 0},
	{"raw ipv6", tcp6, INK_LINK_IPV6, 0, 6, 6, 0, 0, 0},
	{"sll", cooked, INK_LINK_SLL, 0, 4, 6, 0, 0, 0},
	{"sll2", cooked2, INK_LINK_SLL2, 0, 6, 6, 0, 0, 0},
	{"null, little", null_little, INK_LINK_NULL, 0, 4, 6, 0, 0, 0},
	{"null, big", null_big, INK_LINK_NULL, 0, 6, 6, 0, 0, 0},
	{"loop", loop, INK_LINK_LOOP, 0, 6, 6, 0, 0, 0},
	{"ppp", ppp, INK_LINK_PPP, 0, 4, 6, 0, 0, 0},
	{"ppp, compressed", ppp_compressed, INK_LINK_PPP, 0, 6, 6, 0, 0, 0},
	{"ppp mpls", ppp_mpls, INK_LINK_PPP_HDLC, 0, 6, 6, 0, 0, 0},
	{"chdlc in ppp", chdlc, INK_LINK_PPP_HDLC, 0, 4, 6, 0, 0, 0},
	{"pppoe link", pppoe_link, INK_LINK_PPPOE, 0, 4, 6, 0, 0, 0},
	{"chdlc", chdlc, INK_LINK_CHDLC, 0, 4, 6, 0, 0, 0},
	{"mpls link", mpls_link, INK_LINK_MPLS, 0, 6, 6, 0, 0, 0},
	{"802.11", wireless, INK_LINK_80211, 0, 4, 6, 0, 0, 0},
	{"802.11, protected", protected_wireless, INK_LINK_80211, INK_SKIP_ENCRYPTED, 0, 0, 0, 0, 0},
	{"radiotap", radiotap, INK_LINK_RADIOTAP, 0, 4, 6, 0, 0, 0},
	{"nflog, little", nflog, INK_LINK_NFLOG, 0, 4, 6, 0, 0, 0},
	{"nflog, big", nflog_big, INK_LINK_NFLOG, 0, 6, 6, 0, 0, 0},
	{"another link", plain, (enum ink_link)147, INK_SKIP_LINK, 0, 0, 0, 0, 0},
	{"extensions", extensions, ETHER, 0, 6, 6, 0, 0, 0},
	{"first fragment, ipv6", first_fragment6, ETHER, 0, 6, 6, 0, 0, 1},
	{"later fragment, ipv6", later_fragment6, ETHER, INK_SKIP_FRAGMENT, 6, 60, 0, 0, 2},
	{"atomic fragment", atomic_fragment6, ETHER, 0, 6, 6, 0, 0, 0},
	{"no next header", no_next_header, ETHER, INK_SKIP_PROTOCOL, 6, 59, 0, 0, 0},
	{"endless extensions", endless_extensions, ETHER, INK_SKIP_TOO_DEEP, 6, 60, 0, 0, 0},
	{"4in4", in_4in4, ETHER, 0, 4, 6, 1, 0, 0},
	{"6in4", in_6in4, ETHER, 0, 6, 6, 1, 0, 0},
	{"4in6", in_4in6, ETHER, 0, 4, 6, 1, 0, 0},
	{"6in6", in_6in6, ETHER, 0, 6, 6, 1, 0, 0},
	{"gre", gre, ETHER, 0, 4, 6, 1, 0, 0},
	{"gre, all fields", gre_full, ETHER, 0, 6, 6, 1, 0, 0},
	{"pptp", pptp, ETHER, 0, 4, 6, 1, 0, 0},
	{"gre with arp", gre_arp, ETHER, INK_SKIP_PROTOCOL, 4, 47, 0, 0, 0},
	{"gre with routing", gre_routed, ETHER, INK_SKIP_PROTOCOL, 4, 47, 0, 0, 0},
	{"erspan 1", erspan1, ETHER, 0, 4, 6, 1, 0, 0},
	{"erspan 2", erspan2, ETHER, 0, 4, 6, 1, 0, 0},
	{"erspan 3", erspan3, ETHER, 0, 4, 6, 1, 0, 0},
	{"vxlan", vxlan, ETHER, 0, 4, 6, 1, 0, 0},
	{"vxlan with arp", vxlan_arp, ETHER, 0, 4, 17, 0, 0, 0},
	{"vxlan's port", not_vxlan, ETHER, 0, 4, 17, 0, 0, 0},
	{"geneve", geneve, ETHER, 0, 6, 6, 1, 0, 0},
	{"geneve, ip", geneve_ip, ETHER, 0, 4, 6, 1, 0, 0},
	{"teredo", teredo, ETHER, 0, 6, 6, 1, 0, 0},
	{"teredo, all headers", teredo_full, ETHER, 0, 6, 6, 1, 0, 0},
	{"teredo's port", not_teredo, ETHER, 0, 4, 17, 0, 0, 0},
	{"three deep", three_deep, ETHER, 0, 4, 6, 2, 0, 0},
	{"endless tunnels", endless_tunnels, ETHER, INK_SKIP_TOO_DEEP, 4, 4, 14, 0, 0},
	{"endless labels", endless_labels, ETHER, INK_SKIP_TOO_DEEP, 0, 0, 0, 0, 0},
	{"short ipv4 header", short_header4, ETHER, INK_SKIP_BAD_LENGTH, 0, 0, 0, 0, 0},
	{"length below the header", length_below_header, ETHER, INK_SKIP_BAD_LENGTH, 0, 0, 0, 0, 0},
	{"version 5", version5, ETHER, INK_SKIP_BAD_VERSION, 0, 0, 0, 0, 0},
	{"ipv4 said to be ipv6", version_differs6, ETHER, INK_SKIP_BAD_VERSION, 0, 0, 0, 0, 0},
	{"short tcp header", short_tcp, ETHER, INK_SKIP_BAD_LENGTH, 4, 6, 0, 0, 0},
	{"short udp length", short_udp, ETHER, INK_SKIP_BAD_LENGTH, 4, 17, 0, 0, 0},
	{"igmp", igmp, ETHER, INK_SKIP_PROTOCOL, 4, 2, 0, 0, 0},
};

enum { GOLDENS = sizeof goldens / sizeof goldens[0] };

/* ------------------------------------------------------------------------- parsing */

/* In a block of just that size. It is freed: what the packet points to must not be looked at. */
static struct ink_packet parse(const uint8_t *bytes, size_t n, size_t wire, const struct golden *g,
			       unsigned options)
{
	uint8_t *block = malloc(n);
	enum ink_skip said;
	struct ink_packet p = {.captured = (uint32_t)n, .wire = (uint32_t)wire};

	memset((uint8_t *)&p + 32, 0xee, sizeof p - 32); /* all of it has to be written */
	assert_true(block || !n);
	if (n)
		memcpy(block, bytes, n);
	p.frame = block;
	said = ink_packet_parse(&p, g->link, options);
	assert_int_equal(said, p.skip);
	if (p.payload)
		assert_true(p.payload >= p.frame && p.payload + p.payload_captured <= p.frame + n);
	assert_true(p.payload_captured <= p.payload_wire);
	assert_true(p.network <= n && p.transport <= n);
	free(block);
	return p;
}

static void build(const struct golden *g, struct frame *f)
{
	f->n = 0;
	g->build(f);
}

static void check_addresses(const struct golden *g, const struct ink_packet *p)
{
	size_t n = p->version == 4 ? 4 : 16;

	if (p->depth == 0 && (p->skip == INK_SKIP_PROTOCOL || p->dport > 3000))
		return; /* what carries a tunnel has other addresses */
	if (memcmp(p->source, p->version == 4 ? source4 : source6, n) ||
	    memcmp(p->destination, p->version == 4 ? destination4 : destination6, n))
		fail_msg("%s: the addresses", g->name);
}

static void check_whole(const struct golden *g, const struct ink_packet *p)
{
	const unsigned is[] = {p->skip, p->version, p->protocol, p->depth, p->vlan, p->fragment};
	const unsigned should_be[] = {g->skip, g->version, g->protocol, g->depth, g->vlan, g->fragment};
	static const char *const what[] = {"skip", "version", "protocol", "depth", "vlan", "fragment"};

	for (int i = 0; i < 6; i++)
		if (is[i] != should_be[i])
			fail_msg("%s: %s is %u and not %u", g->name, what[i], is[i], should_be[i]);
	for (size_t i = 0; i < sizeof p->reserved; i++)
		assert_int_equal(p->reserved[i], 0);
	if (p->skip == INK_NOT_SKIPPED)
		check_addresses(g, p);
}

static void every_encapsulation_is_taken_off(void **state)
{
	(void)state;
	for (int i = 0; i < GOLDENS; i++) {
		const struct golden *g = &goldens[i];
		struct ink_packet p;
		struct frame f;

		build(g, &f);
		p = parse(front(&f), f.n, f.n, g, 0);
		check_whole(g, &p);
		if (g->skip == INK_NOT_SKIPPED && p.protocol == INK_PROTOCOL_TCP && g->build != padded) {
			assert_int_equal(p.sport, SPORT);
			assert_int_equal(p.dport, DPORT);
			assert_int_equal(p.tcp_flags, INK_TCP_SYN | INK_TCP_ACK);
			assert_int_equal(p.tcp_seq, 0x01020304);
			assert_int_equal(p.tcp_ack, 0x05060708);
			assert_int_equal(p.ttl, 64);
			assert_int_equal(p.tos, 0x28);
			assert_int_equal(p.payload_wire, 5);
			assert_int_equal(p.payload_captured, 5);
		}
	}
}

static void padding_is_no_payload(void **state)
{
	struct frame f = {.n = 0};
	struct ink_packet p;

	(void)state;
	padded(&f);
	p = parse(front(&f), f.n, f.n, &goldens[0], 0);
	assert_int_equal(p.payload_wire, 0);
	assert_int_equal(p.payload_captured, 0);
}

static void fields_of_other_transports_are_read(void **state)
{
	struct frame f = {.n = 0};
	struct ink_packet p;

	(void)state;
	plain_udp(&f);
	p = parse(front(&f), f.n, f.n, &goldens[0], 0);
	assert_int_equal(p.sport, SPORT);
	assert_int_equal(p.dport, DPORT);
	assert_int_equal(p.payload_wire, 5);
	assert_int_equal(p.tcp_flags, 0);
	f.n = 0;
	plain_icmp(&f);
	p = parse(front(&f), f.n, f.n, &goldens[0], 0);
	assert_int_equal(p.icmp_type, 8);
	assert_int_equal(p.sport | p.dport, 0);
	f.n = 0;
	plain_sctp(&f);
	p = parse(front(&f), f.n, f.n, &goldens[0], 0);
	assert_int_equal(p.dport, DPORT);
}

static int same_key(const struct ink_packet *a, const struct ink_packet *b)
{
	uint8_t one[INK_KEY_MOST], two[INK_KEY_MOST];
	size_t n = ink_packet_key(a, INK_KEY_FLOW, one);

	return n && n == ink_packet_key(b, INK_KEY_FLOW, two) && !memcmp(one, two, n);
}

/* A prefix is truncated, or it is the packet, or, if a tunnel is cut, what carries it. */
static void check_prefix(const struct golden *g, const struct frame *f, size_t n)
{
	const uint8_t *bytes = f->bytes + MOST - f->n;
	struct ink_packet whole = parse(bytes, f->n, f->n, g, 0);
	struct ink_packet outer = parse(bytes, f->n, f->n, g, INK_OUTERMOST);
	struct ink_packet p = parse(bytes, n, f->n, g, 0);

	if (p.skip == INK_SKIP_TRUNCATED)
		return;
	if (p.skip == INK_NOT_SKIPPED && (same_key(&p, &whole) || same_key(&p, &outer)))
		return;
	if (g->build == three_deep && p.depth == 1)
		return; /* the one between them */
	if (g->build == short_udp && n < 40)
		return; /* it has ports, and not yet the length that is wrong */
	if (p.skip != g->skip || p.skip == INK_NOT_SKIPPED)
		fail_msg("%s: the first %zu of %zu bytes: %s", g->name, n, f->n,
			 ink_skip_name((enum ink_skip)p.skip));
}

static void every_prefix_is_truncated_or_right(void **state)
{
	(void)state;
	for (int i = 0; i < GOLDENS; i++) {
		struct frame f;

		build(&goldens[i], &f);
		for (size_t n = 0; n <= f.n; n++)
			check_prefix(&goldens[i], &f, n);
	}
}

/* Once the bytes suffice, more of them change nothing. */
static void a_longer_prefix_knows_no_less(void **state)
{
	(void)state;
	for (int i = 0; i < GOLDENS; i++) {
		const struct golden *g = &goldens[i];
		struct ink_packet whole, p;
		int known = 0;
		struct frame f;

		build(g, &f);
		whole = parse(front(&f), f.n, f.n, g, 0);
		for (size_t n = 0; n <= f.n && g->skip == INK_NOT_SKIPPED; n++) {
			p = parse(front(&f), n, f.n, g, 0);
			if (known && !same_key(&p, &whole))
				fail_msg("%s: known before, not with %zu bytes", g->name, n);
			known |= same_key(&p, &whole);
		}
		assert_int_equal(known, g->skip == INK_NOT_SKIPPED);
	}
}

static void outermost_looks_into_no_tunnel(void **state)
{
	(void)state;
	for (int i = 0; i < GOLDENS; i++) {
		const struct golden *g = &goldens[i];
		struct ink_packet p, inner;
		struct frame f;

		build(g, &f);
		p = parse(front(&f), f.n, f.n, g, INK_OUTERMOST);
		inner = parse(front(&f), f.n, f.n, g, 0);
		assert_int_equal(p.depth, 0);
		if (inner.depth == 0)
			continue;
		if (p.protocol == INK_PROTOCOL_UDP)
			assert_int_equal(p.skip, INK_NOT_SKIPPED);
		else
			assert_int_equal(p.skip, INK_SKIP_PROTOCOL);
	}
}

/* The plain way and the walk, of one and the same block: they agree in every byte of the packet. */
static void check_both_ways(const uint8_t *bytes, size_t n, const struct golden *g)
{
	uint8_t *block = malloc(n ? n : 1);
	struct ink_packet a = {.captured = (uint32_t)n, .wire = (uint32_t)n + random_below(3)}, b;

	assert_non_null(block);
	memcpy(block, bytes, n);
	a.frame = block;
	b = a;
	ink_parse(&a, g->link, 0);
	ink_parse_clear(&b);
	ink_parse_walk(&b, g->link, 0);
	if (memcmp(&a, &b, sizeof a))
		fail_msg("%s: the plain way differs from the walk", g->name);
	free(block);
}

static void the_plain_way_gives_what_the_walk_gives(void **state)
{
	uint64_t rounds = scaled(200000);

	(void)state;
	for (uint64_t i = 0; i < rounds; i++) {
		const struct golden *g = &goldens[random_below(4) ? 0 : random_below(GOLDENS)];
		struct frame f;

		build(g, &f);
		for (uint32_t changes = random_below(3); changes; changes--)
			front(&f)[random_below(f.n < 60 ? f.n : 60)] = (uint8_t)random_word();
		check_both_ways(front(&f), random_below(4) ? f.n : random_below(f.n + 1), g);
	}
}

/* Damaged in a few places and cut: nothing is read outside, whatever comes out. */
static void damaged_frames_are_survived(void **state)
{
	uint64_t rounds = scaled(200000);

	(void)state;
	for (uint64_t i = 0; i < rounds; i++) {
		const struct golden *g = &goldens[random_below(GOLDENS)];
		struct ink_packet p;
		struct frame f;

		build(g, &f);
		for (uint32_t changes = 1 + random_below(4); changes; changes--)
			front(&f)[random_below(f.n)] ^= (uint8_t)(1u << random_below(8));
		p = parse(front(&f), random_below(f.n + 1), f.n, g, random_below(2));
		assert_true(p.skip < INK_SKIPS);
	}
}

static void every_reason_has_a_name(void **state)
{
	(void)state;
	for (int i = 0; i < INK_SKIPS; i++)
		assert_non_null(ink_skip_name((enum ink_skip)i));
	assert_null(ink_skip_name(INK_SKIPS));
	assert_string_equal(ink_skip_name(INK_SKIP_FRAGMENT), "later fragment");
}

/* ----------------------------------------------------------------------------- keys */

static struct ink_packet packet_of(void (*builder)(struct frame *))
{
	const struct golden g = {.link = INK_LINK_ETHERNET};
	struct frame f = {.n = 0};

	builder(&f);
	return parse(front(&f), f.n, f.n, &g, 0);
}

/* The answer to a packet. */
static struct ink_packet turned(const struct ink_packet *p)
{
	struct ink_packet t = *p;

	memcpy(t.source, p->destination, 16);
	memcpy(t.destination, p->source, 16);
	t.sport = p->dport;
	t.dport = p->sport;
	t.flags = (uint8_t)ink_from_high(&t);
	return t;
}

static int keys_agree(const struct ink_packet *a, const struct ink_packet *b, enum ink_key kind)
{
	uint8_t one[INK_KEY_MOST], two[INK_KEY_MOST];
	size_t n = ink_packet_key(a, kind, one);

	assert_true(n == INK_KEY_IPV4 || n == INK_KEY_IPV6);
	return n == ink_packet_key(b, kind, two) && !memcmp(one, two, n);
}

static void the_bytes_of_keys_are_as_drawn(void **state)
{
	static const uint8_t expected[][16] = {
		[INK_KEY_CONNECTION] = {10, 1, 2, 3, 10, 4, 5, 6, 4, 0xd2, 0, 80, 6, 1, 4, 0},
		[INK_KEY_FLOW] = {10, 4, 5, 6, 10, 1, 2, 3, 0, 80, 4, 0xd2, 6, 2, 4, 0},
		[INK_KEY_PAIR] = {10, 1, 2, 3, 10, 4, 5, 6, 0, 0, 0, 0, 0, 3, 4, 0},
		[INK_KEY_SOURCE] = {10, 4, 5, 6, 0, 0, 0, 0, 0, 0, 0, 0, 0, 4, 4, 0},
		[INK_KEY_DESTINATION] = {10, 1, 2, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 5, 4, 0},
		[INK_KEY_ENDPOINT] = {10, 1, 2, 3, 0, 0, 0, 0, 4, 0xd2, 0, 0, 6, 6, 4, 0},
	};
	struct ink_packet p = packet_of(plain), answer = turned(&p);
	uint8_t key[INK_KEY_MOST];

	(void)state;
	for (int kind = INK_KEY_CONNECTION; kind <= INK_KEY_ENDPOINT; kind++) {
		assert_int_equal(ink_packet_key(&answer, (enum ink_key)kind, key), 16);
		assert_memory_equal(key, expected[kind], 16);
	}
	p = packet_of(plain6);
	answer = turned(&p);
	assert_int_equal(ink_packet_key(&answer, INK_KEY_CONNECTION, key), 40);
	assert_memory_equal(key, source6, 16);
	assert_memory_equal(key + 16, destination6, 16);
	assert_memory_equal(key + 32, "\x04\xd2\0\x50\x06\1\6\0", 8);
	assert_int_equal(ink_packet_key(&answer, INK_KEY_ENDPOINT, key), 40);
	assert_memory_equal(key, source6, 16);
	assert_memory_equal(key + 16, "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x04\xd2\0\0\x06\6\6\0", 24);
}

static void both_directions_are_one_connection_and_two_flows(void **state)
{
	void (*const builders[])(struct frame *) = {plain, plain6, plain_udp, plain_icmp};

	(void)state;
	for (int i = 0; i < 4; i++) {
		struct ink_packet p = packet_of(builders[i]), answer = turned(&p);

		assert_true(keys_agree(&p, &answer, INK_KEY_CONNECTION));
		assert_true(keys_agree(&p, &answer, INK_KEY_PAIR));
		assert_false(keys_agree(&p, &answer, INK_KEY_FLOW));
		assert_false(keys_agree(&p, &answer, INK_KEY_SOURCE));
		assert_false(keys_agree(&p, &answer, INK_KEY_DESTINATION));
		assert_false(keys_agree(&p, &answer, INK_KEY_ENDPOINT));
		assert_int_equal(p.flags & INK_FROM_HIGH, 0);
		assert_int_equal(answer.flags & INK_FROM_HIGH, INK_FROM_HIGH);
	}
}

static void protocols_share_hosts_and_no_connections(void **state)
{
	struct ink_packet tcp_packet = packet_of(plain), udp_packet = packet_of(plain_udp);

	(void)state;
	assert_false(keys_agree(&tcp_packet, &udp_packet, INK_KEY_CONNECTION));
	assert_false(keys_agree(&tcp_packet, &udp_packet, INK_KEY_FLOW));
	assert_false(keys_agree(&tcp_packet, &udp_packet, INK_KEY_ENDPOINT));
	assert_true(keys_agree(&tcp_packet, &udp_packet, INK_KEY_PAIR));
	assert_true(keys_agree(&tcp_packet, &udp_packet, INK_KEY_SOURCE));
	assert_true(keys_agree(&tcp_packet, &udp_packet, INK_KEY_DESTINATION));
}

static void on_one_host_ports_tell_the_ends_apart(void **state)
{
	struct ink_packet p = packet_of(plain), answer;

	(void)state;
	memcpy(p.destination, p.source, 16);
	p.flags = (uint8_t)ink_from_high(&p);
	answer = turned(&p);
	assert_int_equal(p.flags, INK_FROM_HIGH); /* 1234 > 80 */
	assert_int_equal(answer.flags, 0);
	assert_true(keys_agree(&p, &answer, INK_KEY_CONNECTION));
	assert_true(keys_agree(&p, &answer, INK_KEY_PAIR));
}

static void ports_of_sctp_are_not_in_keys(void **state)
{
	struct ink_packet p = packet_of(plain_sctp), other = p;

	(void)state;
	other.sport++;
	assert_true(keys_agree(&p, &other, INK_KEY_CONNECTION));
	assert_true(keys_agree(&p, &other, INK_KEY_ENDPOINT));
}

static void without_ports_there_are_keys_of_hosts_only(void **state)
{
	struct ink_packet later = packet_of(later_fragment), first = packet_of(first_fragment);
	uint8_t key[INK_KEY_MOST];

	(void)state;
	assert_int_equal(ink_packet_key(&later, INK_KEY_CONNECTION, key), 0);
	assert_int_equal(ink_packet_key(&later, INK_KEY_FLOW, key), 0);
	assert_int_equal(ink_packet_key(&later, INK_KEY_ENDPOINT, key), 0);
	assert_true(keys_agree(&later, &first, INK_KEY_PAIR));
	assert_true(keys_agree(&later, &first, INK_KEY_SOURCE));
	assert_true(keys_agree(&later, &first, INK_KEY_DESTINATION));
	first = packet_of(arp);
	for (int kind = INK_KEY_CONNECTION; kind <= INK_KEY_ENDPOINT; kind++)
		assert_int_equal(ink_packet_key(&first, (enum ink_key)kind, key), 0);
}

static void ids_of_many_are_the_ids_of_each(void **state)
{
	struct ink_options o = {.size = sizeof o, .states = 2, .flows = 10, .seed = 7};
	struct ink_table *table = ink_create(&o, NULL);
	void (*const builders[])(struct frame *) = {plain, plain6, arp, plain_udp, later_fragment};
	static struct ink_packet packets[333];
	uint64_t ids[333];
	uint8_t key[INK_KEY_MOST];

	(void)state;
	assert_non_null(table);
	for (int i = 0; i < 333; i++) {
		packets[i] = packet_of(builders[random_below(5)]);
		packets[i].sport = (uint16_t)i;
	}
	for (int kind = INK_KEY_CONNECTION; kind <= INK_KEY_ENDPOINT; kind++) {
		ink_packet_ids(table, (enum ink_key)kind, &(struct ink_packets){.at = packets, .n = 333},
			       ids);
		for (int i = 0; i < 333; i++) {
			size_t n = ink_packet_key(&packets[i], (enum ink_key)kind, key);

			assert_true(ids[i] == (n ? ink_id(table, key, n) : 0));
		}
	}
	ink_free(table);
}

/* --------------------------------------------------------------------- Community ID */

/* The vectors of the reference implementation, with seeds 0 and 1. */
static const struct vector {
	unsigned protocol;
	const char *source, *destination;
	unsigned sport, dport; /* ICMP: type and code */
	const char *id[2];
} vectors[] = {
	{6,
	 "128.232.110.120",
	 "66.35.250.204",
	 34855,
	 80,
	 {"1:LQU9qZlK+B5F3KDmev6m5PMibrg=", "1:3V71V58M3Ksw/yuFALMcW0LAHvc="}},
	{6,
	 "66.35.250.204",
	 "128.232.110.120",
	 80,
	 34855,
	 {"1:LQU9qZlK+B5F3KDmev6m5PMibrg=", "1:3V71V58M3Ksw/yuFALMcW0LAHvc="}},
	{17,
	 "192.168.1.52",
	 "8.8.8.8",
	 54585,
	 53,
	 {"1:d/FP5EW3wiY1vCndhwleRRKHowQ=", "1:Q9We8WO3piVF8yEQBNJF4uiSVrI="}},
	{17,
	 "8.8.8.8",
	 "192.168.1.52",
	 53,
	 54585,
	 {"1:d/FP5EW3wiY1vCndhwleRRKHowQ=", "1:Q9We8WO3piVF8yEQBNJF4uiSVrI="}},
	{132,
	 "192.168.170.8",
	 "192.168.170.56",
	 7,
	 80,
	 {"1:jQgCxbku+pNGw8WPbEc/TS/uTpQ=", "1:Y1/0jQg6e+I3ZwZZ9LP65DNbTXU="}},
	{132,
	 "192.168.170.56",
	 "192.168.170.8",
	 80,
	 7,
	 {"1:jQgCxbku+pNGw8WPbEc/TS/uTpQ=", "1:Y1/0jQg6e+I3ZwZZ9LP65DNbTXU="}},
	{1,
	 "192.168.0.89",
	 "192.168.0.1",
	 8,
	 0,
	 {"1:X0snYXpgwiv9TZtqg64sgzUn6Dk=", "1:03g6IloqVBdcZlPyX8r0hgoE7kA="}},
	{1,
	 "192.168.0.1",
	 "192.168.0.89",
	 0,
	 8,
	 {"1:X0snYXpgwiv9TZtqg64sgzUn6Dk=", "1:03g6IloqVBdcZlPyX8r0hgoE7kA="}},
	{1,
	 "192.168.0.1",
	 "192.168.0.89",
	 0,
	 20,
	 {"1:X0snYXpgwiv9TZtqg64sgzUn6Dk=", "1:03g6IloqVBdcZlPyX8r0hgoE7kA="}},
	{1,
	 "192.168.0.89",
	 "192.168.0.1",
	 20,
	 0,
	 {"1:3o2RFccXzUgjl7zDpqmY7yJi8rI=", "1:lCXHHxavE1Vq3oX9NH5ladQg02o="}},
	{1,
	 "192.168.0.89",
	 "192.168.0.1",
	 20,
	 1,
	 {"1:tz/fHIDUHs19NkixVVoOZywde+I=", "1:Ie3wmFyxiEyikbsbcO03d2nh+PM="}},
	{58,
	 "fe80::200:86ff:fe05:80da",
	 "fe80::260:97ff:fe07:69ea",
	 135,
	 0,
	 {"1:dGHyGvjMfljg6Bppwm3bg0LO8TY=", "1:kHa1FhMYIT6Ym2Vm2AOtoOARDzY="}},
	{58,
	 "fe80::260:97ff:fe07:69ea",
	 "fe80::200:86ff:fe05:80da",
	 136,
	 0,
	 {"1:dGHyGvjMfljg6Bppwm3bg0LO8TY=", "1:kHa1FhMYIT6Ym2Vm2AOtoOARDzY="}},
	{58,
	 "3ffe:507:0:1:260:97ff:fe07:69ea",
	 "3ffe:507:0:1:200:86ff:fe05:80da",
	 3,
	 0,
	 {"1:NdobDX8PQNJbAyfkWxhtL2Pqp5w=", "1:OlOWx9psIbBFi7lOCw/4MhlKR9M="}},
	{58,
	 "3ffe:507:0:1:200:86ff:fe05:80da",
	 "3ffe:507:0:1:260:97ff:fe07:69ea",
	 3,
	 0,
	 {"1:/OGBt9BN1ofenrmSPWYicpij2Vc=", "1:Ij4ZxnC87/MXzhOjvH2vHu7LRmE="}},
};

static struct ink_packet packet_of_vector(const struct vector *v)
{
	struct ink_packet p = {.protocol = (uint8_t)v->protocol, .version = strchr(v->source, ':') ? 6 : 4};
	int family = p.version == 4 ? AF_INET : AF_INET6;

	assert_int_equal(inet_pton(family, v->source, p.source), 1);
	assert_int_equal(inet_pton(family, v->destination, p.destination), 1);
	if (v->protocol == 1 || v->protocol == 58) {
		p.icmp_type = (uint8_t)v->sport;
		p.icmp_code = (uint8_t)v->dport;
	} else {
		p.sport = (uint16_t)v->sport;
		p.dport = (uint16_t)v->dport;
	}
	p.flags = (uint8_t)ink_from_high(&p);
	return p;
}

static void community_ids_are_the_published_ones(void **state)
{
	char text[INK_COMMUNITY_ID_SIZE];

	(void)state;
	for (size_t i = 0; i < sizeof vectors / sizeof vectors[0]; i++)
		for (uint16_t seed = 0; seed < 2; seed++) {
			struct ink_packet p = packet_of_vector(&vectors[i]);

			assert_int_equal(ink_packet_community_id(&p, seed, text), 0);
			assert_string_equal(text, vectors[i].id[seed]);
		}
}

static void a_packet_without_a_flow_has_no_community_id(void **state)
{
	struct ink_packet p = packet_of(arp);
	char text[INK_COMMUNITY_ID_SIZE];

	(void)state;
	assert_int_equal(ink_packet_community_id(&p, 0, text), -EINVAL);
}

static void addresses_are_written_as_usual(void **state)
{
	char text[INK_ADDRESS_SIZE];

	(void)state;
	ink_address_text((const uint8_t[16]){10, 0, 0, 255}, 4, text);
	assert_string_equal(text, "10.0.0.255");
	ink_address_text(destination6, 6, text);
	assert_string_equal(text, "2001:db8::2");
}

/* ------------------------------------------------------------------------ the clock */

static void the_clock_never_goes_back(void **state)
{
	const uint64_t s = 1000000000, times[] = {100, 105, 103, 106, 20, 21, 25, 24, 26};
	const uint64_t clocks[] = {100, 105, 105, 106, 106, 107, 111, 111, 112};
	struct ink_clock c = {0};

	(void)state;
	for (int i = 0; i < 9; i++)
		assert_true(ink_clock_set(&c, times[i] * s) == clocks[i] * s);
	assert_int_equal(c.backwards, 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_encapsulation_is_taken_off),
		cmocka_unit_test(padding_is_no_payload),
		cmocka_unit_test(fields_of_other_transports_are_read),
		cmocka_unit_test(every_prefix_is_truncated_or_right),
		cmocka_unit_test(a_longer_prefix_knows_no_less),
		cmocka_unit_test(outermost_looks_into_no_tunnel),
		cmocka_unit_test(the_plain_way_gives_what_the_walk_gives),
		cmocka_unit_test(damaged_frames_are_survived),
		cmocka_unit_test(every_reason_has_a_name),
		cmocka_unit_test(the_bytes_of_keys_are_as_drawn),
		cmocka_unit_test(both_directions_are_one_connection_and_two_flows),
		cmocka_unit_test(protocols_share_hosts_and_no_connections),
		cmocka_unit_test(on_one_host_ports_tell_the_ends_apart),
		cmocka_unit_test(ports_of_sctp_are_not_in_keys),
		cmocka_unit_test(without_ports_there_are_keys_of_hosts_only),
		cmocka_unit_test(ids_of_many_are_the_ids_of_each),
		cmocka_unit_test(community_ids_are_the_published_ones),
		cmocka_unit_test(a_packet_without_a_flow_has_no_community_id),
		cmocka_unit_test(addresses_are_written_as_usual),
		cmocka_unit_test(the_clock_never_goes_back),
	};

	return cmocka_run_group_tests_name("packet", tests, NULL, NULL);
}
