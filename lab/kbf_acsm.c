/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Figures 13 to 15 of the kBF paper: the flags of TCP flows as states, stored in a kBF and in the stateful
 * Bloom filter (SBF) of the ACSM paper.
 *
 * The trace is synthetic (sim/flags.h): 908,522 flows, of which 900 stay in FIN and 1,658 in RST, as the
 * paper says of its hour of a backbone. Chosen here: a tenth of the flows end and are deleted, and a flow has
 * 3.7 packets on average. The truth is an array with the last flag of each flow.
 *
 * The protocol is the paper's. A packet looks up its flow. If the flow is absent, it is stored with the
 * packet's flag; otherwise its state becomes that flag, or its last packet deletes it. The structure does not
 * know which packets are first, so there are three errors:
 *
 *     false positive    the lookup of a first packet is not "absent"; the flow is not stored
 *     false negative    the lookup of a later packet is "absent" or "don't know"
 *     wrong             the lookup of a later packet is another state
 *
 * p gives k = log2(1/p) and m = n ln(1/p) / (ln 2)^2 cells. The paper compares at equal cells, but a cell of
 * its kBF has 32 bits and one of the SBF seven. So there is an SBF of equal bits as well. Another SBF writes
 * the new state like an insert, so that a flow makes its own cells "don't know": its false negatives hardly
 * depend on its size, which is what the paper reports. Two tables of the library are compared with them:
 * `kbf` in the bits of the paper's kBF, and `line`, planned for errors of p. With a machine that says that
 * SYN begins a flow, `line` makes no error.
 */
#include "lab/experiments.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <inkling/inkling.h>

#include "sim/flags.h"
#include "lab/page.h"
#include "lab/printed_kbf.h"
#include "sim/seeded.h"

enum { PAPER_FLOWS = 908522, PAPER_FIN = 900, PAPER_RST = 1658, PAPER_CELL = 32 };
enum { SBF_COUNTER = 4, SBF_CELL = SBF_COUNTER + 3, SUMS_CELL = 16, SUMS_MOST_K = 16, CHECKPOINTS = 10 };

/* Each with more work than the next: long jobs first. */
static const double ps[] = {1e-5, 1e-4, 1e-3, .01, .1};

enum { PS = sizeof ps / sizeof ps[0], AT_THOUSANDTH = 2, AT_TENTH = 4 };

/* ---------------------------------------------------------------------- the stores */

enum sort { PRINTED, SBF_CELLS, SBF_BITS, SBF_INSERTS, SUMS, LINE, LINE_STARTS, SORTS };

static const char *const sort_names[SORTS] = {
	"kBF as printed", "SBF, equal cells", "SBF, equal bits", "SBF, by inserts", "kbf, equal bits",
	"line",           "line, SYN begins",
};

static const enum structure sort_structures[SORTS] = {
	STRUCTURE_PRINTED, STRUCTURE_STATEFUL, STRUCTURE_STATEFUL, STRUCTURE_STATEFUL,
	STRUCTURE_SUMS,    STRUCTURE_LINE,     STRUCTURE_LINE,
};

struct store {
	enum sort sort;
	struct printed_kbf printed;
	struct ink_table *table;
	double bits;
};

/* Tables and printed_kbf.h answer alike. */
_Static_assert(INK_ABSENT == PRINTED_ABSENT && INK_DONT_KNOW == PRINTED_NULL, "answers are the same");

static int ask(struct store *s, uint64_t id)
{
	return s->table ? ink_lookup(s->table, id) : printed_query(&s->printed, id);
}

static void put(struct store *s, uint64_t id, enum sim_flag flag)
{
	if (s->table)
		ink_insert(s->table, id, flag);
	else
		printed_insert(&s->printed, id, flag);
}

/* What cannot be done is not: a table returns an error, and the paper's kBF knows nothing to take out. */
static void change(struct store *s, uint64_t id, int from, enum sim_flag to)
{
	if (from == (int)to)
		return;
	if (s->sort == SBF_INSERTS)
		ink_insert(s->table, id, to);
	else if (s->table)
		ink_modify(s->table, id, to);
	else if (from >= 0)
		printed_update(&s->printed, id, (uint32_t)from, to);
}

