/* SPDX-License-Identifier: BSD-2-Clause */
/* Tracking: packets, time and ends become moves and counts. */
#include "tests/machine_help.h"
#include "tests/sizes.h"
#include "tests/test.h"

/* ---------------------------------------------------------------- tracking */

TEST_THAT(counters_are_seen_by_the_next_packet)
{
	struct ink_packet packets[10];
	struct ink_packets batch = {.at = packets, .n = 10};

	track_with("machine m\nkey connection\nevent late = tcp and few >= 3\nevent early = tcp\nabsent, a: "
		   "early -> a / count few, count all by 2 | late -> a / count many, count all by 2\n"
		   "a: timeout 1s -> absent\n",
		   NULL);
	assert_true(ink_machine_view(machine)->weighs);
	for (unsigned i = 0; i < 10; i++)
		packets[i] = packet(INK_PROTOCOL_TCP, 0, 0);
	assert_int_equal(ink_track_packets(track, &batch), 0);
	assert_int_equal(counted("few"), 3);
	assert_int_equal(counted("many"), 7);
	assert_int_equal(counted("all"), 20);
}

TEST_THAT(a_counter_compares_with_a_share_of_another)
{
	track_with("machine m\nkey connection\nevent take = tcp and taken < 30% of all\nevent leave = tcp\n"
		   "absent, a: take -> a / count all, count taken | leave -> a / count all\na: timeout 1s -> "
		   "absent\n",
		   NULL);
	for (unsigned i = 0; i < 1000; i++)
		give_tcp(0, 0);
	assert_int_equal(counted("all"), 1000);
	assert_true(counted("taken") >= 299 && counted("taken") <= 301);
}

/* From the asker it lands on the other end, whose flow is absent; ports are turned, too. */
TEST_THAT(a_reverse_event_lands_on_the_other_end)
{
	static const char *const keys[] = {"source", "flow"};

	for (int i = 0; i < 2; i++) {
		begin("machine m\n");
		add("key %s\nevent ask = syn and not ack\nreverse event answer = syn and ack\nabsent: ask -> asking\n"
		    "asking: answer -> absent / count answered | timeout 1s -> absent\n",
		    keys[i]);
		track_with(draft.text, NULL);
		STEPS({SYN, 0, "asking"}, {SYN | ACK, 0, "asking"}, {SYN | ACK, 1, "absent"});
		assert_int_equal(counted("answered"), 1);
		untrack(NULL);
	}
}

/* A SYN of each of n flows, every second of them from the high end if `both`. */
static void give_flows(unsigned n, int both)
{
	for (unsigned i = 0; i < n; i++) {
		struct ink_packet p = packet(INK_PROTOCOL_TCP, SYN, both && i & 1);

		p.clock = 1;
		p.sport = (uint16_t)(2000 + i);
		give(p);
	}
}

/* A table so small that flows collide, and without a side table to put them in. */
TEST_THAT(flows_in_doubt_have_rows_too)
{
	struct ink_options small = {
		.kind = INK_DLEFT, .flows = 64, .geometry = {.d = 2, .b = 4, .h = 8, .f = 3}};
	struct ink_counts left;

	track_in("machine m\nkey connection\nstart event syn = syn\nevent ack = ack\nabsent: syn -> a\n"
		 "a: ack | timeout 10s -> absent\n"
		 "unsure: * / count met | timeout 20s / count expired | end / count left\n",
		 small, (struct ink_track_options){.seed = 1});
	give_flows(60, 0);
	ink_census(table, &left);
	assert_true(left.unsure > 0);
	assert_int_equal(ink_track_end(track), 0);
	assert_int_equal(counted("left"), left.unsure);
	assert_true(counted("met") > 0);
	assert_int_equal(counted("expired"), 0);
	assert_int_equal(ink_track_time(track, 100000000000ull), 0);
	assert_int_equal(counted("expired"), left.unsure);
}

static int is_even(uint64_t id, void *user)
{
	++*(unsigned *)user;
	return id % 2 == 0;
}

