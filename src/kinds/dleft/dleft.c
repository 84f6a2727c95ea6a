/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The kind `dleft`: the fingerprint-compressed filter of the ACSM paper (3.4).
 *
 * There are d subtables of b buckets of h cells. A flow has a bucket in each
 * subtable, drawn independently, and one fingerprint of f bits, the same in
 * all of them. It is stored in the bucket that holds fewest entries, the
 * leftmost of those that tie. This is d-left hashing. It keeps the loads so even
 * that, at d = 3, h = 6 and two thirds of the cells taken, a bucket practically
 * never overflows.
 *
 * A flow always matches its own entry. It also matches the entry of another flow
 * with the same fingerprint if that entry is in a bucket that both flows have. So
 * a single match of a stored flow is its own entry, and right; two matches are
 * "don't know". Because buckets are independent, an insert cannot detect every
 * collision. `line` improves on that:
 *
 *              subtable 0    subtable 1    subtable 2
 *                  |             |
 *     flow X       X             Y          X came first, Y has the same fingerprint.
 *     flow Y            .        Y     .    They share one bucket. Y did not match X there,
 *                                           but X now matches Y, and reads "don't know".
 *
 * The paper leaves open what an insert does that finds a match, whether a state
 * change moves the entry, and what a state change does if there are two matches:
 * dleft_flags choose. The side table is the paper's TCAM.
 *
 * The memory, in words of 64 bits, lowest bit first:
 *
 *     body   [ cells, back to back, zeros to a whole word ][ 0 ][ overflow bits ][ side table ]
 *     cell   [ fingerprint f | age | state ]     fingerprint 0: empty, and then all bits are 0
 *
 * Bucket k of subtable i has number i b + k, and cell c of bucket n stands at
 * bit (n h + c) (f + age + state bits). The word of zeros lets every cell be
 * read as if it reached into the next word. The overflow bits, one for each
 * bucket, are there only if the full policy asks for them.
 *
 * There is one writer, and a peek needs a table at rest (thread rule 5).
 */
#include <errno.h>
#include <stddef.h>

#include "base/mix.h"
#include "kinds/dleft/dleft.h"
#include "table/buckets.h"

enum { MAX_D = 8 };

struct place {
	uint64_t bucket[MAX_D]; /* one in each subtable, by number */
	uint64_t fingerprint;
	uint32_t home;
};

struct spot {
	uint64_t cell;
	const struct place *place; /* of the flow that found it: where else the entry may stand */
	unsigned code;
};

#define KIND_DEFINED 1
#define KIND_CELLS 1
#define KIND_DUPLICATES 1
#include "engine/contract.h"

/* ------------------------------------------------------------- where it is */

/* A cell is read as 64 bits from the byte in which it begins. */
enum { MOST_CELL_BITS = 57 };

static inline const struct ink_dleft_shape *shape_of(const struct ink_table *t)
{
	return ink_dleft_shape_of(t);
}

static inline uint64_t buckets_of(const struct ink_dleft_shape *s)
{
	return (uint64_t)s->d * s->b;
}

static inline struct place place_of(const struct ink_table *t, uint64_t id)
{
	const struct ink_dleft_shape *s = shape_of(t);
	struct place p = {.fingerprint = 1 + ink_draw(id, 0, (1ull << s->f) - 1),
			  .home = (uint32_t)(id >> 32)};

	for (uint32_t i = 0; i < s->d; i++)
		p.bucket[i] = (uint64_t)i * s->b + ink_draw(id, i + 1, s->b);
	return p;
}

static inline uint32_t place_home(const struct place *p)
{
	return p->home;
}

/* A bucket may begin in one line of the cache and end in another. */
static inline void place_fetch(const struct ink_table *t, const struct place *p, int state)
{
	const struct ink_dleft_shape *s = shape_of(t);
	const uint64_t *words = t->body;

	(void)state;
	for (uint32_t i = 0; i < s->d; i++) {
		uint64_t at = p->bucket[i] * s->bucket_bits;

		__builtin_prefetch(&words[at / 64], 1);
		__builtin_prefetch(&words[(at + s->bucket_bits - 1) / 64], 1);
	}
}

