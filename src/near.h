/* SPDX-License-Identifier: BSD-2-Clause */
/* Names that are near: what a misspelt word may have been meant to be, for the machine language and the command line. */
#ifndef INKLING_NEAR_H
#define INKLING_NEAR_H

#include <stddef.h>

enum { INK_NEAR_MOST = 63 }; /* characters; nothing is near a longer word */

/* Finds, of the words it is offered, the one that a misspelt word may have been meant to be. */
struct ink_near {
	const char *word;
	size_t length;
	const char *best;
	unsigned distance;
};

struct ink_near ink_near(const char *word, size_t length);
void ink_near_offer(struct ink_near *near, const char *candidate);

/* "; did you mean 'x'?", or "" if nothing is near. */
const char *ink_near_hint(const struct ink_near *near, char hint[96]);

#endif
