/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The argument of INK.STEPS, byte by byte in docs/cluster.md:
 *
 *     0     4 5    6       7 8     12  16    24      32     40        48         56
 *     +-----+-+----+-------+-+-----+---+-----+-------+------+---------+----------+-------
 *     |INKs |1|form|answers|0|items| 0 |time |sensor |epoch |sequence |collected | items
 *     +-----+-+----+-------+-+-----+---+-----+-------+------+---------+----------+-------
 *
 *     form 1:  n ids of 8 bytes | n events of 2
 *     form 2:  n events of 2 | n lengths of 1 | keys
 */
#ifndef INKLING_REDIS_BLOB_H
#define INKLING_REDIS_BLOB_H

#include <stddef.h>
#include <stdint.h>

#include <inkling/inkling.h>

enum {
	BLOB_HEAD = 56,
	BLOB_VERSION = 1,
	BLOB_ITEMS_MOST = 1 << 18, /* 262,144 steps take some 10 ms */
};

enum blob_form { BLOB_IDS = 1, BLOB_KEYS = 2 };
enum blob_answers { BLOB_NO_ANSWERS = 0, BLOB_STATES = 1, BLOB_MOVES = 2 };

struct blob {
	enum blob_form form;
	enum blob_answers answers;
	uint32_t n;
	uint64_t time, sensor, epoch, sequence, collected;
	const uint8_t *ids, *events, *lengths, *keys;
};

/* Reads a blob, whose items stay where they are. All events are below `events`. NULL, or what is wrong. */
const char *blob_read(struct blob *blob, const uint8_t *at, size_t length, unsigned events);

/* Reads items one after another, to ids and events: from `place` on, whose key begins at *key. */
void blob_items(const struct blob *blob, const struct ink_table *table, uint32_t place, uint32_t n,
		const uint8_t **key, uint64_t *ids, uint16_t *events);

#endif
