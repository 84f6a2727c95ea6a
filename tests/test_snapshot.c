/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A table that was saved and loaded is the same table; a file that is not what
 * ink_save wrote is refused with a reason, or, if it was forged well, is
 * at least a sound table.
 *
 * The first half runs for every kind of table in turn. tests/document.h takes the
 * files apart by the offsets of docs/format.md, not by the structs of the library.
 */
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/document.h"
#include "tests/kind.h"
#include "tests/scratch.h"
#include "tests/table.h"

/* ------------------------------------------------------------------ files */

/* A path in the folder; the last eight stay as they are. */
static const char *path_of(const char *name)
{
	static char paths[8][SCRATCH_PATH];
	static unsigned next;

	return scratch_path(paths[next++ % 8], name);
}

static void assert_same_files(const char *a, const char *b)
{
	assert_true(image_equal(image_at(a), image_at(b)));
}

/* ----------------------------------------------------------------- the rules */

enum { EVENTS = 3 };

/* `stateful` and `direct`: nothing moves at its end, and the periods are one. */
static int is_filter(const struct ink_table *t)
{
	struct ink_counts counts;

	return ink_census(t, &counts) == -ENOTSUP;
}

/* Event 0 leads on, 1 ends, 2 starts; every second state is expendable, every third moves at its end. */
static void give_rules(struct ink_table *t, unsigned states)
{
	static struct ink_row rows[(INK_MAX_STATES + 2) * EVENTS];
	static struct ink_timing timings[INK_MAX_STATES + 1];
	const uint8_t starts[EVENTS] = {0, 0, 1};
	struct ink_rules rules = {.size = sizeof rules,
				  .states = states,
				  .events = EVENTS,
				  .rows = rows,
				  .starts = starts,
				  .timings = timings};

	for (unsigned s = 0; s < states + 2; s++) {
		struct ink_row *row = &rows[s * EVENTS];

		row[0] = (struct ink_row){(int16_t)(s < states ? (int)((s + 1) % states) : INK_NO_ROW), 1};
		row[1] = (struct ink_row){s < states ? INK_ABSENT : INK_NO_ROW, 2};
		row[2] = (struct ink_row){s == states ? 0 : INK_NO_ROW, 3};
	}
	for (unsigned s = 0; s <= states; s++)
		timings[s] = (struct ink_timing){.period = 1 + s % 4,
						 .timeout = s < states && s % 3 == 2 ? 0 : INK_ABSENT,
						 .expendable = s % 2 == 0};
	for (unsigned s = 0, all_one = (unsigned)is_filter(t); s <= states && all_one; s++)
		timings[s] = (struct ink_timing){.period = 2, .timeout = INK_ABSENT};
	assert_int_equal(ink_set_rules(t, &rules, NULL), 0);
}

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

static struct ink_table *create(struct ink_options o)
{
	o.size = sizeof o;
	o.seed = 7;
	return table_with(&o);
}

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

/* One operation on one of `many` flows; what it returned, so that two tables can be compared. */
static long operate(struct ink_table *t, uint64_t number, unsigned what, unsigned state)
{
	uint64_t id = id_number(number);
	struct ink_move move = {0, 0, 0};
	long error;

	switch (what % 8) {
	case 0:
	case 1:
		return ink_lookup(t, id);
	case 2:
		return ink_delete(t, id);
	case 3:
		return ink_modify(t, id, state);
	case 4:
		return ink_peek(t, id);
	case 5:
		error = ink_step(t, id, state % EVENTS, &move);
		return ((error * 1000 + move.from) * 1000 + move.to) * 1000 + move.action;
	default:
		return ink_set(t, id, state);
	}
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

static void save(const struct ink_table *t, const char *path)
{
	struct ink_why why = {""};

	if (ink_save(t, path, &why))
		fail_msg("%s: %s", sort->name, why.text);
}

static struct ink_table *load(const char *path, enum ink_load how)
{
	struct ink_why why = {""};
	struct ink_table *t = ink_load(path, how, &why);

	if (!t)
		fail_msg("%s: %s", sort->name, why.text);
	return t;
}

/* Refused in both ways, with that error and a reason that names the file and has the word in it. */
static void assert_refused(const char *path, int error, const char *word)
{
	for (enum ink_load how = INK_LOAD_READ; how <= INK_LOAD_MAP; how++) {
		struct ink_why why = {""};
		struct ink_table *t = ink_load(path, how, &why);

		if (t)
			fail_msg("%s was loaded, though %s is wrong", path, word);
		if (errno != error || !strstr(why.text, word) || !strstr(why.text, strrchr(path, '/') + 1))
			fail_msg("errno %d, \"%s\"; expected %d and \"%s\"", errno, why.text, error, word);
		assert_null(ink_load(path, how, NULL));
	}
}

/* As assert_refused, whatever the reason. */
static void assert_refused_somehow(const char *path, enum ink_load how)
{
	struct ink_why why = {""};

	assert_null(ink_load(path, how, &why));
	assert_true(errno == EBADMSG || errno == ENOTSUP);
	assert_true(strlen(why.text) > 10);
}

static void assert_image_refused(struct image *i, const char *word)
{
	const char *path = path_of("forged");

	assert_true(image_write(i, path));
	assert_refused(path, EBADMSG, word);
}

static struct image *small_image(void)
{
	const char *path = path_of("small");
	struct ink_table *t = small_table();

	save(t, path);
	ink_free(t);
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
	ink_free(u);
}

static void a_large_table_comes_back_as_it_was(void **state)
{
	struct ink_options o = sort->large;

	o.flows = scaled(20000) + 500;
	for (enum ink_load how = INK_LOAD_READ; how <= INK_LOAD_MAP; how++) {
		struct ink_table *t = create(o);

		live(t, o.flows, 3);
		assert_comes_back(t, o.flows, how);
		ink_free(t);
	}
}

static void an_overfull_table_comes_back_with_its_doubts(void **state)
{
	for (enum ink_load how = INK_LOAD_READ; how <= INK_LOAD_MAP; how++) {
		struct ink_table *t = small_table();

		assert_comes_back(t, SMALL_FLOWS, how);
		ink_free(t);
	}
}

static void an_empty_table_comes_back_empty(void **state)
{
	struct ink_table *t = create_small();

	give_rules(t, sort->large.states);
	assert_comes_back(t, SMALL_FLOWS, INK_LOAD_READ);
	ink_free(t);
}

/* Collisions, overflows and refusals are what the small tables are there for. */
static void the_small_table_has_everything_in_it(void **state)
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
	ink_free(t);
}

