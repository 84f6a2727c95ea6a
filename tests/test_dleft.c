/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * `dleft` beside a plain model of the paper's filter, with which it agrees in every answer. The errors are counted and
 * compared with the plan. That it is wrong about a flow only where fingerprints collide is in program.h; each verb in
 * each situation is in test_semantics.c, time in test_time.c, batches in test_oracle.c.
 */
#include "tests/table.h"
#include "tests/verbs.h"

/* ------------------------------------------------------------- a machine */

enum { FIRST = 2, END = 3, EVENTS = 4 }; /* events 0 and 1 lead to the states of their number */

static struct ink_row rows[(INK_MAX_STATES + 2) * EVENTS];
static const uint8_t starts[EVENTS] = {[FIRST] = 1};

/* In every state: 0 -> state 0, 1 -> the last state, END -> absent. Absent: FIRST -> state 0. */
static struct ink_rules rules_for(unsigned states)
{
	for (unsigned line = 0; line < states + 2; line++) {
		struct ink_row *row = &rows[line * EVENTS];

		for (unsigned e = 0; e < EVENTS; e++)
			row[e] = (struct ink_row){INK_NO_ROW, (uint16_t)(line * EVENTS + e)};
		if (line < states) {
			row[0].next = 0;
			row[1].next = (int16_t)(states - 1);
			row[END].next = INK_ABSENT;
		}
	}
	rows[states * EVENTS + FIRST].next = 0;
	return (struct ink_rules){.size = sizeof(struct ink_rules),
				  .states = states,
				  .events = EVENTS,
				  .rows = rows,
				  .starts = starts};
}

static struct ink_options options(unsigned states, uint64_t flows, struct ink_geometry g)
{
	return (struct ink_options){.size = sizeof(struct ink_options),
				    .kind = INK_DLEFT,
				    .states = states,
				    .flows = flows,
				    .seed = 1,
				    .geometry = g};
}

/* -------------------------------------------------------- the model: hashing */

enum { MAX_D = 8 };

/* The fingerprint and buckets of an id, computed a second time here: the format must not change unnoticed. */
struct home {
	uint64_t fingerprint;
	uint64_t bucket[MAX_D];
};

static uint32_t number(uint64_t id, unsigned n)
{
	uint64_t x = id + (n / 2) * 0x9e3779b97f4a7c15;

	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
	x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
	x = x ^ (x >> 31);
	return n % 2 ? (uint32_t)(x >> 32) : (uint32_t)x;
}

static struct home home_of(const struct ink_geometry *g, uint64_t id)
{
	struct home h = {.fingerprint = 1 + ((number(id, 0) * ((1ull << g->f) - 1)) >> 32)};

	for (unsigned i = 0; i < g->d; i++)
		h.bucket[i] = i * (uint64_t)g->b + (((uint64_t)number(id, i + 1) * g->b) >> 32);
	return h;
}

/* ------------------------------------------------- the model: the paper's filter */

enum { UNSURE = 1000, EMPTY = 2000 }; /* as states */

struct cell {
	uint64_t fingerprint;
	unsigned state;
};

struct known {
	uint64_t id;
	unsigned state;
};

/* No bits, no ages, no tricks. */
struct model {
	struct ink_geometry g;
	enum ink_full full;
	unsigned states;
	struct cell *cells;
	unsigned char *overflow;
	struct known *side;
	size_t side_count;
	uint64_t collisions, overflowed, refused, marked;
};

static struct model model_of(const struct ink_table *t)
{
	struct model m = {.g = t->plan.geometry, .full = t->full, .states = t->states};
	size_t buckets = (size_t)m.g.d * m.g.b;

	m.cells = calloc(buckets * m.g.h, sizeof *m.cells);
	m.overflow = calloc(buckets, 1);
	m.side = calloc(m.g.side + 1, sizeof *m.side);
	assert_true(m.cells && m.overflow && m.side);
	for (size_t i = 0; i < buckets * m.g.h; i++)
		m.cells[i].state = EMPTY;
	return m;
}

static void free_model(struct model *m)
{
	free(m->cells);
	free(m->overflow);
	free(m->side);
}

/* The matches, the first in *at. */
static int model_find(const struct model *m, uint64_t id, struct cell **at)
{
	struct home h = home_of(&m->g, id);
	int matches = 0;

	for (unsigned i = 0; i < m->g.d; i++)
		for (unsigned c = 0; c < m->g.h; c++) {
			struct cell *cell = &m->cells[h.bucket[i] * m->g.h + c];

			if (cell->state != EMPTY && cell->fingerprint == h.fingerprint && matches++ == 0)
				*at = cell;
		}
	return matches;
}

