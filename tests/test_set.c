/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Several tables in one file: everything that embed.h does with one object, with a
 * set of four; then a reader written from docs/format.md, names, limits, and files
 * with right checksums and wrong contents.
 */
#include "tests/embed.h"

#include <unistd.h>

/* ------------------------------------------------------------ a set as an object */

enum { TABLES = 4, STATES = 5, FLOWS = 60, AT_TABLES = 20, AT_TABLES_BYTES = 24, AT_EXTRA = 4056 };

/* Of the directory. */
enum { ENTRY = 128, ENTRY_BYTES = 64, ENTRY_SUM = 80 };

static const char *const names[TABLES] = {"scan", "scan/slow", "sources", "\xc3\xa4nderung"};
static const struct ink_options kinds[TABLES] = {{.kind = INK_LINE},
						 {.kind = INK_COMPACT, .age_bits = 1},
						 {.kind = INK_EXACT},
						 {.kind = INK_LINE, .part = 8, .age_bits = 1}};

struct set {
	struct ink_table *tables[TABLES];
	struct ink_set_entry entries[TABLES];
	struct ink_table_set set;
};

static void set_free(void *o)
{
	struct set *s = o;

	for (unsigned i = 0; s && i < TABLES; i++)
		ink_free(s->tables[i]);
	free(s);
}

/* Of the tables that it has been given; NULL, with errno as it was, if one is missing. */
static void *set_complete(struct set *s)
{
	int error = errno, missing = 0;

	for (unsigned i = 0; i < TABLES; i++) {
		missing |= !s->tables[i];
		s->entries[i] = (struct ink_set_entry){names[i], s->tables[i]};
	}
	s->set = (struct ink_table_set){s->entries, TABLES};
	if (missing)
		set_free(s);
	errno = error;
	return missing ? NULL : s;
}

static struct set *set_new(void)
{
	struct set *s = calloc(1, sizeof *s);

	assert_non_null(s);
	return s;
}

static struct ink_table *make_table(unsigned i, const struct ink_allocator *a)
{
	struct ink_options o = kinds[i];
	struct ink_table *t;

	o.size = sizeof o;
	o.states = STATES;
	o.flows = FLOWS;
	o.error = .02;
	o.seed = 3 + i;
	o.allocator = a;
	t = ink_create(&o, NULL);
	for (uint64_t f = 0; t && f < FLOWS; f++)
		ink_insert(t, id_number(f), (unsigned)(f + i) % STATES);
	return t;
}

static void *set_make(const struct ink_allocator *a)
{
	struct set *s = set_new();

	for (unsigned i = 0; i < TABLES && (!i || s->tables[i - 1]); i++)
		s->tables[i] = make_table(i, a);
	if (s->tables[TABLES - 1])
		ink_tick_portion(s->tables[TABLES - 1], 1, 4, NULL);
	return set_complete(s);
}

static void *set_copy(const void *o, const struct ink_allocator *a)
{
	const struct set *from = o;
	struct set *s = set_new();

	for (unsigned i = 0; i < TABLES && (!i || s->tables[i - 1]); i++)
		s->tables[i] = ink_copy(from->tables[i], a, NULL);
	return set_complete(s);
}

static uint64_t set_bytes(const void *o)
{
	const struct set *s = o;
	uint64_t bytes = 0;

	for (unsigned i = 0; i < TABLES; i++)
		bytes += ink_bytes(s->tables[i]);
	return bytes;
}

static void set_use(void *o)
{
	struct set *s = o;

	for (unsigned i = 0; i < TABLES; i++) {
		for (uint64_t f = 0; f < 2 * FLOWS; f++) {
			ink_set(s->tables[i], id_number(3 * f), (unsigned)f % STATES);
			ink_delete(s->tables[i], id_number(2 * f));
		}
		ink_tick(s->tables[i], ink_now(s->tables[i]) + 2, NULL);
	}
}

static int set_save(const void *o, const char *path, struct ink_why *why)
{
	return ink_save_set(&((const struct set *)o)->set, path, NULL, why);
}

static int set_save_with(const void *o, const char *path, const struct ink_save_options *s)
{
	return ink_save_set(&((const struct set *)o)->set, path, s, NULL);
}

static int set_save_to(const void *o, const struct ink_sink *to, const struct ink_save_options *s)
{
	return ink_save_set_to(&((const struct set *)o)->set, to, s, NULL);
}

