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

#include <inkling/inkling.h>

/* The same in every kind of file. */
enum { AT_VERSION = 8, AT_HEADER_LENGTH = 12, AT_KIND = 16 };
enum { AT_BODY_LENGTH = 184, AT_BODY_SUM = 192, AT_HEADER_SUM = 4080, AT_BODY = 4096 };

/* The longest file that a fuzzer makes. A header may declare more: that is refused before anything is allocated. */
enum { MOST_IMAGE = AT_BODY + (128 << 10) };

/* Begins as {0}. Its memory is as long as the file, so that the sanitizers see reads beyond the end. */
struct image {
	uint8_t *bytes;
	size_t size;
};

static inline void insist(int condition)
{
	if (!condition)
		abort();
}

/* What it had stays, as far as there is room. */
static inline void image_resize(struct image *i, size_t size)
{
	i->bytes = realloc(i->bytes, size ? size : 1);
	insist(i->bytes != NULL);
	i->size = size;
}

/* To save into. Afterwards, it is as long as what was used. */
static inline struct ink_buffer image_buffer(struct image *i)
{
	image_resize(i, MOST_IMAGE);
	return (struct ink_buffer){.bytes = i->bytes, .room = i->size};
}

static inline void image_copy(struct image *to, const struct image *from)
{
	image_resize(to, from->size);
	memcpy(to->bytes, from->bytes, from->size);
}

static inline int image_equal(const struct image *a, const struct image *b)
{
	return a->size == b->size && memcmp(a->bytes, b->bytes, a->size) == 0;
}

static inline int image_read(struct image *i, const char *path)
{
	FILE *file = fopen(path, "rb");
	size_t read;

	if (!file)
		return 0;
	fseek(file, 0, SEEK_END);
	image_resize(i, (size_t)ftell(file));
	rewind(file);
	read = fread(i->bytes, 1, i->size, file);
	fclose(file);
	return read == i->size;
}

static inline int image_write(const struct image *i, const char *path)
{
	FILE *file = fopen(path, "wb");
	size_t written = file ? fwrite(i->bytes, 1, i->size, file) : 0;

	return file && fclose(file) == 0 && written == i->size;
}

static inline uint64_t image_get(const struct image *i, size_t at, size_t bytes)
{
	uint64_t value = 0;

	insist(at + bytes <= i->size);
	for (size_t k = bytes; k-- > 0;)
		value = value << 8 | i->bytes[at + k];
	return value;
}

static inline uint32_t image_get32(const struct image *i, size_t at)
{
	return (uint32_t)image_get(i, at, 4);
}

static inline uint64_t image_get64(const struct image *i, size_t at)
{
	return image_get(i, at, 8);
}

static inline void image_put(struct image *i, size_t at, size_t bytes, uint64_t value)
{
	insist(at + bytes <= i->size);
	for (size_t k = 0; k < bytes; k++)
		i->bytes[at + k] = (uint8_t)(value >> 8 * k);
}

static inline void image_put32(struct image *i, size_t at, uint32_t value)
{
	image_put(i, at, 4, value);
}

static inline void image_put_sum(struct image *i, size_t at, size_t from, size_t to)
{
	XXH128_hash_t sum = XXH3_128bits(i->bytes + from, to - from);

	image_put(i, at, 8, sum.low64);
	image_put(i, at + 8, 8, sum.high64);
}

/* Makes both checksums right, as a forger would. */
static inline void image_seal(struct image *i)
{
	if (i->size < AT_BODY)
		return;
	image_put_sum(i, AT_BODY_SUM, AT_BODY, i->size);
	image_put_sum(i, AT_HEADER_SUM, 0, AT_HEADER_SUM);
}

/* ------------------------------------------------------------------ for fuzzers */

static inline void image_of_bytes(struct image *i, const uint8_t *data, size_t size)
{
	image_resize(i, size < MOST_IMAGE ? size : MOST_IMAGE);
	memcpy(i->bytes, data, i->size);
}

/* A real file, and changes: two bytes of offset and one of what is different there. */
static inline void image_of_real(struct image *i, const struct image *real, const uint8_t *data, size_t size)
{
	image_copy(i, real);
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
