/* SPDX-License-Identifier: BSD-2-Clause */
#include "lab/psnr_ssim.h"

#include <math.h>
#include <stddef.h>

double grey_psnr(const struct grey *a, const struct grey *b)
{
	size_t n = (size_t)a->width * a->height;
	uint64_t sum = 0;
	double psnr;

	for (size_t i = 0; i < n; i++) {
		int difference = a->pixels[i] - b->pixels[i];

		sum += (uint64_t)(difference * difference);
	}
	if (!sum)
		return 100;
	psnr = 10 * log10(255.0 * 255.0 * (double)n / (double)sum);
	return psnr < 100 ? psnr : 100;
}

/* ------------------------------------------------------------------------- SSIM */

/* What a window needs to know of its pixels; sums of blocks of 4 x 4 add up to it. */
struct sums {
	uint32_t a, b, squares, products;
};

static struct sums block_sums(const struct grey *a, const struct grey *b, unsigned column, unsigned row)
{
	struct sums s = {0, 0, 0, 0};

	for (unsigned y = 4 * row; y < 4 * row + 4; y++)
		for (unsigned x = 4 * column; x < 4 * column + 4; x++) {
			uint32_t p = a->pixels[(size_t)y * a->width + x],
				 q = b->pixels[(size_t)y * b->width + x];

			s.a += p;
			s.b += q;
			s.squares += p * p + q * q;
			s.products += p * q;
		}
	return s;
}

static struct sums added(struct sums s, struct sums t)
{
	return (struct sums){s.a + t.a, s.b + t.b, s.squares + t.squares, s.products + t.products};
}

/* The constants keep the quotient quiet in dark and even places: (0.01 x 255)^2, (0.03 x 255)^2. */
static double window_ssim(struct sums s)
{
	const double n = 64, c1 = 6.5025, c2 = 58.5225;
	double a = s.a / n, b = s.b / n;
	double variances = (s.squares / n - a * a - b * b) * n / (n - 1);
	double covariance = (s.products / n - a * b) * n / (n - 1);

	return (2 * a * b + c1) * (2 * covariance + c2) / ((a * a + b * b + c1) * (variances + c2));
}

/* A row of blocks: each block is needed by the windows above and below. */
static void row_sums(const struct grey *a, const struct grey *b, unsigned row, struct sums *sums)
{
	for (unsigned column = 0; column < a->width / 4; column++)
		sums[column] = block_sums(a, b, column, row);
}

static double row_ssim(const struct sums *above, const struct sums *below, unsigned columns)
{
	struct sums left = added(above[0], below[0]);
	double sum = 0;

	for (unsigned column = 1; column < columns; column++) {
		struct sums right = added(above[column], below[column]);

		sum += window_ssim(added(left, right));
		left = right;
	}
	return sum;
}

double grey_ssim(const struct grey *a, const struct grey *b)
{
	unsigned columns = a->width / 4, rows = a->height / 4;
	struct sums sums[2][GREY_WIDTH_MOST / 4];
	double sum = 0;

	row_sums(a, b, 0, sums[0]);
	for (unsigned row = 1; row < rows; row++) {
		row_sums(a, b, row, sums[row % 2]);
		sum += row_ssim(sums[0], sums[1], columns);
	}
	return sum / ((double)(columns - 1) * (rows - 1));
}
