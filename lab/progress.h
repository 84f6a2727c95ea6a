/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The board of a lab: which experiments stand on it, how far the work is, and
 * what went wrong. The command line hangs it up and looks at it; experiments see
 * it only through lab.h.
 */
#ifndef INKLING_LAB_PROGRESS_H
#define INKLING_LAB_PROGRESS_H

#include "lab/runner.h"

/* Told now and then, never by two threads at once: how much of the whole is done, 0 to 1, and what is at work. */
typedef void board_watch(const struct experiment *now, double done, void *user);

struct lab_board *board_new(board_watch *watch, void *user);
void board_free(struct lab_board *board);

/* One more experiment will be run. */
void board_expect(struct lab_board *board, const struct experiment *experiment, enum lab_size size);

/* Runs one that was expected. 0, or -errno: board_why() then says why. */
int board_run(struct lab *lab, const struct experiment *experiment, struct page *page);
const char *board_why(const struct lab_board *board);

#endif
