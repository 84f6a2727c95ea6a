/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ink-bench-redis: what a step costs in a server, beside the same steps in this
 * process, and beside the same job done by the server's own types.
 *
 * A machine of five states, flows that all exist, random steps, 1,000 a command, a
 * unix socket, no replica. Times of the server are its main thread's CPU time as
 * INFO gives it; those of this process are its own. Rounds take turns, and the
 * best of each counts.
 *
 *     ink-bench-redis [--flows N] [--steps N] [--rounds N] [--large]
 *
 * --large: also the commands of a table of 64 MiB, and how long each stops the
 * server.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <inkling/inkling.h>
#include <inkling/machine.h>

#include "tests/random.h"
#include "tests/redis_blob.h"
#include "tests/redis_client.h"

static const char five[] = "machine five\n"
			   "key src\n"
			   "event a = tcp\n"
			   "event b = udp\n"
			   "event c = icmp\n"
			   "absent : a, b, c -> s1 / count begun\n"
			   "s1 : a -> s2 | b -> s3 | timeout 60s -> absent\n"
			   "s2 : a -> s3 | c -> s1 | timeout 60s -> absent\n"
			   "s3 : b -> s4 | c -> s5 | timeout 60s -> absent\n"
			   "s4 : a -> s5 | b -> s1 | timeout 60s -> absent\n"
			   "s5 : c -> s1 | a -> s2 | timeout 60s -> absent\n"
			   "unsure : * / pass\n";

/* The same job over a hash: a field for each flow, a character for its state. No time-outs. */
static const char script[] =
	"local move = {['']={'1','1','1'},['1']={'2','3','1'},['2']={'3','2','1'},['3']={'3','4','5'},"
	"['4']={'5','1','4'},['5']={'2','5','1'}}\n"
	"for i = 1, #ARGV, 2 do\n"
	"  local s = redis.call('HGET', KEYS[1], ARGV[i]) or ''\n"
	"  local to = move[s][ARGV[i + 1] + 1]\n"
	"  if to ~= s then redis.call('HSET', KEYS[1], ARGV[i], to) end\n"
	"end\n"
	"return 0\n";

enum { AHEAD = 16, BATCH_MOST = 262144 };

static uint64_t flows = 1000000, steps = 4000000;
static unsigned rounds = 5;
static struct running r;

static const uint64_t START = UINT64_C(1763524800000000000);

/* -------------------------------------------------------------------------- steps */

struct batch {
	uint64_t ids[BATCH_MOST];
	uint16_t events[BATCH_MOST];
	char keys[BATCH_MOST][13];
	uint32_t n;
};

static struct batch batch;

static void draw(uint32_t n, uint64_t first)
{
	batch.n = n;
	for (uint32_t i = 0; i < n; i++) {
		uint64_t flow = first == UINT64_MAX ? random_below(flows) : first + i;

		batch.ids[i] = id_number(flow);
		batch.events[i] = (uint16_t)random_below(3);
		memcpy(batch.keys[i], &flow, 8);
		memset(batch.keys[i] + 8, 'k', 5);
	}
}

static double cpu_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static double wall_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* --------------------------------------------------------------------- this process */

static struct ink_machine *machine;
static struct ink_table *table;

static void make_local(void)
{
	struct ink_options o = {.size = sizeof o, .flows = flows, .age_bits = 1, .seed = 7};

	machine = ink_machine_make(five, strlen(five), NULL);
	o.rules = ink_machine_view(machine)->rules;
	o.states = o.rules->states;
	table = ink_create(&o, NULL);
}

static void step_local(void)
{
	static struct ink_move moves[BATCH_MOST];
	struct ink_batch b = {.n = batch.n, .ids = batch.ids, .events = batch.events, .moves = moves};

	ink_step_batch(table, &b);
}

static double time_local(uint32_t each)
{
	double spent = 0;

	for (uint64_t done = 0; done < steps; done += each) {
		double begin;

		draw(each, UINT64_MAX);
		begin = cpu_now();
		step_local();
		spent += cpu_now() - begin;
	}
	return spent / (double)steps;
}

