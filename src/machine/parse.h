/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The parser's state, the current token, and how values are read.
 *
 * Every function that reads something returns 0, or -1 after it has complained
 * (or run out of memory or steps); then the token that could not be read is the
 * current one, and the item's loop looks for a place to continue. A parser that
 * was stopped sees the end of the text.
 */
#ifndef INKLING_MACHINE_PARSE_H
#define INKLING_MACHINE_PARSE_H

#include "machine/tree.h"

struct ink_parser {
	struct ink_machine *m;
	struct ink_text *text;
	struct ink_token now;
	uint32_t before; /* where the token before it ended */
	const struct ink_param
		*param; /* the latest value was this parameter's; NULL: it stands in the text */
	unsigned nesting;
	unsigned counted;  /* bits: the younger words of conditions that the text has as counters */
	int knows_counted; /* they were looked for */
};

void ink_parser_next(struct ink_parser *p);
struct ink_token ink_parser_behind(const struct ink_parser *p); /* the token behind the current one */

int ink_parser_sees(const struct ink_parser *p, const char *word);
int ink_token_begins_item(const struct ink_text *text, const struct ink_token *token);
int ink_parser_sees_item(const struct ink_parser *p); /* a word that begins an item; a state's name is none */
int ink_parser_sees_states(const struct ink_parser *p);       /* a name, or "*", with ":" or "," behind it */
int ink_parser_find_row(struct ink_parser *p);                /* gives up the row; 1 if another one follows */
int ink_parser_takes(struct ink_parser *p, const char *word); /* goes on if it sees it */
int ink_parser_wants(struct ink_parser *p, const char *word); /* complains if it does not */

/*
 * Complains that something else was expected; `expected` is what. If the
 * current token begins a line, what is missing is missing at the end of the
 * line before. -1.
 */
int ink_parser_expected(struct ink_parser *p, const char *expected);

/* The same, with a hint at what the current word may have been meant to be. */
struct ink_suggest ink_parser_near(const struct ink_parser *p);
int ink_parser_expected_near(struct ink_parser *p, const char *expected, const struct ink_suggest *near);

/* A place as "file:line:column", for errors that appear when the text is gone; NULL without memory. */
const char *ink_parser_place(struct ink_parser *p, uint32_t at);

/* Complains that something was given before, at `first`. -1. */
int ink_parser_twice(struct ink_parser *p, uint32_t at, const char *what, uint32_t first);

/* Complains about a sign for which this language has a word, and returns 1. 0: there is none. */
int ink_parser_foreign(struct ink_parser *p);

/* Complains about the value that was read last, and says which parameter it was, if any. -1. */
__attribute__((format(printf, 3, 4))) int ink_parser_misfit(struct ink_parser *p, uint32_t at,
							    const char *format, ...);

/* The parameter that the current token names, or NULL. */
struct ink_param *ink_parser_param(const struct ink_parser *p);

/* The same for any token; and the let that it names. Both may be of an earlier machine of the file. */
struct ink_param *ink_param_named(const struct ink_parser *p, const struct ink_token *token);
struct ink_let *ink_let_named(const struct ink_parser *p, const struct ink_token *token);

/* The condition of a let, made of tests of the current machine. NULL after a complaint. */
const struct ink_condition *ink_let_condition(struct ink_parser *p, const struct ink_let *let);

void ink_offer_lets(const struct ink_parser *p, struct ink_suggest *near);
void ink_offer_params(const struct ink_parser *p, struct ink_suggest *near);

/* Are this filter and all before it short enough for libpcap? 0, or -1 after a complaint. */
int ink_check_filter_length(struct ink_parser *p, uint32_t at, const struct ink_test *test);

/* Begins the "1:2a" of a class here? It is several tokens of the language; `class` is all of it. */
int ink_parser_sees_class(const struct ink_parser *p, struct ink_token *class);

/* Complains that a value was expected, with a hint at a parameter that may be meant. -1. */
int ink_parser_expected_value(struct ink_parser *p, const char *expected);

/* Is it a number, a time, a share, a rate, an amount or a class? */
int ink_is_value(const char *bytes, size_t length);
int ink_is_whole(const char *bytes, size_t length); /* a number */

/* The unit of a queue's amount. */
enum ink_unit_of { INK_OF_NOTHING, INK_OF_PACKETS, INK_OF_BYTES, INK_OF_TIME };

/* A time, or a number, which has its unit if it is a parameter's that has one: else INK_OF_NOTHING. */
int ink_parse_amount(struct ink_parser *p, const char *what, uint64_t *value, enum ink_unit_of *unit);

/* Goes on behind "packets" or "bytes". */
enum ink_unit_of ink_parser_takes_unit(struct ink_parser *p);

/* The " packets" in "50 packets"; NULL: there is no unit. */
const char *ink_unit_in(const char *value);

