/* SPDX-License-Identifier: BSD-2-Clause */
/* The head is put together in memory, because its sum stands before it; the table writes itself behind it. */
#include <string.h>

#include "redis/api.h"
#include "redis/apply.h"
#include "redis/bytes.h"
#include "redis/format.h"
#include "redis/value_io.h"

static void add64(struct bytes *b, uint64_t n)
{
	put64(bytes_more(b, 8), n);
}

static void add32(struct bytes *b, uint32_t n)
{
	put32(bytes_more(b, 4), n);
}

static void add_bytes(struct bytes *b, const void *at, uint64_t n)
{
	if (n)
		memcpy(bytes_more(b, n), at, n);
}

/* ------------------------------------------------------------------------- the head */

static void add_shape(struct bytes *b, const struct ink_value *v)
{
	const struct shape *s = &v->shape;
	const uint8_t small[8] = {s->kind, s->expendable, s->holds, v->flagged};

	add32(b, v->machine ? v->machine->text_length : 0);
	add32(b, v->machine ? v->machine->name_length : 0);
	add64(b, v->machine ? v->machine->rules_sum : 0);
	add_bytes(b, small, sizeof small);
	add64(b, s->timeout_ms);
	add64(b, s->limit);
	add64(b, s->tick);
	add64(b, s->hold);
	add64(b, s->held_most);
	add64(b, s->outbox);
}

static void add_numbers(struct bytes *b, const struct ink_value *v)
{
	add64(b, v->time);
	add64(b, v->newest);
	add64(b, v->released);
	add64(b, v->report_ms);
	add64(b, v->report_seq);
	for (int i = 0; i < COUNTS; i++)
		add64(b, v->count[i]);
}

static void add_machine(struct bytes *b, const struct ink_value *v)
{
	unsigned counters = v->machine ? v->machine->view->counters : 0;

	if (v->machine) {
		add_bytes(b, v->machine->text, v->machine->text_length);
		add_bytes(b, v->machine->name, v->machine->name_length);
	}
	add32(b, counters);
	for (unsigned i = 0; i < counters; i++)
		add64(b, v->counters[i]);
}

static void add_sensors(struct bytes *b, const struct ink_value *v)
{
	add32(b, v->sensors);
	for (uint32_t i = 0; i < v->sensors; i++) {
		const struct sensor *s = &v->sensor[i];

		add64(b, s->name);
		add64(b, s->epoch);
		add64(b, s->sequence);
		add64(b, s->time);
		add64(b, s->blob);
		add64(b, s->lost);
		add64(b, s->first);
		add32(b, s->n);
		add_bytes(b, s->moves + (size_t)s->head * MOVE_BYTES, (uint64_t)s->n * MOVE_BYTES);
	}
}

static void add_held(struct bytes *b, const struct ink_value *v)
{
	add32(b, v->n_held);
	for (uint32_t i = 0; i < v->n_held; i++) {
		const struct held *h = v->held[i];
		const uint16_t *events = (const uint16_t *)(h->ids + h->n);

		add64(b, h->time);
		add64(b, h->sensor);
		add64(b, h->epoch);
		add64(b, h->sequence);
		add32(b, h->answers);
		add32(b, h->n);
		for (uint32_t j = 0; j < h->n; j++)
			add64(b, h->ids[j]);
		for (uint32_t j = 0; j < h->n; j++)
			put16(bytes_more(b, 2), events[j]);
	}
}

static void add_start(struct bytes *b, uint32_t flags)
{
	add_bytes(b, HEAD_MAGIC, 8);
	add32(b, HEAD_VERSION);
	add32(b, flags);
	add64(b, 0);
	add64(b, 0);
}

/* What stands before the table, or all of a partial value. */
static struct bytes make_head(const struct ink_value *v)
{
	struct bytes b = {0};

	add_start(&b, v->table ? 0 : HEAD_PARTIAL);
	if (v->table) {
		add_shape(&b, v);
		add_numbers(&b, v);
		add_machine(&b, v);
		add_sensors(&b, v);
		add_held(&b, v);
	} else {
		add64(&b, v->partial.length);
		add64(&b, v->partial.have);
		add_bytes(&b, v->partial.bytes, v->partial.have);
	}
	put64(b.at + HEAD_LENGTH_AT, b.n);
	put64(b.at + HEAD_SUM_AT, fnv(FNV_BEGIN, b.at + HEAD_START, b.n - HEAD_START));
	return b;
}

int value_save(const struct ink_value *v, const struct ink_sink *sink)
{
	struct bytes head = make_head(v);
	int error = sink->write(head.at, head.n, sink->user);

	server.Free(head.at);
	return error || !v->table ? error : ink_save_to(v->table, sink, NULL, NULL);
}

uint64_t value_save_bytes(const struct ink_value *v)
{
	struct bytes head = make_head(v);
	uint64_t bytes = 0;

	if (v->table)
		ink_save_bytes(v->table, NULL, &bytes, NULL);
	server.Free(head.at);
	return head.n + bytes;
}
