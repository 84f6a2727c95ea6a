/* SPDX-License-Identifier: BSD-2-Clause */
#include "redis/blob.h"

#include <string.h>

#include "redis/bytes.h"

static const char *read_head(struct blob *b, const uint8_t *at, size_t length)
{
	if (length < BLOB_HEAD)
		return "blob: it is shorter than its head of 56 bytes";
	if (memcmp(at, "INKs", 4) != 0)
		return "blob: it does not begin with INKs";
	if (at[4] != BLOB_VERSION)
		return "blob: byte 4: a version that this module does not know";
	if (at[5] != BLOB_IDS && at[5] != BLOB_KEYS)
		return "blob: byte 5: the form is 1 (ids) or 2 (keys)";
	if (at[6] > BLOB_MOVES)
		return "blob: byte 6: answers are 0 (none), 1 (states) or 2 (moves)";
	if (at[7] || get32(at + 12))
		return "blob: a reserved byte is not 0";
	if (get32(at + 8) > BLOB_ITEMS_MOST)
		return "blob: byte 8: more than 262144 items";
	*b = (struct blob){.form = (enum blob_form)at[5],
			   .answers = (enum blob_answers)at[6],
			   .n = get32(at + 8),
			   .time = get64(at + 16),
			   .sensor = get64(at + 24),
			   .epoch = get64(at + 32),
			   .sequence = get64(at + 40),
			   .collected = get64(at + 48)};
	return NULL;
}

static const char *check_sensor(const struct blob *b)
{
	if (!b->sensor && (b->epoch || b->sequence || b->collected))
		return "blob: without a sensor, epoch, sequence and collected are 0";
	if (b->sensor && (!b->sequence || b->sequence == UINT64_MAX))
		return "blob: byte 40: sequences begin with 1";
	return NULL;
}

static const char *place_ids(struct blob *b, const uint8_t *at, size_t length)
{
	if (length != (size_t)b->n * 10)
		return "blob: with n ids it has 56 + 10 n bytes";
	b->ids = at;
	b->events = at + (size_t)b->n * 8;
	return NULL;
}

static const char *place_keys(struct blob *b, const uint8_t *at, size_t length)
{
	size_t keys = 0;

	if (length < (size_t)b->n * 3)
		return "blob: it ends within the events and lengths of its keys";
	b->events = at;
	b->lengths = at + (size_t)b->n * 2;
	b->keys = b->lengths + b->n;
	for (uint32_t i = 0; i < b->n; i++)
		keys += b->lengths[i];
	return keys == length - (size_t)b->n * 3 ? NULL : "blob: it does not end with its last key";
}

const char *blob_read(struct blob *b, const uint8_t *at, size_t length, unsigned events)
{
	const char *wrong = read_head(b, at, length);

	if (!wrong)
		wrong = check_sensor(b);
	if (!wrong)
		wrong = (b->form == BLOB_IDS ? place_ids : place_keys)(b, at + BLOB_HEAD, length - BLOB_HEAD);
	for (uint32_t i = 0; !wrong && i < b->n; i++)
		if (get16(b->events + 2 * i) >= events)
			wrong = "blob: an event that the machine does not have";
	return wrong;
}

/* ---------------------------------------------------------------------------- items */

/* Keys of one length are hashed several at a time. */
static void hash_keys(const struct blob *b, const struct ink_table *table, uint32_t place, uint32_t n,
		      const uint8_t **key, uint64_t *ids)
{
	for (uint32_t i = 0, alike; i < n; i += alike) {
		uint8_t length = b->lengths[place + i];
		struct ink_keys keys = {.bytes = *key, .length = length};

		for (alike = 1; i + alike < n && b->lengths[place + i + alike] == length; alike++)
			;
		keys.n = alike;
		ink_id_batch(table, &keys, ids + i);
		*key += (size_t)alike * length;
	}
}

void blob_items(const struct blob *b, const struct ink_table *table, uint32_t place, uint32_t n,
		const uint8_t **key, uint64_t *ids, uint16_t *events)
{
	for (uint32_t i = 0; i < n; i++)
		events[i] = get16(b->events + 2 * (size_t)(place + i));
	for (uint32_t i = 0; b->form == BLOB_IDS && i < n; i++)
		ids[i] = get64(b->ids + 8 * (size_t)(place + i));
	if (b->form == BLOB_KEYS)
		hash_keys(b, table, place, n, key, ids);
}
