/* SPDX-License-Identifier: BSD-2-Clause */
/* The kind `line`: many writers, portable code. See line.h for the memory, line_cells.h for the laws. */
#include "line_portable.h"

enum { CELLS_SHARED = 1 };

#include "line_any.h"
#include "line_cells.h"
#include "verbs.h"

const struct ink_ops *const ink_line_shared = &verbs;
