/* SPDX-License-Identifier: BSD-2-Clause */
/* The parts of a page, for the files that show it: text.c, ndjson.c, html.c. Experiments write through page.h. */
#ifndef INKLING_LAB_PAGE_PARTS_H
#define INKLING_LAB_PAGE_PARTS_H

#include "lab/runner.h"
#include "lab/page.h"

enum part_kind {
	PART_TEXT,
	PART_HEADING,
	PART_FOLD,
	PART_SKIPPED,
	PART_VERDICT,
	PART_TABLE,
	PART_PLOT,
	PART_PICTURE,
	PART_CLAIM
};

struct cell {
	enum { CELL_BLANK, CELL_WORD, CELL_NUMBER, CELL_SPREAD } kind;
	char *word;
	struct spread number; /* a plain one is its middle */
};

struct page_table {
	char *id, *title;
	struct page_column *columns;
	size_t width;
	struct cell *cells;  /* rows of `width` */
	size_t rows, filled; /* filled: cells of the last row */
};

struct point {
	double x;
	struct spread y;
	bool whisker;
};

struct page_series {
	enum page_style style;
	enum structure structure;
	char *name;
	struct point *points;
	size_t count;
};

struct page_plot {
	char *id, *title;
	struct page_axis x, y;
	struct page_series **series; /* pointers, since experiments keep them */
	size_t count;
};

struct picture {
	char *title;
	uint8_t *png;
	size_t size;
};

struct verdict {
	enum page_agreement agreement;
	char *of, *text;
};

struct claim {
	char *text;
	double value, low, high; /* -INFINITY or INFINITY: no such bound */
	bool met;
};

struct part {
	enum part_kind kind;
	union {
		char *text;
		struct page_table *table;
		struct page_plot *plot;
		struct picture picture;
		struct claim claim;
		struct verdict verdict;
	};
};

struct page {
	const struct experiment *experiment;
	struct part *parts;
	size_t count;
};

struct page *page_new(const struct experiment *experiment);
void page_free(struct page *page);

/* The cell in row `row`, column `column`. */
const struct cell *table_cell(const struct page_table *table, size_t row, size_t column);

/* Whether a column has words, and is aligned to the left; numbers are aligned to the right. */
bool is_wordy(const struct page_table *table, size_t column);

#endif
