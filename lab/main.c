/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * inkling-lab: runs the tables and figures of the papers again, prints what it measured, and writes a report.
 *
 * The output files are tried before the work starts and replaced after it (output.h).
 */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "base/suggest.h"
#include "lab/options.h"
#include "lab/output.h"
#include "lab/progress.h"
#include "lab/show.h"
#include "sim/text.h"

struct session {
	struct request request;
	const struct experiment **chosen;
	size_t count;
	struct output html, ndjson;
};

__attribute__((format(printf, 1, 2))) static int failed(const char *format, ...)
{
	va_list args;

	fputs("inkling-lab: ", stderr);
	va_start(args, format);
	sim_put_message(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
	return LAB_FAILED;
}

/* -------------------------------------------------------------------- experiments */

static size_t count_experiments(void)
{
	size_t count = 0;

	while (lab_experiments[count])
		count++;
	return count;
}

static bool is_experiment(const char *name)
{
	for (size_t i = 0; lab_experiments[i]; i++)
		if (!strcmp(lab_experiments[i]->name, name))
			return true;
	return false;
}

static bool is_among(const char *name, char **names, int count)
{
	for (int i = 0; i < count; i++)
		if (!strcmp(names[i], name))
			return true;
	return false;
}

static int no_experiment(const char *name)
{
	struct ink_suggest near = ink_suggest(name, strlen(name));
	char hint[96];

	for (size_t i = 0; lab_experiments[i]; i++)
		ink_suggest_offer(&near, lab_experiments[i]->name);
	ink_suggest_offer(&near, "list");
	ink_suggest_offer(&near, "all");
	ink_suggest_offer(&near, "help");
	return options_usage("no experiment '%s'%s", name, ink_suggest_hint(&near, hint));
}

/* Each experiment once, in the order of the list rather than of the arguments. */
static int choose(struct session *s, char **names, int count)
{
	bool all = is_among("all", names, count);

	for (int i = 0; i < count; i++)
		if (!is_experiment(names[i]) && strcmp(names[i], "all"))
			return no_experiment(names[i]);
	s->chosen = lab_alloc(count_experiments(), sizeof *s->chosen);
	for (size_t i = 0; lab_experiments[i]; i++)
		if (all || is_among(lab_experiments[i]->name, names, count))
			s->chosen[s->count++] = lab_experiments[i];
	return LAB_DONE;
}

/* --seeds must apply to at least one of the chosen experiments. */
static int check_seeds(const struct session *s)
{
	for (size_t i = 0; i < s->count; i++)
		if (!s->chosen[i]->large)
			return LAB_DONE;
	return options_usage("--seeds does not apply to %s, which takes one large sample",
			     s->chosen[0]->name);
}

/* ------------------------------------------------------------------- the terminal */

/* Of the terminal on standard output, or as COLUMNS says; 0: unlimited. */
static int terminal_columns(void)
{
	enum { FEWEST = 40, MOST = 10000 }; /* with fewer, lines would be single words */
	const char *given = getenv("COLUMNS");
	struct winsize size = {.ws_col = 0};
	long columns = given ? strtol(given, NULL, 10) : 0;

	if (columns <= 0 && isatty(STDOUT_FILENO) && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0)
		columns = size.ws_col;
	if (columns <= 0)
		return 0;
	return columns < FEWEST ? FEWEST : columns > MOST ? MOST : (int)columns;
}

static int longest_where(void)
{
	size_t longest = 0;

	for (size_t i = 0; lab_experiments[i]; i++) {
		size_t length = strlen(lab_experiments[i]->where);

		longest = length > longest ? length : longest;
	}
	return (int)longest;
}

/* On a narrow terminal the title goes below its experiment. */
static int list(void)
{
	enum { WIDE = 140 }; /* columns of the list with its longest title */
	int width = longest_where(), columns = terminal_columns(), narrow = columns && columns < WIDE;
	char quick[SHOW_SECONDS], normal[SHOW_SECONDS];

	printf("%-17s %-*s %8s %7s%s\n", "name", width, "paper", "--quick", "normal",
	       narrow ? "" : "  title");
	for (size_t i = 0; lab_experiments[i]; i++) {
		const struct experiment *e = lab_experiments[i];

		printf("%-17s %-*s %8s %7s%s%s\n", e->name, width, e->where,
		       show_seconds(e->seconds[LAB_QUICK], quick),
		       show_seconds(e->seconds[LAB_NORMAL], normal), narrow ? "\n    " : "  ", e->title);
	}
	printf("\nTimes are for one core; all cores are used.\n");
	return LAB_DONE;
}

static double seconds_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void show_progress(const struct experiment *now, double done, void *start)
{
	double spent = seconds_now() - *(const double *)start;
	char left[SHOW_SECONDS] = "", bar[] = "....................";

	if (!isatty(STDERR_FILENO))
		return;
	memset(bar, '#', (size_t)(done * 20));
	if (done > 0.02)
		show_seconds(spent * (1 - done) / done, left);
	fprintf(stderr, "\r[%s] %3.0f %%  %-17s %s%-12s", bar, done * 100, now->name, left,
		*left ? " left" : "");
}

static void clear_progress(void)
{
	if (isatty(STDERR_FILENO))
		fprintf(stderr, "\r%72s\r", "");
}

/* -------------------------------------------------------------------------- files */

/* The next file opened would take the number of a closed standard stream. Reserve it with one that fails alike. */
static void reserve_closed_streams(void)
{
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		if (fcntl(fd, F_GETFD) < 0 && errno == EBADF)
			if (open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY) < 0)
				return;
}

