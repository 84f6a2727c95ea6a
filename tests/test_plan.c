/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A plan is kept: the table takes the planned bytes, and errs about strangers as
 * often as planned. No other shape does the same in fewer bytes. What cannot be
 * done is refused, with the nearest that can. Planning back, from bytes to flows
 * or to the error, gives the same.
 */
#include "tests/kind.h"
#include "tests/table.h"

static const enum ink_kind kinds[] = {INK_LINE, INK_COMPACT, INK_DLEFT};
static const char *const kind_names[] = {"line", "line", "compact", "dleft", "exact"};
static const unsigned states[] = {2, 3, 4, 7, 8, 15, 16, 31, 63, 100, 127, 200};
static const double ceilings[] = {1e-1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6};
static const uint64_t sizes[] = {10000, 1000000};

enum { KINDS = 3, STATES = 12, CEILINGS = 6, SIZES = 2, AGES = 3 };
enum { POINTS = KINDS * STATES * CEILINGS * SIZES * AGES };

static struct ink_options options_for(enum ink_kind kind, uint64_t flows, double error)
{
	return (struct ink_options){.size = sizeof(struct ink_options),
				    .kind = kind,
				    .states = 15,
				    .flows = flows,
				    .error = error,
				    .age_bits = 1,
				    .seed = 1};
}

static struct ink_options grid_point(unsigned i)
{
	struct ink_options o = options_for(kinds[i % KINDS], 0, 0);

	i /= KINDS;
	o.states = states[i % STATES];
	i /= STATES;
	o.error = ceilings[i % CEILINGS];
	i /= CEILINGS;
	o.flows = sizes[i % SIZES];
	o.age_bits = i / SIZES;
	return o;
}

static const char *name_of(const struct ink_options *o)
{
	static char name[120];

	snprintf(name, sizeof name, "%s, %llu flows, %u states, %u age bits, error %g", kind_names[o->kind],
		 (unsigned long long)o->flows, o->states, o->age_bits, o->error);
	return name;
}

static struct ink_plan plan_of(const struct ink_options *o)
{
	struct ink_plan plan = {.size = sizeof plan};
	struct ink_why why = {""};

	if (ink_plan(o, &plan, &why))
		fail_msg("%s: %s", name_of(o), why.text);
	return plan;
}

/* --------------------------------------------------------------------- the grid */

static void assert_plan_is_kept(const struct ink_options *o, const struct ink_plan *plan)
{
	struct ink_table *t = table_with(o);

	if (stats_of(t).bytes != plan->bytes)
		fail_msg("%s: %llu bytes were planned, it takes %llu", name_of(o),
			 (unsigned long long)plan->bytes, (unsigned long long)stats_of(t).bytes);
	if (plan->error > o->error * (1 + 1e-9) || plan->flows < o->flows || !(plan->load <= 1))
		fail_msg("%s: planned are error %g, %llu flows, load %g", name_of(o), plan->error,
			 (unsigned long long)plan->flows, plan->load);
	assert_true(fabs(plan->bits_per_flow * (double)plan->flows - 8 * (double)plan->bytes) < 1);
	ink_free(t);
}

/* "...; the least is 1.2e-05", in two digits, and that can be had. */
static void assert_refusal_names_the_least(const struct ink_options *o, const struct ink_why *why)
{
	const char *least = strstr(why->text, "the least is ");
	struct ink_options instead = *o;

	if (!least)
		fail_msg("%s: refused without saying what is possible: %s", name_of(o), why->text);
	instead.error = strtod(least + strlen("the least is "), NULL);
	assert_true(instead.error > o->error);
	instead.error *= 1.06;
	plan_of(&instead);
}

TEST_THAT(plans_over_the_grid_are_kept_or_refused_with_a_reason)
{
	unsigned kept = 0, refused = 0;

	for (unsigned i = 0; i < POINTS; i += test_scale() < 1 ? 7 : 1) {
		struct ink_options o = grid_point(i);
		struct ink_plan plan = {.size = sizeof plan};
		struct ink_why why = {""};
		int error = ink_plan(&o, &plan, &why);

		if (error == 0) {
			assert_plan_is_kept(&o, &plan);
			kept++;
		} else {
			assert_int_equal(error, -ERANGE);
			assert_refusal_names_the_least(&o, &why);
			errno = 0;
			assert_null(ink_create(&o, &why));
			assert_int_equal(errno, ERANGE);
			refused++;
		}
	}
	print_message("%u plans kept, %u refused\n", kept, refused);
	assert_true(kept > refused);
}

