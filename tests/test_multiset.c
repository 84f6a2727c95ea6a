/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The kind `kbf`: its cells (multiset.h) by exhaustion, its odds (odds.h) by
 * counting, and the table beside arrays that know every flow. Its snapshots are
 * also in test_embed.c.
 */
#include "kinds/sums/sums.h"
#include "tests/help.h"

#include "tests/churn.h"
#include "tests/image.h"
#include "tests/interval.h"
#include "kinds/sums/odds.h"
#include "tests/scratch.h"
#include "tests/test.h"

/* ------------------------------------------------------------------ elements */

static int by_value(const void *a, const void *b)
{
	unsigned x = *(const unsigned *)a, y = *(const unsigned *)b;

	return (x > y) - (x < y);
}

/* The sums of all multisets of two or three of the elements are different. */
static void assert_all_sums_differ(const struct ink_multiset_shape *s, unsigned size)
{
	unsigned *sums = malloc(sizeof *sums * 4096), n = 0;

	assert_non_null(sums);
	for (unsigned i = 0; i < s->states; i++)
		for (unsigned j = i; j < s->states; j++)
			for (unsigned k = j; k < (size == 3 ? s->states : j + 1); k++)
				sums[n++] =
					(s->element[i] + s->element[j] + (size == 3 ? s->element[k] : 0u)) %
					INK_MULTISET_GROUP;
	qsort(sums, n, sizeof *sums, by_value);
	for (unsigned i = 1; i < n; i++)
		assert_int_not_equal(sums[i - 1], sums[i]);
	free(sums);
}

TEST_THAT(multisets_of_three_of_16_states_and_of_two_of_64_have_different_sums)
{
	for (unsigned states = 1; states <= INK_MULTISET_STATES; states++) {
		struct ink_multiset_shape s = ink_multiset_shape(states);

		assert_all_sums_differ(&s, 2);
		if (states <= 16)
			assert_all_sums_differ(&s, 3);
	}
}

/* --------------------------------------------------------------------- masks */

/* Marks, for every sum that `count` more elements can lead to, the states that were used on the way. */
static void mark_multisets(const struct ink_multiset_shape *s, unsigned count, unsigned sum, uint64_t used,
			   uint64_t *masks)
{
	if (!count) {
		masks[sum % INK_MULTISET_GROUP] |= used;
		return;
	}
	for (unsigned i = 0; i < s->states; i++)
		mark_multisets(s, count - 1, sum + s->element[i], used | 1ull << i, masks);
}

/* To be freed. */
static unsigned char *masks_of(const struct ink_multiset_shape *s)
{
	unsigned char *masks = calloc(1, ink_multiset_masks_bytes(s->max_count, s->mask_bytes));

	assert_non_null(masks);
	ink_multiset_fill_masks(s, masks);
	return masks;
}

TEST_THAT(masks_have_the_states_of_all_multisets_with_that_sum)
{
	for (unsigned states = 1; states <= 17; states += states < 5 ? 1 : 4) {
		struct ink_multiset_shape s = ink_multiset_shape(states);
		unsigned char *masks = masks_of(&s);

		for (unsigned count = 1; count <= s.max_count && count <= 5; count++) {
			uint64_t expected[INK_MULTISET_GROUP] = {0};

			mark_multisets(&s, count, 0, 0, expected);
			for (unsigned sum = 0; sum < INK_MULTISET_GROUP; sum++)
				assert_int_equal(ink_multiset_admits(&s, masks, ink_multiset_of(count, sum)),
						 expected[sum]);
		}
		assert_int_equal(ink_multiset_admits(&s, masks, 0), 0);
		assert_int_equal(ink_multiset_admits(&s, masks, ink_multiset_of(s.max_count + 1, 7)), s.all);
		free(masks);
	}
}

TEST_THAT(what_is_put_in_can_be_taken_out_in_any_order)
{
	struct ink_multiset_shape s = ink_multiset_shape(12);

	for (unsigned round = 0; round < 1000; round++) {
		unsigned in[14], n = random_below(15);
		ink_multiset cell = 0;

		for (unsigned i = 0; i < n; i++)
			cell = ink_multiset_add(&s, cell, in[i] = random_below(12));
		assert_int_equal(ink_multiset_count(cell), n);
		while (n) {
			unsigned i = random_below(n);

			cell = ink_multiset_remove(&s, cell, in[i]);
			in[i] = in[--n];
		}
		assert_int_equal(cell, 0);
	}
}

