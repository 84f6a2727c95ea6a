/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Conditions: each test by itself; the decision program gives the event that
 * the conditions give; pictures in video are those that a search byte by byte finds.
 */
#include "tests/frames.h"
#include "tests/machine_help.h"
#include "tests/test.h"

/* ------------------------------------------------------------ conditions */

/* Of `machine`; the teardown frees both. */
static struct ink_classifier *classifier;

static int forget(void **state)
{
	ink_classifier_free(classifier);
	classifier = NULL;
	return untrack(state);
}

static void classify_with(const char *text)
{
	forget(NULL);
	machine = made(text);
	classifier = ink_classifier_make(machine, INK_LINK_ETHERNET, 1, NULL);
	assert_non_null(classifier);
}

/* The event of a packet, the number of which decides what is left to chance. */
static int event_of(const struct ink_packet *p, unsigned number)
{
	uint64_t counters[64] = {0};

	return ink_classify(classifier, p, &(struct ink_sight){.number = number, .counters = counters});
}

/* Does the condition hold for the packet? */
static int holds(const char *condition, const struct ink_packet *p)
{
	begin("machine m\nkey pair\nabsent: e -> a\na: e / count c\n");
	add("event e = %s\n", condition);
	classify_with(draft.text);
	return event_of(p, 1) == 0;
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

/* A frame (frames.h), conditions that hold of it, and conditions that do not. */
struct row {
	const char *frame, *hold, *fail;
};

static struct ink_packet parsed(struct frame *f, const char *text)
{
	struct ink_packet p = {.time = 0};

	make_frame(f, text);
	p.frame = front(f);
	p.captured = p.wire = (uint32_t)f->n;
	ink_packet_parse(&p, INK_LINK_ETHERNET, 0);
	return p;
}

static void check_rows(const struct row *rows, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		struct frame f;
		struct ink_packet p = parsed(&f, rows[i].frame);

		assert_int_equal(p.skip, INK_NOT_SKIPPED);
		assert_all(&p, rows[i].hold, 1);
		assert_all(&p, rows[i].fail, 0);
	}
}

#define UDP "eth4 ip4:17 udp:80 "

TEST_THAT(tests_say_what_the_frame_says)
{
	/* clang-format off */
	static const struct row rows[] = {
		/* SYN and ECE, from 10.1.2.3 port 1234 to 10.4.5.6 port 80 */
		{"[47]=42 eth4 ip4:6 tcp", "tcp; ip4; any; syn; ece; from low; ttl 64; tos 40; depth 0; payload 0",
		 "ip6; ack; fin; fragment; icmp type 0"},
		{"[47]=42 eth4 ip4:6 tcp",
		 "protocol 6; protocol {5-7, 17}; length 58; length >= 58; length <= 58; length 50-70",
		 "protocol != 6; length > 58; length < 58"},
		{"[47]=42 eth4 ip4:6 tcp", "udp and fin or syn; not fin and syn; not not tcp; tcp or udp and fin",
		 "udp and (fin or syn); not (not fin and syn)"},
		{"[26]=0a050505 eth4 ip4:17 udp:80", "udp; from high", "tcp; sctp; syn"},
		{"[24]=20 eth:0x8100 20070800 ip4:6 tcp 1500*41", "payload > 1k; vlan 7; fragment", "payload < 1k"},
		{"[34]=0803 eth4 ip4:1 icmp", "icmp; icmp type 8; icmp code 3",
		 "icmp type 0; port 0; src port 0; dst port 0"}, /* it has no ports */
		{"eth4 " TCP4, "src port 1234; port 1234; port 80; dst port < 1024", "dst port 1234; port 81"},
		/* as a bit map */
		{"eth4 " TCP4, "port {1, 3, 5, 7, 9, 80}; src port {1, 3, 5, 7, 9, 1233-1235}", "port {1, 3, 5, 7, 9, 81}"},
		/* bits behind the prefix count for nothing */
		{"eth4 " TCP4, "host 10.1.2.3; src host 10.1.2.3; dst host 10.4.5.6/32; src host 10.0.0.0/8; "
		 "src host 8.0.0.0/5; host 0.0.0.0/0; host {192.168.0.0/16, 10.1.2.2/31}; src host 10.255.255.255/8",
		 "dst host 10.1.2.3; src host 8.0.0.0/7; host ::/0"},
		{"eth6 " TCP6, "ip6; src host 2001:db8::/32; src host 2001:db8::1",
		 "src host 2001:db8::2; src host fe80::/10; src host 32.1.13.184"},
		/* GET / */
		{UDP "474554202f0d0a", "payload 7; payload begins \"GET \"; payload begins \"\\x47\\x45\"",
		 "payload begins \"get\"; payload begins \"GET /\\r\\n\\r\\n\""},
		{UDP "hello", "filter \"udp dst port 80\"; udp and filter \"ether[0] == 2\" and payload begins \"hello\"",
		 "filter \"tcp\""},
	};
	/* clang-format on */

	check_rows(rows, COUNT(rows));
}

