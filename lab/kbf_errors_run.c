/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One filter of kbf_errors.c: filled, queried for its keys and for strangers, and changed in batches. The
 * values of a key follow from its number, which is the truth.
 */
#include "lab/kbf_errors.h"

#include <errno.h>
#include <stdlib.h>

#include "lab/full_dict.h"
#include "kbf/dict.h"
#include "sim/pool.h"
#include "sim/seeded.h"

const double kbf_errors_ps[PS] = {1e-6, 1e-5, 1e-4, 1e-3};

/* --------------------------------------------------------------------- keys, values */

struct key {
	unsigned char bytes[SIM_POOL_MOST_KEY];
	uint32_t size;
};

static struct ink_bytes key_of(uint64_t seed, uint64_t i, struct key *key)
{
	key->size = sim_pool_key(seed, i, key->bytes);
	return (struct ink_bytes){key->bytes, key->size};
}

/* The paper's kBF gets a mixed number in place of a hash of the key's bytes: no two keys have the same. */
static uint64_t id_of(uint64_t seed, uint64_t i)
{
	return sim_mix(sim_mix(seed + i));
}

/* Each key has one value at first, and another one once it is updated. */
static uint32_t first_value(uint64_t seed, uint64_t i)
{
	return sim_below(sim_mix(seed ^ sim_mix(i)), VALUES);
}

static uint32_t second_value(uint64_t seed, uint64_t i)
{
	uint32_t by = 1 + sim_below(sim_mix(~seed ^ sim_mix(i)), VALUES - 1);

	return (first_value(seed, i) + by) % VALUES;
}

/* ----------------------------------------------------------------- what is measured */

struct subject {
	struct study *study;
	uint64_t seed;
	bool printed;
	struct printed_kbf cells;
	struct ink_kbf *filter;
};

enum answer { RIGHT, WRONG, NO_VALUE };

/* Their first two bytes are their number. */
static bool is_value(struct ink_bytes value, uint32_t number)
{
	const unsigned char *bytes = value.bytes;

	return (bytes[0] | (uint32_t)bytes[1] << 8) == number;
}

static enum answer ask_library(const struct subject *s, uint64_t i, uint32_t expected)
{
	struct ink_bytes value;
	struct key key;
	enum ink_kbf_answer answer = ink_kbf_query(s->filter, key_of(s->seed, i, &key), &value);

	if (answer != INK_KBF_VALUE)
		return NO_VALUE;
	return is_value(value, expected) ? RIGHT : WRONG;
}

static enum answer ask(const struct subject *s, uint64_t i, uint32_t expected)
{
	int32_t symbol;

	if (!s->printed)
		return ask_library(s, i, expected);
	symbol = printed_query(&s->cells, id_of(s->seed, i));
	return symbol < 0 ? NO_VALUE : (uint32_t)symbol == expected ? RIGHT : WRONG;
}

/* 0, or -EEXIST: the library does not store what it seems to have. */
static int insert(struct subject *s, uint64_t i)
{
	uint32_t value = first_value(s->seed, i);
	struct key key;

	if (!s->printed)
		return ink_kbf_insert(s->filter, key_of(s->seed, i, &key), s->study->values[value]);
	printed_insert(&s->cells, id_of(s->seed, i), value);
	return 0;
}

/* Algorithms 4 and 5 need the code that is there; where a query does not tell it, nothing can be done. */
static void update(struct subject *s, uint64_t i)
{
	uint64_t id = id_of(s->seed, i);
	uint32_t value = second_value(s->seed, i);
	int32_t symbol;
	struct key key;

	if (!s->printed) {
		ink_kbf_update(s->filter, key_of(s->seed, i, &key), s->study->values[value]);
		return;
	}
	symbol = printed_query(&s->cells, id);
	if (symbol >= 0)
		printed_update(&s->cells, id, (uint32_t)symbol, value);
}

