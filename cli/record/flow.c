/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which flow a report is about.
 *
 * A table keeps no keys, but the packet that makes a report has one. Parts are written in a fixed order, so equal
 * flows have equal objects:
 *
 *     keys of one direction    src, src_port, dst, dst_port, proto      those that the key has
 *     connection, pair         low, low_port, high, high_port, proto    the ends in order of address, then port
 *
 * The number of a flow is FNV-1a of the machine's name and the key's bytes. It has no secret: it is for comparing runs, not
 * for tables.
 */
#include <inttypes.h>
#include <string.h>

#include "cli/record/record.h"

#define FNV_START 0xcbf29ce484222325u
#define FNV_PRIME 0x100000001b3u
enum { NUMBER_BITS = 53 }; /* integers up to here are exact in JSON readers that use doubles */

/* ------------------------------------------------------------------------- the packet */

int has_ports(const struct ink_packet *p)
{
	return p->skip == INK_NOT_SKIPPED &&
	       (p->protocol == INK_PROTOCOL_TCP || p->protocol == INK_PROTOCOL_UDP ||
		p->protocol == INK_PROTOCOL_SCTP);
}

int is_icmp(const struct ink_packet *p)
{
	return p->skip == INK_NOT_SKIPPED &&
	       (p->protocol == INK_PROTOCOL_ICMP || p->protocol == INK_PROTOCOL_ICMPV6);
}

/* Names as Suricata writes them; of others, the number. */
const char *protocol_name(unsigned protocol, char text[4])
{
	static const char *const names[256] = {[INK_PROTOCOL_ICMP] = "ICMP",
					       [INK_PROTOCOL_TCP] = "TCP",
					       [INK_PROTOCOL_UDP] = "UDP",
					       [INK_PROTOCOL_ICMPV6] = "IPv6-ICMP",
					       [INK_PROTOCOL_SCTP] = "SCTP"};

	if (protocol < 256 && names[protocol])
		return names[protocol];
	snprintf(text, 4, "%03u", protocol % 1000);
	return text;
}

struct ink_packet flow_packet(const struct ink_moved *m)
{
	struct ink_packet p = *m->packet;

	if (!m->reversed)
		return p;
	memcpy(p.source, m->packet->destination, sizeof p.source);
	memcpy(p.destination, m->packet->source, sizeof p.destination);
	p.sport = m->packet->dport;
	p.dport = m->packet->sport;
	p.flags ^= INK_FROM_HIGH;
	return p;
}

/* ---------------------------------------------------------------------------- its key */

static int joins_directions(const struct ink_machine_view *view)
{
	return view->key == INK_KEY_CONNECTION || view->key == INK_KEY_PAIR;
}

const char *flow_key_from(const struct ink_machine_view *view, const struct ink_moved *m)
{
	return joins_directions(view) ? "both" : m->reversed ? "reverse" : "packet";
}

static void mask(uint8_t address[16], unsigned bits)
{
	for (unsigned i = 0; i<16; i++, bits = bits> 8 ? bits - 8 : 0)
		address[i] &= bits >= 8 ? 0xff : (uint8_t)(0xff00u >> bits);
}

/* A prefix shows its length, a whole address does not. */
static void put_address(struct key_part *to, const char *name, const struct ink_packet *p,
			const uint8_t *from, const uint8_t bits[2])
{
	unsigned whole = p->version == 4 ? 32 : 128, used = bits[p->version != 4];
	uint8_t address[16];
	size_t length;

	memcpy(address, from, sizeof address);
	mask(address, used < whole ? used : whole);
	*to = (struct key_part){.name = name};
	ink_address_text(address, p->version, to->value);
	length = strlen(to->value);
	if (used < whole)
		snprintf(to->value + length, sizeof to->value - length, "/%u", used % 1000);
}

/* Keys have ports of TCP and UDP only. */
static void put_port(struct key_part *to, const char *name, const struct ink_packet *p, unsigned port)
{
	int counts = p->protocol == INK_PROTOCOL_TCP || p->protocol == INK_PROTOCOL_UDP;

	*to = (struct key_part){.name = name, .is_number = 1};
	snprintf(to->value, sizeof to->value, "%u", counts ? port : 0);
}

static void put_protocol(struct key_part *to, const struct ink_packet *p)
{
	char number[4];

	*to = (struct key_part){.name = "proto"};
	snprintf(to->value, sizeof to->value, "%s", protocol_name(p->protocol, number));
}

unsigned flow_key(const struct ink_machine_view *view, const struct ink_moved *m,
		  struct key_part part[KEY_PARTS_MOST])
{
	static const char *const names[2][4] = {{"src", "src_port", "dst", "dst_port"},
						{"low", "low_port", "high", "high_port"}};
	const struct ink_key_def *def = view->key_def;
	const char *const *name = names[joins_directions(view)];
	struct ink_packet p = flow_packet(m);
	int turned = joins_directions(view) && (p.flags & INK_FROM_HIGH);
	unsigned ports = def->parts & (INK_PART_SRC_PORT | INK_PART_DST_PORT), n = 0;

	if (def->parts & INK_PART_SRC)
		put_address(&part[n++], name[0], &p, turned ? p.destination : p.source, def->src_bits);
	if (def->parts & INK_PART_SRC_PORT)
		put_port(&part[n++], name[1], &p, turned ? p.dport : p.sport);
	if (def->parts & INK_PART_DST)
		put_address(&part[n++], name[2], &p, turned ? p.source : p.destination, def->dst_bits);
	if (def->parts & INK_PART_DST_PORT)
		put_port(&part[n++], name[3], &p, turned ? p.sport : p.dport);
	if (ports || (def->parts & INK_PART_PROTOCOL))
		put_protocol(&part[n++], &p);
	return n;
}

static uint64_t fnv(uint64_t hash, const void *bytes, size_t n)
{
	for (size_t i = 0; i < n; i++)
		hash = (hash ^ ((const uint8_t *)bytes)[i]) * FNV_PRIME;
	return hash;
}

/* The name's final 0 separates it from the key. */
uint64_t flow_number(const struct ink_machine_view *view, const struct ink_moved *m)
{
	struct ink_packet p = flow_packet(m);
	uint8_t key[INK_KEY_MOST];
	size_t n = ink_packet_key_by(&p, view->key_def, key);
	uint64_t hash = fnv(fnv(FNV_START, view->name, strlen(view->name) + 1), key, n);

	return (hash >> NUMBER_BITS ^ hash) & ((1ull << NUMBER_BITS) - 1);
}
