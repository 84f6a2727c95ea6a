/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The compact line: quotienting inside 64 bytes.
 *
 * A flow's id names a line, a small bucket in it (0 .. q-1) and a remainder of
 * r bits. Only the remainder is stored; the bucket is where it stands. The
 * entries of a line are kept in the order of their buckets, and the metadata
 * tell in unary how many each bucket has: a 1 for every entry, then a 0.
 *
 *     entries   bucket 0: A B   bucket 1: -   bucket 2: C   ...
 *     metadata            1 1 0             0           1 0 ...
 *
 * The 512 bits of a line with h slots (for r = 8, 4 state bits and 1 age bit:
 * h = 32, q = 59), bit i being bit i % 64 of word i / 64:
 *
 *     0                h*r               h*(r+s+a)      507-(h+q)        507   511
 *     +-----------------+-----------------+------- - - ---+---------------+-----+----+
 *     | h remainders    | a + s planes    | 0             | metadata      |sides|over|
 *     +-----------------+-----------------+------- - - ---+---------------+-----+----+
 *
 * Plane j holds bit j of every slot's code (state << a | age): so a shift of
 * entries is a shift of each plane, and a tick works on all slots at once. The
 * metadata lie in the last two words, with at least one bit before them, which
 * serves as the end of "bucket -1". Free slots are 0: zeroed memory is an empty
 * line. The overflow flag means the same as in line.h.
 *
 * The second line follows from the first, bucket and remainder, as in line.h.
 */
#ifndef INKLING_KINDS_COMPACT_COMPACT_H
#define INKLING_KINDS_COMPACT_COMPACT_H

#include "table/table.h"

__extension__ typedef unsigned __int128 uint128;

/* What a compact line allows: 512 bits less five flags; entries and buckets in the last two words. */
enum {
	COMPACT_BITS = 507,
	COMPACT_META_BITS = 122, /* h + q at the most; one bit before them */
	COMPACT_MIN_SLOTS = 4,
	COMPACT_MAX_SLOTS = 56, /* so that a plane is got with one shift */
	COMPACT_MIN_R = 4,
	COMPACT_MAX_R = 24,
};

/*
 * `compact`: h entries with r remainder bits, q small buckets; see compact.h.
 * All offsets are bits in the 512 of a line.
 */
struct ink_compact_shape {
	uint32_t slots;          /* h */
	uint32_t buckets;        /* q */
	uint32_t remainder_bits; /* r */
	uint32_t planes;         /* state and age bits */
	uint32_t planes_at;      /* the first plane */
	uint32_t meta_at;        /* the unary metadata, in the last two words */
	uint32_t meta_start;     /* the same, in bits from word 6 */
	uint64_t meta[2];        /* its mask in words 6 and 7 */
	uint64_t before[2];      /* the bit before it */
};

INK_SHAPE(struct ink_compact_shape);

static inline struct ink_compact_shape *ink_compact_shape_of(const struct ink_table *t)
{
	return (struct ink_compact_shape *)(uintptr_t)t->shape;
}

extern const struct ink_ops *const ink_compact_portable, *const ink_compact_avx2,
								 *const ink_compact_common_avx2;

enum {
	COMPACT_WORD_BITS = 3,
	COMPACT_WORDS = 1 << COMPACT_WORD_BITS,
	COMPACT_META_WORD = 6,  /* the metadata lie in this one and the next */
	COMPACT_META_END = 123, /* in bits from there; then the flags */
	COMPACT_MAX_PLANES = 10,
};

/* In word 7. */
enum { COMPACT_SIDE = 59, COMPACT_SIDE_BITS = 4, COMPACT_SIDE_MASK = (1 << COMPACT_SIDE_BITS) - 1 };
#define COMPACT_OVERFLOW (1ull << 63)
#define COMPACT_FLAGS ((uint64_t)COMPACT_SIDE_MASK << COMPACT_SIDE | COMPACT_OVERFLOW)

struct compact_line {
	uint64_t word[COMPACT_WORDS];
} __attribute__((aligned(64)));

_Static_assert(sizeof(struct compact_line) == 64, "a line is one cache line");
_Static_assert(COMPACT_BITS == 64 * COMPACT_META_WORD + COMPACT_META_END &&
		       (int)COMPACT_META_BITS < (int)COMPACT_META_END,
	       "metadata and a bit before them end where the flags begin");
