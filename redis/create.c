/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * INK.CREATE and INK.PLAN: options, the plan that they give, and the table.
 *
 * What goes to the replicas is not what the client wrote but what was made of it:
 * the text of the machine and not its name, the policy and the limit that the
 * configuration gave, the seed that was drawn.
 */
#include "redis/create.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "redis/command.h"
#include "redis/type.h"

const char *full_names[FULL_POLICIES] = {"unsure", "refuse", "replace"};
int config_full = INK_UNSURE;
long long config_limit = 64 << 20;

enum { NS_PER_MS = 1000000, NS_PER_S = 1000000000 };

#define MS_MOST (UINT64_MAX / NS_PER_MS)
#define FLOWS_MOST (UINT64_C(1) << 40)
#define BYTES_MOST (UINT64_C(1) << 42)

struct wanted {
	struct machine_text text;
	int has_machine, has_timeout, has_age;
	unsigned states;
	struct shape shape;
	uint64_t flows, bytes, seed;
	double error;
	unsigned age;
	int full;
};

/* -------------------------------------------------------------------------- options */

/* MACHINE name, MACHINE TEXT text. */
static void read_machine(struct arguments *a, struct wanted *w)
{
	int is_text = next_is(a, "TEXT");
	size_t length;
	const char *text = next(a, &length);
	const struct ink_bundled *b = is_text ? NULL : machine_bundled(text, length);

	if (is_text && length > MACHINE_TEXT_MOST)
		complain(a, "ERR MACHINE TEXT: more than 1 MiB");
	if (!is_text && !b)
		complain(
			a,
			"ERR MACHINE: there is no bundled machine of that name; a text follows MACHINE TEXT");
	w->text.text = b ? b->text : text;
	w->text.text_length = b ? b->length : length;
	w->has_machine = 1;
}

static void read_name(struct arguments *a, struct wanted *w)
{
	w->text.name = next(a, &w->text.name_length);
	if (!w->text.name_length || w->text.name_length > MACHINE_NAME_MOST)
		complain(a, "ERR NAME: it has 1 to 255 bytes");
}

static void read_kind(struct arguments *a, struct wanted *w)
{
	struct ink_kind_info info = {.size = sizeof info};
	size_t length;
	const char *text = next(a, &length);

	for (unsigned kind = 1; ink_kind_info(kind, &info) == 0; kind++)
		if (strlen(info.name) == length && !strncasecmp(info.name, text, length)) {
			w->shape.kind = (uint8_t)kind;
			return;
		}
	complain(a, "ERR KIND: there is no such kind of table");
}

static void read_full(struct arguments *a, struct wanted *w)
{
	size_t length;
	const char *text = next(a, &length);

	for (int i = 0; i < FULL_POLICIES; i++)
		if (strlen(full_names[i]) == length && !strncasecmp(full_names[i], text, length)) {
			w->full = INK_UNSURE + i;
			return;
		}
	complain(a, "ERR FULL: unsure, refuse or replace");
}

/* Numbers of the value itself. */
static int read_shape(struct arguments *a, struct wanted *w)
{
	if (next_is(a, "TIMEOUT")) {
		w->shape.timeout_ms = next_number(a, "TIMEOUT", 1, MS_MOST);
	} else if (next_is(a, "LIMIT")) {
		w->shape.limit = next_number(a, "LIMIT", 1, BYTES_MOST);
	} else if (next_is(a, "HOLD")) {
		w->shape.hold = next_number(a, "HOLD", 1, MS_MOST) * NS_PER_MS;
		w->shape.holds = 1;
	} else if (next_is(a, "HELD")) {
		w->shape.held_most = next_number(a, "HELD", 1, HELD_MOST);
	} else if (next_is(a, "OUTBOX")) {
		w->shape.outbox = (uint32_t)next_number(a, "OUTBOX", 1, OUTBOX_MOST);
	} else {
		return 0;
	}
	return 1;
}

