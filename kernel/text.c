/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What machines were made from, in the map `text`: so any later process can make them again, and knows which codes
 * their states have in the tables.
 *
 *     struct head | record | record | ...        pieces of 4 KiB
 *     record      kind, number (of source, setting, machine), length; the bytes, up to a multiple of 8
 *
 * The map can be read by whoever may open the pins; but what is in it is checked like any input.
 */
#include "kernel/inside.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

#define MAGIC "inktext1"

struct head {
	char magic[8];
	uint32_t bytes; /* of all records */
	uint32_t sum;   /* FNV-1a of them */
};

enum kind { SOURCE_NAME = 1, SOURCE_TEXT, SETTING_NAME, SETTING_VALUE, PLAN, CODE, COUNTER };

struct record {
	uint32_t kind, number;
	uint32_t length;
	uint8_t a, b, c, d; /* CODE: code, splits, tails, copy; COUNTER: slot */
};

_Static_assert(sizeof(struct head) == 16 && sizeof(struct record) == 16, "records begin at multiples of 8");

/* ----------------------------------------------------------------- writing */

static void put(FILE *to, struct record r, const void *bytes, size_t length)
{
	static const char zeros[8];

	r.length = (uint32_t)length;
	fwrite(&r, sizeof r, 1, to);
	fwrite(bytes, 1, length, to);
	fwrite(zeros, 1, (8 - length % 8) % 8, to);
}

static void put_string(FILE *to, enum kind kind, unsigned number, const char *text)
{
	put(to, (struct record){.kind = kind, .number = number}, text, strlen(text));
}

static void put_numbering(FILE *to, unsigned machine, const struct ink_kernel_numbering *n)
{
	for (unsigned i = 0; i < n->codes; i++) {
		const struct ink_kernel_code *c = &n->code[i];
		struct record r = {CODE, machine, 0, (uint8_t)i, c->splits, c->tails, c->copy};

		if (c->name)
			put(to, r, c->name, strlen(c->name));
	}
	for (unsigned i = 0; i < INK_KERNEL_COUNTERS; i++)
		if (n->counter[i])
			put(to, (struct record){COUNTER, machine, 0, (uint8_t)i, 0, 0, 0}, n->counter[i],
			    strlen(n->counter[i]));
}

static void put_all(FILE *to, const struct ink_kernel *k, const struct ink_kernel_options *o)
{
	for (unsigned i = 0; i < o->n_sources; i++) {
		put_string(to, SOURCE_NAME, i, o->sources[i].name);
		put(to, (struct record){.kind = SOURCE_TEXT, .number = i}, o->sources[i].text,
		    o->sources[i].length);
	}
	for (unsigned i = 0; i < o->n_settings; i++) {
		put_string(to, SETTING_NAME, i, o->settings[i].name);
		put_string(to, SETTING_VALUE, i, o->settings[i].value);
	}
	for (unsigned i = 0; i < k->n; i++) {
		put(to, (struct record){.kind = PLAN, .number = i}, &k->plan[i], sizeof k->plan[i]);
		put_numbering(to, i, &k->numbering[i]);
	}
}

int ink_kernel_text_write(struct ink_kernel_half *half, const struct ink_kernel *k,
			  const struct ink_kernel_options *o)
{
	struct head head = {.magic = MAGIC};
	uint32_t pieces, index;
	size_t length = 0;
	char *bytes = NULL, *at;
	FILE *to = open_memstream(&bytes, &length);
	int error = -ENOMEM;

	if (!to)
		return -ENOMEM;
	put_all(to, k, o);
	if (fclose(to))
		return free(bytes), -ENOMEM;
	head.bytes = (uint32_t)length;
	head.sum = ink_fnv(INK_FNV, bytes, length);
	pieces = (uint32_t)((sizeof head + length + sizeof(struct ink_kernel_text) - 1) /
			    sizeof(struct ink_kernel_text));
	at = ink_kernel_append(half, INK_PART_TEXT, pieces, &index);
	if (at) {
		memcpy(at, &head, sizeof head);
		memcpy(at + sizeof head, bytes, length);
		error = 0;
	}
	free(bytes);
	return error;
}

/* ----------------------------------------------------------------- reading */

enum { SOURCES_MOST = 64, SETTINGS_MOST = 1024 };

/* What was read; strings are copies with a 0 behind them. */
struct contents {
	struct ink_bundled source[SOURCES_MOST];
	struct ink_setting setting[SETTINGS_MOST];
	unsigned sources, settings;
	struct ink_plan plan[INK_KERNEL_MACHINES];
	struct ink_kernel_numbering numbering[INK_KERNEL_MACHINES];
};

