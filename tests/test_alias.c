/* SPDX-License-Identifier: BSD-2-Clause */
/* tcpdump's words in conditions: they mean what ours do, unless the file has a name that is one of them. */
#include "tests/machine_help.h"
#include "tests/test.h"

static const char *condition(const char *of)
{
	begin("machine m\nkey connection\n");
	add("event e = %s\nabsent : e -> a\na : timeout 1s -> absent\n", of);
	return draft.text;
}

/* Their tests are compared, too: the rules do not have them. */
static void assert_same_conditions(const char *one, const char *other)
{
	struct ink_machine *a = made(condition(one)), *b = made(condition(other));

	assert_same_rules(a, b);
	assert_int_equal(a->n_tests, b->n_tests);
	for (unsigned i = 0; i < a->n_tests; i++) {
		const struct ink_test *x = &a->tests[i], *y = &b->tests[i];

		assert_int_equal(x->field, y->field);
		assert_int_equal(x->n_ranges, y->n_ranges);
		assert_int_equal(x->n_prefixes, y->n_prefixes);
		if (x->n_ranges)
			assert_memory_equal(x->ranges, y->ranges, x->n_ranges * sizeof *x->ranges);
		if (x->n_prefixes)
			assert_memory_equal(x->prefixes, y->prefixes, x->n_prefixes * sizeof *x->prefixes);
	}
	ink_machine_free(a);
	ink_machine_free(b);
}

TEST_THAT(tcpdumps_words_mean_what_ours_do)
{
	static const char *const pairs[][2] = {
		{"dport 22", "dst port 22"},
		{"sport {53, 100-200}", "src port {53, 100-200}"},
		{"tcp and dport > 1023", "tcp and dst port > 1023"},
		{"sport != 80 or not dport <= 9", "src port != 80 or not dst port <= 9"},
		{"portrange 6881-6889", "port 6881-6889"},
		{"src portrange 1-9 and dst portrange 2-8", "src port 1-9 and dst port 2-8"},
		{"proto 47", "protocol 47"},
		{"proto = 47", "protocol = 47"},
		{"net 10.0.0.0/8", "host 10.0.0.0/8"},
		{"src net {10.0.0.0/8, fe80::/10}", "src host {10.0.0.0/8, fe80::/10}"},
		{"dst net 2001:db8::/32", "dst host 2001:db8::/32"},
		{"src 10.1.2.3", "src host 10.1.2.3"},
		{"dst 10.0.0.0/8", "dst host 10.0.0.0/8"},
		{"src fe80::1 or dst ::1", "src host fe80::1 or dst host ::1"},
	};

	for (unsigned i = 0; i < COUNT(pairs); i++)
		assert_same_conditions(pairs[i][0], pairs[i][1]);
}

TEST_THAT(mistakes_about_tcpdumps_words_are_told)
{
	assert_error("event f = dport ^70000", "'dst port' is 0 to 65535");
	assert_error("event f = dport ^x", "expected a number, a range, a set");
	assert_error("event f = net ^x", "expected an address");
	assert_error("event f = ^dprot 80", "no condition 'dprot'; did you mean 'dport'?");
	assert_error("event f = src ^prot 80", "found 'prot'; did you mean 'port'?");
	assert_error("event f = ^net > 5", "no counter 'net'");
	assert_error("event f = dst ^22", "expected 'port', 'host', 'net' or an address");
}

/* As lets, and as counters that are counted before or behind their use. */
TEST_THAT(a_name_that_the_file_defines_wins)
{
	static const char *const words[] = {"sport", "dport", "portrange", "proto", "net"};
	static const char *const forms[] = {
		"let %s = tcp\nevent e = %s and syn or\n%s\nevent f = udp or %s > 5\n"
		"absent : e -> %s / count %s\n%s : f / count %s\n",
		"event e = tcp and %s > 5\nevent f = udp and %s != 7 and %s < 10\nevent g = %s = 8\n"
		"absent : e -> %s / count %s by 2 | f -> %s | g\n%s : e",
		"absent : e -> %s / count # a comment\n%s | f -> %s / count x, count y\n%s : e -> %s\n"
		"event e = tcp and %s > 5\nevent f = tcp and %s > 10%% of %s\n",
	};
	char old[600], new[600];

	for (unsigned i = 0; i < COUNT(words); i++)
		for (unsigned j = 0; j < COUNT(forms); j++) {
			const char *w = words[i];

			begin("machine m\nkey pair\n");
			strcat(draft.text, forms[j]); /* a format */
			snprintf(new, sizeof new, draft.text, w, w, w, w, w, w, w, w);
			w = "name";
			snprintf(old, sizeof old, draft.text, w, w, w, w, w, w, w, w);
			assert_same(new, old);
		}
}

/* Each of thousands of conditions asks whether the text, of about 1 MiB, has a counter of that name. */
TEST_THAT(looking_for_counters_takes_one_pass)
{
	begin(HEAD);
	for (unsigned i = 0; i < 4096; i++)
		add("let x%u = dport > 5 %0200d\n", i, 0);
	for (char *zero = draft.text; (zero = strstr(zero, " 0000")) != NULL; zero++)
		zero[1] = '#';
	machine = made(draft.text);
}

int main(void)
{
	return run_suite(&(struct suite){.after_each = untrack});
}
