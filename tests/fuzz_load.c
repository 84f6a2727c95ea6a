/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Whatever bytes a file has, ink_load refuses it or makes a sound table of it, and
 * ink_load_set makes sound tables.
 *
 * The first byte of an input says how a file is made of the others, so that
 * the fuzzer gets past the checksums, which it could never guess:
 *
 *     0  the bytes are the file
 *     1  the same, with checksums that are right
 *     2  the next twelve bytes choose a kind and a geometry that there is, the others begin the body
 *     3  a real snapshot, changed: the next byte chooses it, then come two bytes of offset and one of
 *        change for each byte that is changed; checksums are right
 *     4  a real set of three tables, changed in the same way; checksums of the directory, of the
 *        tables as the directory then has them, and of the header are right
 *     5  the same, with the header's checksum alone
 *
 * The file is loaded in both ways. The resulting table must be sound, survive some
 * hundred operations, and be sound after them. Then it is loaded with nothing but
 * its checksum trusted: no operation on it may leave its memory.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <inkling/inkling.h>

#include "base/file.h"
#include "tests/image.h"
#include "tests/kind.h"
#include "base/pages.h"
#include "tests/random.h"
#include "tests/scratch.h"
#include "kinds/compact/compact.h"
#include "kinds/line/line.h"
#include "table/side.h"
#include "table/table.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* As in docs/format.md. */
enum {
	AT_STATES = 20,
	AT_GEOMETRY = 44,
	AT_FLOWS = 72,
	AT_MORE_GEOMETRY = 212, /* from k on */
	AT_SIDE_ID = 240,       /* but for this */
	AT_PART = 500,
	AT_CELLS_LENGTH = 176
};

/* -------------------------------------------------------------- making a file */

/* The lengths that the geometry asks for; all that is made here fits. */
static void put_lengths(struct image *i, const struct ink_plan *p, enum ink_full full)
{
	uint64_t cells = ink_cells_bytes(p, full);
	uint64_t body = ink_body_round(cells + ink_side_bytes(ink_side_form(p)));

	insist(body <= MOST_IMAGE - AT_BODY);
	image_put(i, AT_CELLS_LENGTH, 8, cells);
	image_put(i, AT_BODY_LENGTH, 8, body);
	image_resize(i, AT_BODY + body);
}