static int set_save_buffer(const void *o, struct ink_buffer *to, const struct ink_save_options *s)
{
	return ink_save_set_buffer(&((const struct set *)o)->set, to, s, NULL);
}

static int set_save_bytes(const void *o, const struct ink_save_options *s, uint64_t *bytes)
{
	return ink_save_set_bytes(&((const struct set *)o)->set, s, bytes, NULL);
}

/* Every table is taken; the set that they came in is freed before they are used. */
static void *set_taken(struct ink_loaded_set *loaded)
{
	struct set *s;

	if (!loaded)
		return NULL;
	s = set_new();
	assert_int_equal(ink_loaded_set_count(loaded), TABLES);
	for (unsigned i = 0; i < TABLES; i++) {
		assert_string_equal(ink_loaded_set_name(loaded, i), names[i]);
		s->tables[i] = ink_loaded_set_take(loaded, names[i]);
		assert_non_null(s->tables[i]);
	}
	ink_loaded_set_free(loaded);
	return set_complete(s);
}

static void *set_load_with(const char *path, const struct ink_load_options *l)
{
	return set_taken(ink_load_set(path, l, NULL));
}

static void *set_load_from(const struct ink_source *from, const struct ink_load_options *l)
{
	return set_taken(ink_load_set_from(from, l, NULL));
}

static void *set_load_buffer(const uint8_t *bytes, size_t n, const struct ink_load_options *l)
{
	return set_taken(ink_load_set_buffer(bytes, n, l, NULL));
}

static const struct object sets[] = {OBJECT("set", 5, set_make, set_use, set)};

/* ----------------------------------------------------------- the page is right */

static struct image *good(void)
{
	static struct image i;
	struct set *s = set_make(NULL);

	image_copy(&i, image_of(&sets[0], s, &with_extra));
	set_free(s);
	return &i;
}

/* Where table n begins, by the directory. */
static size_t start_of(const struct image *i, unsigned n)
{
	size_t at = AT_BODY + image_get64(i, AT_BODY_LENGTH);

	while (n-- > 0)
		at += image_get64(i, AT_BODY + n * ENTRY + ENTRY_BYTES);
	return at;
}

TEST_THAT(the_page_says_where_everything_is_and_each_table_is_a_snapshot)
{
	struct set *s = set_make(NULL);
	struct image *i, *alone;

	SKIP_WITHOUT_SNAPSHOTS();
	i = good();
	assert_int_equal(image_get32(i, AT_KIND), 48);
	assert_int_equal(image_get32(i, AT_TABLES), TABLES);
	assert_int_equal(start_of(i, TABLES), start_of(i, 0) + image_get64(i, AT_TABLES_BYTES));
	assert_int_equal(start_of(i, TABLES) + sizeof extra, i->size);
	assert_memory_equal(i->bytes + start_of(i, TABLES), extra, sizeof extra);
	for (unsigned n = 0; n < TABLES; n++) {
		const uint8_t *entry = i->bytes + AT_BODY + n * ENTRY, *table = i->bytes + start_of(i, n);
		struct ink_buffer b;

		alone = image_of(&sets[0], s, NULL);
		b = image_buffer(alone);
		assert_int_equal(ink_save_buffer(s->tables[n], &b, NULL, NULL), 0);
		assert_int_equal(b.used, image_get64(i, AT_BODY + n * ENTRY + ENTRY_BYTES));
		assert_memory_equal(b.bytes, table, b.used);
		assert_memory_equal(entry + ENTRY_SUM, table + AT_HEADER_SUM, 16);
		assert_string_equal((const char *)entry, names[n]);
	}
	set_free(s);
}

TEST_THAT(tables_are_taken_once_by_name_and_the_rest_goes_with_the_set)
{
	const struct ink_load_options l = {.size = sizeof l, .allocator = &allocator};
	struct ink_loaded_set *set;
	struct ink_table *t;

	SKIP_WITHOUT_SNAPSHOTS();
	set = ink_load_set_buffer(good()->bytes, good()->size, &l, NULL);
	assert_non_null(set);
	assert_null(ink_loaded_set_name(set, TABLES));
	assert_null(ink_loaded_set_take(set, "Scan"));
	assert_null(ink_loaded_set_take(set, ""));
	assert_null(ink_loaded_set_take(set, NULL));
	t = ink_loaded_set_take(set, "sources");
	assert_null(ink_loaded_set_take(set, "sources"));
	ink_loaded_set_free(set);
	ink_loaded_set_free(NULL);
	for (uint64_t f = 0; f < FLOWS; f++)
		assert_int_equal(ink_peek(t, id_number(f)), (f + 2) % STATES);
	ink_free(t);
	assert_int_equal(heap.bytes + heap.blocks, 0);
}

