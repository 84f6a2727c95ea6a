/* SPDX-License-Identifier: BSD-2-Clause */
/* Machines, from the text to the view that callers use. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/grow.h"
#include "machine/bundled.h"
#include "machine/tree.h"

/* ------------------------------------------------------------------ making */

struct ink_machine *ink_unit_add(struct ink_unit *file)
{
	struct ink_machine *m = ink_arena_get(&file->arena, sizeof *m);

	if (!m)
		return NULL;
	m->unit = file;
	m->arena = &file->arena;
	m->number = file->n;
	m->absent.name = "absent";
	m->unsure.name = "unsure";
	m->star.name = "*";
	file->machines[file->n++] = m;
	return m;
}

static int compile(struct ink_machine *m, struct ink_text *text)
{
	uint8_t *happens = ink_arena_get(m->arena, m->n_events + 1);
	int error = happens ? ink_decide(m, text, happens) : -ENOMEM;

	if (!error)
		error = ink_compile(m, text);
	if (!error)
		ink_check_flow(m, text, happens);
	return error;
}

static int compile_all(struct ink_unit *file, struct ink_text *text)
{
	int error = 0;

	for (unsigned i = 0; i < file->n && !error; i++)
		error = compile(file->machines[i], text);
	return error ? error : text->warnings && text->options->strict ? -EINVAL : 0;
}

/* Why a stage ended early, or 0. An arena that is full is reported at the place of the latest work. */
static int failure(const struct ink_unit *file, struct ink_text *text)
{
	if (file->arena.failed == -E2BIG)
		ink_text_error(text, text->at, "the machine is too large: it takes more than %zu MiB",
			       INK_ARENA_MAX >> 20);
	if (file->arena.failed == -ENOMEM)
		return -ENOMEM;
	return text->stopped ? text->stopped : text->errors ? -EINVAL : 0;
}

static void check_all(struct ink_unit *file, struct ink_text *text)
{
	if (!file->shares_settings)
		ink_check_settings(file, text);
	for (unsigned i = 0; i < file->n && !file->arena.failed && !text->stopped; i++)
		ink_check_names(file->machines[i], text);
	if (file->n > 1 && !file->arena.failed && !text->errors && !text->stopped)
		ink_check_chains(file, text);
}

static int make(struct ink_unit *file, struct ink_text *text)
{
	int error;

	ink_unit_parse(file, text);
	if (!file->arena.failed && !text->stopped)
		check_all(file, text);
	error = failure(file, text);
	if (error)
		return error;
	error = compile_all(file, text);
	return file->arena.failed ? failure(file, text) : error;
}

static int begins(const struct ink_text *text, const char *mark)
{
	return text->length >= strlen(mark) && !memcmp(text->bytes, mark, strlen(mark));
}

/* What would otherwise cause a complaint for each line. */
static int check_text(struct ink_text *text, size_t length)
{
	const char *zero = text->length ? memchr(text->bytes, 0, text->length) : NULL;

	if (begins(text, "\xff\xfe") || begins(text, "\xfe\xff"))
		ink_text_error(text, 0, "this is UTF-16: a machine is written in UTF-8");
	else if (zero)
		ink_text_error(text, (uint32_t)(zero - text->bytes),
			       "this is not text: it has a NUL byte here");
	else if (length > INK_TEXT_MAX)
		ink_text_error(text, 0, "the file has more than 1 MiB");
	else if (ink_token_at(text, 0).kind == TOKEN_END)
		ink_text_error(text, 0, "there is no machine in it: %s",
			       length ? "only comments and blanks" : "it is empty");
	return text->errors ? -EINVAL : 0;
}

/* Some editors put the mark of UTF-8 in front of all else; it is not part of the text. */
static struct ink_text text_of(const char *bytes, size_t length, const struct ink_machine_options *o)
{
	struct ink_text text = {.bytes = bytes,
				.length = length < INK_TEXT_MAX ? (uint32_t)length : INK_TEXT_MAX,
				.options = o,
				.file = o->file ? o->file : "machine"};

	if (begins(&text, "\xef\xbb\xbf")) {
		text.bytes += 3;
		text.length -= 3;
	}
	return text;
}

enum { OPTIONS_FIRST = 56 }; /* bytes of the first struct ink_machine_options */

int ink_machine_options_read(const struct ink_machine_options *theirs, struct ink_machine_options *o,
			     struct ink_why *why)
{
	static const struct ink_struct options = {"machine options", OPTIONS_FIRST, sizeof *o};

	*o = (struct ink_machine_options){.size = sizeof *o};
	if (theirs && ink_struct_read(&options, o, theirs, why))
		return -EINVAL;
	for (unsigned i = 0; i < o->n_settings; i++)
		if (!o->settings || !o->settings[i].name || !o->settings[i].value)
			return ink_fail(why, -EINVAL, "machine options: setting %u lacks its name or value",
					i);
	return 0;
}

