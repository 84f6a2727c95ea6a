/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Section 4 of the ACSM paper: the d-left counting Bloom filter and the standard one.
 *
 * Does a table of fingerprints with small counters do the work of a counting Bloom filter in half the memory?
 * The paper computes 19.5 bits an item and 0.59 % false positives against 40 bits and 0.82 %. Here both are
 * filled with n items and queried for strangers. Then each item is replaced ten times, and strangers are
 * queried again. All live items are queried as well: none may be missing.
 *
 * The paper needs b, the buckets of a subtable, to be a power of two. A third filter has a prime b.
 *
 * Result: both numbers hold, fresh and after churn, for any b.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include <inkling/count.h>

#include "lab/experiments.h"
#include "lab/page.h"
#include "sim/seeded.h"

enum { REPLACED = 10, BATCH = 4096 }; /* replacements of each item; items of a batch */

struct filter {
	const char *name;
	enum ink_count_kind kind;
	struct ink_count_geometry geometry;
	uint64_t items;
};

enum { D = 3, H = 6, F = 11, ITEMS_A_BUCKET = 12, COUNTERS_AN_ITEM = 10 }; /* the paper's */

/* The three of the table, and what the paper says of them, in percent and bits. */
enum { POWER, PRIME, STANDARD, TABLE };

static const double paper_error[TABLE] = {.59, .59, .82}, paper_bits[TABLE] = {19.5, 19.5, 40};

/* The curves: as many bits as these fingerprints need, and as many counters of 4 bits an item. */
enum { FEWEST_F = 7, MOST_F = 17, FEWEST_COUNTERS = 5, MOST_COUNTERS = 15 };
enum { FS = MOST_F - FEWEST_F + 1, CURVES = FS + MOST_COUNTERS - FEWEST_COUNTERS + 1 };

/* One filter in one run. */
struct trial {
	struct filter filter;
	uint64_t seed, strangers;
	bool churns;
	double bits, fresh, churned; /* bits an item; shares of strangers that are found */
	uint64_t missing, refused;
};

/* --------------------------------------------------------------------- one trial */

/* Items are numbered, strangers from here on. */
#define FIRST_STRANGER (1ull << 62)

static size_t fill_ids(const struct trial *t, uint64_t from, uint64_t end, uint64_t *ids)
{
	size_t n = end - from < BATCH ? (size_t)(end - from) : BATCH;

	for (size_t i = 0; i < n; i++)
		ids[i] = sim_id(t->seed, from + i);
	return n;
}

/* How many of the items from one number up to another are found. */
static uint64_t count_found(const struct trial *t, const struct ink_count *set, uint64_t from, uint64_t end)
{
	uint64_t ids[BATCH], found = 0;
	uint8_t there[BATCH];

	while (from < end) {
		size_t n = fill_ids(t, from, end, ids);

		ink_count_contains_batch(set, &(struct ink_count_batch){.n = n, .ids = ids, .found = there});
		for (size_t i = 0; i < n; i++)
			found += there[i];
		from += n;
	}
	return found;
}

static double share_of_strangers(const struct trial *t, const struct ink_count *set)
{
	uint64_t found = count_found(t, set, FIRST_STRANGER, FIRST_STRANGER + t->strangers);

	return (double)found / (double)t->strangers;
}

/* The oldest item is replaced by a new one: there are always n. */
static void churn(const struct trial *t, struct ink_count *set)
{
	for (uint64_t i = 0; i < REPLACED * t->filter.items; i++) {
		ink_count_remove(set, sim_id(t->seed, i));
		ink_count_add(set, sim_id(t->seed, i + t->filter.items));
	}
}

/* A cell is a fingerprint, if there are some, and a counter up to the limit. */
static int cell_bits(const struct trial *t, uint32_t limit)
{
	return (int)t->filter.geometry.f + __builtin_popcount(limit);
}

static void measure(struct trial *t, struct ink_count *set)
{
	struct ink_count_stats stats = {.size = sizeof stats};
	uint64_t n = t->filter.items, first = 0;

	for (uint64_t i = 0; i < n; i++)
		ink_count_add(set, sim_id(t->seed, i));
	t->fresh = share_of_strangers(t, set);
	t->missing = n - count_found(t, set, 0, n);
	if (t->churns) {
		churn(t, set);
		first = REPLACED * n;
		t->churned = share_of_strangers(t, set);
		t->missing += n - count_found(t, set, first, first + n);
	}
	ink_count_stats(set, &stats);
	t->bits = (double)stats.cells * cell_bits(t, stats.limit) / (double)n;
	t->refused = stats.refused;
}

