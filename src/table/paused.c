/* SPDX-License-Identifier: BSD-2-Clause */
#include "table/paused.h"

#include <string.h>

#include "table/epoch.h"

/* The states that an entry can have, one after the other. */
static int is_stored(const struct ink_table *t, unsigned state)
{
	return state < t->states || state == t->coding.unsure;
}

static unsigned first_code(const struct ink_table *t, unsigned state)
{
	return state << t->coding.age_bits;
}

/* ------------------------------------------------------------------------- saving */

/* An entry of age 0 shows both: whether there is a look, and what follows. */
static uint16_t look_of(const struct ink_table *t, unsigned state)
{
	unsigned code = first_code(t, state), after = t->aging.after[code];

	if (after == code)
		return INK_PAUSED_NO_LOOK;
	if (after == (INK_EXPIRES | INK_GONE))
		return INK_PAUSED_DELETE;
	return (uint16_t)(INK_PAUSED_MOVE + ink_code_state(&t->coding, after & ~INK_EXPIRES));
}

void ink_pause_save(const struct ink_table *t, struct ink_paused *p)
{
	memset(p, 0, sizeof *p);
	if (!ink_is_paused(t))
		return;
	p->target = t->aging.target;
	p->cursor = t->aging.cursor;
	p->flags_due = t->aging.flags_due != 0;
	for (unsigned state = 0; state < INK_STATE_CODES; state++)
		if (is_stored(t, state)) {
			p->looks[state] = look_of(t, state);
			p->expired[state] = t->aging.expired[state];
		}
}

/* ------------------------------------------------------------------------ loading */

/* Without age bits, only don't-know entries end; they never move. */
static unsigned largest_look(const struct ink_table *t, unsigned state)
{
	if (!is_stored(t, state) || (!t->coding.age_bits && state != t->coding.unsure))
		return INK_PAUSED_NO_LOOK;
	return state == t->coding.unsure ? INK_PAUSED_DELETE : INK_PAUSED_MOVE + t->states - 1;
}

const char *ink_pause_check(const struct ink_table *t, const struct ink_paused *p)
{
	if (p->target <= t->aging.now)
		return "the tick under way (byte 504) leads into the past";
	if (p->cursor >= t->ops->units(t))
		return "the tick under way (byte 512) has passed the end of the table";
	if (p->flags_due > 1 || p->zero)
		return "the flags of the tick under way (byte 3080) are unknown";
	for (unsigned state = 0; state < INK_STATE_CODES; state++)
		if (p->looks[state] > largest_look(t, state) || (p->expired[state] && !is_stored(t, state)))
			return "the tick under way (byte 520) looks at states that cannot be";
	return NULL;
}

static unsigned after_look(const struct ink_table *t, unsigned code, unsigned look)
{
	if (code & t->coding.age_top)
		return code - 1;
	if (look == INK_PAUSED_DELETE)
		return INK_EXPIRES | INK_GONE;
	return INK_EXPIRES | ink_code(&t->coding, look - INK_PAUSED_MOVE);
}

static void restore_state(struct ink_table *t, unsigned state, unsigned look)
{
	unsigned first = first_code(t, state);

	for (unsigned code = first; look && code <= first + t->coding.age_top; code++)
		t->aging.after[code] = (uint16_t)after_look(t, code, look);
	if (ink_has_epochs(t))
		ink_epoch_advance(t, state, look != INK_PAUSED_NO_LOOK);
	t->aging.idle &= look == INK_PAUSED_NO_LOOK;
	t->aging.all_due &= look != INK_PAUSED_NO_LOOK;
}

void ink_pause_restore(struct ink_table *t, const struct ink_paused *p)
{
	struct ink_aging *a = &t->aging;

	a->target = p->target;
	a->cursor = p->cursor;
	a->flags_due = (int)p->flags_due;
	a->idle = a->all_due = 1;
	a->single = t->coding.age_bits == 1;
	for (size_t code = 0; code < ink_codes(&t->plan); code++)
		a->after[code] = (uint16_t)code;
	for (unsigned state = 0; state < INK_STATE_CODES; state++)
		if (is_stored(t, state)) {
			restore_state(t, state, p->looks[state]);
			a->expired[state] = p->expired[state];
		}
	ink_epoch_publish_passed(t, p->cursor);
}
