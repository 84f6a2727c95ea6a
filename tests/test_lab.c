/* SPDX-License-Identifier: BSD-2-Clause */
/* The laboratory and its pages: jobs, seeds, numbers, and the three ways in which a page is shown. */
#include <math.h>

#include "lab/progress.h"
#include "lab/show.h"
#include "tests/test.h"

/* --------------------------------------------------------------- an experiment */

enum { JOBS = 100 };

static int draw(struct lab *lab, void *context, size_t number)
{
	((uint64_t *)context)[number] = lab_seed(lab, 7, number);
	return 0;
}

static int fail_some(struct lab *lab, void *context, size_t number)
{
	*(_Atomic unsigned *)context += 1;
	return number == 5 ? lab_fail(lab, -ERANGE, "job %zu is too large", number) : 0;
}

static uint64_t drawn[JOBS];

static int run_sample(struct lab *lab, struct page *page)
{
	static const struct page_column columns[] = {
		{"structure", NULL, 0}, {"paper", "%", 3}, {"ours", "%", 3}};
	const double values[] = {1, 2, 6};
	int error = lab_each(lab, JOBS, draw, drawn);
	struct page_table *table;
	struct page_series *series;
	struct page_plot *plot;

	page_text(page, "Of %d jobs, with <angles> & \"quotes\".", JOBS);
	table = page_table(page, "rows", "Errors", columns, 3);
	page_row(table);
	page_word(table, "FCF %d", 1);
	page_number(table, 3.205);
	page_spread(table, spread_of(values, 3));
	page_row(table);
	page_word(table, "a long name \\ here");
	page_blank(table);
	page_number(table, 1081344);
	plot = page_plot(page, "curve", "Errors by memory", (struct page_axis){"memory", "bit", true, 0, 0},
			 (struct page_axis){"errors", "%", true, 0, 0});
	series = page_series(plot, PAGE_LINE, STRUCTURE_DLEFT, "dleft");
	page_point(series, 1e5, 0);
	page_point_spread(series, 1e6, (struct spread){0.5, 0.25, 0.75});
	page_point(series, 2e6, NAN);
	page_point(page_series(plot, PAGE_PAPER, STRUCTURE_DLEFT, "paper"), 1e6, 0.6);
	page_verdict(page, PAGE_AGREES, "Figure 1", "It is %d.", 1);
	page_verdict(page, PAGE_DISAGREES, "Figure 2", "It is 3.");
	page_verdict(page, PAGE_IMPOSSIBLE, "Figure 4", "It would be -1.");
	page_fold(page, "Details");
	page_text(page, "Few read this.");
	page_heading(page, "More");
	page_claim(page, 0.5, PAGE_AT_MOST, 0.6, "as few errors as the paper");
	page_claim(page, 0.5, PAGE_AT_LEAST, 0.6, "as many errors as the paper");
	page_claim_within(page, 0.5, 0.4, 0.6, "about the errors of the paper");
	return error;
}

static const struct experiment sample = {
	.name = "sample",
	.title = "A sample",
	.where = "ACSM 9",
	.shows = "Nothing at all.",
	.interpretation = "As printed.",
	.seconds = {1, 2, 3},
	.run = run_sample,
};

/* How a test looks at the progress. */
static double last_done;
static unsigned watched;

static void watch(const struct experiment *now, double done, void *user)
{
	(void)user;
	assert_ptr_equal(now, &sample);
	assert_true(done >= last_done && done <= 1);
	last_done = done;
	watched++;
}

static struct lab lab_with(unsigned workers)
{
	struct lab lab = {.size = LAB_QUICK, .seeds = 3, .seed = 1, .workers = workers};

	last_done = 0;
	watched = 0;
	lab.progress = progress_new(watch, NULL);
	progress_expect(lab.progress, &sample, lab.size);
	return lab;
}

/* ------------------------------------------------------------------ laboratory */

