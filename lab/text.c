/* SPDX-License-Identifier: BSD-2-Clause */
/* A page on the terminal. Plots are left to the report in HTML; their numbers are in the NDJSON. */
#include "lab/show.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "sim/text.h"

enum { WIDTH = 100, CELL = 256 }; /* longer lines of words are hard to read */

/* Where it goes, and how many columns words and tables may take there. */
struct sheet {
	FILE *to;
	int words, table;
};

/* Columns that a text takes: bytes that continue a UTF-8 character take none. */
static int columns_of(const char *text)
{
	int columns = 0;

	for (; *text; text++)
		columns += ((unsigned char)*text & 0xc0) != 0x80;
	return columns;
}

static void wrap(const char *text, const char *indent, const struct sheet *sheet)
{
	sim_put_wrapped(text, indent, indent, sheet->words, sheet->to);
}

/* ----------------------------------------------------------------------- tables */

/*
 * A table that is too wide gets headings of several lines. If it is still too wide, it is split into parts, printed
 * one below the other. Each part begins with the columns that identify the row, as many as are needed:
 *
 *     kind  bad, %       FP, %       FN, %
 *     line       9  1 (0 .. 2)  3 (1 .. 4)
 *
 *     kind  bad, %       DK, %
 *     line       9  5 (4 .. 6)
 */
struct layout {
	const struct page_table *table;
	FILE *to;
	int *widths;
	size_t keys;
};

enum { GAP = 2 }; /* before each column */

static void heading(const struct page_column *column, char *text, size_t size)
{
	if (column->unit)
		snprintf(text, size, "%s, %s", column->name, column->unit);
	else
		snprintf(text, size, "%s", column->name);
}

/* The number of lines of a heading in this many columns; `line` receives the wanted one. */
static int break_heading(const char *words, int width, int wanted, char line[CELL])
{
	int lines = 0, used = 0, n = 0;

	line[0] = 0;
	while (*words) {
		int length = (int)strcspn(words, " ");

		if (used && used + 1 + length > width) {
			lines++;
			used = 0;
		}
		if (lines == wanted && n + length + 1 < CELL)
			n += snprintf(line + n, (size_t)(CELL - n), "%s%.*s", used ? " " : "", length, words);
		used += (used > 0) + length;
		words += length + (words[length] != 0);
	}
	return lines + 1;
}

static int longest_word(const char *words)
{
	int longest = 0;

	while (*words) {
		int length = (int)strcspn(words, " ");

		longest = length > longest ? length : longest;
		words += length + (words[length] != 0);
	}
	return longest;
}

static const char *cell_text(const struct page_table *table, size_t row, size_t column, char text[CELL])
{
	return show_cell(table_cell(table, row, column), &table->columns[column], text, CELL);
}

static int width_of(const struct page_table *table, size_t column, bool broken)
{
	char text[CELL];
	int widest;

	heading(&table->columns[column], text, sizeof text);
	widest = broken ? longest_word(text) : columns_of(text);
	for (size_t row = 0; row < table->rows; row++) {
		int width = columns_of(cell_text(table, row, column, text));

		widest = width > widest ? width : widest;
	}
	return widest;
}

static void set_widths(struct layout *l, bool broken)
{
	for (size_t i = 0; i < l->table->width; i++)
		l->widths[i] = width_of(l->table, i, broken);
}

/* Of the columns from one to before another, with their gaps. */
static int sum_of(const struct layout *l, size_t from, size_t to)
{
	int sum = 0;

	for (; from < to; from++)
		sum += GAP + l->widths[from];
	return sum;
}

static bool are_same(const struct page_table *table, size_t a, size_t b, size_t columns)
{
	char one[CELL], other[CELL];

	for (size_t i = 0; i < columns; i++)
		if (strcmp(cell_text(table, a, i, one), cell_text(table, b, i, other)))
			return false;
	return true;
}

static bool tell_rows_apart(const struct page_table *table, size_t columns)
{
	for (size_t a = 0; a < table->rows; a++)
		for (size_t b = 0; b < a; b++)
			if (are_same(table, a, b, columns))
				return false;
	return true;
}

/* The fewest that tell the rows apart; one, if those would leave no room for the others. */
static size_t keys_of(const struct layout *l, int room)
{
	size_t keys = 1;

	while (keys < l->table->width && !tell_rows_apart(l->table, keys))
		keys++;
	return sum_of(l, 0, keys) <= room / 2 ? keys : 1;
}

/* A line that is being written, and the blanks before its next text; so no line ends with blanks. */
struct line {
	FILE *to;
	int blanks;
};

/* Words are aligned left, numbers right. */
static void put(struct line *line, const char *text, int width, bool left)
{
	int gap = width - columns_of(text);

	line->blanks += GAP + (left ? 0 : gap);
	if (*text) {
		fprintf(line->to, "%*s%s", line->blanks, "", text);
		line->blanks = 0;
	}
	line->blanks += left ? gap : 0;
}

static void end(struct line *line)
{
	fputc('\n', line->to);
	line->blanks = 0;
}

/* The columns that say which row it is, and those from one to before another. */
static bool is_shown(const struct layout *l, size_t column, size_t from, size_t to)
{
	return column < l->keys || (column >= from && column < to);
}

