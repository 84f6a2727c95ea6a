/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Many writers at the same flows of `line`: two step and delete them, two do the
 * same to the same flow at the same moment, two tick while two step. No call may be
 * lost and no flow be there twice.
 *
 * The tables are small, so that the threads meet in the same lines; some have so few
 * lines or fingerprints that a good part of the flows is in the side table.
 */
#include "kinds/line/kind.h"
#include "tests/side_probe.h"
#include "tests/threads.h"

/* Two threads do the same work, and meet as often as they like. */
static void do_both(void *(*work)(void *), void *one, void *other)
{
	crew_new(2);
	crew_add(work, one);
	crew_add(work, other);
	crew_wait(0);
}

/* ------------------------------------------------------------------ a machine */

/*
 * The machine goes round through absent; every state has a row for the start
 * event, so no flow is ever taken for a collision.
 */
enum { M_STATES = 4 };
enum { E_START, E_ADVANCE, E_END, E_WAKE, E_MACHINE };

/* The last state ends by itself, the one before moves to it; used where there are ticks. */
static void machine(struct ink_row rows[][E_MACHINE], struct ink_timing timings[], unsigned states)
{
	struct ink_row none = {.next = INK_NO_ROW};

	for (unsigned s = 0; s < states + 2; s++)
		rows[s][E_START] = rows[s][E_ADVANCE] = rows[s][E_END] = rows[s][E_WAKE] = none;
	for (int16_t s = 0; s < M_STATES; s++) {
		rows[s][E_START].next = 0;
		rows[s][E_ADVANCE].next = s + 1 < M_STATES ? (int16_t)(s + 1) : INK_ABSENT;
		rows[s][E_END].next = INK_ABSENT;
	}
	rows[states][E_START].next = 0;
	rows[states][E_WAKE].next = 2;
	for (unsigned s = 0; s <= states; s++)
		timings[s] = (struct ink_timing){.period = 0, .timeout = INK_ABSENT};
	timings[M_STATES - 2] = (struct ink_timing){.period = 2, .timeout = M_STATES - 1};
	timings[M_STATES - 1] = (struct ink_timing){.period = 1, .timeout = INK_ABSENT};
}

static void machine_table(struct ink_options *o, const uint8_t *starts)
{
	struct ink_row rows[INK_MAX_STATES + 2][E_MACHINE];
	struct ink_timing timings[INK_MAX_STATES + 1];
	struct ink_rules rules = {.size = sizeof rules,
				  .states = o->states,
				  .events = E_MACHINE,
				  .rows = rows[0],
				  .starts = starts,
				  .timings = timings};

	machine(rows, timings, o->states);
	o->size = sizeof *o;
	o->seed = 1;
	o->rules = &rules;
	table = table_with(o);
}

/* -------------------------------------------------------------- what a table holds */

enum { FLOWS = 1000 };

struct crowd {
	uint64_t ids[FLOWS];
	struct ink_line_place places[FLOWS];
	size_t n;
};

/* Of the flows that the cells cannot tell apart. */
struct holding {
	unsigned cells, aside;
	unsigned state[M_STATES];
};

/* Does `line` take the flows there for the same? */
static int same_place(const struct ink_line_place *a, const struct ink_line_place *b)
{
	return a->fingerprint == b->fingerprint && (a->first == b->first || a->first == b->second);
}

/* The first flow that the cells take for one that is there; n if there is none. */
static size_t set_of(const struct crowd *c, struct ink_line_place p)
{
	size_t i = 0;

	while (i < c->n && !same_place(&c->places[i], &p))
		i++;
	return i;
}

static void crowd_add(struct crowd *c, uint64_t id)
{
	c->ids[c->n] = id;
	c->places[c->n++] = ink_line_place(ink_line_shape_of(table), id);
}

static struct holding *hold_entry(const struct crowd *c, struct holding *h, struct ink_line_place place,
				  unsigned code)
{
	static struct holding stray;
	unsigned state = ink_code_state(&table->coding, code);
	size_t set = set_of(c, place);

	if (set == c->n || state >= M_STATES) {
		complain("the table holds what no thread stored");
		return &stray;
	}
	h[set].state[state]++;
	return &h[set];
}

