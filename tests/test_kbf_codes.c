/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Dictionaries: values and symbols, and codes whose sums of two are all
 * different. The greedy ones are those of the paper's Algorithm 1.
 */
#include "tests/kbf_help.h"
#include "tests/test.h"

#include <math.h>
#include <time.h>

/* -------------------------------------------------------------------- greedy codes */

/* Algorithm 1 as printed, with an exact set in place of a Bloom filter. */
static void algorithm_1(uint32_t *codes, uint32_t n, uint8_t *sums)
{
	uint32_t counter = 1;

	for (uint32_t j = 0; j < n; j++) {
		for (int collides = 1; collides; counter += collides ? 1 : 0) {
			collides = sums[counter];
			for (uint32_t i = 0; i < j && !collides; i++)
				collides = sums[counter ^ codes[i]];
		}
		codes[j] = counter;
		sums[counter] = 1;
		for (uint32_t i = 0; i < j; i++)
			sums[counter ^ codes[i]] = 1;
		counter++;
	}
}

TEST_THAT(greedy_codes_are_those_of_algorithm_1)
{
	enum { N = 400, SPACE = 1 << 20 };
	uint8_t *sums = calloc(1, SPACE);
	uint32_t expected[N], codes[N];

	sums[0] = 1; /* the sum of equals */
	algorithm_1(expected, N, sums);
	assert_int_equal(ink_greedy_codes(codes, N, &ink_own_allocator), 0);
	assert_memory_equal(codes, expected, sizeof codes);
	for (uint32_t n = 1; n < 40; n++) {
		assert_int_equal(ink_greedy_codes(codes, n, &ink_own_allocator), 0);
		assert_memory_equal(codes, expected, n * sizeof *codes);
	}
	free(sums);
}

TEST_THAT(a_search_finds_all_codes_of_so_many_bits_and_no_others)
{
	enum { N = 400 };
	uint32_t all[N], codes[N];

	assert_int_equal(ink_greedy_codes(all, N, &ink_own_allocator), 0);
	for (unsigned bits = 1; bits <= 18; bits++) {
		uint32_t below = 0;

		while (all[below] >> bits == 0)
			below++;
		assert_int_equal(ink_greedy_search(codes, N, bits, &ink_own_allocator), below);
		assert_memory_equal(codes, all, below * sizeof *codes);
		assert_int_equal(ink_greedy_search(codes, below - 1, bits, &ink_own_allocator), below - 1);
	}
}

TEST_THAT(three_thousand_greedy_codes_are_found)
{
	static uint32_t codes[3000];

	assert_int_equal(ink_greedy_codes(codes, 3000, &ink_own_allocator), 0);
	assert_int_equal(codes[2999], 176456236);
}

/* The paper says 16,384 in 30 bits. */
TEST_THAT(as_many_greedy_codes_fit_as_the_header_says)
{
	uint32_t *codes = calloc(INK_GREEDY_VALUES + 1, sizeof *codes);

	if (test_scale() == 1) {
		assert_int_equal(ink_greedy_codes(codes, INK_GREEDY_VALUES + 1, &ink_own_allocator), -ERANGE);
		assert_true(codes[INK_GREEDY_VALUES - 1] && !codes[INK_GREEDY_VALUES]);
		assert_true(codes[3293] < 1u << 28 && codes[3294] >= 1u << 28);
	}
	free(codes);
}

/* -------------------------------------------------------------- every pair is found */

static struct ink_kbf_dict *filled_dict(enum ink_kbf_encoding encoding, uint32_t values)
{
	struct ink_kbf_dict *d = make_dict(encoding, values);

	for (uint32_t i = 0; i < values; i++)
		assert_int_equal(ink_kbf_dict_add(d, value_number(i), NULL), 0);
	return d;
}

static int pair_is(const uint32_t pair[2], uint32_t a, uint32_t b)
{
	return (pair[0] == a && pair[1] == b) || (pair[0] == b && pair[1] == a);
}

/* All sums of two are different, or one of them would be read as another. */
#define CHECK_PAIRS(encoding, values, from)                                                                  \
	do {                                                                                                 \
		struct ink_kbf_dict *d = filled_dict(encoding, values);                                      \
		for (uint32_t i = 0; i < (values); i++)                                                      \
			for (uint32_t j = 0; j + (from) <= i; j++) {                                         \
				uint32_t pair[2] = {0, 0};                                                   \
				struct ink_power_sums s =                                                    \
					ink_encoded_add(d, encoding, d->codes[i], d->codes[j]);              \
				assert_true(ink_symbol_pair(d, encoding, s, pair) && pair_is(pair, i, j));   \
				assert_true(ink_symbol_is_pair(d, encoding, s));                             \
			}                                                                                    \
	} while (0)

