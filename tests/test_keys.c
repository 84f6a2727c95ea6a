/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Keys of parts, from the line of a machine to the bytes of a key: each part, each length of a prefix, both directions,
 * both versions of IP, and where a key of parts is one that has a name. test_machine.c has what is wrong with a line.
 */
#include "packet/parse.h"
#include "tests/frames.h"
#include "tests/key_oracle.h"
#include "tests/machine_help.h"

/* ------------------------------------------------------------- frames and keys */

/* Of "ones", the source is all ones. */
static const struct {
	const char *name, *frame;
} samples[] = {
	{"tcp", "eth4 " TCP4},
	{"tcp6", "eth6 " TCP6},
	{"udp", "eth4 ip4:17 udp:53 hello"},
	{"sctp", "eth4 ip4:132 sctp hello"},
	{"icmp", "eth4 ip4:1 icmp hello"},
	{"icmp6", "eth6 ip6:58 icmp hello"},
	{"first fragment", "[20]=20 eth4 " TCP4},
	{"later fragment", "[20]=0010 eth4 " TCP4},
	{"other protocol", "eth4 ip4:89 hello"},
	{"encrypted", "eth4 ip4:50 hello"},
	{"arp", "eth:0x0806 arp"},
	{"ones", "[26]=ffffffff eth4 " TCP4},
	{"ones6", "[22]=ffffffffffffffffffffffffffffffff eth6 " TCP6},
};

static struct ink_packet sample(const char *name)
{
	static struct frame f;
	struct ink_packet p = {.time = 0};

	for (size_t i = 0; i < COUNT(samples); i++) {
		if (strcmp(samples[i].name, name) != 0)
			continue;
		make_frame(&f, samples[i].frame);
		p.frame = front(&f);
		p.captured = p.wire = (uint32_t)f.n;
		ink_packet_parse(&p, INK_LINK_ETHERNET, 0);
		return p;
	}
	fail_msg("no frame is called %s", name);
	return p;
}

/* A machine with that key, and no more than that. */
static const struct ink_machine_view *view_of_key(const char *key)
{
	char text[300];

	ink_machine_free(machine);
	snprintf(text, sizeof text,
		 "machine m\nkey %s\nevent e = any\nabsent: e -> a\na: timeout 1s -> absent\n", key);
	machine = made(text);
	assert_int_equal(n_told, 0);
	return ink_machine_view(machine);
}

static struct ink_key_def def_of(const char *key)
{
	return *view_of_key(key)->key_def;
}

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

/* ----------------------------------------------------------------------- bytes */

