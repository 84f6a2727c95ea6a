/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * [F] Walking through a frame, header by header.
 *
 *     frame                                            captured          wire
 *     |Ethernet|VLAN|IPv4   |options|TCP      |payload     |- - - - - - - -|
 *              ^at                                         ^end            ^wire
 *
 * `at` is where the next header begins, `end` is where the bytes that we have
 * end, `wire` is where the packet ended when it was sent. An IP header moves
 * the last two to where it says that its packet ends: what a link pads with is
 * not the packet. Laws:
 *
 *  1. at <= end <= wire, and end <= captured.
 *  2. A byte is read only after ink_has() has seen that it is before `end`.
 *  3. `at` only grows, and by ink_pass(), which stops at `end`.
 *
 * So nothing is read outside the frame, whatever is in it, and all is over after
 * INK_MAX_LAYERS headers.
 *
 * In the kernel the verifier has to see law 2. There the walk reads a copy of the
 * frame's first bytes, in a map, and an offset is masked to the size of the copy. A
 * header behind what was copied makes the walk `far`: the caller copies more, and
 * walks again.
 */
#ifndef INKLING_PACKET_WALK_H
#define INKLING_PACKET_WALK_H

#include <stdint.h>

#include <inkling/packet.h>

/* Headers in a frame, VLAN tags and tunnels included. Real ones have up to about a dozen. */
#define INK_MAX_LAYERS 32
#define INK_MAX_LABELS 16     /* of MPLS; routers push two or three */
#define INK_MAX_EXTENSIONS 16 /* of one IPv6 header; RFC 8200 knows eight */
#define INK_MAX_ATTRIBUTES 32 /* of an NFLOG record; the kernel knows twenty */

/* What comes next in the frame. */
enum ink_layer {
	INK_LAYER_END, /* walk.skip says how it ended */
	INK_LAYER_ETHERNET,
	INK_LAYER_TYPE, /* what walk.type says, an ethertype */
	INK_LAYER_LLC,
	INK_LAYER_MPLS,
	INK_LAYER_PPPOE,
	INK_LAYER_PPP,
	INK_LAYER_CHDLC,
	INK_LAYER_80211,
	INK_LAYER_IP, /* of the version that its first bits say */
	INK_LAYER_IPV4,
	INK_LAYER_IPV6,
	INK_LAYER_TRANSPORT, /* what packet.protocol says */
	INK_LAYER_GRE
};

#define INK_COPY 16384u /* bytes of a frame that the copy has room for: twice a jumbo frame */
#define INK_COPY_MORE 64 /* no header reads further than that behind an offset */

struct ink_walk {
#ifdef __bpf__
	uint8_t copy[INK_COPY + INK_COPY_MORE] __attribute__((aligned(8)));
	uint32_t copied, far;
#else
	const uint8_t *frame;
#endif
	uint32_t at, end, wire;
	uint32_t options; /* of ink_packet_parse */
	uint16_t type;
	uint8_t skip;            /* enum ink_skip */
	uint8_t tunnels;         /* entered so far */
	struct ink_packet outer; /* the packet around the tunnel, if one was entered */
};

/* ---------------------------------------------------------------- its bytes */

#ifdef __bpf__
/* The compiler thinks that BPF loads words at multiples of their size only; 64-bit kernels load them anywhere. */
typedef uint16_t __attribute__((may_alias)) ink_any16;
typedef uint32_t __attribute__((may_alias)) ink_any32;

static inline uint16_t ink_be16(const uint8_t *at)
{
	uint16_t word = *(const ink_any16 *)at;

	return __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? __builtin_bswap16(word) : word;
}

static inline uint32_t ink_be32(const uint8_t *at)
{
	uint32_t word = *(const ink_any32 *)at;

	return __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? __builtin_bswap32(word) : word;
}
#else
/* Byte by byte for any alignment and byte order; compilers make one load of it. */
static inline uint16_t ink_be16(const uint8_t *at)
{
	return (uint16_t)(at[0] << 8 | at[1]);
}

static inline uint32_t ink_be32(const uint8_t *at)
{
	return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}
#endif

static inline uint64_t ink_be64(const uint8_t *at)
{
	return (uint64_t)ink_be32(at) << 32 | ink_be32(at + 4);
}

/* Bytes to copy by words, for the same reason. The compiler must not know the address, or it would see the lie. */
static inline const uint8_t *ink_words(const uint8_t *at)
{
#ifdef __bpf__
	__asm__("" : "+r"(at));
	return __builtin_assume_aligned(at, 8);
#else
	return at;
#endif
}

static inline int ink_reaches(const struct ink_walk *w, uint32_t bytes)
{
	return w->end - w->at >= bytes;
}

#ifdef __bpf__
static inline int ink_has(struct ink_walk *w, uint32_t bytes)
{
	if (!ink_reaches(w, bytes))
		return 0;
	if (w->at + bytes <= w->copied)
		return 1;
	w->far = 1;
	return 0;
}

static inline const uint8_t *ink_here(const struct ink_walk *w)
{
	return w->copy + (w->at & (INK_COPY - 1));
}
#else
static inline int ink_has(const struct ink_walk *w, uint32_t bytes)
{
	return ink_reaches(w, bytes);
}

static inline const uint8_t *ink_here(const struct ink_walk *w)
{
	return w->frame + w->at;
}
#endif

/* A place in the frame as packet.payload has it. In the kernel it is a number: maps hold no pointers. */
static inline const uint8_t *ink_place_at(const uint8_t *frame, uint32_t at)
{
#ifdef __bpf__
	(void)frame;
	return (const uint8_t *)(uint64_t)at;
#else
	return frame + at;
#endif
}

static inline const uint8_t *ink_place_here(const struct ink_walk *w)
{
#ifdef __bpf__
	return ink_place_at(w->copy, w->at);
#else
	return ink_place_at(w->frame, w->at);
#endif
}

/* Goes on; over the end, to the end. */
static inline void ink_pass(struct ink_walk *w, uint32_t bytes)
{
	w->at = ink_reaches(w, bytes) ? w->at + bytes : w->end;
}

/* The packet ends that many bytes from here, if it does not end before. */
static inline void ink_clip(struct ink_walk *w, uint32_t bytes)
{
	if (w->wire - w->at > bytes)
		w->wire = w->at + bytes;
	if (w->end - w->at > bytes)
		w->end = w->at + bytes;
}

/* ------------------------------------------------------------------- its ways */

static inline enum ink_layer ink_ends(struct ink_walk *w, enum ink_skip skip)
{
	w->skip = (uint8_t)skip;
	return INK_LAYER_END;
}

static inline enum ink_layer ink_goes_on(struct ink_walk *w, uint32_t bytes, enum ink_layer next)
{
	ink_pass(w, bytes);
	return next;
}

/* After this many bytes comes what that ethertype says. */
static inline enum ink_layer ink_goes_on_type(struct ink_walk *w, uint32_t bytes, uint16_t type)
{
	w->type = type;
	return ink_goes_on(w, bytes, INK_LAYER_TYPE);
}

#endif
