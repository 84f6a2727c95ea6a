/* SPDX-License-Identifier: BSD-2-Clause */
/* The verbs for keys whose places are known: what single calls (filter.c) and batches (batch.c) share. */
#ifndef INKLING_KBF_VERBS_H
#define INKLING_KBF_VERBS_H

#include "kbf/filter.h"

/* What a call requests for a key. */
struct ink_kbf_request {
	struct ink_bytes key;
	const struct ink_bytes *value; /* NULL: gone */
	uint32_t symbol;               /* the value's, if it has been found already; else INK_PENDING_GONE */
};

/* Keys that are too long for the side table: every change refuses them. Their bytes are not read. */
static inline int ink_kbf_is_too_long(struct ink_bytes key)
{
	return key.length > UINT32_MAX;
}

typedef int (*ink_kbf_verb)(struct ink_kbf *f, const struct ink_kbf_place *p,
			    const struct ink_kbf_request *w);

int ink_kbf_insert_at(struct ink_kbf *f, const struct ink_kbf_place *p, const struct ink_kbf_request *w);

/* Update, or delete if there is no value. */
int ink_kbf_change_at(struct ink_kbf *f, const struct ink_kbf_place *p, const struct ink_kbf_request *w);

/* A whole call: the verb, and a retry of one waiting key if that changed something. */
int ink_kbf_call_at(struct ink_kbf *f, const struct ink_kbf_place *p, const struct ink_kbf_request *w,
		    ink_kbf_verb verb);

enum ink_kbf_answer ink_kbf_query_at(const struct ink_kbf *f, const struct ink_kbf_place *p,
				     struct ink_bytes key, struct ink_bytes *value);

#endif
