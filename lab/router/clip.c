/* SPDX-License-Identifier: BSD-2-Clause */
#include "lab/router/clip.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAGIC = sizeof CLIP_MAGIC - 1, FILE_MOST = 256 << 20 };

static int read_file(const char *path, uint8_t **bytes, size_t *size)
{
	FILE *file = fopen(path, "rb");
	int64_t length = file && !fseek(file, 0, SEEK_END) ? ftell(file) : -1;
	int error = length < 0 ? -errno : length > FILE_MOST ? -EFBIG : 0;

	*bytes = error ? NULL : malloc((size_t)(length & INT32_MAX) + 1);
	*size = (size_t)length;
	if (*bytes) {
		rewind(file);
		error = fread(*bytes, 1, *size, file) == *size ? 0 : -EIO;
	} else if (!error) {
		error = -ENOMEM;
	}
	if (file)
		fclose(file);
	return error;
}

/* The datagrams from `at` on: how many, or -EILSEQ. `into` may be NULL. */
static int64_t walk(const uint8_t *file, size_t size, struct clip_datagram *into)
{
	int64_t n = 0;

	for (size_t at = MAGIC; at < size; n++) {
		uint32_t length = at + 2 <= size ? file[at] | (uint32_t)file[at + 1] << 8 : 0;

		if (!length || length > CLIP_SIZE_MOST || length > size - at - 2)
			return -EILSEQ;
		if (into)
			into[n] = (struct clip_datagram){file + at + 2, length};
		at += 2 + length;
	}
	return n;
}

int clip_read(struct clip *clip, const char *path)
{
	size_t size;
	int64_t n;
	int error;

	*clip = (struct clip){.n = 0};
	error = read_file(path, &clip->file, &size);
	if (error)
		return error;
	n = size > MAGIC && !memcmp(clip->file, CLIP_MAGIC, MAGIC) ? walk(clip->file, size, NULL) : -EILSEQ;
	if (n < 0)
		return (int)n;
	clip->at = calloc((size_t)n, sizeof *clip->at);
	if (!clip->at)
		return -ENOMEM;
	clip->n = (uint32_t)walk(clip->file, size, clip->at);
	return 0;
}

void clip_free(struct clip *clip)
{
	free(clip->at);
	free(clip->file);
}
