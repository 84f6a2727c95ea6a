/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A machine over a block of packets.
 *
 * Blocks of packets pass through loops, each of them tight, so that the table
 * can prefetch:
 *
 *     packets   [ . . . . . . . . ]    up to 256
 *     events    [ 3 - 3 1 - - 2 3 ]    classify; "-" has none
 *     ids       [ i i i i i i i i ]    hashed in SIMD lanes
 *     steps       3   3 1     2 3      only those with an event, contiguous; told ones before their packet's own
 *     moves       m   m m     m m      ink_step_batch
 *
 * A tick that falls due between two packets of a block first flushes the queued
 * steps. If events depend on earlier packets (counters and queues in conditions) or on
 * the state (`remember tail`), packets are processed one by one.
 */
#include "packet/stage.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "packet/video.h"

/* ---------------------------------------------------------------- counting */

static uint64_t amount_of(const struct ink_counting *c, const struct ink_packet *p, unsigned tail)
{
	switch (c->amount) {
	case INK_AMOUNT_PAYLOAD:
		return p->payload_wire;
	case INK_AMOUNT_LENGTH:
		return p->wire;
	case INK_AMOUNT_PICTURES_I:
	case INK_AMOUNT_PICTURES_P:
	case INK_AMOUNT_PICTURES_B:
		return ink_video_pictures(p, tail)
			.started[INK_PICTURE_I + (unsigned)c->amount - INK_AMOUNT_PICTURES_I];
	default:
		return c->number;
	}
}

static void count_packet(const struct ink_stage *s, struct ink_lane *l, const struct ink_action *a,
			 const struct ink_step *step)
{
	for (unsigned j = 0; j < a->n_countings; j++)
		l->counters[a->countings[j].counter] +=
			amount_of(&a->countings[j], &s->block->at[step->place], step->tail);
}

/* Time-outs and ends have no packet: they apply to many flows at once and count only by numbers. */
static void count_flows(uint64_t *counters, const struct ink_action *a, uint64_t flows)
{
	for (unsigned j = 0; j < a->n_countings; j++)
		counters[a->countings[j].counter] += flows * a->countings[j].number;
}

/* on_timeout or on_end for flows by state. */
static void count_states(const struct ink_stage *s, uint64_t *counters, const uint16_t *on,
			 const struct ink_counts *flows)
{
	unsigned states = s->v->rules->states;

	for (unsigned i = 0; i < states; i++)
		if (flows->state[i] && on[i])
			count_flows(counters, &s->v->action[on[i]], flows->state[i]);
	if (flows->unsure && on[states])
		count_flows(counters, &s->v->action[on[states]], flows->unsure);
}

/* ----------------------------------------------------------------- judging */

/* Does the action decide about packets? */
static inline int decides(const struct ink_machine_view *v, unsigned action)
{
	const struct ink_action *a = &v->action[action];
	const struct ink_action_more *more = &v->action_more[action];

	return a->verdict || a->marks || more->prioritizes || more->limit;
}

/* Several steps of a packet can say the same. */
static void count_once(uint64_t *n, uint64_t *latest, uint64_t number)
{
	*n += *latest != number;
	*latest = number;
}

static void count_verdict(struct ink_stage *s, const struct ink_action *a, const struct ink_step *step)
{
	uint64_t number = s->before + step->place + 1;

	if (a->verdict == INK_DROP)
		count_once(&s->stats.dropped, &s->judged.dropped, number);
	if (a->verdict == INK_PASS)
		count_once(&s->stats.passed, &s->judged.passed, number);
	if (step->limited)
		count_once(&s->stats.limited, &s->judged.limited, number);
	if (a->marks)
		count_once(&s->stats.marked, &s->judged.marked, number);
}

static void count_priority(struct ink_stage *s, const struct ink_action_more *more,
			   const struct ink_step *step)
{
	uint64_t number = s->before + step->place + 1;

	if (more->prioritizes == INK_PRIORITY)
		count_once(&s->stats.prioritized, &s->judged.prioritized, number);
	if (more->prioritizes == INK_CLASS)
		count_once(&s->stats.classed, &s->judged.classed, number);
}

