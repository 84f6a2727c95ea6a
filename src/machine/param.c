/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Parameters: "param doors = 10" names a value, which the caller of the compiler may set.
 *
 * A parameter stands where its value could: value.c reads its characters in place of the token's. So it has no type
 * of its own, and a value that does not fit is reported where it is used, which is where its range is known.
 */
#include <stdio.h>
#include <string.h>

#include "machine/parse.h"

/* Elsewhere in a condition or a row, "param" is a name of the file. */
int ink_parser_sees_param_line(const struct ink_parser *p)
{
	struct ink_token name, sign;

	if (!ink_parser_sees(p, "param"))
		return 0;
	name = ink_parser_behind(p);
	sign = ink_token_at(p->text, name.at + name.length);
	return name.kind == TOKEN_NAME && ink_token_is(p->text, &sign, "=");
}

struct ink_param *ink_parser_param(const struct ink_parser *p)
{
	return p->now.kind == TOKEN_NAME && p->m->unit->n_params ? ink_param_named(p, &p->now) : NULL;
}

/* The value that the caller gives it, the last if there are several; or NULL. */
static const char *setting_of(const struct ink_parser *p, const char *name)
{
	const struct ink_machine_options *o = p->text->options;

	for (unsigned i = o->n_settings; i-- > 0;)
		if (!strcmp(o->settings[i].name, name))
			return o->settings[i].value;
	return NULL;
}

static const char *joined(struct ink_parser *p, const char *number, size_t length, const char *unit)
{
	char text[64];
	int n = snprintf(text, sizeof text, "%.*s%s", (int)length, number, unit);

	return ink_arena_string(p->m->arena, text, (size_t)n);
}

/* A number alone has the unit that is written: "congested=100" means packets where "50 packets" stands. */
static const char *value_set(struct ink_parser *p, const char *written, const char *value)
{
	const char *unit = ink_unit_in(written);
	size_t length = strlen(value);

	if (unit && ink_is_whole(value, length))
		return joined(p, value, length, unit);
	return ink_arena_string(p->m->arena, value, length);
}

/* Takes the caller's value in place of the written one. */
static int set(struct ink_parser *p, struct ink_param *param)
{
	const char *value = setting_of(p, param->name), *written = param->value;

	if (!value)
		return 0;
	param->value = NULL;
	if (!ink_is_value(value, strlen(value))) {
		ink_text_error(
			p->text, param->at,
			"'%s' is set to '%.40s', which is no number, time, share, rate, amount or class",
			param->name, value);
		return -1;
	}
	param->set = 1;
	param->value = value_set(p, written, value);
	return param->value ? 0 : -1;
}

/* "50", and "packets" if that follows. */
static const char *written_value(struct ink_parser *p)
{
	const char *number = p->text->bytes + p->now.at;
	size_t length = p->now.length;
	enum ink_unit_of unit;

	ink_parser_next(p);
	unit = ink_is_whole(number, length) ? ink_parser_takes_unit(p) : INK_OF_NOTHING;
	return joined(p, number, length, unit == INK_OF_PACKETS ? " packets" : unit ? " bytes" : "");
}

static int parse_value(struct ink_parser *p, struct ink_param *param)
{
	const char *written = p->text->bytes + p->now.at;
	struct ink_token class;

	if (ink_parser_sees_class(p, &class))
		p->now = class;
	if (p->now.kind != TOKEN_NUMBER)
		return ink_parser_expected(p, "a number, a time, a share, a rate, an amount or a class");
	if (!ink_is_value(written, p->now.length)) {
		ink_text_error(p->text, p->now.at, "'%.*s' is no number, time, share, rate, amount or class",
			       (int)(p->now.length < 40 ? p->now.length : 40), written);
		return -1;
	}
	param->value = written_value(p);
	return param->value ? set(p, param) : -1;
}

static int parse_param_name(struct ink_parser *p, struct ink_name **name)
{
	const struct ink_param *first = ink_param_named(p, &p->now);
	uint32_t at = p->now.at;

	if (ink_parse_name(p, "the parameter's name", name))
		return -1;
	if (first)
		return ink_parser_twice(p, at, (*name)->text, first->at);
	if (p->m->unit->n_params < INK_PARAMS_MAX)
		return 0;
	ink_text_limit(p->text, at, "more than %d params", INK_PARAMS_MAX);
	return -1;
}

int ink_parse_param(struct ink_parser *p)
{
	struct ink_machine *m = p->m;
	struct ink_param param = {.at = p->now.at};
	struct ink_name *name;
	int error;

	if (parse_param_name(p, &name) || ink_parser_wants(p, "="))
		return -1;
	param.name = name->text;
	error = parse_value(p, &param);
	if (!INK_APPEND(p, m->params, m->n_params))
		return -1;
	m->params[m->n_params++] = param;
	m->unit->n_params++;
	name->param = m->n_params;
	return error;
}

/* ---------------------------------------------------------------- settings */

int ink_has_param(const struct ink_machine *m, const char *name)
{
	for (unsigned i = 0; i < m->n_params; i++)
		if (!strcmp(m->params[i].name, name))
			return 1;
	return 0;
}

/* Offers the parameters of all machines of the file; 1: the name is one of them. */
static int offer_params(const struct ink_unit *file, const char *name, struct ink_suggest *near, unsigned *n)
{
	for (unsigned i = 0; i < file->n; i++) {
		const struct ink_machine *m = file->machines[i];

		if (ink_has_param(m, name))
			return 1;
		*n += m->n_params;
		for (unsigned j = 0; j < m->n_params; j++)
			ink_suggest_offer(near, m->params[j].name);
	}
	return 0;
}

void ink_check_settings(const struct ink_unit *file, struct ink_text *text)
{
	for (unsigned i = 0; i < text->options->n_settings && !text->stopped; i++) {
		const char *name = text->options->settings[i].name;
		struct ink_suggest near = ink_suggest(name, strlen(name));
		unsigned n = 0;
		char hint[96];

		if (!offer_params(file, name, &near, &n))
			ink_text_error(text, 0, "no param '%.63s' to set%s%s", name,
				       ink_suggest_hint(&near, hint), n ? "" : ": the machine has none");
	}
}

void ink_warn_params(const struct ink_machine *m, struct ink_text *text)
{
	for (unsigned i = 0; i < m->n_params; i++)
		if (!m->params[i].used)
			ink_text_warning(text, m->params[i].at, "param '%s' is not used", m->params[i].name);
}
