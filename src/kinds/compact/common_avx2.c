/* SPDX-License-Identifier: BSD-2-Clause */
/* The kind `compact`: AVX2 and BMI2, for tables of the usual shape. */
#include "kinds/compact/find_avx2.h"

#include "engine/common_shape.h"

static inline const struct ink_compact_shape *shape_of(const struct ink_table *t)
{
	(void)t;
	return &compact_usual;
}

#include "kinds/compact/cells.h"
#include "engine/engine.h"

const struct ink_ops *const ink_compact_usual_avx2 = &verbs;
