/* SPDX-License-Identifier: BSD-2-Clause */
/* How large the tables of several machines are: --flows and --memory of `run` and `attach`. */
#ifndef INKLING_CLI_SIZES_H
#define INKLING_CLI_SIZES_H

#include "cli/cli.h"

enum { CLI_SIZES_MOST = 32, CLI_MACHINE_NAME = 64, CLI_FLOWS_DEFAULT = 1000000 };

/* The values of one of the two: for all machines, and for some by their names. */
struct cli_sizes {
	uint64_t common; /* 0: not given */
	unsigned n;
	struct {
		char name[CLI_MACHINE_NAME];
		uint64_t value;
	} of[CLI_SIZES_MOST];
};

struct cli_room {
	struct cli_sizes flows, memory;
};

/* Both options, for the offsets of the two fields. */
#define CLI_FLOWS(field)                                                                                     \
	{                                                                                                    \
		.name = "flows", .how = CLI_OWN, .at = (field), .take = cli_take_flows,                      \
		.shape = "a whole number from 1 to 1e18, such as 1500, 1.5M or 1e6, or MACHINE=NUMBER"       \
	}

#define CLI_MEMORY(field)                                                                                    \
	{                                                                                                    \
		.name = "memory", .how = CLI_OWN, .at = (field), .take = cli_take_memory,                    \
		.shape = "a size up to 1e18 bytes, such as 512k, 4M or 1.5G, or MACHINE=SIZE"                \
	}

int cli_take_flows(const char *text, void *sizes);
int cli_take_memory(const char *text, void *sizes);

/* Do the sizes make sense for these machines? CLI_DONE or CLI_FAILED. */
int cli_check_room(const struct cli_room *room, const struct ink_machines *machines);

/* Sets flows and bytes of the machine's table. */
void cli_apply_room(const struct cli_room *room, const struct ink_machines *machines, unsigned machine,
		    struct ink_options *options);

#endif
