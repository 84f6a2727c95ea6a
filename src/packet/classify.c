/* SPDX-License-Identifier: BSD-2-Clause */
#include "packet/classify.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/siphash.h"
#include "machine/tree.h"
#include "packet/filter.h"
#include "packet/video.h"
#include "base/error.h"

enum { RANGES_FEW = 4 }; /* ranges compared one by one; larger sets of ports have a bit map */

/* A test that is ready. The first members are all that most tests need: one cache line. */
struct probe {
	uint32_t field;
	uint32_t low, span; /* the first range: value - low <= span */
	uint32_t n_ranges;
	const struct ink_range *ranges;
	uint64_t *map; /* 65536 bits, or NULL */
	const struct ink_test *test;
	struct ink_filter *filter;
};

/*
 * Machines test protocol and TCP flags first and most often. For each protocol
 * and each set of flags, the node that these tests at the head of the program
 * lead to is computed in advance: for a machine like `tcp` it is the event
 * itself.
 */
enum { PROTOCOLS = 256, FLAG_SETS = 256 };

struct ink_classifier {
	const struct ink_machine *m;
	const struct ink_node *nodes;
	int32_t by_protocol[PROTOCOLS]; /* for all but TCP */
	int32_t by_flags[FLAG_SETS];    /* for TCP */
	unsigned tails;
	uint64_t seed;
	unsigned n_probes;
	struct probe probes[];
};

/* Results that the tests of one packet share. */
struct look {
	const struct ink_sight *sight;
	int has_pictures; /* the payload has been searched, by the first test that needs it */
	struct ink_pictures pictures;
};

/* ----------------------------------------------------------------- numbers */

static int is_inside(const struct probe *t, uint64_t value)
{
	for (unsigned i = 0; i < t->n_ranges; i++)
		if (value - t->ranges[i].low <= t->ranges[i].high - t->ranges[i].low)
			return 1;
	return 0;
}

static inline int has_value(const struct probe *t, uint32_t value)
{
	return value - t->low <= t->span || (t->n_ranges > 1 && is_inside(t, value));
}

static inline int has_port(const struct probe *t, uint16_t port)
{
	return t->map ? (int)(t->map[port >> 6] >> (port & 63) & 1) : has_value(t, port);
}

static inline int counts_ports(const struct ink_packet *p)
{
	return p->protocol == INK_PROTOCOL_TCP || p->protocol == INK_PROTOCOL_UDP ||
	       p->protocol == INK_PROTOCOL_SCTP;
}

static inline int is_icmp(const struct ink_packet *p)
{
	return p->protocol == INK_PROTOCOL_ICMP || p->protocol == INK_PROTOCOL_ICMPV6;
}

/* --------------------------------------------------------------- addresses */

static int has_prefix(const struct ink_prefix *prefix, const uint8_t address[16])
{
	unsigned bytes = prefix->bits / 8, rest = prefix->bits % 8;

	if (memcmp(prefix->address, address, bytes))
		return 0;
	return !rest || (prefix->address[bytes] ^ address[bytes]) >> (8 - rest) == 0;
}

static int has_address(const struct ink_test *t, const struct ink_packet *p, const uint8_t address[16])
{
	for (unsigned i = 0; i < t->n_prefixes; i++)
		if (t->prefixes[i].version == p->version && has_prefix(&t->prefixes[i], address))
			return 1;
	return 0;
}

/* -------------------------------------------------------------- the others */

static int begins(const struct ink_test *t, const struct ink_packet *p)
{
	return p->payload_captured >= t->length && !memcmp(p->payload, t->bytes, t->length);
}

static int has_type(const struct probe *t, uint32_t types, uint32_t first)
{
	for (unsigned type = 0; types; type++, types >>= 1)
		if (types & 1 && has_value(t, first + type))
			return 1;
	return 0;
}

static int has_nal(const struct probe *t, const struct ink_packet *p)
{
	return has_type(t, ink_video_nals(p, ~0u), 0);
}

static int has_nal_ref(const struct probe *t, const struct ink_packet *p)
{
	for (unsigned ref = 0; ref < INK_NAL_REFS; ref++)
		if (has_type(t, ink_video_nals(p, 1u << ref), ref * INK_NAL_TYPES))
			return 1;
	return 0;
}

static const struct ink_pictures *pictures_of(const struct ink_packet *p, struct look *look)
{
	if (!look->has_pictures)
		look->pictures = ink_video_pictures(p, look->sight->tail);
	look->has_pictures = 1;
	return &look->pictures;
}

/* The number of the `chance` in the file is part of the hash key, so each is independent. */
static int by_chance(const struct ink_test *t, uint64_t seed, uint64_t number)
{
	const uint64_t secret[2] = {seed, t->length};

	return t->threshold == UINT64_MAX || ink_siphash13_word(secret, number) < t->threshold;
}

static int compares(enum ink_compare compare, double a, double b)
{
	switch (compare) {
	case INK_EQ:
		return a >= b && a <= b;
	case INK_NE:
		return a < b || a > b;
	case INK_LT:
		return a < b;
	case INK_LE:
		return a <= b;
	case INK_GT:
		return a > b;
	default:
		return a >= b;
	}
}

