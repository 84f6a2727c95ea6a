/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The side table, beside a plain list: with whole ids in chains, and in words of
 * 4 and of 8 bytes. What tables do with it is in test_semantics.c.
 */
#include "tests/scratch.h"
#include "tests/table.h"

static const struct ink_side_form forms[] = {
	{.capacity = 50},
	{.capacity = 50, .id_bits = 16, .code_bits = 5, .homes = 1000},
	{.capacity = 50, .id_bits = 4, .code_bits = 10, .homes = 1},
	{.capacity = 50, .id_bits = 24, .code_bits = 10, .homes = 1u << 28},
	{.capacity = 50, .id_bits = 42, .code_bits = 5, .homes = 43403},
};

enum { FORMS = sizeof forms / sizeof *forms, FLOWS = 80 };

struct made {
	struct ink_side side;
	void *memory;
};

static struct made make(struct ink_side_form form)
{
	struct made m = {.memory = calloc(1, ink_side_bytes(form))};

	assert_non_null(m.memory);
	ink_side_init(&m.side, m.memory, form, 0);
	return m;
}

/* Flows that a form can tell apart: home as tables have it, the number in the lowest bits. */
struct flow {
	uint64_t id;
	uint32_t home;
	int code; /* -1: not there */
};

static uint64_t id_at(uint32_t home, uint32_t homes, uint32_t number)
{
	return ((((uint64_t)home << 32) + (1ull << 31)) / homes) << 32 | number;
}

/* How many there are. */
static uint32_t name_flows(const struct ink_side_form *form, struct flow *flows)
{
	uint32_t homes = form->id_bits ? form->homes : 1000, count = form->id_bits == 4 ? 16 : FLOWS;

	for (uint32_t i = 0; i < count; i++) {
		uint32_t home = random_below(homes);

		flows[i] = (struct flow){.id = id_at(home, homes, i), .home = home, .code = -1};
	}
	return count;
}

static void compare(const struct ink_side *side, const struct flow *flows, uint32_t count)
{
	uint32_t used = 0;

	assert_null(ink_side_check(side));
	for (uint32_t i = 0; i < count; i++) {
		uint32_t e = ink_side_find(side, flows[i].home, flows[i].id);

		used += flows[i].code >= 0;
		assert_int_equal(e ? (int)ink_side_code(side, e) : -1, flows[i].code);
		assert_int_equal(ink_side_peek(side, flows[i].home, flows[i].id), flows[i].code);
	}
	assert_int_equal(ink_side_count(side), used);
}

static void change(struct ink_side *side, struct flow *flow)
{
	uint32_t e = ink_side_find(side, flow->home, flow->id), used = ink_side_count(side);
	unsigned code = random_below(32);

	if (flow->code < 0) {
		e = ink_side_add(side, flow->home, flow->id, code);
		assert_int_equal(e != 0, used < side->capacity);
		flow->code = e ? (int)code : -1;
	} else if (random_below(3)) {
		ink_side_recode(side, e, code);
		flow->code = (int)code;
	} else {
		ink_side_remove(side, flow->home, e);
		flow->code = -1;
	}
}

TEST_THAT(it_is_what_a_list_of_flows_would_be)
{
	for (unsigned form = 0; form < FORMS; form++) {
		struct made m = make(forms[form]);
		struct flow flows[FLOWS];
		uint32_t count = name_flows(&forms[form], flows);

		for (unsigned step = 0; step < 3000; step++) {
			change(&m.side, &flows[random_below(count)]);
			compare(&m.side, flows, count);
		}
		free(m.memory);
	}
}

/* A narrow one gives an id with the right home and the bits it has; whole ones the id. */
TEST_THAT(an_entry_leads_back_to_its_home)
{
	for (unsigned form = 0; form < FORMS; form++) {
		struct made m = make(forms[form]);
		uint32_t homes = forms[form].id_bits ? forms[form].homes : 1000;

		for (uint32_t i = 0; i < 40; i++) {
			uint32_t home = i == 0 ? 0 : i == 1 ? homes - 1 : random_below(homes);
			uint64_t id = id_at(home, homes, i % 16), back;
			uint32_t e = ink_side_find(&m.side, home, id);

			if (!e)
				e = ink_side_add(&m.side, home, id, 3);
			back = ink_side_id(&m.side, e);
			assert_int_equal((back >> 32) * homes >> 32, home);
			assert_int_equal(back % 16, id % 16);
			assert_int_equal(ink_side_find(&m.side, home, back), e);
			e = ink_side_first(&m.side, home);
			assert_true(e != 0);
		}
		free(m.memory);
	}
}

