/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Batches: single calls in order, each with its memory fetched while the calls
 * before it are at work.
 *
 *     item          i              i + 1  ...            i + AHEAD
 *     is            carried out    being fetched         hashed, its cells are requested
 *
 * Only what no other call can change is done ahead. Where a key's cells are
 * follows from its bytes and the geometry. The symbol of a value stays for
 * ever, so one that is found ahead is right; a value that has none yet is added
 * in its turn. Cells are read and changed in the item's turn. So answers,
 * errors, order of effects and memory requested are those of single calls.
 *
 * A call that changes something also retries a waiting key, and reads that
 * key's cells. These are fetched ahead, too, once the waiting keys are so many
 * that their cells leave the cache between two retries. If the side table
 * changes meanwhile, other cells are fetched than needed: slower, not wrong.
 */
#include <errno.h>

#include "kbf/verbs.h"

enum {
	AHEAD = 8, /* k lines for each are under way; 6 and 12 are as fast (bench/kbf_batch.cc, 16M keys) */
	WAITING_AHEAD = 2,     /* calls before a waiting key's turn: memory answers within one of them */
	MANY_WAITING = 1 << 10 /* with 12 lines for each call, their cells have left an L2 cache of 1 MiB */
};

/* ----------------------------------------------------------------- fetching */

/*
 * Always inlined: a function that only prefetches has no effect that the
 * compiler knows of, and gcc removes calls of it.
 */
#define ALWAYS_INLINE __attribute__((always_inline)) static inline

ALWAYS_INLINE void fetch(const struct ink_kbf *f, const struct ink_kbf_place *p)
{
	unsigned bytes = ink_encoding_cell_bytes(f->encoding);

	for (uint32_t link = 0; link < f->links; link++)
		for (uint32_t i = 0; i < f->k; i++)
			__builtin_prefetch((const char *)f->link[link].cells + (uint64_t)p->at[i] * bytes, 1);
}

ALWAYS_INLINE void fetch_waiting(const struct ink_kbf *f)
{
	const struct ink_pending *w = &f->pending;
	struct ink_kbf_place p;
	uint32_t number = w->next + WAITING_AHEAD;

	if (w->count < MANY_WAITING)
		return;
	p = ink_kbf_place_of(f, w->entries[number < w->count ? number : WAITING_AHEAD].id);
	fetch(f, &p);
}

/* ------------------------------------------------------------- looking ahead */

enum purpose { TO_QUERY, TO_DELETE, TO_STORE };

struct item {
	struct ink_kbf_place place;
	uint32_t symbol; /* of the value to store, or INK_PENDING_GONE: not found ahead */
};

struct lookahead {
	const struct ink_kbf *filter;
	const struct ink_kbf_batch *batch;
	enum purpose purpose;
	struct item items[AHEAD]; /* number i at i % AHEAD, until it has been carried out */
};

/* Item i, if it exists. A key that is too long has no place; its call needs none. */
static void look(struct lookahead *a, size_t i)
{
	struct item *item = &a->items[i % AHEAD];

	if (i >= a->batch->n)
		return;
	item->symbol = INK_PENDING_GONE;
	if (a->purpose != TO_QUERY && ink_kbf_is_too_long(a->batch->keys[i]))
		return;
	item->place = ink_kbf_place_of(a->filter, ink_kbf_id(a->filter, a->batch->keys[i]));
	fetch(a->filter, &item->place);
	if (a->purpose == TO_STORE)
		ink_kbf_dict_find(a->filter->dict, a->batch->values[i], &item->symbol);
}

static void begin(struct lookahead *a, const struct ink_kbf *f, const struct ink_kbf_batch *b,
		  enum purpose purpose)
{
	a->filter = f;
	a->batch = b;
	a->purpose = purpose;
	for (size_t i = 0; i < AHEAD; i++)
		look(a, i);
}

/* -------------------------------------------------------------------- batches */

void ink_kbf_query_batch(const struct ink_kbf *f, const struct ink_kbf_batch *b)
{
	struct lookahead a;

	begin(&a, f, b, TO_QUERY);
	for (size_t i = 0; i < b->n; i++) {
		b->answers[i] = ink_kbf_query_at(f, &a.items[i % AHEAD].place, b->keys[i],
						 b->values ? &b->values[i] : NULL);
		look(&a, i + AHEAD);
	}
}

static int call_item(struct ink_kbf *f, const struct lookahead *a, size_t i, ink_kbf_verb verb)
{
	const struct ink_kbf_batch *b = a->batch;
	const struct item *item = &a->items[i % AHEAD];
	const struct ink_kbf_request w = {b->keys[i], a->purpose == TO_STORE ? &b->values[i] : NULL,
					  item->symbol};
	int error = ink_kbf_is_too_long(w.key) ? -EMSGSIZE : ink_kbf_call_at(f, &item->place, &w, verb);

	if (b->errors)
		b->errors[i] = error;
	return error;
}

static int call_all(struct ink_kbf *f, const struct ink_kbf_batch *b, enum purpose purpose, ink_kbf_verb verb)
{
	struct lookahead a;
	int first = 0;

	begin(&a, f, b, purpose);
	for (size_t i = 0; i < b->n; i++) {
		int error;

		fetch_waiting(f);
		error = call_item(f, &a, i, verb);
		first = first ? first : error;
		look(&a, i + AHEAD);
	}
	return first;
}

int ink_kbf_insert_batch(struct ink_kbf *f, const struct ink_kbf_batch *b)
{
	return call_all(f, b, TO_STORE, ink_kbf_insert_at);
}

int ink_kbf_update_batch(struct ink_kbf *f, const struct ink_kbf_batch *b)
{
	return call_all(f, b, TO_STORE, ink_kbf_change_at);
}

int ink_kbf_delete_batch(struct ink_kbf *f, const struct ink_kbf_batch *b)
{
	return call_all(f, b, TO_DELETE, ink_kbf_change_at);
}
