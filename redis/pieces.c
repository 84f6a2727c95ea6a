/* SPDX-License-Identifier: BSD-2-Clause */
/* INK.DUMP and INK.LOADCHUNK: a value in pieces, because one reply or argument has at most 512 MB. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "redis/apply.h"
#include "redis/command.h"
#include "redis/type.h"
#include "redis/value_io.h"

/* ----------------------------------------------------------------------------- dump */

/* Keeps the bytes from `from` to `from` + PIECE of what is written, and then stops the writer. */
struct window {
	uint64_t from, at;
	struct bytes kept;
};

static int write_window(const void *bytes, size_t n, void *user)
{
	struct window *w = user;
	uint64_t skip = w->at < w->from ? w->from - w->at : 0, keep;

	w->at += n;
	if (skip >= n)
		return 0;
	keep = n - skip < PIECE - w->kept.n ? n - skip : PIECE - w->kept.n;
	memcpy(bytes_more(&w->kept, keep), (const uint8_t *)bytes + skip, keep);
	return w->kept.n == PIECE ? -ECANCELED : 0;
}

/* A cursor is the offset of the next piece and the number of changes when the first was taken: "1048576-42". */
static uint64_t read_cursor(struct arguments *a, const struct ink_value *v)
{
	size_t length;
	const char *text = next(a, &length), *dash = memchr(text, '-', length);
	uint64_t offset = 0, changes = 0;

	if (length == 1 && text[0] == '0')
		return 0;
	if (!dash || !read_number(text, (size_t)(dash - text), &offset) ||
	    !read_number(dash + 1, length - (size_t)(dash + 1 - text), &changes))
		complain(a, "ERR cursor: 0, or what the last call answered");
	else if (changes != v->count[COUNT_CHANGES])
		complain(
			a,
			"CHANGED the table changed since the first piece: begin again, or dump a copy of it");
	return offset;
}

static void answer_piece(struct server_context *ctx, const struct ink_value *v, uint64_t offset)
{
	struct window w = {.from = offset};
	const struct ink_sink sink = {.write = write_window, .user = &w};
	char cursor[48] = "0";

	value_save(v, &sink);
	if (offset + w.kept.n < value_save_bytes(v))
		snprintf(cursor, sizeof cursor, "%" PRIu64 "-%" PRIu64, offset + w.kept.n,
			 v->count[COUNT_CHANGES]);
	server.ReplyWithArray(ctx, 2);
	server.ReplyWithCString(ctx, cursor);
	server.ReplyWithStringBuffer(ctx, w.kept.n ? (const char *)w.kept.at : "", w.kept.n);
	server.Free(w.kept.at);
}

int command_dump(struct server_context *ctx, struct server_string **argv, int argc)
{
	struct arguments a = arguments_from(ctx, argv, argc, 2);
	struct opened o;
	uint64_t offset;

	if (argc != 3)
		return server.WrongArity(ctx);
	if (open_table(ctx, argv, SERVER_READ, &o) != 0)
		return SERVER_OK;
	offset = read_cursor(&a, o.value);
	if (a.wrong)
		answer_wrong(&a);
	else
		answer_piece(ctx, o.value, offset);
	close_table(&o);
	return SERVER_OK;
}

/* ----------------------------------------------------------------------------- load */

struct piece {
	uint64_t offset, length;
	const uint8_t *at;
	size_t n;
};

/* What of the value is there: the pieces so far, and the new one. */
struct joined {
	const struct partial *have;
	const struct piece *piece;
	uint64_t at;
};

static ptrdiff_t read_joined(void *into, size_t n, void *user)
{
	struct joined *j = user;
	uint64_t old = j->have ? j->have->have : 0, left;

	left = j->at < old ? old - j->at : old + j->piece->n - j->at;
	n = n < left ? n : left;
	if (n)
		memcpy(into, j->at < old ? j->have->bytes + j->at : j->piece->at + (j->at - old), n);
	j->at += n;
	return (ptrdiff_t)n;
}