static void remove_key(struct subject *s, uint64_t i)
{
	uint64_t id = id_of(s->seed, i);
	int32_t symbol;
	struct key key;

	if (!s->printed) {
		ink_kbf_delete(s->filter, key_of(s->seed, i, &key));
		return;
	}
	symbol = printed_query(&s->cells, id);
	if (symbol >= 0)
		printed_delete(&s->cells, id, (uint32_t)symbol);
}

/* ------------------------------------------------------------------------ measuring */

/* Whether a key was stored; the library may have refused a few. */
struct stored {
	uint64_t *words;
	double count;
};

static bool is_stored(const struct stored *stored, uint64_t i)
{
	return stored->words[i / 64] >> i % 64 & 1;
}

static void insert_all(struct subject *s, struct stored *stored, struct outcome *o)
{
	uint64_t n = s->study->keys;

	stored->words = lab_alloc(n / 64 + 1, sizeof *stored->words);
	for (uint64_t i = 0; i < n; i++)
		if (!insert(s, i)) {
			stored->words[i / 64] |= 1ull << i % 64;
			stored->count++;
		}
	o->refused = 1 - stored->count / (double)n;
}

static void ask_live(const struct subject *s, const struct stored *stored, struct outcome *o)
{
	for (uint64_t i = 0; i < s->study->keys; i++)
		if (is_stored(stored, i)) {
			enum answer answer = ask(s, i, first_value(s->seed, i));

			o->lost += (answer == NO_VALUE) / stored->count;
			o->wrong += (answer == WRONG) / stored->count;
		}
}

static void ask_strangers(const struct subject *s, struct outcome *o)
{
	uint64_t n = s->study->keys;

	for (uint64_t i = n; i < 2 * n; i++)
		o->false_positives += (ask(s, i, 0) != NO_VALUE) / (double)n;
}

/*
 * A tenth of the keys after the other is changed, and after each tenth those that
 * were changed so far are asked, or as many of them as a tenth has, evenly spread.
 */
typedef void change_fn(struct subject *s, uint64_t i);
typedef bool error_fn(const struct subject *s, uint64_t i);

static bool still_there(const struct subject *s, uint64_t i)
{
	return ask(s, i, 0) != NO_VALUE;
}

static bool not_updated(const struct subject *s, uint64_t i)
{
	return ask(s, i, second_value(s->seed, i)) != RIGHT;
}

static void change_in_batches(struct subject *s, const struct stored *stored, change_fn *change,
			      error_fn *error, double *shares)
{
	uint64_t tenth = s->study->keys / BATCHES;

	for (unsigned batch = 0; batch < BATCHES; batch++) {
		double errors = 0, asked = 0;

		for (uint64_t i = batch * tenth; i < (batch + 1) * tenth; i++)
			if (is_stored(stored, i))
				change(s, i);
		for (uint64_t i = 0; i < (batch + 1) * tenth; i += batch + 1)
			if (is_stored(stored, i)) {
				errors += error(s, i);
				asked++;
			}
		shares[batch] = errors / asked;
	}
}

/* -------------------------------------------------------------------------- one job */

uint64_t kbf_errors_cells(const struct study *s, size_t point)
{
	uint64_t m = printed_cells(kbf_errors_ps[point / READERS / SIZES], s->keys);

	return point / READERS % SIZES ? m / 2 : m;
}

static struct ink_kbf_options options_at(const struct study *s, size_t point)
{
	struct ink_kbf_options o = {.size = sizeof o, .dict = s->sums, .keys = s->keys, .values = VALUES};

	if (point == PLANNED)
		return o;
	o.k = printed_k(kbf_errors_ps[point / READERS / SIZES]);
	o.cells = kbf_errors_cells(s, point);
	if (point % READERS == PAPER) {
		o.dict = s->greedy;
		o.decoding = INK_KBF_PAPER;
		o.counter_bits = 3;
	}
	return o;
}