TEST_THAT(the_promised_bits_are_planned)
{
	static const uint64_t flows[] = {1000000, 1300000};

	for (unsigned i = 0; i < 2; i++) {
		struct ink_options line = options_for(INK_LINE, flows[i], .001);
		struct ink_options compact = options_for(INK_COMPACT, flows[i], .0042);

		assert_true(plan_of(&line).bits_per_flow <= 22.5);
		line.writers = 2;
		assert_true(plan_of(&line).bits_per_flow <= 26);
		compact.geometry.f = 8;
		assert_true(plan_of(&compact).bits_per_flow <= 17.8);
	}
}

/* Where a whole line would have to be half empty, or to have longer entries, a part of it will do. */
TEST_THAT(the_promised_bits_of_parts_are_planned)
{
	struct ink_options rare = options_for(INK_LINE, 1000000, .0001), ages = rare, many = rare;

	ages.error = many.error = .001;
	ages.age_bits = 2;
	many.states = 31;
	assert_int_equal(plan_of(&rare).part, 8);
	assert_true(plan_of(&rare).bits_per_flow <= 25);
	assert_true(plan_of(&ages).bits_per_flow <= 23.5);
	assert_true(plan_of(&many).bits_per_flow <= 23.5);
	rare.error = .00005;
	assert_int_equal(plan_of(&rare).geometry.h, 16);
}

/* A geometry alone is one of whole lines, as it was before there were parts. */
TEST_THAT(a_part_is_chosen_unless_a_geometry_or_a_part_is_given)
{
	struct ink_options o = options_for(INK_LINE, 100000, .0001), good = o;

	assert_int_equal(plan_of(&o).part, 8);
	o.part = 16;
	assert_int_equal(plan_of(&o).part, 16);
	o.part = 64;
	assert_int_equal(plan_of(&o).part, 0);
	o.part = 0;
	o.geometry.h = 16;
	assert_int_equal(plan_of(&o).part, 0);
	o.part = 32;
	assert_int_equal(plan_of(&o).part, 32);
	REFUSED(-EINVAL, part = 4);
	REFUSED(-EINVAL, part = 48);
	REFUSED(-EINVAL, part = 128);
	good.kind = INK_COMPACT;
	REFUSED(-ENOTSUP, part = 32);
}

/* -------------------------------------------------------------------- measuring */

enum { ENOUGH = 2000, MOST_LOOKUPS = 30000000, AT_ONCE = 1000 };

static void fill(struct ink_table *t, uint64_t n)
{
	for (uint64_t i = 0; i < n; i++)
		ink_insert(t, id_number(i), (unsigned)(i % 2));
}

static uint64_t count_mistakes(const struct ink_table *t, uint64_t lookups)
{
	uint64_t ids[AT_ONCE], mistakes = 0;
	ink_answer answers[AT_ONCE];
	struct ink_batch b = {.n = AT_ONCE, .ids = ids, .answers = answers};

	for (uint64_t i = 0; i < lookups; i += AT_ONCE) {
		for (unsigned j = 0; j < AT_ONCE; j++)
			ids[j] = id_number(1ull << 40 | (i + j));
		ink_peek_batch(t, &b);
		for (unsigned j = 0; j < AT_ONCE; j++)
			mistakes += answers[j] != INK_ABSENT;
	}
	return mistakes;
}

struct measured {
	unsigned points;
	double lowest, highest; /* ratios */
};

