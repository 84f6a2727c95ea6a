/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A table that was saved and loaded is the same table; a file that is not what
 * ink_save wrote is refused with a reason, or, if it was forged well, is
 * at least a sound table.
 *
 * All runs for every kind of table in turn. tests/document.h takes the files apart
 * by the offsets of docs/format.md, not by the structs of the library.
 */
#include <fcntl.h>
#include <unistd.h>

#include "tests/kind.h"
#include "tests/snapshot.h"

/* ---------------------------------------------------------------- the tables */

/* A kind of table in two sizes: as planned for many flows, and small, with a side table soon full. */
struct sort {
	const char *name;
	struct ink_options large; /* flows are filled in */
	struct ink_geometry small;
};

#define SMALL(...)                                                                                           \
	{                                                                                                    \
		__VA_ARGS__                                                                                  \
	}
#define SORT(name, small, ...)                                                                               \
	{                                                                                                    \
		name, {__VA_ARGS__}, small                                                                   \
	}

static const struct sort sorts[] = {
	SORT("line, 2 lanes", SMALL(.b = 12, .h = 16, .side = 7), .kind = INK_LINE, .states = 200,
	     .age_bits = 2, .geometry = {.h = 16}),
	SORT("line, 3 lanes", SMALL(.b = 13, .h = 24, .side = 40), .kind = INK_LINE, .states = 15,
	     .age_bits = 1, .geometry = {.h = 24}),
	SORT("line, 4 lanes", SMALL(.b = 11, .h = 32, .side = 30), .kind = INK_LINE, .states = 3,
	     .age_bits = 1, .full = INK_REPLACE, .error = .05, .geometry = {.h = 32}),
	SORT("line, 4 lanes, portable, no ages", SMALL(.b = 7, .h = 32, .side = 20), .kind = INK_LINE,
	     .states = 31, .full = INK_REFUSE, .simd = INK_SIMD_NONE, .error = .2, .geometry = {.h = 32}),
	SORT("line, many writers", SMALL(.b = 9, .h = 24, .side = 50), .kind = INK_LINE, .states = 15,
	     .age_bits = 1, .writers = 4),
	SORT("line, many writers, portable, without side table", SMALL(.b = 8, .h = 24, .side = INK_NO_SIDE),
	     .kind = INK_LINE, .states = 7, .writers = 2, .simd = INK_SIMD_NONE,
	     .geometry = {.side = INK_NO_SIDE}),
	SORT("line, 3 lanes, halves", SMALL(.b = 13, .h = 24, .side = 40), .kind = INK_LINE, .states = 31,
	     .age_bits = 1, .geometry = {.h = 24}, .part = 32),
	SORT("line, 2 lanes, quarters", SMALL(.b = 12, .h = 16, .side = 30), .kind = INK_LINE, .states = 31,
	     .age_bits = 2, .full = INK_REPLACE, .geometry = {.h = 16}, .part = 16),
	SORT("line, 3 lanes, words", SMALL(.b = 13, .h = 24, .side = 40), .kind = INK_LINE, .states = 15,
	     .age_bits = 1, .geometry = {.h = 24}, .part = 8),
	SORT("line, 4 lanes, words, many writers", SMALL(.b = 13, .h = 32, .side = 40), .kind = INK_LINE,
	     .states = 3, .error = .05, .writers = 2, .geometry = {.h = 32}, .part = 8),
	SORT("compact, 8 bits", SMALL(.b = 10, .h = 32, .f = 8, .side = 60), .kind = INK_COMPACT,
	     .states = 15, .age_bits = 1, .error = .01, .geometry = {.f = 8}),
	SORT("compact, 8 bits, portable", SMALL(.b = 10, .h = 32, .f = 8, .side = 60), .kind = INK_COMPACT,
	     .states = 15, .age_bits = 1, .error = .01, .simd = INK_SIMD_NONE, .geometry = {.f = 8}),
	SORT("compact, 11 bits", SMALL(.b = 9, .h = 28, .f = 11, .side = 8), .kind = INK_COMPACT, .states = 6,
	     .age_bits = 2, .error = .01, .full = INK_REPLACE, .geometry = {.f = 11}),
	SORT("compact, 16 bits", SMALL(.b = 14, .h = 20, .f = 16, .side = INK_NO_SIDE), .kind = INK_COMPACT,
	     .states = 40, .full = INK_REFUSE, .geometry = {.f = 16, .side = INK_NO_SIDE}),
	SORT("dleft", SMALL(.d = 3, .b = 11, .h = 6, .f = 10), .kind = INK_DLEFT, .states = 10, .age_bits = 1,
	     .full = INK_REFUSE),
	SORT("dleft with overflow bits and side table", SMALL(.d = 4, .b = 9, .h = 5, .f = 6, .side = 12),
	     .kind = INK_DLEFT, .states = 10, .age_bits = 1, .geometry = {.side = 200}),
	SORT("dleft by the paper's other choices", SMALL(.d = 2, .b = 20, .h = 4, .f = 5, .dleft_flags = 7),
	     .kind = INK_DLEFT, .states = 5, .full = INK_REPLACE,
	     .geometry = {.dleft_flags = INK_DLEFT_COPY | INK_DLEFT_REINSERT | INK_DLEFT_KEEP}),
	SORT("exact", SMALL(.side = 0), .kind = INK_EXACT, .states = 255, .age_bits = 1),
	SORT("stateful with counters", SMALL(.k = 3, .m = 1501), .kind = INK_STATEFUL, .states = 15,
	     .error = .02),
	SORT("stateful without counters", SMALL(.k = 4, .m = 1503, .threshold = 2), .kind = INK_STATEFUL,
	     .states = 255, .age_bits = 2, .error = .02),
	SORT("stateful, blocked",
	     SMALL(.k = 5, .m = 1500, .counter_bits = 3, .bloom_flags = INK_BLOOM_BLOCKED),
	     .kind = INK_STATEFUL, .states = 6, .age_bits = 1, .full = INK_REFUSE, .error = .02,
	     .geometry = {.counter_bits = 3, .bloom_flags = INK_BLOOM_BLOCKED}),
	SORT("direct", SMALL(.k = 7, .m = 3001), .kind = INK_DIRECT, .states = 15, .age_bits = 1,
	     .error = .02),
	SORT("direct without counters", SMALL(.k = 2, .m = 999, .counter_bits = INK_NO_COUNTERS),
	     .kind = INK_DIRECT, .states = 2, .age_bits = 2, .error = .02,
	     .geometry = {.counter_bits = INK_NO_COUNTERS}),
	SORT("direct, counting down",
	     SMALL(.k = 3, .m = 1000, .counter_bits = 8, .bloom_flags = INK_BLOOM_DECREMENT),
	     .kind = INK_DIRECT, .states = 4, .error = .02, .geometry = {.bloom_flags = INK_BLOOM_DECREMENT}),
};

