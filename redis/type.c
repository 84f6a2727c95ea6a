/* SPDX-License-Identifier: BSD-2-Clause */
#include "redis/type.h"

#include <stdio.h>
#include <string.h>

#include "redis/apply.h"
#include "redis/value_io.h"

struct server_type *value_type;

int is_repeated(struct server_context *ctx)
{
	return (server.GetContextFlags(ctx) & (SERVER_REPLICATED | SERVER_LOADING | SERVER_ASYNC_LOADING)) !=
	       0;
}

/* ------------------------------------------------------------------------- in pieces */

/* Collects what is written, and gives it on by the megabyte. */
struct pieces {
	uint8_t *at;
	uint64_t n;
	void (*give)(const uint8_t *at, uint64_t n, void *user);
	void *user;
};

static void flush(struct pieces *p)
{
	if (p->n)
		p->give(p->at, p->n, p->user);
	p->n = 0;
}

static int write_pieces(const void *bytes, size_t n, void *user)
{
	struct pieces *p = user;
	const uint8_t *at = bytes;

	while (n) {
		size_t room = PIECE - p->n, k = n < room ? n : room;

		memcpy(p->at + p->n, at, k);
		p->n += k;
		at += k;
		n -= k;
		if (p->n == PIECE)
			flush(p);
	}
	return 0;
}

static void save_in_pieces(const struct ink_value *v, void (*give)(const uint8_t *, uint64_t, void *),
			   void *user)
{
	struct pieces p = {.at = resize(NULL, PIECE, 1), .give = give, .user = user};
	const struct ink_sink sink = {.write = write_pieces, .user = &p};

	if (value_save(v, &sink) == 0)
		flush(&p);
	server.Free(p.at);
}

/* ------------------------------------------------------------------------------- RDB */

static void save_piece(const uint8_t *at, uint64_t n, void *io)
{
	server.SaveStringBuffer(io, (const char *)at, n);
}

static void save(struct server_io *io, void *value)
{
	save_in_pieces(value, save_piece, io);
	server.SaveStringBuffer(io, "", 0);
}

/* Strings one after another, as one source. An empty one is the end. */
struct strings {
	struct server_io *io;
	char *at;
	size_t n, used;
	int ended;
};

static int next_string(struct strings *s)
{
	server.Free(s->at);
	s->n = s->used = 0;
	s->at = server.LoadStringBuffer(s->io, &s->n);
	s->ended = !s->at || !s->n;
	return s->at ? 0 : -1;
}

static ptrdiff_t read_strings(void *into, size_t n, void *user)
{
	struct strings *s = user;

	if (s->used == s->n && !s->ended && next_string(s) != 0)
		return -1;
	if (s->ended)
		return 0;
	n = n < s->n - s->used ? n : s->n - s->used;
	memcpy(into, s->at + s->used, n);
	s->used += n;
	return (ptrdiff_t)n;
}

/*
 * Files of this server and its master are not forged: their checksums suffice, and no limit holds. A RESTORE that was
 * replicated does not look like one from here; but what a replica loads its master has accepted.
 */
static struct load_how how_to_load(struct server_io *io)
{
	struct server_context *ctx = server.GetContextFromIO(io);
	int repeated = is_repeated(ctx) || (server.GetContextFlags(ctx) & SERVER_REPLICA);

	return (struct load_how){
		.limit = repeated ? 0 : (uint64_t)config_limit,
		.trust = server.GetContextFlags(ctx) & (SERVER_LOADING | SERVER_ASYNC_LOADING)
				 ? INK_TRUST_CHECKSUM
				 : INK_TRUST_NOTHING,
		.patient = repeated,
	};
}

static void *load(struct server_io *io, int version)
{
	struct strings s = {.io = io};
	const struct ink_source source = {.read = read_strings, .user = &s};
	struct load_how how = how_to_load(io);
	struct ink_why why = {""};
	struct ink_value *v = version == 1 ? value_load(&source, &how, &why) : NULL;

	server.Free(s.at);
	if (!v)
		server.LogIOError(io, "warning", "inkling: a value cannot be loaded: %s",
				  version == 1 ? why.text : "it is of a later version");
	return v;
}

