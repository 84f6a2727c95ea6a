/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A synthetic film: a textured landscape over which a camera pans, things of other textures that
 * pass in front of it, and the grain of a sensor.
 *
 * Promised: frame n follows from the seed and n alone, in whole numbers, so it is the same everywhere;
 * neighbouring frames differ by motion of a few pixels, in fractions of one, and by grain; nothing repeats
 * within a minute.
 */
#ifndef INKLING_SIM_SCENE_H
#define INKLING_SIM_SCENE_H

#include <stdint.h>

enum {
	SIM_SCENE_WIDTH = 352, /* CIF, as the films of its time */
	SIM_SCENE_HEIGHT = 288,
	SIM_SCENE_LUMA = SIM_SCENE_WIDTH * SIM_SCENE_HEIGHT,
	SIM_SCENE_BYTES = SIM_SCENE_LUMA * 3 / 2 /* planes Y, U, V; the last two at half the resolution */
};

struct sim_scene;

/* Ends the program where there is no memory. sim_scene_free() it. */
struct sim_scene *sim_scene_new(uint64_t seed);
void sim_scene_free(struct sim_scene *scene);

void sim_scene_frame(const struct sim_scene *scene, uint32_t frame, uint8_t yuv[SIM_SCENE_BYTES]);

#endif