/* ------------------------------------------------------------------------ the server */

static void fail(const char *what, const char *answer)
{
	fprintf(stderr, "ink-bench-redis: %s: %s\n", what, answer ? answer : "the server has gone");
	server_end(&r, SIGKILL);
	exit(1);
}

static const char *good(const char *what, const char *answer)
{
	if (!answer || answer[0] == '-')
		fail(what, answer);
	return answer;
}

static double field(const char *section, const char *name)
{
	char command[32], wanted[64];
	const char *at;

	snprintf(command, sizeof command, "INFO %s", section);
	snprintf(wanted, sizeof wanted, "%s:", name);
	at = strstr(good(command, client_do(&r.c, command)), wanted);
	return at ? atof(at + strlen(wanted)) : 0;
}

static double server_cpu(void)
{
	return field("cpu", "used_cpu_user_main_thread") + field("cpu", "used_cpu_sys_main_thread");
}

enum how { BLOB_OF_IDS, BLOB_OF_KEYS, BLOB_IN_TURN, BLOB_HELD, TEXT, LUA, STRINGS };

enum { SENSORS = 1000 };

static uint64_t blobs_in_turn, blobs_held;

static size_t write_keys(uint8_t *into)
{
	struct sent s = {.time = START, .n = 0};
	size_t n = blob_write(&s, into);
	uint8_t *at = into + n;

	into[5] = 2;
	little(into + 8, batch.n, 4);
	for (uint32_t i = 0; i < batch.n; i++)
		at = little(at, batch.events[i], 2);
	memset(at, 13, batch.n);
	at += batch.n;
	memcpy(at, batch.keys, (size_t)batch.n * 13);
	return (size_t)(at - into) + (size_t)batch.n * 13;
}

/* With a sensor: one that sends all blobs, or the next of a thousand, a microsecond later each. */
static void set_sensor(enum how how, struct sent *s)
{
	if (how == BLOB_IN_TURN) {
		s->sensor = 1;
		s->sequence = ++blobs_in_turn;
	} else if (how == BLOB_HELD) {
		s->sensor = 1 + blobs_held % SENSORS;
		s->sequence = 1 + blobs_held / SENSORS;
		s->time = START + ++blobs_held * 1000;
		s->answers = 0;
	}
}

static const char *key_of(enum how how)
{
	return how == BLOB_OF_KEYS ? "keys" : how == BLOB_HELD ? "held" : "k";
}

static void add_blob(enum how how)
{
	static uint8_t blob[56 + 16 * BATCH_MOST];
	struct sent s = {.time = START, .ids = batch.ids, .events = batch.events, .n = batch.n, .answers = 2};
	size_t n;

	set_sensor(how, &s);
	n = how == BLOB_OF_KEYS ? write_keys(blob) : blob_write(&s, blob);
	client_add(&r.c, (struct fake_text[]){fake_text("INK.STEPS"), fake_text(key_of(how)), {blob, n}}, 3);
}

/* Items as words: id, and what comes with it. */
static void add_words(const struct fake_text *first, int n_first)
{
	static struct fake_text argv[2 * BATCH_MOST + 8];
	static char digits[BATCH_MOST][24];
	static const char *const events[] = {"0", "1", "2"};
	int argc = n_first;

	memcpy(argv, first, (size_t)n_first * sizeof *first);
	for (uint32_t i = 0; i < batch.n; i++) {
		snprintf(digits[i], sizeof digits[i], "%" PRIu64, batch.ids[i]);
		argv[argc++] = fake_text(digits[i]);
		argv[argc++] = fake_text(events[batch.events[i]]);
	}
	client_add(&r.c, argv, argc);
}

static int add_strings(void)
{
	char digits[24];
	static const char *const states[] = {"1", "2", "3"};

	for (uint32_t i = 0; i < batch.n; i++) {
		snprintf(digits, sizeof digits, "%" PRIu64, batch.ids[i]);
		client_add(&r.c,
			   (struct fake_text[]){fake_text("SET"), fake_text(digits),
						fake_text(states[batch.events[i]]), fake_text("EX"),
						fake_text("60"), fake_text("GET")},
			   6);
	}
	return (int)batch.n;
}

