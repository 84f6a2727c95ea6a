/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Counting sets as files; docs/format.md has every byte, file.h what these
 * files share with others. The body's bytes are the file's bytes.
 *
 * Loading trusts no byte. Before anything is allocated, every number of the
 * header is compared with what a set can have, and the length with the
 * geometry. Then ink_count_check looks at every cell, unless the caller trusts
 * the checksum. The plan's errors are not in the file: they are computed again.
 */
#include <errno.h>
#include <stddef.h>

#include "base/file.h"
#include "count/set.h"

/* The common fields are file.h's. */
struct header {
	INK_FILE_FIRST; /* kind: INK_FILE_COUNT_... */
	uint32_t d, b, h, f;
	uint32_t k;
	uint64_t m;
	uint32_t counter_bits;
	uint32_t zero;
	uint64_t planned; /* items */
	unsigned char before_secret[32];
	uint64_t secret[2];
	uint64_t items;
	uint64_t refused, strangers, held;
	unsigned char before_length[40];
	INK_FILE_LENGTHS;
	unsigned char reserved[3848];
	INK_FILE_LAST;
};

INK_FILE_CHECK(struct header);

#define STANDS_AT(field, byte)                                                                               \
	_Static_assert(offsetof(struct header, field) == byte, "docs/format.md: " #byte)
STANDS_AT(d, 20);
STANDS_AT(k, 36);
STANDS_AT(m, 40);
STANDS_AT(counter_bits, 48);
STANDS_AT(planned, 56);
STANDS_AT(before_secret, 64);
STANDS_AT(secret, 96);
STANDS_AT(items, 112);
STANDS_AT(held, 136);
STANDS_AT(before_length, 144);
STANDS_AT(reserved, 208);

/* ------------------------------------------------------------------- saving */

static struct header header_of(const struct ink_count *c)
{
	const struct ink_count_geometry *g = &c->plan.geometry;

	return (struct header){
		.kind = c->plan.kind == INK_COUNT_DLEFT ? INK_FILE_COUNT_DLEFT : INK_FILE_COUNT_STANDARD,
		.d = g->d,
		.b = g->b,
		.h = g->h,
		.f = g->f,
		.k = g->k,
		.m = g->m,
		.counter_bits = g->counter_bits,
		.planned = c->plan.items,
		.secret = {c->secret[0], c->secret[1]},
		.items = c->items,
		.refused = c->refused,
		.strangers = c->strangers,
		.held = c->held,
		.body_bytes = c->body_bytes,
	};
}

static int save(const struct ink_count *c, struct ink_file_target to)
{
	struct header h = header_of(c);

	return ink_file_save(&to, &h, c->body);
}

int ink_count_save(const struct ink_count *c, const char *path, struct ink_why *why)
{
	return save(c, (struct ink_file_target){.path = path, .why = why});
}

int ink_count_save_with(const struct ink_count *c, const char *path, const struct ink_save_options *options,
			struct ink_why *why)
{
	return save(c, (struct ink_file_target){.path = path, .options = options, .why = why});
}

int ink_count_save_to(const struct ink_count *c, const struct ink_sink *sink,
		      const struct ink_save_options *options, struct ink_why *why)
{
	return save(c, (struct ink_file_target){.sink = sink, .options = options, .why = why});
}

int ink_count_save_buffer(const struct ink_count *c, struct ink_buffer *buffer,
			  const struct ink_save_options *options, struct ink_why *why)
{
	return save(c, (struct ink_file_target){.buffer = buffer, .options = options, .why = why});
}

int ink_count_save_bytes(const struct ink_count *c, const struct ink_save_options *options, uint64_t *bytes,
			 struct ink_why *why)
{
	return ink_file_bytes(options, c->body_bytes, bytes, why);
}

/* ------------------------------------------------------------------ loading */

struct field {
	const char *name;
	size_t at;
	uint64_t value, least, most;
};

#define FIELD(name, least, most)                                                                             \
	{                                                                                                    \
#name, offsetof(struct header, name), h->name, least, most                                   \
	}

static int check_fields(const struct ink_file *f, const struct header *h)
{
	uint32_t dleft = h->kind == INK_FILE_COUNT_DLEFT, standard = !dleft;
	const struct field fields[] = {
		FIELD(d, dleft, dleft * COUNT_MAX_D),
		FIELD(b, dleft, (uint64_t)dleft * COUNT_MOST_B),
		FIELD(h, dleft, dleft * COUNT_MAX_H),
		FIELD(f, dleft * COUNT_MIN_F, dleft * COUNT_MAX_F),
		FIELD(k, standard, standard * COUNT_MAX_K),
		FIELD(m, standard * h->k, (uint64_t)standard * h->k * COUNT_MOST_B),
		FIELD(counter_bits, COUNT_MIN_COUNTER, COUNT_MAX_COUNTER),
		FIELD(zero, 0, 0),
		FIELD(planned, 1, COUNT_MOST_ITEMS),
		FIELD(items, 0, COUNT_MOST_ITEMS),
	};

	if (h->kind != INK_FILE_COUNT_DLEFT && h->kind != INK_FILE_COUNT_STANDARD)
		return ink_file_wrong(f, -ENOTSUP, "has kind %u; counting sets have %d and %d", h->kind,
				      INK_FILE_COUNT_DLEFT, INK_FILE_COUNT_STANDARD);
	for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++)
		if (fields[i].value < fields[i].least || fields[i].value > fields[i].most)
			return ink_file_wrong(
				f, -EBADMSG, "%s (byte %zu) is %llu; it can be %llu to %llu", fields[i].name,
				fields[i].at, (unsigned long long)fields[i].value,
				(unsigned long long)fields[i].least, (unsigned long long)fields[i].most);
	return 0;
}

