/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The machine language: what is wrong with a text and where, and what a text
 * compiles to. The language is docs/machine-language.md.
 */
#include "tests/machine_help.h"
#include "tests/scratch.h"
#include "tests/sizes.h"
#include "tests/test.h"

TEST_THAT(mistakes_of_syntax_are_told_with_their_place)
{
	assert_error("event ^= tcp", "expected the event's name, found '='");
	assert_error("event f ^tcp", "expected '=', found 'tcp'");
	assert_error("event f = tcp and^", "expected a condition, found the end of the file");
	assert_error("event f = (tcp or udp^\nevent g = udp",
		     "expected 'and', 'or' or ')', found the end of the line");
	assert_error("event f =^\n\n  # nothing\nevent g = udp",
		     "expected a condition, found the end of the line");
	assert_error("event f = src ^80", "expected 'port', 'host', 'net' or an address");
	assert_error("event f = port ^x", "expected a number, a range, a set");
	assert_error("event f = port {80 ^81}", "expected ',' or '}'");
	assert_error("event f = host ^x", "expected an address");
	assert_error("event f = from ^7", "expected 'low' or 'high'");
	assert_error("event f = picture ^X", "expected 'I', 'P' or 'B'");
	assert_error("event f = chance ^often", "expected a share");
	assert_error("event f = filter ^tcp", "expected a filter in quotes");
	assert_error("event f = payload begins ^tcp", "expected the bytes in quotes");
	assert_error("a: e -> ^7", "expected a state, 'absent' or 'next'");
	assert_error("a: e / ^dorp", "expected an action");
	assert_error("a: e / count^", "expected a counter's name");
	assert_error("a: e / count x by ^y", "expected a number, 'payload'");
	assert_error("a: e / report ^x", "expected the text in quotes");
	assert_error("a: e / mark ^x", "expected the mark");
	assert_error("a: e / new ^x", "expected 'initiator'");
	assert_error("a: e from ^x", "expected 'initiator', 'responder', 'low' or 'high'");
	assert_error("a: timeout ^x", "expected a time");
	assert_error("a: ^5", "expected an event, 'timeout', 'within', 'end' or '*'");
	assert_error("a: e ^b", "expected '->', '/', ',', '|', 'from'");
	assert_error("a: e -> a ^b", "expected '/', '|'");
	assert_error("a: e / drop ^b", "expected ',', '|'");
	assert_error("a, ^7: e", "expected a state");
	assert_error("remember ^me", "expected 'initiator' or 'tail'");
	assert_error("expendable ^7", "expected a state");
	assert_error("let ^7 = tcp", "expected a name");
	assert_error("start reverse ^x = tcp", "expected 'event'");
	assert_error("^7",
		     "expected machine, key, remember, param, let, event, expendable, repeat or a state");
	assert_complaint("machine ^7", "expected the machine's name");
	assert_complaint("machine m\nkey ^box", "expected a key");
}

TEST_THAT(unknown_words_and_values_are_reported)
{
	char name[70], text[200];

	assert_error("event f = ^;", "unexpected character");
	assert_error("event f = ^\001", "a control character");
	assert_error("event f = ^\303\244", "a character that is not ASCII");
	assert_error("a: e / report ^\"x", "a string must end on its line");
	assert_error("a: e / report ^\"x\n\"", "a string must end on its line");
	assert_error("a: e / report \"x^\\q\"", "unknown escape");
	assert_error("a: e / report \"^\\x0g\"", "unknown escape");
	assert_error("a: e / report ^\"\\x00\"", "cannot contain a NUL byte");
	assert_error("event f = payload begins ^\"\"", "the string is empty");
	assert_error("event f = filter ^\"a\\x00\"", "a filter cannot contain a NUL byte");
	assert_error("event f = port ^12x", "'12x' is not a whole number");
	assert_error("event f = port ^0x", "'0x' is not a whole number");
	assert_error("event f = port ^1.5", "'1.5' is not a whole number");
	assert_error("a: e / count c by ^99999999999999999999", "a number that large");
	assert_error("a: e / count c by ^9223372036854775808", "a number that large");
	assert_error("a: timeout ^10x", "'10x' is not a time");
	assert_error("b: timeout ^10", "'10' is not a time");
	assert_error("b: timeout ^0s", "times are 1ms to 10 years");
	assert_error("b: timeout ^9999d", "times are 1ms to 10 years");
	assert_error("event f = chance ^2", "a share is 0 to 1");
	assert_error("event f = chance ^1/0", "a share is 0 to 1");
	assert_error("event f = chance ^5s", "'5s' is not a share");
	assert_error("event f = host ^1.2.3.400", "'1.2.3.400' is not an address");
	assert_error("event f = host 10.0.0.0^/33", "a prefix of IPv4 has 0 to 32 bits");
	assert_error("event f = host ::1^/129", "a prefix of IPv6 has 0 to 128 bits");
	memset(name, 'x', 64);
	name[64] = 0;
	snprintf(text, sizeof text, "event ^%s = tcp", name);
	assert_error(text, "a name of more than 63 characters");
}

TEST_THAT(numbers_out_of_range_are_told)
{
	assert_error("event f = port ^65536", "'port' is 0 to 65535");
	assert_error("event f = src port ^65536", "'src port' is 0 to 65535");
	assert_error("event f = protocol ^256", "'protocol' is 0 to 255");
	assert_error("event f = vlan ^4096", "'vlan' is 0 to 4095");
	assert_error("event f = nal ^32", "'nal' is 0 to 31");
	assert_error("event f = nal 5 ref ^4", "'ref' is 0 to 3");
	assert_error("event f = nal 5 ref > ^3", "no value satisfies this: 'ref' is 0 to 3");
	assert_error("event f = nal 5 ref^",
		     "expected a number, a range, a set in braces, or a comparison, found the end");
	assert_error("event f = nal ^ref 0",
		     "expected a number, a range, a set in braces, or a comparison, found 'ref'");
	assert_error("event f = rtp type ^128", "'rtp type' is 0 to 127");
	assert_error("event f = port ^10-5", "the range 10-5 is empty");
	assert_error("event f = port < ^0", "no value satisfies this");
	assert_error("event f = port > ^65535", "no value satisfies this");
	assert_error("a: e / mark ^4294967296", "a mark is 0 to 4294967295");
}