/* The answers that will come. */
static int add(enum how how)
{
	switch (how) {
	case TEXT:
		add_words((struct fake_text[]){fake_text("INK.STEP"), fake_text("k"), fake_text("IDS")}, 3);
		return 1;
	case LUA:
		add_words((struct fake_text[]){fake_text("EVAL"), fake_text(script), fake_text("1"),
					       fake_text("h")},
			  4);
		return 1;
	case STRINGS:
		return add_strings();
	default:
		add_blob(how);
		return 1;
	}
}

/* So many steps, some commands ahead of their answers. `first`: UINT64_MAX random flows, else one after another. */
static void run(enum how how, uint64_t n, uint32_t each, uint64_t first)
{
	int due = 0;

	for (uint64_t done = 0; done < n; done += each) {
		draw(each, first == UINT64_MAX ? first : first + done);
		due += add(how);
		if (client_send(&r.c) != 0)
			fail("sending", NULL);
		for (; due > (how == STRINGS ? 0 : AHEAD); due--)
			good("steps", client_answer(&r.c));
	}
	for (; due; due--)
		good("steps", client_answer(&r.c));
}

static double time_server(enum how how, uint64_t n, uint32_t each)
{
	double begin = server_cpu();

	run(how, n, each, UINT64_MAX);
	return (server_cpu() - begin) / (double)n;
}

/* ---------------------------------------------------------------------------- report */

static const struct row {
	const char *name;
	enum how how;
	uint32_t each;
	unsigned less; /* this part of the steps: it is slow */
} rows[] = {
	{"INK.STEPS, ids, 1000 a blob", BLOB_OF_IDS, 1000, 1},
	{"INK.STEPS, ids, 100 a blob", BLOB_OF_IDS, 100, 1},
	{"INK.STEPS, ids, 10000 a blob", BLOB_OF_IDS, 10000, 1},
	{"INK.STEPS, keys of 13 bytes, 1000 a blob", BLOB_OF_KEYS, 1000, 1},
	{"..., ids, 1000 a blob, sequences", BLOB_IN_TURN, 1000, 1},
	{"..., ids, 1000 a blob, HOLD, 1000 sensors", BLOB_HELD, 1000, 1},
	{"INK.STEP, ids as text, 1000 a command", TEXT, 1000, 8},
	{"Lua over HGET and HSET, 1000 a script", LUA, 1000, 16},
	{"SET ... EX 60 GET, pipelined", STRINGS, 1000, 16},
};

enum { ROWS = sizeof rows / sizeof rows[0] };

static double memory(void)
{
	return field("memory", "used_memory");
}

/* What each way of keeping flows takes for `flows` of them. */
static void fill(enum how how, const char *name)
{
	double before = memory();

	run(how, flows, 1000, 0);
	printf("%-44s %8.2f bytes a flow, used_memory\n", name, (memory() - before) / (double)flows);
}

static void create(const char *key, const char *more)
{
	char words[120];

	snprintf(words, sizeof words, "INK.CREATE %s MACHINE TEXT %%1 FLOWS %" PRIu64 " SEED 7%s", key, flows,
		 more);
	good("INK.CREATE", client_do(&r.c, words, fake_text(five)));
}

/* One for ids, and one for the keys of the same flows, which have other ids. */
static void fill_tables(void)
{
	double before, grown;

	good("INK.CREATE", client_do(&r.c, "INK.CREATE warm MACHINE TEXT %1 FLOWS 10", fake_text(five)));
	good("INFO", client_do(&r.c, "INFO memory"));
	before = memory();
	create("k", "");
	grown = memory() - before;
	good("MEMORY", client_do(&r.c, "MEMORY USAGE k"));
	printf("%-44s %8.2f bytes a flow, used_memory; %.2f in the plan; MEMORY USAGE differs by %.3f %%\n",
	       "a table", grown / (double)flows, (double)ink_bytes(table) / (double)flows,
	       100 * ((double)r.c.number - grown) / grown);
	run(BLOB_OF_IDS, flows, 1000, 0);
	create("keys", "");
	run(BLOB_OF_KEYS, flows, 1000, 0);
	create("held", " HOLD 1000");
	run(BLOB_HELD, flows, 1000, 0);
}

