/* SPDX-License-Identifier: BSD-2-Clause */
/* Repetitions: "repeat 9 step : rows" is what the nine states written out are, and its mistakes have a place. */
#include "tests/machine_help.h"
#include "tests/test.h"

#define EVENTS                                                                                               \
	"machine m\nkey source\nevent knock = tcp and syn and not ack\n"                                     \
	"reverse event answered = tcp and syn and ack\n"

/* ------------------------------------------------------------ what it means */

/* A ladder, as it was written before there were repetitions. */
#define SCAN_HEAD                                                                                            \
	"machine scan\nkey source\n"                                                                         \
	"event knock = tcp and syn and not ack and not rst and not fin and chance 1/4\n"                     \
	"reverse event answered = tcp and syn and ack and not rst\nexpendable step1, step2\n"                \
	"absent : knock -> step1\n"
#define SCAN_TAIL "scanner : knock / count knocks_about by 4\n* : timeout 5m -> absent\nunsure : * / pass\n"

static const char scan_written_out[] = SCAN_HEAD
	"step1 : answered -> absent\nstep2 : answered -> step1\nstep3 : answered -> step2\n"
	"step4 : answered -> step3\nstep5 : answered -> step4\nstep6 : answered -> step5\n"
	"step7 : answered -> step6\nstep8 : answered -> step7\nstep9 : answered -> step8\n"
	"step1, step2, step3, step4, step5, step6, step7, step8 : knock -> next\n"
	"step9 : knock -> scanner / count scanners, report \"scan: many SYNs, few answers\"\n" SCAN_TAIL;

static const char scan_repeated[] = SCAN_HEAD
	"repeat 9 step : answered -> down\n"
	"  | knock -> up / leaving count scanners, leaving report \"scan: many SYNs, few answers\"\n" SCAN_TAIL;

TEST_THAT(a_ladder_is_one_line)
{
	assert_same(scan_repeated, scan_written_out);
}

TEST_THAT(a_repetition_is_what_its_states_written_out_are)
{
	static const char *const pairs[][2] = {
		/* one state; up from it to the next, down from it to absent */
		{"absent: knock -> a1\nrepeat 1 a : knock -> up | answered -> down\n"
		 "b: timeout 1s -> absent",
		 "absent: knock -> a1\na1 : knock -> b | answered -> absent\nb: timeout 1s -> absent"},
		/* several steps at once, cut off at the ends */
		{"absent: knock -> a1\nrepeat 4 a : knock -> up 3 | answered -> down 2\n"
		 "b: timeout 1s -> absent",
		 "absent: knock -> a1\na1: knock -> a4 | answered -> absent\na2: knock -> b | answered -> absent\n"
		 "a3: knock -> b | answered -> a1\na4: knock -> b | answered -> a2\nb: timeout 1s -> absent"},
		/* the ends, named */
		{"absent: knock -> first a\nrepeat 3 a above z below y : knock -> up | answered -> down\n"
		 "x: knock -> last a | answered -> first a\ny: timeout 1s -> x\nz: timeout 1s -> absent",
		 "absent: knock -> a1\na1: knock -> a2 | answered -> y\na2: knock -> a3 | answered -> a1\n"
		 "a3: knock -> z | answered -> a2\nx: knock -> a3 | answered -> a1\ny: timeout 1s -> x\n"
		 "z: timeout 1s -> absent"},
		/* a ladder that stops at its ends, at the end of the file */
		{"absent: knock -> a1\nrepeat 3 a below first above last : knock -> up | answered -> down",
		 "absent: knock -> a1\na1: knock -> a2 | answered -> a1\na2: knock -> a3 | answered -> a1\n"
		 "a3: knock -> a3 | answered -> a2"},
		/* first and last from inside; the sequel in a line for all, and in one for a single state */
		{"absent: knock -> a1\nrepeat 3 a : knock -> last | answered -> first\n"
		 "a : timeout 2s -> absent\na2 : end -> absent / count ended\nexpendable a",
		 "absent: knock -> a1\na1: knock -> a3 | answered -> a1\na2: knock -> a3 | answered -> a1\n"
		 "a3: knock -> a3 | answered -> a1\na1, a2, a3 : timeout 2s -> absent\n"
		 "a2: end -> absent / count ended\nexpendable a1, a2, a3"},
		/* time-outs that go down, and count where they leave */
		{"absent: knock -> a1\n"
		 "repeat 3 a : knock -> up / count all, leaving count out by 2, leaving drop\n"
		 "  | timeout 5s -> down / leaving count calm\nb: timeout 1s -> absent",
		 "absent: knock -> a1\na1, a2: knock -> next / count all\n"
		 "a3: knock -> b / count out by 2, count all, drop\n"
		 "a1: timeout 5s -> absent / count calm\na2: timeout 5s -> a1\na3: timeout 5s -> a2\n"
		 "b: timeout 1s -> absent"},
		/* two ladders, one above the other */
		{"absent: knock -> a1\nrepeat 2 a : knock -> up\nrepeat 2 b below last a : knock -> up | answered "
		 "-> down\nc: timeout 1s -> absent",
		 "absent: knock -> a1\na1: knock -> a2\na2: knock -> b1\nb1: knock -> b2 | answered -> a2\n"
		 "b2: knock -> c | answered -> b1\nc: timeout 1s -> absent"},
	};
	char text[1000];

	for (unsigned i = 0; i < COUNT(pairs); i++) {
		snprintf(text, sizeof text, EVENTS "%s", pairs[i][0]);
		begin(EVENTS);
		add("%s", pairs[i][1]);
		assert_same(text, draft.text);
	}
}

