/* SPDX-License-Identifier: BSD-2-Clause */
/* Where things stand in the files of filters and dictionaries, beyond what every file has. */
#ifndef INKLING_TESTS_KBF_IMAGE_H
#define INKLING_TESTS_KBF_IMAGE_H

#include "tests/image.h"

enum {
	/* of a filter */
	AT_ENCODING = 20,
	AT_LINKS = 36,
	AT_PART = 40,
	AT_PENDING = 84,
	AT_PENDING_BYTES = 88,
	AT_KEYS = 208,
	/* of a dictionary */
	AT_MOST = 24,
	AT_VALUES = 32,
	AT_CHAIN = 56,
	AT_VALUE_BYTES = 64
};

#endif
