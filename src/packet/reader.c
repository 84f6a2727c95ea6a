/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pcap files, read in large blocks.
 *
 *     0         4     6     8     12     16      20    24
 *     |magic    |2    |4    |zone |sigfigs|snaplen|link|
 *     0         4         8         12        16
 *     |seconds  |fraction |captured |wire     | captured bytes |    for each packet
 *
 * All numbers are in the byte order of the writer of the file. The magic shows which
 * that was, and whether fractions are micro- or nanoseconds.
 *
 * libpcap reads such files too, but it returns one packet at a time, with two
 * calls of fread and a copy: 40 to 60 ns a packet. Here packets stay where
 * read(2) put them, and a batch is parsed in place. libpcap reads everything
 * else (pcapng, and pcap of other versions), also from a pipe: the bytes already
 * read are replayed to it.
 */
#include "packet/reader.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"

enum { RECORD_HEADER = 16 };

/* Twice the longest packet; it stays in the second level cache. */
enum { BUFFER = 2 * (INK_FRAME_MAX + RECORD_HEADER) };

/* Of the stream that libpcap reads from. */
enum { STREAM_BUFFER = 1 << 17 };

#define MAGIC_MICRO 0xa1b2c3d4u
#define MAGIC_NANO 0xa1b23c4du

/* ---------------------------------------------------------------------- numbers */

static uint32_t number32(const struct ink_reader *r, const uint8_t *at)
{
	uint32_t number;

	memcpy(&number, at, sizeof number);
	return r->swapped ? __builtin_bswap32(number) : number;
}

static uint16_t number16(const struct ink_reader *r, const uint8_t *at)
{
	uint16_t number;

	memcpy(&number, at, sizeof number);
	return r->swapped ? __builtin_bswap16(number) : number;
}

/* ------------------------------------------------------------------------ bytes */

static int fetch(struct ink_reader *r, struct ink_why *why)
{
	ssize_t got = read(r->fd, r->buffer + r->filled, BUFFER - r->filled);

	if (got < 0)
		return ink_fail(why, -errno, "%s: %s", r->name, strerror(errno));
	r->filled += (size_t)got;
	r->ended = got == 0;
	return 0;
}

static int fetch_at_least(struct ink_reader *r, size_t bytes, struct ink_why *why)
{
	int error = 0;

	while (!error && !r->ended && r->filled - r->at < bytes)
		error = fetch(r, why);
	return error;
}

static void make_room(struct ink_reader *r)
{
	memmove(r->buffer, r->buffer + r->at, r->filled - r->at);
	r->filled -= r->at;
	r->offset += r->at;
	r->at = 0;
}

/* -------------------------------------------------------------------- the header */

/* The link's number is in the lower half; above are the length of the checksum and reserved bits. */
static enum ink_link link_of_number(uint32_t number)
{
	number &= 0xffff;
	return number == 12 || number == 14 ? INK_LINK_RAW
					    : (enum ink_link)number; /* raw IP in BSD's own numbers */
}

static int read_magic(struct ink_reader *r)
{
	for (r->swapped = 0; r->swapped < 2; r->swapped++) {
		uint32_t magic = number32(r, r->buffer);

		r->fraction = magic == MAGIC_NANO ? 1 : 1000;
		if (magic == MAGIC_MICRO || magic == MAGIC_NANO)
			return 1;
	}
	return 0;
}

/* Before 2.4 some files have the two lengths of a packet in reverse order: libpcap knows which. */
static int read_header(struct ink_reader *r)
{
	if (r->filled < INK_FILE_HEADER || !read_magic(r))
		return 0;
	if (number16(r, r->buffer + 4) != 2 || number16(r, r->buffer + 6) != 4)
		return 0;
	r->link = link_of_number(number32(r, r->buffer + 20));
	r->at = INK_FILE_HEADER;
	return 1;
}

static int open_file(struct ink_reader *r, struct ink_why *why)
{
	if (!strcmp(r->name, "-")) {
		r->fd = STDIN_FILENO;
		r->name = "standard input";
		return 0;
	}
	r->fd = open(r->name, O_RDONLY | O_CLOEXEC);
	return r->fd < 0 ? ink_fail(why, -errno, "%s: %s", r->name, strerror(errno)) : 0;
}

