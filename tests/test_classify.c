/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Conditions: each test by itself, and that the decision program says what the
 * conditions say. Video is looked through as byte by byte.
 */
#include "tests/machine_help.h"

/* ------------------------------------------------------------ conditions */

/* Does the condition hold for the packet? */
static int holds(const char *condition, const struct ink_packet *p)
{
	uint64_t counters[64] = {0};
	struct ink_sight sight = {.number = 1, .counters = counters};
	char text[500];
	struct ink_classifier *c;
	struct ink_machine *m;
	int event;

	snprintf(text, sizeof text, "machine m\nkey pair\nevent e = %s\nabsent: e -> a\na: e / count c\n",
		 condition);
	m = made(text);
	c = ink_classifier_make(m, INK_LINK_ETHERNET, 1, NULL);
	assert_non_null(c);
	event = ink_classify(c, p, &sight);
	ink_classifier_free(c);
	ink_machine_free(m);
	return event == 0;
}

#define assert_holds(condition, p)                                                                           \
	do {                                                                                                 \
		if (!holds(condition, p))                                                                    \
			fail_msg("%s does not hold", condition);                                             \
		if (holds("not (" condition ")", p))                                                         \
			fail_msg("not %s holds", condition);                                                 \
	} while (0)
#define assert_fails(condition, p) assert_holds("not (" condition ")", p)

static void tests_of_headers_say_what_the_header_says(void **state)
{
	struct ink_packet t = packet(INK_PROTOCOL_TCP, SYN | INK_TCP_ECE, 0),
			  u = packet(INK_PROTOCOL_UDP, 0, 1), i = packet(INK_PROTOCOL_ICMP, 0, 0);

	(void)state;
	assert_holds("tcp", &t);
	assert_fails("tcp", &u);
	assert_holds("udp", &u);
	assert_fails("sctp", &u);
	assert_holds("icmp", &i);
	assert_holds("ip4", &t);
	assert_fails("ip6", &t);
	assert_holds("any", &t);
	assert_holds("syn", &t);
	assert_holds("ece", &t);
	assert_fails("ack", &t);
	assert_fails("fin", &t);
	assert_fails("syn", &u);
	assert_holds("protocol 6", &t);
	assert_holds("protocol {5-7, 17}", &t);
	assert_fails("protocol != 6", &t);
	assert_holds("length 60", &t);
	assert_holds("length >= 60", &t);
	assert_fails("length > 60", &t);
	assert_holds("length <= 60", &t);
	assert_fails("length < 60", &t);
	assert_holds("length 50-70", &t);
	assert_holds("payload 0", &t);
	t.payload_wire = 2000;
	assert_holds("payload > 1k", &t);
	assert_holds("ttl 64", &t);
	assert_holds("tos 0", &t);
	t.vlan = 7;
	assert_holds("vlan 7", &t);
	assert_holds("depth 0", &t);
	assert_fails("fragment", &t);
	t.fragment = INK_FRAGMENT_FIRST;
	assert_holds("fragment", &t);
	i.icmp_type = 8;
	i.icmp_code = 3;
	assert_holds("icmp type 8", &i);
	assert_fails("icmp type 0", &i);
	assert_holds("icmp code 3", &i);
	assert_fails("icmp type 0", &t); /* not ICMP */
	assert_holds("from low", &t);
	assert_holds("from high", &u);
	t.skip = INK_SKIP_NOT_IP;
	assert_false(holds("any", &t));
}