TEST_THAT(unknown_names_are_told_with_the_nearest)
{
	assert_error("event f = ^tpc", "no condition 'tpc'; did you mean 'tcp'?");
	assert_error("let video = udp\nevent f = ^vidoe", "no condition 'vidoe'; did you mean 'video'?");
	assert_error("event f = ^zzzzzzzzz", "no condition 'zzzzzzzzz'");
	assert_error("opening: f -> ^oepning", "no state 'oepning'; did you mean 'opening'?");
	assert_error("a: ^synack\nevent syn_ack = tcp", "no event 'synack'; did you mean 'syn_ack'?");
	assert_error("a: ^tiemout", "no event 'tiemout'; did you mean 'timeout'?");
	assert_error("expendable ^b", "no state 'b'");
	assert_error("b: e -> ^many", "no state 'many': it needs a line, write 'many : ...'");
	assert_error("be: e -> ^eb", "no state 'eb'; did you mean 'be'?");
	assert_error("a: e / count losses\nevent f = ^losess > 5",
		     "no counter 'losess'; did you mean 'losses'?");
	assert_error("a: e / count c\nevent f = c > 5% of ^d", "no counter 'd'");
	assert_error("^evnet f = tcp", "no item begins with 'evnet'; did you mean 'event'?");
	assert_complaint("machine m\nkey ^conection", "found 'conection'; did you mean 'connection'?");
	assert_error("remember ^initator", "found 'initator'; did you mean 'initiator'?");
	assert_error("absent ^e -> a", "expected ':', found 'e'");
}

TEST_THAT(what_is_given_twice_is_told_with_the_line)
{
	assert_error("machine ^m", "was already given in line 1");
	assert_error("machine ^n", "'n' is a second machine, after 'm'");
	assert_error("key ^pair", "the key was already given in line 2");
	assert_error("event ^e = udp", "e was already given in line 3");
	assert_error("let l = tcp\nlet ^l = udp", "l was already given in line 6");
	assert_error("a: ^timeout 2s -> absent", "the time-out of 'a' was already given in line 5");
	assert_error("a: e / report \"x\", report ^\"y\"", "already given");
	assert_error("a: e / drop, ^pass", "'drop' and 'pass' in one row");
}

TEST_THAT(what_a_machine_needs_is_told)
{
	assert_complaint("^key pair", "a machine needs a line 'machine NAME'");
	assert_complaint("^machine m", "a machine needs a line 'key ...'");
	assert_complaint("^machine m\nkey pair", "a machine needs an event");
	assert_complaint("^machine m\nkey pair", "a machine needs a state");
	assert_complaint("^", "there is no machine in it: it is empty");
	assert_complaint("^ # not yet\n", "there is no machine in it: only comments and blanks");
	assert_int_equal(n_told, 1);
	assert_error("event ^timeout = tcp", "an event cannot be called 'timeout'");
	assert_error("^next: e", "a state cannot be called 'next'");
}

/* What is wrong in a line is not missing, too. */
TEST_THAT(what_was_tried_is_not_missing)
{
	static const char rest[] = "event e = tcp\nabsent: e -> a\na: e from initiator / new initiator\n"
				   "a: timeout 1s -> absent\n";
	static const char *const heads[] = {
		"machine 7\nkey pair\nremember initiator\n", "machine m\nkey conection\nremember initiator\n",
		"machine m\nkye pair\nremember initiator\n", "machine m\nkey pair\nremember initator\n",
		"machine m\nkey pair\nremembre initiator\n"};
	char text[500];

	for (unsigned i = 0; i < COUNT(heads); i++) {
		snprintf(text, sizeof text, "%s%s", heads[i], rest);
		assert_null(make_of(text));
		if (n_told != 1)
			fail_msg("%u complaints about\n%s, the second %s", n_told, heads[i], told[1].text);
	}
	assert_error("remember tail\na: e ^from initiator", "need a line 'remember initiator'");
}

TEST_THAT(signs_of_other_languages_are_told_with_the_word)
{
	assert_error("event f = tcp ^& syn", "conditions are joined by 'and', not by '&'");
	assert_error("event f = tcp ^&& syn", "conditions are joined by 'and', not by '&&'");
	assert_error("event f = tcp ^| udp", "conditions are joined by 'or', not by '|'");
	assert_error("let f = tcp ^|| udp", "conditions are joined by 'or', not by '||'");
	assert_error("event f = (tcp ^&& syn)", "joined by 'and', not by '&&'");
	assert_error("event f = tcp and (syn ^|| ack)", "joined by 'or', not by '||'");
	assert_error("event f = tcp and ^!syn", "conditions are negated by 'not', not by '!'");
	assert_error("event f = ^!tcp", "conditions are negated by 'not', not by '!'");
	assert_error("event f = port =^= 80", "one '=' is enough");
	assert_error("event f =^= tcp", "one '=' is enough");
	assert_error("a: e / count c\nevent f = c =^= 5", "one '=' is enough");
	assert_error("event f = tcp ^port 80",
		     "expected 'and', 'or' or a new line with another item, found 'port'");
	assert_int_equal(n_told, 1);
	assert_error("event f = tcp ^syn\nevent g = tcp fin", "expected 'and', 'or'");
	assert_error("event f = tcp and udp^)", "expected 'and', 'or' or a new line");
}

