/* SPDX-License-Identifier: BSD-2-Clause */
/* The two parts of the experiment `video`, each with its own page parts. */
#ifndef INKLING_LAB_VIDEO_PARTS_H
#define INKLING_LAB_VIDEO_PARTS_H

#include "lab/runner.h"
#include "lab/page.h"

/* How often a table of many streams decides wrongly about a packet: video_decisions.c. */
int video_decisions(struct lab *lab, struct page *page);

/* The quality of a film under the policies: video_quality.c. Needs ffmpeg; without it the page says so. */
int video_quality(struct lab *lab, struct page *page);

#endif
