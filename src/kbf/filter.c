/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The verbs. Each searches the side table first, then reads the cells. docs/kbf.md
 * has a table of what each verb does in each situation.
 *
 * A change that needs the old value is deferred in the side table if the key
 * reads unknown. Every call that changed something retries one waiting key, in
 * turn, so no call takes long.
 *
 *     waiting            reads ABSENT                 reads VALUE           reads UNKNOWN
 *     NEW, symbol        stored                       stays                 stays
 *     STORED, symbol     dropped, a stray             exchanged             stays
 *     STORED, gone       dropped, a stray             taken out             stays
 *     MAYBE, symbol      stored                       exchanged             stays
 *     MAYBE, gone        dropped                      taken out             stays
 *
 * NEW reads VALUE: by the caller's word the key was not stored, so the value is a
 * false positive, and exchanging it would damage other keys. The key stays in the
 * side table until it reads absent.
 *
 * STORED reads ABSENT: a stored key never does, so the caller updated or deleted a
 * key that was never inserted. Had the key been readable, that call would have
 * found nothing, so the change is dropped.
 */
#include <errno.h>
#include <string.h>

#include "base/error.h"
#include "base/grow.h"
#include "kbf/verbs.h"

/* ----------------------------------------------------------------- life */

static int build(struct ink_kbf *f, const struct ink_kbf_options *o, struct ink_why *why)
{
	struct ink_kbf_plan plan;
	int error;

	if (!o->dict)
		return ink_fail(why, -EINVAL, "options: no dictionary is given");
	error = ink_kbf_find_plan(o, &plan, why);
	if (error)
		return error;
	ink_kbf_shape(f, o, &plan);
	error = ink_kbf_link_make(f, &f->link[0]);
	if (error)
		return ink_fail(why, error, "no memory for %llu bytes",
				(unsigned long long)ink_kbf_link_bytes(f));
	f->links = 1;
	return 0;
}

/* All but the cells. */
void ink_kbf_shape(struct ink_kbf *f, const struct ink_kbf_options *o, const struct ink_kbf_plan *plan)
{
	uint64_t pending = 1024 + plan->keys / 16;

	f->dict = ink_dict_share(o->dict);
	f->encoding = o->dict->encoding;
	f->decoding = o->decoding ? o->decoding : INK_KBF_JOINT;
	f->counter_bits = o->counter_bits ? o->counter_bits : 4;
	f->stuck_at = (1u << f->counter_bits) - 1;
	f->k = plan->k;
	f->part = plan->cells / plan->k;
	f->symbols = ink_dict_fitting(o->dict, f->encoding == INK_KBF_GREEDY ? 32 - f->counter_bits : 64);
	f->planned = plan->keys;
	f->grow_at = o->grow_at;
	f->pending.most =
		o->pending ? o->pending : (uint32_t)(pending < UINT32_MAX / 4 ? pending : UINT32_MAX / 4);
}

struct ink_kbf *ink_kbf_alloc(const struct ink_allocator *a)
{
	struct ink_kbf *f = ink_alloc(a, sizeof *f);

	if (f) {
		f->allocator = *a;
		f->pending.allocator = &f->allocator;
	}
	return f;
}

struct ink_kbf *ink_kbf_create(const struct ink_kbf_options *options, struct ink_why *why)
{
	struct ink_kbf_options o;
	struct ink_allocator a;
	struct ink_kbf *f = NULL;
	int error = ink_kbf_read_options(&o, options, why);

	if (!error)
		error = ink_allocator_copy(&a, o.allocator, why);
	if (!error) {
		f = ink_kbf_alloc(&a);
		error = f ? build(f, &o, why) : ink_fail(why, -ENOMEM, "no memory for a filter");
	}
	if (!error)
		return f;
	ink_kbf_free(f);
	errno = -error;
	return NULL;
}

