/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The machines that find P2P, and one run of them over one stream of packets. p2p.c has the question and the
 * result.
 */
#include "lab/p2p_game.h"

#include <errno.h>
#include <stdlib.h>

#include "lab/structure.h"

/*
 * The paper's table is the d-left one. The others have as many bits, the timer and the side table counted:
 * lines of 64 bytes that 64K flows fill to .975 and .94. The rest is the side table, 20 bytes for each entry.
 */
enum { LINES = 2100, COMPACT_LINES = 2048, SIDE_HEAD = 16, SIDE_ENTRY = 16 + 4 };
#define SIDE_LEFT(lines) ((BITS / 8 - (lines)*64 - SIDE_HEAD) / SIDE_ENTRY)

static const struct ink_geometry geometries[] = {
	[INK_LINE] = {.b = LINES, .h = 32, .side = SIDE_LEFT(LINES)},
	[INK_COMPACT] = {.b = COMPACT_LINES, .h = 34, .f = 9, .side = SIDE_LEFT(COMPACT_LINES)},
	[INK_DLEFT] =
		{.d = 4, .b = 2048, .h = 9, .f = P2P_F, .side = INK_NO_SIDE, .dleft_flags = INK_DLEFT_COPY},
	[INK_EXACT] = {0}, /* it has as many slots as it needs */
};

/* -------------------------------------------------------------------- the machines */

enum { TCP, P2P, STATES }; /* and absent, and unsure */
enum { SAY_P2P = 1 };      /* an action */

/* The rows of a machine of up to three states, and its options. */
struct machine {
	struct ink_row rows[3 + 2][SIM_P2P_EVENTS];
	uint8_t starts[SIM_P2P_EVENTS];
	struct ink_timing timings[3 + 1];
	struct ink_rules rules;
};

static void make_machine(struct machine *m, unsigned states)
{
	static const struct ink_row stay = {.next = INK_NO_ROW};

	*m = (struct machine){.starts = {[SIM_P2P_SYN] = 1}};
	for (unsigned s = 0; s < states + 2; s++)
		for (unsigned e = 0; e < SIM_P2P_EVENTS; e++)
			m->rows[s][e] = stay;
	for (unsigned s = 0; s <= states; s++)
		m->timings[s] = (struct ink_timing){.period = SIM_P2P_TIMEOUT, .timeout = INK_ABSENT};
	m->rules = (struct ink_rules){.size = sizeof m->rules,
				      .states = states,
				      .events = SIM_P2P_EVENTS,
				      .rows = m->rows[0],
				      .starts = m->starts,
				      .timings = m->timings};
}

static void go(struct machine *m, unsigned from, enum sim_p2p_event event, int to)
{
	m->rows[from][event].next = (int16_t)to;
}

static void go_and_say(struct machine *m, unsigned from, enum sim_p2p_event event, int to)
{
	m->rows[from][event] = (struct ink_row){.next = (int16_t)to, .action = SAY_P2P};
}

/* The paper's: UDP counts only within TCP. */
static void make_papers_machine(struct machine *m, unsigned states)
{
	make_machine(m, states);
	go(m, states, SIM_P2P_SYN, TCP);
	go_and_say(m, TCP, SIM_P2P_UDP, P2P);
	go(m, TCP, SIM_P2P_FIN, INK_ABSENT);
	go(m, P2P, SIM_P2P_FIN, INK_ABSENT);
}

/* P2P is reported at once and not kept: one state. */
static void make_machine_of_one(struct machine *m)
{
	make_machine(m, 1);
	go(m, 1, SIM_P2P_SYN, TCP);
	go_and_say(m, TCP, SIM_P2P_UDP, INK_NO_ROW);
	go(m, TCP, SIM_P2P_FIN, INK_ABSENT);
}

/* UDP may come first: a third state waits for the TCP. */
enum { UDP_WAITS = 2, STATES_BOTH = 3 };

static void make_machine_both_ways(struct machine *m)
{
	make_papers_machine(m, STATES_BOTH);
	go(m, STATES_BOTH, SIM_P2P_UDP, UDP_WAITS);
	go_and_say(m, UDP_WAITS, SIM_P2P_SYN, P2P);
}

