/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reading a key: which value can it have, by its k cells?
 *
 * Each cell admits some symbols for the key:
 *
 *     count 0       none: the key is not stored
 *     count 1       the one that is in it
 *     count 2       the two that are in it
 *     count 3       those that leave the sums of a pair behind when they are taken out
 *     more, stuck   all: the cell says nothing. Nor does one of two equal symbols by exclusive or: its sum is 0
 *
 * A stored key's own symbol is in all its cells, so all of them admit it. Hence
 *
 *     no symbol admitted by all     the key is not stored       ABSENT
 *     exactly one                   if stored, it has that      VALUE
 *     several                                                   UNKNOWN
 *
 * and a stored key is never answered wrongly nor absent. That is joint
 * decoding. Candidates come from the cell with the lowest count. If that is a
 * cell of three, all symbols are tried. This happens to one key in 200 at the
 * planned load, and makes UNKNOWN five times rarer. (The wide field leaves it
 * out: there each attempt takes a power, and dictionaries are long.)
 *
 * The paper's decoding takes the symbol of any cell of count 1 without checking
 * the other cells, and otherwise intersects the cells of count 2 (and 3). For
 * stored keys the answer is the same; strangers get a value even where their
 * cells contradict each other.
 */
#include "kbf/filter.h"

enum { BLIND = 4 }; /* as count: the cell says nothing. A stuck one, 7 or 15, is among these */

struct cells {
	struct ink_kbf_cell cell[INK_KBF_MOST_K]; /* counts 1, 2, 3 or BLIND */
	uint32_t k;
	uint32_t lowest; /* the one with the lowest count */
};

/* 0 if one of them is empty. */
INK_PER_ENCODING int gather(const struct ink_kbf *f, enum ink_kbf_encoding e, const void *from,
			    const struct ink_kbf_place *p, struct cells *c)
{
	c->k = f->k;
	c->lowest = 0;
	for (uint32_t i = 0; i < f->k; i++) {
		struct ink_kbf_cell cell = ink_kbf_cell_get(f, e, from, p->at[i]);

		if (cell.count == 0)
			return 0;
		if (cell.count > 3 || (e == INK_KBF_GREEDY && cell.count == 2 && cell.sums.s1 == 0))
			cell.count = BLIND;
		c->cell[i] = cell;
		if (cell.count < c->cell[c->lowest].count)
			c->lowest = i;
	}
	return 1;
}

INK_PER_ENCODING int admits(const struct ink_kbf_dict *d, enum ink_kbf_encoding e, struct ink_kbf_cell c,
			    uint32_t symbol)
{
	struct ink_power_sums code = d->codes[symbol], rest;

	if (c.count == 1)
		return c.sums.s1 == code.s1 && c.sums.s2 == code.s2;
	if (c.count == BLIND)
		return 1;
	rest = ink_encoded_subtract(d, e, c.sums, code);
	if (c.count == 2)
		return ink_symbol_of(d, e, rest) >= 0;
	return ink_symbol_is_pair(d, e, rest) || (e == INK_KBF_GREEDY && rest.s1 == 0);
}

/* By all cells. `triples` 0: those of three are ignored. */
INK_PER_ENCODING int all_admit(const struct ink_kbf_dict *d, enum ink_kbf_encoding e, const struct cells *c,
			       uint32_t symbol, int triples)
{
	for (uint32_t i = 0; i < c->k; i++)
		if ((triples || c->cell[i].count != 3) && !admits(d, e, c->cell[i], symbol))
			return 0;
	return 1;
}

static struct ink_kbf_reading value(uint32_t symbol)
{
	return (struct ink_kbf_reading){.answer = INK_KBF_VALUE, .symbol = symbol};
}

static struct ink_kbf_reading absent(void)
{
	return (struct ink_kbf_reading){.answer = INK_KBF_ABSENT};
}

static struct ink_kbf_reading unknown(void)
{
	return (struct ink_kbf_reading){.answer = INK_KBF_UNKNOWN};
}

INK_PER_ENCODING struct ink_kbf_reading from_one(const struct ink_kbf_dict *d, enum ink_kbf_encoding e,
						 const struct cells *c, int ask_all)
{
	int32_t symbol = ink_symbol_of(d, e, c->cell[c->lowest].sums);

	if (symbol < 0 || (ask_all && !all_admit(d, e, c, (uint32_t)symbol, 1)))
		return absent();
	return value((uint32_t)symbol);
}

