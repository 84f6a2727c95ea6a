/* SPDX-License-Identifier: BSD-2-Clause */
/* Told events in machines that remember something, or look at their counters. */
#include "tests/set_help.h"

/* A machine that tells this with each packet of its flows, and then the machine that is told. */
static void open_told(const char *key, const char *tells, const char *machine_told, struct ink_options o)
{
	begin("");
	add("machine teller\nkey %s\nevent e = any\n", key);
	add("absent : e -> on / %s\non : e / %s | timeout 1h -> absent\n%s", tells, tells, machine_told);
	open_set(draft.text, o, (struct ink_track_options){.seed = 1}, 1);
}

static void give_times(struct ink_packet p, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		give_set(&p, 1, 1);
}

static void assert_counted(const char *name, uint64_t n)
{
	assert_int_equal(counted_by(1, name), n);
}

/* ----------------------------------------------------------------- initiator */

/* The high end begins, and the low one sends the second of four packets. */
static void give_ends(const char *tells)
{
	open_told("src", tells,
		  "machine conn\nkey connection\nremember initiator\nevent e = told\nabsent : e -> on\n"
		  "on : e from initiator / count own | e from responder / count other\n"
		  "| timeout 1h -> absent\n",
		  exact);
	for (unsigned i = 0; i < 4; i++)
		give_times(packet(INK_PROTOCOL_TCP, ACK, i != 1), 1);
}

TEST_THAT(a_told_event_comes_from_the_end_that_sent_the_packet)
{
	give_ends("tell conn e");
	assert_counted("own", 2);
	assert_counted("other", 1);
}

TEST_THAT(a_reversed_event_comes_from_the_other_end)
{
	give_ends("tell conn e, tell conn e reversed");
	assert_counted("own", 3);
	assert_counted("other", 4);
}

/* ---------------------------------------------------------------------- tail */

/*
 * The payload begins as a start code ends, and ends as one begins. The told steps come first, and store how the
 * packet ends: its own event must not take that for the end of the packet before.
 */
TEST_THAT(a_packet_does_not_follow_its_own_tail)
{
	static const uint8_t payload[] = {0, 0, 0x18, 0xff, 0xff, 0, 0, 1};
	struct ink_packet p = packet(INK_PROTOCOL_UDP, 0, 0);

	p.payload = payload;
	p.payload_captured = p.payload_wire = sizeof payload;
	open_told("flow", "tell video seen, tell video seen",
		  "machine video\nkey flow\nremember tail\n"
		  "event seen = told\nevent b = picture B\nevent other = udp\n"
		  "absent : seen -> on\non : seen | b / count pictures | other | timeout 1h -> absent\n",
		  exact);
	give_times(p, 1);
	assert_counted("pictures", 0);
	give_times(p, 3);
	assert_counted("pictures", 3);
}

/* ------------------------------------------------------------------ counters */

TEST_THAT(a_condition_sees_what_told_steps_of_the_same_packet_counted)
{
	open_told("src", "tell counting knock, tell counting knock",
		  "machine counting\nkey src\nevent knock = told\nevent many = knocks >= 4\nevent few = any\n"
		  "absent : knock -> on / count knocks\non : knock / count knocks | many / count many\n"
		  "| few / count few | timeout 1h -> absent\n",
		  exact);
	give_times(packet(INK_PROTOCOL_UDP, 0, 0), 5);
	assert_counted("knocks", 10);
	assert_counted("few", 1);
	assert_counted("many", 4);
}

/* --------------------------------------------------------------------- start */

/* The state has no row for it, so its entry belongs to another flow. */
TEST_THAT(a_told_start_event_begins_a_flow_where_there_is_an_entry)
{
	open_told("src", "tell flows begin",
		  "machine flows\nkey src\nstart event begin = told\n"
		  "absent : begin -> on / count begun\non : timeout 1h -> absent\n",
		  (struct ink_options){.kind = INK_LINE});
	give_times(packet(INK_PROTOCOL_UDP, 0, 0), 2);
	assert_counted("begun", 2);
}

int main(void)
{
	return run_suite(&(struct suite){.after_each = close_set});
}
