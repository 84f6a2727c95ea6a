/* SPDX-License-Identifier: BSD-2-Clause */
#include "bench/kernel/turns.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

/* ------------------------------------------------------------------ in turns */

static int program_of(const struct bench_set *s, const struct variant *v)
{
	return v->bare ? v->fd : bench_program(s->stages, "bench_prepare");
}

static uint32_t packets_of(const struct bench_turns *how, const struct variant *v)
{
	return v->bare ? BENCH_MORE * how->packets : how->packets;
}

static struct ink_kernel_counts counts_of(struct bench_set *s)
{
	struct ink_kernel_counts c;

	if (ink_kernel_counts(s->kernel, 0, &c))
		die("the counts cannot be read");
	return c;
}

/* All flows were live and known: each packet made a step, and none began a flow, was refused or was unsure. */
static void check_counts(const struct variant *v, const struct ink_kernel_counts *before,
			 const struct ink_kernel_counts *after, uint64_t packets)
{
	if (after->steps - before->steps + after->given_up - before->given_up != packets ||
	    after->begun != before->begun || after->unsure != before->unsure ||
	    after->refused != before->refused)
		die("%s: of %llu packets %llu made a step, %llu began a flow, %llu were unsure, %llu refused",
		    v->name, (unsigned long long)packets, (unsigned long long)(after->steps - before->steps),
		    (unsigned long long)(after->begun - before->begun),
		    (unsigned long long)(after->unsure - before->unsure),
		    (unsigned long long)(after->refused - before->refused));
}

static void turn(const struct bench_turns *how, struct variant *v)
{
	struct ink_kernel_counts before = counts_of(how->set), after;
	uint64_t missing = bench_missing(how->set);

	if (!v->bare)
		bench_choose(how->set, v->fd);
	how->set->plan->flows = v->flows ? v->flows : how->set->flows;
	bench_run(how->set, program_of(how->set, v), how->warm);
	samples_add(&v->ns, bench_run(how->set, program_of(how->set, v), packets_of(how, v)));
	how->set->plan->flows = how->set->flows;
	after = counts_of(how->set);
	if (v->ours)
		check_counts(v, &before, &after, (uint64_t)how->warm + how->packets);
	v->packets += (uint64_t)how->warm + how->packets;
	v->missing += bench_missing(how->set) - missing;
	if (v->exact && v->missing)
		die("%s: %llu flows are missing", v->name, (unsigned long long)v->missing);
}

void turns_take(const struct bench_turns *how, struct variant *v, unsigned n)
{
	bench_pin(0);
	for (unsigned round = 0; round < how->rounds; round++)
		for (unsigned i = 0; i < n; i++)
			turn(how, &v[(i + round) % n]);
}

/* ------------------------------------------------------------------- together */

enum { SLICES = 4 }; /* of a turn: a thread goes on, uncounted, until the other one is through, too */

struct runner {
	const struct bench_turns *how;
	const struct variant *v;
	unsigned processor;
	pthread_barrier_t *start;
	atomic_uint *running;
	double ns;
};

static void *run(void *user)
{
	struct runner *r = user;
	uint32_t packets = packets_of(r->how, r->v) / SLICES;
	int program = program_of(r->how->set, r->v);
	unsigned done = 0;

	bench_pin(r->processor);
	pthread_barrier_wait(r->start);
	bench_run(r->how->set, program, packets);
	while (done < SLICES || atomic_load(r->running)) {
		double ns = bench_run(r->how->set, program, packets);

		if (done++ < SLICES)
			r->ns += ns / SLICES;
		if (done == SLICES)
			atomic_fetch_sub(r->running, 1);
	}
	return NULL;
}

/* Packets a ns on so many processors at once. */
static double rate(const struct bench_turns *how, const struct variant *v, unsigned processors)
{
	struct runner r[2];
	pthread_t thread[2];
	pthread_barrier_t start;
	atomic_uint running = processors;
	double sum = 0;

	pthread_barrier_init(&start, NULL, processors);
	for (unsigned i = 0; i < processors; i++) {
		r[i] = (struct runner){how, v, i, &start, &running, 0};
		if (pthread_create(&thread[i], NULL, run, &r[i]))
			die("no thread");
	}
	for (unsigned i = 0; i < processors; i++) {
		pthread_join(thread[i], NULL);
		sum += 1 / r[i].ns;
	}
	pthread_barrier_destroy(&start);
	return sum;
}

void turns_together(const struct bench_turns *how, const struct variant *v, unsigned n, struct samples *gains)
{
	for (unsigned round = 0; round < how->rounds; round++)
		for (unsigned i = 0; i < n; i++) {
			const struct variant *here = &v[(i + round) % n];
			double alone;

			if (!here->bare)
				bench_choose(how->set, here->fd);
			alone = rate(how, here, 1);
			samples_add(&gains[(i + round) % n], rate(how, here, 2) / alone);
		}
}
