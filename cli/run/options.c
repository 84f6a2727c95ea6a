/* SPDX-License-Identifier: BSD-2-Clause */
/* inkling run: the command line, with tcpdump's habits. */
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#include "run.h"

enum {
	KIND = 256,
	FLOWS,
	MEMORY,
	ERROR,
	FULL,
	SEED,
	AGE_BITS,
	NO_TIMEOUTS,
	VERIFY,
	TWO_PASS,
	EXACT_FOR,
	COMMUNITY_ID,
	OUTERMOST
};

static const struct option options[] = {
	{"kind", required_argument, NULL, KIND},
	{"flows", required_argument, NULL, FLOWS},
	{"memory", required_argument, NULL, MEMORY},
	{"error", required_argument, NULL, ERROR},
	{"full", required_argument, NULL, FULL},
	{"seed", required_argument, NULL, SEED},
	{"age-bits", required_argument, NULL, AGE_BITS},
	{"no-timeouts", no_argument, NULL, NO_TIMEOUTS},
	{"verify", no_argument, NULL, VERIFY},
	{"two-pass", no_argument, NULL, TWO_PASS},
	{"exact-for", required_argument, NULL, EXACT_FOR},
	{"community-id", no_argument, NULL, COMMUNITY_ID},
	{"outermost", no_argument, NULL, OUTERMOST},
	{"help", no_argument, NULL, 'h'},
	{NULL, 0, NULL, 0},
};

static int full_policy(const char *text, enum ink_full *full)
{
	static const char *const names[] = {NULL, "unsure", "refuse", "replace"};

	for (unsigned i = INK_UNSURE; i <= INK_REPLACE; i++)
		if (!strcmp(text, names[i]))
			return *full = (enum ink_full)i, 0;
	return -1;
}

static int flag(int *which)
{
	*which = 1;
	return 0;
}

/* Where the word behind an option goes, as it is; NULL: it has to be understood. */
static const char **word_of(int option, struct wishes *w)
{
	switch (option) {
	case 'r':
		return &w->file;
	case 'i':
		return &w->interface;
	case 'w':
		return &w->write;
	case 'o':
		return &w->output;
	default:
		return NULL;
	}
}

/* 0, or -1: that is no value for the option. */
static int take(int option, const char *text, struct wishes *w)
{
	switch (option) {
	case 'c':
		return cli_number(text, &w->packets) || !w->packets ? -1 : 0;
	case 'q':
		return flag(&w->quiet);
	case KIND:
		return cli_kind(text, &w->table.kind);
	case FLOWS:
		return cli_number(text, &w->table.flows) || !w->table.flows ? -1 : 0;
	case MEMORY:
		return cli_size(text, &w->table.bytes) || !w->table.bytes ? -1 : 0;
	case ERROR:
		return cli_share(text, &w->table.error);
	case FULL:
		return full_policy(text, &w->table.full);
	case SEED:
		return cli_number(text, &w->table.seed) || !w->table.seed ? -1 : 0;
	case AGE_BITS:
		return cli_small(text, 2, &w->table.age_bits) || !w->table.age_bits ? -1 : 0;
	case NO_TIMEOUTS:
		return flag(&w->no_timeouts);
	case VERIFY:
		return flag(&w->verify);
	case TWO_PASS:
		return flag(&w->two_pass);
	case EXACT_FOR:
		return strcmp(text, "unsure") ? -1 : flag(&w->exact_for_unsure);
	case COMMUNITY_ID:
		return flag(&w->community_id);
	default:
		return flag(&w->outermost);
	}
}

/* What the value of an option looks like. */
static const char *value_of(int option)
{
	switch (option) {
	case KIND:
		return "line, compact, dleft, exact, stateful, direct or kbf";
	case MEMORY:
		return "a size, as 512k or 4M";
	case ERROR:
		return "a share, as 0.001 or 0.1%";
	case FULL:
		return "unsure, refuse or replace";
	case AGE_BITS:
		return "1 or 2";
	case EXACT_FOR:
		return "unsure";
	default:
		return "a number from 1 on";
	}
}

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
	return CLI_DONE;
}

static int take_word(int option, const char *text, const char **word)
{
	if (*word)
		return cli_usage(&cli_run, "-%c is given twice: %s and %s", option, *word, text);
	*word = text;
	return CLI_DONE;
}

static int take_value(int option, const char *name, const char *text, struct wishes *w)
{
	char letter[] = {(char)option, 0};

	if (!take(option, text, w))
		return CLI_DONE;
	return cli_usage(&cli_run, "%s%s %s: that is no value for it (%s)", option < KIND ? "-" : "--",
			 option < KIND ? letter : name, text, value_of(option));
}

/* Options may stand anywhere, also between the words of the filter and behind them; "--" ends them. */
static int parse(int argc, char **argv, struct wishes *w)
{
	int option, which = 0, error = CLI_DONE;

	opterr = 0;
	while (!error && (option = getopt_long(argc, argv, ":r:i:w:o:c:qh", options, &which)) != -1) {
		const char **word = word_of(option, w);

		if (option == 'h')
			return fputs(cli_run.help, stdout), CLI_HELPED;
		if (option == '?' || option == ':')
			return cli_bad_option(&cli_run, option, argv);
		error = word ? take_word(option, optarg, word)
			     : take_value(option, options[which].name, optarg, w);
	}
	return error;
}

/* The first word that is no option is the machine. */
int run_options(int argc, char **argv, struct wishes *w)
{
	int error;

	*w = (struct wishes){.table = {.size = sizeof w->table}};
	error = parse(argc, argv, w);
	if (error)
		return error;
	if (optind < argc)
		w->machine = argv[optind++];
	else
		return cli_usage(&cli_run,
				 "which machine? ('inkling check --list' names those that are there)");
	error = contradiction(w);
	return error ? error : join(argc - optind, argv + optind, &w->filter);
}
