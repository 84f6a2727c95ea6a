/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A filter or dictionary that was saved and loaded is the same; a file that is
 * not what was saved is refused with a reason, or, if it was forged well, is at
 * least sound.
 */
#include "tests/kbf_help.h"
#include "tests/kbf_image.h"
#include "tests/scratch.h"

#include <sys/stat.h>

static char filter_path[SCRATCH_PATH], dict_path[SCRATCH_PATH], other_path[SCRATCH_PATH];

static int name_files(void **state)
{
	if (scratch_make(state))
		return -1;
	scratch_path(filter_path, "filter");
	scratch_path(dict_path, "dict");
	scratch_path(other_path, "other");
	return 0;
}

/* Two links, keys that wait in every way, a value of no bytes, and a stuck cell if that is wanted. */
static struct ink_kbf *rich_filter(const struct variant *v, int with_stuck)
{
	struct ink_kbf *f =
		make_variant(v, (struct ink_kbf_options){.k = 3, .cells = 60, .keys = 20, .grow_at = 9});
	struct ink_kbf_place p = place_of(f, 3);

	for (uint64_t i = 0; i < 90; i++) {
		insert(f, i, i % 9);
		if (i == 50)
			ink_kbf_grow(f);
	}
	ink_kbf_insert(f, (struct ink_bytes){NULL, 0}, (struct ink_bytes){NULL, 0});
	for (uint64_t i = 0; i < 90; i += 3)
		ink_kbf_update(f, key_number(i), value_number(i % 7));
	for (uint64_t i = 1; i < 90; i += 9)
		ink_kbf_delete(f, key_number(i));
	for (uint64_t i = 2; i < 90; i += 11)
		ink_kbf_set(f, key_number(i), value_number(1));
	for (uint32_t i = 0; with_stuck && i < f->stuck_at; i++)
		ink_kbf_put(f, &p, 0, 0);
	return f;
}

static void save_both(const struct ink_kbf *f)
{
	struct ink_why why = {""};

	if (ink_kbf_save(f, filter_path, &why) || ink_kbf_dict_save(f->dict, dict_path, &why))
		fail_msg("%s", why.text);
	assert_true(scratch_count() <= 3); /* those named above, and nothing beside them */
}

static struct ink_kbf_dict *load_dict(const char *path)
{
	struct ink_why why = {""};
	struct ink_kbf_dict *d = ink_kbf_dict_load(path, &why);

	if (!d)
		fail_msg("%s", why.text);
	return d;
}

static struct ink_kbf *load_filter(struct ink_kbf_dict *d, enum ink_load how)
{
	struct ink_why why = {""};
	struct ink_kbf *f = ink_kbf_load(filter_path, d, how, &why);

	if (!f)
		fail_msg("%s", why.text);
	return f;
}

static void assert_files_equal(const char *a, const char *b)
{
	static struct image one, other;

	assert_true(image_read(&one, a) && image_read(&other, b));
	assert_int_equal(one.size, other.size);
	assert_memory_equal(one.bytes, other.bytes, one.size);
}

static void what_is_saved_and_loaded_is_the_same(void **state)
{
	(void)state;
	for (unsigned v = 0; v < 2 * VARIANTS; v++) {
		struct ink_kbf *f = rich_filter(&variants[v / 2], v % 2), *g;
		struct ink_kbf_dict *d;

		save_both(f);
		d = load_dict(dict_path);
		g = load_filter(d, v % 2 ? INK_LOAD_MAP : INK_LOAD_READ);
		if (!f->pending.count || f->links < 2)
			fail_msg("%s: %u wait, %u links", variants[v / 2].name, f->pending.count, f->links);
		assert_true(are_same(f, g));
		assert_int_equal(ink_kbf_save(g, other_path, NULL), 0);
		assert_files_equal(filter_path, other_path);
		assert_int_equal(ink_kbf_dict_save(d, other_path, NULL), 0);
		assert_files_equal(dict_path, other_path);
		for (uint64_t i = 0; i < 180; i++)
			assert_int_equal(read_key(f, i), read_key(g, i));
		ink_kbf_dict_free(d);
		for (uint64_t i = 90; i < 110; i++)
			assert_int_equal(insert(f, i, i % 20), insert(g, i, i % 20));
		for (uint64_t i = 0; i < 110; i += 2)
			assert_int_equal(ink_kbf_delete(f, key_number(i)), ink_kbf_delete(g, key_number(i)));
		ink_kbf_settle(f);
		ink_kbf_settle(g);
		ink_kbf_compact(f);
		ink_kbf_compact(g);
		assert_true(are_same(f, g));
		assert_sound(g);
		ink_kbf_free(f);
		ink_kbf_free(g);
	}
}