static const struct sort *sort = sorts; /* under test */

static struct ink_table *create_small(void)
{
	struct ink_options o = sort->large;

	o.error = 0;
	o.geometry = sort->small;
	o.flows = kind_can(o.kind, INK_CAN_BE_EXACT) ? 100 : o.geometry.m ? 300 : 0;
	return create(o);
}

static unsigned random_state_of(const struct sort *s)
{
	return random_below(s->large.states);
}

/* Fills a table to more than it holds, changes, deletes, lets time pass: nothing in it stays unused. */
static void live(struct ink_table *t, size_t flows, unsigned ticks)
{
	give_rules(t, sort->large.states);
	for (unsigned tick = 1; tick <= ticks; tick++) {
		for (size_t i = 0; i < flows; i++)
			ink_insert(t, id_number(tick * flows / 4 + i), random_state_of(sort));
		for (size_t i = 0; i < flows / 2; i++)
			operate(t, random_below(2 * flows), random_below(8), random_state_of(sort));
		if (tick < ticks)
			assert_int_equal(ink_tick(t, tick, NULL), 0);
	}
}

enum { SMALL_FLOWS = 350, SMALL_TICKS = 3 };

static struct ink_table *small_table(void)
{
	struct ink_table *t = create_small();

	live(t, SMALL_FLOWS, SMALL_TICKS);
	assert_sound(t);
	return t;
}

