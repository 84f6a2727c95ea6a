/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The id is SipHash-1-3, known by its vectors, and every batch gives the ids
 * that the single function gives and reads nothing beside its keys.
 */
#include <sys/mman.h>
#include <unistd.h>

#include "base/cpu.h"
#include "base/siphash.h"
#include "base/siphash_batch.h"
#include "tests/random.h"
#include "tests/test.h"

#define MAX_LENGTH 80 /* five of the largest step, 16 bytes: every loop runs, every rest is left */
#define MAX_N 40      /* five of the largest group, 8 keys, and every number left over */

/* ----------------------------------------------------------- the vectors */

static const uint64_t vector_secret[2] = {0x0706050403020100, 0x0f0e0d0c0b0a0908};

/*
 * SipHash-1-3 of 0, 1, 2 .. n-1 under the secret 00 01 .. 0f, for n = 0 .. 63,
 * as the paper's appendix has it for 2-4. Made with OpenSSL 3.0.19: EVP_MAC
 * SIPHASH, size 8, c-rounds 1, d-rounds 3; as a command, for one n:
 *
 *     openssl mac -macopt hexkey:000102030405060708090a0b0c0d0e0f -macopt size:8 \
 *         -macopt c-rounds:1 -macopt d-rounds:3 -in FILE SIPHASH
 *
 * which prints the bytes, lowest first. The same 64 stand in the tests of the
 * Rust crate `siphasher` (src/tests.rs). Under an all-zero secret the same
 * program agrees with the hash() of Python 3.11 for n = 1 .. 63.
 */
static const uint64_t vectors[64] = {
	0xabac0158050fc4dc, 0xc9f49bf37d57ca93, 0x82cb9b024dc7d44d, 0x8bf80ab8e7ddf7fb, 0xcf75576088d38328,
	0xdef9d52f49533b67, 0xc50d2b50c59f22a7, 0xd3927d989bb11140, 0x369095118d299a8e, 0x25a48eb36c063de4,
	0x79de85ee92ff097f, 0x70c118c1f94dc352, 0x78a384b157b4d9a2, 0x306f760c1229ffa7, 0x605aa111c0f95d34,
	0xd320d86d2a519956, 0xcc4fdd1a7d908b66, 0x9cf2689063dbd80c, 0x8ffc389cb473e63e, 0xf21f9de58d297d1c,
	0xc0dc2f46a6cce040, 0xb992abfe2b45f844, 0x7ffe7b9ba320872e, 0x525a0e7fdae6c123, 0xf464aeb267349c8c,
	0x45cd5928705b0979, 0x3a3e35e3ca9913a5, 0xa91dc74e4ade3b35, 0xfb0bed02ef6cd00d, 0x88d93cb44ab1e1f4,
	0x540f11d643c5e663, 0x2370dd1f8c21d1bc, 0x81157b6c16a7b60d, 0x4d54b9e57a8ff9bf, 0x759f12781f2a753e,
	0xcea1a3bebf186b91, 0x2cf508d3ada26206, 0xb6101c2da3c33057, 0xb3f47496ae3a36a1, 0x626b57547b108392,
	0xc1d2363299e41531, 0x667cc1923f1ad944, 0x65704ffec8138825, 0x24f280d1c28949a6, 0xc2ca1cedfaf8876b,
	0xc2164bfc9f042196, 0xa16e9c9368b1d623, 0x49fb169c8b5114fd, 0x9f3143f8df074c46, 0xc6fdaf2412cc86b3,
	0x7eaf49d10a52098f, 0x1cf313559d292f9a, 0xc44a30dda2f41f12, 0x36fae98943a71ed0, 0x318fb34c73f0bce6,
	0xa27abf3670a7e980, 0xb4bcc0db243c6d75, 0x23f8d852fdb71513, 0x8f035f4da67d8a08, 0xd89cd0e5b7e8f148,
	0xf6f4e6bcf7a644ee, 0xaec59ad80f1837f2, 0xc3b2f6154b6694e0, 0x9d199062b7bbb3a8,
};

/* The same of 300 bytes, i % 256: the length takes more than its byte. */
static const uint64_t long_vector = 0x4016a23bda5a2224;

static void count_up(uint8_t *bytes, size_t length)
{
	for (size_t i = 0; i < length; i++)
		bytes[i] = (uint8_t)i;
}

TEST_THAT(the_id_is_siphash_1_3)
{
	uint8_t bytes[64];

	count_up(bytes, sizeof bytes);
	for (size_t n = 0; n < 64; n++)
		assert_int_equal(ink_siphash13(vector_secret, bytes, n), vectors[n]);
}

TEST_THAT(a_number_is_hashed_as_its_bytes_from_the_lowest)
{
	assert_int_equal(ink_siphash13_word(vector_secret, 0x0706050403020100), vectors[8]);
}

