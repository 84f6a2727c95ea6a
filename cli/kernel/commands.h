/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The commands of the kernel: attach, detach, reload, status, reports, snapshot. docs/kernel.md explains them.
 *
 *     words.c        their help and their command lines: in every build
 *     none.c         what they do in a build without programs for the kernel
 *
 *     places.c       interfaces and hooks, and which of them one packet can pass
 *     links.c        which interfaces stand on which
 *     sets.c         finds the set that a word names
 *     attach.c       attach, reload and detach
 *     status.c       status: reads the numbers of a set, and shows them
 *     status_json.c  the same as a record
 *     reports.c      follows the ring buffer
 */
#ifndef INKLING_CLI_KERNEL_COMMANDS_H
#define INKLING_CLI_KERNEL_COMMANDS_H

#include "cli/cli.h"
#include "cli/sizes.h"

/* Where a packet is met. The numbers are those of enum ink_kernel_hook. */
enum { AT_XDP = 1u << 0, AT_INGRESS = 1u << 1, AT_EGRESS = 1u << 2, HOOKS = 3 };

extern const char *const hook_names[HOOKS + 1];

enum { INTERFACES_MOST = 16, INTERFACE_NAME = 16 };

struct interfaces {
	unsigned n;
	char name[INTERFACES_MOST][INTERFACE_NAME];
};

/* All that the six command lines can say. */
struct kernel_request {
	const struct cli_command *command;
	const char *
		set; /* detach, reload, status, reports, snapshot: the name of a set or an interface, or NULL */
	const char *machine; /* attach, reload: as on the command line */
	struct cli_names names;
	struct cli_settings values; /* --set */
	struct interfaces interfaces;
	unsigned hooks;           /* --at: a set of AT_*; 0: not given */
	struct cli_room room;     /* --flows, --memory */
	struct ink_options table; /* --error, --age-bits, --full */
	uint64_t seed;
	const char *load;  /* --load */
	const char *name;  /* --name */
	uint32_t mark_bit; /* --mark-bit, as a mask; 0: not given */
	unsigned snap;
	uint64_t queue_rate; /* --queue-rate, bits a second; 0: not given */
	int queue_virtual;   /* --queue virtual */
	int enforce, no_timeouts, dry_run;
	int json;           /* status */
	const char *output; /* -o */
	const char *write;  /* -w */
	int community_id;
};

/* What the commands do, once the line is read; an exit code. none.c has the same functions. */
int kernel_attach(const struct kernel_request *r);
int kernel_detach(const struct kernel_request *r);
int kernel_reload(const struct kernel_request *r);
int kernel_status(const struct kernel_request *r);
int kernel_reports(const struct kernel_request *r);
int kernel_snapshot(const struct kernel_request *r);

#endif