/* What a flow does on a ladder of three, and what is counted where. */
TEST_THAT(a_flow_climbs_and_is_counted_where_it_leaves)
{
	track_with("machine m\nkey connection\nevent up_ = tcp and syn\nevent down_ = tcp and ack\n"
		   "absent: up_ -> a1\nrepeat 3 a : up_ -> up / count all, leaving count out by 10\n"
		   "  | down_ -> down 2 / leaving count back\nb: down_ -> last a\n",
		   NULL);
	STEPS({SYN, 0, "a1"}, {SYN, 0, "a2"}, {SYN, 0, "a3"}, {ACK, 0, "a1"}, {ACK, 0, "absent"});
	assert_int_equal(counted("all"), 2);
	assert_int_equal(counted("back"), 1);
	STEPS({SYN, 0, "a1"}, {SYN, 0, "a2"}, {SYN, 0, "a3"}, {SYN, 0, "b"}, {ACK, 0, "a3"});
	assert_int_equal(counted("all"), 5);
	assert_int_equal(counted("out"), 10);
}

TEST_THAT(a_repetition_is_drawn_as_its_states)
{
	char *drawing;

	machine = made(scan_repeated);
	drawing = ink_machine_draw(machine);
	assert_non_null(strstr(drawing, "\"step8\" -> \"row "));
	assert_non_null(strstr(drawing, "-> \"step9\""));
	assert_non_null(strstr(drawing, "label=\"knock\\n/ count scanners"));
	free(drawing);
}

/* --------------------------------------------------------------- mistakes */

TEST_THAT(mistakes_in_a_repetition_are_told_with_their_place)
{
	static const struct {
		const char *text, *words;
	} mistakes[] = {
		{"repeat ^0 s : e", "a repeat has 1 to 255 states"},
		{"repeat ^256 s : e", "a repeat has 1 to 255 states"},
		{"repeat ^255 s : e", "with this repeat there are 256 states: 255 are possible"},
		{"repeat ^= e", "expected the number of states"},
		{"repeat 3 ^: e", "expected the name of the states"},
		{"repeat 3 s^\nb: e", "expected ':', found the end of the line"},
		{"repeat 3 s ^e -> up", "expected ':', found 'e'"},
		{"repeat 3 s : e\nrepeat 2 ^s : e", "s was already given in line 6"},
		{"repeat 3 ^a : e", "a was already given in line 5"},
		{"s2 : e\nrepeat 3 ^s : e", "s2 was already given in line 6"},
		{"repeat 3 s1 : e\nrepeat 13 ^s : e", "s11 was already given in line 6"},
		{"repeat 3 s above ^next : e", "a repeat ends at a state, 'absent', 'first' or 'last'"},
		{"repeat 3 s above ^up 2 : e", "a repeat ends at a state"},
		{"repeat 3 s below ^qqqqq : e", "no state 'qqqqq'"},
		{"repeat 3 s : e -> ^up", "no state follows the repeat: 'up' leads nowhere"},
		{"repeat 3 s : e -> up ^0\nb : e", "'up' and 'down' move by 1 to 255 states"},
		{"repeat 3 s : e -> down ^256\nb : e", "'up' and 'down' move by 1 to 255 states"},
		{"b : e -> ^up", "'up' and 'down' are for the states of a repeat"},
		{"* : e -> ^down", "'up' and 'down' are for the states of a repeat"},
		{"absent : e -> ^up", "'up' and 'down' are for the states of a repeat"},
		{"b : e -> ^first", "of which repeat? (write 'first NAME' or 'last NAME')"},
		{"repeat 3 step : e\nb : e -> ^last stpe", "no repeat 'stpe'; did you mean 'step'?"},
		{"repeat 3 step : e\nb : e -> ^step",
		 "'step' is a repeat: write 'first step', 'last step' or 'step1'"},
		{"repeat 3 s : e -> ^s4", "no state 's4'; did you mean 's1'?"},
		{"repeat 3 s : e / ^leaving count c",
		 "'leaving' is for rows of a repeat that go 'up' or 'down'"},
		{"b : e -> next / ^leaving count c\nc : e", "'leaving' is for rows of a repeat"},
		{"repeat 3 s : e -> up / leaving ^new initiator\nb : e",
		 "'new initiator' cannot follow 'leaving'"},
		{"repeat 3 s : e -> up / leaving drop, ^pass\nb : e", "'drop' and 'pass' in one row"},
		{"repeat 3 s : e -> up / report \"x\", ^leaving report \"y\"\nb : e",
		 "the report of this row"},
		{"repeat 3 s : timeout 1s -> absent | ^timeout 2s -> absent",
		 "the time-out of 's1' was already"},
		{"repeat 3 s : timeout 1s -> up / leaving ^drop\nb : e", "a time-out has no packet"},
	};

	for (unsigned i = 0; i < COUNT(mistakes); i++)
		assert_error(mistakes[i].text, mistakes[i].words);
}

