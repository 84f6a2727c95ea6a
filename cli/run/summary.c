/* SPDX-License-Identifier: BSD-2-Clause */
/* inkling run: the summary for people. */
#include <inttypes.h>
#include <string.h>

#include "base/rate.h"
#include "cli/figures.h"
#include "cli/run/run.h"
#include "sim/text.h"

#define CONNTRACK_BYTES 256 /* struct nf_conn of Linux, without its hash table and extensions */

/* ------------------------------------------------------------------------ lines */

/* A line of two columns of numbers. */
static void row(FILE *to, const char *label, const char *name, const char *first, const char *second)
{
	fprintf(to, "%-*s%-*s%*s%*s\n", CLI_LABEL_WIDTH, label, CLI_NAME_WIDTH, name, CLI_NUMBER_WIDTH, first,
		CLI_NUMBER_WIDTH, second);
}

/* --------------------------------------------------------------------- blocks */

static void show_packets(FILE *to, const struct results *r)
{
	const struct ink_capture_stats *c = &r->input;

	cli_line(to, "packets", "read", c->packets);
	if (r->session->interrupted_by)
		fprintf(to, "%-*sinterrupted: the rest of the input was not read\n", CLI_LABEL_WIDTH, "");
	fprintf(to, "%-*s%s in %s of packet time\n", CLI_LABEL_WIDTH, "", cli_sized(c->bytes),
		cli_lasting(c->last - c->first));
	for (unsigned i = INK_NOT_SKIPPED + 1; i < INK_SKIPS; i++)
		if (c->skipped[i])
			cli_line(to, "", ink_skip_name((enum ink_skip)i), c->skipped[i]);
	if (c->backwards)
		cli_line(to, "", "with time going back", c->backwards);
	if (r->session->request->interface)
		cli_line(to, "", "dropped by the kernel", c->dropped + c->dropped_by_interface);
}

static void show_queue(FILE *to, const struct ink_queue_stats *q)
{
	char rate[INK_RATE_TEXT];

	if (!q->rate)
		return;
	ink_rate_show(q->rate, rate);
	cli_line(to, "queue", "joined", q->joined);
	cli_line(to, "", "lost at the tail", q->lost);
	fprintf(to, "%-*s%s at %s, waits %.3f ms, at worst %.3f ms\n", CLI_LABEL_WIDTH, "",
		cli_sized(q->bytes), rate, q->joined ? (double)q->wait / (double)q->joined / 1e6 : 0,
		(double)q->worst / 1e6);
}

/* None without time-outs: the table then has no age bits. */
static void show_times(FILE *to, const struct results *r)
{
	char other[CLI_LABEL_WIDTH + 1];

	snprintf(other, sizeof other, "%*s", CLI_LABEL_WIDTH, "");
	cli_put_times(r->member->view, session_ages(r->session), (struct cli_lines){"time        ", other},
		      to);
}

static void show_flows(FILE *to, const struct results *r)
{
	cli_line(to, "flows", "begun", r->track.begun);
	cli_line(to, "", "expired", r->track.expired);
	if (r->track.told)
		cli_line(to, "", "steps told by others", r->track.told);
	if (r->track.refused)
		cli_line(to, "", "refused for lack of room", r->track.refused);
	if (r->table.replaced)
		cli_line(to, "", "replaced to make room", r->table.replaced);
	if (r->track.unsure)
		cli_line(to, "", "steps unsure", r->track.unsure);
}

/* A ladder has many states, and most are empty: only in a short list is it worth seeing which. */
static void show_census(FILE *to, const struct results *r)
{
	enum { SHORT = 12 };
	const struct ink_machine_view *view = r->member->view;
	unsigned empty = 0;

	for (unsigned i = 0; r->census.known && i < view->states; i++) {
		int shown = view->states <= SHORT || r->census.state[i];

		if (shown)
			cli_line(to, empty == i ? "states" : "", view->state_names[i], r->census.state[i]);
		empty += !shown;
	}
	if (empty)
		cli_line(to, empty == view->states ? "states" : "", "states without a flow", empty);
	if (r->census.unsure)
		cli_line(to, "", "unsure", r->census.unsure);
}

static void show_missing(FILE *to, const struct session *first)
{
	uint64_t missing;

	if (first_pass_misses(first->first_pass, &missing))
		cli_line(to, "", "missing, flows at most", missing);
	else
		fprintf(to, "%-*smissing: unknown for this kind of table\n", CLI_LABEL_WIDTH, "");
}

