/* SPDX-License-Identifier: BSD-2-Clause */
/* What a kind is, asked of the library: tests do not compare kinds where they mean what one can do. */
#ifndef INKLING_TESTS_KIND_H
#define INKLING_TESTS_KIND_H

#include <inkling/inkling.h>

static inline struct ink_kind_info info_of(enum ink_kind kind)
{
	struct ink_kind_info info = {.size = sizeof info};

	ink_kind_info((unsigned)kind, &info);
	return info;
}

/* INK_CAN_... */
static inline int kind_can(enum ink_kind kind, unsigned what)
{
	return (info_of(kind).can & what) != 0;
}

/* INK_GEOMETRY_... */
static inline int kind_takes(enum ink_kind kind, unsigned field)
{
	return (info_of(kind).geometry & field) != 0;
}

#endif
