/* SPDX-License-Identifier: BSD-2-Clause */
#include "lab/film.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lab/child.h"
#include "lab/runner.h"
#include "lab/psnr_ssim.h"
#include "packet/video.h"
#include "sim/scene.h"
#include "base/error.h"

_Static_assert((int)FILM_TYPES == (int)INK_PICTURE_TYPES, "types are numbered as in packets");

enum { TS = 188, TS_EACH = 7, PICTURE_CLOCK = 90000 / 25, PICTURE_NS = 40000000 };
enum { SECONDS = 120 }; /* for a child that takes one or two */

/* ------------------------------------------------------------------------- film */

void film_free(struct film *f)
{
	free(f->luma);
	free(f->stream);
	free(f->datagrams);
}

/* Writes the frames to a file, and keeps their luma. */
static int shoot(struct film *f, uint64_t seed, int file)
{
	struct sim_scene *scene = sim_scene_new(seed);
	uint8_t *yuv = lab_alloc(1, SIM_SCENE_BYTES);
	int error = 0;

	f->luma = lab_alloc(f->frames, SIM_SCENE_LUMA);
	for (uint32_t i = 0; i < f->frames && !error; i++) {
		sim_scene_frame(scene, i, yuv);
		memcpy(f->luma + (size_t)i * SIM_SCENE_LUMA, yuv, SIM_SCENE_LUMA);
		error = child_write(file, yuv, SIM_SCENE_BYTES);
	}
	sim_scene_free(scene);
	free(yuv);
	return error;
}

/* The rate at which types have the shares of bytes that they have in the paper's film. */
static const char *const encode_argv[] = {
	"ffmpeg",        "-nostdin",   "-v",          "error",   "-threads",    "1",    "-f",     "rawvideo",
	"-pix_fmt",      "yuv420p",    "-s",          "352x288", "-r",          "25",   "-i",     "pipe:0",
	"-c:v",          "mpeg2video", "-threads",    "1",       "-g",          "12",   "-bf",    "2",
	"-sc_threshold", "1000000000", "-b_strategy", "0",       "-b:v",        "900k", "-flags", "+bitexact",
	"-fflags",       "+bitexact",  "-muxdelay",   "0",       "-muxpreload", "0",    "-f",     "mpegts",
	"pipe:1",        NULL};

/* The film is made only if ffmpeg is there to encode it. */
static int ask_ffmpeg(struct ink_why *why)
{
	static const char *const argv[] = {"ffmpeg", "-version", NULL};

	return child_run(&(struct child){argv, -1, -1, -1, SECONDS}, why);
}

static int encode(struct film *f, uint64_t seed, struct ink_why *why)
{
	int raw = child_file(), coded = child_file(), error = ask_ffmpeg(why);

	if (!error && (raw < 0 || coded < 0 || shoot(f, seed, raw)))
		error = ink_fail(why, -ENOMEM, "no memory for a film");
	if (!error)
		error = child_run(&(struct child){encode_argv, raw, coded, -1, SECONDS}, why);
	if (!error)
		f->stream = child_bytes(coded, &f->size);
	if (!error && !f->stream)
		error = ink_fail(why, -ENOMEM, "no memory for a stream");
	child_close(raw);
	child_close(coded);
	return error;
}

/* ------------------------------------------------------------------- datagrams */

/* Does a picture begin in this packet of the transport stream? It does with the header of an element. */
static bool begins_picture(const uint8_t *ts)
{
	size_t at = 4 + (ts[3] & 0x20 ? 1 + (size_t)ts[4] : 0);

	return (ts[1] & 0x40) && at + 4 <= TS && !ts[at] && !ts[at + 1] && ts[at + 2] == 1 &&
	       ts[at + 3] >> 4 == 0xe;
}

struct ink_packet film_packet(const struct film *f, size_t i)
{
	const struct datagram *d = &f->datagrams[i];
	uint64_t time = (uint64_t)f->frames * PICTURE_NS / f->n * i; /* evenly */

	return (struct ink_packet){.time = time,
				   .clock = time,
				   .payload = f->stream + d->at,
				   .payload_captured = (uint32_t)d->size,
				   .payload_wire = (uint32_t)d->size,
				   .version = 4,
				   .protocol = INK_PROTOCOL_UDP,
				   .source = {10, 0, 0, 1},
				   .destination = {10, 0, 0, 2},
				   .sport = 5004,
				   .dport = 5004};
}

