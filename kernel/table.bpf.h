/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The table of kind `line` for many writers, in BPF: a step, and a look.
 *
 * The steps are those of engine/engine.h over the cells of kinds/line/cells.h, and their laws hold here, too. After
 * the same steps by one processor a body has the same bytes. What differs is owed to the verifier:
 *
 *     branch-free   a search compares all eight words of a line, and what is not of the flow's part is masked out.
 *                   Counting and scanning bits is arithmetic. There are no 48 pairs of word and column to follow, but
 *                   one number. Room is searched for as slots.h draws it, because there the first slot counts; an
 *                   entry, of which there is one, in less work (ink_line_tags).
 *     one swap      a try finds an entry, decides, and ends in the only compare-and-swap of entries. If the word
 *                   has changed meanwhile, the caller tries again.
 *     bounded       tries and waits for a lock are limited. What does not succeed is given up, and the caller counts it.
 *     flat          the functions that need much of the verifier are global, so that it looks at each of them once.
 *                   The deepest chain of calls below ink_table_step has three.
 *
 *     ink_table_step
 *       ink_table_try          the entry in the lines: found, moved, swapped
 *       ink_side_step          the flow is in the side table (side.bpf.h)
 *       ink_table_insert       with the claim held: looks again, stores, or lets the policy decide
 *
 * Memory order. BPF has no acquiring load. Loads are volatile, hence in the order of the program on x86. A swap is a
 * full barrier everywhere, and what was read before it is confirmed by it (the word) or read again behind it (the
 * view).
 */
#ifndef INKLING_KERNEL_TABLE_BPF_H
#define INKLING_KERNEL_TABLE_BPF_H

#include "kernel/maps.bpf.h"

#include <linux/errno.h>

#include "table/age.h"

enum {
	INK_TABLE_TRIES = 16,  /* 8 give up 0.14 % of the steps that two processors make in one single flow */
	INK_TABLE_SPINS = 256, /* for a lock: some microseconds; an insert holds it for 100 ns */
	INK_TABLE_NEW = EXDEV, /* internal: the flow is to be stored, */
	INK_TABLE_BEGINS = EEXIST /* ... beside the entry of another that it matches */
};

#define INK_LOADED(x) (*(const volatile __typeof__(x) *)&(x))
#define INK_STORE(x, value) (*(volatile __typeof__(x) *)&(x) = (value))

/* A store behind all stores before it: only an exchange orders them on every processor. */
#define INK_PUBLISH(x, value) ((void)__sync_lock_test_and_set(&(x), (value)))

/* An index that is masked again: the compiler, which knows its range, must not drop the mask that the verifier needs. */
#define INK_OPAQUE(x)                                                                                        \
	({                                                                                                   \
		uint32_t ink_opaque_ = (x);                                                                  \
		__asm__ volatile("" : "+r"(ink_opaque_));                                                    \
		ink_opaque_;                                                                                 \
	})

/* ------------------------------------------------------------------- results */

/*
 * A step's result. From and to are states, INK_ABSENT or INK_DONT_KNOW. The error is 0, ENOSPC (the table refused
 * the flow) or EBUSY (given up: no step was made).
 *
 *     63   56 55    48 47      32 31      16 15       0
 *     +------+--------+----------+----------+----------+
 *     |   0  |  error |  action  |    to    |   from   |
 *     +------+--------+----------+----------+----------+
 */
static __always_inline uint64_t ink_step_result(int32_t from, int32_t to, uint32_t action, uint32_t error)
{
	return (uint64_t)error << 48 | (uint64_t)action << 32 | (uint64_t)(to & 0xffff) << 16 |
	       (from & 0xffff);
}

static __always_inline uint64_t ink_step_error(uint32_t error)
{
	return ink_step_result(INK_DONT_KNOW, INK_DONT_KNOW, 0, error);
}

static __always_inline int32_t ink_step_from(uint64_t result)
{
	return (int16_t)result;
}

static __always_inline int32_t ink_step_to(uint64_t result)
{
	return (int16_t)(result >> 16);
}

static __always_inline uint32_t ink_step_action(uint64_t result)
{
	return result >> 32 & 0xffff;
}

static __always_inline uint32_t ink_step_failed(uint64_t result)
{
	return result >> 48;
}

/* ---------------------------------------------------------------------- slots */

static __always_inline uint32_t ink_bits_set(uint32_t x)
{
	x -= x >> 1 & 0x55555555;
	x = (x & 0x33333333) + (x >> 2 & 0x33333333);
	return ((x + (x >> 4)) & 0x0f0f0f0f) * 0x01010101 >> 24;
}

/* The number of the lowest bit that is set; 32: none. */
static __always_inline uint32_t ink_lowest(uint32_t x)
{
	return ink_bits_set(~x & (x - 1));
}

/* The word at each position of slots.h, a hexadecimal digit each; the order is its own inverse. */
static __always_inline uint32_t ink_word_order(uint32_t position)
{
	return 0x76325410u >> 4 * position & 7;
}

