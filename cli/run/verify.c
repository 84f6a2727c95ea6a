/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Compares the table's answers with those of an exact table on the same steps.
 *
 * Every step makes two moves. The state in which each starts is that table's
 * answer. A ledger, which is exact, keeps a set of bits for each flow as its state:
 * the differences that the flow has had, so that each flow is counted once, and the
 * mark "there before". It says that both tables have had this flow in the same
 * state, and tells a late or early expiry from a false answer.
 *
 * Machines that are told events have steps that only one of the two chains of
 * tables makes, since an earlier machine erred. There is nothing to compare then:
 * they are counted.
 *
 * A packet can make several steps, so what becomes of it is compared when the next one comes.
 *
 * Under the policy `replace`, flows in expendable states may be replaced and the
 * others must not. So a second exact table holds the settled flows: both tables
 * had them in the same state, which is not expendable. It counts how many of these
 * the table lost, or had in another state, while the exact table still had them.
 */
#include <stdlib.h>

#include "cli/run/run.h"

enum { THERE_BEFORE = DIFFERENCES, LEDGER_BITS };

/* The set of all marks is not a state. A flow that would get it keeps the marks it has, and is counted twice. */
_Static_assert((1u << LEDGER_BITS) - 1 == INK_MAX_STATES, "any smaller set is a state of the ledger");

/* What each table's steps did with the latest packet. */
struct fate {
	uint64_t number;
	int dropped, beside;
};

struct verifier {
	struct ink_table *ledger;
	struct ink_table *settled;
	struct tally tally;
	struct fate fate;
	int timeouts;
};

const char *difference_text(enum difference d)
{
	static const char *const texts[DIFFERENCES] = {"false positives", "expired late", "false negatives",
						       "expired early",   "wrong states", "don't know",
						       "refused"};

	return texts[d];
}

const char *difference_name(enum difference d)
{
	static const char *const names[DIFFERENCES] = {"false_positives", "expired_late", "false_negatives",
						       "expired_early",   "wrong_states", "dont_know",
						       "refused"};

	return names[d];
}

static struct ink_table *exact_table(unsigned states, uint64_t seed, struct ink_why *why)
{
	struct ink_options o = {
		.size = sizeof o, .kind = INK_EXACT, .states = states, .flows = 1, .seed = seed};

	return ink_create(&o, why);
}

struct verifier *verifier_make(uint64_t seed, int timeouts, struct ink_why *why)
{
	struct verifier *v = calloc(1, sizeof *v);

	if (!v)
		return NULL;
	v->timeouts = timeouts;
	v->ledger = exact_table(INK_MAX_STATES, seed, why);
	v->settled = v->ledger ? exact_table(1, seed, why) : NULL;
	if (v->settled)
		return v;
	verifier_free(v);
	return NULL;
}

void verifier_free(struct verifier *v)
{
	if (!v)
		return;
	ink_free(v->ledger);
	ink_free(v->settled);
	free(v);
}

/* The flow's set of marks; empty if the ledger does not have it yet. */
static unsigned set_of(const struct verifier *v, uint64_t id)
{
	ink_answer a = ink_peek(v->ledger, id);

	return a == INK_ABSENT ? 0 : (unsigned)a;
}

/* The difference between the two answers, or DIFFERENCES. */
static enum difference judge(const struct verifier *v, const struct ink_moved *m, unsigned set)
{
	ink_answer ours = m->move.from, truth = m->beside.from;
	int before = set >> THERE_BEFORE & 1;

	if (m->error)
		return REFUSED;
	if (ours == truth)
		return DIFFERENCES;
	if (ours == INK_DONT_KNOW)
		return UNSURE;
	if (truth == INK_ABSENT)
		return before && v->timeouts ? EXPIRED_LATE : FALSE_POSITIVE;
	if (ours == INK_ABSENT)
		return before && v->timeouts && !(set >> REFUSED & 1) ? EXPIRED_EARLY : FALSE_NEGATIVE;
	return WRONG_STATE;
}

static void close_fate(struct verifier *v)
{
	v->tally.extra_drops += v->fate.dropped && !v->fate.beside;
	v->tally.missing_drops += v->fate.beside && !v->fate.dropped;
	v->fate = (struct fate){0};
}

/* A step that a table did not make has action 0, which drops nothing. */
static void see_fate(struct verifier *v, const struct ink_moved *m, const struct ink_action *actions)
{
	if (m->number != v->fate.number)
		close_fate(v);
	v->fate.number = m->number;
	v->fate.dropped |= m->limited || actions[m->move.action].verdict == INK_DROP;
	v->fate.beside |= m->beside_limited || actions[m->beside.action].verdict == INK_DROP;
}

static int is_lasting(const struct ink_rules *rules, ink_answer state)
{
	return state >= 0 && !(rules->timings && rules->timings[state].expendable);
}

/* A settled flow about which the tables now differ is counted, and no longer settled. */
static void see_settled(struct verifier *v, const struct ink_moved *m, const struct ink_rules *rules)
{
	int settled = ink_peek(v->settled, m->id) != INK_ABSENT, differ = m->move.from != m->beside.from;
	int lasts = m->move.to == m->beside.to && is_lasting(rules, m->beside.to);

	if (settled && differ && m->beside.from >= 0)
		*(m->move.from < 0 ? &v->tally.lost : &v->tally.changed) += 1;
	v->tally.settled += lasts && (!settled || differ);
	if (lasts && !settled)
		ink_set(v->settled, m->id, 0);
	if (settled && !lasts)
		ink_delete(v->settled, m->id);
}

static void compare(struct verifier *v, const struct ink_moved *m, const struct ink_rules *rules)
{
	unsigned set = set_of(v, m->id), before = set;
	enum difference d = judge(v, m, set);

	see_settled(v, m, rules);
	v->tally.steps++;
	v->tally.all_flows += ink_peek(v->ledger, m->id) == INK_ABSENT;
	if (d < DIFFERENCES) {
		v->tally.events[d]++;
		v->tally.flows[d] += !(set >> d & 1);
		set |= 1u << d;
	}
	if (m->move.to >= 0 && m->move.to == m->beside.to)
		set |= 1u << THERE_BEFORE;
	if (set != before || ink_peek(v->ledger, m->id) == INK_ABSENT)
		ink_set(v->ledger, m->id, set);
}

void verifier_see(struct verifier *v, const struct ink_moved *m, const struct ink_machine_view *view)
{
	see_fate(v, m, view->action);
	v->tally.extra += m->alone == 1;
	v->tally.missing += m->alone == 2;
	if (!m->alone)
		compare(v, m, view->rules);
}

const struct tally *verifier_tally(struct verifier *v)
{
	close_fate(v);
	return &v->tally;
}
