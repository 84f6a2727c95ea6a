/* SPDX-License-Identifier: BSD-2-Clause */
/* Table 1 as printed, for the experiments that begin with it; and the parts of `table1`. */
#ifndef INKLING_LAB_TABLE1_H
#define INKLING_LAB_TABLE1_H

#include "lab/page.h"
#include "lab/simple.h"

enum { TABLE1_ROWS = 9, TABLE1_FIRST_FCF = 6 };

struct table1_row {
	const char *name;
	struct simple_table table;
	double bits; /* with the timer, which the paper leaves out for SBF and FCF */
	double false_positives, false_negatives,
		dont_knows; /* the paper's, in percent; DBFs are never in doubt */
};

extern const struct table1_row table1_rows[TABLE1_ROWS];

/* The paper's flows with any error, as a share of all flows: 30 % are interesting. */
double table1_errors(const struct table1_row *row);

/* The interpretation to which the claims about Table 1 are bound; B is shown beside it. */
#define TABLE1_INTERPRETATION                                                                                      \
	"A: a flow with triggers is inserted in state 1 by its first packet; the FCF changes a state by deleting " \
	"and inserting; counters of the DBF stick at their maximum."
enum { TABLE1_STATED = READING_A };

/* 'A' or 'B'. */
char table1_letter(enum reading reading);

/* The parts: errors against memory, and what other readings give. */
int table1_memory(struct lab *lab, struct page *page);
int table1_readings(struct lab *lab, struct page *page);

#endif