static void hold_word(const struct crowd *c, struct holding *h, uint32_t part, uint64_t word)
{
	const struct ink_line_shape *s = ink_line_shape_of(table);

	for (uint32_t lane = 0; lane < s->lanes; lane++) {
		uint32_t entry = ink_line_entry(s, word, lane * s->column_bits);
		uint32_t fingerprint = ink_line_entry_fp(s, entry);
		struct ink_line_place p = {part, ink_line_other(s, part, fingerprint), fingerprint};

		if (entry)
			hold_entry(c, h, p, ink_line_entry_code(s, entry))->cells++;
	}
}

/*
 * The place of a side entry. It knows the line of its flow's first part, but not the part; the lower half
 * of its id tells the flow, or its twin.
 */
static struct ink_line_place side_place(const struct crowd *c, uint32_t e)
{
	uint64_t id = ink_side_id(&table->side, e);
	size_t i = 0;

	while (i < c->n && (uint32_t)c->ids[i] != (uint32_t)id)
		i++;
	return i < c->n ? c->places[i] : ink_line_place(ink_line_shape_of(table), id);
}

/* The caller has the table alone. */
static void hold_all(const struct crowd *c, struct holding *h)
{
	const struct ink_line_shape *s = ink_line_shape_of(table);
	const uint64_t *words = table->body;
	const struct ink_side *side = &table->side;

	for (uint32_t i = 0; i < s->lines * INK_LINE_WORDS; i++)
		hold_word(c, h, i / s->words, words[i]);
	for (uint32_t e = 1; e <= ink_side_last(side); e++)
		if (ink_side_used(side, e))
			hold_entry(c, h, side_place(c, e), ink_side_code(side, e))->aside++;
}

/* ---------------------------------------------------- two step and delete the same */

struct round_case {
	enum ink_simd simd;
	unsigned states; /* more of them leave fewer bits for fingerprints */
	struct ink_geometry geometry;
	uint64_t operations;
	unsigned tickers;
	int doubles; /* now and then a flow is inserted, be it there or not */
	unsigned part;
};

enum { WRITERS = 2, TICKERS = 2, CHECKS = 32 };

/* The moves of one set of flows, as they were returned; absent is row and column 0. */
struct book {
	uint32_t moved[M_STATES + 1][M_STATES + 1];
	uint32_t deleted;
};

/*
 * Flows that the cells cannot tell apart are one set, named by its first
 * flow. A step of one may step another, so the books are kept by set.
 */
struct ring {
	struct crowd crowd;
	size_t set[FLOWS];
	size_t set_size[FLOWS];
	struct book books[WRITERS][FLOWS];
	uint64_t operations; /* of each writer, between two checks */
	int doubles;
	unsigned tickers;
	struct ink_counts expired[TICKERS];
	uint64_t now;
};

struct member {
	struct ring *ring;
	unsigned number;
};

static void ring_name_flows(struct ring *r)
{
	for (size_t i = 0; i < FLOWS; i++) {
		crowd_add(&r->crowd, id_number(i));
		r->set[i] = set_of(&r->crowd, r->crowd.places[i]);
		r->set_size[r->set[i]]++;
	}
}

static struct ring *ring_new(const struct round_case *c)
{
	static const uint8_t starts[E_MACHINE] = {[E_START] = 1};
	struct ink_options o = {.states = c->states,
				.flows = FLOWS,
				.age_bits = 1,
				.writers = WRITERS,
				.simd = c->simd,
				.geometry = c->geometry,
				.part = c->part};
	struct ring *r = keep_new(1, sizeof *r);

	machine_table(&o, starts);
	r->operations = scaled(c->operations) / WRITERS / CHECKS;
	r->tickers = c->tickers;
	r->doubles = c->doubles;
	ring_name_flows(r);
	return r;
}

static void step_one(struct ring *r, struct book *book, size_t i, unsigned event)
{
	struct ink_move m;
	int error = ink_step(table, r->crowd.ids[i], event, &m);

	if (error || m.from < INK_ABSENT || m.to < INK_ABSENT)
		complain("a step of flow %zu: error %d, from %d to %d", i, error, m.from, m.to);
	else
		book->moved[m.from + 1][m.to + 1]++;
}

