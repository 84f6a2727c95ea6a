/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tables inside another program (embed.h), with a tick under way and without; then
 * what only tables have: ticks that go on in a loaded table or a copy, structs of
 * other versions, and what a save that was killed leaves behind.
 */
#include "tests/embed.h"
#include "tests/kind.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/sizes.h"

/* ------------------------------------------------------------------- the rows */

enum { STATES = 5, EVENTS = 3, FLOWS = 150 };

static struct ink_table *make_table(struct ink_options o, const struct ink_allocator *a)
{
	struct ink_table *t;

	o.size = sizeof o;
	o.states = STATES;
	o.flows = o.flows ? o.flows : FLOWS;
	o.age_bits = kind_can(o.kind, INK_CAN_TIME_OUT) ? 1 : 0;
	o.error = .02;
	o.seed = 3;
	o.allocator = a;
	t = ink_create(&o, NULL);
	for (uint64_t i = 0; t && i < FLOWS; i++)
		ink_insert(t, id_number(i), (unsigned)i % STATES);
	return t;
}

#define MAKE(name, ...)                                                                                      \
	static void *name(const struct ink_allocator *a)                                                     \
	{                                                                                                    \
		return make_table((struct ink_options){__VA_ARGS__}, a);                                     \
	}

MAKE(line, .kind = INK_LINE)
MAKE(shared_line, .kind = INK_LINE, .writers = 2)
MAKE(line_in_parts, .kind = INK_LINE, .part = 8)
MAKE(compact, .kind = INK_COMPACT)
MAKE(dleft, .kind = INK_DLEFT, .geometry.side = 20)
MAKE(exact, .kind = INK_EXACT)
MAKE(stateful, .kind = INK_STATEFUL)
MAKE(direct, .kind = INK_DIRECT)
MAKE(kbf, .kind = INK_KBF)

/* In the middle of its first tick. */
static void *begin_tick(struct ink_table *t)
{
	if (t)
		assert_int_equal(ink_tick_portion(t, 1, 20, NULL), 1);
	return t;
}

static void *line_in_tick(const struct ink_allocator *a)
{
	return begin_tick(line(a));
}

static void *compact_in_tick(const struct ink_allocator *a)
{
	return begin_tick(compact(a));
}

static void use_table(void *t)
{
	struct ink_stats s = {.size = sizeof s};
	struct ink_move move;

	for (uint64_t i = 0; i < 2 * FLOWS; i++) {
		ink_lookup(t, id_number(i));
		ink_set(t, id_number(3 * i), (unsigned)i % STATES);
		ink_modify(t, id_number(i), (unsigned)i % STATES);
		ink_delete(t, id_number(2 * i));
		ink_insert(t, id_number(i), 1);
		ink_step(t, id_number(i), 0, &move);
	}
	assert_int_equal(ink_stats(t, &s), 0);
	assert_int_equal(s.bytes, ink_bytes(t));
	assert_int_equal(s.now, ink_now(t));
	while (ink_tick_portion(t, ink_now(t) + 2, 50, NULL) == 1)
		ink_insert(t, id_number(7 * FLOWS), 2);
	ink_tick(t, ink_now(t) + 1, NULL);
}

CALLS(table, ink, POINTER_AND_LENGTH, )

#define ROW(name, version, make) OBJECT(name, version, make, use_table, table)

static const struct object tables[] = {
	ROW("line", 5, line),
	ROW("shared-line", 5, shared_line),
	ROW("line-in-parts", 7, line_in_parts),
	ROW("compact", 7, compact),
	ROW("dleft", 5, dleft),
	ROW("exact", 5, exact),
	ROW("stateful", 5, stateful),
	ROW("direct", 5, direct),
	ROW("table-kbf", 5, kbf),
	ROW("line-in-tick", 6, line_in_tick),
	ROW("compact-in-tick", 7, compact_in_tick),
};

/* -------------------------------------------------------------- older snapshots */

