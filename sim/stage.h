/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What scenes are made of, for sim/scenes*.c alone. A scene is a function: contact number i of host h. Everything it
 * decides follows from the seed, h and i, so nothing is kept between contacts.
 *
 * Addresses of scene k; 65,536 each:
 *
 *     10.k.0.0        hosts, from 10.k.0.1 on
 *     100.(64+k).0.0  servers and targets: a quarter each of live, dead and refusing ones, and ones with a label
 *     (32+k).0.0.0/8  spoofed sources
 */
#ifndef INKLING_SIM_STAGE_H
#define INKLING_SIM_STAGE_H

#include <stdint.h>

#include <inkling/packet.h>

#include "sim/scenes.h"
#include "sim/seeded.h"
#include "sim/talk.h"

#define SIM_SECOND 1000000000ull
#define SIM_MS 1000000ull

struct sim_stage;

struct sim_contact {
	uint64_t after; /* when it begins, after the start of the host; not before the contact before it */
	struct sim_talk talk;
};

/*
 * A contact comes with defaults: TCP from the host to no door yet, served in two rounds, at an even pace.
 */
struct sim_scene_def {
	struct sim_scene_info info;
	const char *role, *detect;
	enum sim_side side;
	const char *server_role; /* of servers with a label; NULL: there are none */
	uint32_t hosts_a_server; /* that share one of them; 0 = all do */
	void (*contact)(const struct sim_stage *stage, uint32_t host, uint32_t i,
			struct sim_contact *contact);
};

struct sim_stage {
	const struct sim_scene_def *def;
	uint64_t seed; /* of this scene */
	uint32_t hosts, contacts;
	uint64_t duration, rtt;
	double failures, success, ipv6;
	uint32_t clients, servers, spoofed; /* first addresses */
};

enum sim_quarter { SIM_LIVE, SIM_DEAD, SIM_REFUSING, SIM_LABELLED };
enum { SIM_QUARTER = 1 << 14 };

extern const struct sim_scene_def sim_benign_scenes[], sim_hostile_scenes[];
extern const unsigned sim_benign_scenes_n, sim_hostile_scenes_n;

/* Random: number `n` of contact i of a host. */
static inline uint64_t sim_stage_word(const struct sim_stage *s, uint32_t host, uint32_t i, uint32_t n)
{
	return sim_mix(sim_mix(s->seed + sim_mix((uint64_t)host << 32 | i)) + n);
}

static inline uint32_t sim_host_address(const struct sim_stage *s, uint32_t host)
{
	return s->clients + 1 + host;
}

/* The server with a label that a host uses: its number, and its address. */
static inline uint32_t sim_server_of(const struct sim_stage *s, uint32_t host)
{
	return s->def->hosts_a_server ? host / s->def->hosts_a_server : 0;
}

static inline uint32_t sim_server_address(const struct sim_stage *s, uint32_t server)
{
	return s->servers + SIM_LABELLED * SIM_QUARTER + server % SIM_QUARTER;
}

/*
 * One in each full block of 1/share numbers, at random within the block: never more than the share of 0 .. n-1.
 */
static inline int sim_quota(const struct sim_stage *s, double share, uint32_t host, uint32_t i, uint32_t n)
{
	uint32_t block = share > 0 ? (uint32_t)(1 / share + .999999) : 0, number;

	if (!block)
		return 0;
	number = i / block;
	return (number + 1) * block <= n &&
	       i % block == sim_below(sim_stage_word(s, host, ~number, 77), block);
}

#endif
