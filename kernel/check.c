/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the kernel cannot do of machines, with the place in their text.
 *
 * What is wrong with an action is said with the place of its row, which the tree has as an offset in the text; so
 * it needs the text. Tests of filters and queues have their place: others are said with the line of the machine's name.
 */
#include "kernel/inside.h"

#include <errno.h>
#include <stdarg.h>
#include <string.h>

#include "base/error.h"

struct check {
	const struct ink_kernel_options *o;
	const struct ink_machine *m;
	const struct ink_kernel_source *source; /* that it was made from, or NULL */
	struct ink_why *why;
};

/* ------------------------------------------------------------------ places */

/* The machines of a file follow each other, as the files do. */
static const struct ink_kernel_source *source_of(const struct ink_kernel_options *o,
						 const struct ink_machine *m)
{
	for (unsigned i = 0; i < o->machines->n_files && i < o->n_sources; i++)
		if (o->machines->files[i] == m->unit)
			return &o->sources[i];
	return NULL;
}

__attribute__((format(printf, 4, 5))) static int refuse(const struct check *c, unsigned line, unsigned column,
							const char *format, ...)
{
	struct ink_why text;
	va_list args;

	va_start(args, format);
	vsnprintf(text.text, sizeof text.text, format, args);
	va_end(args);
	return ink_fail(c->why, -ENOTSUP, "%s:%u:%u: %s", c->m->view.file, line, column, text.text);
}

/* The line and column of an offset, as complaints have them; the mark of UTF-8 in front counts for nothing. */
static void place_of(const struct check *c, uint32_t at, unsigned *line, unsigned *column)
{
	const char *text = c->source ? c->source->text : NULL;
	size_t skip = text && c->source->length >= 3 && !memcmp(text, "\xef\xbb\xbf", 3) ? 3 : 0;

	*line = c->m->line;
	*column = 1;
	if (!text || at + skip > c->source->length)
		return;
	*line = 1;
	for (size_t i = skip; i < at + skip; i++) {
		*column = text[i] == '\n' ? 1 : *column + 1;
		*line += text[i] == '\n';
	}
}

/* ------------------------------------------------------------------- tests */

static int check_filter(const struct check *c, const struct ink_test *t)
{
	return ink_fail(c->why, -ENOTSUP, "%s: machine %s: a filter cannot run in the kernel; use conditions",
			t->place, c->m->name);
}

static int check_test(const struct check *c, const struct ink_test *t)
{
	int ports = t->field == INK_FIELD_SPORT || t->field == INK_FIELD_DPORT || t->field == INK_FIELD_PORT;

	if (t->field == INK_FIELD_FILTER)
		return check_filter(c, t);
	if (!ports && t->n_ranges > INK_KERNEL_RANGES)
		return refuse(c, c->m->line, 1, "machine %s: a test with %u ranges; in the kernel %d",
			      c->m->name, t->n_ranges, INK_KERNEL_RANGES);
	if (t->n_prefixes > INK_KERNEL_PREFIXES)
		return refuse(c, c->m->line, 1, "machine %s: a test with %u addresses; in the kernel %d",
			      c->m->name, t->n_prefixes, INK_KERNEL_PREFIXES);
	if (t->field == INK_FIELD_BEGINS && t->length > INK_KERNEL_PAYLOAD)
		return refuse(c, c->m->line, 1, "machine %s: %u bytes of payload; in the kernel %d",
			      c->m->name, t->length, INK_KERNEL_PAYLOAD);
	return 0;
}

static int check_tests(const struct check *c)
{
	unsigned depth = ink_kernel_depth(c->m);
	int error = 0;

	for (unsigned i = 0; i < c->m->n_tests && !error; i++)
		error = check_test(c, &c->m->tests[i]);
	if (!error && depth > INK_KERNEL_DEPTH)
		return refuse(c, c->m->line, 1,
			      "machine %s: up to %u tests to find a packet's event; in the kernel %d",
			      c->m->name, depth, INK_KERNEL_DEPTH);
	return error;
}

/* ----------------------------------------------------------------- actions */

static const struct ink_written_row *row_in(const struct ink_state *s, unsigned action)
{
	for (unsigned i = 0; i < s->n_rows; i++) {
		const struct ink_written_row *row = s->rows[i];

		if (row->does.number == action || (row->leaving && row->leaving->number == action))
			return row;
	}
	return NULL;
}

/* The row that has an action. */
static const struct ink_written_row *row_of(const struct ink_machine *m, unsigned action)
{
	const struct ink_written_row *row = row_in(&m->absent, action);

	if (!row)
		row = row_in(&m->unsure, action);
	for (unsigned i = 0; i < m->n_states && !row; i++)
		row = row_in(&m->states[i], action);
	return row;
}

__attribute__((format(printf, 3, 4))) static int refuse_action(const struct check *c, unsigned action,
							       const char *format, ...)
{
	const struct ink_written_row *row = row_of(c->m, action);
	unsigned line = c->m->line, column = 1;
	struct ink_why text;
	va_list args;

	if (row)
		place_of(c, row->packet_action ? row->packet_action_at : row->at, &line, &column);
	va_start(args, format);
	vsnprintf(text.text, sizeof text.text, format, args);
	va_end(args);
	return refuse(c, line, column, "machine %s: %s", c->m->name, text.text);
}

