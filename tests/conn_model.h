/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What `conn` must count: a program of its own, written from the decision table of docs/machines.md, "conn", by another
 * hand than the machine. It shares with the machine only the parsed packets. The key, the roles of the two ends, the
 * situations and the time-outs are its own, and every connection is in a map by its whole key.
 *
 * A connection that was idle for too long is counted when its next segment comes, or at the end of the input. No
 * time-out leads from one situation to another, so the counts at the end are those of a program that watches the clock.
 */
#ifndef INKLING_TESTS_CONN_MODEL_H
#define INKLING_TESTS_CONN_MODEL_H

#include <ctype.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <inkling/packet.h>

/* ------------------------------------------------------------------------ the table */

enum conn_segment {
	SEGMENT_SYN,
	SEGMENT_SYNACK,
	SEGMENT_FIN,
	SEGMENT_RST,
	SEGMENT_DATA,
	SEGMENT_BARE,
	SEGMENTS
};

/* Where a segment leads. `stay` is a dot of the table, and `new` a SYN that begins another connection. */
enum conn_situation {
	stay,
	new,
	s0,
	s0_ack,
	oth_reply,
	oth_half,
	oth_mid,
	s1,
	s2,
	s3,
	sf,
	sh,
	shr,
	rej,
	rsto,
	rsto_fin,
	rstr,
	rstr_fin,
	rstos0,
	rstrh,
	rstrh_fin,
	oth_reset,
	oth_fin,
	SITUATIONS,
	FIRST_SITUATION = s0
};

/* Ticks after the last segment at which a connection ends: 64 s and 64 minutes in ticks of 2 s, and one more. */
enum { SHORT_TICKS = 33, LONG_TICKS = 1921 };

#define CONN_TICK UINT64_C(2000000000) /* nanoseconds */

static const uint8_t conn_first[SEGMENTS] = {s0, oth_half, sh, oth_reset, oth_mid, oth_mid};

/* The rows of the table: where the segments of the originator lead, in the order of enum conn_segment, then those of the responder. */
/* clang-format off */
static const struct conn_row {
	const char *name;
	unsigned ticks;
	uint8_t next[2][SEGMENTS];
} conn_rows[SITUATIONS] = {
	[s0] =        {"s0", SHORT_TICKS,
		       {{stay, stay, sh, rstos0, s0_ack, s0_ack},        {s1, s1, s3, rej, oth_reply, stay}}},
	[s0_ack] =    {"s0_ack", LONG_TICKS,
		       {{stay, stay, sh, oth_reset, stay, stay},         {s1, s1, s3, rej, oth_reply, stay}}},
	[oth_reply] = {"oth_reply", LONG_TICKS,
		       {{stay, stay, sh, oth_reset, stay, stay},         {s1, s1, s3, rej, stay, stay}}},
	[oth_half] =  {"oth_half", LONG_TICKS,
		       {{s1, stay, s2, rsto, s1, s1},                    {new, stay, shr, rstrh, stay, stay}}},
	[oth_mid] =   {"oth_mid", LONG_TICKS,
		       {{new, stay, sh, oth_reset, stay, stay},          {new, stay, shr, rstrh, stay, stay}}},
	[s1] =        {"s1", LONG_TICKS,
		       {{stay, stay, s2, rsto, stay, stay},              {stay, stay, s3, rstr, stay, stay}}},
	[s2] =        {"s2", LONG_TICKS,
		       {{new, stay, stay, rsto_fin, stay, stay},         {new, stay, sf, rstr, stay, stay}}},
	[s3] =        {"s3", LONG_TICKS,
		       {{new, stay, sf, rsto, stay, stay},               {new, stay, stay, rstr_fin, stay, stay}}},
	[sf] =        {"sf", SHORT_TICKS,
		       {{new, stay, stay, stay, stay, stay},             {new, stay, stay, stay, stay, stay}}},
	[sh] =        {"sh", SHORT_TICKS,
		       {{new, stay, stay, oth_fin, stay, stay},          {new, s2, sf, rstr, stay, stay}}},
	[shr] =       {"shr", SHORT_TICKS,
		       {{new, stay, sf, rsto, stay, stay},               {new, stay, stay, rstrh_fin, stay, stay}}},
	[rej] =       {"rej", SHORT_TICKS,
		       {{stay, stay, rstr, stay, stay, stay},            {new, s1, stay, stay, stay, stay}}},
	[rsto] =      {"rsto", SHORT_TICKS,
		       {{new, stay, stay, stay, stay, stay},             {new, stay, stay, rstr, stay, stay}}},
	[rsto_fin] =  {"rsto_fin", SHORT_TICKS,
		       {{new, stay, stay, stay, stay, stay},             {new, stay, sf, rstr, stay, stay}}},
	[rstr] =      {"rstr", SHORT_TICKS,
		       {{new, stay, stay, stay, stay, stay},             {new, stay, stay, stay, stay, stay}}},
	[rstr_fin] =  {"rstr_fin", SHORT_TICKS,
		       {{new, stay, sf, rstr, stay, stay},               {new, stay, stay, stay, stay, stay}}},
	[rstos0] =    {"rstos0", SHORT_TICKS,
		       {{new, stay, stay, stay, stay, stay},             {new, rsto, rsto, rej, stay, stay}}},
	[rstrh] =     {"rstrh", SHORT_TICKS,
		       {{new, stay, rstr, rstr, stay, stay},             {new, stay, stay, stay, stay, stay}}},
	[rstrh_fin] = {"rstrh_fin", SHORT_TICKS,
		       {{new, stay, sf, rstr, stay, stay},               {new, stay, stay, stay, stay, stay}}},
	[oth_reset] = {"oth_reset", SHORT_TICKS,
		       {{new, stay, stay, stay, stay, stay},             {new, rsto, rsto, rstr, stay, stay}}},
	[oth_fin] =   {"oth_fin", SHORT_TICKS,
		       {{new, stay, stay, stay, stay, stay},             {new, rsto_fin, sf, rstr, stay, stay}}},
};
/* clang-format on */