TEST_THAT(every_pair_of_symbols_is_found_again)
{
	uint32_t n = test_scale() < 1 ? 300 : 3000;

	CHECK_PAIRS(INK_KBF_POWER_SUMS, n, 0); /* equal ones too */
	CHECK_PAIRS(INK_KBF_POWER_SUMS_WIDE, n / 6, 0);
	CHECK_PAIRS(INK_KBF_GREEDY, n / 2, 1);
}

TEST_THAT(sums_that_no_symbols_have_are_none)
{
	struct ink_kbf_dict *d = filled_dict(INK_KBF_POWER_SUMS, 100);
	uint32_t found = 0, agree = 0, pair[2];

	for (uint32_t s1 = 0; s1 < d->field.p; s1 += 7)
		for (uint32_t s2 = 0; s2 < d->field.p; s2 += 7) {
			struct ink_power_sums s = {s1, s2};
			int is = ink_symbol_pair(d, INK_KBF_POWER_SUMS, s, pair);

			found += (uint32_t)is;
			agree += is == ink_symbol_is_pair(d, INK_KBF_POWER_SUMS, s);
		}
	assert_int_equal(agree, ((d->field.p + 6) / 7) * ((d->field.p + 6) / 7));
	assert_true(fabs(found - 100 * 101 / 2 / 49.0) < spread(103));
}

/* What the plan assumes of greedy codes. */
TEST_THAT(sums_of_four_greedy_codes_are_sums_of_two_as_often_as_planned)
{
	static const struct {
		uint32_t values;
		double density;
	} planned[] = {{100, .1998}, {300, .1100}, {1000, .0496}, {1500, .0388}};

	for (unsigned i = 0; i < 4; i++) {
		struct ink_kbf_dict *d = filled_dict(INK_KBF_GREEDY, planned[i].values);
		uint32_t n = planned[i].values, tried = 200000, hits = 0;

		for (uint32_t t = 0; t < tried; t++) {
			uint32_t a = random_below(n), b = random_below(n), c = random_below(n),
				 e = random_below(n);

			if (a == b || a == c || a == e || b == c || b == e || c == e)
				t--;
			else
				hits += (uint32_t)ink_symbol_is_pair(
					d, INK_KBF_GREEDY,
					(struct ink_power_sums){d->greedy[a] ^ d->greedy[b] ^ d->greedy[c] ^
									d->greedy[e],
								0});
		}
		assert_true(fabs(hits - planned[i].density * tried) <
			    spread(planned[i].density * tried) + .005 * tried * planned[i].density);
	}
}

/* ------------------------------------------------------------------ the dictionary */

TEST_THAT(values_keep_their_symbols_and_their_places)
{
	for (unsigned e = INK_KBF_POWER_SUMS; e <= INK_KBF_GREEDY; e++) {
		uint32_t n = 1200, symbol;
		struct ink_kbf_dict *d = make_dict(e, n);
		const void *at[1200];
		struct ink_bytes value;

		for (uint32_t i = 0; i < n; i++) {
			assert_int_equal(ink_kbf_dict_find(d, value_number(i), &symbol), -ENOENT);
			assert_int_equal(ink_kbf_dict_add(d, value_number(i), &symbol), 0);
			assert_int_equal(symbol, i);
			assert_int_equal(ink_kbf_dict_value(d, i, &value), 0);
			at[i] = value.bytes;
		}
		for (uint32_t i = 0; i < n; i++) {
			assert_int_equal(ink_kbf_dict_add(d, value_number(i), &symbol), 0);
			assert_int_equal(symbol, i);
			assert_int_equal(ink_kbf_dict_find(d, value_number(i), NULL), 0);
			assert_int_equal(ink_kbf_dict_value(d, i, &value), 0);
			assert_ptr_equal(value.bytes, at[i]);
			assert_int_equal(number_of(value), i);
		}
		assert_int_equal(ink_kbf_dict_value(d, n, &value), -ENOENT);
		assert_int_equal(ink_kbf_dict_add(d, value_number(n), NULL), -ENOSPC);
		assert_int_equal(d->count, n);
	}
}

/* A field can be used up to its last element. */
TEST_THAT(all_elements_of_the_field_can_be_symbols)
{
	struct ink_kbf_dict *d = filled_dict(INK_KBF_POWER_SUMS, INK_DICT_SMALL_FIELD);
	uint8_t met[INK_DICT_SMALL_FIELD] = {0};

	for (uint32_t i = 0; i < d->count; i++) {
		assert_false(met[d->codes[i].s1]);
		met[d->codes[i].s1] = 1;
	}
	assert_int_equal(ink_kbf_dict_add(d, value_number(d->count), NULL), -ENOSPC);
}

