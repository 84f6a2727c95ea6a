/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Objects inside another program: its allocator, its streams, its memory, its own
 * bytes in a snapshot. A test gives one row for each kind of object; everything
 * here is done with all of them.
 */
#ifndef INKLING_TESTS_EMBED_H
#define INKLING_TESTS_EMBED_H

#include <inkling/inkling.h>

#include "tests/image.h"
#include "tests/random.h"
#include "tests/scratch.h"
#include "tests/test.h"

/* ------------------------------------------------------------- an allocator */

/* Counts what it gives, and fails when it is told to. */
static struct {
	size_t bytes, blocks; /* given and not taken back */
	unsigned requests, failing;
} heap;

static void *heap_alloc(size_t bytes, size_t alignment, void *user)
{
	void *at = NULL;

	assert_ptr_equal(user, &heap);
	assert_true(bytes > 0 && alignment <= 64);
	if (++heap.requests == heap.failing || posix_memalign(&at, 64, bytes))
		return NULL;
	memset(at, 0xa5, bytes);
	heap.bytes += bytes;
	heap.blocks++;
	return at;
}

static void heap_free(void *at, size_t bytes, void *user)
{
	assert_ptr_equal(user, &heap);
	assert_non_null(at);
	heap.bytes -= bytes;
	heap.blocks--;
	free(at);
}

static const struct ink_allocator allocator = {heap_alloc, heap_free, &heap};

static void fail_at(unsigned request)
{
	heap.requests = 0;
	heap.failing = request;
}

/* --------------------------------------------------------- the kinds of objects */

struct source {
	const uint8_t *bytes;
	size_t n, at;
	size_t most;    /* bytes of one read */
	size_t fail_at; /* a read that begins there or behind it fails */
	ptrdiff_t says; /* and returns this */
};

struct object {
	const char *name;
	uint32_t version;                             /* of its snapshots without extra bytes */
	void *(*make)(const struct ink_allocator *a); /* with contents; NULL with errno */
	void (*free)(void *o);
	void *(*copy)(const void *o, const struct ink_allocator *a);
	uint64_t (*bytes)(const void *o);
	void (*use)(void *o); /* whatever it holds */
	int (*save)(const void *o, const char *path, struct ink_why *why);
	int (*save_with)(const void *o, const char *path, const struct ink_save_options *s);
	int (*save_to)(const void *o, const struct ink_sink *to, const struct ink_save_options *s);
	int (*save_buffer)(const void *o, struct ink_buffer *to, const struct ink_save_options *s);
	int (*save_bytes)(const void *o, const struct ink_save_options *s, uint64_t *bytes);
	void *(*load_with)(const char *path, const struct ink_load_options *l);
	void *(*load_from)(const struct ink_source *from, const struct ink_load_options *l);
	void *(*load_buffer)(const uint8_t *bytes, size_t n, const struct ink_load_options *l);
};

/*
 * The calls of objects whose functions begin with `ink`, without their reasons. AS names a buffer as their loads do, and
 * `more` is what these take before the options.
 */
