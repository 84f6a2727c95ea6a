/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The parser on the frames of frames.h: each encapsulation, every prefix of it,
 * damaged frames; then the keys, and the Community ID by its published vectors.
 *
 * Every frame is parsed in a heap block of exactly its size: the address
 * sanitizer sees a read of one byte too many.
 */
#include <arpa/inet.h>

#include <inkling/packet.h>

#include "base/siphash.h"
#include "packet/clock.h"
#include "packet/parse.h"
#include "tests/frames.h"
#include "tests/goldens.h"
#include "tests/random.h"
#include "tests/test.h"

/* ------------------------------------------------------------------ the golden ones */

enum { GOLDENS = COUNT(goldens) };

static struct frame frames[GOLDENS];

static int make_frames(void **state)
{
	for (int i = 0; i < GOLDENS; i++)
		make_frame(&frames[i], goldens[i].frame);
	return 0;
}

/* ------------------------------------------------------------------------- parsing */

/*
 * The first n bytes in a block of exactly that size. The fast path gives what the walk gives, in every byte. The block
 * is freed, so p.frame and p.payload must not be read.
 */
static struct ink_packet parse(const struct golden *g, const struct frame *f, size_t n, unsigned options)
{
	uint8_t *block = malloc(n);
	struct ink_packet p = {.captured = (uint32_t)n, .wire = (uint32_t)f->n}, walked;
	enum ink_skip skip;

	memset((uint8_t *)&p + 32, 0xee, sizeof p - 32); /* the parser has to write all of it */
	assert_true(block || !n);
	if (n)
		memcpy(block, f->bytes + FRAME_MOST - f->n, n);
	p.frame = block;
	walked = p;
	skip = ink_packet_parse(&p, g->link, options);
	assert_int_equal(skip, p.skip);
	ink_parse_clear(&walked);
	ink_parse_walk(&walked, g->link, options);
	if (memcmp(&p, &walked, sizeof p))
		fail_msg("%s: the fast path differs from the walk", g->name);
	if (p.payload)
		assert_true(p.payload >= p.frame && p.payload + p.payload_captured <= p.frame + n);
	assert_true(p.payload_captured <= p.payload_wire);
	assert_true(p.network <= n && p.transport <= n);
	free(block);
	return p;
}

static struct ink_packet parse_golden(int i, unsigned options)
{
	return parse(&goldens[i], &frames[i], frames[i].n, options);
}

static void assert_number(const struct golden *g, const char *what, unsigned is, unsigned should_be)
{
	if (is != should_be)
		fail_msg("%s: %s is %u and not %u", g->name, what, is, should_be);
}

#define ASSERT_FIELD(field, should_be) assert_number(g, #field, p->field, should_be)

static void check_headers(const struct golden *g, const struct ink_packet *p)
{
	ASSERT_FIELD(skip, g->skip);
	ASSERT_FIELD(version, g->version);
	ASSERT_FIELD(protocol, g->protocol);
	ASSERT_FIELD(depth, g->depth);
	ASSERT_FIELD(vlan, g->vlan);
	ASSERT_FIELD(fragment, g->fragment);
	for (size_t i = 0; i < sizeof p->reserved; i++)
		ASSERT_FIELD(reserved[i], 0);
}

/* "hello" is the payload of every innermost flow that is not padded; an outer header has other addresses. */
static void check_flow(const struct golden *g, const struct ink_packet *p)
{
	static const uint8_t addresses[2][2][16] = {
		{{10, 1, 2, 3}, {10, 4, 5, 6}},
		{{0x20, 1, 0xd, 0xb8, [15] = 1}, {0x20, 1, 0xd, 0xb8, [15] = 2}}};
	unsigned has_ports = p->protocol != INK_PROTOCOL_ICMP && p->protocol != INK_PROTOCOL_ICMPV6;
	unsigned is_icmp = !has_ports, payload = strstr(g->frame, "hello") ? 5 : 0;

	assert_memory_equal(p->source, addresses[p->version == 6][0], 16);
	assert_memory_equal(p->destination, addresses[p->version == 6][1], 16);
	ASSERT_FIELD(sport, has_ports * 1234);
	ASSERT_FIELD(dport, has_ports * 80);
	ASSERT_FIELD(icmp_type, is_icmp * 8);
	ASSERT_FIELD(ttl, 64);
	ASSERT_FIELD(tos, 0x28);
	ASSERT_FIELD(payload_wire, payload);
	ASSERT_FIELD(payload_captured, payload);
}