_Static_assert(1ull << COMPACT_SIDE << COMPACT_SIDE_BITS == COMPACT_OVERFLOW &&
		       COMPACT_OVERFLOW == 1ull << 63,
	       "side flags, and the last bit");

/* ------------------------------------------------------------------ bit fields */

static inline uint64_t low_bits(unsigned n)
{
	return n >= 64 ? ~0ull : (1ull << n) - 1;
}

/* n bits (1 .. 57) from bit `at`; they may cross a word. */
static inline uint64_t bits_get(const uint64_t *w, unsigned at, unsigned n)
{
	unsigned i = at / 64, shift = at % 64;
	uint64_t bits = w[i] >> shift;

	if (shift + n > 64)
		bits |= w[i + 1] << (64 - shift);
	return bits & low_bits(n);
}

static inline void bits_put(uint64_t *w, unsigned at, unsigned n, uint64_t bits)
{
	unsigned i = at / 64, shift = at % 64;

	w[i] = (w[i] & ~(low_bits(n) << shift)) | bits << shift;
	if (shift + n > 64)
		w[i + 1] = (w[i + 1] & ~(low_bits(n) >> (64 - shift))) | bits >> (64 - shift);
}

/* Makes room for a bit, or takes one out, and moves those above it. */
static inline uint64_t bit_open(uint64_t bits, unsigned at, uint64_t bit)
{
	uint64_t below = low_bits(at);

	return (bits & below) | (bits & ~below) << 1 | bit << at;
}

static inline uint64_t bit_close(uint64_t bits, unsigned at)
{
	uint64_t below = low_bits(at);

	return (bits & below) | (bits >> 1 & ~below);
}

/* ------------------------------------------------------------------- side flags */

/*
 * Which classes of a line's flows are sent to the side table, one bit each. Few
 * lines have a flow there, and very few have two; so the four flags together are a
 * number that names one class, or all. (A flag for every fourth class made
 * twice as many flows probe the side table without an entry there.) Two of the names stand for two classes.
 */
static const uint16_t compact_sent[1 << COMPACT_SIDE_BITS] = {
	0,      0x4001, 0x8002, 0x0004, 0x0008, 0x0010, 0x0020, 0x0040,
	0x0080, 0x0100, 0x0200, 0x0400, 0x0800, 0x1000, 0x2000, 0xffff,
};

_Static_assert(INK_SIDE_CLASSES == 16, "a bit for each class");

/* The flags for these classes. */
static inline unsigned compact_side_flags(unsigned classes)
{
	unsigned flags = 0;

	while (classes & ~(unsigned)compact_sent[flags])
		flags++;
	return flags;
}

/* -------------------------------------------------------------------- metadata */

static inline uint128 meta_mask(const struct ink_compact_shape *s)
{
	return (uint128)s->meta[1] << 64 | s->meta[0];
}

static inline uint128 window(const uint64_t *w)
{
	return (uint128)w[COMPACT_META_WORD + 1] << 64 | w[COMPACT_META_WORD];
}

static inline unsigned line_count(const struct ink_compact_shape *s, const uint64_t *w)
{
	return (unsigned)(__builtin_popcountll(w[COMPACT_META_WORD] & s->meta[0]) +
			  __builtin_popcountll(w[COMPACT_META_WORD + 1] & s->meta[1]));
}

/* The bits of the two words below a bit of the window, without a branch on which word it is in. */
INK_HOT void window_below(unsigned at, uint64_t below[2])
{
	uint64_t in_high = 0 - (uint64_t)(at >> 6), part = (1ull << at % 64) - 1;

	below[0] = part | in_high;
	below[1] = part & in_high;
}

/* Puts a 1 in front of the metadata from a bit on; the flags above stay. */
INK_HOT void meta_open(const struct ink_compact_shape *s, uint64_t *w, unsigned at)
{
	uint64_t *low = &w[COMPACT_META_WORD], *high = low + 1, below[2], move[2];

	window_below(at, below);
	move[0] = *low & s->meta[0] & ~below[0];
	move[1] = *high & s->meta[1] & ~below[1];
	*low = (*low & ~move[0]) | (move[0] << 1 & s->meta[0]) | (~below[0] & (below[0] + 1));
	*high = (*high & ~move[1]) | ((move[1] << 1 | move[0] >> 63) & s->meta[1]);
	*high |= (uint64_t)(at >> 6) << at % 64;
}

