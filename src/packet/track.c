/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Trackers: machines over packets, in the order of their set.
 *
 *     block of packets --> stage 0 --> stage 1 --> ... --> moves, in the order of the packets
 *
 * A stage (stage.c) makes all steps of a machine for a block, and what its rows
 * tell later machines waits there, by packet. Links lead forward only and a
 * machine sees nothing else of another, so the result is that of packets that
 * pass all machines one by one. The caller's function gets the moves afterwards, by
 * packet, machine and step.
 */
#include <inkling/track.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/grow.h"
#include "packet/stage.h"

/* Told steps of a block; with machines that tell more, blocks are smaller. */
enum { TOLD_OF_BLOCK = 8 * INK_PACKET_BLOCK };

struct ink_track {
	struct ink_track_options o;
	struct ink_outlet outlet;
	size_t block; /* packets that pass the stages together */
	size_t told;  /* steps that a packet can cause by what machines tell each other */
	unsigned n;
	struct ink_stage stages[];
};

/* --------------------------------------------------------------- reporting */

static int has_step(const struct ink_lane *l, uint32_t place)
{
	return l->shown < l->done && l->steps[l->shown].place == place;
}

/* Are the next step of the table and this one beside the same event of the same flow? */
static int is_pair(const struct ink_stage *s, size_t j)
{
	const struct ink_lane *a = &s->lane[0], *b = &s->lane[1];
	size_t i = a->shown;

	return a->steps[i].teller == b->steps[j].teller && a->ids[i] == b->ids[j] &&
	       a->events[i] == b->events[j];
}

/* Does the lane beside make the next step of the table, too, after others of the same packet? */
static int is_made_later(const struct ink_stage *s, uint32_t place)
{
	const struct ink_lane *b = &s->lane[1];
	size_t j = b->shown;

	while (j < b->done && b->steps[j].place == place && !is_pair(s, j))
		j++;
	return j < b->done && b->steps[j].place == place;
}

/* Which lanes take part in the next step of this packet: bit 0 the table, bit 1 beside; 0: there is none. */
static unsigned next_lanes(const struct ink_stage *s, uint32_t place)
{
	int first = has_step(&s->lane[0], place), second = has_step(&s->lane[1], place);

	if (!first || !second)
		return (unsigned)(first | second << 1);
	if (is_pair(s, s->lane[1].shown))
		return 3;
	return is_made_later(s, place) ? 2 : 1;
}

/* A step that only the lane beside has made counts as one that did nothing. */
static struct ink_moved moved_of(const struct ink_stage *s, unsigned lanes)
{
	const struct ink_lane *l = &s->lane[lanes == 2], *beside = &s->lane[1];
	size_t i = l->shown;
	struct ink_moved m = {.packet = &s->block->at[l->steps[i].place],
			      .number = s->before + l->steps[i].place + 1,
			      .id = l->ids[i],
			      .event = l->events[i],
			      .move = {.from = INK_ABSENT, .to = INK_ABSENT},
			      .beside = {.from = INK_ABSENT, .to = INK_ABSENT},
			      .machine = s->number,
			      .teller = l->steps[i].teller,
			      .reversed = l->steps[i].reversed,
			      .alone = lanes == 3 || !s->lane[1].table ? 0 : (int)lanes};

	if (lanes & 1) {
		m.move = l->moves[i];
		m.error = l->errors[i];
		m.slowly = l->steps[i].slowly;
		m.limited = l->steps[i].limited;
	}
	if (lanes & 2) {
		m.beside = beside->moves[beside->shown];
		m.beside_error = beside->errors[beside->shown];
		m.beside_limited = beside->steps[beside->shown].limited;
	}
	m.action = &s->v->action[m.move.action];
	return m;
}

static int acts(const struct ink_lane *l)
{
	return l->moves[l->shown].action != 0;
}

static void report_move(const struct ink_track *k, const struct ink_stage *s, unsigned lanes)
{
	const struct ink_moved m = moved_of(s, lanes);

	k->o.moved(&m, k->o.user);
}

