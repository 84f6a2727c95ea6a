/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A machine as a graph for Graphviz: a box for each written state, an arrow
 * for each pair of states between which a row leads, with the rows as its
 * label. Rows that stay and do nothing are left out: they are the usual case.
 * Above it are the name of the machine and its key.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/utf8.h"
#include "machine/tree.h"

static const char *const sides[] = {[INK_FROM_ANY] = "",
				    [INK_FROM_INITIATOR] = " from initiator",
				    [INK_FROM_RESPONDER] = " from responder",
				    [INK_FROM_LOW] = " from low",
				    [INK_FROM_THE_HIGH] = " from high"};

/* Graphviz strings end at a quote, and know \n as a line's end. What would control a terminal is shown as \u009b. */
static void put_text(FILE *out, const char *text)
{
	uint32_t c;

	while (*text) {
		unsigned n = ink_utf8_decode(text, &c);

		if (!n)
			fprintf(out, "\\\\x%02x", (unsigned char)*text);
		else if (ink_is_control(c))
			fprintf(out, c < 0x80 ? "\\\\x%02x" : "\\\\u%04x", c);
		else
			fprintf(out, "%s%.*s", c == '"' || c == '\\' ? "\\" : "", (int)n, text);
		text += n ? n : 1;
	}
}

static void put_time(FILE *out, uint64_t time)
{
	static const struct {
		uint64_t worth;
		const char *name;
	} units[] = {{86400000000000ull, "d"},
		     {3600000000000ull, "h"},
		     {60000000000ull, "m"},
		     {1000000000ull, "s"}};

	for (unsigned i = 0; i < 4; i++)
		if (time % units[i].worth == 0) {
			fprintf(out, "%llu%s", (unsigned long long)(time / units[i].worth), units[i].name);
			return;
		}
	fprintf(out, "%llums", (unsigned long long)(time / 1000000));
}

static void put_trigger(FILE *out, const struct ink_trigger *t)
{
	switch (t->kind) {
	case INK_ON_TIMEOUT:
		fputs("timeout ", out);
		put_time(out, t->time);
		break;
	case INK_ON_END:
		fputs("end", out);
		break;
	default:
		put_text(out, t->kind == INK_ON_ANY ? "*" : t->name->text);
		fputs(sides[t->from], out);
	}
}

static void put_actions(FILE *out, const struct ink_machine *m, const struct ink_written_row *row)
{
	const struct ink_action *a = &row->action;

	for (unsigned i = 0; i < a->n_countings; i++)
		fprintf(out, "\\n/ count %s", m->counters[a->countings[i].counter].name->text);
	if (a->report) {
		fputs("\\n/ report ", out);
		put_text(out, a->report);
	}
	if (a->verdict)
		fputs(a->verdict == INK_DROP ? "\\n/ drop" : "\\n/ pass", out);
	if (a->marks)
		fprintf(out, "\\n/ mark %u", a->mark);
	if (a->saves)
		fputs("\\n/ save", out);
}

static int is_drawn(const struct ink_machine *m, const struct ink_state *s, unsigned i, unsigned to)
{
	const struct ink_written_row *row = s->rows[i];
	int stays = s != &m->absent && to == (unsigned)(s - m->states);

	return s->taken[i] && ink_row_leads(m, s, row) == to && (!stays || row->number) &&
	       !(s == &m->absent && to == INK_NOWHERE && !row->number);
}

static void put_row(FILE *out, const struct ink_machine *m, const struct ink_written_row *row)
{
	for (unsigned i = 0; i < row->n_triggers; i++) {
		if (i)
			fputs(", ", out);
		put_trigger(out, &row->triggers[i]);
	}
	put_actions(out, m, row);
}

static void put_arrow(FILE *out, const struct ink_machine *m, const struct ink_state *s, unsigned to)
{
	unsigned drawn = 0;

	for (unsigned i = 0; i < s->n_rows; i++) {
		if (!is_drawn(m, s, i, to))
			continue;
		if (!drawn++)
			fprintf(out, "\t\"%s\" -> \"%s\" [label=\"", s->name,
				to == INK_NOWHERE ? "absent" : m->states[to].name);
		else
			fputs("\\n", out);
		put_row(out, m, s->rows[i]);
	}
	if (drawn)
		fputs("\"];\n", out);
}

static void put_arrows(FILE *out, const struct ink_machine *m, const struct ink_state *s)
{
	for (unsigned to = 0; to < m->n_states; to++)
		put_arrow(out, m, s, to);
	put_arrow(out, m, s, INK_NOWHERE);
}

static void put_machine(FILE *out, const struct ink_machine *m)
{
	fprintf(out, "digraph \"%s\" {\n", m->name);
	fprintf(out, "\tlabel=\"%s\\nkey %s\";\n\tlabelloc=t;\n\tfontname=\"Helvetica\";\n", m->name,
		m->key_text);
	fputs("\trankdir=LR;\n\tnode [shape=box, style=rounded, fontname=\"Helvetica\"];\n"
	      "\tedge [fontname=\"Helvetica\", fontsize=10];\n"
	      "\t\"absent\" [shape=circle, style=dashed];\n",
	      out);
	for (unsigned i = 0; i < m->n_states; i++)
		fprintf(out, "\t\"%s\"%s;\n", m->states[i].name,
			m->states[i].expendable ? " [style=\"rounded,dashed\"]" : "");
	put_arrows(out, m, &m->absent);
	for (unsigned i = 0; i < m->n_states; i++)
		put_arrows(out, m, &m->states[i]);
	fputs("}\n", out);
}

char *ink_machine_draw(const struct ink_machine *m)
{
	char *text = NULL;
	size_t length;
	FILE *out = open_memstream(&text, &length);
	int failed;

	if (!out)
		return NULL;
	put_machine(out, m);
	failed = ferror(out);
	if (fclose(out) || failed) {
		free(text);
		errno = ENOMEM;
		return NULL;
	}
	return text;
}
