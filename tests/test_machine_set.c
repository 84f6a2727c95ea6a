/* SPDX-License-Identifier: BSD-2-Clause */
/* Several machines: sets of them, and what the view says of each. */
#include "tests/machine_help.h"
#include "tests/scratch.h"
#include "tests/sizes.h"
#include "tests/test.h"

static struct ink_machines *make_set(const char *text)
{
	struct ink_machine_options o = {.size = sizeof o, .file = "x.fsm", .complain = note};

	n_told = 0;
	return ink_machines_make(text, strlen(text), &o);
}

/* A set that must be right. */
static struct ink_machines *set_of(const char *text)
{
	struct ink_machines *s = make_set(text);

	if (!s)
		fail_msg("%s", n_told ? told[0].shown : "no set, and no reason");
	return s;
}

static const struct ink_machine_view *view_of(const struct ink_machines *s, unsigned i)
{
	assert_non_null(ink_machines_at(s, i));
	return ink_machine_view(ink_machines_at(s, i));
}

static void write_file(const char *path, const char *text)
{
	FILE *file = fopen(path, "w");

	assert_non_null(file);
	assert_true(fputs(text, file) >= 0);
	assert_int_equal(fclose(file), 0);
}

/* -------------------------------------------------------------------- sets */

TEST_THAT(one_machine_is_a_set_of_one)
{
	struct ink_machines *s =
		set_of(HEAD "param n = 3\nevent f = udp and length > n\n* : f / report \"x\"\n");
	const struct ink_machine_view *v = view_of(s, 0);

	assert_int_equal(ink_machines_count(s), 1);
	assert_null(ink_machines_at(s, 1));
	assert_string_equal(v->name, "m");
	assert_string_equal(v->file, "x.fsm");
	assert_int_equal(v->state_time[0].timeout, 1000000000);
	assert_int_equal(v->state_time[0].window, 0);
	assert_int_equal(v->event_told[0], 0);
	assert_int_equal(v->action_more[1].n_tells, 0);
	assert_int_equal(v->action_more[1].severity, 0);
	assert_null(v->action_more[1].id);
	ink_machines_free(s);
	ink_machines_free(NULL);
}

TEST_THAT(several_names_are_one_set_in_their_order)
{
	static const char *const names[] = {"tcp", "scan", "flags"};
	struct ink_machines *s = ink_machines_load(names, 3, NULL, NULL);
	unsigned at = 0;

	assert_non_null(s);
	assert_true(ink_machines_count(s) >= 3);
	for (unsigned i = 0; i < ink_machines_count(s); i++)
		at += at < 3 && !strcmp(view_of(s, i)->file, names[at]) ? 1 : 0;
	assert_int_equal(at, 3);
	ink_machines_free(s);
}

TEST_THAT(a_set_needs_names_of_machines)
{
	static const char *const names[] = {"tcp", NULL}, *const unknown[] = {"tcp", "tcpp"};
	struct ink_why why = {""};

	assert_null(ink_machines_load(names, 2, NULL, &why));
	assert_int_equal(errno, EINVAL);
	assert_null(ink_machines_load(names, 0, NULL, &why));
	assert_int_equal(errno, EINVAL);
	assert_null(ink_machines_load(unknown, 2, NULL, &why));
	assert_int_equal(errno, ENOENT);
	assert_non_null(strstr(why.text, "did you mean 'tcp'"));
}

TEST_THAT(the_hash_follows_the_text_and_the_settings)
{
	static const char text[] = HEAD "param n = 3\nevent f = udp and length > n\n* : f\n";
	static const struct ink_setting four = {"n", "4"}, three = {"n", "3"};
	struct ink_machine_options o = {.size = sizeof o, .settings = &four, .n_settings = 1};
	struct ink_machine *plain = made(text), *other = made(HEAD "# a word\n");
	struct ink_machine *changed = ink_machine_make(text, strlen(text), &o), *same;

	o.settings = &three;
	same = ink_machine_make(text, strlen(text), &o);
	assert_int_equal(ink_machine_view(plain)->hash, ink_machine_view(same)->hash);
	assert_int_not_equal(ink_machine_view(plain)->hash, ink_machine_view(changed)->hash);
	assert_int_not_equal(ink_machine_view(plain)->hash, ink_machine_view(other)->hash);
	ink_machine_free(plain);
	ink_machine_free(other);
	ink_machine_free(changed);
	ink_machine_free(same);
}

