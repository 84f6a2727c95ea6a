/* SPDX-License-Identifier: BSD-2-Clause */
#include "lab/film_h264.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "lab/child.h"
#include "lab/runner.h"
#include "packet/video.h"

/*
 * FLV: a head of 9 bytes and 4 of zero, then tags:
 *
 *     type 1 | size 3 | time 4 | stream 3 | data ... | size of all that 4
 *
 * The data of a video tag: codec 1 | kind 1 | delay until it is shown 3 | units, each behind its size 4.
 */
enum { FLV_HEAD = 13, TAG_HEAD = 11, TAG_END = 4, VIDEO_HEAD = 5, UNIT_HEAD = 4, VIDEO_TAG = 9, AVC = 7 };

enum { RTP_HEAD = 12, RTP_TYPE = 96, FU_A = 28, PAYLOAD_MOST = 1300, NAL_KEY = 5, NAL_SLICE = 1 };

struct film_unit {
	size_t at, size; /* in the stream */
	size_t tag;      /* where its tag begins */
	uint32_t time;   /* of the picture, in ms */
	bool last;       /* of the tag */
};

static uint32_t big_endian(const uint8_t *at, unsigned bytes)
{
	uint32_t value = 0;

	while (bytes--)
		value = value << 8 | *at++;
	return value;
}

/* ------------------------------------------------------------------------ reading */

/* The tag at `at`: where the next begins, or 0 if it is not whole. */
static size_t next_tag(const struct film *f, size_t at)
{
	size_t size;

	if (at + TAG_HEAD > f->size)
		return 0;
	size = TAG_HEAD + (size_t)big_endian(f->stream + at + 1, 3) + TAG_END;
	return size <= f->size - at ? at + size : 0;
}

static bool has_units(const struct film *f, size_t tag, size_t next)
{
	const uint8_t *t = f->stream + tag;

	return t[0] == VIDEO_TAG && next - tag > TAG_HEAD + VIDEO_HEAD + TAG_END &&
	       (t[TAG_HEAD] & 15) == AVC && t[TAG_HEAD + 1] == 1;
}

/* The units of a tag are appended; what is cut short is left out. */
static void read_units(struct film *f, size_t tag, size_t next)
{
	const uint8_t *t = f->stream + tag;
	uint32_t time = big_endian(t + 4, 3) + big_endian(t + TAG_HEAD + 2, 3), before = f->n_units;
	size_t end = next - TAG_END, size;

	for (size_t at = tag + TAG_HEAD + VIDEO_HEAD; at + UNIT_HEAD < end; at += UNIT_HEAD + size) {
		size = big_endian(f->stream + at, UNIT_HEAD);
		if (!size || size > end - at - UNIT_HEAD)
			break;
		f->units[f->n_units++] = (struct film_unit){at + UNIT_HEAD, size, tag, time, false};
	}
	if (f->n_units > before)
		f->units[f->n_units - 1].last = true;
}

/* The parameter sets in the first video tag: one of each kind, behind 6 bytes, and a byte between them. */
struct sets {
	size_t at[2], size[2];
};

static bool read_sets(const struct film *f, struct sets *sets)
{
	size_t at = FLV_HEAD, next;

	for (; (next = next_tag(f, at)); at = next)
		if (f->stream[at] == VIDEO_TAG)
			break;
	at += TAG_HEAD + VIDEO_HEAD + 6;
	for (unsigned i = 0; i < 2; i++, at++) {
		if (!next || at + 2 > next)
			return false;
		sets->size[i] = big_endian(f->stream + at, 2);
		sets->at[i] = at + 2;
		at += 2 + sets->size[i];
		if (!sets->size[i] || sets->size[i] > PAYLOAD_MOST || at > next)
			return false;
	}
	return true;
}

/* ------------------------------------------------------------------------ packets */

static unsigned type_of(const uint8_t *unit)
{
	unsigned nal = unit[0] & 31;

	if (nal == NAL_KEY)
		return INK_PICTURE_I;
	if (nal != NAL_SLICE)
		return INK_PICTURE_NONE;
	return unit[0] & 0x60 ? INK_PICTURE_P : INK_PICTURE_B;
}

/* The head of the packet that is next; returns where its payload goes. */
static uint8_t *begin_packet(struct film *f, const struct film_unit *u, bool marker)
{
	size_t at = f->n ? f->datagrams[f->n - 1].at + f->datagrams[f->n - 1].size : 0;
	uint32_t time = u->time * 90, sequence = (uint32_t)f->n;
	uint8_t *p = f->packets + at;
	const uint8_t head[RTP_HEAD] = {0x80,
					(uint8_t)(RTP_TYPE | marker << 7),
					(uint8_t)(sequence >> 8),
					(uint8_t)sequence,
					(uint8_t)(time >> 24),
					(uint8_t)(time >> 16),
					(uint8_t)(time >> 8),
					(uint8_t)time,
					0,
					0,
					0,
					1};

	memcpy(p, head, RTP_HEAD);
	f->datagrams[f->n].at = at;
	return p + RTP_HEAD;
}

static void end_packet(struct film *f, const uint8_t *end, struct datagram of)
{
	struct datagram *d = &f->datagrams[f->n++];

	of.at = d->at;
	of.size = (size_t)(end - f->packets) - d->at;
	f->bytes[of.type] += of.size;
	*d = of;
}

