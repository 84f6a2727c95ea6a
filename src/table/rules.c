/* SPDX-License-Identifier: BSD-2-Clause */
#include "table/rules.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

/* -------------------------------------------------------------- the checks */

/* "state 3", "absent" or "unsure", for a line of the rows. */
static const char *line_name(const struct ink_rules *r, unsigned line, char text[24])
{
	if (line >= r->states)
		return line == r->states ? "absent" : "unsure";
	snprintf(text, 24, "state %u", line);
	return text;
}

static int check_row(const struct ink_rules *r, unsigned line, unsigned event, struct ink_why *why)
{
	int next = r->rows[line * r->events + event].next;
	char text[24];

	if (next == INK_NO_ROW || next == INK_ABSENT || (next >= 0 && (unsigned)next < r->states))
		return 0;
	return ink_fail(why, -EINVAL, "rules: the row of %s for event %u leads to %d, which is no state",
			   line_name(r, line, text), event, next);
}

static int check_rows(const struct ink_rules *r, struct ink_why *why)
{
	int error = 0;

	for (unsigned line = 0; line < r->states + 2 && !error; line++)
		for (unsigned event = 0; event < r->events && !error; event++)
			error = check_row(r, line, event, why);
	return error;
}

static int check_timing(const struct ink_rules *r, unsigned line, struct ink_why *why)
{
	int timeout = r->timings[line].timeout;

	if (timeout == INK_ABSENT)
		return 0;
	if (line == r->states)
		return ink_fail(why, -EINVAL, "rules: the time-out of unsure leads to %d; it can only end",
				   timeout);
	if (timeout < 0 || (unsigned)timeout >= r->states)
		return ink_fail(why, -EINVAL,
				   "rules: the time-out of state %u leads to %d, which is no state", line,
				   timeout);
	return 0;
}

static int check(const struct ink_rules *r, unsigned table_states, struct ink_why *why)
{
	int error;

	if (r->size < sizeof *r)
		return ink_fail(why, -EINVAL, "rules: size is %zu, the struct has %zu bytes", r->size,
				   sizeof *r);
	if (r->states < 1 || r->states > table_states)
		return ink_fail(why, -EINVAL, "rules: %u states, the table has %u", r->states,
				   table_states);
	if (r->events < 1 || r->events > INK_MAX_EVENTS)
		return ink_fail(why, -EINVAL, "rules: %u events, 1 to %d are possible", r->events,
				   INK_MAX_EVENTS);
	if (!r->rows)
		return ink_fail(why, -EINVAL, "rules: no rows");
	error = check_rows(r, why);
	for (unsigned line = 0; r->timings && line <= r->states && !error; line++)
		error = check_timing(r, line, why);
	return error;
}

/* ---------------------------------------------------------------- the copy */

/* The program and its three arrays in one block, the widest first. */
struct block {
	struct ink_program program;
	struct ink_timing timings[INK_MAX_STATES + 1];
	struct ink_row rows[];
};

static void copy_rows(const struct ink_rules *r, unsigned states, struct ink_row *rows)
{
	struct ink_row none = {.next = INK_NO_ROW};

	for (size_t i = 0; i < (size_t)(states + 2) * r->events; i++)
		rows[i] = none;
	memcpy(rows, r->rows, (size_t)r->states * r->events * sizeof *rows);
	memcpy(rows + (size_t)states * r->events, r->rows + (size_t)r->states * r->events,
	       2 * (size_t)r->events * sizeof *rows);
}

/* A state that the rules do not name rests for ever. */
static void copy_timings(const struct ink_rules *r, unsigned states, struct ink_timing *timings)
{
	struct ink_timing never = {.period = 0, .timeout = INK_ABSENT},
			  each_tick = {.period = 1, .timeout = INK_ABSENT};

	for (unsigned i = 0; i < states; i++)
		timings[i] = i >= r->states ? never : r->timings ? r->timings[i] : each_tick;
	timings[states] = r->timings ? r->timings[r->states] : each_tick;
}

struct ink_program *ink_program_make(const struct ink_rules *rules, unsigned table_states,
				     struct ink_why *why)
{
	size_t rows;
	struct block *b;
	uint8_t *starts;
	int error = check(rules, table_states, why);

	if (error)
		return errno = -error, NULL;
	rows = (size_t)(table_states + 2) * rules->events;
	b = calloc(1, sizeof *b + rows * sizeof *b->rows + rules->events);
	if (!b)
		return errno = -ink_fail(why, -ENOMEM, "rules: no memory"), NULL;
	starts = (uint8_t *)(b->rows + rows);
	copy_rows(rules, table_states, b->rows);
	copy_timings(rules, table_states, b->timings);
	if (rules->starts)
		memcpy(starts, rules->starts, rules->events);
	b->program = (struct ink_program){table_states, rules->events, b->rows, b->timings, starts};
	return &b->program;
}

void ink_program_free(struct ink_program *program)
{
	free(program);
}
