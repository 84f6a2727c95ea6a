/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The kind `stateful`: the stateful Bloom filter of the ACSM paper (3.3).
 *
 * A flow has k cells, and writes its state into all of them. Where two flows
 * meet in a cell, the cell becomes "don't know"; a flow is known as long as one
 * of its cells is its own, or is shared only with flows in the same state:
 *
 *     flow X, state 3       [3] [?] [3]          3: all that know agree
 *     flow Y, state 5       [?] [5] [?]          5
 *     flow Z, state 3       [?] [?] [3]          3; the last cell is X's too
 *     a stranger            [3] [5] [?]          absent: no flow is in two states
 *     a stranger            [3] [ ] [?]          absent: its own cell would not be empty
 *     a stranger            [?] [?] [3]          3: a false positive
 *
 * As long as no flow is deleted that was not inserted, an answer about a flow that
 * is stored is right or "don't know".
 *
 * The cell, from its lowest bit:
 *
 *     with counters      [ age a | value s | count c ]     count 0: empty, and then all bits are 0
 *                          value: the state; the top value is "don't know"
 *     without counters   [ age a | value s ]               value 0: empty, and then all bits are 0
 *                          value: the state and 1; the top value is "don't know"
 *
 * What the verbs do to each of the k cells:
 *
 *                  with counters                           without
 *     insert       empty: the state, count 1               empty: the state
 *                  same state: count + 1                   else: don't know
 *                  else: don't know, count + 1
 *     modify       don't know: stays                       don't know: stays
 *                  count 1: the new state                  else: the new state
 *                  more: don't know
 *     delete       count 1: empty                          don't know: stays, for the tick
 *                  more: count - 1, the value stays        else: empty
 *
 * With counters, "don't know" lasts until the last flow of the cell is deleted. A
 * flow that reads "don't know" can and must be deleted: the delete lowers the counts,
 * and only that frees the cell. A count that reaches its top stays there, because
 * the true count is no longer known; then only a time-out empties the cell.
 *
 * Without counters, a cell with a state belongs to one flow, since a second flow makes
 * it "don't know"; so it is safe to change or to clear it. A "don't know" belongs to
 * several flows, none of which may clear it, and it ends by time-out.
 *
 * Time. A cell in a state expires after the period of that state. A cell that is
 * "don't know" is part of flows in any state; if it were emptied before they expire,
 * they would all read absent. So lookups touch it like any other, and it expires after
 * the longest of all periods, including that of unsure.
 */
#include <errno.h>
#include <stddef.h>

#include "kinds/bloom/bloom.h"

struct place {
	uint64_t at[INK_BLOOM_MOST_K]; /* the first bit of each cell */
};

#define KIND_DEFINED 1
#include "engine/contract.h"

/* ------------------------------------------------------------------ the place */

/* Blocked, draw 0 is for the line, and the cells begin with draw 2. */
static inline struct place place_of(const struct ink_table *t, uint64_t id)
{
	const struct ink_bloom_shape *s = bloom_of(t);
	uint64_t line = s->lines ? ink_draw(id, 0, s->lines) * BLOOM_LINE_BITS : 0;
	struct place p;

	bloom_all(s, id, s->lines ? 2 : 0, p.at);
	for (uint32_t i = 0; i < s->k && s->lines; i++)
		p.at[i] += line;
	return p;
}

static inline void place_fetch(const struct ink_table *t, const struct place *p, int state)
{
	const struct ink_bloom_shape *s = bloom_of(t);

	(void)state;
	for (uint32_t i = 0; i < (s->lines ? 1 : s->k); i++)
		__builtin_prefetch((const char *)t->body + p->at[i] / 8, 1);
}

/* ------------------------------------------------------------------- the cell */

static inline uint32_t top_value(const struct ink_bloom_shape *s)
{
	return (1u << s->value_bits) - 1;
}