TEST_THAT(a_count_of_15_stays_and_tells_nothing)
{
	struct ink_multiset_shape s = ink_multiset_shape(4);
	unsigned char *masks = masks_of(&s);
	ink_multiset cell = 0;

	for (unsigned i = 0; i < 20; i++)
		cell = ink_multiset_add(&s, cell, 3);
	assert_int_equal(ink_multiset_count(cell), INK_MULTISET_SATURATED);
	assert_int_equal(ink_multiset_remove(&s, cell, 3), cell);
	assert_int_equal(ink_multiset_admits(&s, masks, cell), s.all);
	free(masks);
}

/* ----------------------------------------------------------------- the table */

static struct ink_options kbf_options(unsigned states, uint64_t flows, double error)
{
	return (struct ink_options){.size = sizeof(struct ink_options),
				    .kind = INK_KBF,
				    .states = states,
				    .flows = flows,
				    .error = error,
				    .seed = 1};
}

static void make_kbf(unsigned states, uint64_t flows, double error)
{
	struct ink_options o = kbf_options(states, flows, error);

	make_from(&o);
}

static void begin_churn(struct churn *c, unsigned states, uint64_t n, double error)
{
	struct ink_options o = kbf_options(states, n, error);

	make_from(&o);
	churn_begin(c, t, &o, 0);
}

static void end_churn(struct churn *c)
{
	assert_sound(t);
	churn_free(c);
}

/* How many live flows read "don't know" now; none may read anything wrong. */
static uint64_t unsure_now(struct churn *c)
{
	uint64_t before = c->unsure;

	for (uint64_t i = 0; i < c->n; i++)
		churn_hear(c, i, ink_peek(t, c->ids[i]));
	assert_int_equal(c->wrong + c->absent, 0);
	return c->unsure - before;
}

static void assert_near(uint64_t count, double expected, const char *what)
{
	if (fabs((double)count - expected) > 2.58 * sqrt(expected) + 1)
		fail_msg("%s: %llu, expected %.1f", what, (unsigned long long)count, expected);
}

/* --------------------------------------------------------- errors and doubts */

enum { TABLES = 20, FLOWS_EACH = 60000 };

/* The flows of a table, from number `first` on; their states follow from their numbers. */
struct flows {
	uint64_t first, n;
	unsigned states;
};

static unsigned state_of(const struct flows *f, uint64_t i)
{
	return (unsigned)(((id_number(~(f->first + i)) >> 32) * f->states) >> 32);
}

static void insert_all(const struct flows *f)
{
	for (uint64_t i = 0; i < f->n; i++)
		assert_int_equal(ink_insert(t, id_number(f->first + i), state_of(f, i)), 0);
}

/* As new, without another plan. Cells that are stuck could not be emptied by deleting. */
static void empty_all_cells(void)
{
	memset(ink_sums_shape_of(t)->cells, 0, t->plan.geometry.m * sizeof(ink_multiset));
	assert_int_equal(stats_now().occupied, 0);
}

static double share_in_doubt(const struct flows *f)
{
	uint64_t doubts = 0;

	for (uint64_t i = 0; i < f->n; i++) {
		ink_answer answer = ink_peek(t, id_number(f->first + i));

		doubts += answer == INK_DONT_KNOW;
		if (answer != INK_DONT_KNOW && answer != (ink_answer)state_of(f, i))
			fail_msg("a live flow is answered wrongly");
	}
	return (double)doubts / (double)f->n;
}

static double share_of_strangers(uint64_t first, uint64_t n)
{
	uint64_t known = 0;

	for (uint64_t i = 0; i < n; i++)
		known += ink_peek(t, id_number(first + i)) != INK_ABSENT;
	return (double)known / (double)n;
}

/* So many strangers that in all tables some more are met than it takes to judge. */
static uint64_t strangers_for(double error)
{
	double enough = 1.2 * FEWEST_EVENTS / (error * TABLES), n = (double)scaled(FLOWS_EACH);

	return (uint64_t)(enough > n && test_scale() == 1 ? enough : n);
}

struct formulas {
	struct tally errors, doubts;
	uint64_t next; /* flow */
};

static struct claim claim_of(const char *point, double planned, uint64_t asked)
{
	return (struct claim){point, planned, planned * (double)(TABLES * asked)};
}

