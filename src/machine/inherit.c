/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a machine has from those before it in its file: lets and parameters hold from their line to the end of the
 * file.
 *
 * Each machine has tests and counters of its own, so a let of an earlier machine is copied when it is first used. Its
 * condition may share parts with itself ("let b = a or a and c"): each part is copied once, or the copy could be
 * exponentially larger.
 */
#include "machine/parse.h"

/* The latest machine, up to the current one, in which the name at hand has a number in the given place. */
#define INK_FIND(p, token, what)                                                                             \
	for (unsigned i = (p)->m->number + 1; i-- > 0;) {                                                    \
		struct ink_machine *m = (p)->m->unit->machines[i];                                           \
		const struct ink_name *name = ink_name_find(m, (p)->text, token);                            \
                                                                                                             \
		if (name && name->what)                                                                      \
			return &m->what##s[name->what - 1];                                                  \
	}                                                                                                    \
	return NULL

struct ink_param *ink_param_named(const struct ink_parser *p, const struct ink_token *token)
{
	INK_FIND(p, token, param);
}

struct ink_let *ink_let_named(const struct ink_parser *p, const struct ink_token *token)
{
	INK_FIND(p, token, let);
}

void ink_offer_lets(const struct ink_parser *p, struct ink_suggest *near)
{
	for (unsigned i = 0; i <= p->m->number; i++)
		for (unsigned j = 0; j < p->m->unit->machines[i]->n_lets; j++)
			ink_suggest_offer(near, p->m->unit->machines[i]->lets[j].name);
}

void ink_offer_params(const struct ink_parser *p, struct ink_suggest *near)
{
	for (unsigned i = 0; i <= p->m->number; i++)
		for (unsigned j = 0; j < p->m->unit->machines[i]->n_params; j++)
			ink_suggest_offer(near, p->m->unit->machines[i]->params[j].name);
}

/* ----------------------------------------------------------------- copying */

/* The name in the current machine; counters are looked up there. */
static const struct ink_name *own_name(struct ink_parser *p, const struct ink_name *name, uint32_t at)
{
	return name ? ink_name_of(p->m, p->text, name->text, name->length, at) : NULL;
}

static const struct ink_condition *copy_test(struct ink_parser *p, const struct ink_test *from)
{
	struct ink_test test = *from;

	if (test.field == INK_FIELD_CHANCE)
		test.length = p->m->n_chances++;
	if (test.field == INK_FIELD_FILTER && ink_find_test(p->m, &test) == p->m->n_tests &&
	    ink_check_filter_length(p, p->now.at, &test))
		return NULL;
	test.against.name = own_name(p, from->against.name, from->against.at);
	test.against.other_name = own_name(p, from->against.other_name, from->against.other_at);
	return ink_condition_test(p, &test);
}

/* At most INK_DEPTH_MAX deep. */
static const struct ink_condition *copy(struct ink_parser *p, const struct ink_machine *from,
					struct ink_condition *c)
{
	const struct ink_condition *a, *b;

	if (c->copied_for == p->m)
		return c->copy;
	if (ink_text_work(p->text, p->now.at, 1))
		return NULL;
	c->copied_for = p->m;
	c->copy = NULL;
	if (c->kind == INK_TEST)
		return c->copy = copy_test(p, &from->tests[c->test]);
	if (c->kind == INK_ALWAYS || c->kind == INK_NEVER)
		return c->copy = ink_condition_node(p, &(struct ink_condition){.kind = c->kind});
	a = copy(p, from, (struct ink_condition *)c->a);
	b = a && c->b != c->a ? copy(p, from, (struct ink_condition *)c->b) : a;
	return c->copy = a && b ? ink_condition_join(p, c->kind, a, b) : NULL;
}

const struct ink_condition *ink_let_condition(struct ink_parser *p, const struct ink_let *let)
{
	if (!let->condition || let->machine == p->m)
		return let->condition;
	return copy(p, let->machine, (struct ink_condition *)let->condition);
}