static inline uint32_t value_in(const struct ink_table *t, uint32_t cell)
{
	return cell >> t->coding.age_bits & top_value(bloom_of(t));
}

static inline uint32_t count_in(const struct ink_table *t, uint32_t cell)
{
	return cell >> t->coding.age_bits >> bloom_of(t)->value_bits;
}

/* Just touched. */
static inline uint32_t cell_of(const struct ink_table *t, uint32_t value, uint32_t count)
{
	return (count << bloom_of(t)->value_bits | value) << t->coding.age_bits | t->coding.age_top;
}

static inline int is_unsure(const struct ink_table *t, uint32_t cell)
{
	return value_in(t, cell) == top_value(bloom_of(t));
}

/* Without counters value 0 is taken: it is the empty cell. */
static inline uint32_t value_of(const struct ink_table *t, unsigned state)
{
	return state + (bloom_of(t)->count_top == 0);
}

static inline unsigned state_of(const struct ink_table *t, uint32_t value)
{
	return value - (bloom_of(t)->count_top == 0);
}

/* ------------------------------------------------------------------- an answer */

/*
 * The answer of a flow's cells, which are also returned. It stops at the first cell
 * that is empty or disagrees with an earlier one.
 */
INK_HOT ink_answer judge(const struct ink_table *t, const struct place *p, uint32_t *cells)
{
	const struct ink_bloom_shape *s = bloom_of(t);
	uint32_t value = top_value(s), know = 0;

	for (uint32_t i = 0; i < s->k; i++) {
		cells[i] = cell_read(t, p->at[i]);
		if (!cells[i])
			return INK_ABSENT;
		if (is_unsure(t, cells[i]))
			continue;
		if (know++ && value_in(t, cells[i]) != value)
			return INK_ABSENT;
		value = value_in(t, cells[i]);
	}
	return know < s->threshold ? INK_DONT_KNOW : (ink_answer)state_of(t, value);
}

INK_HOT ink_answer peek_at(const struct ink_table *t, const struct place *p, uint64_t id)
{
	uint32_t cells[INK_BLOOM_MOST_K];

	(void)id;
	return judge(t, p, cells);
}

static inline void touch_all(struct ink_table *t, const struct place *p, const uint32_t *cells)
{
	for (uint32_t i = 0; i < bloom_of(t)->k; i++)
		cell_touch(t, p->at[i], cells[i]);
}

INK_HOT ink_answer lookup_at(struct ink_table *t, const struct place *p, const struct hint *h, uint64_t id)
{
	uint32_t cells[INK_BLOOM_MOST_K];
	ink_answer answer = judge(t, p, cells);

	(void)h;
	(void)id;
	if (answer != INK_ABSENT)
		touch_all(t, p, cells);
	return answer;
}

/* --------------------------------------------------------------------- changes */

/* A cell that another flow has becomes "don't know", which is counted. */
static inline uint32_t marked(struct ink_table *t, uint32_t cell, uint32_t count)
{
	if (!is_unsure(t, cell))
		ink_bump(&t->counters.marked);
	return cell_of(t, top_value(bloom_of(t)), count);
}

static inline uint32_t cell_joined(struct ink_table *t, uint32_t cell, uint32_t value)
{
	const struct ink_bloom_shape *s = bloom_of(t);
	uint32_t count = count_in(t, cell);

	if (!cell)
		return cell_of(t, value, s->count_top ? 1 : 0);
	count += count < s->count_top;
	if (s->count_top && value_in(t, cell) == value)
		return cell_of(t, value, count);
	return marked(t, cell, count);
}

INK_HOT int insert_at(struct ink_table *t, const struct place *p, uint64_t id, unsigned state)
{
	uint32_t cells[INK_BLOOM_MOST_K];

	(void)id;
	if (state >= t->states)
		return -EINVAL;
	if (judge(t, p, cells) != INK_ABSENT)
		ink_bump(&t->counters.collisions);
	for (uint32_t i = 0; i < bloom_of(t)->k; i++)
		cell_write(t, p->at[i], cell_joined(t, cell_read(t, p->at[i]), value_of(t, state)));
	return 0;
}

