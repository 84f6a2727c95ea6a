/* SPDX-License-Identifier: BSD-2-Clause */
/* inkling draw: a machine as a picture. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "cli/cli.h"

static const char help[] =
	"usage: inkling draw MACHINE\n"
	"\n"
	"Writes the machine as a graph, in the language of Graphviz:\n"
	"\n"
	"  inkling draw tcp | dot -Tsvg >tcp.svg\n"
	"\n"
	"States are boxes, and rows stand on the lines between them. A row that several\n"
	"states have is drawn once, with a line from each; an arrow that points back to\n"
	"its state is a row that stays. Time-outs and ends are dashed and grey, rows that\n"
	"report are red. Rows that stay and do nothing are left out. MACHINE is as for\n"
	"'inkling check'.\n";

static int run(int argc, char **argv)
{
	struct cli_line line = {.command = &cli_draw}; /* no options */
	struct ink_machine *machine;
	char *text;
	int result = cli_options(&line, argc, argv);

	if (!result)
		result = cli_one_machine(&line, argc, argv);
	if (result)
		return result;
	machine = cli_machine(argv[optind], NULL);
	if (!machine)
		return CLI_FAILED;
	text = ink_machine_draw(machine);
	ink_machine_free(machine);
	if (!text)
		return cli_failed("no memory");
	fputs(text, stdout);
	free(text);
	return CLI_DONE;
}

const struct cli_command cli_draw = {"draw", "writes a machine as a graph for Graphviz", help, run};
