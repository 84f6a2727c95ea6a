/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Snapshots that were forged, with right checksums: each is refused, with the reason,
 * by what it claims of side tables and cells. What is changed are bits at the places
 * of docs/format.md.
 */
#include <sys/mman.h>

#include "tests/snapshot.h"

/* ------------------------------------------------------------ forged side tables */

static struct image *empty_image(struct ink_options o)
{
	struct ink_table *t = create(o);

	save(t, path_of("empty"));
	return image_at(path_of("empty"));
}

static struct ink_table *with_20_aside(struct ink_options o)
{
	struct ink_stats s = {.size = sizeof s};
	struct ink_table *t = create(o);

	for (uint64_t n = 0; s.side_flows < 20; n++) {
		assert_int_equal(ink_insert(t, id_number(n), (unsigned)(n % 10)), 0);
		ink_stats(t, &s);
	}
	return t;
}

/* A table whose side table, in chains, has used, free and never used entries. */
static struct image *side_image(void)
{
	struct ink_options o = {.kind = INK_DLEFT,
				.states = 10,
				.age_bits = 1,
				.geometry = {.d = 2, .b = 8, .h = 2, .f = 11, .side = 60}};
	struct ink_table *t = with_20_aside(o);
	struct image *i;

	save(t, path_of("side"));
	i = image_at(path_of("side"));
	for (uint32_t entry = 0; entry < 20; entry += 3)
		assert_int_equal(ink_delete(t, image_get64(i, side_entry(i, entry))), 0);
	save(t, path_of("side"));
	return image_at(path_of("side"));
}

/* Where its parts are: 32 cells of 16 bits and what is behind them, the head, 60 chains, 60 entries of 16 bytes. */
enum { HEAD = AT_BODY + 64 + 16, CHAINS = HEAD + 16, ENTRIES = CHAINS + 60 * 4, ENTRY = 16 };
enum { HEAD_COUNT = 0, HEAD_FREE = 4, HEAD_FRESH = 8, HEAD_ZERO = 12 };
enum { ENTRY_NEXT = 8, ENTRY_CODE = 12, ENTRY_USED = 14 };

struct forgery {
	struct change changes[4];
	const char *word; /* of the reason for which it is refused; NULL: it must be loaded */
};

static void assert_sealed_refused(struct image *i, const char *word)
{
	image_seal(i);
	assert_image_refused(i, word);
}

static void assert_judged(struct image *original, const struct forgery *f)
{
	struct image *i = image_like(original);

	for (unsigned c = 0; c < 4; c++)
		put_bits(i, f->changes[c]);
	image_seal(i);
	if (f->word)
		assert_image_refused(i, f->word);
	else
		assert_true(try_forged(i, INK_LOAD_READ) && try_forged(i, INK_LOAD_MAP));
}

#define ROWS(of) of, COUNT(of)

static void assert_all_judged(struct image *original, const struct forgery *f, size_t n)
{
	for (size_t k = 0; k < n; k++)
		assert_judged(original, &f[k]);
}

/*
 * Of side_image, entries 0, 3 .. 18 are free and linked from 18 down; the other
 * 13 below 20 are used; from 20 on they never were.
 */
static const struct forgery side_forgeries[] = {
	{{{HEAD, 0, 0, 0}}, NULL},
	{{{ENTRIES + 1 * ENTRY + ENTRY_NEXT, 0, 32, 2}}, "does not end"},
	{{{ENTRIES + 0 * ENTRY + ENTRY_NEXT, 0, 32, 19}}, "does not end"},
	{{{CHAINS, 0, 32, 21}}, "leads outside"},
	{{{ENTRIES + 2 * ENTRY + ENTRY_NEXT, 0, 32, UINT32_MAX}}, "leads outside"},
	{{{HEAD + HEAD_FREE, 0, 32, 1u << 31}}, "leads outside"},
	{{{HEAD + HEAD_COUNT, 0, 32, 14}}, "count"},
	{{{HEAD + HEAD_COUNT, 0, 32, UINT32_MAX}}, "head"},
	{{{HEAD + HEAD_FRESH, 0, 32, 61}}, "head"},
	{{{HEAD + HEAD_FRESH, 0, 32, 0}}, "head"},
	{{{HEAD + HEAD_FRESH, 0, 32, 21}}, "count"},
	{{{HEAD + HEAD_ZERO, 0, 32, 1}}, "head"},
	{{{HEAD + HEAD_FREE, 0, 32, 0}}, "count"},
	{{{ENTRIES + 1 * ENTRY + ENTRY_USED, 0, 16, 0}}, "free entry"},
	{{{ENTRIES + 1 * ENTRY + ENTRY_USED, 0, 16, 2}}, "free entry"},
	{{{ENTRIES + 3 * ENTRY + ENTRY_USED, 0, 16, 1}}, "used entry"},
	{{{ENTRIES + 30 * ENTRY + ENTRY_USED, 0, 16, 1}}, "never used"},
	{{{ENTRIES + 1 * ENTRY, 0, 64, 1ull << 63}}, "cannot be found"},
	{{{ENTRIES + 1 * ENTRY + ENTRY_CODE, 0, 16, 10 << 1}}, "state"},
	{{{ENTRIES + 1 * ENTRY + ENTRY_CODE, 0, 16, 15 << 1}}, "state"},
	{{{ENTRIES + 1 * ENTRY + ENTRY_CODE, 0, 16, UINT16_MAX}}, "state"},
};

