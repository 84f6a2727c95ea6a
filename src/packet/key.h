/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * [F] The bytes of a key.
 *
 *     IPv4   0        4        8     10    12        13    14       15     16
 *            |address |address |port |port |protocol |kind |4       |0     |
 *     IPv6   0        16       32    34    36        37    38       39     40
 *
 *     connection    low      high      low    high   protocol    ends in order of address, then port
 *     flow          source   dest.     source dest.  protocol
 *     pair          low      high      0      0      0
 *     source        source   0         0      0      0
 *     destination   dest.    0         0      0      0
 *     endpoint      dest.    0         dest.  0      protocol
 *
 * Every byte is written, and all keys of a version have one length, so many of
 * them are hashed at once. A key of IPv4 is never one of IPv6: the lengths
 * differ. Keys of two kinds never agree: the kind is in them. Ports are in
 * network order, and 0 for what is not TCP or UDP.
 */
#ifndef INKLING_PACKET_KEY_H
#define INKLING_PACKET_KEY_H

#include "packet/walk.h"

/* What a kind takes; masks are all ones or 0. */
struct ink_key_rule {
	uint8_t turned[2]; /* the destination first? If the source is the low end; if the high one */
	uint8_t second;    /* mask of the second address */
	uint8_t port[2];   /* masks of the ports */
	uint8_t protocol;  /* mask of the protocol */
};

static const struct ink_key_rule ink_key_rules[INK_KEY_ENDPOINT + 1] = {
	[INK_KEY_CONNECTION] = {{0, 1}, 0xff, {0xff, 0xff}, 0xff},
	[INK_KEY_FLOW] = {{0, 0}, 0xff, {0xff, 0xff}, 0xff},
	[INK_KEY_PAIR] = {{0, 1}, 0xff, {0, 0}, 0},
	[INK_KEY_SOURCE] = {{0, 0}, 0, {0, 0}, 0},
	[INK_KEY_DESTINATION] = {{1, 1}, 0, {0, 0}, 0},
	[INK_KEY_ENDPOINT] = {{1, 1}, 0, {0xff, 0}, 0xff},
};

static inline uint32_t ink_key_length(const struct ink_packet *p)
{
	return p->version == 4 ? INK_KEY_IPV4 : INK_KEY_IPV6;
}

/* Does the packet have a key of that kind? */
static inline int ink_has_key(const struct ink_packet *p, enum ink_key kind)
{
	if (p->skip == INK_NOT_SKIPPED)
		return 1;
	return (p->skip == INK_SKIP_FRAGMENT || p->skip == INK_SKIP_PROTOCOL) &&
	       (kind == INK_KEY_PAIR || kind == INK_KEY_SOURCE || kind == INK_KEY_DESTINATION);
}

static inline uint64_t ink_key_mask(uint8_t mask)
{
	return 0 - (uint64_t)(mask & 1);
}

/* Words as on a little-endian machine, so that a key has the same bytes on every machine. */
static inline uint64_t ink_key_order(uint64_t word)
{
	return __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? word : __builtin_bswap64(word);
}

static inline void ink_key_put64(uint8_t *at, uint64_t word)
{
	word = ink_key_order(word);
	__builtin_memcpy(at, &word, sizeof word);
}

static inline uint64_t ink_key_get64(const uint8_t *at)
{
	uint64_t word;

	__builtin_memcpy(&word, at, sizeof word);
	return ink_key_order(word);
}

/* A port as its bytes stand in a word that ink_key_put64 writes. */
static inline uint64_t ink_key_port(uint32_t port, uint8_t mask)
{
	return ((port >> 8 & 0xff) | (port & 0xff) << 8) & ink_key_mask(mask);
}

/* Ports, protocol, kind, version: the word behind the addresses. */
static inline uint64_t ink_key_tail(const struct ink_packet *p, enum ink_key kind, int turned)
{
	const struct ink_key_rule *rule = &ink_key_rules[kind];
	int ports = p->protocol == INK_PROTOCOL_TCP || p->protocol == INK_PROTOCOL_UDP;
	uint32_t first = turned ? p->dport : p->sport, second = turned ? p->sport : p->dport;
	uint64_t both = ink_key_port(first, rule->port[0]) | ink_key_port(second, rule->port[1]) << 16;

	return (ports ? both : 0) | (uint64_t)(p->protocol & rule->protocol) << 32 | (uint64_t)kind << 40 |
	       (uint64_t)p->version << 48;
}

/* As ink_packet_key, of a packet that has one. */
static inline void ink_key_write(const struct ink_packet *p, enum ink_key kind, uint8_t *key)
{
	const struct ink_key_rule *rule = &ink_key_rules[kind];
	int turned = rule->turned[p->flags & INK_FROM_HIGH];
	const uint8_t *first = turned ? p->destination : p->source;
	const uint8_t *second = turned ? p->source : p->destination;
	uint64_t mask = ink_key_mask(rule->second), tail = ink_key_tail(p, kind, turned);

	if (p->version == 4) {
		/* Behind the 4 bytes of an address are 4 that are 0. */
		ink_key_put64(key, ink_key_get64(first) | (ink_key_get64(second) & mask) << 32);
		ink_key_put64(key + 8, tail);
		return;
	}
	ink_key_put64(key, ink_key_get64(first));
	ink_key_put64(key + 8, ink_key_get64(first + 8));
	ink_key_put64(key + 16, ink_key_get64(second) & mask);
	ink_key_put64(key + 24, ink_key_get64(second + 8) & mask);
	ink_key_put64(key + 32, tail);
}

#endif