/* 0 if too many lookups would be needed to tell. */
static int measure(const struct ink_options *o, struct measured *m)
{
	struct ink_plan plan = plan_of(o);
	uint64_t lookups = (uint64_t)((double)scaled(ENOUGH) / plan.error) / AT_ONCE * AT_ONCE + AT_ONCE;
	double expected = plan.error * (double)lookups, mistakes;
	struct ink_table *t;

	if (lookups > scaled(MOST_LOOKUPS))
		return 0;
	t = table_with(o);
	fill(t, plan.flows);
	mistakes = (double)count_mistakes(t, lookups);
	if (mistakes < .9 * expected - spread(expected) || mistakes > 1.05 * expected + spread(expected))
		fail_msg("%s: %.0f mistakes, %.0f were planned", name_of(o), mistakes, expected);
	m->points++;
	m->lowest = fmin(m->lowest, mistakes / expected);
	m->highest = fmax(m->highest, mistakes / expected);
	ink_free(t);
	return 1;
}

/*
 * Every ceiling that can be measured, with few and many states; most points small,
 * since the error is that of the shape.
 */
static int is_chosen(const struct ink_options *o)
{
	int small = o->flows == sizes[0], rare = o->error < .9e-3;

	if (o->age_bits != 1)
		return small && o->states == 7 && !rare;
	if (rare)
		return small && o->error > .9e-4 && (o->states == 15 || o->states == 100);
	if (!small)
		return o->states == 15 && o->error < .5e-1;
	return o->states == 2 || o->states == 4 || o->states == 15 || o->states == 63 || o->states == 200;
}

static int is_reached(const struct ink_options *o)
{
	struct ink_plan plan = {.size = sizeof plan};

	return ink_plan(o, &plan, NULL) == 0;
}

TEST_THAT(measured_mistakes_are_the_planned_ones)
{
	struct measured m = {.lowest = 9};

	for (unsigned i = 0; i < POINTS; i++) {
		struct ink_options o = grid_point(i);

		if (is_chosen(&o) && is_reached(&o))
			measure(&o, &m);
	}
	print_message(
		"%u points judged, measured / planned %.3f to %.3f, each within 0.9 to 1.05 and 99.9 %%\n",
		m.points, m.lowest, m.highest);
	assert_true(m.points >= (test_scale() < 1 ? 20 : 50));
}

/* In churn fewer values are taken than after filling, so the plan is a little high; never low. */
TEST_THAT(mistakes_after_churn_are_not_more_than_planned)
{
	for (unsigned k = 0; k < 2; k++) {
		struct ink_options o = options_for(kinds[k], 20000, .01);
		struct ink_plan plan = plan_of(&o);
		uint64_t lookups = (uint64_t)((double)scaled(20000) / plan.error);
		struct ink_table *t = ink_create(&o, NULL);
		double expected;

		fill(t, o.flows);
		for (uint64_t i = 0; i < 4 * o.flows; i++) {
			assert_int_equal(ink_delete(t, id_number(i)), 0);
			assert_int_equal(ink_insert(t, id_number(o.flows + i), 0), 0);
		}
		lookups -= lookups % AT_ONCE;
		expected = plan.error * (double)lookups;
		assert_true((double)count_mistakes(t, lookups) <= 1.05 * expected + spread(expected));
		assert_true((double)count_mistakes(t, lookups) >= .9 * expected - spread(expected));
		ink_free(t);
	}
}

/* -------------------------------------------------------------- the fewest bytes */

/* Without bytes that are spent on speed. */
static struct ink_options smallest_point(unsigned i)
{
	struct ink_options o = grid_point(i);

	o.smallest = 1;
	return o;
}

/* A plan spends up to 2 % more than the smallest, or holds so many flows less, if it then takes less time. */
TEST_THAT(a_plan_takes_little_more_memory_to_be_faster)
{
	unsigned faster = 0;

	for (unsigned i = 0; i < 2 * POINTS; i++) {
		struct ink_options o = grid_point(i / 2), smallest = smallest_point(i / 2);
		struct ink_plan plan = {.size = sizeof plan}, least;

		if (i % 2) {
			o.flows = smallest.flows = 0;
			o.bytes = smallest.bytes = 100000;
		}
		if (ink_plan(&o, &plan, NULL))
			continue;
		least = plan_of(&smallest);
		assert_true(plan.bits_per_flow <= 1.021 * least.bits_per_flow);
		assert_true(plan.time <= least.time && plan.error <= o.error * (1 + 1e-9));
		assert_int_equal(plan.time > 0,
				 kind_takes(o.kind, INK_GEOMETRY_Q) && kind_takes(o.kind, INK_GEOMETRY_H));
		faster += plan.time < least.time;
	}
	assert_true(faster > 50);
}