static void time_all(void)
{
	double best[ROWS], local = 1;

	for (int i = 0; i < ROWS; i++)
		best[i] = 1;
	for (unsigned round = 0; round < rounds; round++) {
		double t = time_local(1000);

		local = t < local ? t : local;
		for (int i = 0; i < ROWS; i++) {
			t = time_server(rows[i].how, steps / rows[i].less, rows[i].each);
			best[i] = t < best[i] ? t : best[i];
		}
	}
	printf("%-44s %8.1f ns a step, %.1f M steps a second\n", "ink_step_batch, 1000 a call", local * 1e9,
	       1e-6 / local);
	for (int i = 0; i < ROWS; i++)
		printf("%-44s %8.1f ns a step, %.1f M steps a second, %.0f %% of ink_step_batch\n",
		       rows[i].name, best[i] * 1e9, 1e-6 / best[i], 100 * local / best[i]);
}

/* ------------------------------------------------------------------------- large tables */

static void timed(const char *what, const char *words, const char *text)
{
	double begin = server_cpu(), wall = wall_now();

	good(words, client_do(&r.c, words, fake_text(text)));
	wall = wall_now() - wall;
	printf("%-44s %8.1f ms of the server's CPU, %.1f ms until the answer\n", what,
	       (server_cpu() - begin) * 1e3, wall * 1e3);
}

static void fill_large(uint64_t n)
{
	uint64_t before = flows;

	flows = n;
	run(BLOB_OF_IDS, n, 100000, 0);
	draw(BATCH_MOST, UINT64_MAX);
	double begin = server_cpu();

	add_blob(BLOB_OF_IDS);
	client_send(&r.c);
	good("steps", client_answer(&r.c));
	printf("%-44s %8.1f ms of the server's CPU\n", "INK.STEPS, 262144 ids", (server_cpu() - begin) * 1e3);
	flows = before;
}

static void restore_large(void)
{
	uint8_t *payload;
	size_t n;
	double begin;

	good("DUMP", client_do(&r.c, "DUMP k"));
	n = r.c.last.n;
	payload = memcpy(malloc(n), r.c.last.at, n);
	good("DEL", client_do(&r.c, "DEL k"));
	begin = server_cpu();
	good("RESTORE", client_do(&r.c, "RESTORE k 0 %1", (struct fake_text){payload, n}));
	printf("%-44s %8.1f ms of the server's CPU, %zu bytes\n", "RESTORE", (server_cpu() - begin) * 1e3, n);
	free(payload);
}

/* To a time, by as many commands as it takes. */
static void tick_on(uint64_t time, const char *what)
{
	double longest = 0;
	int portions = 0, done = 0;
	char digits[24];

	snprintf(digits, sizeof digits, "%" PRIu64, time);
	for (; !done; portions++) {
		double begin = server_cpu(), took;

		done = good("INK.TICK", client_do(&r.c, "INK.TICK k %1", fake_text(digits)))[1] == '1';
		took = server_cpu() - begin;
		longest = took > longest ? took : longest;
	}
	printf("%-44s %8.1f ms of the server's CPU, %d portions\n", what, longest * 1e3, portions);
}