/* A packet that is to be dropped already takes nothing of the limit. */
static int is_refused(const struct ink_stage *s, const struct ink_lane *l, size_t i, unsigned limit)
{
	unsigned place = l->steps[i].place, lane = (unsigned)(l - s->lane);
	const struct ink_asker asker = {.id = l->ids[i],
					.now = s->outlet->clock[place],
					.packet = s->before + place + 1,
					.bytes = s->block->at[place].wire,
					.beside = lane != 0};

	return !(s->outlet->dropped[place] >> lane & 1) && !ink_limits_pass(s->limits, limit - 1, &asker);
}

/* A stage without a table beside decides for both lanes. */
static void drop(const struct ink_stage *s, const struct ink_lane *l, unsigned place)
{
	s->outlet->dropped[place] |= (uint8_t)(s->lane[1].table ? 1u << (l - s->lane) : 3);
}

/* What a step says of its packet. Most machines say nothing, so this is not in the loop of their steps. */
__attribute__((noinline)) static void judge(struct ink_stage *s, struct ink_lane *l, size_t i)
{
	const struct ink_action *a = &s->v->action[l->moves[i].action];
	const struct ink_action_more *more = &s->v->action_more[l->moves[i].action];
	struct ink_step *step = &l->steps[i];

	if (a->verdict == INK_DROP)
		drop(s, l, step->place);
	if (more->limit && is_refused(s, l, i, more->limit)) {
		step->limited = 1;
		drop(s, l, step->place);
	}
	if (l != s->lane)
		return;
	count_verdict(s, a, step);
	count_priority(s, more, step);
}

/* ----------------------------------------------------------------- telling */

/* -EINVAL: more than the machine's rows can tell, so the table's rules are others. */
static int append_told(struct ink_lane *l, uint32_t place, const struct ink_told *told)
{
	uint32_t at = (uint32_t)l->n_told;

	if (at == l->room_told)
		return -EINVAL;
	l->told[l->n_told++] = *told;
	if (l->first[place])
		l->told[l->last[place] - 1].next = at + 1;
	else
		l->first[place] = at + 1;
	l->last[place] = at + 1;
	return 0;
}

/* The lanes of a told stage: that of the teller, and both if the teller has only one. */
static int tell_lanes(struct ink_stage *to, size_t lane, int both, uint32_t place,
		      const struct ink_told *told)
{
	int error = 0;

	for (size_t i = 0; i < INK_STAGE_LANES && !error; i++)
		if ((i == lane || both) && to->lane[i].table)
			error = append_told(&to->lane[i], place, told);
	return error;
}

/* A later machine gets the packet in the direction in which this step saw it. */
static int tell(const struct ink_stage *s, const struct ink_lane *l, size_t i)
{
	const struct ink_action_more *more = &s->v->action_more[l->moves[i].action];
	int error = 0;

	for (unsigned j = 0; j < more->n_tells && !error; j++) {
		const struct ink_tell *t = &more->tells[j];
		const struct ink_told told = {.event = (uint16_t)t->event,
					      .teller = (uint16_t)(s->number + 1),
					      .reversed = l->steps[i].reversed ^ (t->reversed != 0)};

		error = tell_lanes(&s->all[t->machine], (size_t)(l - s->lane), !s->lane[1].table,
				   l->steps[i].place, &told);
	}
	return error;
}

/* ------------------------------------------------------------------- steps */

/* Steps that found no room have errors of their own; any other error is the same for all. */
static int step_all(struct ink_lane *l)
{
	struct ink_batch b = {.n = l->n - l->done,
			      .ids = l->ids + l->done,
			      .events = l->events + l->done,
			      .moves = l->moves + l->done,
			      .errors = l->errors + l->done};

	return ink_step_batch(l->table, &b) == -EINVAL ? -EINVAL : 0;
}

/* A table without rules is an error of the run; one that cannot grow only refuses the flow. */
static int step_slowly(struct ink_stage *s, struct ink_lane *l, size_t i)
{
	l->steps[i].slowly = 1;
	s->stats.slow++;
	l->errors[i] = ink_step(s->slow, l->ids[i], l->events[i], &l->moves[i]);
	return l->errors[i] == -EINVAL ? -EINVAL : 0;
}

