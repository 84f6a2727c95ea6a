/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The loop from packets to moves.
 *
 * Blocks of packets pass through stages. Each stage is a tight loop, and the
 * table can prefetch:
 *
 *     packets   [ . . . . . . . . ]    up to 256
 *     events    [ 3 - 3 1 - - 2 3 ]    classify; "-" has none
 *     ids       [ i i i i i i i i ]    hashed in SIMD lanes
 *     steps       3   3 1     2 3      only those with an event, contiguous
 *     moves       m   m m     m m      ink_step_batch
 *
 * A tick that falls due between two packets of a block first flushes the queued
 * steps. If events depend on earlier packets (counters in conditions) or on the
 * state (`remember tail`), packets are processed one by one.
 */
#include <inkling/track.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/grow.h"
#include "machine/tree.h"
#include "packet/sensor.h"
#include "packet/video.h"

enum { BLOCK = 256 }; /* packets: 32 KiB of them, and the arrays below 16 KiB */

struct ink_track {
	struct ink_track_options o;
	const struct ink_machine *m;
	const struct ink_machine_view *v;
	struct ink_sensor *sensor;
	int started;     /* the first packet has arrived */
	uint64_t clock;  /* the latest seen */
	uint64_t origin; /* the clock at tick `first` */
	uint64_t first;  /* the table's tick when the first packet came */
	uint64_t now;    /* the present tick */
	uint64_t due;    /* time of the next tick, from the origin */
	uint64_t counters[INK_COUNTERS_MAX], counters_beside[INK_COUNTERS_MAX];
	struct ink_track_stats stats;

	size_t n; /* queued steps */
	const struct ink_packet *packets[BLOCK];
	uint64_t numbers[BLOCK];
	uint64_t ids[BLOCK];
	uint16_t events[BLOCK];
	uint8_t tails[BLOCK]; /* left by the flow's previous packet */
	struct ink_move moves[BLOCK], beside[BLOCK];
	int errors[BLOCK], beside_errors[BLOCK];
	uint8_t slowly[BLOCK];
};

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

static void count_packet(const struct ink_track *k, uint64_t *counters, unsigned action, size_t i)
{
	const struct ink_action *a = &k->v->action[action];

	for (unsigned j = 0; j < a->n_countings; j++)
		counters[a->countings[j].counter] += amount_of(&a->countings[j], k->packets[i], k->tails[i]);
}

/* Time-outs and ends have no packet: they apply to many flows at once and count only by numbers. */
static void count_flows(const struct ink_track *k, uint64_t *counters, unsigned action, uint64_t flows)
{
	const struct ink_action *a = &k->v->action[action];

	for (unsigned j = 0; j < a->n_countings; j++)
		counters[a->countings[j].counter] += flows * a->countings[j].number;
}

/* on_timeout or on_end for flows by state. */
static void count_states(const struct ink_track *k, uint64_t *counters, const uint16_t *on,
			 const struct ink_counts *flows)
{
	unsigned states = k->v->rules->states;

	for (unsigned s = 0; s < states; s++)
		if (flows->state[s] && on[s])
			count_flows(k, counters, on[s], flows->state[s]);
	if (flows->unsure && on[states])
		count_flows(k, counters, on[states], flows->unsure);
}

/* ------------------------------------------------------------------- steps */

static void report_move(struct ink_track *k, size_t i)
{
	struct ink_moved moved = {.packet = k->packets[i],
				  .number = k->numbers[i],
				  .id = k->ids[i],
				  .event = k->events[i],
				  .move = k->moves[i],
				  .error = k->errors[i],
				  .slowly = k->slowly[i],
				  .action = &k->v->action[k->moves[i].action],
				  .reversed = ink_sensor_reverses(k->sensor, k->events[i])};

	if (k->o.beside) {
		moved.beside = k->beside[i];
		moved.beside_error = k->beside_errors[i];
	}
	k->o.moved(&moved, k->o.user);
}