/* The largest that the limit allows: 64 MiB. */
static void time_large(const char *kind)
{
	char words[200], tick[64];
	uint64_t n;

	printf("\n64 MiB, %s\n", kind);
	good("FLUSHALL", client_do(&r.c, "FLUSHALL SYNC"));
	snprintf(words, sizeof words, "INK.CREATE k MACHINE TEXT %%1 BYTES 67108864 KIND %s SEED 7", kind);
	timed("INK.CREATE", words, five);
	n = (uint64_t)atoll(strstr(good("INK.INFO", client_do(&r.c, "INK.INFO k")), "cells ") + 6) / 100 * 90;
	printf("%-44s %8" PRIu64 "\n", "flows", n);
	fill_large(n);
	snprintf(tick, sizeof tick, "%" PRIu64, START + UINT64_C(64000000000));
	timed("INK.TICK, every flow is looked at", "INK.TICK k %1", tick);
	tick_on(START + UINT64_C(64000000000), "... in so many portions, the longest of them");
	timed("INK.CENSUS", "INK.CENSUS k", "");
	timed("INK.INFO", "INK.INFO k", "");
	timed("INK.INFO STATS", "INK.INFO k STATS", "");
	timed("INK.DUMP, the first piece", "INK.DUMP k 0", "");
	timed("COPY", "COPY k copy", "");
	timed("DEBUG DIGEST-VALUE", "DEBUG DIGEST-VALUE k", "");
	timed("DEL of the copy", "DEL copy", "");
	timed("DUMP, compressed by the server", "DUMP k", "");
	good("CONFIG", client_do(&r.c, "CONFIG SET rdbcompression no"));
	timed("DUMP, rdbcompression no", "DUMP k", "");
	restore_large();
	tick_on(START + UINT64_C(200000000000), "INK.TICK, every flow expires: portions, the longest");
}

/* What any copy of as much takes. */
static void time_memcpy(void)
{
	enum { BYTES = 64 << 20 };
	char *from = malloc(BYTES), *to = malloc(BYTES);
	double begin;

	memset(from, 1, BYTES);
	begin = cpu_now();
	memcpy(to, from, BYTES);
	printf("\n%-44s %8.1f ms of CPU (%d)\n", "memcpy of 64 MiB into new memory",
	       (cpu_now() - begin) * 1e3, to[BYTES - 1]);
	free(from);
	free(to);
}

/* -------------------------------------------------------------------------------- main */

static void start(void)
{
	static const char *const options[] = {"--save", "", "--enable-debug-command", "yes", NULL};
	const char *parent = getenv("TMPDIR");

	for (int i = 0; options[i]; i++)
		r.options[i] = options[i];
	r.module = MODULE;
	snprintf(r.folder, sizeof r.folder, "%s/ink-bench-redis-XXXXXX", parent ? parent : "/tmp");
	if (!mkdtemp(r.folder) || server_start(&r) != 0) {
		fprintf(stderr, "ink-bench-redis: %s does not start\n", server_program());
		exit(77);
	}
}

static void end(void)
{
	char command[600];

	server_end(&r, SIGTERM);
	snprintf(command, sizeof command, "rm -rf '%s'", r.folder);
	if (system(command) != 0)
		fprintf(stderr, "%s is left\n", r.folder);
}

int main(int argc, char **argv)
{
	int large = 0;

	for (int i = 1; i < argc; i++) {
		if (!strcmp(argv[i], "--large"))
			large = 1;
		else if (!strcmp(argv[i], "--flows") && i + 1 < argc)
			flows = strtoull(argv[++i], NULL, 10);
		else if (!strcmp(argv[i], "--steps") && i + 1 < argc)
			steps = strtoull(argv[++i], NULL, 10);
		else if (!strcmp(argv[i], "--rounds") && i + 1 < argc)
			rounds = (unsigned)atoi(argv[++i]);
		else
			return fprintf(stderr, "usage: %s [--flows N] [--steps N] [--rounds N] [--large]\n",
				       argv[0]),
			       2;
	}
	start();
	make_local();
	for (uint64_t i = 0; i < flows; i += 1000) {
		draw(1000, i);
		step_local();
	}
	fill_tables();
	fill(LUA, "a hash, a field for each flow");
	fill(STRINGS, "strings with expiry");
	time_all();
	if (large) {
		time_large("line");
		time_large("compact");
		time_memcpy();
	}
	ink_free(table);
	ink_machine_free(machine);
	end();
	return 0;
}
