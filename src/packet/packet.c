/* SPDX-License-Identifier: BSD-2-Clause */
/* The public functions of parse.h and key.h, and ids of many packets at once. */
#include <inkling/packet.h>

#include <arpa/inet.h>
#include <string.h>

#include "packet/key.h"
#include "packet/parse.h"

/* --------------------------------------------------------------------- parsing */

static const char *const skip_names[INK_SKIPS] = {
	[INK_NOT_SKIPPED] = "none",
	[INK_SKIP_TRUNCATED] = "truncated",
	[INK_SKIP_NOT_IP] = "not ip",
	[INK_SKIP_BAD_VERSION] = "bad version",
	[INK_SKIP_BAD_LENGTH] = "bad length",
	[INK_SKIP_FRAGMENT] = "later fragment",
	[INK_SKIP_PROTOCOL] = "other protocol",
	[INK_SKIP_ENCRYPTED] = "encrypted",
	[INK_SKIP_TOO_DEEP] = "too deep",
	[INK_SKIP_LINK] = "unknown link",
};

const char *ink_skip_name(enum ink_skip skip)
{
	return (unsigned)skip < INK_SKIPS ? skip_names[skip] : NULL;
}

enum ink_skip ink_packet_parse(struct ink_packet *packet, enum ink_link link, unsigned options)
{
	return ink_parse(packet, link, options);
}

void ink_address_text(const uint8_t address[16], unsigned version, char text[INK_ADDRESS_SIZE])
{
	if (!inet_ntop(version == 4 ? AF_INET : AF_INET6, address, text, INK_ADDRESS_SIZE))
		text[0] = '\0';
}

/* ------------------------------------------------------------------------ keys */

static size_t key_by(const struct ink_packet *packet, const struct ink_key_rule *rule, uint8_t *key)
{
	if (!ink_has_key(packet, rule))
		return 0;
	ink_key_write(packet, rule, key);
	return ink_key_length(packet);
}

size_t ink_packet_key(const struct ink_packet *packet, enum ink_key kind, uint8_t key[INK_KEY_MOST])
{
	return key_by(packet, ink_key_named(kind), key);
}

size_t ink_packet_key_by(const struct ink_packet *packet, const struct ink_key_def *def,
			 uint8_t key[INK_KEY_MOST])
{
	struct ink_key_rule room;

	return key_by(packet, ink_key_rule_of(def, &room), key);
}

/*
 * Keys of the two lengths are hashed in separate batches: each key goes into the
 * batch of its length, and a full batch is hashed and its ids are scattered to
 * their packets. 64 keys of 40 bytes and what belongs to them are 3.5 KiB of stack; the
 * lanes of ink_id_batch are full from 8 on.
 */
enum { PILE = 64 };

struct pile {
	uint8_t keys[PILE * INK_KEY_MOST];
	uint64_t ids[PILE];
	size_t from[PILE];
	size_t length, n;
};

static void pile_hash(const struct ink_table *table, struct pile *pile, uint64_t *ids)
{
	const struct ink_keys keys = {pile->keys, pile->length, pile->n};

	ink_id_batch(table, &keys, pile->ids);
	for (size_t i = 0; i < pile->n; i++)
		ids[pile->from[i]] = pile->ids[i];
	pile->n = 0;
}

static void ids_by(const struct ink_table *table, const struct ink_key_rule *rule,
		   const struct ink_packets *packets, uint64_t *ids)
{
	struct pile four, six;

	four.length = INK_KEY_IPV4;
	six.length = INK_KEY_IPV6;
	four.n = six.n = 0;
	for (size_t i = 0; i < packets->n; i++) {
		const struct ink_packet *p = &packets->at[i];
		struct pile *pile = p->version == 4 ? &four : &six;

		ids[i] = 0;
		if (!ink_has_key(p, rule))
			continue;
		ink_key_write(p, rule, pile->keys + pile->n * pile->length);
		pile->from[pile->n++] = i;
		if (pile->n == PILE)
			pile_hash(table, pile, ids);
	}
	pile_hash(table, &four, ids);
	pile_hash(table, &six, ids);
}

void ink_packet_ids(const struct ink_table *table, enum ink_key kind, const struct ink_packets *packets,
		    uint64_t *ids)
{
	ids_by(table, ink_key_named(kind), packets, ids);
}

void ink_packet_ids_by(const struct ink_table *table, const struct ink_key_def *def,
		       const struct ink_packets *packets, uint64_t *ids)
{
	struct ink_key_rule room;

	ids_by(table, ink_key_rule_of(def, &room), packets, ids);
}