TEST_THAT(what_cannot_be_meant_is_told)
{
	assert_error("a: e ^from initiator", "need a line 'remember initiator'");
	assert_error("a: e / ^new initiator", "'new initiator' needs a line 'remember initiator'");
	assert_error("remember initiator\nabsent: e ^from initiator", "no initiator yet");
	assert_error("remember initiator\nunsure: e ^from responder", "no known initiator");
	assert_error("event f = from ^initiator", "stands in rows, not in conditions");
	assert_error("b: timeout 5s / ^drop",
		     "a time-out has no packet: it can only count by numbers and move, not 'drop'");
	assert_error("b: end / ^report \"x\"", "an end has no packet");
	assert_error("b: end / count ^c by payload", "an end has no packet");
	assert_error("b: end, e / ^save", "an end has no packet");
	assert_error("absent: ^timeout 5s", "an absent flow has no time-out");
	assert_error("absent: ^end", "an absent flow has no end");
	assert_error("unsure: e -> ^a", "'unsure' can only act");
	assert_error("a: e -> ^next", "'a' is the last state: it has no next");
	assert_error("*: e -> ^next", "'a' is the last state: it has no next");
	assert_error("reverse event ^r = tcp", "'reverse' needs key flow, source, destination or endpoint");
	assert_complaint("machine m\nkey source\nremember ^initiator\nevent e = tcp\na: e",
			 "an initiator needs key connection or pair");
}

/* The key is in line 2; what follows it is a machine. */
TEST_THAT(mistakes_in_a_key_are_told_with_their_place)
{
	static const struct {
		const char *key, *words;
	} rows[] = {
		{"^box", "found 'box'"},
		{"^7", "expected a key"},
		{"^port", "expected a key"},
		{"^scr", "did you mean 'src'?"},
		{"^protocl", "did you mean 'protocol'?"},
		{"^sorce", "did you mean 'source'?"},
		{"src,^", "expected a part of a key: src, dst, src port, dst port, protocol, found the end"},
		{"src, ^dts", "found 'dts'; did you mean 'dst'?"},
		{"src, ^source", "expected a part of a key"},
		{"src, ^/24", "expected a part of a key"},
		{"src ^prot", "found 'prot'; did you mean 'port'?"},
		{"src ^dst, dst port",
		 "expected ',' and another part, or a new line with another item, found 'dst'"},
		{"src port ^80", "expected ',' and another part"},
		{"src, ^src", "this part of the key was already given in line 2"},
		{"src/24, dst, ^src/16", "this part of the key was already given in line 2"},
		{"dst port, ^dport", "this part of the key was already given in line 2"},
		{"protocol, src port, ^protocol", "this part of the key was already given in line 2"},
		{"src/^33", "a prefix of IPv4 has 0 to 32 bits: that of IPv6 is the second, as in src/24/64"},
		{"src, dst/^64", "a prefix of IPv4 has 0 to 32 bits"},
		{"src/^33/64", "a prefix of IPv4 has 0 to 32 bits"},
		{"src/24/^129", "a prefix of IPv6 has 0 to 128 bits"},
		{"src/24 / ^129", "a prefix of IPv6 has 0 to 128 bits"},
		{"src/^", "expected the length of the prefix, in bits"},
		{"src/^x", "expected the length of the prefix, in bits"},
		{"src/24/^", "expected the length of the prefix, in bits"},
		{"src/^24.5", "'24.5' is not a whole number"},
		{"src/24/64^/3", "expected ',' and another part"},
		{"src port^/24", "only addresses have prefixes"},
		{"protocol^/8", "only addresses have prefixes"},
		{"source^/24", "a key is one name, or it has parts: src, dst, src port, dst port, protocol"},
		{"source^, dst port", "a key is one name, or it has parts"},
	};
	char text[400];

	for (size_t i = 0; i < COUNT(rows); i++) {
		snprintf(text, sizeof text,
			 "machine m\nkey %s\nevent e = tcp\nabsent: e -> a\na: timeout 1s -> absent",
			 rows[i].key);
		assert_complaint(text, rows[i].words);
		assert_int_equal(n_told, 1);
	}
	assert_complaint("machine m\nkey^\nevent e = tcp", "expected a key: connection, flow, pair, source, "
							   "destination or endpoint, or parts: src, dst");
	assert_complaint("machine m\nkey src\nkey ^dst, dst port", "the key was already given in line 2");
}

TEST_THAT(an_initiator_and_a_reverse_event_need_their_kind_of_key)
{
	static const char *const parts[] = {"src", "src, dst", "src, dst, src port, dst port",
					    "dst/24, protocol", "protocol"};
	char text[400];

	for (size_t i = 0; i < COUNT(parts); i++) {
		int joint = !strcmp(parts[i], "protocol");

		snprintf(text, sizeof text, "machine m\nkey %s\nremember ^initiator\nevent e = tcp\na: e",
			 parts[i]);
		assert_complaint(text, "an initiator needs key connection or pair: flows with two ends");
		snprintf(
			text, sizeof text,
			"machine m\nkey %s\nreverse event %sr = tcp\nabsent: r -> a\na: timeout 1s -> absent",
			parts[i], joint ? "^" : "");
		if (joint)
			assert_complaint(
				text,
				"'reverse' needs key flow, source, destination or endpoint, or parts with "
				"src or dst: both directions are one flow here");
		else
			ink_machine_free(made(text));
	}
}

/* The unit n times; %u in it are the numbers i, i - 1, i - 1. */
static void add_each(unsigned n, const char *unit)
{
	for (unsigned i = 1; i <= n; i++)
		add(unit, i, i - 1, i - 1);
}

