/* SPDX-License-Identifier: BSD-2-Clause */
/* inkling status: the numbers of a set, each read once. */
#ifndef INKLING_CLI_KERNEL_STATUS_H
#define INKLING_CLI_KERNEL_STATUS_H

#include "cli/kernel/sets.h"

/* Of one machine. */
struct machine_status {
	const struct ink_machine_view *view;
	const struct ink_kernel_table *table;
	struct cli_ages ages;
	struct ink_kernel_counts counts;
	uint64_t counters[INK_KERNEL_COUNTERS];
	uint64_t states[INK_MAX_STATES], unsure; /* flows, by written state */
	struct ink_stats stats;
	double error;                /* share of strangers that the table answers, as full as it is now */
	const struct ink_plan *plan; /* and with the flows that it was planned for */
};

struct set_status {
	char name[INK_KERNEL_PATH + 1];
	const struct ink_kernel_control *control;
	struct places places;
	unsigned reader; /* the process that follows the reports, or 0 */
	unsigned n_queues;
	struct ink_kernel_queued queues[INK_KERNEL_QUEUES];
	unsigned n;
	struct machine_status at[INK_KERNEL_MACHINES];
};

/* CLI_FAILED: it said why. The status is of use until the set is closed. */
int status_read(struct set_status *s, struct ink_kernel *kernel);

/* The share of one processor that the table's sweeps took since it was attached. */
double status_sweeping(const struct set_status *s, const struct machine_status *m);

void status_record(FILE *to, const struct set_status *s);

#endif
