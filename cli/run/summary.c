/* SPDX-License-Identifier: BSD-2-Clause */
/* inkling run: what it all came to, for people. */
#include <inttypes.h>
#include <string.h>

#include "cli/run/run.h"

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

/* Seconds; what is longer than two minutes, hours or days, in these. */
static const char *lasting(uint64_t nanoseconds)
{
	static char text[32];
	double seconds = (double)nanoseconds / 1e9;

	if (seconds < 120)
		snprintf(text, sizeof text, "%.3f s", seconds);
	else if (seconds < 2 * 3600)
		snprintf(text, sizeof text, "%.1f min", seconds / 60);
	else if (seconds < 2 * 86400)
		snprintf(text, sizeof text, "%.1f h", seconds / 3600);
	else
		snprintf(text, sizeof text, "%.1f d", seconds / 86400);
	return text;
}

/* One line of a block; the block's name only in front of its first. */
static void line(FILE *to, const char *label, const char *name, uint64_t number)
{
	fprintf(to, "%-*s%-*s%*s\n", LABEL, label, NAME, name, NUMBER, grouped(number));
}

/* --------------------------------------------------------------------- blocks */

static void show_packets(FILE *to, const struct session *s)
{
	struct ink_capture_stats c = session_input(s);

	line(to, "packets", "read", c.packets);
	fprintf(to, "%-*s%s in %s of packet time\n", LABEL, "", sized(c.bytes), lasting(c.last - c.first));
	for (unsigned i = INK_NOT_SKIPPED + 1; i < INK_SKIPS; i++)
		if (c.skipped[i])
			line(to, "", ink_skip_name((enum ink_skip)i), c.skipped[i]);
	if (c.backwards)
		line(to, "", "with time going back", c.backwards);
	if (s->w->interface)
		line(to, "", "dropped by the kernel", c.dropped + c.dropped_by_interface);
}

static struct ink_stats stats_of(const struct ink_table *table)
{
	struct ink_stats t = {.size = sizeof t};

	ink_stats(table, &t);
	return t;
}

static void show_flows(FILE *to, const struct session *s)
{
	struct ink_track_stats k = {.size = sizeof k};
	uint64_t replaced = stats_of(s->table).replaced;

	ink_track_stats(s->track, &k);
	line(to, "flows", "begun", k.begun);
	line(to, "", "expired", k.expired);
	if (k.refused)
		line(to, "", "refused for lack of room", k.refused);
	if (replaced)
		line(to, "", "replaced to make room", replaced);
	if (k.unsure)
		line(to, "", "steps unsure", k.unsure);
}

static void show_census(FILE *to, const struct session *s)
{
	struct written census;

	if (session_census(s, &census))
		return;
	for (unsigned i = 0; i < s->view->states; i++)
		line(to, i ? "" : "states", s->view->state_names[i], census.state[i]);
	if (census.unsure)
		line(to, "", "unsure", census.unsure);
}

static void show_missing(FILE *to, const struct session *first)
{
	uint64_t missing;

	if (cautious_misses(first->cautious, &missing))
		line(to, "", "missing, flows at most", missing);
	else
		fprintf(to, "%-*smissing: nobody knows how many, with this kind of table\n", LABEL, "");
}

/* What was refused goes on in the exact table, if there is one, or in the second pass; what was replaced is gone. */
static int lost_flows(const struct session *s)
{
	struct ink_track_stats k = {.size = sizeof k};

	ink_track_stats(s->track, &k);
	return (k.refused && !s->slow && !s->cautious) || stats_of(s->table).replaced;
}

static int can_replace(const struct session *s)
{
	const struct ink_timing *timings = s->view->rules->timings;
	int expendable = 0;

	for (unsigned i = 0; timings && i < s->view->rules->states; i++)
		expendable |= timings[i].expendable;
	return expendable;
}

/*
 * What can be asked for beside what was. Flows that are replaced are neither refused nor unsure: nothing goes on
 * with them.
 */
static void show_lack_of_room(FILE *to, const struct session *s)
{
	int replaces = s->w->table.full == INK_REPLACE;
	const char *policy = !replaces && can_replace(s) ? "--full replace" : NULL;
	const char *slow = replaces || s->w->verify ? NULL : "--exact-for unsure";

	fprintf(to, "%-*sthe table was full, and counts and reports may lack flows:\n", LABEL, "");
	fprintf(to, "%-*smore %s", LABEL, "", s->w->table.bytes ? "--memory" : "--flows");
	if (policy)
		fprintf(to, "%s%s", slow ? ", " : " or ", policy);
	if (slow)
		fprintf(to, " or %s", slow);
	fprintf(to, " helps\n");
}

