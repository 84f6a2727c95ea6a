/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Figures 6 to 12 of the kBF paper: errors and memory of a kBF of a million keys (the paper: 10 million,
 * --full) with 3,000 values, sized as a Bloom filter for p = 1e-3 .. 1e-6, with all its m cells and with half
 * of them.
 *
 *     figure 6        live keys that do not read their value
 *     figure 7        keys that were never inserted and read a value
 *     figure 8        memory
 *     figures 9, 10   keys are deleted a tenth at a time: deleted ones that read a value
 *     figures 11, 12  ... receive another value: updated ones that do not read it
 *
 * Keys have the sizes that the paper takes from Atikoglu et al. (sim/pool.h). They matter only to an exact
 * table, which stores them; a kBF does not.
 *
 * Four decoders of the same cells, and one filter as the library plans it:
 *
 *     wraps     the kBF as printed; its counters of 3 bits go from 7 to 0
 *     sticks    the same, and they stay at 7
 *     paper     the library with the paper's codes and decoding; a change of a key that cannot be decoded waits in a side
 *               table
 *     joint     the library's default: power sums, and all cells must agree
 *     planned   joint, with the k and the cells that ink_kbf_plan chooses by default
 *
 * The values of a key follow from its number, which is the truth.
 */
#include "lab/kbf_errors.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "lab/experiments.h"
#include "lab/page.h"

static const char *const reader_names[READERS + 1] = {"wraps", "sticks", "paper", "joint", "planned"};

/* -------------------------------------------------------------------------- numbers */

static size_t point_of(size_t p, size_t size, enum reader reader)
{
	return (p * SIZES + size) * READERS + reader;
}

static const char *reader_name(size_t point)
{
	return reader_names[point == PLANNED ? READERS : point % READERS];
}

static enum structure structure_at(size_t point)
{
	bool printed = point != PLANNED && (point % READERS == WRAPS || point % READERS == STICKS);

	return printed ? STRUCTURE_PRINTED : STRUCTURE_KBF;
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

/* Of a share that was measured with this many keys in each repetition. */
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
		page_number(table, kbf_errors_ps[point / READERS / SIZES]);
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
	struct page_series *all = page_series(plot, PAGE_LINE, STRUCTURE_PRINTED, "kBF, m"),
			   *half = page_series(plot, PAGE_LINE, STRUCTURE_PRINTED, "kBF, m/2"),
			   *exact = page_series(plot, PAGE_CURVE, STRUCTURE_EXACT, "exact table"),
			   *planned = page_series(plot, PAGE_CURVE, STRUCTURE_KBF, "planned");
	const double gigabytes = PAPER_KEYS / 8e9; /* of 10 million keys, for each bit */

