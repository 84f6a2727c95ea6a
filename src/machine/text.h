/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A text as a row of tokens, complaints about places in it, and the work that
 * it may cause.
 *
 * A place is an offset into the text; line and column are computed only for a
 * complaint. An invalid token (an unterminated string, an unexpected character)
 * is BAD, and its reason is reported when the parser reaches it.
 *
 * Work: a loop whose length the text decides, rather than a limit, pays for its
 * steps. When they are used up, the compiler complains and stops: so compiling
 * takes at most a second or two for any text. An ordinary machine takes some
 * thousand steps, one of 1 MiB with 4,096 events and 255 states two million.
 */
#ifndef INKLING_MACHINE_TEXT_H
#define INKLING_MACHINE_TEXT_H

#include <inkling/machine.h>

#include <stdint.h>

#include "base/suggest.h"

enum {
	INK_TEXT_MAX = 1 << 20, /* bytes; a machine takes a page */
	INK_NAME_MAX = 63,
	INK_COMPLAINTS_MAX = 20,
	INK_STEPS_MAX = 1 << 25, /* of work; the slowest, rows of many states, take 20 ns each */
	INK_STEPS_POLL = 1 << 14 /* steps between two calls of options.cancelled */
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
	const struct ink_machine_options *options; /* never NULL */
	const char *file;
	unsigned errors, warnings, reported;
	uint32_t line_start;    /* the line of the latest complaint or place: where it begins */
	uint32_t line_searched; /* ... up to where it is known not to end */
	unsigned line;          /* ... and its number, from 0 */
	uint32_t at;            /* the place of the latest work */
	uint32_t steps;
	int stopped; /* 0, or -errno: nothing more is compiled or reported */
};

/*
 * Pays for work about a place. 0, or the reason to stop: -EINVAL (all steps are used up, which is reported as
 * an error at this place, or there were too many errors), -ECANCELED.
 */
int ink_text_work(struct ink_text *text, uint32_t at, uint32_t steps);

/* The token that begins at `from` or after the white space and comments there. */
struct ink_token ink_token_at(const struct ink_text *text, uint32_t from);

/* The characters of an address that begin exactly at `from`, as a NUMBER; END if there are none. */
struct ink_token ink_token_address(const struct ink_text *text, uint32_t from);

/* Is the token this sign or this word? */
int ink_token_is(const struct ink_text *text, const struct ink_token *token, const char *word);

/* Is it the first of its line? */
int ink_token_first(const struct ink_text *text, const struct ink_token *token);

/* From 1. */
unsigned ink_text_line(struct ink_text *text, uint32_t at);
unsigned ink_text_column(struct ink_text *text, uint32_t at);

/* The first INK_COMPLAINTS_MAX are reported. So many errors stop the compiler. */
__attribute__((format(printf, 3, 4))) void ink_text_error(struct ink_text *text, uint32_t at,
							  const char *format, ...);
/* An error that stops the compiler: too many of something, which would else be reported of each that follows. */
__attribute__((format(printf, 3, 4))) void ink_text_limit(struct ink_text *text, uint32_t at,
							  const char *format, ...);
__attribute__((format(printf, 3, 4))) void ink_text_warning(struct ink_text *text, uint32_t at,
							    const char *format, ...);

#endif
