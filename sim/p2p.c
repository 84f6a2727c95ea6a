/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A flow is planned when it begins: how many packets, after how many of them the
 * UDP packet comes, whether it breaks off. Then only the packets are counted. UDP
 * packets of flows that broke off wait in a timer wheel with a slot for each second.
 */
#include "sim/p2p.h"

#include <math.h>
#include <stdlib.h>

#include "sim/seeded.h"

enum { AROUND = 6, SMALLEST = 2, UDP_PACKETS = 2, WHEEL = 256 };
_Static_assert(WHEEL > SIM_P2P_LATEST + 1, "no late packet goes round");

#define NEVER UINT32_MAX

struct flow {
	uint32_t number;
	uint32_t size, sent; /* packets of TCP; of UDP if there is nothing else */
	uint32_t udp_after;  /* packets before the UDP packet: 0 is before the SYN; NEVER */
	bool p2p, udp_only, silent;
};

/* A UDP packet that is due later. */
struct late {
	struct late *next;
	uint32_t flow;
	bool in_time;
};

struct sim_p2p {
	struct sim_p2p_options options;
	uint64_t random;
	struct flow *slots;
	uint32_t begun;
	struct flow *turn; /* the flow that sends now, or NULL */
	uint32_t burst;    /* packets left in it */
	double now;        /* seconds */
	struct late *wheel[WHEEL];
	double *zipf; /* zipf[s]: probability of s packets or fewer */
};

static uint64_t word(struct sim_p2p *t)
{
	return sim_mix(t->random++);
}

static bool with_share(struct sim_p2p *t, double share)
{
	return sim_share(word(t)) < share;
}

static uint32_t between(struct sim_p2p *t, uint32_t least, uint32_t most)
{
	return least + sim_below(word(t), (uint64_t)most - least + 1);
}

/* ------------------------------------------------------------------------ sizes */

static double zipf_mean(double power)
{
	double sum = 0, weights = 0;

	for (uint32_t s = SMALLEST; s <= SIM_P2P_LARGEST; s++) {
		weights += pow(s, -power);
		sum += s * pow(s, -power);
	}
	return sum / weights;
}

/* The power with which the mean is what it should be: the greater it is, the smaller are the flows. */
static double zipf_power(void)
{
	double low = 1, high = 4;

	for (int i = 0; i < 40; i++) {
		double middle = (low + high) / 2;

		if (zipf_mean(middle) > SIM_P2P_MEAN)
			low = middle;
		else
			high = middle;
	}
	return low;
}

static double *zipf_table(void)
{
	double *upto = calloc(SIM_P2P_LARGEST + 1, sizeof *upto), power = zipf_power();

	if (!upto)
		return NULL;
	for (uint32_t s = SMALLEST; s <= SIM_P2P_LARGEST; s++)
		upto[s] = upto[s - 1] + pow(s, -power);
	for (uint32_t s = SMALLEST; s <= SIM_P2P_LARGEST; s++)
		upto[s] /= upto[SIM_P2P_LARGEST];
	return upto;
}

