/* SPDX-License-Identifier: BSD-2-Clause */
/* The default of FULL, which the configuration sets. */
#ifndef INKLING_REDIS_CREATE_H
#define INKLING_REDIS_CREATE_H

enum { FULL_POLICIES = 3 };

extern const char *full_names[FULL_POLICIES]; /* of enum ink_full, from INK_UNSURE on */
extern int config_full;

#endif
