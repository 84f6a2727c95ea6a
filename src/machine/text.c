/* SPDX-License-Identifier: BSD-2-Clause */
#include "machine/text.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* ------------------------------------------------------------- characters */

/* 0 behind the end: no token goes on there. (The text may hold zeros; they begin no token either.) */
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
	if (end - at > INK_NAME_MOST)
		return bad(at, end - at, "a name of more than 63 characters");
	return (struct ink_token){TOKEN_NAME, at, end - at, NULL};
}

/* "10", "0x1f", "1.5s", "25%", "1/4": what it is worth is for those who use it. */
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
	if (end >= t->length || byte_at(t, end) != '"')
		return bad(at, 1, "a string must end on its line");
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
	return bad(at, 1, c > 127 ? "a character that is not ASCII" : "this character begins nothing");
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

unsigned ink_text_line(const struct ink_text *t, uint32_t at)
{
	unsigned line = 1;

	for (uint32_t i = 0; i < at && i < t->length; i++)
		line += t->bytes[i] == '\n';
	return line;
}

static uint32_t line_start(const struct ink_text *t, uint32_t at)
{
	while (at > 0 && t->bytes[at - 1] != '\n')
		at--;
	return at;
}

unsigned ink_text_column(const struct ink_text *t, uint32_t at)
{
	return at - line_start(t, at) + 1;
}

static uint32_t line_end(const struct ink_text *t, uint32_t at)
{
	while (at < t->length && t->bytes[at] != '\n')
		at++;
	while (at > 0 && t->bytes[at - 1] == '\r')
		at--;
	return at;
}

static void tell(struct ink_text *t, enum ink_severity severity, uint32_t at, const char *words)
{
	uint32_t start = line_start(t, at), end = line_end(t, at);
	struct ink_complaint c = {.severity = severity,
				  .file = t->file,
				  .line = ink_text_line(t, at),
				  .column = ink_text_column(t, at),
				  .text = words,
				  .source = t->bytes + start,
				  .source_length = end > start ? end - start : 0};

	if (t->told++ < INK_COMPLAINTS_MOST && t->options && t->options->complain)
		t->options->complain(&c, t->options->user);
}

void ink_text_error(struct ink_text *t, uint32_t at, const char *format, ...)
{
	char words[300];
	va_list args;

	va_start(args, format);
	vsnprintf(words, sizeof words, format, args);
	va_end(args);
	t->errors++;
	tell(t, INK_ERROR, at, words);
}

void ink_text_warning(struct ink_text *t, uint32_t at, const char *format, ...)
{
	char words[300];
	va_list args;

	va_start(args, format);
	vsnprintf(words, sizeof words, format, args);
	va_end(args);
	t->warnings++;
	tell(t, t->options && t->options->strict ? INK_ERROR : INK_WARNING, at, words);
}

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
