/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * From keys and ceilings to k and cells, and back.
 *
 * All follows from the load L = keys k / cells. The number of other keys in a
 * cell is Poisson with mean L, so a live key's cell has count 1 + j, and a
 * stranger's has count j, with probability e^-L L^j / j!. (That the cells of a
 * live key are fuller than others is what the paper's formula of global
 * decodability leaves out.) By what a cell says, it is one, a pair, a triple,
 * or blind (four and more; a pair of equals by exclusive or); the k cells are
 * independent, so the numbers of each sort are multinomial, and what is left is
 * to say how a reading ends, for V values that are equally frequent:
 *
 *   - A pair admits a given wrong symbol with probability 1/V, or 2/V if the
 *     key is a stranger, since then both are others.
 *   - A triple admits it if it is one of the two (three) others, or by chance:
 *     what it leaves behind is one of the sums of two symbols in use, which are
 *     a share `density` of all sums.
 *
 * A live key reads UNKNOWN if, without a cell of one, a wrong symbol passes:
 *
 *     a >= 1 pairs, b triples    the other symbol of the first pair:  (1 - 1/V) (1/V)^(a-1) t^b
 *     no pair, b triples         one that the first triple admits:    see end_of_triples
 *
 * With triples left out (t = 1) and V large that is q3^k + k q3^(k-1) q2, where
 * q2 = L e^-L and q3 = 1 - e^-L (1 + L): the paper's formula, corrected.
 *
 * A stranger reads a value if exactly one symbol passes all cells, UNKNOWN if
 * several do; by the paper's decoding, a cell of one is enough.
 *
 * tests/test_kbf_plan.c holds every number against measurements.
 */
#include <errno.h>
#include <math.h>

#include "base/bisect.h"
#include "base/error.h"
#include "base/grow.h"
#include "kbf/filter.h"

/* --------------------------------------------------------------- probabilities */

struct model {
	uint32_t k;
	double load;   /* keys k / cells */
	double values; /* equally frequent */
	enum ink_kbf_encoding encoding;
	enum ink_kbf_decoding decoding;
};

/* What readings of random keys come to. */
struct errors {
	double unknown;         /* of live keys */
	double false_positives; /* strangers that read a value */
	double strangers_unknown;
};

/* Shares of the sorts of cells, and how often each admits a wrong symbol. */
struct sorts {
	double one, pair, triple, blind;
	double by_one, by_pair, by_triple;
	double by_dense, by_sparse; /* triples differ: half of them admit more, half less */
	double same_sums;           /* triples that have the sums of a given one; greedy codes: 0 */
	double equals;              /* pairs of equal symbols that are read as such */
	double values;
	int tried;      /* without ones and pairs, all symbols are tried */
	int trusts_one; /* a cell of one is enough */
};

/*
 * Greedy codes are not spread evenly, so the share of sums of four codes that
 * are sums of two was measured, for the first V codes; tests/test_kbf_codes.c
 * measures some of it again. In between, straight lines in logarithms.
 */
static double greedy_density(double v)
{
	static const struct {
		double values, density;
	} measured[] = {{20, .319},    {50, .282},    {100, .1998},  {200, .1581},  {300, .1100},
			{500, .0782},  {700, .0669},  {1000, .0496}, {1500, .0388}, {2000, .0329},
			{2500, .0267}, {3000, .0216}, {3500, .0189}, {4213, .0183}};
	enum { LAST = sizeof measured / sizeof measured[0] - 1 };
	unsigned i = 1;

	if (v <= measured[0].values)
		return measured[0].density;
	while (i < LAST && measured[i].values < v)
		i++;
	return measured[i - 1].density *
	       pow(measured[i].density / measured[i - 1].density,
		   log(v / measured[i - 1].values) / log(measured[i].values / measured[i - 1].values));
}

