/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The machines brute, flood, p2p and p2p-endpoints over made packets: what they
 * have to find, and what looks like it and is none. detections.sh has scenes.
 */
#include "tests/machine_help.h"

enum { MACHINES_MOST = 4, PACKETS_MOST = 200000, MS = 1000000, VICTIM = 1 };

static struct {
	struct ink_machines *machines;
	struct ink_table *tables[MACHINES_MOST];
	struct ink_track *track;
	unsigned reports, marks;
	struct ink_packet reported;
} set;

static void note_move(const struct ink_moved *moved, void *user)
{
	set.marks += moved->action->marks;
	if (!moved->action->report)
		return;
	set.reports++;
	set.reported = *moved->packet;
}

static int close_set(void **state)
{
	ink_track_close(set.track);
	for (unsigned i = 0; i < MACHINES_MOST; i++)
		ink_free(set.tables[i]);
	ink_machines_free(set.machines);
	memset(&set, 0, sizeof set);
	return 0;
}

static void open_set(const char *name)
{
	struct ink_track_options k = {.size = sizeof k, .seed = 1, .moved = note_move};

	close_set(NULL);
	k.machines = set.machines = ink_machines_load(&name, 1, NULL, NULL);
	assert_non_null(set.machines);
	for (unsigned i = 0; i < ink_machines_count(set.machines); i++) {
		const struct ink_rules *rules = ink_machine_view(ink_machines_at(set.machines, i))->rules;
		struct ink_options o = {.size = sizeof o, .kind = INK_EXACT, .flows = PACKETS_MOST};

		o.rules = rules;
		o.states = rules->states;
		o.age_bits = 1;
		o.seed = 1;
		set.tables[i] = ink_create(&o, NULL);
	}
	k.tables = set.tables;
	set.track = ink_track_open(&k, NULL);
	assert_non_null(set.track);
}

/* ------------------------------------------------------------------ packets, in order of time */

static struct ink_packet packets[PACKETS_MOST];
static size_t n_packets;

/* Between a client, by its number, and a host; `back`: from the host. */
struct talk {
	unsigned client, host;
	uint16_t sport, dport;
	uint8_t protocol;
};

static struct ink_packet *say(struct talk t, int back, unsigned flags, uint64_t ms)
{
	struct ink_packet *p = &packets[n_packets++];
	uint8_t client[4] = {20, (uint8_t)(t.client >> 16), (uint8_t)(t.client >> 8), (uint8_t)t.client};
	uint8_t host[4] = {10, 0, (uint8_t)(t.host >> 8), (uint8_t)t.host};

	assert_true(n_packets < PACKETS_MOST);
	*p = packet(t.protocol, flags, 0);
	memcpy(p->source, back ? host : client, 4);
	memcpy(p->destination, back ? client : host, 4);
	p->sport = back ? t.dport : t.sport;
	p->dport = back ? t.sport : t.dport;
	p->flags = (uint8_t)(back ? 0 : INK_FROM_HIGH); /* 20.0.0.0 is above 10.0.0.0 */
	p->clock = 1000000000 + ms * MS;
	p->time = n_packets; /* the order of those of one moment */
	return p;
}

static struct talk tcp(unsigned client, unsigned host, uint16_t port)
{
	return (struct talk){client, host, (uint16_t)(1024 + client % 60000), port, INK_PROTOCOL_TCP};
}

static void served(struct talk t, uint64_t ms, uint64_t rtt)
{
	say(t, 0, SYN, ms);
	say(t, 1, SYN | ACK, ms + rtt);
	say(t, 0, ACK, ms + rtt);
	say(t, 1, FIN | ACK, ms + rtt + 200);
	say(t, 0, FIN | ACK, ms + rtt + 201);
}

static int by_time(const void *a, const void *b)
{
	const struct ink_packet *x = a, *y = b;

	return x->clock != y->clock ? (x->clock > y->clock) - (x->clock < y->clock)
				    : (x->time > y->time) - (x->time < y->time);
}