/* In the last byte the parts, which are 1 src, 2 dst, 4 src port, 8 dst port, 16 protocol. */
TEST_THAT(the_bytes_of_keys_of_parts_are_as_drawn)
{
	static const struct {
		const char *name, *key, *bytes;
	} rows[] = {
		/* each part */
		{"tcp", "protocol", "8*00 0000 0000 06 07 04 10"},
		{"tcp", "src port", "8*00 04d2 0000 06 07 04 14"},
		{"tcp", "dst port", "8*00 0000 0050 06 07 04 18"},
		{"tcp", "sport, dport", "8*00 04d2 0050 06 07 04 1c"},
		{"tcp", "src, dst", "0a010203 0a040506 0000 0000 00 07 04 03"},
		{"tcp", "src, protocol", "0a010203 00000000 0000 0000 06 07 04 11"},
		{"tcp", "dst, protocol", "00000000 0a040506 0000 0000 06 07 04 12"},
		{"tcp", "src, src port", "0a010203 00000000 04d2 0000 06 07 04 15"},
		{"tcp", "src, dst port", "0a010203 00000000 0000 0050 06 07 04 19"},
		{"tcp", "src, dst, dst port", "0a010203 0a040506 0000 0050 06 07 04 1b"},
		{"tcp", "dst port, dst, src", "0a010203 0a040506 0000 0050 06 07 04 1b"},
		{"tcp", "src, dst, dst port, protocol", "0a010203 0a040506 0000 0050 06 07 04 1b"},
		{"tcp6", "src, dst port", "20010db8 11*00 01 16*00 0000 0050 06 07 06 19"},
		{"tcp6", "dst, src port", "16*00 20010db8 11*00 02 04d2 0000 06 07 06 16"},
		{"tcp6", "protocol", "32*00 0000 0000 06 07 06 10"},
		/* without ports they are 0, and the protocol stays */
		{"udp", "src, dst port", "0a010203 00000000 0000 0035 11 07 04 19"},
		{"icmp", "src, dst port", "0a010203 00000000 0000 0000 01 07 04 19"},
		{"icmp6", "src, dst port", "20010db8 11*00 01 16*00 0000 0000 3a 07 06 19"},
		{"sctp", "src, dst port", "0a010203 00000000 0000 0000 84 07 04 19"},
		/* fragments, other protocols */
		{"first fragment", "src, dst port", "0a010203 00000000 0000 0050 06 07 04 19"},
		{"later fragment", "src, dst port", ""},
		{"later fragment", "src, dst", "0a010203 0a040506 0000 0000 00 07 04 03"},
		{"later fragment", "src/24, protocol", "0a010200 00000000 0000 0000 06 07 04 11"},
		{"other protocol", "src port", ""},
		{"other protocol", "src, protocol", "0a010203 00000000 0000 0000 59 07 04 11"},
		{"encrypted", "src, dst", ""},
		{"arp", "src, dst", ""},
		{"arp", "protocol", ""},
		/* prefixes; one alone is for IPv4 */
		{"ones", "src/0", "00000000 00000000 0000 0000 00 07 04 01"},
		{"ones", "src/1", "80000000 00000000 0000 0000 00 07 04 01"},
		{"ones", "src/8", "ff000000 00000000 0000 0000 00 07 04 01"},
		{"ones", "src/24", "ffffff00 00000000 0000 0000 00 07 04 01"},
		{"ones", "src/31", "fffffffe 00000000 0000 0000 00 07 04 01"},
		{"ones", "src/32/64", "ffffffff 00000000 0000 0000 00 07 04 01"},
		{"ones", "src/24/0", "ffffff00 00000000 0000 0000 00 07 04 01"},
		{"tcp", "dst/8", "00000000 0a000000 0000 0000 00 07 04 02"},
		{"tcp", "src/31, dst/31, dst port", "0a010202 0a040506 0000 0050 06 07 04 1b"},
		{"ones6", "src/0", "16*ff 16*00 0000 0000 00 07 06 01"},
		{"ones6", "src/24", "16*ff 16*00 0000 0000 00 07 06 01"},
		{"ones6", "src/24/0", "16*00 16*00 0000 0000 00 07 06 01"},
		{"ones6", "src/24/1", "80 15*00 16*00 0000 0000 00 07 06 01"},
		{"ones6", "src/24/48", "6*ff 10*00 16*00 0000 0000 00 07 06 01"},
		{"ones6", "src/24/63", "7*ff fe 8*00 16*00 0000 0000 00 07 06 01"},
		{"ones6", "src/24/64", "8*ff 8*00 16*00 0000 0000 00 07 06 01"},
		{"ones6", "src/24/65", "8*ff 80 7*00 16*00 0000 0000 00 07 06 01"},
		{"ones6", "src/24/127", "15*ff fe 16*00 0000 0000 00 07 06 01"},
		{"ones6", "src/24/128", "16*ff 16*00 0000 0000 00 07 06 01"},
		{"tcp6", "src, dst/32/127", "20010db8 11*00 01 20010db8 11*00 02 0000 0000 00 07 06 03"},
		{"tcp6", "dst/0/126, src/0/127", "20010db8 12*00 20010db8 12*00 0000 0000 00 07 06 03"},
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		struct ink_packet p = sample(rows[i].name);
		struct ink_key_def def = def_of(rows[i].key);
		uint8_t key[INK_KEY_MOST];
		struct frame expected;
		size_t n = ink_packet_key_by(&p, &def, key);

		make_frame(&expected, rows[i].bytes);
		if (n != expected.n || memcmp(key, front(&expected), n) != 0)
			fail_msg("%s, key %s", rows[i].name, rows[i].key);
	}
}

static struct ink_packet random_packet(void)
{
	static const uint8_t protocols[] = {6, 17, 132, 1, 58, 89};
	static const uint8_t skips[] = {INK_NOT_SKIPPED,   INK_NOT_SKIPPED,    INK_SKIP_FRAGMENT,
					INK_SKIP_PROTOCOL, INK_SKIP_ENCRYPTED, INK_SKIP_NOT_IP};
	struct ink_packet p = {.version = random_below(2) ? 4 : 6};