static void an_empty_dictionary_and_filter_can_be_saved(void **state)
{
	struct ink_kbf *f = make_tiny(&variants[0]), *g;
	struct ink_kbf_dict *d;
	struct stat found;

	(void)state;
	save_both(f);
	assert_int_equal(stat(dict_path, &found), 0);
	assert_int_equal(found.st_mode & 0777, 0600);
	d = load_dict(dict_path);
	g = load_filter(d, INK_LOAD_READ);
	assert_true(are_same(f, g));
	ink_kbf_dict_free(d);
	ink_kbf_free(f);
	ink_kbf_free(g);
}

/* Nodes that will merge begin with copies of one dictionary. */
static void filters_of_loaded_dictionaries_merge(void **state)
{
	struct ink_kbf *f = make_variant(&variants[0], (struct ink_kbf_options){.keys = 100}), *g;
	struct ink_kbf_options o = {.size = sizeof o, .keys = 100};

	(void)state;
	insert(f, 1, 1);
	save_both(f);
	o.dict = load_dict(dict_path);
	g = make_filter(&o);
	insert(g, 2, 1);
	insert(g, 3, 2);
	assert_int_equal(ink_kbf_merge(f, g, NULL), 0);
	assert_int_equal(read_key(f, 1), 1);
	assert_int_equal(read_key(f, 2), 1);
	assert_int_equal(read_key(f, 3), 2);
	ink_kbf_free(f);
	ink_kbf_free(g);
	ink_kbf_dict_free(o.dict);
}

static void assert_not_loaded(struct ink_kbf_dict *d, int error, const char *text)
{
	struct ink_why why = {""};

	errno = 0;
	assert_null(ink_kbf_load(filter_path, d, INK_LOAD_READ, &why));
	assert_int_equal(errno, error);
	if (!strstr(why.text, text))
		fail_msg("'%s' does not speak of '%s'", why.text, text);
}

static void a_filter_is_loaded_only_with_its_dictionary(void **state)
{
	struct ink_kbf *f = make_variant(&variants[0], (struct ink_kbf_options){.keys = 100}), *g;
	struct ink_kbf_dict *shorter = make_dict(0, 500), *longer = make_dict(0, 600),
			    *different = make_dict(0, 500), *random = ink_kbf_dict_create(NULL, NULL),
			    *wide = make_dict(2, 500);

	(void)state;
	insert(f, 1, 1);
	insert(f, 2, 2);
	save_both(f);
	ink_kbf_dict_add(shorter, value_number(1), NULL);
	ink_kbf_dict_add(different, value_number(2), NULL);
	ink_kbf_dict_add(different, value_number(1), NULL);
	for (uint64_t i = 1; i < 5; i++) {
		ink_kbf_dict_add(longer, value_number(i), NULL);
		ink_kbf_dict_add(random, value_number(i), NULL);
		ink_kbf_dict_add(wide, value_number(i), NULL);
	}
	assert_not_loaded(shorter, EINVAL, "dictionary");
	assert_not_loaded(different, EINVAL, "dictionary");
	assert_not_loaded(random, EINVAL, "dictionary");
	assert_not_loaded(wide, EINVAL, "dictionary");
	assert_not_loaded(NULL, EINVAL, "dictionary");
	g = load_filter(longer, INK_LOAD_READ);
	assert_int_equal(read_key(g, 2), 2);
	ink_kbf_free(g);
	ink_kbf_free(f);
	ink_kbf_dict_free(shorter);
	ink_kbf_dict_free(longer);
	ink_kbf_dict_free(different);
	ink_kbf_dict_free(random);
	ink_kbf_dict_free(wide);
}

