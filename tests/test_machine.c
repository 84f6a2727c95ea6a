/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The machine language: what is wrong with a text and where; what a text
 * compiles to; and that the decision program says what the conditions say.
 * The language is docs/machine-language.md.
 */
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include <inkling/track.h>

#include "machine/tree.h"
#include "packet/classify.h"
#include "packet/video.h"
#include "random.h"

/* ------------------------------------------------------------ complaints */

enum { TOLD_MOST = 32 };

static struct {
	enum ink_severity severity;
	unsigned line, column;
	char text[300];
	char shown[800];
} told[TOLD_MOST];

static unsigned n_told;

static void note(const struct ink_complaint *c, void *user)
{
	(void)user;
	assert_true(n_told < TOLD_MOST);
	told[n_told].severity = c->severity;
	told[n_told].line = c->line;
	told[n_told].column = c->column;
	snprintf(told[n_told].text, sizeof told[0].text, "%s", c->text);
	ink_complaint_show(c, told[n_told++].shown, sizeof told[0].shown);
}

static struct ink_machine *make_of(const char *text)
{
	struct ink_machine_options o = {.size = sizeof o, .file = "x.fsm", .complain = note};

	n_told = 0;
	return ink_machine_make(text, strlen(text), &o);
}

/* A machine that must be right. */
static struct ink_machine *made(const char *text)
{
	struct ink_machine *m = make_of(text);

	if (!m)
		fail_msg("%s", n_told ? told[0].shown : "no machine, and no reason");
	return m;
}

/* The least that is a machine, in front of what is tested. */
#define HEAD "machine m\nkey connection\nevent e = tcp\nabsent: e -> a\na: timeout 1s -> absent\n"

enum { HEAD_LINES = 5 };

static void assert_complaint(const char *text, unsigned line, unsigned column, const char *words)
{
	struct ink_machine *m = make_of(text);
	int found = 0;

	for (unsigned i = 0; i < n_told; i++)
		found |= told[i].line == line && told[i].column == column &&
			 strstr(told[i].text, words) != NULL;
	if (!found)
		fail_msg("of\n%s\nexpected '%s' at %u:%u, got %s", text, words, line, column,
			 n_told ? told[0].shown : "nothing");
	ink_machine_free(m);
}

static void assert_error(const char *more, unsigned line, unsigned column, const char *words)
{
	char text[2000];

	snprintf(text, sizeof text, HEAD "%s", more);
	assert_complaint(text, HEAD_LINES + line, column, words);
	assert_int_equal(told[0].severity, INK_ERROR);
	errno = 0;
	assert_null(make_of(text));
	assert_int_equal(errno, EINVAL);
}

static void mistakes_of_syntax_are_told_with_their_place(void **state)
{
	(void)state;
	assert_error("event = tcp", 1, 7, "expected the event's name, found '='");
	assert_error("event f tcp", 1, 9, "expected '=', found 'tcp'");
	assert_error("event f = tcp and", 1, 18, "expected a condition, found the end of the file");
	assert_error("event f = (tcp or udp\nevent g = udp", 2, 1, "expected 'and', 'or' or ')'");
	assert_error("event f = src 80", 1, 15, "expected 'port' or 'host'");
	assert_error("event f = port x", 1, 16, "expected a number, a range, a set");
	assert_error("event f = port {80 81}", 1, 20, "expected ',' or '}'");
	assert_error("event f = host x", 1, 16, "expected an address");
	assert_error("event f = from 7", 1, 16, "expected 'low' or 'high'");
	assert_error("event f = picture X", 1, 19, "expected 'I', 'P' or 'B'");
	assert_error("event f = chance often", 1, 18, "expected a share");
	assert_error("event f = filter tcp", 1, 18, "expected a filter in quotes");
	assert_error("event f = payload begins tcp", 1, 26, "expected the bytes in quotes");
	assert_error("a: e -> 7", 1, 9, "expected a state, 'absent' or 'next'");
	assert_error("a: e / dorp", 1, 8, "expected an action");
	assert_error("a: e / count", 1, 13, "expected a counter's name");
	assert_error("a: e / count x by y", 1, 19, "expected a number, 'payload'");
	assert_error("a: e / report x", 1, 15, "expected the text in quotes");
	assert_error("a: e / mark x", 1, 13, "expected the mark");
	assert_error("a: e / new x", 1, 12, "expected 'initiator'");
	assert_error("a: e from x", 1, 11, "expected 'initiator', 'responder', 'low' or 'high'");
	assert_error("a: timeout x", 1, 12, "expected a time");
	assert_error("a: 5", 1, 4, "expected an event, 'timeout', 'end' or '*'");
	assert_error("a: e b", 1, 6, "expected '->', '/', ',', '|', 'from'");
	assert_error("a: e -> a b", 1, 11, "expected '/', '|'");
	assert_error("a: e / drop b", 1, 13, "expected ',', '|'");
	assert_error("a, 7: e", 1, 4, "expected a state");
	assert_error("remember me", 1, 10, "expected 'initiator' or 'tail'");
	assert_error("expendable 7", 1, 12, "expected a state");
	assert_error("let 7 = tcp", 1, 5, "expected a name");
	assert_error("start reverse x = tcp", 1, 15, "expected 'event'");
	assert_error("7", 1, 1, "expected machine, key, remember, let, event, expendable or a state");
	assert_complaint("machine 7", 1, 9, "expected the machine's name");
	assert_complaint("machine m\nkey box", 2, 5, "expected a key");
}

static void words_that_are_none_are_told(void **state)
{
	char name[70], text[200];

	(void)state;
	assert_error("event f = ;", 1, 11, "this character begins nothing");
	assert_error("event f = \001", 1, 11, "a control character");
	assert_error("event f = \303\244", 1, 11, "a character that is not ASCII");
	assert_error("a: e / report \"x", 1, 15, "a string must end on its line");
	assert_error("a: e / report \"x\n\"", 1, 15, "a string must end on its line");
	assert_error("a: e / report \"x\\q\"", 1, 17, "no escape");
	assert_error("a: e / report \"\\x0g\"", 1, 16, "no escape");
	assert_error("a: e / report \"\\x00\"", 1, 15, "cannot have a 0");
	assert_error("event f = payload begins \"\"", 1, 26, "an empty string says nothing");
	assert_error("event f = port 12x", 1, 16, "'12x' is no whole number");
	assert_error("event f = port 0x", 1, 16, "'0x' is no whole number");
	assert_error("event f = port 1.5", 1, 16, "'1.5' is no whole number");
	assert_error("a: e / count c by 99999999999999999999", 1, 19, "a number that large");
	assert_error("a: e / count c by 9223372036854775808", 1, 19, "a number that large");
	assert_error("a: timeout 10x", 1, 12, "'10x' is no time");
	assert_error("b: timeout 10", 1, 12, "'10' is no time");
	assert_error("b: timeout 0s", 1, 12, "times are 1ms to 10 years");
	assert_error("b: timeout 9999d", 1, 12, "times are 1ms to 10 years");
	assert_error("event f = chance 2", 1, 18, "a share is 0 to 1");
	assert_error("event f = chance 1/0", 1, 18, "a share is 0 to 1");
	assert_error("event f = chance 5s", 1, 18, "'5s' is no share");
	assert_error("event f = host 1.2.3.400", 1, 16, "'1.2.3.400' is no address");
	assert_error("event f = host 10.0.0.0/33", 1, 24, "a prefix of IPv4 has 0 to 32 bits");
	assert_error("event f = host ::1/129", 1, 19, "a prefix of IPv6 has 0 to 128 bits");
	memset(name, 'x', 64);
	name[64] = 0;
	snprintf(text, sizeof text, "event %s = tcp", name);
	assert_error(text, 1, 7, "a name of more than 63 characters");
}

static void numbers_out_of_range_are_told(void **state)
{
	(void)state;
	assert_error("event f = port 65536", 1, 16, "'port' is 0 to 65535");
	assert_error("event f = src port 65536", 1, 20, "'src port' is 0 to 65535");
	assert_error("event f = protocol 256", 1, 20, "'protocol' is 0 to 255");
	assert_error("event f = vlan 4096", 1, 16, "'vlan' is 0 to 4095");
	assert_error("event f = nal 32", 1, 15, "'nal' is 0 to 31");
	assert_error("event f = rtp type 128", 1, 20, "'rtp type' is 0 to 127");
	assert_error("event f = port 10-5", 1, 16, "nothing lies between 10 and 5");
	assert_error("event f = port < 0", 1, 18, "nothing compares so");
	assert_error("event f = port > 65535", 1, 18, "nothing compares so");
	assert_error("a: e / mark 4294967296", 1, 13, "a mark is 0 to 4294967295");
}

static void names_that_nobody_knows_are_told_with_the_nearest(void **state)
{
	(void)state;
	assert_error("event f = tpc", 1, 11, "no condition 'tpc'; did you mean 'tcp'?");
	assert_error("let video = udp\nevent f = vidoe", 2, 11,
		     "no condition 'vidoe'; did you mean 'video'?");
	assert_error("event f = zzzzzzzzz", 1, 11, "no condition 'zzzzzzzzz'");
	assert_error("opening: f -> oepning", 1, 15, "no state 'oepning'; did you mean 'opening'?");
	assert_error("a: synack\nevent syn_ack = tcp", 1, 4, "no event 'synack'; did you mean 'syn_ack'?");
	assert_error("a: tiemout", 1, 4, "no event 'tiemout'; did you mean 'timeout'?");
	assert_error("expendable b", 1, 12, "no state 'b'");
	assert_error("a: e / count losses\nevent f = losess > 5", 2, 11,
		     "no counter 'losess'; did you mean 'losses'?");
	assert_error("a: e / count c\nevent f = c > 5% of d", 2, 21, "no counter 'd'");
	assert_error("evnet f = tcp", 1, 1, "no item begins with 'evnet'; did you mean 'event'?");
}