/* The number of lines of a heading; `line` receives the wanted one. */
static int heading_of(const struct layout *l, size_t column, int wanted, char line[CELL])
{
	char words[CELL];

	heading(&l->table->columns[column], words, sizeof words);
	return break_heading(words, l->widths[column], wanted, line);
}

/* Headings with fewer lines than others are aligned to the bottom. */
static void show_headings(const struct layout *l, size_t from, size_t to)
{
	struct line line = {l->to, 0};
	char text[CELL];
	int most = 1;

	for (size_t i = 0; i < l->table->width; i++)
		if (is_shown(l, i, from, to) && heading_of(l, i, 0, text) > most)
			most = heading_of(l, i, 0, text);
	for (int above = most; above > 0; above--) {
		for (size_t i = 0; i < l->table->width; i++) {
			if (!is_shown(l, i, from, to))
				continue;
			heading_of(l, i, heading_of(l, i, 0, text) - above, text);
			put(&line, text, l->widths[i], is_wordy(l->table, i));
		}
		end(&line);
	}
}

static void show_row(const struct layout *l, size_t row, size_t from, size_t to)
{
	struct line line = {l->to, 0};
	char text[CELL];

	for (size_t i = 0; i < l->table->width; i++)
		if (is_shown(l, i, from, to))
			put(&line, cell_text(l->table, row, i, text), l->widths[i], is_wordy(l->table, i));
	end(&line);
}

static void show_columns(const struct layout *l, size_t from, size_t to)
{
	show_headings(l, from, to);
	for (size_t row = 0; row < l->table->rows; row++)
		show_row(l, row, from, to);
}

/* "FP paper" belongs to the "FP" after it, with which it is compared. */
static bool belongs_to_next(const struct layout *l, size_t column)
{
	const char *next = l->table->columns[column + 1].name;

	return !strncmp(l->table->columns[column].name, next, strlen(next));
}

/* One past the last column of a part that begins at `from`: as many as fit, at least one. */
static size_t end_of_part(const struct layout *l, size_t from, int room)
{
	size_t to = from + 1;

	while (to < l->table->width && sum_of(l, from, to + 1) <= room)
		to++;
	if (to < l->table->width && to > from + 1 && belongs_to_next(l, to - 1))
		to--;
	return to;
}

static void show_in_parts(struct layout *l, const struct sheet *sheet)
{
	size_t from, to;

	l->keys = l->table->width > 1 ? keys_of(l, sheet->table) : 0;
	for (from = l->keys; from < l->table->width; from = to) {
		to = end_of_part(l, from, sheet->table - sum_of(l, 0, l->keys));
		if (from > l->keys)
			fputc('\n', sheet->to);
		show_columns(l, from, to);
	}
}

static void show_table(const struct page_table *table, const struct sheet *sheet)
{
	struct layout l = {
		.table = table, .to = sheet->to, .widths = lab_alloc(table->width, sizeof *l.widths)};

	fputc('\n', sheet->to);
	wrap(table->title, "  ", sheet);
	set_widths(&l, false);
	if (sum_of(&l, 0, table->width) > sheet->table)
		set_widths(&l, true);
	if (sum_of(&l, 0, table->width) > sheet->table)
		show_in_parts(&l, sheet);
	else
		show_columns(&l, 0, table->width);
	free(l.widths);
}

/* ------------------------------------------------------------------------- page */

static void show_claim(const struct claim *claim, const struct sheet *sheet)
{
	char value[32], bounds[80];

	fprintf(sheet->to, "\n  %s  %s, bound %s:\n", claim->met ? "met   " : "MISSED",
		show_short(claim->value, value, sizeof value), show_bounds(claim, bounds, sizeof bounds));
	wrap(claim->text, "          ", sheet);
}

static void show_verdict(const struct verdict *verdict, const struct sheet *sheet)
{
	fprintf(sheet->to, "\n  %s: %s\n", verdict->of, show_agreement(verdict->agreement));
	wrap(verdict->text, "          ", sheet);
}

static void show_part(const struct part *part, const struct sheet *sheet)
{
	switch (part->kind) {
	case PART_TABLE:
		show_table(part->table, sheet);
		return;
	case PART_CLAIM:
		show_claim(&part->claim, sheet);
		return;
	case PART_VERDICT:
		show_verdict(&part->verdict, sheet);
		return;
	case PART_PLOT:
	case PART_PICTURE:
		return;
	default:
		fprintf(sheet->to, part->kind == PART_SKIPPED ? "\n  skipped:\n" : "\n");
		wrap(part->text, part->kind == PART_HEADING || part->kind == PART_FOLD ? "" : "  ", sheet);
	}
}

void show_text(const struct page *page, int columns, FILE *to)
{
	const struct sheet sheet = {.to = to,
				    .words = columns && columns < WIDTH ? columns : WIDTH,
				    .table = columns ? columns : INT_MAX};
	char title[CELL];

	snprintf(title, sizeof title, "%s: %s (%s)", page->experiment->name, page->experiment->title,
		 page->experiment->where);
	sim_put_wrapped(title, "", "", sheet.table, to);
	wrap(page->experiment->shows, "  ", &sheet);
	if (page->experiment->interpretation) {
		fputs("\n  Claims and verdicts are bound to this interpretation:\n", to);
		wrap(page->experiment->interpretation, "  ", &sheet);
	}
	for (size_t i = 0; i < page->count; i++)
		show_part(&page->parts[i], &sheet);
	fputc('\n', to);
}
