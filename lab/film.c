/* SPDX-License-Identifier: BSD-2-Clause */
#include "lab/film.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lab/child.h"
#include "lab/film_h264.h"
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
	free(f->packets);
	free(f->units);
	free(f->datagrams);
}

/* Writes the frames to a file. */
static int shoot_scene(const struct film_request *r, int file)
{
	struct sim_scene *scene = sim_scene_new(r->seed);
	uint8_t *yuv = lab_alloc(1, SIM_SCENE_BYTES);
	int error = 0;

	for (uint32_t i = 0; i < r->frames && !error; i++) {
		sim_scene_frame(scene, i, yuv);
		error = child_write(file, yuv, SIM_SCENE_BYTES);
	}
	sim_scene_free(scene);
	free(yuv);
	return error;
}

static int shoot_source(const struct film_request *r, int file, struct ink_why *why)
{
	char frames[16];
	const char *argv[] = {"ffmpeg",   "-nostdin", "-v",        "error",  "-f",
			      "lavfi",    "-i",       r->source,   "-vf",    "scale=352:288",
			      "-r",       "25",       "-frames:v", frames,   "-f",
			      "rawvideo", "-pix_fmt", "yuv420p",   "pipe:1", NULL};

	snprintf(frames, sizeof frames, "%u", r->frames);
	return child_run(&(struct child){argv, -1, file, -1, SECONDS}, why);
}

/* Keeps the luma of what was filmed. */
static int keep_luma(struct film *f, int raw, struct ink_why *why)
{
	size_t size;
	uint8_t *yuv = child_bytes(raw, &size);

	if (!yuv || size != (size_t)f->frames * SIM_SCENE_BYTES) {
		free(yuv);
		return ink_fail(why, -EILSEQ, "ffmpeg filmed %zu bytes", yuv ? size : 0);
	}
	f->luma = lab_alloc(f->frames, SIM_SCENE_LUMA);
	for (uint32_t i = 0; i < f->frames; i++)
		memcpy(f->luma + (size_t)i * SIM_SCENE_LUMA, yuv + (size_t)i * SIM_SCENE_BYTES,
		       SIM_SCENE_LUMA);
	free(yuv);
	return 0;
}

static int shoot(struct film *f, const struct film_request *r, int file, struct ink_why *why)
{
	int error = r->source ? shoot_source(r, file, why) : shoot_scene(r, file);

	if (error)
		return r->source ? error : ink_fail(why, error, "no memory for a film");
	return keep_luma(f, file, why);
}

enum {
	KBITS = 900
}; /* the rate at which types have the shares of bytes that they have in the paper's film */

#define ENCODE(codec, rate, ...)                                                                             \
	{                                                                                                    \
		"ffmpeg", "-nostdin", "-v", "error", "-threads", "1", "-f", "rawvideo", "-pix_fmt",          \
			"yuv420p", "-s", "352x288", "-r", "25", "-i", "pipe:0", "-c:v", codec, "-threads",   \
			"1", "-g", "12", "-bf", "2", "-sc_threshold", "1000000000", "-b_strategy", "0",      \
			"-b:v", rate, "-flags", "+bitexact", "-fflags", "+bitexact", "-muxdelay", "0",       \
			"-muxpreload", "0", __VA_ARGS__, "pipe:1", NULL                                      \
	}

/* Key pictures begin closed groups, and B pictures are no references. */
#define X264 "keyint=12:min-keyint=12:scenecut=0:b-pyramid=none:open-gop=0"

/* The film is made only if ffmpeg is there to encode it. */
static int ask_ffmpeg(struct ink_why *why)
{
	static const char *const argv[] = {"ffmpeg", "-version", NULL};

	return child_run(&(struct child){argv, -1, -1, -1, SECONDS}, why);
}