/* Counters stay below 2^53 in any run that ends, so they are exact as doubles. */
static int counter_compares(const struct ink_against *a, const uint64_t *counters)
{
	double other = a->other_name ? a->share * (double)counters[a->other] : (double)a->number;

	return compares(a->compare, (double)counters[a->counter], other);
}

/* Tests that are rare or long, kept out of the hot path. */
__attribute__((noinline)) static int holds_rare(const struct ink_classifier *c, const struct probe *t,
						const struct ink_packet *p, struct look *look)
{
	switch ((enum ink_field)t->field) {
	case INK_FIELD_SHOST:
		return has_address(t->test, p, p->source);
	case INK_FIELD_DHOST:
		return has_address(t->test, p, p->destination);
	case INK_FIELD_HOST:
		return has_address(t->test, p, p->source) || has_address(t->test, p, p->destination);
	case INK_FIELD_ICMP_TYPE:
		return is_icmp(p) && has_value(t, p->icmp_type);
	case INK_FIELD_ICMP_CODE:
		return is_icmp(p) && has_value(t, p->icmp_code);
	case INK_FIELD_RTP:
		return ink_video_rtp(p) >= 0;
	case INK_FIELD_RTP_TYPE:
		return ink_video_rtp(p) >= 0 && has_value(t, (uint32_t)ink_video_rtp(p));
	case INK_FIELD_TS:
		return ink_video_ts(p);
	case INK_FIELD_NAL:
		return has_nal(t, p);
	case INK_FIELD_NAL_REF:
		return has_nal_ref(t, p);
	case INK_FIELD_PICTURE:
		return has_value(t, pictures_of(p, look)->last);
	case INK_FIELD_BEGINS:
		return begins(t->test, p);
	case INK_FIELD_CHANCE:
		return by_chance(t->test, c->seed, look->sight->number);
	case INK_FIELD_COUNTER:
		return counter_compares(&t->test->against, look->sight->counters);
	case INK_FIELD_QUEUE_PACKETS:
		return has_value(t, look->sight->waiting.packets);
	case INK_FIELD_QUEUE_BYTES:
		return has_value(t, look->sight->waiting.bytes);
	case INK_FIELD_QUEUE_TIME:
		return has_value(t, look->sight->waiting.time);
	case INK_FIELD_FILTER:
		return ink_filter_match(t->filter, p);
	default: /* a field that has no case here holds for no packet */
		return 0;
	}
}

static inline int holds(const struct ink_classifier *c, const struct probe *t, const struct ink_packet *p,
			struct look *look)
{
	switch ((enum ink_field)t->field) {
	case INK_FIELD_VERSION:
		return has_value(t, p->version);
	case INK_FIELD_PROTOCOL:
		return has_value(t, p->protocol);
	case INK_FIELD_TCP_FLAG:
		return (p->tcp_flags & t->low) != 0; /* 0 in packets that are not TCP */
	case INK_FIELD_SPORT:
		return counts_ports(p) && has_port(t, p->sport);
	case INK_FIELD_DPORT:
		return counts_ports(p) && has_port(t, p->dport);
	case INK_FIELD_PORT:
		return counts_ports(p) && (has_port(t, p->sport) || has_port(t, p->dport));
	case INK_FIELD_LENGTH:
		return has_value(t, p->wire);
	case INK_FIELD_PAYLOAD:
		return has_value(t, p->payload_wire);
	case INK_FIELD_TTL:
		return has_value(t, p->ttl);
	case INK_FIELD_TOS:
		return has_value(t, p->tos);
	case INK_FIELD_VLAN:
		return has_value(t, p->vlan);
	case INK_FIELD_DEPTH:
		return has_value(t, p->depth);
	case INK_FIELD_FRAGMENT:
		return p->fragment != INK_WHOLE;
	case INK_FIELD_FROM_HIGH:
		return has_value(t, p->flags & INK_FROM_HIGH);
	default:
		return holds_rare(c, t, p, look);
	}
}

int ink_test_holds(const struct ink_classifier *c, unsigned test, const struct ink_packet *p,
		   const struct ink_sight *sight)
{
	struct look look = {.sight = sight, .has_pictures = 0};

	return holds(c, &c->probes[test], p, &look);
}

/* --------------------------------------------------------------- the walk */

static inline int32_t first_node(const struct ink_classifier *c, const struct ink_packet *p)
{
	return p->protocol == INK_PROTOCOL_TCP ? c->by_flags[p->tcp_flags & (FLAG_SETS - 1)]
					       : c->by_protocol[p->protocol];
}

/* What the packet leaves behind for the next one of its flow, if states remember it. */
static inline unsigned tail_left(const struct ink_classifier *c, const struct ink_packet *p,
				 struct look *look)
{
	return c->tails > 1 ? pictures_of(p, look)->tail : 0;
}

