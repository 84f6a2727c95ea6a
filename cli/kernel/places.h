/* SPDX-License-Identifier: BSD-2-Clause */
/* Where the machines of a set meet packets. */
#ifndef INKLING_CLI_KERNEL_PLACES_H
#define INKLING_CLI_KERNEL_PLACES_H

#include "cli/kernel/commands.h"
#include "kernel/kernel.h"

struct places {
	unsigned n;
	struct ink_kernel_place at[INK_KERNEL_PLACES];
};

/* The hooks of all interfaces of the request. CLI_FAILED: it said what is wrong with them. */
int places_of(const struct kernel_request *r, struct places *places);

/* "eth0 xdp, eth0 ingress" */
void places_show(FILE *to, const struct places *places);

#endif
