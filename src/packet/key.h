/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * [F] The bytes of a key.
 *
 *     IPv4   0        4        8     10    12        13    14       15     16
 *            |address |address |port |port |protocol |kind |4       |parts |
 *     IPv6   0        16       32    34    36        37    38       39     40
 *
 *     connection    low      high      low    high   protocol    ends in order of address, then port
 *     flow          source   dest.     source dest.  protocol
 *     pair          low      high      0      0      0
 *     source        source   0         0      0      0
 *     destination   dest.    0         0      0      0
 *     endpoint      dest.    0         dest.  0      protocol
 *     parts         source   dest.     source dest.  protocol    what is not a part is 0, as the rest of a prefix
 *
 * Every byte is written, and all keys of a version have one length, so many of
 * them are hashed at once. A key of IPv4 is never one of IPv6: the lengths
 * differ. Keys of two kinds never agree: the kind is in them, and for keys of
 * parts which these are (INK_PART_*; else 0), but not the length of a prefix.
 * Ports are in network order, and 0 for what is not TCP or UDP.
 */
#ifndef INKLING_PACKET_KEY_H
#define INKLING_PACKET_KEY_H

#include "packet/walk.h"

/* ---------------------------------------------------------------- rules */

/*
 * What a key takes of a packet, as masks of its words, so that one function without branches for the parts writes
 * keys of every kind.
 */
struct ink_key_rule {
	uint64_t first[2], second[2]; /* of the addresses of IPv6 */
	uint64_t both;                /* of those of IPv4, which are one word */
	uint64_t tail;                /* of ports and protocol */
	uint64_t names;               /* kind and parts: they are the same in all keys */
	uint8_t turned[2]; /* the destination first? If the source is the low end; if the high one */
	uint16_t skips;    /* bits: packets with this enum ink_skip have a key */
};

#define INK_TAIL_FIRST_PORT 0xffffull
#define INK_TAIL_SECOND_PORT (0xffffull << 16)
#define INK_TAIL_PROTOCOL (0xffull << 32)
#define INK_TAIL_END (INK_TAIL_FIRST_PORT | INK_TAIL_PROTOCOL)
#define INK_TAIL_ALL (INK_TAIL_END | INK_TAIL_SECOND_PORT)

/* A key with ports needs a packet that may have some; for the others, addresses and protocol suffice. */
#define INK_KEY_OF_FLOWS (1u << INK_NOT_SKIPPED)
#define INK_KEY_OF_HOSTS (1u << INK_NOT_SKIPPED | 1u << INK_SKIP_FRAGMENT | 1u << INK_SKIP_PROTOCOL)

/* A named key has all of the first address, and all or nothing of the second. */
#define INK_ONE_ADDRESS {~0ull, ~0ull}, {0, 0}, 0xffffffffull
#define INK_TWO_ADDRESSES {~0ull, ~0ull}, {~0ull, ~0ull}, ~0ull
#define INK_KEY_NAME(kind) ((uint64_t)INK_KEY_##kind << 40)

/* By kind. A kind that is not here has no keys. */
static const struct ink_key_rule ink_key_rules[INK_KEY_PARTS + 1] = {
	[INK_KEY_CONNECTION] =
		{INK_TWO_ADDRESSES, INK_TAIL_ALL, INK_KEY_NAME(CONNECTION), {0, 1}, INK_KEY_OF_FLOWS},
	[INK_KEY_FLOW] = {INK_TWO_ADDRESSES, INK_TAIL_ALL, INK_KEY_NAME(FLOW), {0, 0}, INK_KEY_OF_FLOWS},
	[INK_KEY_PAIR] = {INK_TWO_ADDRESSES, 0, INK_KEY_NAME(PAIR), {0, 1}, INK_KEY_OF_HOSTS},
	[INK_KEY_SOURCE] = {INK_ONE_ADDRESS, 0, INK_KEY_NAME(SOURCE), {0, 0}, INK_KEY_OF_HOSTS},
	[INK_KEY_DESTINATION] = {INK_ONE_ADDRESS, 0, INK_KEY_NAME(DESTINATION), {1, 1}, INK_KEY_OF_HOSTS},
	[INK_KEY_ENDPOINT] =
		{INK_ONE_ADDRESS, INK_TAIL_END, INK_KEY_NAME(ENDPOINT), {1, 1}, INK_KEY_OF_FLOWS},
};

/* The rule of a named key. */
static inline const struct ink_key_rule *ink_key_named(enum ink_key kind)
{
	return &ink_key_rules[(unsigned)kind <= INK_KEY_PARTS ? kind : 0];
}

/* The first `bits` bits of 64, as ink_key_get64 reads them: the first byte is the lowest. */
static inline uint64_t ink_key_prefix(uint32_t bits)
{
	return bits == 0 ? 0 : bits < 64 ? __builtin_bswap64(~0ull << (64 - bits)) : ~0ull;
}

static inline void ink_key_mask_address(uint64_t mask[2], uint32_t bits)
{
	mask[0] = ink_key_prefix(bits);
	mask[1] = ink_key_prefix(bits > 64 ? bits - 64 : 0);
}

