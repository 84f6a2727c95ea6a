/* SPDX-License-Identifier: BSD-2-Clause */
/* inkling reproduce: the tables and figures of the papers, run again, and a report of what came out. */
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "lab/progress.h"
#include "cli/cli.h"
#include "lab/show.h"

static const char help[] =
	"usage: inkling reproduce NAME... [OPTIONS]\n"
	"       inkling reproduce all [OPTIONS]\n"
	"       inkling reproduce list\n"
	"\n"
	"Runs experiments of the papers and puts the paper's number, ours, and what the\n"
	"better structures do on the same work side by side. 'list' says what there is,\n"
	"where it stands in the paper, and how long it takes.\n"
	"\n"
	"  --quick           smaller, all of them in two minutes\n"
	"  --full            larger than the papers where that is worth it\n"
	"  --seeds N         repetitions (default 3)\n"
	"  --seed N          the first seed (default 1); the same gives the same numbers\n"
	"  --html FILE       write a report with plots; it needs no other file\n"
	"  -o FILE           write NDJSON (for both, - = standard output, without tables)\n"
	"  -j N              threads (default: one for each core)\n"
	"\n"
	"example: inkling reproduce table1 --quick --html report.html\n";

enum { MOST_SEEDS = 100, MOST_WORKERS = 256 };
enum { LIST_COLUMNS = 140 }; /* what the list takes, with the longest title */

struct wish {
	struct lab lab;
	int quick, full, repeats;
	const char *html, *ndjson;
	FILE *html_file, *ndjson_file;
	const struct experiment **chosen;
	size_t count;
};

/* ---------------------------------------------------------------------- choosing */

static size_t how_many(void)
{
	size_t count = 0;

	while (paper_experiments[count])
		count++;
	return count;
}

static const struct experiment *find(const char *name)
{
	for (size_t i = 0; paper_experiments[i]; i++)
		if (!strcmp(paper_experiments[i]->name, name))
			return paper_experiments[i];
	return NULL;
}

static bool is_among(const char *name, char **names, int count)
{
	for (int i = 0; i < count; i++)
		if (!strcmp(names[i], name))
			return true;
	return false;
}

/* Each once, in the order of the list and not of the arguments. */
static int choose(struct wish *wish, char **names, int count)
{
	bool all = is_among("all", names, count);

	for (int i = 0; i < count; i++)
		if (!find(names[i]) && strcmp(names[i], "all"))
			return cli_usage(&cli_reproduce,
					 "no experiment '%s'; 'inkling reproduce list' has the names",
					 names[i]);
	wish->chosen = lab_alloc(how_many(), sizeof *wish->chosen);
	for (size_t i = 0; paper_experiments[i]; i++)
		if (all || is_among(paper_experiments[i]->name, names, count))
			wish->chosen[wish->count++] = paper_experiments[i];
	return CLI_DONE;
}

/* Repetitions are for one of the chosen at least. */
static int check_seeds(const struct wish *wish)
{
	for (size_t i = 0; i < wish->count; i++)
		if (!wish->chosen[i]->large)
			return CLI_DONE;
	return cli_usage(&cli_reproduce, "--seeds is for experiments that are repeated, and %s is not",
			 wish->chosen[0]->name);
}

/* "40 s", "12 min". */
static const char *show_seconds(double seconds, char *text, size_t size)
{
	if (seconds < 90)
		snprintf(text, size, "%.0f s", seconds < 1 ? 1 : seconds);
	else
		snprintf(text, size, "%.0f min", seconds / 60);
	return text;
}

/* Of the second column: what stands in it is of any length. */
static int widest_where(void)
{
	size_t widest = 0;

	for (size_t i = 0; paper_experiments[i]; i++) {
		size_t width = strlen(paper_experiments[i]->where);

		widest = width > widest ? width : widest;
	}
	return (int)widest;
}

