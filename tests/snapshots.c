/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * snapshots FOLDER: the same work with every kind of structure, saved as files.
 *
 * For scripts/compare-builds, which links it with two builds of the library and
 * compares the folders. It uses public calls alone, those of 286b705, and every
 * seed is fixed. Tables are filled beyond their plan, changed one by one and in
 * batches, stepped and ticked; then counting sets and key-value Bloom filters.
 * Standard output has one line for each: a hash of all answers, or the error of
 * one that cannot be.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <inkling/count.h>
#include <inkling/inkling.h>
#include <inkling/kbf.h>

#include "tests/verbs.h"

enum {
	FLOWS = 3000,
	FAR_FLOWS = 2000000,
	STATES = 9,
	EVENTS = 4,
	IN_A_BATCH = 37,
	ROUNDS = 400,
	KEYS = 2000
};

static const char *folder;

/* ------------------------------------------------------------- chance and sums */

static uint64_t chance;

static uint64_t mixed(uint64_t x)
{
	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
	x = (x ^ x >> 27) * 0x94d049bb133111ebull;
	return x ^ x >> 31;
}

static uint64_t below(uint64_t end)
{
	chance += 0x9e3779b97f4a7c15ull;
	return mixed(chance) % end;
}

static uint64_t answers;

static void hear(int64_t answer)
{
	answers = mixed(answers * 31 + (uint64_t)answer + 1);
}

static void begin(void)
{
	chance = 17;
	answers = 0;
}

/* The path of a file in the folder; valid until the next call. */
static const char *path_of(const char *name)
{
	static char path[4096];

	snprintf(path, sizeof path, "%s/%s", folder, name);
	return path;
}

static void expect(int error, const char *name, const struct ink_why *why)
{
	if (!error)
		return;
	fprintf(stderr, "snapshots: %s: %s\n", name, why->text);
	exit(1);
}

static void report(const char *name)
{
	printf("%-40s %016" PRIx64 "\n", name, answers);
}

/* ------------------------------------------------------------------- the tables */

static uint64_t flows; /* that the table is planned for */

static uint64_t any_flow(void)
{
	return mixed(below(2 * flows));
}

static void hear_result(const struct result *r)
{
	hear(r->error);
	hear(r->answer);
	hear(r->move.to);
	hear(r->move.action);
}

static void one_by_one(struct ink_table *t)
{
	for (unsigned i = 0; i < ROUNDS; i++)
		for (enum verb verb = 0; verb < ALL_VERBS; verb++) {
			struct call c = {verb, 0, (unsigned)below(STATES), (unsigned)below(EVENTS)};
			struct result r = perform(t, any_flow(), &c);

			hear_result(&r);
		}
}

static void in_batches(struct ink_table *t)
{
	for (unsigned i = 0; i < ROUNDS / 2; i++) {
		struct arrays x = {.errors = {0}};
		struct ink_batch b = batch_of(&x, IN_A_BATCH);

		for (unsigned k = 0; k < b.n; k++) {
			x.ids[k] = any_flow();
			x.states[k] = (uint8_t)below(STATES);
			x.events[k] = (uint16_t)below(EVENTS);
		}
		hear(perform_batch(t, i % VERBS, &b));
		for (unsigned k = 0; k < b.n; k++) {
			struct result r = item_of(&x, k);

			hear_result(&r);
		}
	}
}

/* Half of the ticks go in portions, with changes between them. */
static void tick(struct ink_table *t, uint64_t now)
{
	struct ink_counts expired;

	if (now % 2) {
		hear(ink_tick(t, now, &expired));
		hear((int64_t)expired.total);
		return;
	}
	while (ink_tick_portion(t, now, 500, &expired) == 1) {
		hear((int64_t)expired.total);
		hear(ink_insert(t, any_flow(), (unsigned)below(STATES)));
	}
}

static void work(struct ink_table *t)
{
	for (uint64_t i = 0; i < flows + flows / 4; i++)
		hear(ink_insert(t, mixed(i), (unsigned)below(STATES)));
	for (uint64_t now = 1; now <= 6; now++) {
		one_by_one(t);
		in_batches(t);
		tick(t, now);
	}
}

/* A ring of states with a start event; every other state is expendable, and periods differ. */
static const struct ink_rules *rules(void)
{
	static struct ink_row rows[(STATES + 2) * EVENTS];
	static struct ink_timing timings[STATES + 1];
	static const uint8_t starts[EVENTS] = {1};
	static struct ink_rules r = {.size = sizeof r,
				     .states = STATES,
				     .events = EVENTS,
				     .rows = rows,
				     .starts = starts,
				     .timings = timings};

	for (unsigned s = 0; s < STATES + 2; s++)
		for (unsigned e = 0; e < EVENTS; e++)
			rows[s * EVENTS + e] =
				(struct ink_row){(int16_t)((s + e) % STATES), (uint16_t)(s * EVENTS + e)};
	rows[2 * EVENTS + 3].next = INK_ABSENT;
	rows[5 * EVENTS + 2].next = INK_NO_ROW;
	for (unsigned s = 0; s <= STATES; s++)
		timings[s] = (struct ink_timing){s % 3 + 1, s == 4 ? 5 : INK_ABSENT, s % 2};
	return &r;
}

