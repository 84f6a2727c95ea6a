/* SPDX-License-Identifier: BSD-2-Clause */
/* inkling plan: what a table will take, and how often it will be mistaken. */
#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include "cli.h"

static const char help[] =
	"usage: inkling plan --states S (--flows N | --memory SIZE) [OPTIONS]\n"
	"\n"
	"Says how much memory a table takes and how often it will be mistaken about a\n"
	"stranger. Flows and error give the fewest bytes; memory and error give the\n"
	"most flows; flows and memory give the smallest error.\n"
	"\n"
	"  --states S        states a flow can be in, 1 to 255\n"
	"  --flows N         flows to hold at once: 1000000, 1M, 1e6\n"
	"  --memory SIZE     memory for all of the table: 4M, 512k\n"
	"  --error P         highest share of strangers answered: 0.001, 0.1% (default 1/1024)\n"
	"  --kind K          line, compact, dleft, exact, stateful, direct, kbf, or all (default all)\n"
	"  --age-bits N      0 = no time-outs, 1 or 2 (default 1)\n"
	"  --writers N       threads that change the table (line only; default 1)\n"
	"  --hashes K        stateful, direct, kbf: cells of a flow (default: the best)\n"
	"  --counter-bits N  stateful: 2 to 8 or none (default 4, none with age bits);\n"
	"                    direct: 1 to 8 or none (default 2)\n"
	"  --threshold N     stateful: cells that must know the state (default 1)\n"
	"  --blocked         stateful: all cells of a flow in one line; prints its price\n"
	"\n"
	"example: inkling plan --flows 1M --states 15\n";

struct wish {
	struct ink_options options;
	int all;
	int ages_given;
};

/* ---------------------------------------------------------------------- options */

enum { STATES, FLOWS, MEMORY, ERROR, KIND, AGE_BITS, WRITERS, HASHES, COUNTER_BITS, THRESHOLD, BLOCKED };

static const struct option options[] = {
	{"states", required_argument, NULL, STATES},
	{"flows", required_argument, NULL, FLOWS},
	{"memory", required_argument, NULL, MEMORY},
	{"error", required_argument, NULL, ERROR},
	{"kind", required_argument, NULL, KIND},
	{"age-bits", required_argument, NULL, AGE_BITS},
	{"writers", required_argument, NULL, WRITERS},
	{"hashes", required_argument, NULL, HASHES},
	{"counter-bits", required_argument, NULL, COUNTER_BITS},
	{"threshold", required_argument, NULL, THRESHOLD},
	{"blocked", no_argument, NULL, BLOCKED},
	{"help", no_argument, NULL, 'h'},
	{NULL, 0, NULL, 0},
};

enum { SMALL = 100000 }; /* the library says which of these make sense */

static int kind_or_all(const char *text, struct wish *w)
{
	w->all = !strcmp(text, "all");
	return w->all ? 0 : cli_kind(text, &w->options.kind);
}

static int counters(const char *text, uint32_t *bits)
{
	if (strcmp(text, "none") != 0)
		return cli_small(text, SMALL, bits) || *bits == 0 ? -1 : 0;
	*bits = INK_NO_COUNTERS;
	return 0;
}

static int take(int option, const char *text, struct wish *w)
{
	struct ink_geometry *g = &w->options.geometry;

	switch (option) {
	case STATES:
		return cli_small(text, SMALL, &w->options.states);
	case FLOWS:
		return cli_number(text, &w->options.flows);
	case MEMORY:
		return cli_size(text, &w->options.bytes);
	case ERROR:
		return cli_share(text, &w->options.error);
	case KIND:
		return kind_or_all(text, w);
	case AGE_BITS:
		w->ages_given = 1;
		return cli_small(text, SMALL, &w->options.age_bits);
	case HASHES:
		return cli_small(text, SMALL, &g->k);
	case COUNTER_BITS:
		return counters(text, &g->counter_bits);
	case THRESHOLD:
		return cli_small(text, SMALL, &g->threshold);
	case BLOCKED:
		g->bloom_flags |= INK_BLOOM_BLOCKED;
		return 0;
	default:
		return cli_small(text, SMALL, &w->options.writers);
	}
}

static int shapes_a_filter(const struct ink_geometry *g)
{
	return g->k || g->counter_bits || g->threshold || g->bloom_flags;
}

