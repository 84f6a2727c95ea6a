/* SPDX-License-Identifier: BSD-2-Clause */
/* Pages as NDJSON: one object a line; every number with all its digits, every record with its experiment. */
#include "lab/show.h"

#include <math.h>

#include "sim/text.h"

static void field(const char *name, const char *text, FILE *to)
{
	fprintf(to, ",\"%s\":", name);
	sim_put_json(text, to);
}

/* JSON has no infinity: such a number is null. */
static void number(double value, FILE *to)
{
	if (isfinite(value))
		fprintf(to, "%.12g", value);
	else
		fputs("null", to);
}

static void number_field(const char *name, double value, FILE *to)
{
	fprintf(to, ",\"%s\":", name);
	number(value, to);
}

static void begin(const char *type, const struct page *page, FILE *to)
{
	fprintf(to, "{\"type\":\"%s\"", type);
	field("experiment", page->experiment->name, to);
}

static void end(FILE *to)
{
	fputs("}\n", to);
}

/* ------------------------------------------------------------------------ parts */

static void cell(const struct cell *cell, FILE *to)
{
	switch (cell->kind) {
	case CELL_BLANK:
		fputs("null", to);
		return;
	case CELL_WORD:
		sim_put_json(cell->word, to);
		return;
	case CELL_NUMBER:
		number(cell->number.middle, to);
		return;
	default:
		fputs("{\"middle\":", to);
		number(cell->number.middle, to);
		number_field("low", cell->number.low, to);
		number_field("high", cell->number.high, to);
		fputc('}', to);
	}
}

static void rows(const struct page *page, const struct page_table *table, FILE *to)
{
	for (size_t row = 0; row < table->rows; row++) {
		begin("row", page, to);
		field("table", table->id, to);
		fputs(",\"cells\":{", to);
		for (size_t i = 0; i < table->width; i++) {
			fputs(i ? "," : "", to);
			sim_put_json(table->columns[i].name, to);
			fputc(':', to);
			cell(table_cell(table, row, i), to);
		}
		fputc('}', to);
		end(to);
	}
}

static void points(const struct page *page, const struct page_plot *plot, FILE *to)
{
	for (size_t i = 0; i < plot->count; i++)
		for (size_t j = 0; j < plot->series[i]->count; j++) {
			const struct point *point = &plot->series[i]->points[j];

			begin("point", page, to);
			field("plot", plot->id, to);
			field("series", plot->series[i]->name, to);
			number_field("x", point->x, to);
			number_field("y", point->y.middle, to);
			if (point->whisker) {
				number_field("low", point->y.low, to);
				number_field("high", point->y.high, to);
			}
			end(to);
		}
}

static void claim(const struct page *page, const struct claim *claim, FILE *to)
{
	begin("claim", page, to);
	field("claim", claim->text, to);
	number_field("value", claim->value, to);
	number_field("at_least", claim->low, to);
	number_field("at_most", claim->high, to);
	fprintf(to, ",\"met\":%s", claim->met ? "true" : "false");
	end(to);
}

static void verdict(const struct page *page, const struct verdict *verdict, FILE *to)
{
	begin("verdict", page, to);
	field("of", verdict->of, to);
	field("verdict", show_agreement(verdict->agreement), to);
	field("text", verdict->text, to);
	end(to);
}

static void text(const struct page *page, const struct part *part, FILE *to)
{
	static const char *const types[] = {[PART_TEXT] = "text",
					    [PART_HEADING] = "heading",
					    [PART_FOLD] = "heading",
					    [PART_SKIPPED] = "skipped"};

	begin(types[part->kind], page, to);
	field("text", part->text, to);
	end(to);
}

static void show_page(const struct page *page, FILE *to)
{
	begin("experiment", page, to);
	field("title", page->experiment->title, to);
	field("where", page->experiment->where, to);
	if (page->experiment->interpretation)
		field("interpretation", page->experiment->interpretation, to);
	end(to);
	for (size_t i = 0; i < page->count; i++) {
		const struct part *part = &page->parts[i];

		if (part->kind == PART_TABLE)
			rows(page, part->table, to);
		else if (part->kind == PART_PLOT)
			points(page, part->plot, to);
		else if (part->kind == PART_CLAIM)
			claim(page, &part->claim, to);
		else if (part->kind == PART_VERDICT)
			verdict(page, &part->verdict, to);
		else
			text(page, part, to);
	}
}

void show_ndjson(const struct report *report, FILE *to)
{
	struct tally tally = tally_pages(report->pages, report->count);

	for (size_t i = 0; i < report->count; i++)
		show_page(report->pages[i], to);
	fprintf(to, "{\"type\":\"summary\",\"size\":\"%s\",\"seed\":%llu,\"seeds\":%u",
		show_size(report->lab->size), (unsigned long long)report->lab->seed, report->lab->seeds);
	fprintf(to,
		",\"claims\":%u,\"met\":%u,\"skipped\":%u,\"agree\":%u,\"disagree\":%u,\"impossible\":%u}\n",
		tally.claims, tally.met, tally.skipped, tally.verdicts[PAGE_AGREES],
		tally.verdicts[PAGE_DISAGREES], tally.verdicts[PAGE_IMPOSSIBLE]);
}