/* The least size whose sum of probabilities is above a random number. */
static uint32_t zipf_size(struct sim_p2p *t)
{
	double share = sim_share(word(t));
	uint32_t low = SMALLEST, high = SIM_P2P_LARGEST;

	while (low < high) {
		uint32_t middle = (low + high) / 2;

		if (t->zipf[middle] > share)
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}

static uint32_t size_of_flow(struct sim_p2p *t)
{
	return t->zipf ? zipf_size(t) : between(t, SIM_P2P_MEAN - AROUND, SIM_P2P_MEAN + AROUND);
}

/* ------------------------------------------------------------------------ flows */

static void plan_udp(struct sim_p2p *t, struct flow *flow)
{
	flow->udp_after = NEVER;
	if (!flow->p2p)
		return;
	if (with_share(t, t->options.udp_first))
		flow->udp_after = 0;
	else if (!flow->silent)
		flow->udp_after = between(t, 1, flow->size - 1);
}

/* One that breaks off has lost at least its last packet. */
static void begin_flow(struct sim_p2p *t, struct flow *flow)
{
	*flow = (struct flow){.number = t->begun++, .size = size_of_flow(t)};
	flow->udp_only = with_share(t, t->options.udp_only);
	if (flow->udp_only) {
		flow->size = UDP_PACKETS;
		flow->udp_after = NEVER;
		return;
	}
	flow->p2p = with_share(t, t->options.p2p);
	flow->silent = with_share(t, t->options.silent);
	plan_udp(t, flow);
	if (flow->silent)
		flow->size = between(t, 1, flow->size - 1);
}

/* Those that are there at the beginning are caught in the midst of their lives. */
static void begin_all(struct sim_p2p *t)
{
	for (uint32_t i = 0; i < t->options.slots; i++) {
		struct flow *flow = &t->slots[i];

		begin_flow(t, flow);
		flow->size = between(t, SMALLEST, flow->size > SMALLEST ? flow->size : SMALLEST);
		if (flow->udp_after != NEVER && flow->udp_after >= flow->size)
			flow->udp_after = flow->size - 1;
	}
}

/* ---------------------------------------------------------------- late UDP packets */

static bool comes_late(const struct flow *flow)
{
	return flow->silent && flow->p2p && flow->udp_after == NEVER;
}

static bool wait_for_udp(struct sim_p2p *t, const struct flow *flow)
{
	uint32_t lag = between(t, 1, SIM_P2P_LATEST), due = (uint32_t)t->now + lag;
	struct late *late = malloc(sizeof *late);

	if (!late)
		return false;
	*late = (struct late){t->wheel[due % WHEEL], flow->number, lag < SIM_P2P_TIMEOUT};
	t->wheel[due % WHEEL] = late;
	return true;
}

static bool take_late(struct sim_p2p *t, struct sim_p2p_packet *packet)
{
	struct late **place = &t->wheel[(uint32_t)t->now % WHEEL], *late = *place;

	if (!late)
		return false;
	*packet = (struct sim_p2p_packet){
		.flow = late->flow, .event = SIM_P2P_UDP, .over = true, .p2p = late->in_time};
	*place = late->next;
	free(late);
	return true;
}

/* ---------------------------------------------------------------------- packets */

static void start_turn(struct sim_p2p *t)
{
	t->turn = &t->slots[between(t, 0, t->options.slots - 1)];
	t->burst = t->turn->size > SIM_P2P_MEAN && t->zipf ? t->turn->size / SIM_P2P_MEAN : 1;
	t->now += t->options.gap / t->options.slots;
}

static enum sim_p2p_event tcp_event(const struct flow *flow)
{
	if (flow->sent == 0)
		return SIM_P2P_SYN;
	return flow->sent + 1 == flow->size && !flow->silent ? SIM_P2P_FIN : SIM_P2P_TCP;
}

static enum sim_p2p_event next_event(struct flow *flow)
{
	enum sim_p2p_event event = flow->udp_only ? SIM_P2P_UDP : tcp_event(flow);

	if (flow->sent == flow->udp_after) {
		flow->udp_after = NEVER - 1; /* it was sent */
		return SIM_P2P_UDP;
	}
	flow->sent++;
	return event;
}

/* The flow has sent all that it will in its slot: another takes the place. */
static void end_flow(struct sim_p2p *t, struct flow *flow, struct sim_p2p_packet *packet)
{
	packet->over = !comes_late(flow) || !wait_for_udp(t, flow);
	packet->p2p = flow->p2p && !comes_late(flow);
	begin_flow(t, flow);
	t->burst = 0;
}

static void take_packet(struct sim_p2p *t, struct sim_p2p_packet *packet)
{
	struct flow *flow = t->turn;

	t->burst--;
	*packet = (struct sim_p2p_packet){.flow = flow->number, .event = next_event(flow)};
	if (flow->sent == flow->size)
		end_flow(t, flow, packet);
}

bool sim_p2p_next(struct sim_p2p *t, struct sim_p2p_packet *packet)
{
	if (t->begun > t->options.flows)
		return false;
	if (!take_late(t, packet)) {
		if (!t->burst)
			start_turn(t);
		take_packet(t, packet);
	}
	packet->id = sim_mix(t->options.seed ^ sim_mix(packet->flow));
	packet->second = (uint32_t)t->now;
	return true;
}

/* ----------------------------------------------------------------------- making */

struct sim_p2p *sim_p2p_new(const struct sim_p2p_options *options)
{
	struct sim_p2p *t = calloc(1, sizeof *t);

	if (!t)
		return NULL;
	t->options = *options;
	t->random = sim_mix(options->seed);
	t->slots = calloc(options->slots, sizeof *t->slots);
	t->zipf = options->zipf ? zipf_table() : NULL;
	if (!t->slots || (options->zipf && !t->zipf)) {
		sim_p2p_free(t);
		return NULL;
	}
	begin_all(t);
	return t;
}

void sim_p2p_free(struct sim_p2p *t)
{
	if (!t)
		return;
	for (uint32_t i = 0; i < WHEEL; i++)
		while (t->wheel[i]) {
			struct late *late = t->wheel[i];

			t->wheel[i] = late->next;
			free(late);
		}
	free(t->zipf);
	free(t->slots);
	free(t);
}