static void tests_of_ports_and_addresses(void **state)
{
	struct ink_packet t = packet(INK_PROTOCOL_TCP, 0, 0), i = packet(INK_PROTOCOL_ICMP, 0, 0), six = t;

	(void)state;
	assert_holds("src port 1000", &t);
	assert_fails("dst port 1000", &t);
	assert_holds("port 1000", &t);
	assert_holds("port 80", &t);
	assert_fails("port 81", &t);
	assert_holds("dst port < 1024", &t);
	assert_holds("port {1, 3, 5, 7, 9, 80}", &t); /* as a bit map */
	assert_fails("port {1, 3, 5, 7, 9, 81}", &t);
	assert_holds("src port {1, 3, 5, 7, 9, 999-1001}", &t);
	i.sport = i.dport = 0;
	assert_fails("port 0", &i); /* has none */
	assert_fails("src port 0", &i);
	assert_fails("dst port 0", &i);
	assert_holds("host 10.0.0.1", &t);
	assert_holds("src host 10.0.0.1", &t);
	assert_fails("dst host 10.0.0.1", &t);
	assert_holds("dst host 10.0.0.2/32", &t);
	assert_holds("src host 10.0.0.0/8", &t);
	assert_holds("src host 10.255.255.255/8", &t); /* bits behind the prefix count for nothing */
	assert_holds("src host 8.0.0.0/5", &t);
	assert_fails("src host 8.0.0.0/7", &t);
	assert_holds("host 0.0.0.0/0", &t);
	assert_fails("host ::/0", &t);
	assert_holds("host {192.168.0.0/16, 10.0.0.0/31}", &t);
	six.version = 6;
	memcpy(six.source, "\x20\x01\x0d\xb8\0\0\0\0\0\0\0\0\0\0\0\1", 16);
	assert_holds("src host 2001:db8::/32", &six);
	assert_holds("src host 2001:db8::1", &six);
	assert_fails("src host 2001:db8::2", &six);
	assert_fails("src host fe80::/10", &six);
	assert_fails("src host 32.1.13.184", &six);
}

static void and_or_and_not_bind_as_usual(void **state)
{
	struct ink_packet t = packet(INK_PROTOCOL_TCP, SYN, 0);

	(void)state;
	assert_holds("udp and fin or syn", &t);
	assert_fails("udp and (fin or syn)", &t);
	assert_holds("not fin and syn", &t);
	assert_fails("not (not fin and syn)", &t);
	assert_holds("not not tcp", &t);
	assert_holds("tcp or udp and fin", &t);
}

static void tests_of_payload_look_at_captured_bytes(void **state)
{
	struct ink_packet u = packet(INK_PROTOCOL_UDP, 0, 0);

	(void)state;
	u.payload = (const uint8_t *)"GET /\r\n";
	u.payload_captured = u.payload_wire = 7;
	assert_holds("payload begins \"GET \"", &u);
	assert_holds("payload begins \"\\x47\\x45\"", &u);
	assert_fails("payload begins \"get\"", &u);
	assert_fails("payload begins \"GET /\\r\\n\\r\\n\"", &u);
	u.payload_captured = 2;
	assert_fails("payload begins \"GET \"", &u);
	assert_holds("payload 7", &u);
}

static void a_let_is_its_condition(void **state)
{
	struct ink_packet p = packet(INK_PROTOCOL_TCP, SYN, 0);
	struct ink_sight sight = {.number = 1};
	struct ink_machine *m = made("machine m\nkey pair\nlet web = port {80, 443}\nlet new = web and syn\n"
				     "event e = tcp and not new\nevent f = new\nabsent: e, f -> a\na: end\n");
	struct ink_classifier *c = ink_classifier_make(m, INK_LINK_ETHERNET, 1, NULL);

	(void)state;
	assert_int_equal(ink_classify(c, &p, &sight), 1);
	p.dport = 81;
	assert_int_equal(ink_classify(c, &p, &sight), 0);
	ink_classifier_free(c);
	ink_machine_free(m);
}

static void chance_is_as_frequent_as_it_says_and_the_same_for_a_seed(void **state)
{
	struct ink_packet p = packet(INK_PROTOCOL_TCP, SYN, 0);
	struct ink_machine *m = made("machine m\nkey pair\nevent e = chance 25% and chance 1/2\nevent f = "
				     "chance 0\nevent g = chance 1\n"
				     "absent: e, f, g -> a\na: end\n");
	struct ink_classifier *c[3] = {ink_classifier_make(m, INK_LINK_ETHERNET, 1, NULL),
				       ink_classifier_make(m, INK_LINK_ETHERNET, 1, NULL),
				       ink_classifier_make(m, INK_LINK_ETHERNET, 2, NULL)};
	enum { N = 80000 };
	unsigned hits = 0, same = 0;

	(void)state;
	for (unsigned i = 0; i < N; i++) {
		struct ink_sight sight = {.number = i};
		unsigned event = ink_classify(c[0], &p, &sight);

		assert_true(event == 0 || event == 2);
		assert_int_equal(event, ink_classify(c[1], &p, &sight));
		same += event == ink_classify(c[2], &p, &sight);
		hits += event == 0;
	}
	assert_true(fabs(hits - N / 8.0) < spread(N / 8.0));
	assert_true(same < N * 9 / 10); /* 78 % agree by chance */
	for (unsigned i = 0; i < 3; i++)
		ink_classifier_free(c[i]);
	ink_machine_free(m);
}

