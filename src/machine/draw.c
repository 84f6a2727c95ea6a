/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A machine as a graph for Graphviz.
 *
 *     (absent)          states are boxes
 *         |
 *        syn            a row is a node without a border: its triggers, and below them its actions. Graphviz keeps
 *         |             nodes apart and leads lines around them, which it does not do for the labels of lines.
 *         v
 *     [opening]         a row that several states have is drawn once, with a line from each
 *         :
 *    timeout 10s        time-outs and ends are dashed and grey; a row that reports is red
 *         :
 *         v
 *     (absent)          drawn twice: flows begin at the top and end at the bottom, and lines need not lead back
 *
 * Of a set, each machine is a cluster, and names have the machine's in front. A dashed blue arrow leads from a row to the
 * machine that it tells something.
 *
 * Rows that stay and do nothing are left out: they are the usual case. From a row that stays, an arrow points back.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "machine/label.h"

/* Labels beside each other: 800 pixels, the width of a README, have room for them. */
enum { COLUMNS = 4 };

/*
 * Bytes of a picture. The states of a repeat multiply its rows: a file of 1 MiB could become hundreds. Graphviz needs
 * minutes for a hundredth of this, and the largest bundled machine takes 24 KiB.
 */
enum { PICTURE_MOST = 4 << 20 };

#define BEGIN "absent"
#define END "absent again" /* names of states have no blanks */
#define ROW "shape=plaintext, width=0.1, height=0.2, margin=\"0.03,0.03\""
#define NOT_IN_TABLE "shape=ellipse, style=filled, fillcolor=gray92"
#define TIME_COLOR "gray45"
#define REPORT_COLOR "firebrick"
#define LINK_COLOR "royalblue"

/* ---------------------------------------------------------------- arrows */

/* A line of the picture: this row leads from one state to another. The part of a row for time is drawn by itself. */
struct arrow {
	const struct ink_written_row *row;
	const struct ink_deed *does;
	unsigned from, to; /* written states, or one of these: */
	int timed;
};

/* Numbers behind those of the written states. */
enum place { AT_ABSENT, AT_UNSURE, AT_END };

struct picture {
	const struct ink_machine *m;
	const char *prefix; /* of all names; "" for a machine alone */
	FILE *out;
	struct arrow *arrows;
	size_t n; /* arrows */
	int timed, reports, expendable;
};

static unsigned place(const struct picture *p, enum place at)
{
	return p->m->n_states + at;
}

static unsigned number_of(const struct picture *p, const struct ink_state *s)
{
	return s == &p->m->absent   ? place(p, AT_ABSENT)
	       : s == &p->m->unsure ? place(p, AT_UNSURE)
				    : (unsigned)(s - p->m->states);
}

static const char *name_of(const struct picture *p, unsigned number)
{
	return number < p->m->n_states         ? p->m->states[number].name
	       : number == place(p, AT_ABSENT) ? BEGIN
	       : number == place(p, AT_UNSURE) ? "unsure"
					       : END;
}

/* A packet of an unsure flow moves nothing, and one that is absent stays so. */
static unsigned leads_to(const struct picture *p, const struct ink_state *s,
			 const struct ink_written_row *row, int timed)
{
	unsigned to = ink_row_leads(p->m, s, row);

	if (s == &p->m->absent && to == INK_NOWHERE)
		return place(p, AT_ABSENT);
	if (s == &p->m->unsure && !timed)
		return place(p, AT_UNSURE);
	return to == INK_NOWHERE ? place(p, AT_END) : to;
}

/* Without memory for the arrows they are only counted. */
static void add_arrow(struct picture *p, const struct ink_state *s, struct ink_written_row *row, int timed)
{
	const struct ink_deed *does = ink_row_does(p->m, s, row);
	struct arrow a = {row, does, number_of(p, s), leads_to(p, s, row, timed), timed};

	if (!ink_label_triggers(row, timed) || (a.from == a.to && !does->number && !row->new_initiator))
		return;
	if (p->arrows)
		p->arrows[p->n] = a;
	p->n++;
	p->timed |= timed;
	p->reports |= a.does->action.report != NULL;
}

