/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Displacement in `line`: if both parts of a new flow are full, one of their entries
 * moves to its own other part. store.h calls it.
 *
 * In whole lines one move is enough (docs/tables.md, "Loads"). Smaller parts vary more in
 * how full they are. If no entry of the flow's parts can move, an entry of the parts
 * where they could go moves first, or one behind those: a breadth-first search finds
 * the shortest chain of moves.
 *
 *     new ---> [ full ] ---> [ full ] ---> [ room ]      the last entry moves first
 */
#ifndef INKLING_KINDS_LINE_DISPLACE_H
#define INKLING_KINDS_LINE_DISPLACE_H

#include "kinds/line/cells.h"

/* An entry of a full part, and the part where it is to move. */
struct victim {
	struct ink_line_spot at;
	uint32_t other;
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
	ink_groups_note(t, word_line(t, room.word));
	replace_victim(t, victim, ours);
	ink_seq_write_end(t, stripe);
	__atomic_store_n(&t->counters.displaced, t->counters.displaced + 1, __ATOMIC_RELAXED);
}

/* The victim's code, and what the move makes of it while a tick is under way. */
struct crossing {
	unsigned code, after;
};

static struct crossing crossing_of(const struct ink_table *t, struct victim victim)
{
	uint32_t entry = ink_line_entry(shape_of(t), victim.at.seen, victim.at.column);
	uint32_t from = word_line(t, victim.at.word), to = word_line(t, part_at(t, victim.other));
	unsigned code = code_in(t, from, ink_line_entry_code(shape_of(t), entry));

	return (struct crossing){code, ink_age_across(t, from, to, code)};
}

/* While a tick is under way. A victim that this tick removes need not move. */
__attribute__((noinline)) static void move_in_tick(struct ink_table *t, struct victim victim,
						   struct ink_line_spot room, uint64_t ours)
{
	const struct ink_line_shape *s = shape_of(t);
	uint32_t entry = ink_line_entry(s, victim.at.seen, victim.at.column);
	struct crossing c = crossing_of(t, victim);

	if (c.after & INK_EXPIRES)
		ink_note_expiry(t, c.code);
	if (c.after == (INK_EXPIRES | INK_GONE)) {
		replace_victim(t, victim, ours);
		return;
	}
	c.after = stored_in(t, word_line(t, room.word), c.after & ~INK_EXPIRES);
	move_out(t, victim, room, ink_line_lay(s, room.column, ink_line_entry_fp(s, entry), c.after), ours);
}

/* Between ticks, all lines store an entry alike. */
INK_HOT void move_victim(struct ink_table *t, struct victim victim, struct ink_line_spot room, uint64_t ours)
{
	if (__builtin_expect(t->aging.target != t->aging.now, 0))
		move_in_tick(t, victim, room, ours);
	else
		move_out(t, victim, room,
			 ink_line_shifted(shape_of(t), victim.at.seen, victim.at.column, room.column), ours);
}

/* ------------------------------------------------------------------ the victim */

/* The entries of a word of a full part, any of which may move, and their other parts. */
struct candidates {
	uint64_t *word, seen;
	uint64_t others[4];
};

/* Of a word. The compiler, which unrolls loops over them, cannot know that there are at most four. */
INK_HOT uint32_t lanes_of(const struct ink_table *t)
{
	uint32_t lanes = shape_of(t)->lanes;

	if (lanes > 4)
		__builtin_unreachable();
	return lanes;
}

INK_HOT void word_candidates(const struct ink_table *t, uint32_t part, uint64_t *word, struct candidates *a)
{
	a->word = word;
	a->seen = word_read(word);
	word_others(shape_of(t), part, a->seen, a->others);
}

/*
 * The i-th word to try. The fingerprint selects the first one. With a fixed word, the
 * next insert would find the entry that the last displacement put there, which cannot
 * move either, because its other part was full.
 */
INK_HOT void candidates_read(const struct ink_table *t, const struct place *p, unsigned i,
			     struct candidates *a)
{
	uint32_t words = shape_of(t)->words, first = p->at.words[i / words];

	word_candidates(t, first / words, (uint64_t *)t->body + first + (p->at.fingerprint + i) % words, a);
}

INK_HOT void others_fetch(const struct ink_table *t, const struct candidates *a, enum ink_intent how)
{
#pragma GCC unroll 4
	for (uint32_t lane = 0; lane < lanes_of(t); lane++)
		part_fetch(part_at(t, (uint32_t)a->others[lane]), how);
}