static int run_trial(struct lab *lab, void *trials, size_t number)
{
	struct trial *t = (struct trial *)trials + number;
	struct ink_count_options options = {.size = sizeof options,
					    .kind = t->filter.kind,
					    .items = t->filter.items,
					    .seed = t->seed,
					    .geometry = t->filter.geometry};
	struct ink_why why;
	struct ink_count *set = ink_count_create(&options, &why);

	if (!set)
		return lab_fail(lab, -errno, "%s: %s", t->filter.name, why.text);
	measure(t, set);
	ink_count_free(set);
	return 0;
}

/* ------------------------------------------------------------------ all of them */

static struct filter dleft_of(const char *name, uint32_t b, uint32_t f)
{
	return (struct filter){.name = name,
			       .kind = INK_COUNT_DLEFT,
			       .geometry = {.d = D, .h = H, .b = b, .f = f},
			       .items = ITEMS_A_BUCKET * (uint64_t)b};
}

static struct filter standard_of(const char *name, uint64_t items, uint32_t counters)
{
	uint32_t best = (uint32_t)(counters * M_LN2 + .5); /* (m / n) ln 2, in whole numbers */

	return (struct filter){.name = name,
			       .kind = INK_COUNT_STANDARD,
			       .geometry = {.m = items * counters, .k = best},
			       .items = items};
}

static struct filter table_filter(enum lab_size size, size_t i)
{
	bool quick = size == LAB_QUICK;

	if (i == POWER)
		return dleft_of("d-left, b = 2^z", 1u << (quick ? 12 : 14), F);
	if (i == PRIME)
		return dleft_of("d-left, b prime", quick ? 5003 : 10007, F);
	return standard_of("standard, k = 7", quick ? 50000 : 150000, COUNTERS_AN_ITEM);
}

static struct filter curve_filter(enum lab_size size, size_t i)
{
	uint32_t b = size == LAB_QUICK ? 5003 : 10007;

	if (i < FS)
		return dleft_of("curve", b, FEWEST_F + (uint32_t)i);
	return standard_of("curve", ITEMS_A_BUCKET * b, FEWEST_COUNTERS + (uint32_t)(i - FS));
}

static void prepare(const struct lab *lab, struct trial *trials)
{
	size_t of_table = (size_t)TABLE * lab->seeds;

	for (size_t i = 0; i < of_table + CURVES; i++) {
		struct trial *t = &trials[i];
		size_t part = i < of_table ? i / lab->seeds : i - of_table;

		t->churns = i < of_table;
		t->filter = t->churns ? table_filter(lab->size, part) : curve_filter(lab->size, part);
		t->seed = lab_seed(lab, t->churns ? part : TABLE + part, t->churns ? i % lab->seeds : 0);
		t->strangers = lab->size == LAB_QUICK ? t->churns ? 1500000 : 200000 : 4000000;
	}
}

/* The mean over the seeds of one of the paper's filters. */
struct summary {
	struct spread bits, fresh, churned;
	uint64_t missing, refused;
};

static struct summary summary_of(const struct trial *trials, unsigned seeds)
{
	double *numbers = lab_alloc(3 * (size_t)seeds, sizeof *numbers);
	struct summary s = {.missing = 0};

	for (unsigned i = 0; i < seeds; i++) {
		numbers[i] = trials[i].bits;
		numbers[seeds + i] = 100 * trials[i].fresh;
		numbers[2 * seeds + i] = 100 * trials[i].churned;
		s.missing += trials[i].missing;
		s.refused += trials[i].refused;
	}
	s.bits = spread_of(numbers, seeds);
	s.fresh = spread_of(numbers + seeds, seeds);
	s.churned = spread_of(numbers + 2 * (size_t)seeds, seeds);
	free(numbers);
	return s;
}

/* ---------------------------------------------------------------------- the page */

static void write_row(struct page_table *table, size_t i, const char *name, const struct summary *s)
{
	page_row(table);
	page_word(table, "%s", name);
	page_spread(table, s->bits);
	page_number(table, paper_error[i]);
	page_spread(table, s->fresh);
	page_spread(table, s->churned);
	page_number(table, (double)s->missing);
	page_number(table, (double)s->refused);
}

static void write_claims(struct page *page, size_t i, const char *name, const struct summary *s)
{
	double error = paper_error[i];

	page_claim_within(page, s->fresh.middle, error - .02, error + .02,
			  "%s: false positives when filled, in percent (the paper: %.2f)", name, error);
	page_claim_within(page, s->churned.middle, error - .02, error + .02,
			  "%s: the same after %d replacements an item", name, REPLACED);
	page_claim(page, s->bits.high, PAGE_AT_MOST, paper_bits[i] + .001, "%s: bits an item", name);
	page_claim(page, (double)s->missing, PAGE_AT_MOST, 0, "%s: live items that are not found", name);
}

static bool is_near(const struct summary *s, double error)
{
	return fabs(s->fresh.middle - error) <= .02 && fabs(s->churned.middle - error) <= .02;
}

