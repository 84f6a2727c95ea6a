/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The structures that the experiments compare. Each has one colour and one mark in all plots of the report, so
 * that a reader learns them once; the paper's own points are crosses in the colour of their structure.
 */
#ifndef INKLING_LAB_STRUCTURE_H
#define INKLING_LAB_STRUCTURE_H

#include <stdbool.h>

#include <inkling/inkling.h>

enum structure {
	STRUCTURE_NONE, /* a formula, a policy, an encoding: drawn in the colour of the text */
	STRUCTURE_DIRECT,
	STRUCTURE_STATEFUL,
	STRUCTURE_DLEFT,
	STRUCTURE_LINE,
	STRUCTURE_COMPACT,
	STRUCTURE_SUMS, /* kind kbf */
	STRUCTURE_EXACT,
	STRUCTURE_PRINTED,  /* the kBF as printed_kbf.h has it */
	STRUCTURE_KBF,      /* the kBF of <inkling/kbf.h> */
	STRUCTURE_COUNTING, /* a counting Bloom filter */
	STRUCTURE_COUNT
};

/* "stateful Bloom filter (SBF, kind stateful)"; not for STRUCTURE_NONE. */
const char *structure_name(enum structure structure);

enum structure structure_of(enum ink_kind kind);

/* What the library says of a kind: one of INK_CAN_..., one of INK_GEOMETRY_... */
bool lab_kind_can(enum ink_kind kind, unsigned what);
bool lab_kind_takes(enum ink_kind kind, unsigned field);

#endif
