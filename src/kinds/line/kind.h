/* SPDX-License-Identifier: BSD-2-Clause */
/* The kind `line`: its shape in a table, and its variants (variant.c). */
#ifndef INKLING_KINDS_LINE_KIND_H
#define INKLING_KINDS_LINE_KIND_H

#include "kinds/line/line.h"
#include "table/table.h"

INK_SHAPE(struct ink_line_shape);

/* With one writer: few seqlock stripes, which stay in the L1 cache (table/seqlock.h). */
#define INK_MOVING_STRIPES 64u

_Static_assert(INK_STRIPES % INK_MOVING_STRIPES == 0, "a number modulo these is the same modulo those");

_Static_assert((uint64_t)INK_MOST_BUCKETS *INK_LINE_WORDS <= UINT32_MAX,
	       "line_place has word numbers of 32 bits");

static inline struct ink_line_shape *ink_line_shape_of(const struct ink_table *t)
{
	return (struct ink_line_shape *)(uintptr_t)t->shape;
}

/* As Meson names them: by the macros that they are compiled with (engine/variant.h, known.h). */
extern const struct ink_ops *const ink_line_portable,
	*const ink_line_avx2,
		*const ink_line_common_avx2,
			*const ink_line_few_avx2,
				*const ink_line_few_half_avx2,
					*const ink_line_few_quarter_avx2,
						*const ink_line_few_eighth_avx2,
							*const ink_line_six_half_avx2,
								*const ink_line_short_eighth_avx2;
extern const struct ink_ops *const ink_line_shared,
	*const ink_line_shared_avx2, *const ink_line_shared_common_avx2, *const ink_line_shared_few_avx2;

#endif