static void check_tcp(const struct golden *g, const struct ink_packet *p)
{
	int is_tcp = p->protocol == INK_PROTOCOL_TCP;

	ASSERT_FIELD(tcp_flags, is_tcp ? INK_TCP_SYN | INK_TCP_ACK : 0);
	ASSERT_FIELD(tcp_seq, is_tcp ? 0x01020304 : 0);
	ASSERT_FIELD(tcp_ack, is_tcp ? 0x05060708 : 0);
}

TEST_THAT(every_encapsulation_is_removed)
{
	for (int i = 0; i < GOLDENS; i++) {
		const struct golden *g = &goldens[i];
		struct ink_packet p = parse_golden(i, 0);

		check_headers(g, &p);
		if (g->skip == INK_NOT_SKIPPED && (g->depth || !strstr(g->frame, "outer"))) {
			check_flow(g, &p);
			check_tcp(g, &p);
		}
	}
}

static int keys_agree(const struct ink_packet *a, const struct ink_packet *b, enum ink_key kind)
{
	uint8_t one[INK_KEY_MOST], two[INK_KEY_MOST];
	size_t n = ink_packet_key(a, kind, one);

	return n && n == ink_packet_key(b, kind, two) && !memcmp(one, two, n);
}

/* A prefix is truncated, or it is the packet, or, if a tunnel is cut, the packet that carries the tunnel. */
static void check_prefix(const struct golden *g, const struct ink_packet *p, const struct ink_packet *outer)
{
	if (p->skip == INK_SKIP_TRUNCATED || (!p->skip && keys_agree(p, outer, INK_KEY_FLOW)))
		return;
	if (!strcmp(g->name, THREE_DEEP) && p->depth == 1)
		return; /* the tunnel between the two */
	if (!strcmp(g->name, SHORT_UDP) && p->captured < 40)
		return; /* it has ports, and not yet the length that is wrong */
	if (p->skip != g->skip || p->skip == INK_NOT_SKIPPED)
		fail_msg("%s: the first %u bytes: %s", g->name, p->captured,
			 ink_skip_name((enum ink_skip)p->skip));
}

/* Once the bytes suffice, more of them change nothing. */
TEST_THAT(every_prefix_is_truncated_or_right_and_a_longer_one_knows_no_less)
{
	for (int i = 0; i < GOLDENS; i++) {
		const struct golden *g = &goldens[i];
		struct ink_packet whole = parse_golden(i, 0), outer = parse_golden(i, INK_OUTERMOST);
		int known = 0;

		for (size_t n = 0; n <= frames[i].n; n++) {
			struct ink_packet p = parse(g, &frames[i], n, 0);
			int is_whole = !p.skip && keys_agree(&p, &whole, INK_KEY_FLOW);

			if (known && !is_whole)
				fail_msg("%s: known before, not with %zu bytes", g->name, n);
			if (!is_whole)
				check_prefix(g, &p, &outer);
			known = is_whole && g->skip == INK_NOT_SKIPPED;
		}
		assert_int_equal(known, g->skip == INK_NOT_SKIPPED);
	}
}

TEST_THAT(outermost_looks_into_no_tunnel)
{
	for (int i = 0; i < GOLDENS; i++) {
		struct ink_packet p = parse_golden(i, INK_OUTERMOST);

		assert_int_equal(p.depth, 0);
		if (parse_golden(i, 0).depth)
			assert_int_equal(p.skip, p.protocol == INK_PROTOCOL_UDP ? INK_NOT_SKIPPED
										: INK_SKIP_PROTOCOL);
	}
}

