/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The cells of `line`, for the engine.
 *
 * Laws of many writers.
 *  1. An entry is changed or removed by one compare-and-swap of its word, which
 *     succeeds only if nothing in that word has changed since it was read. So
 *     every change is made to the state it was decided on: no step is lost.
 *  2. An entry is added only by a thread that holds the lock of the lower of the
 *     flow's two lines. It looks again once it holds the lock. All flows that
 *     could be confused have the same two parts of lines, so they wait for the
 *     same lock, and no flow is ever stored twice.
 *  3. Entries are never moved from part to part. A flow that is missed in one
 *     part and then in the other was therefore absent at some moment between.
 *  4. Lookups, peeks, modifies and deletes take no lock, except that of the side
 *     table if a line's flag requires a side probe. Inserts wait for inserts with
 *     the same lock (1 of up to 512). While an insert holds its lock, it waits for
 *     the side table's lock alone.
 *  5. The sweep of a tick changes only words in which an entry expires, by
 *     compare-and-swap. If the entry is touched first, the swap fails and the
 *     sweep reads the entry again. After its lines the sweep publishes the epoch
 *     in which they are passed (table/epoch.h).
 *  6. A touch or a change of state writes the code that is fresh in the epoch in
 *     force when the word was read. The thread reads the epoch, the word, computes
 *     the code, and checks that the epoch is still the same.
 *  7. The epoch may change between this check and the swap. The swap then succeeds
 *     if no thread touched the word, or if threads touched it and the age counter
 *     wrapped; in this case the swap has undone their touch. A thread that finds
 *     the epoch changed after its swap therefore touches the entry again. One case
 *     remains: a thread stalls before its swap and again before it reads the epoch,
 *     with a tick in each stall. Touches between the stalls may then lose one tick.
 *     An entry that is added in an old epoch counts as touched at that moment,
 *     which lies within the call.
 */
#ifndef INKLING_KINDS_LINE_CELLS_H
#define INKLING_KINDS_LINE_CELLS_H

#include <errno.h>
#include <sched.h>
#include <stddef.h>

#include "engine/variant.h"
#include "engine/prefetch.h"
#include "kinds/line/find_avx2.h"
#include "kinds/line/find_portable.h"
#include "kinds/line/kind.h"
#include "kinds/line/known.h"
#include "table/epoch.h"
#include "table/groups.h"
#include "table/seqlock.h"

/* ---------------------------------------------------------------- the shape */

/* In variants for some shapes, what these have in common is constants (known.h). */
#define shape_of(t)                                                                                          \
	(KNOWS_SHAPE ? &(const struct ink_line_shape[]){known_shape(ink_line_shape_of(t))}[0]                \
		     : ink_line_shape_of(t))

/* With three lanes a small table by column is quicker than shifts. */
static const uint64_t common_lanes[] = {LINE_COMMON_LANES}, common_states[] = {LINE_COMMON_STATES};

/* The bits of a lane. */
static inline uint64_t lane_bits(const struct ink_table *t, uint32_t column)
{
	return KNOWS_THREE_LANES ? common_lanes[column / 16] : ink_line_lane(shape_of(t), column);
}

/* The bits of the state in a lane. */
static inline uint64_t state_bits(const struct ink_table *t, uint32_t column)
{
	const struct ink_line_shape *s = shape_of(t);
	uint32_t state = coding_of(t)->unsure << coding_of(t)->age_bits;

	return IS_COMMON_SHAPE ? common_states[column / 16]
			       : ink_line_spread(s, column, ink_line_make_entry(s, 0, state));
}

struct place {
	struct line_place at;
};

_Static_assert(sizeof(struct place) == 16, "as line_places writes them");
enum { SIDE_FLAGS = INK_LINE_OVERFLOW - INK_LINE_SIDE }; /* each for every fourth class */

_Static_assert(INK_SIDE_CLASSES == 16 && SIDE_FLAGS == 4, "as flags_for folds classes to flags");

struct spot {
	struct ink_line_spot at;
	unsigned code; /* as it is stored; its state is the state */
	uint64_t view; /* many writers: from before its word was read */
};

/* The slots of both parts that have the tag, or had it when they were looked at. */
struct hint {
	uint64_t slots;
};

#define KIND_DEFINED 1
#define KIND_CELLS 1
#define KIND_TWO_LINES 1
#define KIND_LOOKS_AHEAD 1
#define KIND_ENTRIES_STAY 1
#define KIND_FINDS_ROOM 1
#define KIND_DEFERS_INSERTS (!INK_SHARED) /* insert.h; many writers do not displace */
#define KIND_SEQLOCK 1
#define KIND_EPOCHS 1
#define KIND_QUICK_MISS 1
#define KIND_QUICK_UNSURE 1
#define KIND_LOCKS 1
#include "engine/contract.h"

