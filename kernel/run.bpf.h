/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The machines over a packet, one after the other: as packet/stage.c with a block of one packet.
 *
 *     for each machine
 *         ticks that are due (with the test clock; else a timer makes them)
 *         what earlier machines told it, in order        key, id, event --> step --> action
 *         the packet's own event                         classify, key, id --> step --> action
 *
 * That is one loop of turns, each of which makes a step, or finds that a packet has none. If a machine needs the payload,
 * the loop ends in front of it: the program copies the payload, which no function for both XDP and tc can, and begins
 * the loop again, where it was.
 *
 * It is no plain loop: of that, the verifier would look at all 80 turns, 15,000 instructions more.
 */
#ifndef INKLING_KERNEL_RUN_BPF_H
#define INKLING_KERNEL_RUN_BPF_H

#include <linux/errno.h>

#include "base/siphash.h"
#include "kernel/act.bpf.h"
#include "kernel/classify.bpf.h"
#include "kernel/table.bpf.h"
#include "kernel/time.bpf.h"
#include "kernel/work.bpf.h"

/* ---------------------------------------------------------------- key and id */

/* SipHash of a key's words; see base/siphash.h, which takes bytes. */
static inline uint64_t ink_id_of(const uint64_t secret[2], const uint64_t *key, uint32_t ipv4)
{
	struct ink_sip sip = ink_sip_start(secret);

	ink_sip_absorb(&sip, ink_key_order(key[0]));
	ink_sip_absorb(&sip, ink_key_order(key[1]));
	if (!ipv4) {
		ink_sip_absorb(&sip, ink_key_order(key[2]));
		ink_sip_absorb(&sip, ink_key_order(key[3]));
		ink_sip_absorb(&sip, ink_key_order(key[4]));
	}
	ink_sip_absorb(&sip, (uint64_t)(ipv4 ? INK_KEY_IPV4 : INK_KEY_IPV6) << 56);
	return ink_sip_finish(&sip);
}

/* w->step.id becomes that of the flow in the step's direction. 0: the packet has no such key. */
INK_PART ink_identify(struct ink_work *w)
{
	const struct ink_kernel_machine *m = w ? INK_AT(machines, w->half + w->machine) : NULL;
	const struct ink_kernel_table *t = m ? INK_AT(tables, w->machine) : NULL;
	int turned;

	if (!t || !ink_has_key(&w->packet, &m->key))
		return 0;
	turned = ink_key_turned(&w->packet, &m->key, w->step.reversed);
	ink_key_write_turned(&w->packet, &m->key, turned, (uint8_t *)w->key);
	w->step.id = ink_id_of(t->secret, w->key, w->packet.version == 4);
	return 1;
}

/* --------------------------------------------------------------------- tails */

static long ink_look_back(uint32_t i, struct ink_loop *c)
{
	struct ink_work *w = c->work;

	if (i >= w->n_made || i >= INK_STEPS)
		return 1;
	w->found = w->made[i].id == w->step.id;
	if (w->found)
		w->step.tail = (uint8_t)w->made[i].tail;
	return (long)w->found;
}

/*
 * What the flow's previous packet left; 0 if nothing did. The state has it, until a step of this packet stores its own:
 * then an earlier step of the packet in this flow knows.
 */
INK_PART ink_find_tail(struct ink_work *w)
{
	const struct ink_kernel_machine *m = w ? INK_AT(machines, w->half + w->machine) : NULL;
	const struct ink_kernel_state *s;
	int state;

	if (!m)
		return 0;
	w->step.tail = 0;
	state = ink_table_peek(w->half + w->machine, w->step.id);
	s = state >= 0 ? INK_AT(states, m->states_at + (uint32_t)state) : NULL;
	if (!s)
		return 0;
	w->step.tail = s->tail;
	INK_LOOP(INK_STEPS, ink_look_back, w);
	return 0;
}

