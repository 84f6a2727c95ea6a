/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A set of tables in one file, each under a name: linked machines have a table each,
 * and a file that holds all of them cannot mix two moments. docs/format.md, kind 48,
 * has every byte.
 *
 *     +--------+-----------------------------+----------+----------+-- - --+-------+
 *     | header | directory: name, length and | snapshot | snapshot |       | extra |
 *     |        | header's sum of each table  | 0        | 1        |       |       |
 *     +--------+-----------------------------+----------+----------+-- - --+-------+
 *
 * The directory is the body of the container that file.h describes. Behind it, each
 * table is a complete snapshot and is loaded as one (struct ink_file_part), with all
 * checks of snapshot.c. This file checks that the parts fill the file without gaps, that
 * names are names, and that all of it together stays within the caller's limit of memory.
 *
 * All or nothing: a table that is refused takes the loaded ones with it.
 */
#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "base/error.h"
#include "base/utf8.h"
#include "table/snapshot.h"
#include "table/table.h"

/* ----------------------------------------------------------------- the layout */

struct header {
	INK_FILE_FIRST; /* kind: INK_FILE_SET */
	uint32_t tables;
	uint64_t tables_bytes; /* the sum of all lengths */
	unsigned char reserved[152];
	INK_FILE_LENGTHS; /* of the directory */
	unsigned char more[3848];
	INK_FILE_LAST;
};

INK_FILE_CHECK(struct header);
_Static_assert(offsetof(struct header, tables) == 20 && offsetof(struct header, tables_bytes) == 24 &&
		       offsetof(struct header, tables_bytes) == offsetof(struct ink_file_head, tables_bytes),
	       "docs/format.md: kind 48");

/* Of the directory. */
struct entry {
	char name[INK_SET_NAME]; /* filled up with zeros, at least one */
	uint64_t bytes;
	uint64_t reserved;
	uint64_t head[2];
	unsigned char more[32];
};

_Static_assert(sizeof(struct entry) == 128 && offsetof(struct entry, bytes) == 64 &&
		       offsetof(struct entry, head) == 80,
	       "docs/format.md: an entry of the directory");

static uint64_t directory_bytes(uint64_t tables)
{
	return ink_body_round(tables * sizeof(struct entry));
}

/* ------------------------------------------------------------------ the names */

/* NULL, or what is wrong with a name of at most INK_SET_NAME bytes. */
static const char *name_is_wrong(const char *name)
{
	size_t length = strnlen(name, INK_SET_NAME);

	if (length == 0)
		return "is empty";
	if (length == INK_SET_NAME)
		return "is too long: 63 bytes are possible";
	for (size_t at = 0; at < length;) {
		uint32_t character;
		unsigned n = ink_utf8_decode(name + at, &character);

		if (!n || ink_is_control(character))
			return "is not UTF-8 without control characters";
		at += n;
	}
	return NULL;
}

/* --------------------------------------------------------------------- saving */

static int check_entry(const struct ink_table_set *set, size_t i, struct ink_why *why)
{
	const struct ink_set_entry *e = &set->entries[i];
	const char *wrong = e->name ? name_is_wrong(e->name) : "is NULL";

	if (wrong)
		return ink_fail(why, -EINVAL, "set: the name of table %zu %s", i, wrong);
	if (!e->table)
		return ink_fail(why, -EINVAL, "set: table %s is NULL", e->name);
	for (size_t k = 0; k < i; k++)
		if (strcmp(set->entries[k].name, e->name) == 0)
			return ink_fail(why, -EINVAL, "set: two tables are called %s", e->name);
	return 0;
}

static int check_set(const struct ink_table_set *set, struct ink_why *why)
{
	int error = 0;

	if (!set || !set->entries)
		return ink_fail(why, -EINVAL, "set: NULL names no tables");
	if (set->n < 1 || set->n > INK_MAX_SET)
		return ink_fail(why, -EINVAL, "set: %zu tables; 1 to %d are possible", set->n, INK_MAX_SET);
	for (size_t i = 0; i < set->n && !error; i++)
		error = check_entry(set, i, why);
	return error;
}

