/* SPDX-License-Identifier: BSD-2-Clause */
/* When the time-outs and windows of a machine fire, in words and in JSON. */
#include <inttypes.h>
#include <stdio.h>

#include "cli/cli.h"

struct span {
	uint64_t written; /* nanoseconds */
	int window;
	double earliest, latest; /* seconds */
};

/* The period of a written state: that of the first state that it is compiled to. */
static uint32_t period_of(const struct ink_machine_view *v, unsigned state)
{
	unsigned i = 0;

	while (v->state_of[i] != state)
		i++;
	return v->rules->timings[i].period;
}

/* Each time once, the shortest first. */
static unsigned place_for(struct span *spans, unsigned *n, uint64_t written, int window)
{
	unsigned at = 0;

	while (at < *n &&
	       (spans[at].written < written || (spans[at].written == written && spans[at].window < window)))
		at++;
	if (at < *n && spans[at].written == written && spans[at].window == window)
		return at;
	for (unsigned i = (*n)++; i > at; i--)
		spans[i] = spans[i - 1];
	return at;
}

/* Returns how many; 0 also if the kind has no time-outs. */
static unsigned list_spans(const struct ink_machine_view *v, struct cli_ages ages, struct span *spans)
{
	unsigned n = 0;

	for (unsigned i = 0; i < v->states; i++) {
		const struct ink_written_time *time = &v->state_time[i];
		uint64_t written = time->window ? time->window : time->timeout;
		double tick = (double)v->tick / 1e9;
		struct ink_expiry e;

		if (!written || ink_expiry(ages.kind, ages.bits, period_of(v, i), &e) ||
		    e.latest == INK_NO_EXPIRY)
			continue;
		spans[place_for(spans, &n, written, time->window != 0)] = (struct span){
			written, time->window != 0, (double)e.earliest * tick, (double)e.latest * tick};
	}
	return n;
}

/* As machines have it: the longest unit of which it is a whole number. */
static void put_written(uint64_t nanoseconds, FILE *to)
{
	static const struct {
		uint64_t length;
		const char *name;
	} units[] = {{86400000000000u, "d"}, {3600000000000u, "h"}, {60000000000u, "m"}, {1000000000u, "s"}};

	for (unsigned i = 0; i < sizeof units / sizeof units[0]; i++)
		if (nanoseconds % units[i].length == 0) {
			fprintf(to, "%" PRIu64 "%s", nanoseconds / units[i].length, units[i].name);
			return;
		}
	fprintf(to, "%gms", (double)nanoseconds / 1e6);
}

/* Both ends in one unit; three digits, and more where they are whole ones. */
static void put_range(const struct span *s, FILE *to)
{
	double unit = s->latest < 1 ? .001 : s->latest < 120 ? 1 : s->latest < 7200 ? 60 : 3600;
	const char *name = unit < 1 ? "ms" : unit == 1 ? "s" : unit == 60 ? "min" : "h";
	double earliest = s->earliest / unit, latest = s->latest / unit;
	int digits = latest < 10 ? 1 : latest < 100 && unit > 0 ? 1 : 0;

	fprintf(to, "after %.*f to %.*f %s", digits, earliest, digits, latest, name);
}

unsigned cli_put_times(const struct ink_machine_view *v, struct cli_ages ages, struct cli_lines lines,
		       FILE *to)
{
	struct span spans[INK_MAX_STATES];
	unsigned n = list_spans(v, ages, spans);

	for (unsigned i = 0; i < n; i++) {
		fputs(i ? lines.other : lines.first, to);
		fputs(spans[i].window ? "within " : "timeout ", to);
		put_written(spans[i].written, to);
		fputs(": ", to);
		put_range(&spans[i], to);
		fputc('\n', to);
	}
	return n;
}

void cli_put_times_json(const struct ink_machine_view *v, struct cli_ages ages, FILE *to)
{
	struct span spans[INK_MAX_STATES];
	unsigned n = list_spans(v, ages, spans);

	fputc('[', to);
	for (unsigned i = 0; i < n; i++)
		fprintf(to, "%s{\"%s\":%.9g,\"earliest\":%.9g,\"latest\":%.9g}", i ? "," : "",
			spans[i].window ? "within" : "timeout", (double)spans[i].written / 1e9,
			spans[i].earliest, spans[i].latest);
	fputc(']', to);
}
