/* SPDX-License-Identifier: BSD-2-Clause */
#include "redis/command.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "redis/type.h"

/* ------------------------------------------------------------------------ arguments */

void complain(struct arguments *a, const char *format, ...)
{
	va_list args;

	if (a->wrong)
		return;
	va_start(args, format);
	vsnprintf(a->text, sizeof a->text, format, args);
	va_end(args);
	a->wrong = a->text;
}

int more(const struct arguments *a)
{
	return !a->wrong && a->at < a->argc;
}

const char *next(struct arguments *a, size_t *length)
{
	*length = 0;
	if (!more(a)) {
		complain(a, "ERR an argument is missing at the end");
		return "";
	}
	return server.StringPtrLen(a->argv[a->at++], length);
}

int next_is(struct arguments *a, const char *word)
{
	size_t length;
	const char *text;

	if (!more(a))
		return 0;
	text = server.StringPtrLen(a->argv[a->at], &length);
	if (length != strlen(word) || strncasecmp(text, word, length) != 0)
		return 0;
	a->at++;
	return 1;
}

int read_number(const char *text, size_t length, uint64_t *n)
{
	*n = 0;
	for (size_t i = 0; i < length; i++) {
		unsigned digit = (unsigned)text[i] - '0';

		if (digit > 9 || *n > (UINT64_MAX - digit) / 10)
			return 0;
		*n = *n * 10 + digit;
	}
	return length > 0;
}

/* Bytes for an error message: those that would end it or confuse a terminal become '?'. */
static const char *printable(const char *text, size_t length, char into[33])
{
	size_t n = length < 32 ? length : 32;

	for (size_t i = 0; i < n; i++)
		into[i] = (char)(isprint((unsigned char)text[i]) ? text[i] : '?');
	into[n] = 0;
	return into;
}

uint64_t next_number(struct arguments *a, const char *what, uint64_t least, uint64_t most)
{
	char shown[33];
	uint64_t n = 0;
	size_t length;
	const char *text = next(a, &length);

	if (!a->wrong && !read_number(text, length, &n))
		complain(a, "ERR %s: '%s' is no number", what, printable(text, length, shown));
	if (!a->wrong && (n < least || n > most))
		complain(a, "ERR %s: %" PRIu64 " is not from %" PRIu64 " to %" PRIu64, what, n, least, most);
	return a->wrong ? least : n;
}

double next_fraction(struct arguments *a, const char *what)
{
	char shown[33], *end = shown;
	size_t length;
	const char *text = next(a, &length);
	double p = 0;

	printable(text, length, shown);
	if (length && length < sizeof shown)
		p = strtod(shown, &end);
	if (!a->wrong && (end == shown || *end || !(p > 0 && p < 1)))
		complain(a, "ERR %s: '%s' is no number between 0 and 1", what, shown);
	return a->wrong ? 0 : p;
}

/* -------------------------------------------------------------------------- answers */

int answer_wrong(const struct arguments *a)
{
	return answer_error(a->ctx, "%s", a->wrong);
}

int answer_error(struct server_context *ctx, const char *format, ...)
{
	char text[512];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof text, format, args);
	va_end(args);
	for (char *c = text; *c; c++)
		if (*c == '\n' || *c == '\r')
			*c = ' ';
	return server.ReplyWithError(ctx, text);
}

/* An integer of RESP has 63 bits; what is larger is text. */
void answer_number(struct server_context *ctx, uint64_t n)
{
	char digits[24];

	if (n <= INT64_MAX) {
		server.ReplyWithLongLong(ctx, (long long)n);
		return;
	}
	snprintf(digits, sizeof digits, "%" PRIu64, n);
	server.ReplyWithCString(ctx, digits);
}

void say_number(struct server_context *ctx, const char *name, uint64_t n)
{
	server.ReplyWithCString(ctx, name);
	answer_number(ctx, n);
}

void say_text(struct server_context *ctx, const char *name, const char *text)
{
	server.ReplyWithCString(ctx, name);
	server.ReplyWithCString(ctx, text);
}

void say_fraction(struct server_context *ctx, const char *name, double n)
{
	server.ReplyWithCString(ctx, name);
	server.ReplyWithDouble(ctx, n);
}

/* ----------------------------------------------------------------------------- keys */

static const char *why_not(const struct opened *o)
{
	int type = server.KeyType(o->key);

	if (type == SERVER_TYPE_EMPTY)
		return "NOKEY there is no such key";
	if (type != SERVER_TYPE_MODULE || server.ModuleTypeGetType(o->key) != value_type)
		return "WRONGTYPE Operation against a key holding the wrong kind of value";
	if (!((struct ink_value *)server.ModuleTypeGetValue(o->key))->table)
		return "PARTIAL pieces of the value are still to come by INK.LOADCHUNK";
	return NULL;
}

int open_table(struct server_context *ctx, struct server_string **argv, int mode, struct opened *o)
{
	const char *wrong;

	o->key = server.OpenKey(ctx, argv[1], mode);
	wrong = o->key ? why_not(o) : "NOKEY there is no such key";
	if (wrong) {
		close_table(o);
		server.ReplyWithError(ctx, wrong);
		return SERVER_ERROR;
	}
	o->value = server.ModuleTypeGetValue(o->key);
	return 0;
}

void close_table(struct opened *o)
{
	if (o->key)
		server.CloseKey(o->key);
	o->key = NULL;
}

void repeat(struct server_context *ctx, struct server_string *key, const char *event)
{
	server.ReplicateVerbatim(ctx);
	server.NotifyKeyspaceEvent(ctx, SERVER_NOTIFY_MODULE, event, key);
}

void changed(struct server_context *ctx, struct ink_value *v, struct server_string *key, const char *event)
{
	v->count[COUNT_CHANGES]++;
	repeat(ctx, key, event);
}
