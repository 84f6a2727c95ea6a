/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Machines in the kernel beside a tracker, packet by packet: both have the same machines, the same secret, tables of
 * the same shape, and the time of the packets. After each packet why it was skipped has to agree, and each step
 * that it caused; in the end the counters, the numbers of steps, and the tables.
 *
 * What is left to chance is decided beforehand, for both: every other chance holds, and the others do not. Verdicts are
 * carried out there, so the kernel's has to be what the steps here say. Machines that look at a queue find a virtual one,
 * so slow that traffic fills it, and are given frames at egress.
 */
#ifndef INKLING_TESTS_KERNEL_BESIDE_H
#define INKLING_TESTS_KERNEL_BESIDE_H

#include <inttypes.h>
#include <linux/pkt_cls.h>
#include <unistd.h>

#include "kernel/inside.h"
#include "tests/machine_help.h"

enum { MOVES = 128 }; /* of a packet */

static struct ink_kernel *kernel;
static struct ink_machines *machines;
static struct ink_table *tables_here[INK_KERNEL_MACHINES];
static struct ink_track *tracker;
static enum ink_kernel_hook hook = INK_KERNEL_XDP; /* where frames are given to the kernel, */
static enum ink_kernel_hook used;                  /* unless a machine looks at a queue */
static uint64_t queue_rate;                        /* then; else 0 */

/* What the latest packet did, here and there. */
static struct moves {
	struct ink_moved at[MOVES];
	unsigned n;
} here, there;

static void note_move(const struct ink_moved *m, void *user)
{
	struct moves *to = user;

	assert_true(to->n < MOVES);
	to->at[to->n++] = *m;
}

static int note_record(const struct ink_kernel_report *r, const uint8_t *frame, void *user)
{
	struct ink_moved m;

	(void)frame;
	assert_int_equal(ink_kernel_moved(kernel, r, &m), 0);
	note_move(&m, user);
	return 0;
}

/* ------------------------------------------------------------------------- both sides */

static const struct ink_options usual = {.size = sizeof usual, .flows = 100000, .seed = 7};

enum { QUEUE_RATE = 3000000 };

static void choose_hook(void)
{
	int queues = 0;

	for (unsigned i = 0; i < ink_machines_count(machines); i++)
		queues |= ink_machine_view(ink_machines_at(machines, i))->queues;
	used = queues ? INK_KERNEL_EGRESS : hook;
	queue_rate = queues ? QUEUE_RATE : 0;
}

static void track_here(int no_timeouts)
{
	struct ink_track_options o = {.size = sizeof o,
				      .machines = machines,
				      .tables = tables_here,
				      .link = INK_LINK_ETHERNET,
				      .no_timeouts = no_timeouts,
				      .every = 1,
				      .queue_rate = queue_rate,
				      .moved = note_move,
				      .user = &here};
	struct ink_why why = {""};

	for (unsigned i = 0; i < ink_machines_count(machines); i++)
		tables_here[i] = ink_kernel_plan(&usual, ink_machines_at(machines, i), no_timeouts, &why);
	tracker = ink_track_open(&o, &why);
	if (!tracker)
		fail_msg("%s", why.text);
}

static void track_there(int no_timeouts)
{
	struct ink_options plans[INK_KERNEL_MACHINES];
	struct ink_kernel_options o = {.machines = machines,
				       .tables = plans,
				       .test_clock = 1,
				       .unpinned = 1,
				       .enforce = 1,
				       .queue_rate = queue_rate,
				       .queue_virtual = 1,
				       .no_timeouts = no_timeouts};
	struct ink_why why = {""};

	for (unsigned i = 0; i < INK_KERNEL_MACHINES; i++)
		plans[i] = usual;
	kernel = ink_kernel_make(&o, &why);
	if (!kernel && (errno == EPERM || errno == EACCES || errno == ENOSYS)) {
		print_message("%s\n", why.text);
		_exit(77);
	}
	if (!kernel)
		fail_msg("%s", why.text);
	ink_kernel_controls(kernel)->every = 1;
	assert_int_equal(ink_kernel_listen(kernel, note_record, &there, &why), 0);
}