/* Damaged in a few places and cut: nothing is read outside of the frame, whatever the result. */
TEST_THAT(damaged_frames_are_survived)
{
	for (uint64_t rounds = scaled(400000); rounds; rounds--) {
		int i = random_below(2) ? 0 : (int)random_below(GOLDENS);
		struct frame f = frames[i];
		struct ink_packet p;

		for (uint32_t changes = random_below(4); changes; changes--)
			front(&f)[random_below(random_below(2) && f.n > 60 ? 60 : f.n)] =
				(uint8_t)random_word();
		p = parse(&goldens[i], &f, random_below(4) ? f.n : random_below(f.n + 1), random_below(2));
		assert_true(p.skip < INK_SKIPS);
	}
}

TEST_THAT(every_reason_has_a_name)
{
	for (int i = 0; i < INK_SKIPS; i++)
		assert_non_null(ink_skip_name((enum ink_skip)i));
	assert_null(ink_skip_name(INK_SKIPS));
	assert_string_equal(ink_skip_name(INK_SKIP_FRAGMENT), "later fragment");
}

/* ----------------------------------------------------------------------------- keys */

static struct ink_packet golden(const char *name)
{
	for (int i = 0; i < GOLDENS; i++)
		if (!strcmp(goldens[i].name, name))
			return parse_golden(i, 0);
	fail_msg("no frame is called %s", name);
	return (struct ink_packet){.time = 0};
}

/* The answer to a packet. */
static struct ink_packet turned(const struct ink_packet *p)
{
	struct ink_packet t = *p;

	memcpy(t.source, p->destination, 16);
	memcpy(t.destination, p->source, 16);
	t.sport = p->dport;
	t.dport = p->sport;
	t.flags = (uint8_t)ink_from_high(&t);
	return t;
}

/* By kind of key, in their order. */
static const char *const key_names[] = {[INK_KEY_CONNECTION] = "connection",
					[INK_KEY_FLOW] = "flow",
					[INK_KEY_PAIR] = "pair",
					[INK_KEY_SOURCE] = "source",
					[INK_KEY_DESTINATION] = "destination",
					[INK_KEY_ENDPOINT] = "endpoint"};

/* The two packets have these kinds of keys in common, and no others. */
static void assert_shared(const struct ink_packet *a, const struct ink_packet *b, const char *shared)
{
	for (int kind = INK_KEY_CONNECTION; kind <= INK_KEY_ENDPOINT; kind++)
		if (keys_agree(a, b, (enum ink_key)kind) != (strstr(shared, key_names[kind]) != NULL))
			fail_msg("only these keys should agree: %s; not so %s", shared, key_names[kind]);
}

TEST_THAT(the_bytes_of_keys_are_as_drawn)
{
	static const struct {
		const char *name;
		enum ink_key kind;
		const char *bytes;
	} keys[] = {
		{"plain", INK_KEY_CONNECTION, "0a010203 0a040506 04d2 0050 06 01 04 00"},
		{"plain", INK_KEY_FLOW, "0a040506 0a010203 0050 04d2 06 02 04 00"},
		{"plain", INK_KEY_PAIR, "0a010203 0a040506 0000 0000 00 03 04 00"},
		{"plain", INK_KEY_SOURCE, "0a040506 00000000 0000 0000 00 04 04 00"},
		{"plain", INK_KEY_DESTINATION, "0a010203 00000000 0000 0000 00 05 04 00"},
		{"plain", INK_KEY_ENDPOINT, "0a010203 00000000 04d2 0000 06 06 04 00"},
		{"ipv6", INK_KEY_CONNECTION, "20010db8 11*00 01 20010db8 11*00 02 04d2 0050 06 01 06 00"},
		{"ipv6", INK_KEY_ENDPOINT, "20010db8 11*00 01 16*00 04d2 0000 06 06 06 00"},
	};

	for (size_t i = 0; i < COUNT(keys); i++) {
		struct ink_packet p = golden(keys[i].name), answer = turned(&p);
		uint8_t key[INK_KEY_MOST];
		struct frame expected;

		make_frame(&expected, keys[i].bytes);
		assert_int_equal(ink_packet_key(&answer, keys[i].kind, key), expected.n);
		assert_memory_equal(key, front(&expected), expected.n);
	}
}

