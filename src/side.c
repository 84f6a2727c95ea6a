/* SPDX-License-Identifier: BSD-2-Clause */
#include "side.h"

#include <sched.h>
#include <stddef.h>

/* -------------------------------------------------------------- the memory */

static uint32_t bits_below(uint32_t end)
{
	return end > 1 ? 32 - (uint32_t)__builtin_clz(end - 1) : 0;
}

uint32_t ink_side_width(struct ink_side_form f)
{
	uint32_t bits = bits_below(f.homes) + f.id_bits + f.code_bits;

	if (!f.id_bits)
		return 0;
	return bits <= 32 ? 4 : bits <= 64 ? 8 : 16;
}

static uint64_t narrow_bytes(struct ink_side_form f)
{
	return sizeof(struct ink_side_head) + (uint64_t)f.capacity * ink_side_width(f);
}

static uint64_t wide_bytes(struct ink_side_form f)
{
	uint64_t chains = ((uint64_t)f.capacity * sizeof(uint32_t) + 15) / 16 * 16;

	return sizeof(struct ink_side_head) + chains + f.capacity * (uint64_t)sizeof(struct ink_side_entry);
}

uint64_t ink_side_bytes(struct ink_side_form f)
{
	if (!f.capacity)
		return 0;
	return f.id_bits ? narrow_bytes(f) : wide_bytes(f);
}

