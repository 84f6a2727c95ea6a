/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The bundled machines over real captures, beside independent truth: with a
 * table that is never mistaken and without time-outs, every counter is the
 * number that tshark and a script found (truth/ of the folder with the
 * captures). The folder is $INK_CAPTURES, or ../shared/captures beside the
 * sources; without it these tests are skipped.
 */
#include <dirent.h>
#include <errno.h>
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

/* ------------------------------------------------------------- the folder */

static char folder[512];
static const char *const kinds[] = {"tcp", "scan", "p2p", "media", "robust"};

enum { KINDS = sizeof kinds / sizeof kinds[0] };

static int find_folder(void)
{
	const char *given = getenv("INK_CAPTURES");
	char readme[600];

	snprintf(folder, sizeof folder, "%s", given ? given : SOURCE_ROOT "/../shared/captures");
	snprintf(readme, sizeof readme, "%s/truth/COMMANDS.md", folder);
	return access(readme, R_OK) == 0;
}

static int for_each_capture(void (*call)(const char *path, const char *name))
{
	char path[1024];
	int n = 0;

	for (int i = 0; i < KINDS; i++) {
		struct dirent *entry;
		DIR *dir;

		snprintf(path, sizeof path, "%s/%s", folder, kinds[i]);
		dir = opendir(path);
		assert_non_null(dir);
		while ((entry = readdir(dir)))
			if (strstr(entry->d_name, ".pcap")) {
				snprintf(path, sizeof path, "%s/%s/%s", folder, kinds[i], entry->d_name);
				call(path, entry->d_name);
				n++;
			}
		closedir(dir);
	}
	return n;
}

/* -------------------------------------------------------------- the truth */

static char truth[1 << 20];

static void load_truth(const char *from, const char *name)
{
	char path[1024];
	size_t n;
	FILE *f;

	snprintf(path, sizeof path, "%s/truth/%s/%s.json", folder, from, name);
	f = fopen(path, "r");
	assert_non_null(f);
	n = fread(truth, 1, sizeof truth - 1, f);
	assert_true(n > 0 && n < sizeof truth - 1);
	truth[n] = '\0';
	fclose(f);
}

/* The number behind a name; 0 if it is not there, as the script leaves out what is 0. */
static uint64_t true_number(const char *name)
{
	char quoted[80];
	const char *at;

	snprintf(quoted, sizeof quoted, "\"%s\": ", name);
	at = strstr(truth, quoted);
	return at ? strtoull(at + strlen(quoted), NULL, 10) : 0;
}

/* -------------------------------------------------------------- the machine */

static struct ink_machine *machine;
static uint64_t counters[64];

static void complain(const struct ink_complaint *complaint, void *user)
{
	char text[600];

	(void)user;
	ink_complaint_show(complaint, text, sizeof text);
	print_error("%s\n", text);
}

static void load_machine(const char *name)
{
	struct ink_machine_options o = {.size = sizeof o, .complain = complain, .strict = 1};

	machine = ink_machine_load(name, &o, NULL);
	assert_non_null(machine);
}

static struct ink_table *make_table(enum ink_kind kind)
{
	const struct ink_machine_view *v = ink_machine_view(machine);
	struct ink_options o = {.size = sizeof o,
				.kind = kind,
				.states = v->rules.states,
				.rules = &v->rules,
				.flows = 20000,
				.age_bits = 1,
				.seed = 7};
	struct ink_table *t = ink_create(&o, NULL);

	assert_non_null(t);
	return t;
}

/* Runs the machine over a file; the counters are in `counters` then. */
static void run(const char *path, int no_timeouts)
{
	struct ink_capture_options c = {.size = sizeof c, .file = path};
	struct ink_capture *capture = ink_capture_open(&c, NULL);
	struct ink_packet packets[512];
	struct ink_packets batch = {.at = packets, .room = 512};
	struct ink_table *table = make_table(INK_EXACT);
	struct ink_track_options o = {.size = sizeof o, .machine = machine, .table = table, .seed = 1};
	struct ink_track *track;

	assert_non_null(capture);
	o.link = ink_capture_link(capture);
	o.no_timeouts = no_timeouts;
	track = ink_track_open(&o, NULL);
	assert_non_null(track);
	while (!ink_capture_read(capture, &batch, NULL) && !batch.end)
		assert_int_equal(ink_track_packets(track, &batch), 0);
	ink_track_end(track);
	memcpy(counters, ink_track_counters(track), ink_machine_view(machine)->counters * sizeof *counters);
	ink_track_close(track);
	ink_free(table);
	ink_capture_close(capture);
}

static uint64_t counted(const char *name)
{
	const struct ink_machine_view *v = ink_machine_view(machine);

	for (unsigned i = 0; i < v->counters; i++)
		if (!strcmp(v->counter_names[i], name))
			return counters[i];
	fail_msg("machine %s has no counter %s", v->name, name);
	return 0;
}

/* ------------------------------------------------------------ the comparison */

struct pair {
	const char *counter, *truth;
};

static const struct pair *pairs;
static int failures;

static void compare_file(const char *path, const char *name)
{
	load_truth("tcp_udp", name);
	run(path, 1);
	for (const struct pair *p = pairs; p->counter; p++)
		if (counted(p->counter) != true_number(p->truth)) {
			print_error("%s: %s: %llu, and the truth is %llu\n", name, p->counter,
				    (unsigned long long)counted(p->counter),
				    (unsigned long long)true_number(p->truth));
			failures++;
		}
}

static void compare_all(const char *name, const struct pair *wanted)
{
	load_machine(name);
	pairs = wanted;
	failures = 0;
	print_message("%s: %d captures\n", name, for_each_capture(compare_file));
	ink_machine_free(machine);
	assert_int_equal(failures, 0);
}

static void tcp_counts_the_handshakes(void **state)
{
	static const struct pair wanted[] = {{"handshake_complete", "handshake_complete"},
					     {"half_open", "half_open_syn_synack_no_ack"},
					     {"syn_without_synack", "syn_without_synack"},
					     {NULL, NULL}};

	(void)state;
	compare_all("tcp", wanted);
}

static void teardown_counts_the_ends(void **state)
{
	static const struct pair wanted[] = {{"fin_both", "fin_both_no_rst"},
					     {"rst_no_fin", "rst_no_fin"},
					     {"fin_and_rst", "fin_and_rst"},
					     {NULL, NULL}};

	(void)state;
	compare_all("teardown", wanted);
}

static void flags_counts_illegal_combinations(void **state)
{
	static const struct pair wanted[] = {{"null", "null"},
					     {"syn_fin", "syn_fin"},
					     {"syn_rst", "syn_rst"},
					     {"fin_rst", "fin_rst"},
					     {"fin_without_ack", "fin_without_ack"},
					     {"xmas", "xmas"},
					     {"only_psh_urg", "only_psh_urg"},
					     {"packets", "packets_with_any"},
					     {"flows", "flows_with_illegal_flags"},
					     {NULL, NULL}};

	(void)state;
	compare_all("flags", wanted);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(tcp_counts_the_handshakes),
		cmocka_unit_test(teardown_counts_the_ends),
		cmocka_unit_test(flags_counts_illegal_combinations),
	};

	if (!find_folder()) {
		print_message("skipped: no captures in %s (INK_CAPTURES names another folder)\n", folder);
		return 77;
	}
	return cmocka_run_group_tests_name("machines", tests, NULL, NULL);
}
