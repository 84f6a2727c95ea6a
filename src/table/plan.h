/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef INKLING_TABLE_PLAN_H
#define INKLING_TABLE_PLAN_H

#include <inkling/inkling.h>

/* Reads the caller's options. 0 or -EINVAL. */
int ink_options_read(struct ink_options *ours, const struct ink_options *theirs, struct ink_why *why);

/* The options with every default filled in; 0 or -EINVAL, -ENOTSUP. */
int ink_resolve(const struct ink_options *options, struct ink_options *resolved, struct ink_why *why);

/* As ink_plan, for resolved options. `asked` are the caller's: what was left 0 there is free to plan. */
int ink_plan_resolved(const struct ink_options *asked, const struct ink_options *resolved,
		      struct ink_plan *plan, struct ink_why *why);

#endif
