/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Programs: operations on a small kBF, read from bytes, beside an oracle.
 *
 * The first bytes choose encoding, decoding, counters, geometry and whether the
 * program is proper; the others are calls on 64 keys, which share so few cells
 * that everything happens: doubt, false positives, stuck counters, waiting keys.
 * Some calls are batches: the same single calls are made on a copy of the
 * filter, and must have the same results and leave the same filter.
 *
 * A proper program inserts what is not there, and updates and deletes what is.
 * Then after every call every live key must answer its value or "unknown", and
 * when all have been deleted and nothing waits, every cell that is not stuck is
 * empty. An improper one calls anything; what must hold then is that the filter
 * stays sound and that answers about waiting keys are theirs.
 */
#ifndef INKLING_TESTS_KBF_PROGRAM_H
#define INKLING_TESTS_KBF_PROGRAM_H

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "kbf/filter.h"

enum { KEYS = 64, VALUES = 12, NONE = -1 };

struct program {
	const uint8_t *bytes;
	size_t size, at;
	struct ink_kbf *filter;
	struct ink_kbf_dict *dict;
	struct ink_kbf *twin;  /* a copy that gets single calls, during a batch */
	struct ink_kbf *other; /* merged in, until it is subtracted again; its keys are others */
	int merged;
	int proper;
	int live[KEYS]; /* its value, or NONE */
	unsigned calls;
	const char *wrong;
};

static inline void must(struct program *p, int holds, const char *what)
{
	if (!holds && !p->wrong)
		p->wrong = what;
}

static inline uint8_t next_byte(struct program *p)
{
	return p->at < p->size ? p->bytes[p->at++] : 0;
}

/* ------------------------------------------------------------- keys and values */

static inline struct ink_bytes key_of(unsigned i, char text[16])
{
	return (struct ink_bytes){text, (size_t)snprintf(text, 16, "%u", i)};
}

/* Value 0 is the empty string. */
static inline struct ink_bytes value_of(int i)
{
	static const char text[VALUES + 1] = "............";

	return (struct ink_bytes){text, (size_t)i};
}

/* --------------------------------------------------------------- the beginning */

static inline struct ink_kbf *filter_by(struct program *p, const uint8_t choice[5])
{
	struct ink_kbf_options o = {.size = sizeof o,
				    .dict = p->dict,
				    .decoding = INK_KBF_JOINT + choice[1] % 3,
				    .counter_bits = 3 + choice[2] % 2,
				    .keys = 8,
				    .k = 2 + choice[3] % 4,
				    .pending = choice[2] & 4 ? 3 : 64};

	o.cells = o.k * (4 + (uint64_t)choice[4] % 32);
	o.grow_at = choice[2] & 8 ? 2 : 0;
	return ink_kbf_create(&o, NULL);
}

static inline void begin(struct program *p)
{
	uint8_t choice[5];
	struct ink_kbf_dict_options d = {.size = sizeof d, .values = VALUES, .seed = 1};

	for (unsigned i = 0; i < sizeof choice; i++)
		choice[i] = next_byte(p);
	d.encoding = INK_KBF_POWER_SUMS + choice[0] % 3;
	p->proper = !(choice[0] & 128);
	p->dict = ink_kbf_dict_create(&d, NULL);
	p->filter = p->dict ? filter_by(p, choice) : NULL;
	p->other = p->dict ? filter_by(p, choice) : NULL;
	for (unsigned i = 0; i < KEYS; i++)
		p->live[i] = NONE;
	must(p, p->filter && p->other, "a filter is made");
	for (int i = 0; i < VALUES; i++)
		must(p, ink_kbf_dict_add(p->dict, value_of(i), NULL) == 0, "a value is added");
}

/* ----------------------------------------------------------------------- calls */

static inline void do_insert(struct program *p, unsigned key, int value)
{
	char text[16];
	int error = ink_kbf_insert(p->filter, key_of(key, text), value_of(value));

	must(p, error == 0 || error == -EEXIST || error == -ENOSPC, "insert stores, exists, or has no room");
	if (!error)
		p->live[key] = value;
}