static void send_whole(struct film *f, const struct film_unit *u, uint32_t number)
{
	const uint8_t *unit = f->stream + u->at;
	uint8_t *p = begin_packet(f, u, u->last);

	end_packet(f, mempcpy(p, unit, u->size),
		   (struct datagram){.type = type_of(unit), .unit = number, .upto = u->size});
}

/* The first byte of the unit goes in two: what it is and that it is in fragments; its type, first and last. */
static void send_fragments(struct film *f, const struct film_unit *u, uint32_t number)
{
	const uint8_t *unit = f->stream + u->at;

	for (size_t from = 1, upto; from < u->size; from = upto) {
		uint8_t *p;

		upto = u->size - from > PAYLOAD_MOST ? from + PAYLOAD_MOST : u->size;
		p = begin_packet(f, u, u->last && upto == u->size);
		*p++ = (uint8_t)((unit[0] & 0xe0) | FU_A);
		*p++ = (uint8_t)((unit[0] & 31) | (from == 1) << 7 | (upto == u->size) << 6);
		end_packet(f, mempcpy(p, unit + from, upto - from),
			   (struct datagram){.type = type_of(unit),
					     .unit = number,
					     .from = from == 1 ? 0 : from,
					     .upto = upto});
	}
}

static void send_sets(struct film *f, const struct sets *sets, uint32_t time)
{
	for (unsigned i = 0; i < 2; i++)
		send_whole(f, &(struct film_unit){sets->at[i], sets->size[i], 0, time, false}, UINT32_MAX);
}

/* A unit, and what goes before it. */
static void send_unit(struct film *f, const struct sets *sets, uint32_t number)
{
	const struct film_unit *u = &f->units[number];
	unsigned type = type_of(f->stream + u->at);

	f->pictures[type] += type != INK_PICTURE_NONE;
	if (type == INK_PICTURE_I && f->pictures[type] == 2)
		f->first = f->n;
	if (type == INK_PICTURE_I)
		send_sets(f, sets, u->time);
	if (u->size <= PAYLOAD_MOST)
		send_whole(f, u, number);
	else
		send_fragments(f, u, number);
}

int film_h264_cut(struct film *f, struct ink_why *why)
{
	struct sets sets = {{0}, {0}};
	size_t most = f->size / (UNIT_HEAD + 1) + 1, packets;

	if (f->size < FLV_HEAD || memcmp(f->stream, "FLV", 3) || !read_sets(f, &sets))
		return ink_fail(why, -EILSEQ, "ffmpeg made no FLV with H.264");
	f->units = lab_alloc(most, sizeof *f->units);
	for (size_t at = FLV_HEAD, next; (next = next_tag(f, at)); at = next)
		if (has_units(f, at, next))
			read_units(f, at, next);
	packets = 3 * (size_t)f->n_units + f->size / PAYLOAD_MOST + 1;
	f->datagrams = lab_alloc(packets, sizeof *f->datagrams);
	f->packets = lab_alloc(packets, RTP_HEAD + 2 + PAYLOAD_MOST);
	f->wire = f->packets;
	for (uint32_t i = 0; i < f->n_units; i++)
		send_unit(f, &sets, i);
	return f->first ? 0 : ink_fail(why, -EILSEQ, "ffmpeg made a stream without a second key picture");
}

/* --------------------------------------------------------------------- assembling */

/* How many bytes of each unit are there up to the first gap. */
static size_t *lengths(const struct film *f, const bool *dropped)
{
	size_t *length = lab_alloc(f->n_units, sizeof *length);

	for (size_t i = 0; i < f->n; i++) {
		const struct datagram *d = &f->datagrams[i];

		if (d->unit != UINT32_MAX && !(dropped && dropped[i]) && length[d->unit] == d->from)
			length[d->unit] = d->upto;
	}
	return length;
}

static void put(uint8_t *at, uint32_t value, unsigned bytes)
{
	while (bytes--) {
		at[bytes] = (uint8_t)value;
		value >>= 8;
	}
}

/* A tag of units `from` to `to`, as long as they are; none if nothing is there. */
static int write_tag(const struct film *f, const size_t *length, uint32_t from, uint32_t to, int file)
{
	const uint8_t *tag = f->stream + f->units[from].tag;
	uint8_t *bytes = lab_alloc(next_tag(f, f->units[from].tag) - f->units[from].tag, 1);
	uint8_t *end = mempcpy(bytes, tag, TAG_HEAD + VIDEO_HEAD);
	uint32_t size;
	int error = 0;

	for (uint32_t i = from; i < to; i++)
		if (length[i]) {
			put(end, (uint32_t)length[i], UNIT_HEAD);
			end = mempcpy(end + UNIT_HEAD, f->stream + f->units[i].at, length[i]);
		}
	size = (uint32_t)(end - bytes);
	put(bytes + 1, size - TAG_HEAD, 3);
	put(end, size, TAG_END);
	if (size > TAG_HEAD + VIDEO_HEAD)
		error = child_write(file, bytes, size + TAG_END);
	free(bytes);
	return error;
}

int film_h264_assemble(const struct film *f, const bool *dropped, int file)
{
	size_t *length = lengths(f, dropped);
	int error = child_write(file, f->stream, f->units[0].tag); /* the head, and the parameter sets */

	for (uint32_t from = 0, to; from < f->n_units && !error; from = to) {
		for (to = from; !f->units[to].last; to++)
			;
		error = write_tag(f, length, from, ++to, file);
	}
	free(length);
	return error;
}
