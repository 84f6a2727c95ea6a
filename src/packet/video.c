/* SPDX-License-Identifier: BSD-2-Clause */
#include "packet/video.h"

#include <string.h>

enum {
	RTP_HEADER = 12, /* RFC 3550, without sources and extension */
	RTP_MPV = 32,    /* RFC 3551: MPEG video */
	RTP_MP2T = 33,   /* RFC 3551: MPEG-TS */
	TS_PACKET = 188, /* ISO 13818-1 */
	TS_SYNC = 0x47,
	TS_TABLES = 32,     /* PIDs below are tables */
	TS_NOTHING = 0x1fff /* the PID of stuffing */
};

/* A stretch of bytes. */
struct span {
	const uint8_t *at;
	size_t n;
};

static struct span payload_of(const struct ink_packet *p)
{
	struct span s = {p->payload, p->payload_captured};

	if (p->protocol != INK_PROTOCOL_UDP || !p->payload)
		s.n = 0;
	return s;
}

static struct span behind(struct span s, size_t n)
{
	return n < s.n ? (struct span){s.at + n, s.n - n} : (struct span){s.at, 0};
}

/* ------------------------------------------------------------------ RTP, TS */

/* The length of the RTP header, sources and extension included; 0: not RTP. */
static size_t rtp_length(struct span s)
{
	size_t length = RTP_HEADER;

	if (s.n < RTP_HEADER || s.at[0] >> 6 != 2)
		return 0;
	length += (size_t)(s.at[0] & 15) * 4;
	if (s.at[0] & 0x10) {
		if (s.n < length + 4)
			return 0;
		length += 4 + 4 * ((size_t)s.at[length + 2] << 8 | s.at[length + 3]);
	}
	return length <= s.n ? length : 0;
}

static int rtp_type(struct span s)
{
	return rtp_length(s) ? s.at[1] & 127 : -1;
}

/* At least one TS packet was captured whole, and each begins with the sync byte. */
static int is_ts(struct span s)
{
	for (size_t i = 0; i < s.n; i += TS_PACKET)
		if (s.at[i] != TS_SYNC)
			return 0;
	return s.n >= TS_PACKET;
}

/* The TS packets of a payload; none: it is not TS. */
static struct span ts_of(struct span s)
{
	if (is_ts(s))
		return s;
	s = rtp_type(s) == RTP_MP2T ? behind(s, rtp_length(s)) : (struct span){s.at, 0};
	return is_ts(s) ? s : (struct span){s.at, 0};
}

int ink_video_rtp(const struct ink_packet *p)
{
	return rtp_type(payload_of(p));
}

int ink_video_ts(const struct ink_packet *p)
{
	return ts_of(payload_of(p)).n != 0;
}

/* ----------------------------------------------------------------- pictures */

static void see_type(struct ink_pictures *found, uint8_t byte)
{
	unsigned type = byte >> 3 & 7;

	if (type < INK_PICTURE_I || type > INK_PICTURE_B)
		return;
	found->started[type]++;
	found->last = (uint8_t)type;
}

static unsigned read_byte(struct ink_pictures *found, unsigned state, uint8_t byte)
{
	switch (state) {
	case 2:
		return byte == 0 ? 2 : byte == 1 ? 3 : 0;
	case 3:
		return byte == 0 ? 4 : 0;
	case 4:
		return 5;
	case 5:
		see_type(found, byte);
		return byte == 0;
	default:
		return byte == 0 ? state + 1 : 0;
	}
}

/* The end of the next 00 00 01, or NULL; memchr skips most bytes. */
static const uint8_t *next_prefix(const uint8_t *from, const uint8_t *end)
{
	for (from += 2; from < end; from++) {
		from = memchr(from, 1, (size_t)(end - from));
		if (!from)
			return NULL;
		if (from[-1] == 0 && from[-2] == 0)
			return from + 1;
	}
	return NULL;
}

/* The number of zeros at the end: at most two, and none before `from`. */
static unsigned zeros_at_end(const uint8_t *from, const uint8_t *end)
{
	unsigned zeros = 0;

	while (zeros < 2 && end > from && end[-1] == 0) {
		zeros++;
		end--;
	}
	return zeros;
}

/*
 * Reads a part of the stream; `state` is the number of bytes of a start code that
 * ended the part before. Inside a code, and in the first two bytes, where a code may
 * continue from the part before, it reads byte by byte. Elsewhere it searches for the
 * next prefix, which may begin with the zeros just read but not before them: earlier
 * bytes belong to the code that ended there.
 */
static unsigned read_stream(struct ink_pictures *found, unsigned state, struct span s)
{
	const uint8_t *at = s.at, *end, *from;

	if (!s.n) /* `at` may be NULL, and NULL + 0 is undefined */
		return state;
	end = at + s.n;
	for (;;) {
		while (at < end && (at < s.at + 2 || state >= 3))
			state = read_byte(found, state, *at++);
		if (at == end)
			return state;
		from = at - state;
		at = next_prefix(from, end);
		if (!at)
			return zeros_at_end(from, end);
		state = 3;
	}
}

