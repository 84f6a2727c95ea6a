/* SPDX-License-Identifier: BSD-2-Clause */
/* inkling bench: the output. */
#include <stdlib.h>
#include <string.h>

#include "cli/bench/bench.h"

static const char *const op_names[OPS] = {"insert", "hit",    "miss",  "modify",
					  "step",   "delete", "churn", "gather"};

/* --------------------------------------------------------------------------- output */

static int by_size(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double median(const double *values)
{
	double sorted[ROUNDS];

	memcpy(sorted, values, sizeof sorted);
	qsort(sorted, ROUNDS, sizeof *sorted, by_size);
	return sorted[ROUNDS / 2];
}

void bench_show_head(const struct bench *b)
{
	printf("%llu flows in %d states, with time-outs if the kind has them; ids are given; one core;\n"
	       "batches of %llu.\n\n"
	       "%17s",
	       (unsigned long long)b->n, STATES, (unsigned long long)b->burst, "");
	for (unsigned op = 0; op < OPS; op++)
		printf(" %7s", op_names[op]);
	printf("\n");
}

/* Single calls and batches share one gather, which is in the row of batches. */
static void show_row(const struct bench *b, enum way way, int rate)
{
	static const char *const names[WAYS] = {"single", "batched"};

	printf("  %-9s %-4s ", rate ? "" : names[way], rate ? "M/s" : "ns");
	for (unsigned op = 0; op < (way == SINGLE ? GATHER : OPS); op++) {
		double ns = median(b->ns[way][op]);

		printf(" %7.1f", rate ? 1e3 / ns : ns);
	}
	printf("\n");
}

static const char *share(uint64_t part, uint64_t of, char text[16])
{
	return cli_show_share((double)part / (double)of, text, 16);
}

void bench_show_kind(const struct bench *b)
{
	struct ink_stats s = {.size = sizeof s};
	char planned[16], answered[16], wrong[16];

	ink_stats(b->tables[SINGLE], &s);
	printf("\n%s: %.2f MiB, %.1f bits a flow; strangers answered %s (planned %s); "
	       "live flows wrong or unsure %s\n",
	       cli_kind(b->plan.kind).name, (double)s.bytes / (1 << 20), 8 * (double)s.bytes / (double)b->n,
	       share(b->answered, b->strangers, answered),
	       cli_show_share(b->plan.error, planned, sizeof planned), share(b->wrong, b->known, wrong));
	for (unsigned way = 0; way < WAYS; way++) {
		show_row(b, (enum way)way, 0);
		show_row(b, (enum way)way, 1);
	}
	fflush(stdout);
}

void bench_show_foot(const struct bench *b)
{
	printf("\nCPU time, medians of %d slices of %llu; insert: the mean from empty to full. churn is a\n"
	       "delete and an insert. gather only reads two random lines of 64 bytes for each id, in as much\n"
	       "memory as the table has. exact keeps whole ids; dleft, stateful, direct and kbf are the\n"
	       "papers' structures.\n",
	       ROUNDS, (unsigned long long)b->slice_size);
}
