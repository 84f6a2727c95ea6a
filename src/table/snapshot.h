/* SPDX-License-Identifier: BSD-2-Clause */
/* What a set of tables (set.c) needs of the snapshot of one. */
#ifndef INKLING_TABLE_SNAPSHOT_H
#define INKLING_TABLE_SNAPSHOT_H

#include "base/file.h"

/* Writes the header of the table's snapshot without extra bytes to a page; the body is the table's. */
void ink_snapshot_header(const struct ink_table *t, void *page);

/* Opens, loads and closes. 0, or a negative errno with the reason; then *t is NULL. */
int ink_snapshot_load(struct ink_file *f, struct ink_table **t);

#endif
