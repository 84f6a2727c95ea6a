/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The texture is a square that continues at its other side. It is a sum of grids of random values, each
 * twice as fine as the one before and weaker, as in natural pictures: the finer, the fainter. Landscape and
 * things are windows into it at different places, which move by sixteenths of a pixel.
 */
#include "sim/scene.h"

#include <stdio.h>
#include <stdlib.h>

#include "sim/seeded.h"

enum { SIDE = 512, OCTAVES = 7, THINGS = 4, PARTS = 16 }; /* PARTS: of a pixel */

struct sim_scene {
	uint64_t seed;
	uint8_t texture[SIDE][SIDE];
};

/* What moves: a window into the texture, and for things an ellipse through which it is seen. */
struct layer {
	int32_t x, y;                           /* where the texture lies, in parts of a pixel */
	int32_t middle_x, middle_y, wide, high; /* of the ellipse, in pixels */
	int32_t brighter;
};

/* ---------------------------------------------------------------------- texture */

static const int32_t strength[OCTAVES] = {70, 50, 32, 20, 14, 10, 6};

static int32_t lattice(uint64_t seed, unsigned octave, uint32_t x, uint32_t y)
{
	return (int32_t)sim_below(sim_mix(seed + ((uint64_t)octave << 40 | (uint64_t)y << 20 | x)), 256) -
	       128;
}

static int32_t between(int32_t a, int32_t b, int32_t at, int32_t of)
{
	return a + (b - a) * at / of;
}

static int32_t grid_value(uint64_t seed, unsigned octave, uint32_t x, uint32_t y)
{
	uint32_t step = (SIDE / 8) >> octave, n = SIDE / step;
	uint32_t left = x / step, right = (left + 1) % n, top = y / step, below = (top + 1) % n;
	int32_t part_x = (int32_t)(x % step), part_y = (int32_t)(y % step), of = (int32_t)step;

	return between(
		between(lattice(seed, octave, left, top), lattice(seed, octave, right, top), part_x, of),
		between(lattice(seed, octave, left, below), lattice(seed, octave, right, below), part_x, of),
		part_y, of);
}

static uint8_t clipped(int32_t value)
{
	return (uint8_t)(value < 16 ? 16 : value > 235 ? 235 : value); /* what video allows */
}

static uint8_t texture_value(uint64_t seed, uint32_t x, uint32_t y)
{
	int32_t sum = 0;

	for (unsigned i = 0; i < OCTAVES; i++)
		sum += strength[i] * grid_value(seed, i, x, y);
	return clipped(126 + sum / 128);
}

struct sim_scene *sim_scene_new(uint64_t seed)
{
	struct sim_scene *s = malloc(sizeof *s);

	if (!s) {
		fprintf(stderr, "inkling: out of memory for a scene\n");
		exit(1);
	}
	s->seed = seed;
	for (uint32_t y = 0; y < SIDE; y++)
		for (uint32_t x = 0; x < SIDE; x++)
			s->texture[y][x] = texture_value(sim_mix(seed), x, y);
	return s;
}

void sim_scene_free(struct sim_scene *scene)
{
	free(scene);
}

/* ----------------------------------------------------------------------- motion */

/* To and fro like a sine, made of two parabolas: -most .. most. */
static int32_t swing(uint32_t frame, uint32_t half, int32_t most)
{
	int32_t at = (int32_t)(frame % half), all = (int32_t)half;
	int32_t arc = 4 * most * at / all * (all - at) / all;

	return frame / half % 2 ? -arc : arc;
}

/* Half periods that have no common divisor: nothing repeats soon. */
static struct layer landscape(uint32_t frame)
{
	return (struct layer){.x = (int32_t)frame * 13 + swing(frame, 47, 20 * PARTS),
			      .y = swing(frame, 61, 12 * PARTS)};
}

