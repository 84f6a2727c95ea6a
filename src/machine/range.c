/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Numbers in conditions. Comparisons become sets of ranges, however they are
 * written: "port > 1023" is 1024-65535, "port != 80" is 0-79 and 81-65535. So a test
 * is a field and a set, and decide.c can compute what one test implies for another.
 */
#include <stdlib.h>
#include <string.h>

#include "machine/parse.h"

static int by_low(const void *a, const void *b)
{
	const struct ink_range *x = a, *y = b;

	return (x->low > y->low) - (x->low < y->low);
}

/* Sorts the ranges and merges those that overlap or touch. */
static unsigned tidy(struct ink_range *r, unsigned n)
{
	unsigned kept = 0;

	qsort(r, n, sizeof *r, by_low);
	for (unsigned i = 1; i < n; i++)
		if (r[i].low <= r[kept].high + 1)
			r[kept].high = r[i].high > r[kept].high ? r[i].high : r[kept].high;
		else
			r[++kept] = r[i];
	return n ? kept + 1 : 0;
}

const struct ink_condition *ink_range_test(struct ink_parser *p, enum ink_field field,
					   const struct ink_range *ranges, unsigned n)
{
	struct ink_range *copy = ink_arena_get(p->m->arena, (n + 1) * sizeof *copy);

	if (!copy)
		return NULL;
	memcpy(copy, ranges, n * sizeof *copy);
	n = tidy(copy, n);
	return ink_condition_test(p, &(struct ink_test){.field = field, .ranges = copy, .n_ranges = n});
}

static int parse_limited(struct ink_parser *p, const struct ink_number_test *t, uint64_t *number)
{
	uint32_t at = p->now.at;

	if (ink_parse_number(p, "a number", number))
		return -1;
	if (*number <= t->most)
		return 0;
	return ink_parser_misfit(p, at, "'%s' is 0 to %llu", t->word, (unsigned long long)t->most);
}

static int parse_range(struct ink_parser *p, const struct ink_number_test *t, struct ink_range *range)
{
	uint32_t at = p->now.at;

	if (parse_limited(p, t, &range->low))
		return -1;
	range->high = range->low;
	if (ink_parser_takes(p, "-") && parse_limited(p, t, &range->high))
		return -1;
	if (range->low <= range->high)
		return 0;
	ink_text_error(p->text, at, "the range %llu-%llu is empty", (unsigned long long)range->low,
		       (unsigned long long)range->high);
	return -1;
}

int ink_parse_compare(struct ink_parser *p, enum ink_compare *compare)
{
	static const char *const signs[] = {[INK_EQ] = "=",  [INK_NE] = "!=", [INK_LT] = "<",
					    [INK_LE] = "<=", [INK_GT] = ">",  [INK_GE] = ">="};

	for (unsigned i = 0; i < sizeof signs / sizeof signs[0]; i++)
		if (ink_parser_takes(p, signs[i])) {
			*compare = (enum ink_compare)i;
			return 1;
		}
	return 0;
}

unsigned ink_compare_ranges(enum ink_compare compare, uint64_t number, uint64_t most, struct ink_range r[2])
{
	unsigned n = 0;

	if (compare == INK_EQ)
		r[n++] = (struct ink_range){number, number};
	if ((compare == INK_NE || compare == INK_LT) && number > 0)
		r[n++] = (struct ink_range){0, number - 1};
	if ((compare == INK_NE || compare == INK_GT) && number < most)
		r[n++] = (struct ink_range){number + 1, most};
	if (compare == INK_LE)
		r[n++] = (struct ink_range){0, number};
	if (compare == INK_GE)
		r[n++] = (struct ink_range){number, most};
	return n;
}

/* The ranges of a set, in the arena. */
struct numbers {
	struct ink_range *ranges;
	unsigned n;
};