TEST_THAT(what_is_too_much_is_told)
{
	static const struct {
		const char *head;
		unsigned n;
		const char *unit, *end, *words;
	} texts[] = {
		{HEAD "event f = ", 65, "(", "tcp", "more than 64 parentheses and 'not's"},
		{HEAD, 300, "s%u: e -> s1\n", "", "more than 255 states"},
		{HEAD "event f = port 1", 300, " or port %u", "", "more than 256 different tests"},
		/* states that are split in two */
		{"machine m\nkey pair\nremember initiator\nevent e = tcp\nabsent: e -> s1\n", 130,
		 "s%u: e from initiator -> s1\n", "",
		 "130 states, with what they remember 260: 255 are possible"},
		/* each doubles the one before */
		{HEAD "let l0 = syn and ack\n", 29, "let l%u = l%u or (l%u and rst)\n", "event f = l29\n",
		 "the conditions are too long"},
		{HEAD, 50, "event f%u = tpc\n", "", "no condition 'tpc'"},
	};

	for (unsigned i = 0; i < COUNT(texts); i++) {
		begin(texts[i].head);
		add_each(texts[i].n, texts[i].unit);
		add("%s", texts[i].end);
		assert_null(make_of(draft.text));
		assert_non_null(strstr(told[0].text, texts[i].words));
	}
	assert_int_equal(n_told, 20); /* of the last one's 50 */
}

TEST_THAT(a_limit_is_told_once)
{
	static const struct {
		unsigned n;
		const char *unit, *words;
	} texts[] = {
		{300, "s%u: e -> s1\n", "more than 255 states"},
		{300, "event f%u = port %u\n", "more than 256 different tests"},
		{INK_MAX_EVENTS + 30, "event f%u = tcp\n", "events"},
		{INK_LETS_MAX + 30, "let l%u = tcp\n", "lets"},
		{INK_PARAMS_MAX + 30, "param p%u = 1\n", "params"},
		{INK_COUNTERS_MAX + 30, "b: e / count c%u\n", "counters"},
		{300, "event f%u = filter \"host 1.2.3.4 and host 1.2.3.4 and host 1.2.3.4 and port %u\"\n",
		 "more than"},
	};

	for (unsigned i = 0; i < COUNT(texts); i++) {
		begin(HEAD);
		add_each(texts[i].n, texts[i].unit);
		assert_null(make_of(draft.text));
		if (n_told != 1 || !strstr(told[0].text, texts[i].words))
			fail_msg("%u complaints about '%s', the first is '%s'", n_told, texts[i].words,
				 told[0].text);
	}
}

TEST_THAT(a_file_of_more_than_a_mebibyte_is_refused)
{
	size_t length = (1 << 20) + 1;
	char *text = malloc(length);
	struct ink_machine_options o = {.size = sizeof o, .complain = note};

	memset(text, ' ', length);
	n_told = 0;
	assert_null(ink_machine_make(text, length, &o));
	assert_non_null(strstr(told[0].text, "more than 1 MiB"));
	free(text);
}

TEST_THAT(one_run_finds_many_mistakes)
{
	assert_null(make_of("machine m\nkey pair\nevent a = tpc\nevent b = port 70000\nb: x -> y | z -> w\n"
			    "c: timeout x | b -> q\n"));
	assert_int_equal(n_told, 8);
	assert_int_equal(told[0].line, 3);
	assert_int_equal(told[1].line, 4);
	assert_int_equal(told[2].line, 6);
}

/* ------------------------------------------------------------------- work */

/* 4,090 events and `a`, which every other packet is; 250 states. */
static void add_many_states_and_events(void)
{
	add("machine m\nkey connection\n");
	for (unsigned i = 0; i < 4090; i++)
		add("event e%u = port %u\n", i, i % 200 + 1);
	add("event a = any\nabsent: a -> s0\n");
	for (unsigned i = 0; i < 250; i++)
		add("s%u: a\n", i);
}

/* The head, and then the unit over and over up to 1 MiB, in which %u is a number. A head "*..." gets many events. */
static void enlarge(const char *head, const char *unit)
{
	char next[100];

	begin("");
	if (head[0] == '*')
		add_many_states_and_events();
	add("%s", head);
	for (unsigned i = 0;; i++) {
		snprintf(next, sizeof next, unit, i, i);
		if (draft.n + strlen(next) >= INK_TEXT_MAX)
			break;
		add("%s", next);
	}
}

static unsigned polls, polls_max;

static int count_polls(void *user)
{
	return ++polls > polls_max;
}

static struct ink_machine *make_large(void)
{
	struct ink_machine_options o = {
		.size = sizeof o, .file = "x.fsm", .complain = note, .cancelled = count_polls};

	n_told = polls = 0;
	polls_max = UINT32_MAX;
	return ink_machine_make(draft.text, draft.n, &o);
}

