/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The module for Redis and Valkey, in a server of the tests' own (redis_fake.h):
 * every command beside docs/cluster.md, tables beside local ones that get the same
 * in the order of time, replicas beside masters, and hostile bytes.
 */
#include <inttypes.h>

#include <inkling/inkling.h>
#include <inkling/machine.h>

#include "tests/random.h"
#include "tests/redis_blob.h"
#include "tests/redis_fake.h"
#include "tests/test.h"

/* One state more with each event, and time-outs; `b` of a flow in the last state is reported. */
static const char climb[] = "machine climb\n"
			    "key src\n"
			    "event a = tcp\n"
			    "event b = udp\n"
			    "absent : a -> one / count begun\n"
			    "one : a -> two / report \"{src} is two\" | b -> absent\n"
			    "    | timeout 8s -> absent / count gone\n"
			    "two : b -> one / report \"{src} fell\", count fell | a | timeout 16s -> one\n"
			    "unsure : * / pass\n";

enum { SECOND = 1000000000 };
static const uint64_t START = UINT64_C(1763524800) * SECOND;

static struct fake *replica, *server_here;

static int begin(void **state)
{
	(void)state;
	replica = fake_new(NULL);
	server_here = fake_new(replica);
	return 0;
}

static int end(void **state)
{
	(void)state;
	fake_free(server_here);
	fake_free(replica);
	if (fake_allocated()) {
		print_error("%llu bytes are left\n", (unsigned long long)fake_allocated());
		return 1;
	}
	return 0;
}

static void assert_same_on_replica(const char *key)
{
	assert_true(fake_digest(server_here, key) == fake_digest(replica, key));
}

/* The keys of all tests go, on both. */
static int clear(void **state)
{
	(void)state;
	for (const char *key = "k"; key; key = *key == 'k' ? "copy" : NULL) {
		fake_delete(server_here, key);
		fake_delete(replica, key);
	}
	fake_delete(server_here, "reports");
	fake_delete(replica, "reports");
	fake_set_flags(server_here, 0);
	fake_set_limit(64 << 20);
	if (fake_replica_errors)
		fail_msg("a replica could not do what its master did");
	return 0;
}

#define ANSWERS(expected, ...) assert_string_equal(fake_do(server_here, __VA_ARGS__), expected)

