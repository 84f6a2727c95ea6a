/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * For verbs.h, the codes of tables of the usual shape: 8 to 15 states and a
 * timer. They are known when this is compiled, as the lines are (LINE_USUAL,
 * compact_usual): a third of the instructions less, and registers for what is
 * left.
 */
#ifndef INKLING_ENGINE_COMMON_SHAPE_H
#define INKLING_ENGINE_COMMON_SHAPE_H

#include "table/table.h"

static inline const struct ink_coding *coding_of(const struct ink_table *t)
{
	(void)t;
	return &coding_usual;
}

#endif
