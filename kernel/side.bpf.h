/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The side table in BPF: the words of table/side.h, in lines of the body behind those of the table.
 *
 *     struct ink_side_head | word 1 | word 2 | ...          16 bytes, then 4 or 8 bytes each
 *
 * Linear probing and backward-shift deletion as there, so the words are the same after the same steps.
 *
 * Every look takes the table's side lock, and waits for it a bounded time; nearly no packet comes here. Runs have any
 * length, so they are walked along by bpf_loop. What a walk keeps from word to word stands in the map `walks`, which
 * belongs to the holder of the lock: the verifier of 6.1 takes variables on the stack that a callback changes for
 * constants, and removes code that lives.
 *
 * Entries are numbered from 1; 0 is none. What calls a loop's callback is inlined into the few functions that are called
 * from elsewhere: the kernel allows eight calls in each other, and the programs at tc have used four.
 */
#ifndef INKLING_KERNEL_SIDE_BPF_H
#define INKLING_KERNEL_SIDE_BPF_H

#ifndef INKLING_KERNEL_TABLE_BPF_H
#error "a part of table.bpf.h"
#endif

struct ink_side_walk {
	uint64_t key; /* of the flow that is looked for: a word less 1, without its code */
	uint32_t at;  /* the entry that comes next */
	uint32_t found;
	uint32_t home;        /* of the walk that gathers classes, */
	uint32_t classes;     /* which come out here */
	uint32_t hole;        /* of a removal */
	uint32_t sweep, left; /* of a sweep: the entry that comes next, and how many are still to be met */
} __attribute__((aligned(64)));

INK_ARRAY(walks, INK_KERNEL_MACHINES, struct ink_side_walk);

enum { INK_SIDE_HEAD = 16 }; /* bytes of struct ink_side_head, which begins with the count */

/* ---------------------------------------------------------------------- the lock */

static long ink_side_take_once(uint32_t i, void *number)
{
	struct ink_kernel_table *t = INK_AT(tables, *(uint32_t *)number);

	if (!t || i + 1 == INK_TABLE_SPINS)
		return 0;
	return !INK_LOADED(t->side_lock) && !__sync_val_compare_and_swap(&t->side_lock, 0, 1);
}

/* 1 if the lock is held now. */
static __always_inline uint32_t ink_side_take(uint32_t number)
{
	return bpf_loop(INK_TABLE_SPINS, ink_side_take_once, &number, 0) < INK_TABLE_SPINS;
}

static __always_inline void ink_side_leave(struct ink_kernel_table *t)
{
	__sync_lock_test_and_set(&t->side_lock, 0);
}

/* ---------------------------------------------------------------------- the words */

static __always_inline struct ink_line *ink_side_line(const struct ink_kernel_table *t, uint32_t byte)
{
	return INK_AT(body, t->base + t->shape.lines + byte / sizeof(struct ink_line));
}

/* The byte at which an entry begins. */
static __always_inline uint32_t ink_side_at(const struct ink_kernel_table *t, uint32_t e)
{
	return INK_SIDE_HEAD + (e - 1) * t->side_width;
}

static __always_inline uint64_t ink_side_word(const struct ink_kernel_table *t, uint32_t e)
{
	uint32_t byte = ink_side_at(t, e);
	struct ink_line *line = ink_side_line(t, byte);

	if (!line)
		return 0;
	if (t->side_width == 4)
		return *(const volatile uint32_t *)((const char *)line + (byte & 60));
	return INK_LOADED(line->word[byte / 8 & 7]);
}

static __always_inline void ink_side_write(const struct ink_kernel_table *t, uint32_t e, uint64_t word)
{
	uint32_t byte = ink_side_at(t, e);
	struct ink_line *line = ink_side_line(t, byte);

	if (!line)
		return;
	if (t->side_width == 4)
		*(volatile uint32_t *)((char *)line + (byte & 60)) = word;
	else
		*(volatile uint64_t *)&line->word[byte / 8 & 7] = word;
}

