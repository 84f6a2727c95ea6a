/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A value from bytes that may be anybody's. Memory is asked for as bytes arrive,
 * not as numbers in them claim. The head is checked against its sum, which finds
 * accidents, and then each number by itself, which finds the rest; the library
 * checks the table.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "redis/api.h"
#include "redis/apply.h"
#include "redis/bytes.h"
#include "redis/format.h"
#include "redis/hold.h"
#include "redis/sensors.h"
#include "redis/value_io.h"

/* What is read of a head: behind its end, zeros, and `wrong`. */
struct reader {
	const uint8_t *at, *end;
	const char *wrong;
};

static const uint8_t *take(struct reader *r, uint64_t n)
{
	const uint8_t *at = r->at;

	if (r->wrong || n > (uint64_t)(r->end - r->at)) {
		r->wrong = r->wrong ? r->wrong : "the head ends too early";
		return NULL;
	}
	r->at += n;
	return at;
}

static uint64_t take64(struct reader *r)
{
	const uint8_t *at = take(r, 8);

	return at ? get64(at) : 0;
}

static uint32_t take32(struct reader *r)
{
	const uint8_t *at = take(r, 4);

	return at ? get32(at) : 0;
}

static void demand(struct reader *r, int holds, const char *otherwise)
{
	if (!holds && !r->wrong)
		r->wrong = otherwise;
}

/* ------------------------------------------------------------------------ the source */

/* 0, or an error: the source failed, or ended. */
static int read_all(const struct ink_source *s, uint8_t *into, uint64_t n)
{
	for (uint64_t i = 0; i < n;) {
		ptrdiff_t got = s->read(into + i, n - i, s->user);

		if (got <= 0)
			return got ? (int)got : -EBADMSG;
		i += (uint64_t)got;
	}
	return 0;
}

static int at_end(const struct ink_source *s)
{
	uint8_t more;

	return s->read(&more, 1, s->user) == 0;
}

static int read_rest_of_head(const struct ink_source *s, uint64_t length, uint64_t limit, struct bytes *b)
{
	int error = limit && length > limit ? -EFBIG : 0;

	while (!error && b->n < length) {
		uint64_t n = length - b->n < PIECE ? length - b->n : PIECE;

		error = read_all(s, bytes_more(b, n), n);
	}
	return error;
}

static int fail(struct ink_why *why, int error, const char *text)
{
	if (why)
		snprintf(why->text, sizeof why->text, "%s", text);
	return error;
}

static int read_head(const struct ink_source *s, uint64_t limit, struct bytes *b, struct ink_why *why)
{
	int error = read_all(s, bytes_more(b, HEAD_START), HEAD_START);
	uint64_t length;

	if (error || memcmp(b->at, HEAD_MAGIC, 8) != 0)
		return fail(why, -EBADMSG, "these bytes are no table of inkling");
	if (get32(b->at + 8) != HEAD_VERSION || get32(b->at + 12) > HEAD_PARTIAL)
		return fail(why, -ENOTSUP, "the value is of a version that this module does not know");
	length = get64(b->at + HEAD_LENGTH_AT);
	error = length < HEAD_START ? -EBADMSG : read_rest_of_head(s, length, limit, b);
	if (error == -EFBIG)
		return fail(why, error, "the value is larger than the limit");
	if (error || get64(b->at + HEAD_SUM_AT) != fnv(FNV_BEGIN, b->at + HEAD_START, b->n - HEAD_START))
		return fail(why, -EBADMSG, "the head of the value is damaged");
	return 0;
}

/* ------------------------------------------------------------------------- the head */

static void read_shape(struct reader *r, struct ink_value *v, struct machine_text *t, uint64_t *sum)
{
	struct shape *s = &v->shape;
	const uint8_t *small;
	uint64_t outbox;

	t->text_length = take32(r);
	t->name_length = take32(r);
	*sum = take64(r);
	small = take(r, 8);
	if (!small)
		return;
	s->kind = small[0];
	s->expendable = small[1];
	s->holds = small[2];
	v->flagged = small[3];
	demand(r, s->expendable <= 1 && s->holds <= 1 && v->flagged <= 1 && !get32(small + 4),
	       "the shape is wrong");
	s->timeout_ms = take64(r);
	s->limit = take64(r);
	s->tick = take64(r);
	s->hold = take64(r);
	s->held_most = take64(r);
	outbox = take64(r);
	demand(r, s->tick != 0, "a tick has no length");
	demand(r, s->held_most <= HELD_MOST && outbox <= OUTBOX_MOST, "HELD or OUTBOX is out of range");
	s->outbox = (uint32_t)outbox;
}

static void read_numbers(struct reader *r, struct ink_value *v)
{
	v->time = take64(r);
	v->newest = take64(r);
	v->released = take64(r);
	v->report_ms = take64(r);
	v->report_seq = take64(r);
	for (int i = 0; i < COUNTS; i++)
		v->count[i] = take64(r);
}

