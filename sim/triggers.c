/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How it is made. A flow's whole life is drawn when it begins: on which of its
 * packets something happens, and what. A byte for each active flow counts the
 * packets down to the next of these moments:
 *
 *     packet  --draw-->  slot  --> countdown[slot] - 1  --> 0? --> what the flow has planned
 *
 * 60,000 such bytes stay in the cache, the lives (32 bytes each) are touched once
 * in twenty packets.
 */
#include "sim/triggers.h"

#include <stdlib.h>

#include "sim/seeded.h"

enum { LIFE_MOST = SIM_STATES_MOST };

/* Of one active flow. Packets are counted from 0. */
struct life {
	uint64_t number;
	uint8_t kind, state; /* the true one */
	uint8_t packets, next, moments;
	bool endless;
	uint8_t at[LIFE_MOST]; /* the packets that have a trigger, ascending */
	uint8_t trigger[LIFE_MOST];
};

struct sim_triggers {
	struct sim_triggers_options o;
	uint64_t words;   /* drawn for packets */
	uint64_t choices; /* drawn for all else */
	uint64_t born, strangers;
	uint64_t packets, until_tick, left;
	uint64_t ended[SIM_KINDS];
	uint8_t *countdown;
	struct life *lives;
};

/* ------------------------------------------------------------------ choices */

static uint64_t choice(struct sim_triggers *s)
{
	return sim_mix(s->o.seed * 4 + 1 + (s->choices++ << 32));
}

static bool happens(struct sim_triggers *s, double share)
{
	return share > 0 && sim_share(choice(s)) < share;
}

static uint64_t id_of(const struct sim_triggers *s, uint64_t number)
{
	return sim_mix(sim_mix(s->o.seed * 4 + 2) ^ number);
}

static enum sim_flow_kind draw_kind(struct sim_triggers *s)
{
	double share = sim_share(choice(s));

	if (share < s->o.interesting)
		return SIM_INTERESTING;
	return share < s->o.interesting + s->o.noise ? SIM_NOISE : SIM_RANDOM;
}

/* `count` different packets out of from .. packets-1, ascending: marks in a row of bits. */
static void draw_packets(struct sim_triggers *s, struct life *life, uint8_t from, uint8_t count)
{
	uint64_t marks[SIM_PACKETS_MOST / 64] = {0};
	uint8_t *at = &life->at[life->moments];

	for (unsigned left = count; left;) {
		uint32_t packet = from + sim_below(choice(s), (uint64_t)(life->packets - from));
		uint64_t mark = 1ull << packet % 64;

		left -= !(marks[packet / 64] & mark);
		marks[packet / 64] |= mark;
	}
	for (unsigned word = 0; word < SIM_PACKETS_MOST / 64; word++)
		for (; marks[word]; marks[word] &= marks[word] - 1)
			*at++ = (uint8_t)(word * 64 + (unsigned)__builtin_ctzll(marks[word]));
}

/* In order, from trigger `first` on; noise leaves the last out and shuffles the others. */
static void draw_triggers(struct sim_triggers *s, struct life *life, uint8_t first)
{
	uint8_t count = (uint8_t)(s->o.states - first - (life->kind == SIM_NOISE));
	uint8_t *trigger = &life->trigger[life->moments];

	draw_packets(s, life, life->moments, count);
	for (uint8_t i = 0; i < count; i++)
		trigger[i] = (uint8_t)(first + i);
	for (uint8_t i = count; life->kind == SIM_NOISE && i > 1; i--) {
		uint32_t other = sim_below(choice(s), i);
		uint8_t moved = trigger[other];

		trigger[other] = trigger[i - 1];
		trigger[i - 1] = moved;
	}
	life->moments = (uint8_t)(life->moments + count);
}

static struct life draw_life(struct sim_triggers *s)
{
	uint32_t shortest = s->o.packets - s->o.spread, lengths = 2 * s->o.spread + 1;
	struct life life = {.number = s->born++, .kind = (uint8_t)draw_kind(s)};

