/* SPDX-License-Identifier: BSD-2-Clause */
/* Which interfaces stand on which: a VLAN on its device, a bridge or a bond on its ports. And pairs of veth. */
#ifndef INKLING_CLI_KERNEL_LINKS_H
#define INKLING_CLI_KERNEL_LINKS_H

struct links;

/* As the kernel has it now. NULL with errno; links_free it. */
struct links *links_read(void);
void links_free(struct links *links);

/* Non-zero: what the lower one receives can be received by the upper one, too. Both are indexes. */
int links_stand_on(const struct links *links, unsigned upper, unsigned lower);

/* Non-zero: what one of them sends the other receives, or it is one, and receives what it sends itself. */
int links_are_peers(const struct links *links, unsigned a, unsigned b);

/* Non-zero: its packets begin with a header of Ethernet, as those of lo do; those of tun or WireGuard do not. */
int links_are_ethernet(const struct links *links, unsigned index);

#endif