/* From this step on, the slow table keeps a flow that the table refused or does not know. */
static int take_over(struct ink_stage *s, struct ink_lane *l, size_t i)
{
	int refused = l->errors[i] == -ENOSPC, unsure = l->moves[i].from == INK_DONT_KNOW;

	s->stats.refused += (unsigned)refused;
	s->stats.unsure += (unsigned)unsure;
	return s->slow && (refused || unsure) ? step_slowly(s, l, i) : 0;
}

static int note_first(struct ink_stage *s, struct ink_lane *l, size_t i)
{
	int error = l->steps[i].slowly ? 0 : take_over(s, l, i);

	s->stats.begun += l->moves[i].from == INK_ABSENT && l->moves[i].to != INK_ABSENT;
	s->stats.told += l->steps[i].teller != 0;
	return error;
}

/*
 * What a move does. A step that was refused tells nothing; one of an unsure flow does what the row for unsure
 * flows says. -EINVAL: the machine has no such action, so the table's rules were replaced.
 */
static int note_move(struct ink_stage *s, struct ink_lane *l, size_t i)
{
	unsigned action = l->moves[i].action;

	if (action >= s->v->actions)
		return -EINVAL;
	if (!action)
		return 0;
	count_packet(s, l, &s->v->action[action], &l->steps[i]);
	if (s->judges && decides(s->v, action))
		judge(s, l, i);
	return l->errors[i] ? 0 : tell(s, l, i);
}

/* With a slow table the queue holds one step, because each step depends on which table has the flow. */
static int is_slow(const struct ink_stage *s, const struct ink_lane *l)
{
	return l == s->lane && s->slow && ink_peek(s->slow, l->ids[l->done]) != INK_ABSENT;
}

/* Steps after one that failed are not made: their moves may be those of an earlier block. */
static int flush_lane(struct ink_stage *s, struct ink_lane *l)
{
	size_t i = l->done;
	int error;

	if (l->n == l->done)
		return 0;
	error = is_slow(s, l) ? step_slowly(s, l, i) : step_all(l);
	for (; !error && i < l->n; i += !error) {
		error = l == s->lane ? note_first(s, l, i) : 0;
		if (!error)
			error = note_move(s, l, i);
	}
	if (l == s->lane)
		s->stats.steps += i - l->done;
	l->done = i;
	return error;
}

static int flush(struct ink_stage *s)
{
	int error = flush_lane(s, &s->lane[0]);

	return error ? error : flush_lane(s, &s->lane[1]);
}

/* -------------------------------------------------------------------- time */

static int tick_table(struct ink_stage *s, struct ink_table *t, uint64_t *counters, uint64_t *expiries)
{
	struct ink_counts expired;
	int error = ink_tick(t, s->now, &expired);

	if (error)
		return error;
	count_states(s, counters, s->v->on_timeout, &expired);
	*expiries += expired.total;
	return 0;
}

static void set_due(struct ink_stage *s)
{
	s->due = (s->now - s->first + 1) * s->v->tick;
}

static int tick(struct ink_stage *s, uint64_t now)
{
	uint64_t ignored = 0;
	int error = flush(s);

	if (error)
		return error;
	s->stats.ticks += now - s->now;
	s->now = now;
	set_due(s);
	error = tick_table(s, s->lane[0].table, s->lane[0].counters, &s->stats.expired);
	if (!error && s->slow)
		error = tick_table(s, s->slow, s->lane[0].counters, &s->stats.expired);
	if (!error && s->lane[1].table)
		error = tick_table(s, s->lane[1].table, s->lane[1].counters, &ignored);
	return error;
}

static void start(struct ink_stage *s, uint64_t clock)
{
	s->first = s->now = ink_now(s->lane[0].table);
	s->origin = s->clock = clock;
	s->started = 1;
	set_due(s);
}

static inline int pass_time(struct ink_stage *s, uint64_t clock)
{
	if (s->o->no_timeouts)
		return 0;
	if (!s->started)
		start(s, clock);
	if (clock <= s->clock)
		return 0;
	s->clock = clock;
	if (clock - s->origin < s->due)
		return 0;
	return tick(s, s->first + (clock - s->origin) / s->v->tick);
}

