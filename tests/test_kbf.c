/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The kBF beside an oracle: what each call does in each situation, for every
 * encoding and decoding; the traps; and millions of operations, after which no
 * live key has another value or is absent. Any calls in any order, growth and
 * merges too, are in the programs (kbf_program.h).
 */
#include "tests/kbf_help.h"
#include "tests/test.h"

#include <math.h>

/* ------------------------------------------------------------- calls as data */

enum call { QUERY, INSERT, UPDATE, SET_IT, DELETE, CALLS };

static int do_call(struct ink_kbf *f, enum call call, struct ink_bytes key, struct ink_bytes value)
{
	switch (call) {
	case INSERT:
		return ink_kbf_insert(f, key, value);
	case UPDATE:
		return ink_kbf_update(f, key, value);
	case SET_IT:
		return ink_kbf_set(f, key, value);
	case DELETE:
		return ink_kbf_delete(f, key);
	default:
		return 0;
	}
}

/* ---------------------------------------------------------------- what happens when */

/*
 * Key X has value 1. Keys Y and Z meet it in one cell each, both with value 2:
 * then X's cells hold {1, 2} twice, and it reads unknown. When Y goes, it can be
 * read again. S has the same cells as X, and is not stored.
 */
enum { X = 0 };

struct scene {
	struct ink_kbf *f;
	uint64_t y, z, s;
};

static void make_scene(struct scene *c, const struct variant *v)
{
	c->f = make_tiny(v);
	c->y = meeting(c->f, X, 1, 0, 1);
	c->z = meeting(c->f, X, 0, 1, c->y + 1);
	c->s = meeting(c->f, X, 1, 1, 1);
	while (place_of(c->f, c->z).at[0] == place_of(c->f, c->y).at[0])
		c->z = meeting(c->f, X, 0, 1, c->z + 1);
}

static void hide(struct scene *c)
{
	assert_int_equal(insert(c->f, c->y, 2), 0);
	assert_int_equal(insert(c->f, c->z, 2), 0);
}

/* Y goes; then nothing is in doubt. */
static void reveal(struct scene *c)
{
	assert_int_equal(ink_kbf_delete(c->f, key_number(c->y)), 0);
	ink_kbf_settle(c->f);
}

/* Situations of the key that the calls are about: X, or the stranger S. */
enum situation { FREE, STORED, IN_DOUBT, NEW, UPDATED, DELETED, SET, SITUATIONS };

static uint64_t bring_about(struct scene *c, enum situation what)
{
	if (what == FREE)
		return X;
	assert_int_equal(insert(c->f, X, 1), 0);
	if (what == STORED)
		return X;
	hide(c);
	assert_int_equal(read_key(c->f, X), UNKNOWN);
	if (what == NEW)
		return assert_int_equal(insert(c->f, c->s, 3), 0), c->s;
	if (what == UPDATED)
		assert_int_equal(ink_kbf_update(c->f, key_number(X), value_number(3)), 0);
	if (what == DELETED)
		assert_int_equal(ink_kbf_delete(c->f, key_number(X)), 0);
	if (what == SET)
		assert_int_equal(ink_kbf_set(c->f, key_number(X), value_number(3)), 0);
	assert_int_equal(c->f->pending.count, what != IN_DOUBT);
	return X;
}

/* What the call returns; how the key then reads; how many keys wait; how it reads when all is settled. */
struct expected {
	int result;
	int64_t reads;
	unsigned waiting;
	int64_t in_the_end;
};

/* As in docs/kbf.md. */
static const struct expected table[SITUATIONS][CALLS] = {
	[FREE] = {{0, ABSENT, 0, ABSENT},
		  {0, 4, 0, 4},
		  {-ENOENT, ABSENT, 0, ABSENT},
		  {0, 4, 0, 4},
		  {-ENOENT, ABSENT, 0, ABSENT}},
	[STORED] = {{0, 1, 0, 1}, {-EEXIST, 1, 0, 1}, {0, 4, 0, 4}, {0, 4, 0, 4}, {0, ABSENT, 0, ABSENT}},
	[IN_DOUBT] = {{0, UNKNOWN, 0, 1}, {0, 4, 1, 4}, {0, 4, 1, 4}, {0, 4, 1, 4}, {0, ABSENT, 1, ABSENT}},
	[NEW] = {{0, 3, 1, 3}, {-EEXIST, 3, 1, 3}, {0, 4, 1, 4}, {0, 4, 1, 4}, {0, UNKNOWN, 0, 1}},
	[UPDATED] = {{0, 3, 1, 3}, {-EEXIST, 3, 1, 3}, {0, 4, 1, 4}, {0, 4, 1, 4}, {0, ABSENT, 1, ABSENT}},
	[DELETED] = {{0, ABSENT, 1, ABSENT},
		     {0, 4, 1, 4},
		     {-ENOENT, ABSENT, 1, ABSENT},
		     {0, 4, 1, 4},
		     {-ENOENT, ABSENT, 1, ABSENT}},
	[SET] = {{0, 3, 1, 3}, {-EEXIST, 3, 1, 3}, {0, 4, 1, 4}, {0, 4, 1, 4}, {0, ABSENT, 1, ABSENT}},
};

