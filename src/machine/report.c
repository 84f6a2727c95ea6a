/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reports: their text, and what a reader of them sorts by.
 *
 *     report "{src} knocks at {dst port}" severity 2 id "door"
 *
 *     pieces   [src "src"][literal " knocks at "][dst port "dst port"]
 *
 * The text is taken apart here, so that what writes reports needs no parser. "{{" is a brace.
 */
#include <string.h>

#include "machine/parse.h"

enum { SEVERITY_MOST = 4, ID_MOST = 63 };

static const char *const fields[] = {
	[INK_TEXT_SRC] = "src",           [INK_TEXT_DST] = "dst",           [INK_TEXT_SRC_PORT] = "src port",
	[INK_TEXT_DST_PORT] = "dst port", [INK_TEXT_PROTOCOL] = "protocol", [INK_TEXT_KEY] = "key"};

enum { FIELDS = sizeof fields / sizeof fields[0] };

/* ------------------------------------------------------------------ pieces */

/* A text that is being taken apart; `at` is its string in the machine's text. */
struct reading {
	struct ink_parser *p;
	struct ink_more *more;
	struct ink_token string;
	unsigned braces; /* that were read */
};

static int add_piece(struct reading *r, const struct ink_text_piece *piece)
{
	struct ink_text_piece *all = (struct ink_text_piece *)r->more->out.pieces;

	if (!INK_APPEND(r->p, all, r->more->out.n_pieces))
		return -1;
	all[r->more->out.n_pieces++] = *piece;
	r->more->out.pieces = all;
	return 0;
}

/* Where the n-th brace stands, from 1; a brace that is written as an escape is not found, and then the string is meant. */
static uint32_t place_of_brace(const struct reading *r)
{
	const char *bytes = r->p->text->bytes + r->string.at;
	unsigned n = 0;

	for (uint32_t i = 0; i < r->string.length; i++)
		if (bytes[i] == '{' && ++n == r->braces)
			return r->string.at + i;
	return r->string.at;
}

static int unknown_field(const struct reading *r, const char *name, size_t length)
{
	struct ink_suggest near = ink_suggest(name, length);
	int shown = (int)(length < 40 ? length : 40);
	char hint[96];

	for (unsigned i = INK_TEXT_SRC; i < FIELDS; i++)
		ink_suggest_offer(&near, fields[i]);
	if (near.best)
		ink_text_error(r->p->text, place_of_brace(r), "no field '{%.*s}'%s", shown, name,
			       ink_suggest_hint(&near, hint));
	else
		ink_text_error(
			r->p->text, place_of_brace(r),
			"no field '{%.*s}': there are {src} {dst} {src port} {dst port} {protocol} {key}; "
			"'{{' is a brace",
			shown, name);
	return -1;
}

/* What stands between braces; `*text` goes behind them. */
static int read_field(struct reading *r, const char **text)
{
	const char *name = *text + 1;
	size_t length = strcspn(name, "}");
	int field = INK_TEXT_SRC;

	r->braces++;
	if (!name[length]) {
		ink_text_error(r->p->text, place_of_brace(r),
			       "'}' is missing: a field ends with it ('{{' is a brace)");
		return -1;
	}
	while (field < FIELDS && (strlen(fields[field]) != length || memcmp(fields[field], name, length)))
		field++;
	*text = name + length + 1;
	if (field == FIELDS)
		return unknown_field(r, name, length);
	return add_piece(r, &(struct ink_text_piece){fields[field], field});
}

/* Bytes up to a field. */
static size_t literal_length(const char *text)
{
	size_t n = 0;

	while (text[n] && (text[n] != '{' || text[n + 1] == '{'))
		n += text[n] == '{' ? 2 : 1;
	return n;
}

/* Characters up to a field, with "{" for "{{". */
static int read_literal(struct reading *r, const char **text)
{
	size_t length = literal_length(*text), n = 0;
	char *copy = ink_arena_get(r->p->m->arena, length + 1);

	if (!copy)
		return -1;
	for (size_t i = 0; i < length; i++) {
		copy[n++] = (*text)[i];
		if ((*text)[i] == '{') {
			r->braces += 2;
			i++;
		}
	}
	*text += length;
	return add_piece(r, &(struct ink_text_piece){copy, INK_TEXT_LITERAL});
}

/* A text without braces is its only piece; so is an empty one. */
static int take_apart(struct reading *r, const char *text)
{
	if (!strchr(text, '{'))
		return add_piece(r, &(struct ink_text_piece){text, INK_TEXT_LITERAL});
	while (*text) {
		int field = *text == '{' && text[1] != '{';

		if (ink_text_work(r->p->text, r->string.at, 1) ||
		    (field ? read_field(r, &text) : read_literal(r, &text)))
			return -1;
	}
	return 0;
}

/* ------------------------------------------------------------------ report */

static int parse_severity(struct ink_parser *p, struct ink_action_more *out)
{
	uint32_t at = p->now.at;
	uint64_t severity;

	if (ink_parse_number(p, "the severity, 1 to 4", &severity))
		return -1;
	if (severity < 1 || severity > SEVERITY_MOST)
		return ink_parser_misfit(p, at, "a severity is 1, the most severe, to %d", SEVERITY_MOST);
	out->severity = (unsigned)severity;
	return 0;
}

static int parse_id(struct ink_parser *p, struct ink_action_more *out)
{
	uint32_t at = p->now.at;
	unsigned length;

	if (ink_parse_string(p, "the id in quotes", &out->id, &length))
		return -1;
	if (length && length <= ID_MOST && strlen(out->id) == length)
		return 0;
	ink_text_error(p->text, at, "an id has 1 to %d characters, and no NUL byte", ID_MOST);
	return -1;
}

/* "severity" and "id" may also be the next line's state. */
static int parse_rest(struct ink_parser *p, struct ink_action_more *out)
{
	while (!ink_parser_begins_states(p)) {
		uint32_t at = p->now.at;
		int error;

		if (ink_parser_takes(p, "severity"))
			error = out->severity ? ink_parser_twice(p, at, "the severity", at)
					      : parse_severity(p, out);
		else if (ink_parser_takes(p, "id"))
			error = out->id ? ink_parser_twice(p, at, "the id", at) : parse_id(p, out);
		else
			return 0;
		if (error)
			return -1;
	}
	return 0;
}

int ink_parse_report(struct ink_parser *p, const struct ink_written_row *row, struct ink_deed *d)
{
	struct reading r = {.p = p, .more = ink_deed_more(p, d), .string = p->now};
	unsigned length;

	if (d->action.report)
		return ink_parser_twice(p, p->now.at, "the report of this row", row->at);
	if (!r.more || ink_parse_string(p, "the text in quotes", &d->action.report, &length))
		return -1;
	if (strlen(d->action.report) != length) {
		ink_text_error(p->text, r.string.at, "a report cannot contain a NUL byte");
		return -1;
	}
	return take_apart(&r, d->action.report) ? -1 : parse_rest(p, &r.more->out);
}
