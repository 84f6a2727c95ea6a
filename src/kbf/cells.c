/* SPDX-License-Identifier: BSD-2-Clause */
/* Changing cells: of one key, and of whole links. */
#include <errno.h>

#include "base/pages.h"
#include "kbf/filter.h"

uint64_t ink_kbf_link_bytes(const struct ink_kbf *f)
{
	return ink_body_round(ink_kbf_cells(f) * ink_encoding_cell_bytes(f->encoding));
}

int ink_kbf_link_make(const struct ink_kbf *f, struct ink_kbf_link *link)
{
	*link = (struct ink_kbf_link){.cells = ink_alloc(&f->allocator, ink_kbf_link_bytes(f)), .owned = 1};
	return link->cells ? 0 : -ENOMEM;
}

void ink_kbf_link_free(const struct ink_kbf *f, struct ink_kbf_link *link)
{
	if (link->owned)
		ink_release(&f->allocator, link->cells, ink_kbf_link_bytes(f));
	*link = (struct ink_kbf_link){0};
}

/* ------------------------------------------------------------------ one cell */

/* Counts saturate: one that has reached its limit never changes again. */
INK_PER_ENCODING struct ink_kbf_cell joined(const struct ink_kbf *f, enum ink_kbf_encoding e,
					    struct ink_kbf_cell a, struct ink_kbf_cell b)
{
	uint32_t count = a.count + b.count;

	if (count > f->stuck_at || a.count == f->stuck_at || b.count == f->stuck_at)
		count = f->stuck_at;
	return (struct ink_kbf_cell){count, ink_encoded_add(f->dict, e, a.sums, b.sums)};
}

INK_PER_ENCODING struct ink_kbf_cell without(const struct ink_kbf *f, enum ink_kbf_encoding e,
					     struct ink_kbf_cell a, struct ink_kbf_cell b)
{
	uint32_t count = a.count == f->stuck_at ? f->stuck_at : a.count - b.count;

	return (struct ink_kbf_cell){count, ink_encoded_subtract(f->dict, e, a.sums, b.sums)};
}

/* ------------------------------------------------------------- the cells of a key */

INK_PER_ENCODING void put(struct ink_kbf *f, enum ink_kbf_encoding e, const struct ink_kbf_place *p,
			  uint32_t link, uint32_t symbol)
{
	void *cells = f->link[link].cells;

	for (uint32_t i = 0; i < f->k; i++) {
		struct ink_kbf_cell old = ink_kbf_cell_get(f, e, cells, p->at[i]);
		struct ink_kbf_cell new = joined(f, e, old, (struct ink_kbf_cell){1, f->dict->codes[symbol]});

		f->stuck += new.count == f->stuck_at &&old.count != f->stuck_at;
		ink_kbf_cell_put(f, e, cells, p->at[i], new);
	}
}

INK_PER_ENCODING void take(struct ink_kbf *f, enum ink_kbf_encoding e, const struct ink_kbf_place *p,
			   uint32_t link, uint32_t symbol)
{
	void *cells = f->link[link].cells;

	for (uint32_t i = 0; i < f->k; i++)
		ink_kbf_cell_put(f, e, cells, p->at[i],
				 without(f, e, ink_kbf_cell_get(f, e, cells, p->at[i]),
					 (struct ink_kbf_cell){1, f->dict->codes[symbol]}));
}

INK_PER_ENCODING void exchange(struct ink_kbf *f, enum ink_kbf_encoding e, const struct ink_kbf_place *p,
			       struct ink_kbf_reading old, uint32_t symbol)
{
	struct ink_power_sums change =
		ink_encoded_subtract(f->dict, e, f->dict->codes[symbol], f->dict->codes[old.symbol]);
	void *cells = f->link[old.link].cells;

	for (uint32_t i = 0; i < f->k; i++) {
		struct ink_kbf_cell c = ink_kbf_cell_get(f, e, cells, p->at[i]);

		c.sums = ink_encoded_add(f->dict, e, c.sums, change);
		ink_kbf_cell_put(f, e, cells, p->at[i], c);
	}
}

void ink_kbf_put(struct ink_kbf *f, const struct ink_kbf_place *p, uint32_t link, uint32_t symbol)
{
	if (f->encoding == INK_KBF_POWER_SUMS)
		put(f, INK_KBF_POWER_SUMS, p, link, symbol);
	else if (f->encoding == INK_KBF_POWER_SUMS_WIDE)
		put(f, INK_KBF_POWER_SUMS_WIDE, p, link, symbol);
	else
		put(f, INK_KBF_GREEDY, p, link, symbol);
	f->link[link].keys++;
}

void ink_kbf_take(struct ink_kbf *f, const struct ink_kbf_place *p, uint32_t link, uint32_t symbol)
{
	if (f->encoding == INK_KBF_POWER_SUMS)
		take(f, INK_KBF_POWER_SUMS, p, link, symbol);
	else if (f->encoding == INK_KBF_POWER_SUMS_WIDE)
		take(f, INK_KBF_POWER_SUMS_WIDE, p, link, symbol);
	else
		take(f, INK_KBF_GREEDY, p, link, symbol);
	f->link[link].keys--;
}

void ink_kbf_exchange(struct ink_kbf *f, const struct ink_kbf_place *p, struct ink_kbf_reading old,
		      uint32_t symbol)
{
	if (f->encoding == INK_KBF_POWER_SUMS)
		exchange(f, INK_KBF_POWER_SUMS, p, old, symbol);
	else if (f->encoding == INK_KBF_POWER_SUMS_WIDE)
		exchange(f, INK_KBF_POWER_SUMS_WIDE, p, old, symbol);
	else
		exchange(f, INK_KBF_GREEDY, p, old, symbol);
}

