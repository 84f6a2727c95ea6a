/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a step does: it counts, tells later machines, says what happens to the packet, and is reported.
 *
 * Counters that conditions read are shared by all processors, the others are per processor. Verdicts of several
 * machines: one drop is enough; of marks, and of priorities and classes, the last one counts. As in `inkling run` a packet
 * is counted once for each machine that drops, marks or saves it, however many of its steps say so. A limit asks its
 * bucket when the step acts; a packet that is to be dropped already takes nothing from it.
 *
 * Records are written when all steps of the packet are made (ink_report), because only the program itself, not a
 * function that is verified on its own for XDP and tc, can copy more of the frame.
 */
#ifndef INKLING_KERNEL_ACT_BPF_H
#define INKLING_KERNEL_ACT_BPF_H

#include "kernel/classify.bpf.h"
#include "kernel/work.bpf.h"

/* ------------------------------------------------------------------ counting */

static inline uint64_t ink_pictures_started(struct ink_work *w, uint32_t amount)
{
	const struct payload *p = ink_pictures_of(w);
	uint32_t type = INK_PICTURE_I + amount - INK_AMOUNT_PICTURES_I;

	return p ? p->video.pictures.started[type & 3] : 0;
}

/* Of a packet that is several, numbers and lengths are those of all; pictures are those of the first. */
static inline uint64_t ink_amount_of(struct ink_work *w, const struct ink_kernel_counting *c)
{
	switch (c->amount) {
	case INK_AMOUNT_PAYLOAD:
		return w->payload;
	case INK_AMOUNT_LENGTH:
		return w->length;
	case INK_AMOUNT_PICTURES_I:
	case INK_AMOUNT_PICTURES_P:
	case INK_AMOUNT_PICTURES_B:
		return ink_pictures_started(w, c->amount);
	default:
		return c->number * w->segments;
	}
}

static inline void ink_add(uint32_t weighs, uint32_t counter, uint64_t amount)
{
	uint64_t *at = weighs ? INK_AT(weighed, counter) : INK_AT(counters, counter);

	if (at && weighs)
		__sync_fetch_and_add(at, amount);
	else if (at)
		*at += amount;
}

static long ink_count_next(uint32_t i, struct ink_loop *c)
{
	struct ink_work *w = c->work;
	const struct ink_kernel_counting *n = w->low < w->high ? INK_AT(countings, w->low) : NULL;

	if (!n)
		return 1;
	w->low++;
	ink_add(n->weighed, n->counter, ink_amount_of(w, n));
	return 0;
}

static inline void ink_count(struct ink_work *w, const struct ink_kernel_action *a)
{
	w->low = a->countings_at;
	w->high = a->countings_at + a->countings;
	INK_LOOP(INK_KERNEL_COUNTINGS, ink_count_next, w);
}

/* ------------------------------------------------------------------- telling */

/* The tool refuses machines whose rows can tell more than there is room for. */
static inline void ink_queue(struct ink_work *w, const struct ink_kernel_tell *t)
{
	uint32_t n = w->n_heard, to = t->machine & (INK_KERNEL_MACHINES - 1), last = w->last[to] - 1;

	if (n >= INK_KERNEL_TOLD)
		return;
	w->heard[n].next = 0;
	w->heard[n].event = t->event;
	w->heard[n].teller = (uint16_t)(w->machine + 1);
	w->heard[n].reversed = w->step.reversed ^ (t->reversed != 0);
	w->n_heard = n + 1;
	if (w->first[to])
		w->heard[last & (INK_KERNEL_TOLD - 1)].next = n + 1;
	else
		w->first[to] = n + 1;
	w->last[to] = n + 1;
}

static long ink_tell_next(uint32_t i, struct ink_loop *c)
{
	struct ink_work *w = c->work;
	const struct ink_kernel_tell *t = w->low < w->high ? INK_AT(tells, w->low) : NULL;

	if (!t)
		return 1;
	w->low++;
	ink_queue(w, t);
	return 0;
}

static inline void ink_tell(struct ink_work *w, const struct ink_kernel_action *a)
{
	w->low = a->tells_at;
	w->high = a->tells_at + a->tells;
	INK_LOOP(INK_KERNEL_TELLS, ink_tell_next, w);
}

/* ------------------------------------------------------------------- verdicts */

/* Is it the first time that this machine does so with the packet? */
static inline uint32_t ink_is_first(uint32_t *machines, uint32_t machine)
{
	uint32_t bit = 1u << (machine & 31), before = *machines;

	*machines = before | bit;
	return !(before & bit);
}

