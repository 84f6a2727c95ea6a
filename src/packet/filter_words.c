/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Would libpcap look something up to compile this filter?
 *
 * libpcap takes any word that it does not know for a name, and asks the system for its meaning: a host's or a
 * network's name from DNS, which may take 40 s, a port's or a protocol's from whatever nsswitch.conf(5) names. The
 * filters of a machine may come from elsewhere, must compile quickly, and should mean the same on every host.
 * So their words are the language's own, numbers and addresses.
 *
 * The scan follows libpcap's scanner. Both split the text at the same places:
 *
 *     tcp[tcpflags:1] & tcp-syn != 0 or host fe80::1 or portrange 6000-6008
 *     ^^^ ^^^^^^^^ ^    ^^^^^^^    ^ ^^ ^^^^ ^^^^^^^ ^^ ^^^^^^^^^ ^^^^^^^^^
 *
 * A word is the longest run of letters, digits and "-_.", and does not end with '-' or '_'. Only addresses contain
 * colons, and they contain at least two. So a run of all these characters with two or more colons is one address or
 * an error, and one with a single colon, as in "[0:2]", is two words.
 *
 * A few words are followed by a name that libpcap itself knows, such as "type mgt". A range of ports has the form of
 * a name ("6000-6008"), and libpcap takes it for the name of a host where "portrange" does not hold any more.
 */
#include "packet/filter.h"

#include <arpa/inet.h>
#include <errno.h>
#include <string.h>

#include "base/error.h"

#define DIGITS "0123456789"
#define HEX DIGITS "ABCDEFabcdef"
#define ALPHANUMERIC DIGITS "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
#define WORD ALPHANUMERIC "-_."

enum { ADDRESS_MAX = 45 }; /* characters of the longest, an IPv6 address that ends with an IPv4 address */

/* A word of the text. */
struct word {
	const char *at;
	size_t length;
};

/* Of a list of words with spaces between them. */
static int is_one_of(struct word w, const char *list)
{
	for (const char *at = list; *at; at += strspn(at, " ")) {
		size_t length = strcspn(at, " ");

		if (length == w.length && !memcmp(at, w.at, length))
			return 1;
		at += length;
	}
	return 0;
}

/* ------------------------------------------------------------ the language's own words */

/* Those of libpcap 1.10. A word that a later libpcap adds counts as a name. */
static const char words[] =
	"and or not src dst host net mask port portrange proto protochain gateway "
	"less greater byte len length broadcast multicast inbound outbound ifindex "
	"link ether ppp slip fddi tr wlan arp rarp ip ip6 tcp udp sctp icmp icmp6 igmp igrp pim vrrp carp ah esp "
	"vlan mpls pppoed pppoes geneve llc radio stp ipx netbeui atalk aarp decnet lat sca moprc mopdl "
	"iso esis es-is isis is-is l1 l2 iih lsp snp csnp psnp clnp "
	"type subtype dir direction addr1 address1 addr2 address2 addr3 address3 addr4 address4 ra ta "
	"lane metac bcc oam oamf4 oamf4ec oamf4sc sc ilmic vpi vci connectmsg metaconnect "
	"on ifname rset ruleset rnr rulenum srnr subrulenum reason action "
	"fisu lssu lsu msu hfisu hlssu hmsu sio opc dpc sls hsio hopc hdpc hsls "
	"tcpflags tcp-fin tcp-syn tcp-rst tcp-push tcp-ack tcp-urg tcp-ece tcp-cwr "
	"icmptype icmpcode icmp-echoreply icmp-unreach icmp-sourcequench icmp-redirect icmp-echo icmp-routeradvert "
	"icmp-routersolicit icmp-timxceed icmp-paramprob icmp-tstamp icmp-tstampreply icmp-ireq icmp-ireqreply "
	"icmp-maskreq icmp-maskreply "
	"icmp6type icmp6code icmp6-destinationunreach icmp6-packettoobig icmp6-timeexceeded icmp6-parameterproblem "
	"icmp6-echo icmp6-echoreply icmp6-multicastlistenerquery icmp6-multicastlistenerreportv1 "
	"icmp6-multicastlistenerreportv2 icmp6-multicastlistenerdone icmp6-routersolicit icmp6-routeradvert "
	"icmp6-neighborsolicit icmp6-neighboradvert icmp6-redirect icmp6-routerrenum icmp6-nodeinformationquery "
	"icmp6-nodeinformationresponse icmp6-ineighbordiscoverysolicit icmp6-ineighbordiscoveryadvert "
	"icmp6-homeagentdiscoveryrequest icmp6-homeagentdiscoveryreply icmp6-mobileprefixsolicit "
	"icmp6-mobileprefixadvert icmp6-certpathsolicit icmp6-certpathadvert icmp6-multicastrouteradvert "
	"icmp6-multicastroutersolicit icmp6-multicastrouterterm";

/* libpcap compares what follows these with names of its own. */
static const char before_names[] = "type subtype dir direction on ifname rset ruleset reason action llc";

/* These leave "portrange" in force. */
static const char joining[] = "and or not";