static void add_arrows(struct picture *p, const struct ink_state *s)
{
	for (unsigned i = 0; i < s->n_rows; i++)
		for (int timed = 0; s->taken[i] && timed < 2; timed++)
			add_arrow(p, s, s->rows[i], timed);
}

static void find_arrows(struct picture *p)
{
	p->n = 0;
	add_arrows(p, &p->m->absent);
	for (unsigned i = 0; i < p->m->n_states; i++)
		add_arrows(p, &p->m->states[i]);
	add_arrows(p, &p->m->unsure);
}

/* The order of the text. Arrows that share a label are neighbours. */
static int compare(const void *one, const void *other)
{
	const struct arrow *a = one, *b = other;

	if (a->row != b->row)
		return a->row->at < b->row->at ? -1 : 1;
	if (a->timed != b->timed)
		return a->timed - b->timed;
	if (a->to != b->to)
		return a->to < b->to ? -1 : 1;
	if (a->does != b->does)
		return a->does < b->does ? -1 : 1;
	return a->from < b->from ? -1 : a->from > b->from;
}

static int share_label(const struct arrow *a, const struct arrow *b)
{
	return a->row == b->row && a->does == b->does && a->timed == b->timed && a->to == b->to;
}

/* --------------------------------------------------------------- drawing */

static const char *color_of(const struct arrow *a)
{
	return a->does->action.report ? REPORT_COLOR : a->timed ? TIME_COLOR : "black";
}

static void put_label(const struct picture *p, const struct arrow *a)
{
	ink_label_put(p->out, p->m, &(struct ink_label){a->row, a->does, a->timed});
}

static void put_line(const struct picture *p, const struct arrow *a, const char *more)
{
	fprintf(p->out, "color=%s%s%s];\n", color_of(a), a->timed ? ", style=dashed" : "", more);
}

/*
 * Arrows that share a label are a bundle. Bundles that follow each other and have the same states at their ends, as
 * "fin -> closed | rst -> closed / report ..." has, are a run.
 */
struct run {
	size_t first, size; /* the first arrow, and the arrows of each bundle */
	size_t n;           /* bundles */
};

static size_t bundle_at(const struct picture *p, size_t first)
{
	size_t i = first;

	while (i < p->n && share_label(&p->arrows[first], &p->arrows[i]))
		i++;
	return i - first;
}

static int look_alike(const struct arrow *a, const struct arrow *b)
{
	return a->from == b->from && a->to == b->to && a->timed == b->timed &&
	       !a->does->action.report == !b->does->action.report;
}

static struct run run_at(const struct picture *p, size_t first)
{
	struct run r = {first, bundle_at(p, first), 1};

	for (size_t next = first + r.size; next < p->n && bundle_at(p, next) == r.size; next += r.size, r.n++)
		for (size_t i = 0; i < r.size; i++)
			if (!look_alike(&p->arrows[first + i], &p->arrows[next + i]))
				return r;
	return r;
}

/* One label for `rows` bundles of the run, and the lines of the first. If the row stays, the line is the whole arrow. */
static void put_bundles(const struct picture *p, const struct run *r, size_t bundle, size_t rows)
{
	const struct arrow *a = &p->arrows[r->first + bundle * r->size];
	size_t number = r->first + bundle * r->size;
	int stays = r->size == 1 && a->from == a->to;

	fprintf(p->out, "\t\"%srow %zu\" [" ROW ", fontcolor=%s, label=\"", p->prefix, number, color_of(a));
	for (size_t i = 0; i < rows; i++) {
		if (i)
			fputs("\\n\\n", p->out);
		put_label(p, a + i * r->size);
	}
	fputs("\"];\n", p->out);
	for (size_t i = 0; i < r->size; i++) {
		fprintf(p->out, "\t\"%s%s\" -> \"%srow %zu\" [", p->prefix, name_of(p, a[i].from), p->prefix,
			number);
		put_line(p, a, stays ? ", dir=back" : ", dir=none");
	}
	if (!stays) {
		fprintf(p->out, "\t\"%srow %zu\" -> \"%s%s\" [", p->prefix, number, p->prefix,
			name_of(p, a->to));
		put_line(p, a, "");
	}
}

