/* SPDX-License-Identifier: BSD-2-Clause */
/* inkling demo: a table is filled, churned and questioned; what it promised beside what it did. */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cli.h"

static const char help[] =
	"usage: inkling demo [--flows N] [--seed N]\n"
	"\n"
	"Fills a table of every kind with flows (15 states, time-outs), replaces each flow\n"
	"twice by a new one while others change their state, then asks for all live flows\n"
	"and for as many strangers. Shows memory, planned and measured errors, and speed.\n"
	"\n"
	"  --flows N   flows at once (default 1M)\n"
	"  --seed N    another run of the same kind (default 1)\n";

enum { STATES = 15, CHURN_ROUNDS = 2, CHUNK = 4096 };

struct demo {
	struct ink_table *table;
	struct ink_plan plan;
	uint64_t n;
	uint64_t *ids;    /* the live flows */
	uint8_t *states;  /* what each of them is in */
	uint64_t *others; /* strangers, and room for new flows */
	ink_answer *answers;
	int *errors;
	uint64_t random;
};

struct figures {
	double insert, hit, miss, churn; /* million operations a second */
	double false_positives;
	uint64_t wrong, refused;
};

/* ------------------------------------------------------------------------- tools */

/* splitmix64: every run of the demo is the same for the same seed. */
static uint64_t next_random(struct demo *d)
{
	uint64_t x = d->random += 0x9e3779b97f4a7c15ull;

	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
	x = (x ^ x >> 27) * 0x94d049bb133111ebull;
	return x ^ x >> 31;
}

static double seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static double million_a_second(uint64_t n, double since)
{
	return (double)n / (seconds() - since) / 1e6;
}

/* How many items of the last batch failed. */
static uint64_t failed(const struct demo *d, uint64_t n)
{
	uint64_t count = 0;

	for (uint64_t i = 0; i < n; i++)
		count += d->errors[i] != 0;
	return count;
}