TEST_THAT(a_setting_is_for_one_of_the_files_at_least)
{
	char a[SCRATCH_PATH], b[SCRATCH_PATH];
	const char *const files[] = {scratch_path(a, "a.fsm"), scratch_path(b, "b.fsm")};
	static const struct ink_setting set[] = {{"n", "4"}, {"m", "4"}};
	struct ink_machine_options o = {.size = sizeof o, .complain = note, .settings = set, .n_settings = 1};
	struct ink_why why = {""};
	struct ink_machines *s;

	write_file(files[0], "machine a\nkey source\nparam n = 3\nevent e = length > n\nabsent: e -> x\n"
			     "x: timeout 1s -> absent\n");
	write_file(files[1],
		   "machine b\nkey source\nevent e = tcp\nabsent: e -> x\nx: timeout 1s -> absent\n");
	s = ink_machines_load(files, 2, &o, &why);
	assert_non_null(s);
	assert_string_equal(view_of(s, 0)->param[0].value, "4");
	ink_machines_free(s);
	o.n_settings = 2;
	assert_null(ink_machines_load(files, 2, &o, &why));
	assert_int_equal(errno, EINVAL);
	assert_non_null(strstr(why.text, "no param 'm' to set in any of the machines"));
}

/* ------------------------------------------------------- machines of one file */

#define CONTACT                                                                                              \
	"param doors = 5\nlet syns = tcp and syn and not ack\nmachine contact\nkey src, dst, dst port\n"     \
	"start event syn = syns\nreverse event answered = tcp and syn and ack\n"                             \
	"absent : syn -> tried / tell source contact\n"                                                      \
	"tried : answered -> known / tell source answered reversed, tell tail seen | timeout 5m -> absent\n" \
	"known : timeout 5m -> absent\n"
#define SOURCE                                                                                               \
	"machine source\nkey src\nevent contact, answered = told\nevent own = syns\n"                        \
	"absent : contact -> step1\n"                                                                        \
	"repeat doors step : contact -> up / leaving tell tail seen | answered, own -> down 2 "              \
	"| timeout 10m -> absent\n"                                                                          \
	"scanner : contact | timeout 1m -> absent\n"
#define TAIL                                                                                                 \
	"machine tail\nkey dst\nstart event seen = told\nabsent : seen -> one\none : timeout 1m -> absent\n"

TEST_THAT(a_file_can_have_several_machines)
{
	struct ink_machines *s = set_of(CONTACT SOURCE TAIL);
	const struct ink_machine_view *contact = view_of(s, 0), *source = view_of(s, 1),
				      *tail = view_of(s, 2);

	assert_int_equal(n_told, 0);
	assert_int_equal(ink_machines_count(s), 3);
	assert_string_equal(contact->name, "contact");
	assert_string_equal(source->name, "source");
	assert_string_equal(source->key_text, "src");
	assert_int_equal(source->states, 6);
	assert_int_equal(source->params, 1);
	assert_int_equal(source->event_told[0], 1);
	assert_int_equal(source->event_told[1], 1);
	assert_int_equal(source->event_told[2], 0);
	assert_int_equal(contact->event_told[0], 0);
	assert_int_equal(tail->rules->starts[0], 1);
	assert_int_not_equal(contact->hash, source->hash);
	ink_machines_free(s);
}

static void assert_tell(const struct ink_tell *t, unsigned to, unsigned event, int reversed)
{
	assert_int_equal(t->machine, to);
	assert_int_equal(t->event, event);
	assert_int_equal(t->reversed, reversed);
}

