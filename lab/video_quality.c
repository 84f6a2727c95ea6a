/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How good is a film if a share of its bytes is dropped? Five policies compared at equal byte loss (ACSM 5.2.1).
 *
 * The machines are those that come with the library (policy.h), run by ink_track_packets over the datagrams
 * of an encoded film; the rest is decoded (film.h). Only their `chance` is set, by bisection, so that the
 * byte loss is as near as possible to the wanted one. The paper judged by eye; here every shown picture is
 * compared with the original.
 */
#include "lab/video_parts.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <inkling/track.h>

#include "lab/film.h"
#include "lab/policy.h"
#include "sim/scene.h"

enum { HALVINGS = 14, RATES_MOST = 8 };

/* ---------------------------------------------------------------------- dropping */

/* One policy, one byte loss, one throw of the dice. */
struct attempt {
	const struct film *film;
	const struct ink_packet *packets; /* of the film, those that may be lost */
	enum policy policy;
	double rate; /* the byte loss that is wanted */
	uint64_t seed;
	bool *dropped; /* by datagram of the film */
	uint64_t bytes, lost;
	double loss; /* the byte loss that it came to */
	struct score score;
};

static void note_verdict(const struct ink_moved *m, void *user)
{
	struct attempt *a = user;
	bool drop = m->action->verdict == INK_DROP;

	a->dropped[a->film->first + (size_t)(m->packet - a->packets)] = drop;
	a->bytes += m->packet->payload_wire;
	a->lost += drop ? m->packet->payload_wire : 0;
}

/* With an exact table: video_decisions.c has the errors of tables. */
static int run_machine(struct attempt *a, const struct ink_machine *machine, struct ink_why *why)
{
	const struct ink_machine_view *view = ink_machine_view(machine);
	struct ink_options t = {.size = sizeof t,
				.kind = INK_EXACT,
				.flows = 16,
				.states = view->rules->states,
				.rules = view->rules,
				.seed = 1};
	struct ink_table *table = ink_create(&t, why);
	struct ink_track_options o = {.size = sizeof o,
				      .machine = machine,
				      .table = table,
				      .link = INK_LINK_RAW,
				      .seed = a->seed,
				      .no_timeouts = 1,
				      .every = 1,
				      .moved = note_verdict,
				      .user = a};
	struct ink_track *track = table ? ink_track_open(&o, why) : NULL;
	struct ink_packets all = {.at = (struct ink_packet *)a->packets, .n = a->film->n - a->film->first};
	int error = track ? ink_track_packets(track, &all) : -EINVAL;

	ink_track_close(track);
	ink_free(table);
	return error;
}

/*
 * Which number of the machine's text makes it drop more or less. In `combined` B frames give what they can
 * first: up to 6 % they alone, and beyond that their part stays as it is.
 */
static struct ink_machine *machine_with(const struct attempt *a, double chance, struct ink_why *why)
{
	static const char *const usual[POLICIES] = {"chance 5%", "chance 5%", "chance 20%", "chance 0.5%",
						    "chance 0.5%"};
	bool b_alone = a->policy == POLICY_COMBINED && a->rate <= 0.06;
	char text[32];
	const struct policy_change changes[2] = {{b_alone ? "chance 50%" : usual[a->policy], text},
						 {"chance 0.5%", "chance 0%"}};

	snprintf(text, sizeof text, "chance %.6f%%", 100 * chance);
	return policy_machine(a->policy, changes, b_alone ? 2 : 1, why);
}

static int drop_with(struct attempt *a, double chance, struct ink_why *why)
{
	struct ink_machine *machine = machine_with(a, chance, why);
	int error = machine ? 0 : -EINVAL;

	memset(a->dropped, 0, a->film->n * sizeof *a->dropped);
	a->bytes = a->lost = 0;
	if (machine)
		error = run_machine(a, machine, why);
	ink_machine_free(machine);
	a->loss = a->bytes ? (double)a->lost / (double)a->bytes : 0;
	return error;
}

