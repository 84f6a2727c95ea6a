/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Time for all kinds. When a tick begins, it computes once what it does to each
 * code; then the kind sweeps its cells with that table, at once or in portions.
 *
 * A tick at once takes all looks that fell due since the last one. A tick in
 * portions takes at most one: a flow touched while the tick is under way cannot be
 * told from one touched before. Whatever a longer jump should have expired then
 * expires at the following looks.
 */
#include <errno.h>
#include <string.h>

#include "table/epoch.h"

/* ------------------------------------------------------- the table of codes */

static struct ink_timing timing_of(const struct ink_table *t, unsigned state)
{
	struct ink_timing each_tick = {.period = 1, .timeout = INK_ABSENT};

	if (!t->program)
		return each_tick;
	return t->program->timings[state == t->coding.unsure ? t->states : state];
}

/* Without age bits only don't-know entries end. */
static unsigned looks_at(const struct ink_table *t, unsigned state, unsigned most)
{
	const struct ink_coding *c = &t->coding;
	unsigned looks;

	if (!c->age_bits && state != c->unsure)
		return 0;
	looks = ink_age_looks(t->aging.now, t->aging.target, timing_of(t, state).period, c->age_bits);
	return looks < most ? looks : most;
}

static unsigned code_after(const struct ink_table *t, unsigned code, unsigned looks)
{
	const struct ink_coding *c = &t->coding;
	unsigned state = ink_code_state(c, code);
	uint32_t age = ink_age_after(code & c->age_top, looks);
	int timeout = timing_of(t, state).timeout;

	if (age != INK_AGE_EXPIRED)
		return (code & ~c->age_top) | age;
	return INK_EXPIRES | (timeout == INK_ABSENT ? INK_GONE : ink_code(c, (unsigned)timeout));
}

static void plan_state(struct ink_table *t, unsigned state, unsigned most)
{
	unsigned looks = looks_at(t, state, most), ages = t->coding.age_top + 1;

	for (unsigned code = state * ages; code < (state + 1) * ages; code++)
		t->aging.after[code] = (uint16_t)code_after(t, code, looks);
	if (ink_has_epochs(t))
		ink_epoch_advance(t, state, looks);
	t->aging.idle &= looks == 0;
	t->aging.single &= looks <= 1;
	t->aging.all_due &= looks == 1;
}

static void plan_codes(struct ink_table *t, unsigned most)
{
	for (size_t code = 0; code < ink_codes(&t->plan); code++)
		t->aging.after[code] = (uint16_t)code;
	t->aging.idle = t->aging.all_due = 1;
	t->aging.single = t->coding.age_bits == 1;
	for (unsigned state = 0; state < t->states; state++)
		plan_state(t, state, most);
	plan_state(t, t->coding.unsure, most);
}

/* ------------------------------------------------------------------ the tick */

static void begin(struct ink_table *t, uint64_t now, unsigned most)
{
	struct ink_aging *a = &t->aging;

	a->target = now;
	a->cursor = 0;
	a->flags_due = __atomic_exchange_n(&a->flagged, 0, __ATOMIC_RELAXED);
	plan_codes(t, most);
	if (a->idle && !a->flags_due)
		a->cursor = t->ops->units(t);
}

static void finish(struct ink_table *t)
{
	if (!t->aging.idle)
		t->ops->sweep_side(t);
	ink_epoch_publish(t);
	__atomic_store_n(&t->aging.now, t->aging.target, __ATOMIC_RELAXED);
}

/* Goes on with the tick under way for that many units. */
static void advance(struct ink_table *t, uint64_t units)
{
	struct ink_aging *a = &t->aging;
	uint64_t all = t->ops->units(t), from = a->cursor < all ? a->cursor : all;
	uint64_t to = units < all - from ? from + units : all;

	t->ops->sweep(t, from, to);
	a->cursor = to;
	if (to == all)
		finish(t);
	else
		ink_epoch_publish_passed(t, to);
}

static int under_way(const struct ink_table *t)
{
	return t->aging.target != t->aging.now;
}

/* The expiries since the last call; the counts start again from 0. */
static struct ink_counts take_expired(struct ink_table *t)
{
	uint64_t *expired = t->aging.expired;
	struct ink_counts counts = {.unsure = expired[t->coding.unsure]};

	counts.total = counts.unsure;
	for (unsigned state = 0; state < t->states; state++)
		counts.total += counts.state[state] = expired[state];
	memset(expired, 0, ink_state_codes(&t->plan) * sizeof *expired);
	return counts;
}

static void hand_over(struct ink_table *t, struct ink_counts *expired)
{
	struct ink_counts counts = take_expired(t);

	__atomic_fetch_add(&t->counters.expired, counts.total, __ATOMIC_RELAXED);
	if (expired)
		*expired = counts;
}

static void release(struct ink_table *t)
{
	__atomic_store_n(&t->aging.busy, 0, __ATOMIC_RELEASE);
}

static int acquire(struct ink_table *t, uint64_t now)
{
	if (t->rules_expected && !t->program)
		return -EINVAL;
	if (__atomic_exchange_n(&t->aging.busy, 1, __ATOMIC_ACQUIRE))
		return -EBUSY;
	if (now >= t->aging.now)
		return 0;
	release(t);
	return -EINVAL;
}

int ink_tick(struct ink_table *t, uint64_t now, struct ink_counts *expired)
{
	int error = acquire(t, now);

	if (error)
		return error;
	if (under_way(t))
		advance(t, UINT64_MAX);
	if (now > t->aging.now) {
		begin(t, now, 4);
		advance(t, UINT64_MAX);
	}
	hand_over(t, expired);
	release(t);
	return 0;
}

int ink_tick_portion(struct ink_table *t, uint64_t now, uint64_t cells, struct ink_counts *expired)
{
	uint64_t units = cells / t->ops->unit_cells(t) + 1;
	int more, error = acquire(t, now);

	if (error)
		return error;
	if (!under_way(t) && now > t->aging.now)
		begin(t, now, 1);
	if (under_way(t))
		advance(t, units);
	more = under_way(t) || now > t->aging.now;
	hand_over(t, expired);
	release(t);
	return more;
}
