/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One TCP connection, segment by segment. A segment follows from the connection and its number alone, so nothing is
 * kept between two of them.
 */
#include "sim/connection.h"

#include <inkling/packet.h>

#define SECOND 1000000000ull

enum { UNSEEN = 2 }; /* segments of a stranger that were sent before the capture began */

static unsigned segments_of(const struct sim_connection *c)
{
	unsigned opened = 3 + (unsigned)c->data;

	switch (c->course) {
	case SIM_WHOLE:
		return opened + 3;
	case SIM_STRANGER:
		return opened + 3 - UNSEEN;
	case SIM_CUT:
		return opened + 2;
	case SIM_RESET:
		return opened + 1;
	case SIM_UNFINISHED:
		return opened;
	case SIM_EXPOSED:
		return 4;
	case SIM_PROBED:
		return 3;
	case SIM_BLIND:
	case SIM_HALF_OPEN:
	case SIM_UNANSWERED:
	case SIM_REFUSED:
		return 2;
	default:
		return 1;
	}
}

enum { SYN = INK_TCP_SYN, ACK = INK_TCP_ACK, PSH = INK_TCP_PSH, FIN = INK_TCP_FIN, RST = INK_TCP_RST };

static struct sim_turn turn_of(unsigned from, unsigned flags, uint64_t when)
{
	return (struct sim_turn){when, {.from = from, .flags = (uint16_t)flags}};
}

/* The first two segments. */
static struct sim_turn opening_turn(const struct sim_connection *c, unsigned step)
{
	if (step == 0)
		return turn_of(0, c->course == SIM_STRANGE ? c->odd : SYN, 0);
	if (c->course == SIM_UNANSWERED)
		return turn_of(0, SYN, SECOND);
	return turn_of(1, c->course == SIM_REFUSED ? RST | ACK : SYN | ACK, c->rtt);
}

/* FIN, and the other's FIN or RST, and the last ACK; or RST. */
static struct sim_turn closing_turn(const struct sim_connection *c, unsigned step)
{
	if (step == 0)
		return turn_of(0, (c->course == SIM_RESET ? RST : FIN) | ACK, c->life);
	if (step == 1)
		return turn_of(1, (c->course == SIM_CUT ? RST : FIN) | ACK, c->life + c->rtt);
	return turn_of(0, ACK, c->life + c->rtt + SIM_MOMENT);
}

/* Data in both directions, evenly spaced between opening and closing. */
static struct sim_turn data_turn(const struct sim_connection *c, unsigned step)
{
	uint64_t opened = c->rtt + SIM_MOMENT, parts = c->data + 1;
	struct sim_turn turn = turn_of(step % 2, PSH | ACK, opened + (c->life - opened) * (step + 1) / parts);

	turn.segment.length = c->payload;
	return turn;
}

/* What both have sent when data segment `step` is due, of which there are not more than c->data. */
static void number_segment(const struct sim_connection *c, unsigned step, struct sim_turn *turn)
{
	unsigned from = turn->segment.from, sent = step < 3 ? 0 : step - 3;
	uint32_t bytes[2];

	if (sent > c->data)
		sent = (unsigned)c->data;
	bytes[0] = (uint32_t)(((sent + 1) / 2) * c->payload) + (step > 0);
	bytes[1] = (uint32_t)((sent / 2) * c->payload) + (step > 1);
	bytes[0] += step > 3 + c->data;
	bytes[1] += step > 4 + c->data;
	turn->segment.seq = c->first[from] + bytes[from];
	if (turn->segment.flags & ACK)
		turn->segment.ack = c->first[!from] + bytes[!from];
}

/*
 * After the SYN, of a sender that sees no answer: an ACK at the time when a SYN+ACK would be there, with a number that it
 * guesses. The answer to a wrong number is an RST with that number (RFC 9293, 3.10.7.4).
 */
static struct sim_turn blind_turn(const struct sim_connection *c, unsigned is_answer)
{
	uint32_t guess = c->first[0] * 0x9e3779b1u + 1;
	struct sim_turn turn = turn_of(is_answer, is_answer ? RST : ACK, c->rtt + SIM_MOMENT);

	turn.when += is_answer ? c->rtt : 0;
	turn.segment.seq = is_answer ? guess : c->first[0] + 1;
	turn.segment.ack = is_answer ? 0 : guess;
	return turn;
}

/* Segment number `step` of a connection that is seen from its first segment on. */
static struct sim_turn seen_turn(const struct sim_connection *c, unsigned step)
{
	struct sim_turn turn;

	if (c->course == SIM_BLIND && step == 1)
		return blind_turn(c, 0);
	if (c->course == SIM_EXPOSED && step >= 2)
		return blind_turn(c, step == 3);
	if (step < 2)
		turn = opening_turn(c, step);
	else if (step == 2)
		turn = turn_of(0, c->course == SIM_PROBED ? RST : ACK, c->rtt + SIM_MOMENT);
	else if (step < 3 + c->data)
		turn = data_turn(c, step - 3);
	else
		turn = closing_turn(c, step - 3 - (unsigned)c->data);
	number_segment(c, step, &turn);
	return turn;
}

/* Segment number `step` of one time round; the first is sent when the connection starts. */
static struct sim_turn one_turn(const struct sim_connection *c, unsigned step)
{
	struct sim_turn turn;

	if (c->course != SIM_STRANGER)
		return seen_turn(c, step);
	turn = seen_turn(c, step + UNSEEN);
	turn.when -= seen_turn(c, UNSEEN).when;
	return turn;
}

/* Between the end of a connection and the begin of the next with the same ports. */
static uint64_t pause_of(const struct sim_connection *c)
{
	return 2 * c->rtt + SECOND / 10;
}

int sim_connection_turn(const struct sim_connection *c, unsigned step, struct sim_turn *turn)
{
	unsigned n = segments_of(c);
	struct sim_connection second = *c;

	if (step < n) {
		*turn = one_turn(c, step);
		return 1;
	}
	second.course = SIM_WHOLE;
	if (!c->again || step - n >= segments_of(&second))
		return 0;
	second.first[0] += 1u << 28;
	second.first[1] += 1u << 28;
	*turn = one_turn(&second, step - n);
	turn->when += one_turn(c, n - 1).when + pause_of(c);
	return 1;
}

void sim_connection_truth(const struct sim_connection *c, struct sim_truth *truth)
{
	struct sim_flow flow = {.handshake = 0};
	struct sim_turn turn;

	for (unsigned step = 0; sim_connection_turn(c, step, &turn); step++)
		sim_flow_segment(&flow, truth, turn.segment.from, turn.segment.flags);
	sim_flow_end(&flow, truth);
}
