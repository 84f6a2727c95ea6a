/* SPDX-License-Identifier: BSD-2-Clause */
/* inkling show: the text of a machine, as it was written. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"

static const char help[] = "usage: inkling show MACHINE\n"
			   "\n"
			   "Prints the text of a machine: a bundled one to read, or to start from:\n"
			   "\n"
			   "  inkling show tcp >my.fsm\n"
			   "\n"
			   "MACHINE is as for 'inkling check'. A file is printed as it is, right or wrong.\n";

/* Block by block: a file that is no machine may be large. */
static int copy(FILE *from, const char *name)
{
	char block[4096];
	size_t n;

	while ((n = fread(block, 1, sizeof block, from)) > 0)
		fwrite(block, 1, n, stdout);
	return ferror(from) ? cli_failed("%s: %s", name, strerror(errno)) : CLI_DONE;
}

static int show_file(const char *name)
{
	FILE *file = fopen(name, "rbe");
	int result;

	if (!file)
		return cli_failed("%s: %s", name, strerror(errno));
	result = copy(file, name);
	fclose(file);
	return result;
}

/* A name that is neither a bundled machine's nor a file's: loading it fails, with the reason. */
static int no_such_machine(const char *name)
{
	ink_machines_free(cli_machine_set(name, NULL));
	return CLI_FAILED;
}

static int show(const char *name)
{
	const struct ink_bundled *machine = cli_bundled(name);

	if (!machine)
		return cli_names_file(name) ? show_file(name) : no_such_machine(name);
	fwrite(machine->text, 1, machine->length, stdout);
	return CLI_DONE;
}

static int run(int argc, char **argv)
{
	struct cli_line line = {.command = &cli_show}; /* no options */
	int result = cli_options(&line, argc, argv);

	if (!result)
		result = cli_one_machine(&line, argc, argv);
	return result ? result : show(argv[optind]);
}

const struct cli_command cli_show = {"show", "prints the text of a machine", help, run};