/* Neighbours would have sums that other triples have too. */
TEST_THAT(elements_are_scattered_and_follow_from_the_seed)
{
	struct ink_kbf_dict *a = filled_dict(INK_KBF_POWER_SUMS, 500),
			    *b = filled_dict(INK_KBF_POWER_SUMS, 900);
	struct ink_kbf_dict *c = keep_dict(ink_kbf_dict_create(NULL, NULL)),
			    *d = keep_dict(ink_kbf_dict_create(NULL, NULL));
	unsigned low = 0;

	assert_memory_equal(a->codes, b->codes, 500 * sizeof *a->codes);
	for (unsigned i = 0; i < 500; i++)
		low += a->codes[i].s1 < INK_DICT_SMALL_FIELD / 2;
	assert_true(low > 200 && low < 300);
	assert_true(ink_dict_fits(a, b) && ink_dict_fits(b, a));
	for (unsigned i = 0; i < 10; i++) {
		ink_kbf_dict_add(c, value_number(i), NULL);
		ink_kbf_dict_add(d, value_number(i), NULL);
	}
	assert_memory_not_equal(c->codes, d->codes, 10 * sizeof *c->codes);
	assert_false(ink_dict_fits(c, d));
}

TEST_THAT(dictionaries_fit_if_one_begins_with_the_other)
{
	static const struct {
		unsigned encoding;
		uint64_t values[2]; /* 0: none */
		int fits;           /* the dictionary of 1 and 2 */
	} others[] = {
		{0, {0, 0}, 1}, {2, {0, 0}, 0}, {0, {1, 0}, 1}, {0, {1, 2}, 1},
		{0, {2, 0}, 0}, {0, {2, 1}, 0}, {0, {3, 2}, 0}, /* the last value the same, but not the first */
	};
	struct ink_kbf_dict *a = make_dict(0, 0);

	ink_kbf_dict_add(a, value_number(1), NULL);
	ink_kbf_dict_add(a, value_number(2), NULL);
	for (unsigned i = 0; i < COUNT(others); i++) {
		struct ink_kbf_dict *b = make_dict(others[i].encoding, 0);

		for (unsigned k = 0; k < 2 && others[i].values[k]; k++)
			ink_kbf_dict_add(b, value_number(others[i].values[k]), NULL);
		assert_int_equal(ink_dict_fits(a, b), others[i].fits);
		assert_int_equal(ink_dict_fits(b, a), others[i].fits);
		if (others[i].fits)
			assert_int_equal(ink_dict_extend(b, a), 0);
		assert_true(!others[i].fits || b->count == 2);
	}
}

TEST_THAT(a_dictionary_lives_until_its_last_share_is_freed)
{
	struct ink_kbf_options o = {.size = sizeof o, .dict = ink_kbf_dict_create(NULL, NULL), .keys = 10};
	struct ink_kbf *f = ink_kbf_create(&o, NULL), *g = ink_kbf_create(&o, NULL);
	struct ink_bytes value;

	ink_kbf_dict_free(o.dict);
	insert(f, 1, 1);
	ink_kbf_free(f);
	insert(g, 2, 1);
	assert_int_equal(ink_kbf_query(g, key_number(2), &value), INK_KBF_VALUE);
	assert_ptr_equal(ink_kbf_dict_of(g), o.dict);
	ink_kbf_free(g);
	ink_kbf_dict_free(NULL);
	ink_kbf_free(NULL);
}

TEST_THAT(options_that_mean_nothing_are_refused)
{
	static const struct {
		struct ink_kbf_dict_options o;
		int error;
	} bad[] = {
		{{.size = 1}, EINVAL},
		{{.encoding = INK_KBF_GREEDY + 1}, EINVAL},
		{{.values = INK_DICT_SMALL_FIELD + 1}, ERANGE},
		{{.encoding = INK_KBF_GREEDY, .values = INK_GREEDY_VALUES + 1}, ERANGE},
		{{.encoding = INK_KBF_POWER_SUMS_WIDE, .values = INK_DICT_MOST_WIDE + 1}, ERANGE},
		{{.value_length = INK_DICT_MOST_LENGTH + 1}, ERANGE},
	};

	for (unsigned i = 0; i < COUNT(bad); i++) {
		struct ink_kbf_dict_options o = bad[i].o;
		struct ink_why why = {""};

		o.size = o.size ? o.size : sizeof o;
		errno = 0;
		assert_null(ink_kbf_dict_create(&o, &why));
		assert_int_equal(errno, bad[i].error);
		assert_true(why.text[0]);
	}
}

TEST_THAT(stats_say_what_a_dictionary_is)
{
	struct ink_kbf_dict *d = filled_dict(INK_KBF_POWER_SUMS, 100);
	struct ink_kbf_dict_stats s = {.size = sizeof s};

	ink_kbf_dict_stats(d, &s);
	assert_int_equal(s.encoding, INK_KBF_POWER_SUMS);
	assert_int_equal(s.values, 100);
	assert_int_equal(s.most, 100);
	assert_int_equal(s.value_length, 65536);
	assert_true(s.bytes > 2 * 2 * INK_DICT_SMALL_FIELD && s.bytes < 300000);
}

int main(void)
{
	return run_suite(&(struct suite){.after_each = free_all});
}
