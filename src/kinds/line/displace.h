/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Displacement in `line`: if both lines of a new flow are full, one of their entries
 * moves to its own other line. store.h calls it.
 */
#ifndef INKLING_KINDS_LINE_DISPLACE_H
#define INKLING_KINDS_LINE_DISPLACE_H

#include "kinds/line/cells.h"

/* An entry of a full line, and where it is to move. */
struct victim {
	struct ink_line_spot at;
	uint32_t line, other;
};

/* Puts our entry, already shifted to its column, in the victim's slot; its group is noted for the victim. */
INK_HOT void replace_victim(struct ink_table *t, struct victim victim, uint64_t ours)
{
	word_swap(victim.at.word, victim.at.seen, (victim.at.seen & ~lane_bits(t, victim.at.column)) | ours);
}

/* The seqlock makes a peek retry that searches for the victim while it moves. */
INK_HOT void move_out(struct ink_table *t, struct victim victim, struct ink_line_spot room, uint64_t moved,
		      uint64_t ours)
{
	const struct ink_line_shape *s = shape_of(t);
	uint32_t stripe =
		moving_stripe(ink_line_entry_fp(s, ink_line_entry(s, victim.at.seen, victim.at.column)));

	ink_seq_write_begin(t, stripe);
	word_swap(room.word, room.seen, room.seen | moved);
	ink_groups_note(t, victim.other);
	replace_victim(t, victim, ours);
	ink_seq_write_end(t, stripe);
	__atomic_store_n(&t->counters.displaced, t->counters.displaced + 1, __ATOMIC_RELAXED);
}

/* While a tick is under way. A victim that this tick removes need not move. */
__attribute__((noinline)) static void move_in_tick(struct ink_table *t, struct victim victim,
						   struct ink_line_spot room, uint64_t ours)
{
	const struct ink_line_shape *s = shape_of(t);
	uint32_t entry = ink_line_entry(s, victim.at.seen, victim.at.column);
	unsigned code = code_in(t, victim.line, ink_line_entry_code(s, entry));
	unsigned after = ink_age_across(t, victim.line, victim.other, code);

	if (after & INK_EXPIRES)
		ink_note_expiry(t, code);
	if (after == (INK_EXPIRES | INK_GONE)) {
		replace_victim(t, victim, ours);
		return;
	}
	after = stored_in(t, victim.other, after & ~INK_EXPIRES);
	move_out(t, victim, room, ink_line_lay(s, room.column, ink_line_entry_fp(s, entry), after), ours);
}

/* Between ticks, all lines store an entry alike. */
INK_HOT void move_victim(struct ink_table *t, struct victim victim, unsigned slot, uint64_t ours)
{
	struct ink_line_spot room = line_spot(line_at(t, victim.other), slot);

	if (__builtin_expect(t->aging.target != t->aging.now, 0))
		move_in_tick(t, victim, room, ours);
	else
		move_out(t, victim, room,
			 ink_line_shifted(shape_of(t), victim.at.seen, victim.at.column, room.column), ours);
}

/* ------------------------------------------------------------------ the victim */

/* The entries of a word of a full line, any of which may move, and their other lines. */
struct candidates {
	uint64_t *word, seen;
	uint32_t line;
	uint64_t others[4];
};

/*
 * The i-th word to try. The fingerprint selects the first one. With a fixed word, the
 * next insert would find the entry that the last displacement put there, which cannot
 * move either, because its other line was full.
 */
INK_HOT void candidates_read(const struct ink_table *t, const struct place *p, unsigned i,
			     struct candidates *a)
{
	uint32_t first = p->at.words[i / INK_LINE_WORDS];

	a->word = (uint64_t *)t->body + first + (p->at.fingerprint + i) % INK_LINE_WORDS;
	a->seen = word_read(a->word);
	a->line = first / INK_LINE_WORDS;
	word_others(shape_of(t), a->line, a->seen, a->others);
}

INK_HOT void others_fetch(const struct ink_table *t, const struct candidates *a, enum ink_intent how)
{
#pragma GCC unroll 4
	for (uint32_t lane = 0; lane < shape_of(t)->lanes; lane++)
		line_fetch(line_at(t, (uint32_t)a->others[lane]), how);
}

/*
 * Moves an entry of the word, and puts ours in its slot; 0 if none can move. All
 * entries are examined together, because one by one each would be a mispredicted
 * branch. The victim is the entry with most room in its other line: the more evenly
 * room is spread, the fewer lines are full.
 */
INK_HOT int displace_one(struct ink_table *t, const struct candidates *a, uint32_t fingerprint,
			 unsigned state)
{
	const struct ink_line_shape *s = shape_of(t);
	uint32_t free[4] = {0}, lane, best = 0;
	struct victim victim;
	uint64_t ours;

#pragma GCC unroll 4
	for (lane = 0; lane < s->lanes; lane++) {
		uint32_t room;

		free[lane] = line_slots(s, line_at(t, (uint32_t)a->others[lane]), 0);
		room = (uint32_t)__builtin_popcount(free[lane]) * 4 + 3 - lane;
		best = room > best ? room : best;
	}
	if (__builtin_expect(best < 4, 0))
		return 0;
	lane = 3 - best % 4;
	victim = (struct victim){
		{a->word, a->seen, lane * s->column_bits}, a->line, (uint32_t)a->others[lane]};
	ours = ink_line_lay(s, victim.at.column, fingerprint, fresh_code(t, a->line, state));
	move_victim(t, victim, (unsigned)__builtin_ctz(free[lane]), ours);
	return 1;
}

/* In 94 of 100 displacements the first word has an entry that can move (docs/tables.md). */
static int displace(struct ink_table *t, const struct place *p, unsigned state)
{
	for (unsigned i = 0; i < 2 * INK_LINE_WORDS; i++) {
		struct candidates a;

		candidates_read(t, p, i, &a);
		if (displace_one(t, &a, p->at.fingerprint, state))
			return 0;
	}
	return -ENOSPC;
}

#endif