/* ---------------------------------------------------- the decision program */

static int holds_plainly(const struct ink_classifier *c, const struct ink_condition *k,
			 const struct ink_packet *p, const struct ink_sight *sight)
{
	switch (k->kind) {
	case INK_AND:
		return holds_plainly(c, k->a, p, sight) && holds_plainly(c, k->b, p, sight);
	case INK_OR:
		return holds_plainly(c, k->a, p, sight) || holds_plainly(c, k->b, p, sight);
	case INK_NOT:
		return !holds_plainly(c, k->a, p, sight);
	case INK_ALWAYS:
	case INK_NEVER:
		return k->kind == INK_ALWAYS;
	default:
		return ink_test_holds(c, k->test, p, sight);
	}
}

static uint16_t event_plainly(const struct ink_machine *m, const struct ink_classifier *c,
			      const struct ink_packet *p, const struct ink_sight *sight)
{
	for (unsigned e = 0; e < m->n_events; e++)
		if (holds_plainly(c, m->events[e].condition, p, sight))
			return (uint16_t)e;
	return INK_NO_EVENT;
}

static size_t random_condition(char *text, size_t size, unsigned depth)
{
	static const char *const tests[] = {"tcp",
					    "udp",
					    "icmp",
					    "syn",
					    "ack",
					    "fin",
					    "rst",
					    "port 80",
					    "port {80, 443}",
					    "src port < 500",
					    "dst port 80-90",
					    "dst port > 85",
					    "length < 80",
					    "length 60-90",
					    "length > 70",
					    "protocol {6, 17}",
					    "protocol != 6",
					    "from low",
					    "from high",
					    "ip4",
					    "ip6",
					    "ttl 5",
					    "ttl > 3",
					    "chance 50%",
					    "host 10.0.0.0/31",
					    "src host 10.0.0.1",
					    "payload 0",
					    "icmp type 8",
					    "src port 80",
					    "any",
					    "port != 80",
					    "fragment"};
	size_t n = 0;

	if (depth == 0 || random_below(4) == 0)
		return (size_t)snprintf(text, size, "%s",
					tests[random_below(sizeof tests / sizeof tests[0])]);
	n += (size_t)snprintf(text + n, size - n, random_below(3) ? "(" : "not (");
	n += random_condition(text + n, size - n, depth - 1);
	n += (size_t)snprintf(text + n, size - n, random_below(2) ? " and " : " or ");
	n += random_condition(text + n, size - n, depth - 1);
	return n + (size_t)snprintf(text + n, size - n, ")");
}

static struct ink_packet random_packet(void)
{
	static const uint8_t protocols[] = {6, 6, 17, 1, 58, 132};
	struct ink_packet p = packet(protocols[random_below(6)], 0, (int)random_below(2));

	if (p.protocol == INK_PROTOCOL_TCP)
		p.tcp_flags = (uint16_t)random_below(64);
	if (p.protocol == INK_PROTOCOL_ICMP)
		p.icmp_type = random_below(2) ? 8 : 0;
	p.version = random_below(4) ? 4 : 6;
	p.source[3] = (uint8_t)random_below(4);
	p.sport = (uint16_t)(random_below(2) ? 80 : 70 + random_below(500));
	p.dport = (uint16_t)(random_below(2) ? 443 : 75 + random_below(20));
	if (p.protocol == 1 || p.protocol == 58)
		p.sport = p.dport = 0;
	p.wire = 50 + random_below(50);
	p.payload_wire = random_below(2);
	p.ttl = (uint8_t)random_below(8);
	p.fragment = (uint8_t)random_below(2);
	return p;
}

static void compare_with_plain(const char *text)
{
	struct ink_machine *m = made(text);
	struct ink_classifier *c = ink_classifier_make(m, INK_LINK_ETHERNET, 1, NULL);

	for (unsigned i = 0; i < 300; i++) {
		struct ink_packet p = random_packet();
		struct ink_sight sight = {.number = i};

		if (ink_classify(c, &p, &sight) != event_plainly(m, c, &p, &sight))
			fail_msg("%s\nis decided wrongly", text);
	}
	ink_classifier_free(c);
	ink_machine_free(m);
}

