/* SPDX-License-Identifier: BSD-2-Clause */
/* The public calls: making and freeing a table, and the way from a call to its kind. */
#include "table/table.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/cpu.h"
#include "base/error.h"
#include "base/file.h"
#include "base/grow.h"
#include "base/secret.h"
#include "base/siphash.h"
#include "table/epoch.h"
#include "table/plan.h"

const char *ink_version(void)
{
	return INK_VERSION;
}

/* ------------------------------------------------------------------ the kinds */

const struct ink_ops *ink_kind_ops(const struct ink_plan *plan, unsigned writers, enum ink_simd simd)
{
	const struct ink_kind_def *kind = ink_kind_of(plan);

	if (!ink_cpu_has(simd))
		return NULL;
	if (simd == INK_SIMD_BEST)
		simd = ink_cpu_best();
	return kind->ops ? kind->ops : kind->choose_ops(plan, writers, simd == INK_SIMD_AVX2);
}

/* --------------------------------------------------------------- making, freeing */

/* What stands behind the struct. */
static void place_arrays(struct ink_table *t)
{
	t->aging.expired = (uint64_t *)(void *)(t->stripes + ink_stripes(&t->plan, t->writers));
	t->groups = (uint8_t *)(t->aging.expired + ink_state_codes(&t->plan));
	t->aging.after = (uint16_t *)(void *)(t->groups + ink_groups_bytes(&t->plan));
}

struct ink_table *ink_table_alloc(const struct ink_plan *plan, unsigned writers,
				  const struct ink_allocator *a)
{
	struct ink_table *t = ink_alloc(a, ink_table_bytes(plan, writers));

	if (t) {
		t->allocator = *a;
		t->kind = ink_kind_of(plan);
		t->plan = *plan;
		t->writers = writers;
		t->is_far = (uint8_t)ink_is_far(plan);
		t->locks = ink_locks(plan);
		place_arrays(t);
	}
	return t;
}

/* Shape and side table point into the body. */
static void place_body(struct ink_table *t)
{
	uint64_t cells = ink_cells_bytes(&t->plan, t->full);

	ink_side_init(&t->side, (unsigned char *)t->body + cells, ink_side_form(&t->plan), t->writers > 1);
	t->ops->shape(t);
}

void ink_table_attach(struct ink_table *t)
{
	t->coding = ink_coding(t->states, t->plan.age_bits);
	for (unsigned state = 0; ink_has_epochs(t) && state <= t->coding.unsure; state++) {
		ink_epoch_set(t, 0, state, 0);
		ink_epoch_set(t, 1, state, 0);
	}
	place_body(t);
}

void ink_table_set_body(struct ink_table *t, void *body, uint64_t bytes)
{
	struct ink_body old = {t->body, t->body_bytes, t->body_is_mapped};

	ink_file_release(&t->allocator, &old);
	t->body = body;
	t->body_bytes = bytes;
	t->body_is_mapped = 0;
}

static int make_body(struct ink_table *t, struct ink_why *why)
{
	uint64_t bytes = t->plan.bytes - ink_table_bytes(&t->plan, t->writers);

	ink_table_set_body(t, ink_alloc(&t->allocator, bytes), bytes);
	return t->body ? 0 : ink_fail(why, -ENOMEM, "no memory for %llu bytes", (unsigned long long)bytes);
}

/* `o` is the request with its defaults. */
static int build(struct ink_table *t, const struct ink_options *o, struct ink_why *why)
{
	int error;

	t->states = o->states;
	t->full = o->full;
	t->ops = ink_kind_ops(&t->plan, o->writers, o->simd);
	if (!t->ops)
		return ink_fail(why, -ENOTSUP, "this processor lacks the requested instructions");
	error = ink_secret_make(o->seed, t->secret, why);
	if (!error)
		error = make_body(t, why);
	if (error)
		return error;
	ink_table_attach(t);
	if (t->ops->fill)
		t->ops->fill(t);
	return o->rules ? ink_set_rules(t, o->rules, why) : 0;
}

