/* SPDX-License-Identifier: BSD-2-Clause */
/* Tracking: packets, time and ends become moves and counts. */
#include "machine_help.h"

/* ---------------------------------------------------------------- tracking */

static void counters_are_seen_by_the_next_packet(void **state)
{
	struct ink_packet packets[10];
	struct ink_packets batch = {.at = packets, .n = 10};

	(void)state;
	track_with("machine m\nkey connection\nevent late = tcp and few >= 3\nevent early = tcp\nabsent, a: "
		   "early -> a / count few, count all by 2 | late -> a / count many, count all by 2\n"
		   "a: timeout 1s -> absent\n",
		   NULL);
	for (unsigned i = 0; i < 10; i++)
		packets[i] = packet(INK_PROTOCOL_TCP, 0, 0);
	assert_int_equal(ink_track_packets(track, &batch), 0);
	assert_int_equal(counted("few"), 3);
	assert_int_equal(counted("many"), 7);
	assert_int_equal(counted("all"), 20);
}

static void a_counter_compares_with_a_share_of_another(void **state)
{
	(void)state;
	track_with("machine m\nkey connection\nevent take = tcp and taken < 30% of all\nevent leave = tcp\n"
		   "absent, a: take -> a / count all, count taken | leave -> a / count all\na: timeout 1s -> "
		   "absent\n",
		   NULL);
	for (unsigned i = 0; i < 1000; i++)
		give_tcp(0, 0);
	assert_int_equal(counted("all"), 1000);
	assert_true(counted("taken") >= 299 && counted("taken") <= 301);
}

static void a_reverse_event_lands_on_the_other_end(void **state)
{
	(void)state;
	track_with(
		"machine m\nkey source\nevent ask = syn and not ack\nreverse event answer = syn and ack\n"
		"absent: ask -> asking\nasking: answer -> absent / count answered | timeout 1s -> absent\n",
		NULL);
	give_tcp(SYN, 0);
	assert_string_equal(state_now(), "asking");
	give_tcp(SYN | ACK, 0); /* from the asker: lands on the other */
	assert_string_equal(state_now(), "asking");
	give_tcp(SYN | ACK, 1);
	assert_string_equal(state_now(), "absent");
	assert_int_equal(counted("answered"), 1);
}

static void end_rows_fire_for_every_flow_left(void **state)
{
	(void)state;
	track_with(handshake, NULL);
	for (unsigned i = 0; i < 500; i++) {
		struct ink_packet p = packet(INK_PROTOCOL_TCP, SYN, (int)(i & 1));

		p.sport = (uint16_t)(2000 + i);
		give(p);
	}
	assert_int_equal(counted("unanswered"), 0);
	ink_track_end(track);
	assert_int_equal(counted("unanswered"), 500);
}

static void time_outs_come_between_the_packets(void **state)
{
	struct ink_packet packets[300];
	struct ink_packets batch = {.at = packets, .n = 300};

	(void)state;
	track_with(handshake, NULL);
	for (unsigned i = 0; i < 300; i++) {
		packets[i] = packet(INK_PROTOCOL_TCP, SYN, 0);
		packets[i].clock = 1000000000000ull + i * 1000000000ull; /* a second each */
		packets[i].sport = (uint16_t)(2000 + i);
	}
	assert_int_equal(ink_track_packets(track, &batch), 0);
	assert_in_range(counted("unanswered"), 285, 290); /* 10 to 11.25 s each */
	assert_int_equal(ink_track_time(track, 1000000000000ull + 400000000000ull), 0);
	assert_int_equal(counted("unanswered"), 300);
}

static void no_flow_ends_early(void **state)
{
	struct ink_packet p = packet(INK_PROTOCOL_TCP, SYN, 0);

	(void)state;
	for (uint64_t start = 0; start < 2500; start += 77) {
		uint64_t base = 1000000000000ull;

		track_with(handshake, NULL);
		assert_int_equal(ink_track_time(track, base), 0);
		p.clock = base + start * 1000000;
		give(p);
		assert_int_equal(ink_track_time(track, p.clock + 9999000000ull), 0);
		assert_int_equal(counted("unanswered"), 0);
		assert_int_equal(ink_track_time(track, p.clock + 11260000000ull), 0);
		assert_int_equal(counted("unanswered"), 1);
		untrack(NULL);
	}
}

static void without_time_outs_time_stands_still(void **state)
{
	struct ink_track_options o = {.size = sizeof o, .no_timeouts = 1};
	struct ink_packet p = packet(INK_PROTOCOL_TCP, SYN, 0);

	(void)state;
	track_with(handshake, &o);
	p.clock = 1;
	give(p);
	p.clock = 1ull << 60;
	p.sport++;
	give(p);
	assert_int_equal(counted("unanswered"), 0);
}

static unsigned n_moved;
static char moves[100][60];

static void note_moved(const struct ink_moved *moved, void *user)
{
	const struct ink_machine_view *v = ink_machine_view(machine);

	(void)user;
	assert_true(n_moved < 100);
	snprintf(moves[n_moved++], sizeof moves[0], "%u %s %s->%s %u", (unsigned)moved->number,
		 v->event_names[v->event_of[moved->event]], state_name(v, moved->move.from),
		 state_name(v, moved->move.to), moved->action->n_countings);
}

