/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Filters and dictionaries of every variant come back from their files as they
 * were; a file that was forged is refused with a reason, or is at least sound.
 * What holds for the files of all objects, damage too, is in test_embed_sets.c.
 */
#include "tests/kbf_help.h"
#include "tests/kbf_image.h"
#include "tests/scratch.h"
#include "tests/test.h"

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

/* The files of a filter and its dictionary, in memory. */
static struct image filter_file, dict_file;

static void save_filter(const struct ink_kbf *f, struct image *i)
{
	struct ink_buffer b = image_buffer(i);

	assert_int_equal(ink_kbf_save_buffer(f, &b, NULL, NULL), 0);
	image_resize(i, b.used);
}

static void save_dict(const struct ink_kbf_dict *d, struct image *i)
{
	struct ink_buffer b = image_buffer(i);

	assert_int_equal(ink_kbf_dict_save_buffer(d, &b, NULL, NULL), 0);
	image_resize(i, b.used);
}

static void save_both(const struct ink_kbf *f)
{
	save_filter(f, &filter_file);
	save_dict(f->dict, &dict_file);
}

static struct ink_kbf *load_filter(const struct image *i, struct ink_kbf_dict *d, struct ink_why *why)
{
	return ink_kbf_load_buffer((struct ink_bytes){i->bytes, i->size}, d, NULL, why);
}

static struct ink_kbf_dict *load_dict(const struct image *i, struct ink_why *why)
{
	return ink_kbf_dict_load_buffer((struct ink_bytes){i->bytes, i->size}, NULL, why);
}

static void assert_images_equal(const struct image *a, const struct image *b)
{
	assert_int_equal(a->size, b->size);
	assert_memory_equal(a->bytes, b->bytes, a->size);
}

TEST_THAT(what_is_saved_and_loaded_is_the_same)
{
	static struct image again;

	for (unsigned v = 0; v < 2 * VARIANTS; v++) {
		struct ink_kbf *f = rich_filter(&variants[v / 2], v % 2), *g;
		struct ink_kbf_dict *d;

		save_both(f);
		d = load_dict(&dict_file, NULL);
		g = load_filter(&filter_file, d, NULL);
		if (!f->pending.count || f->links < 2)
			fail_msg("%s: %u wait, %u links", variants[v / 2].name, f->pending.count, f->links);
		assert_true(are_same(f, g));
		save_filter(g, &again);
		assert_images_equal(&filter_file, &again);
		save_dict(d, &again);
		assert_images_equal(&dict_file, &again);
		ink_kbf_dict_free(d);
		assert_sound(g);
		ink_kbf_free(g);
	}
}

TEST_THAT(an_empty_dictionary_and_filter_can_be_saved)
{
	struct ink_kbf *f = make_tiny(&variants[0]), *g;
	struct ink_kbf_dict *d;

	save_both(f);
	d = load_dict(&dict_file, NULL);
	g = load_filter(&filter_file, d, NULL);
	assert_true(are_same(f, g));
	ink_kbf_dict_free(d);
	ink_kbf_free(g);
}

/* Nodes that will merge begin with copies of one dictionary. */
TEST_THAT(filters_of_loaded_dictionaries_merge)
{
	struct ink_kbf *f = make_variant(&variants[0], (struct ink_kbf_options){.keys = 100}), *g;
	struct ink_kbf_options o = {.size = sizeof o, .keys = 100};

	insert(f, 1, 1);
	save_both(f);
	o.dict = load_dict(&dict_file, NULL);
	g = make_filter(&o);
	insert(g, 2, 1);
	insert(g, 3, 2);
	assert_int_equal(ink_kbf_merge(f, g, NULL), 0);
	for (uint64_t key = 1; key <= 3; key++)
		assert_int_equal(read_key(f, key), key == 3 ? 2 : 1);
	ink_kbf_dict_free(o.dict);
}

static void assert_not_loaded(const struct image *i, struct ink_kbf_dict *d, int error, const char *word)
{
	struct ink_why why = {""};

	errno = 0;
	assert_null(load_filter(i, d, &why));
	assert_int_equal(errno, error);
	if (!strstr(why.text, word))
		fail_msg("'%s' does not speak of '%s'", why.text, word);
}