#define CALLS(of, ink, AS, more)                                                                             \
	static void of##_free(void *o)                                                                       \
	{                                                                                                    \
		ink##_free(o);                                                                               \
	}                                                                                                    \
	static void *of##_copy(const void *o, const struct ink_allocator *a)                                 \
	{                                                                                                    \
		return ink##_copy(o, a, NULL);                                                               \
	}                                                                                                    \
	static uint64_t of##_bytes(const void *o)                                                            \
	{                                                                                                    \
		return ink##_bytes(o);                                                                       \
	}                                                                                                    \
	static int of##_save(const void *o, const char *path, struct ink_why *why)                           \
	{                                                                                                    \
		return ink##_save(o, path, why);                                                             \
	}                                                                                                    \
	static int of##_save_with(const void *o, const char *path, const struct ink_save_options *s)         \
	{                                                                                                    \
		return ink##_save_with(o, path, s, NULL);                                                    \
	}                                                                                                    \
	static int of##_save_to(const void *o, const struct ink_sink *to, const struct ink_save_options *s)  \
	{                                                                                                    \
		return ink##_save_to(o, to, s, NULL);                                                        \
	}                                                                                                    \
	static int of##_save_buffer(const void *o, struct ink_buffer *to, const struct ink_save_options *s)  \
	{                                                                                                    \
		return ink##_save_buffer(o, to, s, NULL);                                                    \
	}                                                                                                    \
	static int of##_save_bytes(const void *o, const struct ink_save_options *s, uint64_t *bytes)         \
	{                                                                                                    \
		return ink##_save_bytes(o, s, bytes, NULL);                                                  \
	}                                                                                                    \
	static void *of##_load_with(const char *path, const struct ink_load_options *l)                      \
	{                                                                                                    \
		return ink##_load_with(path, more l, NULL);                                                  \
	}                                                                                                    \
	static void *of##_load_from(const struct ink_source *from, const struct ink_load_options *l)         \
	{                                                                                                    \
		return ink##_load_from(from, more l, NULL);                                                  \
	}                                                                                                    \
	static void *of##_load_buffer(const uint8_t *bytes, size_t n, const struct ink_load_options *l)      \
	{                                                                                                    \
		return ink##_load_buffer(AS(bytes, n), more l, NULL);                                        \
	}

#define POINTER_AND_LENGTH(bytes, n) bytes, n
#define INK_BYTES(bytes, n) ((struct ink_bytes){bytes, n})

/* A row: how the objects of a sort are made and used, and their calls. */
#define OBJECT(name, version, make, use, of)                                                                 \
	{                                                                                                    \
		name, version, make, of##_free, of##_copy, of##_bytes, use, of##_save, of##_save_with,       \
			of##_save_to, of##_save_buffer, of##_save_bytes, of##_load_with, of##_load_from,     \
			of##_load_buffer                                                                     \
	}

/* ---------------------------------------------------------------- snapshots */

static const char extra[] = "offset 1234";

static const struct ink_save_options with_extra = {sizeof with_extra, extra, sizeof extra};

/* Of an object, to memory. */
static struct image *image_of(const struct object *k, const void *o, const struct ink_save_options *s)
{
	static struct image images[3];
	static unsigned next;
	struct image *i = &images[next++ % 3];
	struct ink_buffer b = image_buffer(i);

	SKIP_WITHOUT_SNAPSHOTS();
	assert_int_equal(k->save_buffer(o, &b, s), 0);
	image_resize(i, b.used);
	return i;
}

static void assert_images(const struct image *a, const struct image *b)
{
	assert_int_equal(a->size, b->size);
	assert_memory_equal(a->bytes, b->bytes, a->size);
}

static void assert_same(const struct object *k, const void *a, const void *b)
{
	assert_images(image_of(k, a, NULL), image_of(k, b, NULL));
}

/* ------------------------------------------------------------ an object under test */

static const struct object *sort;
static void *one;          /* of that sort */
static struct image saved; /* of it, with extra bytes, where there are snapshots */

static int make_object(void **state)
{
	sort = *state;
	one = sort->make(NULL);
	if (HAS_SNAPSHOTS)
		image_copy(&saved, image_of(sort, one, &with_extra));
	return 0;
}

/* Whatever came from the allocator has gone back. */
static int free_object(void **state)
{
	sort->free(one);
	return heap.bytes + heap.blocks != 0;
}

/* Of the listed tests, those below that are done with each row; the others are the file's own. */
static size_t n_of_objects;