/* Refused flows continue in the slow table, if there is one, or in the second pass; replaced ones are gone. */
static int lost_flows(const struct results *r)
{
	return (r->track.refused && !r->member->slow && !r->session->first_pass) || r->table.replaced;
}

static int can_replace(const struct ink_rules *rules)
{
	for (unsigned i = 0; rules->timings && i < rules->states; i++)
		if (rules->timings[i].expendable)
			return 1;
	return 0;
}

/* The options that would help. A replaced flow is neither refused nor unsure: --exact-for does not keep it. */
static void show_lack_of_room(FILE *to, const struct results *results)
{
	const struct request *r = results->session->request;
	struct ink_options size = {.size = sizeof size};
	int replaces = r->table.full == INK_REPLACE;
	const char *policy = !replaces && can_replace(results->member->view->rules) ? "--full replace" : NULL;
	const char *slow = replaces || r->verify ? NULL : "--exact-for unsure";

	session_size(results->session, results->member, &size);
	fprintf(to, "%-*sthe table was full: counts and reports may lack flows\n", CLI_LABEL_WIDTH, "");
	fprintf(to, "%-*smore %s", CLI_LABEL_WIDTH, "", size.bytes ? "--memory" : "--flows");
	if (policy)
		fprintf(to, "%s%s", slow ? ", " : " or ", policy);
	if (slow)
		fprintf(to, " or %s", slow);
	fprintf(to, " helps\n");
}

static void show_counters(FILE *to, const struct results *r)
{
	const struct session *s = r->session;
	const struct ink_machine_view *view = r->member->view;
	const char *label = s->second ? "of these" : "counts";

	for (unsigned i = 0; i < view->counters; i++)
		cli_line(to, i ? "" : label, view->counter_names[i], results_counters(r)[i]);
	for (unsigned i = 0; i < view->counters; i++)
		if (results_incomplete(r, i))
			fprintf(to, "%-*s%s lacks the flows left at the end: %s\n", CLI_LABEL_WIDTH, "",
				view->counter_names[i],
				s->interrupted_by ? "interrupted" : "this kind cannot enumerate them");
	if (lost_flows(r))
		show_lack_of_room(to, r);
}

/* Those that some packet got. */
static void show_verdicts(FILE *to, const struct ink_track_stats *k)
{
	const struct {
		const char *name;
		uint64_t packets;
	} all[] = {{"drop", k->dropped}, {"limit", k->limited},        {"mark", k->marked},
		   {"pass", k->passed},  {"priority", k->prioritized}, {"class", k->classed}};
	const char *label = "verdicts";

	for (unsigned i = 0; i < sizeof all / sizeof all[0]; i++) {
		if (!all[i].packets)
			continue;
		cli_line(to, label, all[i].name, all[i].packets);
		label = "";
	}
}

static void show_outputs(FILE *to, const struct results *r)
{
	const struct session *s = r->session;
	const struct member *m = r->member;

	cli_line(to, "reports", s->request->output ? s->request->output : "made (-o shows them)", m->reports);
	if (r->first)
		show_missing(to, r->first);
	if (s->request->write)
		cli_line(to, "written", s->request->write, m->saved);
	show_verdicts(to, &r->track);
}

static void show_held(FILE *to, const char *label, uint64_t bytes, uint64_t flows)
{
	fprintf(to, "%-*s%-*s%*s flow%s held\n", CLI_LABEL_WIDTH, label, CLI_NAME_WIDTH, cli_sized(bytes),
		CLI_NUMBER_WIDTH, cli_grouped(flows), cli_plural(flows));
}

/* What other tables would take for as many flows. */
static void show_peers(FILE *to, const struct results *r)
{
	struct ink_options o = {.size = sizeof o};
	uint64_t flows;
	struct ink_options exact = {.size = sizeof exact, .kind = INK_EXACT, .states = 1};
	struct ink_plan plan = {.size = sizeof plan};

	session_size(r->session, r->member, &o);
	flows = exact.flows = o.flows ? o.flows : results_main_table(r)->flows;
	if (flows && ink_plan(&exact, &plan, NULL) == 0)
		fprintf(to, "%-*s%s flow%s: %s with whole ids, %s in nf_conntrack\n", CLI_LABEL_WIDTH, "",
			cli_grouped(flows), cli_plural(flows), cli_sized(plan.bytes),
			cli_sized(flows * CONNTRACK_BYTES));
}

