/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a tick looks for in lines: entries that expire. Marks are turned (see
 * turn.h), so the look itself changes nothing, and most lines are only read.
 *
 * Whether an entry expires follows from its stored code. The usual tick looks
 * at all states alike, and then one stored age expires, in whichever state.
 * Otherwise it is a table of codes that says so. Empty lanes look like code 0,
 * which may be one that expires; they have to be told apart by their tags.
 */
#ifndef INKLING_KINDS_LINE_MARKS_H
#define INKLING_KINDS_LINE_MARKS_H

#include "kinds/line/line.h"

enum { INK_LOOKS_CODES = 64 }; /* so many can be looked up at once: four tables of 16 bytes */

struct ink_line_looks {
	int alike;                     /* only `last` is to be asked, else only `dead` */
	uint32_t ages;                 /* the bits of the age in a code */
	uint32_t last;                 /* the stored age that expires */
	uint32_t codes;                /* 2^code bits, INK_LOOKS_CODES at the most */
	uint8_t dead[INK_LOOKS_CODES]; /* by stored code: all ones if it expires */
};

#endif