TEST_THAT(a_set_on_the_disk_is_private_and_replaces_the_old_one_whole)
{
	struct set *s = set_make(NULL);
	struct ink_why why = {""};
	struct stat found;

	SKIP_WITHOUT_SNAPSHOTS();
	for (unsigned turn = 0; turn < 2; turn++) {
		assert_int_equal(set_save(s, scratch_file, &why), 0);
		assert_int_equal(stat(scratch_file, &found), 0);
		assert_int_equal(found.st_mode & 0777, 0600);
		assert_int_equal(scratch_count(), 1);
	}
	s->entries[1].name = s->entries[0].name;
	assert_int_equal(set_save(s, scratch_file, &why), -EINVAL);
	assert_int_equal(scratch_count(), 1);
	set_free(set_load_with(scratch_file, NULL));
	set_free(s);
}

/* ------------------------------------------------------------ what is refused */

TEST_THAT(names_that_are_none_are_refused_when_saving)
{
	static char longest[64], too_long[65];
	const struct {
		const char *name, *word;
	} bad[] = {{NULL, "NULL"},      {"", "empty"},         {too_long, "too long"}, {"a\nb", "control"},
		   {"\x7f", "control"}, {"\xc2\x85", "UTF-8"}, {"\xff", "UTF-8"},      {"a\xc3", "UTF-8"},
		   {"scan", "two"},     {longest, NULL}};
	struct set *s = set_make(NULL);
	uint64_t bytes;

	SKIP_WITHOUT_SNAPSHOTS();
	memset(longest, 'x', sizeof longest - 1);
	memset(too_long, 'x', sizeof too_long - 1);
	for (size_t i = 0; i < COUNT(bad); i++) {
		struct ink_why why = {""};
		int expected = bad[i].word ? -EINVAL : 0;

		s->entries[1].name = bad[i].name;
		assert_int_equal(ink_save_set(&s->set, scratch_file, NULL, &why), expected);
		assert_true(!bad[i].word || strstr(why.text, bad[i].word));
		assert_int_equal(ink_save_set_bytes(&s->set, NULL, &bytes, NULL), expected);
	}
	set_free(s);
}

TEST_THAT(sets_that_are_none_are_refused_when_saving)
{
	struct set *s = set_make(NULL);
	struct ink_buffer none = {.room = SIZE_MAX};
	struct ink_table_set bad = s->set;
	struct ink_why why = {""};
	uint64_t bytes;

	SKIP_WITHOUT_SNAPSHOTS();
	assert_int_equal(ink_save_set(NULL, scratch_file, NULL, &why), -EINVAL);
	assert_int_equal(ink_save_set_bytes(NULL, NULL, &bytes, &why), -EINVAL);
	assert_int_equal(ink_save_set(&bad, NULL, NULL, &why), -EINVAL);
	assert_int_equal(ink_save_set_buffer(&bad, NULL, NULL, &why), -EINVAL);
	assert_int_equal(ink_save_set_buffer(&bad, &none, NULL, &why), -EINVAL);
	bad.n = 0;
	assert_int_equal(ink_save_set(&bad, scratch_file, NULL, &why), -EINVAL);
	bad.n = INK_MAX_SET + 1;
	assert_int_equal(ink_save_set(&bad, scratch_file, NULL, &why), -EINVAL);
	bad = (struct ink_table_set){NULL, 1};
	assert_int_equal(ink_save_set(&bad, scratch_file, NULL, &why), -EINVAL);
	s->entries[2].table = NULL;
	assert_int_equal(ink_save_set(&s->set, scratch_file, NULL, &why), -EINVAL);
	assert_non_null(strstr(why.text, "sources"));
	assert_null(ink_load_set(NULL, NULL, &why));
	assert_null(ink_load_set_from(NULL, NULL, &why));
	assert_null(ink_load_set_buffer(NULL, 0, NULL, &why));
	set_free(s);
}

