/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Text for readers that must not misread it: JSON parsers, terminals, people.
 *
 * File names, machines and their reports come from outside and may hold any
 * byte but 0. The generator writes a truth file, the tool writes records and
 * messages, the laboratory writes pages: all of them do it with these.
 */
#ifndef INKLING_SIM_TEXT_H
#define INKLING_SIM_TEXT_H

#include <stdarg.h>
#include <stdio.h>

/*
 * A JSON string, with its quotes. A byte that is not UTF-8 becomes U+FFFD, and what would control a terminal is escaped,
 * since records may go to one.
 */
void sim_put_json(const char *text, FILE *to);

/*
 * One line for a terminal: characters that would control it, and bytes that are
 * not UTF-8, are written as \n, \x1b or \u202e. Returns the columns it takes.
 */
int sim_put_visible(const char *text, FILE *to);

/* As vfprintf, in such a line. */
void sim_put_message(FILE *to, const char *format, va_list args);

/* Breaks a text between words: no line has more than `width` columns. The first line begins with `first`. */
void sim_put_wrapped(const char *text, const char *first, const char *rest, int width, FILE *to);

#endif