/* In a narrow terminal, what an experiment is about stands below it. */
static int list(void)
{
	int width = widest_where(), columns = cli_columns(), narrow = columns && columns < LIST_COLUMNS;
	char quick[16], normal[16];

	printf("%-17s %-*s %8s %7s%s\n", "name", width, "paper", "--quick", "normal", narrow ? "" : "  what");
	for (size_t i = 0; paper_experiments[i]; i++) {
		const struct experiment *e = paper_experiments[i];

		printf("%-17s %-*s %8s %7s%s%s\n", e->name, width, e->where,
		       show_seconds(e->seconds[LAB_QUICK], quick, sizeof quick),
		       show_seconds(e->seconds[LAB_NORMAL], normal, sizeof normal), narrow ? "\n    " : "  ",
		       e->title);
	}
	printf("\nTimes are for one core; all cores are used.\n");
	return CLI_DONE;
}

/* ----------------------------------------------------------------------- options */

#define AT(field) offsetof(struct wish, field)

static const struct cli_option options[] = {
	{.name = "quick", .how = CLI_FLAG, .at = AT(quick)},
	{.name = "full", .how = CLI_FLAG, .at = AT(full)},
	{.name = "seeds", .how = CLI_SMALL, .at = AT(lab.seeds), .least = 1, .most = MOST_SEEDS},
	{.name = "seed", .how = CLI_NUMBER, .at = AT(lab.seed), .least = 1},
	{.name = "html", .how = CLI_WORD, .at = AT(html)},
	{.name = "o", .how = CLI_WORD, .at = AT(ndjson)},
	{.name = "j", .how = CLI_SMALL, .at = AT(lab.workers), .least = 1, .most = MOST_WORKERS},
};

static int read_options(struct wish *wish, int argc, char **argv)
{
	struct cli_line line = {&cli_reproduce, options, sizeof options / sizeof options[0], wish, {NULL}};
	int error = cli_options(&line, argc, argv);

	if (error)
		return error;
	if (wish->quick && wish->full)
		return cli_usage(&cli_reproduce, "--quick and --full contradict each other");
	if (optind == argc)
		return cli_usage(&cli_reproduce,
				 "which experiment? 'all', or names of 'inkling reproduce list'");
	wish->repeats = cli_given(&line, "seeds");
	wish->lab.size = wish->quick ? LAB_QUICK : wish->full ? LAB_FULL : LAB_NORMAL;
	return CLI_DONE;
}

static bool is_stdout(const char *path)
{
	return path && !strcmp(path, "-");
}

/* For appending, so that what a file has stays until there is something better. */
static int open_file(const char *path, FILE **file)
{
	if (path)
		*file = is_stdout(path) ? stdout : fopen(path, "a");
	return path && !*file ? cli_failed("%s: %s", path, strerror(errno)) : CLI_DONE;
}

/* Before the work: who mistypes a folder should not learn it in half an hour. */
static int open_files(struct wish *wish)
{
	if (open_file(wish->html, &wish->html_file) || open_file(wish->ndjson, &wish->ndjson_file))
		return CLI_FAILED;
	if (cli_same_file(wish->html, wish->ndjson) || (is_stdout(wish->html) && is_stdout(wish->ndjson)))
		return cli_usage(&cli_reproduce, "%s cannot be both the report and the NDJSON", wish->html);
	return CLI_DONE;
}

/* Now the old content goes. A pipe or a device has none. */
static int empty(FILE *file, const char *path)
{
	if (!file || file == stdout || !ftruncate(fileno(file), 0) || errno == EINVAL)
		return CLI_DONE;
	return cli_failed("%s: %s", path, strerror(errno));
}

/* ---------------------------------------------------------------------- progress */