static int is_zero(const unsigned char *bytes, size_t n)
{
	unsigned char any = 0;

	for (size_t i = 0; i < n; i++)
		any |= bytes[i];
	return !any;
}

static int check_reserved(const struct ink_file *f, const struct header *h)
{
	if (!is_zero(h->before_secret, sizeof h->before_secret) ||
	    !is_zero(h->before_length, sizeof h->before_length))
		return ink_file_wrong(f, -EBADMSG, "a reserved byte between 64 and 183 is not 0");
	return ink_file_reserved(f, h, offsetof(struct header, reserved));
}

static void fill_struct(struct ink_count *c, const struct header *h)
{
	c->plan = (struct ink_count_plan){
		.size = sizeof c->plan,
		.kind = h->kind == INK_FILE_COUNT_DLEFT ? INK_COUNT_DLEFT : INK_COUNT_STANDARD,
		.items = h->planned,
		.geometry = {h->d, h->b, h->h, h->f, h->m, h->k, h->counter_bits},
	};
	memcpy(c->secret, h->secret, sizeof c->secret);
	c->items = h->items;
	c->refused = h->refused;
	c->strangers = h->strangers;
	c->held = h->held;
	ink_count_expect(&c->plan);
	ink_count_attach(c);
}

static int check_length(const struct ink_file *f, const struct ink_count *c, const struct header *h)
{
	if (h->body_bytes != c->body_bytes)
		return ink_file_wrong(f, -EBADMSG, "a body of %llu bytes does not fit the geometry; %llu do",
				      (unsigned long long)h->body_bytes, (unsigned long long)c->body_bytes);
	return ink_file_limit(f, ink_count_bytes(c));
}

static int check_body(const struct ink_file *f, const struct ink_count *c, const struct ink_body *body)
{
	struct ink_why reason;
	int error = ink_file_padding(f, body, ink_count_used(&c->plan));

	if (!error && ink_count_check(c, &reason))
		error = ink_file_wrong(f, -EBADMSG, "the body is unsound: %s", reason.text);
	return error;
}

/*
 * A body that is trusted is not looked at. No bit of it can lead outside: where
 * an item looks follows from its id alone.
 */
static int fill(struct ink_file *f, struct ink_count *c, const struct header *h)
{
	struct ink_body body;
	int error;

	fill_struct(c, h);
	error = check_length(f, c, h);
	if (!error)
		error = ink_file_body(f, h, &body);
	if (error)
		return error;
	c->body = body.at;
	c->is_mapped = body.is_mapped;
	return f->trust ? 0 : check_body(f, c, &body);
}

static struct ink_count *load(struct ink_file f)
{
	struct ink_count *c = NULL;
	struct header h;
	int error = ink_file_open(&f, &h);

	if (!error)
		error = check_fields(&f, &h);
	if (!error)
		error = check_reserved(&f, &h);
	if (!error) {
		c = ink_count_alloc(&f.allocator);
		error = c ? fill(&f, c, &h) : ink_file_wrong(&f, -ENOMEM, "no memory for a counting set");
	}
	ink_file_close(&f);
	if (!error)
		return c;
	ink_count_free(c);
	errno = -error;
	return NULL;
}

struct ink_count *ink_count_load(const char *path, enum ink_load how, struct ink_why *why)
{
	const struct ink_load_options o = {.size = sizeof o, .how = how};

	return ink_count_load_with(path, &o, why);
}

struct ink_count *ink_count_load_with(const char *path, const struct ink_load_options *options,
				      struct ink_why *why)
{
	return load((struct ink_file){.path = path, .load = options, .why = why});
}

struct ink_count *ink_count_load_from(const struct ink_source *source, const struct ink_load_options *options,
				      struct ink_why *why)
{
	return load((struct ink_file){.source = source, .load = options, .why = why});
}

struct ink_count *ink_count_load_buffer(const void *bytes, size_t n, const struct ink_load_options *options,
					struct ink_why *why)
{
	return load((struct ink_file){.bytes = bytes, .n = n, .load = options, .why = why});
}
