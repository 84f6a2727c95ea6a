/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tables beside an exact oracle. Properly used, `line` and `compact` are never
 * wrong about a flow that they hold, up to the last flow of the plan and
 * through any number of replacements. Improperly used, they are wrong as often
 * as the plan says, and sound. In programs (program.h) batches do what single calls
 * do, and instruction sets what portable code does, to the byte; test_snapshot.c
 * compares the files of larger tables.
 */
#include "tests/platform.h"
#include "tests/program.h"
#include "tests/churn.h"
#include "base/pages.h"
#include "table/seqlock.h"
#include "tests/table.h"

/* ------------------------------------------------------------------- the shapes */

struct shape {
	const char *name;
	enum ink_kind kind;
	unsigned writers, states, age_bits;
	double error;
	struct ink_geometry geometry;
	unsigned part; /* of `line` */
};

static const struct shape shapes[] = {
	{"line of 16", INK_LINE, 1, 15, 1, .1, {.h = 16}, 0},
	{"line of 24", INK_LINE, 1, 15, 1, .1, {.h = 24}, 0},
	{"line of 32", INK_LINE, 1, 15, 1, .1, {.h = 32}, 0},
	{"line of 16, 200 states", INK_LINE, 1, 200, 2, .1, {.h = 16}, 0},
	{"line of 24, 3 states", INK_LINE, 1, 3, 0, .1, {.h = 24}, 0},
	{"line of 24, 100 states", INK_LINE, 1, 100, 2, .1, {.h = 24}, 0},
	{"line of 32, 1 state", INK_LINE, 1, 1, 0, .1, {.h = 32}, 0},
	{"line of 16, many writers", INK_LINE, 2, 31, 2, .1, {.h = 16}, 0},
	{"line of 24, many writers", INK_LINE, 2, 15, 1, .1, {.h = 24}, 0},
	{"line of 24, 3 states, many writers", INK_LINE, 2, 3, 0, .1, {.h = 24}, 0},
	{"line of 32, many writers", INK_LINE, 2, 7, 0, .1, {.h = 32}, 0},
	{"line of 24, 7 states", INK_LINE, 1, 7, 1, .1, {.h = 24}, 0},
	{"line of 24, halves", INK_LINE, 1, 15, 1, .1, {.h = 24}, 32},
	{"line of 24, halves, 31 states", INK_LINE, 1, 31, 1, .1, {.h = 24}, 32},
	{"line of 24, halves, 100 states", INK_LINE, 1, 100, 2, .1, {.h = 24}, 32},
	{"line of 32, halves", INK_LINE, 1, 15, 1, .1, {.h = 32}, 32},
	{"line of 24, quarters", INK_LINE, 1, 7, 1, .1, {.h = 24}, 16},
	{"line of 16, quarters", INK_LINE, 1, 31, 2, .1, {.h = 16}, 16},
	{"line of 24, words", INK_LINE, 1, 15, 1, .1, {.h = 24}, 8},
	{"line of 16, words", INK_LINE, 1, 15, 1, .1, {.h = 16}, 8},
	{"line of 32, words", INK_LINE, 1, 2, 0, .1, {.h = 32}, 8},
	{"line of 24, halves, many writers", INK_LINE, 2, 15, 2, .1, {.h = 24}, 32},
	{"line of 24, quarters, many writers", INK_LINE, 2, 15, 1, .1, {.h = 24}, 16},
	{"line of 32, words, many writers", INK_LINE, 2, 7, 0, .1, {.h = 32}, 8},
	{"compact of 4 bits", INK_COMPACT, 1, 3, 1, .3, {.f = 4}, 0},
	{"compact of 5 bits", INK_COMPACT, 1, 255, 0, .3, {.f = 5}, 0},
	{"compact of 7 bits", INK_COMPACT, 1, 15, 2, .1, {.f = 7}, 0},
	{"compact of 8 bits", INK_COMPACT, 1, 15, 1, .1, {.f = 8}, 0},
	{"compact of 8 bits, 200 states", INK_COMPACT, 1, 200, 2, .1, {.f = 8}, 0},
	{"compact of 8 bits, 1 state", INK_COMPACT, 1, 1, 0, .1, {.f = 8}, 0},
	{"compact of 11 bits", INK_COMPACT, 1, 31, 1, .1, {.f = 11}, 0},
	{"compact of 16 bits", INK_COMPACT, 1, 7, 1, .1, {.f = 16}, 0},
	{"compact of 16 bits, 100 states", INK_COMPACT, 1, 100, 2, .1, {.f = 16}, 0},
	{"compact of 20 bits", INK_COMPACT, 1, 63, 0, .1, {.f = 20}, 0},
	{"compact of 24 bits", INK_COMPACT, 1, 2, 2, .1, {.f = 24}, 0},
	{"dleft", INK_DLEFT, 1, 15, 1, .1, {.f = 8, .side = 40}, 0},
	{"exact", INK_EXACT, 1, 15, 1, 0, {.b = 0}, 0},
};

