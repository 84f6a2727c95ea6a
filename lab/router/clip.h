/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A clip: the datagrams of a film, in a file that goes where the film is sent from.
 *
 *     "INKCLIP1"  { size: 2 bytes, little endian | payload }  { size | payload } ...
 *
 * All payloads differ, so a receiver knows which one it has.
 */
#ifndef INKLING_LAB_ROUTER_CLIP_H
#define INKLING_LAB_ROUTER_CLIP_H

#include <stddef.h>
#include <stdint.h>

#define CLIP_MAGIC "INKCLIP1"

enum { CLIP_SIZE_MOST = 1472 }; /* with the headers of UDP and IPv4 a frame of Ethernet */

struct clip_datagram {
	const uint8_t *payload;
	uint32_t size;
};

struct clip {
	struct clip_datagram *at;
	uint32_t n;
	uint8_t *file;
};

/* 0, or -errno: -EILSEQ is not a clip. clip_free() it, also on failure. */
int clip_read(struct clip *clip, const char *path);
void clip_free(struct clip *clip);

#endif