TEST_THAT(a_forged_side_table_is_refused)
{
	struct image *i = side_image();

	assert_int_equal(side_base(i), HEAD);
	assert_int_equal(image_get32(i, HEAD + HEAD_COUNT), 13);
	assert_int_equal(image_get32(i, HEAD + HEAD_FREE), 19);
	assert_all_judged(i, ROWS(side_forgeries));
}

TEST_THAT(a_side_table_that_has_a_flow_twice_is_refused)
{
	struct image *i = side_image();
	size_t entry = ENTRIES + 1 * ENTRY, twin = ENTRIES + 20 * ENTRY;
	size_t chain = side_chain(i, (uint32_t)(image_get64(i, entry) >> 32));

	memcpy(i->bytes + twin, i->bytes + entry, ENTRY);
	image_put(i, twin + ENTRY_NEXT, 4, image_get32(i, chain));
	image_put(i, chain, 4, 21);
	image_put(i, HEAD + HEAD_FRESH, 4, 21);
	image_put(i, HEAD + HEAD_COUNT, 4, 14);
	assert_sealed_refused(i, "cannot be found");
}

/* The same in words: 6 lines take 3 bits, ids 48, codes 5. */
static struct image *words_image(void)
{
	struct ink_options o = {
		.kind = INK_LINE, .states = 10, .age_bits = 1, .geometry = {.b = 6, .h = 32, .side = 60}};
	struct ink_table *t = with_20_aside(o);

	save(t, path_of("side"));
	return image_at(path_of("side"));
}

enum { WORDS_HEAD = AT_BODY + 6 * 64, WORDS = WORDS_HEAD + 16, WORD_HOME = 53 };

static const struct forgery words_forgeries[] = {
	{{{WORDS_HEAD, 0, 0, 0}}, NULL},
	{{{WORDS_HEAD + HEAD_COUNT, 0, 32, 21}}, "count"},
	{{{WORDS_HEAD + HEAD_COUNT, 0, 32, 61}}, "head"},
	{{{WORDS_HEAD + HEAD_FRESH, 0, 32, 1}}, "head"},
	{{{WORDS_HEAD + HEAD_FREE, 0, 32, 1}}, "head"},
	{{{WORDS_HEAD + HEAD_ZERO, 0, 32, 1}}, "head"},
};

/* The first word that is used. */
static size_t used_word(struct image *i)
{
	size_t at = WORDS;

	while (!image_get64(i, at))
		at += 8;
	return at;
}

static uint32_t word_home(struct image *i, size_t at)
{
	return (uint32_t)((image_get64(i, at) - 1) >> WORD_HOME);
}

