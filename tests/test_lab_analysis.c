/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The experiments dleft, p2p, overflow, timing and analysis: the traffic that p2p
 * runs on, the reckoning behind the others, and quick runs beside numbers that are
 * known from theory or from long runs. Intervals are of 99.9 % unless it is said
 * otherwise; seeds are fixed, so a test that passes passes always.
 */
#include <math.h>

#include "tests/experiment.h"
#include "lab/dleft_ode.h"
#include "sim/p2p.h"
#include "tests/random.h"
#include "lab/statistics.h"
#include "tests/test.h"

/* ---------------------------------------------------------------- traffic of p2p */

enum { SLOTS = 2000, FLOWS = 60000 };
#define GAP 4.

/* What was seen of a flow. */
struct seen {
	uint32_t syn, tcp, udp, fin; /* packets */
	uint32_t udp_after;          /* packets of TCP before the first UDP packet */
	uint32_t last, lag;          /* second of the last packet of TCP; from there to a UDP packet */
	bool over, p2p;
};

struct record {
	struct seen *flows;
	uint64_t packets;
	uint32_t seconds, most_live; /* flows with packets before and after a moment */
};

static struct sim_p2p_options plain_traffic(void)
{
	return (struct sim_p2p_options){.seed = 7, .slots = SLOTS, .flows = FLOWS, .gap = GAP, .p2p = .25};
}

static uint32_t packets_of(const struct seen *f)
{
	return f->syn + f->tcp + f->fin;
}

static void note_packet(struct seen *f, const struct sim_p2p_packet *p)
{
	assert_false(f->over);
	if (p->event == SIM_P2P_UDP) {
		f->udp_after = f->udp ? f->udp_after : packets_of(f);
		f->lag = p->second - f->last;
		f->udp++;
	} else {
		assert_int_equal(p->event == SIM_P2P_SYN, packets_of(f) == 0);
		assert_int_equal(f->fin, 0);
		f->last = p->second;
	}
	f->syn += p->event == SIM_P2P_SYN;
	f->tcp += p->event == SIM_P2P_TCP;
	f->fin += p->event == SIM_P2P_FIN;
	f->over = p->over;
	f->p2p = p->p2p;
}

/* Everything that a generator says; time never goes back, and ids belong to flows. */
static struct record record_of(const struct sim_p2p_options *options)
{
	struct sim_p2p *traffic = sim_p2p_new(options);
	struct record r = {.flows = calloc(options->flows + 1, sizeof *r.flows)};
	uint64_t *ids = calloc(options->flows + 1, sizeof *ids);
	struct sim_p2p_packet p;
	uint32_t live = 0;

	assert_non_null(traffic);
	while (sim_p2p_next(traffic, &p)) {
		struct seen *f = &r.flows[p.flow];

		assert_true(p.flow < options->flows);
		assert_true(p.second >= r.seconds);
		assert_true(ids[p.flow] == 0 || ids[p.flow] == p.id);
		live += ids[p.flow] == 0;
		ids[p.flow] = p.id;
		note_packet(f, &p);
		live -= p.over;
		r.most_live = live > r.most_live ? live : r.most_live;
		r.seconds = p.second;
		r.packets++;
	}
	free(ids);
	sim_p2p_free(traffic);
	return r;
}

/* Sums over the flows that began after the first ones, which were caught in the middle of their lives. */
struct sums {
	double flows, packets, squares, p2p, early, udp_first, udp_alone, silent, late, in_time, small,
		largest;
};

/* What holds for every flow: a SYN, some packets, a FIN; UDP within TCP, unless the options say otherwise. */
static void check_flow(const struct seen *f, const struct sim_p2p_options *o)
{
	if (f->syn == 0) {
		assert_true(o->udp_only > 0 && f->udp == 2 && !f->p2p && packets_of(f) == 0);
		return;
	}
	assert_int_equal(f->syn, 1);
	assert_true(f->fin == 1 || o->silent > 0);
	assert_in_range(packets_of(f), o->zipf ? 2 : o->silent > 0 ? 1 : 9, o->zipf ? SIM_P2P_LARGEST : 21);
	if (f->fin) {
		assert_int_equal(f->udp, f->p2p);
		if (f->p2p)
			assert_in_range(f->udp_after, o->udp_first > 0 ? 0 : 1, packets_of(f) - 1);
	} else if (f->udp) { /* it breaks off, and is P2P if its UDP packet comes in time */
		assert_in_range(f->lag, 1, SIM_P2P_LATEST);
		assert_int_equal(f->p2p, f->lag < SIM_P2P_TIMEOUT);
	}
}