INK_PER_ENCODING struct ink_kbf_reading from_pair(const struct ink_kbf_dict *d, enum ink_kbf_encoding e,
						  const struct cells *c, int triples)
{
	uint32_t pair[2];
	int first, second;

	if (!ink_symbol_pair(d, e, c->cell[c->lowest].sums, pair))
		return absent();
	first = all_admit(d, e, c, pair[0], triples);
	second = pair[0] != pair[1] && all_admit(d, e, c, pair[1], triples);
	if (first && second)
		return unknown();
	return first || second ? value(pair[first ? 0 : 1]) : absent();
}

/*
 * Trying all symbols with a cell of three: x leaves a pair behind if
 *
 *     d = 2 (s2 - x^2) - (s1 - x)^2 = (2 s2 - s1^2) + 2 s1 x - 3 x^2
 *
 * has a root, and both elements of that pair are symbols. A code is x and x^2,
 * so d takes two multiplications and one division by a constant. A random half
 * of all d have a root, and a tenth of these leave two symbols. Branches would be
 * mispredicted, so blocks of symbols are sieved twice without one, and only what
 * is left is compared with the other cells.
 */
enum { BLOCK = 256 }; /* the sieve stays in a KiB of stack; larger blocks are no faster */

_Static_assert(2ull * INK_DICT_SMALL_FIELD * INK_DICT_SMALL_FIELD <= UINT32_MAX, "d fits 32 bits");

struct candidate {
	uint16_t symbol, root;
};

/* Those of the symbols from `from` to `end` whose d has a root; how many. */
static uint32_t with_root(const struct ink_kbf_dict *d, struct ink_power_sums s, uint32_t from, uint32_t end,
			  struct candidate candidates[BLOCK])
{
	const uint32_t p = INK_DICT_SMALL_FIELD, of_x = 2 * s.s1 % p;
	const uint32_t constant = (2 * s.s2 + p * p - s.s1 * s.s1) % p;
	uint32_t n = 0;

	for (uint32_t symbol = from; symbol < end; symbol++) {
		struct ink_power_sums code = d->codes[symbol];
		uint32_t square = (constant + of_x * code.s1 + (p - 3) * code.s2) % p;

		candidates[n] = (struct candidate){(uint16_t)symbol, d->roots[square]};
		n += candidates[n].root != INK_GF_NO_ROOT;
	}
	return n;
}

/* Those of n candidates that leave two symbols behind; how many. */
static uint32_t with_pair(const struct ink_kbf_dict *d, struct ink_power_sums s, uint32_t n,
			  struct candidate candidates[BLOCK])
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < n; i++) {
		struct candidate c = candidates[i];
		uint32_t rest = ink_gf_subtract(&d->field, s.s1, d->codes[c.symbol].s1);
		uint32_t x = ink_gf_half(&d->field, ink_gf_add(&d->field, rest, c.root));
		uint32_t y = ink_gf_subtract(&d->field, rest, x);

		candidates[kept] = c;
		kept += (d->of_element[x] != 0) & (d->of_element[y] != 0);
	}
	return kept;
}

/* Of n candidates those that all cells admit, together with what was found before. */
static struct ink_kbf_reading from_candidates(const struct ink_kbf_dict *d, const struct cells *c, uint32_t n,
					      const struct candidate candidates[BLOCK],
					      struct ink_kbf_reading found)
{
	for (uint32_t i = 0; i < n; i++) {
		if (!all_admit(d, INK_KBF_POWER_SUMS, c, candidates[i].symbol, 1))
			continue;
		if (found.answer == INK_KBF_VALUE)
			return unknown();
		found = value(candidates[i].symbol);
	}
	return found;
}

static struct ink_kbf_reading from_all_blocks(const struct ink_kbf_dict *d, const struct cells *c)
{
	const struct ink_power_sums sums = c->cell[c->lowest].sums;
	struct ink_kbf_reading r = absent();
	struct candidate candidates[BLOCK];

	for (uint32_t from = 0; from < d->count && r.answer != INK_KBF_UNKNOWN; from += BLOCK) {
		uint32_t end = d->count - from < BLOCK ? d->count : from + BLOCK;
		uint32_t n = with_pair(d, sums, with_root(d, sums, from, end, candidates), candidates);

		r = from_candidates(d, c, n, candidates, r);
	}
	return r;
}

INK_PER_ENCODING struct ink_kbf_reading from_all_symbols(const struct ink_kbf_dict *d,
							 enum ink_kbf_encoding e, const struct cells *c)
{
	struct ink_kbf_reading r = absent();

	if (e == INK_KBF_POWER_SUMS_WIDE)
		return unknown();
	if (e == INK_KBF_POWER_SUMS)
		return from_all_blocks(d, c);
	for (uint32_t symbol = 0; symbol < d->count; symbol++) {
		if (!admits(d, e, c->cell[c->lowest], symbol) || !all_admit(d, e, c, symbol, 1))
			continue;
		if (r.answer == INK_KBF_VALUE)
			return unknown();
		r = value(symbol);
	}
	return r;
}

