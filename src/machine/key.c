/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a flow is: the line `key`.
 *
 *     key connection              one name: what the key takes of a packet, and whether directions are one flow
 *     key src/24/64, dst port     parts of one direction
 *
 * A name of one direction says nothing that parts cannot say. Parts that are all of such a name become that name,
 * so both spellings give the same keys, bit for bit, and tables and snapshots fit both:
 *
 *     flow          src, dst, src port, dst port
 *     source        src
 *     destination   dst
 *     endpoint      dst, dst port
 *
 * The order of the parts has no meaning. A port implies the protocol, so that port 53 of TCP is another than that
 * of UDP. A prefix is given for IPv4, and behind it one for IPv6, which is whole without it: the first 24 bits of
 * an IPv6 address are those of a large provider or a continent.
 */
#include <stdio.h>
#include <string.h>

#include "machine/parse.h"

enum { PORTS = INK_PART_SRC_PORT | INK_PART_DST_PORT, PARTS = 5 };

#define ALL_PARTS (INK_PART_SRC | INK_PART_DST | PORTS | INK_PART_PROTOCOL)

static const struct {
	const char *word;
	struct ink_key_def key;
} names[] = {
	{"connection", {INK_KEY_CONNECTION, ALL_PARTS, {32, 128}, {32, 128}}},
	{"flow", {INK_KEY_FLOW, ALL_PARTS, {32, 128}, {32, 128}}},
	{"pair", {INK_KEY_PAIR, INK_PART_SRC | INK_PART_DST, {32, 128}, {32, 128}}},
	{"source", {INK_KEY_SOURCE, INK_PART_SRC, {32, 128}, {0, 0}}},
	{"destination", {INK_KEY_DESTINATION, INK_PART_DST, {0, 0}, {32, 128}}},
	{"endpoint",
	 {INK_KEY_ENDPOINT, INK_PART_DST | INK_PART_DST_PORT | INK_PART_PROTOCOL, {0, 0}, {32, 128}}},
};

enum { NAMES = sizeof names / sizeof names[0] };

#define PART_WORDS "src, dst, src port, dst port, protocol"

/* `with_port`: what it is with the word "port" behind it. */
static const struct word {
	const char *word;
	unsigned part, with_port;
} words[] = {
	{"src", INK_PART_SRC, INK_PART_SRC_PORT}, {"dst", INK_PART_DST, INK_PART_DST_PORT},
	{"sport", INK_PART_SRC_PORT, 0},          {"dport", INK_PART_DST_PORT, 0},
	{"protocol", INK_PART_PROTOCOL, 0},
};

enum { WORDS = sizeof words / sizeof words[0] };

/* A key that is being read. */
struct draft {
	struct ink_key_def key;
	uint32_t at[PARTS]; /* where each part stands, by its bit */
	char text[96];      /* all parts with both prefixes take 52 */
	size_t n;
};

static int is_both_ways(enum ink_key kind)
{
	return kind == INK_KEY_CONNECTION || kind == INK_KEY_PAIR;
}

/* The protocol alone is the same in both directions, too. */
int ink_key_joins_directions(const struct ink_key_def *key)
{
	return is_both_ways((enum ink_key)key->kind) || !(key->parts & (INK_PART_SRC | INK_PART_DST | PORTS));
}

static int same_parts(const struct ink_key_def *a, const struct ink_key_def *b)
{
	return a->parts == b->parts && !memcmp(a->src_bits, b->src_bits, sizeof a->src_bits) &&
	       !memcmp(a->dst_bits, b->dst_bits, sizeof a->dst_bits);
}

/* The kind of a key of parts. */
static enum ink_key kind_of(const struct ink_key_def *key)
{
	for (unsigned i = 0; i < NAMES; i++)
		if (!is_both_ways((enum ink_key)names[i].key.kind) && same_parts(&names[i].key, key))
			return (enum ink_key)names[i].key.kind;
	return INK_KEY_PARTS;
}

/* ------------------------------------------------------------------- parts */

static void write_text(struct draft *d, const char *before, const char *text)
{
	d->n += (size_t)snprintf(d->text + d->n, sizeof d->text - d->n, "%s%s", before, text);
}

static void write_bits(struct draft *d, unsigned bits)
{
	char number[8];

	snprintf(number, sizeof number, "%u", bits);
	write_text(d, "/", number);
}

/* A line that begins with "port" and a colon or a comma is that of a state. */
static int takes_port(struct ink_parser *p)
{
	struct ink_token behind = ink_parser_behind(p);

	if (ink_token_first(p->text, &p->now) &&
	    (ink_token_is(p->text, &behind, ":") || ink_token_is(p->text, &behind, ",")))
		return 0;
	return ink_parser_takes(p, "port");
}

static int no_part(struct ink_parser *p)
{
	struct ink_suggest near = ink_parser_near(p);

	for (unsigned i = 0; i < WORDS; i++)
		ink_suggest_offer(&near, words[i].word);
	return ink_parser_expected_near(p, "a part of a key: " PART_WORDS, &near);
}

static int add_part(struct ink_parser *p, struct draft *d, unsigned part, uint32_t at)
{
	unsigned number = (unsigned)__builtin_ctz(part);

	if (d->key.parts & part)
		return ink_parser_twice(p, at, "this part of the key", d->at[number]);
	d->key.parts |= (uint8_t)part;
	d->at[number] = at;
	return 0;
}