static void add_flow(struct sums *s, const struct seen *f)
{
	double size = packets_of(f);

	s->flows++;
	s->packets += size;
	s->squares += size * size;
	s->p2p += f->p2p;
	s->early += f->p2p && 2 * f->udp_after < size;
	s->udp_first += f->p2p && f->udp_after == 0;
	s->udp_alone += f->syn == 0;
	s->silent += f->fin == 0;
	s->late += !f->fin && f->udp;
	s->in_time += !f->fin && f->udp && f->p2p;
	s->small += size <= 5;
	s->largest = fmax(s->largest, size);
}

static struct sums sums_of(const struct sim_p2p_options *options, struct record *r)
{
	struct sums s = {.flows = 0};

	*r = record_of(options);
	for (const struct seen *f = r->flows + SLOTS; f < r->flows + FLOWS; f++)
		if (f->over) {
			check_flow(f, options);
			add_flow(&s, f);
		}
	free(r->flows);
	return s;
}

/* 3.29 deviations of a share. */
static double reach_of(double share, double trials)
{
	return 3.29 * sqrt(share * (1 - share) / trials);
}

TEST_THAT(flows_of_p2p_traffic_are_as_said)
{
	struct sim_p2p_options options = plain_traffic();
	struct record r;
	struct sums s = sums_of(&options, &r);

	assert_true(s.flows > FLOWS - 3 * SLOTS);
	assert_near("packets a flow", s.packets / s.flows, 15,
		    3.29 * sqrt(14 / s.flows)); /* 9 to 21: variance 14 */
	assert_near("share of P2P", s.p2p / s.flows, .25, reach_of(.25, s.flows));
	assert_near("UDP in the first half", s.early / s.p2p, .465,
		    .035); /* (s-1)/2 of s-1 places, or one fewer */
	assert_in_range(r.most_live, SLOTS - SLOTS / 10 + 1,
			SLOTS); /* some slots have not sent their next SYN */
	assert_near("seconds for a turn of all", (double)r.seconds * SLOTS / (double)r.packets, GAP,
		    GAP / 100);
}

TEST_THAT(udp_may_come_first_or_alone)
{
	struct sim_p2p_options options = plain_traffic();
	struct record r;
	struct sums s;

	options.udp_first = .5;
	options.udp_only = .1;
	s = sums_of(&options, &r);
	assert_near("UDP first", s.udp_first / s.p2p, .5, reach_of(.5, s.p2p));
	assert_near("UDP alone", s.udp_alone / s.flows, .1, reach_of(.1, s.flows));
}

TEST_THAT(a_flow_that_breaks_off_is_p2p_if_its_udp_comes_in_time)
{
	struct sim_p2p_options options = plain_traffic();
	struct record r;
	struct sums s;

	options.silent = .3;
	s = sums_of(&options, &r);
	assert_near("broken off", s.silent / s.flows, .3,
		    .02); /* those that still wait for UDP are not over */
	assert_near("UDP in time", s.in_time / s.late, 63. / SIM_P2P_LATEST, .06);
}

TEST_THAT(zipf_sizes_have_the_same_mean_and_a_long_tail)
{
	struct sim_p2p_options options = plain_traffic();
	struct record r;
	struct sums s;

	options.zipf = true;
	s = sums_of(&options, &r);
	assert_near("packets a flow", s.packets / s.flows, 15, 3.29 * sqrt(s.squares / s.flows / s.flows));
	assert_true(s.small / s.flows > .5);
	assert_true(s.largest > 2000);
}

