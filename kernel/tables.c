/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * From plans to tables in the kernel.
 *
 * A table is made in user space, as for `inkling run`, or loaded from a snapshot; then its body is copied into the
 * map, behind the one before, and what stands beside a body goes into its struct ink_kernel_table:
 *
 *     body    [ lines of 0 | side table of 0 ][ lines of 1 | side table of 1 ] ...     64 bytes an element
 *             0                               tables[1].base
 *
 * In the kernel a table has a state for every code that an entry can name: those that no machine uses yet are for
 * machines of a reload. Otherwise shape, coding and secret are those of user space, and so are all answers.
 */
#include "kernel/inside.h"

#include <errno.h>
#include <string.h>

#include "base/error.h"
#include "kinds/line/kind.h"
#include "table/epoch.h"
#include "table/paused.h"

/* ---------------------------------------------------------------- planning */

static struct ink_options options_of(const struct ink_options *from, const struct ink_machine *m,
				     int no_timeouts)
{
	struct ink_options o = *from;

	o.size = sizeof o;
	o.kind = INK_LINE;
	o.writers = 2;
	o.states = m->view.rules->states;
	o.rules = m->view.rules;
	if (!m->view.timeouts || no_timeouts)
		o.age_bits = 0;
	else if (!o.age_bits)
		o.age_bits = 2;
	return o;
}

struct ink_table *ink_kernel_plan(const struct ink_options *from, const struct ink_machine *m,
				  int no_timeouts, struct ink_why *why)
{
	struct ink_options o = options_of(from, m, no_timeouts);

	return ink_create(&o, why);
}

/* ----------------------------------------------------------------- loading */

static int check_loaded(const struct ink_table *t, const struct ink_machine *m,
			const struct ink_kernel_options *o, struct ink_why *why)
{
	const char *name = m->name;

	if (!(t->kind->info.can & INK_CAN_MANY_WRITERS)) /* of which `line` is the only one */
		return ink_fail(why, -EINVAL, "%s: machine %s: a table of kind %s; in the kernel it is line",
				o->load, name, ink_kind_name(t->plan.kind));
	if (t->states < m->view.rules->states)
		return ink_fail(why, -EINVAL, "%s: a table with %u states; machine %s has %u", o->load,
				t->states, name, m->view.rules->states);
	if (m->view.timeouts && !o->no_timeouts && !t->plan.age_bits)
		return ink_fail(why, -EINVAL, "%s: machine %s has time-outs, and its table no age bits",
				o->load, name);
	return 0;
}

/* A tick that was under way is finished by the rules of the machine. */
static int settle(struct ink_table *t, const struct ink_machine *m, struct ink_why *why)
{
	int error = ink_set_rules(t, m->view.rules, why);

	return error || !ink_is_paused(t) ? error : ink_tick(t, t->aging.target, NULL);
}

static int settle_all(const struct ink_kernel_options *o, struct ink_table **tables, struct ink_why *why)
{
	int error = 0;

	for (unsigned i = 0; i < ink_machines_count(o->machines) && !error; i++) {
		const struct ink_machine *m = ink_machines_at(o->machines, i);

		error = check_loaded(tables[i], m, o, why);
		if (!error)
			error = settle(tables[i], m, why);
	}
	return error;
}

static int take_all(const struct ink_kernel_options *o, struct ink_loaded_set *set, struct ink_table **tables,
		    struct ink_why *why)
{
	for (unsigned i = 0; i < ink_machines_count(o->machines); i++) {
		const char *name = ink_machines_at(o->machines, i)->name;

		tables[i] = ink_loaded_set_take(set, name);
		if (!tables[i])
			return ink_fail(why, -EINVAL, "%s: has no table of machine %s", o->load, name);
	}
	return 0;
}

/* A file of one table is for one machine; one with a set for any that it has. */
static int load_tables(const struct ink_kernel_options *o, struct ink_table **tables, struct ink_why *why)
{
	struct ink_loaded_set *set;
	int error;

	if (ink_machines_count(o->machines) == 1) {
		tables[0] = ink_load(o->load, INK_LOAD_READ, why);
		if (tables[0] || errno != ENOTSUP)
			return tables[0] ? 0 : -errno;
	}
	set = ink_load_set(o->load, NULL, why);
	if (!set)
		return -errno;
	error = take_all(o, set, tables, why);
	ink_loaded_set_free(set);
	return error;
}

static int plan_tables(const struct ink_kernel_options *o, struct ink_table **tables, struct ink_why *why)
{
	for (unsigned i = 0; i < ink_machines_count(o->machines); i++) {
		tables[i] =
			ink_kernel_plan(&o->tables[i], ink_machines_at(o->machines, i), o->no_timeouts, why);
		if (!tables[i])
			return -errno;
	}
	return 0;
}

