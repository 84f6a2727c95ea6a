/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The machine `conn` beside its model (conn_model.h), with an exact table: every cell of the decision table, every
 * time-out, and random streams after each of their packets. A connection is counted when it ends, so the input ends
 * after each packet in turn: the counts tell where the machine was. conn.sh compares whole captures.
 */
#include <inkling/track.h>

#include "tests/conn_model.h"
#include "tests/conn_random.h"
#include "tests/test.h"

static struct ink_machine *machine;
static struct stream stream;
static uint64_t taken[SITUATIONS][2][SEGMENTS]; /* the cells that the tests have used */

static int load_machine(void **state)
{
	machine = ink_machine_load("conn", NULL, NULL);
	return machine ? 0 : -1;
}

static int free_machine(void **state)
{
	ink_machine_free(machine);
	return 0;
}

/* --------------------------------------------------------------- the machine, the model */

static void run_machine(size_t n, size_t batch, uint64_t counts[CONN_COUNTERS])
{
	const struct ink_rules *rules = ink_machine_view(machine)->rules;
	struct ink_options o = {.size = sizeof o,
				.kind = INK_EXACT,
				.flows = 8,
				.age_bits = 1,
				.seed = 7,
				.rules = rules,
				.states = rules->states};
	struct ink_track_options k = {
		.size = sizeof k, .machine = machine, .link = INK_LINK_ETHERNET, .seed = 1};
	struct ink_track *track;

	k.table = ink_create(&o, NULL);
	track = ink_track_open(&k, NULL);
	assert_non_null(track);
	for (size_t i = 0; i < n; i += batch) {
		struct ink_packets part = {.at = stream.packets + i, .n = n - i < batch ? n - i : batch};

		assert_int_equal(ink_track_packets(track, &part), 0);
	}
	assert_int_equal(ink_track_end(track), 0);
	memcpy(counts, ink_track_counters(track), CONN_COUNTERS * sizeof counts[0]);
	ink_track_close(track);
	ink_free(k.table);
}

static void run_model(size_t n, struct conn_model *m)
{
	conn_begin(m);
	for (size_t i = 0; i < n; i++)
		conn_packet(m, &stream.packets[i]);
	conn_end(m);
	for (unsigned i = 0; i < SITUATIONS * 2 * SEGMENTS; i++)
		(&taken[0][0][0])[i] += (&m->taken[0][0][0])[i];
}

static void print_stream(size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const struct ink_packet *p = &stream.packets[i];

		print_message("%4zu %12.9f tick %5llu: %s, %u -> %u, flags %03x, payload %u\n", i + 1,
			      (double)(p->clock - stream.packets[0].clock) / 1e9,
			      (unsigned long long)((p->clock - stream.packets[0].clock) / CONN_TICK),
			      p->protocol == INK_PROTOCOL_TCP ? "tcp" : "udp", p->sport, p->dport,
			      p->tcp_flags, p->payload_wire);
	}
}

/* The counts after the first n packets of the stream, given to the machine in batches. */
static void compare(size_t n, size_t batch)
{
	const struct ink_machine_view *view = ink_machine_view(machine);
	uint64_t counts[CONN_COUNTERS];
	struct conn_model m;

	run_machine(n, batch, counts);
	run_model(n, &m);
	for (unsigned i = 0; i < CONN_COUNTERS; i++) {
		uint64_t expected = conn_counted(&m, view->counter_names[i]);

		if (counts[i] == expected)
			continue;
		print_stream(n);
		fail_msg("%s: %llu, and the model has %llu", view->counter_names[i],
			 (unsigned long long)counts[i], (unsigned long long)expected);
	}
}

/* -------------------------------------------------------------------------- situations */

/* Two ends send six kinds of segments: a step is one of these twelve. */
enum { STEPS = 2 * SEGMENTS, PATH_MOST = 8 };

struct path {
	size_t n;
	uint8_t steps[PATH_MOST];
};

static struct path paths[SITUATIONS]; /* the shortest that lead there from nothing */

static void add_step(unsigned step)
{
	stream_add_segment(&stream, &stream_ends[0], step / SEGMENTS, step % SEGMENTS);
	stream.time += 1000;
}

static void walk(const struct path *path)
{
	stream_begin(&stream);
	for (size_t i = 0; i < path->n; i++)
		add_step(path->steps[i]);
}

