/* SPDX-License-Identifier: BSD-2-Clause */
/* The queues that the packets of a set leave by, for attach and status. */
#ifndef INKLING_CLI_KERNEL_QUEUES_H
#define INKLING_CLI_KERNEL_QUEUES_H

#include <stdio.h>

#include "kernel/kernel.h"

/* By enum ink_kernel_wait, as records name them; NULL: there is none of that number. */
extern const char *const queue_sources[INK_KERNEL_WAITS];

/* "real", "virtual", "both" or, before the first packet of an interface that was never up, "unknown". */
const char *queues_which(const struct ink_kernel_queued *q);

/* "eth0, virtual of 20mbit (it has none)" */
void queues_show(FILE *to, const struct ink_kernel_queued *q);

/* Lines of status. */
void queues_lines(const struct ink_kernel_queued *q);

/* An object of records. */
void queues_record(FILE *to, const struct ink_kernel_queued *q);

#endif
