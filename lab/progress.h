/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The progress of a lab: which experiments will run, how much of the work is done, and why one failed. The
 * command line creates it and shows it; experiments reach it only through runner.h.
 */
#ifndef INKLING_LAB_PROGRESS_H
#define INKLING_LAB_PROGRESS_H

#include "lab/runner.h"

/* Called by one thread at a time: the running experiment, and the share of all work done (0 to 1). */
typedef void progress_watch(const struct experiment *now, double done, void *user);

/* `watch` may be NULL. progress_free() it. */
struct lab_progress *progress_new(progress_watch *watch, void *user);
void progress_free(struct lab_progress *progress);

/* Announces an experiment that lab_run() will run. */
void progress_expect(struct lab_progress *progress, const struct experiment *experiment, enum lab_size size);

/* Runs an announced experiment. 0, or -errno: progress_failure() then has the reason. */
int lab_run(struct lab *lab, const struct experiment *experiment, struct page *page);
const char *progress_failure(const struct lab_progress *progress);

#endif