TEST_THAT(a_mistake_in_a_repetition_is_told_once)
{
	static const char *const texts[] = {
		HEAD "repeat 200 s : x",
		HEAD "repeat 200 s : e -> up",
		HEAD "repeat 200 s : e | timeout 1s -> absent | timeout 2s -> absent",
		HEAD "repeat 200 s : e -> first / leaving count c",
		HEAD "repeat 255 s : e",
		HEAD "b : e -> last s\nrepeat 5s s above b : e -> up\nexpendable s",
		HEAD "b : e -> last s\nrepeat 1.5 s above b : e -> up",
		HEAD "param n = 5s\nb : e -> last s\nrepeat n s above b : e -> up\ns1 : timeout 1s -> absent",
		HEAD "param n = x\nb : e -> last s\nrepeat n s above b : e -> up",
		HEAD "repeat 200 s above b : e\nrepeat 100 t above b : e -> up\nrepeat 200 u above first t: e\nb : e",
	};

	for (unsigned i = 0; i < COUNT(texts); i++) {
		assert_null(make_of(texts[i]));
		assert_int_equal(n_told, 1);
	}
}

TEST_THAT(a_warning_about_a_repetition_is_given_once)
{
	machine = made(EVENTS "absent: knock -> s1\nrepeat 200 s : knock -> up | answered -> down\n"
			      "t : timeout 1s -> absent\n");
	assert_int_equal(n_told, 1);
	assert_string_equal(told[0].text, "flows never leave 's1': it has no time-out");
	assert_int_equal(told[0].line, 6);
	assert_int_equal(told[0].column, 12);
}

TEST_THAT(a_name_that_grows_too_long_is_refused)
{
	char text[200];

	snprintf(text, sizeof text, "repeat 10 ^s%061d : e", 0);
	assert_error(text, "is a name of more than 63 characters");
}

/* ------------------------------------------------------- names of older files */

/* The words of repetitions were names once, and still are: the same machine with other names. */
TEST_THAT(a_name_that_the_file_defines_wins)
{
	static const char form[] =
		"machine %s\nkey connection\nlet %s = tcp and syn\nevent %s = %s or\n%s\nevent e = tcp\n"
		"absent : %s -> %s / count %s\n%s : e -> %s | %s -> %s\n%s, %s : e -> %s | %s -> %s / count %s\n"
		"%s : e -> %s / count %s %s : e -> %s\nexpendable %s\n";
	static const char *const words[] = {"repeat", "up",    "down",  "first",
					    "last",   "above", "below", "leaving"};
	char old[1000], new[1000];

	for (unsigned i = 0; i < COUNT(words); i++)
		for (unsigned j = 0; j < COUNT(words); j++) {
			const char *w = words[i], *v = i == j ? "other" : words[j];

			snprintf(new, sizeof new, form, w, w, w, w, w, w, w, w, w, v, w, w, v, "z", w, w, v,
				 w, "y", w, w, "x", v, w);
			w = "name";
			v = "second";
			snprintf(old, sizeof old, form, w, w, w, w, w, w, w, w, w, v, w, w, v, "z", w, w, v,
				 w, "y", w, w, "x", v, w);
			assert_same(new, old);
		}
}

int main(void)
{
	return run_suite(&(struct suite){.after_each = untrack});
}