static void what_is_given_twice_is_told_with_the_line(void **state)
{
	(void)state;
	assert_error("machine n", 1, 9, "was already given in line 1");
	assert_error("key pair", 1, 5, "the key was already given in line 2");
	assert_error("event e = udp", 1, 7, "e was already given in line 3");
	assert_error("let l = tcp\nlet l = udp", 2, 5, "l was already given in line 6");
	assert_error("a: timeout 2s -> absent", 1, 4, "the time-out of 'a' was already given in line 5");
	assert_error("a: e / report \"x\", report \"y\"", 1, 27, "already given");
	assert_error("a: e / drop, pass", 1, 14, "'drop' and 'pass' in one row");
}

static void what_a_machine_needs_is_told(void **state)
{
	(void)state;
	assert_complaint("key pair", 1, 1, "a machine needs a line 'machine NAME'");
	assert_complaint("machine m", 1, 1, "a machine needs a line 'key ...'");
	assert_complaint("machine m\nkey pair", 1, 1, "a machine needs an event");
	assert_complaint("machine m\nkey pair", 1, 1, "a machine needs a state");
	assert_complaint("", 1, 1, "a machine needs a line 'machine NAME'");
	assert_error("event timeout = tcp", 1, 7, "an event cannot be called 'timeout'");
	assert_error("next: e", 1, 1, "a state cannot be called 'next'");
}

static void what_cannot_be_meant_is_told(void **state)
{
	(void)state;
	assert_error("a: e from initiator", 1, 6, "need a line 'remember initiator'");
	assert_error("a: e / new initiator", 1, 8, "'new initiator' needs a line 'remember initiator'");
	assert_error("remember initiator\nabsent: e from initiator", 2, 11, "nobody began yet");
	assert_error("remember initiator\nunsure: e from responder", 2, 11, "who began is not known");
	assert_error("event f = from initiator", 1, 16, "stands in rows, not in conditions");
	assert_error("b: timeout 5s / drop", 1, 17,
		     "a time-out has no packet: it can only count by numbers and move, not 'drop'");
	assert_error("b: end / report \"x\"", 1, 10, "an end has no packet");
	assert_error("b: end / count c by payload", 1, 16, "an end has no packet");
	assert_error("b: end, e / save", 1, 13, "an end has no packet");
	assert_error("absent: timeout 5s", 1, 9, "an absent flow has no time-out");
	assert_error("absent: end", 1, 9, "an absent flow has no end");
	assert_error("unsure: e -> a", 1, 14, "'unsure' can only act");
	assert_error("a: e -> next", 1, 9, "'a' is the last state: it has no next");
	assert_error("*: e -> next", 1, 9, "'a' is the last state: it has no next");
	assert_error("reverse event r = tcp", 1, 15,
		     "'reverse' needs key flow, source, destination or endpoint");
	assert_complaint("machine m\nkey source\nremember initiator\nevent e = tcp\na: e", 3, 10,
			 "an initiator needs key connection or pair");
}

static void what_is_too_much_is_told(void **state)
{
	static char text[200000];
	size_t n;

	(void)state;
	n = (size_t)snprintf(text, sizeof text, HEAD "event f = ");
	memset(text + n, '(', 65);
	n += 65;
	snprintf(text + n, sizeof text - n, "tcp");
	assert_complaint(text, 6, 75, "more than 64 parentheses and 'not's");

	n = (size_t)snprintf(text, sizeof text, HEAD);
	for (int i = 0; i < 300; i++)
		n += (size_t)snprintf(text + n, sizeof text - n, "s%d: e -> s%d\n", i, i);
	assert_null(make_of(text));
	assert_non_null(strstr(told[0].text, "more than 255 states"));

	n = (size_t)snprintf(text, sizeof text, HEAD "event f = port 1");
	for (int i = 0; i < 300; i++)
		n += (size_t)snprintf(text + n, sizeof text - n, " or port %d", i);
	assert_null(make_of(text));
	assert_non_null(strstr(told[0].text, "more than 256 different tests"));

	/* 130 states that are split in two */
	n = (size_t)snprintf(text, sizeof text,
			     "machine m\nkey pair\nremember initiator\nevent e = tcp\nabsent: e -> s0\n");
	for (int i = 0; i < 130; i++)
		n += (size_t)snprintf(text + n, sizeof text - n, "s%d: e from initiator -> s%d\n", i, i);
	assert_null(make_of(text));
	assert_non_null(strstr(told[0].text, "130 states, with what they remember 260: 255 are possible"));

	/* each doubles the one before */
	n = (size_t)snprintf(text, sizeof text, HEAD "let l0 = syn and ack\n");
	for (int i = 1; i < 30; i++)
		n += (size_t)snprintf(text + n, sizeof text - n, "let l%d = l%d or (l%d and rst)\n", i, i - 1,
				      i - 1);
	snprintf(text + n, sizeof text - n, "event f = l29\n");
	assert_null(make_of(text));
	assert_non_null(strstr(told[0].text, "the conditions are too long"));
}

static void a_file_of_more_than_a_mebibyte_is_refused(void **state)
{
	size_t length = (1 << 20) + 1;
	char *text = malloc(length);
	struct ink_machine_options o = {.size = sizeof o, .complain = note};

	(void)state;
	memset(text, ' ', length);
	n_told = 0;
	assert_null(ink_machine_make(text, length, &o));
	assert_non_null(strstr(told[0].text, "more than 1 MiB"));
	free(text);
}

static void one_run_finds_many_mistakes(void **state)
{
	(void)state;
	assert_null(make_of("machine m\nkey pair\nevent a = tpc\nevent b = port 70000\nb: x -> y | z -> w\n"
			    "c: timeout x | b -> q\n"));
	assert_int_equal(n_told, 8);
	assert_int_equal(told[0].line, 3);
	assert_int_equal(told[1].line, 4);
	assert_int_equal(told[2].line, 6);
}

static void no_more_than_twenty_are_told(void **state)
{
	char text[4000];
	size_t n = (size_t)snprintf(text, sizeof text, HEAD);

	(void)state;
	for (int i = 0; i < 50; i++)
		n += (size_t)snprintf(text + n, sizeof text - n, "event f%d = tpc\n", i);
	assert_null(make_of(text));
	assert_int_equal(n_told, 20);
}

static void a_complaint_shows_the_line_and_a_caret(void **state)
{
	(void)state;
	assert_null(make_of("machine m\n\tkey\tboxes # tabs stay\n"));
	assert_string_equal(told[0].shown,
			    "x.fsm:2:6: error: expected a key: connection, flow, pair, source, "
			    "destination or endpoint, found 'boxes'\n"
			    "\tkey\tboxes # tabs stay\n"
			    "\t   \t^");
}

static void a_complaint_fits_any_room(void **state)
{
	struct ink_complaint c = {INK_ERROR, "f", 1, 3, "wrong", "a b c", 5};
	char text[64];

	(void)state;
	for (size_t size = 1; size < sizeof text; size++) {
		memset(text, 'x', sizeof text);
		ink_complaint_show(&c, text, size);
		assert_true(strlen(text) < size);
		assert_int_equal(text[size], 'x');
	}
}

/* -------------------------------------------------------------- warnings */

static void assert_warning(const char *text, unsigned line, unsigned column, const char *words)
{
	struct ink_machine_options o = {.size = sizeof o, .complain = note, .strict = 1};

	assert_complaint(text, line, column, words);
	assert_int_equal(told[0].severity, INK_WARNING);
	n_told = 0;
	assert_null(ink_machine_make(text, strlen(text), &o));
	assert_int_equal(told[0].severity, INK_ERROR);
}

#define HEAD_WITH(events) "machine m\nkey connection\n" events

static void a_state_that_cannot_be_reached_is_a_warning(void **state)
{
	(void)state;
	assert_warning(HEAD "b: timeout 1s -> absent\n", 6, 1, "state 'b' cannot be reached");
	assert_warning(HEAD "a: e -> b\nb: timeout 1s -> absent\nc: e -> b | timeout 1s -> absent\n", 8, 1,
		       "state 'c' cannot be reached");
}

static void a_state_that_flows_never_leave_is_a_warning(void **state)
{
	(void)state;
	assert_warning(HEAD_WITH("event e = tcp\nabsent: e -> a\na: e -> absent\n"), 5, 1,
		       "flows never leave 'a': it has no time-out");
	assert_warning(
		HEAD_WITH("event e = tcp\nabsent: e -> a\na: e -> b | timeout 1s -> b\nb: timeout 1s -> a\n"),
		5, 1, "never end: its time-outs do not lead to absent");
}

static void an_event_that_can_never_happen_is_a_warning(void **state)
{
	static const char *const shadowed[] = {
		"event f = tcp and syn\na: f",
		"event f = syn\na: f", /* only TCP has flags */
		"event f = udp and tcp\na: f",
		"event f = not tcp and ack\na: f",
		"event f = udp\nevent g = udp and port 53\na: f, g",
		"event f = udp and port {80, 443}\nevent g = udp and dst port 80\na: f, g",
		"event f = udp and (ip4 or ip6)\nevent g = udp\na: f, g",
		"event f = udp and length < 100\nevent g = udp and length {5, 60-99}\na: f, g",
		"event f = udp and src port 5 and src port 6\na: f",
		"event f = icmp and icmp type 8 and udp\na: f",
		"event f = udp and picture I and picture B\na: f",
		"event f = udp and from low and from high\na: f",
		"event f = udp or not udp\nevent g = any\na: f, g",
	};
	char text[1000];

	(void)state;
	for (unsigned i = 0; i < sizeof shadowed / sizeof shadowed[0]; i++) {
		struct ink_machine *m;

		snprintf(text, sizeof text, HEAD "%s\n", shadowed[i]);
		m = made(text);
		if (n_told != 1 || !strstr(told[0].text, "can never happen"))
			fail_msg("%s: %s", shadowed[i], n_told ? told[0].text : "no warning");
		ink_machine_free(m);
	}
}

