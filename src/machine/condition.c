/* SPDX-License-Identifier: BSD-2-Clause */
/* Conditions: the words of tests, and what joins them. */
#include <string.h>

#include "machine/parse.h"

/* ------------------------------------------------------------------- words */

/* A word that is a test by itself. */
static const struct {
	const char *word;
	enum ink_field field;
	uint64_t low, high;
} plain_tests[] = {
	{"tcp", INK_FIELD_PROTOCOL, 6, 6},
	{"udp", INK_FIELD_PROTOCOL, 17, 17},
	{"sctp", INK_FIELD_PROTOCOL, 132, 132},
	{"ip4", INK_FIELD_VERSION, 4, 4},
	{"ip6", INK_FIELD_VERSION, 6, 6},
	{"fin", INK_FIELD_TCP_FLAG, 0x01, 0x01},
	{"syn", INK_FIELD_TCP_FLAG, 0x02, 0x02},
	{"rst", INK_FIELD_TCP_FLAG, 0x04, 0x04},
	{"psh", INK_FIELD_TCP_FLAG, 0x08, 0x08},
	{"ack", INK_FIELD_TCP_FLAG, 0x10, 0x10},
	{"urg", INK_FIELD_TCP_FLAG, 0x20, 0x20},
	{"ece", INK_FIELD_TCP_FLAG, 0x40, 0x40},
	{"cwr", INK_FIELD_TCP_FLAG, 0x80, 0x80},
	{"fragment", INK_FIELD_FRAGMENT, 1, 1},
	{"ts", INK_FIELD_TS, 1, 1},
};

/* A word that is followed by numbers. */
static const struct ink_number_test number_tests[] = {
	{"protocol", INK_FIELD_PROTOCOL, 255}, {"length", INK_FIELD_LENGTH, UINT32_MAX},
	{"ttl", INK_FIELD_TTL, 255},           {"tos", INK_FIELD_TOS, 255},
	{"vlan", INK_FIELD_VLAN, 4095},        {"depth", INK_FIELD_DEPTH, 255},
	{"port", INK_FIELD_PORT, 65535},       {"payload", INK_FIELD_PAYLOAD, UINT32_MAX},
};

static const struct ink_number_test source_port = {"src port", INK_FIELD_SPORT, 65535},
				    destination_port = {"dst port", INK_FIELD_DPORT, 65535},
				    any_port = {"port", INK_FIELD_PORT, 65535},
				    protocol_number = {"protocol", INK_FIELD_PROTOCOL, 255},
				    icmp_type = {"icmp type", INK_FIELD_ICMP_TYPE, 255},
				    icmp_code = {"icmp code", INK_FIELD_ICMP_CODE, 255},
				    rtp_type = {"rtp type", INK_FIELD_RTP_TYPE, 127};

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

/* The i-th word with which a condition can begin, or NULL. */
static const char *first_word(size_t i)
{
	static const char *const others[] = {"any",  "icmp",   "rtp",    "src",     "dst", "host",
					     "from", "chance", "filter", "picture", "nal", "not"};

	if (i < COUNT(plain_tests))
		return plain_tests[i].word;
	i -= COUNT(plain_tests);
	if (i < COUNT(number_tests))
		return number_tests[i].word;
	i -= COUNT(number_tests);
	return i < COUNT(others) ? others[i] : NULL;
}

enum follows { NUMBERS, ADDRESSES, AMOUNT };

/*
 * Words that are younger than the first machines: where a file defines such a name, as a `let` or a counter, that is
 * what it means. All but the last are of tcpdump's language.
 */
static const struct {
	const char *word;
	enum follows follows;
	const struct ink_number_test *numbers;
} younger[] = {
	{"sport", NUMBERS, &source_port},  {"dport", NUMBERS, &destination_port},
	{"portrange", NUMBERS, &any_port}, {"proto", NUMBERS, &protocol_number},
	{"net", ADDRESSES, NULL},          {"queue", AMOUNT, NULL},
};

void ink_offer_tests(struct ink_suggest *near)
{
	for (size_t i = 0; first_word(i); i++)
		ink_suggest_offer(near, first_word(i));
	for (size_t i = 0; i < COUNT(younger); i++)
		ink_suggest_offer(near, younger[i].word);
}

int ink_begins_condition(const char *name)
{
	for (size_t i = 0; first_word(i); i++)
		if (!strcmp(first_word(i), name))
			return 1;
	return 0;
}

/* -------------------------------------------------------------- addresses */