static void the_file_does_not_depend_on_the_instructions(void **state)
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
		ink_free(t);
	}
	assert_same_files(path_of("portable"), path_of("best"));
}

static void a_shortened_or_lengthened_file_is_refused(void **state)
{
	const char *path = path_of("small");
	size_t size = small_image()->size, step = test_scale() < 1 ? 7 : 1;
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

static void every_flipped_bit_is_noticed(void **state)
{
	const char *path = path_of("small");
	struct image *i = small_image();
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	int all = sort == sorts && test_scale() == 1; /* for one kind, if there is time */

	assert_true(fd >= 0);
	for (size_t bit = 0; bit < 8 * i->size; bit += all ? 1 : 1 + random_below(40)) {
		flip(fd, i, bit);
		assert_refused_somehow(path, bit % 3 ? INK_LOAD_READ : INK_LOAD_MAP);
		flip(fd, i, bit);
	}
	close(fd);
	ink_free(load(path, INK_LOAD_READ)); /* all bits are back */
}

/* -------------------------------------------------- forged, with right checksums */

/* It was loaded, so it has to be a table that can be used, whatever is in it. */
static void assert_usable(struct ink_table *t, unsigned states)
{
	struct ink_stats s = stats_of(t);
	struct ink_counts counts;
	uint64_t now;

	assert_sound(t);
	ink_census(t, &counts);
	give_rules(t, states);
	for (size_t i = 0; i < 1500; i++)
		operate(t, random_below(1000), random_below(8), random_below(states));
	for (size_t i = 0; i < 500; i++)
		ink_insert(t, random_word(), random_below(states));
	now = s.now + random_below(5);
	ink_tick(t, now < s.now ? UINT64_MAX : now, NULL);
	for (size_t i = 0; i < 500; i++)
		operate(t, random_below(1000), random_below(8), random_below(states));
	assert_sound(t);
}

static void a_mapped_table_does_not_write_to_its_file(void **state)
{
	struct image *before = small_image();
	struct ink_table *t = load(path_of("small"), INK_LOAD_MAP);

	assert_usable(t, sort->large.states);
	assert_true(image_equal(before, image_at(path_of("small"))));
	ink_free(t);
}

/* Refused with a reason, or sound. Returns 1 if it was loaded. */
static int try_forged(struct image *i, enum ink_load how)
{
	const char *path = path_of("forged");
	struct ink_why why = {""};
	struct ink_table *t;

	assert_true(image_write(i, path));
	t = ink_load(path, how, &why);
	if (!t) {
		assert_true(errno == EBADMSG || errno == ENOTSUP);
		assert_true(strlen(why.text) > 10);
		return 0;
	}
	assert_usable(t, image_get32(i, AT_STATES));
	ink_free(t);
	return 1;
}

static uint64_t odd_value(unsigned which, uint64_t was)
{
	const uint64_t values[] = {
		0,       1,        2,          UINT32_MAX, UINT64_MAX,         was + 1,
		was - 1, was * 2,  was / 2,    1ull << 31, 1ull << 63,         0x3ff0000000000000,
		4,       was ^ 64, was + 4096, 255,        random_word() % 64, random_word()};

	return values[which % (sizeof values / sizeof values[0])];
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

static void what_is_forged_is_refused_or_means_a_sound_table(void **state)
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
	size_t bytes = f.at < AT_FLOWS || (f.at >= AT_HAND && f.at < AT_UNSURE) ? 4 : 8;
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
	{AT_FLAGS, 2, "flags"},
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
	{AT_RESERVED, 1, "byte 500"},
	{AT_HEADER_SUM - 8, 1ull << 63, "byte 4079"},
};

static void fields_out_of_range_are_named(void **state)
{
	struct image *i = small_image();
	size_t size = image_get32(i, AT_B) ? AT_B : AT_M;
	const struct field relative[] = {
		{AT_STATE_BITS, image_get32(i, AT_STATE_BITS) + 1, "state bits"},
		{AT_B, image_get32(i, AT_B) == 0, "b (byte 48)"},
		{AT_HAND, image_get32(i, AT_SIDE) * 2 + 100, "hand"},
		{AT_CELLS_LENGTH, image_get64(i, AT_CELLS_LENGTH) + 8, "geometry"},
		{size, image_get32(i, size) * 1024, "geometry"},
	};

	for (size_t n = 0; n < sizeof wrong_fields / sizeof wrong_fields[0]; n++)
		assert_field_refused(i, wrong_fields[n]);
	for (size_t n = 0; n < sizeof relative / sizeof relative[0]; n++)
		assert_field_refused(i, relative[n]);
}

static void an_unknown_version_or_kind_is_not_supported(void **state)
{
	static const struct {
		size_t at;
		uint32_t value;
		const char *word;
	} unknown[] = {
		{AT_VERSION, 0, "version 0"}, {AT_VERSION, 1, "version 1"}, {AT_VERSION, 2, "version 2"},
		{AT_VERSION, 3, "version 3"}, {AT_VERSION, 4, "version 4"}, {AT_VERSION, 7, "version 7"},
		{AT_VERSION, 8, "version 8"}, {AT_KIND, 77, "kind 77"},     {AT_KIND, 0, "kind 0"},
	};
	struct image *original = small_image(), *i = image_like(original);

	for (size_t n = 0; n < sizeof unknown / sizeof unknown[0]; n++) {
		memcpy(i->bytes, original->bytes, i->size);
		image_put(i, unknown[n].at, 4, unknown[n].value);
		if (unknown[n].at == AT_KIND) /* an unknown version is refused whatever its checksum says */
			image_seal(i);
		assert_true(image_write(i, path_of("forged")));
		assert_refused(path_of("forged"), ENOTSUP, unknown[n].word);
	}
}

static void the_parts_are_checked_one_by_one(void **state)
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
static void ages_stand_in_the_file_as_the_document_says(void **state)
{
	struct ink_table *t;

	t = create_small();
	if (!ink_kind_has(&t->plan, INK_TRAIT_EPOCHS)) {
		ink_free(t);
		SKIP("tables of this kind store ages as they are");
	}
	give_rules(t, sort->large.states);
	for (unsigned now = 0; now < AGED; now++) {
		struct image *i;

		while (ink_tick_portion(t, now, 1, NULL) == 1)
			;
		assert_int_equal(ink_insert(t, id_number(now), aged_state(now)), 0);
		save(t, path_of("ages"));
		ink_free(t);
		i = image_at(path_of("ages"));
		for (unsigned flow = 0; flow <= now; flow++)
			assert_age(i, flow, now);
		t = load(path_of("ages"), INK_LOAD_READ);
		give_rules(t, sort->large.states);
	}
	ink_free(t);
}

static void a_reader_written_by_the_document_finds_the_same(void **state)
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
	ink_free(t);
}