static int open_files(struct session *s)
{
	struct ink_why why = {""};

	s->html.path = s->request.html;
	s->ndjson.path = s->request.ndjson;
	if (output_try(&s->html, &why) || output_try(&s->ndjson, &why))
		return failed("%s", why.text);
	if (output_is_same(&s->html, &s->ndjson))
		return options_usage("%s cannot be both the report and the NDJSON", s->request.html);
	return LAB_DONE;
}

static int write_file(struct output *output, void (*show)(const struct report *, FILE *),
		      const struct report *report)
{
	struct ink_why why = {""};
	int error = output->path ? output_begin(output, &why) : 0;

	if (output->path && !error) {
		show(report, output->file);
		error = output_end(output, &why);
	}
	return error ? failed("%s", why.text) : LAB_DONE;
}

static int close_stdout(void)
{
	struct output standard = {.path = "-", .file = stdout};
	struct ink_why why = {""};

	return output_end(&standard, &why) ? failed("%s", why.text) : LAB_DONE;
}

/* ----------------------------------------------------------------------- the work */

/* As Linux names it; elsewhere, the architecture. */
static void find_processor(char *name, size_t size)
{
	FILE *info = fopen("/proc/cpuinfo", "r");
	struct utsname system;
	char line[256];

	snprintf(name, size, "%s", uname(&system) ? "unknown processor" : system.machine);
	while (info && fgets(line, sizeof line, info))
		if (!strncmp(line, "model name", 10) && strchr(line, ':')) {
			line[strcspn(line, "\n")] = 0;
			snprintf(name, size, "%s", strchr(line, ':') + 2);
			break;
		}
	if (info)
		fclose(info);
}

static bool prints_tables(const struct session *s)
{
	return !output_is_stdout(&s->ndjson) && !output_is_stdout(&s->html);
}

static int run_one(struct session *s, const struct experiment *experiment, struct page *page)
{
	int error = lab_run(&s->request.lab, experiment, page);

	clear_progress();
	if (error)
		return failed("%s: %s", experiment->name, progress_failure(s->request.lab.progress));
	if (prints_tables(s)) {
		show_text(page, terminal_columns(), stdout);
		fflush(stdout);
	}
	return LAB_DONE;
}

static int write_report(struct session *s, const struct report *report)
{
	struct tally tally = tally_pages(report->pages, report->count);

	if (tally.claims && prints_tables(s))
		printf("%u of %u claims met%s%s\n", tally.met, tally.claims,
		       tally.skipped ? ", some parts skipped" : "",
		       s->html.path ? "" : "; --html FILE draws the plots");
	if (write_file(&s->html, show_html, report))
		return LAB_FAILED;
	return write_file(&s->ndjson, show_ndjson, report);
}

/* Experiments that ended before one failed are still reported. */
static int run_all(struct session *s)
{
	struct lab *lab = &s->request.lab;
	struct report report = {
		.lab = lab, .pages = lab_alloc(s->count, sizeof *report.pages), .when = time(NULL)};
	double start = seconds_now();
	int result = LAB_DONE;

	find_processor(report.processor, sizeof report.processor);
	lab->progress = progress_new(show_progress, &start);
	for (size_t i = 0; i < s->count; i++)
		progress_expect(lab->progress, s->chosen[i], lab->size);
	for (size_t i = 0; i < s->count && !result; i++) {
		struct page *page = report.pages[report.count++] = page_new(s->chosen[i]);

		result = run_one(s, s->chosen[i], page);
	}
	report.seconds = seconds_now() - start;
	if (write_report(s, &report))
		result = LAB_FAILED;
	for (size_t i = 0; i < report.count; i++)
		page_free(report.pages[i]);
	free(report.pages);
	progress_free(lab->progress);
	return result;
}

static int run(struct session *s, char **names, int count)
{
	int result = choose(s, names, count);

	if (!result && s->request.repeats)
		result = check_seeds(s);
	if (!result)
		result = open_files(s);
	if (!result)
		result = run_all(s);
	free(s->chosen);
	output_free(&s->html);
	output_free(&s->ndjson);
	return result;
}

int main(int argc, char **argv)
{
	struct session s = {.count = 0};
	int result;

	reserve_closed_streams();
	result = options_read(&s.request, argc, argv);
	if (!result && is_among("list", argv + optind, argc - optind))
		result = argc == 2 ? list() : options_usage("'list' takes no other argument");
	else if (!result)
		result = run(&s, argv + optind, argc - optind);
	if (result == LAB_HELPED)
		result = LAB_DONE;
	return result ? result : close_stdout();
}
