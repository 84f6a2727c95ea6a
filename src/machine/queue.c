/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * "queue > 50 packets", "queue > 64k bytes", "queue > 20ms": what waits where the packet leaves, before it joins.
 *
 * Each unit is a field of its own, whose values are 32 bits wide: packets, bytes, and microseconds.
 */
#include <string.h>

#include "machine/parse.h"

#define LONGEST 3600000000000ull /* ns; in microseconds it fits 32 bits */

enum { NS_OF_TIME = 1000 }; /* in a unit of INK_FIELD_QUEUE_TIME */

struct amount {
	enum ink_field field;
	uint64_t value;
};

static const char expected[] = "'packets' or 'bytes' (or a time: 'queue > 20ms')";

static int parse_unit(struct ink_parser *p, uint32_t at, enum ink_unit_of *unit)
{
	struct ink_suggest near = ink_parser_near(p);

	*unit = ink_parser_takes_unit(p);
	if (*unit)
		return 0;
	if (p->param && p->param->set)
		return ink_parser_misfit(p, at, "expected packets, bytes or a time such as 20ms");
	if (ink_parser_begins_states(p))
		return ink_parser_expected(p, expected);
	ink_suggest_offer(&near, "packets");
	ink_suggest_offer(&near, "bytes");
	return ink_parser_expected_near(p, expected, &near);
}

static int parse_amount(struct ink_parser *p, struct amount *a)
{
	enum ink_unit_of unit;
	uint32_t at = p->now.at;

	if (ink_parse_amount(p, "an amount such as '50 packets', '64k bytes' or '20ms'", &a->value, &unit))
		return -1;
	if (unit == INK_OF_TIME && a->value > LONGEST)
		return ink_parser_misfit(p, at, "a queue's time is 1ms to 1h");
	if (unit != INK_OF_TIME && a->value > UINT32_MAX)
		return ink_parser_misfit(p, at, "'queue' is 0 to %u", UINT32_MAX);
	if (!unit && parse_unit(p, at, &unit))
		return -1;
	a->field = unit == INK_OF_TIME    ? INK_FIELD_QUEUE_TIME
		   : unit == INK_OF_BYTES ? INK_FIELD_QUEUE_BYTES
					  : INK_FIELD_QUEUE_PACKETS;
	a->value /= unit == INK_OF_TIME ? NS_OF_TIME : 1;
	return 0;
}

/* Equal tests are one: the place of the first is reported. */
static const struct ink_condition *test_at(struct ink_parser *p, uint32_t at, const struct ink_range *ranges,
					   unsigned n, enum ink_field field)
{
	struct ink_range *copy = ink_arena_get(p->m->arena, n * sizeof *copy);
	struct ink_test test = {.field = field, .ranges = copy, .n_ranges = n};

	if (!copy)
		return NULL;
	memcpy(copy, ranges, n * sizeof *copy);
	if (ink_find_test(p->m, &test) == p->m->n_tests && !(test.place = ink_parser_place(p, at)))
		return NULL;
	return ink_condition_test(p, &test);
}

const struct ink_condition *ink_parse_queue(struct ink_parser *p, uint32_t at)
{
	struct ink_range ranges[2];
	enum ink_compare compare;
	struct amount amount;
	unsigned n;

	if (ink_parser_foreign(p))
		return NULL;
	if (!ink_parse_compare(p, &compare))
		return ink_parser_expected(p, "a comparison such as 'queue > 50 packets'"), NULL;
	if (ink_parser_foreign(p) || parse_amount(p, &amount))
		return NULL;
	n = ink_compare_ranges(compare, amount.value, UINT32_MAX, ranges);
	if (n)
		return test_at(p, at, ranges, n, amount.field);
	ink_text_error(p->text, at, "no value satisfies this: a queue has 0 or more");
	return NULL;
}