static void assert_not_fewer(const struct ink_options *pinned, uint64_t fewest)
{
	struct ink_plan other = {.size = sizeof other};

	if (ink_plan(pinned, &other, NULL) == 0 && other.error <= pinned->error && other.bytes < fewest)
		fail_msg("%s: b %u, h %u, f %u takes %llu bytes, less than the plan's %llu", name_of(pinned),
			 other.geometry.b, other.geometry.h, other.geometry.f,
			 (unsigned long long)other.bytes, (unsigned long long)fewest);
}

/*
 * Each shape, and, since more lines mean fewer collisions and a smaller side
 * table, the plan's own with more lines.
 */
static void try_all_shapes(const struct ink_options *o, const struct ink_plan *plan)
{
	struct ink_options pinned = *o;

	for (uint32_t h = 4; h <= 56; h++)
		for (uint32_t f = 2; f <= 32; f++) {
			pinned.geometry = (struct ink_geometry){.h = h, .f = f};
			if (!kind_takes(o->kind, INK_GEOMETRY_DLEFT_FLAGS) || h == 6)
				assert_not_fewer(&pinned, plan->bytes);
		}
	for (uint32_t percent = 1; percent <= 40; percent += 3) {
		pinned.geometry = plan->geometry;
		pinned.part = plan->part;
		pinned.geometry.side = 0;
		pinned.geometry.b += pinned.geometry.b * percent / 100;
		assert_not_fewer(&pinned, plan->bytes);
	}
}

TEST_THAT(no_other_shape_takes_fewer_bytes)
{
	for (unsigned i = 0; i < POINTS; i += test_scale() < 1 ? 97 : 13) {
		struct ink_options o = smallest_point(i);
		struct ink_plan plan = {.size = sizeof plan};

		if (ink_plan(&o, &plan, NULL) == 0)
			try_all_shapes(&o, &plan);
	}
}

/* ------------------------------------------------------------------ round trips */

TEST_THAT(from_bytes_to_flows_and_back)
{
	for (unsigned i = 0; i < POINTS; i += 5) {
		struct ink_options o = smallest_point(i), by_bytes = o;
		struct ink_plan plan = {.size = sizeof plan}, back;

		if (ink_plan(&o, &plan, NULL))
			continue;
		by_bytes.bytes = plan.bytes;
		by_bytes.flows = 0;
		back = plan_of(&by_bytes);
		if (back.flows < o.flows || back.bytes > plan.bytes || back.error > o.error * (1 + 1e-9))
			fail_msg("%s takes %llu bytes, and in these there is room for %llu flows in %llu "
				 "bytes",
				 name_of(&o), (unsigned long long)plan.bytes, (unsigned long long)back.flows,
				 (unsigned long long)back.bytes);
		o.flows = back.flows;
		assert_true(plan_of(&o).bytes <= plan.bytes);
		assert_plan_is_kept(&by_bytes, &back);
	}
}

TEST_THAT(from_flows_and_bytes_to_the_error)
{
	for (unsigned i = 0; i < POINTS; i += 5) {
		struct ink_options o = smallest_point(i), by_both = o;
		struct ink_plan plan = {.size = sizeof plan}, back;

		if (ink_plan(&o, &plan, NULL))
			continue;
		by_both.bytes = plan.bytes;
		by_both.error = 0;
		back = plan_of(&by_both);
		if (back.error > plan.error * (1 + 1e-9) || back.bytes > plan.bytes || back.flows != o.flows)
			fail_msg("%s: error %g in %llu bytes, but asked for the least it says %g",
				 name_of(&o), plan.error, (unsigned long long)plan.bytes, back.error);
	}
}

