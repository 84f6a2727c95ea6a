/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * `dleft` beside a plain model of the paper's filter, with which it agrees in every answer, and beside the truth, from
 * which it differs only where fingerprints collide. The errors are counted and compared with the plan. What the verbs
 * do when buckets are full or two entries match is in test_semantics.c, time in test_time.c, batches in test_oracle.c.
 */
#include "tests/table.h"

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

/* Can one be taken for the other? */
static int are_twins(const struct ink_geometry *g, uint64_t one, uint64_t other)
{
	struct home a = home_of(g, one), b = home_of(g, other);

	for (unsigned i = 0; i < g->d; i++)
		if (a.fingerprint == b.fingerprint && a.bucket[i] == b.bucket[i])
			return 1;
	return 0;
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
	struct cell *cells;
	unsigned char *overflow;
	struct known *side;
	size_t side_count;
	uint64_t collisions, overflowed, refused, marked;
};

static struct model model_of(const struct ink_table *t)
{
	struct model m = {.g = t->plan.geometry, .full = t->full};
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

/* A first packet of a new flow; the others are modify and delete under another name. */
static int model_first(struct model *m, uint64_t id, ink_answer *from, ink_answer *to)
{
	int result;

	*from = *to = model_answer(m, id);
	if (*from == INK_DONT_KNOW)
		return 0;
	result = model_insert(m, id, 0);
	*from = INK_ABSENT;
	*to = result ? INK_ABSENT : 0;
	return result;
}

/* ------------------------------------------------------------- the truth */

struct flow {
	uint64_t id;
	int live;
	int doubtful; /* its entry may have been marked */
	unsigned state;
	struct flow **twins; /* ends with NULL */
};

struct world {
	struct ink_table *table;
	struct model model;
	struct flow *flows;
	size_t n;
	uint64_t doubts; /* answers that were don't-know though the flow was stored */
};

static struct flow **twins_among(const struct world *w, const struct flow *f)
{
	struct flow **twins = calloc(w->n, sizeof(struct flow *));
	size_t found = 0;

	assert_non_null(twins);
	for (size_t i = 0; i < w->n; i++)
		if (&w->flows[i] != f && are_twins(&w->model.g, f->id, w->flows[i].id))
			twins[found++] = &w->flows[i];
	return twins;
}

static struct world world_of(struct ink_table *t, size_t n)
{
	struct world w = {.table = t, .model = model_of(t), .flows = calloc(n, sizeof *w.flows), .n = n};

