/* SPDX-License-Identifier: BSD-2-Clause */
/* INK.STEPS, INK.POLL and INK.TICK: what sensors send. */
#include <inttypes.h>

#include "redis/apply.h"
#include "redis/command.h"
#include "redis/hold.h"
#include "redis/reports.h"
#include "redis/sensors.h"
#include "redis/type.h"

enum { ANSWER_MOVES_MOST = 65536 };

/* -------------------------------------------------------------------------- answers */

static void answer_outbox(struct server_context *ctx, const struct sensor *s)
{
	uint32_t n = s && s->n < ANSWER_MOVES_MOST ? s->n : s ? ANSWER_MOVES_MOST : 0;

	server.ReplyWithStringBuffer(ctx, n ? (const char *)s->moves + (size_t)s->head * MOVE_BYTES : "",
				     (size_t)n * MOVE_BYTES);
}

static void answer_start(struct server_context *ctx, const char *what, uint64_t refused, uint64_t late)
{
	server.ReplyWithArray(ctx, 5);
	server.ReplyWithSimpleString(ctx, what);
	server.ReplyWithLongLong(ctx, (long long)refused);
	server.ReplyWithLongLong(ctx, (long long)late);
}

static int answer_turn(struct server_context *ctx, const struct ink_value *v, const struct blob *b,
		       enum turn turn, uint64_t number)
{
	const struct sensor *s = v->shape.holds ? sensors_find(v, b->sensor) : NULL;

	totals_add(&totals.rejected, 1);
	if (turn == TURN_MISSING)
		return answer_error(ctx, "SEQUENCE %" PRIu64, number);
	if (turn == TURN_OLD)
		return answer_error(ctx, "EPOCH %" PRIu64, number);
	answer_start(ctx, "already", 0, 0);
	answer_outbox(ctx, s);
	return server.ReplyWithLongLong(ctx, s ? (long long)s->first : 0);
}

/* ------------------------------------------------------------------------- applying */

static uint64_t apply_blob(struct ink_value *v, const struct blob *b, struct bytes *answers,
			   struct reports *reports)
{
	static struct chunk c;
	const struct origin o = {.sensor = b->sensor,
				 .sequence = b->sequence,
				 .time = b->time,
				 .answers = b->answers,
				 .into = answers,
				 .reports = reports};
	const uint8_t *key = b->keys;
	uint64_t refused = 0;

	for (uint32_t i = 0, n; i < b->n; i += n) {
		n = b->n - i < CHUNK ? b->n - i : CHUNK;
		blob_items(b, v->table, i, n, &key, c.ids, c.events);
		refused += apply(v, &c, n, i, &o);
	}
	return refused;
}

static void note_late(struct ink_value *v, uint64_t late)
{
	v->count[COUNT_LATE] += late;
	totals_add(&totals.late, late);
}

static void step_now(struct server_context *ctx, struct ink_value *v, const struct blob *b,
		     struct reports *reports)
{
	struct budget budget = budget_full();
	uint64_t late = b->time < v->time ? b->n : 0, refused;
	struct bytes answers = {0};

	note_late(v, late);
	clock_pass(v, b->time, &budget);
	refused = apply_blob(v, b, &answers, reports);
	answer_start(ctx, "applied", refused, late);
	server.ReplyWithStringBuffer(ctx, answers.n ? (const char *)answers.at : "", answers.n);
	server.ReplyWithLongLong(ctx, 0);
	server.Free(answers.at);
}

static void step_in_order(struct server_context *ctx, struct ink_value *v, const struct blob *b,
			  struct reports *reports)
{
	struct budget budget = budget_full();
	uint64_t late = hold_blob(v, b, &budget, reports) ? b->n : 0;
	const struct sensor *s;

	note_late(v, late);
	hold_release(v, &budget, reports);
	s = sensors_find(v, b->sensor);
	answer_start(ctx, "held", 0, late);
	answer_outbox(ctx, s);
	server.ReplyWithLongLong(ctx, s ? (long long)s->first : 0);
}

static void step(struct server_context *ctx, struct ink_value *v, const struct blob *b,
		 struct reports *reports)
{
	v->count[COUNT_BLOBS]++;
	totals_add(&totals.blobs, 1);
	if (b->sensor)
		sensors_advance(v, b);
	if (v->shape.holds)
		step_in_order(ctx, v, b, reports);
	else
		step_now(ctx, v, b, reports);
}

/* ------------------------------------------------------------------------ the blob */

static const char *unfit(const struct ink_value *v, const struct blob *b)
{
	enum { STATES_OF_A_BYTE = 253 };

	if (b->answers == BLOB_STATES && v->shape.holds)
		return "ERR blob: byte 6: with HOLD, states are not known yet";
	if (b->answers == BLOB_STATES && v->states > STATES_OF_A_BYTE)
		return "ERR blob: byte 6: a byte does not tell more than 253 states";
	if (!b->sensor && v->shape.holds)
		return "ERR blob: byte 24: with HOLD, a blob has a sensor";
	if (b->collected && !v->shape.holds)
		return "ERR blob: byte 48: without HOLD there is nothing to collect";
	return NULL;
}

