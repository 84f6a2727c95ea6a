/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The commands that take items: [AT time] KEYS|IDS item [state or event] ... All
 * items are read before the first is applied, so a command that is wrong changes
 * nothing.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "redis/apply.h"
#include "redis/command.h"
#include "redis/type.h"

/* What comes with an item. */
enum second { NOTHING, STATE, EVENT };

struct items {
	uint64_t n;
	uint64_t *ids;
	uint16_t *with; /* states or events; NULL */
	uint64_t time;  /* AT */
};

/* --------------------------------------------------------------------------- names */

/* Names that were written; rules count what the compiler made of them. */
struct names {
	const char *what;
	const char *const *written;
	const uint16_t *of;
	unsigned n;
};

static struct names names_of(const struct ink_value *v, enum second second)
{
	const struct ink_machine_view *m = v->machine ? v->machine->view : NULL;

	if (second == EVENT)
		return (struct names){"event", m->event_names, m->event_of, m->rules->events};
	return (struct names){"state", m ? m->state_names : NULL, m ? m->state_of : NULL, v->states};
}

static int is_named(const struct names *s, unsigned i, const char *text, size_t length)
{
	const char *name = s->written[s->of[i]];

	return strlen(name) == length && !memcmp(name, text, length);
}

/* All numbers that a name has, for the message. */
static void complain_of_several(struct arguments *a, const struct names *s, const char *text, size_t length)
{
	char list[160] = "";
	size_t n = 0;

	for (unsigned i = 0; i < s->n && n + 8 < sizeof list; i++)
		if (is_named(s, i, text, length))
			n += (size_t)snprintf(list + n, sizeof list - n, " %u", i);
	complain(a, "ERR the %s '%.*s' is several; say which by number:%s", s->what,
		 (int)(length < 64 ? length : 64), text, list);
}

static unsigned named(struct arguments *a, const struct names *s, const char *text, size_t length)
{
	unsigned found = 0, count = 0;

	for (unsigned i = 0; s->written && i < s->n; i++)
		if (is_named(s, i, text, length)) {
			found = i;
			count++;
		}
	if (count > 1)
		complain_of_several(a, s, text, length);
	if (!count)
		complain(a, "ERR there is no %s '%.*s'", s->what, (int)(length < 64 ? length : 64), text);
	return found;
}

static uint16_t next_named(struct arguments *a, const struct names *s)
{
	size_t length;
	const char *text = next(a, &length);
	uint64_t n;

	if (a->wrong || !read_number(text, length, &n))
		return (uint16_t)(a->wrong ? 0 : named(a, s, text, length));
	if (n >= s->n)
		complain(a, "ERR there are only %u %ss", s->n, s->what);
	return (uint16_t)n;
}

/* --------------------------------------------------------------------------- items */

static void read_times(struct arguments *a, const struct ink_value *v, struct items *items)
{
	if (next_is(a, "AT")) {
		items->time = next_number(a, "AT", 0, UINT64_MAX);
		if (v->shape.holds)
			complain(a, "ERR AT: the time of a table with HOLD is that of its sensors");
	}
}

/* How the items are written; 1: keys. */
static int read_form(struct arguments *a)
{
	if (next_is(a, "KEYS"))
		return 1;
	if (!next_is(a, "IDS"))
		complain(a, "ERR KEYS or IDS, and then the items");
	return 0;
}

static uint64_t next_id(struct arguments *a, const struct ink_value *v, int keys)
{
	size_t length;
	const char *text;

	if (!keys)
		return next_number(a, "IDS", 0, UINT64_MAX);
	text = next(a, &length);
	return ink_id(v->table, text, length);
}

static void read_each(struct arguments *a, const struct ink_value *v, enum second second, int keys,
		      struct items *items)
{
	struct names names = {0};

	if (second != NOTHING)
		names = names_of(v, second);
	for (uint64_t i = 0; i < items->n && !a->wrong; i++) {
		items->ids[i] = next_id(a, v, keys);
		if (second != NOTHING)
			items->with[i] = next_named(a, &names);
	}
}