static struct layer thing(uint32_t frame, uint32_t which)
{
	struct layer l = {.middle_x = 90 + 60 * (int32_t)which, .middle_y = 100 + 30 * (int32_t)which};
	int32_t go_x = swing(frame + 10 * which, 31 + 6 * which, 70 * PARTS);
	int32_t go_y = swing(frame, 23 + 14 * which, 35 * PARTS);

	l.x = (int32_t)(which + 1) * 117 * PARTS - go_x;
	l.y = (int32_t)(which + 1) * 71 * PARTS - go_y;
	l.middle_x += go_x / PARTS;
	l.middle_y += go_y / PARTS;
	l.wide = 26 + 7 * (int32_t)which;
	l.high = 52 - 6 * (int32_t)which;
	l.brighter = which % 2 ? 40 : -40;
	return l;
}

/* ----------------------------------------------------------------------- drawing */

static int32_t texture_at(const struct sim_scene *s, int32_t x, int32_t y)
{
	uint32_t px = (uint32_t)x / PARTS % SIDE, py = (uint32_t)y / PARTS % SIDE;
	uint32_t right = (px + 1) % SIDE, below = (py + 1) % SIDE;
	int32_t part_x = (int32_t)((uint32_t)x % PARTS), part_y = (int32_t)((uint32_t)y % PARTS);

	return between(between(s->texture[py][px], s->texture[py][right], part_x, PARTS),
		       between(s->texture[below][px], s->texture[below][right], part_x, PARTS), part_y,
		       PARTS);
}

static int covers(const struct layer *l, int32_t x, int32_t y)
{
	int32_t dx = (x - l->middle_x) * l->high, dy = (y - l->middle_y) * l->wide, r = l->wide * l->high;

	return dx * dx + dy * dy < r * r;
}

/* The foremost layer that covers the pixel. */
static const struct layer *layer_at(const struct layer *layers, int32_t x, int32_t y)
{
	for (unsigned i = THINGS; i > 0; i--)
		if (covers(&layers[i], x, y))
			return &layers[i];
	return &layers[0];
}

static int32_t light(const struct sim_scene *s, const struct layer *layers, int32_t x, int32_t y)
{
	const struct layer *l = layer_at(layers, x, y);

	return texture_at(s, x * PARTS + l->x, y * PARTS + l->y) + l->brighter;
}

static void draw_luma(const struct sim_scene *s, const struct layer *layers, uint32_t frame, uint8_t *luma)
{
	uint64_t grain = 0;

	for (int32_t y = 0; y < SIM_SCENE_HEIGHT; y++)
		for (int32_t x = 0; x < SIM_SCENE_WIDTH; x++, grain >>= 2) {
			if (x % 32 == 0)
				grain = sim_mix(s->seed ^ (uint64_t)frame << 32 ^ (uint64_t)y << 16 ^
						(uint64_t)x);
			*luma++ = clipped(light(s, layers, x, y) + (int32_t)(grain & 3) - 1);
		}
}

/* Colours follow the light faintly, each in its own way. */
static void draw_chroma(const uint8_t *luma, uint8_t *u, uint8_t *v)
{
	for (uint32_t y = 0; y < SIM_SCENE_HEIGHT; y += 2)
		for (uint32_t x = 0; x < SIM_SCENE_WIDTH; x += 2) {
			int32_t light_here = luma[y * SIM_SCENE_WIDTH + x] - 126;

			*u++ = (uint8_t)(128 - light_here / 6);
			*v++ = (uint8_t)(128 + light_here / 8);
		}
}

void sim_scene_frame(const struct sim_scene *s, uint32_t frame, uint8_t yuv[SIM_SCENE_BYTES])
{
	struct layer layers[THINGS + 1] = {landscape(frame)};

	for (uint32_t i = 0; i < THINGS; i++)
		layers[i + 1] = thing(frame, i);
	draw_luma(s, layers, frame, yuv);
	draw_chroma(yuv, yuv + SIM_SCENE_LUMA, yuv + SIM_SCENE_LUMA * 5 / 4);
}
