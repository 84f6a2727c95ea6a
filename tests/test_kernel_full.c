/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The machine `tcp` in the kernel over a table that is full, under each policy: no answer about a connection that lives is
 * wrong. Packets come one by one to the program at XDP, and each step is reported.
 *
 * The oracle is exact, and simple: handshakes are not interrupted, so a connection is new, established, or closed. New ones
 * are begun until the table is full, and then go on to be, while others talk and close; under `replace` a flood of SYNs is
 * there as well. Of a connection that the table refused, or took for another one, no more packets come: they would be a
 * stranger's, who is taken for another with the planned error.
 *
 *     wrong    a living connection is in another state, and unsure none: must be 0
 *     lost     it is not there: must be 0
 *     unsure   it may be so of as many as were marked; under `refuse` and `replace` none
 */
#include <inttypes.h>
#include <unistd.h>

#include "kernel/inside.h"
#include "sim/frame.h"
#include "tests/random.h"
#include "tests/test.h"

enum {
	FLOWS = 20000,
	ROOM = 4 * FLOWS,
	PACE = 1000000 /* ns: closed connections are there for a minute or more */
};
enum { ABSENT = -1, UNSURE = -2 }; /* beside the written states of tcp */

static struct full {
	struct ink_machines *machines;
	const struct ink_machine_view *view;
	struct ink_kernel *kernel;
	struct ink_moved moved; /* the latest step */
	unsigned steps;
	uint64_t clock;

	uint32_t live[ROOM];
	unsigned n;
	uint32_t next;
	uint64_t answers, wrong, lost, unsure, refused, mistaken;
} f;

/* ------------------------------------------------------------------------- a packet */

static int note_report(const struct ink_kernel_report *r, const uint8_t *frame, void *user)
{
	(void)frame, (void)user;
	assert_int_equal(ink_kernel_moved(f.kernel, r, &f.moved), 0);
	f.steps++;
	return 0;
}

static int written(int state)
{
	if (state >= 0)
		return f.view->state_of[state];
	return state == INK_ABSENT ? ABSENT : UNSURE;
}

/* Gives a packet of a connection to the kernel; the state that the connection was in. */
static int send_packet(uint32_t number, unsigned from, uint16_t flags)
{
	static uint8_t frame[SIM_FRAME_MOST];
	const struct sim_ends ends = {.address = {number + 1, UINT32_MAX},
				      .port = {4000, 80},
				      .version = 4,
				      .protocol = INK_PROTOCOL_TCP};
	const struct sim_segment s = {.from = from, .flags = flags};
	uint32_t length = (uint32_t)sim_frame(frame, &ends, &s);

	f.steps = 0;
	f.clock += PACE;
	assert_true(ink_kernel_try(f.kernel, INK_KERNEL_XDP, frame, length, f.clock) >= 0);
	assert_true(ink_kernel_poll(f.kernel, 0) >= 0);
	assert_int_equal(f.steps, 1);
	return written(f.moved.move.from);
}

static int named(const char *state)
{
	for (unsigned i = 0; i < f.view->states; i++)
		if (!strcmp(f.view->state_names[i], state))
			return (int)i;
	fail_msg("tcp has no state %s", state);
	return 0;
}

/* A packet of a connection that lives; 0: the answer was not right. */
static int ask(uint32_t number, unsigned from, uint16_t flags, const char *state)
{
	int was = send_packet(number, from, flags);

	f.answers++;
	f.unsure += was == UNSURE;
	f.lost += was == ABSENT;
	f.wrong += was >= 0 && was != named(state);
	return was == named(state);
}

/* -------------------------------------------------------------------- connections */

/* 0: it is not tracked. */
static int syn(uint32_t number)
{
	int was = send_packet(number, 0, INK_TCP_SYN);

	f.mistaken += was >= 0;
	f.refused += f.moved.error != 0;
	return was == ABSENT && !f.moved.error;
}

static void connect_one(void)
{
	uint32_t number = f.next++;

	if (syn(number) && ask(number, 1, INK_TCP_SYN | INK_TCP_ACK, "opening") &&
	    ask(number, 0, INK_TCP_ACK, "answered") && f.n < ROOM)
		f.live[f.n++] = number;
}

static void forget(unsigned i)
{
	f.live[i] = f.live[--f.n];
}

static void talk(void)
{
	unsigned i = random_below(f.n);

	if (!ask(f.live[i], random_below(2), INK_TCP_ACK, "established"))
		forget(i);
}

static void close_one(void)
{
	unsigned i = random_below(f.n);

	ask(f.live[i], random_below(2), INK_TCP_FIN | INK_TCP_ACK, "established");
	forget(i);
}

