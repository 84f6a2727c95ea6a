/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What starts in a packet of video: MPEG-2 pictures in elementary streams, RTP
 * and MPEG-TS; H.264 NAL units in RTP. payload.h and pictures.h, which a program
 * in the kernel uses, too, do the work; here they are asked about a packet.
 */
#ifndef INKLING_PACKET_VIDEO_H
#define INKLING_PACKET_VIDEO_H

#include <inkling/packet.h>

#include "packet/payload.h"

/* Looks through the payload of a UDP packet; `tail` is what the packet before it left. Others start nothing. */
struct ink_pictures ink_video_pictures(const struct ink_packet *packet, unsigned tail);

/* UDP whose payload can be RTP: its payload type, or -1. */
int ink_video_rtp(const struct ink_packet *packet);

/* Is it MPEG-TS, bare or in RTP of type 33? */
int ink_video_ts(const struct ink_packet *packet);

/* The types of the NAL units that start in it and have one of these nal_ref_idc: a bit for each. */
uint32_t ink_video_nals(const struct ink_packet *packet, uint32_t refs);

#endif
