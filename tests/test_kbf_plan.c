/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The plan, compared with measurements: live keys that read unknown,
 * strangers that read a value, strangers that read unknown, at points of every
 * encoding and decoding, each inside the 99 % interval; and the promises.
 *
 * Keys are put into the cells unasked. Through ink_kbf_insert those that read a
 * value would be refused, and just these would be hard to read later: where
 * false positives are not rare, a filter is a little better than the plan.
 */
#include "tests/kbf_help.h"
#include "tests/test.h"

#include <endian.h>
#include <math.h>

/* ------------------------------------------------------------------ measuring */

struct point {
	enum ink_kbf_encoding encoding;
	enum ink_kbf_decoding decoding;
	uint32_t values, k;
	double load;
	uint32_t links;
};

#define SUMS INK_KBF_POWER_SUMS
#define WIDE INK_KBF_POWER_SUMS_WIDE
#define GREEDY INK_KBF_GREEDY
#define JOINT INK_KBF_JOINT
#define PAPER INK_KBF_PAPER
#define TRIPLES INK_KBF_PAPER_TRIPLES

/* clang-format off */
static const struct point points[] = {
	{SUMS, JOINT, 3000, 5, 1.1, 1}, {SUMS, JOINT, 3000, 6, 1.41, 1}, {SUMS, JOINT, 3000, 4, 1.2, 1},
	{SUMS, JOINT, 3000, 3, 1.0, 1}, {SUMS, JOINT, 3000, 8, 2.2, 1}, {SUMS, JOINT, 300, 4, 1.2, 1},
	{SUMS, JOINT, 300, 3, 0.8, 1}, {SUMS, JOINT, 50, 4, 1.0, 1}, {SUMS, JOINT, 10000, 4, 1.2, 1},
	{SUMS, JOINT, 10000, 5, 1.5, 1}, {SUMS, JOINT, 16381, 5, 1.2, 1}, {SUMS, JOINT, 1000, 2, 0.5, 1},
	{SUMS, PAPER, 300, 4, 1.2, 1}, {SUMS, PAPER, 3000, 5, 1.0, 1}, {SUMS, PAPER, 3000, 10, 1.5, 1},
	{SUMS, PAPER, 3000, 3, 0.7, 1}, {SUMS, TRIPLES, 300, 4, 1.2, 1}, {SUMS, TRIPLES, 3000, 4, 1.3, 1},
	{WIDE, JOINT, 3000, 4, 1.1, 1}, {WIDE, JOINT, 20000, 3, 0.9, 1}, {WIDE, PAPER, 100, 3, 0.7, 1},
	{GREEDY, JOINT, 300, 4, 1.2, 1}, {GREEDY, JOINT, 1000, 4, 1.2, 1}, {GREEDY, JOINT, 1000, 3, 1.0, 1},
	{GREEDY, PAPER, 500, 4, 0.9, 1}, {GREEDY, TRIPLES, 1000, 4, 1.1, 1}, {SUMS, JOINT, 3000, 4, 1.0, 2},
	{SUMS, JOINT, 300, 3, 0.7, 3}, {SUMS, PAPER, 3000, 5, 0.7, 4}, {SUMS, JOINT, 3000, 3, 1.5, 1},
	{SUMS, JOINT, 3000, 2, 0.8, 1}, {SUMS, JOINT, 300, 3, 1.4, 1}, {SUMS, JOINT, 50, 2, 1.2, 1},
	{SUMS, JOINT, 10000, 3, 1.3, 1}, {SUMS, JOINT, 16381, 4, 1.6, 1}, {SUMS, JOINT, 1000, 4, 2.0, 1},
	{SUMS, PAPER, 300, 3, 1.0, 1}, {SUMS, PAPER, 1000, 4, 1.4, 1}, {SUMS, PAPER, 3000, 2, 0.5, 1},
	{SUMS, TRIPLES, 300, 3, 1.3, 1}, {SUMS, TRIPLES, 3000, 2, 0.9, 1}, {WIDE, JOINT, 3000, 3, 1.2, 1},
	{WIDE, JOINT, 1000, 2, 0.8, 1}, {WIDE, PAPER, 1000, 4, 1.3, 1}, {GREEDY, JOINT, 300, 3, 1.3, 1},
	{GREEDY, JOINT, 1000, 2, 0.9, 1}, {GREEDY, PAPER, 500, 3, 1.0, 1}, {GREEDY, TRIPLES, 1000, 3, 1.3, 1},
	{SUMS, JOINT, 1000, 3, 1.3, 2},
};
/* clang-format on */

enum { POINTS = COUNT(points), KEYS = 100000, STRANGERS = 200000 };

static void name_of(const struct point *p, char *name, size_t size)
{
	snprintf(name, size, "encoding %d, decoding %d, %u values, k %u, load %.2f, %u links", p->encoding,
		 p->decoding, p->values, p->k, p->load, p->links);
}

