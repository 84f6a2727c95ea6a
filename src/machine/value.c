/* SPDX-License-Identifier: BSD-2-Clause */
/* Names, numbers, shares, times, rates, amounts, classes, strings and addresses, as docs/machine-language.md has them. A parameter stands for its value. */
#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/rate.h"
#include "machine/parse.h"

/* ------------------------------------------------------------------ tokens */

static int is_stopped(const struct ink_parser *p)
{
	return p->m->arena->failed || p->text->stopped;
}

void ink_parser_next(struct ink_parser *p)
{
	p->before = p->now.at + p->now.length;
	p->now = ink_token_at(p->text, p->before);
	ink_text_work(p->text, p->now.at, 1);
	if (is_stopped(p))
		p->now = (struct ink_token){TOKEN_END, p->text->length, 0, NULL};
}

struct ink_token ink_parser_behind(const struct ink_parser *p)
{
	return ink_token_at(p->text, p->now.at + p->now.length);
}

int ink_parser_sees(const struct ink_parser *p, const char *word)
{
	return ink_token_is(p->text, &p->now, word);
}

int ink_parser_takes(struct ink_parser *p, const char *word)
{
	if (!ink_parser_sees(p, word))
		return 0;
	ink_parser_next(p);
	return 1;
}

/* Only words get suggestions; numbers and signs have no similar ones. */
struct ink_suggest ink_parser_near(const struct ink_parser *p)
{
	return ink_suggest(p->text->bytes + p->now.at,
			   p->now.kind == TOKEN_NAME ? p->now.length : INK_SUGGEST_MAX + 1);
}

int ink_parser_expected_near(struct ink_parser *p, const char *expected, const struct ink_suggest *near)
{
	unsigned length = p->now.length < 40 ? p->now.length : 40;
	char hint[96] = "";

	if (is_stopped(p))
		return -1;
	if (near)
		ink_suggest_hint(near, hint);
	if (p->now.kind == TOKEN_BAD)
		ink_text_error(p->text, p->now.at, "%s", p->now.wrong);
	else if (p->now.kind == TOKEN_END)
		ink_text_error(p->text, p->before, "expected %s, found the end of the file", expected);
	else if (ink_token_first(p->text, &p->now) && p->before)
		ink_text_error(p->text, p->before, "expected %s, found the end of the line", expected);
	else
		ink_text_error(p->text, p->now.at, "expected %s, found '%.*s'%s", expected, (int)length,
			       p->text->bytes + p->now.at, hint);
	return -1;
}

int ink_parser_expected(struct ink_parser *p, const char *expected)
{
	return ink_parser_expected_near(p, expected, NULL);
}

/* The text is gone when errors appear that depend on where the machine runs. */
const char *ink_parser_place(struct ink_parser *p, uint32_t at)
{
	enum { MOST = 80 }; /* of a long path, its end: a struct ink_why has to hold it and a sentence */
	const char *file = p->text->file;
	size_t length = strlen(file);
	char place[MOST + 32];
	int n = snprintf(place, sizeof place, "%s:%u:%u", file + (length > MOST ? length - MOST : 0),
			 ink_text_line(p->text, at), ink_text_column(p->text, at));

	return ink_arena_string(p->m->arena, place, (size_t)n);
}

int ink_parser_twice(struct ink_parser *p, uint32_t at, const char *what, uint32_t first)
{
	ink_text_error(p->text, at, "%s was already given in line %u", what, ink_text_line(p->text, first));
	return -1;
}

/* Signs are compared as bytes of the text, since "&" and "!" begin no token. */
int ink_parser_foreign(struct ink_parser *p)
{
	const char *sign = p->text->bytes + p->now.at;
	int c = p->now.length ? *sign : 0;
	int length = p->now.at + 1 < p->text->length && sign[1] == c ? 2 : 1;

	if (c == '&' || c == '|')
		ink_text_error(p->text, p->now.at, "conditions are joined by '%s', not by '%.*s'",
			       c == '&' ? "and" : "or", length, sign);
	else if (c == '!' && p->now.length == 1)
		ink_text_error(p->text, p->now.at, "conditions are negated by 'not', not by '!'");
	else if (c == '=' && p->now.at && sign[-1] == '=')
		ink_text_error(p->text, p->now.at, "one '=' is enough");
	else
		return 0;
	return 1;
}

