/* SPDX-License-Identifier: BSD-2-Clause */
/* How often `stateful` and `direct` err, by their geometry: odds.c. */
#ifndef INKLING_KINDS_BLOOM_ODDS_H
#define INKLING_KINDS_BLOOM_ODDS_H

#include <stdint.h>

#include <inkling/inkling.h>

struct ink_bloom_odds {
	double error;  /* strangers that get an answer other than absent */
	double unsure; /* live flows that read don't-know */
};

/* Of a filter with that many flows, whose kind and geometry are set. `unit`: the cells of a line if blocked, else 1. */
struct ink_bloom_odds ink_bloom_odds(const struct ink_plan *plan, uint32_t unit, double flows, double states);

#endif
