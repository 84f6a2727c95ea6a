/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Frames written as text: their headers, outermost first.
 *
 *     eth:0x8100 20640800 ip4:6 tcp hello   a VLAN tag in hexadecimal, then TCP over IPv4 with five bytes of payload
 *     17*00010040 ...                       bytes or a header, repeated
 *     [14]=44 eth4 ...                      the frame that follows, with other bytes from byte 14 on
 *
 * In hexadecimal digits, a run of L is the length from this header to the end, a run of l the length of what follows
 * it, and a run of N the number behind the colon. Every flow is 10.1.2.3 port 1234 -> 10.4.5.6 port 80, or the same
 * ports from 2001:db8::1 to 2001:db8::2.
 */
#ifndef INKLING_TESTS_FRAMES_H
#define INKLING_TESTS_FRAMES_H

#include <ctype.h>

#include "tests/test.h"

#define MACS "020000000001 020000000002 "

static const struct {
	const char *name, *digits;
} headers[] = {
	{"eth", MACS "NNNN"},
	{"eth4", MACS "0800"},
	{"eth6", MACS "86dd"},
	{"802.3", MACS "llll"},
	{"ip4", "4528 LLLL 0001 4000 40 NN 0000 0a010203 0a040506"},
	{"outer4", "4528 LLLL 0001 4000 40 NN 0000 c0a80001 c0a80002"},
	{"ip6", "62800000 llll NN 40 20010db8000000000000000000000001 20010db8000000000000000000000002"},
	{"outer6", "62800000 llll NN 40 fd010db8000000000000000000000001 20010db8000000000000000000000002"},
	{"tcp", "04d2 0050 01020304 05060708 6012 ffff 0000 0000 020405b4"},
	{"udp", "04d2 NNNN LLLL 0000"},
	{"sctp", "04d2 0050 01020304 00000000"},
	{"icmp", "08 00 0000 0001 0001"},
	{"arp", "0001 0800 06 04 0001 020000000001 0a010203 000000000000 0a040506"},
	{"hello", "68656c6c6f"},
};

#define TCP4 "ip4:6 tcp hello"
#define TCP6 "ip6:6 tcp hello"

/* A frame grows from its end to its front, because a header contains the length of what it carries. */
enum { FRAME_MOST = 2048 };

struct frame {
	uint8_t bytes[FRAME_MOST];
	size_t n;
};

static inline uint8_t *front(struct frame *f)
{
	return f->bytes + FRAME_MOST - f->n;
}

/* Four bits: a digit, or those of L, l and N that `rest` more of the same letter leave. */
static inline unsigned nibble(char digit, unsigned rest, const size_t letters[3])
{
	const char *letter = strchr("LlN", digit);

	if (letter)
		return letters[letter - "LlN"] >> 4 * rest & 15;
	assert_true(isxdigit((unsigned char)digit));
	return (unsigned)strtoul((const char[2]){digit}, NULL, 16);
}

static inline void prepend(struct frame *f, const char *digits, size_t number)
{
	char plain[200];
	size_t n = 0, letters[3];

	for (; *digits; digits++)
		if (*digits != ' ')
			plain[n++] = *digits;
	plain[n] = '\0';
	assert_true(n % 2 == 0 && n < sizeof plain && f->n + n / 2 <= FRAME_MOST);
	letters[0] = f->n + n / 2;
	letters[1] = f->n;
	letters[2] = number;
	f->n += n / 2;
	memset(front(f), 0, n / 2);
	for (size_t i = 0; i < n; i++) {
		unsigned rest = (unsigned)strspn(plain + i, (const char[2]){plain[i]}) - 1;

		front(f)[i / 2] |= (uint8_t)(nibble(plain[i], rest, letters) << (i % 2 ? 0 : 4));
	}
}

static inline void overwrite(struct frame *f, const char *word)
{
	char *digits;
	size_t at = strtoul(word + 1, &digits, 10);
	struct frame bytes = {.n = 0};

	assert_memory_equal(digits, "]=", 2);
	prepend(&bytes, digits + 2, 0);
	assert_true(at + bytes.n <= f->n);
	memcpy(front(f) + at, front(&bytes), bytes.n);
}

/* COUNT*HEADER:NUMBER, where the count and the number may be missing, and the header may be digits. */
static inline void prepend_word(struct frame *f, char *word)
{
	char *star = strchr(word, '*'), *colon = strchr(word, ':');
	unsigned long count = star ? strtoul(word, NULL, 10) : 1, number = 0;
	const char *digits = word = star ? star + 1 : word;

	if (colon) {
		number = strtoul(colon + 1, NULL, 0);
		*colon = '\0';
	}
	for (size_t i = 0; i < sizeof headers / sizeof headers[0]; i++)
		if (!strcmp(word, headers[i].name))
			digits = headers[i].digits;
	while (count--)
		prepend(f, digits, number);
}

static inline void make_frame(struct frame *f, const char *text)
{
	char copy[400], *word;
	int length = snprintf(copy, sizeof copy, " %s", text);

	assert_true(length > 0 && length < (int)sizeof copy);
	f->n = 0;
	while ((word = strrchr(copy, ' '))) {
		*word++ = '\0';
		if (*word == '[')
			overwrite(f, word);
		else if (*word)
			prepend_word(f, word);
	}
}

#endif
