/* SPDX-License-Identifier: BSD-2-Clause */
#include "lab/structure.h"

const char *structure_name(enum structure structure)
{
	static const char *const names[STRUCTURE_COUNT] = {
		[STRUCTURE_NONE] = "",
		[STRUCTURE_DIRECT] = "direct Bloom filter (DBF)",
		[STRUCTURE_STATEFUL] = "stateful Bloom filter (SBF)",
		[STRUCTURE_DLEFT] = "d-left fingerprints (FCF)",
		[STRUCTURE_LINE] = "line",
		[STRUCTURE_COMPACT] = "compact",
		[STRUCTURE_SUMS] = "sums of states (kind kbf)",
		[STRUCTURE_EXACT] = "exact table",
		[STRUCTURE_PRINTED] = "kBF as printed",
		[STRUCTURE_KBF] = "kBF of the library",
		[STRUCTURE_COUNTING] = "counting Bloom filter",
	};

	return names[structure];
}

enum structure structure_of(enum ink_kind kind)
{
	static const enum structure structures[] = {
		[INK_LINE] = STRUCTURE_LINE,         [INK_COMPACT] = STRUCTURE_COMPACT,
		[INK_DLEFT] = STRUCTURE_DLEFT,       [INK_EXACT] = STRUCTURE_EXACT,
		[INK_STATEFUL] = STRUCTURE_STATEFUL, [INK_DIRECT] = STRUCTURE_DIRECT,
		[INK_KBF] = STRUCTURE_SUMS,
	};

	return structures[kind];
}

static struct ink_kind_info info_of(enum ink_kind kind)
{
	struct ink_kind_info info = {.size = sizeof info};

	ink_kind_info(kind, &info);
	return info;
}

bool lab_kind_can(enum ink_kind kind, unsigned what)
{
	return (info_of(kind).can & what) != 0;
}

bool lab_kind_takes(enum ink_kind kind, unsigned field)
{
	return (info_of(kind).geometry & field) != 0;
}