/* Their first words; the rest is for people. */
#define REFUSES(expected, ...)                                                                               \
	do {                                                                                                 \
		uint64_t replicated_ = fake_replicated(server_here);                                         \
		const char *got_ = fake_do(server_here, __VA_ARGS__);                                        \
		if (strncmp(got_, "-" expected, strlen("-" expected)) != 0)                                  \
			fail_msg("%s: %s", #__VA_ARGS__, got_);                                              \
		assert_int_equal(fake_replicated(server_here), replicated_);                                 \
	} while (0)

static void create(const char *more)
{
	char words[200];

	snprintf(words, sizeof words, "INK.CREATE k MACHINE TEXT %%1 FLOWS 10000%s", more);
	ANSWERS("OK", words, fake_text(climb));
}

/* ------------------------------------------------------------------------- making one */

TEST_THAT(a_table_of_states_is_set_and_asked)
{
	ANSWERS("OK", "INK.CREATE k STATES 4 FLOWS 1000");
	ANSWERS("[1 1]", "INK.INSERT k KEYS alice 1 bob 2");
	ANSWERS("[1 2 -1]", "INK.PEEK k KEYS alice bob carol");
	ANSWERS("[1 1]", "INK.SET k KEYS carol 3 bob 0");
	ANSWERS("[1 0]", "INK.MODIFY k KEYS bob 1 dave 1");
	ANSWERS("[1 0]", "INK.DEL k KEYS alice alice");
	ANSWERS("[-1 1 3]", "INK.LOOKUP k KEYS alice bob carol");
	ANSWERS("[0 0 1 1 2 0 3 1 unsure 0 total 2]", "INK.CENSUS k");
	ANSWERS("[1 1]", "INK.INSERT k IDS 18446744073709551615 3 1234567890123456789 0");
	ANSWERS("[3 0]", "INK.PEEK k IDS 18446744073709551615 1234567890123456789");
	assert_same_on_replica("k");
}

TEST_THAT(a_command_that_is_wrong_changes_nothing)
{
	ANSWERS("OK", "INK.CREATE k STATES 4 FLOWS 1000");
	REFUSES("ERR there are only 4 states", "INK.INSERT k KEYS alice 1 bob 4");
	REFUSES("ERR there is no state 'opening'", "INK.INSERT k KEYS alice opening");
	REFUSES("ERR each item", "INK.SET k KEYS alice");
	REFUSES("ERR KEYS or IDS", "INK.SET k alice 1");
	REFUSES("ERR IDS: 'alice' is no number", "INK.SET k IDS alice 1");
	REFUSES("ERR IDS: '18446744073709551616'", "INK.SET k IDS 18446744073709551616 1");
	REFUSES("ERR the table has no machine", "INK.STEP k KEYS alice 0");
	REFUSES("ERR the table has no machine", "INK.STEPS k x");
	REFUSES("ERR the table has no machine", "INK.MACHINE k");
	REFUSES("ERR AT", "INK.PEEK k AT 5 KEYS alice");
	REFUSES("ERR time: 'x'", "INK.TICK k x");
	REFUSES("ERR wrong number", "INK.TICK k");
	ANSWERS("[-1 -1]", "INK.PEEK k KEYS alice bob");
	REFUSES("NOKEY", "INK.PEEK nothing KEYS alice");
	REFUSES("NOKEY", "INK.INSERT nothing KEYS alice 1");
	REFUSES("BUSYKEY", "INK.CREATE k STATES 4 FLOWS 1000");
}

TEST_THAT(options_that_contradict_themselves_are_refused)
{
	REFUSES("ERR one of MACHINE and STATES", "INK.CREATE k FLOWS 1000");
	REFUSES("ERR one of MACHINE and STATES", "INK.CREATE k STATES 4 MACHINE tcp FLOWS 1000");
	REFUSES("ERR FLOWS or BYTES", "INK.CREATE k STATES 4");
	REFUSES("ERR there is no option 'COLOUR'", "INK.CREATE k STATES 4 FLOWS 9 COLOUR red");
	REFUSES("ERR an argument is missing", "INK.CREATE k STATES 4 FLOWS 9 KIND");
	REFUSES("ERR STATES: 256", "INK.CREATE k STATES 256 FLOWS 9");
	REFUSES("ERR KIND", "INK.CREATE k STATES 4 FLOWS 9 KIND round");
	REFUSES("ERR FULL", "INK.CREATE k STATES 4 FLOWS 9 FULL never");
	REFUSES("ERR ERROR: '2'", "INK.CREATE k STATES 4 FLOWS 9 ERROR 2");
	REFUSES("ERR AGE", "INK.CREATE k STATES 4 FLOWS 9 AGE 3");
	REFUSES("ERR TIMEOUT is for STATES", "INK.CREATE k MACHINE tcp FLOWS 9 TIMEOUT 5");
	REFUSES("ERR HELD and OUTBOX", "INK.CREATE k MACHINE tcp FLOWS 9 OUTBOX 5");
	REFUSES("ERR HOLD is for MACHINE", "INK.CREATE k STATES 4 FLOWS 9 HOLD 5");
	REFUSES("ERR HOLD: linked", "INK.CREATE k MACHINE scan NAME scan FLOWS 9 HOLD 5");
	REFUSES("ERR the text has several", "INK.CREATE k MACHINE scan FLOWS 9");
	REFUSES("ERR the text has no machine", "INK.CREATE k MACHINE scan NAME tcp FLOWS 9");
	REFUSES("ERR MACHINE: there is no bundled", "INK.CREATE k MACHINE nosuch FLOWS 9");
	REFUSES("ERR machine:1:1:", "INK.CREATE k MACHINE TEXT machin FLOWS 9");
	REFUSES("NOTSUP", "INK.CREATE k STATES 4 FLOWS 9 KIND kbf TIMEOUT 5 AGE 1");
	REFUSES("LIMIT", "INK.CREATE k STATES 4 FLOWS 100000000");
	REFUSES("LIMIT", "INK.PLAN STATES 4 FLOWS 100000000");
	REFUSES("NOKEY", "INK.INFO k");
}

TEST_THAT(a_plan_tells_what_a_table_would_be)
{
	char *plan = strdup(fake_do(server_here, "INK.PLAN STATES 15 FLOWS 1000000 TIMEOUT 3200"));

	assert_non_null(strstr(plan, "[kind line states 15 flows 1000000 bytes 2812"));
	assert_non_null(strstr(plan, "age_bits 1 tick 100000000]"));
	free(plan);
	assert_non_null(strstr(fake_do(server_here, "INK.PLAN MACHINE tcp BYTES 1048576 KIND compact"),
			       "kind compact"));
	REFUSES("ERR wrong number", "INK.PLAN");
}

TEST_THAT(a_table_of_every_kind_is_made_saved_and_loaded)
{
	static const char *const kinds[] = {"line", "compact", "dleft", "exact", "stateful", "direct", "kbf"};
	char words[200];

	for (size_t i = 0; i < COUNT(kinds); i++) {
		struct fake_text dump;

		snprintf(words, sizeof words, "INK.CREATE k STATES 4 FLOWS 1000 KIND %s", kinds[i]);
		ANSWERS("OK", words);
		ANSWERS("[1 1]", "INK.INSERT k KEYS alice 1 bob 2");
		ANSWERS("[1 2]", "INK.LOOKUP k KEYS alice bob");
		dump = fake_dump(server_here, "k");
		assert_true(fake_restore(server_here, "copy", dump, 0));
		assert_true(fake_digest(server_here, "copy") == fake_digest(server_here, "k"));
		ANSWERS("[1 2]", "INK.LOOKUP copy KEYS alice bob");
		free((void *)(uintptr_t)dump.at);
		assert_same_on_replica("k");
		clear(NULL);
	}
}

TEST_THAT(a_time_out_of_states_fires_in_its_range)
{
	struct fake_text time[3];
	char text[3][24];

	ANSWERS("OK", "INK.CREATE k STATES 2 FLOWS 1000 TIMEOUT 1000 FULL replace");
	for (int i = 0; i < 3; i++) {
		snprintf(text[i], sizeof text[i], "%" PRIu64, START + (uint64_t)i * 1100000000);
		time[i] = fake_text(text[i]);
	}
	ANSWERS("[1 1]", "INK.INSERT k AT %1 KEYS rests 1 moves 0", time[0]);
	ANSWERS("[0]", "INK.LOOKUP k AT %1 KEYS moves", time[1]);
	ANSWERS("[1 0]", "INK.PEEK k KEYS rests moves");
	ANSWERS("[1 1]", "INK.TICK k %1", time[2]);
	ANSWERS("[-1 0]", "INK.PEEK k KEYS rests moves");
	ANSWERS("[1 0]", "INK.TICK k %1", time[0]); /* the past changes nothing */
	assert_non_null(strstr(fake_do(server_here, "INK.COUNTERS k"), " expired 1 "));
	assert_same_on_replica("k");
}

TEST_THAT(a_lookup_is_replicated_only_if_it_touches)
{
	uint64_t before;

	ANSWERS("OK", "INK.CREATE k STATES 2 FLOWS 1000");
	before = fake_replicated(server_here);
	ANSWERS("[-1]", "INK.LOOKUP k KEYS alice");
	assert_int_equal(fake_replicated(server_here), before);
	clear(NULL);
	ANSWERS("OK", "INK.CREATE k STATES 2 FLOWS 1000 TIMEOUT 1000");
	before = fake_replicated(server_here);
	ANSWERS("[-1]", "INK.LOOKUP k KEYS alice");
	assert_int_equal(fake_replicated(server_here), before + 1);
}

/* It has been made by the master. */
TEST_THAT(a_replica_makes_a_table_beyond_its_own_limit)
{
	long long limit = fake_set_limit(100000);

	REFUSES("LIMIT", "INK.CREATE k STATES 4 FLOWS 1000000");
	fake_set_flags(server_here, 1 << 12); /* REPLICATED */
	ANSWERS("OK", "INK.CREATE k STATES 4 FLOWS 1000000 SEED 5 LIMIT 67108864");
	fake_set_limit(limit);
}

/* ------------------------------------------------------------------------------ steps */

/* The master starts anew, from what it saved. */
static void reload(void)
{
	struct fake_text dump = fake_dump(server_here, "k");

	assert_true(fake_restore(server_here, "k", dump, 1));
	free((void *)(uintptr_t)dump.at);
}

static char *blob_text(const struct sent *s, struct fake_text *text)
{
	uint8_t *at = malloc(blob_room(s));

	*text = (struct fake_text){at, blob_write(s, at)};
	return (char *)at;
}

static const char *send_to(struct fake *f, const struct sent *s)
{
	struct fake_text text;
	char *blob = blob_text(s, &text);
	const char *answer = fake_do(f, "INK.STEPS k %1", text);

	free(blob);
	return answer;
}

#define SENT(expected, ...) assert_string_equal(send_to(server_here, &(struct sent){__VA_ARGS__}), expected)

TEST_THAT(a_step_answers_with_its_move)
{
	create("");
	ANSWERS("[[-1 0 1 1] [-1 0 1 1]]", "INK.STEP k KEYS alice a bob a");
	ANSWERS("[[0 1 3 1] [1 0 5 1] [0 -1 0 1]]", "INK.STEP k KEYS alice a alice b alice b");
	ANSWERS("[one 1 two 0 unsure 0 total 1]", "INK.CENSUS k");
	assert_non_null(strstr(fake_do(server_here, "INK.COUNTERS k"), "machine [begun 2 gone 0 fell 1]"));
	assert_same_on_replica("k");
}

TEST_THAT(a_blob_of_keys_does_what_its_steps_do)
{
	const char *const keys[] = {"alice", "bob", "carol", "al"};
	const uint16_t events[] = {0, 0, 1, 0}, again[] = {0, 1, 0, 0};

	create("");
	send_to(server_here,
		&(struct sent){.time = START, .keys = keys, .events = events, .n = 4, .answers = 1});
	assert_memory_equal(fake_bulk(server_here, 0).at, "\0\0\xfe\0", 4);
	ANSWERS("[0 0 -1 0]", "INK.PEEK k KEYS alice bob carol al");
	send_to(server_here,
		&(struct sent){.time = START, .keys = keys, .events = again, .n = 4, .answers = 2});
	assert_int_equal(fake_bulk(server_here, 0).n, 24 * 3);
	assert_same_on_replica("k");
}

TEST_THAT(a_move_of_a_blob_has_the_bytes_of_the_page)
{
	const uint64_t ids[] = {id_number(1), id_number(2), id_number(1)};
	const uint16_t events[] = {0, 1, 0};
	const uint8_t *at;

	create("");
	send_to(server_here, &(struct sent){.time = START,
					    .ids = ids,
					    .events = events,
					    .n = 3,
					    .answers = 2,
					    .sensor = 9,
					    .epoch = 4,
					    .sequence = 1});
	assert_int_equal(fake_bulk(server_here, 0).n, 2 * 24);
	at = (const uint8_t *)fake_bulk(server_here, 0).at + 24;
	assert_int_equal(from_little(at, 8), 1);      /* sequence */
	assert_int_equal(from_little(at + 8, 4), 2);  /* place */
	assert_int_equal(from_little(at + 12, 2), 3); /* action */
	assert_int_equal(from_little(at + 14, 2), 0); /* from one */
	assert_int_equal(from_little(at + 16, 2), 1); /* to two */
	assert_int_equal(from_little(at + 18, 2), 0);
	assert_int_equal(from_little(at + 20, 4), 0);
}

/* A table of the library's with the same options, fed with the same. */
static struct ink_table *local_table(struct ink_machine **machine, enum ink_full full, uint64_t flows)
{
	struct ink_options o = {.size = sizeof o, .flows = flows, .age_bits = 1, .full = full, .seed = 7};
	const struct ink_machine_view *v;
	struct ink_table *t;

	*machine = ink_machine_make(climb, strlen(climb), NULL);
	assert_non_null(*machine);
	v = ink_machine_view(*machine);
	o.states = v->rules->states;
	o.rules = v->rules;
	t = ink_create(&o, NULL);
	assert_non_null(t);
	return t;
}

static void assert_same_states(struct ink_table *t, const uint64_t *ids, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		char digits[24], expected[16];
		struct fake_text id;

		snprintf(digits, sizeof digits, "%" PRIu64, ids[i]);
		snprintf(expected, sizeof expected, "[%d]", ink_peek(t, ids[i]));
		id = fake_text(digits);
		ANSWERS(expected, "INK.PEEK k IDS %1", id);
	}
}