static struct ink_kbf_plan plan_of(const struct ink_kbf_options *o)
{
	struct ink_kbf_plan plan = {.size = sizeof plan};
	struct ink_why why = {""};

	if (ink_kbf_plan(o, &plan, &why))
		fail_msg("%s", why.text);
	return plan;
}

/* The bytes of a number, in one order: machines of any byte order measure the same keys. */
static struct ink_kbf_place place_by_number(const struct ink_kbf *f, uint64_t i)
{
	uint64_t bytes = htole64(i);

	return ink_kbf_place_of(f, ink_kbf_id(f, (struct ink_bytes){&bytes, sizeof bytes}));
}

/* The symbol of a key follows from its number. */
static uint32_t symbol_of(const struct point *p, uint64_t i)
{
	return (uint32_t)(((id_number(i + ((uint64_t)p->k << 40)) >> 32) * p->values) >> 32);
}

static void fill(struct ink_kbf *f, const struct point *p, uint64_t keys)
{
	for (uint32_t link = 0; link < p->links; link++) {
		if (link)
			assert_int_equal(ink_kbf_grow(f), 0);
		for (uint64_t i = link * keys; i < (link + 1) * keys; i++) {
			struct ink_kbf_place place = place_by_number(f, i);

			ink_kbf_put(f, &place, link, symbol_of(p, i));
		}
	}
}

struct count {
	uint64_t asked, value, unknown;
};

/* Keys from..to; live ones must not be answered wrongly. */
static struct count ask(const struct ink_kbf *f, const struct point *p, uint64_t from, uint64_t to)
{
	struct count c = {.asked = to - from};

	for (uint64_t i = from; i < to; i++) {
		struct ink_kbf_place place = place_by_number(f, i);
		struct ink_kbf_reading r = ink_kbf_read(f, &place);

		c.value += r.answer == INK_KBF_VALUE;
		c.unknown += r.answer == INK_KBF_UNKNOWN;
		if (i < p->links * f->planned && (r.answer == INK_KBF_ABSENT ||
						  (r.answer == INK_KBF_VALUE && r.symbol != symbol_of(p, i))))
			fail_msg("a live key is answered wrongly");
	}
	return c;
}

/*
 * Whether so many of `asked` are inside the interval that holds 99 % when `rate`
 * is right: by the tails of the Poisson distribution where there are few. On a
 * smaller scale, which is for the sanitizers, it holds 99.99 %.
 */
static int is_inside(uint64_t found, double rate, uint64_t asked)
{
	double mean = rate * (double)asked, below = 0, term = exp(-mean);
	double tail = test_scale() < 1 ? .00005 : .005, width = test_scale() < 1 ? 3.891 : 2.576;

	if (mean > 200)
		return fabs((double)found - mean) < width * sqrt(mean * (1 - rate));
	for (uint64_t i = 0; i < found; i++, term *= mean / (double)i)
		below += term;
	return below < 1 - tail && below + term > tail;
}

static void judge(const struct point *p, const char *what, uint64_t found, double rate, uint64_t asked)
{
	char name[120];

	name_of(p, name, sizeof name);
	if (!is_inside(found, rate, asked))
		fail_msg("%s: %s %llu of %llu, planned %.1f", name, what, (unsigned long long)found,
			 (unsigned long long)asked, rate * (double)asked);
}

static struct ink_kbf *filter_at(const struct point *p, uint64_t keys, struct ink_kbf_plan *plan)
{
	struct ink_kbf_options o = {.size = sizeof o,
				    .dict = make_dict(p->encoding, p->values),
				    .decoding = p->decoding,
				    .keys = keys,
				    .values = p->values,
				    .k = p->k,
				    .cells = (uint64_t)((double)keys / p->load) * p->k,
				    .links = p->links};
	struct ink_kbf *f = make_filter(&o);

	for (uint32_t i = 0; i < p->values; i++)
		assert_int_equal(ink_kbf_dict_add(o.dict, value_number(i), NULL), 0);
	*plan = plan_of(&o);
	return f;
}

static void measure(const struct point *p)
{
	uint64_t keys = scaled(KEYS), live = keys * p->links;
	struct ink_kbf_plan plan;
	struct ink_kbf *f = filter_at(p, keys, &plan);
	struct count of_live, of_strangers;

	fill(f, p, keys);
	assert_sound(f);
	of_live = ask(f, p, 0, live);
	of_strangers = ask(f, p, live, live + scaled(STRANGERS));
	judge(p, "live keys in doubt", of_live.unknown, plan.unknown, of_live.asked);
	judge(p, "strangers with a value", of_strangers.value, plan.false_positives, of_strangers.asked);
	judge(p, "strangers in doubt", of_strangers.unknown, plan.strangers_unknown, of_strangers.asked);
}

