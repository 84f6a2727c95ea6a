/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The cells of `compact`, for the engine.
 *
 *  1. There is one writer.
 *  2. It changes a line only inside the line's seqlock (table/seqlock.h): a shift of
 *     entries could show a peek a false miss or a false hit.
 *  3. A peek searches copies of the two lines, and retries if a seqlock changed.
 */
#ifndef INKLING_KINDS_COMPACT_CELLS_H
#define INKLING_KINDS_COMPACT_CELLS_H

#include <errno.h>
#include <stddef.h>

#include "engine/variant.h"
#include "engine/prefetch.h"
#include "kinds/compact/family.h"
#include "kinds/compact/find_avx2.h"
#include "kinds/compact/find_portable.h"
#include "table/groups.h"
#include "table/seqlock.h"

struct spot {
	struct compact_line *line;
	uint32_t bucket;
	unsigned slot;
	unsigned code;
};

/* The candidates in both lines; if all fit into one word, those of the second line follow in the first. */
struct hint {
	uint64_t first, second;
};

#define KIND_DEFINED 1
#define KIND_CELLS 1
#define KIND_TWO_LINES 1
#define KIND_LOOKS_AHEAD 1 /* entries do not stay: a delete shifts those behind */
#define KIND_SEQLOCK 1
#include "engine/contract.h"

/* ------------------------------------------------------------------ where it is */

static inline uint32_t lines_of(const struct ink_table *t)
{
	return t->plan.geometry.b;
}

static inline struct compact_line *line_at(const struct ink_table *t, uint32_t line)
{
	return (struct compact_line *)t->body + line;
}

static inline uint32_t line_number(const struct ink_table *t, const struct compact_line *line)
{
	return (uint32_t)(line - (const struct compact_line *)t->body);
}

INK_HOT struct place place_of(const struct ink_table *t, uint64_t id)
{
	return compact_place(shape_of(t), lines_of(t), id);
}

INK_HOT struct compact_line *place_line(const struct ink_table *t, const struct place *p, unsigned which)
{
	return (struct compact_line *)(void *)((uint64_t *)t->body + p->words[which]);
}

static inline uint32_t place_home(const struct place *p)
{
	return first_line(p);
}

INK_HOT void places_of(const struct ink_table *t, const uint64_t *ids, size_t n, struct place *places)
{
	compact_places(shape_of(t), lines_of(t), ids, n, places);
}

INK_HOT void place_fetch_line(const struct ink_table *t, const struct place *p, unsigned which,
			      enum ink_intent how)
{
	ink_prefetch_line(place_line(t, p, which), how == FETCH_FAR ? FETCH_FAR : FETCH_TO_READ);
}

static inline uint64_t place_seq_read(const struct ink_table *t, const struct place *p)
{
	return ink_seq_read(t, first_line(p), second_line(p));
}

static inline int place_seq_unchanged(const struct ink_table *t, const struct place *p, uint64_t seq)
{
	return ink_seq_unchanged(t, first_line(p), second_line(p), seq);
}

/* ------------------------------------------------------------------------ flags */

static inline uint64_t *flags_of(struct compact_line *line)
{
	return &line->word[COMPACT_WORDS - 1];
}

static inline int flag_is_set(struct compact_line *line, uint64_t flag)
{
	return (word_glance(flags_of(line)) & flag) != 0;
}

static void flag_write(struct compact_line *line, uint64_t flag, uint64_t value)
{
	uint64_t *word = flags_of(line);

	__atomic_store_n(word, (*word & ~flag) | value, __ATOMIC_RELEASE);
}

INK_HOT unsigned side_flags_of(struct compact_line *line)
{
	return word_glance(flags_of(line)) >> COMPACT_SIDE & COMPACT_SIDE_MASK;
}

INK_HOT int side_flagged(const struct ink_table *t, const struct place *p, unsigned class)
{
	return compact_sent[side_flags_of(place_line(t, p, 0))] >> class & 1;
}

static void flag_side(struct ink_table *t, uint32_t home, unsigned classes)
{
	flag_write(line_at(t, home), (uint64_t)COMPACT_SIDE_MASK << COMPACT_SIDE,
		   (uint64_t)compact_side_flags(classes) << COMPACT_SIDE);
	if (classes)
		ink_groups_note(t, home);
}