int ink_stage_time(struct ink_stage *s, uint64_t clock)
{
	return pass_time(s, clock);
}

void ink_stage_restart(struct ink_stage *s)
{
	s->first = s->now;
	s->origin = s->clock;
	set_due(s);
}

/* ----------------------------------------------------------------- packets */

/* The id of the packet's flow in a direction. 0 bytes of key: it has none. */
static size_t flow_of(const struct ink_stage *s, const struct ink_packet *p, int reversed, uint64_t *id)
{
	uint8_t key[INK_KEY_MOST];
	size_t length = ink_sensor_key_of(s->sensor, p, reversed, key);

	*id = length ? ink_id(s->lane[0].table, key, length) : 0;
	return length;
}

/* Field by field: a step that is put together elsewhere and copied stalls, as its bytes are not one store yet. */
static inline void append(struct ink_lane *l, struct ink_step step, uint64_t id, uint16_t event)
{
	struct ink_step *to = &l->steps[l->n];

	to->place = step.place;
	to->teller = step.teller;
	to->tail = step.tail;
	to->reversed = step.reversed;
	to->slowly = 0;
	to->limited = 0;
	l->ids[l->n] = id;
	l->events[l->n++] = event;
}

/* Queues a step. The ticks that are due before it have passed. */
static int queue(struct ink_stage *s, struct ink_lane *l, struct ink_step step, uint64_t id, uint16_t event)
{
	append(l, step, id, event);
	return s->slow && l == s->lane ? flush_lane(s, l) : 0;
}

/* The packet's own event, where steps can be passed by, turned round or made in several tables. */
static int queue_own(struct ink_stage *s, uint16_t place, uint8_t tail, uint64_t id, uint16_t event)
{
	int reversed = ink_sensor_reverses(s->sensor, event);
	struct ink_step step = {.place = place, .tail = tail, .reversed = reversed != 0};
	int error;

	if (reversed)
		flow_of(s, &s->block->at[place], 1, &id);
	if (s->o->only && !s->o->only(id, s->o->user))
		return s->stats.passed_by++, 0;
	error = queue(s, &s->lane[0], step, id, event);
	if (!error && s->lane[1].table)
		error = queue(s, &s->lane[1], step, id, event);
	return error;
}

/* The latest step that the packet has made in this flow, or NULL. */
static const struct ink_step *step_before(const struct ink_lane *l, uint16_t place, uint64_t id)
{
	for (size_t i = l->n; i-- > 0 && l->steps[i].place == place;)
		if (l->ids[i] == id)
			return &l->steps[i];
	return NULL;
}

/* The tail of the flow's previous packet, or 0. The state has it, until a step of this packet stores its own. */
static unsigned tail_of(const struct ink_stage *s, const struct ink_lane *l, uint16_t place, uint64_t id)
{
	ink_answer state = s->m->tails > 1 ? ink_peek(l->table, id) : INK_ABSENT;
	const struct ink_step *before;

	if (s->m->tails > 1 && l == s->lane && s->slow && ink_peek(s->slow, id) != INK_ABSENT)
		state = ink_peek(s->slow, id);
	if (state < 0 || (unsigned)state >= s->v->rules->states)
		return 0;
	before = step_before(l, place, id);
	return before ? before->tail : s->m->tail_of[state];
}

static int queue_told(struct ink_stage *s, struct ink_lane *l, const struct ink_told *told, uint16_t place)
{
	struct ink_step step = {.place = place, .teller = told->teller, .reversed = told->reversed};
	const struct ink_packet *p = &s->block->at[place];
	struct ink_sight sight = {.counters = l->counters, .number = s->before + place + 1};
	uint64_t id;
	int error = 0;

	if (!flow_of(s, p, told->reversed, &id))
		return 0;
	if (s->m->one_by_one)
		error = flush_lane(s, l);
	sight.tail = tail_of(s, l, place, id);
	step.tail = (uint8_t)sight.tail;
	if (error)
		return error;
	return queue(s, l, step, id,
		     ink_classify_told(s->sensor->classifier, told->event, p, &sight, told->reversed));
}

