/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Slots: what a search finds in a line, gathered into 32 bits. There are four
 * bits for each word, in them one for each 16 bits, at a column's first; the
 * words stand in the order 0 1 4 5 2 3 6 7, in which vector instructions pack
 * the halves of a line. Portable code keeps to this order too, so tables and
 * snapshots do not depend on the instructions.
 *
 * The slots of a flow's two parts make one word: one test says whether there is
 * any, and one scan finds it. Each hexadecimal digit below is a word of a part,
 * the lowest on the right; those of the second part have a dash.
 *
 *     whole lines   7'6'3'2'5'4'1'0' 7 6 3 2 5 4 1 0     two vectors for each line
 *     halves                         3'2'3 2 1'0'1 0     one vector for each half
 *     quarters                               1'0'1 0     half a vector for each
 *     words                                      0'0     both in half a vector
 */
#ifndef INKLING_KINDS_LINE_SLOTS_H
#define INKLING_KINDS_LINE_SLOTS_H

#include <stdint.h>

#include "kinds/line/line.h"

/*
 * Where a flow may be stored. The parts are given by the numbers of their first words,
 * which saves a search the shift. `room` is the slot for a new entry. No slot has the
 * bit of LINE_NO_ROOM, which means that both parts were full.
 */
enum { LINE_NO_ROOM = 64, LINE_NOT_SEEN = 128 + LINE_NO_ROOM };

struct line_place {
	uint32_t words[2];
	uint32_t fingerprint;
	uint32_t room;
};

static inline struct line_place line_place(const struct ink_line_shape *s, uint64_t id)
{
	struct ink_line_place p = ink_line_place(s, id);

	return (struct line_place){{p.first * s->words, p.second * s->words}, p.fingerprint, LINE_NOT_SEEN};
}

/* The other parts of the entries of a word, if they stand in that part. */
static inline void word_others_one_by_one(const struct ink_line_shape *s, uint32_t part, uint64_t word,
					  uint64_t others[4])
{
#pragma GCC unroll 4
	for (uint32_t lane = 0; lane < s->lanes; lane++) {
		uint32_t entry = ink_line_entry(s, word, lane * s->column_bits);

		others[lane] = ink_line_other(s, part, ink_line_entry_fp(s, entry));
	}
}

/* The word at each position of that order. The order is its own inverse. */
static const uint8_t line_word_order[8] = {0, 1, 4, 5, 2, 3, 6, 7};

/* By slot of two lines, the word of its line. */
#define FOUR_SLOTS(word) word, word, word, word
#define LINE_OF_SLOTS                                                                                        \
	FOUR_SLOTS(0), FOUR_SLOTS(1), FOUR_SLOTS(4), FOUR_SLOTS(5), FOUR_SLOTS(2), FOUR_SLOTS(3),            \
		FOUR_SLOTS(6), FOUR_SLOTS(7)
static const uint8_t line_slot_word[64] = {LINE_OF_SLOTS, LINE_OF_SLOTS};

static inline uint32_t slot_word(uint32_t slot)
{
	return line_slot_word[slot];
}

static inline uint32_t slot_column(uint32_t slot)
{
	return slot % 4 * 16;
}

/* Of a slot of two parts: which of them it is in, and the word of that part. */
static inline uint32_t slot_part(const struct ink_line_shape *s, uint32_t slot)
{
	return s->words == 8 ? slot >> 5 : s->words == 1 ? slot >> 2 : slot >> 3 & 1;
}

static inline uint32_t slot_part_word(const struct ink_line_shape *s, uint32_t slot)
{
	return s->words == 8 ? slot_word(slot) : s->words == 1 ? 0 : slot_word(slot) & (s->words - 1);
}

/* Where the slots of the second part begin; those of the first, shifted by this, are those of the second. */
static inline uint32_t second_slots_at(const struct ink_line_shape *s)
{
	return s->words == 8 ? 32 : s->words == 1 ? 4 : 8;
}

/* The slots of the first part, of two. */
static inline uint64_t first_slots(const struct ink_line_shape *s)
{
	return s->words == 8 ? 0xffffffff : s->words == 4 ? 0x00ff00ff : s->words == 2 ? 0xff : 0xf;
}

/*
 * What a tick looks for in lines: entries that expire. Ages are stored relative to an
 * epoch (table/epoch.h), so a look changes no entry that stays, and most lines are
 * only read.
 *
 * Whether an entry expires follows from its stored code. Most ticks look at all
 * states alike: then one stored age expires, whatever the state. Otherwise a table
 * says which codes expire. An empty lane reads as code 0, which may expire too; its
 * tag, 0, distinguishes it.
 */
enum { INK_LOOKS_CODES = 64 }; /* a vector look-up has four tables of 16 bytes */

struct ink_line_looks {
	int alike;                     /* `last` decides; else `dead` */
	uint32_t ages;                 /* the bits of the age in a code */
	uint32_t last;                 /* the stored age that expires */
	uint32_t codes;                /* 2^code bits, INK_LOOKS_CODES at the most */
	uint8_t dead[INK_LOOKS_CODES]; /* by stored code: all ones if it expires */
};

#endif