TEST_THAT(a_filter_is_loaded_only_with_its_dictionary)
{
	static const struct {
		enum ink_kbf_encoding encoding;
		uint64_t seed;
		uint64_t values[4];
		uint32_t n;
		int fits;
	} dicts[] = {
		{0, 1, {1}, 1, 0},          /* too short */
		{0, 1, {2, 1}, 2, 0},       /* other symbols */
		{0, 2, {1, 2, 3, 4}, 4, 0}, /* another secret */
		{2, 1, {1, 2, 3, 4}, 4, 0}, /* another encoding */
		{0, 1, {1, 2, 3, 4}, 4, 1}, /* begins with it */
	};
	struct ink_kbf *f = make_variant(&variants[0], (struct ink_kbf_options){.keys = 100}), *g;

	insert(f, 1, 1);
	insert(f, 2, 2);
	save_both(f);
	assert_not_loaded(&filter_file, NULL, EINVAL, "dictionary");
	for (unsigned i = 0; i < COUNT(dicts); i++) {
		struct ink_kbf_dict_options o = {.size = sizeof o,
						 .encoding = dicts[i].encoding,
						 .values = 500,
						 .seed = dicts[i].seed};
		struct ink_kbf_dict *d = ink_kbf_dict_create(&o, NULL);

		for (uint32_t n = 0; n < dicts[i].n; n++)
			ink_kbf_dict_add(d, value_number(dicts[i].values[n]), NULL);
		if (!dicts[i].fits)
			assert_not_loaded(&filter_file, d, EINVAL, "dictionary");
		g = dicts[i].fits ? load_filter(&filter_file, d, NULL) : NULL;
		assert_true(!g || read_key(g, 2) == 2);
		ink_kbf_free(g);
		ink_kbf_dict_free(d);
	}
}

TEST_THAT(files_of_other_kinds_are_refused)
{
	struct ink_kbf *f = rich_filter(&variants[0], 0);

	save_both(f);
	assert_not_loaded(&dict_file, f->dict, ENOTSUP, "kind");
	assert_null(load_dict(&filter_file, NULL));
	assert_int_equal(errno, ENOTSUP);
	assert_null(ink_kbf_dict_load("/nonexistent/dictionary", NULL));
	assert_int_equal(errno, ENOENT);
	assert_null(ink_kbf_load("/nonexistent/filter", f->dict, INK_LOAD_READ, NULL));
	assert_int_equal(errno, ENOENT);
}

/* ---------------------------------------------------------------- as the page says */

/* What docs/format.md says, and nothing of the library but the hash. */
struct page {
	uint64_t secret[2], keys[2], values[2], symbols[2];
};

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
	p->secret[0] = image_get64(i, 40);
	p->secret[1] = image_get64(i, 48);
	secret_of(p, "keys", p->keys);
	secret_of(p, "values", p->values);
	secret_of(p, "symbols", p->symbols);
	for (uint32_t v = 0; v < image_get32(i, 32); v++) {
		uint32_t length = image_get32(i, at);
		uint64_t link[2] = {chain, ink_siphash13(p->values, i->bytes + at + 4, length)};

		chain = ink_siphash13(p->values, link, 16);
		at += 4 + (length + 3) / 4 * 4;
	}
	assert_int_equal(at - 4096, image_get64(i, 64));
	assert_true(chain == image_get64(i, 56));
}

static uint32_t page_cell(const struct image *i, uint64_t id, uint32_t part)
{
	uint64_t mixed = page_mix(id + (part / 2 + 1) * 0x9e3779b97f4a7c15),
		 half = part % 2 ? mixed >> 32 : (uint32_t)mixed;
	uint64_t cell = part * image_get64(i, 40) + ((half * image_get64(i, 40)) >> 32);

	return image_get32(i, 4096 + 4 * cell);
}