/* ------------------------------------------------------------------- cells */

/* The 64 bits from `at` on. */
static inline uint64_t bits_at(const struct ink_table *t, uint64_t at)
{
	const uint64_t *word = (const uint64_t *)t->body + at / 64;
	unsigned shift = at % 64;

	return word[0] >> shift | word[1] << 1 << (63 - shift);
}

static inline uint64_t cell_read(const struct ink_table *t, uint64_t cell)
{
	const struct ink_dleft_shape *s = shape_of(t);

	return bits_at(t, cell * s->cell_bits) & ((1ull << s->cell_bits) - 1);
}

static inline void cell_write(struct ink_table *t, uint64_t cell, uint64_t value)
{
	const struct ink_dleft_shape *s = shape_of(t);
	uint64_t *word = (uint64_t *)t->body + cell * s->cell_bits / 64, mask = (1ull << s->cell_bits) - 1;
	unsigned shift = cell * s->cell_bits % 64;

	word[0] = (word[0] & ~(mask << shift)) | value << shift;
	word[1] = (word[1] & ~(mask >> 1 >> (63 - shift))) | value >> 1 >> (63 - shift);
}

static inline uint64_t fingerprint_in(const struct ink_table *t, uint64_t value)
{
	return value & ((1ull << shape_of(t)->f) - 1);
}

static inline unsigned code_in(const struct ink_table *t, uint64_t value)
{
	return (unsigned)(value >> shape_of(t)->f);
}

static inline void cell_write_code(struct ink_table *t, uint64_t cell, unsigned code)
{
	uint64_t fingerprint = fingerprint_in(t, cell_read(t, cell));

	cell_write(t, cell, fingerprint | (uint64_t)code << shape_of(t)->f);
}

/* A bit for each cell of a bucket that has this fingerprint; 0 finds the empty ones. */
static inline uint64_t bucket_find(const struct ink_table *t, uint64_t bucket, uint64_t fingerprint)
{
	const struct ink_dleft_shape *s = shape_of(t);
	uint64_t at = bucket * s->bucket_bits, found = 0;

	for (uint32_t c = 0; c < s->h; c++, at += s->cell_bits)
		found |= (uint64_t)(fingerprint_in(t, bits_at(t, at) ^ fingerprint) == 0) << c;
	return found;
}

static inline uint64_t cell_in(const struct ink_table *t, uint64_t bucket, uint64_t found)
{
	return bucket * shape_of(t)->h + (unsigned)__builtin_ctzll(found);
}

/* ------------------------------------------------------------------- flags */

/* No cell has a flag for it, so a side table that is not empty is probed for every flow. */
static inline int side_flagged(const struct ink_table *t, const struct place *p, unsigned class)
{
	(void)p;
	(void)class;
	return ink_side_count(&t->side) != 0;
}

static void flag_side(struct ink_table *t, uint32_t home, unsigned classes)
{
	(void)t;
	(void)home;
	(void)classes;
}

static int is_flagged_for(const struct ink_table *t, uint32_t home, unsigned classes)
{
	(void)t;
	(void)home;
	(void)classes;
	return 1;
}

static inline int overflowed(const struct ink_table *t, const struct place *p)
{
	const struct ink_dleft_shape *s = shape_of(t);
	uint64_t all = 1;

	if (!s->overflow)
		return 0;
	for (uint32_t i = 0; i < s->d; i++)
		all &= s->overflow[p->bucket[i] / 64] >> p->bucket[i] % 64;
	return (int)all;
}

static void flag_overflow(struct ink_table *t, const struct place *p)
{
	const struct ink_dleft_shape *s = shape_of(t);

	for (uint32_t i = 0; s->overflow && i < s->d; i++)
		s->overflow[p->bucket[i] / 64] |= 1ull << p->bucket[i] % 64;
	t->aging.flagged = 1;
}

/* ------------------------------------------------------------ find and change */

static inline int cells_copy(const struct ink_table *t)
{
	return (shape_of(t)->flags & INK_DLEFT_COPY) != 0;
}

static inline int cells_reinsert(const struct ink_table *t)
{
	return (shape_of(t)->flags & INK_DLEFT_REINSERT) != 0;
}

