/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * For verbs.h, the cells of kinds in which no flow ever matches two entries:
 * nothing is to be done about such matches, and no choice to be made.
 */
#ifndef INKLING_ENGINE_NO_DUPLICATES_H
#define INKLING_ENGINE_NO_DUPLICATES_H

static inline void cell_touch_all(struct ink_table *t, const struct place *p)
{
	(void)t;
	(void)p;
}

static inline int cells_copy(const struct ink_table *t)
{
	(void)t;
	return 0;
}

static inline int cells_reinsert(const struct ink_table *t)
{
	(void)t;
	return 0;
}

static inline int cells_keep(const struct ink_table *t)
{
	(void)t;
	return 0;
}

#endif