/* Its lines had another order of bits up to version 6: loaded and saved, such a file is one of version 7. */
TEST_THAT(files_of_older_versions_of_compact_become_tables_of_today)
{
	static const char *const files[] = {"compact.v5", "compact.v6", "compact-in-tick.v6"};
	static const struct ink_load_options ways[] = {{.size = sizeof ways[0]},
						       {.size = sizeof ways[0], .how = INK_LOAD_MAP},
						       {.size = sizeof ways[0], .trust = INK_TRUST_CHECKSUM},
						       {.size = sizeof ways[0], .simd = INK_SIMD_NONE}};
	static struct image first;

	for (size_t i = 0; HAS_SNAPSHOTS && i < COUNT(files) * COUNT(ways); i++) {
		struct ink_table *t, *again;
		struct ink_why why;
		char path[512];

		snprintf(path, sizeof path, "%s/tests/snapshots/%s", SOURCE_ROOT, files[i / COUNT(ways)]);
		t = ink_load_with(path, &ways[i % COUNT(ways)], &why);
		if (!t)
			fail_msg("%s", why.text);
		for (uint64_t j = 0; j < FLOWS; j++)
			assert_int_equal(ink_peek(t, id_number(j)), j % STATES);
		assert_int_equal(ink_check(t, &why), 0);
		image_copy(&first, image_of(&tables[0], t, NULL));
		assert_int_equal(image_get32(&first, AT_VERSION), 7);
		again = ink_load_buffer(first.bytes, first.size, NULL, &why);
		assert_non_null(again);
		assert_images(&first, image_of(&tables[0], again, NULL));
		use_table(t);
		ink_free(again);
		ink_free(t);
	}
}

/* ------------------------------------------------------------- ticks under way */

/* A ring with a start event; states wait for different times, and where moves are possible, some move. */
static const struct ink_rules *rules_for(enum ink_kind kind)
{
	static struct ink_row rows[(STATES + 2) * EVENTS];
	static struct ink_timing timings[STATES + 1];
	static const struct ink_rules rules = {
		.size = sizeof rules, .states = STATES, .events = EVENTS, .rows = rows, .timings = timings};
	int moves = kind_can(kind, INK_CAN_TIME_OUT_TO), differ = kind_can(kind, INK_CAN_DIFFER);

	for (unsigned i = 0; i < (STATES + 2) * EVENTS; i++)
		rows[i] = (struct ink_row){(int16_t)(i % STATES), 0};
	for (unsigned s = 0; s <= STATES; s++) {
		int goes_on = moves && s % 2 && s < STATES;

		timings[s] = (struct ink_timing){.period = differ ? 1 + s % 3 : 1,
						 .timeout = (int16_t)(goes_on ? (int)s - 1 : INK_ABSENT)};
	}
	return &rules;
}

static struct ink_table *loaded(const struct ink_table *t, enum ink_kind kind)
{
	struct image *i = image_of(&tables[0], t, NULL);
	struct ink_table *u = ink_load_buffer(i->bytes, i->size, NULL, NULL);

	assert_non_null(u);
	assert_int_equal(ink_set_rules(u, rules_for(kind), NULL), 0);
	return u;
}

/* The same calls, whichever table: inserts that displace entries across the cursor, too. */
static void disturb(struct ink_table *t, uint64_t turn)
{
	struct ink_move move;

	for (uint64_t i = 0; i < 12; i++) {
		ink_insert(t, id_number(1000 + turn * 12 + i), (unsigned)i % STATES);
		ink_lookup(t, id_number(turn + i));
		ink_step(t, id_number(3 * turn + i), (unsigned)i % EVENTS, &move);
		ink_delete(t, id_number(5 * turn + i));
	}
}

/* The original, one that was loaded in the middle of the tick, and a copy go on together. */
static void go_on_together(struct ink_table *three[3], uint64_t now)
{
	for (uint64_t turn = 0, more = 1; more; turn++) {
		struct ink_counts expired[3];

		more = 0;
		for (unsigned i = 0; i < 3; i++) {
			int went = ink_tick_portion(three[i], now, 30, &expired[i]);

			assert_true(went == 0 || went == 1);
			more |= (uint64_t)went;
			disturb(three[i], turn);
		}
		assert_memory_equal(&expired[0], &expired[1], sizeof expired[0]);
		assert_memory_equal(&expired[0], &expired[2], sizeof expired[0]);
	}
}