/* The entry of a word that moves, the free slots of its other part, and how many they are. */
struct choice {
	uint32_t lane, free, room; /* room 0: none can move */
};

/*
 * All entries are examined together, because one by one each would be a mispredicted
 * branch. The victim is the entry with most room in its other part: the more evenly
 * room is spread, the fewer parts are full.
 */
INK_HOT struct choice choose_roomiest(const struct ink_table *t, const struct candidates *a)
{
	const struct ink_line_shape *s = shape_of(t);
	uint32_t free[4] = {0}, lane, best = 0;

#pragma GCC unroll 4
	for (lane = 0; lane < lanes_of(t); lane++) {
		uint32_t room;

		free[lane] = part_slots(s, part_at(t, (uint32_t)a->others[lane]), 0);
		room = (uint32_t)__builtin_popcount(free[lane]) * 4 + 3 - lane;
		best = room > best ? room : best;
	}
	lane = 3 - best % 4;
	return (struct choice){lane, free[lane], best / 4};
}

/* Parts of one word have one free slot or none, nearly always: the first that has any. */
INK_HOT struct choice choose_any(const struct ink_table *t, const struct candidates *a)
{
	uint32_t free = words_free(shape_of(t), (const uint64_t *)t->body, a->others);
	uint32_t lane = (uint32_t)__builtin_ctz(free | 1u << 31) / 4 % 4;

	return (struct choice){lane, free >> 4 * lane & 0xf, free != 0};
}

INK_HOT struct choice choose_victim(const struct ink_table *t, const struct candidates *a)
{
	return shape_of(t)->words == 1 ? choose_any(t, a) : choose_roomiest(t, a);
}

INK_HOT struct victim victim_of(const struct ink_table *t, const struct candidates *a, uint32_t lane)
{
	return (struct victim){{a->word, a->seen, lane * shape_of(t)->column_bits},
			       (uint32_t)a->others[lane]};
}

/* Our entry, for the victim's slot. */
INK_HOT uint64_t ours_for(const struct ink_table *t, struct victim victim, uint32_t fingerprint,
			  unsigned state)
{
	unsigned fresh = fresh_code(t, word_line(t, victim.at.word), state);

	return ink_line_lay(shape_of(t), victim.at.column, fingerprint, fresh);
}

INK_HOT struct ink_line_spot room_of(const struct ink_table *t, struct victim victim, struct choice c)
{
	return part_spot(t, part_at(t, victim.other), (unsigned)__builtin_ctz(c.free));
}

/* Moves an entry of the word, and puts ours in its slot; 0 if none can move. */
INK_HOT int displace_chosen(struct ink_table *t, const struct candidates *a, struct choice c,
			    uint32_t fingerprint, unsigned state)
{
	struct victim victim;

	if (__builtin_expect(!c.room, 0))
		return 0;
	victim = victim_of(t, a, c.lane);
	move_victim(t, victim, room_of(t, victim, c), ours_for(t, victim, fingerprint, state));
	return 1;
}

INK_HOT int displace_one(struct ink_table *t, const struct candidates *a, uint32_t fingerprint,
			 unsigned state)
{
	return displace_chosen(t, a, choose_victim(t, a), fingerprint, state);
}

/* The same with the better of two words. */
INK_HOT int displace_better(struct ink_table *t, const struct candidates a[2], uint32_t fingerprint,
			    unsigned state)
{
	struct choice c[2] = {choose_victim(t, &a[0]), choose_victim(t, &a[1])};
	unsigned better = c[1].room > c[0].room;

	return displace_chosen(t, &a[better], c[better], fingerprint, state);
}

/* ---------------------------------------------------------------- chains of moves */

/* The parts that a search reaches at most. At the loads of line.c, 44 were enough in 6n replacements of 1M flows. */
enum { MOST_STEPS = 128 };

/* A full part that an entry of another one would move to. */
struct step {
	struct victim entry; /* that would come; `other` is the part */
	int from;            /* the step whose part it would leave; -1: this is a part of the new flow */
};

struct search {
	struct step steps[MOST_STEPS];
	int n;
	uint32_t first_word; /* of each part, as for candidates_read */
};

/* The last entry of a chain leaves the part of that step; its room is known. */
struct chain {
	int step;
	struct victim last;
	struct ink_line_spot room;
};