void ink_kbf_free(struct ink_kbf *f)
{
	struct ink_allocator a;

	if (!f)
		return;
	a = f->allocator;
	for (uint32_t i = 0; i < f->links; i++)
		ink_kbf_link_free(f, &f->link[i]);
	ink_file_release(&a, &f->body);
	ink_pending_free(&f->pending);
	ink_kbf_dict_free(f->dict);
	ink_release(&a, f, sizeof *f);
}

static int copy_links(struct ink_kbf *f, const struct ink_kbf *from)
{
	for (uint32_t i = 0; i < from->links; i++) {
		struct ink_kbf_link *link = &f->link[i];

		link->owned = 1;
		link->keys = from->link[i].keys;
		link->cells = ink_alloc_unset(&f->allocator, ink_kbf_link_bytes(from));
		if (!link->cells)
			return -ENOMEM;
		memcpy(link->cells, from->link[i].cells, ink_kbf_link_bytes(from));
		f->links++;
	}
	return 0;
}

/* Copies the struct, and what has memory of its own: links and waiting keys. */
static int fill_copy(struct ink_kbf *f, const struct ink_kbf *from)
{
	const struct ink_allocator a = f->allocator;
	int error;

	*f = *from;
	f->allocator = a;
	f->body = (struct ink_body){0};
	f->links = 0;
	f->pending = (struct ink_pending){.allocator = &f->allocator, .most = from->pending.most};
	ink_dict_share(f->dict);
	error = copy_links(f, from);
	if (!error)
		error = ink_pending_add_all(&f->pending, &from->pending);
	f->pending.next = from->pending.next;
	return error;
}

struct ink_kbf *ink_kbf_copy(const struct ink_kbf *filter, const struct ink_allocator *allocator,
			     struct ink_why *why)
{
	struct ink_allocator a;
	struct ink_kbf *f = NULL;
	int error = ink_allocator_copy(&a, allocator, why);

	if (!error) {
		f = ink_kbf_alloc(&a);
		if (!f || fill_copy(f, filter))
			error = ink_fail(why, -ENOMEM, "no memory for a copy of %llu bytes",
					 (unsigned long long)ink_kbf_bytes(filter));
	}
	if (!error)
		return f;
	ink_kbf_free(f);
	errno = -error;
	return NULL;
}

struct ink_kbf_dict *ink_kbf_dict_of(const struct ink_kbf *f)
{
	return f->dict;
}

/* ------------------------------------------------------------------ queries */

static enum ink_kbf_answer answer_with(const struct ink_kbf *f, enum ink_kbf_answer answer, uint32_t symbol,
				       struct ink_bytes *value)
{
	if (value)
		*value = answer == INK_KBF_VALUE ? f->dict->values[symbol] : (struct ink_bytes){NULL, 0};
	return answer;
}

enum ink_kbf_answer ink_kbf_query_at(const struct ink_kbf *f, const struct ink_kbf_place *p,
				     struct ink_bytes key, struct ink_bytes *value)
{
	const struct ink_pending_entry *e = ink_pending_find(&f->pending, p->id, key);
	struct ink_kbf_reading r;

	if (e)
		return answer_with(f, e->symbol == INK_PENDING_GONE ? INK_KBF_ABSENT : INK_KBF_VALUE,
				   e->symbol, value);
	r = ink_kbf_read(f, p);
	return answer_with(f, r.answer, r.symbol, value);
}

enum ink_kbf_answer ink_kbf_query(const struct ink_kbf *f, struct ink_bytes key, struct ink_bytes *value)
{
	struct ink_kbf_place p = ink_kbf_place_of(f, ink_kbf_id(f, key));

	return ink_kbf_query_at(f, &p, key, value);
}

/* ----------------------------------------------------------- retries of waiting keys */

static uint32_t newest(const struct ink_kbf *f)
{
	return f->links - 1;
}

/* Without memory for another link, the newest takes more keys than planned. */
static void grow_if_full(struct ink_kbf *f)
{
	if (f->grow_at > 0 && (double)f->link[newest(f)].keys >= f->grow_at * (double)f->planned)
		ink_kbf_grow(f);
}

