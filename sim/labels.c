/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Doors are kept as hashes of 64 bits, of label and door: with 10^7 of them two are the same with a probability of
 * 10^-5, and 16 bytes each are enough.
 */
#include "sim/labels.h"

#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "sim/seeded.h"

int sim_labels_make(struct sim_labels *labels, size_t n)
{
	*labels = (struct sim_labels){.n = n, .room = 1024};
	labels->at = calloc(n ? n : 1, sizeof *labels->at);
	labels->doors = calloc(labels->room, sizeof *labels->doors);
	return labels->at && labels->doors ? 0 : -ENOMEM;
}

void sim_labels_free(struct sim_labels *labels)
{
	free(labels->at);
	free(labels->doors);
}

/* ------------------------------------------------------------------------------ doors */

static uint64_t door_hash(size_t label, const struct sim_ends *e)
{
	uint64_t port = e->port[1], door = port << 32 | e->address[1];

	return sim_mix(sim_mix(door ^ (uint64_t)e->protocol << 48) + label) | 1;
}

static uint64_t *place_of(uint64_t *doors, size_t room, uint64_t hash)
{
	size_t at = (size_t)(hash >> 20) & (room - 1);

	while (doors[at] && doors[at] != hash)
		at = (at + 1) & (room - 1);
	return &doors[at];
}

static int make_room(struct sim_labels *labels)
{
	size_t room = 2 * labels->room;
	uint64_t *more = calloc(room, sizeof *more);

	if (!more)
		return -ENOMEM;
	for (size_t i = 0; i < labels->room; i++)
		if (labels->doors[i])
			*place_of(more, room, labels->doors[i]) = labels->doors[i];
	free(labels->doors);
	labels->doors = more;
	labels->room = room;
	return 0;
}

static void note_door(struct sim_label *l, int answered, uint64_t time)
{
	l->doors++;
	l->answered += answered != 0;
	if (!answered && l->doors - l->answered == SIM_LABEL_DOORS)
		l->twentieth = time;
}

int sim_labels_contact(struct sim_labels *labels, size_t label, const struct sim_talk *talk, uint64_t time)
{
	uint64_t hash = door_hash(label, &talk->ends), *place = place_of(labels->doors, labels->room, hash);

	labels->at[label].contacts++;
	if (*place)
		return 0;
	*place = hash;
	note_door(&labels->at[label], sim_talk_is_answered(talk), time);
	return 2 * ++labels->n_doors > labels->room ? make_room(labels) : 0;
}

void sim_label_packet(struct sim_label *l, uint64_t time, uint32_t sender)
{
	if (!l->packets++)
		l->first = time;
	l->last = time;
	if (sender == l->address && l->twentieth && !l->due && time > l->twentieth + SIM_LABEL_WAIT)
		l->due = time;
}

/* ---------------------------------------------------------------------------- writing */

static void put_address(const struct sim_label *l, FILE *to)
{
	uint32_t number = htonl(l->address);
	struct in6_addr address = {.s6_addr = {0x20, 0x01, 0x0d, 0xb8}};
	char text[INET6_ADDRSTRLEN] = "";

	if (l->version == 4) {
		inet_ntop(AF_INET, &number, text, sizeof text);
	} else {
		for (unsigned i = 0; i < 4; i++)
			address.s6_addr[12 + i] = (uint8_t)(l->address >> (24 - 8 * i));
		inet_ntop(AF_INET6, &address, text, sizeof text);
	}
	fprintf(to, "\"address\":\"%s\"", text);
}

/* Seconds since 1970, with nanoseconds. */
static void put_time(const char *name, uint64_t time, FILE *to)
{
	if (time)
		fprintf(to, ",\"%s\":%" PRIu64 ".%09" PRIu64, name, time / 1000000000, time % 1000000000);
	else
		fprintf(to, ",\"%s\":null", name);
}

static void put_label(const struct sim_label *l, FILE *to)
{
	fprintf(to, "{\"scene\":\"%s\",\"role\":\"%s\",", l->scene, l->role);
	put_address(l, to);
	fprintf(to, ",\"counted_as\":\"%s\"", l->side == SIM_SOURCE ? "source" : "destination");
	put_time("first", l->first, to);
	put_time("last", l->last, to);
	fprintf(to,
		",\"packets\":%" PRIu64 ",\"contacts\":%" PRIu64 ",\"doors\":%" PRIu64
		",\"answered\":%" PRIu64,
		l->packets, l->contacts, l->doors, l->answered);
	fprintf(to, ",\"answered_share\":%.4f", l->doors ? (double)l->answered / (double)l->doors : 0.);
	put_time("twentieth_unanswered", l->twentieth, to);
	put_time("due", l->due, to);
	fprintf(to, l->detect ? ",\"detect\":\"%s\"}\n" : ",\"detect\":null}\n", l->detect);
}

void sim_labels_write(const struct sim_labels *labels, FILE *to)
{
	for (size_t i = 0; i < labels->n; i++)
		if (labels->at[i].packets)
			put_label(&labels->at[i], to);
}