/* All that is written and that no table has in its memory; one allocation. */
struct draft {
	struct header *header;
	struct entry *directory;
	unsigned char *heads;          /* a page each */
	struct ink_file_piece *pieces; /* the directory; then head and body of each table */
	size_t bytes;
};

static void *draft_alloc(struct draft *d, const struct ink_allocator *a, size_t n)
{
	size_t directory = directory_bytes(n);
	unsigned char *at;

	d->bytes = INK_FILE_PAGE + directory + n * INK_FILE_PAGE + (1 + 2 * n) * sizeof *d->pieces;
	at = ink_alloc(a, d->bytes);
	if (!at)
		return NULL;
	d->header = (struct header *)at;
	d->directory = (struct entry *)(at + INK_FILE_PAGE);
	d->heads = at + INK_FILE_PAGE + directory;
	d->pieces = (struct ink_file_piece *)(d->heads + n * INK_FILE_PAGE);
	return at;
}

static void draft_table(struct draft *d, size_t i, const struct ink_set_entry *e)
{
	unsigned char *page = d->heads + i * INK_FILE_PAGE;
	struct entry *entry = &d->directory[i];

	ink_snapshot_header(e->table, page);
	memcpy(entry->name, e->name, strlen(e->name));
	entry->bytes = INK_FILE_PAGE + e->table->body_bytes;
	memcpy(entry->head, ((const struct ink_file_head *)page)->header_sum, sizeof entry->head);
	d->header->tables_bytes += entry->bytes;
	d->pieces[1 + 2 * i] = (struct ink_file_piece){page, INK_FILE_PAGE};
	d->pieces[2 + 2 * i] = (struct ink_file_piece){e->table->body, e->table->body_bytes};
}

/* The draft's memory is that of the first table. */
static int save(const struct ink_table_set *set, const struct ink_file_target *to)
{
	int error = check_set(set, to->why);
	const struct ink_allocator *a;
	struct draft d;

	if (error)
		return error;
	a = &set->entries[0].table->allocator;
	if (!draft_alloc(&d, a, set->n))
		return ink_fail(to->why, -ENOMEM, "set: no memory for %zu headers", set->n);
	d.header->kind = INK_FILE_SET;
	d.header->tables = (uint32_t)set->n;
	d.header->body_bytes = directory_bytes(set->n);
	d.pieces[0] = (struct ink_file_piece){d.directory, d.header->body_bytes};
	for (size_t i = 0; i < set->n; i++)
		draft_table(&d, i, &set->entries[i]);
	error = ink_file_save_pieces(to, d.header, d.pieces, 1 + 2 * set->n);
	ink_release(a, d.header, d.bytes);
	return error;
}

int ink_save_set(const struct ink_table_set *set, const char *path, const struct ink_save_options *options,
		 struct ink_why *why)
{
	return save(set, &(struct ink_file_target){.path = path, .options = options, .why = why});
}

int ink_save_set_to(const struct ink_table_set *set, const struct ink_sink *sink,
		    const struct ink_save_options *options, struct ink_why *why)
{
	return save(set, &(struct ink_file_target){.sink = sink, .options = options, .why = why});
}

int ink_save_set_buffer(const struct ink_table_set *set, struct ink_buffer *buffer,
			const struct ink_save_options *options, struct ink_why *why)
{
	return save(set, &(struct ink_file_target){.buffer = buffer, .options = options, .why = why});
}

int ink_save_set_bytes(const struct ink_table_set *set, const struct ink_save_options *options,
		       uint64_t *bytes, struct ink_why *why)
{
	int error = check_set(set, why);
	uint64_t behind = 0;

	*bytes = 0;
	if (error)
		return error;
	for (size_t i = 0; i < set->n; i++)
		behind += INK_FILE_PAGE + set->entries[i].table->body_bytes;
	return ink_file_bytes(options, directory_bytes(set->n) + behind, bytes, why);
}

/* ---------------------------------------------------------------- what is loaded */

struct member {
	char name[INK_SET_NAME];
	struct ink_table *table; /* NULL: not loaded yet, or taken */
};

struct ink_loaded_set {
	struct ink_allocator allocator;
	size_t n;
	struct member members[];
};