static const struct ink_condition *parse_hosts(struct ink_parser *p, enum ink_field field)
{
	struct ink_test test = {.field = field};
	struct ink_prefix *prefixes = NULL;
	int braces = ink_parser_takes(p, "{");

	do {
		prefixes = ink_arena_grow(p->m->arena, prefixes, test.n_prefixes, sizeof *prefixes);
		if (!prefixes || ink_parse_prefix(p, &prefixes[test.n_prefixes++]))
			return NULL;
	} while (braces && ink_parser_takes(p, ","));
	if (braces && !ink_parser_takes(p, "}"))
		return ink_parser_expected(p, "',' or '}'"), NULL;
	test.prefixes = prefixes;
	return ink_condition_test(p, &test);
}

/* "10.1.2.3", "fe80::1"; not "10", which could as well be a port. */
static int sees_address(const struct ink_parser *p)
{
	struct ink_token t = ink_token_address(p->text, p->now.at);

	return t.kind != TOKEN_END &&
	       (memchr(p->text->bytes + t.at, '.', t.length) || memchr(p->text->bytes + t.at, ':', t.length));
}

/* After "src" or "dst". */
static const struct ink_condition *parse_end(struct ink_parser *p, int source)
{
	static const char expected[] = "'port', 'host', 'net' or an address";
	struct ink_suggest near = ink_parser_near(p);

	if (ink_parser_takes(p, "port") || ink_parser_takes(p, "portrange"))
		return ink_parse_numbers(p, source ? &source_port : &destination_port);
	if (ink_parser_takes(p, "host") || ink_parser_takes(p, "net") || sees_address(p))
		return parse_hosts(p, source ? INK_FIELD_SHOST : INK_FIELD_DHOST);
	ink_suggest_offer(&near, "port");
	ink_suggest_offer(&near, "host");
	return ink_parser_expected_near(p, expected, &near), NULL;
}

/* ------------------------------------------------------------ other tests */

static const struct ink_condition *parse_icmp(struct ink_parser *p)
{
	static const struct ink_range both[] = {{1, 1}, {58, 58}};

	if (ink_parser_takes(p, "type"))
		return ink_parse_numbers(p, &icmp_type);
	if (ink_parser_takes(p, "code"))
		return ink_parse_numbers(p, &icmp_code);
	return ink_range_test(p, INK_FIELD_PROTOCOL, both, 2);
}

static const struct ink_condition *parse_rtp(struct ink_parser *p)
{
	if (ink_parser_takes(p, "type"))
		return ink_parse_numbers(p, &rtp_type);
	return ink_range_test(p, INK_FIELD_RTP, &(struct ink_range){1, 1}, 1);
}

static const struct ink_condition *parse_picture(struct ink_parser *p)
{
	static const char types[][2] = {"I", "P", "B"};

	for (unsigned i = 0; i < COUNT(types); i++)
		if (ink_parser_takes(p, types[i]))
			return ink_range_test(p, INK_FIELD_PICTURE, &(struct ink_range){i + 1, i + 1}, 1);
	return ink_parser_expected(p, "'I', 'P' or 'B'"), NULL;
}

static const struct ink_condition *parse_from(struct ink_parser *p)
{
	if (ink_parser_takes(p, "low"))
		return ink_range_test(p, INK_FIELD_FROM_HIGH, &(struct ink_range){0, 0}, 1);
	if (ink_parser_takes(p, "high"))
		return ink_range_test(p, INK_FIELD_FROM_HIGH, &(struct ink_range){1, 1}, 1);
	if (ink_parser_sees(p, "initiator") || ink_parser_sees(p, "responder"))
		ink_text_error(p->text, p->now.at,
			       "the initiator is part of the state: 'from initiator' stands in rows, not in "
			       "conditions");
	else
		ink_parser_expected(p, "'low' or 'high'");
	return NULL;
}

static const struct ink_condition *parse_chance(struct ink_parser *p)
{
	static const double most = 18446744073709551616.0; /* 2^64 */
	struct ink_test test = {.field = INK_FIELD_CHANCE};
	double share;

	if (ink_parse_share(p, &share))
		return NULL;
	test.threshold = share * most < most ? (uint64_t)(share * most) : UINT64_MAX;
	test.length = p->m->n_chances++;
	return ink_condition_test(p, &test);
}

/* Reads a string, which must not be empty, into the test. 0, or -1. */
static int parse_bytes(struct ink_parser *p, const char *what, struct ink_test *test)
{
	uint32_t at = p->now.at;

	if (ink_parse_string(p, what, &test->bytes, &test->length))
		return -1;
	if (test->length)
		return 0;
	ink_text_error(p->text, at, "the string is empty");
	return -1;
}

int ink_check_filter_length(struct ink_parser *p, uint32_t at, const struct ink_test *test)
{
	p->m->unit->filter_bytes += test->length;
	if (test->length > INK_FILTER_MAX)
		ink_text_error(p->text, at, "a filter of more than %d characters", INK_FILTER_MAX);
	else if (p->m->unit->filter_bytes > INK_FILTERS_MAX)
		ink_text_limit(p->text, at, "more than %d characters of different filters", INK_FILTERS_MAX);
	else
		return 0;
	return -1;
}

