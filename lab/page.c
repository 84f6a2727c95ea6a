/* SPDX-License-Identifier: BSD-2-Clause */
#include "lab/page_parts.h"

#include <assert.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ----------------------------------------------------------------------- memory */

static char *copy(const char *text)
{
	return text ? strcpy(lab_alloc(strlen(text) + 1, 1), text) : NULL;
}

static char *format_text(const char *format, va_list args)
{
	char *text;

	if (vasprintf(&text, format, args) < 0)
		lab_out_of_memory();
	return text;
}

/* Room for one more in a list that doubles whenever its count reaches a power of two. */
static void *grown(void *list, size_t count, size_t size)
{
	void *larger;

	if (count & (count - 1))
		return list;
	larger = lab_alloc(count ? 2 * count : 1, size);
	if (count)
		memcpy(larger, list, count * size);
	free(list);
	return larger;
}

static struct part *add_part(struct page *page, enum part_kind kind)
{
	page->parts = grown(page->parts, page->count, sizeof *page->parts);
	page->parts[page->count].kind = kind;
	return &page->parts[page->count++];
}

/* ------------------------------------------------------------------------- text */

#define ADD_TEXT(page, part_kind, format)                                                                    \
	do {                                                                                                 \
		va_list args;                                                                                \
                                                                                                             \
		va_start(args, format);                                                                      \
		add_part(page, part_kind)->text = format_text(format, args);                                 \
		va_end(args);                                                                                \
	} while (0)

void page_text(struct page *page, const char *format, ...)
{
	ADD_TEXT(page, PART_TEXT, format);
}

void page_heading(struct page *page, const char *format, ...)
{
	ADD_TEXT(page, PART_HEADING, format);
}

void page_fold(struct page *page, const char *format, ...)
{
	ADD_TEXT(page, PART_FOLD, format);
}

void page_skipped(struct page *page, const char *format, ...)
{
	ADD_TEXT(page, PART_SKIPPED, format);
}

/* Named with its paper, the first word of `where`: "ACSM Table 1, DBF". */
static char *name_in_paper(const struct experiment *e, const char *of)
{
	char *name;

	if (asprintf(&name, "%.*s %s", (int)strcspn(e->where, " "), e->where, of) < 0)
		lab_out_of_memory();
	return name;
}

void page_verdict(struct page *page, enum page_agreement agreement, const char *of, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	add_part(page, PART_VERDICT)->verdict = (struct verdict){.agreement = agreement,
								 .of = name_in_paper(page->experiment, of),
								 .text = format_text(format, args)};
	va_end(args);
}

/* ----------------------------------------------------------------------- tables */

/* Columns are known by their names. */
static bool are_distinct(const struct page_column *columns, size_t count)
{
	for (size_t i = 0; i < count; i++)
		for (size_t j = 0; j < i; j++)
			if (!strcmp(columns[i].name, columns[j].name))
				return false;
	return true;
}

struct page_table *page_table(struct page *page, const char *id, const char *title,
			      const struct page_column *columns, size_t count)
{
	struct page_table *table = lab_alloc(1, sizeof *table);

	assert(are_distinct(columns, count));
	*table = (struct page_table){.id = copy(id), .title = copy(title), .width = count};
	table->columns = lab_alloc(count, sizeof *columns);
	for (size_t i = 0; i < count; i++)
		table->columns[i] = (struct page_column){copy(columns[i].name), copy(columns[i].unit),
							 columns[i].digits ? columns[i].digits : 4};
	add_part(page, PART_TABLE)->table = table;
	return table;
}

void page_row(struct page_table *table)
{
	for (size_t i = 0; i < table->width; i++)
		table->cells = grown(table->cells, table->rows * table->width + i, sizeof *table->cells);
	memset(&table->cells[table->rows * table->width], 0, table->width * sizeof *table->cells);
	table->rows++;
	table->filled = 0;
}

static struct cell *next_cell(struct page_table *table)
{
	assert(table->rows &&
	       table->filled < table->width); /* else the experiment has a row with too many cells */
	return &table->cells[(table->rows - 1) * table->width + table->filled++];
}

void page_word(struct page_table *table, const char *format, ...)
{
	struct cell *cell = next_cell(table);
	va_list args;

	va_start(args, format);
	*cell = (struct cell){.kind = CELL_WORD, .word = format_text(format, args)};
	va_end(args);
}

void page_number(struct page_table *table, double number)
{
	*next_cell(table) = (struct cell){.kind = CELL_NUMBER, .number = {number, number, number}};
}

void page_spread(struct page_table *table, struct spread spread)
{
	*next_cell(table) = (struct cell){.kind = CELL_SPREAD, .number = spread};
}

void page_blank(struct page_table *table)
{
	next_cell(table);
}

const struct cell *table_cell(const struct page_table *table, size_t row, size_t column)
{
	return &table->cells[row * table->width + column];
}

