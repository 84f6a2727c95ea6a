/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * For verbs.h, the cells of kinds that one thread changes, and that store codes
 * as they are: inserts hold nothing and look for nothing ahead (docs/tables.md),
 * and whoever peeks has whole lines or looks again (ink_seq_write_begin).
 */
#ifndef INKLING_ENGINE_ONE_WRITER_H
#define INKLING_ENGINE_ONE_WRITER_H

static inline uint32_t *insert_enter(struct ink_table *t, const struct place *p)
{
	(void)t;
	(void)p;
	return NULL;
}

static inline void insert_leave(uint32_t *lock)
{
	(void)lock;
}

struct spot;

static inline unsigned cell_code(const struct ink_table *t, const struct spot *spot, unsigned state)
{
	(void)spot;
	return ink_code(coding_of(t), state);
}

#endif
