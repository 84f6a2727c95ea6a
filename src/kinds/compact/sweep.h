/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The time of `compact`: what a tick does to a line. It takes the codes of a line as bit
 * planes, plane j with bit j of every slot's code, and so ages all entries at once.
 */
#ifndef INKLING_KINDS_COMPACT_SWEEP_H
#define INKLING_KINDS_COMPACT_SWEEP_H

#include <string.h>

#include "kinds/compact/cells.h"

static uint64_t cells_units(const struct ink_table *t)
{
	return lines_of(t);
}

static uint32_t cells_in_unit(const struct ink_table *t)
{
	return shape_of(t)->slots;
}

/* ---------------------------------------------------------------------- planes */

/* A bit of an entry as one of a row's numbers: 0 if it is below them, their width if it is above. */
static inline unsigned bit_in_row(struct row row, unsigned bit)
{
	unsigned in_row = bit > row.first ? bit - row.first : 0;

	return in_row < row.width ? in_row : row.width;
}

/* Those of the planes that a row holds, as bits of its numbers; none: from = to. */
static inline struct plane_range range_in_row(const struct ink_compact_shape *s, struct row row,
					      struct plane_range range)
{
	return (struct plane_range){bit_in_row(row, s->remainder_bits + range.from),
				    bit_in_row(row, s->remainder_bits + range.to)};
}

/* The plane of bit j of a row's numbers. */
static inline unsigned plane_of(const struct ink_compact_shape *s, struct row row, unsigned j)
{
	return row.first + j - s->remainder_bits;
}

/* The bits of eight numbers of a row, or of those that are left, from a slot on. */
static inline unsigned eight_bits(const struct ink_compact_shape *s, struct row row, unsigned slot)
{
	unsigned left = s->slots - slot;

	return (left < 8 ? left : 8) * row.width;
}

static inline void row_planes_get(const struct ink_compact_shape *s, const uint64_t *w, struct row row,
				  struct plane_range bits, uint64_t *planes)
{
	for (unsigned slot = 0; slot < s->slots && bits.from < bits.to; slot += 8) {
		uint64_t eight = bits_get(w, row.at + slot * row.width, eight_bits(s, row, slot));

		for (unsigned j = bits.from; j < bits.to; j++)
			planes[plane_of(s, row, j)] |= (uint64_t)bits_gather(eight >> j, row.width) << slot;
	}
}

/* Numbers keep their other bits. */
static inline void row_planes_put(const struct ink_compact_shape *s, uint64_t *w, struct row row,
				  struct plane_range bits, const uint64_t *planes)
{
	for (unsigned slot = 0; slot < s->slots && bits.from < bits.to; slot += 8) {
		unsigned at = row.at + slot * row.width, n = eight_bits(s, row, slot);
		uint64_t eight = bits_get(w, at, n);

		for (unsigned j = bits.from; j < bits.to; j++) {
			eight &= ~(stride_bits[row.width] << j);
			eight |= bits_scatter(planes[plane_of(s, row, j)] >> slot & 255, row.width) << j;
		}
		bits_put(w, at, n, eight & low_bits(n));
	}
}

static void planes_get(const struct ink_compact_shape *s, const uint64_t *w, struct plane_range range,
		       uint64_t *planes)
{
	memset(planes + range.from, 0, (range.to - range.from) * sizeof *planes);
	for (unsigned k = 0; k < compact_rows(s); k++) {
		struct row row = compact_row(s, k);

		row_planes_get(s, w, row, range_in_row(s, row, range), planes);
	}
}

static void planes_put(const struct ink_compact_shape *s, uint64_t *w, struct plane_range range,
		       const uint64_t *planes)
{
	for (unsigned k = 0; k < compact_rows(s); k++) {
		struct row row = compact_row(s, k);

		row_planes_put(s, w, row, range_in_row(s, row, range), planes);
	}
}

/* ---------------------------------------------------------------------- changes */

/* What a tick does to the entries with one code. */
struct change {
	uint16_t code;
	uint16_t flips; /* the planes in which the code after differs */
	uint8_t expires, gone;
};

struct changes {
	unsigned n;
	struct change at[INK_CODES];
	uint64_t marks[COMPACT_WORDS]; /* of a line: the lowest bit of every slot's code */
};

static void list_marks(const struct ink_compact_shape *s, uint64_t *marks)
{
	memset(marks, 0, sizeof(struct compact_line));
	for (unsigned slot = 0; slot < s->slots; slot++)
		any_packed_put(s, marks, slot, entry_pack(s, 0, 1));
}

static void list_changes(const struct ink_table *t, struct changes *c)
{
	c->n = 0;
	list_marks(shape_of(t), c->marks);
	for (unsigned code = 0; code < 1u << shape_of(t)->code_bits; code++) {
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
	unsigned all = shape_of(t)->code_bits, lower = all / 2;
	uint64_t low[1u << COMPACT_MAX_CODE / 2], high[1u << COMPACT_MAX_CODE / 2], dead = 0;

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
	struct plane_range all = {0, s->code_bits};
	uint64_t planes[COMPACT_MAX_CODE], dead;

	planes_get(s, w, all, planes);
	dead = age_planes(t, c, planes, low_bits(line_count(s, w)));
	planes_put(s, w, all, planes);
	close_slots(s, w, dead);
}

/* The slots whose states a single tick looks at; the planes of the state stand behind that of the mark. */
static uint64_t due_slots(const struct ink_table *t, const uint64_t *w)
{
	const struct ink_compact_shape *s = shape_of(t);
	unsigned n = s->code_bits - 1, lower = n / 2;
	uint64_t planes[COMPACT_MAX_CODE], low[1u << COMPACT_MAX_CODE / 2], high[1u << COMPACT_MAX_CODE / 2],
		due = 0;

	planes_get(s, w, (struct plane_range){1, s->code_bits}, planes);
	split_by(planes + 1, lower, ~0ull, low);
	split_by(planes + 1 + lower, n - lower, ~0ull, high);
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
static void look_at_due(struct ink_table *t, uint64_t *w)
{
	const struct ink_compact_shape *s = shape_of(t);
	struct plane_range mark = {0, 1};
	uint64_t due = due_slots(t, w), marks, left, over;

	planes_get(s, w, mark, &marks);
	over = low_bits(line_count(s, w)) & due & ~marks;
	left = marks & ~due;
	planes_put(s, w, mark, &left);
	if (over)
		expire_slots(t, w, over);
}

/* The same if every state is looked at: marks go all at once, and are counted to see whether one is missing. */
static void look_at_all(struct ink_table *t, const struct changes *c, uint64_t *w)
{
	const struct ink_compact_shape *s = shape_of(t);
	unsigned entries = line_count(s, w), marked = 0;
	uint64_t marks = low_bits(entries);

	for (unsigned i = 0; i < COMPACT_WORDS; i++)
		marked += (unsigned)__builtin_popcountll(w[i] & c->marks[i]);
	if (marked < entries)
		planes_get(s, w, (struct plane_range){0, 1}, &marks);
	for (unsigned i = 0; i < COMPACT_WORDS; i++)
		w[i] &= ~c->marks[i];
	if (marked < entries)
		expire_slots(t, w, low_bits(entries) & ~marks);
}

static void sweep_line(struct ink_table *t, const struct changes *changes, uint32_t number)
{
	struct compact_line *line = line_at(t, number), copy;
	uint64_t *w = line_open(line, &copy);

	ink_seq_write_begin(t, number);
	if (t->aging.single && t->aging.all_due)
		look_at_all(t, changes, w);
	else if (t->aging.single)
		look_at_due(t, w);
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