static int run_objects(const struct object *objects, size_t n, const struct suite *with)
{
	int failures = _cmocka_run_group_tests("its own", listed + n_of_objects, n_listed - n_of_objects,
					       with->begin, with->end);

	for (size_t i = 0; i < n; i++) {
		for (size_t t = 0; t < n_of_objects; t++) {
			listed[t].initial_state = (void *)(uintptr_t)&objects[i];
			listed[t].setup_func = make_object;
			listed[t].teardown_func = free_object;
		}
		failures += _cmocka_run_group_tests(objects[i].name, listed, n_of_objects, with->begin,
						    with->end);
	}
	return failures;
}

TEST_THAT(everything_comes_from_the_allocator_and_goes_back)
{
	const struct ink_load_options l = {.size = sizeof l, .allocator = &allocator};
	void *given, *copy, *loaded;
	struct image *i;

	SKIP_WITHOUT_SNAPSHOTS();
	given = sort->make(&allocator);
	assert_non_null(given);
	assert_int_equal(sort->bytes(given), heap.bytes);
	sort->use(given);
	assert_int_equal(sort->bytes(given), heap.bytes);
	i = image_of(sort, given, &with_extra);
	assert_int_equal(sort->bytes(given), heap.bytes);
	copy = sort->copy(given, &allocator);
	assert_int_equal(sort->bytes(given) + sort->bytes(copy), heap.bytes);
	assert_same(sort, given, copy);
	sort->free(given);
	loaded = sort->load_buffer(i->bytes, i->size, &l);
	assert_int_equal(sort->bytes(copy) + sort->bytes(loaded), heap.bytes);
	assert_same(sort, copy, loaded);
	sort->use(loaded);
	sort->free(loaded);
	sort->free(copy);
}

/* With the n-th request failing, for all n, until nothing fails: -ENOMEM, and nothing is left behind. */
TEST_THAT(memory_that_runs_out_at_any_point_leaves_nothing)
{
	const struct ink_load_options l = {.size = sizeof l, .allocator = &allocator};
	enum { MAKE, COPY, LOAD, WAYS };
	void *made = NULL;

	for (unsigned way = MAKE; way < (HAS_SNAPSHOTS ? WAYS : LOAD); way++, made = NULL)
		for (unsigned n = 1; !made; n++) {
			fail_at(n);
			errno = 0;
			made = way == MAKE   ? sort->make(&allocator)
			       : way == COPY ? sort->copy(one, &allocator)
					     : sort->load_buffer(saved.bytes, saved.size, &l);
			if (!made)
				assert_int_equal(errno, ENOMEM);
			assert_int_equal(made == NULL, n <= heap.requests);
			fail_at(0);
			sort->free(made);
			assert_int_equal(heap.bytes + heap.blocks, 0);
		}
}

/* As malloc would give it to an allocator that forgets the alignment. */
static void *crooked_alloc(size_t bytes, size_t alignment, void *user)
{
	char *at = heap_alloc(bytes + 16, alignment, user);

	return at ? at + 16 : NULL;
}

static void crooked_free(void *at, size_t bytes, void *user)
{
	heap_free((char *)at - 16, bytes + 16, user);
}

TEST_THAT(memory_that_is_not_aligned_is_given_back)
{
	static const struct ink_allocator crooked = {crooked_alloc, crooked_free, &heap};

	errno = 0;
	assert_null(sort->make(&crooked));
	assert_int_equal(errno, ENOMEM);
}

TEST_THAT(a_save_without_memory_says_so_and_changes_nothing)
{
	uint8_t room[16];
	struct ink_buffer b = {.bytes = room, .room = sizeof room};
	uint64_t bytes = 0;
	struct image *before;
	void *given;

	SKIP_WITHOUT_SNAPSHOTS();
	given = sort->make(&allocator);
	before = image_of(sort, given, NULL);
	fail_at(1);
	assert_true(sort->save_buffer(given, &b, NULL) == (heap.requests ? -ENOMEM : -ENOSPC));
	fail_at(0);
	assert_int_equal(sort->save_buffer(given, &b, NULL), -ENOSPC);
	assert_int_equal(sort->save_bytes(given, NULL, &bytes), 0);
	assert_true(b.used == bytes && bytes == before->size);
	assert_images(before, image_of(sort, given, NULL));
	sort->free(given);
}

