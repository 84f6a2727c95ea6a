/* SPDX-License-Identifier: BSD-2-Clause */
#include "lab/progress.h"

#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/seeded.h"

/*
 * The work is measured in the seconds that the experiments say they take: only
 * their shares count, for how far the whole is.
 */
struct lab_board {
	pthread_mutex_t lock;
	board_watch *watch;
	void *user;
	double expected, finished; /* seconds of all experiments, and of those that are done */
	const struct experiment *now;
	double now_seconds;
	unsigned round;
	char why[256];
};

void lab_out_of_memory(void)
{
	fprintf(stderr, "inkling: out of memory\n");
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

	return seed ? seed : 1; /* a table takes 0 for "draw one" */
}

/* ------------------------------------------------------------------------- jobs */

struct round {
	struct lab *lab;
	lab_job *job;
	void *context;
	size_t jobs, next, done;
	int error;
};

static void tell(struct lab_board *board, double of_round)
{
	unsigned rounds = board->now->rounds ? board->now->rounds : 1;
	double part = ((double)board->round + of_round) / rounds;

	board->watch(board->now,
		     (board->finished + board->now_seconds * (part < 1 ? part : 1)) / board->expected,
		     board->user);
}

static bool take(struct round *round, size_t *number)
{
	struct lab_board *board = round->lab->board;
	bool left;

	pthread_mutex_lock(&board->lock);
	left = round->next < round->jobs;
	if (left)
		*number = round->next++;
	pthread_mutex_unlock(&board->lock);
	return left;
}

static void finish(struct round *round, int error)
{
	struct lab_board *board = round->lab->board;

	pthread_mutex_lock(&board->lock);
	if (error && !round->error)
		round->error = error;
	tell(board, (double)++round->done / (double)round->jobs);
	pthread_mutex_unlock(&board->lock);
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

	/* This thread works too; where no other can be had, alone. */
	while (started + 1 < lab->workers && !pthread_create(&threads[started], NULL, work, &round))
		started++;
	work(&round);
	while (started)
		pthread_join(threads[--started], NULL);
	free(threads);
	lab->board->round++;
	return round.error;
}

int lab_fail(struct lab *lab, int error, const char *format, ...)
{
	va_list args;

	pthread_mutex_lock(&lab->board->lock);
	va_start(args, format);
	vsnprintf(lab->board->why, sizeof lab->board->why, format, args);
	va_end(args);
	pthread_mutex_unlock(&lab->board->lock);
	return error;
}

/* ------------------------------------------------------------------------ board */

static void nobody_watches(const struct experiment *now, double done, void *user)
{
	(void)now;
	(void)done;
	(void)user;
}

struct lab_board *board_new(board_watch *watch, void *user)
{
	struct lab_board *board = lab_alloc(1, sizeof *board);

	pthread_mutex_init(&board->lock, NULL);
	board->watch = watch ? watch : nobody_watches;
	board->user = user;
	return board;
}

void board_free(struct lab_board *board)
{
	pthread_mutex_destroy(&board->lock);
	free(board);
}

void board_expect(struct lab_board *board, const struct experiment *experiment, enum lab_size size)
{
	board->expected += experiment->seconds[size];
}

int board_run(struct lab *lab, const struct experiment *experiment, struct page *page)
{
	struct lab_board *board = lab->board;
	int error;

	board->now = experiment;
	board->now_seconds = experiment->seconds[lab->size];
	board->round = 0;
	snprintf(board->why, sizeof board->why, "it did not say why");
	tell(board, 0);
	error = experiment->run(lab, page);
	board->finished += board->now_seconds;
	return error;
}

const char *board_why(const struct lab_board *board)
{
	return board->why;
}
