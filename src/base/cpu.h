/* SPDX-License-Identifier: BSD-2-Clause */
/* Which instruction sets this processor has, and which were built. */
#ifndef INKLING_BASE_CPU_H
#define INKLING_BASE_CPU_H

#include <inkling/inkling.h>

/* Non-zero if code for it was built and can run here. INK_SIMD_BEST and INK_SIMD_NONE always can. */
int ink_cpu_has(enum ink_simd simd);

/* What INK_SIMD_BEST stands for. */
enum ink_simd ink_cpu_best(void);

#endif