/* What the table is made of. */
static int read_size(struct arguments *a, struct wanted *w)
{
	if (next_is(a, "STATES")) {
		w->states = (unsigned)next_number(a, "STATES", 1, INK_MAX_STATES);
	} else if (next_is(a, "FLOWS")) {
		w->flows = next_number(a, "FLOWS", 1, FLOWS_MOST);
	} else if (next_is(a, "BYTES")) {
		w->bytes = next_number(a, "BYTES", 1, BYTES_MOST);
	} else if (next_is(a, "ERROR")) {
		w->error = next_fraction(a, "ERROR");
	} else if (next_is(a, "AGE")) {
		w->age = (unsigned)next_number(a, "AGE", 0, 2);
		w->has_age = 1;
	} else if (next_is(a, "SEED")) {
		w->seed = next_number(a, "SEED", 1, UINT64_MAX);
	} else {
		return 0;
	}
	return 1;
}

static int read_words(struct arguments *a, struct wanted *w)
{
	if (next_is(a, "MACHINE"))
		read_machine(a, w);
	else if (next_is(a, "NAME"))
		read_name(a, w);
	else if (next_is(a, "KIND"))
		read_kind(a, w);
	else if (next_is(a, "FULL"))
		read_full(a, w);
	else
		return 0;
	return 1;
}

static void check_together(struct arguments *a, const struct wanted *w)
{
	if (!w->has_machine == !w->states)
		complain(a, "ERR one of MACHINE and STATES is needed");
	if (!w->flows && !w->bytes)
		complain(a, "ERR FLOWS or BYTES is needed");
	if (w->states && w->text.name_length)
		complain(a, "ERR NAME is for MACHINE");
	if (w->states && w->shape.holds)
		complain(a, "ERR HOLD is for MACHINE: without one there are no steps");
	if (w->has_machine && w->shape.timeout_ms)
		complain(a, "ERR TIMEOUT is for STATES: a machine has its own");
	if (!w->shape.holds && (w->shape.held_most || w->shape.outbox))
		complain(a, "ERR HELD and OUTBOX are for HOLD");
}

static void set_defaults(struct wanted *w)
{
	struct shape *s = &w->shape;

	s->kind = s->kind ? s->kind : INK_LINE;
	s->limit = s->limit ? s->limit : (uint64_t)config_limit;
	w->full = w->full ? w->full : config_full;
	if (s->holds) {
		s->held_most = s->held_most ? s->held_most : HELD_PRESET;
		s->outbox = s->outbox ? s->outbox : OUTBOX_PRESET;
	}
}

static void read_options(struct arguments *a, struct wanted *w)
{
	*w = (struct wanted){.text = {.patient = is_repeated(a->ctx)}};
	while (more(a))
		if (!read_size(a, w) && !read_words(a, w) && !read_shape(a, w)) {
			size_t length;
			const char *text = next(a, &length);

			complain(a, "ERR there is no option '%.32s'", text);
		}
	check_together(a, w);
	set_defaults(w);
}

/* ---------------------------------------------------------------------- the machine */

/* The machine, and what follows from it: ticks and states. */
static struct machine *take_machine(struct arguments *a, struct wanted *w)
{
	struct ink_why why = {""};
	struct machine *m = a->wrong ? NULL : machine_take(&w->text, &why);

	if (!m) {
		complain(a, "ERR %s", why.text);
		return NULL;
	}
	if (w->shape.holds && m->several > 1)
		complain(a, "ERR HOLD: linked machines cannot be held, what they tell would come too late");
	w->states = m->view->rules->states;
	w->shape.tick = m->view->tick ? m->view->tick : NS_PER_S;
	return m;
}

static void plain_ticks(struct wanted *w)
{
	uint64_t ns = w->shape.timeout_ms * NS_PER_MS;

	w->shape.tick = ns ? (ns + TICKS_OF_TIMEOUT - 1) / TICKS_OF_TIMEOUT : NS_PER_S;
	w->shape.expendable = w->full == INK_REPLACE;
}

static void choose_age(struct wanted *w, const struct machine *m)
{
	struct ink_kind_info info = {.size = sizeof info};
	int times = m ? m->view->timeouts : w->shape.timeout_ms != 0;

	ink_kind_info(w->shape.kind, &info);
	if (!w->has_age)
		w->age = times && (info.can & INK_CAN_TIME_OUT) ? 1 : 0;
}