static int create(const struct ink_options *requested, struct ink_table **t, struct ink_why *why)
{
	struct ink_allocator a;
	struct ink_options o;
	struct ink_plan plan;
	int error = ink_resolve(requested, &o, why);

	if (!error)
		error = ink_allocator_copy(&a, o.allocator, why);
	if (!error)
		error = ink_plan_resolved(requested, &o, &plan, why);
	if (error)
		return error;
	*t = ink_table_alloc(&plan, o.writers, &a);
	return *t ? build(*t, &o, why) : ink_fail(why, -ENOMEM, "no memory for a table");
}

/* The table if all went well; else nothing is left of it, and errno says why. */
static struct ink_table *table_or_error(struct ink_table *t, int error)
{
	if (!error)
		return t;
	ink_free(t);
	errno = -error;
	return NULL;
}

struct ink_table *ink_create(const struct ink_options *options, struct ink_why *why)
{
	struct ink_table *t = NULL;
	struct ink_options requested;
	int error = ink_options_read(&requested, options, why);

	if (!error)
		error = create(&requested, &t, why);
	return table_or_error(t, error);
}

void ink_free(struct ink_table *t)
{
	struct ink_allocator a;

	if (!t)
		return;
	a = t->allocator;
	ink_program_free(t->program, &a);
	ink_table_set_body(t, NULL, 0);
	ink_release(&a, t, ink_table_bytes(&t->plan, t->writers));
}

static int make_program(const struct ink_table *t, const struct ink_rules *theirs,
			struct ink_program **program, struct ink_why *why)
{
	struct ink_rules rules;
	int error = ink_rules_read(&rules, theirs, t->states, why);

	if (error)
		return error;
	*program = ink_program_make(&rules, t->states, &t->allocator);
	if (!*program)
		return ink_fail(why, -ENOMEM, "rules: no memory");
	if ((*program)->has_windows && !(t->kind->info.can & INK_CAN_WINDOW))
		return ink_fail(why, -ENOTSUP, "rules: windows; %s cannot keep when a flow entered a state",
				t->kind->info.name);
	return t->ops->adopt ? t->ops->adopt(t, *program, why) : 0;
}

int ink_set_rules(struct ink_table *t, const struct ink_rules *rules, struct ink_why *why)
{
	struct ink_program *program = NULL;
	int error = rules ? make_program(t, rules, &program, why) : 0;

	if (error)
		return ink_program_free(program, &t->allocator), error;
	ink_program_free(t->program, &t->allocator);
	t->program = program;
	t->has_windows = program && program->has_windows;
	if (program)
		t->rules_expected = 0;
	return 0;
}

int ink_rules(const struct ink_table *t, struct ink_rules *rules)
{
	return t->program ? ink_program_rules(t->program, rules) : -ENOENT;
}

/* ------------------------------------------------------------------------ a copy */

/* All that is not a pointer is in the struct and the arrays behind it. */
static void copy_struct(struct ink_table *to, const struct ink_table *from)
{
	struct ink_allocator a = to->allocator;

	memcpy(to, from, ink_table_bytes(&from->plan, from->writers));
	to->allocator = a;
	to->body = NULL;
	to->body_bytes = 0;
	to->program = NULL;
	to->aging.busy = 0;
	place_arrays(to);
}

static int copy_parts(struct ink_table *to, const struct ink_table *from, struct ink_why *why)
{
	void *body = ink_alloc_unset(&to->allocator, from->body_bytes);

	copy_struct(to, from);
	if (!body)
		return ink_fail(why, -ENOMEM, "no memory for %llu bytes",
				(unsigned long long)from->body_bytes);
	memcpy(body, from->body, from->body_bytes);
	ink_table_set_body(to, body, from->body_bytes);
	place_body(to);
	to->side.clock_hand = from->side.clock_hand;
	to->aging.flagged = from->aging.flagged;
	if (from->program)
		to->program = ink_program_copy(from->program, &to->allocator);
	return from->program && !to->program ? ink_fail(why, -ENOMEM, "rules: no memory") : 0;
}

