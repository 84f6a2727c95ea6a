/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Figures 6 to 12 of the kBF paper: errors and memory of a kBF of a million keys
 * (the paper: 10 million, --full) with 3,000 values, made as a Bloom filter for
 * p = 1e-3 .. 1e-6, with all its m cells and with half of them.
 *
 *     figure 6        live keys that do not read their value
 *     figure 7        keys that were never inserted and read a value
 *     figure 8        memory
 *     figures 9, 10   a tenth of the keys after the other is deleted: deleted ones that read a value
 *     figures 11, 12  ... gets another value: updated ones that do not read it
 *
 * Keys have the sizes that the paper takes from Atikoglu et al. (sim/pool.h). They
 * matter to an exact table only, which has to keep them; a kBF keeps none.
 *
 * Four readers of the same cells, and one filter as the library would plan it:
 *
 *     wraps     the kBF as printed; its counters of 3 bits go from 7 to 0
 *     sticks    the same, and they stay at 7
 *     paper     the library with the paper's codes and decoding. What cannot be
 *               decoded and shall be changed waits in a side table
 *     joint     the library as it is: power sums, and all cells must agree
 *     planned   joint, with the k and the cells that ink_kbf_plan chooses by default
 *
 * Truth is the number of a key, from which its values follow.
 */
#include "experiments.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include <inkling/kbf.h>

#include "full_dict.h"
#include "kbf/dict.h"
#include "page.h"
#include "pool.h"
#include "printed_kbf.h"
#include "seeded.h"

enum { VALUES = 3000, MOST_VALUE = 65536, BATCHES = 10, PAPER_KEYS = 10000000 };

static const double ps[] = {1e-6, 1e-5, 1e-4, 1e-3};

enum { PS = sizeof ps / sizeof ps[0], SIZES = 2 }; /* m, m / 2 */

enum reader { WRAPS, STICKS, PAPER, JOINT, READERS };

static const char *const reader_names[READERS + 1] = {"wraps", "sticks", "paper", "joint", "planned"};

/* All readers at all points, and the planned one at the end. */
enum { POINTS = PS * SIZES * READERS, PLANNED = POINTS, JOBS };

struct outcome {
	double bits, key_bytes; /* for each key */
	double refused;         /* of the keys: they read a value before they were there */
	double lost, wrong;     /* of live keys: no value, another value */
	double false_positives;
	double deleted[BATCHES], updated[BATCHES];
};

struct study {
	uint64_t keys;
	struct printed_codes codes;
	struct ink_kbf_dict *greedy, *sums; /* with all values */
	unsigned char *bytes;               /* of the values */
	struct ink_bytes values[VALUES];
	unsigned repetitions;
	struct outcome *outcomes; /* [JOBS][repetitions] */
};

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

static uint64_t cells_at(const struct study *s, size_t point)
{
	uint64_t m = printed_cells(ps[point / READERS / SIZES], s->keys);

	return point / READERS % SIZES ? m / 2 : m;
}

static struct ink_kbf_options options_at(const struct study *s, size_t point)
{
	struct ink_kbf_options o = {.size = sizeof o, .dict = s->sums, .keys = s->keys, .values = VALUES};