/* The same with the place of its priority or class. */
static int refuse_priority(const struct check *c, unsigned action, const char *text)
{
	const struct ink_written_row *row = row_of(c->m, action);
	const struct ink_deed *d = !row ? NULL : row->does.number == action ? &row->does : row->leaving;
	unsigned line = c->m->line, column = 1;

	if (d && d->more)
		place_of(c, d->more->priority_at, &line, &column);
	return refuse(c, line, column, "machine %s: %s", c->m->name, text);
}

static int has_hook(const struct ink_kernel_options *o, enum ink_kernel_hook hook)
{
	for (unsigned i = 0; i < o->n_places; i++)
		if (o->places[i].hook == hook)
			return 1;
	return 0;
}

/* At XDP there is no packet of the kernel yet that could have one; a class is one of the device that it leaves by. */
static int check_priority(const struct check *c, unsigned i)
{
	int kind = c->m->view.action_more[i].prioritizes;

	if (kind == INK_PRIORITY && has_hook(c->o, INK_KERNEL_XDP))
		return refuse_priority(c, i,
				       "XDP cannot give packets a priority; attach it at ingress or egress");
	if (kind == INK_CLASS && has_hook(c->o, INK_KERNEL_XDP))
		return refuse_priority(c, i, "XDP cannot give packets a class; attach it at egress alone");
	if (kind == INK_CLASS && has_hook(c->o, INK_KERNEL_INGRESS))
		return refuse_priority(
			c, i,
			"ingress cannot give packets a class: it is one of the device that they "
			"leave by; attach it at egress alone");
	return 0;
}

static int check_action(const struct check *c, unsigned i)
{
	const struct ink_action *a = &c->m->view.action[i];
	unsigned tells = c->m->view.action_more[i].n_tells;

	if (a->n_countings > INK_KERNEL_COUNTINGS)
		return refuse_action(c, i, "a row that counts %u times; in the kernel %d", a->n_countings,
				     INK_KERNEL_COUNTINGS);
	if (tells > INK_KERNEL_TELLS)
		return refuse_action(c, i, "a row that tells %u times; in the kernel %d", tells,
				     INK_KERNEL_TELLS);
	if (c->o->enforce && a->marks && has_hook(c->o, INK_KERNEL_XDP))
		return refuse_action(c, i, "XDP cannot mark packets; attach it at ingress or egress");
	return c->o->enforce ? check_priority(c, i) : 0;
}

static int check_actions(const struct check *c)
{
	int error = 0;

	for (unsigned i = 1; i < c->m->view.actions && !error; i++)
		error = check_action(c, i);
	if (!error && c->m->chain > INK_KERNEL_TOLD)
		return refuse(c, c->m->line, 1,
			      "machine %s: its rows tell up to %u steps for one packet; in the kernel %d",
			      c->m->name, c->m->chain, INK_KERNEL_TOLD);
	return error;
}

/* ------------------------------------------------------------------- queues */

/* Whether or not anything is enforced: elsewhere there is no queue to look at. */
static int check_queues(const struct check *c)
{
	static const char *const names[INK_KERNEL_HOOKS] = {"XDP", "ingress", "egress"};

	for (unsigned i = 0; c->m->view.queues && i < c->o->n_places; i++)
		if (c->o->places[i].hook != INK_KERNEL_EGRESS)
			return ink_fail(
				c->why, -ENOTSUP,
				"%s: machine %s: at %s no packet is about to join a queue; attach it at egress alone",
				ink_asks_queue(c->m), c->m->name, names[c->o->places[i].hook]);
	return 0;
}

/* -------------------------------------------------------------------- all */

/* Steps that all machines' rows cause for a packet stand in one queue. */
static int check_chains(const struct ink_kernel_options *o, struct ink_why *why)
{
	const struct ink_machine *m = NULL;
	unsigned told = 0;

	for (unsigned i = 0; i < ink_machines_count(o->machines) && told <= INK_KERNEL_TOLD; i++) {
		m = ink_machines_at(o->machines, i);
		told += m->chain;
	}
	if (told <= INK_KERNEL_TOLD)
		return 0;
	return ink_fail(
		why, -ENOTSUP,
		"%s:%u:1: machine %s: with it, rows tell up to %u steps for one packet; in the kernel %d",
		m->view.file, m->line, m->name, told, INK_KERNEL_TOLD);
}

static int check_options(const struct ink_kernel_options *o, struct ink_why *why)
{
	if (!o->machines || !ink_machines_count(o->machines))
		return ink_fail(why, -EINVAL, "kernel: machines are needed");
	if (ink_machines_count(o->machines) > INK_KERNEL_MACHINES)
		return ink_fail(why, -ENOTSUP, "%u machines; in the kernel %d",
				ink_machines_count(o->machines), INK_KERNEL_MACHINES);
	if (o->n_places > INK_KERNEL_PLACES)
		return ink_fail(why, -ENOTSUP, "%u hooks; %d are possible", o->n_places, INK_KERNEL_PLACES);
	return 0;
}

int ink_kernel_check(const struct ink_kernel_options *o, struct ink_why *why)
{
	int error = check_options(o, why);

	for (unsigned i = 0; !error && i < ink_machines_count(o->machines); i++) {
		const struct ink_machine *m = ink_machines_at(o->machines, i);
		const struct check c = {.o = o, .m = m, .source = source_of(o, m), .why = why};

		error = check_tests(&c);
		if (!error)
			error = check_queues(&c);
		if (!error)
			error = check_actions(&c);
	}
	return error ? error : check_chains(o, why);
}
