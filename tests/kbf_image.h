/* SPDX-License-Identifier: BSD-2-Clause */
/* Snapshots as bytes, by the offsets of docs/format.md: read, changed, sealed with right sums, written. */
#ifndef INKLING_TESTS_KBF_IMAGE_H
#define INKLING_TESTS_KBF_IMAGE_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <xxhash.h>

enum {
	AT_KIND = 16,
	AT_BODY_LENGTH = 184,
	AT_BODY_SUM = 192,
	AT_HEADER_SUM = 4080,
	AT_BODY = 4096,
	/* of a filter */
	AT_ENCODING = 20,
	AT_LINKS = 36,
	AT_PART = 40,
	AT_PENDING = 84,
	AT_PENDING_BYTES = 88,
	AT_KEYS = 208,
	/* of a dictionary */
	AT_MOST = 24,
	AT_VALUES = 32,
	AT_CHAIN = 56,
	AT_VALUE_BYTES = 64
};

enum { MOST_IMAGE = AT_BODY + (64 << 10) };

struct image {
	uint8_t bytes[MOST_IMAGE];
	size_t size;
};

static inline int image_read(struct image *i, const char *path)
{
	FILE *file = fopen(path, "rb");

	i->size = file ? fread(i->bytes, 1, sizeof i->bytes, file) : 0;
	if (file)
		fclose(file);
	return i->size > AT_BODY && i->size < sizeof i->bytes;
}

static inline int image_write(const struct image *i, const char *path)
{
	FILE *file = fopen(path, "wb");
	size_t written = file ? fwrite(i->bytes, 1, i->size, file) : 0;

	return file && fclose(file) == 0 && written == i->size;
}

static inline uint32_t image_get32(const struct image *i, size_t at)
{
	uint32_t value;

	memcpy(&value, i->bytes + at, sizeof value);
	return value;
}

static inline void image_put32(struct image *i, size_t at, uint32_t value)
{
	memcpy(i->bytes + at, &value, sizeof value);
}

static inline void image_put_sum(struct image *i, size_t at, size_t from, size_t to)
{
	XXH128_hash_t sum = XXH3_128bits(i->bytes + from, to - from);

	memcpy(i->bytes + at, &sum.low64, 8);
	memcpy(i->bytes + at + 8, &sum.high64, 8);
}

static inline void image_seal(struct image *i)
{
	if (i->size < AT_BODY)
		return;
	image_put_sum(i, AT_BODY_SUM, AT_BODY, i->size);
	image_put_sum(i, AT_HEADER_SUM, 0, AT_HEADER_SUM);
}

#endif
