/* SPDX-License-Identifier: BSD-2-Clause */
/* Characters in UTF-8, and those that control a terminal: a name that is shown must not contain them. */
#ifndef INKLING_BASE_UTF8_H
#define INKLING_BASE_UTF8_H

#include <stdint.h>

/* By the first byte's leading ones; 0: no character begins with it. */
static inline unsigned ink_utf8_length(unsigned char first)
{
	if (first < 0x80)
		return 1;
	return first >> 5 == 0x06 ? 2 : first >> 4 == 0x0e ? 3 : first >> 3 == 0x1e ? 4 : 0;
}

/* A surrogate, above U+10FFFF, or in more bytes than it needs: not UTF-8. */
static inline int ink_utf8_is_valid(uint32_t c, unsigned length)
{
	static const uint32_t smallest[] = {0, 0, 0x80, 0x800, 0x10000};

	return c >= smallest[length] && c <= 0x10ffff && !(c >= 0xd800 && c <= 0xdfff);
}

/* Reads one character of a string; returns its length in bytes, or 0: this is not UTF-8. */
static inline unsigned ink_utf8_decode(const char *text, uint32_t *character)
{
	static const unsigned char first_bits[] = {0, 0x7f, 0x1f, 0x0f, 0x07};
	const unsigned char *s = (const unsigned char *)text;
	unsigned n = ink_utf8_length(*s);
	uint32_t c = *s & first_bits[n];

	for (unsigned i = 1; i < n; i++) {
		if (s[i] >> 6 != 2)
			return 0;
		c = c << 6 | (s[i] & 0x3f);
	}
	*character = c;
	return n && ink_utf8_is_valid(c, n) ? n : 0;
}

/* C0, DEL and C1; and the characters that change the direction of the text behind them. */
static inline int ink_is_control(uint32_t c)
{
	return c < 0x20 || (c >= 0x7f && c < 0xa0) || (c >= 0x202a && c <= 0x202e) ||
	       (c >= 0x2066 && c <= 0x2069);
}

#endif
