/* SPDX-License-Identifier: BSD-2-Clause */
#include "packet/limits.h"

#include <stdlib.h>
#include <string.h>

#include "machine/tree.h"
#include "packet/queue.h"

struct bucket {
	uint64_t empty;  /* when what passed will have been sent */
	uint64_t beside; /* the same for the lane beside, during `packet` */
	uint64_t packet; /* the latest that asked */
};

struct limit {
	struct ink_limit of;
	uint64_t pace, burst; /* as ink_pace; ns */
	struct bucket *buckets;
};

struct ink_limits {
	unsigned n;
	struct limit at[];
};

/* ------------------------------------------------------------------- asking */

static uint64_t *bucket_of(const struct limit *l, const struct ink_asker *a)
{
	struct bucket *b = &l->buckets[l->of.each_flow ? ink_bucket_of(a->id) : 0];

	if (b->packet != a->packet)
		b->beside = b->empty;
	b->packet = a->packet;
	return a->beside ? &b->beside : &b->empty;
}

int ink_limits_pass(struct ink_limits *limits, unsigned limit, const struct ink_asker *a)
{
	const struct limit *l = &limits->at[limit];
	uint64_t *empty = bucket_of(l, a), cost = ink_pace_time(l->pace, ink_queue_length(a->bytes));

	if (!ink_bucket_passes(*empty, a->now, cost, l->burst))
		return 0;
	*empty = ink_bucket_join(*empty, a->now, cost);
	return 1;
}

/* ------------------------------------------------------------------- making */

static size_t buckets_of(const struct ink_limit *l)
{
	return l->each_flow ? INK_FLOW_BUCKETS : 1;
}

static int make_limit(struct limit *l, const struct ink_limit *of)
{
	l->of = *of;
	l->pace = ink_pace(of->rate);
	l->burst = ink_bucket_burst(of->rate, of->burst);
	l->buckets = calloc(buckets_of(of), sizeof *l->buckets);
	return l->buckets != NULL;
}

struct ink_limits *ink_limits_make(const struct ink_machine_view *v)
{
	struct ink_limits *limits = calloc(1, sizeof *limits + v->limits * sizeof *limits->at);
	int made = limits != NULL;

	for (unsigned i = 0; i < v->limits && made; i++) {
		made = make_limit(&limits->at[i], &v->limit[i]);
		limits->n = i + 1;
	}
	if (made)
		return limits;
	ink_limits_free(limits);
	return NULL;
}

void ink_limits_free(struct ink_limits *limits)
{
	for (unsigned i = 0; limits && i < limits->n; i++)
		free(limits->at[i].buckets);
	free(limits);
}

/* Limits that are written alike are one, so a machine has each of them once. */
void ink_limits_inherit(struct ink_limits *to, const struct ink_limits *from)
{
	for (unsigned i = 0; i < to->n; i++)
		for (unsigned j = 0; j < from->n; j++)
			if (ink_limit_same(&to->at[i].of, &from->at[j].of))
				memcpy(to->at[i].buckets, from->at[j].buckets,
				       buckets_of(&to->at[i].of) * sizeof *to->at[i].buckets);
}