static void the_decision_program_says_what_the_conditions_say(void **state)
{
	static char text[20000];

	(void)state;
	for (uint64_t round = 0; round < scaled(1500); round++) {
		unsigned events = 1 + random_below(6), depth = 1 + random_below(5);
		size_t n =
			(size_t)snprintf(text, sizeof text, "machine m\nkey pair\nabsent: * -> a\na: end\n");

		for (unsigned e = 0; e < events; e++) {
			n += (size_t)snprintf(text + n, sizeof text - n, "event e%u = ", e);
			n += random_condition(text + n, sizeof text - n, depth);
			n += (size_t)snprintf(text + n, sizeof text - n, "\n");
		}
		assert_true(n < sizeof text - 1);
		compare_with_plain(text);
	}
}

/* Every second length: nothing follows from anything, and the graph would be larger than its limit. */
static void a_program_that_would_be_too_large_is_left_plain(void **state)
{
	static char text[20000];
	size_t n = (size_t)snprintf(text, sizeof text, "machine m\nkey pair\nabsent: * -> a\na: end\n");
	struct ink_machine *m;

	(void)state;
	for (unsigned e = 0; e < 24; e++) {
		n += (size_t)snprintf(text + n, sizeof text - n, "event e%u = any", e);
		for (unsigned i = 0; i < 6; i++)
			n += (size_t)snprintf(text + n, sizeof text - n, " and %schance %u%%",
					      random_below(2) ? "not " : "", 30 + random_below(40));
		n += (size_t)snprintf(text + n, sizeof text - n, "\n");
	}
	for (unsigned e = 0; e < 12; e++) {
		n += (size_t)snprintf(text + n, sizeof text - n,
				      "event f%u = host 10.0.0.%u/32 and (payload begins \"%u\" or host "
				      "10.0.1.%u) and not host 10.0.%u.0/24\n",
				      e, e, e, e, e);
	}
	compare_with_plain(text);
	m = made(text);
	assert_true(m->decision.n_nodes > 0);
	ink_machine_free(m);
}

static void no_test_is_made_twice(void **state)
{
	struct ink_machine *m =
		made("machine m\nkey pair\nevent a = tcp and syn and not ack\nevent b = tcp and syn and ack\n"
		     "event c = tcp and rst\nevent d = tcp\nevent e = udp\nabsent: * -> s\ns: end\n");
	unsigned tests[16] = {0};

	(void)state;
	assert_int_equal(m->n_tests, 5);
	assert_true(m->decision.n_nodes <= 5);
	for (unsigned i = 0; i < m->decision.n_nodes; i++)
		assert_int_equal(tests[m->decision.nodes[i].test]++, 0);
	ink_machine_free(m);
}

/* Ethernet, IPv4, UDP to port 53. */
static const uint8_t dns_frame[] = {2,  0, 0,  0, 0,    1,    2, 0,  0,  0, 0, 2,  8,  0, 0x45,
				    0,  0, 29, 0, 0,    0,    0, 64, 17, 0, 0, 10, 0,  0, 1,
				    10, 0, 0,  2, 0x12, 0x34, 0, 53, 0,  9, 0, 0,  'x'};

static void a_filter_looks_at_the_frame(void **state)
{
	struct ink_packet p = {.frame = dns_frame, .captured = sizeof dns_frame, .wire = sizeof dns_frame};

	(void)state;
	assert_int_equal(ink_packet_parse(&p, INK_LINK_ETHERNET, 0), INK_NOT_SKIPPED);
	assert_holds("filter \"udp dst port 53\"", &p);
	assert_fails("filter \"tcp\"", &p);
	assert_holds("udp and filter \"ether[0] == 2\" and payload begins \"x\"", &p);
}

/* ----------------------------------------------------------------- video */

static const uint8_t stream[] = {9, 9, 0, 0, 1, 0, 0x55, 3 << 3, 7, 7, 7}; /* a B picture at 2 */

static const char video[] = "machine m\nkey flow\nremember tail\n"
			    "event b = picture B\nevent rest = udp\n"
			    "absent: rest, b -> s / count found by pictures B\n"
			    "s: b / count found by pictures B, count met | rest / count found by pictures B "
			    "| timeout 10s -> absent\n";

