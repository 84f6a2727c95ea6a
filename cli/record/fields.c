/* SPDX-License-Identifier: BSD-2-Clause */
/* NDJSON: objects of summaries. */
#include <inttypes.h>

#include "cli/record/record.h"
#include "sim/text.h"

static void put_count(FILE *to, const char *before, const char *name, uint64_t count)
{
	fputs(before, to);
	sim_put_json(name, to);
	fprintf(to, ":%" PRIu64, count);
}

void record_skipped(FILE *to, const uint64_t skipped[INK_SKIPS])
{
	const char *before = "";

	fputs(",\"skipped\":{", to);
	for (unsigned i = INK_NOT_SKIPPED + 1; i < INK_SKIPS; i++)
		if (skipped[i]) {
			put_count(to, before, ink_skip_name((enum ink_skip)i), skipped[i]);
			before = ",";
		}
	putc('}', to);
}

void record_states(FILE *to, const struct ink_machine_view *view, const uint64_t *states, uint64_t unsure)
{
	if (!states) {
		fputs(",\"states\":null", to);
		return;
	}
	fputs(",\"states\":{", to);
	for (unsigned i = 0; i < view->states; i++)
		put_count(to, i ? "," : "", view->state_names[i], states[i]);
	put_count(to, view->states ? "," : "", "unsure", unsure);
	putc('}', to);
}

void record_counts(FILE *to, const struct ink_machine_view *view, const uint64_t *counters)
{
	fputs(",\"counts\":{", to);
	for (unsigned i = 0; i < view->counters; i++)
		put_count(to, i ? "," : "", view->counter_names[i], counters[i]);
	putc('}', to);
}

void record_table(FILE *to, const char *name, const struct ink_stats *t)
{
	fprintf(to,
		",\"%s\":{\"bytes\":%" PRIu64 ",\"cells\":%" PRIu64 ",\"flows\":%" PRIu64
		",\"side_flows\":%" PRIu64 ",\"collisions\":%" PRIu64 ",\"refused\":%" PRIu64
		",\"replaced\":%" PRIu64 ",\"marked\":%" PRIu64 ",\"expired\":%" PRIu64 "}",
		name, t->bytes, t->cells, t->flows, t->side_flows, t->collisions, t->refused, t->replaced,
		t->marked, t->expired);
}