static void measure_point(struct formulas *f, unsigned states, double ceiling)
{
	struct flows flows = {.n = scaled(FLOWS_EACH), .states = states};
	struct sample errors = {0}, doubts = {0};
	uint64_t strangers;
	char point[40];

	snprintf(point, sizeof point, "%u states, error %g", states, ceiling);
	make_kbf(states, flows.n, ceiling);
	strangers = strangers_for(t->plan.error);
	for (unsigned i = 0; i < TABLES; i++, f->next += strangers) {
		flows.first = f->next;
		f->next += flows.n;
		insert_all(&flows);
		sample_add(&doubts, share_in_doubt(&flows));
		sample_add(&errors, share_of_strangers(f->next, strangers));
		empty_all_cells();
	}
	tally_add(&f->doubts, &doubts, claim_of(point, t->plan.unsure, flows.n));
	tally_add(&f->errors, &errors, claim_of(point, t->plan.error, strangers));
	if (states == 1)
		assert_true(t->plan.unsure == 0 && sample_mean(&doubts) == 0);
}

/* 30 points of both; one state has no doubts. */
TEST_THAT(errors_and_doubts_are_as_planned)
{
	static const unsigned states[] = {1, 2, 3, 5, 9, 12, 15, 20, 31, 64};
	struct formulas f = {.errors = {.formula = "errors"}, .doubts = {.formula = "doubts"}};

	for (unsigned i = 0; i < COUNT(states); i++)
		for (double ceiling = .1; ceiling > 5e-4; ceiling /= 10)
			measure_point(&f, states[i], ceiling);
	assert_tally(&f.errors);
	assert_tally(&f.doubts);
}

TEST_THAT(no_answer_about_a_live_flow_is_ever_wrong)
{
	static const unsigned states[] = {2, 4, 15, 60};

	for (unsigned i = 0; i < COUNT(states); i++) {
		struct churn c;

		begin_churn(&c, states[i], 20000, 1e-2);
		churn_replace(&c, scaled(300000));
		assert_int_equal(c.wrong + c.absent + c.failed, 0);
		unsure_now(&c);
		end_churn(&c);
	}
}

TEST_THAT(after_20n_replacements_doubts_are_as_rare_as_in_a_fresh_fill)
{
	uint64_t fresh, after;
	struct churn c;

	begin_churn(&c, 9, 50000, 1e-2);
	fresh = unsure_now(&c);
	for (uint64_t i = 0; i < 20 * c.n; i++) {
		uint64_t k = random_below(c.n);

		churn_done(&c, ink_delete(t, c.ids[k]));
		churn_insert(&c, k);
	}
	assert_int_equal(c.failed, 0);
	after = unsure_now(&c);
	assert_true((double)after <= 2 * (double)fresh + spread((double)fresh));
	assert_near(fresh, t->plan.unsure * (double)c.n, "don't know, fresh");
	assert_near(after, t->plan.unsure * (double)c.n, "don't know after the churn");
	end_churn(&c);
}

/* Half as many flows again as planned: more doubts, nothing wrong; and it heals. */
TEST_THAT(overload_heals_when_flows_leave)
{
	uint64_t planned, over, healed;
	struct churn c;

	begin_churn(&c, 9, 30000, 1e-2);
	planned = unsure_now(&c);
	for (uint64_t i = 0; i < c.n / 2; i++)
		assert_int_equal(ink_insert(t, id_number(UINT64_C(1) << 50 | i), 1), 0);
	over = unsure_now(&c);
	assert_true(over > 2 * planned);
	for (uint64_t i = 0; i < c.n / 2; i++)
		ink_delete_in(t, id_number(UINT64_C(1) << 50 | i), 1);
	ink_tick(t, 1, NULL);
	healed = unsure_now(&c);
	assert_int_equal(healed, planned);
	end_churn(&c);
}

/* A flow that reads "don't know". */
static uint64_t find_unsure(const struct churn *c)
{
	for (uint64_t i = 0; i < c->n; i++)
		if (ink_peek(t, c->ids[i]) == INK_DONT_KNOW)
			return i;
	fail_msg("no flow reads don't-know");
	return 0;
}

/* As others leave, the cells tell again: deferred changes are applied, and the side table empties. */
static void assert_all_can_leave(struct churn *c)
{
	for (uint64_t i = 0; i < c->n; i++)
		churn_done(c, ink_delete(t, c->ids[i]));
	assert_int_equal(c->failed, 0);
	ink_tick(t, 1, NULL);
	assert_int_equal(stats_now().side_flows + stats_now().occupied, 0);
}