static void a_start_code_in_two_packets_is_found_wherever_it_is_cut(void **state)
{
	(void)state;
	for (size_t cut = 1; cut < sizeof stream; cut++) {
		track_with(video, NULL);
		give_udp("xyz", 3); /* begins the flow */
		give_udp(stream, cut);
		give_udp(stream + cut, sizeof stream - cut);
		assert_int_equal(counted("found"), 1);
		assert_int_equal(counted("met"), 1);
		untrack(NULL);
	}
}

static void a_start_code_in_many_packets_is_found(void **state)
{
	(void)state;
	track_with(video, NULL);
	give_udp("xyz", 3);
	for (size_t i = 0; i < sizeof stream; i++) {
		give_udp("", 0); /* changes nothing */
		give_udp(stream + i, 1);
	}
	assert_int_equal(counted("found"), 1);
	assert_int_equal(counted("met"), 1);
}

static void without_a_tail_only_whole_start_codes_are_found(void **state)
{
	char text[1000];

	(void)state;
	for (size_t cut = 1; cut < sizeof stream; cut++) {
		snprintf(text, sizeof text, "%s", video);
		memset(strstr(text, "remember tail"), ' ', strlen("remember tail"));
		track_with(text, NULL);
		assert_int_equal(ink_machine_view(machine)->rules->states, 1);
		give_udp("xyz", 3);
		give_udp(stream, cut);
		give_udp(stream + cut, sizeof stream - cut);
		assert_int_equal(counted("met"), cut <= 2 || cut >= 8);
		untrack(NULL);
	}
}

static void a_packet_that_was_cut_leaves_no_tail(void **state)
{
	struct ink_packet p = packet(INK_PROTOCOL_UDP, 0, 0);

	(void)state;
	track_with(video, NULL);
	give_udp("xyz", 3);
	p.payload = stream;
	p.payload_captured = 5;
	p.payload_wire = 6;
	give(p);
	give_udp(stream + 5, sizeof stream - 5);
	assert_int_equal(counted("met"), 0);
}

static void flows_have_tails_of_their_own(void **state)
{
	struct ink_packet other = packet(INK_PROTOCOL_UDP, 0, 1);

	(void)state;
	track_with(video, NULL);
	other.payload = (const uint8_t *)"xyz";
	other.payload_captured = other.payload_wire = 3;
	give_udp("xyz", 3);
	give(other);
	give_udp(stream, 5);
	give(other);
	give_udp(stream + 5, sizeof stream - 5);
	assert_int_equal(counted("met"), 1);
}

/* The plain automaton beside the one that passes bytes over. */
static void pictures_are_found_as_byte_by_byte(void **state)
{
	(void)state;
	for (uint64_t round = 0; round < scaled(20000); round++) {
		uint8_t bytes[64];
		struct ink_packet p = packet(INK_PROTOCOL_UDP, 0, 0), one;
		unsigned length = random_below(sizeof bytes), tail = random_below(6), last = 0,
			 state_now_is = tail;
		struct ink_pictures found;
		uint32_t started[4] = {0};

		for (unsigned i = 0; i < length; i++)
			bytes[i] = (uint8_t)(random_below(3) ? random_below(2) : random_below(4) << 3);
		if (length && bytes[0] >> 6 == 2)
			bytes[0] = 0;
		p.payload = bytes;
		p.payload_captured = p.payload_wire = length;
		found = ink_video_pictures(&p, tail);
		one = p;
		one.payload_captured = one.payload_wire = 1;
		for (unsigned i = 0; i < length; i++) {
			struct ink_pictures f;

			one.payload = bytes + i;
			f = ink_video_pictures(&one, state_now_is);
			state_now_is = f.tail;
			last = f.last ? f.last : last;
			for (unsigned k = 1; k < 4; k++)
				started[k] += f.started[k];
		}
		assert_int_equal(found.tail, state_now_is);
		assert_int_equal(found.last, last);
		assert_memory_equal(found.started, started, sizeof started);
	}
}

/* An RTP header of that type in front. */
static size_t rtp(uint8_t *out, unsigned type, const void *payload, size_t length)
{
	memset(out, 0, 12);
	out[0] = 0x80;
	out[1] = (uint8_t)type;
	memcpy(out + 12, payload, length);
	return 12 + length;
}

