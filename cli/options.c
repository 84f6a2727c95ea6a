/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The command line. Each command has a table of its options: how the value of
 * each is written, and which field receives it. All commands are read here, so
 * they accept the same values and reject them with the same words: the option,
 * the value, and what a value looks like. Whether the options fit together is for
 * the command to decide.
 */
#include <ctype.h>
#include <errno.h>
#include <float.h>
#include <getopt.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/suggest.h"
#include "cli/cli.h"

/* --------------------------------------------------------------------- numbers */

/* A number without a sign, and the text after it. strtod alone would also accept blanks, "inf" and hexadecimals. */
static int parse(const char *text, double *number, const char **rest)
{
	char *end;

	if ((!isdigit((unsigned char)*text) && *text != '.') || strpbrk(text, "xX"))
		return -EINVAL;
	errno = 0;
	*number = strtod(text, &end);
	*rest = end;
	return end == text || errno || !isfinite(*number) ? -EINVAL : 0;
}

/* The value of a suffix, or 0: k, M, G, T, followed by "iB" or "B" if `bytes`. */
static double suffix(const char *text, double step, int bytes)
{
	static const char letters[] = "kMGT";
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

#define MOST 1e18 /* shape_of names it */

/* Within rounding: 0.000001 times 1e12 need not be exactly a million. */
static int is_whole(double value)
{
	return fabs(value - round(value)) <= 4 * DBL_EPSILON * value;
}

/* A size is rounded down to whole bytes. */
static int whole(const char *text, double step, int bytes, uint64_t *number)
{
	const char *rest;
	double value, unit;

	if (parse(text, &value, &rest))
		return -EINVAL;
	unit = suffix(rest, step, bytes);
	value *= unit;
	if (unit <= 0 || value > MOST || (value > 0 && value < 1) || (!bytes && !is_whole(value)))
		return -EINVAL;
	*number = (uint64_t)(bytes ? value : round(value));
	return 0;
}

int cli_digits(const char *text, uint64_t *number)
{
	char *end;

	if (!isdigit((unsigned char)*text))
		return -EINVAL;
	errno = 0;
	*number = strtoull(text, &end, 10);
	return *end || errno ? -EINVAL : 0;
}

int cli_number(const char *text, uint64_t *number)
{
	return whole(text, 1000, 0, number);
}

int cli_size(const char *text, uint64_t *bytes)
{
	return whole(text, 1024, 1, bytes);
}

/* "0.001", "0.1%", "1e-3", "1/1024": 0 to 1. */
static int part_of(const char *text, double *part)
{
	const char *rest;
	double below = 1;

	if (parse(text, part, &rest))
		return -EINVAL;
	if (*rest == '/') {
		if (parse(rest + 1, &below, &rest))
			return -EINVAL;
	} else if (*rest == '%') {
		below = 100;
		rest++;
	}
	*part /= below;
	return !*rest && *part <= 1 ? 0 : -EINVAL;
}

static int share_of(const char *text, double *share)
{
	return part_of(text, share) == 0 && *share > 0 && *share < 1 ? 0 : -EINVAL;
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

static int time_of(const char *text, uint64_t *nanoseconds)
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

/* ---------------------------------------------------------------------- values */

static int choose(const struct cli_option *o, const char *text, unsigned *choice)
{
	for (unsigned i = 0; o->words[i]; i++)
		if (!strcmp(o->words[i], text)) {
			*choice = (unsigned)o->least + i;
			return 0;
		}
	return -EINVAL;
}

static int is_within(const struct cli_option *o, uint64_t number)
{
	return number >= o->least && (!o->most || number <= o->most);
}

/* CLI_SMALL fills an unsigned int, the others 64 bits. */
static int take_number(const struct cli_option *o, const char *text, void *field)
{
	uint64_t number;
	int error = o->how == CLI_SMALL
			    ? cli_digits(text, &number)
			    : whole(text, o->how == CLI_SIZE ? 1024 : 1000, o->how == CLI_SIZE, &number);

	if (error || !is_within(o, number))
		return -EINVAL;
	if (o->how == CLI_SMALL)
		*(unsigned *)field = (unsigned)number;
	else
		*(uint64_t *)field = number;
	return 0;
}

static int take(const struct cli_option *o, const char *text, void *field)
{
	switch (o->how) {
	case CLI_FLAG:
		*(int *)field = 1;
		return 0;
	case CLI_WORD:
		*(const char **)field = text;
		return *text ? 0 : -EINVAL;
	case CLI_SHARE:
		return share_of(text, field);
	case CLI_PART:
		return part_of(text, field);
	case CLI_TIME:
		return time_of(text, field);
	case CLI_CHOICE:
		return choose(o, text, field);
	case CLI_OWN:
		return o->take(text, field);
	default:
		return take_number(o, text, field);
	}
}

/* "1500", "60k", "100M" */
static const char *show_limit(uint64_t limit, char text[24])
{
	const char *unit = "";

	if (limit && limit % 1000000 == 0) {
		limit /= 1000000;
		unit = "M";
	} else if (limit >= 10000 && limit % 1000 == 0) {
		limit /= 1000;
		unit = "k";
	}
	snprintf(text, 24, "%llu%s", (unsigned long long)limit, unit);
	return text;
}

/* What a value looks like. */
static const char *shape_of(const struct cli_option *o, char *text, size_t size)
{
	static const char *const shapes[] = {
		[CLI_NUMBER] = "a whole number from 1 to 1e18, such as 1500, 1.5M or 1e6",
		[CLI_SIZE] = "a size up to 1e18 bytes, such as 512k, 4M or 1.5G",
		[CLI_SHARE] = "a share between 0 and 1, such as 0.001, 0.1% or 1/1024",
		[CLI_PART] = "a share from 0 to 1, such as 0.1, 10% or 1/10",
		[CLI_TIME] = "a time, such as 50ms, 60s or 2min",
		[CLI_WORD] = "a file name"};
	char least[24], most[24];

	if (o->shape)
		return o->shape;
	if (o->how == CLI_CHOICE)
		cli_list_words(o->words, text, size);
	else if (o->most)
		snprintf(text, size, "a number from %s to %s", show_limit(o->least, least),
			 show_limit(o->most, most));
	else if (o->how == CLI_NUMBER && !o->least)
		snprintf(text, size, "a whole number from 0 to 1e18, such as 1500, 1.5M or 1e6");
	else
		return shapes[o->how];
	return text;
}

/* ----------------------------------------------------------------------- messages */

static const char *dashes(const struct cli_option *o)
{
	return o->name[1] ? "--" : "-";
}

static int no_value(const struct cli_line *line, const struct cli_option *o, const char *text)
{
	struct ink_suggest near = ink_suggest(text, strlen(text));
	char shape[100], hint[96];

	for (unsigned i = 0; o->how == CLI_CHOICE && o->words[i]; i++)
		ink_suggest_offer(&near, o->words[i]);
	return cli_usage(line->command, "%s%s '%s': invalid value; expected %s%s", dashes(o), o->name, text,
			 shape_of(o, shape, sizeof shape), ink_suggest_hint(&near, hint));
}

static int value_missing(const struct cli_line *line, const struct cli_option *o, const char *word)
{
	char shape[100];

	return cli_usage(line->command, "'%s' needs a value: %s", word, shape_of(o, shape, sizeof shape));
}

enum { FIRST_LONG = 256, HELP = 'h' }; /* the numbers of options: letters are their own */

/* At a letter that is not the last of its word, getopt_long still points to that word. */
static int is_letter_of(const char *word)
{
	return word && word[0] == '-' && word[1] != '-' && strlen(word) > 2 && optopt < FIRST_LONG &&
	       strchr(word + 1, optopt);
}

/* The long options that begin with the word, as "--a, --b and --c"; how many. */
static unsigned begins_with(const struct cli_line *line, const char *word, char *text, size_t size)
{
	size_t length = strcspn(word, "="), n = 0;
	unsigned found = 0;
	const char *last = NULL;

	for (unsigned i = 0; i < line->n; i++) {
		const char *name = line->options[i].name;

		if (length <= 2 || !name[1] || strncmp(name, word + 2, length - 2))
			continue;
		if (last && n < size)
			n += (size_t)snprintf(text + n, size - n, "%s--%s", found > 1 ? ", " : "", last);
		last = name;
		found++;
	}
	if (last && n < size)
		snprintf(text + n, size - n, "%s--%s", found > 1 ? " and " : "", last);
	return found;
}

/* The option of one letter that other programs have by this long name, or NULL. */
static const struct cli_option *letter_for(const struct cli_line *line, const char *name, size_t length)
{
	char blanked[INK_SUGGEST_MAX + 3];

	if (length > INK_SUGGEST_MAX)
		return NULL;
	snprintf(blanked, sizeof blanked, " %.*s ", (int)length, name);
	for (unsigned i = 0; i < line->n; i++)
		if (line->options[i].longer && strstr(line->options[i].longer, blanked))
			return &line->options[i];
	return NULL;
}

/* Long names are compared without their dashes, which would count as matching letters. */
static int no_such_option(const struct cli_line *line, const char *word)
{
	size_t length = strcspn(word + 2, "=");
	struct ink_suggest near = ink_suggest(word + 2, length);
	const struct cli_option *letter = letter_for(line, word + 2, length);

	if (letter)
		return cli_usage(line->command, "unknown option '%s'; did you mean '-%s'?", word,
				 letter->name);
	for (unsigned i = 0; i < line->n; i++)
		if (line->options[i].name[1])
			ink_suggest_offer(&near, line->options[i].name);
	ink_suggest_offer(&near, "help");
	if (!near.best)
		return cli_usage(line->command, "unknown option '%s'", word);
	return cli_usage(line->command, "unknown option '%s'; did you mean '--%s'?", word, near.best);
}

/* getopt_long has returned '?'. */
static int no_option(const struct cli_line *line, char **argv)
{
	const char *word = argv[optind - 1];
	char several[200];

	if (!optopt && begins_with(line, word, several, sizeof several) > 1)
		return cli_usage(line->command, "'%s' is ambiguous: %s", word, several);
	if (optopt && (strncmp(word, "--", 2) != 0 || is_letter_of(argv[optind])))
		return cli_usage(line->command, "unknown option '-%c'", optopt);
	if (optopt && strchr(word, '='))
		return cli_usage(line->command, "'%s': this option takes no value", word);
	return no_such_option(line, word);
}

/* ---------------------------------------------------------------------- the line */

struct spelling {
	char letters[3 * CLI_OPTIONS_MOST];
	struct option words[CLI_OPTIONS_MOST + 2];
};

/* As getopt_long wants them. With ':' in front it tells unknown options from those that lack their value. */
static void spell(const struct cli_line *line, struct spelling *s)
{
	unsigned words = 0, letters = 0;

	s->letters[letters++] = ':';
	s->letters[letters++] = HELP;
	for (unsigned i = 0; i < line->n; i++) {
		const struct cli_option *o = &line->options[i];
		int value = o->how == CLI_FLAG ? no_argument : required_argument;

		if (o->name[1]) {
			s->words[words++] = (struct option){o->name, value, NULL, FIRST_LONG + (int)i};
			continue;
		}
		s->letters[letters++] = o->name[0];
		if (value == required_argument)
			s->letters[letters++] = ':';
	}
	s->letters[letters] = 0;
	s->words[words++] = (struct option){"help", no_argument, NULL, HELP};
	s->words[words] = (struct option){NULL, 0, NULL, 0};
}

static unsigned number_of(const struct cli_line *line, int option)
{
	unsigned i = 0;

	if (option >= FIRST_LONG)
		return (unsigned)(option - FIRST_LONG);
	while (line->options[i].name[0] != option || line->options[i].name[1])
		i++;
	return i;
}

/*
 * A repeated number replaces the earlier one: a script can append its own. A repeated file is an error, since one of
 * the two would be ignored.
 */
static int take_option(struct cli_line *line, unsigned i, const char *text)
{
	const struct cli_option *o = &line->options[i];

	if (o->how == CLI_WORD && line->given[i])
		return cli_usage(line->command, "%s%s is given twice: %s and %s", dashes(o), o->name,
				 line->given[i], text);
	if (take(o, text, (char *)line->request + o->at))
		return no_value(line, o, text);
	line->given[i] = text ? text : "";
	return CLI_DONE;
}

int cli_options(struct cli_line *line, int argc, char **argv)
{
	struct spelling s;
	int option, error = CLI_DONE;

	spell(line, &s);
	opterr = 0;
	while (!error && (option = getopt_long(argc, argv, s.letters, s.words, NULL)) != -1) {
		if (option == HELP)
			return fputs(line->command->help, stdout), CLI_HELPED;
		if (option == '?')
			return no_option(line, argv);
		if (option == ':')
			return value_missing(line, &line->options[number_of(line, optopt)], argv[optind - 1]);
		error = take_option(line, number_of(line, option), optarg);
	}
	return error;
}

int cli_nothing_more(const struct cli_line *line, int argc, char **argv)
{
	return optind < argc ? cli_usage(line->command, "unexpected argument '%s'", argv[optind]) : CLI_DONE;
}

int cli_given(const struct cli_line *line, const char *name)
{
	for (unsigned i = 0; i < line->n; i++)
		if (!strcmp(line->options[i].name, name))
			return line->given[i] != NULL;
	return 0;
}