static void store(struct ink_kbf *f, const struct ink_kbf_place *p, uint32_t symbol)
{
	grow_if_full(f);
	ink_kbf_put(f, p, newest(f), symbol);
}

static void change(struct ink_kbf *f, const struct ink_kbf_place *p, struct ink_kbf_reading old,
		   uint32_t symbol)
{
	if (symbol == INK_PENDING_GONE)
		ink_kbf_take(f, p, old.link, old.symbol);
	else
		ink_kbf_exchange(f, p, old, symbol);
}

/* As the table at the head of this file says; 1 if the entry is finished. */
static int try_at(struct ink_kbf *f, const struct ink_pending_entry *e, const struct ink_kbf_place *p)
{
	struct ink_kbf_reading r = ink_kbf_read_to_change(f, p);

	if (r.answer == INK_KBF_UNKNOWN || (r.answer == INK_KBF_VALUE && e->claim == INK_CLAIM_NEW))
		return 0;
	if (r.answer == INK_KBF_VALUE)
		change(f, p, r, e->symbol);
	else if (e->claim == INK_CLAIM_STORED)
		f->counters.strays++;
	else if (e->symbol != INK_PENDING_GONE)
		store(f, p, e->symbol);
	f->counters.settled += r.answer == INK_KBF_VALUE || e->claim != INK_CLAIM_STORED;
	return 1;
}

/* Reading such a key is slow, and useless unless one of its cells has changed. */
static int try(struct ink_kbf *f, struct ink_pending_entry *e)
{
	struct ink_kbf_place p = ink_kbf_place_of(f, e->id);
	uint64_t imprint = ink_kbf_imprint(f, &p);

	if (imprint == e->imprint)
		return 0;
	e->imprint = imprint;
	return try_at(f, e, &p);
}

/* When an entry is removed, the last one moves into its place, so the same place is tried next. */
static int retry(struct ink_kbf *f)
{
	struct ink_pending *w = &f->pending;

	if (w->next >= w->count)
		w->next = 0;
	if (!try(f, &w->entries[w->next])) {
		w->next++;
		return 0;
	}
	ink_pending_remove(w, &w->entries[w->next]);
	return 1;
}

void ink_kbf_settle(struct ink_kbf *f)
{
	for (uint32_t failures = 0; failures < f->pending.count;)
		failures = retry(f) ? 0 : failures + 1;
}

/* ----------------------------------------------------------------- changing */

/* Adds a value that has no symbol yet. -ENOSPC only for one that is short enough; the dictionary refuses others. */
static int add_value(struct ink_kbf *f, struct ink_bytes value, uint32_t *symbol)
{
	if (f->dict->count >= f->symbols && value.length <= f->dict->value_length)
		return -ENOSPC;
	return ink_kbf_dict_add(f->dict, value, symbol);
}

/*
 * The value's symbol, which must fit the cells: another filter of the dictionary,
 * with wider sums, may have added more values than these hold. A new value is
 * added last, when nothing else can fail.
 */
static int symbol_for(struct ink_kbf *f, const struct ink_kbf_request *w, uint32_t *symbol)
{
	*symbol = w->symbol;
	if (!w->value)
		return 0;
	if (*symbol == INK_PENDING_GONE && ink_kbf_dict_find(f->dict, *w->value, symbol))
		return add_value(f, *w->value, symbol);
	return *symbol < f->symbols ? 0 : -ENOSPC;
}

static int defer(struct ink_kbf *f, const struct ink_kbf_place *p, const struct ink_kbf_request *w,
		 enum ink_claim claim)
{
	struct ink_pending_entry e = {.id = p->id, .key = w->key, .claim = claim};
	int error = ink_pending_add(&f->pending, &e);
	uint32_t symbol;

	if (error)
		return error;
	error = symbol_for(f, w, &symbol);
	if (error) {
		ink_pending_remove(&f->pending, &f->pending.entries[f->pending.count - 1]);
		return error;
	}
	f->pending.entries[f->pending.count - 1].symbol = symbol;
	f->counters.deferred++;
	return 0;
}