TEST_THAT(tells_stand_in_the_order_of_their_row)
{
	struct ink_machines *s = set_of(CONTACT SOURCE TAIL);
	const struct ink_machine_view *v = view_of(s, 0);
	const struct ink_row *first = &v->rules->rows[v->rules->states * v->rules->events];
	const struct ink_row *answered = &v->rules->rows[0 * v->rules->events + 1];

	assert_int_equal(v->action_more[first->action].n_tells, 1);
	assert_tell(&v->action_more[first->action].tells[0], 1, 0, 0);
	assert_int_equal(v->action_more[answered->action].n_tells, 2);
	assert_tell(&v->action_more[answered->action].tells[0], 1, 1, 1);
	assert_tell(&v->action_more[answered->action].tells[1], 2, 0, 0);
	v = view_of(s, 1);
	assert_int_equal(v->rules->rows[0].action, 0);
	assert_int_equal(v->action_more[v->rules->rows[4 * v->rules->events].action].n_tells, 1);
	assert_tell(v->action_more[v->rules->rows[4 * v->rules->events].action].tells, 2, 0, 0);
	ink_machines_free(s);
}

TEST_THAT(leaving_tells_in_the_order_of_the_row_too)
{
	struct ink_machines *s = set_of(
		"machine a\nkey source\nevent e = tcp\nabsent : e -> s1\n"
		"repeat 1 s : e -> up / tell b x, leaving tell b y, tell b z | timeout 1s -> absent\n"
		"top : timeout 1s -> absent\n"
		"machine b\nkey source\nevent x, y, z = told\nabsent : * -> t\nt : timeout 1s -> absent\n");
	const struct ink_machine_view *v = view_of(s, 0);
	const struct ink_action_more *more = &v->action_more[v->rules->rows[0].action];

	assert_int_equal(more->n_tells, 3);
	for (unsigned i = 0; i < 3; i++)
		assert_tell(&more->tells[i], 1, i, 0);
	ink_machines_free(s);
}

TEST_THAT(links_of_a_second_file_lead_into_that_file)
{
	char path[SCRATCH_PATH];
	const char *const names[] = {"flags", scratch_path(path, "linked.fsm")};
	struct ink_machines *s;

	write_file(path, CONTACT SOURCE TAIL);
	s = ink_machines_load(names, 2, NULL, NULL);
	assert_non_null(s);
	assert_int_equal(ink_machines_count(s), 4);
	assert_tell(view_of(s, 1)->action_more[1].tells, 2, 0, 0);
	ink_machines_free(s);
}

/* A text with '^' at a place: a complaint about that place has these words. */
static void assert_set_complaint(const char *marked, const char *words)
{
	size_t before = strcspn(marked, "^");
	unsigned line = 1, column = 1, found = 0;
	struct ink_machines *s;

	begin("");
	add("%.*s%s", (int)before, marked, marked[before] ? marked + before + 1 : "");
	for (size_t i = 0; i < before; i++) {
		line += marked[i] == '\n';
		column = marked[i] == '\n' ? 1 : column + 1;
	}
	s = make_set(draft.text);
	ink_machines_free(s);
	for (unsigned i = 0; i < n_told; i++)
		found |= told[i].line == line && told[i].column == column &&
			 strstr(told[i].text, words) != NULL;
	if (!found)
		fail_msg("%u:%u: '%s' expected; %s", line, column, words,
			 n_told ? told[0].shown : "nothing was said");
}

#define A "machine a\nkey source\nevent e = tcp\nabsent : e -> x / "
#define A_END "\nx : timeout 1s -> absent\n"
#define B(name)                                                                                              \
	"machine " name "\nkey source\nevent t = told\nevent p = udp\nabsent : t, p -> x\n"                  \
	"x : timeout 1s -> absent\n"

