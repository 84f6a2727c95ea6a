/* SPDX-License-Identifier: BSD-2-Clause */
#include "table/side.h"

#include <sched.h>
#include <stddef.h>

#include "base/shift.h"

enum { MOST_ID_BITS = 48 }; /* more would tell nothing: the rest follows from the home */

/* -------------------------------------------------------------- the memory */

static uint32_t bits_below(uint32_t end)
{
	return end > 1 ? 32 - (uint32_t)__builtin_clz(end - 1) : 0;
}

/* One bit is left, so that a word + 1 is never 0, and ink_side_id finds the way back. */
uint32_t ink_side_id_bits(uint32_t homes, uint32_t code_bits)
{
	uint32_t bits = 63 - bits_below(homes) - code_bits;

	return bits < MOST_ID_BITS ? bits : MOST_ID_BITS;
}

uint32_t ink_side_width(struct ink_side_form f)
{
	uint32_t bits = bits_below(f.homes) + f.id_bits + f.code_bits;

	if (!f.id_bits)
		return 0;
	return bits <= 32 ? 4 : bits <= 64 ? 8 : 16;
}

/* A quarter more than flows, so that runs are short, and one more, so that they end. */
uint32_t ink_side_positions(struct ink_side_form f)
{
	return f.id_bits && f.capacity ? f.capacity + f.capacity / 4 + 1 : f.capacity;
}

static uint64_t words_bytes(struct ink_side_form f)
{
	return sizeof(struct ink_side_head) + (uint64_t)ink_side_positions(f) * ink_side_width(f);
}

static uint64_t chains_bytes(struct ink_side_form f)
{
	uint64_t chains = ((uint64_t)f.capacity * sizeof(uint32_t) + 15) / 16 * 16;

	return sizeof(struct ink_side_head) + chains + f.capacity * (uint64_t)sizeof(struct ink_side_entry);
}

uint64_t ink_side_bytes(struct ink_side_form f)
{
	if (!f.capacity)
		return 0;
	return f.id_bits ? words_bytes(f) : chains_bytes(f);
}

void ink_side_init(struct ink_side *side, void *memory, struct ink_side_form form, int shared)
{
	unsigned char *end = (unsigned char *)memory + ink_side_bytes(form);

	*side = (struct ink_side){.capacity = form.capacity, .form = form, .shared = shared};
	if (!form.capacity)
		return;
	side->head = memory;
	side->width = ink_side_width(form);
	if (side->width) {
		side->words = side->head + 1;
		side->last = ink_side_positions(form);
	} else {
		side->chains = (uint32_t *)(side->head + 1);
		side->entries =
			(struct ink_side_entry *)(void *)(end -
							  form.capacity * sizeof(struct ink_side_entry));
	}
}

/* --------------------------------------------------------------- the locks */

void ink_side_wait(struct ink_side *side)
{
	unsigned spins = 0;

	while (__atomic_exchange_n(&side->lock, 1, __ATOMIC_ACQUIRE))
		if (++spins % 64 == 0)
			sched_yield();
}

/* Around every change that could mislead a peek: the counter is odd meanwhile. */
static void seq_write_begin(struct ink_side *side)
{
	__atomic_store_n(&side->sequence, side->sequence + 1, __ATOMIC_RELAXED);
}

static void seq_write_end(struct ink_side *side)
{
	__atomic_store_n(&side->sequence, side->sequence + 1, __ATOMIC_RELEASE);
}

static void relink(uint32_t *link, uint32_t to)
{
	__atomic_store_n(link, to, __ATOMIC_RELEASE);
}

/* --------------------------------------------------------------- the words */

static uint32_t add_word(struct ink_side *side, uint32_t home, uint64_t word)
{
	struct ink_side_head *head = side->head;
	uint32_t e = ink_side_start(side, home);

	if (head->count == side->capacity)
		return 0;
	while (ink_side_word(side, e))
		e = ink_side_behind(side, e);
	ink_side_put_word(side, e, word);
	__atomic_store_n(&head->count, head->count + 1, __ATOMIC_RELAXED);
	return e;
}

