/* SPDX-License-Identifier: BSD-2-Clause */
/* Conditions on queues; priorities, classes and limits: what they mean, and each mistake with its place. */
#include "packet/classify.h"
#include "packet/queue.h"
#include "tests/machine_help.h"
#include "tests/test.h"

static const struct ink_machine_view *view_of(const char *text)
{
	ink_machine_free(machine);
	machine = made(text);
	return ink_machine_view(machine);
}

/* ------------------------------------------------------------------ queues */

/* Does the condition hold for a packet that finds this queue? */
static int holds(const char *condition, struct ink_waiting waiting)
{
	struct ink_packet packet = {.version = 4, .protocol = INK_PROTOCOL_UDP};
	struct ink_sight sight = {.waiting = waiting};
	struct ink_classifier *c;
	unsigned event;

	begin("");
	add("machine m\nkey pair\nparam many = 50 packets\nparam few = 7\nevent e = %s\n"
	    "event f = any\nabsent: e, f -> a\na: timeout 1s -> absent\n",
	    condition);
	view_of(draft.text);
	c = ink_classifier_make(machine, INK_LINK_ETHERNET, 1, NULL);
	assert_non_null(c);
	event = ink_classify(c, &packet, &sight);
	ink_classifier_free(c);
	return event == 0;
}

TEST_THAT(a_condition_on_a_queue_holds_by_its_unit)
{
	static const struct ink_waiting waiting = {.packets = 50, .bytes = 64000, .time = 20000};
	static const struct {
		const char *holds, *holds_not;
	} cases[] = {
		{"queue = 50 packets", "queue = 51 packets"},
		{"queue > 49 packets", "queue > 50 packets"},
		{"queue >= 50 packets", "queue >= 51 packets"},
		{"queue < 51 packets", "queue < 50 packets"},
		{"queue <= 50 packets", "queue <= 49 packets"},
		{"queue != 49 packet", "queue != 50 packets"},
		{"queue > 63999 bytes", "queue > 64k bytes"},
		{"queue = 64k bytes", "queue = 64001 byte"},
		{"queue > 19ms", "queue > 20ms"},
		{"queue = 0.02s", "queue >= 21ms"},
		{"queue < 1h and queue >= 0 packets", "queue > 10m"},
		{"queue >= many", "queue > many"},
		{"queue > few packets", "queue < few bytes"},
		{"not queue > 50 packets", "not (queue > 1 packet and queue > 1 byte and queue > 1ms)"},
	};

	for (unsigned i = 0; i < COUNT(cases); i++) {
		if (!holds(cases[i].holds, waiting))
			fail_msg("'%s' does not hold", cases[i].holds);
		if (holds(cases[i].holds_not, waiting))
			fail_msg("'%s' holds", cases[i].holds_not);
	}
}

TEST_THAT(an_empty_queue_and_one_beyond_all_numbers_have_answers)
{
	static const struct ink_waiting none = {0}, most = {UINT32_MAX, UINT32_MAX, UINT32_MAX};

	assert_true(holds("queue = 0 packets and queue < 1 byte and queue < 1ms", none));
	assert_false(holds("queue != 0 bytes or queue > 0 packets or queue >= 1ms", none));
	assert_true(holds("queue = 4294967295 packets and queue > 4G bytes and queue > 1h", most));
}

TEST_THAT(a_machine_says_where_it_first_asks_for_a_queue)
{
	const struct ink_machine_view *v =
		view_of(HEAD "event f = tcp and (queue > 5 packets\n or queue > 5 packets)\na: f");

	assert_true(v->queues);
	assert_non_null(strstr(v->queue_at, ":6:20"));
	v = view_of(HEAD);
	assert_false(v->queues);
	assert_null(v->queue_at);
}

/* "queue" is younger than the first machines. */
TEST_THAT(a_file_that_calls_something_queue_means_that)
{
	assert_same(HEAD "let queue = udp\nevent f = queue\na: f", HEAD "let x = udp\nevent f = x\na: f");
	assert_same(HEAD "event f = queue > 5\na: f / count queue", HEAD "event f = x > 5\na: f / count x");
	assert_same(HEAD "event queue = udp\na: queue -> class\nclass: e -> absent / count limit\n",
		    HEAD "event x = udp\na: x -> b\nb: e -> absent / count y\n");
}