static size_t set_bytes(size_t n)
{
	return sizeof(struct ink_loaded_set) + n * sizeof(struct member);
}

size_t ink_loaded_set_count(const struct ink_loaded_set *set)
{
	return set->n;
}

const char *ink_loaded_set_name(const struct ink_loaded_set *set, size_t i)
{
	return i < set->n ? set->members[i].name : NULL;
}

struct ink_table *ink_loaded_set_take(struct ink_loaded_set *set, const char *name)
{
	for (size_t i = 0; name && i < set->n; i++)
		if (strcmp(set->members[i].name, name) == 0) {
			struct ink_table *t = set->members[i].table;

			set->members[i].table = NULL;
			return t;
		}
	return NULL;
}

void ink_loaded_set_free(struct ink_loaded_set *set)
{
	struct ink_allocator a;

	if (!set)
		return;
	a = set->allocator;
	for (size_t i = 0; i < set->n; i++)
		ink_free(set->members[i].table);
	ink_release(&a, set, set_bytes(set->n));
}

/* ----------------------------------------------------- loading: what it may say */

static int check_header(const struct ink_file *f, const struct header *h)
{
	int error = 0;

	if (h->kind != INK_FILE_SET)
		return ink_file_wrong(f, -ENOTSUP, "has kind %u; a set of tables has kind %d", h->kind,
				      INK_FILE_SET);
	if (h->tables < 1 || h->tables > INK_MAX_SET)
		return ink_file_wrong(f, -EBADMSG, "%u tables (byte 20); a set has 1 to %d", h->tables,
				      INK_MAX_SET);
	if (h->body_bytes != directory_bytes(h->tables))
		return ink_file_wrong(f, -EBADMSG, "a directory of %llu bytes does not fit %u tables",
				      (unsigned long long)h->body_bytes, h->tables);
	for (size_t i = 0; i < sizeof h->reserved && !error; i++)
		if (h->reserved[i])
			error = ink_file_wrong(f, -EBADMSG, "a reserved byte of the header is not 0");
	return error ? error : ink_file_reserved(f, h, offsetof(struct header, more));
}

/* Zeros from the end of the name on, and where nothing is defined yet. */
static int is_filled_up(const struct entry *e)
{
	unsigned others = 0;

	for (size_t i = strlen(e->name); i < sizeof e->name; i++)
		others |= (unsigned char)e->name[i];
	for (size_t i = 0; i < sizeof e->more; i++)
		others |= e->more[i];
	return !others && !e->reserved;
}

/* The name is not shown before it is known to be one. */
static int check_name(const struct ink_file *f, const struct entry *directory, size_t i)
{
	const char *wrong = name_is_wrong(directory[i].name);

	if (wrong)
		return ink_file_wrong(f, -EBADMSG, "the name of table %zu %s", i, wrong);
	if (!is_filled_up(&directory[i]))
		return ink_file_wrong(f, -EBADMSG, "a reserved byte of table %zu in the directory is not 0",
				      i);
	for (size_t k = 0; k < i; k++)
		if (strcmp(directory[k].name, directory[i].name) == 0)
			return ink_file_wrong(f, -EBADMSG, "two tables are called %s", directory[i].name);
	return 0;
}

/* `left` is what the tables before it leave of the file. */
static int check_length(const struct ink_file *f, const struct entry *e, uint64_t left)
{
	if (e->bytes >= 2 * INK_FILE_PAGE && e->bytes % INK_FILE_PAGE == 0 && e->bytes <= left)
		return 0;
	return ink_file_wrong(f, -EBADMSG, "table %s cannot have %llu bytes, of %llu that are left", e->name,
			      (unsigned long long)e->bytes, (unsigned long long)left);
}

static int check_directory(const struct ink_file *f, const struct header *h, const struct ink_body *body)
{
	const struct entry *directory = body->at;
	uint64_t left = h->tables_bytes;
	int error = ink_file_padding(f, body, h->tables * sizeof *directory);

	for (size_t i = 0; i < h->tables && !error; i++) {
		error = check_name(f, directory, i);
		if (!error)
			error = check_length(f, &directory[i], left);
		left -= error ? 0 : directory[i].bytes;
	}
	if (!error && left)
		error = ink_file_wrong(f, -EBADMSG, "%llu bytes belong to no table",
				       (unsigned long long)left);
	return error;
}

