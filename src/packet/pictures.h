/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * [F] Which MPEG-2 pictures start in a payload: of an elementary stream, bare or
 * in RTP, or of the streams of MPEG-TS.
 *
 * A picture begins with the six bytes 00 00 01 00 tt Tt; bits 3 to 5 of the
 * last are its type. A reader of the stream has seen 0 to 5 of them, which is
 * its state; the state at the end of a packet is the packet's tail:
 *
 *     0 --00--> 1 --00--> 2 --01--> 3 --00--> 4 --any--> 5 --type--> a picture
 *                        (00: stays)
 *
 * The search is one loop. A turn goes to the next TS packet if the last is read;
 * reads byte by byte where a code has begun, or may continue from before; and
 * passes over bytes in which no code begins. Passing over takes the time: it is
 * memchr in user space, and words of eight bytes in the kernel, which has none.
 */
#ifndef INKLING_PACKET_PICTURES_H
#define INKLING_PACKET_PICTURES_H

#ifndef __bpf__
#include <string.h>
#endif

#include "packet/payload.h"

/* ------------------------------------------------------------- byte by byte */

static inline void ink_see_type(struct ink_pictures *found, uint8_t byte)
{
	uint32_t type = byte >> 3 & 7;

	if (type < INK_PICTURE_I || type > INK_PICTURE_B)
		return;
	found->started[type]++;
	found->last = (uint8_t)type;
}

static inline uint32_t ink_read_byte(struct ink_pictures *found, uint32_t state, uint8_t byte)
{
	switch (state) {
	case 2:
		return byte == 0 ? 2 : byte == 1 ? 3 : 0;
	case 3:
		return byte == 0 ? 4 : 0;
	case 4:
		return 5;
	case 5:
		ink_see_type(found, byte);
		return byte == 0;
	default:
		return byte == 0 ? state + 1 : 0;
	}
}

/* Inside a code, and in the first two bytes, where one may continue from before. That is five bytes at most. */
static inline void ink_read_bytes(struct ink_payload *p)
{
	for (int i = 0; i < 5 && p->at < p->end && (p->state >= 3 || p->at < p->begin + 2); i++)
		p->state = ink_read_byte(&p->pictures, p->state, *ink_payload_at(p, p->at++));
}

/* ------------------------------------------------------------- passing over */

/*
 * ink_pass_over() goes from a place over bytes in which no 00 00 01 begins. It
 * returns the place behind one, with state 3; or a later place to go on from, with
 * state 0. Either may be over the end: then there is none.
 */
#ifdef __bpf__

#define INK_ONES 0x0101010101010101u
#define INK_HIGHS 0x8080808080808080u

/* The bytes at odd places. */
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define INK_ODD_ONES 0x0100010001000100u
#else
#define INK_ODD_ONES 0x0001000100010001u
#endif
#define INK_ODD_HIGHS (INK_ODD_ONES << 7)

typedef uint64_t __attribute__((may_alias)) ink_payload_word;

/* Eight bytes at any address. The verifier refuses it where the machine cannot; from a copy clang makes eight loads. */
static inline uint64_t ink_word_at(const uint8_t *at)
{
	return *(const ink_payload_word *)at;
}

/* A byte of 0 wherever 00 00 01 begins. */
static inline uint64_t ink_codes_in(const uint8_t *at)
{
	return ink_word_at(at) | ink_word_at(at + 1) | (ink_word_at(at + 2) ^ INK_ONES);
}

/* The highest bit of bytes that are 0; perhaps also of bytes above one. */
static inline uint64_t ink_zero_bytes(uint64_t word)
{
	return (word - INK_ONES) & ~word & INK_HIGHS;
}

/* How many bytes come before the first that is 0; there is one. */
static inline uint32_t ink_bytes_before(uint64_t word)
{
	uint64_t zero;

#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
	word = __builtin_bswap64(word);
#endif
	zero = ink_zero_bytes(word) >> 7;
	return (uint32_t)((((zero & -zero) - 1) & INK_ONES) * INK_ONES >> 56);
}

/*
 * Can a code begin in the next 64 bytes? It has two zeros in a row, so one of them
 * at an odd place: only those are looked at. An eighth of the blocks of noise have
 * one. There is no branch in it, which would multiply the verifier's work.
 */