/* -EINVAL: the machine has no such action, so the table's rules were replaced. */
static int note_move(struct ink_track *k, size_t i)
{
	const struct ink_move *m = &k->moves[i];

	if (m->action >= k->v->actions || (k->o.beside && k->beside[i].action >= k->v->actions))
		return -EINVAL;
	k->stats.begun += m->from == INK_ABSENT && m->to != INK_ABSENT;
	if (m->action)
		count_packet(k, k->counters, m->action, i);
	if (k->o.beside && k->beside[i].action)
		count_packet(k, k->counters_beside, k->beside[i].action, i);
	if (k->o.moved && (m->action || k->o.every || (k->o.beside && k->beside[i].action)))
		report_move(k, i);
	return 0;
}

/* Steps that found no room are reported one by one; any other error is the same for all. */
static int step_all(struct ink_track *k)
{
	struct ink_batch b = {
		.n = k->n, .ids = k->ids, .events = k->events, .moves = k->moves, .errors = k->errors};
	int error = ink_step_batch(k->o.table, &b);

	if (k->o.beside) {
		int other;

		b.moves = k->beside;
		b.errors = k->beside_errors;
		other = ink_step_batch(k->o.beside, &b);
		error = error == -EINVAL ? error : other;
	}
	return error == -EINVAL ? error : 0;
}

/* A table without rules is an error of the run; one that cannot grow only refuses the flow. */
static int step_slowly(struct ink_track *k, size_t i)
{
	k->slowly[i] = 1;
	k->stats.slow++;
	k->errors[i] = ink_step(k->o.slow, k->ids[i], k->events[i], &k->moves[i]);
	return k->errors[i] == -EINVAL ? -EINVAL : 0;
}

/* From this step on, the slow table keeps a flow that the table refused or does not know. */
static int take_over(struct ink_track *k, size_t i)
{
	int refused = k->errors[i] == -ENOSPC, unsure = k->moves[i].from == INK_DONT_KNOW;

	k->stats.refused += (unsigned)refused;
	k->stats.unsure += (unsigned)unsure;
	return k->o.slow && (refused || unsure) ? step_slowly(k, i) : 0;
}

/* With a slow table the queue holds one step, because each step depends on which table has the flow. */
static int is_slow(const struct ink_track *k)
{
	return k->o.slow && k->n == 1 && ink_peek(k->o.slow, k->ids[0]) != INK_ABSENT;
}

static int flush(struct ink_track *k)
{
	int error;

	if (!k->n)
		return 0;
	error = is_slow(k) ? step_slowly(k, 0) : step_all(k);
	for (size_t i = 0; !error && i < k->n; i++) {
		error = k->slowly[i] ? 0 : take_over(k, i);
		if (!error)
			error = note_move(k, i);
	}
	k->stats.steps += k->n;
	k->n = 0;
	return error;
}

/* -------------------------------------------------------------------- time */

static int tick_table(struct ink_track *k, struct ink_table *t, uint64_t *counters, uint64_t *expiries)
{
	struct ink_counts expired;
	int error = ink_tick(t, k->now, &expired);

	if (error)
		return error;
	count_states(k, counters, k->v->on_timeout, &expired);
	*expiries += expired.total;
	return 0;
}

static void set_due(struct ink_track *k)
{
	k->due = (k->now - k->first + 1) * k->v->tick;
}

static int tick(struct ink_track *k, uint64_t now)
{
	uint64_t ignored = 0;
	int error = flush(k);

	if (error)
		return error;
	k->stats.ticks += now - k->now;
	k->now = now;
	set_due(k);
	error = tick_table(k, k->o.table, k->counters, &k->stats.expired);
	if (!error && k->o.slow)
		error = tick_table(k, k->o.slow, k->counters, &k->stats.expired);
	if (!error && k->o.beside)
		error = tick_table(k, k->o.beside, k->counters_beside, &ignored);
	return error;
}