int ink_parser_wants(struct ink_parser *p, const char *word)
{
	char expected[16];

	if (ink_parser_takes(p, word))
		return 0;
	snprintf(expected, sizeof expected, "'%s'", word);
	return ink_parser_expected(p, expected);
}

/* ----------------------------------------------------------- names, numbers */

int ink_parse_name(struct ink_parser *p, const char *what, struct ink_name **name)
{
	if (p->now.kind != TOKEN_NAME)
		return ink_parser_expected(p, what);
	*name = ink_name_at(p->m, p->text, &p->now);
	ink_parser_next(p);
	return *name ? 0 : -1;
}

enum { DIGITS_MOST = 40 };

/* The characters of a value without its "_"s, as a string. One that is too long becomes empty, which is no value. */
static void plain(const char *bytes, size_t length, char text[DIGITS_MOST])
{
	unsigned n = 0;

	for (size_t i = 0; i < length && n + 1 < DIGITS_MOST; i++)
		if (bytes[i] != '_')
			text[n++] = bytes[i];
	text[length < DIGITS_MOST ? n : 0] = 0;
}

int ink_parser_expected_value(struct ink_parser *p, const char *what)
{
	struct ink_suggest near = ink_parser_near(p);

	ink_offer_params(p, &near);
	return ink_parser_expected_near(p, what, &near);
}

/* The value that stands here, or that the parameter here has. Its token stays the current one. */
static int find_value(struct ink_parser *p, const char *what, char text[DIGITS_MOST])
{
	struct ink_param *param = ink_parser_param(p);

	p->param = param;
	if (param) {
		param->used = 1;
		if (!param->value)
			return -1;
		plain(param->value, strlen(param->value), text);
		return 0;
	}
	if (p->now.kind != TOKEN_NUMBER)
		return ink_parser_expected_value(p, what);
	plain(p->text->bytes + p->now.at, p->now.length, text);
	return 0;
}

int ink_parser_misfit(struct ink_parser *p, uint32_t at, const char *format, ...)
{
	char words[200];
	va_list args;

	va_start(args, format);
	vsnprintf(words, sizeof words, format, args);
	va_end(args);
	if (p->param)
		ink_text_error(p->text, at, "%s; '%s' is %s%s", words, p->param->name,
			       p->param->set ? "set to " : "", p->param->value);
	else
		ink_text_error(p->text, at, "%s", words);
	return -1;
}

static int no_number(struct ink_parser *p, const char *kind)
{
	unsigned length = p->now.length < 40 ? p->now.length : 40;

	return ink_parser_misfit(p, p->now.at, "'%.*s' is not %s", (int)length, p->text->bytes + p->now.at,
				 kind);
}

/* 0; -EINVAL: it is none; -ERANGE: it is too large. */
static int whole_of(const char *text, uint64_t *number)
{
	static const char letters[] = "kMG";
	static const uint64_t worth[] = {1000, 1000000, 1000000000};
	int hex = text[0] == '0' && (text[1] == 'x' || text[1] == 'X');
	const char *letter;
	uint64_t unit = 1;
	char *end;

	*number = strtoull(text, &end, hex ? 16 : 10);
	letter = *end && !hex ? strchr(letters, *end) : NULL;
	if (letter) {
		unit = worth[letter - letters];
		end++;
	}
	if (*end || !text[0] || (hex && !text[2]))
		return -EINVAL;
	if (strlen(text) > 20 || *number > INT64_MAX / unit)
		return -ERANGE;
	*number *= unit;
	return 0;
}