TEST_THAT(files_are_as_the_page_says)
{
	struct ink_kbf *f =
		make_variant(&variants[0], (struct ink_kbf_options){.k = 5, .cells = 5000, .keys = 100});
	struct page p;

	for (uint64_t key = 0; key < 3; key++)
		assert_int_equal(insert(f, key, key), 0);
	save_both(f);
	read_dictionary(&p, &dict_file);
	assert_int_equal(image_get32(&filter_file, 16), 32);
	assert_int_equal(image_get64(&filter_file, 208), 3);
	assert_true(image_get64(&filter_file, 64) == ink_siphash13(p.values, "dictionary", 10));
	assert_true(image_get64(&filter_file, 72) == image_get64(&dict_file, 56));
	for (uint64_t key = 0; key < 3; key++) {
		struct ink_bytes name = key_number(key);
		uint64_t x = page_element(&p, key), id = ink_siphash13(p.keys, name.bytes, name.length);

		for (uint32_t part = 0; part < 5; part++)
			assert_int_equal(page_cell(&filter_file, id, part), 1 | x << 4 | x * x % 16381 << 18);
	}
}

/* -------------------------------------------------------------------- damage, forgery */

/* A forged filter that is sound can be used as any other. */
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

/* 1 if it is loaded; then it is sound and stays so in use. */
static unsigned try_filter(const struct image *i, struct ink_kbf_dict *d)
{
	struct ink_why why = {""};
	struct ink_kbf *f = load_filter(i, d, &why);

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
	struct ink_kbf_dict *d = load_dict(i, &why);
	uint32_t symbol;

	assert_true(d || why.text[0]);
	if (!d)
		return 0;
	ink_kbf_dict_add(d, (struct ink_bytes){"x", 1}, &symbol);
	ink_kbf_dict_find(d, (struct ink_bytes){"", 0}, &symbol);
	ink_kbf_dict_free(d);
	return 1;
}

static unsigned try_either(const struct image *i, struct ink_kbf_dict *d)
{
	return d ? try_filter(i, d) : try_dict(i);
}

/* Each byte in turn is another, and the sums are right; how many of these files are loaded. */
static unsigned forge_all(const struct image *whole, struct ink_kbf_dict *d)
{
	static struct image forged;
	unsigned loaded = 0;

	for (size_t at = 0; at < whole->size; at += at < AT_KEYS + 64 ? 1 : at < AT_BODY ? 97 : 7) {
		image_copy(&forged, whole);
		forged.bytes[at] ^= (uint8_t)(1 + random_below(255));
		image_seal(&forged);
		if (d || image_get32(&forged, AT_ENCODING) != INK_KBF_GREEDY ||
		    image_get32(&forged, AT_MOST) < 600) /* more greedy codes take long */
			loaded += try_either(&forged, d);
	}
	return loaded;
}

TEST_THAT(every_forged_byte_is_refused_or_makes_a_sound_filter)
{
	for (unsigned v = 0; v < VARIANTS; v += 4) {
		struct ink_kbf *f = rich_filter(&variants[v], 1);

		save_both(f);
		assert_true(forge_all(&filter_file, f->dict) > 10);
		forge_all(&dict_file, NULL);
	}
}

/* Where the i-th waiting key of a file is. */
static size_t waiting_at(const struct image *i, const struct ink_kbf *f, uint32_t number)
{
	size_t at = AT_BODY + f->links * ink_kbf_link_bytes(f);

	for (; number; number--)
		at += 12 + (image_get32(i, at + 8) + 3) / 4 * 4;
	return at;
}

struct forgery {
	size_t at;
	uint32_t value;
};

static void assert_forgeries_are_refused(const struct forgery *forgeries, size_t n, const struct image *whole,
					 struct ink_kbf_dict *d)
{
	static struct image forged;

	for (size_t i = 0; i < n; i++) {
		image_copy(&forged, whole);
		image_put32(&forged, forgeries[i].at, forgeries[i].value);
		image_seal(&forged);
		if (try_either(&forged, d))
			fail_msg("%u at byte %zu is loaded", forgeries[i].value, forgeries[i].at);
	}
}