/* ------------------------------------------------------------ forged side tables */

static struct image *empty_image(struct ink_options o)
{
	struct ink_table *t = create(o);

	save(t, path_of("empty"));
	ink_free(t);
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
	ink_free(t);
	return image_at(path_of("side"));
}

/* Where its parts are: 32 cells of 16 bits and what is behind them, the head, 60 chains, 60 entries of 16 bytes. */
enum { HEAD = AT_BODY + 64 + 16, CHAINS = HEAD + 16, ENTRIES = CHAINS + 60 * 4, ENTRY = 16 };
enum { HEAD_COUNT = 0, HEAD_FREE = 4, HEAD_FRESH = 8, HEAD_ZERO = 12 };
enum { ENTRY_NEXT = 8, ENTRY_CODE = 12, ENTRY_USED = 14 };

/* Bits of a file that are to become others; bit 0 is the lowest of the byte. */
struct change {
	size_t byte;
	unsigned bit, bits;
	uint64_t value;
};

struct forgery {
	struct change changes[4];
	const char *word; /* of the reason for which it is refused; NULL: it must be loaded */
};

static void put_bits(struct image *i, struct change c)
{
	for (unsigned k = 0; k < c.bits; k++) {
		unsigned char *byte = &i->bytes[c.byte + (c.bit + k) / 8];
		unsigned char mask = (unsigned char)(1u << (c.bit + k) % 8);

		*byte = (unsigned char)(c.value >> k & 1 ? *byte | mask : *byte & ~mask);
	}
}

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

#define ROWS(of) of, sizeof(of) / sizeof((of)[0])

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

static void a_forged_side_table_is_refused(void **state)
{
	struct image *i = side_image();

	assert_int_equal(side_base(i), HEAD);
	assert_int_equal(image_get32(i, HEAD + HEAD_COUNT), 13);
	assert_int_equal(image_get32(i, HEAD + HEAD_FREE), 19);
	assert_all_judged(i, ROWS(side_forgeries));
}

static void a_side_table_that_has_a_flow_twice_is_refused(void **state)
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
	ink_free(t);
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

static void forged_words_of_a_side_table_are_refused(void **state)
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
static void a_side_table_whose_chains_meet_is_refused(void **state)
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

/* As other_line(), of 7 lines. */
#define OTHER(line, mixed) ((((uint64_t)(mixed)*7 >> 32) + 7 - (line)) % 7)

/* Lanes of 15 bits: 10 of fingerprint, 1 of age, 4 of state. The top state is "don't know". */
static const struct forgery line_forgeries[] = {
	{{{AT_BODY, 0, LANE, 1 | 9 << 11},
	  {AT_BODY, COLUMN, LANE, 2 | 15 << 11},
	  {AT_BODY, 4 * WORD + 63, 1, 1}},
	 NULL},
	{{{AT_BODY, 0, LANE, 77 | 1 << 11}, {AT_BODY, 7 * WORD + 3 * COLUMN, LANE, 77 | 2 << 11}},
	 "told apart"},
	{{{AT_BODY, 0, LANE, 1 | 10 << 11}}, "state"},
	{{{AT_BODY, 4 * WORD + COLUMN, LANE, 1 << 11}}, "not empty"},
	{{{AT_BODY + 5 * LINE, 5 * WORD + 47, 1, 1}}, "spare bit"},
	{{{AT_BODY + 2 * LINE, 5 * WORD + 63, 1, 1}}, "spare bit"}, /* a lock that no thread would open */
	{{{AT_BODY + 2 * LINE, 63, 1, 1}}, "side table"},           /* there is none */
	{{{AT_BODY + 2 * LINE, 3 * WORD + 63, 1, 1}}, "side table"},
	{{{AT_BODY + 3 * LINE, 0, LANE, 77},
	  {AT_BODY + OTHER(3, 77 * 0x9e3779b1u) * LINE, 2 * WORD, LANE, 77}},
	 "told apart"},
};

