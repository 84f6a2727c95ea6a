/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * From a packet to its event: runs the decision program of a machine.
 *
 * The program (src/machine/decide.c) is a graph of tests; a packet walks from
 * the first to an event. Here each test is compiled to a fast form: a set of
 * ports becomes one subtraction and comparison, or a bit map; a filter is
 * compiled for the link.
 */
#ifndef INKLING_PACKET_CLASSIFY_H
#define INKLING_PACKET_CLASSIFY_H

#include <inkling/track.h>

struct ink_classifier;

/* What waits where packets leave, before this one joins. */
struct ink_waiting {
	uint32_t packets, bytes, time; /* of INK_FIELD_QUEUE_PACKETS, _BYTES and _TIME; saturated */
};

/* What a test may depend on besides the packet. */
struct ink_sight {
	uint64_t number;          /* of the packet, for `chance` */
	const uint64_t *counters; /* the machine's */
	unsigned tail;            /* left by the flow's previous packet, if the state remembers it */
	struct ink_waiting waiting;
};

/* NULL with errno: EINVAL (a filter is wrong, or impossible on that link), ENOMEM. The machine has to outlive it. */
struct ink_classifier *ink_classifier_make(const struct ink_machine *machine, enum ink_link link,
					   uint64_t seed, struct ink_why *why);
void ink_classifier_free(struct ink_classifier *classifier);

/* The event, as the machine's rules number them; INK_NO_EVENT also for a packet that has no flow. */
uint16_t ink_classify(const struct ink_classifier *classifier, const struct ink_packet *packet,
		      const struct ink_sight *sight);

/*
 * A written event that another machine tells, as the rules number it. `reversed`: the teller means the packet's
 * other direction, so the event comes from the other end.
 */
uint16_t ink_classify_told(const struct ink_classifier *classifier, unsigned event,
			   const struct ink_packet *packet, const struct ink_sight *sight, int reversed);

/* The result of a single test of the machine; tests compare the decision program with it. */
int ink_test_holds(const struct ink_classifier *classifier, unsigned test, const struct ink_packet *packet,
		   const struct ink_sight *sight);

#endif
