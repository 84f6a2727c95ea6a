/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Many streams of MPEG-2 video at once, as a router sees them: packet after packet, each with what is true
 * of it.
 *
 * Promised:
 *  - A stream is a row of groups of 12 pictures, I BB P BB P BB P BB in the order in which they are sent. Its
 *    first packet starts an I picture. It ends with a group, after 1 to 2 x groups - 1 of them, evenly; a new
 *    one takes its place, with a number that no other has.
 *  - A picture is its type's usual size, a quarter more or less, evenly. It begins with a packet and spans as
 *    many as it takes. Usual sizes are in the proportions of the ACSM paper's film: 29, 35 and 34 % of the
 *    bytes are of I, P and B pictures.
 *  - Every packet is of a stream drawn evenly from those on the air. They send 25 pictures in a second.
 *  - They come on the air one after the other, evenly during the first SIM_FILL_NS, so that their groups
 *    begin at different times.
 *  - The same seed gives the same packets.
 */
#ifndef INKLING_SIM_STREAMS_H
#define INKLING_SIM_STREAMS_H

#include <stdbool.h>
#include <stdint.h>

enum sim_picture { SIM_PICTURE_I, SIM_PICTURE_P, SIM_PICTURE_B };

enum { SIM_STREAM_PACKET = 1316, SIM_GROUP = 12, SIM_GROUP_NS = 480000000, SIM_FILL_NS = SIM_GROUP_NS };

struct sim_streams_options {
	uint64_t seed;
	uint32_t streams; /* on the air at once */
	uint32_t groups;  /* that a stream has, on average; at least 1 */
};

struct sim_stream_packet {
	uint64_t stream; /* its number, from 0 */
	uint32_t place;  /* among those on the air: 0 .. streams-1; the stream that follows one takes its place */
	uint32_t bytes;
	uint64_t time; /* nanoseconds from the first packet on */
	enum sim_picture picture;
	bool starts; /* a picture */
	bool first;  /* of its stream */
	bool last;
};

struct sim_streams;

/* Ends the program where there is no memory. sim_streams_free() it. */
struct sim_streams *sim_streams_new(const struct sim_streams_options *options);
void sim_streams_free(struct sim_streams *streams);

struct sim_stream_packet sim_streams_next(struct sim_streams *streams);

/* Mean packets of a group, which sets the pace of time. */
double sim_group_packets(void);

#endif
