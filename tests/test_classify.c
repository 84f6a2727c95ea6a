/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Conditions: each test by itself; the decision program gives the event that
 * the conditions give; pictures in video are those that a search byte by byte finds.
 */
#include "tests/frames.h"
#include "tests/machine_help.h"
#include "tests/test.h"

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

/* Each of the conditions, with ';' between them, holds or does not; its negation is the opposite. */
static void assert_all(const struct ink_packet *p, const char *conditions, int hold)
{
	char copy[1000], negated[600], *rest = copy, *condition;

	assert_true(strlen(conditions) < sizeof copy);
	strcpy(copy, conditions);
	while ((condition = strsep(&rest, ";"))) {
		snprintf(negated, sizeof negated, "not (%s)", condition);
		if (holds(condition, p) != hold || holds(negated, p) == hold)
			fail_msg("'%s' %s", condition, hold ? "does not hold" : "holds");
	}
}

static void assert_hold(const struct ink_packet *p, const char *conditions)
{
	assert_all(p, conditions, 1);
}

static void assert_fail(const struct ink_packet *p, const char *conditions)
{
	assert_all(p, conditions, 0);
}

TEST_THAT(tests_of_headers_say_what_the_header_says)
{
	struct ink_packet t = packet(INK_PROTOCOL_TCP, SYN | INK_TCP_ECE, 0),
			  u = packet(INK_PROTOCOL_UDP, 0, 1), i = packet(INK_PROTOCOL_ICMP, 0, 0);

	assert_hold(&t, "tcp; ip4; any; syn; ece; from low; ttl 64; tos 0; depth 0; payload 0");
	assert_fail(&t, "ip6; ack; fin; fragment");
	assert_hold(&u, "udp; from high");
	assert_fail(&u, "tcp; sctp; syn");
	assert_hold(&t,
		    "protocol 6; protocol {5-7, 17}; length 60; length >= 60; length <= 60; length 50-70");
	assert_fail(&t, "protocol != 6; length > 60; length < 60");
	t.payload_wire = 2000;
	t.vlan = 7;
	t.fragment = INK_FRAGMENT_FIRST;
	assert_hold(&t, "payload > 1k; vlan 7; fragment");
	i.icmp_type = 8;
	i.icmp_code = 3;
	assert_hold(&i, "icmp; icmp type 8; icmp code 3");
	assert_fail(&i, "icmp type 0");
	assert_fail(&t, "icmp type 0"); /* not ICMP */
	t.skip = INK_SKIP_NOT_IP;
	assert_false(holds("any", &t));
}

TEST_THAT(tests_of_ports_and_addresses)
{
	struct ink_packet t = packet(INK_PROTOCOL_TCP, 0, 0), i = packet(INK_PROTOCOL_ICMP, 0, 0), six = t;

	assert_hold(&t, "src port 1000; port 1000; port 80; dst port < 1024");
	assert_fail(&t, "dst port 1000; port 81");
	/* as a bit map */
	assert_hold(&t, "port {1, 3, 5, 7, 9, 80}; src port {1, 3, 5, 7, 9, 999-1001}");
	assert_fail(&t, "port {1, 3, 5, 7, 9, 81}");
	i.sport = i.dport = 0;
	assert_fail(&i, "port 0; src port 0; dst port 0"); /* has none */
	assert_hold(&t, "host 10.0.0.1; src host 10.0.0.1; dst host 10.0.0.2/32; src host 10.0.0.0/8");
	assert_hold(&t, "src host 8.0.0.0/5; host 0.0.0.0/0; host {192.168.0.0/16, 10.0.0.0/31}");
	assert_hold(&t, "src host 10.255.255.255/8"); /* bits behind the prefix count for nothing */
	assert_fail(&t, "dst host 10.0.0.1; src host 8.0.0.0/7; host ::/0");
	six.version = 6;
	memcpy(six.source, "\x20\x01\x0d\xb8\0\0\0\0\0\0\0\0\0\0\0\1", 16);
	assert_hold(&six, "src host 2001:db8::/32; src host 2001:db8::1");
	assert_fail(&six, "src host 2001:db8::2; src host fe80::/10; src host 32.1.13.184");
}

TEST_THAT(and_or_and_not_bind_as_usual)
{
	struct ink_packet t = packet(INK_PROTOCOL_TCP, SYN, 0);

	assert_hold(&t, "udp and fin or syn; not fin and syn; not not tcp; tcp or udp and fin");
	assert_fail(&t, "udp and (fin or syn); not (not fin and syn)");
}

static struct ink_packet udp_of(const void *payload, size_t length)
{
	struct ink_packet p = packet(INK_PROTOCOL_UDP, 0, 0);

