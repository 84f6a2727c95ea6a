/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tracking: runs machines over packets, with a table for the states of flows.
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
 * Several machines run together as a set, each with its own tables. For each
 * packet they act in the order of the set. What the rows of a machine tell a later
 * one comes before the event of the packet itself, in the order of the rows. The
 * result does not depend on how packets are divided into calls.
 *
 * A sensor does the first half only, up to the id and the event. It needs no
 * table, and its results can be sent to a table elsewhere.
 *
 * This is a part of the library inkling-packet. Return values and structs are
 * as in inkling.h. Thread rules: a tracker and its tables, or a sensor, belong
 * to one thread at a time; different ones are independent. Processes: after
 * fork(), parent and child each have an independent copy of trackers and
 * sensors.
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

/* The step of a packet. Valid during the call. */
struct ink_moved {
	const struct ink_packet *packet;
	uint64_t number; /* of the packet, from 1; skipped ones count */
	uint64_t id;     /* of the packet's flow */
	unsigned event;  /* its number in the rules; view.event_of maps it to the written event */
	struct ink_move move;
	int error;                       /* of the step: 0, or -ENOSPC (the flow was refused) */
	int slowly;                      /* non-zero: the move was made in the table `slow` */
	const struct ink_action *action; /* of the row taken; never NULL */
	struct ink_move beside;          /* the move in the table `beside` */
	int beside_error;
	unsigned machine; /* its number in the set; 0 for a tracker of one machine */
	unsigned teller;  /* 1 + the number of the machine that told the event; 0: it is the packet's own */
	int reversed;     /* non-zero: the flow, and so its key, is that of the packet's other direction */
	/*
	 * With a table beside, the machines told each other something in one chain of tables only: 1 = only the
	 * table made this step, 2 = only the one beside; the other move is from absent to absent. 0: both.
	 */
	int alone;
	/* Non-zero: the row that the table took has a limit, and that refused the packet; the same of the one beside. */
	int limited, beside_limited;
};

struct ink_track_options {
	size_t size;
	const struct ink_machine *machine; /* must be given, or `machines` */
	/*
	 * Must be given for `machine`. Its rules are the machine's, or others with the same states and events and no
	 * further actions.
	 */
	struct ink_table *table;
	struct ink_table *beside;          /* a second table that makes the same steps, for comparison; or NULL */
	/*
	 * A third table, which should be exact: if the first refuses a flow or does not know its state, the
	 * step is made in this one, and its move is reported and counted. Or NULL.
	 */
	struct ink_table *slow;
	int (*only)(uint64_t id, void *user); /* non-zero: make the flow's steps; NULL: all flows */
	enum ink_link link;                   /* link type of the frames; for `filter` conditions */
	uint64_t seed;                        /* for `chance` conditions */
	int no_timeouts;                      /* non-zero: time does not advance */
	int every; /* non-zero: `moved` is called for every packet that has an event */
	void (*moved)(const struct ink_moved *moved, void *user); /* or NULL */
	void *user;                                               /* given to both */
	/*
	 * A set of machines in place of `machine`, and arrays of as many tables in place of `table`, `beside` and
	 * `slow`; the last two arrays, and their elements, may be NULL. With several machines, `only` must be NULL.
	 */
	const struct ink_machines *machines;
	struct ink_table *const *tables, *const *besides, *const *slows;
	/*
	 * Bits a second, 1e3 to 1e12, of the queue that packets join where they leave, unless a row drops them or a
	 * limit refuses them; a second of it is all that can wait. Needed by machines whose conditions look at it
	 * (view.queues), which makes packets be taken one by one. 0: there is none.
	 */
	uint64_t queue_rate;
};

/*
 * Makes a tracker. The machines and the tables remain the caller's and must outlive it; the arrays
 * of tables too.
 * The result belongs to the caller: ink_track_close it. NULL with errno: EINVAL
 * (the options contradict themselves; a table's rules are not the machine's; a
 * filter of the machine is invalid on that link; `machine` tells other machines
 * of its set; conditions look at a queue without a rate), ENOTSUP (the libraries
 * inkling and inkling-packet have different versions), ENOMEM.
 */
struct ink_track *ink_track_open(const struct ink_track_options *options, struct ink_why *why);

/* Frees; NULL is allowed. */
void ink_track_close(struct ink_track *track);

/*
 * Runs the machine over packets, in their order. `moved` is called for those
 * whose row has an action, in order, before the call returns. Time advances with
 * packet->clock: time-outs that are due fire before the packet's step. 0, or
 * -EINVAL: a table no longer has the machine's rules.
 */
int ink_track_packets(struct ink_track *track, const struct ink_packets *packets);

/*
 * Advances time to `clock` (as packet->clock) without a packet: for interfaces
 * that receive nothing. A time in the past has no effect.
 */
int ink_track_time(struct ink_track *track, uint64_t clock);

/*
 * Switches to another machine, which was made with the present one as
 * options.like. Flows keep their states, and counters of the same name keep
 * their values. The old machine is no longer needed; the new one must outlive
 * the tracker. -EINVAL (it was made without `like`, has another key, or needs
 * more states than a table has; a filter is invalid; it looks at a queue and
 * there is none), -ENOMEM: nothing changes. Limits that both have keep what their
 * buckets hold.
 */
int ink_track_exchange(struct ink_track *track, const struct ink_machine *machine, struct ink_why *why);

