/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Hostile bytes for the module, in the tests' own server: payloads, pieces, blobs
 * and arguments that are almost right. A million in all; the sanitizers run a
 * part of them. None may crash, leak, or change what a key held; what is
 * accepted works.
 *
 * A head has a sum that no attacker needs to leave wrong, so ours is put right
 * after each change. The sums of the table are the library's, which
 * tests/fuzz_load.c attacks.
 */
#include <inttypes.h>

#include "tests/random.h"
#include "tests/redis_blob.h"
#include "tests/redis_fake.h"
#include "tests/test.h"

static const char climb[] = "machine climb\n"
			    "key src\n"
			    "event a = tcp\n"
			    "event b = udp\n"
			    "absent : a -> one / count begun\n"
			    "one : a -> two / report \"{src} is two\" | b -> absent | timeout 8s -> absent\n"
			    "two : b -> one / report \"{src} fell\" | a | timeout 16s -> one\n"
			    "unsure : * / pass\n";

static const uint64_t START = UINT64_C(1763524800000000000);

static struct fake *f;

static int begin(void **state)
{
	(void)state;
	f = fake_new(NULL);
	return 0;
}

static int end(void **state)
{
	(void)state;
	fake_free(f);
	if (fake_allocated())
		print_error("%" PRIu64 " bytes are left\n", fake_allocated());
	return fake_allocated() != 0;
}

static int clear(void **state)
{
	(void)state;
	fake_delete(f, "k");
	fake_delete(f, "copy");
	fake_delete(f, "reports");
	return 0;
}

/* A key with all that a value can have: sensors, moves in outboxes, held blobs. */
static void make_key(void)
{
	static const uint64_t ids[] = {1, 2, 1, 3, 2, 1};
	static const uint16_t events[] = {0, 0, 0, 0, 0, 1};
	uint8_t blob[200];

	fake_delete(f, "k");
	fake_do(f, "INK.CREATE k MACHINE TEXT %1 FLOWS 100 HOLD 1000 OUTBOX 20", fake_text(climb));
	for (uint64_t i = 1; i < 30; i++) {
		struct sent s = {.time = START + i * 100000000 * (1 + i % 3),
				 .ids = ids,
				 .events = events,
				 .n = (uint32_t)(i % 7),
				 .answers = 2,
				 .sensor = 1 + i % 3,
				 .sequence = (i + 2) / 3};

		s.ids = s.n ? ids : NULL;
		s.sequence = i / 3 + (i % 3 != 0);
		fake_do(f, "INK.STEPS k %1", ((struct fake_text){blob, blob_write(&s, blob)}));
	}
}

/* What a key with an accepted value has to survive. */
static void use(const char *key)
{
	static const char *const words[] = {"INK.CENSUS %1",
					    "INK.INFO %1",
					    "INK.COUNTERS %1",
					    "INK.SENSORS %1",
					    "INK.MACHINE %1",
					    "INK.DUMP %1 0",
					    "INK.TICK %1 18446744073709551615",
					    "INK.LOOKUP %1 KEYS alice",
					    "INK.STEP %1 KEYS alice 0 bob 1"};

	for (size_t i = 0; i < COUNT(words); i++)
		fake_do(f, words[i], fake_text(key));
	fake_digest(f, key);
}

static uint64_t fnv_of(const uint8_t *at, size_t n)
{
	uint64_t sum = 0xcbf29ce484222325;

	for (size_t i = 0; i < n; i++)
		sum = (sum ^ at[i]) * 0x100000001b3;
	return sum;
}

/* A few bytes become others: random ones, small or large numbers. */
static void spoil(uint8_t *at, size_t n)
{
	static const uint64_t numbers[] = {0,     1,        2,          255,       4096,
					   65535, 1u << 20, UINT32_MAX, INT64_MAX, UINT64_MAX};

	for (unsigned i = 0; i <= random_below(3); i++) {
		size_t place = random_below(n);
		int width = 1 << random_below(4);

		if (random_below(2))
			at[place] = (uint8_t)random_word();
		else if (place + (size_t)width <= n)
			little(at + place, numbers[random_below(COUNT(numbers))], width);
	}
}

/* The payload of RDB: strings, each with a length in front. Ours is one, and an empty one. */
enum { STRING = 4, HEAD = 32, LENGTH_AT = 16, SUM_AT = 24 };

/* In the head, whose length and sum are put right; or anywhere. */
static void spoil_payload(uint8_t *at, size_t n)
{
	uint64_t head = from_little(at + STRING + LENGTH_AT, 8);

	if (random_below(8) == 0) {
		spoil(at, n);
		return;
	}
	spoil(at + STRING + HEAD, head - HEAD);
	if (random_below(8) == 0)
		little(at + STRING + LENGTH_AT, head = HEAD + random_below(head + 100), 8);
	if (head <= n - STRING)
		little(at + STRING + SUM_AT, fnv_of(at + STRING + HEAD, head - HEAD), 8);
}

TEST_THAT(spoiled_payloads_are_refused_or_are_sound_tables)
{
	uint64_t tries = scaled(400000), accepted = 0, digest;
	struct fake_text good;
	uint8_t *bad;

	make_key();
	good = fake_dump(f, "k");
	digest = fake_digest(f, "k");
	for (uint64_t i = 0; i < tries; i++) {
		size_t n = random_below(20) ? good.n : random_below(good.n + 1);

		bad = malloc(good.n); /* its own block each time, whose ends are watched */
		memcpy(bad, good.at, good.n);
		spoil_payload(bad, good.n);
		if (fake_restore(f, "copy", (struct fake_text){bad, n}, (int)random_below(2))) {
			accepted++;
			use("copy");
		}
		free(bad);
	}
	assert_true(accepted > 0 && accepted < tries);
	assert_true(fake_digest(f, "k") == digest);
	print_message("%" PRIu64 " of %" PRIu64 " payloads were accepted\n", accepted, tries);
	free((void *)(uintptr_t)good.at);
}