static void delete_one(struct ring *r, struct book *book, size_t i)
{
	int error = ink_delete(table, r->crowd.ids[i]);

	if (error && error != -ENOENT)
		complain("a delete of flow %zu: error %d", i, error);
	book->deleted += error == 0;
}

/* -EEXIST: it was in the cells and in the side table already. */
static void insert_again(struct ring *r, struct book *book, size_t i)
{
	int error = ink_insert(table, r->crowd.ids[i], 1);

	if (error && error != -EEXIST)
		complain("an insert of flow %zu: error %d", i, error);
	book->moved[0][1 + 1] += error == 0;
}

/* Sets with odd names are never deleted, so that their books must be right to the state. */
static void go_round(struct ring *r, unsigned number, uint64_t *dice)
{
	size_t i = below_from(dice, FLOWS), set = r->set[i];
	unsigned event = below_from(dice, E_MACHINE + 1);
	struct book *book = &r->books[number][set];

	if (event < E_MACHINE)
		step_one(r, book, i, event);
	else if (r->doubles && below_from(dice, 4) == 0)
		insert_again(r, book, i);
	else if (set % 2 == 0)
		delete_one(r, book, i);
	else if (ink_lookup(table, r->crowd.ids[i]) < INK_ABSENT)
		complain("flow %zu is unsure", i);
}

/* ------------------------------------------------------------- their books */

static int64_t entered_less_left(const struct ring *r, size_t set, unsigned state)
{
	int64_t sum = 0;

	for (unsigned w = 0; w < WRITERS; w++)
		for (unsigned other = 0; other <= M_STATES; other++)
			sum += (int64_t)r->books[w][set].moved[other][state + 1] -
			       r->books[w][set].moved[state + 1][other];
	return sum;
}

static int64_t deleted_of(const struct ring *r, size_t set)
{
	int64_t sum = 0;

	for (unsigned w = 0; w < WRITERS; w++)
		sum += r->books[w][set].deleted;
	return sum;
}

/*
 * Never two entries for a flow: for a set one in the cells, the others of it
 * in the side table. An insert of a flow that is there already adds one to each.
 */
static void check_copies(const struct ring *r, const struct holding *h, size_t set)
{
	if (h->cells > 1 || h->aside + (r->doubles ? 0 : h->cells) > r->set_size[set])
		complain("flow %zu: %u entries in the cells, %u in the side table, for %zu flows", set,
			 h->cells, h->aside, r->set_size[set]);
}

/* Entered less left is what is there, except for deletes: these do not report the state. */
static void check_book(const struct ring *r, const struct holding *h, size_t set)
{
	int64_t deleted = deleted_of(r, set);

	for (unsigned s = 0; s < M_STATES; s++) {
		int64_t missing = entered_less_left(r, set, s) - h->state[s];

		if (missing < 0 || missing > deleted)
			complain("flow %zu: %d too few in state %u", set, (int)missing, s);
		deleted -= missing;
	}
	if (deleted)
		complain("flow %zu: %d deletes removed nothing", set, (int)deleted);
}

/* Time moves flows from the last state but one to the last, and from there to absent. */
static void count_expired(const struct ring *r, int64_t missing[])
{
	for (unsigned k = 0; k < TICKERS; k++) {
		missing[M_STATES - 2] -= (int64_t)r->expired[k].state[M_STATES - 2];
		missing[M_STATES - 1] += (int64_t)r->expired[k].state[M_STATES - 2];
		missing[M_STATES - 1] -= (int64_t)r->expired[k].state[M_STATES - 1];
	}
}

/* With ticks there is one book for all: a tick does not report which flow expired. */
static void check_book_of_all(const struct ring *r, const struct holding *h)
{
	int64_t missing[M_STATES] = {0}, deleted = 0;

	for (size_t set = 0; set < FLOWS; set++) {
		deleted += deleted_of(r, set);
		for (unsigned s = 0; s < M_STATES; s++)
			missing[s] += entered_less_left(r, set, s) - h[set].state[s];
	}
	count_expired(r, missing);
	for (unsigned s = 0; s < M_STATES; s++) {
		if (missing[s] < 0 || missing[s] > deleted)
			complain("%d too few in state %u", (int)missing[s], s);
		deleted -= missing[s];
	}
	if (deleted)
		complain("%d deletes removed nothing", (int)deleted);
}