/* ------------------------------------------------------------- where it is */

static inline struct ink_line *line_at(const struct ink_table *t, uint32_t line)
{
	return (struct ink_line *)t->body + line;
}

/* The number of the line that a word is in. */
INK_HOT uint32_t word_line(const struct ink_table *t, const uint64_t *word)
{
	return (uint32_t)((uint64_t)(word - (const uint64_t *)t->body) / INK_LINE_WORDS);
}

INK_HOT struct place place_of(const struct ink_table *t, uint64_t id)
{
	return (struct place){line_place(shape_of(t), id)};
}

INK_HOT int parts_are_lines(const struct ink_table *t)
{
	return shape_of(t)->words == INK_LINE_WORDS;
}

/* The words of a part, by its number; of one of the place's parts; and the line that this is in. */
INK_HOT uint64_t *part_at(const struct ink_table *t, uint32_t part)
{
	return (uint64_t *)t->body + part * shape_of(t)->words;
}

INK_HOT uint64_t *place_part(const struct ink_table *t, const struct place *p, unsigned which)
{
	return (uint64_t *)t->body + p->at.words[which];
}

INK_HOT struct ink_line *place_line(const struct ink_table *t, const struct place *p, unsigned which)
{
	uint32_t word = p->at.words[which] & (parts_are_lines(t) ? ~0u : ~(INK_LINE_WORDS - 1u));

	return (struct ink_line *)(void *)((uint64_t *)t->body + word);
}

/* The numbers of its lines, for code that is not hot. */
static inline uint32_t first_line(const struct place *p)
{
	return p->at.words[0] / INK_LINE_WORDS;
}

static inline uint32_t second_line(const struct place *p)
{
	return p->at.words[1] / INK_LINE_WORDS;
}

static inline uint32_t place_home(const struct place *p)
{
	return first_line(p);
}

INK_HOT void places_of(const struct ink_table *t, const uint64_t *ids, size_t n, struct place *places)
{
	line_places(shape_of(t), ids, n, &places->at);
}

/*
 * With many writers, lines are prefetched for writing: a prefetch for reading, and the
 * write after it, would each be a round trip to another core's cache. Far tables are
 * the exception: other cores' caches hold few of their lines, and a prefetch for
 * writing goes to L1. This favours threads that share the last cache. A modify at 16M
 * flows takes two of them 6.5 instead of 8.4 ns, and one alone 12 instead of 16; two
 * threads on different dies take 18.6 instead of 10.6.
 */
INK_HOT void part_fetch(const uint64_t *part, enum ink_intent how)
{
	ink_prefetch_line(part, how == FETCH_TO_CHANGE && !IS_SHARED ? FETCH_TO_READ : how);
}

INK_HOT void place_fetch_line(const struct ink_table *t, const struct place *p, unsigned which,
			      enum ink_intent how)
{
	part_fetch(place_part(t, p, which), how);
}

/* The seqlock stripe of a fingerprint. With one writer, a peek can miss only entries that move. */
static inline uint32_t moving_stripe(uint32_t fingerprint)
{
	return fingerprint % INK_MOVING_STRIPES;
}

static inline uint64_t place_seq_read(const struct ink_table *t, const struct place *p)
{
	uint32_t stripe = moving_stripe(p->at.fingerprint);

	return IS_SHARED ? 0 : ink_seq_read(t, stripe, stripe);
}

static inline int place_seq_unchanged(const struct ink_table *t, const struct place *p, uint64_t before)
{
	uint32_t stripe = moving_stripe(p->at.fingerprint);

	return IS_SHARED || ink_seq_unchanged(t, stripe, stripe, before);
}

/* -------------------------------------------------------------------- flags */

/*
 * Reads a word. With one writer, the reader is the writer itself, or a peek. A
 * peek may see the changes of two words in any order: an entry with the flow's
 * fingerprint in one of its lines is the flow's own, and after a miss the seqlock
 * makes it retry (place_seq_unchanged).
 */
INK_HOT uint64_t word_read(const uint64_t *word)
{
	return __atomic_load_n(word, IS_SHARED ? __ATOMIC_ACQUIRE : __ATOMIC_RELAXED);
}

static inline int flag_is_set(const struct ink_line *line, unsigned flag)
{
	return (word_read(&line->word[flag]) & INK_LINE_FLAG) != 0;
}

