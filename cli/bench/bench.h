/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * inkling bench: the cost of the library's calls on this computer, kind by kind.
 *
 *     bench.c     the command line, and the tables of each kind
 *     work.c      flows, operations, rounds: what is timed
 *     show.c      the output
 *
 * Two tables of a kind get the same flows, one by single calls and the other
 * by batches. They alternate, slice by slice, with each other and with the raw
 * gather: two random lines of 64 bytes for each id, in as much memory as
 * the table has. That is the memory's share of the cost for a table that keeps
 * a flow in one of two lines.
 *
 *     flows     [ 0 1 2 3 ...        n )      id and state of each: the truth
 *     order     [ 7 2 9 0 ...        n )      shuffled; slices walk along it
 *     slice           [ 9 0 ... )             up to SLICE flows, side by side
 *
 * Preparing a slice is not timed. Every answer is checked within the time.
 */
#ifndef INKLING_CLI_BENCH_BENCH_H
#define INKLING_CLI_BENCH_BENCH_H

#include "cli/cli.h"

enum { STATES = 15, ROUNDS = 5 };
enum { SLICE = 100000 }; /* at most: the slowest kind then takes seconds, not minutes */
enum { LINE = 64 };      /* bytes */
enum { BURST = 256 };    /* items of a batch at most, and unless another number is given; as in ink-bench */

enum op { INSERT, HIT, MISS, MODIFY, STEP, DELETE, CHURN, GATHER, OPS };
enum way { SINGLE, BATCHED, WAYS };

/* The operands of an operation, side by side. */
struct slice {
	size_t n;
	uint64_t ids[SLICE], born[SLICE]; /* churn replaces `ids` by `born` */
	uint8_t states[SLICE], born_states[SLICE];
	uint32_t slots[SLICE]; /* of the flows in struct bench */
	uint16_t events[SLICE];
	ink_answer answers[SLICE];
	struct ink_move moves[SLICE];
	int errors[SLICE];
};

struct bench {
	struct ink_table *tables[WAYS];
	struct ink_plan plan;
	uint64_t n, slice_size, burst;
	uint64_t *ids;
	uint8_t *states;
	uint32_t *order;
	uint64_t cursor; /* in the order */
	uint64_t born;   /* flows so far, strangers included */
	uint64_t seed;
	uint64_t *memory; /* for the gather */
	uint64_t lines;
	struct slice slice;

	double ns[WAYS][OPS][ROUNDS];
	uint64_t known, wrong; /* operations on live flows, and those with a wrong result */
	uint64_t strangers, answered;
};

/* Fills both tables, and times every operation on them. */
void bench_measure(struct bench *b);

void bench_show_head(const struct bench *b);
void bench_show_kind(const struct bench *b);
void bench_show_foot(const struct bench *b);

#endif