/* 8 bits of remainder, 32 slots, 5 planes, 59 buckets. */
enum { PLANES = 32 * 8, META = 507 - (32 + 59) };

static const struct forgery compact_forgeries[] = {
	{{{AT_BODY, META + 58, 8, 0xff}, {AT_BODY, 0, 64, 0x0706050403020100}, {AT_BODY, 511, 1, 1}}, NULL},
	{{{AT_BODY, META, 33, UINT64_MAX}}, "more entries"},
	{{{AT_BODY, 443, 64, UINT64_MAX}}, "more entries"},
	{{{AT_BODY, META + 59, 1, 1}}, "last bucket"},
	{{{AT_BODY, 506, 1, 1}}, "last bucket"},
	{{{AT_BODY, 31 * 8, 8, 1}}, "free slot"},
	{{{AT_BODY, PLANES + 4 * 32 + 31, 1, 1}}, "free slot"},
	{{{AT_BODY, META - 1, 1, 1}}, "free slot"},
	{{{AT_BODY, META + 5, 2, 3}, {AT_BODY, 0, 16, 0x4444}}, "told apart"},
	{{{AT_BODY, META, 1, 1}, {AT_BODY, PLANES + 2 * 32, 1, 1}, {AT_BODY, PLANES + 4 * 32, 1, 1}},
	 "state"},
	{{{AT_BODY, 507, 1, 1}}, "side table"}, /* there is none */
	{{{AT_BODY, 510, 1, 1}}, "side table"},
	{{{AT_BODY + 1 * LINE, META + 5, 1, 1},
	  {AT_BODY + OTHER(1, (uint32_t)((5 << 8) * 0x9e3779b97f4a7c15ull >> 32)) * LINE, META + 5, 1, 1}},
	 "told apart"},
};

/*
 * One flow of home 2 in a side table of 26 words behind 7 lines: its count, and
 * a word of 3 bits of home, 48 of id, 5 of code.
 */
static const struct change one_aside[] = {
	{AT_BODY + 7 * LINE, 0, 32, 1},
	{AT_BODY + 7 * LINE + 16 + 8 * ((uint64_t)(2 * 0x9e3779b1u) * 26 >> 32), 0, 64,
	 ((2ull << 48 | 5) << 5) + 1},
};

/* The flow's id is 5 modulo 16: flag 1 of `line`, and name 6 of `compact`. */
static const struct forgery line_flags[] = {
	{{{AT_BODY + 2 * 64, 1 * WORD + 63, 1, 1}}, NULL},
	{{{AT_BODY + 2 * 64, 1 * WORD + 63, 1, 0}}, "has no flag"},
	{{{AT_BODY + 2 * 64, 2 * WORD + 63, 1, 1}}, "has no flag"},
	{{{AT_BODY + 2 * 64, 1 * WORD + 63, 1, 1}, {AT_BODY + 2 * 64, 3 * WORD + 63, 1, 1}}, "a flag leads"},
	{{{AT_BODY + 2 * 64, 1 * WORD + 63, 1, 1}, {AT_BODY + 3 * 64, 1 * WORD + 63, 1, 1}}, "a flag leads"},
};

static const struct forgery compact_flags[] = {
	{{{AT_BODY + 2 * 64, 507, 4, 6}}, NULL},
	{{{AT_BODY + 2 * 64, 507, 4, 0}}, "has no flag"},
	{{{AT_BODY + 2 * 64, 507, 4, 7}}, "has no flag"},
	{{{AT_BODY + 2 * 64, 507, 4, 15}}, "a flag leads"},
	{{{AT_BODY + 2 * 64, 507, 4, 6}, {AT_BODY + 3 * 64, 507, 4, 6}}, "a flag leads"},
};

/* 3 x 5 buckets of 6 cells of 10 + 1 + 4 bits: 1350 bits in 22 words, one of zeros, one of flags. */
static const struct forgery dleft_forgeries[] = {
	{{{AT_BODY, 0, 15, 3 | 9 << 11},
	  {AT_BODY, 89 * 15, 15, 3 | 15 << 11},
	  {AT_BODY, 23 * WORD, 15, 0x7fff}},
	 NULL},
	{{{AT_BODY, 0, 15, 3 | 9 << 11}, {AT_BODY, 15, 15, 3 | 9 << 11}}, NULL}, /* twins are the paper's */
	{{{AT_BODY, 15, 15, 3 | 10 << 11}}, "state"},
	{{{AT_BODY, 89 * 15, 15, 1 << 11}}, "not empty"},
	{{{AT_BODY, 1350, 1, 1}}, "behind the cells"},
	{{{AT_BODY, 22 * WORD + 63, 1, 1}}, "behind the cells"},
	{{{AT_BODY, 23 * WORD + 15, 1, 1}}, "behind the cells"},
};

