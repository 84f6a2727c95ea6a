/* SPDX-License-Identifier: BSD-2-Clause */
/* [F] What a flow is: the kinds of keys, for machines and for packets. */
#ifndef INKLING_KEY_H
#define INKLING_KEY_H

enum ink_key {
	INK_KEY_CONNECTION = 1,  /* both directions between two ends: protocol, addresses, ports */
	INK_KEY_FLOW = 2,        /* one direction of it */
	INK_KEY_PAIR = 3,        /* both directions between two hosts, whatever the protocol */
	INK_KEY_SOURCE = 4,      /* the address that the packet comes from */
	INK_KEY_DESTINATION = 5, /* the address that it goes to */
	INK_KEY_ENDPOINT = 6     /* what it goes to: protocol, address and port of the destination */
};

#endif