static void files_of_other_kinds_are_refused(void **state)
{
	struct ink_kbf *f = rich_filter(&variants[0], 0);
	struct ink_options o = {.size = sizeof o, .states = 2, .flows = 10};
	struct ink_table *t = ink_create(&o, NULL);

	(void)state;
	save_both(f);
	assert_null(ink_load(filter_path, INK_LOAD_READ, NULL));
	assert_null(ink_load(dict_path, INK_LOAD_READ, NULL));
	assert_null(ink_kbf_dict_load(filter_path, NULL));
	assert_int_equal(errno, ENOTSUP);
	assert_int_equal(ink_kbf_dict_save(f->dict, filter_path, NULL), 0);
	assert_not_loaded(f->dict, ENOTSUP, "kind");
	assert_int_equal(ink_save(t, filter_path, NULL), 0);
	assert_not_loaded(f->dict, ENOTSUP, "kind");
	assert_null(ink_kbf_dict_load(filter_path, NULL));
	assert_null(ink_kbf_dict_load(other_path + 1, NULL));
	assert_int_equal(errno, ENOENT);
	ink_free(t);
	ink_kbf_free(f);
}

/* ---------------------------------------------------------------- as the page says */

/* What docs/format.md says, and nothing of the library but the hash. */
struct page {
	uint64_t secret[2], keys[2], values[2], symbols[2];
};

static uint64_t get64(const struct image *i, size_t at)
{
	uint64_t value;

	memcpy(&value, i->bytes + at, sizeof value);
	return value;
}

static void secret_of(const struct page *p, const char *name, uint64_t derived[2])
{
	derived[0] = ink_siphash13(p->secret, name, strlen(name));
	derived[1] = ink_siphash13(p->secret, name, strlen(name) - 1);
}

static uint64_t page_mix(uint64_t x)
{
	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
	x = (x ^ x >> 27) * 0x94d049bb133111eb;
	return x ^ x >> 31;
}

/* Three values never draw the same element by this seed, so the draws are theirs. */
static uint64_t page_element(const struct page *p, uint64_t symbol)
{
	return ((ink_siphash13(p->symbols, &symbol, 8) >> 32) * 16381) >> 32;
}

static void read_dictionary(struct page *p, const struct image *i)
{
	uint64_t chain = 0;
	size_t at = 4096;

	assert_int_equal(image_get32(i, 16), 33);
	p->secret[0] = get64(i, 40);
	p->secret[1] = get64(i, 48);
	secret_of(p, "keys", p->keys);
	secret_of(p, "values", p->values);
	secret_of(p, "symbols", p->symbols);
	for (uint32_t v = 0; v < image_get32(i, 32); v++) {
		uint32_t length = image_get32(i, at);
		uint64_t link[2] = {chain, ink_siphash13(p->values, i->bytes + at + 4, length)};

		chain = ink_siphash13(p->values, link, 16);
		at += 4 + (length + 3) / 4 * 4;
	}
	assert_int_equal(at - 4096, get64(i, 64));
	assert_true(chain == get64(i, 56));
}

static uint32_t page_cell(const struct image *i, uint64_t id, uint32_t part)
{
	uint64_t mixed = page_mix(id + (part / 2 + 1) * 0x9e3779b97f4a7c15),
		 half = part % 2 ? mixed >> 32 : (uint32_t)mixed;
	uint64_t cell = part * get64(i, 40) + ((half * get64(i, 40)) >> 32);

	return image_get32(i, 4096 + 4 * cell);
}