static __always_inline uint32_t ink_slot_word(uint32_t slot)
{
	return ink_word_order(slot >> 2 & 7);
}

static __always_inline uint32_t ink_slot_column(uint32_t slot)
{
	return (slot & 3) * 16;
}

/* The lanes of a word that agree with the fingerprint; of 0: those that are empty. */
static __always_inline uint32_t ink_word_slots(const struct ink_line_shape *s, uint64_t word,
					       uint32_t fingerprint)
{
	uint64_t columns = ink_line_columns(s, word, fingerprint);
	uint32_t above = fingerprint >> s->tag_bits & s->above_mask; /* in five bits for each lane */
	uint32_t differs = ((uint32_t)(word >> INK_LINE_REST_AT) ^ above * 0x421) & s->above_mask * 0x421;

	differs |= differs >> 2;
	differs |= differs >> 1 | differs >> 2; /* bits 0 to 4 of a lane come together in bit 0 */
	differs &= 0x421;
	differs |= differs >> 4 | differs >> 8;
	return (uint32_t)(columns | columns >> 15 | columns >> 30 | columns >> 45) & 0xf & ~differs;
}

/* The slots of a line, as in slots.h. */
static __always_inline uint32_t ink_line_slots(const struct ink_line_shape *s, const struct ink_line *line,
					       uint32_t fingerprint)
{
	uint32_t slots = 0;

#pragma unroll
	for (uint32_t i = 0; i < INK_LINE_WORDS; i++) {
		slots |= ink_word_slots(s, ink_line_read(&line->word[i]), fingerprint)
			 << 4 * ink_word_order(i);
		slots = INK_OPAQUE(
			slots); /* word by word, or what all of them need at once spills to the stack */
	}
	return slots & (uint32_t)s->slots;
}

/* Those of a part, by its number. Sums in place of choices: words is 1, 2, 4 or 8. */
static __always_inline uint32_t ink_part_mask(const struct ink_line_shape *s, uint32_t part)
{
	uint32_t whole = s->words >> 3, half = (s->words >> 2 & 1) | whole,
		 quarter = (s->words >> 1 & 1) | half;
	uint32_t first = 0xf | quarter * 0xf0 | half * 0x00ff0000 | whole * 0xff00ff00;

	return first << 4 * ink_word_order(part * s->words & 7);
}

/* ---------------------------------------------------------------------- places */

/* Where a flow may stand: its two parts, and the lines that they are in, counted from the table's first. */
struct ink_where {
	uint32_t part[2], line[2];
	uint32_t fingerprint;
};

static __always_inline struct ink_where ink_where_of(const struct ink_kernel_table *t, uint64_t id)
{
	const struct ink_line_shape *s = &t->shape;
	struct ink_line_place p = ink_line_place(s, id);

	return (struct ink_where){{p.first, p.second},
				  {p.first * s->words / INK_LINE_WORDS, p.second * s->words / INK_LINE_WORDS},
				  p.fingerprint};
}

static __always_inline struct ink_line *ink_line_of(const struct ink_kernel_table *t, uint32_t line)
{
	return INK_AT(body, t->base + line);
}

static __always_inline int ink_side_flagged(const struct ink_line *line, uint64_t id)
{
	return INK_LOADED(line->word[INK_LINE_SIDE + (id & 3)]) >> 63;
}

/* The slots of a part. */
static __always_inline uint32_t ink_part_slots(const struct ink_kernel_table *t, uint32_t line, uint32_t part,
					       uint32_t fingerprint)
{
	struct ink_line *l = ink_line_of(t, line);

	return l ? ink_line_slots(&t->shape, l, fingerprint) & ink_part_mask(&t->shape, part) : 0;
}

/*
 * The slots of a flow's two parts, those of the second in the upper half: those with its fingerprint, or the empty
 * ones.
 */
__noinline uint64_t ink_table_slots(uint32_t number, uint64_t id, uint32_t empty)
{
	const struct ink_kernel_table *t = INK_AT(tables, number);
	struct ink_where w;

	if (!t)
		return 0;
	w = ink_where_of(t, id);
	if (empty)
		w.fingerprint = 0;
	return ink_part_slots(t, w.line[0], w.part[0], w.fingerprint) |
	       (uint64_t)ink_part_slots(t, w.line[1], w.part[1], w.fingerprint) << 32;
}

/* The lowest slot, in a number that is below 64 if there is any. */
static __always_inline uint32_t ink_first_slot(uint64_t slots)
{
	uint32_t low = (uint32_t)slots, upper = -(uint32_t)(low == 0);

	return ink_lowest(low | ((uint32_t)(slots >> 32) & upper)) + (32 & upper);
}

/*
 * The words of a line with the tag, as bit 16 x lane + word: less work than slots, for a search that need not know
 * which is the first. See ink_line_columns.
 */