/* Words are numbered from 1 on, slots from 0. */
static uint64_t slot_home(const void *side, uint64_t slot)
{
	uint64_t word = ink_side_word(side, (uint32_t)slot + 1);

	return word ? ink_side_start(side, ink_side_word_home(side, word)) - 1 : INK_SHIFT_EMPTY;
}

static void slot_move(void *side, uint64_t from, uint64_t to)
{
	ink_side_put_word(side, (uint32_t)to + 1, ink_side_word(side, (uint32_t)from + 1));
}

static void remove_word(struct ink_side *side, uint32_t e)
{
	const struct ink_shift shift = {side->last, slot_home, slot_move};

	seq_write_begin(side);
	ink_side_put_word(side, (uint32_t)ink_shift_back(&shift, side, e - 1) + 1, 0);
	seq_write_end(side);
	__atomic_store_n(&side->head->count, side->head->count - 1, __ATOMIC_RELAXED);
}

/* Behind a free word: backward-shift deletion moves no word across it. */
uint32_t ink_side_top(const struct ink_side *side)
{
	uint32_t e = ink_side_last(side);

	while (side->width && e > 1 && ink_side_word(side, e))
		e--;
	return e;
}

/* ----------------------------------------------------------------- peeking */

/*
 * As ink_side_find, while a writer may change what is walked along. Chains may even
 * form a ring for a moment, so the length of the walk is limited. A peek may also come
 * here without a side table, by a flag of a line that it read half changed.
 */
static int peek_once(const struct ink_side *side, uint32_t home, uint64_t id)
{
	uint32_t e = side->capacity ? ink_side_first(side, home) : 0;

	for (uint32_t steps = 0; e && steps <= side->last + side->capacity;
	     steps++, e = ink_side_next(side, e))
		if (ink_side_is(side, e, home, id))
			return (int)ink_side_code(side, e);
	return -1;
}

int ink_side_peek(const struct ink_side *side, uint32_t home, uint64_t id)
{
	for (;;) {
		uint32_t before = ink_side_seq_read(side);
		int code = peek_once(side, home, id);

		if (ink_side_seq_unchanged(side, before))
			return code;
	}
}

int ink_side_lacks(const struct ink_side *side, uint32_t home, uint64_t id)
{
	uint32_t before = ink_side_seq_read(side);
	int code = peek_once(side, home, id);

	return ink_side_seq_unchanged(side, before) && code < 0;
}

/* ---------------------------------------------------------------- changing */

static uint32_t take_free(struct ink_side *side)
{
	struct ink_side_head *head = side->head;
	uint32_t e = head->free;

	if (e) {
		head->free = side->entries[e - 1].next;
		return e;
	}
	if (head->fresh == side->capacity)
		return 0;
	__atomic_store_n(&head->fresh, head->fresh + 1, __ATOMIC_RELEASE);
	return head->fresh;
}

static uint32_t add_entry(struct ink_side *side, uint32_t home, uint64_t id, unsigned code)
{
	uint32_t number = take_free(side), *chain;
	struct ink_side_entry *e;

	if (!number)
		return 0;
	e = &side->entries[number - 1];
	chain = ink_side_chain(side, home);
	seq_write_begin(side);
	__atomic_store_n(&e->id, id, __ATOMIC_RELEASE);
	__atomic_store_n(&e->code, (uint16_t)code, __ATOMIC_RELEASE);
	__atomic_store_n(&e->used, 1, __ATOMIC_RELAXED);
	relink(&e->next, *chain);
	relink(chain, number);
	seq_write_end(side);
	__atomic_store_n(&side->head->count, side->head->count + 1, __ATOMIC_RELAXED);
	return number;
}

uint32_t ink_side_add(struct ink_side *side, uint32_t home, uint64_t id, unsigned code)
{
	if (!side->capacity)
		return 0;
	return side->width ? add_word(side, home, (ink_side_key(side, home, id) | code) + 1)
			   : add_entry(side, home, id, code);
}