enum { SHAPES = COUNT(shapes), NEVER_WRONG = SHAPES - 2 };

static struct ink_options options_of(const struct shape *s, uint64_t flows, enum ink_simd simd)
{
	return (struct ink_options){.size = sizeof(struct ink_options),
				    .kind = s->kind,
				    .states = s->states,
				    .flows = flows,
				    .error = s->error,
				    .age_bits = s->age_bits,
				    .writers = s->writers,
				    .simd = simd,
				    .seed = 1,
				    .geometry = s->geometry,
				    .part = s->part};
}

/* ------------------------------------------------------------------- proper use */

static void assert_never_wrong(const struct ink_options *o, uint64_t replacements, const char *name)
{
	struct ink_table *t = table_with(o);
	const char *wrong;
	struct churn c;

	churn_begin(&c, t, o, o->flows << 32);
	churn_replace(&c, replacements);
	wrong = churn_end(&c);
	if (wrong)
		fail_msg("%s, %llu flows: %s", name, (unsigned long long)o->flows, wrong);
	ink_free(t);
}

/* The options of the numbers that the project promises. */
static struct ink_options promised(enum ink_kind kind)
{
	static const struct {
		double error;
		uint32_t f;
	} rows[] = {[INK_LINE] = {.001, 0}, [INK_COMPACT] = {.0042, 8}, [INK_DLEFT] = {.001, 0}};
	struct ink_options o = {.size = sizeof o, .kind = kind, .states = 15, .age_bits = 1};

	o.flows = scaled(1000000);
	o.error = rows[kind].error;
	o.geometry.f = rows[kind].f;
	return o;
}

TEST_THAT(a_million_flows_are_never_wrong)
{
	struct ink_options line = promised(INK_LINE), compact = promised(INK_COMPACT), many = line;

	many.writers = 2;
	many.flows /= 5;
	assert_never_wrong(&line, 8 * line.flows, "line");
	line.error = .0001;
	assert_never_wrong(&line, 8 * line.flows, "line, error 1e-4");
	line.error = .001;
	line.age_bits = 2;
	assert_never_wrong(&line, 8 * line.flows, "line, two age bits");
	assert_never_wrong(&compact, 8 * compact.flows, "compact");
	assert_never_wrong(&many, 8 * many.flows, "line, many writers");
}

/* The first forty, where a line more or less is everything; then every so often, others for each shape. */
static uint64_t next_size(uint64_t n, unsigned shape)
{
	return n < 40 ? n + 1 : n + 97 + (n + shape * 7) % 60;
}

/*
 * Small tables are where plans go wrong: few lines, and what is rare in large
 * ones happens to all flows at once.
 */
TEST_THAT(small_tables_are_never_wrong)
{
	uint64_t largest = test_scale() < 1 ? 400 : 2000;

	for (unsigned i = 0; i < NEVER_WRONG; i++)
		for (uint64_t n = 1; n <= largest; n = next_size(n, i)) {
			enum ink_simd simd = (n + i) % 2 ? INK_SIMD_NONE : INK_SIMD_BEST;
			struct ink_options o = options_of(&shapes[i], n, simd);

			assert_never_wrong(&o, 8 * n, shapes[i].name);
		}
}