static void model_mark(struct model *m, uint64_t id)
{
	struct home h = home_of(&m->g, id);

	for (unsigned i = 0; i < m->g.d; i++)
		for (unsigned c = 0; c < m->g.h; c++) {
			struct cell *cell = &m->cells[h.bucket[i] * m->g.h + c];

			if (cell->state < UNSURE && cell->fingerprint == h.fingerprint) {
				cell->state = UNSURE;
				m->marked++;
			}
		}
}

static unsigned model_load(const struct model *m, uint64_t bucket)
{
	unsigned load = 0;

	for (unsigned c = 0; c < m->g.h; c++)
		load += m->cells[bucket * m->g.h + c].state != EMPTY;
	return load;
}

static int model_put(struct model *m, uint64_t id, unsigned state)
{
	struct home h = home_of(&m->g, id);
	unsigned best = 0, c = 0;

	for (unsigned i = 1; i < m->g.d; i++)
		if (model_load(m, h.bucket[i]) < model_load(m, h.bucket[best]))
			best = i;
	if (model_load(m, h.bucket[best]) == m->g.h)
		return 0;
	while (m->cells[h.bucket[best] * m->g.h + c].state != EMPTY)
		c++;
	m->cells[h.bucket[best] * m->g.h + c] = (struct cell){h.fingerprint, state};
	return 1;
}

static struct known *model_side(const struct model *m, uint64_t id)
{
	for (size_t i = 0; i < m->side_count; i++)
		if (m->side[i].id == id)
			return &m->side[i];
	return NULL;
}

static int model_side_put(struct model *m, uint64_t id, unsigned state)
{
	if (m->side_count == m->g.side)
		return 0;
	m->side[m->side_count++] = (struct known){id, state};
	return 1;
}

static int model_overflowed(const struct model *m, uint64_t id)
{
	struct home h = home_of(&m->g, id);
	int all = m->full == INK_UNSURE;

	for (unsigned i = 0; i < m->g.d; i++)
		all &= m->overflow[h.bucket[i]];
	return all;
}

static int model_new(struct model *m, uint64_t id, unsigned state)
{
	struct home h = home_of(&m->g, id);

	if (model_put(m, id, state))
		return 0;
	if (model_side_put(m, id, state)) {
		m->overflowed++;
		return 0;
	}
	for (unsigned i = 0; i < m->g.d; i++)
		m->overflow[h.bucket[i]] = 1;
	m->refused++;
	return -ENOSPC;
}

static int model_collision(struct model *m, uint64_t id, unsigned state)
{
	m->collisions++;
	if (model_side_put(m, id, state))
		return 0;
	model_mark(m, id);
	m->refused++;
	return -ENOSPC;
}

static int model_insert(struct model *m, uint64_t id, unsigned state)
{
	struct cell *at;

	if (model_side(m, id))
		return -EEXIST;
	if (!(m->g.dleft_flags & INK_DLEFT_COPY) && model_find(m, id, &at))
		return model_collision(m, id, state);
	return model_new(m, id, state);
}

static ink_answer model_answer(const struct model *m, uint64_t id)
{
	const struct known *side = model_side(m, id);
	struct cell *at;
	int matches;

	if (side)
		return (ink_answer)side->state;
	matches = model_find(m, id, &at);
	if (matches == 0)
		return model_overflowed(m, id) ? INK_DONT_KNOW : INK_ABSENT;
	return matches > 1 || at->state == UNSURE ? INK_DONT_KNOW : (ink_answer)at->state;
}

static void model_change(struct model *m, uint64_t id, struct cell *at, unsigned state)
{
	int moves = (m->g.dleft_flags & INK_DLEFT_REINSERT) && at->state != state;

	at->state = moves ? EMPTY : state;
	if (moves)
		assert_true(model_put(m, id, state));
}

static int model_modify(struct model *m, uint64_t id, unsigned state, int or_insert)
{
	struct known *side = model_side(m, id);
	struct cell *at;
	int matches;

	if (side)
		return side->state = state, 0;
	matches = model_find(m, id, &at);
	if (matches == 0)
		return or_insert ? model_new(m, id, state) : -ENOENT;
	if (matches > 1 && (or_insert || !(m->g.dleft_flags & INK_DLEFT_KEEP)))
		model_mark(m, id);
	if (matches > 1 || at->state == UNSURE)
		return -EBUSY;
	model_change(m, id, at, state);
	return 0;
}

