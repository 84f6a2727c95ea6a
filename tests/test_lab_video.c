/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The experiment `video`: its streams, its film, its scores, the children it runs, and its decisions beside
 * a table that is never mistaken. What needs ffmpeg is skipped where there is none, and compares orders,
 * for digits are ffmpeg's business.
 */
#include <math.h>

#include "lab/progress.h"
#include "lab/child.h"
#include "lab/decider.h"
#include "tests/experiment.h"
#include "tests/platform.h"
#include "lab/film.h"
#include "lab/psnr_ssim.h"
#include "sim/scene.h"
#include "sim/streams.h"
#include "lab/video_parts.h"
#include "tests/test.h"

/* ---------------------------------------------------------------------- streams */

enum { STREAMS = 500, PACKETS = 400000 };

static const struct sim_streams_options streams_options = {7, STREAMS, 3};

TEST_THAT(streams_have_the_proportions_of_the_papers_film)
{
	struct sim_streams *s = sim_streams_new(&streams_options);
	double frames[3] = {0}, bytes[3] = {0}, all_frames = 0, all_bytes = 0;

	for (unsigned i = 0; i < PACKETS; i++) {
		struct sim_stream_packet p = sim_streams_next(s);

		assert_true(p.bytes > 0 && p.bytes <= SIM_STREAM_PACKET);
		frames[p.picture] += p.starts;
		all_frames += p.starts;
		bytes[p.picture] += p.bytes;
		all_bytes += p.bytes;
	}
	/* Only groups under way at the end blur the shares: 500 of some 10,000. */
	assert_true(fabs(frames[SIM_PICTURE_I] / all_frames - 1 / 12.0) < 0.003);
	assert_true(fabs(frames[SIM_PICTURE_P] / all_frames - 3 / 12.0) < 0.003);
	/* The paper's 29, 35, 34 are 98 in all. */
	assert_true(fabs(bytes[SIM_PICTURE_I] / all_bytes - .29 / .98) < 0.01);
	assert_true(fabs(bytes[SIM_PICTURE_P] / all_bytes - .35 / .98) < 0.01);
	assert_true(fabs(bytes[SIM_PICTURE_B] / all_bytes - .34 / .98) < 0.01);
	sim_streams_free(s);
}

struct seen {
	uint64_t stream;
	unsigned pictures;
	bool alive;
};

TEST_THAT(pictures_come_in_order_and_streams_end_with_a_group)
{
	static const char order[] = "IBBPBBPBBPBB";
	static struct seen seen[STREAMS];
	struct sim_streams *s = sim_streams_new(&streams_options);
	static bool used[20000];
	uint64_t ended = 0, groups = 0;

	for (unsigned i = 0; i < PACKETS; i++) {
		struct sim_stream_packet p = sim_streams_next(s);
		struct seen *at = &seen[p.place];

		assert_true(p.place < STREAMS);
		assert_int_equal(p.first, !at->alive);
		if (p.first) {
			assert_true(p.stream < sizeof used && !used[p.stream]);
			used[p.stream] = true;
			*at = (struct seen){p.stream, 0, true};
		}
		assert_int_equal(p.stream, at->stream);
		assert_true(p.starts || at->pictures);
		at->pictures += p.starts;
		assert_int_equal("IPB"[p.picture], order[(at->pictures - 1) % SIM_GROUP]);
		if (p.last) {
			assert_int_equal(at->pictures % SIM_GROUP, 0);
			assert_in_range(at->pictures / SIM_GROUP, 1, 5);
			groups += at->pictures / SIM_GROUP;
			ended++;
			at->alive = false;
		}
	}
	/* 1 to 5 evenly: a deviation of sqrt(2); 3.3 of the mean's are 99.9 %. Long ones still run. */
	assert_true(ended > 1500);
	assert_true((double)groups / (double)ended < 3 + 3.3 * sqrt(2.0 / (double)ended));
	assert_true((double)groups / (double)ended > 3 - 3.3 * sqrt(2.0 / (double)ended) - 0.25);
	sim_streams_free(s);
}