static void an_event_that_can_happen_is_not_warned_of(void **state)
{
	static const char *const fine[] = {
		"event f = udp and port 80\nevent g = udp and dst port {80, 443}\na: f, g",
		"event f = udp and not port 80\nevent g = udp and src port 80\na: f, g",
		"event f = udp and port 5 and port 6\na: f", /* one each */
		"event f = udp and chance 50%\nevent g = udp and chance 50%\na: f, g",
		"event f = udp and nal 1 and nal 5\na: f",
		"event f = icmp\nevent g = not icmp\na: f, g",
		"event f = udp and host 10.0.0.0/8\nevent g = udp and host 10.1.0.0/16\na: f, g",
	};
	char text[1000];

	(void)state;
	for (unsigned i = 0; i < sizeof fine / sizeof fine[0]; i++) {
		struct ink_machine *m;

		snprintf(text, sizeof text, HEAD "%s\n", fine[i]);
		m = made(text);
		if (n_told)
			fail_msg("%s: %s", fine[i], told[0].text);
		ink_machine_free(m);
	}
}

static void what_has_no_effect_is_a_warning(void **state)
{
	(void)state;
	assert_warning(HEAD "event f = udp\n", 6, 7, "no row is about event 'f'");
	assert_warning(HEAD "a: e -> absent\na: e -> a\n", 7, 4, "this row is never taken");
	assert_warning(HEAD "a: * | e -> absent\n", 6, 8, "this row is never taken");
	assert_warning(HEAD "*: timeout 5s -> absent\n", 6, 4, "this row is never taken");
	assert_warning(HEAD "remember initiator\n", 6, 10, "'remember initiator' is not used");
	assert_warning(HEAD "remember tail\n", 6, 10, "'remember tail' is not used");
}

/* ------------------------------------------------------------- compiling */

static const char *state_name(const struct ink_machine_view *v, int state)
{
	return state == INK_ABSENT ? "absent" : v->state_names[v->state_of[state]];
}

static void only_states_that_need_it_are_split(void **state)
{
	struct ink_machine *m = made("machine m\nkey connection\nremember initiator\n"
				     "event e = tcp\nevent f = udp\n"
				     "absent: e -> before | f -> free\n"
				     "before: e -> asks | timeout 1s -> absent\n" /* hands it on */
				     "asks: e from initiator -> free | timeout 1s -> absent\n"
				     "free: f -> asks / new initiator | timeout 1s -> absent\n");
	const struct ink_machine_view *v = ink_machine_view(m);

	(void)state;
	assert_int_equal(n_told, 0);
	assert_int_equal(v->states, 3);
	assert_int_equal(v->rules.states, 5);
	assert_int_equal(m->states[0].splits, 1);
	assert_int_equal(m->states[1].splits, 1);
	assert_int_equal(m->states[2].splits, 0);
	ink_machine_free(m);
}

/* A table of the machine, and a tracker. */
static struct ink_table *table;
static struct ink_track *track;
static struct ink_machine *machine;

static void track_with(const char *text, const struct ink_track_options *more)
{
	const struct ink_machine_view *v;
	struct ink_options o = {.size = sizeof o, .kind = INK_EXACT, .flows = 100, .age_bits = 1, .seed = 1};
	struct ink_track_options k = {.size = sizeof k, .link = INK_LINK_ETHERNET, .seed = 1};
	struct ink_why why = {""};

	machine = made(text);
	v = ink_machine_view(machine);
	o.states = v->rules.states;
	o.rules = &v->rules;
	table = ink_create(&o, &why);
	if (!table)
		fail_msg("%s", why.text);
	if (more)
		k = *more;
	k.machine = machine;
	k.table = table;
	track = ink_track_open(&k, &why);
	if (!track)
		fail_msg("%s", why.text);
}

static int untrack(void **state)
{
	(void)state;
	ink_track_close(track);
	ink_free(table);
	ink_machine_free(machine);
	track = NULL;
	table = NULL;
	machine = NULL;
	return 0;
}

#define TRACKED(name) cmocka_unit_test_teardown(name, untrack)

/* Two hosts, 10.0.0.1 and 10.0.0.2; ports 1000 and 80. */
static struct ink_packet packet(uint8_t protocol, unsigned flags, int from_high)
{
	struct ink_packet p = {
		.version = 4, .protocol = protocol, .tcp_flags = (uint16_t)flags, .wire = 60, .captured = 60};
	static const uint8_t low[4] = {10, 0, 0, 1}, high[4] = {10, 0, 0, 2};

	memcpy(p.source, from_high ? high : low, 4);
	memcpy(p.destination, from_high ? low : high, 4);
	p.sport = from_high ? 80 : 1000;
	p.dport = from_high ? 1000 : 80;
	p.flags = from_high ? INK_FROM_HIGH : 0;
	p.ttl = 64;
	return p;
}

static void give(struct ink_packet p)
{
	struct ink_packets one = {.at = &p, .n = 1};

	assert_int_equal(ink_track_packets(track, &one), 0);
}

static void give_tcp(unsigned flags, int from_high)
{
	give(packet(INK_PROTOCOL_TCP, flags, from_high));
}

static void give_udp(const void *payload, size_t length)
{
	struct ink_packet p = packet(INK_PROTOCOL_UDP, 0, 0);

	p.payload = payload;
	p.payload_captured = p.payload_wire = (uint32_t)length;
	give(p);
}

/* The written state of the one flow that there is. */
static const char *state_now(void)
{
	const struct ink_machine_view *v = ink_machine_view(machine);
	struct ink_counts counts;

	ink_census(table, &counts);
	for (unsigned i = 0; i < v->rules.states; i++)
		if (counts.state[i])
			return state_name(v, (int)i);
	return "absent";
}

static uint64_t counted(const char *name)
{
	const struct ink_machine_view *v = ink_machine_view(machine);

	for (unsigned i = 0; i < v->counters; i++)
		if (!strcmp(v->counter_names[i], name))
			return ink_track_counters(track)[i];
	fail_msg("no counter %s", name);
	return 0;
}

static const char handshake[] =
	"machine m\nkey connection\nremember initiator\n"
	"start event syn = tcp and syn and not ack\nevent synack = syn and ack\nevent ack = ack\n"
	"absent: syn -> opening\n"
	"opening: syn | synack from responder -> answered | end, timeout 10s -> absent / count unanswered\n"
	"answered: ack from initiator -> done / count done | timeout 10s -> absent\n"
	"done: * | timeout 1h -> absent\n";

enum { SYN = INK_TCP_SYN, ACK = INK_TCP_ACK, FIN = INK_TCP_FIN, RST = INK_TCP_RST };

static void the_initiator_is_remembered_whichever_end_it_is(void **state)
{
	(void)state;
	for (int high = 0; high < 2; high++) {
		track_with(handshake, NULL);
		give_tcp(SYN, high);
		assert_string_equal(state_now(), "opening");
		give_tcp(SYN | ACK, high); /* from the wrong end */
		assert_string_equal(state_now(), "opening");
		give_tcp(SYN | ACK, !high);
		assert_string_equal(state_now(), "answered");
		give_tcp(ACK, !high);
		assert_string_equal(state_now(), "answered");
		give_tcp(ACK, high);
		assert_string_equal(state_now(), "done");
		assert_int_equal(counted("done"), 1);
		assert_int_equal(counted("unanswered"), 0);
		untrack(NULL);
	}
}

static void a_new_initiator_is_the_sender(void **state)
{
	(void)state;
	for (int high = 0; high < 2; high++) {
		track_with("machine m\nkey connection\nremember initiator\n"
			   "event syn = syn\nevent ack = ack\n"
			   "absent: ack -> waiting\n"
			   "waiting: syn -> asking / new initiator | timeout 1s -> absent\n"
			   "asking: ack from initiator -> done | timeout 1s -> absent\n"
			   "done: timeout 1s -> absent\n",
			   NULL);
		give_tcp(ACK, !high);
		give_tcp(SYN, high);
		assert_string_equal(state_now(), "asking");
		give_tcp(ACK, !high);
		assert_string_equal(state_now(), "asking");
		give_tcp(ACK, high);
		assert_string_equal(state_now(), "done");
		untrack(NULL);
	}
}

static void a_row_can_ask_for_the_low_and_the_high_end(void **state)
{
	(void)state;
	track_with("machine m\nkey connection\nevent e = tcp\n"
		   "absent: e from high -> a\na: e from low -> b | timeout 1s -> absent\nb: timeout 1s -> "
		   "absent\n",
		   NULL);
	give_tcp(0, 0);
	assert_string_equal(state_now(), "absent");
	give_tcp(0, 1);
	assert_string_equal(state_now(), "a");
	give_tcp(0, 1);
	assert_string_equal(state_now(), "a");
	give_tcp(0, 0);
	assert_string_equal(state_now(), "b");
	assert_int_equal(ink_machine_view(machine)->rules.states, 2); /* costs no state */
}

