/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Community ID, version 1: an identifier of connections shared by many tools.
 *
 *     "1:" base64(SHA-1(seed 2, address, address, protocol 1, 0 1, port 2, port 2))
 *
 * in network order, the lower end first (address, then port). ICMP has no
 * ports: the types of a request and its reply take their place, so both
 * directions agree; other messages have type and code there, and keep their
 * direction. (github.com/corelight/community-id-spec)
 *
 * SHA-1 (FIPS 180-4) is not secure any more, and need not be here. Its 40 lines
 * are written out, because the message always fits one block: a library would be
 * one more dependency.
 */
#include <inkling/packet.h>

#include <errno.h>
#include <string.h>

#include "packet/walk.h"

/* ----------------------------------------------------------------------- SHA-1 */

enum { BLOCK = 64, DIGEST = 20, LENGTH_AT = 56 };

static uint32_t rotate(uint32_t word, unsigned bits)
{
	return word << bits | word >> (32 - bits);
}

/* Word t of the schedule; 16 are kept, and each takes the place of the one it is made from. */
static uint32_t schedule(uint32_t w[16], unsigned t)
{
	if (t >= 16)
		w[t % 16] = rotate(w[(t - 3) % 16] ^ w[(t - 8) % 16] ^ w[(t - 14) % 16] ^ w[t % 16], 1);
	return w[t % 16];
}

static uint32_t mix(const uint32_t v[5], unsigned t)
{
	switch (t / 20) {
	case 0:
		return ((v[1] & v[2]) | (~v[1] & v[3])) + 0x5a827999;
	case 1:
		return (v[1] ^ v[2] ^ v[3]) + 0x6ed9eba1;
	case 2:
		return ((v[1] & v[2]) | (v[1] & v[3]) | (v[2] & v[3])) + 0x8f1bbcdc;
	default:
		return (v[1] ^ v[2] ^ v[3]) + 0xca62c1d6;
	}
}

static void sha1_block(uint32_t hash[5], const uint8_t block[BLOCK])
{
	uint32_t w[16], v[5];

	for (unsigned i = 0; i < 16; i++)
		w[i] = ink_be32(block + 4 * i);
	memcpy(v, hash, sizeof v);
	for (unsigned t = 0; t < 80; t++) {
		uint32_t next = rotate(v[0], 5) + mix(v, t) + v[4] + schedule(w, t);

		v[4] = v[3];
		v[3] = v[2];
		v[2] = rotate(v[1], 30);
		v[1] = v[0];
		v[0] = next;
	}
	for (unsigned i = 0; i < 5; i++)
		hash[i] += v[i];
}

/* Of a message that fits one block with its end (a bit) and its length: less than 56 bytes. */
static void sha1(const uint8_t *message, size_t n, uint8_t digest[DIGEST])
{
	uint32_t hash[5] = {0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476, 0xc3d2e1f0};
	uint8_t block[BLOCK] = {0};

	memcpy(block, message, n);
	block[n] = 0x80;
	block[BLOCK - 2] = (uint8_t)(8 * n >> 8);
	block[BLOCK - 1] = (uint8_t)(8 * n);
	sha1_block(hash, block);
	for (unsigned i = 0; i < DIGEST; i++)
		digest[i] = (uint8_t)(hash[i / 4] >> (24 - 8 * (i % 4)));
}

/* ---------------------------------------------------------------------- base64 */

/* 20 bytes are 27 characters and one that fills up. */
static void base64(const uint8_t digest[DIGEST], char *text)
{
	static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

	for (unsigned bit = 0; bit < 8 * DIGEST; bit += 6) {
		unsigned next = bit / 8 + 1 < DIGEST ? digest[bit / 8 + 1] : 0;
		unsigned pair = (unsigned)digest[bit / 8] << 8 | next;

		*text++ = letters[pair >> (10 - bit % 8) & 0x3f];
	}
	*text++ = '=';
	*text = '\0';
}

/* -------------------------------------------------------------------- the ends */

/* Requests and their replies. */
static const uint8_t icmp_pairs[][2] = {{8, 0}, {10, 9}, {13, 14}, {15, 16}, {17, 18}};
static const uint8_t icmpv6_pairs[][2] = {{128, 129}, {130, 131}, {133, 134},
					  {135, 136}, {139, 140}, {144, 145}};

/* The other message of the pair, or -1. */
static int counterpart(const uint8_t (*pairs)[2], size_t n, uint8_t type)
{
	for (size_t i = 0; i < n; i++) {
		if (pairs[i][0] == type)
			return pairs[i][1];
		if (pairs[i][1] == type)
			return pairs[i][0];
	}
	return -1;
}

struct ends {
	uint16_t port[2];
	int turned; /* the destination first */
};

static struct ends icmp_ends(const struct ink_packet *p)
{
	int other = p->protocol == INK_PROTOCOL_ICMP
			    ? counterpart(icmp_pairs, sizeof icmp_pairs / 2, p->icmp_type)
			    : counterpart(icmpv6_pairs, sizeof icmpv6_pairs / 2, p->icmp_type);
	int order = memcmp(p->source, p->destination, sizeof p->source);

	if (other < 0)
		return (struct ends){{p->icmp_type, p->icmp_code}, 0};
	return (struct ends){{p->icmp_type, (uint16_t)other},
			     order > 0 || (order == 0 && p->icmp_type > other)};
}

static struct ends ends_of(const struct ink_packet *p)
{
	if (p->protocol == INK_PROTOCOL_ICMP || p->protocol == INK_PROTOCOL_ICMPV6)
		return icmp_ends(p);
	return (struct ends){{p->sport, p->dport}, (p->flags & INK_FROM_HIGH) != 0};
}

static uint8_t *put16(uint8_t *at, uint16_t number)
{
	at[0] = (uint8_t)(number >> 8);
	at[1] = (uint8_t)number;
	return at + 2;
}

static uint8_t *put(uint8_t *at, const void *bytes, size_t n)
{
	memcpy(at, bytes, n);
	return at + n;
}

int ink_packet_community_id(const struct ink_packet *p, uint16_t seed, char text[INK_COMMUNITY_ID_SIZE])
{
	const uint8_t *address[2] = {p->source, p->destination};
	size_t length = p->version == 4 ? 4 : 16;
	uint8_t message[LENGTH_AT], digest[DIGEST], *at;
	struct ends ends;

	if (p->skip != INK_NOT_SKIPPED)
		return -EINVAL;
	ends = ends_of(p);
	at = put16(message, seed);
	at = put(at, address[ends.turned], length);
	at = put(at, address[!ends.turned], length);
	*at++ = p->protocol;
	*at++ = 0;
	at = put16(at, ends.port[ends.turned]);
	at = put16(at, ends.port[!ends.turned]);
	sha1(message, (size_t)(at - message), digest);
	memcpy(text, "1:", 2);
	base64(digest, text + 2);
	return 0;
}
