/* SPDX-License-Identifier: BSD-2-Clause */
/* The kind `line`: many writers, AVX2, for tables of the usual shape. */
#include "kinds/line/find_avx2.h"

enum { CELLS_SHARED = 1 };

#include "kinds/line/common_shape.h"
#include "kinds/line/cells.h"
#include "engine/engine.h"

const struct ink_ops *const ink_line_shared_usual_avx2 = &verbs;