TEST_THAT(links_that_cannot_be_are_told)
{
	static const struct {
		const char *text, *words;
	} cases[] = {
		{A "tell ^c t" A_END B("bee"), "no machine 'c' in this file"},
		{A "tell ^bees t" A_END B("bee"), "no machine 'bees' in this file; did you mean 'bee'?"},
		{A "tell ^a t" A_END B("b"), "'a' is this machine itself"},
		{A "tell ^b t" A_END, "it has one machine"},
		{A "tell b ^s" A_END B("b"), "machine 'b' has no event 's'; did you mean 't'?"},
		{A "tell b ^p" A_END B("b"), "packets bring event 'p' of machine 'b'"},
		{A "tell b^" A_END B("b"), "expected an event of that machine"},
		{A "tell b t" A_END B("b") "machine c\nkey source\nevent e = tcp\n"
					   "absent : e -> y / tell ^b t\ny : timeout 1s -> absent\n",
		 "'b' is an earlier machine"},
		{A "count n" A_END "x : timeout 2s -> absent / ^tell b t\n" B("b"),
		 "a time-out has no packet"},
		{A "count n" A_END "* : end / ^tell b t\n" B("b"), "an end has no packet"},
		{A "tell b t" A_END B("^a"), "a was already given in line 1"},
		{A "tell b t" A_END "machine ^b\n", "needs a line 'key"},
		{"machine a\nkey source\nevent b, ^c = tcp\n", "several events in one line are told ones"},
		{"machine a\nkey source\nreverse event ^b = told\n", "a told event has no direction"},
		{"machine a\nkey source\nevent b = told ^and tcp\n", "'told' stands alone"},
		{"param n = 1\n" A "mark n" A_END "machine b\nparam ^n = 2\n",
		 "n was already given in line 1"},
		{"let n = tcp\n" A "mark 1" A_END "machine b\nlet ^n = udp\n",
		 "n was already given in line 1"},
	};

	for (unsigned i = 0; i < COUNT(cases); i++)
		assert_set_complaint(cases[i].text, cases[i].words);
}

TEST_THAT(links_without_effect_are_warned_of)
{
	assert_set_complaint(A "count n" A_END
			       "machine ^b\nkey source\nevent t = told\nabsent : t -> x" A_END,
			     "machine 'b' gets no event");
	assert_set_complaint(A "tell b u" A_END
			       "machine b\nkey source\nevent ^t, u = told\nabsent : t, u -> x" A_END,
			     "no earlier machine of the file tells event 't'");
}

TEST_THAT(calls_for_one_machine_refuse_several)
{
	assert_null(make_of(A "tell b t" A_END B("b")));
	assert_int_equal(errno, EINVAL);
	assert_int_equal(n_told, 1);
	assert_int_equal(told[0].line, 6);
	assert_int_equal(told[0].column, 9);
	assert_non_null(strstr(told[0].text, "'b' is a second machine, after 'a'"));
}

TEST_THAT(a_name_is_unique_in_a_set)
{
	char path[SCRATCH_PATH];
	const char *const names[] = {"tcp", scratch_path(path, "twice.fsm")};
	struct ink_machine_options o = {.size = sizeof o, .complain = note};

	write_file(path, "machine tcp\nkey source\nevent e = tcp\nabsent: e -> x\nx: timeout 1s -> absent\n");
	n_told = 0;
	assert_null(ink_machines_load(names, 2, &o, NULL));
	assert_int_equal(n_told, 1);
	assert_int_equal(told[0].column, 9);
	assert_non_null(strstr(told[0].text, "machine 'tcp' is also in tcp, line "));
}

TEST_THAT(sixteen_machines_are_the_most)
{
	struct ink_machines *s;

	begin("");
	for (unsigned i = 0; i < 16; i++)
		add("machine m%u\nkey source\nevent e = tcp\nabsent: e -> x\nx: timeout 1s -> absent\n", i);
	s = set_of(draft.text);
	assert_int_equal(ink_machines_count(s), 16);
	ink_machines_free(s);
	add("machine one_more\n");
	assert_null(make_set(draft.text));
	assert_int_equal(n_told, 1);
	assert_non_null(strstr(told[0].text, "more than 16 machines"));
}

/* The let has a counter, a chance and a part that it has twice; the second machine has counters of its own. */
TEST_THAT(a_let_holds_in_later_machines)
{
#define LAST "let a = syn and chance 1/3\nlet b = a and (a or udp) or hits > 3\n"
#define BODY                                                                                                 \
	"event e = b\nevent f = tcp\nabsent : f -> x / count other, count hits\nx : e, timeout 1s -> absent\n"
	struct ink_machines *s =
		set_of("machine one\nkey source\n" LAST BODY "machine two\nkey source\n" BODY);
	struct ink_machine *alone = made("machine two\nkey source\n" LAST BODY);

	assert_same_rules(ink_machines_at(s, 1), alone);
	assert_int_equal(ink_machines_at(s, 1)->n_tests, alone->n_tests);
	ink_machine_free(alone);
	ink_machines_free(s);
#undef BODY
#undef LAST
}