struct ink_unit *ink_unit_make(const char *bytes, size_t length, const struct ink_machine_options *o,
			       const struct ink_unit *wanted)
{
	struct ink_text text = text_of(bytes, length, o);
	struct ink_unit *file = malloc(sizeof *file);
	int error;

	if (file)
		*file = *wanted;
	error = file ? check_text(&text, length) : -ENOMEM;
	if (!error)
		error = make(file, &text);
	if (!error)
		return file;
	ink_unit_free(file);
	errno = -error;
	return NULL;
}

void ink_unit_free(struct ink_unit *file)
{
	if (file)
		ink_arena_free(&file->arena);
	free(file);
}

static const struct ink_unit one_machine = {.one = 1};

struct ink_machine *ink_machine_make(const char *bytes, size_t length,
				     const struct ink_machine_options *options)
{
	struct ink_machine_options o;
	struct ink_unit *file;

	if (ink_machine_options_read(options, &o, NULL) || (!bytes && length))
		return errno = EINVAL, NULL;
	file = ink_unit_make(bytes, length, &o, &one_machine);
	return file ? file->machines[0] : NULL;
}

/* The machine itself lives in its file's memory. */
void ink_machine_free(struct ink_machine *m)
{
	if (m)
		ink_unit_free(m->unit);
}

const struct ink_machine_view *ink_machine_view(const struct ink_machine *m)
{
	return &m->view;
}

/* ----------------------------------------------------------------- loading */

const struct ink_bundled *ink_bundled(unsigned i)
{
	return i < ink_bundled_count ? &ink_bundled_machines[i] : NULL;
}

static int is_file(const char *name)
{
	size_t length = strlen(name);

	return strchr(name, '/') || (length >= 4 && !strcmp(name + length - 4, ".fsm"));
}

/* All of the file, or one byte more than is allowed. */
static int read_all(FILE *f, char **text, size_t *length)
{
	*text = malloc(INK_TEXT_MAX + 1);
	if (!*text)
		return -ENOMEM;
	errno = EIO; /* unless it says better: a directory can be opened, and not read */
	*length = fread(*text, 1, INK_TEXT_MAX + 1, f);
	return ferror(f) ? -errno : 0;
}

static struct ink_unit *load_file(const char *path, const struct ink_machine_options *o,
				  const struct ink_unit *wanted, struct ink_why *why)
{
	FILE *f = fopen(path, "rbe");
	struct ink_unit *file = NULL;
	char *text = NULL;
	size_t length = 0;
	int error = f ? 0 : -errno;

	if (!error)
		error = read_all(f, &text, &length);
	if (error)
		ink_fail(why, error, "%s: %s", path, strerror(-error));
	else if ((file = ink_unit_make(text, length, o, wanted)) == NULL)
		error = -errno;
	free(text);
	if (f)
		fclose(f);
	errno = -error;
	return file;
}

static struct ink_unit *load_bundled(const char *name, const struct ink_machine_options *o,
				     const struct ink_unit *wanted, struct ink_why *why)
{
	struct ink_suggest near = ink_suggest(name, strlen(name));
	char hint[96], file[256];

	for (unsigned i = 0; i < ink_bundled_count; i++) {
		const struct ink_bundled *b = &ink_bundled_machines[i];

		if (!strcmp(b->name, name))
			return ink_unit_make(b->text, b->length, o, wanted);
		ink_suggest_offer(&near, b->name);
	}
	snprintf(file, sizeof file, "%s.fsm", name);
	if (access(name, F_OK) == 0)
		ink_fail(why, 0, "no machine '%s'; the file of that name is ./%s", name, name);
	else if (access(file, F_OK) == 0)
		ink_fail(why, 0, "no machine '%s'; the file of that name is %s", name, file);
	else
		ink_fail(why, 0, "no machine '%s'%s (a file has a slash in its name or ends in .fsm)", name,
			 ink_suggest_hint(&near, hint));
	errno = ENOENT;
	return NULL;
}

struct ink_unit *ink_unit_load(const char *name, const struct ink_machine_options *options,
			       const struct ink_unit *wanted, struct ink_why *why)
{
	struct ink_machine_options o = *options;
	struct ink_why reason = {""};
	struct ink_unit *file;

	if (!o.file)
		o.file = name;
	file = is_file(name) ? load_file(name, &o, wanted, &reason) : load_bundled(name, &o, wanted, &reason);
	if (!file && reason.text[0])
		ink_fail(why, 0, "%s", reason.text);
	else if (!file)
		ink_fail(why, 0, "%s: %s", name,
			 errno == ENOMEM      ? "no memory"
			 : errno == ECANCELED ? "cancelled"
					      : "not a machine");
	return file;
}

struct ink_machine *ink_machine_load(const char *name, const struct ink_machine_options *options,
				     struct ink_why *why)
{
	struct ink_machine_options o;
	struct ink_unit *file;

	if (!name)
		return errno = -ink_fail(why, -EINVAL, "machine: the name is NULL"), NULL;
	if (ink_machine_options_read(options, &o, why))
		return errno = EINVAL, NULL;
	file = ink_unit_load(name, &o, &one_machine, why);
	return file ? file->machines[0] : NULL;
}