TEST_THAT(a_hostile_text_is_refused_within_its_steps_and_bytes)
{
	static const struct {
		const char *head, *unit, *words;
	} texts[] = {
		{"*: a", " | a", "takes more than 33554432 steps"},
		{"*: *", "|*", "takes more than 192 MiB"},
		{"*: * from low", "|* from low", "steps"},
		{"*: a", ",a", "steps"},
		{"*: a", "|x%u", "no event 'x0'"},
		{HEAD "event f = tcp", " or tcp", "more than 1000 conditions"},
		{HEAD, "let a%u = any\n", "more than 4096 lets"},
		{HEAD "event f = payload begins ", "\"\\", "a string must end on its line"},
		{HEAD, "key pair\n", "the key was already given in line 2"},
		{HEAD "expendable b", ",c", "no state 'b'"},
		{HEAD "repeat 254 s : e", "|e", "too large"},
		{HEAD "repeat 254 s : e", "|e->up", "too large"},
		{HEAD "repeat 200 s : e\n", "s:e\n", "too large"},
		{HEAD, "repeat 1 s%u_ : e\n", "with this repeat there are 256 states"},
	};

	for (unsigned i = 0; i < COUNT(texts); i++) {
		enlarge(texts[i].head, texts[i].unit);
		errno = 0;
		assert_null(make_large());
		assert_int_equal(errno, EINVAL);
		if (!n_told || !strstr(told[0].text, texts[i].words))
			fail_msg("text %u: %s", i, n_told ? told[0].shown : "no complaint");
		assert_true(told[0].line > 1 && told[0].column >= 1);
		assert_true(polls <= INK_STEPS_MAX / INK_STEPS_POLL);
	}
}

TEST_THAT(a_large_text_that_is_honest_is_compiled)
{
	static const struct {
		const char *head, *unit;
	} texts[] = {
		{"*: e0\n", "s1: e1, e2 from low -> s2 / count c # row %u, and why it is here\n"},
		{HEAD, "a: e -> a / count c, report \"%u\" # a row for every report\n"},
		{HEAD, "# the comments are all of it: line %u\n"},
	};

	for (unsigned i = 0; i < COUNT(texts); i++) {
		struct ink_machine *m;

		enlarge(texts[i].head, texts[i].unit);
		m = make_large();
		assert_non_null(m);
		assert_true(polls < INK_STEPS_MAX / INK_STEPS_POLL / 10);
		ink_machine_free(m);
	}
}

/* Conditions that use one another twice: 2^60 tests, if each use were a copy. */
TEST_THAT(conditions_that_double_end)
{
	static const struct {
		const char *first, *use;
		int folds;
	} cases[] = {
		{"any", "let a%u = a%u and a%u\n", 1},    {"tcp", "let a%u = a%u and a%u\n", 1},
		{"any", "let a%u = a%u or not a%u\n", 1}, {"any", "let a%u = a%u and (a%u or udp)\n", 1},
		{"tcp", "let a%u = a%u or not a%u\n", 0}, {"tcp", "let a%u = a%u and (a%u or udp)\n", 0},
	};

	for (unsigned i = 0; i < COUNT(cases); i++) {
		begin("machine m\nkey pair\n");
		add("let a0 = %s\n", cases[i].first);
		add_each(60, cases[i].use);
		add("event e = a60\nabsent: e -> a\na: timeout 1s -> absent\n");
		machine = make_of(draft.text);
		assert_int_equal(machine != NULL, cases[i].folds);
		if (!machine) {
			assert_int_equal(told[0].line, 64);
			assert_int_equal(told[0].column, 7);
			assert_non_null(strstr(told[0].text, "the conditions are too long"));
		}
		untrack(NULL);
	}
}

TEST_THAT(compiling_can_be_cancelled)
{
	struct ink_machine_options o = {.size = sizeof o, .complain = note, .cancelled = count_polls};

	enlarge("*: a", " | a");
	for (polls_max = 0; polls_max < 100; polls_max += 33) {
		n_told = polls = 0;
		errno = 0;
		assert_null(ink_machine_make(draft.text, draft.n, &o));
		assert_int_equal(errno, ECANCELED);
		assert_int_equal(polls, polls_max + 1);
		assert_int_equal(n_told, 0);
	}
}

/* ------------------------------------------------------------- complaints */

TEST_THAT(a_complaint_shows_the_line_and_a_caret)
{
	assert_null(make_of("machine m\n\tkey\tboxes # tabs stay\n"));
	assert_string_equal(
		told[0].shown,
		"x.fsm:2:6: error: expected a key: connection, flow, pair, source, "
		"destination or endpoint, or parts: src, dst, src port, dst port, protocol, found "
		"'boxes'\n"
		"\tkey\tboxes # tabs stay\n"
		"\t   \t^");
}

TEST_THAT(a_complaint_fits_any_room)
{
	struct ink_complaint c = {INK_ERROR, "f", 1, 3, "wrong", "a b c", 5};
	char text[64];

	for (size_t size = 1; size < sizeof text; size++) {
		memset(text, 'x', sizeof text);
		ink_complaint_show(&c, text, size);
		assert_true(strlen(text) < size);
		assert_int_equal(text[size], 'x');
	}
}

/* -------------------------------------------------------------- warnings */

static void assert_warning(const char *marked, const char *words)
{
	struct ink_machine_options o = {.size = sizeof o, .complain = note, .strict = 1};

	assert_complaint(marked, words);
	assert_int_equal(told[0].severity, INK_WARNING);
	n_told = 0;
	assert_null(ink_machine_make(draft.text, draft.n, &o));
	assert_int_equal(told[0].severity, INK_ERROR);
}

#define HEAD_OF(rest) "machine m\nkey connection\n" rest