static void check_one(const struct variant *v, enum situation situation, enum call call)
{
	const struct expected *e = &table[situation][call];
	struct scene c;
	uint64_t key;
	int result;

	make_scene(&c, v);
	key = bring_about(&c, situation);
	result = do_call(c.f, call, key_number(key), value_number(4));
	if (result != e->result || read_key(c.f, key) != e->reads || c.f->pending.count != e->waiting)
		fail_msg("%s, situation %d, call %d: %d, reads %d, %u wait", v->name, situation, call, result,
			 (int)read_key(c.f, key), c.f->pending.count);
	assert_sound(c.f);
	if (situation >= IN_DOUBT)
		reveal(&c);
	if (read_key(c.f, key) != e->in_the_end)
		fail_msg("%s, situation %d, call %d: in the end it reads %d", v->name, situation, call,
			 (int)read_key(c.f, key));
	assert_sound(c.f);
}

TEST_THAT(every_call_does_in_every_situation_what_the_table_says)
{
	EACH_VARIANT(v)
	for (unsigned situation = 0; situation < SITUATIONS; situation++)
		for (unsigned call = 0; call < CALLS; call++)
			check_one(v, situation, call);
}

/* ------------------------------------------------------------------- the traps */

/* Into the cells of the first link, whatever the key reads. */
static void put_unasked(struct ink_kbf *f, uint64_t key, uint64_t value)
{
	struct ink_kbf_place p = place_of(f, key);
	uint32_t symbol;

	assert_int_equal(ink_kbf_dict_add(f->dict, value_number(value), &symbol), 0);
	ink_kbf_put(f, &p, 0, symbol);
}

static void take_unasked(struct ink_kbf *f, uint64_t key, uint64_t value)
{
	struct ink_kbf_place p = place_of(f, key);
	uint32_t symbol;

	assert_int_equal(ink_kbf_dict_find(f->dict, value_number(value), &symbol), 0);
	ink_kbf_take(f, &p, 0, symbol);
}

static struct ink_kbf *filled(const struct variant *v, uint64_t keys)
{
	struct ink_kbf *f = make_variant(
		v, (struct ink_kbf_options){.k = 5, .cells = keys * 5, .keys = keys, .values = 500});

	for (uint64_t i = 0; i < keys; i++)
		insert(f, i, i % 500);
	return f;
}

/* How many of the keys do not answer as they should, or in doubt. */
static uint64_t wrong_keys(const struct ink_kbf *f, uint64_t from, uint64_t to)
{
	uint64_t wrong = 0;

	for (uint64_t i = from; i < to; i++) {
		int64_t answer = read_key(f, i);

		wrong += answer != UNKNOWN && answer != (int64_t)(i % 500);
	}
	return wrong;
}

/* Blindly, 1 % of n such deletes would lose 4 % of the live keys. */
TEST_THAT(deleting_and_updating_strangers_finds_nothing_and_changes_nothing)
{
	EACH_VARIANT(v)
	{
		uint64_t n = 4000, hits = 0;
		struct ink_kbf *f = filled(v, n);

		if (v->decoding != INK_KBF_JOINT)
			continue; /* the paper's false positives are not rare */
		for (uint64_t i = n; i < 2 * n; i++) {
			enum ink_kbf_answer a = ink_kbf_query(f, key_number(i), NULL);
			int error = a != INK_KBF_ABSENT ? 0
				    : i % 2             ? ink_kbf_delete(f, key_number(i))
							: ink_kbf_update(f, key_number(i), value_number(1));

			hits += a != INK_KBF_ABSENT;
			assert_int_equal(error, a == INK_KBF_ABSENT ? -ENOENT : 0);
		}
		assert_true(hits < 15);
		assert_int_equal(wrong_keys(f, 0, n), stats_of(f).exists);
		assert_int_equal(stats_of(f).keys + stats_of(f).pending_new + stats_of(f).exists, n);
	}
}