TEST_THAT(a_copy_lives_on_its_own)
{
	static const struct ink_allocator half = {heap_alloc, NULL, &heap};
	void *copy = sort->copy(one, NULL), *same = sort->copy(copy, NULL);

	sort->use(one);
	assert_same(sort, copy, same);
	sort->use(copy);
	sort->free(copy);
	sort->free(same);
	assert_null(sort->make(&half));
	assert_int_equal(errno, EINVAL);
	assert_null(sort->copy(one, &half));
	assert_int_equal(errno, EINVAL);
}

/* ------------------------------------------------------------------ sinks */

struct sink {
	struct image *into;
	size_t writes, fail_at;
};

static int sink_write(const void *bytes, size_t n, void *user)
{
	struct sink *s = user;

	if (++s->writes == s->fail_at)
		return -EPIPE;
	image_resize(s->into, s->into->size + n);
	memcpy(s->into->bytes + s->into->size - n, bytes, n);
	return 0;
}

TEST_THAT(all_ways_of_saving_write_the_same_bytes)
{
	static struct image streamed, filed;

	for (unsigned e = 0; e < 2; e++) {
		const struct ink_save_options *s = e ? &with_extra : NULL;
		struct sink sink = {.into = &streamed};
		struct image *i = image_of(sort, one, s);

		assert_int_equal(image_get32(i, AT_VERSION), e && sort->version < 6 ? 6 : sort->version);
		streamed.size = 0;
		assert_int_equal(sort->save_to(one, &(struct ink_sink){sink_write, &sink}, s), 0);
		assert_images(i, &streamed);
		assert_int_equal(sort->save_with(one, scratch_file, s), 0);
		assert_true(image_read(&filed, scratch_file));
		assert_images(i, &filed);
		assert_int_equal(sort->save(one, scratch_file, NULL), 0);
	}
}

TEST_THAT(a_sink_that_fails_ends_the_save_with_its_error)
{
	static struct image streamed;
	int error = -EPIPE;

	SKIP_WITHOUT_SNAPSHOTS();
	for (size_t n = 1; error; n++) {
		struct sink sink = {.into = &streamed, .fail_at = n};

		streamed.size = 0;
		error = sort->save_to(one, &(struct ink_sink){sink_write, &sink}, &with_extra);
		assert_int_equal(error, sink.writes < n ? 0 : -EPIPE);
	}
	assert_int_equal(sort->save_to(one, &(struct ink_sink){NULL, NULL}, NULL), -EINVAL);
	assert_int_equal(sort->save_to(one, NULL, NULL), -EINVAL);
}

/* ---------------------------------------------------------------- sources */

static ptrdiff_t source_read(void *into, size_t n, void *user)
{
	struct source *s = user;
	size_t left = s->n - s->at, done = n < left ? n : left;

	if (s->at >= s->fail_at)
		return s->says;
	done = done < s->most ? done : s->most;
	memcpy(into, s->bytes + s->at, done);
	s->at += done;
	return (ptrdiff_t)done;
}

/* Reads of one byte; a stream that goes on behind the snapshot; the caller's own bytes. */
static void assert_loaded_alike(enum ink_trust trust)
{
	char got[2 * sizeof extra] = "";
	size_t bytes = 0, size = saved.size;
	const struct ink_load_options l = {.size = sizeof l,
					   .trust = trust,
					   .extra = got,
					   .extra_room = sizeof got,
					   .extra_bytes = &bytes};
	struct ink_load_options map = l;
	struct source s = {.n = size + 50, .most = 1, .fail_at = SIZE_MAX};
	void *loaded[3];

	map.how = INK_LOAD_MAP;
	image_resize(&saved, size + 50);
	saved.size = size;
	s.bytes = saved.bytes;
	loaded[0] = sort->load_from(&(struct ink_source){source_read, &s}, &l);
	assert_int_equal(s.at, size);
	assert_int_equal(bytes, sizeof extra);
	assert_string_equal(got, extra);
	loaded[1] = sort->load_buffer(saved.bytes, size, &l);
	loaded[2] = sort->load_with(scratch_file, &map);
	for (unsigned n = 0; n < 3; n++) {
		assert_non_null(loaded[n]);
		assert_same(sort, one, loaded[n]);
		sort->use(loaded[n]);
		sort->free(loaded[n]);
	}
}

