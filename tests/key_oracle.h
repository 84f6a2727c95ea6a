/* SPDX-License-Identifier: BSD-2-Clause */
/* Keys of parts, bit by bit: slow and plain, beside the masks of src/packet/key.h. */
#ifndef INKLING_TESTS_KEY_ORACLE_H
#define INKLING_TESTS_KEY_ORACLE_H

#include <string.h>

#include <inkling/packet.h>

/* The first `bits` bits of an address of `bytes` bytes; the others stay 0. */
static inline void oracle_address(const uint8_t *address, unsigned bytes, unsigned bits, uint8_t *key)
{
	for (unsigned i = 0; i < bits && i < bytes * 8; i++)
		key[i / 8] |= address[i / 8] & (0x80 >> i % 8);
}

static inline void oracle_port(const struct ink_packet *p, unsigned port, uint8_t *key)
{
	if (p->protocol != INK_PROTOCOL_TCP && p->protocol != INK_PROTOCOL_UDP)
		return;
	key[0] = (uint8_t)(port >> 8);
	key[1] = (uint8_t)port;
}

/* As ink_packet_key_by, for INK_KEY_PARTS. */
static inline size_t oracle_key(const struct ink_packet *p, const struct ink_key_def *def, uint8_t *key)
{
	unsigned bytes = p->version == 4 ? 4 : 16, parts = def->parts & 31;
	int ports = parts & (INK_PART_SRC_PORT | INK_PART_DST_PORT);
	int hosts = p->skip == INK_SKIP_FRAGMENT || p->skip == INK_SKIP_PROTOCOL;
	uint8_t *tail = key + 2 * bytes;

	if (p->skip != INK_NOT_SKIPPED && (!hosts || ports))
		return 0;
	memset(key, 0, 2 * bytes + 8);
	if (parts & INK_PART_SRC)
		oracle_address(p->source, bytes, def->src_bits[bytes == 16], key);
	if (parts & INK_PART_DST)
		oracle_address(p->destination, bytes, def->dst_bits[bytes == 16], key + bytes);
	if (parts & INK_PART_SRC_PORT)
		oracle_port(p, p->sport, tail);
	if (parts & INK_PART_DST_PORT)
		oracle_port(p, p->dport, tail + 2);
	if (ports || parts & INK_PART_PROTOCOL)
		tail[4] = p->protocol;
	tail[5] = INK_KEY_PARTS;
	tail[6] = p->version;
	tail[7] = (uint8_t)(parts | (ports ? INK_PART_PROTOCOL : 0));
	return 2 * bytes + 8;
}

#endif