/* 0, or -1 after a complaint. */
static int check_filter(struct ink_parser *p, uint32_t at, const struct ink_test *test)
{
	const struct ink_machine_options *o = p->text->options;
	struct ink_why why = {""};

	if (strlen(test->bytes) != test->length)
		ink_text_error(p->text, at, "a filter cannot contain a NUL byte");
	else if (ink_check_filter_length(p, at, test))
		return -1;
	else if (o->try_filter && o->try_filter(test->bytes, &why))
		ink_text_error(p->text, at, "%s", why.text[0] ? why.text : "this is no filter");
	else
		return 0;
	return -1;
}

/* Equal filters are one test: the first of them is checked, and its place is reported. */
static const struct ink_condition *parse_filter(struct ink_parser *p)
{
	struct ink_test test = {.field = INK_FIELD_FILTER};
	uint32_t at = p->now.at;

	if (parse_bytes(p, "a filter in quotes", &test))
		return NULL;
	if (ink_find_test(p->m, &test) == p->m->n_tests) {
		if (check_filter(p, at, &test) || !(test.place = ink_parser_place(p, at)))
			return NULL;
	}
	return ink_condition_test(p, &test);
}

static const struct ink_condition *parse_begins(struct ink_parser *p)
{
	struct ink_test test = {.field = INK_FIELD_BEGINS};

	return parse_bytes(p, "the bytes in quotes", &test) ? NULL : ink_condition_test(p, &test);
}

static const struct ink_condition *parse_payload(struct ink_parser *p, const struct ink_number_test *t)
{
	if (ink_parser_takes(p, "begins"))
		return parse_begins(p);
	return ink_parse_numbers(p, t);
}

/* --------------------------------------------------------- names of others */

/* `lost > 1000`, `lost > 6% of all`; the counters are looked up when all are known. */
static const struct ink_condition *parse_counter(struct ink_parser *p)
{
	struct ink_test test = {.field = INK_FIELD_COUNTER};
	struct ink_against *against = &test.against;
	struct ink_token behind;
	struct ink_name *name;

	against->at = p->now.at;
	if (ink_parse_name(p, "a counter", &name) || !ink_parse_compare(p, &against->compare) ||
	    ink_parser_foreign(p))
		return NULL;
	against->name = name;
	behind = ink_parser_behind(p);
	if (!ink_token_is(p->text, &behind, "of"))
		return ink_parse_number(p, "a number", &against->number) ? NULL
									 : ink_condition_test(p, &test);
	if (ink_parse_share(p, &against->share))
		return NULL;
	ink_parser_next(p);
	against->other_at = p->now.at;
	if (ink_parse_name(p, "a counter", &name))
		return NULL;
	against->other_name = name;
	return ink_condition_test(p, &test);
}

static const struct ink_condition *unknown(struct ink_parser *p)
{
	const char *word = p->text->bytes + p->now.at;
	struct ink_suggest near = ink_suggest(word, p->now.length);
	char hint[96];

	ink_offer_lets(p, &near);
	ink_offer_tests(&near);
	ink_text_error(p->text, p->now.at, "no condition '%.*s'%s", (int)p->now.length, word,
		       ink_suggest_hint(&near, hint));
	return NULL;
}

/* Is the current name compared with something? */
static int is_compared(const struct ink_parser *p)
{
	struct ink_token behind = ink_parser_behind(p);

	return behind.kind == TOKEN_SIGN && memchr("=!<>", p->text->bytes[behind.at], 4);
}

static size_t younger_at(const struct ink_text *text, const struct ink_token *token)
{
	size_t i = 0;

	while (i < COUNT(younger) && !ink_token_is(text, token, younger[i].word))
		i++;
	return i;
}

/* Counters may be defined behind their use: which of the words does the text count, as bits? It is read once. */
static unsigned counted_words(struct ink_parser *p)
{
	struct ink_token t = ink_token_at(p->text, 0);
	int counts = 0;

	if (p->knows_counted || ink_text_work(p->text, p->now.at, p->text->length / 4))
		return p->counted;
	p->knows_counted = 1;
	for (; t.kind != TOKEN_END; t = ink_token_at(p->text, t.at + t.length)) {
		if (counts)
			p->counted |= 1u << younger_at(p->text, &t);
		counts = ink_token_is(p->text, &t, "count");
	}
	return p->counted;
}

/* Does the file define the word as a name of its own? */
static int is_taken(struct ink_parser *p, size_t word)
{
	if (ink_let_named(p, &p->now))
		return 1;
	return is_compared(p) && (younger[word].follows == ADDRESSES || (counted_words(p) >> word & 1));
}