TEST_THAT(forged_words_of_a_side_table_are_refused)
{
	struct image *i = words_image();
	size_t at = used_word(i), class = (image_get64(i, at) - 1) / 32 % 4;
	size_t flag = line_base(word_home(i, at)) + 8 * class;
	uint64_t word = image_get64(i, at), flags = image_get64(i, flag);

	assert_int_equal(side_base(i), WORDS_HEAD);
	assert_all_judged(i, ROWS(words_forgeries));
	image_put(i, flag, 8, flags & ~(1ull << 63));
	assert_sealed_refused(i, "no flag");
	image_put(i, flag, 8, flags);
	image_put(i, at, 8, word + (6ull << WORD_HOME));
	assert_sealed_refused(i, "a home that there is not");
	image_put(i, at, 8, (word - 1) / 32 * 32 + (10 << 1) + 1);
	assert_sealed_refused(i, "state");
	image_put(i, at, 8, word);
	while (image_get64(i, at))
		at += 8;
	image_put(i, WORDS_HEAD + HEAD_COUNT, 4, 21);
	image_put(i, at + 8, 8, word); /* behind a free one */
	assert_sealed_refused(i, "looked for");
	image_put(i, at + 8, 8, 0);
	image_put(i, at, 8, word); /* in the same run: the flow is there twice */
	assert_sealed_refused(i, "cannot be found");
}

/*
 * All 65,537 chains lead to one list of 65,536 flows. Every flow is found, and
 * the sum of their lengths is 65,536 again, if it is counted in 32 bits.
 */
TEST_THAT(a_side_table_whose_chains_meet_is_refused)
{
	enum { CHAINS_MET = 65537, MET = 65536 };
	struct ink_options o = {.kind = INK_DLEFT,
				.states = 10,
				.geometry = {.d = 2, .b = 8, .h = 2, .f = 11, .side = CHAINS_MET}};
	struct image *i = empty_image(o);
	size_t head = side_base(i);

	image_put(i, head + HEAD_COUNT, 4, MET);
	image_put(i, head + HEAD_FRESH, 4, MET);
	for (uint32_t chain = 0; chain < CHAINS_MET; chain++)
		image_put(i, head + 16 + 4 * (size_t)chain, 4, 1);
	for (uint32_t entry = 0; entry < MET; entry++) {
		image_put(i, side_entry(i, entry), 8, id_number(entry));
		image_put(i, side_entry(i, entry) + ENTRY_NEXT, 4, entry + 1 < MET ? entry + 2 : 0);
		image_put(i, side_entry(i, entry) + ENTRY_USED, 2, 1);
	}
	assert_sealed_refused(i, "side table");
}

/* ----------------------------------------------------------------- forged cells */

enum { LINE = 64, WORD = 64, COLUMN = 16, LANE = 15 }; /* bytes, bits .. */

/* Bits of a line, or of any body if that is line 0. */
#define IN(line, bit, bits, value)                                                                           \
	{                                                                                                    \
		AT_BODY + (line)*LINE, bit, bits, value                                                      \
	}

/* As other_line(), of 7 lines. */
#define OTHER(line, mixed) ((((uint64_t)(mixed)*7 >> 32) + 7 - (line)) % 7)

/* Lanes of 15 bits: 10 of fingerprint, 1 of age, 4 of state. The top state is "don't know". */
static const struct forgery line_forgeries[] = {
	{{IN(0, 0, LANE, 1 | 9 << 11), IN(0, COLUMN, LANE, 2 | 15 << 11), IN(0, 4 * WORD + 63, 1, 1)}, NULL},
	{{IN(0, 0, LANE, 77 | 1 << 11), IN(0, 7 * WORD + 3 * COLUMN, LANE, 77 | 2 << 11)}, "told apart"},
	{{IN(0, 0, LANE, 1 | 10 << 11)}, "state"},
	{{IN(0, 4 * WORD + COLUMN, LANE, 1 << 11)}, "not empty"},
	{{IN(5, 5 * WORD + 47, 1, 1)}, "spare bit"},
	{{IN(2, 5 * WORD + 63, 1, 1)}, "spare bit"}, /* a lock that no thread would open */
	{{IN(2, 63, 1, 1)}, "side table"},           /* there is none */
	{{IN(2, 3 * WORD + 63, 1, 1)}, "side table"},
	{{IN(3, 0, LANE, 77), IN(OTHER(3, 77 * 0x9e3779b1u), 2 * WORD, LANE, 77)}, "told apart"},
};

/* 8 bits of remainder in a column, 32 slots, codes in fields of 5 bits, 59 buckets. */
enum { FIELDS = 32 * 8, META = 507 - (32 + 59) };