TEST_THAT(mistakes_about_queues_are_told_with_their_place)
{
	assert_error("event f = queue^", "expected a comparison such as 'queue > 50 packets', found the end");
	assert_error("event f = queue ^5 packets",
		     "expected a comparison such as 'queue > 50 packets', found '5'");
	assert_error("event f = queue =^= 5 packets", "one '=' is enough");
	assert_error("event f = queue ^&& tcp", "conditions are joined by 'and', not by '&&'");
	assert_error("event f = queue > ^x",
		     "expected an amount such as '50 packets', '64k bytes' or '20ms', found 'x'");
	assert_error("param few = 5\nevent f = queue > ^fwe packets", "found 'fwe'; did you mean 'few'?");
	assert_error("event f = queue > 5^",
		     "expected 'packets' or 'bytes' (or a time: 'queue > 20ms'), found the end");
	assert_error("event f = queue > 5 ^pakets", "found 'pakets'; did you mean 'packets'?");
	assert_error("event f = queue > 5^\npackets: e", "expected 'packets' or 'bytes'");
	assert_error("event f = queue > ^5%", "'5%' is not a whole number");
	assert_error("event f = queue > ^5mbit", "'5mbit' is not a whole number");
	assert_error("event f = queue > ^5G packets", "'queue' is 0 to 4294967295");
	assert_error("event f = queue > ^99999999999999999999 packets", "a number that large cannot be used");
	assert_error("event f = queue > ^2h", "a queue's time is 1ms to 1h");
	assert_error("event f = queue > ^0.1ms", "times are 1ms to 10 years");
	assert_error("event f = ^queue < 0 packets", "no value satisfies this: a queue has 0 or more");
	assert_error("event f = ^queue > 4294967295 bytes", "no value satisfies this: a queue has 0 or more");
	assert_error("param q = 50 packets\nevent f = queue > ^q packets",
		     "the unit is there twice; 'q' is 50 packets");
	assert_error("param q = 5G packets\nevent f = queue > ^q",
		     "'queue' is 0 to 4294967295; 'q' is 5G packets");
	assert_error("param q = 3h\nevent f = queue > ^q", "a queue's time is 1ms to 1h; 'q' is 3h");
	assert_error("param q = 25%\nevent f = queue > ^q packets", "'q' is not a whole number; 'q' is 25%");
	assert_error("param q = 50 packets\nevent f = port ^q",
		     "'q' is not a whole number; 'q' is 50 packets");
	assert_error("param q = 50 packets\nb: timeout ^q -> absent",
		     "'q' is not a time (500ms, 10s, 5m, 1h, 2d)");
	assert_error("param q = 50 ^apples", "a state and ':', found 'apples'");
	assert_error("param q = 5% ^packets", "a state and ':', found 'packets'");
	assert_error("event f = ^qeue > 5 packets", "no counter 'qeue'");
}

/* ---------------------------------------------------- priorities, classes and limits */

static const struct ink_action_more *more_of(const char *row)
{
	begin(HEAD);
	add("param rate = 1.5mbit\nparam size = 64k\nparam band = 1:2a\nparam most = 0xffffffff\n"
	    "event f = length size or length most or chance 5%%\na: %s\n",
	    row);
	return &view_of(draft.text)->action_more[1];
}

static void assert_prioritizes(const char *row, enum ink_priority kind, uint32_t priority)
{
	const struct ink_action_more *m = more_of(row);

	if (m->prioritizes != (int)kind || m->priority != priority || m->limit)
		fail_msg("%s: %d %x", row, m->prioritizes, m->priority);
}

TEST_THAT(priorities_and_classes_are_what_was_written)
{
	assert_prioritizes("e / drop", INK_NO_PRIORITY, 0);
	assert_prioritizes("e / priority 6", INK_PRIORITY, 6);
	assert_prioritizes("e / priority 0", INK_PRIORITY, 0);
	assert_prioritizes("e / priority most, drop", INK_PRIORITY, UINT32_MAX);
	assert_prioritizes("e / class 1:20", INK_CLASS, 0x10020);
	assert_prioritizes("e / class ABCD:ef, mark 1", INK_CLASS, 0xabcd00ef);
	assert_prioritizes("e / class 1:0", INK_CLASS, 0x10000);
	assert_prioritizes("e / class ffff:ffff | f", INK_CLASS, UINT32_MAX);
	assert_prioritizes("e / class band", INK_CLASS, 0x1002a);
}

static void assert_limit(const char *row, uint64_t rate, uint32_t burst, int each_flow)
{
	const struct ink_action_more *m = more_of(row);
	const struct ink_machine_view *v = ink_machine_view(machine);

	assert_int_equal(v->limits, 1);
	assert_int_equal(m->limit, 1);
	assert_int_equal(m->prioritizes, INK_NO_PRIORITY);
	if (v->limit[0].rate != rate || v->limit[0].burst != burst || v->limit[0].each_flow != each_flow)
		fail_msg("%s: %lu bit/s, burst %u", row, (unsigned long)v->limit[0].rate, v->limit[0].burst);
}

