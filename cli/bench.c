/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * inkling bench: what the library's calls cost here, kind by kind.
 *
 * Two tables of a kind get the same flows, one by single calls and the other
 * by batches; they take turns, slice by slice, with each other and with the
 * raw gather: two random lines of 64 bytes for each id, out of as much memory as
 * the table has. That is what memory alone costs a table that keeps a flow in
 * one of two lines.
 *
 *     flows     [ 0 1 2 3 ...        n )      id and state of each: the truth
 *     order     [ 7 2 9 0 ...        n )      shuffled; slices walk along it
 *     slice           [ 9 0 ... )             up to SLICE flows, side by side
 *
 * Preparing a slice is not timed, and every answer is checked within the time.
 */
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cli/cli.h"
#include "sim/seeded.h"

static const char help[] =
	"usage: inkling bench [--flows N] [--kind K] [--peers] [--seed N]\n"
	"\n"
	"Measures what the library's calls cost on this machine: for a table of each\n"
	"kind, full of flows in 15 states, the time of an insert, of lookups of live\n"
	"flows (hit) and of strangers (miss), of modify, step, delete, and churn (a\n"
	"delete and an insert), by single calls and in batches; and beside them what\n"
	"memory alone costs: the gather of two random lines. Also the memory, and the\n"
	"errors that were planned and that came.\n"
	"\n"
	"  --flows N   flows at once, 1000 to 100M (default 1M)\n"
	"  --kind K    only line, compact, dleft, exact, stateful, direct or kbf\n"
	"  --peers     then the same beside boost, absl and DPDK (what 'make bench' does)\n"
	"  --seed N    other flows (default 1)\n";

enum { STATES = 15, ROUNDS = 5 };
enum { FLOWS_LEAST = 1000, FLOWS_MOST = 100000000 };
enum { SLICE = 100000 }; /* at most: so that the slowest kind takes seconds, not minutes */
enum { BURST = 128 };    /* items of a batch: what a loop over packets has at hand; as in ink-bench */
enum { LINE = 64 };      /* bytes */

_Static_assert((int)FLOWS_LEAST >= (int)ROUNDS,
	       "a slice has a flow at least, and all rounds together delete no flow twice");

enum op { INSERT, HIT, MISS, MODIFY, STEP, DELETE, CHURN, GATHER, OPS };
enum way { SINGLE, BATCHED, WAYS };

static const char *const op_names[OPS] = {"insert", "hit",    "miss",  "modify",
					  "step",   "delete", "churn", "gather"};

struct request {
	uint64_t flows, seed;
	enum ink_kind kind; /* INK_KIND_DEFAULT: all */
	int peers;
};

/* What an operation is done with, side by side. */
struct slice {
	size_t n;
	uint64_t ids[SLICE], born[SLICE]; /* `born` takes the place of `ids` in churn */
	uint8_t states[SLICE], born_states[SLICE];
	uint32_t slots[SLICE]; /* whose they are */
	uint16_t events[SLICE];
	ink_answer answers[SLICE];
	struct ink_move moves[SLICE];
	int errors[SLICE];
};

struct bench {
	struct ink_table *tables[WAYS];
	struct ink_plan plan;
	uint64_t n, slice_size;
	uint64_t *ids;
	uint8_t *states;
	uint32_t *order;
	uint64_t cursor; /* in the order */
	uint64_t born;   /* flows that there have been, strangers too */
	uint64_t seed;
	uint64_t *memory; /* for the gather */
	uint64_t lines;
	struct slice slice;

	double ns[WAYS][OPS][ROUNDS];
	uint64_t known, wrong; /* what was done to live flows, and of it what did not go as it should */
	uint64_t strangers, answered;
};

/* --------------------------------------------------------------------------- flows */

/* Different every time, for the mixer is a bijection. */
static uint64_t fresh_id(struct bench *b)
{
	return sim_mix(sim_mix(b->seed) + b->born++);
}

static uint8_t any_state(uint64_t id)
{
	return (uint8_t)sim_below(sim_mix(id), STATES);
}

static void make_flows(struct bench *b)
{
	b->born = b->cursor = 0;
	for (uint64_t i = 0; i < b->n; i++) {
		b->ids[i] = fresh_id(b);
		b->states[i] = any_state(b->ids[i]);
		b->order[i] = (uint32_t)i;
	}
	for (uint64_t i = b->n - 1; i > 0; i--) {
		uint64_t k = sim_below(sim_mix(b->ids[i]), i + 1);
		uint32_t slot = b->order[i];

		b->order[i] = b->order[k];
		b->order[k] = slot;
	}
}

