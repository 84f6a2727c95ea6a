/* SPDX-License-Identifier: BSD-2-Clause */
/* Programs (program.h) on `stateful` and `direct`. */
#ifndef INKLING_TESTS_PROGRAM_FILTERS_H
#define INKLING_TESTS_PROGRAM_FILTERS_H

#include "tests/program_state.h"

/* ------------------------------------------------------------ stateful and direct */

/*
 * Here the oracle is a model that knows every cell (bloom_model.h), and there is
 * nothing that may be either way, improper use or not.
 */
static inline ink_answer model_lookup_in(struct model *m, uint64_t id, unsigned state)
{
	ink_answer answer;

	if (state >= m->states)
		return INK_ABSENT;
	if (m->direct && !model_pair(m, id, state))
		return INK_ABSENT;
	if (m->direct)
		return model_touch(m, id, state), (ink_answer)state;
	answer = model_lookup(m, id);
	return answer < 0 || answer == (ink_answer)state ? answer : INK_ABSENT;
}

static inline struct result perform_model(struct model *m, uint64_t id, const struct call *c)
{
	struct result r = {0, 0, {0, 0, 0}};

	switch ((unsigned)c->verb) {
	case LOOKUP:
		r.answer = model_lookup(m, id);
		break;
	case PEEK:
		r.answer = model_peek(m, id);
		break;
	case INSERT:
		r.error = model_insert(m, id, c->state);
		break;
	case SET:
		r.error = model_set(m, id, c->state);
		break;
	case MODIFY:
		r.error = model_modify(m, id, -1, c->state);
		break;
	case DELETE:
		r.error = model_delete(m, id, -1);
		break;
	case STEP:
		r.error = model_step(m, id, c->event, &r.move);
		break;
	case LOOKUP_IN:
		r.answer = model_lookup_in(m, id, c->state);
		break;
	case MODIFY_FROM:
		r.error = c->event < m->states ? model_modify(m, id, (int)c->event, c->state) : -EINVAL;
		break;
	default:
		r.error = c->state < m->states ? model_delete(m, id, (int)c->state) : -EINVAL;
	}
	return r;
}

static inline struct result filter_first(struct program *p, const struct call *c)
{
	uint64_t id = p->flows[c->flow].id;
	struct result one = perform(p->first, id, c), model = perform_model(&p->model, id, c);

	must(p, same(&one, &model), "a result is not the model's");
	p->known += one.answer >= 0;
	p->calls++;
	return one;
}

/* Can a table of this kind keep these rules? */
static inline int are_possible(const struct program *p, const struct ink_rules *rules)
{
	for (unsigned i = 0; i < rules->states && p->options.age_bits; i++) {
		const struct ink_timing *timing = &rules->timings[i];

		if (timing->period && timing->timeout != INK_ABSENT)
			return 0;
		if (!(p->info.can & INK_CAN_DIFFER) && timing->period != rules->timings[0].period)
			return 0;
	}
	return (p->info.can & INK_CAN_DIFFER) || rules->states == p->options.states ||
	       rules->timings[0].period == 0 || !p->options.age_bits;
}

/* Not while a tick is under way: what that one does was decided under the old rules. */
static inline void filter_rules(struct program *p)
{
	struct machine old = p->machine, *m = &p->machine;
	unsigned byte = next_byte(p);
	struct ink_rules rules;
	int expected;

	if (p->model.now != p->model.target)
		return;
	choose_machine(p);
	for (unsigned i = 0; i < m->states && byte % 4; i++)
		m->timings[i] = (struct ink_timing){byte % 5, INK_ABSENT, 0};
	rules = (struct ink_rules){sizeof rules, m->states, m->events, m->rows, m->starts, m->timings, NULL};
	expected = are_possible(p, &rules) ? 0 : -ENOTSUP;
	must(p, ink_set_rules(p->first, &rules, NULL) == expected, "rules were taken or refused wrongly");
	must(p, ink_set_rules(p->second, &rules, NULL) == expected, "rules were taken or refused wrongly");
	if (expected) {
		p->machine = old;
		return;
	}
	p->rules = rules;
	p->model.rules = &p->rules;
}

static inline void filter_tick(struct program *p)
{
	uint64_t now = choose_now(p), cells = next_byte(p);
	int at_once = next_byte(p) % 2, error, again;
	struct ink_counts one = {.total = 0}, other = {.total = 0};

	if (now < p->model.now)
		return;
	error = at_once ? ink_tick(p->first, now, &one) : ink_tick_portion(p->first, now, cells, &one);
	again = at_once ? ink_tick(p->second, now, &other) : ink_tick_portion(p->second, now, cells, &other);
	if (at_once)
		model_tick(&p->model, now);
	else
		model_portion(&p->model, now, cells);
	must(p, error == again && error >= 0, "a tick failed");
	must(p, p->first->aging.now == p->model.now, "the table is at another time than the model");
	must(p, same_counts(&one, &other) && sum_of(&one) == one.total, "what expired does not add up");
}

static inline void filter_check(struct program *p)
{
	const struct ink_counters *c = &p->first->counters;
	struct ink_counts counts;

	must(p, model_agrees(&p->model, p->first->body), "the cells are not the model's");
	must(p,
	     c->collisions == p->model.collisions && c->marked == p->model.marked &&
		     c->expired == p->model.expired,
	     "the counters are not the model's");
	must(p, ink_census(p->first, &counts) == -ENOTSUP && counts.total == 0, "a census of cells");
	must(p, memcmp(p->first->body, p->second->body, p->first->body_bytes) == 0, "the two bodies differ");
	must(p, ink_check(p->first, NULL) == 0 && ink_check(p->second, NULL) == 0, "a table is unsound");
}

#endif
