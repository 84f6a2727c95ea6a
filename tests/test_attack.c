/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Hash flooding. An attacker chooses the keys, knows the code, the geometry of
 * the table, and the secrets of other tables. It looks for keys that all fall
 * into the same two lines. With the table's own secret, a hundred flows or so
 * fill these lines and the side table. Without it, its keys are as good as any:
 * over many secrets they overflow as often as harmless keys, within what chance
 * allows.
 */
#include "base/siphash.h"
#include "tests/interval.h"
#include "tests/side_probe.h"
#include "tests/table.h"
#include "tests/test.h"

enum { KEY = 16, MOST_KEYS = 1000 };

static const enum ink_kind kinds[] = {INK_LINE, INK_COMPACT};
static const char *const names[] = {"line", "compact"};

static struct ink_table *make(enum ink_kind kind, const struct ink_geometry *g, uint64_t flows, uint64_t seed)
{
	struct ink_options o = {
		.size = sizeof o, .kind = kind, .states = 15, .age_bits = 1, .flows = flows, .seed = seed};

	o.geometry = *g;
	return table_with(&o);
}

/* ------------------------------------------------------------------ the attacker */

static void counter_key(uint8_t *key, uint64_t number)
{
	memset(key, 0, KEY);
	memcpy(key, &number, sizeof number);
}

/* Keys that share the two lines of one that has two, under that secret. */
static void colliding_keys(const struct ink_table *like, const uint64_t secret[2], uint8_t (*keys)[KEY],
			   unsigned n)
{
	struct two_lines wanted = {0, 0};
	unsigned found = 0;

	for (uint64_t number = 0; found < n; number++) {
		struct two_lines lines;

		counter_key(keys[found], number);
		lines = lines_of(like, ink_siphash13(secret, keys[found], KEY));
		if (found == 0 && lines.low != lines.high)
			wanted = lines;
		found += wanted.low != wanted.high && lines.low == wanted.low && lines.high == wanted.high;
	}
}

/* Addresses in a row, as a scan has them. */
static void keys_in_a_row(uint8_t (*keys)[KEY], unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		counter_key(keys[i], i);
}

/* One or two bits in an otherwise empty key. */
static void sparse_keys(uint8_t (*keys)[KEY], unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		unsigned one = i % 128, two = (i + i / 128) % 128;

		memset(keys[i], 0, KEY);
		keys[i][one / 8] |= (uint8_t)(1u << one % 8);
		keys[i][two / 8] |= (uint8_t)(1u << two % 8);
	}
}

static void harmless_keys(uint8_t (*keys)[KEY], unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		for (unsigned j = 0; j < KEY; j++)
			keys[i][j] = (uint8_t)(random_word() >> 56);
}

static void insert_keys(struct ink_table *t, uint8_t (*keys)[KEY], unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		ink_insert(t, ink_id(t, keys[i], KEY), i % 15);
}

/* --------------------------------------------------------------- with the secret */

TEST_THAT(with_the_secret_two_lines_overflow_at_will)
{
	static uint8_t keys[MOST_KEYS][KEY];
	const struct ink_geometry planned = {.d = 0};

	for (unsigned k = 0; k < 2; k++) {
		struct ink_table *t = make(kinds[k], &planned, 2000, 0);
		uint32_t room = 2 * t->plan.geometry.h + t->plan.geometry.side;
		struct ink_stats stats;

		colliding_keys(t, t->secret, keys, room + 50);
		insert_keys(t, keys, room);
		stats = stats_of(t);
		assert_int_equal(stats.refused, 0);
		assert_int_equal(stats.side_flows, stats.side_cells);
		insert_keys(t, keys + room, 50);
		stats = stats_of(t);
		assert_int_equal(stats.refused, 50);
		assert_int_equal(stats.flows, room);
		print_message("%s: %u chosen flows fill what holds 2000\n", names[k], room);
		ink_free(t);
	}
}

/* ------------------------------------------------------------ without the secret */

/* Enough for means to differ; they take a second, so short runs have them too. */
enum { SECRETS = 400 };

/* The means of the two differ by no more than 99.9 % of all differences by chance. */
static void assert_alike(const char *what, const struct sample *attack, const struct sample *chance)
{
	double off = fabs(sample_mean(attack) - sample_mean(chance));
	double allowed = 3.29 * hypot(sample_deviation(attack), sample_deviation(chance));

	if (off > allowed)
		fail_msg("%s: %.3f where chance has %.3f, give or take %.3f", what, sample_mean(attack),
			 sample_mean(chance), allowed);
}

struct counted {
	struct sample refused, collided, fullest;
};

static unsigned used_in_line(const struct ink_table *t, uint32_t line)
{
	const struct ink_line *l = (const struct ink_line *)t->body + line;
	const struct ink_line_shape *s = ink_line_shape_of(t);
	unsigned empty = 0;

	for (unsigned i = 0; i < INK_LINE_WORDS; i++)
		empty += (unsigned)__builtin_popcountll(ink_line_columns(s, l->word[i], 0));
	return INK_LINE_WORDS * s->lanes - empty;
}