/* Takes the bit there out. */
INK_HOT void meta_close(const struct ink_compact_shape *s, uint64_t *w, unsigned at)
{
	uint64_t *low = &w[COMPACT_META_WORD], *high = low + 1, below[2], move[2];

	window_below(at, below);
	move[0] = *low & s->meta[0] & ~below[0];
	move[1] = *high & s->meta[1] & ~below[1];
	*low = (*low & ~move[0]) | ((move[0] >> 1 | move[1] << 63) & s->meta[0] & ~below[0]);
	*high = (*high & ~move[1]) | (move[1] >> 1 & ~below[1]);
}

/* ---------------------------------------------------- remainders of any width */

static inline uint32_t any_remainder_get(const struct ink_compact_shape *s, const uint64_t *w, unsigned slot)
{
	return (uint32_t)bits_get(w, slot * s->remainder_bits, s->remainder_bits);
}

/* The slots among `among` (a run) that hold the remainder. */
static inline uint64_t any_remainder_match(const struct ink_compact_shape *s, const uint64_t *w,
					   uint32_t remainder, uint64_t among)
{
	uint64_t found = 0;

	for (; among; among &= among - 1) {
		unsigned slot = (unsigned)__builtin_ctzll(among);

		if (any_remainder_get(s, w, slot) == remainder)
			found |= 1ull << slot;
	}
	return found;
}

static inline void any_remainder_open(const struct ink_compact_shape *s, uint64_t *w, unsigned slot,
				      unsigned count, uint32_t remainder)
{
	unsigned r = s->remainder_bits;

	for (unsigned i = count; i > slot; i--)
		bits_put(w, i * r, r, bits_get(w, (i - 1) * r, r));
	bits_put(w, slot * r, r, remainder);
}

static inline void any_remainder_close(const struct ink_compact_shape *s, uint64_t *w, unsigned slot,
				       unsigned count)
{
	unsigned r = s->remainder_bits;

	for (unsigned i = slot; i + 1 < count; i++)
		bits_put(w, i * r, r, bits_get(w, (i + 1) * r, r));
	bits_put(w, (count - 1) * r, r, 0);
}

/* ------------------------------------------------------------ planes of any width */

static inline unsigned any_code_get(const struct ink_compact_shape *s, const uint64_t *w, unsigned slot)
{
	unsigned code = 0;

	for (unsigned j = 0, at = s->planes_at + slot; j < s->planes; j++, at += s->slots)
		code |= (unsigned)(w[at / 64] >> at % 64 & 1) << j;
	return code;
}

static inline void any_code_put(const struct ink_compact_shape *s, uint64_t *w, unsigned slot, unsigned code)
{
	for (unsigned j = 0, at = s->planes_at + slot; j < s->planes; j++, at += s->slots)
		w[at / 64] = (w[at / 64] & ~(1ull << at % 64)) | (uint64_t)(code >> j & 1) << at % 64;
}

static inline void any_planes_open(const struct ink_compact_shape *s, uint64_t *w, unsigned slot,
				   unsigned code)
{
	for (unsigned j = 0, at = s->planes_at; j < s->planes; j++, at += s->slots) {
		uint64_t plane = bits_get(w, at, s->slots);

		bits_put(w, at, s->slots, bit_open(plane, slot, code >> j & 1) & low_bits(s->slots));
	}
}

static inline void any_planes_close(const struct ink_compact_shape *s, uint64_t *w, unsigned slot)
{
	for (unsigned j = 0, at = s->planes_at; j < s->planes; j++, at += s->slots)
		bits_put(w, at, s->slots, bit_close(bits_get(w, at, s->slots), slot));
}

/* --------------------------------------------------------- entries of any width */

/* What is stored of a flow. */
struct entry {
	uint32_t bucket, remainder;
	unsigned code;
};

/* The metadata bit of an entry, in the window. */
static inline unsigned meta_of(const struct ink_compact_shape *s, unsigned slot, uint32_t bucket)
{
	return s->meta_start + slot + bucket;
}

