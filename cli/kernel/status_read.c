/* SPDX-License-Identifier: BSD-2-Clause */
/* inkling status: reads every number once. */
#include <string.h>
#include <time.h>

#include "cli/kernel/status.h"

/* The compiler makes several states of a written one; their flows are added up. */
static void read_census(struct machine_status *m, const struct ink_table *table)
{
	struct ink_counts counts;

	if (ink_census(table, &counts))
		return;
	m->unsure = counts.unsure;
	for (unsigned i = 0; i < m->view->rules->states; i++)
		m->states[m->view->state_of[i]] += counts.state[i];
}

/*
 * A stranger is compared with the entries of two parts, and each agrees with it with the probability of one in all
 * fingerprints, of which there are as many as tags other than 0, times 2 for every bit above.
 */
static double error_of(const struct ink_line_shape *s, double load)
{
	double fingerprints = (double)s->tag_mask * (double)(1u << s->above_bits);

	return 2. * s->words * s->lanes * load / fingerprints;
}

static int read_machine(struct machine_status *m, struct ink_kernel *kernel, unsigned i)
{
	struct ink_why why = {"no memory"};
	struct ink_table *copy = ink_kernel_copy(kernel, i, &why);

	m->view = ink_machine_view(ink_machines_at(ink_kernel_machines(kernel), i));
	m->table = ink_kernel_table(kernel, i);
	m->ages = (struct cli_ages){INK_LINE, m->table->timeouts ? m->table->age_bits : 0};
	m->plan = ink_kernel_planned(kernel, i);
	m->stats.size = sizeof m->stats;
	if (!copy)
		return cli_failed("%s: %s", m->view->name, why.text);
	ink_stats(copy, &m->stats);
	read_census(m, copy);
	ink_free(copy);
	if (m->stats.cells)
		m->error = error_of(&m->table->shape, (double)m->stats.flows / (double)m->stats.cells);
	if (ink_kernel_counts(kernel, i, &m->counts) || ink_kernel_counters(kernel, i, m->counters))
		return cli_failed("%s: the kernel does not hand out its counts", m->view->name);
	return CLI_DONE;
}

int status_read(struct set_status *s, struct ink_kernel *kernel)
{
	int error = CLI_DONE;

	s->control = ink_kernel_control(kernel);
	sets_places(kernel, &s->places);
	s->reader = ink_kernel_reader(kernel);
	s->n = ink_machines_count(ink_kernel_machines(kernel));
	memset(s->at, 0, sizeof s->at);
	for (unsigned i = 0; i < s->n && !error; i++)
		error = read_machine(&s->at[i], kernel, i);
	if (!error && ink_kernel_queues(kernel, s->queues, &s->n_queues))
		error = cli_failed("%s: the kernel does not hand out what waits", s->name);
	return error;
}

double status_sweeping(const struct set_status *s, const struct machine_status *m)
{
	struct timespec boot;
	uint64_t now;

	clock_gettime(CLOCK_BOOTTIME, &boot);
	now = (uint64_t)boot.tv_sec * 1000000000 + (uint64_t)boot.tv_nsec;
	return now > s->control->began ? (double)m->table->swept / (double)(now - s->control->began) : 0;
}
