/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Figures 2 and 3 of the kBF paper, and two of its ideas that the library does not follow. How many bits do
 * codes need if a sum of two must identify its terms?
 *
 * Figure 2: bits for n codes such that all exclusive ors of two are different.
 *
 *     bound        2^bits >= n (n - 1) / 2 + n
 *     greedy       Algorithm 1: each code is the smallest number that still fits
 *     algebraic    (x, x^3) for the x of a field of 2^m elements: 2^m codes of 2m bits. x + y = a and x^3 + y^3 = b have
 *                  one solution {x, y}, so no search is needed. Checked here sum by sum.
 *     power sums   the library's: (x, x^2) modulo a prime, added instead of exclusive or, so that two equal values can be
 *                  read as well.
 *
 * Figure 3: the codes in order, which the paper takes for a quadratic curve. They are nearly cubic.
 *
 * III.H goes from a code to its number by the inverse of a fitted quadratic, and then by steps: the
 * difference to the wanted code, divided by the mean difference of neighbours, at least one. Steps of a fixed
 * size on a curve that is steep at its end and flat at its beginning can alternate between two places for
 * ever. A lookup has no memory, so one that returns to a place never ends; here it is given up after as many
 * steps as there are codes.
 *
 * III.D gives a new value the next code if a second kBF does not contain it yet. As in any Bloom filter, a
 * query for a new value is sometimes a false positive. The value then silently receives the code of another
 * one, and all keys with it read the other value.
 */
#include "lab/experiments.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "lab/page.h"
#include "lab/printed_kbf.h"
#include "sim/seeded.h"

enum { MOST_CODES = 8000, PAPER_VALUES = 16384, PAPER_BITS = 30, VALUES = 3000 };

/* ------------------------------------------------------------------- fields of 2^m */

struct field {
	unsigned m;
	uint32_t polynomial; /* irreducible, x^m included */
};

static uint32_t field_multiply(const struct field *f, uint32_t a, uint32_t b)
{
	uint32_t product = 0;

	for (; b; b >>= 1) {
		if (b & 1)
			product ^= a;
		a <<= 1;
		if (a >> f->m)
			a ^= f->polynomial;
	}
	return product;
}

static uint32_t field_code(const struct field *f, uint32_t x)
{
	return field_multiply(f, field_multiply(f, x, x), x) << f->m | x;
}

/* How many of the sums of two different codes are not the first of their kind. */
static uint64_t field_collisions(const struct field *f)
{
	uint32_t count = 1u << f->m, *codes = lab_alloc(count, sizeof *codes);
	uint64_t *seen = lab_alloc((size_t)count * count / 64, sizeof *seen), collisions = 0;

	for (uint32_t i = 0; i < count; i++) {
		codes[i] = field_code(f, i);
		for (uint32_t j = 0; j < i; j++) {
			uint32_t sum = codes[i] ^ codes[j];

			collisions += seen[sum / 64] >> sum % 64 & 1;
			seen[sum / 64] |= 1ull << sum % 64;
		}
	}
	free(seen);
	free(codes);
	return collisions;
}

/* ---------------------------------------------------------------- bits for n values */

/* Smallest b such that 2^b is at least this. */
static unsigned bits_for(double number)
{
	return (unsigned)ceil(log2(number) - 1e-12);
}

static unsigned bits_bound(double n)
{
	return bits_for(n * (n - 1) / 2 + n);
}

static bool is_prime(uint32_t p)
{
	for (uint32_t d = 2; d * d <= p; d++)
		if (p % d == 0)
			return false;
	return p > 1;
}

static uint32_t largest_prime_of(unsigned bits)
{
	uint32_t p = (1u << bits) - 1;

	while (!is_prime(p))
		p--;
	return p;
}

static unsigned bits_power_sums(uint32_t n)
{
	unsigned b = 2;

	while (largest_prime_of(b) < n)
		b++;
	return 2 * b;
}

/* The greedy codes that were found, all of at most `bits` bits. */
struct greedy {
	uint32_t codes[MOST_CODES];
	uint32_t found;
	unsigned bits;
};