TEST_THAT(every_formula_is_inside_the_interval_of_what_is_measured)
{
	for (unsigned i = 0; i < POINTS; i++, free_kept())
		measure(&points[i]);
	print_message("%d points, three formulas each, inside 99 %%\n", POINTS);
}

/* The corrected formula of the paper, which the general one must come to. */
TEST_THAT(without_triples_the_plan_is_the_papers_corrected_formula)
{
	for (uint32_t k = 2; k <= 12; k++)
		for (double load = .3; load < 2; load += .2) {
			struct ink_kbf_options o = {.size = sizeof o,
						    .decoding = INK_KBF_PAPER,
						    .encoding = INK_KBF_POWER_SUMS_WIDE,
						    .values = 1u << 24,
						    .keys = 1000000,
						    .k = k,
						    .cells = (uint64_t)(1000000 / load) * k};
			double l = plan_of(&o).load, q2 = l * exp(-l), q3 = 1 - exp(-l) * (1 + l);
			double expected = pow(q3, k) + k * pow(q3, k - 1) * q2;

			assert_true(fabs(plan_of(&o).unknown / expected - 1) < 1e-5);
			assert_true(fabs((plan_of(&o).false_positives + plan_of(&o).strangers_unknown) /
						 pow(1 - exp(-l), k) -
					 1) < .2);
		}
}

/* -------------------------------------------------------------------- promises */

static struct ink_kbf *fill_by_insert(const struct ink_kbf_options *o, uint64_t keys, uint32_t values)
{
	struct ink_kbf *f = make_filter(o);

	for (uint64_t i = 0; i < keys; i++) {
		int error = insert(f, i, (i * 7) % values);

		assert_true(error == 0 || error == -EEXIST);
	}
	return f;
}

static struct count ask_by_query(const struct ink_kbf *f, uint64_t from, uint64_t to, uint32_t values)
{
	struct count c = {.asked = to - from};
	uint64_t wrong = 0;

	for (uint64_t i = from; i < to; i++) {
		int64_t answer = read_key(f, i);

		c.value += answer >= 0;
		c.unknown += answer == UNKNOWN;
		wrong += values && answer != UNKNOWN && answer != (int64_t)((i * 7) % values);
	}
	if (values && wrong > stats_of(f).exists) /* the refused ones are not there */
		fail_msg("%llu wrong answers", (unsigned long long)wrong);
	return c;
}

/* 1M keys, 3000 values, joint: at most 150 bits a key, unknown 1e-3, false positives 2e-5, nothing wrong. */
TEST_THAT(a_million_keys_take_what_was_promised)
{
	uint64_t n = scaled(1000000);
	struct ink_kbf_options o = {.size = sizeof o, .dict = make_dict(0, 0), .keys = n};
	struct ink_kbf *f = fill_by_insert(&o, n, 3000);
	struct count live = ask_by_query(f, 0, n, 3000), strangers = ask_by_query(f, n, 3 * n, 0);

	print_message("%.1f bits a key, unknown %.2g, false positives %.2g\n",
		      8 * (double)stats_of(f).bytes / (double)n, (double)live.unknown / (double)n,
		      (double)strangers.value / (2 * (double)n));
	assert_true(8 * (double)stats_of(f).bytes / (double)n <= 150);
	assert_true((double)live.unknown <= 1e-3 * (double)n + spread(1e-3 * (double)n));
	assert_true((double)strangers.value <= 2e-5 * 2 * (double)n + spread(4e-5 * (double)n));
	assert_sound(f);
}

/* p = 1e-3, m = -n ln p / (ln 2)^2, k = 10, cells of 3 + 29 bits: strangers that are not absent are 2^-10. */
TEST_THAT(at_the_papers_parameters_strangers_meet_its_false_positives)
{
	uint64_t n = scaled(400000), strangers = 8 * n;
	struct ink_kbf_options o = {.size = sizeof o,
				    .dict = make_dict(INK_KBF_GREEDY, 1000),
				    .decoding = INK_KBF_PAPER,
				    .counter_bits = 3,
				    .keys = n,
				    .values = 1000,
				    .k = 10,
				    .cells = (uint64_t)((double)n * log(1000) / (log(2) * log(2)))};
	struct ink_kbf *f = fill_by_insert(&o, n, 1000);
	struct count live = ask_by_query(f, 0, n, 1000), others = ask_by_query(f, n, n + strangers, 0);
	double rate = (double)(others.value + others.unknown) / (double)strangers;

	print_message("not absent: %.3g, 2^-10 is %.3g; live keys in doubt: %llu\n", rate, exp2(-10),
		      (unsigned long long)live.unknown);
	assert_true(rate > .9 * exp2(-10) - 3 * sqrt(exp2(-10) / (double)strangers));
	assert_true(rate < 1.1 * exp2(-10) + 3 * sqrt(exp2(-10) / (double)strangers));
	assert_sound(f);
}

