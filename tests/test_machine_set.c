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