/* In the paper's decoding one cell of count 1 decides; before a change all cells are asked. */
TEST_THAT(a_change_asks_all_cells_before_it_touches_one)
{
	struct ink_kbf *f = make_tiny(&variants[2]);
	uint64_t y = meeting(f, X, 0, 1, 1), s;

	assert_int_equal(insert(f, X, 1), 0);
	assert_int_equal(insert(f, y, 2), 0);
	for (s = y + 1;
	     place_of(f, s).at[0] != place_of(f, y).at[0] || place_of(f, s).at[1] == place_of(f, y).at[1];)
		s++;
	assert_int_equal(insert(f, s, 3), 0);
	/* A stranger with X's first cell {1} and S's second one {3}: by the first alone it has 1. */
	for (uint64_t t = s + 1;; t++)
		if (place_of(f, t).at[0] == place_of(f, X).at[0] &&
		    place_of(f, t).at[1] == place_of(f, s).at[1]) {
			assert_int_equal(read_key(f, t), 1);
			assert_int_equal(ink_kbf_delete(f, key_number(t)), -ENOENT);
			assert_int_equal(ink_kbf_update(f, key_number(t), value_number(4)), -ENOENT);
			break;
		}
	assert_int_equal(read_key(f, X), 1);
	assert_int_equal(read_key(f, s), 3);
}

static int can_be_settled(const struct ink_kbf *f, const struct ink_pending_entry *e)
{
	struct ink_kbf_place p = ink_kbf_place_of(f, e->id);
	enum ink_kbf_answer answer = ink_kbf_read_to_change(f, &p).answer;

	return answer == INK_KBF_ABSENT || (answer == INK_KBF_VALUE && e->claim != INK_CLAIM_NEW);
}

/*
 * Keys put in unasked, far too many, all of which are to go. Each one that goes
 * makes others readable, also some that were tried before it.
 */
TEST_THAT(settling_ends_when_nothing_more_can_be_done)
{
	for (uint64_t cells = 40; cells < 100; cells++) {
		struct ink_kbf *f = make_variant(
			&variants[0], (struct ink_kbf_options){.k = 3, .cells = 3 * cells, .keys = 50});

		for (uint64_t i = 0; i < 90; i++) {
			struct ink_pending_entry e = {.id = place_of(f, i).id,
						      .key = key_number(i),
						      .symbol = INK_PENDING_GONE,
						      .claim = INK_CLAIM_STORED};

			put_unasked(f, i, i % 20);
			assert_int_equal(ink_pending_add(&f->pending, &e), 0);
		}
		ink_kbf_settle(f);
		for (uint32_t i = 0; i < f->pending.count; i++)
			assert_false(can_be_settled(f, &f->pending.entries[i]));
		assert_true(cells < 70 || f->pending.count == 0);
		assert_sound(f);
	}
}

TEST_THAT(a_call_that_changes_something_tries_one_that_waits)
{
	struct scene c;

	make_scene(&c, &variants[0]);
	bring_about(&c, UPDATED);
	assert_int_equal(ink_kbf_delete(c.f, key_number(c.y)), 0);
	assert_int_equal(c.f->pending.count, 0);
	assert_int_equal(read_key(c.f, X), 3);
}

TEST_THAT(the_cells_of_a_key_are_different_ones)
{
	for (uint32_t k = 2; k <= INK_KBF_MOST_K; k++) {
		struct ink_kbf *f = make_variant(&variants[0],
						 (struct ink_kbf_options){.k = k, .cells = k * 3, .keys = 9});
		uint32_t met[INK_KBF_MOST_K] = {0};

		for (uint64_t key = 0; key < 200; key++) {
			struct ink_kbf_place p = place_of(f, key);

			for (uint32_t i = 0; i < k; i++) {
				assert_true(p.at[i] >= i * f->part && p.at[i] < (i + 1) * f->part);
				met[i] |= 1u << (p.at[i] - i * f->part);
			}
		}
		for (uint32_t i = 0; i < k; i++)
			assert_int_equal(met[i], 7);
	}
}

/* A count that wraps around would make live keys absent. */
TEST_THAT(counters_stick_at_the_top_and_say_nothing_from_then_on)
{
	EACH_VARIANT(v)
	{
		struct ink_kbf *f = make_tiny(v);
		uint64_t n = 3 * 8 * f->stuck_at;

		for (uint64_t i = 0; i < n; i++)
			put_unasked(f, i, i % 5); /* all read unknown soon */
		assert_int_equal(stats_of(f).stuck, 16);
		assert_sound(f);
		for (uint64_t i = 0; i < n; i++)
			assert_int_equal(read_key(f, i), UNKNOWN);
		for (uint64_t i = 0; i < n; i++)
			take_unasked(f, i, i % 5);
		assert_int_equal(stats_of(f).stuck, 16);
		assert_int_equal(read_key(f, 0), UNKNOWN);
		assert_sound(f);
	}
}

/* --------------------------------------------------------------------- the chain */

