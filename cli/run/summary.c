/* SPDX-License-Identifier: BSD-2-Clause */
/* inkling run: what it all came to, for people. */
#include <inttypes.h>
#include <string.h>

#include "run.h"

enum { LABEL = 12, NAME = 24, NUMBER = 14 };

#define CONNTRACK_BYTES 256 /* struct nf_conn of Linux, without its hash table and extensions */

/* ------------------------------------------------------------------- numbers */

/* 1234567 as "1,234,567", in one of a few buffers. */
static const char *grouped(uint64_t n)
{
	static char buffers[8][32];
	static unsigned next;
	char digits[24], *to = buffers[next++ % 8], *start = to;
	int length = snprintf(digits, sizeof digits, "%" PRIu64, n);

	for (int i = 0; i < length; i++) {
		if (i && (length - i) % 3 == 0)
			*to++ = ',';
		*to++ = digits[i];
	}
	*to = 0;
	return start;
}

static const char *sized(uint64_t bytes)
{
	static char buffers[8][32];
	static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
	static unsigned next;
	char *to = buffers[next++ % 8];
	double size = (double)bytes;
	unsigned unit = 0;

	for (; size >= 1024 && unit < 4; unit++)
		size /= 1024;
	snprintf(to, sizeof buffers[0], unit && size < 100 ? "%.1f %s" : "%.0f %s", size, units[unit]);
	return to;
}

/* One line of a block; the block's name only in front of its first. */
static void line(FILE *to, const char *label, const char *name, uint64_t number)
{
	fprintf(to, "%-*s%-*s%*s\n", LABEL, label, NAME, name, NUMBER, grouped(number));
}

/* --------------------------------------------------------------------- blocks */

static void show_packets(FILE *to, const struct session *s)
{
	struct ink_capture_stats c = {.size = sizeof c};

	ink_capture_stats(s->capture, &c);
	line(to, "packets", "read", c.packets);
	fprintf(to, "%-*s%s in %.3f s of packet time\n", LABEL, "", sized(c.bytes),
		(double)(c.last - c.first) / 1e9);
	for (unsigned i = INK_NOT_SKIPPED + 1; i < INK_SKIPS; i++)
		if (c.skipped[i])
			line(to, "", ink_skip_name((enum ink_skip)i), c.skipped[i]);
	if (c.backwards)
		line(to, "", "with time going back", c.backwards);
	if (s->w->interface)
		line(to, "", "dropped by the kernel", c.dropped + c.dropped_by_interface);
}

static void show_flows(FILE *to, const struct session *s)
{
	struct ink_track_stats k = {.size = sizeof k};

	ink_track_stats(s->track, &k);
	line(to, "flows", "begun", k.begun);
	line(to, "", "expired", k.expired);
	if (k.refused)
		line(to, "", "refused for lack of room", k.refused);
	if (k.unsure)
		line(to, "", "steps unsure", k.unsure);
}

static void show_census(FILE *to, const struct session *s)
{
	const struct ink_machine_view *v = s->view;
	struct ink_counts counts;

	if (ink_census(s->table, &counts))
		return;
	for (unsigned written = 0; written < v->states; written++) {
		uint64_t n = 0;

		for (unsigned i = 0; i < v->rules.states; i++)
			n += v->state_of[i] == written ? counts.state[i] : 0;
		line(to, written ? "" : "at the end", v->state_names[written], n);
	}
	if (counts.unsure)
		line(to, "", "unsure", counts.unsure);
}

static void show_counts(FILE *to, const struct session *s)
{
	for (unsigned i = 0; i < s->view->counters; i++)
		line(to, i ? "" : "counts", s->view->counter_names[i], ink_track_counters(s->track)[i]);
	line(to, "reports", s->w->output ? s->w->output : "made (-o shows them)", s->reports);
	if (s->w->write)
		line(to, "written", s->w->write, s->saved);
}

/* What others would take for as many flows at once. */
static void show_memory(FILE *to, const struct ink_table *table, const char *label)
{
	struct ink_stats t = {.size = sizeof t};
	uint64_t flows;

	ink_stats(table, &t);
	flows = t.flows > t.cells ? t.flows : t.cells;
	fprintf(to, "%-*s%s for %s flows; nf_conntrack's %d B a flow would be %s\n", LABEL, label,
		sized(t.bytes), grouped(flows), CONNTRACK_BYTES, sized(flows * CONNTRACK_BYTES));
}

static void show_tables(FILE *to, const struct session *s, const struct session *first)
{
	show_memory(to, first ? first->table : s->table, "table");
	if (first)
		show_memory(to, s->table, "second pass");
	if (s->candidates)
		show_memory(to, s->candidates, "candidates");
	if (s->slow)
		show_memory(to, s->slow, "slow path");
	if (s->beside)
		show_memory(to, s->beside, "exact");
}

static void show_verify(FILE *to, const struct session *s)
{
	const struct tally *t = verifier_tally(s->verifier);

	fprintf(to, "\n%-*s%-*s%*s%*s\n", LABEL, "verify", NAME, "", NUMBER, "steps", NUMBER, "flows");
	fprintf(to, "%-*s%-*s%*s%*s\n", LABEL, "", NAME, "in all", NUMBER, grouped(t->steps), NUMBER,
		grouped(t->all_flows));
	for (unsigned d = 0; d < DIFFERENCES; d++)
		fprintf(to, "%-*s%-*s%*s%*s\n", LABEL, "", NAME, difference_text((enum difference)d), NUMBER,
			grouped(t->events[d]), NUMBER, grouped(t->flows[d]));
}

void summary_show(FILE *to, struct session *s, const struct session *first)
{
	fprintf(to, "%s on %s\n\n", s->view->name, s->w->file ? s->w->file : s->w->interface);
	show_packets(to, s);
	show_flows(to, s);
	show_census(to, s);
	show_counts(to, s);
	show_tables(to, s, first);
	if (s->verifier)
		show_verify(to, s);
	fflush(to);
}