static const struct forgery compact_forgeries[] = {
	{{IN(0, META + 58, 8, 0xff), IN(0, 0, 64, 0x0706050403020100), IN(0, 511, 1, 1)}, NULL},
	{{IN(0, META, 33, UINT64_MAX)}, "more entries"},
	{{IN(0, 443, 64, UINT64_MAX)}, "more entries"},
	{{IN(0, META + 59, 1, 1)}, "last bucket"},
	{{IN(0, 506, 1, 1)}, "last bucket"},
	{{IN(0, 31 * 8, 8, 1)}, "free slot"},
	{{IN(0, FIELDS + 31 * 5 + 4, 1, 1)}, "free slot"},
	{{IN(0, META - 1, 1, 1)}, "free slot"},
	{{IN(0, META + 5, 2, 3), IN(0, 0, 16, 0x4444)}, "told apart"},
	{{IN(0, META, 1, 1), IN(0, FIELDS, 5, 10 << 1)}, "state"},
	{{IN(0, 507, 1, 1)}, "side table"}, /* there is none */
	{{IN(0, 510, 1, 1)}, "side table"},
	{{IN(1, META + 5, 1, 1),
	  IN(OTHER(1, (uint32_t)((5 << 8) * 0x9e3779b97f4a7c15ull >> 32)), META + 5, 1, 1)},
	 "told apart"},
};

/*
 * One flow of home 2 in a side table of 26 words behind 7 lines: its count, and
 * a word of 3 bits of home, 48 of id, 5 of code.
 */
static const struct change one_aside[] = {
	IN(7, 0, 32, 1),
	{AT_BODY + 7 * LINE + 16 + 8 * ((uint64_t)(2 * 0x9e3779b1u) * 26 >> 32), 0, 64,
	 ((2ull << 48 | 5) << 5) + 1},
};

/* The flow's id is 5 modulo 16: flag 1 of `line`, and name 6 of `compact`. */
static const struct forgery line_flags[] = {
	{{IN(2, 1 * WORD + 63, 1, 1)}, NULL},
	{{IN(2, 1 * WORD + 63, 1, 0)}, "has no flag"},
	{{IN(2, 2 * WORD + 63, 1, 1)}, "has no flag"},
	{{IN(2, 1 * WORD + 63, 1, 1), IN(2, 3 * WORD + 63, 1, 1)}, "a flag leads"},
	{{IN(2, 1 * WORD + 63, 1, 1), IN(3, 1 * WORD + 63, 1, 1)}, "a flag leads"},
};

static const struct forgery compact_flags[] = {
	{{IN(2, 507, 4, 6)}, NULL},
	{{IN(2, 507, 4, 0)}, "has no flag"},
	{{IN(2, 507, 4, 7)}, "has no flag"},
	{{IN(2, 507, 4, 15)}, "a flag leads"},
	{{IN(2, 507, 4, 6), IN(3, 507, 4, 6)}, "a flag leads"},
};

/* 3 x 5 buckets of 6 cells of 10 + 1 + 4 bits: 1350 bits in 22 words, one of zeros, one of flags. */
static const struct forgery dleft_forgeries[] = {
	{{IN(0, 0, 15, 3 | 9 << 11), IN(0, 89 * 15, 15, 3 | 15 << 11), IN(0, 23 * WORD, 15, 0x7fff)}, NULL},
	{{IN(0, 0, 15, 3 | 9 << 11), IN(0, 15, 15, 3 | 9 << 11)}, NULL}, /* twins are the paper's */
	{{IN(0, 15, 15, 3 | 10 << 11)}, "state"},
	{{IN(0, 89 * 15, 15, 1 << 11)}, "not empty"},
	{{IN(0, 1350, 1, 1)}, "behind the cells"},
	{{IN(0, 22 * WORD + 63, 1, 1)}, "behind the cells"},
	{{IN(0, 23 * WORD + 15, 1, 1)}, "behind the cells"},
};

/* 100 cells of 1 + 4 + 3 bits, 13 words and one of zeros. */
static const struct forgery stateful_forgeries[] = {
	{{IN(0, 0, 8, 1 | 9 << 1 | 1 << 5), IN(0, 99 * 8, 8, 15 << 1 | 7 << 5)}, NULL},
	{{IN(0, 8, 8, 10 << 1 | 1 << 5)}, "state"},
	{{IN(0, 16, 8, 9 << 1)}, "empty cell"},
	{{IN(0, 16, 8, 1)}, "empty cell"},
	{{IN(0, 100 * 8, 1, 1)}, "behind the cells"},
	{{IN(0, 13 * WORD + 63, 1, 1)}, "behind the cells"},
	{{{AT_THRESHOLD, 0, 32, 5}}, "geometry"},
	{{{AT_COUNTER_BITS, 0, 32, 1}}, "geometry"},
	{{{AT_M, 0, 32, 7}}, "geometry"},
	{{{AT_BLOOM_FLAGS, 0, 32, 1}}, "geometry"},
};

