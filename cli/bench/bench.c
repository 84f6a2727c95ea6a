/* SPDX-License-Identifier: BSD-2-Clause */
/* inkling bench: the command line, and the tables of each kind. */
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/bench/bench.h"

static const char help[] =
	"usage: inkling bench [--burst N] [--flows N] [--kind K] [--peers] [--seed N]\n"
	"\n"
	"Measures the cost of the library's calls on this computer. For a table of each\n"
	"kind, full of flows in 15 states: the time of insert, of lookups of live flows\n"
	"(hit) and of strangers (miss), of modify, step, delete, and churn (a delete and\n"
	"an insert), by single calls and in batches. Beside them the cost of memory\n"
	"alone: the gather of two random lines. Also the memory, and the planned and\n"
	"measured errors.\n"
	"\n"
	"  --burst N   items of a batch, 1 to 256 (default 256)\n"
	"  --flows N   flows at once, 1000 to 100M (default 1M)\n"
	"  --kind K    only line, compact, dleft, exact, stateful, direct or kbf\n"
	"  --peers     then the same beside boost, absl and DPDK (what 'make bench' does)\n"
	"  --seed N    other flows (default 1)\n";

enum { FLOWS_LEAST = 1000, FLOWS_MOST = 100000000 };

_Static_assert((int)FLOWS_LEAST >= (int)ROUNDS,
	       "a slice has a flow at least, and all rounds together delete no flow twice");

struct request {
	uint64_t flows, seed, burst;
	unsigned kind; /* 0: all */
	int peers;
};

/* ------------------------------------------------------------------------ the kinds */

/* One event, which leads each state to the next. */
static struct ink_rules rules_of(struct ink_row rows[STATES + 2])
{
	for (int i = 0; i < STATES; i++)
		rows[i] = (struct ink_row){.next = (int16_t)((i + 1) % STATES)};
	rows[STATES] = rows[STATES + 1] = (struct ink_row){.next = INK_NO_ROW};
	return (struct ink_rules){
		.size = sizeof(struct ink_rules), .states = STATES, .events = 1, .rows = rows};
}

/* Planned errors; 0: the default. compact is for the fewest bits, at an error of four in a thousand. */
static const double errors[] = {[INK_COMPACT] = 0.0042};

static int make_tables(struct bench *b, unsigned kind)
{
	struct ink_row rows[STATES + 2];
	struct ink_rules rules = rules_of(rows);
	struct ink_options o = {.size = sizeof o,
				.kind = (enum ink_kind)kind,
				.states = STATES,
				.flows = b->n,
				.age_bits = (cli_kind(kind).can & INK_CAN_TIME_OUT) != 0,
				.error = kind < sizeof errors / sizeof errors[0] ? errors[kind] : 0,
				.seed = b->seed,
				.rules = &rules};
	struct ink_why why = {"no memory"};

	b->plan = (struct ink_plan){.size = sizeof b->plan};
	if (ink_plan(&o, &b->plan, &why) == 0)
		b->tables[SINGLE] = ink_create(&o, &why);
	if (b->tables[SINGLE])
		b->tables[BATCHED] = ink_create(&o, &why);
	return b->tables[BATCHED] ? CLI_DONE : cli_failed("%s", why.text);
}

/* As large as the plan; written, since untouched pages all map to one page of zeros. */
static int make_memory(struct bench *b)
{
	b->lines = b->plan.bytes / LINE;
	b->memory = aligned_alloc(LINE, b->lines * LINE);
	if (!b->memory)
		return cli_failed("no memory for the gather");
	memset(b->memory, 0, b->lines * LINE);
	return CLI_DONE;
}

static int run_kind(struct bench *b, unsigned kind)
{
	int result = make_tables(b, kind);

	if (!result)
		result = make_memory(b);
	if (!result) {
		bench_measure(b);
		bench_show_kind(b);
	}
	free(b->memory);
	ink_free(b->tables[SINGLE]);
	ink_free(b->tables[BATCHED]);
	b->memory = NULL;
	b->tables[SINGLE] = b->tables[BATCHED] = NULL;
	return result;
}

static int run_kinds(struct bench *b, const struct request *r)
{
	int result = CLI_DONE;

	bench_show_head(b);
	for (unsigned kind = 1; cli_kind(kind).name && !result; kind++)
		if (!r->kind || r->kind == kind)
			result = run_kind(b, kind);
	if (!result)
		bench_show_foot(b);
	return result;
}

static int run_all(const struct request *r)
{
	struct bench *b = calloc(1, sizeof *b);
	int result;

	if (!b)
		return cli_failed("no memory");
	b->n = r->flows;
	b->seed = r->seed;
	b->burst = r->burst;
	b->slice_size = r->flows / ROUNDS < SLICE ? r->flows / ROUNDS : SLICE;
	b->ids = calloc(b->n, sizeof *b->ids);
	b->states = calloc(b->n, sizeof *b->states);
	b->order = calloc(b->n, sizeof *b->order);
	if (b->ids && b->states && b->order)
		result = run_kinds(b, r);
	else
		result = cli_failed("no memory for %llu flows", (unsigned long long)b->n);
	free(b->ids);
	free(b->states);
	free(b->order);
	free(b);
	return result;
}

/* ------------------------------------------------------------------------ the peers */

/* Runs bench/ink-bench beside this program, as in a build folder, or that on the PATH. Returns only on failure. */
static int run_peers(const struct request *r)
{
	char path[4096], flows[24], burst[24];
	char *const arguments[] = {"ink-bench", "--flows", flows, "--burst", burst, "--only", "given", NULL};
	ssize_t n = readlink("/proc/self/exe", path, sizeof path);
	char *slash = n > 0 ? memrchr(path, '/', (size_t)n) : NULL;

	fflush(stdout);
	snprintf(flows, sizeof flows, "%llu", (unsigned long long)r->flows);
	snprintf(burst, sizeof burst, "%llu", (unsigned long long)r->burst);
	if (slash && (size_t)(slash - path) + sizeof "/bench/ink-bench" < sizeof path) {
		strcpy(slash, "/bench/ink-bench");
		execv(path, arguments);
	}
	execvp(arguments[0], arguments);
	return cli_failed("ink-bench: %s; 'make bench' in Inkling's source builds it, with its peers",
			  strerror(errno));
}

/* ----------------------------------------------------------------- the command line */

#define AT(field) offsetof(struct request, field)

static const struct cli_option options[] = {
	{.name = "burst", .how = CLI_NUMBER, .at = AT(burst), .least = 1, .most = BURST},
	{.name = "flows", .how = CLI_NUMBER, .at = AT(flows), .least = FLOWS_LEAST, .most = FLOWS_MOST},
	{.name = "kind", .how = CLI_CHOICE, .at = AT(kind), .words = cli_kinds, .least = 1},
	{.name = "peers", .how = CLI_FLAG, .at = AT(peers)},
	{.name = "seed", .how = CLI_NUMBER, .at = AT(seed), .least = 1},
};

static int run(int argc, char **argv)
{
	struct request r = {.flows = 1000000, .seed = 1, .burst = BURST};
	struct cli_line line = {&cli_bench, options, sizeof options / sizeof options[0], &r, {NULL}};
	int result = cli_options(&line, argc, argv);

	if (!result)
		result = cli_nothing_more(&line, argc, argv);
	if (!result)
		result = run_all(&r);
	return result || !r.peers ? result : run_peers(&r);
}

const struct cli_command cli_bench = {"bench", "measures the library's calls here: speed, memory, errors",
				      help, run};
