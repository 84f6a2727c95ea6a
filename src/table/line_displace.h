/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Displacement in `line`: where both lines of a new flow are full, an entry of
 * theirs moves to its own other line. Part of line_cells.h, like line_sweep.h.
 */
#ifndef INKLING_LINE_DISPLACE_H
#define INKLING_LINE_DISPLACE_H

/* An entry of a full line, and where it is to move. */
struct tenant {
	struct ink_line_spot at;
	uint32_t entry;
	uint32_t line, other;
};

/* Puts our entry in the tenant's place. */
static inline void take_place(struct ink_table *t, struct tenant who, uint32_t ours)
{
	word_swap(who.at.word, who.at.seen,
		  ink_line_change(shape_of(t), who.at.seen, who.at.column, who.entry, ours));
}

/* Peeks that look for the tenant while it moves look again. */
static inline void move_out(struct ink_table *t, struct tenant who, unsigned to, uint32_t moved,
			    uint32_t ours)
{
	uint32_t stripe = moving_stripe(ink_line_entry_fp(shape_of(t), who.entry));
	struct ink_line_spot room = line_spot(line_at(t, who.other), to);

	ink_disturb(t, stripe);
	word_swap(room.word, room.seen, room.seen | ink_line_spread(shape_of(t), room.column, moved));
	take_place(t, who, ours);
	ink_settle(t, stripe);
	__atomic_store_n(&t->counters.displaced, t->counters.displaced + 1, __ATOMIC_RELAXED);
}

/* From the stored code of an entry of a line to its code, and back. */
static inline unsigned code_in(const struct ink_table *t, uint32_t line, unsigned stored)
{
	const struct ink_coding *c = coding_of(t);

	return ink_unturned(c, fresh_code(t, line, ink_code_state(c, stored)), stored);
}

static inline unsigned stored_in(const struct ink_table *t, uint32_t line, unsigned code)
{
	const struct ink_coding *c = coding_of(t);

	return ink_turned(c, fresh_code(t, line, ink_code_state(c, code)), code);
}

/* While a tick is under way. A tenant whose time is over when it comes to that need not move. */
__attribute__((noinline)) static void move_in_tick(struct ink_table *t, struct tenant who, unsigned to,
						   uint32_t ours)
{
	const struct ink_line_shape *s = shape_of(t);
	unsigned code = code_in(t, who.line, ink_line_entry_code(s, who.entry));
	unsigned after = ink_age_across(t, who.line, who.other, code);

	if (after & INK_EXPIRES)
		ink_note_expiry(t, code);
	if (after == (INK_EXPIRES | INK_GONE)) {
		take_place(t, who, ours);
		return;
	}
	after = stored_in(t, who.other, after & ~INK_EXPIRES);
	move_out(t, who, to, ink_line_make_entry(s, ink_line_entry_fp(s, who.entry), after), ours);
}

/* Between ticks an entry looks the same in all lines. */
static inline void move_tenant(struct ink_table *t, struct tenant who, unsigned to, uint32_t ours)
{
	if (__builtin_expect(t->aging.target != t->aging.now, 0))
		move_in_tick(t, who, to, ours);
	else
		move_out(t, who, to, who.entry, ours);
}

/*
 * Moves an entry of a word, and puts ours in its place; 0 if none can move. All
 * its entries are asked together: one by one, each answer would be a branch
 * mispredicted. The one whose other line has most room moves, for the more evenly
 * room is spread, the fewer lines are full.
 */
static inline int displace_word(struct ink_table *t, uint32_t line, unsigned word, uint32_t ours)
{
	const struct ink_line_shape *s = shape_of(t);
	uint64_t *at = &line_at(t, line)->word[word], seen = word_read(at), others[4];
	uint32_t free[4], lane, best = 0;

	word_others_one_by_one(s, line, seen, others);
#pragma GCC unroll 4 /* so that the other lines are asked for from registers */
	for (lane = 0; lane < s->lanes; lane++) {
		uint32_t room;

		free[lane] = line_slots(s, line_at(t, (uint32_t)others[lane]), 0);
		room = (uint32_t)__builtin_popcount(free[lane]) * 4 + 3 - lane;
		best = room > best ? room : best;
	}
	if (best < 4)
		return 0;
	lane = 3 - best % 4;
	move_tenant(t,
		    (struct tenant){{at, seen, lane * s->column_bits},
				    ink_line_entry(s, seen, lane * s->column_bits),
				    line,
				    (uint32_t)others[lane]},
		    (unsigned)__builtin_ctz(free[lane]), ours);
	return 1;
}

/*
 * The word whose entries are asked first, and the next ones after it. It is not
 * the same for all: who got its place by displacement stands there, and its other
 * line was full, so that the next who asks would most likely ask in vain.
 */
INK_HOT uint32_t asked_word(const struct place *p, unsigned i)
{
	return (p->at.fingerprint + i) % INK_LINE_WORDS;
}

/* Nineteen times of twenty the first word will do, and place_fetch_more has had its lines fetched. */
static int displace(struct ink_table *t, const struct place *p, unsigned state)
{
	for (unsigned i = 0; i < 2 * INK_LINE_WORDS; i++) {
		uint32_t line = p->at.words[i / INK_LINE_WORDS] / INK_LINE_WORDS;

		if (displace_word(t, line, asked_word(p, i), fresh_entry(t, line, p->at.fingerprint, state)))
			return 0;
	}
	return -ENOSPC;
}

/*
 * Some items before an insert: room is looked for, and if it will have to be
 * made, the lines for that are fetched too. Whether the room is still there is
 * seen when its turn comes; and if it is, it is still the one to take, for
 * whoever stores an entry in a line takes the first that is free. Many writers
 * make no room, but need a lock, which another thread may have had last.
 */
#define LOOKS_FOR_ROOM
INK_HOT unsigned place_prepare(const struct ink_table *t, struct place *p)
{
	p->at.room = find_room(t, p);
	if (CELLS_SHARED)
		__builtin_prefetch(insert_lock(t, p), 1);
	return CELLS_SHARED ? 0 : p->at.room / LINE_NO_ROOM;
}

INK_HOT void place_fetch_more(const struct ink_table *t, const struct place *p, int far)
{
	const struct ink_line_shape *s = shape_of(t);
	uint64_t others[4];

	word_others(s, first_line(p), word_read(&place_line(t, p, 0)->word[asked_word(p, 0)]), others);
	for (uint32_t lane = 0; lane < s->lanes; lane++)
		line_fetch(line_at(t, (uint32_t)others[lane]), far ? FETCH_FAR : FETCH_TO_READ);
}

#endif