static uint64_t min_of(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* ------------------------------------------------------------------- what is done */

static void fill(struct demo *d, struct figures *f)
{
	struct ink_batch all = {.n = d->n, .ids = d->ids, .states = d->states, .errors = d->errors};
	double start;

	for (uint64_t i = 0; i < d->n; i++) {
		d->ids[i] = next_random(d);
		d->states[i] = (uint8_t)(next_random(d) % STATES);
	}
	start = seconds();
	ink_insert_batch(d->table, &all);
	f->insert = million_a_second(d->n, start);
	f->refused += failed(d, d->n);
}

/* Flows i .. i+n-1 go, new ones come in their place. */
static double replace(struct demo *d, uint64_t i, uint64_t n, struct figures *f)
{
	struct ink_batch gone = {.n = n, .ids = d->others, .errors = d->errors};
	struct ink_batch come = {.n = n, .ids = d->ids + i, .states = d->states + i, .errors = d->errors};
	double start, spent;

	memcpy(d->others, d->ids + i, n * sizeof *d->ids);
	for (uint64_t k = i; k < i + n; k++) {
		d->ids[k] = next_random(d);
		d->states[k] = (uint8_t)(next_random(d) % STATES);
	}
	start = seconds();
	ink_delete_batch(d->table, &gone);
	spent = seconds() - start;
	f->wrong += failed(d, n);
	start = seconds();
	ink_insert_batch(d->table, &come);
	spent += seconds() - start;
	f->refused += failed(d, n);
	return spent;
}

/* Some of the flows, whichever, change their state. */
static void modify_some(struct demo *d, uint64_t n, struct figures *f)
{
	for (uint64_t i = 0; i < n; i++) {
		uint64_t k = next_random(d) % d->n;

		d->states[k] = (uint8_t)(next_random(d) % STATES);
		f->wrong += ink_modify(d->table, d->ids[k], d->states[k]) != 0;
	}
}

static void churn(struct demo *d, struct figures *f)
{
	uint64_t all = d->n * CHURN_ROUNDS, done = 0;
	double spent = 0;

	while (done < all) {
		uint64_t from = done % d->n, n = min_of(CHUNK, d->n - from);

		spent += replace(d, from, n, f);
		modify_some(d, n / 4, f);
		done += n;
		cli_progress(cli_kind_name(d->plan.kind), (double)done / (double)all);
	}
	f->churn = (double)all / spent / 1e6;
}

/* The live flows in an order that has nothing to do with how they came. */
static void shuffle(struct demo *d)
{
	for (uint64_t i = d->n - 1; i > 0; i--) {
		uint64_t k = next_random(d) % (i + 1), id = d->ids[i];
		uint8_t state = d->states[i];

		d->ids[i] = d->ids[k];
		d->states[i] = d->states[k];
		d->ids[k] = id;
		d->states[k] = state;
	}
}

static void ask_live(struct demo *d, struct figures *f)
{
	struct ink_batch all = {.n = d->n, .ids = d->ids, .answers = d->answers};
	double start = seconds();

	ink_lookup_batch(d->table, &all);
	f->hit = million_a_second(d->n, start);
	for (uint64_t i = 0; i < d->n; i++)
		f->wrong += d->answers[i] != d->states[i];
}

static void ask_strangers(struct demo *d, struct figures *f)
{
	struct ink_batch all = {.n = d->n, .ids = d->others, .answers = d->answers};
	uint64_t answered = 0;
	double start;

	for (uint64_t i = 0; i < d->n; i++)
		d->others[i] = next_random(d);
	start = seconds();
	ink_lookup_batch(d->table, &all);
	f->miss = million_a_second(d->n, start);
	for (uint64_t i = 0; i < d->n; i++)
		answered += d->answers[i] != INK_ABSENT;
	f->false_positives = (double)answered / (double)d->n;
}

/* ------------------------------------------------------------------------- output */

static void show_head(uint64_t n)
{
	printf("%llu flows in %d states with time-outs; each is replaced %d times, then all are asked "
	       "for.\n\n",
	       (unsigned long long)n, STATES, CHURN_ROUNDS);
	printf("%-8s %8s %10s   %10s %10s   %6s   %7s %7s %7s %7s\n", "", "", "bits", "false", "positives",
	       "wrong,", "insert", "hit", "miss", "churn");
	printf("%-8s %8s %10s   %10s %10s   %6s   %31s\n", "kind", "MiB", "a flow", "planned", "measured",
	       "unsure", "million a second, one core");
}

static void show(const struct demo *d, const struct figures *f)
{
	struct ink_stats s = {.size = sizeof s};
	char planned[16], measured[16];

	ink_stats(d->table, &s);
	cli_progress_end();
	printf("%-8s %8.2f %10.1f   %10s %10s   %6llu   %7.1f %7.1f %7.1f %7.1f\n",
	       cli_kind_name(d->plan.kind), (double)s.bytes / (1 << 20), 8 * (double)s.bytes / (double)d->n,
	       cli_show_share(d->plan.error, planned, sizeof planned),
	       cli_show_share(f->false_positives, measured, sizeof measured),
	       (unsigned long long)(f->wrong + f->refused), f->insert, f->hit, f->miss, f->churn);
	fflush(stdout);
}

static void show_foot(void)
{
	printf("\nA false positive is a stranger that gets an answer. dleft is the ACSM paper's table, which "
	       "may be\n"
	       "wrong about flows that it cannot tell apart; line and compact notice that and keep such "
	       "flows apart.\n"
	       "exact keeps whole ids. Next: inkling plan --flows 1M --states 15\n");
}

/* ---------------------------------------------------------------------- the kinds */

static int run_kind(struct demo *d, enum ink_kind kind, uint64_t seed)
{
	struct ink_options o = {
		.size = sizeof o, .kind = kind, .states = STATES, .flows = d->n, .age_bits = 1, .seed = seed};
	struct figures f = {0};
	struct ink_why why;

	/* Compact is for those who count bits and can bear four errors in a thousand. */
	if (kind == INK_COMPACT)
		o.error = 0.0042;
	d->plan = (struct ink_plan){.size = sizeof d->plan};
	d->random = seed;
	d->table = ink_plan(&o, &d->plan, &why) ? NULL : ink_create(&o, &why);
	if (!d->table)
		return cli_failed("%s", why.text);
	fill(d, &f);
	churn(d, &f);
	shuffle(d);
	ask_live(d, &f);
	ask_strangers(d, &f);
	show(d, &f);
	ink_free(d->table);
	return CLI_DONE;
}

static int run_all(uint64_t n, uint64_t seed)
{
	struct demo d = {.n = n,
			 .ids = calloc(n, sizeof *d.ids),
			 .states = calloc(n, sizeof *d.states),
			 .others = calloc(n < CHUNK ? CHUNK : n, sizeof *d.others),
			 .answers = calloc(n, sizeof *d.answers),
			 .errors = calloc(n, sizeof *d.errors)};
	int result = d.ids && d.states && d.others && d.answers
			     ? CLI_DONE
			     : cli_failed("no memory for %llu flows", (unsigned long long)n);

	if (!result)
		show_head(n);
	for (unsigned kind = INK_LINE; kind <= INK_EXACT && !result; kind++)
		result = run_kind(&d, (enum ink_kind)kind, seed);
	if (!result)
		show_foot();
	free(d.ids);
	free(d.states);
	free(d.others);
	free(d.answers);
	free(d.errors);
	return result;
}

static int run(int argc, char **argv)
{
	static const struct option options[] = {{"flows", required_argument, NULL, 'f'},
						{"seed", required_argument, NULL, 's'},
						{NULL, 0, NULL, 0}};
	uint64_t n = 1000000, seed = 1;
	int option, bad = 0;

	opterr = 0;
	while (!bad && (option = getopt_long(argc, argv, ":", options, NULL)) != -1) {
		if (option == '?' || option == ':')
			return cli_bad_option(&cli_demo, option, argv);
		bad = cli_number(optarg, option == 'f' ? &n : &seed);
	}
	if (bad)
		return cli_usage(&cli_demo, "'%s' is no number from 1 on", optarg);
	if (optind < argc)
		return cli_usage(&cli_demo, "'%s' is too much", argv[optind]);
	if (n > 100000000)
		return cli_usage(&cli_demo, "%llu flows are more than a demo can show (100M)",
				 (unsigned long long)n);
	return run_all(n, seed);
}

const struct cli_command cli_demo = {"demo", "a million flows: memory, errors promised and measured, speed",
				     help, run};
