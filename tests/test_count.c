/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Counting sets: the figures of the ACSM paper, every answer, batch and merge
 * beside a model (count_model.h), plans, and files. That files come back as they
 * were, and that damaged ones are refused, is in test_embed_sets.c.
 */
#include <inkling/count.h>

#include "count/set.h"
#include "tests/count_model.h"
#include "tests/image.h"
#include "tests/interval.h"
#include "tests/random.h"
#include "tests/scratch.h"
#include "tests/test.h"

static struct ink_count_options options_for(enum ink_count_kind kind, uint64_t items,
					    struct ink_count_geometry g)
{
	return (struct ink_count_options){.size = sizeof(struct ink_count_options),
					  .kind = kind,
					  .items = items,
					  .seed = 1,
					  .geometry = g};
}

static const struct ink_count_geometry planned;

/* The sets of a test; its teardown frees them. */
static struct ink_count *made[64];
static size_t sets_made;

static struct ink_count *keep(struct ink_count *c)
{
	assert_true(sets_made < COUNT(made));
	return made[sets_made++] = c;
}

static void free_made(void)
{
	while (sets_made)
		ink_count_free(made[--sets_made]);
}

static int free_all(void **state)
{
	free_made();
	return 0;
}

/* One pass for each kind; what is made in it is freed after it. */
#define EACH_KIND(kind)                                                                                      \
	for (enum ink_count_kind kind = INK_COUNT_DLEFT; kind <= INK_COUNT_STANDARD; kind++, free_made())

static struct ink_count *make(const struct ink_count_options *o)
{
	struct ink_why why = {""};
	struct ink_count *c = ink_count_create(o, &why);

	if (!c)
		fail_msg("%s", why.text);
	return keep(c);
}

static struct ink_count *make_of(enum ink_count_kind kind, uint64_t items, struct ink_count_geometry g)
{
	struct ink_count_options o = options_for(kind, items, g);

	return make(&o);
}

static struct ink_count_plan plan_of(const struct ink_count_options *o)
{
	struct ink_count_plan plan = {.size = sizeof plan};
	struct ink_why why = {""};

	if (ink_count_plan(o, &plan, &why))
		fail_msg("%s", why.text);
	return plan;
}

static struct ink_count_stats stats_of(const struct ink_count *c)
{
	struct ink_count_stats stats = {.size = sizeof stats};

	ink_count_stats(c, &stats);
	return stats;
}

static void assert_sound(const struct ink_count *c)
{
	struct ink_why why = {""};

	if (ink_count_check(c, &why))
		fail_msg("%s", why.text);
}

/* ------------------------------------------------------------- many at once */

enum { MANY = 4096 };

/* Items `first` .. first + n - 1. */
static void fill_ids(uint64_t first, size_t n, uint64_t *ids)
{
	for (size_t i = 0; i < n; i++)
		ids[i] = id_number(first + i);
}

static void add_items(struct ink_count *c, uint64_t first, uint64_t n)
{
	uint64_t ids[MANY];

	for (uint64_t done = 0; done < n; done += MANY) {
		struct ink_count_batch b = {.n = n - done < MANY ? n - done : MANY, .ids = ids};

		fill_ids(first + done, b.n, ids);
		assert_int_equal(ink_count_add_batch(c, &b), 0);
	}
}

/* How many of n items are found. */
static uint64_t found_of(const struct ink_count *c, uint64_t first, uint64_t n)
{
	uint64_t ids[MANY], found = 0;
	uint8_t is[MANY];

	for (uint64_t done = 0; done < n; done += MANY) {
		struct ink_count_batch b = {.n = n - done < MANY ? n - done : MANY, .ids = ids, .found = is};

		fill_ids(first + done, b.n, ids);
		ink_count_contains_batch(c, &b);
		for (size_t i = 0; i < b.n; i++)
			found += is[i];
	}
	return found;
}

#define STRANGERS (1ull << 40) /* no item that is added has a number like that */

/* ---------------------------------------------------------- the paper's figures */

struct figure {
	enum ink_count_kind kind;
	struct ink_count_geometry g;
	uint64_t n;
	double bits, error; /* as the paper says; the error to be met within 0.02 % */
};

static void assert_figure(const struct figure *f, const struct ink_count *c, const char *when)
{
	uint64_t strangers = scaled(4000000);
	double found = (double)found_of(c, STRANGERS, strangers) / (double)strangers;
	double slack = 2.58 * sqrt(f->error / (double)strangers); /* 0.01 % at full scale */

	print_message("b %u, m %llu, %s: %.2f bits an item, false positives %.3f %%\n", f->g.b,
		      (unsigned long long)f->g.m, when, f->bits, 100 * found);
	if (fabs(found - f->error) > (slack > 2e-4 ? slack : 2e-4))
		fail_msg("false positives are %.4f %%, the paper has %.2f %%", 100 * found, 100 * f->error);
}

