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
 * What is stored of an entry is its remainder (r bits) and above it its code (c bits:
 * state << age bits | age). Of these T = r + c bits, whole bytes stand in columns, which
 * one comparison searches and one shift of bytes moves; the bits above, T mod 8, stand in
 * fields back to back. No bit is lost, whatever T is.
 *
 * The 512 bits of a line with h slots (for r = 10, 4 state bits and 1 age bit: h = 28,
 * q = 59, one column, fields of 7), bit i being bit i % 64 of word i / 64:
 *
 *     0                 8h*(T/8)            h*T             507-(h+q)        507   511
 *     +--- - ---+--- - ---+-----------------+------- - - ---+---------------+-----+----+
 *     | column 0| ...     | h fields        | 0             | metadata      |sides|over|
 *     +--- - ---+--- - ---+-----------------+------- - - ---+---------------+-----+----+
 *       h bytes   h bytes   of T mod 8 bits
 *
 * Column k holds bits 8k to 8k+7 of every slot. With T below 8 there are fields alone.
 * The metadata lie in the last two words, with at least one bit before them, which
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
	COMPACT_MAX_SLOTS = 56, /* so that the slots of a line are the bits of a word */
	COMPACT_MIN_R = 4,
	COMPACT_MAX_R = 24,
};

/*
 * `compact`: h entries with r remainder bits, q small buckets; see above.
 * All offsets are bits in the 512 of a line.
 */
struct ink_compact_shape {
	uint32_t slots;          /* h */
	uint32_t buckets;        /* q */
	uint32_t remainder_bits; /* r */
	uint32_t code_bits;      /* c: state and age */
	uint32_t columns;        /* T / 8 */
	uint32_t field_bits;     /* T mod 8 */
	uint32_t fields_at;      /* the first field */
	uint32_t meta_at;        /* the unary metadata, in the last two words */
	uint32_t meta_start;     /* the same, in bits from word 6 */
	uint32_t has_vectors;    /* the vector code can shift its entries: see compact_has_vectors */
	uint32_t remainder_mask; /* r ones */
	uint32_t field_mask;     /* field_bits ones */
	uint64_t all_slots;      /* h ones */
	uint64_t meta[2];        /* the metadata's mask in words 6 and 7 */
	uint64_t before[2];      /* the bit before them */
	uint64_t fields[4];      /* the fields' mask, from word compact_fields_word() on */
	int8_t places[64];       /* the slot of each byte of a column; COMPACT_NO_COLUMN: of others */
};

INK_SHAPE(struct ink_compact_shape);

static inline struct ink_compact_shape *ink_compact_shape_of(const struct ink_table *t)
{
	return (struct ink_compact_shape *)(uintptr_t)t->shape;
}

extern const struct ink_ops *const ink_compact_portable, *const ink_compact_avx2;
extern const struct ink_ops *const ink_compact_common_avx2, *const ink_compact_common_default_error_avx2;
extern const struct ink_ops *const ink_compact_columns_1_avx2, *const ink_compact_columns_1_many_slots_avx2;
extern const struct ink_ops *const ink_compact_columns_2_avx2, *const ink_compact_columns_3_avx2;

