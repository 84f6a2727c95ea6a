/* SPDX-License-Identifier: BSD-2-Clause */
#include "cli/cli.h"

#include <errno.h>
#include <net/if.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <inkling/packet.h>

#include "base/rate.h"
#include "base/suggest.h"
#include "sim/text.h"

/* -------------------------------------------------------------------------- messages */

static void put_message(const char *before, const char *format, va_list args)
{
	fputs(before, stderr);
	sim_put_message(stderr, format, args);
	fputc('\n', stderr);
}

int cli_usage(const struct cli_command *command, const char *format, ...)
{
	const char *blank = command ? " " : "", *name = command ? command->name : "";
	va_list args;

	fprintf(stderr, "inkling%s%s", blank, name);
	va_start(args, format);
	put_message(": ", format, args);
	va_end(args);
	fprintf(stderr, "Try 'inkling help%s%s'.\n", blank, name);
	return CLI_USAGE;
}

int cli_failed(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	put_message("inkling: ", format, args);
	va_end(args);
	return CLI_FAILED;
}

void cli_say(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	put_message("inkling: ", format, args);
	va_end(args);
}

/* ----------------------------------------------------------------------- words */

void cli_list_words(const char *const *words, char *text, size_t size)
{
	size_t n = (size_t)snprintf(text, size, "%s", words[0]);

	for (unsigned i = 1; words[i] && n < size; i++)
		n += (size_t)snprintf(text + n, size - n, "%s%s", words[i + 1] ? ", " : " or ", words[i]);
}

const char *cli_plural(uint64_t n)
{
	return n == 1 ? "" : "s";
}

const char *cli_show_share(double share, char *text, size_t size)
{
	if (share == 0)
		snprintf(text, size, "0");
	else if (share >= .0995) /* "%.2g" of 99.6 is 1e+02 */
		snprintf(text, size, "%.0f %%", share * 100);
	else if (share >= 1e-5)
		snprintf(text, size, "%.2g %%", share * 100);
	else
		snprintf(text, size, "%.1e", share);
	return text;
}

/* -------------------------------------------------------------------- machines */

/* For the callbacks of a compilation. */
struct compilation {
	int (*cancelled)(void);
	int reported;
};

/* The library's three lines, the first of which quotes the file's name and words of its text. */
static void complain(const struct ink_complaint *complaint, void *user)
{
	struct compilation *c = user;
	struct ink_complaint unnamed = *complaint;
	char text[1024], *line;

	unnamed.file = unnamed.text = "";
	ink_complaint_show(&unnamed, text, sizeof text);
	line = strchrnul(text, '\n');
	sim_put_visible(complaint->file, stderr);
	fprintf(stderr, "%.*s", (int)(line - text), text);
	sim_put_visible(complaint->text, stderr);
	fprintf(stderr, "%s\n", line);
	c->reported = 1;
}

static int is_cancelled(void *user)
{
	const struct compilation *c = user;

	return c->cancelled && c->cancelled();
}

int cli_take_rate(const char *text, void *rate)
{
	return ink_rate_read(text, rate);
}

int cli_take_setting(const char *text, void *place)
{
	struct cli_settings *set = place;
	const char *sign = strchr(text, '=');
	size_t length = sign ? (size_t)(sign - text) : 0;

	if (!length || !sign[1] || length >= CLI_SETTING_NAME || set->n == CLI_SETTINGS_MOST)
		return -EINVAL;
	memcpy(set->all[set->n].name, text, length);
	set->all[set->n].name[length] = 0;
	set->all[set->n++].value = sign + 1;
	return 0;
}

static unsigned settings_of(const struct cli_machine_options *options,
			    struct ink_setting settings[CLI_SETTINGS_MOST])
{
	unsigned n = options && options->set ? options->set->n : 0;

	for (unsigned i = 0; i < n; i++)
		settings[i] = (struct ink_setting){options->set->all[i].name, options->set->all[i].value};
	return n;
}

/* What the library is asked for; complaints are shown. */
static struct ink_machine_options library_options(const struct cli_machine_options *options,
						  struct compilation *c,
						  struct ink_setting settings[CLI_SETTINGS_MOST])
{
	return (struct ink_machine_options){.size = sizeof(struct ink_machine_options),
					    .strict = options && options->strict,
					    .like_set = options ? options->like : NULL,
					    .complain = complain,
					    .user = c,
					    .try_filter = ink_filter_try,
					    .cancelled = is_cancelled,
					    .settings = settings,
					    .n_settings = settings_of(options, settings)};
}

