/* SPDX-License-Identifier: BSD-2-Clause */
#include "lab/decider.h"

#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <inkling/track.h>

#include "sim/streams.h"

enum { BLOCK = 256 };

/* Marks in the type of service, for interpretations in which the router learns of beginnings and ends. */
enum { TOS_BEGINS = 1, TOS_ENDS = 2 };

/* ------------------------------------------------------------------------ truth */

/* The true state of a stream. */
struct truth {
	bool tail;        /* an I frame was hit: all is dropped until the next one */
	bool inside_i;    /* the frame that is being sent is an I frame */
	bool inside_b;    /* ... a B frame */
	bool dropping;    /* ... and is dropped */
	bool drops;       /* what was decided about the last packet */
	bool mistaken[2]; /* something was decided wrongly */
};

static bool frame_dropped(struct truth *t, const struct sim_stream_packet *p, bool unlucky)
{
	if (p->starts)
		t->dropping = unlucky;
	return t->dropping;
}

/* A tail begins with a packet of an I frame that is lost, and ends where the next I frame starts. */
static bool tail_dropped(struct truth *t, const struct sim_stream_packet *p, bool unlucky)
{
	if (p->starts && p->picture == SIM_PICTURE_I)
		t->tail = false;
	if (p->starts)
		t->inside_i = p->picture == SIM_PICTURE_I;
	if (!t->tail && unlucky)
		t->tail = t->inside_i;
	return t->tail || unlucky;
}

/* B frames have their own dice, thrown at their start; the others' count for them no more. */
static bool combined_dropped(struct truth *t, const struct sim_stream_packet *p, bool unlucky)
{
	if (p->starts)
		t->inside_b = p->picture == SIM_PICTURE_B;
	if (!t->inside_b || t->tail)
		return tail_dropped(t, p, unlucky);
	return frame_dropped(t, p, unlucky);
}

static bool truth_drops(enum policy policy, struct truth *t, const struct sim_stream_packet *p, bool unlucky)
{
	switch (policy) {
	case POLICY_FRAMES:
	case POLICY_B: /* only B frames are ever unlucky */
		return frame_dropped(t, p, unlucky);
	case POLICY_ITAIL:
		return tail_dropped(t, p, unlucky);
	case POLICY_COMBINED:
		return combined_dropped(t, p, unlucky);
	default:
		return unlucky;
	}
}

/* -------------------------------------------------------------------------- run */

struct run {
	const struct decider *o;
	struct decided *result;
	const struct ink_machine_view *view;
	struct ink_table *table[2];
	struct truth *truth;
	bool *unlucky; /* by event, as the rules number them */
	struct sim_stream_packet sent[BLOCK];
	struct ink_packet packets[BLOCK];
};

/* A machine's unlucky events say so in their names. */
static void find_unlucky(struct run *r)
{
	r->unlucky = lab_alloc(r->view->rules->events, sizeof *r->unlucky);
	for (unsigned i = 0; i < r->view->rules->events; i++) {
		const char *name = r->view->event_names[r->view->event_of[i]];

		r->unlucky[i] = strstr(name, "unlucky") || strstr(name, "lost");
	}
}

/* The bytes by which a router knows what starts: one row for each type, as if no more had been captured. */
static const uint8_t starts[3][6] = {
	{0, 0, 1, 0, 0, 1 << 3}, {0, 0, 1, 0, 0, 2 << 3}, {0, 0, 1, 0, 0, 3 << 3}};

static struct ink_packet packet_of(const struct sim_stream_packet *s, double haste)
{
	uint64_t clock = (uint64_t)((double)s->time * (haste > 0 ? haste : 1));
	uint32_t number = htole32((uint32_t)s->stream);
	struct ink_packet p = {.time = clock,
			       .clock = clock,
			       .payload = starts[s->picture],
			       .payload_captured = s->starts ? sizeof starts[0] : 0,
			       .payload_wire = s->bytes,
			       .version = 4,
			       .protocol = INK_PROTOCOL_UDP,
			       .destination = {10, 1, 1, 1},
			       .dport = 5004,
			       .tos = s->first ? TOS_BEGINS : 0};