int ink_parse_name(struct ink_parser *p, const char *what, struct ink_name **name);
int ink_parse_number(struct ink_parser *p, const char *what, uint64_t *number);
int ink_parse_share(struct ink_parser *p, double *share);
int ink_parse_time(struct ink_parser *p, uint64_t *nanoseconds);
int ink_parse_rate(struct ink_parser *p, uint64_t *rate); /* bits a second */
int ink_parse_class(struct ink_parser *p, uint32_t *class);
int ink_parse_string(struct ink_parser *p, const char *what, const char **bytes, unsigned *length);
int ink_parse_prefix(struct ink_parser *p, struct ink_prefix *prefix);

const struct ink_condition *ink_parse_condition(struct ink_parser *p);

/* A word that is followed by numbers, from 0 to `most`. */
struct ink_number_test {
	const char *word;
	enum ink_field field;
	uint64_t most;
};

/* A number, a range, a set or a comparison. NULL after a complaint. */
const struct ink_condition *ink_parse_numbers(struct ink_parser *p, const struct ink_number_test *t);

/* After "nal": the types of units, and what their nal_ref_idc may be. */
const struct ink_condition *ink_parse_nal(struct ink_parser *p);

/* The test whether a field is in one of these ranges. */
const struct ink_condition *ink_range_test(struct ink_parser *p, enum ink_field field,
					   const struct ink_range *ranges, unsigned n);

/* The numbers up to `most` for which the comparison holds, as at most two ranges. */
unsigned ink_compare_ranges(enum ink_compare compare, uint64_t number, uint64_t most, struct ink_range r[2]);

/* After "queue", which stands at `at`. */
const struct ink_condition *ink_parse_queue(struct ink_parser *p, uint32_t at);

/* 1: a sign of comparison was read; 0: there is none. */
int ink_parse_compare(struct ink_parser *p, enum ink_compare *compare);

/* What follows the word "key": a name or parts. */
int ink_parse_key(struct ink_parser *p);

/* The line of one or several states, and that of a repetition, from its number on. */
int ink_parse_states(struct ink_parser *p);
int ink_parse_repeat(struct ink_parser *p);
int ink_parser_sees_repeat(const struct ink_parser *p);

/* The line of a parameter, after "param". */
int ink_parse_param(struct ink_parser *p);
int ink_parser_sees_param_line(const struct ink_parser *p);

/* The rows of these states, after ":". */
int ink_parse_rows(struct ink_parser *p, const uint16_t *states, unsigned n);

/* Where a row leads, after "->"; and what may follow "up", "down", "first" and "last". */
int ink_parse_target(struct ink_parser *p, struct ink_target *target);
int ink_parse_reach(struct ink_parser *p, struct ink_target *target);

/* The state of that name, which is created if it is new; NULL without memory or room. */
struct ink_state *ink_state_named(struct ink_parser *p, struct ink_name *name, uint32_t at);

/* After "report": its text, and what may follow it. */
int ink_parse_report(struct ink_parser *p, const struct ink_written_row *row, struct ink_deed *d);

/* After "priority", "class" and "limit", which stand at `at`. */
int ink_parse_priority(struct ink_parser *p, struct ink_deed *d, enum ink_priority kind, uint32_t at);
int ink_parse_limit(struct ink_parser *p, struct ink_deed *d, uint32_t at);

/* Where a row leaves, it has the priority and the limit that it has elsewhere, unless it has others. */
void ink_take_priority(struct ink_more *leaving, const struct ink_more *also);

/* What an action does besides struct ink_action; NULL without memory. */
struct ink_more *ink_deed_more(struct ink_parser *p, struct ink_deed *d);

/* A word that could go on with the action, but is a state: "id : ...", or "id, b : ..." on a new line. */
int ink_parser_begins_states(const struct ink_parser *p);

/* The actions of a row, separated by commas. */
int ink_parse_actions(struct ink_parser *p, struct ink_written_row *row);

/* Makes room for one more element; 0 without memory. */
#define INK_APPEND(p, array, n) (((array) = ink_arena_grow((p)->m->arena, array, n, sizeof *(array))) != NULL)

/* The nodes of a condition: a copy of the given one; a joined pair (for INK_NOT, twice the same); a test. Or NULL. */
const struct ink_condition *ink_condition_node(struct ink_parser *p, const struct ink_condition *wanted);
const struct ink_condition *ink_condition_join(struct ink_parser *p, enum ink_condition_kind kind,
					       const struct ink_condition *a, const struct ink_condition *b);
const struct ink_condition *ink_condition_test(struct ink_parser *p, const struct ink_test *test);

/* The number of the test that is equal to this one, or n_tests. */
unsigned ink_find_test(const struct ink_machine *m, const struct ink_test *test);

#endif
