/* SPDX-License-Identifier: BSD-2-Clause */
/* The one place that names all kinds: the folder, the number in enum ink_kind, the definition. */
#include <errno.h>

#include "base/grow.h"
#include "table/kind.h"

/* Read by meson.build, too, for the folders. */
#define KINDS(KIND)                                                                                          \
	KIND(line, INK_LINE, ink_kind_line)                                                                  \
	KIND(compact, INK_COMPACT, ink_kind_compact)                                                         \
	KIND(dleft, INK_DLEFT, ink_kind_dleft)                                                               \
	KIND(exact, INK_EXACT, ink_kind_exact)                                                               \
	KIND(bloom, INK_STATEFUL, ink_kind_stateful)                                                         \
	KIND(bloom, INK_DIRECT, ink_kind_direct)                                                             \
	KIND(sums, INK_KBF, ink_kind_sums)

#define DECLARATION(folder, number, definition) extern const struct ink_kind_def definition;
#define ENTRY(folder, number, definition) [number] = &definition,

KINDS(DECLARATION)

static const struct ink_kind_def *const kinds[] = {[INK_KIND_DEFAULT] = &ink_kind_line, KINDS(ENTRY)};

const struct ink_kind_def *ink_kind_find(unsigned kind)
{
	return kind < sizeof kinds / sizeof kinds[0] ? kinds[kind] : NULL;
}

int ink_kind_info(unsigned kind, struct ink_kind_info *info)
{
	static const struct ink_struct known = {"kind info", 40, sizeof *info};
	const struct ink_kind_def *def = ink_kind_find(kind);

	return def ? ink_struct_write(&known, info, &def->info, NULL) : -ENOENT;
}
