/* SPDX-License-Identifier: BSD-2-Clause */
/* The commands that tell what a table is and what is in it. They change nothing. None shows the secret. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "redis/command.h"
#include "redis/create.h"
#include "redis/reports.h"

/* Opens the key, answers by `show`, and closes it. */
static int handle(struct server_context *ctx, struct server_string **argv, int argc,
		  void (*show)(struct server_context *ctx, const struct ink_value *v))
{
	struct opened o;

	if (argc != 2)
		return server.WrongArity(ctx);
	if (open_table(ctx, argv, SERVER_READ, &o) != 0)
		return SERVER_OK;
	show(ctx, o.value);
	close_table(&o);
	return SERVER_OK;
}

/* -------------------------------------------------------------------------- census */

static void show_states(struct server_context *ctx, const struct ink_value *v,
			const struct ink_counts *counts)
{
	char name[16];

	server.ReplyWithMap(ctx, (long)v->states + 2);
	for (unsigned i = 0; i < v->states; i++) {
		snprintf(name, sizeof name, "%u", i);
		say_number(ctx, name, counts->state[i]);
	}
}

/* States that the compiler made of one written state are counted together. */
static void show_written(struct server_context *ctx, const struct ink_machine_view *m,
			 const struct ink_counts *counts)
{
	uint64_t flows[INK_MAX_STATES] = {0};

	for (unsigned i = 0; i < m->rules->states; i++)
		flows[m->state_of[i]] += counts->state[i];
	server.ReplyWithMap(ctx, (long)m->states + 2);
	for (unsigned i = 0; i < m->states; i++)
		say_number(ctx, m->state_names[i], flows[i]);
}

static void show_census(struct server_context *ctx, const struct ink_value *v)
{
	struct ink_counts counts;

	if (ink_census(v->table, &counts) != 0) {
		server.ReplyWithError(ctx, "NOTSUP this kind of table stores no flows that could be counted");
		return;
	}
	if (v->machine)
		show_written(ctx, v->machine->view, &counts);
	else
		show_states(ctx, v, &counts);
	say_number(ctx, "unsure", counts.unsure);
	say_number(ctx, "total", counts.total);
}

int command_census(struct server_context *ctx, struct server_string **argv, int argc)
{
	return handle(ctx, argv, argc, show_census);
}

/* ------------------------------------------------------------------------ counters */

static const char *const count_names[COUNTS] = {
	[COUNT_STEPS] = "steps",
	[COUNT_BEGUN] = "begun",
	[COUNT_EXPIRED] = "expired",
	[COUNT_REFUSED] = "refused",
	[COUNT_UNSURE] = "unsure",
	[COUNT_LATE] = "late",
	[COUNT_BLOBS] = "blobs",
	[COUNT_FORCED] = "forced",
	[COUNT_SENSORS_DROPPED] = "sensors_dropped",
	[COUNT_MOVES_LOST] = "moves_lost",
	[COUNT_REPORTS] = "reports",
	[COUNT_REPORTS_LOST] = "reports_lost",
	[COUNT_CHANGES] = "changes",
};

/* Sums of packets' lengths and pictures are not known here: only the sensor has the packet. */
static int is_counted_here(const struct ink_machine_view *m, unsigned counter)
{
	for (unsigned i = 0; i < m->actions; i++)
		for (unsigned j = 0; j < m->action[i].n_countings; j++)
			if (m->action[i].countings[j].counter == counter &&
			    m->action[i].countings[j].amount != INK_AMOUNT_NUMBER)
				return 0;
	return 1;
}

static void show_machine_counters(struct server_context *ctx, const struct ink_value *v)
{
	const struct ink_machine_view *m = v->machine ? v->machine->view : NULL;

	server.ReplyWithCString(ctx, "machine");
	server.ReplyWithMap(ctx, m ? (long)m->counters : 0);
	for (unsigned i = 0; m && i < m->counters; i++) {
		server.ReplyWithCString(ctx, m->counter_names[i]);
		if (is_counted_here(m, i))
			answer_number(ctx, v->counters[i]);
		else
			server.ReplyWithNull(ctx);
	}
}

