/* SPDX-License-Identifier: BSD-2-Clause */
/* What the commands share. Exit codes: 0 done, 1 it failed, 2 usage. */
#ifndef INKLING_CLI_H
#define INKLING_CLI_H

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

extern const struct cli_command cli_bench, cli_check, cli_draw, cli_generate, cli_plan, cli_reproduce,
	cli_run;

/* Says what is wrong with the usage and where to find help; returns CLI_USAGE. */
__attribute__((format(printf, 2, 3))) int cli_usage(const struct cli_command *command, const char *format,
						    ...);

/*
 * Says what is wrong with the option at which getopt_long has just stopped with
 * '?' or ':' (its short options begin with ':', so that it tells the two
 * apart); returns CLI_USAGE.
 */
int cli_bad_option(const struct cli_command *command, int stopped, char **argv);

/* Says what failed; returns CLI_FAILED. */
__attribute__((format(printf, 1, 2))) int cli_failed(const char *format, ...);

/* "1500000", "1.5M", "1e6"; k, M and G are powers of 1000. 0, or -EINVAL. */
int cli_number(const char *text, uint64_t *number);

/* "64M", "1.5MiB": k, M and G are powers of 1024. 0, or -EINVAL. */
int cli_size(const char *text, uint64_t *bytes);

/* "0.001", "0.1%", "1e-3". 0, or -EINVAL. */
int cli_share(const char *text, double *share);

/* "0", "1.5M": as cli_number, and 0 too. 0, or -EINVAL. */
int cli_count(const char *text, uint64_t *count);

/* "0", "12": digits alone, at most `most`. 0, or -EINVAL. */
int cli_small(const char *text, unsigned most, unsigned *number);

/* As cli_share, and 0 and 1 too. 0, or -EINVAL. */
int cli_part(const char *text, double *part);

/* "60s", "50ms", "2min", "1h", "250us"; a bare number is seconds. 0, or -EINVAL. */
int cli_time(const char *text, uint64_t *nanoseconds);

/* "line" and so on. 0, or -EINVAL. */
int cli_kind(const char *text, enum ink_kind *kind);
const char *cli_kind_name(enum ink_kind kind);

/* The ending of a word that stands behind a number: "", or "s". */
const char *cli_plural(uint64_t n);

/* A share of something, in at most `size` characters: "0.071 %", "3.9e-06". */
const char *cli_show_share(double share, char *text, size_t size);

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

/* Long work on a terminal says how far it is; elsewhere nothing is printed. */
void cli_progress(const char *what, double done);
void cli_progress_end(void);

#endif