static __always_inline uint64_t ink_line_tags(const struct ink_line_shape *s, const struct ink_line *line,
					      uint32_t fingerprint)
{
	uint64_t tops = s->units << (s->column_bits - 1), below = tops - s->units, tags = s->tags, found = 0;
	uint64_t tag = s->units * (fingerprint & s->tag_mask);

#pragma unroll
	for (uint32_t i = 0; i < INK_LINE_WORDS; i++) {
		uint64_t differs = (ink_line_read(&line->word[i]) ^ tag) & tags;

		found |= (~(((differs & below) + below) | differs) & tops) >> (INK_LINE_WORDS - 1 - i);
		__asm__ volatile("" : "+r"(found)); /* word by word, as in ink_line_slots */
	}
	return found >> (s->column_bits - INK_LINE_WORDS);
}

/* The same in a part, with the second and fourth lane between the first and the third: 8 bits each. */
static __always_inline uint32_t ink_part_tags(const struct ink_kernel_table *t, const struct ink_line *line,
					      uint32_t part, uint32_t fingerprint)
{
	uint32_t words = t->shape.words, mask = ((1u << words) - 1) << (part * words & 7);
	uint64_t found = ink_line_tags(&t->shape, line, fingerprint);

	return (uint32_t)(found | found >> 24) & mask * 0x01010101;
}

/* The slot of the lowest bit of these. */
static __always_inline uint32_t ink_tags_slot(uint32_t tags)
{
	uint32_t bit = ink_lowest(tags), lane = bit >> 3;

	return ink_word_order(bit & 7) << 2 | (lane >> 1 & 1) | (lane & 1) << 1;
}

enum { INK_MATCH_NONE = 64, INK_MATCH_SIDE = 128 };

/* In shapes whose tags are not all of a fingerprint: the slot itself, or one that has the rest, too. */
static __always_inline uint32_t ink_sure_slot(const struct ink_kernel_table *t, uint32_t number, uint64_t id,
					      const struct ink_line *line, uint32_t slot,
					      uint32_t fingerprint)
{
	uint64_t word = ink_line_read(&line->word[ink_slot_word(slot)]);

	if (ink_line_entry_fp(&t->shape, ink_line_entry(&t->shape, word, ink_slot_column(slot))) ==
	    fingerprint)
		return slot;
	return ink_first_slot(ink_table_slots(number, id, 0));
}

/* The slot of the entry that matches, or INK_MATCH_NONE; and INK_MATCH_SIDE, if the side table is to be asked first. */
__noinline uint32_t ink_table_match(uint32_t number, uint64_t id)
{
	const struct ink_kernel_table *t = INK_AT(tables, number);
	struct ink_line *first, *second;
	uint32_t tags, side, slot;
	struct ink_where w;

	if (!t)
		return INK_MATCH_NONE;
	w = ink_where_of(t, id);
	first = ink_line_of(t, w.line[0]);
	second = ink_line_of(t, w.line[1]);
	if (!first || !second)
		return INK_MATCH_NONE;
	/* Fetches the second line beside the first. BPF has no prefetch, and nobody can predict which it will be. */
	(void)INK_LOADED(second->word[w.part[1] * t->shape.words & 7]);
	side = ink_side_flagged(first, id) * INK_MATCH_SIDE;
	tags = ink_part_tags(t, first, w.part[0], w.fingerprint);
	if (tags) {
		slot = ink_tags_slot(tags);
	} else {
		tags = ink_part_tags(t, second, w.part[1], w.fingerprint);
		if (!tags)
			return side | INK_MATCH_NONE;
		slot = ink_tags_slot(tags) | 32;
		first = second;
	}
	if (t->shape.above_bits)
		slot = ink_sure_slot(t, number, id, first, slot, w.fingerprint);
	return side | slot;
}

/* The line of one of these slots. */
static __always_inline uint32_t ink_slot_line(const struct ink_where *w, uint32_t slot)
{
	return w->line[0] ^ ((w->line[0] ^ w->line[1]) & -(slot >> 5 & 1));
}

/* ----------------------------------------------------------------------- flags */

/* The word of a line with the overflow flag of a part: cells.h. */
static __always_inline uint32_t ink_overflow_word(const struct ink_line_shape *s, uint32_t part)
{
	return INK_LINE_OVERFLOW + (INK_OPAQUE((part * s->words & 7) / s->words) & (INK_LINE_OVERFLOWS - 1));
}

static __always_inline int ink_part_overflowed(const struct ink_kernel_table *t, const struct ink_where *w,
					       uint32_t which)
{
	struct ink_line *line = ink_line_of(t, w->line[which]);

	return line && INK_LOADED(line->word[ink_overflow_word(&t->shape, w->part[which])]) >> 63;
}

/* A miss may be a flow that found no room. In most tables no part was ever flagged. */
static __always_inline int ink_where_overflowed(const struct ink_kernel_table *t, const struct ink_where *w)
{
	return t->ever_flagged && ink_part_overflowed(t, w, 0) && ink_part_overflowed(t, w, 1);
}

/* ----------------------------------------------------------------------- codes */

