/* SPDX-License-Identifier: BSD-2-Clause */
#include "kbf/greedy.h"

#include <errno.h>
#include <string.h>

/* ------------------------------------------------------------------ bitmaps */

enum {
	WORD_BITS = 6,            /* log2 of the bits of a word */
	CLASSES = 1 << WORD_BITS, /* of r's: by their low bits, which permute those of a word */
	WINDOW_WORDS = 1 << 9,    /* of numbers looked at together: 64 classes of them fit a cache */
	MOST_BITS = 31            /* of a code: the top bit of the block behind the last is a number too */
};

/* Two words side by side, which any processor handles as one; the bitmaps are used as these and as words. */
typedef uint64_t twin __attribute__((vector_size(16), may_alias));

static inline void mark(uint64_t *map, uint32_t i)
{
	map[i >> WORD_BITS] |= 1ull << (i & 63);
}

/* --------------------------------------------------------------- one block */

struct search {
	uint32_t *codes;
	uint32_t found, wanted;
	uint64_t *sums;    /* S; last_top bits */
	uint32_t last_top; /* of a block; its r's, and S, have one bit less than codes */
	uint32_t top;      /* 2^t */
	uint32_t first;    /* code of this block */
	uint32_t from;     /* the window: its first word, and how many */
	uint32_t words;
	/* What each class forbids there, bits not yet permuted; in the end, all of it in the first. */
	twin window[CLASSES][WINDOW_WORDS / 2];
};

static inline uint32_t r_of(const struct search *s, uint32_t i)
{
	return s->codes[i] ^ s->top;
}

/* to |= the words of S that r moves into the window. */
static void join(const struct search *s, uint32_t r, twin *to)
{
	uint32_t shift = r >> WORD_BITS, inside = (shift & (s->words - 1)) / 2;
	const twin *part = (const twin *)s->sums + ((s->from ^ shift) & ~(s->words - 1)) / 2;

	if (shift & 1)
		for (uint32_t i = 0; i < s->words / 2; i++)
			to[i] |= __builtin_shufflevector(part[i ^ inside], part[i ^ inside], 1, 0);
	else
		for (uint32_t i = 0; i < s->words / 2; i++)
			to[i] |= part[i ^ inside];
}

/* to |= from, where bit i of a word goes to i ^ 2^b. */
static void join_permuted(const struct search *s, const twin *from, unsigned b, twin *to)
{
	static const uint64_t lower[WORD_BITS] = {0x5555555555555555, 0x3333333333333333, 0x0f0f0f0f0f0f0f0f,
						  0x00ff00ff00ff00ff, 0x0000ffff0000ffff, 0x00000000ffffffff};
	const twin low = {lower[b], lower[b]};
	const int by = 1 << b;

	for (uint32_t i = 0; i < s->words / 2; i++)
		to[i] |= (from[i] & low) << by | (from[i] >> by & low);
}

/*
 * What the r's of this block found so far forbid in the window. Classes that
 * differ in one low bit are joined first: one half of them is permuted by that
 * bit alone. So each class passes each bit at most once.
 */
static void forbid(struct search *s)
{
	memset(s->window, 0, sizeof s->window);
	for (uint32_t i = s->first; i < s->found; i++)
		join(s, r_of(s, i), s->window[r_of(s, i) % CLASSES]);
	for (unsigned b = WORD_BITS; b-- > 0;)
		for (uint32_t group = 0; group < 1u << b; group++)
			join_permuted(s, s->window[group | 1u << b], b, s->window[group]);
}

/* What r alone forbids, permuted bit by bit between two classes that are no longer needed. */
static void forbid_by(struct search *s, uint32_t r)
{
	unsigned now = 1;

	memset(s->window[now], 0, sizeof s->window[now]);
	join(s, r, s->window[now]);
	for (unsigned b = 0; b < WORD_BITS; b++)
		if (r >> b & 1) {
			memset(s->window[3 - now], 0, sizeof s->window[now]);
			join_permuted(s, s->window[now], b, s->window[3 - now]);
			now = 3 - now;
		}
	for (uint32_t i = 0; i < s->words / 2; i++)
		s->window[0][i] |= s->window[now][i];
}

/*
 * A new code 2^t + r. Later windows find its sums in S; in this one it forbids
 * r + s, and for the s that are new, which are its own sums, also r' + s.
 */
static void add_code(struct search *s, uint32_t r)
{
	forbid_by(s, r);
	for (uint32_t i = s->first; i < s->found; i++) {
		mark(s->sums, r ^ r_of(s, i));
		for (uint32_t j = s->first; j < i; j++) {
			uint32_t sum = r ^ r_of(s, i) ^ r_of(s, j);

			if ((sum >> WORD_BITS) - s->from < s->words)
				mark((uint64_t *)s->window[0], sum - (s->from << WORD_BITS));
		}
	}
	s->codes[s->found++] = s->top | r;
}

/* The smallest number that is free in a word, from bit `at` on; 64 if there is none. */
static unsigned free_bit(uint64_t word, unsigned at)
{
	uint64_t open = at < 64 ? ~word >> at << at : 0;

	return open ? (unsigned)__builtin_ctzll(open) : 64;
}

