/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The decision program of a machine, as the programs in the kernel run it: each test stands in its node, and the
 * nodes of a half stand in one map.
 *
 *     tests[3] <--test-- node 7 --next--> nodes         becomes         nodes[base + 7] = { field, low, span, ... }
 *
 * As in src/packet/classify.c, the tests of protocol and TCP flags at the head of the program are made here, for
 * every protocol and every set of flags.
 */
#include "kernel/inside.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "packet/walk.h"

/* Ranges of ports that are compared one by one; more have a bit map. As in classify.c. */
enum { RANGES_FEW = 4 };

static int is_of_ports(const struct ink_test *t)
{
	return t->field == INK_FIELD_SPORT || t->field == INK_FIELD_DPORT || t->field == INK_FIELD_PORT;
}

/* ------------------------------------------------------------------- tests */

static int put_ports(const struct ink_kernel_compiling *c, const struct ink_test *t,
		     struct ink_kernel_node *node)
{
	struct ink_kernel_ports *p = ink_kernel_append(c->half, INK_PART_PORTS, 1, &node->at);

	if (!p)
		return -ENOMEM;
	for (unsigned i = 0; i < t->n_ranges; i++)
		for (uint64_t port = t->ranges[i].low; port <= t->ranges[i].high; port++)
			p->bits[port / 64] |= 1ull << port % 64;
	node->n = INK_KERNEL_BITS;
	return 0;
}

static int put_ranges(const struct ink_kernel_compiling *c, const struct ink_test *t,
		      struct ink_kernel_node *node)
{
	struct ink_kernel_range *r = ink_kernel_append(c->half, INK_PART_RANGES, t->n_ranges, &node->at);

	if (!r)
		return -ENOMEM;
	for (unsigned i = 0; i < t->n_ranges; i++)
		r[i] = (struct ink_kernel_range){t->ranges[i].low, t->ranges[i].high - t->ranges[i].low};
	node->low = (uint32_t)r[0].low;
	node->span = (uint32_t)r[0].span;
	node->n = t->n_ranges;
	return 0;
}

/* The first `bits` of 64. */
static uint64_t leading(unsigned bits)
{
	return bits == 0 ? 0 : bits < 64 ? ~0ull << (64 - bits) : ~0ull;
}

static struct ink_kernel_prefix prefix_of(const struct ink_prefix *from)
{
	struct ink_kernel_prefix p = {.version = from->version};

	p.mask[0] = leading(from->bits);
	p.mask[1] = leading(from->bits > 64 ? from->bits - 64 : 0);
	p.address[0] = ink_be64(from->address) & p.mask[0];
	p.address[1] = ink_be64(from->address + 8) & p.mask[1];
	return p;
}

static int put_prefixes(const struct ink_kernel_compiling *c, const struct ink_test *t,
			struct ink_kernel_node *node)
{
	struct ink_kernel_prefix *p = ink_kernel_append(c->half, INK_PART_PREFIXES, t->n_prefixes, &node->at);

	for (unsigned i = 0; p && i < t->n_prefixes; i++)
		p[i] = prefix_of(&t->prefixes[i]);
	node->n = t->n_prefixes;
	return p ? 0 : -ENOMEM;
}

static int put_bytes(const struct ink_kernel_compiling *c, const struct ink_test *t,
		     struct ink_kernel_node *node)
{
	uint32_t entries = (t->length + 7) / (uint32_t)sizeof(struct ink_kernel_bytes);
	struct ink_kernel_bytes *b = ink_kernel_append(c->half, INK_PART_BYTES, entries, &node->at);

	if (!b)
		return -ENOMEM;
	memcpy(b, t->bytes, t->length);
	node->n = t->length;
	return 0;
}

/* Shares are in units of 2^-32: "25%" is 2^30. */
static int put_against(const struct ink_kernel_compiling *c, const struct ink_test *t,
		       struct ink_kernel_node *node)
{
	struct ink_kernel_against *to = ink_kernel_append(c->half, INK_PART_AGAINSTS, 1, &node->at);
	const struct ink_against *a = &t->against;
	uint32_t first = c->number * INK_KERNEL_COUNTERS;

	if (!to)
		return -ENOMEM;
	*to = (struct ink_kernel_against){
		.counter = first + c->numbers->slot_of[a->counter],
		.other = a->other_name ? first + c->numbers->slot_of[a->other] : UINT32_MAX,
		.compare = (uint32_t)a->compare,
		.number = a->other_name ? 0 : a->number,
		.share = a->other_name ? (uint64_t)(a->share * 4294967296. + .5) : 0};
	node->n = 1;
	return 0;
}

/* The highest value means always; so no other chance has it. */
static int put_chance(const struct ink_test *t, struct ink_kernel_node *node)
{
	uint32_t threshold = (uint32_t)(t->threshold >> 32);

	node->more = t->threshold != UINT64_MAX && threshold == UINT32_MAX ? threshold - 1 : threshold;
	return 0;
}

