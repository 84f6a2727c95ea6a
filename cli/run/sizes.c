/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * inkling run: how large the tables of a session are.
 *
 * --flows N holds for every machine, --memory SIZE for all tables together. With
 * NAME= before the value, either holds for one machine. The machines that have
 * neither by name share what is left of the memory in equal parts.
 */
#include <errno.h>
#include <string.h>

#include "cli/run/run.h"

/* The value of a machine, by its name; 0: none. */
static uint64_t named(const struct sizes *s, const char *name)
{
	for (unsigned i = s->n; i-- > 0;)
		if (!strcmp(s->of[i].name, name))
			return s->of[i].value;
	return 0;
}

static int take(const char *text, struct sizes *s, int (*read)(const char *, uint64_t *))
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
	if (!length || length >= sizeof s->of[0].name || s->n == SIZES_MOST)
		return -EINVAL;
	memcpy(s->of[s->n].name, text, length);
	s->of[s->n++].value = value;
	return 0;
}

int sizes_take_flows(const char *text, void *sizes)
{
	return take(text, sizes, cli_number);
}

int sizes_take_memory(const char *text, void *sizes)
{
	return take(text, sizes, cli_size);
}

/* A name that no machine has is a mistake. */
static int check_names(const struct session *s, const char *option, const struct sizes *sizes)
{
	for (unsigned i = 0; i < sizes->n; i++) {
		unsigned j = 0;

		while (j < s->n && strcmp(s->members[j].view->name, sizes->of[i].name))
			j++;
		if (j == s->n)
			return cli_failed("--%s %s=: no machine has that name", option, sizes->of[i].name);
	}
	return CLI_DONE;
}

/* Does the machine take part in the division of the memory? */
static int shares(const struct request *r, const char *name)
{
	return !named(&r->flows, name) && !named(&r->memory, name);
}

/* What each of the sharing machines gets; 0: --memory was not given for all, or nothing is left. */
static uint64_t share_of(const struct session *s)
{
	const struct request *r = s->request;
	uint64_t left = r->memory.common, sharing = 0;

	for (unsigned i = 0; i < s->n; i++) {
		const char *name = s->members[i].view->name;
		uint64_t own = named(&r->memory, name);

		left -= own < left ? own : left;
		sharing += (unsigned)shares(r, name);
	}
	return sharing ? left / sharing : 0;
}

int sizes_check(const struct session *s)
{
	const struct request *r = s->request;
	int error = check_names(s, "flows", &r->flows);

	if (!error)
		error = check_names(s, "memory", &r->memory);
	for (unsigned i = 0; !error && i < s->n; i++)
		if (r->memory.common && shares(r, s->members[i].view->name) && !share_of(s))
			return cli_failed("--memory: nothing is left for machine %s",
					  s->members[i].view->name);
	return error;
}

void sizes_apply(const struct session *s, const struct member *m, struct ink_options *o)
{
	const struct request *r = s->request;
	const char *name = m->view->name;

	o->flows = named(&r->flows, name);
	o->bytes = shares(r, name) ? share_of(s) : named(&r->memory, name);
	if (!o->flows)
		o->flows = r->flows.common;
	if (!o->flows && !o->bytes)
		o->flows = DEFAULT_FLOWS;
}
