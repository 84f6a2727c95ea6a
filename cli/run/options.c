/* SPDX-License-Identifier: BSD-2-Clause */
/* inkling run: the command line, as tcpdump has it. */
#include <net/if.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/run/run.h"

static const char *const policies[] = {"unsure", "refuse", "replace", NULL};
static const char *const exact_for[] = {"unsure", NULL};

_Static_assert(INK_UNSURE == 1 && INK_REFUSE == 2 && INK_REPLACE == 3, "the order of the names");

#define AT(field) offsetof(struct request, field)

static const struct cli_option options[] = {
	{.name = "r", .how = CLI_WORD, .at = AT(file), .longer = " read file input "},
	{.name = "i",
	 .how = CLI_WORD,
	 .at = AT(interface),
	 .shape = "an interface name",
	 .longer = " interface "},
	{.name = "w", .how = CLI_WORD, .at = AT(write), .longer = " write "},
	{.name = "o", .how = CLI_WORD, .at = AT(output), .longer = " output json "},
	{.name = "c", .how = CLI_NUMBER, .at = AT(packets), .least = 1, .longer = " count packets "},
	{.name = "q", .how = CLI_FLAG, .at = AT(quiet), .longer = " quiet silent "},
	{.name = "kind", .how = CLI_CHOICE, .at = AT(table.kind), .words = cli_kinds, .least = 1},
	CLI_FLOWS(AT(room.flows)),
	CLI_MEMORY(AT(room.memory)),
	{.name = "error", .how = CLI_SHARE, .at = AT(table.error)},
	{.name = "smallest", .how = CLI_FLAG, .at = AT(table.smallest)},
	{.name = "full", .how = CLI_CHOICE, .at = AT(table.full), .words = policies, .least = INK_UNSURE},
	{.name = "seed", .how = CLI_NUMBER, .at = AT(seed), .least = 1},
	{.name = "age-bits", .how = CLI_SMALL, .at = AT(table.age_bits), .least = 1, .most = 2},
	{.name = "no-timeouts", .how = CLI_FLAG, .at = AT(no_timeouts)},
	{.name = "verify", .how = CLI_FLAG, .at = AT(verify)},
	{.name = "two-pass", .how = CLI_FLAG, .at = AT(two_pass)},
	{.name = "exact-for", .how = CLI_CHOICE, .at = AT(exact_for_unsure), .words = exact_for, .least = 1},
	{.name = "community-id", .how = CLI_FLAG, .at = AT(community_id)},
	CLI_QUEUE_RATE(AT(queue_rate)),
	CLI_SET(AT(set)),
	{.name = "outermost", .how = CLI_FLAG, .at = AT(outermost)},
};

/* All remaining words are the filter, as for tcpdump. */
static int join(int argc, char **argv, char **filter)
{
	size_t length = 1;

	for (int i = 0; i < argc; i++)
		length += strlen(argv[i]) + 1;
	*filter = argc ? calloc(1, length) : NULL;
	for (int i = 0; i < argc && *filter; i++) {
		strcat(*filter, i ? " " : "");
		strcat(*filter, argv[i]);
	}
	return argc && !*filter ? cli_failed("no memory") : CLI_DONE;
}

/* A name with a slash may also be a capture's. */
static int is_machine_file(const char *name)
{
	size_t length = strlen(name);

	return length >= 4 && !strcmp(name + length - 4, ".fsm");
}

/* The first word that names a file, other than a machine; or NULL. */
static const char *name_of_a_file(int argc, char **argv)
{
	struct stat found;

	for (int i = 0; i < argc; i++)
		if (!cli_bundled(argv[i]) && !is_machine_file(argv[i]) && stat(argv[i], &found) == 0 &&
		    S_ISREG(found.st_mode))
			return argv[i];
	return NULL;
}

/* tcp is also a word of filters. */
static const char *name_of_a_machine(int argc, char **argv)
{
	for (int i = 0; i < argc; i++)
		if (cli_bundled(argv[i]) && ink_filter_try(argv[i], NULL))
			return argv[i];
	return NULL;
}