static void write_verdicts(struct page *page, const struct summary *all)
{
	const double items = ITEMS_A_BUCKET * 0x1p14, printed = items * ldexp(1, -F + 14);
	const struct summary *d = &all[POWER], *s = &all[STANDARD];

	page_verdict(page, is_near(d, paper_error[POWER]) ? PAGE_AGREES : PAGE_DISAGREES,
		     "4, d-left counting filter: 0.59 %",
		     "%.3f %% false positives when filled and %.3f %% after churn, in %.1f bits an item.",
		     d->fresh.middle, d->churned.middle, d->bits.middle);
	page_verdict(page, is_near(s, paper_error[STANDARD]) ? PAGE_AGREES : PAGE_DISAGREES,
		     "4, standard counting filter: 0.82 %",
		     "%.3f %% false positives when filled and %.3f %% after churn, in %.1f bits an item.",
		     s->fresh.middle, s->churned.middle, s->bits.middle);
	page_verdict(
		page, printed > 1 ? PAGE_IMPOSSIBLE : PAGE_AGREES, "4, probability n 2^(-f+z)",
		"As printed it is %.0f for the paper's own parameters, and no probability; n 2^-(f+z) is %.2f %%.",
		printed, 100 * items * ldexp(1, -F - 14));
}

static void write_curves(struct page *page, const struct trial *trials)
{
	struct page_plot *plot =
		page_plot(page, "memory", "False positives against memory, freshly filled",
			  (struct page_axis){.name = "bits an item"},
			  (struct page_axis){.name = "false positives", .unit = "%", .log = true});
	struct page_series *dleft = page_series(plot, PAGE_LINE, STRUCTURE_DLEFT, "d-left, d = 3, h = 6");
	struct page_series *standard =
		page_series(plot, PAGE_LINE, STRUCTURE_COUNTING, "standard, 4-bit counters, best k");
	struct page_series *papers = page_series(plot, PAGE_PAPER, STRUCTURE_DLEFT, "d-left, paper");
	struct page_series *usual = page_series(plot, PAGE_PAPER, STRUCTURE_COUNTING, "standard, paper");

	for (size_t i = 0; i < CURVES; i++)
		page_point(i < FS ? dleft : standard, trials[i].bits, 100 * trials[i].fresh);
	page_point(papers, paper_bits[POWER], paper_error[POWER]);
	page_point(usual, paper_bits[STANDARD], paper_error[STANDARD]);
}

static void write_page(const struct lab *lab, struct page *page, const struct trial *trials)
{
	static const struct page_column columns[] = {
		{"filter", NULL, 0}, {"bits/item", NULL, 3}, {"paper", "%", 3},    {"fresh", "%", 3},
		{"churned", "%", 3}, {"missing", NULL, 0},   {"refused", NULL, 0},
	};
	struct page_table *table;
	struct summary all[TABLE];

	page_text(
		page,
		"A filter of n items is queried for strangers; then each item is replaced %d times, and it is "
		"queried again. The d-left filter has d = %d, h = %d, n/%d buckets in a subtable, %d bits of "
		"fingerprint and 2 of counter; the standard one has %d counters of 4 bits an item.",
		REPLACED, D, H, ITEMS_A_BUCKET, F, COUNTERS_AN_ITEM);
	table = page_table(page, "filters", "False positives, and live items that were not found", columns,
			   sizeof columns / sizeof columns[0]);
	for (size_t i = 0; i < TABLE; i++) {
		all[i] = summary_of(trials + i * lab->seeds, lab->seeds);
		write_row(table, i, trials[i * lab->seeds].filter.name, &all[i]);
	}
	page_text(
		page,
		"\"missing\" are live items that were not found, \"refused\" are items for which all buckets "
		"were full, over all seeds. The paper prints the probability as n 2^(-f+z); n 2^-(f+z) = 12 x "
		"2^-11 is meant, which is 0.59 %%.");
	write_verdicts(page, all);
	write_curves(page, trials + (size_t)TABLE * lab->seeds);
	for (size_t i = 0; i < TABLE; i++)
		write_claims(page, i, trials[i * lab->seeds].filter.name, &all[i]);
}

static int run(struct lab *lab, struct page *page)
{
	size_t count = (size_t)TABLE * lab->seeds + CURVES;
	struct trial *trials = lab_alloc(count, sizeof *trials);
	int error;

	prepare(lab, trials);
	error = lab_each(lab, count, run_trial, trials);
	if (!error)
		write_page(lab, page, trials);
	free(trials);
	return error;
}

const struct experiment experiment_dleft = {
	.name = "dleft",
	.title = "A counting Bloom filter in half the memory",
	.where = "ACSM 4",
	.shows = "Do fingerprints with counters in a d-left table do the work of a counting Bloom filter in "
		 "half the memory? Both are filled, queried, and queried again after churn.",
	.seconds = {2, 9, 9},
	.run = run,
};
