/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The id of a flow: SipHash-1-3 of its key.
 *
 * SipHash turns a key of any length and a secret of 128 bits into 64 bits. It
 * is ARX: additions, rotations and exclusive ors on four words, no tables and
 * no multiplications, so all keys of a length take the same time, and SIMD
 * lanes and BPF can do it as well. (Aumasson and Bernstein, "SipHash: a fast
 * short-input PRF", INDOCRYPT 2012.)
 *
 *     v0 v1 v2 v3 = secret ^ constants            start
 *     for each word m of 8 bytes, little endian:
 *         v3 ^= m, 1 round, v0 ^= m               absorb
 *     the last word: 0 .. 7 bytes that are left, and the length in the top byte
 *     v2 ^= 0xff, 3 rounds, v0 ^ v1 ^ v2 ^ v3     finish
 *
 * Why a secret. The sender of packets chooses the keys. A sender that could
 * compute the ids would send flows that all fall into the same two lines (hash
 * flooding), or one that answers for another. Without the secret it can only
 * guess, and SipHash is built so that seeing ids does not help.
 *
 * Why 1-3. The paper proposes 2-4 (two rounds a word, four to finish) for a MAC,
 * whose values are public. Ids are not: an attacker would have to learn them from
 * how a table behaves. For hash tables Aumasson himself
 * "would be very surprised if SipHash-1-3 introduced weaknesses"
 * (github.com/rust-lang/rust/issues/29754); Rust, Python and Linux use it
 * there. 16 bytes take 6 rounds instead of 10.
 *
 * Bytes are loaded little endian, whatever the machine: an id is the same
 * everywhere, so snapshots may travel. Nothing here needs more than <stdint.h>:
 * the same text compiles for user space and for BPF.
 */
#ifndef INKLING_BASE_SIPHASH_H
#define INKLING_BASE_SIPHASH_H

#include <stdint.h>

/* "somepseudorandomlygeneratedbytes", the paper's: a secret of equal words does not start as equal words. */
#define INK_SIP_V0 0x736f6d6570736575ull
#define INK_SIP_V1 0x646f72616e646f6dull
#define INK_SIP_V2 0x6c7967656e657261ull
#define INK_SIP_V3 0x7465646279746573ull

#define INK_SIP_END 0xff /* the paper's: the rounds of the end differ from those of a word */

struct ink_sip {
	uint64_t v0, v1, v2, v3;
};

/* ------------------------------------------------------------- the bytes */

/* Written byte by byte for any alignment and byte order; compilers make one load of it. */
static inline uint64_t ink_sip_load32(const uint8_t *at)
{
	return (uint64_t)at[0] | (uint64_t)at[1] << 8 | (uint64_t)at[2] << 16 | (uint64_t)at[3] << 24;
}

static inline uint64_t ink_sip_load64(const uint8_t *at)
{
	return (uint64_t)at[0] | (uint64_t)at[1] << 8 | (uint64_t)at[2] << 16 | (uint64_t)at[3] << 24 |
	       (uint64_t)at[4] << 32 | (uint64_t)at[5] << 40 | (uint64_t)at[6] << 48 | (uint64_t)at[7] << 56;
}

/*
 * The 0 .. 7 bytes that are left, as a word. The loads overlap, and where they
 * do they agree, so that there is no loop: of three bytes the middle one is
 * at[1], of two it is the last again.
 */
static inline uint64_t ink_sip_rest(const uint8_t *at, uint64_t left)
{
	if (left >= 4)
		return ink_sip_load32(at) | ink_sip_load32(at + left - 4) << 8 * (left - 4);
	if (left == 0)
		return 0;
	return (uint64_t)at[0] | (uint64_t)at[left / 2] << 8 * (left / 2) |
	       (uint64_t)at[left - 1] << 8 * (left - 1);
}

/* ------------------------------------------------------------ the rounds */

static inline uint64_t ink_sip_rotate(uint64_t word, unsigned bits)
{
	return word << bits | word >> (64 - bits);
}

static inline void ink_sip_round(struct ink_sip *sip)
{
	sip->v0 += sip->v1;
	sip->v2 += sip->v3;
	sip->v1 = ink_sip_rotate(sip->v1, 13) ^ sip->v0;
	sip->v3 = ink_sip_rotate(sip->v3, 16) ^ sip->v2;
	sip->v0 = ink_sip_rotate(sip->v0, 32);
	sip->v2 += sip->v1;
	sip->v0 += sip->v3;
	sip->v1 = ink_sip_rotate(sip->v1, 17) ^ sip->v2;
	sip->v3 = ink_sip_rotate(sip->v3, 21) ^ sip->v0;
	sip->v2 = ink_sip_rotate(sip->v2, 32);
}

static inline struct ink_sip ink_sip_start(const uint64_t secret[2])
{
	struct ink_sip sip = {
		.v0 = secret[0] ^ INK_SIP_V0,
		.v1 = secret[1] ^ INK_SIP_V1,
		.v2 = secret[0] ^ INK_SIP_V2,
		.v3 = secret[1] ^ INK_SIP_V3,
	};

	return sip;
}

static inline void ink_sip_absorb(struct ink_sip *sip, uint64_t word)
{
	sip->v3 ^= word;
	ink_sip_round(sip);
	sip->v0 ^= word;
}

static inline uint64_t ink_sip_finish(struct ink_sip *sip)
{
	sip->v2 ^= INK_SIP_END;
	ink_sip_round(sip);
	ink_sip_round(sip);
	ink_sip_round(sip);
	return sip->v0 ^ sip->v1 ^ sip->v2 ^ sip->v3;
}

/* --------------------------------------------------------------- the hash */

/*
 * SipHash-1-3 of `length` bytes at any alignment; with length 0, `bytes` may
 * be NULL. Always inlined, and the loop takes two words, so that a constant
 * length of 16, the usual key, leaves straight-line code: compilers drop a
 * loop that runs once, but do not unroll one that runs twice.
 */
__attribute__((always_inline)) static inline uint64_t ink_siphash13(const uint64_t secret[2],
								    const void *bytes, uint64_t length)
{
	struct ink_sip sip = ink_sip_start(secret);
	const uint8_t *at = (const uint8_t *)bytes;
	uint64_t left = length;

	for (; left >= 16; left -= 16, at += 16) {
		ink_sip_absorb(&sip, ink_sip_load64(at));
		ink_sip_absorb(&sip, ink_sip_load64(at + 8));
	}
	if (left >= 8) {
		ink_sip_absorb(&sip, ink_sip_load64(at));
		left -= 8;
		at += 8;
	}
	ink_sip_absorb(&sip, ink_sip_rest(at, left) | length << 56);
	return ink_sip_finish(&sip);
}

/* Of a number: the hash of its 8 bytes, little endian on every machine. */
static inline uint64_t ink_siphash13_word(const uint64_t secret[2], uint64_t word)
{
	struct ink_sip sip = ink_sip_start(secret);

	ink_sip_absorb(&sip, word);
	ink_sip_absorb(&sip, 8ull << 56);
	return ink_sip_finish(&sip);
}

#endif