/*
 * Writes a word that was read before; 0 if another thread has written it meanwhile.
 * Sequentially consistent, because the byte of a group is read next: table/groups.h.
 */
INK_HOT int word_swap(uint64_t *word, uint64_t seen, uint64_t new)
{
	if (IS_SHARED)
		return __atomic_compare_exchange_n(word, &seen, new, 0, __ATOMIC_SEQ_CST, __ATOMIC_ACQUIRE);
	__atomic_store_n(word, new, __ATOMIC_RELEASE);
	return 1;
}

static inline void flag_write(struct ink_line *line, unsigned flag, uint64_t bit)
{
	uint64_t *word = &line->word[flag];
	uint64_t seen;

	do
		seen = ink_line_read(word);
	while (!word_swap(word, seen, (seen & ~INK_LINE_FLAG) | bit));
}

INK_HOT int side_flagged(const struct ink_table *t, const struct place *p, unsigned class)
{
	return flag_is_set(place_line(t, p, 0), INK_LINE_SIDE + class % SIDE_FLAGS);
}

/* Folds classes to flags, one bit each. */
static unsigned flags_for(unsigned classes)
{
	classes |= classes >> 8;
	return (classes | classes >> 4) % (1 << SIDE_FLAGS);
}

static void flag_side(struct ink_table *t, uint32_t home, unsigned classes)
{
	for (unsigned i = 0; i < SIDE_FLAGS; i++)
		flag_write(line_at(t, home), INK_LINE_SIDE + i,
			   flags_for(classes) >> i & 1 ? INK_LINE_FLAG : 0);
	if (classes)
		ink_groups_note(t, home);
}

static int is_flagged_for(const struct ink_table *t, uint32_t home, unsigned classes)
{
	unsigned flags = 0;

	for (unsigned i = 0; i < SIDE_FLAGS; i++)
		flags |= (unsigned)flag_is_set(line_at(t, home), INK_LINE_SIDE + i) << i;
	return flags == flags_for(classes);
}

/* How many words of a line have an overflow flag; and the one that has that of a part of the place. */
static inline unsigned overflow_flags(const struct ink_table *t)
{
	unsigned parts = INK_LINE_WORDS / shape_of(t)->words;

	return parts < INK_LINE_OVERFLOWS ? parts : INK_LINE_OVERFLOWS;
}

static inline unsigned overflow_flag(const struct ink_table *t, const struct place *p, unsigned which)
{
	unsigned part = p->at.words[which] % INK_LINE_WORDS / shape_of(t)->words;

	return INK_LINE_OVERFLOW + part % INK_LINE_OVERFLOWS;
}

static inline int overflowed(const struct ink_table *t, const struct place *p)
{
	return flag_is_set(place_line(t, p, 0), overflow_flag(t, p, 0)) &&
	       flag_is_set(place_line(t, p, 1), overflow_flag(t, p, 1));
}

static void flag_overflow(struct ink_table *t, const struct place *p)
{
	flag_write(place_line(t, p, 0), overflow_flag(t, p, 0), INK_LINE_FLAG);
	flag_write(place_line(t, p, 1), overflow_flag(t, p, 1), INK_LINE_FLAG);
	ink_groups_note(t, first_line(p));
	ink_groups_note(t, second_line(p));
	__atomic_store_n(&t->aging.flagged, 1, __ATOMIC_RELAXED);
}

/* One lock for many pairs of lines, by the lower of the two: law 2. */
INK_HOT uint32_t *insert_lock(const struct ink_table *t, const struct place *p)
{
	return ink_lock(t, first_line(p) < second_line(p) ? first_line(p) : second_line(p));
}

INK_HOT uint32_t *insert_enter(struct ink_table *t, const struct place *p)
{
	uint32_t *lock = IS_SHARED ? insert_lock(t, p) : NULL;
	unsigned spins = 0;

	while (IS_SHARED && __atomic_exchange_n(lock, 1, __ATOMIC_ACQUIRE))
		if (++spins % 64 == 0)
			sched_yield();
	return lock;
}

INK_HOT void insert_leave(uint32_t *lock)
{
	if (IS_SHARED)
		__atomic_store_n(lock, 0, __ATOMIC_RELEASE);
}

/* ------------------------------------------------------------ find and change */

/* The word of a slot, and its column: in a line, in a part, or in the two parts of a place. */
INK_HOT struct ink_line_spot slot_spot(uint64_t *word, unsigned slot)
{
	return (struct ink_line_spot){word, word_read(word), slot_column(slot)};
}

INK_HOT struct ink_line_spot line_spot(struct ink_line *line, unsigned slot)
{
	return slot_spot(&line->word[slot_word(slot)], slot);
}

