/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What else Table 1 could mean: the choices that the paper leaves open, one by
 * one, on the three rows of each structure. No reading fits all nine rows.
 *
 *     DBF   what becomes of a counter at its top, and of a flow at its end
 *     SBF   k, which the paper prints for the first two rows only
 *     FCF   whether a new flow that seems to be there is stored once more, whether a
 *           change of state puts the entry elsewhere; and the printed fingerprint of
 *           row 2, 10 bits, in place of the 18 that its memory says
 */
#include <stdio.h>
#include <stdlib.h>

#include "lab/table1.h"

enum { PART = 0x7410, ROWS = 3, READINGS = 2, VARIANTS_MOST = 8, STRUCTURES = 3 };

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

static const struct structure {
	const char *id, *title;
	const struct variant *variants;
	size_t count;
	struct page_column columns[2];
	simple_number *shares[2];
} structures[STRUCTURES] = {
	{"dbf",
	 "DBF: counters at their top stick or count down; at its end a flow is deleted in its given state, "
	 "in the one it is found in, or only if it is complete",
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
	 "FCF: a new flow that seems to be there is marked don't-know or copied; a change of state moves "
	 "the entry or not",
	 fcf,
	 sizeof fcf / sizeof *fcf,
	 {{"FN", "%", 3}, {"DK", "%", 3}},
	 {simple_false_negatives, simple_dont_knows}},
};

/* --------------------------------------------------------------------- the runs */

struct sweep {
	struct simple_result results[STRUCTURES][READINGS][VARIANTS_MOST][ROWS];
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
	const struct structure *s = &structures[which];
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

static void paper_row(struct page_table *table, const struct structure *s, size_t first)
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

static struct page_table *begin_table(struct page *page, const struct structure *s)
{
	struct page_column columns[1 + 2 * ROWS] = {{"reading", NULL, 0}};
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
	const struct structure *s = &structures[which];
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
	int error = lab_each(lab, (size_t)STRUCTURES * READINGS, sweep_one, sweep);

	page_heading(page, "Other readings");
	if (!error) {
		page_text(page,
			  "What the paper leaves open, one choice after the other, rows 1 to 3 side by "
			  "side; one stream of packets, a %s of the flows in as large a part of the memory.",
			  lab->size == LAB_QUICK ? "thirty-second" : "quarter");
		for (size_t which = 0; which < STRUCTURES; which++)
			write_structure(sweep, page, which);
	}
	free(sweep);
	return error;
}