/* ---------------------------------------------------------------------- the table */

static int begin_full(enum ink_full full)
{
	struct ink_options plan = {
		.size = sizeof plan, .flows = FLOWS, .error = .01, .age_bits = 2, .full = full, .seed = 3};
	struct ink_machine_options m = {.size = sizeof m};
	struct ink_kernel_options o = {.tables = &plan, .test_clock = 1, .unpinned = 1};
	struct ink_why why = {""};

	memset(&f, 0, sizeof f);
	f.machines = ink_machines_load(&(const char *){"tcp"}, 1, &m, NULL);
	f.view = ink_machine_view(ink_machines_at(f.machines, 0));
	o.machines = f.machines;
	f.kernel = ink_kernel_make(&o, &why);
	if (!f.kernel && (errno == EPERM || errno == EACCES || errno == ENOSYS)) {
		print_message("%s\n", why.text);
		_exit(77);
	}
	if (!f.kernel)
		fail_msg("%s", why.text);
	ink_kernel_controls(f.kernel)->every = 1;
	assert_int_equal(ink_kernel_listen(f.kernel, note_report, NULL, &why), 0);
	return 0;
}

static int end_full(void **state)
{
	ink_kernel_close(f.kernel);
	ink_machines_free(f.machines);
	memset(&f, 0, sizeof f);
	return 0;
}

struct seen {
	uint64_t established, marked, replaced;
	double load;
};

static struct seen look(void)
{
	struct ink_stats stats = {.size = sizeof stats};
	struct ink_table *copy = ink_kernel_copy(f.kernel, 0, NULL);
	struct ink_counts census;
	struct seen seen;

	assert_non_null(copy);
	assert_int_equal(ink_census(copy, &census), 0);
	assert_int_equal(ink_stats(copy, &stats), 0);
	seen = (struct seen){.load = (double)stats.flows / (double)stats.cells,
			     .marked = stats.marked,
			     .replaced = stats.replaced};
	for (unsigned i = 0; i < f.view->rules->states; i++)
		if (written((int)i) == named("established"))
			seen.established += census.state[i];
	ink_free(copy);
	return seen;
}

/* Until the table has no room for most of those that come. */
static void fill(enum ink_full full)
{
	for (unsigned i = 0; i < ROOM && look().load < .93; i += 100)
		for (unsigned k = 0; k < 100; k++)
			connect_one();
	if (full == INK_REPLACE)
		for (unsigned i = 0; i < FLOWS; i++)
			syn(f.next++);
}

static void churn(enum ink_full full, unsigned turns)
{
	for (unsigned i = 0; i < turns; i++) {
		connect_one();
		talk();
		talk();
		if (i % 8 == 0)
			close_one();
		if (full == INK_REPLACE)
			syn(f.next++);
	}
}

/* A connection that was taken for another one is not in the census, and no flow is there twice. */
static void judge(const char *name, enum ink_full full)
{
	struct seen s = look();
	double most = (double)f.n * .01;

	print_message("%s, load %.3f: %" PRIu64 " answers, wrong %" PRIu64 ", lost %" PRIu64
		      ", unsure %" PRIu64 "; %u live, census %" PRIu64 "; new ones: %u, refused %" PRIu64
		      ", mistaken %" PRIu64 "; replaced %" PRIu64 "\n",
		      name, s.load, f.answers, f.wrong, f.lost, f.unsure, f.n, s.established, f.next,
		      f.refused, f.mistaken, s.replaced);
	assert_true(s.load >= .9);
	assert_int_equal(f.wrong, 0);
	assert_int_equal(f.lost, 0);
	assert_true(f.unsure <= (full == INK_UNSURE ? s.marked : 0));
	assert_true((double)s.established >= (double)f.n - most &&
		    (double)s.established <= (double)f.n + most);
	assert_true((double)f.mistaken <= .01 * f.next + 3 * sqrt(.01 * f.next));
}

static void fill_and_churn(const char *name, enum ink_full full)
{
	begin_full(full);
	fill(full);
	churn(full, (unsigned)scaled(20000));
	judge(name, full);
}

TEST_THAT(a_full_table_that_refuses_answers_right_about_live_connections)
{
	fill_and_churn("refuse", INK_REFUSE);
}

TEST_THAT(a_full_table_that_is_unsure_answers_right_about_live_connections)
{
	fill_and_churn("unsure", INK_UNSURE);
}

TEST_THAT(a_full_table_that_replaces_answers_right_about_live_connections)
{
	fill_and_churn("replace", INK_REPLACE);
}

int main(void)
{
	return run_suite(&(struct suite){.after_each = end_full});
}