static inline int cells_keep(const struct ink_table *t)
{
	return (shape_of(t)->flags & INK_DLEFT_KEEP) != 0;
}

/* A change may move entries (INK_DLEFT_REINSERT), so batches do not search ahead. */
static inline int cell_found(struct ink_table *t, const struct place *p, const struct hint *h,
			     struct spot *spot)
{
	int matches = 0;

	(void)h;
	*spot = (struct spot){.place = p};
	for (uint32_t i = 0; i < shape_of(t)->d; i++) {
		uint64_t found = bucket_find(t, p->bucket[i], p->fingerprint);

		if (!found)
			continue;
		if (matches || (found & (found - 1)))
			return 2;
		spot->cell = cell_in(t, p->bucket[i], found);
		spot->code = code_in(t, cell_read(t, spot->cell));
		matches = 1;
	}
	return matches;
}

/* A peek needs a table at rest (thread rule 5). */
static inline int cell_peek(const struct ink_table *t, const struct place *p, struct spot *spot)
{
	return cell_found((struct ink_table *)t, p, NULL, spot);
}

/* Into the bucket with most room, ties to the left. */
static inline int cell_put(struct ink_table *t, const struct place *p, unsigned state)
{
	uint64_t cell = 0;
	int most = 0;

	for (uint32_t i = 0; i < shape_of(t)->d; i++) {
		uint64_t empty = bucket_find(t, p->bucket[i], 0);
		int room = __builtin_popcountll(empty);

		if (room > most) {
			most = room;
			cell = cell_in(t, p->bucket[i], empty);
		}
	}
	if (!most)
		return -ENOSPC;
	cell_write(t, cell, p->fingerprint | (uint64_t)ink_code(&t->coding, state) << shape_of(t)->f);
	return 0;
}

static inline int cell_clear(struct ink_table *t, struct spot *spot)
{
	cell_write(t, spot->cell, 0);
	return 1;
}

/*
 * A state change may move the entry; a touch leaves it where it is. There is room,
 * at least in its old cell. The side of a tick's cursor does not matter: the entry's
 * age is that of an entry just stored.
 */
static inline int cell_recode(struct ink_table *t, struct spot *spot, unsigned code)
{
	const struct ink_coding *c = &t->coding;

	unsigned before = ink_code_state(c, spot->code), after = ink_code_state(c, code);

	if (!cells_reinsert(t) || before == after || ink_keeps_age(t, before, after)) {
		cell_write_code(t, spot->cell, code);
		return 1;
	}
	cell_clear(t, spot);
	return cell_put(t, spot->place, ink_code_state(c, code)) == 0;
}

typedef unsigned (*change_fn)(struct ink_table *t, unsigned code);

static void change_all(struct ink_table *t, const struct place *p, change_fn change)
{
	for (uint32_t i = 0; i < shape_of(t)->d; i++)
		for (uint64_t found = bucket_find(t, p->bucket[i], p->fingerprint); found;
		     found &= found - 1) {
			uint64_t cell = cell_in(t, p->bucket[i], found);

			cell_write_code(t, cell, change(t, code_in(t, cell_read(t, cell))));
		}
}

static unsigned touch(struct ink_table *t, unsigned code)
{
	unsigned state = ink_code_state(&t->coding, code);

	return ink_keeps_age(t, state, state) ? code : ink_code_touched(&t->coding, code);
}

static unsigned mark(struct ink_table *t, unsigned code)
{
	if (ink_code_unsure(&t->coding, code))
		return code;
	ink_bump(&t->counters.marked);
	return ink_code(&t->coding, t->coding.unsure);
}

static void cell_touch_all(struct ink_table *t, const struct place *p)
{
	change_all(t, p, touch);
}

static void cell_mark_all(struct ink_table *t, const struct place *p)
{
	change_all(t, p, mark);
}

/* ------------------------------------------------------------------ the policy */

static void bucket_expendable(struct ink_table *t, uint64_t bucket, struct ink_victim *victim,
			      uint64_t *chosen)
{
	const struct ink_dleft_shape *s = shape_of(t);

	for (uint64_t cell = bucket * s->h; cell < (bucket + 1) * s->h; cell++) {
		uint64_t value = cell_read(t, cell);
		unsigned code = code_in(t, value);

		if (value && ink_is_expendable(t, code) && ink_chosen(t, victim, code & t->coding.age_top))
			*chosen = cell;
	}
}

