/* SPDX-License-Identifier: BSD-2-Clause */
/* The machines of machines/, as scripts/embed made them when the library was built. */
#ifndef INKLING_MACHINE_BUNDLED_H
#define INKLING_MACHINE_BUNDLED_H

#include <inkling/machine.h>

extern const struct ink_bundled ink_bundled_machines[];
extern const unsigned ink_bundled_count;

#endif
