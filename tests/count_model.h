/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a counting set must answer, and programs that hold one against it.
 *
 * The model is written from docs/format.md and docs/counting.md, not from the
 * library: a d-left filter is nothing but a count for every value S, a
 * standard one a count for every counter, and both stick at the limit. So a
 * model of few values knows every answer exactly; only whether there is room
 * it does not know. Besides, the program counts how often each item was added.
 * As long as no item is removed that is not there, no count is below that truth.
 *
 * A program is a string of bytes: the first choose kind and geometry, the
 * others are calls on two sets of the same geometry.
 */
#ifndef INKLING_TESTS_COUNT_MODEL_H
#define INKLING_TESTS_COUNT_MODEL_H

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <inkling/count.h>

#include "tests/random.h"

__extension__ typedef unsigned __int128 wide;

enum { MODEL_VALUES = 1 << 14 };

struct model {
	enum ink_count_kind kind;
	struct ink_count_geometry g;
	uint32_t limit;
	uint64_t items;
	uint32_t counts[MODEL_VALUES]; /* by value of S, or by counter */
};

static inline void model_begin(struct model *m, enum ink_count_kind kind, const struct ink_count_geometry *g)
{
	memset(m, 0, sizeof *m);
	m->kind = kind;
	m->g = *g;
	m->limit = (1u << g->counter_bits) - 1;
}

/* The value of an item: S = q 2^f + r. */
static inline uint64_t model_value(const struct model *m, uint64_t id)
{
	wide x = (wide)id * m->g.b;

	return (uint64_t)(x >> 64) << m->g.f | (uint64_t)x >> (64 - m->g.f);
}

static inline uint64_t model_mix(uint64_t x)
{
	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
	x = (x ^ x >> 27) * 0x94d049bb133111eb;
	return x ^ x >> 31;
}

/* Counter i of the item. */
static inline uint64_t model_counter(const struct model *m, uint64_t id, uint32_t i)
{
	uint64_t begin = i * m->g.m / m->g.k, end = (i + 1) * m->g.m / m->g.k;
	uint64_t pair = model_mix(id + i / 2 * 0x9e3779b97f4a7c15);

	return begin + ((i % 2 ? pair >> 32 : (uint32_t)pair) * (end - begin) >> 32);
}

static inline uint32_t model_places(const struct model *m)
{
	return m->kind == INK_COUNT_DLEFT ? 1 : m->g.k;
}

static inline uint32_t *model_place(struct model *m, uint64_t id, uint32_t i)
{
	return &m->counts[m->kind == INK_COUNT_DLEFT ? model_value(m, id) : model_counter(m, id, i)];
}

static inline uint32_t model_count(struct model *m, uint64_t id)
{
	uint32_t least = m->limit;

	for (uint32_t i = 0; i < model_places(m); i++)
		least = *model_place(m, id, i) < least ? *model_place(m, id, i) : least;
	return least;
}

static inline void model_add(struct model *m, uint64_t id)
{
	for (uint32_t i = 0; i < model_places(m); i++)
		*model_place(m, id, i) += *model_place(m, id, i) < m->limit;
	m->items++;
}

static inline int model_remove(struct model *m, uint64_t id)
{
	uint32_t count = model_count(m, id);

	if (count == 0 || count == m->limit)
		return count ? -EOVERFLOW : -ENOENT;
	for (uint32_t i = 0; i < model_places(m); i++)
		*model_place(m, id, i) -= *model_place(m, id, i) < m->limit;
	m->items -= m->items > 0;
	return 0;
}

static inline void model_merge(struct model *into, const struct model *from)
{
	for (unsigned i = 0; i < MODEL_VALUES; i++) {
		into->counts[i] += from->counts[i];
		into->counts[i] = into->counts[i] < into->limit ? into->counts[i] : into->limit;
	}
	into->items += from->items;
}

/* ------------------------------------------------------------------ programs */

enum { MODEL_ITEMS = 96, MODEL_SETS = 2 };