static void drop(struct store *s, uint64_t id, int from)
{
	if (s->table)
		ink_delete(s->table, id);
	else if (from >= 0)
		printed_delete(&s->printed, id, (uint32_t)from);
}

/* The options of the table in place of the kBF of p. */
static struct ink_options options_of(enum sort sort, double p, uint32_t flows, uint64_t seed)
{
	uint64_t m = printed_cells(p, flows);
	uint32_t k = printed_k(p);
	struct ink_options o = {.size = sizeof o, .states = SIM_FLAG_STATES, .flows = flows, .seed = seed};

	if (sort == LINE || sort == LINE_STARTS) {
		o.kind = INK_LINE;
		o.error = p;
		return o;
	}
	o.error = 1 - 1e-9; /* the geometry is given, so any error is accepted */
	o.kind = sort == SUMS ? INK_KBF : INK_STATEFUL;
	if (sort == SUMS)
		o.geometry = (struct ink_geometry){.k = k < SUMS_MOST_K ? k : SUMS_MOST_K,
						   .m = (uint32_t)(m * PAPER_CELL / SUMS_CELL)};
	else
		o.geometry = (struct ink_geometry){
			.k = k,
			.m = (uint32_t)(sort == SBF_BITS ? m * PAPER_CELL / SBF_CELL : m),
			.counter_bits = SBF_COUNTER};
	return o;
}

struct study {
	struct printed_codes codes;
	struct sim_flags_options size;
	struct sim_flags *traces; /* for each seed */
	struct outcome *outcomes; /* [PS][SORTS][seeds] */
};

static int open_store(struct lab *lab, const struct study *study, struct store *s, double p, uint64_t seed)
{
	struct ink_options o = options_of(s->sort, p, study->size.flows, seed);
	struct ink_stats stats = {.size = sizeof stats};
	struct ink_why why;

	if (s->sort == PRINTED) {
		s->printed = printed_make(&study->codes, printed_k(p), printed_cells(p, study->size.flows));
		s->bits = PAPER_CELL * (double)s->printed.m;
		return 0;
	}
	s->table = ink_create(&o, &why);
	if (!s->table)
		return lab_fail(lab, -errno, "%s at p = %g: %s", sort_names[s->sort], p, why.text);
	ink_stats(s->table, &stats);
	s->bits = 8 * (double)stats.bytes;
	return 0;
}

static void close_store(struct store *s)
{
	ink_free(s->table);
	free(s->printed.cells);
}

/* ----------------------------------------------------------------------- the run */

struct errors {
	double false_positives, false_negatives, wrong;
};

struct outcome {
	struct errors errors;
	double first, later; /* packets */
	double bits;
	double found[SIM_FLAG_STATES];    /* flows that the store has in that state in the end */
	struct errors grown[CHECKPOINTS]; /* errors up to each tenth of the trace */
};

enum { NONE = 0xff }; /* as truth: the flow is not, or no longer, there */

static uint64_t id_of(uint64_t seed, uint32_t flow)
{
	return sim_mix(seed + flow);
}

static void judge(struct outcome *o, uint8_t truth, int answer)
{
	if (truth == NONE) {
		o->first++;
		o->errors.false_positives += answer != INK_ABSENT;
		return;
	}
	o->later++;
	o->errors.false_negatives += answer < 0;
	o->errors.wrong += answer >= 0 && answer != truth;
}

static void act(struct store *s, uint64_t id, int answer, enum sim_flag flag)
{
	if (flag == SIM_LAST && answer != INK_ABSENT)
		drop(s, id, answer);
	else if (flag != SIM_LAST && answer == INK_ABSENT)
		put(s, id, flag);
	else if (flag != SIM_LAST)
		change(s, id, answer, flag);
}

static void packet(struct store *s, uint64_t id, uint8_t *truth, enum sim_flag flag, struct outcome *o)
{
	int answer = s->sort == LINE_STARTS && flag == SIM_SYN ? INK_ABSENT : ask(s, id);

	judge(o, *truth, answer);
	act(s, id, answer, flag);
	*truth = flag == SIM_LAST ? NONE : (uint8_t)flag;
}