TEST_THAT(the_same_seed_gives_the_same_packets)
{
	struct sim_p2p_options options = plain_traffic(), other = options;
	struct sim_p2p *a = sim_p2p_new(&options), *b = sim_p2p_new(&options), *c;
	struct sim_p2p_packet p, q;
	unsigned same = 0;

	other.seed++;
	c = sim_p2p_new(&other);
	for (unsigned i = 0; i < 10000; i++) {
		assert_true(sim_p2p_next(a, &p) && sim_p2p_next(b, &q));
		assert_true(p.id == q.id && p.event == q.event && p.over == q.over);
		assert_true(sim_p2p_next(c, &q));
		same += p.id == q.id;
	}
	assert_int_equal(same, 0);
	sim_p2p_free(a);
	sim_p2p_free(b);
	sim_p2p_free(c);
}

/* ------------------------------------------------------------------- the reckoning */

/* Sums of uniform numbers, five at a time: of 20,000 intervals 200 +- 46 miss. */
TEST_THAT(a_mean_lies_in_its_interval_in_99_of_100)
{
	const unsigned trials = 20000;
	unsigned missed = 0;

	for (unsigned i = 0; i < trials; i++) {
		double numbers[8];
		struct spread s;

		for (unsigned j = 0; j < 8; j++) {
			numbers[j] = 0;
			for (unsigned k = 0; k < 5; k++)
				numbers[j] += (double)random_below(1000001) / 1e6;
		}
		s = mean_99(numbers, 8);
		missed += s.low > 2.5 || s.high < 2.5;
	}
	assert_near("missed", missed, .01 * trials, spread(.01 * trials));
}

/* With one choice the loads are Poisson distributed. */
TEST_THAT(with_one_choice_loads_are_poisson)
{
	struct dleft_ode f;
	double more = 1, term = exp(-3);

	dleft_ode_begin(&f, 1, 30);
	dleft_ode_fill(&f, 3);
	for (unsigned j = 1; j < 12; j++, term *= 3. / (j - 1)) {
		more -= term;
		assert_near("share of loads", dleft_ode_share(&f, j) / more, 1, 1e-6);
	}
	assert_near("items", dleft_ode_items(&f), 3, 1e-9);
}

TEST_THAT(the_papers_bucket_overflows_as_it_says)
{
	struct dleft_ode f, halves;

	dleft_ode_begin(&f, 3, 12);
	dleft_ode_fill(&f, 12);
	assert_near("seventh entries", 1e31 * dleft_ode_share(&f, 7), 5.6, .05);
	dleft_ode_begin(&halves, 3, 12); /* steps that are half as long, or less */
	for (unsigned i = 0; i < 12 * 200; i++)
		dleft_ode_fill(&halves, 1. / 200);
	assert_near("steps", dleft_ode_share(&halves, 7) / dleft_ode_share(&f, 7), 1, 1e-4);
}

/* It meets fewer than a stranger, by less than one; at first those that came before it; with one choice all. */
TEST_THAT(a_stored_item_keeps_others_away)
{
	double others = dleft_ode_others(3, 6, 12);

	assert_true(others > 11 && others < 12);
	assert_near("nearly empty", dleft_ode_others(3, 6, .02), .01, .005);
	assert_near("one choice", dleft_ode_others(1, 40, 5), 5, 1e-3);
}

/* -------------------------------------------------------------------- quick runs */

/* 1.5 million strangers; items / values = 12 x 2^-11 less those that share one, and (1 - e^-.7)^7. */
TEST_THAT(quick_dleft_has_the_papers_errors)
{
	struct page *page = quick_page(&experiment_dleft, 2), *alone = quick_page(&experiment_dleft, 1);
	const struct page_table *t = table_of(page, "filters");
	static const double expected[] = {.5842, .5842, .8194};

	assert_int_equal(t->rows, 3);
	for (size_t i = 0; i < t->rows; i++) {
		assert_near("fresh", number_in(t, i, "fresh"), expected[i], .025);
		assert_near("churned", number_in(t, i, "churned"), expected[i], .025);
		assert_near("missing", number_in(t, i, "missing"), 0, 0);
	}
	assert_claims_met(page);
	assert_same_tables(page, alone);
	page_free(alone);
	page_free(page);
}