	if (point == PLANNED)
		return o;
	o.k = printed_k(ps[point / READERS / SIZES]);
	o.cells = cells_at(s, point);
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
	return s->filter ? 0 : lab_because(lab, -errno, "a filter: %s", why.text);
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

static int one_job(struct lab *lab, void *context, size_t number)
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
static int prepare(struct lab *lab, struct study *s)
{
	int error;

	make_values(s, lab_seed(lab, 1, 0));
	error = make_dict(lab, s, INK_KBF_GREEDY, &s->greedy);
	if (error)
		return error;
	s->codes = (struct printed_codes){s->greedy->greedy, VALUES, s->greedy->index};
	return make_dict(lab, s, INK_KBF_POWER_SUMS, &s->sums);
}

/* -------------------------------------------------------------------------- numbers */

static size_t point_of(size_t p, size_t size, enum reader reader)
{
	return (p * SIZES + size) * READERS + reader;
}

static const char *reader_name(size_t point)
{
	return reader_names[point == PLANNED ? READERS : point % READERS];
}

typedef double number_fn(const struct outcome *o);

static double refused_of(const struct outcome *o)
{
	return o->refused;
}

static double lost_of(const struct outcome *o)
{
	return o->lost;
}

static double wrong_of(const struct outcome *o)
{
	return o->wrong;
}

static double positives_of(const struct outcome *o)
{
	return o->false_positives;
}

static double bits_a_key(const struct outcome *o)
{
	return o->bits;
}

static double most_deleted(const struct outcome *o)
{
	double most = 0;

	for (unsigned i = 0; i < BATCHES; i++)
		most = fmax(most, o->deleted[i]);
	return most;
}

static double last_updated(const struct outcome *o)
{
	return o->updated[BATCHES - 1];
}

static double mean_of(const struct study *s, size_t point, number_fn *number)
{
	double sum = 0;

	for (unsigned i = 0; i < s->repetitions; i++)
		sum += number(&s->outcomes[point * s->repetitions + i]);
	return sum / s->repetitions;
}

/* Of a share that was found by asking so many keys in each repetition. */
static struct spread interval_of(const struct study *s, size_t point, number_fn *share, uint64_t keys)
{
	double trials = (double)(keys * s->repetitions);