TEST_THAT(more_flows_and_fewer_mistakes_take_more_bytes)
{
	for (unsigned k = 0; k < KINDS; k++) {
		uint64_t last = 0;

		for (uint64_t n = 1; n < 1000000000; n += 1 + n / 3) {
			struct ink_options o = options_for(kinds[k], n, .004);

			assert_true(plan_of(&o).bytes >= last);
			last = plan_of(&o).bytes;
		}
		last = 0;
		for (double error = .3; error > 1e-4; error *= .8) {
			struct ink_options o = options_for(kinds[k], 100000, error);

			assert_true(plan_of(&o).bytes >= last);
			last = plan_of(&o).bytes;
		}
	}
}

TEST_THAT(more_bytes_hold_more_flows_or_make_fewer_mistakes)
{
	for (unsigned k = 0; k < KINDS; k++) {
		uint64_t flows = 0;
		double error = 1;

		for (uint64_t bytes = 100000; bytes < 100000000; bytes += bytes / 7) {
			struct ink_options o = options_for(kinds[k], 0, .004);

			o.bytes = bytes;
			if (plan_of(&o).flows < flows || plan_of(&o).bytes > bytes)
				fail_msg("%s: %llu bytes hold %llu flows, fewer held %llu", name_of(&o),
					 (unsigned long long)bytes, (unsigned long long)plan_of(&o).flows,
					 (unsigned long long)flows);
			flows = plan_of(&o).flows;
			o.flows = 30000;
			o.error = 0;
			if (plan_of(&o).error > error)
				fail_msg("%s: in %llu bytes error %g, in fewer %g", name_of(&o),
					 (unsigned long long)bytes, plan_of(&o).error, error);
			error = plan_of(&o).error;
		}
	}
}

/* Three wishes: the ceiling holds, and the bytes suffice or are named. */
TEST_THAT(all_three_can_be_asked_for)
{
	struct ink_options o = options_for(INK_LINE, 100000, .001);
	struct ink_plan plan = {.size = sizeof plan};
	struct ink_why why = {""};

	o.bytes = plan_of(&o).bytes;
	assert_int_equal(plan_of(&o).bytes, o.bytes);
	o.bytes -= 1;
	assert_int_equal(ink_plan(&o, &plan, &why), -ERANGE);
	assert_non_null(strstr(why.text, "bytes"));
	assert_non_null(strstr(why.text, "are allowed"));
}

/* ------------------------------------------------------------------ contradictions */

TEST_THAT(options_that_mean_nothing_are_refused)
{
	struct ink_options good = options_for(INK_LINE, 1000, .01);

	plan_of(&good);
	REFUSED(-EINVAL, kind = (enum ink_kind)(INK_KBF + 1));
	REFUSED(-EINVAL, kind = (enum ink_kind) - 1);
	REFUSED(-EINVAL, states = 0);
	REFUSED(-EINVAL, states = INK_MAX_STATES + 1);
	REFUSED(-EINVAL, age_bits = 3);
	REFUSED(-EINVAL, error = -.1);
	REFUSED(-EINVAL, error = 1);
	REFUSED(-EINVAL, error = NAN);
	REFUSED(-EINVAL, error = INFINITY);
	REFUSED(-EINVAL, full = (enum ink_full)(INK_REPLACE + 1));
	REFUSED(-EINVAL, full = (enum ink_full) - 1);
	REFUSED(-EINVAL, simd = (enum ink_simd)(INK_SIMD_AVX2 + 1));
	REFUSED(-EINVAL, flows = 0);
	REFUSED(-EINVAL, geometry.b = (1u << 28) + 1);
	good.kind = INK_DLEFT;
	REFUSED(-EINVAL, geometry.dleft_flags = 8);
	good = options_for(INK_EXACT, 1000, 0);
	REFUSED(-EINVAL, geometry.d = 1);
	REFUSED(-EINVAL, geometry.b = 1024);
	REFUSED(-EINVAL, geometry.h = 1);
	REFUSED(-EINVAL, geometry.f = 64);
	REFUSED(-EINVAL, geometry.side = 10);
	good.geometry.side = INK_NO_SIDE;
	plan_of(&good);
	good.flows = 0;
	REFUSED(-EINVAL, geometry.side = 0);
}

