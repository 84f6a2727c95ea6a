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

#if !INK_SHARED
#define INSERT_BATCH "kinds/line/insert.h"
#endif

#include "kinds/line/cells.h"
#include "engine/engine.h"

const struct ink_ops *const INK_VARIANT = &verbs;
