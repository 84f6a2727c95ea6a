/* SPDX-License-Identifier: BSD-2-Clause */
/* For tests that hold what lines do with words at once against code that takes one bit after the other. */
#ifndef INKLING_TESTS_BITS_H
#define INKLING_TESTS_BITS_H

#include "base/cpu.h"
#include "tests/random.h"
#include "tests/simd_probe.h"
#include "tests/test.h"

/* Each instruction set that this processor has. */
static const struct simd_probe *probes[2] = {&simd_probe_portable};
static unsigned probe_count = 1;

__attribute__((constructor)) static void use_all_probes(void)
{
#ifdef INK_HAVE_AVX2
	if (ink_cpu_has(INK_SIMD_AVX2))
		probes[probe_count++] = &simd_probe_avx2;
#endif
}

static inline int bit_of(const uint64_t *words, unsigned at)
{
	return words[at / 64] >> at % 64 & 1;
}

static inline void set_bit(uint64_t *words, unsigned at, uint64_t bit)
{
	words[at / 64] = (words[at / 64] & ~(1ull << at % 64)) | (bit & 1) << at % 64;
}

static inline void random_words(uint64_t *words, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		words[i] = random_word();
}

static const uint32_t line_numbers[] = {
	1, 2, 3, 4, 5, 7, 16, 255, 256, 43403, 65536, 1000003, (1u << 28) - 1, 1u << 28};

enum { LINE_NUMBERS = sizeof line_numbers / sizeof line_numbers[0] };

#endif