/* As in table/epoch.h: the stored code of an entry of that line that is touched now. */
static __always_inline uint32_t ink_fresh_code(const struct ink_kernel_table *t, uint64_t view, uint32_t line,
					       uint32_t state)
{
	uint32_t table = (uint32_t)(view >> 32) & 1;

	return INK_LOADED(t->fresh[(table ^ (line < (uint32_t)view)) & 1][state & (INK_KERNEL_STATES - 1)]);
}

static __always_inline uint32_t ink_decode(const struct ink_kernel_table *t, uint32_t fresh, uint32_t stored)
{
	return (stored | t->age_top) - ((fresh - stored) & t->age_top);
}

static __always_inline uint32_t ink_encode(const struct ink_kernel_table *t, uint32_t fresh, uint32_t code)
{
	return (code & ~t->age_top) | ((fresh - (t->age_top - (code & t->age_top))) & t->age_top);
}

/* Does a move keep the age of its entry (ink_keeps_age)? Both states then have one window. */
static __always_inline int ink_keeps(const struct ink_kernel_machine *k, uint32_t from, uint32_t to)
{
	const struct ink_kernel_state *a = INK_AT(states, k->states_at + from), *b;

	if (!a || !a->window)
		return 0;
	b = INK_AT(states, k->states_at + to);
	return b && a->window == b->window;
}

/* The code of an entry that moves: fresh, or with the age that it has. */
static __always_inline uint32_t ink_moved_code(const struct ink_kernel_table *t, uint64_t view, uint32_t line,
					       uint32_t code, uint32_t to, int keeps)
{
	uint32_t fresh = ink_fresh_code(t, view, line, to), before;

	if (!keeps)
		return fresh;
	before = ink_fresh_code(t, view, line, code >> t->age_bits);
	return ink_encode(t, fresh, to << t->age_bits | (ink_decode(t, before, code) & t->age_top));
}

/* ------------------------------------------------------------------------ rows */

static __always_inline struct ink_kernel_row ink_row_of(const struct ink_kernel_machine *k, uint32_t line,
							uint32_t event)
{
	const struct ink_kernel_row *row = INK_AT(rows, k->rows_at + line * k->events + event);

	return row ? *row : (struct ink_kernel_row){INK_NO_ROW, 0};
}

/* A start event where the state has no row for it: what matched cannot be this flow's. */
static __always_inline int ink_row_begins(const struct ink_kernel_machine *k, struct ink_kernel_row row,
					  uint32_t event)
{
	const struct ink_kernel_compiled *c;

	if (row.next != INK_NO_ROW)
		return 0;
	c = INK_AT(compiled, k->compiled_at + event);
	return c && c->start;
}

static __always_inline uint64_t ink_step_unsure(const struct ink_kernel_table *t,
						const struct ink_kernel_machine *k, uint32_t event)
{
	return ink_step_result(INK_DONT_KNOW, INK_DONT_KNOW, ink_row_of(k, t->states + 1, event).action, 0);
}

/* The move of a flow that is not there; if it leads to a state, the error says that the flow is to be stored. */
static __always_inline uint64_t ink_step_new(const struct ink_kernel_table *t,
					     const struct ink_kernel_machine *k, uint32_t event, uint32_t how)
{
	struct ink_kernel_row row = ink_row_of(k, t->states, event);

	if (row.next < 0)
		return ink_step_result(INK_ABSENT, INK_ABSENT, row.action, 0);
	return ink_step_result(INK_ABSENT, row.next, row.action, how);
}

/* ----------------------------------------------------------------- an entry */

/* An entry, the word that it was read from, and the view from before that. */
struct ink_found {
	struct ink_line *line;
	uint32_t number; /* of the line */
	uint32_t word, column;
	uint64_t seen, view;
	uint32_t code;
};

/* Reads the entry of a slot; 0: it is not the fingerprint's any more. */
static __always_inline int ink_found_read(const struct ink_kernel_table *t, uint32_t line, uint32_t slot,
					  uint32_t fingerprint, struct ink_found *f)
{
	uint32_t entry;

	f->number = line;
	f->line = ink_line_of(t, line);
	if (!f->line)
		return 0;
	f->word = ink_slot_word(slot);
	f->column = ink_slot_column(slot);
	f->view = INK_LOADED(t->view);
	f->seen = ink_line_read(&f->line->word[f->word]);
	entry = ink_line_entry(&t->shape, f->seen, f->column);
	f->code = ink_line_entry_code(&t->shape, entry);
	return ink_line_entry_fp(&t->shape, entry) == fingerprint;
}

/* Law 6: the code belongs to the view in which the word was read. */
static __always_inline int ink_found_swap(const struct ink_kernel_table *t, struct ink_found *f,
					  uint64_t word)
{
	if (INK_LOADED(t->view) != f->view)
		return 0;
	return __sync_val_compare_and_swap(&f->line->word[f->word & 7], f->seen, word) == f->seen;
}

static __always_inline uint64_t ink_found_recoded(const struct ink_kernel_table *t, const struct ink_found *f,
						  uint32_t code)
{
	return f->seen ^ ink_line_spread(&t->shape, f->column, (f->code ^ code) << t->shape.fp_bits);
}

