/* SPDX-License-Identifier: BSD-2-Clause */
/* What the commands share. Exit codes: 0 done, 1 a failure, 2 wrong usage. */
#ifndef INKLING_CLI_CLI_H
#define INKLING_CLI_CLI_H

#include <stdio.h>

#include <inkling/inkling.h>
#include <inkling/machine.h>

/* CLI_HELPED passes between functions: the line asked for help only, and help was printed. */
enum { CLI_DONE = 0, CLI_FAILED = 1, CLI_USAGE = 2, CLI_HELPED = -1 };

/* A command: its name, one line for the overview, its help, and its function. */
struct cli_command {
	const char *name;
	const char *summary;
	const char *help;
	int (*run)(int argc, char **argv);
};

extern const struct cli_command cli_bench, cli_check, cli_draw, cli_generate, cli_plan, cli_run, cli_show;
extern const struct cli_command cli_attach, cli_detach, cli_reload, cli_reports, cli_snapshot, cli_status;

/* -------------------------------------------------------------------------- messages */

/*
 * Messages go to standard error. They are one line each, and what they quote, such as
 * a file's name, cannot control the terminal (sim/text.h).
 */

/* Prints what is wrong with the usage, and where to find help. NULL: of no command. Returns CLI_USAGE. */
__attribute__((format(printf, 2, 3))) int cli_usage(const struct cli_command *command, const char *format,
						    ...);

/* Prints what failed; returns CLI_FAILED. */
__attribute__((format(printf, 1, 2))) int cli_failed(const char *format, ...);

/* Prints what happens, after the tool's name. */
__attribute__((format(printf, 1, 2))) void cli_say(const char *format, ...);

#define CLI_WHICH_MACHINE "which machine? ('inkling check --list' names the bundled ones)"

/* Messages of plan and of run, about a kind. */
/* The fields of kinds with geometries that differ in speed: --smallest is for these. */
#define CLI_SHAPES_DIFFER (INK_GEOMETRY_H | INK_GEOMETRY_Q)

#define CLI_NO_AGE_BITS "--age-bits is for kinds that count time in bits, and %s keeps whole times"
#define CLI_NO_ERROR "--error is for kinds that make errors, and %s makes none"

/* ------------------------------------------------------------------ the command line */

/* How an option's value is written, and the type of the field that receives it. */
enum cli_how {
	CLI_FLAG,   /* no value; int, which becomes 1 */
	CLI_WORD,   /* const char *: the text itself */
	CLI_NUMBER, /* uint64_t, whole: "1500000", "1.5M", "1e6"; k, M, G and T are powers of 1000 */
	CLI_SMALL,  /* unsigned: digits alone */
	CLI_SIZE,   /* uint64_t: "64M", "1.5MiB"; k, M, G and T are powers of 1024 */
	CLI_SHARE,  /* double: "0.001", "0.1%", "1/1024"; more than 0 and less than 1 */
	CLI_PART,   /* double: the same, and also 0 and 1 */
	CLI_TIME, /* uint64_t, nanoseconds: "60s", "50ms", "2min", "1h", "250us"; a bare number is seconds */
	CLI_CHOICE, /* unsigned or enum: one of `words`, the first of which is `least` */
	CLI_OWN     /* what `take` makes of it */
};

struct cli_option {
	const char *name; /* without its dashes; a letter, or a word */
	enum cli_how how;
	size_t at;            /* offset of the field in the command's request */
	uint64_t least, most; /* of numbers; most = 0: no limit */
	const char *const *words;
	int (*take)(const char *text, void *field); /* 0, or negative: not a value */
	const char *shape;                          /* what a value looks like; NULL: derived from `how` */
	const char *
		longer; /* a letter's: long names by which other programs have it, with blanks around each; or NULL */
};

enum { CLI_OPTIONS_MOST = 40 };

struct cli_line {
	const struct cli_command *command;
	const struct cli_option *options;
	unsigned n;
	void *request;                       /* the struct that receives the values */
	const char *given[CLI_OPTIONS_MOST]; /* each option's value as written; NULL: not on the line */
};

/*
 * Reads the options into the request. The words that are not options start at
 * optind then. CLI_HELPED: the line asked for help. CLI_USAGE: something is wrong,
 * and was reported.
 */
int cli_options(struct cli_line *line, int argc, char **argv);

/* For commands that take options only: reports a further word. CLI_DONE or CLI_USAGE. */
int cli_nothing_more(const struct cli_line *line, int argc, char **argv);

/* Digits alone; for a `take`. 0, or -EINVAL. */
int cli_digits(const char *text, uint64_t *number);

/* As CLI_NUMBER and CLI_SIZE have it; for a `take`. 0, or -EINVAL. */
int cli_number(const char *text, uint64_t *number);
int cli_size(const char *text, uint64_t *bytes);

/* Non-zero: the option of that name was on the line. */
int cli_given(const struct cli_line *line, const char *name);

/* ----------------------------------------------------------------------------- kinds */

enum { CLI_KINDS_MOST = 31 };

/* The names, for options; the first is of kind 1, and NULL follows the last. cli_list_kinds fills them. */
extern const char *cli_kinds[CLI_KINDS_MOST + 1], *cli_kinds_and_all[CLI_KINDS_MOST + 2];
void cli_list_kinds(void);

/* What the library says about a kind. Its name is NULL if there is no such kind. */
struct ink_kind_info cli_kind(unsigned kind);

