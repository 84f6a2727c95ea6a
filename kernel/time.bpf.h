/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Time in BPF: the ticks of table/tick.c and packet/stage.c.
 *
 * A machine's first packet sets the origin of its table's ticks; tick first + n begins at origin + n x length. What a
 * tick does to each code is computed when it begins, for all lines; a sweep then reads one bit for each entry (dead),
 * and writes words in which an entry expires.
 *
 *     the test clock   a packet makes the ticks that are due before it is stepped, at once: up to four looks together
 *     the boot clock   a timer for each table, which the tool starts and which goes on without it. It sweeps 256 lines
 *                      at a time and publishes which are passed (table/epoch.h), so a tick takes one look at most
 *
 *     begin  ->  portion  ->  portion  ->  ...  ->  finish: side table, next view, countings of time-outs
 *
 * One processor ticks at a time (table.busy). A machine that a reload brought may have ticks of another length
 * than the table's origin (table.length): then the origin is set anew, at the present tick.
 */
#ifndef INKLING_KERNEL_TIME_BPF_H
#define INKLING_KERNEL_TIME_BPF_H

#include <inkling/machine.h>

#include "kernel/table.bpf.h"

enum {
	INK_EXPIRES = 0x8000,    /* in tick.after: its time is over; below: the code after the move */
	INK_GONE = 0x7fff,       /* ... or this: it is deleted */
	INK_CLOCK_BOOTTIME = 7,  /* CLOCK_BOOTTIME of time.h, which needs a C library */
	INK_LOOKS = 4,           /* at once; no entry outlives more */
	INK_MS = 1000000,        /* in ns */
	INK_IDLE = 100 * INK_MS, /* between looks of a timer at whether there is something to do */
	INK_GAP = INK_MS,        /* between two portions at most, */
	INK_LEAST_GAP = 50000    /* and at least, and while a tool waits for the end of the tick */
};

struct ink_kernel_timer {
	struct bpf_timer timer;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, INK_KERNEL_MACHINES);
	__type(key, uint32_t);
	__type(value, struct ink_kernel_timer);
} timers SEC(".maps");

/* What callbacks of this file are given; none of them changes it. */
struct ink_sweep {
	uint32_t machine, from, slots;
};

enum {
	INK_EXPIRY_TURNS = 64
}; /* for the slots of a line, 32 at the most: others may have changed as many words */

/* ------------------------------------------------------------- what a tick does */

static __always_inline uint32_t ink_looks_at(const struct ink_kernel_table *t, uint32_t state,
					     uint32_t period, uint32_t most)
{
	uint32_t looks;

	if (!t->age_bits && state != t->unsure)
		return 0;
	looks = ink_age_looks(t->now, t->target, period, t->age_bits);
	return looks < most ? looks : most;
}

static __always_inline uint32_t ink_code_after(const struct ink_kernel_table *t,
					       const struct ink_kernel_state *s, uint32_t code,
					       uint32_t looks)
{
	uint32_t age = ink_age_after(code & t->age_top, looks);

	if (age != INK_AGE_EXPIRED)
		return (code & ~t->age_top) | age;
	return INK_EXPIRES | (s->timeout < 0 ? INK_GONE : (uint32_t)s->timeout << t->age_bits | t->age_top);
}