static inline uint32_t cell_changed(struct ink_table *t, uint32_t cell, uint32_t value)
{
	if (is_unsure(t, cell))
		return cell | t->coding.age_top;
	if (count_in(t, cell) > 1)
		return marked(t, cell, count_in(t, cell));
	return cell_of(t, value, count_in(t, cell));
}

/* A "don't know" is not changed: the new state would be as uncertain as the old one. */
INK_HOT int modify_at(struct ink_table *t, const struct place *p, const struct hint *h, uint64_t id,
		      struct ink_change c)
{
	uint32_t cells[INK_BLOOM_MOST_K];
	ink_answer answer = judge(t, p, cells);

	(void)h;
	(void)id;
	if (c.to >= t->states)
		return -EINVAL;
	if (answer == INK_DONT_KNOW)
		return -EBUSY;
	if (answer == INK_ABSENT || (c.from != INK_ANY_STATE && answer != c.from))
		return -ENOENT;
	if (answer == (ink_answer)c.to)
		return touch_all(t, p, cells), 0;
	for (uint32_t i = 0; i < bloom_of(t)->k; i++)
		cell_write(t, p->at[i], cell_changed(t, cells[i], value_of(t, c.to)));
	return 0;
}

/* Other flows may remain in the cell. A delete does not touch it. */
static inline uint32_t cell_left(const struct ink_table *t, uint32_t cell)
{
	const struct ink_bloom_shape *s = bloom_of(t);
	uint32_t count = count_in(t, cell);

	if (!s->count_top)
		return is_unsure(t, cell) ? cell : 0;
	if (count == s->count_top)
		return cell;
	return count == 1 ? 0 : cell - (1u << s->value_bits << t->coding.age_bits);
}

INK_HOT int delete_at(struct ink_table *t, const struct place *p, const struct hint *h, uint64_t id, int only)
{
	uint32_t cells[INK_BLOOM_MOST_K];
	ink_answer answer = judge(t, p, cells);

	(void)h;
	(void)id;
	if (answer == INK_DONT_KNOW && !bloom_of(t)->count_top)
		return -EBUSY;
	if (answer == INK_ABSENT || (answer >= 0 && only != INK_ANY_STATE && answer != only))
		return -ENOENT;
	for (uint32_t i = 0; i < bloom_of(t)->k; i++)
		cell_write(t, p->at[i], cell_left(t, cells[i]));
	return 0;
}

/* The state found belongs to another flow: this one is inserted. */
INK_HOT int begin_at(struct ink_table *t, const struct place *p, uint64_t id, ink_answer to)
{
	return to == INK_ABSENT ? 0 : insert_at(t, p, id, (unsigned)to);
}

#include "engine/composed_verbs.h"

/* --------------------------------------------------------------------- the time */

/* The cell as a code of tick.c: state << age bits | age. */
static inline unsigned code_of(const struct ink_table *t, uint32_t cell)
{
	unsigned state = is_unsure(t, cell) ? t->coding.unsure : state_of(t, value_in(t, cell));

	return state << t->coding.age_bits | (cell & t->coding.age_top);
}

static void note_gone(struct ink_table *t, uint32_t cell)
{
	ink_note_expiry(t, code_of(t, cell));
}

static int has_state(const struct ink_table *t, uint32_t cell)
{
	return is_unsure(t, cell) || state_of(t, value_in(t, cell)) < t->states;
}

static struct bloom_aging aging_of(const struct ink_table *t)
{
	uint32_t bits = t->coding.age_bits + bloom_of(t)->value_bits, top = t->coding.age_top;
	struct bloom_aging g = {.low = (1u << bits) - 1, .note = note_gone};

