/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What is measured at routers (lab/router/): its cells, its clips, and what machines under qemu say of a cell, which may
 * be cut short anywhere.
 */
#include "lab/router/clip.h"
#include "lab/router/outcome.h"
#include "tests/scratch.h"
#include "tests/test.h"

/* -------------------------------------------------------------------------- cells */

static size_t count_cells(const char *study)
{
	struct router_cell cell;
	size_t n = 0;

	while (cell_at(study_named(study), n, &cell))
		n++;
	return n;
}

TEST_THAT(every_cell_has_a_name_of_its_own)
{
	char a[CELL_NAME], b[CELL_NAME];
	struct router_cell one, other;
	size_t n = count_cells("grid");

	assert_int_equal(n, 390);
	for (size_t i = 0; i < n; i++)
		for (size_t j = 0; j < i; j++) {
			assert_true(cell_at(study_named("grid"), i, &one) &&
				    cell_at(study_named("grid"), j, &other));
			cell_name(&one, a);
			cell_name(&other, b);
			assert_string_not_equal(a, b);
		}
}

/* What has to be decided is run first: 10 % too much without TCP, all policies, five seeds. */
TEST_THAT(the_first_cells_decide_most)
{
	struct router_cell cell;

	for (size_t i = 0; i < 5 * policy_count; i++) {
		assert_true(cell_at(study_named("grid"), i, &cell));
		assert_string_equal(cell.scenario->name, "10");
	}
	assert_int_equal(count_cells("quick"), 2);
	assert_null(study_named("no such study"));
}

/* -------------------------------------------------------------------------- clips */

static void write_clip(const void *bytes, size_t size)
{
	FILE *file = fopen(scratch_path(scratch_file, "clip"), "wb");

	assert_non_null(file);
	assert_int_equal(fwrite(bytes, 1, size, file), size);
	assert_int_equal(fclose(file), 0);
}

static int read_clip(const void *bytes, size_t size, struct clip *clip)
{
	int error;

	write_clip(bytes, size);
	error = clip_read(clip, scratch_file);
	if (error)
		clip_free(clip);
	return error;
}

TEST_THAT(a_clip_has_the_datagrams_that_were_written)
{
	static const char bytes[] = CLIP_MAGIC "\1\0a\2\0bc";
	struct clip clip;

	assert_int_equal(read_clip(bytes, sizeof bytes - 1, &clip), 0);
	assert_int_equal(clip.n, 2);
	assert_int_equal(clip.at[0].size, 1);
	assert_memory_equal(clip.at[1].payload, "bc", 2);
	clip_free(&clip);
}

TEST_THAT(what_is_no_clip_is_refused)
{
	static const char bytes[] = CLIP_MAGIC "\1\0a\2\0bc", empty[] = CLIP_MAGIC "\0\0",
			  large[10 + 1473] = CLIP_MAGIC "\xc1\5";
	struct clip clip;

	for (size_t size = 0; size < sizeof bytes - 1; size++)
		if (size != 11) /* where the first datagram ends */
			assert_int_equal(read_clip(bytes, size, &clip), -EILSEQ);
	assert_int_equal(read_clip(empty, sizeof empty - 1, &clip), -EILSEQ);
	assert_int_equal(read_clip(large, sizeof large, &clip), -EILSEQ);
	assert_int_equal(clip_read(&clip, "/nowhere/clip"), -ENOENT);
	clip_free(&clip);
}

/* ----------------------------------------------------------------------- outcomes */

static const char said[] = "link 20000000 bit/s\n"
			   "stream 0 6 84\n"
			   "tcp 1448 bytes in 2.0 s\n"
			   "video 1000000 bytes in 4.0 s, strange 0, late 0.5 ms\n"
			   "done\n";

TEST_THAT(what_a_cell_said_is_understood)
{
	struct film film = {.n = 6};
	struct outcome o = {.loss = 0};
	bool lost[6];

	assert_int_equal(outcome_rates(said, &o), 0);
	assert_true(o.link == 20e6 && o.video == 2e6 && o.tcp == 4 * 1514 && o.late == .5);
	assert_true(outcome_lost(said, &film, 0, lost));
	assert_true(lost[0] && !lost[1] && !lost[2] && !lost[3] && !lost[4] && lost[5]);
	assert_false(outcome_lost(said, &film, 1, lost));
	film.n = 7;
	assert_false(outcome_lost(said, &film, 0, lost)); /* of another film */
}

TEST_THAT(what_is_cut_short_is_no_outcome)
{
	char cut[sizeof said];
	struct film film = {.n = 6};
	struct outcome o;
	bool lost[6];

	for (size_t size = 0; size < sizeof said - 2; size++) {
		memcpy(cut, said, size);
		cut[size] = 0;
		assert_int_equal(outcome_rates(cut, &o), -EILSEQ);
		assert_int_equal(outcome_lost(cut, &film, 0, lost),
				 size >= strlen("link 20000000 bit/s\nstream 0 6 84"));
	}
}

TEST_THAT(a_score_that_was_saved_is_the_same)
{
	struct outcome o = {.link = 2e7,
			    .loss = .0625,
			    .of_type = {0, .5, .25, .125},
			    .psnr = 30.5,
			    .ssim = .75,
			    .shown = .5,
			    .worst = 20.25,
			    .video = 1e6,
			    .tcp = 2e6,
			    .late = .125},
		       back;
	char *line = NULL;
	size_t size;
	FILE *to = open_memstream(&line, &size);

	assert_non_null(to);
	outcome_print(&o, to);
	assert_int_equal(fclose(to), 0);
	assert_true(outcome_scan(line, &back));
	assert_memory_equal(&o, &back, sizeof o);
	line[size / 2] = 0;
	assert_false(outcome_scan(line, &back));
	free(line);
}

int main(void)
{
	return run_suite(&(struct suite){.begin = scratch_make, .end = scratch_remove});
}