/* Is the part on the way to that step? A chain that comes back would move one entry twice. */
static int is_on_the_way(const struct search *q, int step, uint32_t part)
{
	for (; step >= 0; step = q->steps[step].from)
		if (q->steps[step].entry.other == part)
			return 1;
	return 0;
}

/* The entries of a word, none of which can move: their other parts are to be searched, too. */
static void search_further(const struct ink_table *t, struct search *q, int step, const struct candidates *a)
{
	for (uint32_t lane = 0; lane < lanes_of(t) && q->n < MOST_STEPS; lane++) {
		struct victim entry = victim_of(t, a, lane);

		if (!is_on_the_way(q, step, entry.other))
			q->steps[q->n++] = (struct step){entry, step};
	}
}

/* Can an entry of that step's part move to where there is room? */
static int search_part(const struct ink_table *t, struct search *q, int step, struct chain *c)
{
	uint32_t part = q->steps[step].entry.other;

	for (uint32_t i = 0; i < shape_of(t)->words; i++) {
		struct candidates a;
		struct choice choice;

		word_candidates(t, part, part_at(t, part) + (q->first_word + i) % shape_of(t)->words, &a);
		choice = choose_victim(t, &a);
		if (choice.room) {
			c->step = step;
			c->last = victim_of(t, &a, choice.lane);
			c->room = room_of(t, c->last, choice);
			return 1;
		}
		search_further(t, q, step, &a);
	}
	return 0;
}

/*
 * While a tick is under way, an entry of the chain may expire by its move. Then nothing
 * behind it has to move, and all parts stay full, which insert.h relies on.
 */
static void shorten_chain(const struct ink_table *t, const struct search *q, struct chain *c)
{
	struct victim entry = c->last;

	for (int step = c->step; t->aging.target != t->aging.now && step >= 0; step = q->steps[step].from) {
		if (crossing_of(t, entry).after == (INK_EXPIRES | INK_GONE)) {
			c->step = step;
			c->last = entry;
		}
		entry = q->steps[step].entry;
	}
}

/* From the end: each entry moves to the slot that the one before has left. Ours takes the last of them. */
static void move_chain(struct ink_table *t, const struct search *q, struct chain c, uint32_t fingerprint,
		       unsigned state)
{
	while (q->steps[c.step].from >= 0) {
		move_victim(t, c.last, c.room, 0);
		c.room = c.last.at;
		c.room.seen = word_read(c.room.word);
		c.last = q->steps[c.step].entry;
		c.step = q->steps[c.step].from;
	}
	move_victim(t, c.last, c.room, ours_for(t, c.last, fingerprint, state));
}

/*
 * For a chain of two moves in parts of one word: where the entries that stand in the way
 * could go. Those in the way of the first part are enough in 99 of 100 searches.
 */
static inline void chain_fetch(const struct ink_table *t, const struct place *p)
{
	struct candidates a, behind;

	candidates_read(t, p, 0, &a);
	for (uint32_t lane = 0; lane < lanes_of(t); lane++) {
		uint32_t part = (uint32_t)a.others[lane];

		word_candidates(t, part, part_at(t, part), &behind);
		others_fetch(t, &behind, FETCH_TO_READ);
	}
}

static int displace_chain(struct ink_table *t, const struct place *p, unsigned state)
{
	uint32_t words = shape_of(t)->words;
	struct search q; /* of which few steps are used: zeros would cost more than the search */
	struct chain c;

	q.n = 2;
	q.first_word = p->at.fingerprint;
	q.steps[0] = (struct step){{.other = p->at.words[0] / words}, -1};
	q.steps[1] = (struct step){{.other = p->at.words[1] / words}, -1};
	for (int step = 0; step < q.n; step++)
		if (search_part(t, &q, step, &c)) {
			shorten_chain(t, &q, &c);
			move_chain(t, &q, c, p->at.fingerprint, state);
			return 0;
		}
	return -ENOSPC;
}

/* In 94 of 100 displacements in whole lines the first word has an entry that can move (docs/tables.md). */
static int displace(struct ink_table *t, const struct place *p, unsigned state)
{
	if (!parts_are_lines(t))
		return displace_chain(t, p, state);
	for (unsigned i = 0; i < 2 * INK_LINE_WORDS; i++) {
		struct candidates a;

		candidates_read(t, p, i, &a);
		if (displace_one(t, &a, p->at.fingerprint, state))
			return 0;
	}
	return -ENOSPC;
}

#endif