static int is_flagged_for(const struct ink_table *t, uint32_t home, unsigned classes)
{
	return side_flags_of(line_at(t, home)) == compact_side_flags(classes);
}

static inline int overflowed(const struct ink_table *t, const struct place *p)
{
	return flag_is_set(place_line(t, p, 0), COMPACT_OVERFLOW) &&
	       flag_is_set(place_line(t, p, 1), COMPACT_OVERFLOW);
}

static void flag_overflow(struct ink_table *t, const struct place *p)
{
	flag_write(place_line(t, p, 0), COMPACT_OVERFLOW, COMPACT_OVERFLOW);
	flag_write(place_line(t, p, 1), COMPACT_OVERFLOW, COMPACT_OVERFLOW);
	ink_groups_note(t, first_line(p));
	ink_groups_note(t, second_line(p));
	t->aging.flagged = 1;
}

/* ---------------------------------------------------------------------- buckets */

/*
 * Which of the two words it is cannot be predicted, so one of two values is
 * chosen by a mask: all ones for the second.
 */
static inline uint64_t choose(uint64_t first, uint64_t second, uint64_t mask)
{
	return first ^ ((first ^ second) & mask);
}

/* The k-th set bit of two words. */
INK_HOT unsigned select_in(uint64_t low, uint64_t high, unsigned k)
{
	unsigned in_low = (unsigned)__builtin_popcountll(low);
	uint64_t mask = 0 - (uint64_t)(k >= in_low);

	return select_bit(choose(low, high, mask), k - (in_low & (unsigned)mask)) + (64 & (unsigned)mask);
}

/*
 * The bit of the window where a bucket's entries begin: just above the end of
 * the bucket before, and the bit before the metadata ends "bucket -1".
 */
INK_HOT unsigned bucket_begin(const struct ink_compact_shape *s, const uint64_t *w, uint32_t bucket)
{
	uint64_t low = (~w[COMPACT_META_WORD] & s->meta[0]) | s->before[0];
	uint64_t high = (~w[COMPACT_META_WORD + 1] & s->meta[1]) | s->before[1];

	return select_in(low, high, bucket) + 1;
}

/* The slots of a bucket, as bits; slots of the line, even if a peek finds it half changed. */
INK_HOT uint64_t bucket_slots(const struct ink_compact_shape *s, const uint64_t *w, uint32_t bucket)
{
	unsigned begin = bucket_begin(s, w, bucket);
	uint64_t from_there = window_from(w, begin);
	uint64_t run = from_there & ~(from_there + 1); /* the lowest ones */

	return run << (begin - s->meta_start - bucket) % 64 & s->all_slots;
}

/* ------------------------------------------------------------- find and change */

/* The bucket of the entry in a slot; q or more if the slot is free. */
static inline uint32_t slot_bucket(const struct ink_compact_shape *s, const uint64_t *w, unsigned slot)
{
	uint64_t low = w[COMPACT_META_WORD] & s->meta[0], high = w[COMPACT_META_WORD + 1] & s->meta[1];

	return select_in(low, high, slot) - s->meta_start - slot;
}

/*
 * Is the entry of a slot in that bucket, if the metadata have a 1 where it
 * would then be? It is if the 1 is the slot's, with as many below it.
 */
INK_HOT int slot_is_in(const struct ink_compact_shape *s, const uint64_t *w, unsigned slot, uint32_t bucket)
{
	return ones_below(s, w, meta_of(s, slot, bucket)) == slot;
}

/*
 * The slots of a line that may hold bucket and remainder. Where one comparison covers the
 * first bytes of all entries, the bucket of each match must be checked. The metadata bit
 * of slot i, if that belongs to bucket b, is the (i + b)th, so matches with a 0 there, two
 * in three, are dropped at once.
 */
INK_HOT uint64_t line_candidates(const struct ink_compact_shape *s, const uint64_t *w, const struct place *p)
{
	if (search_of(s) == SEARCH_BYTES)
		return remainder_slots(s, w, p->remainder) & bits_from(s, w, p->bucket);
	if (search_of(s) == SEARCH_BYTES_IN_BUCKET)
		return remainder_slots(s, w, p->remainder) & bucket_slots(s, w, p->bucket);
	return any_remainder_match(s, w, p->remainder, bucket_slots(s, w, p->bucket));
}

