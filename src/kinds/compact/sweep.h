/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The time of `compact`: what a tick does to a line. The codes of a line are bit
 * planes, so a tick ages all its entries at once.
 */
#ifndef INKLING_KINDS_COMPACT_SWEEP_H
#define INKLING_KINDS_COMPACT_SWEEP_H

#include "kinds/compact/cells.h"

static uint64_t cells_units(const struct ink_table *t)
{
	return lines_of(t);
}

static uint32_t cells_in_unit(const struct ink_table *t)
{
	return shape_of(t)->slots;
}

/* What a tick does to the entries with one code. */
struct change {
	uint16_t code;
	uint16_t flips; /* the planes in which the code after differs */
	uint8_t expires, gone;
};

struct changes {
	unsigned n;
	struct change at[INK_CODES];
};

static void list_changes(const struct ink_table *t, struct changes *c)
{
	c->n = 0;
	for (unsigned code = 0; code < 1u << shape_of(t)->planes; code++) {
		unsigned after = t->aging.after[code];
		int gone = after == (INK_EXPIRES | INK_GONE);

		if (after != code)
			c->at[c->n++] = (struct change){(uint16_t)code,
							gone ? 0 : (uint16_t)((code ^ after) & ~INK_EXPIRES),
							(uint8_t)(after >> 15), (uint8_t)gone};
	}
}

/* For every value of n planes, the slots (among those given) that have it. */
static void split_by(const uint64_t *planes, unsigned n, uint64_t slots, uint64_t *by_value)
{
	by_value[0] = slots;
	for (unsigned j = 0; j < n; j++)
		for (unsigned value = 0; value < 1u << j; value++) {
			by_value[value | 1u << j] = by_value[value] & planes[j];
			by_value[value] &= ~planes[j];
		}
}

/*
 * Which codes a line holds cannot be predicted, but the list of changes is the
 * same for every line: so each change is applied to its slots even if there
 * are none. The slots of a code are those of its lower planes and of its upper
 * ones. Returns the slots whose entries are to be deleted.
 */
static uint64_t age_planes(struct ink_table *t, const struct changes *c, uint64_t *planes, uint64_t slots)
{
	unsigned all = shape_of(t)->planes, lower = all / 2;
	uint64_t low[1u << COMPACT_MAX_PLANES / 2], high[1u << COMPACT_MAX_PLANES / 2], dead = 0;

	split_by(planes, lower, slots, low);
	split_by(planes + lower, all - lower, slots, high);
	for (unsigned i = 0; i < c->n; i++) {
		const struct change *change = &c->at[i];
		uint64_t those = low[change->code & low_bits(lower)] & high[change->code >> lower];

		if (change->expires)
			ink_note_expiries(t, change->code, (unsigned)__builtin_popcountll(those));
		dead |= those & (0 - (uint64_t)change->gone);
		for (unsigned flips = change->flips; flips; flips &= flips - 1)
			planes[__builtin_ctz(flips)] ^= those;
	}
	return dead;
}

/* From the top, so that the slots below keep their numbers. */
static void close_slots(const struct ink_compact_shape *s, uint64_t *w, uint64_t slots)
{
	while (slots) {
		unsigned slot = 63 - (unsigned)__builtin_clzll(slots);

		entry_close(s, w, slot, slot_bucket(s, w, slot));
		slots &= ~(1ull << slot);
	}
}

static void age_line(struct ink_table *t, const struct changes *c, uint64_t *w)
{
	const struct ink_compact_shape *s = shape_of(t);
	uint64_t planes[COMPACT_MAX_PLANES], dead;

	for (unsigned j = 0; j < s->planes; j++)
		planes[j] = bits_get(w, s->planes_at + j * s->slots, s->slots);
	dead = age_planes(t, c, planes, low_bits(line_count(s, w)));
	for (unsigned j = 0; j < s->planes; j++)
		bits_put(w, s->planes_at + j * s->slots, s->slots, planes[j]);
	close_slots(s, w, dead);
}

/* The slots whose states a single tick looks at; the planes of the state stand behind that of the mark. */
static uint64_t due_slots(const struct ink_table *t, const uint64_t *w)
{
	const struct ink_compact_shape *s = shape_of(t);
	unsigned n = s->planes - 1, lower = n / 2;
	uint64_t planes[COMPACT_MAX_PLANES], low[1u << COMPACT_MAX_PLANES / 2],
		high[1u << COMPACT_MAX_PLANES / 2], due = 0;

	for (unsigned j = 0; j < n; j++)
		planes[j] = bits_get(w, s->planes_at + (j + 1) * s->slots, s->slots);
	split_by(planes, lower, ~0ull, low);
	split_by(planes + lower, n - lower, ~0ull, high);
	for (unsigned state = 0; state < 1u << n; state++)
		if (ink_looks_at(&t->aging, state))
			due |= low[state & low_bits(lower)] & high[state >> lower];
	return due;
}

/* The time of these entries is over: they move on, or go. */
static void expire_slots(struct ink_table *t, uint64_t *w, uint64_t slots)
{
	const struct ink_compact_shape *s = shape_of(t);
	uint64_t gone = slots;

	for (; slots; slots &= slots - 1) {
		unsigned slot = (unsigned)__builtin_ctzll(slots), code = code_get(s, w, slot);
		unsigned after = t->aging.after[code];

		ink_note_expiry(t, code);
		if (after == (INK_EXPIRES | INK_GONE))
			continue;
		code_put(s, w, slot, after & ~INK_EXPIRES);
		gone &= ~(1ull << slot);
	}
	close_slots(s, w, gone);
}

/* A single tick: marks are taken away in their plane; entries that have none to lose expire. */
static void look_at_line(struct ink_table *t, uint64_t *w)
{
	const struct ink_compact_shape *s = shape_of(t);
	uint64_t marks = bits_get(w, s->planes_at, s->slots), taken = low_bits(line_count(s, w));
	uint64_t due = t->aging.all_due ? ~0ull : due_slots(t, w), over = taken & due & ~marks;

	bits_put(w, s->planes_at, s->slots, marks & ~due);
	if (over)
		expire_slots(t, w, over);
}

static void sweep_line(struct ink_table *t, const struct changes *changes, uint32_t number)
{
	struct compact_line *line = line_at(t, number), copy;
	uint64_t *w = line_open(line, &copy);

	ink_seq_write_begin(t, number);
	if (t->aging.single)
		look_at_line(t, w);
	else
		age_line(t, changes, w);
	if (t->aging.flags_due)
		w[COMPACT_WORDS - 1] &= ~COMPACT_OVERFLOW;
	line_close(line, w);
	ink_seq_write_end(t, number);
}

/* Empty lines are only read: writing each back takes 27 times as long. */
static void sweep_span(struct ink_table *t, const struct changes *changes, const struct ink_span *span)
{
	for (uint64_t i = span->from; i < span->to; i++)
		if (t->aging.flags_due || line_count(shape_of(t), line_at(t, (uint32_t)i)->word))
			sweep_line(t, changes, (uint32_t)i);
}

static void cells_sweep(struct ink_table *t, uint64_t from, uint64_t to)
{
	struct ink_span span = {from, from};
	struct changes changes;

	list_changes(t, &changes);
	while (ink_groups_take(t, &span, to)) {
		sweep_span(t, &changes, &span);
		ink_groups_settle(t, &span);
	}
}

#endif