static int cell_drop_expendable(struct ink_table *t, const struct place *p)
{
	struct ink_victim victim = {0, 0};
	struct spot s = {.cell = 0};

	for (uint32_t i = 0; i < shape_of(t)->d; i++)
		bucket_expendable(t, p->bucket[i], &victim, &s.cell);
	return victim.equals && cell_clear(t, &s);
}

/* --------------------------------------------------------------------- the time */

static uint64_t cells_units(const struct ink_table *t)
{
	return buckets_of(shape_of(t));
}

static uint32_t cells_in_unit(const struct ink_table *t)
{
	return shape_of(t)->h;
}

static inline void sweep_cell(struct ink_table *t, uint64_t cell)
{
	uint64_t value = cell_read(t, cell);
	unsigned code = code_in(t, value), after = t->aging.after[code];

	if (!value || after == code)
		return;
	if (after & INK_EXPIRES)
		ink_note_expiry(t, code);
	if (after == (INK_EXPIRES | INK_GONE))
		cell_write(t, cell, 0);
	else
		cell_write_code(t, cell, after & ~INK_EXPIRES);
}

static void cells_sweep(struct ink_table *t, uint64_t from, uint64_t to)
{
	const struct ink_dleft_shape *s = shape_of(t);

	for (uint64_t bucket = from; s->overflow && t->aging.flags_due && bucket < to; bucket++)
		s->overflow[bucket / 64] &= ~(1ull << bucket % 64);
	for (uint64_t cell = from * s->h; !t->aging.idle && cell < to * s->h; cell++)
		sweep_cell(t, cell);
}

/* --------------------------------------------------------------- looking at all */

static void cells_count(const struct ink_table *t, struct ink_counts *counts)
{
	for (uint64_t cell = 0; cell < cells_units(t) * shape_of(t)->h; cell++) {
		uint64_t value = cell_read(t, cell);

		if (value)
			ink_counts_add(t, counts, code_in(t, value));
	}
}

/* The words in which the cells end; behind them is the word of zeros. */
static uint64_t cell_words(const struct ink_dleft_shape *s)
{
	return (buckets_of(s) * s->bucket_bits + 63) / 64;
}

static int padding_is_clean(const struct ink_table *t)
{
	const struct ink_dleft_shape *s = shape_of(t);
	const uint64_t *words = t->body;
	uint64_t used = buckets_of(s) * s->bucket_bits % 64, flags = buckets_of(s) % 64;

	if ((used && words[cell_words(s) - 1] >> used) || words[cell_words(s)])
		return 0;
	return !s->overflow || !flags || !(s->overflow[buckets_of(s) / 64] >> flags);
}

static const char *check_cell(const struct ink_table *t, uint64_t value)
{
	unsigned state = ink_code_state(&t->coding, code_in(t, value));

	if (!fingerprint_in(t, value))
		return value ? "an entry without fingerprint is not empty" : NULL;
	if (state >= t->states && state != t->coding.unsure)
		return "an entry has a state that the table has not";
	return NULL;
}

static const char *cells_check(const struct ink_table *t)
{
	const char *wrong = padding_is_clean(t) ? NULL : "a bit behind the cells is set";

	for (uint64_t cell = 0; cell < cells_units(t) * shape_of(t)->h && !wrong; cell++)
		wrong = check_cell(t, cell_read(t, cell));
	return wrong;
}

static const char *cells_check_bounds(const struct ink_table *t)
{
	return cells_check(t);
}

/* The plan tells whether there are overflow bits. */
static void cells_shape(struct ink_table *t)
{
	const struct ink_geometry *g = &t->plan.geometry;
	struct ink_dleft_shape *s = ink_dleft_shape_of(t);
	uint64_t end;

	*s = (struct ink_dleft_shape){.d = g->d, .b = g->b, .h = g->h, .f = g->f, .flags = g->dleft_flags};
	s->cell_bits = g->f + t->coding.state_bits + t->coding.age_bits;
	s->bucket_bits = (uint64_t)g->h * s->cell_bits;
	end = cell_words(s) + 1;
	if (ink_cells_bytes(&t->plan, t->full) > end * sizeof *s->overflow)
		s->overflow = (uint64_t *)t->body + end;
}

