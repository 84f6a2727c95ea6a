/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The report: one HTML file without scripts and without requests to the network, to be mailed, printed, and read
 * on a phone. Its style sheet is lab/report.css.
 *
 *	head          date, version, processor, duration
 *	verdicts      every table, figure and formula of the papers: agrees, does not agree, cannot be right
 *	structures    their colours and marks, the same in all plots
 *	experiments   each with its verdicts, text, plots and tables; details and claims fold
 *
 * Wide tables scroll by themselves; the page never scrolls sideways.
 */
#include "lab/show.h"

#include <string.h>

#include <inkling/inkling.h>

extern const char *const report_css[]; /* the lines of lab/report.css */

void show_escaped(const char *text, FILE *to)
{
	for (; *text; text++)
		switch (*text) {
		case '<':
			fputs("&lt;", to);
			break;
		case '>':
			fputs("&gt;", to);
			break;
		case '&':
			fputs("&amp;", to);
			break;
		case '"':
			fputs("&quot;", to);
			break;
		default:
			fputc(*text, to);
		}
}

/* `tag` may have attributes: "p class=\"soft\"". */
static void element(const char *tag, const char *text, FILE *to)
{
	fprintf(to, "<%s>", tag);
	show_escaped(text, to);
	fprintf(to, "</%.*s>\n", (int)(strcspn(tag, " ")), tag);
}

/* ----------------------------------------------------------------------- tables */

static void table_head(const struct page_table *table, FILE *to)
{
	fputs("<thead><tr>", to);
	for (size_t i = 0; i < table->width; i++) {
		fputs(is_wordy(table, i) ? "<th class=\"word\">" : "<th>", to);
		show_escaped(table->columns[i].name, to);
		if (table->columns[i].unit) {
			fputs("<small>", to);
			show_escaped(table->columns[i].unit, to);
			fputs("</small>", to);
		}
		fputs("</th>", to);
	}
	fputs("</tr></thead>", to);
}

/* The ends of a spread are printed small below its middle. */
static void spread_cell(const struct cell *cell, int digits, FILE *to)
{
	char text[32];

	fprintf(to, "<td>%s", show_number(cell->number.middle, digits, text, sizeof text));
	if (cell->number.low < cell->number.high) {
		fprintf(to, "<small>%s", show_number(cell->number.low, digits, text, sizeof text));
		fprintf(to, " .. %s</small>", show_number(cell->number.high, digits, text, sizeof text));
	}
	fputs("</td>", to);
}

static void show_cells(const struct page_table *table, size_t row, FILE *to)
{
	char text[512];

	for (size_t i = 0; i < table->width; i++) {
		const struct cell *cell = table_cell(table, row, i);

		if (cell->kind == CELL_SPREAD) {
			spread_cell(cell, table->columns[i].digits, to);
			continue;
		}
		fputs(cell->kind == CELL_WORD ? "<td class=\"word\">" : "<td>", to);
		show_escaped(show_cell(cell, &table->columns[i], text, sizeof text), to);
		fputs("</td>", to);
	}
}

static void show_rows(const struct page_table *table, FILE *to)
{
	table_head(table, to);
	fputs("<tbody>", to);
	for (size_t row = 0; row < table->rows; row++) {
		fputs("<tr>", to);
		show_cells(table, row, to);
		fputs("</tr>\n", to);
	}
	fputs("</tbody></table></div>\n", to);
}

/* A long table folds: its numbers are in the plots, or few readers need them. */
static void show_table(const struct page_table *table, FILE *to)
{
	enum { LONG = 20 }; /* rows: about a screen */

	if (table->rows > LONG) {
		fputs("<details class=\"table\"><summary>", to);
		show_escaped(table->title, to);
		fprintf(to, " (%zu rows)</summary><div class=\"scroll\"><table>", table->rows);
		show_rows(table, to);
		fputs("</details>\n", to);
		return;
	}
	fputs("<div class=\"scroll\"><table><caption><span>", to);
	show_escaped(table->title, to);
	fputs("</span></caption>", to);
	show_rows(table, to);
}

/* ------------------------------------------------------------- claims, verdicts */

