/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The side table: a small hash table by id.
 *
 * It takes the flows that the cells cannot tell apart from another flow (a
 * collision, detected when the second is inserted), and those for which the lines
 * have no room. It plays the part of the TCAM in the ACSM paper. A flow has a home
 * in it. In kinds of lines the home is the first line, so a flag of that line can
 * be cleared together with the last flow that it leads to.
 *
 * Its memory is part of the table's body; zeroed memory is an empty side table. In
 * `line` and `compact` a flow takes one word: its home, the lowest bits of its id,
 * and its code. With 2^16 lines and 5 code bits, 42 bits of the id are kept. Two
 * flows with the same home that agree in these bits are taken for one, which is
 * less likely than that two keys have the same id. Where memory is scarcer, fewer
 * bits can be requested, in words of 4 bytes.
 *
 *     struct ink_side_head                count; the rest is 0
 *     uint32_t or uint64_t words[]        [ home | id bits | code ] + 1; 0: free
 *
 * This is linear probing with backward-shift deletion: all flows of a home are in
 * one run of words, mostly in one cache line. There are a quarter more words than
 * flows, and at least one.
 *
 * `dleft` and `kbf` need whole ids, and chain their entries:
 *
 *     struct ink_side_head                count, free list, first unused entry
 *     uint32_t             chains[]       one chain each; entry number + 1, 0 = end
 *     struct ink_side_entry entries[]
 *
 * An entry is named by its number + 1; 0 is none. In words, every deletion may
 * change numbers.
 *
 * Threads. (1) With one writer, only that writer changes the side table. (2) With
 * many, a thread that reads or changes it holds the lock; peeks do not. (3) A peek
 * walks without the lock, by the seqlock `sequence`: it retries if the counter was
 * odd or has changed. Entry numbers are always in range, so the walk is safe at any
 * moment. A word added at the end of a run hides no other and needs no step of the
 * counter.
 */
#ifndef INKLING_TABLE_SIDE_H
#define INKLING_TABLE_SIDE_H

#include <stddef.h>
#include <stdint.h>

struct ink_side_head {
	uint32_t count;
	uint32_t free;  /* entry number + 1 */
	uint32_t fresh; /* entries from here on were never used */
	uint32_t zero;
};

struct ink_side_entry {
	uint64_t id;
	uint32_t next; /* entry number + 1; also chains the free ones */
	uint16_t code; /* as in a cell: state << age bits | age */
	uint16_t used;
};

_Static_assert(sizeof(struct ink_side_head) == 16 && sizeof(struct ink_side_entry) == 16,
	       "as in docs/format.md");

/* How it is made. */
struct ink_side_form {
	uint32_t capacity;  /* also the number of chains; 0 = there is no side table */
	uint32_t id_bits;   /* 0: whole ids, in chains */
	uint32_t code_bits; /* the next two: for words alone */
	uint32_t homes;     /* home numbers are less than that */
};

enum { INK_SIDE_LEAST_ID = 4, INK_SIDE_MOST_ID = 24 }; /* that can be requested */

/*
 * The flows of a home are of one of sixteen classes, by the lowest bits of their
 * ids, which every word keeps. Flags of a line say which classes of its flows are
 * here, as precisely as a few bits can. This spares most flows of that line that have
 * no side entry a probe.
 */
enum { INK_SIDE_CLASSES = 16 };

_Static_assert(INK_SIDE_CLASSES <= 1 << INK_SIDE_LEAST_ID, "words keep the bits that tell the class");

#define INK_SIDE_MOST (1u << 30) /* entries */

struct ink_side {
	struct ink_side_head *head;
	uint32_t *chains;
	struct ink_side_entry *entries;
	void *words; /* of `width` bytes each */
	struct ink_side_form form;
	uint32_t width;      /* 0: chains */
	uint32_t last;       /* words */
	uint32_t capacity;   /* of the form */
	uint32_t clock_hand; /* where the search for an expendable entry goes on */
	uint32_t sequence;
	uint32_t lock;
	int shared; /* many writers */
};

/* As many bits of an id as a word of 8 bytes has for it. */
uint32_t ink_side_id_bits(uint32_t homes, uint32_t code_bits);

/* Bytes of a word; 0: chains. More than 8: there is no such side table. */
uint32_t ink_side_width(struct ink_side_form form);

/* Entry numbers are less than that. */
uint32_t ink_side_positions(struct ink_side_form form);
uint64_t ink_side_bytes(struct ink_side_form form);
void ink_side_init(struct ink_side *side, void *memory, struct ink_side_form form, int shared);