TEST_THAT(numbers_that_cannot_be_are_refused)
{
	/* clang-format off */
	static const struct forgery filter[] = {
		{20, 0}, {20, 9}, {24, 0}, {24, 9}, {28, 5}, {32, 1}, {32, 33}, {36, 0}, {36, 65}, {40, 0}, {44, 1},
		{60, 0x7ff80000}, {64, 1}, {80, 9999}, {84, 99999}, {88, 4}, {96, 0}, {100, 9999}, {136, 1},
		{208 + 8 * 63, 1}, {720, 1}, {4076, 1},
		{AT_PART, UINT32_MAX / 3 - 1}, /* more than there is, as the next */
		{AT_PENDING_BYTES + 4, UINT32_MAX},
		{AT_BODY + 60 * 4, 1}, /* behind the cells of the first link */
		{AT_PENDING, 0},       /* bytes behind the last waiting key */
	};
	static const struct forgery dictionary[] = {{AT_BODY, UINT32_MAX}, /* the length of the first value */
						    {AT_VALUES, 1},        /* bytes behind the last value */
						    {AT_CHAIN, 1},
						    {AT_VALUE_BYTES + 4, 1},
						    {72, 1}};
	/* clang-format on */
	struct ink_kbf *f = rich_filter(&variants[0], 0);

	save_both(f);
	assert_forgeries_are_refused(filter, COUNT(filter), &filter_file, f->dict);
	assert_forgeries_are_refused(dictionary, COUNT(dictionary), &dict_file, NULL);
}

/* A symbol that the dictionary does not have, claims that there are not, a key of 4 GiB; new and deleted. */
TEST_THAT(keys_that_wait_for_what_cannot_be_are_refused)
{
	struct ink_kbf *f = rich_filter(&variants[0], 0);
	size_t at;

	save_both(f);
	assert_true(f->pending.count > 1);
	at = waiting_at(&filter_file, f, 1);
	assert_forgeries_are_refused((const struct forgery[]){{at, f->dict->count},
							      {at + 4, 0},
							      {at + 4, INK_CLAIM_MAYBE + 1},
							      {at + 8, UINT32_MAX}},
				     4, &filter_file, f->dict);
	image_put32(&filter_file, at + 4, INK_CLAIM_NEW);
	assert_forgeries_are_refused(&(const struct forgery){at, INK_PENDING_GONE}, 1, &filter_file, f->dict);
}

/* Sums are indices into the tables of the field, so no trust in a checksum covers one that is too large. */
TEST_THAT(a_sum_beyond_the_field_is_refused_though_the_file_is_trusted)
{
	static const uint32_t sums[] = {16381u << 4, 16383u << 4, 16381u << 18, UINT32_MAX - 15};
	const struct ink_load_options l = {.size = sizeof l, .trust = INK_TRUST_CHECKSUM};
	struct ink_kbf *f = rich_filter(&variants[0], 0);

	save_both(f);
	for (unsigned i = 0; i < COUNT(sums); i++) {
		struct ink_why why = {""};

		image_put32(&filter_file, AT_BODY, sums[i] | 1);
		image_seal(&filter_file);
		assert_null(ink_kbf_load_buffer((struct ink_bytes){filter_file.bytes, filter_file.size},
						f->dict, &l, &why));
		assert_non_null(strstr(why.text, "prime"));
	}
}

TEST_THAT(a_key_that_waits_twice_is_refused)
{
	static struct image forged;
	struct ink_kbf *f = rich_filter(&variants[0], 0);
	unsigned tried = 0;

	save_both(f);
	for (uint32_t i = 1; i < f->pending.count; i++) {
		size_t one = waiting_at(&filter_file, f, i - 1), other = waiting_at(&filter_file, f, i);

		if (image_get32(&filter_file, one + 8) != image_get32(&filter_file, other + 8))
			continue;
		image_copy(&forged, &filter_file);
		memcpy(forged.bytes + other + 12, filter_file.bytes + one + 12,
		       image_get32(&filter_file, one + 8));
		image_seal(&forged);
		assert_int_equal(try_filter(&forged, f->dict), 0);
		tried++;
	}
	assert_true(tried);
}

int main(void)
{
	if (snapshots_refused())
		return 77;
	return run_suite(&(struct suite){.after_each = free_all});
}