static void rows_are_tried_in_order_and_those_of_the_star_last(void **state)
{
	(void)state;
	track_with("machine m\nkey connection\nevent s = syn\nevent f = fin\nevent r = rst\nevent a = ack\n"
		   "*: f -> three | a -> two | timeout 1s -> absent\n"
		   "absent: s -> one\n"
		   "one: a -> three | r -> next\n"
		   "two: s -> one | r -> next\n"
		   "one, two: f -> absent\n"
		   "three: * -> one\n",
		   NULL);
	give_tcp(SYN, 0);
	assert_string_equal(state_now(), "one");
	give_tcp(RST, 0); /* next */
	assert_string_equal(state_now(), "two");
	give_tcp(ACK, 0); /* the star's */
	assert_string_equal(state_now(), "two");
	give_tcp(SYN, 0);
	give_tcp(ACK, 0); /* its own beats the star's */
	assert_string_equal(state_now(), "three");
	give_tcp(ACK, 0); /* any */
	assert_string_equal(state_now(), "one");
	give_tcp(FIN, 0);
	assert_string_equal(state_now(), "absent");
}

static void a_start_event_without_a_row_begins_anew(void **state)
{
	const struct ink_machine_view *v;
	struct ink_machine *m = made("machine m\nkey connection\nstart event s = syn\nevent a = ack\n"
				     "absent: s -> one\none: s | a -> two | timeout 1s -> absent\n"
				     "two: timeout 1s -> absent\n");

	(void)state;
	v = ink_machine_view(m);
	assert_int_equal(v->rules.starts[0], 1);
	assert_int_equal(v->rules.starts[1], 0);
	assert_int_equal(v->rules.rows[0].next, 0);                        /* one, s: stays, by a row */
	assert_int_equal(v->rules.rows[v->rules.events].next, INK_NO_ROW); /* two, s */
	ink_machine_free(m);
}

static void times_become_ticks_that_never_end_early(void **state)
{
	static const struct {
		const char *times[2];
		uint64_t tick; /* ms */
		uint32_t periods[2];
	} cases[] = {{{"10s", "30s"}, 1250, {9, 25}}, {{"64s", "64s"}, 8000, {9, 9}},
		     {{"1s", "1h"}, 125, {9, 28801}}, {{"500ms", "1s"}, 125, {5, 9}},
		     {{"70ms", "1s"}, 100, {2, 11}},  {{"1.5s", "2s"}, 125, {13, 17}}};

	(void)state;
	for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		char text[300];
		struct ink_machine *m;
		const struct ink_machine_view *v;

		snprintf(text, sizeof text,
			 "machine m\nkey pair\nevent e = tcp\nabsent: e -> a\na: e -> b | timeout %s -> "
			 "absent\n"
			 "b: timeout %s -> absent\n",
			 cases[i].times[0], cases[i].times[1]);
		m = made(text);
		v = ink_machine_view(m);
		assert_int_equal(v->tick, cases[i].tick * 1000000);
		assert_int_equal(v->rules.timings[0].period, cases[i].periods[0]);
		assert_int_equal(v->rules.timings[1].period, cases[i].periods[1]);
		assert_int_equal(v->rules.timings[2].period, /* unsure: the longest */
				 cases[i].periods[1] > cases[i].periods[0] ? cases[i].periods[1]
									   : cases[i].periods[0]);
		ink_machine_free(m);
	}
}

static void doubt_and_what_is_expendable_can_be_given(void **state)
{
	struct ink_machine *m =
		made(HEAD "expendable a\nunsure: e / count doubts | timeout 2s, end / count left\n");
	const struct ink_machine_view *v = ink_machine_view(m);

	(void)state;
	assert_int_equal(v->rules.timings[0].expendable, 1);
	assert_int_equal(v->rules.timings[1].period, 17);
	assert_int_equal(v->rules.rows[2].action, 1);
	assert_int_equal(v->on_timeout[1], 2);
	assert_int_equal(v->on_end[1], 2);
	assert_int_equal(v->on_end[0], 0);
	ink_machine_free(m);
}

static void actions_are_what_was_written(void **state)
{
	struct ink_machine *m = made(HEAD "a: e / count c, count d by 1_000, count c by payload, drop, mark "
					  "0x10, save, report \"a \\\"b\\\"\\n\\x41\"\n");
	const struct ink_action *a = &ink_machine_view(m)->action[1];

	(void)state;
	assert_int_equal(ink_machine_view(m)->actions, 2);
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
	ink_machine_free(m);
}

/* ------------------------------------------------------------ conditions */

/* Does the condition hold for the packet? */
static int holds(const char *condition, const struct ink_packet *p)
{
	uint64_t counters[64] = {0};
	struct ink_sight sight = {.number = 1, .counters = counters};
	char text[500];
	struct ink_classifier *c;
	struct ink_machine *m;
	int event;

	snprintf(text, sizeof text, "machine m\nkey pair\nevent e = %s\nabsent: e -> a\na: e / count c\n",
		 condition);
	m = made(text);
	c = ink_classifier_make(m, INK_LINK_ETHERNET, 1, NULL);
	assert_non_null(c);
	event = ink_classify(c, p, &sight);
	ink_classifier_free(c);
	ink_machine_free(m);
	return event == 0;
}

#define assert_holds(condition, p)                                                                           \
	do {                                                                                                 \
		if (!holds(condition, p))                                                                    \
			fail_msg("%s does not hold", condition);                                             \
		if (holds("not (" condition ")", p))                                                         \
			fail_msg("not %s holds", condition);                                                 \
	} while (0)
#define assert_fails(condition, p) assert_holds("not (" condition ")", p)

static void tests_of_headers_say_what_the_header_says(void **state)
{
	struct ink_packet t = packet(INK_PROTOCOL_TCP, SYN | INK_TCP_ECE, 0),
			  u = packet(INK_PROTOCOL_UDP, 0, 1), i = packet(INK_PROTOCOL_ICMP, 0, 0);

	(void)state;
	assert_holds("tcp", &t);
	assert_fails("tcp", &u);
	assert_holds("udp", &u);
	assert_fails("sctp", &u);
	assert_holds("icmp", &i);
	assert_holds("ip4", &t);
	assert_fails("ip6", &t);
	assert_holds("any", &t);
	assert_holds("syn", &t);
	assert_holds("ece", &t);
	assert_fails("ack", &t);
	assert_fails("fin", &t);
	assert_fails("syn", &u);
	assert_holds("protocol 6", &t);
	assert_holds("protocol {5-7, 17}", &t);
	assert_fails("protocol != 6", &t);
	assert_holds("length 60", &t);
	assert_holds("length >= 60", &t);
	assert_fails("length > 60", &t);
	assert_holds("length <= 60", &t);
	assert_fails("length < 60", &t);
	assert_holds("length 50-70", &t);
	assert_holds("payload 0", &t);
	t.payload_wire = 2000;
	assert_holds("payload > 1k", &t);
	assert_holds("ttl 64", &t);
	assert_holds("tos 0", &t);
	t.vlan = 7;
	assert_holds("vlan 7", &t);
	assert_holds("depth 0", &t);
	assert_fails("fragment", &t);
	t.fragment = INK_FRAGMENT_FIRST;
	assert_holds("fragment", &t);
	i.icmp_type = 8;
	i.icmp_code = 3;
	assert_holds("icmp type 8", &i);
	assert_fails("icmp type 0", &i);
	assert_holds("icmp code 3", &i);
	assert_fails("icmp type 0", &t); /* not ICMP */
	assert_holds("from low", &t);
	assert_holds("from high", &u);
	t.skip = INK_SKIP_NOT_IP;
	assert_false(holds("any", &t));
}

static void tests_of_ports_and_addresses(void **state)
{
	struct ink_packet t = packet(INK_PROTOCOL_TCP, 0, 0), i = packet(INK_PROTOCOL_ICMP, 0, 0), six = t;

	(void)state;
	assert_holds("src port 1000", &t);
	assert_fails("dst port 1000", &t);
	assert_holds("port 1000", &t);
	assert_holds("port 80", &t);
	assert_fails("port 81", &t);
	assert_holds("dst port < 1024", &t);
	assert_holds("port {1, 3, 5, 7, 9, 80}", &t); /* as a bit map */
	assert_fails("port {1, 3, 5, 7, 9, 81}", &t);
	assert_holds("src port {1, 3, 5, 7, 9, 999-1001}", &t);
	assert_fails("port 0", &i); /* has none */
	assert_holds("host 10.0.0.1", &t);
	assert_holds("src host 10.0.0.1", &t);
	assert_fails("dst host 10.0.0.1", &t);
	assert_holds("dst host 10.0.0.2/32", &t);
	assert_holds("src host 10.0.0.0/8", &t);
	assert_holds("src host 10.255.255.255/8", &t); /* bits behind the prefix count for nothing */
	assert_holds("src host 8.0.0.0/5", &t);
	assert_fails("src host 8.0.0.0/7", &t);
	assert_holds("host 0.0.0.0/0", &t);
	assert_fails("host ::/0", &t);
	assert_holds("host {192.168.0.0/16, 10.0.0.0/31}", &t);
	six.version = 6;
	memcpy(six.source, "\x20\x01\x0d\xb8\0\0\0\0\0\0\0\0\0\0\0\1", 16);
	assert_holds("src host 2001:db8::/32", &six);
	assert_holds("src host 2001:db8::1", &six);
	assert_fails("src host 2001:db8::2", &six);
	assert_fails("src host fe80::/10", &six);
	assert_fails("src host 32.1.13.184", &six);
}

static void and_or_and_not_bind_as_usual(void **state)
{
	struct ink_packet t = packet(INK_PROTOCOL_TCP, SYN, 0);

	(void)state;
	assert_holds("udp and fin or syn", &t);
	assert_fails("udp and (fin or syn)", &t);
	assert_holds("not fin and syn", &t);
	assert_fails("not (not fin and syn)", &t);
	assert_holds("not not tcp", &t);
	assert_holds("tcp or udp and fin", &t);
}