static struct ink_packet udp_of(const uint8_t *payload, size_t length)
{
	struct ink_packet p = packet(INK_PROTOCOL_UDP, 0, 0);

	p.payload = payload;
	p.payload_captured = p.payload_wire = (uint32_t)length;
	return p;
}

static void rtp_and_its_type_are_known(void **state)
{
	uint8_t bytes[64];
	struct ink_packet p = udp_of(bytes, rtp(bytes, 96, "abc", 3));

	(void)state;
	assert_holds("rtp", &p);
	assert_holds("rtp type 96", &p);
	assert_fails("rtp type 32", &p);
	assert_fails("ts", &p);
	p.payload_captured = 11;
	assert_fails("rtp", &p);
	p.payload_captured = 15;
	bytes[0] = 0x8f; /* 15 sources that are not there */
	assert_fails("rtp", &p);
	bytes[0] = 0x90; /* an extension that is cut */
	assert_fails("rtp", &p);
	bytes[0] = 0x40;
	assert_fails("rtp", &p);
}

static void nal_units_are_found_in_rtp(void **state)
{
	uint8_t bytes[64];
	struct ink_packet p;

	(void)state;
	p = udp_of(bytes, rtp(bytes, 96, "\x65zzz", 4));
	assert_holds("nal 5", &p);
	assert_fails("nal 1", &p);
	p = udp_of(bytes, rtp(bytes, 96, "\x78\0\2\x67z\0\3\x68zz\0\1\x65", 13)); /* STAP-A: 7, 8, 5 */
	assert_holds("nal 7 and nal 8 and nal 5", &p);
	assert_fails("nal {1-4, 24}", &p);
	p = udp_of(bytes, rtp(bytes, 96, "\x7c\x85zz", 4)); /* FU-A, the first */
	assert_holds("nal 5", &p);
	p = udp_of(bytes, rtp(bytes, 96, "\x7c\x05zz", 4)); /* a later one */
	assert_fails("nal 0-31", &p);
	p = udp_of((const uint8_t *)"\x65zzz", 4); /* not RTP */
	assert_fails("nal 5", &p);
	p = udp_of(bytes, rtp(bytes, 96, "\x78\xff\xff", 3));
	assert_fails("nal 0-31", &p);
}

/* One TS packet whose payload begins with these bytes; the rest is 0xff. */
static void ts_packet(uint8_t out[188], unsigned pid, int start, const void *payload, size_t length)
{
	memset(out, 0xff, 188);
	out[0] = 0x47;
	out[1] = (uint8_t)((start ? 0x40 : 0) | pid >> 8);
	out[2] = (uint8_t)pid;
	out[3] = 0x10;
	memcpy(out + 4, payload, length);
}