static void show_claim(const struct claim *claim, FILE *to)
{
	char value[32], bounds[80];

	fprintf(to, "<div class=\"claim%s\"><b>%s</b><div>", claim->met ? "" : " missed",
		claim->met ? "met" : "missed");
	show_escaped(claim->text, to);
	fprintf(to, "<small>measured %s, bound %s</small></div></div>\n",
		show_short(claim->value, value, sizeof value), show_bounds(claim, bounds, sizeof bounds));
}

/* Unfolded if one was missed. */
static void begin_claims(const struct page *page, FILE *to)
{
	struct page *const one = (struct page *)page;
	struct tally t = tally_pages(&one, 1);

	fprintf(to, "<details%s><summary>Claims: %u of %u met", t.met < t.claims ? " open" : "", t.met,
		t.claims);
	if (t.met < t.claims)
		fprintf(to, ", <b>%u missed</b>", t.claims - t.met);
	fputs("</summary><div class=\"claims\">\n", to);
}

static void show_claims(const struct page *page, FILE *to)
{
	bool any = false;

	for (size_t i = 0; i < page->count; i++)
		if (page->parts[i].kind == PART_CLAIM) {
			if (!any)
				begin_claims(page, to);
			any = true;
			show_claim(&page->parts[i].claim, to);
		}
	if (any)
		fputs("</div></details>\n", to);
}

static const char *class_of(enum page_agreement agreement)
{
	static const char *const classes[] = {
		[PAGE_AGREES] = "agrees", [PAGE_DISAGREES] = "disagrees", [PAGE_IMPOSSIBLE] = "impossible"};

	return classes[agreement];
}

/* At the head of the report a verdict links to its experiment. */
static void show_verdict(const struct page *page, const struct verdict *verdict, bool link, FILE *to)
{
	fprintf(to, "<li class=\"%s\"><b>%s</b>", class_of(verdict->agreement),
		show_agreement(verdict->agreement));
	if (link)
		fprintf(to, "<a href=\"#%s\">", page->experiment->name);
	else
		fputs("<i>", to);
	show_escaped(verdict->of, to);
	fputs(link ? "</a><span>" : "</i><span>", to);
	show_escaped(verdict->text, to);
	fputs("</span></li>\n", to);
}

static void show_verdicts(struct page *const *pages, size_t count, bool link, FILE *to)
{
	fputs("<ul class=\"verdicts\">\n", to);
	for (size_t i = 0; i < count; i++)
		for (size_t j = 0; j < pages[i]->count; j++)
			if (pages[i]->parts[j].kind == PART_VERDICT)
				show_verdict(pages[i], &pages[i]->parts[j].verdict, link, to);
	fputs("</ul>\n", to);
}

static bool has_verdicts(const struct page *page)
{
	for (size_t i = 0; i < page->count; i++)
		if (page->parts[i].kind == PART_VERDICT)
			return true;
	return false;
}

/* --------------------------------------------------------------------- pictures */

static void put_base64(const uint8_t *bytes, size_t size, FILE *to)
{
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

	for (size_t i = 0; i < size; i += 3) {
		uint32_t group = 0;

		for (size_t b = i; b < i + 3; b++)
			group = group << 8 | (b < size ? bytes[b] : 0u);
		for (size_t d = 0; d < 4; d++)
			fputc(i + d > size ? '=' : digits[group >> (18 - 6 * d) & 63], to);
	}
}

static void show_picture(const struct picture *picture, FILE *to)
{
	fputs("<figure class=\"picture\"><figcaption>", to);
	show_escaped(picture->title, to);
	fputs("</figcaption><img alt=\"", to);
	show_escaped(picture->title, to);
	fputs("\" src=\"data:image/png;base64,", to);
	put_base64(picture->png, picture->size, to);
	fputs("\"></figure>\n", to);
}

/* ------------------------------------------------------------------- experiments */

