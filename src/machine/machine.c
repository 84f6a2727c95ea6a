/* SPDX-License-Identifier: BSD-2-Clause */
/* Machines, from the text to what users see. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "machine/bundled.h"
#include "machine/tree.h"

/* ------------------------------------------------------------------ making */

static int compile(struct ink_machine *m, struct ink_text *text)
{
	uint8_t *happens = ink_arena_get(&m->arena, m->n_events + 1);
	int error;

	if (!happens)
		return -ENOMEM;
	error = ink_decide(m, text, happens);
	if (!error)
		error = ink_compile(m, text);
	if (!error)
		ink_check_flow(m, text, happens);
	return error;
}

static int make(struct ink_machine *m, struct ink_text *text)
{
	int error;

	ink_machine_parse(m, text);
	if (m->arena.failed)
		return -ENOMEM;
	ink_check_names(m, text);
	if (m->arena.failed)
		return -ENOMEM;
	if (text->errors)
		return -EINVAL;
	error = compile(m, text);
	if (!error && text->warnings && text->options && text->options->strict)
		error = -EINVAL;
	return error;
}

static int begins(const struct ink_text *text, const char *mark)
{
	return text->length >= strlen(mark) && !memcmp(text->bytes, mark, strlen(mark));
}

/* What would else be told by a complaint for each of its lines. */
static int check_text(struct ink_text *text, size_t length)
{
	const char *zero = text->length ? memchr(text->bytes, 0, text->length) : NULL;

	if (begins(text, "\xff\xfe") || begins(text, "\xfe\xff"))
		ink_text_error(text, 0, "this is UTF-16: a machine is written in UTF-8");
	else if (zero)
		ink_text_error(text, (uint32_t)(zero - text->bytes), "this is no text: it has a 0 here");
	else if (length > INK_TEXT_MOST)
		ink_text_error(text, 0, "the file has more than 1 MiB");
	else if (ink_token_at(text, 0).kind == TOKEN_END)
		ink_text_error(text, 0, "there is no machine in it: %s",
			       length ? "only comments and blanks" : "it is empty");
	return text->errors ? -EINVAL : 0;
}

/* Some editors put the mark of UTF-8 in front of all else; it is none of the text. */
static struct ink_text text_of(const char *bytes, size_t length, const struct ink_machine_options *o)
{
	struct ink_text text = {.bytes = bytes,
				.length = length < INK_TEXT_MOST ? (uint32_t)length : INK_TEXT_MOST,
				.options = o,
				.file = o && o->file ? o->file : "machine"};

	if (begins(&text, "\xef\xbb\xbf")) {
		text.bytes += 3;
		text.length -= 3;
	}
	return text;
}

struct ink_machine *ink_machine_make(const char *bytes, size_t length, const struct ink_machine_options *o)
{
	struct ink_text text = text_of(bytes, length, o);
	struct ink_machine *m;
	int error;

	if (o && o->size < sizeof *o)
		return errno = EINVAL, NULL;
	m = calloc(1, sizeof *m);
	error = m ? check_text(&text, length) : -ENOMEM;
	if (!error)
		error = make(m, &text);
	if (!error)
		return m;
	ink_machine_free(m);
	errno = -error;
	return NULL;
}

void ink_machine_free(struct ink_machine *m)
{
	if (m)
		ink_arena_free(&m->arena);
	free(m);
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

/* All of the file, or as much as is too much. */
static int read_all(FILE *f, char **text, size_t *length)
{
	*text = malloc(INK_TEXT_MOST + 1);
	if (!*text)
		return -ENOMEM;
	errno = EIO; /* unless it says better: a directory can be opened, and not read */
	*length = fread(*text, 1, INK_TEXT_MOST + 1, f);
	return ferror(f) ? -errno : 0;
}

static struct ink_machine *load_file(const char *path, const struct ink_machine_options *o,
				     struct ink_why *why)
{
	FILE *f = fopen(path, "rbe");
	struct ink_machine *m = NULL;
	char *text = NULL;
	size_t length = 0;
	int error = f ? 0 : -errno;

	if (!error)
		error = read_all(f, &text, &length);
	if (error)
		ink_fail(why, error, "%s: %s", path, strerror(-error));
	else if ((m = ink_machine_make(text, length, o)) == NULL)
		error = -errno;
	free(text);
	if (f)
		fclose(f);
	errno = -error;
	return m;
}

static struct ink_machine *load_bundled(const char *name, const struct ink_machine_options *o,
					struct ink_why *why)
{
	struct ink_suggest near = ink_suggest(name, strlen(name));
	char hint[96];

	for (unsigned i = 0; i < ink_bundled_count; i++) {
		const struct ink_bundled *b = &ink_bundled_machines[i];

		if (!strcmp(b->name, name))
			return ink_machine_make(b->text, b->length, o);
		ink_suggest_offer(&near, b->name);
	}
	if (access(name, F_OK) == 0)
		ink_fail(why, 0, "no machine '%s'; the file of that name is ./%s", name, name);
	else
		ink_fail(why, 0, "no machine '%s'%s (a file has a slash in its name or ends in .fsm)",
			    name, ink_suggest_hint(&near, hint));
	errno = ENOENT;
	return NULL;
}

struct ink_machine *ink_machine_load(const char *name, const struct ink_machine_options *options,
				     struct ink_why *why)
{
	struct ink_machine_options o = {.size = sizeof o};
	struct ink_why said = {""};
	struct ink_machine *m;

	if (options && options->size < sizeof o) {
		errno = -ink_fail(why, -EINVAL, "machine: size is %zu, the struct has %zu bytes",
				     options->size, sizeof o);
		return NULL;
	}
	if (options)
		o = *options;
	if (!o.file)
		o.file = name;
	m = is_file(name) ? load_file(name, &o, &said) : load_bundled(name, &o, &said);
	if (!m && said.text[0])
		ink_fail(why, 0, "%s", said.text);
	else if (!m)
		ink_fail(why, 0, "%s: %s", name, errno == ENOMEM ? "no memory" : "not a machine");
	return m;
}