/* The loss rises with the chance, so bisection finds it; losses have steps, so the nearest is kept. */
static int drop_rate(struct attempt *a, struct ink_why *why)
{
	double low = 0, high = 1, best = 0, error_of_best = 1;
	int error = 0;

	for (unsigned i = 0; i < HALVINGS && !error; i++) {
		double chance = (low + high) / 2;

		error = drop_with(a, chance, why);
		if (fabs(a->loss - a->rate) < error_of_best) {
			error_of_best = fabs(a->loss - a->rate);
			best = chance;
		}
		*(a->loss < a->rate ? &low : &high) = chance;
	}
	return error ? error : drop_with(a, best, why);
}

/* ------------------------------------------------------------------------- jobs */

struct quality {
	struct film film;
	struct ink_packet *packets;
	const double *rates;
	unsigned n_rates, seeds;
	struct score whole;       /* nothing lost */
	struct attempt *attempts; /* by policy, rate and throw */
};

/* Where little is lost, few losses decide, so the dice are thrown more often. */
static unsigned throws_at(const struct quality *q, unsigned rate)
{
	return q->seeds * (q->rates[rate] < .03 ? 4 : q->rates[rate] < .08 ? 2 : 1);
}

/* Attempts of one policy at all rates before this one. */
static unsigned throws_before(const struct quality *q, unsigned rate)
{
	unsigned sum = 0;

	for (unsigned r = 0; r < rate; r++)
		sum += throws_at(q, r);
	return sum;
}

static size_t count_attempts(const struct quality *q)
{
	return (size_t)POLICIES * throws_before(q, q->n_rates);
}

static struct attempt *attempt_of(const struct quality *q, unsigned policy, unsigned rate, unsigned number)
{
	return &q->attempts[policy * throws_before(q, q->n_rates) + throws_before(q, rate) + number];
}

static int try_one(struct lab *lab, void *context, size_t number)
{
	struct quality *q = context;
	struct attempt *a = &q->attempts[number];
	struct ink_why why = {""};
	int error;

	a->dropped = lab_alloc(q->film.n, sizeof *a->dropped);
	error = drop_rate(a, &why);
	if (!error)
		error = film_watch(&q->film, a->dropped, &a->score, &why);
	free(a->dropped);
	a->dropped = NULL;
	return error ? lab_fail(lab, error, "video, %s: %s", policy_name(a->policy), why.text) : 0;
}

static void prepare(struct lab *lab, struct quality *q)
{
	q->packets = lab_alloc(q->film.n - q->film.first, sizeof *q->packets);
	for (size_t i = q->film.first; i < q->film.n; i++)
		q->packets[i - q->film.first] = film_packet(&q->film, i);
	q->attempts = lab_alloc(count_attempts(q), sizeof *q->attempts);
	for (unsigned p = 0; p < POLICIES; p++)
		for (unsigned r = 0; r < q->n_rates; r++)
			for (unsigned s = 0; s < throws_at(q, r); s++)
				*attempt_of(q, p, r, s) = (struct attempt){.film = &q->film,
									   .packets = q->packets,
									   .policy = (enum policy)p,
									   .rate = q->rates[r],
									   .seed = lab_seed(lab, 100 + r, s)};
}

/* ------------------------------------------------------------------------- page */

enum measure { PSNR, SSIM, LOSS };

static struct spread spread_of_throws(const struct quality *q, unsigned policy, unsigned rate,
				      enum measure what)
{
	unsigned throws = throws_at(q, rate);
	double *values = lab_alloc(throws, sizeof *values);
	struct spread spread;

	for (unsigned i = 0; i < throws; i++) {
		const struct attempt *a = attempt_of(q, policy, rate, i);

		values[i] = what == PSNR ? a->score.psnr : what == SSIM ? a->score.ssim : 100 * a->loss;
	}
	spread = spread_of(values, throws);
	free(values);
	return spread;
}

