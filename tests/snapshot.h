/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * For tests of snapshots: tables that are filled, saved and loaded, files that are
 * refused with a reason, and what any table that was loaded must stand. The
 * teardown frees tables and images.
 */
#ifndef INKLING_TESTS_SNAPSHOT_H
#define INKLING_TESTS_SNAPSHOT_H

#include <unistd.h>

#include "tests/document.h"
#include "tests/scratch.h"
#include "tests/table.h"

/* ------------------------------------------------------------------ files */

/* A path in the folder; the last eight stay as they are. */
static inline const char *path_of(const char *name)
{
	static char paths[8][SCRATCH_PATH];
	static unsigned next;

	return scratch_path(paths[next++ % 8], name);
}

static inline void assert_same_files(const char *a, const char *b)
{
	assert_true(image_equal(image_at(a), image_at(b)));
}

/* No disk, where there is that: a save waits for it, and here are so many that they would take ten times as long. */
static inline int make_folder(void **state)
{
	return access("/dev/shm", W_OK) == 0 ? scratch_make_in("/dev/shm") : scratch_make(state);
}

/* Bits of a file that are to become others; bit 0 is the lowest of the byte. */
struct change {
	size_t byte;
	unsigned bit, bits;
	uint64_t value;
};

static inline void put_bits(struct image *i, struct change c)
{
	for (unsigned k = 0; k < c.bits; k++) {
		unsigned char *byte = &i->bytes[c.byte + (c.bit + k) / 8];
		unsigned char mask = (unsigned char)(1u << (c.bit + k) % 8);

		*byte = (unsigned char)(c.value >> k & 1 ? *byte | mask : *byte & ~mask);
	}
}

/* ---------------------------------------------------------------- the tables */

enum { EVENTS = 3 };

/* `stateful` and `direct`: nothing moves at its end, and the periods are one. */
static inline int is_filter(const struct ink_table *t)
{
	struct ink_counts counts;

	return ink_census(t, &counts) == -ENOTSUP;
}

/* Event 0 leads on, 1 ends, 2 starts; every second state is expendable, every third moves at its end. */
static inline void give_rules(struct ink_table *t, unsigned states)
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

/* The tables of a test, which its teardown frees. */
static struct ink_table *tables[64];
static size_t n_tables;

static inline struct ink_table *keep(struct ink_table *t)
{
	assert_true(n_tables < sizeof tables / sizeof tables[0]);
	return tables[n_tables++] = t;
}

static inline int free_all(void **state)
{
	while (n_tables)
		ink_free(tables[--n_tables]);
	return free_images(state);
}

static inline struct ink_table *create(struct ink_options o)
{
	o.size = sizeof o;
	o.seed = 7;
	return keep(table_with(&o));
}

/* One operation on one of `many` flows; what it returned, so that two tables can be compared. */
static inline long operate(struct ink_table *t, uint64_t number, unsigned what, unsigned state)
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

/* ------------------------------------------------------------- saving, loading */

static inline void save(const struct ink_table *t, const char *path)
{
	struct ink_why why = {""};

	if (ink_save(t, path, &why))
		fail_msg("%s", why.text);
}

static inline struct ink_table *load(const char *path, enum ink_load how)
{
	struct ink_why why = {""};
	struct ink_table *t = ink_load(path, how, &why);

	if (!t)
		fail_msg("%s", why.text);
	return keep(t);
}

/* Refused in both ways, with that error and a reason that names the file and has the word in it. */
static inline void assert_refused(const char *path, int error, const char *word)
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
static inline void assert_refused_somehow(const char *path, enum ink_load how)
{
	struct ink_why why = {""};

	assert_null(ink_load(path, how, &why));
	assert_true(errno == EBADMSG || errno == ENOTSUP);
	assert_true(strlen(why.text) > 10);
}

static inline void assert_image_refused(struct image *i, const char *word)
{
	const char *path = path_of("forged");

	assert_true(image_write(i, path));
	assert_refused(path, EBADMSG, word);
}

/* It was loaded, so it has to be a table that can be used, whatever is in it. */
static inline void assert_usable(struct ink_table *t, unsigned states)
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

/* Refused with a reason, or sound. Returns 1 if it was loaded. */
static inline int try_forged(struct image *i, enum ink_load how)
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

#endif