/* Rows that share a label. */
static size_t rows_of_label(const struct run *r)
{
	return r->n > 2 * COLUMNS ? (r->n + COLUMNS - 1) / COLUMNS : 2;
}

/* The labels of a run stand beside each other, four of them at most; returns the first arrow behind it. */
static size_t put_run(const struct picture *p, size_t first)
{
	struct run r = run_at(p, first);
	size_t rows = rows_of_label(&r);

	for (size_t bundle = 0; bundle < r.n; bundle += rows)
		put_bundles(p, &r, bundle, r.n - bundle < rows ? r.n - bundle : rows);
	return first + r.n * r.size;
}

static int has_arrow(const struct picture *p, enum place at)
{
	for (size_t i = 0; i < p->n; i++)
		if (p->arrows[i].from == place(p, at) || p->arrows[i].to == place(p, at))
			return 1;
	return 0;
}

/* A node whose name is its label needs none. */
static void put_special(const struct picture *p, const char *name, const char *label)
{
	fprintf(p->out, "\t\"%s%s\" [", p->prefix, name);
	if (*p->prefix || strcmp(name, label))
		fprintf(p->out, "label=\"%s\", ", label);
	fputs(NOT_IN_TABLE "];\n", p->out);
}

static void put_state(const struct picture *p, const char *name, int expendable)
{
	static const char dashed[] = "style=\"rounded,dashed\"";

	fprintf(p->out, "\t\"%s%s\"", p->prefix, name);
	if (*p->prefix)
		fprintf(p->out, " [label=\"%s\"%s%s]", name, expendable ? ", " : "",
			expendable ? dashed : "");
	else if (expendable)
		fprintf(p->out, " [%s]", dashed);
	fputs(";\n", p->out);
}

static void put_states(struct picture *p)
{
	const struct ink_machine *m = p->m;

	put_special(p, BEGIN, "absent");
	if (has_arrow(p, AT_END))
		put_special(p, END, "absent");
	if (has_arrow(p, AT_UNSURE))
		put_special(p, "unsure", "unsure");
	for (unsigned i = 0; i < m->n_states; i++) {
		put_state(p, m->states[i].name, m->states[i].expendable);
		p->expendable |= m->states[i].expendable;
	}
}

/* The title, and the key to what is in the picture. A machine's name is of letters, digits, - and _. */
static void put_title(const struct picture *p)
{
	const struct ink_machine *m = p->m;

	fprintf(p->out, "\tlabel=<<font point-size=\"16\"><b>%s</b></font><br/>key %s%s%s", m->name,
		m->key_text, m->remembers_initiator ? ", remember initiator" : "",
		m->remembers_tail ? ", remember tail" : "");
	if (p->timed)
		fputs("<br/><font color=\"" TIME_COLOR
		      "\">dashed and grey: time passes, or the input ends</font>",
		      p->out);
	if (p->reports)
		fputs("<br/><font color=\"" REPORT_COLOR "\">red: a report</font>", p->out);
	if (p->expendable)
		fputs("<br/>dashed border: expendable", p->out);
	for (size_t i = 0; i < p->n; i++)
		if (p->arrows[i].does->more && p->arrows[i].does->more->n_tells) {
			fputs("<br/><font color=\"" LINK_COLOR
			      "\">dashed and blue: tells another machine</font>",
			      p->out);
			break;
		}
	fputs("<br/> >;\n", p->out);
}

static int is_too_large(FILE *out)
{
	return ftell(out) > PICTURE_MOST;
}

static int put_contents(struct picture *p)
{
	put_states(p);
	for (size_t i = 0; i < p->n;) {
		i = put_run(p, i);
		if (is_too_large(p->out))
			return -EFBIG;
	}
	put_title(p);
	return 0;
}

static void put_head(FILE *out, const char *name)
{
	fprintf(out, "digraph \"%s\" {\n", name);
	fputs("\tlabelloc=t; fontname=\"Helvetica\"; fontsize=10; ranksep=0.2; nodesep=0.15;\n"
	      "\tnode [shape=box, style=rounded, fontname=\"Helvetica\", fontsize=10, height=0.3, margin=\"0.08,0.03\"];\n"
	      "\tedge [arrowsize=0.7];\n",
	      out);
}