static unsigned reports_of(const char *name)
{
	struct ink_packets all = {.at = packets, .n = n_packets};

	qsort(packets, n_packets, sizeof *packets, by_time);
	open_set(name);
	assert_int_equal(ink_track_packets(set.track, &all), 0);
	n_packets = 0;
	return set.reports;
}

/* ------------------------------------------------------------------------------------ flood */

TEST_THAT(spoofed_syns_are_a_flood_and_the_victim_is_named)
{
	static const uint8_t victim[4] = {10, 0, 0, VICTIM};

	for (unsigned i = 0; i < 3000; i++)
		say(tcp(i, VICTIM, 443), 0, SYN, i * 2);
	assert_int_equal(reports_of("flood"), 1);
	assert_memory_equal(set.reported.destination, victim, 4);
	assert_int_equal(set.reported.dport, 443);
}

TEST_THAT(spoofed_datagrams_are_a_flood)
{
	for (unsigned i = 0; i < 3000; i++)
		say((struct talk){i, VICTIM, 1024, 4444, INK_PROTOCOL_UDP}, 0, 0, i * 2);
	assert_int_equal(reports_of("flood"), 1);
}

TEST_THAT(a_flood_is_found_among_the_clients_of_its_victim)
{
	for (unsigned i = 0; i < 1000; i++)
		served(tcp(i, VICTIM, 443), i * 10, 50);
	for (unsigned i = 0; i < 2000; i++)
		say(tcp(10000 + i, VICTIM, 443), 0, SYN, 2000 + i * 2);
	assert_int_equal(reports_of("flood"), 1);
}

TEST_THAT(a_busy_server_is_no_victim)
{
	for (unsigned i = 0; i < 20000; i++)
		served(tcp(i, VICTIM, 443), i / 10, 100); /* 10,000 a second */
	for (unsigned i = 0; i < 2000; i++)
		served(tcp(i, VICTIM + 1, 443), i / 100, 900); /* 2,000 before the first answer */
	assert_int_equal(reports_of("flood"), 0);
}

/* Its clients try again after 1, 3 and 7 s. */
TEST_THAT(a_dead_server_is_no_victim)
{
	for (unsigned i = 0; i < 5000; i++)
		for (unsigned again = 0; again < 4; again++)
			say(tcp(i, VICTIM, 443), 0, SYN, i + ((1u << again) - 1) * 1000);
	assert_int_equal(reports_of("flood"), 0);
}

TEST_THAT(a_server_that_refuses_is_no_victim)
{
	for (unsigned i = 0; i < 5000; i++) {
		say(tcp(i, VICTIM, 443), 0, SYN, i * 2);
		say(tcp(i, VICTIM, 443), 1, RST | ACK, i * 2 + 50);
	}
	assert_int_equal(reports_of("flood"), 0);
}

TEST_THAT(a_busy_resolver_is_no_victim)
{
	for (unsigned i = 0; i < 20000; i++) {
		struct talk t = {i, VICTIM, 5000, 53, INK_PROTOCOL_UDP};

		say(t, 0, 0, i / 2);
		say(t, 1, 0, i / 2 + 30);
	}
	assert_int_equal(reports_of("flood"), 0);
}

/* ------------------------------------------------------------------------------------ brute */

static struct talk login(unsigned i, uint16_t port)
{
	return (struct talk){7, VICTIM, (uint16_t)(2000 + i), port, INK_PROTOCOL_TCP};
}

TEST_THAT(many_short_connections_to_a_login_are_reported_once)
{
	static const uint8_t attacker[4] = {20, 0, 0, 7};

	for (unsigned i = 0; i < 50; i++)
		served(login(i, 22), i * 1000, 50);
	assert_int_equal(reports_of("brute"), 1);
	assert_memory_equal(set.reported.source, attacker, 4);
	assert_int_equal(set.reported.dport, 22);
}

