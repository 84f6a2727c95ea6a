/* SPDX-License-Identifier: BSD-2-Clause */
/* inkling plan: how much memory a table takes, and its error. */
#include <errno.h>
#include <limits.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"
#include "sim/text.h"

static const char help[] =
	"usage: inkling plan --states S (--flows N | --memory SIZE) [OPTIONS]\n"
	"       inkling plan --machine M (--flows N | --memory SIZE) [OPTIONS]\n"
	"\n"
	"Computes how much memory a table takes, and the share of strangers that get an\n"
	"answer. Flows and error give the fewest bytes; memory and error give the most\n"
	"flows; flows and memory give the smallest error.\n"
	"\n"
	"  --states S        states a flow can be in, 1 to 255\n"
	"  --machine M       the states of this machine; prints when its time-outs and\n"
	"                    windows fire. M is as for 'inkling check'; several machines\n"
	"                    of a file share the memory, and each has N flows\n"
	"  --set NAME=VALUE  the value of a param of the machine; also several times\n"
	"  --flows N         flows to hold at once: 1000000, 1M, 1e6\n"
	"  --memory SIZE     memory for the whole table: 4M, 512k\n"
	"  --error P         highest share of strangers answered: 0.001, 0.1%, 1/1000\n"
	"                    (default 1/1024)\n"
	"  --kind K          line, compact, dleft, exact, stateful, direct, kbf, or all\n"
	"                    (default all)\n"
	"  --age-bits N      0 = no time-outs, 1 or 2 (default 1; of machines 2)\n"
	"  --smallest        compact: the fewest bits, though 2 % more may be faster\n"
	"  --writers N       threads that change the table (line only; default 1)\n"
	"  --part BYTES      line: bytes of a line that a flow can be in: 64, 32, 16, 8\n"
	"                    (default: the best)\n"
	"  --hashes K        stateful, direct, kbf: cells of a flow (default: the best)\n"
	"  --counter-bits N  stateful: 2 to 8 or none (default 4, none with age bits);\n"
	"                    direct: 1 to 8 or none (default 2)\n"
	"  --threshold N     stateful: cells that must know the state (default 1)\n"
	"  --blocked         stateful: all cells of a flow in one line; prints its price\n"
	"\n"
	"example: inkling plan --flows 1M --states 15\n";

struct request {
	struct ink_options options;
	unsigned kind; /* the number after the last one, and 0: all */
	int blocked;
	const char *machine; /* --machine, or NULL */
	struct cli_settings set;
	const struct ink_machine_view *view; /* of the machine that is planned for, or NULL */
};

/* ---------------------------------------------------------------------- options */

enum { MOST_HASHES = 32, MOST_COUNTER_BITS = 8, MOST_WRITERS = 100000 };
enum { NOT_GIVEN = 255 }; /* as age bits */

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
	{.name = "machine", .how = CLI_WORD, .at = AT(machine)},
	CLI_SET(AT(set)),
	{.name = "flows", .how = CLI_NUMBER, .at = AT(options.flows), .least = 1},
	{.name = "memory", .how = CLI_SIZE, .at = AT(options.bytes), .least = 1},
	{.name = "error", .how = CLI_SHARE, .at = AT(options.error)},
	{.name = "kind", .how = CLI_CHOICE, .at = AT(kind), .words = cli_kinds_and_all, .least = 1},
	{.name = "age-bits", .how = CLI_SMALL, .at = AT(options.age_bits), .most = 2},
	{.name = "smallest", .how = CLI_FLAG, .at = AT(options.smallest)},
	{.name = "writers", .how = CLI_SMALL, .at = AT(options.writers), .least = 1, .most = MOST_WRITERS},
	{.name = "part", .how = CLI_SMALL, .at = AT(options.part), .least = 8, .most = 64},
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

/*
 * Options for the kinds whose geometry has these fields, and whether they may be given for
 * all kinds. The library checks the number of writers.
 */