static void start(struct ink_track *k, uint64_t clock)
{
	k->first = k->now = ink_now(k->o.table);
	k->origin = k->clock = clock;
	k->started = 1;
	set_due(k);
}

int ink_track_time(struct ink_track *k, uint64_t clock)
{
	if (k->o.no_timeouts)
		return 0;
	if (!k->started)
		start(k, clock);
	if (clock <= k->clock)
		return 0;
	k->clock = clock;
	if (clock - k->origin < k->due)
		return 0;
	return tick(k, k->first + (clock - k->origin) / k->v->tick);
}

/* ----------------------------------------------------------------- packets */

/* The id of the flow in the opposite direction, for a `reverse` event. */
static uint64_t reverse_id(const struct ink_track *k, const struct ink_packet *p, uint16_t event)
{
	uint8_t key[INK_KEY_MOST];

	return ink_id(k->o.table, key, ink_sensor_key(k->sensor, p, event, key));
}

/* Queues a step, after the ticks that are due before it. */
static int queue(struct ink_track *k, const struct ink_packet *p, uint16_t event, uint64_t id)
{
	int error = ink_track_time(k, p->clock);

	if (error)
		return error;
	if (ink_sensor_reverses(k->sensor, event))
		id = reverse_id(k, p, event);
	if (k->o.only && !k->o.only(id, k->o.user))
		return k->stats.passed_by++, 0;
	k->packets[k->n] = p;
	k->events[k->n] = event;
	k->numbers[k->n] = k->stats.packets;
	k->ids[k->n] = id;
	k->slowly[k->n] = 0;
	k->tails[k->n++] = 0;
	return k->o.slow ? flush(k) : 0;
}

static void note_packet(struct ink_track *k, const struct ink_packet *p, uint16_t event)
{
	k->stats.packets++;
	k->stats.skipped[p->skip]++;
	k->stats.eventless += p->skip == INK_NOT_SKIPPED && event == INK_NO_EVENT;
}

/* Up to BLOCK packets. */
static int track_block(struct ink_track *k, const struct ink_packets *block)
{
	struct ink_sight sight = {.counters = k->counters, .number = k->stats.packets};
	uint16_t events[BLOCK];
	uint64_t ids[BLOCK];
	int error = 0;

	for (size_t i = 0; i < block->n; i++) {
		sight.number++;
		events[i] = ink_classify(k->sensor->classifier, &block->at[i], &sight);
	}
	ink_packet_ids_by(k->o.table, k->v->key_def, block, ids);
	for (size_t i = 0; i < block->n && !error; i++) {
		note_packet(k, &block->at[i], events[i]);
		if (events[i] != INK_NO_EVENT)
			error = queue(k, &block->at[i], events[i], ids[i]);
		else
			error = ink_track_time(k, block->at[i].clock);
	}
	return error ? error : flush(k);
}

/* The tail that the flow's state remembers, or 0. */
static unsigned tail_of(const struct ink_track *k, uint64_t id)
{
	ink_answer state = k->m->tails > 1 ? ink_peek(k->o.table, id) : INK_ABSENT;

	if (k->m->tails > 1 && k->o.slow && ink_peek(k->o.slow, id) != INK_ABSENT)
		state = ink_peek(k->o.slow, id);
	return state >= 0 && (unsigned)state < k->v->rules->states ? k->m->tail_of[state] : 0;
}

/* One packet; all earlier steps have been made. */
static int track_one(struct ink_track *k, const struct ink_packet *p)
{
	struct ink_packets one = {.at = (struct ink_packet *)p, .n = 1};
	struct ink_sight sight = {.counters = k->counters, .number = k->stats.packets + 1};
	uint16_t event;
	uint64_t id;
	int error;

	ink_packet_ids_by(k->o.table, k->v->key_def, &one, &id);
	error = ink_track_time(k, p->clock);
	sight.tail = tail_of(k, id);
	event = ink_classify(k->sensor->classifier, p, &sight);
	note_packet(k, p, event);
	if (error || event == INK_NO_EVENT)
		return error;
	error = queue(k, p, event, id);
	if (k->n)
		k->tails[0] = (uint8_t)sight.tail;
	return error ? error : flush(k);
}

