/* SPDX-License-Identifier: BSD-2-Clause */
/* inkling status --json: a set is an object, on a line of its own. docs/kernel.md has its fields. */
#include <inttypes.h>

#include "cli/kernel/queues.h"
#include "cli/kernel/status.h"
#include "cli/record/record.h"
#include "sim/text.h"

static void put_number(FILE *to, const char *name, uint64_t number)
{
	fprintf(to, ",\"%s\":%" PRIu64, name, number);
}

static void put_hooks(FILE *to, const struct places *places)
{
	fputs(",\"hooks\":[", to);
	for (unsigned i = 0; i < places->n; i++) {
		fputs(i ? ",{\"in_iface\":" : "{\"in_iface\":", to);
		sim_put_json(places->at[i].interface, to);
		fprintf(to, ",\"hook\":\"%s\"}", hook_names[places->at[i].hook]);
	}
	putc(']', to);
}

/* The number of the bit; null: there is none. */
static void put_mark_bit(FILE *to, uint32_t mask)
{
	unsigned bit = 0;

	while (mask && !(mask >> bit & 1))
		bit++;
	fprintf(to, mask ? ",\"mark_bit\":%u" : ",\"mark_bit\":null", bit);
}

/* All machines of a set see the same packets. */
static void put_packets(FILE *to, const struct ink_kernel_counts *c)
{
	put_number(to, "packets", c->packets);
	put_number(to, "again", c->again);
	put_number(to, "segments", c->segments);
	put_number(to, "bundles", c->bundles);
	record_skipped(to, c->skipped);
}

static void put_counts(FILE *to, const struct machine_status *m)
{
	const struct ink_kernel_counts *c = &m->counts;

	put_number(to, "eventless", c->eventless);
	put_number(to, "steps", c->steps);
	put_number(to, "told", c->told);
	put_number(to, "flows", c->begun);
	put_number(to, "expired", m->table->expired);
	put_number(to, "unsure", c->unsure);
	put_number(to, "refused", c->refused);
	put_number(to, "given_up", c->given_up);
	put_number(to, "reports", c->reports);
	put_number(to, "saved", c->saved);
	fprintf(to,
		",\"verdicts\":{\"drop\":%" PRIu64 ",\"limit\":%" PRIu64 ",\"mark\":%" PRIu64
		",\"pass\":%" PRIu64 ",\"priority\":%" PRIu64 ",\"class\":%" PRIu64 "}",
		c->dropped, c->limited, c->marked, c->passed, c->prioritized, c->classed);
}

static void put_table(FILE *to, const struct machine_status *m)
{
	const struct ink_stats *t = &m->stats;

	record_table(to, "table", t);
	fprintf(to, ",\"load\":%.6g,\"error\":%.6g,\"planned\":{\"flows\":%" PRIu64 ",\"error\":%.6g}",
		t->cells ? (double)t->flows / (double)t->cells : 0, m->error, m->plan->flows, m->plan->error);
}

/* Times are in seconds, as everywhere in records. */
static void put_sweeps(FILE *to, const struct set_status *s, const struct machine_status *m)
{
	fprintf(to, ",\"sweeps\":{\"portions\":%" PRIu64 ",\"longest\":%.9f,\"seconds\":%.9f,\"share\":%.6g}",
		m->table->portions, (double)m->table->longest / 1e9, (double)m->table->swept / 1e9,
		status_sweeping(s, m));
}

static void put_machine(FILE *to, const struct set_status *s, const struct machine_status *m)
{
	fputs("{\"machine\":", to);
	sim_put_json(m->view->name, to);
	fprintf(to, ",\"machine_hash\":\"%08" PRIx32 "\",\"key\":", m->view->hash);
	sim_put_json(m->view->key_text, to);
	put_counts(to, m);
	record_states(to, m->view, m->states, m->unsure);
	record_counts(to, m->view, m->counters);
	fputs(",\"times\":", to);
	cli_put_times_json(m->view, m->ages, to);
	put_table(to, m);
	put_sweeps(to, s, m);
	putc('}', to);
}

/* Without a machine that looks at them there are none. */
static void put_queues(FILE *to, const struct set_status *s)
{
	fputs(",\"queues\":[", to);
	for (unsigned i = 0; i < s->n_queues; i++) {
		fputs(i ? "," : "", to);
		queues_record(to, &s->queues[i]);
	}
	putc(']', to);
}

void status_record(FILE *to, const struct set_status *s)
{
	const struct ink_kernel_control *c = s->control;

	fputs("{\"set\":", to);
	sim_put_json(s->name, to);
	put_hooks(to, &s->places);
	fprintf(to, ",\"enforce\":%s", c->enforce ? "true" : "false");
	put_mark_bit(to, c->mark_bit);
	put_number(to, "reloaded", c->generation);
	put_number(to, "reports_lost", c->lost);
	if (s->reader)
		put_number(to, "reader", s->reader);
	else
		fputs(",\"reader\":null", to);
	put_packets(to, &s->at[0].counts);
	put_queues(to, s);
	fputs(",\"machines\":[", to);
	for (unsigned i = 0; i < s->n; i++) {
		fputs(i ? "," : "", to);
		put_machine(to, s, &s->at[i]);
	}
	fputs("]}\n", to);
}
