/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Set and step of kinds without cells, composed of the verbs that such a kind
 * defines itself (contract.h): lookup_at, insert_at, modify_at, delete_at, begin_at.
 * Such kinds have one writer, so no verb has to retry.
 */
#if defined KIND_DEFINED && !defined INKLING_ENGINE_COMPOSED_VERBS_H
#define INKLING_ENGINE_COMPOSED_VERBS_H

#include <errno.h>

INK_HOT int set_at(struct ink_table *t, const struct place *p, uint64_t id, unsigned state)
{
	int result = modify_at(t, p, NULL, id, (struct ink_change){INK_ANY_STATE, state});

	return result == -ENOENT ? insert_at(t, p, id, state) : result;
}

/* A new flow. If there is no room for it, it stays absent. */
INK_HOT int step_new(struct ink_table *t, const struct place *p, uint64_t id, struct ink_move *m)
{
	int error = m->to == INK_ABSENT ? 0 : insert_at(t, p, id, (unsigned)m->to);

	if (error)
		m->to = INK_ABSENT;
	return error;
}

/* From one state to another, or removed. An entry that cannot be removed now is left to the tick. */
INK_HOT int step_on(struct ink_table *t, const struct place *p, uint64_t id, const struct ink_move *m)
{
	if (m->to == m->from)
		return 0;
	if (m->to >= 0)
		return modify_at(t, p, NULL, id, (struct ink_change){m->from, (unsigned)m->to});
	delete_at(t, p, NULL, id, m->from);
	return 0;
}

INK_HOT int step_at(struct ink_table *t, const struct place *p, const struct hint *h, uint64_t id,
		    unsigned event, struct ink_move *m)
{
	ink_answer from;
	struct ink_row row;

	(void)h;
	if (!ink_can_step(t, event, m))
		return -EINVAL;
	from = lookup_at(t, p, NULL, id);
	if (from == INK_DONT_KNOW)
		return *m = ink_move_unsure(t->program, event), 0;
	*m = ink_move_along(INK_ABSENT, ink_program_absent(t->program, event));
	if (from == INK_ABSENT)
		return step_new(t, p, id, m);
	row = ink_program_row(t->program, (uint32_t)from, event);
	if (ink_program_begins(t->program, row, event))
		return begin_at(t, p, id, m->to);
	*m = ink_move_along(from, row);
	return step_on(t, p, id, m);
}

#include "engine/batch.h"

#endif