static void play(struct store *s, const struct sim_flags *trace, uint64_t seed, uint8_t *truth,
		 struct outcome *o)
{
	size_t next = 0;

	for (unsigned tenth = 0; tenth < CHECKPOINTS; tenth++) {
		size_t until = trace->count * (tenth + 1) / CHECKPOINTS;

		for (; next < until; next++) {
			uint32_t flow = sim_flags_flow(trace->packets[next]);

			packet(s, id_of(seed, flow), &truth[flow], sim_flags_flag(trace->packets[next]), o);
		}
		o->grown[tenth] = o->errors;
	}
}

static void look_for_flags(struct store *s, uint32_t flows, uint64_t seed, struct outcome *o)
{
	for (uint32_t flow = 0; flow < flows; flow++) {
		int answer = ask(s, id_of(seed, flow));

		if (answer >= 0)
			o->found[answer]++;
	}
}

static int one_run(struct lab *lab, void *context, size_t number)
{
	struct study *study = context;
	unsigned repetition = (unsigned)(number % lab->seeds);
	struct store s = {.sort = (enum sort)(number / lab->seeds % SORTS)};
	struct outcome *o = &study->outcomes[number];
	uint64_t seed = lab_seed(lab, 1, repetition);
	uint8_t *truth = lab_alloc(study->size.flows, 1);
	int error = open_store(lab, study, &s, ps[number / lab->seeds / SORTS], seed);

	memset(truth, NONE, study->size.flows);
	o->bits = s.bits;
	if (!error) {
		play(&s, &study->traces[repetition], seed, truth, o);
		look_for_flags(&s, study->size.flows, seed, o);
	}
	close_store(&s);
	free(truth);
	return error;
}

static int one_trace(struct lab *lab, void *context, size_t number)
{
	struct study *study = context;
	struct sim_flags_options o = study->size;
	int error;

	o.seed = lab_seed(lab, 0, number);
	error = sim_flags_make(&study->traces[number], &o);
	return error ? lab_fail(lab, error, "a trace of %u flows", o.flows) : 0;
}

/* ------------------------------------------------------------------------- numbers */

static const struct outcome *outcome_of(const struct study *s, const struct lab *lab, size_t p,
					enum sort sort, unsigned seed)
{
	return &s->outcomes[(p * SORTS + sort) * lab->seeds + seed];
}

typedef double number_fn(const struct outcome *o);

static double percent_positives(const struct outcome *o)
{
	return 100 * o->errors.false_positives / o->first;
}

static double percent_negatives(const struct outcome *o)
{
	return 100 * o->errors.false_negatives / o->later;
}

static double percent_wrong(const struct outcome *o)
{
	return 100 * o->errors.wrong / o->later;
}

static double sum_of(struct errors e)
{
	return e.false_positives + e.false_negatives + e.wrong;
}

static double percent_all(const struct outcome *o)
{
	return 100 * sum_of(o->errors) / (o->first + o->later);
}

static double found_fin(const struct outcome *o)
{
	return o->found[SIM_FIN];
}

static double found_rst(const struct outcome *o)
{
	return o->found[SIM_RST];
}

static struct spread over_seeds(const struct study *s, const struct lab *lab, size_t p, enum sort sort,
				number_fn *number)
{
	double *values = lab_alloc(lab->seeds, sizeof *values);
	struct spread spread;

	for (unsigned i = 0; i < lab->seeds; i++)
		values[i] = number(outcome_of(s, lab, p, sort, i));
	spread = spread_of(values, lab->seeds);
	free(values);
	return spread;
}

/* ------------------------------------------------------------------------ the page */

static double bits_a_flow(const struct study *s, const struct lab *lab, size_t p, enum sort sort)
{
	return outcome_of(s, lab, p, sort, 0)->bits / s->size.flows;
}