TEST_THAT(time_goes_by_as_groups_are_sent)
{
	struct sim_streams *s = sim_streams_new(&streams_options);
	struct sim_stream_packet p = {.time = 0};
	unsigned before = 0, after = 0;
	uint64_t last = 0;

	while (p.time < 11ull * SIM_GROUP_NS) {
		p = sim_streams_next(s);
		assert_true(p.time >= last);
		last = p.time;
		before += p.time < SIM_FILL_NS;
		after += p.time >= SIM_FILL_NS;
	}
	assert_true(fabs(after / (10 * STREAMS * sim_group_packets()) - 1) < 0.01);
	assert_true(fabs(before / (0.5 * STREAMS * sim_group_packets()) - 1) <
		    0.02); /* half of them, on average */
	sim_streams_free(s);
}

TEST_THAT(the_same_seed_gives_the_same_streams)
{
	struct sim_streams *a = sim_streams_new(&streams_options), *b = sim_streams_new(&streams_options);
	struct sim_streams_options other = {8, STREAMS, 3};
	struct sim_streams *c = sim_streams_new(&other);
	unsigned different = 0;

	for (unsigned i = 0; i < 10000; i++) {
		struct sim_stream_packet p = sim_streams_next(a), q = sim_streams_next(b),
					 r = sim_streams_next(c);

		assert_true(p.stream == q.stream && p.place == q.place && p.bytes == q.bytes &&
			    p.time == q.time);
		different += p.place != r.place;
	}
	assert_true(different > 9000);
	sim_streams_free(a);
	sim_streams_free(b);
	sim_streams_free(c);
}

/* --------------------------------------------------------------- film and scores */

/* Pictures of 16 x 12 whose pixels are one value, or alternate between two. */
TEST_THAT(scores_are_what_their_formulas_say)
{
	const double stripes =
		2 * 127.5 * 127.5 * 64 / 63; /* twice the variance, and minus twice the covariance */
	const struct {
		uint8_t a[2], b[2];
		double psnr, ssim;
	} cases[] = {
		{{77, 5}, {77, 5}, 100, 1},
		/* 10 log10(255^2 / 10^2); without variance only the means count: (2ab + c1) / (a^2 + b^2 + c1). */
		{{100, 100}, {110, 110}, 28.1308036, (22000 + 6.5025) / (22100 + 6.5025)},
		{{0, 255}, {255, 0}, 0, (58.5225 - stripes) / (58.5225 + stripes)},
	};

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		uint8_t a[16 * 12], b[16 * 12];
		struct grey first = {a, 16, 12}, second = {b, 16, 12};

		for (unsigned j = 0; j < sizeof a; j++) {
			a[j] = cases[i].a[j % 2];
			b[j] = cases[i].b[j % 2];
		}
		assert_near("PSNR", grey_psnr(&first, &second), cases[i].psnr, 1e-6);
		assert_near("SSIM", grey_ssim(&first, &second), cases[i].ssim, 1e-9);
	}
}

static double psnr_of_frames(const struct sim_scene *scene, uint32_t one, uint32_t two)
{
	static uint8_t yuv[2][SIM_SCENE_BYTES];
	struct grey a = {yuv[0], SIM_SCENE_WIDTH, SIM_SCENE_HEIGHT},
		    b = {yuv[1], SIM_SCENE_WIDTH, SIM_SCENE_HEIGHT};

	sim_scene_frame(scene, one, yuv[0]);
	sim_scene_frame(scene, two, yuv[1]);
	return grey_psnr(&a, &b);
}

TEST_THAT(a_scene_moves_and_stays_the_same_scene)
{
	struct sim_scene *s = sim_scene_new(1), *other = sim_scene_new(2);
	static uint8_t a[SIM_SCENE_BYTES], b[SIM_SCENE_BYTES];

	for (uint32_t i = 0; i < 200; i += 50) {
		double near = psnr_of_frames(s, i, i + 1), far = psnr_of_frames(s, i, i + 12);

		assert_true(near < 40 && near > 18); /* motion and grain, and no cut */
		assert_true(far < near);
	}
	assert_true(psnr_of_frames(s, 10, 10) == 100);
	sim_scene_frame(s, 10, a);
	sim_scene_frame(other, 10, b);
	assert_memory_not_equal(a, b, sizeof a);
	for (unsigned i = 0; i < SIM_SCENE_LUMA; i++)
		assert_in_range(a[i], 16, 235);
	sim_scene_free(s);
	sim_scene_free(other);
}

