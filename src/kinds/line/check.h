/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Walks over all lines of `line`: the census, and the check. Part of cells.h.
 *
 * The check trusts no bit. Of every word it knows what each bit is for: an entry
 * whose tag is not 0 and whose state the table has, an empty lane of zeros, a
 * flag, or a spare bit, which is 0. And it finds entries that cannot
 * be told apart (engine/twins.h): with one of them each search would be right,
 * with two of them none.
 */
#ifndef INKLING_KINDS_LINE_CHECK_H
#define INKLING_KINDS_LINE_CHECK_H

#include "kinds/line/cells.h"

#include "engine/twins.h"

static void cells_count(const struct ink_table *t, struct ink_counts *counts)
{
	const struct ink_line_shape *s = shape_of(t);

	for (uint64_t i = 0; i < (uint64_t)s->lines * INK_LINE_WORDS; i++) {
		uint64_t word = ink_line_read((const uint64_t *)t->body + i);

		for (uint32_t lane = 0; lane < s->lanes; lane++) {
			uint32_t entry = ink_line_entry(s, word, lane * s->column_bits);

			if (entry)
				ink_counts_add(t, counts, ink_line_entry_code(s, entry));
		}
	}
}

/* How often these slots of a part hold this fingerprint, all of its bits. */
static unsigned count_fingerprint(const struct ink_table *t, uint64_t *part, uint32_t fingerprint,
				  uint32_t slots)
{
	const struct ink_line_shape *s = shape_of(t);
	unsigned count = 0;

	for (; slots; slots &= slots - 1) {
		struct ink_line_spot at = part_spot(t, part, (unsigned)__builtin_ctz(slots));
		uint32_t entry = ink_line_entry(s, at.seen, at.column);

		count += ink_line_entry_fp(s, entry) == fingerprint;
	}
	return count;
}

/* The search compares tags; only where these agree are whole fingerprints read. */
INK_HOT unsigned place_matches(const struct ink_table *t, const struct place *p, unsigned which)
{
	const struct ink_line_shape *s = shape_of(t);
	uint64_t *part = place_part(t, p, which);
	uint32_t slots = part_slots(s, part, p->at.fingerprint);

	if (s->fp_bits == s->tag_bits)
		return (unsigned)__builtin_popcount(slots);
	return count_fingerprint(t, part, p->at.fingerprint, slots);
}

INK_HOT int place_ascends(const struct place *p)
{
	return p->at.words[1] > p->at.words[0];
}

INK_HOT int place_has_second(const struct ink_table *t, const struct place *p)
{
	return place_matches(t, p, 1) != 0;
}

INK_HOT const char *check_entry(const struct ink_table *t, uint32_t entry)
{
	const struct ink_line_shape *s = shape_of(t);
	unsigned state = ink_code_state(coding_of(t), ink_line_entry_code(s, entry));

	if (!(entry & s->tag_mask))
		return "an entry without fingerprint is not empty";
	if (state >= t->states && state != coding_of(t)->unsure)
		return "an entry has a state that the table has not";
	return NULL;
}

/* The bits of a word that no lane has. */
INK_HOT uint64_t spare_bits(const struct ink_table *t, unsigned i)
{
	uint64_t spare = i < INK_LINE_OVERFLOW + overflow_flags(t) ? ~INK_LINE_FLAG : ~0ull;

#pragma GCC unroll 4
	for (uint32_t lane = 0; lane < shape_of(t)->lanes; lane++)
		spare &= ~lane_bits(t, lane * shape_of(t)->column_bits);
	return spare;
}

INK_HOT const char *check_word(const struct ink_table *t, uint32_t line, unsigned i, struct twins *twins)
{
	const struct ink_line_shape *s = shape_of(t);
	uint64_t word = line_at(t, line)->word[i], others[4];
	uint32_t part = (line * INK_LINE_WORDS + i) / s->words;
	const char *wrong = NULL;

	word_others(s, part, word, others);
#pragma GCC unroll 4
	for (uint32_t lane = 0; lane < s->lanes; lane++) {
		uint32_t entry = ink_line_entry(s, word, lane * s->column_bits);
		struct place p = {{{part * s->words, (uint32_t)others[lane] * s->words},
				   ink_line_entry_fp(s, entry),
				   LINE_NOT_SEEN}};

		if (!entry)
			continue;
		wrong = check_entry(t, entry);
		if (wrong)
			return wrong;
		twins->found |= place_matches(t, &p, 0) > 1;
		twins_look_for(t, twins, &p);
	}
	return word & spare_bits(t, i) ? "a spare bit is set" : NULL;
}

static const char *cells_check(const struct ink_table *t)
{
	struct twins twins = {.seen = 0};
	const char *wrong = NULL;

	for (uint32_t line = 0; line < shape_of(t)->lines && !wrong; line++)
		for (unsigned i = 0; i < INK_LINE_WORDS && !wrong; i++)
			wrong = check_word(t, line, i, &twins);
	return !wrong && twins_found(t, &twins) ? "two entries cannot be told apart" : wrong;
}

/* Any bits are entries: nothing in a line is an index or a length. */
static const char *cells_check_bounds(const struct ink_table *t)
{
	(void)t;
	return NULL;
}

#endif
