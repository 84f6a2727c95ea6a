/* SPDX-License-Identifier: BSD-2-Clause */
#include "cli.h"

#include <errno.h>
#include <getopt.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
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

/* At a letter that is not the last of its word, getopt_long has not gone on to the next word yet. */
static int is_within(const char *word)
{
	return word && word[0] == '-' && word[1] != '-' && strlen(word) > 2 && strchr(word + 1, optopt);
}

int cli_bad_option(const struct cli_command *command, int stopped, char **argv)
{
	const char *word = argv[optind - 1];

	if (stopped == ':')
		return cli_usage(command, "'%s' wants a value", word);
	if (optopt && (strncmp(word, "--", 2) != 0 || is_within(argv[optind])))
		return cli_usage(command, "'-%c' is no option", optopt);
	if (optopt && strchr(word, '='))
		return cli_usage(command, "'%s': this option takes no value", word);
	return cli_usage(command, "'%s' is no option", word);
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

/* --------------------------------------------------------------------- numbers */

/* A number that is not negative, and what stands behind it. */
static int parse(const char *text, double *number, const char **rest)
{
	char *end;

	errno = 0;
	*number = strtod(text, &end);
	*rest = end;
	return end == text || errno || !isfinite(*number) || *number < 0 ? -EINVAL : 0;
}

/* The value of a suffix, or 0: k, M, G, with "iB" or "B" behind if `bytes`. */
static double suffix(const char *text, double step, int bytes)
{
	static const char letters[] = "kMG";
	double value = 1;
	const char *at = *text ? strchr(letters, *text == 'K' ? 'k' : *text) : NULL;

	if (at) {
		value = pow(step, (double)(at - letters + 1));
		text++;
	}
	if (bytes && (!strcmp(text, "B") || (at && !strcmp(text, "iB"))))
		return value;
	return *text ? 0 : value;
}

static int whole(const char *text, double step, int bytes, uint64_t *number)
{
	const char *rest;
	double value, unit;

	if (parse(text, &value, &rest))
		return -EINVAL;
	unit = suffix(rest, step, bytes);
	value = floor(value * unit);
	if (unit <= 0 || value < 1 || value > 1e18)
		return -EINVAL;
	*number = (uint64_t)value;
	return 0;
}

int cli_number(const char *text, uint64_t *number)
{
	return whole(text, 1000, 0, number);
}

int cli_size(const char *text, uint64_t *bytes)
{
	return whole(text, 1024, 1, bytes);
}

int cli_count(const char *text, uint64_t *count)
{
	*count = 0;
	return !strcmp(text, "0") ? 0 : cli_number(text, count);
}

int cli_small(const char *text, unsigned most, unsigned *number)
{
	char *end;
	unsigned long value = strtoul(text, &end, 10);

	if (*text < '0' || *text > '9' || *end || value > most)
		return -EINVAL;
	*number = (unsigned)value;
	return 0;
}

int cli_part(const char *text, double *part)
{
	const char *rest;

	if (parse(text, part, &rest))
		return -EINVAL;
	if (!strcmp(rest, "%"))
		*part /= 100;
	else if (*rest)
		return -EINVAL;
	return *part <= 1 ? 0 : -EINVAL;
}

int cli_share(const char *text, double *share)
{
	return cli_part(text, share) == 0 && *share > 0 && *share < 1 ? 0 : -EINVAL;
}

static double unit_of_time(const char *name)
{
	static const struct {
		const char *name;
		double nanoseconds;
	} units[] = {{"", 1e9}, {"s", 1e9},    {"ms", 1e6},  {"us", 1e3},
		     {"ns", 1}, {"min", 60e9}, {"h", 3600e9}};

	for (unsigned i = 0; i < sizeof units / sizeof units[0]; i++)
		if (!strcmp(units[i].name, name))
			return units[i].nanoseconds;
	return 0;
}

int cli_time(const char *text, uint64_t *nanoseconds)
{
	const char *rest;
	double value, unit;

	if (parse(text, &value, &rest))
		return -EINVAL;
	unit = unit_of_time(rest);
	if (unit <= 0 || value * unit > 1e18)
		return -EINVAL;
	*nanoseconds = (uint64_t)(value * unit + 0.5);
	return 0;
}

const char *cli_plural(uint64_t n)
{
	return n == 1 ? "" : "s";
}

const char *cli_show_share(double share, char *text, size_t size)
{
	if (share == 0)
		snprintf(text, size, "0");
	else if (share >= 1e-5)
		snprintf(text, size, "%.2g %%", share * 100);
	else
		snprintf(text, size, "%.1e", share);
	return text;
}

/* ----------------------------------------------------------------------- kinds */

static const char *const kinds[] = {
	[INK_LINE] = "line",         [INK_COMPACT] = "compact", [INK_DLEFT] = "dleft", [INK_EXACT] = "exact",
	[INK_STATEFUL] = "stateful", [INK_DIRECT] = "direct",   [INK_KBF] = "kbf"};

const char *cli_kind_name(enum ink_kind kind)
{
	return kinds[kind];
}

int cli_kind(const char *text, enum ink_kind *kind)
{
	for (unsigned i = INK_LINE; i <= INK_KBF; i++)
		if (!strcmp(text, kinds[i])) {
			*kind = (enum ink_kind)i;
			return 0;
		}
	return -EINVAL;
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

/* -------------------------------------------------------------------- progress */

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