/* A live item of ten n leaves and another comes: it must have been there, and in the end all are. */
static void churn(struct ink_count *c, uint64_t n, uint64_t times)
{
	uint64_t *live = malloc(n * sizeof *live), next = n;

	for (uint64_t i = 0; i < n; i++)
		live[i] = i;
	for (uint64_t i = 0; i < times; i++) {
		uint64_t *item = &live[random_below(n)];
		int error;

		if (!ink_count_contains(c, id_number(*item)))
			fail_msg("a live item is not there");
		error = ink_count_remove(c, id_number(*item));
		assert_true(error == 0 || error == -EOVERFLOW);
		*item = next++;
		assert_int_equal(ink_count_add(c, id_number(*item)), 0);
	}
	for (uint64_t i = 0; i < n; i++)
		assert_true(ink_count_contains(c, id_number(live[i])));
	free(live);
}

static void assert_paper(const struct figure *f)
{
	struct ink_count *c = make_of(f->kind, f->n, f->g);
	double cells = 8 * (double)ink_count_used(&c->plan) / (double)f->n;

	assert_true(fabs(cells - f->bits) < .01);
	assert_true(fabs(c->plan.bits_per_item - f->bits) <
		    8.0 * (4096 + COUNT_SLACK + sizeof *c) / (double)f->n);
	add_items(c, 0, f->n);
	assert_int_equal(found_of(c, 0, f->n), f->n);
	assert_figure(f, c, "filled");
	churn(c, f->n, 10 * f->n);
	assert_figure(f, c, "after 10n churn");
	assert_int_equal(stats_of(c).refused, 0);
	assert_sound(c);
}

/* Also with a prime: nothing that rounds up or that needs a power of two would do. */
TEST_THAT(the_dleft_filter_of_the_paper_takes_19_5_bits_and_errs_as_the_paper_says)
{
	const uint32_t b[] = {(uint32_t)scaled(1 << 14), test_scale() < 1 ? 1009 : 10007};

	for (unsigned i = 0; i < 2; i++)
		assert_paper(&(struct figure){
			INK_COUNT_DLEFT, {.d = 3, .b = b[i], .h = 6, .f = 11}, 12 * b[i], 19.5, .0059});
}

TEST_THAT(the_standard_filter_takes_40_bits_and_errs_more)
{
	uint64_t n = scaled(150000);
	struct ink_count_options o =
		options_for(INK_COUNT_STANDARD, n, (struct ink_count_geometry){.m = 10 * n});

	assert_int_equal(plan_of(&o).geometry.k, 7);
	assert_int_equal(plan_of(&o).geometry.counter_bits, 4);
	assert_paper(&(struct figure){INK_COUNT_STANDARD, {.m = 10 * n}, n, 40, .0082});
}

/* ----------------------------------------------------------------- the formulas */

enum { SETS_OF_A_POINT = 30, GEOMETRIES = 9 };

/* Those of one kind of set. */
struct formulas {
	struct tally error, load, stuck;
	uint64_t next; /* item */
};

static void measure_point(struct formulas *f, const struct ink_count_options *o, uint64_t strangers)
{
	struct ink_count_plan plan = plan_of(o);
	struct sample error = {0}, load = {0}, stuck = {0};
	double cells = 0, asked = (double)(strangers * SETS_OF_A_POINT);
	char point[80];

	snprintf(point, sizeof point, "kind %d, %llu items, f %u, m %llu", o->kind,
		 (unsigned long long)o->items, o->geometry.f, (unsigned long long)o->geometry.m);
	for (unsigned i = 0; i < SETS_OF_A_POINT; i++, f->next += o->items) {
		struct ink_count *c = make(o);
		struct ink_count_stats s;

		add_items(c, f->next, o->items);
		s = stats_of(c);
		cells += (double)s.cells;
		assert_int_equal(s.bytes, plan.bytes);
		sample_add(&error,
			   (double)found_of(c, STRANGERS + 8 * f->next, strangers) / (double)strangers);
		sample_add(&load, (double)s.taken / (double)s.cells);
		sample_add(&stuck, (double)s.stuck / (double)s.cells);
	}
	free_made();
	tally_add(&f->error, &error, (struct claim){point, plan.error, plan.error * asked});
	tally_add(&f->load, &load, (struct claim){point, plan.load, plan.load * cells});
	tally_add(&f->stuck, &stuck, (struct claim){point, plan.stuck, plan.stuck * cells});
}

static void measure_kind(struct formulas *f, enum ink_count_kind kind,
			 const struct ink_count_geometry geometries[GEOMETRIES])
{
	static const uint64_t sizes[] = {1500, 3001, 5003, 10007};

	for (unsigned i = 0; i < COUNT(sizes); i++)
		for (unsigned j = 0; j < GEOMETRIES; j++) {
			uint64_t n = scaled(sizes[i]) + 200;
			struct ink_count_options o = options_for(kind, n, geometries[j]);

			o.geometry.m = o.geometry.m ? n * o.geometry.m + i : 0; /* so many for each item */
			measure_point(f, &o, 4 * n);
		}
}

