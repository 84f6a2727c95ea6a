/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a fuzzer begins with, out of real captures:
 *
 *     TARGET --seeds FOLDER CAPTURE...
 *
 * writes into the folder what packets are as inputs of the target, and ends.
 * The target says how a packet becomes an input and what shape it has; of each
 * shape, one packet serves.
 */
#ifndef INKLING_TESTS_FUZZ_SEEDS_H
#define INKLING_TESTS_FUZZ_SEEDS_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <inkling/packet.h>

enum { SEED_MOST = 2000, SHAPES = 1 << 16 };

struct seed {
	uint32_t shape;
	size_t n; /* 0: the packet is no use */
	uint8_t bytes[SEED_MOST];
};

typedef void (*seed_maker)(struct seed *seed, const struct ink_packet *packet, enum ink_link link);

int LLVMFuzzerInitialize(int *argc, char ***argv);

/* Fowler, Noll and Vo's hash of 32 bits: begins with 0x811c9dc5. */
static inline uint32_t seed_shape(uint32_t shape, uint32_t part)
{
	return (shape ^ part) * 0x01000193u;
}

static inline void seed_append(struct seed *s, const uint8_t *bytes, size_t n)
{
	if (n > SEED_MOST - s->n)
		n = SEED_MOST - s->n;
	if (n)
		memcpy(s->bytes + s->n, bytes, n);
	s->n += n;
}

static inline void write_seed(const struct seed *s, const char *folder)
{
	char path[1024];
	FILE *f;

	snprintf(path, sizeof path, "%s/seed-%08x", folder, s->shape);
	f = fopen(path, "wb");
	if (!f || fwrite(s->bytes, 1, s->n, f) != s->n || fclose(f)) {
		perror(path);
		exit(1);
	}
}

static inline void seeds_of_packet(const struct ink_packet *p, enum ink_link link, seed_maker make,
				   const char *folder)
{
	static uint8_t seen[SHAPES];
	static struct seed seed;

	seed.shape = 0x811c9dc5;
	seed.n = 0;
	make(&seed, p, link);
	if (!seed.n || seen[seed.shape % SHAPES]++)
		return;
	write_seed(&seed, folder);
}

/* What cannot be read is a seed itself (a file that is cut), and no error. */
static inline void seeds_of_capture(const char *file, seed_maker make, const char *folder)
{
	struct ink_capture_options o = {.size = sizeof o, .file = file};
	struct ink_capture *c = ink_capture_open(&o, NULL);
	struct ink_packet packets[64];
	struct ink_packets batch = {.at = packets, .room = 64};

	while (c && !ink_capture_read(c, &batch, NULL) && !batch.end)
		for (size_t i = 0; i < batch.n; i++)
			seeds_of_packet(&packets[i], ink_capture_link(c), make, folder);
	ink_capture_close(c);
}

/* For LLVMFuzzerInitialize: returns only if no seeds are requested. */
static inline void make_seeds_if_asked(int argc, char **argv, seed_maker make)
{
	if (argc < 3 || strcmp(argv[1], "--seeds") != 0)
		return;
	for (int i = 3; i < argc; i++)
		seeds_of_capture(argv[i], make, argv[2]);
	exit(0);
}

#endif