/* In the order of the kinds; 0: no key. Ids are in snapshots and in the tables of other programs: they never change. */
TEST_THAT(ids_of_named_keys_are_what_they_always_were)
{
	static const uint64_t secret[2] = {0x0706050403020100, 0x0f0e0d0c0b0a0908};
	/* clang-format off */
	static const struct {
		const char *name;
		uint64_t ids[6];
	} rows[] = {
		{"plain",
		 {0xd3064f7bfe1dc9ef, 0x501190b65604d059, 0xd8f12eda5699cc91,
		  0x5b2e8ec12376d679, 0x172d33ba9d67f9b2, 0x9c1e1bd164698479}},
		{"ipv6",
		 {0x0b1945ecadbd5b63, 0x0c68ac3b1f2d7c5d, 0xb84979d75bd31cb2,
		  0xc37f9893c693e922, 0x5d15b4875ee07b40, 0x669dd085946e3860}},
		{"udp",
		 {0xbafbf2f123ed6837, 0xf4c3921143270e06, 0xd8f12eda5699cc91,
		  0x5b2e8ec12376d679, 0x172d33ba9d67f9b2, 0x12c4d625a9b707e9}},
		{"icmp",
		 {0x3c8abab1157262b1, 0x12bd67a88fc56d69, 0xd8f12eda5699cc91,
		  0x5b2e8ec12376d679, 0x172d33ba9d67f9b2, 0xe85e70ffcedbc774}},
		{"sctp",
		 {0xe23b898652d9d4e1, 0x650213abe44c46a7, 0xd8f12eda5699cc91,
		  0x5b2e8ec12376d679, 0x172d33ba9d67f9b2, 0xf615905611a289b3}},
		{"icmpv6",
		 {0x217ede830ab2d44b, 0x99a720e034070d2d, 0xb84979d75bd31cb2,
		  0xc37f9893c693e922, 0x5d15b4875ee07b40, 0xefb3f82a533a56a1}},
		{"later fragment",
		 {0x0000000000000000, 0x0000000000000000, 0xd8f12eda5699cc91,
		  0x5b2e8ec12376d679, 0x172d33ba9d67f9b2, 0x0000000000000000}},
	};
	/* clang-format on */

	for (size_t i = 0; i < COUNT(rows); i++)
		for (int kind = INK_KEY_CONNECTION; kind <= INK_KEY_ENDPOINT; kind++) {
			struct ink_packet p = golden(rows[i].name);
			uint8_t key[INK_KEY_MOST];
			size_t n = ink_packet_key(&p, (enum ink_key)kind, key);
			uint64_t id = n ? ink_siphash13(secret, key, n) : 0;

			if (id != rows[i].ids[kind - 1])
				fail_msg("%s, %s: another id than ever", rows[i].name, key_names[kind]);
		}
}

TEST_THAT(both_directions_are_one_connection_and_two_flows)
{
	static const char *const names[] = {"plain", "ipv6", "udp", "icmp"};

	for (int i = 0; i < 4; i++) {
		struct ink_packet p = golden(names[i]), answer = turned(&p);

		assert_shared(&p, &answer, "connection pair");
		assert_int_equal(p.flags & INK_FROM_HIGH, 0);
		assert_int_equal(answer.flags & INK_FROM_HIGH, INK_FROM_HIGH);
	}
}

TEST_THAT(protocols_share_hosts_and_no_connections)
{
	struct ink_packet tcp = golden("plain"), udp = golden("udp");

	assert_shared(&tcp, &udp, "pair source destination");
}

TEST_THAT(on_one_host_ports_tell_the_ends_apart)
{
	struct ink_packet p = golden("plain"), answer;

	memcpy(p.destination, p.source, 16);
	p.flags = (uint8_t)ink_from_high(&p);
	answer = turned(&p);
	assert_int_equal(p.flags, INK_FROM_HIGH); /* 1234 > 80 */
	assert_int_equal(answer.flags, 0);
	assert_shared(&p, &answer, "connection pair source destination");
}