	for (size_t p = PS; p-- > 0;) {
		double bits[SIZES] = {mean_of(s, point_of(p, 0, STICKS), bits_a_key),
				      mean_of(s, point_of(p, 1, STICKS), bits_a_key)};

		page_row(table);
		page_number(table, kbf_errors_ps[p]);
		page_number(table, bits[0]);
		page_number(table, bits[1]);
		page_number(table, bits[0] * gigabytes);
		page_number(table, bits[1] * gigabytes);
		page_point(all, kbf_errors_ps[p], bits[0] * gigabytes);
		page_point(half, kbf_errors_ps[p], bits[1] * gigabytes);
		page_point(exact, kbf_errors_ps[p], exact_bits(s) * gigabytes);
		page_point(planned, kbf_errors_ps[p], mean_of(s, PLANNED, bits_a_key) * gigabytes);
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
		series = page_series(plot, PAGE_LINE, structure_at(point_of(0, size, reader)), name);
		for (size_t p = 0; p < PS; p++)
			page_point(series, kbf_errors_ps[p], mean_of(s, point_of(p, size, reader), number));
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
	formula = page_series(lost, PAGE_CURVE, STRUCTURE_NONE, "corrected formula, m/2");
	draw_points(positives, s, STICKS, positives_of);
	draw_points(positives, s, JOINT, positives_of);
	expected = page_series(positives, PAGE_CURVE, STRUCTURE_NONE, "p");
	for (size_t p = 0; p < PS; p++) {
		uint32_t k = printed_k(kbf_errors_ps[p]);
		double cells = (double)kbf_errors_cells(s, point_of(p, 1, STICKS));

		page_point(formula, kbf_errors_ps[p], printed_lost(k * (double)s->keys / cells, k));
		page_point(expected, kbf_errors_ps[p], kbf_errors_ps[p]);
	}
}

static void draw_batches_of(struct page_plot *plot, const struct study *s, size_t point, bool updated)
{
	char name[40];
	struct page_series *series;

	snprintf(name, sizeof name, "%s, p = %g", reader_name(point), kbf_errors_ps[point / READERS / SIZES]);
	series = page_series(plot, PAGE_LINE, structure_at(point), name);
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
	page_claim_within(page, positives / kbf_errors_ps[usual], .5, 2,
			  "As in the paper, false positives are about p: at 0.001, as a multiple of it");
	page_claim(page, mean_of(s, point_of(usual, 0, JOINT), positives_of) / kbf_errors_ps[usual],
		   PAGE_AT_MOST, .02,
		   "Read jointly, the same number of cells has false positives of how many times p");
	page_claim(page, paper_bits / exact_bits(s), PAGE_AT_LEAST, 1,
		   "The paper's kBF at p = 0.001 takes how many times the bits of an exact table");
	page_claim(page, paper_bits / mean_of(s, PLANNED, bits_a_key), PAGE_AT_LEAST, 3,
		   "and how many times those of a planned filter");
	page_claim(page, mean_of(s, PLANNED, lost_of), PAGE_AT_MOST, 1.5e-3,
		   "which loses this share of the keys; planned: 0.001");
}

/* Whether a number never grows from a larger p to a smaller one, and never from half the cells to all of them. */
static bool falls(const struct study *s, number_fn *number)
{
	for (size_t p = 0; p < PS; p++)
		for (size_t size = 0; size < SIZES; size++) {
			double here = mean_of(s, point_of(p, size, STICKS), number);

			if (p > 0 && here < mean_of(s, point_of(p - 1, size, STICKS), number))
				return false;
			if (size > 0 && here < mean_of(s, point_of(p, size - 1, STICKS), number))
				return false;
		}
	return true;
}

static enum page_agreement agrees_if(bool agrees)
{
	return agrees ? PAGE_AGREES : PAGE_DISAGREES;
}

/* Bound to counters that stick. p = 0.001 is the last of kbf_errors_ps. */
static void write_verdicts(struct page *page, const struct study *s)
{
	const size_t all = point_of(PS - 1, 0, STICKS), half = point_of(PS - 1, 1, STICKS);
	double positives = mean_of(s, all, positives_of),
	       least = mean_of(s, all, bits_a_key) * PAPER_KEYS / 8e9,
	       most = mean_of(s, point_of(0, 0, STICKS), bits_a_key) * PAPER_KEYS / 8e9;

	page_verdict(
		page, agrees_if(falls(s, lost_of) && mean_of(s, all, lost_of) <= 2e-5), "Figure 6, keys lost",
		"At p = 0.001 a share of %.2g is lost with m cells and %.2g with m/2, and fewer at smaller p.",
		mean_of(s, all, lost_of), mean_of(s, half, lost_of));
	page_verdict(page, agrees_if(positives >= .0005 && positives <= .002 && falls(s, positives_of)),
		     "Figure 7, false positives near p", "%.2g at p = 0.001 with m cells, and %.2g with m/2.",
		     positives, mean_of(s, half, positives_of));
	page_verdict(page, agrees_if(least >= .5 && most <= 1.5),
		     "Figure 8, 0.5 to 1.5 GB for 10 million keys",
		     "%.2f to %.2f GB with m cells; an exact table takes %.2f GB.", least, most,
		     exact_bits(s) * PAPER_KEYS / 8e9);
	page_verdict(
		page, agrees_if(falls(s, most_deleted)), "Figures 9 and 10, deleted keys that read a value",
		"At p = 0.001 at most a share of %.2g with m cells and %.2g with m/2, and fewer at smaller p.",
		mean_of(s, all, most_deleted), mean_of(s, half, most_deleted));
	page_verdict(page, agrees_if(falls(s, last_updated)),
		     "Figures 11 and 12, updated keys without their value",
		     "At p = 0.001 a share of %.2g with m cells and %.2g with m/2, and fewer at smaller p.",
		     mean_of(s, all, last_updated), mean_of(s, half, last_updated));
}

static void write_page(struct page *page, const struct study *s)
{
	write_verdicts(page, s);
	page_text(
		page,
		"%llu keys with %d values, seeds: %u; as many strangers; changes in ten batches. m is the "
		"number of cells of a Bloom filter for p, at 32 bits a cell. Ranges are the 99 %% interval of "
		"the sample. For figures 6 to 12 the paper prints the range of figure 8, and otherwise only "
		"orderings.",
		(unsigned long long)s->keys, VALUES, s->repetitions);
	page_text(
		page,
		"wraps: the kBF as printed, with counters of 3 bits that go from 7 to 0. sticks: the same, "
		"but they stay at 7. paper: the library with the paper's codes and decoding. joint: the "
		"library's own codes and decoding. planned: joint, in the fewest bits for 1 key in 1,000 lost "
		"and 2 false positives in 100,000.");
	write_tables(page, s);
	page_text(
		page,
		"With m/2 cells and p = 0.000001, counters that wrap lose a share of %.2g of the keys, and "
		"counters that stick %.2g. The paper says that fewer keys are lost for smaller p, so its "
		"counters must have stuck. In the paper, a key that cannot be read can be neither updated nor "
		"deleted; the library defers the change. \"refused\" are keys that the library did not store, "
		"because they read a value already; the paper's insert does not check.",
		mean_of(s, point_of(0, 1, WRAPS), lost_of), mean_of(s, point_of(0, 1, STICKS), lost_of));
	draw_errors(page, s);
	write_memory(page, s);
	for (unsigned figure = 0; figure < 4; figure++)
		draw_batches(page, s, figure / 2, figure % 2);
	write_claims(page, s);
}

/* A million keys need fewer repetitions: one for every three requested. */
static int run(struct lab *lab, struct page *page)
{
	struct study *s = lab_alloc(1, sizeof *s);
	int error;

	s->keys = lab->size == LAB_QUICK ? 25000 : lab->size == LAB_FULL ? PAPER_KEYS : 1000000;
	s->repetitions = lab->size == LAB_QUICK ? lab->seeds : (lab->seeds + 2) / 3;
	s->outcomes = lab_alloc((size_t)JOBS * s->repetitions, sizeof *s->outcomes);
	error = kbf_errors_prepare(lab, s);
	if (!error)
		error = lab_each(lab, (size_t)JOBS * s->repetitions, kbf_errors_job, s);
	if (!error)
		write_page(page, s);
	ink_kbf_dict_free(s->greedy);
	ink_kbf_dict_free(s->sums);
	free(s->outcomes);
	free(s->bytes);
	free(s);
	return error;
}

const struct experiment experiment_kbf_errors = {
	.name = "kbf-errors",
	.title = "Errors and memory of a kBF",
	.where = "kBF V, figures 6 to 12",
	.shows =
		"A million keys with 3,000 values: lost keys, strangers that read a value, deletions, updates "
		"and memory, with the paper's decoding and the library's, compared with an exact table.",
	.interpretation =
		"The counters of the kBF as printed stay at 7 once they reach it (\"sticks\"); the paper does "
		"not say what they do.",
	.seconds = {6, 130, 1400},
	.run = run,
};