int ink_parse_number(struct ink_parser *p, const char *what, uint64_t *number)
{
	char text[DIGITS_MOST];
	int error;

	if (find_value(p, what, text))
		return -1;
	error = whole_of(text, number);
	if (error == -EINVAL)
		return no_number(p, "a whole number");
	if (error)
		return ink_parser_misfit(p, p->now.at, "a number that large cannot be used");
	ink_parser_next(p);
	return 0;
}

/* 0; -EINVAL: it is none; -ERANGE: it is not 0 to 1. */
static int share_of(const char *text, double *share)
{
	const char *rest;
	double whole = 1;

	*share = ink_decimal(text, &rest);
	if (*rest == '%') {
		whole = 100;
		rest++;
	} else if (*rest == '/') {
		whole = ink_decimal(rest + 1, &rest);
	}
	if (*rest || !text[0])
		return -EINVAL;
	if (!(whole > 0) || *share > whole)
		return -ERANGE;
	*share /= whole;
	return 0;
}

int ink_parse_share(struct ink_parser *p, double *share)
{
	char text[DIGITS_MOST];
	int error;

	if (find_value(p, "a share such as 0.25, 25% or 1/4", text))
		return -1;
	error = share_of(text, share);
	if (error == -EINVAL)
		return no_number(p, "a share (0.25, 25%, 1/4)");
	if (error)
		return ink_parser_misfit(p, p->now.at, "a share is 0 to 1");
	ink_parser_next(p);
	return 0;
}

static double unit_of(const char *text)
{
	static const struct {
		const char *name;
		double worth;
	} units[] = {{"ms", 1e6}, {"s", 1e9}, {"m", 60e9}, {"min", 60e9}, {"h", 3600e9}, {"d", 86400e9}};

	for (unsigned i = 0; i < sizeof units / sizeof units[0]; i++)
		if (!strcmp(text, units[i].name))
			return units[i].worth;
	return 0;
}

/* 0; -EINVAL: it is none; -ERANGE: it is too short or too long. */
static int time_of(const char *text, uint64_t *nanoseconds)
{
	static const double ten_years = 3652 * 86400e9;
	const char *rest;
	double value = ink_decimal(text, &rest), unit = unit_of(rest);

	if (unit <= 0)
		return -EINVAL;
	value = round(value * unit / 1e6) * 1e6;
	if (value < 1e6 || value > ten_years)
		return -ERANGE;
	*nanoseconds = (uint64_t)value;
	return 0;
}

int ink_parse_time(struct ink_parser *p, uint64_t *nanoseconds)
{
	char text[DIGITS_MOST];
	int error;

	if (find_value(p, "a time such as 500ms, 10s, 5m, 1h", text))
		return -1;
	error = time_of(text, nanoseconds);
	if (error == -EINVAL)
		return no_number(p, "a time (500ms, 10s, 5m, 1h, 2d)");
	if (error)
		return ink_parser_misfit(p, p->now.at, "times are 1ms to 10 years");
	ink_parser_next(p);
	return 0;
}

int ink_parse_rate(struct ink_parser *p, uint64_t *rate)
{
	char text[DIGITS_MOST];
	int error;

	if (find_value(p, "a rate such as 500kbit, 1mbit, 1.5gbit", text))
		return -1;
	error = ink_rate_read(text, rate);
	if (error == -EINVAL)
		return no_number(p, "a rate (500kbit, 1mbit, 1.5gbit)");
	if (error)
		return ink_parser_misfit(p, p->now.at, "rates are 1kbit to 1tbit");
	ink_parser_next(p);
	return 0;
}

/* ---------------------------------------------------------------- amounts */

static const struct {
	const char *word;
	enum ink_unit_of unit;
} amount_units[] = {{"packets", INK_OF_PACKETS},
		    {"packet", INK_OF_PACKETS},
		    {"bytes", INK_OF_BYTES},
		    {"byte", INK_OF_BYTES}};