static void check_totals(void)
{
	struct ink_counts counts;
	struct ink_why why;

	if (ink_check(table, &why) != 0)
		complain("%s", why.text);
	ink_census(table, &counts);
	if (counts.total > FLOWS || counts.unsure)
		complain("%d flows, of which %d unsure", (int)counts.total, (int)counts.unsure);
}

/* The caller has the table alone. */
static void check_ring(const struct ring *r)
{
	struct holding h[FLOWS] = {{0}};

	check_totals();
	hold_all(&r->crowd, h);
	for (size_t set = 0; set < FLOWS; set++) {
		check_copies(r, &h[set], set);
		if (!r->tickers)
			check_book(r, &h[set], set);
	}
	if (r->tickers)
		check_book_of_all(r, h);
}

/* ------------------------------------------------------------- their threads */

/* Without ticks, the writers meet now and then, and the first of them checks the table. */
static void *go_round_all_the_time(void *with)
{
	struct member *me = with;
	struct ring *r = me->ring;
	uint64_t dice = me->number + 1;

	for (unsigned check = 0; check < CHECKS; check++) {
		meet();
		for (uint64_t i = 0; i < r->operations && !has_failed(); i++)
			go_round(r, me->number, &dice);
		meet();
		if (me->number == 0 && !r->tickers)
			check_ring(r);
	}
	return NULL;
}

static void add_expired(struct ink_counts *sum, const struct ink_counts *more)
{
	sum->total += more->total;
	for (unsigned s = 0; s < M_STATES; s++)
		sum->state[s] += more->state[s];
}

/* Whole ticks and portions; time goes on by one, or by more looks than an entry survives. */
static int tick_somehow(struct ring *r, uint64_t *dice, struct ink_counts *expired)
{
	uint64_t now = __atomic_add_fetch(&r->now, below_from(dice, 8) ? 1 : 5, __ATOMIC_RELAXED);

	if (below_from(dice, 2))
		return ink_tick(table, now, expired);
	return ink_tick_portion(table, now, 1 + below_from(dice, 500), expired);
}

/* -EBUSY: the other thread is at it; -EINVAL: it came first with a later time. */
static void *tick_all_the_time(void *with)
{
	struct member *me = with;
	struct ring *r = me->ring;
	uint64_t dice = 100 + me->number;

	while (goes_on()) {
		struct ink_counts expired;
		int result = tick_somehow(r, &dice, &expired);

		if (result >= 0)
			add_expired(&r->expired[me->number], &expired);
		else if (result != -EBUSY && result != -EINVAL)
			complain("a tick failed: %d", result);
		if (below_from(&dice, 4) == 0)
			sched_yield();
	}
	return NULL;
}

static struct ring *run_ring(const struct round_case *c)
{
	struct member members[WRITERS + TICKERS];
	struct ring *r;

	skip_without(c->simd);
	r = ring_new(c);
	crew_new(WRITERS);
	for (unsigned i = 0; i < WRITERS + TICKERS; i++)
		members[i] = (struct member){r, i % WRITERS};
	for (unsigned i = 0; i < r->tickers; i++)
		crew_add(tick_all_the_time, &members[WRITERS + i]);
	for (unsigned i = 0; i < WRITERS; i++)
		crew_add(go_round_all_the_time, &members[i]);
	crew_wait(r->tickers);
	return r;
}

static void two_threads_step_and_delete_the_same_flows(void **state)
{
	const struct round_case *c = *state;

	run_ring(c);
	assert_true(!c->geometry.side || stats_of(table).overflowed > 0 || stats_of(table).collisions > 0);
}

static void two_threads_tick_while_two_step(void **state)
{
	struct ring *r = run_ring(*state);

	check_ring(r);
	assert_no_failure();
	assert_true(r->expired[0].total + r->expired[1].total > 0);
	assert_int_equal(stats_of(table).expired, r->expired[0].total + r->expired[1].total);
}