static const struct purpose {
	const char *option;
	unsigned geometry;
	int also_for_all;
} purposes[] = {
	{"hashes", INK_GEOMETRY_K, 0},
	{"counter-bits", INK_GEOMETRY_COUNTER_BITS, 0},
	{"threshold", INK_GEOMETRY_THRESHOLD, 0},
	{"blocked", INK_GEOMETRY_BLOOM_FLAGS | INK_GEOMETRY_THRESHOLD, 0}, /* direct has another flag */
	{"smallest", CLI_SHAPES_DIFFER, 1},
};

static int check_purposes(const struct cli_line *line, unsigned kind)
{
	struct ink_kind_info info = cli_kind(kind);
	unsigned geometry = kind ? info.geometry : 0;
	char names[100];

	for (unsigned i = 0; i < sizeof purposes / sizeof purposes[0]; i++)
		if (cli_given(line, purposes[i].option) && (kind || !purposes[i].also_for_all) &&
		    (geometry & purposes[i].geometry) != purposes[i].geometry) {
			cli_kinds_with(purposes[i].geometry, names, sizeof names);
			return cli_usage(&cli_plan, "--%s is for --kind %s", purposes[i].option, names);
		}
	if (cli_given(line, "part") && !(kind && info.can & INK_CAN_PARTS))
		return cli_usage(&cli_plan, "--part is for --kind line");
	if (kind && cli_is_exact(kind) && cli_given(line, "age-bits"))
		return cli_usage(&cli_plan, CLI_NO_AGE_BITS, info.name);
	if (kind && cli_is_exact(kind) && cli_given(line, "error"))
		return cli_usage(&cli_plan, CLI_NO_ERROR, info.name);
	return CLI_DONE;
}

static int check(const struct request *r)
{
	if (!r->options.states && !r->machine)
		return cli_usage(&cli_plan, "how many states? (--states, or --machine)");
	if (r->options.states && r->machine)
		return cli_usage(&cli_plan, "--states and --machine: the machine has its own");
	if (r->set.n && !r->machine)
		return cli_usage(&cli_plan, "--set is for --machine");
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
	if (!cli_kind(r->kind).name)
		r->kind = 0;
	if (!error)
		error = check_purposes(line, r->kind);
	return error ? error : check(r);
}

/* ----------------------------------------------------------------------- output */

enum { LOAD = 8, WIDE = 150 }; /* columns: of the load, and of common long rows */

/* Text after a row that lacks some columns, or below it if the terminal is too narrow. */
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