static void read_machine(struct reader *r, struct ink_value *v, struct machine_text *t, uint64_t sum,
			 struct ink_why *why)
{
	demand(r, t->text_length <= MACHINE_TEXT_MOST && t->name_length <= MACHINE_NAME_MOST,
	       "the machine's text is too long");
	t->text = (const char *)take(r, t->text_length);
	t->name = (const char *)take(r, t->name_length);
	if (r->wrong || !t->text_length)
		return;
	v->machine = machine_take(t, why);
	if (!v->machine)
		r->wrong = why && why->text[0] ? why->text : "the machine does not compile";
	else
		demand(r, v->machine->rules_sum == sum && v->machine->view->tick == v->shape.tick,
		       "the machine was compiled by another version of the library, to other numbers");
}

static void read_counters(struct reader *r, struct ink_value *v)
{
	uint32_t n = take32(r);

	demand(r, n == (v->machine ? v->machine->view->counters : 0), "the machine has other counters");
	if (r->wrong || !n)
		return;
	v->counters = resize(NULL, n, sizeof *v->counters);
	for (uint32_t i = 0; i < n; i++)
		v->counters[i] = take64(r);
}

static void read_sensor(struct reader *r, struct ink_value *v)
{
	const struct sensor *before = v->sensors ? &v->sensor[v->sensors - 1] : NULL;
	const uint8_t *moves;
	struct sensor s = {0};

	s.name = take64(r);
	s.epoch = take64(r);
	s.sequence = take64(r);
	s.time = take64(r);
	s.blob = take64(r);
	s.lost = take64(r);
	s.first = take64(r);
	s.n = take32(r);
	demand(r, s.n <= v->shape.outbox && s.first && s.sequence < UINT64_MAX,
	       "a sensor's numbers are wrong");
	demand(r, s.name && (!before || s.name > before->name), "the sensors are not in order");
	moves = take(r, (uint64_t)s.n * MOVE_BYTES);
	if (r->wrong)
		return;
	s.room = s.n;
	s.moves = s.n ? memcpy(resize(NULL, s.n, MOVE_BYTES), moves, (size_t)s.n * MOVE_BYTES) : NULL;
	v->sensor[v->sensors++] = s;
}

static void read_sensors(struct reader *r, struct ink_value *v)
{
	uint32_t n = take32(r);

	demand(r, n <= SENSORS_MOST, "too many sensors");
	if (r->wrong || !n)
		return;
	v->sensor = resize(NULL, n, sizeof *v->sensor);
	v->sensor_room = n;
	for (uint32_t i = 0; i < n && !r->wrong; i++)
		read_sensor(r, v);
}

static void fill_held(struct held *h, const uint8_t *ids, const uint8_t *events, unsigned most,
		      struct reader *r)
{
	uint16_t *to = (uint16_t *)(h->ids + h->n);

	for (uint32_t i = 0; i < h->n; i++) {
		h->ids[i] = get64(ids + 8 * (size_t)i);
		to[i] = get16(events + 2 * (size_t)i);
		demand(r, to[i] < most, "a held item has an event that the machine does not have");
	}
}

static void read_one_held(struct reader *r, struct ink_value *v)
{
	const uint8_t *ids, *events;
	struct held h = {0};

	h.time = take64(r);
	h.sensor = take64(r);
	h.epoch = take64(r);
	h.sequence = take64(r);
	h.answers = take32(r);
	h.n = take32(r);
	demand(r, h.n && h.n <= BLOB_ITEMS_MOST && (h.answers == BLOB_NO_ANSWERS || h.answers == BLOB_MOVES),
	       "a held blob is wrong");
	ids = take(r, (uint64_t)h.n * 8);
	events = take(r, (uint64_t)h.n * 2);
	if (r->wrong)
		return;
	v->held[v->n_held] = resize(NULL, held_bytes(h.n), 1);
	*v->held[v->n_held] = h;
	v->held_bytes += held_bytes(h.n);
	fill_held(v->held[v->n_held++], ids, events, v->machine->view->rules->events, r);
}

static void read_held(struct reader *r, struct ink_value *v)
{
	uint32_t n = take32(r);

	demand(r, !n || (v->shape.holds && v->machine), "blobs are held where none are");
	demand(r, n <= HELD_MOST / sizeof(struct held), "too many blobs are held");
	if (r->wrong || !n)
		return;
	v->held = resize(NULL, n, sizeof *v->held);
	v->held_room = n;
	for (uint32_t i = 0; i < n && !r->wrong; i++)
		read_one_held(r, v);
	demand(r, v->held_bytes <= v->shape.held_most && held_in_order(v), "the held blobs are not in order");
}

static int parse_head(struct ink_value *v, const struct bytes *b, const struct load_how *how,
		      struct ink_why *why)
{
	struct reader r = {.at = b->at + HEAD_START, .end = b->at + b->n};
	struct machine_text t = {.patient = how->patient};
	struct ink_why reason = {""};
	uint64_t sum = 0;

