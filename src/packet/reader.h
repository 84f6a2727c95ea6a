/* SPDX-License-Identifier: BSD-2-Clause */
/* pcap files, read in large pieces: see reader.c. */
#ifndef INKLING_PACKET_READER_H
#define INKLING_PACKET_READER_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <inkling/packet.h>

enum { INK_FILE_HEADER = 24 }; /* bytes; a pcapng file begins with more */

#define INK_FRAME_MAX 262144u /* the longest that libpcap takes for a packet, too */

struct ink_reader {
	const char *name; /* for complaints; belongs to the caller */
	int fd;
	int swapped;       /* the numbers are in the other byte order */
	uint32_t fraction; /* nanoseconds in a unit behind the second */
	enum ink_link link;
	uint8_t *buffer;
	size_t at, filled;   /* of it: what is read next, and where it ends */
	uint64_t offset;     /* in the file, of buffer[0] */
	uint64_t number;     /* of the packet that was read last, from 1 */
	int ended;           /* the file has no more */
	char *stream_buffer; /* of the stream that another reads from, or NULL */
};

/*
 * Opens the file ("-" = standard input) and reads its beginning. *is_pcap: it
 * is a pcap file and its header has been read; else nothing has been, and
 * ink_reader_stream gives it to another reader.
 */
int ink_reader_open(struct ink_reader *reader, int *is_pcap, struct ink_why *why);
void ink_reader_close(struct ink_reader *reader);

/* All bytes from the file's begin, as a stream, which is to be closed before the reader. NULL with errno. */
FILE *ink_reader_stream(struct ink_reader *reader);

/*
 * The next packet: frame, captured, wire and time. 1, or 0 if it is not in the buffer
 * as a whole; -EILSEQ: there cannot be such a packet.
 */
int ink_reader_next(struct ink_reader *reader, struct ink_packet *packet, struct ink_why *why);

/*
 * Fetches more of the file; packets that were read before are gone. -EILSEQ: it
 * ends within a packet; -EINTR; others are what read(2) said. `ended` says that there is no more.
 */
int ink_reader_fill(struct ink_reader *reader, struct ink_why *why);

#endif
