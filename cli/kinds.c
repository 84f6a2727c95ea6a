/* SPDX-License-Identifier: BSD-2-Clause */
/* The kinds of tables, as the library lists them. */
#include "cli/cli.h"

#include <string.h>

const char *cli_kinds[CLI_KINDS_MOST + 1], *cli_kinds_and_all[CLI_KINDS_MOST + 2];

struct ink_kind_info cli_kind(unsigned kind)
{
	struct ink_kind_info info = {.size = sizeof info};

	ink_kind_info(kind, &info);
	return info;
}

void cli_list_kinds(void)
{
	unsigned n = 0;

	for (; n < CLI_KINDS_MOST && cli_kind(n + 1).name; n++)
		cli_kinds[n] = cli_kinds_and_all[n] = cli_kind(n + 1).name;
	cli_kinds_and_all[n] = "all";
}

int cli_is_exact(unsigned kind)
{
	return (cli_kind(kind).can & INK_CAN_BE_EXACT) != 0;
}

int cli_has_room_for_some(unsigned kind)
{
	return (cli_kind(kind).can & INK_CAN_BE_FULL) != 0 && !cli_is_exact(kind);
}

void cli_kinds_with(unsigned geometry, char *text, size_t size)
{
	const char *words[CLI_KINDS_MOST + 1] = {NULL};
	unsigned n = 0;

	for (unsigned i = 0; cli_kinds[i]; i++)
		if ((cli_kind(i + 1).geometry & geometry) == geometry)
			words[n++] = cli_kinds[i];
	cli_list_words(words, text, size);
}