struct ink_table *ink_copy(const struct ink_table *table, const struct ink_allocator *allocator,
			   struct ink_why *why)
{
	struct ink_table *t = NULL;
	struct ink_allocator a;
	int error = ink_allocator_copy(&a, allocator, why);

	if (!error) {
		t = ink_table_alloc(&table->plan, table->writers, &a);
		error = t ? copy_parts(t, table, why) : ink_fail(why, -ENOMEM, "no memory for a table");
	}
	return table_or_error(t, error);
}

/* ------------------------------------------------------------------------- id */

uint64_t ink_id(const struct ink_table *t, const void *key, size_t length)
{
	return ink_siphash13(t->secret, key, length);
}

void ink_id_batch(const struct ink_table *t, const struct ink_keys *keys, uint64_t *ids)
{
	ink_secret_ids(t->secret, keys, ids);
}

/* ------------------------------------------------------------------- the verbs */

ink_answer ink_lookup(struct ink_table *t, uint64_t id)
{
	return t->ops->lookup(t, id);
}

ink_answer ink_peek(const struct ink_table *t, uint64_t id)
{
	return t->ops->peek(t, id);
}

int ink_insert(struct ink_table *t, uint64_t id, unsigned state)
{
	return t->ops->insert(t, id, state);
}

int ink_set(struct ink_table *t, uint64_t id, unsigned state)
{
	return t->ops->set(t, id, state);
}

int ink_modify(struct ink_table *t, uint64_t id, unsigned state)
{
	return t->ops->modify(t, id, state);
}

int ink_delete(struct ink_table *t, uint64_t id)
{
	return t->ops->remove(t, id);
}

ink_answer ink_lookup_in(struct ink_table *t, uint64_t id, unsigned state)
{
	ink_answer answer;

	if (state >= t->states)
		return INK_ABSENT;
	if (t->ops->lookup_in)
		return t->ops->lookup_in(t, id, state);
	answer = t->ops->lookup(t, id);
	return answer == (ink_answer)state || answer == INK_DONT_KNOW ? answer : INK_ABSENT;
}

int ink_modify_from(struct ink_table *t, uint64_t id, unsigned from, unsigned to)
{
	return from < t->states ? t->ops->modify_from(t, id, from, to) : -EINVAL;
}

int ink_delete_in(struct ink_table *t, uint64_t id, unsigned state)
{
	return state < t->states ? t->ops->remove_in(t, id, state) : -EINVAL;
}

int ink_step(struct ink_table *t, uint64_t id, unsigned event, struct ink_move *move)
{
	return t->ops->step(t, id, event, move);
}

void ink_lookup_batch(struct ink_table *t, const struct ink_batch *batch)
{
	t->ops->lookup_batch(t, batch);
}

void ink_peek_batch(const struct ink_table *t, const struct ink_batch *batch)
{
	t->ops->peek_batch(t, batch);
}

int ink_insert_batch(struct ink_table *t, const struct ink_batch *batch)
{
	return t->ops->insert_batch(t, batch);
}

int ink_set_batch(struct ink_table *t, const struct ink_batch *batch)
{
	return t->ops->set_batch(t, batch);
}

int ink_modify_batch(struct ink_table *t, const struct ink_batch *batch)
{
	return t->ops->modify_batch(t, batch);
}

int ink_delete_batch(struct ink_table *t, const struct ink_batch *batch)
{
	return t->ops->remove_batch(t, batch);
}

int ink_step_batch(struct ink_table *t, const struct ink_batch *batch)
{
	return t->ops->step_batch(t, batch);
}