static void assert_same_census(struct ink_table *t)
{
	struct ink_counts c;
	char expected[200];

	ink_census(t, &c);
	snprintf(expected, sizeof expected,
		 "[one %" PRIu64 " two %" PRIu64 " unsure %" PRIu64 " total %" PRIu64 "]", c.state[0],
		 c.state[1], c.unsure, c.total);
	ANSWERS(expected, "INK.CENSUS k");
}

enum { BURST = 50, FLOWS = 400 };

struct burst {
	uint64_t time, ids[BURST];
	uint16_t events[BURST];
	uint32_t n;
};

static void draw_burst(struct burst *b, uint64_t time, uint64_t flows)
{
	b->time = time;
	b->n = 1 + random_below(BURST);
	for (uint32_t i = 0; i < b->n; i++) {
		b->ids[i] = id_number(random_below(flows));
		b->events[i] = (uint16_t)random_below(2);
	}
}

static void step_local(struct ink_table *t, uint64_t tick, const struct burst *b)
{
	struct ink_move moves[BURST];
	struct ink_batch batch = {.n = b->n, .ids = b->ids, .events = b->events, .moves = moves};

	ink_tick(t, b->time / tick, NULL);
	ink_step_batch(t, &batch);
}

TEST_THAT(blobs_do_what_a_local_table_does)
{
	struct ink_machine *machine;
	struct ink_table *t = local_table(&machine, INK_UNSURE, 10000);
	uint64_t tick = ink_machine_view(machine)->tick, time = START;
	uint64_t ids[FLOWS];

	create(" SEED 7");
	for (uint64_t i = 0; i < FLOWS; i++)
		ids[i] = id_number(i);
	for (uint64_t i = 1; i <= scaled(2000); i++) {
		struct burst b;

		draw_burst(&b, time += random_below(600000000), FLOWS);
		step_local(t, tick, &b);
		send_to(server_here, &(struct sent){.time = b.time,
						    .ids = b.ids,
						    .events = b.events,
						    .n = b.n,
						    .sensor = 1,
						    .sequence = i});
	}
	assert_same_census(t);
	assert_same_states(t, ids, FLOWS);
	assert_same_on_replica("k");
	ink_free(t);
	ink_machine_free(machine);
}