static inline int ink_block_may_begin(const uint8_t *at)
{
	uint64_t zeros = 0, word;

	for (int i = 0; i < 8; i++) {
		word = ink_word_at(at + 8 * i);
		zeros |= (word - INK_ODD_ONES) & ~word;
	}
	return (zeros & INK_ODD_HIGHS) != 0;
}

/* Behind the first code that begins in the next 64 bytes. */
static inline uint32_t ink_first_code(const struct ink_payload *p, uint32_t from, uint32_t *state)
{
	const uint8_t *at = ink_payload_at(p, from);

	for (uint32_t i = 0; i < 64; i += 8) {
		uint64_t codes = ink_codes_in(at + i);

		if (ink_zero_bytes(codes)) {
			*state = 3;
			return from + i + ink_bytes_before(codes) + 3;
		}
	}
	return from + 64;
}

/* Four blocks, so that a TS packet, which has three, is one turn: 1,316 bytes of TS take 220 ns instead of 348. */
static inline uint32_t ink_pass_over(const struct ink_payload *p, uint32_t from, uint32_t *state)
{
	*state = 0;
	for (int i = 0; i < 4 && from + 2 < p->end; i++) {
		if (ink_block_may_begin(ink_payload_at(p, from)))
			return ink_first_code(p, from, state);
		from += 64;
	}
	return from;
}

#else

static inline uint32_t ink_pass_over(const struct ink_payload *p, uint32_t from, uint32_t *state)
{
	const uint8_t *end = p->bytes + p->end;

	*state = 3;
	for (const uint8_t *at = p->bytes + from + 2; at < end; at++) {
		at = memchr(at, 1, (size_t)(end - at));
		if (!at)
			break;
		if (at[-1] == 0 && at[-2] == 0)
			return (uint32_t)(at - p->bytes) + 1;
	}
	return p->end + 1;
}

#endif

/* The number of zeros at the end of the stretch: at most two, and none before `from`. */
static inline uint32_t ink_zeros_at_end(const struct ink_payload *p, uint32_t from)
{
	if (p->end - from < 1 || *ink_payload_at(p, p->end - 1))
		return 0;
	return p->end - from < 2 || *ink_payload_at(p, p->end - 2) ? 1 : 2;
}

static inline int ink_code_at(const uint8_t *at)
{
	return !at[0] && !at[1] && at[2] == 1;
}

/*
 * The code searched for may begin with the zeros just read, but not before them:
 * earlier bytes belong to the code that ended there.
 */
static inline void ink_seek_code(struct ink_payload *p)
{
	uint32_t from = p->at - p->state, state, at = ink_pass_over(p, from, &state);

	if (at > p->end || (!state && at + 2 >= p->end)) {
		at = p->end;
		state = ink_zeros_at_end(p, from);
	}
	p->at = at;
	p->state = state;
}

/* ------------------------------------------------------------- MPEG-TS, PES */

/*
 *  0         8            24                 32
 *  |sync 0x47|.|start|.|PID 13|scrambled 2|has 2|count 4|adaptation field, if it has one|payload, if it has one|
 *
 * has: bit 0 a payload, bit 1 an adaptation field, whose first byte is its length.
 */
#define INK_TS_TABLES 32u      /* PIDs below are tables */
#define INK_TS_NOTHING 0x1fffu /* the PID of stuffing */
#define INK_TS_START 0x40

static inline uint32_t ink_ts_pid(const uint8_t *ts)
{
	return (ts[1] & 31u) << 8 | ts[2];
}

/* Where the payload of a TS packet begins; its length if there is none, it is scrambled, or a table. */
static inline uint32_t ink_ts_header(const uint8_t *ts)
{
	uint32_t pid = ink_ts_pid(ts), has = ts[3] >> 4 & 3, length;

	if (pid < INK_TS_TABLES || pid == INK_TS_NOTHING || ts[3] >> 6 || !(has & 1))
		return INK_TS_PACKET;
	length = has & 2 ? 5u + ts[4] : 4u;
	return length < INK_TS_PACKET ? length : INK_TS_PACKET;
}

