/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What is true of generated traffic, counted while it is made, in the terms in
 * which the truth of real captures is told: flows are 5-tuples in both
 * directions, without time-outs, a reused one is one flow.
 */
#ifndef INKLING_SIM_TRUTH_H
#define INKLING_SIM_TRUTH_H

#include <stdint.h>
#include <stdio.h>

/* One TCP flow, as its segments go by. */
struct sim_flow {
	uint32_t packets[2], syn[2], synack[2], fin[2], rst[2]; /* by the end that sent them */
	unsigned handshake;                                     /* 0 none, 1 syn, 2 synack, 3 done */
	unsigned opener;                                        /* the end that began it */
	unsigned illegal;
};

struct sim_truth {
	uint64_t frames, bytes, ipv4, ipv6, tcp_packets, udp_packets, hosts;
	uint64_t udp_flows, alive_at_once;
	struct {
		uint64_t flows, syn_seen, handshake_complete, half_open, syn_without_synack,
			syn_refused_by_rst, synack_without_syn, midstream, fin_seen, fin_both,
			fin_both_no_rst, rst_seen, rst_no_fin, fin_and_rst, no_fin_no_rst, one_way,
			syn_repeated, illegal;
	} tcp;
	uint64_t flags[64];
	struct {
		uint64_t null, syn_fin, syn_rst, fin_rst, fin_without_ack, xmas, only_psh_urg, any;
	} illegal;
	uint64_t pairs_tcp, pairs_udp,
		pairs_both; /* of hosts; all of the last are concurrent, on ports that are P2P's */
	uint64_t pictures[3], picture_bytes[3]; /* I, P, B */
	uint64_t streams;
};

/* A segment of a flow: which end sent it, with which flags. */
void sim_flow_segment(struct sim_flow *flow, struct sim_truth *truth, unsigned from, unsigned flags);

/* The flow is over. */
void sim_flow_end(const struct sim_flow *flow, struct sim_truth *truth);

/* As JSON; `name` is the capture's. */
void sim_truth_write(const struct sim_truth *truth, const char *name, FILE *to);

#endif
