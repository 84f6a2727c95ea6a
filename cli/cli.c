/* SPDX-License-Identifier: BSD-2-Clause */
#include "cli/cli.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <inkling/packet.h>

/* ------------------------------------------------------------------ complaints */

int cli_usage(const struct cli_command *command, const char *format, ...)
{
	va_list args;

	fprintf(stderr, "inkling %s: ", command->name);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fprintf(stderr, "\nTry 'inkling help %s'.\n", command->name);
	return CLI_USAGE;
}

int cli_failed(const char *format, ...)
{
	va_list args;

	fprintf(stderr, "inkling: ");
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
	return CLI_FAILED;
}

/* ----------------------------------------------------------------------- words */

const char *cli_plural(uint64_t n)
{
	return n == 1 ? "" : "s";
}

const char *cli_show_share(double share, char *text, size_t size)
{
	if (share == 0)
		snprintf(text, size, "0");
	else if (share >= .0995) /* as two digits would be 1e+02 of 99.6 */
		snprintf(text, size, "%.0f %%", share * 100);
	else if (share >= 1e-5)
		snprintf(text, size, "%.2g %%", share * 100);
	else
		snprintf(text, size, "%.1e", share);
	return text;
}

const char *const cli_kinds[] = {"line", "compact", "dleft", "exact", "stateful", "direct", "kbf", NULL};

_Static_assert(INK_LINE == 1 && INK_KBF == 7, "the order of the names");

const char *cli_kind_name(enum ink_kind kind)
{
	return cli_kinds[kind - INK_LINE];
}

/* -------------------------------------------------------------------- machines */

static void complain(const struct ink_complaint *complaint, void *told)
{
	char text[1024];

	ink_complaint_show(complaint, text, sizeof text);
	fprintf(stderr, "%s\n", text);
	*(int *)told = 1;
}

struct ink_machine *cli_machine(const char *name, int strict, const struct ink_machine *like)
{
	int told = 0;
	struct ink_machine_options o = {.size = sizeof o,
					.strict = strict,
					.like = like,
					.complain = complain,
					.user = &told,
					.try_filter = ink_filter_try};
	struct ink_why why;
	struct ink_machine *machine = ink_machine_load(name, &o, &why);

	if (!machine && !told)
		cli_failed("%s", why.text);
	return machine;
}

/* ----------------------------------------------------------------------- files */

int cli_same_file(const char *a, const char *b)
{
	struct stat x, y;

	if (!a || !b || !strcmp(a, "-") || !strcmp(b, "-") || stat(a, &x) || stat(b, &y))
		return 0;
	return S_ISREG(x.st_mode) && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

/* An error may have come long before the end, and nothing after it. */
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

/* ------------------------------------------------------------------ the terminal */

int cli_columns(void)
{
	enum { FEWEST = 40, MOST = 10000 }; /* with fewer, lines would be single words */
	const char *told = getenv("COLUMNS");
	struct winsize size = {.ws_col = 0};
	long columns = told ? strtol(told, NULL, 10) : 0;

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