/* ------------------------------------------------------------------------------- AOF */

struct rewriting {
	struct server_io *io;
	struct server_string *key;
	uint64_t offset, length;
};

static void emit_piece(const uint8_t *at, uint64_t n, void *user)
{
	struct rewriting *w = user;

	if (server.IsIOError(w->io))
		return;
	server.EmitAOF(w->io, "INK.LOADCHUNK", "sllb", w->key, (long long)w->offset, (long long)w->length, at,
		       (size_t)n);
	w->offset += n;
}

static void emit_bytes(struct rewriting *w, const uint8_t *at, uint64_t n)
{
	for (uint64_t i = 0; i < n; i += PIECE)
		emit_piece(at + i, n - i < PIECE ? n - i : PIECE, w);
}

/* A partial value is written as the pieces that it has. */
static void rewrite(struct server_io *io, struct server_string *key, void *value)
{
	const struct ink_value *v = value;
	struct rewriting w = {.io = io, .key = key, .length = v->partial.length};

	if (v->table) {
		w.length = value_save_bytes(v);
		save_in_pieces(v, emit_piece, &w);
	} else {
		emit_bytes(&w, v->partial.bytes, v->partial.have);
	}
}

/* --------------------------------------------------------------------------- the rest */

/*
 * A table that was loaded looks for overflow flags where another one knows that there are none. While a tick is under
 * way its page says so (docs/format.md, "flags due"), and nothing else depends on it: the digest leaves these bytes
 * out, and the sum of the page with them.
 */
enum { FLAGS_DUE_AT = 3080, FLAGS_DUE = 4, PAGE_SUM_AT = 4080, PAGE_SUM = 16 };

struct digesting {
	struct server_digest *digest;
	uint64_t at, page; /* bytes so far; where the page begins */
};

/* Zeros in place of the bytes from `from` on that are in this piece. */
static void leave_out(uint8_t *piece, const struct digesting *d, uint64_t n, uint64_t from, uint64_t length)
{
	for (uint64_t i = from < d->at ? d->at : from; i < from + length && i < d->at + n; i++)
		piece[i - d->at] = 0;
}

static void digest_piece(const uint8_t *at, uint64_t n, void *user)
{
	struct digesting *d = user;
	uint8_t *piece = (uint8_t *)(uintptr_t)at; /* of save_in_pieces, which fills it anew */

	if (d->page) {
		leave_out(piece, d, n, d->page + FLAGS_DUE_AT, FLAGS_DUE);
		leave_out(piece, d, n, d->page + PAGE_SUM_AT, PAGE_SUM);
	}
	server.DigestAddStringBuffer(d->digest, (const char *)piece, n);
	d->at += n;
}

static void digest(struct server_digest *digest, void *value)
{
	const struct ink_value *v = value;
	uint64_t table = 0;
	struct digesting d = {.digest = digest};

	if (v->table && ink_save_bytes(v->table, NULL, &table, NULL) == 0)
		d.page = value_save_bytes(v) - table;
	save_in_pieces(v, digest_piece, &d);
	server.DigestEndSequence(digest);
}

static void free_value(void *value)
{
	value_free(value);
}

static size_t usage(struct server_key_option *key, const void *value, size_t sample)
{
	(void)key;
	(void)sample;
	return value_bytes(value);
}

enum { EFFORT_BYTES = 4096 };

/* Pages to give back: the server frees what takes more than a few in the background. */
static size_t free_effort(struct server_key_option *key, const void *value)
{
	const struct ink_value *v = value;

	(void)key;
	return 1 + v->arena.given / EFFORT_BYTES + v->sensors + v->n_held;
}

static void *copy(struct server_key_option *key, const void *value)
{
	(void)key;
	return value_copy(value);
}

int type_register(struct server_context *ctx)
{
	struct server_type_methods methods = {.version = SERVER_TYPE_METHODS,
					      .load = load,
					      .save = save,
					      .rewrite = rewrite,
					      .digest = digest,
					      .free = free_value,
					      .usage = usage,
					      .free_effort = free_effort,
					      .copy = copy};

	value_type = server.CreateDataType(ctx, "inkling-t", 1, &methods);
	return value_type ? SERVER_OK : SERVER_ERROR;
}
