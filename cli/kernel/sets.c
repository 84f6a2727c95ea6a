/* SPDX-License-Identifier: BSD-2-Clause */
#include "cli/kernel/sets.h"

#include <errno.h>
#include <string.h>

#include "base/suggest.h"

int sets_list(struct sets *sets)
{
	struct ink_why why = {"no memory"};
	int n = ink_kernel_list(sets->name, SETS_MOST, &why);

	if (n < 0)
		return cli_failed("%s", why.text);
	sets->n = (unsigned)n;
	return CLI_DONE;
}

void sets_places(const struct ink_kernel *kernel, struct places *places)
{
	places->n = ink_kernel_places(kernel, places->at);
}

static int is_at(const char *set, const char *interface)
{
	struct ink_kernel *kernel = ink_kernel_open(set, NULL);
	struct places places = {0};
	int found = 0;

	if (kernel)
		sets_places(kernel, &places);
	for (unsigned i = 0; i < places.n; i++)
		found |= !strcmp(places.at[i].interface, interface);
	ink_kernel_close(kernel);
	return found;
}

static void say_none(const struct sets *sets, const char *word)
{
	struct ink_suggest near = ink_suggest(word, strlen(word));
	char hint[96];

	for (unsigned i = 0; i < sets->n; i++)
		ink_suggest_offer(&near, sets->name[i]);
	if (!sets->n)
		cli_failed("%s: nothing is attached ('inkling attach')", word);
	else
		cli_failed("%s: no set has that name, and none is attached there%s", word,
			   near.best ? ink_suggest_hint(&near, hint) : " ('inkling status' names them)");
}

/* The number of the set; or -1, and it said why. */
static int find(const struct sets *sets, const char *word)
{
	int found = -1;

	for (unsigned i = 0; i < sets->n; i++)
		if (!strcmp(sets->name[i], word))
			return (int)i;
	for (unsigned i = 0; i < sets->n; i++) {
		if (!is_at(sets->name[i], word))
			continue;
		if (found >= 0) {
			cli_failed("%s: several sets are attached there: %s, %s ...; name one of them", word,
				   sets->name[found], sets->name[i]);
			return -1;
		}
		found = (int)i;
	}
	if (found < 0)
		say_none(sets, word);
	return found;
}

int sets_find(const char *word, char name[INK_KERNEL_PATH + 1])
{
	static struct sets sets;
	int found = sets_list(&sets) ? -1 : find(&sets, word);

	if (found < 0)
		return CLI_FAILED;
	strcpy(name, sets.name[found]);
	return CLI_DONE;
}

struct ink_kernel *sets_open(const char *word, char name[INK_KERNEL_PATH + 1])
{
	struct ink_why why = {"no memory"};
	struct ink_kernel *kernel;

	if (sets_find(word, name))
		return NULL;
	kernel = ink_kernel_open(name, &why);
	if (!kernel)
		cli_failed("%s", why.text);
	return kernel;
}