static inline void ink_remember(struct ink_work *w)
{
	uint32_t n = w->n_made;

	if (n >= INK_STEPS)
		return;
	w->made[n].id = w->step.id;
	w->made[n].tail = w->step.tail;
	w->n_made = n + 1;
}

/* -------------------------------------------------------------------- a step */

static inline void ink_note_step(struct ink_work *w, struct ink_kernel_counts *n)
{
	const struct ink_made *s = &w->step;

	n->steps++;
	n->begun += s->from == INK_ABSENT && s->to != INK_ABSENT;
	n->unsure += s->from == INK_DONT_KNOW;
	n->refused += s->refused;
	n->told += s->teller != 0;
}

/* The event as the rules number it, from the low or the high end. */
static inline uint32_t ink_compiled_event(struct ink_work *w, const struct ink_kernel_machine *m,
					  const struct ink_kernel_event *e, uint32_t high)
{
	uint32_t side = e->sides == 1 ? 0 : high & 1;
	uint32_t tail = m->tails > 1 ? ink_tail_left(w) : 0;

	return e->base + side * m->tails + tail;
}

/* What the table said of w->step is noted and done. */
INK_PART ink_finish(struct ink_work *w, uint64_t move)
{
	struct ink_kernel_counts *n = w ? INK_AT(counts, w->machine & (INK_KERNEL_MACHINES - 1)) : NULL;

	if (!n)
		return 0;
	w->step.refused = ink_step_failed(move) == ENOSPC;
	if (ink_step_failed(move) && !w->step.refused)
		return n->given_up++, 0;
	w->step.from = (int16_t)ink_step_from(move);
	w->step.to = (int16_t)ink_step_to(move);
	w->step.action = (uint16_t)ink_step_action(move);
	ink_note_step(w, n);
	ink_remember(w);
	if (w->step.action || w->every)
		ink_act(w, n);
	return 0;
}

/* ----------------------------------------------------------- what was told */

/* Takes the next event that was told. 0: there is none. */
static inline int ink_take_told(struct ink_work *w, const struct ink_kernel_machine *m)
{
	uint32_t to = w->machine & (INK_KERNEL_MACHINES - 1);
	const struct ink_heard *h = &w->heard[(w->first[to] - 1) & (INK_KERNEL_TOLD - 1)];
	const struct ink_kernel_event *e = INK_AT(events, m->events_at + h->event);

	w->first[to] = h->next;
	w->step.teller = h->teller;
	w->step.reversed = (uint8_t)h->reversed;
	if (!e || h->event >= m->written || !ink_identify(w))
		return 0;
	if (m->tails > 1)
		ink_find_tail(w);
	w->step.event = (uint16_t)ink_compiled_event(w, m, e, w->packet.flags ^ h->reversed);
	return 1;
}

/* ------------------------------------------------------------------ its own */

static inline void ink_note_packet(const struct ink_work *w, struct ink_kernel_counts *n, uint32_t eventless)
{
	n->packets += w->segments;
	n->skipped[w->packet.skip & 15] += w->segments;
	if (eventless && w->packet.skip == INK_NOT_SKIPPED)
		n->eventless += w->segments;
	if (w->segments == 1)
		return;
	n->segments += w->segments;
	n->bundles += w->bundle;
}

/* A reverse event is about the flow of the other direction; the tail is that of the packet's own. */
static inline int ink_take_own(struct ink_work *w, const struct ink_kernel_machine *m)
{
	struct ink_kernel_counts *n = INK_AT(counts, w->machine);
	const struct ink_kernel_event *e;
	uint32_t event;

	w->step.teller = w->step.reversed = 0;
	if (m->tails > 1 && w->packet.skip == INK_NOT_SKIPPED && ink_identify(w))
		ink_find_tail(w);
	event = ink_written_event(w, m);
	e = event < m->written ? INK_AT(events, m->events_at + event) : NULL;
	if (n)
		ink_note_packet(w, n, !e);
	if (!e)
		return 0;
	w->step.event = (uint16_t)ink_compiled_event(w, m, e, w->packet.flags);
	w->step.reversed = e->reverse;
	return ink_identify(w);
}