static void write_row(struct page_table *table, const struct study *s, const struct lab *lab, size_t p,
		      enum sort sort)
{
	number_fn *const numbers[] = {percent_positives, percent_negatives, percent_wrong, percent_all};

	page_row(table);
	page_number(table, ps[p]);
	page_word(table, "%s", sort_names[sort]);
	page_number(table, bits_a_flow(s, lab, p, sort));
	for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
		page_spread(table, over_seeds(s, lab, p, sort, numbers[i]));
}

static void write_errors(struct page *page, const struct study *s, const struct lab *lab)
{
	const struct page_column columns[] = {
		{"p", NULL, 1},       {"structure", NULL, 0}, {"bits", "a flow", 3}, {"positive", "%", 2},
		{"negative", "%", 2}, {"wrong", "%", 2},      {"all", "%", 2}};
	struct page_table *table = page_table(
		page, "errors", "Figures 13 to 15: errors in percent of first packets, of later ones, of all",
		columns, 7);

	for (size_t p = PS; p-- > 0;)
		for (enum sort sort = 0; sort < SORTS; sort++)
			write_row(table, s, lab, p, sort);
}

static void write_plot(struct page *page, const struct study *s, const struct lab *lab, number_fn *number,
		       const char *id, const char *title)
{
	struct page_plot *plot = page_plot(
		page, id, title, (struct page_axis){.name = "p", .log = true, .low = 3e-6, .high = .3},
		(struct page_axis){.name = "errors", .unit = "%", .log = true});

	for (enum sort sort = 0; sort < SORTS; sort++) {
		struct page_series *series =
			page_series(plot, PAGE_LINE, sort_structures[sort], sort_names[sort]);

		for (size_t p = 0; p < PS; p++)
			page_point(series, ps[p], over_seeds(s, lab, p, sort, number).middle);
	}
}

static double grown_percent(const struct study *s, const struct lab *lab, enum sort sort, unsigned tenth)
{
	double errors = 0, packets = 0;

	for (unsigned i = 0; i < lab->seeds; i++) {
		const struct outcome *o = outcome_of(s, lab, AT_THOUSANDTH, sort, i);

		errors += sum_of(o->grown[tenth]);
		packets += (o->first + o->later) * (tenth + 1) / CHECKPOINTS;
	}
	return 100 * errors / packets;
}

static void write_growth(struct page *page, const struct study *s, const struct lab *lab)
{
	struct page_plot *plot =
		page_plot(page, "growth", "Errors so far, p = 0.001",
			  (struct page_axis){.name = "packets", .unit = "tenths of the trace"},
			  (struct page_axis){.name = "errors so far", .unit = "%", .log = true});

	for (enum sort sort = 0; sort < SORTS; sort++) {
		struct page_series *series =
			page_series(plot, PAGE_LINE, sort_structures[sort], sort_names[sort]);

		for (unsigned tenth = 0; tenth < CHECKPOINTS; tenth++)
			page_point(series, tenth + 1, grown_percent(s, lab, sort, tenth));
	}
}

static void write_found_row(struct page_table *table, const char *name, double fin, double rst)
{
	page_row(table);
	page_word(table, "%s", name);
	page_number(table, fin);
	page_number(table, rst);
}

static void write_found(struct page *page, const struct study *s, const struct lab *lab)
{
	const struct page_column columns[] = {{"structure", NULL, 0},
					      {"FIN", NULL, 4},
					      {"RST", NULL, 4},
					      {"FIN at 0.1", NULL, 4},
					      {"RST at 0.1", NULL, 4}};
	struct page_table *table =
		page_table(page, "found", "Flows found in FIN and RST, at p = 0.001 and at 0.1", columns, 5);

	write_found_row(table, "the paper", PAPER_FIN, PAPER_RST);
	write_found_row(table, "truth", s->size.fin, s->size.rst);
	for (enum sort sort = 0; sort < SORTS; sort++) {
		page_row(table);
		page_word(table, "%s", sort_names[sort]);
		page_spread(table, over_seeds(s, lab, AT_THOUSANDTH, sort, found_fin));
		page_spread(table, over_seeds(s, lab, AT_THOUSANDTH, sort, found_rst));
		page_spread(table, over_seeds(s, lab, AT_TENTH, sort, found_fin));
		page_spread(table, over_seeds(s, lab, AT_TENTH, sort, found_rst));
	}
}

