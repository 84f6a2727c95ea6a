/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tracking: a machine runs over packets, and a table keeps the flows' states.
 *
 *     packet --> event, key --> id --> table, rules --> move --> action
 *
 *     struct ink_track_options o = { .size = sizeof o, .machine = m, .table = t, .link = link,
 *                                    .moved = show };
 *     struct ink_track *k = ink_track_open(&o, NULL);
 *     while (ink_capture_read(c, &packets, NULL) == 0 && !packets.end)
 *             ink_track_packets(k, &packets);
 *     ink_track_end(k);
 *     ... ink_track_counters(k)
 *     ink_track_close(k);
 *
 * A sensor does the first half alone, without a table, and its results can be
 * sent to where the table is.
 *
 * This is a part of the library inkling-packet. Returns and structs are as in
 * inkling.h. Thread rules: a tracker and its tables, or a sensor, belong to one
 * thread at a time; different ones are independent. Processes: after fork(),
 * parent and child have trackers and sensors of their own, in which the same
 * packets have been seen.
 */
#ifndef INKLING_TRACK_H
#define INKLING_TRACK_H

#include <inkling/machine.h>
#include <inkling/packet.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The event of a packet that has none. */
#define INK_NO_EVENT UINT16_MAX

/* --------------------------------------------------------------- tracking */

struct ink_track;

/* What happened to a packet. It lives during the call. */
struct ink_moved {
	const struct ink_packet *packet;
	uint64_t number; /* of the packet, from 1; skipped ones count */
	uint64_t id;     /* of its flow */
	unsigned event;  /* as the rules number them: view.event_of has the written one */
	struct ink_move move;
	int error;                       /* of the step: 0, or -ENOSPC (the flow was refused) */
	int slowly;                      /* non-zero: the move is that of the table `slow` */
	const struct ink_action *action; /* of the row that was taken; never NULL */
	struct ink_move beside;          /* what the table beside did */
	int beside_error;
};

struct ink_track_options {
	size_t size;
	const struct ink_machine *machine; /* must be given */
	/*
	 * Must be given, with the machine's rules, or others that have its states and events and no actions
	 * besides its own.
	 */
	struct ink_table *table;
	struct ink_table *beside;          /* a second one that gets the same steps; or NULL */
	/*
	 * A third, which should be exact: where the first refuses a flow or does not know it, the step
	 * is made in this one, and that move is the one that counts. Or NULL.
	 */
	struct ink_table *slow;
	int (*only)(uint64_t id, void *user); /* non-zero: a flow that is to be stepped; or NULL: all are */
	enum ink_link link;                   /* what the frames begin with; for `filter` conditions */
	uint64_t seed;                        /* for `chance` conditions */
	int no_timeouts;                      /* non-zero: time stands still */
	int every; /* non-zero: `moved` is called for every packet that has an event */
	void (*moved)(const struct ink_moved *moved, void *user); /* or NULL */
	void *user;                                               /* given to both */
};

/*
 * Begins. The machine and the tables stay the caller's and have to outlive it.
 * The result belongs to the caller: ink_track_close it. NULL with errno: EINVAL
 * (the options contradict themselves; a table's rules are not the machine's; a
 * filter of the machine is wrong or impossible on that link), ENOTSUP (the libraries inkling and inkling-packet are
 * of different versions), ENOMEM.
 */
struct ink_track *ink_track_open(const struct ink_track_options *options, struct ink_why *why);

/* Frees; NULL is allowed. */
void ink_track_close(struct ink_track *track);

/*
 * Runs the machine over packets, in their order. `moved` is called for those
 * whose row has an action, before the call returns and in order. Time goes by
 * as packet->clock says: what falls due is done before the packet that is
 * later. 0, or -EINVAL: a table has no longer the machine's rules.
 */
int ink_track_packets(struct ink_track *track, const struct ink_packets *packets);

/*
 * The time is now `clock` (as packet->clock), though no packet says so: for
 * interfaces on which nothing comes. One in the past does nothing.
 */