/* --------------------------------------------------------------------------- a plan */

static struct ink_options options_of(const struct wanted *w)
{
	return (struct ink_options){.size = sizeof(struct ink_options),
				    .kind = (enum ink_kind)w->shape.kind,
				    .states = w->states,
				    .flows = w->flows,
				    .bytes = w->bytes,
				    .error = w->error,
				    .age_bits = w->age,
				    .full = (enum ink_full)w->full,
				    .seed = w->seed};
}

static const char *error_word(int error)
{
	return error == -ENOTSUP ? "NOTSUP" : "ERR";
}

static void plan(struct arguments *a, const struct wanted *w, struct ink_plan *p)
{
	struct ink_options o = options_of(w);
	struct ink_why why = {""};
	int error;

	*p = (struct ink_plan){.size = sizeof *p};
	if (a->wrong)
		return;
	error = ink_plan(&o, p, &why);
	if (error)
		complain(a, "%s %s", error_word(error), why.text);
	else if (!is_repeated(a->ctx) && p->bytes > (uint64_t)config_limit)
		complain(a,
			 "LIMIT the table would take %" PRIu64
			 " bytes, more than inkling.limit: use several keys",
			 p->bytes);
}

/* Options to a machine (or NULL) and a plan. */
static struct machine *prepare(struct arguments *a, struct wanted *w, struct ink_plan *p)
{
	struct machine *m = NULL;

	read_options(a, w);
	if (w->has_machine)
		m = take_machine(a, w);
	else
		plain_ticks(w);
	choose_age(w, m);
	plan(a, w, p);
	return m;
}

int command_plan(struct server_context *ctx, struct server_string **argv, int argc)
{
	struct arguments a = arguments_from(ctx, argv, argc, 1);
	struct ink_kind_info kind = {.size = sizeof kind};
	struct ink_plan p;
	struct wanted w;

	if (argc < 2)
		return server.WrongArity(ctx);
	machine_drop(prepare(&a, &w, &p));
	if (a.wrong)
		return answer_wrong(&a);
	ink_kind_info(p.kind, &kind);
	server.ReplyWithMap(ctx, 9);
	say_text(ctx, "kind", kind.name);
	say_number(ctx, "states", w.states);
	say_number(ctx, "flows", p.flows);
	say_number(ctx, "bytes", p.bytes);
	say_fraction(ctx, "bits_per_flow", p.bits_per_flow);
	say_fraction(ctx, "error", p.error);
	say_fraction(ctx, "load", p.load);
	say_number(ctx, "age_bits", p.age_bits);
	say_number(ctx, "tick", w.shape.tick);
	return SERVER_OK;
}

/* ------------------------------------------------------------------------- creating */

static void draw_seed(struct wanted *w)
{
	while (!w->seed)
		server.GetRandomBytes((unsigned char *)&w->seed, sizeof w->seed);
}

static int make_table(struct ink_value *v, const struct wanted *w, struct ink_why *why)
{
	struct ink_allocator allocator = arena_allocator(&v->arena);
	struct ink_options o = options_of(w);

	o.allocator = &allocator;
	if (value_can(v, INK_CAN_BE_EXACT))
		v->arena.most = w->shape.limit;
	v->table = ink_create(&o, why);
	return v->table ? value_set_rules(v, why) : -errno;
}

/* Takes the machine over. */
static struct ink_value *make_value(struct arguments *a, const struct wanted *w, struct machine *m,
				    const struct ink_plan *p)
{
	struct ink_value *v = value_new();
	struct ink_why why = {""};
	int error;

	v->shape = w->shape;
	v->machine = m;
	v->states = w->states;
	v->age_bits = w->age;
	v->cells = p->geometry.m ? p->geometry.m : p->load > 0 ? (uint64_t)((double)p->flows / p->load) : 0;
	if (m && m->view->counters)
		v->counters = memset(resize(NULL, m->view->counters, sizeof *v->counters), 0,
				     m->view->counters * sizeof *v->counters);
	error = make_table(v, w, &why);
	if (!error)
		return v;
	complain(a, "%s %s", error_word(error), why.text);
	value_free(v);
	return NULL;
}