/* The machines, which become theirs. */
static void begin_with(struct ink_machines *set, int no_timeouts)
{
	machines = set;
	assert_non_null(machines);
	fix_chances(machines);
	choose_hook();
	track_here(no_timeouts);
	track_there(no_timeouts);
}

static inline void begin_both(const char *const *names, unsigned n, int no_timeouts)
{
	struct ink_machine_options o = {.size = sizeof o};

	begin_with(ink_machines_load(names, n, &o, NULL), no_timeouts);
}

static int end_both(void **state)
{
	ink_kernel_close(kernel);
	ink_track_close(tracker);
	for (unsigned i = 0; i < INK_KERNEL_MACHINES; i++) {
		ink_free(tables_here[i]);
		tables_here[i] = NULL;
	}
	ink_machines_free(machines);
	kernel = NULL;
	tracker = NULL;
	machines = NULL;
	return 0;
}

/* ------------------------------------------------------------------------- comparing */

static unsigned long steps;
static int dropped_there; /* the latest packet */

static int is_same_move(const struct ink_moved *a, const struct ink_moved *b)
{
	return a->number == b->number && a->id == b->id && a->event == b->event &&
	       a->move.from == b->move.from && a->move.to == b->move.to && a->move.action == b->move.action &&
	       a->error == b->error && a->machine == b->machine && a->teller == b->teller &&
	       a->reversed == b->reversed;
}

static void fail_move(const char *name, const struct ink_moved *a, const struct ink_moved *b)
{
	fail_msg("%s, packet %" PRIu64 ", machine %u: here %u told, %" PRIx64 " event %u, %d to %d by %u; "
		 "there machine %u, %u told, %" PRIx64 " event %u, %d to %d by %u",
		 name, a->number, a->machine, a->teller, a->id, a->event, a->move.from, a->move.to,
		 a->move.action, b->machine, b->teller, b->id, b->event, b->move.from, b->move.to,
		 b->move.action);
}

/* 0, or -errno: the kernel does not take the frame, and the tracker did not get it. */
static int give_packet(struct ink_packet *p)
{
	struct ink_packets one = {.at = p, .room = 1, .n = 1};
	int verdict;

	here.n = there.n = 0;
	verdict = ink_kernel_try(kernel, used, p->frame, p->captured, p->clock);
	if (verdict < 0)
		return verdict;
	dropped_there = verdict == (used == INK_KERNEL_XDP ? XDP_DROP : TC_ACT_SHOT);
	assert_true(ink_kernel_poll(kernel, 0) >= 0);
	assert_int_equal(ink_track_packets(tracker, &one), 0);
	return 0;
}

static int dropped_here(void)
{
	int dropped = 0;

	for (unsigned i = 0; i < here.n; i++)
		dropped |= here.at[i].limited || here.at[i].action->verdict == INK_DROP;
	return dropped;
}

static void compare_moves(const char *name, const struct ink_packet *p)
{
	for (unsigned i = 0; i < here.n && i < there.n; i++, steps++)
		if (!is_same_move(&here.at[i], &there.at[i]))
			fail_move(name, &here.at[i], &there.at[i]);
	if (here.n != there.n)
		fail_msg("%s: %u steps here, %u there", name, here.n, there.n);
	if (dropped_here() != dropped_there)
		fail_msg("%s, packet %" PRIu64 ": dropped %s, and not %s", name, here.at[0].number,
			 dropped_there ? "there" : "here", dropped_there ? "here" : "there");
	if (ink_kernel_control(kernel)->skip != p->skip)
		fail_msg("%s: skipped by %u here, by %u there", name, p->skip,
			 ink_kernel_control(kernel)->skip);
}

