/* SPDX-License-Identifier: BSD-2-Clause */
#include "sim/streams.h"

#include <stdio.h>
#include <stdlib.h>

#include "sim/seeded.h"

/* What is kept of a stream: where it is. */
struct air {
	uint64_t stream;
	uint32_t left;     /* remaining bytes of the picture; 0: the next one starts */
	uint16_t groups;   /* remaining, this one included */
	uint8_t picture;   /* the next to start, 0 .. SIM_GROUP; SIM_GROUP: none in this group */
	uint8_t untouched; /* nothing was sent yet */
};

struct sim_streams {
	struct sim_streams_options o;
	uint64_t packets; /* sent */
	uint64_t begun;   /* streams */
	uint32_t on_air;
	double time;
	double packet_ns; /* from one packet of a stream to the next */
	struct air air[];
};

/* 29 : 35/3 : 34/8, and an I picture of twelve kilobytes as in sim/video.c. */
static const uint32_t usual_size[3] = {12000, 4828, 1759};

static enum sim_picture type_of(unsigned picture)
{
	return picture == 0 ? SIM_PICTURE_I : picture % 3 == 0 ? SIM_PICTURE_P : SIM_PICTURE_B;
}

/* ------------------------------------------------------------------------ sizes */

static uint32_t least_size(enum sim_picture type)
{
	return usual_size[type] - usual_size[type] / 4;
}

static uint32_t sizes_of(enum sim_picture type)
{
	return 2 * (usual_size[type] / 4) + 1;
}

static double packets_of(enum sim_picture type)
{
	double sum = 0;

	for (uint32_t i = 0; i < sizes_of(type); i++)
		sum += (least_size(type) + i + SIM_STREAM_PACKET - 1) / SIM_STREAM_PACKET;
	return sum / sizes_of(type);
}

double sim_group_packets(void)
{
	double sum = 0;

	for (unsigned i = 0; i < SIM_GROUP; i++)
		sum += packets_of(type_of(i));
	return sum;
}

/* ---------------------------------------------------------------------- streams */

static uint64_t draw(const struct sim_streams *s, uint64_t what)
{
	return sim_mix(sim_mix(s->o.seed ^ what) + s->packets);
}

static void begin_stream(struct sim_streams *s, struct air *a)
{
	uint64_t word = sim_mix(sim_mix(s->o.seed ^ 2) + s->begun);

	*a = (struct air){.stream = s->begun++,
			  .groups = (uint16_t)(1 + sim_below(word, 2 * s->o.groups - 1)),
			  .untouched = 1};
}

struct sim_streams *sim_streams_new(const struct sim_streams_options *options)
{
	struct sim_streams *s = calloc(1, sizeof *s + options->streams * sizeof s->air[0]);

	if (!s) {
		fprintf(stderr, "inkling: out of memory for %u streams\n", options->streams);
		exit(1);
	}
	s->o = *options;
	s->packet_ns = SIM_GROUP_NS / sim_group_packets();
	return s;
}

void sim_streams_free(struct sim_streams *streams)
{
	free(streams);
}

/* ---------------------------------------------------------------------- packets */

static void begin_picture(const struct sim_streams *s, struct air *a)
{
	enum sim_picture type = type_of(a->picture++);

	a->left = least_size(type) + sim_below(draw(s, 3), sizes_of(type));
}

/* The picture that was begun last, and if it was the last of its group, the group after it. */
static void end_picture(struct air *a)
{
	if (a->picture < SIM_GROUP)
		return;
	a->picture = 0;
	a->groups--;
}

/* Those on the air by now; at least one. */
static void fill_air(struct sim_streams *s)
{
	double due = s->time < SIM_FILL_NS ? 1 + (s->o.streams - 1) * (s->time / SIM_FILL_NS) : s->o.streams;

	while (s->on_air < (uint32_t)due)
		begin_stream(s, &s->air[s->on_air++]);
}

static uint32_t drawn_place(struct sim_streams *s)
{
	fill_air(s);
	return sim_below(draw(s, 1), s->on_air);
}

struct sim_stream_packet sim_streams_next(struct sim_streams *s)
{
	uint32_t place = drawn_place(s);
	struct air *a = &s->air[place];
	struct sim_stream_packet p = {.stream = a->stream,
				      .place = place,
				      .time = (uint64_t)s->time,
				      .starts = a->left == 0,
				      .first = a->untouched};

	if (p.starts)
		begin_picture(s, a);
	a->untouched = 0;
	p.picture = type_of(a->picture - 1u);
	p.bytes = a->left < SIM_STREAM_PACKET ? a->left : SIM_STREAM_PACKET;
	a->left -= p.bytes;
	if (!a->left)
		end_picture(a);
	p.last = !a->groups;
	if (p.last)
		begin_stream(s, a);
	s->packets++;
	s->time += s->packet_ns / s->on_air;
	return p;
}