TEST_THAT(the_same_seed_gives_the_same_numbers_on_any_number_of_threads)
{
	uint64_t before[JOBS] = {0};

	for (unsigned workers = 1; workers <= 4; workers++) {
		struct lab lab = lab_with(workers);
		struct page *page = page_new(&sample);

		memset(drawn, 0, sizeof drawn);
		assert_int_equal(lab_run(&lab, &sample, page), 0);
		if (workers > 1)
			assert_memory_equal(before, drawn, sizeof drawn);
		memcpy(before, drawn, sizeof drawn);
		assert_int_equal(watched, JOBS + 1);
		assert_true(last_done == 1);
		page_free(page);
		progress_free(lab.progress);
	}
}

TEST_THAT(no_two_parts_or_repetitions_share_a_seed)
{
	struct lab lab = {.seed = 1}, other = {.seed = 2};

	assert_int_not_equal(lab_seed(&lab, 0, 0), lab_seed(&lab, 0, 1));
	assert_int_not_equal(lab_seed(&lab, 0, 1), lab_seed(&lab, 1, 0));
	assert_int_not_equal(lab_seed(&lab, 0, 0), lab_seed(&other, 0, 0));
}

static int run_failing(struct lab *lab, struct page *page)
{
	_Atomic unsigned ran = 0;
	int error = lab_each(lab, JOBS, fail_some, &ran);

	(void)page;
	assert_int_equal(ran, JOBS);
	return error;
}

TEST_THAT(a_job_that_fails_ends_the_experiment_with_its_reason)
{
	struct experiment failing = sample;
	struct lab lab = {.size = LAB_QUICK, .seeds = 1, .seed = 1, .workers = 2};
	struct page *page;

	failing.run = run_failing;
	lab.progress = progress_new(NULL, NULL);
	progress_expect(lab.progress, &failing, lab.size);
	page = page_new(&failing);
	assert_int_equal(lab_run(&lab, &failing, page), -ERANGE);
	assert_string_equal(progress_failure(lab.progress), "job 5 is too large");
	page_free(page);
	progress_free(lab.progress);
}

/* --------------------------------------------------------------------- numbers */

TEST_THAT(numbers_are_shown_with_the_digits_that_count)
{
	static const struct {
		double number;
		int digits;
		const char *text;
	} cases[] = {{0, 3, "0"},
		     {0.00123456, 3, "0.00123"},
		     {12.345, 3, "12.3"},
		     {1234.4, 3, "1,234"},
		     {23.9999999999999, 3, "24"},
		     {1081344, 3, "1,081,344"},
		     {-12345, 3, "-12,345"},
		     {3.94e-6, 2, "3.9e-6"},
		     {1e15, 3, "1.00e15"},
		     {0.5, 3, "0.500"},
		     {7, 3, "7"},
		     {NAN, 3, "-"}};
	char text[32];

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		assert_string_equal(show_number(cases[i].number, cases[i].digits, text, sizeof text),
				    cases[i].text);
}

/* Of 2000 measurements of a known share, 20 miss it in the mean; 40 are 4.5 deviations more. */
TEST_THAT(an_interval_holds_the_truth_in_99_of_100_measurements)
{
	struct lab lab = {.seed = 1};
	unsigned missed = 0;

	for (unsigned i = 0; i < 2000; i++) {
		unsigned hits = 0;
		struct spread found;

		for (unsigned j = 0; j < 1000; j++)
			hits += lab_seed(&lab, i, j) < (uint64_t)(0.02 * 0x1p64);
		found = interval_99(hits, 1000);
		missed += found.low > 0.02 || found.high < 0.02;
	}
	assert_in_range(missed, 5, 40);
}

/* ---------------------------------------------------------------------- showing */

enum show { TEXT, NDJSON, HTML };

static int terminal; /* columns; 0: it is none */

static char *shown(enum show how)
{
	struct lab lab = lab_with(1);
	struct page *page = page_new(&sample);
	struct report report = {.lab = &lab,
				.pages = &page,
				.count = 1,
				.when = 86400,
				.seconds = 100,
				.processor = "Z80 <3>"};
	char *text = NULL;
	size_t size = 0;
	FILE *to = open_memstream(&text, &size);

	assert_int_equal(lab_run(&lab, &sample, page), 0);
	if (how == TEXT)
		show_text(page, terminal, to);
	else if (how == NDJSON)
		show_ndjson(&report, to);
	else
		show_html(&report, to);
	fclose(to);
	page_free(page);
	progress_free(lab.progress);
	return text;
}