static void show_counters(struct server_context *ctx, const struct ink_value *v)
{
	server.ReplyWithMap(ctx, COUNTS + 1);
	for (int i = 0; i < COUNTS; i++)
		say_number(ctx, count_names[i], v->count[i]);
	show_machine_counters(ctx, v);
}

int command_counters(struct server_context *ctx, struct server_string **argv, int argc)
{
	return handle(ctx, argv, argc, show_counters);
}

/* ---------------------------------------------------------------------------- info */

static void show_what(struct server_context *ctx, const struct ink_value *v)
{
	struct ink_kind_info kind = {.size = sizeof kind};
	char hash[16] = "";

	ink_kind_info(v->shape.kind, &kind);
	if (v->machine)
		snprintf(hash, sizeof hash, "%08" PRIx32, v->machine->view->hash);
	say_text(ctx, "kind", kind.name);
	say_number(ctx, "states", v->states);
	say_number(ctx, "age_bits", v->age_bits);
	say_text(ctx, "machine", v->machine ? v->machine->name : "");
	say_text(ctx, "machine_hash", hash);
}

static void show_size(struct server_context *ctx, const struct ink_value *v)
{
	say_number(ctx, "cells", value_cells(v));
	say_number(ctx, "bytes", ink_bytes(v->table));
	say_number(ctx, "allocated", value_bytes(v));
}

/* These walk the table. */
static void show_stats(struct server_context *ctx, const struct ink_value *v)
{
	struct ink_stats stats = {.size = sizeof stats};

	ink_stats(v->table, &stats);
	say_number(ctx, "flows", stats.flows);
	say_number(ctx, "side_flows", stats.side_flows);
	say_number(ctx, "side_cells", stats.side_cells);
	say_number(ctx, "collisions", stats.collisions);
	say_number(ctx, "displaced", stats.displaced);
	say_number(ctx, "overflowed", stats.overflowed);
	say_number(ctx, "replaced", stats.replaced);
	say_number(ctx, "marked", stats.marked);
	say_text(ctx, "simd", stats.simd);
}

static void say_range(struct server_context *ctx, const struct ink_value *v)
{
	struct ink_expiry e = {INK_NO_EXPIRY, INK_NO_EXPIRY};

	if (v->shape.timeout_ms && v->age_bits)
		ink_expiry(v->shape.kind, v->age_bits, TICKS_OF_TIMEOUT + 1, &e);
	server.ReplyWithCString(ctx, "expires");
	if (e.latest == INK_NO_EXPIRY) {
		server.ReplyWithNull(ctx);
		return;
	}
	server.ReplyWithArray(ctx, 2);
	answer_number(ctx, e.earliest * v->shape.tick);
	answer_number(ctx, e.latest * v->shape.tick);
}

static void show_time(struct server_context *ctx, const struct ink_value *v)
{
	say_number(ctx, "tick", v->shape.tick);
	say_number(ctx, "now", ink_now(v->table));
	say_number(ctx, "time", v->time);
	say_number(ctx, "lagging", (uint64_t)clock_lags(v));
	say_range(ctx, v);
}

static void show_order(struct server_context *ctx, const struct ink_value *v)
{
	say_number(ctx, "hold", v->shape.hold);
	say_number(ctx, "newest", v->newest);
	say_number(ctx, "released", v->released);
	say_number(ctx, "held_blobs", v->n_held);
	say_number(ctx, "held_bytes", v->held_bytes);
	say_number(ctx, "sensors", v->sensors);
}

static void show_info(struct server_context *ctx, const struct ink_value *v, int stats)
{
	server.ReplyWithMap(ctx, 5 + 3 + 5 + 6 + (stats ? 9 : 0));
	show_what(ctx, v);
	show_size(ctx, v);
	show_time(ctx, v);
	show_order(ctx, v);
	if (stats)
		show_stats(ctx, v);
}