/*
 * That share differs between triples. The model gives half of them a larger share
 * and half a smaller one, so that two triples admit a wrong symbol in common as
 * often as measured: by .54 for 300 and 1,000 codes, by .45 for 3,000.
 */
static double greedy_varies(double v)
{
	return .54 - .082 * log(fmax(v, 1000) / 1000);
}

static double density(const struct model *m)
{
	double v = m->values,
	       p = m->encoding == INK_KBF_POWER_SUMS ? INK_DICT_SMALL_FIELD : INK_DICT_LARGE_FIELD;

	return m->encoding == INK_KBF_GREEDY ? greedy_density(v) : v * (v + 1) / 2 / (p * p);
}

static double poisson(double mean, unsigned j)
{
	return exp(j * log(mean) - mean - lgamma(j + 1.0));
}

/* By exclusive or, equals cancel: such a pair says nothing, nor does a triple, whose third symbol is all that is left. */
static void blind_share(struct sorts *s, double *sort, double share)
{
	s->blind += *sort * share;
	*sort -= *sort * share;
}

/* `own` is 1 for a live key, whose symbol is in all its cells; 0 for a stranger. */
static struct sorts sorts_of(const struct model *m, unsigned own)
{
	double v = m->values, other = 1 - 1 / v;
	struct sorts s = {.one = poisson(m->load, 1 - own),
			  .pair = poisson(m->load, 2 - own),
			  .triple = poisson(m->load, 3 - own),
			  .by_one = 1 / v,
			  .by_pair = 1 - pow(other, 2 - own),
			  .by_triple = 1 - pow(other, 3 - own) * (1 - density(m)),
			  .equals = 1 / v,
			  .values = v};
	double varies = m->encoding == INK_KBF_GREEDY ? greedy_varies(v) : 0;

	s.by_dense = 1 - pow(other, 3 - own) * (1 - density(m) * (1 + varies));
	s.by_sparse = 1 - pow(other, 3 - own) * (1 - density(m) * (1 - varies));
	s.tried = m->encoding != INK_KBF_POWER_SUMS_WIDE;
	s.trusts_one = m->decoding != INK_KBF_JOINT;
	s.blind = 1 - s.one - s.pair - s.triple - (own ? 0 : exp(-m->load));
	s.same_sums = m->encoding == INK_KBF_GREEDY ? 0 : v * density(m) / 3;
	if (m->encoding == INK_KBF_GREEDY) {
		blind_share(&s, &s.pair, 1 / v);
		blind_share(&s, &s.triple, 1 - pow(other, 3));
		s.equals = 0;
	}
	if (m->decoding == INK_KBF_PAPER)
		blind_share(&s, &s.triple, 1);
	s.blind = fmax(s.blind, 0);
	return s;
}

/* Of a key whose cells are so many ones, pairs and triples, the rest blind. */
struct mixture {
	uint32_t ones, pairs, triples;
};

struct outcome {
	double value, unknown;
};

/*
 * Without ones and pairs some symbols pass all b triples: that just one does, and
 * that several do. What the first triple admits are its own symbols, `own` of
 * others, and by chance those of a Poisson number of other triples with the same
 * sums; each of these passes the b - 1 other cells or not.
 */
static struct outcome end_of_triples(const struct sorts *s, uint32_t b, unsigned own)
{
	double through = pow(s->by_triple, b - 1), stays = 1 - through;
	double own_goes =
		own == 2 ? 1 - (1 - 1 / s->values) * through : stays; /* a live key's own is no other */
	double chance = exp(-s->same_sums * (1 - pow(stays, 3)));
	double none = pow(own_goes, own) * chance;
	double one = own * (1 - own_goes) * pow(own_goes, own - 1) * chance +
		     none * 3 * s->same_sums * through * stays * stays;

	return (struct outcome){one, 1 - none - one};
}

/* The same for greedy codes, whose triples differ: each of the symbols passes or not. */
static struct outcome end_of_greedy(const struct sorts *s, uint32_t b, double symbols)
{
	struct outcome sum = {0, 0};

