/* SPDX-License-Identifier: BSD-2-Clause */
/* The queues of a set as text and as records. The names of figures are those of a run's queue (docs/records.md). */
#include "cli/kernel/queues.h"

#include <inttypes.h>
#include <string.h>

#include "base/rate.h"
#include "cli/figures.h"
#include "sim/text.h"

const char *const queue_sources[INK_KERNEL_WAITS] = {
	[INK_WAIT_REAL] = "real",     [INK_WAIT_NOQUEUE] = "noqueue", [INK_WAIT_MANY] = "mq",
	[INK_WAIT_APART] = "per_cpu", [INK_WAIT_CHOSEN] = "chosen",   [INK_WAIT_OLD] = "kernel",
};

/* What is read, or why it is virtual. */
static const char *const whys[INK_KERNEL_WAITS] = {
	[INK_WAIT_REAL] = "its root qdisc",
	[INK_WAIT_NOQUEUE] = "the interface has none",
	[INK_WAIT_MANY] = "the interface has several, under mq",
	[INK_WAIT_APART] = "its root qdisc counts on each processor separately",
	[INK_WAIT_CHOSEN] = "--queue virtual",
	[INK_WAIT_OLD] = "this kernel does not let programs read the real one",
};

/* ------------------------------------------------------------------------------- which one */

static uint64_t virtual_packets(const struct ink_kernel_queued *q)
{
	uint64_t n = 0;

	for (unsigned i = INK_WAIT_REAL + 1; i < INK_KERNEL_WAITS; i++)
		n += q->waits.from[i];
	return n;
}

const char *queues_which(const struct ink_kernel_queued *q)
{
	uint64_t real = q->waits.from[INK_WAIT_REAL], others = virtual_packets(q);

	if (!real && !others)
		return q->expected >= INK_KERNEL_WAITS ? "unknown"
		       : q->expected == INK_WAIT_REAL  ? "real"
						       : "virtual";
	return !others ? "real" : real ? "both" : "virtual";
}

/* Where its length comes from: as packets found it, or as they will. INK_KERNEL_WAITS: it varies, or is not known. */
static unsigned source_of(const struct ink_kernel_queued *q)
{
	unsigned source = INK_KERNEL_WAITS, n = 0;

	for (unsigned i = 0; i < INK_KERNEL_WAITS; i++)
		if (q->waits.from[i]) {
			source = i;
			n++;
		}
	return !n ? q->expected : n == 1 ? source : INK_KERNEL_WAITS;
}

static void put_rate(FILE *to, uint64_t rate)
{
	char text[INK_RATE_TEXT];

	ink_rate_show(rate, text);
	fputs(text, to);
}

void queues_show(FILE *to, const struct ink_kernel_queued *q)
{
	unsigned source = source_of(q);

	sim_put_visible(q->name, to);
	fprintf(to, ", %s", queues_which(q));
	if (q->rate) {
		fputs(source == INK_WAIT_REAL || q->waits.from[INK_WAIT_REAL] ? " at " : " of ", to);
		put_rate(to, q->rate);
	} else if (source == INK_WAIT_REAL && q->speed) {
		fputs(" at its speed of ", to);
		put_rate(to, q->speed);
	}
	if (source < INK_KERNEL_WAITS)
		fprintf(to, " (%s)", whys[source]);
}

/* ------------------------------------------------------------------------------------ text */

static void number_line(const char *name, uint64_t number)
{
	if (number)
		cli_line(stdout, "", name, number);
}

static double mean_wait(const struct ink_kernel_waits *w)
{
	return w->timed ? (double)w->wait / (double)w->timed : 0;
}

/* As a run's summary; the rate of a real queue's time is that of the virtual one, or the interface's speed. */
static void last_line(const struct ink_kernel_queued *q)
{
	const struct ink_kernel_waits *w = &q->waits;

	printf("%-*s%s", CLI_LABEL_WIDTH, "", cli_sized(w->bytes));
	if (w->timed) {
		fputs(" at ", stdout);
		put_rate(stdout, q->rate ? q->rate : q->speed);
		printf(", waits %.3f ms, at worst %.3f ms", mean_wait(w) / 1e6, (double)w->worst / 1e6);
	}
	putchar('\n');
}

void queues_lines(const struct ink_kernel_queued *q)
{
	const struct ink_kernel_waits *w = &q->waits;
	char name[32];

	printf("\n%-*s", CLI_LABEL_WIDTH, "queue");
	queues_show(stdout, q);
	putchar('\n');
	number_line("found, real", w->from[INK_WAIT_REAL]);
	for (unsigned i = INK_WAIT_REAL + 1; i < INK_KERNEL_WAITS && queue_sources[i]; i++) {
		snprintf(name, sizeof name, "found, virtual: %s", queue_sources[i]);
		number_line(name, w->from[i]);
	}
	number_line("no rate, taken as empty", w->unknown);
	cli_line(stdout, "", "joined", w->joined);
	if (strcmp(queues_which(q), "real")) /* a real one drops by itself, and tc -s counts it */
		cli_line(stdout, "", "lost at the tail", w->lost);
	number_line("given up", w->given_up);
	number_line("most packets found", w->most_packets);
	number_line("most bytes found", w->most_bytes);
	last_line(q);
}

/* --------------------------------------------------------------------------------- records */

static void put_optional(FILE *to, const char *name, uint64_t number)
{
	if (number)
		fprintf(to, ",\"%s\":%" PRIu64, name, number);
	else
		fprintf(to, ",\"%s\":null", name);
}

static void put_sources(FILE *to, const struct ink_kernel_waits *w)
{
	fputs(",\"packets\":{", to);
	for (unsigned i = 0; i < INK_KERNEL_WAITS && queue_sources[i]; i++)
		fprintf(to, "%s\"%s\":%" PRIu64, i ? "," : "", queue_sources[i], w->from[i]);
	putc('}', to);
}

void queues_record(FILE *to, const struct ink_kernel_queued *q)
{
	const struct ink_kernel_waits *w = &q->waits;

	fputs("{\"in_iface\":", to);
	sim_put_json(q->name, to);
	fprintf(to, ",\"which\":\"%s\"", queues_which(q));
	put_optional(to, "rate", q->rate);
	put_optional(to, "speed", q->speed);
	put_sources(to, w);
	fprintf(to,
		",\"unknown\":%" PRIu64 ",\"joined\":%" PRIu64 ",\"bytes\":%" PRIu64 ",\"lost\":%" PRIu64
		",\"given_up\":%" PRIu64 ",\"mean_wait\":%.9f,\"worst_wait\":%.9f,\"most_packets\":%" PRIu64
		",\"most_bytes\":%" PRIu64 "}",
		w->unknown, w->joined, w->bytes, w->lost, w->given_up, mean_wait(w) / 1e9,
		(double)w->worst / 1e9, w->most_packets, w->most_bytes);
}