	for (unsigned i = 0; i < (p.version == 4 ? 4 : 16); i++) {
		p.source[i] = (uint8_t)random_word();
		p.destination[i] = (uint8_t)random_word();
	}
	p.sport = (uint16_t)random_word();
	p.dport = (uint16_t)random_word();
	p.protocol = protocols[random_below(sizeof protocols)];
	p.skip = skips[random_below(sizeof skips)];
	p.flags = (uint8_t)ink_from_high(&p);
	return p;
}

/* Also with bits and lengths that no machine has. */
static struct ink_key_def random_def(void)
{
	struct ink_key_def def = {INK_KEY_PARTS, (uint8_t)random_word(), {0, 0}, {0, 0}};

	for (unsigned i = 0; i < 2; i++) {
		def.src_bits[i] = (uint8_t)random_below(i ? 140 : 40);
		def.dst_bits[i] = (uint8_t)random_below(i ? 140 : 40);
	}
	return def;
}

TEST_THAT(every_key_of_parts_is_that_of_an_oracle)
{
	for (uint64_t rounds = scaled(400000); rounds; rounds--) {
		struct ink_packet p = random_packet();
		struct ink_key_def def = random_def();
		uint8_t key[INK_KEY_MOST], expected[INK_KEY_MOST];
		size_t n = ink_packet_key_by(&p, &def, key);

		assert_int_equal(n, oracle_key(&p, &def, expected));
		assert_memory_equal(key, expected, n);
	}
}

TEST_THAT(every_length_of_a_prefix_cuts_there)
{
	struct ink_packet four = sample("ones"), six = sample("ones6");
	uint8_t key[INK_KEY_MOST], expected[INK_KEY_MOST];

	for (unsigned bits = 0; bits <= 128; bits++) {
		struct ink_packet *p = bits % 2 ? &four : &six;
		char text[40];
		struct ink_key_def def;

		snprintf(text, sizeof text, "src/%u/%u, src port", bits < 32 ? bits : 32, bits);
		def = def_of(text);
		for (unsigned i = 0; i < 2; i++, p = p == &four ? &six : &four) {
			size_t n = ink_packet_key_by(p, &def, key);

			assert_int_equal(n, oracle_key(p, &def, expected));
			assert_memory_equal(key, expected, n);
		}
	}
}

/* Also if the bytes of the addresses are the same. */
TEST_THAT(no_key_of_ipv4_is_one_of_ipv6)
{
	static const char *const keys[] = {"src", "src/0/0", "protocol", "dst port", "src, dst/8/8"};
	struct ink_packet four = sample("tcp"), six = four;

	six.version = 6;
	for (size_t i = 0; i < COUNT(keys); i++) {
		struct ink_key_def def = def_of(keys[i]);
		uint8_t key[INK_KEY_MOST];

		assert_int_equal(ink_packet_key_by(&four, &def, key), INK_KEY_IPV4);
		assert_int_equal(ink_packet_key_by(&six, &def, key), INK_KEY_IPV6);
	}
}

TEST_THAT(ids_of_many_are_the_ids_of_each)
{
	static const char *const keys[] = {"source", "src/24/64, dst port", "protocol", "connection"};
	struct ink_options o = {.size = sizeof o, .states = 2, .flows = 10, .seed = 7};
	static struct ink_packet packets[333];
	uint64_t ids[333];
	uint8_t key[INK_KEY_MOST];

	table = ink_create(&o, NULL);
	for (int i = 0; i < 333; i++)
		packets[i] = random_packet();
	for (size_t k = 0; k < COUNT(keys); k++) {
		struct ink_key_def def = def_of(keys[k]);

		ink_packet_ids_by(table, &def, &(struct ink_packets){.at = packets, .n = 333}, ids);
		for (int i = 0; i < 333; i++) {
			size_t n = ink_packet_key_by(&packets[i], &def, key);

			assert_true(ids[i] == (n ? ink_id(table, key, n) : 0));
		}
	}
}

TEST_THAT(kinds_without_parts_and_unknown_kinds_have_no_key)
{
	struct ink_packet p = sample("tcp");
	uint8_t key[INK_KEY_MOST];

	for (int kind = 0; kind < 256; kind++) {
		struct ink_key_def def = {.kind = (uint8_t)kind};
		int named = kind >= INK_KEY_CONNECTION && kind <= INK_KEY_ENDPOINT;

		assert_int_equal(ink_packet_key(&p, (enum ink_key)kind, key), named ? INK_KEY_IPV4 : 0);
		if (kind != INK_KEY_PARTS)
			assert_int_equal(ink_packet_key_by(&p, &def, key), named ? INK_KEY_IPV4 : 0);
	}
}