static void contents_free(struct contents *c)
{
	for (unsigned i = 0; i < SOURCES_MOST; i++) {
		free((char *)(uintptr_t)c->source[i].name);
		free((char *)(uintptr_t)c->source[i].text);
	}
	for (unsigned i = 0; i < SETTINGS_MOST; i++) {
		free((char *)(uintptr_t)c->setting[i].name);
		free((char *)(uintptr_t)c->setting[i].value);
	}
	for (unsigned i = 0; i < INK_KERNEL_MACHINES; i++)
		ink_kernel_numbering_free(&c->numbering[i]);
	free(c);
}

static int keep(const char **to, const void *bytes, size_t length)
{
	if (*to)
		return -EPROTO;
	*to = strndup(bytes, length);
	return *to ? 0 : -ENOMEM;
}

static int keep_source(struct contents *c, const struct record *r, const void *bytes)
{
	char *text;

	if (r->number >= SOURCES_MOST)
		return -EPROTO;
	c->sources = r->number + 1;
	if (r->kind == SOURCE_NAME)
		return keep(&c->source[r->number].name, bytes, r->length);
	text = malloc(r->length + 1);
	if (!text || c->source[r->number].text)
		return free(text), -ENOMEM;
	memcpy(text, bytes, r->length);
	text[r->length] = 0;
	c->source[r->number].text = text;
	c->source[r->number].length = r->length;
	return 0;
}

static int keep_setting(struct contents *c, const struct record *r, const void *bytes)
{
	struct ink_setting *s = &c->setting[r->number < SETTINGS_MOST ? r->number : 0];

	if (r->number >= SETTINGS_MOST)
		return -EPROTO;
	c->settings = r->number + 1;
	return keep(r->kind == SETTING_NAME ? &s->name : &s->value, bytes, r->length);
}

static int keep_of_machine(struct contents *c, const struct record *r, const void *bytes)
{
	struct ink_kernel_numbering *n = &c->numbering[r->number];

	if (r->kind == PLAN && r->length == sizeof c->plan[0])
		return memcpy(&c->plan[r->number], bytes, r->length), 0;
	if (r->kind == COUNTER && r->a < INK_KERNEL_COUNTERS)
		return keep((const char **)&n->counter[r->a], bytes, r->length);
	if (r->kind != CODE)
		return -EPROTO;
	n->code[r->a].splits = r->b;
	n->code[r->a].tails = r->c;
	n->code[r->a].copy = r->d;
	return keep((const char **)&n->code[r->a].name, bytes, r->length);
}

static int keep_record(struct contents *c, const struct record *r, const void *bytes)
{
	if (r->kind == SOURCE_NAME || r->kind == SOURCE_TEXT)
		return keep_source(c, r, bytes);
	if (r->kind == SETTING_NAME || r->kind == SETTING_VALUE)
		return keep_setting(c, r, bytes);
	return r->number < INK_KERNEL_MACHINES ? keep_of_machine(c, r, bytes) : -EPROTO;
}

static int read_records(struct contents *c, const unsigned char *at, size_t left)
{
	struct record r;
	size_t whole;
	int error = 0;

	while (left && !error) {
		if (left < sizeof r)
			return -EPROTO;
		memcpy(&r, at, sizeof r);
		whole = sizeof r + ((size_t)r.length + 7) / 8 * 8;
		if (whole > left)
			return -EPROTO;
		error = keep_record(c, &r, at + sizeof r);
		at += whole;
		left -= whole;
	}
	return error;
}

/* A copy of the records of that generation's half. */
static int copy_records(const struct ink_kernel *k, uint32_t generation, unsigned char **bytes,
			size_t *length)
{
	const struct ink_kernel_map *m = &k->map[INK_MAP_TEXT];
	size_t room = m->entries / INK_KERNEL_HALVES * m->stride;
	const unsigned char *from;
	struct head head;

	if (!m->at || room < sizeof head || m->stride != sizeof(struct ink_kernel_text))
		return -EPROTO;
	from = m->at + (generation & 1) * room;
	memcpy(&head, from, sizeof head);
	if (memcmp(head.magic, MAGIC, sizeof head.magic) || head.bytes > room - sizeof head)
		return -EPROTO;
	*bytes = malloc(head.bytes + 1);
	if (!*bytes)
		return -ENOMEM;
	memcpy(*bytes, from + sizeof head, head.bytes);
	*length = head.bytes;
	return ink_fnv(INK_FNV, (const char *)*bytes, head.bytes) == head.sum ? 0 : -EPROTO;
}

static uint32_t generation_of(const struct ink_kernel *k)
{
	return __atomic_load_n(&ink_kernel_controls(k)->generation, __ATOMIC_ACQUIRE);
}