static void remove_entry(struct ink_side *side, uint32_t home, uint32_t number)
{
	struct ink_side_entry *entry = &side->entries[number - 1];
	uint32_t *at = ink_side_chain(side, home);

	while (*at != number)
		at = &side->entries[*at - 1].next;
	seq_write_begin(side);
	relink(at, entry->next);
	relink(&entry->next, side->head->free);
	seq_write_end(side);
	__atomic_store_n(&entry->used, 0, __ATOMIC_RELAXED);
	side->head->free = number;
	__atomic_store_n(&side->head->count, side->head->count - 1, __ATOMIC_RELAXED);
}

void ink_side_remove(struct ink_side *side, uint32_t home, uint32_t entry)
{
	if (side->width)
		remove_word(side, entry);
	else
		remove_entry(side, home, entry);
}

/* ---------------------------------------------------------------- checking */

/*
 * Follows one list and counts its entries together with those of other lists.
 * More than there are: the list does not end, or it meets another one.
 */
static const char *check_list(const struct ink_side *side, uint32_t link, unsigned used, uint32_t *count)
{
	while (link) {
		const struct ink_side_entry *e;

		if (link > side->head->fresh)
			return "a link of the side table leads outside";
		if (++*count > side->head->fresh)
			return "a list of the side table does not end, or meets another";
		e = &side->entries[link - 1];
		if (e->used != used)
			return used ? "a chain of the side table holds a free entry"
				    : "the free list of the side table holds a used entry";
		link = e->next;
	}
	return NULL;
}

static const char *check_fresh(const struct ink_side *side)
{
	for (uint32_t i = side->head->fresh; i < side->capacity; i++) {
		const struct ink_side_entry *e = &side->entries[i];

		if (e->id || e->next || e->code || e->used)
			return "an entry of the side table that was never used is not empty";
	}
	return NULL;
}

static uint32_t count_words(const struct ink_side *side)
{
	uint32_t used = 0;

	for (uint32_t e = 1; e <= side->last; e++)
		used += ink_side_word(side, e) != 0;
	return used;
}

/* Each with a home that there is, and no free word between that and the entry: seen from a free one on. */
static const char *check_words(const struct ink_side *side)
{
	const struct ink_side_head *head = side->head;
	uint32_t top = ink_side_top(side), free = 0, e = top;

	if (head->count > side->capacity || head->free || head->fresh || head->zero)
		return "the side table's head contradicts its size";
	if (count_words(side) != head->count)
		return "the side table's count is wrong";
	for (uint32_t i = 1; i < side->last; i++) {
		uint64_t word = ink_side_word(side, e = ink_side_behind(side, e));
		uint32_t home = word ? ink_side_word_home(side, word) : 0, start;

		free = word ? free : i;
		start = (uint32_t)ink_shift_distance(side->last, top, ink_side_start(side, home));
		if (home >= side->form.homes)
			return "an entry of the side table has a home that there is not";
		if (word && (start <= free || start > i))
			return "an entry of the side table is not where it would be looked for";
	}
	return NULL;
}

/*
 * That each used entry is found under its home, and not another one in its place,
 * the caller checks; with as many entries in the chains as are used, each is there
 * once.
 */
const char *ink_side_check(const struct ink_side *side)
{
	const struct ink_side_head *head = side->head;
	uint32_t free = 0, used = 0;
	const char *wrong;

	if (!side->capacity)
		return NULL;
	if (side->width)
		return check_words(side);
	if (head->fresh > side->capacity || head->count > head->fresh || head->zero)
		return "the side table's head contradicts its size";
	wrong = check_list(side, head->free, 0, &free);
	for (uint32_t i = 0; i < side->capacity && !wrong; i++)
		wrong = check_list(side, side->chains[i], 1, &used);
	if (!wrong && (used != head->count || free != head->fresh - head->count))
		wrong = "the side table's count is wrong";
	return wrong ? wrong : check_fresh(side);
}
