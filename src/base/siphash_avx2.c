/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Ids of eight keys at a time: a 64-bit lane for each key, four lanes in a
 * register, two groups of four.
 *
 * A round is a chain: each step waits for the one before. Two groups whose
 * half rounds alternate fill these waits, and their state fits the sixteen
 * registers. (16-byte keys, Zen 3, cycles an id: one group 11.1, two 9.6, three
 * 9.4, four 9.2 but with 50 spills; 35 instructions at four a cycle are 8.75.)
 *
 *     16 bytes of four keys:        k0: a0 b0   k1: a1 b1   k2: a2 b2   k3: a3 b3
 *     two keys in a register:       even: a0 b0 a2 b2       odd: a1 b1 a3 b3
 *     unpacked, a word of each:     a0 a1 a2 a3             b0 b1 b2 b3
 *
 * Loads and unpacking, not gathers: those cost a cycle an id more here, and far
 * more where the processor's microcode keeps them from leaking data.
 */
#include "base/siphash_batch.h"

#include <immintrin.h>

#include "base/siphash.h"

#define GROUP 4 /* keys in a register */

/* Else gcc and clang at -O2 make one function for both lengths below, and the constant is lost. */
#define INLINE inline __attribute__((always_inline))

/* The state of four keys. */
struct lanes {
	__m256i v0, v1, v2, v3;
};

/* The state of eight: two groups. */
struct pair {
	struct lanes a, b;
};

/* Two words of each of four keys. */
struct words {
	__m256i first, second;
};

/* ------------------------------------------------------------- the bytes */

static INLINE __m256i both(__m128i low, __m128i high)
{
	return _mm256_inserti128_si256(_mm256_castsi128_si256(low), high, 1);
}

static INLINE __m128i load16(const uint8_t *at)
{
	return _mm_loadu_si128((const __m128i *)(const void *)at);
}

static INLINE __m128i load8(const uint8_t *at)
{
	return _mm_loadl_epi64((const __m128i *)(const void *)at);
}

/* 16 bytes of four keys that lie `stride` apart: their first words, and their second. */
static INLINE struct words load_two(const uint8_t *at, size_t stride)
{
	__m256i even = both(load16(at), load16(at + 2 * stride));
	__m256i odd = both(load16(at + stride), load16(at + 3 * stride));
	struct words words = {_mm256_unpacklo_epi64(even, odd), _mm256_unpackhi_epi64(even, odd)};

	return words;
}

static INLINE __m256i load_one(const uint8_t *at, size_t stride)
{
	__m128i low = _mm_unpacklo_epi64(load8(at), load8(at + stride));
	__m128i high = _mm_unpacklo_epi64(load8(at + 2 * stride), load8(at + 3 * stride));

	return both(low, high);
}

static INLINE __m256i each(uint64_t word)
{
	return _mm256_set1_epi64x((long long)word);
}

static INLINE __m256i short_keys(const uint8_t *at, size_t length)
{
	long long k0 = (long long)ink_sip_rest(at, length);
	long long k1 = (long long)ink_sip_rest(at + length, length);
	long long k2 = (long long)ink_sip_rest(at + 2 * length, length);
	long long k3 = (long long)ink_sip_rest(at + 3 * length, length);

	return _mm256_set_epi64x(k3, k2, k1, k0);
}

/*
 * What is left of four keys after the last whole word. A key of 8 bytes or
 * more ends in 8 that may be read: those absorbed before are shifted out.
 */
static INLINE __m256i load_rest(const uint8_t *at, size_t length)
{
	__m128i absorbed = _mm_cvtsi64_si128((long long)(64 - 8 * (length % 8)));

	if (length % 8 == 0)
		return _mm256_setzero_si256();
	if (length < 8)
		return short_keys(at, length);
	return _mm256_srl_epi64(load_one(at + length - 8, length), absorbed);
}

static INLINE __m256i load_last(const uint8_t *at, size_t length)
{
	return _mm256_or_si256(load_rest(at, length), each((uint64_t)length << 56));
}

/* ------------------------------------------------------------ the rounds */

static INLINE __m256i rotate(__m256i words, int bits)
{
	return _mm256_or_si256(_mm256_slli_epi64(words, bits), _mm256_srli_epi64(words, 64 - bits));
}

/* Whole bytes move by one shuffle. */
static INLINE __m256i rotate_16(__m256i words)
{
	const __m256i from = _mm256_set_epi64x(0x0d0c0b0a09080f0e, 0x0504030201000706, 0x0d0c0b0a09080f0e,
					       0x0504030201000706);

	return _mm256_shuffle_epi8(words, from);
}

static INLINE __m256i rotate_32(__m256i words)
{
	return _mm256_shuffle_epi32(words, 0xb1);
}