TEST_THAT(every_formula_of_the_plan_is_what_is_measured)
{
	static const struct ink_count_geometry geometries[][GEOMETRIES] = {
		[INK_COUNT_DLEFT] = {{.f = 2},
				     {.f = 3},
				     {.f = 4},
				     {.f = 5},
				     {.f = 6},
				     {.f = 8},
				     {.f = 10},
				     {.f = 11},
				     {.f = 12}},
		[INK_COUNT_STANDARD] = {{.m = 2, .counter_bits = 2},
					{.m = 3, .counter_bits = 2},
					{.m = 4, .counter_bits = 2},
					{.m = 6, .counter_bits = 2},
					{.m = 8, .counter_bits = 2},
					{.m = 10, .counter_bits = 2},
					{.m = 2, .counter_bits = 3},
					{.m = 5, .counter_bits = 3},
					{.m = 12, .counter_bits = 3}},
	};

	EACH_KIND(kind)
	{
		struct formulas f = {{.formula = "error"}, {.formula = "load"}, {.formula = "stuck"}, 0};

		measure_kind(&f, kind, geometries[kind]);
		assert_tally(&f.error);
		assert_tally(&f.load);
		assert_tally(&f.stuck);
	}
}

/* ------------------------------------------------------------------- every answer */

TEST_THAT(every_answer_is_that_of_the_model)
{
	static struct count_program p;
	uint8_t bytes[4000];
	uint64_t refused = 0, strangers = 0, held = 0;

	for (uint64_t i = 0; i < scaled(3000); i++) {
		size_t size = 4 + random_below(sizeof bytes - 4);
		const char *wrong;

		for (size_t k = 0; k < size; k++)
			bytes[k] = (uint8_t)random_word();
		wrong = count_program_run(&p, bytes, size);
		if (wrong)
			fail_msg("program %llu, after %u calls: %s", (unsigned long long)i, p.calls, wrong);
		refused += p.refused;
		strangers += p.strangers;
		held += p.held;
	}
	assert_true(refused > 100 && strangers > 100 && held > 100);
}

/* Every value S once, in a filter with room: no two share a cell, and all are found. */
static void assert_all_values_fit(struct ink_count_geometry g)
{
	struct ink_count *c = make_of(INK_COUNT_DLEFT, 1, g);
	uint64_t values = (uint64_t)g.b << g.f;

	for (uint64_t v = 0; v < values; v++) {
		uint64_t id = (uint64_t)((((wide)v << 64) + values - 1) / values);

		assert_false(ink_count_contains(c, id));
		assert_int_equal(ink_count_add(c, id), 0);
		assert_int_equal(ink_count_count(c, id), 1);
	}
	assert_int_equal(stats_of(c).taken, values);
	assert_true(stats_of(c).error == 1);
	assert_sound(c);
	free_made();
}

/* A bucket of the smallest cells has room for more than a cell can count: it is searched in chunks. */
TEST_THAT(every_value_has_a_cell_of_its_own)
{
	for (uint32_t b = 1; b <= 33; b++) {
		assert_all_values_fit((struct ink_count_geometry){.d = 8, .b = b, .h = 64, .f = 3});
		for (uint32_t h = 4; h <= 64; h += 3)
			assert_all_values_fit((struct ink_count_geometry){.d = 1, .b = b, .h = h, .f = 2});
	}
}

/* One bucket in each subtable: the emptiest takes the item, the leftmost of those that tie. */
TEST_THAT(the_least_loaded_bucket_is_taken_and_ties_go_left)
{
	struct ink_count *c =
		make_of(INK_COUNT_DLEFT, 1, (struct ink_count_geometry){.d = 3, .b = 1, .h = 20, .f = 24});

	for (uint64_t i = 0; i < 60; i++) {
		uint64_t cell = i % 3 * 20 + i / 3;

		assert_true(ink_count_get(c, cell) == 0);
		assert_int_equal(ink_count_add(c, id_number(i)), 0);
		assert_true((ink_count_get(c, cell) & c->limit) == 1);
	}
	assert_int_equal(ink_count_remove(c, id_number(1)), 0);
	assert_true(ink_count_get(c, 20) == 0);
	assert_int_equal(ink_count_add(c, id_number(60)), 0);
	assert_true(ink_count_get(c, 20) != 0);
}

TEST_THAT(the_planned_load_holds_in_churn)
{
	for (uint32_t d = 2; d <= 8; d += d < 4 ? 1 : 4)
		for (uint32_t h = 2; h <= 16; h += h < 8 ? 2 : 8) {
			uint64_t n = scaled(20000) + 100;
			struct ink_count *c =
				make_of(INK_COUNT_DLEFT, n, (struct ink_count_geometry){.d = d, .h = h});

			add_items(c, 0, n);
			churn(c, n, 2 * n);
			assert_int_equal(stats_of(c).refused, 0);
		}
}

/* ---------------------------------------------------------------------- the limits */

static void add_times(struct ink_count *c, uint64_t id, uint64_t times)
{
	for (uint64_t i = 0; i < times; i++)
		assert_int_equal(ink_count_add(c, id), 0);
}

