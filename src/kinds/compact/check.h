/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The whole table of kind `compact`: the census, the check and the shape.
 *
 * The check trusts no bit. Searching a line is safe only if its metadata make
 * sense, and an entry is searched for in two lines; so the metadata of all lines
 * are checked before any line is searched.
 */
#ifndef INKLING_KINDS_COMPACT_CHECK_H
#define INKLING_KINDS_COMPACT_CHECK_H

#include "kinds/compact/cells.h"

#include "engine/twins.h"

/* The count of a line that may be changing: never more than there are slots. */
static unsigned torn_count(const struct ink_compact_shape *s, const uint64_t *w)
{
	unsigned count = line_count(s, w);

	return count < s->slots ? count : s->slots;
}

static void cells_count(const struct ink_table *t, struct ink_counts *counts)
{
	const struct ink_compact_shape *s = shape_of(t);

	for (uint32_t line = 0; line < lines_of(t); line++) {
		struct ink_counts before = *counts;
		struct compact_line copy;
		uint64_t seq;

		do {
			seq = ink_seq_read(t, line, line);
			*counts = before;
			line_copy(line_at(t, line), &copy);
			for (unsigned slot = torn_count(s, copy.word); slot-- > 0;)
				ink_counts_add(t, counts, code_get(s, copy.word, slot));
		} while (!ink_seq_unchanged(t, line, line, seq));
	}
}

/* ------------------------------------------------------------------- metadata */

/* Buckets ascend along the line, so the last entry has the highest. */
static uint32_t last_bucket(const struct ink_compact_shape *s, const uint64_t *w, unsigned count)
{
	uint64_t low = w[COMPACT_META_WORD] & s->meta[0], high = w[COMPACT_META_WORD + 1] & s->meta[1];
	unsigned last = high ? 127 - (unsigned)__builtin_clzll(high) : 63 - (unsigned)__builtin_clzll(low);

	return last - s->meta_start - (count - 1);
}

static const char *check_metadata(const struct ink_compact_shape *s, const uint64_t *w)
{
	unsigned count = line_count(s, w);

	if (count > s->slots)
		return "a line counts more entries than it has slots";
	if (count && last_bucket(s, w, count) >= s->buckets)
		return "an entry stands behind the last bucket of its line";
	return NULL;
}

/* -------------------------------------------------------------------- entries */

/* Is any of the bits from .. to-1 set? */
static int is_any_set(const uint64_t *w, unsigned from, unsigned to)
{
	uint64_t set = 0;

	for (; from / 64 < to / 64; from = (from / 64 + 1) * 64)
		set |= w[from / 64] >> from % 64;
	return (set | (from < to ? bits_get(w, from, to - from) : 0)) != 0;
}

/* Free slots and the gap before the metadata are 0. */
static int line_is_clean(const struct ink_compact_shape *s, const uint64_t *w, unsigned count)
{
	int junk = is_any_set(w, s->fields_at + s->slots * s->field_bits, s->meta_at);

	for (unsigned k = 0; k < compact_rows(s); k++) {
		struct row row = compact_row(s, k);

		junk |= is_any_set(w, row.at + count * row.width, row.at + s->slots * row.width);
	}
	return !junk;
}

INK_HOT int place_ascends(const struct place *p)
{
	return second_line(p) > first_line(p);
}

INK_HOT int place_has_second(const struct ink_table *t, const struct place *p)
{
	const struct ink_compact_shape *s = shape_of(t);
	const uint64_t *w = place_line(t, p, 1)->word;
	uint64_t candidates = line_candidates(s, w, p);
	unsigned code;

	while (candidates && !slot_holds(s, w, (unsigned)__builtin_ctzll(candidates), p, &code))
		candidates &= candidates - 1;
	return candidates != 0;
}

/* Has one of the entries before it, the last `n` in its bucket, the same remainder? */
INK_HOT int is_repeated(const struct ink_compact_shape *s, const uint64_t *w, const struct victim *e,
			unsigned n)
{
	unsigned slot = e->slot;

	while (n-- > 0)
		if (packed_remainder(s, packed_get(s, w, --slot)) == e->entry.remainder)
			return 1;
	return 0;
}

static const char *check_line(const struct ink_table *t, uint32_t line, struct twins *twins)
{
	const struct ink_compact_shape *s = shape_of(t);
	const uint64_t *w = line_at(t, line)->word;
	uint32_t bucket = s->buckets;
	unsigned before = 0; /* entries of the same bucket */
	struct victim e;
	struct walk k;

	if (!line_is_clean(s, w, line_count(s, w)))
		return "a free slot of a line is not empty";
	for (walk_begin(t, line, &k); walk_next(s, &k, &e); bucket = e.entry.bucket) {
		unsigned state = ink_code_state(coding_of(t), code_get(s, w, e.slot));
		struct place p = {
			{line * COMPACT_WORDS, e.other * COMPACT_WORDS}, e.entry.bucket, e.entry.remainder};

		if (state >= t->states && state != coding_of(t)->unsure)
			return "an entry has a state that the table has not";
		before = e.entry.bucket == bucket ? before + 1 : 0;
		twins->found |= is_repeated(s, w, &e, before);
		twins_look_for(t, twins, &p);
	}
	return NULL;
}

/* Counts and buckets say where entries are. */
static const char *cells_check_bounds(const struct ink_table *t)
{
	const char *wrong = NULL;

	for (uint32_t line = 0; line < lines_of(t) && !wrong; line++)
		wrong = check_metadata(shape_of(t), line_at(t, line)->word);
	return wrong;
}

static const char *cells_check(const struct ink_table *t)
{
	struct twins twins = {.seen = 0};
	const char *wrong = cells_check_bounds(t);

	for (uint32_t line = 0; line < lines_of(t) && !wrong; line++)
		wrong = check_line(t, line, &twins);
	return !wrong && twins_found(t, &twins) ? "two entries cannot be told apart" : wrong;
}

/* ------------------------------------------------------------------ the shape */

static void cells_shape(struct ink_table *t)
{
	*ink_compact_shape_of(t) =
		compact_shape(&t->plan.geometry, t->coding.state_bits + coding_of(t)->age_bits);
}

#endif