/* Does a candidate hold bucket and remainder? Its code, if it does. */
INK_HOT int slot_holds(const struct ink_compact_shape *s, const uint64_t *w, unsigned slot,
		       const struct place *p, unsigned *code)
{
	uint64_t packed = packed_get(s, w, slot);

	*code = packed_code(s, packed);
	if (search_of(s) != SEARCH_BYTES) /* the search was exact */
		return 1;
	return (int)slot_is_in(s, w, slot, p->bucket) & (packed_remainder(s, packed) == p->remainder);
}

static inline int hint_is_one(const struct ink_compact_shape *s)
{
	return has_few_slots(s);
}

/* In the words of the place's two lines. */
INK_HOT struct hint lines_look(const struct ink_compact_shape *s, const uint64_t *first,
			       const uint64_t *second, const struct place *p)
{
	uint64_t in_first = line_candidates(s, first, p), in_second = line_candidates(s, second, p);

	return hint_is_one(s) ? (struct hint){in_first | in_second << 32, 0}
			      : (struct hint){in_first, in_second};
}

INK_HOT struct hint cell_look(const struct ink_table *t, const struct place *p)
{
	struct compact_line copy[2];

	return lines_look(shape_of(t), line_open(place_line(t, p, 0), &copy[0]),
			  line_open(place_line(t, p, 1), &copy[1]), p);
}

/* The next candidate: its slot, and 64 more if it is in the second line, which cannot be predicted. */
INK_HOT unsigned hint_next(const struct ink_compact_shape *s, const struct hint *h)
{
	uint64_t mask = 0 - (uint64_t)(h->first == 0);
	unsigned next;

	if (!hint_is_one(s))
		return (unsigned)__builtin_ctzll(choose(h->first, h->second, mask)) + (64 & (unsigned)mask);
	next = (unsigned)__builtin_ctzll(h->first);
	return (next & 31) + (next & 32) * 2;
}

/* Drops it: rarely, because the first candidate usually is the entry. */
INK_HOT void hint_drop(const struct ink_compact_shape *s, struct hint *h)
{
	if (hint_is_one(s) || h->first)
		h->first &= h->first - 1;
	else
		h->second &= h->second - 1;
}

INK_HOT int cell_found(struct ink_table *t, const struct place *p, const struct hint *h, struct spot *spot)
{
	const struct ink_compact_shape *s = shape_of(t);
	struct hint left = *h;

	for (; left.first | left.second; hint_drop(s, &left)) {
		unsigned next = hint_next(s, &left), slot = next % 64;
		struct compact_line copy, *line = place_line(t, p, next / 64);
		const uint64_t *w = line_open(line, &copy);
		unsigned code;

		if (__builtin_expect(slot_holds(s, w, slot, p, &code), 1)) {
			*spot = (struct spot){line, p->bucket, slot, code};
			return 1;
		}
	}
	return 0;
}

/*
 * Beside a writer: from copies of the two lines. If the writer changes one of
 * them meanwhile, the copy may be half old and half new; the seqlock then
 * discards the answer, and no search leaves the copy.
 */
INK_HOT int cell_peek(const struct ink_table *t, const struct place *p, struct spot *spot)
{
	const struct ink_compact_shape *s = shape_of(t);
	struct compact_line copies[2];
	struct hint left;

	line_copy(place_line(t, p, 0), &copies[0]);
	line_copy(place_line(t, p, 1), &copies[1]);
	left = lines_look(s, copies[0].word, copies[1].word, p);
	for (; left.first | left.second; hint_drop(s, &left)) {
		unsigned next = hint_next(s, &left), slot = next % 64;

		if (__builtin_expect(slot_holds(s, copies[next / 64].word, slot, p, &spot->code), 1))
			return 1;
	}
	return 0;
}

INK_HOT unsigned code_get(const struct ink_compact_shape *s, const uint64_t *w, unsigned slot)
{
	return packed_code(s, packed_get(s, w, slot));
}