/* 2^64 paths through the let, and one copy of each of its parts. */
TEST_THAT(a_let_that_shares_parts_is_copied_once)
{
	struct ink_machines *s;

	begin("machine one\nkey source\nlet l0 = tcp\n");
	for (unsigned i = 1; i < 64; i++)
		add("let l%u = not l%u or (l%u and udp)\n", i, i - 1, i - 1);
	add("event e = tcp\nabsent : e -> x\nx : timeout 1s -> absent\n"
	    "machine two\nkey source\nevent f = tcp\nlet m = l63\nabsent : f -> x\nx : timeout 1s -> absent\n");
	s = set_of(draft.text);
	ink_machines_free(s);
}

TEST_THAT(a_chain_of_tells_has_a_limit)
{
	begin("");
	for (unsigned i = 0; i < 12; i++) {
		add("machine m%u\nkey source\nevent e = %s\nabsent: e -> x", i, i ? "told" : "tcp");
		if (i < 11)
			add(" / tell m%u e, tell m%u e", i + 1, i + 1);
		add("\nx: timeout 1s -> absent\n");
	}
	assert_null(make_set(draft.text));
	assert_non_null(strstr(told[0].text, "one packet makes more than 1024 steps"));
	assert_int_equal(told[0].line, 4 + 5);
}

/* The words are younger than names in files. */
TEST_THAT(names_of_a_file_win_over_told_and_tell)
{
	struct ink_machine *m = made(
		"machine tell\nkey source\nlet told = tcp\nevent tell = told\nevent within = udp\n"
		"absent : tell -> reversed / count told | within\nreversed : within -> absent | timeout 1s -> absent\n");

	assert_int_equal(ink_machine_view(m)->event_told[0], 0);
	ink_machine_free(m);
}

TEST_THAT(states_are_numbered_like_those_of_the_same_machine)
{
	struct ink_machines *old = set_of(A "tell b t" A_END B("b")), *s;
	struct ink_machine_options o = {.size = sizeof o, .complain = note, .like_set = old};
	static const char text[] =
		"machine b2\nkey source\nevent e = tcp\nabsent : e -> x\nx : timeout 1s -> absent\n"
		"machine b\nkey source\nevent t = tcp\nabsent : t -> new\nnew, x : timeout 1s -> absent\n";

	s = ink_machines_make(text, strlen(text), &o);
	assert_non_null(s);
	assert_string_equal(view_of(s, 1)->state_names[view_of(s, 1)->state_of[0]], "x");
	ink_machines_free(s);
	ink_machines_free(old);
}

/* ----------------------------------------------------------------- windows */

#define W "machine w\nkey source\nevent e = tcp\n"

TEST_THAT(states_that_share_a_window_are_its_group)
{
	struct ink_machine *m =
		made(W "param wait = 60s\nabsent : e -> s1\nrepeat 3 s : e -> up | within 60s -> absent\n"
		       "a, b : e -> next | within wait -> absent / count gone\n"
		       "c : timeout 20s -> absent\nd : e -> c | within 60s -> c\n* : e -> d\n");
	static const uint8_t windows[] = {1, 1, 1, 4, 4, 0, 7};
	const struct ink_machine_view *v = ink_machine_view(m);

	assert_memory_equal(v->rules->windows, windows, sizeof windows);
	assert_int_equal(v->state_time[0].window, 60000000000);
	assert_int_equal(v->state_time[0].timeout, 0);
	assert_int_equal(v->state_time[5].timeout, 20000000000);
	assert_int_equal(v->tick, 20000000000 / 32);
	assert_int_equal(v->rules->timings[0].period, v->rules->timings[6].period);
	assert_int_equal(v->action[v->on_timeout[3]].n_countings, 1);
	assert_true(v->timeouts);
	ink_machine_free(m);
}

