/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/suggest.h"

#include <stdio.h>
#include <string.h>

struct ink_suggest ink_suggest(const char *word, size_t length)
{
	return (struct ink_suggest){.word = word, .length = length, .distance = (unsigned)length / 3 + 1};
}

static unsigned least(unsigned a, unsigned b)
{
	return a < b ? a : b;
}

static char lower(char c)
{
	return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

/*
 * The edit distance of two words, regardless of case: how many letters must be
 * inserted, deleted, replaced or swapped with their neighbour. Three rows of the
 * usual table.
 */
static unsigned distance(const char *a, size_t n, const char *b, size_t m)
{
	unsigned rows[3][INK_SUGGEST_MAX + 2], *older = rows[0], *old = rows[1], *new = rows[2], *spare;

	for (unsigned j = 0; j <= m; j++)
		old[j] = j;
	for (unsigned i = 1; i <= n; i++) {
		new[0] = i;
		for (unsigned j = 1; j <= m; j++) {
			new[j] = least(least(old[j], new[j - 1]) + 1,
				       old[j - 1] + (lower(a[i - 1]) != lower(b[j - 1])));
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
				new[j] = least(new[j], older[j - 2] + 1);
		}
		spare = older;
		older = old;
		old = new;
		new = spare;
	}
	return old[m];
}

void ink_suggest_offer(struct ink_suggest *near, const char *candidate)
{
	size_t m = strlen(candidate);
	unsigned far;

	if (m > INK_SUGGEST_MAX || near->length > INK_SUGGEST_MAX)
		return;
	far = distance(near->word, near->length, candidate, m);
	if (far < near->distance || (far == near->distance && !near->best)) {
		near->distance = far;
		near->best = candidate;
	}
}

const char *ink_suggest_hint(const struct ink_suggest *near, char hint[96])
{
	hint[0] = 0;
	if (near->best)
		snprintf(hint, 96, "; did you mean '%s'?", near->best);
	return hint;
}