TEST_THAT(what_was_not_captured_is_not_looked_at)
{
	struct frame f;
	struct ink_packet p = parsed(&f, UDP "474554202f0d0a");

	p.payload_captured = 2;
	assert_all(&p, "payload begins \"GET \"", 0);
	assert_all(&p, "payload 7", 1);
	p = parsed(&f, "eth:0x0806 arp");
	assert_false(holds("any", &p));
}

#define RTP_AS(type) "80" type "000000000000 00000000 "
#define RTP RTP_AS("60")  /* type 96 */
#define MPEG RTP_AS("20") /* type 32: the header of RFC 2250 follows */

/* TS packets of 188 bytes: the beginning of a PES packet of PID 256, more of it, and PID 257. */
#define VIDEO "47410010 "
#define MORE "47010010 "
#define OTHER "47010110 "
#define PES_I "000001e0 0000 8000 02 0909 000001005508 167*ff "
#define EMPTY OTHER "184*ff"

TEST_THAT(rtp_and_ts_and_what_they_carry_are_known)
{
	/* clang-format off */
	static const struct row rows[] = {
		{UDP RTP "616263", "rtp; rtp type 96", "rtp type 32; ts"},
		{UDP "8060000000000000000000", "any", "rtp"},           /* a header that is cut */
		{UDP "8f60000000000000 00000000 616263", "any", "rtp"}, /* 15 sources that are not there */
		{UDP "9060000000000000 00000000 616263", "any", "rtp"}, /* an extension that is cut */
		{UDP "4060000000000000 00000000 616263", "any", "rtp"}, /* version 1 */
		{UDP RTP "657a7a7a", "nal 5", "nal 1"},
		{UDP RTP "78 0002677a 0003687a7a 000165", "nal 7 and nal 8 and nal 5", "nal {1-4, 24}"}, /* STAP-A */
		{UDP RTP "7c857a7a", "nal 5", "nal 1"},  /* FU-A, the first */
		{UDP RTP "657a7a7a", "nal 5 ref 3", "nal 5 ref 0-2"},
		{UDP RTP "017a7a7a", "nal 1-4 ref 0", "nal 1 ref > 0"},
		{UDP RTP "417a7a7a", "nal 1 ref {0, 2} and nal < 5 ref 2", "nal 1 ref 0 or nal 5 ref 2"},
		{UDP RTP "78 0002067a 0003617a7a", "nal 6 ref 0 and nal 1 ref 3", "nal 1 ref 0"}, /* STAP-A */
		{UDP RTP "3c817a7a", "nal 1 ref 1", "nal 1 ref 0"},                               /* FU-A */
		{UDP RTP "1c017a7a", "any", "nal 1 ref 0-3"},                                     /* a later one */
		{UDP "017a7a7a", "any", "nal 1 ref 0"},                                           /* not RTP */
		{UDP RTP "7c057a7a", "any", "nal 0-31"}, /* a later one */
		{UDP RTP "78ffff", "any", "nal 0-31"},
		{UDP "657a7a7a", "any", "nal 5"}, /* not RTP */
		{UDP MPEG "00000000 000001005518", "picture B", "picture I"},
		{UDP MPEG "04000000 000001005518", "any", "picture B"}, /* T is set: four bytes more are header */
		{UDP MPEG "04000000 00000000 000001005510", "picture P", "picture B"},
		{UDP MPEG "00000000 000001005528", "any", "picture B or picture P or picture I"}, /* type 5 is none */
		{UDP VIDEO PES_I EMPTY, "ts and picture I", "picture P"},
		{UDP RTP_AS("21") VIDEO PES_I, "ts and picture I and rtp type 33", "picture P"},
		{UDP VIDEO PES_I "46010110 184*ff", "any", "ts"},
		{UDP "47410090 " PES_I EMPTY, "ts", "picture I"}, /* scrambled */
		/* inside the header of the PES packet */
		{UDP VIDEO "000001e0 0000 8000 06 000001005508 169*ff " EMPTY, "ts", "picture I"},
		/* behind an adaptation field; nothing but the field */
		{UDP "47010030 07 000001005508 07 000001005510 170*ff " EMPTY, "picture P", "picture I"},
		{UDP "47010020 07 000001005508 07 000001005510 170*ff " EMPTY, "ts", "picture P or picture I"},
		/* a code over two TS packets, another PID between them */
		{UDP MORE "181*ff 000001 " OTHER "070707 181*ff " MORE "005510 181*ff", "picture P", "picture I"},
		/* audio and tables are not looked at */
		{UDP VIDEO "000001c0 0000 8000 00 000001005510 169*ff", "ts", "picture P"},
		{UDP "47001010 000001005510 178*ff 471fff10 000001005510 178*ff", "ts", "picture P"},
	};
	/* clang-format on */

	check_rows(rows, COUNT(rows));
}

static struct ink_packet udp_of(const void *payload, size_t length)
{
	struct ink_packet p = packet(INK_PROTOCOL_UDP, 0, 0);

	p.payload = payload;
	p.payload_captured = p.payload_wire = (uint32_t)length;
	return p;
}

