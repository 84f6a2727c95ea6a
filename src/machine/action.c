/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a row does besides its move: reports, counters, verdicts, marks, saving, the initiator. Priorities and limits
 * are in limit.c.
 *
 * With "leaving" before it, an action is for the states from which the row leaves its repetition. There the row does
 * that and what it does elsewhere.
 */
#include <string.h>

#include "machine/parse.h"

const char *const ink_packet_action_words[INK_PACKET_ACTIONS] = {[INK_DOES_REPORT] = "report",
								 [INK_DOES_DROP] = "drop",
								 [INK_DOES_PASS] = "pass",
								 [INK_DOES_MARK] = "mark",
								 [INK_DOES_PRIORITY] = "priority",
								 [INK_DOES_CLASS] = "class",
								 [INK_DOES_LIMIT] = "limit",
								 [INK_DOES_SAVE] = "save",
								 [INK_DOES_NEW_INITIATOR] = "new",
								 [INK_DOES_TELL] = "tell",
								 [INK_DOES_MEASURE] =
									 "counting by what a packet has"};

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
		ink_text_limit(p->text, at, "more than %d counters", INK_COUNTERS_MAX);
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

static int add_counting(struct ink_parser *p, struct ink_action *a, const struct ink_counting *c)
{
	struct ink_counting *all = (struct ink_counting *)a->countings;

	if (!INK_APPEND(p, all, a->n_countings))
		return -1;
	all[a->n_countings++] = *c;
	a->countings = all;
	return 0;
}

static int parse_count(struct ink_parser *p, struct ink_written_row *row, struct ink_action *a)
{
	struct ink_counting c = {.amount = INK_AMOUNT_NUMBER, .number = 1};
	uint32_t at = p->now.at;
	struct ink_name *name;

	if (ink_parse_name(p, "a counter's name", &name) || counter_number(p, name, at, &c.counter))
		return -1;
	if (ink_parser_takes(p, "by") && parse_amount(p, &c))
		return -1;
	if (c.amount != INK_AMOUNT_NUMBER && !row->packet_action) {
		row->packet_action = INK_DOES_MEASURE;
		row->packet_action_at = at;
	}
	return add_counting(p, a, &c);
}

static int parse_mark(struct ink_parser *p, struct ink_action *a)
{
	uint32_t at = p->now.at;
	uint64_t mark;

	if (ink_parse_number(p, "the mark, a number", &mark))
		return -1;
	if (mark > UINT32_MAX)
		return ink_parser_misfit(p, at, "a mark is 0 to 4294967295");
	a->mark = (uint32_t)mark;
	a->marks = 1;
	return 0;
}

static int set_verdict(struct ink_parser *p, struct ink_written_row *row, struct ink_action *a,
		       enum ink_verdict verdict)
{
	if (a->verdict && a->verdict != verdict) {
		ink_text_error(p->text, row->packet_action_at, "'drop' and 'pass' in one row");
		return -1;
	}
	a->verdict = verdict;
	return 0;
}

struct ink_more *ink_deed_more(struct ink_parser *p, struct ink_deed *d)
{
	if (!d->more)
		d->more = ink_arena_get(p->m->arena, sizeof *d->more);
	return d->more;
}

static int add_tell(struct ink_parser *p, struct ink_deed *d, struct ink_written_tell *tell)
{
	struct ink_more *more = ink_deed_more(p, d);

	if (!more || !INK_APPEND(p, more->tells, more->n_tells))
		return -1;
	more->tells[more->n_tells++] = tell;
	return 0;
}

int ink_parser_begins_states(const struct ink_parser *p)
{
	struct ink_token behind = ink_parser_behind(p);

	return ink_token_is(p->text, &behind, ":") ||
	       (ink_token_first(p->text, &p->now) && ink_parser_sees_states(p));
}

/* The names are looked up when all machines are known. */
static int parse_tell(struct ink_parser *p, struct ink_deed *d)
{
	struct ink_written_tell *tell = ink_arena_get(p->m->arena, sizeof *tell);
	struct ink_name *machine, *event;

	if (!tell)
		return -1;
	tell->at = p->now.at;
	if (ink_parse_name(p, "the name of a later machine", &machine))
		return -1;
	tell->event_at = p->now.at;
	if (ink_parser_begins_states(p))
		return ink_parser_expected(p, "an event of that machine");
	if (ink_parse_name(p, "an event of that machine", &event))
		return -1;
	tell->machine = machine;
	tell->event = event;
	if (!ink_parser_begins_states(p))
		tell->to.reversed = ink_parser_takes(p, "reversed");
	return add_tell(p, d, tell);
}

static int parse_new(struct ink_parser *p, struct ink_written_row *row, const struct ink_deed *d)
{
	if (d != &row->does) {
		ink_text_error(p->text, row->packet_action_at, "'new initiator' cannot follow 'leaving'");
		return -1;
	}
	row->new_initiator = 1;
	return ink_parser_wants(p, "initiator");
}

static int no_action(struct ink_parser *p)
{
	struct ink_suggest near = ink_parser_near(p);

	ink_suggest_offer(&near, "count");
	for (unsigned i = INK_DOES_REPORT; i <= INK_DOES_TELL; i++)
		ink_suggest_offer(&near, ink_packet_action_words[i]);
	return ink_parser_expected_near(p,
					"an action: report, count, drop, pass, mark, priority, class, limit, "
					"save, tell or new initiator",
					&near);
}

