/* SPDX-License-Identifier: BSD-2-Clause */
/* Dictionaries of the kBF with all their values from the beginning, so that threads may share them. */
#ifndef INKLING_LAB_FULL_DICT_H
#define INKLING_LAB_FULL_DICT_H

#include <inkling/kbf.h>

#include "lab/runner.h"

/* With these values, options->values of them, in this order. NULL after lab_fail(), with errno. */
struct ink_kbf_dict *full_dict(struct lab *lab, const struct ink_kbf_dict_options *options,
			       const struct ink_bytes *values);

#endif