TEST_THAT(what_is_not_known_is_changed_and_deleted_by_the_side_table)
{
	struct churn c;
	uint64_t i;

	begin_churn(&c, 4, 5000, .1);
	i = find_unsure(&c);
	assert_int_equal(ink_modify(t, c.ids[i], 3), 0);
	assert_int_equal(ink_peek(t, c.ids[i]), 3);
	assert_int_equal(stats_now().side_flows, 1);
	assert_int_equal(ink_insert(t, c.ids[i], 2), -EEXIST);
	assert_int_equal(ink_delete(t, c.ids[i]), 0);
	assert_int_equal(ink_peek(t, c.ids[i]), INK_ABSENT);
	assert_int_equal(ink_delete(t, c.ids[i]), -ENOENT);
	assert_int_equal(ink_modify(t, c.ids[i], 1), -ENOENT);
	assert_int_equal(ink_insert(t, c.ids[i], 2), 0);
	assert_int_equal(ink_peek(t, c.ids[i]), 2);
	c.states[i] = 2;
	unsure_now(&c);
	end_churn(&c);
}

TEST_THAT(a_full_side_table_says_busy_and_nothing_changes)
{
	struct ink_options o = kbf_options(4, 5000, .1);
	struct churn c;
	uint64_t i;

	o.geometry.side = INK_NO_SIDE;
	make_from(&o);
	churn_begin(&c, t, &o, 0);
	i = find_unsure(&c);
	assert_int_equal(ink_modify(t, c.ids[i], 3), -EBUSY);
	assert_int_equal(ink_delete(t, c.ids[i]), -EBUSY);
	assert_int_equal(ink_peek(t, c.ids[i]), INK_DONT_KNOW);
	assert_int_equal(ink_delete_in(t, c.ids[i], c.states[i]), 0);
	end_churn(&c);
}

/* Strangers are changed and deleted at random, from crowded cells: the table stays sound. */
TEST_THAT(improper_use_leaves_the_table_sound)
{
	struct churn c;

	begin_churn(&c, 4, 500, .1);
	for (uint64_t i = 0; i < 1500; i++)
		ink_insert(t, id_number(i), random_below(4));
	for (uint64_t i = 0; i < scaled(100000); i++) {
		uint64_t id = id_number(random_below(4000));

		switch (random_below(5)) {
		case 0:
			ink_insert(t, id, random_below(4));
			break;
		case 1:
			ink_delete_in(t, id, random_below(4));
			break;
		case 2:
			ink_modify(t, id, random_below(4));
			break;
		default:
			ink_delete(t, id);
		}
		if (i % 1000 == 0)
			assert_sound(t);
	}
	end_churn(&c);
}

/* A forged file: 32 bits are others at an offset, and both checksums are right. */
struct forgery {
	size_t at;
	uint32_t value;
	const char *reason;
};

static void assert_refused(const struct image *saved, struct forgery forgery)
{
	static struct image forged;
	struct ink_why why = {""};

	image_copy(&forged, saved);
	image_put32(&forged, forgery.at, forgery.value);
	image_seal(&forged);
	assert_true(image_write(&forged, scratch_file));
	assert_null(ink_load(scratch_file, INK_LOAD_READ, &why));
	assert_int_equal(errno, EBADMSG);
	if (!strstr(why.text, forgery.reason))
		fail_msg("byte %zu: '%s' and not '%s'", forgery.at, why.text, forgery.reason);
}

static void save_image(struct image *saved)
{
	make_kbf(9, 101, .1);
	assert_int_equal(ink_save(t, scratch_file, NULL), 0);
	assert_true(image_read(saved, scratch_file));
}

TEST_THAT(forged_geometries_are_refused)
{
	enum { AT_STATES = 20, AT_AGE_BITS = 24, AT_H = 52, AT_F = 56, AT_Q = 60, AT_K = 212, AT_M = 216 };
	static const char no_such_geometry[] = "no table has the geometry";
	static struct image saved;

	SKIP_WITHOUT_SNAPSHOTS();
	save_image(&saved);
	const struct forgery forgeries[] = {
		{AT_STATES, 60, "state bits"},
		{AT_STATES, 12, no_such_geometry},
		{AT_AGE_BITS, 1, no_such_geometry},
		{AT_H, 8, no_such_geometry},
		{AT_F, 1, no_such_geometry},
		{AT_F, 13, "f (byte 56)"},
		{AT_Q, 7, no_such_geometry},
		{AT_Q, 64, no_such_geometry},
		{AT_K, 17, "k (byte 212)"},
		{AT_M, t->plan.geometry.m + 1, no_such_geometry},
		{AT_M, t->plan.geometry.m * 1000, "do not fit the geometry"},
	};
	for (size_t i = 0; i < COUNT(forgeries); i++)
		assert_refused(&saved, forgeries[i]);
}

