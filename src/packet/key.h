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

#include "walk.h"

#define INK_KEY_TAIL 8 /* bytes behind the addresses */

/* What a kind takes. */
struct ink_key_parts {
	const uint8_t *address[2];
	uint16_t port[2];
	uint8_t protocol;
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

static inline int ink_ports_count(const struct ink_packet *p)
{
	return p->protocol == INK_PROTOCOL_TCP || p->protocol == INK_PROTOCOL_UDP;
}

/* Source and destination, or, if `turned`, the other way round. */
static inline struct ink_key_parts ink_key_ends(const struct ink_packet *p, int turned)
{
	struct ink_key_parts k = {{p->source, p->destination}, {0, 0}, p->protocol};

	if (ink_ports_count(p)) {
		k.port[turned] = p->sport;
		k.port[!turned] = p->dport;
	}
	k.address[turned] = p->source;
	k.address[!turned] = p->destination;
	return k;
}

static inline void ink_key_tail(uint8_t *at, const struct ink_key_parts *k, uint8_t kind, uint8_t version)
{
	at[0] = (uint8_t)(k->port[0] >> 8);
	at[1] = (uint8_t)k->port[0];
	at[2] = (uint8_t)(k->port[1] >> 8);
	at[3] = (uint8_t)k->port[1];
	at[4] = k->protocol;
	at[5] = kind;
	at[6] = version;
	at[7] = 0;
}

static const uint8_t ink_no_address[16];

static inline struct ink_key_parts ink_key_parts_of(const struct ink_packet *p, enum ink_key kind)
{
	struct ink_key_parts k = ink_key_ends(p, kind != INK_KEY_FLOW && p->flags & INK_FROM_HIGH);

	switch (kind) {
	case INK_KEY_PAIR:
		return (struct ink_key_parts){{k.address[0], k.address[1]}, {0, 0}, 0};
	case INK_KEY_SOURCE:
		return (struct ink_key_parts){{p->source, ink_no_address}, {0, 0}, 0};
	case INK_KEY_DESTINATION:
		return (struct ink_key_parts){{p->destination, ink_no_address}, {0, 0}, 0};
	case INK_KEY_ENDPOINT:
		return (struct ink_key_parts){{p->destination, ink_no_address},
					      {ink_ports_count(p) ? p->dport : (uint16_t)0, 0},
					      p->protocol};
	default:
		return k;
	}
}

/* As ink_packet_key, of a packet that has one. */
static inline void ink_key_write(const struct ink_packet *p, enum ink_key kind, uint8_t *key)
{
	struct ink_key_parts k = ink_key_parts_of(p, kind);

	if (p->version == 4) {
		__builtin_memcpy(key, k.address[0], 4);
		__builtin_memcpy(key + 4, k.address[1], 4);
		ink_key_tail(key + 8, &k, (uint8_t)kind, 4);
	} else {
		__builtin_memcpy(key, k.address[0], 16);
		__builtin_memcpy(key + 16, k.address[1], 16);
		ink_key_tail(key + 32, &k, (uint8_t)kind, 6);
	}
}

#endif