static __always_inline uint64_t ink_found_cleared(const struct ink_kernel_table *t, const struct ink_found *f)
{
	return f->seen & ~ink_line_lane(&t->shape, f->column);
}

/*
 * Law 7: the epoch changed around a swap. If the entry is still there in that state, it is touched again. After so
 * many tries others have touched it, or the table ticks faster than it can be used.
 */
__noinline uint32_t ink_touch_again(uint32_t number, uint64_t id, uint32_t line, uint32_t slot,
				    uint32_t state)
{
	const struct ink_kernel_table *t = INK_AT(tables, number);
	uint32_t fingerprint;
	struct ink_found f;

	if (!t)
		return 0;
	fingerprint = ink_line_fingerprint(&t->shape, (uint32_t)id);
	for (uint32_t i = 0; i < 4; i++) {
		uint32_t fresh;

		if (!ink_found_read(t, line, slot, fingerprint, &f) || f.code >> t->age_bits != state)
			return 0;
		fresh = ink_fresh_code(t, f.view, line, state);
		if (ink_found_swap(t, &f, ink_found_recoded(t, &f, fresh)) && INK_LOADED(t->view) == f.view)
			return 1;
	}
	return 0;
}

/* ----------------------------------------------------------------------- the step */

/* The move of the entry along its row, swapped; EAGAIN: others have changed it meanwhile. */
static __always_inline uint64_t ink_step_entry(const struct ink_kernel_table *t,
					       const struct ink_kernel_machine *k, uint64_t id,
					       struct ink_found *f, uint32_t slot, uint32_t number,
					       struct ink_kernel_row row)
{
	uint32_t from = f->code >> t->age_bits;
	int32_t to = row.next == INK_NO_ROW ? (int32_t)from : row.next;
	int keeps = 0;
	uint64_t word;

	if (to < 0) {
		word = ink_found_cleared(t, f);
	} else {
		keeps = ink_keeps(k, from, to);
		word = ink_found_recoded(t, f, ink_moved_code(t, f->view, f->number, f->code, to, keeps));
	}
	if (word == f->seen && INK_LOADED(t->view) == f->view)
		return ink_step_result(from, to, row.action, 0);
	if (!ink_found_swap(t, f, word))
		return ink_step_error(EAGAIN);
	if (to >= 0 && !keeps && INK_LOADED(t->view) != f->view)
		ink_touch_again(number, id, f->number, slot, to);
	return ink_step_result(from, to, row.action, 0);
}

#include "kernel/side.bpf.h"

/*
 * One try. Errors are the caller's to act on: EAGAIN; ENOENT, the side table is to be asked, unless `asked`;
 * INK_TABLE_NEW or INK_TABLE_BEGINS, the flow is to be stored.
 */
__noinline uint64_t ink_table_try(uint32_t machine, uint64_t id, uint32_t event, uint32_t asked)
{
	const struct ink_kernel_machine *k = INK_AT(machines, machine);
	const struct ink_kernel_table *t = INK_AT(tables, machine % INK_KERNEL_MACHINES);
	struct ink_kernel_row row;
	struct ink_where w;
	struct ink_found f;
	uint32_t slot, state;

	if (!k || !t)
		return ink_step_error(EINVAL);
	slot = ink_table_match(machine % INK_KERNEL_MACHINES, id);
	if (!asked && slot & INK_MATCH_SIDE)
		return ink_step_error(ENOENT);
	w = ink_where_of(t, id);
	if (slot & INK_MATCH_NONE)
		return ink_where_overflowed(t, &w) ? ink_step_unsure(t, k, event)
						   : ink_step_new(t, k, event, INK_TABLE_NEW);
	slot &= INK_MATCH_NONE - 1;
	if (!ink_found_read(t, ink_slot_line(&w, slot), slot, w.fingerprint, &f))
		return ink_step_error(EAGAIN);
	state = f.code >> t->age_bits;
	if (state == t->unsure)
		return ink_step_unsure(t, k, event);
	row = ink_row_of(k, state, event);
	if (ink_row_begins(k, row, event))
		return ink_step_new(t, k, event, INK_TABLE_BEGINS);
	return ink_step_entry(t, k, id, &f, slot, machine % INK_KERNEL_MACHINES, row);
}

/* ---------------------------------------------------------------------- inserts */

static long ink_claim_once(uint32_t i, void *number)
{
	struct ink_kernel_claim *claim = INK_AT(claims, *(uint32_t *)number);

	if (!claim ||
	    i + 1 == INK_TABLE_SPINS) /* the last turn only ends the loop: it says whether one was stopped */
		return 0;
	return !INK_LOADED(claim->held) && !__sync_val_compare_and_swap(&claim->held, 0, 1);
}

