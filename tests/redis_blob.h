/* SPDX-License-Identifier: BSD-2-Clause */
/* Blobs for INK.STEPS, written from docs/cluster.md and not with the module's own code. */
#ifndef INKLING_TESTS_REDIS_BLOB_H
#define INKLING_TESTS_REDIS_BLOB_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

struct sent {
	uint64_t time, sensor, epoch, sequence, collected;
	int answers;
	uint32_t n;
	const uint64_t *ids;     /* or */
	const char *const *keys; /* texts */
	const uint16_t *events;
};

static inline uint8_t *little(uint8_t *at, uint64_t n, int bytes)
{
	for (int i = 0; i < bytes; i++)
		*at++ = (uint8_t)(n >> 8 * i);
	return at;
}

static inline uint8_t *blob_items_of(uint8_t *at, const struct sent *s)
{
	for (uint32_t i = 0; s->ids && i < s->n; i++)
		at = little(at, s->ids[i], 8);
	for (uint32_t i = 0; i < s->n; i++)
		at = little(at, s->events[i], 2);
	for (uint32_t i = 0; s->keys && i < s->n; i++)
		at = little(at, strlen(s->keys[i]), 1);
	for (uint32_t i = 0; s->keys && i < s->n; i++) {
		memcpy(at, s->keys[i], strlen(s->keys[i]));
		at += strlen(s->keys[i]);
	}
	return at;
}

static inline size_t blob_room(const struct sent *s)
{
	size_t n = 56 + (size_t)s->n * 10;

	for (uint32_t i = 0; s->keys && i < s->n; i++)
		n += strlen(s->keys[i]);
	return n;
}

/* Into memory of blob_room() bytes; its length. */
static inline size_t blob_write(const struct sent *s, uint8_t *into)
{
	uint8_t *at = into;

	memcpy(at, "INKs\1", 5);
	at[5] = s->keys ? 2 : 1;
	at[6] = (uint8_t)s->answers;
	at[7] = 0;
	at = little(at + 8, s->n, 4);
	at = little(at, 0, 4);
	at = little(at, s->time, 8);
	at = little(at, s->sensor, 8);
	at = little(at, s->epoch, 8);
	at = little(at, s->sequence, 8);
	at = little(at, s->collected, 8);
	return (size_t)(blob_items_of(at, s) - into);
}

static inline uint64_t from_little(const uint8_t *at, int bytes)
{
	uint64_t n = 0;

	for (int i = 0; i < bytes; i++)
		n |= (uint64_t)at[i] << 8 * i;
	return n;
}

#endif