/* With what the plan chooses when nothing but flows and states are given. */
TEST_THAT(small_tables_that_are_planned_are_never_wrong)
{
	static const enum ink_kind kinds[] = {INK_LINE, INK_COMPACT};
	uint64_t step = test_scale() < 1 ? 37 : 3;

	for (uint64_t n = 1; n <= 2000; n += step) {
		struct ink_options o = {.size = sizeof o, .kind = kinds[n / step % 2], .flows = n};

		o.states = 1 + (unsigned)(n * 7 % INK_MAX_STATES);
		o.age_bits = (unsigned)(n / 2 % 3);
		assert_never_wrong(&o, 8 * n, "planned");
	}
}

/* ----------------------------------------------------------------- improper use */

/* Of 14 states that flows are in, none is this one. */
enum { POISON = 14 };

struct trial {
	struct ink_options options;
	struct ink_table *table;
	struct churn churn;
	double error; /* that a stranger meets */
};

/* Between these lie 99.9 % of the counts, if the plan's error is as good as it must be. */
static void assert_as_planned(const char *what, double count, double expected)
{
	if (count < .9 * expected - spread(expected) || count > 1.05 * expected + spread(expected))
		fail_msg("%s: %.0f, and %.0f were expected", what, count, expected);
}

static uint64_t stranger(uint64_t i)
{
	return id_number(1ull << 62 | i);
}

static void trial_begin(struct trial *t, enum ink_kind kind, uint64_t flows)
{
	struct ink_plan plan = {.size = sizeof plan};
	struct ink_options filled;

	t->options = promised(kind);
	t->options.flows = flows;
	t->options.error = .01;
	filled = t->options;
	filled.states = POISON;
	t->table = table_with(&t->options);
	assert_int_equal(ink_plan(&t->options, &plan, NULL), 0);
	t->error = plan.error;
	churn_begin(&t->churn, t->table, &filled, 0);
	assert_int_equal(t->churn.failed, 0);
}

static void trial_end(struct trial *t)
{
	struct ink_stats stats = stats_of(t->table);
	struct ink_counts counts;

	ink_census(t->table, &counts);
	assert_int_equal(sum_of(&counts), counts.total);
	assert_int_equal(stats.flows, counts.total);
	assert_sound(t->table);
	churn_free(&t->churn);
	ink_free(t->table);
}

/* Flows that no longer answer their state. */
static uint64_t ask_all(struct trial *t)
{
	struct churn *c = &t->churn;

	c->wrong = c->absent = c->unsure = 0;
	for (uint64_t i = 0; i < c->n; i++)
		churn_hear(c, i, ink_peek(c->table, c->ids[i]));
	return c->wrong + c->absent + c->unsure;
}

/* A stranger that is deleted or modified hits another flow with the planned error probability. */
TEST_THAT(strangers_hit_as_many_flows_as_planned)
{
	for (unsigned k = 0; k < 4; k++) {
		struct call c = {.verb = k / 2 ? MODIFY : DELETE, .state = POISON};
		uint64_t tries, hits = 0, hit;
		struct ink_counts counts;
		struct trial t;
		double twice;

		trial_begin(&t, k % 2 ? INK_LINE : INK_COMPACT, scaled(100000));
		tries = (uint64_t)(.02 * (double)t.churn.n / t.error);
		for (uint64_t i = 0; i < tries; i++)
			hits += perform(t.table, stranger(i), &c).error == 0;
		assert_as_planned("victims", (double)hits, (double)tries * t.error);
		ink_census(t.table, &counts);
		hit = ask_all(&t);
		assert_int_equal(hit, k / 2 ? counts.state[POISON] : hits);
		assert_int_equal(k / 2 ? t.churn.wrong : t.churn.absent, hit);
		assert_int_equal(counts.total, t.churn.n - (k / 2 ? 0 : hits));
		twice = (double)hits * (double)hits / (2 * (double)t.churn.n); /* hit two times */
		assert_true((double)(hits - hit) <= twice + spread(twice));
		trial_end(&t);
	}
}