/* Waits for the lock of inserts, but not for ever: 1 if it is held now. */
__noinline uint32_t ink_claim_take(uint32_t number)
{
	uint32_t which = number % INK_KERNEL_CLAIMS;

	return bpf_loop(INK_TABLE_SPINS, ink_claim_once, &which, 0) < INK_TABLE_SPINS;
}

static __always_inline void ink_claim_leave(uint32_t number)
{
	struct ink_kernel_claim *claim = INK_AT(claims, number % INK_KERNEL_CLAIMS);

	if (claim)
		__sync_lock_test_and_set(&claim->held, 0);
}

/* A new entry in the emptier part, or in the first if they are equal. 0, EAGAIN or ENOSPC. */
__noinline uint32_t ink_table_store(uint32_t number, uint64_t id, uint32_t state)
{
	const struct ink_kernel_table *t = INK_AT(tables, number);
	uint32_t slot, fresh, prefer;
	struct ink_where w;
	struct ink_found f;
	uint64_t slots;

	if (!t)
		return EINVAL;
	w = ink_where_of(t, id);
	slots = ink_table_slots(number, id, 1);
	if (!slots)
		return ENOSPC;
	prefer = (ink_bits_set((uint32_t)slots) - ink_bits_set(slots >> 32)) >> 31; /* 1: the second part */
	slot = ink_first_slot(slots & (prefer ? 0xffffffff00000000 : 0x00000000ffffffff));
	if (!ink_found_read(t, ink_slot_line(&w, slot), slot, 0, &f))
		return EAGAIN;
	fresh = ink_fresh_code(t, f.view, f.number, state);
	fresh = ink_line_make_entry(&t->shape, w.fingerprint, fresh);
	return ink_found_swap(t, &f, f.seen | ink_line_spread(&t->shape, f.column, fresh)) ? 0 : EAGAIN;
}

/* ------------------------------------------------------------------- the policies */

/* Of several of one age: is that the one (ink_chosen in table/table.h)? */
static __always_inline int ink_lot_falls(uint64_t replaced, uint32_t equals)
{
	uint64_t lot = replaced * 0x9e3779b97f4a7c15ull + equals * 0xbf58476d1ce4e5b9ull;

	lot = (lot ^ lot >> 31) * 0x94d049bb133111ebull;
	return (lot >> 32) * equals >> 32 == 0;
}

/*
 * The choice among the entries of a part, in a map: a plain loop with calls, which choose what stays in registers, is
 * a million instructions for the verifier of Linux 6.1.
 */
struct ink_choice {
	uint32_t used; /* slots that are still to be looked at */
	uint32_t best, least, equals;
};

INK_PER_CPU(choices, 1, struct ink_choice);

/* What does not change meanwhile. */
struct ink_choosing {
	const struct ink_kernel_table *t;
	const struct ink_kernel_machine *k;
	const struct ink_line *line;
	struct ink_choice *choice;
	uint64_t view;
	uint32_t number; /* of the line */
};

/* The age of an entry that may be removed, + 1; else 0. */
static __always_inline uint32_t ink_expendable_age(const struct ink_choosing *c, uint32_t slot)
{
	const struct ink_kernel_table *t = c->t;
	uint32_t code = ink_line_entry(&t->shape, ink_line_read(&c->line->word[ink_slot_word(slot)]),
				       ink_slot_column(slot));

	code = ink_line_entry_code(&t->shape, code);
	if (!ink_is_expendable(t, c->k, code))
		return 0;
	return 1 +
	       (ink_decode(t, ink_fresh_code(t, c->view, c->number, code >> t->age_bits), code) & t->age_top);
}

static long ink_choose_next(uint32_t i, struct ink_choosing *c)
{
	struct ink_choice *choice = c->choice;
	uint32_t slot = ink_lowest(choice->used), age;

	if (slot >= 32)
		return 1;
	choice->used &= choice->used - 1;
	age = ink_expendable_age(c, slot);
	if (!age || age > choice->least)
		return 0;
	choice->equals = age < choice->least ? 1 : choice->equals + 1;
	choice->least = age;
	if (ink_lot_falls(c->t->replaced, choice->equals))
		choice->best = slot;
	return 0;
}

/* The slot of a part's expendable entry that is idle longest; 32: there is none. */
__noinline uint32_t ink_part_expendable(uint32_t machine, uint32_t part, uint32_t line)
{
	struct ink_choosing c = {.t = INK_AT(tables, machine % INK_KERNEL_MACHINES),
				 .k = INK_AT(machines, machine),
				 .choice = INK_AT(choices, 0),
				 .number = line};

	if (!c.t || !c.k || !c.choice)
		return 32;
	c.line = ink_line_of(c.t, line);
	if (!c.line)
		return 32;
	c.view = INK_LOADED(c.t->view);
	*c.choice = (struct ink_choice){.best = 32, .least = UINT32_MAX};
	c.choice->used = ~ink_line_slots(&c.t->shape, c.line, 0) & ink_part_mask(&c.t->shape, part) &
			 (uint32_t)c.t->shape.slots;
	bpf_loop(32, ink_choose_next, &c, 0);
	return c.choice->best;
}