TEST_THAT(the_most_tables_that_a_set_can_have)
{
	static char many[INK_MAX_SET][8];
	static struct ink_set_entry entries[INK_MAX_SET];
	const struct ink_table_set set = {entries, INK_MAX_SET};
	struct ink_table *t = make_table(0, NULL);
	struct ink_loaded_set *loaded;

	SKIP_WITHOUT_SNAPSHOTS();
	for (unsigned i = 0; i < INK_MAX_SET; i++) {
		snprintf(many[i], sizeof many[i], "t%u", i);
		entries[i] = (struct ink_set_entry){many[i], t};
	}
	assert_int_equal(ink_save_set(&set, scratch_file, NULL, NULL), 0);
	loaded = ink_load_set(
		scratch_file,
		&(struct ink_load_options){.size = sizeof(struct ink_load_options), .how = INK_LOAD_MAP},
		NULL);
	assert_non_null(loaded);
	assert_int_equal(ink_loaded_set_count(loaded), INK_MAX_SET);
	ink_free(t);
	t = ink_loaded_set_take(loaded, "t255");
	assert_int_equal(ink_peek(t, id_number(1)), 1);
	ink_free(t);
	ink_loaded_set_free(loaded);
}

TEST_THAT(a_set_is_no_table_and_a_table_no_set)
{
	struct ink_table *t = make_table(0, NULL);
	struct ink_why why = {""};

	SKIP_WITHOUT_SNAPSHOTS();
	assert_null(ink_load_buffer(good()->bytes, good()->size, NULL, &why));
	assert_int_equal(errno, ENOTSUP);
	assert_non_null(strstr(why.text, "ink_load_set"));
	assert_int_equal(ink_save(t, scratch_file, NULL), 0);
	assert_null(ink_load_set(scratch_file, NULL, &why));
	assert_int_equal(errno, ENOTSUP);
	assert_non_null(strstr(why.text, "kind 1;"));
	ink_free(t);
}

/* ------------------------------------------------------------------- memory */

static size_t most_held;

static void *watched_alloc(size_t bytes, size_t alignment, void *user)
{
	void *at = heap_alloc(bytes, alignment, user);

	most_held = heap.bytes > most_held ? heap.bytes : most_held;
	return at;
}

/* Whatever the limit is, no more than that is ever held; and what was held at the most is enough. */
TEST_THAT(the_limit_holds_for_all_tables_together)
{
	static const struct ink_allocator watched = {watched_alloc, heap_free, &heap};
	struct ink_load_options l = {.size = sizeof l, .allocator = &watched};
	struct ink_loaded_set *set = NULL;

	SKIP_WITHOUT_SNAPSHOTS();
	for (l.bytes = 1; !set; l.bytes += 509) {
		most_held = 0;
		errno = 0;
		set = ink_load_set_buffer(good()->bytes, good()->size, &l, NULL);
		assert_true(set || errno == EFBIG);
		assert_true(most_held <= l.bytes);
	}
	assert_true(l.bytes < most_held + 2048);
	ink_loaded_set_free(set);
	assert_int_equal(heap.bytes + heap.blocks, 0);
}

/* -------------------------------------------------------------- forged files */

/* All sums made right: those of the tables, the directory, the extra bytes and the header. */
static void seal(struct image *i)
{
	size_t directory = AT_BODY + image_get64(i, AT_BODY_LENGTH);

	image_put_sum(i, AT_BODY_SUM, AT_BODY, directory);
	image_put_sum(i, AT_HEADER_SUM, 0, AT_HEADER_SUM);
}

/* Table n with right sums, and the directory's copy of it. */
static void seal_table(struct image *i, unsigned n)
{
	size_t at = start_of(i, n);

	image_put_sum(i, at + AT_BODY_SUM, at + AT_BODY, start_of(i, n + 1));
	image_put_sum(i, at + AT_HEADER_SUM, at, at + AT_HEADER_SUM);
	memcpy(i->bytes + AT_BODY + n * ENTRY + ENTRY_SUM, i->bytes + at + AT_HEADER_SUM, 16);
}

static void assert_refused(const struct image *i, const char *word)
{
	const struct ink_load_options l = {.size = sizeof l, .allocator = &allocator};
	struct ink_why why = {""};
	struct ink_loaded_set *set = ink_load_set_buffer(i->bytes, i->size, &l, &why);

	if (set || !strstr(why.text, word))
		fail_msg("\"%s\" does not contain \"%s\"", why.text, word);
	assert_int_equal(heap.bytes + heap.blocks, 0);
}