/* The first mask, one in the midst, the unused one behind the last sum, the zeros behind all masks. */
TEST_THAT(forged_masks_are_refused)
{
	static struct image saved;
	size_t begin, end, block;

	SKIP_WITHOUT_SNAPSHOTS();
	save_image(&saved);
	begin = AT_BODY + ink_sums_masks_at(&t->plan.geometry);
	end = begin + ink_sums_masks_bytes(&t->plan.geometry);
	block = INK_MULTISET_SUMS * t->plan.geometry.h;
	const size_t places[] = {begin, begin + block + 40, begin + block - 2, end - 4};
	for (size_t i = 0; i < COUNT(places); i++)
		assert_refused(&saved, (struct forgery){places[i], ~image_get32(&saved, places[i]), "masks"});
}

TEST_THAT(steps_follow_the_rules)
{
	static const struct ink_row rows[4] = {{1, 7}, {INK_ABSENT, 8}, {0, 9}, {INK_NO_ROW, 10}};
	struct ink_rules rules = {.size = sizeof rules, .states = 2, .events = 1, .rows = rows};
	struct ink_options o = kbf_options(2, 1000, 0);

	o.rules = &rules;
	make_from(&o);
	assert_steps(42, 0, INK_ABSENT, 0, 9);
	assert_steps(42, 0, 0, 1, 7);
	assert_steps(42, 0, 1, INK_ABSENT, 8);
	assert_int_equal(ink_peek(t, 42), INK_ABSENT);
	assert_int_equal(stats_now().occupied, 0);
}

/* A start event without a row begins a flow again that is known by its id, also a deferred one. */
TEST_THAT(a_deferred_flow_begins_again)
{
	static const struct ink_row rows[] = {{INK_NO_ROW, 1}, {INK_NO_ROW, 1}, {INK_NO_ROW, 1},
					      {INK_NO_ROW, 1}, {2, 7},          {INK_NO_ROW, 9}};
	static const uint8_t starts[1] = {1};
	static const struct ink_timing never = {.period = 0, .timeout = INK_ABSENT};
	const struct ink_timing timings[5] = {never, never, never, never, never};
	struct ink_rules rules = {sizeof rules, 4, 1, rows, starts, timings, NULL};
	struct churn c;
	uint64_t i;

	begin_churn(&c, 4, 5000, .1);
	assert_int_equal(ink_set_rules(t, &rules, NULL), 0);
	i = find_unsure(&c);
	assert_int_equal(ink_modify(t, c.ids[i], 3), 0);
	assert_steps(c.ids[i], 0, INK_ABSENT, 2, 7);
	assert_int_equal(ink_peek(t, c.ids[i]), 2);
	c.states[i] = 2;
	unsure_now(&c);
	assert_all_can_leave(&c);
	end_churn(&c);
}

/* ------------------------------------------------------------------ refusals */

TEST_THAT(what_it_cannot_do_is_refused)
{
	static const struct {
		unsigned states, age_bits;
		uint32_t q;
		double error;
		int result;
		const char *word; /* of the reason */
	} rows[] = {
		{65, 0, 0, 0, -ENOTSUP, "64"},
		{9, 1, 0, 0, -ENOTSUP, "age"},
		{3, 0, 1431655766, 0, -ERANGE, ""}, /* times 3 it would be 2 */
		{3, 0, 0, 1e-30, -ERANGE, ""},
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		struct ink_options o = kbf_options(rows[i].states, 1000, rows[i].error);
		struct ink_plan p = {.size = sizeof p};
		struct ink_why why;

		o.age_bits = rows[i].age_bits;
		o.geometry.q = rows[i].q;
		assert_int_equal(ink_plan(&o, &p, &why), rows[i].result);
		assert_non_null(strstr(why.text, rows[i].word));
	}
}

int main(void)
{
	static const struct variant kbf = {"kbf", INK_KBF, INK_SIMD_NONE, 1, {0}};
	variant = &kbf;
	return run_suite(
		&(struct suite){.begin = scratch_make, .end = scratch_remove, .after_each = free_table});
}
