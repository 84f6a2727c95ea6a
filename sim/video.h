/* SPDX-License-Identifier: BSD-2-Clause */
/* MPEG-2 video as it looks on a network: pictures that begin with the right codes, filled with noise. */
#ifndef INKLING_SIM_VIDEO_H
#define INKLING_SIM_VIDEO_H

#include <stddef.h>
#include <stdint.h>

#include "sim/truth.h"

enum sim_video_format {
	SIM_VIDEO_RTP = 0, /* RFC 2250: a picture begins with a packet */
	SIM_VIDEO_TS = 1,  /* seven packets of a transport stream in a datagram */
	SIM_VIDEO_ES = 2   /* the bare stream: a picture begins anywhere, its code may lie in two packets */
};

enum { SIM_PICTURE_MOST = 20000, SIM_PICTURE_NS = 40000000 }; /* 25 in a second */

struct sim_video;

/* What pictures are drawn on, one at a time. Streams share it: it is drawn again for the next packet of the same picture. */
struct sim_sheet {
	const struct sim_video *of;
	uint8_t bytes[SIM_PICTURE_MOST];
};

struct sim_video {
	struct sim_sheet *sheet;
	enum sim_video_format format;
	uint64_t seed;
	uint32_t pictures; /* in all */
	uint32_t next;     /* the picture that comes after the one here */
	uint32_t type;     /* of the one here: 0 I, 1 P, 2 B */
	size_t at, size;   /* in it */
	uint16_t sequence; /* RTP */
	uint8_t continuity[3];
	uint8_t tables; /* transport stream: tables that are to be sent before the picture goes on */
};

/* The payload of the next datagram, at most SIM_PAYLOAD_MOST bytes. Pictures are counted as they begin. */
size_t sim_video_next(struct sim_video *video, uint8_t *payload, struct sim_truth *truth);

/* When the one after it is sent, after the stream's begin; 0: the stream is over. */
uint64_t sim_video_time(const struct sim_video *video);

#endif
