/* SPDX-License-Identifier: BSD-2-Clause */
/* inkling plan: what a table will take, and how often it will be mistaken. */
#include <errno.h>
#include <limits.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"
#include "sim/text.h"

static const char help[] = "usage: inkling plan --states S (--flows N | --memory SIZE) [OPTIONS]\n"
			   "\n"
			   "Says how much memory a table takes and how often it will be mistaken about a\n"
			   "stranger. Flows and error give the fewest bytes; memory and error give the\n"
			   "most flows; flows and memory give the smallest error.\n"
			   "\n"
			   "  --states S        states a flow can be in, 1 to 255\n"
			   "  --flows N         flows to hold at once: 1000000, 1M, 1e6\n"
			   "  --memory SIZE     memory for all of the table: 4M, 512k\n"
			   "  --error P         highest share of strangers answered: 0.001, 0.1%, 1/1000\n"
			   "                    (default 1/1024)\n"
			   "  --kind K          line, compact, dleft, exact, stateful, direct, kbf, or all\n"
			   "                    (default all)\n"
			   "  --age-bits N      0 = no time-outs, 1 or 2 (default 1)\n"
			   "  --writers N       threads that change the table (line only; default 1)\n"
			   "  --hashes K        stateful, direct, kbf: cells of a flow (default: the best)\n"
			   "  --counter-bits N  stateful: 2 to 8 or none (default 4, none with age bits);\n"
			   "                    direct: 1 to 8 or none (default 2)\n"
			   "  --threshold N     stateful: cells that must know the state (default 1)\n"
			   "  --blocked         stateful: all cells of a flow in one line; prints its price\n"
			   "\n"
			   "example: inkling plan --flows 1M --states 15\n";

enum { ALL = INK_KBF + 1 }; /* as a kind */

struct request {
	struct ink_options options;
	unsigned kind;
	int blocked;
};

/* ---------------------------------------------------------------------- options */

enum { MOST_HASHES = 32, MOST_COUNTER_BITS = 8, MOST_WRITERS = 100000 };

static const char *const kinds_and_all[] = {"line",   "compact", "dleft", "exact", "stateful",
					    "direct", "kbf",     "all",   NULL};

_Static_assert(sizeof kinds_and_all / sizeof kinds_and_all[0] == ALL - INK_LINE + 2,
	       "all is behind the kinds");

static int counters(const char *text, void *place)
{
	uint64_t bits = INK_NO_COUNTERS;

	if (strcmp(text, "none") && (*text == '0' || cli_digits(text, &bits) || bits > MOST_COUNTER_BITS))
		return -1;
	*(uint32_t *)place = (uint32_t)bits;
	return 0;
}

#define AT(field) offsetof(struct request, field)

static const struct cli_option options[] = {
	{.name = "states", .how = CLI_SMALL, .at = AT(options.states), .least = 1, .most = INK_MAX_STATES},
	{.name = "flows", .how = CLI_NUMBER, .at = AT(options.flows), .least = 1},
	{.name = "memory", .how = CLI_SIZE, .at = AT(options.bytes), .least = 1},
	{.name = "error", .how = CLI_SHARE, .at = AT(options.error)},
	{.name = "kind", .how = CLI_CHOICE, .at = AT(kind), .words = kinds_and_all, .least = INK_LINE},
	{.name = "age-bits", .how = CLI_SMALL, .at = AT(options.age_bits), .most = 2},
	{.name = "writers", .how = CLI_SMALL, .at = AT(options.writers), .least = 1, .most = MOST_WRITERS},
	{.name = "hashes", .how = CLI_SMALL, .at = AT(options.geometry.k), .least = 1, .most = MOST_HASHES},
	{.name = "counter-bits",
	 .how = CLI_OWN,
	 .at = AT(options.geometry.counter_bits),
	 .take = counters,
	 .shape = "a number from 1 to 8, or none"},
	{.name = "threshold",
	 .how = CLI_SMALL,
	 .at = AT(options.geometry.threshold),
	 .least = 1,
	 .most = MOST_HASHES},
	{.name = "blocked", .how = CLI_FLAG, .at = AT(blocked)},
};

/* Options that are not for all kinds. How many may write is the library's to say: it says so for each kind. */
static const struct purpose {
	const char *option;
	enum ink_kind kinds[3];
	const char *names;
} purposes[] = {
	{"hashes", {INK_STATEFUL, INK_DIRECT, INK_KBF}, "stateful, direct or kbf"},
	{"counter-bits", {INK_STATEFUL, INK_DIRECT}, "stateful or direct"},
	{"threshold", {INK_STATEFUL}, "stateful"},
	{"blocked", {INK_STATEFUL}, "stateful"},
};

