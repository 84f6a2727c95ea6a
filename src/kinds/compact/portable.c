/* SPDX-License-Identifier: BSD-2-Clause */
/* The kind `compact`: portable code. See compact.h for the memory. */
#include "kinds/compact/find_portable.h"

#include "kinds/compact/generic.h"
#include "kinds/compact/cells.h"
#include "engine/engine.h"

const struct ink_ops *const ink_compact_portable = &verbs;