/* One state: what each of its codes becomes, which of them expire as they are stored, and the epoch behind the tick. */
__noinline uint32_t ink_plan_state(uint32_t machine, uint32_t state, uint32_t most)
{
	const struct ink_kernel_machine *k = INK_AT(machines, machine);
	struct ink_kernel_table *t = INK_AT(tables, machine % INK_KERNEL_MACHINES);
	struct ink_kernel_tick *tick = INK_AT(ticks, machine % INK_KERNEL_MACHINES);
	uint32_t looks, ages, view, fresh;
	const struct ink_kernel_state *s;

	if (!k || !t || !tick || state >= INK_KERNEL_STATES)
		return 0;
	s = INK_AT(states, k->states_at + (state == t->unsure ? t->states : state));
	if (!s)
		return 0;
	looks = ink_looks_at(t, state, s->period, most);
	ages = t->age_top + 1;
	view = (uint32_t)(t->view >> 32) & 1;
	fresh = t->fresh[view][state];
	for (uint32_t age = 0; age < 4 && age < ages; age++) {
		uint32_t stored = state << t->age_bits | age, code = ink_decode(t, fresh, stored);
		uint32_t after = ink_code_after(t, s, code, looks);

		tick->after[code & (INK_KERNEL_CODES - 1)] = after;
		if (after & INK_EXPIRES)
			tick->dead[stored / 64 & (INK_KERNEL_CODES / 64 - 1)] |= 1ull << (stored & 63);
	}
	t->fresh[view ^ 1][state] = (fresh & ~t->age_top) | ((fresh + looks) & t->age_top);
	tick->idle &= looks == 0;
	return 1;
}

static long ink_plan_next(uint32_t i, struct ink_sweep *c)
{
	const struct ink_kernel_table *t = INK_AT(tables, c->machine % INK_KERNEL_MACHINES);

	if (t && (i < t->states || i == t->unsure))
		ink_plan_state(c->machine, i, c->from);
	return 0;
}

/* Begins a tick that takes so many looks at most. */
__noinline uint32_t ink_tick_begin(uint32_t machine, uint64_t target, uint32_t most)
{
	struct ink_sweep c = {.machine = machine, .from = most};
	struct ink_kernel_table *t = INK_AT(tables, machine % INK_KERNEL_MACHINES);
	struct ink_kernel_tick *tick = INK_AT(ticks, machine % INK_KERNEL_MACHINES);

	if (!t || !tick)
		return 0;
	t->target = target;
	t->cursor = 0;
	t->flags_due = __sync_lock_test_and_set(&t->flagged, 0);
	for (uint32_t i = 0; i < INK_KERNEL_CODES / 64; i++)
		tick->dead[i] = 0;
	tick->idle = 1;
	bpf_loop(INK_KERNEL_STATES, ink_plan_next, &c, 0);
	if (tick->idle && !t->flags_due)
		t->cursor = t->shape.lines;
	return 1;
}

/* --------------------------------------------------------------------- the lines */

static __always_inline uint32_t ink_word_dead(const struct ink_line_shape *s,
					      const struct ink_kernel_tick *tick, uint64_t word)
{
	uint32_t dead = 0;

#pragma unroll
	for (uint32_t lane = 0; lane < 4; lane++) {
		uint32_t entry = ink_line_entry(s, word, lane * 16), code = ink_line_entry_code(s, entry);
		uint32_t used = INK_OPAQUE(entry | -entry) >> 31; /* seen through, it would be a branch */

		used &= (uint32_t)(tick->dead[code / 64 & (INK_KERNEL_CODES / 64 - 1)] >> (code & 63));
		dead |= used << lane;
	}
	return dead;
}

/* The slots of a line whose entries expire. */
static __always_inline uint32_t ink_line_dead(const struct ink_line_shape *s,
					      const struct ink_kernel_tick *tick, const struct ink_line *line)
{
	uint32_t slots = 0;

#pragma unroll
	for (uint32_t i = 0; i < INK_LINE_WORDS; i++) {
		slots |= ink_word_dead(s, tick, ink_line_read(&line->word[i])) << 4 * ink_word_order(i);
		slots = INK_OPAQUE(slots);
	}
	return slots & (uint32_t)s->slots;
}

/* What becomes of an entry that expires, as fate in kinds/line/sweep.h: INK_EXPIRES with its new stored code; or 0. */
static __always_inline uint32_t ink_fate(const struct ink_kernel_table *t, const struct ink_kernel_tick *tick,
					 uint32_t stored)
{
	uint32_t view = (uint32_t)(t->view >> 32) & 1,
		 state = stored >> t->age_bits & (INK_KERNEL_STATES - 1);
	uint32_t after = tick->after[ink_decode(t, t->fresh[view][state], stored) & (INK_KERNEL_CODES - 1)];

	if (!(after & INK_EXPIRES) || after == (INK_EXPIRES | INK_GONE))
		return after & INK_EXPIRES ? after : 0;
	state = (after & ~INK_EXPIRES) >> t->age_bits & (INK_KERNEL_STATES - 1);
	return INK_EXPIRES | t->fresh[view ^ 1][state];
}

