/* SPDX-License-Identifier: BSD-2-Clause */
/* inkling run: NDJSON: statistics (USR1), and the summary at the end; they have the same fields. */
#include <inttypes.h>

#include "cli/run/run.h"
#include "sim/text.h"

/* -------------------------------------------------------------------- summary */

/* The counters that lack the flows left at the end, if there are any. */
static void put_incomplete(FILE *to, const struct results *r)
{
	const struct ink_machine_view *view = r->member->view;
	unsigned lacking = 0;

	for (unsigned i = 0; i < view->counters; i++)
		if (results_incomplete(r, i)) {
			fputs(lacking++ ? "," : ",\"incomplete\":[", to);
			sim_put_json(view->counter_names[i], to);
		}
	if (lacking)
		putc(']', to);
}

/* The second pass's table, the candidates of both, and what may be missing. */
static void put_passes(FILE *to, const struct results *r)
{
	uint64_t missing;

	record_table(to, "second_table", &r->table);
	fprintf(to, ",\"candidates\":{\"bytes\":%" PRIu64 ",\"flows\":%" PRIu64 "}", r->candidates.bytes,
		r->candidates.flows);
	if (first_pass_misses(r->first->first_pass, &missing))
		fprintf(to, ",\"may_miss\":%" PRIu64, missing);
	else
		fputs(",\"may_miss\":null", to);
}

static void put_verify(FILE *to, const struct results *r)
{
	const struct member *m = r->member;
	const struct tally *t = m->verifier ? verifier_tally(m->verifier) : NULL;

	if (!t) {
		fputs(",\"verify\":null", to);
		return;
	}
	fprintf(to, ",\"verify\":{\"steps\":%" PRIu64 ",\"flows\":%" PRIu64, t->steps, t->all_flows);
	for (unsigned d = 0; d < DIFFERENCES; d++)
		fprintf(to, ",\"%s\":{\"events\":%" PRIu64 ",\"flows\":%" PRIu64 "}",
			difference_name((enum difference)d), t->events[d], t->flows[d]);
	fprintf(to, ",\"settled\":%" PRIu64 ",\"settled_lost\":%" PRIu64 ",\"settled_changed\":%" PRIu64,
		t->settled, t->lost, t->changed);
	if (r->session->n > 1)
		fprintf(to, ",\"extra_steps\":%" PRIu64 ",\"missing_steps\":%" PRIu64, t->extra, t->missing);
	fprintf(to, ",\"extra_drops\":%" PRIu64 ",\"missing_drops\":%" PRIu64, t->extra_drops,
		t->missing_drops);
	record_counts(to, m->view, results_counters_beside(r));
	putc('}', to);
}

static void put_traffic(FILE *to, const struct results *r)
{
	const struct member *m = r->member;
	const struct ink_capture_stats *c = &r->input;
	const struct ink_track_stats *k = &r->track;

	fprintf(to, ",\"packets\":%" PRIu64 ",\"bytes\":%" PRIu64 ",\"seconds\":%.9f", c->packets, c->bytes,
		(double)(c->last - c->first) / 1e9);
	record_skipped(to, c->skipped);
	fprintf(to,
		",\"flows\":%" PRIu64 ",\"expired\":%" PRIu64 ",\"unsure\":%" PRIu64 ",\"reports\":%" PRIu64
		",\"saved\":%" PRIu64 ",\"dropped_by_kernel\":%" PRIu64,
		k->begun, k->expired, k->unsure, m->reports, m->saved, c->dropped + c->dropped_by_interface);
}

/* What the machine says of packets, and the queue of those that it lets pass. */
static void put_verdicts(FILE *to, const struct results *r)
{
	const struct ink_track_stats *k = &r->track;
	const struct ink_queue_stats *q = &r->queue;

	fprintf(to,
		",\"verdicts\":{\"drop\":%" PRIu64 ",\"limit\":%" PRIu64 ",\"mark\":%" PRIu64
		",\"pass\":%" PRIu64 ",\"priority\":%" PRIu64 ",\"class\":%" PRIu64 "}",
		k->dropped, k->limited, k->marked, k->passed, k->prioritized, k->classed);
	if (q->rate)
		fprintf(to,
			",\"queue\":{\"rate\":%" PRIu64 ",\"joined\":%" PRIu64 ",\"bytes\":%" PRIu64
			",\"lost\":%" PRIu64 ",\"mean_wait\":%.9f,\"worst_wait\":%.9f}",
			q->rate, q->joined, q->bytes, q->lost,
			q->joined ? (double)q->wait / (double)q->joined / 1e9 : 0, (double)q->worst / 1e9);
}

/* The circumstances of the run. */
static void put_run(FILE *to, const struct session *s)
{
	if (s->request->seed)
		fprintf(to, ",\"seed\":%" PRIu64, s->request->seed);
	else
		fputs(",\"seed\":null", to);
	fprintf(to, ",\"interrupted\":%s", s->interrupted_by ? "true" : "false");
}

void record_summary(FILE *to, const char *type, const struct results *r)
{
	const struct session *s = r->session;
	const struct ink_machine_view *view = r->member->view;

	record_head(to, type, r->input.packets ? &r->input.last : NULL, &s->source);
	record_machine(to, view);
	put_run(to, s);
	put_traffic(to, r);
	put_verdicts(to, r);
	record_states(to, view, r->census.known ? r->census.state : NULL, r->census.unsure);
	record_counts(to, view, results_counters(r));
	put_incomplete(to, r);
	fputs(",\"times\":", to);
	cli_put_times_json(view, session_ages(s), to);
	record_table(to, "table", results_main_table(r));
	if (r->first)
		put_passes(to, r);
	if (r->member->slow)
		record_table(to, "slow_table", &r->slow);
	put_verify(to, r);
	fputs("}\n", to);
}