/* --------------------------------------------------------- pictures in MPEG-TS */

/* A PID and the state of its stream. A datagram rarely has more than two; those after the eighth are ignored. */
struct pid {
	unsigned pid, state;
	int other; /* not video */
};

struct ts_reader {
	struct pid pids[8];
	unsigned n;
	unsigned tail; /* for the first PID */
};

static struct pid *find_pid(struct ts_reader *r, unsigned pid)
{
	for (unsigned i = 0; i < r->n; i++)
		if (r->pids[i].pid == pid)
			return &r->pids[i];
	if (r->n == sizeof r->pids / sizeof r->pids[0])
		return NULL;
	r->pids[r->n] = (struct pid){pid, r->n ? 0 : r->tail, 0};
	return &r->pids[r->n++];
}

/* The payload of a TS packet, after its header and adaptation field; empty if it is scrambled or a table. */
static struct span ts_payload(struct span packet, unsigned *pid)
{
	unsigned has = packet.at[3] >> 4 & 3;

	*pid = (unsigned)(packet.at[1] & 31) << 8 | packet.at[2];
	if (*pid < TS_TABLES || *pid == TS_NOTHING || packet.at[3] >> 6 || !(has & 1))
		return (struct span){packet.at, 0};
	return behind(packet, has & 2 ? 5 + (size_t)packet.at[4] : 4);
}

/* The data after the header of a video PES packet. A PID that begins otherwise is not video. */
static struct span pes_payload(struct span s, struct pid *pid)
{
	static const uint8_t prefix[] = {0, 0, 1};

	pid->other = s.n < 9 || memcmp(s.at, prefix, 3) || s.at[3] >> 4 != 0xe;
	return pid->other ? s : behind(s, 9 + (size_t)s.at[8]);
}

static void read_ts_packet(struct ink_pictures *found, struct ts_reader *r, struct span packet)
{
	unsigned number;
	struct span s = ts_payload(packet, &number);
	struct pid *pid = s.n ? find_pid(r, number) : NULL;

	if (!pid)
		return;
	if (packet.at[1] & 0x40)
		s = pes_payload(s, pid);
	if (pid->other)
		return;
	pid->state = read_stream(found, pid->state, s);
	found->tail = (uint8_t)pid->state;
}

static void read_ts(struct ink_pictures *found, struct span s, unsigned tail)
{
	struct ts_reader r = {.tail = tail};

	for (; s.n >= TS_PACKET; s = behind(s, TS_PACKET))
		read_ts_packet(found, &r, (struct span){s.at, TS_PACKET});
}

/* The elementary stream in a packet that is not MPEG-TS. RFC 2250: 4 bytes of header, 4 more if T is set. */
static struct span stream_of(struct span s)
{
	if (rtp_type(s) != RTP_MPV)
		return s;
	s = behind(s, rtp_length(s));
	return s.n ? behind(s, s.at[0] & 4 ? 8 : 4) : s;
}

struct ink_pictures ink_video_pictures(const struct ink_packet *p, unsigned tail)
{
	struct ink_pictures found = {.tail = (uint8_t)tail};
	struct span s = payload_of(p), ts = ts_of(s);

	if (ts.n)
		read_ts(&found, ts, tail);
	else
		found.tail = (uint8_t)read_stream(&found, tail, stream_of(s));
	if (p->payload_captured < p->payload_wire)
		found.tail = 0;
	return found;
}

/* ---------------------------------------------------------------- NAL units */

enum { NAL_LAST = 23, STAP_A = 24, STAP_B = 25, FU_A = 28, FU_B = 29, FU_START = 0x80 };

/* Several units, each after its length; STAP-B begins with a number of two bytes. RFC 6184, 5.7.1. */
static uint32_t nals_of_stap(struct span s)
{
	uint32_t types = 0;

	while (s.n > 2) {
		types |= 1u << (s.at[2] & 31);
		s = behind(s, 2 + ((size_t)s.at[0] << 8 | s.at[1]));
	}
	return types;
}

uint32_t ink_video_nals(const struct ink_packet *p)
{
	struct span s = payload_of(p);
	unsigned type;

	s = behind(s, rtp_length(s) ? rtp_length(s) : s.n);
	if (!s.n)
		return 0;
	type = s.at[0] & 31;
	if (type == STAP_A || type == STAP_B)
		return nals_of_stap(behind(s, type == STAP_B ? 3 : 1));
	if ((type == FU_A || type == FU_B) && s.n > 1)
		return s.at[1] & FU_START ? 1u << (s.at[1] & 31) : 0;
	return type && type <= NAL_LAST ? 1u << type : 0;
}