static inline void do_change(struct program *p, unsigned key, int value, int set)
{
	char text[16];
	struct ink_bytes k = key_of(key, text);
	int error = value == NONE ? ink_kbf_delete(p->filter, k)
		    : set         ? ink_kbf_set(p->filter, k, value_of(value))
				  : ink_kbf_update(p->filter, k, value_of(value));

	must(p, error == 0 || error == -ENOSPC || (error == -ENOENT && !p->proper),
	     "a live key is changed, or there is no room to wait");
	if (!error)
		p->live[key] = value;
}

enum { MOST_ITEMS = 20 }; /* more than a batch looks ahead */

/* A batch of one verb: inserts, updates, or, if the value is NONE, deletes. */
struct items {
	int inserts, value;
	size_t n;
	char texts[MOST_ITEMS][16];
	unsigned numbers[MOST_ITEMS];
	struct ink_bytes keys[MOST_ITEMS], values[MOST_ITEMS];
	int errors[MOST_ITEMS];
};

static inline int has_item(const struct items *b, unsigned key)
{
	for (size_t i = 0; i < b->n; i++)
		if (b->numbers[i] == key)
			return 1;
	return 0;
}

/* A proper program inserts a key once, and changes only what is there. */
static inline void read_items(struct program *p, struct items *b)
{
	for (unsigned left = next_byte(p) % (MOST_ITEMS + 1); left > 0; left--) {
		unsigned key = next_byte(p) % KEYS;

		if (p->proper && ((p->live[key] == NONE) != b->inserts || has_item(b, key)))
			continue;
		b->numbers[b->n] = key;
		b->keys[b->n] = key_of(key, b->texts[b->n]);
		b->values[b->n++] = value_of(b->value == NONE ? 0 : b->value);
	}
}

static inline int single_call(struct ink_kbf *f, const struct items *b, size_t i)
{
	return b->inserts         ? ink_kbf_insert(f, b->keys[i], b->values[i])
	       : b->value == NONE ? ink_kbf_delete(f, b->keys[i])
				  : ink_kbf_update(f, b->keys[i], b->values[i]);
}

static inline int is_same_filter(const struct ink_kbf *a, const struct ink_kbf *b)
{
	if (a->links != b->links || a->stuck != b->stuck || a->pending.count != b->pending.count ||
	    a->pending.next != b->pending.next || memcmp(&a->counters, &b->counters, sizeof a->counters) != 0)
		return 0;
	for (uint32_t i = 0; i < a->links; i++)
		if (memcmp(a->link[i].cells, b->link[i].cells, ink_kbf_link_bytes(a)) != 0)
			return 0;
	return 1;
}

static inline void check_batch(struct program *p, const struct items *b, int result)
{
	int first = 0;

	for (size_t i = 0; i < b->n; i++) {
		int error = single_call(p->twin, b, i);

		must(p, error == b->errors[i], "an item of a batch has the result of a single call");
		first = first ? first : error;
		if (!error)
			p->live[b->numbers[i]] = b->value;
	}
	must(p, result == first, "a batch returns the first error");
	must(p, is_same_filter(p->filter, p->twin), "a batch leaves the filter as single calls do");
}

static inline void do_batch(struct program *p, int inserts, int value)
{
	struct items items = {.inserts = inserts, .value = value};
	struct ink_kbf_batch b = {0, items.keys, items.values, NULL, items.errors};
	int result;

	read_items(p, &items);
	b.n = items.n;
	p->twin = ink_kbf_copy(p->filter, NULL, NULL);
	must(p, p->twin != NULL, "a filter is copied");
	if (!p->twin)
		return;
	result = inserts         ? ink_kbf_insert_batch(p->filter, &b)
		 : value == NONE ? ink_kbf_delete_batch(p->filter, &b)
				 : ink_kbf_update_batch(p->filter, &b);
	check_batch(p, &items, result);
	ink_kbf_free(p->twin);
}

/* Keys of the other filter have other names. It is filled while it is apart. */
static inline void do_other(struct program *p, uint8_t byte)
{
	char text[16];

	if (p->merged) {
		int error = ink_kbf_subtract(p->filter, p->other, INK_KBF_STUCK_STAY, NULL);

		must(p, error == 0 || error == -EBUSY || error == -EINVAL, "what was added is subtracted");
		p->merged = error != 0;
	} else if (byte & 1) {
		ink_kbf_insert(p->other, key_of(1000 + byte, text), value_of(byte % VALUES));
	} else {
		int error = ink_kbf_merge(p->filter, p->other, NULL);

		must(p, error == 0 || error == -ENOSPC, "filters of one shape merge");
		p->merged = error == 0;
	}
}