static void put_flow(struct bench *b, size_t i, uint32_t slot)
{
	struct slice *s = &b->slice;

	s->slots[i] = slot;
	s->ids[i] = b->ids[slot];
	s->states[i] = b->states[slot];
}

/* Flows in the order in which they come. */
static void next_in_order(struct bench *b, uint64_t from)
{
	b->slice.n = b->n - from < b->slice_size ? b->n - from : b->slice_size;
	for (size_t i = 0; i < b->slice.n; i++)
		put_flow(b, i, (uint32_t)(from + i));
}

/* Live flows, and what an operation needs besides: in place of states those that they get, or strangers. */
static void next_slice(struct bench *b, enum op op)
{
	struct slice *s = &b->slice;

	s->n = b->slice_size;
	for (size_t i = 0; i < s->n; i++) {
		put_flow(b, i, b->order[b->cursor]);
		b->cursor = (b->cursor + 1) % b->n;
		if (op == MISS)
			s->ids[i] = fresh_id(b);
		else if (op == CHURN)
			s->born_states[i] = any_state(s->born[i] = fresh_id(b));
		else if (op == MODIFY || op == STEP)
			s->states[i] = (uint8_t)((s->states[i] + 1) % STATES);
	}
}

/* What is true now. */
static void settle(struct bench *b, enum op op)
{
	const struct slice *s = &b->slice;

	for (size_t i = 0; i < s->n && (op == MODIFY || op == STEP); i++)
		b->states[s->slots[i]] = s->states[i];
	for (size_t i = 0; i < s->n && op == CHURN; i++) {
		b->ids[s->slots[i]] = s->born[i];
		b->states[s->slots[i]] = s->born_states[i];
	}
}

/* ---------------------------------------------------------------------- operations */

/* One item by a single call; non-zero if it did not go as it should. */
static inline int do_one(struct ink_table *t, enum op op, const struct slice *s, size_t i)
{
	struct ink_move move;
	int bad;

	switch (op) {
	case INSERT:
		return ink_insert(t, s->ids[i], s->states[i]) != 0;
	case HIT:
		return ink_lookup(t, s->ids[i]) != s->states[i];
	case MISS:
		return ink_lookup(t, s->ids[i]) != INK_ABSENT;
	case MODIFY:
		return ink_modify(t, s->ids[i], s->states[i]) != 0;
	case STEP:
		return ink_step(t, s->ids[i], 0, &move) != 0 || move.to != s->states[i];
	case DELETE:
		return ink_delete(t, s->ids[i]) != 0;
	default: /* CHURN */
		bad = ink_delete(t, s->ids[i]) != 0;
		return bad | (ink_insert(t, s->born[i], s->born_states[i]) != 0);
	}
}

static uint64_t one_by_one(struct ink_table *t, enum op op, const struct slice *s)
{
	uint64_t bad = 0;

	for (size_t i = 0; i < s->n; i++)
		bad += (uint64_t)do_one(t, op, s, i);
	return bad;
}

/* The items from `from` on. */
static struct ink_batch burst_of(struct slice *s, size_t from)
{
	return (struct ink_batch){.n = s->n - from < BURST ? s->n - from : BURST,
				  .ids = s->ids + from,
				  .states = s->states + from,
				  .events = s->events + from,
				  .answers = s->answers + from,
				  .moves = s->moves + from,
				  .errors = s->errors + from};
}

static uint64_t failed(const struct ink_batch *b)
{
	uint64_t bad = 0;

	for (size_t i = 0; i < b->n; i++)
		bad += b->errors[i] != 0;
	return bad;
}

static uint64_t look_up(struct ink_table *t, const struct ink_batch *b, int strangers)
{
	uint64_t bad = 0;

	ink_lookup_batch(t, b);
	for (size_t i = 0; i < b->n; i++)
		bad += b->answers[i] != (strangers ? INK_ABSENT : b->states[i]);
	return bad;
}

static uint64_t step(struct ink_table *t, const struct ink_batch *b)
{
	uint64_t bad = 0;

	ink_step_batch(t, b);
	for (size_t i = 0; i < b->n; i++)
		bad += b->errors[i] != 0 || b->moves[i].to != b->states[i];
	return bad;
}

static uint64_t do_burst(struct ink_table *t, enum op op, struct ink_batch *b, struct slice *s)
{
	size_t from = (size_t)(b->ids - s->ids);
	uint64_t bad;

	switch (op) {
	case INSERT:
		ink_insert_batch(t, b);
		return failed(b);
	case HIT:
	case MISS:
		return look_up(t, b, op == MISS);
	case MODIFY:
		ink_modify_batch(t, b);
		return failed(b);
	case STEP:
		return step(t, b);
	default: /* DELETE, and the first half of CHURN */
		ink_delete_batch(t, b);
		bad = failed(b);
	}
	if (op == CHURN) {
		b->ids = s->born + from;
		b->states = s->born_states + from;
		bad += do_burst(t, INSERT, b, s);
	}
	return bad;
}