/* --------------------------------------------------------------------- children */

static struct ink_why why;

static void assert_content(int file, const char *text)
{
	size_t size;
	uint8_t *bytes = child_bytes(file, &size);

	assert_int_equal(size, strlen(text));
	assert_memory_equal(bytes, text, size);
	free(bytes);
	child_close(file);
}

TEST_THAT(a_child_reads_and_writes_files_without_names)
{
	const char *const argv[] = {"sh", "-c", "cat; echo more >&3", NULL};
	int in = child_file(), out = child_file(), more = child_file();

	assert_int_equal(child_write(in, "hello", 5), 0);
	assert_int_equal(child_run(&(struct child){argv, in, out, more, 60}, &why), 0);
	assert_content(in, "hello");
	assert_content(out, "hello");
	assert_content(more, "more\n");
}

TEST_THAT(a_child_that_fails_says_why)
{
	static const struct {
		const char *argv[4];
		unsigned seconds;
		int code;
		const char *why;
	} cases[] = {
		{{"sh", "-c", "echo first >&2; echo boom >&2; exit 3"},
		 60,
		 -ECHILD,
		 "sh failed with 3: boom"},
		{{"sh", "-c", "kill -9 $$"}, 60, -ECHILD, "signal 9"},
		{{"/nonexistent/program"}, 60, -ENOENT, "/nonexistent/program"},
		{{"sleep", "1000"}, 0, -ETIMEDOUT, "did not end within 0 s"},
	};

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		if (cases[i].code == -ENOENT && cannot_report_exec())
			continue;
		assert_int_equal(
			child_run(&(struct child){cases[i].argv, -1, -1, -1, cases[i].seconds}, &why),
			cases[i].code);
		assert_non_null(strstr(why.text, cases[i].why));
	}
}

/* -------------------------------------------------------------------- decisions */

static struct lab lab = {.size = LAB_QUICK, .seeds = 1, .seed = 1, .workers = 2};

static int set_up(void **state)
{
	lab.progress = progress_new(NULL, NULL);
	return 0;
}

static int tear_down(void **state)
{
	progress_free(lab.progress);
	return 0;
}

TEST_THAT(a_policy_without_what_is_to_be_changed_is_an_error)
{
	const struct policy_change change = {"chance 33%", "chance 34%"};

	assert_null(policy_machine(POLICY_B, &change, 1, &why));
	assert_string_equal(why.text, "policy B frames: no 'chance 33%' in its machine");
}

/*
 * Machines and truth were written apart: with whole ids they agree about every packet, in all policies and
 * readings.
 */
TEST_THAT(a_table_that_is_never_mistaken_decides_as_the_truth)
{
	static const struct {
		enum policy policy;
		unsigned flags;
	} runs[] = {{POLICY_FRAMES, 0},
		    {POLICY_B, 0},
		    {POLICY_ITAIL, 0},
		    {POLICY_COMBINED, 0},
		    {POLICY_ITAIL, DECIDER_UNSURE_DROPS | DECIDER_BEGINS | DECIDER_ENDS}};

	for (unsigned i = 0; i < COUNT(runs); i++) {
		struct decider o = {.policy = runs[i].policy,
				    .flags = runs[i].flags,
				    .streams = 500,
				    .groups = 3,
				    .rounds = 5,
				    .haste = 0.5, /* true times end sooner than marks of age */
				    .seed = 3,
				    .table = {{.kind = INK_EXACT}, {.kind = INK_EXACT}}};
		struct decided d;

		assert_int_equal(decide(&lab, &o, &d), 0);
		assert_true(d.passes > 50000 && d.drops > 1000);
		assert_int_equal(d.wrong[0] + d.missed[0] + d.wrong[1] + d.missed[1], 0);
		assert_int_equal(d.touched[0] + d.unsure[0], 0);
	}
}