/* An entry expires. 0: another processor has changed its word since it was seen. */
static __always_inline int ink_slot_expire(const struct ink_kernel_table *t, struct ink_kernel_tick *tick,
					   struct ink_line *line, uint32_t slot)
{
	uint32_t column = ink_slot_column(slot), entry, code, after, becomes;
	uint64_t *word = &line->word[ink_slot_word(slot)], seen = ink_line_read(word);

	entry = ink_line_entry(&t->shape, seen, column);
	code = ink_line_entry_code(&t->shape, entry);
	after = entry ? ink_fate(t, tick, code) : 0;
	if (!after)
		return 1;
	becomes = ink_line_make_entry(&t->shape, ink_line_entry_fp(&t->shape, entry), after & ~INK_EXPIRES);
	if (after == (INK_EXPIRES | INK_GONE))
		becomes = 0;
	if (__sync_val_compare_and_swap(word, seen,
					ink_line_change(&t->shape, seen, column, entry, becomes)) != seen)
		return 0;
	tick->expired[code >> t->age_bits & (INK_KERNEL_STATES - 1)]++;
	return 1;
}

/*
 * The lowest of the slots that are left. It stays if another processor has changed its word meanwhile, and is tried again
 * in the next turn: a loop of tries in here took the verifier of Linux 7.2 a million instructions.
 */
static long ink_expire_next(uint32_t i, struct ink_sweep *c)
{
	const struct ink_kernel_table *t = INK_AT(tables, c->machine % INK_KERNEL_MACHINES);
	struct ink_kernel_tick *tick = INK_AT(ticks, c->machine % INK_KERNEL_MACHINES);
	struct ink_line *line;
	uint32_t slot;

	(void)i;
	if (!t || !tick)
		return 1;
	line = ink_line_of(t, c->from);
	slot = ink_lowest(tick->slots);
	if (!line || slot > 31)
		return 1;
	if (ink_slot_expire(t, tick, line, slot))
		tick->slots &= tick->slots - 1;
	return 0;
}

static __always_inline void ink_flags_clear(const struct ink_line_shape *s, struct ink_line *line)
{
	uint32_t parts = INK_LINE_WORDS / s->words;

	for (uint32_t i = 0; i < INK_LINE_OVERFLOWS && i < parts; i++)
		if (INK_LOADED(line->word[INK_LINE_OVERFLOW + i]) >> 63)
			__sync_fetch_and_and(&line->word[INK_LINE_OVERFLOW + i], ~INK_LINE_FLAG);
}

static long ink_sweep_next(uint32_t i, struct ink_sweep *c)
{
	const struct ink_kernel_table *t = INK_AT(tables, c->machine % INK_KERNEL_MACHINES);
	struct ink_kernel_tick *tick = INK_AT(ticks, c->machine % INK_KERNEL_MACHINES);
	struct ink_line *line;

	if (!t || !tick)
		return 1;
	line = ink_line_of(t, c->from + i);
	if (!line)
		return 1;
	tick->slots = ink_line_dead(&t->shape, tick, line);
	if (tick->slots) {
		struct ink_sweep at = {.machine = c->machine, .from = c->from + i};

		bpf_loop(INK_EXPIRY_TURNS, ink_expire_next, &at, 0);
	}
	if (t->flags_due)
		ink_flags_clear(&t->shape, line);
	return 0;
}

/* ----------------------------------------------------------------- the side table */

/* Behind a free word: backward-shift deletion moves no word across it (ink_side_top). */
static long ink_top_next(uint32_t i, struct ink_sweep *c)
{
	const struct ink_kernel_table *t = INK_AT(tables, c->machine % INK_KERNEL_MACHINES);
	struct ink_side_walk *walk = INK_AT(walks, c->machine % INK_KERNEL_MACHINES);

	if (!t || !walk || walk->sweep <= 1 || !ink_side_word(t, walk->sweep))
		return 1;
	walk->sweep--;
	return 0;
}