TEST_THAT(ports_of_sctp_are_not_in_keys)
{
	struct ink_packet p = golden("sctp"), other = p;

	other.sport++;
	assert_shared(&p, &other, "connection flow pair source destination endpoint");
}

TEST_THAT(without_ports_there_are_keys_of_hosts_only)
{
	struct ink_packet later = golden("later fragment"), first = golden("first fragment"),
			  arp = golden("arp");

	assert_shared(&later, &later, "pair source destination");
	assert_shared(&later, &first, "pair source destination");
	assert_shared(&arp, &arp, "");
}

TEST_THAT(ids_of_many_are_the_ids_of_each)
{
	static const char *const names[] = {"plain", "ipv6", "arp", "udp", "later fragment"};
	struct ink_options o = {.size = sizeof o, .states = 2, .flows = 10, .seed = 7};
	struct ink_table *table = ink_create(&o, NULL);
	static struct ink_packet packets[333];
	uint64_t ids[333];
	uint8_t key[INK_KEY_MOST];

	assert_non_null(table);
	for (int i = 0; i < 333; i++) {
		packets[i] = golden(names[random_below(5)]);
		packets[i].sport = (uint16_t)i;
	}
	for (int kind = INK_KEY_CONNECTION; kind <= INK_KEY_ENDPOINT; kind++) {
		ink_packet_ids(table, (enum ink_key)kind, &(struct ink_packets){.at = packets, .n = 333},
			       ids);
		for (int i = 0; i < 333; i++) {
			size_t n = ink_packet_key(&packets[i], (enum ink_key)kind, key);

			assert_true(ids[i] == (n ? ink_id(table, key, n) : 0));
		}
	}
	ink_free(table);
}

/* --------------------------------------------------------------------- Community ID */

/* The vectors of the reference implementation, with seeds 0 and 1. Of flows with ports, their answers have the same ids. */
/* clang-format off */
static const struct vector {
	unsigned protocol;
	const char *source, *destination;
	unsigned sport, dport; /* ICMP: type and code */
	const char *id[2];
} vectors[] = {
	{6, "128.232.110.120", "66.35.250.204", 34855, 80,
	 {"1:LQU9qZlK+B5F3KDmev6m5PMibrg=", "1:3V71V58M3Ksw/yuFALMcW0LAHvc="}},
	{17, "192.168.1.52", "8.8.8.8", 54585, 53,
	 {"1:d/FP5EW3wiY1vCndhwleRRKHowQ=", "1:Q9We8WO3piVF8yEQBNJF4uiSVrI="}},
	{132, "192.168.170.8", "192.168.170.56", 7, 80,
	 {"1:jQgCxbku+pNGw8WPbEc/TS/uTpQ=", "1:Y1/0jQg6e+I3ZwZZ9LP65DNbTXU="}},
	{1, "192.168.0.89", "192.168.0.1", 8, 0,
	 {"1:X0snYXpgwiv9TZtqg64sgzUn6Dk=", "1:03g6IloqVBdcZlPyX8r0hgoE7kA="}},
	{1, "192.168.0.1", "192.168.0.89", 0, 8,
	 {"1:X0snYXpgwiv9TZtqg64sgzUn6Dk=", "1:03g6IloqVBdcZlPyX8r0hgoE7kA="}},
	{1, "192.168.0.1", "192.168.0.89", 0, 20,
	 {"1:X0snYXpgwiv9TZtqg64sgzUn6Dk=", "1:03g6IloqVBdcZlPyX8r0hgoE7kA="}},
	{1, "192.168.0.89", "192.168.0.1", 20, 0,
	 {"1:3o2RFccXzUgjl7zDpqmY7yJi8rI=", "1:lCXHHxavE1Vq3oX9NH5ladQg02o="}},
	{1, "192.168.0.89", "192.168.0.1", 20, 1,
	 {"1:tz/fHIDUHs19NkixVVoOZywde+I=", "1:Ie3wmFyxiEyikbsbcO03d2nh+PM="}},
	{58, "fe80::200:86ff:fe05:80da", "fe80::260:97ff:fe07:69ea", 135, 0,
	 {"1:dGHyGvjMfljg6Bppwm3bg0LO8TY=", "1:kHa1FhMYIT6Ym2Vm2AOtoOARDzY="}},
	{58, "fe80::260:97ff:fe07:69ea", "fe80::200:86ff:fe05:80da", 136, 0,
	 {"1:dGHyGvjMfljg6Bppwm3bg0LO8TY=", "1:kHa1FhMYIT6Ym2Vm2AOtoOARDzY="}},
	{58, "3ffe:507:0:1:260:97ff:fe07:69ea", "3ffe:507:0:1:200:86ff:fe05:80da", 3, 0,
	 {"1:NdobDX8PQNJbAyfkWxhtL2Pqp5w=", "1:OlOWx9psIbBFi7lOCw/4MhlKR9M="}},
	{58, "3ffe:507:0:1:200:86ff:fe05:80da", "3ffe:507:0:1:260:97ff:fe07:69ea", 3, 0,
	 {"1:/OGBt9BN1ofenrmSPWYicpij2Vc=", "1:Ij4ZxnC87/MXzhOjvH2vHu7LRmE="}},
};
/* clang-format on */