struct count_program {
	const uint8_t *bytes;
	size_t size, at;
	struct ink_count *sets[MODEL_SETS];
	struct model models[MODEL_SETS];
	uint32_t truth[MODEL_SETS][MODEL_ITEMS]; /* how often the item was properly added */
	int improper[MODEL_SETS];                /* an item was removed that was not there */
	uint64_t refused, strangers, held;       /* in set 0, without merging */
	unsigned calls;
	const char *wrong; /* the first thing that did not hold */
};

static inline void count_must(struct count_program *p, int holds, const char *what)
{
	if (!holds && !p->wrong)
		p->wrong = what;
}

static inline uint8_t count_byte(struct count_program *p)
{
	return p->at < p->size ? p->bytes[p->at++] : 0;
}

/* Small enough that items meet, and that there is not always room. */
static inline struct ink_count_options count_choose(struct count_program *p)
{
	struct ink_count_options o = {.size = sizeof o, .items = 1, .seed = 1};
	uint8_t kind = count_byte(p), x = count_byte(p), y = count_byte(p), z = count_byte(p);

	o.geometry.counter_bits = 2 + z % 3;
	if (kind % 2) {
		o.kind = INK_COUNT_STANDARD;
		o.geometry.k = 1 + x % 9;
		o.geometry.m = o.geometry.k + y;
		return o;
	}
	o.kind = INK_COUNT_DLEFT;
	o.geometry.d = 1 + x % 4;
	o.geometry.b = 1 + y % 31;
	o.geometry.h = 1 + x / 4 % 8;
	o.geometry.f = 2 + z / 3 % 7;
	return o;
}

/* Only an item that has no cell can be refused, and then d buckets of h cells are full. */
static inline void count_refused(struct count_program *p, const struct model *m, uint32_t counted)
{
	unsigned taken = 0;

	for (unsigned i = 0; i < MODEL_VALUES; i++)
		taken += m->counts[i] != 0;
	count_must(p, m->kind == INK_COUNT_DLEFT && counted == 0, "an item that has a cell was refused");
	count_must(p, taken >= m->g.d * m->g.h, "an item was refused though there is room");
}

static inline void count_added(struct count_program *p, unsigned set, unsigned item, int error)
{
	struct model *m = &p->models[set];
	uint64_t id = id_number(item);

	if (error == -ENOSPC) {
		count_refused(p, m, model_count(m, id));
		p->refused += set == 0;
		return;
	}
	count_must(p, error == 0, "an add failed");
	model_add(m, id);
	p->truth[set][item]++;
}

static inline void count_removed(struct count_program *p, unsigned set, unsigned item, int error)
{
	count_must(p, error == model_remove(&p->models[set], id_number(item)),
		   "a remove says other than it should");
	p->strangers += set == 0 && error == -ENOENT;
	p->held += set == 0 && error == -EOVERFLOW;
	if (error == 0 && p->truth[set][item] == 0)
		p->improper[set] = 1;
	p->truth[set][item] -= error == 0 && p->truth[set][item] > 0;
}

static inline void count_asked(struct count_program *p, unsigned set, unsigned item)
{
	struct model *m = &p->models[set];
	uint32_t count = ink_count_count(p->sets[set], id_number(item)), truth = p->truth[set][item];

	count_must(p, count == model_count(m, id_number(item)), "a count is not what it should be");
	count_must(p, ink_count_contains(p->sets[set], id_number(item)) == (count != 0),
		   "contains and count differ");
	if (!p->improper[set])
		count_must(p, count >= (truth < m->limit ? truth : m->limit), "a count is below the truth");
}