/* Waits for the lock and takes it. */
void ink_side_wait(struct ink_side *side);

/* The flow's code, or -1, for a thread that does not hold the lock. */
int ink_side_peek(const struct ink_side *side, uint32_t home, uint64_t id);

/* Is it certainly absent? One probe without the lock; 0 also if a writer interferes. */
int ink_side_lacks(const struct ink_side *side, uint32_t home, uint64_t id);

/* Stores a flow that is not there; 0 when full. */
uint32_t ink_side_add(struct ink_side *side, uint32_t home, uint64_t id, unsigned code);

/* A safe start for iterating downward with deletes: each entry is met once. */
uint32_t ink_side_top(const struct ink_side *side);

/* Removes an entry. */
void ink_side_remove(struct ink_side *side, uint32_t home, uint32_t entry);

/* Links in range, lists that end and have all entries, words that can be found: NULL, or what is wrong. */
const char *ink_side_check(const struct ink_side *side);

/* ------------------------------------------- short enough for where they are used */

/* No-ops with one writer. */
static inline void ink_side_enter(struct ink_side *side)
{
	if (side->shared)
		ink_side_wait(side);
}

static inline void ink_side_leave(struct ink_side *side)
{
	if (side->shared)
		__atomic_store_n(&side->lock, 0, __ATOMIC_RELEASE);
}

static inline unsigned ink_side_class(uint64_t id)
{
	return (unsigned)id % INK_SIDE_CLASSES;
}

/* Homes are line numbers: neighbours must not meet more often than others. */
static inline uint32_t ink_side_hash(uint32_t home, uint32_t below)
{
	return (uint32_t)(((uint64_t)(home * 0x9e3779b1u) * below) >> 32);
}

static inline uint32_t *ink_side_chain(const struct ink_side *side, uint32_t home)
{
	return &side->chains[ink_side_hash(home, side->capacity)];
}

static inline uint32_t ink_side_linked(const uint32_t *link)
{
	return __atomic_load_n(link, __ATOMIC_ACQUIRE);
}

/* ------------------------------------------------------------------- words */

static inline uint64_t ink_side_word(const struct ink_side *side, uint32_t entry)
{
	if (side->width == 4)
		return __atomic_load_n((const uint32_t *)side->words + entry - 1, __ATOMIC_ACQUIRE);
	return __atomic_load_n((const uint64_t *)side->words + entry - 1, __ATOMIC_ACQUIRE);
}

static inline void ink_side_put_word(struct ink_side *side, uint32_t entry, uint64_t word)
{
	if (side->width == 4)
		__atomic_store_n((uint32_t *)side->words + entry - 1, (uint32_t)word, __ATOMIC_RELEASE);
	else
		__atomic_store_n((uint64_t *)side->words + entry - 1, word, __ATOMIC_RELEASE);
}

/* A flow's word without its code, and before 1 is added. */
static inline uint64_t ink_side_key(const struct ink_side *side, uint32_t home, uint64_t id)
{
	uint64_t low = id & ((1ull << side->form.id_bits) - 1);

	return ((uint64_t)home << side->form.id_bits | low) << side->form.code_bits;
}

static inline uint32_t ink_side_word_home(const struct ink_side *side, uint64_t word)
{
	return (uint32_t)((word - 1) >> side->form.code_bits >> side->form.id_bits);
}

/* The first entry that a flow of this home may have. */
static inline uint32_t ink_side_start(const struct ink_side *side, uint32_t home)
{
	return 1 + ink_side_hash(home, side->last);
}

/* The word behind that one. */
static inline uint32_t ink_side_behind(const struct ink_side *side, uint32_t entry)
{
	return entry < side->last ? entry + 1 : 1;
}

/* ----------------------------------------------------------------- entries */

/* The id of a flow; by its word, one with the same home and id bits, from the middle of that home. */
static inline uint64_t ink_side_id(const struct ink_side *side, uint32_t entry)
{
	uint64_t word, low, middle;

	if (!side->width)
		return __atomic_load_n(&side->entries[entry - 1].id, __ATOMIC_ACQUIRE);
	word = ink_side_word(side, entry);
	low = (1ull << side->form.id_bits) - 1;
	middle = (((2ull * ink_side_word_home(side, word) + 1) << 31) + side->form.homes - 1) /
		 side->form.homes;
	return (middle << 32 & ~low) | ((word - 1) >> side->form.code_bits & low);
}