static inline void ink_prioritize(struct ink_work *w, const struct ink_kernel_action *a,
				  struct ink_kernel_counts *n)
{
	if (a->prioritizes == INK_CLASS)
		n->classed += ink_is_first(&w->classed, w->machine);
	else
		n->prioritized += ink_is_first(&w->prioritized, w->machine);
	w->prioritizes = 1;
	w->priority = a->priority;
}

static inline void ink_judge(struct ink_work *w, const struct ink_kernel_action *a,
			     struct ink_kernel_counts *n)
{
	if (a->verdict == INK_DROP)
		n->dropped += ink_is_first(&w->dropped, w->machine);
	if (a->verdict == INK_PASS)
		n->passed += ink_is_first(&w->passed, w->machine);
	w->drop |= a->verdict == INK_DROP;
	if (a->prioritizes)
		ink_prioritize(w, a, n);
	if (a->limited && !w->drop && !ink_bucket_pass(w, a->limit, w->step.id)) {
		n->limited++;
		w->drop = 1;
	}
	if (!a->marks)
		return;
	n->marked += ink_is_first(&w->marked, w->machine);
	w->marks = 1;
	w->mark = a->mark;
}

/* ------------------------------------------------------------------- records */

static inline void ink_keep_record(struct ink_work *w, const struct ink_kernel_action *a,
				   struct ink_kernel_counts *n)
{
	uint32_t at = w->n_records;

	if ((!a->reports && !a->saves && !w->every) || at >= INK_STEPS)
		return;
	w->step.report = a->reports;
	w->step.save = a->saves;
	w->records[at] = w->step;
	w->n_records = at + 1;
	w->saves |= a->saves;
	n->reports += a->reports != 0;
	if (a->saves)
		n->saved += ink_is_first(&w->saved, w->machine);
}

/* What w->step does. A step that was refused tells nothing. */
static inline void ink_act(struct ink_work *w, struct ink_kernel_counts *n)
{
	const struct ink_kernel_machine *m = INK_AT(machines, w->half + w->machine);
	const struct ink_kernel_action *a = m ? INK_AT(actions, m->actions_at + w->step.action) : NULL;

	if (!a || w->step.action >= m->actions)
		return;
	if (a->countings)
		ink_count(w, a);
	if (a->tells && !w->step.refused)
		ink_tell(w, a);
	ink_judge(w, a, n);
	ink_keep_record(w, a, n);
}

static inline void ink_write_record(struct ink_work *w, const struct ink_made *s)
{
	struct ink_kernel_report *r = &w->record;

	r->id = s->id;
	r->machine = s->machine;
	r->teller = s->teller;
	r->event = s->event;
	r->action = s->action;
	r->from = s->from;
	r->to = s->to;
	r->reversed = s->reversed;
	r->refused = s->refused;
	r->report = s->report;
	r->save = s->save;
}

/* The frame follows the record if a step saves the packet; only the bytes that were copied can. */
static long ink_report_next(uint32_t i, struct ink_loop *c)
{
	struct ink_work *w = c->work;
	struct ink_kernel_control *o = INK_AT(control, 0);
	long lost;

	if (i >= w->n_records || i >= INK_STEPS || !o)
		return 1;
	ink_write_record(w, &w->records[i]);
	w->record.bytes = w->record.save ? w->saved_bytes : 0;
	lost = w->record.bytes ? bpf_ringbuf_output(&reports, &w->record,
						    sizeof w->record + ink_argument(w->record.bytes, INK_COPY), 0)
			       : bpf_ringbuf_output(&reports, &w->record, sizeof w->record, 0);
	if (lost)
		__sync_fetch_and_add(&o->lost, 1);
	return 0;
}

/* Writes the records of the packet; `saved_bytes` of the frame are in the copy. */
INK_PART ink_report(struct ink_work *w)
{
	if (!w)
		return 0;
	w->record.generation = w->generation;
	w->record.clock = w->tested ? w->clock : bpf_ktime_get_boot_ns();
	w->record.number = w->number;
	w->record.interface = w->interface;
	w->record.hook = (uint16_t)w->hook;
	w->record.cpu = (uint16_t)bpf_get_smp_processor_id();
	w->record.segments = w->segments;
	w->record.packet = w->packet;
	w->record.packet.frame = w->record.packet.payload = NULL;
	INK_LOOP(INK_STEPS, ink_report_next, w);
	return 0;
}

#endif
