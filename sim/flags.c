/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * All flows are made twice: once to count how many packets fall into each of many
 * short times, and once to put them there. Both times the numbers follow from the
 * seed and the flow, so nothing has to be kept in between. Within one short time the
 * order is that of the flows, and of a flow's packets that of their making.
 */
#include "sim/flags.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "sim/seeded.h"

enum { TIMES = 1 << 20, MOST_PACKETS = 64, MOST_FLOWS = 1 << 29 };

struct life {
	enum sim_flag flags[MOST_PACKETS];
	unsigned count;
	double start, lasts;
};

static void say(struct life *life, enum sim_flag flag)
{
	life->flags[life->count++] = flag;
}

static void end(struct life *life, const struct sim_flags_options *o, uint32_t flow)
{
	if (flow < o->fin) {
		say(life, SIM_FIN);
	} else if (flow < o->fin + o->rst) {
		say(life, SIM_RST);
	} else if (flow < o->fin + o->rst + o->ended) {
		say(life, SIM_FIN);
		say(life, SIM_LAST);
	}
}

/* One more of the middle with probability 3/5, which makes 3/2 of them in the mean. */
static void middle(struct life *life, uint64_t *word)
{
	while (life->count < MOST_PACKETS - 2 && sim_share(*word = sim_mix(*word)) < .6)
		say(life, *word & 1 ? SIM_PSH : SIM_ACK);
}

static struct life life_of(const struct sim_flags_options *o, uint32_t flow)
{
	uint64_t word = sim_mix(o->seed ^ sim_mix(flow));
	struct life life = {.start = sim_share(word)};

	word = sim_mix(word);
	life.lasts = fmin(-.1 * log(1 - sim_share(word)), 1 - life.start);
	say(&life, SIM_SYN);
	say(&life, SIM_ACK);
	middle(&life, &word);
	end(&life, o, flow);
	return life;
}

static size_t time_of(const struct life *life, unsigned i)
{
	double at = life->start + life->lasts * i / (life->count - 1);
	size_t time = (size_t)(at * TIMES);

	return time < TIMES ? time : TIMES - 1;
}

/* Where each time begins: of all packets before it, how many there are. */
static size_t count_all(const struct sim_flags_options *o, size_t *begins)
{
	size_t sum = 0;

	for (uint32_t flow = 0; flow < o->flows; flow++) {
		struct life life = life_of(o, flow);

		for (unsigned i = 0; i < life.count; i++)
			begins[time_of(&life, i)]++;
	}
	for (size_t i = 0; i < TIMES; i++) {
		size_t here = begins[i];

		begins[i] = sum;
		sum += here;
	}
	return sum;
}

static void place_all(const struct sim_flags_options *o, size_t *next, uint32_t *packets)
{
	for (uint32_t flow = 0; flow < o->flows; flow++) {
		struct life life = life_of(o, flow);

		for (unsigned i = 0; i < life.count; i++)
			packets[next[time_of(&life, i)]++] = flow << 3 | life.flags[i];
	}
}

int sim_flags_make(struct sim_flags *trace, const struct sim_flags_options *o)
{
	size_t *begins;

	*trace = (struct sim_flags){0};
	if (o->flows >= MOST_FLOWS || (uint64_t)o->fin + o->rst + o->ended > o->flows)
		return -EINVAL;
	begins = calloc(TIMES, sizeof *begins);
	if (begins) {
		trace->count = count_all(o, begins);
		trace->packets = malloc(trace->count * sizeof *trace->packets + 1);
	}
	if (trace->packets)
		place_all(o, begins, trace->packets);
	free(begins);
	return trace->packets ? 0 : -ENOMEM;
}

void sim_flags_free(struct sim_flags *trace)
{
	free(trace->packets);
	*trace = (struct sim_flags){0};
}
