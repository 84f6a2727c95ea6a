/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A stream is a row of pictures, in the order in which they are decoded:
 *
 *     I PBB PBB PBB | I BB PBB PBB PBB | I BB ...      groups of 12
 *
 * and a picture is a row of parts, each behind a code 00 00 01 xx:
 *
 *     b3 sequence, b5 its extension, b8 group     before an I picture
 *     00 picture: temporal reference 10 bits, type 3 bits, ...
 *     b5 coding extension
 *     01 .. slices: noise without a zero byte, so it holds no code
 *
 * (ISO/IEC 13818-2, 6.2.) A decoder would reject it, but it holds all that
 * tracking pictures needs.
 */
#include "sim/video.h"

#include <string.h>

#include "sim/frame.h"
#include "sim/seeded.h"

/* ------------------------------------------------------------------------- pictures */

enum { I, P, B };

enum { FIRST_GROUP = 10, GROUP = 12, SLICES = 18 };

static const size_t usual_size[3] = {12000, 5000, 2000};

static uint32_t type_of(uint32_t n)
{
	uint32_t m = n < FIRST_GROUP ? n + 2 : (n - FIRST_GROUP) % GROUP;

	if (n == 0 || (n >= FIRST_GROUP && m == 0))
		return I;
	return m % 3 == 0 ? P : B;
}

/* Its place in the order of display, within the group. */
static uint32_t reference_of(uint32_t n)
{
	if (n == 0)
		return 0;
	if (n < FIRST_GROUP)
		return n % 3 == 1 ? n + 2 : n - 1;
	n = (n - FIRST_GROUP) % GROUP;
	return n % 3 == 0 ? n + 2 : n - 1;
}

static void put(struct sim_video *v, const void *bytes, size_t n)
{
	memcpy(v->sheet->bytes + v->size, bytes, n);
	v->size += n;
}

static void put_header(struct sim_video *v, uint32_t n)
{
	uint32_t reference = reference_of(n);
	/* vbv_delay is all ones; P and B have vector ranges of all ones behind it. */
	const uint8_t header[9] = {0,
				   0,
				   1,
				   0,
				   (uint8_t)(reference >> 2),
				   (uint8_t)(reference << 6 | (v->type + 1) << 3 | 7),
				   0xff,
				   v->type == I ? 0xf8 : 0xfb,
				   v->type == B ? 0xb8 : 0x80};

	if (v->type == I) {
		put(v, "\0\0\1\xb3\x16\x01\x20\x23\xff\xff\xe0\x18", 12); /* 352 x 288, 25 in a second */
		put(v, "\0\0\1\xb5\x14\x8a\0\1\0\0", 10);
		put(v, "\0\0\1\xb8\0\x08\0\x40", 8);
	}
	put(v, header, v->type == I ? 8 : 9);
	put(v, "\0\0\1\xb5\x8f\xff\xf3\x41\x80", 9);
}

static void put_noise(struct sim_video *v, uint64_t word, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (i % 8 == 0)
			word = sim_mix(word);
		v->sheet->bytes[v->size++] = (uint8_t)(word >> 8 * (i % 8)) | 0x10;
	}
}

/* Three quarters to five quarters of its type's usual size. */
static void draw(struct sim_video *v, uint32_t n)
{
	uint64_t word = sim_mix(v->seed + n);
	size_t slice;

	v->type = type_of(n);
	v->size = 0;
	put_header(v, n);
	slice = usual_size[v->type] * 3 / 4 / SLICES + sim_below(word, usual_size[v->type] / 2 / SLICES);
	for (uint8_t row = 1; row <= SLICES; row++) {
		put(v, (const uint8_t[4]){0, 0, 1, row}, 4);
		put_noise(v, word + row, slice);
	}
	v->sheet->of = v;
}

static void make_picture(struct sim_video *v, struct sim_truth *truth)
{
	draw(v, v->next++);
	v->at = 0;
	v->tables = v->type == I ? 2 : 0;
	truth->pictures[v->type]++;
	truth->picture_bytes[v->type] += v->size;
}

/* Is there a byte to send? If not, the next picture begins. Another stream may have drawn on the sheet since. */
static int has_more(struct sim_video *v, struct sim_truth *truth)
{
	if (v->at < v->size && v->sheet->of != v)
		draw(v, v->next - 1);
	if (v->at < v->size)
		return 1;
	if (v->next == v->pictures)
		return 0;
	make_picture(v, truth);
	return 1;
}

static size_t take(struct sim_video *v, uint8_t *to, size_t most)
{
	size_t n = v->size - v->at < most ? v->size - v->at : most;

	memcpy(to, v->sheet->bytes + v->at, n);
	v->at += n;
	return n;
}

/* ---------------------------------------------------------------------- bare stream */

enum { CHUNK = 1316 };

static size_t next_es(struct sim_video *v, uint8_t *payload, struct sim_truth *truth)
{
	size_t n = 0;

	while (n < CHUNK && has_more(v, truth))
		n += take(v, payload + n, CHUNK - n);
	return n;
}

/* ------------------------------------------------------------------------------ RTP */

enum { RTP_HEADER = 12, VIDEO_HEADER = 4, RTP_MPV = 32 };

