/* SPDX-License-Identifier: BSD-2-Clause */
/* Rates of links and queues as text, for the machine language and the command line: "500kbit", "1.5mbit", as tc writes them. */
#ifndef INKLING_BASE_RATE_H
#define INKLING_BASE_RATE_H

#include <stdint.h>

enum { INK_RATE_TEXT = 32 }; /* bytes of a rate as text */

/* Bits a second, 1 kbit to 1 Tbit: so products of packet/queue.h fit 64 bits. 0; -EINVAL: it is no rate; -ERANGE. */
int ink_rate_read(const char *text, uint64_t *rate);

/* The same, in the largest unit of which it is a whole number. */
void ink_rate_show(uint64_t rate, char text[INK_RATE_TEXT]);

/* Digits with at most one decimal point, and the rest of the text. Unlike strtod, it knows no locale. */
double ink_decimal(const char *text, const char **rest);

#endif