/* Downward: a removal moves only entries behind it, which have been visited. */
static long ink_side_sweep_next(uint32_t i, struct ink_sweep *c)
{
	uint32_t number = c->machine % INK_KERNEL_MACHINES, code, after;
	const struct ink_kernel_table *t = INK_AT(tables, number);
	struct ink_kernel_tick *tick = INK_AT(ticks, number);
	struct ink_side_walk *walk = INK_AT(walks, number);
	uint64_t word;

	if (!t || !tick || !walk || !walk->left)
		return 1;
	word = ink_side_word(t, walk->sweep);
	if (word) {
		walk->left--;
		code = ink_side_word_code(t, word) & (INK_KERNEL_CODES - 1);
		after = tick->after[code];
		if (after & INK_EXPIRES)
			tick->expired[code >> t->age_bits & (INK_KERNEL_STATES - 1)]++;
		if (after == (INK_EXPIRES | INK_GONE))
			ink_side_drop(number, walk->sweep);
		else
			ink_side_recode(t, walk->sweep, after & ~INK_EXPIRES);
	}
	walk->sweep = walk->sweep > 1 ? walk->sweep - 1 : t->side_words;
	return 0;
}

/* 0: others hold its lock. */
__noinline uint32_t ink_side_sweep(uint32_t machine)
{
	uint32_t number = machine % INK_KERNEL_MACHINES, *count;
	struct ink_sweep c = {.machine = machine};
	struct ink_kernel_table *t = INK_AT(tables, number);
	struct ink_side_walk *walk = INK_AT(walks, number);

	if (!t || !walk || !t->side_words)
		return 1;
	count = ink_side_count(t);
	if (!count)
		return 1;
	if (!ink_side_take(number))
		return 0;
	walk->left = *count;
	walk->sweep = t->side_words;
	if (walk->left) {
		bpf_loop(t->side_words, ink_top_next, &c, 0);
		bpf_loop(t->side_words, ink_side_sweep_next, &c, 0);
	}
	ink_side_leave(t);
	return 1;
}

/* -------------------------------------------------------------------- the countings */

static __always_inline void ink_count_flows(const struct ink_kernel_counting *c, uint64_t flows)
{
	uint64_t *to;

	if (c->weighed) {
		to = INK_AT(weighed, c->counter);
		if (to)
			__sync_fetch_and_add(to, flows * c->number);
		return;
	}
	to = INK_AT(counters, c->counter);
	if (to)
		*to += flows * c->number;
}

/* A time-out has no packet: its action counts by numbers alone (count_flows in packet/stage.c). */
static __always_inline void ink_count_timeouts(const struct ink_kernel_machine *k, uint32_t action,
					       uint64_t flows)
{
	const struct ink_kernel_action *a = action ? INK_AT(actions, k->actions_at + action) : NULL;

	if (!a)
		return;
	for (uint32_t i = 0; i < INK_KERNEL_COUNTINGS && i < a->countings; i++) {
		const struct ink_kernel_counting *c = INK_AT(countings, a->countings_at + i);

		if (c && c->amount == INK_AMOUNT_NUMBER)
			ink_count_flows(c, flows);
	}
}

static long ink_hand_over_next(uint32_t i, struct ink_sweep *c)
{
	const struct ink_kernel_machine *k = INK_AT(machines, c->machine);
	struct ink_kernel_table *t = INK_AT(tables, c->machine % INK_KERNEL_MACHINES);
	struct ink_kernel_tick *tick = INK_AT(ticks, c->machine % INK_KERNEL_MACHINES);
	const struct ink_kernel_state *s;
	uint64_t flows;

	if (!k || !t || !tick || i >= INK_KERNEL_STATES)
		return 1;
	flows = tick->expired[i];
	if (!flows)
		return 0;
	tick->expired[i] = 0;
	t->expired += flows;
	s = INK_AT(states, k->states_at + (i == t->unsure ? t->states : i));
	if (s)
		ink_count_timeouts(k, s->on_timeout, flows);
	return 0;
}