bool is_wordy(const struct page_table *table, size_t column)
{
	for (size_t row = 0; row < table->rows; row++)
		if (table_cell(table, row, column)->kind == CELL_WORD)
			return true;
	return false;
}

/* ------------------------------------------------------------------------ plots */

static struct page_axis copy_axis(struct page_axis axis)
{
	axis.name = copy(axis.name);
	axis.unit = copy(axis.unit);
	return axis;
}

struct page_plot *page_plot(struct page *page, const char *id, const char *title, struct page_axis x,
			    struct page_axis y)
{
	struct page_plot *plot = lab_alloc(1, sizeof *plot);

	*plot = (struct page_plot){
		.id = copy(id), .title = copy(title), .x = copy_axis(x), .y = copy_axis(y)};
	add_part(page, PART_PLOT)->plot = plot;
	return plot;
}

struct page_series *page_series(struct page_plot *plot, enum page_style style, enum structure structure,
				const char *name)
{
	struct page_series *series = lab_alloc(1, sizeof *series);

	*series = (struct page_series){.style = style, .structure = structure, .name = copy(name)};
	plot->series = grown(plot->series, plot->count, sizeof *plot->series);
	plot->series[plot->count++] = series;
	return series;
}

static void add_point(struct page_series *series, struct point point)
{
	series->points = grown(series->points, series->count, sizeof point);
	series->points[series->count++] = point;
}

void page_point(struct page_series *series, double x, double y)
{
	add_point(series, (struct point){x, {y, y, y}, false});
}

void page_point_spread(struct page_series *series, double x, struct spread y)
{
	add_point(series, (struct point){x, y, true});
}

/* --------------------------------------------------------------------- pictures */

void page_picture(struct page *page, const uint8_t *png, size_t size, const char *format, ...)
{
	struct picture picture = {.png = lab_alloc(size, 1), .size = size};
	va_list args;

	memcpy(picture.png, png, size);
	va_start(args, format);
	picture.title = format_text(format, args);
	va_end(args);
	add_part(page, PART_PICTURE)->picture = picture;
}

/* ----------------------------------------------------------------------- claims */

static bool claim(struct page *page, double value, struct spread bounds, char *text)
{
	bool met = value >= bounds.low && value <= bounds.high;

	add_part(page, PART_CLAIM)->claim = (struct claim){
		.text = text, .value = value, .low = bounds.low, .high = bounds.high, .met = met};
	return met;
}

bool page_claim(struct page *page, double value, enum page_bound way, double bound, const char *format, ...)
{
	struct spread bounds = {0, way == PAGE_AT_LEAST ? bound : -INFINITY,
				way == PAGE_AT_MOST ? bound : INFINITY};
	va_list args;
	bool met;

	va_start(args, format);
	met = claim(page, value, bounds, format_text(format, args));
	va_end(args);
	return met;
}

bool page_claim_within(struct page *page, double value, double low, double high, const char *format, ...)
{
	va_list args;
	bool met;

	va_start(args, format);
	met = claim(page, value, (struct spread){0, low, high}, format_text(format, args));
	va_end(args);
	return met;
}

/* ---------------------------------------------------------------- beginning, end */

struct page *page_new(const struct experiment *experiment)
{
	struct page *page = lab_alloc(1, sizeof *page);

	page->experiment = experiment;
	return page;
}

static void free_table(struct page_table *table)
{
	for (size_t i = 0; i < table->rows * table->width; i++)
		free(table->cells[i].word);
	for (size_t i = 0; i < table->width; i++) {
		free((char *)table->columns[i].name);
		free((char *)table->columns[i].unit);
	}
	free(table->cells);
	free(table->columns);
	free(table->id);
	free(table->title);
	free(table);
}

static void free_axis(struct page_axis *axis)
{
	free((char *)axis->name);
	free((char *)axis->unit);
}

static void free_plot(struct page_plot *plot)
{
	for (size_t i = 0; i < plot->count; i++) {
		free(plot->series[i]->points);
		free(plot->series[i]->name);
		free(plot->series[i]);
	}
	free_axis(&plot->x);
	free_axis(&plot->y);
	free(plot->series);
	free(plot->id);
	free(plot->title);
	free(plot);
}

static void free_part(struct part *part)
{
	if (part->kind == PART_TABLE)
		free_table(part->table);
	else if (part->kind == PART_PLOT)
		free_plot(part->plot);
	else if (part->kind == PART_PICTURE) {
		free(part->picture.title);
		free(part->picture.png);
	} else if (part->kind == PART_VERDICT) {
		free(part->verdict.of);
		free(part->verdict.text);
	} else
		free(part->kind == PART_CLAIM ? part->claim.text : part->text);
}

void page_free(struct page *page)
{
	for (size_t i = 0; i < page->count; i++)
		free_part(&page->parts[i]);
	free(page->parts);
	free(page);
}
