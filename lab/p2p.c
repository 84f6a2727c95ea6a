/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Section 5.2.2 of the ACSM paper: finding P2P traffic as it passes.
 *
 * A pair of hosts that exchanges UDP packets during a TCP connection is taken to be P2P. The machine has two
 * states, TCP and P2P: a SYN begins a flow, its UDP packet moves it to P2P, its last packet ends it. There
 * are 64K flows at once, of 15 packets each, and 64 seconds of silence end a flow. The paper stores them in a
 * fingerprint-compressed filter of 4 subtables of 2^11 buckets of 9 cells, with 14 bits of fingerprint and 2
 * of state, 1,179,648 bits in all.
 *
 * A table is compared with the truth of the generator (sim/p2p.h). As in Table 1:
 *
 *     DK   the table answered "don't know" at any packet of the flow; in % of all flows
 *     FP   not P2P but found in that state, and no DK; in % of the flows that are not P2P
 *     FN   P2P and never found in that state, with a DK or without; in % of the flows that are
 *
 * The paper does not say what a SYN does that finds an entry with its own fingerprint. It may store a second
 * copy, or adopt the entry. Nor does it say which packets look the flow up. Claims are bound to the copy, and
 * to lookups by every packet; the table of interpretations has the others.
 *
 * Result: no false positives, and FN + DK below 0.6 % as in the paper. Its trends, FN that rises with the
 * share of P2P and DK that falls, do not appear. In the same bits, timer and side table counted, `compact`
 * makes no error, nor does `line` if the machine reports P2P at once and does not keep it as a state.
 */
#include <stdlib.h>

#include "lab/experiments.h"
#include "lab/p2p_game.h"
#include "lab/page.h"

#define GAP 4. /* seconds between the packets of a flow: 15 of them take a minute */

/* ------------------------------------------------------------------------ contests */

enum { COPY, ADOPTED, LINE_SAID, LINE_KEPT, COMPACT, STRUCTURES };
static const struct contender structures[STRUCTURES] = {
	{"FCF, copy", INK_DLEFT, 0, 1},        {"FCF, adopt", INK_DLEFT, ADOPT, 1},
	{"line, P2P said", INK_LINE, SAID, 1}, {"line", INK_LINE, 0, 1},
	{"compact", INK_COMPACT, 0, 1},
};

static const struct contender readings[] = {
	{"copy", INK_DLEFT, 0, 1},
	{"adopt", INK_DLEFT, ADOPT, 1},
	{"copy, P2P said, not kept", INK_DLEFT, SAID, 1},
	{"adopt, P2P said, not kept", INK_DLEFT, SAID | ADOPT, 1},
	{"copy, don't-knows are not FN", INK_DLEFT, APART, 1},
	{"copy, state changes re-insert", INK_DLEFT, REINSERT, 1},
	{"copy, tried again when refused", INK_DLEFT, RETRY, 1},
	{"copy, timer twice as long", INK_DLEFT, SLOW_TIMER, 1},
	{"copy, P2P taken out when found", INK_DLEFT, FORGET, 1},
	{"adopt, P2P taken out when found", INK_DLEFT, ADOPT | FORGET, 1},
	{"copy, only SYN, UDP, FIN look", INK_DLEFT, SPARING, 1},
	{"copy, DK only at UDP", INK_DLEFT, SPARING | UDP_ASKS, 1},
	{"adopt, DK only at UDP", INK_DLEFT, ADOPT | SPARING | UDP_ASKS, 1},
	{"copy, taken out, DK only at UDP", INK_DLEFT, FORGET | SPARING | UDP_ASKS, 1},
	{"adopt, taken out, DK only at UDP", INK_DLEFT, ADOPT | FORGET | SPARING | UDP_ASKS, 1},
};
enum { READINGS = sizeof readings / sizeof readings[0] };
_Static_assert((int)READINGS <= (int)P2P_MOST_CONTENDERS, "one game has them all");

static const struct contender extended[] = {
	{"exact", INK_EXACT, 0, 1},
	{"FCF, copy", INK_DLEFT, 0, 1},
	{"line", INK_LINE, 0, 1},
	{"compact", INK_COMPACT, 0, 1},
	{"compact, 2 age bits", INK_COMPACT, 0, 2},
};
enum { EXTENDED = sizeof extended / sizeof extended[0] };

/* Flows that go silently stay for 64 to 128 seconds: so few slots that all together are less than 64K. */
enum { SLOTS_UDP_ONLY = 53000, SLOTS_SILENT = 54000 };

enum { PERCENTS = 3, EXTENSIONS = 3, CONTESTS = 2 * PERCENTS + EXTENSIONS };
static const double percents[PERCENTS] = {15, 25, 40};
static const double paper_fn[PERCENTS] = {.29, .31, .34}, paper_dk[PERCENTS] = {.17, .156, .149};