TEST_THAT(unwanted_flows_are_passed_by)
{
	struct ink_track_stats s = {.size = sizeof s};
	struct ink_track_options o = {.size = sizeof o, .link = INK_LINK_ETHERNET, .only = is_even};
	unsigned asked = 0;

	o.user = &asked;
	track_with(handshake, &o);
	give_flows(500, 0);
	ink_track_stats(track, &s);
	assert_int_equal(asked, 500);
	assert_int_equal(s.steps + s.passed_by, 500);
	assert_int_equal(s.begun, s.steps);
	assert_in_range(s.passed_by, 180, 320); /* half of them, give or take six sigma */
}

TEST_THAT(end_rows_fire_for_every_flow_left)
{
	track_with(handshake, NULL);
	assert_false(ink_machine_view(machine)->weighs);
	give_flows(500, 1);
	assert_int_equal(counted("unanswered"), 0);
	assert_int_equal(ink_track_end(track), 0);
	assert_int_equal(counted("unanswered"), 500);
}

/* Tracks the machine with a second table of its rules. */
static struct ink_table *track_beside(const char *text, struct ink_options t)
{
	struct ink_track_options o = {.size = sizeof o};
	struct ink_machine *m = made(text);

	t.size = sizeof t;
	t.flows = 100;
	t.rules = ink_machine_view(m)->rules;
	t.states = t.rules->states;
	o.beside = ink_create(&t, NULL);
	assert_non_null(o.beside);
	track_with(text, &o);
	ink_machine_free(m);
	return o.beside;
}

TEST_THAT(a_table_without_census_says_that_it_cannot_end)
{
	struct ink_table *beside = track_beside(HEAD, (struct ink_options){.kind = INK_STATEFUL});

	assert_int_equal(ink_track_end(track), -ENOTSUP);
	ink_free(beside);
}