/* The number of a written event in the rules. */
static inline uint16_t compiled(const struct ink_classifier *c, unsigned event, unsigned side, unsigned tail)
{
	if (c->m->event_sides[event] == 1)
		side = 0;
	return (uint16_t)(c->m->event_base[event] + side * c->tails + tail);
}

uint16_t ink_classify(const struct ink_classifier *c, const struct ink_packet *p,
		      const struct ink_sight *sight)
{
	struct look look = {.sight = sight, .has_pictures = 0};
	int32_t at = first_node(c, p);
	unsigned event, side = p->flags & INK_FROM_HIGH;

	if (p->skip != INK_NOT_SKIPPED)
		return INK_NO_EVENT;
	while (at >= 0) {
		const struct ink_node *n = &c->nodes[at];

		at = n->next[holds(c, &c->probes[n->test], p, &look)];
	}
	event = (unsigned)~at;
	return event == c->m->n_events ? INK_NO_EVENT : compiled(c, event, side, tail_left(c, p, &look));
}

uint16_t ink_classify_told(const struct ink_classifier *c, unsigned event, const struct ink_packet *p,
			   const struct ink_sight *sight, int reversed)
{
	struct look look = {.sight = sight, .has_pictures = 0};
	unsigned side = (p->flags & INK_FROM_HIGH) ^ (reversed ? INK_FROM_HIGH : 0);

	return compiled(c, event, side, tail_left(c, p, &look));
}

/* ------------------------------------------------------------------ making */

static int make_map(struct probe *t)
{
	t->map = calloc(65536 / 64, sizeof *t->map);
	if (!t->map)
		return -ENOMEM;
	for (unsigned i = 0; i < t->n_ranges; i++)
		for (uint64_t port = t->ranges[i].low; port <= t->ranges[i].high; port++)
			t->map[port / 64] |= 1ull << port % 64;
	return 0;
}

static int make_filter(struct probe *t, enum ink_link link, struct ink_why *why)
{
	struct ink_why said = {""};

	t->filter = ink_filter_compile_quickly(t->test->bytes, link, &said);
	return t->filter ? 0 : ink_fail(why, -errno, "%s: %s", t->test->place, said.text);
}

static int make_probe(struct probe *t, const struct ink_test *test, enum ink_link link, struct ink_why *why)
{
	int ports = test->field == INK_FIELD_SPORT || test->field == INK_FIELD_DPORT ||
		    test->field == INK_FIELD_PORT;

	t->field = test->field;
	t->test = test;
	t->ranges = test->ranges;
	t->n_ranges = test->n_ranges;
	if (test->n_ranges) {
		t->low = (uint32_t)test->ranges[0].low;
		t->span = (uint32_t)(test->ranges[0].high - test->ranges[0].low);
	}
	if (ports && test->n_ranges > RANGES_FEW)
		return make_map(t) ? ink_fail(why, -ENOMEM, "machine: no memory") : 0;
	if (test->field != INK_FIELD_FILTER)
		return 0;
	return make_filter(t, link, why);
}

/* The first node on the path of such a packet that tests anything else. */
static int32_t head_of(const struct ink_classifier *c, int32_t at, uint8_t protocol, uint16_t flags)
{
	const struct ink_packet p = {.protocol = protocol, .tcp_flags = flags};

	while (at >= 0) {
		const struct ink_node *n = &c->nodes[at];
		const struct probe *t = &c->probes[n->test];

		if (t->field != INK_FIELD_PROTOCOL && t->field != INK_FIELD_TCP_FLAG)
			break;
		at = n->next[holds(c, t, &p, NULL)];
	}
	return at;
}

static void make_heads(struct ink_classifier *c)
{
	for (unsigned i = 0; i < PROTOCOLS; i++)
		c->by_protocol[i] = head_of(c, c->m->decision.first, (uint8_t)i, 0);
	for (unsigned i = 0; i < FLAG_SETS; i++)
		c->by_flags[i] = head_of(c, c->m->decision.first, INK_PROTOCOL_TCP, (uint16_t)i);
}

struct ink_classifier *ink_classifier_make(const struct ink_machine *m, enum ink_link link, uint64_t seed,
					   struct ink_why *why)
{
	struct ink_classifier *c = calloc(1, sizeof *c + m->n_tests * sizeof *c->probes);
	int error = 0;

	if (!c)
		return errno = -ink_fail(why, -ENOMEM, "machine: no memory"), NULL;
	c->m = m;
	c->nodes = m->decision.nodes;
	c->tails = m->tails;
	c->seed = seed;
	for (; c->n_probes < m->n_tests && !error; c->n_probes++)
		error = make_probe(&c->probes[c->n_probes], &m->tests[c->n_probes], link, why);
	if (!error) {
		make_heads(c);
		return c;
	}
	ink_classifier_free(c);
	errno = -error;
	return NULL;
}

void ink_classifier_free(struct ink_classifier *c)
{
	for (unsigned i = 0; c && i < c->n_probes; i++) {
		free(c->probes[i].map);
		ink_filter_free(c->probes[i].filter);
	}
	free(c);
}
