/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Labelled scenes: traffic of hosts of which it is known whether a detection should report them. docs/scenes.md
 * describes each. (The scene of a film, for video, is sim/scene.h.)
 *
 * Promised:
 *  - The packets of a scene follow from the seed, its name and the options alone: they are the same beside other
 *    scenes. All scenes begin at the same time, and their packets are merged in order of time.
 *  - Addresses of scenes do not overlap, unless shared_hosts is set.
 *  - In benign scenes at most `failures` of the doors of a host do not answer, an answer comes within 1 s, and at most
 *    SIM_IN_FLIGHT contacts of a host wait for theirs (one that is not answered is given up after 1 s).
 *  - At most `success` of the doors of a scanner answer.
 *  - A contact has at most SIM_CONTACT_PACKETS packets.
 *  - Memory: a label and 350 bytes for each host, 16 bytes for each door of each host, 130 bytes for each contact that is
 *    alive. It does not grow with packets.
 */
#ifndef INKLING_SIM_SCENES_H
#define INKLING_SIM_SCENES_H

#include <stdint.h>

#include <inkling/packet.h>

#include "sim/labels.h"
#include "sim/traffic.h"

enum { SIM_SCENES_MOST = 32, SIM_IN_FLIGHT = 40, SIM_CONTACT_PACKETS = 32 };

/* Of each scene; contacts are those of each host. */
enum { SIM_SCENE_HOSTS_MOST = 50000, SIM_CONTACTS_MOST = 60000, SIM_SCENE_CONTACTS_MOST = 20000000 };

#define SIM_FAILURES_MOST .1
#define SIM_SUCCESS_MOST .2
#define SIM_SCENE_RTT_MOST 500000000 /* nanoseconds */

struct sim_scenes_options {
	uint64_t seed;
	uint32_t scenes;                    /* bit i: scene i of sim_scene_info() */
	uint64_t hosts, contacts, duration; /* 0: those of the scene; no contact begins after the duration */
	uint64_t rtt, snaplen;
	double failures, success, ipv6;
	int shared_hosts; /* host i has the same address in all scenes */
};

/* Which of the shares a scene depends on. */
enum sim_scene_share { SIM_NO_SHARE, SIM_FAILURES, SIM_SUCCESS };

struct sim_scene_info {
	const char *name, *summary;
	int is_benign;
	enum sim_scene_share share;
	uint32_t hosts, contacts;
	uint64_t duration;
};

struct sim_scenes_count {
	uint64_t packets, contacts, hosts, alive_at_once;
};

/* Of scene number i, from 0; NULL: there are no more. */
const struct sim_scene_info *sim_scene_info(unsigned i);

/* NULL, or what is wrong with the options. */
const char *sim_scenes_wrong(const struct sim_scenes_options *options);

/* What a run fills: counts, and the labels, which the caller frees (sim_labels_free). */
struct sim_scenes_result {
	struct sim_scenes_count count;
	struct sim_labels labels;
};

/* Writes the scenes to the dump. -ENOMEM, -EINVAL, or what ink_dump_packet said. */
int sim_scenes(const struct sim_scenes_options *options, struct ink_dump *dump,
	       struct sim_scenes_result *result, sim_progress progress);

#endif
