/* SPDX-License-Identifier: BSD-2-Clause */
/* Parameters: a text with them is the text with their values, as written or as set. */
#include "tests/machine_help.h"
#include "tests/test.h"

static struct ink_machine *make_with(const char *text, const struct ink_setting *settings, unsigned n)
{
	struct ink_machine_options o = {
		.size = sizeof o, .file = "x.fsm", .complain = note, .settings = settings, .n_settings = n};

	n_told = 0;
	return ink_machine_make(text, strlen(text), &o);
}

/* One of each place in which a number, a time or a share can stand. */
#define BODY(low, high, share, time, number)                                                                 \
	"let near = port " low " - " high " or port {" low ", 9 - " high "} or src port > " low "\n"         \
	"event syn = near and syn and chance " share " and ttl " number " and host 10.0.0.0/" number "\n"    \
	"event lots = tcp and lost > " number "\nevent many = tcp and lost >= " share " of all\n"            \
	"absent : syn -> s1 / count all, mark " low "\n"                                                     \
	"repeat " number " s : syn -> up " number " / count lost by " high " | lots -> down " number         \
	" | timeout " time " -> absent\n"                                                                    \
	"top : many -> last s | timeout " time " -> absent\nunsure : timeout " time "\n"

#define HEADLINES "machine m\nkey connection\n"

static const char with_params[] =
	HEADLINES "param low = 20\nparam high = 1k\nparam luck = 25%\nparam rest = 1.5m\nparam n = 3\n" BODY(
		"low", "high", "luck", "rest", "n");

TEST_THAT(a_parameter_stands_for_its_value)
{
	assert_same(with_params, HEADLINES BODY("20", "1k", "25%", "1.5m", "3"));
}

TEST_THAT(a_setting_replaces_the_value)
{
	static const struct ink_setting set[] = {
		{"rest", "10s"}, {"n", "7"}, {"luck", "1/3"}, {"low", "77"}, {"low", "0x10"}};
	struct ink_machine *m = make_with(with_params, set, COUNT(set));
	struct ink_machine *written = made(HEADLINES BODY("16", "1k", "1/3", "10s", "7"));
	const struct ink_machine_view *v = ink_machine_view(m);

	assert_same_rules(m, written);
	assert_int_equal(v->params, 5);
	assert_string_equal(v->param[0].name, "low");
	assert_string_equal(v->param[0].value, "0x10");
	assert_string_equal(v->param[1].value, "1k");
	assert_string_equal(v->param[4].value, "7");
	ink_machine_free(m);
	ink_machine_free(written);
}

TEST_THAT(settings_that_do_not_fit_are_told)
{
	static const struct {
		struct ink_setting set;
		unsigned line, column;
		const char *words;
	} cases[] = {
		{{"lwo", "1"}, 1, 1, "no param 'lwo' to set; did you mean 'low'?"},
		{{"", "1"}, 1, 1, "no param '' to set"},
		{{"low", ""},
		 3,
		 7,
		 "'low' is set to '', which is no number, time, share, rate, amount or class"},
		{{"low", "1 2"},
		 3,
		 7,
		 "'low' is set to '1 2', which is no number, time, share, rate, amount or class"},
		{{"low", "-1"}, 3, 7, "'low' is set to '-1'"},
		{{"low", "x"}, 3, 7, "'low' is set to 'x'"},
		{{"low", "70000"}, 8, 17, "'port' is 0 to 65535; 'low' is set to 70000"},
		{{"low", "5m"}, 8, 17, "'low' is not a whole number; 'low' is set to 5m"},
		{{"luck", "2"}, 9, 37, "a share is 0 to 1; 'luck' is set to 2"},
		{{"rest", "5"}, 13, 74, "'rest' is not a time (500ms, 10s, 5m, 1h, 2d); 'rest' is set to 5"},
		{{"n", "0"}, 13, 8, "a repeat has 1 to 255 states; 'n' is set to 0"},
		{{"n", "300"}, 9, 50, "'ttl' is 0 to 255; 'n' is set to 300"},
	};

	for (unsigned i = 0; i < COUNT(cases); i++) {
		errno = 0;
		assert_null(make_with(with_params, &cases[i].set, 1));
		assert_int_equal(errno, EINVAL);
		if (!n_told || !strstr(told[0].text, cases[i].words) || told[0].line != cases[i].line ||
		    told[0].column != cases[i].column)
			fail_msg("case %u: expected %u:%u '%s', got %s", i, cases[i].line, cases[i].column,
				 cases[i].words, n_told ? told[0].shown : "nothing");
	}
}

