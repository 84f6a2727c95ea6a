/* SPDX-License-Identifier: BSD-2-Clause */
/* What kbf_errors.c asks of filters, and what they answered. */
#ifndef INKLING_LAB_KBF_ERRORS_H
#define INKLING_LAB_KBF_ERRORS_H

#include <inkling/kbf.h>

#include "lab/runner.h"
#include "lab/printed_kbf.h"

enum { VALUES = 3000, MOST_VALUE = 65536, BATCHES = 10, PAPER_KEYS = 10000000 };

enum { PS = 4, SIZES = 2 }; /* m, m / 2 */

extern const double kbf_errors_ps[PS];

enum reader { WRAPS, STICKS, PAPER, JOINT, READERS };

/* All readers at all points, and the planned one at the end. */
enum { POINTS = PS * SIZES * READERS, PLANNED = POINTS, JOBS };

struct outcome {
	double bits, key_bytes; /* for each key */
	double refused;         /* of the keys: they read a value before they were there */
	double lost, wrong;     /* of live keys: no value, another value */
	double false_positives;
	double deleted[BATCHES], updated[BATCHES];
};

struct study {
	uint64_t keys;
	struct printed_codes codes;
	struct ink_kbf_dict *greedy, *sums; /* with all values */
	unsigned char *bytes;               /* of the values */
	struct ink_bytes values[VALUES];
	unsigned repetitions;
	struct outcome *outcomes; /* [JOBS][repetitions] */
};

/* How many cells the filter of a point has; not of the planned one. */
uint64_t kbf_errors_cells(const struct study *study, size_t point);

/* Makes the values and their dictionaries. 0, or -errno after lab_fail(). */
int kbf_errors_prepare(struct lab *lab, struct study *study);

/* A job of lab_each(): one reader at one point, one repetition. */
lab_job kbf_errors_job;

#endif
