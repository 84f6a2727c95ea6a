/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Streams of packets that no sane hosts would send, for `conn`: any TCP flags, between few pairs of ends, from either
 * side, with pauses on both sides of the time-outs, and at their very limits. Times sometimes go back. A stream has one
 * pair of ends to four: IPv4, IPv6, two ports of one address, an end that talks to itself. UDP between the same ends
 * has to be ignored, but advances the time.
 */
#ifndef INKLING_TESTS_CONN_RANDOM_H
#define INKLING_TESTS_CONN_RANDOM_H

#include <stdint.h>
#include <string.h>

#include <inkling/packet.h>

#include "sim/frame.h"
#include "tests/conn_model.h"
#include "tests/random.h"

enum { STREAM_MOST = 160, STREAM_FRAME = 128, STREAM_PAYLOAD = 8 };

struct stream {
	size_t n;
	uint64_t time; /* of the latest packet */
	struct ink_packet packets[STREAM_MOST];
	uint8_t frames[STREAM_MOST][STREAM_FRAME];
};

static const struct sim_ends stream_ends[] = {
	{{0x0a000001, 0x0a000002}, {40000, 80}, 4, INK_PROTOCOL_TCP},
	{{2, 1}, {80, 40000}, 6, INK_PROTOCOL_TCP},
	{{0x0a000001, 0x0a000001}, {80, 40000}, 4, INK_PROTOCOL_TCP},
	{{0x0a000003, 0x0a000003}, {7, 7}, 4, INK_PROTOCOL_TCP},
};

enum { STREAM_ENDS = sizeof stream_ends / sizeof stream_ends[0] };

/* ----------------------------------------------------------------------- a packet more */

static inline void stream_begin(struct stream *s)
{
	s->n = 0;
	s->time = UINT64_C(1700000000123456789); /* no multiple of a tick */
}

/* `early` nanoseconds before the latest time; the clock never decreases. */
static inline void stream_add(struct stream *s, const struct sim_ends *ends,
			      const struct sim_segment *segment, uint64_t early)
{
	struct ink_packet *p = &s->packets[s->n];
	uint8_t frame[SIM_FRAME_MOST];
	size_t length = sim_frame(frame, ends, segment);

	memset(p, 0, sizeof *p);
	p->frame = memcpy(s->frames[s->n], frame, length);
	p->captured = p->wire = (uint32_t)length;
	p->time = s->time - early;
	ink_packet_parse(p, INK_LINK_ETHERNET, 0);
	p->clock = s->time;
	s->n++;
}

static inline void stream_add_segment(struct stream *s, const struct sim_ends *ends, unsigned from,
				      enum conn_segment segment)
{
	static const uint8_t payload[STREAM_PAYLOAD];
	static const uint16_t flags[SEGMENTS] = {
		INK_TCP_SYN, INK_TCP_SYN | INK_TCP_ACK, INK_TCP_FIN | INK_TCP_ACK,
		INK_TCP_RST, INK_TCP_ACK | INK_TCP_PSH, INK_TCP_ACK};
	struct sim_segment what = {.from = from, .flags = flags[segment], .payload = payload};

	what.length = segment == SEGMENT_DATA ? sizeof payload : 0;
	stream_add(s, ends, &what, 0);
}

/* ------------------------------------------------------------------------ random ones */

/* Mostly usual flags, and few SYNs: they end what came before, and the rare situations are far from the first segment. */
static inline struct sim_segment random_segment(void)
{
	static const uint8_t payload[STREAM_PAYLOAD];
	static const uint16_t usual[] = {INK_TCP_SYN | INK_TCP_ACK, INK_TCP_ACK, INK_TCP_ACK | INK_TCP_PSH,
					 INK_TCP_FIN | INK_TCP_ACK, INK_TCP_RST, INK_TCP_RST | INK_TCP_ACK};
	struct sim_segment s = {.from = random_below(2), .payload = payload};

	if (!random_below(10))
		s.flags = INK_TCP_SYN;
	else if (random_below(4))
		s.flags = usual[random_below(sizeof usual / sizeof usual[0])];
	else
		s.flags = (uint16_t)random_below(0x200);
	s.length = random_below(3) ? 0 : 1 + random_below(sizeof payload);
	s.seq = (uint32_t)random_word();
	return s;
}

/* Nanoseconds to the next packet: few, near the limits of either time-out, exactly to the border of a tick, or very many. */
static inline uint64_t random_pause(const struct stream *s)
{
	const uint64_t second = 1000000000, limit = random_below(2) ? 64 : 64 * 60;
	uint64_t passed = s->n ? (s->time - s->packets[0].clock) % CONN_TICK : 0;

	switch (random_below(24)) {
	case 0:
		return limit * second - 3 * second + random_word() % (8 * second);
	case 1:
		return limit * second - passed + random_below(3) * CONN_TICK - random_below(2);
	case 2:
		return random_below(8) * 1000 * second;
	case 3:
		return random_word() % (70 * second);
	case 4:
		return 0;
	default:
		return random_word() % second;
	}
}

static inline void stream_random(struct stream *s, uint64_t seed)
{
	unsigned first, pairs;

	random_state = id_number(seed);
	first = random_below(STREAM_ENDS);
	pairs = 1 + random_below(STREAM_ENDS);
	stream_begin(s);
	while (s->n < STREAM_MOST) {
		struct sim_ends ends = stream_ends[(first + random_below(pairs)) % STREAM_ENDS];
		struct sim_segment segment = random_segment();

		ends.protocol = random_below(12) ? INK_PROTOCOL_TCP : INK_PROTOCOL_UDP;
		stream_add(s, &ends, &segment, s->n && !random_below(10) ? random_below(1000000000) : 0);
		s->time += random_pause(s);
	}
}

#endif
