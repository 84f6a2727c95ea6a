/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef INKLING_KBF_PLAN_H
#define INKLING_KBF_PLAN_H

#include "filter.h"

/* What readings of random keys come to. */
struct ink_kbf_errors {
	double unknown;         /* of live keys */
	double false_positives; /* strangers that read a value */
	double strangers_unknown;
};

struct ink_kbf_model {
	uint32_t k;
	double load;   /* keys k / cells */
	double values; /* equally frequent */
	enum ink_kbf_encoding encoding;
	enum ink_kbf_decoding decoding;
};

struct ink_kbf_errors ink_kbf_errors_of(const struct ink_kbf_model *model);

/* Gives the filter its shape, all but the cells; filter.c. */
void ink_kbf_shape(struct ink_kbf *f, const struct ink_kbf_options *o, const struct ink_kbf_plan *plan);

#endif