TEST_THAT(a_chain_asks_all_links_and_two_hits_are_unknown)
{
	EACH_VARIANT(v)
	{
		struct ink_kbf *f = make_tiny(v);
		struct ink_kbf_place p = place_of(f, X);
		uint64_t y = meeting(f, X, 0, 0, 1);

		assert_int_equal(insert(f, X, 1), 0);
		assert_int_equal(ink_kbf_grow(f), 0);
		assert_int_equal(insert(f, y, 2), 0);
		assert_int_equal(f->link[1].keys, 1);
		assert_int_equal(read_key(f, X), 1);
		assert_int_equal(read_key(f, y), 2);
		assert_int_equal(insert(f, X, 3), -EEXIST);
		assert_int_equal(ink_kbf_update(f, key_number(X), value_number(4)), 0);
		assert_int_equal(read_key(f, X), 4);
		ink_kbf_put(f, &p, 1, 0);
		assert_int_equal(read_key(f, X), UNKNOWN);
		ink_kbf_take(f, &p, 1, 0);
		assert_int_equal(ink_kbf_delete(f, key_number(X)), 0);
		assert_int_equal(f->link[0].keys, 0);
		assert_int_equal(read_key(f, y), 2);
		assert_sound(f);
	}
}

TEST_THAT(a_filter_grows_by_itself_and_compacts_when_keys_have_gone)
{
	struct ink_kbf *f = make_variant(&variants[0],
					 (struct ink_kbf_options){.keys = 1000, .values = 500, .grow_at = 1});
	uint64_t live = 3500;

	for (uint64_t i = 0; i < live; i++)
		assert_int_equal(insert(f, i, i % 500), 0);
	assert_int_equal(stats_of(f).links, 4);
	assert_int_equal(wrong_keys(f, 0, live), 0);
	ink_kbf_compact(f);
	assert_int_equal(stats_of(f).links, 4);
	for (uint64_t i = 0; i < live; i++)
		if (i % 4)
			assert_int_equal(ink_kbf_delete(f, key_number(i)), 0);
	ink_kbf_settle(f);
	assert_int_equal(stats_of(f).keys + stats_of(f).pending_new, live / 4);
	ink_kbf_compact(f);
	assert_int_equal(stats_of(f).links, 1);
	for (uint64_t i = 0; i < live; i += 4)
		assert_int_equal(wrong_keys(f, i, i + 1), 0);
	assert_sound(f);
}

TEST_THAT(links_end_somewhere)
{
	struct ink_kbf *f = make_tiny(&variants[0]);

	for (unsigned i = 1; i < INK_KBF_MOST_LINKS; i++)
		assert_int_equal(ink_kbf_grow(f), 0);
	assert_int_equal(ink_kbf_grow(f), -ENOSPC);
	assert_int_equal(insert(f, X, 1), 0);
	assert_int_equal(read_key(f, X), 1);
	ink_kbf_compact(f);
	assert_int_equal(stats_of(f).links, 1);
	assert_int_equal(read_key(f, X), 1);
}

/* ------------------------------------------------------------- adding, subtracting */

static struct ink_kbf *part_of(const struct ink_kbf_options *o, uint64_t from, uint64_t to)
{
	struct ink_kbf *f = make_filter(o);

	for (uint64_t i = from; i < to; i++)
		insert(f, i, i % 50);
	return f;
}

/* Empty, of the shape and the dictionary of a tiny one. */
static struct ink_kbf *make_beside(const struct ink_kbf *tiny, unsigned counter_bits)
{
	struct ink_kbf_options o = {.size = sizeof o,
				    .dict = tiny->dict,
				    .k = 2,
				    .cells = 16,
				    .keys = 8,
				    .counter_bits = counter_bits};

	return make_filter(&o);
}

static struct ink_kbf_options options_of(const struct variant *v, struct ink_kbf_dict *d)
{
	return (struct ink_kbf_options){.size = sizeof(struct ink_kbf_options),
					.dict = d,
					.decoding = v->decoding,
					.counter_bits = v->counter_bits,
					.keys = 3000,
					.k = 5,
					.cells = 3000 * 8};
}

/* The dictionary knows all values before, in the same order for all. */
static struct ink_kbf_dict *shared_dict(const struct variant *v)
{
	struct ink_kbf_dict *d = make_dict(v->encoding, 60);

	for (uint64_t i = 0; i < 50; i++)
		ink_kbf_dict_add(d, value_number(i), NULL);
	return d;
}

/* The paper's decoding takes some keys for others and refuses them, so it is left out. */
TEST_THAT(merged_filters_are_the_filter_of_all_keys_cell_for_cell)
{
	EACH_VARIANT(v)
	{
		struct ink_kbf_options o = options_of(v, shared_dict(v));
		struct ink_kbf *a = part_of(&o, 0, 700), *b = part_of(&o, 700, 1400), *all = make_filter(&o),
			       *before = part_of(&o, 0, 700);

		if (v->decoding != INK_KBF_JOINT)
			continue;
		for (uint64_t i = 0; i < 1400; i++) {
			struct ink_kbf_place p = place_of(all, i);

			ink_kbf_put(all, &p, 0, (uint32_t)i % 50);
		}
		assert_int_equal(stats_of(a).keys + stats_of(b).keys, 1400);
		assert_int_equal(ink_kbf_merge(a, b, NULL), 0);
		assert_true(are_same(a, all));
		assert_sound(a);
		assert_int_equal(ink_kbf_subtract(a, b, INK_KBF_STUCK_REFUSE, NULL), 0);
		assert_true(are_same(a, before));
	}
}

