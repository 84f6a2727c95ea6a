/* SPDX-License-Identifier: BSD-2-Clause */
/* The type of values that keys have: what the server calls to save, load, copy, digest and free them. */
#ifndef INKLING_REDIS_TYPE_H
#define INKLING_REDIS_TYPE_H

#include "redis/api.h"
#include "redis/value.h"

/* Registers it. SERVER_OK, or SERVER_ERROR. */
int type_register(struct server_context *ctx);

extern struct server_type *value_type;

/*
 * Non-zero: the command does not come from a client but from the master or from a file, so the limits of this
 * server do not hold.
 */
int is_repeated(struct server_context *ctx);

/* The configuration inkling.limit. */
extern long long config_limit;

#endif