#include "engine/engine.h"

/* ------------------------------------------------------------------- planning */

/* The paper's rule: three subtables, six cells, two thirds full. Other heights by the same margin. */
static void dleft_shapes(const struct ink_request *req, ink_shape_visitor *visit, void *search)
{
	const struct ink_geometry *g = &req->o->geometry;
	uint32_t d = g->d ? g->d : 3, h = g->h ? g->h : 6;
	uint32_t code = req->coding.state_bits + req->coding.age_bits;

	for (uint32_t f = 2; f <= 32; f++) {
		struct ink_bucket_shape s = {.g = {.d = d, .h = h, .f = f, .dleft_flags = g->dleft_flags},
					     .values = ldexp(1, (int)f) - 1,
					     .load = h >= 6 && d >= 3 ? 2.0 / 3
						     : h >= 4         ? .5
								      : .25};

		if (f + code <= MOST_CELL_BITS && ink_admits(g->f, f) && d <= 8 && h <= 64)
			visit(search, &s);
	}
}

static int dleft_plan(const struct ink_request *req, struct ink_plan *plan, struct ink_why *why)
{
	static const struct ink_bucket_kind kind = {
		.shapes = dleft_shapes, .subtables = 1, .no_side = 1, .buckets = "buckets"};

	return ink_plan_buckets(req, &kind, plan, why);
}

static int dleft_accept(const struct ink_options *o, struct ink_why *why)
{
	uint32_t unknown = o->geometry.dleft_flags & ~(INK_DLEFT_COPY | INK_DLEFT_REINSERT | INK_DLEFT_KEEP);

	return unknown ? ink_fail(why, -EINVAL, "options: dleft_flags %#x are unknown", unknown) : 0;
}

/* The cells, and a bit for each bucket that an insert found full. */
static uint64_t dleft_cells_bytes(const struct ink_plan *plan, enum ink_full full)
{
	const struct ink_geometry *g = &plan->geometry;
	uint64_t buckets = (uint64_t)g->d * g->b;

	return ink_packed_bytes(buckets * g->h * (g->f + plan->state_bits + plan->age_bits)) +
	       (full == INK_REFUSE ? 0 : (buckets + 63) / 64 * 8);
}

static int dleft_fits(const struct ink_plan *plan, unsigned states)
{
	(void)states;
	return plan->geometry.f + plan->state_bits + plan->age_bits <= MOST_CELL_BITS;
}

const struct ink_kind_def ink_kind_dleft = {
	.info = {.size = sizeof(struct ink_kind_info),
		 .kind = INK_DLEFT,
		 .name = "dleft",
		 .purpose = "to reproduce the ACSM paper; otherwise line does more in less memory",
		 .can = INK_CAN_CENSUS | INK_CAN_TIME_OUT | INK_CAN_TIME_OUT_TO | INK_CAN_DIFFER |
			INK_CAN_WINDOW | INK_CAN_BE_FULL | INK_CAN_REPLACE,
		 .geometry = INK_GEOMETRY_D | INK_GEOMETRY_B | INK_GEOMETRY_H | INK_GEOMETRY_F |
			     INK_GEOMETRY_SIDE | INK_GEOMETRY_DLEFT_FLAGS},
	.accept = dleft_accept,
	.plan = dleft_plan,
	.cells_bytes = dleft_cells_bytes,
	.ranges = {.writers = {1, 1},
		   .full = {INK_UNSURE, INK_REPLACE},
		   .d = {1, 8},
		   .b = {1, INK_MOST_BUCKETS},
		   .h = {1, 64},
		   .f = {2, 32},
		   .side = {0, INK_SIDE_MOST},
		   .dleft_flags = {0, INK_DLEFT_COPY | INK_DLEFT_REINSERT | INK_DLEFT_KEEP}},
	.fits = dleft_fits,
	.ops = &verbs,
};