TEST_THAT(what_waits_is_united_by_a_merge_and_parted_again)
{
	struct scene c;
	struct ink_kbf *g;

	make_scene(&c, &variants[0]);
	bring_about(&c, NEW);
	g = make_beside(c.f, 0);
	assert_int_equal(ink_kbf_merge(g, c.f, NULL), 0);
	assert_true(are_same(g, c.f));
	assert_int_equal(read_key(g, c.s), 3);
	assert_int_equal(ink_kbf_merge(g, c.f, NULL), -EEXIST);
	assert_true(are_same(g, c.f));
	assert_int_equal(ink_kbf_subtract(g, c.f, INK_KBF_STUCK_REFUSE, NULL), 0);
	assert_int_equal(stats_of(g).pending + stats_of(g).keys, 0);
	assert_int_equal(ink_kbf_merge(g, c.f, NULL), 0);
	assert_int_equal(ink_kbf_update(g, key_number(c.s), value_number(5)), 0);
	assert_int_equal(ink_kbf_subtract(g, c.f, INK_KBF_STUCK_REFUSE, NULL), -EBUSY);
	assert_int_equal(read_key(g, c.s), 5);
}

TEST_THAT(chains_merge_link_by_link_and_part_again)
{
	struct ink_kbf_dict *d = shared_dict(&variants[0]);
	struct ink_kbf_options o = options_of(&variants[0], d);
	struct ink_kbf *a = part_of(&o, 0, 300), *b = part_of(&o, 300, 600), *before = part_of(&o, 0, 300);

	ink_kbf_grow(b);
	for (uint64_t i = 600; i < 900; i++)
		assert_int_equal(insert(b, i, i % 50), 0);
	assert_int_equal(ink_kbf_merge(a, b, NULL), 0);
	assert_int_equal(stats_of(a).links, 2);
	assert_int_equal(stats_of(a).keys, 900);
	for (uint64_t i = 0; i < 900; i++)
		assert_true(read_key(a, i) == (int64_t)(i % 50) || read_key(a, i) == UNKNOWN);
	assert_int_equal(ink_kbf_subtract(a, b, INK_KBF_STUCK_REFUSE, NULL), 0);
	assert_true(are_same(a, before));
}

TEST_THAT(a_longer_dictionary_is_taken_over_by_a_merge)
{
	struct ink_kbf *a = make_tiny(&variants[0]), *b = make_tiny(&variants[0]),
		       *c = make_tiny(&variants[0]);
	struct ink_why why = {""};

	insert(a, 1, 1);
	insert(b, 2, 1);
	insert(b, 3, 2);
	insert(c, 4, 9);
	assert_int_equal(ink_kbf_merge(a, b, NULL), 0);
	assert_int_equal(read_key(a, 3), 2);
	assert_int_equal(a->dict->count, 2);
	assert_int_equal(ink_kbf_merge(a, c, &why), -EINVAL);
	assert_non_null(strstr(why.text, "dictionary"));
	assert_int_equal(ink_kbf_merge(c, a, &why), -EINVAL);
	assert_int_equal(ink_kbf_subtract(a, c, 0, &why), -EINVAL);
	assert_int_equal(ink_kbf_subtract(a, b, 0, &why), 0);
	assert_int_equal(stats_of(a).keys, 1);
	assert_int_equal(read_key(a, 1), 1);
}

TEST_THAT(filters_that_do_not_fit_are_refused_and_stay)
{
	static const struct {
		uint32_t k;
		unsigned counter_bits;
		uint64_t from, to, one; /* its keys; or one, with another value */
		const char *word;
	} others[] = {
		{4, 4, 0, 0, 0, "differ"},
		{5, 3, 0, 0, 0, "differ"},
		{5, 4, 200, 600, 0, "not contained"},
		{5, 4, 250, 500, 0, "not contained"}, /* fewer keys, but not those */
		{5, 4, 0, 0, 7, "makes no sense"},
	};
	struct ink_kbf_dict *d = shared_dict(&variants[0]);
	struct ink_kbf_options o = options_of(&variants[0], d), other = o;
	struct ink_kbf *a = part_of(&o, 0, 300), *same = part_of(&o, 0, 300), *b;
	struct ink_why why = {""};

	assert_int_equal(ink_kbf_merge(a, a, &why), -EINVAL);
	assert_int_equal(ink_kbf_subtract(a, a, 0, &why), -EINVAL);
	for (unsigned i = 0; i < COUNT(others); i++) {
		other.k = others[i].k;
		other.counter_bits = others[i].counter_bits;
		b = part_of(&other, others[i].from, others[i].to);
		if (others[i].one)
			insert(b, others[i].one, 8);
		if (strcmp(others[i].word, "differ") == 0)
			assert_int_equal(ink_kbf_merge(a, b, &why), -EINVAL);
		assert_int_equal(ink_kbf_subtract(a, b, 0, &why), -EINVAL);
		assert_non_null(strstr(why.text, others[i].word));
		assert_true(are_same(a, same));
	}
}