static int parse_compared(struct ink_parser *p, const struct ink_number_test *t, enum ink_compare compare,
			  struct numbers *into)
{
	struct ink_range ranges[2];
	uint32_t at = p->now.at;
	uint64_t number;

	if (ink_parser_foreign(p) || parse_limited(p, t, &number))
		return -1;
	into->n = ink_compare_ranges(compare, number, t->most, ranges);
	if (!into->n) {
		ink_text_error(p->text, at, "no value satisfies this: '%s' is 0 to %llu", t->word,
			       (unsigned long long)t->most);
		return -1;
	}
	into->ranges = ink_arena_get(p->m->arena, into->n * sizeof *ranges);
	if (into->ranges)
		memcpy(into->ranges, ranges, into->n * sizeof *ranges);
	return into->ranges ? 0 : -1;
}

static int add_range(struct ink_parser *p, const struct ink_number_test *t, struct numbers *into)
{
	into->ranges = ink_arena_grow(p->m->arena, into->ranges, into->n, sizeof *into->ranges);
	return into->ranges ? parse_range(p, t, &into->ranges[into->n++]) : -1;
}

static int parse_set(struct ink_parser *p, const struct ink_number_test *t, struct numbers *into)
{
	do {
		if (add_range(p, t, into))
			return -1;
	} while (ink_parser_takes(p, ","));
	return ink_parser_takes(p, "}") ? 0 : ink_parser_expected(p, "',' or '}'");
}

static int parse_numbers(struct ink_parser *p, const struct ink_number_test *t, struct numbers *into)
{
	enum ink_compare compare;

	if (ink_parse_compare(p, &compare))
		return parse_compared(p, t, compare, into);
	if (ink_parser_takes(p, "{"))
		return parse_set(p, t, into);
	if (p->now.kind != TOKEN_NUMBER && !ink_parser_param(p))
		return ink_parser_expected_value(p, "a number, a range, a set in braces, or a comparison");
	return add_range(p, t, into);
}

const struct ink_condition *ink_parse_numbers(struct ink_parser *p, const struct ink_number_test *t)
{
	struct numbers numbers = {0};

	return parse_numbers(p, t, &numbers) ? NULL : ink_range_test(p, t->field, numbers.ranges, numbers.n);
}

/* --------------------------------------------------------------- NAL units */

/* All pairs of these types and these values of nal_ref_idc. */
static const struct ink_condition *pair_test(struct ink_parser *p, const struct numbers *types,
					     const struct numbers *refs)
{
	struct numbers pairs = {0};

	for (unsigned i = 0; i < refs->n; i++)
		for (uint64_t ref = refs->ranges[i].low; ref <= refs->ranges[i].high; ref++)
			for (unsigned j = 0; j < types->n; j++) {
				pairs.ranges = ink_arena_grow(p->m->arena, pairs.ranges, pairs.n,
							      sizeof *pairs.ranges);
				if (!pairs.ranges)
					return NULL;
				pairs.ranges[pairs.n++] =
					(struct ink_range){ref * INK_NAL_TYPES + types->ranges[j].low,
							   ref * INK_NAL_TYPES + types->ranges[j].high};
			}
	return ink_range_test(p, INK_FIELD_NAL_REF, pairs.ranges, pairs.n);
}

const struct ink_condition *ink_parse_nal(struct ink_parser *p)
{
	static const struct ink_number_test type = {"nal", INK_FIELD_NAL, INK_NAL_TYPES - 1},
					    ref = {"ref", INK_FIELD_NAL_REF, INK_NAL_REFS - 1};
	struct numbers types = {0}, refs = {0};

	if (parse_numbers(p, &type, &types))
		return NULL;
	if (ink_parser_begins_states(p) || !ink_parser_takes(p, "ref"))
		return ink_range_test(p, INK_FIELD_NAL, types.ranges, types.n);
	return parse_numbers(p, &ref, &refs) ? NULL : pair_test(p, &types, &refs);
}