static const char *name_of_an_interface(int argc, char **argv)
{
	for (int i = 0; i < argc; i++)
		if (!cli_bundled(argv[i]) && if_nametoindex(argv[i]))
			return argv[i];
	return NULL;
}

/* The input may be there without its option, behind the machine or in its place. */
static int no_input(int argc, char **argv)
{
	int machine = cli_names_file(argv[0]);
	const char *file = name_of_a_file(argc - machine, argv + machine);
	const char *interface = name_of_an_interface(argc - machine, argv + machine);

	if (file || interface)
		return cli_usage(&cli_run, "no input; did you mean '%s %s'?", file ? "-r" : "-i",
				 file ? file : interface);
	return cli_usage(&cli_run, "no input (-r FILE or -i INTERFACE)");
}

/* An option without effect is a mistake on the command line. */
static int check_effects(const struct request *r)
{
	unsigned kind = r->table.kind;
	const char *name = cli_kind(kind).name;
	int exact = cli_is_exact(kind);

	if (r->table.full && !cli_has_room_for_some(kind))
		return cli_usage(&cli_run, "--full is for tables that can be full, and %s never is", name);
	if (r->table.smallest && (cli_kind(kind).geometry & CLI_SHAPES_DIFFER) != CLI_SHAPES_DIFFER)
		return cli_usage(&cli_run, "--smallest is for --kind compact");
	if (exact && r->exact_for_unsure)
		return cli_usage(&cli_run, "--exact-for is for tables that can be unsure, and %s never is",
				 name);
	if (exact && r->table.age_bits)
		return cli_usage(&cli_run, CLI_NO_AGE_BITS, name);
	if (exact && r->table.error > 0)
		return cli_usage(&cli_run, CLI_NO_ERROR, name);
	if (r->community_id && !r->output)
		return cli_usage(&cli_run, "--community-id has no effect without -o");
	return CLI_DONE;
}

/* Options that contradict each other. */
static int check_combinations(const struct request *r)
{
	if (r->file && r->interface)
		return cli_usage(&cli_run, "-r and -i: one input only");
	if (r->two_pass && (!r->file || !strcmp(r->file, "-")))
		return cli_usage(&cli_run, "--two-pass reads the input twice: it must be a file (-r)");
	if (r->two_pass && r->verify)
		return cli_usage(&cli_run, "--two-pass and --verify: the second pass is exact, so there is "
					   "nothing to verify");
	if (r->two_pass && r->exact_for_unsure)
		return cli_usage(&cli_run, "--two-pass and --exact-for: the second pass is exact already");
	if (r->no_timeouts && r->table.age_bits)
		return cli_usage(&cli_run,
				 "--no-timeouts and --age-bits: without time-outs there are no ages");
	if (r->verify && r->exact_for_unsure)
		return cli_usage(&cli_run, "--verify and --exact-for: verify compares the table alone");
	if (r->output && r->write && !strcmp(r->output, "-") && !strcmp(r->write, "-"))
		return cli_usage(&cli_run, "-o - and -w - cannot both be standard output");
	return check_effects(r);
}

/* The first word that is not an option is the machine. Options may be anywhere, also after the filter. */
int run_options(int argc, char **argv, struct request *r)
{
	struct cli_line line = {&cli_run, options, sizeof options / sizeof options[0], r, {NULL}};
	int error;

	*r = (struct request){.table = {.size = sizeof r->table}};
	error = cli_options(&line, argc, argv);
	if (error)
		return error;
	if (optind == argc)
		return cli_usage(&cli_run, CLI_WHICH_MACHINE);
	if (!r->file && !r->interface)
		return no_input(argc - optind, argv + optind);
	r->machine = argv[optind++];
	r->file_in_filter = name_of_a_file(argc - optind, argv + optind);
	r->machine_in_filter = name_of_a_machine(argc - optind, argv + optind);
	error = cli_names(&cli_run, r->machine, &r->names);
	if (!error)
		error = check_combinations(r);
	return error ? error : join(argc - optind, argv + optind, &r->filter);
}