static uint32_t greedy_below(const struct greedy *g, unsigned bits)
{
	uint32_t count = 0;

	while (count < g->found && g->codes[count] >> bits == 0)
		count++;
	return count;
}

/* The n-th code is about c n^e: e, from how many codes four more bits bring. */
static double greedy_exponent(const struct greedy *g)
{
	return 4 / log2(greedy_below(g, g->bits) / (double)greedy_below(g, g->bits - 4));
}

/* As many as were found, and for bits that were not searched as many as that power brings. */
static double greedy_of_the_papers_bits(const struct greedy *g)
{
	double missing = g->bits < PAPER_BITS ? PAPER_BITS - g->bits : 0;

	return greedy_below(g, PAPER_BITS) * exp2(missing / greedy_exponent(g));
}

/* Measured as far as the search went, and then along that power. */
static unsigned bits_greedy(const struct greedy *g, uint32_t n)
{
	if (n <= g->found)
		return bits_for(g->codes[n - 1] + 1.0);
	return (unsigned)ceil(g->bits + greedy_exponent(g) * log2(n / (double)g->found));
}

/* ------------------------------------------------------------ III.H: the regression */

enum { MOST_DEGREE = 3 };

struct curve {
	unsigned degree;
	double c[MOST_DEGREE + 1];
	double scale; /* of x: the number of codes */
};

static double curve_at(const struct curve *f, double x)
{
	double y = 0;

	for (unsigned i = f->degree + 1; i-- > 0;)
		y = y * (x / f->scale) + f->c[i];
	return y;
}

/* Gauss elimination; the matrix has its right side in the last column. */
static void solve(double a[][MOST_DEGREE + 2], unsigned n, double *x)
{
	for (unsigned i = 0; i < n; i++)
		for (unsigned row = i + 1; row < n; row++) {
			double factor = a[row][i] / a[i][i];

			for (unsigned j = i; j <= n; j++)
				a[row][j] -= factor * a[i][j];
		}
	for (unsigned i = n; i-- > 0;) {
		x[i] = a[i][n];
		for (unsigned j = i + 1; j < n; j++)
			x[i] -= a[i][j] * x[j];
		x[i] /= a[i][i];
	}
}

/* Least squares. */
static struct curve fit(const uint32_t *codes, uint32_t n, unsigned degree)
{
	struct curve f = {.degree = degree, .scale = n};
	double a[MOST_DEGREE + 1][MOST_DEGREE + 2] = {{0}};

	for (uint32_t i = 0; i < n; i++)
		for (unsigned row = 0; row <= degree; row++) {
			for (unsigned j = 0; j <= degree; j++)
				a[row][j] += pow(i / f.scale, row + j);
			a[row][degree + 1] += pow(i / f.scale, row) * codes[i];
		}
	solve(a, degree + 1, f.c);
	return f;
}

/* Where the curve reaches y, as the place of a code; before or behind all of them, the first or last. */
static int64_t curve_inverse(const struct curve *f, double y)
{
	double low = 0, high = f->scale - 1;

	while (high - low > .01) {
		double middle = (low + high) / 2;

		if (curve_at(f, middle) < y)
			low = middle;
		else
			high = middle;
	}
	return llround(low);
}

struct lookups {
	double endless; /* share of the codes that are never found */
	double accesses, most;
};

/* Memory accesses until the code is found; 0: never. */
static uint32_t lookup(const uint32_t *codes, uint32_t n, const struct curve *f, uint32_t code)
{
	double step = ((double)codes[n - 1] - codes[0]) / (n - 1);
	int64_t at = curve_inverse(f, code);

	for (uint32_t accesses = 1; accesses <= n; accesses++) {
		double off = (double)code - codes[at];
		int64_t by = llround(off / step);

		if (off == 0)
			return accesses;
		at += by ? by : off > 0 ? 1 : -1;
		at = at < 0 ? 0 : at >= n ? n - 1 : at;
	}
	return 0;
}

static struct lookups look_up_all(const uint32_t *codes, uint32_t n, unsigned degree)
{
	struct curve f = fit(codes, n, degree);
	struct lookups all = {0};
	double ended = 0;