static const char *const conn_counters[] = {"S0",   "S1",     "SF",    "REJ", "S2",  "S3", "RSTO",
					    "RSTR", "RSTOS0", "RSTRH", "SH",  "SHR", "OTH"};

enum { CONN_COUNTERS = sizeof conn_counters / sizeof conn_counters[0] };

/* Non-zero if the situation is counted by this counter: its name before "_", in lower case. */
static inline int conn_is_counted_by(enum conn_situation situation, const char *counter)
{
	const char *name = conn_rows[situation].name;

	for (; *counter; counter++, name++)
		if (*name != tolower((unsigned char)*counter))
			return 0;
	return *name == '\0' || *name == '_';
}

static inline enum conn_segment conn_segment_of(const struct ink_packet *p)
{
	unsigned f = p->tcp_flags;

	if (f & INK_TCP_RST)
		return SEGMENT_RST;
	if (f & INK_TCP_FIN)
		return SEGMENT_FIN;
	if (f & INK_TCP_SYN)
		return f & INK_TCP_ACK ? SEGMENT_SYNACK : SEGMENT_SYN;
	return p->payload_wire ? SEGMENT_DATA : SEGMENT_BARE;
}

/* ------------------------------------------------------------------- the connections */

/* Two ends without their order; end[0] is not the greater. No padding, so that it can be compared as bytes. */
struct conn_key {
	uint8_t end[2][18]; /* address and port */
	uint16_t version;
};

_Static_assert(sizeof(struct conn_key) == 38, "no padding");

struct connection {
	struct connection *next; /* in its bucket */
	struct conn_key key;
	uint64_t tick;       /* of its last segment */
	unsigned originator; /* 0 or 1: which end of the key */
	uint8_t situation;   /* 0: it was counted, and is forgotten */
};

enum { CONN_BUCKETS = 1 << 12 }; /* short chains for 10,000 connections, and soon made for one */

struct conn_model {
	int no_timeouts;
	int begun; /* the first packet has come, and `origin` is its clock */
	uint64_t origin;
	uint64_t counts[SITUATIONS];
	uint64_t taken[SITUATIONS][2][SEGMENTS]; /* how often each cell of the table was used */
	struct connection **buckets;
};

static inline void conn_write_end(uint8_t end[18], const uint8_t address[16], uint16_t port)
{
	memcpy(end, address, 16);
	end[16] = (uint8_t)(port >> 8);
	end[17] = (uint8_t)port;
}

