/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What goes through the router: streams of video, TCP beside them, and a flood that measures the link. Each prints what
 * arrived, a line for each thing; lab/router/cell.h reads them.
 */
#ifndef INKLING_LAB_ROUTER_FLOWS_H
#define INKLING_LAB_ROUTER_FLOWS_H

#include "lab/router/clip.h"
#include "lab/router/net.h"

enum { STREAMS_MOST = 16, BULK_MOST = 16 };

struct road {
	struct place from, to;
};

struct bulk;

/*
 * `streams` times the clip, each evenly and its packets shifted by chance within their intervals. Streams begin one
 * after the other, so that their groups of pictures are shifted. `rate`: bits a second of all of them on the wire.
 */
struct video_plan {
	const struct clip *clip;
	unsigned streams;
	double rate;
	double groups; /* of pictures, in the clip */
	uint64_t seed;
};

void send_video(const struct road *road, const struct video_plan *plan, const struct bulk *beside);

/* UDP at this rate for some time: the rate at which it comes out is that of the bottleneck. */
void send_flood(const struct road *road, double rate, double seconds);

/* So many transfers by TCP, which take what they get, from bulk_begin() until bulk_end(). */
struct bulk *bulk_begin(const struct road *road, unsigned flows);
uint64_t bulk_bytes(const struct bulk *bulk); /* that arrived so far */
void bulk_end(struct bulk *bulk);

/* The traffic of a swarm beside that of others (swarm.c). */
void send_swarm(const struct road *road, double seconds);

#endif
