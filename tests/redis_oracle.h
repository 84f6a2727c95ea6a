/* SPDX-License-Identifier: BSD-2-Clause */
/* A local table that gets what a server's table gets, and what a server has beside what it would save. */
#ifndef INKLING_TESTS_REDIS_ORACLE_H
#define INKLING_TESTS_REDIS_ORACLE_H

#include <inkling/inkling.h>
#include <inkling/machine.h>

#include "tests/redis_blob.h"
#include "tests/redis_client.h"
#include "tests/test.h"

static const char climb[] = "machine climb\n"
			    "key src\n"
			    "event a = tcp\n"
			    "event b = udp\n"
			    "event c = icmp\n"
			    "absent : a -> one / count begun\n"
			    "one : a -> two | b -> absent | timeout 8s -> absent / count gone\n"
			    "two : b -> one | c -> three / report \"climbs\" | timeout 16s -> one\n"
			    "three : a | b -> two | c -> absent | timeout 20s -> absent\n"
			    "unsure : * / pass\n";

enum { SECOND = 1000000000 };
static const uint64_t START = UINT64_C(1763524800) * SECOND;

/* The table that the server should have, and what a sensor remembers. */
struct oracle {
	struct ink_machine *machine;
	struct ink_table *table;
	uint64_t tick, time, sequence[4];
};

/* As INK.CREATE MACHINE TEXT climb FLOWS flows SEED 7 makes one. */
static inline void oracle_begin(struct oracle *o, uint64_t flows)
{
	struct ink_options with = {
		.size = sizeof with, .flows = flows, .age_bits = 1, .full = INK_UNSURE, .seed = 7};
	const struct ink_machine_view *v;

	*o = (struct oracle){.machine = ink_machine_make(climb, strlen(climb), NULL), .time = START};
	assert_non_null(o->machine);
	v = ink_machine_view(o->machine);
	with.states = v->rules->states;
	with.rules = v->rules;
	o->tick = v->tick;
	o->table = ink_create(&with, NULL);
	assert_non_null(o->table);
}

static inline void oracle_end(struct oracle *o)
{
	ink_free(o->table);
	ink_machine_free(o->machine);
}

/* All bytes of the server's value, by INK.DUMP. The caller frees them. */
static inline uint8_t *dump_all(struct client *c, const char *key, size_t *n)
{
	char cursor[64] = "0";
	uint8_t *all = NULL;

	*n = 0;
	do {
		const char *answer = client_do(c, "INK.DUMP %1 %2", fake_text(key), fake_text(cursor));

		assert_non_null(answer);
		snprintf(cursor, sizeof cursor, "%.*s", (int)strcspn(answer + 1, " "), answer + 1);
		all = realloc(all, *n + c->last.n + 1);
		memcpy(all + *n, c->last.at, c->last.n);
		*n += c->last.n;
	} while (strcmp(cursor, "0") != 0);
	return all;
}

/* The table behind the head is, to the byte, what the local one would save. */
static inline void assert_same_table(const struct oracle *o, struct client *c, const char *key)
{
	struct ink_buffer local = {0};
	uint64_t head;
	uint8_t *all;
	size_t n;

	all = dump_all(c, key, &n);
	head = from_little(all + 16, 8);
	ink_save_bytes(o->table, NULL, &local.room, NULL);
	local.bytes = malloc(local.room);
	assert_int_equal(ink_save_buffer(o->table, &local, NULL, NULL), 0);
	assert_int_equal(n - head, local.used);
	assert_memory_equal(all + head, local.bytes, local.used);
	free(local.bytes);
	free(all);
}

#endif
