/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a kind of table is: one definition, struct ink_kind_def.
 *
 *     info        its name and what it can do, as users see it
 *     request     which options it takes, and the best plan for them
 *     sizes       what a plan costs in memory
 *     snapshot    the range of each number in the header of a snapshot
 *     ops         the operations; with variants, chosen by plan and instruction set
 *
 * A kind lives in src/kinds/NAME/. src/kinds/list.c names all of them; nothing
 * else in src/ compares kinds. The code shared by all kinds reaches a kind only
 * through its definition.
 */
#ifndef INKLING_TABLE_KIND_H
#define INKLING_TABLE_KIND_H

#include <stddef.h>

#include <inkling/inkling.h>

struct ink_program;
struct ink_request;

/* ------------------------------------------------------------- the operations */

/* In place of a state: any; and for place_fetch, that no state will change. */
#define INK_ANY_STATE (-1)
#define INK_UNCHANGED (-2)

/* A change of state, from the given one or from any. */
struct ink_change {
	int from;
	unsigned to;
};

struct ink_ops {
	const char *simd;
	void (*shape)(struct ink_table *t); /* from the plan; side table and body are there */
	void (*fill)(struct ink_table *t);  /* a new body with what is not 0; NULL: all is 0 */
	ink_answer (*lookup)(struct ink_table *t, uint64_t id);
	ink_answer (*lookup_in)(struct ink_table *t, uint64_t id, unsigned state); /* NULL: by lookup */
	ink_answer (*peek)(const struct ink_table *t, uint64_t id);
	int (*insert)(struct ink_table *t, uint64_t id, unsigned state);
	int (*set)(struct ink_table *t, uint64_t id, unsigned state);
	int (*modify)(struct ink_table *t, uint64_t id, unsigned state);
	int (*modify_from)(struct ink_table *t, uint64_t id, unsigned from, unsigned to);
	int (*remove)(struct ink_table *t, uint64_t id);
	int (*remove_in)(struct ink_table *t, uint64_t id, unsigned state);
	int (*step)(struct ink_table *t, uint64_t id, unsigned event, struct ink_move *move);
	void (*lookup_batch)(struct ink_table *t, const struct ink_batch *b);
	void (*peek_batch)(const struct ink_table *t, const struct ink_batch *b);
	int (*insert_batch)(struct ink_table *t, const struct ink_batch *b);
	int (*set_batch)(struct ink_table *t, const struct ink_batch *b);
	int (*modify_batch)(struct ink_table *t, const struct ink_batch *b);
	int (*remove_batch)(struct ink_table *t, const struct ink_batch *b);
	int (*step_batch)(struct ink_table *t, const struct ink_batch *b);
	void (*fetch)(const struct ink_table *t, uint64_t id);
	void (*fetch_batch)(const struct ink_table *t, const uint64_t *ids, size_t n);
	uint64_t (*units)(const struct ink_table *t);      /* that a tick visits */
	uint32_t (*unit_cells)(const struct ink_table *t); /* cells in each */
	void (*sweep)(struct ink_table *t, uint64_t from, uint64_t to);
	void (*sweep_side)(struct ink_table *t);
	void (*count)(const struct ink_table *t, struct ink_counts *counts); /* NULL: it cannot */
	uint64_t (*occupied)(const struct ink_table *t); /* cells; only where there is no count */
	/* Refuses rules that the kind cannot keep; may give unsure a longer period. NULL: it keeps all. */
	int (*adopt)(const struct ink_table *t, struct ink_program *p, struct ink_why *why);
	const char *(*check)(const struct ink_table *t); /* NULL, or what is wrong */
	/*
	 * What must hold so that no operation leaves the table's memory, whatever the
	 * other bits of the body are: all that is checked if the checksum is trusted.
	 * NULL: as check.
	 */
	const char *(*check_bounds)(const struct ink_table *t);
};

/* -------------------------------------------------------------- the definition */

struct ink_bounds {
	uint32_t least, most;
};

/* What the header of a snapshot may say of a table of this kind: the plan makes no others. */
struct ink_header_ranges {
	struct ink_bounds writers, full;
	struct ink_bounds d, b, h, f, q, side, dleft_flags;
	struct ink_bounds k, m, counter_bits, threshold, bloom_flags, side_id, part;
};

/* Traits: what the shared code must know of the cells. */
enum {
	INK_TRAIT_LINES = 1,     /* 64-byte lines, b of them, two for a flow */
	INK_TRAIT_EPOCHS = 2,    /* ages are stored relative to an epoch: table/epoch.h */
	INK_TRAIT_STATELESS = 4, /* cells hold no states */
};

struct ink_kind_def {
	struct ink_kind_info info;

	unsigned traits;
	uint32_t stripes; /* sequence counters for peeks, with one writer; table/seqlock.h */

	/* Refuses options that the kind cannot serve. What info says is checked already. NULL: it serves all. */
	int (*accept)(const struct ink_options *options, struct ink_why *why);
	/* The best plan; 0, or an error with its reason. */
	int (*plan)(const struct ink_request *request, struct ink_plan *plan, struct ink_why *why);

	/* The bytes of the cells, in front of the side table. */
	uint64_t (*cells_bytes)(const struct ink_plan *plan, enum ink_full full);
	/* The bits of a cell for the state. NULL: those of ink_coding. */
	unsigned (*state_bits)(unsigned states, uint32_t counter_bits);

	/*
	 * The first version of the snapshot format (base/file.h) that has the cells as they are
	 * now, and what makes them so out of those of older versions. The conversion trusts no
	 * byte: cells are checked after it. 0 and NULL: the cells are those of the oldest.
	 */
	uint32_t version;
	void (*convert)(struct ink_table *table);

	struct ink_header_ranges ranges;
	/* Each number of a snapshot's header is in its range; do they fit together? */
	int (*fits)(const struct ink_plan *plan, unsigned states);

	/* The operations; NULL if the kind has variants. */
	const struct ink_ops *ops;
	/* The variant for a plan. `avx2`: those instructions may be used. */
	const struct ink_ops *(*choose_ops)(const struct ink_plan *plan, unsigned writers, int avx2);
};

/* The definition of a kind, or NULL. INK_KIND_DEFAULT is that of `line`. Defined in kinds/list.c. */
const struct ink_kind_def *ink_kind_find(unsigned kind);

/* The same where the kind is known to exist: in a plan or a table. */
static inline const struct ink_kind_def *ink_kind_of(const struct ink_plan *plan)
{
	return ink_kind_find((unsigned)plan->kind);
}

static inline const char *ink_kind_name(enum ink_kind kind)
{
	return ink_kind_find((unsigned)kind)->info.name;
}

static inline int ink_kind_has(const struct ink_plan *plan, unsigned trait)
{
	return (ink_kind_of(plan)->traits & trait) != 0;
}

#endif