static void describe_filter(FILE *to, const struct ink_plan *p)
{
	const struct ink_geometry *g = &p->geometry;

	fprintf(to, "%u cell%s, %u for a flow", g->m, cli_plural(g->m), g->k);
	if (g->bloom_flags & INK_BLOOM_BLOCKED)
		fprintf(to, ", in one line");
	if (g->counter_bits)
		fprintf(to, ", counters of %u bit%s", g->counter_bits, cli_plural(g->counter_bits));
	if (g->threshold > 1)
		fprintf(to, ", %u must know", g->threshold);
	if (g->q > 1)
		fprintf(to, ", %u classes", g->q);
	if (!(cli_kind(p->kind).can & INK_CAN_TIME_OUT))
		fprintf(to, "; no time-outs");
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

/* Below this, a difference in time is not worth a word. */
#define AS_FAST 1.05

/* How fast a geometry is, where geometries of the kind differ; valid until the next call. */
static const char *speed_of(const struct ink_plan *p)
{
	static char text[60];

	if (p->time < AS_FAST)
		return p->time > 0 ? ", the fastest" : "";
	snprintf(text, sizeof text, ", %.1f times as long as the fastest", p->time);
	return text;
}

/* What entries of 21 bits would reach in fewer bytes: the error must be less, if those of 31 bits are planned. */
static void describe_long_entries(FILE *to, const struct ink_plan *p, unsigned writers)
{
	struct ink_options shorter = {.size = sizeof shorter,
				      .kind = p->kind,
				      .states = (1u << p->state_bits) - 1,
				      .age_bits = p->age_bits,
				      .flows = p->flows,
				      .writers = writers,
				      .geometry = {.h = 24},
				      .error = .5,
				      .part = 8};
	struct ink_plan plan = {.size = sizeof plan};
	char error[16];

	if (ink_plan(&shorter, &plan, NULL) == 0 && plan.bytes < p->bytes)
		fprintf(to, "; entries of 31 bits, with 21 the error would be %s",
			cli_show_share(plan.error, error, sizeof error));
}

static void describe_lines(FILE *to, const struct ink_plan *p, unsigned writers)
{
	const struct ink_geometry *g = &p->geometry;

	fprintf(to, "%u line%s of %u", g->b, cli_plural(g->b), g->h);
	if (p->part)
		fprintf(to, " in parts of %u", g->h * p->part / 64);
	fprintf(to, ", fingerprints of %u bit%s", g->f, cli_plural(g->f));
	if (g->h == 16)
		describe_long_entries(to, p, writers);
}

/* The fields that a kind takes tell its shape: cells, subtables of buckets, quotiented lines, or lines. */
static void describe_geometry(FILE *to, const struct ink_plan *p, unsigned writers)
{
	const struct ink_geometry *g = &p->geometry;
	unsigned fields = cli_kind(p->kind).geometry;

	if (cli_is_exact(p->kind))
		fprintf(to, "%u slot%s, whole ids", g->b, cli_plural(g->b));
	else if (fields & INK_GEOMETRY_K)
		describe_filter(to, p);
	else if (fields & INK_GEOMETRY_DLEFT_FLAGS)
		fprintf(to, "%u x %u bucket%s of %u, fingerprints of %u bit%s", g->d, g->b, cli_plural(g->b),
			g->h, g->f, cli_plural(g->f));
	else if (fields & INK_GEOMETRY_Q)
		fprintf(to, "%u line%s of %u, %u bucket%s, remainders of %u bit%s%s", g->b, cli_plural(g->b),
			g->h, g->q, cli_plural(g->q), g->f, cli_plural(g->f), speed_of(p));
	else
		describe_lines(to, p, writers);
	if (g->side)
		fprintf(to, "; side table of %u", g->side);
}

static void show_geometry(const struct ink_plan *p, unsigned writers)
{
	char text[200] = "";
	FILE *to = fmemopen(text, sizeof text, "w");

	if (to) {
		describe_geometry(to, p, writers);
		fclose(to);
	}
	put_behind_row(text, 0);
}

static void show(const struct ink_plan *p, unsigned writers)
{
	struct ink_kind_info kind = cli_kind(p->kind);
	char error[16], unsure[16] = "?";

	if (kind.can & INK_CAN_PLAN_UNSURE)
		cli_show_share(p->unsure, unsure, sizeof unsure);
	printf("%-8s %12llu %10.1f %9.1f %10s %10s %6.1f %%", kind.name, (unsigned long long)p->flows,
	       (double)p->bytes / 1024, p->bits_per_flow, cli_show_share(p->error, error, sizeof error),
	       unsure, p->load * 100);
	show_geometry(p, writers);
}

static void show_head(void)
{
	printf("%-8s %12s %10s %9s %10s %10s %8s", "kind", "flows", "KiB", "bits/flow", "error", "unsure",
	       "load");
	put_behind_row("geometry", 0);
}

/* ------------------------------------------------------------------------ plans */

/* A requested error is kept. Else the smallest error can be any, and a table that answers most strangers is useless. */
static int plan_within_reach(const struct ink_options *o, struct ink_plan *plan, struct ink_why *why)
{
	int error = ink_plan(o, plan, why);
	char share[16];

	if (error || o->error > 0 || plan->error <= .5)
		return error;
	snprintf(why->text, sizeof why->text,
		 "%s: %llu flow%s in %llu bytes %s out of reach: %s of strangers would get an answer",
		 cli_kind(plan->kind).name, (unsigned long long)o->flows, cli_plural(o->flows),
		 (unsigned long long)o->bytes, o->flows == 1 ? "is" : "are",
		 cli_show_share(plan->error, share, sizeof share));
	return -ERANGE;
}

/* `said` is the last message: one that applies to all kinds is printed once. */
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
	show(&plan, o->writers);
	if (o->geometry.bloom_flags & INK_BLOOM_BLOCKED)
		show_price(o, &plan);
	return 0;
}