int ink_track_packets(struct ink_track *k, const struct ink_packets *packets)
{
	int error = 0;

	for (size_t i = 0; k->m->one_by_one && i < packets->n && !error; i++)
		error = track_one(k, &packets->at[i]);
	for (size_t i = 0; !k->m->one_by_one && i < packets->n && !error; i += BLOCK) {
		size_t left = packets->n - i;
		struct ink_packets block = {.at = packets->at + i, .n = left < BLOCK ? left : BLOCK};

		error = track_block(k, &block);
	}
	return error;
}

static int end_table(const struct ink_track *k, const struct ink_table *t, uint64_t *counters)
{
	struct ink_counts left;
	int error = ink_census(t, &left);

	if (!error)
		count_states(k, counters, k->v->on_end, &left);
	return error;
}

int ink_track_end(struct ink_track *k)
{
	int error = end_table(k, k->o.table, k->counters);
	int slow = k->o.slow ? end_table(k, k->o.slow, k->counters) : 0;
	int other = k->o.beside ? end_table(k, k->o.beside, k->counters_beside) : 0;

	return error ? error : slow ? slow : other;
}

/* ------------------------------------------------------------ the machine */

static void use_machine(struct ink_track *k, struct ink_sensor *sensor)
{
	ink_sensor_close(k->sensor);
	k->sensor = sensor;
	k->m = sensor->machine;
	k->v = sensor->view;
}

static struct ink_sensor *sensor_for(const struct ink_track_options *o, const struct ink_machine *machine,
				     struct ink_why *why)
{
	const struct ink_sensor_options with = {
		.size = sizeof with, .machine = machine, .link = o->link, .seed = o->seed};

	return ink_sensor_make(&with, why);
}

/* Does every state still exist, with the same number? */
static int check_states(const struct ink_machine_view *old, const struct ink_machine_view *new,
			struct ink_why *why)
{
	if (memcmp(old->key_def, new->key_def, sizeof *old->key_def) != 0)
		return ink_fail(why, -EINVAL, "machine %s: its flows have another key", new->name);
	for (unsigned i = 0; i < old->rules->states; i++)
		if (i >= new->rules->states ||
		    strcmp(old->state_names[old->state_of[i]], new->state_names[new->state_of[i]]) != 0)
			return ink_fail(why, -EINVAL, "machine %s: state '%s' has another number than before",
					new->name, old->state_names[old->state_of[i]]);
	return 0;
}

/* All tables or none: on failure, tables that have the new rules get the old ones back. */
static int exchange_rules(struct ink_track *k, const struct ink_machine_view *new, struct ink_why *why)
{
	struct ink_table *tables[] = {k->o.table, k->o.beside, k->o.slow};
	int error = 0;

	for (unsigned i = 0; i < 3 && !error; i++) {
		if (tables[i])
			error = ink_set_rules(tables[i], new->rules, why);
		for (unsigned j = 0; error && j < i; j++)
			if (tables[j])
				ink_set_rules(tables[j], k->v->rules, NULL);
	}
	return error;
}

static void keep_counters(const struct ink_machine_view *old, const struct ink_machine_view *new,
			  uint64_t *counters)
{
	uint64_t kept[INK_COUNTERS_MAX] = {0};

	for (unsigned i = 0; i < new->counters; i++)
		for (unsigned j = 0; j < old->counters; j++)
			if (!strcmp(new->counter_names[i], old->counter_names[j]))
				kept[i] = counters[j];
	memcpy(counters, kept, sizeof kept);
}