TEST_THAT(a_full_table_counts_what_it_refuses)
{
	uint64_t ids[3000];
	uint16_t events[3000] = {0};

	ANSWERS("OK", "INK.CREATE k MACHINE TEXT %1 FLOWS 1000 FULL refuse", fake_text(climb));
	for (uint64_t i = 0; i < COUNT(ids); i++)
		ids[i] = id_number(i);
	send_to(server_here,
		&(struct sent){.time = START, .ids = ids, .events = events, .n = COUNT(ids), .answers = 1});
	assert_int_equal(fake_bulk(server_here, 0).n, COUNT(ids));
	assert_non_null(memchr(fake_bulk(server_here, 0).at, 253, COUNT(ids)));
	assert_null(strstr(fake_do(server_here, "INK.COUNTERS k"), "refused 0"));
	assert_same_on_replica("k");
}

TEST_THAT(what_is_no_blob_is_refused)
{
	const uint64_t ids[] = {1, 2};
	const uint16_t events[] = {0, 0};
	const struct sent good = {
		.time = START, .ids = ids, .events = events, .n = 2, .sensor = 1, .sequence = 1};
	struct fake_text text;
	uint8_t *at;
	static const struct {
		size_t place;
		uint8_t value;
		const char *says;
	} wrong[] = {
		{0, 'i', "begin with INKs"},
		{4, 2, "byte 4"},
		{5, 0, "byte 5"},
		{5, 3, "byte 5"},
		{6, 3, "byte 6"},
		{7, 1, "reserved"},
		{8, 3, "10 n"},
		{8, 1, "10 n"},
		{11, 1, "byte 8"},
		{15, 1, "reserved"},
		{24, 0, "a sensor"},
		{40, 0, "begin with 1"},
		{72, 2, "an event"},
		{48, 1, "byte 48"},
		{5, 2, "last key"},
	};

	create("");
	for (size_t i = 0; i < COUNT(wrong); i++) {
		const char *got;

		at = (uint8_t *)blob_text(&good, &text);
		at[wrong[i].place] = wrong[i].value;
		got = fake_do(server_here, "INK.STEPS k %1", text);
		if (strncmp(got, "-ERR blob:", 10) != 0 || !strstr(got, wrong[i].says))
			fail_msg("byte %zu: %s", wrong[i].place, got);
		free(at);
	}
	at = (uint8_t *)blob_text(&good, &text);
	for (size_t n = 0; n < text.n; n++)
		REFUSES("ERR blob", "INK.STEPS k %1", ((struct fake_text){at, n}));
	free(at);
	assert_non_null(strstr(fake_do(server_here, "INK.COUNTERS k"), "steps 0 "));
}

TEST_THAT(reports_go_to_a_stream_of_the_same_names_on_the_replica)
{
	const uint64_t ids[] = {5, 5, 5};
	const uint16_t events[] = {0, 0, 1};
	struct fake_text text;
	char *blob = blob_text(&(struct sent){.time = START, .ids = ids, .events = events, .n = 3}, &text);

	create("");
	fake_do(server_here, "INK.STEPS k REPORTS reports %1", text);
	assert_int_equal(fake_stream_length(server_here, "reports"), 2);
	assert_string_equal(
		fake_stream_entry(server_here, "reports", 0),
		"1763524800000-1 id 5 machine climb report {src} is two from one to two event a time "
		"1763524800000000000 sensor 0");
	fake_do(server_here, "INK.STEPS k REPORTS reports %1", text);
	reload();
	fake_delete(server_here, "reports"); /* the names go on, though no entry is left */
	fake_delete(replica, "reports");
	fake_do(server_here, "INK.STEPS k REPORTS reports %1", text);
	fake_do(server_here, "INK.STEPS k REPORTS reports %1", text);
	assert_int_equal(fake_stream_length(server_here, "reports"), 4);
	for (unsigned i = 0; i < 4; i++)
		assert_string_equal(fake_stream_entry(server_here, "reports", i),
				    fake_stream_entry(replica, "reports", i));
	REFUSES("WRONGTYPE REPORTS", "INK.STEPS k REPORTS k %1", text);
	REFUSES("ERR key", "INK.STEPS k report reports %1", text);
	free(blob);
}

/* ----------------------------------------------------------------------------- portions */

static void send_flows(uint64_t n, uint64_t time)
{
	uint64_t *ids = malloc(n * sizeof *ids);
	uint16_t *events = calloc(n, sizeof *events);

	for (uint64_t i = 0; i < n; i++)
		ids[i] = id_number(i);
	send_to(server_here, &(struct sent){.time = time, .ids = ids, .events = events, .n = (uint32_t)n});
	free(ids);
	free(events);
}

static long long tick_to(uint64_t time, long long *expired)
{
	char digits[24];
	int done;

	snprintf(digits, sizeof digits, "%" PRIu64, time);
	done = fake_do(server_here, "INK.TICK k %1", fake_text(digits))[1] == '1';
	*expired += fake_number(server_here);
	return done;
}