TEST_THAT(time_outs_come_between_the_packets)
{
	struct ink_packet packets[300];
	struct ink_packets batch = {.at = packets, .n = 300};

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

TEST_THAT(no_flow_ends_early)
{
	struct ink_packet p = packet(INK_PROTOCOL_TCP, SYN, 0);

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

TEST_THAT(without_time_outs_time_stands_still)
{
	struct ink_track_options o = {.size = sizeof o, .no_timeouts = 1};
	struct ink_packet p = packet(INK_PROTOCOL_TCP, SYN, 0);

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

	assert_true(n_moved < 100);
	snprintf(moves[n_moved++], sizeof moves[0], "%u %s %s->%s %u", (unsigned)moved->number,
		 v->event_names[v->event_of[moved->event]], state_name(v, moved->move.from),
		 state_name(v, moved->move.to), moved->action->n_countings);
}

/* Five packets: one is not IP, one is no event; the others move the flow. */
TEST_THAT(moves_are_told_in_order_and_the_numbers_of_a_run_are_kept)
{
	struct ink_track_options o = {.size = sizeof o, .every = 1, .moved = note_moved};
	struct ink_track_stats s = {.size = sizeof s};
	struct ink_packet p = packet(INK_PROTOCOL_TCP, SYN, 0);

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
	ink_track_stats(track, &s);
	assert_int_equal(s.packets, 5);
	assert_int_equal(s.skipped[INK_NOT_SKIPPED], 4);
	assert_int_equal(s.skipped[INK_SKIP_NOT_IP], 1);
	assert_int_equal(s.eventless, 1);
	assert_int_equal(s.steps, 3);
	assert_int_equal(s.begun, 1);
	assert_int_equal(s.unsure + s.refused, 0);
}

/* Steps of a flow that follow each other in one block, and blocks of any size, come to the same. */
TEST_THAT(blocks_of_any_size_come_to_the_same)
{
	enum { N = 2000 };
	static struct ink_packet packets[N];
	uint64_t first[2] = {0, 0};

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

TEST_THAT(the_table_beside_makes_the_same_steps)
{
	struct ink_table *beside = track_beside(handshake, (struct ink_options){.age_bits = 1, .seed = 3});

	STEPS({SYN, 0, "opening"}, {SYN | ACK, 1, "answered"}, {ACK, 0, "done"}, {ACK, 0, "done"});
	assert_int_equal(ink_track_counters_beside(track)[1], 1);
	assert_int_equal(ink_track_counters(track)[1], 1);
	ink_free(beside);
}

/* The machine that follows `machine`; NULL with a complaint. */
static struct ink_machine *successor(const char *text)
{
	struct ink_machine_options o = {.size = sizeof o, .file = "x.fsm", .complain = note, .like = machine};

	n_told = 0;
	return ink_machine_make(text, strlen(text), &o);
}

/* The handshake with other words, wherever these stand. */
static const char *handshake_with(const char *words, const char *others)
{
	const char *at = handshake, *next;

	begin("");
	for (; (next = strstr(at, words)); at = next + strlen(words))
		add("%.*s%s", (int)(next - at), at, others);
	add("%s", at);
	return draft.text;
}

/* States in another order, one more, other rows; the counter `done` goes on. */
static const char later[] =
	"machine m\nkey connection\nremember initiator\n"
	"start event syn = tcp and syn and not ack\nevent synack = syn and ack\n"
	"event rst = rst\nevent ack = ack\n"
	"absent: syn -> opening\n"
	"reset: timeout 1s -> absent\n"
	"done: rst -> reset | * | timeout 2h -> absent\n"
	"answered: ack from initiator -> done / count new, count done | timeout 10s -> absent\n"
	"opening: syn | synack from responder -> answered | timeout 20s -> absent\n";

TEST_THAT(another_machine_goes_on_with_the_flows)
{
	struct ink_machine *old;

	track_in(handshake, (struct ink_options){.kind = INK_EXACT, .flows = 10, .states = 20},
		 (struct ink_track_options){.seed = 1}); /* with room for more states */
	STEPS({SYN, 0, "opening"}, {SYN | ACK, 1, "answered"}, {ACK, 0, "done"});
	assert_int_equal(ink_track_time(track, 3 * 3600 * 1000000000ull), 0);
	assert_string_equal(state_now(), "absent");
	STEPS({SYN, 1, "opening"}, {SYN | ACK, 0, "answered"});
	old = machine;
	machine = successor(later);
	assert_non_null(machine);
	assert_int_equal(ink_track_exchange(track, machine, NULL), 0);
	ink_machine_free(old);
	assert_int_equal(counted("done"), 1);
	assert_int_equal(counted("new"), 0);
	assert_string_equal(state_now(), "answered");
	STEPS({ACK, 0, "answered"}, {ACK, 1, "done"}); /* the initiator is still known */
	assert_int_equal(counted("new"), 1);
	assert_int_equal(counted("done"), 2);
	STEPS({RST, 1, "reset"});
}

static void assert_not_exchanged(struct ink_machine *other, const char *words)
{
	struct ink_why why = {""};

	assert_non_null(other);
	assert_int_equal(ink_track_exchange(track, other, &why), -EINVAL);
	assert_non_null(strstr(why.text, words));
	ink_machine_free(other);
}

TEST_THAT(a_machine_that_does_not_fit_is_refused_and_the_old_one_stays)
{
	track_with(handshake, NULL);
	STEPS({SYN, 0, "opening"});
	assert_null(successor(handshake_with("done", "none")));
	assert_non_null(strstr(told[0].text, "state 'done' of the previous machine is missing"));
	assert_null(successor(handshake_with("done: *", "done: * from initiator")));
	assert_non_null(strstr(told[0].text, "'done' does not remember what it did"));
	assert_not_exchanged(successor(later), "states"); /* more than the table has */
	assert_not_exchanged(made(later), "has another number than before");
	assert_not_exchanged(ink_machine_load("p2p", NULL, NULL), "another key");

	STEPS({SYN | ACK, 1, "answered"});
}

TEST_THAT(after_an_exchange_time_goes_on)
{
	struct ink_machine *old;
	struct ink_packet p = packet(INK_PROTOCOL_TCP, SYN, 0);

	track_with(handshake, NULL);
	old = machine;
	p.clock = 5000000000000ull;
	give(p);
	assert_int_equal(ink_track_time(track, p.clock + 8000000000ull), 0);
	machine = successor(handshake_with("timeout 10s -> absent / count", "timeout 16s -> absent / count"));
	assert_non_null(machine);
	assert_int_equal(ink_track_exchange(track, machine, NULL), 0);
	ink_machine_free(old);
	p.clock += 8000000000ull;
	p.sport++;
	give(p);
	assert_int_equal(ink_track_time(track, p.clock + 15900000000ull), 0);
	assert_int_equal(counted("unanswered"), 1); /* the first, whose ticks were longer */
	assert_int_equal(ink_track_time(track, p.clock + 20000000000ull), 0);
	assert_int_equal(counted("unanswered"), 2);
}

TEST_THAT(a_filter_that_is_wrong_is_told_when_tracking_begins)
{
	struct ink_machine *m =
		made("machine m\nkey pair\nevent e = filter \"tcp port\"\nabsent: e -> a\na: end\n");
	const struct ink_machine_view *v = ink_machine_view(m);
	struct ink_options t = {.size = sizeof t, .flows = 10, .states = v->rules->states, .rules = v->rules};
	struct ink_track_options o = {
		.size = sizeof o, .machine = m, .table = ink_create(&t, NULL), .link = INK_LINK_ETHERNET};
	struct ink_why why = {""};

	errno = 0;
	assert_null(ink_track_open(&o, &why));
	assert_int_equal(errno, EINVAL);
	assert_non_null(strstr(why.text, "x.fsm:3:18: filter 'tcp port': "));
	o.machine = NULL;
	assert_null(ink_track_open(&o, &why));
	assert_int_equal(errno, EINVAL);
	ink_free(o.table);
	ink_machine_free(m);
}

/* A table of the rules of one machine is tracked with another. */
static int open_with_rules_of(const char *text, struct ink_track_options *o)
{
	struct ink_machine *m = made(text);
	struct ink_options t = {.size = sizeof t, .flows = 10, .states = 7};
	struct ink_track *k;
	int error;

	t.rules = ink_machine_view(m)->rules;
	o->table = ink_create(&t, NULL);
	errno = 0;
	k = ink_track_open(o, NULL);
	error = k ? 0 : errno;
	ink_track_close(k);
	ink_free(o->table);
	ink_machine_free(m);
	return error;
}

TEST_THAT(a_table_with_rules_of_another_machine_is_refused)
{
	static const struct {
		const char *more;
		int error;
	} machines[] = {
		{"", 0},                                          /* the same */
		{"a: e -> b\nb: timeout 1s -> absent\n", EINVAL}, /* a state more */
		{"event f = udp\na: f -> absent\n", EINVAL},      /* an event more */
		{"a: e / report \"x\"\n", EINVAL},                /* an action more */
	};
	struct ink_machine *m = made(HEAD);
	struct ink_track_options o = {.size = sizeof o, .machine = m, .link = INK_LINK_ETHERNET};
	char text[300];

	for (unsigned i = 0; i < COUNT(machines); i++) {
		snprintf(text, sizeof text, HEAD "%s", machines[i].more);
		assert_int_equal(open_with_rules_of(text, &o), machines[i].error);
	}
	ink_machine_free(m);
}

static void count_calls(const struct ink_moved *m, void *user)
{
	++*(unsigned *)user;
}

/* A step that failed has no move and no action that a caller could look at. */
TEST_THAT(a_table_that_gets_other_rules_later_is_refused_too)
{
	struct ink_machine *other = made(HEAD "a: e / report \"x\"\n");
	struct ink_packet p = packet(INK_PROTOCOL_TCP, SYN, 0);
	struct ink_packets one = {.at = &p, .n = 1};
	unsigned calls = 0;

	track_with(HEAD, &(struct ink_track_options){.moved = count_calls, .every = 1, .user = &calls});
	assert_int_equal(ink_track_packets(track, &one), 0);
	assert_int_equal(ink_set_rules(table, ink_machine_view(other)->rules, NULL), 0);
	assert_int_equal(ink_track_packets(track, &one), -EINVAL);
	assert_int_equal(ink_set_rules(table, NULL, NULL), 0);
	assert_int_equal(ink_track_packets(track, &one), -EINVAL);
	assert_int_equal(calls, 1);
	ink_machine_free(other);
}

/* ---------------------------------------------------------------- sensing */

static struct ink_moved sensed_moves[400];
static unsigned n_sensed_moves;

static void note_sensed(const struct ink_moved *moved, void *user)
{
	sensed_moves[n_sensed_moves++] = *moved;
}

/* Packets of both directions and several protocols, some without a key. */
static void make_mixture(struct ink_packet *packets, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		packets[i] = packet(i % 5 ? INK_PROTOCOL_TCP : INK_PROTOCOL_UDP, i % 3 ? ACK : SYN, i % 2);
		packets[i].sport = (uint16_t)(1000 + i % 7);
		packets[i].clock = i;
		packets[i].skip = i % 11 ? INK_NOT_SKIPPED : INK_SKIP_NOT_IP;
		if (packets[i].skip)
			packets[i].version = 0;
	}
}

/* With an event for each packet that a tracker reports, in order, and ids that are the table's for the keys. */
static void assert_senses_what_was_tracked(const struct ink_sensed *sensed, unsigned n)
{
	unsigned found = 0;

	for (unsigned i = 0; i < n; i++) {
		if (sensed[i].event == INK_NO_EVENT)
			continue;
		assert_true(found < n_sensed_moves);
		assert_int_equal(sensed_moves[found].number, i + 1);
		assert_int_equal(sensed_moves[found].event, sensed[i].event);
		assert_int_equal(sensed_moves[found++].id, ink_id(table, sensed[i].key, sensed[i].length));
		assert_int_equal(sensed[i].clock, i);
	}
	assert_int_equal(found, n_sensed_moves);
	assert_true(found > n / 4);
}

TEST_THAT(a_sensor_finds_what_a_tracker_finds)
{
	static const char *const machines[] = {
		HEAD "a: *\n",
		"machine m\nkey flow\nreverse event r = syn\nevent e = chance 50%\nabsent: * -> a\na: *\n",
		"machine m\nkey pair\nremember initiator\nevent e = udp\nevent f = tcp\nabsent: * -> a\n"
		"a: e from initiator -> absent | *\n",
	};
	struct ink_track_options o = {
		.size = sizeof o, .link = INK_LINK_ETHERNET, .seed = 5, .every = 1, .moved = note_sensed};
	struct ink_packet packets[400];
	struct ink_sensed sensed[400];
	struct ink_packets all = {.at = packets, .n = 400};

	for (unsigned i = 0; i < COUNT(machines); i++) {
		struct ink_sensor_options with = {.size = sizeof with, .link = o.link, .seed = o.seed};
		struct ink_sensor *sensor;

		n_sensed_moves = 0;
		make_mixture(packets, 400);
		track_with(machines[i], &o);
		assert_int_equal(ink_track_packets(track, &all), 0);
		with.machine = machine;
		sensor = ink_sensor_open(&with, NULL);
		assert_non_null(sensor);
		ink_sensor_packets(sensor, &all, sensed);
		assert_senses_what_was_tracked(sensed, 400);
		ink_sensor_close(sensor);
		untrack(NULL);
	}
}

TEST_THAT(sensors_with_one_secret_give_the_same_ids)
{
	struct ink_machine *m = made(HEAD);
	struct ink_packet p = packet(INK_PROTOCOL_TCP, SYN, 0);
	struct ink_packets one = {.at = &p, .n = 1};
	struct ink_sensed sensed[3];

	for (unsigned i = 0; i < 3; i++) {
		struct ink_sensor_options o = {.size = sizeof o, .machine = m, .secret = {7, i / 2}};
		struct ink_sensor *sensor = ink_sensor_open(&o, NULL);

		assert_non_null(sensor);
		ink_sensor_packets(sensor, &one, &sensed[i]);
		ink_sensor_close(sensor);
	}
	assert_true(sensed[0].id == sensed[1].id && sensed[0].id != sensed[2].id);
	assert_int_equal(sensed[0].length, INK_KEY_IPV4);
	ink_machine_free(m);
}

TEST_THAT(a_sensor_refuses_machines_that_need_a_table)
{
	struct ink_machine *m =
		made("machine m\nkey pair\nevent e = c > 5\nevent f = any\nabsent: * -> a / count c\na: *\n");
	struct ink_sensor_options o = {.size = sizeof o, .machine = m, .link = INK_LINK_ETHERNET};
	struct ink_why why = {""};

	assert_null(ink_sensor_open(&o, &why));
	assert_int_equal(errno, ENOTSUP);
	assert_non_null(strstr(why.text, "depend on counters"));
	o.machine = NULL;
	assert_null(ink_sensor_open(&o, &why));
	assert_int_equal(errno, EINVAL);
	ink_sensor_close(NULL);
	ink_machine_free(m);
}

/* ---------------------------------------------------- structs that grow */

static int call_track(void *theirs)
{
	struct ink_track *k = ink_track_open(theirs, NULL);

	ink_track_close(k);
	return k ? 0 : -errno;
}

static int call_sensor(void *theirs)
{
	struct ink_sensor *s = ink_sensor_open(theirs, NULL);

	ink_sensor_close(s);
	return s ? 0 : -errno;
}

static int call_stats(void *theirs)
{
	return ink_track_stats(track, theirs);
}

static int call_rules(void *theirs)
{
	return ink_rules(table, theirs);
}

TEST_THAT(structs_of_older_and_newer_callers_are_read_and_written)
{
	struct ink_track_options o = {.size = sizeof o, .link = INK_LINK_ETHERNET};
	struct ink_sensor_options s = {.size = sizeof s, .link = INK_LINK_ETHERNET};
	const struct sized structs[] = {
		{"track options", 88, sizeof o, &o, call_track},
		{"sensor options", 48, sizeof s, &s, call_sensor},
		{"track stats", 168, sizeof(struct ink_track_stats), NULL, call_stats},
		{"rules", 40, sizeof(struct ink_rules), NULL, call_rules},
	};

	track_with(HEAD, NULL);
	s.machine = o.machine = machine;
	o.table = table;
	for (unsigned i = 0; i < COUNT(structs); i++)
		assert_grows(&structs[i]);
	assert_null(ink_track_open(NULL, NULL));
	assert_null(ink_sensor_open(NULL, NULL));
	assert_int_equal(ink_track_stats(track, NULL), -EINVAL);
}

/* The linker has the library ask here for its version. */
static const char *pretended;

const char *__real_ink_version(void);
const char *__wrap_ink_version(void);

const char *__wrap_ink_version(void)
{
	return pretended ? pretended : __real_ink_version();
}

TEST_THAT(libraries_of_different_versions_do_not_track)
{
	struct ink_track_options o = {.size = sizeof o, .link = INK_LINK_ETHERNET};
	struct ink_why why = {""};

	track_with(HEAD, NULL);
	o.machine = machine;
	o.table = table;
	pretended = "9.8.7";
	errno = 0;
	assert_null(ink_track_open(&o, &why));
	assert_int_equal(errno, ENOTSUP);
	assert_non_null(strstr(why.text, "libinkling is version 9.8.7 and libinkling-packet " INK_VERSION));
	pretended = NULL;
}

int main(void)
{
	return run_suite(&(struct suite){.after_each = untrack});
}