/* Puts an entry into a slot of a line that is not full; those from there on move up. */
static inline void any_entry_open(const struct ink_compact_shape *s, uint64_t *w, unsigned slot,
				  struct entry e)
{
	any_remainder_open(s, w, slot, line_count(s, w), e.remainder);
	any_planes_open(s, w, slot, e.code);
	meta_open(s, w, meta_of(s, slot, e.bucket));
}

/* Takes the entry of a bucket out of a slot; those behind it move down. */
static inline void any_entry_close(const struct ink_compact_shape *s, uint64_t *w, unsigned slot,
				   uint32_t bucket)
{
	any_remainder_close(s, w, slot, line_count(s, w));
	any_planes_close(s, w, slot);
	meta_close(s, w, meta_of(s, slot, bucket));
}

/* ---------------------------------------------------------------------- places */

/* The lines are named by the numbers of their first words, which serve as addresses without a shift. */
struct place {
	uint32_t words[2];
	uint32_t bucket, remainder;
};

/* Their own numbers, for code that is not hot. */
static inline uint32_t first_line(const struct place *p)
{
	return p->words[0] / COMPACT_WORDS;
}

static inline uint32_t second_line(const struct place *p)
{
	return p->words[1] / COMPACT_WORDS;
}

#define COMPACT_MIX 0x9e3779b97f4a7c15ull

/* The line where the entry with that bucket and remainder could also stand. */
static inline uint32_t other_line(uint32_t lines, uint32_t line, uint64_t stored)
{
	uint64_t mixed = (stored * COMPACT_MIX) >> 32;
	uint32_t sum = (uint32_t)((mixed * lines) >> 32);

	return sum >= line ? sum - line : sum + lines - line;
}

/* What a line knows of an entry besides its code, as one number. */
static inline uint64_t stored_bits(const struct ink_compact_shape *s, uint32_t bucket, uint32_t remainder)
{
	return (uint64_t)bucket << s->remainder_bits | remainder;
}

/* Line, bucket and remainder are the leading digits of the id, read in mixed radix. */
static inline struct place compact_place(const struct ink_compact_shape *s, uint32_t lines, uint64_t id)
{
	uint128 digits = (uint128)id * lines;
	uint128 rest = (uint128)(uint64_t)digits * s->buckets;
	uint32_t first = (uint32_t)(digits >> 64), bucket = (uint32_t)(rest >> 64);
	uint32_t remainder = (uint32_t)((uint64_t)rest >> (64 - s->remainder_bits));
	uint32_t second = other_line(lines, first, stored_bits(s, bucket, remainder));

	return (struct place){{first * COMPACT_WORDS, second * COMPACT_WORDS}, bucket, remainder};
}

static inline struct ink_compact_shape compact_shape(const struct ink_geometry *g, unsigned planes)
{
	struct ink_compact_shape s = {.slots = g->h,
				      .buckets = g->q,
				      .remainder_bits = g->f,
				      .planes = planes,
				      .planes_at = g->h * g->f,
				      .meta_at = COMPACT_BITS - (g->h + g->q),
				      .meta_start = COMPACT_META_END - (g->h + g->q)};
	uint128 mask = (((uint128)1 << (g->h + g->q)) - 1) << s.meta_start,
		before = (uint128)1 << (s.meta_start - 1);

	s.meta[0] = (uint64_t)mask;
	s.meta[1] = (uint64_t)(mask >> 64);
	s.before[0] = (uint64_t)before;
	s.before[1] = (uint64_t)(before >> 64);
	return s;
}

/*
 * The shape of tables with remainders of a byte and 32 slots of five bits (15
 * states and a timer), which the plan chooses for errors of about 0.4 %.
 */
static const struct ink_compact_shape compact_common = {
	.slots = 32,
	.buckets = 59,
	.remainder_bits = 8,
	.planes = 5,
	.planes_at = 256,
	.meta_at = 416,
	.meta_start = 32,
	.meta = {0xffffffff00000000, 0x07ffffffffffffff},
	.before = {1ull << 31, 0},
};

static inline int compact_is_common(const struct ink_plan *plan)
{
	const struct ink_compact_shape *s = &compact_common;
	const struct ink_geometry *g = &plan->geometry;

	return g->h == s->slots && g->q == s->buckets && g->f == s->remainder_bits &&
	       ink_codes_are_common(plan);
}

#endif