/* Of an experiment that takes too long where tests are to be short, as under the sanitizers. */
static struct page *long_page(const struct experiment *e, unsigned shards)
{
	if (test_scale() < 1)
		skip();
	return quick_page(e, shards);
}

/*
 * 80,000 flows at each percentage. Expected are the means of nine runs of 200,000 flows at full size, FN .21,
 * DK .336, of adopting FP .072 at 25 %; the reach is 3.29 deviations of the quick run's counts.
 */
TEST_THAT(quick_p2p_is_near_the_long_runs)
{
	struct page *page = long_page(&experiment_p2p, 2);
	const struct page_table *t = table_of(page, "structures"), *ours = table_of(page, "extensions");
	const size_t of_percent = 6, at_25 = of_percent; /* rows: the paper's, and five tables */

	assert_int_equal(t->rows, 3 * of_percent);
	for (size_t i = 0; i < t->rows; i += of_percent) {
		assert_near("copy, FP", number_in(t, i + 1, "FP"), 0, 0);
		assert_near("copy, FN", number_in(t, i + 1, "FN"), .21, i ? .11 : .14);
		assert_near("copy, DK", number_in(t, i + 1, "DK"), .336, .07);
		assert_near("line, said", number_in(t, i + 3, "FN") + number_in(t, i + 3, "DK"), 0, .02);
		assert_near("compact", number_in(t, i + 5, "FN") + number_in(t, i + 5, "DK"), 0, 0);
	}
	assert_near("adopt, FP", number_in(t, at_25 + 2, "FP"), .072, .036);
	for (size_t i = 0; i < ours->rows; i++)
		if (!strcmp(table_cell(ours, i, 1)->word, "exact"))
			assert_near("exact", number_in(ours, i, "FP") + number_in(ours, i, "FN"), 0, 0);
	page_free(page);
}

/* Of the tables of 14,400 cells; expected is what ones of 108,000 have. */
TEST_THAT(quick_overflow_is_near_the_long_runs)
{
	struct page *page = long_page(&experiment_overflow, 2);
	static const struct expected expected[] = {{"loads", 3, "first", .86, .04},
						   {"loads", 3, "at 2/3", 0, 0},
						   {"loads", 3, "at .85", 25546, 5000},
						   {"loads", 1, "at .85", 72242, 8000}};

	assert_int_equal(row_with(table_of(page, "loads"), 0, "d 3, h 6"), 3);
	assert_numbers(page, expected, sizeof expected / sizeof *expected);
	assert_claims_met(page);
	page_free(page);
}

/* The sum of q^(kt) from t = 0 to 12, where flows live within a phase. */
TEST_THAT(quick_timing_is_geometric)
{
	struct page *page = quick_page(&experiment_timing, 2);
	const struct page_table *t = table_of(page, "phases");

	for (size_t i = 0; i < t->rows; i++) {
		double q = pow(1 - exp(-number_in(t, i, "load")), number_in(t, i, "k"));
		double sum = (1 - pow(q, 13)) / (1 - q);

		if (number_in(t, i, "stay") > 0)
			assert_true(number_in(t, i, "phases") > sum * 1.1);
		else
			assert_near("phases", number_in(t, i, "phases"), sum, sum / 50);
	}
	assert_claims_met(page);
	page_free(page);
}

/* Of 24 points one in a hundred lies outside by chance: four or more do so once in 10,000 runs. */
TEST_THAT(quick_analysis_has_the_formulas_inside)
{
	struct page *page = long_page(&experiment_analysis, 2);
	const struct page_table *t = table_of(page, "formulas");
	size_t doubtful = row_with(t, 0, "SBF: stranger in doubt");

	assert_int_equal(t->rows, 7);
	for (size_t i = 0; i < t->rows; i++)
		assert_true(number_in(t, i, "inside") >= 21);
	assert_in_range((unsigned)number_in(t, doubtful, "as printed"), 5, 7); /* those with k = 1 */
	assert_claims_met(page);
	page_free(page);
}

int main(void)
{
	return run_suite(NULL);
}
