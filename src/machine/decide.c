/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * From the conditions of all events to one decision program.
 *
 * First the plain program: the events one after the other, each condition as
 * jumps between its tests (as for "and" and "or" in C). For
 *
 *     event syn   = tcp and syn          0: tcp ?  1 : 2
 *     event other = tcp                  1: syn ?  event syn : 2
 *                                        2: tcp ?  event other : none
 *
 * It is as long as the text, but tests twice whether a packet is TCP. A second
 * pass walks it from the start and carries the known facts along: it skips a
 * node whose test is already decided, and follows both branches of any other.
 * Facts are the results of earlier tests and what they imply (a packet with the
 * flag SYN is TCP; a TCP packet is not UDP; port 80 is in {80, 443}):
 *
 *     0: tcp ? 1 : none                  1: syn ? event syn : event other
 *
 * Two paths that reach the same plain node and agree in all that can still be
 * tested there share what follows. The result can be larger than the plain
 * program; past a limit the plain one is used.
 *
 * An event at which no path ends can never happen.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "machine/tree.h"

enum {
	PLAIN_MAX = 32768,   /* nodes */
	KNOWING_MAX = 4096,  /* nodes; 48 KiB of them, where two or three are usual */
	STEPS_MAX = 1 << 22, /* plain nodes passed over, in all */
	WORDS = INK_TESTS_MAX / 64,
	BUCKETS = 8192
};

struct set {
	uint64_t word[WORDS];
};

static int has(const struct set *s, unsigned i)
{
	return s->word[i / 64] >> i % 64 & 1;
}

static void add(struct set *s, unsigned i)
{
	s->word[i / 64] |= 1ull << i % 64;
}

/* The tests whose results are known, and those of them that hold. */
struct facts {
	struct set known, holds;
};

/* A path already walked: from this plain node, with these facts, it continues at `node`. */
struct walked {
	int32_t plain, node;
	struct facts facts;
	int32_t next; /* in its bucket */
};

struct decider {
	struct ink_machine *m;
	struct ink_text *text;
	struct ink_node *plain;
	struct set *ahead; /* for each plain node: the tests that can be made from there on */
	unsigned n_plain;
	struct ink_node *nodes;
	unsigned n_nodes, steps;
	struct walked *walked;
	unsigned n_walked;
	int32_t *buckets;
	struct facts (*follows)[2]; /* for each test and result: what follows from it, itself included */
	int too_large;
};

/* ----------------------------------------------------- what follows from what */

static int inside(const struct ink_test *a, const struct ink_test *b)
{
	unsigned j = 0;

	for (unsigned i = 0; i < a->n_ranges; i++) {
		while (j < b->n_ranges && b->ranges[j].high < a->ranges[i].low)
			j++;
		if (j == b->n_ranges || b->ranges[j].low > a->ranges[i].low ||
		    b->ranges[j].high < a->ranges[i].high)
			return 0;
	}
	return 1;
}

static int apart(const struct ink_test *a, const struct ink_test *b)
{
	unsigned i = 0, j = 0;

	while (i < a->n_ranges && j < b->n_ranges)
		if (a->ranges[i].high < b->ranges[j].low)
			i++;
		else if (b->ranges[j].high < a->ranges[i].low)
			j++;
		else
			return 0;
	return 1;
}

/* The protocols of which a packet that passes the test can be. */
static struct ink_test protocols_of(const struct ink_test *t)
{
	static const struct ink_range tcp[] = {{6, 6}}, udp[] = {{17, 17}}, icmp[] = {{1, 1}, {58, 58}},
				      ports[] = {{6, 6}, {17, 17}, {132, 132}}, all[] = {{0, 255}};
	struct ink_test p = {.field = INK_FIELD_PROTOCOL, .ranges = all, .n_ranges = 1};

