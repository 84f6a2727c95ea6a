/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * [F] What a payload is: RTP, MPEG-TS, NAL units of H.264. pictures.h looks for pictures in it.
 *
 *     0                 begin         at              end        ts            length
 *     |RTP, TS, PES ... |stretch of a stream . . . . .|          |TS packet ...|
 *
 * A place in it is a number of bytes from its start, never a pointer: in the kernel the payload is a copy in a map,
 * and a place that is masked is inside. Laws:
 *
 *  1. A place that decides is before `length`, or before `end`: what is compared with them is asked first.
 *  2. begin <= at <= end <= length, and ts <= length.
 *  3. In the kernel the bytes from `length` on are of anything, but they are there: reading ahead is safe, and law 1
 *     says that it has no effect.
 */
#ifndef INKLING_PACKET_PAYLOAD_H
#define INKLING_PACKET_PAYLOAD_H

#include <stdint.h>

#include "base/loop.h"
#include "machine/field.h"

#define INK_RTP_HEADER 12u /* RFC 3550, without sources and extension */
#define INK_RTP_MPV 32     /* RFC 3551: MPEG video */
#define INK_RTP_MP2T 33    /* RFC 3551: MPEG-TS */
#define INK_TS_PACKET 188u /* ISO 13818-1 */
#define INK_TS_SYNC 0x47

/* Streams that are told apart, a power of two. A datagram rarely has more than two; those after the last are ignored. */
#define INK_TS_PIDS 8

#ifdef __bpf__
#define INK_PAYLOAD_MOST 9216u /* a jumbo frame */
#define INK_PAYLOAD_MASK                                                                                     \
	16383u /* of a place: the next power of two, as the verifier follows no better bound */
#define INK_PAYLOAD_AHEAD 128u /* what may be read from a place on: a block of 64 bytes, and 2 */
#else
#define INK_PAYLOAD_MOST INT32_MAX /* places can be added without a carry */
#endif

enum { INK_PICTURE_NONE, INK_PICTURE_I, INK_PICTURE_P, INK_PICTURE_B, INK_PICTURE_TYPES };

struct ink_pictures {
	uint32_t started[INK_PICTURE_TYPES]; /* by type */
	uint8_t last;                        /* the type of the last one that started */
	uint8_t tail;                        /* bytes of a start code at the end */
};

/* A PID of MPEG-TS, and what its stream has seen of a start code. */
struct ink_pid {
	uint16_t number;
	uint8_t state;
	uint8_t other; /* it is not video */
};

/* The first three members are the caller's; the others belong to the search that runs. */
struct ink_payload {
#ifdef __bpf__
	uint8_t bytes[INK_PAYLOAD_MASK + 1 + INK_PAYLOAD_AHEAD];
#else
	const uint8_t *bytes; /* may be NULL if `length` is 0 */
#endif
	uint32_t length; /* of the bytes that are here, at most INK_PAYLOAD_MOST; 0: it is not UDP */
	uint32_t is_cut; /* others were sent that are not here */
	uint32_t begin, at, end;
	uint32_t ts;      /* where the next TS packet begins */
	uint32_t state;   /* of the stream that is read: see pictures.h */
	uint32_t pids;    /* met so far */
	uint32_t current; /* the one that is read */
	struct ink_pid pid[INK_TS_PIDS];
	uint32_t nals[INK_NAL_REFS]; /* types of NAL units, a bit for each, by nal_ref_idc */
	struct ink_pictures pictures;
};

/* ---------------------------------------------------------------- its bytes */

/* The bytes from a place on. In the kernel some of them are there whatever the place. */
static inline const uint8_t *ink_payload_at(const struct ink_payload *p, uint64_t at)
{
#ifdef __bpf__
	/* Whatever the compiler knows of it, the verifier wants to see the mask. */
	__asm__ volatile("" : "+r"(at));
	at &= INK_PAYLOAD_MASK;
#endif
	return p->bytes + at;
}

/* The place n bytes behind another, or the end. */
static inline uint32_t ink_payload_behind(const struct ink_payload *p, uint32_t at, uint32_t n)
{
	return n < p->length - at ? at + n : p->length;
}

/* ------------------------------------------------------------------ RTP, TS */

/*
 *  0                                1                16               24             31
 *  |2 |padding|extension|sources   4|mark|type      7|sequence                        |
 *  |time stamp                                                                        |
 *  |source                                                                            |
 *  |other sources, a word each                                                        |
 *  |the extension's type                             |its length in words, without this|
 */