	for (uint32_t i = 0; i < n; i++) {
		double accesses = lookup(codes, n, &f, codes[i]);

		ended += accesses > 0;
		all.accesses += accesses;
		all.most = fmax(all.most, accesses);
	}
	all.endless = 1 - ended / n;
	all.accesses /= ended;
	return all;
}

/* ------------------------------------------------------- III.D: a kBF of the values */

static const double second_p[] = {.1, .01, 1e-3, 1e-4};

enum { SECOND = sizeof second_p / sizeof second_p[0], FILLS = 2, USUAL = 2 }; /* the paper's largest p */

/* Of a number of dictionaries of VALUES values each. */
struct seconds {
	double wrong;    /* values that got another one's code */
	double spoiled;  /* dictionaries with such a value */
	double twice;    /* values whose code cannot be read again: they get another one */
	double repeated; /* dictionaries */
};

static bool one_dictionary(const struct printed_codes *codes, double p, uint32_t planned, uint64_t seed,
			   struct seconds *sum)
{
	struct printed_kbf f = printed_make(codes, printed_k(p), printed_cells(p, planned));
	double before = sum->wrong;
	uint32_t next = 0;

	for (uint32_t value = 0; value < VALUES; value++) {
		if (printed_query(&f, sim_mix(seed ^ sim_mix(value))) >= 0)
			sum->wrong++;
		else
			printed_insert(&f, sim_mix(seed ^ sim_mix(value)), next++);
	}
	for (uint32_t value = 0; value < VALUES; value++)
		sum->twice += printed_query(&f, sim_mix(seed ^ sim_mix(value))) < 0;
	free(f.cells);
	return sum->wrong > before;
}

/* ------------------------------------------------------------------------- the work */

struct study {
	struct greedy *greedy;
	struct field field;
	uint64_t collisions;
	struct printed_codes codes;
	unsigned dictionaries;  /* for each seed */
	struct seconds *second; /* [SECOND][FILLS] */
};

enum { JOB_GREEDY, JOB_FIELD, JOB_SECOND };

/* Planned for all values, or for half of them: their number is rarely known in advance. */
static uint32_t planned_values(size_t fill)
{
	return fill ? VALUES / 2 : VALUES;
}

static void run_second(struct lab *lab, struct study *s, size_t point)
{
	struct seconds *sum = &s->second[point];

	for (uint64_t i = 0; i < (uint64_t)s->dictionaries * lab->seeds; i++) {
		sum->spoiled += one_dictionary(&s->codes, second_p[point / FILLS],
					       planned_values(point % FILLS), lab_seed(lab, point, i), sum);
		sum->repeated++;
	}
}

static int one_job(struct lab *lab, void *context, size_t number)
{
	struct study *s = context;
	int32_t found;

	if (number == JOB_FIELD)
		s->collisions = field_collisions(&s->field);
	else if (number >= JOB_SECOND)
		run_second(lab, s, number - JOB_SECOND);
	if (number != JOB_GREEDY)
		return 0;
	found = ink_greedy_search(s->greedy->codes, MOST_CODES, s->greedy->bits, &ink_own_allocator);
	s->greedy->found = found < 0 ? 0 : (uint32_t)found;
	return found < 0 ? lab_fail(lab, found, "greedy codes of %u bits", s->greedy->bits) : 0;
}

/* -------------------------------------------------------------------------- figure 2 */

static void write_bits_row(struct page_table *table, const struct greedy *g, uint32_t n)
{
	page_row(table);
	page_number(table, n);
	page_number(table, bits_bound(n));
	if (n == PAPER_VALUES)
		page_number(table, PAPER_BITS);
	else
		page_blank(table);
	if (n <= g->found)
		page_number(table, bits_greedy(g, n));
	else
		page_word(table, "about %u", bits_greedy(g, n));
	page_number(table, 2 * bits_for(n));
	page_number(table, bits_power_sums(n));
}