static double middle(const struct quality *q, unsigned policy, unsigned rate, enum measure what)
{
	return spread_of_throws(q, policy, rate, what).middle;
}

static void show_film(struct page *page, const struct quality *q)
{
	static const char *const name[FILM_TYPES] = {"", "I", "P", "B"};
	static const double paper[FILM_TYPES][2] = {{0, 0}, {8.5, 29}, {25, 35}, {66.5, 34}};
	struct page_table *t = page_table(page, "film", "The film: shares of frames and of bytes",
					  (struct page_column[]){{"frames", NULL, 0},
								 {"paper", "%", 3},
								 {"ours", "%", 3},
								 {"paper, bytes", "%", 3},
								 {"ours, bytes", "%", 3}},
					  5);
	double pictures = 0, bytes = 0;

	for (unsigned i = 1; i < FILM_TYPES; i++) {
		pictures += q->film.pictures[i];
		bytes += (double)q->film.bytes[i];
	}
	for (unsigned i = 1; i < FILM_TYPES; i++) {
		page_row(t);
		page_word(t, "%s", name[i]);
		page_number(t, paper[i][0]);
		page_number(t, 100 * q->film.pictures[i] / pictures);
		page_number(t, paper[i][1]);
		page_number(t, 100 * (double)q->film.bytes[i] / bytes);
	}
}

/* How a score is named and drawn. */
static const struct {
	const char *name, *unit, *table, *plot, *title;
	double low, high;
	int digits;
} measures[] = {[PSNR] = {"PSNR", "dB", "psnr", "psnr-plot", "PSNR against byte loss", 10, 40, 4},
		[SSIM] = {"SSIM", NULL, "ssim", "ssim-plot", "SSIM against byte loss", 0.4, 1, 3}};

static double score_of_whole(const struct quality *q, enum measure what)
{
	return what == PSNR ? q->whole.psnr : q->whole.ssim;
}

static void draw_scores(struct page *page, const struct quality *q, enum measure what)
{
	struct page_plot *plot = page_plot(page, measures[what].plot, measures[what].title,
					   (struct page_axis){.name = "byte loss", .unit = "%"},
					   (struct page_axis){.name = measures[what].name,
							      .unit = measures[what].unit,
							      .low = measures[what].low,
							      .high = measures[what].high});

	for (unsigned p = 0; p < POLICIES; p++) {
		struct page_series *s =
			page_series(plot, PAGE_LINE, STRUCTURE_NONE, policy_name((enum policy)p));

		page_point(s, 0, score_of_whole(q, what));
		for (unsigned r = 0; r < q->n_rates; r++)
			page_point_spread(s, middle(q, p, r, LOSS), spread_of_throws(q, p, r, what));
	}
}

static void show_scores(struct page *page, const struct quality *q, enum measure what)
{
	struct page_column columns[1 + POLICIES] = {{"byte loss", "%", 3}};
	struct page_table *t;

	draw_scores(page, q, what);
	for (unsigned p = 0; p < POLICIES; p++)
		columns[1 + p] = (struct page_column){policy_name((enum policy)p), measures[what].unit,
						      measures[what].digits};
	t = page_table(page, measures[what].table, measures[what].name, columns, 1 + POLICIES);
	for (unsigned r = 0; r < q->n_rates; r++) {
		page_row(t);
		page_number(t, 100 * q->rates[r]);
		for (unsigned p = 0; p < POLICIES; p++)
			page_number(t, middle(q, p, r, what));
	}
}

/* The score at any byte loss, on the line between the two that were measured beside it. */
static double score_at(const struct quality *q, unsigned policy, double rate, enum measure what)
{
	double before = 0, here = score_of_whole(q, what);

	for (unsigned r = 0; r < q->n_rates; r++) {
		double next = middle(q, policy, r, what);

		if (rate <= q->rates[r])
			return here + (next - here) * (rate - before) / (q->rates[r] - before);
		before = q->rates[r];
		here = next;
	}
	return here;
}