/* A key that waits gets another target. One that was never in the cells is simply dropped when deleted. */
static int retarget(struct ink_kbf *f, struct ink_pending_entry *e, const struct ink_kbf_request *w)
{
	uint32_t symbol;
	int error = symbol_for(f, w, &symbol);

	if (error)
		return error;
	if (symbol == INK_PENDING_GONE && e->claim == INK_CLAIM_NEW)
		ink_pending_remove(&f->pending, e);
	else
		e->symbol = symbol;
	return 0;
}

static int store_new(struct ink_kbf *f, const struct ink_kbf_place *p, const struct ink_kbf_request *w)
{
	uint32_t symbol;
	int error = symbol_for(f, w, &symbol);

	if (!error)
		store(f, p, symbol);
	return error;
}

static int change_old(struct ink_kbf *f, const struct ink_kbf_place *p, const struct ink_kbf_request *w,
		      struct ink_kbf_reading old)
{
	uint32_t symbol;
	int error = symbol_for(f, w, &symbol);

	if (!error)
		change(f, p, old, symbol);
	return error;
}

static int exists(struct ink_kbf *f)
{
	f->counters.exists++;
	return -EEXIST;
}

int ink_kbf_insert_at(struct ink_kbf *f, const struct ink_kbf_place *p, const struct ink_kbf_request *w)
{
	struct ink_pending_entry *e = ink_pending_find(&f->pending, p->id, w->key);
	enum ink_kbf_answer answer;

	if (e)
		return e->symbol == INK_PENDING_GONE ? retarget(f, e, w) : exists(f);
	answer = ink_kbf_read(f, p).answer;
	if (answer == INK_KBF_VALUE)
		return exists(f);
	return answer == INK_KBF_ABSENT ? store_new(f, p, w) : defer(f, p, w, INK_CLAIM_NEW);
}

int ink_kbf_change_at(struct ink_kbf *f, const struct ink_kbf_place *p, const struct ink_kbf_request *w)
{
	struct ink_pending_entry *e = ink_pending_find(&f->pending, p->id, w->key);
	struct ink_kbf_reading r;

	if (e)
		return e->symbol == INK_PENDING_GONE ? -ENOENT : retarget(f, e, w);
	r = ink_kbf_read_to_change(f, p);
	if (r.answer == INK_KBF_ABSENT)
		return -ENOENT;
	return r.answer == INK_KBF_VALUE ? change_old(f, p, w, r) : defer(f, p, w, INK_CLAIM_STORED);
}

static int set_at(struct ink_kbf *f, const struct ink_kbf_place *p, const struct ink_kbf_request *w)
{
	struct ink_pending_entry *e = ink_pending_find(&f->pending, p->id, w->key);
	struct ink_kbf_reading r;

	if (e)
		return retarget(f, e, w);
	r = ink_kbf_read_to_change(f, p);
	if (r.answer == INK_KBF_ABSENT)
		return store_new(f, p, w);
	return r.answer == INK_KBF_VALUE ? change_old(f, p, w, r) : defer(f, p, w, INK_CLAIM_MAYBE);
}

int ink_kbf_call_at(struct ink_kbf *f, const struct ink_kbf_place *p, const struct ink_kbf_request *w,
		    ink_kbf_verb verb)
{
	int error = verb(f, p, w);

	if (!error && f->pending.count)
		retry(f);
	return error;
}

static int call(struct ink_kbf *f, struct ink_bytes key, const struct ink_bytes *value, ink_kbf_verb verb)
{
	const struct ink_kbf_request w = {key, value, INK_PENDING_GONE};
	struct ink_kbf_place p;

	if (ink_kbf_is_too_long(key))
		return -EMSGSIZE;
	p = ink_kbf_place_of(f, ink_kbf_id(f, key));
	return ink_kbf_call_at(f, &p, &w, verb);
}

int ink_kbf_insert(struct ink_kbf *f, struct ink_bytes key, struct ink_bytes value)
{
	return call(f, key, &value, ink_kbf_insert_at);
}