/* The types of a test and the values of nal_ref_idc, a bit for each: it holds for all pairs of them. */
static int put_nal_ref(const struct ink_test *t, struct ink_kernel_node *node)
{
	for (unsigned i = 0; i < t->n_ranges; i++)
		for (uint64_t value = t->ranges[i].low; value <= t->ranges[i].high; value++) {
			node->low |= 1u << value % INK_NAL_TYPES;
			node->span |= 1u << value / INK_NAL_TYPES;
		}
	return 0;
}

static int put_test(const struct ink_kernel_compiling *c, const struct ink_test *t,
		    struct ink_kernel_node *node)
{
	node->field = (uint32_t)t->field;
	if (is_of_ports(t) && t->n_ranges > RANGES_FEW)
		return put_ports(c, t, node);
	if (t->field == INK_FIELD_COUNTER)
		return put_against(c, t, node);
	if (t->field == INK_FIELD_CHANCE)
		return put_chance(t, node);
	if (t->field == INK_FIELD_BEGINS)
		return put_bytes(c, t, node);
	if (t->field == INK_FIELD_NAL_REF)
		return put_nal_ref(t, node);
	if (t->n_prefixes)
		return put_prefixes(c, t, node);
	return t->n_ranges ? put_ranges(c, t, node) : 0;
}

/* ------------------------------------------------------------------- heads */

static int has_value(const struct ink_test *t, uint64_t value)
{
	for (unsigned i = 0; i < t->n_ranges; i++)
		if (value >= t->ranges[i].low && value <= t->ranges[i].high)
			return 1;
	return 0;
}

/* The first node of such a packet that tests anything else. */
static int32_t head_of(const struct ink_machine *m, unsigned protocol, unsigned flags)
{
	int32_t at = m->decision.first;

	while (at >= 0) {
		const struct ink_node *n = &m->decision.nodes[at];
		const struct ink_test *t = &m->tests[n->test];

		if (t->field == INK_FIELD_PROTOCOL)
			at = n->next[has_value(t, protocol)];
		else if (t->field == INK_FIELD_TCP_FLAG)
			at = n->next[(flags & t->ranges[0].low) != 0];
		else
			break;
	}
	return at;
}

/* From a number of the machine's program to one of the map. */
static int32_t placed(int32_t at, uint32_t first)
{
	return at < 0 ? at : at + (int32_t)first;
}

static void put_heads(const struct ink_machine *m, uint32_t first, struct ink_kernel_machine *out)
{
	for (unsigned i = 0; i < 256; i++) {
		out->by_protocol[i] = placed(head_of(m, i, 0), first);
		out->by_flags[i] = placed(head_of(m, INK_PROTOCOL_TCP, i), first);
	}
}

/* ------------------------------------------------------------------- depth */

/* Tests from a node on; `known` has 1 + what was found, by node. The graph has no cycles. */
static unsigned depth_from(const struct ink_decision *d, int32_t at, unsigned *known)
{
	unsigned a, b;

	if (at < 0)
		return 0;
	if (!known[at]) {
		a = depth_from(d, d->nodes[at].next[0], known);
		b = depth_from(d, d->nodes[at].next[1], known);
		known[at] = 2 + (a > b ? a : b);
	}
	return known[at] - 1;
}

unsigned ink_kernel_depth(const struct ink_machine *m)
{
	unsigned *known = calloc(m->decision.n_nodes + 1, sizeof *known), depth;

	if (!known)
		return UINT32_MAX;
	depth = depth_from(&m->decision, m->decision.first, known);
	free(known);
	return depth;
}

/* ------------------------------------------------------------- the program */

static int reads_payload(const struct ink_test *t)
{
	return t->field == INK_FIELD_BEGINS || t->field == INK_FIELD_PICTURE || t->field == INK_FIELD_NAL ||
	       t->field == INK_FIELD_NAL_REF || t->field == INK_FIELD_RTP || t->field == INK_FIELD_RTP_TYPE ||
	       t->field == INK_FIELD_TS;
}

int ink_kernel_decide(const struct ink_kernel_compiling *c, struct ink_kernel_machine *out)
{
	const struct ink_decision *d = &c->m->decision;
	struct ink_kernel_node *nodes;
	uint32_t first;
	int error = 0;

	nodes = ink_kernel_append(c->half, INK_PART_NODES, d->n_nodes ? d->n_nodes : 1, &first);
	if (!nodes)
		return -ENOMEM;
	for (unsigned i = 0; i < d->n_nodes && !error; i++) {
		const struct ink_test *t = &c->m->tests[d->nodes[i].test];

		error = put_test(c, t, &nodes[i]);
		nodes[i].next[0] = placed(d->nodes[i].next[0], first);
		nodes[i].next[1] = placed(d->nodes[i].next[1], first);
		out->payload |= (uint32_t)reads_payload(t);
	}
	put_heads(c->m, first, out);
	return error;
}