int ink_track_exchange(struct ink_track *k, const struct ink_machine *machine, struct ink_why *why)
{
	const struct ink_machine_view *new = ink_machine_view(machine);
	struct ink_sensor *sensor;
	int error = check_states(k->v, new, why);

	if (error)
		return error;
	sensor = sensor_for(&k->o, machine, why);
	if (!sensor)
		return -errno;
	error = exchange_rules(k, new, why);
	if (error)
		return ink_sensor_close(sensor), error;
	keep_counters(k->v, new, k->counters);
	keep_counters(k->v, new, k->counters_beside);
	use_machine(k, sensor);
	k->first = k->now; /* ticks may be of another length from here on */
	k->origin = k->clock;
	set_due(k);
	return 0;
}

/* ------------------------------------------------------------------ looking */

const uint64_t *ink_track_counters(const struct ink_track *k)
{
	return k->counters;
}

const uint64_t *ink_track_counters_beside(const struct ink_track *k)
{
	return k->counters_beside;
}

/* Bytes of the first struct ink_track_options and the first struct ink_track_stats. */
enum { OPTIONS_FIRST = 88, STATS_FIRST = 168 };

int ink_track_stats(const struct ink_track *k, struct ink_track_stats *stats)
{
	static const struct ink_struct known = {"track stats", STATS_FIRST, sizeof *stats};

	return ink_struct_write(&known, stats, &k->stats, NULL);
}

/* ------------------------------------------------------------------- making */

/* Does the row lead to states and actions of the machine? */
static int is_known_row(const struct ink_machine_view *v, const struct ink_row *row)
{
	return row->action < v->actions && (row->next < 0 || (unsigned)row->next < v->rules->states);
}

/*
 * Are the table's rules the machine's, as far as a tracker relies on it? The events mean the same, and what a
 * move names exists. Rows may differ: a first pass that only collects candidates takes some away.
 */
static int check_rules(const struct ink_table *table, const struct ink_machine_view *v, struct ink_why *why)
{
	struct ink_rules rules = {.size = sizeof rules};
	size_t rows, known = 0;

	if (ink_rules(table, &rules))
		return ink_fail(why, -EINVAL, "track: the table has no rules");
	rows = rules.events == v->rules->events && rules.states >= v->rules->states
		       ? (size_t)(rules.states + 2) * rules.events
		       : 0;
	while (known < rows && is_known_row(v, &rules.rows[known]))
		known++;
	if (rows && known == rows)
		return 0;
	return ink_fail(why, -EINVAL, "track: the table's rules are not those of machine %s", v->name);
}

static int check(const struct ink_track_options *o, struct ink_why *why)
{
	const struct ink_table *tables[] = {o->table, o->beside, o->slow};
	int error;

	if (!o->machine || !o->table)
		return ink_fail(why, -EINVAL, "track: a machine and a table are needed");
	error = ink_check_version(why);
	for (unsigned i = 0; i < 3 && !error; i++)
		if (tables[i])
			error = check_rules(tables[i], ink_machine_view(o->machine), why);
	return error;
}

struct ink_track *ink_track_open(const struct ink_track_options *options, struct ink_why *why)
{
	static const struct ink_struct known = {"track options", OPTIONS_FIRST, sizeof *options};
	struct ink_track_options o;
	struct ink_sensor *sensor;
	struct ink_track *k;
	int error = ink_struct_read(&known, &o, options, why);

	if (!error)
		error = check(&o, why);
	if (error)
		return errno = -error, NULL;
	sensor = sensor_for(&o, o.machine, why);
	if (!sensor)
		return NULL;
	k = calloc(1, sizeof *k);
	if (!k) {
		ink_sensor_close(sensor);
		return errno = -ink_fail(why, -ENOMEM, "track: no memory"), NULL;
	}
	k->o = o;
	use_machine(k, sensor);
	return k;
}

void ink_track_close(struct ink_track *k)
{
	if (k)
		ink_sensor_close(k->sensor);
	free(k);
}
