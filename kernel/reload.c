/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Other machines for the same tables, while packets flow.
 *
 *     grace      until no program runs that began before the last exchange: it may read the idle half
 *     write      the new machines into the idle half, with what is in the buckets of their limits
 *     flip       control.generation
 *     grace      until no program runs that reads the old half
 *
 * The grace period is that of RCU, in which all programs run: membarrier(2) waits for it, or, where the kernel
 * lacks it, the update of a map of maps, which waits for the same.
 *
 * Flows keep their codes, counters their slots (numbering.c); codes that no flow has any more become free. What does
 * not fit is refused before the exchange.
 */
#include "kernel/inside.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/membarrier.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/error.h"
#include "packet/queue.h"

/* ------------------------------------------------------------------- grace */

/* An exchange of an inner map ends when no program has the old one. */
static int grace_by_map(void)
{
	LIBBPF_OPTS(bpf_map_create_opts, o);
	uint32_t zero = 0;
	int inner = bpf_map_create(BPF_MAP_TYPE_ARRAY, "ink_inner", 4, 4, 1, NULL), outer, error;

	if (inner < 0)
		return -errno;
	o.inner_map_fd = (uint32_t)inner;
	outer = bpf_map_create(BPF_MAP_TYPE_ARRAY_OF_MAPS, "ink_outer", 4, 4, 1, &o);
	error = outer < 0 || bpf_map_update_elem(outer, &zero, &inner, 0) ? -errno : 0;
	if (outer >= 0)
		close(outer);
	close(inner);
	return error;
}

static int grace(struct ink_why *why)
{
	int error;

	if (!syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL, 0, 0))
		return 0;
	error = grace_by_map();
	return error ? ink_fail(why, error, "the kernel has no grace period: %s", strerror(-error)) : 0;
}

/* ------------------------------------------------------------------ checking */

static int check_one(const struct ink_kernel *k, unsigned i, const struct ink_machine *old,
		     const struct ink_machine *new, int no_timeouts, struct ink_why *why)
{
	if (strcmp(old->name, new->name) != 0)
		return ink_fail(why, -EINVAL,
				"%s:%u:1: machine %s is in the place of %s: names and order stay",
				new->view.file, new->line, new->name, old->name);
	if (memcmp(&old->key, &new->key, sizeof old->key) != 0)
		return ink_fail(why, -EINVAL, "%s:%u:1: machine %s: its flows have another key",
				new->view.file, new->line, new->name);
	if (new->view.timeouts && !ink_kernel_tables(k, i)->age_bits && !no_timeouts)
		return ink_fail(why, -EINVAL,
				"%s:%u:1: machine %s has time-outs, and its table was made without: "
				"detach and attach it",
				new->view.file, new->line, new->name);
	return 0;
}

static int check_same(struct ink_kernel *k, const struct ink_kernel_options *o, struct ink_why *why)
{
	const struct ink_machines *old = ink_kernel_machines(k);
	int error = 0;

	if (ink_machines_count(o->machines) != k->n)
		return ink_fail(why, -EINVAL, "%u machine%s; %s has %u", ink_machines_count(o->machines),
				ink_plural(ink_machines_count(o->machines)), k->name, k->n);
	for (unsigned i = 0; i < k->n && !error; i++)
		error = check_one(k, i, ink_machines_at(old, i), ink_machines_at(o->machines, i),
				  o->no_timeouts, why);
	return error;
}

/* Drops and marks are carried out at the hooks that the set has. */
static int check(struct ink_kernel *k, const struct ink_kernel_options *options, struct ink_why *why)
{
	struct ink_kernel_place places[INK_KERNEL_PLACES];
	struct ink_kernel_options o = *options;
	int error;

	o.n_places = ink_kernel_places(k, places);
	o.places = places;
	o.enforce = ink_kernel_control(k)->enforce != 0;
	error = ink_kernel_check(&o, why);
	if (!error)
		error = check_same(k, options, why);
	return error ? error : ink_kernel_queues_prepare(k, options->machines, why);
}

/* ----------------------------------------------------------------- the half */

struct draft {
	struct ink_kernel_numbering numbering[INK_KERNEL_MACHINES];
	struct ink_kernel_half half;
};

/* Which codes entries of the table have. */
static void find_codes(const struct ink_kernel *k, unsigned machine, uint8_t used[INK_KERNEL_STATES])
{
	const struct ink_kernel_table *t = ink_kernel_tables(k, machine);
	const uint64_t *words = (const uint64_t *)(const void *)(k->map[INK_MAP_BODY].at +
								 t->base * k->map[INK_MAP_BODY].stride);
	const uint64_t *side = words + (uint64_t)t->shape.lines * INK_LINE_WORDS;

	for (uint64_t i = 0; i < (uint64_t)t->shape.lines * INK_LINE_WORDS; i++) {
		uint64_t word = ink_line_read(&words[i]);

		for (uint32_t lane = 0; lane < t->shape.lanes; lane++) {
			uint32_t entry = ink_line_entry(&t->shape, word, lane * t->shape.column_bits);

			if (entry)
				used[ink_line_entry_code(&t->shape, entry) >> t->age_bits] = 1;
		}
	}
	for (uint32_t i = 0; i < t->side_words; i++) {
		const void *at =
			(const unsigned char *)side + sizeof(struct ink_side_head) + i * t->side_width;
		uint64_t word = t->side_width == 4 ? *(const uint32_t *)at : *(const uint64_t *)at;

		if (word)
			used[((word - 1) & ((1u << t->side_code_bits) - 1)) >> t->age_bits] = 1;
	}
}