/* ------------------------------------------------------------- saving, loading */

static struct image *small_image(void)
{
	const char *path = path_of("small");
	struct ink_table *t = small_table();

	save(t, path);
	return image_at(path);
}

/* ----------------------------------------------------------------- comparing */

static void assert_same_answers(const struct ink_table *a, const struct ink_table *b, size_t flows)
{
	for (size_t i = 0; i < flows; i++)
		assert_int_equal(ink_peek(a, id_number(i)), ink_peek(b, id_number(i)));
	for (size_t i = 0; i < scaled(100000); i++) {
		uint64_t stranger = random_word();

		assert_int_equal(ink_peek(a, stranger), ink_peek(b, stranger));
	}
	assert_int_equal(ink_id(a, "a key", 5), ink_id(b, "a key", 5));
}

/* All but the name of the instructions, which may be others. */
static void assert_same_numbers(const struct ink_table *a, const struct ink_table *b)
{
	struct ink_stats x = stats_of(a), y = stats_of(b);
	struct ink_counts counts_x, counts_y;

	x.simd = y.simd = NULL;
	assert_memory_equal(&x, &y, sizeof x);
	ink_census(a, &counts_x);
	ink_census(b, &counts_y);
	assert_memory_equal(&counts_x, &counts_y, sizeof counts_x);
}

static void assert_tick_alike(struct ink_table *a, struct ink_table *b, uint64_t now)
{
	struct ink_counts x, y;

	assert_int_equal(ink_tick(a, now, &x), 0);
	assert_int_equal(ink_tick(b, now, &y), 0);
	assert_memory_equal(&x, &y, sizeof x);
}

/* Both are given the same to do, and do the same. */
static void assert_live_alike(struct ink_table *a, struct ink_table *b, size_t flows)
{
	for (unsigned tick = 10; tick < 13; tick++) {
		for (size_t i = 0; i < 2 * flows; i++) {
			uint64_t number = random_below(2 * flows);
			unsigned what = random_below(8), state = random_state_of(sort);

			assert_int_equal(operate(a, number, what, state), operate(b, number, what, state));
		}
		for (size_t i = 0; i < flows / 8; i++) {
			uint64_t id = id_number(tick * flows + i);

			assert_int_equal(ink_insert(a, id, 0), ink_insert(b, id, 0));
		}
		assert_tick_alike(a, b, tick);
	}
	assert_sound(a);
	assert_sound(b);
}

/* ------------------------------------------------------------- for every kind */

static void assert_comes_back(struct ink_table *t, size_t flows, enum ink_load how)
{
	const char *first = path_of("first"), *second = path_of("second");
	struct ink_table *u;

	save(t, first);
	u = load(first, how);
	assert_same_numbers(t, u);
	assert_same_answers(t, u, 2 * flows);
	save(u, second);
	assert_same_files(first, second);
	give_rules(u, sort->large.states);
	assert_live_alike(t, u, flows);
	assert_same_numbers(t, u);
	assert_same_answers(t, u, 2 * flows);
	save(t, first);
	save(u, second);
	assert_same_files(first, second);
}

TEST_THAT(a_large_table_comes_back_as_it_was)
{
	struct ink_options o = sort->large;

	o.flows = scaled(20000) + 500;
	for (enum ink_load how = INK_LOAD_READ; how <= INK_LOAD_MAP; how++) {
		struct ink_table *t = create(o);

		live(t, o.flows, 3);
		assert_comes_back(t, o.flows, how);
	}
}

