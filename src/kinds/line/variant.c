/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The kind `line`, once for each variant (engine/variant.h): line.h has the
 * memory, cells.h the laws of many writers.
 */
#include "kinds/line/check.h"
#include "kinds/line/store.h"
#include "kinds/line/sweep.h"

#include "engine/engine.h"
#if KIND_DEFERS_INSERTS
#include "kinds/line/insert.h"
#endif

const struct ink_ops *const INK_VARIANT = &verbs;