static void show_part(const struct part *part, FILE *to)
{
	switch (part->kind) {
	case PART_TEXT:
		element("p", part->text, to);
		return;
	case PART_SKIPPED:
		fputs("<p class=\"skipped\">Skipped: ", to);
		show_escaped(part->text, to);
		fputs("</p>\n", to);
		return;
	case PART_HEADING:
		element("h3", part->text, to);
		return;
	case PART_FOLD:
		fputs("<details><summary>", to);
		show_escaped(part->text, to);
		fputs("</summary><div class=\"fold\">\n", to);
		return;
	case PART_TABLE:
		show_table(part->table, to);
		return;
	case PART_PLOT:
		show_plot(part->plot, to);
		return;
	case PART_PICTURE:
		show_picture(&part->picture, to);
		return;
	case PART_VERDICT:
	case PART_CLAIM:
		return; /* shown together, at the head and the end of the experiment */
	}
}

/* Neighbours of one group share a box: paragraphs, plots, pictures. */
enum group { ALONE, PARAGRAPHS, PLOTS, PICTURES };

static enum group group_of(const struct part *part)
{
	return part->kind == PART_TEXT      ? PARAGRAPHS
	       : part->kind == PART_PLOT    ? PLOTS
	       : part->kind == PART_PICTURE ? PICTURES
					    : ALONE;
}

static bool is_shown_together(const struct part *part)
{
	return part->kind == PART_CLAIM || part->kind == PART_VERDICT;
}

/* Begins within a box of paragraphs. */
static void show_parts(const struct page *page, FILE *to)
{
	static const char *const boxes[] = {[ALONE] = "",
					    [PARAGRAPHS] = "<div class=\"text\">\n",
					    [PLOTS] = "<div class=\"plots\">\n",
					    [PICTURES] = "<div class=\"pictures\">\n"};
	enum group now = PARAGRAPHS;
	bool folded = false;

	for (size_t i = 0; i < page->count; i++) {
		const struct part *part = &page->parts[i];
		enum group group = group_of(part);

		if (is_shown_together(part))
			continue;
		if (group != now)
			fprintf(to, "%s%s", now ? "</div>\n" : "", boxes[group]);
		now = group;
		if (folded && (part->kind == PART_HEADING || part->kind == PART_FOLD)) {
			fputs("</div></details>\n", to);
			folded = false;
		}
		folded |= part->kind == PART_FOLD;
		show_part(part, to);
	}
	fprintf(to, "%s%s", now ? "</div>\n" : "", folded ? "</div></details>\n" : "");
}

/* What comes below the title. */
static void show_body(const struct page *page, FILE *to)
{
	const struct experiment *e = page->experiment;
	struct page *const one = (struct page *)page;

	if (has_verdicts(page))
		show_verdicts(&one, 1, false, to);
	fputs("<div class=\"text\">\n", to);
	element("p", e->shows, to);
	if (e->interpretation) {
		fputs("<p><b>Claims and verdicts are bound to this interpretation:</b> ", to);
		show_escaped(e->interpretation, to);
		fputs("</p>\n", to);
	}
	show_parts(page, to);
	show_claims(page, to);
}

static void show_page(const struct page *page, enum lab_size size, FILE *to)
{
	const struct experiment *e = page->experiment;

	fprintf(to, "<article id=\"%s\">\n", e->name);
	element("h2", e->title, to);
	fputs("<p class=\"soft\">", to);
	show_escaped(e->where, to);
	fprintf(to, " · <code>inkling-lab %s%s</code></p>\n", e->name,
		size == LAB_QUICK  ? " --quick"
		: size == LAB_FULL ? " --full"
				   : "");
	show_body(page, to);
	fputs("</article>\n", to);
}

/* -------------------------------------------------------------------------- head */

static void show_facts(const struct report *report, FILE *to)
{
	char date[32] = "", seconds[SHOW_SECONDS];
	struct tm when;

	if (gmtime_r(&report->when, &when))
		strftime(date, sizeof date, "%Y-%m-%d %H:%M UTC", &when);
	fprintf(to, "<p class=\"soft\">%s · inkling %s · ", date, ink_version());
	show_escaped(report->processor, to);
	fprintf(to, " · %s on %u thread%s · size %s · ", show_seconds(report->seconds, seconds),
		report->lab->workers, report->lab->workers == 1 ? "" : "s", show_size(report->lab->size));
	fprintf(to, "%u seed%s from %llu</p>\n", report->lab->seeds, report->lab->seeds == 1 ? "" : "s",
		(unsigned long long)report->lab->seed);
}

