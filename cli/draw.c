/* SPDX-License-Identifier: BSD-2-Clause */
/* inkling draw: a machine as a picture. */
#include <stdio.h>
#include <stdlib.h>

#include "cli.h"

static const char help[] = "usage: inkling draw MACHINE\n"
			   "\n"
			   "Writes the machine as a graph, in the language of Graphviz:\n"
			   "\n"
			   "  inkling draw tcp | dot -Tsvg >tcp.svg\n"
			   "\n"
			   "Rows that stay and do nothing are left out; states with dashed borders are\n"
			   "expendable. MACHINE is as for 'inkling check'.\n";

static int run(int argc, char **argv)
{
	struct ink_machine *machine;
	char *text;

	if (argc != 2 || argv[1][0] == '-')
		return cli_usage(&cli_draw, argc < 2 ? "which machine?" : "one machine, and no options");
	machine = cli_machine(argv[1], 0, NULL);
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