static void read_items(struct arguments *a, const struct ink_value *v, enum second second,
		       struct items *items)
{
	int each = second == NOTHING ? 1 : 2, left, keys;

	*items = (struct items){0};
	if (second == EVENT && !v->machine)
		complain(a, "ERR the table has no machine, so there are no steps");
	if (!a->wrong)
		read_times(a, v, items);
	keys = read_form(a);
	left = a->argc - a->at;
	if (!left || left % each)
		complain(a, "ERR %s",
			 each == 2 ? "each item comes with a state or event" : "there is no item");
	if (left / each > BLOB_ITEMS_MOST)
		complain(a, "ERR more than 262144 items");
	if (a->wrong)
		return;
	items->n = (uint64_t)(left / each);
	items->ids = resize(NULL, items->n, sizeof *items->ids);
	items->with = resize(NULL, items->n, sizeof *items->with);
	read_each(a, v, second, keys, items);
}

static void free_items(struct items *items)
{
	server.Free(items->ids);
	server.Free(items->with);
}

static void pass_time(struct ink_value *v, const struct items *items)
{
	struct budget budget = budget_full();

	clock_pass(v, items->time, &budget);
}

/* --------------------------------------------------------------------------- verbs */

/* The result of a change as an answer: docs/cluster.md. */
static int result(int error)
{
	switch (error) {
	case 0:
		return 1;
	case -EBUSY:
		return -2;
	case -ENOSPC:
		return -3;
	default:
		return 0;
	}
}

static int verb_insert(struct ink_table *t, uint64_t id, unsigned state)
{
	return result(ink_insert(t, id, state));
}

static int verb_set(struct ink_table *t, uint64_t id, unsigned state)
{
	return result(ink_set(t, id, state));
}

static int verb_modify(struct ink_table *t, uint64_t id, unsigned state)
{
	return result(ink_modify(t, id, state));
}

static int verb_delete(struct ink_table *t, uint64_t id, unsigned state)
{
	(void)state;
	return result(ink_delete(t, id));
}

static int verb_lookup(struct ink_table *t, uint64_t id, unsigned state)
{
	(void)state;
	return ink_lookup(t, id);
}

static int verb_peek(struct ink_table *t, uint64_t id, unsigned state)
{
	(void)state;
	return ink_peek(t, id);
}

struct verb {
	int (*run)(struct ink_table *t, uint64_t id, unsigned state);
	enum second second;
	const char *event; /* of the keyspace; NULL: it changes nothing */
};

enum { AHEAD = 16 }; /* calls between a fetch and its use: inkling.h */

static void run(struct server_context *ctx, struct ink_value *v, const struct verb *verb,
		const struct items *items)
{
	server.ReplyWithArray(ctx, (long)items->n);
	for (uint64_t i = 0; i < items->n; i++) {
		int answer;

		if (i + AHEAD < items->n)
			ink_fetch(v->table, items->ids[i + AHEAD]);
		answer = verb->run(v->table, items->ids[i], items->with[i]);
		if (verb->second == STATE && answer == -3) {
			v->flagged = 1;
			v->count[COUNT_REFUSED]++;
		}
		server.ReplyWithLongLong(ctx, answer);
	}
}

/* A lookup touches, which matters only if there are time-outs, or time to pass. */
static int changes(const struct ink_value *v, const struct verb *verb, const struct items *items)
{
	return verb->event &&
	       (verb->run != verb_lookup || v->age_bits || items->time > v->time || clock_lags(v));
}

static void handle_items(struct arguments *a, struct ink_value *v, const struct verb *verb,
			 struct items *items)
{
	int change = changes(v, verb, items);

	if (change)
		pass_time(v, items);
	for (uint64_t i = 0; i < items->n && verb->second == NOTHING; i++)
		items->with[i] = 0;
	run(a->ctx, v, verb, items);
	if (change)
		changed(a->ctx, v, a->argv[1], verb->event);
}