static void files_are_as_the_page_says(void **state)
{
	static struct image dict, filter;
	struct ink_kbf *f =
		make_variant(&variants[0], (struct ink_kbf_options){.k = 5, .cells = 5000, .keys = 100});
	struct page p;

	(void)state;
	for (uint64_t key = 0; key < 3; key++)
		assert_int_equal(insert(f, key, key), 0);
	save_both(f);
	assert_true(image_read(&dict, dict_path) && image_read(&filter, filter_path));
	read_dictionary(&p, &dict);
	assert_int_equal(image_get32(&filter, 16), 32);
	assert_int_equal(get64(&filter, 208), 3);
	assert_true(get64(&filter, 64) == ink_siphash13(p.values, "dictionary", 10));
	assert_true(get64(&filter, 72) == get64(&dict, 56));
	for (uint64_t key = 0; key < 3; key++) {
		struct ink_bytes name = key_number(key);
		uint64_t x = page_element(&p, key), id = ink_siphash13(p.keys, name.bytes, name.length);

		for (uint32_t part = 0; part < 5; part++)
			assert_int_equal(page_cell(&filter, id, part), 1 | x << 4 | x * x % 16381 << 18);
	}
	ink_kbf_free(f);
}

/* -------------------------------------------------------------------- damage, forgery */

/* A filter that somebody else made up bears whatever is done with it. */
static void use(struct ink_kbf *f)
{
	for (uint64_t i = 0; i < 30; i++) {
		read_key(f, i);
		insert(f, i, i % 5);
		ink_kbf_update(f, key_number(i), value_number(3));
		ink_kbf_delete(f, key_number(i / 2));
	}
	ink_kbf_settle(f);
	ink_kbf_compact(f);
	assert_sound(f);
}

static unsigned try_filter(const struct image *i, struct ink_kbf_dict *d)
{
	struct ink_why why = {""};
	struct ink_kbf *f;

	assert_true(image_write(i, filter_path));
	f = ink_kbf_load(filter_path, d, INK_LOAD_READ, &why);
	assert_true(f || why.text[0]);
	if (!f)
		return 0;
	assert_sound(f);
	use(f);
	ink_kbf_free(f);
	return 1;
}

static unsigned try_dict(const struct image *i)
{
	struct ink_why why = {""};
	struct ink_kbf_dict *d;
	uint32_t symbol;

	assert_true(image_write(i, dict_path));
	d = ink_kbf_dict_load(dict_path, &why);
	assert_true(d || why.text[0]);
	if (!d)
		return 0;
	ink_kbf_dict_add(d, (struct ink_bytes){"x", 1}, &symbol);
	ink_kbf_dict_find(d, (struct ink_bytes){"", 0}, &symbol);
	ink_kbf_dict_free(d);
	return 1;
}

static void every_damaged_byte_is_noticed(void **state)
{
	static struct image whole, damaged;
	struct ink_kbf *f = rich_filter(&variants[0], 1);

	(void)state;
	save_both(f);
	assert_true(image_read(&whole, filter_path));
	for (size_t at = 0; at < whole.size; at += at < 800 ? 1 : 37) {
		damaged = whole;
		damaged.bytes[at] ^= (uint8_t)(1u << at % 8);
		assert_int_equal(try_filter(&damaged, f->dict), 0);
	}
	for (size_t size = 0; size < whole.size; size += 511) {
		damaged = whole;
		damaged.size = size;
		assert_int_equal(try_filter(&damaged, f->dict), 0);
	}
	assert_true(image_read(&whole, dict_path));
	for (size_t at = 0; at < whole.size; at += at < 300 ? 1 : 37) {
		damaged = whole;
		damaged.bytes[at] ^= (uint8_t)(1u << at % 8);
		assert_int_equal(try_dict(&damaged), 0);
	}
	ink_kbf_free(f);
}

