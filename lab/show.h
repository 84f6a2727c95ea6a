/* SPDX-License-Identifier: BSD-2-Clause */
/* How pages are shown: as text on a terminal, as NDJSON, and as a report in HTML. */
#ifndef INKLING_LAB_SHOW_H
#define INKLING_LAB_SHOW_H

#include <stdio.h>
#include <time.h>

#include "lab/page_parts.h"

/* A whole run. What varies from run to run (when, where, how long) is shown in HTML alone. */
struct report {
	const struct lab *lab;
	struct page **pages;
	size_t count;
	time_t when;
	double seconds;
	char processor[80];
};

/* "quick", "normal", "full". */
const char *show_size(enum lab_size size);

/* "40 s", "12 min". */
enum { SHOW_SECONDS = 16 };
const char *show_seconds(double seconds, char text[SHOW_SECONDS]);

/* A number with this many significant digits: "0.00123", "12.3", "1,081,344", "3.9e-6". */
const char *show_number(double number, int digits, char *text, size_t size);

/* At most four digits, without trailing zeros: for a number in a sentence. */
const char *show_short(double number, char *text, size_t size);

/* A cell: "12.3", "12.3 (11.9 .. 12.8)", "FCF 1", "". */
const char *show_cell(const struct cell *cell, const struct page_column *column, char *text, size_t size);

/* The bounds of a claim: "at most 0.37", "0.57 to 0.61". */
const char *show_bounds(const struct claim *claim, char *text, size_t size);

/* "agrees", "does not agree", "the printed number cannot be right". */
const char *show_agreement(enum page_agreement agreement);

/* What some pages have: claims, and how many are met; parts that were skipped; verdicts by enum page_agreement. */
struct tally {
	unsigned claims, met, skipped, verdicts[PAGE_IMPOSSIBLE + 1];
};
struct tally tally_pages(struct page *const *pages, size_t count);

/* For a terminal of this many columns; 0: tables of any width. Text has at most 100 columns. */
void show_text(const struct page *page, int columns, FILE *to);

/* One object a line. docs/reproduction.md lists the records. */
void show_ndjson(const struct report *report, FILE *to);

/* One self-contained file. */
void show_html(const struct report *report, FILE *to);

/* The same with one page and no report around it. */
void show_page_alone(const struct page *page, FILE *to);

/* For show_html(): a plot as SVG with its legend, and the legend of all structures. */
void show_plot(const struct page_plot *plot, FILE *to);
void show_structures(FILE *to);

/* Text with <, >, & and " escaped for HTML. */
void show_escaped(const char *text, FILE *to);

#endif
