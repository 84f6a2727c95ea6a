/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The report: one HTML file without scripts and without a word to the network,
 * made to be mailed, printed and read on a phone. Wide tables scroll by
 * themselves; the page never does sideways.
 */
#include "lab/show.h"

#include <string.h>

#include <inkling/inkling.h>

static const char style[] =
	":root{--text:#1b1f24;--soft:#59636e;--rule:#d5dae0;--back:#fff;--box:#f5f7f9;--met:#1a7f37;--missed:"
	"#b3261e;"
	"--c0:#0072b2;--c1:#d55e00;--c2:#009e73;--c3:#b0578d;--c4:#8a6d00;--c5:#3a3f8f;--c6:#3399c6;--c7:#"
	"6b6f76}\n"
	"@media(prefers-color-scheme:dark){:root{--text:#e6e9ed;--soft:#9aa4af;--rule:#3a424b;--back:#15191e;"
	"--box:#1e242b;--met:#57c878;--missed:#ff8a80;"
	"--c0:#56b4e9;--c1:#ff9a56;--c2:#3fd0a4;--c3:#e59cc6;--c4:#e0c04a;--c5:#a3a8ff;--c6:#8fd3f4;--c7:#"
	"b7bdc6}}\n"
	"@media "
	"print{:root{--text:#000;--soft:#333;--rule:#999;--back:#fff;--box:#fff;--met:#000;--missed:#000;"
	"--c0:#0072b2;--c1:#d55e00;--c2:#009e73;--c3:#b0578d;--c4:#8a6d00;--c5:#3a3f8f;--c6:#3399c6;--c7:#"
	"6b6f76}"
	"article{break-before:page}figure,tr,.claim{break-inside:avoid}}\n"
	"*{box-sizing:border-box}html{-webkit-text-size-adjust:100%}\n"
	"body{margin:0 auto;max-width:72rem;padding:1rem;background:var(--back);color:var(--text);"
	"font:1rem/1.5 system-ui,-apple-system,'Segoe UI',Roboto,'DejaVu "
	"Sans',sans-serif;overflow-wrap:break-word}\n"
	"h1{font-size:1.6rem;line-height:1.2}h2{margin:3rem 0 0;font-size:1.3rem;line-height:1.25}"
	"h3{margin:2rem 0 0;font-size:1.05rem}p{max-width:46rem;margin:.6rem 0}\n"
	"a{color:var(--c0)}.where,.soft{color:var(--soft)}\n"
	".scroll{overflow-x:auto;margin:1rem 0}table{border-collapse:collapse;font-size:.9rem;"
	"font-variant-numeric:tabular-nums}caption{text-align:left;font-weight:600;padding-bottom:.3rem}\n"
	"th,td{padding:.25rem .7rem .25rem 0;text-align:right;vertical-align:top;border-bottom:1px solid "
	"var(--rule)}"
	"th{vertical-align:bottom}th small,td small{display:block;color:var(--soft);font-weight:400}"
	"td small,article td:first-child{white-space:nowrap}.word{text-align:left}\n"
	".plots{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,24rem),1fr));gap:1rem "
	"2rem}"
	"figure{margin:1rem 0;max-width:40rem}figcaption{font-weight:600;font-size:.9rem}"
	"figure svg{display:block;width:100%;height:auto}figure text{font-size:12px;fill:var(--text)}"
	".mid{text-anchor:middle}.end{text-anchor:end}\n"
	".grid{stroke:var(--rule);stroke-width:.6}.axis{stroke:var(--soft);fill:none}\n"
	".line,.curve{stroke:var(--c);fill:none;stroke-width:1.6}.curve{stroke-dasharray:5 3}"
	".mark{fill:var(--c)}.cross{stroke:var(--c);stroke-width:2.4;fill:none}.whisker{stroke:var(--c);fill:"
	"none}\n"
	".s0{--c:var(--c0)}.s1{--c:var(--c1)}.s2{--c:var(--c2)}.s3{--c:var(--c3)}.s4{--c:var(--c4)}"
	".s5{--c:var(--c5)}.s6{--c:var(--c6)}.s7{--c:var(--c7)}\n"
	".legend{list-style:none;margin:.2rem 0 0;padding:0;display:flex;flex-wrap:wrap;gap:.1rem "
	"1rem;font-size:.85rem}"
	".legend li{display:flex;align-items:center;gap:.35rem}.legend "
	"svg{width:26px;height:14px;flex:none}\n"
	".claim{display:grid;grid-template-columns:4.5rem 1fr;gap:.1rem .6rem;margin:.6rem 0;padding:.5rem "
	".7rem;"
	"background:var(--box);border-left:4px solid var(--met)}.claim.missed{border-color:var(--missed)}"
	".claim b{color:var(--met)}.claim.missed b{color:var(--missed)}.claim "
	"small{display:block;color:var(--soft)}\n"
	".skipped{padding:.5rem .7rem;background:var(--box);border-left:4px solid var(--soft)}\n";

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