static size_t next_rtp(struct sim_video *v, uint8_t *payload)
{
	uint32_t stamp = (v->next - 1) * 3600, reference = reference_of(v->next - 1);
	uint32_t sequence = v->at == 0 && v->type == I;
	size_t n = take(v, payload + RTP_HEADER + VIDEO_HEADER, SIM_PAYLOAD_MOST - RTP_HEADER - VIDEO_HEADER);
	const uint8_t header[RTP_HEADER + VIDEO_HEADER] = {
		0x80,
		(uint8_t)((v->at == v->size) << 7 | RTP_MPV), /* the mark: a picture's last */
		(uint8_t)(v->sequence >> 8),
		(uint8_t)v->sequence,
		(uint8_t)(stamp >> 24),
		(uint8_t)(stamp >> 16),
		(uint8_t)(stamp >> 8),
		(uint8_t)stamp,
		0x49,
		0x4e,
		0x4b,
		0x21,
		(uint8_t)(reference >> 8),
		(uint8_t)reference,
		(uint8_t)(sequence << 5 | (v->type + 1)), /* a sequence header; the picture's type */
		v->type == I ? 0 : 0x77,
	};

	v->sequence++;
	memcpy(payload, header, sizeof header);
	return sizeof header + n;
}

/* ----------------------------------------------------------------- transport stream */

enum { TS = 188, TS_HEADER = 4, TS_EACH = 7, VIDEO = 2 };

static const uint16_t pids[3] = {0, 0x1000, 0x100}; /* program association, program map, video */

/* The checksum of sections: polynomial 04c11db7, highest bit first. */
static uint32_t crc(const uint8_t *bytes, size_t n)
{
	uint32_t sum = 0xffffffff;

	for (size_t i = 0; i < 8 * n; i++) {
		uint32_t byte = bytes[i / 8], bit = sum >> 31 ^ (byte >> (7 - i % 8) & 1);

		sum = sum << 1 ^ (bit ? 0x04c11db7 : 0);
	}
	return sum;
}

static void put_ts_header(struct sim_video *v, uint8_t *ts, unsigned which, int begins)
{
	ts[0] = 0x47;
	ts[1] = (uint8_t)((begins ? 0x40 : 0) | pids[which] >> 8);
	ts[2] = (uint8_t)pids[which];
	ts[3] = 0x10 | (v->continuity[which]++ & 0x0f);
}

/* One program with one video stream: the two tables that say so. */
static void put_table(struct sim_video *v, uint8_t *ts, unsigned which)
{
	static const uint8_t sections[2][18] = {
		{0x00, 0xb0, 0x0d, 0, 1, 0xc1, 0, 0, 0, 1, 0xf0, 0x00},
		{0x02, 0xb0, 0x12, 0, 1, 0xc1, 0, 0, 0xe1, 0x00, 0xf0, 0, 0x02, 0xe1, 0x00, 0xf0, 0},
	};
	size_t n = which ? 17 : 12;
	uint32_t sum = crc(sections[which], n);

	put_ts_header(v, ts, which, 1);
	memset(ts + TS_HEADER, 0xff, TS - TS_HEADER);
	ts[TS_HEADER] = 0; /* where the section begins */
	memcpy(ts + TS_HEADER + 1, sections[which], n);
	for (unsigned i = 0; i < 4; i++)
		ts[TS_HEADER + 1 + n + i] = (uint8_t)(sum >> (24 - 8 * i));
}

/* A picture is a packetized element: | 00 00 01 e0 | 0 0 | 80 80 05 | time stamp 5 | */
static size_t put_element(const struct sim_video *v, uint8_t *at)
{
	uint64_t stamp = (v->next - 1) * 3600ull;
	const uint8_t header[14] = {0,
				    0,
				    1,
				    0xe0,
				    0,
				    0,
				    0x80,
				    0x80,
				    5,
				    (uint8_t)(0x21 | (stamp >> 29 & 0x0e)),
				    (uint8_t)(stamp >> 22),
				    (uint8_t)(stamp >> 14 | 1),
				    (uint8_t)(stamp >> 7),
				    (uint8_t)(stamp << 1 | 1)};

	memcpy(at, header, sizeof header);
	return sizeof header;
}

/* What a packet has too much of room goes before the bytes, as an adaptation field. */
static void stuff(uint8_t *ts, size_t n)
{
	size_t room = TS - TS_HEADER - n;

	if (!room)
		return;
	memmove(ts + TS_HEADER + room, ts + TS_HEADER, n);
	memset(ts + TS_HEADER, 0xff, room);
	ts[3] |= 0x20;
	ts[TS_HEADER] = (uint8_t)(room - 1);
	if (room > 1)
		ts[TS_HEADER + 1] = 0;
}

static void put_ts(struct sim_video *v, uint8_t *ts)
{
	size_t n = 0;
	int begins = v->at == 0;

	if (v->tables) {
		put_table(v, ts, 2u - v->tables--);
		return;
	}
	put_ts_header(v, ts, VIDEO, begins);
	if (begins)
		n = put_element(v, ts + TS_HEADER);
	n += take(v, ts + TS_HEADER + n, TS - TS_HEADER - n);
	stuff(ts, n);
}

static size_t next_ts(struct sim_video *v, uint8_t *payload, struct sim_truth *truth)
{
	unsigned n = 0;

	for (; n < TS_EACH && has_more(v, truth); n++)
		put_ts(v, payload + (size_t)n * TS);
	return (size_t)n * TS;
}

/* -------------------------------------------------------------------------- the next */

size_t sim_video_next(struct sim_video *v, uint8_t *payload, struct sim_truth *truth)
{
	if (v->format == SIM_VIDEO_TS)
		return next_ts(v, payload, truth);
	if (v->format == SIM_VIDEO_ES)
		return next_es(v, payload, truth);
	return has_more(v, truth) ? next_rtp(v, payload) : 0;
}

/* Pictures are sent evenly over their time. */
uint64_t sim_video_time(const struct sim_video *v)
{
	if (v->at == v->size && v->next == v->pictures)
		return 0;
	return (v->next - 1) * (uint64_t)SIM_PICTURE_NS + SIM_PICTURE_NS * (uint64_t)v->at / v->size;
}
