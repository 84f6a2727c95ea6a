/* SPDX-License-Identifier: BSD-2-Clause */
/* inkling run: reads every number that a summary needs, once. */
#include "cli/run/run.h"

static struct ink_stats stats_of(const struct ink_table *table)
{
	struct ink_stats stats = {.size = sizeof stats};

	if (table)
		ink_stats(table, &stats);
	return stats;
}

/* The compiler makes several states of a written one; their flows are added up. */
static void read_census(struct written *census, const struct session *s)
{
	struct ink_counts counts;

	*census = (struct written){.known = ink_census(s->table, &counts) == 0};
	if (!census->known)
		return;
	census->unsure = counts.unsure;
	for (unsigned i = 0; i < s->view->rules->states; i++)
		census->state[s->view->state_of[i]] += counts.state[i];
}

void results_read(struct results *r, const struct session *s, const struct session *first)
{
	*r = (struct results){.session = s,
			      .first = first,
			      .input = {.size = sizeof r->input},
			      .track = {.size = sizeof r->track},
			      .table = stats_of(s->table),
			      .first_table = stats_of(first ? first->table : NULL),
			      .slow = stats_of(s->slow),
			      .beside = stats_of(s->beside)};
	if (s->capture)
		ink_capture_stats(s->capture, &r->input);
	ink_track_stats(s->track, &r->track);
	read_census(&r->census, s);
	if (s->candidates)
		candidates_size(s->candidates, &r->candidates.flows, &r->candidates.bytes);
}

const struct ink_stats *results_main_table(const struct results *r)
{
	return r->first ? &r->first_table : &r->table;
}

static int raises(const struct ink_action *a, unsigned counter)
{
	for (unsigned i = 0; i < a->n_countings; i++)
		if (a->countings[i].counter == counter)
			return 1;
	return 0;
}

/* The last of the rows is that of unsure. */
int results_incomplete(const struct results *r, unsigned counter)
{
	const struct ink_machine_view *v = r->session->view;

	for (unsigned i = 0; r->session->endless && i <= v->rules->states; i++)
		if (raises(&v->action[v->on_end[i]], counter))
			return 1;
	return 0;
}
