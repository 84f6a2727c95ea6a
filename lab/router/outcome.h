/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What became of a cell: what router-traffic said, and what the film then looks like.
 *
 *     FOLDER/mpeg2.clip, h264.clip    what was sent
 *     FOLDER/cells/NAME               what was said in the kernel: which datagrams were lost, rates, counters
 *     FOLDER/scores/NAME              what the receivers see: one line
 *
 * Each file is complete when it is there.
 */
#ifndef INKLING_LAB_ROUTER_OUTCOME_H
#define INKLING_LAB_ROUTER_OUTCOME_H

#include <stdio.h>

#include "lab/router/cells.h"

/* Means over the streams. Shares are of bytes sent, behind the first group. */
struct outcome {
	double link; /* what the bottleneck delivers, bit/s, measured before the cell */
	double loss, of_type[FILM_TYPES];
	double psnr, ssim, shown, worst; /* worst: PSNR of the worst stream */
	double video, tcp;               /* what arrived, bit/s, on the wire */
	double late;                     /* ms: how much later than planned a packet was sent */
};

/* Of one stream, which datagrams were lost; `lost` has room for all of the film. False: not in the text. */
bool outcome_lost(const char *text, const struct film *film, unsigned stream, bool *lost);

/* Rates out of the text; and 0, or -EILSEQ if the cell did not end well. */
int outcome_rates(const char *text, struct outcome *outcome);

/* From what was said to what is seen. */
int outcome_watch(const char *text, const struct film *film, unsigned streams, struct outcome *outcome,
		  struct ink_why *why);

/* As the one line of a score file, and back: false if it is not one. */
void outcome_print(const struct outcome *outcome, FILE *to);
bool outcome_scan(const char *line, struct outcome *outcome);

#endif