static void read_blob(struct arguments *a, const struct ink_value *v, struct blob *b)
{
	size_t length;
	const char *at = next(a, &length), *wrong;

	if (!v->machine)
		complain(a, "ERR the table has no machine, so there are no steps");
	if (a->at < a->argc)
		complain(a, "ERR something follows the blob");
	if (a->wrong)
		return;
	wrong = blob_read(b, (const uint8_t *)at, length, v->machine->view->rules->events);
	if (wrong)
		complain(a, "ERR %s", wrong);
	else
		a->wrong = unfit(v, b);
}

static int take_blob(struct arguments *a, struct ink_value *v, struct reports *reports)
{
	enum turn turn = TURN_NEXT;
	uint64_t number = 0;
	struct blob b;

	read_blob(a, v, &b);
	if (a->wrong)
		return answer_wrong(a);
	if (b.sensor)
		turn = sensors_turn(v, &b, &number);
	if (turn != TURN_NEXT)
		return answer_turn(a->ctx, v, &b, turn, number);
	reports->sensor = b.sensor;
	step(a->ctx, v, &b, reports->stream ? reports : NULL);
	changed(a->ctx, v, a->argv[1], "ink.step");
	return SERVER_OK;
}

int command_steps(struct server_context *ctx, struct server_string **argv, int argc)
{
	struct arguments a = arguments_from(ctx, argv, argc, 2);
	struct reports reports = {.ctx = ctx};
	struct opened o;

	if (argc != 3 && argc != 5)
		return server.WrongArity(ctx);
	if (open_table(ctx, argv, SERVER_READ | SERVER_WRITE, &o) != 0)
		return SERVER_OK;
	if (argc == 5 && !next_is(&a, "REPORTS"))
		complain(&a, "ERR key [REPORTS stream] blob");
	if (argc == 5 && !a.wrong)
		reports_open(&a, argv[a.at++], &reports);
	take_blob(&a, o.value, &reports);
	reports_close(&reports);
	close_table(&o);
	return SERVER_OK;
}

/* --------------------------------------------------------------------------- polling */

static int poll(struct arguments *a, struct ink_value *v)
{
	uint64_t name = next_number(a, "sensor", 1, UINT64_MAX),
		 epoch = next_number(a, "epoch", 0, UINT64_MAX);
	uint64_t collected = next_number(a, "collected", 0, UINT64_MAX);
	struct sensor *s = sensors_find(v, name);

	if (!v->shape.holds)
		complain(a, "ERR without HOLD there is nothing to collect");
	else if (!s)
		complain(a, "ERR there is no such sensor");
	else if (s->epoch != epoch)
		complain(a, "EPOCH %" PRIu64, s->epoch);
	if (a->wrong)
		return answer_wrong(a);
	if (collected >= s->first && s->n) {
		sensor_collect(s, collected);
		changed(a->ctx, v, a->argv[1], "ink.poll");
	}
	server.ReplyWithArray(a->ctx, 3);
	answer_number(a->ctx, s->first);
	answer_outbox(a->ctx, s);
	answer_number(a->ctx, s->lost);
	return SERVER_OK;
}

int command_poll(struct server_context *ctx, struct server_string **argv, int argc)
{
	struct arguments a = arguments_from(ctx, argv, argc, 2);
	struct opened o;

	if (argc != 5)
		return server.WrongArity(ctx);
	if (open_table(ctx, argv, SERVER_READ | SERVER_WRITE, &o) != 0)
		return SERVER_OK;
	poll(&a, o.value);
	close_table(&o);
	return SERVER_OK;
}

/* ------------------------------------------------------------------------------ time */

static void tick(struct ink_value *v, uint64_t time, struct budget *budget)
{
	if (!v->shape.holds) {
		clock_pass(v, time, budget);
		return;
	}
	if (time > v->newest)
		v->newest = time;
	hold_release(v, budget, NULL);
}

int command_tick(struct server_context *ctx, struct server_string **argv, int argc)
{
	struct arguments a = arguments_from(ctx, argv, argc, 2);
	struct budget budget = budget_full();
	struct opened o;
	uint64_t time;

	if (argc != 3)
		return server.WrongArity(ctx);
	if (open_table(ctx, argv, SERVER_READ | SERVER_WRITE, &o) != 0)
		return SERVER_OK;
	time = next_number(&a, "time", 0, UINT64_MAX);
	if (a.wrong) {
		answer_wrong(&a);
	} else {
		tick(o.value, time, &budget);
		changed(ctx, o.value, argv[1], "ink.tick");
		server.ReplyWithArray(ctx, 2);
		server.ReplyWithLongLong(ctx, !clock_lags(o.value) && budget.items);
		server.ReplyWithLongLong(ctx, (long long)budget.expired);
	}
	close_table(&o);
	return SERVER_OK;
}
