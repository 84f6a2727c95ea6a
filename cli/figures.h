/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Numbers as people read them, and the lines of a summary:
 *
 *     flows       begun                           12,000
 *                 expired                            310
 *     label       name                            number
 *
 * Texts are in one of a few buffers: they last for one call of printf.
 */
#ifndef INKLING_CLI_FIGURES_H
#define INKLING_CLI_FIGURES_H

#include <stdint.h>
#include <stdio.h>

enum { CLI_LABEL_WIDTH = 12, CLI_NAME_WIDTH = 24, CLI_NUMBER_WIDTH = 14 };

/* 1234567 as "1,234,567". */
const char *cli_grouped(uint64_t n);

/* "2.8 MiB" */
const char *cli_sized(uint64_t bytes);

/* Nanoseconds in seconds, or in the unit of which it is two or more. */
const char *cli_lasting(uint64_t nanoseconds);

/* One line of a block; only the first has the block's label. */
void cli_line(FILE *to, const char *label, const char *name, uint64_t number);

#endif