static void tests_of_payload_look_at_captured_bytes(void **state)
{
	struct ink_packet u = packet(INK_PROTOCOL_UDP, 0, 0);

	(void)state;
	u.payload = (const uint8_t *)"GET /\r\n";
	u.payload_captured = u.payload_wire = 7;
	assert_holds("payload begins \"GET \"", &u);
	assert_holds("payload begins \"\\x47\\x45\"", &u);
	assert_fails("payload begins \"get\"", &u);
	assert_fails("payload begins \"GET /\\r\\n\\r\\n\"", &u);
	u.payload_captured = 2;
	assert_fails("payload begins \"GET \"", &u);
	assert_holds("payload 7", &u);
}

static void a_let_is_its_condition(void **state)
{
	struct ink_packet p = packet(INK_PROTOCOL_TCP, SYN, 0);
	struct ink_sight sight = {.number = 1};
	struct ink_machine *m = made("machine m\nkey pair\nlet web = port {80, 443}\nlet new = web and syn\n"
				     "event e = tcp and not new\nevent f = new\nabsent: e, f -> a\na: end\n");
	struct ink_classifier *c = ink_classifier_make(m, INK_LINK_ETHERNET, 1, NULL);

	(void)state;
	assert_int_equal(ink_classify(c, &p, &sight), 1);
	p.dport = 81;
	assert_int_equal(ink_classify(c, &p, &sight), 0);
	ink_classifier_free(c);
	ink_machine_free(m);
}

static void chance_is_as_frequent_as_it_says_and_the_same_for_a_seed(void **state)
{
	struct ink_packet p = packet(INK_PROTOCOL_TCP, SYN, 0);
	struct ink_machine *m = made("machine m\nkey pair\nevent e = chance 25% and chance 1/2\nevent f = "
				     "chance 0\nevent g = chance 1\n"
				     "absent: e, f, g -> a\na: end\n");
	struct ink_classifier *c[3] = {ink_classifier_make(m, INK_LINK_ETHERNET, 1, NULL),
				       ink_classifier_make(m, INK_LINK_ETHERNET, 1, NULL),
				       ink_classifier_make(m, INK_LINK_ETHERNET, 2, NULL)};
	enum { N = 80000 };
	unsigned hits = 0, same = 0;

	(void)state;
	for (unsigned i = 0; i < N; i++) {
		struct ink_sight sight = {.number = i};
		unsigned event = ink_classify(c[0], &p, &sight);

		assert_true(event == 0 || event == 2);
		assert_int_equal(event, ink_classify(c[1], &p, &sight));
		same += event == ink_classify(c[2], &p, &sight);
		hits += event == 0;
	}
	assert_true(fabs(hits - N / 8.0) < spread(N / 8.0));
	assert_true(same < N * 9 / 10); /* 78 % agree by chance */
	for (unsigned i = 0; i < 3; i++)
		ink_classifier_free(c[i]);
	ink_machine_free(m);
}

/* ---------------------------------------------------- the decision program */

static int holds_plainly(const struct ink_classifier *c, const struct ink_condition *k,
			 const struct ink_packet *p, const struct ink_sight *sight)
{
	switch (k->kind) {
	case INK_AND:
		return holds_plainly(c, k->a, p, sight) && holds_plainly(c, k->b, p, sight);
	case INK_OR:
		return holds_plainly(c, k->a, p, sight) || holds_plainly(c, k->b, p, sight);
	case INK_NOT:
		return !holds_plainly(c, k->a, p, sight);
	case INK_ALWAYS:
		return 1;
	default:
		return ink_test_holds(c, k->test, p, sight);
	}
}

static uint16_t event_plainly(const struct ink_machine *m, const struct ink_classifier *c,
			      const struct ink_packet *p, const struct ink_sight *sight)
{
	for (unsigned e = 0; e < m->n_events; e++)
		if (holds_plainly(c, m->events[e].condition, p, sight))
			return (uint16_t)e;
	return INK_NO_EVENT;
}

static size_t random_condition(char *text, size_t size, unsigned depth)
{
	static const char *const tests[] = {"tcp",
					    "udp",
					    "icmp",
					    "syn",
					    "ack",
					    "fin",
					    "rst",
					    "port 80",
					    "port {80, 443}",
					    "src port < 500",
					    "dst port 80-90",
					    "dst port > 85",
					    "length < 80",
					    "length 60-90",
					    "length > 70",
					    "protocol {6, 17}",
					    "protocol != 6",
					    "from low",
					    "from high",
					    "ip4",
					    "ip6",
					    "ttl 5",
					    "ttl > 3",
					    "chance 50%",
					    "host 10.0.0.0/31",
					    "src host 10.0.0.1",
					    "payload 0",
					    "icmp type 8",
					    "src port 80",
					    "any",
					    "port != 80",
					    "fragment"};
	size_t n = 0;

	if (depth == 0 || random_below(4) == 0)
		return (size_t)snprintf(text, size, "%s",
					tests[random_below(sizeof tests / sizeof tests[0])]);
	n += (size_t)snprintf(text + n, size - n, random_below(3) ? "(" : "not (");
	n += random_condition(text + n, size - n, depth - 1);
	n += (size_t)snprintf(text + n, size - n, random_below(2) ? " and " : " or ");
	n += random_condition(text + n, size - n, depth - 1);
	return n + (size_t)snprintf(text + n, size - n, ")");
}

static struct ink_packet random_packet(void)
{
	static const uint8_t protocols[] = {6, 6, 17, 1, 58, 132};
	struct ink_packet p = packet(protocols[random_below(6)], 0, (int)random_below(2));

	if (p.protocol == INK_PROTOCOL_TCP)
		p.tcp_flags = (uint16_t)random_below(64);
	if (p.protocol == INK_PROTOCOL_ICMP)
		p.icmp_type = random_below(2) ? 8 : 0;
	p.version = random_below(4) ? 4 : 6;
	p.source[3] = (uint8_t)random_below(4);
	p.sport = (uint16_t)(random_below(2) ? 80 : 70 + random_below(500));
	p.dport = (uint16_t)(random_below(2) ? 443 : 75 + random_below(20));
	if (p.protocol == 1 || p.protocol == 58)
		p.sport = p.dport = 0;
	p.wire = 50 + random_below(50);
	p.payload_wire = random_below(2);
	p.ttl = (uint8_t)random_below(8);
	p.fragment = (uint8_t)random_below(2);
	return p;
}

static void compare_with_plain(const char *text)
{
	struct ink_machine *m = made(text);
	struct ink_classifier *c = ink_classifier_make(m, INK_LINK_ETHERNET, 1, NULL);

	for (unsigned i = 0; i < 300; i++) {
		struct ink_packet p = random_packet();
		struct ink_sight sight = {.number = i};

		if (ink_classify(c, &p, &sight) != event_plainly(m, c, &p, &sight))
			fail_msg("%s\nis decided wrongly", text);
	}
	ink_classifier_free(c);
	ink_machine_free(m);
}

static void the_decision_program_says_what_the_conditions_say(void **state)
{
	static char text[20000];

	(void)state;
	for (uint64_t round = 0; round < scaled(1500); round++) {
		unsigned events = 1 + random_below(6), depth = 1 + random_below(5);
		size_t n =
			(size_t)snprintf(text, sizeof text, "machine m\nkey pair\nabsent: * -> a\na: end\n");

		for (unsigned e = 0; e < events; e++) {
			n += (size_t)snprintf(text + n, sizeof text - n, "event e%u = ", e);
			n += random_condition(text + n, sizeof text - n, depth);
			n += (size_t)snprintf(text + n, sizeof text - n, "\n");
		}
		assert_true(n < sizeof text - 1);
		compare_with_plain(text);
	}
}

/* Every second length: nothing follows from anything, and the graph would be larger than its limit. */
static void a_program_that_would_be_too_large_is_left_plain(void **state)
{
	static char text[20000];
	size_t n = (size_t)snprintf(text, sizeof text, "machine m\nkey pair\nabsent: * -> a\na: end\n");
	struct ink_machine *m;

	(void)state;
	for (unsigned e = 0; e < 24; e++) {
		n += (size_t)snprintf(text + n, sizeof text - n, "event e%u = any", e);
		for (unsigned i = 0; i < 6; i++)
			n += (size_t)snprintf(text + n, sizeof text - n, " and %schance %u%%",
					      random_below(2) ? "not " : "", 30 + random_below(40));
		n += (size_t)snprintf(text + n, sizeof text - n, "\n");
	}
	for (unsigned e = 0; e < 12; e++) {
		n += (size_t)snprintf(text + n, sizeof text - n,
				      "event f%u = host 10.0.0.%u/32 and (payload begins \"%u\" or host "
				      "10.0.1.%u) and not host 10.0.%u.0/24\n",
				      e, e, e, e, e);
	}
	compare_with_plain(text);
	m = made(text);
	assert_true(m->decision.n_nodes > 0);
	ink_machine_free(m);
}

static void no_test_is_made_twice(void **state)
{
	struct ink_machine *m =
		made("machine m\nkey pair\nevent a = tcp and syn and not ack\nevent b = tcp and syn and ack\n"
		     "event c = tcp and rst\nevent d = tcp\nevent e = udp\nabsent: * -> s\ns: end\n");
	unsigned tests[16] = {0};

	(void)state;
	assert_int_equal(m->n_tests, 5);
	assert_true(m->decision.n_nodes <= 5);
	for (unsigned i = 0; i < m->decision.n_nodes; i++)
		assert_int_equal(tests[m->decision.nodes[i].test]++, 0);
	ink_machine_free(m);
}