INK_HOT struct ink_line_spot part_spot(const struct ink_table *t, uint64_t *part, unsigned slot)
{
	return slot_spot(part + slot_part_word(shape_of(t), slot), slot);
}

/* Loads the part from the place: a branch would be mispredicted half the time. */
INK_HOT struct ink_line_spot place_spot(const struct ink_table *t, const struct place *p, unsigned slot)
{
	const struct ink_line_shape *s = shape_of(t);

	return part_spot(t, (uint64_t *)t->body + p->at.words[slot_part(s, slot)], slot);
}

static inline void spot_read(const struct ink_line_shape *s, struct spot *spot)
{
	spot->code = word_code(s, spot->at.seen, spot->at.column);
}

/*
 * Compares whole fingerprints, word by word, where the quick search is not certain.
 * Returns the spot by value, which lets the quick search keep its own in registers;
 * if its word is NULL, there is no match.
 */
__attribute__((noinline)) static struct spot find_slowly(const struct ink_table *t, const struct place *p)
{
	const struct ink_line_shape *s = shape_of(t);
	struct spot spot = {.at = {.word = NULL}, .view = ink_view(t)};

	if (ink_line_find(s, place_part(t, p, 0), p->at.fingerprint, &spot.at) ||
	    ink_line_find(s, place_part(t, p, 1), p->at.fingerprint, &spot.at))
		spot_read(s, &spot);
	return spot;
}

INK_HOT struct hint cell_look(const struct ink_table *t, const struct place *p)
{
	return (struct hint){
		pair_slots(shape_of(t), place_part(t, p, 0), place_part(t, p, 1), p->at.fingerprint)};
}

INK_HOT int cell_may_match(struct ink_table *t, const struct place *p)
{
	return pair_may_have(shape_of(t), place_part(t, p, 0), place_part(t, p, 1), p->at.fingerprint);
}

/* Does the entry agree with the fingerprint in the bits above the tag? */
INK_HOT int has_fingerprint_above(const struct ink_line_shape *s, const struct ink_line_spot *at,
				  uint32_t fingerprint)
{
	uint32_t rest = (uint32_t)(at->seen >> ink_line_rest_at(s, at->column));

	return !((rest ^ fingerprint >> s->tag_bits) & s->above_mask);
}

INK_HOT int has_fingerprint(const struct ink_line_shape *s, const struct ink_line_spot *at,
			    uint32_t fingerprint)
{
	if (((uint32_t)(at->seen >> at->column) ^ fingerprint) & s->tag_mask)
		return 0;
	return s->fp_bits == s->tag_bits || has_fingerprint_above(s, at, fingerprint);
}

/*
 * The slot may hold another entry after all: if only the tags agree, or, with many
 * writers, if the word has changed since the look. With one writer, cell_peek checks
 * this for peeks, and cell_clear for deletes.
 */
INK_HOT int cell_found(struct ink_table *t, const struct place *p, const struct hint *h, struct spot *spot)
{
	const struct ink_line_shape *s = shape_of(t);
	unsigned slot;

	if (!h->slots)
		return 0;
	slot = (unsigned)__builtin_ctzll(h->slots);
	if (IS_SHARED)
		spot->view = ink_view(t);
	spot->at = place_spot(t, p, slot);
	spot_read(s, spot);
	if (!IS_SHARED && !INK_FEW && s->fp_bits == s->tag_bits)
		return 1;
	if (__builtin_expect(IS_SHARED ? has_fingerprint(s, &spot->at, p->at.fingerprint)
				       : has_fingerprint_above(s, &spot->at, p->at.fingerprint),
			     1))
		return 1;
	*spot = find_slowly(t, p);
	return spot->at.word != NULL;
}

/* With many writers, cell_found has compared the fingerprint. */
INK_HOT int cell_holds(const struct ink_table *t, const struct place *p, const struct spot *spot)
{
	return IS_SHARED || has_fingerprint(shape_of(t), &spot->at, p->at.fingerprint);
}

/* A writer may have changed the word since the look; then look again. */
INK_HOT int cell_peek(const struct ink_table *t, const struct place *p, struct spot *spot)
{
	struct hint h;
	int matches;

	do {
		h = cell_look(t, p);
		matches = cell_found((struct ink_table *)t, p, &h, spot);
	} while (matches && !has_fingerprint(shape_of(t), &spot->at, p->at.fingerprint));
	return matches;
}

/* Sentinel: the epoch changed, retry. */
#define OUTDATED INK_GONE