static __always_inline uint32_t *ink_side_count(const struct ink_kernel_table *t)
{
	return (uint32_t *)ink_side_line(t, 0);
}

static __always_inline uint64_t ink_side_key(const struct ink_kernel_table *t, uint32_t home, uint64_t id)
{
	return (uint64_t)home << t->side_id_bits | (id & ((1ull << t->side_id_bits) - 1));
}

static __always_inline uint64_t ink_side_word_key(const struct ink_kernel_table *t, uint64_t word)
{
	return (word - 1) >> t->side_code_bits;
}

static __always_inline uint32_t ink_side_word_home(const struct ink_kernel_table *t, uint64_t word)
{
	return ink_side_word_key(t, word) >> t->side_id_bits;
}

static __always_inline uint32_t ink_side_word_code(const struct ink_kernel_table *t, uint64_t word)
{
	return (uint32_t)(word - 1) & ((1u << t->side_code_bits) - 1);
}

static __always_inline void ink_side_recode(const struct ink_kernel_table *t, uint32_t e, uint32_t code)
{
	ink_side_write(t, e, (ink_side_word_key(t, ink_side_word(t, e)) << t->side_code_bits | code) + 1);
}

/* The first entry that a flow of this home may have. */
static __always_inline uint32_t ink_side_start(const struct ink_kernel_table *t, uint32_t home)
{
	return 1 + (uint32_t)(((uint64_t)(home * 0x9e3779b1u) * t->side_words) >> 32);
}

static __always_inline uint32_t ink_side_behind(const struct ink_kernel_table *t, uint32_t e)
{
	return e < t->side_words ? e + 1 : 1;
}

/* From one entry on to another. */
static __always_inline uint32_t ink_side_distance(const struct ink_kernel_table *t, uint32_t from,
						  uint32_t to)
{
	return to >= from ? to - from : to + t->side_words - from;
}

static __always_inline uint32_t ink_home_of(const struct ink_kernel_table *t, uint64_t id)
{
	return ink_where_of(t, id).line[0];
}

/* -------------------------------------------------------------------------- walks */

/* The word that a walk is at, with its table; 0: it is free, and the run ends. */
static __always_inline uint64_t ink_walk_word(const void *number, struct ink_kernel_table **t,
					      struct ink_side_walk **walk)
{
	*t = INK_AT(tables, *(const uint32_t *)number);
	*walk = INK_AT(walks, *(const uint32_t *)number);
	return *t && *walk ? ink_side_word(*t, (*walk)->at) : 0;
}

static long ink_find_next(uint32_t i, void *number)
{
	struct ink_kernel_table *t;
	struct ink_side_walk *walk;
	uint64_t word = ink_walk_word(number, &t, &walk);

	if (!word)
		return 1;
	if (ink_side_word_key(t, word) == walk->key) {
		walk->found = walk->at;
		return 1;
	}
	walk->at = ink_side_behind(t, walk->at);
	return 0;
}

/* The flow's entry, or 0; then `at` of the walk is the free word that ends its run. With the lock held. */
static __always_inline uint32_t ink_side_find(uint32_t number, uint64_t id)
{
	struct ink_kernel_table *t = INK_AT(tables, number);
	struct ink_side_walk *walk = INK_AT(walks, number);

	if (!t || !walk || !t->side_words)
		return 0;
	walk->key = ink_side_key(t, ink_home_of(t, id), id);
	walk->at = ink_side_start(t, ink_home_of(t, id));
	walk->found = 0;
	bpf_loop(t->side_words, ink_find_next, &number, 0);
	return walk->found;
}

static long ink_classes_next(uint32_t i, void *number)
{
	struct ink_kernel_table *t;
	struct ink_side_walk *walk;
	uint64_t word = ink_walk_word(number, &t, &walk);

	if (!word)
		return 1;
	if (ink_side_word_home(t, word) == walk->home)
		walk->classes |= 1 << (ink_side_word_key(t, word) & 3);
	walk->at = ink_side_behind(t, walk->at);
	return 0;
}