/* A state that the present machine no longer has gets no new flows: when the last has ended, its code is free. */
static void free_codes(const struct ink_kernel *k, unsigned machine, struct ink_kernel_numbering *n)
{
	uint8_t used[INK_KERNEL_STATES] = {0};

	find_codes(k, machine, used);
	for (unsigned code = 0; code < n->codes; code++)
		if (n->code[code].name && !used[code] &&
		    k->version->before->numbers[machine].number_of[code] < 0) {
			free(n->code[code].name);
			memset(&n->code[code], 0, sizeof n->code[code]);
		}
}

static int number_all(struct ink_kernel *k, struct draft *d, struct ink_why *why)
{
	int error = 0;

	for (unsigned i = 0; i < k->n && !error; i++) {
		error = ink_kernel_numbering_copy(&d->numbering[i], &k->numbering[i]);
		if (error)
			return ink_fail(why, error, "no memory");
		error = ink_kernel_table_check(k, i, why);
		if (error)
			return error;
		free_codes(k, i, &d->numbering[i]);
		error = ink_kernel_number(&d->numbering[i], ink_machines_at(ink_kernel_machines(k), i),
					  &k->version->numbers[i], why);
	}
	return error;
}

/* The text has the numbering of the new machines. */
static int write_text(struct ink_kernel *k, struct draft *d, const struct ink_kernel_options *o)
{
	struct ink_kernel_numbering before[INK_KERNEL_MACHINES];
	int error;

	memcpy(before, k->numbering, sizeof before);
	memcpy(k->numbering, d->numbering, sizeof before);
	error = ink_kernel_text_write(&d->half, k, o);
	memcpy(k->numbering, before, sizeof before);
	return error;
}

static int draft_half(struct ink_kernel *k, struct draft *d, const struct ink_kernel_options *o,
		      struct ink_why *why)
{
	uint32_t base[INK_KERNEL_PARTS], idle = !(ink_kernel_control(k)->generation & 1);
	int error;

	for (unsigned i = 0; i < INK_KERNEL_PARTS; i++)
		base[i] = idle * (k->map[i].entries / INK_KERNEL_HALVES);
	ink_kernel_half_init(&d->half, base);
	error = number_all(k, d, why);
	if (!error)
		error = ink_kernel_compile_all(k, d->numbering, &d->half, why);
	return error ? error : write_text(k, d, o);
}

/* ------------------------------------------------------------------ counters */

/* A slot that no counter had begins at 0; nobody counts there yet. */
static int clear_slot(struct ink_kernel *k, uint32_t index)
{
	int processors = libbpf_num_possible_cpus();
	uint64_t zeros[4096] = {0};

	if (processors < 0 || processors > 4096)
		return -EINVAL;
	if (bpf_map_update_elem(k->map[INK_MAP_COUNTERS].fd, &index, zeros, 0) ||
	    bpf_map_update_elem(k->map[INK_MAP_WEIGHED].fd, &index, zeros, 0))
		return -errno;
	return 0;
}

static int clear_slots(struct ink_kernel *k, const struct draft *d)
{
	int error = 0;

	for (uint32_t i = 0; i < k->n * INK_KERNEL_COUNTERS && !error; i++) {
		uint32_t machine = i / INK_KERNEL_COUNTERS, slot = i % INK_KERNEL_COUNTERS;
		const char *old = k->numbering[machine].counter[slot],
			   *new = d->numbering[machine].counter[slot];

		if (new && (!old || strcmp(old, new) != 0))
			error = clear_slot(k, i);
	}
	return error;
}

static int sum_of(const struct ink_kernel *k, uint32_t index, uint64_t *total)
{
	int processors = libbpf_num_possible_cpus();
	uint64_t values[4096];

	*total = 0;
	if (processors < 0 || processors > 4096)
		return -EINVAL;
	if (bpf_map_lookup_elem(k->map[INK_MAP_COUNTERS].fd, &index, values))
		return -errno;
	for (int i = 0; i < processors; i++)
		*total += values[i];
	return 0;
}

/*
 * A condition begins to read a counter: what the processors counted apart stays where it is, and the condition adds it
 * to what they count together from here on. Nothing is moved, so a tool that is killed has counted nothing twice.
 */
static int carry_one(struct ink_kernel *k, struct ink_kernel_against *a)
{
	uint64_t counter, other = 0;
	int error = sum_of(k, a->counter, &counter);

	if (!error && a->other != UINT32_MAX)
		error = sum_of(k, a->other, &other);
	if (error)
		return error;
	__atomic_store_n(&a->carried[0], counter, __ATOMIC_RELAXED);
	__atomic_store_n(&a->carried[1], other, __ATOMIC_RELAXED);
	return 0;
}

