/* SPDX-License-Identifier: BSD-2-Clause */
/* The public calls of counting sets: making and freeing, and the way from a call to its kind. */
#include <errno.h>

#include "base/error.h"
#include "base/file.h"
#include "base/grow.h"
#include "base/secret.h"
#include "base/siphash.h"
#include "count/set.h"

/* --------------------------------------------------------------- making, freeing */

struct ink_count *ink_count_alloc(const struct ink_allocator *a)
{
	struct ink_count *c = ink_alloc(a, sizeof *c);

	if (c)
		c->allocator = *a;
	return c;
}

void ink_count_attach(struct ink_count *c)
{
	c->ops = c->plan.kind == INK_COUNT_DLEFT ? ink_count_dleft : ink_count_standard;
	c->body_bytes = c->plan.bytes - sizeof *c;
	c->cells = ink_count_cells(&c->plan);
	c->cell_bits = ink_count_cell_bits(&c->plan);
	c->cell_mask = (1ull << c->cell_bits) - 1;
	c->limit = c->plan.limit;
	c->ops->shape(c);
}

static int build(struct ink_count *c, const struct ink_count_options *o, struct ink_why *why)
{
	int error = ink_count_find_plan(o, &c->plan, why);

	if (!error)
		error = ink_secret_make(o->seed, c->secret, why);
	if (error)
		return error;
	ink_count_attach(c);
	c->body = ink_alloc(&c->allocator, c->body_bytes);
	return c->body ? 0
		       : ink_fail(why, -ENOMEM, "no memory for %llu bytes",
				  (unsigned long long)c->body_bytes);
}

struct ink_count *ink_count_create(const struct ink_count_options *options, struct ink_why *why)
{
	struct ink_count_options o;
	struct ink_allocator a;
	struct ink_count *c = NULL;
	int error = ink_count_read_options(&o, options, why);

	if (!error)
		error = ink_allocator_copy(&a, o.allocator, why);
	if (!error)
		c = ink_count_alloc(&a);
	if (!error)
		error = c ? build(c, &o, why) : ink_fail(why, -ENOMEM, "no memory for a counting set");
	if (!error)
		return c;
	ink_count_free(c);
	errno = -error;
	return NULL;
}

void ink_count_release_body(struct ink_count *c)
{
	ink_file_release(&c->allocator, &(struct ink_body){c->body, c->body_bytes, c->is_mapped});
	c->body = NULL;
	c->is_mapped = 0;
}

void ink_count_free(struct ink_count *c)
{
	struct ink_allocator a;

	if (!c)
		return;
	ink_count_release_body(c);
	a = c->allocator;
	ink_release(&a, c, sizeof *c);
}

/* 0, or -ENOMEM. */
static int copy_body(struct ink_count *c, const struct ink_count *from)
{
	c->body = ink_alloc_unset(&c->allocator, from->body_bytes);
	if (!c->body)
		return -ENOMEM;
	memcpy(c->body, from->body, from->body_bytes);
	return 0;
}

/* The struct as it is, but for what belongs to the other's memory. */
static struct ink_count *copy_struct(const struct ink_count *from, const struct ink_allocator *a)
{
	struct ink_count *c = ink_count_alloc(a);

	if (c) {
		*c = *from;
		c->allocator = *a;
		c->body = NULL;
		c->is_mapped = 0;
	}
	return c;
}

struct ink_count *ink_count_copy(const struct ink_count *set, const struct ink_allocator *allocator,
				 struct ink_why *why)
{
	struct ink_allocator a;
	struct ink_count *c = NULL;
	int error = ink_allocator_copy(&a, allocator, why);

	if (!error) {
		c = copy_struct(set, &a);
		if (!c || copy_body(c, set))
			error = ink_fail(why, -ENOMEM, "no memory for a copy of %llu bytes",
					 (unsigned long long)ink_count_bytes(set));
	}
	if (!error)
		return c;
	ink_count_free(c);
	errno = -error;
	return NULL;
}

/* ------------------------------------------------------------------------ ids */

uint64_t ink_count_id(const struct ink_count *c, const void *item, size_t length)
{
	return ink_siphash13(c->secret, item, length);
}