/* ------------------------------------------------------------------------- a tick */

/* Goes on with the tick under way for so many lines; the last ends it, unless the side table is held: then again. */
__noinline uint32_t ink_tick_advance(uint32_t machine, uint32_t lines)
{
	struct ink_sweep c = {.machine = machine};
	struct ink_kernel_table *t = INK_AT(tables, machine % INK_KERNEL_MACHINES);
	struct ink_kernel_tick *tick = INK_AT(ticks, machine % INK_KERNEL_MACHINES);
	uint32_t left;

	if (!t || !tick)
		return 0;
	left = t->shape.lines - t->cursor;
	c.from = t->cursor;
	if (lines > left)
		lines = left;
	if (lines)
		bpf_loop(lines, ink_sweep_next, &c, 0);
	t->cursor += lines;
	if (lines < left) {
		INK_PUBLISH(t->view, t->view >> 32 << 32 | t->cursor);
		return 0;
	}
	if (!tick->idle && !ink_side_sweep(machine))
		return 0;
	INK_PUBLISH(t->view, ((t->view >> 32) + 1) << 32);
	INK_STORE(t->now, t->target);
	bpf_loop(INK_KERNEL_STATES, ink_hand_over_next, &c, 0);
	return 1;
}

static __always_inline int ink_time_take(struct ink_kernel_table *t)
{
	return !INK_LOADED(t->busy) && !__sync_val_compare_and_swap(&t->busy, 0, 1);
}

static __always_inline void ink_time_leave(struct ink_kernel_table *t)
{
	__sync_lock_test_and_set(&t->busy, 0);
}

/* The first packet, or the first of another tick: the present tick began at that clock. */
static __always_inline void ink_time_start(struct ink_kernel_table *t, const struct ink_kernel_machine *k,
					   uint64_t clock)
{
	t->first = t->now;
	t->origin = clock;
	t->length = k->tick;
	INK_STORE(t->started, 1);
}

/* The tick that the clock is in. */
static __always_inline uint64_t ink_tick_at(const struct ink_kernel_table *t,
					    const struct ink_kernel_machine *k, uint64_t clock)
{
	return clock > t->origin && k->tick ? t->first + (clock - t->origin) / k->tick : t->now;
}

/* --------------------------------------------------------------------- the test clock */

static __always_inline void ink_ticks_at_once(struct ink_kernel_table *t, uint32_t machine, uint64_t target)
{
	if (t->target != t->now)
		ink_tick_advance(machine, UINT32_MAX);
	if (target <= t->now)
		return;
	ink_tick_begin(machine, target, INK_LOOKS);
	ink_tick_advance(machine, UINT32_MAX);
}

static __always_inline void ink_test_time(struct ink_kernel_table *t, const struct ink_kernel_machine *k,
					  uint32_t machine, uint64_t clock)
{
	if (!t->started) {
		ink_time_start(t, k, clock);
		t->clock = clock;
	} else if (t->length != k->tick) {
		ink_time_start(t, k, t->clock);
	}
	if (clock <= t->clock)
		return;
	t->clock = clock;
	ink_ticks_at_once(t, machine, ink_tick_at(t, k, clock));
}

/*
 * Before a packet is stepped: with the test clock the ticks that are due are made; else the first packet says that
 * time begins, and the timer does the rest.
 */
__noinline uint32_t ink_time_pass(uint32_t machine, uint64_t clock)
{
	const struct ink_kernel_control *o = INK_AT(control, 0);
	const struct ink_kernel_machine *k = INK_AT(machines, machine);
	struct ink_kernel_table *t = INK_AT(tables, machine % INK_KERNEL_MACHINES);
	int tests;

	if (!o || !k || !t || !t->timeouts)
		return 0;
	tests = o->clock == INK_KERNEL_TEST;
	if ((!tests && INK_LOADED(t->started)) || !ink_time_take(t))
		return 0;
	if (tests)
		ink_test_time(t, k, machine, clock);
	else if (!t->started)
		ink_time_start(t, k, bpf_ktime_get_boot_ns()); /* `clock` is the test's alone */
	ink_time_leave(t);
	return 1;
}