static uint64_t in_bursts(struct ink_table *t, enum op op, struct slice *s)
{
	uint64_t bad = 0;

	for (size_t i = 0; i < s->n; i += BURST) {
		struct ink_batch b = burst_of(s, i);

		bad += do_burst(t, op, &b, s);
	}
	return bad;
}

/* ---------------------------------------------------------------------- the gather */

/* The first line by the upper, the second by the lower half of the id. */
static const uint64_t *line_of(const struct bench *b, uint64_t id, int second)
{
	uint64_t half = second ? id & UINT32_MAX : id >> 32;

	return b->memory + (half * b->lines >> 32) * (LINE / sizeof *b->memory);
}

/* The memory is zero, and so is the sum of it: what is returned is the number of wrong words. */
static uint64_t gather(const struct bench *b)
{
	/* Into the second cache: 5 % slower than into the first at 1M flows, but twice as quick at 16M. */
	enum { AHEAD = 64, SECOND_CACHE = 2 };
	const struct slice *s = &b->slice;
	uint64_t sum = 0;

	for (size_t i = 0; i < s->n; i++) {
		const uint64_t *first = line_of(b, s->ids[i], 0), *second = line_of(b, s->ids[i], 1);

		if (i + AHEAD < s->n) {
			__builtin_prefetch(line_of(b, s->ids[i + AHEAD], 0), 0, SECOND_CACHE);
			__builtin_prefetch(line_of(b, s->ids[i + AHEAD], 1), 0, SECOND_CACHE);
		}
		for (unsigned k = 0; k < LINE / sizeof *first; k++)
			sum += first[k] + second[k];
	}
	return sum;
}

/* --------------------------------------------------------------------------- rounds */

static double seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* Nanoseconds an item. */
static double timed(struct bench *b, enum way way, enum op op)
{
	double start = seconds();
	uint64_t bad;

	if (op == GATHER)
		bad = gather(b);
	else if (way == SINGLE)
		bad = one_by_one(b->tables[way], op, &b->slice);
	else
		bad = in_bursts(b->tables[way], op, &b->slice);
	start = seconds() - start;
	*(op == MISS ? &b->answered : &b->wrong) += bad;
	if (op != GATHER) /* which asks no table */
		*(op == MISS ? &b->strangers : &b->known) += b->slice.n;
	return start / (double)b->slice.n * 1e9;
}

static void do_round(struct bench *b, enum op op, unsigned round)
{
	next_slice(b, op);
	for (unsigned way = 0; way < WAYS; way++)
		b->ns[way][op][round] = timed(b, (enum way)way, op);
	settle(b, op);
}

/* An insert costs more the fuller the table is: what counts is the mean of all. */
static void fill(struct bench *b)
{
	double ns[WAYS] = {0};

	for (uint64_t from = 0; from < b->n; from += b->slice_size) {
		next_in_order(b, from);
		for (unsigned way = 0; way < WAYS; way++)
			ns[way] += timed(b, (enum way)way, INSERT) * (double)b->slice.n / (double)b->n;
	}
	for (unsigned way = 0; way < WAYS; way++)
		for (unsigned r = 0; r < ROUNDS; r++)
			b->ns[way][INSERT][r] = ns[way];
}

static void measure(struct bench *b)
{
	static const enum op ops[] = {HIT, MISS, GATHER, MODIFY, STEP, CHURN};

	b->known = b->wrong = b->strangers = b->answered = 0;
	make_flows(b);
	fill(b);
	for (unsigned r = 0; r < ROUNDS; r++) {
		cli_progress(cli_kind_name(b->plan.kind), (double)(r + 1) / (ROUNDS + 1));
		for (unsigned i = 0; i < sizeof ops / sizeof ops[0]; i++)
			do_round(b, ops[i], r);
	}
	for (unsigned r = 0; r < ROUNDS; r++)
		do_round(b, DELETE, r);
	cli_progress_end();
}

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

static void show_head(const struct request *r)
{
	printf("%llu flows in %d states, with time-outs where the kind has them; ids are given; one core.\n\n"
	       "%17s",
	       (unsigned long long)r->flows, STATES, "");
	for (unsigned op = 0; op < OPS; op++)
		printf(" %7s", op_names[op]);
	printf("\n");
}

/* The gather is one for both ways, and is shown where batches are. */
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