static struct contest contest_of(size_t i)
{
	struct contest c = {.traffic = {.slots = ACTIVE, .gap = GAP, .p2p = .25}};

	if (i < 2 * PERCENTS) {
		c.traffic.p2p = percents[i % PERCENTS] / 100;
		c.contenders = i < PERCENTS ? structures : readings;
		c.count = i < PERCENTS ? STRUCTURES : READINGS;
		return c;
	}
	c.contenders = extended;
	c.count = i + 1 == CONTESTS ? EXTENDED : EXTENDED - 1; /* the second age bit is for time-outs */
	c.both_ways = i == 2 * PERCENTS;
	switch (i - 2 * PERCENTS) {
	case 0:
		c.name = "UDP first";
		c.traffic.slots = SLOTS_UDP_ONLY;
		c.traffic.udp_first = .5;
		c.traffic.udp_only = .1;
		break;
	case 1:
		c.name = "Zipf sizes";
		c.traffic.zipf = true;
		break;
	default:
		c.name = "time-outs";
		c.traffic.slots = SLOTS_SILENT;
		c.traffic.silent = .1;
	}
	return c;
}

/* ------------------------------------------------------------------ all of them */

/* Interpretations are many and differ widely: one run of each is enough. */
static size_t runs_of(const struct lab *lab, size_t contest)
{
	bool once = contest >= PERCENTS && (contest < 2 * PERCENTS || lab->size == LAB_QUICK);

	return once ? 1 : lab->seeds;
}

static size_t first_of(const struct lab *lab, size_t contest)
{
	size_t first = 0;

	for (size_t i = 0; i < contest; i++)
		first += runs_of(lab, i);
	return first;
}

static void prepare(const struct lab *lab, struct game *games, size_t contest)
{
	bool quick = lab->size == LAB_QUICK;

	for (size_t i = 0; i < runs_of(lab, contest); i++) {
		struct game *g = &games[first_of(lab, contest) + i];

		*g = (struct game){.contest = contest_of(contest),
				   .seed = lab_seed(lab, contest, i),
				   .shrink = quick ? 8 : 1};
		g->contest.traffic.slots /= g->shrink;
		g->warm = 2 * ACTIVE / g->shrink;
		g->flows = g->warm + (!quick ? 200000 : contest < PERCENTS ? 80000 : 30000);
	}
}

/* ------------------------------------------------------------------------- the page */

/* Over the seeds: the three errors of one contender in a contest. */
struct summary {
	struct spread fp, fn, dk, flows;
};

static struct summary summary_of(const struct lab *lab, const struct game *games, size_t contest,
				 unsigned which)
{
	size_t runs = runs_of(lab, contest);
	double *numbers = lab_alloc(4 * runs, sizeof *numbers);
	struct summary s;

	games += first_of(lab, contest);
	for (size_t i = 0; i < runs; i++) {
		const struct errors *e = &games[i].errors[which];

		numbers[i] = e->fp;
		numbers[runs + i] = e->fn;
		numbers[2 * runs + i] = e->dk;
		numbers[3 * runs + i] = e->flows;
	}
	s = (struct summary){spread_of(numbers, runs), spread_of(numbers + runs, runs),
			     spread_of(numbers + 2 * runs, runs), spread_of(numbers + 3 * runs, runs)};
	free(numbers);
	return s;
}

static void write_structures(const struct lab *lab, struct page *page, const struct game *games)
{
	static const struct page_column columns[] = {
		{"P2P", "%", 0}, {"table", NULL, 0}, {"FP", "%", 2}, {"FN", "%", 3}, {"DK", "%", 3}};
	struct page_table *table = page_table(page, "structures", "Flows that were misjudged", columns,
					      sizeof columns / sizeof columns[0]);

	for (size_t i = 0; i < PERCENTS; i++) {
		page_row(table);
		page_number(table, percents[i]);
		page_word(table, "the paper");
		page_number(table, 0);
		page_number(table, paper_fn[i]);
		page_number(table, paper_dk[i]);
		for (unsigned which = 0; which < STRUCTURES; which++) {
			struct summary s = summary_of(lab, games, i, which);

			page_row(table);
			page_number(table, percents[i]);
			page_word(table, "%s", structures[which].name);
			page_spread(table, s.fp);
			page_spread(table, s.fn);
			page_spread(table, s.dk);
		}
	}
}