static int model_delete(struct model *m, uint64_t id)
{
	struct known *side = model_side(m, id);
	struct cell *at;
	int matches;

	if (side)
		return *side = m->side[--m->side_count], 0;
	matches = model_find(m, id, &at);
	if (matches == 0)
		return -ENOENT;
	if (matches > 1 || at->state == UNSURE)
		return -EBUSY;
	at->state = EMPTY;
	return 0;
}

/* A start event without a row begins the flow again: in place if the side table has it, else as a new one. */
static int model_begin(struct model *m, uint64_t id, struct ink_row row, struct ink_move *move)
{
	struct known *side = model_side(m, id);
	int error = 0;

	if (side)
		side->state = (unsigned)row.next;
	else
		error = model_insert(m, id, (unsigned)row.next);
	*move = (struct ink_move){INK_ABSENT, error ? INK_ABSENT : row.next, row.action};
	return error;
}

static int model_step(struct model *m, uint64_t id, unsigned event, struct ink_move *move)
{
	ink_answer from = model_answer(m, id);
	struct ink_row absent = rows[m->states * EVENTS + event], row = absent;

	if (from >= 0)
		row = rows[(unsigned)from * EVENTS + event];
	else if (from == INK_DONT_KNOW)
		row = rows[(m->states + 1) * EVENTS + event];
	*move = (struct ink_move){from, from, row.action};
	if (from == INK_DONT_KNOW || (row.next == INK_NO_ROW && !(from >= 0 && starts[event])))
		return 0;
	if (from == INK_ABSENT || row.next == INK_NO_ROW)
		return model_begin(m, id, absent, move);
	move->to = row.next;
	return row.next == INK_ABSENT ? model_delete(m, id) : model_modify(m, id, (unsigned)row.next, 0);
}

static struct result model_perform(struct model *m, uint64_t id, const struct call *c)
{
	struct result r = {0, 0, {0, 0, 0}};

	switch (c->verb) {
	case LOOKUP:
	case PEEK:
		r.answer = model_answer(m, id);
		break;
	case INSERT:
		r.error = model_insert(m, id, c->state);
		break;
	case SET:
	case MODIFY:
		r.error = model_modify(m, id, c->state, c->verb == SET);
		break;
	case DELETE:
		r.error = model_delete(m, id);
		break;
	default:
		r.error = model_step(m, id, c->event, &r.move);
	}
	return r;
}

/* ---------------------------------------------------- the table beside the model */

/* Any verb for any flow, proper or not: there is nothing that the model leaves open. */
static void operate(struct ink_table *t, struct model *m, size_t flows)
{
	for (size_t i = 0; i < 20 * flows; i++) {
		uint64_t number = random_below(flows), id = number > 1 ? id_number(number) : 0 - number;
		struct call c = {random_below(VERBS), 0, random_below(t->states), random_below(EVENTS)};
		struct result is = perform(t, id, &c), should_be = model_perform(m, id, &c);

		if (!same(&is, &should_be))
			fail_msg("verb %d: error %d, answer %d, move %d to %d; the model: %d, %d, %d to %d",
				 c.verb, is.error, is.answer, is.move.from, is.move.to, should_be.error,
				 should_be.answer, should_be.move.from, should_be.move.to);
	}
}

/* ------------------------------------------------------------ shapes and flags */

static uint32_t pick(const uint32_t *from, size_t n)
{
	return from[random_below(n)];
}

#define PICK(...)                                                                                            \
	pick((const uint32_t[]){__VA_ARGS__}, sizeof((const uint32_t[]){__VA_ARGS__}) / sizeof(uint32_t))

static struct ink_options any_options(uint32_t d, uint32_t f)
{
	struct ink_geometry g = {.d = d, .b = PICK(1, 3, 7, 17, 33, 101), .h = 1 + random_below(10), .f = f};
	struct ink_options o;

	g.side = PICK(INK_NO_SIDE, INK_NO_SIDE, 1, 5, 300);
	g.dleft_flags = random_below(8);
	o = options(PICK(1, 3, 4, 15, 255), 100, g);
	o.age_bits = random_below(3);
	o.full = random_below(2) ? INK_UNSURE : INK_REFUSE;
	return o;
}

/* From nearly empty to twice too full. */
static void try_shape(uint32_t d, uint32_t f)
{
	struct ink_options o = any_options(d, f);
	uint64_t cells = (uint64_t)d * o.geometry.b * o.geometry.h;
	struct ink_rules rules = rules_for(o.states);
	struct ink_table *t;
	struct model m;

	o.rules = &rules;
	t = table_with(&o);
	m = model_of(t);
	operate(t, &m, 2 + random_below(cells * 4 < 600 ? cells * 4 : 600));
	assert_sound(t);
	assert_int_equal(t->counters.collisions, m.collisions);
	assert_int_equal(t->counters.overflowed, m.overflowed);
	assert_int_equal(t->counters.refused, m.refused);
	assert_int_equal(t->counters.marked, m.marked);
	free_model(&m);
	ink_free(t);
}