/* A stranger that matches changes the other's state, one that does not is stored. */
TEST_THAT(setting_strangers_changes_as_many_flows_as_planned)
{
	for (unsigned k = 0; k < 2; k++) {
		double expected = 0;
		uint64_t n, hits;
		struct trial t;

		trial_begin(&t, k ? INK_LINE : INK_COMPACT, scaled(100000));
		n = t.churn.n;
		for (uint64_t i = n / 2; i < n; i++)
			assert_int_equal(ink_delete(t.table, t.churn.ids[i]), 0);
		t.churn.n = n / 2;
		for (uint64_t i = 0; i < n / 2; i++) {
			expected += -expm1(log1p(-t.error) * (double)(n / 2 + i) / (double)n);
			assert_int_equal(ink_set(t.table, stranger(i), POISON), 0);
			assert_int_equal(ink_peek(t.table, stranger(i)), POISON);
		}
		hits = n / 2 + n / 2 - stats_of(t.table).flows;
		assert_as_planned("victims", (double)hits, expected);
		assert_true(ask_all(&t) <= hits);
		assert_int_equal(t.churn.absent + t.churn.unsure, 0);
		trial_end(&t);
	}
}

/* Inserts every flow once more, in another state, until the side table is full and for some time after. */
static void insert_all_again(struct trial *t, uint64_t tries)
{
	struct ink_stats before = stats_of(t->table), after;
	uint64_t room = before.side_cells - before.side_flows, there = 0, refused = 0;

	for (uint64_t i = 0; i < tries; i++) {
		int error = ink_insert(t->table, t->churn.ids[i], POISON);

		there += error == -EEXIST;
		refused += error == -ENOSPC;
		if (error == 0)
			t->churn.states[i] = POISON;
	}
	after = stats_of(t->table);
	assert_int_equal(after.side_flows, after.side_cells);
	assert_int_equal(tries, room + there + refused);
	assert_int_equal(after.collisions - before.collisions, room + refused);
	assert_int_equal(after.refused, refused);
}

TEST_THAT(a_flow_inserted_twice_takes_two_entries_until_there_is_no_room)
{
	static const enum ink_full policies[] = {INK_UNSURE, INK_REFUSE, INK_REPLACE};
	struct trial t;

	for (unsigned k = 0; k < 6; k++) {
		uint64_t refused;

		trial_begin(&t, k % 2 ? INK_LINE : INK_COMPACT, 20000);
		t.table->full = policies[k / 2];
		insert_all_again(&t, t.churn.n);
		refused = stats_of(t.table).refused;
		assert_true(refused > 0);
		assert_int_equal(ask_all(&t), policies[k / 2] == INK_REPLACE ? 0 : stats_of(t.table).marked);
		assert_int_equal(t.churn.unsure, stats_of(t.table).marked);
		assert_true(stats_of(t.table).marked <= refused);
		trial_end(&t);
	}
}

/* -------------------------------------------------------------- anything at all */

TEST_THAT(programs_hold)
{
	static uint8_t bytes[3000];
	static struct program p;
	uint64_t calls = 0, known = 0;

	for (uint64_t seed = 0; seed < 200 + scaled(1300); seed++) {
		const char *wrong;

		random_state = id_number(seed);
		for (size_t i = 0; i < sizeof bytes; i++)
			bytes[i] = (uint8_t)(random_word() >> 56);
		wrong = program_run(&p, bytes, sizeof bytes);
		if (wrong)
			fail_msg("program %u, call %u: %s", (unsigned)seed, p.calls, wrong);
		calls += p.calls;
		known += p.known;
	}
	print_message("%llu calls, %.0f flows known on the average\n", (unsigned long long)calls,
		      (double)known / (double)calls);
	assert_true(known > 10 * calls);
}

/* --------------------------------------------------------------------- batches */

