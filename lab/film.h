/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A film that passes a network, and its pictures if part of it is lost.
 *
 *     scene --> ffmpeg --> stream --> datagrams --> losses --> ffmpeg --> pictures compared with the scene
 *
 * ffmpeg runs as a child process (child.h), single-threaded and bit-exactly; another version may give other
 * digits.
 *
 * Matching pictures. A decoder of a damaged stream outputs fewer pictures than were filmed, so counting them
 * would compare the wrong ones. In a transport stream each picture has its time, and ffmpeg lists the times
 * of the pictures it decoded (its muxer `framecrc`). A picture with a missing time is not shown: the one
 * before it stays on the screen. Damaged pictures are shown as ffmpeg's concealment leaves them.
 *
 * The first group of pictures is never dropped and does not count, so that the decoder has a start.
 */
#ifndef INKLING_LAB_FILM_H
#define INKLING_LAB_FILM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <inkling/packet.h>

enum { FILM_GROUP = 12, FILM_TYPES = 4 }; /* pictures of a group; 1, 2, 3 = I, P, B */

struct datagram {
	size_t at, size; /* in the stream */
};

struct film {
	uint32_t frames;
	uint8_t *luma;   /* as filmed, one frame after the other */
	uint8_t *stream; /* MPEG-TS */
	size_t size;
	struct datagram *datagrams; /* none has bytes of two pictures */
	size_t n, first;            /* the first that may be lost: where the second group begins */
	uint32_t pictures[FILM_TYPES];
	uint64_t bytes[FILM_TYPES]; /* by type, headers of the transport stream included */
	int64_t begin;              /* the time of the first frame */
};

struct score {
	double psnr, ssim; /* means over all frames that count (psnr_ssim.h) */
	double shown;      /* share of frames that have a picture of their own; the rest repeat one */
};

/*
 * Films and encodes: groups of 12 with two B frames between the others. film_free() it, also on failure. 0;
 * -ENOENT: there is no ffmpeg; or another -errno, as of child_run(). `why` has the reason.
 */
int film_make(struct film *film, uint32_t frames, uint64_t seed, struct ink_why *why);
void film_free(struct film *film);

/* A datagram as a packet of UDP; its bytes are those of the film. */
struct ink_packet film_packet(const struct film *film, size_t datagram);

/* What is seen if these datagrams do not arrive; dropped NULL: all do. 0, or -errno. Thread-safe. */
int film_watch(const struct film *film, const bool *dropped, struct score *score, struct ink_why *why);

#endif
