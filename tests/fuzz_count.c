/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Fuzzes counting sets. The first byte of an input says what the others are:
 *
 *     0  a program, compared with a model (count_model.h)
 *     1  a file
 *     2  the same, with checksums that are right
 *     3  a real file, changed: the next byte chooses it, then come two bytes of offset and one of
 *        change for each byte that is changed; checksums are right
 *     4  the next eight bytes choose kind and geometry, the others begin the body; the items are
 *        what the counters sum up to, checksums are right
 *
 * A file must be refused with a reason, or make a set that is sound and stays
 * so in use. One whose checksums are trusted need not be sound, but can be used.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <inkling/count.h>

#include "count/set.h"
#include "tests/count_model.h"
#include "tests/image.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* As in docs/format.md. */
enum { AT_D = 20, AT_K = 36, AT_M = 40, AT_COUNTER_BITS = 48, AT_PLANNED = 56, AT_ITEMS = 112 };

/* -------------------------------------------------------------- making a file */

static void choose(const uint8_t *choice, struct ink_count_plan *p)
{
	struct ink_count_geometry *g = &p->geometry;

	p->kind = choice[0] % 2 ? INK_COUNT_DLEFT : INK_COUNT_STANDARD;
	p->items = 1;
	g->counter_bits = 2 + choice[1] % 15;
	if (p->kind == INK_COUNT_STANDARD) {
		g->k = 1 + choice[2] % 32;
		g->m = g->k + choice[3] + 16 * choice[4];
		return;
	}
	g->d = 1 + choice[2] % 8;
	g->b = 1 + choice[3] % 40;
	g->h = 1 + choice[4] % 16;
	g->f = 2 + choice[5] % 31;
}

/* What the counters say, so that the check gets beyond it. In a standard filter: those of segment 0. */
static uint64_t items_in(struct image *i, const struct ink_count_plan *p)
{
	struct ink_count c = {.plan = *p, .body = i->bytes + AT_BODY};
	uint64_t end, sum = 0;

	ink_count_attach(&c);
	end = p->kind == INK_COUNT_DLEFT ? c.cells : c.starts[1];
	for (uint64_t cell = 0; cell < end; cell++)
		sum += ink_count_get(&c, cell) & c.limit;
	return sum;
}

static void make_of_geometry(struct image *i, const uint8_t *data, size_t size)
{
	struct ink_count_plan p = {.size = sizeof p};
	uint8_t choice[8] = {0};
	size_t chosen = size < sizeof choice ? size : sizeof choice, left = size - chosen, used;

	memcpy(choice, data, chosen);
	choose(choice, &p);
	ink_count_expect(&p);
	image_resize(i, MOST_IMAGE);
	memset(i->bytes, 0, i->size);
	memcpy(i->bytes, "\x89INK\r\n\x1a\n\5\0\0\0\0\x10\0", 16);
	image_put(i, AT_KIND, 4, p.kind == INK_COUNT_DLEFT ? 16 : 17);
	memcpy(i->bytes + AT_D, &p.geometry, 16);
	image_put(i, AT_K, 4, p.geometry.k);
	image_put(i, AT_M, 8, p.geometry.m);
	image_put(i, AT_COUNTER_BITS, 4, p.geometry.counter_bits);
	image_put(i, AT_PLANNED, 8, 1);
	image_put(i, AT_BODY_LENGTH, 8, p.bytes - sizeof(struct ink_count));
	insist(AT_BODY + p.bytes - sizeof(struct ink_count) <= MOST_IMAGE);
	image_resize(i, AT_BODY + p.bytes - sizeof(struct ink_count));
	used = ink_count_cells(&p) * ink_count_cell_bits(&p) / 8;
	memcpy(i->bytes + AT_BODY, data + chosen, left < used ? left : used);
	image_put(i, AT_ITEMS, 8, items_in(i, &p));
}

/* --------------------------------------------------------------------- real files */

static const struct ink_count_options kinds[] = {
	{.kind = INK_COUNT_DLEFT, .items = 1, .geometry = {.d = 3, .b = 21, .h = 6, .f = 7}},
	{.kind = INK_COUNT_DLEFT,
	 .items = 1,
	 .geometry = {.d = 8, .b = 5, .h = 3, .f = 20, .counter_bits = 5}},
	{.kind = INK_COUNT_STANDARD, .items = 100},
	{.kind = INK_COUNT_STANDARD, .items = 1, .geometry = {.m = 500, .k = 3, .counter_bits = 2}},
};

enum { KINDS = sizeof kinds / sizeof kinds[0] };

static struct image saved[KINDS];

static void make_saved(unsigned kind)
{
	struct ink_buffer b = image_buffer(&saved[kind]);
	struct ink_count_options o = kinds[kind];
	struct ink_count *c;

	o.size = sizeof o;
	o.seed = 1;
	c = ink_count_create(&o, NULL);
	insist(c != NULL);
	for (uint64_t i = 0; i < 150; i++)
		ink_count_add(c, id_number(i));
	insist(ink_count_save_buffer(c, &b, NULL, NULL) == 0);
	image_resize(&saved[kind], b.used);
	ink_count_free(c);
}

static void prepare(void)
{
	for (unsigned kind = 0; kind < KINDS && !saved[kind].size; kind++)
		make_saved(kind);
}

/* ------------------------------------------------------------------ using the set */

static void use(struct ink_count *c, int sound)
{
	struct ink_count_stats stats = {.size = sizeof stats};

	for (uint64_t i = 0; i < 200; i++) {
		uint64_t id = id_number(i);
		uint32_t before = ink_count_count(c, id);

		if (ink_count_add(c, id) == 0)
			insist(!sound || ink_count_count(c, id) > before || before == c->limit);
		if (i % 3 == 0)
			ink_count_remove(c, id_number(i / 2));
	}
	ink_count_merge(c, c, NULL);
	ink_count_stats(c, &stats);
	insist(!sound || (stats.taken <= stats.cells && stats.stuck <= stats.taken && stats.error <= 1));
	insist(!sound || ink_count_check(c, NULL) == 0);
}

static void load_and_use(const struct image *i, enum ink_trust trust)
{
	const struct ink_load_options l = {.size = sizeof l, .trust = trust};
	struct ink_why why = {""};
	struct ink_count *c = ink_count_load_buffer(i->bytes, i->size, &l, &why);

	insist(c || why.text[0]);
	if (!c)
		return;
	insist(trust || ink_count_check(c, NULL) == 0);
	use(c, !trust);
	ink_count_free(c);
}

static void run_program(const uint8_t *data, size_t size)
{
	static struct count_program p;
	const char *wrong = count_program_run(&p, data, size);

	if (!wrong)
		return;
	fprintf(stderr, "after %u calls: %s\n", p.calls, wrong);
	abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct image i;
	unsigned way = size ? data[0] % 5 : 0;

	prepare();
	if (size < 2)
		return 0;
	if (way == 0) {
		run_program(data + 1, size - 1);
		return 0;
	}
	if (way < 3)
		image_of_bytes(&i, data + 1, size - 1);
	else if (way == 3)
		image_of_real(&i, &saved[data[1] % KINDS], data + 2, size - 2);
	else
		make_of_geometry(&i, data + 1, size - 1);
	if (way > 1)
		image_seal(&i);
	load_and_use(&i, INK_TRUST_NOTHING);
	load_and_use(&i, INK_TRUST_CHECKSUM);
	return 0;
}
