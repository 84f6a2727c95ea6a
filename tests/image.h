/* SPDX-License-Identifier: BSD-2-Clause */
/* Snapshots as bytes, by the offsets of docs/format.md: read, changed, sealed with right sums, written. */
#ifndef INKLING_TESTS_IMAGE_H
#define INKLING_TESTS_IMAGE_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <xxhash.h>

/* The same in every kind of file. */
enum { AT_KIND = 16, AT_BODY_LENGTH = 184, AT_BODY_SUM = 192, AT_HEADER_SUM = 4080, AT_BODY = 4096 };

/* The longest file that is made. A header may declare more: that is refused before anything is allocated. */
enum { MOST_IMAGE = AT_BODY + (128 << 10) };

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

/* ------------------------------------------------------------------ for fuzzers */

static inline void insist(int condition)
{
	if (!condition)
		abort();
}

static inline void image_of_bytes(struct image *i, const uint8_t *data, size_t size)
{
	i->size = size < MOST_IMAGE ? size : MOST_IMAGE;
	memcpy(i->bytes, data, i->size);
}

/* A real file, and changes: two bytes of offset and one of what is different there. */
static inline void image_of_real(struct image *i, const struct image *real, const uint8_t *data, size_t size)
{
	*i = *real;
	for (size_t k = 0; k + 3 <= size; k += 3)
		i->bytes[(data[k] | (size_t)data[k + 1] << 8) % i->size] ^= data[k + 2];
}

/* The path of a file in memory, the same one in every call. */
static inline const char *image_path(void)
{
	static char path[32];

	if (!path[0]) {
		int file = memfd_create("snapshot", MFD_CLOEXEC);

		insist(file >= 0);
		snprintf(path, sizeof path, "/proc/self/fd/%d", file);
	}
	return path;
}

#endif
