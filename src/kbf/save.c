/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Snapshots of filters and of dictionaries; docs/format.md, kinds 32 and 33.
 *
 *     filter        header | cells of link 0 | ... | keys that wait
 *     dictionary    header | values
 *
 * A filter's cells mean nothing without its dictionary, so the file says which
 * that is: a mark made of the secret, the number of values, and their chain.
 * Loading takes a dictionary that begins with these.
 *
 * As with tables, no byte is trusted: every number is held against what a
 * filter can be before anything is allocated, every cell and every waiting key
 * is looked at afterwards.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/pages.h"
#include "base/error.h"
#include "kbf/filter.h"

#define STANDS_AT(type, field, byte)                                                                         \
	_Static_assert(offsetof(struct type, field) == byte, "docs/format.md: " #byte)

/* Strings in a body are filled up to words of 32 bits. */
static uint64_t padded(uint64_t length)
{
	return (length + 3) / 4 * 4;
}

/* Where a body is written, or read, word by word. */
struct cursor {
	unsigned char *at;
	uint64_t left;
};

static void write_word(struct cursor *c, uint32_t word)
{
	memcpy(c->at, &word, sizeof word);
	c->at += sizeof word;
}

/* The padding is there as zeros. */
static void write_string(struct cursor *c, struct ink_bytes s)
{
	if (s.length)
		memcpy(c->at, s.bytes, s.length);
	c->at += padded(s.length);
}

/* 0 if the body ends before. */
static int read_word(struct cursor *c, uint32_t *word)
{
	if (c->left < sizeof *word)
		return 0;
	memcpy(word, c->at, sizeof *word);
	c->at += sizeof *word;
	c->left -= sizeof *word;
	return 1;
}

static int read_string(struct cursor *c, uint32_t length, struct ink_bytes *s)
{
	if (c->left < padded(length))
		return 0;
	*s = (struct ink_bytes){c->at, length};
	for (uint64_t i = length; i < padded(length); i++)
		if (c->at[i])
			return 0;
	c->at += padded(length);
	c->left -= padded(length);
	return 1;
}

/* ------------------------------------------------------------- the dictionary */

struct dict_header {
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

INK_FILE_CHECK(struct dict_header);
STANDS_AT(dict_header, encoding, 20);
STANDS_AT(dict_header, values, 32);
STANDS_AT(dict_header, secret, 40);
STANDS_AT(dict_header, value_bytes, 64);
STANDS_AT(dict_header, reserved, 72);
STANDS_AT(dict_header, more, 208);

static uint64_t value_bytes(const struct ink_kbf_dict *d)
{
	uint64_t bytes = 0;

	for (uint32_t i = 0; i < d->count; i++)
		bytes += sizeof(uint32_t) + padded(d->values[i].length);
	return bytes;
}

/* A body has one page at least. */
static uint64_t dict_body_bytes(uint64_t bytes)
{
	return ink_body_round(bytes ? bytes : 1);
}

static void write_values(const struct ink_kbf_dict *d, void *body)
{
	struct cursor c = {.at = body};

	for (uint32_t i = 0; i < d->count; i++) {
		write_word(&c, (uint32_t)d->values[i].length);
		write_string(&c, d->values[i]);
	}
}

int ink_kbf_dict_save(const struct ink_kbf_dict *d, const char *path, struct ink_why *why)
{
	struct dict_header h = {.kind = INK_FILE_KBF_DICT,
				.encoding = d->encoding,
				.most = d->most,
				.value_length = d->value_length,
				.values = d->count,
				.secret = {d->secret[0], d->secret[1]},
				.chain = ink_dict_chain(d, d->count),
				.value_bytes = value_bytes(d)};
	void *body;
	int error;

	h.body_bytes = dict_body_bytes(h.value_bytes);
	body = ink_body_alloc(h.body_bytes);
	if (!body)
		return ink_fail(why, -ENOMEM, "no memory to save %llu bytes",
				(unsigned long long)h.body_bytes);
	write_values(d, body);
	error = ink_file_save(&(struct ink_file_target){.path = path, .why = why}, &h, body);
	ink_body_free(body, h.body_bytes);
	return error;
}

static int check_dict_header(const struct ink_file *f, const struct dict_header *h)
{
	int error;

	if (h->kind != INK_FILE_KBF_DICT)
		return ink_file_wrong(f, -ENOTSUP, "holds kind %u, not a kBF dictionary (%d)", h->kind,
				      INK_FILE_KBF_DICT);
	error = ink_file_reserved(f, h, offsetof(struct dict_header, more));
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
	if (h->value_bytes > h->body_bytes || h->body_bytes != dict_body_bytes(h->value_bytes))
		return ink_file_wrong(f, -EBADMSG,
				      "the length of the values (byte 64) is not that of the body");
	return 0;
}

/* Each value must be new, and the last one end the body. */
static int read_values(const struct ink_file *f, const struct dict_header *h, void *body,
		       struct ink_kbf_dict *d)
{
	struct cursor c = {.at = body, .left = h->value_bytes};

	for (uint32_t i = 0; i < h->values; i++) {
		struct ink_bytes value;
		uint32_t length, symbol;
		int error;

		if (!read_word(&c, &length) || !read_string(&c, length, &value))
			return ink_file_wrong(f, -EBADMSG, "value %u does not fit into the body", i);
		error = ink_kbf_dict_add(d, value, &symbol);
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

static int fill_dict(const struct ink_file *f, const struct dict_header *h, struct ink_body *body,
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
	return error ? ink_file_wrong(f, error, "no memory for a dictionary") : read_values(f, h, body->at, d);
}

static int load_dict(struct ink_file *f, struct ink_kbf_dict *d)
{
	struct dict_header h;
	struct ink_body body = {NULL, 0, 0};
	int error = ink_file_open(f, &h);

	if (!error)
		error = check_dict_header(f, &h);
	if (!error)
		error = ink_file_body(f, &h, &body);
	if (!error)
		error = fill_dict(f, &h, &body, d);
	ink_file_release(&f->allocator, &body);
	return error;
}

struct ink_kbf_dict *ink_kbf_dict_load(const char *path, struct ink_why *why)
{
	struct ink_file f = {.path = path, .why = why};
	struct ink_kbf_dict *d = calloc(1, sizeof *d);
	int error = d ? load_dict(&f, ink_dict_share(d))
		      : ink_file_wrong(&f, -ENOMEM, "no memory for a dictionary");

	ink_file_close(&f);
	if (!error)
		return d;
	ink_kbf_dict_free(d);
	errno = -error;
	return NULL;
}

/* ------------------------------------------------------------------ the filter */

struct filter_header {
	INK_FILE_FIRST;
	uint32_t encoding, decoding, counter_bits;
	uint32_t k, links;
	uint64_t part;
	uint64_t planned;
	double grow_at;
	uint64_t dict_mark, dict_chain;
	uint32_t dict_values;
	uint32_t pending;
	uint64_t pending_bytes;
	uint32_t pending_most, pending_next;
	struct ink_kbf_counters counters;
	unsigned char reserved[48];
	INK_FILE_LENGTHS;
	uint64_t keys[INK_KBF_MOST_LINKS];
	unsigned char more[3336];
	INK_FILE_LAST;
};

INK_FILE_CHECK(struct filter_header);
STANDS_AT(filter_header, encoding, 20);
STANDS_AT(filter_header, k, 32);
STANDS_AT(filter_header, part, 40);
STANDS_AT(filter_header, grow_at, 56);
STANDS_AT(filter_header, dict_mark, 64);
STANDS_AT(filter_header, dict_values, 80);
STANDS_AT(filter_header, pending_bytes, 88);
STANDS_AT(filter_header, counters, 104);
STANDS_AT(filter_header, reserved, 136);
STANDS_AT(filter_header, keys, 208);
STANDS_AT(filter_header, more, 720);

/* Tells secrets apart without showing them. */
static uint64_t mark_of(const struct ink_kbf_dict *d)
{
	return ink_siphash13(d->of_values, "dictionary", 10);
}

enum { ENTRY_WORDS = 3 }; /* symbol, claim, length of the key; then the key */

static uint64_t pending_bytes(const struct ink_pending *p)
{
	uint64_t bytes = 0;

	for (uint32_t i = 0; i < p->count; i++)
		bytes += ENTRY_WORDS * sizeof(uint32_t) + padded(p->entries[i].key.length);
	return bytes;
}

static void write_pending(const struct ink_pending *p, unsigned char *to)
{
	struct cursor c = {.at = to};

	for (uint32_t i = 0; i < p->count; i++) {
		write_word(&c, p->entries[i].symbol);
		write_word(&c, p->entries[i].claim);
		write_word(&c, (uint32_t)p->entries[i].key.length);
		write_string(&c, p->entries[i].key);
	}
}

static struct filter_header header_of(const struct ink_kbf *f)
{
	struct filter_header h = {.kind = INK_FILE_KBF,
				  .encoding = f->encoding,
				  .decoding = f->decoding,
				  .counter_bits = f->counter_bits,
				  .k = f->k,
				  .links = f->links,
				  .part = f->part,
				  .planned = f->planned,
				  .grow_at = f->grow_at,
				  .dict_mark = mark_of(f->dict),
				  .dict_chain = ink_dict_chain(f->dict, f->dict->count),
				  .dict_values = f->dict->count,
				  .pending = f->pending.count,
				  .pending_bytes = pending_bytes(&f->pending),
				  .pending_most = f->pending.most,
				  .pending_next = f->pending.next,
				  .counters = f->counters};

	h.body_bytes = f->links * ink_kbf_link_bytes(f) + ink_body_round(h.pending_bytes);
	for (uint32_t i = 0; i < f->links; i++)
		h.keys[i] = f->link[i].keys;
	return h;
}

int ink_kbf_save(const struct ink_kbf *f, const char *path, struct ink_why *why)
{
	struct filter_header h = header_of(f);
	uint64_t bytes = ink_kbf_link_bytes(f);
	unsigned char *body = ink_body_alloc(h.body_bytes);
	int error;

	if (!body)
		return ink_fail(why, -ENOMEM, "no memory to save %llu bytes",
				(unsigned long long)h.body_bytes);
	for (uint32_t i = 0; i < f->links; i++)
		memcpy(body + i * bytes, f->link[i].cells, bytes);
	write_pending(&f->pending, body + f->links * bytes);
	error = ink_file_save(&(struct ink_file_target){.path = path, .why = why}, &h, body);
	ink_body_free(body, h.body_bytes);
	return error;
}

/* --------------------------------------------------------- loading: the header */

static int check_shape(const struct ink_file *f, const struct filter_header *h)
{
	if (h->kind != INK_FILE_KBF)
		return ink_file_wrong(f, -ENOTSUP, "holds kind %u, not a kBF (%d)", h->kind, INK_FILE_KBF);
	if (h->encoding < INK_KBF_POWER_SUMS || h->encoding > INK_KBF_GREEDY || h->decoding < INK_KBF_JOINT ||
	    h->decoding > INK_KBF_PAPER_TRIPLES)
		return ink_file_wrong(f, -ENOTSUP, "encoding %u or decoding %u (bytes 20, 24) is unknown",
				      h->encoding, h->decoding);
	if ((h->counter_bits != 3 && h->counter_bits != 4) || h->k < 2 || h->k > INK_KBF_MOST_K)
		return ink_file_wrong(f, -EBADMSG,
				      "counters of %u bits, k %u (bytes 28, 32): there are none such",
				      h->counter_bits, h->k);
	if (h->links < 1 || h->links > INK_KBF_MOST_LINKS || h->part < 1 ||
	    h->part > INK_KBF_MOST_CELLS / h->k)
		return ink_file_wrong(f, -EBADMSG,
				      "%u links of %u x %llu cells (bytes 36, 40): there are none such",
				      h->links, h->k, (unsigned long long)h->part);
	return 0;
}

static int check_rest(const struct ink_file *f, const struct filter_header *h)
{
	int error = ink_file_reserved(f, h, offsetof(struct filter_header, more));

	for (unsigned i = 0; i < sizeof h->reserved && !error; i++)
		if (h->reserved[i])
			error = ink_file_wrong(f, -EBADMSG, "a reserved byte of the header is not 0");
	if (error)
		return error;
	if (!h->planned || !(h->grow_at >= 0 && h->grow_at <= 1e6))
		return ink_file_wrong(f, -EBADMSG,
				      "planned keys %llu, grow_at %g (bytes 48, 56) are impossible",
				      (unsigned long long)h->planned, h->grow_at);
	if (h->pending > h->pending_most || h->pending_most > UINT32_MAX / 4 || h->pending_next > h->pending)
		return ink_file_wrong(f, -EBADMSG, "%u keys wait, %u may (bytes 84, 96): that is impossible",
				      h->pending, h->pending_most);
	for (uint32_t i = 0; i < INK_KBF_MOST_LINKS; i++)
		if (i >= h->links && h->keys[i])
			return ink_file_wrong(f, -EBADMSG, "link %u has keys (byte %u), but there is none", i,
					      208 + 8 * i);
	return 0;
}

static int check_dict(const struct ink_file *f, const struct filter_header *h, const struct ink_kbf_dict *d)
{
	if (d->encoding == h->encoding && mark_of(d) == h->dict_mark && d->count >= h->dict_values &&
	    ink_dict_chain(d, h->dict_values) == h->dict_chain)
		return 0;
	return ink_file_wrong(f, -EINVAL,
			      "was saved with another dictionary, or this one lacks values of it");
}

static int check_lengths(const struct ink_file *file, const struct filter_header *h, const struct ink_kbf *f)
{
	uint64_t cells = h->links * ink_kbf_link_bytes(f);

	if (h->pending_bytes <= h->body_bytes && h->body_bytes == cells + ink_body_round(h->pending_bytes))
		return 0;
	return ink_file_wrong(file, -EBADMSG,
			      "a body of %llu bytes is not that of its cells and waiting keys",
			      (unsigned long long)h->body_bytes);
}

/* --------------------------------------------------------- loading: the filter */

static void fill_shape(struct ink_kbf *f, const struct filter_header *h, struct ink_kbf_dict *d)
{
	struct ink_kbf_options o = {.dict = d,
				    .decoding = (enum ink_kbf_decoding)h->decoding,
				    .counter_bits = h->counter_bits,
				    .grow_at = h->grow_at};
	struct ink_kbf_plan plan = {.keys = h->planned, .k = h->k, .cells = h->k * h->part};

	ink_kbf_shape(f, &o, &plan);
	f->pending.most = h->pending_most;
	f->counters = h->counters;
}

/* What ink_kbf_check compares with what it counts is counted here. */
static void attach_links(struct ink_kbf *f, const struct filter_header *h)
{
	for (f->links = 0; f->links < h->links; f->links++) {
		struct ink_kbf_link *link = &f->link[f->links];

		link->cells = (unsigned char *)f->body + f->links * ink_kbf_link_bytes(f);
		link->keys = h->keys[f->links];
		for (uint64_t i = 0; i < ink_kbf_cells(f); i++)
			f->stuck += ink_kbf_cell_at(f, link, i).count == f->stuck_at;
	}
}

/* Between a link's last cell and its page's end there must be zeros. */
static int check_ends(const struct ink_file *file, const struct ink_kbf *f)
{
	uint64_t used = ink_kbf_cells(f) * ink_encoding_cell_bytes(f->encoding);

	for (uint32_t link = 0; link < f->links; link++)
		for (uint64_t i = used; i < ink_kbf_link_bytes(f); i++)
			if (((const unsigned char *)f->link[link].cells)[i])
				return ink_file_wrong(file, -EBADMSG,
						      "a byte behind the cells of link %u is not 0", link);
	return 0;
}

static int read_entry(struct cursor *c, const struct ink_kbf *f, struct ink_pending_entry *e)
{
	uint32_t claim, length;

	if (!read_word(c, &e->symbol) || !read_word(c, &claim) || !read_word(c, &length) ||
	    !read_string(c, length, &e->key))
		return 0;
	e->claim = (enum ink_claim)claim;
	e->id = ink_kbf_id(f, e->key);
	if (claim < INK_CLAIM_NEW || claim > INK_CLAIM_MAYBE)
		return 0;
	return e->symbol == INK_PENDING_GONE ? claim != INK_CLAIM_NEW
					     : e->symbol < f->dict->count && e->symbol < f->symbols;
}

static int read_pending(const struct ink_file *file, const struct filter_header *h, struct ink_kbf *f)
{
	struct cursor c = {(unsigned char *)f->body + f->links * ink_kbf_link_bytes(f), h->pending_bytes};

	for (uint32_t i = 0; i < h->pending; i++) {
		struct ink_pending_entry e = {0};

		if (!read_entry(&c, f, &e) || ink_pending_find(&f->pending, e.id, e.key))
			return ink_file_wrong(file, -EBADMSG, "waiting key %u is none", i);
		if (ink_pending_add(&f->pending, &e))
			return ink_file_wrong(file, -ENOMEM, "no memory for its waiting keys");
	}
	f->pending.next = h->pending_next;
	return c.left ? ink_file_wrong(file, -EBADMSG, "bytes lie behind the last waiting key") : 0;
}

static int check_body(const struct ink_file *file, const struct filter_header *h, struct ink_kbf *f)
{
	struct ink_why reason;
	int error = ink_file_padding(file, &(struct ink_body){f->body, h->body_bytes, 0},
				     f->links * ink_kbf_link_bytes(f) + h->pending_bytes);

	if (!error)
		error = check_ends(file, f);
	if (!error && ink_kbf_check(f, &reason))
		error = ink_file_wrong(file, -EBADMSG, "the body is unsound: %s", reason.text);
	return error ? error : read_pending(file, h, f);
}

/* Nothing is allocated for the body before its length has been checked. */
static int load_filter(struct ink_file *file, struct ink_kbf *f, struct ink_kbf_dict *d)
{
	struct filter_header h;
	struct ink_body body;
	int error = ink_file_open(file, &h);

	if (!error)
		error = check_shape(file, &h);
	if (!error)
		error = check_rest(file, &h);
	if (!error)
		error = check_dict(file, &h, d);
	if (error)
		return error;
	fill_shape(f, &h, d);
	error = check_lengths(file, &h, f);
	if (!error)
		error = ink_file_body(file, &h, &body);
	if (error)
		return error;
	f->body = body.at;
	f->body_bytes = h.body_bytes;
	attach_links(f, &h);
	return check_body(file, &h, f);
}

struct ink_kbf *ink_kbf_load(const char *path, struct ink_kbf_dict *dict, enum ink_load how,
			     struct ink_why *why)
{
	struct ink_load_options o = {.size = sizeof o, .how = how};
	struct ink_file file = {.path = path, .load = &o, .why = why};
	struct ink_kbf *f = calloc(1, sizeof *f);
	int error = !f      ? ink_file_wrong(&file, -ENOMEM, "no memory for a filter")
		    : !dict ? ink_file_wrong(&file, -EINVAL, "no dictionary is given")
			    : load_filter(&file, f, dict);

	ink_file_close(&file);
	if (!error)
		return f;
	ink_kbf_free(f);
	errno = -error;
	return NULL;
}