/* Whether two threads meet in a tick is chance, so the test plays one of them. */
static void a_tick_beside_another_is_busy(void **state)
{
	struct ink_options o = {.size = sizeof o, .states = 2, .flows = 100, .writers = 2, .seed = 1};

	table = table_with(&o);
	table->aging.busy = 1;
	assert_int_equal(ink_tick(table, 1, NULL), -EBUSY);
	assert_int_equal(ink_tick_portion(table, 1, 1, NULL), -EBUSY);
	table->aging.busy = 0;
	assert_int_equal(stats_of(table).now, 0);
	assert_int_equal(ink_tick(table, 1, NULL), 0);
	assert_int_equal(stats_of(table).now, 1);
}

/* ------------------------------------------- the same flow at the same moment */

enum { TWICE = 500 };

enum way { BY_INSERT, BY_SET, BY_STEP };

struct twice_case {
	enum ink_simd simd;
	enum way way;
	struct ink_geometry geometry;
	int twins; /* one thread takes flows that the cells cannot tell from those of the other */
	unsigned part;
};

struct twice {
	enum way way;
	struct crowd crowd;   /* none of which the cells take for another */
	uint64_t twin[TWICE]; /* the second thread takes these */
	uint64_t rounds;
	uint64_t stored, removed; /* in this round, as the calls said */
	uint64_t steps[2];        /* how far each thread is */
};

struct one_of_two {
	struct twice *both;
	unsigned number;
	uint64_t dice;
};

enum { PATIENCE = 1000 }; /* looks; an other thread that runs is there after a few */

/* Waits for the other thread if that runs at all; now one is a little ahead, now the other. */
static void keep_step(struct one_of_two *me)
{
	uint64_t mine = __atomic_add_fetch(&me->both->steps[me->number], 1, __ATOMIC_RELAXED);
	const uint64_t *other = &me->both->steps[1 - me->number];
	volatile uint32_t delay = below_from(&me->dice, 50);

	for (unsigned looks = 0; looks < PATIENCE && __atomic_load_n(other, __ATOMIC_RELAXED) < mine; looks++)
		;
	while (delay)
		delay--;
}

static unsigned step_from_to(struct ink_table *t, uint64_t id, unsigned event)
{
	struct ink_move m;

	if (ink_step(t, id, event, &m) != 0)
		complain("a step failed");
	return m.from != m.to;
}

/* Did it store something? ink_set does not tell. */
static unsigned store_one(struct twice *b, uint64_t id, unsigned number)
{
	int error;

	if (b->way == BY_STEP)
		return step_from_to(table, id, E_START);
	error = b->way == BY_SET ? ink_set(table, id, number) : ink_insert(table, id, number);
	if (error && (error != -EEXIST || b->way == BY_SET))
		complain("a flow was not stored: %d", error);
	return error == 0;
}

static unsigned remove_one(struct twice *b, uint64_t id)
{
	return b->way == BY_STEP ? step_from_to(table, id, E_END) : ink_delete(table, id) == 0;
}

/* Inserted twice, which is improper, it may be in the cells and in the side table; else it is in one of them. */
static void check_stored(struct twice *b)
{
	struct holding h[TWICE] = {{0}};
	struct ink_counts counts;

	ink_census(table, &counts);
	if (b->way == BY_SET)
		b->stored = TWICE;
	if (counts.total != b->stored || counts.unsure)
		complain("%d were stored, %d are there", (int)b->stored, (int)counts.total);
	hold_all(&b->crowd, h);
	for (size_t i = 0; i < TWICE; i++)
		if (h[i].cells > 1 || h[i].aside > 1 || (b->way != BY_INSERT && h[i].cells + h[i].aside > 1))
			complain("flow %zu: %u entries in the cells, %u in the side table", i, h[i].cells,
				 h[i].aside);
}

static void check_removed(struct twice *b)
{
	struct ink_counts counts;
	struct ink_why why;

	ink_census(table, &counts);
	if (counts.total || b->removed != b->stored)
		complain("%d were stored, %d removed, %d are there", (int)b->stored, (int)b->removed,
			 (int)counts.total);
	if (ink_check(table, &why) != 0)
		complain("%s", why.text);
	b->stored = b->removed = 0;
}

