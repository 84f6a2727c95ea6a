/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Writing pcap files, in the layout that is drawn in reader.c: nanoseconds, the
 * byte order of this machine. Packets are buffered and written a mebibyte at a
 * time, so a packet costs a copy and no system call.
 */
#include <inkling/packet.h>

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"

enum { BUFFER = 1 << 20 };

struct ink_dump {
	char *name;
	int fd;
	int error; /* of the first write that failed; nothing is written after it */
	size_t filled;
	uint8_t buffer[BUFFER];
};

static int write_all(struct ink_dump *d, const uint8_t *bytes, size_t n)
{
	while (n && !d->error) {
		ssize_t written = write(d->fd, bytes, n);

		if (written < 0 && errno != EINTR)
			d->error = -errno;
		if (written > 0) {
			bytes += written;
			n -= (size_t)written;
		}
	}
	return d->error;
}

static int flush(struct ink_dump *d)
{
	int error = write_all(d, d->buffer, d->filled);

	d->filled = 0;
	return error;
}

static int append(struct ink_dump *d, const void *bytes, size_t n)
{
	if (n > BUFFER - d->filled && flush(d))
		return d->error;
	if (n > BUFFER)
		return write_all(d, bytes, n);
	memcpy(d->buffer + d->filled, bytes, n);
	d->filled += n;
	return d->error;
}

static void append_header(struct ink_dump *d, enum ink_link link)
{
	const struct {
		uint32_t magic;
		uint16_t major, minor;
		uint32_t zone, sigfigs, snaplen, link;
	} header = {0xa1b23c4d, 2, 4, 0, 0, 262144, (uint32_t)link};

	append(d, &header, sizeof header);
}

static int open_file(struct ink_dump *d, const char *file, struct ink_why *why)
{
	int standard = !strcmp(file, "-");

	d->name = strdup(standard ? "standard output" : file);
	if (!d->name)
		return ink_fail(why, -ENOMEM, "%s: no memory", file);
	d->fd = standard ? STDOUT_FILENO : open(file, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	return d->fd < 0 ? ink_fail(why, -errno, "%s: %s", file, strerror(errno)) : 0;
}

static void release(struct ink_dump *d)
{
	if (d)
		free(d->name);
	free(d);
}

struct ink_dump *ink_dump_open(const char *file, enum ink_link link, struct ink_why *why)
{
	struct ink_dump *d = malloc(sizeof *d);
	int error;

	if (!d) {
		ink_fail(why, -ENOMEM, "%s: no memory", file);
		return NULL;
	}
	d->error = 0;
	d->filled = 0;
	error = open_file(d, file, why);
	if (error) {
		release(d);
		errno = -error;
		return NULL;
	}
	append_header(d, link);
	return d;
}

int ink_dump_packet(struct ink_dump *d, const struct ink_packet *p)
{
	const uint32_t header[4] = {(uint32_t)(p->time / 1000000000), (uint32_t)(p->time % 1000000000),
				    p->captured, p->wire < p->captured ? p->captured : p->wire};

	append(d, header, sizeof header);
	return append(d, p->frame, p->captured);
}

int ink_dump_close(struct ink_dump *d, struct ink_why *why)
{
	int error;

	if (!d)
		return 0;
	error = flush(d);
	if (d->fd != STDOUT_FILENO && close(d->fd) && !error)
		error = -errno;
	if (error)
		ink_fail(why, error, "%s: %s", d->name, strerror(-error));
	release(d);
	return error;
}