static inline void do_whole(struct program *p, uint8_t byte)
{
	switch (byte % 4) {
	case 0:
		ink_kbf_settle(p->filter);
		break;
	case 1:
		ink_kbf_compact(p->filter);
		break;
	case 2:
		if (p->filter->links < 4)
			must(p, ink_kbf_grow(p->filter) == 0, "a link is added");
		break;
	default:
		do_other(p, byte / 4);
	}
}

static inline void step(struct program *p)
{
	uint8_t what = next_byte(p), which = next_byte(p);
	unsigned key = which % KEYS, call = what % 16;
	int value = what / 16 % VALUES, is_live = p->live[key] != NONE;

	p->calls++;
	if (call == 15)
		do_whole(p, which);
	else if (call == 14)
		do_batch(p, which % 3 == 0, which % 3 == 1 ? NONE : value);
	else if (p->proper ? !is_live : call < 7)
		do_insert(p, key, value);
	else if (call < 5)
		do_change(p, key, value, what & 1);
	else
		do_change(p, key, NONE, 0);
}

/* -------------------------------------------------------------------- the oracle */

static inline void check_key(struct program *p, unsigned key)
{
	char text[16];
	struct ink_bytes name = key_of(key, text), value;
	enum ink_kbf_answer answer = ink_kbf_query(p->filter, name, &value);
	const struct ink_pending_entry *e =
		ink_pending_find(&p->filter->pending, ink_kbf_id(p->filter, name), name);
	int right = answer == INK_KBF_VALUE && p->live[key] != NONE && value.length == (size_t)p->live[key];

	if (e)
		must(p, e->symbol == INK_PENDING_GONE ? answer == INK_KBF_ABSENT : answer == INK_KBF_VALUE,
		     "a key that waits is answered exactly");
	if (!p->proper || p->live[key] == NONE)
		return;
	must(p, right || answer == INK_KBF_UNKNOWN, "a live key answers its value, or unknown");
	must(p, right || !e, "a live key that waits answers its value");
}

static inline void check_all(struct program *p)
{
	struct ink_why why = {""};

	for (unsigned i = 0; i < KEYS; i++)
		check_key(p, i);
	must(p, ink_kbf_check(p->filter, &why) == 0, "the filter is sound");
}

/* Deletes until nothing changes any more; what waits for room comes in the next round. */
static inline void delete_all(struct program *p)
{
	for (int more = 1; more;) {
		more = 0;
		for (unsigned i = 0; i < KEYS; i++)
			if (p->live[i] != NONE) {
				do_change(p, i, NONE, 0);
				more |= p->live[i] == NONE;
			}
		ink_kbf_settle(p->filter);
	}
}

static inline void check_empty(struct program *p)
{
	const struct ink_kbf *f = p->filter;

	if (f->pending.count || p->merged || f->stuck)
		return;
	for (unsigned i = 0; i < KEYS; i++)
		if (p->live[i] != NONE)
			return;
	for (uint32_t link = 0; link < f->links; link++) {
		must(p, f->link[link].keys == 0, "no key is left");
		for (uint64_t i = 0; i < ink_kbf_cells(f); i++)
			must(p, ink_kbf_cell_at(f, &f->link[link], i).count == 0, "every cell is empty");
	}
}

/* NULL, or what does not hold. */
static inline const char *program_run(struct program *p, const uint8_t *bytes, size_t size)
{
	*p = (struct program){.bytes = bytes, .size = size};
	begin(p);
	while (!p->wrong && p->at < p->size) {
		step(p);
		check_all(p);
	}
	if (!p->wrong && p->proper) {
		delete_all(p);
		check_all(p);
		check_empty(p);
	}
	ink_kbf_free(p->filter);
	ink_kbf_free(p->other);
	ink_kbf_dict_free(p->dict);
	return p->wrong;
}

#endif