TEST_THAT(an_overfull_table_comes_back_with_its_doubts)
{
	for (enum ink_load how = INK_LOAD_READ; how <= INK_LOAD_MAP; how++) {
		struct ink_table *t = small_table();

		assert_comes_back(t, SMALL_FLOWS, how);
	}
}

TEST_THAT(an_empty_table_comes_back_empty)
{
	struct ink_table *t = create_small();

	give_rules(t, sort->large.states);
	assert_comes_back(t, SMALL_FLOWS, INK_LOAD_READ);
}

/* Collisions, overflows and refusals are what the small tables are there for. */
TEST_THAT(the_small_table_has_everything_in_it)
{
	struct ink_table *t = small_table();
	struct ink_stats s = stats_of(t);

	assert_true(s.flows > 10);
	if (is_filter(t)) {
		assert_true(s.occupied > s.cells / 4 && s.collisions > 0);
		assert_true(s.marked > 0 || !kind_takes(sort->large.kind, INK_GEOMETRY_THRESHOLD));
	} else if (!kind_can(sort->large.kind, INK_CAN_BE_EXACT)) {
		assert_true(s.refused + s.replaced > 0);
		assert_true(s.side_cells == 0 || s.side_flows > 0);
	}
}

TEST_THAT(the_file_does_not_depend_on_the_instructions)
{
	struct ink_options o = sort->large;
	uint64_t seed = random_state;

	for (enum ink_simd simd = INK_SIMD_BEST; simd <= INK_SIMD_NONE; simd++) {
		struct ink_table *t;

		o.simd = simd;
		o.flows = scaled(5000) + 100;
		t = create(o);
		random_state = seed;
		live(t, o.flows, 3);
		save(t, path_of(simd ? "portable" : "best"));
	}
	assert_same_files(path_of("portable"), path_of("best"));
}

TEST_THAT(a_shortened_or_lengthened_file_is_refused)
{
	const char *path = path_of("small");
	size_t size = small_image()->size, step = test_scale() < 1 ? 37 : 1;
	const struct {
		int more;
		const char *word;
	} cuts[] = {{1, "too long"}, {4096, "too long"}, {-1, "too short"}};

	for (unsigned c = 0; c < 3; c++) {
		assert_int_equal(truncate(path, (off_t)size + cuts[c].more), 0);
		assert_refused(path, EBADMSG, cuts[c].word);
	}
	for (size_t length = size; length > 0; length -= length < step ? length : step) {
		assert_int_equal(truncate(path, (off_t)length - 1), 0);
		assert_refused_somehow(path, length % 2 ? INK_LOAD_MAP : INK_LOAD_READ);
	}
}

static void flip(int fd, struct image *i, size_t bit)
{
	i->bytes[bit / 8] ^= (unsigned char)(1u << bit % 8);
	assert_int_equal(pwrite(fd, &i->bytes[bit / 8], 1, (off_t)bit / 8), 1);
}

TEST_THAT(every_flipped_bit_is_noticed)
{
	const char *path = path_of("small");
	struct image *i = small_image();
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	int is_small = test_scale() < 1, all = sort == sorts && !is_small; /* for one kind, if there is time */

	assert_true(fd >= 0);
	for (size_t bit = 0; bit < 8 * i->size; bit += all ? 1 : 1 + random_below(is_small ? 200 : 40)) {
		flip(fd, i, bit);
		assert_refused_somehow(path, bit % 3 ? INK_LOAD_READ : INK_LOAD_MAP);
		flip(fd, i, bit);
	}
	close(fd);
	load(path, INK_LOAD_READ); /* all bits are back */
}

/* -------------------------------------------------- forged, with right checksums */

TEST_THAT(a_mapped_table_does_not_write_to_its_file)
{
	struct image *before = small_image();
	struct ink_table *t = load(path_of("small"), INK_LOAD_MAP);

	assert_usable(t, sort->large.states);
	assert_true(image_equal(before, image_at(path_of("small"))));
}

