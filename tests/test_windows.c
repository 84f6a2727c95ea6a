/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Windows: the period of a group of states begins when a flow enters the group, and
 * neither touches nor moves inside it renew it.
 *
 * Two tables have the same flows. In the first they are looked up and moved inside
 * their group; in the second they only enter it. So every flow must expire at the same
 * tick in both, whatever a kind makes of ages.
 */
#include "tests/kind.h"
#include "tests/table.h"

enum { STATES = 6, FLOWS = 400, TICKS = 1000 };
enum { IDLE, FIRST, SECOND, THIRD, OTHER, LAST }; /* FIRST to THIRD are one group, OTHER and LAST another */
enum { ENTER, MOVE, STAY, LEAVE, SWITCH, EVENTS };

/* clang-format off */
#define STAYS {INK_NO_ROW, 0}
#define FORGET(period) {period, INK_ABSENT, 0}
/* clang-format on */

/* Event by event: enter, move inside, stay, leave the group, switch to the other group. */
static const struct ink_row rows[(STATES + 2) * EVENTS] = {
	{FIRST, 1}, STAYS,       STAYS, {IDLE, 0}, {OTHER, 4}, /* IDLE */
	STAYS,      {SECOND, 2}, STAYS, {IDLE, 3}, {OTHER, 4}, /* FIRST */
	STAYS,      {THIRD, 2},  STAYS, {IDLE, 3}, {OTHER, 4}, /* SECOND */
	STAYS,      {FIRST, 2},  STAYS, {IDLE, 3}, {OTHER, 4}, /* THIRD */
	STAYS,      {LAST, 2},   STAYS, {IDLE, 3}, {FIRST, 4}, /* OTHER */
	STAYS,      {OTHER, 2},  STAYS, {IDLE, 3}, {FIRST, 4}, /* LAST */
	{FIRST, 1}, STAYS,       STAYS, STAYS,     STAYS,      /* absent */
	STAYS,      STAYS,       STAYS, STAYS,     STAYS,      /* unsure */
};

/* The window of the second group ends in IDLE. */
static const struct ink_timing timings[STATES + 1] = {FORGET(7),     FORGET(12),    FORGET(12), FORGET(12),
						      {30, IDLE, 0}, {30, IDLE, 0}, FORGET(5)};
static const uint8_t windows[STATES] = {0, 1, 1, 1, 2, 2};

static const struct ink_rules rules = {.size = sizeof rules,
				       .states = STATES,
				       .events = EVENTS,
				       .rows = rows,
				       .timings = timings,
				       .windows = windows};

static struct ink_table *used, *left; /* the first table, and the one whose flows only enter */

static int free_both(void **state)
{
	ink_free(used);
	ink_free(left);
	used = left = NULL;
	return 0;
}

static void make_both(struct ink_options o)
{
	o.size = sizeof o;
	o.states = STATES;
	o.seed = 3;
	o.rules = &rules;
	used = table_with(&o);
	left = table_with(&o);
}

static void step_one(struct ink_table *t, uint64_t id, unsigned event)
{
	struct ink_move move;

	ink_step(t, id, event, &move);
}

/* Uses that do not leave the group: by every verb that touches or moves. */
static void use_inside(uint64_t id)
{
	ink_answer now = ink_peek(used, id);
	uint16_t event = MOVE;
	struct ink_move move;

	switch (random_below(5)) {
	case 0:
		ink_lookup(used, id);
		break;
	case 1:
		ink_modify(used, id, (unsigned)(now >= OTHER ? LAST : SECOND));
		break;
	case 2:
		ink_set(used, id, (unsigned)(now >= OTHER ? OTHER : THIRD));
		break;
	case 3:
		ink_step_batch(used,
			       &(struct ink_batch){.n = 1, .ids = &id, .events = &event, .moves = &move});
		break;
	default:
		step_one(used, id, random_below(2) ? STAY : MOVE);
	}
}

/* A flow that is in no group is used alike in both tables. */
static void use_flow(uint64_t id)
{
	unsigned event = random_below(4) == 0 ? ENTER : random_below(2) ? LEAVE : SWITCH;

	if (ink_peek(used, id) >= FIRST && random_below(8)) {
		use_inside(id);
		return;
	}
	step_one(used, id, event);
	step_one(left, id, event);
}

static int group_of(ink_answer state)
{
	return state < 0 ? state : windows[state];
}

static void compare(uint64_t flows)
{
	for (uint64_t i = 0; i < flows; i++)
		assert_int_equal(group_of(ink_peek(used, id_number(i))),
				 group_of(ink_peek(left, id_number(i))));
}

static void tick_both(uint64_t now)
{
	struct ink_counts a, b;

	if (random_below(4)) {
		ink_tick(used, now, &a);
		ink_tick(left, now, &b);
		assert_int_equal(a.total, b.total);
		return;
	}
	while (ink_tick_portion(used, now, 100, NULL) == 1) {
		uint64_t id = id_number(random_below(FLOWS));

		if (ink_peek(used, id) >= FIRST)
			use_inside(id);
	}
	while (ink_tick_portion(left, now, 100, NULL) == 1)
		;
}

static void live(uint64_t flows)
{
	uint64_t now = ink_now(used);

	for (int i = 0; i < TICKS; i++) {
		for (int uses = 0; uses < 60; uses++)
			use_flow(id_number(random_below(flows)));
		tick_both(now += 1 + (random_below(16) == 0) * random_below(50));
		compare(flows);
	}
	assert_sound(used);
}

static void live_with(struct ink_options o)
{
	make_both(o);
	live(FLOWS);
	free_both(NULL);
}