/* Entries 1 .. this one may be used. */
static inline uint32_t ink_side_last(const struct ink_side *side)
{
	if (side->width || !side->capacity)
		return side->last;
	return __atomic_load_n(&side->head->fresh, __ATOMIC_ACQUIRE);
}

static inline int ink_side_used(const struct ink_side *side, uint32_t entry)
{
	if (side->width)
		return ink_side_word(side, entry) != 0;
	return __atomic_load_n(&side->entries[entry - 1].used, __ATOMIC_RELAXED);
}

/* Entries among which all of this home are: the first one, and the one after it; 0: no more. */
static inline uint32_t ink_side_first(const struct ink_side *side, uint32_t home)
{
	uint32_t start;

	if (!side->width)
		return ink_side_linked(ink_side_chain(side, home));
	start = ink_side_start(side, home);
	return ink_side_word(side, start) ? start : 0;
}

static inline uint32_t ink_side_next(const struct ink_side *side, uint32_t entry)
{
	if (!side->width)
		return ink_side_linked(&side->entries[entry - 1].next);
	entry = ink_side_behind(side, entry);
	return ink_side_word(side, entry) ? entry : 0;
}

/* Is it that flow's? */
static inline int ink_side_is(const struct ink_side *side, uint32_t entry, uint32_t home, uint64_t id)
{
	if (!side->width)
		return ink_side_id(side, entry) == id;
	return (ink_side_word(side, entry) - 1) >> side->form.code_bits ==
	       ink_side_key(side, home, id) >> side->form.code_bits;
}

/* As the next, in words of 8 bytes, the usual ones. */
static inline uint32_t ink_side_find_word(const struct ink_side *side, uint32_t home, uint64_t id)
{
	uint64_t key = ink_side_key(side, home, id) >> side->form.code_bits, word;
	const uint64_t *words = side->words;
	uint32_t e = ink_side_start(side, home);

	for (; (word = __atomic_load_n(words + e - 1, __ATOMIC_ACQUIRE)); e = ink_side_behind(side, e))
		if ((word - 1) >> side->form.code_bits == key)
			return e;
	return 0;
}

/* The flow's entry, or 0. */
static inline uint32_t ink_side_find(const struct ink_side *side, uint32_t home, uint64_t id)
{
	uint32_t e;

	if (side->width == 8)
		return ink_side_find_word(side, home, id);
	e = ink_side_first(side, home);
	while (e && !ink_side_is(side, e, home, id))
		e = ink_side_next(side, e);
	return e;
}

/* The seqlock for readers without the lock: what they read is valid if it is unchanged. */
static inline uint32_t ink_side_seq_read(const struct ink_side *side)
{
	return __atomic_load_n(&side->sequence, __ATOMIC_ACQUIRE);
}

static inline int ink_side_seq_unchanged(const struct ink_side *side, uint32_t before)
{
	return before % 2 == 0 && before == __atomic_load_n(&side->sequence, __ATOMIC_RELAXED);
}

static inline unsigned ink_side_word_code(const struct ink_side *side, uint64_t word)
{
	return (unsigned)((word - 1) & ((1u << side->form.code_bits) - 1));
}

static inline unsigned ink_side_code(const struct ink_side *side, uint32_t entry)
{
	if (side->width)
		return ink_side_word_code(side, ink_side_word(side, entry));
	return __atomic_load_n(&side->entries[entry - 1].code, __ATOMIC_RELAXED);
}

/* The code of an entry, or -1 if it is free; safe while another thread removes it. */
static inline int ink_side_code_if_used(const struct ink_side *side, uint32_t entry)
{
	uint64_t word;

	if (!side->width)
		return ink_side_used(side, entry) ? (int)ink_side_code(side, entry) : -1;
	word = ink_side_word(side, entry);
	return word ? (int)ink_side_word_code(side, word) : -1;
}

static inline void ink_side_recode(struct ink_side *side, uint32_t entry, unsigned code)
{
	uint64_t mask = (1u << side->form.code_bits) - 1;

	if (side->width)
		ink_side_put_word(side, entry, (((ink_side_word(side, entry) - 1) & ~mask) | code) + 1);
	else
		__atomic_store_n(&side->entries[entry - 1].code, (uint16_t)code, __ATOMIC_RELAXED);
}

static inline uint32_t ink_side_count(const struct ink_side *side)
{
	return side->capacity ? __atomic_load_n(&side->head->count, __ATOMIC_RELAXED) : 0;
}

#endif