	for (uint32_t dense = 0; dense <= b; dense++) {
		double share = exp(lgamma(b + 1.0) - lgamma(dense + 1.0) - lgamma(b - dense + 1.0)) / exp2(b);
		double through = pow(s->by_dense, dense) * pow(s->by_sparse, b - dense);
		double none = pow(1 - through, symbols),
		       one = symbols * through * pow(1 - through, symbols - 1);

		sum.value += share * one;
		sum.unknown += share * (1 - none - one);
	}
	return sum;
}

static struct outcome end_of_live(const struct sorts *s, struct mixture m)
{
	double through = pow(s->by_triple, m.triples);
	struct outcome wrong;

	if (m.ones)
		return (struct outcome){1, 0};
	if (m.pairs)
		return (struct outcome){0, (1 - s->equals) * pow(s->by_pair, m.pairs - 1) * through};
	if (!m.triples || !s->tried)
		return (struct outcome){0, 1};
	wrong = s->same_sums > 0 ? end_of_triples(s, m.triples, 2)
				 : end_of_greedy(s, m.triples, s->values - 1);
	return (struct outcome){0, wrong.value + wrong.unknown};
}

static struct outcome end_of_stranger(const struct sorts *s, struct mixture m)
{
	double through = pow(s->by_triple, m.triples);

	if (m.ones && s->trusts_one)
		return (struct outcome){1, 0};
	if (m.ones)
		return (struct outcome){pow(s->by_one, m.ones - 1) * pow(s->by_pair, m.pairs) * through, 0};
	if (!m.pairs && (m.triples < 2 || !s->tried))
		return (struct outcome){0, 1};
	if (!m.pairs)
		return s->same_sums > 0 ? end_of_triples(s, m.triples, 3)
					: end_of_greedy(s, m.triples, s->values);
	through *= pow(s->by_pair, m.pairs - 1);
	return (struct outcome){s->equals * through + (1 - s->equals) * 2 * through * (1 - through),
				(1 - s->equals) * through * through};
}

/* log of how many ways there are to arrange the sorts among k cells, times the probability of each. */
static double probability(const struct sorts *s, struct mixture m, uint32_t k)
{
	uint32_t blind = k - m.ones - m.pairs - m.triples;
	double ways = lgamma(k + 1.0) - lgamma(m.ones + 1.0) - lgamma(m.pairs + 1.0) -
		      lgamma(m.triples + 1.0) - lgamma(blind + 1.0);

	return exp(ways) * pow(s->one, m.ones) * pow(s->pair, m.pairs) * pow(s->triple, m.triples) *
	       pow(s->blind, blind);
}

typedef struct outcome (*end_fn)(const struct sorts *s, struct mixture m);

static struct outcome expected(const struct sorts *s, uint32_t k, end_fn end, uint32_t most_ones)
{
	struct outcome sum = {0, 0};
	struct mixture m;

	for (m.ones = 0; m.ones <= most_ones; m.ones++)
		for (m.pairs = 0; m.pairs <= k - m.ones; m.pairs++)
			for (m.triples = 0; m.triples <= k - m.ones - m.pairs; m.triples++) {
				struct outcome o = end(s, m);
				double p = probability(s, m, k);

				sum.value += p * o.value;
				sum.unknown += p * o.unknown;
			}
	return sum;
}

static double live_unknown(const struct model *m)
{
	struct sorts s = sorts_of(m, 1);

	return expected(&s, m->k, end_of_live, 0).unknown;
}

static struct errors errors_of(const struct model *m)
{
	struct sorts s = sorts_of(m, 0);
	struct outcome strangers = expected(&s, m->k, end_of_stranger, m->k);

	return (struct errors){live_unknown(m), strangers.value, strangers.unknown};
}

/* ------------------------------------------------------------------- a chain */