	switch (t->field) {
	case INK_FIELD_PROTOCOL:
		return *t;
	case INK_FIELD_TCP_FLAG:
		p.ranges = tcp;
		break;
	case INK_FIELD_SPORT:
	case INK_FIELD_DPORT:
	case INK_FIELD_PORT:
		p.ranges = ports;
		p.n_ranges = 3;
		break;
	case INK_FIELD_ICMP_TYPE:
	case INK_FIELD_ICMP_CODE:
		p.ranges = icmp;
		p.n_ranges = 2;
		break;
	case INK_FIELD_RTP:
	case INK_FIELD_RTP_TYPE:
	case INK_FIELD_TS:
	case INK_FIELD_NAL:
	case INK_FIELD_NAL_REF:
	case INK_FIELD_PICTURE:
		p.ranges = udp;
		break;
	default:
		break;
	}
	return p;
}

/* Does a packet have exactly one value of the field? Then disjoint sets exclude each other. */
static int has_one_value(enum ink_field field)
{
	switch (field) {
	case INK_FIELD_VERSION:
	case INK_FIELD_PROTOCOL:
	case INK_FIELD_SPORT:
	case INK_FIELD_DPORT:
	case INK_FIELD_LENGTH:
	case INK_FIELD_PAYLOAD:
	case INK_FIELD_TTL:
	case INK_FIELD_TOS:
	case INK_FIELD_VLAN:
	case INK_FIELD_DEPTH:
	case INK_FIELD_ICMP_TYPE:
	case INK_FIELD_ICMP_CODE:
	case INK_FIELD_FROM_HIGH:
	case INK_FIELD_RTP_TYPE:
	case INK_FIELD_PICTURE:
	case INK_FIELD_QUEUE_PACKETS:
	case INK_FIELD_QUEUE_BYTES:
	case INK_FIELD_QUEUE_TIME:
		return 1;
	default:
		return 0;
	}
}

static int has_ranges(enum ink_field field)
{
	return has_one_value(field) || field == INK_FIELD_PORT || field == INK_FIELD_NAL ||
	       field == INK_FIELD_NAL_REF;
}

/* Exactly one of the two holds. */
static int only_two(const struct ink_test *a, const struct ink_test *b)
{
	return (a->field == INK_FIELD_VERSION || a->field == INK_FIELD_FROM_HIGH) && a->field == b->field &&
	       apart(a, b);
}

/* Does b hold if a has this result? 1 yes, 0 no, -1 unknown. */
static int implied(const struct ink_test *a, int result, const struct ink_test *b)
{
	struct ink_test pa = protocols_of(a), pb = protocols_of(b);
	int same = a->field == b->field && has_ranges(a->field);
	int one_port = a->field == INK_FIELD_SPORT || a->field == INK_FIELD_DPORT;

	if (!result) {
		if (a->field == INK_FIELD_PROTOCOL && inside(&pb, a))
			return 0;
		if (only_two(a, b))
			return 1;
		one_port = b->field == INK_FIELD_SPORT || b->field == INK_FIELD_DPORT;
		if ((same || (a->field == INK_FIELD_PORT && one_port)) && inside(b, a))
			return 0;
		return -1;
	}
	if (apart(&pa, &pb))
		return 0;
	if (b->field == INK_FIELD_PROTOCOL && inside(&pa, b))
		return 1;
	if ((same || (one_port && b->field == INK_FIELD_PORT)) && inside(a, b))
		return 1;
	if (same && has_one_value(a->field) && apart(a, b))
		return 0;
	if (a->field == INK_FIELD_RTP_TYPE && b->field == INK_FIELD_RTP)
		return 1;
	return -1;
}

/* The price of comparing two tests: their ranges are visited in order. */
static int pay(struct decider *d, const struct ink_test *a, const struct ink_test *b)
{
	return ink_text_work(d->text, d->text->at, 1 + (a->n_ranges + b->n_ranges) / 4);
}

static void find_implications(struct decider *d)
{
	const struct ink_test *t = d->m->tests;

	for (unsigned a = 0; a < d->m->n_tests; a++)
		for (int result = 0; result < 2; result++)
			for (unsigned b = 0; b < d->m->n_tests && !pay(d, &t[a], &t[b]); b++) {
				int holds = a == b ? result : implied(&t[a], result, &t[b]);

				if (holds >= 0)
					add(&d->follows[a][result].known, b);
				if (holds > 0)
					add(&d->follows[a][result].holds, b);
			}
}

/* --------------------------------------------------------- the plain program */