	return interval_99(mean_of(s, point, share) * trials, trials);
}

/* The mean of one batch. */
static double batch_mean(const struct study *s, size_t point, bool updated, unsigned batch)
{
	double sum = 0;

	for (unsigned i = 0; i < s->repetitions; i++) {
		const struct outcome *o = &s->outcomes[point * s->repetitions + i];

		sum += updated ? o->updated[batch] : o->deleted[batch];
	}
	return sum / s->repetitions;
}

/* A table that keeps keys: their bytes, a length, a symbol of 2, and slots of 4, 8 in 10 of them full. */
static double exact_bits(const struct study *s)
{
	return 8 * (s->outcomes[PLANNED * s->repetitions].key_bytes + 1 + 2 + 4 / .8);
}

/* --------------------------------------------------------------------------- tables */

static void begin_row(struct page_table *table, size_t point)
{
	page_row(table);
	if (point == PLANNED) {
		page_blank(table);
		page_blank(table);
	} else {
		page_number(table, ps[point / READERS / SIZES]);
		page_word(table, point / READERS % SIZES ? "m/2" : "m");
	}
	page_word(table, "%s", reader_name(point));
}

static void write_errors_row(struct page_table *table, const struct study *s, size_t point)
{
	begin_row(table, point);
	page_number(table, mean_of(s, point, bits_a_key));
	page_spread(table, interval_of(s, point, lost_of, s->keys));
	page_number(table, mean_of(s, point, wrong_of));
	if (point != PLANNED && point % READERS == WRAPS)
		page_blank(table); /* as where they stick: the cells of a stranger are rarely that full */
	else
		page_spread(table, interval_of(s, point, positives_of, s->keys));
}

static void write_changes_row(struct page_table *table, const struct study *s, size_t point)
{
	begin_row(table, point);
	page_spread(table, interval_of(s, point, most_deleted, s->keys / BATCHES));
	page_spread(table, interval_of(s, point, last_updated, s->keys / BATCHES));
	page_number(table, mean_of(s, point, refused_of));
}

typedef void row_fn(struct page_table *table, const struct study *s, size_t point);

/* From large p to small ones. */
static void write_rows(struct page_table *table, const struct study *s, enum reader first, row_fn *row)
{
	for (size_t p = PS; p-- > 0;)
		for (size_t size = 0; size < SIZES; size++)
			for (enum reader reader = first; reader < READERS; reader++)
				row(table, s, point_of(p, size, reader));
	row(table, s, PLANNED);
}

static void write_tables(struct page *page, const struct study *s)
{
	const struct page_column errors[] = {{"p", NULL, 1},       {"cells", NULL, 0}, {"reader", NULL, 0},
					     {"bits", "a key", 3}, {"lost", NULL, 2},  {"wrong", NULL, 2},
					     {"positive", NULL, 2}};
	const struct page_column changes[] = {{"p", NULL, 1},       {"cells", NULL, 0},
					      {"reader", NULL, 0},  {"deleted", NULL, 2},
					      {"updated", NULL, 2}, {"refused", NULL, 2}};

	write_rows(page_table(page, "errors",
			      "Figures 6 and 7: shares of live keys without value, with another one, and "
			      "of strangers with one",
			      errors, 7),
		   s, WRAPS, write_errors_row);
	write_rows(page_table(page, "changes",
			      "Figures 9 to 12: shares of deleted keys that read a value (most after any "
			      "batch), and of updated keys that do not read theirs (in the end)",
			      changes, 6),
		   s, STICKS, write_changes_row);
}

static void write_memory(struct page *page, const struct study *s)
{
	const struct page_column columns[] = {{"p", NULL, 1},
					      {"m", "bits a key", 3},
					      {"m/2", "bits a key", 3},
					      {"m at 10M", "GB", 3},
					      {"m/2 at 10M", "GB", 3}};
	struct page_table *table = page_table(page, "memory", "Figure 8: memory", columns, 5);
	struct page_plot *plot =
		page_plot(page, "memory", "Figure 8: memory for 10 million keys",
			  (struct page_axis){.name = "p", .log = true, .low = 3e-7, .high = 3e-3},
			  (struct page_axis){.name = "memory", .unit = "GB", .low = 0, .high = 1.6});
	struct page_series *all = page_series(plot, PAGE_LINE, "m"),
			   *half = page_series(plot, PAGE_LINE, "m/2"),
			   *exact = page_series(plot, PAGE_CURVE, "exact table"),
			   *planned = page_series(plot, PAGE_CURVE, "planned");
	const double gigabytes = PAPER_KEYS / 8e9; /* of 10 million keys, for each bit */

	for (size_t p = PS; p-- > 0;) {
		double bits[SIZES] = {mean_of(s, point_of(p, 0, STICKS), bits_a_key),
				      mean_of(s, point_of(p, 1, STICKS), bits_a_key)};

		page_row(table);
		page_number(table, ps[p]);
		page_number(table, bits[0]);
		page_number(table, bits[1]);
		page_number(table, bits[0] * gigabytes);
		page_number(table, bits[1] * gigabytes);
		page_point(all, ps[p], bits[0] * gigabytes);
		page_point(half, ps[p], bits[1] * gigabytes);
		page_point(exact, ps[p], exact_bits(s) * gigabytes);
		page_point(planned, ps[p], mean_of(s, PLANNED, bits_a_key) * gigabytes);
	}
	page_text(page,
		  "The paper: 0.5 to 1.5 GB for 10 million keys, depending on the parameters. An exact "
		  "table that keeps the keys, %.1f bytes in the mean, takes %.0f bits a key: their bytes, "
		  "one for the length, two for the symbol of the value, and slots of four of which 8 in 10 "
		  "are full. The planned filter takes %.0f.",
		  s->outcomes[PLANNED * s->repetitions].key_bytes, exact_bits(s),
		  mean_of(s, PLANNED, bits_a_key));
}

/* ---------------------------------------------------------------------------- plots */

static void draw_points(struct page_plot *plot, const struct study *s, enum reader reader, number_fn *number)
{
	for (size_t size = 0; size < SIZES; size++) {
		char name[40];
		struct page_series *series;

		snprintf(name, sizeof name, "%s, %s", reader_names[reader], size ? "m/2" : "m");
		series = page_series(plot, PAGE_LINE, name);
		for (size_t p = 0; p < PS; p++)
			page_point(series, ps[p], mean_of(s, point_of(p, size, reader), number));
	}
}

static void draw_errors(struct page *page, const struct study *s)
{
	const struct page_axis x = {.name = "p", .log = true, .low = 3e-7, .high = 3e-3};
	struct page_plot *lost = page_plot(page, "lost", "Figure 6: live keys without their value", x,
					   (struct page_axis){.name = "share of the keys", .log = true});
	struct page_plot *positives =
		page_plot(page, "positives", "Figure 7: strangers that read a value", x,
			  (struct page_axis){.name = "share of the strangers", .log = true});
	struct page_series *formula, *expected;

	draw_points(lost, s, WRAPS, lost_of);
	draw_points(lost, s, STICKS, lost_of);
	draw_points(lost, s, JOINT, lost_of);
	formula = page_series(lost, PAGE_CURVE, "corrected formula, m/2");
	draw_points(positives, s, STICKS, positives_of);
	draw_points(positives, s, JOINT, positives_of);
	expected = page_series(positives, PAGE_CURVE, "p");
	for (size_t p = 0; p < PS; p++) {
		uint32_t k = printed_k(ps[p]);
		double cells = (double)cells_at(s, point_of(p, 1, STICKS));

		page_point(formula, ps[p], printed_lost(k * (double)s->keys / cells, k));
		page_point(expected, ps[p], ps[p]);
	}
}

static void draw_batches_of(struct page_plot *plot, const struct study *s, size_t point, bool updated)
{
	char name[40];
	struct page_series *series;

	snprintf(name, sizeof name, "%s, p = %g", reader_name(point), ps[point / READERS / SIZES]);
	series = page_series(plot, PAGE_LINE, name);
	for (unsigned batch = 0; batch < BATCHES; batch++)
		page_point(series, batch + 1, batch_mean(s, point, updated, batch));
}

static void draw_batches(struct page *page, const struct study *s, bool updated, size_t size)
{
	char id[40], title[80];
	struct page_plot *plot;

	snprintf(id, sizeof id, "%s-%s", updated ? "updated" : "deleted", size ? "half" : "all");
	snprintf(title, sizeof title, "Figure %d: %s, %s", 9 + (int)size + 2 * updated,
		 updated ? "updated keys without their value" : "deleted keys that read a value",
		 size ? "m/2 cells" : "m cells");
	plot = page_plot(
		page, id, title,
		(struct page_axis){.name = updated ? "updated" : "deleted", .unit = "tenths of the keys"},
		(struct page_axis){.name = "share of them", .log = true});
	for (size_t p = PS; p-- > 0;)
		draw_batches_of(plot, s, point_of(p, size, STICKS), updated);
	draw_batches_of(plot, s, point_of(PS - 1, size, PAPER), updated);
	draw_batches_of(plot, s, point_of(PS - 1, size, JOINT), updated);
}

/* --------------------------------------------------------------------------- claims */

static double all_wrong(const struct study *s)
{
	double wrong = 0;

	for (size_t point = 0; point < JOBS; point++)
		if (point == PLANNED || point % READERS != WRAPS)
			wrong += mean_of(s, point, wrong_of);
	return wrong;
}

static void write_claims(struct page *page, const struct study *s)
{
	const size_t usual = PS - 1; /* p = 1e-3 */
	double positives = mean_of(s, point_of(usual, 0, STICKS), positives_of);
	double paper_bits = mean_of(s, point_of(usual, 0, STICKS), bits_a_key);

	page_claim(page, all_wrong(s), PAGE_AT_MOST, 0,
		   "As in the paper, no live key reads another value (counters that wrap apart)");
	page_claim(page, mean_of(s, point_of(usual, 0, STICKS), lost_of), PAGE_AT_MOST, 2e-5,
		   "As in the paper, within its capacity a kBF loses next to no key: share at p = 0.001");
	page_claim_within(page, positives / ps[usual], .5, 2,
			  "As in the paper, false positives are about p: at 0.001, as a multiple of it");
	page_claim(page, mean_of(s, point_of(usual, 0, JOINT), positives_of) / ps[usual], PAGE_AT_MOST, .02,
		   "Read jointly, the same number of cells has false positives of how many times p");
	page_claim(page, paper_bits / exact_bits(s), PAGE_AT_LEAST, 1,
		   "The paper's kBF at p = 0.001 takes how many times the bits of an exact table");
	page_claim(page, paper_bits / mean_of(s, PLANNED, bits_a_key), PAGE_AT_LEAST, 3,
		   "and how many times those of a planned filter");
	page_claim(page, mean_of(s, PLANNED, lost_of), PAGE_AT_MOST, 1.5e-3,
		   "which loses this share of the keys; planned: 0.001");
}

static void write_page(struct page *page, const struct study *s)
{
	page_text(page,
		  "%llu keys with %d values, seeds: %u; as many strangers; changes in ten batches. m is "
		  "what a Bloom filter needs for p, 32 bits a cell; in brackets the 99 %% interval of the "
		  "sample. Of figures 6 to 12 the text prints no number but the range of figure 8, only "
		  "what is larger than what.",
		  (unsigned long long)s->keys, VALUES, s->repetitions);
	page_text(page, "wraps: the kBF as printed, with counters of 3 bits that begin again at 0. sticks: "
			"the same, but they stay at 7. paper: the library with the paper's codes and "
			"decoding. joint: the library's own codes and decoding. planned: that in as few "
			"bits as it takes for 1 key in 1,000 lost and 2 false positives in 100,000.");
	write_tables(page, s);
	page_text(page,
		  "With m/2 cells and p = 0.000001, counters that wrap lose a share of %.2g of the keys, "
		  "those that stick %.2g. The paper says that fewer are lost for smaller p, so its "
		  "counters must have stuck. In the paper's way a key that cannot be read can be neither "
		  "updated nor deleted; the library lets it wait. \"refused\" are keys that the library "
		  "did not store, for they read a value already: it says so, the paper's way does not ask.",
		  mean_of(s, point_of(0, 1, WRAPS), lost_of), mean_of(s, point_of(0, 1, STICKS), lost_of));
	draw_errors(page, s);
	write_memory(page, s);
	for (unsigned figure = 0; figure < 4; figure++)
		draw_batches(page, s, figure / 2, figure % 2);
	write_claims(page, s);
}

/* A million keys are as good as many seeds: of three that are asked for, one is taken. */
static int run(struct lab *lab, struct page *page)
{
	struct study *s = lab_alloc(1, sizeof *s);
	int error;

	s->keys = lab->size == LAB_QUICK ? 25000 : lab->size == LAB_FULL ? PAPER_KEYS : 1000000;
	s->repetitions = lab->size == LAB_QUICK ? lab->seeds : (lab->seeds + 2) / 3;
	s->outcomes = lab_alloc((size_t)JOBS * s->repetitions, sizeof *s->outcomes);
	error = prepare(lab, s);
	if (!error)
		error = lab_each(lab, (size_t)JOBS * s->repetitions, one_job, s);
	if (!error)
		write_page(page, s);
	ink_kbf_dict_free(s->greedy);
	ink_kbf_dict_free(s->sums);
	free(s->outcomes);
	free(s->bytes);
	free(s);
	return error;
}

const struct experiment paper_kbf_errors = {
	.name = "kbf-errors",
	.title = "Errors and memory of a kBF",
	.where = "kBF V, figures 6 to 12",
	.shows = "A million keys with 3,000 values: keys that are lost, strangers that read a value, "
		 "deletions and updates, memory; by the paper's decoding and by the library's, beside an "
		 "exact table.",
	.seconds = {6, 130, 1400},
	.run = run,
};