static void save_table(struct ink_options o, const char *name)
{
	struct ink_why why = {""};
	struct ink_table *t;

	begin();
	o.size = sizeof o;
	o.states = STATES;
	o.seed = 7;
	flows = o.flows;
	t = ink_create(&o, &why);
	if (!t) {
		printf("%-40s error %d\n", name, errno);
		return;
	}
	work(t);
	expect(ink_save(t, path_of(name), &why), name, &why);
	report(name);
	ink_free(t);
}

/* Each policy, number of age bits and instruction set. */
static void save_tables_of(enum ink_kind kind, unsigned writers, int with_rules)
{
	for (int i = 0; i < 3 * 3 * 2; i++) {
		struct ink_options o = {.kind = kind, .flows = FLOWS, .writers = writers};
		char name[80];

		o.full = (enum ink_full)(INK_UNSURE + i / 6);
		o.age_bits = (unsigned)(i / 2 % 3);
		o.simd = (enum ink_simd)(INK_SIMD_NONE + i % 2);
		o.rules = with_rules ? rules() : NULL;
		snprintf(name, sizeof name, "table-%d-full%d-age%u-simd%d-writers%u%s", kind, o.full,
			 o.age_bits, o.simd, writers, with_rules ? "-rules" : "");
		save_table(o, name);
	}
}

/* Larger than the second cache: batches prefetch in another way there. */
static void save_far_tables_of(enum ink_kind kind)
{
	for (int simd = INK_SIMD_NONE; simd <= INK_SIMD_AVX2; simd++) {
		struct ink_options o = {.kind = kind, .flows = FAR_FLOWS, .age_bits = 1};
		char name[40];

		o.simd = (enum ink_simd)simd;
		o.rules = rules();
		snprintf(name, sizeof name, "table-%d-far-simd%d", kind, simd);
		save_table(o, name);
	}
}

/* ----------------------------------------------------------- sets and filters */

static void save_count(enum ink_count_kind kind)
{
	struct ink_count_options o = {.size = sizeof o, .kind = kind, .items = FLOWS, .seed = 7};
	struct ink_why why = {""};
	struct ink_count *c = ink_count_create(&o, &why);
	char name[40];

	begin();
	snprintf(name, sizeof name, "count-%d", kind);
	expect(!c, name, &why);
	for (unsigned i = 0; i < 4 * FLOWS; i++) {
		uint64_t id = mixed(below(FLOWS));

		hear(below(3) ? ink_count_add(c, id) : ink_count_remove(c, id));
		hear(ink_count_count(c, mixed(below(FLOWS))));
	}
	expect(ink_count_save(c, path_of(name), &why), name, &why);
	report(name);
	ink_count_free(c);
}

static void change_key(struct ink_kbf *f)
{
	uint64_t key = below(KEYS), value = below(100);
	struct ink_bytes k = {&key, sizeof key}, v = {&value, sizeof value};
	uint64_t what = below(4);

	hear(what == 0   ? ink_kbf_update(f, k, v)
	     : what == 1 ? ink_kbf_delete(f, k)
			 : ink_kbf_insert(f, k, v));
}

static void save_kbf(enum ink_kbf_encoding encoding)
{
	struct ink_kbf_dict_options d = {.size = sizeof d, .encoding = encoding, .values = 200, .seed = 7};
	struct ink_kbf_options o = {.size = sizeof o, .keys = KEYS};
	struct ink_why why = {""};
	struct ink_kbf *f;
	char name[40];

	begin();
	snprintf(name, sizeof name, "kbf-%d", encoding);
	o.dict = ink_kbf_dict_create(&d, &why);
	expect(!o.dict, name, &why);
	f = ink_kbf_create(&o, &why);
	expect(!f, name, &why);
	for (unsigned i = 0; i < 4 * KEYS; i++)
		change_key(f);
	expect(ink_kbf_save(f, path_of(name), &why), name, &why);
	strcat(name, "-dict");
	expect(ink_kbf_dict_save(o.dict, path_of(name), &why), name, &why);
	report(name);
	ink_kbf_free(f);
	ink_kbf_dict_free(o.dict);
}

int main(int argc, char **argv)
{
	if (argc != 2)
		return fputs("usage: snapshots FOLDER\n", stderr), 2;
	folder = argv[1];
	for (int kind = INK_LINE; kind <= INK_KBF; kind++)
		for (int with_rules = 0; with_rules <= 1; with_rules++)
			save_tables_of((enum ink_kind)kind, 1, with_rules);
	save_tables_of(INK_LINE, 4, 1);
	save_far_tables_of(INK_LINE);
	save_far_tables_of(INK_COMPACT);
	save_count(INK_COUNT_DLEFT);
	save_count(INK_COUNT_STANDARD);
	for (int encoding = INK_KBF_POWER_SUMS; encoding <= INK_KBF_GREEDY; encoding++)
		save_kbf((enum ink_kbf_encoding)encoding);
	return 0;
}