static int32_t plain_node(struct decider *d, unsigned test, int32_t yes, int32_t no)
{
	struct ink_node *n = &d->plain[d->n_plain];
	struct set *ahead = &d->ahead[d->n_plain];

	if (d->n_plain == PLAIN_MAX) {
		d->too_large = 1;
		return yes;
	}
	*n = (struct ink_node){test, {no, yes}};
	add(ahead, test);
	for (unsigned i = 0; i < 2; i++)
		for (unsigned w = 0; n->next[i] >= 0 && w < WORDS; w++)
			ahead->word[w] |= d->ahead[n->next[i]].word[w];
	return (int32_t)d->n_plain++;
}

/* The first node of the condition, whose branches continue at `yes` and `no`. */
static int32_t plain_condition(struct decider *d, const struct ink_condition *c, int32_t yes, int32_t no)
{
	if (d->too_large)
		return no;
	switch (c->kind) {
	case INK_AND:
		return plain_condition(d, c->a, plain_condition(d, c->b, yes, no), no);
	case INK_OR:
		return plain_condition(d, c->a, yes, plain_condition(d, c->b, yes, no));
	case INK_NOT:
		return plain_condition(d, c->a, no, yes);
	case INK_ALWAYS:
		return yes;
	case INK_NEVER:
		return no;
	default:
		return plain_node(d, c->test, yes, no);
	}
}

/* The node at which the program begins; a program that is too long is reported at the event that made it so. */
static int32_t plain_program(struct decider *d)
{
	int32_t first = ~(int32_t)d->m->n_events;

	for (unsigned e = d->m->n_events; e-- > 0 && !d->too_large;) {
		const struct ink_event *event = &d->m->events[e];

		first = plain_condition(d, event->condition, ~(int32_t)e, first);
		if (d->too_large)
			ink_text_error(d->text, event->at,
				       "the conditions are too long: those of this event and those after it "
				       "have more than %d tests",
				       PLAIN_MAX);
	}
	return first;
}

/* ------------------------------------------------------ the walk with known facts */

/* Only facts about tests that can still follow matter. */
static struct facts worth_knowing(const struct decider *d, int32_t plain, const struct facts *facts)
{
	struct facts f;

	for (unsigned w = 0; w < WORDS; w++) {
		f.known.word[w] = facts->known.word[w] & d->ahead[plain].word[w];
		f.holds.word[w] = facts->holds.word[w] & d->ahead[plain].word[w];
	}
	return f;
}

static unsigned bucket_of(int32_t plain, const struct facts *f)
{
	uint64_t h = (uint64_t)(uint32_t)plain * 0x9e3779b97f4a7c15ull;

	for (unsigned w = 0; w < WORDS; w++)
		h = ((h ^ f->known.word[w]) * 0xbf58476d1ce4e5b9ull ^ f->holds.word[w]) *
		    0x94d049bb133111ebull;
	return (unsigned)(h >> 32) % BUCKETS;
}

static int32_t walked_before(const struct decider *d, int32_t plain, const struct facts *f, unsigned bucket)
{
	for (int32_t i = d->buckets[bucket]; i >= 0; i = d->walked[i].next)
		if (d->walked[i].plain == plain && !memcmp(&d->walked[i].facts, f, sizeof *f))
			return d->walked[i].node;
	return -1;
}

static struct facts learn(const struct decider *d, const struct facts *facts, unsigned test, int result)
{
	const struct facts *more = &d->follows[test][result];
	struct facts f = *facts;

	for (unsigned w = 0; w < WORDS; w++) {
		f.holds.word[w] |= more->holds.word[w];
		f.known.word[w] |= more->known.word[w];
	}
	return f;
}