/* A half is written again only when another is active: then what was read may be torn, and of two generations. */
static int copy_latest(const struct ink_kernel *k, uint32_t *generation, unsigned char **bytes,
		       size_t *length)
{
	int error;

	do {
		free(*bytes);
		*bytes = NULL;
		*generation = generation_of(k);
		error = copy_records(k, *generation, bytes, length);
	} while (generation_of(k) != *generation);
	return error;
}

/* Numbers have no gaps: each source has a name and a text, each setting a name and a value. */
static int are_complete(const struct contents *c)
{
	for (unsigned i = 0; i < c->sources; i++)
		if (!c->source[i].name || !c->source[i].text)
			return 0;
	for (unsigned i = 0; i < c->settings; i++)
		if (!c->setting[i].name || !c->setting[i].value)
			return 0;
	return 1;
}

static struct ink_machines *make_again(const struct contents *c, struct ink_why *why)
{
	struct ink_machine_options o = {.size = sizeof o, .settings = c->setting, .n_settings = c->settings};

	return ink_machines_of_texts(c->source, c->sources, &o, why);
}

static int number_all(struct ink_kernel *k, struct contents *c, struct ink_kernel_version *v,
		      struct ink_why *why)
{
	int error = 0;

	for (unsigned i = 0; i < k->n && !error; i++) {
		if (ink_kernel_tables(k, i)->unsure >= INK_KERNEL_STATES)
			return ink_fail(why, -EPROTO, "%s: a table with %u states", k->name,
					ink_kernel_tables(k, i)->unsure);
		c->numbering[i].codes = ink_kernel_tables(k, i)->unsure;
		error = ink_kernel_number(&c->numbering[i], ink_machines_at(v->machines, i), &v->numbers[i],
					  why);
	}
	return error;
}

/* What was read becomes the set's. */
static void adopt(struct ink_kernel *k, struct contents *c, struct ink_kernel_version *v)
{
	for (unsigned i = 0; i < INK_KERNEL_MACHINES; i++) {
		ink_kernel_numbering_free(&k->numbering[i]);
		k->numbering[i] = c->numbering[i];
		k->plan[i] = c->plan[i];
		memset(&c->numbering[i], 0, sizeof c->numbering[i]);
	}
	v->before = k->version;
	k->version = v;
	ink_kernel_version_forget(k);
}

static int make_version(struct ink_kernel *k, struct contents *c, uint32_t generation, struct ink_why *why)
{
	struct ink_kernel_version *v = calloc(1, sizeof *v);
	int error = 0;

	if (!v)
		return ink_fail(why, -ENOMEM, "no memory");
	v->generation = generation;
	v->machines = make_again(c, why);
	if (!v->machines)
		error = -errno;
	else if (ink_machines_count(v->machines) != k->n)
		error = ink_fail(why, -EPROTO, "%s: its text has other machines than its tables", k->name);
	else
		error = number_all(k, c, v, why);
	if (!error)
		return adopt(k, c, v), 0;
	ink_machines_free(v->machines);
	free(v);
	return error;
}

int ink_kernel_text_read(struct ink_kernel *k, struct ink_why *why)
{
	struct contents *c = calloc(1, sizeof *c);
	unsigned char *bytes = NULL;
	uint32_t generation = 0;
	size_t length = 0;
	int error = c ? copy_latest(k, &generation, &bytes, &length) : -ENOMEM;

	if (!error)
		error = read_records(c, bytes, length);
	if (!error && !are_complete(c))
		error = -EPROTO;
	free(bytes);
	if (error)
		ink_fail(why, error, "%s: what its machines were made from cannot be read", k->name);
	else
		error = make_version(k, c, generation, why);
	if (c)
		contents_free(c);
	return error;
}

/* ------------------------------------------------------------ machines again */

struct ink_machines *ink_kernel_machines_of(const struct ink_kernel_options *o, struct ink_why *why)
{
	struct ink_machine_options options = {
		.size = sizeof options, .settings = o->settings, .n_settings = o->n_settings};
	struct ink_bundled texts[SOURCES_MOST];

	if (o->n_sources > SOURCES_MOST || o->n_settings > SETTINGS_MOST)
		return errno = -ink_fail(why, -E2BIG, "more than %d files, or %d settings", SOURCES_MOST,
					 SETTINGS_MOST),
		       NULL;
	for (unsigned i = 0; i < o->n_sources; i++)
		texts[i] = (struct ink_bundled){o->sources[i].name, o->sources[i].text, o->sources[i].length};
	return ink_machines_of_texts(texts, o->n_sources, &options, why);
}