/* 500 cells of 1 + 2 bits, 24 words and one of zeros. */
static const struct forgery direct_forgeries[] = {
	{{IN(0, 0, 3, 2), IN(0, 499 * 3, 3, 7)}, NULL}, {{IN(0, 3, 3, 1)}, "empty cell"},
	{{IN(0, 500 * 3, 1, 1)}, "behind the cells"},   {{{AT_M, 0, 32, 7}}, "geometry"},
	{{{AT_BLOOM_FLAGS, 0, 32, 1}}, "geometry"},
};

/* 3 lines of 64 cells. */
static const struct forgery blocked_forgeries[] = {
	{{{AT_M, 0, 32, 191}}, "geometry"},
};

enum { SLOT = 16 }; /* bytes: an id and a stamp; there are 256 slots, so the top byte of an id is its home */

#define ID(slot, home) IN(0, (slot)*SLOT * 8, 64, (uint64_t)(home) << 56)
#define STAMP(slot, value) IN(0, (slot)*SLOT * 8 + 64, 64, value)

static const struct forgery exact_forgeries[] = {
	{{ID(7, 7), STAMP(7, ~0ull << 8 | 10)}, NULL},
	{{ID(7, 7), STAMP(7, 11)}, "state"},
	{{ID(7, 7), STAMP(7, 1 << 8)}, "state"},
	{{ID(7, 7)}, "empty slot"},
	{{ID(9, 7), STAMP(9, 1)}, "cannot be found"},
	{{ID(6, 6), STAMP(6, 1), ID(7, 6), STAMP(7, 1)}, "cannot be found"},
};

#define FORGED(what, rows, cells, ...)                                                                       \
	{                                                                                                    \
		"forged_" #what "_are_refused", {.states = 10, .age_bits = 1, __VA_ARGS__}, cells,           \
			ROWS(rows)                                                                           \
	}

/* An empty table of 10 states with an age bit, and what is done to its file. */
static struct forged {
	const char *name;
	struct ink_options options;
	uint64_t cells; /* bytes: the rows count on it */
	const struct forgery *rows;
	size_t n;
} forged[] = {
	FORGED(lines, line_forgeries, 7 * LINE, .kind = INK_LINE, .writers = 2,
	       .geometry = {.b = 7, .h = 32, .side = INK_NO_SIDE}),
	FORGED(compact_lines, compact_forgeries, 7 * LINE, .kind = INK_COMPACT,
	       .geometry = {.b = 7, .h = 32, .f = 8, .q = 59, .side = INK_NO_SIDE}),
	FORGED(line_flags, line_flags, 7 * LINE, .kind = INK_LINE, .geometry = {.b = 7, .h = 32, .side = 20}),
	FORGED(compact_flags, compact_flags, 7 * LINE, .kind = INK_COMPACT,
	       .geometry = {.b = 7, .h = 32, .f = 8, .q = 59, .side = 20}),
	FORGED(dleft_cells, dleft_forgeries, 24 * 8, .kind = INK_DLEFT,
	       .geometry = {.d = 3, .b = 5, .h = 6, .f = 10}),
	FORGED(stateful_filters, stateful_forgeries, 14 * 8, .kind = INK_STATEFUL, .flows = 10,
	       .geometry = {.k = 4, .m = 100, .counter_bits = 3}),
	FORGED(direct_filters, direct_forgeries, 25 * 8, .kind = INK_DIRECT, .flows = 10,
	       .geometry = {.k = 4, .m = 500}),
	FORGED(blocked_filters, blocked_forgeries, 3 * LINE, .kind = INK_STATEFUL, .flows = 10,
	       .geometry = {.k = 4, .m = 192, .counter_bits = 3, .bloom_flags = INK_BLOOM_BLOCKED}),
	FORGED(exact_slots, exact_forgeries, 256 * SLOT, .kind = INK_EXACT, .flows = 100),
};

static void forged_cells_are_refused(void **state)
{
	const struct forged *f = *state;
	struct image *i = empty_image(f->options);

	assert_int_equal(image_get64(i, AT_CELLS_LENGTH), f->cells);
	for (unsigned c = 0; c < 2 && image_get32(i, AT_SIDE); c++)
		put_bits(i, one_aside[c]);
	assert_all_judged(i, f->rows, f->n);
}