int ink_track_time(struct ink_track *track, uint64_t clock);

/*
 * Goes on with another machine, which was made with the present one as
 * options.like, so that the flows keep their states. Counters of the same name
 * keep their values. The old machine is no longer needed then; the new one has
 * to outlive the tracker. -EINVAL (it was made otherwise, has another key, or
 * needs more states than a table has; a filter is wrong), -ENOMEM: all stays.
 */
int ink_track_exchange(struct ink_track *track, const struct ink_machine *machine, struct ink_why *why);

/*
 * The input has ended: the `end` rows fire for every flow left. Since the table
 * keeps no ids, they fire by the numbers of flows in each state; the flows
 * themselves stay where they are. To be called once. 0, or -ENOTSUP: a table
 * is of a kind that has no census, and its `end` rows did not fire.
 */
int ink_track_end(struct ink_track *track);

/* The machine's counters, view.counters of them; they live as long as the tracker. */
const uint64_t *ink_track_counters(const struct ink_track *track);

/* The same as the table beside would have it: what its moves, time-outs and ends counted. */
const uint64_t *ink_track_counters_beside(const struct ink_track *track);

struct ink_track_stats {
	size_t size;
	uint64_t packets;            /* given */
	uint64_t skipped[INK_SKIPS]; /* of these, by reason; [INK_NOT_SKIPPED] have a flow */
	uint64_t eventless;          /* have a flow and no event */
	uint64_t steps;              /* have both */
	uint64_t begun;              /* steps that left absent */
	uint64_t unsure;             /* steps of flows that the table does not know about */
	uint64_t refused;            /* steps for which there was no room */
	uint64_t slow;               /* steps that were made in the table `slow` */
	uint64_t passed_by;          /* steps that were not made, since `only` did not want the flow */
	uint64_t ticks;              /* that went by */
	uint64_t expired;            /* flows whose time-out came */
};

/* Fills in the stats; stats->size must be set. 0, or -EINVAL: it is no size of the struct; nothing is written. */
int ink_track_stats(const struct ink_track *track, struct ink_track_stats *stats);

/* ---------------------------------------------------------------- sensing */

struct ink_sensor;

struct ink_sensor_options {
	size_t size;
	const struct ink_machine *machine; /* must be given */
	enum ink_link link;                /* what the frames begin with; for `filter` conditions */
	uint64_t seed;                     /* for `chance` conditions */
	uint64_t secret[2];                /* for ids: sensors that feed one table have the same */
};

/* What a sensor finds in a packet. */
struct ink_sensed {
	uint64_t id;    /* SipHash-1-3 of the key under the secret; 0 without a key */
	uint64_t clock; /* the packet's */
	uint16_t event; /* as the machine's rules number them, or INK_NO_EVENT */
	uint8_t length; /* of the key; 0: the packet has none */
	uint8_t key[INK_KEY_MOST];
	uint8_t reserved[5];
};

/*
 * Begins. The machine stays the caller's and has to outlive the sensor. The
 * result belongs to the caller: ink_sensor_close it. NULL with errno as for
 * ink_track_open; also ENOTSUP: the machine's events depend on counters or on
 * states (`remember tail`), so they cannot be found without a table.
 */
struct ink_sensor *ink_sensor_open(const struct ink_sensor_options *options, struct ink_why *why);

/* Frees; NULL is allowed. */
void ink_sensor_close(struct ink_sensor *sensor);

/*
 * Writes for each of the packets, in their order, what a tracker would find:
 * the event, and the key of the flow that it is about (for a `reverse` event,
 * that of the other direction). With the same seed, `chance` conditions fall
 * out as in a tracker that is given the same packets.
 *
 * A table at the other end takes what has an event: ink_step_batch with ids and
 * events, after ink_tick for the clock. Its ids must all be of this secret, or
 * be computed there from the keys by ink_id.
 */
void ink_sensor_packets(struct ink_sensor *sensor, const struct ink_packets *packets,
			struct ink_sensed *sensed);

#ifdef __cplusplus
}
#endif

#endif
