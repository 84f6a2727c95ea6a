/* SPDX-License-Identifier: BSD-2-Clause */
/* The kind `compact`: AVX2 and BMI2, for tables of the usual shape. */
#include "compact_avx2.h"

#include "usual.h"

static inline const struct ink_compact_shape *shape_of(const struct ink_table *t)
{
	(void)t;
	return &compact_usual;
}

#include "compact_cells.h"
#include "verbs.h"

const struct ink_ops *const ink_compact_usual_avx2 = &verbs;
