/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Peeks and a census beside the one writer of `line` and of `compact`, with every
 * instruction set: also under the thread sanitizer, for which base/cpu.c would
 * choose the portable code alone. A flow that the writer leaves alone is found in
 * its state at any time.
 */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <inkling/inkling.h>

#include "base/cpu.h"
#include "tests/random.h"

enum { STEADY = 300, MOVING = 600, STATES = 11 };

struct scene {
	struct ink_table *t;
	uint64_t rounds, steady[STEADY], moving[MOVING], wrong;
	int stop;
};

/* Fills lines, moves entries, recodes, shifts, and sweeps. */
static void *write_all_the_time(void *arg)
{
	struct scene *s = arg;

	for (uint64_t i = 0; i < s->rounds; i++) {
		ink_set(s->t, s->moving[i % MOVING], (unsigned)i % STATES);
		ink_modify(s->t, s->moving[i / 2 % MOVING], (unsigned)(i / 2) % STATES);
		ink_delete(s->t, s->moving[(i * 7 + 1) % MOVING]);
	}
	__atomic_store_n(&s->stop, 1, __ATOMIC_RELEASE);
	return NULL;
}

static void *peek_all_the_time(void *arg)
{
	struct scene *s = arg;
	struct ink_counts counts;

	while (!__atomic_load_n(&s->stop, __ATOMIC_ACQUIRE)) {
		for (unsigned i = 0; i < STEADY; i++)
			s->wrong += ink_peek(s->t, s->steady[i]) != (ink_answer)(i % STATES);
		ink_census(s->t, &counts);
		s->wrong += counts.total < STEADY;
	}
	return NULL;
}

/* No moving flow matches the entry of a steady one: the writer would change that. */
static void fill(struct scene *s)
{
	for (unsigned i = 0; i < STEADY; i++) {
		s->steady[i] = random_word();
		assert_int_equal(ink_insert(s->t, s->steady[i], i % STATES), 0);
	}
	for (unsigned i = 0; i < MOVING; i++)
		do
			s->moving[i] = random_word();
		while (ink_peek(s->t, s->moving[i]) != INK_ABSENT);
}

static void play(enum ink_kind kind, enum ink_simd simd, struct ink_geometry geometry)
{
	struct ink_options o = {.size = sizeof o,
				.kind = kind,
				.flows = STEADY + MOVING,
				.states = STATES,
				.age_bits = 1,
				.simd = simd,
				.seed = 7,
				.geometry = geometry};
	struct scene s = {.rounds = scaled(200000)};
	struct ink_why why;
	pthread_t writer, reader;

	s.t = ink_create(&o, &why);
	if (!s.t)
		fail_msg("%s", why.text);
	fill(&s);
	pthread_create(&writer, NULL, write_all_the_time, &s);
	pthread_create(&reader, NULL, peek_all_the_time, &s);
	pthread_join(writer, NULL);
	pthread_join(reader, NULL);
	assert_int_equal(s.wrong, 0);
	assert_int_equal(ink_check(s.t, NULL), 0);
	ink_free(s.t);
}

static void a_flow_at_rest_is_found_beside_a_writer(void **state)
{
	static const struct {
		enum ink_kind kind;
		struct ink_geometry geometry;
	} tables[] = {
		{INK_LINE, {.b = 40, .h = 24, .side = 100}},
		{INK_LINE, {.b = 60, .h = 16, .side = 100}},
		{INK_COMPACT, {.b = 30, .h = 32, .f = 8, .q = 59, .side = 100}},
		{INK_COMPACT, {.b = 34, .h = 28, .f = 11, .q = 31, .side = 100}},
	};

	(void)state;
	for (unsigned i = 0; i < sizeof tables / sizeof tables[0]; i++) {
		play(tables[i].kind, INK_SIMD_NONE, tables[i].geometry);
		if (ink_cpu_has(INK_SIMD_AVX2))
			play(tables[i].kind, INK_SIMD_AVX2, tables[i].geometry);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_flow_at_rest_is_found_beside_a_writer),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