static uint64_t odd_value(unsigned which, uint64_t was)
{
	const uint64_t values[] = {
		0,       1,        2,          UINT32_MAX, UINT64_MAX,         was + 1,
		was - 1, was * 2,  was / 2,    1ull << 31, 1ull << 63,         0x3ff0000000000000,
		4,       was ^ 64, was + 4096, 255,        random_word() % 64, random_word()};

	return values[which % (COUNT(values))];
}

/* Some bits, some words, or all of the body become others. */
static void spoil_body(struct image *i, size_t round)
{
	size_t body = i->size - AT_BODY;
	unsigned how = random_below(11);

	for (uint64_t n = 1 + random_below(how % 2 ? 3 : 40); n > 0; n--) {
		size_t at = AT_BODY + random_below(body), word = AT_BODY + random_below(body / 8) * 8;

		if (how < 4)
			i->bytes[at] ^= (unsigned char)(1u << random_below(8));
		else if (how < 7)
			image_put(i, word + random_below(2) * 4, 4,
				  odd_value(random_below(18), image_get32(i, word)));
		else
			image_put(i, word, 8, random_word() & random_word());
	}
	for (size_t at = AT_BODY; how == 10 && at < i->size; at++)
		i->bytes[at] = (unsigned char)random_word();
}

/* One field after the other, with every odd value. */
static void spoil_field(struct image *i, size_t round)
{
	size_t at = AT_VERSION + round / 18 * 4, bytes = at >= AT_FLOWS && at % 8 == 0 && round % 2 ? 8 : 4;

	image_put(i, at, bytes, odd_value((unsigned)(round % 18), image_get(i, at, bytes)));
}

static void spoil_fields(struct image *i, size_t round)
{
	for (uint64_t n = 2 + random_below(3); n > 0; n--) {
		size_t at = AT_KIND + 4 * random_below(14);

		image_put(i, at, 4,
			  random_below(4) ? random_below(40)
					  : odd_value(random_below(18), image_get32(i, at)));
	}
}

static void assert_spoilt(void (*spoil)(struct image *i, size_t round), size_t rounds)
{
	struct image *original = small_image(), *i = image_like(original);

	for (size_t round = 0; round < rounds; round++) {
		memcpy(i->bytes, original->bytes, original->size);
		spoil(i, round);
		if (spoil != spoil_field)
			image_put_sum(i, AT_BODY_SUM, AT_BODY, i->size);
		image_put_sum(i, AT_HEADER_SUM, 0, AT_HEADER_SUM);
		try_forged(i, round % 2 ? INK_LOAD_READ : INK_LOAD_MAP);
	}
}

TEST_THAT(what_is_forged_is_refused_or_means_a_sound_table)
{
	assert_spoilt(spoil_field, (AT_EPOCH + 8 - AT_VERSION) / 4 * 18);
	assert_spoilt(spoil_fields, scaled(5000));
	assert_spoilt(spoil_body, scaled(8000));
}

/* ------------------------------------------------------ the numbers of a header */

struct field {
	size_t at;
	uint64_t value;
	const char *word; /* of the reason */
};

static void assert_field_refused(struct image *i, struct field f)
{
	size_t bytes = f.at < AT_FLOWS || (f.at >= AT_CLOCK_HAND && f.at < AT_UNSURE) ? 4 : 8;
	uint64_t was = image_get(i, f.at, bytes);

	image_put(i, f.at, bytes, f.value);
	image_put_sum(i, AT_HEADER_SUM, 0, AT_HEADER_SUM);
	assert_image_refused(i, f.word);
	image_put(i, f.at, bytes, was);
}