/* What earlier machines told of this packet, in the order in which they did. */
static int queue_all_told(struct ink_stage *s, uint16_t place)
{
	int error = 0;

	for (unsigned i = 0; i < INK_STAGE_LANES; i++) {
		struct ink_lane *l = &s->lane[i];
		uint32_t at = l->n_told ? l->first[place] : 0;

		for (; at && !error; at = l->told[at - 1].next)
			error = queue_told(s, l, &l->told[at - 1], place);
	}
	return error;
}

static void note_event(struct ink_stage *s, const struct ink_packet *p, uint16_t event)
{
	s->stats.skipped[p->skip]++;
	s->stats.eventless += p->skip == INK_NOT_SKIPPED && event == INK_NO_EVENT;
}

/* The packets of a block; their steps wait in the queue. */
static int pass_block(struct ink_stage *s, const uint64_t *ids, const uint16_t *events)
{
	const struct ink_packet *p = s->block->at;
	size_t n = s->block->n;
	int told = s->lane[0].n_told || s->lane[1].n_told, plain = s->plain, error = 0;

	for (uint16_t i = 0; i < n && !error; i++) {
		error = pass_time(s, p[i].clock);
		note_event(s, &p[i], events[i]);
		if (told && !error)
			error = queue_all_told(s, i);
		if (error || events[i] == INK_NO_EVENT)
			continue;
		if (plain)
			append(&s->lane[0], (struct ink_step){.place = i}, ids[i], events[i]);
		else
			error = queue_own(s, i, 0, ids[i], events[i]);
	}
	return error;
}

/* One packet; all earlier steps have been made when its event is determined. */
static int pass_alone(struct ink_stage *s, uint16_t place, uint64_t id)
{
	const struct ink_packet *p = &s->block->at[place];
	struct ink_sight sight = {.counters = s->lane[0].counters, .waiting = s->outlet->waiting};
	uint16_t event;
	int error = pass_time(s, p->clock);

	sight.number = s->before + place + 1;
	if (!error)
		error = queue_all_told(s, place);
	if (!error)
		error = flush(s);
	sight.tail = tail_of(s, &s->lane[0], place, id);
	event = ink_classify(s->sensor->classifier, p, &sight);
	note_event(s, p, event);
	if (error || event == INK_NO_EVENT)
		return error;
	error = queue_own(s, place, (uint8_t)sight.tail, id, event);
	return error ? error : flush(s);
}

/* All earlier steps have been made when a packet's event is determined. */
static int pass_all_alone(struct ink_stage *s, const uint64_t *ids)
{
	int error = 0;

	for (uint16_t i = 0; i < s->block->n && !error; i++)
		error = pass_alone(s, i, ids[i]);
	return error;
}

/* The events of a block, which depend on nothing but its packets. */
static void classify_block(const struct ink_stage *s, uint16_t *events)
{
	const struct ink_classifier *classifier = s->sensor->classifier;
	struct ink_sight sight = {.counters = s->lane[0].counters, .number = s->before};

	for (size_t i = 0; i < s->block->n; i++) {
		sight.number++;
		events[i] = ink_classify(classifier, &s->block->at[i], &sight);
	}
}

/* No packet has an event of this machine, or a flow that anybody asks for. */
static void hear_nothing(const struct ink_stage *s, uint64_t *ids, uint16_t *events)
{
	for (size_t i = 0; i < s->block->n; i++) {
		events[i] = INK_NO_EVENT;
		ids[i] = 0;
	}
}

int ink_stage_block(struct ink_stage *s, const struct ink_packets *block)
{
	uint16_t events[INK_PACKET_BLOCK];
	uint64_t ids[INK_PACKET_BLOCK];
	int error;

	s->block = block;
	s->before = s->stats.packets;
	s->stats.packets += block->n;
	if (s->deaf)
		hear_nothing(s, ids, events);
	else
		ink_packet_ids_by(s->lane[0].table, s->v->key_def, block, ids);
	if (!s->m->one_by_one && !s->deaf)
		classify_block(s, events);
	error = s->m->one_by_one && !s->deaf ? pass_all_alone(s, ids) : pass_block(s, ids, events);
	return error ? error : flush(s);
}