enum { AMOUNT_UNITS = sizeof amount_units / sizeof amount_units[0] };

/* Cuts " packets" or " bytes" off the number before it. */
static enum ink_unit_of cut_unit(char *text)
{
	char *space = strchr(text, ' ');
	unsigned i = 0;

	if (!space)
		return INK_OF_NOTHING;
	while (i < AMOUNT_UNITS && strcmp(space + strspn(space, " "), amount_units[i].word))
		i++;
	if (i == AMOUNT_UNITS)
		return INK_OF_NOTHING;
	*space = 0;
	return amount_units[i].unit;
}

/* A state of such a name may begin a line. */
enum ink_unit_of ink_parser_takes_unit(struct ink_parser *p)
{
	if (ink_parser_begins_states(p))
		return INK_OF_NOTHING;
	for (unsigned i = 0; i < AMOUNT_UNITS; i++)
		if (ink_parser_takes(p, amount_units[i].word))
			return amount_units[i].unit;
	return INK_OF_NOTHING;
}

static int unit_twice(struct ink_parser *p, uint32_t at)
{
	return ink_parser_takes_unit(p) ? ink_parser_misfit(p, at, "the unit is there twice") : 0;
}

/* The number of a parameter that has a unit, too. */
static int parse_whole_amount(struct ink_parser *p, const char *number, uint64_t *value)
{
	uint32_t at = p->now.at;

	if (whole_of(number, value))
		return ink_parser_misfit(p, at, "a number that large cannot be used");
	ink_parser_next(p);
	return unit_twice(p, at);
}

int ink_parse_amount(struct ink_parser *p, const char *what, uint64_t *value, enum ink_unit_of *unit)
{
	char text[DIGITS_MOST];

	if (find_value(p, what, text))
		return -1;
	*unit = cut_unit(text);
	if (*unit)
		return parse_whole_amount(p, text, value);
	if (time_of(text, value) == -EINVAL)
		return ink_parse_number(p, what, value);
	*unit = INK_OF_TIME;
	return ink_parse_time(p, value);
}

int ink_is_whole(const char *bytes, size_t length)
{
	char text[DIGITS_MOST];
	uint64_t whole;

	plain(bytes, length, text);
	return !whole_of(text, &whole);
}

const char *ink_unit_in(const char *value)
{
	char text[DIGITS_MOST];

	plain(value, strlen(value), text);
	return cut_unit(text) ? strchr(value, ' ') : NULL;
}

/* ---------------------------------------------------------------- classes */