/* An action that needs a packet. */
static int parse_packet_action(struct ink_parser *p, struct ink_written_row *row, struct ink_deed *d)
{
	struct ink_action *a = &d->action;
	unsigned which = INK_DOES_REPORT;

	while (which <= INK_DOES_TELL && !ink_parser_sees(p, ink_packet_action_words[which]))
		which++;
	if (which > INK_DOES_TELL)
		return no_action(p);
	row->packet_action = (uint8_t)which;
	row->packet_action_at = p->now.at;
	ink_parser_next(p);
	switch (which) {
	case INK_DOES_REPORT:
		return ink_parse_report(p, row, d);
	case INK_DOES_DROP:
		return set_verdict(p, row, a, INK_DROP);
	case INK_DOES_PASS:
		return set_verdict(p, row, a, INK_PASS);
	case INK_DOES_MARK:
		return parse_mark(p, a);
	case INK_DOES_PRIORITY:
		return ink_parse_priority(p, d, INK_PRIORITY, row->packet_action_at);
	case INK_DOES_CLASS:
		return ink_parse_priority(p, d, INK_CLASS, row->packet_action_at);
	case INK_DOES_LIMIT:
		return ink_parse_limit(p, d, row->packet_action_at);
	case INK_DOES_SAVE:
		return a->saves = 1, 0;
	case INK_DOES_TELL:
		return parse_tell(p, d);
	default:
		return parse_new(p, row, d);
	}
}

/* The action that follows is one of leaving, or of all states; NULL without memory. */
static struct ink_deed *parse_leaving(struct ink_parser *p, struct ink_written_row *row)
{
	uint32_t at = p->now.at;

	if (!ink_parser_takes(p, "leaving"))
		return &row->does;
	if (!row->leaving)
		row->leaving = ink_arena_get(p->m->arena, sizeof *row->leaving);
	if (!row->leaving)
		return NULL;
	row->leaving->at = at;
	return row->leaving;
}

static int parse_action(struct ink_parser *p, struct ink_written_row *row)
{
	struct ink_deed *d = parse_leaving(p, row);

	if (!d)
		return -1;
	return ink_parser_takes(p, "count") ? parse_count(p, row, &d->action)
					    : parse_packet_action(p, row, d);
}

/* Tells are made in the order of the row. */
static int merge_tells(struct ink_parser *p, struct ink_deed *d, const struct ink_more *also)
{
	struct ink_more *more = ink_deed_more(p, d);
	struct ink_more own = more ? *more : (struct ink_more){0};
	unsigned i = 0, j = 0;

	if (!more)
		return -1;
	more->tells = NULL;
	more->n_tells = 0;
	while (i < own.n_tells || j < also->n_tells) {
		int first = j == also->n_tells || (i < own.n_tells && own.tells[i]->at < also->tells[j]->at);

		if (add_tell(p, d, first ? own.tells[i++] : also->tells[j++]))
			return -1;
	}
	return 0;
}

/* The report of the row is also that of leaving. */
static int take_report(struct ink_parser *p, struct ink_written_row *row)
{
	const struct ink_action_more *also = &row->does.more->out;
	struct ink_more *more = ink_deed_more(p, row->leaving);

	if (!more)
		return -1;
	more->out.severity = also->severity;
	more->out.id = also->id;
	more->out.pieces = also->pieces;
	more->out.n_pieces = also->n_pieces;
	row->leaving->action.report = row->does.action.report;
	return 0;
}

/* Where the row leaves, it also does what it does elsewhere. */
static int complete_leaving(struct ink_parser *p, struct ink_written_row *row)
{
	struct ink_action *a = &row->leaving->action;
	const struct ink_action *also = &row->does.action;

	if (row->does.more && merge_tells(p, row->leaving, row->does.more))
		return -1;
	if (row->does.more)
		ink_take_priority(row->leaving->more, row->does.more);
	for (unsigned i = 0; i < also->n_countings; i++)
		if (add_counting(p, a, &also->countings[i]))
			return -1;
	if (a->report && also->report)
		return ink_parser_twice(p, row->leaving->at, "the report of this row", row->at);
	if (also->report && take_report(p, row))
		return -1;
	if (also->marks && !a->marks)
		a->mark = also->mark;
	a->marks |= also->marks;
	a->saves |= also->saves;
	return also->verdict ? set_verdict(p, row, a, also->verdict) : 0;
}

/* Of what is dropped, nothing is left to limit. What the row drops everywhere, it drops where it leaves. */
static int check_limit(struct ink_parser *p, const struct ink_written_row *row, const struct ink_deed *d)
{
	if (!d || !d->more || !d->more->out.limit ||
	    (d->action.verdict != INK_DROP && row->does.action.verdict != INK_DROP))
		return 0;
	ink_text_error(p->text, d->more->limit_at, "'drop' and 'limit' in one row");
	return -1;
}

int ink_parse_actions(struct ink_parser *p, struct ink_written_row *row)
{
	int error;

	do
		error = parse_action(p, row);
	while (!error && ink_parser_takes(p, ","));
	if (!error && (check_limit(p, row, &row->does) || check_limit(p, row, row->leaving)))
		return -1;
	return !error && row->leaving ? complete_leaving(p, row) : error;
}