/* By eye: byte losses in percent at which damage is first seen, and at which the film is unusable. */
static const double thresholds[POLICIES][2] = {[POLICY_FRAMES] = {2, 15},
					       [POLICY_B] = {6, 12},
					       [POLICY_ITAIL] = {3, 25},
					       [POLICY_COMBINED] = {6, 30}};

static void show_thresholds(struct page *page, const struct quality *q)
{
	struct page_table *t =
		page_table(page, "thresholds",
			   "The paper's thresholds, and the scores there (interpolated between the byte "
			   "losses that were measured)",
			   (struct page_column[]){{"policy", NULL, 0},
						  {"seen at", "%", 3},
						  {"its PSNR", "dB", 3},
						  {"its SSIM", NULL, 3},
						  {"unusable at", "%", 3},
						  {"PSNR then", "dB", 3},
						  {"SSIM then", NULL, 3}},
			   7);

	for (unsigned p = POLICY_FRAMES; p < POLICIES; p++) {
		page_row(t);
		page_word(t, "%s", policy_name((enum policy)p));
		for (unsigned i = 0; i < 2; i++) {
			page_number(t, thresholds[p][i]);
			page_number(t, score_at(q, p, thresholds[p][i] / 100, PSNR));
			page_number(t, score_at(q, p, thresholds[p][i] / 100, SSIM));
		}
	}
}

/* Do the paper's eyes and PSNR agree? If they did, policies would have the same score at their thresholds. */
static void show_agreement(struct page *page, const struct quality *q)
{
	double low[2] = {INFINITY, INFINITY}, high[2] = {0, 0};

	for (unsigned p = POLICY_FRAMES; p < POLICIES; p++)
		for (unsigned i = 0; i < 2; i++) {
			double score = score_at(q, p, thresholds[p][i] / 100, PSNR);

			low[i] = fmin(low[i], score);
			high[i] = fmax(high[i], score);
		}
	page_text(
		page,
		"At the byte losses where the paper first saw damage, PSNR is %.2f to %.2f dB, whatever the "
		"policy; where it found the film unusable, %.1f to %.1f dB.",
		low[0], high[0], low[1], high[1]);
}

/* The least that one policy is above another, over all byte losses. */
static double least_gain(const struct quality *q, enum policy better, enum policy worse, enum measure what)
{
	double least = INFINITY;

	for (unsigned r = 0; r < q->n_rates; r++)
		least = fmin(least, middle(q, better, r, what) - middle(q, worse, r, what));
	return least;
}

static void claim_order(struct page *page, const struct quality *q)
{
	static const enum policy better[] = {POLICY_B, POLICY_ITAIL};

	for (unsigned i = 0; i < 2; i++)
		for (enum measure what = PSNR; what <= SSIM; what++)
			page_claim(page, least_gain(q, better[i], POLICY_FRAMES, what), PAGE_AT_LEAST, 0,
				   "%s above random frames in %s at every byte loss: by how much at least",
				   policy_name(better[i]), what == PSNR ? "PSNR (dB)" : "SSIM");
}

/* The number of byte losses at which no other policy is better. */
static unsigned times_best(const struct quality *q, enum policy policy, enum measure what)
{
	unsigned times = 0;

	for (unsigned r = 0; r < q->n_rates; r++) {
		bool best = true;

		for (unsigned p = 0; p < POLICIES; p++)
			best &= middle(q, policy, r, what) >= middle(q, p, r, what);
		times += best;
	}
	return times;
}

static void judge_policies(struct page *page, const struct quality *q)
{
	double b = least_gain(q, POLICY_B, POLICY_FRAMES, PSNR),
	       tails = least_gain(q, POLICY_ITAIL, POLICY_FRAMES, PSNR);
	unsigned best = times_best(q, POLICY_COMBINED, PSNR);

	page_verdict(
		page, b >= 0 && tails >= 0 ? PAGE_AGREES : PAGE_DISAGREES, "5.2.1, policies that know frames",
		"B frames and I tails are above random frames at every byte loss, by at least %.2g and %.2g dB.",
		b, tails);
	page_verdict(
		page, best == q->n_rates ? PAGE_AGREES : PAGE_DISAGREES, "5.2.1, the combined policy is best",
		"By PSNR it is best at %u of %u byte losses, and dropping B frames alone at %u; the paper judged "
		"by eye.",
		best, q->n_rates, times_best(q, POLICY_B, PSNR));
}