static void report_step(const struct ink_track *k, struct ink_stage *s, unsigned lanes)
{
	if (k->o.every || (lanes & 1 && acts(&s->lane[0])) || (lanes & 2 && acts(&s->lane[1])))
		report_move(k, s, lanes);
	s->lane[0].shown += lanes & 1;
	s->lane[1].shown += lanes >> 1;
}

/* One machine and one table: the steps are in the order of the packets. */
static void report_single(struct ink_track *k)
{
	struct ink_lane *l = &k->stages[0].lane[0];

	for (; l->shown < l->done; l->shown++)
		if (k->o.every || acts(l))
			report_move(k, k->stages, 1);
}

static void report_all(struct ink_track *k, size_t packets)
{
	unsigned lanes;

	for (uint32_t place = 0; place < packets; place++)
		for (unsigned i = 0; i < k->n; i++)
			while ((lanes = next_lanes(&k->stages[i], place)))
				report_step(k, &k->stages[i], lanes);
}

static void report(struct ink_track *k, size_t packets)
{
	if (!k->o.moved)
		return;
	if (k->n > 1 || k->stages[0].lane[1].table)
		report_all(k, packets);
	else
		report_single(k);
}

/* ----------------------------------------------------------------- packets */

static int track_block(struct ink_track *k, const struct ink_packets *block)
{
	int error = 0;

	ink_outlet_begin(&k->outlet, block);
	for (unsigned i = 0; i < k->n && !error; i++)
		error = ink_stage_block(&k->stages[i], block);
	ink_outlet_end(&k->outlet, block);
	report(k, block->n);
	for (unsigned i = 0; i < k->n; i++)
		ink_stage_clear(&k->stages[i]);
	return error;
}

int ink_track_packets(struct ink_track *k, const struct ink_packets *packets)
{
	int error = 0;

	for (size_t i = 0; i < packets->n && !error; i += k->block) {
		size_t left = packets->n - i;
		struct ink_packets block = {.at = packets->at + i, .n = left < k->block ? left : k->block};

		error = track_block(k, &block);
	}
	return error;
}

int ink_track_time(struct ink_track *k, uint64_t clock)
{
	int error = 0;

	for (unsigned i = 0; i < k->n && !error; i++)
		error = ink_stage_time(&k->stages[i], clock);
	return error;
}

int ink_track_end(struct ink_track *k)
{
	int error = 0;

	for (unsigned i = 0; i < k->n; i++) {
		int of_stage = ink_stage_end(&k->stages[i]);

		error = error ? error : of_stage;
	}
	return error;
}

/* ------------------------------------------------------------ the machines */

/* The machines of a tracker: those of a set, or one. */
struct choice {
	const struct ink_machines *set;
	const struct ink_machine *one;
};

static unsigned count_of(struct choice c)
{
	return c.set ? ink_machines_count(c.set) : 1;
}

