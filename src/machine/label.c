/* SPDX-License-Identifier: BSD-2-Clause */
#include "machine/label.h"

#include <string.h>

#include "base/rate.h"
#include "base/utf8.h"

/* Characters in a line of a label: four labels beside each other fit 800 pixels, the width of a README. */
enum { WIDTH = 32 };

enum { REPORT_MOST = 200 }; /* bytes of a report in a label */

static const char *const sides[] = {[INK_FROM_ANY] = "",
				    [INK_FROM_INITIATOR] = " from initiator",
				    [INK_FROM_RESPONDER] = " from responder",
				    [INK_FROM_LOW] = " from low",
				    [INK_FROM_THE_HIGH] = " from high"};

static const char *const amounts[] = {[INK_AMOUNT_PAYLOAD] = "payload",
				      [INK_AMOUNT_LENGTH] = "length",
				      [INK_AMOUNT_PICTURES_I] = "pictures I",
				      [INK_AMOUNT_PICTURES_P] = "pictures P",
				      [INK_AMOUNT_PICTURES_B] = "pictures B"};

/* ------------------------------------------------------------------ text */

/* A label being written, line by line. A line ends before a word that would exceed WIDTH. */
struct lines {
	FILE *out;
	unsigned column;
};

static void end_line(struct lines *l)
{
	if (l->column)
		fputs("\\n", l->out);
	l->column = 0;
}

/*
 * A character of at most `n` bytes; 0: not UTF-8. Graphviz strings end at a quote, and know \n as a line's end. What
 * would control a terminal is shown as \u009b.
 */
static void put_character(struct lines *l, const char *text, unsigned n, uint32_t c)
{
	if (!n)
		l->column += (unsigned)fprintf(l->out, "\\\\x%02x", (unsigned char)*text) - 1;
	else if (ink_is_control(c))
		l->column += (unsigned)fprintf(l->out, c < 0x80 ? "\\\\x%02x" : "\\\\u%04x", c) - 1;
	else {
		fprintf(l->out, "%s%.*s", c == '"' || c == '\\' ? "\\" : "", (int)n, text);
		l->column++;
	}
}

/* Bytes, not characters: a word in another script may wrap early. */
static void put_word(struct lines *l, const char *word, size_t length)
{
	uint32_t c;

	if (l->column && l->column + 1 + length > WIDTH)
		end_line(l);
	else if (l->column) {
		fputc(' ', l->out);
		l->column++;
	}
	for (const char *end = word + length; word < end;) {
		unsigned n = ink_utf8_decode(word, &c);

		put_character(l, word, n, c);
		word += n ? n : 1;
	}
}

static void put_words(struct lines *l, const char *text)
{
	for (text += strspn(text, " "); *text; text += strspn(text, " ")) {
		size_t length = strcspn(text, " ");

		put_word(l, text, length);
		text += length;
	}
}

/* Names are as long as their writers please, and so are lists of them: a comma ends a word. */
static void put_name(struct lines *l, const char *name, int more)
{
	put_words(l, name);
	if (more)
		fputc(',', l->out);
	l->column += more != 0;
}

/* -------------------------------------------------------------- triggers */

static const char *show_time(const struct ink_trigger *t, char text[40])
{
	static const struct {
		uint64_t worth;
		const char *name;
	} units[] = {{86400000000000ull, "d"},
		     {3600000000000ull, "h"},
		     {60000000000ull, "m"},
		     {1000000000ull, "s"}};
	uint64_t time = t->time;
	unsigned i = 0;

	while (i < 4 && time % units[i].worth)
		i++;
	snprintf(text, 40, "%s %llu%s", t->window ? "within" : "timeout",
		 (unsigned long long)(time / (i < 4 ? units[i].worth : 1000000)),
		 i < 4 ? units[i].name : "ms");
	return text;
}

static int is_timed(const struct ink_trigger *t)
{
	return t->kind == INK_ON_TIMEOUT || t->kind == INK_ON_END;
}

static void put_trigger(struct lines *l, const struct ink_trigger *t, int more)
{
	char time[40];

	if (t->kind == INK_ON_TIMEOUT)
		put_name(l, show_time(t, time), more);
	else if (t->kind == INK_ON_END)
		put_name(l, "end", more);
	else {
		put_name(l, t->kind == INK_ON_ANY ? "*" : t->name->text, more && !*sides[t->from]);
		if (*sides[t->from])
			put_name(l, sides[t->from], more);
	}
}

