/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Labels of a drawn machine: what a row reacts to, and below that what it does.
 *
 *     syn, fin from initiator
 *     / count handshakes by 2
 *     / report {src} knocks at port
 *     {dst port}
 */
#ifndef INKLING_MACHINE_LABEL_H
#define INKLING_MACHINE_LABEL_H

#include <stdio.h>

#include "machine/tree.h"

/* A row, with the actions that it has in one of its states. Its part for time is a label of its own. */
struct ink_label {
	const struct ink_written_row *row;
	const struct ink_deed *does;
	int timed;
};

/* The number of triggers that a label has: time-outs, windows and ends if `timed`, else events. */
unsigned ink_label_triggers(const struct ink_written_row *row, int timed);

/* Writes the text of a label as Graphviz quotes it, without the quotes. */
void ink_label_put(FILE *out, const struct ink_machine *m, const struct ink_label *label);

#endif