/* But for the array of windows, they are time-outs. */
TEST_THAT(without_a_window_the_rules_have_none)
{
	struct ink_machine *a = made(W "absent : e -> a\na : e -> absent | within 60s -> absent\n");
	struct ink_machine *b = made(W "absent : e -> a\na : e -> absent | timeout 60s -> absent\n");

	assert_same_rules(a, b);
	assert_non_null(ink_machine_view(a)->rules->windows);
	assert_null(ink_machine_view(b)->rules->windows);
	ink_machine_free(a);
	ink_machine_free(b);
}

TEST_THAT(split_states_share_the_window_too)
{
	struct ink_machine *m =
		made("machine w\nkey connection\nremember initiator\nevent e = tcp\nabsent : e -> a\n"
		     "a : e from responder -> absent | within 60s -> absent\n");

	assert_int_equal(ink_machine_view(m)->rules->states, 2);
	assert_int_equal(ink_machine_view(m)->rules->windows[0], 1);
	assert_int_equal(ink_machine_view(m)->rules->windows[1], 1);
	ink_machine_free(m);
}

TEST_THAT(windows_that_cannot_be_are_told)
{
	static const struct {
		const char *text, *words;
	} cases[] = {
		{W "absent : e -> a | ^within 5s\na : timeout 1s -> absent\n",
		 "an absent flow has no window"},
		{W "unsure : ^within 5s\n", "an unsure flow has no window"},
		{W "a : timeout 1s | ^within 5s\n",
		 "'a' has a time-out in line 4: a state has a time-out or a window"},
		{W "a : within 1s\na : ^timeout 5s\n", "'a' has a window in line 4"},
		{W "a : within 1s | ^within 5s\n", "the window of 'a' was already given in line 4"},
		{W "a : within 1s / ^report \"x\"\n",
		 "a window has no packet: it can only count by numbers and move, "
		 "not 'report' (let it move, and do that with the flow's next packet)"},
		{W "a : ^within -> absent\n", "a window has a time: 'within 60s'"},
		{W "a : within ^5 -> absent\n", "is not a time"},
		{W "a : ^wihin -> absent\n", "did you mean 'within'?"},
	};

	for (unsigned i = 0; i < COUNT(cases); i++)
		assert_set_complaint(cases[i].text, cases[i].words);
}

TEST_THAT(kinds_without_windows_say_so)
{
	struct ink_machine *m = made(W "absent : e -> a\na : within 60s -> absent\n");
	const struct ink_rules *rules = ink_machine_view(m)->rules;
	struct ink_options o = {.size = sizeof o,
				.kind = INK_STATEFUL,
				.flows = 100,
				.states = rules->states,
				.rules = rules,
				.age_bits = 1};
	struct ink_why why = {""};

	assert_null(ink_create(&o, &why));
	assert_non_null(strstr(why.text, "windows; stateful cannot keep when a flow entered a state"));
	o.kind = INK_EXACT;
	ink_free(ink_create(&o, &why));
	ink_machine_free(m);
}

TEST_THAT(a_window_is_drawn_as_one)
{
	struct ink_machine *m = made(W "absent : e -> a\na : within 60s -> absent\n");
	char *text = ink_machine_draw(m);

	assert_non_null(strstr(text, "within 1m"));
	free(text);
	ink_machine_free(m);
}

/* ----------------------------------------------------------------- reports */

#define R W "param bad = 2\nabsent : e -> a / report "
#define R_END "\na : timeout 1s -> absent\n"

static void assert_pieces(const char *text, const char *expected)
{
	struct ink_machine *m = made(text);
	const struct ink_action_more *more = &ink_machine_view(m)->action_more[1];
	char all[500] = "";

	for (unsigned i = 0; i < more->n_pieces; i++)
		snprintf(all + strlen(all), sizeof all - strlen(all), "%s%d:%s", i ? "|" : "",
			 more->pieces[i].field, more->pieces[i].text);
	assert_string_equal(all, expected);
	ink_machine_free(m);
}

