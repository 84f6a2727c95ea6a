/* SPDX-License-Identifier: BSD-2-Clause */
#include "sim/text.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"

/* ----------------------------------------------------------------------------- JSON */

void sim_put_json(const char *text, FILE *to)
{
	const char *s = text;
	uint32_t c;

	putc('"', to);
	while (*s) {
		unsigned n = ink_utf8_decode(s, &c);

		if (!n)
			fputs("\\ufffd", to);
		else if (ink_is_control(c))
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

static int put_escaped(uint32_t c, FILE *to)
{
	if (c == '\n')
		return fprintf(to, "\\n");
	return fprintf(to, c < 0x80 ? "\\x%02x" : "\\u%04x", c);
}

int sim_put_visible(const char *text, FILE *to)
{
	const char *s = text;
	uint32_t c;
	int columns = 0;

	while (*s) {
		unsigned n = ink_utf8_decode(s, &c);

		if (!n)
			columns += fprintf(to, "\\x%02x", (unsigned char)*s);
		else if (ink_is_control(c))
			columns += put_escaped(c, to);
		else
			columns += fwrite(s, 1, n, to) == n;
		s += n ? n : 1;
	}
	return columns;
}

void sim_put_message(FILE *to, const char *format, va_list args)
{
	char *text;

	if (vasprintf(&text, format, args) >= 0) {
		sim_put_visible(text, to);
		free(text);
	}
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