/* ------------------------------------------------------------------ searching */

TEST_THAT(a_plan_keeps_its_ceilings_and_leads_back)
{
	static const double ceilings[] = {1e-1, 1e-2, 1e-3, 1e-4, 1e-6};

	for (unsigned e = INK_KBF_POWER_SUMS; e <= INK_KBF_GREEDY; e++)
		for (unsigned u = 0; u < 5; u++) {
			struct ink_kbf_options o = {.size = sizeof o, .encoding = e, .keys = 123457};
			struct ink_kbf_plan plan, back;

			o.unknown = ceilings[u];
			o.false_positives = ceilings[(u + 2) % 5];
			plan = plan_of(&o);
			assert_true(plan.unknown <= o.unknown && plan.false_positives <= o.false_positives);
			assert_int_equal(plan.cells % plan.k, 0);
			assert_int_equal(plan.bytes, plan.cells * plan.cell_bits / 8);
			o.bytes = plan.bytes;
			o.keys = 0;
			back = plan_of(&o);
			assert_true(back.keys >= 123457 && back.keys < 123457 * 1.001 &&
				    back.bytes <= plan.bytes);
			o.keys = 123457;
			o.unknown = 0;
			assert_true(plan_of(&o).unknown <= plan.unknown * (1 + 1e-9));
		}
}

TEST_THAT(no_other_k_takes_fewer_cells)
{
	struct ink_kbf_options o = {.size = sizeof o, .keys = 1000000}, pinned = o;
	struct ink_kbf_plan best = plan_of(&o);

	for (pinned.k = 2; pinned.k <= INK_KBF_MOST_K; pinned.k++) {
		struct ink_kbf_plan plan = {.size = sizeof plan};

		if (ink_kbf_plan(&pinned, &plan, NULL) == 0)
			assert_true(plan.bytes >= best.bytes);
	}
	assert_true(best.bits_per_key <= 150);
}

static void assert_refused(struct ink_kbf_options o, int error)
{
	struct ink_kbf_plan plan = {.size = sizeof plan};
	struct ink_why why = {""};

	o.size = sizeof o;
	assert_int_equal(ink_kbf_plan(&o, &plan, &why), error);
	assert_true(why.text[0]);
	assert_int_equal(ink_kbf_plan(&o, &plan, NULL), error);
	o.dict = make_dict(0, 10);
	errno = 0;
	assert_null(ink_kbf_create(&o, NULL));
	assert_int_equal(errno, -error);
}

TEST_THAT(options_that_mean_nothing_are_refused_with_a_reason)
{
	static const struct {
		int error;
		struct ink_kbf_options o;
	} bad[] = {
		{-EINVAL, {0}},
		{-EINVAL, {.keys = 9, .decoding = 4}},
		{-EINVAL, {.keys = 9, .encoding = 4}},
		{-EINVAL, {.keys = 9, .unknown = 1}},
		{-EINVAL, {.keys = 9, .false_positives = NAN}},
		{-EINVAL, {.keys = 9, .grow_at = -1}},
		{-EINVAL, {.keys = 9, .counter_bits = 5}},
		{-EINVAL, {.keys = 9, .k = 1}},
		{-EINVAL, {.keys = 9, .k = 33}},
		{-EINVAL, {.keys = 9, .k = 5, .cells = 4}},
		{-EINVAL, {.keys = 9, .cells = 1ull << 32}},
		{-EINVAL, {.keys = 9, .links = 65}},
		{-EINVAL, {.keys = 9, .pending = UINT32_MAX}},
		{-ERANGE, {.keys = UINT64_MAX}},
		{-ERANGE, {.keys = 1ull << 33}},
		{-ERANGE, {.keys = 9, .values = 16382}},
		{-ERANGE, {.keys = 1000, .bytes = 40, .unknown = .1}},
		{-ERANGE, {.bytes = 7}},
	};

	for (unsigned i = 0; i < COUNT(bad); i++)
		assert_refused(bad[i].o, bad[i].error);
}

TEST_THAT(a_filter_without_dictionary_is_refused)
{
	struct ink_kbf_options o = {.size = sizeof o, .keys = 9};
	struct ink_kbf_plan plan = {.size = 1};
	struct ink_why why = {""};

	errno = 0;
	assert_null(ink_kbf_create(&o, &why));
	assert_int_equal(errno, EINVAL);
	assert_non_null(strstr(why.text, "dictionary"));
	assert_int_equal(ink_kbf_plan(&o, &plan, NULL), -EINVAL);
}

int main(void)
{
	return run_suite(&(struct suite){.after_each = free_all});
}
