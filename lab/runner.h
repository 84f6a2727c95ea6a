/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The lab runs the experiments of the papers.
 *
 * An experiment is one file of this folder and one struct experiment. It receives a lab, which says how much
 * work to do, hands out seeds and spreads jobs over the cores, and an empty page (page.h), to which it writes
 * its results. Experiments do not know how pages are shown.
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
 * The same seed gives the same numbers on any number of threads: a job draws from lab_seed() alone and writes
 * to its own slot. Experiments never read the time of day.
 *
 * Where a paper leaves open how an experiment was done, `interpretation` states the one reading to which the
 * page's claims and verdicts are bound. It is part of the code, so a run cannot choose it to suit its result.
 */
#ifndef INKLING_LAB_RUNNER_H
#define INKLING_LAB_RUNNER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct page;

/* How much work: a quick look (all experiments in two minutes), the papers' sizes, or larger. */
enum lab_size { LAB_QUICK, LAB_NORMAL, LAB_FULL };

struct lab {
	enum lab_size size;
	unsigned seeds;   /* repetitions with different seeds; at least 1 */
	uint64_t seed;    /* the first of them */
	unsigned workers; /* threads */
	struct lab_progress *progress;
};

struct experiment {
	const char *name;  /* "table1" */
	const char *title; /* "Table 1: the three structures on a simple machine" */
	const char *where; /* "ACSM 5.1, Table 1" */
	const char *shows; /* a sentence or two: the question, and how it is answered */
	const char *
		interpretation; /* the reading to which claims are bound; NULL: the paper leaves nothing open */
	double seconds[3];      /* roughly, by enum lab_size, on one core */
	unsigned rounds;        /* how often it calls lab_each(), to compute progress; 0 = once */
	bool large;             /* takes one large sample; --seeds does not apply */
	int (*run)(struct lab *lab, struct page *page); /* 0, or -errno after lab_fail() */
};

/* All experiments, in the order in which they are listed and run, ended by NULL. */
extern const struct experiment *const lab_experiments[];

/* The seed of repetition `repetition` of part `part`: two parts never share one. */
uint64_t lab_seed(const struct lab *lab, uint64_t part, uint64_t repetition);

/*
 * Runs jobs 0 .. jobs-1 on all workers and returns when all are done: 0, or the first error that a job
 * returned (the other jobs still run). A job receives its number and may touch only what belongs to it. Put
 * long jobs first.
 */
typedef int lab_job(struct lab *lab, void *context, size_t number);
int lab_each(struct lab *lab, size_t jobs, lab_job *job, void *context);

/* Records why something failed, for the message that ends the run. Returns `error`. Thread-safe. */
__attribute__((format(printf, 3, 4))) int lab_fail(struct lab *lab, int error, const char *format, ...);

/* Zeroed memory; exits with a message if there is none. free() it. */
void *lab_alloc(size_t count, size_t size);
__attribute__((noreturn)) void lab_out_of_memory(void);

#endif
