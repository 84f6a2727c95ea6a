/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Entries of a stream have names: milliseconds and a number, which must grow. By
 * the server's clock a replica would give others, so ours are made of the table's
 * time, and remembered in the value. If something else has written to the stream
 * meanwhile, the name after its last entry is taken.
 */
#include "redis/reports.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "redis/command.h"

enum { FIELDS = 8, NS_PER_MS = 1000000 };

const char *state_name(const struct ink_machine_view *view, ink_answer state)
{
	if (state < 0 || (unsigned)state >= view->rules->states)
		return state == INK_ABSENT ? "absent" : "unsure";
	return view->state_names[view->state_of[state]];
}

/* ------------------------------------------------------------------------ the stream */

void reports_open(struct arguments *a, struct server_string *name, struct reports *r)
{
	int type;

	if (!name)
		return;
	r->stream = server.OpenKey(a->ctx, name, SERVER_READ | SERVER_WRITE);
	type = server.KeyType(r->stream);
	if (type != SERVER_TYPE_EMPTY && type != SERVER_TYPE_STREAM)
		complain(a, "WRONGTYPE REPORTS: the key holds no stream");
}

void reports_close(struct reports *r)
{
	if (r->stream)
		server.CloseKey(r->stream);
	r->stream = NULL;
}

/* --------------------------------------------------------------------- an entry's name */

static struct server_stream_id next_name(struct ink_value *v)
{
	uint64_t ms = v->time / NS_PER_MS;

	if (ms > v->report_ms) {
		v->report_ms = ms;
		v->report_seq = 0;
	}
	return (struct server_stream_id){v->report_ms, ++v->report_seq};
}

/* After the last entry that the stream has. */
static struct server_stream_id name_after_last(struct ink_value *v, struct server_key *stream)
{
	struct server_stream_id last = {v->report_ms, v->report_seq};
	long fields;

	if (server.StreamIteratorStart(stream, SERVER_STREAM_REVERSE, NULL, NULL) == SERVER_OK) {
		server.StreamIteratorNextID(stream, &last, &fields);
		server.StreamIteratorStop(stream);
	}
	v->report_ms = last.ms;
	v->report_seq = last.seq + 1;
	return (struct server_stream_id){v->report_ms, v->report_seq};
}

/* ------------------------------------------------------------------------ the entry */

static struct server_string *text(struct reports *r, const char *s)
{
	return server.CreateString(r->ctx, s, strlen(s));
}

static struct server_string *number(struct reports *r, uint64_t n)
{
	char digits[24];

	snprintf(digits, sizeof digits, "%" PRIu64, n);
	return text(r, digits);
}

static void fill(const struct ink_value *v, struct reports *r, struct server_string **field, uint64_t id,
		 unsigned event, const struct ink_move *move)
{
	static const char *const names[FIELDS] = {"id", "machine", "report", "from",
						  "to", "event",   "time",   "sensor"};
	const struct ink_machine_view *view = v->machine->view;

	for (int i = 0; i < FIELDS; i++)
		field[2 * i] = text(r, names[i]);
	field[1] = number(r, id);
	field[3] = text(r, view->name);
	field[5] = text(r, view->action[move->action].report);
	field[7] = text(r, state_name(view, move->from));
	field[9] = text(r, state_name(view, move->to));
	field[11] = text(r, view->event_names[view->event_of[event]]);
	field[13] = number(r, v->time);
	field[15] = number(r, r->sensor);
}

void reports_add(struct ink_value *v, struct reports *r, uint64_t id, unsigned event,
		 const struct ink_move *move)
{
	struct server_string *field[2 * FIELDS];
	struct server_stream_id name;
	int added;

	if (!v->machine->view->action[move->action].report)
		return;
	name = next_name(v);
	fill(v, r, field, id, event, move);
	added = server.StreamAdd(r->stream, 0, &name, field, FIELDS);
	if (added != SERVER_OK) {
		name = name_after_last(v, r->stream);
		added = server.StreamAdd(r->stream, 0, &name, field, FIELDS);
	}
	v->count[added == SERVER_OK ? COUNT_REPORTS : COUNT_REPORTS_LOST]++;
	for (int i = 0; i < 2 * FIELDS; i++)
		server.FreeString(r->ctx, field[i]);
}