/* Each level of the recursion decides a test that was open: it is at most INK_TESTS_MAX deep. */
static int32_t walk(struct decider *d, int32_t plain, const struct facts *facts)
{
	struct facts f, learnt;
	unsigned bucket, test;
	int32_t node, next;

	while (plain >= 0 && has(&facts->known, d->plain[plain].test)) {
		plain = d->plain[plain].next[has(&facts->holds, d->plain[plain].test)];
		d->too_large |= ++d->steps > STEPS_MAX || ink_text_work(d->text, d->text->at, 1);
	}
	if (plain < 0 || d->too_large)
		return plain;
	f = worth_knowing(d, plain, facts);
	bucket = bucket_of(plain, &f);
	node = walked_before(d, plain, &f, bucket);
	if (node >= 0)
		return node;
	d->too_large |= d->n_nodes == KNOWING_MAX;
	if (d->too_large)
		return plain;
	test = d->plain[plain].test;
	node = (int32_t)d->n_nodes++;
	d->nodes[node].test = test;
	d->walked[d->n_walked] = (struct walked){plain, node, f, d->buckets[bucket]};
	d->buckets[bucket] = (int32_t)d->n_walked++;
	for (int result = 0; result < 2; result++) {
		learnt = learn(d, &f, test, result);
		next = walk(d, d->plain[plain].next[result], &learnt);
		d->nodes[node].next[result] = next;
	}
	return node;
}

/* A node with one successor for both results needs no test. (Children have higher numbers than their node, or are done.) */
static int32_t shortened(const struct decider *d, int32_t node)
{
	while (node >= 0 && d->nodes[node].next[0] == d->nodes[node].next[1])
		node = d->nodes[node].next[0];
	return node;
}

static int32_t shorten(struct decider *d, int32_t first)
{
	int changed = 1;

	while (changed) {
		changed = 0;
		for (unsigned i = 0; i < d->n_nodes; i++)
			for (unsigned r = 0; r < 2; r++) {
				int32_t next = shortened(d, d->nodes[i].next[r]);

				changed |= next != d->nodes[i].next[r];
				d->nodes[i].next[r] = next;
			}
	}
	return shortened(d, first);
}

/* -------------------------------------------------------------------- result */

static void mark_ends(const struct ink_node *nodes, unsigned n, int32_t first, uint8_t *happens)
{
	if (first < 0)
		happens[~first] = 1;
	for (unsigned i = 0; i < n; i++)
		for (unsigned r = 0; r < 2; r++)
			if (nodes[i].next[r] < 0)
				happens[~nodes[i].next[r]] = 1;
}

static int keep(struct decider *d, const struct ink_node *nodes, unsigned n, int32_t first)
{
	struct ink_node *copy = ink_arena_get(d->m->arena, (n + 1) * sizeof *copy);

	if (!copy)
		return -ENOMEM;
	memcpy(copy, nodes, n * sizeof *copy);
	d->m->decision = (struct ink_decision){copy, n, first};
	return 0;
}

static int decide(struct decider *d, uint8_t *happens)
{
	struct facts nothing = {{{0}}, {{0}}};
	int32_t plain = plain_program(d), first;

	if (d->too_large)
		return -EINVAL;
	find_implications(d);
	first = walk(d, plain, &nothing);
	if (d->text->stopped)
		return d->text->stopped;
	if (d->too_large) {
		mark_ends(d->plain, d->n_plain, plain, happens);
		return keep(d, d->plain, d->n_plain, plain);
	}
	first = shorten(d, first);
	mark_ends(d->nodes, d->n_nodes, first, happens);
	return keep(d, d->nodes, d->n_nodes, first);
}

int ink_decide(struct ink_machine *m, struct ink_text *text, uint8_t *happens)
{
	struct decider d = {.m = m, .text = text};
	int error = -ENOMEM;

	d.plain = calloc(PLAIN_MAX, sizeof *d.plain);
	d.ahead = calloc(PLAIN_MAX, sizeof *d.ahead);
	d.nodes = calloc(KNOWING_MAX, sizeof *d.nodes);
	d.walked = calloc(KNOWING_MAX, sizeof *d.walked);
	d.buckets = malloc(BUCKETS * sizeof *d.buckets);
	d.follows = calloc(INK_TESTS_MAX, sizeof *d.follows);
	if (d.plain && d.ahead && d.nodes && d.walked && d.buckets && d.follows) {
		memset(d.buckets, 0xff, BUCKETS * sizeof *d.buckets);
		error = decide(&d, happens);
	}
	free(d.plain);
	free(d.ahead);
	free(d.nodes);
	free(d.walked);
	free(d.buckets);
	free(d.follows);
	return error;
}