/* ----------------------------------------------------------------- video */

static const uint8_t stream[] = {9, 9, 0, 0, 1, 0, 0x55, 3 << 3, 7, 7, 7}; /* a B picture at 2 */

static const char video[] = "machine m\nkey flow\nremember tail\n"
			    "event b = picture B\nevent rest = udp\n"
			    "absent: rest, b -> s / count found by pictures B\n"
			    "s: b / count found by pictures B, count met | rest / count found by pictures B "
			    "| timeout 10s -> absent\n";

static void a_start_code_in_two_packets_is_found_wherever_it_is_cut(void **state)
{
	(void)state;
	for (size_t cut = 1; cut < sizeof stream; cut++) {
		track_with(video, NULL);
		give_udp("xyz", 3); /* begins the flow */
		give_udp(stream, cut);
		give_udp(stream + cut, sizeof stream - cut);
		assert_int_equal(counted("found"), 1);
		assert_int_equal(counted("met"), 1);
		untrack(NULL);
	}
}

static void a_start_code_in_many_packets_is_found(void **state)
{
	(void)state;
	track_with(video, NULL);
	give_udp("xyz", 3);
	for (size_t i = 0; i < sizeof stream; i++) {
		give_udp("", 0); /* changes nothing */
		give_udp(stream + i, 1);
	}
	assert_int_equal(counted("found"), 1);
	assert_int_equal(counted("met"), 1);
}

static void without_a_tail_only_whole_start_codes_are_found(void **state)
{
	char text[1000];

	(void)state;
	for (size_t cut = 1; cut < sizeof stream; cut++) {
		snprintf(text, sizeof text, "%s", video);
		memset(strstr(text, "remember tail"), ' ', strlen("remember tail"));
		track_with(text, NULL);
		assert_int_equal(ink_machine_view(machine)->rules.states, 1);
		give_udp("xyz", 3);
		give_udp(stream, cut);
		give_udp(stream + cut, sizeof stream - cut);
		assert_int_equal(counted("met"), cut <= 2 || cut >= 8);
		untrack(NULL);
	}
}

static void a_packet_that_was_cut_leaves_no_tail(void **state)
{
	struct ink_packet p = packet(INK_PROTOCOL_UDP, 0, 0);

	(void)state;
	track_with(video, NULL);
	give_udp("xyz", 3);
	p.payload = stream;
	p.payload_captured = 5;
	p.payload_wire = 6;
	give(p);
	give_udp(stream + 5, sizeof stream - 5);
	assert_int_equal(counted("met"), 0);
}

static void flows_have_tails_of_their_own(void **state)
{
	struct ink_packet other = packet(INK_PROTOCOL_UDP, 0, 1);

	(void)state;
	track_with(video, NULL);
	other.payload = (const uint8_t *)"xyz";
	other.payload_captured = other.payload_wire = 3;
	give_udp("xyz", 3);
	give(other);
	give_udp(stream, 5);
	give(other);
	give_udp(stream + 5, sizeof stream - 5);
	assert_int_equal(counted("met"), 1);
}

/* The plain automaton beside the one that passes bytes over. */
static void pictures_are_found_as_byte_by_byte(void **state)
{
	(void)state;
	for (uint64_t round = 0; round < scaled(20000); round++) {
		uint8_t bytes[64];
		struct ink_packet p = packet(INK_PROTOCOL_UDP, 0, 0), one;
		unsigned length = random_below(sizeof bytes), tail = random_below(6), last = 0,
			 state_now_is = tail;
		struct ink_pictures found;
		uint32_t started[4] = {0};

		for (unsigned i = 0; i < length; i++)
			bytes[i] = (uint8_t)(random_below(3) ? random_below(2) : random_below(4) << 3);
		if (length && bytes[0] >> 6 == 2)
			bytes[0] = 0;
		p.payload = bytes;
		p.payload_captured = p.payload_wire = length;
		found = ink_video_pictures(&p, tail);
		one = p;
		one.payload_captured = one.payload_wire = 1;
		for (unsigned i = 0; i < length; i++) {
			struct ink_pictures f;

			one.payload = bytes + i;
			f = ink_video_pictures(&one, state_now_is);
			state_now_is = f.tail;
			last = f.last ? f.last : last;
			for (unsigned k = 1; k < 4; k++)
				started[k] += f.started[k];
		}
		assert_int_equal(found.tail, state_now_is);
		assert_int_equal(found.last, last);
		assert_memory_equal(found.started, started, sizeof started);
	}
}

/* An RTP header of that type in front. */
static size_t rtp(uint8_t *out, unsigned type, const void *payload, size_t length)
{
	memset(out, 0, 12);
	out[0] = 0x80;
	out[1] = (uint8_t)type;
	memcpy(out + 12, payload, length);
	return 12 + length;
}

static struct ink_packet udp_of(const uint8_t *payload, size_t length)
{
	struct ink_packet p = packet(INK_PROTOCOL_UDP, 0, 0);

	p.payload = payload;
	p.payload_captured = p.payload_wire = (uint32_t)length;
	return p;
}

static void rtp_and_its_type_are_known(void **state)
{
	uint8_t bytes[64];
	struct ink_packet p = udp_of(bytes, rtp(bytes, 96, "abc", 3));

	(void)state;
	assert_holds("rtp", &p);
	assert_holds("rtp type 96", &p);
	assert_fails("rtp type 32", &p);
	assert_fails("ts", &p);
	p.payload_captured = 11;
	assert_fails("rtp", &p);
	p.payload_captured = 15;
	bytes[0] = 0x8f; /* 15 sources that are not there */
	assert_fails("rtp", &p);
	bytes[0] = 0x90; /* an extension that is cut */
	assert_fails("rtp", &p);
	bytes[0] = 0x40;
	assert_fails("rtp", &p);
}

static void nal_units_are_found_in_rtp(void **state)
{
	uint8_t bytes[64];
	struct ink_packet p;

	(void)state;
	p = udp_of(bytes, rtp(bytes, 96, "\x65zzz", 4));
	assert_holds("nal 5", &p);
	assert_fails("nal 1", &p);
	p = udp_of(bytes, rtp(bytes, 96, "\x78\0\2\x67z\0\3\x68zz\0\1\x65", 13)); /* STAP-A: 7, 8, 5 */
	assert_holds("nal 7 and nal 8 and nal 5", &p);
	assert_fails("nal {1-4, 24}", &p);
	p = udp_of(bytes, rtp(bytes, 96, "\x7c\x85zz", 4)); /* FU-A, the first */
	assert_holds("nal 5", &p);
	p = udp_of(bytes, rtp(bytes, 96, "\x7c\x05zz", 4)); /* a later one */
	assert_fails("nal 0-31", &p);
	p = udp_of((const uint8_t *)"\x65zzz", 4); /* not RTP */
	assert_fails("nal 5", &p);
	p = udp_of(bytes, rtp(bytes, 96, "\x78\xff\xff", 3));
	assert_fails("nal 0-31", &p);
}

/* One TS packet whose payload begins with these bytes; the rest is 0xff. */
static void ts_packet(uint8_t out[188], unsigned pid, int start, const void *payload, size_t length)
{
	memset(out, 0xff, 188);
	out[0] = 0x47;
	out[1] = (uint8_t)((start ? 0x40 : 0) | pid >> 8);
	out[2] = (uint8_t)pid;
	out[3] = 0x10;
	memcpy(out + 4, payload, length);
}

static void pictures_are_found_in_mpeg_ts(void **state)
{
	static const uint8_t pes[] = {0, 0, 1, 0xe0, 0,    0,     0x80, 0, 2, 9, 9, /* header of 2 bytes */
				      0, 0, 1, 0,    0x55, 1 << 3};
	uint8_t bytes[3 * 188 + 12], half[184];
	struct ink_packet p = udp_of(bytes, 2 * 188);

	(void)state;
	ts_packet(bytes, 256, 1, pes, sizeof pes);
	ts_packet(bytes + 188, 257, 0, "x", 1);
	assert_holds("ts and picture I", &p);
	bytes[188] = 0x46;
	assert_fails("ts", &p);

	/* a code over two TS packets, another PID between them */
	memset(half, 0xff, sizeof half);
	memcpy(half + 181, "\0\0\1", 3);
	ts_packet(bytes, 256, 0, half, sizeof half);
	ts_packet(bytes + 188, 257, 0, "\7\7\7", 3);
	ts_packet(bytes + 376, 256, 0, "\0\x55\x10", 3);
	p = udp_of(bytes, 3 * 188);
	assert_holds("picture P", &p);
	assert_fails("picture I", &p);

	/* audio and tables are not looked at */
	ts_packet(bytes, 256, 1, "\0\0\1\xc0\0\0\x80\0\0\0\0\1\0\x55\x10", 15);
	ts_packet(bytes + 188, 16, 0, "\0\0\1\0\x55\x10", 6);
	ts_packet(bytes + 376, 0x1fff, 0, "\0\0\1\0\x55\x10", 6);
	assert_fails("picture P", &p);

	/* in RTP */
	ts_packet(bytes + 12, 256, 1, pes, sizeof pes);
	memcpy(bytes, "\x80\x21\0\0\0\0\0\0\0\0\0\0", 12);
	p = udp_of(bytes, 12 + 188);
	assert_holds("ts and picture I and rtp type 33", &p);
}

