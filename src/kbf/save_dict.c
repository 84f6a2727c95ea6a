/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Snapshots of dictionaries; docs/format.md, kind 33.
 *
 *     header | length, value | length, value | ... | zeros to a whole page
 *
 * Values are in the order of their symbols, so a loaded dictionary adds them
 * one after the other and has the same symbols and codes. No byte is trusted:
 * each value must be new and end within the body, and their chain must be that
 * of the header.
 */
#include <errno.h>
#include <string.h>

#include "base/error.h"
#include "base/file.h"
#include "kbf/dict.h"
#include "kbf/words.h"

struct header {
	INK_FILE_FIRST;
	uint32_t encoding;
	uint32_t most, value_length;
	uint32_t values, zero;
	uint64_t secret[2];
	uint64_t chain;
	uint64_t value_bytes; /* in the body, before the padding to a page */
	unsigned char reserved[112];
	INK_FILE_LENGTHS;
	unsigned char more[3848];
	INK_FILE_LAST;
};

INK_FILE_CHECK(struct header);

#define STANDS_AT(field, byte)                                                                               \
	_Static_assert(offsetof(struct header, field) == byte, "docs/format.md: " #byte)
STANDS_AT(encoding, 20);
STANDS_AT(values, 32);
STANDS_AT(secret, 40);
STANDS_AT(value_bytes, 64);
STANDS_AT(reserved, 72);
STANDS_AT(more, 208);

static uint64_t value_bytes(const struct ink_kbf_dict *d)
{
	uint64_t bytes = 0;

	for (uint32_t i = 0; i < d->count; i++)
		bytes += sizeof(uint32_t) + ink_words_padded(d->values[i].length);
	return bytes;
}

/* A body has one page at least. */
static uint64_t body_bytes(uint64_t bytes)
{
	return ink_body_round(bytes ? bytes : 1);
}

static void write_values(const struct ink_kbf_dict *d, void *body)
{
	struct ink_words c = {.at = body};

	for (uint32_t i = 0; i < d->count; i++) {
		ink_words_put(&c, (uint32_t)d->values[i].length);
		ink_words_put_string(&c, d->values[i]);
	}
}

static struct header header_of(const struct ink_kbf_dict *d)
{
	struct header h = {.kind = INK_FILE_KBF_DICT,
			   .encoding = d->encoding,
			   .most = d->most,
			   .value_length = d->value_length,
			   .values = d->count,
			   .secret = {d->secret[0], d->secret[1]},
			   .chain = ink_dict_chain(d, d->count),
			   .value_bytes = value_bytes(d)};

	h.body_bytes = body_bytes(h.value_bytes);
	return h;
}

static int save(const struct ink_kbf_dict *d, struct ink_file_target to)
{
	struct header h = header_of(d);
	void *body = ink_alloc(&d->allocator, h.body_bytes);
	int error;

	if (!body)
		return ink_fail(to.why, -ENOMEM, "no memory to save %llu bytes",
				(unsigned long long)h.body_bytes);
	write_values(d, body);
	error = ink_file_save(&to, &h, body);
	ink_release(&d->allocator, body, h.body_bytes);
	return error;
}

int ink_kbf_dict_save(const struct ink_kbf_dict *d, const char *path, struct ink_why *why)
{
	return save(d, (struct ink_file_target){.path = path, .why = why});
}

int ink_kbf_dict_save_with(const struct ink_kbf_dict *d, const char *path,
			   const struct ink_save_options *options, struct ink_why *why)
{
	return save(d, (struct ink_file_target){.path = path, .options = options, .why = why});
}

int ink_kbf_dict_save_to(const struct ink_kbf_dict *d, const struct ink_sink *sink,
			 const struct ink_save_options *options, struct ink_why *why)
{
	return save(d, (struct ink_file_target){.sink = sink, .options = options, .why = why});
}

int ink_kbf_dict_save_buffer(const struct ink_kbf_dict *d, struct ink_buffer *buffer,
			     const struct ink_save_options *options, struct ink_why *why)
{
	return save(d, (struct ink_file_target){.buffer = buffer, .options = options, .why = why});
}

int ink_kbf_dict_save_bytes(const struct ink_kbf_dict *d, const struct ink_save_options *options,
			    uint64_t *bytes, struct ink_why *why)
{
	return ink_file_bytes(options, body_bytes(value_bytes(d)), bytes, why);
}

/* ------------------------------------------------------------------ loading */

static int check_header(const struct ink_file *f, const struct header *h)
{
	int error;

	if (h->kind != INK_FILE_KBF_DICT)
		return ink_file_wrong(f, -ENOTSUP, "holds kind %u, not a kBF dictionary (%d)", h->kind,
				      INK_FILE_KBF_DICT);
	error = ink_file_reserved(f, h, offsetof(struct header, more));
	for (unsigned i = 0; i < sizeof h->reserved && !error; i++)
		if (h->reserved[i])
			error = ink_file_wrong(f, -EBADMSG, "a reserved byte of the header is not 0");
	if (error)
		return error;
	if (h->encoding < INK_KBF_POWER_SUMS || h->encoding > INK_KBF_GREEDY)
		return ink_file_wrong(f, -ENOTSUP, "encoding %u (byte 20) is unknown", h->encoding);
	if (h->most < 1 || h->most > ink_encoding_values((enum ink_kbf_encoding)h->encoding) ||
	    h->values > h->most || h->value_length < 1 || h->value_length > INK_DICT_MOST_LENGTH || h->zero)
		return ink_file_wrong(f, -EBADMSG,
				      "%u values of %u, %u bytes each: the dictionary cannot be so",
				      h->values, h->most, h->value_length);
	if (h->value_bytes > h->body_bytes || h->body_bytes != body_bytes(h->value_bytes))
		return ink_file_wrong(f, -EBADMSG,
				      "the length of the values (byte 64) is not that of the body");
	return 0;
}

/* Each value must be new, and the last one end the body. */
static int read_values(const struct ink_file *f, const struct header *h, void *body, struct ink_kbf_dict *d)
{
	struct ink_words c = {.at = body, .left = h->value_bytes};

	for (uint32_t i = 0; i < h->values; i++) {
		struct ink_bytes value;
		uint32_t length, symbol;
		int error;

		if (!ink_words_get(&c, &length) || !ink_words_get_string(&c, length, &value))
			return ink_file_wrong(f, -EBADMSG, "value %u does not fit into the body", i);
		error = ink_kbf_dict_add(d, value, &symbol);
		if (!error)
			error = ink_file_limit(f, h->body_bytes + d->bytes);
		if (error == -EFBIG)
			return error;
		if (error == -ENOMEM)
			return ink_file_wrong(f, error, "no memory for its values");
		if (error || symbol != i)
			return ink_file_wrong(f, -EBADMSG, "value %u is too long, or there twice", i);
	}
	if (c.left)
		return ink_file_wrong(f, -EBADMSG, "%llu bytes lie behind the last value",
				      (unsigned long long)c.left);
	return ink_dict_chain(d, d->count) == h->chain
		       ? 0
		       : ink_file_wrong(f, -EBADMSG, "the chain of the values (byte 56) is wrong");
}

static int fill(const struct ink_file *f, const struct header *h, const struct ink_body *body,
		struct ink_kbf_dict *d)
{
	int error = ink_file_padding(f, body, h->value_bytes);

	if (error)
		return error;
	d->encoding = (enum ink_kbf_encoding)h->encoding;
	d->most = h->most;
	d->value_length = h->value_length;
	memcpy(d->secret, h->secret, sizeof d->secret);
	error = ink_dict_prepare(d);
	return error ? ink_file_wrong(f, error, "no memory for a dictionary")
		     : read_values(f, h, body->at, d);
}

/* The values are copied into the dictionary, so the body is freed or unmapped again. */
static int read_dict(struct ink_file *f, const struct header *h, struct ink_kbf_dict *d)
{
	struct ink_body body;
	int error = ink_file_body(f, h, &body);

	if (error)
		return error;
	error = fill(f, h, &body, d);
	ink_file_release(&f->allocator, &body);
	return error;
}

static struct ink_kbf_dict *load(struct ink_file f)
{
	struct ink_kbf_dict *d = NULL;
	struct header h;
	int error = ink_file_open(&f, &h);

	if (!error)
		error = check_header(&f, &h);
	if (!error)
		error = ink_file_limit(&f, h.body_bytes + sizeof *d);
	if (!error) {
		d = ink_dict_alloc(&f.allocator);
		error = d ? read_dict(&f, &h, ink_dict_share(d))
			  : ink_file_wrong(&f, -ENOMEM, "no memory for a dictionary");
	}
	ink_file_close(&f);
	if (!error)
		return d;
	ink_kbf_dict_free(d);
	errno = -error;
	return NULL;
}

struct ink_kbf_dict *ink_kbf_dict_load(const char *path, struct ink_why *why)
{
	return ink_kbf_dict_load_with(path, NULL, why);
}

struct ink_kbf_dict *ink_kbf_dict_load_with(const char *path, const struct ink_load_options *options,
					    struct ink_why *why)
{
	return load((struct ink_file){.path = path, .load = options, .why = why});
}

struct ink_kbf_dict *ink_kbf_dict_load_from(const struct ink_source *source,
					    const struct ink_load_options *options, struct ink_why *why)
{
	return load((struct ink_file){.source = source, .load = options, .why = why});
}

struct ink_kbf_dict *ink_kbf_dict_load_buffer(struct ink_bytes snapshot,
					      const struct ink_load_options *options, struct ink_why *why)
{
	return load((struct ink_file){
		.bytes = snapshot.bytes, .n = snapshot.length, .load = options, .why = why});
}