INK_PER_ENCODING struct ink_kbf_reading read_link(const struct ink_kbf *f, enum ink_kbf_encoding e,
						  const void *cells, const struct ink_kbf_place *p)
{
	int joint = f->decoding == INK_KBF_JOINT, triples = f->decoding != INK_KBF_PAPER;
	struct cells c;

	if (!gather(f, e, cells, p, &c))
		return absent();
	switch (c.cell[c.lowest].count) {
	case 1:
		return from_one(f->dict, e, &c, joint);
	case 2:
		return from_pair(f->dict, e, &c, triples);
	case 3:
		return triples ? from_all_symbols(f->dict, e, &c) : unknown();
	default:
		return unknown();
	}
}

/* -------------------------------------------------------------------- the chain */

/* A key is in one link at most. If two do not read absent, either of them may have it. */
INK_PER_ENCODING struct ink_kbf_reading read_links(const struct ink_kbf *f, enum ink_kbf_encoding e,
						   const struct ink_kbf_place *p)
{
	struct ink_kbf_reading found = absent();

	for (uint32_t i = 0; i < f->links; i++) {
		struct ink_kbf_reading r = read_link(f, e, f->link[i].cells, p);

		if (r.answer == INK_KBF_ABSENT)
			continue;
		if (found.answer != INK_KBF_ABSENT)
			return unknown();
		found = r;
		found.link = i;
	}
	return found;
}

struct ink_kbf_reading ink_kbf_read(const struct ink_kbf *f, const struct ink_kbf_place *p)
{
	if (f->encoding == INK_KBF_POWER_SUMS)
		return read_links(f, INK_KBF_POWER_SUMS, p);
	if (f->encoding == INK_KBF_POWER_SUMS_WIDE)
		return read_links(f, INK_KBF_POWER_SUMS_WIDE, p);
	return read_links(f, INK_KBF_GREEDY, p);
}

/* ---------------------------------------------------------------- before a change */

INK_PER_ENCODING int is_possible(const struct ink_kbf *f, enum ink_kbf_encoding e,
				 const struct ink_kbf_place *p, struct ink_kbf_reading r)
{
	struct cells c;

	return gather(f, e, f->link[r.link].cells, p, &c) && all_admit(f->dict, e, &c, r.symbol, 1);
}

struct ink_kbf_reading ink_kbf_read_to_change(const struct ink_kbf *f, const struct ink_kbf_place *p)
{
	struct ink_kbf_reading r = ink_kbf_read(f, p);
	int possible;

	if (f->decoding == INK_KBF_JOINT || r.answer != INK_KBF_VALUE)
		return r;
	possible = f->encoding == INK_KBF_POWER_SUMS        ? is_possible(f, INK_KBF_POWER_SUMS, p, r)
		   : f->encoding == INK_KBF_POWER_SUMS_WIDE ? is_possible(f, INK_KBF_POWER_SUMS_WIDE, p, r)
							    : is_possible(f, INK_KBF_GREEDY, p, r);
	return possible ? r : absent();
}

/* --------------------------------------------------------------------- soundness */

/*
 * After any calls of the library, a cell of one or two symbols holds just these:
 * it comes from an empty cell by adding, or from a fuller one by taking out a
 * symbol that it admits.
 */
INK_PER_ENCODING const char *check_cell(const struct ink_kbf *f, enum ink_kbf_encoding e,
					struct ink_kbf_cell c)
{
	uint32_t pair[2];

	if (e != INK_KBF_GREEDY && (c.sums.s1 >= f->dict->field.p || c.sums.s2 >= f->dict->field.p))
		return "a sum is not below the prime";
	if (c.count == 0 && (c.sums.s1 || c.sums.s2))
		return "an empty cell has sums";
	if (c.count == 1 && ink_symbol_of(f->dict, e, c.sums) < 0)
		return "a cell of one symbol holds none of the dictionary";
	if (c.count == 2 && !(e == INK_KBF_GREEDY && c.sums.s1 == 0) &&
	    !ink_symbol_pair(f->dict, e, c.sums, pair))
		return "a cell of two symbols holds no two of the dictionary";
	return NULL;
}

const char *ink_kbf_check_cell(const struct ink_kbf *f, struct ink_kbf_cell c)
{
	if (f->encoding == INK_KBF_POWER_SUMS)
		return check_cell(f, INK_KBF_POWER_SUMS, c);
	if (f->encoding == INK_KBF_POWER_SUMS_WIDE)
		return check_cell(f, INK_KBF_POWER_SUMS_WIDE, c);
	return check_cell(f, INK_KBF_GREEDY, c);
}
