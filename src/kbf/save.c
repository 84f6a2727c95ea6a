/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Snapshots of filters; docs/format.md, kind 32.
 *
 *     header | cells of link 0 | ... | keys that wait | zeros to a whole page
 *
 * A filter's cells mean nothing without its dictionary, so the file identifies
 * it: by a mark made of the secret, the number of values, and their chain.
 * Loading takes a dictionary that begins with these.
 *
 * No byte is trusted. Before anything is allocated, every number is compared
 * with what a filter can have; afterwards every cell and every waiting key is
 * checked. If the caller trusts the checksum, the cells are not. Then sums are
 * compared with the prime alone, since they are indices of the dictionary's
 * tables.
 */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/file.h"
#include "kbf/filter.h"
#include "kbf/words.h"

struct header {
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

INK_FILE_CHECK(struct header);

#define STANDS_AT(field, byte)                                                                               \
	_Static_assert(offsetof(struct header, field) == byte, "docs/format.md: " #byte)
STANDS_AT(encoding, 20);
STANDS_AT(k, 32);
STANDS_AT(part, 40);
STANDS_AT(grow_at, 56);
STANDS_AT(dict_mark, 64);
STANDS_AT(dict_values, 80);
STANDS_AT(pending_bytes, 88);
STANDS_AT(counters, 104);
STANDS_AT(reserved, 136);
STANDS_AT(keys, 208);
STANDS_AT(more, 720);

/* Distinguishes secrets without revealing them. */
static uint64_t mark_of(const struct ink_kbf_dict *d)
{
	return ink_siphash13(d->of_values, "dictionary", 10);
}

enum { ENTRY_WORDS = 3 }; /* symbol, claim, length of the key; then the key */

static uint64_t pending_bytes(const struct ink_pending *p)
{
	uint64_t bytes = 0;

	for (uint32_t i = 0; i < p->count; i++)
		bytes += ENTRY_WORDS * sizeof(uint32_t) + ink_words_padded(p->entries[i].key.length);
	return bytes;
}

static void write_pending(const struct ink_pending *p, unsigned char *to)
{
	struct ink_words c = {.at = to};

	for (uint32_t i = 0; i < p->count; i++) {
		ink_words_put(&c, p->entries[i].symbol);
		ink_words_put(&c, p->entries[i].claim);
		ink_words_put(&c, (uint32_t)p->entries[i].key.length);
		ink_words_put_string(&c, p->entries[i].key);
	}
}

static uint64_t body_bytes(const struct ink_kbf *f)
{
	return f->links * ink_kbf_link_bytes(f) + ink_body_round(pending_bytes(&f->pending));
}

static struct header header_of(const struct ink_kbf *f)
{
	struct header h = {.kind = INK_FILE_KBF,
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

	h.body_bytes = body_bytes(f);
	for (uint32_t i = 0; i < f->links; i++)
		h.keys[i] = f->link[i].keys;
	return h;
}

/* All links and the keys that wait, in one piece. NULL: no memory. */
static void *gather(const struct ink_kbf *f, const struct header *h)
{
	uint64_t bytes = ink_kbf_link_bytes(f);
	unsigned char *body = ink_alloc(&f->allocator, h->body_bytes);

	for (uint32_t i = 0; body && i < f->links; i++)
		memcpy(body + i * bytes, f->link[i].cells, bytes);
	if (body)
		write_pending(&f->pending, body + f->links * bytes);
	return body;
}

/* The cells of a single link, with no key that waits, are the body. */
static int save(const struct ink_kbf *f, struct ink_file_target to)
{
	struct header h = header_of(f);
	int is_one_piece = f->links == 1 && !f->pending.count, error;
	void *body = is_one_piece ? f->link[0].cells : gather(f, &h);

	if (!body)
		return ink_fail(to.why, -ENOMEM, "no memory to save %llu bytes",
				(unsigned long long)h.body_bytes);
	error = ink_file_save(&to, &h, body);
	if (!is_one_piece)
		ink_release(&f->allocator, body, h.body_bytes);
	return error;
}

int ink_kbf_save(const struct ink_kbf *f, const char *path, struct ink_why *why)
{
	return save(f, (struct ink_file_target){.path = path, .why = why});
}

int ink_kbf_save_with(const struct ink_kbf *f, const char *path, const struct ink_save_options *options,
		      struct ink_why *why)
{
	return save(f, (struct ink_file_target){.path = path, .options = options, .why = why});
}

int ink_kbf_save_to(const struct ink_kbf *f, const struct ink_sink *sink,
		    const struct ink_save_options *options, struct ink_why *why)
{
	return save(f, (struct ink_file_target){.sink = sink, .options = options, .why = why});
}

int ink_kbf_save_buffer(const struct ink_kbf *f, struct ink_buffer *buffer,
			const struct ink_save_options *options, struct ink_why *why)
{
	return save(f, (struct ink_file_target){.buffer = buffer, .options = options, .why = why});
}

int ink_kbf_save_bytes(const struct ink_kbf *f, const struct ink_save_options *options, uint64_t *bytes,
		       struct ink_why *why)
{
	return ink_file_bytes(options, body_bytes(f), bytes, why);
}

/* --------------------------------------------------------- loading: the header */

static int check_shape(const struct ink_file *f, const struct header *h)
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

static int check_rest(const struct ink_file *f, const struct header *h)
{
	int error = ink_file_reserved(f, h, offsetof(struct header, more));

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

static int check_dict(const struct ink_file *f, const struct header *h, const struct ink_kbf_dict *d)
{
	if (d->encoding == h->encoding && mark_of(d) == h->dict_mark && d->count >= h->dict_values &&
	    ink_dict_chain(d, h->dict_values) == h->dict_chain)
		return 0;
	return ink_file_wrong(f, -EINVAL,
			      "was saved with another dictionary, or this one lacks values of it");
}

static int check_lengths(const struct ink_file *file, const struct header *h, const struct ink_kbf *f)
{
	uint64_t cells = h->links * ink_kbf_link_bytes(f);

	if (h->pending_bytes <= h->body_bytes && h->body_bytes == cells + ink_body_round(h->pending_bytes))
		return 0;
	return ink_file_wrong(file, -EBADMSG,
			      "a body of %llu bytes is not that of its cells and waiting keys",
			      (unsigned long long)h->body_bytes);
}

/* --------------------------------------------------------- loading: the filter */

static void fill_shape(struct ink_kbf *f, const struct header *h, struct ink_kbf_dict *d)
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

static int attach_links(const struct ink_file *file, struct ink_kbf *f, const struct header *h)
{
	for (f->links = 0; f->links < h->links; f->links++) {
		struct ink_kbf_link *link = &f->link[f->links];
		struct ink_kbf_scan scan;

		link->cells = (unsigned char *)f->body.at + f->links * ink_kbf_link_bytes(f);
		link->keys = h->keys[f->links];
		scan = ink_kbf_link_scan(f, link);
		if (scan.is_beyond)
			return ink_file_wrong(file, -EBADMSG,
					      "the body is unsound: in link %u a sum is not below the prime",
					      f->links);
		f->stuck += scan.stuck;
	}
	return 0;
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

static int read_entry(struct ink_words *c, const struct ink_kbf *f, struct ink_pending_entry *e)
{
	uint32_t claim, length;

	if (!ink_words_get(c, &e->symbol) || !ink_words_get(c, &claim) || !ink_words_get(c, &length) ||
	    !ink_words_get_string(c, length, &e->key))
		return 0;
	e->claim = (enum ink_claim)claim;
	e->id = ink_kbf_id(f, e->key);
	if (claim < INK_CLAIM_NEW || claim > INK_CLAIM_MAYBE)
		return 0;
	return e->symbol == INK_PENDING_GONE ? claim != INK_CLAIM_NEW
					     : e->symbol < f->dict->count && e->symbol < f->symbols;
}

static int read_pending(const struct ink_file *file, const struct header *h, struct ink_kbf *f)
{
	struct ink_words c = {(unsigned char *)f->body.at + f->links * ink_kbf_link_bytes(f),
			      h->pending_bytes};

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

static int check_body(const struct ink_file *file, const struct header *h, const struct ink_kbf *f)
{
	struct ink_why reason;
	int error = ink_file_padding(file, &f->body, f->links * ink_kbf_link_bytes(f) + h->pending_bytes);

	if (!error)
		error = check_ends(file, f);
	if (!error && ink_kbf_check(f, &reason))
		error = ink_file_wrong(file, -EBADMSG, "the body is unsound: %s", reason.text);
	return error;
}

/* Of the body and of the side table, whose arrays have room for a power of two. */
static uint64_t memory_for(const struct header *h)
{
	return sizeof(struct ink_kbf) + h->body_bytes + ink_pending_arrays_bytes(2 * h->pending) +
	       h->pending_bytes;
}

static int check_header(const struct ink_file *file, const struct header *h, const struct ink_kbf_dict *d)
{
	int error = check_shape(file, h);

	if (!error)
		error = check_rest(file, h);
	return error ? error : check_dict(file, h, d);
}

static int fill(struct ink_file *file, const struct header *h, struct ink_kbf *f, struct ink_kbf_dict *d)
{
	int error;

	fill_shape(f, h, d);
	error = check_lengths(file, h, f);
	if (!error)
		error = ink_file_limit(file, memory_for(h));
	if (!error)
		error = ink_file_body(file, h, &f->body);
	if (!error)
		error = attach_links(file, f, h);
	if (!error && !file->trust)
		error = check_body(file, h, f);
	return error ? error : read_pending(file, h, f);
}

static struct ink_kbf *load(struct ink_file file, struct ink_kbf_dict *dict)
{
	struct ink_kbf *f = NULL;
	struct header h;
	int error = ink_file_open(&file, &h);

	if (!error && !dict)
		error = ink_file_wrong(&file, -EINVAL, "no dictionary is given");
	if (!error)
		error = check_header(&file, &h, dict);
	if (!error) {
		f = ink_kbf_alloc(&file.allocator);
		error = f ? fill(&file, &h, f, dict)
			  : ink_file_wrong(&file, -ENOMEM, "no memory for a filter");
	}
	ink_file_close(&file);
	if (!error)
		return f;
	ink_kbf_free(f);
	errno = -error;
	return NULL;
}

struct ink_kbf *ink_kbf_load(const char *path, struct ink_kbf_dict *dict, enum ink_load how,
			     struct ink_why *why)
{
	const struct ink_load_options o = {.size = sizeof o, .how = how};

	return ink_kbf_load_with(path, dict, &o, why);
}

struct ink_kbf *ink_kbf_load_with(const char *path, struct ink_kbf_dict *dict,
				  const struct ink_load_options *options, struct ink_why *why)
{
	return load((struct ink_file){.path = path, .load = options, .why = why}, dict);
}

struct ink_kbf *ink_kbf_load_from(const struct ink_source *source, struct ink_kbf_dict *dict,
				  const struct ink_load_options *options, struct ink_why *why)
{
	return load((struct ink_file){.source = source, .load = options, .why = why}, dict);
}

struct ink_kbf *ink_kbf_load_buffer(struct ink_bytes snapshot, struct ink_kbf_dict *dict,
				    const struct ink_load_options *options, struct ink_why *why)
{
	return load(
		(struct ink_file){.bytes = snapshot.bytes, .n = snapshot.length, .load = options, .why = why},
		dict);
}
