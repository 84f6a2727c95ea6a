/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The algebra of power sums: every element, every product and every pair of
 * small fields; of the two fields that dictionaries use, every element of the
 * small one and many of the large one.
 */
#include "kbf/power_sums.h"
#include "tests/random.h"
#include "tests/test.h"

enum { MOST_SMALL = 257 };

static const uint32_t small_primes[] = {3, 5, 7, 11, 13, 17, 19, 23, 61, 127, 251, 257};

enum { FIELDS = COUNT(small_primes) };

static struct ink_gf fields[FIELDS];

static int make_fields(void **state)
{
	static uint16_t roots[FIELDS][MOST_SMALL];

	for (unsigned i = 0; i < FIELDS; i++)
		fields[i] = ink_gf_make(small_primes[i], roots[i]);
	return 0;
}

#define EACH_SMALL_FIELD(f) for (const struct ink_gf *f = fields; f < fields + FIELDS; f++)

TEST_THAT(every_operation_of_small_fields_is_that_of_whole_numbers)
{
	EACH_SMALL_FIELD (f)
		for (uint32_t a = 0; a < f->p; a++) {
			assert_int_equal(ink_gf_half(f, a) * 2 % f->p, a);
			assert_int_equal(ink_gf_power(f, a, f->p - 1), a ? 1 : 0);
			for (uint32_t b = 0; b < f->p; b++) {
				assert_int_equal(ink_gf_add(f, a, b), (a + b) % f->p);
				assert_int_equal(ink_gf_subtract(f, a, b), (a + f->p - b) % f->p);
				assert_int_equal(ink_gf_multiply(f, a, b), a * b % f->p);
			}
		}
}

/* A square has a root whose square it is; what is none has none. */
TEST_THAT(every_root_of_small_fields_is_one)
{
	EACH_SMALL_FIELD (f) {
		unsigned squares = 0;

		for (uint32_t a = 0; a < f->p; a++) {
			uint32_t root;

			if (!ink_gf_root(f, a, &root))
				continue;
			assert_true(root < f->p);
			assert_int_equal(root * root % f->p, a);
			squares++;
		}
		assert_int_equal(squares, (f->p + 1) / 2);
	}
}

TEST_THAT(roots_without_a_table_are_those_of_the_table)
{
	EACH_SMALL_FIELD (f) {
		struct ink_gf computed = ink_gf_make(f->p, NULL);

		if (f->p % 4 != 3)
			continue;
		for (uint32_t a = 0; a < f->p; a++) {
			uint32_t one, other;
			int has = ink_gf_root(f, a, &one);

			assert_int_equal(ink_gf_root(&computed, a, &other), has);
			if (has)
				assert_true(one == other || one == f->p - other);
		}
	}
}

static void assert_pair(const struct ink_gf *f, uint32_t x, uint32_t y)
{
	struct ink_power_sums one = ink_power_sums_of(f, x), other = ink_power_sums_of(f, y);
	struct ink_power_sums both = ink_power_sums_add(f, one, other),
			      left = ink_power_sums_subtract(f, both, one);
	uint32_t pair[2] = {0};

	if (!ink_power_sums_pair(f, both, pair) ||
	    !((pair[0] == x && pair[1] == y) || (pair[0] == y && pair[1] == x)))
		fail_msg("p = %u: {%u, %u} reads {%u, %u}", f->p, x, y, pair[0], pair[1]);
	assert_true(left.s1 == y && left.s2 == other.s2);
}

TEST_THAT(every_pair_of_small_fields_is_found_again_equal_ones_too)
{
	EACH_SMALL_FIELD (f)
		for (uint32_t x = 0; x < f->p; x++)
			for (uint32_t y = 0; y <= x; y++)
				assert_pair(f, x, y);
}

/* p (p + 1) / 2 pairs have as many different sums; all the others are no pairs. */
TEST_THAT(sums_that_are_no_pair_are_refused)
{
	EACH_SMALL_FIELD (f) {
		uint32_t found = 0, pair[2];

		for (uint32_t s1 = 0; s1 < f->p; s1++)
			for (uint32_t s2 = 0; s2 < f->p; s2++) {
				if (!ink_power_sums_pair(f, (struct ink_power_sums){s1, s2}, pair))
					continue;
				found++;
				assert_int_equal((pair[0] + pair[1]) % f->p, s1);
				assert_int_equal((pair[0] * pair[0] + pair[1] * pair[1]) % f->p, s2);
			}
		assert_int_equal(found, f->p * (f->p + 1) / 2);
	}
}

TEST_THAT(any_number_is_reduced)
{
	static const uint64_t numbers[] = {0, 1, UINT32_MAX, 1ull << 32, UINT64_MAX - 1, UINT64_MAX};
	static const uint32_t primes[] = {3, 11, 61, 16381, 65521, 1073741783, 2147483647};

	for (unsigned i = 0; i < COUNT(primes); i++) {
		struct ink_gf f = ink_gf_make(primes[i], NULL);

		for (unsigned j = 0; j < COUNT(numbers); j++)
			assert_int_equal(ink_gf_reduce(&f, numbers[j]), numbers[j] % f.p);
		for (unsigned j = 0; j < 200000; j++) {
			uint64_t x = random_word() >> random_below(64), multiple = x / f.p * f.p;

			assert_int_equal(ink_gf_reduce(&f, x), x % f.p);
			assert_int_equal(ink_gf_reduce(&f, multiple), 0);
			assert_int_equal(ink_gf_reduce(&f, multiple - 1), (multiple - 1) % f.p);
		}
	}
}

static int is_prime(uint32_t n)
{
	for (uint32_t d = 2; (uint64_t)d * d <= n; d++)
		if (n % d == 0)
			return 0;
	return n > 1;
}

TEST_THAT(the_fields_of_dictionaries_find_pairs_again)
{
	static uint16_t roots[16381];
	struct ink_gf small = ink_gf_make(16381, roots), large = ink_gf_make(1073741783, NULL);

	assert_true(is_prime(small.p) && is_prime(large.p));
	assert_int_equal(large.p % 4, 3);
	for (uint32_t x = 0; x < small.p; x++)
		for (uint32_t y = x % 61; y < small.p; y += 61)
			assert_pair(&small, x, y);
	for (unsigned i = 0; i < 100000; i++)
		assert_pair(&large, random_below(large.p), i % 8 ? random_below(large.p) : large.p - 1 - i);
}

int main(void)
{
	return run_suite(&(struct suite){.begin = make_fields});
}