	memcpy(p.source, &number, 4);
	p.sport = (uint16_t)(s->stream >> 32);
	return p;
}

/* What a table made of the packet that the truth has just decided about. */
static void judge(struct run *r, unsigned table, const struct ink_move *move, struct truth *t)
{
	bool dropped = r->view->action[move->action].verdict == INK_DROP;

	r->result->wrong[table] += dropped && !t->drops;
	r->result->missed[table] += !dropped && t->drops;
	r->result->unsure[table] += move->from == INK_DONT_KNOW;
	t->mistaken[table] |= dropped != t->drops;
}

static void count(struct decided *result, const struct sim_stream_packet *s, bool drops)
{
	result->passes += !drops;
	result->drops += drops;
	result->bytes += s->bytes;
	result->lost += drops ? s->bytes : 0;
}

static void end_truth(struct run *r, struct truth *t)
{
	r->result->seen++;
	for (unsigned i = 0; i < 2; i++)
		r->result->touched[i] += t->mistaken[i];
	memset(t, 0, sizeof *t);
}

static void moved(const struct ink_moved *m, void *user)
{
	struct run *r = user;
	const struct sim_stream_packet *s = &r->sent[m->packet - r->packets];
	struct truth *t = &r->truth[s->place];

	if (m->packet->tos & TOS_ENDS)
		return;
	t->drops = truth_drops(r->o->policy, t, s, r->unlucky[m->event]);
	if (s->time >= SIM_FILL_NS) {
		count(r->result, s, t->drops);
		judge(r, 0, &m->move, t);
		if (r->table[1])
			judge(r, 1, &m->beside, t);
	}
	if (s->last)
		end_truth(r, t);
}

static size_t fill_block(struct run *r, struct sim_streams *streams)
{
	size_t n = 0;

	while (n < BLOCK - 1) {
		r->sent[n] = sim_streams_next(streams);
		r->packets[n] = packet_of(&r->sent[n], r->o->haste);
		n++;
		if (!r->sent[n - 1].last || !(r->o->flags & DECIDER_ENDS))
			continue;
		r->sent[n] = r->sent[n - 1];
		r->packets[n] = r->packets[n - 1];
		r->packets[n].payload_captured = 0;
		r->packets[n++].tos = TOS_ENDS;
	}
	return n;
}

static int send_all(struct run *r, struct ink_track *track)
{
	struct sim_streams_options o = {r->o->seed, r->o->streams, r->o->groups};
	struct sim_streams *streams = sim_streams_new(&o);
	uint64_t end = SIM_FILL_NS + (uint64_t)r->o->rounds * SIM_GROUP_NS;
	struct ink_packets block = {.at = r->packets, .room = BLOCK};
	int error = 0;

	while (!error && r->sent[0].time < end) {
		block.n = fill_block(r, streams);
		error = ink_track_packets(track, &block);
	}
	sim_streams_free(streams);
	return error;
}

static void look_back(struct run *r)
{
	struct ink_stats s = {.size = sizeof s};

	ink_stats(r->table[0], &s);
	r->result->utilization = (double)s.occupied / (double)s.cells;
	for (uint32_t i = 0; i < r->o->streams; i++)
		end_truth(r, &r->truth[i]);
}

static int run(struct lab *lab, struct run *r, const struct ink_machine *machine)
{
	struct ink_why why = {""};
	struct ink_track_options o = {.size = sizeof o,
				      .machine = machine,
				      .table = r->table[0],
				      .beside = r->table[1],
				      .link = INK_LINK_RAW,
				      .seed = r->o->seed,
				      .every = 1,
				      .moved = moved,
				      .user = r};
	struct ink_track *track = ink_track_open(&o, &why);
	int error;

	if (!track)
		return lab_fail(lab, -errno, "video: %s", why.text);
	find_unlucky(r);
	r->truth = lab_alloc(r->o->streams, sizeof *r->truth);
	error = send_all(r, track);
	look_back(r);
	free(r->truth);
	free(r->unlucky);
	ink_track_close(track);
	return error ? lab_fail(lab, error, "video: a table has lost its rules") : 0;
}