static void show_counts(FILE *to, const struct session *s, const struct session *first)
{
	for (unsigned i = 0; i < s->view->counters; i++)
		line(to,
		     i           ? ""
		     : s->second ? "of these"
				 : "counts",
		     s->view->counter_names[i], ink_track_counters(s->track)[i]);
	for (unsigned i = 0; i < s->view->counters; i++)
		if (session_lacks(s, i))
			fprintf(to,
				"%-*s%s lacks what was left at the end: this kind cannot count its flows\n",
				LABEL, "", s->view->counter_names[i]);
	if (lost_flows(s))
		show_lack_of_room(to, s);
	line(to, "reports", s->w->output ? s->w->output : "made (-o shows them)", s->reports);
	if (first)
		show_missing(to, first);
	if (s->w->write)
		line(to, "written", s->w->write, s->saved);
	if (s->dropped)
		line(to, "verdicts", "drop", s->dropped);
}

static void show_held(FILE *to, const char *label, uint64_t bytes, uint64_t flows)
{
	fprintf(to, "%-*s%-*s%*s flow%s held\n", LABEL, label, NAME, sized(bytes), NUMBER, grouped(flows),
		cli_plural(flows));
}

static void show_size(FILE *to, const char *label, const struct ink_table *table)
{
	struct ink_stats t = stats_of(table);

	show_held(to, label, t.bytes, t.flows);
}

static void show_candidates(FILE *to, const struct candidates *c)
{
	uint64_t flows, bytes;

	candidates_size(c, &flows, &bytes);
	show_held(to, "candidates", bytes, flows);
}

/* What others would take for the flows that it is made for. */
static void show_peers(FILE *to, const struct session *s, const struct ink_table *table)
{
	struct ink_stats t = stats_of(table);
	uint64_t flows = s->w->table.flows ? s->w->table.flows : s->w->table.bytes ? t.flows : DEFAULT_FLOWS;
	struct ink_options exact = {.size = sizeof exact, .kind = INK_EXACT, .states = 1, .flows = flows};
	struct ink_plan plan = {.size = sizeof plan};

	if (flows && ink_plan(&exact, &plan, NULL) == 0)
		fprintf(to, "%-*s%s flow%s: %s with whole ids, %s in nf_conntrack\n", LABEL, "",
			grouped(flows), cli_plural(flows), sized(plan.bytes), sized(flows * CONNTRACK_BYTES));
}

static void show_tables(FILE *to, const struct session *s, const struct session *first)
{
	show_size(to, "table", first ? first->table : s->table);
	show_peers(to, s, first ? first->table : s->table);
	if (first)
		show_size(to, "second pass", s->table);
	if (s->candidates)
		show_candidates(to, s->candidates);
	if (s->slow)
		show_size(to, "slow path", s->slow);
	if (s->beside)
		show_size(to, "exact", s->beside);
}

/* Counters that the exact table brought to another number. */
static void show_other_counts(FILE *to, const struct session *s)
{
	const uint64_t *ours = ink_track_counters(s->track), *exact = ink_track_counters_beside(s->track);
	int told = 0;

	for (unsigned i = 0; i < s->view->counters; i++) {
		if (ours[i] == exact[i])
			continue;
		if (!told++)
			fprintf(to, "%-*s%-*s%*s%*s\n", LABEL, "counts", NAME, "that differ", NUMBER, "table",
				NUMBER, "exact");
		fprintf(to, "%-*s%-*s%*s%*s\n", LABEL, "", NAME, s->view->counter_names[i], NUMBER,
			grouped(ours[i]), NUMBER, grouped(exact[i]));
	}
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
	line(to, "settled", "times", t->settled);
	line(to, "", "lost", t->lost);
	line(to, "", "in another state", t->changed);
	show_other_counts(to, s);
}

static const char *input_name(const struct wishes *w)
{
	if (!w->file)
		return w->interface;
	return strcmp(w->file, "-") ? w->file : "standard input";
}

void summary_show(FILE *to, struct session *s, const struct session *first)
{
	fprintf(to, "%s on %s\n\n", s->view->name, input_name(s->w));
	show_packets(to, s);
	show_flows(to, s);
	show_census(to, s);
	show_counts(to, s, first);
	show_tables(to, s, first);
	if (s->verifier)
		show_verify(to, s);
}