/* Up to the last flow of the plan: in batches, in which some wait, and one by one, all are there, in their states. */
TEST_THAT(proper_inserts_are_the_same_in_whichever_order)
{
	struct ink_options o = {
		.size = sizeof o, .kind = INK_LINE, .flows = 50000, .states = 15, .age_bits = 1};
	struct ink_table *batched = table_with(&o), *single = table_with(&o);
	uint64_t ids[250];
	uint8_t states[250];
	struct ink_batch b = {.n = 250, .ids = ids, .states = states};

	for (uint64_t round = 0; round < 1000; round++) {
		for (unsigned i = 0; i < b.n; i++) {
			ids[i] = id_number(round * b.n + i);
			states[i] = (uint8_t)(ids[i] % 15);
			assert_int_equal(ink_insert(single, ids[i], states[i]), 0);
		}
		assert_int_equal(ink_insert_batch(batched, &b), 0);
		for (unsigned i = 0; round >= 199 && i < b.n; i++) { /* from then on they are replaced */
			uint64_t gone = id_number((round - 199) * b.n + i);

			assert_int_equal(ink_peek(batched, gone), gone % 15);
			assert_int_equal(ink_peek(single, gone), gone % 15);
			assert_int_equal(ink_delete(batched, gone), 0);
			assert_int_equal(ink_delete(single, gone), 0);
		}
	}
	assert_true(stats_of(batched).displaced > 1000);
	assert_int_equal(stats_of(batched).flows, stats_of(single).flows);
	assert_sound(batched);
	assert_sound(single);
	ink_free(batched);
	ink_free(single);
}

static void insert_some(struct ink_table *t)
{
	uint64_t ids[1000];
	uint8_t states[1000];
	struct ink_batch b = {.n = 1000, .ids = ids, .states = states};

	for (unsigned i = 0; i < b.n; i++) {
		ids[i] = random_word();
		states[i] = (uint8_t)(i % 15);
	}
	assert_int_equal(ink_insert_batch(t, &b), 0);
	for (unsigned i = 0; i < b.n; i++)
		assert_int_equal(ink_lookup(t, ids[i]), states[i]);
}

/* What was planned is what a table takes besides, and the body. */
static void assert_body(const struct ink_table *t)
{
	uint64_t body = ink_cells_bytes(&t->plan, t->full) + ink_side_bytes(ink_side_form(&t->plan));

	assert_int_equal(t->body_bytes, ink_body_round(body));
}

TEST_THAT(only_tables_too_large_for_the_second_cache_are_far)
{
	struct ink_options o = {.size = sizeof o, .states = 15, .age_bits = 1, .geometry = {.h = 24}};

	for (unsigned k = 0; k < 4; k++) {
		int far = k % 2;
		struct ink_table *t;

		o.kind = k < 2 ? INK_LINE : INK_COMPACT;
		o.geometry.b = (4 << 20) / 64 + (uint32_t)far;
		t = table_with(&o);
		assert_int_equal(t->is_far, far);
		assert_body(t);
		insert_some(t);
		ink_free(t);
	}
}

/* So many lines, and the locks that these have. */
static const struct {
	uint32_t lines, locks;
} locks_of[] = {{1, 16}, {3071, 16}, {3072, 32}, {49151, 256}, {49152, 512}, {1 << 20, 512}};

TEST_THAT(every_lock_has_a_cache_line_of_its_own)
{
	struct ink_options o = {.size = sizeof o,
				.kind = INK_LINE,
				.states = 15,
				.age_bits = 1,
				.writers = 2,
				.geometry = {.h = 24}};

	for (unsigned k = 0; k < COUNT(locks_of); k++) {
		uint32_t locks = locks_of[k].locks;
		struct ink_table *t;

		o.geometry.b = locks_of[k].lines;
		t = table_with(&o);
		assert_body(t);
		if (k)
			insert_some(t);
		for (uint32_t i = 0; i < locks; i++) {
			assert_ptr_equal(ink_lock(t, i), ink_lock(t, i + locks));
			assert_int_equal((char *)ink_lock(t, i) - (char *)ink_lock(t, 0), i * 64);
			assert_int_equal(__atomic_exchange_n(ink_lock(t, i), 0, __ATOMIC_RELAXED), 0);
		}
		assert_int_equal((char *)t->aging.expired - (char *)ink_lock(t, 0), locks * 64);
		ink_free(t);
	}
}

