/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the programs know of the packet under way: one struct for each processor.
 *
 * It is a map, because it is larger than the stack, and because the state of a bpf_loop callback must not stand on the
 * stack: the verifier of Linux 6.1 takes such a variable for a constant and removes what tests it. Programs at XDP and
 * tc run with softirqs off and to their end, so a processor has one packet at a time.
 *
 *     parse     frame --> walk, packet
 *     run       packet --> steps, machine by machine: what was told of it, then its own event
 *     records   of steps that report or save, until all steps are made: only then is the frame at hand
 *
 * Functions of their own (INK_PART) are verified once, wherever they are called from.
 */
#ifndef INKLING_KERNEL_WORK_BPF_H
#define INKLING_KERNEL_WORK_BPF_H

#include <inkling/machine.h>

#include "kernel/maps.bpf.h"
#include "packet/parse.h"

#define INK_PART __attribute__((noinline)) int

enum {
	INK_STEPS = INK_KERNEL_TOLD + INK_KERNEL_MACHINES, /* of a packet */
	INK_NO_EVENT_HERE = UINT16_MAX                     /* INK_NO_EVENT of track.h */
};

/* An event that a machine told another one of this packet. */
struct ink_heard {
	uint32_t next; /* 1 + the number of the next one for the same machine; 0: the last */
	uint16_t event, teller;
	uint32_t reversed;
};

/* A step that is made, or was. */
struct ink_made {
	uint64_t id;
	uint16_t machine, teller, event, action;
	int16_t from, to;
	uint8_t reversed, refused, tail, report;
	uint8_t save, reserved[7];
};

struct ink_work {
	/* of the hook */
	uint32_t hook, interface;
	uint32_t shift; /* bytes that the frame has here and the kernel's data has not: a VLAN tag */
	uint32_t tested; /* the test clock counts */
	uint64_t clock;  /* which then is this; reading the kernel's takes 38 ns, and few packets need it */
	uint64_t now;    /* the kernel's, if it was read for this packet */
	uint64_t number;

	/* the queue that it joins; device.bpf.c writes where that is read, and packets and bytes of a real one */
	struct {
		uint32_t from;           /* enum ink_kernel_wait */
		uint32_t number;         /* 1 + its place in `queues`; 0: no condition looks at it, or it joins none */
		uint32_t known;          /* packets, bytes and time are what the packet found */
		uint32_t packets, bytes;
		uint32_t time;           /* microseconds */
	} queue;

	/* of the packet, if it is several (GSO): `packet` is the first of them */
	uint32_t segments;
	uint32_t bundle;          /* they are of RTP */
	uint32_t whole;           /* bytes of the frame, all segments in one */
	uint64_t length, payload; /* of all of them together */

	/* parsing */
	uint32_t layer, steps;

	/* running */
	uint32_t half, machines, generation; /* of control */
	uint32_t every;        /* all steps have records */
	uint32_t machine;      /* under way */
	uint32_t own;          /* its own event was the latest turn */
	uint32_t begun;        /* machines that the packet has come to */
	uint32_t has_payload;
	uint32_t turn; /* enum ink_turn: what the latest one was */
	uint32_t node;         /* of the decision program */
	uint32_t value, found; /* of a test with several ranges or prefixes */
	uint32_t low, high;
	uint64_t address[2];
	uint32_t pictured, reserved; /* 1 + the tail with which the payload was searched for pictures; 0: it was not */
	uint32_t first[INK_KERNEL_MACHINES], last[INK_KERNEL_MACHINES]; /* told: 1 + the number in `heard` */
	uint32_t n_heard;
	struct ink_heard heard[INK_KERNEL_TOLD];
	struct ink_made step; /* under way */
	uint32_t at, n_made;  /* of this machine, if its flows remember tails */
	struct {
		uint64_t id;
		uint64_t tail;
	} made[INK_STEPS];

	/* acting */
	uint32_t dropped, passed, marked, saved; /* machines that did, a bit for each */
	uint32_t prioritized, classed;
	uint32_t drop, marks, mark;      /* the verdict */
	uint32_t prioritizes, priority;
	uint32_t n_records, saves, saved_bytes;
	struct ink_made records[INK_STEPS];

	uint64_t key[INK_KEY_MOST / 8];
	struct ink_packet packet;
	struct ink_kernel_report record; /* in front of the copy, so that both go into the ring buffer together */
	struct ink_walk walk;
};

_Static_assert(__builtin_offsetof(struct ink_work, walk) ==
		       __builtin_offsetof(struct ink_work, record) + sizeof(struct ink_kernel_report),
	       "the copy follows the record");
_Static_assert(__builtin_offsetof(struct ink_walk, copy) == 0, "the copy begins the walk");
_Static_assert(sizeof(struct ink_work) <= 32768, "the most that the kernel gives each processor");

INK_PER_CPU(works, 1, struct ink_work);

/*
 * A number of bytes, at least 1, as every verifier takes it for the length of a helper's argument: it sees 1 .. most,
 * where most is a power of two. From a comparison, that of Linux 6.1 does not conclude that a number is not 0.
 */
static inline uint32_t ink_argument(uint64_t bytes, uint32_t most)
{
	bytes--;
	__asm__ volatile("" : "+r"(bytes));
	bytes &= most - 1;
	__asm__ volatile("" : "+r"(bytes));
	return (uint32_t)bytes + 1;
}

/* What bpf_loop hands its callback: a pointer that does not change may stand on the stack. */
struct ink_loop {
	struct ink_work *work;
};

#define INK_LOOP(most, callback, work_)                                                                      \
	({                                                                                                   \
		struct ink_loop ink_loop_ = {.work = (work_)};                                               \
		bpf_loop(most, callback, &ink_loop_, 0);                                                     \
	})

#endif
