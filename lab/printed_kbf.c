/* SPDX-License-Identifier: BSD-2-Clause */
#include "lab/printed_kbf.h"

#include <math.h>
#include <stdlib.h>

#include "base/mix.h"
#include "lab/runner.h"

enum { COUNTER_BITS = 3, COUNTER_TOP = 7, MOST_K = 64 };

/* ---------------------------------------------------------------------- the codes */

int printed_codes_make(struct printed_codes *codes, uint32_t count)
{
	int error;

	*codes = (struct printed_codes){.codes = lab_alloc(count, sizeof *codes->codes), .count = count};
	error = ink_greedy_codes(codes->codes, count, &ink_own_allocator);
	codes->index = (struct ink_greedy_index){.allocator = &ink_own_allocator, .codes = codes->codes};
	if (!error)
		error = ink_greedy_index_make(&codes->index, count);
	for (uint32_t i = 0; i < count && !error; i++)
		error = ink_greedy_index_add(&codes->index);
	return error;
}

void printed_codes_free(struct printed_codes *codes)
{
	ink_greedy_index_free(&codes->index);
	free(codes->codes);
}

/* -------------------------------------------------------------------------- a cell */

static uint32_t counter_of(uint32_t cell)
{
	return cell & COUNTER_TOP;
}

static uint32_t sum_of(uint32_t cell)
{
	return cell >> COUNTER_BITS;
}

static uint32_t with_counter(uint32_t cell, uint32_t counter)
{
	return (cell & ~(uint32_t)COUNTER_TOP) | (counter & COUNTER_TOP);
}

static uint32_t with_code(const struct printed_kbf *f, uint32_t cell, uint32_t symbol)
{
	return cell ^ f->codes->codes[symbol] << COUNTER_BITS;
}

static uint32_t *cell_of(const struct printed_kbf *f, uint64_t id, uint32_t i)
{
	return &f->cells[ink_draw(id, i, f->m)];
}

/* ------------------------------------------------------------------------ making it */

uint32_t printed_k(double p)
{
	return (uint32_t)lround(-log2(p));
}

uint64_t printed_cells(double p, uint64_t keys)
{
	return (uint64_t)ceil(-(double)keys * log(p) / (log(2) * log(2)));
}

double printed_lost(double load, uint32_t k)
{
	double two = load * exp(-load), three = 1 - exp(-load) * (1 + load);

	return pow(three, k) + k * pow(three, k - 1) * two;
}

struct printed_kbf printed_make(const struct printed_codes *codes, uint32_t k, uint64_t m)
{
	return (struct printed_kbf){.codes = codes,
				    .cells = lab_alloc(m, sizeof(uint32_t)),
				    .m = m,
				    .k = k < MOST_K ? k : MOST_K};
}

/* -------------------------------------------------------------------------- reading */

/* The symbols that may be the key's: none, one or two. `count` 0 and not `narrowed`: nothing is known yet. */
struct candidates {
	uint32_t symbol[2];
	unsigned count;
	bool narrowed;
};

static bool is_one_of(const uint32_t pair[2], uint32_t symbol)
{
	return pair[0] == symbol || pair[1] == symbol;
}

static void narrow(struct candidates *c, const uint32_t pair[2])
{
	struct candidates left = {.narrowed = true};

	for (unsigned i = 0; i < 2; i++)
		if (!c->narrowed || (i < c->count && is_one_of(pair, c->symbol[i])))
			left.symbol[left.count++] = c->narrowed ? c->symbol[i] : pair[i];
	*c = left;
}

static int32_t answer(const struct candidates *c)
{
	if (c->narrowed && c->count == 0)
		return PRINTED_ABSENT;
	return c->count == 1 ? (int32_t)c->symbol[0] : PRINTED_NULL;
}

int32_t printed_query(const struct printed_kbf *f, uint64_t id)
{
	struct candidates c = {.count = 0};
	uint32_t cells[MOST_K], pair[2];

	for (uint32_t i = 0; i < f->k; i++) {
		cells[i] = *cell_of(f, id, i);
		if (counter_of(cells[i]) == 0)
			return PRINTED_ABSENT;
	}
	for (uint32_t i = 0; i < f->k; i++)
		if (counter_of(cells[i]) == 1)
			return ink_greedy_symbol(&f->codes->index, sum_of(cells[i]));
	for (uint32_t i = 0; i < f->k; i++)
		if (counter_of(cells[i]) == 2 && ink_greedy_pair(&f->codes->index, sum_of(cells[i]), pair))
			narrow(&c, pair);
	return answer(&c);
}

/* ------------------------------------------------------------------------- changing */

void printed_insert(struct printed_kbf *f, uint64_t id, uint32_t symbol)
{
	for (uint32_t i = 0; i < f->k; i++) {
		uint32_t *cell = cell_of(f, id, i), counter = counter_of(*cell);

		counter += !(f->sticks && counter == COUNTER_TOP);
		*cell = with_code(f, with_counter(*cell, counter), symbol);
	}
}

void printed_update(struct printed_kbf *f, uint64_t id, uint32_t from, uint32_t to)
{
	for (uint32_t i = 0; i < f->k; i++) {
		uint32_t *cell = cell_of(f, id, i);

		if (counter_of(*cell) > 0)
			*cell = with_code(f, with_code(f, *cell, from), to);
	}
}

unsigned printed_delete(struct printed_kbf *f, uint64_t id, uint32_t symbol)
{
	unsigned empty = 0;

	for (uint32_t i = 0; i < f->k; i++) {
		uint32_t *cell = cell_of(f, id, i), counter = counter_of(*cell);

		if (counter == 0) {
			empty++;
			continue;
		}
		counter -= !(f->sticks && counter == COUNTER_TOP);
		*cell = with_code(f, with_counter(*cell, counter), symbol);
	}
	return empty;
}
