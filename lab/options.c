/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Seven options, read by getopt_long. The later of two numbers counts, so a script can append its own. Of two
 * files one would be lost, so that is refused.
 */
#include "lab/options.h"

#include <errno.h>
#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <inkling/inkling.h>

#include "base/suggest.h"
#include "sim/text.h"

static const char help[] =
	"usage: inkling-lab NAME... [OPTIONS]\n"
	"       inkling-lab all [OPTIONS]\n"
	"       inkling-lab list | help\n"
	"\n"
	"Runs experiments of the ACSM and kBF papers. Prints the paper's numbers, ours, and\n"
	"those of newer structures on the same work. 'list' shows all experiments, their\n"
	"place in the paper, and how long they take.\n"
	"\n"
	"  --quick           smaller; all experiments take two minutes\n"
	"  --full            larger than the papers where that is worthwhile\n"
	"  --seeds N         repetitions (default 3)\n"
	"  --seed N          first seed (default 1); the same seed gives the same numbers\n"
	"  --html FILE       write a report with plots, as one self-contained file\n"
	"  -o FILE           write NDJSON (for both: - is standard output, without tables)\n"
	"  -j N              threads (default: one for each core)\n"
	"  --version         print the version\n"
	"\n"
	"example: inkling-lab table1 --quick --html report.html\n";

enum { MOST_SEEDS = 100, MOST_WORKERS = 256 };
enum {
	QUICK = 256,
	FULL,
	SEEDS,
	SEED,
	HTML,
	VERSION
}; /* options that are words; letters stand for themselves */

static const struct option words[] = {
	{"quick", no_argument, NULL, QUICK},       {"full", no_argument, NULL, FULL},
	{"seeds", required_argument, NULL, SEEDS}, {"seed", required_argument, NULL, SEED},
	{"html", required_argument, NULL, HTML},   {"help", no_argument, NULL, 'h'},
	{"version", no_argument, NULL, VERSION},   {NULL, 0, NULL, 0}};

int options_usage(const char *format, ...)
{
	va_list args;

	fputs("inkling-lab: ", stderr);
	va_start(args, format);
	sim_put_message(stderr, format, args);
	va_end(args);
	fputs("\nTry 'inkling-lab --help'.\n", stderr);
	return LAB_USAGE;
}

/* --------------------------------------------------------------------- values */

static int take_number(const char *option, const char *text, uint64_t most, uint64_t *number)
{
	char *end;

	errno = 0;
	*number = strtoull(text, &end, 10);
	if (*text >= '0' && *text <= '9' && !*end && !errno && *number >= 1 && *number <= most)
		return LAB_DONE;
	return options_usage("%s '%s': not a number from 1 to %llu", option, text, (unsigned long long)most);
}

static int take_small(const char *option, const char *text, unsigned most, unsigned *number)
{
	uint64_t wide;
	int error = take_number(option, text, most, &wide);

	if (!error)
		*number = (unsigned)wide;
	return error;
}

static int take_file(const char *option, const char *text, const char **file)
{
	if (!*text)
		return options_usage("%s needs the name of a file", option);
	if (*file)
		return options_usage("%s is given twice: %s and %s", option, *file, text);
	*file = text;
	return LAB_DONE;
}

static int take_size(struct request *r, enum lab_size size)
{
	if (r->lab.size != LAB_NORMAL && r->lab.size != size)
		return options_usage("--quick and --full contradict each other");
	r->lab.size = size;
	return LAB_DONE;
}

/* ------------------------------------------------------------------ complaints */

static int unknown_word(const char *word)
{
	struct ink_suggest near =
		ink_suggest(word + strspn(word, "-"), strcspn(word + strspn(word, "-"), "="));
	char hint[96];

	for (const struct option *o = words; o->name; o++)
		ink_suggest_offer(&near, o->name);
	return options_usage("'%s' is not an option%s", word, ink_suggest_hint(&near, hint));
}

static int unknown(const char *word)
{
	if (optopt && optopt < QUICK)
		return options_usage("'-%c' is not an option", optopt);
	return unknown_word(word);
}

/* ---------------------------------------------------------------------- the line */

static int take(struct request *r, int option, char **argv)
{
	switch (option) {
	case QUICK:
		return take_size(r, LAB_QUICK);
	case FULL:
		return take_size(r, LAB_FULL);
	case SEEDS:
		r->repeats = true;
		return take_small("--seeds", optarg, MOST_SEEDS, &r->lab.seeds);
	case SEED:
		return take_number("--seed", optarg, UINT64_MAX, &r->lab.seed);
	case HTML:
		return take_file("--html", optarg, &r->html);
	case 'o':
		return take_file("-o", optarg, &r->ndjson);
	case 'j':
		return take_small("-j", optarg, MOST_WORKERS, &r->lab.workers);
	case 'h':
		fputs(help, stdout);
		return LAB_HELPED;
	case VERSION:
		printf("inkling-lab %s\n", ink_version());
		return LAB_HELPED;
	case ':':
		return options_usage("'%s' needs a value", argv[optind - 1]);
	default:
		return unknown(argv[optind - 1]);
	}
}

static unsigned cores(void)
{
	long online = sysconf(_SC_NPROCESSORS_ONLN);

	return online < 1 ? 1 : online > MOST_WORKERS ? MOST_WORKERS : (unsigned)online;
}

int options_read(struct request *r, int argc, char **argv)
{
	int option, result = LAB_DONE;

	*r = (struct request){.lab = {.size = LAB_NORMAL, .seeds = 3, .seed = 1, .workers = cores()}};
	opterr = 0;
	while (!result && (option = getopt_long(argc, argv, ":ho:j:", words, NULL)) != -1)
		result = take(r, option, argv);
	if (!result && argc == 2 && !strcmp(argv[1], "help"))
		return take(r, 'h', argv);
	if (!result && optind == argc)
		return options_usage("which experiment? 'all', or names from 'inkling-lab list'");
	return result;
}
