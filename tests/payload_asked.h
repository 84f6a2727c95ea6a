/* SPDX-License-Identifier: BSD-2-Clause */
/* What test_kernel_payload.c asks the program payload.bpf.c, and what it answers; both are in a map that the test maps. */
#ifndef INKLING_TESTS_PAYLOAD_ASKED_H
#define INKLING_TESTS_PAYLOAD_ASKED_H

#include "packet/payload.h"

/* Which of the tests run; 0: the payload is loaded, and no more. */
enum { ASK_PICTURES = 1, ASK_NALS = 2, ASK_RTP = 4, ASK_TS = 8, ASK_BEGINS = 16, ASK_ALL = 31 };

/* Where the payload begins in the frame. */
enum { ASKED_OFFSET = 14, ASKED_WORDS = 2048 };

struct asked {
	uint32_t what, protocol, captured, wire, tail, pattern, length;
};

struct answered {
	struct ink_pictures pictures;
	uint32_t runs, loaded, nals, unneeded, begins, is_ts; /* unneeded: units with nal_ref_idc 0 */
	int32_t last, rtp_type;
};

/* The value of the map `talk`. */
struct talk {
	struct asked asked;
	struct answered answered;
};

#endif