/* Is there an entry in that column of the word which may be removed? */
static __always_inline int ink_may_drop(const struct ink_kernel_table *t, uint32_t machine, uint64_t word,
					uint32_t column)
{
	const struct ink_kernel_machine *k = INK_AT(machines, machine);
	uint32_t entry = ink_line_entry(&t->shape, word, column);

	return k && entry && ink_is_expendable(t, k, ink_line_entry_code(&t->shape, entry));
}

/* Makes room in one of the flow's parts; 1 if it did. What was chosen may have moved to another state meanwhile. */
static __always_inline uint32_t ink_part_drop(const struct ink_kernel_table *t, uint32_t machine,
					      uint32_t part, uint32_t line)
{
	uint32_t slot = ink_part_expendable(machine, part, line), column = ink_slot_column(slot);
	struct ink_line *l = ink_line_of(t, line);
	uint64_t seen, *word;

	if (!l || slot >= 32)
		return 0;
	word = &l->word[ink_slot_word(slot)];
	seen = ink_line_read(word);
	if (!ink_may_drop(t, machine, seen, column))
		return 0;
	return __sync_val_compare_and_swap(word, seen, seen & ~ink_line_lane(&t->shape, column)) == seen;
}

static __always_inline void ink_part_flag(const struct ink_kernel_table *t, uint32_t part, uint32_t line)
{
	struct ink_line *l = ink_line_of(t, line);

	if (l)
		__sync_fetch_and_or(&l->word[ink_overflow_word(&t->shape, part)], INK_LINE_FLAG);
}

static __always_inline uint32_t ink_refuse(struct ink_kernel_table *t)
{
	__sync_fetch_and_add(&t->refused, 1);
	return ENOSPC;
}

static __always_inline uint32_t ink_replaced(struct ink_kernel_table *t)
{
	__sync_fetch_and_add(&t->replaced, 1);
	return 0;
}

/* Neither the parts nor the side table have room. */
static __always_inline uint32_t ink_no_room(struct ink_kernel_table *t, uint32_t machine, uint64_t id,
					    uint32_t state)
{
	uint32_t number = machine % INK_KERNEL_MACHINES;
	struct ink_where w = ink_where_of(t, id);

	if (t->full == INK_REPLACE) {
		if ((ink_part_drop(t, machine, w.part[0], w.line[0]) ||
		     ink_part_drop(t, machine, w.part[1], w.line[1])) &&
		    !ink_table_store(number, id, state))
			return ink_replaced(t);
		if (ink_side_drop_expendable(machine) && !ink_side_put(number, id, state))
			return ink_replaced(t);
	}
	if (t->full != INK_REFUSE) {
		t->ever_flagged = 1;
		ink_part_flag(t, w.part[0], w.line[0]);
		ink_part_flag(t, w.part[1], w.line[1]);
		t->flagged = 1;
	}
	return ink_refuse(t);
}

/* Another flow's entry matches, and the side table is full: the entry says don't-know of both. */
__noinline uint32_t ink_mark(uint32_t number, uint64_t id)
{
	struct ink_kernel_table *t = INK_AT(tables, number);
	struct ink_where w;
	struct ink_found f;
	uint32_t slot;

	if (!t)
		return EINVAL;
	w = ink_where_of(t, id);
	slot = ink_first_slot(ink_table_slots(number, id, 0));
	if (slot >= 64)
		return 0;
	if (!ink_found_read(t, ink_slot_line(&w, slot), slot, w.fingerprint, &f))
		return EAGAIN;
	if (f.code >> t->age_bits == t->unsure)
		return 0;
	if (!ink_found_swap(t, &f, ink_found_recoded(t, &f, ink_fresh_code(t, f.view, f.number, t->unsure))))
		return EAGAIN;
	__sync_fetch_and_add(&t->marked, 1);
	if (INK_LOADED(t->view) != f.view)
		ink_touch_again(number, id, f.number, slot, t->unsure);
	return 0;
}

/* Another flow's entry matches: the new one goes to the side table, or the policy decides. */
static __always_inline uint32_t ink_put_collision(struct ink_kernel_table *t, uint32_t machine, uint64_t id,
						  uint32_t state)
{
	uint32_t number = machine % INK_KERNEL_MACHINES, result = ink_side_put(number, id, state);

	if (result && result != ENOSPC)
		return EAGAIN;
	__sync_fetch_and_add(&t->collisions, 1);
	if (!result)
		return 0;
	if (t->full == INK_REPLACE && ink_side_drop_expendable(machine) && !ink_side_put(number, id, state))
		return ink_replaced(t);
	if (t->full != INK_REPLACE)
		for (uint32_t i = 0; i < INK_TABLE_TRIES && ink_mark(number, id) == EAGAIN; i++)
			;
	return ink_refuse(t);
}