/* A machine that throws other dice at the truth would be found out: the loss is what the dice say. */
TEST_THAT(byte_losses_are_what_the_dice_say)
{
	struct decider o = {.policy = POLICY_FRAMES,
			    .streams = 500,
			    .groups = 3,
			    .rounds = 5,
			    .seed = 3,
			    .table = {{.kind = INK_EXACT}}};
	struct decided d;

	assert_int_equal(decide(&lab, &o, &d), 0);
	/* 5 % of 30,000 frames, which weigh as much as 12,000 equal ones. 3.3 deviations are 0.7 %. */
	assert_true(fabs((double)d.lost / (double)d.bytes - 0.05) < 0.007);
	o.policy = POLICY_B;
	assert_int_equal(decide(&lab, &o, &d), 0);
	assert_true(fabs((double)d.lost / (double)d.bytes - 0.2 * .34 / .98) < 0.007);
}

/*
 * The paper's table with fingerprints of 9 bits, so that there is something to count. A stream finds a
 * second match if one that came later has its fingerprint and stands in one of its two other buckets: 8
 * taken cells, and half of them came later: 4 x 2^-9 = 0.78 % if two thirds of the cells are taken, in
 * proportion if not. Of 20,000 streams that is 150; 3.3 deviations are 27 %, and as one stream weighs more
 * or less than another by its packets, 35 % are granted.
 */
TEST_THAT(the_papers_table_is_unsure_as_often_as_it_should_be)
{
	struct decider o = {.policy = POLICY_ITAIL,
			    .flags = DECIDER_UNSURE_DROPS,
			    .streams = 20000,
			    .groups = 8,
			    .rounds = 1,
			    .seed = 5};
	struct decided d;
	double expected, unsure;

	o.table[0] = (struct ink_options){
		.kind = INK_DLEFT,
		.states = 7,
		.full = INK_REFUSE,
		.geometry = {.d = 3, .h = 6, .f = 9, .b = (uint32_t)(decider_flows(&o) / 12)}};
	assert_int_equal(decide(&lab, &o, &d), 0);
	assert_true(d.utilization > 0.58 && d.utilization < 0.68);
	expected = 4 * 0x1p-9 * d.utilization * 1.5;
	unsure = (double)d.unsure[0] / (double)(d.passes + d.drops);
	assert_true(fabs(unsure / expected - 1) < 0.35);
	/* What is not known is dropped, and that is most of the wrong drops; shared entries are the rest. */
	assert_true((double)d.wrong[0] / (double)d.passes > 0.9 * unsure);
	assert_true((double)d.wrong[0] / (double)d.passes < 1.5 * unsure);
	assert_true(d.missed[0] > 0);
}

/* ----------------------------------------------------------------------- quality */

static void need_ffmpeg(void)
{
	const char *const argv[] = {"ffmpeg", "-version", NULL};

	if (!child_run(&(struct child){argv, -1, -1, -1, 60}, &why))
		return;
	SKIP(why.text);
}

/* The datagrams of the n-th picture that is sent, of the given type, behind the first group. */
static void drop_picture(const struct film *f, unsigned type, unsigned n, bool *dropped)
{
	bool inside = false;

	for (size_t i = f->first; i < f->n; i++) {
		const uint8_t *ts = f->stream + f->datagrams[i].at;
		unsigned found = 0;

		for (size_t at = 0; at + 6 <= f->datagrams[i].size && !found; at++)
			if (!memcmp(ts + at, "\0\0\1", 4))
				found = ts[at + 5] >> 3 & 7;
		if (found)
			inside = found == type && n-- == 0;
		dropped[i] = inside;
	}
}

/*
 * One picture away costs one picture: if the others were compared with the wrong frames, all would be
 * worse.
 */
