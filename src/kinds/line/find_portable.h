/* SPDX-License-Identifier: BSD-2-Clause */
/* Searching lines, portably: implementation 0. */
#ifndef INKLING_KINDS_LINE_FIND_PORTABLE_H
#define INKLING_KINDS_LINE_FIND_PORTABLE_H

#include "engine/variant.h"

#if !INK_AVX2

#include <stddef.h>

#include "kinds/line/slots.h"
#include "table/table.h"

static inline void line_places(const struct ink_line_shape *s, const uint64_t *ids, size_t n,
			       struct line_place *places)
{
	for (size_t i = 0; i < n; i++)
		places[i] = line_place(s, ids[i]);
}

/* The other parts of the entries of a word, if they stood in that part. */
static inline void word_others(const struct ink_line_shape *s, uint32_t part, uint64_t word,
			       uint64_t others[4])
{
	word_others_one_by_one(s, part, word, others);
}

/* The lowest bits of the columns, brought together. */
static inline uint32_t column_slots(uint64_t columns)
{
	return (uint32_t)(columns | columns >> 15 | columns >> 30 | columns >> 45) & 0xf;
}

/* The first of some slots of two parts, or LINE_NO_ROOM. */
static inline uint32_t first_slot(uint64_t slots)
{
	return slots ? (uint32_t)__builtin_ctzll(slots) : LINE_NO_ROOM;
}

/* The slots of so many words with the tag of that fingerprint; of 0: the free ones. */
static inline uint32_t words_slots(const struct ink_line_shape *s, const uint64_t *words, uint32_t n,
				   uint32_t fingerprint)
{
	uint32_t slots = 0;

	for (uint32_t i = 0; i < n; i++)
		slots |= column_slots(ink_line_columns(s, ink_line_read(&words[i]), fingerprint))
			 << 4 * line_word_order[i];
	return slots;
}

/* The same for a whole line; for a part, as if it were the first of two; and for two parts. */
static inline uint32_t line_slots(const struct ink_line_shape *s, const struct ink_line *line,
				  uint32_t fingerprint)
{
	return words_slots(s, line->word, INK_LINE_WORDS, fingerprint);
}

static inline uint32_t part_slots(const struct ink_line_shape *s, const uint64_t *part, uint32_t fingerprint)
{
	return words_slots(s, part, s->words, fingerprint);
}

static inline uint64_t pair_slots(const struct ink_line_shape *s, const uint64_t *first,
				  const uint64_t *second, uint32_t fingerprint)
{
	return part_slots(s, first, fingerprint) | (uint64_t)part_slots(s, second, fingerprint)
							   << second_slots_at(s);
}

/* The free slots of parts of one word, one for each lane, by their numbers: four for each. */
static inline uint32_t words_free(const struct ink_line_shape *s, const uint64_t *all,
				  const uint64_t parts[4])
{
	uint32_t free = 0;

	for (uint32_t lane = 0; lane < 4 && lane < s->lanes; lane++)
		free |= part_slots(s, all + parts[lane], 0) << 4 * lane;
	return free;
}

/* Could the fingerprint be in either part? */
static inline int pair_may_have(const struct ink_line_shape *s, const uint64_t *first, const uint64_t *second,
				uint32_t fingerprint)
{
	return pair_slots(s, first, second, fingerprint) != 0;
}

/* The code of a lane, and the word with that code changed. */
static inline uint32_t word_code(const struct ink_line_shape *s, uint64_t word, uint32_t column)
{
	return ink_line_code(s, word, column);
}

static inline uint64_t word_recode(const struct ink_line_shape *s, uint64_t word, uint32_t column,
				   uint32_t change)
{
	return ink_line_recode(s, word, column, change);
}

/* What is needed to look at line after line. */
struct line_looker {
	const struct ink_line_shape *s;
	const struct ink_line_looks *l;
};

static inline struct line_looker line_looker(const struct ink_line_shape *s, const struct ink_line_looks *l)
{
	return (struct line_looker){s, l};
}

static inline int code_is_dead(const struct ink_line_looks *l, uint32_t code)
{
	return l->alike ? (code & l->ages) == l->last : l->dead[code] & 1;
}

/* The columns of a word whose entries expire. */
static inline uint64_t word_look(const struct line_looker *k, uint64_t word)
{
	uint64_t dead = 0;

	for (uint32_t lane = 0, column = 0; lane < k->s->lanes; lane++, column += k->s->column_bits)
		dead |= (uint64_t)code_is_dead(k->l, ink_line_code(k->s, word, column)) << column;
	return dead & ~ink_line_columns(k->s, word, 0);
}

/* The slots of a line whose entries expire. */
static inline uint32_t line_look(const struct line_looker *k, const struct ink_line *line)
{
	uint32_t slots = 0;

	for (unsigned i = 0; i < INK_LINE_WORDS; i++)
		slots |= column_slots(word_look(k, ink_line_read(&line->word[i]))) << 4 * line_word_order[i];
	return slots;
}

#endif

#endif