TEST_THAT(all_ways_of_loading_give_the_same_object)
{
	SKIP_WITHOUT_SNAPSHOTS();
	assert_int_equal(sort->save_with(one, scratch_file, &with_extra), 0);
	assert_loaded_alike(INK_TRUST_NOTHING);
	assert_loaded_alike(INK_TRUST_CHECKSUM);
}

/* At each point where a read can begin: an error, an end, and a number of bytes that was not requested. */
TEST_THAT(a_source_that_fails_ends_short_or_says_too_much_is_refused)
{
	static const struct {
		ptrdiff_t says;
		int error;
	} bad[] = {{-EIO, EIO}, {-EAGAIN, EAGAIN}, {0, EBADMSG}, {PTRDIFF_MAX, EIO}, {PTRDIFF_MIN, EIO}};
	const struct ink_load_options l = {.size = sizeof l, .allocator = &allocator};

	SKIP_WITHOUT_SNAPSHOTS();
	for (size_t at = 0; at < saved.size; at += 1 + at / 5)
		for (unsigned b = 0; b < COUNT(bad); b++) {
			struct source s = {saved.bytes, saved.size, 0, at ? at : 1, at, bad[b].says};

			errno = 0;
			assert_null(sort->load_from(&(struct ink_source){source_read, &s}, &l));
			assert_int_equal(errno, bad[b].error);
			assert_int_equal(heap.bytes + heap.blocks, 0);
		}
	assert_null(sort->load_from(&(struct ink_source){NULL, NULL}, NULL));
	assert_int_equal(errno, EINVAL);
}

TEST_THAT(loading_options_that_mean_nothing_are_refused)
{
	static char room[4];
	const struct {
		struct ink_load_options l;
		int error;
	} bad[] = {
		{{.size = 1}, EINVAL},
		{{.how = INK_LOAD_MAP}, EINVAL}, /* of memory */
		{{.how = (enum ink_load)2}, EINVAL},
		{{.trust = (enum ink_trust)2}, EINVAL},
		{{.extra_room = 4}, EINVAL},
		{{.bytes = 100}, EFBIG},
		{{.bytes = 4096}, EFBIG},
		{{.extra = room, .extra_room = sizeof room}, 0}, /* it gets what it has room for */
	};

	SKIP_WITHOUT_SNAPSHOTS();
	for (unsigned b = 0; b < COUNT(bad); b++) {
		struct ink_load_options l = bad[b].l;
		void *loaded;

		l.size = l.size ? l.size : sizeof l;
		errno = 0;
		loaded = sort->load_buffer(saved.bytes, saved.size, &l);
		assert_int_equal(loaded ? 0 : errno, bad[b].error);
		sort->free(loaded);
	}
	assert_memory_equal(room, extra, sizeof room);
	assert_null(sort->load_buffer(saved.bytes, saved.size - 1, NULL));
	assert_null(sort->load_buffer(NULL, 0, NULL));
}

