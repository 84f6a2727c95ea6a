/* SPDX-License-Identifier: BSD-2-Clause */
/* inkling: a few bits of state for every flow. One file for each command. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/suggest.h"
#include "cli/cli.h"
#include "sim/text.h"

static const struct cli_command *const commands[] = {
	&cli_attach, &cli_bench,   &cli_check, &cli_detach, &cli_draw,     &cli_generate, &cli_plan,
	&cli_reload, &cli_reports, &cli_run,   &cli_show,   &cli_snapshot, &cli_status};

enum { COMMANDS = sizeof commands / sizeof commands[0] };

static const struct cli_command *find(const char *name)
{
	for (unsigned i = 0; i < COMMANDS; i++)
		if (!strcmp(commands[i]->name, name))
			return commands[i];
	return NULL;
}

static void overview(FILE *to)
{
	fprintf(to, "inkling %s: a few bits of state for every flow\n\nusage: inkling COMMAND [OPTIONS]\n\n",
		ink_version());
	for (unsigned i = 0; i < COMMANDS; i++)
		fprintf(to, "  %-10s %s\n", commands[i]->name, commands[i]->summary);
	fprintf(to, "  %-10s %s\n", "help", "what a command does and its options: inkling help COMMAND");
	fprintf(to, "\n  --version  the version\n\n"
		    "How to write a machine: inkling-machine(5), docs/machine-language.md\n");
}

/* Words by which other programs have what is spelt otherwise here. */
static const struct {
	const char *word, *ours;
} others[] = {{"version", "--version"}, {"list", "check --list"}, {"machines", "check --list"},
	      {"-v", "--version"},      {"-V", "--version"},      {"--list", "check --list"}};

static const char *meant_by(const char *word)
{
	for (unsigned i = 0; i < sizeof others / sizeof others[0]; i++)
		if (!strcmp(others[i].word, word))
			return others[i].ours;
	return NULL;
}

static int no_option(const char *what)
{
	struct ink_suggest near = ink_suggest(what, strlen(what));
	char hint[96];

	ink_suggest_offer(&near, "--help");
	ink_suggest_offer(&near, "--version");
	return cli_usage(NULL, "unknown option '%s'%s", what, ink_suggest_hint(&near, hint));
}

static int no_command(const char *what)
{
	struct ink_suggest near = ink_suggest(what, strlen(what));
	char hint[96];

	if (cli_bundled(what))
		return cli_usage(
			NULL,
			"unknown command '%s', but a machine: 'inkling run %s' runs it, 'inkling show %s' prints it",
			what, what, what);
	for (unsigned i = 0; i < COMMANDS; i++)
		ink_suggest_offer(&near, commands[i]->name);
	ink_suggest_offer(&near, "help");
	return cli_usage(NULL, "unknown command '%s'%s", what, ink_suggest_hint(&near, hint));
}

/* Formerly a command; scripts may still call it. Shows what to type instead, with the same arguments. */
static int moved(const char *program, char *const *arguments)
{
	fputs("inkling: 'reproduce' is now a program of its own, which make builds beside this one. Type:\n  ",
	      stderr);
	sim_put_visible(program, stderr);
	fputs("-lab", stderr);
	for (; *arguments; arguments++) {
		fputc(' ', stderr);
		sim_put_visible(*arguments, stderr);
	}
	fputc('\n', stderr);
	return CLI_USAGE;
}

static int unknown(const char *what)
{
	const char *option = *what == '-' ? "option" : "command";

	if (meant_by(what))
		return cli_usage(NULL, "unknown %s '%s'; did you mean '%s'?", option, what, meant_by(what));
	return *what == '-' ? no_option(what) : no_command(what);
}

static int help(const char *name)
{
	const struct cli_command *command = name ? find(name) : NULL;

	if (name && !command && strcmp(name, "help"))
		return unknown(name);
	if (command)
		fputs(command->help, stdout);
	else
		overview(stdout);
	return CLI_DONE;
}

/* ----------------------------------------------------------------------- the process */

/*
 * A closed standard stream leaves its number to the next file that is opened, and
 * messages would go into a capture. So the number is taken by something that fails
 * as the closed stream would: input that cannot be read, output that cannot be written.
 */
static void occupy_closed_streams(void)
{
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		if (fcntl(fd, F_GETFD) < 0 && errno == EBADF)
			if (open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY) < 0)
				return;
}

/* A file that grows beyond `ulimit -f` then fails with EFBIG, which is reported; the signal would kill silently. */
static void let_large_files_fail(void)
{
	signal(SIGXFSZ, SIG_IGN);
}

/* -------------------------------------------------------------------------- commands */

static int unexpected(const char *what)
{
	return cli_usage(NULL, "unexpected argument '%s'", what);
}

/* `help` takes one command at most, and --version nothing. */
static int run(int argc, char **argv)
{
	const struct cli_command *command;

	if (!strcmp(argv[1], "--version")) {
		if (argc > 2)
			return unexpected(argv[2]);
		printf("inkling %s\n", ink_version());
		return CLI_DONE;
	}
	if (!strcmp(argv[1], "help") && argc == 3 && !strcmp(argv[2], "reproduce"))
		return moved(argv[0], (char *[]){"help", NULL});
	if (!strcmp(argv[1], "help") || !strcmp(argv[1], "--help") || !strcmp(argv[1], "-h"))
		return argc > 3 ? unexpected(argv[3]) : help(argc > 2 ? argv[2] : NULL);
	if (!strcmp(argv[1], "reproduce"))
		return moved(argv[0], argc > 2 ? argv + 2 : (char *[]){"list", NULL});
	command = find(argv[1]);
	if (!command)
		return unknown(argv[1]);
	if (argc > 2 && (!strcmp(argv[2], "--help") || !strcmp(argv[2], "-h")))
		return help(argv[1]);
	return command->run(argc - 1, argv + 1);
}

/* Output that could not be written is a failure, even if all else went well. */
int main(int argc, char **argv)
{
	int result;

	occupy_closed_streams();
	let_large_files_fail();
	cli_list_kinds();
	if (argc < 2) {
		overview(stderr);
		return CLI_USAGE;
	}
	result = run(argc, argv);
	if (result == CLI_HELPED)
		result = CLI_DONE;
	return result ? result : cli_close(stdout, "-");
}
