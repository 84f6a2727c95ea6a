/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One machine of a tracker: its events, keys and tables, its time, and the
 * steps of the present block of packets.
 *
 * A stage has one or two lanes. The first steps the table, the second the table
 * that runs beside it. The lanes share the packets' own events. What rows tell
 * later machines stays within a lane, so that the second lanes of all stages are
 * a chain of their own. A stage without a table beside tells both lanes.
 *
 *     stage 0   lane 0  [ steps ]--tells--> stage 1   lane 0  [ told, steps ] --> ...
 *               lane 1  [ steps ]--tells-->           lane 1  [ told, steps ] --> ...
 *
 *     a lane    steps   [ 0 0 2 3 3 3 6 ]     by their place in the block, in order
 *               told    place 2: b -> d; place 5: a     a list for each place
 */
#ifndef INKLING_PACKET_STAGE_H
#define INKLING_PACKET_STAGE_H

#include <inkling/track.h>

#include "machine/tree.h"
#include "packet/limits.h"
#include "packet/outlet.h"
#include "packet/sensor.h"

enum { INK_STAGE_LANES = 2 };

/* A step, besides what the table gets and gives. Small: with 40 bytes each, a run took a tenth longer. */
struct ink_step {
	uint16_t place;  /* of the packet in the block */
	uint16_t teller; /* 1 + the number of the machine that told the event; 0: the packet's own */
	uint8_t tail;    /* left by the flow's previous packet */
	uint8_t reversed;
	uint8_t slowly;
	uint8_t limited; /* a limit refused the packet */
};

/* An event that another machine told, in the list of its packet. */
struct ink_told {
	uint32_t next; /* 1 + its place in the array; 0: the last */
	uint16_t event, teller;
	uint8_t reversed;
};

struct ink_lane {
	struct ink_table *table; /* NULL: there is no such lane */
	size_t n, done, shown;   /* steps of the block; those made, and those that the caller has been told */
	uint64_t *ids;
	uint16_t *events;
	struct ink_move *moves;
	int *errors;
	struct ink_step *steps;
	size_t n_told, room_told;
	struct ink_told *told;
	uint32_t first[INK_PACKET_BLOCK],
		last[INK_PACKET_BLOCK]; /* 1 + the place in `told`, for each packet; 0: none */
	uint64_t counters[INK_COUNTERS_MAX];
};

/* The latest packets for which the machine's rows said so, by number: each is counted once. */
struct ink_judged {
	uint64_t dropped, limited, passed, marked, prioritized, classed;
};

struct ink_stage {
	const struct ink_track_options *o;
	struct ink_stage *all; /* the stages of the tracker */
	unsigned number;       /* among these */
	const struct ink_machine *m;
	const struct ink_machine_view *v;
	struct ink_sensor *sensor;
	struct ink_table *slow;
	struct ink_outlet *outlet; /* the tracker's */
	struct ink_limits *limits;
	struct ink_judged judged;
	int judges;      /* rows decide about packets */
	int deaf;        /* no packet has an event of this machine: all are told */
	int plain;       /* own steps need nothing but the table: the common case, which is fast */
	int started;     /* the first packet has arrived */
	uint64_t clock;  /* the latest seen */
	uint64_t origin; /* the clock at tick `first` */
	uint64_t first;  /* the table's tick when the first packet came */
	uint64_t now;    /* the present tick */
	uint64_t due;    /* time of the next tick, from the origin */
	struct ink_track_stats stats;
	const struct ink_packets *block; /* the present one */
	uint64_t before;                 /* packets before it */
	struct ink_lane lane[INK_STAGE_LANES];
};

/* Memory for blocks of `packets`, each with `told` told steps at most. 0 or -ENOMEM, and nothing changes. */
int ink_stage_reserve(struct ink_stage *stage, size_t packets, size_t told);
void ink_stage_release(struct ink_stage *stage);

/* The sensor and the limits become the stage's, with the machine. */
void ink_stage_use(struct ink_stage *stage, struct ink_sensor *sensor, struct ink_limits *limits);

/* Makes the steps of a block. They remain readable until ink_stage_clear. 0 or -EINVAL. */
int ink_stage_block(struct ink_stage *stage, const struct ink_packets *block);
void ink_stage_clear(struct ink_stage *stage);

/* Time passes; -EINVAL as above. */
int ink_stage_time(struct ink_stage *stage, uint64_t clock);

/* The machine was exchanged: ticks may have another length from here on. */
void ink_stage_restart(struct ink_stage *stage);

/* The rows for the end fire; as ink_track_end. */
int ink_stage_end(struct ink_stage *stage);

#endif