TEST_THAT(every_shape_agrees_with_the_model)
{
	for (size_t round = 0; round < scaled(8); round++)
		for (uint32_t d = 1; d <= 8; d++)
			for (uint32_t f = 2; f <= 32; f += 1 + f / 8)
				try_shape(d, f);
}

/* ------------------------------------------------------------------ the errors */

/* 10,000 are expected, so 5 % is five standard deviations, in short runs too. */
static void measure(const struct ink_options *o)
{
	struct ink_table *t = table_with(o);
	double expected = 10000, found = 0;
	uint64_t strangers = (uint64_t)(expected / t->plan.error);

	for (uint64_t i = 0; i < o->flows; i++)
		ink_insert(t, random_word(), 0);
	for (uint64_t i = 0; i < strangers; i++)
		found += ink_peek(t, random_word()) != INK_ABSENT;
	ink_free(t);
	if (!(found >= .9 * expected && found <= 1.05 * expected))
		fail_msg("f %u flags %u: %.0f errors, the plan says %.0f", o->geometry.f,
			 o->geometry.dleft_flags, found, expected);
}

/* Short runs leave the longer fingerprints out, which take more strangers. */
TEST_THAT(strangers_are_taken_for_flows_as_often_as_planned)
{
	for (uint32_t f = 10; f <= 10 + (uint32_t)(4 * test_scale()); f++)
		for (uint32_t flags = 0; flags <= INK_DLEFT_COPY; flags++) {
			struct ink_geometry g = {.d = 3, .h = 6, .f = f, .dleft_flags = flags};
			struct ink_options o = options(4, 50000, g);

			o.error = .02;
			measure(&o);
		}
}

/* At the paper's load nothing ever overflows. */
TEST_THAT(the_planned_table_holds_its_flows_in_steady_churn)
{
	struct ink_options o =
		options(4, 30000, (struct ink_geometry){.d = 3, .h = 6, .f = 32, .side = INK_NO_SIDE});
	struct ink_table *t = table_with(&o);
	uint64_t *ids = calloc(o.flows, sizeof *ids);

	assert_non_null(ids);
	for (size_t i = 0; i < o.flows + scaled(1000000); i++) {
		uint64_t *id = &ids[i % o.flows];

		if (i >= o.flows)
			assert_int_equal(ink_delete(t, *id), 0);
		*id = random_word();
		assert_int_equal(ink_insert(t, *id, i % 4), 0);
	}
	for (size_t i = 0; i < o.flows; i++)
		assert_int_equal(ink_peek(t, ids[i]), i % 4);
	assert_int_equal(t->counters.refused, 0);
	free(ids);
	ink_free(t);
}

/* ---------------------------------------------------------- the paper's choices */

/* Flows come and go at high load, and change their states; how many find no room? */
static uint64_t refused_in_churn(uint32_t flags)
{
	struct ink_options o = options(
		4, 17000,
		(struct ink_geometry){
			.d = 3, .b = 1000, .h = 6, .f = 32, .dleft_flags = flags, .side = INK_NO_SIDE});
	struct ink_table *t = table_with(&o);
	uint64_t *ids = calloc(o.flows, sizeof *ids), refused;

	assert_non_null(ids);
	for (size_t i = 0; i < o.flows; i++)
		ink_insert(t, ids[i] = random_word(), 0);
	for (size_t i = 0; i < 20000 + scaled(280000); i++) {
		uint64_t *id = &ids[random_below(o.flows)];

		if (ink_delete(t, *id) == 0 || i % 4 == 0)
			ink_insert(t, *id = random_word(), 0);
		for (unsigned n = 0; n < 4; n++)
			ink_modify(t, ids[random_below(o.flows)], (unsigned)(i + n) % 4);
	}
	refused = t->counters.refused;
	assert_sound(t);
	ink_free(t);
	free(ids);
	return refused;
}

TEST_THAT(inserting_again_keeps_the_loads_more_even)
{
	uint64_t in_place = refused_in_churn(0), again = refused_in_churn(INK_DLEFT_REINSERT);

	print_message("refused: %llu in place, %llu inserted again\n", (unsigned long long)in_place,
		      (unsigned long long)again);
	assert_true(in_place > 1000);
	assert_true(again < in_place / 10 * 9);
}

int main(void)
{
	return run_suite(NULL);
}
