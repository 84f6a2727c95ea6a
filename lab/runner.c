/* SPDX-License-Identifier: BSD-2-Clause */
#include "lab/progress.h"

#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/seeded.h"

/* Work is measured in the seconds that experiments estimate for themselves; only the proportions matter. */
struct lab_progress {
	pthread_mutex_t lock;
	progress_watch *watch;
	void *user;
	double expected, finished; /* estimated seconds of all experiments, and of the finished ones */
	const struct experiment *now;
	double now_seconds;
	unsigned round;
	char failure[256];
};

void lab_out_of_memory(void)
{
	fprintf(stderr, "inkling-lab: out of memory\n");
	exit(1);
}

void *lab_alloc(size_t count, size_t size)
{
	void *memory = calloc(count ? count : 1, size);

	if (!memory)
		lab_out_of_memory();
	return memory;
}

/* ------------------------------------------------------------------------ seeds */

uint64_t lab_seed(const struct lab *lab, uint64_t part, uint64_t repetition)
{
	uint64_t seed = sim_mix(sim_mix(sim_mix(lab->seed) ^ part) ^ repetition);

	return seed ? seed : 1; /* to a table, 0 means "draw one" */
}

/* ------------------------------------------------------------------------- jobs */

struct round {
	struct lab *lab;
	lab_job *job;
	void *context;
	size_t jobs, next, done;
	int error;
};

static void report(struct lab_progress *progress, double of_round)
{
	unsigned rounds = progress->now->rounds ? progress->now->rounds : 1;
	double part = ((double)progress->round + of_round) / rounds;

	progress->watch(progress->now,
			(progress->finished + progress->now_seconds * (part < 1 ? part : 1)) /
				progress->expected,
			progress->user);
}

static bool take(struct round *round, size_t *number)
{
	struct lab_progress *progress = round->lab->progress;
	bool left;

	pthread_mutex_lock(&progress->lock);
	left = round->next < round->jobs;
	if (left)
		*number = round->next++;
	pthread_mutex_unlock(&progress->lock);
	return left;
}

static void finish(struct round *round, int error)
{
	struct lab_progress *progress = round->lab->progress;

	pthread_mutex_lock(&progress->lock);
	if (error && !round->error)
		round->error = error;
	report(progress, (double)++round->done / (double)round->jobs);
	pthread_mutex_unlock(&progress->lock);
}

static void *work(void *argument)
{
	struct round *round = argument;
	size_t number;

	while (take(round, &number))
		finish(round, round->job(round->lab, round->context, number));
	return NULL;
}

int lab_each(struct lab *lab, size_t jobs, lab_job *job, void *context)
{
	struct round round = {.lab = lab, .job = job, .context = context, .jobs = jobs};
	pthread_t *threads = lab_alloc(lab->workers, sizeof *threads);
	unsigned started = 0;

	/* This thread works too, and alone if no other can be started. */
	while (started + 1 < lab->workers && !pthread_create(&threads[started], NULL, work, &round))
		started++;
	work(&round);
	while (started)
		pthread_join(threads[--started], NULL);
	free(threads);
	lab->progress->round++;
	return round.error;
}

int lab_fail(struct lab *lab, int error, const char *format, ...)
{
	va_list args;

	pthread_mutex_lock(&lab->progress->lock);
	va_start(args, format);
	vsnprintf(lab->progress->failure, sizeof lab->progress->failure, format, args);
	va_end(args);
	pthread_mutex_unlock(&lab->progress->lock);
	return error;
}

/* --------------------------------------------------------------------- progress */

static void ignore(const struct experiment *now, double done, void *user)
{
	(void)now;
	(void)done;
	(void)user;
}

struct lab_progress *progress_new(progress_watch *watch, void *user)
{
	struct lab_progress *progress = lab_alloc(1, sizeof *progress);

	pthread_mutex_init(&progress->lock, NULL);
	progress->watch = watch ? watch : ignore;
	progress->user = user;
	return progress;
}

void progress_free(struct lab_progress *progress)
{
	pthread_mutex_destroy(&progress->lock);
	free(progress);
}

void progress_expect(struct lab_progress *progress, const struct experiment *experiment, enum lab_size size)
{
	progress->expected += experiment->seconds[size];
}

int lab_run(struct lab *lab, const struct experiment *experiment, struct page *page)
{
	struct lab_progress *progress = lab->progress;
	int error;

	progress->now = experiment;
	progress->now_seconds = experiment->seconds[lab->size];
	progress->round = 0;
	snprintf(progress->failure, sizeof progress->failure, "no reason given");
	report(progress, 0);
	error = experiment->run(lab, page);
	progress->finished += progress->now_seconds;
	return error;
}

const char *progress_failure(const struct lab_progress *progress)
{
	return progress->failure;
}
