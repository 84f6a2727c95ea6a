/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A film that passes a network, and its pictures if part of it is lost.
 *
 *     scene --> ffmpeg --> stream --> datagrams --> losses --> ffmpeg --> pictures compared with the scene
 *
 * MPEG-2 goes in a transport stream. H.264 goes in RTP (film_h264.h).
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

enum film_codec { FILM_MPEG2, FILM_H264 };

/* 0 and NULL: the film of the experiment `video`. */
struct film_request {
	uint32_t frames;
	uint64_t seed;
	const char *source; /* what is filmed, as for ffmpeg's lavfi; NULL: a scene of `seed` */
	enum film_codec codec;
	unsigned kbits; /* a second; 0: those that give types the shares of the paper's film */
	bool packed;    /* MPEG-2: seven packets to a datagram without gaps, so that some have two pictures */
};

/* Types of H.264: I is a key picture, B one that no other builds upon. */
struct datagram {
	size_t at, size;   /* in `wire` */
	unsigned type;     /* of the picture that it has bytes of */
	uint32_t unit;     /* H.264: the NAL unit in film.units, */
	size_t from, upto; /* and which of its bytes */
};

struct film {
	uint32_t frames;
	enum film_codec codec;
	uint8_t *luma;   /* as filmed, one frame after the other */
	uint8_t *stream; /* as encoded: MPEG-TS or FLV */
	size_t size;
	const uint8_t *wire; /* as sent: MPEG-TS or packets of RTP */
	uint8_t *packets;    /* its memory if it is not the stream */
	struct film_unit *units;
	uint32_t n_units;
	struct datagram *datagrams; /* none has bytes of two pictures, unless packed */
	size_t n, first;            /* the first that may be lost: where the second group begins */
	uint32_t pictures[FILM_TYPES];
	uint64_t bytes[FILM_TYPES]; /* by type, headers of the transport stream included */
	int64_t begin;              /* the time of the first frame */
};

struct frame_score {
	double psnr, ssim;
	uint32_t picture; /* the number of the decoded picture that is shown */
	bool fresh;       /* it is the frame's own */
};

struct score {
	double psnr, ssim; /* means over all frames that count (psnr_ssim.h) */
	double shown;      /* share of frames that have a picture of their own; the rest repeat one */
	struct frame_score
		*of_frames; /* if it is not NULL: receives those of all frames from FILM_GROUP on */
};

/*
 * Films and encodes: groups of 12 with two B frames between the others. film_free() it, also on failure. 0;
 * -ENOENT: there is no ffmpeg; or another -errno, as of child_run(). `why` has the reason.
 */
int film_make(struct film *film, const struct film_request *request, struct ink_why *why);
void film_free(struct film *film);

/* A datagram as a packet of UDP; its bytes are those of the film. */
struct ink_packet film_packet(const struct film *film, size_t datagram);

/* What is seen if these datagrams do not arrive; dropped NULL: all do. 0, or -errno. Thread-safe. */
int film_watch(const struct film *film, const bool *dropped, struct score *score, struct ink_why *why);

/* A decoded picture, in colours, as PNG; free() it. NULL: `why` has the reason. */
uint8_t *film_picture(const struct film *film, const bool *dropped, uint32_t picture, size_t *size,
		      struct ink_why *why);

#endif