TEST_THAT(a_narrow_one_takes_flows_that_agree_in_its_bits_for_one)
{
	struct made m = make(forms[1]);

	ink_side_add(&m.side, 7, 0x12345, 3);
	assert_int_equal(ink_side_peek(&m.side, 7, 0x92345), 3); /* the lowest 16 bits are the same */
	assert_int_equal(ink_side_peek(&m.side, 7, 0x12344), -1);
	assert_int_equal(ink_side_peek(&m.side, 8, 0x12345), -1);
	free(m.memory);
}

/* A quarter more words than entries, and one. */
TEST_THAT(a_word_takes_4_or_8_bytes)
{
	assert_int_equal(ink_side_bytes(forms[0]), 16 + 208 + 800);
	assert_int_equal(ink_side_bytes(forms[1]), 16 + 4 * 63); /* 10 + 16 + 5 bits */
	assert_int_equal(ink_side_bytes(forms[3]), 16 + 8 * 63); /* 28 + 24 + 10 bits */
	assert_int_equal(ink_side_bytes((struct ink_side_form){1000, 16, 5, 1000}), 16 + 4 * 1251);
	assert_int_equal(ink_side_width((struct ink_side_form){1, 16, 5, 2048}), 4);
	assert_int_equal(ink_side_width((struct ink_side_form){1, 16, 5, 2049}), 8);
	assert_int_equal(ink_side_width((struct ink_side_form){1, 24, 10, UINT32_MAX}), 16);
	assert_int_equal(ink_side_bytes((struct ink_side_form){.capacity = 0, .id_bits = 16}), 0);
}

TEST_THAT(as_many_bits_of_an_id_are_kept_as_fit)
{
	assert_int_equal(ink_side_id_bits(43403, 5), 42);
	assert_int_equal(ink_side_id_bits(1u << 28, 10), 25);
	assert_int_equal(ink_side_id_bits(1, 2), 48);
	assert_int_equal(ink_side_width((struct ink_side_form){1, 42, 5, 43403}), 8);
}

/* ----------------------------------------------------------------- runs and walks */

/* Going down from the top, each is met once, whichever of them go. */
TEST_THAT(a_walk_from_the_top_meets_each_once)
{
	for (unsigned round = 0; round < 2000; round++) {
		struct made m = make(forms[1]);
		uint32_t met[50] = {0}, count = 1 + random_below(50), homes = 1 + random_below(20);
		uint32_t e = ink_side_top(&m.side);

		for (uint32_t i = 0; i < count; i++)
			assert_true(ink_side_add(&m.side, random_below(homes), i, 0) != 0);
		e = ink_side_top(&m.side);
		for (uint32_t i = 0; i < m.side.last; i++) {
			uint64_t word = ink_side_word(&m.side, e);

			if (ink_side_used(&m.side, e))
				met[ink_side_id(&m.side, e) % 65536]++;
			if (ink_side_used(&m.side, e) && random_below(2))
				ink_side_remove(&m.side, ink_side_word_home(&m.side, word), e);
			e = e == 1 ? m.side.last : e - 1;
		}
		for (uint32_t i = 0; i < count; i++)
			assert_int_equal(met[i], 1);
		assert_null(ink_side_check(&m.side));
		free(m.memory);
	}
}

/* ------------------------------------------------------------------ in tables */

static struct ink_options narrow_options(void)
{
	return (struct ink_options){.size = sizeof(struct ink_options),
				    .kind = INK_COMPACT,
				    .states = 10,
				    .age_bits = 1,
				    .seed = 1,
				    .geometry = {.b = 100, .h = 32, .f = 8, .side = 200, .side_id = 16}};
}

/* In pairs that differ in their lowest bits alone: the second of each collides. */
static uint64_t id_of_pair(unsigned i)
{
	return (id_number(i / 2) & ~0xffffull) | (id_number(i / 2 + 1000) + i % 2) % 65536;
}