static void write_bits_plot(struct page *page, const struct greedy *g)
{
	struct page_plot *plot =
		page_plot(page, "bits", "Bits of a code",
			  (struct page_axis){.name = "values", .log = true, .low = 4, .high = 32768},
			  (struct page_axis){.name = "bits", .low = 0, .high = 40});
	struct page_series *bound = page_series(plot, PAGE_CURVE, STRUCTURE_NONE, "bound"),
			   *found = page_series(plot, PAGE_LINE, STRUCTURE_NONE, "greedy"),
			   *field = page_series(plot, PAGE_LINE, STRUCTURE_NONE, "(x, x^3)"),
			   *paper = page_series(plot, PAGE_PAPER, STRUCTURE_NONE, "the paper's greedy");

	for (double n = 4; n <= 32768; n *= sqrt(2))
		page_point(bound, n, bits_bound(floor(n)));
	for (unsigned bits = 4; bits <= g->bits; bits++)
		page_point(found, greedy_below(g, bits), bits);
	for (unsigned m = 2; m <= 15; m++)
		page_point(field, 1u << m, 2 * m);
	page_point(paper, PAPER_VALUES, PAPER_BITS);
}

static void write_bits(struct page *page, const struct study *s)
{
	static const uint32_t rows[] = {7, 100, 1000, VALUES, 10000, 16381, PAPER_VALUES};
	const struct page_column columns[] = {{"values", NULL, 5},    {"bound", "bit", 2},
					      {"paper", "bit", 2},    {"greedy", "bit", 2},
					      {"(x, x^3)", "bit", 2}, {"power sums", "bit", 2}};
	const struct greedy *g = s->greedy;
	struct page_table *table;

	page_heading(page, "Figure 2: bits of a code");
	table = page_table(page, "bits", "Bits for so many values", columns, 6);
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
		write_bits_row(table, g, rows[i]);
	page_text(
		page,
		"The paper has 16,384 greedy codes in 30 bits. Algorithm 1 finds %u codes of up to %u bits, "
		"and %.2f times as many with each further bit; \"about\" is extrapolated from that. The field "
		"needs no search: its %u codes of %u bits are as many as the bound allows, within a factor of "
		"1.4.",
		g->found, g->bits, exp2(1 / greedy_exponent(g)), 1u << s->field.m, 2 * s->field.m);
	write_bits_plot(page, g);
	page_verdict(page,
		     bits_bound(7) == 5 && bits_bound(100) == 13 && bits_bound(PAPER_VALUES) == 28
			     ? PAGE_AGREES
			     : PAGE_DISAGREES,
		     "Figure 2, lower bounds",
		     "%u, %u and %u bits for 7, 100 and 16,384 values; the paper has 5, 13 and 28.",
		     bits_bound(7), bits_bound(100), bits_bound(PAPER_VALUES));
	page_verdict(page, greedy_of_the_papers_bits(g) < PAPER_VALUES ? PAGE_IMPOSSIBLE : PAGE_AGREES,
		     "Figure 2, 16,384 greedy codes in 30 bits",
		     "Algorithm 1 leaves nothing to choose and finds %s%.0f codes of 30 bits.",
		     g->bits < PAPER_BITS ? "about " : "", greedy_of_the_papers_bits(g));
	page_claim(page, greedy_of_the_papers_bits(g), PAGE_AT_MOST, PAPER_VALUES / 2.0,
		   "Greedy codes of 30 bits, of which %u were found: not half of the paper's 16,384",
		   greedy_below(g, PAPER_BITS));
	page_claim(page, (double)s->collisions, PAGE_AT_MOST, 0,
		   "Sums of two of the %u codes (x, x^3) of %u bits that another two have as well",
		   1u << s->field.m, 2 * s->field.m);
}

/* -------------------------------------------------------------------------- figure 3 */

/* The fit that the paper prints for its 10,000 codes. */
static double printed_fit(double x)
{
	return 92884900 + 32952.9 * x + 1.151 * x * x;
}