static void pictures_are_found_in_mpeg_ts(void **state)
{
	static const uint8_t pes[] = {0, 0, 1, 0xe0, 0,    0,     0x80, 0, 2, 9, 9, /* header of 2 bytes */
				      0, 0, 1, 0,    0x55, 1 << 3};
	uint8_t bytes[3 * 188 + 12] = {0}, half[184];
	struct ink_packet p = udp_of(bytes, 2 * 188);

	(void)state;
	ts_packet(bytes, 256, 1, pes, sizeof pes);
	ts_packet(bytes + 188, 257, 0, "x", 1);
	assert_holds("ts and picture I", &p);
	bytes[188] = 0x46;
	assert_fails("ts", &p);

	/* scrambled; inside the header of the PES packet; behind an adaptation field */
	bytes[188] = 0x47;
	bytes[3] = 0x90;
	assert_fails("picture I", &p);
	ts_packet(bytes, 256, 1, "\0\0\1\xe0\0\0\x80\0\6\0\0\1\0\x55\x8", 15);
	assert_fails("picture I", &p);
	ts_packet(bytes, 256, 0, "\7\0\0\1\0\x55\x8\7\0\0\1\0\x55\x10", 14);
	bytes[3] = 0x30;
	assert_holds("picture P", &p);
	bytes[3] = 0x20; /* nothing but the field */
	assert_fails("picture P or picture I", &p);

	/* a code over two TS packets, another PID between them */
	memset(half, 0xff, sizeof half);
	memcpy(half + 181, "\0\0\1", 3);
	ts_packet(bytes, 256, 0, half, sizeof half);
	ts_packet(bytes + 188, 257, 0, "\7\7\7", 3);
	ts_packet(bytes + 376, 256, 0, "\0\x55\x10", 3);
	p = udp_of(bytes, 3 * 188);
	assert_holds("picture P", &p);
	assert_fails("picture I", &p);

	/* a code over two datagrams: the first of them leaves a tail, which is for the first PID of the second */
	p = udp_of(bytes, 188);
	assert_int_equal(ink_video_pictures(&p, 0).tail, 3);
	ts_packet(bytes, 256, 0, "\0\x55\x10", 3);
	ts_packet(bytes + 188, 257, 0, "\0\x55\x10", 3);
	p = udp_of(bytes, 2 * 188);
	assert_int_equal(ink_video_pictures(&p, 0).last, INK_PICTURE_NONE);
	assert_int_equal(ink_video_pictures(&p, 3).last, INK_PICTURE_P);
	assert_int_equal(ink_video_pictures(&p, 3).started[INK_PICTURE_P], 1);
	p = udp_of(bytes, 3 * 188);

	/* audio and tables are not looked at */
	ts_packet(bytes, 256, 1, "\0\0\1\xc0\0\0\x80\0\0\0\0\1\0\x55\x10", 15);
	ts_packet(bytes + 188, 16, 0, "\0\0\1\0\x55\x10", 6);
	ts_packet(bytes + 376, 0x1fff, 0, "\0\0\1\0\x55\x10", 6);
	assert_fails("picture P", &p);

	/* in RTP */
	ts_packet(bytes + 12, 256, 1, pes, sizeof pes);
	memcpy(bytes, "\x80\x21\0\0\0\0\0\0\0\0\0\0", 12);
	p = udp_of(bytes, 12 + 188);
	assert_holds("ts and picture I and rtp type 33", &p);
}

static void pictures_are_found_behind_the_header_of_rfc_2250(void **state)
{
	uint8_t bytes[64];
	struct ink_packet p = udp_of(bytes, rtp(bytes, 32, "\0\0\0\0\0\0\1\0\x55\x18", 10));

	(void)state;
	assert_holds("picture B", &p);
	p = udp_of(bytes, rtp(bytes, 32, "\4\0\0\0\0\0\1\0\x55\x18", 10));
	assert_fails("picture B", &p); /* T is set: four bytes more are header */
	p = udp_of(bytes, rtp(bytes, 32, "\4\0\0\0\0\0\0\0\0\0\1\0\x55\x10", 14));
	assert_holds("picture P", &p);
	p = udp_of(bytes, rtp(bytes, 32, "\0\0\0\0\0\0\1\0\x55\x28", 10));
	assert_fails("picture B or picture P or picture I", &p); /* type 5 is none */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(tests_of_headers_say_what_the_header_says),
		cmocka_unit_test(tests_of_ports_and_addresses),
		cmocka_unit_test(and_or_and_not_bind_as_usual),
		cmocka_unit_test(tests_of_payload_look_at_captured_bytes),
		cmocka_unit_test(a_let_is_its_condition),
		cmocka_unit_test(chance_is_as_frequent_as_it_says_and_the_same_for_a_seed),
		cmocka_unit_test(the_decision_program_says_what_the_conditions_say),
		cmocka_unit_test(a_program_that_would_be_too_large_is_left_plain),
		cmocka_unit_test(no_test_is_made_twice),
		TRACKED(a_start_code_in_two_packets_is_found_wherever_it_is_cut),
		TRACKED(a_start_code_in_many_packets_is_found),
		TRACKED(without_a_tail_only_whole_start_codes_are_found),
		TRACKED(a_packet_that_was_cut_leaves_no_tail),
		TRACKED(flows_have_tails_of_their_own),
		cmocka_unit_test(pictures_are_found_as_byte_by_byte),
		cmocka_unit_test(rtp_and_its_type_are_known),
		cmocka_unit_test(nal_units_are_found_in_rtp),
		cmocka_unit_test(pictures_are_found_in_mpeg_ts),
		cmocka_unit_test(pictures_are_found_behind_the_header_of_rfc_2250),
		cmocka_unit_test(a_filter_looks_at_the_frame),
	};

	return cmocka_run_group_tests_name("classify", tests, NULL, NULL);
}