/*
 * The same for all machines of a set, made with the present set as
 * options.like_set: it has as many machines, with the same names in the same
 * order. All are exchanged, or none.
 */
int ink_track_exchange_set(struct ink_track *track, const struct ink_machines *machines, struct ink_why *why);

/*
 * Ends the input: the `end` rows fire for every flow left. The table keeps no
 * ids, so they fire by the number of flows in each state; the flows stay in the
 * table. Call it once. 0, or -ENOTSUP: a table's kind has no census, and its
 * `end` rows did not fire.
 */
int ink_track_end(struct ink_track *track);

/* The machine's counters, view.counters of them; valid as long as the tracker. */
const uint64_t *ink_track_counters(const struct ink_track *track);

/* The same for the table `beside`: what its moves, time-outs and ends counted. */
const uint64_t *ink_track_counters_beside(const struct ink_track *track);

/* Both for a machine of the set, by its number; NULL: there is none. The calls above are for the first. */
const uint64_t *ink_track_counters_of(const struct ink_track *track, unsigned machine);
const uint64_t *ink_track_counters_beside_of(const struct ink_track *track, unsigned machine);

struct ink_track_stats {
	size_t size;
	uint64_t packets;            /* given */
	uint64_t skipped[INK_SKIPS]; /* of these, by reason; [INK_NOT_SKIPPED] have a flow */
	uint64_t eventless;          /* have a flow and no event */
	uint64_t steps;              /* have both */
	uint64_t begun;              /* steps from absent to a state */
	uint64_t unsure;             /* steps of flows whose state the table does not know */
	uint64_t refused;            /* steps for which there was no room */
	uint64_t slow;               /* steps made in the table `slow` */
	uint64_t passed_by;          /* steps not made, because `only` excluded the flow */
	uint64_t ticks;              /* passed */
	uint64_t expired;            /* flows that timed out */
	uint64_t told;               /* of the steps, those that another machine told */
	/* Packets of which rows of the table's moves say so; each is counted once, whatever the tracker's user does. */
	uint64_t dropped; /* by `drop` */
	uint64_t limited; /* refused by a limit; those that an earlier step drops do not ask it */
	uint64_t passed, marked;
	uint64_t prioritized, classed; /* by `priority`, by `class` */
};

/* The queue of a tracker, which all its machines see. */
struct ink_queue_stats {
	size_t size;
	uint64_t rate;   /* bits a second; 0: there is no queue, and nothing else is counted */
	uint64_t joined; /* packets; whether a machine looks at them or not */
	uint64_t bytes;  /* of these, on the wire */
	uint64_t lost;   /* packets that found others and, with them, would be more than a second: they did not join */
	uint64_t wait;   /* nanoseconds that those that joined had to wait, all together */
	uint64_t worst;  /* the longest wait of one */
};

/* Fills in the stats; stats->size must be set. 0, or -EINVAL: it is no size of the struct; nothing is written. */
int ink_track_stats(const struct ink_track *track, struct ink_track_stats *stats);

/* The same for a machine of the set, by its number; also -EINVAL: there is none. */
int ink_track_stats_of(const struct ink_track *track, unsigned machine, struct ink_track_stats *stats);

/* Fills in the figures of the queue; stats->size must be set. 0, or -EINVAL as above. */
int ink_track_queue_stats(const struct ink_track *track, struct ink_queue_stats *stats);

/* ---------------------------------------------------------------- sensing */

struct ink_sensor;

struct ink_sensor_options {
	size_t size;
	const struct ink_machine *machine; /* must be given */
	enum ink_link link;                /* link type of the frames; for `filter` conditions */
	uint64_t seed;                     /* for `chance` conditions */
	uint64_t secret[2];                /* for ids: the same in all sensors that feed one table */
};

/* What a sensor finds in a packet. */
struct ink_sensed {
	uint64_t id;    /* SipHash-1-3 of the key under the secret; 0 without a key */
	uint64_t clock; /* the packet's */
	uint16_t event; /* its number in the machine's rules, or INK_NO_EVENT */
	uint8_t length; /* of the key; 0: the packet has none */
	uint8_t key[INK_KEY_MOST];
	uint8_t reserved[5];
};

/*
 * Makes a sensor. The machine remains the caller's and must outlive it. The
 * result belongs to the caller: ink_sensor_close it. NULL with errno as for
 * ink_track_open; also ENOTSUP: the machine's events depend on counters, on
 * states (`remember tail`) or on a queue, so they need a tracker.
 */
struct ink_sensor *ink_sensor_open(const struct ink_sensor_options *options, struct ink_why *why);

/* Frees; NULL is allowed. */
void ink_sensor_close(struct ink_sensor *sensor);

/*
 * Writes for each packet, in order, what a tracker would find: the event, and
 * the key of its flow (for a `reverse` event, the flow of the other direction).
 * With the same seed, `chance` conditions have the same results as in a tracker
 * that gets the same packets.
 *
 * The receiver applies those with an event to its table: ink_tick for the clock,
 * then ink_step_batch with ids and events. All ids of a table must be computed
 * with the same secret, or by the receiver from the keys with ink_id.
 */
void ink_sensor_packets(struct ink_sensor *sensor, const struct ink_packets *packets,
			struct ink_sensed *sensed);

#ifdef __cplusplus
}
#endif

#endif