static void write_growth(struct page *page, const struct greedy *g)
{
	struct page_plot *plot;
	struct page_series *ours, *paper, *power;
	double exponent = greedy_exponent(g), last = g->codes[g->found - 1];

	page_heading(page, "Figure 3: the codes in order");
	plot = page_plot(page, "growth", "The n-th code", (struct page_axis){.name = "n"},
			 (struct page_axis){.name = "code", .unit = "million"});
	ours = page_series(plot, PAGE_CURVE, STRUCTURE_NONE, "Algorithm 1");
	power = page_series(plot, PAGE_CURVE, STRUCTURE_NONE, "its power law");
	paper = page_series(plot, PAGE_PAPER, STRUCTURE_NONE, "the paper's fit");
	for (uint32_t i = 0; i < g->found; i += g->found / 100)
		page_point(ours, i + 1, g->codes[i] / 1e6);
	for (double n = 0; n <= g->found; n += g->found / 25.0)
		page_point(power, n, last * pow(n / g->found, exponent) / 1e6);
	for (double n = 0; n <= g->found; n += g->found / 8.0)
		page_point(paper, n, printed_fit(n) / 1e6);
	page_text(
		page,
		"The paper fits 92,884,900 + 32,952.9 n + 1.151 n^2 to 10,000 codes. The fit begins at 93 "
		"million, where the first code is 1, and has 538 million as the 10,000th. The codes of "
		"Algorithm 1 grow like n^%.2f; the 10,000th would be about %.0f million. The paper does not "
		"list its codes.",
		exponent, last * pow(10000.0 / g->found, exponent) / 1e6);
	page_verdict(
		page, printed_fit(1) > 2 * g->codes[0] && exponent > 2.5 ? PAGE_IMPOSSIBLE : PAGE_AGREES,
		"Figure 3, quadratic fit of the codes",
		"The fit gives %.0f million for the first code, which is %u, and the codes grow like n^%.2f.",
		printed_fit(1) / 1e6, g->codes[0], exponent);
	page_claim(page, exponent, PAGE_AT_LEAST, 2.5,
		   "The power of n that greedy codes follow: a cube, no square");
}

/* ---------------------------------------------------------------------------- III.H */

static void write_lookups_row(struct page_table *table, const struct greedy *g, uint32_t n, unsigned degree)
{
	struct lookups l = look_up_all(g->codes, n, degree);

	page_row(table);
	page_number(table, n);
	page_word(table, degree == 2 ? "quadratic" : "cubic");
	page_number(table, 100 * l.endless);
	page_number(table, l.accesses);
	page_number(table, l.most);
	page_number(table, log2(n));
}

static void write_lookups(struct page *page, const struct greedy *g)
{
	const struct page_column columns[] = {{"codes", NULL, 5}, {"curve", NULL, 0},
					      {"no end", "%", 3}, {"accesses", "mean", 3},
					      {"most", NULL, 4},  {"binary", NULL, 3}};
	const uint32_t sizes[] = {1000, VALUES, g->found};
	struct page_table *table;

	page_heading(page, "III.H: from a code to its number by regression");
	table = page_table(page, "regression", "Lookups by a fitted curve and steps", columns, 6);
	for (size_t i = 0; i < 3; i++)
		for (unsigned degree = 2; degree <= 3; degree++)
			write_lookups_row(table, g, sizes[i], degree);
	page_text(
		page,
		"In the paper's one example three accesses are enough. Steps of the mean difference overshoot "
		"where codes are dense, and the search never settles there. Accesses are those of lookups "
		"that end; a binary search always ends, after the number in the last column. The library uses "
		"a hash table.");
	page_verdict(
		page, look_up_all(g->codes, VALUES, 2).most <= 3 ? PAGE_AGREES : PAGE_DISAGREES,
		"III.H, three accesses to find a code",
		"The search never ends for %.1f %% of %d codes; the others take %.0f accesses on average.",
		100 * look_up_all(g->codes, VALUES, 2).endless, VALUES,
		look_up_all(g->codes, VALUES, 2).accesses);
	page_claim(page, look_up_all(g->codes, VALUES, 2).endless, PAGE_AT_LEAST, .1,
		   "Share of the %d codes that the paper's step search never finds", VALUES);
}

/* ---------------------------------------------------------------------------- III.D */

