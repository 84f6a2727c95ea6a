/* SPDX-License-Identifier: BSD-2-Clause */
/* The kind `compact`: AVX2 and BMI2. See compact.h for the memory. */
#include "kinds/compact/find_avx2.h"

#include "kinds/compact/generic.h"
#include "kinds/compact/cells.h"
#include "engine/engine.h"

const struct ink_ops *const ink_compact_avx2 = &verbs;
