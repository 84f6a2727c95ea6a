/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Sets of machines: those of one or several files, in order.
 *
 *     set    files      [a.fsm][b.fsm]       own the memory of their machines
 *            machines   [x][y][z]            x and y are of a.fsm: a link leads from x to y, never to z
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/suggest.h"
#include "machine/tree.h"

static void *grown(void *array, unsigned n, size_t element)
{
	return realloc(array, n * element);
}

/* The file belongs to the set from here on, unless there is no memory. */
static int add_file(struct ink_machines *set, struct ink_unit *file)
{
	struct ink_unit **files = grown(set->files, set->n_files + 1, sizeof *files);
	struct ink_machine **machines;

	if (!files)
		return -ENOMEM;
	set->files = files;
	machines = grown(set->machines, set->n + file->n, sizeof *machines);
	if (!machines)
		return -ENOMEM;
	set->machines = machines;
	set->files[set->n_files++] = file;
	memcpy(set->machines + set->n, file->machines, file->n * sizeof *machines);
	set->n += file->n;
	file->before = NULL; /* it was for reading */
	return 0;
}

/* Takes a file that was read, or NULL after a failure whose reason is in errno and in `why`. */
static int take_file(struct ink_machines *set, struct ink_unit *file, struct ink_why *why)
{
	if (!file)
		return -errno;
	if (!add_file(set, file))
		return 0;
	ink_unit_free(file);
	return ink_fail(why, -ENOMEM, "no memory");
}

static struct ink_machines *finished(struct ink_machines *set, int error)
{
	if (!error)
		return set;
	ink_machines_free(set);
	errno = -error;
	return NULL;
}

struct ink_machines *ink_machines_make(const char *text, size_t length,
				       const struct ink_machine_options *options)
{
	static const struct ink_unit any = {.one = 0};
	struct ink_machine_options o;
	struct ink_machines *set;

	if (ink_machine_options_read(options, &o, NULL) || (!text && length))
		return errno = EINVAL, NULL;
	set = calloc(1, sizeof *set);
	return finished(set, set ? take_file(set, ink_unit_make(text, length, &o, &any), NULL) : -ENOMEM);
}

/* A setting that is for none of several files. */
static int check_settings(const struct ink_machines *set, const struct ink_machine_options *o,
			  struct ink_why *why)
{
	for (unsigned i = 0; i < o->n_settings; i++) {
		const char *name = o->settings[i].name;
		struct ink_suggest near = ink_suggest(name, strlen(name));
		unsigned at = 0;
		char hint[96];

		while (at < set->n && !ink_has_param(set->machines[at], name))
			at++;
		if (at < set->n)
			continue;
		for (unsigned m = 0; m < set->n; m++)
			for (unsigned j = 0; j < set->machines[m]->n_params; j++)
				ink_suggest_offer(&near, set->machines[m]->params[j].name);
		return ink_fail(why, -EINVAL, "no param '%.63s' to set in any of the machines%s", name,
				ink_suggest_hint(&near, hint));
	}
	return 0;
}

static int load_all(struct ink_machines *set, const char *const *names, unsigned n,
		    const struct ink_machine_options *o, struct ink_why *why)
{
	struct ink_unit wanted = {.before = set, .shares_settings = n > 1};
	struct ink_machine_options each = *o;
	int error = 0;

	if (n > 1)
		each.file = NULL;
	for (unsigned i = 0; i < n && !error; i++)
		error = take_file(set, ink_unit_load(names[i], &each, &wanted, why), why);
	return error || n == 1 ? error : check_settings(set, o, why);
}

static int check_names(const char *const *names, unsigned n, struct ink_why *why)
{
	if (!names || !n)
		return ink_fail(why, -EINVAL, "machines: no name is given");
	for (unsigned i = 0; i < n; i++)
		if (!names[i])
			return ink_fail(why, -EINVAL, "machines: name %u is NULL", i);
	return 0;
}

struct ink_machines *ink_machines_load(const char *const *names, unsigned n,
				       const struct ink_machine_options *options, struct ink_why *why)
{
	struct ink_machine_options o;
	struct ink_machines *set;

	if (check_names(names, n, why) || ink_machine_options_read(options, &o, why))
		return errno = EINVAL, NULL;
	set = calloc(1, sizeof *set);
	return finished(set, set ? load_all(set, names, n, &o, why) : ink_fail(why, -ENOMEM, "no memory"));
}

static int make_all(struct ink_machines *set, const struct ink_bundled *texts, unsigned n,
		    const struct ink_machine_options *o, struct ink_why *why)
{
	struct ink_unit wanted = {.before = set, .shares_settings = n > 1};
	struct ink_machine_options each = *o;
	int error = 0;

	for (unsigned i = 0; i < n && !error; i++) {
		each.file = texts[i].name;
		error = take_file(set, ink_unit_make(texts[i].text, texts[i].length, &each, &wanted), why);
		if (error)
			ink_fail(why, error, "%s: not a machine", texts[i].name);
	}
	return error || n == 1 ? error : check_settings(set, o, why);
}

struct ink_machines *ink_machines_of_texts(const struct ink_bundled *texts, unsigned n,
					   const struct ink_machine_options *options, struct ink_why *why)
{
	struct ink_machine_options o;
	struct ink_machines *set;

	if (!n || ink_machine_options_read(options, &o, why))
		return errno = EINVAL, NULL;
	set = calloc(1, sizeof *set);
	return finished(set, set ? make_all(set, texts, n, &o, why) : ink_fail(why, -ENOMEM, "no memory"));
}

unsigned ink_machines_count(const struct ink_machines *set)
{
	return set->n;
}

const struct ink_machine *ink_machines_at(const struct ink_machines *set, unsigned i)
{
	return i < set->n ? set->machines[i] : NULL;
}

void ink_machines_free(struct ink_machines *set)
{
	for (unsigned i = 0; set && i < set->n_files; i++)
		ink_unit_free(set->files[i]);
	if (set) {
		free(set->files);
		free(set->machines);
	}
	free(set);
}