static double middle_of(const struct study *s, const struct lab *lab, size_t p, enum sort sort,
			number_fn *number)
{
	return over_seeds(s, lab, p, sort, number).middle;
}

/* In percent of the later packets: where no error is left, a ratio takes one packet to be wrong. */
static double one_packet(const struct study *s, const struct lab *lab)
{
	return 100 / outcome_of(s, lab, 0, PRINTED, 0)->later;
}

/* How many times fewer false negatives there are at the smallest p than at the largest. */
static double fall_of(const struct study *s, const struct lab *lab, enum sort sort)
{
	return middle_of(s, lab, AT_TENTH, sort, percent_negatives) /
	       fmax(one_packet(s, lab), middle_of(s, lab, 0, sort, percent_negatives));
}

/* How many times as often as the kBF an SBF of as many cells errs. */
static double advantage_at(const struct study *s, const struct lab *lab, size_t p)
{
	return middle_of(s, lab, p, SBF_CELLS, percent_all) /
	       fmax(one_packet(s, lab), middle_of(s, lab, p, PRINTED, percent_all));
}

static bool is_found(double found, double truth)
{
	return fabs(found - truth) <= fmax(2, truth / 100);
}

static void write_verdicts(struct page *page, const struct study *s, const struct lab *lab)
{
	double kbf = fall_of(s, lab, PRINTED), sbf = fall_of(s, lab, SBF_CELLS), least = INFINITY;
	double fin = middle_of(s, lab, AT_THOUSANDTH, PRINTED, found_fin),
	       rst = middle_of(s, lab, AT_THOUSANDTH, PRINTED, found_rst);

	for (size_t p = 0; p < PS; p++)
		least = fmin(least, advantage_at(s, lab, p));
	page_verdict(page, kbf >= 10 ? PAGE_AGREES : PAGE_DISAGREES,
		     "Figure 14, false negatives of the kBF fall with p",
		     "From p = 0.1 to 0.00001 they fall %.0f-fold.", kbf);
	page_verdict(
		page, sbf <= 2 ? PAGE_AGREES : PAGE_DISAGREES, "Figure 14, those of the SBF hardly change",
		"They fall %.0f-fold; they change little (%.2g-fold) only in an SBF whose updates write like "
		"inserts.",
		sbf, fall_of(s, lab, SBF_INSERTS));
	page_verdict(
		page, least >= 2 ? PAGE_AGREES : PAGE_DISAGREES,
		"Figure 15, the kBF errs far less than the SBF",
		"With as many cells the SBF errs %.2g times as often at p = 0.1, but only %.2g times at the least; its cells "
		"have 7 bits, those of the kBF 32.",
		advantage_at(s, lab, AT_TENTH), least);
	page_verdict(page,
		     is_found(fin, s->size.fin) && is_found(rst, s->size.rst) ? PAGE_AGREES : PAGE_DISAGREES,
		     "VI, flows found in FIN and RST",
		     "At p = 0.001 the kBF finds %.0f and %.0f of %u and %u flows.", fin, rst, s->size.fin,
		     s->size.rst);
}