void ink_count_id_batch(const struct ink_count *c, const struct ink_keys *keys, uint64_t *ids)
{
	ink_secret_ids(c->secret, keys, ids);
}

/* ------------------------------------------------------------------- the verbs */

int ink_count_add(struct ink_count *c, uint64_t id)
{
	return c->ops->add(c, id);
}

int ink_count_remove(struct ink_count *c, uint64_t id)
{
	return c->ops->remove(c, id);
}

int ink_count_contains(const struct ink_count *c, uint64_t id)
{
	return c->ops->count(c, id) != 0;
}

uint32_t ink_count_count(const struct ink_count *c, uint64_t id)
{
	return c->ops->count(c, id);
}

int ink_count_add_batch(struct ink_count *c, const struct ink_count_batch *batch)
{
	return c->ops->add_batch(c, batch);
}

int ink_count_remove_batch(struct ink_count *c, const struct ink_count_batch *batch)
{
	return c->ops->remove_batch(c, batch);
}

void ink_count_contains_batch(const struct ink_count *c, const struct ink_count_batch *batch)
{
	c->ops->contains_batch(c, batch);
}

/* --------------------------------------------------------------------- merging */

static int is_alike(const struct ink_count *a, const struct ink_count *b)
{
	const struct ink_count_geometry *g = &a->plan.geometry, *h = &b->plan.geometry;

	return a->plan.kind == b->plan.kind && g->d == h->d && g->b == h->b && g->h == h->h && g->f == h->f &&
	       g->m == h->m && g->k == h->k && g->counter_bits == h->counter_bits;
}

int ink_count_merge(struct ink_count *into, const struct ink_count *from, struct ink_why *why)
{
	int error;

	if (!is_alike(into, from))
		return ink_fail(why, -EINVAL, "merge: the two sets are not of one kind and geometry");
	if (memcmp(into->secret, from->secret, sizeof into->secret) != 0)
		return ink_fail(why, -EINVAL,
				"merge: the two sets have different secrets, so an item has two ids");
	error = into->ops->merge(into, from);
	if (error == -ENOSPC)
		return ink_fail(why, error, "merge: the buckets have no room for the items of both");
	if (error)
		return ink_fail(why, error, "merge: no memory for %llu bytes",
				(unsigned long long)into->body_bytes);
	into->items +=
		from->items < COUNT_MOST_ITEMS - into->items ? from->items : COUNT_MOST_ITEMS - into->items;
	return 0;
}

/* --------------------------------------------------------------------- looking */

uint64_t ink_count_bytes(const struct ink_count *c)
{
	return sizeof *c + c->body_bytes;
}

enum { FIRST_STATS = 88 }; /* bytes of the struct's first version */

int ink_count_stats(const struct ink_count *c, struct ink_count_stats *stats)
{
	static const struct ink_struct form = {"stats", FIRST_STATS, sizeof *stats};
	struct ink_count_stats full = {.bytes = ink_count_bytes(c),
				       .items = c->items,
				       .cells = c->cells,
				       .limit = c->limit,
				       .error = c->ops->error(c),
				       .refused = c->refused,
				       .strangers = c->strangers,
				       .held = c->held};

	for (uint64_t i = 0; i < c->cells; i++) {
		uint64_t counter = ink_count_get(c, i) & c->limit;

		full.taken += counter != 0;
		full.stuck += counter == c->limit;
	}
	return ink_struct_write(&form, stats, &full, NULL);
}

/* The bits behind the last cell, which no call ever writes. */
static int has_clean_end(const struct ink_count *c)
{
	uint64_t bits = c->cells * c->cell_bits;

	if (bits % 8 && c->body[bits / 8] >> bits % 8)
		return 0;
	for (uint64_t i = (bits + 7) / 8; i < c->body_bytes; i++)
		if (c->body[i])
			return 0;
	return 1;
}

int ink_count_check(const struct ink_count *c, struct ink_why *why)
{
	const char *wrong = c->ops->check(c);

	if (!wrong && !has_clean_end(c))
		wrong = "what lies behind the last cell is not 0";
	return wrong ? ink_fail(why, -EUCLEAN, "%s", wrong) : 0;
}
