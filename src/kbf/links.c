/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Growing, compacting, adding and subtracting: whole links at a time.
 *
 * Cells are sums, so the filter of a union is the sum of the filters, cell by
 * cell, in whatever order keys were inserted. Both must agree on where a key's
 * cells are (the secret, k, cells), and on what a symbol means (the dictionaries).
 *
 * Everything that can fail is done before anything is changed.
 */
#include <errno.h>
#include <string.h>

#include "base/error.h"
#include "kbf/filter.h"

/* ----------------------------------------------------------- growing, compacting */

int ink_kbf_grow(struct ink_kbf *f)
{
	int error = f->links < INK_KBF_MOST_LINKS ? ink_kbf_link_make(f, &f->link[f->links]) : -ENOSPC;

	if (!error)
		f->links++;
	return error;
}

static void drop_link(struct ink_kbf *f, uint32_t i)
{
	f->stuck -= ink_kbf_link_scan(f, &f->link[i]).stuck;
	ink_kbf_link_free(f, &f->link[i]);
	memmove(&f->link[i], &f->link[i + 1], (f->links - i - 1) * sizeof *f->link);
	f->links--;
}

/* Link j goes into link i, which is older. */
static void join_links(struct ink_kbf *f, uint32_t i, uint32_t j)
{
	f->stuck += ink_kbf_link_add(f, &f->link[i], &f->link[j]);
	drop_link(f, j);
}

void ink_kbf_compact(struct ink_kbf *f)
{
	double most = (f->grow_at > 0 ? f->grow_at : 1) * (double)f->planned;

	for (uint32_t i = 0; i < f->links; i++)
		for (uint32_t j = f->links - 1; j > i; j--)
			if ((double)(f->link[i].keys + f->link[j].keys) <= most)
				join_links(f, i, j);
}

/* -------------------------------------------------------------- do they fit? */

static int check_fit(const struct ink_kbf *f, const struct ink_kbf *other, struct ink_why *why)
{
	if (f == other)
		return ink_fail(why, -EINVAL, "a filter cannot be added to itself, nor subtracted");
	if (f->k != other->k || f->part != other->part || f->counter_bits != other->counter_bits)
		return ink_fail(
			why, -EINVAL,
			"the filters differ: k %u and %u, cells %llu and %llu, counter bits %u and %u", f->k,
			other->k, (unsigned long long)ink_kbf_cells(f),
			(unsigned long long)ink_kbf_cells(other), f->counter_bits, other->counter_bits);
	if (!ink_dict_fits(f->dict, other->dict))
		return ink_fail(
			why, -EINVAL,
			"neither dictionary begins with the other: their symbols mean different values");
	return 0;
}

/* ---------------------------------------------------------------------- adding */

static int check_pending_apart(const struct ink_kbf *f, const struct ink_kbf *other, struct ink_why *why)
{
	for (uint32_t i = 0; i < other->pending.count; i++)
		if (ink_pending_find(&f->pending, other->pending.entries[i].id,
				     other->pending.entries[i].key))
			return ink_fail(why, -EEXIST, "a key waits in the side tables of both filters");
	return 0;
}

/* Appends empty links until there are that many. */
static int add_links(struct ink_kbf *f, uint32_t links)
{
	uint32_t before = f->links;
	int error = 0;

	while (f->links < links && !error)
		error = ink_kbf_grow(f);
	while (error && f->links > before)
		drop_link(f, f->links - 1);
	return error;
}

static int make_ready(struct ink_kbf *f, const struct ink_kbf *other, struct ink_why *why)
{
	uint32_t links = f->links;
	int error = check_pending_apart(f, other, why);

	if (error)
		return error;
	if (other->dict->count > f->symbols)
		return ink_fail(why, -ENOSPC, "the other dictionary has %u values, this filter takes %u",
				other->dict->count, f->symbols);
	error = ink_dict_extend(f->dict, other->dict);
	if (!error)
		error = add_links(f, other->links);
	if (!error)
		error = ink_pending_add_all(&f->pending, &other->pending);
	while (error && f->links > links)
		drop_link(f, f->links - 1);
	return error ? ink_fail(why, error,
				error == -ENOSPC ? "the side table or the dictionary is full"
						 : "no memory to merge")
		     : 0;
}

