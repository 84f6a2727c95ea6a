/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * [F] What the rules say about an event.
 *
 * A program is a table's own, checked copy of the caller's rules. Its rows
 * stand by state, then one line for absent and one for unsure:
 *
 *     rows[line * events + event]
 *
 * There are as many lines as a cell has codes for states, whatever the rules
 * name: an index taken from a cell needs no check, even if the cell is forged.
 */
#ifndef INKLING_TABLE_RULES_H
#define INKLING_TABLE_RULES_H

#include <inkling/inkling.h>

struct ink_program {
	uint32_t states; /* of the table */
	uint32_t events;
	const struct ink_row *rows; /* states + 2 lines, or more */
	struct ink_timing *timings; /* states + 1 */
	const uint8_t *starts;      /* events */
	const uint8_t *windows;     /* by the code of a state: the group that has a window, or 0 */
	int has_windows;
};

static inline struct ink_row ink_program_row(const struct ink_program *p, uint32_t line, uint32_t event)
{
	return p->rows[line * p->events + event];
}

static inline struct ink_row ink_program_absent(const struct ink_program *p, uint32_t event)
{
	return ink_program_row(p, p->states, event);
}

static inline struct ink_row ink_program_unsure(const struct ink_program *p, uint32_t event)
{
	return ink_program_row(p, p->states + 1, event);
}

/*
 * A start event where the state has no row for it: only a first packet carries
 * it, so what matched cannot be this flow's entry.
 */
static inline int ink_program_begins(const struct ink_program *p, struct ink_row row, uint32_t event)
{
	return row.next == INK_NO_ROW && p->starts[event];
}

/* The move that a row makes from a state. */
static inline struct ink_move ink_move_along(ink_answer from, struct ink_row row)
{
	struct ink_move m = {from, row.next == INK_NO_ROW ? from : row.next, row.action};

	return m;
}

/* The unsure row only chooses an action. */
static inline struct ink_move ink_move_unsure(const struct ink_program *p, uint32_t event)
{
	struct ink_move m = {INK_DONT_KNOW, INK_DONT_KNOW, ink_program_unsure(p, event).action};

	return m;
}

#ifndef __bpf__
/* Reads the caller's rules and checks them for a table with that many states. 0 or -EINVAL. */
int ink_rules_read(struct ink_rules *ours, const struct ink_rules *theirs, unsigned table_states,
		   struct ink_why *why);

/* A copy of rules that were checked, in one block: ink_program_free it. NULL: no memory. */
struct ink_program *ink_program_make(const struct ink_rules *rules, unsigned table_states,
				     const struct ink_allocator *a);
struct ink_program *ink_program_copy(const struct ink_program *program, const struct ink_allocator *a);

/* The program as rules. 0, or -EINVAL: rules->size is no size of the struct. */
int ink_program_rules(const struct ink_program *program, struct ink_rules *rules);

void ink_program_free(struct ink_program *program, const struct ink_allocator *a);
#endif

#endif