/* A number of the header or the directory, and a word of the reason. */
TEST_THAT(forged_numbers_are_refused)
{
	enum { SECOND = AT_BODY + ENTRY, BEHIND = AT_BODY + TABLES * ENTRY };
	static const struct {
		size_t at, bytes;
		uint64_t value;
		const char *word;
	} forged[] = {
		{AT_TABLES, 4, 0, "0 tables"},
		{AT_TABLES, 4, 257, "257 tables"},
		{AT_TABLES, 4, UINT32_MAX, "tables (byte 20)"},
		{AT_TABLES, 4, 3, "behind the contents"},
		{AT_TABLES, 4, 5, "empty"},
		{AT_TABLES, 4, 33, "does not fit"},
		{AT_TABLES_BYTES, 8, 0, "too long"},
		{AT_TABLES_BYTES, 8, UINT64_MAX, "no tables take"},
		{AT_TABLES_BYTES, 8, 1ull << 56, "too short"},
		{AT_BODY_LENGTH, 8, 0, "too long"},
		{AT_BODY_LENGTH, 8, UINT64_MAX - 4095, "too short"},
		{AT_EXTRA, 8, 0, "a sum of no extra bytes"},
		{AT_EXTRA, 8, sizeof extra + 1, "too short"},
		{AT_EXTRA, 8, 1u << 21, "extra bytes"},
		{32, 1, 1, "reserved"},
		{183, 1, 1, "reserved"},
		{208, 1, 1, "reserved"},
		{4055, 1, 1, "reserved"},
		{AT_VERSION, 4, 7, "version 7"},
		{AT_VERSION, 4, 5, "reserved"},
		{SECOND, 1, 0, "empty"},
		{SECOND, 1, 0x1b, "control"},
		{SECOND + 4, 1, 0, "reserved"},
		{SECOND + 62, 1, 'x', "reserved"},
		{SECOND + 63, 1, 'x', "reserved"},
		{SECOND + ENTRY_BYTES, 8, 0, "cannot have 0 bytes"},
		{SECOND + ENTRY_BYTES, 8, 4096, "cannot have 4096 bytes"},
		{SECOND + ENTRY_BYTES, 8, 8193, "cannot have 8193 bytes"},
		{SECOND + ENTRY_BYTES, 8, UINT64_MAX - 4095, "cannot have"},
		{SECOND + ENTRY_BYTES, 8, 1 << 20, "cannot have"},
		{SECOND + 72, 1, 1, "reserved"},
		{SECOND + ENTRY_SUM, 8, 1, "table scan/slow: is another"},
		{SECOND + 96, 1, 1, "reserved"},
		{SECOND + 127, 1, 1, "reserved"},
		{BEHIND, 1, 1, "behind the contents"},
		{AT_BODY + 4095, 1, 1, "behind the contents"},
	};
	static struct image i;

	SKIP_WITHOUT_SNAPSHOTS();
	for (size_t n = 0; n < COUNT(forged); n++) {
		image_copy(&i, good());
		image_put(&i, forged[n].at, forged[n].bytes, forged[n].value);
		if (forged[n].at != AT_BODY_LENGTH)
			seal(&i);
		else
			image_put_sum(&i, AT_HEADER_SUM, 0, AT_HEADER_SUM);
		assert_refused(&i, forged[n].word);
	}
}

TEST_THAT(forged_names_and_tables_are_refused)
{
	static struct image i;

	SKIP_WITHOUT_SNAPSHOTS();
	image_copy(&i, good());
	memcpy(i.bytes + AT_BODY + ENTRY, i.bytes + AT_BODY, 64);
	seal(&i);
	assert_refused(&i, "two tables are called scan");

	image_copy(&i, good());
	memset(i.bytes + AT_BODY, 'x', 64);
	seal(&i);
	assert_refused(&i, "too long");

	/* A length that is moved from one table to the next. */
	image_copy(&i, good());
	image_put(&i, AT_BODY + ENTRY_BYTES, 8, image_get64(&i, AT_BODY + ENTRY_BYTES) + 4096);
	image_put(&i, AT_BODY + 2 * ENTRY + ENTRY_BYTES, 8,
		  image_get64(&i, AT_BODY + 2 * ENTRY + ENTRY_BYTES) + 4096);
	seal(&i);
	assert_refused(&i, "table");

	/* The last table is left out of the directory, but not of the file. */
	image_copy(&i, good());
	image_put32(&i, AT_TABLES, TABLES - 1);
	memset(i.bytes + AT_BODY + (TABLES - 1) * ENTRY, 0, ENTRY);
	seal(&i);
	assert_refused(&i, "belong to no table");

	/* A set in a set, extra bytes in a table, an unsound body. */
	image_copy(&i, good());
	image_put32(&i, start_of(&i, 0) + AT_KIND, 48);
	image_put32(&i, start_of(&i, 0) + AT_VERSION, 6);
	image_put(&i, start_of(&i, 0) + AT_TABLES_BYTES, 8, 0);
	seal_table(&i, 0);
	seal(&i);
	assert_refused(&i, "table scan: holds a set");

	image_copy(&i, good());
	image_put32(&i, start_of(&i, 0) + AT_VERSION, 6);
	image_put(&i, start_of(&i, 0) + AT_EXTRA, 8, 4096);
	seal_table(&i, 0);
	seal(&i);
	assert_refused(&i, "extra bytes, which only the set can have");

	image_copy(&i, good());
	i.bytes[start_of(&i, 2) + AT_BODY + 9] ^= 0x80;
	seal_table(&i, 2);
	seal(&i);
	assert_refused(&i, "table sources: the body is unsound");
}