static void show(const struct bench *b)
{
	struct ink_stats s = {.size = sizeof s};
	char planned[16], answered[16], wrong[16];

	ink_stats(b->tables[SINGLE], &s);
	printf("\n%s: %.2f MiB, %.1f bits a flow; strangers answered %s (planned %s); "
	       "live flows wrong or in doubt %s\n",
	       cli_kind_name(b->plan.kind), (double)s.bytes / (1 << 20), 8 * (double)s.bytes / (double)b->n,
	       share(b->answered, b->strangers, answered),
	       cli_show_share(b->plan.error, planned, sizeof planned), share(b->wrong, b->known, wrong));
	for (unsigned way = 0; way < WAYS; way++) {
		show_row(b, (enum way)way, 0);
		show_row(b, (enum way)way, 1);
	}
	fflush(stdout);
}

static void show_foot(const struct bench *b)
{
	printf("\nCPU time, medians of %d slices of %llu; insert: the mean from empty to full. churn is a\n"
	       "delete and an insert. gather reads two random lines of 64 bytes for each id, out of as much\n"
	       "memory as the table has, and does nothing else. exact keeps whole ids; dleft, stateful,\n"
	       "direct and kbf are the papers' structures.\n",
	       ROUNDS, (unsigned long long)b->slice_size);
}

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

static int make_tables(struct bench *b, enum ink_kind kind)
{
	struct ink_row rows[STATES + 2];
	struct ink_rules rules = rules_of(rows);
	struct ink_options o = {.size = sizeof o,
				.kind = kind,
				.states = STATES,
				.flows = b->n,
				.age_bits = kind != INK_KBF,
				.seed = b->seed,
				.rules = &rules};
	struct ink_why why = {"no memory"};

	/* Compact is for those who count bits and can bear four errors in a thousand. */
	if (kind == INK_COMPACT)
		o.error = 0.0042;
	b->plan = (struct ink_plan){.size = sizeof b->plan};
	if (ink_plan(&o, &b->plan, &why) == 0)
		b->tables[SINGLE] = ink_create(&o, &why);
	if (b->tables[SINGLE])
		b->tables[BATCHED] = ink_create(&o, &why);
	return b->tables[BATCHED] ? CLI_DONE : cli_failed("%s", why.text);
}

/* As large as the plan says; touched, or all of it would be one page of zeros. */
static int make_memory(struct bench *b)
{
	b->lines = b->plan.bytes / LINE;
	b->memory = aligned_alloc(LINE, b->lines * LINE);
	if (!b->memory)
		return cli_failed("no memory for the gather");
	memset(b->memory, 0, b->lines * LINE);
	return CLI_DONE;
}

static int run_kind(struct bench *b, enum ink_kind kind)
{
	int result = make_tables(b, kind);

	if (!result)
		result = make_memory(b);
	if (!result) {
		measure(b);
		show(b);
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

	show_head(r);
	for (int kind = INK_LINE; kind <= INK_KBF && !result; kind++)
		if (r->kind == INK_KIND_DEFAULT || (int)r->kind == kind)
			result = run_kind(b, (enum ink_kind)kind);
	if (!result)
		show_foot(b);
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

/* What stands in bench/ beside this program, as when it was built, or else on the PATH. Returns only if it fails. */
static int run_peers(uint64_t flows)
{
	char path[4096], number[24];
	char *const arguments[] = {"ink-bench", "--flows", number, "--only", "given", NULL};
	ssize_t n = readlink("/proc/self/exe", path, sizeof path);
	char *slash = n > 0 ? memrchr(path, '/', (size_t)n) : NULL;

	fflush(stdout);
	snprintf(number, sizeof number, "%llu", (unsigned long long)flows);
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
	{.name = "flows", .how = CLI_NUMBER, .at = AT(flows), .least = FLOWS_LEAST, .most = FLOWS_MOST},
	{.name = "kind", .how = CLI_CHOICE, .at = AT(kind), .words = cli_kinds, .least = INK_LINE},
	{.name = "peers", .how = CLI_FLAG, .at = AT(peers)},
	{.name = "seed", .how = CLI_NUMBER, .at = AT(seed), .least = 1},
};

static int run(int argc, char **argv)
{
	struct request r = {.flows = 1000000, .seed = 1};
	struct cli_line line = {&cli_bench, options, sizeof options / sizeof options[0], &r, {NULL}};
	int result = cli_options(&line, argc, argv);

	if (!result)
		result = cli_nothing_more(&line, argc, argv);
	if (!result)
		result = run_all(&r);
	return result || !r.peers ? result : run_peers(r.flows);
}

const struct cli_command cli_bench = {"bench", "what the library's calls cost here: speed, memory, errors",
				      help, run};