/* The PID's place among those met, INK_TS_PIDS: there are too many. The first goes on with the tail before it. */
static inline uint32_t ink_ts_find(struct ink_payload *p, uint32_t number)
{
	uint32_t i;

	for (i = 0; i < INK_TS_PIDS && i < p->pids; i++)
		if (p->pid[i].number == number)
			return i;
	if (i == INK_TS_PIDS)
		return i;
	p->pid[i] = (struct ink_pid){.number = (uint16_t)number, .state = i ? 0 : (uint8_t)p->state};
	p->pids = i + 1;
	return i;
}

/* Passes the header of a video PES packet. A PID that begins otherwise is not video. */
static inline void ink_pes_header(struct ink_payload *p, struct ink_pid *pid)
{
	const uint8_t *pes = ink_payload_at(p, p->begin);
	uint32_t left = p->end - p->begin;

	pid->other = left < 9 || !ink_code_at(pes) || pes[3] >> 4 != 0xe;
	if (!pid->other)
		p->begin = left > 9u + pes[8] ? p->begin + 9 + pes[8] : p->end;
}

/* The stretch of stream in a TS packet; if it is not video, there is none, and the state stays. */
static inline void ink_ts_enter(struct ink_payload *p, uint32_t from)
{
	const uint8_t *ts = ink_payload_at(p, from);
	uint32_t header = ink_ts_header(ts), found;
	struct ink_pid *pid;

	p->begin = from + header;
	p->at = p->end = from + INK_TS_PACKET;
	if (header == INK_TS_PACKET)
		return;
	found = ink_ts_find(p, ink_ts_pid(ts));
	if (found == INK_TS_PIDS)
		return;
	pid = &p->pid[found & (INK_TS_PIDS - 1)];
	if (ts[1] & INK_TS_START)
		ink_pes_header(p, pid);
	if (pid->other)
		return;
	p->current = found;
	p->state = pid->state;
	p->at = p->begin;
}

/* Goes on to the next TS packet; 0: there is none. */
static inline int ink_ts_next(struct ink_payload *p)
{
	uint32_t from = p->ts;

	p->pid[p->current & (INK_TS_PIDS - 1)].state = (uint8_t)p->state;
	if (p->length - from < INK_TS_PACKET)
		return 0;
	p->ts = from + INK_TS_PACKET;
	ink_ts_enter(p, from);
	return 1;
}

/* --------------------------------------------------------------- the search */

/* A turn passes at least a byte or a TS packet; one finds that nothing is left. */
#define INK_PICTURES_TURNS (INK_PAYLOAD_MOST + 1u)

static inline long ink_pictures_step(uint64_t turn, void *context)
{
	struct ink_payload *p = *(struct ink_payload **)context;

	(void)turn;
	if (p->at == p->end && !ink_ts_next(p))
		return 1;
	ink_read_bytes(p);
	if (p->at < p->end)
		ink_seek_code(p);
	return 0;
}

/* Where the elementary stream begins, if it is not MPEG-TS. RFC 2250: 4 bytes of header, 4 more if T is set. */
static inline uint32_t ink_stream_begin(const struct ink_payload *p)
{
	uint32_t from;

	if (ink_payload_rtp_type(p) != INK_RTP_MPV)
		return 0;
	from = ink_payload_rtp(p);
	return from < p->length ? ink_payload_behind(p, from, *ink_payload_at(p, from) & 4 ? 8 : 4) : from;
}

/* `tail` is what the packet before left. The result is p->pictures. */
static inline void ink_payload_pictures(struct ink_payload *p, uint32_t tail)
{
	p->pictures = (struct ink_pictures){.last = INK_PICTURE_NONE};
	p->state = tail;
	p->pids = p->current = 0;
	p->ts = ink_payload_ts(p);
	p->begin = p->at = p->end = 0;
	if (p->ts == p->length) {
		p->begin = p->at = ink_stream_begin(p);
		p->end = p->length;
	}
	ink_loop(INK_PICTURES_TURNS, ink_pictures_step, p);
	p->pictures.tail = p->is_cut ? 0 : (uint8_t)p->state;
}

#endif