static void search_window(struct search *s)
{
	const uint64_t *window = (const uint64_t *)s->window[0];

	forbid(s);
	for (uint32_t i = 0; i < s->words; i++)
		for (unsigned bit = 0; s->found < s->wanted; bit++) {
			uint32_t word = (s->from + i) << WORD_BITS;

			bit = free_bit(window[i], bit);
			if (bit >= 64 || word + bit >= s->top)
				break;
			add_code(s, word + bit);
		}
}

/* S of the next block has the codes of this one too, and their sums with earlier ones. */
static void add_sums(struct search *s)
{
	for (uint32_t i = s->first; i < s->found; i++) {
		mark(s->sums, s->codes[i]);
		for (uint32_t j = 0; j < s->first; j++)
			mark(s->sums, s->codes[i] ^ s->codes[j]);
	}
}

/* A window has at least two words. In the smallest blocks, the bits beyond the block's numbers are ignored. */
static void search_block(struct search *s)
{
	uint32_t words = s->top <= 64 ? 2 : s->top >> WORD_BITS;

	s->first = s->found;
	s->words = words < WINDOW_WORDS ? words : WINDOW_WORDS;
	for (s->from = 0; s->from < words && s->found < s->wanted; s->from += s->words)
		search_window(s);
	if (s->found < s->wanted && s->top < s->last_top)
		add_sums(s);
}

int32_t ink_greedy_search(uint32_t *codes, uint32_t n, unsigned bits, const struct ink_allocator *a)
{
	uint32_t last_top = 1u << ((bits < MOST_BITS ? bits : MOST_BITS) - 1);
	size_t sums_bytes = (last_top / 64 + 2) * sizeof(uint64_t); /* the smallest windows have two words */
	struct search *s = ink_alloc(a, sizeof *s);
	uint64_t *sums = ink_alloc(a, sums_bytes);
	int32_t found = -ENOMEM;

	if (s && sums) {
		s->codes = codes;
		s->wanted = n;
		s->sums = sums;
		s->last_top = last_top;
		mark(sums, 0);
		for (s->top = 1; s->top <= last_top && s->found < n; s->top *= 2)
			search_block(s);
		found = (int32_t)s->found;
	}
	ink_release(a, sums, sums_bytes);
	ink_release(a, s, sizeof *s);
	return found;
}

int ink_greedy_codes(uint32_t *codes, uint32_t n, const struct ink_allocator *a)
{
	int32_t found = ink_greedy_search(codes, n, INK_GREEDY_BITS, a);

	if (found < 0)
		return found;
	return (uint32_t)found < n ? -ERANGE : 0;
}

/* ----------------------------------------------------------------- the index */

static inline void put(uint16_t *slots, uint32_t bits, uint32_t number, uint32_t symbol)
{
	uint32_t slot = (number * 0x9e3779b1u) >> (32 - bits), mask = (1u << bits) - 1;

	while (slots[slot])
		slot = (slot + 1) & mask;
	slots[slot] = (uint16_t)(symbol + 1);
}

/* Half of the slots stay free. */
static uint32_t bits_for(uint64_t entries)
{
	uint32_t bits = 4;

	while (1ull << bits < 2 * entries)
		bits++;
	return bits;
}

static size_t slots_bytes(uint32_t bits)
{
	return sizeof(uint16_t) << bits;
}

int ink_greedy_index_make(struct ink_greedy_index *x, uint32_t most)
{
	x->code_bits = bits_for(most);
	x->sum_bits = bits_for(1);
	x->of_code = ink_alloc(x->allocator, slots_bytes(x->code_bits));
	x->of_sum = ink_alloc(x->allocator, slots_bytes(x->sum_bits));
	return x->of_code && x->of_sum ? 0 : -ENOMEM;
}

void ink_greedy_index_free(struct ink_greedy_index *x)
{
	ink_release(x->allocator, x->of_code, slots_bytes(x->code_bits));
	ink_release(x->allocator, x->of_sum, slots_bytes(x->sum_bits));
	*x = (struct ink_greedy_index){0};
}

static void put_sums_of(uint16_t *slots, uint32_t bits, const uint32_t *codes, uint32_t symbol)
{
	for (uint32_t i = 0; i < symbol; i++)
		put(slots, bits, codes[i] ^ codes[symbol], symbol);
}

/* Room for the sums of that many symbols. */
static int make_room(struct ink_greedy_index *x, uint64_t symbols)
{
	uint32_t bits = bits_for(symbols * (symbols - 1) / 2);
	uint16_t *slots;

	if (bits <= x->sum_bits)
		return 0;
	slots = ink_alloc(x->allocator, slots_bytes(bits));
	if (!slots)
		return -ENOMEM;
	for (uint32_t i = 0; i < x->symbols; i++)
		put_sums_of(slots, bits, x->codes, i);
	ink_release(x->allocator, x->of_sum, slots_bytes(x->sum_bits));
	x->of_sum = slots;
	x->sum_bits = bits;
	return 0;
}

int ink_greedy_index_add(struct ink_greedy_index *x)
{
	int error = make_room(x, (uint64_t)x->symbols + 1);

	if (error)
		return error;
	put(x->of_code, x->code_bits, x->codes[x->symbols], x->symbols);
	put_sums_of(x->of_sum, x->sum_bits, x->codes, x->symbols);
	x->symbols++;
	return 0;
}

uint64_t ink_greedy_index_bytes(const struct ink_greedy_index *x)
{
	return slots_bytes(x->code_bits) + slots_bytes(x->sum_bits);
}