static double seconds_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void watch(const struct experiment *now, double done, void *user)
{
	double spent = seconds_now() - *(const double *)user;
	char left[16] = "", bar[21] = "....................";

	if (!isatty(STDERR_FILENO))
		return;
	memset(bar, '#', (size_t)(done * 20));
	if (done > 0.02)
		show_seconds(spent * (1 - done) / done, left, sizeof left);
	fprintf(stderr, "\r[%s] %3.0f %%  %-17s %s%-12s", bar, done * 100, now->name, left,
		*left ? " left" : "");
}

static void watch_end(void)
{
	if (isatty(STDERR_FILENO))
		fprintf(stderr, "\r%72s\r", "");
}

/* --------------------------------------------------------------------- the command */

static bool has_tables(const struct wish *wish)
{
	return !is_stdout(wish->ndjson) && !is_stdout(wish->html);
}

static int run_one(struct wish *wish, const struct experiment *experiment, struct page *page)
{
	int error = board_run(&wish->lab, experiment, page);

	watch_end();
	if (error)
		return cli_failed("%s: %s", experiment->name, board_why(wish->lab.board));
	if (has_tables(wish)) {
		show_text(page, cli_columns(), stdout);
		fflush(stdout);
	}
	return CLI_DONE;
}

static int conclude(const struct wish *wish, const struct report *report)
{
	struct tally tally = tally_claims(report->pages, report->count);

	if (tally.claims && has_tables(wish))
		printf("%u of %u claims met%s%s\n", tally.met, tally.claims,
		       tally.skipped ? ", some parts skipped" : "",
		       wish->html ? "" : "; --html FILE draws the plots");
	if (empty(wish->html_file, wish->html) || empty(wish->ndjson_file, wish->ndjson))
		return CLI_FAILED;
	if (wish->html_file)
		show_html(report, wish->html_file);
	if (wish->ndjson_file)
		show_ndjson(report, wish->ndjson_file);
	return CLI_DONE;
}

/* What was done before something failed is still reported. */
static int run_all(struct wish *wish)
{
	struct report report = {.lab = &wish->lab, .pages = lab_alloc(wish->count, sizeof *report.pages)};
	double start = seconds_now();
	int result = CLI_DONE;

	wish->lab.board = board_new(watch, &start);
	for (size_t i = 0; i < wish->count; i++)
		board_expect(wish->lab.board, wish->chosen[i], wish->lab.size);
	for (size_t i = 0; i < wish->count && !result; i++) {
		struct page *page = report.pages[report.count++] = page_new(wish->chosen[i]);

		result = run_one(wish, wish->chosen[i], page);
	}
	if (conclude(wish, &report))
		result = CLI_FAILED;
	for (size_t i = 0; i < report.count; i++)
		page_free(report.pages[i]);
	free(report.pages);
	board_free(wish->lab.board);
	return result;
}

static unsigned cores(void)
{
	long online = sysconf(_SC_NPROCESSORS_ONLN);

	return online < 1 ? 1 : online > MOST_WORKERS ? MOST_WORKERS : (unsigned)online;
}

static int run(int argc, char **argv)
{
	struct wish wish = {.lab = {.size = LAB_NORMAL, .seeds = 3, .seed = 1, .workers = cores()}};
	int result = read_options(&wish, argc, argv);

	if (result)
		return result;
	if (is_among("list", argv + optind, argc - optind))
		return argc == 2 ? list() : cli_usage(&cli_reproduce, "'list' stands alone");
	result = choose(&wish, argv + optind, argc - optind);
	if (!result && wish.repeats)
		result = check_seeds(&wish);
	if (!result)
		result = open_files(&wish);
	if (!result)
		result = run_all(&wish);
	free(wish.chosen);
	if (wish.html_file && cli_close(wish.html_file, wish.html))
		result = CLI_FAILED;
	if (wish.ndjson_file && cli_close(wish.ndjson_file, wish.ndjson))
		result = CLI_FAILED;
	return result;
}

const struct cli_command cli_reproduce = {"reproduce", "runs the papers' experiments, and reports", help,
					  run};
