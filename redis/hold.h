/* SPDX-License-Identifier: BSD-2-Clause */
/* Blobs that wait until their time has come: HOLD. */
#ifndef INKLING_REDIS_HOLD_H
#define INKLING_REDIS_HOLD_H

#include "redis/blob.h"
#include "redis/clock.h"
#include "redis/value.h"

struct reports;

/* Holds the blob, or applies it if it is late. Non-zero: it was late. */
int hold_blob(struct ink_value *v, const struct blob *blob, struct budget *budget, struct reports *reports);

/* Applies what has waited long enough, after blobs or the time told of a later time; passes the time to there. */
void hold_release(struct ink_value *v, struct budget *budget, struct reports *reports);

/* The bytes of a held blob. */
uint64_t held_bytes(uint32_t items);

/* For loading: whether the array is a heap. */
int held_in_order(const struct ink_value *v);

#endif
