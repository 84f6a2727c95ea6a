/* SPDX-License-Identifier: BSD-2-Clause */
/* inkling draw: a machine as a picture. */
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "cli/cli.h"

static const char help[] =
	"usage: inkling draw [--set NAME=VALUE] MACHINE\n"
	"\n"
	"Writes the machine as a graph, in the language of Graphviz:\n"
	"\n"
	"  inkling draw tcp | dot -Tsvg >tcp.svg\n"
	"\n"
	"  --set NAME=VALUE   the value of a param of the machine; also several times\n"
	"\n"
	"States are boxes, and rows stand on the lines between them. A row that several\n"
	"states have is drawn once, with a line from each; an arrow that points back to\n"
	"its state is a row that stays. Time-outs and ends are dashed and grey, rows that\n"
	"report are red. Rows that stay and do nothing are left out. Of several machines\n"
	"in a file each has a frame, and dashed blue arrows show what rows tell others.\n"
	"MACHINE is as for 'inkling check'.\n";

struct request {
	struct cli_settings set;
};

static const struct cli_option options[] = {CLI_SET(offsetof(struct request, set))};

static int draw(const char *name, const struct ink_machines *machines)
{
	char *text = ink_machines_draw(machines);

	if (!text && errno == EFBIG)
		return cli_failed("%s: has too many rows to draw: the graph would take more than 4 MiB",
				  name);
	if (!text)
		return cli_failed("%s: no memory", name);
	fputs(text, stdout);
	free(text);
	return CLI_DONE;
}

static int run(int argc, char **argv)
{
	struct request r = {0};
	struct cli_line line = {&cli_draw, options, sizeof options / sizeof options[0], &r, {NULL}};
	struct ink_machines *machines;
	int result = cli_options(&line, argc, argv);

	if (!result)
		result = cli_one_machine(&line, argc, argv);
	if (result)
		return result;
	machines = cli_machine_set(argv[optind], &(struct cli_machine_options){.set = &r.set});
	result = machines ? draw(argv[optind], machines) : CLI_FAILED;
	ink_machines_free(machines);
	return result;
}

const struct cli_command cli_draw = {"draw", "writes a machine as a graph for Graphviz", help, run};
