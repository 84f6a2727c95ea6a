/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A set from the first to the last: what is made in user space, what the kernel then gets, and in which order.
 *
 *     check          refusals, before anything is made
 *     tables         planned, or loaded from a snapshot
 *     compile        one half; from its size follow those of the maps
 *     load           programs and maps
 *     fill           half 0, tables, control
 *     start          the timers of the tables
 *     pin, attach    in this order, so that what is attached can always be found
 *
 * The version in `control` is written last. A set without it was not finished: its tool was killed.
 */
#include "kernel/inside.h"

#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"
#include "packet/queue.h"

enum { RING = 1 << 20, VERSIONS = 8 }; /* bytes of the ring buffer; machines that records may be of */

/* What is made in user space. */
struct draft {
	struct ink_kernel_options o; /* the caller's; the machines are the set's own */
	struct ink_table *tables[INK_KERNEL_MACHINES];
	struct ink_kernel_half half;
};

/* ------------------------------------------------------------- an empty set */

static struct ink_kernel *empty(const char *name)
{
	struct ink_kernel *k = calloc(1, sizeof *k);

	if (!k)
		return NULL;
	snprintf(k->name, sizeof k->name, "%s", name ? name : "");
	for (unsigned i = 0; i < INK_KERNEL_MAPS; i++)
		k->map[i].fd = -1;
	for (unsigned i = 0; i < INK_KERNEL_PROGRAMS; i++)
		k->program[i] = -1;
	k->lock = -1;
	return k;
}

static void free_versions(struct ink_kernel_version *v)
{
	while (v) {
		struct ink_kernel_version *before = v->before;

		ink_machines_free(v->machines);
		free(v);
		v = before;
	}
}

void ink_kernel_close(struct ink_kernel *k)
{
	if (!k)
		return;
	ink_kernel_deafen(k);
	for (unsigned i = 0; i < k->n_places; i++)
		if (k->attached[i].fd >= 0)
			close(k->attached[i].fd);
	for (unsigned i = 0; i < INK_KERNEL_PROGRAMS; i++)
		if (k->program[i] >= 0)
			close(k->program[i]);
	for (unsigned i = 0; i < INK_KERNEL_MAPS; i++)
		ink_kernel_map_close(&k->map[i]);
	for (unsigned i = 0; i < INK_KERNEL_MACHINES; i++)
		ink_kernel_numbering_free(&k->numbering[i]);
	bpf_object__close(k->object);
	free_versions(k->version);
	ink_kernel_pins_unlock(k);
	free(k);
}

/* ------------------------------------------------------------- the machines */

static const struct ink_machines *machines_of(const struct ink_kernel_version *v)
{
	return v->machines ? v->machines : v->borrowed;
}

const struct ink_machines *ink_kernel_machines(struct ink_kernel *k)
{
	return machines_of(k->version);
}

int ink_kernel_version_make(struct ink_kernel *k, const struct ink_kernel_options *o, uint32_t generation,
			    struct ink_why *why)
{
	struct ink_kernel_version *v = calloc(1, sizeof *v);

	if (!v)
		return ink_fail(why, -ENOMEM, "no memory");
	v->generation = generation;
	if (o->n_sources)
		v->machines = ink_kernel_machines_of(o, why);
	else
		v->borrowed = o->machines;
	if (!machines_of(v)) {
		free(v);
		return -errno;
	}
	v->before = k->version;
	k->version = v;
	return 0;
}

/* Records of the ring buffer may be of machines that were exchanged since; not of any number of them. */
void ink_kernel_version_forget(struct ink_kernel *k)
{
	struct ink_kernel_version *v = k->version;

	for (unsigned i = 1; v && i < VERSIONS; i++)
		v = v->before;
	if (v) {
		free_versions(v->before);
		v->before = NULL;
	}
}

void ink_kernel_version_drop(struct ink_kernel *k)
{
	struct ink_kernel_version *v = k->version;

	k->version = v->before;
	v->before = NULL;
	free_versions(v);
}

int ink_kernel_compile_all(struct ink_kernel *k, const struct ink_kernel_numbering *numbering,
			   struct ink_kernel_half *half, struct ink_why *why)
{
	const struct ink_kernel_version *v = k->version;
	int error = 0;

	for (unsigned i = 0; i < k->n && !error; i++) {
		const struct ink_kernel_compiling c = {.half = half,
						       .m = ink_machines_at(machines_of(v), i),
						       .number = i,
						       .numbers = &v->numbers[i],
						       .codes = numbering[i].codes};

		error = ink_kernel_compile(&c);
	}
	return error ? ink_fail(why, error, "no memory") : 0;
}

