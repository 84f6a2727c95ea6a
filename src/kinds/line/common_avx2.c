/* SPDX-License-Identifier: BSD-2-Clause */
/* The kind `line`: one writer, AVX2, for tables of the usual shape. */
#include "kinds/line/find_avx2.h"

enum { CELLS_SHARED = 0 };
#define INSERT_BATCH "kinds/line/insert.h"

#include "kinds/line/common_shape.h"
#include "kinds/line/cells.h"
#include "engine/engine.h"

const struct ink_ops *const ink_line_usual_avx2 = &verbs;