static int parse(int argc, char **argv, struct wish *w)
{
	int option, which = 0;

	opterr = 0;
	while ((option = getopt_long(argc, argv, ":", options, &which)) != -1) {
		if (option == 'h')
			return fputs(help, stdout), CLI_HELPED;
		if (option == '?' || option == ':')
			return cli_bad_option(&cli_plan, option, argv);
		if (take(option, optarg, w))
			return cli_usage(&cli_plan, "--%s %s: that is no value for it", options[which].name,
					 optarg);
	}
	if (optind < argc)
		return cli_usage(&cli_plan, "'%s' is too much", argv[optind]);
	if (!w->options.states)
		return cli_usage(&cli_plan, "how many states? (--states)");
	if (!w->options.flows && !w->options.bytes)
		return cli_usage(&cli_plan, "how many flows, or how much memory? (--flows, --memory)");
	if (w->all && shapes_a_filter(&w->options.geometry))
		return cli_usage(&cli_plan, "--hashes, --counter-bits, --threshold and --blocked need "
					    "--kind stateful, direct or kbf");
	return CLI_DONE;
}

/* ----------------------------------------------------------------------- output */

static void show_filter(const struct ink_plan *p)
{
	const struct ink_geometry *g = &p->geometry;

	printf("%u cells, %u for a flow", g->m, g->k);
	if (g->bloom_flags & INK_BLOOM_BLOCKED)
		printf(", in one line");
	if (g->counter_bits)
		printf(", counters of %u bits", g->counter_bits);
	if (g->threshold > 1)
		printf(", %u must know", g->threshold);
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
	if (ink_plan(&same, &plain, NULL) == 0)
		printf("%52s %10s %8s   as many cells, not in lines\n",
		       cli_show_share(plain.error, error, sizeof error),
		       cli_show_share(plain.unsure, unsure, sizeof unsure), "");
}

static void show_bags(const struct ink_plan *p)
{
	const struct ink_geometry *g = &p->geometry;

	printf("%u cells, %u for a flow", g->m, g->k);
	if (g->q > 1)
		printf(", %u classes", g->q);
	printf("; no time-outs");
}

static void show_geometry(const struct ink_plan *p)
{
	const struct ink_geometry *g = &p->geometry;

	if (p->kind == INK_LINE)
		printf("%u lines of %u, fingerprints of %u bits", g->b, g->h, g->f);
	else if (p->kind == INK_COMPACT)
		printf("%u lines of %u, %u buckets, remainders of %u bits", g->b, g->h, g->q, g->f);
	else if (p->kind == INK_DLEFT)
		printf("%u x %u buckets of %u, fingerprints of %u bits", g->d, g->b, g->h, g->f);
	else if (p->kind == INK_EXACT)
		printf("%u slots, whole ids", g->b);
	else if (p->kind == INK_KBF)
		show_bags(p);
	else
		show_filter(p);
	if (g->side)
		printf("; side table of %u", g->side);
	putchar('\n');
}

static void show(const struct ink_plan *p)
{
	char error[16], unsure[16];

	printf("%-8s %12llu %10.1f %9.1f %10s %10s %6.1f %%   ", cli_kind_name(p->kind),
	       (unsigned long long)p->flows, (double)p->bytes / 1024, p->bits_per_flow,
	       cli_show_share(p->error, error, sizeof error),
	       p->kind == INK_DLEFT ? "?" : cli_show_share(p->unsure, unsure, sizeof unsure), p->load * 100);
	show_geometry(p);
}

static void show_head(void)
{
	printf("%-8s %12s %10s %9s %10s %10s %8s   %s\n", "kind", "flows", "KiB", "bits/flow", "error",
	       "unsure", "load", "geometry");
}

/* `said` is the last complaint: what is wrong for all kinds is said once. */
static int show_kind(const struct ink_options *o, int first, struct ink_why *said)
{
	struct ink_plan plan = {.size = sizeof plan};
	struct ink_why why;
	int error = ink_plan(o, &plan, &why);

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

	putchar('\n');
	for (unsigned kind = INK_LINE; kind <= INK_KBF; kind++)
		if (planned[kind])
			printf("%-8s %s\n", cli_kind_name((enum ink_kind)kind), jobs[kind]);
}

static int run(int argc, char **argv)
{
	struct wish w = {.options = {.size = sizeof w.options, .age_bits = 1}, .all = 1};
	unsigned char planned[INK_KBF + 1] = {0};
	struct ink_why said = {""};
	int any = 0, error = parse(argc, argv, &w);
	enum ink_kind wanted = w.options.kind;

	if (error)
		return error == CLI_HELPED ? CLI_DONE : error;
	for (unsigned kind = INK_LINE; kind <= INK_KBF; kind++)
		if (w.all || wanted == kind) {
			w.options.kind = (enum ink_kind)kind;
			if (kind == INK_KBF && !w.ages_given)
				w.options.age_bits = 0;
			planned[kind] = show_kind(&w.options, !any, &said) == 0;
			any |= planned[kind];
		}
	if (w.all && any)
		advise(planned);
	return any ? CLI_DONE : CLI_FAILED;
}

const struct cli_command cli_plan = {"plan", "how much memory for how many flows, and with what error", help,
				     run};