/* ----------------------------------------------------------------------- replicating */

struct repeated {
	struct server_context *ctx;
	struct server_string *argv[32];
	size_t n;
};

static void repeat_text(struct repeated *r, const char *word, const char *text, size_t length)
{
	r->argv[r->n++] = server.CreateString(r->ctx, word, strlen(word));
	r->argv[r->n++] = server.CreateString(r->ctx, text, length);
}

static void repeat_number(struct repeated *r, const char *word, uint64_t n)
{
	char digits[24];

	if (n)
		repeat_text(r, word, digits, (size_t)snprintf(digits, sizeof digits, "%" PRIu64, n));
}

static void repeat_what(struct repeated *r, const struct wanted *w)
{
	if (w->has_machine) {
		r->argv[r->n++] = server.CreateString(r->ctx, "MACHINE", 7);
		repeat_text(r, "TEXT", w->text.text, w->text.text_length);
	} else {
		repeat_number(r, "STATES", w->states);
	}
	if (w->text.name_length)
		repeat_text(r, "NAME", w->text.name, w->text.name_length);
}

static void repeat_numbers(struct repeated *r, const struct wanted *w)
{
	char error[32];

	repeat_number(r, "TIMEOUT", w->shape.timeout_ms);
	repeat_number(r, "FLOWS", w->flows);
	repeat_number(r, "BYTES", w->bytes);
	if (w->error > 0)
		repeat_text(r, "ERROR", error, (size_t)snprintf(error, sizeof error, "%.17g", w->error));
	repeat_text(r, "AGE", w->age == 2 ? "2" : w->age ? "1" : "0", 1);
	repeat_text(r, "FULL", full_names[w->full - INK_UNSURE], strlen(full_names[w->full - INK_UNSURE]));
	repeat_number(r, "SEED", w->seed);
	repeat_number(r, "LIMIT", w->shape.limit);
	repeat_number(r, "HOLD", w->shape.hold / NS_PER_MS);
	repeat_number(r, "HELD", w->shape.held_most);
	repeat_number(r, "OUTBOX", w->shape.outbox);
}

static void repeat_create(struct server_context *ctx, struct server_string *key, const struct wanted *w)
{
	struct ink_kind_info kind = {.size = sizeof kind};
	struct repeated r = {.ctx = ctx};

	ink_kind_info(w->shape.kind, &kind);
	repeat_what(&r, w);
	repeat_text(&r, "KIND", kind.name, strlen(kind.name));
	repeat_numbers(&r, w);
	server.Replicate(ctx, "INK.CREATE", "sv", key, r.argv, r.n);
	for (size_t i = 0; i < r.n; i++)
		server.FreeString(ctx, r.argv[i]);
}

/* ----------------------------------------------------------------------- the command */

static void create(struct arguments *a, struct server_key *key)
{
	struct ink_value *v = NULL;
	struct machine *m;
	struct ink_plan p;
	struct wanted w;

	m = prepare(a, &w, &p);
	if (a->wrong) {
		machine_drop(m);
		return;
	}
	draw_seed(&w);
	v = make_value(a, &w, m, &p);
	if (!v)
		return;
	server.ModuleTypeSetValue(key, value_type, v);
	repeat_create(a->ctx, a->argv[1], &w);
	server.NotifyKeyspaceEvent(a->ctx, SERVER_NOTIFY_MODULE, "ink.create", a->argv[1]);
}

int command_create(struct server_context *ctx, struct server_string **argv, int argc)
{
	struct arguments a = arguments_from(ctx, argv, argc, 2);
	struct server_key *key;

	if (argc < 4)
		return server.WrongArity(ctx);
	key = server.OpenKey(ctx, argv[1], SERVER_READ | SERVER_WRITE);
	if (server.KeyType(key) != SERVER_TYPE_EMPTY)
		complain(&a, "BUSYKEY there is such a key");
	else
		create(&a, key);
	server.CloseKey(key);
	return a.wrong ? answer_wrong(&a) : server.ReplyWithSimpleString(ctx, "OK");
}
