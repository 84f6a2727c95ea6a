/* SPDX-License-Identifier: BSD-2-Clause */
/* The kind `compact`: portable code. See compact.h for the memory. */
#include "compact_portable.h"

#include "compact_any.h"
#include "compact_cells.h"
#include "verbs.h"

const struct ink_ops *const ink_compact_portable = &verbs;