enum {
	COMPACT_WORD_BITS = 3,
	COMPACT_WORDS = 1 << COMPACT_WORD_BITS,
	COMPACT_META_WORD = 6,  /* the metadata lie in this one and the next */
	COMPACT_META_END = 123, /* in bits from there; then the flags */
	COMPACT_MAX_CODE = 10,  /* bits */
	COMPACT_NO_COLUMN = -128,
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

/* n bits (1 .. 64) from bit `at`; they may cross a word. */
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

/* The bits of word i that are among those from .. to-1 of the line. */
static inline uint64_t word_bits_between(unsigned i, unsigned from, unsigned to)
{
	unsigned begin = 64 * i;
	uint64_t below = to > begin ? low_bits(to - begin) : 0;

	return from > begin ? below & ~low_bits(from - begin) : below;
}

/* Moves the bits from .. to-1 up by n (1 .. 8), over those that are there; the lowest n stay as well. */
static inline void bits_up(uint64_t *w, unsigned from, unsigned to, unsigned n)
{
	for (unsigned i = (to + n - 1) / 64 + 1; i-- > (from + n) / 64;) {
		uint64_t moved = w[i] << n | (i ? w[i - 1] >> (64 - n) : 0);
		uint64_t there = word_bits_between(i, from + n, to + n);

		w[i] = (w[i] & ~there) | (moved & there);
	}
}

/* Moves them down. The highest n stay as well. */
static inline void bits_down(uint64_t *w, unsigned from, unsigned to, unsigned n)
{
	for (unsigned i = (from - n) / 64; i <= (to - n - 1) / 64; i++) {
		uint64_t moved = w[i] >> n | (i + 1 < COMPACT_WORDS ? w[i + 1] << (64 - n) : 0);
		uint64_t there = word_bits_between(i, from - n, to - n);

		w[i] = (w[i] & ~there) | (moved & there);
	}
}

/*
 * Of a number in every slot, one bit: a tick wants the codes of a line as planes, plane j
 * with bit j of every slot's code. Eight slots are taken at once.
 */

/* Eight bits, four pairs and two fours of them, the bits `stride` apart before they were joined. */
static const uint64_t stride_bits[9] = {
	0,
	0x00000000000000ff,
	0x0000000000005555,
	0x0000000000249249,
	0x0000000011111111,
	0x0000000842108421,
	0x0000041041041041,
	0x0002040810204081,
	0x0101010101010101,
};

static const uint64_t stride_pairs[9] = {
	0,
	0x00000000000000ff,
	0x0000000000003333,
	0x00000000000c30c3,
	0x0000000003030303,
	0x00000000c0300c03,
	0x0000003003003003,
	0x00000c003000c003,
	0x0003000300030003,
};

static const uint64_t stride_fours[9] = {
	0,
	0x00000000000000ff,
	0x0000000000000f0f,
	0x000000000000f00f,
	0x00000000000f000f,
	0x0000000000f0000f,
	0x000000000f00000f,
	0x00000000f000000f,
	0x0000000f0000000f,
};

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

/* --------------------------------------------------------- entries of any width */

/* What is stored of a flow. */
struct entry {
	uint32_t bucket, remainder;
	unsigned code;
};

/* Columns and fields are alike: h numbers of some bits each, back to back. */
struct row {
	unsigned at, width; /* of the first number, in bits */
	unsigned first;     /* of the bits of an entry, the first that it holds */
};

static inline unsigned compact_rows(const struct ink_compact_shape *s)
{
	return s->columns + (s->field_bits != 0);
}

static inline struct row compact_row(const struct ink_compact_shape *s, unsigned k)
{
	return (struct row){k * s->slots * 8, k < s->columns ? 8 : s->field_bits, k * 8};
}

/* Remainder and code of an entry as one number, and back. */
static inline uint64_t entry_pack(const struct ink_compact_shape *s, uint32_t remainder, unsigned code)
{
	return (uint64_t)code << s->remainder_bits | remainder;
}

static inline uint32_t packed_remainder(const struct ink_compact_shape *s, uint64_t packed)
{
	return (uint32_t)packed & s->remainder_mask;
}

static inline unsigned packed_code(const struct ink_compact_shape *s, uint64_t packed)
{
	return (unsigned)(packed >> s->remainder_bits);
}

static inline uint64_t any_packed_get(const struct ink_compact_shape *s, const uint64_t *w, unsigned slot)
{
	uint64_t packed = 0;

	for (unsigned k = 0; k < compact_rows(s); k++) {
		struct row row = compact_row(s, k);

		packed |= bits_get(w, row.at + slot * row.width, row.width) << row.first;
	}
	return packed;
}

static inline void any_packed_put(const struct ink_compact_shape *s, uint64_t *w, unsigned slot,
				  uint64_t packed)
{
	for (unsigned k = 0; k < compact_rows(s); k++) {
		struct row row = compact_row(s, k);

		bits_put(w, row.at + slot * row.width, row.width, packed >> row.first & low_bits(row.width));
	}
}

/* Some planes of the codes: those from .. to-1. */
struct plane_range {
	unsigned from, to;
};

/* How the candidates of a line are found: see line_candidates in cells.h. */
enum search {
	SEARCH_BYTES,           /* those with the remainder's byte, whatever their bucket */
	SEARCH_BYTES_IN_BUCKET, /* those with the remainder's byte, in its bucket */
	SEARCH_BUCKET           /* those of the bucket, one after the other */
};

/* The slots among `among` (a run) that hold the remainder. */
static inline uint64_t any_remainder_match(const struct ink_compact_shape *s, const uint64_t *w,
					   uint32_t remainder, uint64_t among)
{
	uint64_t found = 0;

	for (; among; among &= among - 1) {
		unsigned slot = (unsigned)__builtin_ctzll(among);

		if (packed_remainder(s, any_packed_get(s, w, slot)) == remainder)
			found |= 1ull << slot;
	}
	return found;
}

/* The metadata bit of an entry, in the window. */
static inline unsigned meta_of(const struct ink_compact_shape *s, unsigned slot, uint32_t bucket)
{
	return s->meta_start + slot + bucket;
}

/* Puts an entry into a slot of a line that is not full; those from there on move up. */
static inline void any_entry_open(const struct ink_compact_shape *s, uint64_t *w, unsigned slot,
				  struct entry e)
{
	for (unsigned k = 0; k < compact_rows(s); k++) {
		struct row row = compact_row(s, k);

		if (slot + 1 < s->slots)
			bits_up(w, row.at + slot * row.width, row.at + (s->slots - 1) * row.width, row.width);
	}
	any_packed_put(s, w, slot, entry_pack(s, e.remainder, e.code));
	meta_open(s, w, meta_of(s, slot, e.bucket));
}

/* Takes the entry of a bucket out of a slot; those behind it move down. */
static inline void any_entry_close(const struct ink_compact_shape *s, uint64_t *w, unsigned slot,
				   uint32_t bucket)
{
	for (unsigned k = 0; k < compact_rows(s); k++) {
		struct row row = compact_row(s, k);

		if (slot + 1 < s->slots)
			bits_down(w, row.at + (slot + 1) * row.width, row.at + s->slots * row.width,
				  row.width);
	}
	any_packed_put(s, w, s->slots - 1, 0);
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

/* -------------------------------------------------------------------- the shape */

enum { COMPACT_FIELD_WORDS = 4 }; /* a vector */

/* The first of the four words in which the vector code has the fields. */
static inline unsigned compact_fields_word(const struct ink_compact_shape *s)
{
	return s->field_bits && s->fields_at < 256 ? 3 : 4;
}

/*
 * The vector code shifts the fields of a line in one register: the second half of the
 * line, or words 3 to 6 if they begin in word 3. Sensible shapes with a column have them
 * there; without a column (T < 8) there is nothing to compare at once.
 */
static inline int compact_has_vectors(const struct ink_compact_shape *s)
{
	unsigned begin = 64 * compact_fields_word(s), end = s->fields_at + s->slots * s->field_bits;

	return s->columns &&
	       (!s->field_bits || (s->fields_at >= begin && end <= begin + 64 * COMPACT_FIELD_WORDS));
}

static inline void compact_set_places(struct ink_compact_shape *s)
{
	for (unsigned i = 0; i < sizeof s->places; i++)
		s->places[i] =
			(int8_t)(i < s->columns * s->slots ? (int)(i % s->slots) : (int)COMPACT_NO_COLUMN);
}

static inline void compact_set_fields(struct ink_compact_shape *s)
{
	unsigned end = s->fields_at + s->slots * s->field_bits;

	s->field_mask = (uint32_t)low_bits(s->field_bits);
	for (unsigned i = 0; i < COMPACT_FIELD_WORDS; i++)
		s->fields[i] = word_bits_between(compact_fields_word(s) + i, s->fields_at, end);
}

static inline void compact_set_masks(struct ink_compact_shape *s)
{
	uint128 mask = (((uint128)1 << (s->slots + s->buckets)) - 1) << s->meta_start;
	uint128 before = (uint128)1 << (s->meta_start - 1);

	s->meta[0] = (uint64_t)mask;
	s->meta[1] = (uint64_t)(mask >> 64);
	s->before[0] = (uint64_t)before;
	s->before[1] = (uint64_t)(before >> 64);
	s->all_slots = low_bits(s->slots);
	s->remainder_mask = (uint32_t)low_bits(s->remainder_bits);
}

static inline struct ink_compact_shape compact_shape(const struct ink_geometry *g, unsigned code_bits)
{
	unsigned bits = g->f + code_bits;
	struct ink_compact_shape s = {.slots = g->h,
				      .buckets = g->q,
				      .remainder_bits = g->f,
				      .code_bits = code_bits,
				      .columns = bits / 8,
				      .field_bits = bits % 8,
				      .fields_at = bits / 8 * g->h * 8,
				      .meta_at = COMPACT_BITS - (g->h + g->q),
				      .meta_start = COMPACT_META_END - (g->h + g->q)};

	s.has_vectors = (uint32_t)compact_has_vectors(&s);
	compact_set_masks(&s);
	compact_set_fields(&s);
	compact_set_places(&s);
	return s;
}

/* ------------------------------------------------------------ shapes compiled in */

/*
 * Two shapes of tables with 8 to 15 states and a timer are known to variants of their
 * own (family.h). A test holds them against compact_shape().
 */

/* What the plan chooses for errors of about 0.4 %. */
static const struct ink_compact_shape compact_common = {
	.slots = 32,
	.buckets = 59,
	.remainder_bits = 8,
	.code_bits = 5,
	.columns = 1,
	.field_bits = 5,
	.fields_at = 256,
	.meta_at = 416,
	.meta_start = 32,
	.has_vectors = 1,
	.remainder_mask = 0xff,
	.field_mask = 0x1f,
	.all_slots = 0xffffffff,
	.meta = {0xffffffff00000000, 0x7ffffffffffffff},
	.before = {0x80000000, 0},
	.fields = {0xffffffffffffffff, 0xffffffffffffffff, 0xffffffff, 0},
	.places = {0,    1,    2,    3,    4,    5,    6,    7,    8,    9,    10,   11,   12,
		   13,   14,   15,   16,   17,   18,   19,   20,   21,   22,   23,   24,   25,
		   26,   27,   28,   29,   30,   31,   -128, -128, -128, -128, -128, -128, -128,
		   -128, -128, -128, -128, -128, -128, -128, -128, -128, -128, -128, -128, -128,
		   -128, -128, -128, -128, -128, -128, -128, -128, -128, -128, -128, -128},
};

/* ... and for the default, 1/1024: two columns, and no fields. */
static const struct ink_compact_shape compact_default_error = {
	.slots = 28,
	.buckets = 31,
	.remainder_bits = 11,
	.code_bits = 5,
	.columns = 2,
	.field_bits = 0,
	.fields_at = 448,
	.meta_at = 448,
	.meta_start = 64,
	.has_vectors = 1,
	.remainder_mask = 0x7ff,
	.field_mask = 0,
	.all_slots = 0xfffffff,
	.meta = {0, 0x7ffffffffffffff},
	.before = {0x8000000000000000, 0},
	.fields = {0, 0, 0, 0},
	.places = {0,  1,  2,  3,  4,  5,  6,  7,  8,    9,    10,   11,   12,   13,   14,   15,
		   16, 17, 18, 19, 20, 21, 22, 23, 24,   25,   26,   27,   0,    1,    2,    3,
		   4,  5,  6,  7,  8,  9,  10, 11, 12,   13,   14,   15,   16,   17,   18,   19,
		   20, 21, 22, 23, 24, 25, 26, 27, -128, -128, -128, -128, -128, -128, -128, -128},
};

static inline int compact_is_shape(const struct ink_plan *plan, const struct ink_compact_shape *s)
{
	const struct ink_geometry *g = &plan->geometry;

	return g->h == s->slots && g->q == s->buckets && g->f == s->remainder_bits &&
	       ink_codes_are_common(plan);
}

#endif