/* ------------------------------------------------------------------------ one run */

/* The answers of one table about a flow so far. */
enum { SAID_P2P = 1, SAID_DONT_KNOW = 2 };

struct seat {
	struct contender as;
	struct machine machine;
	struct ink_table *table;
	uint8_t *said;                                /* for each flow */
	uint64_t p2p, others, missed, alarms, unsure; /* flows that are over, and the errors */
	uint64_t unsure_p2p;
};

static void make_rules(struct seat *s, bool both_ways)
{
	unsigned reading = s->as.reading, states;

	if (both_ways)
		make_machine_both_ways(&s->machine);
	else if (reading & SAID)
		make_machine_of_one(&s->machine);
	else
		make_papers_machine(&s->machine, STATES);
	states = s->machine.rules.states;
	if (reading & ADOPT)
		s->machine.rules.starts = NULL;
	if (reading & RETRY)
		go(&s->machine, states, SIM_P2P_TCP, TCP);
	if (reading & FORGET)
		go_and_say(&s->machine, TCP, SIM_P2P_UDP, INK_ABSENT);
	for (unsigned i = 0; i <= states; i++)
		s->machine.timings[i].period *= reading & SPARING ? 4 : reading & SLOW_TIMER ? 2 : 1;
}

/* With three states the fingerprint gives a bit to the timer, so that the cells are 16 bits all the same. */
static struct ink_options table_options(const struct seat *s, const struct game *g)
{
	struct ink_options o = {.size = sizeof o,
				.kind = s->as.kind,
				.states = s->machine.rules.states,
				.age_bits = s->as.age_bits,
				.full = INK_REFUSE,
				.seed = g->seed,
				.geometry = geometries[s->as.kind],
				.rules = &s->machine.rules};

	if (s->as.reading & REINSERT)
		o.geometry.dleft_flags |= INK_DLEFT_REINSERT;
	o.geometry.f -= lab_kind_takes(s->as.kind, INK_GEOMETRY_DLEFT_FLAGS) && g->contest.both_ways;
	o.geometry.b /= g->shrink;
	o.geometry.side /= o.geometry.side == INK_NO_SIDE ? 1 : g->shrink;
	o.flows = lab_kind_can(s->as.kind, INK_CAN_BE_EXACT) ? ACTIVE : 0;
	return o;
}

static int open_seat(struct lab *lab, const struct game *g, struct seat *s, const struct contender *as)
{
	struct ink_options options;
	struct ink_why why;

	s->as = *as;
	make_rules(s, g->contest.both_ways);
	options = table_options(s, g);
	s->table = ink_create(&options, &why);
	s->said = lab_alloc((size_t)g->flows + 1, 1);
	return s->table ? 0 : lab_fail(lab, -errno, "p2p, %s: %s", as->name, why.text);
}

static void close_seat(struct seat *s)
{
	ink_free(s->table);
	free(s->said);
}

/* The packets of one second, or of a part of it. */
struct second {
	struct sim_p2p_packet *packets;
	uint64_t *ids;
	uint16_t *events;
	struct ink_move *moves;
	size_t count, room;
};

/* A flow is over: was the table right about it? */
static void judge(struct seat *s, const struct sim_p2p_packet *p)
{
	uint8_t said = s->said[p->flow];

	s->p2p += p->p2p;
	s->others += !p->p2p;
	s->unsure_p2p += p->p2p && said & SAID_DONT_KNOW;
	s->unsure += (said & SAID_DONT_KNOW) != 0;
	s->alarms += !p->p2p && said == SAID_P2P;
	if (!(s->as.reading & APART && said & SAID_DONT_KNOW))
		s->missed += p->p2p && !(said & SAID_P2P);
}

static void hear(struct seat *s, const struct sim_p2p_packet *p, const struct ink_move *move, uint32_t warm)
{
	bool asks = p->event == SIM_P2P_UDP || !(s->as.reading & UDP_ASKS);
	bool found = move->from == P2P || move->action == SAY_P2P;

	if (move->from == INK_DONT_KNOW && asks)
		s->said[p->flow] |= SAID_DONT_KNOW;
	else if (found)
		s->said[p->flow] |= SAID_P2P;
	if (p->over && p->flow >= warm)
		judge(s, p);
}