TEST_THAT(a_large_table_ticks_in_portions_and_its_replica_at_the_same_cells)
{
	const uint64_t later = START + UINT64_C(40) * SECOND;
	long long expired = 0;
	int portions = 1;

	ANSWERS("OK", "INK.CREATE k MACHINE TEXT %1 FLOWS 9000000", fake_text(climb)); /* three portions */
	send_flows(50000, START);
	assert_false(tick_to(later, &expired));
	assert_non_null(strstr(fake_do(server_here, "INK.INFO k"), "lagging 1 "));
	assert_same_on_replica("k");
	reload(); /* in the middle */
	for (; !tick_to(later, &expired); portions++)
		assert_same_on_replica("k");
	for (int i = 1; i < 4; i++) /* a jump takes one look, so some wait for the next */
		while (!tick_to(later + (uint64_t)(i * 10) * SECOND, &expired))
			;
	assert_in_range(portions, 2, 10);
	assert_int_equal(expired, 50000);
	assert_non_null(strstr(fake_do(server_here, "INK.INFO k"), "lagging 0 "));
	assert_non_null(strstr(fake_do(server_here, "INK.COUNTERS k"), "gone 50000 "));
	assert_same_on_replica("k");
}

/* Full, with every policy: after each burst one side is loaded anew, so all that a table knows has to be saved. */
TEST_THAT(full_tables_that_are_loaded_do_what_others_do)
{
	static const char *const shapes[] = {"FULL unsure",
					     "FULL refuse",
					     "FULL replace",
					     "FULL unsure KIND compact",
					     "FULL replace KIND compact",
					     "FULL unsure KIND dleft",
					     "FULL unsure KIND exact LIMIT 65536",
					     "FULL unsure AGE 2",
					     "FULL replace ERROR 0.0001"};

	for (size_t i = 0; i < COUNT(shapes); i++) {
		uint64_t time = START;
		char words[200];

		snprintf(words, sizeof words, "INK.CREATE k MACHINE TEXT %%1 FLOWS 1000 %s", shapes[i]);
		ANSWERS("OK", words, fake_text(climb));
		for (uint64_t j = 0; j < scaled(200); j++) {
			struct burst b;

			draw_burst(&b, time += random_below(700000000), 4000);
			send_to(server_here,
				&(struct sent){.time = b.time, .ids = b.ids, .events = b.events, .n = b.n});
			fake_do(server_here, "INK.LOOKUP k KEYS alice bob carol");
			fake_do(server_here, "INK.SET k KEYS alice 1 bob 0 carol 1");
			if (j % 3 == 0)
				reload();
			assert_same_on_replica("k");
		}
		clear(NULL);
	}
}

/* A loaded table sweeps once for overflow flags that it may have; that must not make it lag. */
TEST_THAT(a_large_table_that_was_loaded_is_at_the_same_ticks_as_one_that_was_not)
{
	ANSWERS("OK", "INK.CREATE k MACHINE TEXT %1 FLOWS 9000000", fake_text(climb));
	send_flows(100, START);
	reload();
	for (uint64_t i = 1; i < 60; i++) {
		send_flows(50, START + i * 300000000);
		assert_same_on_replica("k");
	}
}

/* Each of the blobs that a command releases is 10 s later: every one of these ticks sweeps a million cells. */
TEST_THAT(a_command_that_releases_many_ticks_leaves_some_to_the_next)
{
	const char *const keys[] = {"alice"};
	const uint16_t events[] = {0};
	long long expired = 0;
	int commands = 1;

	ANSWERS("OK", "INK.CREATE k MACHINE TEXT %1 FLOWS 1000000 HOLD 1000000", fake_text(climb));
	for (uint64_t i = 1; i < 30; i++)
		send_to(server_here, &(struct sent){.time = START + i * 10 * SECOND,
						    .keys = keys,
						    .events = events,
						    .n = 1,
						    .sensor = 1 + (i > 1),
						    .sequence = i > 1 ? i - 1 : 1});
	tick_to(START + UINT64_C(1300) * SECOND, &expired);
	assert_non_null(strstr(fake_do(server_here, "INK.INFO k"), "lagging 1 "));
	assert_non_null(strstr(fake_do(server_here, "INK.INFO k"), "held_blobs 0 "));
	assert_same_on_replica("k");
	for (; !tick_to(START + UINT64_C(1300) * SECOND, &expired); commands++)
		assert_same_on_replica("k");
	assert_in_range(commands, 1, 20);
	tick_to(START + UINT64_C(1400) * SECOND, &expired); /* a jump makes one time-out move */
	ANSWERS("[one 0 two 0 unsure 0 total 0]", "INK.CENSUS k");
	assert_same_on_replica("k");
}

/* ---------------------------------------------------------------------- order and once */

static struct sent one_item(uint64_t sensor, uint64_t epoch, uint64_t sequence)
{
	static const uint64_t ids[] = {77};
	static const uint16_t events[] = {0};

	return (struct sent){.time = START,
			     .ids = ids,
			     .events = events,
			     .n = 1,
			     .sensor = sensor,
			     .epoch = epoch,
			     .sequence = sequence};
}

#define SEQUENCE(expected, sensor, epoch, sequence)                                                          \
	do {                                                                                                 \
		struct sent s_ = one_item(sensor, epoch, sequence);                                          \
		assert_string_equal(send_to(server_here, &s_), expected);                                    \
	} while (0)

TEST_THAT(a_blob_is_applied_once_and_in_its_turn)
{
	uint64_t before;

	create("");
	SEQUENCE("-SEQUENCE 1", 3, 9, 2);
	SEQUENCE("[applied 0 0  0]", 3, 9, 1);
	SEQUENCE("-SEQUENCE 2", 3, 9, 3);
	SEQUENCE("[applied 0 0  0]", 3, 9, 2);
	before = fake_replicated(server_here);
	SEQUENCE("[already 0 0  0]", 3, 9, 2);
	SEQUENCE("[already 0 0  0]", 3, 9, 1);
	SEQUENCE("-EPOCH 9", 3, 8, 3);
	SEQUENCE("-SEQUENCE 1", 3, 10, 3);
	SEQUENCE("-SEQUENCE 1", 4, 9, 3);
	assert_int_equal(fake_replicated(server_here), before);
	SEQUENCE("[applied 0 0  0]", 3, 10, 1);
	SEQUENCE("-EPOCH 10", 3, 9, 3);
	assert_non_null(strstr(fake_do(server_here, "INK.COUNTERS k"), "steps 3 "));
	assert_same_on_replica("k");
}