unsigned ink_label_triggers(const struct ink_written_row *row, int timed)
{
	unsigned n = 0;

	for (unsigned i = 0; i < row->n_triggers; i++)
		n += is_timed(&row->triggers[i]) == timed;
	return n;
}

static void put_triggers(struct lines *l, const struct ink_written_row *row, int timed)
{
	unsigned left = ink_label_triggers(row, timed);

	for (unsigned i = 0; i < row->n_triggers; i++)
		if (is_timed(&row->triggers[i]) == timed)
			put_trigger(l, &row->triggers[i], --left > 0);
}

/* --------------------------------------------------------------- actions */

/* Each action begins a line, so that lists of them can be told from triggers. */
static void put_action(struct lines *l, const char *verb, const char *what)
{
	end_line(l);
	put_words(l, "/");
	put_words(l, verb);
	put_words(l, what);
}

static void put_counting(struct lines *l, const struct ink_machine *m, const struct ink_counting *c)
{
	char number[40];

	put_action(l, "count", m->counters[c->counter].name->text);
	snprintf(number, sizeof number, "by %llu", (unsigned long long)c->number);
	if (c->amount == INK_AMOUNT_NUMBER && c->number != 1)
		put_words(l, number);
	if (c->amount != INK_AMOUNT_NUMBER) {
		put_words(l, "by");
		put_words(l, amounts[c->amount]);
	}
}

/* A report can have as many characters as its file: a label has the first of them. */
static void put_report(struct lines *l, const char *text)
{
	char head[REPORT_MOST + 4];
	size_t n = strnlen(text, REPORT_MOST + 1);

	if (n <= REPORT_MOST) {
		put_action(l, "report", text);
		return;
	}
	for (n = REPORT_MOST; n && ((unsigned char)text[n] & 0xc0) == 0x80; n--)
		;
	memcpy(head, text, n);
	memcpy(head + n, "...", 4);
	put_action(l, "report", head);
}

/* "contact reversed", with the machine in front of it. */
static void put_tells(struct lines *l, const struct ink_deed *d)
{
	for (unsigned i = 0; d->more && i < d->more->n_tells; i++) {
		const struct ink_written_tell *t = d->more->tells[i];

		put_action(l, "tell", t->machine->text);
		put_words(l, t->event->text);
		if (t->to.reversed)
			put_words(l, "reversed");
	}
}

static void put_limit(struct lines *l, const struct ink_limit *limit)
{
	char text[INK_RATE_TEXT];

	ink_rate_show(limit->rate, text);
	put_action(l, "limit", text);
	if (limit->each_flow)
		put_words(l, "each flow");
	snprintf(text, sizeof text, "burst %u", limit->burst);
	if (limit->burst != ink_limit_burst(limit->rate))
		put_words(l, text);
}

/* What needs the kernel to be done, besides marks. */
static void put_enforced(struct lines *l, const struct ink_machine *m, const struct ink_deed *d)
{
	const struct ink_action_more *more = d->more ? &d->more->out : NULL;
	char text[24];

	if (more && more->prioritizes == INK_CLASS)
		snprintf(text, sizeof text, "%x:%x", more->priority >> 16, more->priority & 0xffff);
	else if (more)
		snprintf(text, sizeof text, "%u", more->priority);
	if (more && more->prioritizes)
		put_action(l, more->prioritizes == INK_CLASS ? "class" : "priority", text);
	if (more && more->limit)
		put_limit(l, &m->limits[more->limit - 1]);
}

static void put_actions(struct lines *l, const struct ink_machine *m, const struct ink_deed *d)
{
	const struct ink_action *a = &d->action;
	char number[40];

	for (unsigned i = 0; i < a->n_countings; i++)
		put_counting(l, m, &a->countings[i]);
	if (a->report)
		put_report(l, a->report);
	if (a->verdict)
		put_action(l, a->verdict == INK_DROP ? "drop" : "pass", "");
	snprintf(number, sizeof number, "%u", a->mark);
	if (a->marks)
		put_action(l, "mark", number);
	if (a->saves)
		put_action(l, "save", "");
	put_enforced(l, m, d);
	put_tells(l, d);
}

void ink_label_put(FILE *out, const struct ink_machine *m, const struct ink_label *label)
{
	struct lines l = {.out = out};

	put_triggers(&l, label->row, label->timed);
	if (label->row->new_initiator)
		put_action(&l, "new", "initiator");
	put_actions(&l, m, label->does);
}