/* -------------------------------------------------------------- numbers and addresses */

/* The length of a decimal or hexadecimal number here, or 0. */
static size_t number(const char *at)
{
	size_t hex = at[0] == '0' && (at[1] == 'x' || at[1] == 'X') ? strspn(at + 2, HEX) : 0;

	return hex ? 2 + hex : strspn(at, DIGITS);
}

/* 80, 0x50, 10.1, 10.0.0.1: one to four numbers. */
static int is_number_or_ipv4(struct word w)
{
	const char *at = w.at, *end = w.at + w.length;

	for (unsigned i = 0; i < 4; i++) {
		size_t n = number(at);

		if (!n || at + n == end)
			return n > 0;
		if (at[n] != '.')
			return 0;
		at += n + 1;
	}
	return 0;
}

static int is_ipv6(struct word w)
{
	char text[ADDRESS_MAX + 1];
	struct in6_addr address;

	if (w.length > ADDRESS_MAX)
		return 0;
	memcpy(text, w.at, w.length);
	text[w.length] = 0;
	return inet_pton(AF_INET6, text, &address) == 1;
}

/* The forms of a MAC address: how many groups of how many digits, and what is between them. */
static const struct form {
	unsigned groups, shortest, longest;
	char between;
} forms[] = {{6, 1, 2, ':'}, {6, 1, 2, '-'}, {6, 1, 2, '.'}, {3, 4, 4, '.'}, {1, 12, 12, 0}};

static int has_form(struct word w, const struct form *f)
{
	const char *at = w.at, *end = w.at + w.length;

	for (unsigned i = 0; i < f->groups; i++) {
		size_t n = strspn(at, HEX);

		if (n < f->shortest || n > f->longest)
			return 0;
		at += n;
		if (i + 1 < f->groups && *at++ != f->between)
			return 0;
	}
	return at == end;
}

static int is_mac(struct word w)
{
	for (unsigned i = 0; i < sizeof forms / sizeof forms[0]; i++)
		if (has_form(w, &forms[i]))
			return 1;
	return 0;
}

/* 6000-6008 */
static int is_range(struct word w)
{
	size_t low = strspn(w.at, DIGITS);

	return low && w.at[low] == '-' && low + 1 + strspn(w.at + low + 1, DIGITS) == w.length;
}

/* ----------------------------------------------------------------------------- the scan */

struct scan {
	const char *text, *at;
	struct word before; /* the latest word, if nothing but white space followed it */
	int portrange;      /* in force */
	struct ink_why *why;
};

static const struct word none = {"", 0};

static int refuse(const struct scan *s, struct word w)
{
	enum { SHOWN = 64 };

	return ink_fail(s->why, -EINVAL,
			"filter: '%.*s' (character %zu) is no word of the filter language, and a machine "
			"looks up no names; write an address or a number",
			(int)(w.length < SHOWN ? w.length : SHOWN), w.at, (size_t)(w.at - s->text) + 1);
}

static int scan_word(struct scan *s)
{
	struct word w = {s->at, strspn(s->at, WORD)};

	while (strchr("-_", w.at[w.length - 1]))
		w.length--;
	if (is_one_of(w, words))
		s->portrange = is_one_of(w, "portrange") || (s->portrange && is_one_of(w, joining));
	else if (!is_number_or_ipv4(w) && !is_mac(w) && !(s->portrange && is_range(w)) &&
		 !is_one_of(s->before, before_names))
		return refuse(s, w);
	s->before = w;
	s->at += w.length;
	return 0;
}

static int scan_address(struct scan *s)
{
	struct word w = {s->at, strspn(s->at, WORD ":")};

	s->before = w;
	s->at += w.length;
	return is_ipv6(w) || is_mac(w) ? 0 : refuse(s, w);
}

/* A name that is spelled like a word of the language, such as "\tcp". */
static int scan_escaped(struct scan *s)
{
	return refuse(s, (struct word){s->at, strcspn(s->at, " !()\n\t")});
}

/* White space, or a sign. A closing parenthesis ends what was in force within. */
static int scan_sign(struct scan *s)
{
	char sign = *s->at++;

	if (strchr(" \t\r\n", sign))
		return 0;
	s->before = none;
	s->portrange &= strchr("(!&|", sign) != NULL;
	return 0;
}

/* Are there two colons in the run that begins here? */
static int is_at_address(const char *at)
{
	const char *first = at + strspn(at, WORD);

	return *first == ':' && first[1 + strspn(first + 1, WORD)] == ':';
}

int ink_filter_check_words(const char *text, struct ink_why *why)
{
	struct scan s = {.text = text, .at = text, .before = none, .why = why};
	int error = 0;

	while (*s.at && !error) {
		int alphanumeric = strspn(s.at, ALPHANUMERIC) > 0;

		error = *s.at == '\\'                                           ? scan_escaped(&s)
			: (alphanumeric || *s.at == ':') && is_at_address(s.at) ? scan_address(&s)
			: alphanumeric                                          ? scan_word(&s)
										: scan_sign(&s);
	}
	return error;
}