/* 100 cells of 1 + 4 + 3 bits, 13 words and one of zeros. */
static const struct forgery stateful_forgeries[] = {
	{{{AT_BODY, 0, 8, 1 | 9 << 1 | 1 << 5}, {AT_BODY, 99 * 8, 8, 15 << 1 | 7 << 5}}, NULL},
	{{{AT_BODY, 8, 8, 10 << 1 | 1 << 5}}, "state"},
	{{{AT_BODY, 16, 8, 9 << 1}}, "empty cell"},
	{{{AT_BODY, 16, 8, 1}}, "empty cell"},
	{{{AT_BODY, 100 * 8, 1, 1}}, "behind the cells"},
	{{{AT_BODY, 13 * WORD + 63, 1, 1}}, "behind the cells"},
	{{{AT_THRESHOLD, 0, 32, 5}}, "geometry"},
	{{{AT_COUNTER_BITS, 0, 32, 1}}, "geometry"},
	{{{AT_M, 0, 32, 7}}, "geometry"},
	{{{AT_BLOOM_FLAGS, 0, 32, 1}}, "geometry"},
};

/* 500 cells of 1 + 2 bits, 24 words and one of zeros. */
static const struct forgery direct_forgeries[] = {
	{{{AT_BODY, 0, 3, 2}, {AT_BODY, 499 * 3, 3, 7}}, NULL},
	{{{AT_BODY, 3, 3, 1}}, "empty cell"},
	{{{AT_BODY, 500 * 3, 1, 1}}, "behind the cells"},
	{{{AT_M, 0, 32, 7}}, "geometry"},
	{{{AT_BLOOM_FLAGS, 0, 32, 1}}, "geometry"},
};

/* 3 lines of 64 cells. */
static const struct forgery blocked_forgeries[] = {
	{{{AT_M, 0, 32, 191}}, "geometry"},
};

enum { SLOT = 16, STAMP = 8 }; /* bytes; there are 256 slots, so the top byte of an id is its home */