static int hex_of(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 32;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Up to four hexadecimal digits. 0: there are none, or more. */
static int part_of(const char **text, uint32_t *part)
{
	unsigned n = 0;

	for (*part = 0; isxdigit((unsigned char)**text) && n <= 4; n++, ++*text)
		*part = *part << 4 | (uint32_t)hex_of(**text);
	return n > 0 && n <= 4;
}

/* "1:2a": what tc calls major and minor. 0, or -EINVAL. */
static int class_of(const char *text, uint32_t *class)
{
	uint32_t major, minor;

	if (!part_of(&text, &major) || *text++ != ':' || !part_of(&text, &minor) || *text || !major)
		return -EINVAL;
	*class = major << 16 | minor;
	return 0;
}

int ink_parser_sees_class(const struct ink_parser *p, struct ink_token *class)
{
	*class = ink_token_address(p->text, p->now.at);
	return class->kind != TOKEN_END && memchr(p->text->bytes + class->at, ':', class->length) != NULL;
}

int ink_parse_class(struct ink_parser *p, uint32_t *class)
{
	char text[DIGITS_MOST];
	struct ink_token token;

	if (ink_parser_sees_class(p, &token))
		p->now = token;
	if (find_value(p, "a class such as 1:10", text))
		return -1;
	if (class_of(text, class))
		return no_number(p, "a class (1:10, as tc writes it: hexadecimal, 1:0 to ffff:ffff)");
	ink_parser_next(p);
	return 0;
}

int ink_is_value(const char *bytes, size_t length)
{
	char text[DIGITS_MOST];
	uint64_t whole;
	uint32_t class;
	double share;

	plain(bytes, length, text);
	if (!class_of(text, &class))
		return 1;
	if (cut_unit(text))
		return text[0] >= '0' && text[0] <= '9' && !whole_of(text, &whole);
	return text[0] >= '0' && text[0] <= '9' &&
	       (!whole_of(text, &whole) || !share_of(text, &share) || !time_of(text, &whole) ||
		!ink_rate_read(text, &whole));
}

/* ---------------------------------------------------------------- strings */

/* The character of an escape, and the length of the escape; 0: there is no such escape. */
static unsigned escape(const char *text, unsigned left, char *c)
{
	static const char letters[] = "nrt\"\\", means[] = "\n\r\t\"\\";
	const char *at = left > 1 && text[1] ? strchr(letters, text[1]) : NULL;

	if (at) {
		*c = means[at - letters];
		return 2;
	}
	if (left < 4 || text[1] != 'x' || hex_of(text[2]) < 0 || hex_of(text[3]) < 0)
		return 0;
	*c = (char)(hex_of(text[2]) << 4 | hex_of(text[3]));
	return 4;
}

int ink_parse_string(struct ink_parser *p, const char *what, const char **bytes, unsigned *length)
{
	const char *from = p->text->bytes + p->now.at + 1;
	unsigned left = p->now.length - 2, n = 0, used;
	char *copy;

	if (p->now.kind != TOKEN_STRING)
		return ink_parser_expected(p, what);
	copy = ink_arena_get(p->m->arena, left + 1);
	for (; copy && left; left -= used, from += used) {
		used = 1;
		if (*from != '\\')
			copy[n++] = *from;
		else if ((used = escape(from, left, &copy[n++])) == 0) {
			ink_text_error(p->text, (uint32_t)(from - p->text->bytes),
				       "unknown escape; there are \\\" \\\\ \\n \\r \\t and \\x with two "
				       "hex digits");
			return -1;
		}
	}
	*bytes = copy;
	*length = n;
	ink_parser_next(p);
	return copy ? 0 : -1;
}

/* -------------------------------------------------------------- addresses */

static int address_of(const char *text, struct ink_prefix *prefix)
{
	memset(prefix, 0, sizeof *prefix);
	prefix->version = strchr(text, ':') ? 6 : 4;
	prefix->bits = prefix->version == 6 ? 128 : 32;
	return inet_pton(prefix->version == 6 ? AF_INET6 : AF_INET, text, prefix->address) == 1;
}

static int parse_bits(struct ink_parser *p, struct ink_prefix *prefix)
{
	struct ink_token at = p->now;
	uint64_t bits;

	if (!ink_parser_takes(p, "/"))
		return 0;
	if (ink_parse_number(p, "the length of the prefix, in bits", &bits))
		return -1;
	if (bits > prefix->bits)
		return ink_parser_misfit(p, at.at, "a prefix of IPv%d has 0 to %d bits", prefix->version,
					 prefix->bits);
	prefix->bits = (uint8_t)bits;
	return 0;
}

/* Reads the current token again as an address, since addresses are not tokens of the language. */
int ink_parse_prefix(struct ink_parser *p, struct ink_prefix *prefix)
{
	struct ink_token address = ink_token_address(p->text, p->now.at);
	char text[INK_NAME_MAX + 1];

	if (address.kind == TOKEN_END || address.length >= sizeof text)
		return ink_parser_expected(p, "an address such as 10.1.2.3, 10.0.0.0/8 or 2001:db8::/32");
	memcpy(text, p->text->bytes + address.at, address.length);
	text[address.length] = 0;
	p->now = address;
	p->param = NULL;
	if (!address_of(text, prefix))
		return no_number(p, "an address");
	ink_parser_next(p);
	return parse_bits(p, prefix);
}