/* The whole value, or NULL and a complaint. */
static struct ink_value *join(struct arguments *a, const struct partial *have, const struct piece *piece)
{
	int repeated = is_repeated(a->ctx);
	struct load_how how = {.limit = repeated ? 0 : (uint64_t)config_limit, .patient = repeated};
	struct joined j = {.have = have, .piece = piece};
	const struct ink_source source = {.read = read_joined, .user = &j};
	struct ink_why why = {""};
	struct ink_value *v = value_load(&source, &how, &why);

	if (!v)
		complain(a, "%s the value is refused: %s", errno == EFBIG ? "LIMIT" : "ERR", why.text);
	else if (v->partial.length)
		complain(a, "ERR the pieces are those of a partial value");
	if (!a->wrong)
		return v;
	value_free(v);
	return NULL;
}

static void keep(struct partial *p, const struct piece *piece)
{
	if (p->have + piece->n > p->room) {
		p->room = 2 * (p->have + piece->n);
		p->bytes = resize(p->bytes, p->room, 1);
	}
	memcpy(p->bytes + p->have, piece->at, piece->n);
	p->have += piece->n;
	p->length = piece->length;
}

static void read_piece(struct arguments *a, struct piece *p)
{
	p->offset = next_number(a, "offset", 0, INT64_MAX);
	p->length = next_number(a, "length", 1, INT64_MAX);
	p->at = (const uint8_t *)next(a, &p->n);
	if (!a->wrong && (!p->n || p->n > p->length || p->offset > p->length - p->n))
		complain(a, "ERR bytes: at least one, and no more than the length has behind the offset");
	if (!a->wrong && !is_repeated(a->ctx) && p->length > 2 * (uint64_t)config_limit)
		complain(a, "LIMIT the value is more than twice inkling.limit");
}

/* `v`: what the key has, or NULL. */
static void check_place(struct arguments *a, const struct ink_value *v, const struct piece *p)
{
	uint64_t have = v ? v->partial.have : 0;

	if (v && v->table)
		complain(a, "BUSYKEY there is such a key");
	else if (p->offset != have)
		complain(a, "ERR offset: the next piece is that at %" PRIu64, have);
	else if (v && p->length != v->partial.length)
		complain(a, "ERR length: the first piece said %" PRIu64, v->partial.length);
}

static void take_piece(struct arguments *a, struct server_key *key, struct ink_value *v,
		       const struct piece *p)
{
	struct ink_value *whole = NULL;

	if (p->offset + p->n == p->length && !(whole = join(a, v ? &v->partial : NULL, p)))
		return;
	if (!v || whole) {
		v = whole ? whole : value_new();
		server.ModuleTypeSetValue(key, value_type, v);
	}
	if (!whole)
		keep(&v->partial, p);
	repeat(a->ctx, a->argv[1], "ink.loadchunk");
}

/* What the key has of ours; NULL if it is empty. */
static struct ink_value *value_there(struct arguments *a, struct server_key *key)
{
	int type = server.KeyType(key);

	if (type == SERVER_TYPE_EMPTY)
		return NULL;
	if (type == SERVER_TYPE_MODULE && server.ModuleTypeGetType(key) == value_type)
		return server.ModuleTypeGetValue(key);
	complain(a, "WRONGTYPE Operation against a key holding the wrong kind of value");
	return NULL;
}

int command_loadchunk(struct server_context *ctx, struct server_string **argv, int argc)
{
	struct arguments a = arguments_from(ctx, argv, argc, 2);
	struct server_key *key;
	struct ink_value *v;
	struct piece p;

	if (argc != 5)
		return server.WrongArity(ctx);
	key = server.OpenKey(ctx, argv[1], SERVER_READ | SERVER_WRITE);
	v = value_there(&a, key);
	read_piece(&a, &p);
	if (!a.wrong)
		check_place(&a, v, &p);
	if (!a.wrong)
		take_piece(&a, key, v, &p);
	server.CloseKey(key);
	return a.wrong ? answer_wrong(&a) : server.ReplyWithSimpleString(ctx, "OK");
}