/* Sets the flags of a home to the classes of its flows in the side table (flag_side in cells.h). */
static __always_inline void ink_side_flag(uint32_t number, uint32_t home)
{
	struct ink_kernel_table *t = INK_AT(tables, number);
	struct ink_side_walk *walk = INK_AT(walks, number);
	struct ink_line *line;

	if (!t || !walk)
		return;
	line = ink_line_of(t, home);
	if (!line)
		return;
	walk->home = home;
	walk->at = ink_side_start(t, home);
	walk->classes = 0;
	bpf_loop(t->side_words, ink_classes_next, &number, 0);
	for (uint32_t i = 0; i < 4; i++)
		if (walk->classes >> i & 1)
			__sync_fetch_and_or(&line->word[INK_LINE_SIDE + i], INK_LINE_FLAG);
		else
			__sync_fetch_and_and(&line->word[INK_LINE_SIDE + i], ~INK_LINE_FLAG);
}

static long ink_shift_next(uint32_t i, void *number)
{
	struct ink_kernel_table *t;
	struct ink_side_walk *walk;
	uint64_t word = ink_walk_word(number, &t, &walk);
	uint32_t start;

	if (!word)
		return 1;
	start = ink_side_start(t, ink_side_word_home(t, word));
	if (ink_side_distance(t, start, walk->at) >= ink_side_distance(t, walk->hole, walk->at)) {
		ink_side_write(t, walk->hole, word);
		walk->hole = walk->at;
	}
	walk->at = ink_side_behind(t, walk->at);
	return 0;
}

/* Removes an entry, as ink_shift_back closes the hole. Returns its home. */
static __always_inline uint32_t ink_side_remove(uint32_t number, uint32_t e)
{
	struct ink_kernel_table *t = INK_AT(tables, number);
	struct ink_side_walk *walk = INK_AT(walks, number);
	uint32_t home, *count;

	if (!t || !walk)
		return 0;
	count = ink_side_count(t);
	if (!count)
		return 0;
	home = ink_side_word_home(t, ink_side_word(t, e));
	walk->hole = e;
	walk->at = ink_side_behind(t, e);
	bpf_loop(t->side_words, ink_shift_next, &number, 0);
	ink_side_write(t, walk->hole, 0);
	*count -= 1;
	return home;
}

/* With the flags of its home; the lock stays held. */
static __always_inline void ink_side_drop(uint32_t number, uint32_t e)
{
	ink_side_flag(number, ink_side_remove(number, e));
}

/* ------------------------------------------------------------------------- storing */

/* 0; EEXIST: it has a flow that it cannot tell from this one; ENOSPC; EBUSY. */
__noinline uint32_t ink_side_put(uint32_t number, uint64_t id, uint32_t state)
{
	struct ink_kernel_table *t = INK_AT(tables, number);
	struct ink_side_walk *walk = INK_AT(walks, number);
	uint32_t result = ENOSPC, *count;
	uint64_t code;

	if (!t || !walk || !t->side_words)
		return ENOSPC;
	count = ink_side_count(t);
	if (count && INK_LOADED(*count) >= t->side_flows)
		return ENOSPC;
	if (!count || !ink_side_take(number))
		return EBUSY;
	if (ink_side_find(number, id)) {
		result = EEXIST;
	} else if (*count < t->side_flows) {
		code = state << t->age_bits | t->age_top;
		ink_side_write(t, walk->at,
			       (ink_side_key(t, ink_home_of(t, id), id) << t->side_code_bits | code) + 1);
		*count += 1;
		ink_side_flag(number, ink_home_of(t, id));
		result = 0;
	}
	ink_side_leave(t);
	return result;
}

static __always_inline int ink_is_expendable(const struct ink_kernel_table *t,
					     const struct ink_kernel_machine *k, uint32_t code)
{
	uint32_t state = code >> t->age_bits;
	const struct ink_kernel_state *s;

	if (state >= t->states)
		return 0;
	s = INK_AT(states, k->states_at + state);
	return s && s->expendable;
}