TEST_THAT(what_cannot_happen_or_has_no_effect_is_a_warning)
{
	static const struct {
		const char *marked, *words;
	} rows[] = {
		{HEAD "^b: timeout 1s -> absent\n", "state 'b' cannot be reached"},
		{HEAD "a: e -> b\nb: timeout 1s -> absent\n^c: e -> b | timeout 1s -> absent\n",
		 "state 'c' cannot be reached"},
		{HEAD_OF("let ^tcp = udp\nevent e = tcp\nabsent: e -> a\na: timeout 1s -> absent\n"),
		 "let 'tcp' can never be used: in conditions, it is a word of the language"},
		{HEAD "a: e / count ^length\n",
		 "counter 'length' cannot be compared: in conditions, it is a word of the language"},
		{HEAD_OF("event e = tcp\nabsent: e -> a\n^a: e -> absent\n"),
		 "flows never leave 'a': it has no time-out"},
		{HEAD_OF("event e = tcp\nabsent: e -> a\n^a: e -> b | timeout 1s -> b\nb: timeout 1s -> a\n"),
		 "never end: its time-outs do not lead to absent"},
		/* One flag is of TCP, pictures are in UDP; no test of the protocol has been made before. */
		{HEAD_OF("event ^f = ack and picture I\nevent e = tcp\nabsent: e, f -> a\na: timeout 1s -> absent\n"),
		 "event 'f' can never happen"},
		{HEAD "event ^f = udp\n", "no row is about event 'f'"},
		{HEAD "a: e -> absent\na: ^e -> a\n", "this row is never taken"},
		{HEAD "a: * | ^e -> absent\n", "this row is never taken"},
		{HEAD "*: ^timeout 5s -> absent\n", "this row is never taken"},
		{HEAD "remember ^initiator\n", "'remember initiator' is not used"},
		{HEAD "remember ^tail\n", "'remember tail' is not used"},
	};

	for (unsigned i = 0; i < COUNT(rows); i++)
		assert_warning(rows[i].marked, rows[i].words);
}

TEST_THAT(an_event_that_can_never_happen_is_a_warning)
{
	static const struct {
		const char *events;
		unsigned warnings;
	} rows[] = {
		{"event f = tcp and syn\na: f", 1},
		{"event f = syn\na: f", 1}, /* only TCP has flags */
		{"event f = udp and tcp\na: f", 1},
		{"event f = not tcp and ack\na: f", 1},
		{"event f = udp\nevent g = udp and port 53\na: f, g", 1},
		{"event f = udp and port {80, 443}\nevent g = udp and dst port 80\na: f, g", 1},
		{"event f = udp and (ip4 or ip6)\nevent g = udp\na: f, g", 1},
		{"event f = udp and length < 100\nevent g = udp and length {5, 60-99}\na: f, g", 1},
		{"event f = udp and src port 5 and src port 6\na: f", 1},
		{"event f = icmp and icmp type 8 and udp\na: f", 1},
		{"event f = udp and picture I and picture B\na: f", 1},
		{"event f = udp and from low and from high\na: f", 1},
		{"event f = udp or not udp\nevent g = any\na: f, g", 1},
		{"event f = udp and dst port {80-85, 86-90}\nevent g = udp and dst port 80-90\na: f, g", 1},
		{"event f = udp and port 80\nevent g = udp and dst port {80, 443}\na: f, g", 0},
		{"event f = udp and not port 80\nevent g = udp and src port 80\na: f, g", 0},
		{"event f = udp and port 5 and port 6\na: f", 0}, /* one each */
		{"event f = udp and chance 50%\nevent g = udp and chance 50%\na: f, g", 0},
		{"event f = udp and nal 1 and nal 5\na: f", 0},
		{"event f = icmp\nevent g = not icmp\na: f, g", 0},
		{"event f = udp and host 10.0.0.0/8\nevent g = udp and host 10.1.0.0/16\na: f, g", 0},
	};

	for (unsigned i = 0; i < COUNT(rows); i++) {
		begin(HEAD);
		add("%s\n", rows[i].events);
		ink_machine_free(made(draft.text));
		if (n_told != rows[i].warnings || (n_told && !strstr(told[0].text, "can never happen")))
			fail_msg("%s: %s", rows[i].events, n_told ? told[0].text : "no warning");
	}
}

/* ------------------------------------------------------------- compiling */

/* The machine of a text that must be right; the teardown frees it. */
static const struct ink_machine_view *view_of(const char *text)
{
	untrack(NULL);
	machine = made(text);
	return ink_machine_view(machine);
}

TEST_THAT(only_states_that_need_it_are_split)
{
	const struct ink_machine_view *v =
		view_of("machine m\nkey connection\nremember initiator\n"
			"event e = tcp\nevent f = udp\n"
			"absent: e -> before | f -> free\n"
			"before: e -> asks | timeout 1s -> absent\n" /* hands it on */
			"asks: e from initiator -> free | timeout 1s -> absent\n"
			"free: f -> asks / new initiator | timeout 1s -> absent\n");

	assert_int_equal(n_told, 0);
	assert_int_equal(v->states, 3);
	assert_int_equal(v->rules->states, 5);
	assert_int_equal(machine->states[0].splits, 1);
	assert_int_equal(machine->states[1].splits, 1);
	assert_int_equal(machine->states[2].splits, 0);
}

static void walk(const char *text, int turned, const struct step *steps)
{
	untrack(NULL);
	track_with(text, NULL);
	take_steps(turned, steps);
}

#define WALK(text, turned, ...) walk(text, turned, (const struct step[]){__VA_ARGS__, {0, 0, NULL}})

TEST_THAT(the_initiator_is_remembered_whichever_end_it_is)
{
	for (int high = 0; high < 2; high++) {
		WALK(handshake, high, {SYN, 0, "opening"}, {SYN | ACK, 0, "opening"},
		     {SYN | ACK, 1, "answered"}, {ACK, 1, "answered"}, {ACK, 0, "done"});
		assert_int_equal(counted("done"), 1);
		assert_int_equal(counted("unanswered"), 0);
	}
}

TEST_THAT(a_new_initiator_is_the_sender)
{
	for (int high = 0; high < 2; high++)
		WALK("machine m\nkey connection\nremember initiator\nevent syn = syn\nevent ack = ack\n"
		     "absent: ack -> waiting\n"
		     "waiting: syn -> asking / new initiator | timeout 1s -> absent\n"
		     "asking: ack from initiator -> done | timeout 1s -> absent\n"
		     "done: timeout 1s -> absent\n",
		     high, {ACK, 1, "waiting"}, {SYN, 0, "asking"}, {ACK, 1, "asking"}, {ACK, 0, "done"});
}