/* A forged header claims them, too, and they are read into memory of their own. */
TEST_THAT(the_callers_bytes_count_for_the_limit)
{
	static char much[INK_MAX_EXTRA];
	const struct ink_save_options s = {sizeof s, much, sizeof much};
	struct ink_load_options l = {.size = sizeof l, .allocator = &allocator, .bytes = sizeof much};
	void *loaded;

	SKIP_WITHOUT_SNAPSHOTS();
	assert_true(sort->bytes(one) < sizeof much / 2);
	assert_int_equal(sort->save_with(one, scratch_file, &s), 0);
	assert_null(sort->load_with(scratch_file, &l));
	assert_int_equal(errno, EFBIG);
	l.bytes = 2 * sizeof much;
	loaded = sort->load_with(scratch_file, &l);
	assert_non_null(loaded);
	sort->free(loaded);
}

/* ------------------------------------------------- damaged and forged snapshots */

/* One bit is turned over, or the end is missing; the caller's bytes are part of it. */
TEST_THAT(every_damaged_byte_is_noticed)
{
	static struct image damaged;

	SKIP_WITHOUT_SNAPSHOTS();
	for (size_t at = 0; at < saved.size; at += at < 800 ? 1 : 37) {
		image_copy(&damaged, &saved);
		damaged.bytes[at] ^= (uint8_t)(1u << at % 8);
		assert_null(sort->load_buffer(damaged.bytes, damaged.size, NULL));
		image_resize(&damaged, at);
		assert_null(sort->load_buffer(damaged.bytes, at, NULL));
	}
}

/* Every kind of change with right checksums: refused, or it can be used without harm. */
TEST_THAT(forged_bodies_that_are_trusted_do_no_harm)
{
	const struct ink_load_options l = {.size = sizeof l, .trust = INK_TRUST_CHECKSUM};
	struct image *good = image_of(sort, one, NULL), *i = image_of(sort, one, NULL);

	for (unsigned turn = 0; turn < scaled(3000); turn++, image_copy(i, good)) {
		void *loaded;

		for (unsigned n = 1 + random_below(64); n > 0; n--) {
			size_t at = turn % 3 ? AT_BODY + random_below(600) : random_below(216);

			i->bytes[at] = (uint8_t)random_word();
		}
		image_seal(i);
		loaded = sort->load_buffer(i->bytes, i->size, &l);
		if (loaded)
			sort->use(loaded);
		sort->free(loaded);
	}
}

/* ------------------------------------------------------- files of every version */

TEST_THAT(files_of_every_version_are_read_and_written_again_byte_for_byte)
{
	static struct image file;

	for (unsigned version = sort->version; version <= (sort->version > 6 ? sort->version : 6); version++) {
		const struct ink_save_options *s = version > sort->version ? &with_extra : NULL;
		char path[512];
		void *loaded;

		snprintf(path, sizeof path, "%s/tests/snapshots/%s.v%u", SOURCE_ROOT, sort->name, version);
		if (getenv("INK_WRITE_SNAPSHOTS"))
			assert_int_equal(sort->save_with(one, path, s), 0);
		assert_true(image_read(&file, path));
		assert_images(&file, image_of(sort, one, s));
		loaded = sort->load_with(path, NULL);
		assert_non_null(loaded);
		assert_images(&file, image_of(sort, loaded, s));
		sort->free(loaded);
	}
}

/* ---------------------------------------------------------- big-endian machines */

TEST_THAT(a_machine_that_is_not_little_endian_neither_saves_nor_loads)
{
	const int expected = HAS_SNAPSHOTS ? 0 : -ENOTSUP;
	struct ink_why why = {""};
	char path[512];
	void *loaded;

	assert_int_equal(sort->save(one, scratch_file, &why), expected);
	assert_true(HAS_SNAPSHOTS || strstr(why.text, "snapshots are little endian"));
	snprintf(path, sizeof path, "%s/tests/snapshots/%s.v%u", SOURCE_ROOT, sort->name, sort->version);
	loaded = sort->load_with(path, NULL);
	assert_int_equal(loaded ? 0 : -errno, expected);
	sort->free(loaded);
}

__attribute__((constructor)) static void end_of_objects(void)
{
	n_of_objects = n_listed;
}

#endif
