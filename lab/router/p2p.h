/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The second part of the demo: a swarm beside other traffic, with and without `p2p` attached. What was said in it is in
 * the file p2p of the demo's folder:
 *
 *     without: swarm N bit/s, web N bit/s, calls N bit/s
 *     with: swarm N bit/s, web N bit/s, calls N bit/s
 *     kernel: pairs N
 *     verify: packets N, false positives N steps, N flows
 */
#ifndef INKLING_LAB_ROUTER_P2P_H
#define INKLING_LAB_ROUTER_P2P_H

#include "lab/page.h"

/* A table and its claims; a remark if there is no such file. */
void p2p_show(struct page *page, const char *folder);

#endif