/*
 * Odd, so the product differs if one cell does. Retries of waiting keys compute
 * an imprint more often than they read a key, so it takes one multiplication a cell.
 */
#define IMPRINT_FACTOR 0x9e3779b97f4a7c15ull

INK_PER_ENCODING uint64_t imprint_of(const struct ink_kbf *f, enum ink_kbf_encoding e,
				     const struct ink_kbf_place *p)
{
	uint64_t imprint = 0;

	for (uint32_t link = 0; link < f->links; link++)
		for (uint32_t i = 0; i < f->k; i++)
			imprint = (imprint + ink_kbf_cell_word(e, f->link[link].cells, p->at[i])) *
				  IMPRINT_FACTOR;
	return imprint ? imprint : 1;
}

uint64_t ink_kbf_imprint(const struct ink_kbf *f, const struct ink_kbf_place *p)
{
	if (f->encoding == INK_KBF_POWER_SUMS_WIDE)
		return imprint_of(f, INK_KBF_POWER_SUMS_WIDE, p);
	return imprint_of(f, INK_KBF_POWER_SUMS, p);
}

/* ------------------------------------------------------------------- whole links */

INK_PER_ENCODING uint64_t add_all(const struct ink_kbf *f, enum ink_kbf_encoding e, void *to,
				  const void *from)
{
	uint64_t stuck = 0;

	for (uint64_t i = 0; i < ink_kbf_cells(f); i++) {
		struct ink_kbf_cell a = ink_kbf_cell_get(f, e, to, i), b = ink_kbf_cell_get(f, e, from, i);
		struct ink_kbf_cell sum = joined(f, e, a, b);

		stuck += sum.count == f->stuck_at && a.count != f->stuck_at;
		ink_kbf_cell_put(f, e, to, i, sum);
	}
	return stuck;
}

INK_PER_ENCODING void subtract_all(const struct ink_kbf *f, enum ink_kbf_encoding e, void *to,
				   const void *from)
{
	for (uint64_t i = 0; i < ink_kbf_cells(f); i++)
		ink_kbf_cell_put(
			f, e, to, i,
			without(f, e, ink_kbf_cell_get(f, e, to, i), ink_kbf_cell_get(f, e, from, i)));
}

INK_PER_ENCODING struct ink_kbf_scan scan_all(const struct ink_kbf *f, enum ink_kbf_encoding e,
					      const void *cells)
{
	uint32_t prime = e == INK_KBF_GREEDY ? UINT32_MAX : f->dict->field.p;
	struct ink_kbf_scan scan = {0, 0};

	for (uint64_t i = 0; i < ink_kbf_cells(f); i++) {
		struct ink_kbf_cell c = ink_kbf_cell_get(f, e, cells, i);

		scan.stuck += c.count == f->stuck_at;
		scan.is_beyond |= c.sums.s1 >= prime || c.sums.s2 >= prime;
	}
	return scan;
}

struct ink_kbf_scan ink_kbf_link_scan(const struct ink_kbf *f, const struct ink_kbf_link *link)
{
	if (f->encoding == INK_KBF_POWER_SUMS)
		return scan_all(f, INK_KBF_POWER_SUMS, link->cells);
	if (f->encoding == INK_KBF_POWER_SUMS_WIDE)
		return scan_all(f, INK_KBF_POWER_SUMS_WIDE, link->cells);
	return scan_all(f, INK_KBF_GREEDY, link->cells);
}

uint64_t ink_kbf_link_add(const struct ink_kbf *f, struct ink_kbf_link *to, const struct ink_kbf_link *from)
{
	to->keys += from->keys;
	if (f->encoding == INK_KBF_POWER_SUMS)
		return add_all(f, INK_KBF_POWER_SUMS, to->cells, from->cells);
	if (f->encoding == INK_KBF_POWER_SUMS_WIDE)
		return add_all(f, INK_KBF_POWER_SUMS_WIDE, to->cells, from->cells);
	return add_all(f, INK_KBF_GREEDY, to->cells, from->cells);
}

void ink_kbf_link_subtract(const struct ink_kbf *f, struct ink_kbf_link *to, const struct ink_kbf_link *from)
{
	to->keys -= from->keys;
	if (f->encoding == INK_KBF_POWER_SUMS)
		subtract_all(f, INK_KBF_POWER_SUMS, to->cells, from->cells);
	else if (f->encoding == INK_KBF_POWER_SUMS_WIDE)
		subtract_all(f, INK_KBF_POWER_SUMS_WIDE, to->cells, from->cells);
	else
		subtract_all(f, INK_KBF_GREEDY, to->cells, from->cells);
}

struct ink_kbf_cell ink_kbf_cell_at(const struct ink_kbf *f, const struct ink_kbf_link *link, uint64_t i)
{
	if (f->encoding == INK_KBF_POWER_SUMS)
		return ink_kbf_cell_get(f, INK_KBF_POWER_SUMS, link->cells, i);
	if (f->encoding == INK_KBF_POWER_SUMS_WIDE)
		return ink_kbf_cell_get(f, INK_KBF_POWER_SUMS_WIDE, link->cells, i);
	return ink_kbf_cell_get(f, INK_KBF_GREEDY, link->cells, i);
}

struct ink_kbf_cell ink_kbf_cell_difference(const struct ink_kbf *f, struct ink_kbf_cell a,
					    struct ink_kbf_cell b)
{
	return f->encoding == INK_KBF_GREEDY ? without(f, INK_KBF_GREEDY, a, b)
					     : without(f, INK_KBF_POWER_SUMS, a, b);
}