/* A queue's amount as a parameter, and written out. */
static void assert_amount(const char *param, const char *set, const char *written)
{
	char with[200], without[200];
	const struct ink_setting settings[] = {{"many", set}};
	struct ink_machine *m, *same;

	snprintf(with, sizeof with, HEAD "param many = %s\nevent lots = queue > many and queue < 1h\n",
		 param);
	snprintf(without, sizeof without, HEAD "event lots = queue > %s and queue < 1h\n", written);
	m = make_with(with, settings, set != NULL);
	same = made(without);
	if (!m)
		fail_msg("%s set to %s: %s", param, set ? set : "nothing", told[0].shown);
	assert_same_rules(m, same);
	ink_machine_free(m);
	ink_machine_free(same);
}

TEST_THAT(an_amount_of_a_queue_can_be_a_parameter_with_its_unit)
{
	assert_amount("50 packets", NULL, "50 packets");
	assert_amount("64k bytes", NULL, "64000 bytes");
	assert_amount("1_000  packet", NULL, "1000 packets");
	assert_amount("20ms", NULL, "20ms");
}

TEST_THAT(a_setting_without_a_unit_has_that_of_the_parameter)
{
	assert_amount("50 packets", "100", "100 packets");
	assert_amount("50 packets", "0x10", "16 packets");
	assert_amount("64k bytes", "5k", "5000 bytes");
	assert_amount("50 packets", "5k bytes", "5000 bytes");
	assert_amount("50 packets", "1.5s", "1500ms");
	assert_amount("20ms", "7 packets", "7 packets");
}

TEST_THAT(a_setting_without_a_unit_is_refused_for_a_time)
{
	static const struct ink_setting twenty = {"many", "20"};

	assert_null(make_with(HEAD "param many = 20ms\nevent lots = queue > many\n", &twenty, 1));
	if (!strstr(told[0].text, "expected packets, bytes or a time such as 20ms; 'many' is set to 20"))
		fail_msg("told %s", told[0].shown);
}

TEST_THAT(a_machine_without_parameters_takes_no_settings)
{
	assert_null(make_with(HEAD, &(struct ink_setting){"low", "1"}, 1));
	assert_string_equal(told[0].text, "no param 'low' to set: the machine has none");
}

TEST_THAT(settings_without_names_or_values_are_refused)
{
	static const struct ink_setting wrong[] = {{NULL, "1"}, {"low", NULL}};

	for (unsigned i = 0; i < COUNT(wrong); i++) {
		errno = 0;
		assert_null(make_with(with_params, &wrong[i], 1));
		assert_int_equal(errno, EINVAL);
	}
	assert_null(make_with(with_params, NULL, 1));
}

TEST_THAT(mistakes_about_parameters_are_told_with_their_place)
{
	assert_error("param ^7 = 1", "expected the parameter's name");
	assert_error("param n ^7", "expected '=', found '7'");
	assert_error("param n = ^x", "expected a number, a time, a share, a rate, an amount or a class");
	assert_error("param n = ^12x", "'12x' is no number, time, share, rate, amount or class");
	assert_error("param n = 1\nparam ^n = 2", "n was already given in line 6");
	assert_error("param doors = 5\nevent f = port ^dorrs", "found 'dorrs'; did you mean 'doors'?");
	assert_error("param doors = 5\nrepeat ^dors s : e", "found 'dors'; did you mean 'doors'?");
	assert_error("param idle = 5s\nb : timeout ^idel -> absent", "found 'idel'; did you mean 'idle'?");
	assert_error("param n = 70000\nevent f = port ^n", "'port' is 0 to 65535; 'n' is 70000");
	assert_error("b : e / count c by ^n\nparam n = 5", "expected a number, 'payload'");
	assert_error("^praam n = 5", "no item begins with 'praam'; did you mean 'param'?");
}

TEST_THAT(a_wrong_parameter_is_told_once)
{
	assert_null(make_of(HEAD "param n = 12x\nrepeat n s : e -> up n\nevent f = port n\ntop : e"));
	assert_int_equal(n_told, 1);
}

TEST_THAT(a_parameter_that_nothing_uses_is_a_warning)
{
	machine = made(HEAD "param n = 5\n");
	assert_int_equal(n_told, 1);
	assert_string_equal(told[0].text, "param 'n' is not used");
	assert_int_equal(told[0].severity, INK_WARNING);
}

/* Older files may call anything "param". */
TEST_THAT(a_file_that_uses_the_word_as_a_name_means_what_it_meant)
{
	static const char form[] = "machine %s key pair let %s = tcp event a = %s event %s = udp or %s\n"
				   "or\n%s\nabsent : %s -> %s\n%s : %s -> next / count %s %s, b : a -> %s\n";
	char old[500], new[500];
	const char *w = "param";

	snprintf(new, sizeof new, form, w, w, w, w, w, w, w, w, w, w, w, w, w);
	w = "name";
	snprintf(old, sizeof old, form, w, w, w, w, w, w, w, w, w, w, w, w, w);
	assert_same(new, old);
}

int main(void)
{
	return run_suite(&(struct suite){.after_each = untrack});
}