static void show_tables(FILE *to, const struct results *r)
{
	const struct session *s = r->session;
	const struct ink_stats *table = results_main_table(r);

	show_held(to, "table", table->bytes, table->flows);
	show_peers(to, r);
	if (r->first)
		show_held(to, "second pass", r->table.bytes, r->table.flows);
	if (s->candidates)
		show_held(to, "candidates", r->candidates.bytes, r->candidates.flows);
	if (r->member->slow)
		show_held(to, "slow path", r->slow.bytes, r->slow.flows);
	if (r->member->beside)
		show_held(to, "exact", r->beside.bytes, r->beside.flows);
}

/* Counters for which the exact table has another number. */
static void show_other_counts(FILE *to, const struct results *r)
{
	const struct ink_machine_view *view = r->member->view;
	const uint64_t *ours = results_counters(r), *exact = results_counters_beside(r);
	int differ = 0;

	for (unsigned i = 0; i < view->counters; i++) {
		if (ours[i] == exact[i])
			continue;
		if (!differ++)
			row(to, "counts", "that differ", "table", "exact");
		row(to, "", view->counter_names[i], cli_grouped(ours[i]), cli_grouped(exact[i]));
	}
}

/* Packets about which the machine decides otherwise with the exact table. */
static void show_other_drops(FILE *to, const struct tally *t)
{
	if (!t->extra_drops && !t->missing_drops)
		return;
	cli_line(to, "drops", "by errors alone", t->extra_drops);
	cli_line(to, "", "missing", t->missing_drops);
}

static void show_verify(FILE *to, const struct results *r)
{
	const struct tally *t = verifier_tally(r->member->verifier);

	fputc('\n', to);
	row(to, "verify", "", "steps", "flows");
	row(to, "", "in all", cli_grouped(t->steps), cli_grouped(t->all_flows));
	for (unsigned d = 0; d < DIFFERENCES; d++)
		row(to, "", difference_text((enum difference)d), cli_grouped(t->events[d]),
		    cli_grouped(t->flows[d]));
	cli_line(to, "settled", "times", t->settled);
	cli_line(to, "", "lost", t->lost);
	cli_line(to, "", "in another state", t->changed);
	if (r->track.told || t->missing) {
		cli_line(to, "told", "steps by errors alone", t->extra);
		cli_line(to, "", "steps missing", t->missing);
	}
	show_other_drops(to, t);
	show_other_counts(to, r);
}

/* A random seed is not shown: it is the secret by which nobody can choose flows that collide. */
static void show_seed(FILE *to, const struct request *r)
{
	if (r->seed)
		fprintf(to, "%-*s%" PRIu64 "\n", CLI_LABEL_WIDTH, "seed", r->seed);
	else
		fprintf(to, "%-*srandom (--seed N makes a run repeatable)\n", CLI_LABEL_WIDTH, "seed");
}

static const char *input_name(const struct request *r)
{
	if (!r->file)
		return r->interface;
	return strcmp(r->file, "-") ? r->file : "standard input";
}

/* "scan, tcp on x.pcap", and the input. */
static void show_head(FILE *to, const struct results *r)
{
	const struct session *s = r->session;

	for (unsigned i = 0; i < s->n; i++)
		fprintf(to, "%s%s", i ? ", " : "", s->members[i].view->name);
	fputs(" on ", to);
	sim_put_visible(input_name(s->request), to);
	fputs("\n\n", to);
	show_packets(to, r);
	show_queue(to, &r->queue);
}

/* Only among several does a machine need its name. */
static void show_name(FILE *to, const struct results *r)
{
	if (r->session->n > 1)
		fprintf(to, "\n%-*s%s, key %s\n", CLI_LABEL_WIDTH, "machine", r->member->view->name,
			r->member->view->key_text);
}

void summary_show(FILE *to, const struct results *r)
{
	const struct session *s = r->session;

	if (r->member == s->members)
		show_head(to, r);
	show_name(to, r);
	show_times(to, r);
	show_flows(to, r);
	show_census(to, r);
	show_counters(to, r);
	show_outputs(to, r);
	show_tables(to, r);
	if (r->member == s->members + s->n - 1)
		show_seed(to, s->request);
	if (r->member->verifier)
		show_verify(to, r);
}
