/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Counting sets, kBFs and dictionaries inside another program: its allocator,
 * its streams, its memory, its own bytes in a snapshot. One row for each kind of
 * object; every test is done with all of them.
 */
#include "tests/embed.h"

#include <inkling/count.h>
#include <inkling/kbf.h>

/* ---------------------------------------------------------------------- the rows */

static void *count_of(const struct ink_count_options *options, const struct ink_allocator *a)
{
	struct ink_count_options o = *options;
	struct ink_count *c;

	o.size = sizeof o;
	o.seed = 5;
	o.allocator = a;
	c = ink_count_create(&o, NULL);
	for (uint64_t i = 0; c && i < 250; i++)
		ink_count_add(c, id_number(i * i % 211));
	for (uint64_t i = 0; c && i < 50; i++)
		ink_count_remove(c, id_number(i));
	return c;
}

static void *count_dleft(const struct ink_allocator *a)
{
	const struct ink_count_geometry g = {.d = 3, .b = 21, .h = 6, .f = 7};

	return count_of(&(struct ink_count_options){.items = 1, .geometry = g}, a);
}

static void *count_standard(const struct ink_allocator *a)
{
	const struct ink_count_geometry g = {.m = 1001, .k = 3, .counter_bits = 2};

	return count_of(&(struct ink_count_options){.kind = INK_COUNT_STANDARD, .items = 1, .geometry = g},
			a);
}

static void count_use(void *c)
{
	struct ink_count_stats s = {.size = sizeof s};

	for (uint64_t i = 0; i < 300; i++) {
		ink_count_add(c, id_number(i));
		ink_count_remove(c, id_number(i / 2));
		ink_count_count(c, id_number(i));
	}
	ink_count_merge(c, c, NULL);
	ink_count_stats(c, &s);
}

static struct ink_bytes text(const char *format, uint64_t i)
{
	static char texts[4][32];
	static unsigned next;
	char *at = texts[next++ % 4];

	return (struct ink_bytes){at, (size_t)snprintf(at, sizeof texts[0], format, (unsigned)i)};
}

/* The dictionary of all filters below, of the library's own memory; it does not grow. */
static struct ink_kbf_dict *dict;

static void *dict_with(enum ink_kbf_encoding encoding, const struct ink_allocator *a)
{
	struct ink_kbf_dict_options o = {
		.size = sizeof o, .encoding = encoding, .values = 40, .seed = 7, .allocator = a};
	struct ink_kbf_dict *d = ink_kbf_dict_create(&o, NULL);
	int error = 0;

	for (uint64_t i = 0; d && !error && i < 40; i++)
		error = ink_kbf_dict_add(d, text("value %u", i), NULL);
	if (error) {
		ink_kbf_dict_free(d);
		errno = -error;
	}
	return error ? NULL : d;
}

static void *dict_make(const struct ink_allocator *a)
{
	return dict_with(INK_KBF_POWER_SUMS, a);
}

static void *dict_make_wide(const struct ink_allocator *a)
{
	return dict_with(INK_KBF_POWER_SUMS_WIDE, a);
}

static void *dict_make_greedy(const struct ink_allocator *a)
{
	return dict_with(INK_KBF_GREEDY, a);
}

static void dict_use(void *d)
{
	for (uint64_t i = 0; i < 60; i++)
		ink_kbf_dict_add(d, text("value %u", i), NULL);
}

/* Two links, and keys that wait. */
static void *kbf_make(const struct ink_allocator *a)
{
	struct ink_kbf_options o = {.size = sizeof o,
				    .dict = dict,
				    .k = 3,
				    .cells = 60,
				    .keys = 20,
				    .grow_at = 9,
				    .allocator = a};
	struct ink_kbf *f = ink_kbf_create(&o, NULL);
	int error = 0;

	for (uint64_t i = 0; f && error != -ENOMEM && i < 90; i++) {
		error = ink_kbf_insert(f, text("key %u", i), text("value %u", i % 9));
		if (i == 50 && error != -ENOMEM)
			error = ink_kbf_grow(f);
	}
	if (error == -ENOMEM) {
		ink_kbf_free(f);
		errno = ENOMEM;
	}
	return error == -ENOMEM ? NULL : f;
}

static void kbf_use(void *f)
{
	struct ink_bytes value;

	for (uint64_t i = 0; i < 100; i++) {
		ink_kbf_query(f, text("key %u", i), &value);
		ink_kbf_set(f, text("key %u", i / 2), text("value %u", i % 40));
		ink_kbf_insert(f, text("key %u", i), text("value %u", i % 40));
		ink_kbf_delete(f, text("key %u", 3 * i));
	}
	ink_kbf_settle(f);
	ink_kbf_compact(f);
}

CALLS(count, ink_count, POINTER_AND_LENGTH, )
CALLS(dict, ink_kbf_dict, INK_BYTES, )
#define WITH_DICT dict,
CALLS(kbf, ink_kbf, INK_BYTES, WITH_DICT)

static const struct object sets[] = {
	OBJECT("count-dleft", 5, count_dleft, count_use, count),
	OBJECT("count-standard", 5, count_standard, count_use, count),
	OBJECT("kbf", 5, kbf_make, kbf_use, kbf),
	OBJECT("kbf-dict", 5, dict_make, dict_use, dict),
	OBJECT("kbf-dict-wide", 5, dict_make_wide, dict_use, dict),
	OBJECT("kbf-dict-greedy", 5, dict_make_greedy, dict_use, dict),
};

static int make_shared(void **state)
{
	dict = dict_make(NULL);
	return dict ? scratch_make(state) : -1;
}

static int free_shared(void **state)
{
	ink_kbf_dict_free(dict);
	return scratch_remove(state);
}

/* Its tables of the field alone have 65,524 bytes, which no header shows. */
TEST_THAT(a_dictionary_is_loaded_within_the_limit)
{
	const struct ink_load_options l = {.size = sizeof l, .bytes = 40000, .allocator = &allocator};
	struct image *i = image_of(&sets[3], dict, NULL);

	assert_null(dict_load_buffer(i->bytes, i->size, &l));
	assert_int_equal(errno, EFBIG);
	assert_int_equal(heap.bytes + heap.blocks, 0);
}

int main(void)
{
	return run_objects(sets, COUNT(sets), &(struct suite){.begin = make_shared, .end = free_shared});
}
