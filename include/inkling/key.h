/* SPDX-License-Identifier: BSD-2-Clause */
/* [F] What a flow is: the kinds of keys, for machines and for packets. */
#ifndef INKLING_KEY_H
#define INKLING_KEY_H

#include <stdint.h>

enum ink_key {
	INK_KEY_CONNECTION = 1,  /* both directions between two ends: protocol, addresses, ports */
	INK_KEY_FLOW = 2,        /* one direction of it */
	INK_KEY_PAIR = 3,        /* both directions between two hosts, whatever the protocol */
	INK_KEY_SOURCE = 4,      /* the address that the packet comes from */
	INK_KEY_DESTINATION = 5, /* the address that it goes to */
	INK_KEY_ENDPOINT = 6,    /* what it goes to: protocol, address and port of the destination */
	INK_KEY_PARTS = 7        /* other parts of one direction: struct ink_key_def */
};

/* What a key takes of a packet. A port implies the protocol. */
#define INK_PART_SRC 1u
#define INK_PART_DST 2u
#define INK_PART_SRC_PORT 4u
#define INK_PART_DST_PORT 8u
#define INK_PART_PROTOCOL 16u

/*
 * A key as a machine defines it. Of INK_KEY_PARTS the parts say what the key is; of the other kinds, which one
 * name says, the parts are those that it consists of.
 */
struct ink_key_def {
	uint8_t kind;        /* enum ink_key */
	uint8_t parts;       /* INK_PART_* */
	uint8_t src_bits[2]; /* INK_PART_SRC: bits of the address, of IPv4 (0 to 32) and of IPv6 (0 to 128) */
	uint8_t dst_bits[2]; /* INK_PART_DST: likewise */
};

#endif