static void show_counts(const struct tally *tally, FILE *to)
{
	static const char *const what[] = {[PAGE_AGREES] = "agree",
					   [PAGE_DISAGREES] = "do not agree",
					   [PAGE_IMPOSSIBLE] = "cannot be right as printed"};

	fputs("<ul class=\"counts\">", to);
	for (enum page_agreement i = PAGE_AGREES; i <= PAGE_IMPOSSIBLE; i++)
		fprintf(to, "<li class=\"%s\"><b>%u</b> %s</li>", class_of(i), tally->verdicts[i], what[i]);
	fprintf(to, "<li>claims met: %u of %u</li>", tally->met, tally->claims);
	if (tally->skipped)
		fprintf(to, "<li>skipped parts: %u</li>", tally->skipped);
	fputs("</ul>\n", to);
}

static void show_head(const struct report *report, FILE *to)
{
	struct tally tally = tally_pages(report->pages, report->count);

	fputs("<header>\n<h1>Two papers, reproduced</h1>\n", to);
	show_facts(report, to);
	show_counts(&tally, to);
	show_verdicts(report->pages, report->count, true, to);
	fputs("<div class=\"text\"><p><b>ACSM</b>: F. Bonomi, M. Mitzenmacher, R. Panigrahy, S. Singh, "
	      "G. Varghese, <cite>Beyond Bloom Filters: From Approximate Membership Checks to Approximate State "
	      "Machines</cite>, SIGCOMM 2006. <b>kBF</b>: S. Xiong, Y. Yao, Q. Cao, T. He, <cite>kBF: a Bloom "
	      "Filter for Key-Value Storage with an Application on Approximate State Machines</cite>, INFOCOM "
	      "2014.</p><p>Small numbers are the minimum and the maximum over the seeds, or the 99 % interval "
	      "where the text says so. Crosses in plots are the papers' numbers. A structure has the same colour "
	      "and mark in all plots; several series of one structure differ in filling and dashes:</p></div>\n",
	      to);
	show_structures(to);
	fputs("</header>\n", to);
}

static void show_contents(const struct report *report, FILE *to)
{
	fputs("<nav><details><summary>Experiments</summary><ul>\n", to);
	for (size_t i = 0; i < report->count; i++) {
		const struct experiment *e = report->pages[i]->experiment;

		fprintf(to, "<li><a href=\"#%s\">", e->name);
		show_escaped(e->title, to);
		fputs("</a> <span class=\"soft\">", to);
		show_escaped(e->where, to);
		fputs("</span></li>\n", to);
	}
	fputs("</ul></details></nav>\n", to);
}

static void begin_document(const char *title, FILE *to)
{
	fputs("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
	      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
	      "<meta name=\"color-scheme\" content=\"light dark\">\n"
	      "<link rel=\"icon\" href=\"data:,\">\n<title>",
	      to);
	show_escaped(title, to);
	fputs("</title>\n<style>\n", to);
	for (size_t i = 0; report_css[i]; i++)
		fputs(report_css[i], to);
	fputs("</style>\n</head>\n<body>\n", to);
}

void show_page_alone(const struct page *page, FILE *to)
{
	const struct experiment *e = page->experiment;

	begin_document(e->title, to);
	fputs("<header>\n", to);
	element("h1", e->title, to);
	fprintf(to, "<p class=\"soft\">inkling %s · ", ink_version());
	show_escaped(e->where, to);
	fputs("</p>\n</header>\n<article>\n", to);
	show_body(page, to);
	fputs("</article>\n</body>\n</html>\n", to);
}

void show_html(const struct report *report, FILE *to)
{
	begin_document("Inkling: two papers, reproduced", to);
	show_head(report, to);
	show_contents(report, to);
	for (size_t i = 0; i < report->count; i++)
		show_page(report->pages[i], report->lab->size, to);
	fputs("</body>\n</html>\n", to);
}