TEST_THAT(a_limit_has_a_rate_and_a_burst_of_a_tenth_of_a_second)
{
	assert_limit("e / limit 8mbit", 8000000, 100000, 0);
	assert_limit("e / limit 1kbit", 1000, 16 << 10, 0);
	assert_limit("e / limit 1tbit", 1000000000000, 1000000000, 0);
	assert_limit("e / limit 1_000Kbit burst 1", 1000000, 1, 0);
	assert_limit("e / limit 0.5gbit each flow", 500000000, 6250000, 1);
	assert_limit("e / limit rate each flow burst size, mark 1", 1500000, 64000, 1);
	assert_limit("e / limit 12500bit burst 1G", 12500, 1000000000, 0);
}

TEST_THAT(limits_that_are_written_alike_are_one)
{
	const struct ink_machine_view *v = view_of(
		HEAD "event f = udp\nevent g = icmp\nevent h = sctp\nabsent: h -> a / limit 1mbit each flow\n"
		     "a: e / limit 1mbit | f / limit 1000kbit burst 16384 | g / limit 1mbit burst 2k");

	assert_int_equal(v->limits, 3);
	assert_true(v->limit[0].each_flow && v->limit[2].burst == 2000);
}

TEST_THAT(as_many_limits_as_there_may_be_and_one_more)
{
	enum { MOST = 64 };

	for (unsigned n = MOST; n <= MOST + 1; n++) {
		begin("machine m\nkey pair\n");
		for (unsigned i = 1; i <= n; i++)
			add("event e%u = port %u\n", i, i);
		add("absent: e1 -> a\na: timeout 1s -> absent\na: e1 / limit 1kbit\n");
		for (unsigned i = 2; i <= n; i++)
			add("| e%u / limit %ukbit\n", i, i);
		machine = make_of(draft.text);
		assert_int_equal(machine != NULL, n == MOST);
		if (machine)
			assert_int_equal(ink_machine_view(machine)->limits, MOST);
		else
			assert_string_equal(told[0].text, "more than 64 different limits");
		ink_machine_free(machine);
		machine = NULL;
	}
	assert_int_equal(told[0].line, 2 + MOST + 1 + 3 + MOST);
	assert_int_equal(told[0].column, 9);
}

/* Where a row leaves its repetition, it does what it does elsewhere, unless that has the same kind of action. */
TEST_THAT(leaving_has_the_priority_and_the_limit_of_its_row_or_others)
{
	static const char form[] = HEAD "repeat 2 s: e -> up / %s | timeout 1s -> absent\ntop: e\n";
	const struct ink_machine_view *v;

	begin("");
	add(form, "limit 1mbit, priority 3, leaving mark 1");
	v = view_of(draft.text);
	for (unsigned i = 1; i < v->actions; i++) {
		assert_int_equal(v->action_more[i].limit, 1);
		assert_int_equal(v->action_more[i].priority, 3);
	}
	begin("");
	add(form, "limit 1mbit, priority 3, leaving class 1:5, leaving limit 2mbit");
	v = view_of(draft.text);
	assert_int_equal(v->actions, 3);
	for (unsigned i = 1; i < v->actions; i++) {
		const struct ink_action_more *m = &v->action_more[i];

		if (m->prioritizes == INK_CLASS)
			assert_true(m->priority == 0x10005 && v->limit[m->limit - 1].rate == 2000000);
		else
			assert_true(m->priority == 3 && v->limit[m->limit - 1].rate == 1000000);
	}
}

/* The words of limits are younger than states of that name. */
TEST_THAT(states_can_be_called_as_the_words_of_limits)
{
	assert_int_equal(view_of(HEAD "a: e -> burst / limit 1mbit\nburst: e -> each / limit 1mbit\n"
				      "each: e -> absent / limit 1mbit each flow\n")
				 ->limits,
			 2);
}