TEST_THAT(a_lost_picture_repeats_the_one_before_and_moves_no_other)
{
	struct film f;
	struct score whole = {.of_frames = NULL}, less = whole;
	bool *dropped;
	double frames;

	need_ffmpeg();
	assert_int_equal(film_make(&f, &(struct film_request){.frames = 4 * FILM_GROUP, .seed = 1}, &why), 0);
	assert_int_equal(f.pictures[1] + f.pictures[2] + f.pictures[3], 4 * FILM_GROUP);
	assert_int_equal(f.pictures[1], 5); /* the last frame would be a B, and has none behind it */
	frames = 3 * FILM_GROUP;
	dropped = calloc(f.n, sizeof *dropped);
	assert_int_equal(film_watch(&f, NULL, &whole, &why), 0);
	assert_true(whole.shown == 1 && whole.psnr > 30);
	drop_picture(&f, 3, 5, dropped);
	assert_int_equal(film_watch(&f, dropped, &less, &why), 0);
	assert_true(fabs(less.shown - (frames - 1) / frames) < 1e-9);
	assert_true(less.psnr < whole.psnr && less.psnr > whole.psnr - 25 / frames);
	assert_true(less.ssim < whole.ssim && less.ssim > whole.ssim - 1 / frames);
	free(dropped);
	film_free(&f);
}

/* Drops the n-th run of packets of a type. */
static void drop_run(const struct film *f, unsigned type, unsigned n, bool *dropped)
{
	unsigned runs = 0;

	for (size_t i = f->first; i < f->n; i++) {
		runs += f->datagrams[i].type == type && f->datagrams[i - 1].type != type;
		dropped[i] = f->datagrams[i].type == type && runs == n;
	}
}

TEST_THAT(an_h264_film_goes_in_packets_that_make_the_same_pictures)
{
	struct film f;
	struct score whole = {.of_frames = NULL}, less = whole, key = whole;
	bool *dropped;
	double frames = 3 * FILM_GROUP;

	need_ffmpeg();
	assert_int_equal(film_make(&f,
				   &(struct film_request){.frames = 4 * FILM_GROUP,
							  .source = "testsrc2=size=352x288:rate=25",
							  .codec = FILM_H264},
				   &why),
			 0);
	assert_int_equal(f.pictures[1], 4);
	dropped = calloc(f.n, sizeof *dropped);
	assert_int_equal(film_watch(&f, NULL, &whole, &why), 0);
	assert_true(whole.shown == 1 && whole.psnr > 25);
	drop_run(&f, 3, 5, dropped);
	assert_int_equal(film_watch(&f, dropped, &less, &why), 0);
	assert_true(less.shown < 1 && less.shown >= (frames - 2) / frames - 1e-9 && less.psnr < whole.psnr);
	drop_run(&f, 1, 1, dropped);
	assert_int_equal(film_watch(&f, dropped, &key, &why), 0);
	assert_true(key.psnr < less.psnr);
	free(dropped);
	film_free(&f);
}

static const struct experiment quality = {
	.name = "video", .title = "", .where = "", .shows = "", .seconds = {1, 1, 1}, .run = video_quality};

static unsigned count_parts(const struct page *page, enum part_kind kind)
{
	unsigned n = 0;

	for (size_t i = 0; i < page->count; i++)
		n += page->parts[i].kind == kind;
	return n;
}

TEST_THAT(policies_that_know_frames_beat_random_loss)
{
	struct page *page;

	need_ffmpeg();
	page = quick_page(&quality, 2);
	assert_int_equal(count_parts(page, PART_CLAIM), 4);
	assert_claims_met(page);
	assert_int_equal(count_parts(page, PART_SKIPPED), 0);
	page_free(page);
}

TEST_THAT(without_ffmpeg_the_film_is_skipped_with_a_message)
{
	char *path = strdup(getenv("PATH"));
	struct page *page;

	if (cannot_report_exec())
		skip();
	setenv("PATH", "/nonexistent", 1);
	page = quick_page(&quality, 2);
	setenv("PATH", path, 1);
	assert_int_equal(count_parts(page, PART_SKIPPED), 1);
	assert_int_equal(count_parts(page, PART_CLAIM), 0);
	page_free(page);
	free(path);
}

int main(void)
{
	return run_suite(&(struct suite){.begin = set_up, .end = tear_down});
}
