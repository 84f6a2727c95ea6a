/* SPDX-License-Identifier: BSD-2-Clause */
/* inkling check: what is wrong with a machine, or what it compiles to. */
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/rate.h"
#include "cli/cli.h"
#include "sim/text.h"

static const char help[] =
	"usage: inkling check [--strict] [--set NAME=VALUE] MACHINE...\n"
	"       inkling check --list\n"
	"\n"
	"Reads machines and reports errors with line, column and a caret.\n"
	"MACHINE is a file, if it has a slash in its name or ends in .fsm, or the name of\n"
	"a bundled machine. For each correct one it prints what it compiles to.\n"
	"\n"
	"  --strict   warnings are errors (states that cannot be reached or that flows\n"
	"             never leave, events that can never happen, rows never taken)\n"
	"  --set NAME=VALUE   the value of a param of the machines; also several times\n"
	"  --list     the bundled machines: the name of each, and what it is for\n"
	"\n"
	"Exits with 1 if one of them has an error. See inkling-machine(5).\n";

struct request {
	int strict, list;
	struct cli_settings set;
};

static const struct cli_option options[] = {
	{.name = "strict", .how = CLI_FLAG, .at = offsetof(struct request, strict)},
	CLI_SET(offsetof(struct request, set)),
	{.name = "list", .how = CLI_FLAG, .at = offsetof(struct request, list)},
};

enum { NAMES = 16 }; /* columns; the longest name is video-combined */

/* A bundled machine begins with a comment whose first line says what it is for (tests/check.sh: it fits a terminal). */
static int list(void)
{
	const struct ink_bundled *machine;

	for (unsigned i = 0; (machine = ink_bundled(i)); i++) {
		const char *purpose = machine->text + strspn(machine->text, "# ");

		printf("%-*s%.*s\n", NAMES, machine->name, (int)strcspn(purpose, "\n"), purpose);
	}
	return CLI_DONE;
}

/* Bits that the state takes in a table. One code means "don't know". */
static unsigned bits_of(unsigned states)
{
	unsigned bits = 1;

	while ((1u << bits) < states + 1)
		bits++;
	return bits;
}

/* The values that it was compiled with. */
static void put_params(const struct ink_machine_view *v)
{
	for (unsigned i = 0; i < v->params; i++) {
		printf("%s%s = ", i ? ", " : "  params: ", v->param[i].name);
		sim_put_visible(v->param[i].value, stdout);
	}
	if (v->params)
		putchar('\n');
}

static int tells(const struct ink_machine_view *v, unsigned machine, unsigned event)
{
	for (unsigned a = 0; a < v->actions; a++)
		for (unsigned t = 0; t < v->action_more[a].n_tells; t++)
			if (v->action_more[a].tells[t].machine == machine &&
			    v->action_more[a].tells[t].event == event)
				return 1;
	return 0;
}

/* Whom it tells what, each once. */
static void put_tells(const struct ink_machines *set, const struct ink_machine_view *v)
{
	const char *before = "  tells: ";

	for (unsigned m = 0; m < ink_machines_count(set); m++) {
		const struct ink_machine_view *told = ink_machine_view(ink_machines_at(set, m));

		for (unsigned e = 0; e < told->events; e++)
			if (tells(v, m, e)) {
				printf("%s%s %s", before, told->name, told->event_names[e]);
				before = ", ";
			}
	}
	if (*before == ',')
		putchar('\n');
}

/* Counters that conditions compare are not those of a flow. */
static void put_globals(const struct ink_machine_view *v)
{
	const char *before = "  global, of all flows together: ";

	for (unsigned i = 0; i < v->counters; i++)
		if (v->counter_global[i]) {
			printf("%s%s", before, v->counter_names[i]);
			before = ", ";
		}
	if (*before == ',')
		putchar('\n');
}

/* What the machine needs besides packets, and what it holds them to. */
static void put_queue(const struct ink_machine_view *v)
{
	char rate[INK_RATE_TEXT];

	if (v->queues)
		puts("  queue: its conditions need egress, or --queue-rate in a run");
	for (unsigned i = 0; i < v->limits; i++) {
		const struct ink_limit *l = &v->limit[i];

		ink_rate_show(l->rate, rate);
		printf("%s%s%s (burst %u bytes)", i ? ", " : "  limits: ", rate,
		       l->each_flow ? " each flow" : "", l->burst);
	}
	if (v->limits)
		putchar('\n');
}

/* The machine's name, if the file has several. */
static void put_machine(const char *name, const struct ink_machines *set, const struct ink_machine_view *v)
{
	unsigned bits = bits_of(v->rules->states);

	sim_put_visible(name, stdout);
	if (ink_machines_count(set) > 1)
		printf(": machine %s", v->name);
	printf(": %u state%s (%u with what they remember, %u bit%s), %u event%s (%u), tick %g s; key %s\n",
	       v->states, cli_plural(v->states), v->rules->states, bits, cli_plural(bits), v->events,
	       cli_plural(v->events), v->rules->events, (double)v->tick / 1e9, v->key_text);
	put_tells(set, v);
	put_globals(v);
	put_queue(v);
	cli_put_times(v, (struct cli_ages){INK_KIND_DEFAULT, CLI_AGE_BITS}, (struct cli_lines){"  ", "  "},
		      stdout);
}

static int check(const char *name, const struct request *r)
{
	struct ink_machines *set =
		cli_machine_set(name, &(struct cli_machine_options){.strict = r->strict, .set = &r->set});
	unsigned n = set ? ink_machines_count(set) : 0;

	for (unsigned i = 0; i < n; i++)
		put_machine(name, set, ink_machine_view(ink_machines_at(set, i)));
	if (n) /* the last machine knows the params of all */
		put_params(ink_machine_view(ink_machines_at(set, n - 1)));
	ink_machines_free(set);
	return n ? CLI_DONE : CLI_FAILED;
}

static int run(int argc, char **argv)
{
	struct request r = {0};
	struct cli_line line = {&cli_check, options, sizeof options / sizeof options[0], &r, {NULL}};
	int result = cli_options(&line, argc, argv);

	if (result)
		return result;
	if (r.list)
		return argc == 2 ? list() : cli_usage(&cli_check, "--list takes no machine");
	if (optind == argc)
		return cli_usage(&cli_check, "which machine? (--list names the bundled ones)");
	for (; optind < argc; optind++)
		if (check(argv[optind], &r) != CLI_DONE)
			result = CLI_FAILED;
	return result;
}

const struct cli_command cli_check = {"check", "reports what is wrong with a machine", help, run};
