/* SPDX-License-Identifier: BSD-2-Clause */
/* inkling status: for people. */
#include <inttypes.h>
#include <string.h>

#include "cli/figures.h"
#include "cli/kernel/queues.h"
#include "cli/kernel/status.h"
#include "sim/text.h"

/* A line of one word. */
static void text_line(const char *label, const char *name, const char *text)
{
	printf("%-*s%-*s%*s\n", CLI_LABEL_WIDTH, label, CLI_NAME_WIDTH, name, CLI_NUMBER_WIDTH, text);
}

/* Rows that are rare stand there only if they happened. */
static void rare(const char *label, const char *name, uint64_t number)
{
	if (number)
		cli_line(stdout, label, name, number);
}

/* ----------------------------------------------------------------------------- the set */

static void show_head(const struct set_status *s)
{
	sim_put_visible(s->name, stdout);
	fputs(": ", stdout);
	for (unsigned i = 0; i < s->n; i++)
		printf("%s%s", i ? ", " : "", s->at[i].view->name);
	fputs(" at ", stdout);
	places_show(stdout, &s->places);
	printf(s->control->enforce ? ", enforced\n\n" : "\n\n");
}

/* All machines of a set see the same packets. */
static void show_packets(const struct set_status *s)
{
	const struct ink_kernel_counts *c = &s->at[0].counts;

	cli_line(stdout, "packets", "seen", c->packets);
	rare("", "at a second hook", c->again);
	rare("", "segments in them", c->segments);
	rare("", "bundles of RTP", c->bundles);
	for (unsigned i = INK_NOT_SKIPPED + 1; i < INK_SKIPS; i++)
		rare("", ink_skip_name((enum ink_skip)i), c->skipped[i]);
}

static void show_reports(const struct set_status *s)
{
	if (s->reader)
		printf("%-*sread by process %u\n", CLI_LABEL_WIDTH, "reports", s->reader);
	else
		printf("%-*sread by nobody (inkling reports %s)\n", CLI_LABEL_WIDTH, "reports", s->name);
	cli_line(stdout, "", "lost for lack of room", s->control->lost);
	if (s->control->generation)
		cli_line(stdout, "reloaded", "times", s->control->generation);
}

/* ------------------------------------------------------------------------- one machine */

static void show_flows(const struct machine_status *m)
{
	const struct ink_kernel_counts *c = &m->counts;

	cli_line(stdout, "flows", "begun", c->begun);
	cli_line(stdout, "", "expired", m->table->expired);
	rare("", "steps told by others", c->told);
	rare("", "refused for lack of room", c->refused);
	rare("", "replaced to make room", m->table->replaced);
	rare("", "steps unsure", c->unsure);
	rare("", "steps given up", c->given_up);
}

/* A ladder has many states, and most are empty: only in a short list is it worth seeing which. */
static void show_states(const struct machine_status *m)
{
	enum { SHORT = 12 };
	unsigned empty = 0, shown = 0;

	for (unsigned i = 0; i < m->view->states; i++) {
		if (m->view->states > SHORT && !m->states[i]) {
			empty++;
			continue;
		}
		cli_line(stdout, shown++ ? "" : "states", m->view->state_names[i], m->states[i]);
	}
	if (empty)
		cli_line(stdout, shown++ ? "" : "states", "states without a flow", empty);
	rare("", "unsure", m->unsure);
}

static void show_counters(const struct machine_status *m)
{
	for (unsigned i = 0; i < m->view->counters; i++)
		cli_line(stdout, i ? "" : "counts", m->view->counter_names[i], m->counters[i]);
}