TEST_THAT(the_terminal_gets_tables_that_line_up)
{
	char *text = shown(TEXT);

	assert_string_equal(text, "sample: A sample (ACSM 9)\n"
				  "  Nothing at all.\n"
				  "\n"
				  "  Claims and verdicts are bound to this interpretation:\n"
				  "  As printed.\n"
				  "\n"
				  "  Of 100 jobs, with <angles> & \"quotes\".\n"
				  "\n"
				  "  Errors\n"
				  "  structure           paper, %     ours, %\n"
				  "  FCF 1                   3.21  3 (1 .. 6)\n"
				  "  a long name \\ here             1,081,344\n"
				  "\n"
				  "  ACSM Figure 1: agrees\n"
				  "          It is 1.\n"
				  "\n"
				  "  ACSM Figure 2: does not agree\n"
				  "          It is 3.\n"
				  "\n"
				  "  ACSM Figure 4: the printed number cannot be right\n"
				  "          It would be -1.\n"
				  "\n"
				  "Details\n"
				  "\n"
				  "  Few read this.\n"
				  "\n"
				  "More\n"
				  "\n"
				  "  met     0.5, bound at most 0.6:\n"
				  "          as few errors as the paper\n"
				  "\n"
				  "  MISSED  0.5, bound at least 0.6:\n"
				  "          as many errors as the paper\n"
				  "\n"
				  "  met     0.5, bound 0.4 to 0.6:\n"
				  "          about the errors of the paper\n"
				  "\n");
	free(text);
}

/* Headings are broken first; then a table goes on below, and its first column says of which row. */
TEST_THAT(a_narrow_terminal_gets_them_in_parts)
{
	char *text;

	terminal = 40;
	text = shown(TEXT);
	assert_non_null(strstr(text, "  Errors\n"
				     "                      paper,\n"
				     "  structure                %     ours, %\n"
				     "  FCF 1                 3.21  3 (1 .. 6)\n"));
	free(text);
	terminal = 32;
	text = shown(TEXT);
	assert_non_null(strstr(text, "  Errors\n"
				     "                      paper,\n"
				     "  structure                %\n"
				     "  FCF 1                 3.21\n"
				     "  a long name \\ here\n"
				     "\n"
				     "  structure              ours, %\n"
				     "  FCF 1               3 (1 .. 6)\n"
				     "  a long name \\ here   1,081,344\n"));
	free(text);
	terminal = 0;
}

TEST_THAT(every_number_is_in_the_ndjson)
{
	char *text = shown(NDJSON);
	static const char *const lines[] = {
		"{\"type\":\"experiment\",\"experiment\":\"sample\",\"title\":\"A "
		"sample\",\"where\":\"ACSM 9\",\"interpretation\":\"As printed.\"}\n",
		"\"text\":\"Of 100 jobs, with <angles> & \\\"quotes\\\".\"}\n",
		"{\"type\":\"row\",\"experiment\":\"sample\",\"table\":\"rows\",\"cells\":{\"structure\":"
		"\"FCF 1\","
		"\"paper\":3.205,\"ours\":{\"middle\":3,\"low\":1,\"high\":6}}}\n",
		"\"cells\":{\"structure\":\"a long name \\\\ here\",\"paper\":null,\"ours\":1081344}}\n",
		"\"plot\":\"curve\",\"series\":\"dleft\",\"x\":1000000,\"y\":0.5,\"low\":0.25,\"high\":0.75}"
		"\n",
		"\"series\":\"dleft\",\"x\":2000000,\"y\":null}\n",
		"\"claim\":\"as few errors as the "
		"paper\",\"value\":0.5,\"at_least\":null,\"at_most\":0.6,\"met\":true}\n",
		"\"at_least\":0.6,\"at_most\":null,\"met\":false}\n",
		"{\"type\":\"summary\",\"size\":\"quick\",\"seed\":1,\"seeds\":3,\"claims\":3,\"met\":2,"
		"\"skipped\":0,\"agree\":1,\"disagree\":1,\"impossible\":1}\n",
		"{\"type\":\"verdict\",\"experiment\":\"sample\",\"of\":\"ACSM Figure 2\","
		"\"verdict\":\"does not agree\",\"text\":\"It is 3.\"}\n",
		"{\"type\":\"heading\",\"experiment\":\"sample\",\"text\":\"Details\"}\n",
	};

	for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
		if (!strstr(text, lines[i]))
			fail_msg("not in the NDJSON: %s", lines[i]);
	free(text);
}

