/* SPDX-License-Identifier: BSD-2-Clause */
/* The kind `line`: one writer, AVX2. See line.h for the memory, line_cells.h for the laws. */
#include "kinds/line/find_avx2.h"

enum { CELLS_SHARED = 0 };
#define INSERT_BATCH "kinds/line/insert.h"

#include "kinds/line/generic.h"
#include "kinds/line/cells.h"
#include "engine/engine.h"

const struct ink_ops *const ink_line_avx2 = &verbs;