INK_HOT void code_put(const struct ink_compact_shape *s, uint64_t *w, unsigned slot, unsigned code)
{
	packed_put(s, w, slot, entry_pack(s, packed_remainder(s, packed_get(s, w, slot)), code));
}

INK_HOT int cell_recode(struct ink_table *t, struct spot *spot, unsigned code)
{
	uint32_t number = line_number(t, spot->line);
	struct compact_line copy;
	uint64_t *w = line_open(spot->line, &copy);

	ink_seq_write_begin(t, number);
	code_put(shape_of(t), w, spot->slot, code);
	line_close(spot->line, w);
	ink_seq_write_end(t, number);
	return 1;
}

INK_HOT int cell_clear(struct ink_table *t, struct spot *spot)
{
	const struct ink_compact_shape *s = shape_of(t);
	uint32_t number = line_number(t, spot->line);
	struct compact_line copy;
	uint64_t *w = line_open(spot->line, &copy);

	ink_seq_write_begin(t, number);
	entry_close(s, w, spot->slot, spot->bucket);
	line_close(spot->line, w);
	ink_seq_write_end(t, number);
	return 1;
}

static void cell_mark_all(struct ink_table *t, const struct place *p)
{
	struct hint h = cell_look(t, p);
	struct spot s;

	if (!cell_found(t, p, &h, &s) || ink_code_unsure(coding_of(t), s.code))
		return;
	cell_recode(t, &s, ink_code(coding_of(t), coding_of(t)->unsure));
	ink_bump(&t->counters.marked);
}

/* --------------------------------------------------------------------- storing */

static inline unsigned count_at(const struct ink_table *t, uint32_t line)
{
	return line_count(shape_of(t), line_at(t, line)->word);
}

/* The first slot of a bucket, or where it would be. */
INK_HOT unsigned slot_for(const struct ink_compact_shape *s, const uint64_t *w, uint32_t bucket)
{
	return bucket_begin(s, w, bucket) - s->meta_start - bucket;
}

/* The line's counter is the caller's affair. */
INK_HOT void line_add(struct ink_table *t, struct compact_line *line, struct entry e)
{
	struct compact_line copy;
	uint64_t *w = line_open(line, &copy);

	entry_open(shape_of(t), w, slot_for(shape_of(t), w, e.bucket), e);
	line_close(line, w);
}

static int displace(struct ink_table *t, const struct place *p, struct entry e);

/*
 * Into the emptier line, ties to the first; two full lines make room by moving
 * an entry.
 */
INK_HOT int cell_put(struct ink_table *t, const struct place *p, unsigned state)
{
	struct entry e = {p->bucket, p->remainder, ink_code(coding_of(t), state)};
	const struct ink_compact_shape *s = shape_of(t);
	unsigned first = line_count(s, place_line(t, p, 0)->word);
	unsigned second = line_count(s, place_line(t, p, 1)->word);
	struct compact_line *line = place_line(t, p, second < first);
	uint32_t number = line_number(t, line);

	if (__builtin_expect((int)(first >= s->slots) & (int)(second >= s->slots), 0))
		return displace(t, p, e);
	ink_seq_write_begin(t, number);
	line_add(t, line, e);
	ink_seq_write_end(t, number);
	ink_groups_note(t, number);
	return 0;
}

/* --------------------------------------------------------------- displacement */

struct victim {
	struct entry entry;
	uint32_t line, other;
	unsigned slot;
};

/* A walk over the entries of a line, in order. */
struct walk {
	struct compact_line copy;
	const uint64_t *w;
	uint128 left; /* metadata bits of the entries not yet met */
	uint32_t line, lines;
	unsigned slot;
};

static inline void walk_begin(const struct ink_table *t, uint32_t line, struct walk *k)
{
	k->w = line_open(line_at(t, line), &k->copy);
	k->left = window(k->w) & meta_mask(shape_of(t));
	k->line = line;
	k->lines = lines_of(t);
	k->slot = 0;
}