static void *do_the_same(void *with)
{
	struct one_of_two *me = with;
	struct twice *b = me->both;
	const uint64_t *ids = me->number ? b->twin : b->crowd.ids;

	for (uint64_t round = 0; round < b->rounds; round++) {
		for (size_t i = 0; i < TWICE; i++) {
			keep_step(me);
			__atomic_fetch_add(&b->stored, store_one(b, ids[i], me->number), __ATOMIC_RELAXED);
		}
		meet();
		if (me->number == 0)
			check_stored(b);
		meet();
		for (size_t i = 0; i < TWICE; i++) {
			keep_step(me);
			__atomic_fetch_add(&b->removed, remove_one(b, ids[i]), __ATOMIC_RELAXED);
		}
		meet();
		if (me->number == 0)
			check_removed(b);
		meet();
	}
	return NULL;
}

/* The same fingerprint, and the parts the other way round. */
static uint64_t twin_of(const struct ink_table *t, uint64_t id)
{
	uint64_t parts = ink_line_shape_of(t)->parts,
		 second = ink_line_place(ink_line_shape_of(t), id).second;

	return ((second << 32) + parts - 1) / parts << 32 | (id & 0xffffffff);
}

static void twice_name_flows(struct twice *b, int twins)
{
	for (uint64_t next = 0; b->crowd.n < TWICE; next++) {
		uint64_t id = id_number(next);

		if (set_of(&b->crowd, ink_line_place(ink_line_shape_of(table), id)) < b->crowd.n)
			continue;
		b->twin[b->crowd.n] = twins ? twin_of(table, id) : id;
		crowd_add(&b->crowd, id);
	}
}

static void two_threads_do_the_same_to_the_same_flows(void **state)
{
	const struct twice_case *c = *state;
	struct ink_options o = {.states = M_STATES,
				.flows = TWICE,
				.writers = 2,
				.simd = c->simd,
				.geometry = c->geometry,
				.part = c->part};
	struct twice b = {.way = c->way, .rounds = scaled(500)};
	struct one_of_two threads[2] = {{&b, 0, 1}, {&b, 1, 2}};

	skip_without(c->simd);
	machine_table(&o, NULL);
	twice_name_flows(&b, c->twins);
	do_both(do_the_same, &threads[0], &threads[1]);
}

/* ------------------------------------------------------- a narrow side table */

/*
 * Where the side table keeps four bits of an id, flows that it cannot tell apart have other second lines, and so
 * other locks. Two threads insert such flows into tables that are full; none must be there twice.
 */
static void narrow_table(void)
{
	struct ink_options o = {.size = sizeof o,
				.kind = INK_LINE,
				.states = 250,
				.writers = 2,
				.seed = 1,
				.geometry = {.b = 5, .h = 16, .side = 200, .side_id = 4}};

	ink_free(table);
	table = ink_create(&o, NULL);
	for (uint64_t i = 0; table && i < 80; i++)
		ink_insert(table, id_number(1000000 + i), 1);
}

/* `with`: the number of the thread. */
static void *insert_narrowly(void *with)
{
	unsigned mine = *(const unsigned *)with;
	struct ink_why why = {""};

	for (uint64_t round = 0; round < scaled(2000); round++) {
		if (mine == 0)
			narrow_table();
		meet();
		for (uint64_t i = 0; table && i < 100; i++)
			ink_insert(table, id_number(200 * round + 100 * mine + i), 2);
		meet();
		if (mine == 0 && (!table || ink_check(table, &why)))
			complain("round %llu: %s", (unsigned long long)round, table ? why.text : "no table");
	}
	return NULL;
}

static void flows_that_a_narrow_side_table_cannot_tell_apart_are_there_once(void **state)
{
	do_both(insert_narrowly, &(unsigned){0}, &(unsigned){1});
}

/* ------------------------------------------------------------------ all of it */

#define STEP(about, ...) CASE(two_threads_step_and_delete_the_same_flows, about, round_case, __VA_ARGS__)
#define TICK(about, ...) CASE(two_threads_tick_while_two_step, about, round_case, __VA_ARGS__)
#define BOTH(about, ...) CASE(two_threads_do_the_same_to_the_same_flows, about, twice_case, __VA_ARGS__)