/* Unasked: so many keys of one cell cannot be inserted, only merged. */
TEST_THAT(subtracting_from_stuck_counters_is_refused_or_leaves_them_stuck)
{
	EACH_VARIANT(v)
	{
		struct ink_kbf *f = make_tiny(v), *g = make_beside(f, v->counter_bits);
		uint64_t apart = meeting(f, X, 0, 0, 1);
		struct ink_why why = {""};

		insert(f, apart, 2);
		for (uint32_t i = 0; i < f->stuck_at - 1; i++)
			put_unasked(f, X, 2);
		for (uint32_t i = 0; i < 3; i++)
			put_unasked(g, X, 2);
		assert_int_equal(stats_of(f).stuck, 0);
		assert_int_equal(ink_kbf_merge(f, g, NULL), 0);
		assert_int_equal(stats_of(f).stuck, 2);
		assert_int_equal(ink_kbf_subtract(f, g, INK_KBF_STUCK_REFUSE, &why), -EOVERFLOW);
		assert_non_null(strstr(why.text, "limit"));
		assert_int_equal(f->link[0].keys, f->stuck_at + 3);
		assert_int_equal(ink_kbf_subtract(f, g, INK_KBF_STUCK_STAY, &why), 0);
		assert_int_equal(stats_of(f).stuck, 2);
		assert_int_equal(read_key(f, X), UNKNOWN);
		assert_int_equal(read_key(f, apart), 2);
		assert_sound(f);
	}
}

/* ---------------------------------------------------------------------- bad input */

/* Of a dictionary for three values of up to seven bytes, with the empty string as key. */
TEST_THAT(what_does_not_fit_is_refused_and_leaves_the_filter_as_it_was)
{
	static const struct {
		enum call call;
		const char *value;
		int result;
		const char *reads; /* NULL: absent */
	} steps[] = {
		{INSERT, "12345678", -EMSGSIZE, NULL},
		{SET_IT, "12345678", -EMSGSIZE, NULL},
		{INSERT, "1234567", 0, "1234567"},
		{UPDATE, "12345678", -EMSGSIZE, "1234567"},
		{UPDATE, "", 0, ""},
		{UPDATE, "third", 0, "third"},
		{UPDATE, "fourth", -ENOSPC, "third"},
		{DELETE, "", 0, NULL},
		{INSERT, "fourth", -ENOSPC, NULL},
		{SET_IT, "fourth", -ENOSPC, NULL},
	};
	struct ink_kbf_dict_options d = {.size = sizeof d, .values = 3, .value_length = 7, .seed = 1};
	struct ink_kbf_options o = {.size = sizeof o, .k = 2, .cells = 16, .keys = 8, .pending = 1};
	struct ink_bytes key = {NULL, 0}, value;
	struct ink_kbf *f;

	o.dict = keep_dict(ink_kbf_dict_create(&d, NULL));
	f = make_filter(&o);
	for (unsigned i = 0; i < COUNT(steps); i++) {
		const char *reads = steps[i].reads;

		value = (struct ink_bytes){steps[i].value, strlen(steps[i].value)};
		assert_int_equal(do_call(f, steps[i].call, key, value), steps[i].result);
		assert_int_equal(ink_kbf_query(f, key, &value), reads ? INK_KBF_VALUE : INK_KBF_ABSENT);
		assert_int_equal(value.length, reads ? strlen(reads) : 0);
		assert_true(!reads || memcmp(value.bytes, reads, value.length) == 0);
	}
	assert_int_equal(stats_of(f).keys + stats_of(f).pending, 0);
}

/* The dictionary may have codes that are too long for the cells of a filter with wider counters. */
TEST_THAT(codes_that_a_cell_has_no_bits_for_are_refused)
{
	struct ink_kbf_dict *d = make_dict(INK_KBF_GREEDY, 40);
	struct ink_kbf_options o = {.size = sizeof o, .dict = d, .k = 2, .cells = 1600, .keys = 100};
	struct ink_kbf *f = make_filter(&o);

	f->symbols = ink_dict_fitting(d, 8); /* as if cells had eight bits for the sum */
	assert_true(f->symbols > 5 && f->symbols < 40 && d->greedy[f->symbols] >= 256);
	for (uint64_t i = 0; i < f->symbols; i++)
		assert_int_equal(insert(f, i, i), 0);
	assert_int_equal(insert(f, 100, 100), -ENOSPC);
	assert_int_equal(read_key(f, 100), ABSENT);
	assert_int_equal(insert(f, 100, 3), 0);
}