TEST_THAT(what_a_kind_cannot_do_is_refused)
{
	struct ink_options good = options_for(INK_COMPACT, 1000, .01);

	REFUSED(-ENOTSUP, writers = 2);
	good.kind = INK_DLEFT;
	REFUSED(-ENOTSUP, writers = 2);
	good.kind = INK_EXACT;
	REFUSED(-ENOTSUP, writers = 2);
}

TEST_THAT(geometries_that_are_none_are_refused)
{
	struct ink_options good = options_for(INK_LINE, 1000, .01);

	REFUSED(-ERANGE, geometry.h = 20);
	REFUSED(-ERANGE, geometry.h = 8);
	REFUSED(-ERANGE, geometry.d = 3);
	REFUSED(-ERANGE, geometry.f = 15);
	REFUSED(-EINVAL, geometry.q = 1);
	good.kind = INK_COMPACT;
	REFUSED(-ERANGE, geometry.f = 3);
	REFUSED(-ERANGE, geometry.f = 25);
	REFUSED(-ERANGE, geometry.h = 3);
	REFUSED(-ERANGE, geometry.h = 57);
	REFUSED(-ERANGE, geometry.q = 123);
	REFUSED(-ERANGE, geometry.d = 1);
	good.kind = INK_DLEFT;
	REFUSED(-ERANGE, geometry.d = 9);
	REFUSED(-ERANGE, geometry.h = 65);
	REFUSED(-ERANGE, geometry.f = 1);
	REFUSED(-ERANGE, geometry.f = 33);
}

TEST_THAT(more_than_a_machine_has_is_refused)
{
	for (unsigned k = 0; k < KINDS; k++) {
		struct ink_options good = options_for(kinds[k], 1000, .01);

		REFUSED(-ERANGE, flows = 1ull << 40);
		REFUSED(-ERANGE, flows = UINT64_MAX);
		REFUSED(-ERANGE, bytes = 1);
		good.flows = 0;
		REFUSED(-ERANGE, bytes = 100);
	}
}

TEST_THAT(zeros_are_defaults)
{
	struct ink_options o = {.size = sizeof o, .states = 4, .flows = 1000}, same = o;
	struct ink_plan plan = plan_of(&o), again;

	same.kind = INK_LINE;
	same.error = 1.0 / 1024;
	same.writers = 1;
	same.full = INK_UNSURE;
	again = plan_of(&same);
	assert_int_equal(plan.kind, INK_LINE);
	assert_memory_equal(&plan, &again, sizeof plan);
}

/* Else a table could be saved, but never loaded. */
TEST_THAT(a_planned_error_is_at_most_1)
{
	for (unsigned many = 100; many <= 255; many += 5)
		for (uint32_t side_id = 4; side_id <= 8; side_id++) {
			struct ink_options o = {
				.size = sizeof o,
				.kind = INK_LINE,
				.states = many,
				.age_bits = 1,
				.geometry = {.b = 14, .h = 32, .side = 60, .side_id = side_id}};
			struct ink_plan plan = {.size = sizeof plan};

			assert_int_equal(ink_plan(&o, &plan, NULL), 0);
			assert_true(plan.error <= 1);
		}
}

/* Small tables take the same bytes in several shapes of a part; the best of these is planned. */
TEST_THAT(a_small_table_with_parts_errs_as_little_as_its_bytes_allow)
{
	for (unsigned part = 8; part <= 32; part *= 2) {
		struct ink_options o = {.size = sizeof o,
					.kind = INK_LINE,
					.states = 3,
					.flows = 100,
					.error = .2,
					.part = part};
		struct ink_plan free_shape = {.size = sizeof free_shape}, wide = {.size = sizeof wide};

		assert_int_equal(ink_plan(&o, &free_shape, NULL), 0);
		o.geometry.h = 16;
		assert_int_equal(ink_plan(&o, &wide, NULL), 0);
		assert_true(free_shape.bytes < wide.bytes || free_shape.error <= wide.error);
	}
}

int main(void)
{
	return run_suite(NULL);
}