static INLINE void half_round(struct lanes *s)
{
	s->v0 = _mm256_add_epi64(s->v0, s->v1);
	s->v2 = _mm256_add_epi64(s->v2, s->v3);
	s->v1 = _mm256_xor_si256(rotate(s->v1, 13), s->v0);
	s->v3 = _mm256_xor_si256(rotate_16(s->v3), s->v2);
	s->v0 = rotate_32(s->v0);
}

static INLINE void other_half(struct lanes *s)
{
	s->v2 = _mm256_add_epi64(s->v2, s->v1);
	s->v0 = _mm256_add_epi64(s->v0, s->v3);
	s->v1 = _mm256_xor_si256(rotate(s->v1, 17), s->v2);
	s->v3 = _mm256_xor_si256(rotate(s->v3, 21), s->v0);
	s->v2 = rotate_32(s->v2);
}

static INLINE void round_of(struct pair *p)
{
	half_round(&p->a);
	half_round(&p->b);
	other_half(&p->a);
	other_half(&p->b);
}

static INLINE void absorb(struct pair *p, __m256i a, __m256i b)
{
	p->a.v3 = _mm256_xor_si256(p->a.v3, a);
	p->b.v3 = _mm256_xor_si256(p->b.v3, b);
	round_of(p);
	p->a.v0 = _mm256_xor_si256(p->a.v0, a);
	p->b.v0 = _mm256_xor_si256(p->b.v0, b);
}

static INLINE void finish(struct pair *p)
{
	p->a.v2 = _mm256_xor_si256(p->a.v2, each(INK_SIP_END));
	p->b.v2 = _mm256_xor_si256(p->b.v2, each(INK_SIP_END));
	round_of(p);
	round_of(p);
	round_of(p);
}

static INLINE void store(uint64_t *ids, const struct lanes *s)
{
	__m256i id = _mm256_xor_si256(_mm256_xor_si256(s->v0, s->v1), _mm256_xor_si256(s->v2, s->v3));

	_mm256_storeu_si256((__m256i *)(void *)ids, id);
}

/* --------------------------------------------------------------- the keys */

static INLINE struct pair start(const uint64_t secret[2])
{
	struct ink_sip sip = ink_sip_start(secret);
	struct lanes lanes = {each(sip.v0), each(sip.v1), each(sip.v2), each(sip.v3)};
	struct pair pair = {lanes, lanes};

	return pair;
}

static INLINE void absorb_keys(struct pair *p, const uint8_t *a, const uint8_t *b, size_t length)
{
	size_t done = 0;

	for (; length - done >= 16; done += 16) {
		struct words of_a = load_two(a + done, length);
		struct words of_b = load_two(b + done, length);

		absorb(p, of_a.first, of_b.first);
		absorb(p, of_a.second, of_b.second);
	}
	if (length - done >= 8)
		absorb(p, load_one(a + done, length), load_one(b + done, length));
	absorb(p, load_last(a, length), load_last(b, length));
}

/* Four keys from i on, and four from j on; they may overlap. */
static INLINE void hash_eight(struct pair p, struct ink_keys keys, size_t i, size_t j, uint64_t *ids)
{
	absorb_keys(&p, ink_key_at(&keys, i), ink_key_at(&keys, j), keys.length);
	finish(&p);
	store(ids + i, &p.a);
	store(ids + j, &p.b);
}

static INLINE size_t smaller(size_t a, size_t b)
{
	return a < b ? a : b;
}

/*
 * Four keys or more. No group begins later than the last four keys: at the end
 * it reaches back to keys that are hashed twice.
 */
static INLINE void batch_of(const uint64_t secret[2], struct ink_keys keys, uint64_t *ids)
{
	struct pair from = start(secret);
	size_t last = keys.n - GROUP;

	for (size_t i = 0; i < keys.n; i += 2 * GROUP)
		hash_eight(from, keys, smaller(i, last), smaller(i + GROUP, last), ids);
}

/* The usual key, and a constant for the compiler: no loop within a key. */
static void batch_16(const uint64_t secret[2], struct ink_keys keys, uint64_t *ids)
{
	keys.length = 16;
	batch_of(secret, keys, ids);
}

static void batch_any(const uint64_t secret[2], struct ink_keys keys, uint64_t *ids)
{
	batch_of(secret, keys, ids);
}

static void batch(const uint64_t secret[2], const struct ink_keys *keys, uint64_t *ids)
{
	if (keys->n < GROUP)
		ink_id_portable.batch(secret, keys, ids);
	else if (keys->length == 16)
		batch_16(secret, *keys, ids);
	else
		batch_any(secret, *keys, ids);
}

const struct ink_id_ops ink_id_avx2 = {
	.name = "avx2",
	.batch = batch,
};