/* Whether or not they are carried out. */
static void show_verdicts(const struct set_status *s, const struct machine_status *m)
{
	const struct ink_kernel_counts *c = &m->counts;
	const struct {
		const char *name;
		uint64_t packets;
	} all[] = {{"drop", c->dropped}, {"limit", c->limited},        {"mark", c->marked},
		   {"pass", c->passed},  {"priority", c->prioritized}, {"class", c->classed}};
	const char *label = "verdicts", *done = s->control->enforce ? "" : ", not carried out";
	char name[32];

	for (unsigned i = 0; i < sizeof all / sizeof all[0]; i++) {
		if (!all[i].packets)
			continue;
		snprintf(name, sizeof name, "%s%s", all[i].name, done);
		cli_line(stdout, label, name, all[i].packets);
		label = "";
	}
	cli_line(stdout, "reports", "made", c->reports);
	rare("", "packets saved", c->saved);
}

static void show_table(const struct machine_status *m)
{
	char share[24];
	double load = m->stats.cells ? (double)m->stats.flows / (double)m->stats.cells : 0;

	printf("%-*s%-*s%*s flow%s held\n", CLI_LABEL_WIDTH, "table", CLI_NAME_WIDTH,
	       cli_sized(m->stats.bytes), CLI_NUMBER_WIDTH, cli_grouped(m->stats.flows),
	       cli_plural(m->stats.flows));
	text_line("", "load", cli_show_share(load, share, sizeof share));
	text_line("", "strangers answered", cli_show_share(m->error, share, sizeof share));
	printf("%-*s%-*s%*s with %s flow%s\n", CLI_LABEL_WIDTH, "", CLI_NAME_WIDTH, "planned",
	       CLI_NUMBER_WIDTH, cli_show_share(m->plan->error, share, sizeof share),
	       cli_grouped(m->plan->flows), cli_plural(m->plan->flows));
	rare("", "flows in the side table", m->stats.side_flows);
}

/* Microseconds, which is what a portion takes. */
static void show_sweeps(const struct set_status *s, const struct machine_status *m)
{
	char text[32];

	if (!m->table->timeouts)
		return;
	cli_line(stdout, "sweeps", "portions", m->table->portions);
	snprintf(text, sizeof text, "%.1f us", (double)m->table->longest / 1e3);
	text_line("", "the longest", text);
	text_line("", "share of a processor", cli_show_share(status_sweeping(s, m), text, sizeof text));
}

static void show_machine(const struct set_status *s, const struct machine_status *m)
{
	printf("\n%-*s%s, key %s\n", CLI_LABEL_WIDTH, "machine", m->view->name, m->view->key_text);
	cli_put_times(m->view, m->ages, (struct cli_lines){"time        ", "            "}, stdout);
	show_flows(m);
	show_states(m);
	show_counters(m);
	show_verdicts(s, m);
	show_table(m);
	show_sweeps(s, m);
}

static void show(const struct set_status *s)
{
	show_head(s);
	show_packets(s);
	show_reports(s);
	for (unsigned i = 0; i < s->n_queues; i++)
		queues_lines(&s->queues[i]);
	for (unsigned i = 0; i < s->n; i++)
		show_machine(s, &s->at[i]);
}

/* -------------------------------------------------------------------------- the command */

static int show_set(struct ink_kernel *kernel, const char *name, int json)
{
	static struct set_status s;

	strcpy(s.name, name);
	if (status_read(&s, kernel))
		return CLI_FAILED;
	if (json)
		status_record(stdout, &s);
	else
		show(&s);
	return CLI_DONE;
}

static int show_one(const char *word, int json)
{
	char name[INK_KERNEL_PATH + 1];
	struct ink_kernel *kernel = sets_open(word, name);
	int error = kernel ? show_set(kernel, name, json) : CLI_FAILED;

	ink_kernel_close(kernel);
	return error;
}

/* A set that cannot be read does not hide the others. */
static int show_all(int json)
{
	static struct sets sets;
	int error = sets_list(&sets);

	for (unsigned i = 0; i < sets.n; i++) {
		if (i && !json)
			putchar('\n');
		if (show_one(sets.name[i], json))
			error = CLI_FAILED;
	}
	if (!error && !sets.n && !json)
		puts("nothing is attached");
	return error;
}

int kernel_status(const struct kernel_request *r)
{
	return r->set ? show_one(r->set, r->json) : show_all(r->json);
}
