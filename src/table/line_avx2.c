/* SPDX-License-Identifier: BSD-2-Clause */
/* The kind `line`: one writer, AVX2. See line.h for the memory, line_cells.h for the laws. */
#include "line_avx2.h"

enum { CELLS_SHARED = 0 };
#define INSERT_BATCH "line_insert.h"

#include "line_any.h"
#include "line_cells.h"
#include "verbs.h"

const struct ink_ops *const ink_line_avx2 = &verbs;