static const struct ink_machine *machine_at(struct choice c, unsigned i)
{
	return c.set ? ink_machines_at(c.set, i) : c.one;
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
static int exchange_rules(struct ink_stage *s, const struct ink_rules *rules, struct ink_why *why)
{
	struct ink_table *tables[] = {s->lane[0].table, s->lane[1].table, s->slow};
	int error = 0;

	for (unsigned i = 0; i < 3 && !error; i++) {
		if (tables[i])
			error = ink_set_rules(tables[i], rules, why);
		for (unsigned j = 0; error && j < i; j++)
			if (tables[j])
				ink_set_rules(tables[j], s->v->rules, NULL);
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

/* The most steps that machines tell each other to make for one packet. */
static size_t told_of_packet(struct choice c)
{
	size_t told = 0;

	for (unsigned i = 0; i < count_of(c); i++)
		told += machine_at(c, i)->chain;
	return told;
}

/*
 * The queue is as it is before each packet if all packets before it have passed all machines. And the lane beside finds
 * the buckets of limits as they were before the packet if no later one has filled them.
 */
static int needs_one_by_one(const struct ink_track *k, struct choice c)
{
	int any = 0;

	for (unsigned i = 0; i < count_of(c); i++) {
		const struct ink_machine_view *v = ink_machine_view(machine_at(c, i));

		any |= v->queues || (v->limits && k->stages[i].lane[1].table);
	}
	return any;
}

/*
 * Memory for what these machines tell each other, which is never less than before: an exchange that fails later leaves
 * the old machines with room enough. If it fails here, stages have arrays for blocks of either length, so the shorter
 * one is used.
 */
static int reserve(struct ink_track *k, struct choice c, struct ink_why *why)
{
	size_t told = told_of_packet(c) > k->told ? told_of_packet(c) : k->told;
	size_t most = told > TOLD_OF_BLOCK / INK_PACKET_BLOCK ? TOLD_OF_BLOCK / told : INK_PACKET_BLOCK;
	size_t block = most && !needs_one_by_one(k, c) ? most : 1;
	int error = 0;

	for (unsigned i = 0; i < k->n && !error; i++)
		error = ink_stage_reserve(&k->stages[i], block, told);
	if (!error || block < k->block)
		k->block = block;
	if (error)
		return ink_fail(why, error, "track: no memory");
	k->told = told;
	return 0;
}

enum { SLOWEST = 1000 }; /* bits a second; those of base/rate.h */
#define FASTEST 1000000000000ull

static int check_queue(const struct ink_track_options *o, struct choice c, struct ink_why *why)
{
	if (o->queue_rate && (o->queue_rate < SLOWEST || o->queue_rate > FASTEST))
		return ink_fail(why, -EINVAL, "track: the rate of a queue is 1 kbit/s to 1 Tbit/s");
	for (unsigned i = 0; i < count_of(c) && !o->queue_rate; i++) {
		const struct ink_machine_view *v = ink_machine_view(machine_at(c, i));

		if (v->queues)
			return ink_fail(why, -EINVAL, "%s: a condition on the queue, whose rate is not given",
					v->queue_at);
	}
	return 0;
}

static int check_same(const struct ink_track *k, struct choice c, struct ink_why *why)
{
	int error = 0;

	if (count_of(c) != k->n)
		return ink_fail(why, -EINVAL, "the number of machines is %u, and it was %u", count_of(c),
				k->n);
	for (unsigned i = 0; i < k->n && !error; i++) {
		const struct ink_machine_view *old = k->stages[i].v,
					      *new = ink_machine_view(machine_at(c, i));

		if (k->n > 1 && strcmp(old->name, new->name))
			return ink_fail(why, -EINVAL, "machine %u is %s, and it was %s", i + 1, new->name,
					old->name);
		error = check_states(old, new, why);
	}
	return error;
}

/* What a stage has for its machine. */
struct parts {
	struct ink_sensor *sensor;
	struct ink_limits *limits;
};

static int make_parts(const struct ink_track_options *o, const struct ink_machine *machine, struct parts *p,
		      struct ink_why *why)
{
	p->sensor = sensor_for(o, machine, why);
	if (!p->sensor)
		return -errno;
	p->limits = ink_limits_make(ink_machine_view(machine));
	return p->limits ? 0 : ink_fail(why, -ENOMEM, "track: no memory");
}

static void free_parts(const struct parts *p)
{
	ink_sensor_close(p->sensor);
	ink_limits_free(p->limits);
}

static int make_all_parts(const struct ink_track *k, struct choice c, struct parts *parts,
			  struct ink_why *why)
{
	int error = 0;

	for (unsigned i = 0; i < k->n && !error; i++)
		error = make_parts(&k->o, machine_at(c, i), &parts[i], why);
	return error;
}

/* The rules of all machines or of none. */
static int exchange_all_rules(struct ink_track *k, struct choice c, struct ink_why *why)
{
	int error = 0;

	for (unsigned i = 0; i < k->n && !error; i++) {
		error = exchange_rules(&k->stages[i], ink_machine_view(machine_at(c, i))->rules, why);
		for (unsigned j = 0; error && j < i; j++)
			exchange_rules(&k->stages[j], k->stages[j].v->rules, NULL);
	}
	return error;
}

static void exchange_stage(struct ink_stage *s, const struct parts *p)
{
	for (unsigned i = 0; i < INK_STAGE_LANES; i++)
		keep_counters(s->v, p->sensor->view, s->lane[i].counters);
	ink_limits_inherit(p->limits, s->limits);
	ink_stage_use(s, p->sensor, p->limits);
	ink_stage_restart(s);
}

static int have_limits(struct choice c)
{
	int any = 0;

	for (unsigned i = 0; i < count_of(c); i++)
		any |= ink_machine_view(machine_at(c, i))->limits != 0;
	return any;
}

static int exchange_with(struct ink_track *k, struct choice c, struct parts *parts, struct ink_why *why)
{
	int error = make_all_parts(k, c, parts, why);

	if (!error)
		error = reserve(k, c, why);
	if (!error)
		error = exchange_all_rules(k, c, why);
	for (unsigned i = 0; i < k->n; i++) {
		if (error)
			free_parts(&parts[i]);
		else
			exchange_stage(&k->stages[i], &parts[i]);
	}
	if (!error)
		ink_outlet_use(&k->outlet, have_limits(c));
	return error;
}

static int exchange(struct ink_track *k, struct choice c, struct ink_why *why)
{
	struct parts *parts;
	int error = check_same(k, c, why);

	if (!error)
		error = check_queue(&k->o, c, why);
	if (error)
		return error;
	parts = calloc(k->n, sizeof *parts);
	if (!parts)
		return ink_fail(why, -ENOMEM, "track: no memory");
	error = exchange_with(k, c, parts, why);
	free(parts);
	return error;
}

/* A machine that tells others cannot run without them. */
static int check_alone(const struct ink_machine *m, struct ink_why *why)
{
	if (!m->chain)
		return 0;
	return ink_fail(why, -EINVAL, "track: machine %s tells other machines: its set is needed",
			ink_machine_view(m)->name);
}

int ink_track_exchange(struct ink_track *k, const struct ink_machine *machine, struct ink_why *why)
{
	int error = check_alone(machine, why);

	return error ? error : exchange(k, (struct choice){.one = machine}, why);
}

int ink_track_exchange_set(struct ink_track *k, const struct ink_machines *machines, struct ink_why *why)
{
	return exchange(k, (struct choice){.set = machines}, why);
}

/* ------------------------------------------------------------------ looking */

const uint64_t *ink_track_counters_of(const struct ink_track *k, unsigned machine)
{
	return machine < k->n ? k->stages[machine].lane[0].counters : NULL;
}

const uint64_t *ink_track_counters_beside_of(const struct ink_track *k, unsigned machine)
{
	return machine < k->n ? k->stages[machine].lane[1].counters : NULL;
}

const uint64_t *ink_track_counters(const struct ink_track *k)
{
	return ink_track_counters_of(k, 0);
}

const uint64_t *ink_track_counters_beside(const struct ink_track *k)
{
	return ink_track_counters_beside_of(k, 0);
}

/* Bytes of the first struct ink_track_options, struct ink_track_stats and struct ink_queue_stats. */
enum { OPTIONS_FIRST = 88, STATS_FIRST = 168, QUEUE_STATS_FIRST = 56 };

int ink_track_stats_of(const struct ink_track *k, unsigned machine, struct ink_track_stats *stats)
{
	static const struct ink_struct known = {"track stats", STATS_FIRST, sizeof *stats};

	return machine < k->n ? ink_struct_write(&known, stats, &k->stages[machine].stats, NULL) : -EINVAL;
}

int ink_track_queue_stats(const struct ink_track *k, struct ink_queue_stats *stats)
{
	static const struct ink_struct known = {"queue stats", QUEUE_STATS_FIRST, sizeof *stats};

	return ink_struct_write(&known, stats, &k->outlet.stats, NULL);
}

int ink_track_stats(const struct ink_track *k, struct ink_track_stats *stats)
{
	return ink_track_stats_of(k, 0, stats);
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

static struct choice choice_of(const struct ink_track_options *o)
{
	return (struct choice){o->machines, o->machine};
}

/* The tables of the i-th machine: one that runs it, one beside, a slow one. */
static void tables_of(const struct ink_track_options *o, unsigned i, struct ink_table *tables[3])
{
	tables[0] = o->machines ? o->tables[i] : o->table;
	tables[1] = !o->machines ? o->beside : o->besides ? o->besides[i] : NULL;
	tables[2] = !o->machines ? o->slow : o->slows ? o->slows[i] : NULL;
}

static int check_tables(const struct ink_track_options *o, unsigned i, struct ink_why *why)
{
	const struct ink_machine_view *v = ink_machine_view(machine_at(choice_of(o), i));
	struct ink_table *tables[3];
	int error = 0;

	tables_of(o, i, tables);
	if (!tables[0])
		return ink_fail(why, -EINVAL, "track: machine %s has no table", v->name);
	for (unsigned j = 0; j < 3 && !error; j++)
		if (tables[j])
			error = check_rules(tables[j], v, why);
	return error;
}

static int check_options(const struct ink_track_options *o, struct ink_why *why)
{
	if (!o->machines && (!o->machine || !o->table))
		return ink_fail(why, -EINVAL, "track: a machine and a table are needed");
	if (o->machines && (o->machine || o->table || o->beside || o->slow || !o->tables))
		return ink_fail(why, -EINVAL,
				"track: a set of machines has the tables of the field 'tables'");
	if (o->machines && o->only && ink_machines_count(o->machines) > 1)
		return ink_fail(why, -EINVAL, "track: 'only' is for one machine");
	return o->machines ? 0 : check_alone(o->machine, why);
}

static int check(const struct ink_track_options *o, struct ink_why *why)
{
	int error = check_options(o, why);

	if (!error)
		error = ink_check_version(why);
	if (!error)
		error = check_queue(o, choice_of(o), why);
	for (unsigned i = 0; !error && i < count_of(choice_of(o)); i++)
		error = check_tables(o, i, why);
	return error;
}

static int open_stage(struct ink_track *k, unsigned i, struct ink_why *why)
{
	struct ink_stage *s = &k->stages[i];
	struct parts parts = {0};
	struct ink_table *tables[3];
	int error = make_parts(&k->o, machine_at(choice_of(&k->o), i), &parts, why);

	if (error) {
		free_parts(&parts);
		return error;
	}
	tables_of(&k->o, i, tables);
	s->o = &k->o;
	s->all = k->stages;
	s->outlet = &k->outlet;
	s->number = i;
	s->lane[0].table = tables[0];
	s->lane[1].table = tables[1];
	s->slow = tables[2];
	ink_stage_use(s, parts.sensor, parts.limits);
	return 0;
}

static int open_all(struct ink_track *k, struct ink_why *why)
{
	int error = 0;

	for (unsigned i = 0; i < k->n && !error; i++)
		error = open_stage(k, i, why);
	return error ? error : reserve(k, choice_of(&k->o), why);
}

struct ink_track *ink_track_open(const struct ink_track_options *options, struct ink_why *why)
{
	static const struct ink_struct known = {"track options", OPTIONS_FIRST, sizeof *options};
	struct ink_track_options o;
	struct ink_track *k;
	int error = ink_struct_read(&known, &o, options, why);

	if (!error)
		error = check(&o, why);
	if (error)
		return errno = -error, NULL;
	k = calloc(1, sizeof *k + count_of(choice_of(&o)) * sizeof *k->stages);
	if (!k)
		return errno = -ink_fail(why, -ENOMEM, "track: no memory"), NULL;
	k->o = o;
	k->n = count_of(choice_of(&o));
	ink_outlet_open(&k->outlet, o.queue_rate);
	ink_outlet_use(&k->outlet, have_limits(choice_of(&o)));
	error = open_all(k, why);
	if (!error)
		return k;
	ink_track_close(k);
	return errno = -error, NULL;
}

void ink_track_close(struct ink_track *k)
{
	for (unsigned i = 0; k && i < k->n; i++)
		ink_stage_release(&k->stages[i]);
	free(k);
}