static void write_second_row(struct page_table *table, const struct seconds *sum, size_t point)
{
	double p = second_p[point / FILLS];
	uint32_t planned = planned_values(point % FILLS);

	page_row(table);
	page_number(table, p);
	page_number(table, planned);
	page_number(table, 32.0 * (double)printed_cells(p, planned) / VALUES);
	page_number(table, sum->wrong / sum->repeated);
	page_spread(table, spread_times(interval_99(sum->spoiled, sum->repeated), 100));
	page_number(table, sum->twice / sum->repeated);
}

static void write_second(struct page *page, const struct study *s)
{
	const struct page_column columns[] = {{"p", NULL, 1},         {"planned", NULL, 4},
					      {"bits", "a value", 3}, {"wrong", NULL, 3},
					      {"spoiled", "%", 3},    {"unread", NULL, 3}};
	struct page_table *table;
	const struct seconds *usual = &s->second[USUAL * FILLS];

	page_heading(page, "III.D: a second kBF gives values their codes");
	table = page_table(page, "second", "Dictionaries of 3,000 values", columns, 6);
	for (size_t point = 0; point < SECOND * FILLS; point++)
		write_second_row(table, &s->second[point], point);
	page_text(
		page,
		"\"wrong\": values of a dictionary that silently received the code of another, so that every "
		"key with them reads the other value. \"spoiled\": dictionaries in which that happened, with "
		"the 99 %% interval of %.0f of each. \"unread\": values with a code that the filter can no "
		"longer read; they receive another one. \"planned\": for how many values the filter was made. "
		"An exact index of 4-byte slots, half of them empty, takes 64 bits a value and makes no "
		"mistake; the values are stored anyway.",
		s->second[0].repeated);
	page_verdict(
		page, usual->spoiled > 0 ? PAGE_DISAGREES : PAGE_AGREES,
		"III.D, a second kBF gives values their codes",
		"At p = 0.001, a value silently received the code of another in %.0f %% of the dictionaries.",
		100 * usual->spoiled / usual->repeated);
	page_claim(page, 100 * usual->spoiled / usual->repeated, PAGE_AT_LEAST, 5,
		   "Percent of the dictionaries with p = 0.001, planned for all their values, in which a "
		   "value silently became another");
}

/* -------------------------------------------------------------------------- the page */

static void prepare(const struct lab *lab, struct study *s)
{
	bool quick = lab->size == LAB_QUICK;

	s->greedy = lab_alloc(1, sizeof *s->greedy);
	s->greedy->bits = quick ? 28 : lab->size == LAB_FULL ? 31 : PAPER_BITS;
	s->field = quick ? (struct field){11, 0x805} : (struct field){14, 0x4443};
	s->dictionaries = quick ? 20 : 200;
	s->second = lab_alloc(SECOND * FILLS, sizeof *s->second);
}

static void write_page(struct page *page, const struct study *s)
{
	page_text(
		page,
		"A cell with two keys holds the sum of two codes and must identify them. Four ways to choose "
		"such codes, and two ideas of the paper around them.");
	write_bits(page, s);
	write_growth(page, s->greedy);
	write_lookups(page, s->greedy);
	write_second(page, s);
}

static int run(struct lab *lab, struct page *page)
{
	struct study s = {0};
	int error;

	prepare(lab, &s);
	error = printed_codes_make(&s.codes, VALUES);
	if (error)
		error = lab_fail(lab, error, "%d greedy codes", VALUES);
	if (!error)
		error = lab_each(lab, JOB_SECOND + SECOND * FILLS, one_job, &s);
	if (!error)
		write_page(page, &s);
	printed_codes_free(&s.codes);
	free(s.second);
	free(s.greedy);
	return error;
}

const struct experiment experiment_kbf_encodings = {
	.name = "kbf-encodings",
	.title = "Codes whose sums can be taken apart",
	.where = "kBF III, figures 2 and 3",
	.shows =
		"How many bits do codes take by search and by algebra? How do the codes grow? How often does "
		"the paper's regression never end, and how often does its kBF of values give one value the "
		"code of another?",
	.seconds = {4, 25, 75},
	.run = run,
};