static unsigned used_in_compact(const struct ink_table *t, uint32_t line)
{
	return line_count(ink_compact_shape_of(t), ((const struct compact_line *)t->body + line)->word);
}

static unsigned fullest_line(const struct ink_table *t)
{
	static unsigned (*const used_in[])(const struct ink_table *, uint32_t) = {
		[INK_LINE] = used_in_line, [INK_COMPACT] = used_in_compact};
	unsigned most = 0;

	for (uint32_t line = 0; line < t->plan.geometry.b; line++) {
		unsigned used = used_in[t->plan.kind](t, line);

		most = used > most ? used : most;
	}
	return most;
}

/* Too few lines, and no side table: by chance alone some flows find no room. */
static void count_over_secrets(enum ink_kind kind, uint8_t (*keys)[KEY], unsigned n, struct counted *c)
{
	const struct ink_geometry tight = {.b = 16, .h = 24, .side = INK_NO_SIDE};

	for (uint64_t seed = 1; seed <= SECRETS; seed++) {
		struct ink_table *t = make(kind, &tight, 300, seed);

		insert_keys(t, keys, n / 2);
		sample_add(&c->fullest, fullest_line(t));
		insert_keys(t, keys + n / 2, n - n / 2);
		sample_add(&c->refused, (double)stats_of(t).refused);
		sample_add(&c->collided, (double)stats_of(t).collisions);
		ink_free(t);
	}
}

static void assert_no_better_than_chance(const char *what, enum ink_kind kind, uint8_t (*keys)[KEY],
					 unsigned n)
{
	static uint8_t harmless[MOST_KEYS][KEY];
	struct counted attack = {.refused = {.n = 0}}, chance = attack;

	harmless_keys(harmless, n);
	count_over_secrets(kind, keys, n, &attack);
	count_over_secrets(kind, harmless, n, &chance);
	assert_true(sample_mean(&chance.refused) > 1);
	assert_alike(what, &attack.refused, &chance.refused);
	assert_alike(what, &attack.collided, &chance.collided);
	assert_alike(what, &attack.fullest, &chance.fullest);
}

/* 384 cells, 385 flows. */
enum { OVERLOAD = 385 };

TEST_THAT(keys_that_collide_under_another_secret_do_no_harm)
{
	static uint8_t keys[MOST_KEYS][KEY];
	const struct ink_geometry tight = {.b = 16, .h = 24, .side = INK_NO_SIDE};

	for (unsigned k = 0; k < 2; k++) {
		struct ink_table *other = make(kinds[k], &tight, 300, 1000003); /* not one of those tried */

		colliding_keys(other, other->secret, keys, OVERLOAD);
		assert_no_better_than_chance(names[k], kinds[k], keys, OVERLOAD);
		insert_keys(other, keys, OVERLOAD);
		assert_int_equal(stats_of(other).flows, 2 * 24); /* there, all but two lines stay empty */
		ink_free(other);
	}
}

TEST_THAT(keys_with_a_pattern_do_no_harm)
{
	static uint8_t keys[MOST_KEYS][KEY];

	for (unsigned k = 0; k < 2; k++) {
		keys_in_a_row(keys, OVERLOAD);
		assert_no_better_than_chance("keys in a row", kinds[k], keys, OVERLOAD);
		sparse_keys(keys, OVERLOAD);
		assert_no_better_than_chance("sparse keys", kinds[k], keys, OVERLOAD);
	}
}

/* As many as the plan is for, all of them the attacker's: the plan holds. */
TEST_THAT(a_planned_table_takes_all_the_attackers_flows)
{
	static uint8_t keys[MOST_KEYS][KEY];
	const struct ink_geometry planned = {.d = 0};

	for (unsigned k = 0; k < 2; k++) {
		struct ink_table *other = make(kinds[k], &planned, MOST_KEYS, 1);
		uint64_t collisions = 0;
		double expected = 0;

		colliding_keys(other, other->secret, keys, MOST_KEYS);
		for (uint64_t i = 0; i < 100; i++) {
			struct ink_table *t = make(kinds[k], &planned, MOST_KEYS, 2 + i);

			insert_keys(t, keys, MOST_KEYS);
			assert_int_equal(stats_of(t).refused, 0);
			assert_int_equal(stats_of(t).flows, MOST_KEYS);
			collisions += stats_of(t).collisions;
			expected +=
				t->plan.error * MOST_KEYS / 2; /* the table was half full on the average */
			ink_free(t);
		}
		assert_true(fabs((double)collisions - expected) <= .1 * expected + spread(expected));
		ink_free(other);
	}
}

int main(void)
{
	return run_suite(NULL);
}
