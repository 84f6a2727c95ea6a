/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The nodes of conditions, and the tests at their leaves. Constants are folded into
 * what they would be a part of, and equal tests are stored once.
 */
#include <string.h>

#include "machine/parse.h"

/* ------------------------------------------------------------------ nodes */

const struct ink_condition *ink_condition_node(struct ink_parser *p, const struct ink_condition *wanted)
{
	struct ink_condition *c = ink_arena_get(p->m->arena, sizeof *c);

	if (c)
		*c = *wanted;
	return c;
}

static unsigned deeper(const struct ink_condition *a, const struct ink_condition *b)
{
	return 1 + (a->depth > b->depth ? a->depth : b->depth);
}

/*
 * What "and" or "or" of two conditions is without a node of its own, or NULL. Without constants, every
 * condition has a test: so the program of a condition is at least as long as the way through its tree.
 */
static const struct ink_condition *folded(enum ink_condition_kind kind, const struct ink_condition *a,
					  const struct ink_condition *b)
{
	enum ink_condition_kind neutral = kind == INK_AND ? INK_ALWAYS : INK_NEVER;
	enum ink_condition_kind decisive = kind == INK_AND ? INK_NEVER : INK_ALWAYS;

	if (a == b || b->kind == neutral || a->kind == decisive)
		return a;
	return a->kind == neutral || b->kind == decisive ? b : NULL;
}

const struct ink_condition *ink_condition_join(struct ink_parser *p, enum ink_condition_kind kind,
					       const struct ink_condition *a, const struct ink_condition *b)
{
	const struct ink_condition *one = a && b && kind != INK_NOT ? folded(kind, a, b) : NULL;

	if (!a || !b || one)
		return one;
	if (deeper(a, b) > INK_DEPTH_MAX) {
		ink_text_error(p->text, p->now.at, "more than %d conditions joined in one", INK_DEPTH_MAX);
		return NULL;
	}
	return ink_condition_node(p, &(struct ink_condition){.kind = kind,
							     .a = a,
							     .b = b,
							     .depth = deeper(a, b),
							     .pictures = a->pictures || b->pictures});
}

/* ------------------------------------------------------------------ tests */

/* Do two tests always give the same result for the same packet? The length of a chance is its number. */
static int same_test(const struct ink_test *a, const struct ink_test *b)
{
	if (a->field != b->field || a->field == INK_FIELD_COUNTER)
		return 0;
	if (a->n_ranges != b->n_ranges || a->n_prefixes != b->n_prefixes || a->length != b->length)
		return 0;
	return (!a->n_ranges || !memcmp(a->ranges, b->ranges, a->n_ranges * sizeof *a->ranges)) &&
	       (!a->n_prefixes || !memcmp(a->prefixes, b->prefixes, a->n_prefixes * sizeof *a->prefixes)) &&
	       (!a->length || !memcmp(a->bytes, b->bytes, a->length));
}

unsigned ink_find_test(const struct ink_machine *m, const struct ink_test *test)
{
	unsigned number = 0;

	while (number < m->n_tests && !same_test(&m->tests[number], test))
		number++;
	return number;
}

/* The test's number. */
static int number_of(struct ink_parser *p, const struct ink_test *test, unsigned *number)
{
	struct ink_machine *m = p->m;
	struct ink_test *grown;

	*number = ink_find_test(m, test);
	if (*number < m->n_tests)
		return 0;
	if (m->n_tests == INK_TESTS_MAX) {
		ink_text_limit(p->text, p->now.at, "more than %d different tests", INK_TESTS_MAX);
		return -1;
	}
	grown = ink_arena_grow(m->arena, m->tests, m->n_tests, sizeof *m->tests);
	if (!grown)
		return -1;
	m->tests = grown;
	m->tests[m->n_tests++] = *test;
	return 0;
}

const struct ink_condition *ink_condition_test(struct ink_parser *p, const struct ink_test *test)
{
	unsigned number;

	if (number_of(p, test, &number))
		return NULL;
	return ink_condition_node(p, &(struct ink_condition){.kind = INK_TEST,
							     .test = number,
							     .pictures = test->field == INK_FIELD_PICTURE});
}