static const struct forgery exact_forgeries[] = {
	{{{AT_BODY + 7 * SLOT, 0, 64, 7ull << 56}, {AT_BODY + 7 * SLOT + STAMP, 0, 64, ~0ull << 8 | 10}},
	 NULL},
	{{{AT_BODY + 7 * SLOT, 0, 64, 7ull << 56}, {AT_BODY + 7 * SLOT + STAMP, 0, 64, 11}}, "state"},
	{{{AT_BODY + 7 * SLOT, 0, 64, 7ull << 56}, {AT_BODY + 7 * SLOT + STAMP, 0, 64, 1 << 8}}, "state"},
	{{{AT_BODY + 7 * SLOT, 0, 64, 7ull << 56}}, "empty slot"},
	{{{AT_BODY + 9 * SLOT, 0, 64, 7ull << 56}, {AT_BODY + 9 * SLOT + STAMP, 0, 64, 1}},
	 "cannot be found"},
	{{{AT_BODY + 6 * SLOT, 0, 64, 6ull << 56},
	  {AT_BODY + 6 * SLOT + STAMP, 0, 64, 1},
	  {AT_BODY + 7 * SLOT, 0, 64, 6ull << 56},
	  {AT_BODY + 7 * SLOT + STAMP, 0, 64, 1}},
	 "cannot be found"},
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

static void an_exact_table_without_an_empty_slot_is_refused(void **state)
{
	struct image *i = empty_image((struct ink_options){.kind = INK_EXACT, .states = 10, .flows = 100});

	for (uint64_t slot = 0; slot < 256; slot++) {
		image_put(i, AT_BODY + slot * SLOT, 8, slot << 56);
		image_put(i, AT_BODY + slot * SLOT + STAMP, 8, 1);
	}
	assert_sealed_refused(i, "no slot is empty");
}

/* ------------------------------------------------------------ rules, ticks, time */

static struct ink_table *plain_table(void)
{
	struct ink_options o = {.kind = INK_LINE, .states = 15, .age_bits = 1, .flows = 2000};
	struct ink_table *t = create(o);

	for (uint64_t n = 0; n < 2000; n++)
		ink_insert(t, id_number(n), (unsigned)(n % 15));
	return t;
}

static void a_table_that_had_rules_waits_for_them(void **state)
{
	struct ink_table *t = plain_table(), *u;
	struct ink_move move;

	give_rules(t, 15);
	save(t, path_of("rules"));
	u = load(path_of("rules"), INK_LOAD_READ);
	assert_int_equal(ink_step(u, id_number(1), 0, &move), -EINVAL);
	assert_int_equal(ink_tick(u, 5, NULL), -EINVAL);
	assert_int_equal(ink_tick_portion(u, 5, 100, NULL), -EINVAL);
	assert_int_equal(ink_lookup(u, id_number(1)), 1);
	save(u, path_of("rules again")); /* it had rules, and still has had them */
	assert_same_files(path_of("rules"), path_of("rules again"));
	give_rules(u, 15);
	assert_int_equal(ink_step(u, id_number(1), 0, &move), 0);
	assert_int_equal(ink_tick(u, 5, NULL), 0);
	ink_free(u);
	ink_free(t);
}

static void a_table_without_rules_ticks_at_once(void **state)
{
	struct ink_table *t = plain_table(), *u;
	struct ink_counts expired;

	assert_int_equal(ink_tick(t, 1, NULL), 0);
	save(t, path_of("time"));
	u = load(path_of("time"), INK_LOAD_MAP);
	assert_int_equal(ink_tick(u, 0, NULL), -EINVAL);
	assert_int_equal(ink_tick(u, 2, &expired), 0);
	assert_int_equal(expired.total, 2000);
	ink_free(u);
	ink_free(t);
}

/* Overflow flags are in the file; that some are set is not, and a tick must clear them all the same. */
static void doubts_end_with_the_next_tick(void **state)
{
	struct ink_options o = {
		.kind = INK_LINE, .states = 15, .geometry = {.b = 3, .h = 24, .side = INK_NO_SIDE}};
	struct ink_table *t = create(o), *u;

	for (uint64_t n = 0; n < 1000; n++)
		ink_insert(t, id_number(n), 3);
	save(t, path_of("doubts"));
	u = load(path_of("doubts"), INK_LOAD_READ);
	assert_int_equal(ink_lookup(u, id_number(999)), INK_DONT_KNOW);
	assert_int_equal(ink_tick(u, 1, NULL), 0);
	assert_int_equal(ink_lookup(u, id_number(999)), INK_ABSENT);
	ink_free(u);
	ink_free(t);
}

/* -------------------------------------------------------------- what is no snapshot */

static void what_is_no_snapshot_is_refused(void **state)
{
	static const struct {
		size_t size;
		int byte;
		const char *word;
	} files[] = {{0, 0, "too short"}, {47, 'x', "too short"}, {8192, 'x', "magic"}, {8192, 0, "magic"}};

	for (unsigned n = 0; n < sizeof files / sizeof files[0]; n++) {
		struct image *i = image_new(files[n].size);

		memset(i->bytes, files[n].byte, i->size);
		assert_image_refused(i, files[n].word);
	}
	assert_refused(path_of("nothing there"), ENOENT, "cannot open");
	assert_refused(scratch, EISDIR, "directory");
	assert_refused("/dev/zero", EBADMSG, "regular");
	assert_refused("/dev/null", EBADMSG, "regular");
	assert_int_equal(mkfifo(path_of("pipe"), 0600), 0);
	assert_refused(path_of("pipe"), EBADMSG, "regular"); /* without waiting for a writer */
	unlink(path_of("pipe"));
}

static void an_unknown_way_of_loading_is_refused(void **state)
{
	struct ink_table *t = plain_table();
	struct ink_why why = {""};

	save(t, path_of("way"));
	assert_null(ink_load(path_of("way"), (enum ink_load)2, &why));
	assert_int_equal(errno, EINVAL);
	assert_non_null(strstr(why.text, "way"));
	ink_free(t);
}

static void a_long_path_is_cut_and_the_reason_stays(void **state)
{
	char name[256];
	struct ink_why why = {""};

	memset(name, 'n', 250);
	strcpy(name + 250, "-end");
	assert_null(ink_load(path_of(name), INK_LOAD_READ, &why));
	assert_non_null(strstr(why.text, "-end: cannot open it: No such file"));
}

/* ------------------------------------------------------------- saves that fail */

static void assert_save_fails(const struct ink_table *t, const char *path, int error, const char *word)
{
	struct ink_why why = {""};

	assert_int_equal(ink_save(t, path, &why), error);
	if (!strstr(why.text, word))
		fail_msg("\"%s\" lacks \"%s\"", why.text, word);
	assert_int_equal(ink_save(t, path, NULL), error);
}

static void a_save_goes_only_where_a_file_can_be(void **state)
{
	static const struct {
		const char *path;
		int error;
		const char *word;
	} bad[] = {
		{"missing/file", -ENOENT, "directory"}, {"pipe/file", -ENOTDIR, "directory"},
		{"directory", -EISDIR, "directory"},    {"directory/", -EISDIR, "directory"},
		{"directory/..", -EISDIR, "directory"}, {"pipe", -EEXIST, "regular"},
	};
	struct ink_table *t = plain_table();
	size_t files;

	assert_int_equal(mkdir(path_of("directory"), 0700), 0);
	assert_int_equal(mkfifo(path_of("pipe"), 0600), 0);
	files = scratch_count();
	for (unsigned n = 0; n < sizeof bad / sizeof bad[0]; n++)
		assert_save_fails(t, path_of(bad[n].path), bad[n].error, bad[n].word);
	assert_int_equal(scratch_count(), files);
	unlink(path_of("pipe"));
	rmdir(path_of("directory"));
	ink_free(t);
}

static void a_file_has_mode_0600(void **state)
{
	struct ink_table *t = plain_table();
	struct stat s;
	mode_t mask = umask(0);

	save(t, path_of("mode"));
	umask(mask);
	assert_int_equal(stat(path_of("mode"), &s), 0);
	assert_int_equal(s.st_mode & 07777, 0600);
	assert_int_equal(chmod(path_of("mode"), 0644), 0);
	save(t, path_of("mode"));
	assert_int_equal(stat(path_of("mode"), &s), 0);
	assert_int_equal(s.st_mode & 07777, 0600);
	ink_free(t);
}

static void a_relative_path_is_one_in_the_working_directory(void **state)
{
	struct ink_table *t = plain_table();
	char before[4096];

	assert_non_null(getcwd(before, sizeof before));
	assert_int_equal(chdir(scratch), 0);
	save(t, "relative");
	ink_free(load("relative", INK_LOAD_READ));
	assert_int_equal(chdir(before), 0);
	assert_int_equal(access(path_of("relative"), F_OK), 0);
	ink_free(t);
}

/*
 * What follows changes limits, users and mounts, so it happens in a child. It
 * has saved `old` to `path`; `hinder` makes another save fail, and then the
 * old file must be there unchanged and nothing beside it. The child's exit
 * code tells: 0 all is well, 77 it could not be tried, else the line.
 */
#define OR_ELSE(condition)                                                                                   \
	do                                                                                                   \
		if (!(condition))                                                                            \
			_exit(__LINE__ % 256 ? __LINE__ % 256 : 1);                                          \
	while (0)

/* The save fails, and the file stays as it was. */
static void fails_and_leaves_the_old(const struct ink_table *t, const char *path, int error, const char *word)
{
	struct ink_why why = {""};
	struct image *before = image_at(path);

	OR_ELSE(ink_save(t, path, &why) == error);
	OR_ELSE(strstr(why.text, word) && strstr(why.text, strrchr(path, '/')));
	OR_ELSE(image_equal(before, image_at(path)));
	OR_ELSE(files_in(path_of("child")) == 1);
}

static void under_a_file_size_limit(const struct ink_table *t, const char *path)
{
	struct rlimit limit = {6000, 6000};

	OR_ELSE(ink_save(t, path, NULL) == 0);
	OR_ELSE(signal(SIGXFSZ, SIG_IGN) != SIG_ERR && setrlimit(RLIMIT_FSIZE, &limit) == 0);
	fails_and_leaves_the_old(t, path, -EFBIG, "cannot write");
}

/* A file system of five pages: the first snapshot fits, a second beside it does not. */
static void on_a_full_disk(const struct ink_table *t, const char *path)
{
	if (unshare(CLONE_NEWNS) || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
	    mount("tmpfs", path_of("child"), "tmpfs", 0, "size=20k"))
		_exit(77);
	OR_ELSE(ink_save(t, path, NULL) == 0);
	fails_and_leaves_the_old(t, path, -ENOSPC, "cannot write");
}

static void in_an_unwritable_directory(const struct ink_table *t, const char *path)
{
	OR_ELSE(ink_save(t, path, NULL) == 0);
	OR_ELSE(chmod(path_of("child"), 0555) == 0 && chmod(path, 0644) == 0);
	OR_ELSE(chmod(scratch, 0755) == 0);
	if (geteuid() == 0)
		OR_ELSE(seteuid(65534) == 0);
	if (eaccess(path, R_OK)) /* user 65534 cannot enter $TMPDIR */
		_exit(77);
	fails_and_leaves_the_old(t, path, -EACCES, "cannot create");
}

static struct hindrance {
	const char *name;
	void (*save)(const struct ink_table *t, const char *path);
} hindrances[] = {
	{"a_save_that_meets_a_limit_leaves_the_old_file", under_a_file_size_limit},
	{"a_save_to_a_full_disk_leaves_the_old_file", on_a_full_disk},
	{"a_save_into_an_unwritable_directory_leaves_the_old_file", in_an_unwritable_directory},
};

static void a_save_that_is_hindered_leaves_the_old_file(void **state)
{
	const struct hindrance *hindrance = *state;
	struct ink_table *t = plain_table();
	pid_t child;
	int status;

	assert_int_equal(mkdir(path_of("child"), 0700), 0);
	child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		hindrance->save(t, path_of("child/file"));
		_exit(0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	chmod(path_of("child"), 0700); /* a test may have made it unwritable */
	unlink(path_of("child/file"));
	rmdir(path_of("child"));
	ink_free(t);
	assert_true(WIFEXITED(status));
	if (WEXITSTATUS(status) == 77)
		SKIP("what hinders it cannot be set up here");
	assert_int_equal(WEXITSTATUS(status), 0);
}

/* -------------------------------------------------------------- many at a time */

enum { SAVERS = 4 };

struct saver {
	pthread_t thread;
	struct ink_table *table;
	const char *path;
	size_t rounds;
	int error;
};

static void *save_often(void *of)
{
	struct saver *s = of;

	for (size_t i = 0; i < s->rounds && !s->error; i++)
		s->error = ink_save(s->table, s->path, NULL);
	return NULL;
}

static void start_saver(struct saver *s, const char *path, unsigned states)
{
	struct ink_options o = {.states = states, .flows = 1000 * states};

	*s = (struct saver){.table = create(o), .path = path, .rounds = scaled(100)};
	assert_int_equal(ink_save(s->table, path, NULL), 0);
	assert_int_equal(pthread_create(&s->thread, NULL, save_often, s), 0);
}

static void stop_saver(struct saver *s)
{
	pthread_join(s->thread, NULL);
	assert_int_equal(s->error, 0);
	ink_free(s->table);
}

static void saves_at_the_same_time_leave_one_whole_file(void **state)
{
	size_t files = scratch_count();
	const char *path = path_of("shared");
	struct saver savers[SAVERS];

	for (unsigned i = 0; i < SAVERS; i++)
		start_saver(&savers[i], path, 2 + i);
	for (size_t i = 0; i < scaled(300); i++)
		ink_free(load(path, i % 2 ? INK_LOAD_READ : INK_LOAD_MAP));
	for (unsigned i = 0; i < SAVERS; i++)
		stop_saver(&savers[i]);
	ink_free(load(path, INK_LOAD_READ));
	assert_int_equal(scratch_count(), files + 1);
}

struct changer {
	pthread_t thread;
	const char *path;
	struct image *image;
	int stop;
};

/* What no program should do: writes to a file that others are reading. */
static void *change_in_place(void *of)
{
	struct changer *c = of;
	int fd = open(c->path, O_WRONLY | O_CLOEXEC);

	while (!__atomic_load_n(&c->stop, __ATOMIC_RELAXED)) {
		if (pwrite(fd, c->image->bytes, c->image->size, 0) < 0 || ftruncate(fd, 4096 + 8192) < 0)
			break;
	}
	close(fd);
	return NULL;
}

static void a_file_that_shrinks_while_it_is_read_is_refused(void **state)
{
	struct ink_options o = {.states = 15, .flows = 300000};
	struct changer c = {.path = path_of("changing")};
	struct ink_table *t = create(o);

	save(t, c.path);
	c.image = image_at(c.path);
	assert_int_equal(pthread_create(&c.thread, NULL, change_in_place, &c), 0);
	for (size_t i = 0; i < scaled(500); i++) {
		struct ink_why why = {""};
		struct ink_table *u = ink_load(c.path, INK_LOAD_READ, &why);

		assert_true(u || (errno == EBADMSG && strlen(why.text) > 10));
		ink_free(u);
	}
	__atomic_store_n(&c.stop, 1, __ATOMIC_RELAXED);
	pthread_join(c.thread, NULL);
	ink_free(t);
}

/* ------------------------------------------------------------------- nothing leaks */

static size_t pages_mapped(void)
{
	FILE *file = fopen("/proc/self/statm", "r");
	size_t pages = 0;

	assert_non_null(file);
	assert_int_equal(fscanf(file, "%zu", &pages), 1);
	fclose(file);
	return pages;
}

/* Bodies are mapped, not allocated, so the leak sanitizer does not see them. */
static void refused_files_leave_nothing_behind(void **state)
{
	struct ink_options o = {.states = 15, .flows = 1000000};
	struct ink_table *t = create(o);
	size_t files = files_in("/proc/self/fd"), pages;
	struct image *i;

	save(t, path_of("leak"));
	ink_free(t);
	i = image_at(path_of("leak"));
	put_bits(i, (struct change){AT_BODY, 5 * WORD + 63, 1, 1}); /* a spare bit: ink_check finds it */
	image_seal(i);
	assert_true(image_write(i, path_of("leak")));
	pages = pages_mapped();
	for (unsigned round = 0; round < 100; round++)
		assert_refused_somehow(path_of("leak"), round % 2 ? INK_LOAD_READ : INK_LOAD_MAP);
	assert_true(pages_mapped() < pages + 10 * 700); /* a body has about 700 pages; ten would be a leak */
	assert_int_equal(files_in("/proc/self/fd"), files);
	unlink(path_of("leak"));
}

/* --------------------------------------------------------------------------- all */

/* No disk, where there is that: a save waits for it, and here are so many that they would take ten times as long. */
static int make_folder(void **state)
{
	return access("/dev/shm", W_OK) == 0 ? scratch_make_in("/dev/shm") : scratch_make(state);
}

#define TEST(name) cmocka_unit_test_teardown(name, free_images)

/* One test for each row of an array; a row begins with the name of its test, and is its state. */
static int failures_of_rows(void (*test)(void **), void *row, size_t size, size_t n)
{
	struct CMUnitTest tests[16];

	for (size_t k = 0; k < n; k++, row = (char *)row + size)
		tests[k] = (struct CMUnitTest){*(const char **)row, test, NULL, free_images, row};
	return _cmocka_run_group_tests("rows", tests, n, make_folder, scratch_remove);
}

static int failures_of(const struct sort *which)
{
	const struct CMUnitTest tests[] = {
		TEST(a_large_table_comes_back_as_it_was),
		TEST(an_overfull_table_comes_back_with_its_doubts),
		TEST(an_empty_table_comes_back_empty),
		TEST(the_small_table_has_everything_in_it),
		TEST(a_mapped_table_does_not_write_to_its_file),
		TEST(the_file_does_not_depend_on_the_instructions),
		TEST(a_reader_written_by_the_document_finds_the_same),
		TEST(ages_stand_in_the_file_as_the_document_says),
		TEST(a_shortened_or_lengthened_file_is_refused),
		TEST(every_flipped_bit_is_noticed),
		TEST(fields_out_of_range_are_named),
		TEST(an_unknown_version_or_kind_is_not_supported),
		TEST(the_parts_are_checked_one_by_one),
		TEST(what_is_forged_is_refused_or_means_a_sound_table),
	};

	sort = which;
	return cmocka_run_group_tests_name(sort->name, tests, make_folder, scratch_remove);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_forged_side_table_is_refused),
		TEST(a_side_table_that_has_a_flow_twice_is_refused),
		TEST(forged_words_of_a_side_table_are_refused),
		TEST(a_side_table_whose_chains_meet_is_refused),
		TEST(an_exact_table_without_an_empty_slot_is_refused),
		TEST(a_table_that_had_rules_waits_for_them),
		TEST(a_table_without_rules_ticks_at_once),
		TEST(doubts_end_with_the_next_tick),
		TEST(what_is_no_snapshot_is_refused),
		TEST(an_unknown_way_of_loading_is_refused),
		TEST(a_long_path_is_cut_and_the_reason_stays),
		TEST(a_save_goes_only_where_a_file_can_be),
		TEST(a_file_has_mode_0600),
		TEST(a_relative_path_is_one_in_the_working_directory),
		TEST(saves_at_the_same_time_leave_one_whole_file),
		TEST(a_file_that_shrinks_while_it_is_read_is_refused),
		TEST(refused_files_leave_nothing_behind),
	};
	int failures;

	if (snapshots_refused())
		return 77;
	failures = cmocka_run_group_tests_name("all kinds", tests, make_folder, scratch_remove);
	failures += failures_of_rows(forged_cells_are_refused, forged, sizeof forged[0],
				     sizeof forged / sizeof forged[0]);
	failures += failures_of_rows(a_save_that_is_hindered_leaves_the_old_file, hindrances,
				     sizeof hindrances[0], sizeof hindrances / sizeof hindrances[0]);
	for (size_t i = 0; i < sizeof sorts / sizeof sorts[0]; i++)
		failures += failures_of(&sorts[i]);
	return failures != 0;
}