	p.payload = payload;
	p.payload_captured = p.payload_wire = (uint32_t)length;
	return p;
}

TEST_THAT(tests_of_payload_look_at_captured_bytes)
{
	struct ink_packet u = udp_of("GET /\r\n", 7);

	assert_hold(&u, "payload begins \"GET \"; payload begins \"\\x47\\x45\"");
	assert_fail(&u, "payload begins \"get\"; payload begins \"GET /\\r\\n\\r\\n\"");
	u.payload_captured = 2;
	assert_fail(&u, "payload begins \"GET \"");
	assert_hold(&u, "payload 7");
}

TEST_THAT(a_let_is_its_condition)
{
	struct ink_packet p = packet(INK_PROTOCOL_TCP, SYN, 0);
	struct ink_sight sight = {.number = 1};
	struct ink_machine *m = made("machine m\nkey pair\nlet web = port {80, 443}\nlet new = web and syn\n"
				     "event e = tcp and not new\nevent f = new\nabsent: e, f -> a\na: end\n");
	struct ink_classifier *c = ink_classifier_make(m, INK_LINK_ETHERNET, 1, NULL);

	assert_int_equal(ink_classify(c, &p, &sight), 1);
	p.dport = 81;
	assert_int_equal(ink_classify(c, &p, &sight), 0);
	ink_classifier_free(c);
	ink_machine_free(m);
}

TEST_THAT(chance_is_as_frequent_as_it_says_and_the_same_for_a_seed)
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

/* clang-format off */
static const char *const any_tests[] = {
	"tcp", "udp", "icmp", "syn", "ack", "fin", "rst", "port 80", "port {80, 443}",
	"src port < 500", "dst port 80-90", "dst port > 85", "length < 80", "length 60-90",
	"length > 70", "protocol {6, 17}", "protocol != 6", "from low", "from high", "ip4",
	"ip6", "ttl 5", "ttl > 3", "chance 50%", "host 10.0.0.0/31", "src host 10.0.0.1",
	"payload 0", "icmp type 8", "src port 80", "any", "port != 80", "fragment",
};
/* clang-format on */