/* A verb for up to 64 items at once. */
static inline void count_batch(struct count_program *p, unsigned set)
{
	uint8_t what = count_byte(p), items[64], found[64];
	uint64_t ids[64];
	int errors[64];
	struct ink_count_batch b = {.n = what / 4, .ids = ids, .found = found, .errors = errors};
	int result = 0, first = 0;

	for (size_t i = 0; i < b.n; i++) {
		items[i] = count_byte(p) % MODEL_ITEMS;
		ids[i] = id_number(items[i]);
	}
	if (what % 4 == 0)
		ink_count_contains_batch(p->sets[set], &b);
	else if (what % 4 == 1)
		result = ink_count_remove_batch(p->sets[set], &b);
	else
		result = ink_count_add_batch(p->sets[set], &b);
	for (size_t i = 0; i < b.n; i++) {
		first = first || what % 4 == 0 ? first : errors[i];
		if (what % 4 == 0)
			count_must(p, found[i] == (model_count(&p->models[set], ids[i]) != 0),
				   "a batch finds other items");
		else if (what % 4 == 1)
			count_removed(p, set, items[i], errors[i]);
		else
			count_added(p, set, items[i], errors[i]);
	}
	count_must(p, result == first, "a batch does not return its first error");
}

static inline void count_merged(struct count_program *p, unsigned into, unsigned from)
{
	int error = ink_count_merge(p->sets[into], p->sets[from], NULL);

	if (error == -ENOSPC && p->models[into].kind == INK_COUNT_DLEFT)
		return;
	count_must(p, error == 0, "a merge failed");
	model_merge(&p->models[into], &p->models[from]);
	for (unsigned i = 0; i < MODEL_ITEMS; i++)
		p->truth[into][i] += p->truth[from][i];
	p->improper[into] |= p->improper[from];
}

static inline void count_all_asked(struct count_program *p, unsigned set)
{
	struct ink_count_stats s = {.size = sizeof s};
	struct model *m = &p->models[set];
	unsigned taken = 0, stuck = 0;

	for (unsigned i = 0; i < MODEL_ITEMS; i++)
		count_asked(p, set, i);
	for (unsigned i = 0; i < MODEL_VALUES; i++) {
		taken += m->counts[i] != 0;
		stuck += m->counts[i] == m->limit;
	}
	ink_count_stats(p->sets[set], &s);
	count_must(p, s.items == m->items && s.taken == taken && s.stuck == stuck, "the stats are wrong");
	count_must(p, ink_count_check(p->sets[set], NULL) == 0, "the set is unsound");
	if (set == 0)
		count_must(p, s.refused == p->refused && s.strangers == p->strangers && s.held == p->held,
			   "failures were not counted");
}

static inline void count_call(struct count_program *p)
{
	uint8_t what = count_byte(p), item = count_byte(p) % MODEL_ITEMS;
	unsigned set = what / 8 % MODEL_SETS;

	switch (what % 8) {
	case 0:
	case 1:
	case 2:
		count_added(p, set, item, ink_count_add(p->sets[set], id_number(item)));
		break;
	case 3:
	case 4:
		count_removed(p, set, item, ink_count_remove(p->sets[set], id_number(item)));
		break;
	case 5:
		count_batch(p, set);
		break;
	default:
		if (what < 240)
			break;
		count_merged(p, set, item % MODEL_SETS);
	}
	count_asked(p, set, item);
	p->calls++;
}

/* NULL, or what does not hold. */
static inline const char *count_program_run(struct count_program *p, const uint8_t *bytes, size_t size)
{
	struct ink_count_options o;

	memset(p, 0, sizeof *p);
	p->bytes = bytes;
	p->size = size;
	o = count_choose(p);
	for (unsigned set = 0; set < MODEL_SETS; set++) {
		p->sets[set] = ink_count_create(&o, NULL);
		if (!p->sets[set])
			return "the options were refused";
		model_begin(&p->models[set], o.kind, &o.geometry);
	}
	while (p->at < p->size && !p->wrong)
		count_call(p);
	for (unsigned set = 0; set < MODEL_SETS; set++) {
		count_all_asked(p, set);
		ink_count_free(p->sets[set]);
	}
	return p->wrong;
}

#endif
