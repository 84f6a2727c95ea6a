/* SPDX-License-Identifier: BSD-2-Clause */
/* What the commands share. Exit codes: 0 done, 1 it failed, 2 usage. */
#ifndef INKLING_CLI_CLI_H
#define INKLING_CLI_CLI_H

#include <stdio.h>

#include <inkling/inkling.h>
#include <inkling/machine.h>

/* And between functions: only help was asked for, and given. */
enum { CLI_DONE = 0, CLI_FAILED = 1, CLI_USAGE = 2, CLI_HELPED = -1 };

/* A command: its name, one line for the overview, its help, and what it does. */
struct cli_command {
	const char *name;
	const char *summary;
	const char *help;
	int (*run)(int argc, char **argv);
};

extern const struct cli_command cli_bench, cli_check, cli_draw, cli_generate, cli_plan, cli_run;

/* ------------------------------------------------------------------------ complaints */

/* Says what is wrong with the usage and where to find help; returns CLI_USAGE. */
__attribute__((format(printf, 2, 3))) int cli_usage(const struct cli_command *command, const char *format,
						    ...);

/* What plan and run say alike. */
#define CLI_NO_AGE_BITS "--age-bits is for kinds that count time in bits, and exact keeps it whole"
#define CLI_NO_ERROR "--error is for kinds that err, and exact does not"

/* Says what failed; returns CLI_FAILED. */
__attribute__((format(printf, 1, 2))) int cli_failed(const char *format, ...);

/* --------------------------------------------------------------- the command line */

/* How the value of an option is written, and the type of its place. */
enum cli_how {
	CLI_FLAG,   /* there is none; int, which becomes 1 */
	CLI_WORD,   /* const char *: as it is */
	CLI_NUMBER, /* uint64_t, whole: "1500000", "1.5M", "1e6"; k, M, G and T are powers of 1000 */
	CLI_SMALL,  /* unsigned: digits alone */
	CLI_SIZE,   /* uint64_t: "64M", "1.5MiB"; the same as powers of 1024 */
	CLI_SHARE,  /* double: "0.001", "0.1%", "1/1024"; more than 0, and less than 1 */
	CLI_PART,   /* double: the same, and 0 and 1 too */
	CLI_TIME, /* uint64_t, nanoseconds: "60s", "50ms", "2min", "1h", "250us"; a bare number is seconds */
	CLI_CHOICE, /* an enum: one of `words`, the first of which is `least` */
	CLI_OWN     /* as `take` has it */
};

struct cli_option {
	const char *name; /* without its dashes; a letter, or a word */
	enum cli_how how;
	size_t at;            /* where its value goes, in the struct of the wishes */
	uint64_t least, most; /* of numbers; most = 0: any */
	const char *const *words;
	int (*take)(const char *text, void *place); /* 0, or negative: that is no value */
	const char *shape;                          /* what a value looks like; NULL: as `how` says */
};

enum { CLI_OPTIONS_MOST = 40 };

struct cli_line {
	const struct cli_command *command;
	const struct cli_option *options;
	unsigned n;
	void *wish;
	const char
		*given[CLI_OPTIONS_MOST]; /* the value of each option as it was written; NULL: it was not */
};

/*
 * Reads the options into the wish; what is none of them starts at optind then. Help
 * is given where it is asked for: CLI_HELPED. Says what is wrong: CLI_USAGE.
 */
int cli_options(struct cli_line *line, int argc, char **argv);

/* Words that are no options are too many: CLI_USAGE. */
int cli_nothing_more(const struct cli_line *line, int argc, char **argv);

/* Digits alone; for a `take`. 0, or -EINVAL. */
int cli_digits(const char *text, uint64_t *number);

/* Non-zero: the option of that name was on the line. */
int cli_given(const struct cli_line *line, const char *name);

/* ------------------------------------------------------------------------- words */

/* The names of the kinds; the first is that of INK_LINE, and NULL is behind the last. */
extern const char *const cli_kinds[];
const char *cli_kind_name(enum ink_kind kind);

/* The ending of a word that stands behind a number: "", or "s". */
const char *cli_plural(uint64_t n);

/* A share of something, in at most `size` characters: "0.071 %", "3.9e-06". */
const char *cli_show_share(double share, char *text, size_t size);

/* ------------------------------------------------------------- machines, files, progress */

/*
 * Loads a machine, or says what is wrong with it on standard error; NULL then.
 * ink_machine_free it. `strict`: warnings are errors. `like`: the machine whose
 * flows it shall go on with, or NULL.
 */
struct ink_machine *cli_machine(const char *name, int strict, const struct ink_machine *like);

/* Non-zero if both paths lead to one regular file. Either may be NULL, and "-" is no file. */
int cli_same_file(const char *a, const char *b);

/*
 * Closes what was written to; standard output, whose name is "-", is only flushed.
 * Says so if anything that was written is not there: CLI_FAILED.
 */
int cli_close(FILE *file, const char *name);

/* Of the terminal to which standard output goes, or as COLUMNS in the environment says; 0: of any number. */
int cli_columns(void);

/* Long work on a terminal says how far it is; elsewhere nothing is printed. */
void cli_progress(const char *what, double done);
void cli_progress_end(void);

#endif