/* ------------------------------------------------------------------ the loop */

enum ink_turn { INK_TURN_DONE, INK_TURN_STEP, INK_TURN_NO_STEP, INK_TURN_PAYLOAD };

/*
 * Ticks that are due are made, with the test clock. Else a timer makes them, and time has to be told only when it
 * begins, with the first packet.
 */
static inline void ink_pass_time(const struct ink_work *w)
{
	const struct ink_kernel_table *t = INK_AT(tables, w->machine);

	if (w->tested)
		ink_time_pass(w->half + w->machine, w->clock);
	else if (t && t->timeouts && !t->started)
		ink_time_pass(w->half + w->machine, bpf_ktime_get_boot_ns());
}

/* A machine begins with the packet. 0: its payload is needed first. */
static inline int ink_begin_machine(struct ink_work *w, const struct ink_kernel_machine *m)
{
	if (w->begun > w->machine)
		return 1;
	if (m->payload && !w->has_payload && w->packet.payload_captured)
		return 0;
	ink_pass_time(w);
	w->begun = w->machine + 1;
	w->n_made = 0;
	return 1;
}

/* Prepares w->step. After the packet's own event, which it may not have, the next machine is under way. */
static inline int ink_take(struct ink_work *w, const struct ink_kernel_machine *m)
{
	uint32_t number = w->machine;

	w->step.machine = (uint16_t)number;
	w->step.tail = 0;
	if (w->first[number & (INK_KERNEL_MACHINES - 1)])
		return ink_take_told(w, m);
	w->own = 1;
	return ink_take_own(w, m);
}

/* What the next turn is. */
INK_PART ink_prepare(struct ink_work *w)
{
	const struct ink_kernel_machine *m;

	if (!w)
		return INK_TURN_DONE;
	w->machine += w->own;
	w->own = 0;
	if (w->machine >= w->machines || w->machine >= INK_KERNEL_MACHINES)
		return INK_TURN_DONE;
	m = INK_AT(machines, w->half + w->machine);
	if (!m)
		return INK_TURN_DONE;
	if (!ink_begin_machine(w, m))
		return INK_TURN_PAYLOAD;
	return ink_take(w, m) ? INK_TURN_STEP : INK_TURN_NO_STEP;
}

static long ink_turn(uint32_t i, struct ink_loop *c)
{
	struct ink_work *w = c->work;

	w->turn = (uint32_t)ink_prepare(w);
	if (w->turn == INK_TURN_STEP)
		ink_finish(w, ink_table_step(w->half + w->step.machine, w->step.id, w->step.event));
	return w->turn == INK_TURN_DONE || w->turn == INK_TURN_PAYLOAD;
}

/* Until all is done, or a payload is needed: then it is not 0. */
static inline int ink_run(struct ink_work *w)
{
	INK_LOOP(INK_STEPS + 1, ink_turn, w);
	return w->turn == INK_TURN_PAYLOAD;
}

/* What a packet finds when it comes. */
static inline void ink_begin_packet(struct ink_work *w, const struct ink_kernel_control *o)
{
	w->machines = o->machines;
	w->generation = o->generation;
	w->half = w->generation % INK_KERNEL_HALVES * INK_KERNEL_MACHINES;
	w->every = o->every;
	w->machine = w->own = w->begun = w->n_heard = w->n_made = 0;
	w->has_payload = w->pictured = 0;
	w->dropped = w->passed = w->marked = w->saved = w->drop = w->marks = 0;
	w->prioritized = w->classed = w->prioritizes = 0;
	w->n_records = w->saves = 0;
	__builtin_memset(w->first, 0, sizeof w->first);
}

#endif
