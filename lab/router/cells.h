/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The cells of an evaluation: a policy in a scenario, with a seed. Six streams of video share a link with what the
 * scenario puts beside them; the policy decides what is lost.
 *
 * Names are "POLICY.SCENARIO.SEED": "fq-b.10-tcp.3". A policy is a qdisc, and before it a machine or none. All queues
 * of packets have room for 200, since the machines act on up to 150; qdiscs that manage their queue have their own
 * defaults. In front of fq_codel the machines begin at 5 packets, 2.7 ms, since codel keeps the queue below 5 ms.
 */
#ifndef INKLING_LAB_ROUTER_CELLS_H
#define INKLING_LAB_ROUTER_CELLS_H

#include <stdbool.h>
#include <stddef.h>

#include "lab/film.h"

enum { STREAMS = 6, TS_DATAGRAM = 7 * 188 };

/* What is measured together: a film for each kind of clip, a link, some scenarios. */
struct study {
	const char *name;
	uint32_t link; /* bits a second */
	uint32_t frames;
	unsigned
		kbits; /* of a stream, at 25 frames a second: with headers and padding a sixth of 1.1 times the link */
	unsigned speed;     /* how many times as fast it is played */
	const char *source; /* NULL: a scene */
};

extern const struct study studies[];
extern const size_t study_count;

/* What is sent: MPEG-2 with datagrams that begin with a picture, H.264, and MPEG-2 without gaps. */
enum clip_kind { CLIP_MPEG2, CLIP_H264, CLIP_PACKED, CLIPS };

struct policy {
	const char *name;
	const char *title;
	const char *qdisc;   /* as for tc */
	const char *machine; /* NULL: none */
	const char *options; /* of inkling attach, commas between them; NULL: none */
	enum clip_kind clip;
};

extern const struct policy policies[];
extern const size_t policy_count;

struct scenario {
	const char *study;
	const char *name;
	const char *title;
	double load; /* what the streams send, as a share of the link */
	unsigned streams;
	unsigned flows; /* of TCP */
	unsigned seeds;
	bool curve; /* a point of a curve: of the paper's policies alone */
};

extern const struct scenario scenarios[];
extern const size_t scenario_count;

struct router_cell {
	const struct policy *policy;
	const struct scenario *scenario;
	unsigned seed; /* from 1 */
};

enum { CELL_NAME = 64 };

/* Cell number `number` of a study, in the order in which they are run: those that decide most first. False: no more. */
bool cell_at(const struct study *study, size_t number, struct router_cell *cell);

void cell_name(const struct router_cell *cell, char name[CELL_NAME]);

const struct policy *policy_named(const char *name);
const struct scenario *scenario_named(const char *name);
const struct study *study_named(const char *name);

#endif