static int check_purposes(const struct cli_line *line, unsigned kind)
{
	for (unsigned i = 0; i < sizeof purposes / sizeof purposes[0]; i++) {
		const struct purpose *p = &purposes[i];

		if (cli_given(line, p->option) && kind != p->kinds[0] && kind != p->kinds[1] &&
		    kind != p->kinds[2])
			return cli_usage(&cli_plan, "--%s is for --kind %s", p->option, p->names);
	}
	if (kind == INK_EXACT && cli_given(line, "age-bits"))
		return cli_usage(&cli_plan, CLI_NO_AGE_BITS);
	if (kind == INK_EXACT && cli_given(line, "error"))
		return cli_usage(&cli_plan, CLI_NO_ERROR);
	return CLI_DONE;
}

static int check(const struct request *r)
{
	if (!r->options.states)
		return cli_usage(&cli_plan, "how many states? (--states)");
	if (!r->options.flows && !r->options.bytes)
		return cli_usage(&cli_plan, "how many flows, or how much memory? (--flows, --memory)");
	return CLI_DONE;
}

static int read_options(struct cli_line *line, int argc, char **argv)
{
	struct request *r = line->request;
	int error = cli_options(line, argc, argv);

	if (!error)
		error = cli_nothing_more(line, argc, argv);
	if (r->blocked)
		r->options.geometry.bloom_flags |= INK_BLOOM_BLOCKED;
	if (!error)
		error = check_purposes(line, r->kind);
	return error ? error : check(r);
}

/* ----------------------------------------------------------------------- output */

enum { LOAD = 8, WIDE = 150 }; /* columns: of the load, and of the longest rows that are usual */

/* What stands behind a row, and behind what that lacks; or where that would be too wide, below it. */
static void put_behind_row(const char *words, int lacking)
{
	int columns = cli_columns();

	if (!columns || columns >= WIDE) {
		printf("%*s   %s\n", lacking, "", words);
		return;
	}
	putchar('\n');
	sim_put_wrapped(words, "    ", "    ", columns, stdout);
}

static void tell_filter(FILE *to, const struct ink_plan *p)
{
	const struct ink_geometry *g = &p->geometry;

	fprintf(to, "%u cell%s, %u for a flow", g->m, cli_plural(g->m), g->k);
	if (g->bloom_flags & INK_BLOOM_BLOCKED)
		fprintf(to, ", in one line");
	if (g->counter_bits)
		fprintf(to, ", counters of %u bit%s", g->counter_bits, cli_plural(g->counter_bits));
	if (g->threshold > 1)
		fprintf(to, ", %u must know", g->threshold);
}

/* What the lines cost: the errors of as many cells without them. */
static void show_price(const struct ink_options *o, const struct ink_plan *p)
{
	struct ink_options same = *o;
	struct ink_plan plain = {.size = sizeof plain};
	char error[16], unsure[16];

	same.flows = p->flows;
	same.error = 0;
	same.bytes = 0;
	same.geometry.k = p->geometry.k;
	same.geometry.m = p->geometry.m;
	same.geometry.bloom_flags &= ~INK_BLOOM_BLOCKED;
	if (ink_plan(&same, &plain, NULL))
		return;
	printf("%53s %10s", cli_show_share(plain.error, error, sizeof error),
	       cli_show_share(plain.unsure, unsure, sizeof unsure));
	put_behind_row("as many cells, not in lines", 1 + LOAD);
}

static void tell_bags(FILE *to, const struct ink_plan *p)
{
	const struct ink_geometry *g = &p->geometry;

	fprintf(to, "%u cell%s, %u for a flow", g->m, cli_plural(g->m), g->k);
	if (g->q > 1)
		fprintf(to, ", %u classes", g->q);
	fprintf(to, "; no time-outs");
}

static void tell_geometry(FILE *to, const struct ink_plan *p)
{
	const struct ink_geometry *g = &p->geometry;

	if (p->kind == INK_LINE)
		fprintf(to, "%u line%s of %u, fingerprints of %u bit%s", g->b, cli_plural(g->b), g->h, g->f,
			cli_plural(g->f));
	else if (p->kind == INK_COMPACT)
		fprintf(to, "%u line%s of %u, %u bucket%s, remainders of %u bit%s", g->b, cli_plural(g->b),
			g->h, g->q, cli_plural(g->q), g->f, cli_plural(g->f));
	else if (p->kind == INK_DLEFT)
		fprintf(to, "%u x %u bucket%s of %u, fingerprints of %u bit%s", g->d, g->b, cli_plural(g->b),
			g->h, g->f, cli_plural(g->f));
	else if (p->kind == INK_EXACT)
		fprintf(to, "%u slot%s, whole ids", g->b, cli_plural(g->b));
	else if (p->kind == INK_KBF)
		tell_bags(to, p);
	else
		tell_filter(to, p);
	if (g->side)
		fprintf(to, "; side table of %u", g->side);
}

