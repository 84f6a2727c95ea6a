/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The laboratory: where the experiments of the papers run.
 *
 * An experiment is one file of this folder and one struct experiment. It gets a
 * lab, which says how much work to do, gives seeds and spreads jobs over the
 * cores, and an empty page (page.h), on which it writes what it found. How pages
 * are shown is no business of an experiment.
 *
 *	static int run_dleft(struct lab *lab, struct page *page)
 *	{
 *		struct trial trials[16] = ...;                     a slot for each job
 *		int error = lab_each(lab, lab->seeds, one_trial, trials);
 *		...
 *		page_claim(page, ...);
 *		return error;
 *	}
 *
 * The same seed gives the same numbers: a job draws from lab_seed() alone and
 * writes into its own slot, so that it does not matter which core takes it when.
 * Nothing here asks for the time of day.
 */
#ifndef INKLING_LAB_RUNNER_H
#define INKLING_LAB_RUNNER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct page;

/* How much work: a look (all of them in two minutes), the papers' sizes, or more than that. */
enum lab_size { LAB_QUICK, LAB_NORMAL, LAB_FULL };

struct lab {
	enum lab_size size;
	unsigned seeds;   /* repetitions with different seeds; at least 1 */
	uint64_t seed;    /* the first of them */
	unsigned workers; /* threads */
	struct lab_board *board;
};

struct experiment {
	const char *name;  /* "table1" */
	const char *title; /* "Table 1: the three structures on a simple machine" */
	const char *where; /* "ACSM 5.1, Table 1" */
	const char *shows; /* a sentence or two: what is asked, and how it is answered */
	double seconds[3]; /* roughly, by enum lab_size, on one core */
	unsigned rounds;   /* how often it calls lab_each(), for the progress; 0 = once */
	bool large;        /* one sample that is large enough: there is nothing to repeat with other seeds */
	int (*run)(struct lab *lab, struct page *page); /* 0, or -errno after lab_fail() */
};

/* All experiments, in the order in which they are listed and run; a NULL ends them. */
extern const struct experiment *const paper_experiments[];

/* The seed of repetition `repetition` of part `part`: two parts never share one. */
uint64_t lab_seed(const struct lab *lab, uint64_t part, uint64_t repetition);

/*
 * Runs jobs 0 .. jobs-1, on all workers, and returns when all are done: 0, or the
 * first error that a job returned (the others are still finished). A job is told
 * its number, and may touch only what belongs to that number. Put long jobs first.
 */
typedef int lab_job(struct lab *lab, void *context, size_t number);
int lab_each(struct lab *lab, size_t jobs, lab_job *job, void *context);

/* Says why something failed, for the message that ends the run; returns `error`. From any thread. */
__attribute__((format(printf, 3, 4))) int lab_fail(struct lab *lab, int error, const char *format, ...);

/* Zeroed memory; ends the program with a message where there is none. free() it. */
void *lab_alloc(size_t count, size_t size);
__attribute__((noreturn)) void lab_out_of_memory(void);

#endif