int ink_kbf_update(struct ink_kbf *f, struct ink_bytes key, struct ink_bytes value)
{
	return call(f, key, &value, ink_kbf_change_at);
}

int ink_kbf_set(struct ink_kbf *f, struct ink_bytes key, struct ink_bytes value)
{
	return call(f, key, &value, set_at);
}

int ink_kbf_delete(struct ink_kbf *f, struct ink_bytes key)
{
	return call(f, key, NULL, ink_kbf_change_at);
}

/* ----------------------------------------------------- memory, statistics, checks */

uint64_t ink_kbf_bytes(const struct ink_kbf *f)
{
	uint64_t bytes = sizeof *f + f->body.bytes + f->pending.bytes;

	for (uint32_t i = 0; i < f->links; i++)
		bytes += f->link[i].owned ? ink_kbf_link_bytes(f) : 0;
	return bytes;
}

static void count_pending(const struct ink_kbf *f, struct ink_kbf_stats *s)
{
	s->pending = f->pending.count;
	for (uint32_t i = 0; i < f->pending.count; i++) {
		s->pending_new += f->pending.entries[i].claim == INK_CLAIM_NEW;
		s->pending_deleted += f->pending.entries[i].symbol == INK_PENDING_GONE;
	}
}

static uint64_t keys_of(const struct ink_kbf *f)
{
	uint64_t keys = 0;

	for (uint32_t i = 0; i < f->links; i++)
		keys += f->link[i].keys;
	return keys;
}

static struct ink_kbf_stats all_stats(const struct ink_kbf *f)
{
	double per_key = (double)f->k / (double)ink_kbf_cells(f);
	struct ink_kbf_stats s = {
		.links = f->links,
		.k = f->k,
		.cells = ink_kbf_cells(f),
		.bytes = ink_kbf_bytes(f),
		.keys = keys_of(f),
		.planned_keys = f->planned,
		.load = (double)f->link[newest(f)].keys * per_key,
		.planned_load = (double)f->planned * per_key,
		.stuck = f->stuck,
		.exists = f->counters.exists,
		.deferred = f->counters.deferred,
		.settled = f->counters.settled,
		.strays = f->counters.strays,
	};

	count_pending(f, &s);
	return s;
}

enum { FIRST_STATS = 128 }; /* bytes of the struct's first version */

int ink_kbf_stats(const struct ink_kbf *f, struct ink_kbf_stats *stats)
{
	static const struct ink_struct form = {"stats", FIRST_STATS, sizeof *stats};
	struct ink_kbf_stats all = all_stats(f);

	return ink_struct_write(&form, stats, &all, NULL);
}

/* A part's counts add up to the keys of the link, unless some of them are stuck. */
static const char *check_part(const struct ink_kbf *f, const struct ink_kbf_link *link, uint32_t part,
			      uint64_t *stuck)
{
	uint64_t sum = 0, before = *stuck, from = part * f->part;
	const char *wrong = NULL;

	for (uint64_t i = from; i < from + f->part && !wrong; i++) {
		struct ink_kbf_cell c = ink_kbf_cell_at(f, link, i);

		wrong = ink_kbf_check_cell(f, c);
		sum += c.count;
		*stuck += c.count == f->stuck_at;
	}
	if (!wrong && *stuck == before && sum != link->keys)
		wrong = "the cells hold another number of keys";
	return wrong;
}

int ink_kbf_check(const struct ink_kbf *f, struct ink_why *why)
{
	uint64_t stuck = 0;

	for (uint32_t i = 0; i < f->links; i++)
		for (uint32_t part = 0; part < f->k; part++) {
			const char *wrong = check_part(f, &f->link[i], part, &stuck);

			if (wrong)
				return ink_fail(why, -EUCLEAN, "link %u, part %u: %s", i, part, wrong);
		}
	if (stuck != f->stuck)
		return ink_fail(why, -EUCLEAN, "the number of stuck cells is wrong");
	return 0;
}