static const struct ink_condition *parse_younger(struct ink_parser *p, size_t word)
{
	uint32_t at = p->now.at;

	ink_parser_next(p);
	switch (younger[word].follows) {
	case NUMBERS:
		return ink_parse_numbers(p, younger[word].numbers);
	case ADDRESSES:
		return parse_hosts(p, INK_FIELD_HOST);
	default:
		return ink_parse_queue(p, at);
	}
}

static const struct ink_condition *parse_let_name(struct ink_parser *p)
{
	size_t word = younger_at(p->text, &p->now);
	const struct ink_let *let;

	if (word < COUNT(younger) && !is_taken(p, word))
		return parse_younger(p, word);
	if (is_compared(p))
		return parse_counter(p);
	let = ink_let_named(p, &p->now);
	if (!let)
		return unknown(p);
	ink_parser_next(p);
	return ink_let_condition(p, let);
}

/* ------------------------------------------------------------ expressions */

static const struct ink_condition *parse_word(struct ink_parser *p)
{
	for (unsigned i = 0; i < COUNT(plain_tests); i++)
		if (ink_parser_takes(p, plain_tests[i].word))
			return ink_range_test(p, plain_tests[i].field,
					      &(struct ink_range){plain_tests[i].low, plain_tests[i].high},
					      1);
	for (unsigned i = 0; i < COUNT(number_tests); i++)
		if (ink_parser_takes(p, number_tests[i].word))
			return number_tests[i].field == INK_FIELD_PAYLOAD
				       ? parse_payload(p, &number_tests[i])
				       : ink_parse_numbers(p, &number_tests[i]);
	if (ink_parser_takes(p, "any"))
		return ink_condition_node(p, &(struct ink_condition){.kind = INK_ALWAYS});
	if (ink_parser_takes(p, "icmp"))
		return parse_icmp(p);
	if (ink_parser_takes(p, "rtp"))
		return parse_rtp(p);
	if (ink_parser_takes(p, "src"))
		return parse_end(p, 1);
	if (ink_parser_takes(p, "dst"))
		return parse_end(p, 0);
	if (ink_parser_takes(p, "host"))
		return parse_hosts(p, INK_FIELD_HOST);
	if (ink_parser_takes(p, "picture"))
		return parse_picture(p);
	if (ink_parser_takes(p, "nal"))
		return ink_parse_nal(p);
	if (ink_parser_takes(p, "from"))
		return parse_from(p);
	if (ink_parser_takes(p, "chance"))
		return parse_chance(p);
	if (ink_parser_takes(p, "filter"))
		return parse_filter(p);
	if (p->now.kind == TOKEN_NAME && !(ink_token_first(p->text, &p->now) && ink_parser_sees_item(p)))
		return parse_let_name(p);
	if (!ink_parser_foreign(p))
		ink_parser_expected(p, "a condition");
	return NULL;
}

static const struct ink_condition *parse_one(struct ink_parser *p);

static const struct ink_condition *parse_not(struct ink_parser *p)
{
	static const struct ink_condition never = {.kind = INK_NEVER}, always = {.kind = INK_ALWAYS};
	const struct ink_condition *a = parse_one(p);

	if (!a || a->kind == INK_NOT)
		return a ? a->a : NULL;
	if (a->kind == INK_ALWAYS || a->kind == INK_NEVER)
		return a->kind == INK_ALWAYS ? &never : &always;
	return ink_condition_join(p, INK_NOT, a, a);
}

static const struct ink_condition *parse_nested(struct ink_parser *p)
{
	const struct ink_condition *a;

	if (ink_parser_takes(p, "not"))
		return parse_not(p);
	if (!ink_parser_takes(p, "("))
		return parse_word(p);
	a = ink_parse_condition(p);
	if (!a || ink_parser_takes(p, ")"))
		return a;
	if (!ink_parser_foreign(p))
		ink_parser_expected(p, "'and', 'or' or ')'");
	return NULL;
}

static const struct ink_condition *parse_one(struct ink_parser *p)
{
	const struct ink_condition *a;

	if (p->nesting == INK_NESTING_MAX) {
		ink_text_error(p->text, p->now.at, "more than %d parentheses and 'not's around each other",
			       INK_NESTING_MAX);
		return NULL;
	}
	p->nesting++;
	a = parse_nested(p);
	p->nesting--;
	return a;
}

static const struct ink_condition *parse_both(struct ink_parser *p)
{
	const struct ink_condition *a = parse_one(p);

	while (a && ink_parser_takes(p, "and"))
		a = ink_condition_join(p, INK_AND, a, parse_one(p));
	return a;
}

const struct ink_condition *ink_parse_condition(struct ink_parser *p)
{
	const struct ink_condition *a = parse_both(p);

	while (a && ink_parser_takes(p, "or"))
		a = ink_condition_join(p, INK_OR, a, parse_both(p));
	return a;
}
