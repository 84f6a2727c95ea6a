/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What is true of the hosts of a scene, counted while it is made.
 *
 * A door is an address, a protocol and a port (echoes have port 0). A label counts the doors that its host contacts,
 * or, for one that is contacted (a victim, a server), its own doors. A door has answered if it sent a SYN+ACK, a
 * datagram or an echo reply; a RST is a refusal. A door answers always or never, so one bit tells.
 */
#ifndef INKLING_SIM_LABELS_H
#define INKLING_SIM_LABELS_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "sim/talk.h"

enum sim_side { SIM_SOURCE, SIM_DESTINATION };

/* What a detector that waits for outcomes may need to see before it can be sure. */
enum { SIM_LABEL_DOORS = 20 };
#define SIM_LABEL_WAIT 2000000000u /* nanoseconds: for answers to them */

struct sim_label {
	const char *scene, *role;
	const char *detect; /* the kind of machine that should report it; NULL: none should */
	uint32_t address;   /* as in struct sim_ends */
	uint8_t version;
	uint8_t side;         /* enum sim_side: the end that it is in the contacts that count */
	uint64_t first, last; /* nanoseconds since 1970: its packets in the capture */
	uint64_t packets, contacts, doors, answered;
	uint64_t
		twentieth; /* when its SIM_LABEL_DOORS-th door without an answer was first contacted; 0: never */
	uint64_t due;      /* the first packet that it sends more than SIM_LABEL_WAIT later; 0: none */
};

struct sim_labels {
	struct sim_label *at;
	size_t n;
	uint64_t *doors; /* a set of hashes of label and door, with open addressing; 0 = free */
	size_t n_doors, room;
};

/* Labels, all 0. 0 or -ENOMEM. sim_labels_free it in any case. */
int sim_labels_make(struct sim_labels *labels, size_t n);
void sim_labels_free(struct sim_labels *labels);

/* A packet of the label's host, or to it, is in the capture. */
void sim_label_packet(struct sim_label *label, uint64_t time, uint32_t sender);

/* A contact begins. 0 or -ENOMEM. */
int sim_labels_contact(struct sim_labels *labels, size_t label, const struct sim_talk *talk, uint64_t time);

/* A line of JSON for each label that has packets. */
void sim_labels_write(const struct sim_labels *labels, FILE *to);

#endif