/* A key in one of c links is a stranger to the others, and must be absent there. */
static struct errors errors_of_chain(const struct model *m, uint32_t c)
{
	struct errors e = errors_of(m);
	double absent = 1 - e.false_positives - e.strangers_unknown;
	double value = c * e.false_positives * pow(absent, c - 1);

	if (c == 1)
		return e;
	return (struct errors){1 - (1 - e.unknown) * pow(absent, c - 1), value, 1 - pow(absent, c) - value};
}

/* ------------------------------------------------------------------- options */

#define DEFAULT_UNKNOWN 1e-3
#define DEFAULT_FALSE_POSITIVES 2e-5
#define DEFAULT_VALUES 3000
#define MOST_KEYS (1ull << 36)

enum { LEAST_K = 2, MOST_PLANNED_K = 20 }; /* more cells a key than that never take fewer bytes */

struct request {
	const struct ink_kbf_options *o;
	struct model model; /* k and load are to be found */
	uint32_t links;
	uint64_t cells; /* as many, or at most; 0: to be found */
	unsigned cell_bytes;
	double unknown, false_positives;
	int strict_unknown, strict_false; /* ceilings that must hold */
};

static int is_share(double x)
{
	return x >= 0 && x < 1;
}

static int check_numbers(const struct ink_kbf_options *o, struct ink_why *why)
{
	if (!is_share(o->unknown) || !is_share(o->false_positives))
		return ink_fail(why, -EINVAL,
				"options: unknown %g and false_positives %g must lie between 0 and 1",
				o->unknown, o->false_positives);
	if (!(o->grow_at >= 0 && o->grow_at <= 1e6))
		return ink_fail(why, -EINVAL, "options: grow_at %g; 0 to 1,000,000 are possible", o->grow_at);
	if (o->counter_bits && o->counter_bits != 3 && o->counter_bits != 4)
		return ink_fail(why, -EINVAL, "options: counter_bits %u; 3 and 4 are possible",
				o->counter_bits);
	if (o->k == 1 || o->k > INK_KBF_MOST_K)
		return ink_fail(why, -EINVAL, "options: k %u; 2 to %d are possible", o->k, INK_KBF_MOST_K);
	if (o->cells > INK_KBF_MOST_CELLS || (o->cells && o->cells < (o->k ? o->k : LEAST_K)))
		return ink_fail(why, -EINVAL, "options: %llu cells; k to 2^32 - 1 are possible",
				(unsigned long long)o->cells);
	if (o->links > INK_KBF_MOST_LINKS)
		return ink_fail(why, -EINVAL, "options: %u links; %d are possible", o->links,
				INK_KBF_MOST_LINKS);
	if (o->pending > UINT32_MAX / 4)
		return ink_fail(why, -EINVAL, "options: pending %u; 2^30 are possible", o->pending);
	return 0;
}

static int check(const struct ink_kbf_options *o, struct ink_why *why)
{
	int error;

	if ((unsigned)o->encoding > INK_KBF_GREEDY || (unsigned)o->decoding > INK_KBF_PAPER_TRIPLES)
		return ink_fail(why, -EINVAL, "options: encoding %d or decoding %d is unknown",
				(int)o->encoding, (int)o->decoding);
	error = check_numbers(o, why);
	if (error)
		return error;
	if (!o->keys && !o->bytes && !o->cells)
		return ink_fail(why, -EINVAL, "options: neither keys nor bytes nor cells are given");
	if (o->keys > MOST_KEYS)
		return ink_fail(why, -ERANGE, "options: %llu keys; 2^36 are possible",
				(unsigned long long)o->keys);
	return 0;
}

static uint64_t cells_requested(const struct ink_kbf_options *o, unsigned cell_bytes)
{
	uint64_t cells = o->bytes / cell_bytes;

	if (o->cells)
		return o->cells;
	return cells < INK_KBF_MOST_CELLS ? cells : INK_KBF_MOST_CELLS;
}