void ink_side_init(struct ink_side *side, void *memory, struct ink_side_form form, int shared)
{
	unsigned char *end = (unsigned char *)memory + ink_side_bytes(form);

	*side = (struct ink_side){.capacity = form.capacity, .form = form, .shared = shared};
	if (!form.capacity)
		return;
	side->head = memory;
	side->width = ink_side_width(form);
	if (side->width)
		side->words = side->head + 1;
	else {
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

/* The odd number comes before, the even one after every change that a peek could stumble over. */
static void disturb(struct ink_side *side)
{
	__atomic_store_n(&side->sequence, side->sequence + 1, __ATOMIC_RELAXED);
}

static void settle(struct ink_side *side)
{
	__atomic_store_n(&side->sequence, side->sequence + 1, __ATOMIC_RELEASE);
}

static void relink(uint32_t *link, uint32_t to)
{
	__atomic_store_n(link, to, __ATOMIC_RELEASE);
}

/* --------------------------------------------------------------- the words */

/* A flow's word without its code. */
static uint64_t key_of(const struct ink_side *side, uint32_t home, uint64_t id)
{
	uint64_t low = id & ((1ull << side->form.id_bits) - 1);

	return ((uint64_t)home << side->form.id_bits | low) << side->form.code_bits;
}

/* How many words are less than this one. Beside a writer the answer is any number up to the count. */
static uint32_t words_below(const struct ink_side *side, uint64_t word)
{
	uint32_t low = 0, high = ink_side_last(side);

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (ink_side_word(side, middle + 1) < word)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* The first entry from a key on, if it agrees with the key above these bits. */
static uint32_t entry_from(const struct ink_side *side, uint64_t key, uint32_t bits)
{
	uint32_t entry = words_below(side, key) + 1;

	if (entry > ink_side_last(side) || entry > side->capacity)
		return 0;
	return ink_side_word(side, entry) >> bits == key >> bits ? entry : 0;
}

uint32_t ink_side_find_word(const struct ink_side *side, uint32_t home, uint64_t id)
{
	return entry_from(side, key_of(side, home, id), side->form.code_bits);
}

uint32_t ink_side_first_word(const struct ink_side *side, uint32_t home)
{
	return entry_from(side, key_of(side, home, 0), side->form.code_bits + side->form.id_bits);
}

static uint32_t add_word(struct ink_side *side, uint64_t word)
{
	struct ink_side_head *head = side->head;
	uint32_t entry = words_below(side, word) + 1;

	if (head->count == side->capacity)
		return 0;
	disturb(side);
	for (uint32_t i = head->count; i >= entry; i--)
		ink_side_put_word(side, i + 1, ink_side_word(side, i));
	ink_side_put_word(side, entry, word);
	__atomic_store_n(&head->count, head->count + 1, __ATOMIC_RELEASE);
	settle(side);
	return entry;
}

static void remove_word(struct ink_side *side, uint32_t entry)
{
	struct ink_side_head *head = side->head;

	disturb(side);
	for (uint32_t i = entry; i < head->count; i++)
		ink_side_put_word(side, i, ink_side_word(side, i + 1));
	ink_side_put_word(side, head->count, 0);
	__atomic_store_n(&head->count, head->count - 1, __ATOMIC_RELEASE);
	settle(side);
}

/* ----------------------------------------------------------------- peeking */

/* As find, but the chain may change under our feet, even into a ring: no walk is longer than the table. */
/* A line that is being changed may send a peek here though there is no side table. */
static int peek_once(const struct ink_side *side, uint32_t home, uint64_t id)
{
	uint32_t e;

	if (!side->capacity)
		return -1;
	e = side->width ? ink_side_find_word(side, home, id) : ink_side_first(side, home);
	if (side->width)
		return e ? (int)ink_side_code(side, e) : -1;
	for (uint32_t steps = 0; e && steps < side->capacity; steps++, e = ink_side_next(side, e))
		if (ink_side_id(side, e) == id)
			return (int)__atomic_load_n(&side->entries[e - 1].code, __ATOMIC_ACQUIRE);
	return -1;
}

int ink_side_peek(const struct ink_side *side, uint32_t home, uint64_t id)
{
	for (;;) {
		uint32_t before = __atomic_load_n(&side->sequence, __ATOMIC_ACQUIRE);
		int code = peek_once(side, home, id);

		if (before % 2 == 0 && before == __atomic_load_n(&side->sequence, __ATOMIC_RELAXED))
			return code;
	}
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
	disturb(side);
	__atomic_store_n(&e->id, id, __ATOMIC_RELEASE);
	__atomic_store_n(&e->code, (uint16_t)code, __ATOMIC_RELEASE);
	__atomic_store_n(&e->used, 1, __ATOMIC_RELAXED);
	relink(&e->next, *chain);
	relink(chain, number);
	settle(side);
	__atomic_store_n(&side->head->count, side->head->count + 1, __ATOMIC_RELAXED);
	return number;
}

uint32_t ink_side_add(struct ink_side *side, uint32_t home, uint64_t id, unsigned code)
{
	if (!side->capacity)
		return 0;
	return side->width ? add_word(side, key_of(side, home, id) | code) : add_entry(side, home, id, code);
}

static void remove_entry(struct ink_side *side, uint32_t home, uint32_t number)
{
	struct ink_side_entry *entry = &side->entries[number - 1];
	uint32_t *at = ink_side_chain(side, home);

	while (*at != number)
		at = &side->entries[*at - 1].next;
	disturb(side);
	relink(at, entry->next);
	relink(&entry->next, side->head->free);
	settle(side);
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

/* Ascending, so that none is there twice; each with a home that there is; and nothing behind the last. */
static const char *check_words(const struct ink_side *side)
{
	const struct ink_side_head *head = side->head;
	uint64_t end = key_of(side, side->form.homes, 0), code = (1ull << side->form.code_bits) - 1,
		 before = 0;

	if (head->count > side->capacity || head->free || head->fresh || head->zero)
		return "the side table's head contradicts its size";
	for (uint32_t e = 1; e <= side->capacity; e++) {
		uint64_t word = ink_side_word(side, e);

		if (e > head->count && word)
			return "an entry of the side table that was never used is not empty";
		if (e > head->count)
			continue;
		if (word >= end)
			return "an entry of the side table has a home that there is not";
		if (e > 1 && (word & ~code) <= before)
			return "the entries of the side table are not in order";
		before = word & ~code;
	}
	return NULL;
}

/*
 * That each used entry is in the chain of its home, the caller checks; with as
 * many entries in the chains as are used, each is there once.
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