	read_shape(&r, v, &t, &sum);
	read_numbers(&r, v);
	read_machine(&r, v, &t, sum, &reason);
	read_counters(&r, v);
	read_sensors(&r, v);
	read_held(&r, v);
	demand(&r, r.at == r.end, "the head is longer than what it says");
	return r.wrong ? fail(why, -EBADMSG, r.wrong) : 0;
}

static int parse_partial(struct ink_value *v, const struct bytes *b, struct ink_why *why)
{
	struct reader r = {.at = b->at + HEAD_START, .end = b->at + b->n};
	struct partial *p = &v->partial;
	const uint8_t *bytes;

	p->length = take64(&r);
	p->have = take64(&r);
	bytes = take(&r, p->have);
	demand(&r, r.at == r.end && p->have && p->have < p->length, "a partial value is wrong");
	if (r.wrong) {
		p->have = 0;
		return fail(why, -EBADMSG, r.wrong);
	}
	p->bytes = memcpy(resize(NULL, p->have, 1), bytes, p->have);
	p->room = p->have;
	return 0;
}

/* ------------------------------------------------------------------------- the table */

/*
 * The source, and a copy of the table's first page that passes through it: what the table is stands there
 * (docs/format.md), and the library has no call that tells it of a loaded one.
 */
struct passing {
	const struct ink_source *from;
	uint8_t page[4096];
	size_t n;
};

static ptrdiff_t pass(void *into, size_t n, void *user)
{
	struct passing *p = user;
	ptrdiff_t got = p->from->read(into, n, p->from->user);
	size_t keep = sizeof p->page - p->n;

	if (got > 0) {
		keep = keep < (size_t)got ? keep : (size_t)got;
		memcpy(p->page + p->n, into, keep);
		p->n += keep;
	}
	return got;
}

static double get_double(const uint8_t *at)
{
	uint64_t bits = get64(at);
	double n;

	memcpy(&n, &bits, sizeof n);
	return n;
}

enum { KIND_AT = 16, STATES_AT = 20, AGE_AT = 24, WRITERS_AT = 28, FLOWS_AT = 72, LOAD_AT = 88, M_AT = 216 };

/* The number of cells: in filters they are in the geometry, in others flows and load give them. */
static uint64_t cells_of(const uint8_t *page)
{
	double load = get_double(page + LOAD_AT), flows = (double)get64(page + FLOWS_AT);
	double cells = load > 0 ? flows / load : 0;

	if (get32(page + M_AT))
		return get32(page + M_AT);
	return cells < 1e12 ? (uint64_t)cells : UINT64_C(1000000000000);
}

static int check_table(struct ink_value *v, const uint8_t *page, struct ink_why *why)
{
	if (get32(page + KIND_AT) != v->shape.kind || get32(page + WRITERS_AT) != 1)
		return fail(why, -EBADMSG, "the table is not of the kind that the head says");
	v->states = get32(page + STATES_AT);
	v->age_bits = get32(page + AGE_AT);
	v->cells = cells_of(page);
	if (v->machine && v->machine->view->rules->states != v->states)
		return fail(why, -EBADMSG, "the table has other states than its machine");
	return value_set_rules(v, why);
}

static int load_table(struct ink_value *v, const struct ink_source *source, const struct load_how *how,
		      struct ink_why *why)
{
	struct passing p = {.from = source};
	const struct ink_source through = {.read = pass, .user = &p};
	struct ink_allocator a = arena_allocator(&v->arena);
	struct ink_load_options o = {
		.size = sizeof o, .trust = how->trust, .bytes = how->limit, .allocator = &a};

	if (value_can(v, INK_CAN_BE_EXACT))
		v->arena.most = v->shape.limit;
	v->table = ink_load_from(&through, &o, why);
	if (!v->table)
		return -errno;
	return check_table(v, p.page, why);
}

/* ------------------------------------------------------------------------- the value */

static int load_into(struct ink_value *v, const struct ink_source *s, const struct load_how *how,
		     struct bytes *head, struct ink_why *why)
{
	int error = read_head(s, how->limit, head, why);

	if (error)
		return error;
	if (get32(head->at + 12) & HEAD_PARTIAL)
		error = parse_partial(v, head, why);
	else
		error = parse_head(v, head, how, why);
	if (!error && !(get32(head->at + 12) & HEAD_PARTIAL))
		error = load_table(v, s, how, why);
	if (!error && !at_end(s))
		error = fail(why, -EBADMSG, "there are bytes after the value");
	return error;
}

struct ink_value *value_load(const struct ink_source *source, const struct load_how *how, struct ink_why *why)
{
	struct ink_value *v = value_new();
	struct bytes head = {0};
	int error = load_into(v, source, how, &head, why);

	server.Free(head.at);
	if (!error)
		return v;
	value_free(v);
	errno = -error;
	return NULL;
}
