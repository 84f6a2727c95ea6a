/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How large the tables of several machines are.
 *
 * --flows N holds for every machine, --memory SIZE for all tables together. With
 * NAME= before the value, either holds for one machine. The machines that have
 * neither by name share what is left of the memory in equal parts.
 */
#include <errno.h>
#include <string.h>

#include "base/suggest.h"
#include "cli/sizes.h"

/* The value of a machine, by its name; 0: none. */
static uint64_t named(const struct cli_sizes *s, const char *name)
{
	for (unsigned i = s->n; i-- > 0;)
		if (!strcmp(s->of[i].name, name))
			return s->of[i].value;
	return 0;
}

static int take(const char *text, struct cli_sizes *s, int (*read)(const char *, uint64_t *))
{
	const char *sign = strchr(text, '=');
	size_t length = sign ? (size_t)(sign - text) : 0;
	uint64_t value;

	if (read(sign ? sign + 1 : text, &value) || !value)
		return -EINVAL;
	if (!sign) {
		s->common = value;
		return 0;
	}
	if (!length || length >= sizeof s->of[0].name || s->n == CLI_SIZES_MOST)
		return -EINVAL;
	memcpy(s->of[s->n].name, text, length);
	s->of[s->n++].value = value;
	return 0;
}

int cli_take_flows(const char *text, void *sizes)
{
	return take(text, sizes, cli_number);
}

int cli_take_memory(const char *text, void *sizes)
{
	return take(text, sizes, cli_size);
}

static const char *name_of(const struct ink_machines *machines, unsigned i)
{
	return ink_machine_view(ink_machines_at(machines, i))->name;
}

/* A name that no machine has is a mistake. */
static int check_names(const struct ink_machines *machines, const char *option, const struct cli_sizes *sizes)
{
	unsigned n = ink_machines_count(machines);

	for (unsigned i = 0; i < sizes->n; i++) {
		const char *name = sizes->of[i].name;
		struct ink_suggest near = ink_suggest(name, strlen(name));
		unsigned j = 0;
		char hint[96];

		for (; j < n && strcmp(name_of(machines, j), name); j++)
			ink_suggest_offer(&near, name_of(machines, j));
		if (j == n)
			return cli_failed("--%s %s=: no machine has that name%s", option, name,
					  ink_suggest_hint(&near, hint));
	}
	return CLI_DONE;
}

/* Does the machine take part in the division of the memory? */
static int shares(const struct cli_room *r, const char *name)
{
	return !named(&r->flows, name) && !named(&r->memory, name);
}

/* What each of the sharing machines gets; 0: --memory was not given for all, or nothing is left. */
static uint64_t share_of(const struct cli_room *r, const struct ink_machines *machines)
{
	uint64_t left = r->memory.common, sharing = 0;

	for (unsigned i = 0; i < ink_machines_count(machines); i++) {
		uint64_t own = named(&r->memory, name_of(machines, i));

		left -= own < left ? own : left;
		sharing += (unsigned)shares(r, name_of(machines, i));
	}
	return sharing ? left / sharing : 0;
}

int cli_check_room(const struct cli_room *r, const struct ink_machines *machines)
{
	int error = check_names(machines, "flows", &r->flows);

	if (!error)
		error = check_names(machines, "memory", &r->memory);
	for (unsigned i = 0; !error && i < ink_machines_count(machines); i++)
		if (r->memory.common && shares(r, name_of(machines, i)) && !share_of(r, machines))
			return cli_failed("--memory: nothing is left for machine %s", name_of(machines, i));
	return error;
}

void cli_apply_room(const struct cli_room *r, const struct ink_machines *machines, unsigned machine,
		    struct ink_options *o)
{
	const char *name = name_of(machines, machine);

	o->flows = named(&r->flows, name);
	o->bytes = shares(r, name) ? share_of(r, machines) : named(&r->memory, name);
	if (!o->flows)
		o->flows = r->flows.common;
	if (!o->flows && !o->bytes)
		o->flows = CLI_FLOWS_DEFAULT;
}