static void element(const char *name, const char *text, FILE *to)
{
	fprintf(to, "<%s>", name);
	show_escaped(text, to);
	fprintf(to, "</%.*s>\n", (int)(strcspn(name, " ")), name);
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

/* A spread's ends stand small below its middle. */
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

static void show_table(const struct page_table *table, FILE *to)
{
	fputs("<div class=\"scroll\"><table><caption>", to);
	show_escaped(table->title, to);
	fputs("</caption>", to);
	table_head(table, to);
	fputs("<tbody>", to);
	for (size_t row = 0; row < table->rows; row++) {
		fputs("<tr>", to);
		show_cells(table, row, to);
		fputs("</tr>\n", to);
	}
	fputs("</tbody></table></div>\n", to);
}

/* ------------------------------------------------------------------------- page */

static void show_claim(const struct claim *claim, FILE *to)
{
	char value[32], bounds[80];

	fprintf(to, "<div class=\"claim%s\"><b>%s</b><div>", claim->met ? "" : " missed",
		claim->met ? "met" : "missed");
	show_escaped(claim->text, to);
	fprintf(to, "<small>measured %s, asked for %s</small></div></div>\n",
		show_short(claim->value, value, sizeof value), show_bounds(claim, bounds, sizeof bounds));
}

static void show_part(const struct part *part, FILE *to)
{
	switch (part->kind) {
	case PART_TEXT:
		element("p", part->text, to);
		return;
	case PART_HEADING:
		element("h3", part->text, to);
		return;
	case PART_SKIPPED:
		fputs("<p class=\"skipped\">Skipped: ", to);
		show_escaped(part->text, to);
		fputs("</p>\n", to);
		return;
	case PART_TABLE:
		show_table(part->table, to);
		return;
	case PART_PLOT:
		show_plot(part->plot, to);
		return;
	case PART_CLAIM:
		show_claim(&part->claim, to);
	}
}

/* Plots that follow each other stand side by side where there is room. */
static void show_parts(const struct page *page, FILE *to)
{
	bool among_plots = false;

	for (size_t i = 0; i < page->count; i++) {
		bool is_plot = page->parts[i].kind == PART_PLOT;

		if (is_plot != among_plots)
			fputs(is_plot ? "<div class=\"plots\">\n" : "</div>\n", to);
		among_plots = is_plot;
		show_part(&page->parts[i], to);
	}
	if (among_plots)
		fputs("</div>\n", to);
}

static void show_page(const struct page *page, enum lab_size size, FILE *to)
{
	fprintf(to, "<article id=\"%s\">\n", page->experiment->name);
	element("h2", page->experiment->title, to);
	fprintf(to, "<p class=\"where\">");
	show_escaped(page->experiment->where, to);
	fprintf(to, " · <code>inkling-lab %s%s</code></p>\n", page->experiment->name,
		size == LAB_QUICK  ? " --quick"
		: size == LAB_FULL ? " --full"
				   : "");
	element("p", page->experiment->shows, to);
	show_parts(page, to);
	fputs("</article>\n", to);
}

/* --------------------------------------------------------------------- the whole */

static void contents(const struct report *report, FILE *to)
{
	fputs("<div class=\"scroll\"><table><thead><tr><th class=\"word\">experiment</th><th "
	      "class=\"word\">paper</th>"
	      "<th>claims met</th></tr></thead><tbody>\n",
	      to);
	for (size_t i = 0; i < report->count; i++) {
		const struct experiment *e = report->pages[i]->experiment;
		struct tally tally = tally_pages(&report->pages[i], 1);

		fprintf(to, "<tr><td class=\"word\"><a href=\"#%s\">", e->name);
		show_escaped(e->title, to);
		fputs("</a></td><td class=\"word\">", to);
		show_escaped(e->where, to);
		if (tally.claims)
			fprintf(to, "</td><td>%u of %u</td></tr>\n", tally.met, tally.claims);
		else
			fputs("</td><td></td></tr>\n", to);
	}
	fputs("</tbody></table></div>\n", to);
}

static void introduce(const struct report *report, FILE *to)
{
	struct tally tally = tally_pages(report->pages, report->count);

	fprintf(to, "<h1>Two papers, reproduced</h1>\n<p class=\"soft\">inkling %s · size %s", ink_version(),
		show_size(report->lab->size));
	fprintf(to, " · %u seed%s from %llu", report->lab->seeds, report->lab->seeds == 1 ? "" : "s",
		(unsigned long long)report->lab->seed);
	fprintf(to, " · claims met: %u of %u%s</p>\n", tally.met, tally.claims,
		tally.skipped ? " · some parts were skipped" : "");
	fputs("<p><b>ACSM</b>: F. Bonomi, M. Mitzenmacher, R. Panigrahy, S. Singh, G. Varghese, "
	      "<cite>Beyond Bloom Filters: From Approximate Membership Checks to Approximate State "
	      "Machines</cite>, "
	      "SIGCOMM 2006. <b>kBF</b>: S. Xiong, Y. Yao, Q. Cao, T. He, <cite>kBF: a Bloom Filter for "
	      "Key-Value Storage with an Application on Approximate State Machines</cite>, INFOCOM 2014. "
	      "Crosses in the plots are what the papers print. "
	      "A claim is a bar that this run can decide; numbers in small print are the least and the "
	      "greatest of "
	      "the seeds, or the 99 % interval where the text says so.</p>\n",
	      to);
}

void show_html(const struct report *report, FILE *to)
{
	fputs("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
	      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
	      "<meta name=\"color-scheme\" content=\"light dark\">\n"
	      "<link rel=\"icon\" href=\"data:,\">\n<title>Inkling: two papers, "
	      "reproduced</title>\n<style>\n",
	      to);
	fprintf(to, "%s</style>\n</head>\n<body>\n", style);
	introduce(report, to);
	contents(report, to);
	for (size_t i = 0; i < report->count; i++)
		show_page(report->pages[i], report->lab->size, to);
	fputs("</body>\n</html>\n", to);
}
