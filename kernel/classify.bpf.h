/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * From a packet to its event: interprets the decision program of a machine.
 *
 *     by_protocol, by_flags --> node --> node --> ~event
 *                                 `-no-> node --> ~event
 *
 * As packet/classify.c, with the same tests in the same order. A set of ports is a bit map, other sets of ranges are
 * searched by halving, prefixes one by one. Tests of the payload are those of payload.bpf.h, over a copy that is made
 * when the first machine needs it.
 */
#ifndef INKLING_KERNEL_CLASSIFY_BPF_H
#define INKLING_KERNEL_CLASSIFY_BPF_H

#include "kernel/payload.bpf.h"
#include "kernel/queue.bpf.h"
#include "kernel/work.bpf.h"
#include "machine/field.h"

/* ------------------------------------------------------------------- numbers */

/* [low, high) shrinks to nothing around the first range that begins above the value. */
static long ink_halve(uint32_t i, struct ink_loop *c)
{
	struct ink_work *w = c->work;
	uint32_t middle = (w->low + w->high) / 2;
	const struct ink_kernel_range *r = INK_AT(ranges, middle);

	if (!r || w->low >= w->high)
		return 1;
	if (w->value < r->low) {
		w->high = middle;
		return 0;
	}
	w->low = middle + 1;
	w->found = w->value - r->low <= r->span;
	return (long)w->found;
}

enum { INK_HALVINGS = 9 }; /* of INK_KERNEL_RANGES; sets of ports with more than four ranges are bit maps */

/* Is w->value in one of the ranges? */
INK_PART ink_in_ranges(struct ink_work *w, uint32_t at, uint32_t n)
{
	if (!w)
		return 0;
	w->low = at;
	w->high = at + n;
	w->found = 0;
	INK_LOOP(INK_HALVINGS, ink_halve, w);
	return (int)w->found;
}

static inline int ink_has_value(struct ink_work *w, const struct ink_kernel_node *n, uint32_t value)
{
	if (value - n->low <= n->span)
		return 1;
	if (n->n < 2)
		return 0;
	w->value = value;
	return ink_in_ranges(w, n->at, n->n);
}

static inline int ink_has_port(struct ink_work *w, const struct ink_kernel_node *n, uint16_t port)
{
	const struct ink_kernel_ports *map;

	if (n->n != INK_KERNEL_BITS)
		return ink_has_value(w, n, port);
	map = INK_AT(ports, n->at);
	return map && (map->bits[port >> 6] >> (port & 63) & 1);
}

static inline int ink_counts_ports(const struct ink_packet *p)
{
	return p->protocol == INK_PROTOCOL_TCP || p->protocol == INK_PROTOCOL_UDP ||
	       p->protocol == INK_PROTOCOL_SCTP;
}

static inline int ink_is_icmp(const struct ink_packet *p)
{
	return p->protocol == INK_PROTOCOL_ICMP || p->protocol == INK_PROTOCOL_ICMPV6;
}

/* ----------------------------------------------------------------- addresses */

static long ink_compare_prefix(uint32_t i, struct ink_loop *c)
{
	struct ink_work *w = c->work;
	const struct ink_kernel_prefix *f = w->low < w->high ? INK_AT(prefixes, w->low) : NULL;

	if (!f)
		return 1;
	w->low++;
	w->found = f->version == w->packet.version && !((w->address[0] ^ f->address[0]) & f->mask[0]) &&
		   !((w->address[1] ^ f->address[1]) & f->mask[1]);
	return (long)w->found;
}

/* Is w->address in one of the prefixes? */
INK_PART ink_in_prefixes(struct ink_work *w, uint32_t at, uint32_t n)
{
	if (!w)
		return 0;
	w->low = at;
	w->high = at + n;
	w->found = 0;
	INK_LOOP(INK_KERNEL_PREFIXES, ink_compare_prefix, w);
	return (int)w->found;
}

static inline int ink_has_address(struct ink_work *w, const struct ink_kernel_node *n, const uint8_t *address)
{
	w->address[0] = ink_be64(address);
	w->address[1] = ink_be64(address + 8);
	return ink_in_prefixes(w, n->at, n->n);
}

/* ------------------------------------------------------------------ counters */

/* A share, 2^32 at most, of a number: the whole part; `rest` is what is left. In halves: BPF has no 128 bits. */
static inline uint64_t ink_share(uint64_t share, uint64_t number, uint64_t *rest)
{
	uint64_t low = (number & UINT32_MAX) * share, high = (number >> 32) * share;

	*rest = low & UINT32_MAX;
	return high + (low >> 32);
}

/* -1, 0 or 1: the counter is below, at or above what it is compared with. */
static inline int ink_order(uint64_t counter, uint64_t number, uint64_t rest)
{
	if (counter != number)
		return counter < number ? -1 : 1;
	return rest ? -1 : 0;
}

static inline int ink_compares(uint32_t compare, int order)
{
	switch (compare) {
	case INK_EQ:
		return order == 0;
	case INK_NE:
		return order != 0;
	case INK_LT:
		return order < 0;
	case INK_LE:
		return order <= 0;
	case INK_GT:
		return order > 0;
	default:
		return order >= 0;
	}
}

INK_PART ink_counter_holds(uint32_t at)
{
	const struct ink_kernel_against *a = INK_AT(againsts, at);
	uint64_t *counter = a ? INK_AT(weighed, a->counter) : NULL, *other, number, rest = 0;

	if (!counter)
		return 0;
	number = a->number;
	if (a->other != UINT32_MAX) {
		other = INK_AT(weighed, a->other);
		number = other ? ink_share(a->share, *other + a->carried[1], &rest) : 0;
	}
	return ink_compares(a->compare, ink_order(*counter + a->carried[0], number, rest));
}

/* -------------------------------------------------------------------- chance */

static inline int ink_by_chance(const struct ink_kernel_node *n)
{
	const struct ink_kernel_control *c = INK_AT(control, 0);

	if (n->more == UINT32_MAX)
		return 1;
	return (c && c->chance ? (c->chance - 1) << 1 : bpf_get_prandom_u32()) < n->more;
}

/* ------------------------------------------------------------------- payload */

/* The packet's, if it has one that was copied. */
static inline struct payload *ink_payload(const struct ink_work *w)
{
	return w->has_payload ? INK_AT(payloads, 0) : NULL;
}

/* Searched once for each tail. */
static inline struct payload *ink_pictures_of(struct ink_work *w)
{
	struct payload *p = ink_payload(w);

	if (p && w->pictured != w->step.tail + 1u)
		payload_pictures(p, w->step.tail);
	w->pictured = w->step.tail + 1u;
	return p;
}

static inline uint32_t ink_picture(struct ink_work *w)
{
	const struct payload *p = ink_pictures_of(w);

	return p ? p->video.pictures.last : 0;
}

static inline int ink_has_nal(struct ink_work *w, const struct ink_kernel_node *n)
{
	uint32_t types = (uint32_t)payload_nals(ink_payload(w));

	for (uint32_t type = 0; type < 32; type++)
		if (types >> type & 1 && ink_has_value(w, n, type))
			return 1;
	return 0;
}

/* `low` has the types of the test, `span` the values of nal_ref_idc: a bit for each. */
static inline int ink_has_nal_ref(struct ink_work *w, const struct ink_kernel_node *n)
{
	struct payload *p = ink_payload(w);

	return p && payload_nals(p) && ink_payload_nals_of(&p->video, n->span) & n->low;
}

static inline int ink_holds_payload(struct ink_work *w, const struct ink_kernel_node *n)
{
	int type;

	switch (n->field) {
	case INK_FIELD_RTP:
		return payload_rtp_type(ink_payload(w)) >= 0;
	case INK_FIELD_RTP_TYPE:
		type = payload_rtp_type(ink_payload(w));
		return type >= 0 && ink_has_value(w, n, (uint32_t)type);
	case INK_FIELD_TS:
		return payload_is_ts(ink_payload(w));
	case INK_FIELD_NAL:
		return ink_has_nal(w, n);
	case INK_FIELD_NAL_REF:
		return ink_has_nal_ref(w, n);
	case INK_FIELD_PICTURE:
		return ink_has_value(w, n, ink_picture(w));
	case INK_FIELD_BEGINS:
		return payload_begins(ink_payload(w), n->at, n->n);
	default:
		return 0;
	}
}

/* A field that has no case here would hold for no packet, and nobody would notice. */
_Static_assert(INK_FIELD_FILTER == 31, "a new field has a case here, and in reads_payload of kernel/nodes.c");

/* --------------------------------------------------------------------- tests */

static inline int ink_holds_rare(struct ink_work *w, const struct ink_kernel_node *n)
{
	const struct ink_packet *p = &w->packet;

	switch (n->field) {
	case INK_FIELD_SHOST:
		return ink_has_address(w, n, p->source);
	case INK_FIELD_DHOST:
		return ink_has_address(w, n, p->destination);
	case INK_FIELD_HOST:
		return ink_has_address(w, n, p->source) || ink_has_address(w, n, p->destination);
	case INK_FIELD_ICMP_TYPE:
		return ink_is_icmp(p) && ink_has_value(w, n, p->icmp_type);
	case INK_FIELD_ICMP_CODE:
		return ink_is_icmp(p) && ink_has_value(w, n, p->icmp_code);
	case INK_FIELD_CHANCE:
		return ink_by_chance(n);
	case INK_FIELD_COUNTER:
		return ink_counter_holds(n->at);
	case INK_FIELD_QUEUE_PACKETS:
	case INK_FIELD_QUEUE_BYTES:
	case INK_FIELD_QUEUE_TIME:
		return ink_has_value(w, n, ink_queued(w, n->field));
	default:
		return ink_holds_payload(w, n);
	}
}

static inline int ink_holds(struct ink_work *w, const struct ink_kernel_node *n)
{
	const struct ink_packet *p = &w->packet;
	uint32_t value;

	switch (n->field) {
	case INK_FIELD_TCP_FLAG:
		return (p->tcp_flags & n->low) != 0; /* 0 in packets that are not TCP */
	case INK_FIELD_SPORT:
		return ink_counts_ports(p) && ink_has_port(w, n, p->sport);
	case INK_FIELD_DPORT:
		return ink_counts_ports(p) && ink_has_port(w, n, p->dport);
	case INK_FIELD_PORT:
		return ink_counts_ports(p) && (ink_has_port(w, n, p->sport) || ink_has_port(w, n, p->dport));
	case INK_FIELD_FRAGMENT:
		return p->fragment != INK_WHOLE;
	case INK_FIELD_VERSION:
		value = p->version;
		break;
	case INK_FIELD_PROTOCOL:
		value = p->protocol;
		break;
	case INK_FIELD_LENGTH:
		value = p->wire;
		break;
	case INK_FIELD_PAYLOAD:
		value = p->payload_wire;
		break;
	case INK_FIELD_TTL:
		value = p->ttl;
		break;
	case INK_FIELD_TOS:
		value = p->tos;
		break;
	case INK_FIELD_VLAN:
		value = p->vlan;
		break;
	case INK_FIELD_DEPTH:
		value = p->depth;
		break;
	case INK_FIELD_FROM_HIGH:
		value = p->flags & INK_FROM_HIGH;
		break;
	default:
		return ink_holds_rare(w, n);
	}
	return ink_has_value(w, n, value);
}

/* ------------------------------------------------------------------ the walk */

static long ink_decide_node(uint32_t i, struct ink_loop *c)
{
	struct ink_work *w = c->work;
	const struct ink_kernel_node *n = INK_AT(nodes, w->node);

	if (!n) {
		w->node = ~(uint32_t)INK_NO_EVENT_HERE;
		return 1;
	}
	w->node = (uint32_t)(ink_holds(w, n) ? n->next[1] : n->next[0]);
	return w->node >> 31;
}

/* The written event that the program leads to from w->node. */
INK_PART ink_decide(struct ink_work *w)
{
	if (!w)
		return INK_NO_EVENT_HERE;
	INK_LOOP(INK_KERNEL_DEPTH + 1, ink_decide_node, w);
	return (int)~w->node;
}

static inline int32_t ink_first_node(const struct ink_kernel_machine *m, const struct ink_packet *p)
{
	return p->protocol == INK_PROTOCOL_TCP ? m->by_flags[p->tcp_flags & 255] : m->by_protocol[p->protocol];
}

/* The written event of the packet itself; not less than m->written: it has none. */
static inline uint32_t ink_written_event(struct ink_work *w, const struct ink_kernel_machine *m)
{
	int32_t first;

	if (w->packet.skip != INK_NOT_SKIPPED || m->deaf)
		return INK_NO_EVENT_HERE;
	first = ink_first_node(m, &w->packet);
	if (first < 0)
		return (uint32_t)~first;
	w->node = (uint32_t)first;
	return (uint32_t)ink_decide(w);
}

/* What the packet leaves behind for the next one of its flow. */
static inline uint32_t ink_tail_left(struct ink_work *w)
{
	const struct payload *p = ink_pictures_of(w);

	if (p)
		return p->video.pictures.tail;
	return w->packet.payload_captured < w->packet.payload_wire ? 0 : w->step.tail;
}

#endif
