/* SPDX-License-Identifier: BSD-2-Clause */
/* Synthetic traffic with known truth: see traffic.c. */
#ifndef INKLING_SIM_TRAFFIC_H
#define INKLING_SIM_TRAFFIC_H

#include <stdint.h>

#include <inkling/packet.h>

#include "sim/truth.h"
#include "sim/video.h"

enum { SIM_FLOWS_MOST = 100000000, SIM_FLOOD_MOST = 500000000, SIM_PAIRS_MOST = 1000000 };
enum { SIM_SCANS_MOST = 60000, SIM_TARGETS_MOST = 60000, SIM_STREAMS_MOST = 1000000, SIM_DATA_MOST = 10000 };

enum sim_flood_kind {
	SIM_FLOOD_SYN,
	SIM_FLOOD_ACK, /* SYN and a blind ACK; where the victim answers, SYN+ACK between them and RST after them */
	SIM_FLOOD_HANDSHAKE, /* SYN, SYN+ACK, ACK, and then nothing */
	SIM_FLOOD_RST        /* a single RST */
};

/* What there is to be. Shares are of `flows`, together at most 1; the rest opens and ends as it should. */
struct sim_traffic_options {
	uint64_t seed;

	uint64_t flows;       /* TCP connections */
	double half_open;     /* answered, and then nothing */
	double unanswered;    /* SYN, SYN again after a second, nothing */
	double refused;       /* SYN, RST */
	double reset;         /* opened, ended by RST */
	double cut;           /* opened, FIN answered by RST */
	double unfinished;    /* opened, without an end */
	double strangers;     /* opened before the capture began: without SYN and SYN+ACK */
	double reused;        /* of all: once more with the same addresses and ports, after the end */
	uint64_t established; /* connections that open in the first tenth and stay open */
	uint64_t udp;         /* flows of requests and answers */
	uint64_t scans;       /* sources that scan */
	uint64_t targets;     /* SYNs of each */
	uint64_t odd;         /* single segments with flags that cannot be */
	uint64_t flood;       /* connections or segments, each from another spoofed source */
	enum sim_flood_kind flood_kind;
	double flood_answers; /* of the SYNs in a flood of SYNs or ACKs, the share that the victim answers */
	uint64_t pairs;       /* of P2P hosts: a TCP connection and a UDP flow at the same time */
	uint64_t streams;     /* of video */
	enum sim_video_format format;

	double ipv6;         /* share of hosts in flows, udp and pairs */
	uint64_t concurrent; /* of flows: alive at once; 0 = a tenth of them */
	uint64_t data;       /* segments with data in each connection */
	uint64_t payload;    /* bytes in each, at most SIM_PAYLOAD_MOST */
	uint64_t snaplen;    /* bytes kept of each frame; 0 = all */
	uint64_t rtt, duration, flood_start, flood_duration; /* nanoseconds; flood_duration 0 = to the end */
};

/* How far it is, 0 .. 1; may be NULL. */
typedef void (*sim_progress)(double done);

/* Writes all of it to the dump, in order of time. -ENOMEM, -EINVAL, or what ink_dump_packet said. */
int sim_traffic(const struct sim_traffic_options *options, struct ink_dump *dump, struct sim_truth *truth,
		sim_progress progress);

/* NULL, or what is wrong with the options. */
const char *sim_traffic_wrong(const struct sim_traffic_options *options);

#endif