static void pictures_are_found_behind_the_header_of_rfc_2250(void **state)
{
	uint8_t bytes[64];
	struct ink_packet p = udp_of(bytes, rtp(bytes, 32, "\0\0\0\0\0\0\1\0\x55\x18", 10));

	(void)state;
	assert_holds("picture B", &p);
	p = udp_of(bytes, rtp(bytes, 32, "\4\0\0\0\0\0\1\0\x55\x18\0\0\1\0\x55\x10", 16));
	assert_holds("picture P", &p); /* T is set: four bytes more are header */
	p = udp_of(bytes, rtp(bytes, 32, "\0\0\0\0\0\0\1\0\x55\x28", 10));
	assert_fails("picture B or picture P or picture I", &p); /* type 5 is none */
}

/* ---------------------------------------------------------------- tracking */

static void counters_are_seen_by_the_next_packet(void **state)
{
	struct ink_packet packets[10];
	struct ink_packets batch = {.at = packets, .n = 10};

	(void)state;
	track_with("machine m\nkey connection\nevent late = tcp and few >= 3\nevent early = tcp\nabsent, a: "
		   "early -> a / count few, count all by 2 | late -> a / count many, count all by 2\n"
		   "a: timeout 1s -> absent\n",
		   NULL);
	for (unsigned i = 0; i < 10; i++)
		packets[i] = packet(INK_PROTOCOL_TCP, 0, 0);
	assert_int_equal(ink_track_packets(track, &batch), 0);
	assert_int_equal(counted("few"), 3);
	assert_int_equal(counted("many"), 7);
	assert_int_equal(counted("all"), 20);
}

static void a_counter_compares_with_a_share_of_another(void **state)
{
	(void)state;
	track_with("machine m\nkey connection\nevent take = tcp and taken < 30% of all\nevent leave = tcp\n"
		   "absent, a: take -> a / count all, count taken | leave -> a / count all\na: timeout 1s -> "
		   "absent\n",
		   NULL);
	for (unsigned i = 0; i < 1000; i++)
		give_tcp(0, 0);
	assert_int_equal(counted("all"), 1000);
	assert_true(counted("taken") >= 299 && counted("taken") <= 301);
}

static void a_reverse_event_lands_on_the_other_end(void **state)
{
	(void)state;
	track_with(
		"machine m\nkey source\nevent ask = syn and not ack\nreverse event answer = syn and ack\n"
		"absent: ask -> asking\nasking: answer -> absent / count answered | timeout 1s -> absent\n",
		NULL);
	give_tcp(SYN, 0);
	assert_string_equal(state_now(), "asking");
	give_tcp(SYN | ACK, 0); /* from the asker: lands on the other */
	assert_string_equal(state_now(), "asking");
	give_tcp(SYN | ACK, 1);
	assert_string_equal(state_now(), "absent");
	assert_int_equal(counted("answered"), 1);
}

static void end_rows_fire_for_every_flow_left(void **state)
{
	(void)state;
	track_with(handshake, NULL);
	for (unsigned i = 0; i < 500; i++) {
		struct ink_packet p = packet(INK_PROTOCOL_TCP, SYN, (int)(i & 1));

		p.sport = (uint16_t)(2000 + i);
		give(p);
	}
	assert_int_equal(counted("unanswered"), 0);
	ink_track_end(track);
	assert_int_equal(counted("unanswered"), 500);
}

static void time_outs_come_between_the_packets(void **state)
{
	struct ink_packet packets[300];
	struct ink_packets batch = {.at = packets, .n = 300};

	(void)state;
	track_with(handshake, NULL);
	for (unsigned i = 0; i < 300; i++) {
		packets[i] = packet(INK_PROTOCOL_TCP, SYN, 0);
		packets[i].clock = 1000000000000ull + i * 1000000000ull; /* a second each */
		packets[i].sport = (uint16_t)(2000 + i);
	}
	assert_int_equal(ink_track_packets(track, &batch), 0);
	assert_in_range(counted("unanswered"), 285, 290); /* 10 to 11.25 s each */
	assert_int_equal(ink_track_time(track, 1000000000000ull + 400000000000ull), 0);
	assert_int_equal(counted("unanswered"), 300);
}

static void no_flow_ends_early(void **state)
{
	struct ink_packet p = packet(INK_PROTOCOL_TCP, SYN, 0);

	(void)state;
	for (uint64_t start = 0; start < 2500; start += 77) {
		uint64_t base = 1000000000000ull;

		track_with(handshake, NULL);
		assert_int_equal(ink_track_time(track, base), 0);
		p.clock = base + start * 1000000;
		give(p);
		assert_int_equal(ink_track_time(track, p.clock + 9999000000ull), 0);
		assert_int_equal(counted("unanswered"), 0);
		assert_int_equal(ink_track_time(track, p.clock + 11260000000ull), 0);
		assert_int_equal(counted("unanswered"), 1);
		untrack(NULL);
	}
}

static void without_time_outs_time_stands_still(void **state)
{
	struct ink_track_options o = {.size = sizeof o, .no_timeouts = 1};
	struct ink_packet p = packet(INK_PROTOCOL_TCP, SYN, 0);

	(void)state;
	track_with(handshake, &o);
	p.clock = 1;
	give(p);
	p.clock = 1ull << 60;
	p.sport++;
	give(p);
	assert_int_equal(counted("unanswered"), 0);
}

static unsigned n_moved;
static char moves[100][60];

static void note_moved(const struct ink_moved *moved, void *user)
{
	const struct ink_machine_view *v = ink_machine_view(machine);

	(void)user;
	assert_true(n_moved < 100);
	snprintf(moves[n_moved++], sizeof moves[0], "%u %s %s->%s %u", (unsigned)moved->number,
		 v->event_names[v->event_of[moved->event]], state_name(v, moved->move.from),
		 state_name(v, moved->move.to), moved->action->n_countings);
}

static void moves_are_told_in_order(void **state)
{
	struct ink_track_options o = {.size = sizeof o, .every = 1, .moved = note_moved};
	struct ink_packet p = packet(INK_PROTOCOL_TCP, SYN, 0);

	(void)state;
	n_moved = 0;
	track_with(handshake, &o);
	give(p);
	p.skip = INK_SKIP_NOT_IP;
	give(p);
	give(packet(INK_PROTOCOL_UDP, 0, 0));
	give_tcp(SYN | ACK, 1);
	give_tcp(ACK, 0);
	assert_int_equal(n_moved, 3);
	assert_string_equal(moves[0], "1 syn absent->opening 0");
	assert_string_equal(moves[1], "4 synack opening->answered 0");
	assert_string_equal(moves[2], "5 ack answered->done 1");
}

static void the_numbers_of_a_run_are_kept(void **state)
{
	struct ink_track_stats s = {.size = sizeof s};
	struct ink_packet p = packet(INK_PROTOCOL_TCP, SYN, 0);

	(void)state;
	track_with(handshake, NULL);
	give(p);
	p.skip = INK_SKIP_NOT_IP;
	give(p);
	give(packet(INK_PROTOCOL_UDP, 0, 0));
	give_tcp(SYN | ACK, 1);
	ink_track_stats(track, &s);
	assert_int_equal(s.packets, 4);
	assert_int_equal(s.skipped[INK_NOT_SKIPPED], 3);
	assert_int_equal(s.skipped[INK_SKIP_NOT_IP], 1);
	assert_int_equal(s.eventless, 1);
	assert_int_equal(s.steps, 2);
	assert_int_equal(s.begun, 1);
	assert_int_equal(s.unsure, 0);
	assert_int_equal(s.refused, 0);
}

/* Steps of a flow that follow each other in one block, and blocks of any size, come to the same. */
static void blocks_of_any_size_come_to_the_same(void **state)
{
	enum { N = 2000 };
	static struct ink_packet packets[N];
	uint64_t first[2] = {0, 0};

	(void)state;
	random_state = 5;
	for (unsigned i = 0; i < N; i++) {
		static const unsigned flags[] = {SYN, SYN | ACK, ACK};

		packets[i] = packet(INK_PROTOCOL_TCP, flags[random_below(3)], (int)random_below(2));
		packets[i].clock = 1 + i * 100000000ull;
		if (packets[i].flags)
			packets[i].dport = (uint16_t)(2000 + random_below(50));
		else
			packets[i].sport = (uint16_t)(2000 + random_below(50));
	}
	for (size_t size = 1; size < 600; size = size * 3 + 1) {
		track_with(handshake, NULL);
		for (size_t i = 0; i < N; i += size) {
			struct ink_packets batch = {.at = packets + i, .n = N - i < size ? N - i : size};

			assert_int_equal(ink_track_packets(track, &batch), 0);
		}
		if (size == 1) {
			first[0] = counted("done");
			first[1] = counted("unanswered");
		}
		assert_true(first[0] > 5 && first[1] > 0);
		assert_int_equal(counted("done"), first[0]);
		assert_int_equal(counted("unanswered"), first[1]);
		untrack(NULL);
	}
}

static void the_table_beside_makes_the_same_steps(void **state)
{
	struct ink_track_options o = {.size = sizeof o};
	struct ink_options t = {.size = sizeof t, .flows = 100, .age_bits = 1, .seed = 3};
	struct ink_machine *m = made(handshake);

	(void)state;
	t.rules = &ink_machine_view(m)->rules;
	t.states = t.rules->states;
	o.beside = ink_create(&t, NULL);
	assert_non_null(o.beside);
	track_with(handshake, &o);
	give_tcp(SYN, 0);
	give_tcp(SYN | ACK, 1);
	give_tcp(ACK, 0);
	give_tcp(ACK, 0);
	assert_int_equal(ink_track_counters_beside(track)[1], 1);
	assert_int_equal(ink_track_counters(track)[1], 1);
	ink_free(o.beside);
	ink_machine_free(m);
}