/* With the sums put right: what passes is sound. Reserved bytes never pass. */
static void every_forged_byte_is_refused_or_makes_a_sound_filter(void **state)
{
	static struct image whole, forged;

	(void)state;
	for (unsigned v = 0; v < VARIANTS; v += 4) {
		struct ink_kbf *f = rich_filter(&variants[v], 1);
		unsigned loaded = 0;

		save_both(f);
		assert_true(image_read(&whole, filter_path));
		for (size_t at = 0; at < whole.size; at += at < AT_KEYS + 64 ? 1 : at < AT_BODY ? 97 : 7) {
			forged = whole;
			forged.bytes[at] ^= (uint8_t)(1 + random_below(255));
			image_seal(&forged);
			loaded += try_filter(&forged, f->dict);
		}
		assert_true(loaded > 10);
		assert_true(image_read(&whole, dict_path));
		for (size_t at = 0; at < whole.size; at += at < 208 ? 1 : at < AT_BODY ? 97 : 7) {
			forged = whole;
			forged.bytes[at] ^= (uint8_t)(1 + random_below(255));
			image_seal(&forged);
			if (image_get32(&forged, AT_ENCODING) != INK_KBF_GREEDY ||
			    image_get32(&forged, AT_MOST) < 600)
				try_dict(&forged);
		}
		ink_kbf_free(f);
	}
}

static void forge(struct image *i, const struct image *whole, size_t at, uint32_t value)
{
	*i = *whole;
	image_put32(i, at, value);
	image_seal(i);
}

/* What cannot be is named. */
static void forged_fields_are_refused_by_name(void **state)
{
	static const struct {
		size_t at;
		uint32_t value;
	} fields[] = {{20, 0},  {20, 9},           {24, 0},     {24, 9},  {28, 5}, {32, 1},
		      {32, 33}, {36, 0},           {36, 65},    {40, 0},  {44, 1}, {60, 0x7ff80000},
		      {64, 1},  {80, 9999},        {84, 99999}, {88, 4},  {96, 0}, {100, 9999},
		      {136, 1}, {208 + 8 * 63, 1}, {720, 1},    {4076, 1}};
	static struct image whole, forged;
	struct ink_kbf *f = rich_filter(&variants[0], 0);

	(void)state;
	save_both(f);
	assert_true(image_read(&whole, filter_path));
	for (unsigned i = 0; i < sizeof fields / sizeof fields[0]; i++) {
		forge(&forged, &whole, fields[i].at, fields[i].value);
		if (try_filter(&forged, f->dict))
			fail_msg("%u at byte %zu is loaded", fields[i].value, fields[i].at);
	}
	ink_kbf_free(f);
}

/* A length that asks for more than there is is refused before anything is allocated for it. */
static void forged_lengths_are_refused(void **state)
{
	static struct image whole, forged;
	struct ink_kbf *f = rich_filter(&variants[0], 0);

	(void)state;
	save_both(f);
	assert_true(image_read(&whole, filter_path));
	forge(&forged, &whole, AT_PART, UINT32_MAX / 3 - 1);
	assert_int_equal(try_filter(&forged, f->dict), 0);
	forge(&forged, &whole, AT_PENDING_BYTES + 4, UINT32_MAX);
	assert_int_equal(try_filter(&forged, f->dict), 0);
	forge(&forged, &whole, AT_BODY + 60 * 4,
	      1); /* between the cells of the first link and its last page's end */
	assert_int_equal(try_filter(&forged, f->dict), 0);
	forge(&forged, &whole, AT_PENDING, 0);
	assert_int_equal(try_filter(&forged, f->dict), 0);
	assert_true(image_read(&whole, dict_path));
	forge(&forged, &whole, AT_BODY, UINT32_MAX); /* the length of the first value */
	assert_int_equal(try_dict(&forged), 0);
	forge(&forged, &whole, AT_VALUES, 1);
	assert_int_equal(try_dict(&forged), 0);
	forge(&forged, &whole, AT_CHAIN, 1);
	assert_int_equal(try_dict(&forged), 0);
	forge(&forged, &whole, AT_VALUE_BYTES + 4, 1);
	assert_int_equal(try_dict(&forged), 0);
	ink_kbf_free(f);
}