/* Elements that have no end. */
static bool is_void(const char *name)
{
	return !strncmp(name, "meta", 4) || !strncmp(name, "link", 4) || !strncmp(name, "!DOC", 4);
}

/* Tags nest; what ends is what began last. */
static void assert_nested(const char *html)
{
	const char *open[64];
	size_t depth = 0;

	for (const char *at = strchr(html, '<'); at; at = strchr(at + 1, '<')) {
		const char *end = strchr(at, '>');

		assert_non_null(end);
		if (at[1] == '/') {
			size_t length = strcspn(at + 2, ">");

			assert_true(depth > 0);
			depth--;
			if (strncmp(open[depth], at + 2, length) || strcspn(open[depth], " >") != length)
				fail_msg("<%.*s> ends as <%.*s>", 12, open[depth], 12, at + 1);
		} else if (end[-1] != '/' && !is_void(at + 1)) {
			assert_true(depth < 64);
			open[depth++] = at + 1;
		}
	}
	assert_int_equal(depth, 0);
}

TEST_THAT(the_report_nests_escapes_and_asks_for_nothing)
{
	static const char *const present[] = {
		"with &lt;angles&gt; &amp; &quot;quotes&quot;",
		"class=\"cross\"",
		"class=\"whisker\"",
		"claims met: 2 of 3",
		"<b>1 missed</b>",
		"1970-01-02 00:00 UTC",
		"inkling " INK_VERSION,
		"Z80 &lt;3&gt;",
		"2 min on 1 thread",
		"<b>1</b> do not agree",
		"<li class=\"disagrees\"><b>does not agree</b><a href=\"#sample\">",
		"<summary>Details</summary>",
		"bound to this interpretation:</b> As printed."};
	static const char *const absent[] = {"http", "<script", "nan"};
	char *text = shown(HTML);

	assert_nested(text);
	for (size_t i = 0; i < sizeof present / sizeof *present; i++)
		if (!strstr(text, present[i]))
			fail_msg("not in the report: %s", present[i]);
	for (size_t i = 0; i < sizeof absent / sizeof *absent; i++)
		if (strstr(text, absent[i]))
			fail_msg("in the report: %s", absent[i]);
	free(text);
}

/* A plot of three series of one structure, and one of another. */
TEST_THAT(a_structure_has_one_colour_and_mark)
{
	struct page *page = page_new(&sample);
	struct page_plot *plot =
		page_plot(page, "p", "P", (struct page_axis){.name = "x"}, (struct page_axis){.name = "y"});
	char *text = NULL;
	size_t size = 0;
	FILE *to = open_memstream(&text, &size);

	page_series(plot, PAGE_PAPER, STRUCTURE_DLEFT, "paper");
	page_series(plot, PAGE_LINE, structure_of(INK_DLEFT), "one");
	page_series(plot, PAGE_LINE, STRUCTURE_DLEFT, "two");
	page_series(plot, PAGE_LINE, STRUCTURE_LINE, "three");
	show_plot(plot, to);
	fclose(to);
	assert_non_null(strstr(text, "<g class=\"s3 v0\"></g><g class=\"s3 v0\">"));
	assert_non_null(strstr(text, "<g class=\"s3 v1\">"));
	assert_non_null(strstr(text, "<g class=\"s4 v0\">"));
	for (enum structure a = STRUCTURE_DIRECT; a < STRUCTURE_COUNT; a++)
		for (enum structure b = STRUCTURE_DIRECT; b < a; b++)
			assert_string_not_equal(structure_name(a), structure_name(b));
	free(text);
	page_free(page);
}

int main(void)
{
	return run_suite(NULL);
}
