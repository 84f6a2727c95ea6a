/* SPDX-License-Identifier: BSD-2-Clause */
/* The kind `line`: many writers, portable code. See line.h for the memory, line_cells.h for the laws. */
#include "kinds/line/find_portable.h"

enum { CELLS_SHARED = 1 };

#include "kinds/line/generic.h"
#include "kinds/line/cells.h"
#include "engine/engine.h"

const struct ink_ops *const ink_line_shared = &verbs;