static uint32_t values_of(const struct ink_kbf_options *o)
{
	if (o->values)
		return o->values;
	return o->dict && o->dict->most < DEFAULT_VALUES ? o->dict->most : DEFAULT_VALUES;
}

static int resolve(const struct ink_kbf_options *o, struct request *r, struct ink_why *why)
{
	int error = check(o, why), pinned = o->cells && o->k;

	if (error)
		return error;
	*r = (struct request){.o = o, .links = o->links ? o->links : 1};
	r->model.encoding = o->dict ? o->dict->encoding : o->encoding ? o->encoding : INK_KBF_POWER_SUMS;
	r->model.decoding = o->decoding ? o->decoding : INK_KBF_JOINT;
	r->model.values = values_of(o);
	r->cell_bytes = ink_encoding_cell_bytes(r->model.encoding);
	r->cells = cells_requested(o, r->cell_bytes);
	r->unknown = o->unknown > 0 ? o->unknown : DEFAULT_UNKNOWN;
	r->false_positives = o->false_positives > 0 ? o->false_positives : DEFAULT_FALSE_POSITIVES;
	r->strict_unknown = o->unknown > 0 || !(r->cells && o->keys);
	r->strict_false = o->false_positives > 0 || !(pinned && o->keys);
	if (r->model.values > ink_encoding_values(r->model.encoding))
		return ink_fail(why, -ERANGE, "options: %u values; this encoding has %u", o->values,
				ink_encoding_values(r->model.encoding));
	return 0;
}

/* -------------------------------------------------------------------- searching */

static int below(const struct request *r, struct errors e)
{
	return e.unknown <= r->unknown * (1 + 1e-9) && e.false_positives <= r->false_positives * (1 + 1e-9);
}

static int live_holds(const struct request *r, const struct model *m)
{
	return live_unknown(m) <= r->unknown * (1 + 1e-9);
}

static int all_holds(const struct request *r, const struct model *m)
{
	return below(r, errors_of_chain(m, r->links));
}

/* Loads are multiples of 2^-37, a billionth of the least useful one, and below 8. */
enum { LOAD_BITS = 37, MOST_LOAD = 8 };

static double load_of(uint64_t steps)
{
	return ldexp((double)steps, -LOAD_BITS);
}

struct search {
	const struct request *request;
	struct model model;
	int (*holds)(const struct request *r, const struct model *m);
};

static int holds_at(uint64_t steps, const void *search)
{
	const struct search *s = search;
	struct model m = s->model;

	m.load = load_of(steps);
	return s->holds(s->request, &m);
}

/*
 * All errors rise with the load, as long as they are small. That of live keys
 * is quickly computed and usually decides; the others are only checked there.
 */
static double most_load(const struct request *r, uint32_t k)
{
	struct search live = {r, r->model, live_holds}, all = {r, r->model, all_holds};
	uint64_t steps;

	live.model.k = all.model.k = k;
	steps = ink_bisect(0, (uint64_t)MOST_LOAD << LOAD_BITS, holds_at, &live);
	return load_of(holds_at(steps, &all) ? steps : ink_bisect(0, steps, holds_at, &all));
}

static struct ink_kbf_plan plan_with(const struct request *r, uint32_t k, uint64_t cells, uint64_t keys)
{
	struct model m = r->model;
	struct ink_kbf_plan p = {.size = sizeof p, .keys = keys, .cells = cells, .k = k};
	struct errors e;

	p.load = m.load = (double)keys * k / (double)cells;
	m.k = k;
	e = errors_of_chain(&m, r->links);
	p.cell_bits = 8 * r->cell_bytes;
	p.bytes = cells * r->cell_bytes;
	p.bits_per_key = 8 * (double)p.bytes / (double)keys;
	p.unknown = e.unknown;
	p.false_positives = e.false_positives;
	p.strangers_unknown = e.strangers_unknown;
	return p;
}

