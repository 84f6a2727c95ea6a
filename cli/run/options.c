/* SPDX-License-Identifier: BSD-2-Clause */
/* inkling run: the command line, with tcpdump's habits. */
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/run/run.h"

static const char *const policies[] = {"unsure", "refuse", "replace", NULL};
static const char *const exact_for[] = {"unsure", NULL};

_Static_assert(INK_UNSURE == 1 && INK_REFUSE == 2 && INK_REPLACE == 3, "the order of the names");

#define AT(field) offsetof(struct wishes, field)

static const struct cli_option options[] = {
	{.name = "r", .how = CLI_WORD, .at = AT(file)},
	{.name = "i", .how = CLI_WORD, .at = AT(interface), .shape = "the name of an interface"},
	{.name = "w", .how = CLI_WORD, .at = AT(write)},
	{.name = "o", .how = CLI_WORD, .at = AT(output)},
	{.name = "c", .how = CLI_NUMBER, .at = AT(packets), .least = 1},
	{.name = "q", .how = CLI_FLAG, .at = AT(quiet)},
	{.name = "kind", .how = CLI_CHOICE, .at = AT(table.kind), .words = cli_kinds, .least = INK_LINE},
	{.name = "flows", .how = CLI_NUMBER, .at = AT(table.flows), .least = 1},
	{.name = "memory", .how = CLI_SIZE, .at = AT(table.bytes), .least = 1},
	{.name = "error", .how = CLI_SHARE, .at = AT(table.error)},
	{.name = "full", .how = CLI_CHOICE, .at = AT(table.full), .words = policies, .least = INK_UNSURE},
	{.name = "seed", .how = CLI_NUMBER, .at = AT(table.seed), .least = 1},
	{.name = "age-bits", .how = CLI_SMALL, .at = AT(table.age_bits), .least = 1, .most = 2},
	{.name = "no-timeouts", .how = CLI_FLAG, .at = AT(no_timeouts)},
	{.name = "verify", .how = CLI_FLAG, .at = AT(verify)},
	{.name = "two-pass", .how = CLI_FLAG, .at = AT(two_pass)},
	{.name = "exact-for", .how = CLI_CHOICE, .at = AT(exact_for_unsure), .words = exact_for, .least = 1},
	{.name = "community-id", .how = CLI_FLAG, .at = AT(community_id)},
	{.name = "outermost", .how = CLI_FLAG, .at = AT(outermost)},
};

/* tcpdump takes all that is left as the filter. */
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

static const char *name_of_a_file(int argc, char **argv)
{
	struct stat found;

	for (int i = 0; i < argc; i++)
		if (stat(argv[i], &found) == 0 && S_ISREG(found.st_mode))
			return argv[i];
	return NULL;
}

/* Exact tables grow, and the filters and sums always find room. */
static int can_be_full(enum ink_kind kind)
{
	return kind == INK_KIND_DEFAULT || kind == INK_LINE || kind == INK_COMPACT || kind == INK_DLEFT;
}

/* What would change nothing was not meant so. */
static int in_vain(const struct wishes *w)
{
	if (w->table.full && !can_be_full(w->table.kind))
		return cli_usage(&cli_run, "--full is for tables that can be full, and %s never is",
				 cli_kind_name(w->table.kind));
	if (w->table.kind == INK_EXACT && w->exact_for_unsure)
		return cli_usage(&cli_run,
				 "--exact-for is for tables that can be unsure, and exact never is");
	if (w->table.kind == INK_EXACT && w->table.age_bits)
		return cli_usage(&cli_run, CLI_NO_AGE_BITS);
	if (w->table.kind == INK_EXACT && w->table.error > 0)
		return cli_usage(&cli_run, CLI_NO_ERROR);
	if (w->community_id && !w->output)
		return cli_usage(&cli_run, "--community-id is for reports, which -o writes");
	return CLI_DONE;
}

/* What the options say together. */
static int contradiction(const struct wishes *w)
{
	if (!w->file && !w->interface)
		return cli_usage(&cli_run, "a capture or an interface? (-r FILE or -i INTERFACE)");
	if (w->file && w->interface)
		return cli_usage(&cli_run, "a capture and an interface were given (-r and -i): one of them");
	if (w->two_pass && (!w->file || !strcmp(w->file, "-")))
		return cli_usage(&cli_run, "--two-pass reads the input twice: it must be a file (-r)");
	if (w->two_pass && w->verify)
		return cli_usage(&cli_run, "--two-pass and --verify: the second pass is exact, and there is "
					   "nothing to verify");
	if (w->two_pass && w->exact_for_unsure)
		return cli_usage(&cli_run,
				 "--two-pass and --exact-for: the second pass is exact for all that "
				 "is unsure");
	if (w->no_timeouts && w->table.age_bits)
		return cli_usage(&cli_run,
				 "--no-timeouts and --age-bits: where time stands still there are no ages");
	if (w->verify && w->exact_for_unsure)
		return cli_usage(&cli_run, "--verify judges the table alone, without --exact-for");
	if (w->output && w->write && !strcmp(w->output, "-") && !strcmp(w->write, "-"))
		return cli_usage(&cli_run, "-o - and -w - cannot both be standard output");
	return in_vain(w);
}

/* The first word that is no option is the machine. Options may stand anywhere, also behind the filter. */
int run_options(int argc, char **argv, struct wishes *w)
{
	struct cli_line line = {&cli_run, options, sizeof options / sizeof options[0], w, {NULL}};
	int error;

	*w = (struct wishes){.table = {.size = sizeof w->table}};
	error = cli_options(&line, argc, argv);
	if (error)
		return error;
	if (optind < argc)
		w->machine = argv[optind++];
	else
		return cli_usage(&cli_run,
				 "which machine? ('inkling check --list' names those that are there)");
	w->file_in_filter = name_of_a_file(argc - optind, argv + optind);
	error = contradiction(w);
	return error ? error : join(argc - optind, argv + optind, &w->filter);
}
