/* SPDX-License-Identifier: BSD-2-Clause */
/* Names that are near: what a misspelt word may have been meant to be, for the machine language and the command line. */
#ifndef INKLING_BASE_SUGGEST_H
#define INKLING_BASE_SUGGEST_H

#include <stddef.h>

enum { INK_SUGGEST_MAX = 63 }; /* characters; nothing is near a longer word */

/* Finds, of the words it is offered, the one that a misspelt word may have been meant to be. */
struct ink_suggest {
	const char *word;
	size_t length;
	const char *best;
	unsigned distance;
};

struct ink_suggest ink_suggest(const char *word, size_t length);
void ink_suggest_offer(struct ink_suggest *near, const char *candidate);

/* "; did you mean 'x'?", or "" if nothing is near. */
const char *ink_suggest_hint(const struct ink_suggest *near, char hint[96]);

#endif