static void write_claims(struct page *page, const struct study *s, const struct lab *lab)
{
	double one = one_packet(s, lab), kbf_falls = fall_of(s, lab, PRINTED);
	double kbf = middle_of(s, lab, AT_TENTH, PRINTED, percent_all);
	double cells = middle_of(s, lab, AT_TENTH, SBF_CELLS, percent_all);
	double bits = middle_of(s, lab, AT_TENTH, SBF_BITS, percent_all);
	double line_bits =
		bits_a_flow(s, lab, AT_THOUSANDTH, PRINTED) / bits_a_flow(s, lab, AT_THOUSANDTH, LINE);

	page_claim(page, kbf_falls, PAGE_AT_LEAST, 10,
		   "As in the paper, the false negatives of its kBF fall with p: from 0.1 to 0.00001, how "
		   "many times");
	page_claim(page, cells / kbf, PAGE_AT_LEAST, 1,
		   "As in the paper, at p = 0.1 an SBF of as many cells errs more often than its kBF, times");
	page_claim(page, kbf / fmax(one, bits), PAGE_AT_LEAST, 10,
		   "In as many bits it is the kBF that errs more often than the SBF, times");
	page_claim(
		page, middle_of(s, lab, AT_THOUSANDTH, LINE_STARTS, percent_all), PAGE_AT_MOST, 0,
		"Percent of packets answered wrongly by `line` if its machine says that SYN begins a flow");
	page_claim(page, line_bits, PAGE_AT_LEAST, 10,
		   "The bits of the kBF at p = 0.001, as a multiple of those of `line`");
}

static void write_page(struct page *page, const struct study *s, const struct lab *lab)
{
	page_text(
		page,
		"%u flows, %zu packets, seeds: %u; %u flows stay in FIN and %u in RST. The paper prints no "
		"number of figures 13 to 15, only their shapes. The trace is synthetic, with the paper's "
		"numbers of flows. The kBF is as printed, but a flow that cannot be decoded is left alone and "
		"not taken for new.",
		s->size.flows, s->traces[0].count, lab->seeds, s->size.fin, s->size.rst);
	write_errors(page, s, lab);
	page_text(
		page,
		"\"equal cells\" is the paper's comparison; \"equal bits\" gives the SBF the memory of the "
		"kBF. \"by inserts\" is an SBF that updates like an insert; only then are its false negatives "
		"nearly the same for all p, as the paper reports. A flow that is taken for an old one is "
		"never stored, and its packets change the state of others. So errors of all kinds follow the "
		"false positives.");
	write_plot(page, s, lab, percent_positives, "positives", "Figure 13: false positives");
	write_plot(page, s, lab, percent_negatives, "negatives", "Figure 14: false negatives");
	write_plot(page, s, lab, percent_all, "all", "Figure 15: all errors");
	write_growth(page, s, lab);
	write_found(page, s, lab);
	write_verdicts(page, s, lab);
	write_claims(page, s, lab);
}

static int run(struct lab *lab, struct page *page)
{
	uint32_t part = lab->size == LAB_QUICK ? 20 : 1;
	struct study s = {.size = {.flows = PAPER_FLOWS / part,
				   .fin = PAPER_FIN / part,
				   .rst = PAPER_RST / part,
				   .ended = PAPER_FLOWS / part / 10}};
	size_t jobs = (size_t)PS * SORTS * lab->seeds;
	int error = printed_codes_make(&s.codes, SIM_FLAG_STATES);

	s.traces = lab_alloc(lab->seeds, sizeof *s.traces);
	s.outcomes = lab_alloc(jobs, sizeof *s.outcomes);
	if (error)
		error = lab_fail(lab, error, "%d greedy codes", SIM_FLAG_STATES);
	if (!error)
		error = lab_each(lab, lab->seeds, one_trace, &s);
	if (!error)
		error = lab_each(lab, jobs, one_run, &s);
	if (!error)
		write_page(page, &s, lab);
	for (unsigned i = 0; i < lab->seeds; i++)
		sim_flags_free(&s.traces[i]);
	free(s.traces);
	free(s.outcomes);
	printed_codes_free(&s.codes);
	return error;
}

const struct experiment experiment_kbf_acsm = {
	.name = "kbf-acsm",
	.title = "Flags of TCP flows in a kBF and in a stateful Bloom filter",
	.where = "kBF VI, figures 13 to 15",
	.shows = "908,522 flows whose state is their last flag: the errors of the paper's kBF, of an SBF "
		 "of as many cells and of as many bits, and of `kbf` and `line`; how they accumulate; the "
		 "flows in FIN and RST.",
	.interpretation =
		"The SBF is that of the ACSM paper, which changes a state in place, with as many cells as the "
		"kBF. A tenth of the flows end and are deleted.",
	.seconds = {5, 140, 140},
	.rounds = 2,
	.run = run,
};
