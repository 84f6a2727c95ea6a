/* SPDX-License-Identifier: BSD-2-Clause */
/* Reports of a machine, into a stream of the server. */
#ifndef INKLING_REDIS_REPORTS_H
#define INKLING_REDIS_REPORTS_H

#include "redis/value.h"

struct arguments;
struct server_context;
struct server_key;
struct server_string;

struct reports {
	struct server_context *ctx;
	struct server_key *stream; /* open for writing, empty or a stream */
	uint64_t sensor;           /* of the steps that follow; 0: none */
};

/* Opens the stream, or complains: the key holds something else. NULL: none is wanted. */
void reports_open(struct arguments *a, struct server_string *name, struct reports *r);
void reports_close(struct reports *r);

/* Adds an entry if the move's action has a report. */
void reports_add(struct ink_value *v, struct reports *r, uint64_t id, unsigned event,
		 const struct ink_move *move);

/* The name of a state as it is written; "absent" and "unsure" for the others. Machines only. */
const char *state_name(const struct ink_machine_view *view, ink_answer state);

#endif
