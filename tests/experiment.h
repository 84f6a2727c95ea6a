/* SPDX-License-Identifier: BSD-2-Clause */
/* Runs a quick experiment and finds numbers on its page. */
#ifndef INKLING_TESTS_EXPERIMENT_H
#define INKLING_TESTS_EXPERIMENT_H

#include "lab/progress.h"
#include "lab/experiments.h"
#include "lab/page_parts.h"
#include "tests/test.h"

/* The page of a quick run of one repetition; page_free it. */
static inline struct page *quick_page_of(const struct experiment *experiment, unsigned workers, uint64_t seed)
{
	struct lab lab = {.size = LAB_QUICK, .seeds = 1, .seed = seed, .workers = workers};
	struct page *page = page_new(experiment);

	lab.progress = progress_new(NULL, NULL);
	progress_expect(lab.progress, experiment, lab.size);
	if (lab_run(&lab, experiment, page))
		fail_msg("%s: %s", experiment->name, progress_failure(lab.progress));
	progress_free(lab.progress);
	return page;
}

static inline struct page *quick_page(const struct experiment *experiment, unsigned workers)
{
	return quick_page_of(experiment, workers, 1);
}

static inline const struct page_table *table_of(const struct page *page, const char *id)
{
	for (size_t i = 0; i < page->count; i++)
		if (page->parts[i].kind == PART_TABLE && !strcmp(page->parts[i].table->id, id))
			return page->parts[i].table;
	fail_msg("no table '%s'", id);
	return NULL;
}

static inline size_t column_of(const struct page_table *table, const char *name)
{
	for (size_t i = 0; i < table->width; i++)
		if (!strcmp(table->columns[i].name, name))
			return i;
	fail_msg("no column '%s' in '%s'", name, table->id);
	return 0;
}

/* In that row; a spread gives its middle. */
static inline double number_in(const struct page_table *table, size_t row, const char *column)
{
	const struct cell *cell = table_cell(table, row, column_of(table, column));

	assert_true(row < table->rows);
	assert_true(cell->kind == CELL_NUMBER || cell->kind == CELL_SPREAD);
	return cell->number.middle;
}

/* The first row with this word in a column. */
static inline size_t row_with(const struct page_table *table, size_t column, const char *word)
{
	for (size_t row = 0; row < table->rows; row++) {
		const struct cell *cell = table_cell(table, row, column);

		if (cell->kind == CELL_WORD && !strcmp(cell->word, word))
			return row;
	}
	fail_msg("no row '%s' in '%s'", word, table->id);
	return 0;
}

static inline void assert_near(const char *what, double is, double expected, double reach)
{
	if (!(is >= expected - reach && is <= expected + reach))
		fail_msg("%s: %g, and not %g +- %g", what, is, expected, reach);
}

/* Numbers that a page must have, within a reach. */
struct expected {
	const char *table;
	size_t row;
	const char *column;
	double number, reach;
};

static inline void assert_numbers(const struct page *page, const struct expected *all, size_t count)
{
	for (size_t i = 0; i < count; i++)
		assert_near(all[i].column, number_in(table_of(page, all[i].table), all[i].row, all[i].column),
			    all[i].number, all[i].reach);
}

static inline void assert_claims_met(const struct page *page)
{
	for (size_t i = 0; i < page->count; i++)
		if (page->parts[i].kind == PART_CLAIM && !page->parts[i].claim.met)
			fail_msg("%s: %s: %g", page->experiment->name, page->parts[i].claim.text,
				 page->parts[i].claim.value);
}

/* The verdict of that name, which begins with the paper: "kBF Figure 4, ...". */
static inline void assert_verdict(const struct page *page, const char *of, enum page_agreement agreement)
{
	for (size_t i = 0; i < page->count; i++)
		if (page->parts[i].kind == PART_VERDICT && !strcmp(page->parts[i].verdict.of, of)) {
			assert_int_equal(page->parts[i].verdict.agreement, agreement);
			return;
		}
	fail_msg("no verdict on '%s'", of);
}

/* All numbers of all tables are the same. */
static inline void assert_same_tables(const struct page *a, const struct page *b)
{
	assert_int_equal(a->count, b->count);
	for (size_t i = 0; i < a->count; i++) {
		const struct page_table *s, *t;

		if (a->parts[i].kind != PART_TABLE)
			continue;
		s = a->parts[i].table;
		t = b->parts[i].table;
		for (size_t k = 0; k < s->rows * s->width; k++)
			assert_memory_equal(&s->cells[k].number, &t->cells[k].number,
					    sizeof s->cells[k].number);
	}
}

#endif