static inline uint64_t ink_key_mask_ipv4(uint32_t bits)
{
	return ink_key_prefix(bits < 32 ? bits : 32);
}

/* The rule of a key of parts. */
static inline struct ink_key_rule ink_key_of_parts(const struct ink_key_def *def)
{
	uint32_t ports = def->parts & (INK_PART_SRC_PORT | INK_PART_DST_PORT);
	uint32_t parts = (def->parts & 31u) | (ports ? INK_PART_PROTOCOL : 0);
	uint32_t src = parts & INK_PART_SRC ? ~0u : 0, dst = parts & INK_PART_DST ? ~0u : 0;
	struct ink_key_rule r = {.both = ink_key_mask_ipv4(def->src_bits[0] & src) |
					 ink_key_mask_ipv4(def->dst_bits[0] & dst) << 32,
				 .tail = (parts & INK_PART_SRC_PORT ? INK_TAIL_FIRST_PORT : 0) |
					 (parts & INK_PART_DST_PORT ? INK_TAIL_SECOND_PORT : 0) |
					 (parts & INK_PART_PROTOCOL ? INK_TAIL_PROTOCOL : 0),
				 .names = INK_KEY_NAME(PARTS) | (uint64_t)parts << 56,
				 .skips = ports ? INK_KEY_OF_FLOWS : INK_KEY_OF_HOSTS};

	ink_key_mask_address(r.first, def->src_bits[1] & src);
	ink_key_mask_address(r.second, def->dst_bits[1] & dst);
	return r;
}

/* The rule of any key; `room` is for one that has to be made. */
static inline const struct ink_key_rule *ink_key_rule_of(const struct ink_key_def *def,
							 struct ink_key_rule *room)
{
	if (def->kind != INK_KEY_PARTS)
		return ink_key_named((enum ink_key)def->kind);
	*room = ink_key_of_parts(def);
	return room;
}

/* ---------------------------------------------------------------- bytes */

static inline uint32_t ink_key_length(const struct ink_packet *p)
{
	return p->version == 4 ? INK_KEY_IPV4 : INK_KEY_IPV6;
}

/* Does the packet have a key by that rule? */
static inline int ink_has_key(const struct ink_packet *p, const struct ink_key_rule *rule)
{
	return rule->skips >> (p->skip & 15) & 1;
}

_Static_assert(INK_SKIPS <= 16, "a bit for each reason");
_Static_assert(sizeof(struct ink_key_def) == 6, "definitions are compared as bytes");

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

	__builtin_memcpy(&word, ink_words(at), sizeof word);
	return ink_key_order(word);
}

/* A port as its bytes stand in a word that ink_key_put64 writes. */
static inline uint64_t ink_key_port(uint32_t port)
{
	return (port >> 8 & 0xff) | (port & 0xff) << 8;
}

/* Ports, protocol, kind, version, parts: the word behind the addresses. */
static inline uint64_t ink_key_tail(const struct ink_packet *p, const struct ink_key_rule *rule, int turned)
{
	int ports = p->protocol == INK_PROTOCOL_TCP || p->protocol == INK_PROTOCOL_UDP;
	uint32_t first = turned ? p->dport : p->sport, second = turned ? p->sport : p->dport;
	uint64_t both = ports ? ink_key_port(first) | ink_key_port(second) << 16 : 0;

	return ((both | (uint64_t)p->protocol << 32) & rule->tail) | rule->names | (uint64_t)p->version << 48;
}

/* Does the key begin with the destination? `reversed`: it is that of the packet's other direction. */
static inline int ink_key_turned(const struct ink_packet *p, const struct ink_key_rule *rule, uint32_t reversed)
{
	return rule->turned[(p->flags ^ reversed) & INK_FROM_HIGH] ^ (reversed & 1);
}

__attribute__((always_inline)) static inline void ink_key_write_turned(const struct ink_packet *p,
								     const struct ink_key_rule *rule,
								     int turned, uint8_t *key)
{
	const uint8_t *first = turned ? p->destination : p->source;
	const uint8_t *second = turned ? p->source : p->destination;
	uint64_t tail = ink_key_tail(p, rule, turned);

	if (p->version == 4) {
		/* Behind the 4 bytes of an address are 4 that are 0. */
		ink_key_put64(key, (ink_key_get64(first) | ink_key_get64(second) << 32) & rule->both);
		ink_key_put64(key + 8, tail);
		return;
	}
	ink_key_put64(key, ink_key_get64(first) & rule->first[0]);
	ink_key_put64(key + 8, ink_key_get64(first + 8) & rule->first[1]);
	ink_key_put64(key + 16, ink_key_get64(second) & rule->second[0]);
	ink_key_put64(key + 24, ink_key_get64(second + 8) & rule->second[1]);
	ink_key_put64(key + 32, tail);
}

/* As ink_packet_key, of a packet that has one. */
static inline void ink_key_write(const struct ink_packet *p, const struct ink_key_rule *rule, uint8_t *key)
{
	ink_key_write_turned(p, rule, ink_key_turned(p, rule, 0), key);
}

#endif
