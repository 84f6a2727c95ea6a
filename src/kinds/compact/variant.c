/* SPDX-License-Identifier: BSD-2-Clause */
/* The kind `compact`, once for each variant (engine/variant.h): compact.h has the memory. */
#include "engine/variant.h"

#if INK_AVX2
#include "kinds/compact/find_avx2.h"
#else
#include "kinds/compact/find_portable.h"
#endif

#include "kinds/compact/cells.h"
#include "engine/engine.h"

const struct ink_ops *const INK_VARIANT = &verbs;
