/* SPDX-License-Identifier: BSD-2-Clause */
#include "sim/text.h"

#include <stdint.h>
#include <string.h>

/* ---------------------------------------------------------------------------- UTF-8 */

/* By the first byte's leading ones; 0: no character begins with it. */
static unsigned length_of(unsigned char first)
{
	if (first < 0x80)
		return 1;
	return first >> 5 == 0x06 ? 2 : first >> 4 == 0x0e ? 3 : first >> 3 == 0x1e ? 4 : 0;
}

/* The smallest character that needs so many bytes: a smaller one in as many is not UTF-8. */
static const uint32_t smallest[] = {0, 0, 0x80, 0x800, 0x10000};

static int is_surrogate(uint32_t c)
{
	return c >= 0xd800 && c <= 0xdfff;
}

/* Reads one character; returns its length in bytes, or 0: this is not UTF-8. */
static unsigned decode(const unsigned char *s, uint32_t *character)
{
	static const unsigned char first_bits[] = {0, 0x7f, 0x1f, 0x0f, 0x07};
	unsigned n = length_of(*s);
	uint32_t c = *s & first_bits[n];

	for (unsigned i = 1; i < n; i++) {
		if (s[i] >> 6 != 2)
			return 0;
		c = c << 6 | (s[i] & 0x3f);
	}
	*character = c;
	return n && c >= smallest[n] && c <= 0x10ffff && !is_surrogate(c) ? n : 0;
}

/* ----------------------------------------------------------------------------- JSON */

void sim_put_json(const char *text, FILE *to)
{
	const unsigned char *s = (const unsigned char *)text;
	uint32_t c;

	putc('"', to);
	while (*s) {
		unsigned n = decode(s, &c);

		if (!n)
			fputs("\\ufffd", to);
		else if (c < 0x20)
			fprintf(to, "\\u%04x", c);
		else if (c == '"' || c == '\\')
			fprintf(to, "\\%c", (int)c);
		else
			fwrite(s, 1, n, to);
		s += n ? n : 1;
	}
	putc('"', to);
}

/* ------------------------------------------------------------------------- terminals */

/* C0, DEL and C1; and the characters that change the direction of the text behind them. */
static int controls(uint32_t c)
{
	return c < 0x20 || (c >= 0x7f && c < 0xa0) || (c >= 0x202a && c <= 0x202e) ||
	       (c >= 0x2066 && c <= 0x2069);
}

static int put_escaped(uint32_t c, FILE *to)
{
	if (c == '\n')
		return fprintf(to, "\\n");
	return fprintf(to, c < 0x80 ? "\\x%02x" : "\\u%04x", c);
}

int sim_put_visible(const char *text, FILE *to)
{
	const unsigned char *s = (const unsigned char *)text;
	uint32_t c;
	int columns = 0;

	while (*s) {
		unsigned n = decode(s, &c);

		if (!n)
			columns += fprintf(to, "\\x%02x", *s);
		else if (controls(c))
			columns += put_escaped(c, to);
		else
			columns += fwrite(s, 1, n, to) == n;
		s += n ? n : 1;
	}
	return columns;
}

void sim_put_wrapped(const char *text, const char *first, const char *rest, int width, FILE *to)
{
	const char *indent = first;
	int used = 0;

	while (*text) {
		int length = (int)strcspn(text, " \n");

		if (used && used + 1 + length > width) {
			fputc('\n', to);
			indent = rest;
			used = 0;
		}
		if (length)
			used += fprintf(to, "%s%.*s", used ? " " : indent, length, text);
		text += length + (text[length] != 0);
	}
	fputc('\n', to);
}