static int open_subject(struct lab *lab, struct subject *s, size_t point)
{
	struct ink_kbf_options o = options_at(s->study, point);
	struct ink_why why;

	s->printed = point != PLANNED && (point % READERS == WRAPS || point % READERS == STICKS);
	if (s->printed) {
		s->cells = printed_make(&s->study->codes, o.k, o.cells);
		s->cells.sticks = point % READERS == STICKS;
		return 0;
	}
	s->filter = ink_kbf_create(&o, &why);
	return s->filter ? 0 : lab_fail(lab, -errno, "a filter: %s", why.text);
}

static void close_subject(struct subject *s)
{
	ink_kbf_free(s->filter);
	free(s->cells.cells);
}

static double bits_of(const struct subject *s)
{
	struct ink_kbf_stats stats = {.size = sizeof stats};

	if (s->printed)
		return 32 * (double)s->cells.m;
	ink_kbf_stats(s->filter, &stats);
	return 8 * (double)stats.bytes;
}

static double mean_key_bytes(const struct subject *s)
{
	double sum = 0;
	struct key key;

	for (uint64_t i = 0; i < s->study->keys; i++)
		sum += (double)key_of(s->seed, i, &key).length;
	return sum / (double)s->study->keys;
}

/*
 * One filling serves all. Updates come before the deletions: they leave as many keys
 * in the cells as there were, and what could not be read is not touched by them.
 */
static int measure(struct lab *lab, struct subject *s, size_t point, struct outcome *o)
{
	struct stored stored = {0};
	int error = open_subject(lab, s, point);

	if (error)
		return error;
	insert_all(s, &stored, o);
	o->bits = bits_of(s) / (double)s->study->keys;
	ask_live(s, &stored, o);
	if (point == PLANNED || point % READERS != WRAPS) {
		ask_strangers(s, o);
		change_in_batches(s, &stored, update, not_updated, o->updated);
		change_in_batches(s, &stored, remove_key, still_there, o->deleted);
	}
	close_subject(s);
	free(stored.words);
	return 0;
}

int kbf_errors_job(struct lab *lab, void *context, size_t number)
{
	struct study *study = context;
	size_t point = number / study->repetitions;
	struct subject s = {.study = study, .seed = lab_seed(lab, 0, number % study->repetitions)};

	if (point == PLANNED)
		study->outcomes[number].key_bytes = mean_key_bytes(&s);
	return measure(lab, &s, point, &study->outcomes[number]);
}

/* --------------------------------------------------------------------- preparations */

/* Two bytes at least, which are its number: there must be 3,000 different ones. */
static void make_values(struct study *s, uint64_t seed)
{
	size_t used = 0, lengths[VALUES];

	for (uint32_t i = 0; i < VALUES; i++) {
		uint32_t size = sim_pool_value_size(sim_mix(seed + i));

		lengths[i] = size < 2 ? 2 : size < MOST_VALUE ? size : MOST_VALUE;
		used += lengths[i];
	}
	s->bytes = lab_alloc(used, 1);
	used = 0;
	for (uint32_t i = 0; i < VALUES; i++) {
		s->values[i] = (struct ink_bytes){s->bytes + used, lengths[i]};
		s->bytes[used] = (unsigned char)i;
		s->bytes[used + 1] = (unsigned char)(i >> 8);
		used += lengths[i];
	}
}

static int make_dict(struct lab *lab, struct study *s, enum ink_kbf_encoding encoding,
		     struct ink_kbf_dict **dict)
{
	struct ink_kbf_dict_options o = {
		.size = sizeof o, .encoding = encoding, .values = VALUES, .seed = lab_seed(lab, 2, encoding)};

	*dict = full_dict(lab, &o, s->values);
	return *dict ? 0 : -errno;
}

/* The codes are the dictionary's own. */
int kbf_errors_prepare(struct lab *lab, struct study *s)
{
	int error;

	make_values(s, lab_seed(lab, 1, 0));
	error = make_dict(lab, s, INK_KBF_GREEDY, &s->greedy);
	if (error)
		return error;
	s->codes = (struct printed_codes){s->greedy->greedy, VALUES, s->greedy->index};
	return make_dict(lab, s, INK_KBF_POWER_SUMS, &s->sums);
}