static int run_encoder(const struct film_request *r, int raw, int coded, struct ink_why *why)
{
	char rate[16];
	const char *const mpeg2[] = ENCODE("mpeg2video", rate, "-f", "mpegts");
	const char *const h264[] = ENCODE("libx264", rate, "-x264opts", X264, "-f", "flv");

	snprintf(rate, sizeof rate, "%uk", r->kbits ? r->kbits : KBITS);
	return child_run(&(struct child){r->codec == FILM_H264 ? h264 : mpeg2, raw, coded, -1, SECONDS}, why);
}

static int encode(struct film *f, const struct film_request *r, struct ink_why *why)
{
	int raw = child_file(), coded = child_file(), error = ask_ffmpeg(why);

	if (!error && (raw < 0 || coded < 0))
		error = ink_fail(why, -ENOMEM, "no memory for a film");
	if (!error)
		error = shoot(f, r, raw, why);
	if (!error)
		error = run_encoder(r, raw, coded, why);
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
				   .payload = f->wire + d->at,
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
		f->datagrams[i].type = type;
		f->bytes[type] += f->datagrams[i].size;
		for (unsigned t = INK_PICTURE_I; t < INK_PICTURE_TYPES; t++)
			f->pictures[t] += found.started[t];
		if (found.last == INK_PICTURE_I && f->pictures[INK_PICTURE_I] == 2 && !f->first)
			f->first = i;
	}
}

