/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/cpu.h"

int ink_cpu_has(enum ink_simd simd)
{
	if (simd != INK_SIMD_AVX2)
		return simd == INK_SIMD_BEST || simd == INK_SIMD_NONE;
#ifdef INK_HAVE_AVX2
	return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi") &&
	       __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("popcnt");
#else
	return 0;
#endif
}

/*
 * ThreadSanitizer knows atomic accesses of words but not vector loads, so
 * under it the portable code is the best.
 */
enum ink_simd ink_cpu_best(void)
{
#ifdef __SANITIZE_THREAD__
	return INK_SIMD_NONE;
#else
	return ink_cpu_has(INK_SIMD_AVX2) ? INK_SIMD_AVX2 : INK_SIMD_NONE;
#endif
}