TEST_THAT(mistakes_about_priorities_and_classes_are_told_with_their_place)
{
	assert_error("a: e / priority^", "expected the priority, a number, found the end");
	assert_error("a: e / priority ^high", "expected the priority, a number, found 'high'");
	assert_error("a: e / priority ^4294967296", "a priority is 0 to 4294967295");
	assert_error("param p = 5G\na: e / priority ^p", "a priority is 0 to 4294967295; 'p' is 5G");
	assert_error("a: e / priority 1^:2", "expected ',', '|' or a new line with another item, found ':'");
	assert_error("a: e / class^", "expected a class such as 1:10, found the end");
	assert_error("a: e / class ^bulk", "expected a class such as 1:10, found 'bulk'");
	assert_error("param bulk = 1:20\na: e / class ^bulc", "found 'bulc'; did you mean 'bulk'?");
	assert_error("a: e / class ^20",
		     "'20' is not a class (1:10, as tc writes it: hexadecimal, 1:0 to ffff:ffff)");
	assert_error("a: e / class ^0:20", "'0:20' is not a class");
	assert_error("a: e / class ^1:", "'1:' is not a class");
	assert_error("a: e / class ^:20", "':20' is not a class");
	assert_error("a: e / class ^1:20000", "'1:20000' is not a class");
	assert_error("a: e / class ^10000:2", "'10000:2' is not a class");
	assert_error("a: e / class ^1:2:3", "'1:2:3' is not a class");
	assert_error("param p = 6\na: e / class ^p", "'p' is not a class (1:10, as tc writes it");
	assert_error("a: e / priority 1, ^priority 2", "two priorities in one row: a packet has one of them");
	assert_error("a: e / class 1:1, ^class 1:2", "two classes in one row: a packet has one of them");
	assert_error("a: e / priority 1, ^class 1:2",
		     "'priority' and 'class' in one row: a packet has one of them");
	assert_error("b: timeout 1s -> absent / ^priority 1",
		     "a time-out has no packet: it can only count by numbers and move, not 'priority'");
	assert_error("b: within 1s -> absent / ^class 1:1", "not 'class'");
	assert_error("a: e / ^priorty 1", "found 'priorty'; did you mean 'priority'?");
	assert_error("a: e / ^clas 1:1", "found 'clas'; did you mean 'class'?");
}

TEST_THAT(mistakes_about_limits_are_told_with_their_place)
{
	assert_error("a: e / limit^", "expected a rate such as 500kbit, 1mbit, 1.5gbit, found the end");
	assert_error("a: e / limit ^slow", "expected a rate such as 500kbit, 1mbit, 1.5gbit, found 'slow'");
	assert_error("param slow = 1mbit\na: e / limit ^slwo", "found 'slwo'; did you mean 'slow'?");
	assert_error("a: e / limit ^1", "'1' is not a rate (500kbit, 1mbit, 1.5gbit)");
	assert_error("a: e / limit ^1mbps", "'1mbps' is not a rate");
	assert_error("a: e / limit ^999bit", "rates are 1kbit to 1tbit");
	assert_error("a: e / limit ^0mbit", "rates are 1kbit to 1tbit");
	assert_error("a: e / limit ^2tbit", "rates are 1kbit to 1tbit");
	assert_error("param p = 64k\na: e / limit ^p",
		     "'p' is not a rate (500kbit, 1mbit, 1.5gbit); 'p' is 64k");
	assert_error("param p = ^2tbit\na: e / limit p",
		     "'2tbit' is no number, time, share, rate, amount or class");
	assert_error("param p = 1mbit\nevent f = port ^p", "'p' is not a whole number; 'p' is 1mbit");
	assert_error("a: e / limit 1mbit each^", "expected 'flow', found the end");
	assert_error("a: e / limit 1mbit each ^packet", "expected 'flow', found 'packet'");
	assert_error("a: e / limit 1mbit burst^", "expected the burst, in bytes, found the end");
	assert_error("a: e / limit 1mbit burst ^much", "expected the burst, in bytes, found 'much'");
	assert_error("a: e / limit 1mbit burst ^0", "a burst is 1 to 1000000000 bytes");
	assert_error("a: e / limit 1mbit burst ^1000000001", "a burst is 1 to 1000000000 bytes");
	assert_error("param p = 2G\na: e / limit 1mbit burst ^p",
		     "a burst is 1 to 1000000000 bytes; 'p' is 2G");
	assert_error("a: e / limit 1mbit burst ^10ms", "'10ms' is not a whole number");
	assert_error("a: e / limit 1mbit, ^limit 2mbit", "two limits in one row");
	assert_error("a: e / ^limit 1mbit, drop", "'drop' and 'limit' in one row");
	assert_error("a: e / drop, ^limit 1mbit", "'drop' and 'limit' in one row");
	assert_error("b: timeout 1s -> absent / ^limit 1mbit",
		     "a time-out has no packet: it can only count by numbers and move, not 'limit'");
	assert_error("a: e / ^limt 1mbit", "found 'limt'; did you mean 'limit'?");
	assert_error(
		"a: e / ^burst 5",
		"expected an action: report, count, drop, pass, mark, priority, class, limit, save, tell or new initiator");
	assert_error("repeat 2 s: e -> up / drop, leaving ^limit 1mbit\ntop: e",
		     "'drop' and 'limit' in one row");
}

int main(void)
{
	return run_suite(&(struct suite){.after_each = untrack});
}