/* Ethernet, IPv4, UDP to port 53. */
static const uint8_t dns_frame[] = {2,  0, 0,  0, 0,    1,    2, 0,  0,  0, 0, 2,  8,  0, 0x45,
				    0,  0, 29, 0, 0,    0,    0, 64, 17, 0, 0, 10, 0,  0, 1,
				    10, 0, 0,  2, 0x12, 0x34, 0, 53, 0,  9, 0, 0,  'x'};

static void a_filter_looks_at_the_frame(void **state)
{
	struct ink_packet p = {.frame = dns_frame, .captured = sizeof dns_frame, .wire = sizeof dns_frame};

	(void)state;
	assert_int_equal(ink_packet_parse(&p, INK_LINK_ETHERNET, 0), INK_NOT_SKIPPED);
	assert_holds("filter \"udp dst port 53\"", &p);
	assert_fails("filter \"tcp\"", &p);
	assert_holds("udp and filter \"ether[0] == 2\" and payload begins \"x\"", &p);
}

static void a_filter_that_is_wrong_is_told_when_tracking_begins(void **state)
{
	struct ink_machine *m =
		made("machine m\nkey pair\nevent e = filter \"no such thing\"\nabsent: e -> a\na: end\n");
	const struct ink_machine_view *v = ink_machine_view(m);
	struct ink_options t = {.size = sizeof t, .flows = 10, .states = v->rules.states, .rules = &v->rules};
	struct ink_track_options o = {
		.size = sizeof o, .machine = m, .table = ink_create(&t, NULL), .link = INK_LINK_ETHERNET};
	struct ink_why why = {""};

	(void)state;
	errno = 0;
	assert_null(ink_track_open(&o, &why));
	assert_int_equal(errno, EINVAL);
	assert_non_null(strstr(why.text, "no such thing"));
	o.machine = NULL;
	assert_null(ink_track_open(&o, &why));
	assert_int_equal(errno, EINVAL);
	ink_free(o.table);
	ink_machine_free(m);
}

/* ----------------------------------------------------------- whole machines */

static void every_bundled_machine_is_right(void **state)
{
	struct ink_machine_options o = {.size = sizeof o, .complain = note, .strict = 1};
	unsigned n = 0;

	(void)state;
	for (; ink_bundled(n); n++) {
		struct ink_machine *m;

		n_told = 0;
		m = ink_machine_load(ink_bundled(n)->name, &o, NULL);
		if (!m)
			fail_msg("%s", n_told ? told[0].shown : ink_bundled(n)->name);
		assert_string_equal(ink_machine_view(m)->name, ink_bundled(n)->name);
		assert_true(ink_machine_view(m)->rules.states <= 15); /* four bits */
		ink_machine_free(m);
	}
	assert_int_equal(n, 9);
}

static void a_name_with_a_slash_or_fsm_is_a_file(void **state)
{
	char path[] = "/tmp/inkling-XXXXXX";
	struct ink_why why = {""};
	struct ink_machine *m;
	int fd = mkstemp(path);

	(void)state;
	assert_true(fd >= 0);
	assert_int_equal(write(fd, HEAD, strlen(HEAD)), (ssize_t)strlen(HEAD));
	close(fd);
	m = ink_machine_load(path, NULL, &why);
	assert_non_null(m);
	assert_string_equal(ink_machine_view(m)->name, "m");
	ink_machine_free(m);
	unlink(path);
	assert_null(ink_machine_load(path, NULL, &why));
	assert_int_equal(errno, ENOENT);
	assert_non_null(strstr(why.text, path));
	assert_null(ink_machine_load("tcp.fsm", NULL, &why));
	assert_int_equal(errno, ENOENT);
	assert_null(ink_machine_load("/", NULL, &why));
	assert_null(ink_machine_load("tpc", NULL, &why));
	assert_int_equal(errno, ENOENT);
	assert_non_null(strstr(why.text, "did you mean 'tcp'?"));
}

static void a_drawing_has_every_state_and_every_move(void **state)
{
	struct ink_machine *m =
		made("machine \nm\nkey connection\nremember initiator\nevent e = tcp\nabsent: e -> a\n"
		     "a: e from initiator -> b / count c, report \"a \\\"b\\\"\" | e | timeout 90s -> "
		     "absent\nb: timeout 1500ms -> absent\nexpendable b\n");
	char *drawing = ink_machine_draw(m);

	(void)state;
	assert_non_null(drawing);
	assert_non_null(strstr(drawing, "digraph \"m\" {"));
	assert_non_null(strstr(drawing, "\"absent\" -> \"a\" [label=\"e\"]"));
	assert_non_null(strstr(
		drawing, "\"a\" -> \"b\" [label=\"e from initiator\\n/ count c\\n/ report a \\\"b\\\"\"]"));
	assert_non_null(strstr(drawing, "\"a\" -> \"absent\" [label=\"timeout 90s\"]"));
	assert_non_null(strstr(drawing, "timeout 1500ms"));
	assert_non_null(strstr(drawing, "\"b\" [style=\"rounded,dashed\"]"));
	assert_null(strstr(drawing, "\"a\" -> \"a\""));
	free(drawing);
	ink_machine_free(m);
}

static void options_of_another_size_are_refused(void **state)
{
	struct ink_machine_options o = {.size = 3};

	(void)state;
	assert_null(ink_machine_make(HEAD, strlen(HEAD), &o));
	assert_int_equal(errno, EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(mistakes_of_syntax_are_told_with_their_place),
		cmocka_unit_test(words_that_are_none_are_told),
		cmocka_unit_test(numbers_out_of_range_are_told),
		cmocka_unit_test(names_that_nobody_knows_are_told_with_the_nearest),
		cmocka_unit_test(what_is_given_twice_is_told_with_the_line),
		cmocka_unit_test(what_a_machine_needs_is_told),
		cmocka_unit_test(what_cannot_be_meant_is_told),
		cmocka_unit_test(what_is_too_much_is_told),
		cmocka_unit_test(a_file_of_more_than_a_mebibyte_is_refused),
		cmocka_unit_test(one_run_finds_many_mistakes),
		cmocka_unit_test(no_more_than_twenty_are_told),
		cmocka_unit_test(a_complaint_shows_the_line_and_a_caret),
		cmocka_unit_test(a_complaint_fits_any_room),
		cmocka_unit_test(a_state_that_cannot_be_reached_is_a_warning),
		cmocka_unit_test(a_state_that_flows_never_leave_is_a_warning),
		cmocka_unit_test(an_event_that_can_never_happen_is_a_warning),
		cmocka_unit_test(an_event_that_can_happen_is_not_warned_of),
		cmocka_unit_test(what_has_no_effect_is_a_warning),
		cmocka_unit_test(only_states_that_need_it_are_split),
		TRACKED(the_initiator_is_remembered_whichever_end_it_is),
		TRACKED(a_new_initiator_is_the_sender),
		TRACKED(a_row_can_ask_for_the_low_and_the_high_end),
		TRACKED(rows_are_tried_in_order_and_those_of_the_star_last),
		cmocka_unit_test(a_start_event_without_a_row_begins_anew),
		cmocka_unit_test(times_become_ticks_that_never_end_early),
		cmocka_unit_test(doubt_and_what_is_expendable_can_be_given),
		cmocka_unit_test(actions_are_what_was_written),
		cmocka_unit_test(tests_of_headers_say_what_the_header_says),
		cmocka_unit_test(tests_of_ports_and_addresses),
		cmocka_unit_test(and_or_and_not_bind_as_usual),
		cmocka_unit_test(tests_of_payload_look_at_captured_bytes),
		cmocka_unit_test(a_let_is_its_condition),
		cmocka_unit_test(chance_is_as_frequent_as_it_says_and_the_same_for_a_seed),
		cmocka_unit_test(the_decision_program_says_what_the_conditions_say),
		cmocka_unit_test(a_program_that_would_be_too_large_is_left_plain),
		cmocka_unit_test(no_test_is_made_twice),
		TRACKED(a_start_code_in_two_packets_is_found_wherever_it_is_cut),
		TRACKED(a_start_code_in_many_packets_is_found),
		TRACKED(without_a_tail_only_whole_start_codes_are_found),
		TRACKED(a_packet_that_was_cut_leaves_no_tail),
		TRACKED(flows_have_tails_of_their_own),
		cmocka_unit_test(pictures_are_found_as_byte_by_byte),
		cmocka_unit_test(rtp_and_its_type_are_known),
		cmocka_unit_test(nal_units_are_found_in_rtp),
		cmocka_unit_test(pictures_are_found_in_mpeg_ts),
		cmocka_unit_test(pictures_are_found_behind_the_header_of_rfc_2250),
		TRACKED(counters_are_seen_by_the_next_packet),
		TRACKED(a_counter_compares_with_a_share_of_another),
		TRACKED(a_reverse_event_lands_on_the_other_end),
		TRACKED(end_rows_fire_for_every_flow_left),
		TRACKED(time_outs_come_between_the_packets),
		TRACKED(no_flow_ends_early),
		TRACKED(without_time_outs_time_stands_still),
		TRACKED(moves_are_told_in_order),
		TRACKED(the_numbers_of_a_run_are_kept),
		TRACKED(blocks_of_any_size_come_to_the_same),
		TRACKED(the_table_beside_makes_the_same_steps),
		cmocka_unit_test(a_filter_looks_at_the_frame),
		cmocka_unit_test(a_filter_that_is_wrong_is_told_when_tracking_begins),
		cmocka_unit_test(every_bundled_machine_is_right),
		cmocka_unit_test(a_name_with_a_slash_or_fsm_is_a_file),
		cmocka_unit_test(a_drawing_has_every_state_and_every_move),
		cmocka_unit_test(options_of_another_size_are_refused),
	};

	return cmocka_run_group_tests_name("machine", tests, NULL, NULL);
}