static int handle(struct server_context *ctx, struct server_string **argv, int argc, const struct verb *verb)
{
	struct arguments a = arguments_from(ctx, argv, argc, 2);
	struct opened o;
	struct items items;

	if (argc < 4)
		return server.WrongArity(ctx);
	if (open_table(ctx, argv, verb->event ? SERVER_READ | SERVER_WRITE : SERVER_READ, &o) != 0)
		return SERVER_OK;
	read_items(&a, o.value, verb->second, &items);
	if (!a.wrong && items.time && !verb->event)
		complain(&a, "ERR AT: a peek changes nothing, not even the time");
	if (a.wrong)
		answer_wrong(&a);
	else
		handle_items(&a, o.value, verb, &items);
	free_items(&items);
	close_table(&o);
	return SERVER_OK;
}

int command_insert(struct server_context *ctx, struct server_string **argv, int argc)
{
	return handle(ctx, argv, argc, &(struct verb){verb_insert, STATE, "ink.insert"});
}

int command_set(struct server_context *ctx, struct server_string **argv, int argc)
{
	return handle(ctx, argv, argc, &(struct verb){verb_set, STATE, "ink.set"});
}

int command_modify(struct server_context *ctx, struct server_string **argv, int argc)
{
	return handle(ctx, argv, argc, &(struct verb){verb_modify, STATE, "ink.modify"});
}

int command_del(struct server_context *ctx, struct server_string **argv, int argc)
{
	return handle(ctx, argv, argc, &(struct verb){verb_delete, NOTHING, "ink.del"});
}

int command_lookup(struct server_context *ctx, struct server_string **argv, int argc)
{
	return handle(ctx, argv, argc, &(struct verb){verb_lookup, NOTHING, "ink.lookup"});
}

int command_peek(struct server_context *ctx, struct server_string **argv, int argc)
{
	return handle(ctx, argv, argc, &(struct verb){verb_peek, NOTHING, NULL});
}

/* --------------------------------------------------------------------------- steps */

static void answer_moves(struct server_context *ctx, const struct chunk *c, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		server.ReplyWithArray(ctx, 4);
		server.ReplyWithLongLong(ctx, c->moves[i].from);
		server.ReplyWithLongLong(ctx, c->moves[i].to);
		server.ReplyWithLongLong(ctx, c->moves[i].action);
		server.ReplyWithLongLong(ctx, result(c->errors[i]));
	}
}

static void step(struct server_context *ctx, struct ink_value *v, const struct items *items)
{
	static struct chunk c;
	const struct origin origin = {.time = items->time};

	pass_time(v, items);
	server.ReplyWithArray(ctx, (long)items->n);
	for (uint64_t i = 0; i < items->n; i += CHUNK) {
		uint32_t n = (uint32_t)(items->n - i < CHUNK ? items->n - i : CHUNK);

		memcpy(c.ids, items->ids + i, n * sizeof *c.ids);
		memcpy(c.events, items->with + i, n * sizeof *c.events);
		apply(v, &c, n, (uint32_t)i, &origin);
		answer_moves(ctx, &c, n);
	}
}

int command_step(struct server_context *ctx, struct server_string **argv, int argc)
{
	struct arguments a = arguments_from(ctx, argv, argc, 2);
	struct opened o;
	struct items items;

	if (argc < 5)
		return server.WrongArity(ctx);
	if (open_table(ctx, argv, SERVER_READ | SERVER_WRITE, &o) != 0)
		return SERVER_OK;
	read_items(&a, o.value, EVENT, &items);
	if (a.wrong) {
		answer_wrong(&a);
	} else {
		step(ctx, o.value, &items);
		changed(ctx, o.value, argv[1], "ink.step");
	}
	free_items(&items);
	close_table(&o);
	return SERVER_OK;
}
