/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What both kinds of counting sets have: a plan, a secret, a body.
 *
 * The body is one block of memory without pointers, zeroed at birth: cells or
 * counters, back to back and packed to the bit, and behind them zeros to a
 * whole page, 16 bytes of them at the least.
 *
 *     bit    0         c         2c                              cells x c
 *            +---------+---------+-- ... --+---------------------+----------------+
 *            | cell 0  | cell 1  |         | the last one        | 0, >= 128 bits |
 *            +---------+---------+-- ... --+---------------------+----------------+
 *
 * A cell has at most 48 bits (32 of fingerprint, 16 of counter). It begins at
 * some bit of some byte, so it lies within the eight bytes from there on: one
 * load that need not be aligned, a shift and a mask.
 */
#ifndef INKLING_COUNT_SET_H
#define INKLING_COUNT_SET_H

#include <endian.h>
#include <string.h>

#include <inkling/count.h>

#include "base/allocator.h"

/* For the inner steps of a batch: a call would cost as much as the work. */
#define COUNT_HOT __attribute__((always_inline)) static inline

enum {
	COUNT_MAX_D = 8,
	COUNT_MAX_H = 64,
	COUNT_MIN_F = 2,
	COUNT_MAX_F = 32,
	COUNT_MAX_K = 32,
	COUNT_MIN_COUNTER = 2, /* of one bit, every counter would be stuck */
	COUNT_MAX_COUNTER = 16,
	COUNT_SLACK = 16, /* bytes behind the cells: 128 bits are loaded from the last one on */
};

#define COUNT_MOST_B (1u << 28) /* buckets of a subtable, or counters in a segment: a draw has 32 bits */
#define COUNT_MOST_ITEMS (1ull << 62)

_Static_assert(COUNT_MAX_F + COUNT_MAX_COUNTER <= 64 - 7, "a cell at any bit of a byte lies within 8 bytes");
_Static_assert((uint64_t)COUNT_MAX_D *COUNT_MOST_B <= UINT32_MAX, "buckets are numbered with 32 bits");

__extension__ typedef unsigned __int128 ink_count_wide;

/* Neighbouring cells in 128 bits, for searching all of them at once. In each of them ones at: */
struct ink_count_lanes {
	ink_count_wide low;     /* its lowest bit */
	ink_count_wide counter; /* the bits of its counter */
	ink_count_wide print;   /* the bits of its fingerprint but the highest */
	ink_count_wide rest;    /* all bits but the highest */
	ink_count_wide top;     /* the highest */
	uint32_t last;          /* the bit at which the last cell begins */
};

struct ink_count {
	const struct ink_count_ops *ops;
	struct ink_allocator allocator;
	struct ink_count_plan plan;
	uint64_t secret[2];
	unsigned char *body;
	uint64_t body_bytes;
	int is_mapped; /* the body, from a file; else it is the allocator's */
	uint64_t cells;
	uint32_t cell_bits;
	uint32_t limit;      /* the highest value of a counter: there it sticks */
	uint64_t cell_mask;  /* cell_bits ones */
	uint32_t chunks;     /* dleft: into which a bucket is divided to be searched; all but the last .. */
	uint32_t chunk_bits; /* .. have this many bits */
	struct ink_count_lanes lanes;      /* of a chunk */
	struct ink_count_lanes tail;       /* of the last one */
	uint64_t starts[COUNT_MAX_K + 1];  /* standard: where each segment begins, and the end */
	uint64_t items;                    /* adds less removes */
	uint64_t refused, strangers, held; /* calls that failed, by reason */
};

/* Where an item looks. */
struct ink_count_place {
	union {
		struct {                              /* dleft: in each subtable */
			uint32_t bucket[COUNT_MAX_D]; /* by number */
			uint32_t fingerprint[COUNT_MAX_D];
		};
		uint64_t counter[COUNT_MAX_K]; /* standard: by number, one in each segment */
	};
};

struct ink_count_ops {
	void (*shape)(struct ink_count *c); /* what the kind computes in advance */
	int (*add)(struct ink_count *c, uint64_t id);
	int (*remove)(struct ink_count *c, uint64_t id);
	uint32_t (*count)(const struct ink_count *c, uint64_t id);
	int (*add_batch)(struct ink_count *c, const struct ink_count_batch *b);
	int (*remove_batch)(struct ink_count *c, const struct ink_count_batch *b);
	void (*contains_batch)(const struct ink_count *c, const struct ink_count_batch *b);
	int (*merge)(struct ink_count *into, const struct ink_count *from); /* -ENOSPC, -ENOMEM: as it was */
	double (*error)(const struct ink_count *c);      /* share of strangers that are found */
	const char *(*check)(const struct ink_count *c); /* NULL, or what is wrong with the cells */
};

extern const struct ink_count_ops *const ink_count_dleft, *const ink_count_standard;

/* Of the whole geometry: the bits of a cell, the cells, the bytes in use in the body. */
uint32_t ink_count_cell_bits(const struct ink_count_plan *plan);
uint64_t ink_count_cells(const struct ink_count_plan *plan);
uint64_t ink_count_used(const struct ink_count_plan *plan);

/* Where segment i of a standard filter begins; i = k: the end. */
uint64_t ink_count_segment(const struct ink_count_geometry *g, uint32_t i);

/* Copies the caller's options, which may be of another version; -EINVAL. */
int ink_count_read_options(struct ink_count_options *ours, const struct ink_count_options *theirs,
			   struct ink_why *why);

/* ink_count_plan for structs of this version. */
int ink_count_find_plan(const struct ink_count_options *options, struct ink_count_plan *plan,
			struct ink_why *why);

/* Everything that follows from kind, geometry and items. */
void ink_count_expect(struct ink_count_plan *plan);

/* Gives a set whose plan is made all that follows from it, the body apart. */
void ink_count_attach(struct ink_count *c);

/* An empty struct of that allocator, or NULL. */
struct ink_count *ink_count_alloc(const struct ink_allocator *a);

/* Frees the body. */
void ink_count_release_body(struct ink_count *c);

/* ------------------------------------------------------------------- cells */

/* The cell that begins at bit `at`. */
COUNT_HOT uint64_t ink_count_get_bits(const struct ink_count *c, uint64_t at)
{
	uint64_t word;

	memcpy(&word, c->body + at / 8, sizeof word);
	return le64toh(word) >> at % 8 & c->cell_mask;
}

COUNT_HOT void ink_count_put_bits(struct ink_count *c, uint64_t at, uint64_t value)
{
	unsigned shift = at % 8;
	uint64_t word;

	memcpy(&word, c->body + at / 8, sizeof word);
	word = htole64((le64toh(word) & ~(c->cell_mask << shift)) | value << shift);
	memcpy(c->body + at / 8, &word, sizeof word);
}

COUNT_HOT uint64_t ink_count_get(const struct ink_count *c, uint64_t cell)
{
	return ink_count_get_bits(c, cell * c->cell_bits);
}

COUNT_HOT void ink_count_put(struct ink_count *c, uint64_t cell, uint64_t value)
{
	ink_count_put_bits(c, cell * c->cell_bits, value);
}

/* A number below `end` (at most 2^28) from 32 random bits, by a product instead of a remainder. */
COUNT_HOT uint32_t ink_count_below(uint64_t half, uint64_t end)
{
	return (uint32_t)(half * end >> 32);
}

/* a + b, where both count and the limit sticks. */
static inline uint32_t ink_count_sum(const struct ink_count *c, uint32_t a, uint32_t b)
{
	return a + b < c->limit ? a + b : c->limit;
}

#endif