/* The next entry, and the line that it could move to; 0 at the end. */
static inline int walk_next(const struct ink_compact_shape *s, struct walk *k, struct victim *victim)
{
	uint64_t low = (uint64_t)k->left, high = (uint64_t)(k->left >> 64);
	unsigned meta =
		low ? (unsigned)__builtin_ctzll(low) : 64 + (unsigned)__builtin_ctzll(high | 1ull << 63);
	uint32_t bucket = meta - s->meta_start - k->slot, remainder;

	if (!k->left)
		return 0;
	remainder = packed_remainder(s, packed_get(s, k->w, k->slot));
	*victim = (struct victim){{bucket, remainder, 0},
				  k->line,
				  other_line(k->lines, k->line, stored_bits(s, bucket, remainder)),
				  k->slot};
	k->left &= k->left - 1;
	k->slot++;
	return 1;
}

/* Exchanges the victim for our entry in its line, whose group is noted for the victim. */
static void replace_victim(struct ink_table *t, const struct victim *victim, struct entry ours)
{
	struct compact_line copy;
	uint64_t *w = line_open(line_at(t, victim->line), &copy);

	entry_close(shape_of(t), w, victim->slot, victim->entry.bucket);
	entry_open(shape_of(t), w, slot_for(shape_of(t), w, ours.bucket), ours);
	line_close(line_at(t, victim->line), w);
}

static void move_out(struct ink_table *t, const struct victim *victim, struct entry ours)
{
	ink_seq_write_begin_both(t, victim->line, victim->other);
	line_add(t, line_at(t, victim->other), victim->entry);
	replace_victim(t, victim, ours);
	ink_seq_write_end_both(t, victim->line, victim->other);
	ink_groups_note(t, victim->other);
	__atomic_store_n(&t->counters.displaced, t->counters.displaced + 1, __ATOMIC_RELAXED);
}

/* The victim's time was over when the tick in portions came to it; it need not move. */
static void evict_expired(struct ink_table *t, const struct victim *victim, struct entry ours)
{
	ink_note_expiry(t, victim->entry.code);
	ink_seq_write_begin(t, victim->line);
	replace_victim(t, victim, ours);
	ink_seq_write_end(t, victim->line);
}

static int move_victim(struct ink_table *t, struct victim *victim, struct entry ours)
{
	struct compact_line copy;
	const uint64_t *w = line_open(line_at(t, victim->line), &copy);
	unsigned after;

	victim->entry.code = code_get(shape_of(t), w, victim->slot);
	after = ink_age_across(t, victim->line, victim->other, victim->entry.code);
	if (after == (INK_EXPIRES | INK_GONE))
		return evict_expired(t, victim, ours), 1;
	if (count_at(t, victim->other) >= shape_of(t)->slots)
		return 0;
	if (after & INK_EXPIRES)
		ink_note_expiry(t, victim->entry.code);
	victim->entry.code = after & ~INK_EXPIRES;
	move_out(t, victim, ours);
	return 1;
}

static int displace_from(struct ink_table *t, uint32_t line, struct entry e)
{
	struct victim victim;
	struct walk k;

	walk_begin(t, line, &k);
	while (walk_next(shape_of(t), &k, &victim))
		if (victim.other != line && move_victim(t, &victim, e))
			return 1;
	return 0;
}

static int displace(struct ink_table *t, const struct place *p, struct entry e)
{
	return displace_from(t, first_line(p), e) || displace_from(t, second_line(p), e) ? 0 : -ENOSPC;
}

/* ------------------------------------------------------------------ the policy */

/* The expendable entry of a line that has rested longest, or 0. */
static int line_expendable(struct ink_table *t, uint32_t line, struct spot *oldest)
{
	struct ink_victim choice = {0, 0};
	struct victim victim;
	struct walk k;

	walk_begin(t, line, &k);
	while (walk_next(shape_of(t), &k, &victim)) {
		unsigned code = code_get(shape_of(t), k.w, victim.slot);

		if (ink_is_expendable(t, code) && ink_chosen(t, &choice, code & coding_of(t)->age_top))
			*oldest = (struct spot){line_at(t, line), victim.entry.bucket, victim.slot, code};
	}
	return choice.equals != 0;
}

static int cell_drop_expendable(struct ink_table *t, const struct place *p)
{
	struct spot s;

	if (!line_expendable(t, first_line(p), &s) && !line_expendable(t, second_line(p), &s))
		return 0;
	return cell_clear(t, &s);
}

#endif