INK_HOT unsigned cell_code(const struct ink_table *t, const struct spot *spot, unsigned state)
{
	uint32_t line = word_line(t, spot->at.word);
	unsigned fresh =
		IS_SHARED ? ink_fresh(t, spot->view, line, state) : ink_fresh_one_writer(t, line, state);

	return IS_SHARED && ink_view(t) != spot->view ? OUTDATED : fresh;
}

/* Law 7: the epoch changed around a swap. If the entry is still there in that state, touch it again. */
__attribute__((noinline, unused)) static void touch_again(struct ink_table *t, struct spot s, unsigned state)
{
	const struct ink_line_shape *shape = shape_of(t);
	uint32_t entry = ink_line_entry(shape, s.at.seen, s.at.column);
	uint32_t fingerprint = ink_line_entry_fp(shape, entry);
	unsigned fresh;

	do {
		s.view = ink_view(t);
		s.at.seen = ink_line_read(s.at.word);
		entry = ink_line_entry(shape, s.at.seen, s.at.column);
		s.code = ink_line_entry_code(shape, entry);
		if (ink_line_entry_fp(shape, entry) != fingerprint ||
		    ink_code_state(coding_of(t), s.code) != state)
			return;
		fresh = cell_code(t, &s, state);
	} while (fresh == OUTDATED ||
		 !word_swap(s.at.word, s.at.seen,
			    word_recode(shape, s.at.seen, s.at.column, s.code ^ fresh)) ||
		 ink_view(t) != s.view);
}

/* A move inside a window touches nothing: its entry ages as if it had not moved. */
__attribute__((unused)) static void recoded_late(struct ink_table *t, const struct spot *s, unsigned state)
{
	if (!ink_keeps_age(t, ink_code_state(coding_of(t), s->code), state))
		touch_again(t, *s, state);
}

INK_HOT int cell_recode(struct ink_table *t, struct spot *spot, unsigned code)
{
	if (IS_SHARED && __builtin_expect(code == OUTDATED, 0))
		return 0;
	if (!word_swap(spot->at.word, spot->at.seen,
		       word_recode(shape_of(t), spot->at.seen, spot->at.column, spot->code ^ code)))
		return 0;
	if (IS_SHARED && __builtin_expect(ink_view(t) != spot->view, 0))
		recoded_late(t, spot, ink_code_state(coding_of(t), code));
	return 1;
}

INK_HOT int cell_unsure(const struct ink_table *t, const struct spot *spot)
{
	return !(~spot->at.seen & state_bits(t, spot->at.column));
}

/* 0 if the entry was removed since it was seen; with one writer, by an earlier delete of the block. */
INK_HOT int cell_clear(struct ink_table *t, struct spot *spot)
{
	uint64_t cleared = spot->at.seen & ~lane_bits(t, spot->at.column);

	return __builtin_expect(cleared != spot->at.seen, 1) &&
	       word_swap(spot->at.word, spot->at.seen, cleared);
}

static void cell_mark_all(struct ink_table *t, const struct place *p)
{
	struct spot s = find_slowly(t, p);

	for (; s.at.word && !ink_code_unsure(coding_of(t), s.code); s = find_slowly(t, p))
		if (cell_recode(t, &s, cell_code(t, &s, coding_of(t)->unsure)))
			ink_bump(&t->counters.marked);
}

/* --------------------------------------------------------------- age and shape */

/* The stored code of an entry of that line that is touched now. */
INK_HOT unsigned fresh_code(const struct ink_table *t, uint32_t line, unsigned state)
{
	uint64_t view;
	unsigned fresh;

	if (!IS_SHARED)
		return ink_fresh_one_writer(t, line, state);
	do {
		view = ink_view(t);
		fresh = ink_fresh(t, view, line, state);
	} while (ink_view(t) != view);
	return fresh;
}

/* From the stored code of an entry of a line to its code, and back. */
static inline unsigned code_in(const struct ink_table *t, uint32_t line, unsigned stored)
{
	const struct ink_coding *c = coding_of(t);

	return ink_code_decode(c, fresh_code(t, line, ink_code_state(c, stored)), stored);
}

static inline unsigned stored_in(const struct ink_table *t, uint32_t line, unsigned code)
{
	const struct ink_coding *c = coding_of(t);

	return ink_code_encode(c, fresh_code(t, line, ink_code_state(c, code)), code);
}

static void cells_shape(struct ink_table *t)
{
	const struct ink_geometry *g = &t->plan.geometry;

	*ink_line_shape_of(t) = ink_line_shape(g->h / INK_LINE_WORDS,
					       t->coding.state_bits + t->coding.age_bits, g->b, t->plan.part);
}

#endif