TEST_THAT(spoiled_pieces_are_refused_and_the_key_stays)
{
	uint64_t tries = scaled(200000), accepted = 0;
	struct fake_text good;
	char length[24];
	uint8_t *bad;
	size_t n;

	make_key();
	good = fake_dump(f, "k");
	n = good.n - 2 * STRING; /* without the lengths of its two strings */
	snprintf(length, sizeof length, "%zu", n);
	for (uint64_t i = 0; i < tries; i++) {
		const char *answer;

		bad = malloc(n + STRING);
		memcpy(bad, good.at, n + STRING);
		spoil_payload(bad, n + STRING);
		answer = fake_do(f, "INK.LOADCHUNK copy 0 %1 %2", fake_text(length),
				 ((struct fake_text){bad + STRING, n}));
		if (answer[0] != '-') {
			accepted++;
			use("copy");
			fake_delete(f, "copy");
		} else {
			assert_string_equal(fake_do(f, "INK.INFO copy"), "-NOKEY there is no such key");
		}
		free(bad);
	}
	print_message("%" PRIu64 " of %" PRIu64 " were accepted\n", accepted, tries);
	free((void *)(uintptr_t)good.at);
}

TEST_THAT(spoiled_blobs_are_refused_or_make_steps)
{
	static const char *const keys[] = {"alice", "b", "", "carol"};
	static const uint64_t ids[] = {1, 2, 3, 4};
	static const uint16_t events[] = {0, 1, 0, 1};
	uint64_t tries = scaled(300000);

	make_key();
	fake_do(f, "INK.CREATE copy MACHINE TEXT %1 FLOWS 100 FULL replace", fake_text(climb));
	for (uint64_t i = 0; i < tries; i++) {
		struct sent s = {.time = START + i,
				 .events = events,
				 .n = random_below(5),
				 .answers = (int)random_below(3)};
		uint8_t written[200], *blob;
		size_t n;

		if (random_below(2))
			s.ids = ids;
		else
			s.keys = keys;
		s.sensor = random_below(5);
		s.sequence = s.sensor ? 1 + random_below(100) : 0;
		n = blob_write(&s, written);
		if (random_below(10) == 0)
			n = random_below(n + 1);
		blob = memcpy(malloc(n ? n : 1), written, n);
		if (n && random_below(4))
			spoil(blob, n);
		fake_do(f, random_below(2) ? "INK.STEPS k %1" : "INK.STEPS copy REPORTS reports %1",
			((struct fake_text){blob, n}));
		free(blob);
		if (i % 1000 == 0)
			fake_delete(f, "reports");
	}
	use("k");
	use("copy");
}

/* Words that commands know, numbers at the ends of ranges, keys, nothing, and anything. */
static struct fake_text any_word(char room[24])
{
	static const char *const words[] = {
		"k",
		"copy",
		"",
		"KEYS",
		"IDS",
		"AT",
		"MACHINE",
		"TEXT",
		"STATES",
		"TIMEOUT",
		"FLOWS",
		"BYTES",
		"NAME",
		"KIND",
		"line",
		"compact",
		"exact",
		"kbf",
		"stateful",
		"direct",
		"dleft",
		"ERROR",
		"0.5",
		"1e-9",
		"nan",
		"AGE",
		"FULL",
		"replace",
		"SEED",
		"LIMIT",
		"HOLD",
		"HELD",
		"OUTBOX",
		"REPORTS",
		"tcp",
		"scan",
		"flood",
		"a",
		"one",
		"-1",
		"0",
		"1",
		"2",
		"255",
		"256",
		"1000",
		"65536",
		"1048576",
		"4294967296",
		"18446744073709551615",
		"18446744073709551616",
		climb,
	};
	unsigned i = random_below(COUNT(words) + 2);

	if (i < COUNT(words))
		return fake_text(words[i]);
	for (int j = 0; j < 24; j++)
		room[j] = (char)random_word();
	return (struct fake_text){room, random_below(24)};
}

TEST_THAT(arguments_of_any_kind_and_number_are_answered)
{
	static const char *const names[] = {"INK.CREATE",  "INK.PLAN",     "INK.STEP",     "INK.STEPS",
					    "INK.INSERT",  "INK.SET",      "INK.MODIFY",   "INK.DEL",
					    "INK.LOOKUP",  "INK.PEEK",     "INK.TICK",     "INK.POLL",
					    "INK.CENSUS",  "INK.COUNTERS", "INK.INFO",     "INK.SENSORS",
					    "INK.MACHINE", "INK.DUMP",     "INK.LOADCHUNK"};
	uint64_t tries = scaled(100000);

	fake_set_limit(1 << 20); /* tables of 64 MiB would take all the time */
	make_key();
	for (uint64_t i = 0; i < tries; i++) {
		struct fake_text argv[14];
		char room[14][24];
		int argc = 1 + (int)random_below(13);

		argv[0] = fake_text(names[random_below(COUNT(names))]);
		for (int j = 1; j < argc; j++)
			argv[j] = j == 1 && random_below(4) ? fake_text("copy") : any_word(room[j]);
		fake_run(f, argv, argc);
		if (random_below(8) == 0)
			fake_delete(f, "copy");
	}
}

int main(void)
{
	return run_suite(&(struct suite){.begin = begin, .end = end, .after_each = clear});
}