static struct ink_packet packet_of_vector(const struct vector *v)
{
	struct ink_packet p = {.protocol = (uint8_t)v->protocol, .version = strchr(v->source, ':') ? 6 : 4};
	int family = p.version == 4 ? AF_INET : AF_INET6;

	assert_int_equal(inet_pton(family, v->source, p.source), 1);
	assert_int_equal(inet_pton(family, v->destination, p.destination), 1);
	if (v->protocol == 1 || v->protocol == 58) {
		p.icmp_type = (uint8_t)v->sport;
		p.icmp_code = (uint8_t)v->dport;
	} else {
		p.sport = (uint16_t)v->sport;
		p.dport = (uint16_t)v->dport;
	}
	p.flags = (uint8_t)ink_from_high(&p);
	return p;
}

TEST_THAT(community_ids_are_the_published_ones)
{
	char text[INK_COMMUNITY_ID_SIZE];

	for (size_t i = 0; i < COUNT(vectors); i++)
		for (uint16_t seed = 0; seed < 2; seed++) {
			struct ink_packet p = packet_of_vector(&vectors[i]), answer = turned(&p);

			assert_int_equal(ink_packet_community_id(&p, seed, text), 0);
			assert_string_equal(text, vectors[i].id[seed]);
			assert_int_equal(ink_packet_community_id(p.sport ? &answer : &p, seed, text), 0);
			assert_string_equal(text, vectors[i].id[seed]);
		}
}

TEST_THAT(a_packet_without_a_flow_has_no_community_id)
{
	struct ink_packet p = golden("arp");
	char text[INK_COMMUNITY_ID_SIZE];

	assert_int_equal(ink_packet_community_id(&p, 0, text), -EINVAL);
}

TEST_THAT(addresses_are_written_as_usual)
{
	struct ink_packet p = golden("ipv6");
	char text[INK_ADDRESS_SIZE];

	ink_address_text((const uint8_t[16]){10, 0, 0, 255}, 4, text);
	assert_string_equal(text, "10.0.0.255");
	ink_address_text(p.destination, 6, text);
	assert_string_equal(text, "2001:db8::2");
}

/* ------------------------------------------------------------------------ the clock */

TEST_THAT(the_clock_never_goes_back)
{
	const uint64_t s = 1000000000, times[] = {100, 105, 103, 106, 20, 21, 25, 24, 26};
	const uint64_t clocks[] = {100, 105, 105, 106, 106, 107, 111, 111, 112};
	struct ink_clock c = {0};

	for (int i = 0; i < 9; i++)
		assert_true(ink_clock_set(&c, times[i] * s) == clocks[i] * s);
	assert_int_equal(c.backwards, 3);
}

int main(void)
{
	return run_suite(&(struct suite){.begin = make_frames});
}
