/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Fuzzes counting sets. The first byte of an input says what the others are:
 *
 *     0  a program, held against a model (count_model.h)
 *     1  a file
 *     2  the same, with checksums that are right
 *     3  a real file, changed: the next byte chooses it, then come two bytes of offset and one of
 *        change for each byte that is changed; checksums are right
 *     4  the next eight bytes choose kind and geometry, the others begin the body; the items are
 *        what the counters sum up to, checksums are right
 *
 * A file must be refused with a reason, or make a set that is sound and stays
 * so in use.
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <xxhash.h>

#include <inkling/count.h>

#include "count/set.h"
#include "count_model.h"
#include "memory.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* As in docs/format.md. */
enum {
	AT_KIND = 16,
	AT_D = 20,
	AT_K = 36,
	AT_M = 40,
	AT_COUNTER_BITS = 48,
	AT_PLANNED = 56,
	AT_ITEMS = 112,
	AT_BODY_LENGTH = 184,
	AT_BODY_SUM = 192,
	AT_HEADER_SUM = 4080,
	AT_BODY = 4096,
	MOST_BYTES = AT_BODY + (64 << 10)
};

struct image {
	uint8_t bytes[MOST_BYTES];
	size_t size;
};

static int file = -1; /* a memfd */
static char path[32];

static void insist(int condition)
{
	if (!condition)
		abort();
}

/* -------------------------------------------------------------- making a file */

static void put_sum(struct image *i, size_t at, size_t from, size_t to)
{
	XXH128_hash_t sum = XXH3_128bits(i->bytes + from, to - from);

	memcpy(i->bytes + at, &sum.low64, 8);
	memcpy(i->bytes + at + 8, &sum.high64, 8);
}

static void seal(struct image *i)
{
	if (i->size < AT_BODY)
		return;
	put_sum(i, AT_BODY_SUM, AT_BODY, i->size);
	put_sum(i, AT_HEADER_SUM, 0, AT_HEADER_SUM);
}

static void make_of_bytes(struct image *i, const uint8_t *data, size_t size)
{
	i->size = size < MOST_BYTES ? size : MOST_BYTES;
	memcpy(i->bytes, data, i->size);
}

static void put(struct image *i, size_t at, uint64_t value, size_t bytes)
{
	memcpy(i->bytes + at, &value, bytes);
}

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
		sum += cell_read(&c, cell) & c.limit;
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
	memset(i->bytes, 0, sizeof i->bytes);
	memcpy(i->bytes, "\x89INK\r\n\x1a\n\1\0\0\0\0\x10\0", 16);
	put(i, AT_KIND, p.kind == INK_COUNT_DLEFT ? 16 : 17, 4);
	memcpy(i->bytes + AT_D, &p.geometry, 16);
	put(i, AT_K, p.geometry.k, 4);
	put(i, AT_M, p.geometry.m, 8);
	put(i, AT_COUNTER_BITS, p.geometry.counter_bits, 4);
	put(i, AT_PLANNED, 1, 8);
	put(i, AT_BODY_LENGTH, p.bytes - sizeof(struct ink_count), 8);
	i->size = AT_BODY + p.bytes - sizeof(struct ink_count);
	insist(i->size <= MOST_BYTES);
	used = ink_count_cells(&p) * ink_count_cell_bits(&p) / 8;
	memcpy(i->bytes + AT_BODY, data + chosen, left < used ? left : used);
	put(i, AT_ITEMS, items_in(i, &p), 8);
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

enum { KINDS = sizeof kinds / sizeof kinds[0], MOST_SAVED = 3 * 4096 };

static uint8_t saved[KINDS][MOST_SAVED];
static size_t sizes[KINDS];

static void make_saved(unsigned kind)
{
	struct ink_count_options o = kinds[kind];
	char name[] = "/tmp/ink-fuzz-count-XXXXXX";
	struct ink_count *c;
	int fd = mkstemp(name);
	ssize_t n;

	o.size = sizeof o;
	o.seed = 1;
	c = ink_count_create(&o, NULL);
	insist(c && fd >= 0);
	for (uint64_t i = 0; i < 150; i++)
		ink_count_add(c, id_number(i));
	insist(ink_count_save(c, name, NULL) == 0);
	close(fd);
	ink_count_free(c);
	fd = open(name, O_RDONLY | O_CLOEXEC);
	n = read(fd, saved[kind], MOST_SAVED);
	insist(n > AT_BODY && n < MOST_SAVED);
	sizes[kind] = (size_t)n;
	close(fd);
	unlink(name);
}

static void make_of_saved(struct image *i, const uint8_t *data, size_t size)
{
	unsigned kind = size ? data[0] % KINDS : 0;

	i->size = sizes[kind];
	memcpy(i->bytes, saved[kind], i->size);
	for (size_t k = 1; k + 3 <= size; k += 3)
		i->bytes[(data[k] | (size_t)data[k + 1] << 8) % i->size] ^= data[k + 2];
}

static void prepare(void)
{
	if (file >= 0)
		return;
	file = memfd_create("set", MFD_CLOEXEC);
	insist(file >= 0);
	snprintf(path, sizeof path, "/proc/self/fd/%d", file);
	for (unsigned kind = 0; kind < KINDS; kind++)
		make_saved(kind);
}

/* ------------------------------------------------------------------ using the set */

static void use(struct ink_count *c)
{
	struct ink_count_stats stats = {.size = sizeof stats};

	for (uint64_t i = 0; i < 200; i++) {
		uint64_t id = id_number(i);
		uint32_t before = ink_count_count(c, id);

		if (ink_count_add(c, id) == 0)
			insist(ink_count_count(c, id) > before || before == c->limit);
		if (i % 3 == 0)
			ink_count_remove(c, id_number(i / 2));
	}
	ink_count_merge(c, c, NULL);
	ink_count_stats(c, &stats);
	insist(stats.taken <= stats.cells && stats.stuck <= stats.taken && stats.error <= 1);
	insist(ink_count_check(c, NULL) == 0);
}

static void load_and_use(enum ink_load how)
{
	struct ink_why why = {""};
	struct ink_count *c = ink_count_load(path, how, &why);

	insist(c || why.text[0]);
	if (!c)
		return;
	insist(ink_count_check(c, NULL) == 0);
	use(c);
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
		make_of_bytes(&i, data + 1, size - 1);
	else if (way == 3)
		make_of_saved(&i, data + 1, size - 1);
	else
		make_of_geometry(&i, data + 1, size - 1);
	if (way > 1)
		seal(&i);
	insist(ftruncate(file, 0) == 0);
	insist(pwrite(file, i.bytes, i.size, 0) == (ssize_t)i.size);
	load_and_use(INK_LOAD_READ);
	load_and_use(INK_LOAD_MAP);
	return 0;
}