/* ------------------------------------------------------------------------ names */

/* All samples, and their answers. */
static void assert_same_keys(const struct ink_key_def *a, const struct ink_key_def *b)
{
	for (size_t i = 0; i < 2 * COUNT(samples); i++) {
		struct ink_packet p = sample(samples[i / 2].name), answer = turned(&p);
		uint8_t one[INK_KEY_MOST], two[INK_KEY_MOST];
		size_t n = ink_packet_key_by(i % 2 ? &answer : &p, a, one);

		assert_int_equal(ink_packet_key_by(i % 2 ? &answer : &p, b, two), n);
		assert_memory_equal(one, two, n);
	}
}

TEST_THAT(parts_that_have_a_name_are_the_key_of_that_name)
{
	static const struct {
		const char *parts, *name;
		enum ink_key kind;
	} rows[] = {
		{"src", "source", INK_KEY_SOURCE},
		{"src/32", "source", INK_KEY_SOURCE},
		{"src/32/128", "source", INK_KEY_SOURCE},
		{"dst", "destination", INK_KEY_DESTINATION},
		{"dst, dst port", "endpoint", INK_KEY_ENDPOINT},
		{"dport, dst/32/128", "endpoint", INK_KEY_ENDPOINT},
		{"protocol, dst, dst port", "endpoint", INK_KEY_ENDPOINT},
		{"src, dst, src port, dst port", "flow", INK_KEY_FLOW},
		{"src, src port, dst, dst port, protocol", "flow", INK_KEY_FLOW},
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		struct ink_key_def parts = def_of(rows[i].parts), name = def_of(rows[i].name);

		assert_int_equal(ink_machine_view(machine)->key, rows[i].kind);
		assert_memory_equal(&parts, &name, sizeof parts);
		assert_same_keys(&parts, &name);
	}
}

/* Connection and pair have the parts of a flow, and one key for both directions: no parts say that. */
TEST_THAT(parts_without_a_name_are_no_key_that_has_one)
{
	static const char *const parts[] = {"src, dst",      "src/31", "src/32/127", "dst, protocol",
					    "src, src port", "dst/24", "protocol",   "src, dst, src port"};

	for (size_t i = 0; i < COUNT(parts); i++)
		assert_int_equal(view_of_key(parts[i])->key, INK_KEY_PARTS);
	assert_int_equal(view_of_key("pair")->key_def->parts, INK_PART_SRC | INK_PART_DST);
	assert_int_equal(view_of_key("connection")->key_def->parts, 31);
}

TEST_THAT(the_text_of_a_key_is_as_written_with_single_blanks)
{
	static const struct {
		const char *key, *text;
	} rows[] = {
		{"source", "source"},
		{"src", "src"},
		{"  src/24/64,dst\tport # comment", "src/24/64, dst port"},
		{"src / 24 / 64 ,\n  dst\n  port", "src/24/64, dst port"},
		{"src/024/0x40, sport", "src/24/64, sport"},
		{"dst/32/128, src/32/128, src port, dst port, protocol",
		 "dst/32/128, src/32/128, src port, dst port, protocol"},
	};

	for (size_t i = 0; i < COUNT(rows); i++)
		assert_string_equal(view_of_key(rows[i].key)->key_text, rows[i].text);
}

/* Items need no lines of their own, and states may have the words of keys as their names. */
TEST_THAT(what_follows_a_key_is_not_part_of_it)
{
	static const char *const rests[] = {
		" event e = any\nabsent: e -> a\na: timeout 1s -> absent",
		"\nevent e = any\nabsent: e -> port\nport: timeout 1s -> absent",
		"\nport: timeout 1s -> absent\nevent e = any\nabsent: e -> port",
		"\nport, src: timeout 1s -> absent\nevent e = any\nabsent: e -> port | e -> src",
		" absent: e -> a\nevent e = any\na: timeout 1s -> absent",
	};
	char text[300];

	for (size_t i = 0; i < COUNT(rests); i++) {
		snprintf(text, sizeof text, "machine m\nkey dst, src%s\n", rests[i]);
		ink_machine_free(machine);
		machine = made(text);
		assert_string_equal(ink_machine_view(machine)->key_text, "dst, src");
	}
}