/* Which kind for which purpose, of those that have a plan. */
static void advise(const unsigned char *planned)
{
	int columns = cli_columns();
	char name[10];

	putchar('\n');
	for (unsigned kind = 1; cli_kind(kind).name; kind++)
		if (planned[kind]) {
			snprintf(name, sizeof name, "%-9s", cli_kind(kind).name);
			sim_put_wrapped(cli_kind(kind).purpose, name, "         ",
					columns ? columns : INT_MAX, stdout);
		}
}

/* By default, with time-outs if the kind has them, and the machine. */
static uint32_t age_bits(const struct request *r, unsigned kind)
{
	int can = (cli_kind(kind).can & INK_CAN_TIME_OUT) != 0;

	if (r->options.age_bits != NOT_GIVEN)
		return r->options.age_bits;
	if (r->view)
		return can && r->view->timeouts ? CLI_AGE_BITS : 0;
	return (uint32_t)can;
}

/* A small table tells whether the kind can keep the machine's rules. */
static int can_run(const struct ink_machine_view *v, const struct ink_options *planned, struct ink_why *why)
{
	struct ink_options o = {.size = sizeof o,
				.kind = planned->kind,
				.states = planned->states,
				.age_bits = planned->age_bits,
				.flows = 1,
				.seed = 1,
				.rules = v->rules};
	struct ink_table *table = ink_create(&o, why);

	ink_free(table);
	return table != NULL;
}

static int plan_kind(const struct request *r, unsigned kind, int first, struct ink_why *said)
{
	struct ink_options o = r->options;
	struct ink_why why;
	int error;

	o.kind = (enum ink_kind)kind;
	o.age_bits = age_bits(r, kind);
	fflush(stdout);
	if (r->view && !can_run(r->view, &o, &why)) {
		cli_failed("%s: %s", r->view->name, why.text);
		return -ENOTSUP;
	}
	error = show_kind(&o, first, said);
	if (!error && r->view)
		cli_put_times(r->view, (struct cli_ages){kind, o.age_bits},
			      (struct cli_lines){"         ", "         "}, stdout);
	return error;
}

/* Marks the kinds that have a plan. Returns how many. */
static unsigned plan_kinds(const struct request *r, unsigned char *planned)
{
	struct ink_why said = {""};
	unsigned n = 0;

	for (unsigned kind = 1; cli_kind(kind).name; kind++)
		if ((!r->kind || r->kind == kind) && plan_kind(r, kind, !n, &said) == 0) {
			planned[kind] = 1;
			n++;
		}
	return n;
}

/* As `run` divides them: flows are of each machine, memory is of all. */
static unsigned plan_set(struct request *r, const struct ink_machines *set, unsigned char *planned)
{
	unsigned n = ink_machines_count(set), plans = 0;

	r->options.bytes /= n;
	for (unsigned i = 0; i < n; i++) {
		r->view = ink_machine_view(ink_machines_at(set, i));
		r->options.states = r->view->rules->states;
		if (n > 1)
			printf("%smachine %s\n", i ? "\n" : "", r->view->name);
		plans += plan_kinds(r, planned);
	}
	return plans;
}

static unsigned plan_machines(struct request *r, unsigned char *planned)
{
	struct ink_machines *set = cli_machine_set(r->machine, &(struct cli_machine_options){.set = &r->set});
	unsigned plans = set ? plan_set(r, set, planned) : 0;

	ink_machines_free(set);
	return plans;
}

static int run(int argc, char **argv)
{
	struct request r = {.options = {.size = sizeof r.options, .age_bits = NOT_GIVEN}};
	struct cli_line line = {&cli_plan, options, sizeof options / sizeof options[0], &r, {NULL}};
	unsigned char planned[CLI_KINDS_MOST + 1] = {0};
	int error = read_options(&line, argc, argv);
	unsigned plans;

	if (error)
		return error;
	plans = r.machine ? plan_machines(&r, planned) : plan_kinds(&r, planned);
	if (!r.kind && plans)
		advise(planned);
	return plans ? CLI_DONE : CLI_FAILED;
}

const struct cli_command cli_plan = {"plan", "how much memory for how many flows, and with what error", help,
				     run};