/* ----------------------------------------------------------------------- making */

/*
 * With a time-out of 100 ms, a tick of the same length and one bit of age, a stream is forgotten 200 to 400
 * ms after its last packet. Packets of a stream are 13 ms apart on average: one that lives is forgotten with
 * e^-15.
 * (`exact`, which knows the tick and not only an age, forgets after 100 to 200 ms.)
 */
static const double forgotten_ns = 400e6;

uint64_t decider_flows(const struct decider *o)
{
	double gone = o->flags & DECIDER_ENDS ? 0 : forgotten_ns / ((double)o->groups * SIM_GROUP_NS);

	return (uint64_t)(o->streams * (1 + gone));
}

static int make_table(struct lab *lab, struct run *r, unsigned i)
{
	struct ink_options o = r->o->table[i];
	struct ink_plan plan = {.size = sizeof plan};
	struct ink_why why = {""};

	o.size = sizeof o;
	o.states = o.states ? o.states : r->view->rules->states;
	o.rules = r->view->rules;
	o.flows = decider_flows(r->o);
	o.age_bits = 1;
	o.seed = r->o->seed;
	r->table[i] = ink_create(&o, &why);
	if (!r->table[i])
		return lab_fail(lab, -errno, "video: %s", why.text);
	ink_plan(&o, &plan, NULL); /* what could be created could be planned */
	r->result->bits[i] = 8.0 * (double)plan.bytes / (double)o.flows;
	return 0;
}

/* Beginnings and ends need events and rows of their own; only I tails have them. */
static struct ink_machine *make_machine(const struct decider *o, struct ink_why *why)
{
	struct policy_change changes[6] = {{"timeout 10s", "timeout 100ms"}};
	unsigned n = 1;

	if (o->chance)
		changes[n++] = (struct policy_change){"0.5%", o->chance};
	if (o->flags & DECIDER_UNSURE_DROPS)
		changes[n++] = (struct policy_change){"* / pass", "* / drop"};
	if (o->flags & (DECIDER_BEGINS | DECIDER_ENDS))
		changes[n++] = (struct policy_change){"tail    : * /",
						      "tail : other_lost, other, rest_lost, rest /"};
	if (o->flags & DECIDER_BEGINS)
		changes[n++] = (struct policy_change){"event i_lost", "start event begun = tos 1\n"
								      "absent : begun -> inside / pass\n"
								      "event i_lost"};
	if (o->flags & DECIDER_ENDS)
		changes[n++] = (struct policy_change){
			"event rest_lost", "event over = tos 2\n* : over -> absent / pass\nevent rest_lost"};
	return policy_machine(o->policy, changes, n, why);
}

int decide(struct lab *lab, const struct decider *o, struct decided *result)
{
	struct run *r = lab_alloc(1, sizeof *r);
	struct ink_why why = {""};
	struct ink_machine *machine = make_machine(o, &why);
	int error = machine ? 0 : lab_fail(lab, -EINVAL, "video: %s", why.text);

	memset(result, 0, sizeof *result);
	if (machine) {
		r->o = o;
		r->result = result;
		r->view = ink_machine_view(machine);
		for (unsigned i = 0; i < 2 && !error && o->table[i].kind; i++)
			error = make_table(lab, r, i);
		if (!error)
			error = run(lab, r, machine);
	}
	for (unsigned i = 0; i < 2; i++)
		ink_free(r->table[i]);
	ink_machine_free(machine);
	free(r);
	return error;
}