static void show_summary(struct page *page, const struct quality *q)
{
	page_text(page,
		  "Of the %u byte losses, B frames have the best PSNR at %u and the best SSIM at %u, the "
		  "combined policy at %u and %u. The paper found it best by eye, at 6 %% (no damage visible) "
		  "and 30 %% (unusable). Up to 6 %% it drops B frames alone; beyond that it drops I tails, "
		  "which freeze the picture for up to half a second, where more B frames would make it jerk. "
		  "PSNR and SSIM compare single pictures and hardly count jerks.",
		  q->n_rates, times_best(q, POLICY_B, PSNR), times_best(q, POLICY_B, SSIM),
		  times_best(q, POLICY_COMBINED, PSNR), times_best(q, POLICY_COMBINED, SSIM));
}

static void show_all(struct page *page, const struct quality *q)
{
	page_text(
		page,
		"A generated film of %u frames, %d x %d at 25 a second, encoded by ffmpeg as MPEG-2 with "
		"groups of %d and two B frames between the others, in datagrams of a transport stream. "
		"Undamaged it has a PSNR of %.2f dB and an SSIM of %.4f. The machine of each policy runs with "
		"the chance that comes nearest to the byte loss. Means over %u random runs, and more where "
		"the loss is small.",
		q->film.frames, SIM_SCENE_WIDTH, SIM_SCENE_HEIGHT, FILM_GROUP, q->whole.psnr, q->whole.ssim,
		q->seeds);
	show_film(page, q);
	show_scores(page, q, PSNR);
	show_scores(page, q, SSIM);
	show_thresholds(page, q);
	show_agreement(page, q);
	show_summary(page, q);
	page_text(
		page,
		"Here losses are drawn at random. At a congested link, in the kernel and with real queues, the "
		"policies of the machines aqm-* are measured by make evaluate-router; docs/router.md has what "
		"came of it.");
	judge_policies(page, q);
	claim_order(page, q);
}

/* ------------------------------------------------------------------------ the whole */

static int measure(struct lab *lab, struct page *page, struct quality *q)
{
	struct ink_why why = {""};
	int error = film_watch(&q->film, NULL, &q->whole, &why);

	if (error)
		return lab_fail(lab, error, "video: %s", why.text);
	prepare(lab, q);
	error = lab_each(lab, count_attempts(q), try_one, q);
	if (!error)
		show_all(page, q);
	free(q->attempts);
	free(q->packets);
	return error;
}

int video_quality(struct lab *lab, struct page *page)
{
	static const double all[RATES_MOST] = {.02, .04, .06, .10, .15, .20, .25, .30}, few[] = {.15, .30};
	bool quick = lab->size == LAB_QUICK;
	struct quality q = {.rates = quick ? few : all, .n_rates = quick ? 2 : RATES_MOST};
	struct ink_why why = {""};
	int error;

	q.seeds = quick && lab->seeds > 1 ? 2 : lab->seeds;
	page_heading(page, "Quality of the film");
	error = film_make(&q.film,
			  &(struct film_request){.frames = quick ? 14 * FILM_GROUP : 50 * FILM_GROUP,
						 .seed = lab_seed(lab, 99, 0)},
			  &why);
	if (error == -ENOENT) {
		page_skipped(
			page,
			"ffmpeg is not installed; this part encodes and decodes a film with it. On Debian: apt-get "
			"install ffmpeg");
		error = 0;
	} else if (error) {
		lab_fail(lab, error, "video: %s", why.text);
	} else {
		error = measure(lab, page, &q);
	}
	film_free(&q.film);
	return error;
}
