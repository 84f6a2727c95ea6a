/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Other interpretations of Table 1: each choice that the paper leaves open, one at a time, on the three rows of
 * each structure. No interpretation fits all nine rows.
 *
 *     DBF   what happens to a counter at its maximum, and to a flow at its end
 *     SBF   k, which the paper prints for the first two rows only
 *     FCF   whether a new flow whose fingerprint is present is stored a second time, and whether a change of
 *           state moves the entry; and the printed fingerprint of row 2, 10 bits, in place of the 18 that its
 *           memory requires
 */
#include <stdio.h>
#include <stdlib.h>

#include "lab/table1.h"

enum { PART = 0x7410, ROWS = 3, READINGS = 2, VARIANTS_MOST = 8, FAMILIES = 3 };

struct variant {
	const char *name;
	struct ink_geometry geometry; /* what is added to the row's; k replaces it */
	enum farewell farewell;
	uint32_t fingerprint; /* of row 2 */
};

static const struct variant dbf[] = {
	{.name = "stick, given"},
	{.name = "stick, asked", .farewell = FAREWELL_ASKED},
	{.name = "stick, complete", .farewell = FAREWELL_COMPLETE},
	{.name = "down, given", .geometry = {.bloom_flags = INK_BLOOM_DECREMENT}},
	{.name = "down, asked", .geometry = {.bloom_flags = INK_BLOOM_DECREMENT}, .farewell = FAREWELL_ASKED},
	{.name = "down, complete",
	 .geometry = {.bloom_flags = INK_BLOOM_DECREMENT},
	 .farewell = FAREWELL_COMPLETE},
};

static const struct variant sbf[] = {
	{.name = "k = 2", .geometry = {.k = 2}}, {.name = "k = 3", .geometry = {.k = 3}},
	{.name = "k = 4", .geometry = {.k = 4}}, {.name = "k = 5", .geometry = {.k = 5}},
	{.name = "k = 6", .geometry = {.k = 6}},
};

static const struct variant fcf[] = {
	{.name = "marked, in place"},
	{.name = "marked, moved", .geometry = {.dleft_flags = INK_DLEFT_REINSERT}},
	{.name = "copied, in place", .geometry = {.dleft_flags = INK_DLEFT_COPY}},
	{.name = "copied, moved", .geometry = {.dleft_flags = INK_DLEFT_COPY | INK_DLEFT_REINSERT}},
	{.name = "f = 10 in row 2", .geometry = {.dleft_flags = INK_DLEFT_COPY}, .fingerprint = 10},
};

static const struct family {
	const char *id, *title;
	const struct variant *variants;
	size_t count;
	struct page_column columns[2];
	simple_number *shares[2];
} families[FAMILIES] = {
	{"dbf",
	 "DBF: counters at their maximum stick or count down; a flow that ends is deleted in its given state, "
	 "in the state it is found in, or only if it is complete",
	 dbf,
	 sizeof dbf / sizeof *dbf,
	 {{"FP", "%", 3}, {"FN", "%", 3}},
	 {simple_false_positives, simple_false_negatives}},
	{"sbf",
	 "SBF: other numbers of hash functions",
	 sbf,
	 sizeof sbf / sizeof *sbf,
	 {{"FN", "%", 3}, {"DK", "%", 3}},
	 {simple_false_negatives, simple_dont_knows}},
	{"fcf",
	 "FCF: a new flow whose fingerprint is present is marked don't-know or copied; a change of state moves "
	 "the entry or not",
	 fcf,
	 sizeof fcf / sizeof *fcf,
	 {{"FN", "%", 3}, {"DK", "%", 3}},
	 {simple_false_negatives, simple_dont_knows}},
};

/* --------------------------------------------------------------------- the runs */

struct sweep {
	struct simple_result results[FAMILIES][READINGS][VARIANTS_MOST][ROWS];
};

static struct simple_table table_of(const struct variant *v, size_t row)
{
	struct simple_table t = table1_rows[row].table;

	t.as_given = true;
	t.farewell = v->farewell;
	t.geometry.bloom_flags = v->geometry.bloom_flags;
	t.geometry.dleft_flags = v->geometry.dleft_flags;
	if (v->geometry.k)
		t.geometry.k = v->geometry.k;
	if (v->fingerprint && row % ROWS == 1)
		t.geometry.f = v->fingerprint;
	return t;
}

/* One job: all variants of a structure under a reading. */
static int sweep_one(struct lab *lab, void *context, size_t number)
{
	struct sweep *sweep = context;
	size_t which = number / READINGS, reading = number % READINGS;
	const struct family *s = &families[which];
	struct simple_table tables[VARIANTS_MOST * ROWS];
	struct simple_run run = {.reading = (enum reading)reading,
				 .traffic = {.seed = lab_seed(lab, PART, 0)},
				 .tables = tables,
				 .count = s->count * ROWS,
				 .divisor = lab->size == LAB_QUICK ? 32 : 4};

	for (size_t i = 0; i < run.count; i++)
		tables[i] = table_of(&s->variants[i / ROWS], which * ROWS + i % ROWS);
	return simple_run(lab, &run, sweep->results[which][reading][0], NULL);
}

/* --------------------------------------------------------------------- the page */

static void paper_row(struct page_table *table, const struct family *s, size_t first)
{
	page_row(table);
	page_word(table, "paper");
	for (size_t row = first; row < first + ROWS; row++) {
		const struct table1_row *r = &table1_rows[row];

		for (unsigned i = 0; i < 2; i++)
			page_number(table, s->shares[i] == simple_false_positives   ? r->false_positives
					   : s->shares[i] == simple_false_negatives ? r->false_negatives
										    : r->dont_knows);
	}
}

static struct page_table *begin_table(struct page *page, const struct family *s)
{
	struct page_column columns[1 + 2 * ROWS] = {{"interpretation", NULL, 0}};
	char names[2 * ROWS][16];

	for (unsigned i = 0; i < 2 * ROWS; i++) {
		snprintf(names[i], sizeof names[i], "%s %u", s->columns[i % 2].name, i / 2 + 1);
		columns[1 + i] = s->columns[i % 2];
		columns[1 + i].name = names[i];
	}
	return page_table(page, s->id, s->title, columns, 1 + 2 * ROWS);
}

static void write_structure(const struct sweep *sweep, struct page *page, size_t which)
{
	const struct family *s = &families[which];
	struct page_table *table = begin_table(page, s);

	paper_row(table, s, which * ROWS);
	for (size_t reading = 0; reading < READINGS; reading++)
		for (size_t variant = 0; variant < s->count; variant++) {
			page_row(table);
			page_word(table, "%c, %s", table1_letter((enum reading)reading),
				  s->variants[variant].name);
			for (size_t i = 0; i < 2 * ROWS; i++)
				page_number(table, s->shares[i % 2](
							   &sweep->results[which][reading][variant][i / 2]));
		}
}

int table1_readings(struct lab *lab, struct page *page)
{
	struct sweep *sweep = lab_alloc(1, sizeof *sweep);
	int error = lab_each(lab, (size_t)FAMILIES * READINGS, sweep_one, sweep);

	page_fold(page, "Other interpretations");
	if (!error) {
		page_text(
			page,
			"Each choice that the paper leaves open, one at a time; rows 1 to 3 side by side. One "
			"stream of packets, a %s of the flows in the same part of the memory.",
			lab->size == LAB_QUICK ? "thirty-second" : "quarter");
		for (size_t which = 0; which < FAMILIES; which++)
			write_structure(sweep, page, which);
	}
	free(sweep);
	return error;
}