/* Non-zero: makes no errors, and grows. */
int cli_is_exact(unsigned kind);

/* Non-zero: has an entry for each flow, and a fixed number of them, so it can be full. */
int cli_has_room_for_some(unsigned kind);

/* The names of the kinds that take these fields of a geometry: "stateful, direct or kbf". */
void cli_kinds_with(unsigned geometry, char *text, size_t size);

/* ----------------------------------------------------------------------------- words */

/* "a, b or c"; NULL ends the words. */
void cli_list_words(const char *const *words, char *text, size_t size);

/* The ending of a noun after a number: "", or "s". */
const char *cli_plural(uint64_t n);

/* A share of something, in at most `size` characters: "0.071 %", "3.9e-06". */
const char *cli_show_share(double share, char *text, size_t size);

/* ------------------------------------------------------------------------------ time */

/* What decides when time-outs fire: the kind of the table, and its age bits. */
struct cli_ages {
	unsigned kind, bits;
};

/* The age bits of `run` and `plan --machine`: two, with which time-outs are at most 1.5 times as late as written. */
enum { CLI_AGE_BITS = 2 };

/* What lines begin with. */
struct cli_lines {
	const char *first, *other;
};

/* A line for each time-out and window: "timeout 5m: after 5.2 to 6.9 min". Returns how many. */
unsigned cli_put_times(const struct ink_machine_view *v, struct cli_ages ages, struct cli_lines lines,
		       FILE *to);

/* The same as an array; times are in seconds. */
void cli_put_times_json(const struct ink_machine_view *v, struct cli_ages ages, FILE *to);

/* ------------------------------------------------------------------- machines, files */

/* The options "--set NAME=VALUE" of a command. */
enum { CLI_SETTINGS_MOST = 32, CLI_SETTING_NAME = 64 };

struct cli_settings {
	unsigned n;
	struct {
		char name[CLI_SETTING_NAME];
		const char *value;
	} all[CLI_SETTINGS_MOST];
};

#define CLI_SET(field)                                                                                       \
	{                                                                                                    \
		.name = "set", .how = CLI_OWN, .at = (field), .take = cli_take_setting,                      \
		.shape = "NAME=VALUE, such as threshold=20, at most 32 of them"                              \
	}

int cli_take_setting(const char *text, void *settings);

/* Bits a second, uint64_t, of the queue that conditions look at. */
#define CLI_QUEUE_RATE(field)                                                                                \
	{                                                                                                    \
		.name = "queue-rate", .how = CLI_OWN, .at = (field), .take = cli_take_rate,                  \
		.shape = "a rate such as 500kbit or 1.5mbit, at least 1kbit and at most 1tbit"               \
	}

int cli_take_rate(const char *text, void *rate);

struct cli_machine_options {
	int strict;                      /* warnings are errors */
	const struct cli_settings *set;  /* values for the machine's params, or NULL */
	const struct ink_machines *like; /* the machines that these replace, or NULL */
	int (*cancelled)(void);          /* non-zero: compiling ends; or NULL */
};

/* Files and bundled machines that a word of the command line names: "scan,./mine.fsm". */
enum { CLI_NAMES_MOST = 16 };

struct cli_names {
	unsigned n;
	const char *name[CLI_NAMES_MOST];
	char text[4096]; /* the names, each with its end */
};

/* Takes the names apart. CLI_USAGE: one is empty, or there are too many; that was reported. */
int cli_names(const struct cli_command *command, const char *text, struct cli_names *names);

/*
 * Loads all machines of these files and names. NULL: it reported what is wrong, or was
 * cancelled. `options` may be NULL. ink_machines_free it.
 */
struct ink_machines *cli_machines(const struct cli_names *names, const struct cli_machine_options *options);

/* The same for one file or name. */
struct ink_machines *cli_machine_set(const char *name, const struct cli_machine_options *options);

/* The bundled machine of that name, or NULL. */
const struct ink_bundled *cli_bundled(const char *name);

/* Non-zero: ink_machine_load would read a file of that name. */
int cli_names_file(const char *name);

/* For commands with one further word, a machine: reports one that is missing, or too many. CLI_DONE or CLI_USAGE. */
int cli_one_machine(const struct cli_line *line, int argc, char **argv);

/* A file as an option names it: "-" is a standard stream. */
struct cli_file {
	const char *name; /* or NULL: none */
	int standard;     /* what "-" means: STDIN_FILENO or STDOUT_FILENO */
};

/* Non-zero: both are the same regular file, by whatever names or links. */
int cli_same_file(struct cli_file a, struct cli_file b);

/*
 * Closes an output; standard output, named "-", is only flushed.
 * CLI_FAILED: some of what was written is lost, and that was reported.
 */
int cli_close(FILE *file, const char *name);

/* ------------------------------------------------------------------------ interfaces */

enum { CLI_HINT = 96 };

/* "; did you mean 'eth0'?", or "" if there is such an interface, or none of a similar name. */
const char *cli_interface_hint(const char *name, char hint[CLI_HINT]);

/* ---------------------------------------------------------------------- the terminal */

/* Columns of the terminal on standard output, or as COLUMNS in the environment says; 0: unlimited. */
int cli_columns(void);

/* The progress of long work. Only terminals get to see it. */
void cli_progress(const char *what, double done);
void cli_progress_end(void);

#endif