/* A loop in the kernel has at most 2^23 turns, and a sweep is one over all lines, or over the side table. */
enum { TURNS_MOST = 1 << 23 };

static int check_size(const struct ink_table *t, const struct ink_machine *m, struct ink_why *why)
{
	uint32_t lines = ink_line_shape_of(t)->lines, side = ink_side_positions(ink_side_form(&t->plan));

	if (lines <= TURNS_MOST && side <= TURNS_MOST)
		return 0;
	return ink_fail(
		why, -ENOTSUP,
		"machine %s: a table of %u lines with a side table of %u; in the kernel both have at most %u (512 MiB)",
		m->view.name, lines, side, TURNS_MOST);
}

static int check_sizes(const struct ink_kernel_options *o, struct ink_table **tables, struct ink_why *why)
{
	int error = 0;

	for (unsigned i = 0; i < ink_machines_count(o->machines) && !error; i++)
		error = check_size(tables[i], ink_machines_at(o->machines, i), why);
	return error;
}

int ink_kernel_tables_make(const struct ink_kernel_options *o, struct ink_table *tables[INK_KERNEL_MACHINES],
			   struct ink_why *why)
{
	int error;

	memset(tables, 0, INK_KERNEL_MACHINES * sizeof *tables);
	error = o->load ? load_tables(o, tables, why) : plan_tables(o, tables, why);
	if (!error && o->load)
		error = settle_all(o, tables, why);
	if (!error)
		error = check_sizes(o, tables, why);
	for (unsigned i = 0; error && i < INK_KERNEL_MACHINES; i++) {
		ink_free(tables[i]);
		tables[i] = NULL;
	}
	return error;
}

/* ---------------------------------------------------------- into the kernel */

static void put_coding(struct ink_kernel_table *to, const struct ink_table *t)
{
	to->shape = *ink_line_shape_of(t);
	to->states = t->coding.unsure;
	to->state_bits = t->coding.state_bits;
	to->age_bits = t->coding.age_bits;
	to->age_top = t->coding.age_top;
	to->unsure = t->coding.unsure;
	to->full = (uint32_t)t->full;
	to->secret[0] = t->secret[0];
	to->secret[1] = t->secret[1];
}

static void put_side(struct ink_kernel_table *to, const struct ink_table *t)
{
	const struct ink_side_form form = ink_side_form(&t->plan);

	to->side_words = ink_side_positions(form);
	to->side_flows = form.capacity;
	to->side_id_bits = form.id_bits;
	to->side_code_bits = form.code_bits;
	to->side_width = ink_side_width(form);
	to->clock_hand = t->side.clock_hand;
}

/* States that user space does not know have not been looked at. */
static void put_time(struct ink_kernel_table *to, const struct ink_table *t)
{
	const uint16_t *fresh = t->aging.fresh[ink_view_table(t->aging.view)];

	to->view = t->aging.view;
	to->now = to->target = t->aging.now;
	to->flagged = to->ever_flagged = (uint32_t)t->aging.ever_flagged;
	for (unsigned state = 0; state <= t->coding.unsure; state++) {
		int known = state < t->states || state == t->coding.unsure;
		uint16_t code = known ? fresh[state] : (uint16_t)ink_code(&t->coding, state);

		to->fresh[0][state] = to->fresh[1][state] = code;
	}
}

static void put_counters(struct ink_kernel_table *to, const struct ink_counters *c)
{
	to->collisions = c->collisions;
	to->overflowed = c->overflowed;
	to->refused = c->refused;
	to->replaced = c->replaced;
	to->marked = c->marked;
	to->expired = c->expired;
}

int ink_kernel_table_put(struct ink_kernel *k, unsigned machine, const struct ink_table *t, uint32_t base,
			 struct ink_why *why)
{
	struct ink_kernel_map *body = &k->map[INK_MAP_BODY];
	struct ink_kernel_table *to = ink_kernel_tables(k, machine);

	if (!body->at || !k->map[INK_MAP_TABLES].at || body->stride != sizeof(struct ink_line))
		return ink_fail(why, -EPROTO, "the object's tables cannot be mapped");
	if ((base + t->body_bytes / sizeof(struct ink_line)) > body->entries)
		return ink_fail(why, -E2BIG, "the body is too small");
	memset(to, 0, sizeof *to);
	to->base = base;
	put_coding(to, t);
	put_side(to, t);
	put_time(to, t);
	put_counters(to, &t->counters);
	memcpy(body->at + base * body->stride, t->body, t->body_bytes);
	k->plan[machine] = t->plan;
	return 0;
}
