/* SPDX-License-Identifier: BSD-2-Clause */
#include "machine/text.h"

#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* ------------------------------------------------------------- characters */

/* 0 after the end, where no token continues. (The text may contain zeros; no token has one.) */
static int byte_at(const struct ink_text *t, uint32_t at)
{
	return at < t->length ? (unsigned char)t->bytes[at] : 0;
}

static int is_letter(int c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static int is_digit(int c)
{
	return c >= '0' && c <= '9';
}

static int is_word(int c)
{
	return is_letter(c) || is_digit(c);
}

static uint32_t skip_blanks(const struct ink_text *t, uint32_t at)
{
	for (; at < t->length; at++) {
		int c = byte_at(t, at);

		if (c == '#')
			while (at + 1 < t->length && byte_at(t, at + 1) != '\n')
				at++;
		else if (c != ' ' && c != '\t' && c != '\r' && c != '\n')
			break;
	}
	return at;
}

/* ----------------------------------------------------------------- tokens */

static struct ink_token bad(uint32_t at, uint32_t length, const char *wrong)
{
	return (struct ink_token){TOKEN_BAD, at, length, wrong};
}

/* A "-" belongs to a name if a letter or digit follows: "a->b" is three tokens. */
static struct ink_token name_at(const struct ink_text *t, uint32_t at)
{
	uint32_t end = at;

	while (is_word(byte_at(t, end)) || (byte_at(t, end) == '-' && is_word(byte_at(t, end + 1))))
		end++;
	if (end - at > INK_NAME_MAX)
		return bad(at, end - at, "a name of more than 63 characters");
	return (struct ink_token){TOKEN_NAME, at, end - at, NULL};
}

/* "10", "0x1f", "1.5s", "25%", "1/4": ink_parse_number, _share and _time give it its value. */
static struct ink_token number_at(const struct ink_text *t, uint32_t at)
{
	uint32_t end = at;

	while (is_word(byte_at(t, end)) || (byte_at(t, end) == '.' && is_digit(byte_at(t, end + 1))))
		end++;
	if (byte_at(t, end) == '%')
		end++;
	else if (byte_at(t, end) == '/' && is_digit(byte_at(t, end + 1)))
		for (end++; is_digit(byte_at(t, end));)
			end++;
	return (struct ink_token){TOKEN_NUMBER, at, end - at, NULL};
}

static struct ink_token string_at(const struct ink_text *t, uint32_t at)
{
	uint32_t end = at + 1;

	while (end < t->length && byte_at(t, end) != '"' && byte_at(t, end) != '\n')
		end += byte_at(t, end) == '\\' && byte_at(t, end + 1) != '\n' ? 2 : 1;
	end = end < t->length ? end : t->length; /* a backslash may be the last byte */
	if (byte_at(t, end) != '"')
		return bad(at, end - at, "a string must end on its line");
	return (struct ink_token){TOKEN_STRING, at, end + 1 - at, NULL};
}

static struct ink_token sign_at(const struct ink_text *t, uint32_t at)
{
	static const char two[][3] = {"->", "!=", "<=", ">="};
	int c = byte_at(t, at);

	for (unsigned i = 0; i < sizeof two / sizeof two[0]; i++)
		if (c == two[i][0] && byte_at(t, at + 1) == two[i][1])
			return (struct ink_token){TOKEN_SIGN, at, 2, NULL};
	if (c && strchr(":|,/*(){}=<>-", c))
		return (struct ink_token){TOKEN_SIGN, at, 1, NULL};
	if (c < ' ' || c == 127)
		return bad(at, 1, "a control character");
	return bad(at, 1, c > 127 ? "a character that is not ASCII" : "unexpected character");
}

struct ink_token ink_token_at(const struct ink_text *t, uint32_t from)
{
	uint32_t at = skip_blanks(t, from);
	int c = byte_at(t, at);

	if (at >= t->length)
		return (struct ink_token){TOKEN_END, t->length, 0, NULL};
	if (is_letter(c))
		return name_at(t, at);
	if (is_digit(c))
		return number_at(t, at);
	if (c == '"')
		return string_at(t, at);
	return sign_at(t, at);
}

struct ink_token ink_token_address(const struct ink_text *t, uint32_t from)
{
	uint32_t end = from;

	while (byte_at(t, end) == ':' || byte_at(t, end) == '.' || isxdigit(byte_at(t, end)))
		end++;
	return (struct ink_token){end > from ? TOKEN_NUMBER : TOKEN_END, from, end - from, NULL};
}

int ink_token_is(const struct ink_text *t, const struct ink_token *token, const char *word)
{
	return (token->kind == TOKEN_NAME || token->kind == TOKEN_SIGN) && strlen(word) == token->length &&
	       !memcmp(t->bytes + token->at, word, token->length);
}

int ink_token_first(const struct ink_text *t, const struct ink_token *token)
{
	uint32_t at = token->at;

	while (at > 0 && (t->bytes[at - 1] == ' ' || t->bytes[at - 1] == '\t'))
		at--;
	return at == 0 || t->bytes[at - 1] == '\n';
}

/* ------------------------------------------------------------- complaints */

/* Finds the line of a place, from the one before if that is nearer: places are mostly visited in order. */
static void find_line(struct ink_text *t, uint32_t at)
{
	const char *end;

	if (at < t->line_start)
		t->line_start = t->line_searched = t->line = 0;
	while (at > t->line_searched &&
	       (end = memchr(t->bytes + t->line_searched, '\n', at - t->line_searched)) != NULL) {
		t->line_start = t->line_searched = (uint32_t)(end + 1 - t->bytes);
		t->line++;
	}
	if (at > t->line_searched)
		t->line_searched = at;
}

unsigned ink_text_line(struct ink_text *t, uint32_t at)
{
	find_line(t, at);
	return t->line + 1;
}

unsigned ink_text_column(struct ink_text *t, uint32_t at)
{
	find_line(t, at);
	return at - t->line_start + 1;
}

static uint32_t line_end(const struct ink_text *t, uint32_t at)
{
	while (at < t->length && t->bytes[at] != '\n')
		at++;
	while (at > 0 && t->bytes[at - 1] == '\r')
		at--;
	return at;
}

static void report(struct ink_text *t, enum ink_severity severity, uint32_t at, const char *words)
{
	unsigned line = ink_text_line(t, at);
	uint32_t start = t->line_start, end = line_end(t, at);
	struct ink_complaint c = {.severity = severity,
				  .file = t->file,
				  .line = line,
				  .column = at - start + 1,
				  .text = words,
				  .source = t->bytes + start,
				  .source_length = end > start ? end - start : 0};

	if (t->reported++ < INK_COMPLAINTS_MAX && t->options->complain)
		t->options->complain(&c, t->options->user);
}

static void report_error(struct ink_text *t, uint32_t at, const char *format, va_list args)
{
	char words[300];

	if (t->stopped)
		return;
	vsnprintf(words, sizeof words, format, args);
	report(t, INK_ERROR, at, words);
	if (++t->errors == INK_COMPLAINTS_MAX)
		t->stopped = -EINVAL;
}

void ink_text_error(struct ink_text *t, uint32_t at, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	report_error(t, at, format, args);
	va_end(args);
}

void ink_text_limit(struct ink_text *t, uint32_t at, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	report_error(t, at, format, args);
	va_end(args);
	if (!t->stopped)
		t->stopped = -EINVAL;
}

void ink_text_warning(struct ink_text *t, uint32_t at, const char *format, ...)
{
	char words[300];
	va_list args;

	t->warnings++;
	if (t->reported >= INK_COMPLAINTS_MAX)
		return;
	va_start(args, format);
	vsnprintf(words, sizeof words, format, args);
	va_end(args);
	report(t, t->options->strict ? INK_ERROR : INK_WARNING, at, words);
}

/* ------------------------------------------------------------------- work */

static int is_cancelled(const struct ink_text *t, uint32_t steps)
{
	return t->steps / INK_STEPS_POLL != (t->steps + steps) / INK_STEPS_POLL && t->options->cancelled &&
	       t->options->cancelled(t->options->user);
}

int ink_text_work(struct ink_text *t, uint32_t at, uint32_t steps)
{
	t->at = at;
	if (!t->stopped && is_cancelled(t, steps))
		t->stopped = -ECANCELED;
	if (!t->stopped && steps > INK_STEPS_MAX - t->steps)
		ink_text_limit(t, at, "the machine is too large: compiling it takes more than %d steps",
			       INK_STEPS_MAX);
	if (!t->stopped)
		t->steps += steps;
	return t->stopped;
}

/* ---------------------------------------------------------------- showing */

/* The line and the caret; what is not printable stands as "?", and a tab stays one, or the caret would stand wrong. */
static size_t show_source(const struct ink_complaint *c, char *text, size_t room)
{
	size_t from = c->column > 160 ? c->column - 80 : 0, n = 0;
	size_t length = c->source_length > from ? c->source_length - from : 0;
	size_t before = c->column - 1 - from;

	for (size_t i = 0; i < length && i < 200 && n + 1 < room; i++) {
		unsigned char b = (unsigned char)c->source[from + i];

		text[n++] = (char)(b == '\t' || (b >= ' ' && b < 127) ? b : '?');
	}
	if (n + 1 < room)
		text[n++] = '\n';
	for (size_t i = 0; i < before && n + 1 < room; i++)
		text[n++] = i < length && c->source[from + i] == '\t' ? '\t' : ' ';
	if (n + 1 < room)
		text[n++] = '^';
	return n;
}

void ink_complaint_show(const struct ink_complaint *c, char *text, size_t size)
{
	int n;

	if (!size)
		return;
	n = snprintf(text, size, "%s:%u:%u: %s: %s\n", c->file, c->line, c->column,
		     c->severity == INK_ERROR ? "error" : "warning", c->text);
	if (n > 0 && (size_t)n < size)
		text[(size_t)n + show_source(c, text + n, size - (size_t)n)] = 0;
}