static long ink_expendable_next(uint32_t i, void *machine)
{
	struct ink_kernel_machine *k = INK_AT(machines, *(uint32_t *)machine);
	struct ink_kernel_table *t = INK_AT(tables, *(uint32_t *)machine % INK_KERNEL_MACHINES);
	struct ink_side_walk *walk = INK_AT(walks, *(uint32_t *)machine % INK_KERNEL_MACHINES);
	uint64_t word;
	uint32_t e;

	if (!k || !t || !walk)
		return 1;
	e = t->clock_hand + 1;
	t->clock_hand = e < t->side_words ? e : 0;
	word = ink_side_word(t, e);
	if (!word || !ink_is_expendable(t, k, ink_side_word_code(t, word)))
		return 0;
	walk->found = e;
	return 1;
}

/* Each search begins where the last one ended; the hand stays where a removal may have filled the place again. */
__noinline uint32_t ink_side_drop_expendable(uint32_t machine)
{
	uint32_t number = machine % INK_KERNEL_MACHINES, found;
	struct ink_kernel_table *t = INK_AT(tables, number);
	struct ink_side_walk *walk = INK_AT(walks, number);

	if (!t || !walk || !t->side_words || !ink_side_take(number))
		return 0;
	walk->found = 0;
	bpf_loop(t->side_words, ink_expendable_next, &machine, 0);
	found = walk->found;
	if (found) {
		ink_side_drop(number, found);
		t->clock_hand = found - 1;
	}
	ink_side_leave(t);
	return found != 0;
}

/* --------------------------------------------------------------------------- asking */

/* The code of a flow, or -ENOENT, or -EBUSY. */
__noinline int32_t ink_side_code_of(uint32_t number, uint64_t id)
{
	struct ink_kernel_table *t = INK_AT(tables, number);
	int32_t code = -ENOENT;
	uint32_t e;

	if (!t || !t->side_words)
		return -ENOENT;
	if (!ink_side_take(number))
		return -EBUSY;
	e = ink_side_find(number, id);
	if (e)
		code = ink_side_word_code(t, ink_side_word(t, e));
	ink_side_leave(t);
	return code;
}

static __always_inline int ink_side_has(uint32_t number, uint64_t id)
{
	int32_t code = ink_side_code_of(number, id);

	return code < 0 ? -code : 0;
}

/* The row of a flow in the side table, which knows the id: a start event without a row begins this very flow anew. */
static __always_inline uint64_t ink_side_move(uint32_t number, const struct ink_kernel_table *t,
					      const struct ink_kernel_machine *k, uint32_t e, uint32_t event)
{
	uint32_t code = ink_side_word_code(t, ink_side_word(t, e)), was = code >> t->age_bits, after;
	struct ink_kernel_row row = ink_row_of(k, was, event);
	int32_t from = was, to;

	if (ink_row_begins(k, row, event)) {
		row = ink_row_of(k, t->states, event);
		from = INK_ABSENT;
	}
	to = row.next == INK_NO_ROW ? from : row.next;
	if (to < 0) {
		ink_side_drop(number, e);
	} else {
		after = (uint32_t)to << t->age_bits;
		after |= from >= 0 && ink_keeps(k, was, to) ? code & t->age_top : t->age_top;
		ink_side_recode(t, e, after);
	}
	return ink_step_result(from, to, row.action, 0);
}

/* The step of a flow in the side table. ENOENT: it is not there; EAGAIN. */
__noinline uint64_t ink_side_step(uint32_t machine, uint64_t id, uint32_t event)
{
	uint32_t number = machine % INK_KERNEL_MACHINES, e;
	const struct ink_kernel_machine *k = INK_AT(machines, machine);
	struct ink_kernel_table *t = INK_AT(tables, number);
	uint64_t result = ink_step_error(ENOENT);

	if (!k || !t || !t->side_words)
		return result;
	if (!ink_side_take(number))
		return ink_step_error(EAGAIN);
	e = ink_side_find(number, id);
	if (e)
		result = ink_side_move(number, t, k, e, event);
	ink_side_leave(t);
	return result;
}

#endif