TEST_THAT(a_row_can_ask_for_the_low_and_the_high_end)
{
	WALK("machine m\nkey connection\nevent e = tcp\nabsent: e from high -> a\n"
	     "a: e from low -> b | timeout 1s -> absent\nb: timeout 1s -> absent\n",
	     0, {0, 0, "absent"}, {0, 1, "a"}, {0, 1, "a"}, {0, 0, "b"});
	assert_int_equal(ink_machine_view(machine)->rules->states, 2); /* costs no state */
}

TEST_THAT(rows_are_tried_in_order_and_those_of_the_star_last)
{
	WALK("machine m\nkey connection\nevent s = syn\nevent f = fin\nevent r = rst\nevent a = ack\n"
	     "*: f -> three | a -> two | timeout 1s -> absent\n"
	     "absent: s -> one\n"
	     "one: a -> three | r -> next\n"
	     "two: s -> one | r -> next\n"
	     "one, two: f -> absent\n"
	     "three: * -> one\n",
	     0, {SYN, 0, "one"}, {RST, 0, "two"}, /* next */
	     {ACK, 0, "two"},                     /* the star's row */
	     {SYN, 0, "one"}, {ACK, 0, "three"},  /* its own row comes before the star's */
	     {ACK, 0, "one"},                     /* any event */
	     {FIN, 0, "absent"});
}

TEST_THAT(a_start_event_without_a_row_begins_anew)
{
	const struct ink_machine_view *v =
		view_of("machine m\nkey connection\nstart event s = syn\nevent a = ack\n"
			"absent: s -> one\none: s | a -> two | timeout 1s -> absent\n"
			"two: timeout 1s -> absent\n");

	assert_int_equal(v->rules->starts[0], 1);
	assert_int_equal(v->rules->starts[1], 0);
	assert_int_equal(v->rules->rows[0].next, 0);                         /* one, s: stays, by a row */
	assert_int_equal(v->rules->rows[v->rules->events].next, INK_NO_ROW); /* two, s */

	/* also where every other event has a row, to remember the tail */
	v = view_of("machine m\nkey flow\nremember tail\nstart event s = payload 7\nevent i = picture I\n"
		    "event r = udp\nabsent: s -> one\none: i / count c | timeout 1s -> absent\n");
	assert_int_equal(v->rules->states, 6);
	for (unsigned i = 0; i < 6; i++) {
		assert_int_equal(v->rules->rows[i].next, INK_NO_ROW); /* s, leaving tail i */
		assert_int_equal(v->rules->rows[12 + i].next, i);     /* r */
	}
}

TEST_THAT(times_become_ticks_that_never_end_early)
{
	static const struct {
		const char *times[2];
		uint64_t tick; /* ms */
		uint32_t periods[2];
	} cases[] = {{{"32s", "96s"}, 1000, {33, 97}}, {{"64s", "64s"}, 2000, {33, 33}},
		     {{"1s", "1h"}, 125, {9, 28801}},  {{"500ms", "1s"}, 125, {5, 9}},
		     {{"70ms", "1s"}, 100, {2, 11}},   {{"1.5s", "2s"}, 125, {13, 17}}};

	for (unsigned i = 0; i < COUNT(cases); i++) {
		char text[300];
		const struct ink_machine_view *v;

		snprintf(text, sizeof text,
			 "machine m\nkey pair\nevent e = tcp\nabsent: e -> a\na: e -> b | timeout %s -> "
			 "absent\n"
			 "b: timeout %s -> absent\n",
			 cases[i].times[0], cases[i].times[1]);
		v = view_of(text);
		assert_int_equal(v->tick, cases[i].tick * 1000000);
		assert_int_equal(v->rules->timings[0].period, cases[i].periods[0]);
		assert_int_equal(v->rules->timings[1].period, cases[i].periods[1]);
		assert_int_equal(v->rules->timings[2].period, /* unsure: the longest */
				 cases[i].periods[1] > cases[i].periods[0] ? cases[i].periods[1]
									   : cases[i].periods[0]);
	}
}

TEST_THAT(doubt_and_what_is_expendable_can_be_given)
{
	const struct ink_machine_view *v =
		view_of(HEAD "expendable a\nunsure: e / count doubts | timeout 2s, end / count left\n");

	assert_int_equal(v->rules->timings[0].expendable, 1);
	assert_int_equal(v->rules->timings[1].period, 17);
	assert_int_equal(v->rules->rows[2].action, 1);
	assert_int_equal(v->on_timeout[1], 2);
	assert_int_equal(v->on_end[1], 2);
	assert_int_equal(v->on_end[0], 0);
}

TEST_THAT(actions_are_what_was_written)
{
	const struct ink_machine_view *v =
		view_of(HEAD "a: e / count c, count d by 1_000, count c by payload, drop, mark "
			     "0x10, save, report \"a \\\"b\\\"\\n\\x41\"\n");
	const struct ink_action *a = &v->action[1];

	assert_int_equal(v->actions, 2);
	assert_int_equal(a->n_countings, 3);
	assert_int_equal(a->countings[0].counter, 0);
	assert_int_equal(a->countings[0].number, 1);
	assert_int_equal(a->countings[1].counter, 1);
	assert_int_equal(a->countings[1].number, 1000);
	assert_int_equal(a->countings[2].counter, 0);
	assert_int_equal(a->countings[2].amount, INK_AMOUNT_PAYLOAD);
	assert_int_equal(a->verdict, INK_DROP);
	assert_int_equal(a->marks, 1);
	assert_int_equal(a->mark, 16);
	assert_int_equal(a->saves, 1);
	assert_string_equal(a->report, "a \"b\"\nA");
}

