/* SPDX-License-Identifier: BSD-2-Clause */
/* The kind `compact`, once for each variant (engine/variant.h): compact.h has the memory. */
#include "kinds/compact/sweep.h"
#include "kinds/compact/check.h"

#include "engine/engine.h"

const struct ink_ops *const INK_VARIANT = &verbs;