	assert_non_null(w.flows);
	for (size_t i = 0; i < n; i++)
		w.flows[i].id = i == 0 ? 0 : i == 1 ? UINT64_MAX : random_word();
	for (size_t i = 0; i < n; i++)
		w.flows[i].twins = twins_among(&w, &w.flows[i]);
	return w;
}

static void end_of(struct world *w)
{
	const struct ink_counters *c = &w->table->counters;

	assert_sound(w->table);
	assert_int_equal(c->collisions, w->model.collisions);
	assert_int_equal(c->overflowed, w->model.overflowed);
	assert_int_equal(c->refused, w->model.refused);
	assert_int_equal(c->marked, w->model.marked);
	for (size_t i = 0; i < w->n; i++)
		free(w->flows[i].twins);
	free(w->flows);
	free_model(&w->model);
	ink_free(w->table);
}

static int has_live_twin(const struct flow *f)
{
	for (struct flow **twin = f->twins; *twin; twin++)
		if ((*twin)->live)
			return 1;
	return 0;
}

static int has_live_twin_in(const struct flow *f, ink_answer state)
{
	for (struct flow **twin = f->twins; *twin; twin++)
		if ((*twin)->live && (*twin)->state == (unsigned)state)
			return 1;
	return 0;
}

/* A live flow is answered right, or don't-know for a reason; a stranger may get the state of a twin. */
static void judge(struct world *w, const struct flow *f, ink_answer a)
{
	int refusals = w->model.full == INK_UNSURE && w->model.refused > 0;

	assert_int_equal(a, model_answer(&w->model, f->id));
	if (f->live && a == INK_DONT_KNOW) {
		assert_true(f->doubtful || has_live_twin(f));
		w->doubts++;
	} else if (f->live) {
		assert_int_equal(a, f->state);
	} else if (a == INK_DONT_KNOW) {
		assert_true(has_live_twin(f) || refusals);
	} else if (a != INK_ABSENT) {
		assert_true(has_live_twin_in(f, a));
	}
}

/* Every entry that the flow matches may have been marked. */
static void doubt(struct flow *f)
{
	f->doubtful = 1;
	for (struct flow **twin = f->twins; *twin; twin++)
		(*twin)->doubtful = 1;
}

static void is_stored(struct flow *f, unsigned state)
{
	f->live = 1;
	f->doubtful = 0;
	f->state = state;
}

/* ------------------------------------------------- operations, in proper use */

static void try_insert(struct world *w, struct flow *f, unsigned state)
{
	int result;

	if (f->live)
		return;
	result = ink_insert(w->table, f->id, state);
	assert_int_equal(result, model_insert(&w->model, f->id, state));
	if (result == 0)
		is_stored(f, state);
	else
		doubt(f);
}

static void try_change(struct world *w, struct flow *f, unsigned state, int set)
{
	int result;

	if (!f->live)
		return;
	result = set ? ink_set(w->table, f->id, state) : ink_modify(w->table, f->id, state);
	assert_int_equal(result, model_modify(&w->model, f->id, state, set));
	if (result == 0) {
		f->state = state;
	} else {
		assert_int_equal(result, -EBUSY);
		assert_true(f->doubtful || has_live_twin(f));
		doubt(f);
	}
}

static void try_modify(struct world *w, struct flow *f, unsigned state)
{
	try_change(w, f, state, 0);
}

/* Also of a new flow, if it has no twins. */
static void try_set(struct world *w, struct flow *f, unsigned state)
{
	if (f->live) {
		try_change(w, f, state, 1);
	} else if (!*f->twins) {
		int result = ink_set(w->table, f->id, state);

		assert_int_equal(result, model_modify(&w->model, f->id, state, 1));
		if (result == 0)
			is_stored(f, state);
	}
}

/* What could not be deleted is still there. */
static void try_delete(struct world *w, struct flow *f, unsigned state)
{
	int result;

	if (!f->live)
		return;
	result = ink_delete(w->table, f->id);
	assert_int_equal(result, model_delete(&w->model, f->id));
	assert_true(result == 0 || (result == -EBUSY && (f->doubtful || has_live_twin(f))));
	f->live = result != 0;
}

static void try_lookup(struct world *w, struct flow *f, unsigned state)
{
	judge(w, f, ink_lookup(w->table, f->id));
}

static void try_peek(struct world *w, struct flow *f, unsigned state)
{
	judge(w, f, ink_peek(w->table, f->id));
}

static void try_first(struct world *w, struct flow *f, unsigned state)
{
	ink_answer from, to;
	struct ink_move m;
	int result;

	if (f->live)
		return;
	result = model_first(&w->model, f->id, &from, &to);
	assert_int_equal(ink_step(w->table, f->id, FIRST, &m), result);
	assert_int_equal(m.from, from);
	assert_int_equal(m.to, to);
	if (to == 0)
		is_stored(f, 0);
	else if (result)
		doubt(f);
}

static void try_step(struct world *w, struct flow *f, unsigned state)
{
	unsigned event = state % 3 == 2 ? END : state % 3, last = w->table->states - 1;
	ink_answer before = model_answer(&w->model, f->id);
	struct ink_move m;

	if (!f->live)
		return;
	assert_int_equal(ink_step(w->table, f->id, event, &m), 0);
	assert_int_equal(m.from, before);
	if (before == INK_DONT_KNOW) {
		assert_int_equal(m.to, before);
	} else if (event == END) {
		assert_int_equal(model_delete(&w->model, f->id), 0);
		f->live = 0;
	} else {
		f->state = event == 0 ? 0 : last;
		assert_int_equal(model_modify(&w->model, f->id, f->state, 0), 0);
	}
}

static void operate(struct world *w, size_t operations)
{
	static void (*const tries[])(struct world *, struct flow *, unsigned) = {
		try_insert, try_modify, try_set, try_delete, try_lookup, try_peek, try_first, try_step};

	for (size_t i = 0; i < operations; i++) {
		struct flow *f = &w->flows[random_below(w->n)];
		unsigned state = random_below(w->table->states);

		tries[random_below(sizeof tries / sizeof tries[0])](w, f, state);
	}
	for (size_t i = 0; i < w->n; i++)
		judge(w, &w->flows[i], ink_peek(w->table, w->flows[i].id));
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
	struct world w;

	o.rules = &rules;
	w = world_of(table_with(&o), 2 + random_below(cells * 4 < 600 ? cells * 4 : 600));
	operate(&w, 20 * w.n);
	end_of(&w);
}

static void every_shape_agrees_with_the_model_and_errs_only_by_collision(void **state)
{
	for (size_t round = 0; round < scaled(8); round++)
		for (uint32_t d = 1; d <= 8; d++)
			for (uint32_t f = 2; f <= 32; f += 1 + f / 8)
				try_shape(d, f);
}

/* Long fingerprints and room: not one doubt. */
static void without_collisions_every_answer_is_right(void **state)
{
	struct ink_options o = options(4, 1000, (struct ink_geometry){.d = 3, .b = 101, .h = 6, .f = 32});
	struct ink_rules rules = rules_for(4);
	struct world w;

	o.rules = &rules;
	w = world_of(table_with(&o), 1000);
	operate(&w, scaled(500000));
	assert_int_equal(w.doubts, 0);
	assert_int_equal(w.model.refused, 0);
	end_of(&w);
}

/* -------------------------------------------------------------------- layout */

static uint64_t bits_of(const struct ink_table *t, uint64_t at, unsigned n)
{
	const uint64_t *words = t->body;
	uint64_t value = 0;

	for (unsigned i = 0; i < n; i++)
		value |= (words[(at + i) / 64] >> (at + i) % 64 & 1) << i;
	return value;
}

static void a_cell_is_a_fingerprint_an_age_and_a_state(void **state)
{
	struct ink_options o = options(12, 10, (struct ink_geometry){.d = 3, .b = 7, .h = 5, .f = 13});
	struct ink_table *t;
	uint64_t id = random_word(), at;
	struct home h;

	o.age_bits = 2;
	t = table_with(&o);
	h = home_of(&t->plan.geometry, id);
	at = h.bucket[0] * 5 * 19;
	assert_int_equal(ink_insert(t, id, 9), 0);
	assert_int_equal(bits_of(t, at, 13), h.fingerprint);
	assert_int_equal(bits_of(t, at + 13, 2), 3);
	assert_int_equal(bits_of(t, at + 15, 4), 9);
	assert_int_equal(ink_delete(t, id), 0);
	for (uint64_t i = 0; i < t->body_bytes; i++)
		assert_int_equal(((unsigned char *)t->body)[i], 0);
	ink_free(t);
}

/* Flows that have all their buckets in common fill them from the left, one in each at a time. */
static void the_least_loaded_bucket_is_taken_and_ties_go_left(void **state)
{
	struct ink_table *t;
	struct ink_options o = options(2, 10, (struct ink_geometry){.d = 4, .b = 1, .h = 3, .f = 32});

	t = table_with(&o);
	for (unsigned i = 0; i < 12; i++) {
		uint64_t id = random_word(), at = ((i % 4) * 3 + i / 4) * 34;

		assert_int_equal(ink_insert(t, id, 1), 0);
		assert_int_equal(bits_of(t, at, 32), home_of(&t->plan.geometry, id).fingerprint);
	}
	assert_int_equal(ink_insert(t, random_word(), 1), -ENOSPC);
	ink_free(t);
}

static void a_check_finds_what_is_damaged(void **state)
{
	struct ink_options o = options(2, 10, (struct ink_geometry){.d = 3, .b = 7, .h = 5, .f = 13});
	struct ink_table *t = table_with(&o);
	uint64_t *words = t->body, end = (3 * 7 * 5 * 15 + 63) / 64;

	words[0] = 1; /* state 0 */
	assert_sound(t);
	words[0] = 1 | 2ull << 13; /* the code between the states and don't-know */
	assert_unsound(t, "an entry has a state that the table has not");
	words[0] = 1 | 3ull << 13;
	assert_sound(t);
	words[0] = 1ull << 13;
	assert_unsound(t, "an entry without fingerprint is not empty");
	words[0] = 0;
	words[end - 1] = 1ull << 63;
	assert_unsound(t, "a bit behind the cells is set");
	words[end - 1] = 0;
	words[end] = 1;
	assert_unsound(t, "a bit behind the cells is set");
	words[end] = 0;
	words[end + 1] = 1ull << 20;
	assert_sound(t);
	words[end + 1] = 1ull << 21;
	assert_unsound(t, "a bit behind the cells is set");
	ink_free(t);
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
static void strangers_are_taken_for_flows_as_often_as_planned(void **state)
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
static void the_planned_table_holds_its_flows_in_steady_churn(void **state)
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
		assert_true(ink_peek(t, ids[i]) >= 0);
	assert_int_equal(t->counters.refused, 0);
	free(ids);
	ink_free(t);
}

/* ---------------------------------------------------------- the paper's choices */

/* Many flows with short fingerprints, without and with a side table. */
static void a_side_table_refuses_no_flow_and_answers_nothing_wrong(void **state)
{
	struct ink_rules rules = rules_for(4);
	uint64_t refused[2], doubts[2];

	for (int side = 0; side < 2; side++) {
		struct ink_options o =
			options(4, 1000, (struct ink_geometry){.d = 3, .b = 101, .h = 6, .f = 6});
		struct world w;

		o.geometry.side = side ? 1000 : INK_NO_SIDE;
		o.rules = &rules;
		w = world_of(table_with(&o), 1200);
		operate(&w, 50000);
		refused[side] = w.model.refused;
		doubts[side] = w.doubts;
		end_of(&w);
	}
	assert_true(refused[0] > 100);
	assert_int_equal(refused[1], 0);
	assert_true(doubts[1] < doubts[0]);
}

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

static void inserting_again_keeps_the_loads_more_even(void **state)
{
	uint64_t in_place = refused_in_churn(0), again = refused_in_churn(INK_DLEFT_REINSERT);

	print_message("refused: %llu in place, %llu inserted again\n", (unsigned long long)in_place,
		      (unsigned long long)again);
	assert_true(in_place > 1000);
	assert_true(again < in_place / 10 * 9);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_shape_agrees_with_the_model_and_errs_only_by_collision),
		cmocka_unit_test(without_collisions_every_answer_is_right),
		cmocka_unit_test(a_cell_is_a_fingerprint_an_age_and_a_state),
		cmocka_unit_test(the_least_loaded_bucket_is_taken_and_ties_go_left),
		cmocka_unit_test(a_check_finds_what_is_damaged),
		cmocka_unit_test(strangers_are_taken_for_flows_as_often_as_planned),
		cmocka_unit_test(the_planned_table_holds_its_flows_in_steady_churn),
		cmocka_unit_test(a_side_table_refuses_no_flow_and_answers_nothing_wrong),
		cmocka_unit_test(inserting_again_keeps_the_loads_more_even),
	};

	return cmocka_run_group_tests_name("dleft", tests, NULL, NULL);
}