/* Cells with counters of 3 bits have a bit more for the sums, so their filter adds values that others have no room for. */
TEST_THAT(a_value_that_another_filter_added_is_refused_if_the_cells_have_no_bits_for_it)
{
	struct ink_kbf_options o = {.size = sizeof o, .k = 2, .cells = 200, .keys = 100, .counter_bits = 3};
	struct ink_kbf *wide, *f;

	o.dict = make_dict(INK_KBF_GREEDY, INK_GREEDY_VALUES);
	wide = make_filter(&o);
	o.counter_bits = 4;
	f = make_filter(&o);
	while (o.dict->count <= f->symbols)
		assert_int_equal(ink_kbf_dict_add(o.dict, value_number(o.dict->count), NULL), 0);
	assert_int_equal(insert(wide, 1, f->symbols), 0);
	assert_int_equal(read_key(wide, 1), f->symbols);
	assert_int_equal(insert(f, 1, f->symbols), -ENOSPC);
	assert_int_equal(read_key(f, 1), ABSENT);
	assert_int_equal(insert(f, 1, f->symbols - 1), 0);
	assert_int_equal(ink_kbf_update(f, key_number(1), value_number(f->symbols)), -ENOSPC);
	assert_int_equal(read_key(f, 1), f->symbols - 1);
	assert_sound(f);
}

TEST_THAT(a_full_side_table_refuses_and_settles_when_it_can)
{
	struct scene c;
	uint64_t another;

	make_scene(&c, &variants[0]);
	assert_int_equal(insert(c.f, X, 1), 0);
	hide(&c);
	c.f->pending.most = 1;
	assert_int_equal(ink_kbf_delete(c.f, key_number(X)), 0);
	another = meeting(c.f, X, 1, 1, c.s + 1);
	for (enum call call = INSERT; call < CALLS; call++)
		assert_int_equal(do_call(c.f, call, key_number(another), value_number(3)), -ENOSPC);
	assert_int_equal(read_key(c.f, another), UNKNOWN);
	assert_int_equal(read_key(c.f, X), ABSENT);
	assert_int_equal(c.f->dict->count, 2);
	reveal(&c);
	assert_int_equal(stats_of(c.f).pending, 0);
	assert_int_equal(stats_of(c.f).settled, 1);
	assert_int_equal(read_key(c.f, X), ABSENT);
}

/* A key that meets X in that part, reads absent, and gets a value. */
static uint64_t put_beside(struct ink_kbf *f, int first, uint64_t value)
{
	uint64_t key = meeting(f, X, first, !first, 1);

	while (read_key(f, key) != ABSENT)
		key = meeting(f, X, first, !first, key + 1);
	assert_int_equal(insert(f, key, value), 0);
	return key;
}

/* X is a stranger here, in doubt because both its cells hold {2, 5}; readable, it would not be found. */
static void change_a_stranger(const struct variant *v, enum call call)
{
	struct ink_kbf *f = make_tiny(v);
	uint64_t beside[] = {put_beside(f, 1, 2), put_beside(f, 0, 2), put_beside(f, 1, 5),
			     put_beside(f, 0, 5)};

	assert_int_equal(read_key(f, X), UNKNOWN);
	assert_int_equal(do_call(f, call, key_number(X), value_number(3)), 0);
	assert_int_equal(read_key(f, X), 3);
	if (call == SET_IT)
		assert_int_equal(ink_kbf_delete(f, key_number(X)), 0);
	for (unsigned i = 0; i < 4; i++) /* all at once: half-way, X would read 5 */
		take_unasked(f, beside[i], i < 2 ? 2 : 5);
	ink_kbf_settle(f);
	assert_int_equal(stats_of(f).pending + stats_of(f).keys, 0);
	assert_int_equal(stats_of(f).strays, call == UPDATE);
	assert_int_equal(read_key(f, X), ABSENT);
}

TEST_THAT(a_change_of_a_stranger_in_doubt_comes_to_nothing_and_an_update_is_counted)
{
	EACH_VARIANT(v)
	{
		change_a_stranger(v, UPDATE);
		change_a_stranger(v, SET_IT); /* and deleted */
	}
}

/* ------------------------------------------------------------------------ batches */