int command_info(struct server_context *ctx, struct server_string **argv, int argc)
{
	struct arguments a = arguments_from(ctx, argv, argc, 2);
	int stats = next_is(&a, "STATS");
	struct opened o;

	if (argc != 2 + stats)
		return server.WrongArity(ctx);
	if (open_table(ctx, argv, SERVER_READ, &o) != 0)
		return SERVER_OK;
	show_info(ctx, o.value, stats);
	close_table(&o);
	return SERVER_OK;
}

/* ------------------------------------------------------------------------- sensors */

static void show_sensors(struct server_context *ctx, const struct ink_value *v)
{
	server.ReplyWithArray(ctx, (long)v->sensors);
	for (uint32_t i = 0; i < v->sensors; i++) {
		const struct sensor *s = &v->sensor[i];

		server.ReplyWithMap(ctx, 7);
		say_number(ctx, "sensor", s->name);
		say_number(ctx, "epoch", s->epoch);
		say_number(ctx, "sequence", s->sequence);
		say_number(ctx, "time", s->time);
		say_number(ctx, "first", s->first);
		say_number(ctx, "moves", s->n);
		say_number(ctx, "lost", s->lost);
	}
}

int command_sensors(struct server_context *ctx, struct server_string **argv, int argc)
{
	return handle(ctx, argv, argc, show_sensors);
}

/* ------------------------------------------------------------------------- machine */

/* A name for each number of the rules. */
static void say_names(struct server_context *ctx, const char *what, const char *const *written,
		      const uint16_t *of, unsigned n)
{
	server.ReplyWithCString(ctx, what);
	server.ReplyWithArray(ctx, (long)n);
	for (unsigned i = 0; i < n; i++)
		server.ReplyWithCString(ctx, written[of ? of[i] : i]);
}

/* The machine, in the order of the set, that a tell leads to. */
static void say_tells(struct server_context *ctx, const struct ink_value *v,
		      const struct ink_action_more *more)
{
	server.ReplyWithCString(ctx, "tells");
	server.ReplyWithArray(ctx, (long)more->n_tells);
	for (unsigned i = 0; i < more->n_tells; i++) {
		const struct ink_machine_view *to = machine_of_set(v->machine, more->tells[i].machine);

		server.ReplyWithArray(ctx, 3);
		server.ReplyWithCString(ctx, to->name);
		server.ReplyWithCString(ctx, to->event_names[more->tells[i].event]);
		server.ReplyWithLongLong(ctx, more->tells[i].reversed != 0);
	}
}

static void say_actions(struct server_context *ctx, const struct ink_value *v)
{
	const struct ink_machine_view *m = v->machine->view;

	server.ReplyWithCString(ctx, "actions");
	server.ReplyWithArray(ctx, (long)m->actions);
	for (unsigned i = 0; i < m->actions; i++) {
		server.ReplyWithMap(ctx, 5);
		say_text(ctx, "report", m->action[i].report ? m->action[i].report : "");
		say_text(ctx, "id", m->action_more[i].id ? m->action_more[i].id : "");
		say_number(ctx, "severity", m->action_more[i].severity);
		say_number(ctx, "countings", m->action[i].n_countings);
		say_tells(ctx, v, &m->action_more[i]);
	}
}

static void show_machine(struct server_context *ctx, const struct ink_value *v)
{
	const struct ink_machine_view *m = v->machine ? v->machine->view : NULL;

	if (!m) {
		server.ReplyWithError(ctx, "ERR the table has no machine");
		return;
	}
	server.ReplyWithMap(ctx, 8);
	say_text(ctx, "name", m->name);
	server.ReplyWithCString(ctx, "text");
	server.ReplyWithStringBuffer(ctx, v->machine->text, v->machine->text_length);
	say_text(ctx, "key", m->key_text);
	say_number(ctx, "tick", m->tick);
	say_names(ctx, "states", m->state_names, m->state_of, m->rules->states);
	say_names(ctx, "events", m->event_names, m->event_of, m->rules->events);
	say_names(ctx, "counters", m->counter_names, NULL, m->counters);
	say_actions(ctx, v);
}

int command_machine(struct server_context *ctx, struct server_string **argv, int argc)
{
	return handle(ctx, argv, argc, show_machine);
}
