/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tests of the payload, in the kernel: rtp, rtp type, ts, nal, picture, remember tail, begins. What they say is said by
 * packet/payload.h and packet/pictures.h, from which user space is made, too.
 *
 * The payload is copied into a map, one place for each processor: at most INK_PAYLOAD_MOST bytes of it, whichever parts
 * the packet is in. A packet with more is one that was cut there.
 *
 *     p = payload_load_xdp(ctx, packet, offset)     once for each packet, before the others
 *     payload_pictures(p, tail)                     then p->video.pictures
 *     payload_nals(p), payload_rtp_type(p), payload_is_ts(p), payload_begins(p, at, n)
 *
 * The latter are global functions: the verifier looks at each once, whoever calls them.
 */
#ifndef INKLING_KERNEL_PAYLOAD_BPF_H
#define INKLING_KERNEL_PAYLOAD_BPF_H

#include <stddef.h>

#include <inkling/packet.h>

#include "kernel/maps.bpf.h"
#include "packet/pictures.h"

struct payload {
	struct ink_payload video; /* of UDP; of others it is empty */
	uint32_t captured;        /* bytes of it that are here, of any protocol */
	uint32_t pattern;         /* payload_begins: the place of its first word */
	uint32_t left;            /* bytes that are still to be compared */
	uint32_t nals;            /* the types of its NAL units, */
	uint32_t has_nals;        /* once they were searched: a packet can have thousands */
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, uint32_t);
	__type(value, struct payload);
} payloads SEC(".maps");

/* ------------------------------------------------------------------ loading */

static inline struct payload *payload_of(const struct ink_packet *packet)
{
	struct payload *p = bpf_map_lookup_elem(&payloads, &(uint32_t){0});

	if (!p)
		return NULL;
	p->captured =
		packet->payload_captured < INK_PAYLOAD_MOST ? packet->payload_captured : INK_PAYLOAD_MOST;
	p->video.length = packet->protocol == INK_PROTOCOL_UDP ? p->captured : 0;
	p->video.is_cut = p->captured < packet->payload_wire;
	p->has_nals = 0;
	return p;
}

/* The number of bytes to load, if there are any, made so that any verifier sees 1 .. INK_PAYLOAD_MASK + 1. */
static inline uint32_t payload_bytes(const struct payload *p)
{
	uint64_t less = p->captured - 1;

	__asm__ volatile("" : "+r"(less));
	less &= INK_PAYLOAD_MASK;
	__asm__ volatile("" : "+r"(less));
	return (uint32_t)less + 1;
}

/* The packet's payload, which begins at byte `offset` of the frame. NULL: the frame does not have it. */
static inline struct payload *payload_load_xdp(struct xdp_md *ctx, const struct ink_packet *packet,
					       uint32_t offset)
{
	struct payload *p = payload_of(packet);

	if (p && p->captured && bpf_xdp_load_bytes(ctx, offset, p->video.bytes, payload_bytes(p)))
		return NULL;
	return p;
}

static inline struct payload *payload_load_skb(struct __sk_buff *skb, const struct ink_packet *packet,
					       uint32_t offset)
{
	struct payload *p = payload_of(packet);

	if (p && p->captured && bpf_skb_load_bytes(skb, offset, p->video.bytes, payload_bytes(p)))
		return NULL;
	return p;
}

/* -------------------------------------------------------------------- tests */

#define PAYLOAD_TEST __attribute__((noinline)) int

/* The type of the last picture that starts in it; all that was found is in p->video.pictures. */
PAYLOAD_TEST payload_pictures(struct payload *p, uint32_t tail)
{
	if (!p)
		return INK_PICTURE_NONE;
	ink_payload_pictures(&p->video, tail);
	return p->video.pictures.last;
}

/* The types of the NAL units that start in it, a bit for each. */
PAYLOAD_TEST payload_nals(struct payload *p)
{
	if (!p)
		return 0;
	if (!p->has_nals)
		p->nals = ink_payload_nals(&p->video);
	p->has_nals = 1;
	return (int)p->nals;
}

/* -1: it is not RTP. */
PAYLOAD_TEST payload_rtp_type(struct payload *p)
{
	return p ? ink_payload_rtp_type(&p->video) : -1;
}

PAYLOAD_TEST payload_is_ts(struct payload *p)
{
	return p && ink_payload_is_ts(&p->video);
}

/* Eight bytes, or what is left of them: the others are shifted out. Ends at the first difference. */
static long payload_begins_step(uint64_t turn, void *context)
{
	struct payload *p = *(struct payload **)context;
	uint32_t at = p->pattern + (uint32_t)turn, out = p->left < 8 ? 64 - 8 * p->left : 0;
	uint64_t *word = bpf_map_lookup_elem(&bytes, &at), differs;

	if (!word || !p->left)
		return 1;
	differs = *word ^ ink_word_at(ink_payload_at(&p->video, 8 * turn));
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
	differs <<= out & 63;
#else
	differs >>= out & 63;
#endif
	if (differs)
		return 1;
	p->left = p->left < 8 ? 0 : p->left - 8;
	return 0;
}

/* Does it begin with the n bytes that entry `at` of the map `bytes` begins with? */
PAYLOAD_TEST payload_begins(struct payload *p, uint32_t at, uint32_t n)
{
	if (!p || p->captured < n)
		return 0;
	p->pattern = at;
	p->left = n;
	ink_loop(INK_PAYLOAD_MOST / 8 + 1, payload_begins_step, p);
	return !p->left;
}

#endif