static void add_random_condition(unsigned depth)
{
	if (depth == 0 || random_below(4) == 0) {
		add("%s", any_tests[random_below(COUNT(any_tests))]);
		return;
	}
	add(random_below(3) ? "(" : "not (");
	add_random_condition(depth - 1);
	add(random_below(2) ? " and " : " or ");
	add_random_condition(depth - 1);
	add(")");
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

#define ROWS "machine m\nkey pair\nabsent: * -> a\na: end\n"

/* The draft decides as its conditions do, one after the other. */
static void check_draft(void)
{
	struct ink_machine *m = made(draft.text);
	struct ink_classifier *c = ink_classifier_make(m, INK_LINK_ETHERNET, 1, NULL);

	for (unsigned i = 0; i < 300; i++) {
		struct ink_packet p = random_packet();
		struct ink_sight sight = {.number = i};

		if (ink_classify(c, &p, &sight) != event_plainly(m, c, &p, &sight))
			fail_msg("%s\nis decided wrongly", draft.text);
	}
	ink_classifier_free(c);
	ink_machine_free(m);
}

TEST_THAT(the_decision_program_says_what_the_conditions_say)
{
	for (uint64_t round = 0; round < scaled(1500); round++) {
		unsigned events = 1 + random_below(6), depth = 1 + random_below(5);

		begin(ROWS);
		for (unsigned e = 0; e < events; e++) {
			add("event e%u = ", e);
			add_random_condition(depth);
			add("\n");
		}
		check_draft();
	}
}

/* Independent tests: nothing follows from anything, and the graph would be larger than its limit. */
TEST_THAT(a_program_that_would_be_too_large_is_left_plain)
{
	struct ink_machine *m;

	begin(ROWS);
	for (unsigned e = 0; e < 24; e++) {
		add("event e%u = any", e);
		for (unsigned i = 0; i < 6; i++)
			add(" and %schance %u%%", random_below(2) ? "not " : "", 30 + random_below(40));
		add("\n");
	}
	for (unsigned e = 0; e < 12; e++)
		add("event f%u = host 10.0.0.%u/32 and (payload begins \"%u\" or host 10.0.1.%u) and not host 10.0.%u.0/24\n",
		    e, e, e, e, e);
	check_draft();
	m = made(draft.text);
	assert_true(m->decision.n_nodes > 0);
	ink_machine_free(m);
}

TEST_THAT(no_test_is_made_twice)
{
	struct ink_machine *m =
		made("machine m\nkey pair\nevent a = tcp and syn and not ack\nevent b = tcp and syn and ack\n"
		     "event c = tcp and rst\nevent d = tcp\nevent e = udp\nabsent: * -> s\ns: end\n");
	unsigned tests[16] = {0};

	assert_int_equal(m->n_tests, 5);
	assert_true(m->decision.n_nodes <= 5);
	for (unsigned i = 0; i < m->decision.n_nodes; i++)
		assert_int_equal(tests[m->decision.nodes[i].test]++, 0);
	ink_machine_free(m);
}

TEST_THAT(a_filter_looks_at_the_frame)
{
	struct ink_packet p = {.time = 0};
	struct frame f;

	make_frame(&f, "eth4 ip4:17 udp:53 hello");
	p.frame = front(&f);
	p.captured = p.wire = (uint32_t)f.n;
	assert_int_equal(ink_packet_parse(&p, INK_LINK_ETHERNET, 0), INK_NOT_SKIPPED);
	assert_hold(&p, "filter \"udp dst port 53\"");
	assert_fail(&p, "filter \"tcp\"");
	assert_hold(&p, "udp and filter \"ether[0] == 2\" and payload begins \"hello\"");
}

/* ----------------------------------------------------------------- video */

static const uint8_t stream[] = {9, 9, 0, 0, 1, 0, 0x55, 3 << 3, 7, 7, 7}; /* a B picture at 2 */

static const char video[] = "machine m\nkey flow\nremember tail\n"
			    "event b = picture B\nevent rest = udp\n"
			    "absent: rest, b -> s / count found by pictures B\n"
			    "s: b / count found by pictures B, count met | rest / count found by pictures B "
			    "| timeout 10s -> absent\n";

/* A flow that begins with other bytes, and then has the stream, cut after some. */
static void give_cut_stream(const char *text, size_t cut)
{
	track_with(text, NULL);
	give_udp("xyz", 3);
	give_udp(stream, cut);
	give_udp(stream + cut, sizeof stream - cut);
}

TEST_THAT(a_start_code_in_two_packets_is_found_wherever_it_is_cut)
{
	for (size_t cut = 1; cut < sizeof stream; cut++) {
		give_cut_stream(video, cut);
		assert_int_equal(counted("found"), 1);
		assert_int_equal(counted("met"), 1);
		untrack(NULL);
	}
}

TEST_THAT(a_start_code_in_many_packets_is_found)
{
	track_with(video, NULL);
	give_udp("xyz", 3);
	for (size_t i = 0; i < sizeof stream; i++) {
		give_udp("", 0); /* changes nothing */
		give_udp(stream + i, 1);
	}
	assert_int_equal(counted("found"), 1);
	assert_int_equal(counted("met"), 1);
}

TEST_THAT(without_a_tail_only_whole_start_codes_are_found)
{
	char text[sizeof video];

	memcpy(text, video, sizeof text);
	memset(strstr(text, "remember tail"), ' ', strlen("remember tail"));
	for (size_t cut = 1; cut < sizeof stream; cut++) {
		give_cut_stream(text, cut);
		assert_int_equal(ink_machine_view(machine)->rules->states, 1);
		assert_int_equal(counted("met"), cut <= 2 || cut >= 8);
		untrack(NULL);
	}
}

TEST_THAT(a_packet_that_was_cut_leaves_no_tail)
{
	struct ink_packet p = udp_of(stream, 5);

	track_with(video, NULL);
	give_udp("xyz", 3);
	p.payload_wire = 6;
	give(p);
	give_udp(stream + 5, sizeof stream - 5);
	assert_int_equal(counted("met"), 0);
}

TEST_THAT(flows_have_tails_of_their_own)
{
	struct ink_packet other = packet(INK_PROTOCOL_UDP, 0, 1);

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
static struct ink_pictures pictures_byte_by_byte(const uint8_t *bytes, unsigned length, unsigned tail)
{
	struct ink_pictures all = {.tail = (uint8_t)tail};

	for (unsigned i = 0; i < length; i++) {
		struct ink_packet one = udp_of(bytes + i, 1);
		struct ink_pictures found = ink_video_pictures(&one, all.tail);

		all.tail = found.tail;
		all.last = found.last ? found.last : all.last;
		for (unsigned k = 1; k < 4; k++)
			all.started[k] += found.started[k];
	}
	return all;
}

TEST_THAT(pictures_are_found_as_byte_by_byte)
{
	for (uint64_t round = 0; round < scaled(20000); round++) {
		uint8_t bytes[64];
		unsigned length = random_below(sizeof bytes), tail = random_below(6);
		struct ink_packet p = udp_of(bytes, length);
		struct ink_pictures found, expected;

		for (unsigned i = 0; i < length; i++)
			bytes[i] = (uint8_t)(random_below(3) ? random_below(2) : random_below(4) << 3);
		if (length && bytes[0] >> 6 == 2)
			bytes[0] = 0;
		found = ink_video_pictures(&p, tail);
		expected = pictures_byte_by_byte(bytes, length, tail);
		assert_int_equal(found.tail, expected.tail);
		assert_int_equal(found.last, expected.last);
		assert_memory_equal(found.started, expected.started, sizeof found.started);
	}
}

#define RTP_AS(type) "80" type "000000000000 00000000 "
#define RTP RTP_AS("60")  /* type 96 */
#define MPEG RTP_AS("20") /* type 32: the header of RFC 2250 follows */

TEST_THAT(rtp_and_what_it_carries_are_known)
{
	static const struct {
		const char *payload, *hold, *fail;
	} rows[] = {
		{RTP "616263", "rtp; rtp type 96", "rtp type 32; ts"},
		{"8060000000000000000000", "any", "rtp"},           /* a header that is cut */
		{"8f60000000000000 00000000 616263", "any", "rtp"}, /* 15 sources that are not there */
		{"9060000000000000 00000000 616263", "any", "rtp"}, /* an extension that is cut */
		{"4060000000000000 00000000 616263", "any", "rtp"}, /* version 1 */
		{RTP "657a7a7a", "nal 5", "nal 1"},
		{RTP "78 0002677a 0003687a7a 000165", "nal 7 and nal 8 and nal 5",
		 "nal {1-4, 24}"},                   /* STAP-A */
		{RTP "7c857a7a", "nal 5", "nal 1"},  /* FU-A, the first */
		{RTP "7c057a7a", "any", "nal 0-31"}, /* a later one */
		{RTP "78ffff", "any", "nal 0-31"},
		{"657a7a7a", "any", "nal 5"}, /* not RTP */
		{MPEG "00000000 000001005518", "picture B", "picture I"},
		{MPEG "04000000 000001005518", "any", "picture B"}, /* T is set: four bytes more are header */
		{MPEG "04000000 00000000 000001005510", "picture P", "picture B"},
		{MPEG "00000000 000001005528", "any",
		 "picture B or picture P or picture I"}, /* type 5 is none */
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		struct ink_packet p;
		struct frame f;

		make_frame(&f, rows[i].payload);
		p = udp_of(front(&f), f.n);
		assert_hold(&p, rows[i].hold);
		assert_fail(&p, rows[i].fail);
	}
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

TEST_THAT(pictures_are_found_in_mpeg_ts)
{
	static const uint8_t pes[] = {0, 0, 1, 0xe0, 0,    0,     0x80, 0, 2, 9, 9, /* header of 2 bytes */
				      0, 0, 1, 0,    0x55, 1 << 3};
	uint8_t bytes[3 * 188 + 12] = {0}, half[184];
	struct ink_packet p = udp_of(bytes, 2 * 188);

	ts_packet(bytes, 256, 1, pes, sizeof pes);
	ts_packet(bytes + 188, 257, 0, "x", 1);
	assert_hold(&p, "ts and picture I");
	bytes[188] = 0x46;
	assert_fail(&p, "ts");

	/* scrambled; inside the header of the PES packet; behind an adaptation field */
	bytes[188] = 0x47;
	bytes[3] = 0x90;
	assert_fail(&p, "picture I");
	ts_packet(bytes, 256, 1, "\0\0\1\xe0\0\0\x80\0\6\0\0\1\0\x55\x8", 15);
	assert_fail(&p, "picture I");
	ts_packet(bytes, 256, 0, "\7\0\0\1\0\x55\x8\7\0\0\1\0\x55\x10", 14);
	bytes[3] = 0x30;
	assert_hold(&p, "picture P");
	bytes[3] = 0x20; /* nothing but the field */
	assert_fail(&p, "picture P or picture I");

	/* a code over two TS packets, another PID between them */
	memset(half, 0xff, sizeof half);
	memcpy(half + 181, "\0\0\1", 3);
	ts_packet(bytes, 256, 0, half, sizeof half);
	ts_packet(bytes + 188, 257, 0, "\7\7\7", 3);
	ts_packet(bytes + 376, 256, 0, "\0\x55\x10", 3);
	p = udp_of(bytes, 3 * 188);
	assert_hold(&p, "picture P");
	assert_fail(&p, "picture I");

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
	assert_fail(&p, "picture P");

	/* in RTP */
	ts_packet(bytes + 12, 256, 1, pes, sizeof pes);
	memcpy(bytes, "\x80\x21\0\0\0\0\0\0\0\0\0\0", 12);
	p = udp_of(bytes, 12 + 188);
	assert_hold(&p, "ts and picture I and rtp type 33");
}

int main(void)
{
	return run_suite(&(struct suite){.after_each = untrack});
}