TEST_THAT(a_window_ends_as_if_nothing_had_happened_in_its_group)
{
	struct ink_kind_info kind = {.size = sizeof kind};

	for (unsigned i = 1; ink_kind_info(i, &kind) == 0; i++)
		for (unsigned age_bits = 1; age_bits <= 2 && (kind.can & INK_CAN_WINDOW); age_bits++)
			for (unsigned simd = INK_SIMD_BEST; simd <= INK_SIMD_NONE; simd++)
				live_with((struct ink_options){.kind = kind.kind,
							       .flows = 2 * FLOWS,
							       .age_bits = age_bits,
							       .simd = (enum ink_simd)simd});
	live_with((struct ink_options){.flows = 2 * FLOWS, .age_bits = 1, .writers = 4});
	live_with((struct ink_options){.kind = INK_DLEFT,
				       .flows = 2 * FLOWS,
				       .age_bits = 1,
				       .geometry = {.dleft_flags = INK_DLEFT_REINSERT}});
}

/* Two lines of 24, so that the side table holds the rest. */
TEST_THAT(flows_in_the_side_table_have_windows_too)
{
	make_both((struct ink_options){
		.age_bits = 1, .flows = 100, .geometry = {.b = 2, .h = 24, .side = 400}});
	for (uint64_t i = 0; i < 100; i++) {
		step_one(used, id_number(i), ENTER);
		step_one(left, id_number(i), ENTER);
	}
	assert_true(stats_of(used).side_flows > 20);
	live(100);
}

/* States of a group then have had different numbers of looks, so their stored ages differ. */
TEST_THAT(rules_with_windows_may_follow_others)
{
	struct ink_timing before[STATES + 1];
	struct ink_rules idle = rules;

	make_both((struct ink_options){.age_bits = 2, .flows = 2 * FLOWS});
	for (unsigned i = 0; i <= STATES; i++)
		before[i] = (struct ink_timing)FORGET(3 + 7 * i);
	idle.timings = before;
	idle.windows = NULL;
	ink_set_rules(used, &idle, NULL);
	ink_set_rules(left, &idle, NULL);
	for (uint64_t now = 1; now < 100; now++) {
		ink_tick(used, now, NULL);
		ink_tick(left, now, NULL);
	}
	ink_set_rules(used, &rules, NULL);
	ink_set_rules(left, &rules, NULL);
	live(FLOWS);
}

/* Ticks from entering the group to the end of the flow, which moves at every tick. */
static unsigned lifetime(struct ink_options o)
{
	uint64_t id = id_number(1), now = 0;

	make_both(o);
	step_one(used, id, ENTER);
	while (ink_peek(used, id) != INK_ABSENT && now < 100) {
		ink_tick(used, ++now, NULL);
		step_one(used, id, MOVE);
	}
	free_both(NULL);
	return (unsigned)now;
}

TEST_THAT(an_exact_window_lasts_its_period)
{
	assert_int_equal(lifetime((struct ink_options){.kind = INK_EXACT, .flows = 10, .age_bits = 1}), 12);
	assert_in_range(lifetime((struct ink_options){.kind = INK_LINE, .flows = 10, .age_bits = 1}), 12, 24);
	assert_in_range(lifetime((struct ink_options){.kind = INK_LINE, .flows = 10, .age_bits = 2}), 12, 16);
}

TEST_THAT(the_rules_come_back_with_their_windows)
{
	struct ink_rules back = {.size = sizeof back};

	make_both((struct ink_options){.age_bits = 1, .flows = FLOWS});
	assert_int_equal(ink_rules(used, &back), 0);
	assert_memory_equal(back.windows, windows, sizeof windows);
	ink_free(left);
	left = ink_copy(used, NULL, NULL);
	assert_int_equal(ink_rules(left, &back), 0);
	assert_memory_equal(back.windows, windows, sizeof windows);
	assert_true(left->has_windows);
}

static void assert_rules_refused(const struct ink_rules *r, int error, const char *reason)
{
	struct ink_why why = {""};

	assert_int_equal(ink_set_rules(used, r, &why), error);
	assert_string_equal(why.text, reason);
}

TEST_THAT(windows_that_mean_nothing_are_refused)
{
	struct ink_timing bad_timings[STATES + 1];
	struct ink_rules bad = rules;

	make_both((struct ink_options){.age_bits = 1, .flows = FLOWS});
	memcpy(bad_timings, timings, sizeof timings);
	bad.timings = bad_timings;
	bad_timings[THIRD].period = 13;
	assert_rules_refused(&bad, -EINVAL, "rules: states 1 and 3 have one window and periods of 12 and 13");
	bad_timings[SECOND].period = 0;
	assert_rules_refused(&bad, -EINVAL, "rules: state 2 has a window without a period");
	bad.timings = NULL;
	assert_rules_refused(&bad, -EINVAL, "rules: state 1 has a window without a period");
}

TEST_THAT(kinds_without_windows_say_so)
{
	struct ink_kind_info kind = {.size = sizeof kind};

	for (unsigned i = 1; ink_kind_info(i, &kind) == 0; i++) {
		struct ink_options o = {
			.size = sizeof o, .kind = kind.kind, .states = STATES, .flows = FLOWS};
		struct ink_why why = {""};

		used = table_with(&o);
		assert_int_equal(ink_set_rules(used, &rules, &why), kind.can & INK_CAN_WINDOW ? 0 : -ENOTSUP);
		if (!(kind.can & INK_CAN_WINDOW))
			assert_non_null(strstr(why.text, "rules: windows; "));
		free_both(NULL);
	}
}

int main(void)
{
	return run_suite(&(struct suite){.after_each = free_both});
}