/* --------------------------------------------------------------------- the boot clock */

/* Between two portions: so that a tick takes half of its length, if that can be. */
static __always_inline uint64_t ink_gap(const struct ink_kernel_table *t, const struct ink_kernel_machine *k)
{
	uint64_t gap = k->tick / (2 * (t->shape.lines / INK_KERNEL_PORTION + 1));

	return gap > INK_GAP ? INK_GAP : gap < INK_LEAST_GAP ? INK_LEAST_GAP : gap;
}

static __always_inline void ink_note_portion(struct ink_kernel_table *t, uint64_t since)
{
	uint64_t ns = bpf_ktime_get_ns() - since;

	t->portions++;
	t->swept += ns;
	if (ns > t->longest)
		t->longest = ns;
}

/* A portion, if there is one to sweep. Returns how many ns later the next one is. */
static __always_inline uint64_t ink_live_time(struct ink_kernel_table *t, const struct ink_kernel_machine *k,
					      const struct ink_kernel_control *o, uint32_t machine)
{
	uint64_t clock = bpf_ktime_get_boot_ns(), since = bpf_ktime_get_ns(), due, wait;

	if (t->length != k->tick)
		ink_time_start(t, k, clock);
	if (t->target == t->now) {
		due = ink_tick_at(t, k, clock);
		wait = t->origin + (t->now - t->first + 1) * k->tick - clock;
		if (due <= t->now)
			return wait < INK_IDLE ? wait : INK_IDLE;
		if (clock < INK_LOADED(o->hold_until))
			return INK_GAP;
		ink_tick_begin(machine, due, 1);
	}
	ink_tick_advance(machine, INK_KERNEL_PORTION);
	ink_note_portion(t, since);
	return clock < INK_LOADED(o->hold_until) ? INK_LEAST_GAP : ink_gap(t, k);
}

__noinline uint64_t ink_time_portion(uint32_t number)
{
	const struct ink_kernel_control *o = INK_AT(control, 0);
	struct ink_kernel_table *t = INK_AT(tables, number);
	const struct ink_kernel_machine *k;
	uint32_t machine;
	uint64_t wait;

	if (!o || !t)
		return INK_IDLE;
	machine = INK_LOADED(o->generation) % INK_KERNEL_HALVES * INK_KERNEL_MACHINES + number;
	k = INK_AT(machines, machine);
	if (!k || !t->timeouts || !INK_LOADED(t->started) || o->clock == INK_KERNEL_TEST || !ink_time_take(t))
		return INK_IDLE;
	wait = ink_live_time(t, k, o, machine);
	ink_time_leave(t);
	return wait;
}

static int ink_timer_fires(void *map, uint32_t *number, struct ink_kernel_timer *timer)
{
	bpf_timer_start(&timer->timer, ink_time_portion(*number), 0);
	return 0;
}

/* A timer that was made before is not made again, but starts. The last turn only ends the loop. */
static long ink_start_next(uint32_t i, struct ink_sweep *c)
{
	struct ink_kernel_timer *timer = INK_AT(timers, i);

	if (i >= c->slots || !timer)
		return 0;
	bpf_timer_init(&timer->timer, &timers, INK_CLOCK_BOOTTIME);
	bpf_timer_set_callback(&timer->timer, ink_timer_fires);
	return bpf_timer_start(&timer->timer, 0, 0) != 0;
}

/* The tool runs it once, by BPF_PROG_TEST_RUN; running it again changes nothing. Non-zero: a timer did not start. */
SEC("tc")
int ink_start(struct __sk_buff *skb)
{
	const struct ink_kernel_control *o = INK_AT(control, 0);
	struct ink_sweep c = {.slots = o ? o->machines : 0};

	return !o || bpf_loop(c.slots + 1, ink_start_next, &c, 0) != c.slots + 1;
}

#endif