static void write_curve(const struct lab *lab, struct page *page, const struct game *games, bool dont_know)
{
	struct page_plot *plot = page_plot(
		page, dont_know ? "dk" : "fn", dont_know ? "Don't-knows" : "False negatives",
		(struct page_axis){.name = "P2P flows", .unit = "%"},
		(struct page_axis){.name = dont_know ? "of all flows" : "of P2P flows", .unit = "%"});
	struct page_series *paper = page_series(plot, PAGE_PAPER, STRUCTURE_DLEFT, "the paper");

	for (size_t i = 0; i < PERCENTS; i++)
		page_point(paper, percents[i], dont_know ? paper_dk[i] : paper_fn[i]);
	for (unsigned which = 0; which < STRUCTURES; which++) {
		struct page_series *series = page_series(
			plot, PAGE_LINE, structure_of(structures[which].kind), structures[which].name);

		for (size_t i = 0; i < PERCENTS; i++) {
			struct summary s = summary_of(lab, games, i, which);

			page_point_spread(series, percents[i], dont_know ? s.dk : s.fn);
		}
	}
}

static void write_readings(const struct lab *lab, struct page *page, const struct game *games)
{
	static const struct page_column columns[] = {{"interpretation", NULL, 0}, {"FP 25", "%", 2},
						     {"FN 15", "%", 3},           {"FN 40", "%", 3},
						     {"DK 15", "%", 3},           {"DK 40", "%", 3}};
	struct page_table *table =
		page_table(page, "readings", "What the paper leaves open, at 15, 25 and 40 % P2P", columns,
			   sizeof columns / sizeof columns[0]);

	page_row(table);
	page_word(table, "the paper");
	page_number(table, 0);
	page_number(table, paper_fn[0]);
	page_number(table, paper_fn[PERCENTS - 1]);
	page_number(table, paper_dk[0]);
	page_number(table, paper_dk[PERCENTS - 1]);
	for (unsigned which = 0; which < READINGS; which++) {
		struct summary few = summary_of(lab, games, PERCENTS, which);
		struct summary some = summary_of(lab, games, PERCENTS + 1, which);
		struct summary many = summary_of(lab, games, PERCENTS + 2, which);

		page_row(table);
		page_word(table, "%s", readings[which].name);
		page_number(table, some.fp.middle);
		page_number(table, few.fn.middle);
		page_number(table, many.fn.middle);
		page_number(table, few.dk.middle);
		page_number(table, many.dk.middle);
	}
}

static void write_extensions(const struct lab *lab, struct page *page, const struct game *games)
{
	static const struct page_column columns[] = {{"traffic", NULL, 0}, {"table", NULL, 0},
						     {"FP", "%", 2},       {"FN", "%", 3},
						     {"DK", "%", 3},       {"entries", NULL, 3}};
	struct page_table *table = page_table(page, "extensions", "What the paper leaves out, at 25 % P2P",
					      columns, sizeof columns / sizeof columns[0]);

	for (size_t i = 2 * PERCENTS; i < CONTESTS; i++) {
		const struct contest *c = &games[first_of(lab, i)].contest;

		for (unsigned which = 0; which < c->count; which++) {
			struct summary s = summary_of(lab, games, i, which);

			page_row(table);
			page_word(table, "%s", c->name);
			page_word(table, "%s", c->contenders[which].name);
			page_spread(table, s.fp);
			page_spread(table, s.fn);
			page_spread(table, s.dk);
			page_number(table, s.flows.middle);
		}
	}
}

static void claim(struct page *page, const char *name, double percent, const struct summary *s)
{
	page_claim(page, s->fp.middle, PAGE_AT_MOST, 0, "%s, %.0f %% P2P: false positives, in percent", name,
		   percent);
	page_claim(page, s->fn.middle + s->dk.middle, PAGE_AT_MOST, .6,
		   "%s, %.0f %% P2P: false negatives and don't-knows together, in percent", name, percent);
}

/* Claims are about the stated interpretation, and about the structures of the library that fit its memory. */
static void write_claims(const struct lab *lab, struct page *page, const struct game *games)
{
	for (size_t i = 0; i < PERCENTS; i++)
		for (unsigned which = 0; which < STRUCTURES; which++) {
			struct summary s = summary_of(lab, games, i, which);

			if (which == COPY || which == LINE_SAID || which == COMPACT)
				claim(page, structures[which].name, percents[i], &s);
		}
	for (size_t i = 2 * PERCENTS; i < CONTESTS; i++) {
		struct summary s = summary_of(lab, games, i, 0);

		page_claim(page, s.fp.high + s.fn.high + s.dk.high, PAGE_AT_MOST, 0,
			   "%s: errors of an exact table, compared with the truth of the generator",
			   games[first_of(lab, i)].contest.name);
	}
}

static bool within(double number, double paper, double factor)
{
	return number >= paper / factor && number <= paper * factor;
}