static int cut(struct film *f, bool packed, struct ink_why *why)
{
	size_t packets = f->size / TS;

	f->wire = f->stream;
	f->datagrams = lab_alloc(packets, sizeof *f->datagrams);
	for (size_t i = 0; i < packets; i++) {
		struct datagram *last = f->n ? &f->datagrams[f->n - 1] : NULL;

		if (last && last->size < (size_t)TS_EACH * TS &&
		    (packed || !begins_picture(f->stream + i * TS)))
			last->size += TS;
		else
			f->datagrams[f->n++] = (struct datagram){.at = i * TS, .size = TS};
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

#define DECODE(format)                                                                                       \
	"ffmpeg", "-nostdin", "-v", "fatal", "-threads", "1", "-copyts", "-flags",                           \
		"+output_corrupt+bitexact", "-f", format, "-i", "pipe:0", "-max_error_rate", "1"

#define LISTED(format)                                                                                       \
	{                                                                                                    \
		DECODE(format), LIGHT_ALONE, "-c:v", "rawvideo", "-f", "rawvideo", "pipe:1", LIGHT_ALONE,    \
			"-c:v", "rawvideo", "-f", "framecrc", "pipe:3", NULL                                 \
	}

static const char *const decode_argv[][64] = {[FILM_MPEG2] = LISTED("mpegts"), [FILM_H264] = LISTED("flv")};

static int decode(enum film_codec codec, int coded, struct decoded *d, struct ink_why *why)
{
	int light = child_file(), times = child_file();
	int error = ink_fail(why, -ENOMEM, "no memory for pictures");
	size_t length;

	if (light >= 0 && times >= 0)
		error = child_run(&(struct child){decode_argv[codec], coded, light, times, SECONDS}, why);
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
static struct frame_score score_frame(const struct film *f, uint32_t frame, const uint8_t *shown)
{
	struct grey filmed = {f->luma + (size_t)frame * SIM_SCENE_LUMA, SIM_SCENE_WIDTH, SIM_SCENE_HEIGHT};
	struct grey seen = {shown, SIM_SCENE_WIDTH, SIM_SCENE_HEIGHT};

	return (struct frame_score){.psnr = grey_psnr(&filmed, &seen), .ssim = grey_ssim(&filmed, &seen)};
}

static void add_score(struct score *score, struct frame_score frame)
{
	score->psnr += frame.psnr;
	score->ssim += frame.ssim;
	score->shown += frame.fresh;
}

/* Frames before the first picture have nothing to show; there are none if the first group arrived. */
static int compare(const struct film *f, const uint8_t *const *of_frame, const uint8_t *first_picture,
		   struct score *score)
{
	uint32_t n = f->frames - FILM_GROUP;
	const uint8_t *shown = NULL;

	score->psnr = score->ssim = score->shown = 0;
	for (uint32_t i = 0; i < f->frames; i++) {
		struct frame_score frame;

		shown = of_frame[i] ? of_frame[i] : shown;
		if (i < FILM_GROUP)
			continue;
		if (!shown)
			return -EILSEQ;
		frame = score_frame(f, i, shown);
		frame.fresh = of_frame[i] != NULL;
		frame.picture = (uint32_t)((size_t)(shown - first_picture) / SIM_SCENE_LUMA);
		if (score->of_frames)
			score->of_frames[i] = frame;
		add_score(score, frame);
	}
	score->psnr /= n;
	score->ssim /= n;
	score->shown /= n;
	return 0;
}

/* What is left of the stream without these datagrams. */
static int assemble(const struct film *f, const bool *dropped, int file, struct ink_why *why)
{
	int error = file < 0 ? -ENOMEM : 0;

	if (!error && f->codec == FILM_H264)
		error = film_h264_assemble(f, dropped, file);
	else
		for (size_t i = 0; i < f->n && !error; i++)
			if (!dropped || !dropped[i])
				error = child_write(file, f->wire + f->datagrams[i].at, f->datagrams[i].size);
	return error ? ink_fail(why, error, "no memory for a stream") : 0;
}

int film_watch(const struct film *f, const bool *dropped, struct score *score, struct ink_why *why)
{
	struct decoded d = {NULL, 0, NULL};
	int left = child_file(), error = assemble(f, dropped, left, why);

	if (!error)
		error = decode(f->codec, left, &d, why);
	if (!error) {
		const uint8_t **of_frame = match(f, &d);

		error = compare(f, of_frame, d.luma, score);
		free(of_frame);
		if (error)
			ink_fail(why, error, "ffmpeg decoded nothing of the first group");
	}
	free_decoded(&d);
	child_close(left);
	return error;
}

uint8_t *film_picture(const struct film *f, const bool *dropped, uint32_t picture, size_t *size,
		      struct ink_why *why)
{
	const char *format = f->codec == FILM_H264 ? "flv" : "mpegts";
	char select[32];
	const char *const argv[] = {DECODE(format), "-map",        "0:v:0",      "-vf",    select,
				    "-fps_mode",    "passthrough", "-frames:v",  "1",      "-c:v",
				    "png",          "-f",          "image2pipe", "pipe:1", NULL};
	int left = child_file(), png = child_file(), error = assemble(f, dropped, left, why);
	uint8_t *bytes = NULL;

	snprintf(select, sizeof select, "select=eq(n\\,%u)", picture);
	if (!error)
		error = child_run(&(struct child){argv, left, png, -1, SECONDS}, why);
	if (!error)
		bytes = child_bytes(png, size);
	if (!error && (!bytes || !*size))
		ink_fail(why, -EILSEQ, "ffmpeg made no picture");
	child_close(left);
	child_close(png);
	return bytes;
}

/* The undamaged film: when it begins, and that nothing is missing. */
static int find_begin(struct film *f, struct ink_why *why)
{
	struct decoded d = {NULL, 0, NULL};
	int coded = child_file(), error = coded < 0 ? -errno : child_write(coded, f->stream, f->size);
	int64_t time;
	size_t size, n = 0;

	if (!error)
		error = decode(f->codec, coded, &d, why);
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

int film_make(struct film *f, const struct film_request *r, struct ink_why *why)
{
	int error;

	*f = (struct film){.frames = r->frames, .codec = r->codec};
	error = encode(f, r, why);
	if (!error)
		error = f->codec == FILM_H264 ? film_h264_cut(f, why) : cut(f, r->packed, why);
	return error ? error : find_begin(f, why);
}