/* Before the exchange, so that conditions never begin at 0; and behind it, when nobody counts in the old way any more. */
static int carry(struct ink_kernel *k, const struct ink_kernel_half *half)
{
	const struct ink_kernel_array *a = &half->part[INK_PART_AGAINSTS];
	const struct ink_kernel_map *m = &k->map[INK_MAP_AGAINSTS];
	int error = 0;

	for (uint32_t i = 0; i < a->n && !error; i++)
		error = carry_one(k,
				  (struct ink_kernel_against *)(void *)(m->at + (a->base + i) * m->stride));
	return error;
}

/* ------------------------------------------------------------------- limits */

static const void *entry_at(const struct ink_kernel *k, enum ink_kernel_map_name map, uint32_t index)
{
	return k->map[map].at + index * k->map[map].stride;
}

static void inherit_buckets(struct ink_kernel *k, const struct ink_kernel_limit *to,
			    const struct ink_kernel_limit *from)
{
	const struct ink_kernel_map *m = &k->map[INK_MAP_BUCKETS];
	size_t n = to->each_flow ? INK_FLOW_BUCKETS : 1;

	if (to->pace == from->pace && to->burst == from->burst && to->each_flow == from->each_flow)
		memcpy(m->at + to->buckets_at * m->stride, m->at + from->buckets_at * m->stride,
		       n * m->stride);
}

static void inherit_limits(struct ink_kernel *k, const struct ink_kernel_machine *to,
			   const struct ink_kernel_machine *from)
{
	for (uint32_t i = 0; i < to->limits; i++)
		for (uint32_t j = 0; j < from->limits; j++)
			inherit_buckets(k, entry_at(k, INK_MAP_LIMITS, to->limits_at + i),
					entry_at(k, INK_MAP_LIMITS, from->limits_at + j));
}

/*
 * Limits that both machines have go on with the buckets of the old one, but for what passes while they are copied. Each
 * bucket is a word, which is copied as a whole.
 */
static void inherit(struct ink_kernel *k)
{
	uint32_t active = ink_kernel_control(k)->generation & 1, idle = active ^ 1;

	for (unsigned i = 0; i < k->n; i++)
		inherit_limits(k, entry_at(k, INK_MAP_MACHINES, idle * INK_KERNEL_MACHINES + i),
			       entry_at(k, INK_MAP_MACHINES, active * INK_KERNEL_MACHINES + i));
}

/* ---------------------------------------------------------------- exchanging */

/* One store: a tool that is killed before it has exchanged nothing, and all behind it. */
static void flip(struct ink_kernel *k)
{
	__atomic_fetch_add(&ink_kernel_controls(k)->generation, 1, __ATOMIC_RELEASE);
}

static void adopt(struct ink_kernel *k, struct draft *d)
{
	for (unsigned i = 0; i < INK_KERNEL_MACHINES; i++) {
		ink_kernel_numbering_free(&k->numbering[i]);
		k->numbering[i] = d->numbering[i];
	}
	memset(d->numbering, 0, sizeof d->numbering);
}

static int exchange(struct ink_kernel *k, struct draft *d, const struct ink_kernel_options *o,
		    struct ink_why *why)
{
	int error = draft_half(k, d, o, why);

	if (!error)
		error = grace(why);
	if (!error)
		error = ink_kernel_half_write(k, &d->half, why);
	if (!error)
		error = clear_slots(k, d);
	if (!error)
		error = carry(k, &d->half);
	if (error)
		return error;
	inherit(k);
	flip(k);
	adopt(k, d);
	error = grace(why);
	if (!error)
		error = carry(k, &d->half);
	ink_kernel_version_forget(k);
	return error;
}

static void draft_free(struct draft *d)
{
	for (unsigned i = 0; i < INK_KERNEL_MACHINES; i++)
		ink_kernel_numbering_free(&d->numbering[i]);
	ink_kernel_half_free(&d->half);
}

static int reload(struct ink_kernel *k, const struct ink_kernel_options *o, struct ink_why *why)
{
	uint32_t generation = ink_kernel_control(k)->generation;
	struct draft d = {.half = {{{0}}}};
	int error = check(k, o, why);

	if (!error)
		error = ink_kernel_version_make(k, o, generation + 1, why);
	if (!error) {
		error = exchange(k, &d, o, why);
		draft_free(&d);
		if (ink_kernel_control(k)->generation == generation)
			ink_kernel_version_drop(k);
	}
	ink_kernel_queues_settle(k);
	return error;
}

int ink_kernel_reload(struct ink_kernel *k, const struct ink_kernel_options *options, struct ink_why *why)
{
	int error = ink_kernel_pins_lock(k, why);

	if (error)
		return error;
	error = ink_kernel_renew(k, why);
	if (!error)
		error = reload(k, options, why);
	ink_kernel_pins_unlock(k);
	return error;
}