TEST_THAT(the_sequences_are_saved_with_the_table)
{
	struct fake_text dump;

	create("");
	SEQUENCE("[applied 0 0  0]", 3, 9, 1);
	dump = fake_dump(server_here, "k");
	SEQUENCE("[applied 0 0  0]", 3, 9, 2);
	assert_true(fake_restore(server_here, "k", dump, 1));
	SEQUENCE("-SEQUENCE 2", 3, 9, 3); /* what was lost is sent again */
	SEQUENCE("[applied 0 0  0]", 3, 9, 2);
	assert_same_on_replica("k");
	free((void *)(uintptr_t)dump.at);
}

TEST_THAT(the_oldest_of_4096_sensors_is_dropped_and_counted)
{
	create("");
	for (uint64_t sensor = 4096; sensor; sensor--)
		SEQUENCE("[applied 0 0  0]", sensor, 1, 1);
	SEQUENCE("[applied 0 0  0]", 4096, 1, 2); /* 4095 is the oldest now */
	reload();
	SEQUENCE("[applied 0 0  0]", 5000, 1, 1);
	assert_non_null(strstr(fake_do(server_here, "INK.COUNTERS k"), "sensors_dropped 1 "));
	SEQUENCE("[applied 0 0  0]", 4096, 1, 3);
	SEQUENCE("-SEQUENCE 1", 4095, 1, 2);
	SEQUENCE("[applied 0 0  0]", 4095, 2, 1);
	SEQUENCE("-SEQUENCE 1", 4094, 1, 2);
	assert_same_on_replica("k");
}

/* ------------------------------------------------------------------------------- HOLD */

TEST_THAT(held_items_are_applied_in_the_order_of_time)
{
	enum { SENSORS = 5, BURSTS = 300 };
	struct ink_machine *machine;
	struct ink_table *t = local_table(&machine, INK_UNSURE, 10000);
	uint64_t tick = ink_machine_view(machine)->tick, sequence[SENSORS] = {0};
	struct burst *b = calloc(BURSTS, sizeof *b);
	uint64_t time = START, waiting[SENSORS][BURSTS], n[SENSORS] = {0}, at[SENSORS] = {0};
	char digits[24];

	create(" SEED 7 HOLD 60000");
	for (uint64_t s = 0; s < SENSORS; s++)
		SENT("[held 0 0  1]", .time = START, .sensor = s + 1, .sequence = ++sequence[s]);
	for (uint64_t i = 0; i < BURSTS;
	     i++) { /* burst i is that of one sensor, and they come one after another */
		uint64_t s = random_below(SENSORS);

		draw_burst(&b[i], time += 1 + random_below(400000000), FLOWS);
		waiting[s][n[s]++] = i;
		step_local(t, tick, &b[i]);
	}
	for (int left = 1; left;) { /* the sensors send in any order, no one too far behind */
		uint64_t s = random_below(SENSORS);
		const struct burst *x;

		left = 0;
		for (uint64_t j = 0; j < SENSORS; j++)
			left |= at[j] < n[j];
		if (at[s] == n[s])
			continue;
		x = &b[waiting[s][at[s]++]];
		send_to(server_here, &(struct sent){.time = x->time,
						    .ids = x->ids,
						    .events = x->events,
						    .n = x->n,
						    .sensor = s + 1,
						    .sequence = ++sequence[s]});
	}
	snprintf(digits, sizeof digits, "%" PRIu64, time + 60 * (uint64_t)SECOND + 1);
	fake_do(server_here, "INK.TICK k %1", fake_text(digits));
	ink_tick(t, (time + 1) / tick, NULL);
	assert_same_census(t);
	assert_non_null(strstr(fake_do(server_here, "INK.COUNTERS k"), " late 0 "));
	assert_same_on_replica("k");
	free(b);
	ink_free(t);
	ink_machine_free(machine);
}

static struct sent at_time(uint64_t sensor, uint64_t sequence, uint64_t ms, const char *const *keys,
			   uint32_t n)
{
	static const uint16_t events[] = {0, 0, 0, 0};

	return (struct sent){.time = START + ms * 1000000,
			     .keys = n ? keys : NULL,
			     .events = events,
			     .n = n,
			     .sensor = sensor,
			     .sequence = sequence,
			     .answers = 2};
}

#define HELD(expected, ...)                                                                                  \
	do {                                                                                                 \
		struct sent s_ = at_time(__VA_ARGS__);                                                       \
		const char *got_ = send_to(server_here, &s_);                                                \
		if (strncmp(got_, expected, strlen(expected)) != 0)                                          \
			fail_msg("%s, not %s", got_, expected);                                              \
	} while (0)

TEST_THAT(an_item_waits_for_the_slowest_sensor_or_until_hold_is_over)
{
	const char *const keys[] = {"11", "12", "13", "14"};

	create(" HOLD 1000");
	HELD("[held 0 0", 1, 1, 0, NULL, 0);
	HELD("[held 0 0", 2, 1, 0, NULL, 0);
	HELD("[held 0 0", 1, 2, 100, keys, 1);
	ANSWERS("[-1]", "INK.PEEK k KEYS 11");
	HELD("[held 0 0", 2, 2, 100, NULL, 0); /* not later: an item of sensor 2 could come before */
	ANSWERS("[-1]", "INK.PEEK k KEYS 11");
	HELD("[held 0 0", 1, 3, 101, NULL, 0);
	HELD("[held 0 0", 2, 3, 101, NULL, 0);
	ANSWERS("[0]", "INK.PEEK k KEYS 11");
	HELD("[held 0 0", 1, 4, 500, keys + 1, 1); /* sensor 2 is silent from here on */
	HELD("[held 0 0", 1, 5, 1500, NULL, 0);
	ANSWERS("[-1]", "INK.PEEK k KEYS 12");
	HELD("[held 0 0", 1, 6, 1501, NULL, 0);
	ANSWERS("[0]", "INK.PEEK k KEYS 12");
	HELD("[held 0 1", 2, 4, 200, keys + 2, 1); /* late: at once, and counted */
	ANSWERS("[0]", "INK.PEEK k KEYS 13");
	assert_non_null(strstr(fake_do(server_here, "INK.COUNTERS k"), " late 1 "));
	REFUSES("ERR AT", "INK.STEP k AT 5 KEYS alice a");
	assert_same_on_replica("k");
}