int ink_kbf_merge(struct ink_kbf *f, const struct ink_kbf *other, struct ink_why *why)
{
	int error = check_fit(f, other, why);

	if (!error)
		error = make_ready(f, other, why);
	if (error)
		return error;
	for (uint32_t i = 0; i < other->links; i++)
		f->stuck += ink_kbf_link_add(f, &f->link[i], &other->link[i]);
	return 0;
}

/* ------------------------------------------------------------------ subtracting */

/* NULL, or the reason why b cannot be subtracted from a. */
static const char *not_contained(const struct ink_kbf *f, struct ink_kbf_cell a, struct ink_kbf_cell b)
{
	if (a.count == f->stuck_at)
		return NULL;
	if (b.count > a.count)
		return "a cell of it holds more";
	return ink_kbf_check_cell(f, ink_kbf_cell_difference(f, a, b))
		       ? "what would be left in a cell makes no sense"
		       : NULL;
}

static int check_links(const struct ink_kbf *f, const struct ink_kbf *other, uint32_t link,
		       enum ink_kbf_stuck stuck, struct ink_why *why)
{
	for (uint64_t i = 0; i < ink_kbf_cells(f); i++) {
		struct ink_kbf_cell a = ink_kbf_cell_at(f, &f->link[link], i),
				    b = ink_kbf_cell_at(f, &other->link[link], i);
		const char *wrong = not_contained(f, a, b);

		if (wrong)
			return ink_fail(why, -EINVAL, "the other filter is not contained in this one: %s",
					wrong);
		if (a.count == f->stuck_at && b.count && stuck == INK_KBF_STUCK_REFUSE)
			return ink_fail(
				why, -EOVERFLOW,
				"cell %llu of link %u has a counter at its limit and cannot be counted down",
				(unsigned long long)i, link);
	}
	return 0;
}

static int is_same(const struct ink_pending_entry *a, const struct ink_pending_entry *b)
{
	return a && a->symbol == b->symbol && a->claim == b->claim;
}

static int check_contained(const struct ink_kbf *f, const struct ink_kbf *other, enum ink_kbf_stuck stuck,
			   struct ink_why *why)
{
	int error = 0;

	for (uint32_t i = 0; i < other->links; i++)
		if (i >= f->links ? other->link[i].keys > 0 : other->link[i].keys > f->link[i].keys)
			return ink_fail(
				why, -EINVAL,
				"the other filter is not contained in this one: link %u has more keys", i);
	for (uint32_t i = 0; i < other->pending.count; i++) {
		const struct ink_pending_entry *e = &other->pending.entries[i];

		if (!is_same(ink_pending_find(&f->pending, e->id, e->key), e))
			return ink_fail(why, -EBUSY,
					"a key that waits in the other filter's side table does "
					"not wait in this one's");
	}
	for (uint32_t i = 0; i < other->links && i < f->links && !error; i++)
		error = check_links(f, other, i, stuck, why);
	return error;
}

static void remove_pending(struct ink_pending *from, const struct ink_pending *those)
{
	for (uint32_t i = 0; i < those->count; i++)
		ink_pending_remove(from, ink_pending_find(from, those->entries[i].id, those->entries[i].key));
}

int ink_kbf_subtract(struct ink_kbf *f, const struct ink_kbf *other, enum ink_kbf_stuck stuck,
		     struct ink_why *why)
{
	int error = check_fit(f, other, why);

	if (!error)
		error = check_contained(f, other, stuck, why);
	if (error)
		return error;
	for (uint32_t i = 0; i < other->links && i < f->links; i++)
		ink_kbf_link_subtract(f, &f->link[i], &other->link[i]);
	remove_pending(&f->pending, &other->pending);
	while (f->links > 1 && f->link[f->links - 1].keys == 0 && other->links == f->links)
		drop_link(f, f->links - 1);
	return 0;
}