/* Where the stream's connection is; 0 if it has begun more than one. */
static unsigned situation_now(void)
{
	struct conn_model m;
	unsigned found = 0, connections = 0;

	run_model(stream.n, &m);
	for (unsigned i = FIRST_SITUATION; i < SITUATIONS; i++) {
		connections += (unsigned)m.counts[i];
		found = m.counts[i] ? i : found;
	}
	return connections == 1 ? found : 0;
}

/* Tries every step behind a path, and keeps those that lead to where no other path does. */
static unsigned extend(const struct path *path)
{
	unsigned found = 0;

	for (unsigned step = 0; step < STEPS; step++) {
		unsigned situation;

		walk(path);
		add_step(step);
		situation = situation_now();
		if (!situation || paths[situation].n)
			continue;
		paths[situation] = *path;
		paths[situation].steps[paths[situation].n++] = (uint8_t)step;
		found++;
	}
	return found;
}

static void find_paths(void)
{
	const struct path nothing = {.n = 0};
	unsigned found, more;

	memset(paths, 0, sizeof paths);
	found = more = extend(&nothing);
	while (more) {
		more = 0;
		for (unsigned i = FIRST_SITUATION; i < SITUATIONS; i++)
			if (paths[i].n && paths[i].n < PATH_MOST)
				more += extend(&paths[i]);
		found += more;
	}
	assert_int_equal(found, SITUATIONS - FIRST_SITUATION);
}

/* ------------------------------------------------------------------------------- tests */

TEST_THAT(the_counters_are_the_thirteen_states)
{
	const struct ink_machine_view *view = ink_machine_view(machine);

	assert_int_equal(view->counters, CONN_COUNTERS);
	for (unsigned i = 0; i < CONN_COUNTERS; i++) {
		unsigned known = 0;

		for (unsigned j = 0; j < CONN_COUNTERS; j++)
			known += !strcmp(conn_counters[i], view->counter_names[j]);
		assert_int_equal(known, 1);
	}
}

/* A situation shows only in what follows, so two more segments follow each cell. */
TEST_THAT(every_cell_of_the_table_leads_where_it_says)
{
	find_paths();
	for (unsigned i = FIRST_SITUATION; i < SITUATIONS; i++)
		for (unsigned steps = 0; steps < STEPS * STEPS * STEPS; steps++) {
			walk(&paths[i]);
			add_step(steps / STEPS / STEPS);
			add_step(steps / STEPS % STEPS);
			add_step(steps % STEPS);
			for (size_t n = stream.n - (steps % STEPS ? 0 : 2); n <= stream.n; n++)
				compare(n, n);
		}
	for (unsigned i = FIRST_SITUATION; i < SITUATIONS; i++)
		for (unsigned step = 0; step < STEPS; step++)
			assert_true(taken[i][step / SEGMENTS][step % SEGMENTS] > 0);
}

/* To the last nanosecond of the tick before that in which a connection ends, or to the first of that tick. */
static void pause_for(unsigned ticks, unsigned late)
{
	uint64_t passed = stream.time - stream.packets[0].clock;

	stream.time += ticks * CONN_TICK - passed % CONN_TICK - !late;
}

/* The step in the middle renews the time-out if the connection is still there, and begins another one if it is not. */
TEST_THAT(every_situation_ends_in_the_tick_that_its_time_out_says)
{
	static const unsigned limits[] = {SHORT_TICKS, LONG_TICKS};

	find_paths();
	for (unsigned i = FIRST_SITUATION; i < SITUATIONS; i++)
		for (unsigned way = 0; way < STEPS * 16; way++) {
			walk(&paths[i]);
			pause_for(limits[way & 1], way >> 1 & 1);
			add_step(way / 16);
			pause_for(limits[way >> 2 & 1], way >> 3 & 1);
			add_step(SEGMENT_BARE);
			add_step(SEGMENT_FIN);
			compare(stream.n, stream.n);
		}
}

TEST_THAT(random_segments_are_counted_as_the_model_does_after_each_packet)
{
	uint64_t streams = scaled(200);

	for (uint64_t seed = 1; seed <= streams; seed++) {
		stream_random(&stream, seed);
		for (size_t n = 1; n <= stream.n; n++)
			compare(n, 1 + n % 9);
	}
}

int main(void)
{
	return run_suite(&(struct suite){.begin = load_machine, .end = free_machine});
}
