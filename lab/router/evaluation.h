/* SPDX-License-Identifier: BSD-2-Clause */
/* A folder of results: its films, its cells, and what is made of them. */
#ifndef INKLING_LAB_ROUTER_EVALUATION_H
#define INKLING_LAB_ROUTER_EVALUATION_H

#include "lab/router/outcome.h"
#include "lab/runner.h"

struct evaluation {
	struct lab lab; /* what an experiment receives */
	const struct study *study;
	const char *folder;
	struct film films[CLIPS];
};

/* Makes the films and, where they are not there yet, the clips. 0, or -errno: -ESTALE: the clips are of other films. */
int evaluation_open(struct evaluation *e, struct ink_why *why);
void evaluation_close(struct evaluation *e);

/* What is there of a cell: its text, to be freed, or NULL. */
char *evaluation_said(const struct evaluation *e, const struct router_cell *cell);

/* Its score, or false if there is none. */
bool evaluation_outcome(const struct evaluation *e, const struct router_cell *cell, struct outcome *outcome);

/* Scores the cells that have none yet, on all workers; within lab_run(). */
int evaluation_score(struct evaluation *e);

/* The cells that were not run, a line each, as lab/router/road.sh takes them. */
void evaluation_plan(const struct evaluation *e, FILE *to);

/* The pages, as experiments: of the grid (report.c) and of the demo (demo.c). */
extern const struct experiment experiment_router, experiment_demo;

#endif
