/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A film in H.264, as RTP carries it (RFC 6184), and what a receiver hands to the decoder.
 *
 *     FLV of ffmpeg: a tag for each picture, in it NAL units
 *         |
 *         +--> packets: a unit that fits goes alone, others in fragments (FU-A)
 *         |    before each key picture go the parameter sets
 *         |
 *         +--> FLV again, of the units that arrived, each up to its first missing fragment
 *
 * FLV keeps the time of each picture, so that those that are missing are seen. Its head has the parameter sets, which a
 * player also knows from the description of the session.
 */
#ifndef INKLING_LAB_FILM_H264_H
#define INKLING_LAB_FILM_H264_H

#include "lab/film.h"

/* Cuts film->stream into packets. 0, or -errno with `why`. */
int film_h264_cut(struct film *film, struct ink_why *why);

/* Writes what is left without these packets (NULL: all) to the file. 0, or -errno. */
int film_h264_assemble(const struct film *film, const bool *dropped, int file);

#endif