static uint32_t least_of(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

/* The counter bits come with the choice of the kind, since the state bits depend on them. */
static struct ink_geometry choose_filter(const uint8_t *choice, uint32_t kind, uint32_t bits)
{
	uint32_t in_line = 512 / bits;
	struct ink_geometry g = {.k = 1 + choice[0] % 12};

	g.m = 2 * g.k + choice[1] + 16 * choice[2];
	if (!kind_takes(kind, INK_GEOMETRY_THRESHOLD)) {
		g.bloom_flags = choice[4] % 2 ? INK_BLOOM_DECREMENT : 0;
		return g;
	}
	g.threshold = 1 + choice[3] % g.k;
	if (choice[4] % 2 && in_line >= 2 * g.k) {
		g.bloom_flags = INK_BLOOM_BLOCKED;
		g.m = in_line * (1 + choice[1]);
	}
	return g;
}

/* As docs/format.md allows it, for codes of that many bits. */
static struct ink_geometry choose_geometry(const uint8_t *choice, uint32_t kind, uint32_t code)
{
	struct ink_geometry g = {.d = 2, .b = 1 + choice[0] % 64, .side = choice[1] % 128};

	if (kind_takes(kind, INK_GEOMETRY_K))
		return choose_filter(choice, kind, code);
	if (kind_takes(kind, INK_GEOMETRY_SIDE_ID) && choice[5] % 2)
		g.side_id = INK_SIDE_LEAST_ID + choice[5] / 2 % (INK_SIDE_MOST_ID - INK_SIDE_LEAST_ID + 1);

	if (kind_can(kind, INK_CAN_BE_EXACT)) {
		g = (struct ink_geometry){.d = 1, .b = 256u << choice[2] % 3, .h = 1, .f = 64};
	} else if (kind_takes(kind, INK_GEOMETRY_Q)) {
		g.f = 4 + choice[2] % 21;
		g.h = 4 +
		      choice[3] % (least_of(COMPACT_MAX_SLOTS, (COMPACT_BITS - 1) / (g.f + code + 1)) - 3);
		g.q = 1 + choice[4] % (least_of(COMPACT_META_BITS, COMPACT_BITS - g.h * (g.f + code)) - g.h);
	} else if (kind_takes(kind, INK_GEOMETRY_DLEFT_FLAGS)) {
		g.d = 1 + choice[2] % 8;
		g.h = 1 + choice[3] % 16;
		g.f = 2 + choice[4] % 31;
		g.dleft_flags = choice[5] % 8;
	} else {
		g.h = 16 + 8 * (choice[2] % 3);
		g.f = ink_line_entry_bits(g.h / INK_LINE_WORDS) - code;
	}
	return g;
}

static uint32_t state_bits_of(uint32_t kind, uint32_t states, uint32_t counter_bits)
{
	const struct ink_kind_def *k = ink_kind_find(kind);

	return k->state_bits ? k->state_bits(states, counter_bits) : ink_coding(states, 0).state_bits;
}

/* Of `line`; 0 in other kinds, and for whole lines. */
static uint32_t choose_part(const uint8_t *choice, const struct ink_header_ranges *ranges)
{
	return ranges->part.most && choice[2] / 3 % 4 ? 4u << choice[2] / 3 % 4 : 0;
}

enum { CHOICES = 12 };

static void make_of_choices(struct image *i, const uint8_t *choice, const uint8_t *body, size_t size)
{
	uint32_t kind = 1 + choice[0] % 6, states = 1 + choice[1] % 255, ages = choice[2] % 3;
	const struct ink_header_ranges *ranges = &ink_kind_find(kind)->ranges;
	uint32_t writers = ranges->writers.most > 1 ? 1 + choice[3] % 2 : 1,
		 full = 1 + choice[4] % ranges->full.most;
	uint32_t counter_bits =
		!ranges->counter_bits.most || (ages && choice[3] < 64) ? 0 : 2 + choice[3] % 7;
	uint32_t state_bits = state_bits_of(kind, states, counter_bits);
	uint32_t plain = !counter_bits && ranges->k.most && !ranges->threshold.most;
	struct ink_plan p = {
		.kind = (enum ink_kind)kind,
		.state_bits = state_bits,
		.age_bits = ages,
		.geometry = choose_geometry(choice + 6, kind, state_bits + ages + counter_bits + plain),
		.part = choose_part(choice + 6, ranges)};
	uint32_t version = p.part ? INK_FILE_BODIES : INK_FILE_VERSION;
	const uint32_t begin[] = {version, AT_BODY, kind,          states,    ages,
				  writers, full,    choice[5] % 2, state_bits};

	image_resize(i, MOST_IMAGE);
	memset(i->bytes, 0, i->size);
	memcpy(i->bytes, "\x89INK\r\n\x1a\n", 8);
	memcpy(i->bytes + 8, begin, sizeof begin);
	p.geometry.counter_bits = counter_bits;
	memcpy(i->bytes + AT_GEOMETRY, &p.geometry, offsetof(struct ink_geometry, k));
	memcpy(i->bytes + AT_MORE_GEOMETRY, &p.geometry.k,
	       offsetof(struct ink_geometry, side_id) - offsetof(struct ink_geometry, k));
	memcpy(i->bytes + AT_SIDE_ID, &p.geometry.side_id, sizeof p.geometry.side_id);
	memcpy(i->bytes + AT_PART, &p.part, sizeof p.part);
	i->bytes[AT_FLOWS] = 1;
	put_lengths(i, &p, (enum ink_full)full);
	memcpy(i->bytes + AT_BODY, body, size < i->size - AT_BODY ? size : i->size - AT_BODY);
}

static void make_of_geometry(struct image *i, const uint8_t *data, size_t size)
{
	uint8_t choices[CHOICES] = {0};
	size_t chosen = size < CHOICES ? size : CHOICES;

	memcpy(choices, data, chosen);
	make_of_choices(i, choices, data + chosen, size - chosen);
}

/* ---------------------------------------------------------------- real snapshots */

/* clang-format off */
static const struct ink_options kinds[] = {
	{.kind = INK_LINE, .states = 10, .age_bits = 1, .geometry = {.b = 5, .h = 32, .side = 20}},
	{.kind = INK_LINE, .states = 15, .age_bits = 1, .full = INK_REPLACE, .geometry = {.b = 3, .h = 24, .side = 9}},
	{.kind = INK_LINE, .states = 200, .age_bits = 2, .writers = 3, .geometry = {.b = 2, .h = 16, .side = 5}},
	{.kind = INK_LINE, .states = 15, .age_bits = 1, .geometry = {.b = 3, .h = 24, .side = 9}, .part = 8},
	{.kind = INK_COMPACT, .states = 15, .age_bits = 1, .geometry = {.b = 3, .h = 32, .f = 8, .side = 20}},
	{.kind = INK_COMPACT, .states = 15, .age_bits = 1, .geometry = {.b = 3, .h = 32, .f = 8, .side = 20, .side_id = 16}},
	{.kind = INK_COMPACT, .states = 5, .full = INK_REPLACE, .geometry = {.b = 3, .h = 20, .f = 16, .side = 9}},
	{.kind = INK_COMPACT, .states = 10, .age_bits = 2, .geometry = {.b = 2, .h = 28, .f = 7, .side = INK_NO_SIDE}},
	{.kind = INK_DLEFT, .states = 10, .age_bits = 1, .geometry = {.d = 3, .b = 5, .h = 6, .f = 7, .side = 12}},
	{.kind = INK_DLEFT, .states = 3, .full = INK_REPLACE, .geometry = {.d = 2, .b = 5, .h = 4, .f = 5, .dleft_flags = 3}},
	{.kind = INK_EXACT, .states = 10, .age_bits = 1, .flows = 100},
	{.kind = INK_STATEFUL, .states = 10, .flows = 100, .geometry = {.k = 3, .m = 500, .threshold = 2}},
	{.kind = INK_STATEFUL, .states = 255, .age_bits = 2, .flows = 100, .geometry = {.k = 3, .m = 500}},
	{.kind = INK_STATEFUL, .states = 10, .flows = 100, .geometry = {.k = 3, .m = 500, .bloom_flags = INK_BLOOM_BLOCKED}},
	{.kind = INK_DIRECT, .states = 10, .age_bits = 1, .flows = 100, .geometry = {.k = 4, .m = 1000}},
	{.kind = INK_DIRECT, .states = 3, .age_bits = 1, .flows = 100,
	 .geometry = {.k = 4, .m = 1000, .counter_bits = INK_NO_COUNTERS}},
};
/* clang-format on */

enum { KINDS = sizeof kinds / sizeof kinds[0] };

static struct image snapshots[KINDS];

/* A table with some of everything in it. It cannot be saved to a memfd, since a save makes a new file. */
static void make_snapshot(unsigned kind)
{
	struct ink_options o = kinds[kind];
	struct ink_table *t;

	o.size = sizeof o;
	o.seed = 1;
	t = ink_create(&o, NULL);
	insist(t != NULL);
	for (uint64_t i = 0; i < 150; i++)
		ink_insert(t, id_number(i), (unsigned)i % o.states);
	for (uint64_t i = 0; i < 150; i += 4)
		ink_delete(t, id_number(i));
	insist(ink_save(t, scratch_file, NULL) == 0 && image_read(&snapshots[kind], scratch_file));
	ink_free(t);
}

/* ------------------------------------------------------------------ a real set */

enum { TABLES = 3, ENTRY = 128, ENTRY_BYTES = 64, ENTRY_SUM = 80 };

static struct image real_set;

static void make_set(void)
{
	static const unsigned chosen[TABLES] = {1, 6, 8};
	struct ink_set_entry entries[TABLES] = {{"scan", NULL}, {"scan/slow", NULL}, {"sources", NULL}};
	struct ink_table *tables[TABLES];
	struct ink_buffer b = image_buffer(&real_set);

	for (unsigned i = 0; i < TABLES; i++) {
		const struct image *s = &snapshots[chosen[i]];

		tables[i] = ink_load_buffer(s->bytes, s->size, NULL, NULL);
		insist(tables[i] != NULL);
		entries[i].table = tables[i];
	}
	insist(ink_save_set_buffer(&(struct ink_table_set){entries, TABLES}, &b, NULL, NULL) == 0);
	image_resize(&real_set, b.used);
	for (unsigned i = 0; i < TABLES; i++)
		ink_free(tables[i]);
}

/* A table in the file, as far as its bytes are there, and the directory's copy of its sum. */
static void seal_table(struct image *i, size_t entry, uint64_t at, uint64_t bytes)
{
	if (at > i->size || bytes > i->size - at || bytes < AT_BODY)
		return;
	image_put_sum(i, at + AT_BODY_SUM, at + AT_BODY, at + bytes);
	image_put_sum(i, at + AT_HEADER_SUM, at, at + AT_HEADER_SUM);
	memcpy(i->bytes + entry + ENTRY_SUM, i->bytes + at + AT_HEADER_SUM, 16);
}

static void seal_set(struct image *i)
{
	uint64_t directory = image_get64(i, AT_BODY_LENGTH), at = AT_BODY + directory;

	if (directory <= i->size - AT_BODY) {
		for (size_t k = 0; k < TABLES && (k + 1) * ENTRY <= directory; k++) {
			uint64_t bytes = image_get64(i, AT_BODY + k * ENTRY + ENTRY_BYTES);

			seal_table(i, AT_BODY + k * ENTRY, at, bytes);
			at += bytes;
		}
		image_put_sum(i, AT_BODY_SUM, AT_BODY, AT_BODY + directory);
	}
	image_put_sum(i, AT_HEADER_SUM, 0, AT_HEADER_SUM);
}

static void prepare(void)
{
	if (snapshots[0].size)
		return;
	insist(scratch_make(NULL) == 0);
	for (unsigned kind = 0; kind < KINDS; kind++)
		make_snapshot(kind);
	insist(scratch_remove(NULL) == 0);
	make_set();
}

/* ----------------------------------------------------------------- using the table */

enum { EVENTS = 3, FLOWS = 200 };

/* All expendable, so that a full table drops entries; event 0 leads on, 1 ends, 2 begins. */
static void give_rules(struct ink_table *t, unsigned states)
{
	struct ink_row rows[(INK_MAX_STATES + 2) * EVENTS];
	struct ink_timing timings[INK_MAX_STATES + 1];
	const uint8_t starts[EVENTS] = {0, 0, 1};
	struct ink_rules rules = {.size = sizeof rules,
				  .states = states,
				  .events = EVENTS,
				  .rows = rows,
				  .starts = starts,
				  .timings = timings};

	for (unsigned s = 0; s < states + 2; s++) {
		rows[s * EVENTS] =
			(struct ink_row){(int16_t)(s < states ? (int)((s + 1) % states) : INK_NO_ROW), 0};
		rows[s * EVENTS + 1] = (struct ink_row){s < states ? INK_ABSENT : INK_NO_ROW, 0};
		rows[s * EVENTS + 2] = (struct ink_row){s == states ? 0 : INK_NO_ROW, 0};
	}
	for (unsigned s = 0; s <= states; s++)
		timings[s] =
			(struct ink_timing){.period = kind_can(t->plan.kind, INK_CAN_DIFFER) ? 1 + s % 3 : 2,
					    .timeout = INK_ABSENT,
					    .expendable = 1};
	insist(ink_set_rules(t, &rules, NULL) == 0);
}

static void use(struct ink_table *t, unsigned states)
{
	struct ink_stats stats = {.size = sizeof stats};
	struct ink_counts counts;
	struct ink_move move;

	for (uint64_t i = 0; i < FLOWS; i++) {
		uint64_t id = id_number(i);

		ink_peek(t, id);
		ink_lookup(t, id);
		ink_step(t, id, (unsigned)i % EVENTS, &move);
		if (i % 3 == 0)
			ink_insert(t, id, (unsigned)i % states);
		else if (i % 3 == 1)
			ink_set(t, id, (unsigned)i % states);
		else
			ink_delete(t, id);
		ink_modify(t, id_number(i / 2), (unsigned)i % states);
	}
	ink_census(t, &counts);
	ink_stats(t, &stats);
	ink_tick_portion(t, stats.now + 1, 20, NULL);
	ink_insert(t, id_number(FLOWS), 0);
	ink_tick(t, ink_now(t) + 3, NULL);
}

static void load_and_use(const struct image *i, enum ink_load how)
{
	struct ink_why why = {""};
	struct ink_table *t = ink_load(image_path(), how, &why);

	insist(t || why.text[0]);
	if (!t)
		return;
	insist(ink_check(t, NULL) == 0);
	if (how == INK_LOAD_MAP)
		give_rules(t, image_get32(i, AT_STATES));
	use(t, image_get32(i, AT_STATES));
	insist(ink_check(t, NULL) == 0);
	ink_free(t);
}

/* Only the checksum is trusted: answers may be wrong, but the sanitizers must find nothing. */
static void trust_and_use(const struct image *i)
{
	const struct ink_load_options o = {.size = sizeof o, .trust = INK_TRUST_CHECKSUM};
	struct ink_table *t = ink_load_buffer(i->bytes, i->size, &o, NULL), *copy;

	if (!t)
		return;
	give_rules(t, image_get32(i, AT_STATES));
	use(t, image_get32(i, AT_STATES));
	copy = ink_copy(t, NULL, NULL);
	insist(copy != NULL);
	use(copy, image_get32(i, AT_STATES));
	ink_free(copy);
	ink_free(t);
}

/* Every table of a set that was loaded, with the number of states that its snapshot says. */
static void use_set(struct ink_loaded_set *set, int is_sound)
{
	for (size_t k = 0; k < ink_loaded_set_count(set); k++) {
		struct ink_table *t = ink_loaded_set_take(set, ink_loaded_set_name(set, k));

		insist(t != NULL);
		insist(!is_sound || ink_check(t, NULL) == 0);
		give_rules(t, t->states);
		use(t, t->states);
		insist(!is_sound || ink_check(t, NULL) == 0);
		ink_free(t);
	}
	ink_loaded_set_free(set);
}

/* In every way, within a limit that a forged length must not pass. */
static void load_set_and_use(const struct image *i)
{
	const struct ink_load_options ways[] = {
		{.size = sizeof ways[0], .bytes = 1 << 22},
		{.size = sizeof ways[0], .bytes = 1 << 22, .how = INK_LOAD_MAP},
		{.size = sizeof ways[0], .bytes = 1 << 22, .trust = INK_TRUST_CHECKSUM}};

	for (unsigned k = 0; k < sizeof ways / sizeof ways[0]; k++) {
		struct ink_why why = {""};
		struct ink_loaded_set *set = k == 1 ? ink_load_set(image_path(), &ways[k], &why)
						    : ink_load_set_buffer(i->bytes, i->size, &ways[k], &why);

		insist(set || why.text[0]);
		if (set)
			use_set(set, k != 2);
	}
}

static void make_and_load_set(struct image *i, unsigned way, const uint8_t *data, size_t size)
{
	image_of_real(i, &real_set, data, size);
	if (way == 4)
		seal_set(i);
	else
		image_put_sum(i, AT_HEADER_SUM, 0, AT_HEADER_SUM);
	insist(image_write(i, image_path()));
	load_set_and_use(i);
}

static void make_and_load_table(struct image *i, unsigned way, const uint8_t *data, size_t size)
{
	if (way < 2)
		image_of_bytes(i, data, size);
	else if (way == 2)
		make_of_geometry(i, data, size);
	else
		image_of_real(i, &snapshots[data[0] % KINDS], data + 1, size - 1);
	if (way > 0)
		image_seal(i);
	insist(image_write(i, image_path()));
	load_and_use(i, INK_LOAD_READ);
	load_and_use(i, INK_LOAD_MAP);
	trust_and_use(i);
	if (way < 2)
		load_set_and_use(i);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct image i;
	unsigned way = size ? data[0] % 6 : 0;

	prepare();
	if (size < 2)
		return 0;
	if (way < 4)
		make_and_load_table(&i, way, data + 1, size - 1);
	else
		make_and_load_set(&i, way, data + 1, size - 1);
	return 0;
}