static const struct field wrong_fields[] = {
	{AT_HEADER_LENGTH, 4095, "header length"},
	{AT_STATES, 0, "states"},
	{AT_STATES, 256, "states"},
	{AT_AGE_BITS, 3, "age bits"},
	{AT_WRITERS, 0, "writers"},
	{AT_FULL, 0, "full policy"},
	{AT_FULL, 4, "full policy"},
	{AT_FLAGS, 4, "flags"},
	{AT_STATE_BITS, 64, "state bits"},
	{AT_STATE_BITS, UINT32_MAX, "state bits"},
	{AT_D, 9, "d (byte 44)"},
	{AT_H, 65, "h (byte 52)"},
	{AT_F, 65, "f (byte 56)"},
	{AT_Q, 122, "q (byte 60)"},
	{AT_SIDE, UINT32_MAX, "side (byte 64)"},
	{AT_DLEFT_FLAGS, 8, "dleft flags (byte 68)"},
	{AT_FLOWS, 0, "flows"},
	{AT_ERROR, 0x7ff8000000000000, "error"},
	{AT_ERROR, 0xbff0000000000000, "error"},
	{AT_LOAD, 0x7ff0000000000000, "load"},
	{AT_BODY_LENGTH, UINT64_MAX - 4095, "too short"},
	{AT_K, 33, "k (byte 212)"},
	{AT_M, 1, "m (byte 216)"},
	{AT_COUNTER_BITS, 9, "counter bits (byte 220)"},
	{AT_THRESHOLD, 33, "threshold (byte 224)"},
	{AT_BLOOM_FLAGS, 4, "bloom flags (byte 228)"},
	{AT_UNSURE, 0x7ff8000000000000, "doubt"},
	{AT_SIDE_ID, 1, "byte 240"},
	{AT_EPOCH, 4, "the epoch of state 0 (byte 244)"},
	{AT_RESERVED - 8, 4ull << 56, "the epoch of state 255 (byte 499)"},
	{AT_RESERVED, 65, "byte 500"},
	{AT_HEADER_SUM - 8, 1ull << 63, "byte 40"},
};

TEST_THAT(fields_out_of_range_are_named)
{
	struct image *i = small_image();
	size_t size = image_get32(i, AT_B) ? AT_B : AT_M;
	const struct field relative[] = {
		{AT_STATE_BITS, image_get32(i, AT_STATE_BITS) + 1, "state bits"},
		{AT_B, image_get32(i, AT_B) == 0, "b (byte 48)"},
		{AT_CLOCK_HAND, image_get32(i, AT_SIDE) * 2 + 100, "clock_hand"},
		{AT_CELLS_LENGTH, image_get64(i, AT_CELLS_LENGTH) + 8, "geometry"},
		{size, image_get32(i, size) * 1024, "geometry"},
	};

	for (size_t n = 0; n < COUNT(wrong_fields); n++)
		assert_field_refused(i, wrong_fields[n]);
	for (size_t n = 0; n < COUNT(relative); n++)
		assert_field_refused(i, relative[n]);
}

TEST_THAT(an_unknown_version_or_kind_is_not_supported)
{
	static const struct {
		size_t at;
		uint32_t value;
		const char *word;
	} unknown[] = {
		{AT_VERSION, 0, "version 0"}, {AT_VERSION, 1, "version 1"}, {AT_VERSION, 2, "version 2"},
		{AT_VERSION, 3, "version 3"}, {AT_VERSION, 4, "version 4"}, {AT_VERSION, 9, "version 9"},
		{AT_VERSION, 8, "version 8"}, {AT_KIND, 77, "kind 77"},     {AT_KIND, 0, "kind 0"},
	};
	struct image *original = small_image(), *i = image_like(original);

	for (size_t n = 0; n < COUNT(unknown); n++) {
		memcpy(i->bytes, original->bytes, i->size);
		image_put(i, unknown[n].at, 4, unknown[n].value);
		if (unknown[n].at == AT_KIND) /* an unknown version is refused whatever its checksum says */
			image_seal(i);
		assert_true(image_write(i, path_of("forged")));
		assert_refused(path_of("forged"), ENOTSUP, unknown[n].word);
	}
}