/* The model has counters of few bits. */
TEST_THAT(counters_of_any_width_stick_at_their_limit)
{
	EACH_KIND(kind)
	for (uint32_t bits = 2; bits <= 16; bits += 7) {
		struct ink_count *c = make_of(kind, 100, (struct ink_count_geometry){.counter_bits = bits});
		uint64_t id = id_number(7), limit = (1u << bits) - 1;

		add_times(c, id, limit - 1);
		assert_int_equal(ink_count_count(c, id), limit - 1);
		assert_int_equal(stats_of(c).stuck, 0);
		assert_int_equal(ink_count_remove(c, id), 0);
		add_times(c, id, 3);
		assert_int_equal(ink_count_remove(c, id), -EOVERFLOW);
		assert_int_equal(ink_count_count(c, id), limit);
		assert_true(stats_of(c).stuck > 0 && stats_of(c).limit == limit && stats_of(c).held == 1);
		assert_sound(c);
	}
}

/* In the planned geometry, whose buckets are searched in several chunks. */
TEST_THAT(a_batch_of_any_length_does_what_single_calls_do)
{
	EACH_KIND(kind)
	{
		struct ink_count_options o = options_for(kind, 300, planned);
		struct ink_count *c = make(&o), *single = make(&o);
		uint64_t ids[200];
		int errors[200];

		for (size_t round = 0; round < 400; round++) {
			struct ink_count_batch b = {.n = random_below(200), .ids = ids, .errors = errors};
			int first = 0, result, add = random_below(2) == 0;

			for (size_t i = 0; i < b.n; i++)
				ids[i] = id_number(random_below(400));
			result = add ? ink_count_add_batch(c, &b) : ink_count_remove_batch(c, &b);
			for (size_t i = 0; i < b.n; i++) {
				int error = add ? ink_count_add(single, ids[i])
						: ink_count_remove(single, ids[i]);

				assert_int_equal(error, errors[i]);
				first = first ? first : error;
			}
			assert_int_equal(result, first);
		}
		assert_memory_equal(c->body, single->body, c->body_bytes);
	}
}

/* ------------------------------------------------------------------------- merging */

/* With a reason, and nothing is changed. */
static void assert_not_merged(struct ink_count *into, const struct ink_count *from, int error,
			      const char *word)
{
	unsigned char *before = malloc(into->body_bytes);
	struct ink_why why = {""};

	assert_non_null(before);
	memcpy(before, into->body, into->body_bytes);
	assert_int_equal(ink_count_merge(into, from, &why), error);
	assert_non_null(strstr(why.text, word));
	assert_int_equal(ink_count_merge(into, from, NULL), error);
	assert_memory_equal(into->body, before, into->body_bytes);
	free(before);
}

TEST_THAT(sets_that_do_not_fit_are_not_merged)
{
	static const struct {
		struct ink_count_options o;
		const char *word;
	} others[] = {
		{{.items = 1, .seed = 1, .geometry = {.d = 2, .b = 9, .h = 3, .f = 20}}, "geometry"},
		{{.items = 1, .seed = 2, .geometry = {.d = 2, .b = 8, .h = 3, .f = 20}}, "secret"},
		{{.items = 100, .seed = 1, .kind = INK_COUNT_STANDARD}, "kind"},
	};
	struct ink_count_geometry g = {.d = 2, .b = 8, .h = 3, .f = 20};
	struct ink_count *a = make_of(INK_COUNT_DLEFT, 1, g), *b = make_of(INK_COUNT_DLEFT, 1, g);

	for (uint64_t i = 0; i < 200; i++) {
		ink_count_add(a, id_number(i));
		ink_count_add(b, id_number(i + 200));
	}
	assert_not_merged(a, b, -ENOSPC, "no room");
	for (unsigned i = 0; i < COUNT(others); i++) {
		struct ink_count_options o = others[i].o;

		o.size = sizeof o;
		assert_not_merged(a, make(&o), -EINVAL, others[i].word);
	}
}

/* ------------------------------------------------------------------------------ ids */

TEST_THAT(ids_are_those_of_the_seed)
{
	struct ink_count_options o = options_for(INK_COUNT_DLEFT, 100, planned);
	struct ink_count *a = make(&o), *b = make(&o), *c, *d;
	const char keys[] = "onetwosix";
	uint64_t ids[3];

	o.seed = 0;
	c = make(&o);
	d = make(&o);
	assert_true(ink_count_id(a, "item", 4) == ink_count_id(b, "item", 4));
	assert_true(ink_count_id(c, "item", 4) != ink_count_id(d, "item", 4));
	ink_count_id_batch(a, &(struct ink_keys){keys, 3, 3}, ids);
	for (unsigned i = 0; i < 3; i++)
		assert_true(ids[i] == ink_count_id(a, keys + 3 * i, 3));
}

/* ---------------------------------------------------------------------------- plans */