	life.packets = (uint8_t)(shortest + sim_below(choice(s), lengths));
	if (life.kind == SIM_RANDOM)
		return life;
	life.endless = happens(s, s->o.endless);
	if (life.kind == SIM_INTERESTING && s->o.starts_by_trigger) {
		life.at[0] = 0;
		life.trigger[0] = 1;
		life.moments = 1;
		draw_triggers(s, &life, 2);
	} else
		draw_triggers(s, &life, 1);
	return life;
}

/* ------------------------------------------------------------------- moments */

/* The packet at which something happens next: a trigger, or the last one. */
static uint8_t next_moment(const struct life *life)
{
	return life->next < life->moments ? life->at[life->next] : (uint8_t)(life->packets - 1);
}

/* A slot's first flow, or the one after the last. Its first packet is a moment if it begins there. */
static void be_born(struct sim_triggers *s, uint32_t slot)
{
	struct life life = draw_life(s);
	bool begins = life.kind != SIM_RANDOM && !s->o.starts_by_trigger;

	s->lives[slot] = life;
	s->countdown[slot] = (uint8_t)(begins ? 1 : next_moment(&life) + 1);
}

static uint8_t state_after(const struct sim_triggers *s, uint8_t state, unsigned trigger)
{
	if (state == trigger || (trigger == 1 && state == 0 && s->o.starts_by_trigger))
		return (uint8_t)(trigger + 1);
	return state;
}

static struct sim_trigger thing(const struct sim_triggers *s, uint32_t slot, unsigned what, uint8_t after)
{
	struct life *life = &s->lives[slot];
	struct sim_trigger t = {.id = id_of(s, life->number),
				.slot = slot,
				.what = (uint8_t)what,
				.kind = life->kind,
				.state = life->state,
				.after = after};

	life->state = after;
	return t;
}

static unsigned any_trigger(struct sim_triggers *s)
{
	return 1 + sim_below(choice(s), s->o.states - 1);
}

static struct sim_trigger stranger(struct sim_triggers *s)
{
	return (struct sim_trigger){.id = id_of(s, ~s->strangers++),
				    .slot = s->o.active,
				    .what = (uint8_t)(SIM_STEP + any_trigger(s)),
				    .kind = SIM_NOISE};
}

/* A trigger that leaves the flow where it is. */
static struct sim_trigger invalid(struct sim_triggers *s, uint32_t slot)
{
	uint8_t state = s->lives[slot].state;
	unsigned trigger;

	do
		trigger = any_trigger(s);
	while (state_after(s, state, trigger) != state);
	return thing(s, slot, SIM_STEP + trigger, state);
}

static size_t step(struct sim_triggers *s, uint32_t slot, struct sim_trigger *to)
{
	struct life *life = &s->lives[slot];
	unsigned trigger = life->trigger[life->next++];
	size_t n = 0;

	to[n++] = thing(s, slot, SIM_STEP + trigger, state_after(s, life->state, trigger));
	if (happens(s, s->o.invalid))
		to[n++] = invalid(s, slot);
	if (happens(s, s->o.strangers))
		to[n++] = stranger(s);
	return n;
}

static size_t end(struct sim_triggers *s, uint32_t slot, struct sim_trigger *to)
{
	const struct life *life = &s->lives[slot];
	bool told = !life->endless;

	s->ended[life->kind]++;
	s->left--;
	if (told)
		*to = thing(s, slot, SIM_END, 0);
	be_born(s, slot);
	return told;
}

/* The countdown of a slot has come to 0: what its packet brings. */
static size_t moment(struct sim_triggers *s, uint32_t slot, struct sim_trigger *to)
{
	struct life *life = &s->lives[slot];
	uint8_t here, now = next_moment(life);
	size_t n = 0;

	if (life->kind != SIM_RANDOM && !s->o.starts_by_trigger && !life->state) {
		to[n++] = thing(s, slot, SIM_BEGIN, 1);
		here = 0;
		if (now > here)
			return s->countdown[slot] = (uint8_t)(now - here), n;
	}
	here = now;
	if (life->next < life->moments)
		n += step(s, slot, to + n);
	if (here == life->packets - 1)
		return n + end(s, slot, to + n);
	s->countdown[slot] = (uint8_t)(next_moment(life) - here);
	return n;
}