TEST_THAT(batches_do_what_single_calls_do)
{
	enum { N = 1003 };
	static char texts[2 * N][2][24];
	struct ink_bytes keys[2 * N], values[2 * N], got[2 * N];
	enum ink_kbf_answer answers[2 * N];
	int errors[2 * N];

	for (unsigned i = 0; i < 2 * N; i++) {
		keys[i] = (struct ink_bytes){texts[i][0],
					     (size_t)snprintf(texts[i][0], 24, "key %u", i % (N + 50))};
		values[i] = (struct ink_bytes){texts[i][1],
					       (size_t)snprintf(texts[i][1], 24, "value %u", i % 300)};
	}
	EACH_VARIANT(v)
	{
		const struct ink_kbf_options o = {.keys = N, .k = 4, .cells = 4 * N};
		struct ink_kbf *one = make_variant(v, o), *all = make_variant(v, o);
		struct ink_kbf_batch b = {.n = 2 * N, .keys = keys, .values = values, .errors = errors};
		int first = 0, result;

		result = ink_kbf_insert_batch(all, &b);
		for (unsigned i = 0; i < 2 * N; i++) {
			int error = ink_kbf_insert(one, keys[i], values[i]);

			first = first ? first : error;
			assert_int_equal(errors[i], error);
		}
		assert_int_equal(result, first);
		assert_true(are_same(one, all));
		b = (struct ink_kbf_batch){.n = 2 * N, .keys = keys, .values = got, .answers = answers};
		ink_kbf_query_batch(all, &b);
		for (unsigned i = 0; i < 2 * N; i++) {
			struct ink_bytes value;

			assert_int_equal(answers[i], ink_kbf_query(all, keys[i], &value));
			assert_ptr_equal(got[i].bytes, value.bytes);
		}
		b.n = 0;
		ink_kbf_query_batch(all, &b);
		assert_int_equal(ink_kbf_insert_batch(all, &b), 0);
	}
}

/* --------------------------------------------------------------------- for long */

/* Keys that live: their numbers, and where to find them. */
struct living {
	uint64_t *keys;
	uint16_t *values; /* by key number */
	uint64_t count, next;
};

static void be_born(struct ink_kbf *f, struct living *l)
{
	uint64_t key = l->next++;
	int error = insert(f, key, l->values[key] = (uint16_t)random_below(3000));

	assert_true(error == 0 || error == -EEXIST);
	if (!error)
		l->keys[l->count++] = key;
}

static void die(struct ink_kbf *f, struct living *l)
{
	uint64_t i = random_below(l->count);

	assert_int_equal(ink_kbf_delete(f, key_number(l->keys[i])), 0);
	l->keys[i] = l->keys[--l->count];
}

static void turn(struct ink_kbf *f, struct living *l)
{
	uint64_t key = l->keys[random_below(l->count)];

	l->values[key] = (uint16_t)random_below(3000);
	assert_int_equal(ink_kbf_update(f, key_number(key), value_number(l->values[key])), 0);
}

static uint64_t silent_errors(const struct ink_kbf *f, const struct living *l, uint64_t *unknown)
{
	uint64_t errors = 0;

	for (uint64_t i = 0; i < l->count; i++) {
		int64_t answer = read_key(f, l->keys[i]);

		*unknown += answer == UNKNOWN;
		errors += answer != UNKNOWN && answer != l->values[l->keys[i]];
	}
	return errors;
}

/* Births, deaths and changes; the load goes from 0.7 to 1.3 of the plan and back, again and again. */
TEST_THAT(millions_of_operations_leave_no_silent_error)
{
	uint64_t operations = scaled(3000000), n = scaled(30000), swing = operations / 6;
	struct ink_kbf_options o = {.size = sizeof o, .dict = make_dict(0, 0), .keys = n};
	struct ink_kbf *f = make_filter(&o);
	struct living l = {calloc(operations, sizeof *l.keys), calloc(operations, sizeof *l.values), 0, 0};
	uint64_t errors = 0, unknown = 0, looks = 0, most = 0;

	for (uint64_t i = 0; i < operations; i++) {
		double phase = fabs(2.0 * (double)(i % swing) / (double)swing - 1); /* 1 .. 0 .. 1 */
		double wanted = (double)n * (.7 + .6 * (1 - phase));

		if ((double)l.count < wanted * .7 || (random_below(3) == 0 && (double)l.count < wanted))
			be_born(f, &l);
		else if ((double)l.count > wanted && random_below(2))
			die(f, &l);
		else if (random_below(2))
			turn(f, &l);
		else if (random_below(2))
			die(f, &l);
		else
			be_born(f, &l);
		most = f->pending.count > most ? f->pending.count : most;
		if (i % (operations / 24) == 0)
			errors += silent_errors(f, &l, &unknown), looks += l.count;
	}
	errors += silent_errors(f, &l, &unknown);
	print_message("%llu looks at live keys, %llu silent errors, %.2g unknown, at most %llu waiting\n",
		      (unsigned long long)(looks + l.count), (unsigned long long)errors,
		      (double)unknown / (double)(looks + l.count), (unsigned long long)most);
	assert_int_equal(errors, 0);
	assert_int_equal(stats_of(f).strays, 0);
	assert_sound(f);
	ink_kbf_settle(f);
	while (l.count)
		die(f, &l);
	ink_kbf_settle(f);
	assert_int_equal(stats_of(f).keys, 0);
	assert_int_equal(stats_of(f).pending, 0);
	free(l.keys);
	free(l.values);
}

int main(void)
{
	return run_suite(&(struct suite){.after_each = free_all});
}