/* States of a snapshot that the machine does not know keep their codes. */
static int keep_unknown(struct ink_kernel_numbering *n, const struct ink_table *t,
			const struct ink_machine *m)
{
	for (unsigned code = m->view.rules->states; code < t->states; code++) {
		n->code[code].name = strdup("");
		if (!n->code[code].name)
			return -ENOMEM;
	}
	return 0;
}

static int number_first(struct ink_kernel *k, const struct draft *d, struct ink_why *why)
{
	int error = 0;

	for (unsigned i = 0; i < k->n && !error; i++) {
		const struct ink_machine *m = ink_machines_at(d->o.machines, i);

		k->plan[i] = d->tables[i]->plan;
		k->numbering[i].codes = d->tables[i]->coding.unsure;
		error = keep_unknown(&k->numbering[i], d->tables[i], m);
		if (!error)
			error = ink_kernel_number(&k->numbering[i], m, &k->version->numbers[i], why);
	}
	return error;
}

static int draft(struct ink_kernel *k, struct draft *d, struct ink_why *why)
{
	int error = ink_kernel_version_make(k, &d->o, 0, why);

	if (error)
		return error;
	d->o.machines = machines_of(k->version);
	k->n = ink_machines_count(d->o.machines);
	error = ink_kernel_tables_make(&d->o, d->tables, why);
	if (!error)
		error = number_first(k, d, why);
	if (!error)
		error = ink_kernel_compile_all(k, k->numbering, &d->half, why);
	return error ? error : ink_kernel_text_write(&d->half, k, &d->o);
}

static void draft_free(struct draft *d)
{
	for (unsigned i = 0; i < INK_KERNEL_MACHINES; i++)
		ink_free(d->tables[i]);
	ink_kernel_half_free(&d->half);
}

/* ------------------------------------------------------- into the kernel */

/*
 * Room of a half: twice what the first machines need, and at least this, so that a reload can bring larger ones.
 * Altogether 2 MiB. A half has the buckets of two limits for each flow.
 */
static const uint32_t least[INK_KERNEL_PARTS] = {
	[INK_PART_MACHINES] = INK_KERNEL_MACHINES,
	[INK_PART_NODES] = 4096,
	[INK_PART_RANGES] = 1024,
	[INK_PART_PREFIXES] = 1024,
	[INK_PART_PORTS] = 8,
	[INK_PART_BYTES] = 512,
	[INK_PART_AGAINSTS] = 256,
	[INK_PART_EVENTS] = 512,
	[INK_PART_COMPILED] = 4096,
	[INK_PART_STATES] = 4096,
	[INK_PART_ROWS] = 32768,
	[INK_PART_ACTIONS] = 1024,
	[INK_PART_COUNTINGS] = 2048,
	[INK_PART_TELLS] = 512,
	[INK_PART_LIMITS] = 128,
	[INK_PART_BUCKETS] = 2 * INK_FLOW_BUCKETS,
	[INK_PART_TEXT] = 32,
};

static uint64_t lines_of(const struct draft *d)
{
	uint64_t lines = 0;

	for (unsigned i = 0; i < INK_KERNEL_MACHINES && d->tables[i]; i++)
		lines += d->tables[i]->body_bytes / sizeof(struct ink_line);
	return lines;
}

static int sizes(const struct draft *d, uint32_t entries[INK_KERNEL_MAPS], struct ink_why *why)
{
	uint64_t lines = lines_of(d);

	memset(entries, 0, INK_KERNEL_MAPS * sizeof *entries);
	for (unsigned i = 0; i < INK_KERNEL_PARTS; i++) {
		uint32_t n = i == INK_PART_MACHINES ? 0 : 2 * d->half.part[i].n;

		entries[i] = INK_KERNEL_HALVES * (n > least[i] ? n : least[i]);
	}
	entries[INK_MAP_BODY] = (uint32_t)lines;
	entries[INK_MAP_REPORTS] = d->o.ring ? d->o.ring : RING;
	if (lines > INT32_MAX / sizeof(struct ink_line))
		return ink_fail(why, -EFBIG,
				"tables of %llu bytes: a map of the kernel holds less than 2 GiB",
				(unsigned long long)lines * sizeof(struct ink_line));
	return 0;
}

int ink_kernel_half_write(struct ink_kernel *k, const struct ink_kernel_half *half, struct ink_why *why)
{
	for (unsigned i = 0; i < INK_KERNEL_PARTS; i++) {
		const struct ink_kernel_array *a = &half->part[i];
		int fits = a->n <= k->map[i].entries / INK_KERNEL_HALVES;
		int error = fits ? ink_kernel_map_write(&k->map[i], a) : -E2BIG;

		if (error == -E2BIG)
			return ink_fail(
				why, error,
				"the machines need %u of %s; room for %u was made when they were attached",
				a->n, ink_kernel_map_names[i], k->map[i].entries / INK_KERNEL_HALVES);
		if (error)
			return ink_fail(why, error, "the map %s is not the tool's", ink_kernel_map_names[i]);
	}
	return 0;
}

