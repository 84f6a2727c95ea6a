/* SPDX-License-Identifier: BSD-2-Clause */
/* A page on the terminal. Plots are left to the report in HTML; their numbers are in the NDJSON. */
#include "show.h"

#include <stdlib.h>
#include <string.h>

enum { WIDTH = 100, CELL = 256 };

/* Columns that a text takes: bytes that continue a UTF-8 character take none. */
static int columns_of(const char *text)
{
	int columns = 0;

	for (; *text; text++)
		columns += ((unsigned char)*text & 0xc0) != 0x80;
	return columns;
}

static void wrap(const char *text, const char *indent, FILE *to)
{
	int used = 0;

	while (*text) {
		int length = (int)strcspn(text, " \n");

		if (used && used + 1 + length > WIDTH) {
			fputc('\n', to);
			used = 0;
		}
		if (length)
			used += fprintf(to, "%s%.*s", used ? " " : indent, length, text);
		text += length + (text[length] != 0);
	}
	fputc('\n', to);
}

/* ----------------------------------------------------------------------- tables */

static void heading(const struct page_column *column, char *text, size_t size)
{
	if (column->unit)
		snprintf(text, size, "%s, %s", column->name, column->unit);
	else
		snprintf(text, size, "%s", column->name);
}

static int width_of(const struct page_table *table, size_t column)
{
	char text[CELL];
	int widest;

	heading(&table->columns[column], text, sizeof text);
	widest = columns_of(text);
	for (size_t row = 0; row < table->rows; row++) {
		int width = columns_of(show_cell(table_cell(table, row, column), &table->columns[column],
						 text, sizeof text));

		widest = width > widest ? width : widest;
	}
	return widest;
}

/* Words stand at the left, numbers at the right. */
static void put(const char *text, int width, bool left, FILE *to)
{
	int gap = width - columns_of(text);

	fprintf(to, "  %*s%s%*s", left ? 0 : gap, "", text, left ? gap : 0, "");
}

static void show_row(const struct page_table *table, const int *widths, size_t row, FILE *to)
{
	char text[CELL];

	for (size_t i = 0; i < table->width; i++)
		put(show_cell(table_cell(table, row, i), &table->columns[i], text, sizeof text), widths[i],
		    is_wordy(table, i), to);
	fputc('\n', to);
}

static void show_table(const struct page_table *table, FILE *to)
{
	int *widths = lab_alloc(table->width, sizeof *widths);
	char text[CELL];

	fputc('\n', to);
	wrap(table->title, "  ", to);
	for (size_t i = 0; i < table->width; i++) {
		widths[i] = width_of(table, i);
		heading(&table->columns[i], text, sizeof text);
		put(text, widths[i], is_wordy(table, i), to);
	}
	fputc('\n', to);
	for (size_t row = 0; row < table->rows; row++)
		show_row(table, widths, row, to);
	free(widths);
}

/* ------------------------------------------------------------------------- page */

static void show_claim(const struct claim *claim, FILE *to)
{
	char value[32], bounds[80];

	fprintf(to, "\n  %s  %s, asked for %s:\n", claim->met ? "met   " : "MISSED",
		show_short(claim->value, value, sizeof value), show_bounds(claim, bounds, sizeof bounds));
	wrap(claim->text, "          ", to);
}

static void show_part(const struct part *part, FILE *to)
{
	switch (part->kind) {
	case PART_TABLE:
		show_table(part->table, to);
		return;
	case PART_CLAIM:
		show_claim(&part->claim, to);
		return;
	case PART_PLOT:
		return;
	default:
		fprintf(to, part->kind == PART_SKIPPED ? "\n  skipped:\n" : "\n");
		wrap(part->text, part->kind == PART_HEADING ? "" : "  ", to);
	}
}

void show_text(const struct page *page, FILE *to)
{
	fprintf(to, "%s: %s (%s)\n", page->experiment->name, page->experiment->title,
		page->experiment->where);
	wrap(page->experiment->shows, "  ", to);
	for (size_t i = 0; i < page->count; i++)
		show_part(&page->parts[i], to);
	fputc('\n', to);
}