/* ------------------------------------------------------------ loading: the tables */

/* A set that is being loaded. */
struct loading {
	struct ink_file *file;
	const struct header *header;
	const struct entry *directory;
	struct ink_loaded_set *set;
	uint64_t held; /* bytes of what has been allocated */
};

/* The caller's options, for one table: no extra bytes, and what is left of the limit. */
static struct ink_load_options table_options(const struct loading *l)
{
	struct ink_load_options o = l->file->options;

	o.extra = NULL;
	o.extra_room = 0;
	o.extra_bytes = NULL;
	if (o.bytes)
		o.bytes -= l->held + l->file->extra;
	return o;
}

/* The limit was checked for the table's body, so something is left of it. */
static int load_table(struct loading *l, size_t i)
{
	struct ink_file *f = l->file;
	const struct entry *e = &l->directory[i];
	struct ink_load_options o;
	struct ink_file_part part = {f, f->at, e->bytes, {e->head[0], e->head[1]}, e->name};
	struct ink_file table = {.path = f->path,
				 .source = f->source,
				 .bytes = f->bytes,
				 .n = f->n,
				 .load = &o,
				 .part = &part,
				 .why = f->why};
	int error = ink_file_limit(f, l->held + e->bytes - INK_FILE_PAGE);

	if (error)
		return error;
	o = table_options(l);
	error = ink_snapshot_load(&table, &l->set->members[i].table);
	if (error)
		return error;
	memcpy(l->set->members[i].name, e->name, sizeof e->name);
	l->held += ink_bytes(l->set->members[i].table);
	f->at += e->bytes;
	return 0;
}

static int load_tables(struct loading *l)
{
	size_t n = l->header->tables;
	int error = ink_file_limit(l->file, l->held + l->header->tables_bytes - n * INK_FILE_PAGE);

	if (error)
		return error;
	l->set = ink_alloc(&l->file->allocator, set_bytes(n));
	if (!l->set)
		return ink_file_wrong(l->file, -ENOMEM, "no memory for %zu names", n);
	l->set->allocator = l->file->allocator;
	l->set->n = n;
	for (size_t i = 0; i < n && !error; i++)
		error = load_table(l, i);
	return error ? error : ink_file_extra(l->file, l->header);
}

/* The header has been checked. */
static int load_set(struct ink_file *f, const struct header *h, struct ink_loaded_set **set)
{
	struct loading l = {.file = f, .header = h, .held = set_bytes(h->tables) + h->body_bytes};
	struct ink_body body;
	int error = ink_file_limit(f, l.held);

	if (!error)
		error = ink_file_body_alone(f, h, &body);
	if (error)
		return error;
	l.directory = body.at;
	error = check_directory(f, h, &body);
	if (!error)
		error = load_tables(&l);
	ink_file_release(&f->allocator, &body);
	*set = l.set;
	return error;
}

static struct ink_loaded_set *load(struct ink_file *f)
{
	struct ink_loaded_set *set = NULL;
	struct header h;
	int error = ink_file_open(f, &h);

	if (!error)
		error = check_header(f, &h);
	if (!error)
		error = load_set(f, &h, &set);
	ink_file_close(f);
	if (!error)
		return set;
	ink_loaded_set_free(set);
	errno = -error;
	return NULL;
}

struct ink_loaded_set *ink_load_set(const char *path, const struct ink_load_options *options,
				    struct ink_why *why)
{
	return load(&(struct ink_file){.path = path, .load = options, .why = why});
}

struct ink_loaded_set *ink_load_set_from(const struct ink_source *source,
					 const struct ink_load_options *options, struct ink_why *why)
{
	return load(&(struct ink_file){.source = source, .load = options, .why = why});
}

struct ink_loaded_set *ink_load_set_buffer(const void *bytes, size_t n,
					   const struct ink_load_options *options, struct ink_why *why)
{
	return load(&(struct ink_file){.bytes = bytes, .n = n, .load = options, .why = why});
}