/* Writes the key; returns which of its ends sent the packet. */
static inline unsigned conn_key_of(const struct ink_packet *p, struct conn_key *key)
{
	uint8_t from[18], to[18];
	unsigned sender;

	conn_write_end(from, p->source, p->sport);
	conn_write_end(to, p->destination, p->dport);
	sender = memcmp(from, to, sizeof from) > 0;
	memcpy(key->end[sender], from, sizeof from);
	memcpy(key->end[!sender], to, sizeof to);
	key->version = p->version;
	return sender;
}

/* FNV-1a, folded. */
static inline size_t conn_bucket(const struct conn_key *key)
{
	const uint8_t *bytes = (const uint8_t *)key;
	uint64_t h = 0xcbf29ce484222325;

	for (size_t i = 0; i < sizeof *key; i++)
		h = (h ^ bytes[i]) * 0x100000001b3;
	return (h ^ h >> 32) % CONN_BUCKETS;
}

static inline void *conn_memory(size_t n, size_t size)
{
	void *p = calloc(n, size);

	if (!p)
		abort();
	return p;
}

/* The connection with this key; a forgotten one if there was none. */
static inline struct connection *conn_find(struct conn_model *m, const struct conn_key *key)
{
	struct connection **bucket = &m->buckets[conn_bucket(key)], *c;

	for (c = *bucket; c; c = c->next)
		if (!memcmp(&c->key, key, sizeof *key))
			return c;
	c = conn_memory(1, sizeof *c);
	c->key = *key;
	c->next = *bucket;
	return *bucket = c;
}

/* ---------------------------------------------------------------------- what happens */

static inline void conn_forget(struct conn_model *m, struct connection *c)
{
	m->counts[c->situation]++;
	c->situation = 0;
}

static inline void conn_start(struct connection *c, unsigned sender, enum conn_segment segment)
{
	c->originator = segment == SEGMENT_SYNACK ? !sender : sender;
	c->situation = conn_first[segment];
}

static inline void conn_continue(struct conn_model *m, struct connection *c, unsigned sender,
				 enum conn_segment segment)
{
	unsigned responder = sender != c->originator;
	unsigned next = conn_rows[c->situation].next[responder][segment];

	m->taken[c->situation][responder][segment]++;
	if (next == new) {
		conn_forget(m, c);
		conn_start(c, sender, segment);
	} else if (next != stay) {
		c->situation = (uint8_t)next;
	}
}

/*
 * An end that talks to itself is the higher and the lower end: all its segments come from the first sender, which is the
 * responder if it began with a SYN+ACK. conn_key_of says 0 for all of them, so this needs no case of its own.
 */
static inline void conn_segment(struct conn_model *m, const struct ink_packet *p, uint64_t tick)
{
	struct conn_key key;
	unsigned sender = conn_key_of(p, &key);
	struct connection *c = conn_find(m, &key);

	if (c->situation && !m->no_timeouts && tick >= c->tick + conn_rows[c->situation].ticks)
		conn_forget(m, c);
	if (c->situation)
		conn_continue(m, c, sender, conn_segment_of(p));
	else
		conn_start(c, sender, conn_segment_of(p));
	c->tick = tick;
}

/* ------------------------------------------------------------------ what a test calls */

static inline void conn_begin(struct conn_model *m)
{
	memset(m, 0, sizeof *m);
	m->buckets = conn_memory(CONN_BUCKETS, sizeof *m->buckets);
}

static inline void conn_packet(struct conn_model *m, const struct ink_packet *p)
{
	if (!m->begun)
		m->origin = p->clock;
	m->begun = 1;
	if (p->skip == INK_NOT_SKIPPED && p->protocol == INK_PROTOCOL_TCP)
		conn_segment(m, p, (p->clock - m->origin) / CONN_TICK);
}

/* Counts what is left, and frees all connections. */
static inline void conn_end(struct conn_model *m)
{
	for (size_t i = 0; i < CONN_BUCKETS; i++)
		for (struct connection *c = m->buckets[i], *next; c; c = next) {
			next = c->next;
			if (c->situation)
				conn_forget(m, c);
			free(c);
		}
	free(m->buckets);
	m->buckets = NULL;
}

/* How many connections a counter of the machine has. */
static inline uint64_t conn_counted(const struct conn_model *m, const char *counter)
{
	uint64_t n = 0;

	for (unsigned i = FIRST_SITUATION; i < SITUATIONS; i++)
		n += conn_is_counted_by(i, counter) ? m->counts[i] : 0;
	return n;
}

#endif