TEST_THAT(moves_wait_in_the_outbox_until_they_are_collected)
{
	const char *const keys[] = {"11", "12", "13", "14"};
	struct sent next;

	create(" HOLD 1000");
	HELD("[held 0 0  1]", 1, 1, 0, keys, 2);
	HELD("[held 0 0 ", 1, 2, 1, keys + 2, 2); /* alone, so what is before is released */
	assert_int_equal(fake_bulk(server_here, 0).n, 2 * 24);
	HELD("[already 0 0 ", 1, 2, 1, keys + 2, 2); /* the answer was lost: the moves come again */
	assert_int_equal(fake_bulk(server_here, 0).n, 2 * 24);
	next = at_time(1, 3, 2, NULL, 0);
	next.collected = 1;
	send_to(server_here, &next);
	assert_int_equal(fake_number(server_here), 2);
	assert_int_equal(fake_bulk(server_here, 0).n, 3 * 24);
	assert_int_equal(from_little(fake_bulk(server_here, 0).at, 8), 1);
	assert_int_equal(from_little((const uint8_t *)fake_bulk(server_here, 0).at + 24, 8), 2);
	assert_int_equal(strncmp(fake_do(server_here, "INK.POLL k 1 0 2"), "[3 ", 3), 0);
	assert_int_equal(fake_bulk(server_here, 0).n, 2 * 24);
	ANSWERS("[5  0]", "INK.POLL k 1 0 100");
	REFUSES("EPOCH 0", "INK.POLL k 1 1 100");
	REFUSES("ERR there is no such sensor", "INK.POLL k 2 1 100");
	assert_same_on_replica("k");
}

TEST_THAT(an_outbox_is_bounded_and_counts_what_it_lost)
{
	const char *const keys[] = {"11", "12", "13", "14"};

	create(" HOLD 1000 OUTBOX 3");
	HELD("[held 0 0", 1, 1, 0, keys, 4);
	HELD("[held 0 0", 1, 2, 1, NULL, 0);
	assert_int_equal(fake_bulk(server_here, 0).n, 3 * 24);
	fake_do(server_here, "INK.POLL k 1 0 0");
	assert_non_null(strstr(fake_do(server_here, "INK.SENSORS k"), "moves 3 lost 1]"));
	assert_same_on_replica("k");
}

TEST_THAT(what_is_held_is_bounded_and_the_earliest_is_forced)
{
	const char *const keys[] = {"11", "12", "13", "14"};

	create(" HOLD 100000 HELD 199");
	HELD("[held 0 0", 2, 1, 0, NULL, 0);
	HELD("[held 0 0", 1, 1, 5, keys + 1, 1);
	HELD("[held 0 0", 1, 2, 3, keys, 1);
	ANSWERS("[-1 -1]", "INK.PEEK k KEYS 11 12");
	HELD("[held 0 0", 1, 3, 7, keys + 2, 1);
	HELD("[held 0 0", 1, 4, 8, keys + 3, 1);
	ANSWERS("[0 -1]", "INK.PEEK k KEYS 11 14");
	assert_null(strstr(fake_do(server_here, "INK.COUNTERS k"), " forced 0 "));
	assert_same_on_replica("k");
}

/* What is not saved is not in the digest either, so the answers that follow are compared, too. */
TEST_THAT(held_items_and_outboxes_are_saved_and_go_on)
{
	const char *const keys[] = {"11", "12", "13", "14"};
	struct sent next;

	create(" HOLD 1000");
	HELD("[held 0 0", 2, 1, 0, NULL, 0);
	for (uint64_t i = 1; i < 40; i++)
		HELD("[held 0 0", 1, i, 1000 - i * 17, keys, (uint32_t)(i % 4));
	HELD("[held 0 0", 2, 2, 500, NULL, 0); /* what is before is released, and moves are in the outbox */
	next = at_time(1, 40, 1000, NULL, 0);
	next.collected = 2;
	send_to(server_here, &next);
	assert_int_equal(fake_number(server_here), 3);
	reload();
	HELD("[already 0 0", 1, 40, 1000, NULL, 0);
	assert_int_equal(fake_number(server_here), 3);
	HELD("[held 0 1", 2, 3, 400, keys, 1); /* late: the replica was not loaded anew */
	HELD("[held 0 0", 2, 4, 700, NULL, 0);
	HELD("[held 0 0", 1, 41, 2500, keys, 4);
	HELD("[held 0 0", 2, 5, 2600, keys, 1);
	assert_same_on_replica("k");
}

/* ------------------------------------------------------------------------ moving a value */

TEST_THAT(a_value_beyond_the_limit_is_restored_by_a_replica_and_by_no_client)
{
	long long limit = fake_set_limit(64 << 20);
	struct fake_text dump;

	ANSWERS("OK", "INK.CREATE k STATES 4 FLOWS 1000000");
	dump = fake_dump(server_here, "k");
	fake_set_limit(1 << 20);
	assert_false(fake_restore(server_here, "copy", dump, 0));
	assert_true(fake_restore(server_here, "copy", dump, 1));
	fake_set_flags(server_here, 1 << 3); /* a replica */
	assert_true(fake_restore(server_here, "copy", dump, 0));
	fake_set_limit(limit);
	free((void *)(uintptr_t)dump.at);
}

TEST_THAT(a_copy_is_equal_and_goes_its_own_way)
{
	create("");
	ANSWERS("[[-1 0 1 1]]", "INK.STEP k KEYS alice a");
	assert_true(fake_copy(server_here, "k", "copy"));
	assert_true(fake_copy(replica, "k", "copy"));
	assert_true(fake_digest(server_here, "k") == fake_digest(server_here, "copy"));
	ANSWERS("[[0 1 3 1]]", "INK.STEP copy KEYS alice a");
	ANSWERS("[0]", "INK.PEEK k KEYS alice");
	assert_true(fake_digest(server_here, "k") != fake_digest(server_here, "copy"));
}

