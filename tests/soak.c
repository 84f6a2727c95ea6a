/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * soak SECONDS [SEED]: random operations beside an oracle until the time is
 * over.
 *
 * Rounds alternate: a hundred programs on small tables, where everything goes
 * wrong that can (program.h), and a table of random size and shape, full,
 * through replacements that must not go wrong at all. Every round has a seed of
 * its own; the first failure prints it and ends with 1, and `soak 1 SEED`
 * begins with that round.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "tests/program.h"
#include "tests/churn.h"

enum { PROGRAMS = 100, MOST_BYTES = 6000, MOST_FLOWS = 200000, PROGRESS_SECONDS = 5 };

struct soak {
	uint64_t rounds, calls;
	double began, reported;
};

static double seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* --------------------------------------------------------------- small tables */

static const char *run_programs(struct soak *s)
{
	static uint8_t bytes[MOST_BYTES];
	static struct program p;
	const char *wrong = NULL;

	for (unsigned i = 0; i < PROGRAMS && !wrong; i++) {
		size_t size = 16 + random_below(MOST_BYTES - 16);

		for (size_t j = 0; j < size; j++)
			bytes[j] = (uint8_t)(random_word() >> 56);
		wrong = program_run(&p, bytes, size);
		s->calls += p.calls;
	}
	return wrong;
}

/* ---------------------------------------------------------------- large tables */

static struct ink_options random_options(void)
{
	static const double errors[] = {1e-1, 1e-2, 1e-3, 1e-4};
	struct ink_options o = {
		.size = sizeof o, .seed = 1, .simd = random_below(2) ? INK_SIMD_NONE : INK_SIMD_BEST};

	o.kind = random_below(2) ? INK_LINE : INK_COMPACT;
	o.writers = kind_can(o.kind, INK_CAN_MANY_WRITERS) ? 1 + random_below(2) : 1;
	o.states = 1 + random_below(INK_MAX_STATES);
	o.age_bits = random_below(3);
	o.error = errors[random_below(4)];
	o.flows = 1 + random_below(1 + random_below(MOST_FLOWS));
	return o;
}

static const char *run_churn(struct soak *s)
{
	struct ink_options o = random_options();
	struct ink_table *t = ink_create(&o, NULL);
	struct churn c;
	const char *wrong;

	if (!t)
		return errno == ERANGE ? NULL : "a table could not be made";
	churn_begin(&c, t, &o, random_word());
	churn_replace(&c, 2 * o.flows);
	wrong = churn_end(&c);
	s->calls += c.calls;
	ink_free(t);
	return wrong;
}

/* -------------------------------------------------------------------- the rounds */

static void report(struct soak *s, double now)
{
	printf("%6.0f s  %llu rounds, %llu calls, no error\n", now - s->began, (unsigned long long)s->rounds,
	       (unsigned long long)s->calls);
	fflush(stdout);
	s->reported = now;
}

static int run_round(struct soak *s, uint64_t seed)
{
	const char *wrong;

	random_state = id_number(seed);
	wrong = seed % 2 ? run_programs(s) : run_churn(s);
	s->rounds++;
	if (wrong)
		printf("seed %llu: %s\n", (unsigned long long)seed, wrong);
	return wrong != NULL;
}

int main(int argc, char **argv)
{
	struct soak s = {.began = seconds(), .reported = seconds()};
	double until = s.began + (argc > 1 ? atof(argv[1]) : 0), now;
	uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 0) : (uint64_t)time(NULL) << 20;

	if (argc < 2) {
		fprintf(stderr, "usage: soak SECONDS [SEED]\n");
		return 2;
	}
	do {
		if (run_round(&s, seed++))
			return 1;
		now = seconds();
		if (now - s.reported >= PROGRESS_SECONDS)
			report(&s, now);
	} while (now < until);
	report(&s, now);
	return 0;
}