/* Counts the pictures, and finds where the second group begins. */
static void count_pictures(struct film *f)
{
	unsigned type = INK_PICTURE_NONE;

	for (size_t i = 0; i < f->n; i++) {
		struct ink_packet p = film_packet(f, i);
		struct ink_pictures found = ink_video_pictures(&p, 0);

		type = found.last ? found.last : type;
		f->bytes[type] += f->datagrams[i].size;
		for (unsigned t = INK_PICTURE_I; t < INK_PICTURE_TYPES; t++)
			f->pictures[t] += found.started[t];
		if (found.last == INK_PICTURE_I && f->pictures[INK_PICTURE_I] == 2 && !f->first)
			f->first = i;
	}
}

static int cut(struct film *f, struct ink_why *why)
{
	size_t packets = f->size / TS;

	f->datagrams = lab_alloc(packets, sizeof *f->datagrams);
	for (size_t i = 0; i < packets; i++) {
		struct datagram *last = f->n ? &f->datagrams[f->n - 1] : NULL;

		if (last && last->size < (size_t)TS_EACH * TS && !begins_picture(f->stream + i * TS))
			last->size += TS;
		else
			f->datagrams[f->n++] = (struct datagram){i * TS, TS};
	}
	count_pictures(f);
	if (f->first)
		return 0;
	return ink_fail(why, -EILSEQ, "ffmpeg made a stream without a second group of pictures");
}

/* --------------------------------------------------------------------- decoding */

/* What was decoded: pictures of light, one after the other, and their times. */
struct decoded {
	uint8_t *luma;
	size_t size;
	char *list;
};

#define LIGHT_ALONE                                                                                          \
	"-map", "0:v:0", "-vf", "extractplanes=y", "-fps_mode", "passthrough", "-enc_time_base", "1:90000"

static const char *const decode_argv[] = {"ffmpeg",
					  "-nostdin",
					  "-v",
					  "fatal",
					  "-threads",
					  "1",
					  "-copyts",
					  "-flags",
					  "+output_corrupt+bitexact",
					  "-f",
					  "mpegts",
					  "-i",
					  "pipe:0",
					  "-max_error_rate",
					  "1",
					  LIGHT_ALONE,
					  "-c:v",
					  "rawvideo",
					  "-f",
					  "rawvideo",
					  "pipe:1",
					  LIGHT_ALONE,
					  "-c:v",
					  "rawvideo",
					  "-f",
					  "framecrc",
					  "pipe:3",
					  NULL};

static int decode(int coded, struct decoded *d, struct ink_why *why)
{
	int light = child_file(), times = child_file();
	int error = ink_fail(why, -ENOMEM, "no memory for pictures");
	size_t length;

	if (light >= 0 && times >= 0)
		error = child_run(&(struct child){decode_argv, coded, light, times, SECONDS}, why);
	if (!error) {
		d->luma = child_bytes(light, &d->size);
		d->list = (char *)child_bytes(times, &length);
		if (d->list)
			d->list[length] = 0; /* child_bytes leaves room for it */
		error = d->luma && d->list ? 0 : -ENOMEM;
	}
	child_close(light);
	child_close(times);
	return error;
}

static void free_decoded(struct decoded *d)
{
	free(d->luma);
	free(d->list);
}

/*
 * A line of the list: "0, decoding time, time, duration, size, checksum". Others, and comments, are passed
 * over. A picture may have no time, but it has a size, and stands among the others.
 */
static bool read_line(const char *line, int64_t *time, size_t *size)
{
	char text[32], *end;

	if (sscanf(line, "0, %*[^,], %31[^,], %*[^,], %zu,", text, size) != 2)
		return false;
	*time = strtoll(text, &end, 10);
	if (end == text)
		*time = INT64_MIN;
	return true;
}

/* One more line; NULL behind the last. */
static const char *next_line(const char *line)
{
	const char *end = strchr(line, '\n');

	return end && end[1] ? end + 1 : NULL;
}

