/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Codes for states and slots for counters, which outlive the machine.
 *
 *     machine 1   new 0, open 1 (low), open 2 (high)         codes   0 new   1 open/0   2 open/1
 *     machine 2   open 0 (low), open 1 (high), closing 2             0 new   1 open/0   2 open/1   3 closing
 *
 * After a reload an entry has the code that it had. A state of the same name that remembers the same things has
 * its old codes; a new one gets free codes. A name that is gone keeps its codes, because flows may be in it.
 */
#include "kernel/inside.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

/* ------------------------------------------------------------------ states */

static int is_state(const struct ink_kernel_code *c, const struct ink_state *s, unsigned copy)
{
	return c->name && !strcmp(c->name, s->name) && c->splits == (s->splits != 0) &&
	       c->tails == (s->tails != 0) && c->copy == copy;
}

/* A free code: that which the machine itself has for it, or the first. */
static unsigned free_code(const struct ink_kernel_numbering *n, unsigned wanted)
{
	unsigned code = 0;

	if (wanted < n->codes && !n->code[wanted].name)
		return wanted;
	while (code < n->codes && n->code[code].name)
		code++;
	return code;
}

/* The code of a copy of a state, or a free one; the number of codes: there is none. */
static unsigned code_for(const struct ink_kernel_numbering *n, const struct ink_state *s, unsigned copy)
{
	unsigned code = 0;

	while (code < n->codes && !is_state(&n->code[code], s, copy))
		code++;
	return code < n->codes ? code : free_code(n, s->base + copy);
}

static int number_copy(struct ink_kernel_numbering *n, const struct ink_state *s, unsigned copy,
		       struct ink_kernel_numbers *numbers)
{
	unsigned code = code_for(n, s, copy);
	struct ink_kernel_code *c = &n->code[code];

	if (code == n->codes)
		return -ENOSPC;
	if (!c->name) {
		*c = (struct ink_kernel_code){strdup(s->name), s->splits != 0, s->tails != 0, (uint8_t)copy};
		if (!c->name)
			return -ENOMEM;
	}
	numbers->code_of[s->base + copy] = (uint16_t)code;
	numbers->number_of[code] = (int16_t)(s->base + copy);
	return 0;
}

static int number_states(struct ink_kernel_numbering *n, const struct ink_machine *m,
			 struct ink_kernel_numbers *numbers, struct ink_why *why)
{
	int error = 0;

	memset(numbers->number_of, 0xff, sizeof numbers->number_of);
	for (unsigned i = 0; i < m->n_states && !error; i++)
		for (unsigned c = 0; c < ink_copies_of(&m->states[i]) && !error; c++)
			error = number_copy(n, &m->states[i], c, numbers);
	if (error == -ENOSPC)
		return ink_fail(
			why, error,
			"%s:%u:1: machine %s: its states and those of flows from before are more than "
			"the %u that the table's entries can name; detach and attach it",
			m->view.file, m->line, m->name, n->codes);
	return error ? ink_fail(why, error, "no memory") : 0;
}

/* ---------------------------------------------------------------- counters */

static unsigned slot_for(const struct ink_kernel_numbering *n, const char *name)
{
	unsigned slot = 0;

	while (slot < INK_KERNEL_COUNTERS && !(n->counter[slot] && !strcmp(n->counter[slot], name)))
		slot++;
	return slot;
}

static int has_counter(const struct ink_machine *m, const char *name)
{
	for (unsigned i = 0; i < m->view.counters; i++)
		if (!strcmp(m->view.counter_names[i], name))
			return 1;
	return 0;
}

/* Nobody asks for the value of a counter that is gone. */
static void forget_counters(struct ink_kernel_numbering *n, const struct ink_machine *m)
{
	for (unsigned slot = 0; slot < INK_KERNEL_COUNTERS; slot++)
		if (n->counter[slot] && !has_counter(m, n->counter[slot])) {
			free(n->counter[slot]);
			n->counter[slot] = NULL;
		}
}

static unsigned free_slot(const struct ink_kernel_numbering *n)
{
	unsigned slot = 0;

	while (slot < INK_KERNEL_COUNTERS && n->counter[slot])
		slot++;
	return slot;
}

/*
 * A free slot rather than that of a counter that is gone: the machine before still counts there. A machine has
 * INK_COUNTERS_MAX at the most, so there is one in the end.
 */
static int number_counter(struct ink_kernel_numbering *n, const struct ink_machine *m, const char *name,
			  uint16_t *number)
{
	unsigned slot = slot_for(n, name);

	if (slot == INK_KERNEL_COUNTERS) {
		slot = free_slot(n);
		if (slot == INK_KERNEL_COUNTERS) {
			forget_counters(n, m);
			slot = free_slot(n);
		}
		n->counter[slot] = strdup(name);
		if (!n->counter[slot])
			return -ENOMEM;
	}
	*number = (uint16_t)slot;
	return 0;
}

/* ------------------------------------------------------------------- both */

int ink_kernel_number(struct ink_kernel_numbering *n, const struct ink_machine *m,
		      struct ink_kernel_numbers *numbers, struct ink_why *why)
{
	int error = number_states(n, m, numbers, why);

	if (error)
		return error;
	for (unsigned i = 0; i < m->view.counters && !error; i++)
		error = number_counter(n, m, m->view.counter_names[i], &numbers->slot_of[i]);
	forget_counters(n, m);
	return error ? ink_fail(why, error, "no memory") : 0;
}

static int copy_name(char **to, const char *from)
{
	*to = from ? strdup(from) : NULL;
	return from && !*to ? -ENOMEM : 0;
}

int ink_kernel_numbering_copy(struct ink_kernel_numbering *to, const struct ink_kernel_numbering *from)
{
	int error = 0;

	*to = *from;
	for (unsigned i = 0; i < INK_KERNEL_STATES; i++)
		error |= copy_name(&to->code[i].name, from->code[i].name);
	for (unsigned i = 0; i < INK_KERNEL_COUNTERS; i++)
		error |= copy_name(&to->counter[i], from->counter[i]);
	if (error)
		ink_kernel_numbering_free(to);
	return error ? -ENOMEM : 0;
}

void ink_kernel_numbering_free(struct ink_kernel_numbering *n)
{
	for (unsigned i = 0; i < INK_KERNEL_STATES; i++)
		free(n->code[i].name);
	for (unsigned i = 0; i < INK_KERNEL_COUNTERS; i++)
		free(n->counter[i]);
	memset(n, 0, sizeof *n);
}