/* Two tables of one length change places; every sum is right but that in the directory. */
TEST_THAT(a_table_of_another_set_is_noticed)
{
	struct ink_table *one_table = make_table(0, NULL), *other = make_table(0, NULL);
	const struct ink_set_entry entries[] = {{"a", one_table}, {"b", other}};
	static struct image i, swapped;
	struct ink_buffer b = image_buffer(&i);
	size_t length;

	SKIP_WITHOUT_SNAPSHOTS();
	ink_delete(other, id_number(1));
	assert_int_equal(ink_save_set_buffer(&(struct ink_table_set){entries, 2}, &b, NULL, NULL), 0);
	image_resize(&i, b.used);
	length = image_get64(&i, AT_BODY + ENTRY_BYTES);
	assert_int_equal(length, image_get64(&i, AT_BODY + ENTRY + ENTRY_BYTES));
	image_copy(&swapped, &i);
	memcpy(swapped.bytes + start_of(&i, 0), i.bytes + start_of(&i, 1), length);
	memcpy(swapped.bytes + start_of(&i, 1), i.bytes + start_of(&i, 0), length);
	assert_refused(&swapped, "table a: is another");
	ink_free(one_table);
	ink_free(other);
}

/* Any bytes anywhere, with right sums: refused, or sound and the same number of tables as it says. */
TEST_THAT(forged_sets_are_refused_or_sound)
{
	static struct image i;

	SKIP_WITHOUT_SNAPSHOTS();
	for (unsigned turn = 0; turn < scaled(4000); turn++) {
		struct ink_loaded_set *set;
		unsigned n = (unsigned)random_below(TABLES);

		image_copy(&i, good());
		for (unsigned k = 1 + random_below(4); k > 0; k--) {
			size_t at = turn % 3 == 0   ? start_of(&i, n) + random_below(8192)
				    : turn % 3 == 1 ? AT_BODY + random_below(TABLES * ENTRY + 8)
						    : random_below(216);
			i.bytes[at] ^= (uint8_t)(1u << random_below(8));
		}
		if (turn % 3 == 0)
			seal_table(&i, n);
		if (turn % 3 < 2)
			seal(&i);
		else
			image_put_sum(&i, AT_HEADER_SUM, 0, AT_HEADER_SUM);
		set = ink_load_set_buffer(i.bytes, i.size, NULL, NULL);
		for (size_t k = 0; set && k < ink_loaded_set_count(set); k++) {
			struct ink_table *t = ink_loaded_set_take(set, ink_loaded_set_name(set, k));

			assert_non_null(t);
			assert_int_equal(ink_check(t, NULL), 0);
			ink_free(t);
		}
		ink_loaded_set_free(set);
	}
}

/* Every single byte that is there, and every length that is shorter. */
TEST_THAT(every_bit_flip_and_every_cut_is_an_error)
{
	static struct image i;
	size_t step = scaled(1000) >= 1000 ? 1 : 7;

	SKIP_WITHOUT_SNAPSHOTS();
	image_copy(&i, good());
	for (size_t at = 0; at < i.size; at += step) {
		i.bytes[at] ^= (uint8_t)(1u << at % 8);
		assert_null(ink_load_set_buffer(i.bytes, i.size, NULL, NULL));
		i.bytes[at] ^= (uint8_t)(1u << at % 8);
		assert_null(ink_load_set_buffer(i.bytes, at, NULL, NULL));
	}
}

int main(void)
{
	return run_objects(sets, COUNT(sets), &(struct suite){.begin = scratch_make, .end = scratch_remove});
}
