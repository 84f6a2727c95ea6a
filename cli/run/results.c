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
static void read_census(struct written *census, const struct member *m)
{
	struct ink_counts counts;

	*census = (struct written){.known = ink_census(m->table, &counts) == 0};
	if (!census->known)
		return;
	census->unsure = counts.unsure;
	for (unsigned i = 0; i < m->view->rules->states; i++)
		census->state[m->view->state_of[i]] += counts.state[i];
}

void results_read(struct results *r, const struct session *s, unsigned i, const struct session *first)
{
	const struct member *m = &s->members[i];

	*r = (struct results){.session = s,
			      .member = m,
			      .first = first,
			      .input = {.size = sizeof r->input},
			      .track = {.size = sizeof r->track},
			      .queue = {.size = sizeof r->queue},
			      .table = stats_of(m->table),
			      .first_table = stats_of(first ? first->members[i].table : NULL),
			      .slow = stats_of(m->slow),
			      .beside = stats_of(m->beside)};
	if (s->capture)
		ink_capture_stats(s->capture, &r->input);
	ink_track_stats_of(s->track, i, &r->track);
	ink_track_queue_stats(s->track, &r->queue);
	read_census(&r->census, m);
	if (s->candidates)
		candidates_size(s->candidates, &r->candidates.flows, &r->candidates.bytes);
}

static unsigned number_of(const struct results *r)
{
	return (unsigned)(r->member - r->session->members);
}

const uint64_t *results_counters(const struct results *r)
{
	return ink_track_counters_of(r->session->track, number_of(r));
}

const uint64_t *results_counters_beside(const struct results *r)
{
	return ink_track_counters_beside_of(r->session->track, number_of(r));
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
	const struct ink_machine_view *v = r->member->view;

	for (unsigned i = 0; r->session->endless && i <= v->rules->states; i++)
		if (raises(&v->action[v->on_end[i]], counter))
			return 1;
	return 0;
}