TEST_THAT(a_long_key_counts_its_length_modulo_256)
{
	uint8_t bytes[300];

	count_up(bytes, sizeof bytes);
	assert_int_equal(ink_siphash13(vector_secret, bytes, sizeof bytes), long_vector);
}

TEST_THAT(an_empty_key_needs_no_address)
{
	assert_int_equal(ink_siphash13(vector_secret, NULL, 0), vectors[0]);
}

TEST_THAT(an_id_does_not_depend_on_where_the_key_lies)
{
	uint8_t bytes[64 + 8];

	for (size_t offset = 0; offset < 8; offset++) {
		count_up(bytes + offset, 64);
		for (size_t n = 0; n < 64; n++)
			assert_int_equal(ink_siphash13(vector_secret, bytes + offset, n), vectors[n]);
	}
}

/* ----------------------------------------------------------- the batches */

static void fill_at_random(uint8_t *bytes, size_t length)
{
	for (size_t i = 0; i < length; i++)
		bytes[i] = (uint8_t)(random_word() >> 56);
}

static const struct ink_id_ops *const implementations[] = {
	&ink_id_portable,
#ifdef INK_HAVE_AVX2
	&ink_id_avx2,
#endif
};

/* An id more than there are keys: it must stay as it is. */
static void assert_batch_is_right_by(const struct ink_id_ops *ops, const struct ink_keys *keys)
{
	const uint64_t secret[2] = {random_word(), random_word()};
	const uint64_t untouched = 0x1234567890abcdef;
	uint64_t *ids = malloc((keys->n + 1) * sizeof *ids);

	assert_non_null(ids);
	for (size_t i = 0; i <= keys->n; i++)
		ids[i] = untouched;
	ops->batch(secret, keys, ids);
	for (size_t i = 0; i < keys->n; i++)
		if (ids[i] != ink_siphash13(secret, ink_key_at(keys, i), keys->length))
			fail_msg("%s: id %zu of %zu keys of %zu bytes", ops->name, i, keys->n, keys->length);
	assert_int_equal(ids[keys->n], untouched);
	free(ids);
}

/* By each implementation that this processor can run: the portable one stands first. */
static void assert_batch_is_right(const struct ink_keys *keys)
{
	size_t n = ink_cpu_has(INK_SIMD_AVX2) ? COUNT(implementations) : 1;

	for (size_t i = 0; i < n; i++)
		assert_batch_is_right_by(implementations[i], keys);
}

/* The keys end where their heap block ends, so that the address sanitizer sees what lies beyond. */
static void try_in_exact_block(size_t length, size_t n)
{
	size_t offset = random_word() % 32;
	uint8_t *block = malloc(offset + n * length);
	struct ink_keys keys = {.bytes = block + offset, .length = length, .n = n};

	assert_true(block || offset + n * length == 0);
	fill_at_random(block, offset + n * length);
	assert_batch_is_right(&keys);
	free(block);
}

TEST_THAT(a_batch_gives_the_ids_of_the_single_keys)
{
	for (size_t length = 0; length <= MAX_LENGTH; length++)
		for (size_t n = 0; n <= MAX_N; n++)
			try_in_exact_block(length, n);
}

TEST_THAT(a_large_batch_is_right_to_its_end)
{
	for (size_t n = 1000; n < 1016; n++) {
		try_in_exact_block(13, n);
		try_in_exact_block(16, n);
		try_in_exact_block(300, n);
	}
}

/* One page that may be used between two that must not be, for builds without a sanitizer. */
static uint8_t *map_guarded_page(size_t page)
{
	uint8_t *map = mmap(NULL, 3 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	assert_true(map != MAP_FAILED);
	assert_int_equal(mprotect(map + page, page, PROT_READ | PROT_WRITE), 0);
	return map + page;
}

TEST_THAT(a_batch_reads_nothing_beside_its_keys)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	uint8_t *bytes = map_guarded_page(page);

	fill_at_random(bytes, page);
	for (size_t length = 0; length <= MAX_LENGTH; length++) {
		for (size_t n = 0; n <= MAX_N; n++) {
			struct ink_keys keys = {.bytes = bytes, .length = length, .n = n};

			assert_batch_is_right(&keys);
			keys.bytes = bytes + page - n * length;
			assert_batch_is_right(&keys);
		}
	}
	munmap(bytes - page, 3 * page);
}

TEST_THAT(a_batch_of_empty_keys_needs_no_address)
{
	for (size_t n = 0; n <= MAX_N; n++) {
		struct ink_keys keys = {.bytes = NULL, .length = 0, .n = n};

		assert_batch_is_right(&keys);
	}
}

int main(void)
{
	return run_suite(NULL);
}
