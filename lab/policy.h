/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The drop policies of section 5.2.1 of the ACSM paper, as the machines that come with the library. An
 * experiment changes only their numbers: how much is dropped, after what time a stream is forgotten.
 */
#ifndef INKLING_LAB_POLICY_H
#define INKLING_LAB_POLICY_H

#include <inkling/machine.h>

enum policy {
	POLICY_PACKETS,  /* packets at random, as a queue without knowledge of video drops them */
	POLICY_FRAMES,   /* video-random: frames at random */
	POLICY_B,        /* video-b: B frames at random */
	POLICY_ITAIL,    /* video-itail: packets at random, and what follows a lost one of an I frame */
	POLICY_COMBINED, /* video-combined: B frames up to 6 % of the bytes, then as above */
	POLICIES
};

/* "random frames", "B frames", ... */
const char *policy_name(enum policy policy);

/* In the text of the machine every `from` becomes `to`. */
struct policy_change {
	const char *from, *to;
};

/*
 * The machine of a policy, with up to `count` changes; ink_machine_free() it. NULL: `why` has the reason,
 * as that a text to be changed does not occur.
 */
struct ink_machine *policy_machine(enum policy policy, const struct policy_change *changes, unsigned count,
				   struct ink_why *why);

#endif
