/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A trace of TCP flags, flow by flow, for tables that keep the last one: what the
 * kBF paper's section VI needs of an hour of a backbone.
 *
 *     every flow    SYN, ACK, and 1.5 more of PSH and ACK in the mean, geometric
 *     then          ended   FIN, LAST: gone, to be forgotten
 *                   fin     FIN, and no more      \  the flows that the paper
 *                   rst     RST, and no more      /  looks for
 *                   open    nothing more
 *
 * Flows 0 .. fin-1 stay in FIN, the next `rst` in RST, the next `ended` end, the rest
 * stays open. They begin at any time of the trace with the same probability, last a
 * tenth of it in the mean (exponential, cut off at the end), and their packets lie in
 * it at equal distances. The same options give the same trace.
 */
#ifndef INKLING_SIM_FLAGS_H
#define INKLING_SIM_FLAGS_H

#include <stddef.h>
#include <stdint.h>

/* The first five are states, too; the last segment of an ended flow leaves none. */
enum sim_flag { SIM_SYN, SIM_ACK, SIM_PSH, SIM_FIN, SIM_RST, SIM_FLAG_STATES, SIM_LAST = SIM_FLAG_STATES };

struct sim_flags_options {
	uint64_t seed;
	uint32_t flows; /* at most 2^29 - 1 */
	uint32_t fin, rst, ended;
};

/* Packets in order of time: flow * 8 + flag. */
struct sim_flags {
	uint32_t *packets;
	size_t count;
};

static inline uint32_t sim_flags_flow(uint32_t packet)
{
	return packet >> 3;
}

static inline enum sim_flag sim_flags_flag(uint32_t packet)
{
	return (enum sim_flag)(packet & 7);
}

/* 0, -EINVAL (more special flows than flows, or too many), or -ENOMEM. sim_flags_free it. */
int sim_flags_make(struct sim_flags *trace, const struct sim_flags_options *options);
void sim_flags_free(struct sim_flags *trace);

#endif