/* The token "24/64" is cut: one number is read after the other. */
static int parse_bits(struct ink_parser *p, unsigned most, uint8_t *bits)
{
	const char *slash = memchr(p->text->bytes + p->now.at, '/', p->now.length);
	uint32_t at = p->now.at;
	uint64_t number;

	if (slash && p->now.kind == TOKEN_NUMBER)
		p->now.length = (uint32_t)(slash - p->text->bytes) - at;
	if (ink_parse_number(p, "the length of the prefix, in bits", &number))
		return -1;
	if (number > most) {
		ink_text_error(p->text, at, "a prefix of IPv%d has 0 to %u bits%s", most == 32 ? 4 : 6, most,
			       most == 32 ? ": that of IPv6 is the second, as in src/24/64" : "");
		return -1;
	}
	*bits = (uint8_t)number;
	return 0;
}

/* For IPv4, and behind it for IPv6. */
static int parse_prefix(struct ink_parser *p, struct draft *d, uint8_t bits[2])
{
	if (!ink_parser_takes(p, "/"))
		return 0;
	if (parse_bits(p, 32, &bits[0]))
		return -1;
	write_bits(d, bits[0]);
	if (!ink_parser_takes(p, "/"))
		return 0;
	if (parse_bits(p, 128, &bits[1]))
		return -1;
	write_bits(d, bits[1]);
	return 0;
}

static int parse_address(struct ink_parser *p, struct draft *d, uint8_t bits[2])
{
	bits[0] = 32;
	bits[1] = 128;
	return parse_prefix(p, d, bits);
}

static int parse_length(struct ink_parser *p, struct draft *d, unsigned part)
{
	if (part == INK_PART_SRC)
		return parse_address(p, d, d->key.src_bits);
	if (part == INK_PART_DST)
		return parse_address(p, d, d->key.dst_bits);
	if (!ink_parser_sees(p, "/"))
		return 0;
	ink_text_error(p->text, p->now.at, "only addresses have prefixes");
	return -1;
}

static int parse_part(struct ink_parser *p, struct draft *d)
{
	const struct word *w = words;
	uint32_t at = p->now.at;
	unsigned part;

	while (w < words + WORDS && !ink_parser_takes(p, w->word))
		w++;
	if (w == words + WORDS)
		return no_part(p);
	part = w->with_port && takes_port(p) ? w->with_port : w->part;
	if (add_part(p, d, part, at))
		return -1;
	write_text(d, d->n ? ", " : "", w->word);
	if (part != w->part)
		write_text(d, " ", "port");
	return parse_length(p, d, part);
}

/* Behind the parts: another line, or another item in this one. */
static int ends(struct ink_parser *p)
{
	struct ink_token behind = ink_parser_behind(p);
	struct ink_suggest near = ink_parser_near(p);

	if (p->now.kind == TOKEN_END || ink_token_first(p->text, &p->now) || ink_parser_sees_item(p) ||
	    ink_token_is(p->text, &behind, ":"))
		return 0;
	ink_suggest_offer(&near, "port");
	return ink_parser_expected_near(p, "',' and another part, or a new line with another item", &near);
}

static int parse_parts(struct ink_parser *p, struct draft *d)
{
	do {
		if (parse_part(p, d))
			return -1;
	} while (ink_parser_takes(p, ","));
	if (d->key.parts & PORTS)
		d->key.parts |= INK_PART_PROTOCOL;
	d->key.kind = (uint8_t)kind_of(&d->key);
	return ends(p);
}

/* -------------------------------------------------------------------- line */

/* 1: there was a name. */
static int parse_key_name(struct ink_parser *p, struct draft *d)
{
	for (unsigned i = 0; i < NAMES; i++)
		if (ink_parser_takes(p, names[i].word)) {
			d->key = names[i].key;
			write_text(d, "", names[i].word);
			return 1;
		}
	return 0;
}

static int sees_part(const struct ink_parser *p)
{
	for (unsigned i = 0; i < WORDS; i++)
		if (ink_parser_sees(p, words[i].word))
			return 1;
	return 0;
}

static int no_key(struct ink_parser *p)
{
	struct ink_suggest near = ink_parser_near(p);

	for (unsigned i = 0; i < NAMES; i++)
		ink_suggest_offer(&near, names[i].word);
	for (unsigned i = 0; i < WORDS; i++)
		ink_suggest_offer(&near, words[i].word);
	return ink_parser_expected_near(
		p, "a key: connection, flow, pair, source, destination or endpoint, or parts: " PART_WORDS,
		&near);
}

/* A name cannot be joined with parts, nor cut. */
static int ends_name(struct ink_parser *p)
{
	if (!ink_parser_sees(p, ",") && !ink_parser_sees(p, "/"))
		return 0;
	ink_text_error(p->text, p->now.at, "a key is one name, or it has parts: " PART_WORDS);
	return -1;
}

static int keep(struct ink_parser *p, const struct draft *d, uint32_t at)
{
	struct ink_machine *m = p->m;
	char *text;

	if (m->has_key)
		return ink_parser_twice(p, at, "the key", m->key_at);
	text = ink_arena_get(m->arena, d->n + 1);
	if (!text)
		return -1;
	memcpy(text, d->text, d->n + 1);
	m->has_key = 1;
	m->key_at = at;
	m->key = d->key;
	m->key_text = text;
	return 0;
}

int ink_parse_key(struct ink_parser *p)
{
	struct draft d = {.n = 0};
	uint32_t at = p->now.at;

	p->m->tried_key = 1;
	if (parse_key_name(p, &d))
		return ends_name(p) ? -1 : keep(p, &d, at);
	if (!sees_part(p))
		return no_key(p);
	return parse_parts(p, &d) ? -1 : keep(p, &d, at);
}