/* A flow with the first line and tag of the given one, and another fingerprint. */
static uint64_t alike_in_the_first_line(const struct ink_line_shape *s, uint64_t id)
{
	struct ink_line_place p = ink_line_place(s, id), q;

	for (;;) {
		uint64_t other = id >> 32 << 32 | (uint32_t)random_word();

		q = ink_line_place(s, other);
		if (q.first == p.first && q.second != q.first && q.fingerprint != p.fingerprint &&
		    !((q.fingerprint ^ p.fingerprint) & s->tag_mask))
			return other;
	}
}

static int is_in_its_first_line(const struct ink_table *t, uint64_t id)
{
	const struct ink_line_shape *s = ink_line_shape_of(t);
	struct ink_line_place p = ink_line_place(s, id);
	struct ink_line_spot spot;

	return ink_line_find(s, (uint64_t *)t->body + p.first * s->words, p.fingerprint, &spot) != 0;
}

enum { IN_A_BATCH = 70 }; /* more than are under way at once */

/* Two such flows, among strangers in a batch: the first of it and one behind, in the second line of its own. */
static struct ink_table *make_hidden(const struct ink_options *o, uint64_t *ids, unsigned behind)
{
	struct ink_table *t = table_with(o);

	for (unsigned i = 0; i < IN_A_BATCH; i++)
		ids[i] = random_word();
	ids[behind] = alike_in_the_first_line(ink_line_shape_of(t), ids[0]);
	assert_int_equal(ink_insert(t, ids[0], 1), 0);
	assert_int_equal(ink_insert(t, ids[behind], 2), 0);
	assert_true(is_in_its_first_line(t, ids[0]));
	assert_false(is_in_its_first_line(t, ids[behind]));
	return t;
}

/*
 * When the second flow is looked for ahead, the first is still there, and its tag is seen first. A modify has to find
 * it behind the other, a delete after the other has gone.
 */
static void hidden_flows_are_found(const struct ink_options *o, unsigned behind, uint8_t is_far)
{
	uint64_t ids[IN_A_BATCH];
	uint8_t states[IN_A_BATCH] = {0};
	int errors[IN_A_BATCH];
	struct ink_batch b = {.n = IN_A_BATCH, .ids = ids, .states = states, .errors = errors};
	struct ink_table *t = make_hidden(o, ids, behind);

	t->is_far = is_far;
	states[behind] = 2;
	ink_modify_batch(t, &b);
	assert_int_equal(errors[0], 0);
	assert_int_equal(errors[behind], 0);
	assert_int_equal(ink_peek(t, ids[0]), 0);
	assert_int_equal(ink_peek(t, ids[behind]), 2);
	ink_delete_batch(t, &b);
	assert_int_equal(errors[0], 0);
	assert_int_equal(errors[behind], 0);
	assert_int_equal(stats_of(t).flows, 0);
	ink_free(t);
}

TEST_THAT(a_flow_hidden_by_another_is_found)
{
	static const enum ink_simd simds[] = {INK_SIMD_NONE, INK_SIMD_BEST};
	struct ink_options o = {.size = sizeof o,
				.kind = INK_LINE,
				.flows = 500,
				.states = 3,
				.error = .1,
				.geometry = {.h = 24}};

	for (unsigned k = 0; k < 8 * (IN_A_BATCH - 1); k++) {
		o.simd = simds[k / 2 % 2];
		o.writers = 1 + k / 4 % 2;
		hidden_flows_are_found(&o, 1 + k / 8, k % 2);
	}
}

TEST_THAT(an_empty_batch_needs_no_arrays)
{
	const struct ink_batch none = {.n = 0};

	for (unsigned k = 0; k < 2 * SHAPES; k++) {
		struct ink_options o = options_of(&shapes[k / 2], 200, INK_SIMD_BEST);
		struct ink_table *t = table_with(&o);

		t->is_far = k % 2;
		for (enum verb verb = 0; verb < VERBS; verb++)
			assert_int_equal(perform_batch(t, verb, &none), 0);
		ink_free(t);
	}
}

int main(void)
{
	return run_suite(NULL);
}