TEST_THAT(a_let_is_its_condition)
{
	struct ink_packet p = packet(INK_PROTOCOL_TCP, SYN, 0);

	classify_with("machine m\nkey pair\nlet web = port {80, 443}\nlet new = web and syn\n"
		      "event e = tcp and not new\nevent f = new\nabsent: e, f -> a\na: end\n");
	assert_int_equal(event_of(&p, 1), 1);
	p.dport = 81;
	assert_int_equal(event_of(&p, 1), 0);
}

TEST_THAT(chance_is_as_frequent_as_it_says_and_the_same_for_a_seed)
{
	enum { N = 80000 };
	struct ink_packet p = packet(INK_PROTOCOL_TCP, SYN, 0);
	struct ink_classifier *again, *other;
	unsigned hits = 0, same = 0;

	classify_with("machine m\nkey pair\nevent e = chance 25% and chance 1/2\nevent f = chance 0\n"
		      "event g = chance 1\nabsent: e, f, g -> a\na: end\n");
	again = ink_classifier_make(machine, INK_LINK_ETHERNET, 1, NULL);
	other = ink_classifier_make(machine, INK_LINK_ETHERNET, 2, NULL);
	for (unsigned i = 0; i < N; i++) {
		struct ink_sight sight = {.number = i};
		unsigned event = ink_classify(classifier, &p, &sight);

		assert_true(event == 0 || event == 2);
		assert_int_equal(event, ink_classify(again, &p, &sight));
		same += event == ink_classify(other, &p, &sight);
		hits += event == 0;
	}
	assert_true(fabs(hits - N / 8.0) < spread(N / 8.0));
	assert_true(same < N * 9 / 10); /* 78 % agree by chance */
	ink_classifier_free(again);
	ink_classifier_free(other);
}

/* Computed on x86-64; every machine draws alike. */
TEST_THAT(chance_is_the_same_on_every_machine)
{
	struct ink_packet p = packet(INK_PROTOCOL_TCP, SYN, 0);
	uint64_t hits = 0;

	classify_with("machine m\nkey pair\nevent e = chance 1/2\nabsent: e -> a\na: end\n");
	for (unsigned i = 0; i < 64; i++)
		hits |= (uint64_t)(event_of(&p, i) == 0) << i;
	assert_int_equal(hits, 0xaeeb694d0f8972fc);
}

/* ---------------------------------------------------- the decision program */

static int holds_plainly(const struct ink_condition *k, const struct ink_packet *p,
			 const struct ink_sight *sight)
{
	switch (k->kind) {
	case INK_AND:
		return holds_plainly(k->a, p, sight) && holds_plainly(k->b, p, sight);
	case INK_OR:
		return holds_plainly(k->a, p, sight) || holds_plainly(k->b, p, sight);
	case INK_NOT:
		return !holds_plainly(k->a, p, sight);
	case INK_ALWAYS:
	case INK_NEVER:
		return k->kind == INK_ALWAYS;
	default:
		return ink_test_holds(classifier, k->test, p, sight);
	}
}

static int event_plainly(const struct ink_packet *p, unsigned number)
{
	struct ink_sight sight = {.number = number};

	for (unsigned e = 0; e < machine->n_events; e++)
		if (holds_plainly(machine->events[e].condition, p, &sight))
			return (int)e;
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
	classify_with(draft.text);
	for (unsigned i = 0; i < 300; i++) {
		struct ink_packet p = random_packet();

		if (event_of(&p, i) != event_plainly(&p, i))
			fail_msg("%s\nis decided wrongly", draft.text);
	}
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
	assert_true(machine->decision.n_nodes > 0);
}

TEST_THAT(no_test_is_made_twice)
{
	unsigned tests[16] = {0};

	classify_with(
		"machine m\nkey pair\nevent a = tcp and syn and not ack\nevent b = tcp and syn and ack\n"
		"event c = tcp and rst\nevent d = tcp\nevent e = udp\nabsent: * -> s\ns: end\n");
	assert_int_equal(machine->n_tests, 5);
	assert_true(machine->decision.n_nodes <= 5);
	for (unsigned i = 0; i < machine->decision.n_nodes; i++)
		assert_int_equal(tests[machine->decision.nodes[i].test]++, 0);
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

/* A code over two datagrams: the first of them leaves a tail, which is for the first PID of the second. */
TEST_THAT(a_tail_of_mpeg_ts_is_for_the_first_pid)
{
	struct frame first, second;
	struct ink_packet p, q;

	make_frame(&first, MORE "181*ff 000001");
	make_frame(&second, MORE "005510 181*ff " OTHER "005510 181*ff");
	p = udp_of(front(&first), first.n);
	q = udp_of(front(&second), second.n);
	assert_int_equal(ink_video_pictures(&p, 0).tail, 3);
	assert_int_equal(ink_video_pictures(&q, 0).last, INK_PICTURE_NONE);
	assert_int_equal(ink_video_pictures(&q, 3).last, INK_PICTURE_P);
	assert_int_equal(ink_video_pictures(&q, 3).started[INK_PICTURE_P], 1);
}

int main(void)
{
	return run_suite(&(struct suite){.after_each = forget});
}