static void show_geometry(const struct ink_plan *p)
{
	char text[200] = "";
	FILE *to = fmemopen(text, sizeof text, "w");

	if (to) {
		tell_geometry(to, p);
		fclose(to);
	}
	put_behind_row(text, 0);
}

static void show(const struct ink_plan *p)
{
	char error[16], unsure[16];

	printf("%-8s %12llu %10.1f %9.1f %10s %10s %6.1f %%", cli_kind_name(p->kind),
	       (unsigned long long)p->flows, (double)p->bytes / 1024, p->bits_per_flow,
	       cli_show_share(p->error, error, sizeof error),
	       p->kind == INK_DLEFT ? "?" : cli_show_share(p->unsure, unsure, sizeof unsure), p->load * 100);
	show_geometry(p);
}

static void show_head(void)
{
	printf("%-8s %12s %10s %9s %10s %10s %8s", "kind", "flows", "KiB", "bits/flow", "error", "unsure",
	       "load");
	put_behind_row("geometry", 0);
}

/* ------------------------------------------------------------------------ plans */

/*
 * The smallest error for flows and bytes can be any; what answers most strangers is no table. An error that was
 * asked for is kept.
 */
static int plan_within_reach(const struct ink_options *o, struct ink_plan *plan, struct ink_why *why)
{
	int error = ink_plan(o, plan, why);
	char share[16];

	if (error || o->error > 0 || plan->error <= .5)
		return error;
	snprintf(why->text, sizeof why->text,
		 "%s: %llu flow%s in %llu bytes %s out of reach: %s of strangers would get an answer",
		 cli_kind_name(plan->kind), (unsigned long long)o->flows, cli_plural(o->flows),
		 (unsigned long long)o->bytes, o->flows == 1 ? "is" : "are",
		 cli_show_share(plan->error, share, sizeof share));
	return -ERANGE;
}

/* `said` is the last complaint: what is wrong for all kinds is said once. */
static int show_kind(const struct ink_options *o, int first, struct ink_why *said)
{
	struct ink_plan plan = {.size = sizeof plan};
	struct ink_why why;
	int error = plan_within_reach(o, &plan, &why);

	fflush(stdout);
	if (error && strcmp(why.text, said->text) != 0)
		cli_failed("%s", why.text);
	if (error)
		return *said = why, error;
	if (first)
		show_head();
	show(&plan);
	if (o->geometry.bloom_flags & INK_BLOOM_BLOCKED)
		show_price(o, &plan);
	return 0;
}

/* Which kind for which job, of those that can do what was asked. */
static void advise(const unsigned char *planned)
{
	static const char *const jobs[] = {
		[INK_LINE] = "the one to take: fast, with time-outs, for one thread or many; its own flows "
			     "it never mistakes",
		[INK_COMPACT] =
			"the same promises in the fewest bits, at about half the speed and for one thread",
		[INK_DLEFT] = "to reproduce the ACSM paper; otherwise line does more in less",
		[INK_EXACT] = "never mistaken and grows; to compare with, or where memory does not matter",
		[INK_STATEFUL] = "to reproduce the ACSM paper; never refuses a flow, and is in doubt instead",
		[INK_DIRECT] =
			"to reproduce the ACSM paper; for callers who know the state a flow should be in",
		[INK_KBF] = "if no flow may ever be refused and overload must heal; no time-outs",
	};

	int columns = cli_columns();
	char name[10];

	putchar('\n');
	for (unsigned kind = INK_LINE; kind <= INK_KBF; kind++)
		if (planned[kind]) {
			snprintf(name, sizeof name, "%-9s", cli_kind_name((enum ink_kind)kind));
			sim_put_wrapped(jobs[kind], name, "         ", columns ? columns : INT_MAX, stdout);
		}
}

static int run(int argc, char **argv)
{
	struct request r = {.options = {.size = sizeof r.options, .age_bits = 1}, .kind = ALL};
	struct cli_line line = {&cli_plan, options, sizeof options / sizeof options[0], &r, {NULL}};
	unsigned char planned[INK_KBF + 1] = {0};
	struct ink_why said = {""};
	int any = 0, error = read_options(&line, argc, argv);

	if (error)
		return error;
	for (unsigned kind = INK_LINE; kind <= INK_KBF; kind++)
		if (r.kind == ALL || r.kind == kind) {
			r.options.kind = (enum ink_kind)kind;
			if (kind == INK_KBF && !cli_given(&line, "age-bits"))
				r.options.age_bits = 0;
			planned[kind] = show_kind(&r.options, !any, &said) == 0;
			any |= planned[kind];
		}
	if (r.kind == ALL && any)
		advise(planned);
	return any ? CLI_DONE : CLI_FAILED;
}

const struct cli_command cli_plan = {"plan", "how much memory for how many flows, and with what error", help,
				     run};