TEST_THAT(ssh_is_known_at_any_port)
{
	static const uint8_t banner[] = "SSH-2.0-x\r\n";

	for (int is_ssh = 0; is_ssh < 2; is_ssh++) {
		for (unsigned i = 0; i < 50; i++) {
			struct ink_packet *p = say(login(i, 902), 1, ACK, i * 1000 + 60);

			served(login(i, 902), i * 1000, 50);
			p->payload = banner + !is_ssh;
			p->payload_captured = p->payload_wire = 10;
		}
		assert_int_equal(reports_of("brute"), is_ssh);
	}
}

TEST_THAT(long_connections_dead_servers_and_few_tries_are_no_attack)
{
	for (unsigned i = 0; i < 50; i++) {
		say(login(i, 22), 0, SYN, i * 1000);
		say(login(i, 22), 1, SYN | ACK, i * 1000 + 50);
		say(login(i, 22), 0, ACK, i * 1000 + 51);
		say(login(i, 22), 0, FIN | ACK, i * 1000 + 40000);
		say(login(i, 23), 0, SYN, i * 1000);
	}
	for (unsigned i = 0; i < 20; i++)
		served(login(i, 21), i * 1000, 50);
	assert_int_equal(reports_of("brute"), 0);
}

/* ------------------------------------------------------------------------------ peer-to-peer */

static unsigned pairs_at(uint16_t udp_port)
{
	say(tcp(1, VICTIM, 443), 0, ACK, 0);
	say((struct talk){1, VICTIM, 6000, udp_port, INK_PROTOCOL_UDP}, 0, 0, 100);
	return reports_of("p2p");
}

TEST_THAT(services_that_use_udp_beside_tcp_are_no_pairs)
{
	static const uint16_t services[] = {443, 3478, 5353, 1900, 2049, 88, 1194, 51820, 4500, 67, 5060};

	for (unsigned i = 0; i < COUNT(services); i++)
		if (pairs_at(services[i]))
			fail_msg("port %u", services[i]);
	assert_int_equal(pairs_at(6881), 1);
	assert_int_equal(set.marks, 1);
}

TEST_THAT(an_endpoint_with_a_connection_for_each_peer_is_found_and_marked_both_ways)
{
	for (unsigned i = 0; i < 21; i++)
		served(tcp(i, VICTIM, 6881), i * 1000, 50);
	assert_int_equal(reports_of("p2p-endpoints"), 1);
	assert_int_equal(set.reported.dport, 6881);
	/* Of the last connection: the packet that was reported, then FIN from the endpoint and to it. */
	assert_int_equal(set.marks, 4);
}

/* The same number of peers, but with three connections each; a known port; a flood. */
TEST_THAT(browsers_known_ports_and_floods_are_no_swarms)
{
	for (unsigned i = 0; i < 100; i++) {
		struct talk t = tcp(i, VICTIM, 12345);

		for (unsigned j = 0; j < 3; j++, t.sport++)
			served(t, i * 1000, 50);
		served(tcp(i, VICTIM, 443), i * 1000, 50);
		say(tcp(i, VICTIM, 23456), 0, SYN, i * 1000);
	}
	assert_int_equal(reports_of("p2p-endpoints"), 0);
}

/* One that asks many from one port; a server is asked by many. */
TEST_THAT(of_udp_the_end_that_asks_is_the_endpoint)
{
	for (int asks = 0; asks < 2; asks++) {
		for (unsigned i = 0; i < 30; i++) {
			struct talk t = {i, VICTIM, (uint16_t)(20000 + i), 6881, INK_PROTOCOL_UDP};

			say(t, asks, 0, i * 1000);
			say(t, !asks, 0, i * 1000 + 50);
		}
		assert_int_equal(reports_of("p2p-endpoints"), asks);
	}
}

int main(void)
{
	return run_suite(&(struct suite){.after_each = close_set});
}
