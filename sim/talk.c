/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A talk is a row of beats: which end sends what, how long after the beat before. A beat follows from the talk and its
 * number; the sequence numbers go on as the beats are played.
 *
 *     0    1        2    3 .. 3 + body               then
 *     SYN  SYN+ACK  ACK  request, response, ACK ...  FIN+ACK  FIN+ACK  ACK
 */
#include "sim/talk.h"

#include <inkling/packet.h>

#define SECOND 1000000000ull
#define MOMENT 20000ull       /* nanoseconds that a host takes to react */
#define TIME_OUT (SECOND / 5) /* the shortest retransmission time-out of Linux, on top of the round trip */

enum { SYN = INK_TCP_SYN, ACK = INK_TCP_ACK, PSH = INK_TCP_PSH, FIN = INK_TCP_FIN, RST = INK_TCP_RST };
enum { OPENING = 3, ROUND = 3, DATAGRAMS = 2 };

struct beat {
	uint64_t after; /* nanoseconds since the beat before */
	unsigned from, flags;
	uint16_t length;
	uint8_t again;  /* the bytes that this end sent last */
	uint8_t number; /* ICMP: of the echo */
};

static int is_tcp(const struct sim_talk *t)
{
	return t->ends.protocol == INK_PROTOCOL_TCP;
}

/* A lost request is one packet more. */
static unsigned lost_of(const struct sim_talk *t)
{
	return t->resends && t->rounds && is_tcp(t) ? 1 : 0;
}

static unsigned body_packets(const struct sim_talk *t)
{
	return (unsigned)ROUND * t->rounds + lost_of(t);
}

static unsigned ending_packets(const struct sim_talk *t)
{
	if (t->ending == SIM_STAYS_OPEN)
		return 0;
	return t->ending == SIM_CLIENT_RESETS ? 1 : 3;
}

static unsigned served_packets(const struct sim_talk *t)
{
	if (!is_tcp(t))
		return (unsigned)DATAGRAMS * t->rounds;
	return OPENING + body_packets(t) + ending_packets(t);
}

unsigned sim_talk_packets(const struct sim_talk *t)
{
	switch (t->course) {
	case SIM_SERVED:
		return served_packets(t);
	case SIM_PROBED:
		return 3;
	case SIM_HALF_OPEN:
	case SIM_REFUSED:
		return 2;
	default:
		return 1u + t->resends;
	}
}

/* ------------------------------------------------------------------------------ beats */

static struct beat opening_beat(const struct sim_talk *t, unsigned step)
{
	if (step == 0)
		return (struct beat){.flags = SYN};
	if (step == 1)
		return (struct beat){.after = t->rtt,
				     .from = 1,
				     .flags = t->course == SIM_REFUSED ? RST | ACK : SYN | ACK};
	return (struct beat){.after = MOMENT, .flags = t->course == SIM_PROBED ? RST : ACK};
}

/* SYNs come again after 1, 2, 4 ... s more. */
static struct beat silent_beat(const struct sim_talk *t, unsigned step)
{
	struct beat b = {.after = step ? SECOND << (step - 1) : 0, .again = step > 0};

	if (is_tcp(t))
		b.flags = SYN;
	else
		b.length = t->request;
	return b;
}

static struct beat round_beat(const struct sim_talk *t, unsigned step)
{
	if (step == 0)
		return (struct beat){.after = t->pause, .flags = PSH | ACK, .length = t->request};
	if (step == 1)
		return (struct beat){.after = t->rtt, .from = 1, .flags = PSH | ACK, .length = t->response};
	return (struct beat){.after = MOMENT, .flags = ACK};
}

/* Request, the same again, response, ACK: the first round with a loss. */
static struct beat body_beat(const struct sim_talk *t, unsigned step)
{
	struct beat b;

	if (!lost_of(t) || step == 0)
		return round_beat(t, step % ROUND);
	b = round_beat(t, (step - 1) % ROUND);
	if (step == 1) {
		b.after = t->rtt + TIME_OUT;
		b.again = 1;
	}
	return b;
}

static struct beat ending_beat(const struct sim_talk *t, unsigned step)
{
	unsigned first = t->ending == SIM_SERVER_CLOSES;
	uint64_t across = t->rtt;

	if (t->ending == SIM_CLIENT_RESETS)
		return (struct beat){.after = t->pause, .flags = RST | ACK};
	if (step == 0)
		return (struct beat){.after = t->pause, .from = first, .flags = FIN | ACK};
	if (step == 1)
		return (struct beat){.after = first ? MOMENT : across, .from = !first, .flags = FIN | ACK};
	return (struct beat){.after = first ? across : MOMENT, .from = first, .flags = ACK};
}

static struct beat datagram_beat(const struct sim_talk *t, unsigned step)
{
	struct beat b = {.after = t->rtt, .from = step % DATAGRAMS, .length = t->request};

	if (b.from)
		b.length = t->response;
	else
		b.after = t->pause;
	b.number = (uint8_t)(step / DATAGRAMS);
	return b;
}

static struct beat beat_of(const struct sim_talk *t, unsigned step)
{
	unsigned body = body_packets(t);

	if (t->course == SIM_SILENT)
		return silent_beat(t, step);
	if (!is_tcp(t))
		return datagram_beat(t, step);
	if (step < OPENING)
		return opening_beat(t, step);
	step -= OPENING;
	return step < body ? body_beat(t, step) : ending_beat(t, step - body);
}

/* ---------------------------------------------------------------------------- playing */

/* Bytes of the sequence that a segment takes. */
static uint32_t size_of(const struct beat *b)
{
	return b->length + (b->flags & SYN ? 1u : 0) + (b->flags & FIN ? 1u : 0);
}

/* A refusal has no sequence of its own; a bare RST acknowledges nothing. */
static void number_segment(struct sim_talk *t, const struct beat *b, struct sim_segment *s)
{
	if (!b->again)
		t->next[b->from] += size_of(b);
	s->seq = t->next[b->from] - size_of(b);
	if (t->course == SIM_REFUSED && b->from)
		s->seq = 0;
	s->ack = b->flags & ACK ? t->next[!b->from] : 0;
}

uint64_t sim_talk_next(struct sim_talk *t, struct sim_segment *s)
{
	struct beat b = beat_of(t, t->step);

	*s = (struct sim_segment){
		.from = b.from, .flags = (uint16_t)b.flags, .length = b.length, .seq = b.number};
	if (is_tcp(t))
		number_segment(t, &b, s);
	t->step++;
	return t->step < sim_talk_packets(t) ? beat_of(t, t->step).after : 0;
}