TEST_THAT(texts_are_taken_apart)
{
	assert_pieces(R "\"\"" R_END, "0:");
	assert_pieces(R "\"plain } text\"" R_END, "0:plain } text");
	assert_pieces(R "\"{src} knocks at {dst port}\"" R_END, "1:src|0: knocks at |4:dst port");
	assert_pieces(R "\"{dst}{src port}{protocol}{key}!\"" R_END, "2:dst|3:src port|5:protocol|6:key|0:!");
	assert_pieces(R "\"{{src}{{{key}\"" R_END, "0:{src}{|6:key");
}

TEST_THAT(reports_have_a_severity_and_an_id)
{
	struct ink_machine *m =
		made(R "\"{src}\" severity bad id \"x-1\", count n" R_END "* : e / report \"b\" id \"y\"\n");
	const struct ink_machine_view *v = ink_machine_view(m);

	assert_string_equal(v->action[1].report, "{src}");
	assert_int_equal(v->action[1].n_countings, 1);
	assert_int_equal(v->action_more[1].severity, 2);
	assert_string_equal(v->action_more[1].id, "x-1");
	assert_int_equal(v->action_more[2].severity, 0);
	assert_string_equal(v->action_more[2].id, "y");
	ink_machine_free(m);
}

TEST_THAT(severity_and_id_can_be_states)
{
	struct ink_machine *m = made(W "absent : e -> id / report \"x\"\nid, severity : e / report \"y\"\n"
				       "severity : timeout 1s -> absent\nid : timeout 1s -> absent\n");

	assert_int_equal(ink_machine_view(m)->states, 2);
	ink_machine_free(m);
}

TEST_THAT(leaving_takes_the_report_along)
{
	struct ink_machine *m = made(
		W "absent : e -> s1\nrepeat 1 s : e -> up / report \"{src}\" severity 3, leaving count n "
		  "| timeout 1s -> absent\ntop : timeout 1s -> absent\n");
	const struct ink_machine_view *v = ink_machine_view(m);

	assert_int_equal(v->action_more[v->rules->rows[0].action].severity, 3);
	assert_int_equal(v->action_more[v->rules->rows[0].action].n_pieces, 1);
	assert_string_equal(v->action[v->rules->rows[0].action].report, "{src}");
	ink_machine_free(m);
}

TEST_THAT(reports_that_cannot_be_are_told)
{
	static const struct {
		const char *text, *words;
	} cases[] = {
		{R "\"a ^{scr}\"" R_END, "no field '{scr}'; did you mean 'src'?"},
		{R "\"{{ ^{nonsense}\"" R_END, "no field '{nonsense}': there are {src}"},
		{R "\"^{src\"" R_END, "'}' is missing"},
		{R "\"x\" severity ^0" R_END, "a severity is 1, the most severe, to 4"},
		{R "\"x\" severity ^5" R_END, "a severity is 1"},
		{R "\"x\" severity ^\"y\"" R_END, "expected the severity"},
		{R "\"x\" severity 1 ^severity 2" R_END, "the severity was already given"},
		{R "\"x\" id ^5" R_END, "expected the id in quotes"},
		{R "\"x\" id ^\"\"" R_END, "an id has 1 to 63 characters"},
	};

	for (unsigned i = 0; i < COUNT(cases); i++)
		assert_set_complaint(cases[i].text, cases[i].words);
}

/* ------------------------------------------------------------------- sizes */

static int call_make(void *theirs)
{
	struct ink_machines *s = ink_machines_make(HEAD, strlen(HEAD), theirs);

	ink_machines_free(s);
	return s ? 0 : -errno;
}

static int call_load(void *theirs)
{
	static const char *const names[] = {"tcp", "flags"};
	struct ink_machines *s = ink_machines_load(names, 2, theirs, NULL);

	ink_machines_free(s);
	return s ? 0 : -errno;
}

TEST_THAT(options_of_older_and_newer_callers_are_read)
{
	struct ink_machine_options o = {.size = sizeof o};
	const struct sized make = {"machine options", 56, sizeof o, &o, call_make},
			   load = {"machine options", 56, sizeof o, &o, call_load};

	assert_grows(&make);
	assert_grows(&load);
	assert_int_equal(call_make(NULL), 0);
}

int main(void)
{
	return run_suite(&(struct suite){.begin = scratch_make, .end = scratch_remove});
}