/* The fewest cells for the keys; 0 keys: there is no plan. */
static struct ink_kbf_plan fewest_cells(const struct request *r, uint32_t k)
{
	double load = most_load(r, k), part = load > 0 ? ceil((double)r->o->keys / load) : 0;

	if (part < 1 || part * k > INK_KBF_MOST_CELLS)
		return (struct ink_kbf_plan){0};
	return plan_with(r, k, (uint64_t)part * k, r->o->keys);
}

/* The most keys for the cells. */
static struct ink_kbf_plan most_keys(const struct request *r, uint32_t k)
{
	uint64_t part = r->cells / k, keys = (uint64_t)(most_load(r, k) * (double)part);

	return keys ? plan_with(r, k, part * k, keys) : (struct ink_kbf_plan){0};
}

static struct ink_kbf_plan both_given(const struct request *r, uint32_t k)
{
	struct ink_kbf_plan p;

	if (r->cells < k)
		return (struct ink_kbf_plan){0};
	p = plan_with(r, k, r->cells / k * k, r->o->keys);
	if ((r->strict_unknown && p.unknown > r->unknown * (1 + 1e-9)) ||
	    (r->strict_false && p.false_positives > r->false_positives * (1 + 1e-9)))
		return (struct ink_kbf_plan){0};
	return p;
}

static int is_better(const struct request *r, const struct ink_kbf_plan *a, const struct ink_kbf_plan *b)
{
	if (!b->keys || !a->keys)
		return a->keys && !b->keys;
	if (!r->cells)
		return a->bytes < b->bytes;
	return r->o->keys ? a->unknown < b->unknown : a->keys > b->keys;
}

static struct ink_kbf_plan best_plan(const struct request *r)
{
	uint32_t from = r->o->k ? r->o->k : LEAST_K, to = r->o->k ? r->o->k : MOST_PLANNED_K;
	struct ink_kbf_plan best = {0};

	for (uint32_t k = from; k <= to; k++) {
		struct ink_kbf_plan p = !r->cells    ? fewest_cells(r, k)
					: r->o->keys ? both_given(r, k)
						     : most_keys(r, k);

		if (is_better(r, &p, &best))
			best = p;
	}
	return best;
}

int ink_kbf_find_plan(const struct ink_kbf_options *options, struct ink_kbf_plan *plan, struct ink_why *why)
{
	struct request r;
	int error = resolve(options, &r, why);

	if (error)
		return error;
	*plan = best_plan(&r);
	if (plan->keys)
		return 0;
	return ink_fail(
		why, -ERANGE, "%llu keys, %llu cells: unknown %g and false positives %g are not reached",
		(unsigned long long)options->keys, (unsigned long long)r.cells, r.unknown, r.false_positives);
}

/* ------------------------------------------------------------ the public call */

enum { FIRST_OPTIONS = 104, FIRST_PLAN = 80 }; /* bytes of the structs' first versions */

int ink_kbf_read_options(struct ink_kbf_options *ours, const struct ink_kbf_options *theirs,
			 struct ink_why *why)
{
	static const struct ink_struct form = {"options", FIRST_OPTIONS, sizeof *ours};

	return ink_struct_read(&form, ours, theirs, why);
}

int ink_kbf_plan(const struct ink_kbf_options *options, struct ink_kbf_plan *plan, struct ink_why *why)
{
	static const struct ink_struct form = {"plan", FIRST_PLAN, sizeof *plan};
	struct ink_kbf_options o;
	struct ink_kbf_plan best;
	int error = ink_struct_check(&form, plan, why);

	if (!error)
		error = ink_kbf_read_options(&o, options, why);
	if (!error)
		error = ink_kbf_find_plan(&o, &best, why);
	return error ? error : ink_struct_write(&form, plan, &best, why);
}
