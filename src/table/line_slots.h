/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Slots: what a search finds in a line, gathered into 32 bits. There are four
 * bits for each word, in them one for each 16 bits, at a column's first; the
 * words stand in the order 0 1 4 5 2 3 6 7, in which vector instructions pack
 * the halves of a line. Everybody keeps to it, so that tables and snapshots do
 * not depend on the instructions.
 *
 * The slots of a flow's two lines make one word, those of the first line below:
 * one test says whether there is any, and one scan finds it.
 */
#ifndef INKLING_LINE_SLOTS_H
#define INKLING_LINE_SLOTS_H

#include <stdint.h>

/* The word that stands at that place, and the place of that word. */
static const uint8_t line_word_order[8] = {0, 1, 4, 5, 2, 3, 6, 7};

static inline uint32_t slot_word(uint32_t slot)
{
	return line_word_order[slot >> 2];
}

static inline uint32_t slot_column(uint32_t slot)
{
	return slot % 4 * 16;
}

#endif