static int put_tables(struct ink_kernel *k, const struct draft *d, struct ink_why *why)
{
	uint32_t base = 0;
	int error = 0;

	for (unsigned i = 0; i < k->n && !error; i++) {
		error = ink_kernel_table_put(k, i, d->tables[i], base, why);
		ink_kernel_tables(k, i)->timeouts = !d->o.no_timeouts;
		base += (uint32_t)(d->tables[i]->body_bytes / sizeof(struct ink_line));
	}
	return error;
}

static int has_hook(const struct ink_kernel_options *o, int xdp)
{
	for (unsigned i = 0; i < o->n_places; i++)
		if ((o->places[i].hook == INK_KERNEL_XDP) == xdp)
			return 1;
	return 0;
}

static uint64_t boot_clock(void)
{
	struct timespec t;

	clock_gettime(CLOCK_BOOTTIME, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void put_control(struct ink_kernel *k, const struct ink_kernel_options *o)
{
	*ink_kernel_controls(k) =
		(struct ink_kernel_control){.machines = k->n,
					    .clock = o->test_clock ? INK_KERNEL_TEST : INK_KERNEL_BOOT,
					    .enforce = o->enforce != 0,
					    .mark_bit = o->mark_bit,
					    .xdp_meta = has_hook(o, 1) && has_hook(o, 0),
					    .chance = o->test_clock ? (uint32_t)o->chance_seed : 0,
					    .snap = o->snap,
					    .began = boot_clock()};
}

static int fill(struct ink_kernel *k, const struct draft *d, struct ink_why *why)
{
	int error = k->map[INK_MAP_CONTROL].at ? 0 : ink_fail(why, -EPROTO, "the object has no control");

	if (!error)
		error = ink_kernel_half_write(k, &d->half, why);
	if (!error)
		error = put_tables(k, d, why);
	if (error)
		return error;
	put_control(k, &d->o);
	ink_kernel_queues_put(k, &d->o);
	error = ink_kernel_queues_prepare(k, machines_of(k->version), why);
	return error ? error : ink_kernel_start(k, why);
}

static int attach_all(struct ink_kernel *k, const struct ink_kernel_options *o, struct ink_why *why)
{
	int error = 0;

	for (unsigned i = 0; i < o->n_places && !error; i++)
		error = ink_kernel_attach(k, &o->places[i], why);
	return error;
}

static void finished(struct ink_kernel *k)
{
	__atomic_store_n(&ink_kernel_controls(k)->version, INK_KERNEL_VERSION, __ATOMIC_RELEASE);
}

/* A bit for each; all, if it is attached nowhere: then a test runs them. */
static unsigned hooks_of(const struct ink_kernel_options *o)
{
	unsigned hooks = o->n_places ? 0 : ~0u;

	for (unsigned i = 0; i < o->n_places; i++)
		hooks |= 1u << o->places[i].hook;
	return hooks;
}

static int load(struct ink_kernel *k, const struct draft *d, struct ink_why *why)
{
	uint32_t entries[INK_KERNEL_MAPS];
	int error = sizes(d, entries, why);

	if (!error)
		error = ink_kernel_load_object(k, entries, hooks_of(&d->o), why);
	return error ? error : fill(k, d, why);
}

/* What was attached before the failure goes, with the pins. */
static int publish(struct ink_kernel *k, const struct ink_kernel_options *o, struct ink_why *why)
{
	int error = k->pinned ? ink_kernel_pins_fill(k, why) : 0;

	if (!error)
		error = attach_all(k, o, why);
	if (!error)
		finished(k);
	return error;
}

static int make(struct ink_kernel *k, struct draft *d, struct ink_why *why)
{
	int pinned = !d->o.unpinned && !d->o.dry_run;
	int error = ink_kernel_check(&d->o, why);

	if (!error && pinned)
		error = ink_kernel_pins_begin(k, why);
	k->pinned = pinned && !error;
	if (!error)
		error = draft(k, d, why);
	if (!error)
		error = load(k, d, why);
	if (!error && d->o.dry_run)
		finished(k);
	else if (!error)
		error = publish(k, &d->o, why);
	if (error && k->n_places)
		ink_kernel_unhook_all(k);
	if (error && k->pinned) {
		bpf_object__close(k->object); /* its descriptors: a directory needs one to be read */
		k->object = NULL;
		ink_kernel_pins_remove(k->name, NULL);
	}
	return error;
}

struct ink_kernel *ink_kernel_make(const struct ink_kernel_options *options, struct ink_why *why)
{
	struct draft d = {.o = *options};
	struct ink_kernel *k = empty(options->name ? options->name
				     : options->n_places ? options->places[0].interface
							 : "");
	int error;

	if (!k)
		return errno = -ink_fail(why, -ENOMEM, "no memory"), NULL;
	ink_kernel_half_init(&d.half, NULL);
	error = make(k, &d, why);
	draft_free(&d);
	ink_kernel_pins_unlock(k);
	if (!error)
		return k;
	ink_kernel_close(k);
	return errno = -error, NULL;
}

/* ------------------------------------------------------------------ opening */

static int open_set(struct ink_kernel *k, struct ink_why *why)
{
	int error = ink_kernel_pins_open(k, why);
	const struct ink_kernel_control *c;

	if (error)
		return error;
	c = ink_kernel_control(k);
	if (!c->version)
		return ink_fail(why, -EPROTO, "%s: was not finished, or is being attached; detach removes it",
				k->name);
	if (c->version != INK_KERNEL_VERSION || c->machines < 1 || c->machines > INK_KERNEL_MACHINES)
		return ink_fail(why, -EPROTO,
				"%s: was attached by another version of inkling (%u); detach it", k->name,
				c->version);
	k->n = c->machines;
	return ink_kernel_text_read(k, why);
}

struct ink_kernel *ink_kernel_open(const char *name, struct ink_why *why)
{
	struct ink_kernel *k = empty(name);
	int error = k ? open_set(k, why) : ink_fail(why, -ENOMEM, "no memory");

	if (!error)
		return k;
	ink_kernel_close(k);
	return errno = -error, NULL;
}

int ink_kernel_detach(struct ink_kernel *k, struct ink_why *why)
{
	if (k->pinned)
		return ink_kernel_remove(k->name, why);
	ink_kernel_unhook_all(k);
	return 0;
}

unsigned ink_kernel_places(const struct ink_kernel *k, struct ink_kernel_place *places)
{
	for (unsigned i = 0; i < k->n_places; i++)
		places[i] = k->attached[i].place;
	return k->n_places;
}

/* ------------------------------------------------------------------- counts */

static void add_words(uint64_t *to, const unsigned char *from, size_t bytes)
{
	for (size_t i = 0; i < bytes / sizeof *to; i++) {
		uint64_t word;

		memcpy(&word, from + i * sizeof word, sizeof word);
		to[i] += word;
	}
}

/* Adds up a value of 64-bit words over the processors. */
static int sum(const struct ink_kernel_map *m, uint32_t index, uint64_t *to)
{
	int processors = libbpf_num_possible_cpus(), error;
	unsigned char *values;

	if (processors < 0)
		return processors;
	values = calloc((size_t)processors, m->stride);
	if (!values)
		return -ENOMEM;
	error = ink_kernel_map_read(m, index, values);
	for (int i = 0; i < processors && !error; i++)
		add_words(to, values + (size_t)i * m->stride, m->value);
	free(values);
	return error;
}

int ink_kernel_counts(struct ink_kernel *k, unsigned machine, struct ink_kernel_counts *counts)
{
	if (machine >= k->n)
		return -EINVAL;
	memset(counts, 0, sizeof *counts);
	return sum(&k->map[INK_MAP_COUNTS], machine, (uint64_t *)counts);
}

/* A counter that a condition began or ceased to read has a part of its value in each map. */
static int read_counter(struct ink_kernel *k, uint32_t index, uint64_t *value)
{
	uint64_t shared = 0;
	int error;

	*value = 0;
	error = sum(&k->map[INK_MAP_COUNTERS], index, value);
	if (!error)
		error = ink_kernel_map_read(&k->map[INK_MAP_WEIGHED], index, &shared);
	*value += shared;
	return error;
}

int ink_kernel_counters(struct ink_kernel *k, unsigned machine, uint64_t counters[INK_KERNEL_COUNTERS])
{
	const struct ink_machine *m = ink_machines_at(ink_kernel_machines(k), machine);
	int error = 0;

	memset(counters, 0, INK_KERNEL_COUNTERS * sizeof *counters);
	if (!m)
		return -EINVAL;
	for (unsigned i = 0; i < m->view.counters && !error; i++)
		error = read_counter(k,
				     machine * INK_KERNEL_COUNTERS + k->version->numbers[machine].slot_of[i],
				     &counters[i]);
	return error;
}
