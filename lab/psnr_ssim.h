/* SPDX-License-Identifier: BSD-2-Clause */
/* PSNR and SSIM of grey pictures. */
#ifndef INKLING_LAB_PSNR_SSIM_H
#define INKLING_LAB_PSNR_SSIM_H

#include <stdint.h>

enum { GREY_WIDTH_MOST = 2048 };

struct grey {
	const uint8_t *pixels; /* rows from the top */
	unsigned width, height;
};

/*
 * Two pictures of the same size. Peak signal to noise ratio in dB, 100 at most, as where they are the same.
 */
double grey_psnr(const struct grey *a, const struct grey *b);

/*
 * Structural similarity (Wang, Bovik, Sheikh, Simoncelli 2004), 1 where they are the same: the mean over
 * windows of 8 x 8 pixels, 4 apart, which weigh all their pixels alike. Pictures are at least 8 x 8 and at
 * most GREY_WIDTH_MOST wide; a remainder beyond a multiple of 4 is ignored.
 */
double grey_ssim(const struct grey *a, const struct grey *b);

#endif