/* ------------------------------------------------------------------- packets */

static size_t tick(struct sim_triggers *s, struct sim_trigger *to)
{
	s->until_tick = s->o.period;
	*to = (struct sim_trigger){.slot = s->o.active, .what = SIM_TICK};
	return 1;
}

/* Packets up to one that brings something, or to the tick. Two from each word: its halves. */
static uint32_t quiet_packets(struct sim_triggers *s)
{
	uint64_t words = s->words, first = s->packets, last = first + s->until_tick, packet = first;
	uint32_t active = s->o.active, slot = active;
	uint64_t word = sim_mix(words + packet / 2) << (packet % 2 ? 32 : 0);

	while (packet < last) {
		slot = sim_below(word, active);
		packet++;
		if (!--s->countdown[slot])
			break;
		slot = active;
		word = packet % 2 ? word << 32 : sim_mix(words + packet / 2);
	}
	s->packets = packet;
	s->until_tick = last - packet;
	return slot;
}

size_t sim_triggers_next(struct sim_triggers *s, struct sim_trigger *things, size_t most)
{
	size_t n = 0;

	while (s->left && n + SIM_AT_ONCE <= most) {
		uint32_t slot = quiet_packets(s);

		if (slot < s->o.active)
			n += moment(s, slot, things + n);
		if (!s->until_tick)
			n += tick(s, things + n);
	}
	return n;
}

/* ---------------------------------------------------------------- make and free */

static void set_defaults(struct sim_triggers_options *o)
{
	o->flows = o->flows ? o->flows : 1000000;
	o->active = o->active ? o->active : 60000;
	o->packets = o->packets ? o->packets : 100;
	o->spread = o->spread ? o->spread : 40;
	o->states = o->states ? o->states : 10;
	o->period = o->period ? o->period : 6000000;
	o->interesting = o->interesting > 0 ? o->interesting : .3;
	o->noise = o->noise > 0 ? o->noise : .3;
}

/* Every trigger needs a packet of its own, and the lengths a byte. */
static bool in_range(const struct sim_triggers_options *o)
{
	return o->active <= SIM_ACTIVE_MOST && o->states >= 3 && o->states <= SIM_STATES_MOST &&
	       o->spread < o->packets && o->packets - o->spread >= o->states &&
	       o->packets + o->spread <= SIM_PACKETS_MOST && o->interesting + o->noise <= 1;
}

void sim_triggers_free(struct sim_triggers *s)
{
	if (!s)
		return;
	free(s->countdown);
	free(s->lives);
	free(s);
}

struct sim_triggers *sim_triggers_new(const struct sim_triggers_options *options)
{
	struct sim_triggers *s = calloc(1, sizeof *s);

	if (!s)
		return NULL;
	s->o = *options;
	set_defaults(&s->o);
	s->words = sim_mix(s->o.seed * 4);
	s->left = s->o.flows;
	s->until_tick = s->o.period;
	if (in_range(&s->o)) {
		s->countdown = calloc(s->o.active, sizeof *s->countdown);
		s->lives = calloc(s->o.active, sizeof *s->lives);
	}
	if (!s->countdown || !s->lives)
		return sim_triggers_free(s), NULL;
	for (uint32_t slot = 0; slot < s->o.active; slot++)
		be_born(s, slot);
	return s;
}

uint64_t sim_triggers_packets(const struct sim_triggers *s)
{
	return s->packets;
}

uint64_t sim_triggers_ended(const struct sim_triggers *s, enum sim_flow_kind kind)
{
	return s->ended[kind];
}