/*
 * For each frame of the film the picture that was decoded for it, or NULL. Pictures of another size or of a
 * time that the film does not have are passed over; of two for one frame, the later counts.
 */
static const uint8_t **match(const struct film *f, const struct decoded *d)
{
	const uint8_t **of_frame = lab_alloc(f->frames, sizeof *of_frame);
	size_t at = 0, size;
	uint64_t frame; /* a time before the film comes out as a very late one */
	int64_t time;

	for (const char *line = d->list; line; line = next_line(line)) {
		if (!read_line(line, &time, &size))
			continue;
		if (size > d->size - at)
			break;
		frame = ((uint64_t)time - (uint64_t)f->begin + PICTURE_CLOCK / 2) / PICTURE_CLOCK;
		if (size == SIM_SCENE_LUMA && frame < f->frames)
			of_frame[frame] = d->luma + at;
		at += size;
	}
	return of_frame;
}

/* A frame that was filmed beside the picture that is shown. */
static void add_score(const struct film *f, uint32_t frame, const uint8_t *shown, struct score *score)
{
	struct grey filmed = {f->luma + (size_t)frame * SIM_SCENE_LUMA, SIM_SCENE_WIDTH, SIM_SCENE_HEIGHT};
	struct grey seen = {shown, SIM_SCENE_WIDTH, SIM_SCENE_HEIGHT};

	score->psnr += grey_psnr(&filmed, &seen);
	score->ssim += grey_ssim(&filmed, &seen);
}

/* Frames before the first picture have nothing to show; there are none if the first group arrived. */
static int compare(const struct film *f, const uint8_t *const *of_frame, struct score *score)
{
	const uint8_t *shown = NULL;
	uint32_t n = 0, fresh = 0;

	*score = (struct score){0, 0, 0};
	for (uint32_t i = 0; i < f->frames; i++) {
		shown = of_frame[i] ? of_frame[i] : shown;
		if (i < FILM_GROUP || !shown)
			continue;
		n++;
		fresh += of_frame[i] != NULL;
		add_score(f, i, shown, score);
	}
	if (n != f->frames - FILM_GROUP)
		return -EILSEQ;
	score->psnr /= n;
	score->ssim /= n;
	score->shown = (double)fresh / n;
	return 0;
}

int film_watch(const struct film *f, const bool *dropped, struct score *score, struct ink_why *why)
{
	struct decoded d = {NULL, 0, NULL};
	int left = child_file(), error = left < 0 ? -errno : 0;

	for (size_t i = 0; i < f->n && !error; i++)
		if (!dropped || !dropped[i])
			error = child_write(left, f->stream + f->datagrams[i].at, f->datagrams[i].size);
	if (error)
		ink_fail(why, error, "no memory for a stream");
	else
		error = decode(left, &d, why);
	if (!error) {
		const uint8_t **of_frame = match(f, &d);

		error = compare(f, of_frame, score);
		free(of_frame);
		if (error)
			ink_fail(why, error, "ffmpeg decoded nothing of the first group");
	}
	free_decoded(&d);
	child_close(left);
	return error;
}

/* The undamaged film: when it begins, and that nothing is missing. */
static int find_begin(struct film *f, struct ink_why *why)
{
	struct decoded d = {NULL, 0, NULL};
	int coded = child_file(), error = coded < 0 ? -errno : child_write(coded, f->stream, f->size);
	int64_t time;
	size_t size, n = 0;

	if (!error)
		error = decode(coded, &d, why);
	f->begin = INT64_MAX;
	for (const char *line = d.list; line; line = next_line(line))
		if (read_line(line, &time, &size)) {
			f->begin = time < f->begin ? time : f->begin;
			n++;
		}
	free_decoded(&d);
	child_close(coded);
	if (!error && n != f->frames)
		error = ink_fail(why, -EILSEQ, "ffmpeg decoded %zu pictures of %u", n, f->frames);
	return error;
}

/* ------------------------------------------------------------------------ the whole */

int film_make(struct film *f, uint32_t frames, uint64_t seed, struct ink_why *why)
{
	int error;

	*f = (struct film){.frames = frames};
	error = encode(f, seed, why);
	if (!error)
		error = cut(f, why);
	return error ? error : find_begin(f, why);
}