/* From the pieces that INK.DUMP gives to the key "copy", by INK.LOADCHUNK in pieces of another size. */
static void move_in_pieces(size_t size)
{
	char cursor[64] = "0", offset[24], length[24];
	uint8_t *all = NULL;
	size_t n = 0;

	do {
		fake_do(server_here, "INK.DUMP k %1", fake_text(cursor));
		all = realloc(all, n + fake_bulk(server_here, 1).n);
		memcpy(all + n, fake_bulk(server_here, 1).at, fake_bulk(server_here, 1).n);
		n += fake_bulk(server_here, 1).n;
		snprintf(cursor, sizeof cursor, "%.*s", (int)fake_bulk(server_here, 0).n,
			 (const char *)fake_bulk(server_here, 0).at);
	} while (strcmp(cursor, "0") != 0);
	snprintf(length, sizeof length, "%zu", n);
	for (size_t i = 0; i < n; i += size) {
		struct fake_text piece = {all + i, n - i < size ? n - i : size};

		snprintf(offset, sizeof offset, "%zu", i);
		if (i)
			REFUSES("PARTIAL", "INK.CENSUS copy");
		ANSWERS("OK", "INK.LOADCHUNK copy %1 %2 %3", fake_text(offset), fake_text(length), piece);
	}
	free(all);
}

TEST_THAT(a_table_moves_in_pieces)
{
	const char *const keys[] = {"1", "2", "3"};

	ANSWERS("OK", "INK.CREATE k MACHINE TEXT %1 FLOWS 1000000 HOLD 1000", fake_text(climb));
	HELD("[held 0 0", 1, 1, 5, keys, 3);
	move_in_pieces(400000);
	assert_true(fake_digest(server_here, "k") == fake_digest(server_here, "copy"));
	assert_same_on_replica("copy");
	REFUSES("BUSYKEY", "INK.LOADCHUNK copy 0 100 x");
}

TEST_THAT(pieces_of_a_table_that_changed_are_refused)
{
	ANSWERS("OK", "INK.CREATE k STATES 4 FLOWS 1000000");
	fake_do(server_here, "INK.DUMP k 0");
	assert_memory_equal(fake_bulk(server_here, 0).at, "1048576-0", 9);
	ANSWERS("[1]", "INK.INSERT k KEYS alice 1");
	REFUSES("CHANGED", "INK.DUMP k 1048576-0");
	REFUSES("ERR cursor", "INK.DUMP k 1048576");
	REFUSES("ERR cursor", "INK.DUMP k x");
}

TEST_THAT(pieces_that_do_not_fit_are_refused_and_the_others_stay)
{
	REFUSES("ERR offset: the next piece is that at 0", "INK.LOADCHUNK k 5 100 abc");
	REFUSES("ERR bytes", "INK.LOADCHUNK k 0 2 abc");
	REFUSES("LIMIT", "INK.LOADCHUNK k 0 1000000000 abc");
	REFUSES("ERR the value is refused", "INK.LOADCHUNK k 0 3 abc");
	ANSWERS("OK", "INK.LOADCHUNK k 0 40 abc");
	REFUSES("ERR offset: the next piece is that at 3", "INK.LOADCHUNK k 0 40 abc");
	REFUSES("ERR length", "INK.LOADCHUNK k 3 41 abc");
	REFUSES("PARTIAL", "INK.PEEK k KEYS alice");
	REFUSES("ERR the value is refused", "INK.LOADCHUNK k 3 40 defghijklmnopqrstuvwxyzABCDEFGHIJKLMN");
	assert_true(fake_copy(server_here, "k", "copy"));
	assert_true(fake_digest(server_here, "k") == fake_digest(server_here, "copy"));
	assert_same_on_replica("k");
}

TEST_THAT(a_rewritten_aof_makes_the_same_table)
{
	const char *const keys[] = {"1", "2", "3"};

	ANSWERS("OK", "INK.CREATE k MACHINE TEXT %1 FLOWS 1000000 HOLD 1000", fake_text(climb));
	HELD("[held 0 0", 1, 1, 5, keys, 3);
	fake_delete(replica, "k");
	fake_rewrite(server_here, "k", replica);
	assert_same_on_replica("k");
	clear(NULL);
	ANSWERS("OK", "INK.LOADCHUNK k 0 40 abc");
	fake_delete(replica, "k");
	fake_rewrite(server_here, "k", replica);
	assert_same_on_replica("k");
}

TEST_THAT(memory_is_the_servers_and_all_of_it_is_counted)
{
	uint64_t before = fake_allocated();

	ANSWERS("OK", "INK.CREATE k STATES 4 FLOWS 1000000");
	assert_true(fake_allocated() - before >= fake_usage(server_here, "k") / 100 * 99);
	fake_delete(replica, "k");
	assert_in_range(fake_allocated() - before, fake_usage(server_here, "k") / 100 * 99,
			fake_usage(server_here, "k") / 100 * 101);
}

TEST_THAT(a_table_without_memory_is_refused_and_nothing_is_left)
{
	uint64_t before = fake_allocated();

	fake_fail_large(1 << 20);
	REFUSES("ERR no memory", "INK.CREATE k STATES 4 FLOWS 1000000");
	fake_fail_large(0);
	assert_int_equal(fake_allocated(), before);
}

TEST_THAT(a_growing_table_stops_at_its_limit)
{
	uint64_t ids[20000];
	uint16_t events[20000] = {0};

	ANSWERS("OK", "INK.CREATE k MACHINE TEXT %1 FLOWS 100 KIND exact LIMIT 100000", fake_text(climb));
	for (uint64_t i = 0; i < COUNT(ids); i++)
		ids[i] = id_number(i);
	send_to(server_here, &(struct sent){.time = START, .ids = ids, .events = events, .n = COUNT(ids)});
	assert_null(strstr(fake_do(server_here, "INK.COUNTERS k"), "refused 0"));
	assert_true(fake_usage(server_here, "k") < 200000);
	assert_same_on_replica("k");
}

TEST_THAT(every_command_is_registered)
{
	assert_int_equal(fake_commands(), 19);
	assert_string_equal(fake_categories(), "inkling write slow");
}

int main(void)
{
	return run_suite(&(struct suite){.begin = begin, .end = end, .after_each = clear});
}