/* --------------------------------------------------------------------- tracking */

#define REST "reverse event back = syn and ack\nevent e = tcp\nabsent: * -> a\na: * | timeout 1s -> absent\n"

static void sense(const char *key, const struct ink_packets *packets, struct ink_sensed *sensed)
{
	struct ink_sensor_options o = {.size = sizeof o, .secret = {1, 2}};
	struct ink_sensor *sensor;
	char text[300];

	snprintf(text, sizeof text, "machine m\nkey %s\n" REST, key);
	ink_machine_free(machine);
	o.machine = machine = made(text);
	sensor = ink_sensor_open(&o, NULL);
	assert_non_null(sensor);
	ink_sensor_packets(sensor, packets, sensed);
	ink_sensor_close(sensor);
}

/* The answer to a packet belongs to the flow of that packet. */
TEST_THAT(reverse_swaps_the_ends)
{
	static const char *const keys[] = {"src",           "dst",           "src port",
					   "src, dst port", "dst, src port", "src/24, dst/8, dport",
					   "src, dst",      "dst, protocol"};
	struct ink_packet there = packet(INK_PROTOCOL_TCP, SYN, 0);
	struct ink_packet both[2] = {there, turned(&there)};
	struct ink_sensed sensed[2];

	both[1].tcp_flags = SYN | ACK;
	for (size_t i = 0; i < COUNT(keys); i++) {
		sense(keys[i], &(struct ink_packets){.at = both, .n = 2}, sensed);
		assert_int_not_equal(sensed[0].event, sensed[1].event);
		assert_int_equal(sensed[0].length, INK_KEY_IPV4);
		assert_memory_equal(sensed[0].key, sensed[1].key, INK_KEY_MOST);
		assert_true(sensed[0].id == sensed[1].id);
	}
}

/* Ten packets from each of ten hosts, to ten ports; a /24 has them all. */
TEST_THAT(a_tracker_has_a_flow_for_each_key)
{
	static const struct {
		const char *key;
		unsigned flows;
	} rows[] = {{"src", 10},      {"src/24", 1},          {"src/30", 4},
		    {"dst port", 10}, {"src, dst port", 100}, {"src/24/64, dst port", 10},
		    {"protocol", 1}};
	struct ink_counts counts;
	char text[300];

	for (size_t i = 0; i < COUNT(rows); i++) {
		snprintf(text, sizeof text,
			 "machine m\nkey %s\nevent e = tcp\nabsent: e -> a\na: e | timeout 1s -> absent\n",
			 rows[i].key);
		track_with(text, NULL);
		for (unsigned j = 0; j < 100; j++) {
			struct ink_packet p = packet(INK_PROTOCOL_TCP, ACK, 0);

			p.source[3] = (uint8_t)(j % 10 + 3);
			p.dport = (uint16_t)(j / 10);
			give(p);
		}
		ink_census(table, &counts);
		assert_int_equal(counts.total, rows[i].flows);
		untrack(NULL);
	}
}

static int exchange(const char *key)
{
	char text[300];
	struct ink_why why = {""};
	struct ink_machine_options o = {.size = sizeof o, .like = machine};
	struct ink_machine *next;
	int error;

	snprintf(text, sizeof text, "machine m\nkey %s\n" REST, key);
	next = ink_machine_make(text, strlen(text), &o);
	assert_non_null(next);
	error = ink_track_exchange(track, next, &why);
	if (error) {
		assert_non_null(strstr(why.text, "its flows have another key"));
		ink_machine_free(next);
		return error;
	}
	ink_machine_free(machine);
	machine = next;
	return 0;
}

TEST_THAT(only_a_machine_with_the_same_key_takes_over)
{
	track_with("machine m\nkey src\n" REST, NULL);
	assert_int_equal(exchange("source"), 0);
	assert_int_equal(exchange("src/32/128"), 0);
	assert_int_equal(exchange("src/24"), -EINVAL);
	assert_int_equal(exchange("dst"), -EINVAL);
	untrack(NULL);
	track_with("machine m\nkey src/24, dst port\n" REST, NULL);
	assert_int_equal(exchange("dport, src/24/128"), 0);
	assert_int_equal(exchange("dport, src/24/64"), -EINVAL);
	assert_int_equal(exchange("src, dst port"), -EINVAL);
}

int main(void)
{
	return run_suite(&(struct suite){.after_each = untrack});
}