static void assert_tick_goes_on(struct ink_options o, unsigned portions)
{
	struct ink_table *three[3];

	o.size = sizeof o;
	o.states = STATES;
	o.flows = 400;
	o.error = .02;
	o.seed = 5;
	o.rules = rules_for(o.kind);
	three[0] = ink_create(&o, NULL);
	assert_non_null(three[0]);
	for (uint64_t i = 0; i < 380; i++)
		ink_insert(three[0], id_number(i), (unsigned)i % STATES);
	ink_tick(three[0], 1, NULL);
	for (unsigned i = 0; i < portions; i++) {
		if (ink_tick_portion(three[0], 2, 30, NULL) == 0)
			break;
		disturb(three[0], i);
	}
	three[1] = loaded(three[0], o.kind);
	three[2] = ink_copy(three[0], NULL, NULL);
	assert_same(&tables[0], three[0], three[1]);
	assert_same(&tables[0], three[0], three[2]);
	for (unsigned i = 0; i < 3; i++)
		disturb(three[i], 50);
	go_on_together(three, 2);
	for (unsigned i = 0; i < 3; i++) {
		assert_int_equal(ink_now(three[i]), 2);
		assert_int_equal(ink_tick(three[i], 4, NULL), 0);
		assert_int_equal(ink_check(three[i], NULL), 0);
	}
	assert_same(&tables[0], three[0], three[1]);
	assert_same(&tables[0], three[0], three[2]);
	for (unsigned i = 0; i < 3; i++)
		ink_free(three[i]);
}

TEST_THAT(a_tick_under_way_goes_on_in_a_loaded_table_and_in_a_copy)
{
	for (int kind = INK_LINE; kind <= INK_KBF; kind++)
		for (unsigned age = 0; age <= (kind_can(kind, INK_CAN_TIME_OUT) ? 2 : 0); age++)
			for (unsigned portions = 1; portions < 14; portions += 3) {
				struct ink_options o = {.kind = (enum ink_kind)kind, .age_bits = age};

				assert_tick_goes_on(o, portions);
				o.writers = 2;
				if (kind_can(kind, INK_CAN_MANY_WRITERS))
					assert_tick_goes_on(o, portions);
			}
}

/* 16 and 32 are other tables with the same lines, which the body may happen to fit. */
TEST_THAT(a_part_that_no_line_has_is_refused)
{
	static const uint64_t parts[] = {1, 4, 7, 12, 24, 33, 64, UINT32_MAX};
	struct ink_table *t = line_in_parts(NULL);
	struct image *good = image_of(&tables[0], t, NULL), bad = {0};

	ink_free(t);
	for (size_t i = 0; i < COUNT(parts); i++) {
		struct ink_why why = {""};

		image_copy(&bad, good);
		image_put(&bad, 500, 4, parts[i]);
		image_seal(&bad);
		assert_null(ink_load_buffer(bad.bytes, bad.size, NULL, &why));
		assert_non_null(strstr(why.text, "part"));
	}
	free(bad.bytes);
}

/* A field of the header, what is written there, and a word of the reason. */
TEST_THAT(a_forged_tick_is_refused)
{
	static const struct {
		size_t at;
		uint64_t value;
		size_t bytes;
		const char *word;
	} forged[] = {
		{504, 0, 8, "past"},         {504, 1, 8, NULL},           {512, 1u << 30, 8, "end"},
		{512, ~0ull, 8, "end"},      {520, 7, 8, NULL},           {520 + 8 * 5, 7, 8, "states"},
		{2568, 1, 2, NULL},          {2568, STATES + 1, 2, NULL}, {2568, STATES + 2, 2, "states"},
		{2568 + 10, 1, 2, "states"}, {2568 + 14, 1, 2, NULL},     {2568 + 14, 2, 2, "states"},
		{3080, 2, 4, "flags"},       {3084, 1, 4, "flags"},       {3088, 1, 4, "reserved"},
		{500, 1, 4, "part"},         {36, 0, 4, "reserved"},      {8, 5, 4, "version 5"},
		{4056, 1, 8, "too short"},   {4056, ~0ull, 8, "extra"},   {4064, 1, 8, "extra"},
	};
	struct ink_table *t = line_in_tick(NULL);
	struct image *good = image_of(&tables[0], t, NULL), bad = {0};

	ink_free(t);
	for (size_t i = 0; i < COUNT(forged); i++) {
		struct ink_why why = {""};

		image_copy(&bad, good);
		image_put(&bad, forged[i].at, forged[i].bytes, forged[i].value);
		image_seal(&bad);
		t = ink_load_buffer(bad.bytes, bad.size, NULL, &why);
		if ((t == NULL) != (forged[i].word != NULL) || (!t && !strstr(why.text, forged[i].word)))
			fail_msg("byte %zu: %s", forged[i].at, why.text);
		if (t)
			use_table(t);
		ink_free(t);
	}
	free(bad.bytes);
}