void ink_fetch(const struct ink_table *t, uint64_t id)
{
	t->ops->fetch(t, id);
}

void ink_fetch_batch(const struct ink_table *t, const uint64_t *ids, size_t n)
{
	t->ops->fetch_batch(t, ids, n);
}

/* --------------------------------------------------------------------- looking */

enum { CENSUS_TRIES = 20 };

/* While a writer keeps deleting, after some retries a few flows may be counted twice or not at all. */
static void count_side(const struct ink_table *t, struct ink_counts *counts)
{
	struct ink_side *side = (struct ink_side *)&t->side;
	struct ink_counts before = *counts;
	uint32_t begin, tries = 0;

	ink_side_enter(side);
	do {
		begin = ink_side_seq_read(side);
		*counts = before;
		for (uint32_t e = 1; e <= ink_side_last(side); e++) {
			int code = ink_side_code_if_used(side, e);

			if (code >= 0)
				ink_counts_add(t, counts, (unsigned)code);
		}
	} while (!ink_side_seq_unchanged(side, begin) && ++tries < CENSUS_TRIES);
	ink_side_leave(side);
}

int ink_census(const struct ink_table *t, struct ink_counts *counts)
{
	memset(counts, 0, sizeof *counts);
	if (!t->ops->count)
		return -ENOTSUP;
	t->ops->count(t, counts);
	count_side(t, counts);
	return 0;
}

/*
 * n flows leave a cell empty with the probability exp(-k n / m); turned round.
 * Of a full table it is only known that there are many flows.
 */
static uint64_t flows_for(const struct ink_geometry *g, uint64_t occupied)
{
	double m = g->m, empty = occupied < g->m ? m - (double)occupied : .5;

	return (uint64_t)(m / g->k * log(m / empty) + .5);
}

static void count_all(const struct ink_table *t, struct ink_stats *stats)
{
	struct ink_counts counts = {.total = 0};

	if (!t->ops->count) {
		stats->occupied = t->ops->occupied(t);
		stats->flows = flows_for(&t->plan.geometry, stats->occupied);
		return;
	}
	t->ops->count(t, &counts);
	stats->occupied = counts.total;
	count_side(t, &counts);
	stats->flows = counts.total;
}

static uint64_t now_of(const uint64_t *counter)
{
	return __atomic_load_n(counter, __ATOMIC_RELAXED);
}

/* 128: at its first release. */
static const struct ink_struct stats_struct = {"stats", 128, sizeof(struct ink_stats)};

uint64_t ink_bytes(const struct ink_table *t)
{
	return ink_table_bytes(&t->plan, t->writers) + t->body_bytes;
}

uint64_t ink_now(const struct ink_table *t)
{
	return now_of(&t->aging.now);
}

int ink_stats(const struct ink_table *t, struct ink_stats *stats)
{
	const struct ink_counters *c = &t->counters;
	struct ink_stats full;
	int error = ink_struct_check(&stats_struct, stats, NULL);

	if (error)
		return error;
	full = (struct ink_stats){
		.bytes = ink_bytes(t),
		.cells = t->ops->units(t) * t->ops->unit_cells(t),
		.side_flows = ink_side_count(&t->side),
		.side_cells = t->side.capacity,
		.now = ink_now(t),
		.collisions = now_of(&c->collisions),
		.displaced = now_of(&c->displaced),
		.overflowed = now_of(&c->overflowed),
		.refused = now_of(&c->refused),
		.replaced = now_of(&c->replaced),
		.marked = now_of(&c->marked),
		.expired = now_of(&c->expired),
		.simd = t->ops->simd,
	};
	count_all(t, &full);
	return ink_struct_write(&stats_struct, stats, &full, NULL);
}

int ink_check(const struct ink_table *t, struct ink_why *why)
{
	const char *wrong = t->ops->check(t);

	return wrong ? ink_fail(why, -EUCLEAN, "%s", wrong) : 0;
}
