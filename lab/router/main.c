/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * inkling-router: the films of the evaluation of routers, its cells, and its page. scripts/evaluate-router runs the cells
 * of the study "grid", scripts/demo-router those of "demo" and "quick".
 *
 *     inkling-router plan STUDY FOLDER              makes the clips; prints the cells that were not run
 *     inkling-router score STUDY FOLDER             decodes what arrived in the cells; again for each line that it reads
 *     inkling-router report STUDY FOLDER [FILE]     the same; then prints the tables, and writes a page
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lab/progress.h"
#include "lab/router/evaluation.h"
#include "lab/show.h"

static int usage(void)
{
	fputs("usage: inkling-router plan|score STUDY FOLDER\n       inkling-router report STUDY FOLDER [FILE]\n",
	      stderr);
	return 2;
}

static int failed(const char *what)
{
	fprintf(stderr, "inkling-router: %s\n", what);
	return 1;
}

static int score(struct lab *lab, struct page *page)
{
	(void)page;
	return evaluation_score((struct evaluation *)lab);
}

static const struct experiment experiment_score = {
	.name = "score", .title = "", .where = "", .shows = "", .seconds = {1, 1, 1}, .run = score};

static int write_page(const struct page *page, const char *path)
{
	FILE *to = fopen(path, "w");
	int error = !to;

	if (to) {
		show_page_alone(page, to);
		error = ferror(to);
		error |= fclose(to);
	}
	return error ? failed(path) : 0;
}

static int run(struct evaluation *e, const struct experiment *experiment, const char *file)
{
	struct page *page = page_new(experiment);
	int code = 0;

	e->lab.progress = progress_new(NULL, NULL);
	progress_expect(e->lab.progress, experiment, e->lab.size);
	if (lab_run(&e->lab, experiment, page))
		code = failed(progress_failure(e->lab.progress));
	else if (experiment != &experiment_score)
		show_text(page, 0, stdout);
	if (!code && file)
		code = write_page(page, file);
	progress_free(e->lab.progress);
	page_free(page);
	return code;
}

/* Films take seconds to make, so one process scores what comes in while cells are run. */
static int follow(struct evaluation *e)
{
	int code = run(e, &experiment_score, NULL);

	for (int c; !code && (c = getchar()) != EOF;)
		if (c == '\n')
			code = run(e, &experiment_score, NULL);
	return code;
}

int main(int argc, char **argv)
{
	struct evaluation e = {.lab = {.size = LAB_NORMAL,
				       .seeds = 1,
				       .seed = 1,
				       .workers = (unsigned)sysconf(_SC_NPROCESSORS_ONLN)}};
	bool report = argc > 1 && !strcmp(argv[1], "report");
	struct ink_why why = {""};
	int code = 0;

	if (argc < 4 || argc > 4 + report || (!report && strcmp(argv[1], "plan") && strcmp(argv[1], "score")))
		return usage();
	e.study = study_named(argv[2]);
	e.folder = argv[3];
	if (!e.study)
		return usage();
	if (evaluation_open(&e, &why))
		code = failed(why.text);
	else if (*argv[1] == 'p')
		evaluation_plan(&e, stdout);
	else if (report)
		code = run(&e, strcmp(argv[2], "grid") ? &experiment_demo : &experiment_router, argv[4]);
	else
		code = follow(&e);
	evaluation_close(&e);
	return code;
}