/* The packets that look, all together; a SPARING seat leaves out TCP between SYN and FIN. */
static void let_look(struct seat *s, struct second *now, uint32_t warm)
{
	size_t n = 0, taken = 0;

	for (size_t i = 0; i < now->count; i++)
		if (!(s->as.reading & SPARING && now->packets[i].event == SIM_P2P_TCP)) {
			now->ids[n] = now->packets[i].id;
			now->events[n++] = (uint16_t)now->packets[i].event;
		}
	ink_step_batch(
		s->table,
		&(struct ink_batch){.n = n, .ids = now->ids, .events = now->events, .moves = now->moves});
	for (size_t i = 0; i < now->count; i++) {
		static const struct ink_move nothing = {INK_ABSENT, INK_ABSENT, 0};
		bool looked = !(s->as.reading & SPARING && now->packets[i].event == SIM_P2P_TCP);

		hear(s, &now->packets[i], looked ? &now->moves[taken++] : &nothing, warm);
	}
}

static void make_second(struct second *now, size_t room)
{
	*now = (struct second){.packets = lab_alloc(room, sizeof *now->packets),
			       .ids = lab_alloc(room, sizeof *now->ids),
			       .events = lab_alloc(room, sizeof *now->events),
			       .moves = lab_alloc(room, sizeof *now->moves),
			       .room = room};
}

static void free_second(struct second *now)
{
	free(now->packets);
	free(now->ids);
	free(now->events);
	free(now->moves);
}

/* The packets of the second that `packet` begins, or as many as there is room for; false: the traffic ends. */
static bool take_second(struct sim_p2p *traffic, struct second *now, struct sim_p2p_packet *packet)
{
	uint32_t second = packet->second;
	bool more = true;

	for (now->count = 0; more && packet->second == second && now->count < now->room;) {
		now->packets[now->count++] = *packet;
		more = sim_p2p_next(traffic, packet);
	}
	return more;
}

static void play(struct game *g, struct sim_p2p *traffic, struct seat *seats)
{
	struct sim_p2p_packet packet;
	bool more = sim_p2p_next(traffic, &packet);
	struct second now;

	make_second(&now, 4096);
	while (more) {
		uint32_t second = packet.second;

		more = take_second(traffic, &now, &packet);
		for (unsigned i = 0; i < g->contest.count; i++) {
			ink_tick(seats[i].table, second, NULL);
			let_look(&seats[i], &now, g->warm);
		}
	}
	free_second(&now);
}

static struct errors errors_of(const struct seat *s)
{
	struct ink_stats stats = {.size = sizeof stats};
	uint64_t all = s->p2p + s->others;
	bool of_p2p = (s->as.reading & UDP_ASKS) != 0;

	ink_stats(s->table, &stats);
	return (struct errors){.fp = 100 * (double)s->alarms / (double)s->others,
			       .fn = 100 * (double)s->missed / (double)s->p2p,
			       .dk = of_p2p ? 100 * (double)s->unsure_p2p / (double)s->p2p
					    : 100 * (double)s->unsure / (double)all,
			       .flows = (double)stats.flows};
}

int p2p_game(struct lab *lab, void *games, size_t number)
{
	struct game *g = (struct game *)games + number;
	struct seat *seats = lab_alloc(g->contest.count, sizeof *seats);
	struct sim_p2p_options options = g->contest.traffic;
	struct sim_p2p *traffic;
	int error = 0;

	options.seed = g->seed;
	options.flows = g->flows;
	traffic = sim_p2p_new(&options);
	if (!traffic)
		error = lab_fail(lab, -ENOMEM, "p2p: no memory for %u flows", options.slots);
	for (unsigned i = 0; i < g->contest.count && !error; i++)
		error = open_seat(lab, g, &seats[i], &g->contest.contenders[i]);
	if (!error)
		play(g, traffic, seats);
	for (unsigned i = 0; i < g->contest.count; i++) {
		if (!error)
			g->errors[i] = errors_of(&seats[i]);
		close_seat(&seats[i]);
	}
	sim_p2p_free(traffic);
	free(seats);
	return error;
}