/* Where the i-th waiting key of a file stands. */
static size_t waiting_at(const struct image *i, const struct ink_kbf *f, uint32_t number)
{
	size_t at = AT_BODY + f->links * ink_kbf_link_bytes(f);

	for (; number; number--)
		at += 12 + (image_get32(i, at + 8) + 3) / 4 * 4;
	return at;
}

static void keys_that_wait_for_what_cannot_be_are_refused(void **state)
{
	static struct image whole, forged;
	struct ink_kbf *f = rich_filter(&variants[0], 0);
	size_t at;

	(void)state;
	save_both(f);
	assert_true(image_read(&whole, filter_path) && f->pending.count > 1);
	at = waiting_at(&whole, f, 1);
	forge(&forged, &whole, at, f->dict->count); /* a symbol that the dictionary has not */
	assert_int_equal(try_filter(&forged, f->dict), 0);
	forge(&forged, &whole, at + 4, 0); /* claims that there are not */
	assert_int_equal(try_filter(&forged, f->dict), 0);
	forge(&forged, &whole, at + 4, INK_CLAIM_MAYBE + 1);
	assert_int_equal(try_filter(&forged, f->dict), 0);
	forged = whole; /* new, and deleted */
	image_put32(&forged, at, INK_PENDING_GONE);
	image_put32(&forged, at + 4, INK_CLAIM_NEW);
	image_seal(&forged);
	assert_int_equal(try_filter(&forged, f->dict), 0);
	forge(&forged, &whole, at + 8, UINT32_MAX);
	assert_int_equal(try_filter(&forged, f->dict), 0);
	ink_kbf_free(f);
}

static void a_key_that_waits_twice_is_refused(void **state)
{
	static struct image whole, forged;
	struct ink_kbf *f = rich_filter(&variants[0], 0);
	unsigned tried = 0;

	(void)state;
	save_both(f);
	assert_true(image_read(&whole, filter_path));
	for (uint32_t i = 1; i < f->pending.count; i++) {
		size_t one = waiting_at(&whole, f, i - 1), other = waiting_at(&whole, f, i);

		if (image_get32(&whole, one + 8) != image_get32(&whole, other + 8))
			continue;
		forged = whole;
		memcpy(forged.bytes + other + 12, whole.bytes + one + 12, image_get32(&whole, one + 8));
		image_seal(&forged);
		assert_int_equal(try_filter(&forged, f->dict), 0);
		tried++;
	}
	assert_true(tried);
	ink_kbf_free(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_saved_and_loaded_is_the_same),
		cmocka_unit_test(an_empty_dictionary_and_filter_can_be_saved),
		cmocka_unit_test(filters_of_loaded_dictionaries_merge),
		cmocka_unit_test(a_filter_is_loaded_only_with_its_dictionary),
		cmocka_unit_test(files_of_other_kinds_are_refused),
		cmocka_unit_test(files_are_as_the_page_says),
		cmocka_unit_test(every_damaged_byte_is_noticed),
		cmocka_unit_test(every_forged_byte_is_refused_or_makes_a_sound_filter),
		cmocka_unit_test(forged_fields_are_refused_by_name),
		cmocka_unit_test(forged_lengths_are_refused),
		cmocka_unit_test(keys_that_wait_for_what_cannot_be_are_refused),
		cmocka_unit_test(a_key_that_waits_twice_is_refused),
	};

	if (snapshots_refused())
		return 77;
	return cmocka_run_group_tests(tests, name_files, scratch_remove);
}
