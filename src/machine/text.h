/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A text as a row of tokens, and complaints about places in it.
 *
 * A place is an offset into the text; line and column are worked out only when
 * somebody complains. A token that is none (a string without end, a character
 * that begins nothing) is BAD, and says why when the parser stumbles over it.
 */
#ifndef INKLING_MACHINE_TEXT_H
#define INKLING_MACHINE_TEXT_H

#include <inkling/machine.h>

#include <stdint.h>

#include "base/suggest.h"

enum {
	INK_TEXT_MOST = 1 << 20, /* bytes; a machine takes a page */
	INK_NAME_MOST = 63,
	INK_COMPLAINTS_MOST = 20
};

enum ink_token_kind {
	TOKEN_END,
	TOKEN_NAME,
	TOKEN_NUMBER, /* begins with a digit: numbers, times, shares */
	TOKEN_STRING, /* with its quotes */
	TOKEN_SIGN,   /* one or two characters */
	TOKEN_BAD
};

struct ink_token {
	enum ink_token_kind kind;
	uint32_t at, length;
	const char *wrong; /* TOKEN_BAD */
};

struct ink_text {
	const char *bytes;
	uint32_t length;
	const struct ink_machine_options *options;
	const char *file;
	unsigned errors, warnings, told;
};

/* The token that begins at `from` or behind the white space and comments there. */
struct ink_token ink_token_at(const struct ink_text *text, uint32_t from);

/* The characters of an address that begin exactly at `from`, as a NUMBER; END if there are none. */
struct ink_token ink_token_address(const struct ink_text *text, uint32_t from);

/* Is the token this sign or this word? */
int ink_token_is(const struct ink_text *text, const struct ink_token *token, const char *word);

/* Is it the first of its line? */
int ink_token_first(const struct ink_text *text, const struct ink_token *token);

/* From 1. */
unsigned ink_text_line(const struct ink_text *text, uint32_t at);
unsigned ink_text_column(const struct ink_text *text, uint32_t at);

__attribute__((format(printf, 3, 4))) void ink_text_error(struct ink_text *text, uint32_t at,
							  const char *format, ...);
__attribute__((format(printf, 3, 4))) void ink_text_warning(struct ink_text *text, uint32_t at,
							    const char *format, ...);

#endif