/* Bound to the interpretation "copy". */
static void write_verdicts(const struct lab *lab, struct page *page, const struct game *games)
{
	struct summary s[PERCENTS];
	bool no_fp = true, near_sum = true, fn_above = true;

	for (size_t i = 0; i < PERCENTS; i++) {
		s[i] = summary_of(lab, games, i, COPY);
		no_fp &= s[i].fp.middle == 0;
		near_sum &= within(s[i].fn.middle + s[i].dk.middle, paper_fn[i] + paper_dk[i], 1.5);
		fn_above &= s[i].fn.middle > s[i].dk.middle;
	}
	page_verdict(page, no_fp ? PAGE_AGREES : PAGE_DISAGREES, "5.2.2, false positives",
		     "The paper has none; here %.2g %% at 15 %% P2P and %.2g %% at 40 %%.", s[0].fp.middle,
		     s[PERCENTS - 1].fp.middle);
	page_verdict(
		page, near_sum ? PAGE_AGREES : PAGE_DISAGREES, "5.2.2, FN and DK together",
		"%.2g %% at 15 %% P2P and %.2g %% at 40 %%; the paper has .46 and .49 (within a factor of 1.5).",
		s[0].fn.middle + s[0].dk.middle, s[PERCENTS - 1].fn.middle + s[PERCENTS - 1].dk.middle);
	page_verdict(
		page,
		fn_above && s[PERCENTS - 1].fn.middle > s[0].fn.middle &&
				s[PERCENTS - 1].dk.middle < s[0].dk.middle
			? PAGE_AGREES
			: PAGE_DISAGREES,
		"5.2.2, trends of FN and DK",
		"In the paper FN is above DK and rises with the share of P2P (.29 to .34 %%) while DK falls (.17 "
		"to .15 %%); here FN is %.2g to %.2g %% and DK %.2g to %.2g %%.",
		s[0].fn.middle, s[PERCENTS - 1].fn.middle, s[0].dk.middle, s[PERCENTS - 1].dk.middle);
}

static void write_page(const struct lab *lab, struct page *page, const struct game *games)
{
	write_verdicts(lab, page, games);
	page_text(
		page,
		"A pair of hosts that exchanges UDP packets during a TCP connection is P2P. %u flows at once, "
		"15 packets each, one every %.0f seconds. The filter is the paper's (%d bits for 65,536 flows, "
		"without its timer); line and compact have the same bits including timer and side table. Each "
		"run follows %u flows.",
		games[0].contest.traffic.slots, GAP, BITS, games[0].flows - games[0].warm);
	write_structures(lab, page, games);
	page_text(
		page,
		"In a line of 32 entries each has 15 bits. If P2P is a state, the fingerprint has 12 of them, and "
		"more flows collide than fit the side table; those are don't-knows. If the machine reports P2P "
		"at once instead (\"P2P said\"), one state is enough, and the fingerprint has 13 bits.");
	write_curve(lab, page, games, false);
	write_curve(lab, page, games, true);
	page_fold(page, "Other interpretations");
	page_text(
		page,
		"A SYN that finds an entry with its own fingerprint stores a copy, or adopts the entry, which two "
		"flows then share. The paper's FN rises with the share of P2P while its DK falls; the rows show "
		"which interpretations do that.");
	write_readings(lab, page, games);
	page_fold(page, "What the paper leaves out");
	page_text(
		page,
		"UDP first: half of the P2P flows begin with UDP, and a tenth of all flows is UDP alone and ends "
		"by its time-out; the machine has a third state, and the filter's fingerprint %u bits. Zipf "
		"sizes: 2 to 10,000 packets, 15 on average. Time-outs: a tenth of the flows breaks off, and its "
		"UDP packet comes up to %d seconds later; it is P2P before %d seconds, but one age bit keeps a "
		"flow for up to twice that, two age bits for a third more.",
		P2P_F - 1, SIM_P2P_LATEST, SIM_P2P_TIMEOUT);
	write_extensions(lab, page, games);
	write_claims(lab, page, games);
}

static int run(struct lab *lab, struct page *page)
{
	size_t count = first_of(lab, CONTESTS);
	struct game *games = lab_alloc(count, sizeof *games);
	int error;

	for (size_t i = 0; i < CONTESTS; i++)
		prepare(lab, games, i);
	error = lab_each(lab, count, p2p_game, games);
	if (!error)
		write_page(lab, page, games);
	free(games);
	return error;
}

const struct experiment experiment_p2p = {
	.name = "p2p",
	.title = "Finding P2P traffic",
	.where = "ACSM 5.2.2",
	.shows =
		"How many of 64K concurrent flows does the paper's filter misjudge, in 1.2 Mbit? How many do "
		"line and compact in the same memory?",
	.interpretation =
		"A SYN that finds an entry with its own fingerprint stores a second copy; every packet "
		"looks its flow up; P2P is a state.",
	.seconds = {7, 60, 60},
	.run = run,
};