static __always_inline uint32_t ink_put_new(struct ink_kernel_table *t, uint32_t machine, uint64_t id,
					    uint32_t state)
{
	uint32_t number = machine % INK_KERNEL_MACHINES, result = ink_table_store(number, id, state);

	if (result != ENOSPC)
		return result;
	result = ink_side_put(number, id, state);
	if (!result)
		__sync_fetch_and_add(&t->overflowed, 1);
	if (result)
		return result == ENOSPC ? ink_no_room(t, machine, id, state) : EAGAIN;
	return 0;
}

/* With the claim held: looks again, and stores. A flow that matches another's entry must have begun with it. */
static __always_inline uint32_t ink_put(struct ink_kernel_table *t, uint32_t machine, uint64_t id,
					uint32_t state, uint32_t how)
{
	uint32_t number = machine % INK_KERNEL_MACHINES, matches;
	struct ink_where w = ink_where_of(t, id);
	struct ink_line *home = ink_line_of(t, w.line[0]);

	if (!home || (ink_side_flagged(home, id) && ink_side_has(number, id) != ENOENT))
		return EAGAIN;
	matches = !(ink_table_match(number, id) & INK_MATCH_NONE);
	if (matches && how != INK_TABLE_BEGINS)
		return EAGAIN;
	return matches ? ink_put_collision(t, machine, id, state) : ink_put_new(t, machine, id, state);
}

/* 0; ENOSPC: refused; EAGAIN: others have stored the flow, or hold what is needed. */
__noinline uint32_t ink_table_insert(uint32_t machine, uint64_t id, uint32_t state, uint32_t how)
{
	struct ink_kernel_table *t = INK_AT(tables, machine % INK_KERNEL_MACHINES);
	struct ink_where w;
	uint32_t claim, result;

	if (!t)
		return EINVAL;
	w = ink_where_of(t, id);
	claim = t->base + (w.line[0] < w.line[1] ? w.line[0] : w.line[1]);
	if (!ink_claim_take(claim))
		return EAGAIN;
	result = ink_put(t, machine, id, state, how);
	ink_claim_leave(claim);
	return result;
}

/* --------------------------------------------------------------------- the calls */

static __always_inline uint64_t ink_try_anywhere(uint32_t machine, uint64_t id, uint32_t event)
{
	uint64_t result = ink_table_try(machine, id, event, 0);

	if (ink_step_failed(result) != ENOENT)
		return result;
	result = ink_side_step(machine, id, event);
	return ink_step_failed(result) != ENOENT ? result : ink_table_try(machine, id, event, 1);
}

/*
 * Steps a flow: `machine` is an index of the map `machines`, `event` a compiled one. The result is unpacked by
 * ink_step_from, ink_step_to, ink_step_action and ink_step_failed.
 */
__noinline uint64_t ink_table_step(uint32_t machine, uint64_t id, uint32_t event)
{
	for (uint32_t i = 0; i < INK_TABLE_TRIES; i++) {
		uint64_t result = ink_try_anywhere(machine, id, event);
		uint32_t error = ink_step_failed(result);

		if (error == INK_TABLE_NEW || error == INK_TABLE_BEGINS) {
			error = ink_table_insert(machine, id, ink_step_to(result), error);
			result = ink_step_result(INK_ABSENT, error ? INK_ABSENT : ink_step_to(result),
						 ink_step_action(result), error);
		}
		if (error != EAGAIN)
			return result;
	}
	return ink_step_error(EBUSY);
}

/* What the lines say of a flow, and no touch: a state, INK_ABSENT or INK_DONT_KNOW. */
static __always_inline int32_t ink_peek_lines(const struct ink_kernel_table *t, uint32_t number, uint64_t id)
{
	struct ink_where w = ink_where_of(t, id);
	uint32_t slot = ink_first_slot(ink_table_slots(number, id, 0));
	struct ink_found f;

	if (slot >= 64)
		return ink_where_overflowed(t, &w) ? INK_DONT_KNOW : INK_ABSENT;
	if (!ink_found_read(t, ink_slot_line(&w, slot), slot, w.fingerprint, &f))
		return INK_DONT_KNOW;
	return f.code >> t->age_bits == t->unsure ? INK_DONT_KNOW : (int32_t)(f.code >> t->age_bits);
}

/* The state of a flow, without a touch; also INK_ABSENT, or INK_DONT_KNOW, as ink_peek says it. */
__noinline int32_t ink_table_peek(uint32_t machine, uint64_t id)
{
	uint32_t number = machine % INK_KERNEL_MACHINES;
	const struct ink_kernel_table *t = INK_AT(tables, number);
	struct ink_line *home;
	struct ink_where w;
	int32_t code;

	if (!t)
		return INK_DONT_KNOW;
	w = ink_where_of(t, id);
	home = ink_line_of(t, w.line[0]);
	if (!home)
		return INK_DONT_KNOW;
	code = ink_side_flagged(home, id) ? ink_side_code_of(number, id) : -ENOENT;
	if (code == -ENOENT)
		return ink_peek_lines(t, number, id);
	return code < 0 || (uint32_t)code >> t->age_bits == t->unsure ? INK_DONT_KNOW : code >> t->age_bits;
}

#endif