/* ----------------------------------------------------------- whole machines */

/* The machine of a set that has the name of its file; the others take five bits or less. */
static unsigned states_of_named(const struct ink_machines *set, const char *name)
{
	unsigned states = 0;

	for (unsigned i = 0; i < ink_machines_count(set); i++) {
		const struct ink_machine_view *v = ink_machine_view(ink_machines_at(set, i));

		if (!strcmp(v->name, name))
			states = v->rules->states;
		else
			assert_true(v->rules->states <= 31);
	}
	return states;
}

TEST_THAT(every_bundled_machine_is_right)
{
	struct ink_machine_options o = {.size = sizeof o, .complain = note, .strict = 1};
	unsigned n = 0;

	for (; ink_bundled(n); n++) {
		const char *name = ink_bundled(n)->name;
		struct ink_machines *set;

		n_told = 0;
		set = ink_machines_load(&name, 1, &o, NULL);
		if (!set)
			fail_msg("%s", n_told ? told[0].shown : name);
		/* four bits, where a flow is more than a host or an endpoint; conn has 13 ends to tell apart */
		assert_in_range(states_of_named(set, name), 1,
				ink_machines_count(set) > 1 ? 255
				: strcmp(name, "conn")      ? 15
							    : 63);
		ink_machines_free(set);
	}
	assert_int_equal(n, 21);
}

TEST_THAT(a_name_with_a_slash_or_fsm_is_a_file)
{
	struct ink_why why = {""};
	struct ink_machine *m;
	FILE *file = fopen(scratch_file, "w");

	assert_non_null(file);
	assert_true(fputs(HEAD, file) >= 0 && fclose(file) == 0);
	snprintf(why.text, sizeof why.text, "said before");
	m = ink_machine_load(scratch_file, NULL, &why);
	assert_string_equal(why.text, "said before");
	assert_non_null(m);
	assert_string_equal(ink_machine_view(m)->name, "m");
	ink_machine_free(m);
	unlink(scratch_file);
	assert_null(ink_machine_load(scratch_file, NULL, &why));
	assert_int_equal(errno, ENOENT);
	assert_non_null(strstr(why.text, scratch_file));
	assert_null(ink_machine_load("tcp.fsm", NULL, &why));
	assert_int_equal(errno, ENOENT);
	assert_null(ink_machine_load("/", NULL, &why));
	assert_null(ink_machine_load("tpc", NULL, &why));
	assert_int_equal(errno, ENOENT);
	assert_non_null(strstr(why.text, "did you mean 'tcp'?"));
}

TEST_THAT(a_drawing_has_every_state_and_every_move)
{
	static const char *const parts[] = {
		"digraph \"m\" {",
		"<b>m</b>",
		"key connection, remember initiator",
		"\"absent\" -> \"row 0\" [color=black, dir=none]",
		"label=\"e\"]",
		"\"row 0\" -> \"a\" [color=black]",
		"fontcolor=firebrick, label=\"e from initiator\\n/ new initiator\\n/ count c\\n/ count d by 3\\n/ count f by "
		"payload\\n/ report a \\\"b\\\"\"]",
		"/ report \303\244 \\\\u009b \\\\x7f \\\\x0a \\\\x9b",
		"/ report one two three four five\\nsix seven eight\\n/ drop\\n/ mark 7\\n/ save",
		"fontcolor=gray45, label=\"timeout 90s\"]",
		"-> \"absent again\" [color=gray45, style=dashed]",
		"label=\"timeout 1500ms\"]",
		"label=\"end\\n/ count c\"]", /* apart from the event of the same row */
		"\"b\" [style=\"rounded,dashed\"]",
		"\"unsure\" -> \"row", /* acts, and stays */
	};
	char *drawing;

	view_of("machine \nm\nkey connection\nremember initiator\nevent e = tcp\nabsent: e -> a\n"
		"a: e from initiator -> b / count c, count d by 3, count f by payload, report \"a \\\"b\\\"\", new initiator\n"
		"| e | timeout 90s -> absent\n"
		"b: e from initiator -> absent / report \"\303\244 \302\233 \177 \\n \233\" | timeout 1500ms -> absent\n"
		"| e / report \"one two three four five six seven eight\", drop, mark 7, save\n"
		"c: e, end -> absent / count c\nunsure: e / pass\nexpendable b\n");
	drawing = ink_machine_draw(machine);
	assert_non_null(drawing);
	for (size_t i = 0; i < COUNT(parts); i++)
		assert_non_null(strstr(drawing, parts[i]));
	assert_null(strstr(drawing, "\"a\" -> \"a\""));
	free(drawing);
}

static int call_make(void *theirs)
{
	struct ink_machine *m = ink_machine_make(HEAD, strlen(HEAD), theirs);

	ink_machine_free(m);
	return m ? 0 : -errno;
}

static int call_load(void *theirs)
{
	struct ink_machine *m = ink_machine_load("tcp", theirs, NULL);

	ink_machine_free(m);
	return m ? 0 : -errno;
}

TEST_THAT(options_of_older_and_newer_callers_are_read)
{
	struct ink_machine_options o = {.size = sizeof o};
	const struct sized make = {"machine options", 56, sizeof o, &o, call_make},
			   load = {"machine options", 56, sizeof o, &o, call_load};

	assert_grows(&make);
	assert_grows(&load);
	assert_int_equal(call_make(NULL), 0);
	assert_null(ink_machine_load(NULL, NULL, NULL));
	assert_int_equal(errno, EINVAL);
}

int main(void)
{
	return run_suite(
		&(struct suite){.begin = scratch_make, .end = scratch_remove, .after_each = untrack});
}
