/* SPDX-License-Identifier: BSD-2-Clause */
/* From packets to events and keys: what sensors and trackers (track.h) share. */
#ifndef INKLING_PACKET_SENSOR_H
#define INKLING_PACKET_SENSOR_H

#include <inkling/track.h>

#include "packet/classify.h"
#include "packet/key.h"

struct ink_sensor {
	const struct ink_machine *machine;
	const struct ink_machine_view *view;
	struct ink_classifier *classifier;
	int reverses;            /* the machine has reverse events */
	struct ink_key_rule key; /* of the machine's flows */
	uint64_t secret[2];
	uint64_t packets; /* that the sensor was given */
};

/* A sensor for a machine that may need a table; errors as those of ink_sensor_open. */
struct ink_sensor *ink_sensor_make(const struct ink_sensor_options *options, struct ink_why *why);

/* -ENOTSUP with the reason: the libraries inkling and inkling-packet are of different versions. */
int ink_check_version(struct ink_why *why);

/* Is the event about the flow in the other direction? */
int ink_sensor_reverses(const struct ink_sensor *sensor, uint16_t event);

/* Writes the key of the flow that the event is about. Its length; 0 if the packet has none. */
size_t ink_sensor_key(const struct ink_sensor *sensor, const struct ink_packet *packet, uint16_t event,
		      uint8_t key[INK_KEY_MOST]);

/* The same for a direction: that of the packet, or the reverse of it. */
size_t ink_sensor_key_of(const struct ink_sensor *sensor, const struct ink_packet *packet, int reversed,
			 uint8_t key[INK_KEY_MOST]);

#endif
