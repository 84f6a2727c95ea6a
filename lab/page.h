/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A page holds the results of an experiment: text, verdicts, tables, plots and claims, in the order in which
 * they were written. It is shown as text on the terminal, as NDJSON, and as a part of the report in HTML.
 *
 *	page_text(page, "Three seeds; ranges are from the minimum to the maximum.");
 *	struct page_table *rows = page_table(page, "rows", "Errors in percent of the flows",
 *					     (struct page_column[]){{"structure"}, {"memory", "bit"},
 *								    {"paper", "%", 3}, {"ours", "%", 3}}, 4);
 *	page_row(rows);
 *	page_word(rows, "FCF 1");
 *	page_number(rows, 516096);
 *	page_number(rows, 3.205);
 *	page_spread(rows, spread_of(values, 3));
 *
 * Strings are copied. A page is written by one thread: after lab_each().
 */
#ifndef INKLING_LAB_PAGE_H
#define INKLING_LAB_PAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lab/statistics.h"
#include "lab/structure.h"

struct page;
struct page_table;
struct page_plot;
struct page_series;

/* ------------------------------------------------------------------------ text */

/* A paragraph. */
__attribute__((format(printf, 2, 3))) void page_text(struct page *page, const char *format, ...);

/* A heading within the experiment. */
__attribute__((format(printf, 2, 3))) void page_heading(struct page *page, const char *format, ...);

/* A heading whose section, up to the next heading, is folded in the report: detail that few readers need. */
__attribute__((format(printf, 2, 3))) void page_fold(struct page *page, const char *format, ...);

/* The experiment, or the rest of it, cannot run here: the reason, and what to do about it. */
__attribute__((format(printf, 2, 3))) void page_skipped(struct page *page, const char *format, ...);

/* -------------------------------------------------------------------- verdicts */

enum page_agreement {
	PAGE_AGREES,
	PAGE_DISAGREES,
	PAGE_IMPOSSIBLE /* the printed number contradicts itself, arithmetic, or the algorithm printed beside it */
};

/*
 * What this run says of one table, figure or formula of the paper, in one sentence. `of` names it ("Table 1,
 * DBF"); the paper is that of the experiment. The run decides which it is, by a rule in the code. All
 * verdicts open the report.
 */
__attribute__((format(printf, 4, 5))) void page_verdict(struct page *page, enum page_agreement agreement,
							const char *of, const char *format, ...);

/* ---------------------------------------------------------------------- tables */

/* Names are unique in a table. `digits`: significant ones (3 -> 0.00123, 12.3, 1234), 0 = 4. `unit` may be NULL. */
struct page_column {
	const char *name;
	const char *unit;
	int digits;
};

/* `id`: the table's name in NDJSON, unique within the page. */
struct page_table *page_table(struct page *page, const char *id, const char *title,
			      const struct page_column *columns, size_t count);

void page_row(struct page_table *table); /* begins a row; its cells follow, from the left */
__attribute__((format(printf, 2, 3))) void page_word(struct page_table *table, const char *format, ...);
void page_number(struct page_table *table, double number);
void page_spread(struct page_table *table, struct spread spread);
void page_blank(struct page_table *table); /* no value, as where the paper gives none */

/* ----------------------------------------------------------------------- plots */

struct page_axis {
	const char *name;
	const char *unit; /* may be NULL */
	bool log;         /* numbers that are not positive are drawn at the edge, as "0" */
	double low, high; /* both 0: from the points */
};

/* How a series is drawn: a line with points, points alone, a line alone, or the crosses of the paper's numbers. */
enum page_style { PAGE_LINE, PAGE_POINTS, PAGE_CURVE, PAGE_PAPER };

struct page_plot *page_plot(struct page *page, const char *id, const char *title, struct page_axis x,
			    struct page_axis y);
struct page_series *page_series(struct page_plot *plot, enum page_style style, enum structure structure,
				const char *name);
void page_point(struct page_series *series, double x, double y);
void page_point_spread(struct page_series *series, double x, struct spread y); /* with a whisker */

/* -------------------------------------------------------------------- pictures */

/* A PNG below its title; pictures that follow each other stand side by side. Only the report shows it. */
__attribute__((format(printf, 4, 5))) void page_picture(struct page *page, const uint8_t *png, size_t size,
							const char *format, ...);

/* ---------------------------------------------------------------------- claims */

enum page_bound { PAGE_AT_MOST, PAGE_AT_LEAST };

/*
 * A claim that this run decides: `value` against `bound`. It is shown as met or missed; the text says what is
 * claimed. Returns whether it is met.
 */
__attribute__((format(printf, 5, 6))) bool page_claim(struct page *page, double value, enum page_bound way,
						      double bound, const char *format, ...);

/* The same with two bounds. */
__attribute__((format(printf, 5, 6))) bool page_claim_within(struct page *page, double value, double low,
							     double high, const char *format, ...);

#endif