/* ------------------------------------------------- structs of other versions */

static struct ink_table *sized_with;
static const struct ink_row rows[3] = {{0, 0}, {0, 0}, {0, 0}};
static const struct ink_rules some_rules = {
	.size = sizeof some_rules, .states = 1, .events = 1, .rows = rows};
static const struct ink_options some_options = {.size = sizeof some_options, .states = 2, .flows = 10};
static const struct ink_save_options some_save = {.size = sizeof some_save};
static const struct ink_load_options some_load = {.size = sizeof some_load};

static int takes_options(void *o)
{
	struct ink_plan plan = {.size = sizeof plan};
	struct ink_table *t = ink_create(o, NULL);
	int error = ink_plan(o, &plan, NULL);

	assert_int_equal(error, t ? 0 : -errno);
	ink_free(t);
	return error;
}

static int gives_a_plan(void *plan)
{
	return ink_plan(&some_options, plan, NULL);
}

static int takes_rules(void *rules)
{
	return ink_set_rules(sized_with, rules, NULL);
}

static int gives_stats(void *stats)
{
	return ink_stats(sized_with, stats);
}

static int takes_save_options(void *o)
{
	uint64_t bytes;

	return ink_save_bytes(sized_with, o, &bytes, NULL);
}

static int takes_load_options(void *o)
{
	struct image *i = image_of(&tables[0], sized_with, NULL);
	struct ink_table *t = ink_load_buffer(i->bytes, i->size, o, NULL);

	ink_free(t);
	return t ? 0 : -errno;
}

static int gives_kind_info(void *info)
{
	return ink_kind_info(INK_LINE, info);
}

/* The first sizes are those of the first release, and never change. */
TEST_THAT(structs_of_every_size_are_taken_or_refused)
{
	static const struct sized structs[] = {
		{"options", 128, sizeof(struct ink_options), &some_options, takes_options},
		{"plan", 128, sizeof(struct ink_plan), NULL, gives_a_plan},
		{"rules", 40, sizeof(struct ink_rules), &some_rules, takes_rules},
		{"stats", 128, sizeof(struct ink_stats), NULL, gives_stats},
		{"save options", 24, sizeof(struct ink_save_options), &some_save, takes_save_options},
		{"load options", 64, sizeof(struct ink_load_options), &some_load, takes_load_options},
		{"kind info", 40, sizeof(struct ink_kind_info), NULL, gives_kind_info},
	};

	sized_with = line(NULL);
	for (size_t i = 0; i < COUNT(structs); i++)
		assert_grows(&structs[i]);
	ink_free(sized_with);
}

#define REFUSES(call)                                                                                        \
	do {                                                                                                 \
		why.text[0] = '\0';                                                                          \
		errno = 0;                                                                                   \
		assert_true((intptr_t)(call) == -EINVAL || errno == EINVAL);                                 \
		assert_true(why.text[0]);                                                                    \
	} while (0)