TEST_THAT(the_parts_are_checked_one_by_one)
{
	struct image *i = small_image();
	const struct {
		size_t at;
		unsigned char change;
		const char *word;
	} parts[] = {{4, '\r' ^ '\n', "magic"}, /* what a transfer as text does to CR LF */
		     {AT_SECRET, 1, "the header is damaged"},
		     {i->size - 1, 1, "the body is damaged"}};

	for (unsigned n = 0; n < 3; n++) {
		i->bytes[parts[n].at] ^= parts[n].change;
		assert_image_refused(i, parts[n].word);
		i->bytes[parts[n].at] ^= parts[n].change;
	}
	i->bytes[i->size - 1] ^= 1;
	image_seal(i);
	if (image_get64(i, AT_CELLS_LENGTH) % 4096)
		assert_image_refused(i, "behind the contents");
}

/* ------------------------------------------------------- read by the document */

enum { AGED = 15 };

/* Flow n was stored at tick n, in a state that is deleted in time. */
static unsigned aged_state(unsigned n)
{
	unsigned two = sort->large.states > 4 ? 4 : sort->large.states;

	return n % two % 3 == 2 ? 0 : n % two;
}

static void assert_age(struct image *i, unsigned flow, unsigned now)
{
	unsigned bits = image_get32(i, AT_AGE_BITS), period = 1 + aged_state(flow) % 4, looks = 0;
	int age;

	if (bits == 2)
		period = (period + 2) / 3;
	for (unsigned tick = flow + 1; tick <= now; tick++)
		looks += tick % period == 0;
	age = (1 << bits) - 1 - (int)looks;
	assert_int_equal(read_age(i, id_number(flow)), bits && age < 0 ? -1 : bits ? age : 0);
}

/* Each table takes the next look with marks as the file had them; the ticks go in portions. */
TEST_THAT(ages_stand_in_the_file_as_the_document_says)
{
	struct ink_table *t;

	t = create_small();
	if (!ink_kind_has(&t->plan, INK_TRAIT_EPOCHS)) {
		SKIP("tables of this kind store ages as they are");
	}
	give_rules(t, sort->large.states);
	for (unsigned now = 0; now < AGED; now++) {
		struct image *i;

		while (ink_tick_portion(t, now, 1, NULL) == 1)
			;
		assert_int_equal(ink_insert(t, id_number(now), aged_state(now)), 0);
		save(t, path_of("ages"));
		i = image_at(path_of("ages"));
		for (unsigned flow = 0; flow <= now; flow++)
			assert_age(i, flow, now);
		t = load(path_of("ages"), INK_LOAD_READ);
		give_rules(t, sort->large.states);
	}
}

TEST_THAT(a_reader_written_by_the_document_finds_the_same)
{
	const char *path = path_of("document");
	struct ink_table *t = small_table();
	struct ink_stats s = {.size = sizeof s};
	struct image *i;

	save(t, path);
	i = image_at(path);
	for (size_t n = 0; n < 2 * SMALL_FLOWS; n++)
		assert_int_equal(read_by_the_document(i, id_number(n)), ink_peek(t, id_number(n)));
	for (size_t n = 0; n < scaled(20000); n++) {
		uint64_t stranger = random_word();

		assert_int_equal(read_by_the_document(i, stranger), ink_peek(t, stranger));
	}
	ink_stats(t, &s);
	assert_int_equal(image_get64(i, AT_NOW), s.now);
	assert_int_equal(image_get64(i, AT_COUNTERS), s.collisions);
	assert_int_equal(image_get64(i, AT_COUNTERS + 48), s.expired);
	assert_int_equal(image_get32(i, AT_FLAGS), 1);
	assert_int_equal(image_get64(i, AT_BODY_LENGTH), i->size - AT_BODY);
}

int main(void)
{
	int failures = 0;

	if (snapshots_refused())
		return 77;
	for (sort = sorts; sort < sorts + COUNT(sorts); sort++) {
		print_message("%s\n", sort->name);
		failures += run_suite(&(struct suite){make_folder, scratch_remove, free_all});
	}
	return failures != 0;
}