static inline void compare_packet(const char *name, struct ink_packet *p)
{
	int error = give_packet(p);

	if (error)
		fail_msg("%s, %u bytes: %s", name, p->captured, strerror(-error));
	compare_moves(name, p);
}

static void compare_counters(const char *name)
{
	for (unsigned i = 0; i < ink_machines_count(machines); i++) {
		const struct ink_machine_view *v = ink_machine_view(ink_machines_at(machines, i));
		const uint64_t *counters = ink_track_counters_of(tracker, i);
		uint64_t theirs[INK_KERNEL_COUNTERS];

		assert_int_equal(ink_kernel_counters(kernel, i, theirs), 0);
		for (unsigned c = 0; c < v->counters; c++)
			if (counters[c] != theirs[c])
				fail_msg("%s: %s is %" PRIu64 " here and %" PRIu64 " there", name,
					 v->counter_names[c], counters[c], theirs[c]);
	}
}

static void compare_stats(const char *name)
{
	for (unsigned i = 0; i < ink_machines_count(machines); i++) {
		struct ink_track_stats s = {.size = sizeof s};
		struct ink_kernel_counts c;

		assert_int_equal(ink_track_stats_of(tracker, i, &s), 0);
		assert_int_equal(ink_kernel_counts(kernel, i, &c), 0);
		for (unsigned k = 0; k < INK_SKIPS; k++)
			assert_int_equal(s.skipped[k], c.skipped[k]);
		if (s.packets != c.packets || s.eventless != c.eventless || s.steps != c.steps ||
		    s.begun != c.begun || s.unsure != c.unsure || s.refused != c.refused ||
		    s.told != c.told || c.given_up)
			fail_msg("%s: machine %u counts otherwise", name, i);
		if (s.dropped != c.dropped || s.limited != c.limited || s.passed != c.passed ||
		    s.marked != c.marked || s.prioritized != c.prioritized || s.classed != c.classed)
			fail_msg("%s: machine %u counts other verdicts", name, i);
	}
}

/* Waits agree in every nanosecond. */
static inline void compare_queue(const char *name)
{
	struct ink_kernel_queued queues[INK_KERNEL_QUEUES];
	const struct ink_kernel_waits *w = &queues[0].waits;
	struct ink_queue_stats s = {.size = sizeof s};
	unsigned n;

	assert_int_equal(ink_track_queue_stats(tracker, &s), 0);
	assert_int_equal(ink_kernel_queues(kernel, queues, &n), 0);
	assert_int_equal(n, queue_rate != 0);
	if (n && (s.joined != w->joined || s.bytes != w->bytes || s.lost != w->lost || s.wait != w->wait ||
		  s.worst != w->worst || w->given_up || w->unknown))
		fail_msg("%s: the queue is another one", name);
}

static void compare_census(const char *name, const struct ink_table *a, const struct ink_table *b)
{
	struct ink_counts x, y;

	assert_int_equal(ink_census(a, &x), 0);
	assert_int_equal(ink_census(b, &y), 0);
	for (unsigned i = 0; i < INK_MAX_STATES; i++)
		if (x.state[i] != y.state[i])
			fail_msg("%s: %" PRIu64 " flows in state %u here, %" PRIu64 " there", name,
				 x.state[i], i, y.state[i]);
	assert_int_equal(x.unsure, y.unsure);
	assert_int_equal(ink_now(a), ink_now(b));
}

static void compare_tables(const char *name)
{
	for (unsigned i = 0; i < ink_machines_count(machines); i++) {
		struct ink_why why = {""};
		struct ink_table *copy = ink_kernel_copy(kernel, i, &why);

		if (!copy)
			fail_msg("%s: %s", name, why.text);
		if (ink_check(copy, &why))
			fail_msg("%s: %s", name, why.text);
		compare_census(name, tables_here[i], copy);
		ink_free(copy);
	}
}

#endif