static int find_all_arrows(struct picture *p)
{
	find_arrows(p);
	p->arrows = malloc((p->n + 1) * sizeof *p->arrows);
	if (!p->arrows)
		return -ENOMEM;
	find_arrows(p);
	qsort(p->arrows, p->n, sizeof *p->arrows, compare);
	return 0;
}

static int put_machine(FILE *out, const struct ink_machine *m, const char *prefix)
{
	struct picture p = {.m = m, .prefix = prefix, .out = out};
	int error = find_all_arrows(&p);

	if (!error)
		error = put_contents(&p);
	free(p.arrows);
	return error;
}

/* ------------------------------------------------------------------ sets */

/* The label of a row is that of its run: several rows can stand in it. */
static void put_links_of(const struct picture *p, const struct ink_machines *set, const struct run *r,
			 size_t bundle, size_t rows)
{
	size_t number = r->first + bundle * r->size;

	for (size_t i = 0; i < rows; i++) {
		const struct ink_more *more = p->arrows[number + i * r->size].does->more;

		for (unsigned t = 0; more && t < more->out.n_tells; t++) {
			const char *to = set->machines[more->out.tells[t].machine]->name;

			fprintf(p->out,
				"\t\"%srow %zu\" -> \"%s/" BEGIN "\" [lhead=\"cluster_%s\", style=dashed, "
				"color=" LINK_COLOR "];\n",
				p->prefix, number, to, to);
		}
	}
}

static int put_links(FILE *out, const struct ink_machines *set, const struct ink_machine *m,
		     const char *prefix)
{
	struct picture p = {.m = m, .prefix = prefix, .out = out};
	int error = find_all_arrows(&p);

	for (size_t i = 0; !error && i < p.n;) {
		struct run r = run_at(&p, i);
		size_t rows = rows_of_label(&r);

		for (size_t bundle = 0; bundle < r.n; bundle += rows)
			put_links_of(&p, set, &r, bundle, r.n - bundle < rows ? r.n - bundle : rows);
		i += r.n * r.size;
		error = is_too_large(out) ? -EFBIG : 0;
	}
	free(p.arrows);
	return error;
}

static int put_set(FILE *out, const struct ink_machines *set)
{
	char prefix[INK_NAME_MAX + 2];
	int error = 0;

	put_head(out, set->n ? set->machines[0]->name : "");
	fputs("\tcompound=true;\n", out);
	for (unsigned i = 0; i < set->n && !error; i++) {
		const char *name = set->machines[i]->name;

		snprintf(prefix, sizeof prefix, "%s/", name);
		fprintf(out, "subgraph \"cluster_%s\" {\n", name);
		error = put_machine(out, set->machines[i], prefix);
		fputs("}\n", out);
	}
	for (unsigned i = 0; i < set->n && !error; i++) {
		snprintf(prefix, sizeof prefix, "%s/", set->machines[i]->name);
		error = put_links(out, set, set->machines[i], prefix);
	}
	fputs("}\n", out);
	return error;
}

static int put_one(FILE *out, const struct ink_machine *m)
{
	int error;

	put_head(out, m->name);
	error = put_machine(out, m, "");
	fputs("}\n", out);
	return error;
}

/* A machine, or a set; the text, or NULL with errno. */
static char *draw(const struct ink_machine *m, const struct ink_machines *set)
{
	char *text = NULL;
	size_t length;
	FILE *out = open_memstream(&text, &length);
	int error, failed;

	if (!out)
		return errno = ENOMEM, NULL;
	error = set ? put_set(out, set) : put_one(out, m);
	failed = ferror(out);
	failed |= fclose(out);
	if (failed && !error)
		error = -ENOMEM;
	if (!error)
		return text;
	free(text);
	return errno = -error, NULL;
}

char *ink_machine_draw(const struct ink_machine *m)
{
	return draw(m, NULL);
}

/* A set of one is drawn as that machine. */
char *ink_machines_draw(const struct ink_machines *set)
{
	return set->n == 1 ? draw(set->machines[0], NULL) : draw(NULL, set);
}