static void assert_refused(const struct ink_count_options *o, int error, const char *what)
{
	struct ink_count_plan plan = {.size = sizeof plan, .items = 77};
	struct ink_why why = {""};
	int got = ink_count_plan(o, &plan, &why);

	if (got != error || !why.text[0])
		fail_msg("%s: %d and not %d, \"%s\"", what, got, error, why.text);
	assert_int_equal(plan.items, 77);
	errno = 0;
	assert_null(ink_count_create(o, &why));
	assert_int_equal(errno, -error);
	assert_int_equal(ink_count_plan(o, &plan, NULL), error);
}

/* The good options with one field changed. */
#define REFUSED(error, ...)                                                                                  \
	do {                                                                                                 \
		struct ink_count_options bad = good;                                                         \
		bad.__VA_ARGS__;                                                                             \
		assert_refused(&bad, error, #__VA_ARGS__);                                                   \
	} while (0)

TEST_THAT(options_that_mean_nothing_are_refused)
{
	struct ink_count_options good = options_for(INK_COUNT_DLEFT, 1000, planned);

	plan_of(&good);
	REFUSED(-EINVAL, size = 0);
	REFUSED(-EINVAL, kind = (enum ink_count_kind)3);
	REFUSED(-EINVAL, kind = (enum ink_count_kind) - 1);
	REFUSED(-EINVAL, error = -.1);
	REFUSED(-EINVAL, error = 1);
	REFUSED(-EINVAL, error = NAN);
	REFUSED(-EINVAL, items = 0);
	REFUSED(-EINVAL, geometry.d = 9);
	REFUSED(-EINVAL, geometry.b = (1u << 28) + 1);
	REFUSED(-EINVAL, geometry.h = 65);
	REFUSED(-EINVAL, geometry.f = 1);
	REFUSED(-EINVAL, geometry.f = 33);
	REFUSED(-EINVAL, geometry.m = 100);
	REFUSED(-EINVAL, geometry.k = 3);
	REFUSED(-EINVAL, geometry.counter_bits = 1);
	REFUSED(-EINVAL, geometry.counter_bits = 17);
	good.kind = INK_COUNT_STANDARD;
	plan_of(&good);
	REFUSED(-EINVAL, geometry.d = 3);
	REFUSED(-EINVAL, geometry.b = 3);
	REFUSED(-EINVAL, geometry.h = 3);
	REFUSED(-EINVAL, geometry.f = 3);
	REFUSED(-EINVAL, geometry.k = 33);
	REFUSED(-EINVAL, geometry.m = (32ull << 28) + 1);
	good.geometry.k = 8;
	REFUSED(-EINVAL, geometry.m = 7);
}

TEST_THAT(what_is_out_of_reach_is_refused)
{
	EACH_KIND(kind)
	{
		struct ink_count_options good = options_for(kind, 1000, planned);

		REFUSED(-ERANGE, bytes = 1);
		REFUSED(-ERANGE, bytes = 4096);
		REFUSED(-ERANGE, error = 1e-30);
		good.error = .01;
		REFUSED(-ERANGE, bytes = 4096);
		good.error = 0;
		REFUSED(-ERANGE, items = 1ull << 50);
		REFUSED(-ERANGE, items = UINT64_MAX);
		good.items = 0;
		REFUSED(-ERANGE, bytes = 1);
	}
	for (uint32_t d = 1; d <= 2; d++) {
		struct ink_count_options good =
			options_for(INK_COUNT_DLEFT, 1000, (struct ink_count_geometry){.d = d, .h = 1});

		REFUSED(-ERANGE, error = .01);
		good.geometry = (struct ink_count_geometry){.d = d, .h = 6, .b = 80};
		REFUSED(-ERANGE, items = 80 * d * 6 + 1);
	}
}

/* "...; the least is 1.2e-05", in two digits, and that can be had. */
TEST_THAT(a_refused_error_names_the_least)
{
	static const struct ink_count_geometry pinned[] = {
		{0}, {.d = 4, .h = 8}, {.f = 9}, {.d = 2, .f = 20}, {.k = 5}};

	EACH_KIND(kind)
	for (unsigned i = 0; i < 5; i++) {
		struct ink_count_options o = options_for(kind, 5000, pinned[i]);
		struct ink_count_plan plan = {.size = sizeof plan};
		struct ink_why why = {""};
		const char *least;

		o.error = 1e-25;
		if (ink_count_plan(&o, &plan, &why) == -EINVAL)
			continue;
		least = strstr(why.text, "the least is ");
		assert_non_null(least);
		o.error = strtod(least + strlen("the least is "), NULL) * 1.06;
		assert_true(plan_of(&o).error > o.error / 1.2);
		o.error /= 1.15;
		assert_int_equal(ink_count_plan(&o, &plan, NULL), -ERANGE);
	}
}

/* Bytes are what is allocated, the ceiling is kept, and back from bytes it says the same. */
TEST_THAT(plans_are_kept_and_lead_back)
{
	static const double ceilings[] = {.1, .01, 1e-3, 1e-4, 1e-6};

	EACH_KIND(kind)
	for (unsigned e = 0; e < 5; e++)
		for (uint64_t n = 1; n < 10000000; n = n * 7 + 3, free_made()) {
			struct ink_count_options o = options_for(kind, n, planned);
			struct ink_count_plan plan, back;

			o.error = ceilings[e];
			plan = plan_of(&o);
			assert_true(plan.error <= o.error * (1 + 1e-9) && plan.items == n);
			assert_int_equal(stats_of(make(&o)).bytes, plan.bytes);
			o.items = 0;
			o.bytes = plan.bytes;
			back = plan_of(&o);
			assert_true(back.items >= n && back.bytes <= plan.bytes);
			assert_true(back.error <= o.error * (1 + 1e-9));
			o.items = n;
			o.error = 0;
			back = plan_of(&o);
			assert_true(back.error <= plan.error * (1 + 1e-9) && back.bytes <= plan.bytes);
		}
}

TEST_THAT(no_other_geometry_takes_fewer_bytes)
{
	EACH_KIND(kind)
	for (uint32_t other = 1; other <= 32; other++) {
		struct ink_count_options o = options_for(kind, 100000, planned);
		struct ink_count_plan plan, pinned = {.size = sizeof pinned};

		o.error = .003;
		plan = plan_of(&o);
		if (kind == INK_COUNT_DLEFT)
			o.geometry.f = other;
		else
			o.geometry.k = other;
		if (ink_count_plan(&o, &pinned, NULL) == 0)
			assert_true(pinned.bytes >= plan.bytes);
	}
}

TEST_THAT(b_or_m_alone_say_how_many_items)
{
	struct ink_count_options o =
		options_for(INK_COUNT_DLEFT, 0, (struct ink_count_geometry){.b = 1000, .f = 11});

	assert_int_equal(plan_of(&o).items, 12000);
	o.geometry.f = 0;
	assert_int_equal(plan_of(&o).items, 12000);
	assert_int_equal(plan_of(&o).geometry.f, 14);
	o = options_for(INK_COUNT_STANDARD, 0, (struct ink_count_geometry){.m = 100000});
	o.error = .0082;
	assert_true(plan_of(&o).items >= 9990 && plan_of(&o).items <= 10010);
	assert_true(plan_of(&o).error <= .0082);
}

/* ---------------------------------------------------------------------------- files */

/* Sets of both kinds, with collisions, removals, stuck counters, refused and removed strangers. */
static struct ink_count *sample(unsigned which)
{
	static const struct ink_count_options samples[] = {
		{.items = 1, .geometry = {.d = 3, .b = 21, .h = 6, .f = 7}},
		{.items = 1, .geometry = {.d = 4, .b = 13, .h = 5, .f = 4, .counter_bits = 3}},
		{.items = 1, .geometry = {.d = 1, .b = 40, .h = 9, .f = 32, .counter_bits = 16}},
		{.kind = INK_COUNT_STANDARD, .items = 100},
		{.kind = INK_COUNT_STANDARD, .items = 1, .geometry = {.m = 1001, .k = 3, .counter_bits = 2}},
		{.kind = INK_COUNT_STANDARD, .items = 1, .geometry = {.m = 333, .k = 32, .counter_bits = 11}},
	};
	struct ink_count_options o = samples[which];
	struct ink_count *c;

	o.size = sizeof o;
	o.seed = 5;
	c = make(&o);
	for (uint64_t i = 0; i < 250; i++)
		ink_count_add(c, id_number(i * i % 211));
	for (uint64_t i = 0; i < 50; i++)
		ink_count_remove(c, id_number(i));
	assert_sound(c);
	return c;
}

enum { SAMPLES = 6, DLEFT_SAMPLES = 3 };

/* Saves a set to memory. */
static void save(const struct ink_count *c, struct image *i)
{
	struct ink_buffer b = image_buffer(i);

	assert_int_equal(ink_count_save_buffer(c, &b, NULL, NULL), 0);
	image_resize(i, b.used);
}

static struct ink_count *load(const struct image *i, struct ink_why *why)
{
	return ink_count_load_buffer(i->bytes, i->size, NULL, why);
}

static void save_sample(unsigned which, struct image *i)
{
	save(sample(which), i);
}

/* ------------------------------------------------- a reader, from docs/format.md */

static uint64_t bits_of(const struct image *i, uint64_t at, unsigned n)
{
	uint64_t value = 0;

	for (unsigned k = 0; k < n; k++)
		value |= (uint64_t)(i->bytes[4096 + (at + k) / 8] >> (at + k) % 8 & 1) << k;
	return value;
}

static uint32_t read_scatter(uint64_t x, uint64_t n)
{
	uint64_t y = (x + (n + 1) * 0x9e3779b97f4a7c15) * 0xbf58476d1ce4e5b9;

	return (uint32_t)(((y ^ y >> 32) * 0x94d049bb133111eb) >> 32);
}

/* The item's count in the file of a d-left filter; -1 if it has two. */
static int64_t read_dleft(const struct image *i, uint64_t id)
{
	uint64_t d = image_get32(i, 20), b = image_get32(i, 24), h = image_get32(i, 28),
		 f = image_get32(i, 32);
	unsigned counter_bits = image_get32(i, 48), width = counter_bits + (unsigned)f;
	wide x = (wide)id * b;
	uint64_t q = (uint64_t)(x >> 64), r = (uint64_t)x >> (64 - f), found = 0;

	for (uint64_t t = 0; t < d; t++) {
		uint64_t print = t ? r ^ read_scatter(q, 2 * t) >> (32 - f) : r;
		uint64_t bucket = t ? (q + (read_scatter(print, 2 * t + 1) * b >> 32)) % b : q;

		for (uint64_t c = 0; c < h; c++) {
			uint64_t at = ((t * b + bucket) * h + c) * width;
			uint64_t count = bits_of(i, at, counter_bits);

			if (!count || bits_of(i, at + counter_bits, (unsigned)f) != print)
				continue;
			if (found)
				return -1;
			found = count;
		}
	}
	return (int64_t)found;
}

static int64_t read_standard(const struct image *i, uint64_t id)
{
	unsigned counter_bits = image_get32(i, 48);
	struct model m = {.kind = INK_COUNT_STANDARD,
			  .g = {.m = image_get64(i, 40), .k = image_get32(i, 36)}};
	uint64_t least = UINT64_MAX;

	for (uint32_t t = 0; t < m.g.k; t++) {
		uint64_t count = bits_of(i, model_counter(&m, id, t) * counter_bits, counter_bits);

		least = count < least ? count : least;
	}
	return (int64_t)least;
}

TEST_THAT(the_format_is_as_documented)
{
	static struct image i;

	SKIP_WITHOUT_SNAPSHOTS();
	for (unsigned s = 0; s < SAMPLES; s++) {
		struct ink_count *c = sample(s);
		int dleft = s < DLEFT_SAMPLES;

		save(c, &i);
		assert_memory_equal(i.bytes, "\x89INK\r\n\x1a\n", 8);
		assert_int_equal(image_get32(&i, 16), dleft ? 16 : 17);
		assert_int_equal(image_get64(&i, 112), stats_of(c).items);
		assert_int_equal(image_get64(&i, 184), i.size - 4096);
		for (uint64_t k = 0; k < 500; k++)
			assert_int_equal(dleft ? read_dleft(&i, id_number(k))
					       : read_standard(&i, id_number(k)),
					 ink_count_count(c, id_number(k)));
	}
}

/* ----------------------------------------------------------------- hostile files */

static void assert_image_refused(const struct image *i, int error, const char *word)
{
	struct ink_why why = {""};
	struct ink_count *c = load(i, &why);

	if (c || errno != error || !strstr(why.text, word))
		fail_msg("errno %d, \"%s\"; expected %d and \"%s\"", c ? 0 : errno, why.text, error, word);
}

/* One field of a set is changed, and the checksums are right. */
TEST_THAT(fields_that_no_set_has_are_refused)
{
	enum { DLEFT = 0, STANDARD = 4 };
	static const struct {
		unsigned sample, at, bytes;
		uint64_t value;
		const char *word;
	} fields[] = {
		{DLEFT, 16, 4, 1, "kind"},
		{DLEFT, 16, 4, 18, "kind"},
		{DLEFT, 16, 4, 17, "can be"},
		{DLEFT, 20, 4, 0, "d (byte 20)"},
		{DLEFT, 20, 4, 9, "d (byte 20)"},
		{DLEFT, 24, 4, 0, "b (byte 24)"},
		{DLEFT, 24, 4, 0xffffffff, "b (byte 24)"},
		{DLEFT, 24, 4, 1u << 28, "geometry"},
		{DLEFT, 28, 4, 0, "h (byte 28)"},
		{DLEFT, 28, 4, 65, "h (byte 28)"},
		{DLEFT, 32, 4, 1, "f (byte 32)"},
		{DLEFT, 32, 4, 33, "f (byte 32)"},
		{DLEFT, 36, 4, 1, "k (byte 36)"},
		{DLEFT, 40, 8, 1, "m (byte 40)"},
		{DLEFT, 48, 4, 1, "counter_bits"},
		{DLEFT, 48, 4, 17, "counter_bits"},
		{DLEFT, 52, 4, 1, "zero"},
		{DLEFT, 56, 8, 0, "planned"},
		{DLEFT, 56, 8, UINT64_MAX, "planned"},
		{DLEFT, 64, 4, 1, "reserved"},
		{DLEFT, 92, 4, 1, "reserved"},
		{DLEFT, 112, 8, 1, "items"},
		{DLEFT, 112, 8, UINT64_MAX, "items"},
		{DLEFT, 144, 4, 1, "reserved"},
		{DLEFT, 180, 4, 1, "reserved"},
		{DLEFT, 184, 8, 8192, "too short"},
		{DLEFT, 208, 4, 1, "reserved"},
		{DLEFT, 4076, 4, 1, "reserved"},
		{STANDARD, 20, 4, 1, "d (byte 20)"},
		{STANDARD, 36, 4, 0, "k (byte 36)"},
		{STANDARD, 36, 4, 33, "k (byte 36)"},
		{STANDARD, 40, 8, 2, "m (byte 40)"},
		{STANDARD, 40, 8, UINT64_MAX, "m (byte 40)"},
		{STANDARD, 40, 8, 3ull << 28, "geometry"},
	};
	static struct image i;

	SKIP_WITHOUT_SNAPSHOTS();
	for (size_t n = 0; n < COUNT(fields); n++) {
		save_sample(fields[n].sample, &i);
		memcpy(i.bytes + fields[n].at, &fields[n].value, fields[n].bytes);
		image_seal(&i);
		assert_image_refused(&i, strcmp(fields[n].word, "kind") == 0 ? ENOTSUP : EBADMSG,
				     fields[n].word);
	}
}

/* One bit is turned over, and the checksums are right. */
TEST_THAT(a_forged_file_is_refused_or_sound)
{
	static struct image good, bad;
	unsigned sound = 0;

	SKIP_WITHOUT_SNAPSHOTS();
	for (unsigned s = 0; s < SAMPLES; s++) {
		save_sample(s, &good);
		for (unsigned turn = 0; turn < scaled(1500); turn++) {
			struct ink_count *c;

			image_copy(&bad, &good);
			bad.bytes[random_below(turn % 2 ? 216 : 4096 + 600)] ^= 1u << random_below(8);
			image_seal(&bad);
			c = load(&bad, NULL);
			if (!c)
				continue;
			for (uint64_t k = 0; k < 300; k++) {
				ink_count_add(c, id_number(k));
				ink_count_remove(c, id_number(k / 2));
			}
			assert_sound(c);
			sound++;
			ink_count_free(c);
		}
	}
	assert_true(sound > 10);
}

/* The one thing that would break removing: a value in two cells, in other subtables or in one bucket. */
TEST_THAT(a_value_in_two_cells_is_refused)
{
	static struct image i;
	struct ink_count *c =
		make_of(INK_COUNT_DLEFT, 1, (struct ink_count_geometry){.d = 2, .b = 1, .h = 4, .f = 16});
	uint64_t values[2];

	SKIP_WITHOUT_SNAPSHOTS();
	add_items(c, 0, 2);
	values[0] = ink_count_get(c, 0);           /* ties go left; the second goes to the emptier right */
	values[1] = (id_number(1) >> 48) << 2 | 1; /* P_0 is the identity: as it would be in subtable 0 */
	assert_true(values[0] != 0 && ink_count_get(c, 4) != 0 && ink_count_get(c, 1) == 0);
	c->items++;
	for (unsigned twice = 0; twice < 2; twice++) {
		ink_count_put(c, 1, values[twice]);
		assert_int_equal(ink_count_check(c, NULL), -EUCLEAN);
		save(c, &i);
		assert_image_refused(&i, EBADMSG, "two cells");
	}
}

TEST_THAT(short_and_foreign_files_are_refused)
{
	static struct image i;
	struct ink_count *c = sample(0);
	size_t whole;

	SKIP_WITHOUT_SNAPSHOTS();
	save(c, &i);
	whole = i.size;
	for (i.size = 0; i.size < whole; i.size += 1 + i.size / 3)
		assert_image_refused(&i, EBADMSG, "");
	assert_int_equal(ink_count_save(c, scratch_file, NULL), 0);
	assert_null(ink_load(scratch_file, INK_LOAD_READ, NULL));
	assert_int_equal(errno, ENOTSUP);
	assert_null(ink_count_load("/nonexistent/set", INK_LOAD_READ, NULL));
	assert_int_equal(errno, ENOENT);
	assert_int_equal(ink_count_save(c, "/nonexistent/set", NULL), -ENOENT);
}

/* ------------------------------------------------------------------------- damage */

TEST_THAT(a_check_finds_what_is_damaged)
{
	for (unsigned s = 0; s < SAMPLES; s++) {
		struct ink_count *behind = sample(s), *items = sample(s), *bits = sample(s);
		uint64_t used = ink_count_used(&behind->plan), end = bits->cells * bits->cell_bits;

		behind->body[used + random_below(behind->body_bytes - used)] ^= 1;
		assert_int_equal(ink_count_check(behind, NULL), -EUCLEAN);
		items->items++;
		if (stats_of(items).stuck == 0)
			assert_int_equal(ink_count_check(items, NULL), -EUCLEAN);
		bits->body[end / 8] ^= 0x80;
		assert_int_equal(ink_count_check(bits, NULL), -EUCLEAN);
	}
	for (unsigned s = 0; s < DLEFT_SAMPLES; s++) {
		struct ink_count *c = sample(s);
		uint64_t cell = 0;

		while (ink_count_get(c, cell))
			cell++;
		ink_count_put(c, cell, (uint64_t)c->limit + 1);
		assert_int_equal(ink_count_check(c, NULL), -EUCLEAN);
	}
}

int main(void)
{
	return run_suite(
		&(struct suite){.begin = scratch_make, .end = scratch_remove, .after_each = free_all});
}