int ink_reader_open(struct ink_reader *r, int *is_pcap, struct ink_why *why)
{
	int error = open_file(r, why);

	if (error)
		return error;
	r->buffer = malloc(BUFFER);
	if (!r->buffer)
		error = ink_fail(why, -ENOMEM, "%s: no memory", r->name);
	if (!error)
		error = fetch_at_least(r, INK_FILE_HEADER, why);
	if (!error)
		*is_pcap = read_header(r);
	else
		ink_reader_close(r);
	return error;
}

void ink_reader_close(struct ink_reader *r)
{
	if (r->fd > STDIN_FILENO)
		close(r->fd);
	r->fd = -1;
	free(r->buffer);
	r->buffer = NULL;
	free(r->stream_buffer);
	r->stream_buffer = NULL;
}

/* ------------------------------------------------------------------- the packets */

static int impossible(const struct ink_reader *r, uint32_t captured, struct ink_why *why)
{
	return ink_fail(why, -EILSEQ, "%s: packet %llu, at byte %llu: a length of %u is impossible", r->name,
			   (unsigned long long)r->number + 1, (unsigned long long)(r->offset + r->at),
			   captured);
}

int ink_reader_next(struct ink_reader *r, struct ink_packet *p, struct ink_why *why)
{
	const uint8_t *record = r->buffer + r->at;
	size_t left = r->filled - r->at;
	uint32_t captured;

	if (left < RECORD_HEADER)
		return 0;
	captured = number32(r, record + 8);
	if (captured > INK_FRAME_MAX)
		return impossible(r, captured, why);
	if (left - RECORD_HEADER < captured)
		return 0;
	p->time = number32(r, record) * 1000000000ull + (uint64_t)number32(r, record + 4) * r->fraction;
	p->captured = captured;
	p->wire = number32(r, record + 12);
	p->frame = record + RECORD_HEADER;
	r->at += RECORD_HEADER + captured;
	r->number++;
	return 1;
}

/* Bytes of the next packet, as far as its header has been read. */
static size_t wanted(const struct ink_reader *r)
{
	uint32_t captured;

	if (r->filled - r->at < RECORD_HEADER)
		return RECORD_HEADER;
	captured = number32(r, r->buffer + r->at + 8);
	return RECORD_HEADER + (captured < INK_FRAME_MAX ? captured : INK_FRAME_MAX);
}

static int cut_off(const struct ink_reader *r, struct ink_why *why)
{
	return ink_fail(why, -EILSEQ,
			   "%s: packet %llu, at byte %llu: the file ends after %zu of %zu bytes", r->name,
			   (unsigned long long)r->number + 1, (unsigned long long)(r->offset + r->at),
			   r->filled - r->at, wanted(r));
}

int ink_reader_fill(struct ink_reader *r, struct ink_why *why)
{
	int error;

	make_room(r);
	do
		error = fetch(r, why);
	while (!error && !r->ended && r->filled - r->at < wanted(r));
	if (error)
		return error;
	return r->ended && r->filled > r->at ? cut_off(r, why) : 0;
}

/* -------------------------------------------------------- for another to read */

static ssize_t play(void *cookie, char *to, size_t size)
{
	struct ink_reader *r = cookie;
	size_t left = r->filled - r->at;

	if (!left)
		return read(r->fd, to, size);
	if (size > left)
		size = left;
	memcpy(to, r->buffer + r->at, size);
	r->at += size;
	return (ssize_t)size;
}

/* The default buffer of a stream is 8 KiB; it stays if there is no memory for a larger one. */
FILE *ink_reader_stream(struct ink_reader *r)
{
	FILE *stream = fopencookie(r, "r", (cookie_io_functions_t){.read = play});

	if (stream && !r->stream_buffer)
		r->stream_buffer = malloc(STREAM_BUFFER);
	if (stream && r->stream_buffer)
		setvbuf(stream, r->stream_buffer, _IOFBF, STREAM_BUFFER);
	return stream;
}
