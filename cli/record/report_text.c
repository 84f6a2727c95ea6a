/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The text of a report, and its line on a terminal.
 *
 * The fields of a text are those of the flow, not of the packet that made the report: if that is an answer to the flow
 * (a `reverse` event), {src} is the address that it goes to. The machine's key is oriented in the same way.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cli/record/record.h"
#include "sim/text.h"

/* ------------------------------------------------------------------------------- time */

const char *time_text(uint64_t time, int nanoseconds, char text[TIME_TEXT])
{
	time_t seconds = (time_t)(time / 1000000000);
	unsigned fraction = (unsigned)(time % 1000000000);
	struct tm parts;
	size_t n = strftime(text, TIME_TEXT, "%Y-%m-%dT%H:%M:%S", gmtime_r(&seconds, &parts));

	snprintf(text + n, TIME_TEXT - n, ".%0*uZ", nanoseconds ? 9 : 6,
		 nanoseconds ? fraction : fraction / 1000);
	return text;
}

/* ------------------------------------------------------------------------------- text */

static void fill_address(FILE *to, const struct ink_packet *p, const uint8_t *address)
{
	char text[INK_ADDRESS_SIZE];

	ink_address_text(address, p->version, text);
	fputs(text, to);
}

/* "src 10.0.0.1, dst port 22, proto TCP" */
static void fill_key(FILE *to, const struct ink_machine_view *view, const struct ink_moved *m)
{
	struct key_part part[KEY_PARTS_MOST];
	unsigned n = flow_key(view, m, part);

	for (unsigned i = 0; i < n; i++) {
		fputs(i ? ", " : "", to);
		for (const char *c = part[i].name; *c; c++)
			putc(*c == '_' ? ' ' : *c, to);
		fprintf(to, " %s", part[i].value);
	}
}

static void fill_piece(FILE *to, const struct ink_text_piece *piece, const struct ink_packet *p)
{
	char number[4];

	switch (piece->field) {
	case INK_TEXT_SRC:
		fill_address(to, p, p->source);
		break;
	case INK_TEXT_DST:
		fill_address(to, p, p->destination);
		break;
	case INK_TEXT_SRC_PORT:
		fprintf(to, "%u", p->sport);
		break;
	case INK_TEXT_DST_PORT:
		fprintf(to, "%u", p->dport);
		break;
	case INK_TEXT_PROTOCOL:
		fputs(protocol_name(p->protocol, number), to);
		break;
	default:
		fputs(piece->text, to);
	}
}

void report_fill(FILE *to, const struct ink_text_piece *pieces, unsigned n,
		 const struct ink_machine_view *view, const struct ink_moved *m)
{
	struct ink_packet p = flow_packet(m);

	for (unsigned i = 0; i < n; i++)
		if (pieces[i].field == INK_TEXT_KEY)
			fill_key(to, view, m);
		else
			fill_piece(to, &pieces[i], &p);
}

static const struct ink_action_more *more_of(const struct ink_machine_view *view, const struct ink_moved *m)
{
	return view->action_more ? &view->action_more[m->action - view->action] : NULL;
}

char *report_text(const struct ink_machine_view *view, const struct ink_moved *m)
{
	const struct ink_action_more *more = more_of(view, m);
	char *text = NULL;
	size_t length;
	FILE *to;

	if (!more || !more->n_pieces)
		return strdup(m->action->report);
	to = open_memstream(&text, &length);
	if (!to)
		return NULL;
	report_fill(to, more->pieces, more->n_pieces, view, m);
	if (fclose(to) == 0)
		return text;
	free(text);
	return NULL;
}

/* --------------------------------------------------------------------------- its line */

static void show_end(FILE *to, const struct ink_packet *p, const uint8_t *address, unsigned port)
{
	int brackets = p->version == 6 && has_ports(p);

	fputs(brackets ? "[" : "", to);
	fill_address(to, p, address);
	fputs(brackets ? "]" : "", to);
	if (has_ports(p))
		fprintf(to, ":%u", port);
}

/* As the packet has them. */
static void show_ends(FILE *to, const struct ink_packet *p)
{
	char number[4];

	fputs("  ", to);
	show_end(to, p, p->source, p->sport);
	fputs(" -> ", to);
	show_end(to, p, p->destination, p->dport);
	fprintf(to, " %s", protocol_name(p->protocol, number));
	if (is_icmp(p))
		fprintf(to, " %u/%u", p->icmp_type, p->icmp_code);
}

void report_show(FILE *to, const struct ink_machine_view *view, const struct ink_moved *m)
{
	const struct ink_action_more *more = more_of(view, m);
	char time[TIME_TEXT], *text = report_text(view, m);

	time_text(m->packet->time, 0, time);
	fprintf(to, "%.10s %.15s  ", time, time + 11);
	sim_put_visible(view->name, to);
	if (more && more->severity)
		fprintf(to, " (severity %u)", more->severity);
	fputs(": ", to);
	sim_put_visible(text ? text : m->action->report, to);
	show_ends(to, m->packet);
	putc('\n', to);
	free(text);
}
