/* SPDX-License-Identifier: BSD-2-Clause */
#include "table/rules.h"

#include <errno.h>
#include <string.h>

#include "base/allocator.h"
#include "base/error.h"
#include "base/grow.h"

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

/* A window's group has one period: ages then mean the same in all of its states. */
static int check_window(const struct ink_rules *r, unsigned state, struct ink_why *why)
{
	unsigned first = 0;

	if (!r->windows[state])
		return 0;
	if (!r->timings || !r->timings[state].period)
		return ink_fail(why, -EINVAL, "rules: state %u has a window without a period", state);
	while (r->windows[first] != r->windows[state])
		first++;
	if (r->timings[first].period == r->timings[state].period)
		return 0;
	return ink_fail(why, -EINVAL, "rules: states %u and %u have one window and periods of %u and %u",
			first, state, r->timings[first].period, r->timings[state].period);
}

/* 40 bytes: at its first release. */
static const struct ink_struct rules_struct = {"rules", 40, sizeof(struct ink_rules)};

static int check(const struct ink_rules *r, unsigned table_states, struct ink_why *why)
{
	int error;

	if (r->states < 1 || r->states > table_states)
		return ink_fail(why, -EINVAL, "rules: %u states, the table has %u", r->states, table_states);
	if (r->events < 1 || r->events > INK_MAX_EVENTS)
		return ink_fail(why, -EINVAL, "rules: %u events, 1 to %d are possible", r->events,
				INK_MAX_EVENTS);
	if (!r->rows)
		return ink_fail(why, -EINVAL, "rules: no rows");
	error = check_rows(r, why);
	for (unsigned line = 0; r->timings && line <= r->states && !error; line++)
		error = check_timing(r, line, why);
	for (unsigned state = 0; r->windows && state < r->states && !error; state++)
		error = check_window(r, state, why);
	return error;
}

int ink_rules_read(struct ink_rules *ours, const struct ink_rules *theirs, unsigned table_states,
		   struct ink_why *why)
{
	int error = ink_struct_read(&rules_struct, ours, theirs, why);

	return error ? error : check(ours, table_states, why);
}

int ink_program_rules(const struct ink_program *p, struct ink_rules *theirs)
{
	const struct ink_rules rules = {.states = p->states,
					.events = p->events,
					.rows = p->rows,
					.starts = p->starts,
					.timings = p->timings,
					.windows = p->windows};

	return ink_struct_write(&rules_struct, theirs, &rules, NULL);
}

/* ---------------------------------------------------------------- the copy */

/* The program and its four arrays in one block, the widest first. */
struct block {
	struct ink_program program;
	struct ink_timing timings[INK_MAX_STATES + 1];
	uint8_t windows[INK_MAX_STATES + 1];
	struct ink_row rows[];
};

/* Codes for states in a cell, or the states with absent and unsure: whichever is more. */
static size_t lines_for(unsigned states)
{
	size_t codes = 1;

	while (codes < states + 1)
		codes *= 2;
	return codes > states + 2 ? codes : states + 2;
}

static void copy_rows(const struct ink_rules *r, unsigned states, struct ink_row *rows)
{
	struct ink_row none = {.next = INK_NO_ROW};

	for (size_t i = 0; i < lines_for(states) * r->events; i++)
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

static void copy_windows(const struct ink_rules *r, struct block *b)
{
	for (unsigned i = 0; r->windows && i < r->states; i++) {
		b->windows[i] = r->windows[i];
		b->program.has_windows |= r->windows[i] != 0;
	}
}

static size_t block_bytes(unsigned states, unsigned events)
{
	return sizeof(struct block) + lines_for(states) * events * sizeof(struct ink_row) + events;
}

/* A block for that many states and events; its arrays are zeros. */
static struct block *make_block(unsigned states, unsigned events, const struct ink_allocator *a)
{
	struct block *b = ink_alloc(a, block_bytes(states, events));

	if (b)
		b->program = (struct ink_program){.states = states,
						  .events = events,
						  .rows = b->rows,
						  .timings = b->timings,
						  .starts = (uint8_t *)(b->rows + lines_for(states) * events),
						  .windows = b->windows};
	return b;
}

struct ink_program *ink_program_make(const struct ink_rules *rules, unsigned table_states,
				     const struct ink_allocator *a)
{
	struct block *b = make_block(table_states, rules->events, a);

	if (!b)
		return NULL;
	copy_rows(rules, table_states, b->rows);
	copy_timings(rules, table_states, b->timings);
	if (rules->starts)
		memcpy((uint8_t *)b->program.starts, rules->starts, rules->events);
	copy_windows(rules, b);
	return &b->program;
}

struct ink_program *ink_program_copy(const struct ink_program *from, const struct ink_allocator *a)
{
	size_t head = sizeof(struct ink_program);
	struct block *b = make_block(from->states, from->events, a);

	if (!b)
		return NULL;
	memcpy((char *)b + head, (const char *)from + head, block_bytes(from->states, from->events) - head);
	b->program.has_windows = from->has_windows;
	return &b->program;
}

void ink_program_free(struct ink_program *program, const struct ink_allocator *a)
{
	if (program)
		ink_release(a, program, block_bytes(program->states, program->events));
}