void ink_stage_clear(struct ink_stage *s)
{
	for (unsigned i = 0; i < INK_STAGE_LANES; i++) {
		struct ink_lane *l = &s->lane[i];

		if (l->n_told)
			memset(l->first, 0, sizeof l->first);
		l->n = l->done = l->shown = l->n_told = 0;
	}
}

/* --------------------------------------------------------------------- end */

static int end_table(const struct ink_stage *s, const struct ink_table *t, uint64_t *counters)
{
	struct ink_counts left;
	int error = ink_census(t, &left);

	if (!error)
		count_states(s, counters, s->v->on_end, &left);
	return error;
}

int ink_stage_end(struct ink_stage *s)
{
	int error = end_table(s, s->lane[0].table, s->lane[0].counters);
	int slow = s->slow ? end_table(s, s->slow, s->lane[0].counters) : 0;
	int other = s->lane[1].table ? end_table(s, s->lane[1].table, s->lane[1].counters) : 0;

	return error ? error : slow ? slow : other;
}

/* ------------------------------------------------------------------- making */

static int any_decides(const struct ink_machine_view *v)
{
	int any = 0;

	for (unsigned i = 0; i < v->actions; i++)
		any |= decides(v, i);
	return any;
}

void ink_stage_use(struct ink_stage *s, struct ink_sensor *sensor, struct ink_limits *limits)
{
	ink_sensor_close(s->sensor);
	ink_limits_free(s->limits);
	s->sensor = sensor;
	s->limits = limits;
	s->m = sensor->machine;
	s->v = sensor->view;
	s->judges = any_decides(s->v);
	s->deaf = 1;
	for (unsigned i = 0; i < s->v->events; i++)
		s->deaf &= s->v->event_told[i] != 0;
	s->plain = !s->o->only && !s->slow && !s->lane[1].table && !sensor->reverses;
}

static void free_lane(struct ink_lane *l)
{
	free(l->ids);
	free(l->events);
	free(l->moves);
	free(l->errors);
	free(l->steps);
	free(l->told);
}

/* The arrays of `l`, without the rest. */
static int reserve_lane(struct ink_lane *l, size_t steps, size_t told)
{
	l->ids = calloc(steps, sizeof *l->ids);
	l->events = calloc(steps, sizeof *l->events);
	l->moves = calloc(steps, sizeof *l->moves);
	l->errors = calloc(steps, sizeof *l->errors);
	l->steps = calloc(steps, sizeof *l->steps);
	l->told = calloc(told + 1, sizeof *l->told);
	l->room_told = told;
	if (l->ids && l->events && l->moves && l->errors && l->steps && l->told)
		return 0;
	free_lane(l);
	return -ENOMEM;
}

static void take_arrays(struct ink_lane *l, const struct ink_lane *from)
{
	free_lane(l);
	l->ids = from->ids;
	l->events = from->events;
	l->moves = from->moves;
	l->errors = from->errors;
	l->steps = from->steps;
	l->told = from->told;
	l->room_told = from->room_told;
}

int ink_stage_reserve(struct ink_stage *s, size_t packets, size_t told)
{
	struct ink_lane *new = calloc(INK_STAGE_LANES, sizeof *new);
	unsigned lanes = s->lane[1].table ? 2 : 1, made = 0;
	int error = new ? 0 : -ENOMEM;

	for (; made < lanes && !error; made += !error)
		error = reserve_lane(&new[made], packets * (1 + told), packets * told);
	for (unsigned i = 0; i < made; i++) {
		if (error)
			free_lane(&new[i]);
		else
			take_arrays(&s->lane[i], &new[i]);
	}
	free(new);
	return error;
}

void ink_stage_release(struct ink_stage *s)
{
	for (unsigned i = 0; i < INK_STAGE_LANES; i++)
		free_lane(&s->lane[i]);
	ink_limits_free(s->limits);
	ink_sensor_close(s->sensor);
}