static struct ink_table *with_pairs(void)
{
	struct ink_options o = narrow_options();
	struct ink_table *t = table_with(&o);

	for (unsigned i = 0; i < 200; i++)
		assert_int_equal(ink_insert(t, id_of_pair(i), i % 10), 0);
	return t;
}

static void assert_pairs(struct ink_table *t)
{
	assert_in_range(stats_of(t).side_flows, 90, 110);
	assert_int_equal(stats_of(t).flows, 200);
	for (unsigned i = 0; i < 200; i++)
		assert_int_equal(ink_lookup(t, id_of_pair(i)), i % 10);
}

TEST_THAT(flows_that_collide_are_told_apart_and_stay_so_when_saved)
{
	struct ink_table *t = with_pairs(), *again;
	struct ink_why why;

	SKIP_WITHOUT_SNAPSHOTS();
	assert_pairs(t);
	assert_sound(t);
	assert_int_equal(ink_save(t, scratch_file, &why), 0);
	again = ink_load(scratch_file, INK_LOAD_READ, &why);
	assert_non_null(again);
	assert_pairs(again);
	for (unsigned i = 0; i < 200; i++)
		assert_int_equal(ink_delete(again, id_of_pair(i)), 0);
	assert_sound(again);
	assert_int_equal(ink_tick(t, 2, NULL), 0); /* all expire, those in the side table too */
	for (unsigned i = 0; i < 200; i++)
		assert_int_equal(ink_lookup(t, id_of_pair(i)), INK_ABSENT);
	assert_sound(t);
	ink_free(again);
	ink_free(t);
}

/* However its flows lie: of five lines, each is the home of some two hundred. */
TEST_THAT(it_is_full_before_a_flow_is_refused)
{
	struct ink_options o = {
		.size = sizeof o, .states = 10, .seed = 1, .geometry = {.b = 5, .h = 24, .side = 1000}};

	for (uint64_t round = 0; round < 50; round++) {
		struct ink_table *t = table_with(&o);
		uint64_t i = round << 32;

		while (ink_insert(t, id_number(i), (unsigned)(i % 10)) == 0)
			i++;
		assert_int_equal(stats_of(t).side_flows, 1000);
		assert_int_equal(stats_of(t).flows, i - (round << 32));
		assert_sound(t);
		ink_free(t);
	}
}

TEST_THAT(the_plan_counts_narrow_entries_and_their_errors)
{
	struct ink_options o = narrow_options();
	struct ink_plan narrow = {.size = sizeof narrow}, whole = narrow;

	o.geometry.side = 10000;
	assert_int_equal(ink_plan(&o, &narrow, NULL), 0);
	o.geometry.side_id = 0;
	assert_int_equal(ink_plan(&o, &whole, NULL), 0);
	assert_in_range(whole.bytes - narrow.bytes, 50000 - 4096, 50000 + 4096);
	assert_true(narrow.error > whole.error);
	assert_true(narrow.error <
		    whole.error * (1 + (double)whole.flows / whole.geometry.b / 65536 * 1.001));
}

TEST_THAT(a_narrow_side_table_is_refused_where_there_is_none)
{
	struct ink_options o = narrow_options();
	struct ink_plan plan = {.size = sizeof plan};
	struct ink_why why;

	o.geometry.side_id = 3;
	assert_int_equal(ink_plan(&o, &plan, &why), -EINVAL);
	assert_string_equal(why.text,
			    "geometry: side_id is 3; 4 to 24 bits are possible, or 0 for as many as fit");
	o.geometry.side_id = 25;
	assert_int_equal(ink_plan(&o, &plan, &why), -EINVAL);
	o.geometry = (struct ink_geometry){.b = 100, .side_id = 16};
	o.kind = INK_DLEFT;
	assert_int_equal(ink_plan(&o, &plan, &why), -EINVAL);
	assert_string_equal(why.text,
			    "geometry: dleft has no side_id; it has: d, b, h, f, side, dleft_flags");
}

int main(void)
{
	return run_suite(&(struct suite){.begin = scratch_make, .end = scratch_remove});
}
