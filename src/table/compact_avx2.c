/* SPDX-License-Identifier: BSD-2-Clause */
/* The kind `compact`: AVX2 and BMI2. See compact.h for the memory. */
#include "compact_avx2.h"

#include "compact_any.h"
#include "compact_cells.h"
#include "verbs.h"

const struct ink_ops *const ink_compact_avx2 = &verbs;