static void moves_are_told_in_order(void **state)
{
	struct ink_track_options o = {.size = sizeof o, .every = 1, .moved = note_moved};
	struct ink_packet p = packet(INK_PROTOCOL_TCP, SYN, 0);

	(void)state;
	n_moved = 0;
	track_with(handshake, &o);
	give(p);
	p.skip = INK_SKIP_NOT_IP;
	give(p);
	give(packet(INK_PROTOCOL_UDP, 0, 0));
	give_tcp(SYN | ACK, 1);
	give_tcp(ACK, 0);
	assert_int_equal(n_moved, 3);
	assert_string_equal(moves[0], "1 syn absent->opening 0");
	assert_string_equal(moves[1], "4 synack opening->answered 0");
	assert_string_equal(moves[2], "5 ack answered->done 1");
}

static void the_numbers_of_a_run_are_kept(void **state)
{
	struct ink_track_stats s = {.size = sizeof s};
	struct ink_packet p = packet(INK_PROTOCOL_TCP, SYN, 0);

	(void)state;
	track_with(handshake, NULL);
	give(p);
	p.skip = INK_SKIP_NOT_IP;
	give(p);
	give(packet(INK_PROTOCOL_UDP, 0, 0));
	give_tcp(SYN | ACK, 1);
	ink_track_stats(track, &s);
	assert_int_equal(s.packets, 4);
	assert_int_equal(s.skipped[INK_NOT_SKIPPED], 3);
	assert_int_equal(s.skipped[INK_SKIP_NOT_IP], 1);
	assert_int_equal(s.eventless, 1);
	assert_int_equal(s.steps, 2);
	assert_int_equal(s.begun, 1);
	assert_int_equal(s.unsure, 0);
	assert_int_equal(s.refused, 0);
}

/* Steps of a flow that follow each other in one block, and blocks of any size, come to the same. */
static void blocks_of_any_size_come_to_the_same(void **state)
{
	enum { N = 2000 };
	static struct ink_packet packets[N];
	uint64_t first[2] = {0, 0};

	(void)state;
	random_state = 5;
	for (unsigned i = 0; i < N; i++) {
		static const unsigned flags[] = {SYN, SYN | ACK, ACK};

		packets[i] = packet(INK_PROTOCOL_TCP, flags[random_below(3)], (int)random_below(2));
		packets[i].clock = 1 + i * 100000000ull;
		if (packets[i].flags)
			packets[i].dport = (uint16_t)(2000 + random_below(50));
		else
			packets[i].sport = (uint16_t)(2000 + random_below(50));
	}
	for (size_t size = 1; size < 600; size = size * 3 + 1) {
		track_with(handshake, NULL);
		for (size_t i = 0; i < N; i += size) {
			struct ink_packets batch = {.at = packets + i, .n = N - i < size ? N - i : size};

			assert_int_equal(ink_track_packets(track, &batch), 0);
		}
		if (size == 1) {
			first[0] = counted("done");
			first[1] = counted("unanswered");
		}
		assert_true(first[0] > 5 && first[1] > 0);
		assert_int_equal(counted("done"), first[0]);
		assert_int_equal(counted("unanswered"), first[1]);
		untrack(NULL);
	}
}

static void the_table_beside_makes_the_same_steps(void **state)
{
	struct ink_track_options o = {.size = sizeof o};
	struct ink_options t = {.size = sizeof t, .flows = 100, .age_bits = 1, .seed = 3};
	struct ink_machine *m = made(handshake);

	(void)state;
	t.rules = &ink_machine_view(m)->rules;
	t.states = t.rules->states;
	o.beside = ink_create(&t, NULL);
	assert_non_null(o.beside);
	track_with(handshake, &o);
	give_tcp(SYN, 0);
	give_tcp(SYN | ACK, 1);
	give_tcp(ACK, 0);
	give_tcp(ACK, 0);
	assert_int_equal(ink_track_counters_beside(track)[1], 1);
	assert_int_equal(ink_track_counters(track)[1], 1);
	ink_free(o.beside);
	ink_machine_free(m);
}

static void a_filter_that_is_wrong_is_told_when_tracking_begins(void **state)
{
	struct ink_machine *m =
		made("machine m\nkey pair\nevent e = filter \"no such thing\"\nabsent: e -> a\na: end\n");
	const struct ink_machine_view *v = ink_machine_view(m);
	struct ink_options t = {.size = sizeof t, .flows = 10, .states = v->rules.states, .rules = &v->rules};
	struct ink_track_options o = {
		.size = sizeof o, .machine = m, .table = ink_create(&t, NULL), .link = INK_LINK_ETHERNET};
	struct ink_why why = {""};

	(void)state;
	errno = 0;
	assert_null(ink_track_open(&o, &why));
	assert_int_equal(errno, EINVAL);
	assert_non_null(strstr(why.text, "no such thing"));
	o.machine = NULL;
	assert_null(ink_track_open(&o, &why));
	assert_int_equal(errno, EINVAL);
	ink_free(o.table);
	ink_machine_free(m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TRACKED(counters_are_seen_by_the_next_packet),
		TRACKED(a_counter_compares_with_a_share_of_another),
		TRACKED(a_reverse_event_lands_on_the_other_end),
		TRACKED(end_rows_fire_for_every_flow_left),
		TRACKED(time_outs_come_between_the_packets),
		TRACKED(no_flow_ends_early),
		TRACKED(without_time_outs_time_stands_still),
		TRACKED(moves_are_told_in_order),
		TRACKED(the_numbers_of_a_run_are_kept),
		TRACKED(blocks_of_any_size_come_to_the_same),
		TRACKED(the_table_beside_makes_the_same_steps),
		cmocka_unit_test(a_filter_that_is_wrong_is_told_when_tracking_begins),
	};

	return cmocka_run_group_tests_name("track", tests, NULL, NULL);
}