/* The length of the RTP header, sources and extension included; 0: it is not RTP. */
static inline uint32_t ink_payload_rtp(const struct ink_payload *p)
{
	const uint8_t *head = ink_payload_at(p, 0), *extension;
	uint32_t length = INK_RTP_HEADER;

	if (p->length < INK_RTP_HEADER || head[0] >> 6 != 2)
		return 0;
	length += (head[0] & 15u) * 4;
	if (head[0] & 0x10) {
		if (p->length < length + 4)
			return 0;
		extension = ink_payload_at(p, length);
		length += 4 + 4 * ((uint32_t)extension[2] << 8 | extension[3]);
	}
	return length <= p->length ? length : 0;
}

/* The type of RTP's payload, or -1. */
static inline int ink_payload_rtp_type(const struct ink_payload *p)
{
	return ink_payload_rtp(p) ? *ink_payload_at(p, 1) & 127 : -1;
}

/* At least one TS packet was captured whole, and each begins with the sync byte. */
static inline int ink_payload_syncs(const struct ink_payload *p, uint32_t from)
{
	for (uint32_t at = from; at < p->length && at < INK_PAYLOAD_MOST; at += INK_TS_PACKET)
		if (*ink_payload_at(p, at) != INK_TS_SYNC)
			return 0;
	return p->length - from >= INK_TS_PACKET;
}

/* Where the TS packets of a payload begin, bare or in RTP of type 33; its length: it is not MPEG-TS. */
static inline uint32_t ink_payload_ts(const struct ink_payload *p)
{
	uint32_t from = 0;

	if (ink_payload_syncs(p, 0))
		return 0;
	from = ink_payload_rtp_type(p) == INK_RTP_MP2T ? ink_payload_rtp(p) : p->length;
	return ink_payload_syncs(p, from) ? from : p->length;
}

static inline int ink_payload_is_ts(const struct ink_payload *p)
{
	return ink_payload_ts(p) < p->length;
}

/* ---------------------------------------------------------------- NAL units */

/* RFC 6184, 5.2 */
enum {
	INK_NAL_LAST = 23,
	INK_NAL_STAP_A = 24,
	INK_NAL_STAP_B = 25,
	INK_NAL_FU_A = 28,
	INK_NAL_FU_B = 29,
	INK_NAL_FU_START = 0x80
};

/* A unit of this type starts; `head` has its nal_ref_idc: 0 says that no other picture is made of it. */
static inline void ink_payload_starts(struct ink_payload *p, uint8_t head, uint32_t type)
{
	p->nals[head >> 5 & (INK_NAL_REFS - 1)] |= 1u << type;
}

/* One of several units, each behind its length. */
static inline long ink_payload_stap_step(uint64_t turn, void *context)
{
	struct ink_payload *p = *(struct ink_payload **)context;
	const uint8_t *unit = ink_payload_at(p, p->at);

	(void)turn;
	if (p->length - p->at <= 2)
		return 1;
	ink_payload_starts(p, unit[2], unit[2] & 31);
	p->at = ink_payload_behind(p, p->at, 2 + ((uint32_t)unit[0] << 8 | unit[1]));
	return 0;
}

/* STAP-B begins with a number of two bytes. RFC 6184, 5.7.1. */
static inline void ink_payload_stap(struct ink_payload *p, uint32_t at, uint32_t head)
{
	p->at = ink_payload_behind(p, at, head);
	ink_loop(INK_PAYLOAD_MOST, ink_payload_stap_step, p);
}

/* Finds the units that start in the packet that has a unit, or several, at this place. */
static inline void ink_payload_find_nals(struct ink_payload *p, uint32_t at)
{
	const uint8_t *unit = ink_payload_at(p, at);
	uint32_t type = unit[0] & 31;

	if (type == INK_NAL_STAP_A || type == INK_NAL_STAP_B)
		ink_payload_stap(p, at, type == INK_NAL_STAP_B ? 3 : 1);
	else if ((type == INK_NAL_FU_A || type == INK_NAL_FU_B) && p->length - at > 1) {
		if (unit[1] & INK_NAL_FU_START)
			ink_payload_starts(p, unit[0], unit[1] & 31);
	} else if (type && type <= INK_NAL_LAST)
		ink_payload_starts(p, unit[0], type);
}

/* The types of those with one of these nal_ref_idc (a bit for each), once they are found. */
static inline uint32_t ink_payload_nals_of(const struct ink_payload *p, uint32_t refs)
{
	uint32_t types = 0;

	for (uint32_t ref = 0; ref < INK_NAL_REFS; ref++)
		types |= refs >> ref & 1 ? p->nals[ref] : 0;
	return types;
}

/* Finds the NAL units that start in it; their types, a bit for each. */
static inline uint32_t ink_payload_nals(struct ink_payload *p)
{
	uint32_t at = ink_payload_rtp(p);

	for (uint32_t ref = 0; ref < INK_NAL_REFS; ref++)
		p->nals[ref] = 0;
	if (at && at != p->length)
		ink_payload_find_nals(p, at);
	return ink_payload_nals_of(p, ~0u);
}

#endif