/* Geometries. */
#define ROOM_ASIDE .side = FLOWS
#define CROWDED .b = 12, .h = 24, .side = FLOWS  /* so few lines that most flows overflow */
#define CONFUSED .b = 12, .h = 32, .side = FLOWS /* so few fingerprints that most flows have a double */
#define WIDE .b = 4000, .h = 24                  /* so many lines that the tickers are busy all the time */
#define LARGE .b = 270000, .h = 24               /* so many lines that there are the most locks */

#define M 1000000

int main(void)
{
	const struct CMUnitTest tests[] = {
		STEP("best", INK_SIMD_BEST, M_STATES, {0}, 50 * M, 0, 0, 0),
		STEP("portable", INK_SIMD_NONE, M_STATES, {0}, 4 * M, 0, 0, 0),
		STEP("beyond the caches, best", INK_SIMD_BEST, M_STATES, {LARGE}, 2 * M, 0, 0, 0),
		STEP("beyond the caches, portable", INK_SIMD_NONE, M_STATES, {LARGE}, 1 * M, 0, 0, 0),
		STEP("crowded, best", INK_SIMD_BEST, M_STATES, {CROWDED}, 2 * M, 0, 0, 0),
		STEP("crowded, portable", INK_SIMD_NONE, M_STATES, {CROWDED}, 2 * M, 0, 0, 0),
		STEP("halves, best", INK_SIMD_BEST, M_STATES, {CROWDED}, 2 * M, 0, 0, 32),
		STEP("quarters, portable", INK_SIMD_NONE, M_STATES, {CROWDED}, 1 * M, 0, 0, 16),
		STEP("words, best", INK_SIMD_BEST, M_STATES, {CROWDED}, 2 * M, 0, 0, 8),
		STEP("confused, best", INK_SIMD_BEST, 250, {CONFUSED}, 2 * M, 0, 1, 0),
		STEP("confused, portable", INK_SIMD_NONE, 250, {CONFUSED}, 2 * M, 0, 1, 0),
		TICK("wide, best", INK_SIMD_BEST, M_STATES, {WIDE}, 4 * M, TICKERS, 0, 0),
		TICK("crowded, portable", INK_SIMD_NONE, M_STATES, {CROWDED}, 2 * M, TICKERS, 0, 0),
		TICK("words, wide, best", INK_SIMD_BEST, M_STATES, {WIDE}, 2 * M, TICKERS, 0, 8),
		ALONE(a_tick_beside_another_is_busy),
		BOTH("insert", INK_SIMD_BEST, BY_INSERT, {ROOM_ASIDE}, 0, 0),
		BOTH("insert, crowded, portable", INK_SIMD_NONE, BY_INSERT, {CROWDED}, 0, 0),
		BOTH("insert, twins", INK_SIMD_BEST, BY_INSERT, {ROOM_ASIDE}, 1, 0),
		BOTH("insert, twins, portable", INK_SIMD_NONE, BY_INSERT, {ROOM_ASIDE}, 1, 0),
		BOTH("insert, words, twins", INK_SIMD_BEST, BY_INSERT, {ROOM_ASIDE}, 1, 8),
		BOTH("insert, halves, crowded", INK_SIMD_NONE, BY_INSERT, {CROWDED}, 0, 32),
		BOTH("set", INK_SIMD_BEST, BY_SET, {0}, 0, 0),
		BOTH("set, twins", INK_SIMD_BEST, BY_SET, {0}, 1, 0),
		BOTH("set, crowded, portable", INK_SIMD_NONE, BY_SET, {CROWDED}, 0, 0),
		BOTH("step, portable", INK_SIMD_NONE, BY_STEP, {0}, 0, 0),
		BOTH("step, twins, portable", INK_SIMD_NONE, BY_STEP, {0}, 1, 0),
		BOTH("step, crowded", INK_SIMD_BEST, BY_STEP, {CROWDED}, 0, 0),
		ALONE(flows_that_a_narrow_side_table_cannot_tell_apart_are_there_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