TEST_THAT(an_exact_table_without_an_empty_slot_is_refused)
{
	struct image *i = empty_image((struct ink_options){.kind = INK_EXACT, .states = 10, .flows = 100});

	for (uint64_t slot = 0; slot < 256; slot++) {
		image_put(i, AT_BODY + slot * SLOT, 8, slot << 56);
		image_put(i, AT_BODY + slot * SLOT + 8, 8, 1);
	}
	assert_sealed_refused(i, "no slot is empty");
}

/* ------------------------------------------------------ forged, and trusted */

/* Memory that ends where no page is: what reads or writes beyond it dies. */
static size_t guarded_bytes(size_t bytes)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);

	return (bytes + page - 1) / page * page + page;
}

static void *guarded_alloc(size_t bytes, size_t alignment, void *user)
{
	size_t all = guarded_bytes(bytes), page = (size_t)sysconf(_SC_PAGESIZE);
	char *at = mmap(NULL, all, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (at == MAP_FAILED || mprotect(at + all - page, page, PROT_NONE))
		return NULL;
	return at + (all - page - bytes) / alignment * alignment;
}

static void guarded_free(void *at, size_t bytes, void *user)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);

	munmap((void *)((uintptr_t)at / page * page), guarded_bytes(bytes));
}

static struct ink_table *trusted(struct image *i)
{
	static const struct ink_allocator guarded = {guarded_alloc, guarded_free, NULL};
	const struct ink_load_options l = {
		.size = sizeof l, .trust = INK_TRUST_CHECKSUM, .allocator = &guarded};
	struct ink_why why = {""};
	struct ink_table *t;

	image_seal(i);
	t = ink_load_buffer(i->bytes, i->size, &l, &why);
	if (!t)
		fail_msg("%s", why.text);
	return t;
}

/* An empty table in which the last slot of every line, although free, has a field of ones. */
static struct image *with_fields_in_free_slots(struct ink_options o)
{
	struct image *i = empty_image(o);
	unsigned total = FIELD(F) + code_bits(i), field = total % 8;
	unsigned last = total / 8 * 8 * FIELD(H) + (FIELD(H) - 1) * field;

	for (size_t line = AT_BODY; line < AT_BODY + image_get64(i, AT_CELLS_LENGTH); line += 64)
		put_bits(i, (struct change){line, last, field, ~0ull});
	return i;
}

/* Fields that an insert shifted out of the last slot once became metadata, which counted more entries than slots. */
static void assert_inserts_stay_in_their_line(struct ink_options o)
{
	struct ink_table *t = trusted(with_fields_in_free_slots(o));
	struct ink_counts counts;

	for (uint64_t n = 0; n < o.flows; n++)
		assert_int_equal(ink_insert(t, id_number(n), (unsigned)(n % o.states)), 0);
	assert_int_equal(ink_census(t, &counts), 0);
	assert_int_equal(counts.total, o.flows);
	assert_int_equal(ink_tick(t, 1, &counts), 0);
	assert_int_equal(ink_tick(t, 1000, &counts), 0);
	ink_free(t);
}

TEST_THAT(a_trusted_compact_table_with_bits_in_free_slots_stays_in_its_body)
{
	static const double errors[] = {.05, .02, .01, .004, .001, 1e-4, 1e-6};
	static const unsigned states[] = {2, 4, 7, 15, 31, 100};

	for (unsigned e = 0; e < COUNT(errors); e++)
		for (unsigned s = 0; s < COUNT(states); s++, free_all(NULL))
			assert_inserts_stay_in_their_line((struct ink_options){.kind = INK_COMPACT,
									       .states = states[s],
									       .age_bits = s % 2 + 1,
									       .flows = 1000,
									       .error = errors[e]});
}

int main(void)
{
	struct CMUnitTest rows[COUNT(forged)];

	if (snapshots_refused())
		return 77;
	for (size_t i = 0; i < COUNT(forged); i++)
		rows[i] = (struct CMUnitTest){forged[i].name, forged_cells_are_refused, NULL, free_all,
					      &forged[i]};
	return run_suite(&(struct suite){make_folder, scratch_remove, free_all}) +
	       cmocka_run_group_tests(rows, make_folder, scratch_remove);
}