	for (uint32_t cell = 0; cell <= g.low; cell++) {
		unsigned after = has_state(t, cell) ? t->aging.after[code_of(t, cell)] : cell;

		g.after[cell] = (uint16_t)(after & INK_EXPIRES ? BLOOM_GONE : (cell & ~top) | (after & top));
	}
	return g;
}

/* Without ages nothing expires: a "don't know" is part of live flows. */
static void stateful_sweep(struct ink_table *t, uint64_t from, uint64_t to)
{
	struct bloom_aging g;

	if (!t->coding.age_bits)
		return;
	g = aging_of(t);
	bloom_sweep(t, from, to, &g);
}

/* The longest period; 0 means never and is longer than any. */
static int stateful_adopt(const struct ink_table *t, struct ink_program *p, struct ink_why *why)
{
	struct ink_timing *unsure = &p->timings[t->states];

	for (unsigned i = 0; i < t->states && unsure->period; i++)
		if (!p->timings[i].period || p->timings[i].period > unsure->period)
			unsure->period = p->timings[i].period;
	return bloom_no_moves(t, p, why);
}

/* ---------------------------------------------------------------------- looking */

static const char *check_cell(const struct ink_table *t, uint32_t cell)
{
	const struct ink_bloom_shape *s = bloom_of(t);

	if (cell && s->count_top ? !count_in(t, cell) : !value_in(t, cell) && cell)
		return "an empty cell is not all 0";
	if (cell && !is_unsure(t, cell) && state_of(t, value_in(t, cell)) >= t->states)
		return "a cell has a state that the table has not";
	return NULL;
}

static const char *stateful_check(const struct ink_table *t)
{
	const char *wrong = bloom_check_gaps(t);

	for (uint64_t i = 0; i < bloom_of(t)->m && !wrong; i++)
		wrong = check_cell(t, cell_read(t, bloom_cell_at(bloom_of(t), i)));
	return wrong;
}

/* ------------------------------------------------------------------ the kind */

static const struct ink_ops stateful = {
	.simd = "portable",
	.shape = bloom_shape,
	VERB_CALLS,
	.units = bloom_units,
	.unit_cells = bloom_unit_cells,
	.sweep = stateful_sweep,
	.sweep_side = bloom_sweep_side,
	.occupied = bloom_occupied,
	.adopt = stateful_adopt,
	.check = stateful_check,
};

/* Without counters a cell needs one more value, for empty. */
static unsigned stateful_state_bits(unsigned states, uint32_t counter_bits)
{
	return ink_coding(counter_bits ? states : states + 1, 0).state_bits;
}

const struct ink_kind_def ink_kind_stateful = {
	.info = {.size = sizeof(struct ink_kind_info),
		 .kind = INK_STATEFUL,
		 .name = "stateful",
		 .purpose = "to reproduce the ACSM paper; never refuses a flow, and is unsure instead",
		 .can = INK_CAN_TIME_OUT | INK_CAN_DIFFER | INK_CAN_PLAN_UNSURE,
		 .geometry = INK_GEOMETRY_K | INK_GEOMETRY_M | INK_GEOMETRY_COUNTER_BITS |
			     INK_GEOMETRY_THRESHOLD | INK_GEOMETRY_BLOOM_FLAGS},
	.plan = ink_bloom_plan,
	.cells_bytes = ink_bloom_cells_bytes,
	.state_bits = stateful_state_bits,
	.ranges = {.writers = {1, 1},
		   .full = {INK_UNSURE, INK_REFUSE},
		   .k = {1, INK_BLOOM_MOST_K},
		   .m = {2, UINT32_MAX},
		   .counter_bits = {0, INK_BLOOM_MOST_COUNTER_BITS},
		   .threshold = {1, INK_BLOOM_MOST_K},
		   .bloom_flags = {0, INK_BLOOM_BLOCKED}},
	.fits = ink_bloom_fits,
	.ops = &stateful,
};
