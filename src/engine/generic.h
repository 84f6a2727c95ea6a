/* SPDX-License-Identifier: BSD-2-Clause */
/* For verbs.h, the codes of tables of any shape, which is asked for with every step. */
#ifndef INKLING_ENGINE_GENERIC_H
#define INKLING_ENGINE_GENERIC_H

#include "table/table.h"

static inline const struct ink_coding *coding_of(const struct ink_table *t)
{
	return &t->coding;
}

#endif
