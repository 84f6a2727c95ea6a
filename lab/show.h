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

/* A number with so many digits that count: "0.00123", "12.3", "1,081,344", "3.9e-6". */
const char *show_number(double number, int digits, char *text, size_t size);

/* Four digits at most, and no needless zeros: for a number that stands alone. */
const char *show_short(double number, char *text, size_t size);

/* A cell as people read it: "12.3", "12.3 (11.9 .. 12.8)", "FCF 1", "". */
const char *show_cell(const struct cell *cell, const struct page_column *column, char *text, size_t size);

/* What a claim asks: "at most 0.37", "0.57 to 0.61". */
const char *show_bounds(const struct claim *claim, char *text, size_t size);

/* Of the claims of some pages: how many there are, how many are met; and parts that were skipped. */
struct tally {
	unsigned claims, met, skipped;
};
struct tally tally_pages(struct page *const *pages, size_t count);

/* For so many columns: tables that line up, and fit; text of at most 100 columns. 0: tables of any width. */
void show_text(const struct page *page, int columns, FILE *to);

/* One object a line. docs/reproduction.md lists the records. */
void show_ndjson(const struct report *report, FILE *to);

/* One file that needs no other. */
void show_html(const struct report *report, FILE *to);

/* For show_html(): a plot as SVG, with its legend. */
void show_plot(const struct page_plot *plot, FILE *to);

/* Text with what HTML means by <, >, & and " made harmless. */
void show_escaped(const char *text, FILE *to);

#endif