int cli_names(const struct cli_command *command, const char *text, struct cli_names *names)
{
	char *at = names->text, *end;

	names->n = 0;
	if (strlen(text) >= sizeof names->text)
		return cli_usage(command, "the names of the machines are longer than %zu bytes",
				 sizeof names->text - 1);
	strcpy(names->text, text);
	for (; at; at = end) {
		end = strchr(at, ',');
		if (end)
			*end++ = 0;
		if (!*at)
			return cli_usage(command, "'%s': a machine has no name", text);
		if (names->n == CLI_NAMES_MOST)
			return cli_usage(command, "more than %d machines", CLI_NAMES_MOST);
		names->name[names->n++] = at;
	}
	return CLI_DONE;
}

static struct ink_machines *load(const char *const *names, unsigned n,
				 const struct cli_machine_options *options)
{
	struct compilation c = {.cancelled = options ? options->cancelled : NULL};
	struct ink_setting settings[CLI_SETTINGS_MOST];
	struct ink_machine_options o = library_options(options, &c, settings);
	struct ink_why why;
	struct ink_machines *set = ink_machines_load(names, n, &o, &why);

	if (!set && !c.reported && errno != ECANCELED)
		cli_failed("%s", why.text);
	return set;
}

struct ink_machines *cli_machines(const struct cli_names *names, const struct cli_machine_options *options)
{
	return load(names->name, names->n, options);
}

struct ink_machines *cli_machine_set(const char *name, const struct cli_machine_options *options)
{
	return load(&name, 1, options);
}

const struct ink_bundled *cli_bundled(const char *name)
{
	const struct ink_bundled *machine;

	for (unsigned i = 0; (machine = ink_bundled(i)); i++)
		if (!strcmp(machine->name, name))
			return machine;
	return NULL;
}

int cli_names_file(const char *name)
{
	size_t length = strlen(name);

	return strchr(name, '/') || (length >= 4 && !strcmp(name + length - 4, ".fsm"));
}

int cli_one_machine(const struct cli_line *line, int argc, char **argv)
{
	if (optind == argc)
		return cli_usage(line->command, CLI_WHICH_MACHINE);
	if (optind + 1 < argc)
		return cli_usage(line->command, "unexpected argument '%s': one machine only",
				 argv[optind + 1]);
	return CLI_DONE;
}

/* ------------------------------------------------------------------------------ files */

static int identify(struct cli_file file, struct stat *found)
{
	if (!file.name)
		return -1;
	return strcmp(file.name, "-") ? stat(file.name, found) : fstat(file.standard, found);
}

int cli_same_file(struct cli_file a, struct cli_file b)
{
	struct stat x, y;

	if (identify(a, &x) || identify(b, &y))
		return 0;
	return S_ISREG(x.st_mode) && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

/* The error may be an early one, after which all went well: ferror remembers it. */
int cli_close(FILE *file, const char *name)
{
	int broken = ferror(file), failed;

	errno = 0;
	failed = file == stdout ? fflush(stdout) : fclose(file);
	if (!broken && !failed)
		return CLI_DONE;
	return cli_failed("%s: cannot be written%s%s", strcmp(name, "-") ? name : "standard output",
			  errno ? ": " : "", errno ? strerror(errno) : "");
}

/* ------------------------------------------------------------------ interfaces */

const char *cli_interface_hint(const char *name, char hint[CLI_HINT])
{
	struct ink_suggest near = ink_suggest(name, strlen(name));
	struct if_nameindex *all = if_nameindex();
	const char *found;

	for (struct if_nameindex *i = all; i && i->if_index; i++)
		ink_suggest_offer(&near, i->if_name);
	found = if_nametoindex(name) ? "" : ink_suggest_hint(&near, hint);
	if_freenameindex(all);
	return found;
}

/* ------------------------------------------------------------------ the terminal */

int cli_columns(void)
{
	enum { FEWEST = 40, MOST = 10000 }; /* narrower lines would be single words */
	const char *set = getenv("COLUMNS");
	struct winsize size = {.ws_col = 0};
	long columns = set ? strtol(set, NULL, 10) : 0;

	if (columns <= 0 && isatty(STDOUT_FILENO) && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0)
		columns = size.ws_col;
	if (columns <= 0)
		return 0;
	return columns < FEWEST ? FEWEST : columns > MOST ? MOST : (int)columns;
}

void cli_progress(const char *what, double done)
{
	if (isatty(STDERR_FILENO))
		fprintf(stderr, "\r%-24s %3.0f %%", what, done * 100);
}

void cli_progress_end(void)
{
	if (isatty(STDERR_FILENO))
		fprintf(stderr, "\r%32s\r", "");
}
