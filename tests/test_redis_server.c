/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The module in a real server (redis-server, or what INK_REDIS_SERVER names), with
 * a replica, beside a local table that gets the same commands: the answers are
 * the same, the table's bytes are the same, and the digests of master and replica
 * are, through kills, restarts from AOF and RDB, and full resyncs.
 */
#include <inttypes.h>

#include "tests/random.h"
#include "tests/test.h"
#include "tests/redis_oracle.h"
#include "tests/scratch.h"

static struct running master, slave; /* the servers' own words; commands call the second a replica */

static struct client *m(void)
{
	return &master.c;
}

#define ANSWERS(expected, ...)                                                                               \
	do {                                                                                                 \
		const char *got_ = client_do(m(), __VA_ARGS__);                                              \
		if (!got_ || strcmp(got_, expected) != 0)                                                    \
			fail_msg("%s: %s, not %s", #__VA_ARGS__, got_ ? got_ : "(gone)", expected);          \
	} while (0)

#define BEGINS(expected, ...)                                                                                \
	do {                                                                                                 \
		const char *got_ = client_do(m(), __VA_ARGS__);                                              \
		if (!got_ || strncmp(got_, expected, strlen(expected)) != 0)                                 \
			fail_msg("%s: %s, not %s", #__VA_ARGS__, got_ ? got_ : "(gone)", expected);          \
	} while (0)

/* --------------------------------------------------------------------- the servers */

static void make_folder(struct running *r, const char *name)
{
	snprintf(r->folder, sizeof r->folder, "%s/%s", scratch, name);
	mkdir(r->folder, 0700);
	r->module = MODULE;
	r->port = free_port();
}

static void set_options(struct running *r, const char *const *options)
{
	int n = 0;

	for (; options[n]; n++)
		r->options[n] = options[n];
	r->options[n] = NULL;
}

static void start(struct running *r)
{
	if (server_start(r) != 0)
		fail_msg("%s does not start: see %s/log", server_program(), r->folder);
}

static void follow(void)
{
	char port[16];

	snprintf(port, sizeof port, "%d", master.port);
	assert_string_equal(client_do(&slave.c, "REPLICAOF 127.0.0.1 %1", fake_text(port)), "OK");
}

/* Until the replica has what the master wrote last: 20 s. WAIT would count one that still has an older state. */
static void catch_up(void)
{
	static unsigned turn;
	char value[32];

	snprintf(value, sizeof value, "%d-%u", (int)master.pid, ++turn);
	ANSWERS("OK", "SET turn %1", fake_text(value));
	for (int i = 0; i < 2000; i++) {
		const char *there = client_do(&slave.c, "GET turn");

		if (there && !strcmp(there, value))
			return;
		pause_ms(10);
	}
	fail_msg("the replica does not follow");
}

static void assert_same_digest(void)
{
	char mine[128];

	catch_up();
	snprintf(mine, sizeof mine, "%s", client_do(m(), "DEBUG DIGEST-VALUE k"));
	assert_int_not_equal(mine[0], '-');
	assert_string_equal(client_do(&slave.c, "DEBUG DIGEST-VALUE k"), mine);
}

static int begin(void **state)
{
	static const char *const master_has[] = {"--save",
						 "",
						 "--appendonly",
						 "yes",
						 "--appendfsync",
						 "no",
						 "--enable-debug-command",
						 "yes",
						 "--repl-diskless-sync-delay",
						 "0",
						 NULL};
	static const char *const slave_has[] = {"--save", "", "--enable-debug-command", "yes", NULL};

	/* appendfsync no: each write reaches the system before its answer. everysec may postpone it. */
	if (scratch_make(state) != 0)
		return -1;
	make_folder(&master, "m");
	make_folder(&slave, "s");
	set_options(&master, master_has);
	set_options(&slave, slave_has);
	if (server_start(&master) != 0 || server_start(&slave) != 0) {
		fprintf(stderr, "%s does not start with the module\n", server_program());
		return -1;
	}
	follow();
	catch_up();
	return 0;
}

static int end(void **state)
{
	server_end(&master, SIGKILL);
	server_end(&slave, SIGKILL);
	return scratch_remove(state);
}

static int clear(void **state)
{
	(void)state;
	if (m()->fd >= 0)
		client_do(m(), "FLUSHALL");
	return 0;
}

static void create(const char *more)
{
	char words[300];

	snprintf(words, sizeof words, "INK.CREATE k MACHINE TEXT %%1 FLOWS 20000%s", more);
	ANSWERS("OK", words, fake_text(climb));
}

/* ------------------------------------------------------------- beside a local table */

enum { FLOWS = 3000, ITEMS = 30 };

/* Items of a command, and their answers by the local table. */
struct items {
	uint64_t ids[ITEMS];
	unsigned with[ITEMS];
	uint32_t n;
};

static void draw(struct items *it, unsigned end)
{
	it->n = 1 + random_below(ITEMS);
	for (uint32_t i = 0; i < it->n; i++) {
		it->ids[i] = id_number(random_below(FLOWS));
		it->with[i] = random_below(end);
	}
}

static void pass(struct oracle *o)
{
	o->time += random_below(3) ? 0 : random_below(900000000);
	ink_tick(o->table, o->time / o->tick, NULL);
}

struct text {
	char at[8192];
	size_t n;
};

__attribute__((format(printf, 2, 3))) static void add(struct text *t, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	t->n += (size_t)vsnprintf(t->at + t->n, sizeof t->at - t->n, format, args);
	va_end(args);
}

/* A blob: what is in it does not change the bytes of the answer. */
static void do_blob(struct oracle *o)
{
	uint16_t events[ITEMS];
	uint8_t blob[56 + 10 * ITEMS];
	struct items it;
	unsigned sensor = random_below(4);
	struct sent s;
	const char *answer;

	draw(&it, 3);
	pass(o);
	for (uint32_t i = 0; i < it.n; i++)
		events[i] = (uint16_t)it.with[i];
	s = (struct sent){.time = o->time,
			  .ids = it.ids,
			  .events = events,
			  .n = it.n,
			  .answers = 1,
			  .sensor = sensor + 1,
			  .sequence = ++o->sequence[sensor]};
	answer = client_do(m(), "INK.STEPS k %1", ((struct fake_text){blob, blob_write(&s, blob)}));
	assert_non_null(answer);
	if (strncmp(answer, "[applied 0 0 ", 13) != 0)
		fail_msg("%s", answer);
	assert_int_equal(m()->last.n, it.n);
	for (uint32_t i = 0; i < it.n; i++) {
		struct ink_move move;
		int error = ink_step(o->table, it.ids[i], events[i], &move);
		uint8_t expected = error                   ? 253
				   : move.to == INK_ABSENT ? 254
				   : move.to < 0           ? 255
							   : (uint8_t)move.to;

		assert_int_equal(((const uint8_t *)m()->last.at)[i], expected);
	}
}

static void do_step(struct oracle *o)
{
	struct text command = {.n = 0}, expected = {.n = 0};
	struct items it;

	draw(&it, 3);
	pass(o);
	add(&command, "INK.STEP k AT %" PRIu64 " IDS", o->time);
	it.n = it.n < 15 ? it.n : 15;
	for (uint32_t i = 0; i < it.n; i++) {
		struct ink_move move;
		int error = ink_step(o->table, it.ids[i], it.with[i], &move);

		add(&command, " %" PRIu64 " %u", it.ids[i], it.with[i]);
		add(&expected, "%s[%d %d %u %d]", i ? " " : "[", move.from, move.to, move.action,
		    error ? -3 : 1);
	}
	add(&expected, "]");
	ANSWERS(expected.at, command.at);
}

static int result(int error)
{
	return error == 0 ? 1 : error == -EBUSY ? -2 : error == -ENOSPC ? -3 : 0;
}

/* The verbs with a state, without one, and those that only ask. */
static void do_verb(struct oracle *o)
{
	static const char *const names[] = {"INSERT", "SET", "MODIFY", "DEL", "LOOKUP", "PEEK"};
	struct text command = {.n = 0}, expected = {.n = 0};
	unsigned verb = random_below(6);
	struct items it;

	draw(&it, 3);
	it.n = it.n < 15 ? it.n : 15;
	add(&command, "INK.%s k", names[verb]);
	if (verb < 5 && random_below(2)) {
		pass(o);
		add(&command, " AT %" PRIu64, o->time);
	}
	add(&command, " IDS");
	for (uint32_t i = 0; i < it.n; i++) {
		uint64_t id = it.ids[i];
		unsigned state = it.with[i];
		int answer = verb == 0   ? result(ink_insert(o->table, id, state))
			     : verb == 1 ? result(ink_set(o->table, id, state))
			     : verb == 2 ? result(ink_modify(o->table, id, state))
			     : verb == 3 ? result(ink_delete(o->table, id))
			     : verb == 4 ? ink_lookup(o->table, id)
					 : ink_peek(o->table, id);

		add(&command, verb < 3 ? " %" PRIu64 " %u" : " %" PRIu64, id, state);
		add(&expected, "%s%d", i ? " " : "[", answer);
	}
	add(&expected, "]");
	ANSWERS(expected.at, command.at);
}

static void do_tick(struct oracle *o)
{
	struct ink_counts expired;
	struct text command = {.n = 0}, expected = {.n = 0};

	o->time += random_below(2000000000);
	ink_tick(o->table, o->time / o->tick, &expired);
	add(&command, "INK.TICK k %" PRIu64, o->time);
	add(&expected, "[1 %" PRIu64 "]", expired.total);
	ANSWERS(expected.at, command.at);
}

static void random_command(struct oracle *o)
{
	switch (random_below(10)) {
	case 0:
		do_tick(o);
		break;
	case 1:
	case 2:
		do_step(o);
		break;
	case 3:
	case 4:
	case 5:
		do_verb(o);
		break;
	default:
		do_blob(o);
	}
}

/* ------------------------------------------------------------------------ trouble */

static void kill_master(void)
{
	server_end(&master, SIGKILL);
	start(&master);
}

static void kill_slave(void)
{
	server_end(&slave, SIGKILL);
	start(&slave);
	follow();
}

static void rewrite_aof(const char *preamble)
{
	ANSWERS("OK", "CONFIG SET aof-use-rdb-preamble %1", fake_text(preamble));
	client_do(m(), "BGREWRITEAOF");
	for (int i = 0; i < 500; i++) {
		const char *info = client_do(m(), "INFO persistence");

		if (strstr(info, "aof_rewrite_in_progress:0") && strstr(info, "aof_rewrite_scheduled:0") &&
		    strstr(info, "aof_last_bgrewrite_status:ok"))
			return;
		pause_ms(20);
	}
	fail_msg("the AOF is not rewritten");
}

static void trouble(unsigned which)
{
	switch (which % 5) {
	case 0:
		kill_master();
		break;
	case 1:
		kill_slave();
		break;
	case 2:
		rewrite_aof("no");
		kill_master();
		break;
	case 3:
		rewrite_aof("yes");
		kill_master();
		break;
	default:
		BEGINS("OK", "DEBUG RELOAD");
	}
}

TEST_THAT(random_commands_do_what_a_local_table_does_through_kills_and_restarts)
{
	enum { TROUBLES = 10 };
	uint64_t commands = scaled(100000);
	struct oracle o;

	oracle_begin(&o, 20000);
	create(" SEED 7");
	for (uint64_t i = 0; i < commands; i++) {
		random_command(&o);
		if (i % (commands / TROUBLES + 1) == commands / TROUBLES) {
			trouble((unsigned)(i / (commands / TROUBLES)));
			assert_same_digest();
		}
	}
	assert_same_table(&o, m(), "k");
	assert_same_digest();
	oracle_end(&o);
}

TEST_THAT(a_small_table_that_is_full_does_what_a_local_one_does)
{
	struct oracle o;

	oracle_begin(&o, 1000); /* for 3,000 flows */
	ANSWERS("OK", "INK.CREATE k MACHINE TEXT %1 FLOWS 1000 SEED 7", fake_text(climb));
	for (uint64_t i = 0; i < scaled(5000); i++)
		do_verb(&o), do_step(&o);
	assert_same_table(&o, m(), "k");
	assert_same_digest();
	oracle_end(&o);
}

/* Without a local table: what is held and what is in the outboxes is in the digest. */
TEST_THAT(held_blobs_survive_kills_and_resyncs)
{
	uint64_t sequence[4] = {0}, time[4] = {START, START, START, START};

	create(" SEED 7 HOLD 5000 OUTBOX 50");
	for (unsigned i = 0; i < scaled(20000); i++) {
		unsigned sensor = random_below(4);
		uint16_t events[ITEMS];
		uint8_t blob[56 + 10 * ITEMS];
		struct items it;
		struct sent s;

		draw(&it, 3);
		time[sensor] += random_below(200000000);
		for (uint32_t j = 0; j < it.n; j++)
			events[j] = (uint16_t)it.with[j];
		s = (struct sent){.time = time[sensor],
				  .ids = it.ids,
				  .events = events,
				  .n = it.n,
				  .answers = 2,
				  .sensor = sensor + 1,
				  .sequence = ++sequence[sensor],
				  .collected = i / 2};
		BEGINS("[held ", "INK.STEPS k %1", ((struct fake_text){blob, blob_write(&s, blob)}));
		if (i % (scaled(20000) / 4 + 1) == 100) {
			trouble(i / (unsigned)(scaled(20000) / 4 + 1));
			assert_same_digest();
		}
	}
	assert_same_digest();
}

/* ------------------------------------------------------------------------ once */

static uint64_t last_sequence(void)
{
	return strtoull(strstr(client_do(m(), "INK.SENSORS k"), "sequence ") + 9, NULL, 10);
}

/* appendfsync always: what was acknowledged is there after a kill, and what is sent again is not done again. */
TEST_THAT(nothing_acknowledged_is_lost_and_nothing_is_applied_twice)
{
	static const uint16_t events[1] = {0};
	uint64_t acknowledged = 0, applied, ids[1];
	char expected[200];
	uint8_t blob[66];

	create(" SEED 7");
	ANSWERS("OK", "CONFIG SET appendfsync always");
	for (unsigned kills = 0; kills < 5; kills++) {
		for (uint64_t i = acknowledged + 1; i <= acknowledged + 40;
		     i++) { /* 40 on their way, 20 read */
			struct sent s = {.time = START, .n = 1, .sensor = 1, .sequence = i};

			ids[0] = id_number(i);
			s.ids = ids;
			s.events = events;
			client_add(m(),
				   (struct fake_text[]){fake_text("INK.STEPS"),
							fake_text("k"),
							{blob, blob_write(&s, blob)}},
				   3);
		}
		assert_int_equal(client_send(m()), 0);
		for (int i = 0; i < 20; i++) {
			const char *answer = client_answer(m());

			assert_non_null(answer);
			if (strncmp(answer, "[applied", 8) != 0 && strncmp(answer, "[already", 8) != 0)
				fail_msg("%s", answer);
			acknowledged++;
		}
		kill_master();
	}
	catch_up();
	applied = last_sequence();
	assert_true(applied >= acknowledged);
	snprintf(expected, sizeof expected, "[one %" PRIu64 " two 0 three 0 unsure 0 total %" PRIu64 "]",
		 applied, applied);
	ANSWERS(expected, "INK.CENSUS k");
	assert_same_digest();
}

/* ------------------------------------------------------------------- what servers do */

TEST_THAT(maps_are_maps_in_resp3)
{
	struct client c;

	create("");
	assert_int_equal(client_open(&c, master.socket), 0);
	assert_non_null(client_do(&c, "HELLO 3"));
	assert_int_equal(strncmp(client_do(&c, "INK.CENSUS k"), "[one 0 two 0 ", 13), 0);
	client_close(&c);
}

TEST_THAT(used_memory_is_what_the_table_takes)
{
	long long before, after, says;

	client_do(m(), "INK.CREATE warm MACHINE TEXT %1 FLOWS 10",
		  fake_text(climb)); /* what the first one brings */
	client_do(m(), "MEMORY USAGE warm");
	client_do(m(), "DEL warm");
	before = atoll(strstr(client_do(m(), "INFO memory"), "used_memory:") + 12);
	ANSWERS("OK", "INK.CREATE k MACHINE TEXT %1 FLOWS 4000000", fake_text(climb));
	after = atoll(strstr(client_do(m(), "INFO memory"), "used_memory:") + 12);
	client_do(m(), "MEMORY USAGE k");
	says = m()->number;
	if (llabs(after - before - says) > says / 100)
		fail_msg("used_memory grew by %lld, MEMORY USAGE says %lld", after - before, says);
}

TEST_THAT(a_copy_a_dump_and_a_transaction_work)
{
	char digest[64];
	uint8_t *payload;
	size_t n;

	create("");
	ANSWERS("[[-1 0 1 1]]", "INK.STEP k KEYS alice a");
	ANSWERS("1", "COPY k copy");
	snprintf(digest, sizeof digest, "%s", client_do(m(), "DEBUG DIGEST-VALUE k"));
	ANSWERS(digest, "DEBUG DIGEST-VALUE copy");
	client_do(m(), "DUMP k");
	n = m()->last.n;
	payload = memcpy(malloc(n), m()->last.at, n);
	ANSWERS("OK", "RESTORE other 0 %1", ((struct fake_text){payload, n}));
	ANSWERS(digest, "DEBUG DIGEST-VALUE other");
	payload[n / 2] ^= 1; /* the server's own checksum */
	BEGINS("-ERR", "RESTORE third 0 %1", ((struct fake_text){payload, n}));
	free(payload);
	ANSWERS("OK", "MULTI");
	ANSWERS("QUEUED", "INK.STEP k KEYS alice a");
	ANSWERS("QUEUED", "INK.STEP k KEYS bob a");
	ANSWERS("[[[0 1 0 1]] [[-1 0 1 1]]]", "EXEC");
	ANSWERS("[1 0]", "EVAL %1 1 k",
		fake_text("return redis.call('INK.PEEK', KEYS[1], 'KEYS', 'alice', 'bob')"));
	assert_same_digest();
	ANSWERS("1", "UNLINK k");
}

TEST_THAT(commands_have_keys_flags_and_documents)
{
	assert_non_null(strstr(client_do(m(), "COMMAND INFO ink.steps"), "denyoom"));
	ANSWERS("[k]", "COMMAND GETKEYS INK.STEPS k blob");
	ANSWERS("[k reports]", "COMMAND GETKEYS INK.STEPS k REPORTS reports blob");
	assert_non_null(strstr(client_do(m(), "COMMAND DOCS ink.create"), "Makes a table"));
	assert_non_null(strstr(client_do(m(), "INFO inkling"), "inkling_tables:"));
	ANSWERS("OK", "CONFIG SET inkling.limit 100kb");
	BEGINS("-LIMIT", "INK.CREATE k STATES 3 FLOWS 1000000");
	ANSWERS("OK", "CONFIG SET inkling.limit 64mb");
	ANSWERS("OK", "CONFIG SET inkling.full refuse");
	ANSWERS("OK", "CONFIG SET inkling.full unsure");
}

/* Redis 7.0 knows no categories for commands of modules. */
TEST_THAT(commands_are_in_a_category_where_the_server_has_such)
{
	int has = client_do(m(), "ACL CAT inkling")[0] != '-';

	assert_int_equal(strstr(client_do(m(), "COMMAND INFO ink.peek"), "@inkling") != NULL, has);
	assert_int_equal(strstr(client_do(m(), "COMMAND INFO ink.peek"), "@read") != NULL, has);
	assert_int_equal(strstr(client_do(m(), "COMMAND INFO ink.step"), "@write") != NULL, has);
}

TEST_THAT(a_user_needs_the_rights_to_both_keys)
{
	struct client guest;

	create("");
	ANSWERS("OK", "ACL SETUSER guest on nopass ~k -@all +ink.steps +ink.peek");
	assert_int_equal(client_open(&guest, master.socket), 0);
	assert_string_equal(client_do(&guest, "AUTH guest x"), "OK");
	assert_string_equal(client_do(&guest, "INK.PEEK k KEYS alice"), "[-1]");
	assert_int_equal(strncmp(client_do(&guest, "INK.PEEK other KEYS alice"), "-NOPERM", 7), 0);
	assert_int_equal(strncmp(client_do(&guest, "INK.STEPS k REPORTS other x"), "-NOPERM", 7), 0);
	assert_int_equal(strncmp(client_do(&guest, "INK.STEPS k x"), "-ERR blob", 9), 0);
	assert_int_equal(strncmp(client_do(&guest, "INK.STEP k KEYS alice a"), "-NOPERM", 7), 0);
	client_close(&guest);
	ANSWERS("1", "ACL DELUSER guest");
}

TEST_THAT(a_change_is_told_to_those_that_watch_the_key)
{
	struct client watcher;

	ANSWERS("OK", "CONFIG SET notify-keyspace-events KEd");
	assert_int_equal(client_open(&watcher, master.socket), 0);
	assert_non_null(client_do(&watcher, "SUBSCRIBE __keyspace@0__:k"));
	create("");
	assert_string_equal(client_answer(&watcher), "[message __keyspace@0__:k ink.create]");
	ANSWERS("[[-1 0 1 1]]", "INK.STEP k KEYS alice a");
	assert_string_equal(client_answer(&watcher), "[message __keyspace@0__:k ink.step]");
	ANSWERS("[0]", "INK.PEEK k KEYS alice");
	ANSWERS("[1]", "INK.DEL k KEYS alice");
	assert_string_equal(client_answer(&watcher), "[message __keyspace@0__:k ink.del]");
	ANSWERS("OK", "CONFIG SET notify-keyspace-events %1", fake_text(""));
	client_close(&watcher);
}

TEST_THAT(a_table_that_is_watched_or_evicted_is_a_key_like_others)
{
	struct client other;

	create("");
	ANSWERS("OK", "WATCH k");
	assert_int_equal(client_open(&other, master.socket), 0);
	assert_string_equal(client_do(&other, "INK.STEP k KEYS alice a"), "[[-1 0 1 1]]");
	ANSWERS("OK", "MULTI");
	ANSWERS("QUEUED", "INK.STEP k KEYS alice a");
	ANSWERS("[]", "EXEC"); /* the key changed: nothing was done */
	ANSWERS("[0]", "INK.PEEK k KEYS alice");
	ANSWERS("OK", "CONFIG SET maxmemory 1");
	BEGINS("-OOM", "INK.STEP k KEYS alice a");
	ANSWERS("OK", "CONFIG SET maxmemory 0");
	ANSWERS("1", "PEXPIRE k 1");
	pause_ms(20);
	BEGINS("-NOKEY", "INK.PEEK k KEYS alice");
	assert_same_digest();
	client_close(&other);
}

TEST_THAT(a_creation_is_kept_from_monitor_and_the_slow_log)
{
	struct client watcher;

	ANSWERS("OK", "CONFIG SET slowlog-log-slower-than 0");
	assert_int_equal(client_open(&watcher, master.socket), 0);
	assert_string_equal(client_do(&watcher, "MONITOR"), "OK");
	create(" SEED 123456789");
	ANSWERS("PONG", "PING");
	for (int i = 0; i < 2 && !strstr(client_answer(&watcher), "PING"); i++)
		assert_null(strstr(watcher.shown, "123456789"));
	assert_null(strstr(client_do(m(), "SLOWLOG GET 100"), "123456789"));
	assert_null(strstr(client_do(m(), "INK.INFO k"), "123456789"));
	ANSWERS("OK", "CONFIG SET slowlog-log-slower-than 10000");
	client_close(&watcher);
}

/* ---------------------------------------------------------------------- hostile bytes */

/* The checksum of DUMP: CRC-64 with the polynomial of Jones, as RDB files have it. */
static uint64_t crc64(const uint8_t *at, size_t n)
{
	static uint64_t table[256];
	uint64_t crc = 0;

	for (unsigned i = 0; i < 256 && !table[255]; i++) {
		uint64_t c = i;

		for (int bit = 0; bit < 8; bit++)
			c = c & 1 ? c >> 1 ^ 0x95ac9329ac4bc9b5 : c >> 1;
		table[i] = c;
	}
	for (size_t i = 0; i < n; i++)
		crc = table[(crc ^ at[i]) & 255] ^ crc >> 8;
	return crc;
}

/* A few bytes of a good payload are others, or it is shorter; its checksum is right. */
static size_t spoil(const uint8_t *good, size_t n, uint8_t *into)
{
	size_t end = n - 8;

	memcpy(into, good, n);
	for (unsigned i = 0; i <= random_below(4); i++) {
		size_t at = random_below(3) ? random_below(end < 700 ? end : 700) : random_below(end);

		into[at] = (uint8_t)(random_below(2) ? random_word() : into[at] ^ 1u << random_below(8));
	}
	little(into + end, crc64(into, end), 8);
	return n;
}

TEST_THAT(spoiled_payloads_and_blobs_are_errors_and_the_server_lives)
{
	uint64_t tries = scaled(20000), accepted = 0;
	char digest[64];
	uint8_t *good, *bad, blob[66];
	struct sent s = {.time = START, .n = 1, .ids = (uint64_t[]){5}, .events = (uint16_t[]){0}};
	size_t n;

	create(" HOLD 1000");
	snprintf(digest, sizeof digest, "%s", client_do(m(), "DEBUG DIGEST-VALUE k"));
	client_do(m(), "DUMP k");
	n = m()->last.n;
	good = memcpy(malloc(n), m()->last.at, n);
	bad = malloc(n);
	for (uint64_t i = 0; i < tries; i++) {
		const char *answer = client_do(m(), "RESTORE spoiled 0 %1 REPLACE",
					       ((struct fake_text){bad, spoil(good, n, bad)}));

		if (!answer)
			fail_msg("the server has gone after %" PRIu64 " payloads", i);
		if (answer[0] != '-') { /* compressed, two payloads can mean the same */
			accepted++;
			ANSWERS(digest, "DEBUG DIGEST-VALUE spoiled");
		}
		blob_write(&s, blob);
		blob[random_below(sizeof blob)] = (uint8_t)random_word();
		assert_non_null(
			client_do(m(), "INK.STEPS k %1", ((struct fake_text){blob, random_below(67)})));
		assert_non_null(
			client_do(m(), "INK.LOADCHUNK piece 0 %1 %2", fake_text("100"),
				  ((struct fake_text){bad + random_below(100), 1 + random_below(100)})));
		client_do(m(), "DEL piece");
	}
	print_message("%" PRIu64 " of %" PRIu64 " payloads were accepted\n", accepted, tries);
	assert_same_digest();
	free(good);
	free(bad);
}

int main(void)
{
	if (!server_exists()) {
		printf("%s is not installed: the module was not tried in a server\n", server_program());
		return 77;
	}
	return run_suite(&(struct suite){.begin = begin, .end = end, .after_each = clear});
}
