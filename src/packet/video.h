/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What starts in a packet of video: MPEG-2 pictures in elementary streams, RTP
 * and MPEG-TS; H.264 NAL units in RTP.
 *
 * A picture begins with the six bytes 00 00 01 00 tt Tt; bits 3 to 5 of the
 * last are its type. A reader of the stream has seen 0 to 5 of them, which is
 * its state; the state at the end of a packet is the packet's tail:
 *
 *     0 --00--> 1 --00--> 2 --01--> 3 --00--> 4 --any--> 5 --type--> a picture
 *                        (00: stays)
 */
#ifndef INKLING_PACKET_VIDEO_H
#define INKLING_PACKET_VIDEO_H

#include <inkling/packet.h>

enum { INK_PICTURE_NONE, INK_PICTURE_I, INK_PICTURE_P, INK_PICTURE_B, INK_PICTURE_TYPES };

struct ink_pictures {
	uint32_t started[INK_PICTURE_TYPES]; /* by type */
	uint8_t last;                        /* the type of the last one that started */
	uint8_t tail;                        /* bytes of a start code at the end */
};

/* Looks through the payload of a UDP packet; `tail` is what the packet before it left. Others start nothing. */
struct ink_pictures ink_video_pictures(const struct ink_packet *packet, unsigned tail);

/* UDP whose payload can be RTP: its payload type, or -1. */
int ink_video_rtp(const struct ink_packet *packet);

/* Is it MPEG-TS, bare or in RTP of type 33? */
int ink_video_ts(const struct ink_packet *packet);

/* The types of the NAL units that start in it: a bit for each. */
uint32_t ink_video_nals(const struct ink_packet *packet);

#endif
