/* SPDX-License-Identifier: BSD-2-Clause */
/* What a row does besides its move: reports, counters, verdicts, marks, saving, the initiator. */
#include <string.h>

#include "machine/parse.h"

static int parse_amount(struct ink_parser *p, struct ink_counting *c)
{
	static const char types[][2] = {"I", "P", "B"};

	if (ink_parser_takes(p, "payload"))
		return c->amount = INK_AMOUNT_PAYLOAD, 0;
	if (ink_parser_takes(p, "length"))
		return c->amount = INK_AMOUNT_LENGTH, 0;
	if (!ink_parser_takes(p, "pictures"))
		return ink_parse_number(p, "a number, 'payload', 'length' or 'pictures'", &c->number);
	for (unsigned i = 0; i < 3; i++)
		if (ink_parser_takes(p, types[i]))
			return c->amount = (enum ink_amount)(INK_AMOUNT_PICTURES_I + i), 0;
	return ink_parser_expected(p, "'I', 'P' or 'B'");
}

/* The first `count` of a name defines the counter. */
static int counter_number(struct ink_parser *p, struct ink_name *name, uint32_t at, unsigned *number)
{
	struct ink_machine *m = p->m;

	if (!name->counter && m->n_counters == INK_COUNTERS_MAX) {
		ink_text_error(p->text, at, "more than %d counters", INK_COUNTERS_MAX);
		return -1;
	}
	if (!name->counter) {
		if (!INK_APPEND(p, m->counters, m->n_counters))
			return -1;
		m->counters[m->n_counters++] = (struct ink_named){name, at};
		name->counter = m->n_counters;
	}
	*number = name->counter - 1;
	return 0;
}

static int parse_count(struct ink_parser *p, struct ink_written_row *row)
{
	struct ink_counting c = {.amount = INK_AMOUNT_NUMBER, .number = 1}, *all;
	uint32_t at = p->now.at;
	struct ink_name *name;

	if (ink_parse_name(p, "a counter's name", &name) || counter_number(p, name, at, &c.counter))
		return -1;
	if (ink_parser_takes(p, "by") && parse_amount(p, &c))
		return -1;
	all = (struct ink_counting *)row->action.countings;
	if (!INK_APPEND(p, all, row->action.n_countings))
		return -1;
	all[row->action.n_countings++] = c;
	row->action.countings = all;
	if (c.amount != INK_AMOUNT_NUMBER && !row->packet_action) {
		row->packet_action = "counting by what a packet has";
		row->packet_action_at = at;
	}
	return 0;
}

static int parse_mark(struct ink_parser *p, struct ink_written_row *row)
{
	uint32_t at = p->now.at;
	uint64_t mark;

	if (ink_parse_number(p, "the mark, a number", &mark))
		return -1;
	if (mark > UINT32_MAX) {
		ink_text_error(p->text, at, "a mark is 0 to 4294967295");
		return -1;
	}
	row->action.mark = (uint32_t)mark;
	row->action.marks = 1;
	return 0;
}

static int set_verdict(struct ink_parser *p, struct ink_written_row *row, enum ink_verdict verdict)
{
	if (row->action.verdict && row->action.verdict != verdict) {
		ink_text_error(p->text, row->packet_action_at, "'drop' and 'pass' in one row");
		return -1;
	}
	row->action.verdict = verdict;
	return 0;
}

static int parse_report(struct ink_parser *p, struct ink_written_row *row)
{
	uint32_t at = p->now.at;
	unsigned length;

	if (row->action.report)
		return ink_parser_twice(p, at, "the report of this row", row->at);
	if (ink_parse_string(p, "the text in quotes", &row->action.report, &length))
		return -1;
	if (strlen(row->action.report) == length)
		return 0;
	ink_text_error(p->text, at, "a report cannot contain a NUL byte");
	return -1;
}

/* An action that needs a packet. */
static int parse_packet_action(struct ink_parser *p, struct ink_written_row *row)
{
	static const char *const words[] = {"report", "drop", "pass", "mark", "save", "new"};
	unsigned which = 0;

	while (which < 6 && !ink_parser_sees(p, words[which]))
		which++;
	if (which == 6)
		return ink_parser_expected(
			p, "an action: report, count, drop, pass, mark, save or new initiator");
	row->packet_action = words[which];
	row->packet_action_at = p->now.at;
	ink_parser_next(p);
	switch (which) {
	case 0:
		return parse_report(p, row);
	case 1:
		return set_verdict(p, row, INK_DROP);
	case 2:
		return set_verdict(p, row, INK_PASS);
	case 3:
		return parse_mark(p, row);
	case 4:
		return row->action.saves = 1, 0;
	default:
		return row->new_initiator = 1, ink_parser_wants(p, "initiator");
	}
}

int ink_parse_actions(struct ink_parser *p, struct ink_written_row *row)
{
	int error;

	do
		error = ink_parser_takes(p, "count") ? parse_count(p, row) : parse_packet_action(p, row);
	while (!error && ink_parser_takes(p, ","));
	return error;
}
