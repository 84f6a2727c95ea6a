/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The kind `line`, once for each variant (engine/variant.h): line.h has the
 * memory, cells.h the laws of many writers.
 */
#include "engine/variant.h"

#if INK_AVX2
#include "kinds/line/find_avx2.h"
#else
#include "kinds/line/find_portable.h"
#endif

#include "kinds/line/cells.h"
#include "engine/engine.h"
#if KIND_DEFERS_INSERTS
#include "kinds/line/insert.h"
#endif

const struct ink_ops *const INK_VARIANT = &verbs;
