/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The time of `line`: what a tick does to a line. Ages are stored relative to an
 * epoch (table/epoch.h), so a tick writes only words in which an entry expires.
 */
#ifndef INKLING_KINDS_LINE_SWEEP_H
#define INKLING_KINDS_LINE_SWEEP_H

#include "kinds/line/cells.h"

static uint64_t cells_units(const struct ink_table *t)
{
	return shape_of(t)->lines;
}

static uint32_t cells_in_unit(const struct ink_table *t)
{
	return shape_of(t)->lanes * INK_LINE_WORDS;
}

/*
 * What the tick under way does to an entry of a line that it has not passed: 0 if the
 * entry stays as it is, else INK_EXPIRES with its new stored code, or with INK_GONE.
 */
static unsigned fate(const struct ink_table *t, unsigned stored)
{
	const struct ink_coding *c = coding_of(t);
	const uint16_t *fresh = t->aging.fresh[ink_view_table(t->aging.view)];
	unsigned after = t->aging.after[ink_code_decode(c, fresh[ink_code_state(c, stored)], stored)];

	if (!(after & INK_EXPIRES) || after == (INK_EXPIRES | INK_GONE))
		return after & INK_EXPIRES ? after : 0;
	fresh = t->aging.fresh[!ink_view_table(t->aging.view)];
	return INK_EXPIRES | fresh[ink_code_state(c, after & ~INK_EXPIRES)];
}

/* An entry expires, unless another thread touched it meanwhile. */
static void slot_expire(struct ink_table *t, uint32_t line, unsigned slot)
{
	const struct ink_line_shape *s = shape_of(t);
	struct ink_line_spot at;
	uint32_t entry, becomes;
	unsigned code, after;

	do {
		at = line_spot(line_at(t, line), slot);
		entry = ink_line_entry(s, at.seen, at.column);
		code = ink_line_entry_code(s, entry);
		after = entry ? fate(t, code) : 0;
		if (IS_SHARED && !after)
			return;
		becomes = ink_line_make_entry(s, ink_line_entry_fp(s, entry), after & ~INK_EXPIRES);
		if (after == (INK_EXPIRES | INK_GONE))
			becomes = 0;
	} while (!word_swap(at.word, at.seen, ink_line_change(s, at.seen, at.column, entry, becomes)));
	ink_note_expiry(t, code);
}

/* The stored age at which entries of all states expire; -1 if states differ. */
static int last_age(const struct ink_table *t)
{
	const struct ink_coding *c = coding_of(t);
	const uint16_t *fresh = t->aging.fresh[ink_view_table(t->aging.view)];
	unsigned last = (fresh[c->unsure] + 1u) & c->age_top;

	if (!c->age_bits)
		return -1;
	for (unsigned state = 0; state <= c->unsure; state = state + 1 == t->states ? c->unsure : state + 1) {
		const uint16_t *after = t->aging.after + (state << c->age_bits);

		if (!(after[0] & INK_EXPIRES) || (after[1] & INK_EXPIRES) ||
		    ((fresh[state] + 1u) & c->age_top) != last)
			return -1;
	}
	return (int)last;
}

/* What the tick under way searches for. The table of codes is filled only if it is used. */
static struct ink_line_looks looks_of(const struct ink_table *t)
{
	int last = last_age(t);
	uint32_t codes = 1u << shape_of(t)->code_bits;
	struct ink_line_looks l = {.alike = last >= 0,
				   .ages = coding_of(t)->age_top,
				   .last = last >= 0 ? (uint32_t)last : 0,
				   .codes = codes < INK_LOOKS_CODES ? codes : INK_LOOKS_CODES};

	for (unsigned code = 0; !l.alike && code < l.codes; code++)
		l.dead[code] = fate(t, code) ? 0xff : 0;
	return l;
}

/* As line_look, slot by slot, if there are more codes than the table holds. */
static uint32_t look_slowly(const struct ink_table *t, const struct ink_line *line)
{
	const struct ink_line_shape *s = shape_of(t);
	uint32_t over = 0;

	for (uint32_t used = (uint32_t)s->slots & ~line_slots(s, line, 0); used; used &= used - 1) {
		unsigned slot = (unsigned)__builtin_ctz(used);
		uint64_t word = ink_line_read(&line->word[slot_word(slot)]);

		if (fate(t, ink_line_code(s, word, slot_column(slot))))
			over |= 1u << slot;
	}
	return over;
}

static void clear_overflow(const struct ink_table *t, struct ink_line *line)
{
	for (unsigned i = 0; i < overflow_flags(t); i++)
		if (flag_is_set(line, INK_LINE_OVERFLOW + i))
			flag_write(line, INK_LINE_OVERFLOW + i, 0);
}

/* `looker` is NULL if there are too many codes. */
INK_HOT void sweep_span(struct ink_table *t, const struct line_looker *looker, const struct ink_span *span)
{
	for (uint64_t i = span->from; i < span->to; i++) {
		struct ink_line *line = line_at(t, (uint32_t)i);
		uint32_t over = looker ? line_look(looker, line) : look_slowly(t, line);

		for (; over; over &= over - 1)
			slot_expire(t, (uint32_t)i, (unsigned)__builtin_ctz(over));
		if (t->aging.flags_due)
			clear_overflow(t, line);
	}
}

static void cells_sweep(struct ink_table *t, uint64_t from, uint64_t to)
{
	const struct ink_line_shape shape = *shape_of(t); /* which no write to a line can change */
	struct ink_line_looks looks = looks_of(t);
	struct line_looker looker = line_looker(&shape, &looks);
	int quick = looks.alike || 1u << shape.code_bits <= INK_LOOKS_CODES;
	struct ink_span span = {from, from};

	while (ink_groups_take(t, &span, to)) {
		sweep_span(t, quick ? &looker : NULL, &span);
		ink_groups_settle(t, &span);
	}
}

#endif