TEST_THAT(null_is_refused_with_a_reason)
{
	struct ink_table *t = line(NULL);
	struct ink_plan plan = {.size = sizeof plan};
	struct ink_buffer none = {.room = SIZE_MAX};
	struct ink_why why;

	SKIP_WITHOUT_SNAPSHOTS();
	REFUSES((intptr_t)ink_create(NULL, &why));
	REFUSES(ink_plan(NULL, &plan, &why));
	REFUSES(ink_plan(&some_options, NULL, &why));
	REFUSES(ink_save(t, NULL, &why));
	REFUSES(ink_save_with(t, NULL, NULL, &why));
	REFUSES(ink_save_to(t, NULL, NULL, &why));
	REFUSES(ink_save_buffer(t, NULL, NULL, &why));
	REFUSES(ink_save_buffer(t, &none, NULL, &why));
	REFUSES((intptr_t)ink_load(NULL, INK_LOAD_READ, &why));
	REFUSES((intptr_t)ink_load_with(NULL, NULL, &why));
	REFUSES((intptr_t)ink_load_from(NULL, NULL, &why));
	REFUSES((intptr_t)ink_load_buffer(NULL, 0, NULL, &why));
	assert_int_equal(ink_stats(t, NULL), -EINVAL);
	ink_free(t);
}

/* ------------------------------------------------------- saves that are killed */

/* Saves until it is killed. */
static pid_t start_saving(void)
{
	pid_t child = fork();

	if (child == 0) {
		struct ink_options o = {.size = sizeof o, .states = 2, .bytes = 1 << 20, .seed = 1};
		struct ink_table *t = ink_create(&o, NULL);

		while (t && ink_save(t, scratch_file, NULL) == 0)
			;
		_exit(1);
	}
	assert_true(child > 0);
	return child;
}

/* How many files the folder has at most after a kill; 2: the snapshot, and one of the killed save. */
static size_t kill_some(unsigned kills)
{
	size_t most = 0;

	for (unsigned i = 0; i < kills; i++) {
		pid_t child = start_saving();
		size_t files;
		int status;

		usleep(2000 + random_below(20000));
		kill(child, SIGKILL);
		assert_int_equal(waitpid(child, &status, 0), child);
		assert_true(WIFSIGNALED(status));
		files = scratch_count();
		most = files > most ? files : most;
	}
	return most;
}

TEST_THAT(the_next_save_removes_what_killed_saves_left)
{
	struct ink_table *t = line(NULL);
	size_t left;

	SKIP_WITHOUT_SNAPSHOTS();
	left = kill_some(40);
	print_message("at most %zu files after a kill\n", left);
	assert_in_range(left, 1, 2);
	assert_int_equal(ink_save(t, scratch_file, NULL), 0);
	assert_int_equal(scratch_count(), 1);
	ink_free(t);
}

/* The file of a live save is locked; files of other paths and other names are not ours. */
TEST_THAT(only_abandoned_files_of_the_same_path_are_removed)
{
	struct ink_table *t = line(NULL);
	char prefix[64], path[SCRATCH_PATH];
	const struct {
		const char *end;
		int locked, stays;
	} files[] = {{"0123456789abcdef", 0, 0},
		     {"0123456789abcdee", 1, 1},
		     {"0123456789abcdeg", 0, 1},
		     {"0123456789abcdef0", 0, 1},
		     {"", 0, 1}};
	int fds[5];

	SKIP_WITHOUT_SNAPSHOTS();
	snprintf(prefix, sizeof prefix, ".ink-%016llx-", (unsigned long long)XXH3_64bits("file", 4));
	for (unsigned i = 0; i < 5; i++) {
		snprintf(path, sizeof path, "%s/%s%s", scratch, prefix, files[i].end);
		fds[i] = open(path, O_CREAT | O_EXCL | O_RDWR, 0600);
		assert_true(fds[i] >= 0);
		if (files[i].locked)
			assert_int_equal(flock(fds[i], LOCK_EX), 0);
	}
	assert_int_equal(ink_save(t, scratch_file, NULL), 0);
	for (unsigned i = 0; i < 5; i++) {
		snprintf(path, sizeof path, "%s/%s%s", scratch, prefix, files[i].end);
		assert_int_equal(access(path, F_OK) == 0, files[i].stays);
		close(fds[i]);
		unlink(path);
	}
	ink_free(t);
}

int main(void)
{
	return run_objects(tables, COUNT(tables),
			   &(struct suite){.begin = scratch_make, .end = scratch_remove});
}
